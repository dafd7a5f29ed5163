# Sparse frames: integrate --sparse, --cutoff-pick, --noise.  The file is held against NumPy's picking from the background
# that it has, and FabIO, pyFAI's own reader, makes images of it; on one device and several the same; the curves do not
# change; and what it does not go with is said before there is a file.
test_name=sparse
. "${top_srcdir:-.}/tests/cli.sh"
[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }
python=${PYTHON:-python3}
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR

"$halcyon" simulate s.h5 --shape 120x160 --dtype uint16 --frames 9 -q || exit 99
"$halcyon" decompress s.h5 -o s.npy -q || exit 99
integrate() { "$halcyon" integrate s.h5 -p s.poni -n 50 -q --sigma-clip "$@"; }
rows() { grep -v '^#' "$1"; }
check 'curves alone' integrate -d cpu@threads=1 -o alone.dat
check '--sparse' integrate -d cpu@threads=2 --sparse one.h5 -o one.dat
check '... the same curves' sh -c 'grep -v "^#" alone.dat >a && grep -v "^#" one.dat >b && [ -s a ] && cmp a b'
check 'on two devices' integrate -d cpu@threads=1,cpu@threads=1@discrete=1 --sparse two.h5 -o two.dat
check 'of a cake' refused 2 'leave --npt-azim' integrate --npt-azim 4 --sparse x.h5 -o cake.h5
check 'stricter, with Poisson errors' integrate -d cpu@threads=1 --error-model poisson --cutoff-pick 3.5 --noise 1.5 --sparse few.h5 -o few.dat
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (120, 160), }" >flat.npy
awk 'BEGIN { for (i = 0; i < 19200; i++) printf "%s", i % 160 < 80 ? "AAAA" : "AAPA" }' >>flat.npy # 12.1 and 13.0
check 'with a flat field and a normalization' integrate -d cpu@threads=1 --flat flat.npy --normalization 0.1 --noise 2 \
    --sparse flat.h5 -o flat.dat
# Dark currents of 0.75 and -1, side by side: pixels and background are of frames without them.
"$python" - <<'END' || exit 99
import struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (120, 160), }"
for name, pair in ("dark.npy", (0.75, -1)), ("above.npy", (1000, 1000)):
    values = struct.pack("<2f", *pair) * 80 * 120
    open(name, "wb").write(b"\x93NUMPY\1\0v\0" + head.ljust(117).encode() + b"\n" + values)
END
check 'with a dark current' integrate -d cpu@threads=2 --dark dark.npy --sparse dark.h5 -o dark.dat
check '... by two processes' integrate --processes 2 --dark dark.npy --sparse dark_two.h5 -o dark_two.dat
# One that is above nearly all counts, so that the background is below 0.
check 'with a dark current above the counts' integrate -d cpu@threads=2 --dark above.npy --sparse below.h5 -o below.dat
# A frame in the middle that fails is one of the file's, which is whole.
cp s.h5 damaged.h5
dd if=/dev/zero of=damaged.h5 bs=512 seek=`expr \`wc -c <s.h5\` '*' 5 / 12 / 512` count=16 conv=notrunc 2>/dev/null
check 'a damaged frame is told' refused 1 'frame [0-9] failed: .' "$halcyon" integrate damaged.h5 -p s.poni -n 50 -q \
    --sigma-clip --sparse holed.h5 -o holed.dat
check '... and the file is there' test -s holed.h5
# Curves of several frames leave the other file alone, and so does a stack that might still grow.
check 'beside sums' integrate -d cpu@threads=2 --sum 3 --sparse summed.h5 -o summed.dat
check '... which are what they are without it' sh -c \
    "'$halcyon' integrate s.h5 -p s.poni -n 50 -q --sigma-clip --sum 3 -o sums.dat && grep -v '^#' sums.dat >a && grep -v '^#' summed.dat >b && cmp a b"
