#!/bin/sh
# A long run by hand: a detector's stream with faults, series after series, each with a plan, a pipeline and a file of its
# own, and a reader of the curves; the receiver's memory, descriptors and threads must not grow.
#
# usage: tests/soak.sh [MINUTES [OPTIONS OF halcyon integrate]]     (10 minutes; -d cpu@threads=1)
#   HALCYON  the command (default: halcyon)   READER  examples/curve_reader, or nothing to leave it out
#
# Prints a line every 5 seconds: seconds, series so far, KiB resident, open descriptors, threads.  The first third warms
# pools and caches up; status 0 if the last third needs no more than the second one did, within 2 % and 2 MiB.
set -eu
minutes=${1-10}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- -d cpu@threads=1
halcyon=${HALCYON:-halcyon}
work=`mktemp -d "${TMPDIR:-/tmp}/halcyon-soak.XXXXXX"`
sender='' receiver='' reader=''
end() { for pid in $sender $receiver $reader; do kill "$pid" 2>/dev/null || :; done; rm -rf "$work"; }
trap end EXIT
trap 'exit 1' HUP INT TERM
[ -r /proc/self/status ] || { echo "$0: this system has no /proc to look at" >&2; exit 1; }

"$halcyon" simulate "$work/s.h5" --shape 500x520 --frames 100 -q
"$halcyon" integrate --stream "ipc://$work/stream" --series 0 --timeout 60 -p "$work/s.poni" -n 200 \
    --overflow drop-oldest --queue 16 --publish "ipc://$work/curves" -o "$work/c.h5" "$@" >"$work/log" 2>&1 &
receiver=$!
"$halcyon" simulate "$work/s.h5" --stream "ipc://$work/stream" --series 1000000 --rate 300 -q \
    --faults drop=50,repeat=70,damage=60,cut=80,swap=90,header=330 2>"$work/sender.log" &
sender=$!
[ -z "${READER-}" ] || { "$READER" "ipc://$work/curves" 1000000000 >/dev/null 2>&1 & reader=$!; }

start=`date +%s`
end=`expr "$start" + "$minutes" \* 60`
while now=`date +%s` && [ "$now" -lt "$end" ]; do
    sleep 5
    kill -0 $receiver 2>/dev/null || { echo "the receiver has ended:"; tail -5 "$work/log"; exit 1; }
    rss=`sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$receiver/status`
    threads=`sed -n 's/^Threads:[^0-9]*\([0-9]*\).*/\1/p' /proc/$receiver/status`
    open=`ls /proc/$receiver/fd | wc -l`
    series=`grep -c ' begins:' "$work/log" || :`
    echo "`expr "$now" - "$start"` s: $series series, $rss KiB, $open descriptors, $threads threads"
    echo "`expr "$now" - "$start"` $rss $open $threads" >>"$work/samples"
    # The files of series that are over are not what is measured.
    find "$work" -name 'c*.h5' -mmin +0.5 -exec rm -f {} +
done
kill -INT $receiver
wait $receiver || :
receiver=''
tail -1 "$work/log"
awk -v all="`expr "$minutes" \* 60`" '
    { part = $1 < all / 3 ? 1 : $1 < 2 * all / 3 ? 2 : 3 }
    { for (i = 2; i <= 4; i++) if ($i > most[part, i]) most[part, i] = $i }
    END {
        split("- resident_KiB descriptors threads", what, " ")
        for (i = 2; i <= 4; i++) {
            room = i == 2 ? most[2, i] * 0.02 + 2048 : 0
            grows = most[3, i] > most[2, i] + room
            bad += grows
            printf "%s: %d, then %d at most%s\n", what[i], most[2, i], most[3, i], grows ? ": it grows" : ""
        }
        exit bad != 0
    }' "$work/samples"
