# halcyon calibrate: frames of known geometry, made by tests/calibrate, give it back; others are refused.
test_name=calibrate_cli
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
make=${json%/*}/calibrate
corners=${json%/*}/azint_corners

# frame NAME ...: see make_frame() of calibrate.c.
frame() { name=$1; shift; "$make" frame "$name" "$@" || exit 99; }
calibrate() { "$halcyon" calibrate "$@" -q; }
# near FILE.poni KEY WANT TOLERANCE
near()
{
    awk -v key="$2:" -v want="$3" -v by="$4" '$1 == key { v = $2; n++ }
        END { d = v - want; if (n == 1 && d <= by && -d <= by) exit 0
              print key, v, "not", want, "+-", by; exit 1 }' "$1"
}
# geometry FILE.poni DIST PONI1 PONI2 ROT1 ROT2: the distance within 25 um, the point of normal incidence within 80, tilts within
# 0.5 mrad: tilt and point belong together.
geometry()
{
    near "$1" Distance "$2" 2.5e-5 && near "$1" Poni1 "$3" 8e-5 && near "$1" Poni2 "$4" 8e-5 &&
        near "$1" Rot1 "$5" 5e-4 && near "$1" Rot2 "$6" 5e-4
}

# --- From nothing but the pixels, or the detector's name, and the wavelength ---
frame ceria.npy 619 487 172e-6 3 0.15 0.05 0.04 0 0 0.5 CeO2 100 0.02
frame tilted.npy 400 320 266e-6 4 0.2 0.06 0.03 0.1 -0.15 0.4 LaB6 100 0.02
frame outside.npy 400 400 150e-6 2 0.1 -0.01 0.02 0.02 0.05 0.3 CeO2 100 0.02
frame faint.npy 400 500 75e-6 1 0.1 0.015 0.018 0.01 0.03 0.5 LaB6 1.5 0.02
frame noise.npy 300 300 172e-6 3 0.15 0.02 0.02 0 0 0.5 none 100 0.02
check 'rings, gaps, a beamstop and hot pixels: ceria' calibrate ceria.npy -c CeO2 -w 0.5 -D Pilatus300k -o ceria.poni
check '... the geometry is that of the frame' geometry ceria.poni 0.15 0.05 0.04 0 0
check '... the detector is in the file' grep -q 'Pilatus *300k' ceria.poni
check 'tilted by ten degrees, columns the other way' calibrate tilted.npy -c lab6 -w 0.4 --pixel 266 --orientation 4 \
    -o tilted.poni
check '... the geometry is that of the frame' geometry tilted.poni 0.2 0.06 0.03 0.1 -0.15
check 'the beam beside the detector, rows the other way' calibrate outside.npy -c CeO2 -e 41.328066 --pixel 150,150 \
    --orientation 2 -o outside.poni
check '... the geometry is that of the frame' near outside.poni Distance 0.1 3e-5
check '... and the tilt' near outside.poni Rot2 0.05 5e-4
check 'few photons, orientation 1' calibrate faint.npy -c LaB6 -w 0.5 --pixel 75 --orientation 1 -o faint.poni
check '... the distance is that of the frame' near faint.poni Distance 0.1 1e-4

# --- From a geometry, a centre, with what is fixed ---
sed 's/^Detector:.*/Detector: NexusDetector/; s/^Detector_config:.*/Detector_config: {"filename": "none.h5"}/' ceria.poni \
    >filed.poni
check "--pixel in place of the detector's file that the PONI names" \
    calibrate ceria.npy -c CeO2 -p filed.poni --pixel 172 -o unfiled.poni
check '... which the geometry that is found does not name' grep -q '^Detector: Detector$' unfiled.poni
sed 's/^Distance:.*/Distance: 0.1515/; s/^Poni1:.*/Poni1: 0.0507/; s/^Poni2:.*/Poni2: 0.0394/' ceria.poni >wrong.poni
says() { "$halcyon" calibrate ceria.npy -c CeO2 "$@" >said 2>&1; }
check 'from a PONI that is wrong' says -p wrong.poni -o right.poni
check '... the answer has uncertainties' grep -q 'dist .* m  +- [0-9.e-]*$' said
check '... what is left, and of how many points' \
    grep -q 'rms .*0\.[01][0-9]* pixels, .* mrad, .* points on .* rings' said
check '... and the points of each ring' grep -q ' 1    3.12442 .* of ' said
check '... the geometry is that of the frame' geometry right.poni 0.15 0.05 0.04 0 0
check '... what was written is said' grep -q '^right.poni: 0.15[0-9]* m away, beam at column 23[0-9.]*, row 29[0-9.]*, wavelength 0.5 A' said
check '... and what it is for' grep -q '^next: halcyon integrate ceria.npy -p right.poni$' said
check '... of a good fit nothing else' not grep -q 'may be wrong\|fit better' said
check 'a wavelength that is wrong by a percent' says -w 0.505 -D Pilatus300k -o percent.poni
check '... is fitted worse, which is said, with one that is not' \
    grep -q 'would fit better, to 0.07 in place of 0.1[0-9]* pixels, with a wavelength of 0.\(500\|499\|5 A\)' said
# A strip beside the beam: no search finds a centre in it, and a geometry that is nearly right leads to it.
frame strip.npy 30 600 172e-6 3 0.15 -0.02 0.05 0 0 0.5 CeO2 100 0.02
sed 's/^Distance:.*/Distance: 0.1505/; s/^Poni1:.*/Poni1: -0.02/; s/^Poni2:.*/Poni2: 0.05/' ceria.poni >beside.poni
check 'a strip, from nothing' refused 1 'no rings' calibrate strip.npy -c CeO2 -w 0.5 --pixel 172
check '... from a PONI' calibrate strip.npy -c CeO2 -p beside.poni --pixel 172 -o strip.poni
check '... the distance is that of the frame' near strip.poni Distance 0.15 2e-4
check '... a centre goes before the PONI' refused 1 'no rings' calibrate strip.npy -c CeO2 -p beside.poni --pixel 172 \
    --centre 20,20
sed 's/^Distance:.*/Distance: 0.25/; s/^Poni1:.*/Poni1: 0.08/' ceria.poni >far.poni
check 'from a PONI that leads nowhere' calibrate ceria.npy -c CeO2 -p far.poni -o found.poni
check '... the geometry is that of the frame' geometry found.poni 0.15 0.05 0.04 0 0
check 'a centre and a distance that are about right, no tilt' calibrate ceria.npy -c CeO2 -w 0.5 --pixel 172 \
    --centre 236,287 --distance 0.152 --fix rot1,rot2,rot3,wavelength -o fixed.poni
check '... what is fixed stays' near fixed.poni Rot1 0 0
check '... and the centre is found' near fixed.poni Poni1 0.05 4e-6
check '--fix dist: what is known exactly' calibrate ceria.npy -c CeO2 -w 0.5 --pixel 172 --distance 0.1503 \
    --fix dist,rot1,rot2,wavelength -o exact.poni
check '... stays' near exact.poni Distance 0.1503 0
check '... and the centre is found' near exact.poni Poni1 0.05 1e-5
check '--fix dist of a distance that nobody gave' refused 2 'fix dist: give the distance' \
    calibrate ceria.npy -c CeO2 -w 0.5 --pixel 172 --fix dist
sed 's/^Distance:.*/Distance: 0.1503/' ceria.poni >slightly.poni
check '--fix dist with a PONI' calibrate ceria.npy -c CeO2 -p slightly.poni --fix dist,wavelength -o stayed.poni
check "... keeps the PONI's" near stayed.poni Distance 0.1503 0
check '--distance goes before it' calibrate ceria.npy -c CeO2 -p slightly.poni --distance 0.1498 --fix dist,wavelength \
    -o given.poni
check '... as it is given' near given.poni Distance 0.1498 0

check '--fix of all but the wavelength, from a centre' calibrate ceria.npy -c CeO2 -p ceria.poni --centre 232,290 \
    --fix dist,poni1,poni2,rot1,rot2 -o colour.poni
check '... the wavelength is that of the frame' near colour.poni Wavelength 5e-11 5e-14

# --- What is no answer ---
none() { test ! -e "$1"; }
{
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (300, 300), }"
    head -c 90000 /dev/zero | tr '\0' '\1'
} >all.npy
check 'without a pixel that can be used there are no rings' refused 1 'no rings of CeO2' \
    calibrate noise.npy -c CeO2 -w 0.5 --pixel 172 -m all.npy
