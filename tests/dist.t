# Communicators of threads and of every MPI that this build has, from one to four ranks, messages whole and in pieces; what
# becomes of the others when a rank goes.
# From the makefile: top_builddir, top_srcdir, CC, HALCYON_BACKEND_PATH, HCY_SANITIZER.  HALCYON_TEST_MPI_ABI: where an MPI is installed that
# has MPI 5's binary interface (python3 -m venv V && V/bin/pip install mpich: V).
program=$top_builddir/tests/dist
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
tests=0
# What MPI itself leaves behind is left out by its libraries' names.  Open MPI has taken its own away by the time of that
# look, when they have none: nothing is looked for there.  Threads that wait do not take the processor from others.
printf 'leak:%s\n' libmpi libmpich libopen libpmix libhwloc libevent libucp libucs libuct libfabric libnl > "$dir/leaks"
LSAN_OPTIONS=suppressions=$dir/leaks:print_suppressions=0
export LSAN_OPTIONS
OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_plm_rsh_agent=false PRTE_MCA_plm_rsh_agent=false
export OMPI_MCA_mpi_yield_when_idle OMPI_MCA_btl OMPI_MCA_plm_rsh_agent PRTE_MCA_plm_rsh_agent
# A launcher around this test is none of ours.
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE PMI_FD PMIX_RANK SLURM_STEP_NUM_TASKS HALCYON_DIST

