# halcyon integrate --stream and halcyon simulate --stream: what comes over a wire is what is in the file, and whatever
# happens to a stream has the outcome that is documented.
reader=${top_builddir:-.}/examples/curve_reader
tool=${top_builddir:-.}/tests/corrections
case $reader in /*) ;; *) reader=`pwd`/$reader ;; esac
case $tool in /*) ;; *) tool=`pwd`/$tool ;; esac
script=${top_srcdir:-.}/examples/curve_reader.py
case $script in /*) ;; *) script=`pwd`/$script ;; esac
test_name=live
. "${top_srcdir:-.}/tests/cli.sh"
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR
at=ipc://$work/wire
trust_zmq

"$halcyon" integrate --stream "$at" --timeout 0 -q -d cpu@threads=1 >built.log 2>&1
if grep 'without ZeroMQ' built.log >/dev/null; then
    echo '1..0 # SKIP built without ZeroMQ'
    exit 0
fi
if "$halcyon" simulate s.h5 --shape 64x72 --frames 12 --seed 3 -q >simulate.log 2>&1; then
    :
elif grep 'no HDF5' simulate.log >/dev/null; then
    echo '1..0 # SKIP built without HDF5'
    exit 0
else
    sed 's/^/# /' simulate.log
    exit 99
fi
check 'simulate --encoding without --stream' refused 2 'are for --stream' "$halcyon" simulate e.h5 --encoding lz4
plan='-p s.poni -n 50 -d cpu@threads=1'
# shellcheck disable=SC2086 # several words on purpose
"$halcyon" integrate s.h5 $plan -q -o plain.dat || exit 99

send() { "$halcyon" simulate "$@" -q 2>send.log; }
live() { "$halcyon" integrate --stream "$at" --timeout 20 "$@"; }
rows() { grep -v '^#' "$1" | grep .; }
same() { rows "$1" >same.a; rows "$2" >same.b; [ -s same.a ] && cmp same.a same.b; }
frames() { sed -n 's/^# frame \([0-9]*\)$/\1/p' "$1" | tr '\n' ' '; }
# run STATUS 'OPTIONS OF simulate' OPTIONS OF integrate: both at once; what was said is in run.log, stdout in run.out.
run()
{
    want=$1 sent=$2
    shift 2
    # shellcheck disable=SC2086 # several words on purpose
    send $sent --stream "$at" &
    # shellcheck disable=SC2086
    live $plan "$@" >run.out 2>run.log
    got=$?
    wait
    [ $got = "$want" ] && return 0
    echo "status $got, want $want"
    cat run.log send.log
    return 1
}
no_jansson() { grep 'no jansson' run.log >/dev/null; }

# --- The same bits as the file's ---
for version in 1 2; do
    for encoding in bslz4 lz4 none; do
        run 0 "s.h5 --stream-version $version --encoding $encoding" -o $version.dat >first.log 2>&1
        if no_jansson; then
            skip "v$version: built without jansson"
            continue
        fi
        check "v$version, $encoding: the same curves as the file's" same plain.dat $version.dat
    done
done
check 'the summary is of a stream' grep -q 'frames/s from stream to result' run.log
# A file of one curve is refused when a series of more begins, and nothing is left of it.
several()
{
    "$halcyon" simulate s.h5 --stream "$at" -q 2>send.log & # itself: a signal to a function's shell would not reach it
    # shellcheck disable=SC2086
    live $plan -o one.chi >run.out 2>run.log
    got=$?
    # What nobody takes any more its sender keeps, for whoever comes.
    kill $!
    wait $!
    equals $got 1 && grep 'one.chi is for one curve.*one_%04d.chi' run.log && not ls one.chi*
}
check 'a file of one curve for a series of several' several
check '... a file for each' run 0 's.h5' -o one_%02d.chi -q
# More than the queues on the way hold: the sender waits for another receiver, says so once, and a signal ends it.
gone()
{
    "$halcyon" simulate s.h5 -n 20000 --stream "$at" -q 2>gone.log &
    sender=$!
    # shellcheck disable=SC2086
    live $plan -o one.chi >run.out 2>run.log
    tries=0
    until grep 'ipc:.*the receiver went away.*for another$' gone.log || [ $tries = 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    sleep 0.3
    kill $sender
    wait $sender
    equals $? 1 && equals "`grep -c 'went away' gone.log`" 1 && grep '^halcyon simulate: stopped after' gone.log
}
check 'a receiver that refuses the series and goes away' gone
check '... each there' test "$(ls one_*.chi | wc -l)" -eq 12
check '... of a series whose sum is one curve' run 0 's.h5' -o one.chi --sum 12 -q
# Sparse frames: the file's, of all frames and of those that came.
same_sparse()
{
    "${PYTHON:-python3}" - "$@" <<'END'
import h5py, numpy, sys
want, got = (h5py.File(name)["/entry_0000/sparse_frames"] for name in sys.argv[1:3])
rows = [int(i) for i in sys.argv[3:]] or list(range(len(want["background_avg"])))
at, has = want["frame_ptr"][()], got["frame_ptr"][()]
assert len(has) == len(rows) + 1 and has[-1] > 0 and want["intensity"].dtype == got["intensity"].dtype
for name in "background_avg", "background_std":
    assert numpy.array_equal(want[name][()][rows], got[name][()]), name
for name in "radius", "mask", "normalization":
    assert numpy.array_equal(want[name][()], got[name][()], equal_nan=True), name
for i, row in enumerate(rows):
    for name in "index", "intensity":
        assert numpy.array_equal(want[name][at[row]:at[row + 1]], got[name][has[i]:has[i + 1]]), (name, row)
END
}
# shellcheck disable=SC2086
"$halcyon" integrate s.h5 $plan -q --sigma-clip --sparse plain.sparse.h5 -o clipped.dat || exit 99
if "${PYTHON:-python3}" -c 'import h5py, numpy' 2>/dev/null; then
    for version in 1 2; do
        run 0 "s.h5 --stream-version $version" --sigma-clip --sparse live.sparse.h5 -o sparse.dat -q >first.log 2>&1
        got=$?
        if no_jansson; then
            skip "--sparse, v$version: built without jansson"
            continue
        fi
        check "--sparse, v$version" equals $got 0
        check '... the curves of a file' same clipped.dat sparse.dat
        check '... its sparse frames' same_sparse plain.sparse.h5 live.sparse.h5
    done
    check '--sparse, every third' run 0 s.h5 --every 3 --sigma-clip --sparse third.sparse.h5 -o third.dat -q
    # shellcheck disable=SC2046 # a number each
    check '... is of the frames that the curves name' same_sparse plain.sparse.h5 third.sparse.h5 $(frames third.dat)
    check '... which are four' test "$(frames third.dat)" = '0 3 6 9 '
    check '--sparse, a sender that dies' run 1 's.h5 --faults die=5' --sigma-clip --sparse dead.sparse.h5 -o died.dat --timeout 0.5
    check '... what came is in the file' same_sparse plain.sparse.h5 dead.sparse.h5 0 1 2 3 4
    check '--sparse, two series' run 1 's.h5 --faults header=8' --sigma-clip --sparse two.sparse.h5 -o two.dat --series 2
    check '... the first' same_sparse plain.sparse.h5 two.sparse.h5 0 1 2 3 4 5 6 7
    check "... the second's" same_sparse plain.sparse.h5 two.sparse_2.h5 8 9 10 11
else
    skip 'no h5py and NumPy (PYTHON names one that has)'
fi
check '--sparse, and -o of a further series' refused 2 'give one another name' live -p s.poni --sigma-clip -o a.h5 --sparse a_2.h5
check '--sparse with sums of a stream' refused 2 'frames. numbers in the curves' live -p s.poni --sigma-clip --sum 2 --sparse no.h5
port=`expr $$ % 20000 + 20000`
over_tcp()
{
    send s.h5 --stream "tcp://127.0.0.1:$port" &
    # shellcheck disable=SC2086
    "$halcyon" integrate --stream "tcp://127.0.0.1:$port" --timeout 20 $plan -q -o tcp.dat
    got=$?
    wait
    [ $got = 0 ] && same plain.dat tcp.dat
}
check 'over TCP' over_tcp
# near WANT GOT: the same but for the rounding of a geometry that was told in pixels.
near()
{
    awk 'FNR == NR { want[FNR] = $2; next }
        { d = $2 - want[FNR]; if (d < 0) d = -d; if (d > 1e-5 * (want[FNR] + 1)) bad = 1; n++ }
        END { exit bad || n < 600 }' "$1" "$2"
}
from_header()
{
    send s.h5 --stream "$at" &
    live -n 50 -d cpu@threads=1 -o header.dat 2>header.log
    wait
    cat header.log
    "$halcyon" integrate s.h5 -p s.poni --detector Detector -n 50 -d cpu@threads=1 -q -o again.dat
    grep 'geometry of the stream' header.log && near plain.dat header.dat
}
check 'without -p: the geometry of the header' from_header
turned()
{
    cp s.h5 turned.h5
    sed 's/"orientation": 3/"orientation": 2/; s/^Poni1:.*/Poni1: 0.0011/; s/^Poni2:.*/Poni2: 0.0019/' s.poni >turned.poni
    "$halcyon" integrate turned.h5 -p turned.poni -n 50 -d cpu@threads=1 -q -o again.dat || return 1
    send turned.h5 --stream "$at" &
    live -n 50 -d cpu@threads=1 -q -o turned.dat
    wait
    near again.dat turned.dat
}
check '... of a PONI whose origin is another corner' turned
no_geometry()
{
    cp s.h5 bare.h5
    send bare.h5 --stream "$at" &
    live -n 50 -d cpu@threads=1 -o bare.dat 2>bare.log
    got=$?
    wait
    cat bare.log
    [ $got = 1 ] && grep 'geometry is missing: give -p' bare.log
}
check 'a header without a geometry' no_geometry
with_mask()
{
    "$tool" make m.h5 'mask applied' >tool.log 2>&1 || return 1
    printf 'PixelSize1: 1e-4\nPixelSize2: 1e-4\nDistance: 0.1\nPoni1: 0.0005\nPoni2: 0.0005\n' >m.poni
    printf 'Rot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n' >>m.poni
    "$halcyon" integrate m.h5 -p m.poni -n 20 -u r_mm -d cpu@threads=1 -q -o mask.dat || return 1
    "$halcyon" integrate m.h5 -p m.poni -n 20 -u r_mm -d cpu@threads=1 -q -o none.dat --no-file-mask || return 1
    send m.h5 --stream "$at" &
    live -p m.poni -n 20 -u r_mm -d cpu@threads=1 -o live-mask.dat 2>mask.log
    wait
    cat mask.log send.log
    grep 'pixel mask of the stream: pixel_mask, 3 pixels' mask.log && same mask.dat live-mask.dat &&
        not same none.dat live-mask.dat
}
check "the header's pixel mask is used as a file's" with_mask
# The flat field of such a file multiplies, and of its mask not all bits do; its frames are neither.
with_master()
{
    "$tool" make d.h5 'mask dectris' >tool.log 2>&1 || return 1
    master='-p m.poni -n 20 -u r_mm -d cpu@threads=1 -q --no-file-mask --no-file-flatfield'
    # shellcheck disable=SC2086 # several words on purpose
    "$halcyon" integrate m.h5 $master --mask d.h5 --flat d.h5 -o master.dat || return 1
    send m.h5 --stream "$at" &
    # shellcheck disable=SC2086
    live $master --mask d.h5 --flat d.h5 -o live-master.dat --json >master.json 2>master.log
    wait
    cat master.log send.log
    grep '"mask": 3,' master.json && same master.dat live-master.dat && not same mask.dat live-master.dat
}
check "--mask and --flat of a detector's file mean what they do for files" with_master