check '... nor around a beam that is far away' refused 1 'no rings of CeO2' \
    calibrate noise.npy -c CeO2 -w 0.5 --pixel 172 --centre 1e6,1e6
check '--fix of all there is' refused 2 'nothing is left to be found' \
    calibrate noise.npy -c CeO2 -p beside.poni --fix dist,poni1,poni2,rot1,rot2,wavelength
check 'noise is refused' refused 1 'no rings of CeO2' calibrate noise.npy -c CeO2 -w 0.5 --pixel 172 -o noise.poni
check '... with what would help' grep -q 'give what is known: --distance M, --centre X,Y or -p' refused.err
check '... and nothing is written' none noise.poni
"$halcyon" calibrate ceria.npy -c Si -w 0.5 --pixel 172 -o other.poni >other.log 2>&1
check 'silicon for ceria is doubtful' equals $? 1
check '... and the words say what it looks like' grep -q 'doubtful: .* more like those of CeO2' other.log
check '... and nothing is written' none other.poni
"$halcyon" calibrate ceria.npy -c Si -w 0.5 --pixel 172 -o other.poni --force >other.log 2>&1
check '... but by force' test -s other.poni
real=$data/detector/pixium
if [ -e "$real/pixium_03150.tif" ] && "$halcyon" info "$real/pixium_03150.tif" >/dev/null 2>&1; then
    # Its geometry is of ceria, and the frame itself of a sample.
    "$halcyon" calibrate "$real/pixium_03150.tif" -c CeO2 -p "$real/exact_for_integrated_dat.poni" \
        -o real.poni >real.log 2>&1
    check 'a real frame of something else is refused' equals $? 1
    check '... and nothing is written' none real.poni