say() { # STATUS TEXT
    tests=$((tests + 1))
    [ "$1" -eq 0 ] && echo "ok $tests - $2" || echo "not ok $tests - $2"
}
skip() {
    tests=$((tests + 1))
    echo "ok $tests - # SKIP $1"
}
launch() { # MPI N COMMAND...
    mpi=$1 n=$2
    shift 2
    case $mpi in
    threads) HALCYON_DIST=threads@ranks=$n${HALCYON_DIST:+,$HALCYON_DIST} timeout -k 5 300 "$@" ;;
    openmpi) ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout -k 5 300 "$(command -v mpirun.openmpi || echo mpirun)" --oversubscribe -n "$n" "$@" ;;
    mpich) timeout -k 5 300 "$(command -v mpirun.mpich || echo mpirun)" -n "$n" "$@" ;;
    mpi-abi) LD_LIBRARY_PATH=$HALCYON_TEST_MPI_ABI/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        timeout -k 5 300 "$HALCYON_TEST_MPI_ABI/bin/mpiexec" -n "$n" "$@" ;;
    esac
}
there() { # MPI: its module, and a launcher that is its own
    [ -f "$HALCYON_BACKEND_PATH/halcyon-dist-$1.so" ] || return 1
    case $(launch "$1" 1 --version 2>&1; mpirun.$1 --version 2>&1; mpirun --version 2>&1) in
    *"Open MPI"* | *OpenRTE*) [ "$1" = openmpi ] || command -v mpirun.mpich >/dev/null ;;
    *HYDRA*) [ "$1" = mpich ] ;;
    *) false ;;
    esac
}
run() { # MPI N WISH [DEVICES...]: the checks of all ranks, and that it ended well
    what="$1 x$2" mpi=$1 n=$2
    HALCYON_DIST=$3 WANTED_RANKS=$2
    export HALCYON_DIST WANTED_RANKS
    shift 3
    launch "$mpi" "$n" $program "$@" > "$dir/out" 2> "$dir/err"
    state=$?
    # A line for each area that was tested: its checks that passed, of all.
    awk -v where="$what $*" '/^# area:/ { area = substr($0, 9) } area == "" { next }
        /^(not )?ok/ { n[area]++; good[area] += /^ok/ }
        END { for (a in n) printf "%s\t%s\t%d/%d\n", a, where, good[a], n[a] }' "$dir/out" >> "$dir/areas"
    while read -r line; do
        case $line in
        ok*|"not ok"*)
            case $line in ok*) ok=0 ;; *) ok=1 ;; esac
            say $ok "$what: ${line#*- }" ;;
        esac
    done < "$dir/out"
    sed 's/^/# /' "$dir/err"
    say $state "$what: all ranks end well"
}
ends() { # MPI HOW TEXT PATTERN [DEVICES]: in bounded time, not well, and something is said
    began=$(date +%s)
    launch "$1" $(($# > 4 ? 2 : 3)) "$program" "$2" $5 > "$dir/out" 2>&1
    state=$?
    took=$(($(date +%s) - began))
    [ $state -ne 0 ] && [ $took -lt 250 ] && grep -qE "$4" "$dir/out"
    ok=$?
    [ $ok -eq 0 ] || { echo "# status $state after $took s"; sed 's/^/# /' "$dir/out"; }
    say $ok "$1: $3"
}

# Arrays of devices whose memory an MPI takes: a driver without a GPU, whose memory is the host's, and an MPI that is told
# to say so.
gpu_aware() { # MPI
    fake="$CC -std=gnu11 -O1 -shared -fPIC"
    echo 'int MPIX_Query_cuda_support(void); int MPIX_Query_cuda_support(void) { return 1; }' |
        $fake -xc -o "$dir/aware.so" - 2>/dev/null || { skip "no library can be built here"; return; }
    $fake -I"$top_srcdir/backends/cuda" -o "$dir/libcuda.so.1" "$top_srcdir/tests/fake_cuda.c" -lpthread
    say $? "$1: a driver without a GPU is built"
    kept=$LD_LIBRARY_PATH cuda=$program
    LD_LIBRARY_PATH=$dir${kept:+:$kept} HALCYON_BACKENDS=cpu,cuda
    WANTED_DEVICE_TRANSPORT=
    export LD_LIBRARY_PATH HALCYON_BACKENDS WANTED_DEVICE_TRANSPORT
    [ -n "$known" ] || run $1 2 mpi,-mpi-device,-nccl copies cuda
    WANTED_DEVICE_TRANSPORT=mpi-device program="env LD_PRELOAD=$dir/aware.so $cuda"
    run $1 $((known ? 2 : 3)) mpi-device copies cuda
    # Without a word of the library's, or for a CPU, it is refused.
    program=$cuda
    HALCYON_DIST=mpi-device launch $1 2 $program copies cuda > "$dir/out" 2>&1
    [ $? -ne 0 ] && grep -q 'mpi-device was asked for.*MPIX_Query_cuda_support' "$dir/out"
    say $? "$1: an MPI that does not take devices' memory is not made to"
    [ -n "$known" ] || {
        HALCYON_DIST=mpi-device launch $1 2 env LD_PRELOAD="$dir/aware.so" $program copies cpu > "$dir/out" 2>&1
        [ $? -ne 0 ] && grep -q 'mpi-device was asked for' "$dir/out"
        say $? "$1: nor one for a device that is no GPU"
        program="env LD_PRELOAD=$dir/aware.so $cuda"
        run $1 2 mpi-device refused cuda,cpu
        program=$cuda
    }
    unset WANTED_DEVICE_TRANSPORT HALCYON_BACKENDS
    LD_LIBRARY_PATH=$kept
    [ -n "$kept" ] || unset LD_LIBRARY_PATH
}

# NCCL between two devices of that driver: one that takes its time, one of before the non-blocking form; a rank that does
# not join, and what fails when nobody looks.
by_nccl() { # MPI
    fake="$CC -std=gnu11 -O1 -shared -fPIC"
    mkdir -p "$dir/nccl" "$dir/before" &&
        $fake -I"$top_srcdir/backends/cuda" -o "$dir/nccl/libcuda.so.1" "$top_srcdir/tests/fake_cuda.c" -lpthread 2>/dev/null &&
        $fake -o "$dir/nccl/libnccl.so.2" "$top_srcdir/tests/fake_nccl.c" &&
        $fake -DFAKE_OLD -o "$dir/before/libnccl.so.2" "$top_srcdir/tests/fake_nccl.c"
    say $? "$1: an NCCL without GPUs is built"
    kept=$LD_LIBRARY_PATH
    LD_LIBRARY_PATH=$dir/nccl${kept:+:$kept} HALCYON_BACKENDS=cpu,cuda WANTED_DEVICE_TRANSPORT=nccl TMPDIR=$dir
    export LD_LIBRARY_PATH HALCYON_BACKENDS WANTED_DEVICE_TRANSPORT TMPDIR
    for FAKE_NCCL in "" slow; do
        export FAKE_NCCL
        run $1 2 nccl@wait=60 copies cuda
        ! grep fake_nccl "$dir/err"
        say $? "$1: NCCL $FAKE_NCCL: all is given back, nothing is given up"
    done
    unset FAKE_NCCL
    # With options too each rank has a device of its own.
    run $1 2 nccl@wait=0 copies cuda@fft=own
    LD_LIBRARY_PATH=$dir/before:$LD_LIBRARY_PATH
    run $1 2 nccl copies cuda
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH#*:}
    FAKE_NCCL=lost
    export FAKE_NCCL
    # Who is first to say why ends the others, also one that is about to.
    fails_by_nccl $1 "a rank that does not join" 'has taken more than 2 seconds\|making a communicator failed'
    FAKE_NCCL=late
    fails_by_nccl $1 "a failure that is found later" 'what was submitted failed' 'was given up after a failure'
    unset FAKE_NCCL
    [ "$1" != threads ] || for HALCYON_DIST in nccl nccl@wait=20; do
        ends threads abort "a thread that gives up while another waits in NCCL ($HALCYON_DIST)" 'fake_nccl: rank 0 gives up' cuda
        grep -q 'Bail out.*the disk is full' "$dir/out"
        say $? "threads: ... is the one that is told of"
    done
    unset WANTED_DEVICE_TRANSPORT HALCYON_BACKENDS TMPDIR
    LD_LIBRARY_PATH=$kept
    [ -n "$kept" ] || unset LD_LIBRARY_PATH
}
fails_by_nccl() { # MPI WHAT PATTERNS...: within a minute, all ranks
    mpi=$1 what=$2
    shift 2
    for turn in 1 2 3; do
        began=$(date +%s)
        HALCYON_DIST=nccl@wait=2 launch "$mpi" 2 $program copies cuda > "$dir/out" 2>&1
        state=$?
        # Open MPI's launcher itself crashes at times, where it has to tell of ranks that ended.
        grep pmix_plog "$dir/out" >/dev/null || break
    done
    ok=0
    [ $state -ne 0 ] && [ $(($(date +%s) - began)) -lt 60 ] && grep -q 'fake_nccl: rank 0 gives up' "$dir/out" || ok=1
    for pattern; do
        grep -q "$pattern" "$dir/out" || ok=1
    done
    [ $ok -eq 0 ] || { echo "# status $state"; sed 's/^/# /' "$dir/out"; }
    say $ok "$mpi: NCCL: $what ends all, in bounded time, with a word"
}

# One of two ranks has no memory for this or that.
failing() { # MPI WISH
    $CC -O1 -shared -fPIC -o "$dir/inject.so" "$top_srcdir/tests/inject.c" -ldl 2>/dev/null ||
        { skip "the injector cannot be built here"; return; }
    kept=$program
    program="env LD_PRELOAD=$dir/inject.so $kept"
    run $1 2 "$2" failing cpu@threads=1@discrete=1
    program=$kept
}

# example MPI N NAME DEVICES: right on all ranks, and it has run on as many
example() {
    HALCYON_DIST=mpi
    [ "$1" = threads ] && HALCYON_DIST=
    export HALCYON_DIST
    launch "$1" "$2" "$top_builddir/examples/$3" "$4" > "$dir/out" 2>&1 && [ "$(grep -c "of $2, .*[:,] 0 .*wrong" "$dir/out")" = "$2" ]
    ok=$?
    [ $ok -eq 0 ] || sed 's/^/# /' "$dir/out"
    say $ok "$1 x$2: $3 $4"
}

alone() { # EXAMPLE: one process, without an MPI
    HALCYON_DIST=self "$top_builddir/examples/$1" cpu@threads=1 > "$dir/out" 2>&1
    say $? "self: $1"
}
tutorials="dist_poststack dist_migration dist_deconvolution"
for example in dist_vstack dist_scatter dist_sense; do
    alone $example
done
all_alone() { # DEVICE
    HALCYON_DIST=self WANTED_RANKS=1 "$program" "$1" > "$dir/out" 2>&1
    state=$?
    [ $state -eq 0 ] || sed 's/^/# /' "$dir/out"
    say $state "self: all of it, $1"
}
all_alone cpu@threads=1
# Slurm's tasks without an MPI's variables: each would believe that it is all.
env HALCYON_DIST= SLURM_STEP_NUM_TASKS=2 "$top_builddir/examples/dist_scatter" cpu@threads=1 > "$dir/out" 2>&1
[ $? -ne 0 ] && grep -q 'srun has started 2 processes.*HALCYON_DIST=self' "$dir/out"
say $? "tasks of srun without MPI are not alone without a word"
HALCYON_DIST=-self "$top_builddir/examples/dist_scatter" cpu@threads=1 > "$dir/out" 2>&1
[ $? -ne 0 ] && grep -q 'self is taken away' "$dir/out"
say $? "nor is who takes self away"
for launcher in OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_STEP_NUM_TASKS; do
    for wish in -mpi -openmpi,-mpich,-mpi-abi,-nccl; do
        env HALCYON_DIST=$wish $launcher=3 "$top_builddir/examples/dist_scatter" cpu@threads=1 > "$dir/out" 2>&1
        [ $? -ne 0 ] && grep -q 'has started 3 processes.*HALCYON_DIST=self' "$dir/out"
        say $? "processes of a launcher whose MPI is taken away are not alone without a word ($launcher, $wish)"
    done
    env HALCYON_DIST=self $launcher=3 "$top_builddir/examples/dist_scatter" cpu@threads=1 > "$dir/out" 2>&1
    say $? "... but where they say so ($launcher)"
    env HALCYON_DIST=threads@ranks=2 $launcher=3 "$top_builddir/examples/dist_scatter" cpu@threads=1 > "$dir/out" 2>&1
    [ $? -ne 0 ] && grep -q 'has started 3 processes, and threads of several' "$dir/out"
    say $? "threads of several processes do not each believe that they are all ($launcher)"
done
# Threads of one process.  ThreadSanitizer sees them alone: it knows nothing of what an MPI's own threads do; and it takes
# long, and what is tested about overlapping looks at memory that a queue writes.
# Four have all but the sums that take longest, whose rounds are those of any transport; three what goes through memory that
# the host does not see.
on_threads=messages,layouts,operators,grids,free,squares,solvers,stacks,nufft,fft,matrices,timers,gridsolvers,overlap,faces
export WANTED_AREAS
case $HCY_SANITIZER in *thread*) HCY_TEST_AREAS=messages,free,solvers,fft,faces ;; esac
WANTED_AREAS=${HCY_TEST_AREAS-$on_threads}
run threads 4 "" cpu@threads=1
# Faces that several threads of a device share.
case ,${HCY_TEST_AREAS-faces}, in
*,faces,*)
    WANTED_AREAS=faces
    run threads 3 "" cpu@threads=3 ;;
