# halcyon decompress, compress and sum from outside: images come back as they were, and every option does what it says.
test_name=convert
. "${top_srcdir:-.}/tests/cli.sh"

size() { wc -c <"$1" | tr -d ' '; }
# bytes FILE.npy FROM COUNT: of its pixels.
bytes() { tail -c +129 "$1" | tail -c +`expr $2 + 1` | head -c "$3"; }
# numpy FILE TYPE SHAPE, then the pixels from stdin.
numpy()
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" >"$1"
    cat >>"$1"
}
# values FILE.npy TYPE: its pixels as od writes them, in one line.
values() { tail -c +129 "$1" | od -An -v -t "$2" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }

for sub in decompress compress sum; do
    check "halcyon help $sub fits a screen" sh -c "test \`'$halcyon' help $sub | sed '/^Built without/,\\$d' | wc -l\` -le 40"
    check "halcyon --help names $sub" sh -c "'$halcyon' --help | grep -q '^  $sub '"
done

# --- Sums of NumPy files: no HDF5 is needed ---
# 3 frames of 2 x 3 pixels: plain ones, one masked once, one hot once, one that is large
printf '\001\002\003\004\005\006\001\377\003\376\005\006\001\002\003\004\372\006' | numpy a.npy '|u1' '3, 2, 3'
check 'sum' "$halcyon" sum a.npy -o sum.npy -q
top=18446744073709551615
check 'sum: 64 bits, masked stay masked' equals "`values sum.npy u8`" "3 $top 9 $top 260 18"
check 'sum: uint64' grep -q "'<u8'.*(1, 2, 3)" sum.npy
check 'sum --max' "$halcyon" sum a.npy -o max.npy --max -q
check 'sum --max: the largest, of the same type' equals "`values max.npy u1`" "1 255 3 254 250 6"
check 'sum --frames' "$halcyon" sum a.npy -o part.npy -q --frames 1:3
check 'sum --frames: those alone' equals "`values part.npy u8`" "2 $top 6 $top 255 12"
printf '\377\377\001\200\177\177\376\377\377\177\000\200' | numpy i.npy '<i2' '2, 1, 3'
check 'sum of signed pixels' "$halcyon" sum i.npy -o isum.npy -q
check 'sum of signed pixels: signed' equals "`values isum.npy d8`" "-3 0 -129"
printf '\000\000\300\077\000\000\000\100\000\000\300\077\000\000\200\300' | numpy f.npy '<f4' '2, 1, 2'
check 'sum of floats' "$halcyon" sum f.npy -o fsum.npy -q
check 'sum of floats: doubles' equals "`values fsum.npy fD`" "3 -2"
check 'sum --max of floats as CBF: told before they are read' sh -c "'$halcyon' sum f.npy --max -o x.cbf >said 2>&1; test \$? = 1 &&
    grep -q 'and the pixels of f.npy are others' said && ! grep -q 'frames/s' said"
check 'sum -q says nothing' equals "`"$halcyon" sum a.npy -o sum.npy -q 2>&1`" ''
check 'sum says how fast it was' sh -c "'$halcyon' sum a.npy -o sum.npy 2>&1 | grep -q '^3 frames in .*0 failed'"
check 'sum without -o' refused 2 '-o' "$halcyon" sum a.npy
check 'sum of no such file' refused 1 'none.npy' "$halcyon" sum none.npy -o x.npy
check 'sum onto its input' refused 1 'a.npy' "$halcyon" sum a.npy -o a.npy -q

# --- Copies of NumPy files ---
check 'decompress without -o' refused 2 '-o' "$halcyon" decompress a.npy
check 'compress without -o' refused 2 '-o' "$halcyon" compress a.npy
check 'decompress of a .npy' "$halcyon" decompress a.npy -o b.npy -q
check 'decompress of a .npy: the same pixels' equals "`values b.npy u1`" "`values a.npy u1`"
check 'frames that are not there' refused 1 'frames 0 to 2' "$halcyon" decompress a.npy -o x.npy --frames 1:9
check 'packed images are not for NumPy' refused 2 '.h5' "$halcyon" compress a.npy -o x.npy

if [ -z "${HCY_HDF5-yes}" ]; then
    echo "1..$n"
    exit $failed