else
    skip "a real frame of something else: no $real/pixium_03150.tif, or built without libtiff"
    skip '... and nothing is written'
fi

# --- What is asked for ---
check 'no calibrant' refused 2 'give -c' calibrate ceria.npy -w 1
check 'one that is not known' refused 2 'LaB6_SRM660a' calibrate ceria.npy -c cheese -w 1
check 'the wavelength twice' refused 2 'give one' calibrate ceria.npy -c CeO2 -w 1 -e 12
check 'a detector that is nearly one' refused 2 '(is Eiger4M meant?)' calibrate ceria.npy -c CeO2 -w 1 -D Eiger4
check '... in other letters' refused 2 '(is Eiger4M meant?)' calibrate ceria.npy -c CeO2 -w 1 -D eiger4
check '... and one that is near none' refused 2 'nor is a detector called so; see' calibrate ceria.npy -c CeO2 -w 1 -D wxyz
check '... and a file' refused 1 'nor is a detector called so$' calibrate ceria.npy -c CeO2 -w 1 -D Eiger4M.h5
check 'pixels twice' refused 2 'give one' calibrate ceria.npy -c CeO2 -w 1 -D Eiger4M --pixel 172
check 'no detector' refused 1 'give -D' calibrate ceria.npy -c CeO2 -w 1
check 'no wavelength' refused 1 'give -w' calibrate ceria.npy -c CeO2 --pixel 100
check 'pixels that are none' refused 2 'micrometres' calibrate ceria.npy -c CeO2 -w 1 --pixel big
check 'pixels in metres' refused 2 'if that is in metres, it is --pixel 172' \
    calibrate ceria.npy -c CeO2 -w 0.5 --pixel 1.72e-4
check 'pixels in millimetres' refused 2 'if that is in millimetres, it is --pixel 172' \
    calibrate ceria.npy -c CeO2 -w 0.5 --pixel 172,0.172
check 'a parameter that is none' refused 2 'they are dist' calibrate ceria.npy -c CeO2 -w 1 --pixel 172 --fix rot4
check 'a centre that is none' refused 2 'column,row' calibrate ceria.npy -c CeO2 -w 1 --pixel 172 --centre 5
check 'a detector of another shape' refused 1 'pixels' calibrate ceria.npy -c CeO2 -w 1 -D Eiger4M

# Where hardly any distance comes into question, none is made up.
frame small.npy 60 60 172e-6 3 0.15 0.005 0.005 0 0 0.5 none 100 0.02
if [ -z "${HCY_SANITIZER-}" ] && valgrind -q true >valgrind.log 2>&1; then
    check 'noise, about so far away: nothing is read that was not written' refused 1 'no rings of CeO2' \
        env HALCYON_DEVICE=cpu@threads=1@simd=portable valgrind -q --error-exitcode=99 \
        "$halcyon" calibrate small.npy -c CeO2 -w 0.5 --pixel 172 --distance 0.05
else
    skip 'noise, about so far away: no valgrind'
fi

# --- A stack, and the picture ---
check 'what --mask names is left out: a frame that masks itself' refused 1 'no rings of CeO2' \
    calibrate ceria.npy -c CeO2 -p ceria.poni --mask ceria.npy
