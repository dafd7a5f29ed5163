# halcyon integrate by several processes, one of which may die, and the layouts under pyFAI's names.
test_name=processes
. "${top_srcdir:-.}/tests/cli.sh"
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR
unset HALCYON_DEVICE

"$halcyon" simulate s.h5 --shape 300x400 --frames 7 --seed 3 -q >simulate.log 2>&1 || {
    grep 'no HDF5' simulate.log >/dev/null && echo '1..0 # SKIP built without HDF5' && exit 0
    sed 's/^/# /' simulate.log
    exit 99
}
integrate() { stack=$1; shift; "$halcyon" integrate "$stack" -p s.poni -q "$@"; }
rows() { grep -v '^#' "$1" | grep .; }
same() { rows "$1" >same.a; rows "$2" >same.b; [ -s same.a ] && cmp same.a same.b; }

# as_one OPTIONS...: two processes write what one pipeline writes.
as_one()
{
    integrate s.h5 -d cpu@threads=1 -o one.dat "$@" && integrate s.h5 --processes 2 -o two.dat "$@" && same one.dat two.dat
}
check 'the curves of one process' as_one
# Under ThreadSanitizer, which sees one process at a time, and slowly: what only they do, with fewer frames.
case ${HCY_SANITIZER-} in
*thread*) many=200 ;;
*)
    many=1000
check '... of three' sh -c "'$halcyon' integrate s.h5 -p s.poni --processes 3 -o three.dat -q && grep -v '^#' two.dat >a && grep -v '^#' three.dat >b && cmp a b"
check '... with errors' as_one --error-model poisson --split full
check '... with groups' as_one --sum 3 --error-model poisson
check '... with sigma clipping' as_one --sigma-clip
check '... of some frames' as_one --frames 2:5
check '... of a list from a pipe, which is read once' sh -c "echo s.h5 | '$halcyon' integrate @/dev/stdin -p s.poni --processes 2 -o list.dat -q &&
    '$halcyon' integrate s.h5 -p s.poni -d cpu@threads=1 -o one.dat -q && grep -v '^#' list.dat >a && grep -v '^#' one.dat >b && [ -s a ] && cmp a b"
check '... of a part' sh -c "'$halcyon' integrate s.h5 -p s.poni --processes 2 --shard 1/2 -o half.dat -q && ls half.1-of-2.dat"
for i in 1 2 3 4 5 6 7; do echo $i; done >monitor.txt
check '... with a monitor' as_one --monitor monitor.txt
check '... with a monitor and groups' as_one --monitor monitor.txt --sum 2
check '... without a cache of plans' as_one --plan-cache none ;;
esac
check '-d: devices are dealt' integrate s.h5 --processes 3 -d cpu@threads=1,cpu@threads=2 -o dealt.dat
check '--json: devices that take their time bound the run' sh -c "'$halcyon' integrate s.h5 -p s.poni --processes 2 --batch 1 \
    -d null@kernels=noop@delay-us=100000 -o slow.dat --json | grep '\"bound_by\": \"devices\"'"
check '... where some of them get no frames' sh -c "'$halcyon' integrate s.h5 -p s.poni --processes 3 --frames :1 \
    -d null@kernels=noop@delay-us=500000 -o slow.dat --json | grep '\"bound_by\": \"devices\"'"
check '--json: a device is a process' sh -c "'$halcyon' integrate s.h5 -p s.poni --processes 2 -o j.h5 --json | grep 'process 1 (cpu@threads='"
sed 's/^Wavelength:.*/Wavelength: 0.5/' s.poni >unit.poni
says_once() { "$halcyon" integrate s.h5 -p unit.poni --processes 3 -q -o unit.dat 2>unit.log; equals "`grep -c 'if that is in Angstrom' unit.log`" 1; }
check 'a warning is the first process'\'' alone' says_once
if command -v script >/dev/null; then
    TERM=xterm script -qc "'$halcyon' integrate s.h5 -p s.poni --processes 3 -o unit.dat" terminal.log >/dev/null
    check '... as is the line of progress' equals "`tr '\r' '\n' <terminal.log | grep -c 'opening s.h5'`" 1
    TERM=dumb script -qc "'$halcyon' integrate s.h5 -p s.poni -o dumb.dat" dumb.log >/dev/null
    check '... which a terminal that cannot write it anew does not get' sh -c "grep 'dumb.dat: ' dumb.log && ! grep opening dumb.log"
    TERM=xterm script -qc "stty cols 30; '$halcyon' integrate s.h5 -p s.poni -o narrow.dat" narrow.log >/dev/null
    # 29 characters, and before them three that empty the line.
    check '... cut to what a narrow one has room for' sh -c "tr '\r' '\n' <narrow.log | LC_ALL=C awk '
        /plan for/ { n++; if (length != 32) bad = 1 } END { exit bad || !n }'"