check 'beside running averages' integrate -d cpu@threads=2 --average 4 --sparse averaged.h5 -o averaged.dat
check 'of a stack that is followed' integrate -d cpu@threads=2 --follow --follow-timeout 0.2 --sparse followed.h5 -o followed.dat
# What divides curves divides no pixels, nor the background that stands for them.
for i in 1 0.7 0.31 2.9 -1.3 17 1e-3 1.1 3; do echo $i; done >monitor.txt
check 'with a monitor' integrate -d cpu@threads=2 --monitor monitor.txt --sparse monitored.h5 -o monitored.dat
check '... which divides the curves as ever' sh -c \
    "'$halcyon' integrate s.h5 -p s.poni -n 50 -q --sigma-clip --monitor monitor.txt -o plain.dat && grep -v '^#' plain.dat >a && grep -v '^#' monitored.dat >b && cmp a b && grep -v '^#' one.dat >c && ! cmp -s b c"
check 'beside sums with a monitor' integrate -d cpu@threads=2 --monitor monitor.txt --sum 2 --sparse pairs.h5 -o pairs.dat
check 'by two processes' integrate --processes 2 --sparse processes.h5 -o processes.dat
check '... with a monitor and regions' integrate --processes 2 --monitor monitor.txt --stats --sparse all.h5 -o all.dat
check '... the curves of one' sh -c "grep -v '^#' all.dat >a && cmp a b"
check 'beside regions' integrate -d cpu@threads=2 --roi 10,20,50,90 --stats --sparse regions.h5 -o regions.dat
check '... which are what they are without it' sh -c \
    "'$halcyon' integrate s.h5 -p s.poni -n 50 -q --roi 10,20,50,90 --stats -o alone.regions.dat && grep '^# region' alone.regions.dat >a && grep '^# region' regions.dat >b && [ -s a ] && cmp a b"
check '... also by processes' sh -c "grep 'region frame' regions.dat >a && grep 'region frame' all.dat >b && [ -s a ] && cmp a b"
ln -s s.h5 again.h5
check 'of several stacks' "$halcyon" integrate s.h5 again.h5 -p s.poni -n 50 -q --sigma-clip -o 'of_%s.dat' --sparse 'of_%s.h5'
check '... a file each' test -s of_s.h5 -a -s of_again.h5
check '... not the name of its curves' refused 1 'of_again.h5 would be written for' "$halcyon" integrate s.h5 again.h5 -p s.poni -n 50 -q --sigma-clip \
    -o 'of_%s.h5' --sparse 'of_%s.h5'
ln -s s.h5 s_x.h5
check '... nor that of the curves of another' refused 1 's_x.h5 would be written for' "$halcyon" integrate s.h5 s_x.h5 -p s.poni -n 50 -q \
    --sigma-clip -o '%s.h5' --sparse './%s_x.h5'
check 'room for fewer pixels than stand out' refused 1 'pixels stand out.*--pick-room' "$halcyon" integrate s.h5 -p s.poni -n 50 -q \
    --sigma-clip --frames :1 --cutoff-pick 0 --noise 0 --sparse full.h5 -o full.dat
check '... and room for all' integrate -d cpu@threads=2 --frames :1 --cutoff-pick 0 --noise 0 --pick-room 1 --sparse full.h5 -o full.dat
check '--json' sh -c "'$halcyon' integrate s.h5 -p s.poni -n 50 --sigma-clip --sparse json.h5 -o json.dat --json >j.json 2>j.err"
# The same counts in other kinds of pixels.
"$python" - <<'END' || exit 99
import array, struct
raw = open("s.npy", "rb").read()
counts = array.array("H", raw[10 + struct.unpack("<H", raw[8:10])[0]:])
for kind, code, none in ("f4", "f", float("nan")), ("f8", "d", float("nan")), ("u8", "Q", 2**64 - 1), ("i8", "q", 2**63 - 1):
    head = "{'descr': '<%s', 'fortran_order': False, 'shape': (9, 120, 160), }" % kind
    values = array.array(code, [none if c >= 65534 else c for c in counts])
    open(kind + ".npy", "wb").write(b"\x93NUMPY\1\0v\0" + head.ljust(117).encode() + b"\n" + values.tobytes())
