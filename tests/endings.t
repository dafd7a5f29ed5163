# Runs that end early: signals, full disks, outputs that cannot be written.  An earlier output stays; what integrate has
# done is kept beside it in a file that opens, of other commands nothing is left; the status is 1, with words.
test_name=endings
. "${top_srcdir:-.}/tests/cli.sh"

[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }
HALCYON_BACKENDS=cpu,null # and not what vendors' libraries keep
export HALCYON_BACKENDS

opens() { "$halcyon" sum "$1" -o opens.npy -q; }
stays() { equals "`cat "$1"`" 'an earlier output' && not ls "$1".partial-* 2>ls.err; }

"$halcyon" simulate s.h5 --shape 64x90 --dtype uint16 -n 40 -q || exit 99
"$halcyon" decompress s.h5 --frames :6 -o six.npy -q || exit 99
slow=null@kernels=noop@delay-us=20000

# --- Signals ---
# ended PID: its status, as wait has it; one that does not end in two minutes is ended, and where its threads were is said.
ended()
{
    tries=0
    while [ $tries -lt 1200 ] && [ -r /proc/$1/status ] && ! grep -q '^State:.Z' /proc/$1/status 2>ls.err; do
        tries=$((tries + 1))
        sleep 0.1
    done
    if [ $tries -ge 1200 ]; then
        for thread in /proc/$1/task/*; do
            echo "# no end: `cat $thread/comm`, `grep State $thread/status`, in `cat $thread/wchan`, `cat $thread/syscall 2>&1`"
        done
        kill -KILL $1
    fi
    wait $1
}
# interrupted SIGNAL FILE COMMAND...: a run that gets the signal when its output is there; its status in $status.
interrupted()
{
    signal=$1 file=$2
    shift 2
    rm -f "$file".partial-*
    echo 'an earlier output' >"$file"
    "$halcyon" "$@" -d $slow >words 2>&1 &
    pid=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ls "$file".partial-* >ls.out 2>&1 && break
        sleep 0.1
    done
    sleep 0.1 # some frames
    kill -$signal $pid
    ended $pid
    status=$?
}
signals='INT TERM HUP'
sh -c 'kill -HUP $$; exit 0' && signals='INT TERM' # under nohup it is ignored for good
for signal in $signals; do
    interrupted $signal curves.h5 integrate s.h5 -p s.poni --batch 1 -n 50 -o curves.h5
    check "integrate, $signal: status 1" equals $status 1
    check "integrate, $signal: it says so" grep -q 'stopped after [0-9]* of 40 frames' words
    check "integrate, $signal: it says where they are" grep -q 'what was done is in .*/curves.h5.partial-' words
    check "integrate, $signal: the file opens" opens curves.h5.partial-*
    check "integrate, $signal: an earlier one stays" grep -q 'earlier' curves.h5
    if command -v h5dump >/dev/null; then
        check "integrate, $signal: it says so in itself" \
            sh -c 'h5dump -a /entry_0000/integrate/halcyon/status curves.h5.partial-* | grep stopped'
    fi
    interrupted $signal curves.dat integrate s.h5 -p s.poni --batch 1 -n 50 -o curves.dat
    check "integrate to text, $signal: whole curves" \
        sh -c 'set -- `grep -vc "^#\|^$" curves.dat.partial-*`; test $1 -gt 0 -a $((`expr $1 % 50`)) = 0'
    [ $signal = HUP ] && continue
    for sub in decompress compress; do
        interrupted $signal images.h5 $sub s.h5 -o images.h5
        check "$sub, $signal: status 1" equals $status 1
        check "$sub, $signal: it says so" grep -q 'stopped after [0-9]* of 40 frames' words
        check "$sub, $signal: an earlier file stays, alone" stays images.h5
        check "$sub, $signal: it says that" grep -q 'images.h5 stays as it was before' words
    done
    interrupted $signal images.npy decompress s.h5 -o images.npy
    check "decompress, $signal: status 1" equals $status 1
    check "decompress, $signal: an earlier file stays, alone" stays images.npy
done
( trap '' HUP; interrupted HUP curves.h5 integrate s.h5 -p s.poni --batch 1 -n 50 -o curves.h5; exit $status )
check 'integrate under nohup: goes on' equals $? 0
for signal in INT TERM; do
    rm -f sum.npy
    HALCYON_TRACE=trace "$halcyon" sum s.h5 -o sum.npy -d $slow >words 2>&1 &
    pid=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ -e trace ] && break
        sleep 0.1
    done
    kill -$signal $pid
    ended $pid
    check "sum, $signal: status 1" equals $? 1
    check "sum, $signal: it says so" grep -q 'stopped after [0-9]* of 40 frames' words
    check "sum, $signal: no sum of some frames" test ! -e sum.npy
    rm -f trace