else
    skip 'no script'
fi
check '--processes 0' refused 2 'from 1 to 256' "$halcyon" integrate s.h5 -p s.poni --processes 0
check '--processes and --follow' refused 2 'leave --follow' "$halcyon" integrate s.h5 -p s.poni --processes 2 --follow
check 'a device that is not there' refused 1 'nosuch' "$halcyon" integrate s.h5 -p s.poni --processes 2 -d nosuch -o none.h5
check '... leaves no file' not ls none.h5

# --- Layouts ---
layout() { integrate s.h5 --layout $1 -o $1.dat && same one.dat $1.dat; }
integrate s.h5 -d cpu@threads=1 -o one.dat
for name in serial pool processes; do
    check "layout $name" layout $name
done
check 'layout all' env HALCYON_BACKENDS=cpu "$halcyon" integrate s.h5 -p s.poni --layout all -o all.dat -q
check '... the same curves' same one.dat all.dat
check 'layout gpu: none is there' refused 1 'gpu' env HALCYON_BACKENDS=cpu "$halcyon" integrate s.h5 -p s.poni --layout gpu -o none.dat
check 'layout fpga: none is there' refused 1 'fpga' env HALCYON_BACKENDS=cpu "$halcyon" integrate s.h5 -p s.poni --layout fpga -o none.dat
check 'a layout and devices' refused 2 'leave --devices' "$halcyon" integrate s.h5 -p s.poni --layout pool -d cpu
check 'a layout and processes' refused 2 'leave --processes' "$halcyon" integrate s.h5 -p s.poni --layout pool --processes 2

# --- Frames that fail: one that is not there ---
"$halcyon" decompress s.h5 -o f_%04d.npy -q
rm f_0003.npy
check 'a frame that fails' refused 1 'frame 3 failed' "$halcyon" integrate f_%04d.npy -p s.poni --processes 2 -o bad.dat -q
integrate f_%04d.npy -d cpu@threads=1 -o bad1.dat 2>/dev/null
check '... the others do not notice' same bad1.dat bad.dat

# --- A device of a process that hangs ---
# What runs at a program's end says so, with the program's name; a worker whose device hangs ends without it.
cat >ends.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern char *program_invocation_short_name;
__attribute__((destructor)) static void at_the_end(void)
{
    FILE *f = strcmp(program_invocation_short_name, "halcyon-worker") ? NULL : fopen(getenv("ENDS"), "a");
    if (f) {
        fputs("end\n", f);
        fclose(f);
    }
}
END
ends=`pwd`/ends
# with_ends N DEVICES: so many of two workers come to such an end.
with_ends()
{
    : >ends
    ENDS=$ends LD_PRELOAD=$ends.so "$halcyon" integrate s.h5 -p s.poni --processes 2 -d "$2" --device-timeout 3 -q \
        -o hung.dat 2>hung.err || { cat hung.err; return 1; }
    equals `grep -c end ends` "$1" && integrate s.h5 -d cpu@threads=1 -o one.dat && same one.dat hung.dat
}
# Who has no frames yet gets some while the other one waits for its device.
hung=kernels=noop@delay-us=60000000
case ${HCY_SANITIZER-} in
'')
    if ${CC:-cc} -shared -fPIC -o ends.so ends.c >ends.log 2>&1; then
        check 'two workers end, each by its exit handlers' with_ends 2 cpu@threads=1
        check '... and without them where a device hangs' \
            with_ends 0 null@$hung,null:1@$hung,cpu@threads=1,cpu@threads=1
        check '... it says once which device that was' equals \
            "`grep -c 'device null:1 was given up, its frames went to the others' hung.err`" 1
        check "... nor where it is the process's only one" with_ends 1 null@$hung,cpu@threads=1
    else
        skip 'what runs at the end cannot be built here'
    fi ;;
*) skip 'sanitizers come first in a program' ;;
esac