END
sparse_pixels() { sed -n 's/.*"sparse_pixels": *\([0-9]*\).*/\1/p' "$1"; }
for kind in f4 f8 u8 i8; do
    check "pixels of $kind" sh -c "'$halcyon' integrate $kind.npy -p s.poni -n 50 --sigma-clip --sparse $kind.h5 -o $kind.dat --json >$kind.json 2>$kind.err"
    check '... the same are picked' equals "`sparse_pixels $kind.json`" "`sparse_pixels j.json`"
done
check 'pixels of f4, by two processes' "$halcyon" integrate f4.npy -p s.poni -n 50 -q --sigma-clip --processes 2 --sparse f4_two.h5 -o f4_two.dat
# Parts of 3, 2, 2 and 2 frames: their merge is the file of one process, and depends on none of them.
shard() { "$halcyon" integrate "$1" -p s.poni -n 50 -q --sigma-clip -d cpu@threads=1 --shard "$2" --sparse "$3" -o "${3%\%.h5}.curves.h5"; }
merge() { "$halcyon" merge "$@"; }
for i in 0 1 2 3; do
    check "--shard $i/4" shard s.h5 $i/4 dealt.h5
done
check '... a file each' test -s dealt.0-of-4.h5 -a -s dealt.3-of-4.h5 -a ! -f dealt.h5
check '--shard 0/2, a name with a %' shard s.h5 0/2 'half%.h5'
check '--shard 1/2, a name with a %' shard s.h5 1/2 'half%.h5'
check '... a file each, too' test -s 'half%.0-of-2.h5' -a -s 'half%.1-of-2.h5' -a ! -f 'half%.h5'
check '... a merge without one' refused 1 '1 of 4 parts is missing: 2/4' merge dealt.0-of-4.h5 dealt.3-of-4.h5 dealt.1-of-4.h5 -o lacking.h5
check '... with one twice' refused 1 'are both part 1/4' merge dealt.0-of-4.h5 dealt.1-of-4.h5 dealt.1-of-4.h5 -o lacking.h5
check '... with curves' refused 1 'has curves, and not sparse frames' merge dealt.0-of-4.h5 dealt.h5.curves.1-of-4.h5 -o lacking.h5
check '... with what is no part' refused 1 'one.h5 is not a part' merge dealt.0-of-4.h5 one.h5 -o lacking.h5
check '... of no part at all' refused 1 'one.h5: .* parts of sparse frames .* --shard' merge one.h5 one.h5 -o lacking.h5
check '... as no HDF5' refused 2 'merged sparse frames are HDF5' merge dealt.0-of-4.h5 -o lacking.dat
cp s.h5 other.h5
check '... a part of another stack' shard other.h5 1/4 other.sparse.h5
check '... is refused' refused 1 's.h5.*other.h5' merge dealt.0-of-4.h5 other.sparse.1-of-4.h5 dealt.2-of-4.h5 dealt.3-of-4.h5 -o lacking.h5
check '... and there is no file' test ! -e lacking.h5
for i in 0 1; do
    "$halcyon" integrate damaged.h5 -p s.poni -n 50 -q --sigma-clip --shard $i/2 --sparse lost.h5 -o lost.curves.h5 2>lost.$i
done
check 'a merge with a frame that failed' refused 1 'lost.h5: [12] of 9 frames failed and ha.* no pixels' \
    merge lost.0-of-2.h5 lost.1-of-2.h5 -o lost.h5
