# Where halcyon integrate has its geometry from: pixel corners, detectors by name, what a NeXus file says.
feed=${top_builddir:-.}/tests/stack_grow
case $feed in /*) ;; *) feed=`pwd`/$feed ;; esac
corners=${top_builddir:-.}/tests/azint_corners
case $corners in /*) ;; *) corners=`pwd`/$corners ;; esac
spline=${top_builddir:-.}/tests/azint_spline
case $spline in /*) ;; *) spline=`pwd`/$spline ;; esac
script=$0
case $script in /*) ;; *) script=`pwd`/$script ;; esac
test_name=detector
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR

integrate() { stack=$1; shift; "$halcyon" integrate "$stack" -d cpu@threads=1 "$@"; }
rows() { grep -v '^#' "$1" | grep .; }
same() { rows "$1" >same.a; rows "$2" >same.b; [ -s same.a ] && cmp same.a same.b; }
differ() { not same "$1" "$2" >/dev/null; }
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

if "$halcyon" simulate s.h5 --detector Eiger500k --frames 2 --seed 3 -q >simulate.log 2>&1; then
    :
elif grep 'no HDF5' simulate.log >/dev/null; then
    echo '1..0 # SKIP built without HDF5'
    exit 0
else
    sed 's/^/# /' simulate.log
    exit 99
fi
# poni FILE DETECTOR CONFIG DISTANCE PONI1 PONI2
poni()
{
    printf 'poni_version: 2.1\nDetector: %s\nDetector_config: %s\nDistance: %s\nPoni1: %s\nPoni2: %s\n' \
        "$2" "$3" $4 $5 $6 >"$1"
    printf 'Rot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1.25e-10\n' >>"$1"
}

# --- Pixel corners: an image of 24 x 30 bytes, this script's own ---
printf '\223NUMPY\001\000\166\000%-117s\n' \
    "{'descr': '|u1', 'fortran_order': False, 'shape': (24, 30), }" >image.npy
head -c 720 "$script" >>image.npy
"$corners" bent.h5 || exit 99
poni grid.poni Detector '{"pixel1": 1e-3, "pixel2": 1.1e-3}' 0.05 0.0083 0.0141
poni bent.poni NexusDetector '{"filename": "bent.h5"}' 0.05 0.0083 0.0141
poni nowhere.poni NexusDetector '{"filename": "nowhere.h5"}' 0.05 0.0083 0.0141
check 'a grid' integrate image.npy -p grid.poni -o grid.dat -n 9
check '--detector FILE.h5' integrate image.npy -p grid.poni -o bent.dat -n 9 --detector bent.h5
check '--detector FILE.h5: it matters' differ grid.dat bent.dat
check 'a PONI file that names it' integrate image.npy -p bent.poni -o named.dat -n 9
check 'a PONI file that names it: the same' same bent.dat named.dat
# A pixel that is nowhere is a gap in the rings; in points as fine as a picture's, too.
"$corners" lacks.h5 lacks || exit 99
poni lacks.poni NexusDetector '{"filename": "lacks.h5"}' 0.05 0.0083 0.0141
check 'rings beside a pixel that is nowhere' timeout 20 "$halcyon" plot image.npy -p lacks.poni --rings 5,10 --terminal sixel
"$halcyon" plot image.npy -p lacks.poni --rings 5,10 --terminal text --size 60x30 --title T >rings.txt
check '... are there' test "`tr -dc o <rings.txt | wc -c`" -gt 20
check 'a file that is not there' status 1 'nowhere.h5: there is no such file' integrate image.npy -p nowhere.poni -o x.dat
check "a stack's dataset as an array's" status 1 'named apart: s.h5 --dataset /entry/data' \
    integrate s.h5:/entry/data -p s.poni -o x.dat
check '--detector of neither kind' status 2 'nor is a detector called so' \
    integrate image.npy -p grid.poni -o x.dat --detector Eiger5
check '--detector FILE.h5 of another shape' status 1 '24 x 30' integrate s.h5 -p s.poni -o x.dat --detector bent.h5

# --- A distortion file, against pyFAI 2026.9's curves of bounding boxes, whose centres are displaced and not their corners'
# mean; a FReLoN masks what is outside the valid region ---
"$spline" a.spline || exit 99
{ head -c 128 image.npy; awk 'BEGIN { for (i = 0; i < 720; i++) printf "%c", i % 37 + 20 }'; } >steps.npy
for name in Detector FReLoN; do
    printf '%s\n' 'poni_version: 2.1' "Detector: $name" 'Detector_config: {"splineFile": "a.spline"}' 'Distance: 0.005' \
        'Poni1: 0.0005' 'Poni2: 0.0007' 'Rot1: 0' 'Rot2: 0' 'Rot3: 0' 'Wavelength: 1e-10' >$name.poni
done
near()
{
    rows "$1" | awk -v want="$2" 'BEGIN { n = split(want, w) } { d = $2 / w[NR] - 1; if (d * d > 2.5e-5) { print "row", NR, $2, w[NR]; bad = 1 } }
        END { exit bad || NR != n }'
}
curve="39.89387 35.6223 38.433926 37.531517 38.140915 38.499413"
check 'a distortion file' integrate steps.npy -p Detector.poni -o spline.dat -n 9 --split bbox --save-config spline.json
check 'a distortion file: as pyFAI' near spline.dat "$curve 37.822342 40.824024 45.227554"
check 'a distortion file of a FReLoN' integrate steps.npy -p FReLoN.poni -o frelon.dat -n 9 --split bbox
check 'a distortion file of a FReLoN: as pyFAI' near frelon.dat "$curve 37.96151 40.9447 45.227554"
check '--detector FILE.spline' integrate steps.npy -p FReLoN.poni -o again.dat -n 9 --split bbox --detector a.spline
check '--detector FILE.spline: the same' same frelon.dat again.dat
if [ -s spline.json ]; then
    check 'its configuration' integrate steps.npy -j spline.json -o config.dat
    check 'its configuration: the same' same spline.dat config.dat
fi
check 'info says what it is' status 0 'a detector of 24 x 30 pixels' "$halcyon" info a.spline
check 'info of the geometry' status 0 'of the file a.spline' "$halcyon" info Detector.poni
echo 'SPATIAL DISTORTION' >no.spline
check 'a distortion file that is none' status 1 'no X-DISTORTION' integrate steps.npy -p grid.poni -o x.dat --detector no.spline

# --- A name ---
poni wrong.poni Detector '{"pixel1": 1e-4, "pixel2": 1e-4}' 0.2 0.01875 0.0375375
poni right.poni Eiger500k '{}' 0.2 0.01875 0.0375375
check '--detector NAME' integrate s.h5 -p wrong.poni -o name.dat --detector Eiger500k
check '--detector NAME: without it' integrate s.h5 -p wrong.poni -o wrong.dat
check '--detector NAME: it matters' differ wrong.dat name.dat
check '--detector NAME: as in the PONI file' integrate s.h5 -p right.poni -o right.dat
check '--detector NAME: the same' same right.dat name.dat

# --- The stack's own ---
"$feed" feed nexus n.h5 s.h5 || exit 99
check 'no geometry' status 1 'give -p' integrate s.h5 -o x.dat
check 'no geometry, no HDF5' status 1 'give -p' integrate image.npy -o x.dat
check "the stack's own geometry is said" status 0 'Eiger500k, 0.2 m away, beam at pixel (500.5, 250), wavelength 1.25 A' \
    integrate n.h5 -o own.dat
check "the stack's own geometry" integrate n.h5 -p right.poni -o given.dat
check "the stack's own geometry: the same as given" same given.dat own.dat
check 'counts above the saturation are masked' differ right.dat own.dat
check '--no-sentinels: they are not' integrate n.h5 -p right.poni -o counts.dat --no-sentinels
check '--no-sentinels: all counts' integrate s.h5 -p right.poni -o all.dat --no-sentinels
check '--no-sentinels: the same' same counts.dat all.dat

# --- The stack's own, by its axes ---
# near A B: the same to the sixth digit.
near()
{
    rows "$1" >near.a
    rows "$2" >near.b
    paste near.a near.b | awk '{ for (i = 1; i <= 2; i++) { d = $i - $(i + 2); if (d < 0) d = -d; if (d > 3e-6 * $i + 1e-9) exit 1 } }
        END { exit NR != 2000 }'
}
"$feed" feed axes t.h5 s.h5 || exit 99
poni arm.poni Eiger500k '{"orientation": 2}' 0.2 0.0198 0.0375375
sed 's/Rot2: 0/Rot2: -0.2/' arm.poni >turned.poni
check "axes: said" status 0 'Eiger500k, 0.2 m away, PONI (0.0198, 0.0375375) m, turned by .* -0.200000 .* rad, orientation 2' \
    integrate t.h5 -o own.dat
check 'axes: as in a PONI file' integrate t.h5 -p turned.poni -o given.dat
check 'axes: the same' near given.dat own.dat
check 'axes: chi too' integrate t.h5 -o own.dat --along-chi
check 'axes: chi as in a PONI file' integrate t.h5 -p turned.poni -o given.dat --along-chi
check 'axes: the same chi' near given.dat own.dat
for how in loop flat other milli across along; do "$feed" feed $how $how.h5 s.h5 || exit 99; done
check 'axes: an angle in mrad' status 0 'turned by .* -0.200000 .* rad, orientation 2' integrate milli.h5 -o x.dat
for how in across along; do
    check "axes of pixels that depend on one another: $how" status 0 \
        'PONI (0.0198, 0.0375375) m, turned by .* -0.200000 .* rad, orientation 2' integrate $how.h5 -o x.dat
done
check 'axes in a circle' status 1 'cannot be used: the axis .*/arm depends on itself' integrate loop.h5 -o x.dat
check '... are not needed with -p' integrate loop.h5 -p turned.poni -o x.dat
check 'axes that a beam centre contradicts' status 1 'by its axes the beam is at pixel .*, by its beam_center at (400, 250)' \
    integrate other.h5 -o x.dat
