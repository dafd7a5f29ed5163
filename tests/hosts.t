# Several hosts, for which network namespaces stand: each has a name, a network, processes and shared memory of its own,
# and the folder of this test is the file system that all have.  Parts of a stack and their merge, a stream from one host to
# another, ranks of an MPI that are on two, and what becomes of all when a host's link goes down.
# From the makefile: top_builddir, HALCYON_BACKEND_PATH, HCY_SANITIZER.
inside="unshare -n -u -i -m -p -f --mount-proc --kill-child"
[ "$(id -u)" -eq 0 ] || inside="$inside -r"
if [ -z "${HCY_TEST_IN_NAMESPACE-}" ]; then
    [ -z "${HCY_SANITIZER-}" ] || { echo '1..0 # SKIP what a sanitizer sees it has seen on one host'; exit 0; }
    # The bridge, the hosts and their cables go with this one.
    # shellcheck disable=SC2086
    if $inside sh -c 'ip link add wire type bridge && ip link add plug type veth peer name socket && mount -t tmpfs none /tmp &&
        mount -t sysfs none /sys && mount --bind /dev/null /proc/sys/kernel/random/boot_id && mount --bind /etc/hosts /etc/hosts && command -v nsenter &&
        unshare -n -u -i -m -p -f --mount-proc sh -c "hostname one && mount -t sysfs none /sys && mount -t tmpfs none /dev/shm"' \
        >/dev/null 2>&1; then
        # shellcheck disable=SC2086
        HCY_TEST_IN_NAMESPACE=1 exec $inside sh "$0"
    fi
    echo '1..0 # SKIP no namespaces of networks here (util-linux, iproute2, and the right to make them)'
    exit 0
fi
test_name=hosts
top_builddir=$(cd "${top_builddir:-.}" && pwd)
. "${top_srcdir:-.}/tests/cli.sh"
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE PMI_FD PMIX_RANK HALCYON_DIST HALCYON_DEVICE
# Of an allocation these hosts are not.
# shellcheck disable=SC2046
unset $(env | sed -n 's/^\(SLURM_[A-Za-z0-9_]*\)=.*/\1/p')
HALCYON_CACHE_DIR=$work/own/cache # on each host another folder
export HALCYON_CACHE_DIR

# --- The hosts ---
mkdir own
echo 127.0.0.1 localhost >names
mount --bind names /etc/hosts
ip link set lo up
ip link add wire type bridge
ip addr add 10.77.0.254/24 dev wire
ip link set wire up
# on HOST COMMAND: as rsh does.
cat >on <<END
#!/bin/sh
while case \$1 in -*) true ;; *) false ;; esac; do shift; done
read -r pid <"$work/\$1.pid"
shift
exec nsenter -t "\$pid" -n -u -i -m --pid="/proc/\$pid/ns/pid_for_children" -- sh -c "cd '$work' && \$*"
END
chmod +x on
# What is on its way when a link goes down is sent again for seconds, not for a quarter of an hour: TCP's questions whether a host
# is there (keepalive) wait for that.
gives_up='echo 4 >/proc/sys/net/ipv4/tcp_retries2 || true'
eval "$gives_up"
# A host is known by its name, its devices and its boot (UCX); what lies below `own` others do not see.
host() { # NAME NUMBER
    unshare -n -u -i -m -p -f --mount-proc sh -c "hostname $1 && mount -t sysfs none /sys && mount -t tmpfs none /dev/shm &&
        mount -t tmpfs none own && echo 0000000$2-0000-4000-8000-000000000000 >own/boot &&
        mount --bind own/boot /proc/sys/kernel/random/boot_id && ip link set lo up && { $gives_up; } && echo up >$1.is && exec sleep 3600" &
    echo $! >"$1.pid"
    until [ -s "$1.is" ]; do
        kill -0 $! 2>/dev/null || { echo "Bail out! no host $1"; exit 99; }
        sleep 0.05
    done
    ip link add "plug$2" type veth peer name socket netns $!
    ip link set "plug$2" master wire up
    ./on "$1" "ip addr add 10.77.0.$2/24 dev socket; ip link set socket up"
    echo "10.77.0.$2 $1" >>names
}
host one 1
host two 2
check 'two hosts have names and memory of their own' equals "$(for h in one two; do ./on $h "hostname; echo $h >own/$h; ls own"; done | xargs)" \
    'one boot one two boot two'

