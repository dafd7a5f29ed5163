# halcyon integrate --follow while another program writes, and --channel.
feed=${top_builddir:-.}/tests/stack_grow
case $feed in /*) ;; *) feed=`pwd`/$feed ;; esac
test_name=follow
. "${top_srcdir:-.}/tests/cli.sh"
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR

integrate() { stack=$1; shift; "$halcyon" integrate "$stack" -p s.poni -d cpu@threads=1 -q "$@"; }
rows() { grep -v '^#' "$1" | grep .; }
same() { rows "$1" >same.a; rows "$2" >same.b; [ -s same.a ] && cmp same.a same.b; }
# status WANT WORD COMMAND...: it ends with that status and says the word.
status()
{
    want=$1 word=$2
    shift 2
    "$@" >status.log 2>&1
    got=$?
    [ $got = $want ] && grep -e "$word" status.log >/dev/null && return 0
    echo "status $got, want $want with '$word':"
    cat status.log
    return 1
}

if "$halcyon" simulate s.h5 --detector Eiger500k --frames 8 --seed 3 -q >simulate.log 2>&1; then
    :
elif grep 'no HDF5' simulate.log >/dev/null; then
    echo '1..0 # SKIP built without HDF5'
    exit 0
else
    sed 's/^/# /' simulate.log
    exit 99
fi
integrate s.h5 -o plain.dat || exit 99

# follow HOW: the file is made and written while the command runs.
follow()
{
    (sleep 0.2; exec "$feed" feed $1 $1.h5 s.h5 30) &
    integrate $1.h5 -o $1.dat --follow --follow-timeout 20 --frames :8 || return 1
    wait
    same plain.dat $1.dat
}
check 'a file that is written with SWMR' follow swmr
check 'a file that is flushed now and then' follow flush
check 'without --follow there is no waiting' status 1 'no such file' integrate not.h5 -o not.dat
check '--follow-timeout: the end of a stack whose length nobody knows' \
    integrate swmr.h5 -o end.dat --follow --follow-timeout 0.2
check '--follow-timeout: all frames' same plain.dat end.dat
check '--follow-timeout: frames that did not come' \
    status 1 'no frame 8 within 0.2 s' integrate swmr.h5 -o more.dat --follow --follow-timeout 0.2 --frames :9
check '--follow-timeout: none came of frames without an end' \
    status 1 'no frame 9 within 0.2 s' integrate swmr.h5 -o none.dat --follow --follow-timeout 0.2 --frames 9:
check '--follow-timeout: what came is written' same plain.dat more.dat
check '--follow-timeout: a file that did not come' \
    status 1 'no such file' integrate not.h5 -o not.dat --follow --follow-timeout 0.1
# What grows under its own name has taken an earlier file's place, also where the disk is full soon; but not before its head
# is there.
no_room()
{
    for file in none.dat none.h5; do
        echo earlier >$file
        (ulimit -f 0; integrate s.h5 -o $file --follow --follow-timeout 0.2 2>/dev/null) && return 1
        equals "`cat $file`" earlier || return 1
    done
    not ls none.*partial*
}
check '--follow: a disk that was full before' no_room
full_disk()
{
    echo earlier >full.dat
    (ulimit -f 16; integrate s.h5 -n 5000 -o full.dat --follow --follow-timeout 0.2 2>full.log) && return 1
    cat full.log
    grep 'full.dat is not complete' full.log && not grep 'as it was before' full.log && not grep earlier full.dat
}
check '--follow: a full disk' full_disk
check '--follow-timeout alone' status 2 'needs --follow' integrate s.h5 --follow-timeout 1

# An interrupt while it waits.
interrupted()
{
    "$halcyon" integrate swmr.h5 -p s.poni -d cpu@threads=1 -q -o int.h5 --follow --follow-timeout 60 2>int.log &
    pid=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sleep 0.1
        [ -s int.h5 ] && break
    done
    sleep 0.3
    kill -INT $pid
    wait $pid
    [ $? = 1 ] && grep -E 'stopped before frame [08]|stopped after [0-9]* of' int.log || return 1
    grep -E 'before frame 0|after 0' int.log || # on a slow machine
        "$halcyon" sum int.h5 --dataset /entry_0000/integrate/results/data -o int.npy -q
}
check 'an interrupt leaves a valid file' interrupted

# Killed while it waits: the curves of the frames that came are in the file, though no further one takes them there.
killed()
{
    "$halcyon" integrate swmr.h5 -p s.poni -d cpu@threads=1 -q -o kill.h5 --follow --follow-timeout 300 2>kill.log &
    pid=$!
    i=0
    while [ $i -lt 300 ]; do
        i=`expr $i + 1`
        sleep 0.1
        cp kill.h5 copy.h5 2>/dev/null && "$halcyon" info copy.h5 2>/dev/null | grep '8 patterns' && break
    done
    kill -KILL $pid
    wait $pid 2>/dev/null
    "$halcyon" info kill.h5 | grep '8 patterns'
}
check 'killed while it waits for frames: what came is in the file' killed

# --- Channels: frames by turns of the first and the second ---
"$feed" feed channels two.h5 s.h5 || exit 99
integrate s.h5 -o third.dat --frames 3 || exit 99
check 'channels: one must be chosen' status 1 'choose one: 1 threshold_1, 2 threshold_2' integrate two.h5 -o two.dat
check '... of frames to be plotted, too' status 1 'choose one: 1 threshold_1, 2 threshold_2' "$halcyon" plot two.h5
check '... one that is there' status 1 'two.h5.*channel.*9' "$halcyon" plot two.h5 --channel 9
check 'a dataset to be plotted that is none' status 1 'no dataset /none' "$halcyon" plot two.h5:/none
check '--channel 2' integrate two.h5 -o two.dat --channel 2 --frames 1
check '--channel 2: its frames' same third.dat two.dat
check '--channel by name' integrate two.h5 -o two.dat --channel threshold_2 --frames 1
check '--channel by name: its frames' same third.dat two.dat
check 'decompress --channel' "$halcyon" decompress two.h5 --channel 2 --frames 1 -o two.npy -q
check 'decompress --channel: the frame' sh -c "'$halcyon' decompress s.h5 --frames 3 -o s.npy -q && cmp s.npy two.npy"
check 'frames behind the last one' status 1 'frames 0 to 7, and those from 30 on were asked for' "$halcyon" sum s.h5 --frames 30: -o s30.npy
check 'sum --channel' "$halcyon" sum two.h5 --channel 2 --frames 1 -o two.npy -q
check 'sum --channel: the frame' sh -c "'$halcyon' sum s.h5 --frames 3 -o s.npy -q && cmp s.npy two.npy"
check 'compress --channel' "$halcyon" compress two.h5 --channel 2 --frames 1 -o packed.h5 -q
check 'compress --channel: the frame' sh -c "'$halcyon' sum packed.h5 -o two.npy -q && cmp s.npy two.npy"
echo "1..$n"
exit $failed