# misses OPTIONS...: how far the points of a stack's frames are from their rings, in hundredths of a pixel.
misses()
{
    "$halcyon" calibrate s.h5 -c CeO2 -w "$wavelength" -D Eiger500k -o s2.poni "$@" >said 2>&1 || { cat said; return 1; }
    awk '$1 == "rms" { printf "%d\n", 100 * $2 }' said
}
if "$halcyon" simulate s.h5 --detector Eiger500k --frames 16 --counts 0.05 -q >simulate.log 2>&1; then
    wavelength=`awk '$1 == "Wavelength:" { print 1e10 * $2 }' s.poni`
    distance=`awk '$1 == "Distance:" { print $2 }' s.poni`
    one=`misses`
    all=`misses --frames 0:16`
    # Sixteen times the photons are four times less noise.
    check "frames of a stack, added, have less noise than the first alone: $all, $one" test $((2 * all)) -lt "$one"
    check '... and are where they were made' near s2.poni Distance "$distance" 1e-5
    # n_points OPTIONS...: places on rings that a fit has used.
    n_points()
    {
        "$halcyon" calibrate grid.npy -c CeO2 -p grid.poni "$@" >said 2>&1 || { cat said; return 1; }
        sed -n 's/^  rms .* mrad, \([0-9]*\) of .*/\1/p' said
    }
    frame grid.npy 300 300 172e-6 3 0.15 0.026 0.026 0 0 0.5 CeO2 100 0.02
    "$corners" grid.h5 300 300 172e-6 || exit 99
    sed 's/^Poni1:.*/Poni1: 0.026/; s/^Poni2:.*/Poni2: 0.026/' ceria.poni >grid.poni
    plain=`n_points --pixel 172`
    # Around another place than the beam rings are cut into few pieces that are long.
    nowhere=`n_points -D grid.h5`
    check "the first pixel has no place: rings give as many points, $nowhere of $plain" \
        test $((10 * nowhere)) -gt $((9 * plain))
    # A signal ends the adding as a device does that is lost.
    check 'not all of the frames: there is no sum, and no geometry of it' refused 1 'is lost' calibrate s.h5 -c CeO2 \
        -w "$wavelength" -D Eiger500k -o part.poni --frames 0:16 -d cpu@lose-launch=3
    check '... none is written' test ! -e part.poni
else
    skip 'frames of a stack, added, have less noise than the first alone: built without HDF5'
    skip '... and are where they were made'
    skip 'the first pixel has no place: built without HDF5'
    skip 'not all of the frames: there is no sum, and no geometry of it'
    skip '... none is written'
fi
if marked_driver; then
    unloaded() { with_driver calibrate ceria.npy -c CeO2 -p ceria.poni -q && not ls driver/loaded; }
    check 'the first frame is decoded by the processor, no driver of another device is loaded' unloaded
else
    skip 'the first frame is decoded by the processor: no driver can be built here'
fi
# What gnuplot is given: rings as many places of the frame, and a row for each of the points.
mkdir stub && printf '#!/bin/sh\ncat\n' >stub/gnuplot && chmod +x stub/gnuplot || exit 99
check 'what is drawn' env PATH="$work/stub:$PATH" "$halcyon" calibrate ceria.npy -c CeO2 -p ceria.poni --plot script.svg
points=`sed -n 's/^  rms .* mrad, \([0-9]*\) of .*/\1/p' check.log`
rows() { awk -v block="\$$1" '$1 == "END" { on = 0 } on { n++ } $1 == block { on = 1 } END { print n + 0 }' script.svg; }
check '... all points that were fitted' test "`rows points`" -ge "$points" -a "$points" -gt 200
check '... they lie near their rings, all around the beam' awk '
    $1 == "END" { on = 0 } on { n++; far += $4 > 0.5 || $4 < -0.5; quarter[int(($3 + 180) / 90)]++ } $1 == "$points" { on = 1 }
    END { exit n < 200 || far > n / 10 || !quarter[0] || !quarter[1] || !quarter[2] || !quarter[3] }' script.svg
check '... rings' test "`rows rings`" -gt 2000
check '... the frame' test "`rows frame`" -gt 250
if command -v gnuplot >/dev/null 2>&1; then
    check 'a picture' calibrate ceria.npy -c CeO2 -p ceria.poni --plot fit.svg
    check '... whole' sh -c "grep -q '</svg>' fit.svg && grep -q 'what is left' fit.svg"
else
    skip 'a picture: no gnuplot'
    skip '... whole'
fi
check 'a picture of a kind that is none' refused 2 'png' "$halcyon" calibrate ceria.npy -c CeO2 -p ceria.poni --plot fit.gif -q
echo "1..$n"
exit $failed
