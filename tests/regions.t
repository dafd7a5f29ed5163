# Sums of regions beside curves: integrate --roi, --stats, --above.  The numbers are those of `halcyon sum --roi`, which shares no
# code with it, and NumPy's; in text, HDF5 and JSON, on one device and several, of some frames, of parts that are merged,
# of a stream; and what they do not go with is said.
corners=${top_builddir:-.}/tests/azint_corners
case $corners in /*) ;; *) corners=`pwd`/$corners ;; esac
script=$0
case $script in /*) ;; *) script=`pwd`/$script ;; esac
test_name=regions
. "${top_srcdir:-.}/tests/cli.sh"
trust_zmq
[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }

python=${PYTHON:-python3}
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
check 'by two processes' integrate --processes 2 --roi $named -o processes.dat
check '... the same' as_wanted processes.dat
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

# --- A detector whose file says where each pixel is, and of one pixel does not ---
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (24, 30), }" >image.npy
head -c 720 "$script" >>image.npy
sed '/^Detector/d
s/^Distance.*/Detector: Detector\nDetector_config: {"pixel1": 1e-3, "pixel2": 1e-3}\nDistance: 0.05/' s.poni >bent.poni
"$corners" placed.h5 && "$corners" lacks.h5 lacks || exit 99
counted() { "$halcyon" integrate image.npy -p bent.poni -n 9 -q -d cpu@threads=1 --stats --detector $1.h5 -o $1.dat && awk '/^# region/ { print $11 }' $1.dat; }
check "a detector's file masks, and a pixel without a place" equals "`counted placed` `counted lacks`" '715 714'

# --- HDF5, parts, JSON ---
table() { "$halcyon" sum "$1" --dataset /entry_0000/integrate/regions/$2 -o t.npy -q && cat t.npy; }
parts() { for i in 0 1 2; do integrate -d cpu@threads=1 --roi $boxes --above 5 --shard $i/3 -o part.h5 || return 1; done; }
check 'HDF5' integrate -d cpu@threads=1 --roi $boxes --above 5 -o whole.h5
check '... info says that they are there' sh -c "'$halcyon' info whole.h5 | grep 'regions *4 (integrate --roi'"
integrate -d cpu@threads=1 -o without.h5
check '... or not' sh -c "'$halcyon' info without.h5 | grep -c regions | grep '^0$'"
numbers() { table whole.h5 $1 >/dev/null && tail -c 288 t.npy | od -An -v -w8 -t d8 | tr -d ' '; }
numbers sum >sum.col && numbers max >max.col && numbers valid >valid.col
check '... has what sum --roi has' sh -c "awk '{ print \$2 }' want | cmp - sum.col && awk '{ print \$3 }' want | cmp - max.col &&
    awk '{ print \$4 }' want | cmp - valid.col"
"$halcyon" decompress s.h5 -o s.npy -q || exit 99
if "$python" -c 'import h5py, numpy' 2>/dev/null; then
    check "... has NumPy's numbers" "$python" - <<'END'
import h5py, numpy
frames = numpy.load("s.npy")
found = h5py.File("whole.h5")["/entry_0000/integrate/regions"]
assert found["box"].shape == (4, 4) and found["sum"].shape == (9, 4)
for r, (x0, y0, x1, y1) in enumerate(found["box"][()]):
    for n, frame in enumerate(frames):
        pixels = frame[y0:y1, x0:x1].astype(int).ravel()
        good = pixels[pixels < 65534]
        want = {"sum": good.sum(), "min": good.min(), "max": good.max(), "valid": good.size, "invalid": pixels.size - good.size,
                "zero": (good == 0).sum(), "above": (good > 5).sum()}
        for name, value in want.items():
            assert found[name][n, r] == value, (name, n, r, found[name][n, r], value)
assert found["invalid"][()].any() and found["zero"][()].any() and found["above"][()].any()
END
else
    skip "$python has no h5py and NumPy (PYTHON names one that has)"
fi
check 'in three parts' parts
check '... merged' "$halcyon" merge part.0-of-3.h5 part.2-of-3.h5 part.1-of-3.h5 --copy -o merged.h5 -q
for name in sum min max valid invalid zero above; do
    table whole.h5 $name >whole.t && table merged.h5 $name >merged.t
    check "... with the same $name" cmp whole.t merged.t
done
check '--json' sh -c "'$halcyon' integrate s.h5 -p s.poni --roi 10,20,50,90:first --json -o j.h5 >j.json"
check '... sums up all frames' equals "`sed -n 's/^ *"sum": \([0-9]*\),/\1/p' j.json`" "`awk '!/^#/ { n += $2 } END { print n }' want.dat`"

# A name may be any bytes, JSON is UTF-8: other bytes, a character in too many and half of one are marked.
check '--json of a name that is no UTF-8' sh -c "'$halcyon' integrate s.h5 -p s.poni --json -o j.h5 \
    --roi \"10,20,50,90:`printf '\303\251\351_\340\200\200_\355\240\200'`\" >bytes.json"
no='\ufffd'
check '... is UTF-8' grep -qF "\"name\": \"`printf '\303\251'`${no}_$no$no${no}_$no$no$no\"" bytes.json

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
for.--roi.and.--stats --above 3
END
check 'a region that leaves the frame' refused 1 'roi1 ends at column 161, row 3; the frames have 160 columns, 120 rows' \
    with_regions --roi 1,1,161,3
check 'pixels above a negative limit' refused 1 'these frames have no negative ones' with_regions --stats --above -1
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (24, 30), }" >float.npy
head -c 2880 /dev/zero >>float.npy
check 'pixels that are floats' refused 1 'sums of regions are of integer pixels' \
    "$halcyon" integrate float.npy -p bent.poni -q --stats -o no.h5
check 'a format without a place for them' refused 2 'has no place for regions: use .h5 or .dat' \
    "$halcyon" integrate s.h5 -p s.poni -q --stats --frames 0:1 -o no.xy
check 'none has left a file' sh -c '! ls no.*'

echo "1..$n"
exit $failed
