# Outputs: no command writes over what it reads; a file takes its name when it is whole; pipes, links, permissions; every
# suffix is what it says, or is refused.
test_name=outputs
. "${top_srcdir:-.}/tests/cli.sh"

[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }
HALCYON_BACKENDS=cpu
export HALCYON_BACKENDS

"$halcyon" simulate s.h5 --shape 64x90 --dtype uint16 -n 4 -q || exit 99
"$halcyon" decompress s.h5 --frames 0 -o one.npy -q || exit 99
printf '1\n1\n1\n1\n' >monitor.txt
"$halcyon" integrate s.h5 -p s.poni -o first.h5 --save-config config.json -q || exit 99
cp one.npy 'img_0.npy'
mkdir kept
cp ./* kept 2>cp.log

# --- What is read is not written over ---
# kept WHAT COMMAND...: it is refused, and all files are as they were.
unharmed() { for f in kept/*; do cmp "$f" "${f#kept/}" || return 1; done; }
spared()
{
    what=$1
    shift
    check "$what: refused" refused 1 'name another file' "$@"
    check "$what: nothing was written" unharmed
}
run="$halcyon integrate s.h5 -p s.poni -q -n 20"
ln -s s.h5 alias.h5
ln one.npy hard.npy
for option in flat dark mask absorption; do
    # shellcheck disable=SC2086 # several words
    spared "-o naming --$option" $run --$option hard.npy -o one.npy --save-config x.json
done
# shellcheck disable=SC2086
{
    spared '-o naming the PONI file' $run -o ./s.poni
    spared '-o naming the monitor' $run --monitor monitor.txt -o monitor.txt
    spared '-o naming the stack by a link' $run -o alias.h5
    spared '-o naming the configuration' "$halcyon" integrate s.h5 -q --config config.json -o config.json
    spared '-o naming one file a frame' $run --flat img_0.npy --frames :2 -o img_%d.npy
    spared '--save-config naming the stack' $run -o x.h5 --save-config s.h5
    spared '--save-config naming the PONI file' $run -o x.h5 --save-config s.poni
    spared '--save-config naming the output' $run -o x.h5 --save-config x.h5
    for path in s.h5 s.poni one.npy; do
        spared "HALCYON_TRACE naming $path" env HALCYON_TRACE=$path $run --flat one.npy -o x.h5
    done
}
# A % in the name of what is one file is a character like others.
cp s.h5 'a%b.h5'
cp config.json 'c%d.json'
cp 'a%b.h5' 'c%d.json' kept
# shellcheck disable=SC2086
{
    spared '--sparse naming a stack with a % in its name' "$halcyon" integrate 'a%b.h5' -p s.poni -q -n 20 --sigma-clip -o x.h5 --sparse 'a%b.h5'
    spared '--save-config naming the configuration, with %d in its name' "$halcyon" integrate s.h5 -q --config 'c%d.json' -o x.h5 --save-config 'c%d.json'
    spared '--sparse naming the output in other words' $run --sigma-clip -o x.h5 --sparse ./x.h5
    check '... which is not there' test ! -e x.h5
}
for sub in sum decompress compress; do
    spared "$sub onto its stack" "$halcyon" $sub s.h5 -o alias.h5 -q
    spared "$sub: HALCYON_TRACE naming the stack" env HALCYON_TRACE=alias.h5 "$halcyon" $sub s.h5 -o x.h5 -q
done
spared 'simulate: a stack that is its geometry' "$halcyon" simulate s.poni --shape 64x90 -q
spared 'bench: HALCYON_TRACE' env HALCYON_TRACE=s.poni "$halcyon" bench s.h5 -p s.poni
spared 'fpga-model: HALCYON_TRACE' env HALCYON_TRACE=s.h5 "$halcyon" fpga-model s.h5 -p s.poni
spared 'nufft' "$halcyon" nufft -t 1 -p one.npy -i one.npy -n 4 -o hard.npy

cp config.json config.svg
"$halcyon" integrate s.h5 -p s.poni -n 20 -o curve.dat -q
ln -s curve.dat curve.svg
check 'plot onto what is plotted' refused 1 'name another file' "$halcyon" plot curve.dat -o curve.svg
HALCYON_TRACE=monitor.txt "$halcyon" nufft -t 1 -p one.npy -i one.npy -n 4 -o x.npy 2>words
check 'a trace is written over nothing but a trace' unharmed

# Sources of a virtual dataset that HDF5 must put together (here: tiles), and external storage.
python=${PYTHON:-python3}
if "$python" -c 'import h5py' 2>no.h5py; then
    "$python" - <<'END'
import h5py, numpy
for name in ("left", "right"):
    with h5py.File(name + ".h5", "w") as f:
        f["data"] = numpy.ones((2, 64, 45), "u2")
layout = h5py.VirtualLayout((2, 64, 90), "u2")
layout[:, :, :45] = h5py.VirtualSource("left.h5", "data", (2, 64, 45))
layout[:, :, 45:] = h5py.VirtualSource("right.h5", "data", (2, 64, 45))
with h5py.File("tiles.h5", "w") as f:
    f.create_virtual_dataset("data", layout)
with h5py.File("outside.h5", "w") as f:
    f.create_dataset("data", (2, 64, 90), "u2", data=numpy.ones((2, 64, 90)), external=[("outside.bin", 0, 2 * 64 * 90 * 2)])
END
    cp left.h5 right.h5 tiles.h5 outside.h5 outside.bin kept
    ln -s right.h5 right.npy
    ln -s outside.bin outside.npy
    spared 'the source of a virtual dataset' "$halcyon" sum tiles.h5 -o right.npy -q
    spared 'the virtual dataset itself' "$halcyon" sum tiles.h5 -o tiles.h5 -q
    spared 'external storage' "$halcyon" sum outside.h5 -o outside.npy -q
else
    skip "$python has no h5py (PYTHON names one that has)"
fi

# --- Pipes, links, permissions ---
"$halcyon" integrate s.h5 -p s.poni -n 20 -o plain.xy --frames 3 -q
for out in - /dev/stdout /dev/fd/1; do
    check "-o $out" sh -c "'$halcyon' integrate s.h5 -p s.poni -n 20 -o $out -q | grep -v '^#' | tail -20 >got; tail -20 plain.xy | cmp - got"
done
for out in - /dev/stdout /dev/fd/1; do
    check "-o $out and --json: both would go there" refused 2 'takes stdout' "$halcyon" integrate s.h5 -p s.poni -o $out --json
done
{ echo before; "$halcyon" integrate s.h5 -p s.poni -n 20 -o /dev/stdout -q; echo after; } >all
check '-o /dev/stdout in a file: what stands around it stays' \
    sh -c 'head -1 all | grep before && tail -1 all | grep after && grep "frame 3" all'
mkdir elsewhere
ln -s elsewhere/real.npy link.npy
check 'through a link' "$halcyon" decompress s.h5 -o link.npy -q
check 'through a link: which stays, and what it names is written' test -L link.npy -a -s elsewhere/real.npy
chmod 600 link.npy
check 'over a file' "$halcyon" decompress s.h5 -o link.npy -q
check 'over a file: its permissions stay' equals "`ls -l elsewhere/real.npy | cut -c1-10`" '-rw-------'
mkfifo pipe.dat
cat pipe.dat >through &
check 'to a pipe' "$halcyon" integrate s.h5 -p s.poni -n 20 -o pipe.dat -q
wait $!
check 'to a pipe: all of it' equals "`grep -c '^# frame' through`" 4
mkfifo pipe.h5
cat pipe.h5 >through &
check 'HDF5 to a pipe' refused 2 'pipe.h5 is a pipe' "$halcyon" integrate s.h5 -p s.poni -n 20 -o pipe.h5 -q
wait $!
mkfifo in.h5
check 'a pipe is not waited for: info' refused 1 'in.h5 is a pipe' "$halcyon" info in.h5
for option in --flat --mask; do
    check "a pipe is not waited for: $option" refused 1 'in.h5 is a pipe' \
        "$halcyon" integrate s.h5 -p s.poni $option in.h5 -o x.dat -q
done
rm in.h5

# --- Suffixes: what is written is what they say, or they are refused with those that are written ---
while read -r suffix those command; do
    # shellcheck disable=SC2086 # several words
    check "$suffix is refused: $command" refused 2 "$those" "$halcyon" $command.$suffix
done <<'END'
txt .h5.*.npy.*.tif sum s.h5 -o x
jpg .h5.*.npy.*.tif sum s.h5 -o x
npz .h5.*.npy.*.tif decompress s.h5 -o x
dat .h5.*.npy.*.tif decompress s.h5 -o x
tif .h5 compress s.h5 -o x
npy .h5 compress s.h5 -o x
tif .npy.*.npz nufft -t 1 -p one.npy -i one.npy -n 4 -o x
tif .npy.*.dat sum s.h5 --roi 0,0,9,9 -o x
gif .svg.*.png.*.pdf plot first.h5 -o x
END
check 'tif is refused: integrate' refused 2 '.h5.*.dat.*.xy' "$halcyon" integrate s.h5 -p s.poni -n 20 -o x.tif -q
check 'edf is refused for curves' refused 2 '.h5.*.dat.*.xy' "$halcyon" integrate s.h5 -p s.poni -n 20 -o x.edf -q
check 'dat is refused: --sparse' refused 2 'name an .h5 file' "$halcyon" integrate s.h5 -p s.poni -n 20 --sigma-clip \
    --error-model poisson -o x.h5 --sparse y.dat -q
check 'h5 is refused: --save-config' refused 2 'configurations .*\.json' "$halcyon" integrate s.h5 -p s.poni -n 20 -o x.dat \
    --save-config x.h5
check 'tif is refused: calibrate' refused 2 'geometries .*\.poni' "$halcyon" calibrate s.h5 -c CeO2 -p s.poni -o x.tif -q
# What all frames are in has no number in its name.
while read -r command; do
    # shellcheck disable=SC2086 # several words
    check "one file, with %d: $command" refused 2 'leave the %d out' "$halcyon" $command
done <<'END'
sum s.h5 -o x_%03d.tif
sum s.h5 --roi 0,0,9,9 -o x_%03d.dat
compress s.h5 -o x_%d.h5
decompress s.h5 -o x_%d.h5
integrate s.h5 -p s.poni -o x_%d.h5
integrate s.h5 -p s.poni --npt-azim 9 -o x_%d.edf
END
"$halcyon" decompress s.h5 --frames :2 -o g_%02d.npy -q
check 'no -o: a numbered series' "$halcyon" integrate g_%02d.npy -p s.poni -q -n 20
check 'no -o: ... without its number' test -s g_azint.h5
cp s.h5 'Fe50%_60%_detector.h5'
"$halcyon" integrate 'Fe50%_60%_detector.h5' -p s.poni -q -n 20
check 'no -o: ... and each % that is none, without that alone' test -s Fe50_60_detector_azint.h5
check 'no suffix is none' refused 2 '.h5' "$halcyon" sum s.h5 -o x
check 'none of these left a file' sh -c 'not() { ! "$@"; }; not ls x.txt x.jpg x.npz x.dat x.gif x x_* 2>ls.err'

"$halcyon" decompress s.h5 -o all.npy -q
"$halcyon" sum s.h5 -o total.npy -q
"$halcyon" sum s.h5 --max -o largest.npy -q
formats='edf'
[ -n "${HCY_TIFF-yes}" ] && formats='edf tif'
for suffix in $formats; do
    check "decompress to .$suffix" "$halcyon" decompress s.h5 -o all.$suffix -q
    check "decompress to .$suffix: the same pixels" \
        sh -c "'$halcyon' decompress all.$suffix -o again.npy -q && cmp all.npy again.npy"
    check "sum to .$suffix" "$halcyon" sum s.h5 -o total.$suffix -q
    check "sum to .$suffix: the same sums" \
        sh -c "'$halcyon' decompress total.$suffix -o again.npy -q && cmp total.npy again.npy"
done
for suffix in $formats cbf npy; do
    check "decompress to a .$suffix a frame" "$halcyon" decompress s.h5 --frames 1:4 -o f_%03d.$suffix -q
    check "a .$suffix a frame: numbered as the frames" equals "`echo f_*.$suffix`" "f_001.$suffix f_002.$suffix f_003.$suffix"
    "$halcyon" decompress s.h5 --frames 1:4 -o part.npy -q
    check "a .$suffix a frame: the same pixels" \
        sh -c "'$halcyon' decompress f_%03d.$suffix -o again.npy -q && cmp part.npy again.npy"
done
check 'sum --max to .cbf' "$halcyon" sum s.h5 --max -o largest.cbf -q
check 'sum --max to .cbf: the same' sh -c "'$halcyon' decompress largest.cbf -o again.npy -q && cmp largest.npy again.npy"
check '.cbf of several frames: refused' refused 1 '%05d.cbf' "$halcyon" decompress s.h5 -o x.cbf -q
check '.cbf of 64 bits: refused' refused 2 '4 bytes.*\.tif' "$halcyon" sum s.h5 -o x.cbf -q
"$halcyon" decompress s.h5 -o f_%03d.npy -q
check 'a file a frame over its own files' refused 1 'f_000.npy is' "$halcyon" decompress f_%03d.npy -o f_%03d.npy -q

# --- Other programs read them ---
printf '%s\n' 'import fabio, numpy, sys' 'a = numpy.load("all.npy")' \
    'for n in range(4):' \
    '    for name in sys.argv[1:]:' \
    '        with fabio.open(name % n if "%" in name else name) as f:' \
    '            got = f.data if "%" in name else f.get_frame(n).data' \
    '            assert got.dtype.kind in "ui" and (got == a[n]).all(), (name, n, got.dtype)' \
    't = numpy.load("total.npy")[0]' 'g = fabio.open("total.edf").data' 'assert g.dtype == t.dtype and (g == t).all()' \
    'm = numpy.load("largest.npy")[0]' 'assert (fabio.open("largest.cbf").data == m).all()' >read.py
if "$python" -c 'import fabio' 2>no.fabio; then
    "$halcyon" decompress s.h5 -o g_%d.cbf -q
    "$halcyon" decompress s.h5 -o g_%d.edf -q
    "$halcyon" decompress s.h5 -o g_%d.tif -q
    "$halcyon" decompress s.h5 -o g.tif -q
    check 'fabio reads TIFF, EDF and CBF' "$python" read.py g_%d.cbf g_%d.edf g_%d.tif g.tif all.edf
else
    skip "$python has no fabio (PYTHON names one that has)"
fi

printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }" >points.npy
printf '\000\000\000\000\000\000\360\077\000\000\000\000\000\000\000\100\000\000\000\000\000\000\010\100' >>points.npy
for out in out.npy out.npz out.h5 out.h5:/more/f; do
    check "nufft to $out" "$halcyon" nufft -t 1 -p points.npy -i points.npy -n 4 -o $out -q
done
check 'nufft: a dataset more in a file' sh -c "'$halcyon' nufft -t 2 -p points.npy -i out.h5:/more/f -o a.npy -q &&
    '$halcyon' nufft -t 2 -p points.npy -i out.h5:/data -o b.npy -q && cmp a.npy b.npy"
cp out.h5 out.h5.kept
for out in out.npy out.h5:/full; do
    check "nufft to $out on a full disk" refused 1 'writing failed' \
        sh -c "ulimit -f 16; exec '$halcyon' nufft -t 1 -p points.npy -i points.npy -n 9000 -o $out -q"
    check '... what there was stays, which is said' sh -c "cmp out.h5 out.h5.kept && grep '$out \(stays\|is not\)' refused.err"
done
if "$python" -c 'import numpy' 2>no.numpy; then
    check 'NumPy reads .npz' "$python" -c 'import numpy
z = numpy.load("out.npz")
assert z.files == ["arr_0"] and (z["arr_0"] == numpy.load("out.npy")).all()
assert __import__("zipfile").ZipFile("out.npz").testzip() is None'
else
    skip "$python has no NumPy"
fi

echo "1..$n"
exit $failed
