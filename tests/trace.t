# HALCYON_TRACE of a whole run: reading, parsing, waiting, kernels, division and writing, each with its frames, in rows that
# have names; and what the summary says of the run's bound is what the timeline shows.
test_name=trace
. "${top_srcdir:-.}/tests/cli.sh"
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR
if ! "$halcyon" simulate s.h5 --shape 64x72 --frames 40 -q >simulate.log 2>&1; then
    grep 'no HDF5' simulate.log >/dev/null && { echo '1..0 # SKIP built without HDF5'; exit 0; }
    sed 's/^/# /' simulate.log
    exit 99
fi
# run TRACE OPTIONS...
run()
{
    name=$1
    shift
    HALCYON_TRACE=$name.json "$halcyon" integrate s.h5 -p s.poni -q --json -o "$name.dat" "$@" >"$name.out"
}
# spans TRACE NAME: a span a line: process, row, beginning and length in microseconds, first frame, frames.
spans()
{
    sed -n "/\"ph\":\"X\",\"name\":\"$2\"/{
        s/.*\"pid\":\([0-9]*\),\"tid\":\([0-9]*\),\"ts\":\([0-9.]*\),\"dur\":\([0-9.]*\)/\1 \2 \3 \4 /
        s/,\"args\":{\"first\":\([0-9]*\),\"frames\":\([0-9]*\).*/\1 \2/
        s/,\"args\".*/0 0/
        p
        }" "$1.json"
}
# frames TRACE NAME PROCESS [TIMES]: every frame of the 40 is in so many (1) spans of that name; PROCESS: an awk pattern of
# where they are.
frames()
{
    spans "$1" "$2" >spans.log
    awk -v times="${4-1}" "$3"' { for (i = $5; i < $5 + $6; i++) seen[i]++ }
        END {
            for (i = 0; i < 40; i++)
                if (seen[i] != times) { print "frame " i ": " seen[i] + 0; bad = 1 }
            exit bad
        }' spans.log
}
named() { grep "\"$2\",\"pid\":.*{\"name\":\"$3\"}" "$1.json"; }

check 'two devices' run two -n 50 -d cpu@threads=1,cpu@threads=1 --batch 4
check '... JSON' sh -c "'$json' <two.json"
for what in read parse divide sink write; do
    check "... each frame is in one span: $what" frames two $what '$1 == 256'
done
check '... and in one kernel' frames two bslz4_azint '$1 < 256'
check '... devices of one name apart' \
    sh -c "grep -c 'process_name.*cpu@threads=1\"' two.json && grep 'process_name.*cpu@threads=1 (2)\"' two.json"
check '... rows of the host have names' named two thread_name reader
check '... those of a device, too' named two thread_name 'batches 1'
# A run may have its curves before anybody waits for one; five do not.
waited()
{
    for again in 1 2 3 4 5; do
        grep '"wait for curves","pid":256' two.json && return
        run two -n 50 -d cpu@threads=1,cpu@threads=1 --batch 4
    done
    return 1
}
check '... the wait for curves' waited
run push -n 50 -d cpu@threads=1@discrete=1 --batch 4
check 'what is copied to a device: chunks and two tables' frames push write '$1 == 0' 3

# The rule of the summary (src/pipeline/stats.c), from the timeline alone.
bound()
{
    readers=`named "$1" thread_name 'reader.*' | wc -l`
    spans "$1" run >run.log
    spans "$1" sink >sink.log
    spans "$1" 'wait for room' >room.log
    seen=`awk -v readers="$readers" '
        FILENAME == "run.log" { all = $4 }
        FILENAME == "sink.log" { sink += $4 }
        FILENAME == "room.log" { room += $4 }
        END { print (sink > 0.8 * all ? "sink" : room > 0.25 * all * readers ? "devices" : "reading") }' \
        run.log sink.log room.log`
    said=`sed -n 's/^ *"bound_by": "\(.*\)".*/\1/p' "$1.out"`
    echo "timeline: $seen, summary: $said, expected: $2"
    [ "$seen" = "$said" ] && [ "$seen" = "$2" ]
}
# A device that takes 3 ms a frame holds the readers up; one that takes no time waits for whoever reads the curves.
run slow -n 3 -d null@kernels=noop@delay-us=3000 --batch 1
check 'a slow device: it bounds the run, in summary and timeline' bound slow devices
mkfifo write.dat
{ sleep 1; cat >/dev/null; } <write.dat &
run write -n 3000 -d null@kernels=noop --batch 1
wait
check 'a file that takes nothing for a second: writing does' bound write sink
echo "1..$n"
exit $failed