esac
WANTED_AREAS=${HCY_TEST_AREAS-messages,grids,faces,fft}
run threads 3 -shared cpu@threads=1@discrete=1
example threads 3 dist_vstack cpu@threads=1,cpu@threads=1@discrete=1
example threads 2 dist_scatter cpu@threads=1
for example in dist_sense $tutorials; do
    [ -n "${HCY_TEST_AREAS-}" ] || example threads 2 $example cpu@threads=1
done
ends threads abort "a thread that gives up says why, and ends all" 'Bail out.*the disk is full'
case $HCY_SANITIZER in
*thread*)
    echo "1..$tests"
    exit 0 ;;
esac
# Drivers, which other tests do without.
WANTED_AREAS=messages,faces
drivers=${OCL_ICD_VENDORS-}
unset OCL_ICD_VENDORS
case $HCY_SANITIZER$("$top_builddir/halcyon" devices 2>/dev/null) in
*address* | *undefined*) skip "drivers of OpenCL under a sanitizer" ;;
*opencl:0*) run threads 2 "" opencl:0 ;;
*) skip "no driver of OpenCL" ;;
esac
[ -z "$drivers" ] || { OCL_ICD_VENDORS=$drivers; export OCL_ICD_VENDORS; }
if [ -n "$HCY_SANITIZER" ]; then
    skip "NCCL's stand-in under a sanitizer"