fi

# --- A simulated stack ---
frame=`expr 64 '*' 90 '*' 2`
check 'a stack to begin with' "$halcyon" simulate s.h5 --shape 64x90 --dtype uint16 -n 40 -q
check 'decompress to NumPy' "$halcyon" decompress s.h5 -o p.npy -q
check 'decompress: all pixels' equals "`size p.npy`" `expr 128 + 40 '*' $frame`
check 'decompress -d' "$halcyon" decompress s.h5 -o d.npy -q -d cpu@threads=1@simd=portable@discrete=1,cpu@threads=2
check 'decompress -d: the same pixels' cmp p.npy d.npy
check 'decompress -q says nothing' equals "`"$halcyon" decompress s.h5 -o x.npy -q 2>&1`" ''
check 'decompress -d: that device' "$halcyon" decompress s.h5 -o noop.npy -q -d null@kernels=noop
check 'decompress -d: which decodes nothing' not cmp -s p.npy noop.npy
check 'decompress to HDF5' "$halcyon" decompress s.h5 -o p.h5 -q
check '--contiguous of what is so in any case' refused 2 'contiguous is for HDF5' "$halcyon" decompress s.h5 -o q.npy --contiguous
check 'decompress to HDF5, contiguous' "$halcyon" decompress s.h5 -o q.h5 -q --contiguous
for f in p q; do
    check "decompress $f.h5" "$halcyon" decompress $f.h5 -o again.npy -q
    check "decompress $f.h5: the same pixels" cmp p.npy again.npy
done
if command -v h5dump >/dev/null; then
    check 'chunked' sh -c 'h5dump -H -p p.h5 | grep -q CHUNKED'
    check 'contiguous' sh -c 'h5dump -H -p q.h5 | grep -q CONTIGUOUS'
fi
check 'decompress --frames' "$halcyon" decompress s.h5 -o part.npy -q --frames 17:20
bytes p.npy `expr 17 '*' $frame` `expr 3 '*' $frame` >want
bytes part.npy 0 `expr 40 '*' $frame` >got
check 'decompress --frames: those alone' cmp want got
check 'decompress --dataset' "$halcyon" decompress s.h5 -o again.npy -q --dataset /entry/data/data
check 'decompress --dataset: it must be there' refused 1 'nothing' \
    "$halcyon" decompress s.h5 -o x.npy -q --dataset /entry/nothing
check 'decompress onto its input' refused 1 's.h5' "$halcyon" decompress s.h5 -o s.h5 -q

check 'compress' "$halcyon" compress p.npy -o c.h5 -q
check 'compress --codec lz4' "$halcyon" compress p.npy -o l.h5 -q --codec lz4
check 'compress --block' "$halcyon" compress p.npy -o b.h5 -q --block 256
check 'compress what is packed' "$halcyon" compress l.h5 -o r.h5 -q
for f in c l b r; do
    check "decompress $f.h5" "$halcyon" decompress $f.h5 -o again.npy -q
    check "decompress $f.h5: the same pixels" cmp p.npy again.npy
done
plain=`size p.npy`
check 'compress makes it smaller' test `size c.h5` -lt `expr $plain / 2`
check 'bitshuffle before LZ4 helps' test `size c.h5` -lt `size l.h5`
check '--block: small blocks take more' test `size b.h5` -gt `size c.h5`
check '--block that cuts elements' refused 1 'blocks of 24' "$halcyon" compress p.npy -o x.h5 -q --block 24
check '... that no stack can have' refused 2 'block 100: bitshuffle' "$halcyon" compress p.npy -o x.h5 -q --block 100
check '... but LZ4 alone' "$halcyon" compress p.npy -o x.h5 -q --codec lz4 --block 100
check '--codec that is none' refused 2 'lz4' "$halcyon" compress p.npy -o x.h5 --codec zip
check 'compress --frames' "$halcyon" compress p.npy -o part.h5 -q --frames 17:20
check 'compress --frames: unpacked' "$halcyon" decompress part.h5 -o again.npy -q
check 'compress --frames: those alone' cmp part.npy again.npy
check 'compress -d' "$halcyon" compress s.h5 -o noop.h5 -q -d null@kernels=noop
check 'compress -d: unpacked' "$halcyon" decompress noop.h5 -o again.npy -q
check 'compress -d: that device' cmp noop.npy again.npy
check 'compress --dataset: it must be there' refused 1 'nothing' \
    "$halcyon" compress s.h5 -o x.h5 -q --dataset /entry/nothing