# --- What files have, too ---
averaged()
{
    # shellcheck disable=SC2086 # several words on purpose
    "$halcyon" integrate s.h5 $plan --average 3 -q -o average.dat || return 1
    run 0 s.h5 --average 3 --latency 5 --device-timeout 60 -o live-average.dat && same average.dat live-average.dat
}
check '--average: what the file gives' averaged
with_sums() { run 0 s.h5 --sums -o sums.h5 && "$halcyon" info sums.h5 | grep 'sums .*added and rebinned'; }
check '--sums: of each image' with_sums
check '--processes is for files' refused 2 '--stream goes without' "$halcyon" integrate --stream "$at" --processes 2
check '--photon-energy is for files' refused 2 '--stream goes without' "$halcyon" integrate --stream "$at" --photon-energy 8
check '--shard is for files' refused 2 '--stream goes without' "$halcyon" integrate --stream "$at" --shard 0/2

# --- Channels ---
check 'of two channels the first is taken, and said' run 0 's.h5 --channels 2' -o two.dat
check '... it is said' grep 'has 2 channels: threshold_1 is used' run.log
check '... its curves' same plain.dat two.dat
check '--channel' run 0 's.h5 --channels 2' -o two.dat --channel threshold_2
check '--channel: what the file says' grep '^# stream: .*threshold_2' two.dat
check 'a channel that is not there' run 1 's.h5 --channels 2 --faults die=2' -o no.dat --channel 3
check '... those that are' grep '1 threshold_1, 2 threshold_2' run.log