check '... and the file is there' test -s lost.h5
check 'a merge of all' refused 0 'dealt.h5: 9 sparse frames of 4 parts' merge dealt.3-of-4.h5 dealt.0-of-4.h5 dealt.2-of-4.h5 dealt.1-of-4.h5 -o dealt.h5
check '... is no part' refused 1 'dealt.h5 is not a part' merge dealt.0-of-4.h5 dealt.h5 -o lacking.h5
rm -f dealt.[0-3]-of-4.h5
if "$python" -c 'import h5py, numpy' 2>/dev/null; then
    check "NumPy picks the same" "$python" - <<'END'
import h5py, json, numpy
frames = numpy.load("s.npy").astype(float)
def read(path):
    group = h5py.File(path)["/entry_0000/sparse_frames"]
    return {name: group[name][()] for name in group}
dark = numpy.load("dark.npy").astype(float)
for path, cutoff, noise in ("one.h5", 3, 1), ("two.h5", 3, 1), ("few.h5", 3.5, 1.5), ("flat.h5", 3, 2), ("dark.h5", 3, 1):
    f = read(path)
    off = dark if path == "dark.h5" else numpy.zeros(dark.shape)
    config = json.loads(h5py.File(path)["/entry_0000/sparsify/configuration/data"][()])["sparsify"]
    assert config["cutoff_pick"] == cutoff and config["noise"] == noise
    kind = numpy.float32 if path == "dark.h5" else numpy.uint16
    assert f["intensity"].dtype == kind and len(f["frame_ptr"]) == 10 and f["frame_ptr"][-1] == len(f["index"]) > 9
    for i, frame in enumerate(frames):
        first, last = f["frame_ptr"][i:i + 2]
        index = f["index"][first:last]
        bare = (frame - off).ravel()
        assert (numpy.diff(index.astype(int)) > 0).all() and (bare[index] == f["intensity"][first:last]).all()
        mean = numpy.interp(f["mask"], f["radius"], f["background_avg"][i])
        deviation = numpy.interp(f["mask"], f["radius"], f["background_std"][i])
        above = (frame - off) / f["normalization"] - mean
        limit = numpy.maximum(noise, cutoff * numpy.hypot(deviation, noise))
        valid = numpy.isfinite(f["mask"]) & (frame < 65534)
        want = (valid & (above > limit * (1 + 1e-5))).ravel()
        may = (valid & (above > limit * (1 - 1e-5))).ravel()
        found = numpy.zeros(want.shape, bool)
        found[index] = True
        assert (found | ~want).all() and (may | ~found).all() and want.any(), (path, i)
one, two, few = read("one.h5"), read("two.h5"), read("few.h5")
bare, bare_two = read("dark.h5"), read("dark_two.h5")
assert all(numpy.array_equal(bare[k], bare_two[k], equal_nan=k == "mask") for k in bare if k != "script")
assert all(numpy.array_equal(one[k], two[k], equal_nan=k == "mask") for k in one if k != "script")
others = "summed", "averaged", "followed", "dealt", "monitored", "pairs", "processes", "all", "regions", "of_s", "of_again"
for path in [name + ".h5" for name in others]:
    other = read(path)
    assert all(numpy.array_equal(one[k], other[k], equal_nan=k == "mask") for k in one if k != "script"), path
for kind in "f4", "f8", "u8", "i8", "f4_two":
    other = read(kind + ".h5")
    assert other["intensity"].dtype == numpy.dtype(kind[:2]), kind
    assert all(numpy.array_equal(one[k], other[k]) for k in ("frame_ptr", "index", "intensity")), kind
assert 19200 / 32 < 1024 < len(read("full.h5")["index"]) < 19200
assert len(few["index"]) < len(one["index"])
assert json.load(open("j.json"))["sparse_pixels"] == len(one["index"])
holed = read("holed.h5")
failed = numpy.isnan(holed["background_avg"]).all(axis=1)
assert len(failed) == 9 and 1 <= failed.sum() <= 2 and numpy.isnan(holed["background_std"][failed]).all()
for i in range(9):
    mine, others = (slice(*f["frame_ptr"][i:i + 2]) for f in (holed, one))
    assert mine.stop == mine.start if failed[i] else numpy.array_equal(holed["index"][mine], one["index"][others])
    assert failed[i] or numpy.array_equal(holed["background_avg"][i], one["background_avg"][i])
