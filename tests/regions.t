# Sums of regions beside curves: integrate --roi, --stats, --above.  The numbers are those of `halcyon sum --roi`, which shares no
# code with it; in text, HDF5 and JSON, on one device and several, of some frames, of parts that are merged, of a
# stream; and what they do not go with is said.
test_name=regions
. "${top_srcdir:-.}/tests/cli.sh"
trust_zmq
[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }

HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR
"$halcyon" simulate s.h5 --shape 120x160 --dtype uint16 --frames 9 -q || exit 99
boxes=10,20,50,90,0,0,160,120,7,7,8,8,100,3,159,119
named=10,20,50,90:first,0,0,160,120,7,7,8,8:dot,100,3,159,119
integrate() { "$halcyon" integrate s.h5 -p s.poni -n 50 -q "$@"; }
# lines FILE.dat: frame, sum, max and valid pixels of each of its regions but `frame`, in the order of the frames.
lines() { awk '/^# frame/ { n = $3 } /^# region/ && $3 != "frame" { print n, $5, $9, $11 }' "$1"; }
"$halcyon" sum s.h5 --roi $boxes -o want.dat -q || exit 99
awk '!/^#/ { for (i = 2; i < NF; i += 4) print $1, $i, $(i + 1), $(i + 2) }' want.dat >want
check '36 regions to compare with' equals "`wc -l <want | tr -d ' '`" 36
# as_wanted FILE.dat
as_wanted() { lines "$1" >got; cmp got want; }

check '--roi, to text' integrate -d cpu@threads=2 --roi $named -o one.dat
check '... as sum --roi has it' as_wanted one.dat
check '... by their names' equals "`awk '/^# region/ { print $3 }' one.dat | head -n 4 | tr '\n' ' '`" 'first roi2 dot roi4 '
check 'on two devices' integrate -d cpu@threads=1,cpu@threads=1@discrete=1 --roi $named -o two.dat
check '... the same' as_wanted two.dat
check 'in two stages, with clipped outliers' integrate -d cpu@threads=1 --two-stage --sigma-clip --roi $boxes -o clip.dat
check '... the same' as_wanted clip.dat
check 'a file for each frame' integrate -d cpu@threads=1 --frames 4:6 --roi $boxes -o each_%d.dat
check '... has its own' equals "`awk '/^# region roi1/ { print $5 }' each_4.dat each_5.dat | tr '\n' ' '`" \
    "`awk '$1 == 4 || $1 == 5 { print $2 }' want.dat | tr '\n' ' '`"

# --- The whole frame, a limit, a mask ---
check '--stats and --above' integrate -d cpu@threads=1 --roi $boxes --stats --above 5 -o stats.dat
check '... the whole frame is the second region' equals \
    "`awk '/^# region frame/ { print $5, $9, $11 }' stats.dat`" "`awk '/^# region roi2/ { print $5, $9, $11 }' stats.dat`"
check '... a smaller limit has more pixels above it' sh -c "'$halcyon' integrate s.h5 -p s.poni -q --stats --above 2 -o low.dat &&
    awk '/^# region frame/ { if (FNR == NR) low[++n] = \$17; else if (!(\$17 > 0 && \$17 < low[++k])) exit 1 }' low.dat stats.dat"
check 'a mask that leaves nothing of a region' sh -c "'$halcyon' decompress s.h5 --frames 0:1 -o m.npy -q && '$halcyon' integrate \
    s.h5 -p s.poni -q --mask m.npy --roi $boxes --frames 0:1 -o masked.dat"
check '... counts only what it leaves: zeros' equals "`awk '/^# region roi2/ { print $5, $9, ($11 == $15 && $11 > 0), $13 }' masked.dat`" '0 0 1 0'

# --- HDF5, parts, JSON ---
table() { "$halcyon" sum "$1" --dataset /entry_0000/integrate/regions/$2 -o t.npy -q && cat t.npy; }
parts() { for i in 0 1 2; do integrate -d cpu@threads=1 --roi $boxes --shard $i/3 -o part.h5 || return 1; done; }
check 'HDF5' integrate -d cpu@threads=1 --roi $boxes -o whole.h5
check 'in three parts' parts
check '... merged' "$halcyon" merge part.0-of-3.h5 part.2-of-3.h5 part.1-of-3.h5 --copy -o merged.h5 -q
for name in sum min max valid invalid zero above; do
    table whole.h5 $name >whole.t && table merged.h5 $name >merged.t
    check "... with the same $name" cmp whole.t merged.t
done
check '--json' sh -c "'$halcyon' integrate s.h5 -p s.poni --roi 10,20,50,90:first --json -o j.h5 >j.json"
check '... sums up all frames' equals "`sed -n 's/^ *"sum": \([0-9]*\),/\1/p' j.json`" "`awk '!/^#/ { n += $2 } END { print n }' want.dat`"

# --- A stream: the push form ---
over_ipc()
{
    "$halcyon" simulate s.h5 --stream "ipc://$work/images" -q &
    "$halcyon" integrate --stream "ipc://$work/images" --timeout 20 -p s.poni -d cpu@threads=1 --roi $boxes -q -o live.dat
    got=$?
    wait
    [ $got = 0 ] && as_wanted live.dat
}
if "$halcyon" integrate --stream "ipc://$work/none" --timeout 0.1 -p s.poni -q 2>&1 | grep 'without ZeroMQ' >/dev/null; then
    skip 'a stream: built without ZeroMQ'
else
    check 'of a stream, the same' over_ipc
fi

# --- What is refused ---
with_regions() { "$halcyon" integrate s.h5 -p s.poni -q -o no.h5 "$@"; }
while read -r words options; do
    check "refused: $options" refused 2 "$words" with_regions $options
done <<END
is.not.valid --roi 1,2,3
is.not.valid --roi 1,2,3,4:
is.not.valid --roi 5,2,3,4
is.not.valid --roi 1,2,3,4,
two.regions.are.named.a --roi 1,2,3,4:a,1,2,3,5:a
two.regions.are.named.frame --roi 1,2,3,4:frame --stats
of.each.frame --stats --sum 2
of.each.frame --stats --average 2
without.--processes --stats --processes 2
for.--roi.and.--stats --above 3
END
check 'a region that leaves the frame' refused 1 'roi1 ends at column 161, row 3; the frames have 160 columns, 120 rows' \
    with_regions --roi 1,1,161,3
check 'a format without a place for them' refused 1 'has no place for regions: use .h5 or .dat' \
    "$halcyon" integrate s.h5 -p s.poni -q --stats --frames 0:1 -o no.xy
check 'none has left a file' sh -c '! ls no.*'

echo "1..$n"
exit $failed
