# The command, and a host that pushes frames, when memory runs out and when files fail: allocations of Halcyon's own, and
# reads and writes of files, are counted through one run, then each of many fails in a run of its own.  Such a run ends with
# status 1 and words for it, or does without and has the same result; nothing is left allocated.  At last a signal comes
# while an output is made.
#     INJECT_STEP=1: each of them (by hand); else every so many-th.
halcyon=${HALCYON:-./halcyon}
work=`mktemp -d "${TMPDIR:-/tmp}/halcyon-inject.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
case $halcyon in /*) ;; *) halcyon=`pwd`/$halcyon ;; esac
receiver=`cd "${top_builddir:-.}" && pwd`/examples/receiver
source=${top_srcdir:-.}/tests/inject.c

leave() { echo "1..0 # SKIP $1"; exit 0; }
[ -n "${HCY_HDF5-yes}" ] || leave 'this build has no HDF5'
for file in "${top_builddir:-.}/.libs/halcyon" "$halcyon"; do
    [ -e "$file" ] || continue
    ldd "$file" 2>/dev/null | grep -E 'lib(a|t|ub)san' >/dev/null && leave 'sanitizers have allocators of their own'
    break
done
${CC:-cc} -O1 -shared -fPIC -o "$work/inject.so" "$source" -ldl 2>/dev/null || leave 'the injector cannot be built here'
cd "$work" || exit 99
HALCYON_BACKENDS=cpu,null # and not what vendors' libraries keep
export HALCYON_BACKENDS
"$halcyon" simulate s.h5 --shape 64x90 --dtype uint16 -n 6 -q || exit 99
"$halcyon" decompress s.h5 --frames 0 -o image.npy -q || exit 99
printf '\223NUMPY\001\000\166\000%-117s\n123456' "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6), }" >m.npy
"$halcyon" decompress m.npy -o m.h5 -q || exit 99
# Points and strengths: 20 times 2 and 20 bytes.
printf '\223NUMPY\001\000\166\000%-117s\n%s' "{'descr': '|u1', 'fortran_order': True, 'shape': (20, 2), }" \
    'transforms of points that lie anywhere   ' | head -c 168 >x.npy
printf '\223NUMPY\001\000\166\000%-117s\n%s' "{'descr': '|u1', 'fortran_order': False, 'shape': (20,), }" \
    'strengths of these  ' >w.npy
"$halcyon" integrate s.h5 -p s.poni -d cpu@threads=1 -n 50 -q --save-config c.json -o c.dat || exit 99

# run VARIABLE N COMMAND...: with call N of a kind failing.
run()
{
    variable=$1 at=$2
    shift 2
    rm -f out.* report
    case $1 in
    receive) # a host that pushes frames: examples/receiver
        shift
        env "$variable=$at" INJECT_REPORT=report LD_PRELOAD="$work/inject.so" timeout 60 "$receiver" "$@" 2>words >out.dat
        return ;;
    esac
    env "$variable=$at" INJECT_REPORT=report LD_PRELOAD="$work/inject.so" timeout 60 "$halcyon" "$@" >words 2>&1
}
# The result of a run, in a form that two runs have in common.
result()
{
    case $1 in
    *out.dat* | receive*) grep -v '^#' out.dat ;;
    *out.npy*) cat out.npy ;;
    *integrate*) h5dump -d /entry_0000/pyFAI/result/intensity out.h5 ;;
    *) "$halcyon" decompress out.h5 -o again.npy -q && cat again.npy ;;
    esac 2>/dev/null
}
ok() { n=$((n + 1)); echo "$1 $n - $2"; [ "$1" = ok ] || failed=1; }

# each VARIABLE COUNT STEP WHAT COMMAND...
each()
{
    variable=$1 count=$2 step=${INJECT_STEP:-$3} what=$4
    shift 4
    wrong=0 tried=0 refused=0 call=1
    while [ "$call" -le "$count" ]; do
        run "$variable" "$call" "$@"
        status=$?
        tried=$((tried + 1))
        [ -s words ] && why=`head -1 words` || why='no words'
        case $status,$why in
        0,*) result "$*" | cmp -s - good || { echo "# $what $call: status 0, and another result"; wrong=1; } ;;
        1,'no words') echo "# $what $call: no words"; wrong=1 ;;
        1,*) refused=$((refused + 1)) ;;
        *) echo "# $what $call: status $status: $why"; wrong=1 ;;
        esac
        # Before the first allocation there is no report.
        if [ -e report ] && ! awk -v kept="$kept" '$3 > kept { bad = 1 } END { exit bad }' report; then
            echo "# $what $call: left allocated: `cat report`"
            wrong=1
        fi
        call=`expr $call + $step`
    done
    [ $wrong = 0 ] && good=ok || good='not ok'
    ok "$good" "$1: $tried of $count $what failed, one a run: $refused runs said so, the others did without"
}

# STEPS COMMAND...: allocations, reads and writes
commands='67 5 integrate s.h5 -p s.poni -d cpu@threads=2 -q -n 50 -o out.dat
67 13 integrate s.h5 -p s.poni -d cpu@threads=1@discrete=1 --two-stage --dark image.npy -q -n 50 -o out.h5
13 13 decompress s.h5 -q -o out.h5
13 5 compress image.npy -q -o out.h5
101 5 receive s.h5 s.poni cpu@threads=2
13 5 sum s.h5 -q -o out.npy
13 5 sum s.h5 -q --roi 0,0,30,30 -o out.dat
41 13 integrate s.h5 CONFIG -d cpu@threads=1 -q --sum 2 --monitor m.h5::/entry/data/data -o out.dat'
"$halcyon" integrate s.h5 -j c.json -o c.dat -q 2>/dev/null && config='-j c.json' || config='-p s.poni -n 50'
nufft='23 5 nufft -t 1 -p x.npy -i w.npy -n 9,8 --method grid --deterministic -d cpu@threads=2@discrete=1 -q -o out.npy
41 9 nufft -t 3 -p x.npy -i w.npy --targets x.npy --method grid --deterministic -d cpu@threads=1 -q -o out.npy
13 5 nufft -t 1 -p x.npy -i w.npy -n 9,8 --method direct -d cpu@threads=1 -q -o out.npy'
"$halcyon" nufft -t 1 -p x.npy -i w.npy -n 9,8 -d cpu -q -o f.npy 2>/dev/null && commands="$commands
$nufft" # else a build without an FFT
n=0 failed=0
while read -r step io command; do
    case $command in *CONFIG*) command="${command%CONFIG*}$config${command#*CONFIG}" ;; esac
    # Plans of two axes are kept for the next transform, and of grids as long as those of a type 3 the roots for their rows.
    case $command in *'-t 3'*'--method grid'*) kept=8 ;; *'--method grid'*) kept=6 ;; *) kept=0 ;; esac
    # shellcheck disable=SC2086 # several words
    run FAIL_ALLOC_AT 0 $command
    [ -s report ] || leave 'allocations are not seen here'
    read -r allocations calls leaks <report
    result "$command" >good
    [ -s good ] && good=ok || good='not ok'
    case $command in *out.h5*) command -v h5dump >/dev/null || good=ok ;; esac
    ok "$good" "$command"
    [ "$leaks" -le "$kept" ] && good=ok || good='not ok'
    ok "$good" "${command%% *}: nothing of $allocations allocations is left"
    # shellcheck disable=SC2086
    each FAIL_ALLOC_AT "$allocations" "$step" allocations $command
    # shellcheck disable=SC2086
    each FAIL_IO_AT "$calls" "$io" 'reads and writes' $command
done <<END
$commands
END
# A signal that comes while an output is made.
rm -f out.*
run SIGNAL_AT_OPEN 1 simulate --mri radial --size 8 -q out.h5
[ $? = 143 ] && [ -z "`ls out.* 2>/dev/null`" ] && good=ok || good='not ok'
ok "$good" 'a signal while the output is made: nothing of it is left'
echo "1..$n"
exit $failed
