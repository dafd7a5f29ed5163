# halcyon integrate and what the stack's own file says of its pixels: mask, flat field, count rates; what is counted.
tool=${top_builddir:-.}/tests/corrections
case $tool in /*) ;; *) tool=`pwd`/$tool ;; esac
test_name=corrections
. "${top_srcdir:-.}/tests/cli.sh"
case `"$tool" 2>&1` in
*'SKIP'*HDF5*) echo '1..0 # SKIP built without HDF5'; exit 0 ;;
esac
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR

integrate() { stack=$1; shift; "$halcyon" integrate "$stack" -d cpu@threads=1 -n 20 -u r_mm --no-solid-angle "$@"; }
rows() { grep -v '^#' "$1" | grep .; }
same() { rows "$1" >same.a; rows "$2" >same.b; [ -s same.a ] && cmp same.a same.b; }
highest() { rows "$1" | awk '$2 > most { most = $2 } END { printf "%.1f\n", most }'; }
# says WORD COMMAND...: it succeeds and says that on stderr.
says()
{
    word=$1
    shift
    "$@" 2>says.log || { cat says.log; return 1; }
    grep -e "$word" says.log >/dev/null && return 0
    echo "no '$word' in:"
    cat says.log
    return 1
}
of_json() { word=$1; shift; integrate "$@" --json -o j.dat >j.json && grep -e "$word" j.json; }

"$tool" make m.h5 'mask applied' || exit 99
check 'the file has a mask: it is said' says \
    'pixel mask of the file: /entry/instrument/detector/pixel_mask, 3 pixels; the detector had applied it' \
    integrate m.h5 -o own.dat
check '... it is used' equals "`highest own.dat`" 100.0
check '... --no-file-mask: it is said' says 'pixel_mask is not used: --no-file-mask' \
    integrate m.h5 -o none.dat --no-file-mask
check '... it is not used' not equals "`highest none.dat`" 100.0
check '--mask of a master file: the same bits' integrate m.h5 -o given.dat --no-file-mask --mask m.h5
check '... the same curve' same own.dat given.dat
check 'JSON: the mask' of_json '"dataset": "/entry/instrument/detector/pixel_mask"' m.h5
check 'JSON: its pixels' of_json '"file": 3' m.h5
check 'JSON: those of every frame' of_json '"every_frame": 3' m.h5
check 'JSON: none of them' of_json '"every_frame": 0' m.h5 --no-file-mask
check 'the result names it' integrate m.h5 -o own.h5 -q
check '... its dataset' grep -a 'pixel mask of the file: /entry/instrument/detector/pixel_mask, 3 pixels' own.h5
check '... the file' grep -a "`pwd`/m.h5::/entry/instrument/detector/pixel_mask" own.h5
check 'text says whose mask it is' grep "^# Mask applied: the file's" own.dat
check 'an image: how many pixels its bins have' integrate m.h5 --npt-azim 36 -o cake.h5
mkdir stub && printf '#!/bin/sh\ncat\n' >stub/gnuplot && chmod +x stub/gnuplot || exit 99
check '... is plotted' env PATH="$work/stub:$PATH" "$halcyon" plot cake.h5 -o cake.svg
check '... grey where there are none' grep -a '[0-9] NaN' cake.svg
"$tool" make plain.h5 '' || exit 99
check 'no mask: as ever' integrate plain.h5 -o plain.dat
check '... the same as without' same none.dat plain.dat

"$tool" make small.h5 small || exit 99
check 'a mask of another shape' refused 1 'is 59 x 40 pixels, the frames are 60 x 40; --no-file-mask' \
    integrate small.h5 -o x.dat
check '... is not needed' integrate small.h5 -o x.dat --no-file-mask
"$tool" make broken.h5 broken || exit 99
check 'a mask behind a broken link' refused 1 'broken.h5: its pixel mask cannot be used' integrate broken.h5 -o x.dat
"$tool" make link.h5 link || exit 99
check 'a mask in another file' integrate link.h5 -o link.dat
check '... is used' same own.dat link.dat

"$tool" make flat.h5 'mask dectris' || exit 99
check "a flat field that is to be applied: DECTRIS'" says 'flatfield is used: the detector had not applied it' \
    integrate flat.h5 -o flat.dat
check '... multiplies counts: 100 / ((1/2 + 2) / 2)' \
    equals "`rows flat.dat | sed -n 1p | awk '{ printf "%.1f", $2 }'`" 80.0
check '--flat of such a file: the same' integrate m.h5 -o given.dat --flat flat.h5
check '... it is' same flat.dat given.dat
check '--flat counts over it' says 'flatfield is not used: --flat counts' integrate flat.h5 --flat flat.h5 -o x.dat
check '--no-file-flatfield' says 'flatfield is not used: --no-file-flatfield' \
    integrate flat.h5 --no-file-flatfield -o x.dat
check '... it is not' same own.dat x.dat
"$tool" make done.h5 'mask dectris corrected rates' || exit 99
check 'a flat field that was applied' says 'flatfield is not used: the detector has applied it' \
    integrate done.h5 -o x.dat
check '... is not used' same own.dat x.dat
check 'count rates that nobody corrects' \
    grep 'count rates: not corrected here, in spite of .*countrate_correction_table; nor' says.log

# --- Pixels that are masked in single frames ---
# A float image of a Pilatus100k: 5, and -1 in every 16th pixel.
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (195, 487), }" >float.npy
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do printf '\000\000\240\100'; done >part
printf '\000\000\200\277' >>part
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do cat part part >both; mv both part; done
head -c 379860 part >>float.npy
cat >p.poni <<'P'
poni_version: 2.1
Detector: Pilatus100k
Detector_config: {}
Distance: 0.1
Poni1: 0.017
Poni2: 0.042
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
P
check "float frames: the detector's marks are counted" says \
    'masked: 0 of 94965 pixels in every frame; in single frames, by marks of bad pixels, 5935 to 5935, 5935 in all' \
    integrate float.npy -p p.poni -o float.dat
check '... and said' grep 'hint: values from -3.5 to -0.5 .*--no-sentinels' says.log
check '... their mean is that of the others' equals "`highest float.dat`" 5.0
check '--no-sentinels: none' says 'in single frames, as they are not a number, 0 to 0, 0 in all' \
    integrate float.npy -p p.poni -o all.dat --no-sentinels
check 'a dummy is counted' says 'in single frames, by the dummy, 5935 to 5935' \
    integrate float.npy -p p.poni -o all.dat --dummy -1
check 'JSON: the least' of_json '"least_in_a_frame": 5935' float.npy -p p.poni
check 'JSON: in all' of_json '"in_all_frames": 5935' float.npy -p p.poni
check 'the result has them' integrate float.npy -p p.poni -o float.h5 -q
check '... a number a frame' grep -a masked float.h5
echo "1..$n"
exit $failed