# --- What happens to streams ---
check 'images that are lost, and come twice' run 1 's.h5 --faults drop=5,repeat=4' -o lost.dat --json
check '... their numbers' equals "`frames lost.dat`" '0 1 2 3 5 6 7 8 10 11 '
check '... JSON' sh -c "'$json' <run.out && grep '\"missing\": 2' run.out && grep '\"repeated\": 3' run.out"
check '... the file says it' \
    grep '^# stream_frames: 12 announced, 13 received, 10 done; 0 dropped, 0 skipped, 3 repeated, 2 missing' lost.dat
check 'HDF5' run 1 's.h5 --faults drop=5' -o lost.h5
check '... says it, too' grep -a '12 announced, 10 received, 10 done; 0 dropped, 0 skipped, 0 repeated, 2 missing' lost.h5
check 'images that overtake one another' run 0 's.h5 --faults swap=3' -o swap.dat
check '... stand as they came' equals "`frames swap.dat`" '0 1 3 2 4 6 5 7 9 8 10 11 '
check 'an image that is cut off' run 1 's.h5 --faults cut=4' -o cut.dat
check '... the others' equals "`frames cut.dat`" '0 1 2 4 5 6 8 9 10 '
check '... why' grep 'message cannot be read' run.log
# Bytes that are turned over may be pixels as well as not: the frame fails, or its curve is another.
damaged()
{
    run 0 's.h5 --faults damage=6' -o damage.dat || run 1 's.h5 --faults damage=6' -o damage.dat || return 1
    for f in plain damage; do
        awk '/^# frame/ { skip = $3 == 5 || $3 == 11 } !/^#/ && NF && !skip' $f.dat >$f.others
    done
    [ -s plain.others ] && cmp plain.others damage.others && not same plain.dat damage.dat
}
check 'an image whose bytes are damaged touches no other' damaged
check 'a sender that dies' run 1 's.h5 --faults die=5' -o dead.dat --timeout 0.5
check '... what came is in the file' equals "`frames dead.dat`" '0 1 2 3 4 '
check '... why it ended' grep '^# stream_end: no message came in time' dead.dat
check '... and that it is not whole' not grep '^# complete' dead.dat
check 'an end that never comes, of a series that is whole' run 0 's.h5 --faults no-end' -o endless.dat --timeout 0.5
check '... its curves' same plain.dat endless.dat
check '... of which more were asked for' run 1 's.h5 --faults no-end' -o fewer.dat --series 3 --timeout 0.5
check '... it is said' grep '1 of 3 series came' run.log
check 'a header that never came' run 1 's.h5 --faults no-header' -o headless.dat --timeout 0.5
check '... how many images' grep '12 images came before any header' run.log
check 'nobody sends' run 1 '--replay not.there' -o nobody.dat --timeout 0.3
check '... it is said' grep 'no series began within 0.3 s' run.log
check 'a header in the middle begins a series' run 1 's.h5 --faults header=8' -o middle.dat --series 2
check '... the first ends there' sh -c "grep '^# stream_end: another series began before its end' middle.dat"
check '... its frames' equals "`frames middle.dat`" '0 1 2 3 4 5 6 7 '
check "... the second's" equals "`frames middle_2.dat`" '8 9 10 11 '
check 'a header in the middle, of a run for one series' run 1 's.h5 --faults header=8' -o one.dat
check '... ends it' equals "`frames one.dat`" '0 1 2 3 4 5 6 7 '
check 'two series, a file each' run 0 's.h5 --series 2' -o both.dat --series 2
check '... the first' same plain.dat both.dat
check '... the second' same plain.dat both_2.dat
check 'two series to standard output' run 0 's.h5 --series 2' -o - --series 2 -q
cat plain.dat plain.dat >twice.dat
check '... one after the other' same twice.dat run.out
cp s.h5 mask_2.h5
check "a further series' file that is read" refused 1 'mask_2.h5 is read (--mask)' live $plan -q -o mask.h5 --mask mask_2.h5::/entry/data/data --series 2
check '--record, and -o of a further series' refused 2 'what a further series is written to' live $plan -q -o r.h5 --record r_2.h5 --series 2
for no_address in 127.0.0.1:9999 tcp://127.0.0.1 tcp://127.0.0.1:99999 tcp://127.0.0.1:x; do
    check "$no_address is no address" refused 2 "$no_address: .* an address is tcp://HOST:PORT" "$halcyon" integrate --stream $no_address --timeout 0