# --- Parts of a stack ---
"$halcyon" simulate s.h5 --detector Eiger500k --frames 10 --seed 3 -q >simulate.log 2>&1 || has_h5=no
work_on="integrate s.h5 -p s.poni -d cpu@threads=1 --error-model poisson -q"
# text FILE.h5: its curves as they are, bit by bit.
text() { "$halcyon" sum "$1" --dataset /entry_0000/integrate/results/data -o "$2" -q && cat "$2"; }
same() { text whole.h5 a.npy >same.a && text "$1" b.npy >same.b && [ -s same.a ] && cmp same.a same.b; }
parts()
{
    ./on one "PMI_RANK=0 PMI_SIZE=2 '$halcyon' $work_on --shard auto -o run.h5" &
    ./on two "PMI_RANK=1 PMI_SIZE=2 '$halcyon' $work_on --shard auto -o run.h5"
    got=$?
    wait $! && [ $got -eq 0 ]
}
if [ "${has_h5-}" = no ]; then
    skip 'built without HDF5'
else
    # shellcheck disable=SC2086 # several words on purpose
    "$halcyon" $work_on -o whole.h5 || exit 99
    check 'a part of a stack on each host' parts
    check '... each with a cache of its own' ./on two 'ls own/cache/*'
    check '... merged' "$halcyon" merge run.0-of-2.h5 run.1-of-2.h5 -o all.h5 -q
    check '... are the curves of one process' same all.h5
fi

# --- A stream ---
stream()
{
    ./on one "timeout 60 '$halcyon' simulate s.h5 --stream 'tcp://*:9999' -q" >sent 2>&1 &
    ./on two "'$halcyon' integrate --stream tcp://one:9999 --timeout 20 -p s.poni -d cpu@threads=1 --error-model poisson -q -o streamed.h5"
    got=$?
    wait $!
    return $got
}
if [ "${has_h5-}" = no ]; then
    skip 'built without HDF5'
elif "$halcyon" integrate --stream tcp://localhost:1 --timeout 0.1 -p s.poni -o no.h5 2>&1 | grep 'no ZeroMQ' >/dev/null; then
    skip 'built without ZeroMQ'
else
    check 'a stream from host to host' stream
    check '... the curves of the file' same streamed.h5
fi