elif [ -e "$top_builddir/.libs/halcyon-dist-nccl.so" ]; then
    by_nccl threads
else
    skip "built without modules, of which NCCL is one"
fi
# The injector looks at who calls: a library of its own.
if [ -z "$HCY_SANITIZER" ] && [ -e "$top_builddir/.libs/libhalcyon.so" ]; then
    failing threads ""
else
    skip "allocations that fail, under a sanitizer or without a shared library"
fi
# Layouts and operators know no transport: the second MPI carries messages alone.  Waiting ranks use up processors, so
# that three ranks have what wants ends, a middle and a rank without rows, on devices whose memory is their own, and four
# what they alone have: grids along two axes, sums of several rounds, memory that ranks share.  HCY_TEST_AREAS: what all
# have instead, and no long examples, for builds that compute what others do.
on_three=messages,layouts,operators,grids,free,squares,solvers,stacks,nufft,fft,matrices,timers
on_two=messages,grids
on_four=messages,long,squares,grids,gridsolvers,overlap,fft,matrices
# What a sanitizer has seen of threads, all but what the transport does itself, it need not see again.
[ -z "$HCY_SANITIZER" ] || on_three=messages,fft on_four=messages,grids,overlap
known=
for mpi in openmpi mpich; do
    if ! there $mpi; then
        skip "built without $mpi, or no mpirun of its own"
        continue
    fi
    WANTED_AREAS=messages
    [ -n "$known" ] || WANTED_AREAS=${HCY_TEST_AREAS-$on_two}
    run $mpi 2 mpi@piece=30000@wait=200 cpu@threads=1
    WANTED_AREAS=messages
    run $mpi 1 $mpi cpu@threads=1
    if [ -n "$known" ]; then
        run $mpi 3 "" cpu@threads=1@discrete=1
    else
        WANTED_AREAS=${HCY_TEST_AREAS-$on_three}
        run $mpi 3 mpi,-nccl cpu@threads=1@discrete=1
        WANTED_AREAS=${HCY_TEST_AREAS-$on_four}
        run $mpi 4 "" cpu@threads=1
    fi
    example $mpi 3 dist_vstack cpu@threads=1,cpu@threads=1@discrete=1
    example $mpi 2 dist_scatter cpu@threads=1
    [ -n "$known${HCY_TEST_AREAS-}$HCY_SANITIZER" ] || for example in dist_sense $tutorials; do
        example $mpi 3 $example cpu@threads=1
    done
    # The driver never frees what is lost with a device.
    [ -n "$HCY_SANITIZER" ] || gpu_aware $mpi
    [ -n "$HCY_SANITIZER$known" ] || { by_nccl $mpi; failing $mpi mpi; }
    ends $mpi killed "a rank that is killed ends all" '[Kk]illed|KILLED|signal 9'
    ends $mpi abort "a rank that gives up says why, and ends all" 'the disk is full'
    HALCYON_DIST=mpi@wait=2
    ends $mpi late "a rank that does not come ends all, with a word" 'has taken more than 2 seconds.*mpi@wait'
    grep -q 'nothing more is carried' "$dir/out"
    say $? "$mpi: ... after which no communicator carries more"
    HALCYON_DIST=
    # As from a launcher that does not give another host this environment.
    launch $mpi 1 env HALCYON_DIST=mpi@wait=60 "$top_builddir/examples/dist_scatter" cpu@threads=1 : \
        -n 1 env HALCYON_DIST=mpi "$top_builddir/examples/dist_scatter" cpu@threads=1 > "$dir/out" 2>&1
    say $? "$mpi: the first rank's wish is that of all"
    known=1