done
check 'nor is any of this machine, to connect to' refused 2 'an address is tcp://HOST:PORT' \
    "$halcyon" integrate --stream 'tcp://*:9999' --timeout 0
# What a series would be lost for is said before anyone waits for it.
check 'a geometry that is not there, before any series' refused 1 'not.poni: there is no such file' live -p not.poni --timeout 0
check '... an image' refused 1 'not.npy' live -p s.poni --dark not.npy --timeout 0
check '... a detector' refused 2 'nor is a detector called so' live -p s.poni --detector Eigger --timeout 0
check '... a format' refused 2 'are not written as .foo' live -p s.poni -o a.foo --timeout 0
check '... a %d that would not be filled in' refused 2 'leave the %d out' live -p s.poni -o a_%d.h5 --timeout 0
at_once()
{
    for i in 1 2; do
        # shellcheck disable=SC2086
        "$halcyon" integrate --stream "$at.$i" --timeout 20 $plan -q -o once$i.dat 2>once$i.log &
        send s.h5 --stream "$at.$i" &
    done
    wait
    same plain.dat once1.dat && same plain.dat once2.dat
}
check 'two streams at once' at_once
interrupted() # OPTION...: of the sender
{
    rm -f int.dat
    "$halcyon" simulate s.h5 --stream "$at" --frames 100000 -q "$@" &
    sender=$!
    # shellcheck disable=SC2086
    "$halcyon" integrate --stream "$at" $plan --sigma-clip --sparse int.sparse.h5 -o int.dat 2>int.log &
    pid=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sleep 0.1
        [ -s int.dat ] && grep '^# frame 3' int.dat >/dev/null && break
    done
    kill -INT $pid
    wait $pid
    got=$?
    kill -TERM $sender
    wait $sender
    cat int.log
    [ $got = 1 ] && grep '^# frame 2$' int.dat && grep 'interrupted' int.log && grep '^# stream_end: .*interrupt' int.dat
}
check 'an interrupt while frames are on their way: the file says so' interrupted
check 'an interrupt leaves what was done' interrupted --rate 20
# alone COMMAND...: an end of a stream without the other one, interrupted when its socket is there.
alone()
{
    rm -f alone
    "$@" 2>alone.log &
    pid=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ -S alone ] && break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    equals $? 1
}
check 'a sender that nobody hears, interrupted' alone "$halcyon" simulate s.h5 --stream ipc://alone
check '... says so' grep 'stopped after 0 messages' alone.log
check 'a receiver that hears nobody, interrupted' \
    alone "$halcyon" integrate --stream "$at" -p s.poni --publish ipc://alone -o alone.dat