check 'compress -q says nothing' equals "`"$halcyon" compress p.npy -o c.h5 -q 2>&1`" ''
check 'compress says how small it is' sh -c "'$halcyon' compress p.npy -o c.h5 2>&1 | grep -q '^c.h5: .* MB of pixels in'"

check 'sum of a stack' "$halcyon" sum s.h5 -o sum.npy -q
check 'sum -d' "$halcyon" sum s.h5 -o again.npy -q -d cpu@threads=1
check 'sum -d: the same' cmp sum.npy again.npy
check 'sum -d: that device' "$halcyon" sum s.h5 -o again.npy -q -d null@kernels=noop
check 'sum -d: which decodes nothing' not cmp -s sum.npy again.npy
# One batch, which is the first device's.
check 'sum --frames' "$halcyon" sum s.h5 -o few.npy -q --frames 0:16
check 'sum -d: a device that fails is given up' refused 0 'device null was given up, its frames went to the others' \
    "$halcyon" sum s.h5 -o again.npy -q --frames 0:16 -d null,cpu
check 'sum -d: the other one does its frames' cmp few.npy again.npy
check 'sum --dataset: it must be there' refused 1 'nothing' \
    "$halcyon" sum s.h5 -o x.npy -q --dataset /entry/nothing
check 'sum to HDF5' "$halcyon" sum s.h5 -o sum.h5 -q
check 'sum to HDF5: unpacked' "$halcyon" decompress sum.h5 -o again.npy -q
check 'sum to HDF5: the same' cmp sum.npy again.npy

# --- A damaged frame: reported, its pixels masked, the others as they were ---
cp s.h5 bad.h5
where=`expr \`size s.h5\` '*' 3 / 5 / 512`
dd if=/dev/zero of=bad.h5 bs=512 seek=$where count=2 conv=notrunc 2>/dev/null
"$halcyon" decompress bad.h5 -o bad.npy >out 2>words
check 'a damaged frame: status 1' equals $? 1
lost=`sed -n 's/^failed: *//p' words`
check 'a damaged frame: by its number' test "$lost" -gt 0 -a "$lost" -lt 40
check 'a damaged frame: with words' grep -q "frame $lost failed: ." words
bytes bad.npy `expr $lost '*' $frame` $frame >got
head -c $frame /dev/zero | tr '\000' '\377' >want
check 'a damaged frame: masked' cmp want got
bytes bad.npy 0 `expr $lost '*' $frame` >got
bytes p.npy 0 `expr $lost '*' $frame` >want
check 'a damaged frame: those before it' cmp want got
bytes bad.npy `expr '(' $lost + 1 ')' '*' $frame` `expr 40 '*' $frame` >got
bytes p.npy `expr '(' $lost + 1 ')' '*' $frame` `expr 40 '*' $frame` >want
check 'a damaged frame: those behind it' cmp want got
check 'a damaged frame: sums go without it' refused 1 "^failed: $lost" "$halcyon" sum bad.h5 -o x.npy
check 'a damaged frame: and are written' test -s x.npy
# In a chunk's header the block's size, 8192, stands behind the frame's.
big=`printf '%08x' $frame | sed 's/../\\\\x&/g'`
LC_ALL=C sed "s/$big\\x00\\x00\\x20\\x00/$big\\x00\\x00\\x20\\x07/" s.h5 >header.h5
check 'a damaged header: with words' refused 1 'blocks of 8199 bytes, not a multiple' "$halcyon" decompress header.h5 -o x.npy -q
check 'a full disk, and a file a frame' refused 1 'not all frames have their file' \
    sh -c "ulimit -f 1; exec '$halcyon' decompress s.h5 -o 'full_%d.tif' -q"
if [ -w /dev/full ]; then
    ln -s /dev/full full.h5
    check 'a full disk' refused 1 'full.h5' "$halcyon" decompress s.h5 -o full.h5 -q
fi

echo "1..$n"
exit $failed