check '... of a detector that is not turned: the beam centre counts' status 0 'beam at pixel (400, 250)' \
    integrate flat.h5 -o x.dat
check 'counts below the underload are masked' integrate s.h5 -p turned.poni -o all.dat --along-chi
check '... they are' differ given.dat all.dat
check '--no-sentinels: they are not' integrate t.h5 -p turned.poni -o given.dat --no-sentinels
check '--no-sentinels: counts of 0 too' integrate s.h5 -p turned.poni -o all.dat --no-sentinels
check '--no-sentinels: both the same' same given.dat all.dat

# --- Orientation, and rings that wander ---
"$halcyon" simulate r.h5 --detector Eiger1M --frames 1 --seed 3 -q || exit 99
silent() { "$@" >silent.log 2>&1 || return 1; not grep 'the rings' silent.log; }
check 'rings where they belong: nothing is said' silent integrate r.h5 -p r.poni -o right.dat
check 'rows the other way: said, with what to try' status 0 'the rings .*: try --flip (rows run the other way' \
    integrate r.h5 -p r.poni -o flip.dat --orientation 2
check '... it matters' differ right.dat flip.dat
sed 's/"orientation": 3/"orientation": 2/' r.poni >r2.poni
check '--flip where it is needed: nothing is said' silent integrate r.h5 -p r2.poni -o x.dat --flip
check '--flip where it is not: the advice is to leave it' status 0 'the rings .*: leave --flip out' \
    integrate r.h5 -p r.poni -o x.dat --flip -n 91