check '... says so' grep 'stopped while no series was running' alone.log
between()
{
    # shellcheck disable=SC2086
    live $plan --series 0 -o all.dat 2>all.log &
    pid=$!
    send s.h5 --stream "$at"
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep '12 of 12 frames' all.log >/dev/null && break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    equals $? 0
}
check '... one of all series, between two: that is its end' between
# shellcheck disable=SC2016
is_interrupted_sparse='import h5py, sys
assert h5py.File("int.sparse.h5")["/entry_0000/sparse_frames/background_avg"].shape[0] == int(sys.argv[1])'
if "${PYTHON:-python3}" -c 'import h5py' 2>/dev/null; then
    check '... and its sparse frames' "${PYTHON:-python3}" -c "$is_interrupted_sparse" "$(frames int.dat | wc -w)"
else
    skip 'no h5py (PYTHON names one that has)'
fi

# --- Too fast ---
check '--every' run 0 's.h5' -o every.dat --every 4
check '... the frames' equals "`frames every.dat`" '0 4 8 '
# Over TCP, as detectors do: of a Unix socket ZeroMQ forgets what its peer sent before it closed, once it had to wait.
tcp=tcp://127.0.0.1:`expr $port + 1`
# A device that takes 2 ms for each frame, and does nothing: the sender is faster.
case ${HCY_SANITIZER-} in
*thread*) sent=4000 ;;
*) sent=10000 ;;
esac
dropped()
{
    send s.h5 --stream "$tcp" --frames $sent &
    "$halcyon" integrate --stream "$tcp" --timeout 20 -p s.poni -n 5 -d null@kernels=noop@delay-us=2000 --batch 1 --queue 8 --overflow drop-oldest -o drop.dat --json \
        >drop.json 2>drop.log
    got=$?
    wait
    cat drop.log
    number() { sed -n "s/^ *\"$1\": \([0-9]*\),*/\1/p" drop.json | head -1; }
    received=`number received` gone=`number dropped` done=`number frames`
    echo "received $received, dropped $gone, done $done"
    [ $got = 0 ] && [ "$received" = $sent ] && [ "$gone" -gt 1000 ] && [ `expr $done + $gone` = $sent ] &&
        [ `grep -c '^# frame' drop.dat` = "$done" ] && grep '"bound_by": "devices"' drop.json
}
check '--overflow drop-oldest: every frame is a curve or counted' dropped
waited()
{
    send s.h5 --stream "$tcp" --frames 1000 &
    "$halcyon" integrate --stream "$tcp" --timeout 20 -p s.poni -n 5 -d null@kernels=noop@delay-us=1000 --batch 1 --queue 8 -o wait.dat --json >wait.json
    got=$?
    wait
    [ $got = 0 ] && [ `grep -c '^# frame' wait.dat` = 1000 ]
}
check '--overflow wait: the sender waits, and none is lost' waited
check '... the devices bound the run' grep '"bound_by": "devices"' wait.json
slow_sender()
{
    send s.h5 --stream "$tcp" --rate 50 &
    "$halcyon" integrate --stream "$tcp" --timeout 20 -p s.poni -n 5 -d null@kernels=noop -o slow.dat --json >slow.json
    wait
    grep '"bound_by": "submitting"' slow.json
}
check 'a slow sender bounds the run' slow_sender

