# Many files: `halcyon integrate` of several words, patterns, directories, lists, data files without a master, archives of
# NumPy's; one result for all, or one each.  Every way gives the curves that the stack itself gives.
test_name=many
. "${top_srcdir:-.}/tests/cli.sh"

python=${PYTHON:-python3}
[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }
"$halcyon" simulate s.h5 --shape 60x80 --dtype uint16 --frames 12 -q || exit 99
mkdir a b out
"$halcyon" decompress s.h5 -o a/f_%d.tif -q
"$halcyon" decompress s.h5 -o s.npy -q
integrate() { "$halcyon" integrate "$@" -p s.poni -d cpu@threads=1 -n 50 -q; }
rows() { grep -v '^#' "$1" | grep .; }
# as_whole FILE.dat: all twelve curves of the stack, in order.
as_whole() { rows "$1" >got; [ `grep -c '^# frame' "$1"` = 12 ] && cmp got whole; }
integrate s.h5 -o whole.dat
rows whole.dat >whole

# --- One result for all ---
check 'FILE...' integrate a/f_0.tif a/f_1.tif a/f_2.tif -o some.dat
check 'FILE...: three frames' equals "`grep -c '^# frame' some.dat`" 3
check 'FILE...: that many files are said to be its source' grep -q '^# Frames from: a/f_0.tif and 2 files more$' some.dat
check "a quoted pattern" integrate 'a/f_*.tif' -o pattern.dat
check "a quoted pattern: numbers in order, 2 before 10" as_whole pattern.dat
check 'a directory' integrate a/ -o directory.dat
check 'a directory: the same' as_whole directory.dat
{ printf '\357\273\277# the first, behind a mark of UTF-8\n'; ls a/*.tif | sort -t_ -k2n; } >list.txt
check '@LIST' integrate @list.txt -o list.dat
check '@LIST: the same' as_whole list.dat
check 'of a master in a directory' sh -c "cp s.h5 b/x_master.h5; cp a/f_0.tif b/x_data_000001.h5"
check '... its data files are its own' integrate b -o master.dat
check '... and not frames of theirs' as_whole master.dat
mkdir c_data_d && cp b/* c_data_d || exit 99
check '... in a folder that is called like data files' integrate c_data_d -o master.dat
check '... nor of theirs there' as_whole master.dat
rm b/*
for i in 1 2 3; do
    "$halcyon" compress s.h5 --frames `expr $i '*' 4 - 4`:`expr $i '*' 4` -o b/data_00000$i.h5 -q
done
check 'data files without their master' integrate b/data_%06d.h5 -o data.dat
check 'data files without their master: all frames' as_whole data.dat
check 'the same by a pattern, to HDF5' integrate 'b/data_*.h5' -o data.h5
if command -v h5dump >/dev/null; then
    check 'to HDF5: it links to every file' sh -c "h5dump -H data.h5 | grep -c 'TARGETFILE.*data_00000[123]' | grep -q 3"
    check 'to HDF5: it names every file' sh -c "h5dump -d /entry_0000/integrate/halcyon/sources data.h5 | grep -q data_000003"
fi
check 'no file that is read is written' refused 1 'is read (the stack)' integrate 'b/data_*.h5' -o b/data_000003.h5
cp a/f_1.tif kept.tif
head -c 100 kept.tif >a/f_1.tif
integrate 'a/f_*.tif' -o damaged.dat 2>words
check 'a damaged file is one frame that fails' equals $? 1
check '... and is named' grep -q 'frame 1 .*a/f_1.tif' words
check '... the others are there' equals "`grep -c '^# frame' damaged.dat`" 12
mv kept.tif a/f_1.tif
cp s.h5 hurt.h5
dd if=/dev/zero of=hurt.h5 bs=1 seek=$((`wc -c <s.h5` / 2)) count=$((`wc -c <s.h5` / 6)) conv=notrunc 2>/dev/null
check 'a damaged frame of the first file' refused 1 'frame [0-9]* failed' \
    "$halcyon" integrate hurt.h5 s.h5 -p s.poni -d cpu@threads=1 -n 50 -q -o 'out/%s.dat'
check '... keeps no other file from its result' as_whole out/s.dat
rm out/*
"$halcyon" simulate other.h5 --shape 50x80 --dtype uint16 --frames 1 -q
check 'frames of another size are refused, with both files' refused 1 's.h5 has frames of 60 x 80.*other.h5 of 50 x 80' \
    integrate s.h5 other.h5 -o x.dat
check 'a pattern without a file' refused 1 'there is no such file' integrate 'a/*.cbf' -o x.dat
check 'an empty directory' refused 1 'no file in this folder' integrate out -o x.dat
: >empty.txt
check 'an empty list' refused 1 'names no file' integrate @empty.txt -o x.dat
check 'a list that is not there' refused 1 'nolist' integrate @nolist -o x.dat
check 'a list cannot be followed' refused 1 'cannot be followed' integrate a --follow --follow-timeout 1 -o x.dat

# --- Other commands: a word that names many ---
check 'decompress of a directory' "$halcyon" decompress a -o back.npy -q -d cpu
check '... gives all its frames in order' cmp back.npy s.npy
check 'sum of a pattern' "$halcyon" sum 'b/data_*.h5' -o sum.npy -q -d cpu
check '... is that of the stack' sh -c "'$halcyon' sum s.h5 -o all.npy -q -d cpu && cmp sum.npy all.npy"

# --- One each ---
check '-o DIR/%s.dat' integrate a -o out/%s.dat
check '-o DIR/%s.dat: one each' equals "`ls out | wc -l | tr -d ' '`" 12
cat out/f_0.dat out/f_1.dat out/f_2.dat out/f_3.dat out/f_4.dat out/f_5.dat out/f_6.dat out/f_7.dat out/f_8.dat out/f_9.dat \
    out/f_10.dat out/f_11.dat | grep -v '^#' | grep . >each
check '-o DIR/%s.dat: the same curves' cmp each whole
check '-o DIR/%s.xy' integrate a/f_1.tif a/f_2.tif -o out/%s.xy
check '-o DIR/%s.xy: rows alone' test -s out/f_2.xy
cp a/f_0.tif b/f_0.tif
check 'two of a name are refused before anything is done' refused 1 'out/f_0.edf would be written for several' \
    integrate a/f_0.tif b/f_0.tif --npt-azim 4 -o out/%s.edf
mkdir d
cp s.h5 d/run.h5
cp s.h5 d/run_r.h5
for order in 'd/run.h5 d/run_r.h5' 'd/run_r.h5 d/run.h5'; do
    # shellcheck disable=SC2086 # two words
    check "a result that is another's stack is refused, $order" refused 1 'd/run_r.h5 is read (a stack)' integrate $order -o d/%s_r.h5
    check '... and it stays' cmp d/run_r.h5 s.h5
done
cp a/f_2.tif 'f%2.tif'
check 'a % in the name of an input is left out' integrate 'f%2.tif' a/f_3.tif -o 'out/%s.edf' --npt-azim 4
check '... of the output' test -s out/f2.edf -a -s out/f_3.edf
if marked_driver; then
    mixed()
    {
        with_driver integrate a/f_0.tif a/f_1.tif -p s.poni -n 50 -q -o out/%s.dat && not ls driver/loaded || return 1
        with_driver integrate a/f_0.tif s.npy -p s.poni -n 50 -q -o out/%s.dat && ls driver/loaded
    }
    check 'the processor alone is for files of few frames, not for one of many behind them' mixed
else
    skip 'the processor alone is for files of few frames: no driver can be built here'
fi
check '--json is for one' refused 2 '%s' "$halcyon" integrate a -p s.poni --json -o out/%s.dat
check '--processes is for one' refused 2 '%s' "$halcyon" integrate a -p s.poni --processes 2 -o out/%s.dat
check '--shard is for one' refused 2 '%s' "$halcyon" integrate a -p s.poni --shard 0/2 -o out/%s.dat
head -c 100 a/f_1.tif >b/f_1.tif
check 'a file that fails among others: status 1' not integrate b/f_0.tif b/f_1.tif a/f_2.tif -o out/%s_again.dat
check '... and those behind it are done' test -s out/f_2_again.dat

# --- Archives of NumPy's ---
if "$python" -c 'import zipfile, zlib' 2>no.zip; then
    "$python" - <<'END'
import zipfile
data = open("s.npy", "rb").read()
with zipfile.ZipFile("stored.npz", "w") as z, z.open("arr_0.npy", "w", force_zip64=True) as f:
    f.write(data)
with zipfile.ZipFile("deflated.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("frames.npy", data)
with zipfile.ZipFile("two.npz", "w") as z:
    z.writestr("dark.npy", b"no array")
    z.writestr("frames.npy", data)
with zipfile.ZipFile("short.npz", "w") as z:
    z.writestr("frames.npy", data[:-100])
    z.writestr("more.bin", data)
raw = bytearray(open("stored.npz", "rb").read())
open("cut.npz", "wb").write(raw[:-30])
raw[-20:-12] = b"\xff" * 8
open("wild.npz", "wb").write(raw)
packed = bytearray(open("deflated.npz", "rb").read())
packed[200] ^= 255
open("broken.npz", "wb").write(packed)
END
    check '.npz, stored' integrate stored.npz -o stored.dat
    check '.npz, stored: the same' as_whole stored.dat
    if [ -n "${HCY_ZLIB-yes}" ]; then
        check '.npz, deflated' integrate deflated.npz -o deflated.dat
        check '.npz, deflated: the same' as_whole deflated.dat
        check '.npz, deflated: damage is noticed' refused 1 'damaged' integrate broken.npz -o x.dat
    else
        check '.npz, deflated, without zlib' refused 1 'no zlib' integrate deflated.npz -o x.dat
    fi
    check '.npz of several arrays' refused 1 'several arrays, dark, frames' integrate two.npz -o x.dat
    check '.npz of several arrays, one named' integrate two.npz --dataset frames -o named.dat
    check '.npz of several arrays, one named: the same' as_whole named.dat
    check '.npz: an array that it has not' refused 1 "no array 'image'" integrate stored.npz --dataset image -o x.dat
    check '.npz: an array that is none' refused 1 'NumPy file' integrate two.npz --dataset dark -o x.dat
    check '.npz: an array that is shorter than it says' refused 1 'says more than it holds' integrate short.npz -o x.dat
    check '.npz, cut off' refused 1 'damaged' integrate cut.npz -o x.dat
    check '.npz, a directory anywhere' refused 1 'damaged' integrate wild.npz -o x.dat
else
    skip "$python has no zipfile"
fi

echo "1..$n"
exit $failed