done

for signal in INT TERM; do
    rm -f stack.h5
    "$halcyon" simulate stack.h5 --shape 640x900 -n 5000 -q >words 2>&1 &
    pid=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ls stack.h5.partial-* >ls.out 2>&1 && break
        sleep 0.1
    done
    kill -$signal $pid
    ended $pid
    check "simulate, $signal: status 1" equals $? 1
    check "simulate, $signal: it says so" grep -q 'stopped' words
    check "simulate, $signal: no stack of some frames" not ls stack.*
done
"$halcyon" simulate stack.h5 --shape 640x900 -n 5000 -q >words 2>&1 &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    ls stack.h5.partial-* >ls.out 2>&1 && break
    sleep 0.1
done
kill -KILL $pid
wait $pid 2>ls.err
check 'simulate, KILL: what is left says that it is unfinished' equals "`echo stack.*`" stack.h5.partial-$pid
rm -f stack.*

# --- Before there is an output ---
"$halcyon" integrate missing.h5 -p s.poni --follow -o early.dat >words 2>&1 &
pid=$!
sleep 0.3
kill -TERM $pid
wait $pid
check 'a signal before the first frame: the status says which' equals $? 143
check '... it says so' grep -q 'halcyon: interrupted' words
check '... and leaves no file' not ls early.dat*

# --- A full disk ---
check 'a full disk amid the arrays of a scan: which of them are new' refused 1 'of this run up to the trajectory' \
    sh -c "ulimit -f 128; exec '$halcyon' simulate --mri radial --size 32 --coils 8 scan.npy -q"
if [ -w /dev/full ]; then
    mkdir disk
    ln -s /dev/full disk/0.dat
    check 'a file a frame, none of which could be written: there are none' \
        refused 1 'disk/%d.dat is not written' "$halcyon" integrate s.h5 -p s.poni -n 50 -q -d cpu@threads=1 -o disk/%d.dat
    check '... and no place of them is named' not grep 'what was done' refused.err
else
    skip '/dev/full is not there'
    skip '/dev/full is not there'
fi

# --- A timeline that cannot be written is no failure ---
for trace in missing/trace.json s.poni/trace.json .; do
    check "HALCYON_TRACE=$trace: the run goes on" sh -c "HALCYON_TRACE=$trace '$halcyon' integrate six.npy -p s.poni \
        -d cpu -o traced.dat 2>words && test -s traced.dat"
    check '... with a warning' grep -q "no timeline is written: HALCYON_TRACE names $trace" words
done
echo 'of another kind' >other.json
HALCYON_TRACE=other.json "$halcyon" sum six.npy -o sum.npy -d cpu 2>words
check 'HALCYON_TRACE naming another file: a warning' grep -q 'other.json, which is not a timeline and stays' words
check '... and it stays' grep -q 'of another kind' other.json
mkfifo pipe.json
check 'HALCYON_TRACE naming a pipe: nobody waits' sh -c "HALCYON_TRACE=pipe.json '$halcyon' sum six.npy -o sum.npy -d cpu 2>words"
check '... and a warning' grep -q 'pipe.json, which is not a timeline and stays' words