# --- Recordings ---
for version in 1 2; do
    run 0 "s.h5 --stream-version $version" -o plain$version.dat --record $version.rec -q >first.log 2>&1
    if no_jansson; then
        skip "v$version: built without jansson"
        continue
    fi
    check "v$version: a recording that is played again" run 0 "--replay $version.rec" -o again$version.dat
    check "v$version: its curves" same plain.dat again$version.dat
done
check 'a recording with faults' run 1 '--replay 2.rec --faults drop=6' -o faults.dat
check '... the frames' equals "`frames faults.dat`" '0 1 2 3 4 6 7 8 9 10 '
head -c 5000 2.rec >short.rec
check 'a recording that is cut off' run 1 '--replay short.rec' -o short.dat --timeout 2
check '... it is said' grep 'ends too soon' send.log
head -c $((`wc -c <2.rec` - 10)) 2.rec >short.rec
check 'a recording that is cut off in its last message' run 0 '--replay short.rec' -o short.dat --timeout 2
check '... it is said' grep 'ends too soon' send.log
check '... and all before it is sent' same plain2.dat short.dat
check 'a recording that is not there' refused 1 'not.there: No such file' "$halcyon" simulate --replay not.there --stream "$at" -q
check 'a recording that cannot be read' refused 1 'not a recording' "$halcyon" simulate --replay . --stream "$at" -q
check 'a file that is none' refused 1 'not a recording' "$halcyon" simulate --replay s.h5 --stream "$at" -q
cp 1.rec kept.rec
check 'no stream came: it says so' refused 1 'kept.rec stays as it was before' \
    "$halcyon" integrate --stream "$at" -p s.poni -n 5 -d cpu -o none.dat --timeout 0.3 --record kept.rec
check '... and an earlier recording stays' cmp 1.rec kept.rec
check '... as it does where nothing can be received' refused 2 'nowhere' \
    "$halcyon" integrate --stream nowhere -p s.poni -n 5 -d cpu -o none.dat --record kept.rec