check '--orientation and --flip: the advice is without --flip' status 0 'the rings .*: try --orientation [0-9] without --flip' \
    integrate r.h5 -p r.poni -o x.dat --orientation 1 --flip -n 92
# Lengths in another unit than metres: said, with the number that is meant.
sed 's/^Wavelength: .*/Wavelength: 0.5/' r.poni >angstrom.poni
sed 's/^Distance: .*/Distance: 34/' r.poni >millimetres.poni
sed 's/"pixel1": [0-9.e-]*/"pixel1": 0.075/' r.poni >pixel.poni
check 'a wavelength of half a metre' status 0 'wavelength is 0.5 m, .* if that is in Angstrom, it must be 5e-11' \
    integrate r.h5 -p angstrom.poni -o x.dat -q -u 2th_deg
check 'a distance of 34 metres' status 0 'distance is 34 m, .* if that is in millimetres, it must be 0.034' \
    integrate r.h5 -p millimetres.poni -o x.dat -q
check 'a usual geometry: nothing is said' sh -c \
    "'$halcyon' integrate r.h5 -p r.poni -o x.dat -q 2>said && test ! -s said"
check '--orientation 2 is the same' integrate r.h5 -p r.poni -o two.dat --orientation 2 -q
check '... it is' same flip.dat two.dat
check '--orientation 2 and --flip' integrate r.h5 -p r.poni -o again.dat --orientation 2 --flip -q
check '... are as before' same right.dat again.dat
check '--orientation 4' status 0 'the rings .*: try --orientation 3' integrate r.h5 -p r.poni -o four.dat --orientation 4
check '--orientation 5' status 2 '--orientation' integrate r.h5 -p r.poni -o x.dat --orientation 5
sed 's/^Poni1: .*/Poni1: 0.0425/' r.poni >off.poni
check 'a wrong beam centre: said' status 0 'the rings wander over the azimuth, by 1.* degrees of 2 theta: check the beam' \
    integrate r.h5 -p off.poni -o off.dat
check '-q: not' silent integrate r.h5 -p off.poni -o off.dat -q
check 'a frame without rings: nothing is said' silent integrate s.h5 -p right.poni -o x.dat --frames 1
real=$data/detector/pixium
if [ -r "$real/pixium_03150.tif" ] && integrate "$real/pixium_03150.tif" -p "$real/exact_for_integrated_dat.poni" -q -o x.dat; then
    check 'a real TIFF: nothing is said' silent \
        integrate "$real/pixium_03150.tif" -p "$real/exact_for_integrated_dat.poni" -o x.dat
    check '... flipped, it is' status 0 'the rings wander .*: leave --flip out' \
        integrate "$real/pixium_03150.tif" -p "$real/exact_for_integrated_dat.poni" -o x.dat --flip
else
    skip "$real is not there, or built without libtiff"
fi
echo "1..$n"
exit $failed