done
[ -n "$known" ] || {
    WANTED_AREAS=${HCY_TEST_AREAS-long}
    run threads 4 "" cpu@threads=1
    all_alone cpu@threads=1@discrete=1
    for example in $tutorials; do
        alone $example
    done
}
# It is built everywhere, and its library is where it is: else that is said, and nothing in its place is used.
if [ -f "$HALCYON_BACKEND_PATH/halcyon-dist-mpi-abi.so" ]; then
    HALCYON_DIST=mpi-abi "$top_builddir/examples/dist_scatter" cpu@threads=1 > "$dir/out" 2>&1
    case $? in
    0) grep -q ', mpi-abi: 0 of' "$dir/out" ;;
    *) grep -q 'MPI (mpi-abi): .*libmpi_abi.so.1' "$dir/out" ;;
    esac
    say $? "mpi-abi: its library, or what is missing"
else
    skip "built without modules"
fi
if [ -n "${HALCYON_TEST_MPI_ABI-}" ] && [ -x "$HALCYON_TEST_MPI_ABI/bin/mpiexec" ]; then
    WANTED_AREAS=messages
    run mpi-abi 2 mpi-abi@piece=30000 cpu@threads=1
    run mpi-abi 3 mpi,-mpich cpu@threads=1@discrete=1
    run mpi-abi 4 -openmpi,-mpich cpu@threads=1
    ends mpi-abi abort "a rank that gives up says why, and ends all" 'the disk is full'
else
    skip "no MPI with MPI 5's binary interface (HALCYON_TEST_MPI_ABI)"
fi
# What runs where, from these results.
if [ -s "$dir/areas" ]; then
    echo '# | what | where | checks that passed |'
    sort "$dir/areas" | awk -F'\t' '{ printf "# | %s | %s | %s |\n", $1, $2, $3 }'
    awk -F'\t' '{ split($3, n, "/"); bad += n[1] != n[2] } END { exit bad > 0 }' "$dir/areas"
    say $? "a table of what runs where, without a gap"
fi
echo "1..$tests"