check '... alone' equals "`cmp 1.rec kept.rec && echo kept.rec*`" kept.rec
# shellcheck disable=SC2086
full_disk()
{
    send s.h5 --stream "$at" &
    sh -c "ulimit -f 16; exec '$halcyon' integrate --stream '$at' --timeout 5 -p s.poni -d cpu -n 10 -q -o full.dat --record kept.rec" \
        2>full.log
    got=$?
    wait
    equals $got 1 && grep 'what was recorded is in .*/kept.rec.partial-' full.log && cmp 1.rec kept.rec &&
        grep 'the run goes on' full.log && equals "`frames full.dat`" '0 1 2 3 4 5 6 7 8 9 10 11 '
}
check 'a full disk: what was recorded is kept beside it, and curves go on' full_disk
full_results()
{
    send s.h5 --stream "$at" &
    # Of blocks of 512 bytes there is room for the head, and not for all curves.
    sh -c "ulimit -f 600; exec '$halcyon' integrate --stream '$at' --timeout 5 -p s.poni -d cpu -n 5000 -o full.h5 --json" \
        >full.out 2>full.log
    got=$?
    wait
    cat full.log
    equals $got 1 && grep 'full.h5 is not complete' full.log && not grep '12 curves' full.log && grep '"complete": false' full.out
}
[ -z "${HCY_HDF5-yes}" ] || check 'a full disk found when the file is closed: it is not complete' full_results

# --- Curves as a stream, the view ---
published()
{
    "$@" "ipc://$work/curves" 3 >curves.out 2>curves.err &
    reader_pid=$!
    send s.h5 --stream "$at" --rate 20 --frames 40 &
    # shellcheck disable=SC2086
    live $plan -q -o published.dat --publish "ipc://$work/curves"
    wait $reader_pid || { cat curves.err; return 1; }
    wait
    cat curves.out
    # What the reader says of a frame is what its rows say: the highest bin.
    awk 'FNR == NR { if (/^# frame/) f = $3; else if (!/^#/ && NF && (!(f in most) || $2 > most[f])) {
             most[f] = $2; at[f] = $1 } next }
         { n++; if ($3 != at[$2] || $4 != most[$2]) bad = 1 } END { exit bad || n != 3 }' published.dat curves.out
}
check '--publish, read in C' published "$reader"
check '... with the unit' sh -c "grep -c ' q_nm^-1\$' curves.out | grep -x 3"
with_long_unit()
{
    plan="$plan -u scattering_angle_vert_rad"
    published "$reader" && grep -c ' scattering_angle_vert_rad$' curves.out | grep -x 3
    got=$? plan=${plan% -u *}
    return $got
}
check '... of a name that is longer than others' with_long_unit
cakes()
{
    "$reader" "ipc://$work/curves" 3 >cakes.out 2>&1 &
    reader_pid=$!
    send s.h5 --stream "$at" --rate 20 --frames 40 &
    # shellcheck disable=SC2086
    live $plan -q -o cakes.h5 --npt-azim 4 --publish "ipc://$work/curves"
    wait $reader_pid && wait && equals "`grep -c ' q_nm^-1 chi_deg$' cakes.out`" 3
}
[ -z "${HCY_HDF5-yes}" ] || check '... and of cakes with that of azimuth' cakes
if python3 -c 'import numpy, zmq' 2>python.log; then
    check '--publish, read in Python' published python3 "$script"
else
    skip 'no zmq in python3'
fi
check '--watch, not on a terminal' run 0 's.h5' -o watch.dat --watch
check '... its numbers' grep 'series 1: 12 of 12 frames.*waiting 0, dropped 0.*latency p50 .* p99.9' run.log
check '... of two series' run 0 's.h5 --series 2' -o watch.dat --watch --series 2
check '... each with its own rate' not grep ': 12 of 12 frames, 0 frames' run.log
if command -v script >/dev/null; then
    send s.h5 --stream "$at" &
    TERM=xterm script -qc "'$halcyon' integrate --stream '$at' --timeout 20 $plan --watch -o end.dat" end.log >/dev/null
    wait
    check '... on a terminal: nothing is awaited behind the end' sh -c \
        "sed -n '/end.dat: 12 curves/,\$p' end.log >rest && [ -s rest ] && ! grep waiting rest"
    # picture NAME OPTIONS...: the last curve that is drawn.
    picture()
    {
        name=$1
        shift
        send s.h5 --stream "$at" &
        TERM=xterm script -qc "'$halcyon' integrate --stream '$at' --timeout 20 $plan --watch --split no -q $* -o drawn.h5" $name.log >/dev/null
        wait
        tr -d '\r' <$name.log | grep -B8 '^frame 11' | tail -9 >$name.drawn
        [ -s $name.drawn ]
    }
    # Rows of an image are not drawn one behind the other.
    rows_drawn()
    {
        picture image --azimuth-range=-180,180 --npt-azim 2 && picture half --azimuth-range=-180,0 && cmp image.drawn half.drawn
    }
    check '... of an image its first row' rows_drawn