END
else
    skip "$python has no h5py and NumPy (PYTHON names one that has)"
fi
if "$python" -c 'import fabio, h5py' 2>/dev/null; then
    check "FabIO, pyFAI's reader, makes images of it" "$python" - <<'END'
import fabio, h5py, numpy
frames = numpy.load("s.npy")
flat = fabio.open("flat.h5") # has norms of more than 1, and its background is divided by them
for i, frame in enumerate(frames):
    valid = numpy.isfinite(flat.mask) & (frame < 65534)
    assert abs((flat.getframe(i).data[valid].astype(float) - frame[valid]).mean()) < 0.5
for path, dark in ("dark.h5", "dark.npy"), ("below.h5", "above.npy"):
    bare, dark = fabio.open(path), numpy.load(dark).astype(float)
    for i, frame in enumerate(frames):
        valid = numpy.isfinite(bare.mask) & (frame < 65534)
        assert abs((bare.getframe(i).data[valid].astype(float) - (frame - dark)[valid]).mean()) < 0.5, (path, i)
sparse = fabio.open("one.h5")
assert type(sparse).__name__ == "SparseImage" and sparse.nframes == 9 and sparse.cutoff == 3
group = h5py.File("one.h5")["/entry_0000/sparse_frames"]
names = {name: group[name][()] for name in group}
names.pop("script")
exec(group["script"][()].decode(), names)
for i, frame in enumerate(frames):
    dense = sparse.getframe(i).data
    index = group["index"][group["frame_ptr"][i]:group["frame_ptr"][i + 1]]
    assert dense.shape == frame.shape and dense.dtype == frame.dtype
    assert (dense.ravel()[index] == frame.ravel()[index]).all()
    masked = ~numpy.isfinite(group["mask"][()])
    assert (dense[masked] == 0).all()
    # FabIO's compiled interpolation is its own, and the file's script NumPy's: nearly everywhere the same count.
    apart = numpy.abs(dense.astype(int) - names["frames"][i])
    assert apart.max() <= 3 and (apart > 1).mean() < 0.001
    valid = ~masked & (frame < 65534)
    # What was not picked is background: off by no more than noise of the pixels is.
    assert abs((dense[valid].astype(float) - frame[valid]).mean()) < 0.5
END
else
    skip "$python has no FabIO and h5py (PYTHON names one that has)"
fi

# --- What is refused ---
with_sparse() { "$halcyon" integrate s.h5 -p s.poni -q -o no.h5 "$@"; }
while read -r words options; do
    check "refused: $options" refused 2 "$words" with_sparse $options
done <<END
give.--sigma-clip --sparse no.sparse.h5
in.neither --sparse no.sparse.h5 --sigma-clip -o %s.h5
in.neither --sparse %s.sparse.h5 --sigma-clip
are.for.--sparse --noise 2
are.for.--sparse --pick-room 0.1
no.stream --sparse - --sigma-clip
END
check 'info says what a file of sparse frames is' sh -c "'$halcyon' info one.h5 | grep '9 sparse frames'"
check '... what is in it' sh -c "'$halcyon' info one.h5 | grep 'background *of 50 bins' && '$halcyon' info one.h5 | grep 'a frame\$'"
check 'plot says what has a picture' refused 1 'holds sparse frames.*plot the curves that the same run wrote' "$halcyon" plot one.h5
check 'an input is not written over' refused 1 's.h5' with_sparse --sigma-clip --sparse s.h5
check 'a folder that is not there' refused 1 'nowhere' with_sparse --sigma-clip --sparse nowhere/x.h5
check 'none has left a file' sh -c '! ls no.*'

echo "1..$n"
exit $failed