# --- Ranks ---
over_openmpi() # N [OPTIONS OF mpirun] COMMAND...
{
    n_ranks=$1
    shift
    TMPDIR=$work/own OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 120 \
        "$(command -v mpirun.openmpi || echo mpirun)" --mca plm_rsh_agent "$work/on" --mca btl self,vader,tcp \
        --mca mpi_yield_when_idle 1 --hostfile two.openmpi --oversubscribe -n "$n_ranks" "$@" </dev/null
}
printf '%s slots=2\n' one two >two.openmpi
examples=$top_builddir/examples
# example NAME: right on all of three ranks.
example() { over_openmpi 3 "$examples/$1" cpu@threads=1 >out 2>&1; got=$?; cat out; [ $got -eq 0 ] && [ "$(grep -c 'of 3, .*[:,] 0 .*wrong' out)" = 3 ]; }
# Two of four ranks are the first of their hosts, and have the first device.
devices()
{
    over_openmpi 4 "$examples/dist_vstack" cpu@threads=1,cpu@threads=1@discrete=1 >out 2>&1 || { cat out; return 1; }
    count_devices
}
count_devices()
{
    equals "$(grep -c ' cpu@threads=1, ' out) $(grep -c ' cpu@threads=1@discrete=1, ' out)" '2 2'
}
checks()
{
    WANTED_RANKS=4 WANTED_LOCAL_RANKS=2 WANTED_AREAS=messages,fft over_openmpi 4 -x WANTED_RANKS -x WANTED_LOCAL_RANKS -x WANTED_AREAS \
        "$top_builddir/tests/dist" cpu@threads=1 >out 2>&1
    got=$?
    grep -v '^ok' out
    [ $got -eq 0 ] && grep '^1\.\.' out >/dev/null && not grep '^not ok' out
}
ends() # STATUS BEGAN WORDS: not well, soon, with these words, and nothing is left on a host
{
    took=$(($(date +%s) - $2))
    if [ "$1" -eq 0 ] || [ $took -gt 60 ] || ! grep -e "$3" out >/dev/null; then
        echo "status $1 after $took s"
        cat out
        return 1
    fi
    for turn in $(seq 40); do
        for h in one two; do ./on $h 'cat /proc/[0-9]*/cmdline 2>/dev/null; echo $(hostname) seen'; done | tr '\0' ' ' >left
        [ "$(grep -c 'seen$' left)" = 2 ] && not grep tests/dist left && return 0
        sleep 0.5
    done
    return 1
}
killed()
{
    began=$(date +%s)
    over_openmpi 4 "$top_builddir/tests/dist" killed >out 2>&1
    ends $? "$began" 'signal 9'
}
# Where a link is down nothing comes, not even an end: the launcher's own questions find out.
cut_off()
{
    : >out
    over_openmpi 4 --mca oob_tcp_keepalive_time 3 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 \
        "$top_builddir/tests/dist" late >out 2>&1 &
    while not grep 'others wait' out >/dev/null && kill -0 $! 2>/dev/null; do sleep 0.5; done
    ip link set plug2 down
    began=$(date +%s)
    wait $!
    ends $? "$began" 'lost communication' && grep 'on node two' out
}
# Between hosts MPICH 4.0 with UCX does not always end, whatever the program (one of MPI's own calls alone waited in MPI_Finalize()
# in 6 of 24 runs): what all ranks have said counts.
over_mpich()
{
    : >out
    TMPDIR=$work/own timeout -k 5 60 "$(command -v mpirun.mpich || echo mpirun)" -launcher rsh -launcher-exec "$work/on" -iface wire \
        -f two.mpich -n 4 "$examples/dist_vstack" cpu@threads=1,cpu@threads=1@discrete=1 </dev/null >out 2>&1 &
    while [ "$(grep -c 'of 4, .*mpich: 0 wrong' out)" -lt 4 ] && kill -0 $! 2>/dev/null; do sleep 0.1; done
    kill $! 2>/dev/null
    count_devices || { cat out; return 1; }
}
printf '%s:2\n' one two >two.mpich
has_mpi() # NAME WORDS: its module, and a launcher of its own
{
    [ -f "$HALCYON_BACKEND_PATH/halcyon-dist-$1.so" ] && { "mpirun.$1" --version || mpirun --version; } 2>/dev/null | grep -E "$2" >/dev/null
}
if has_mpi mpich HYDRA; then
    check 'MPICH: devices are chosen on each host, and a sum over hosts is right on all ranks' over_mpich
else
    skip 'there is no MPICH with a launcher of its own'
fi
if has_mpi openmpi 'Open MPI|OpenRTE'; then
    [ "${has_h5-}" = no ] || {
        # shellcheck disable=SC2086
        check 'Open MPI: parts of a stack on two hosts' over_openmpi 4 "$halcyon" $work_on --shard auto -o mpi.h5
        check '... merged' "$halcyon" merge mpi.?-of-4.h5 -o mpis.h5 -q
        check '... are the curves of one process' same mpis.h5
    }
    check 'Open MPI: devices are chosen on each host' devices
    for name in dist_sense dist_deconvolution; do
        check "Open MPI: $name is right on all ranks" example $name
    done
    check 'Open MPI: messages and transforms between hosts, which share no memory' checks
    check 'Open MPI: a rank that is killed ends all, on both hosts' killed
    check 'Open MPI: a host whose link goes down ends all, on both, with a word' cut_off
else
    skip 'there is no Open MPI with a launcher of its own'
fi
echo "1..$n"
exit $failed