else
    skip 'no script'
    skip 'no script'
fi

# --- Keys (the pairs that ZeroMQ's own pages show) ---
cat >server.secret <<'KEY'
JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6
KEY
cat >server.key <<'KEY'
the detector's public key
rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7
KEY
with_keys()
{
    run 0 's.h5 --curve-secret server.secret' -o keys.dat --curve-key server.key || return 1
    same plain.dat keys.dat
}
if grep 'without CurveZMQ' run.log >/dev/null; then
    skip 'libzmq without CurveZMQ'
else
    check 'CurveZMQ: encrypted' with_keys
    check 'CurveZMQ: who has not the key gets nothing' \
        sh -c "'$halcyon' simulate s.h5 --stream '$at' --curve-secret server.secret -q 2>no.log & pid=\$!
               '$halcyon' integrate --stream '$at' -p s.poni -d cpu@threads=1 -o nokey.dat --timeout 1 -q; got=\$?
               kill -INT \$pid; wait \$pid; [ \$got = 1 ]"
fi
check 'as long as a key, and none' refused 1 'neither a key' "$halcyon" integrate --stream "$at" \
    --curve-key '~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~' -o no.dat
check 'a key that is none' refused 1 'neither a key' "$halcyon" integrate --stream "$at" --curve-key none -o no.dat

# --- The command line ---
check '--stream and a stack' refused 2 'takes the place of STACK' "$halcyon" integrate s.h5 --stream "$at"
check 'neither' refused 2 'what to work on is missing' "$halcyon" integrate
check '--record alone' refused 2 'are for --stream' "$halcyon" integrate s.h5 --record x
check '--follow and --stream' refused 2 'goes without' "$halcyon" integrate --follow --stream "$at"
check '--rate alone' refused 2 'are for --stream' "$halcyon" simulate s.h5 --rate 3
check 'an address that is none: nothing is made for it' refused 2 'cannot be bound to' "$halcyon" simulate new.h5 --stream nowhere
check '... and nothing was' not ls new.h5
check 'an address of another machine' refused 1 'is for all that it has' \
    "$halcyon" simulate new.h5 --stream tcp://192.0.2.1:5555 --frames 1 --shape 8x8 -q
check 'a fault that is not known' refused 2 'faults' "$halcyon" simulate s.h5 --stream "$at" --faults lose=3
check '--replay without an address' refused 2 'needs --stream' "$halcyon" simulate --replay 2.rec
check '--replay and what makes frames' refused 2 'what was recorded' "$halcyon" simulate --replay 2.rec --stream "$at" --series 2
check '... or their pixels' refused 2 'what was recorded' "$halcyon" simulate --replay 2.rec --stream "$at" --dtype uint16
check '--mri and pixels' refused 2 'makes no stack' "$halcyon" simulate --mri radial k.npy --dtype uint16
said()
{
    "$halcyon" simulate s.h5 --stream "$at" --shape 64x64 2>send.log & pid=$!
    for _ in 1 2 3 4 5 6 7 8 9; do grep 'sent as it is' send.log && break; sleep 0.2; done
    kill -INT $pid
    wait $pid
    grep 'sent as it is' send.log
}
check 'what is said of a stack that is there already' said
check "an input's name, and --stream" refused 2 'which a stream has not' "$halcyon" integrate --stream "$at" -p s.poni -o 'x_%s.dat'
check 'an address that is none' refused 2 'cannot be connected to' "$halcyon" integrate --stream nowhere -p s.poni -o no.dat
echo "1..$n"
exit $failed
