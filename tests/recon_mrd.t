# halcyon recon of ISMRMRD's lists of acquisitions: which of them make which image, and what files of their points do.
test_name=recon_mrd
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP no HDF5'; exit 0; }
HALCYON_CACHE_DIR=$work/cache
HALCYON_DEVICE=cpu@threads=1
export HALCYON_CACHE_DIR HALCYON_DEVICE
files=${top_builddir:-.}/tests/recon_files
case $files in /*) ;; *) files=$OLDPWD/$files ;; esac
adjoint() { "$halcyon" recon "$@" --deterministic --solver adjoint -q; }
recon() { "$halcyon" recon "$@" --deterministic --iterations 3 -q; }
all() { "$halcyon" recon "$@" --deterministic -q; }
refuse() { what=$1 status=$2 word=$3; shift 3; check "refused: $what" refused "$status" "$word" "$halcyon" recon "$@" -q -o bad.npy; }
numbers() { tail -c +129 "$1"; }
# same IMAGES ONE...: they are these, one behind the other.
same() { images=$1; shift; for i; do numbers $i; done >parts; numbers $images | cmp - parts; }
# both FILE COUNTER OPTIONS...: two images, and each alone.
both()
{
    file=$1 counter=$2
    shift 2
    recon $file "$@" -o x.npy && recon $file --only $counter=0 -o 0.npy && recon $file --only $counter=1 -o 1.npy &&
        same x.npy 0.npy 1.npy && not cmp -s 0.npy 1.npy
}

# Images of unlike numbers of acquisitions; those of one regulariser are one problem.
"$files" lines unlike.h5 2 3 7 8
each() { recon unlike.h5 "$@" -o x.npy && for i in 0 1; do recon unlike.h5 --only slice=$i "$@" -o $i.npy || return 1; done; same x.npy 0.npy 1.npy; }
check 'slices of seven lines and eight' each
check '... with maps that are found' each --espirit
check '... with weights' each --dcf pipe
recon unlike.h5 --dcf pipe --save-dcf w.npy -o x.npy
check '... which are written' recon unlike.h5 --dcf w.npy -o y.npy
check '... and read' cmp x.npy y.npy
recon unlike.h5 --solver fista --reg l1:1e-7 -o x.npy
check '... with a regulariser of all' recon unlike.h5 --solver fista --reg llr:1e-7 -o y.npy
check '... that hardly matters' "$files" near y.npy x.npy 2e-3
refuse 'in frames' 1 'each, which --frames needs' unlike.h5 --frames 2

# As many coils as images: the first axis is coils.
"$files" lines slices.h5 2 3 8 8
"$files" lines series.h5 2 6 8 8
check 'two slices of two coils' both slices.h5 slice
check 'two repetitions of two coils' both series.h5 repetition --frames 2
check 'coordinates of another file' recon slices.h5 -t slices.h5:/dataset/data/traj --cycles --xyz -n 8,8 -o y.npy
recon slices.h5 -o x.npy
check '... are reordered, too' cmp x.npy y.npy
recon slices.h5 --only slice=1 -o x.npy
check '... of a slice alone' recon slices.h5 -t slices.h5:/dataset/data/traj --cycles --xyz -n 8,8 --only slice=1 -o y.npy
check '... as well' cmp x.npy y.npy
"$files" lines slice.h5 2 3 8
refuse '... of other acquisitions' 1 'must be \[16\]\[8\]\[axes\]' slices.h5 -t slice.h5:/dataset/data/traj -n 8,8

# A unit that is said leaves x first; pixels have the size of those that coordinates are of.
recon slice.h5 -n 8,8 -o x.npy
check 'x is first whatever the unit is' recon slice.h5 --unit cycles -n 8,8 -o y.npy
check '... as well' cmp x.npy y.npy
# pixels OPTIONS...: pixdim of x and y, and their unit.
pixels() { recon slice.h5 "$@" -o x.nii && echo `od -An -j80 -N8 -tf4 x.nii` `od -An -j123 -N1 -tu1 x.nii`; }
check 'pixels of 1/FOV' equals "`pixels -n 32,16 --unit fov`" '5 2.5 2'
check '... of cycles are those encoded' equals "`pixels -n 32,16`" '10 10 2'
sed 's/<x>80.0e+00/<x>80.0e-99/' slice.h5 >x.h5 && mv x.h5 slice.h5
check '... that no float holds are unknown' equals "`pixels -n 32,16`" '1 10 2'
check '... with the header'\''s sizes, too' equals "`pixels`" '1 10 2'

# What each slice has of its own.
one='\0\0\200\77' two='\0\0\0\100' zero='\0\0\0\0' ms='\157\022\203\072' hundred='\0\0\310\102'
line() { printf "$1$1$1$1$1$1$1$1"; }
# cut NAME BYTES DIMENSIONS: of NAME.cfl the first bytes are slice 0's, the others slice 1's.
cut()
{
    printf '# Dimensions\n%s 2\n' "$3" >$1.hdr
    head -c $2 $1.cfl >${1}0.cfl
    tail -c +`expr $2 + 1` $1.cfl >${1}1.cfl
    for i in 0 1; do printf '# Dimensions\n%s\n' "$3" >$1$i.hdr; done
}
"$files" scale slices.h5 all.npy 1
numbers all.npy >maps.cfl
cut maps 1024 '8 8 2'
for i in 1 2 3 4 5 6 7 8; do line "$zero$zero"; done >field.cfl
for i in 1 2 3 4 5 6 7 8; do line "$hundred$zero"; done >>field.cfl
cut field 512 '8 8'
# apart OPTION FILE OPTIONS...: with FILE for all slices, FILE0 and FILE1 for one alone; an empty OPTION: neither.
apart()
{
    option=$1 file=$2
    shift 2
    recon slices.h5 $option ${option:+$file.cfl} "$@" -o x.npy || return 1
    for slice in 0 1; do
        recon slices.h5 --only slice=$slice $option ${option:+$file$slice.cfl} "$@" -o $slice.npy || return 1
    done
    same x.npy 0.npy 1.npy && not cmp -s 0.npy 1.npy
}
check 'maps of each slice' apart --maps maps
check '... in two frames each' sh -c "'$halcyon' recon slices.h5 --maps maps.cfl --frames 4 -q -o x.npy && head -c 128 x.npy | grep '(4, 8, 8)'"
check '... that are found' apart '' '' --espirit
check 'a field of each slice' apart --field-map field --readout 9 --segments 2
refuse 'maps of one slice for two' 1 'must be .2., its slices, times .2., the coils' slices.h5 --maps maps0.cfl

# A frame is of one image.
"$files" lines uneven.h5 1 3 8 7
"$files" fill slice.h5 map.npy 1
check 'maps of uneven slices' recon uneven.h5 --maps map.npy -o x.npy
refuse 'uneven slices as frames' 1 'as many acquisitions each' uneven.h5 --frames 3
refuse 'frames between slices' 1 'a frame would be of two' slices.h5 --frames 3
refuse 'one frame of two slices' 1 'a frame would be of two' slices.h5 --frames 1
refuse 'spokes between slices' 1 'a frame would be of two' slices.h5 --spokes-per-frame 3
check 'two frames of a slice each' recon slices.h5 --frames 4 -o x.npy
check '... by their spokes' recon slices.h5 --spokes-per-frame 4 -o y.npy
check '... are the same' cmp x.npy y.npy
"$files" lines contrasts.h5 1 4 8 8
"$files" ramp one.npy 1 0
"$files" ramp two.npy 2 0
refuse 'a basis of one frame' 1 'a frame would be of two' contrasts.h5 --basis one.npy
check 'a basis of two' recon contrasts.h5 --basis two.npy -o x.npy
check 'repetitions in one image are said' sh -c "'$halcyon' recon series.h5 -o x.npy 2>&1 | grep 'repetitions 0 to 1 are together in one image'"
check '... and not of one' not sh -c "'$halcyon' recon series.h5 --only repetition=1 -o x.npy 2>&1 | grep 'are together'"
check 'repetitions that are in two frames are said' sh -c "'$halcyon' recon series.h5 --frames 1 -o x.npy 2>&1 | grep 'several in one'"
check '... and not where they are not' not sh -c "'$halcyon' recon series.h5 --frames 4 -o x.npy 2>&1 | grep 'several in one'"
refuse 'a counter twice' 2 'each once' slices.h5 --only slice=0,slice=1
refuse 'none to choose' 2 '--only is for' map.npy -t map.npy -n 8,8 --only slice=0

# Numbers of points are in the file's order, or in that of those which are taken: of contrast 0 the lines are 1 and 2 by
# turns, of contrast 1 1; then 0 and 1 ms.
"$files" fill contrasts.h5 all.npy 1
"$files" lines contrast.h5 1 4 8
"$files" fill contrast.h5 some.npy 1
{ head -c 128 all.npy; for i in 1 2 3 4; do line $one; line $one; line $two; line $one; done; } >w.npy
{ head -c 128 some.npy; for i in 1 2 3 4; do line $one; line $two; done; } >w0.npy
check 'weights of a file' adjoint contrasts.h5 --dcf w.npy --save-dcf saved.npy -o x.npy
check '... are saved as they were' same saved.npy w.npy
adjoint contrast.h5 --dcf w0.npy -o 0.npy
adjoint contrasts.h5 --only contrast=1 --dcf some.npy -o 1.npy
check '... are those of their acquisitions' same x.npy 0.npy 1.npy
check '... of one contrast' adjoint contrasts.h5 --only contrast=0 --dcf w.npy --save-dcf saved.npy -o x.npy
check '... as well' same x.npy 0.npy
check '... of which as many are saved' same saved.npy w0.npy
check '... and taken' adjoint contrasts.h5 --only contrast=0 --dcf saved.npy -o x.npy
check '... again' same x.npy 0.npy
refuse 'weights of other acquisitions' 1 'weights must be 64' contrasts.h5 --only contrast=0 --dcf one.npy -n 8,8
{ head -c 128 all.npy; for i in 1 2 3 4 5 6 7 8; do line $zero; line $ms; done; } >times.npy
"$files" fill contrast.h5 field.npy 100
field='--field-map field.npy --segments 2'
check 'times of a file' recon contrasts.h5 $field --times times.npy -o x.npy
recon contrasts.h5 --only contrast=0 $field --times times.npy -o 0.npy
recon contrasts.h5 --only contrast=1 $field --times times.npy -o 1.npy
check '... are those of their acquisitions' same x.npy 0.npy 1.npy

# A file that is none of ISMRMRD's, with parts of these names.
"$files" scale contrast.h5:/dataset/data/data plain.h5:/data 1
"$files" scale contrast.h5:/dataset/data/traj plain.h5:/dataset/data/traj 1
"$files" fill one.npy plain.h5:/dataset/data/space 8
"$files" fill one.npy plain.h5:/dataset/data/counters 0
refuse 'a space of another shape' 1 '/space is none of ISMRMRD' plain.h5 -t plain.h5:/dataset/data/traj
refuse 'counters of another shape' 1 '/counters are none of ISMRMRD' plain.h5 -n 8,8

# A field of view that is no size of the same object, 30 um beside 600 mm, stretches nothing.
"$halcyon" simulate --mri radial --size 16 -q small.npy
"$files" grid small_image.npy grid.h5 plain
recon grid.h5 -o x.npy
sed 's/<x>300.00001</<x>0.0300001</' grid.h5 >tiny.h5
check 'a tiny field of view' sh -c "grep -q '<x>0.0300001<' tiny.h5 && '$halcyon' recon tiny.h5 --deterministic --iterations 3 -q -o y.npy"
check '... is none' cmp x.npy y.npy

# Functions of time of each slice, of two frames: the contrasts.
"$files" slices stack.h5 even 3
"$files" ramp functions.npy 2 0 1
for how in '' --toeplitz '--reg llr:0.001'; do
    check "functions of time of slices $how" recon stack.h5 --basis functions.npy $how -o x.npy
    for slice in 0 1 2; do recon stack.h5 --only slice=$slice --basis functions.npy $how -o $slice.npy; done
    check '... are those of each' same x.npy 0.npy 1.npy 2.npy
done
check '... an axis' sh -c "head -c 128 x.npy | grep '(3, 2, 8, 8)'"
recon stack.h5 --basis functions.npy -o x.nii
check '... of NIfTI the third one, with functions behind it' sh -c "od -An -j40 -N10 -td2 x.nii | grep '4 *8 *8 *3 *2'"
recon stack.h5 --basis functions.npy -o x.npy
for i in 4 2 0 5 3 1; do tail -c +`expr $i '*' 512 + 129` x.npy | head -c 512; done >parts
check '... in their order' sh -c 'tail -c +353 x.nii | cmp - parts'
recon stack.h5 --basis functions.npy -o x.mrd
check '... and of ISMRMRD two images of each slice' equals "`"$files" places x.mrd | uniq -c | awk '{ printf "%d ", $1 }'`" '2 2 2 '
refuse 'a basis of frames of two contrasts' 1 'is of 2 images' stack.h5 --basis one.npy
"$files" ramp seven.npy 7 0
refuse 'a basis that a slice does not have' 1 'the 128 points of a slice are as many' stack.h5 --basis seven.npy

# EPI: k = 0 is where half of the lobe's area has passed, for lines either way, and coordinates beyond half a cycle are cycles.
for lobe in '20 90 20 7' '20 90 10 7' '22 90 20 7'; do
    "$files" epi epi.h5 $lobe
    check "a point by a lobe of $lobe us" sh -c "'$halcyon' recon epi.h5 --deterministic -o x.npy 2>&1 | grep 'in cycles (of its grid)'"
    check '... is where it was' equals "`"$files" peak x.npy`" '6 11 1.00 0.00'
done
# A first sample that comes sooner than in the middle; what Siemens' scanners leave out is 0.
"$files" epi epi.h5 20 90 20 7 5
all epi.h5 -o x.npy
check 'a delay of samples' equals "`"$files" peak x.npy`" '6 11 1.00 0.00'
"$files" epi epi.h5 20 90 20 7 0
all epi.h5 -o x.npy
check '... of 0 is none' equals "`"$files" peak x.npy`" '6 11 1.00 0.00'
for us in -5 80 nan 1e99 soon; do
    "$files" epi epi.h5 20 90 20 7 $us
    refuse "... of $us" 1 'says an acqDelayTime of .* not around the middle' epi.h5
done

# Navigators: of delays and phases that differ from shot to shot and slice to slice nothing is left, also where lines have
# ramps, and a constant phase is near half a turn.
"$files" epi clean.h5 20 90 20 7 0 0 0
all clean.h5 -o clean.npy
check 'navigators of what is as it should be' all clean.h5 --no-navigators -o x.npy
check '... change nothing' "$files" error x.npy clean.npy 1e-4
for ghost in '0.8 0' '0 3.1' '-0.8 -2'; do
    "$files" epi ghost.h5 20 90 20 7 0 $ghost
    all ghost.h5 -o x.npy
    check "reversed lines off by $ghost" "$files" error x.npy clean.npy 1e-3
    all ghost.h5 --no-navigators -o y.npy
    check '... which are there without navigators' not "$files" error y.npy clean.npy 0.2
done
check '... and are said' sh -c "'$halcyon' recon ghost.h5 -o x.npy 2>&1 | grep 'navigators lines are -0.37. to 0.37. samples'"
all ghost.h5 -t ghost.h5:/dataset/data/traj --cycles --xyz -n 16,16 -o x.npy
check '... and of coordinates that are given nothing is changed' cmp x.npy y.npy
for how in behind contrasts discarded noise calibration shared later polar; do
    "$files" epi $how.h5 20 90 20 7 0 0.8 2 $how
    all $how.h5 -o x.npy
    check "... of navigators $how" "$files" error x.npy clean.npy 0.02
done
sed 's/>separate</>embedded</' calibration.h5 >ghost.h5
all ghost.h5 -o x.npy
check '... of which those for calibration, of the same scan, count, too' not "$files" error x.npy clean.npy 0.2
"$files" epi ghost.h5 20 90 20 7 0 0.8 2 elsewhere
check 'lines of a slice without navigators' sh -c "'$halcyon' recon ghost.h5 -o x.npy 2>&1 | grep 'of 16 of 32 lines navigators say nothing, as there are none of their slice and set'"
check '... are not said where they are not taken' not sh -c "'$halcyon' recon ghost.h5 --only slice=0 -o x.npy 2>&1 | grep 'say nothing'"
"$files" epi ghost.h5 20 90 20 7 0 0 0 bad
refuse 'navigators whose centre is no sample' 1 'a navigator, has 16 samples .* centre at sample 16' ghost.h5
check '... may be left' all ghost.h5 --no-navigators -o x.npy

# Where images are: slices of NIfTI's are an axis, upwards along their direction, in which the last one is the first here.
# form FILE: matrix and codes, in hundredths.
form() { echo `od -vAn -j280 -N48 -tf4 $1 | awk '{ for (i = 1; i <= NF; i++) printf "%d ", 100 * $i + ($i < 0 ? -0.5 : 0.5) }'` `od -vAn -j252 -N4 -td2 $1`; }
"$files" slices stack.h5 even 3
recon stack.h5 -o x.npy
recon stack.h5 -o x.nii
check 'an oblique stack' equals "`form x.nii`" '-800 360 -192 1144 -600 -480 256 1808 0 800 240 -6680 1 1'
check '... of two contrasts' sh -c "od -vAn -j40 -N10 -td2 x.nii | grep '4 *8 *8 *3 *2'"
check '... 4 mm apart' equals "`od -vAn -j88 -N4 -tf4 x.nii | awk '{ printf \"%.3f\", $1 }'`" 4.000
for i in 4 2 0 5 3 1; do tail -c +`expr $i '*' 512 + 129` x.npy | head -c 512; done >parts
check '... has the slices in that order' sh -c 'tail -c +353 x.nii | cmp - parts'
recon stack.h5 --only slice=2,contrast=0 -o x.nii
check 'one of them' equals "`form x.nii`" '-800 360 -144 1144 -600 -480 192 1808 0 800 180 -6680 1 1'
"$files" slices mirrored.h5 mirrored 3
recon mirrored.h5 -o x.nii
check 'a mirrored stack' equals "`form x.nii`" '-800 360 192 760 -600 -480 -256 2320 0 800 -240 -6200 1 1'
for what in uneven staggered together tables turned; do
    "$files" slices x.h5 $what 3
    check "slices that are no stack, $what" sh -c "'$halcyon' recon x.h5 -o x.nii 2>&1 | grep 'images without a place'"
    check '... are frames' sh -c "od -vAn -j40 -N10 -td2 x.nii | grep '4 *8 *8 *1 *6'"
    check '... of no place' equals "`form x.nii`" '0 0 0 0 0 0 0 0 0 0 0 0 0 0'
done
"$files" slices x.h5 lone 3
check 'slices of two contrasts and of one' sh -c "'$halcyon' recon x.h5 -o x.nii 2>&1 | grep 'images without a place'"
check '... are all there' sh -c "od -vAn -j40 -N10 -td2 x.nii | grep '4 *8 *8 *1 *5'"
refuse '... are not of one basis' 1 'as many acquisitions each' x.h5 --basis functions.npy
# They have as many images each, but of three axes.
"$files" slices x.h5 slabs 3
check 'slices of several planes' sh -c "'$halcyon' recon x.h5 -n 2,8,8 -o x.nii 2>&1 | grep 'images without a place'"
check '... are frames of these' sh -c "od -vAn -j40 -N10 -td2 x.nii | grep '4 *8 *8 *2 *6'"
for what in crooked endless hushed; do
    "$files" slices x.h5 $what 3
    check "$what headers" sh -c "'$halcyon' recon x.h5 -o x.nii 2>&1 | grep 'no unit vectors at right angles, or its positions no'"
done
"$files" slices x.h5 moving 3
check 'acquisitions at two places' sh -c "'$halcyon' recon x.h5 -o x.nii 2>&1 | grep 'at several places'"
"$files" slices x.h5 silent 3
check 'headers of no place' sh -c "'$halcyon' recon x.h5 -o x.nii 2>&1 | grep 'say no place .* fourth axis, in the order of their numbers'"
check '... which one slice does not need' not sh -c "'$halcyon' recon x.h5 --only slice=1 -o y.nii 2>&1 | grep 'say no place'"
check 'no place' equals "`form x.nii`" '0 0 0 0 0 0 0 0 0 0 0 0 0 0'
for image in '10.0 20.0 -30.0 0.80' '8.1 22.6 -32.4 -0.36' '6.2 25.1 -34.8 0.80'; do echo "$image -100"; echo "$image -100"; done >want
"$files" slices stack.h5 turned 3
recon stack.h5 -o x.mrd
check 'ISMRMRD images have their own' sh -c "'$files' places x.mrd | diff - want"

# What they are counted by is what the first acquisition is; the clock's stamps need 32 bits.
"$files" slices x.h5 counted 2
# counted NAME OPTIONS...: of each image, without the two indices that follow.
counted() { name=$1; shift; recon x.h5 "$@" -o x.mrd:$name && "$files" counted x.mrd $name; }
row() { echo "9 $1 $2 4 $3 7 `expr 4000000000 + $4` ${4}0 ${4}1 ${4}2 $5 3"; }
{ row 0 0 0 0 1; row 0 1 0 1 2; row 1 0 0 2 3; row 1 1 0 3 4; } | sed 's/ 00 01 02 / 0 1 2 /' >want
check 'images have the counters of their acquisitions' equals "`counted image_3`" "`cat want`"
{ row 1 1 0 3 1; row 1 1 1 19 2; } >want
check '... of frames their own' equals "`counted image_3 --only slice=1,contrast=1 --frames 2`" "`cat want`"
for image in '9 0 0 4 0 7 4000000000 0 1 2' '9 1 0 4 0 7 4000000002 20 21 22'; do echo "$image"; echo "$image"; done | awk '{ print $0, NR, 0 }' >want
check '... of functions the slice'\''s' equals "`counted image_70000 --basis functions.npy`" "`cat want`"

# Noise.  Of half as long samples it has twice the variance; the bandwidth is the receiver's.
for us in 5 20; do "$files" grid small_image.npy noise$us.h5 dwell$us; done
recon noise5.h5 --noise noise5.h5:/dataset/data/noise -o x.npy
recon noise20.h5 --noise noise20.h5:/dataset/data/noise -o y.npy
"$files" scale y.npy twice.npy 2
check 'noise of longer samples is less' "$files" error x.npy twice.npy 1e-6
recon noise20.h5 --noise noise5.h5:/dataset/data/noise -o y.npy
check '... in a file of its own' cmp x.npy y.npy
"$files" grid small_image.npy noise0.h5 dwell0
check 'a bandwidth of noise alone' sh -c "'$halcyon' recon noise0.h5 --noise noise0.h5:/dataset/data/noise -o x.npy 2>&1 |
    grep 'noise: the header has a bandwidth of noise: its variance is taken 2 times'"
"$files" scale contrast.h5:/dataset/data/counters times.h5:/dataset/data/counters 1
"$files" scale contrast.h5:/dataset/data/traj times.h5:/dataset/data/traj 1
"$files" scale contrast.h5:/dataset/data/data times.h5:/data 1
check 'noise for a list without times' recon times.h5 --noise noise5.h5:/dataset/data/noise -n 8,8 -o x.mrd
check '... whose image has no time stamp' equals "`"$files" counted x.mrd`" '0 0 0 0 0 0 0 0 0 0 1 0'
refuse 'noise of two coils for one' 1 'noise must be \[1\]' contrast.h5 --noise slices.h5
check 'little noise is said' sh -c "'$halcyon' recon contrast.h5 --noise one.npy -o x.npy 2>&1 | grep 'covariance.s numbers are uncertain'"

echo "1..$n"
exit $failed