# --- A disk that is full, here for files of this process; /dev/full ---
outputs='integrate six.npy -p s.poni -n 20000 -o full.h5
integrate six.npy -p s.poni -n 20000 -o full.dat
integrate six.npy -p s.poni -n 2000 --npt-azim 9 --frames 0 -o full.edf
decompress s.h5 -o full.h5
decompress s.h5 -o full.h5 --contiguous
decompress s.h5 -o full.npy
compress s.h5 -o full.h5
sum s.h5 -o full.npy
sum s.h5 -o full.h5
simulate full.h5 --shape 64x90 -n 50'
while read -r command; do
    file=`expr "$command" : '.*\(full[.][a-z0-9]*\)'`
    echo 'an earlier output' >$file
    # shellcheck disable=SC2086 # several words
    check "a full disk: $command" refused 1 'full[.]' sh -c "ulimit -f 16; exec '$halcyon' $command -q"
    case $command in
    integrate*full.dat)
        # shellcheck disable=SC2086
        sh -c "ulimit -f 16; exec '$halcyon' $command" 2>words
        check '... which is said once' equals "`grep -c 'writing failed' words`" 1
        check '... and what is there now' grep -q 'full[.]dat stays as it was before' words ;;
    integrate*) rm -f $file.partial-* ;;
    esac
    check '... an earlier output stays' stays $file
    check '... which is said' grep -q "$file stays as it was before" refused.err
    rm -f full.*
done <<END
$outputs
END
if [ -w /dev/full ]; then
    for command in 'integrate six.npy -p s.poni -o full.dat' 'decompress s.h5 -o full.npy' 'sum s.h5 -o full.npy'; do
        file=`expr "$command" : '.*-o \(.*\)'`
        ln -s /dev/full $file
        # shellcheck disable=SC2086
        check "/dev/full: $command" refused 1 "$file" "$halcyon" $command -q
        rm -f $file
    done
else
    skip '/dev/full is not there'
fi

# --- Folders and files that may not be written; root may write them all ---
mkdir closed
touch kept.h5 kept.npy kept.dat
chmod 444 kept.*
chmod 555 closed
user=`id -u`
for command in 'integrate six.npy -p s.poni -o' 'decompress s.h5 -o' 'compress s.h5 -o' 'sum s.h5 -o' 'simulate'; do
    if [ "$user" = 0 ]; then
        skip 'root may write everywhere'
        continue
    fi
    # shellcheck disable=SC2086
    check "a folder that may not be written: $command" refused 1 'closed/x.h5' "$halcyon" $command closed/x.h5 -q
done
for command in 'integrate six.npy -p s.poni -o' 'decompress s.h5 -o' 'compress s.h5 -o' 'sum s.h5 -o' 'simulate'; do
    # shellcheck disable=SC2086
    check "a file under a file: $command" refused 1 's.poni/x.h5' "$halcyon" $command s.poni/x.h5 -q
    # shellcheck disable=SC2086
    check "a folder as the output: $command" refused 1 'closed' "$halcyon" $command closed -q
done

# --- Disks that fail while they are read: the first page of a process's memory always does ---
if ln -s /proc/self/mem broken && [ -f broken ] && ! head -c 1 broken >head.log 2>&1; then
    for command in 'integrate six.npy -p broken' 'integrate six.npy -p s.poni --monitor broken'; do
        # shellcheck disable=SC2086
        check "a file that cannot be read: $command" refused 1 'broken cannot be read' "$halcyon" $command -q -o failed.dat
        check '... no output is left' sh -c '! ls failed.dat*'
    done
else
    skip 'there is no file here of which reading fails'
fi

check 'a cache that cannot be written is no failure' \
    "$halcyon" integrate six.npy -p s.poni -q -o x.dat --plan-cache s.poni/plans

echo "1..$n"
exit $failed