# --- A process that is killed ---
if [ ! -r /proc/self/stat ]; then
    skip 'there is no /proc'
    echo "1..$n"
    exit $failed
fi
# A long stack, of links to one frame: what a run takes some seconds for, so that it is not over before it is disturbed.
milliseconds() { date +%s%N | sed 's/......$//'; }
i=0
while :; do
    while [ $i -lt $many ]; do
        ln -s f_0000.npy `printf 'm_%04d.npy' $i`
        i=`expr $i + 1`
    done
    began=`milliseconds`
    integrate m_%04d.npy -d cpu@threads=2 -o many.h5 || exit 99
    took=`expr \`milliseconds\` - $began + 1`
    [ $took -ge 1500 ] || [ $many -ge 9000 ] && break
    many=`expr $many \* 2500 / $took`
    [ $many -lt 9000 ] || many=9000
done
# Its rows, bit by bit: the sum of a frame's row is an image of one row.
bits() { "$halcyon" decompress "$1" --dataset /entry_0000/integrate/results/data -o "$2" -q; }
# workers PID: the processes that it has started.
workers() { cat /proc/[0-9]*/stat 2>/dev/null | sed 's/(.*)/x/' | awk -v p="$1" '$4 == p && $3 != "Z" { print $1 }'; }
alive() { kill -0 "$1" 2>/dev/null && ! grep ') Z ' "/proc/$1/stat" >/dev/null 2>&1; }
# begin FILE: a run by two processes, $run; $first is one of them.
begin()
{
    "$halcyon" integrate m_%04d.npy -p s.poni --processes 2 -d cpu@threads=1 -o "$1" -q 2>run.err &
    run=$!
    first=
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sleep 0.05
        set -- `workers $run`
        [ $# = 2 ] && first=$1 && break
    done
    [ "$first" ] || { cat run.err; echo "no processes of $run"; return 1; }
}
# ticks PID: two processes of its, and the processors' time that they have had.
ticks() { cat /proc/[0-9]*/stat 2>/dev/null | sed 's/(.*)/x/' | awk -v p="$1" '$4 == p && $3 != "Z" { n++; t += $14 + $15 } END { print n, t }'; }
# One that stands still with frames holds up the run, for rows come in order: then the other one works no more.
held_up()
{
    # Before it has frames and after its last ones it holds nothing up; how long that takes is the build's and the machine's.
    for pause in 0.2 0.4 0.8 0.1 1.2 0.05 2 3 5 8; do
        begin "$1" || return 1
        sleep $pause
        kill -STOP $first
        # Twice, as a machine that is busy gives a process nothing for a while.
        then='' before=''
        while alive $run; do
            now=`ticks $run`
            case $now in '2 '*) [ "$now" = "$then" ] && [ "$now" = "$before" ] && return 0 ;; esac
            before=$then then=$now
            sleep 0.5
        done
        kill -KILL $first 2>/dev/null
        wait $run
    done
    echo "no run was held up"
    return 1
}
killed_one()
{
    held_up killed.h5 || return 1
    kill -KILL $first
    wait $run
    got=$?
    cat run.err
    equals $got 0 && grep 'given up, its frames went to the others: it was killed by signal 9' run.err
}
check 'a process is killed with its frames' killed_one
bits many.h5 want.npy
check '... no frame is lost or doubled' sh -c "'$halcyon' decompress killed.h5 --dataset /entry_0000/integrate/results/data -o got.npy -q; cmp want.npy got.npy"
killed_all()
{
    begin dead.h5 || return 1
    for p in `workers $run`; do kill -KILL $p; done
    wait $run
    equals $? 1 && grep 'no process is left' run.err && not ls dead.h5
}
check 'all processes are killed' killed_all
interrupted()
{
    held_up stopped.h5 || return 1
    list=`workers $run`
    kill -INT $run
    wait $run
    equals $? 1 && grep "stopped after [0-9]* of $many frames" run.err || return 1
    for p in $list; do if alive $p; then echo "$p is left"; return 1; fi; done
}
check 'an interrupt ends them all' interrupted
orphaned()
{
    begin orphan.h5 || return 1
    list=`workers $run`
    kill -KILL $run
    wait $run
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        left=
        for p in $list; do alive $p && left=$p; done
        [ "$left" ] || return 0
        sleep 0.5
    done
    echo "$left is left"
    return 1
}
check 'they end with the process that started them' orphaned
echo "1..$n"
exit $failed
