# halcyon plot: each kind of plot, every option, names that would do harm in a shell, no gnuplot.
test_name=plot
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere

plot() { "$halcyon" plot "$@"; }
has() { grep -a -q -e "$2" "$1" || { echo "no '$2' in $1"; return 1; }; }
lacks() { grep -a -q -e "$2" "$1" && { echo "'$2' in $1"; return 1; }; return 0; }
differ() { if cmp -s "$1" "$2"; then echo "$1 and $2 are the same"; return 1; fi; }

# curves FILE FRAMES ROWS: frames of two peaks that move, in q.
curves()
{
    awk -v frames="$2" -v rows="$3" 'BEGIN {
        print "#       q_nm^-1              I           sigma "
        for (f = 0; f < frames; f++) {
            if (f) print "\n"
            print "# frame " f
            for (i = 0; i < rows; i++) {
                x = i / rows
                y = 5 + 90 * exp(-((x - 0.3 - f / 50) / 0.02) ^ 2) + 20 * exp(-((x - 0.7) / 0.01) ^ 2)
                printf "%14.6e  %14.6e %14.6e\n", 10 * x + 1, y, sqrt(y) / 3
            }
        } }' >"$1"
}
curves a.dat 12 100
curves b.dat 1 100
# An image of 8 x 4 as EDF.
{
    printf '{\nByteOrder = LowByteFirst ;\nDataType = FloatValue ;\nDim_1 = 8 ;\nDim_2 = 4 ;\nSize = 128 ;\n'
    printf '2th_deg_min = 1 ;\n2th_deg_max = 8 ;\nchi_min = -135 ;\nchi_max = 135 ;\nframe = 7 ;\n}\n'
    for i in 1 2 3 4 5 6 7 8; do printf '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100'; done
} >image.edf

check 'no gnuplot: the message says what to install' refused 1 'gnuplot-nox' env PATH=/nonexistent "$halcyon" plot b.dat
check 'no gnuplot: nothing is written' sh -c "PATH=/nonexistent '$halcyon' plot b.dat -o no.svg; test ! -e no.svg"
check 'a range where nothing is' refused 1 'from 1 to 10.9' plot b.dat --range 20,30
check 'no such file' refused 1 'none.dat' plot none.dat
printf '1 2\nno row\r\n' >text.dat
check 'a text that is no curve: its line without its end' refused 1 "the line 'no row' at byte 4 is not a row" plot text.dat
check 'a suffix that is none' refused 2 '.svg' plot b.dat -o x.jpeg
check 'a size that is none' refused 2 'WIDTHxHEIGHT' plot b.dat --size big
check '... or beyond what numbers hold' refused 2 'WIDTHxHEIGHT' plot b.dat --size 4294967396x500
check 'a size that is too low' refused 2 '10 to 500 high' plot image.edf --size 60x9
check 'frames that are not there' refused 1 'its last one is 11' plot a.dat --frames 20
check 'two units in one picture' refused 1 'one by one' plot b.dat image.edf
check 'images in the terminal need no gnuplot' env PATH=/nonexistent "$halcyon" plot image.edf --size 60x20
PATH=/nonexistent "$halcyon" plot image.edf --size 60x20 >image.txt
check '... with both axes' sh -c "grep -q 'up: Azimuthal angle χ (°)' image.txt && grep -q 'Scattering angle 2θ (°)' image.txt"
check '... and its name' has image.txt 'image.edf'
PATH=/nonexistent "$halcyon" plot image.edf --size 60x20 --range 2.2,4.8 >part.txt
check '... and of a part of it' grep '^ *2  *5$' part.txt
PATH=/nonexistent "$halcyon" plot image.edf --size 60x20 --range 7.9,20 >part.txt
check '... of its end' grep '^ *8  *8$' part.txt
# Bins without pixels, with a gnuplot that shows what it is told.
mkdir stub && printf '#!/bin/sh\ncat\n' >stub/gnuplot && chmod +x stub/gnuplot || exit 99
told() { PATH=$work/stub:$PATH plot "$@"; }
awk 'BEGIN { print "#       chi_deg              I "
    for (i = -3; i <= 3; i++) printf "%14.6e  %14.6e\n", 30 * i, i == 1 ? 0 : 7 + i }' >chi.dat
sed 's/chi_deg/q_nm^-1/' chi.dat >radial.dat
check 'a bin without pixels along chi' told chi.dat -o chi.svg
check '... is a gap in the line' lacks chi.svg '^30 '
check '... the others are there' has chi.svg '^60 9'
check 'a mean of 0 along the radius' told radial.dat -o radial.svg
check '... is drawn' has radial.svg '^30 0'
for i in 1 2 3 4 5 6 7 8; do printf '\000\000\000\000\000\000\000\100\000\000\100\100\000\000\200\100'; done >zeros
{ head -c `expr \`wc -c <image.edf\` - 128` image.edf; cat zeros; } >zeros.edf
check 'bins without pixels of an image' told zeros.edf -o zeros.svg
check '... are grey, not 0' has zeros.svg '^NaN 2 3 4 NaN 2 3 4$'
# What gnuplot has to say: behind the line that it repeats, however long that is.
mkdir wrong && { printf '#!/bin/sh\necho "gnuplot> plot '; printf '%0600d' 0; printf '" >&2\n'
    printf 'echo "Warning: empty y range [0:0], adjusting to [-1:1]" >&2\n'
    printf "printf '          ^\\n         line 9: a word of its own\\n' >&2\nexit 1\n"; } >wrong/gnuplot && chmod +x wrong/gnuplot || exit 99
check "gnuplot's own words" refused 1 'draw this: line 9: a word of its own' env PATH="$work/wrong:$PATH" "$halcyon" plot b.dat
if [ -w /dev/full ]; then
    mkdir deaf && printf '#!/bin/sh\ncat\nexit 0\n' >deaf/gnuplot && chmod +x deaf/gnuplot || exit 99
    check 'a curve to a full disk' refused 1 'standard output cannot be written: No space' \
        sh -c "PATH=$work/deaf:\$PATH '$halcyon' plot b.dat >/dev/full"
else
    skip 'no /dev/full: a curve to a full disk'
fi
# Its picture is a temporary file first: one that is cut short is not taken for a whole one.
mkdir cut && printf '#!/bin/sh\ncat\nhead -c 200000 /dev/zero\nexit 0\n' >cut/gnuplot && chmod +x cut/gnuplot || exit 99
echo earlier >cut.svg
check 'a picture that is cut short' refused 1 'temporary file, cannot be written: File too large' \
    sh -c "ulimit -f 100; PATH=$work/cut:\$PATH '$halcyon' plot b.dat -o cut.svg"
check '... does not replace the one before' grep -qx earlier cut.svg
awk '!/^#/ { $2 = -$2 } { print }' b.dat >negative.dat
check '--log of what is below 0' refused 1 'no intensity above 0' told negative.dat --log
check '... of a map of it' refused 1 'no intensity above 0' told negative.dat --log --as map
check '--range between two bins' refused 1 'no bin is in it' told b.dat --range 2.01,2.02
{ head -n 1 b.dat; grep -v '^#' b.dat | tac; } >falling.dat
check 'an axis from right to left, and --range' told falling.dat --range 3,5 -o falling.svg
check '... of a map of it' told falling.dat --range 3,5 --as map -o falling.svg
check '... in the terminal' sh -c "'$halcyon' plot falling.dat --range 3,5 --as map --size 60x20 | grep '^ *5  *3$'"
check '... and nothing beyond' refused 1 'from 1 to 10.9' told falling.dat --range 20,30
# Numbers at both ends of what doubles hold, whose quotient is none; and curves without any height.
awk '!/^#/ { $2 = NR % 40 < 20 ? "1e300" : "1e-300" } { print }' b.dat >ends.dat
check 'numbers of 600 decades in the terminal' sh -c "'$halcyon' plot ends.dat --as map --log --size 60x20 | grep '@@  *@@'"
awk '!/^#/ { $2 = NR % 40 < 20 ? "1.7e308" : "1.2e308" } { print }' b.dat >largest.dat
for as in curves waterfall map; do
    check "the largest numbers with --log, as $as" told largest.dat --log --as $as -o largest.svg
done
curves few.dat 1 40
awk '!/^#/ { $2 = NR % 20 < 10 ? "1.7e308" : "-1.7e308" } { print }' few.dat >signs.dat
check '... of both signs' sh -c "'$halcyon' plot signs.dat --as map --size 60x20 --contrast 0,100 | grep '@@  *@@'"
awk '!/^#/ { $2 = 0 } { print }' b.dat >flat.dat
check 'a waterfall of zeros' told flat.dat --as waterfall -o flat.svg
check '... has a height' has flat.svg 'set yrange \[0:1\]'
# Chosen frames, what names many curves, bands that are faint where there are several.
check '--frames: a list' told a.dat -o list.svg --frames 3,5,7-9
check '... has these alone' test "`grep -o "title 'frame [0-9]*'" list.svg | tr -dc '0-9\n' | tr '\n' ' '`" = '3 5 7 8 9 '
for bad in 5,3 3- 7-5 3,3 a '3,' 1-2-3 ''; do
    check "--frames $bad is refused" refused 2 'ascending' "$halcyon" plot a.dat --frames "$bad"
done
told a.dat -o absent.svg --frames 3,5,99,200-300 2>said
check '--frames: what is not there is said' grep -q 'a.dat has no frame 99$' said
check '... one by one' grep -q 'has no frame from 200 to 300$' said
check '... the others are drawn' test "`grep -o "title 'frame [0-9]*'" absent.svg | tr -dc '0-9\n' | tr '\n' ' '`" = '3 5 '
"$halcyon" plot a.dat --frames 1:99 -o cut.png 2>said
check 'a span that goes on behind the end' grep -q 'a.dat ends with frame [0-9]*$' said
check 'a map has no list of frames' refused 2 'follow one another' plot a.dat --frames 1,3-5 --as map
check 'many curves' told a.dat -o many.svg --as curves
check '... have a bar of colours, from the first frame to the last' has many.svg 'set cbrange \[0:11\]'
check '... and no names' lacks many.svg "title 'frame"
cp b.dat a_very_long_name_of_a_sample_in_an_experiment.dat
check 'long names' told b.dat a_very_long_name_of_a_sample_in_an_experiment.dat -o long.svg
check '... lose their beginning' has long.svg "title '…of_a_sample_in_an_experiment.dat'"
check '... and are below the plot' has long.svg 'set key below'
check 'bands of two curves are faint' has long.svg 'transparent solid 0.250'

# Frames: a .npy of 2 x 3 x 4 uint16, with both marks of invalid pixels, then frames of HDF5 with a geometry.
npy() # FILE DESCR SHAPE: its head
{
    printf '\223NUMPY\001\000\166\000' >"$1"
    printf "%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >>"$1"
}
npy frames.npy '<u2' '(2, 3, 4)'
printf '\001\000\002\000\003\000\004\000\005\000\377\377\376\377\000\000\001\000\001\000\001\000\144\000' >>frames.npy
printf '\002\000\002\000\002\000\002\000\002\000\002\000\002\000\002\000\002\000\002\000\377\377\002\000' >>frames.npy
matrix() { sed -n '/^\$m/,/^EOD/p' "$1" | sed '1d;$d'; }
check 'a frame' told frames.npy -o frame.svg --linear
check '... is its pixels, invalid ones as none' test "`matrix frame.svg`" = '1 2 3 4
5 NaN NaN 0
1 1 1 100'
check '... with the first row on top' has frame.svg 'set yrange \[3:0\]'
check '--sum' told frames.npy -o sum.svg --sum 2 --linear
check '... adds up, and what is invalid in one is so in the sum' test "`matrix sum.svg`" = '3 4 5 6
7 NaN NaN 2
3 3 NaN 102'
check '... which is said' has sum.svg 'Sum of the frames'
check '... of one frame not' lacks frame.svg 'Sum\|Mean'
npy large.npy '<u4' '(2, 1, 2)'
printf '\001\000\000\001\000\000\000\000\002\000\000\000\000\000\000\000' >>large.npy
check '--sum of counts above 2^24' told large.npy -o large.svg --sum 2 --linear
check '... loses none of them' test "`matrix large.svg`" = '16777219 0'
npy mask.npy '|u1' '(3, 4)'
printf '\001\000\000\000\000\000\000\000\000\000\000\000' >>mask.npy
check '--mask' told frames.npy -o masked.svg --frames 1 --mask mask.npy
check '... is grey' sh -c "sed -n '/^\$m/{n;p;}' masked.svg | grep '^NaN 2 2 2'"
check 'a wide range is logarithmic' sh -c "PATH=$work/stub:\$PATH '$halcyon' plot frames.npy -o log.svg && grep -q 'logscale cb' log.svg"
check '... but not with --linear' lacks frame.svg 'logscale'
check '--contrast' told frames.npy -o contrast.svg --linear --contrast 0,100
check '... from the least to the most' has contrast.svg 'set cbrange \[0:100\]'
check '--contrast beyond 100' refused 2 'from 0 to 100' plot frames.npy --contrast 1,101
check 'a frame in the terminal needs nothing' env PATH=/nonexistent "$halcyon" plot frames.npy --frames 1
check 'a picture and a timeline of one name' refused 1 'written twice, for -o and for HALCYON_TRACE' \
    env HALCYON_TRACE=twice.svg "$halcyon" plot frames.npy -o twice.svg
check 'frames that are none' refused 1 'has frames 0 to 1' plot frames.npy --frames 2
check '... of a sum' refused 1 'plot: frames.npy has frames 0 to 1, and 0 to 4 were' plot frames.npy --sum 5
check 'one frame at a time' refused 2 'one frame is shown' plot frames.npy --frames 0-1
for bad in 0,1 0-1 0:2; do
    check "... with --sum, too: --frames $bad" refused 2 'one frame is shown' plot frames.npy --frames "$bad" --sum 2
done
check '--frames with --sum is where it begins' told frames.npy -o from.svg --frames 1 --sum 1 --linear
check '... the second frame' test "`matrix from.svg | head -n 1`" = '2 2 2 2'
check 'rings without a geometry' refused 1 'the geometry is missing' plot frames.npy --rings 5
# What would do nothing is refused: curves, a map of them, cakes, frames and images of arrays each have options of their own.
for option in '--sum 2' '-p x.poni' '-c CeO2' '--rings 5' --flip '--mask mask.npy' --no-file-mask '--dataset /x' '--channel 1'; do
    # shellcheck disable=SC2086 # an option and its value
    check "an option of frames for curves: $option" refused 2 'is for frames, and b.dat is shown as curves' plot b.dat $option
done
for option in '--range 1,2' '--errors 1' '--as map'; do
    # shellcheck disable=SC2086
    check "an option of results for frames: $option" refused 2 'and frames.npy holds frames' plot frames.npy $option
done
for option in '--contrast 1,99' '--terminal blocks'; do
    # shellcheck disable=SC2086
    check "an option of images for curves: $option" refused 2 'and b.dat is shown as curves' plot b.dat $option
done
check '--errors of a map' refused 2 'and a.dat is shown as a map' plot a.dat --as map --errors 1
check '--errors of a waterfall' refused 2 'and a.dat is shown as a waterfall' plot a.dat --as waterfall --errors 1
check '--errors of a cake' refused 2 'and image.edf is shown as a map' plot image.edf --errors 1
check 'a cake as curves' refused 2 'shown as maps' plot image.edf --as curves
check 'a cake as the map that it is' env PATH=/nonexistent "$halcyon" plot image.edf --as map --contrast 5,95
check '--terminal of a file' refused 2 'leave -o' plot frames.npy --terminal text -o x.svg
check 'frames beside curves' refused 1 'plot it alone' plot b.dat frames.npy
# An array of two images of 2 x 3 complex numbers: 3 + 4i, 0, -1, ... and 1i.
npy complex.npy '<c8' '(2, 2, 3)'
f3='\000\000\100\100' f4='\000\000\200\100' f0='\000\000\000\000' m1='\000\000\200\277' f1='\000\000\200\077'
printf "$f3$f4$f0$f0$m1$f0$f0$f1$f1$f0$m1$f0" >>complex.npy
for i in 1 2 3 4 5 6; do printf "$f0$f1" >>complex.npy; done
check 'complex numbers' told complex.npy -o complex.svg
check '... are magnitudes' test "`matrix complex.svg`" = '5 0 1
1 1 1'
check '... which is said' has complex.svg 'Magnitude'
# Computed numbers are linear, real ones as complex ones, whatever their range.
npy real.npy '<f4' '(2, 3)'
printf "$f1$f1$f1$f1$f1\\000\\000\\172\\104" >>real.npy
check 'real numbers' told real.npy -o real.svg
check '... are linear, as complex ones' sh -c "! grep -q logscale real.svg && ! grep -q logscale complex.svg"
for array in real complex; do
    check "... and logarithmic with --log: $array" told $array.npy -o $array.log.svg --log
    check '... they are' has $array.log.svg 'logscale cb'
done
check '--part phase' told complex.npy -o phase.svg --part phase
check '... is in radians' test "`matrix phase.svg | awk '{ for (i = 1; i <= NF; i++) printf "%.4f ", $i }'`" = '0.9273 0.0000 3.1416 1.5708 0.0000 3.1416 '
check '--part imaginary of the second image' told complex.npy -o imaginary.svg --part imaginary --frames 1
check '... is 1' test "`matrix imaginary.svg`" = '1 1 1
1 1 1'
# Magnitudes of 1 that rounding has moved, which gnuplot would call an empty range; and colours for small differences.
npy ones.npy '<c16' '(1, 4)'
zero='\000\000\000\000\000\000\000\000' one='\000\000\000\000\000\000\360\077' below='\377\377\377\377\377\377\357\077'
printf "$one$zero$one$zero$below$zero$below$zero" >>ones.npy
check 'numbers that rounding alone tells apart' told ones.npy -o ones.svg
check '... have a range of colours' sh -c "sed -n 's/^set cbrange .\(.*\):\(.*\)]/\1 \2/p' ones.svg | awk '{ exit !(\$2 - \$1 > 1e-4) }'"
npy near.npy '<c16' '(1, 3)'
for i in 202 204 206; do printf "\\000\\000\\000\\000\\$i\\204\\056\\101$zero"; done >>near.npy
check 'numbers that are near one another' told near.npy -o near.svg
check '... keep their differences' test "`matrix near.svg`" = '1000001 1000002 1000003'
check '--dataset of an array' refused 2 'and complex.npy is an array' plot complex.npy --dataset /x
check '... --range' refused 2 'and complex.npy is an array' plot complex.npy --range 1,2
check 'a third image is none' refused 1 'images 0 to 1' plot complex.npy --frames 2
check '--part of curves' refused 2 'is for arrays, and b.dat is shown as curves' plot b.dat --part phase
check '--part of frames' refused 2 'is for arrays, and frames.npy holds frames' plot frames.npy --part phase
for kind in blocks blocks-256 sixel kitty; do
    check "--terminal $kind" sh -c "env PATH=/nonexistent '$halcyon' plot frames.npy --terminal $kind --size 60x20 >$kind.txt"
done
esc=`printf '\033'`
check '... blocks in 24-bit colours' has blocks.txt "$esc\[38;2;[0-9]*;[0-9]*;[0-9]*m.*▀"
check '... blocks in 256' has blocks-256.txt "$esc\[38;5;[0-9]*m.*▀"
check '... as wide as they were asked for' sh -c "sed \"s/$esc\[[0-9;]*m//g\" blocks.txt | awk '{ gsub(/▀/, \"x\"); if (length(\$0) > 60) bad = 1 } END { exit bad }'"
size=`sed -n "s/.*$esc""Pq\"1;1;\([0-9]*\);\([0-9]*\)#.*/s=\1,v=\2/p" sixel.txt`
check '... sixel and kitty have one size' grep -q "f=24,${size:-none}," kitty.txt
check "... kitty's is whole" sh -c "tr '\033' '\n' <kitty.txt | sed -n 's/^_G[^;]*;//p' | tr -d '\n' | base64 -d | wc -c | grep -q \"^\`echo $size | sed 's/s=\(.*\),v=\(.*\)/3 * \1 * \2/' | tr -d ' ' | sed 's/\*/ \\\\* /g' | xargs expr\`\$\""
if [ -z "${HCY_HDF5-yes}" ]; then
    skip 'this build has no HDF5: frames with a geometry'
else
    # The file masks pixels 10 and 11 of row 10 and 30 of row 30; what is given adds the first one.
    "${json%/*}/corrections" make own.h5 'mask applied' || exit 99
    npy first.npy '|u1' '(60, 40)'
    { printf '\001'; head -c 2399 /dev/zero; } >>first.npy
    grey() { matrix "$1" | awk '{ for (i = 1; i <= NF; i++) if ($i == "NaN") printf "%d,%d ", NR - 1, i - 1 }'; }
    check "the file's own mask and --mask" told own.h5 --mask first.npy -o both.svg
    check '... are both grey' equals "`grey both.svg`" '0,0 10,10 10,11 30,30 '
    check '--no-file-mask' told own.h5 --mask first.npy --no-file-mask -o given.svg
    check '... leaves what is given' equals "`grey given.svg`" '0,0 '
    "$halcyon" simulate rings.h5 --shape 120x150 --frames 2 --seed 3 -q || exit 99
    check 'rings and the centre of the beam' told rings.h5 -p rings.poni --rings 10,20 -o rings.svg
    awk '/^\$r/ { on = 1; next } /^EOD/ { on = 0 } on && NF { print }
        match($0, /\(([0-9.]+)\):\(([0-9.]+)\) every/) { split(substr($0, RSTART, RLENGTH), c, /[()]/); print "centre", c[2], c[4] }' \
        rings.svg >rings.txt
    # Where the untilted detector of rings.poni has them; nodes of the grid are pixels here.
    cat rings.poni rings.txt | tr -d '{},"' | awk '$1 == "Distance:" { d = $2 } $1 == "Poni1:" { y = $2 } $1 == "Poni2:" { x = $2 }
        /pixel1/ { for (i = 1; i < NF; i++) if ($i == "pixel1:") p = $(i + 1) }
        $1 == "centre" { n++; if (($2 - x / p) ^ 2 + ($3 - y / p) ^ 2 > 1e-6) bad = "the centre is " $2 " " $3 }
        NF == 2 && $1 + 0 > 0 && $1 !~ /:/ { r = sqrt(($1 - x / p) ^ 2 + ($2 - y / p) ^ 2) * p / d; k++
            a = atan2(r, 1) * 57.29578; if ((a - 10) ^ 2 > 1e-4 && (a - 20) ^ 2 > 1e-4) bad = "a ring at " a }
        END { print n + 0, k + 0, bad; exit !(n == 1 && k > 300) || bad != "" }' >where.txt
    check '... are where the geometry has them' sh -c "cat where.txt; grep '^1 [0-9][0-9][0-9]* $' where.txt"
    # CeO2's first ring is that of 3.1244 Angstrom.
    angle=`awk '$1 == "Wavelength:" { s = $2 * 1e10 / 2 / 3.12441816; print 2 * atan2(s, sqrt(1 - s * s)) * 57.2957795130823 }' rings.poni`
    rings() { sed -n '/^\$r/,/^EOD/p' "$1" | awk 'NF == 2 { printf "%.2f %.2f\n", $1, $2 }' | sort; }
    told rings.h5 -p rings.poni --calibrant CeO2 -o ceria.svg && rings ceria.svg >ceria.txt
    told rings.h5 -p rings.poni --rings "$angle" -o one.svg && rings one.svg >ring.txt
    check "--calibrant's first ring is where its spacing has it" sh -c \
        'test `wc -l <ring.txt` -gt 100 && test `comm -13 ceria.txt ring.txt | wc -l` -lt 20'
    check '... and there are others' test "`wc -l <ceria.txt`" -gt "`expr 2 \* \`wc -l <ring.txt\``"
    check '--calibrant that is none' refused 2 'CeO2' plot rings.h5 -p rings.poni -c Unobtainium
    check '... in blocks, too' sh -c "'$halcyon' plot rings.h5 -p rings.poni --rings 10,20 --terminal blocks | grep -q '255;64;64'"
    check '--flip moves the centre' told rings.h5 -p rings.poni --flip -o flip.svg
    check '... by as much' differ rings.svg flip.svg
    "$halcyon" sum rings.h5 -o total.npy -q || exit 99
    told rings.h5 --sum 2 -o one.svg && told total.npy -o other.svg
    matrix one.svg >one.txt && matrix other.svg >other.txt
    check "--sum is the sum of 'halcyon sum', pixel by pixel" cmp one.txt other.txt
fi
# What a terminal says it can: python3 plays it, in a window of 100 x 50 characters of 10 x 20 pixels.
cat >player.py <<'END'
import fcntl, os, pty, re, select, struct, sys, termios
answer, command = sys.argv[1].encode().decode("unicode_escape").encode("latin-1"), sys.argv[2:]
typed = os.environ.get("TYPED")
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 1000, 1000))
    if typed:
        select.select([0], [], [], 20)
    os.execv(command[0], command)
if typed:
    os.write(fd, typed.encode() + b"\n")
said, asked = b"", False
while select.select([fd], [], [], 20)[0]:
    try:
        got = os.read(fd, 65536)
    except OSError:
        break
    if not got:
        break
    said += got
    if not asked and said.endswith(b"\x1b[c"):
        asked = True
        os.write(fd, answer)
os.waitpid(pid, 0)
shows = termios.tcgetattr(fd)[3] & termios.ECHO
kinds = ((b"a=T,q=2", "kitty"), (b"\x1bPq", "sixel"), (b"\x1b[38;2;", "blocks"), (b"\x1b[38;5;", "blocks-256"))
print([name for mark, name in kinds if mark in said] or "text", "asked" if asked else "not asked")
print(*[line.decode() for line in re.findall(rb"the shell has \w+", said)])
print("shows what is typed" if shows else "shows nothing of what is typed")
print(*[size.decode() for size in re.findall(rb'"1;1;(\d+;\d+)', said)])
END
terminal() # WANTED ANSWER [VARIABLE=VALUE...]
{
    wanted=$1 answer=$2
    shift 2
    env -u COLORTERM -u NO_COLOR TERM=xterm "$@" python3 player.py "$answer" "$halcyon" plot frames.npy >said.txt
    grep -qxF "$wanted" said.txt || { cat said.txt; return 1; }
}
if command -v python3 >/dev/null; then
    check 'a terminal that knows kitty' terminal "['kitty'] asked" '\x1b_Gi=31;OK\x1b\\\x1b[?62;4c'
    check 'one that knows sixel' terminal "['sixel'] asked" '\x1b[?62;4;22c'
    check 'one that knows neither' terminal "['blocks-256'] asked" '\x1b[?62;14;22c'
    check '... but all colours' terminal "['blocks'] asked" '\x1b[?1;2c' COLORTERM=truecolor
    check 'one that does not answer' terminal "['blocks-256'] asked" ''
    check 'one that is interrupted' terminal 'text asked' '\x03'
    check '... shows what is typed as before' grep -qx 'shows what is typed' said.txt
    typed()
    {
        env -u COLORTERM -u NO_COLOR TERM=xterm TYPED=next python3 player.py '\x1b[?62;4;22c' /bin/sh -c \
            "'$halcyon' plot frames.npy; read line; echo the shell has \$line" >said.txt
        cat said.txt
        grep -qxF "['blocks-256'] not asked" said.txt
    }
    check 'one on which something was typed is not asked' typed
    check '... which is there for the shell' grep -qx 'the shell has next' said.txt
    check 'a dumb one is not asked' terminal 'text not asked' '' TERM=dumb
    check 'nor one without colours' terminal 'text not asked' '' NO_COLOR=1
    drawn() { python3 player.py '' "$halcyon" plot image.edf --terminal sixel "$@" | tail -n 1; }
    check 'a picture has the size of its characters' equals "`drawn --size 60x20`" '480;300'
    check '... without --size the window' equals "`drawn`" '880;700'
else
    skip 'no python3 to play a terminal'
fi
if command -v gnuplot >/dev/null; then
    :
else
    echo "ok `expr $n + 1` # SKIP no gnuplot"
    echo "1..`expr $n + 1`"
    exit $failed
fi

check 'a curve in the terminal' sh -c "'$halcyon' plot b.dat >b.txt"
check '... with its axis' has b.txt 'Scattering vector q (nm⁻¹)'
check '--size in the terminal' sh -c "'$halcyon' plot b.dat --size 60x15 >size.txt && test \`wc -l <size.txt\` -le 17"
check 'a curve as SVG' plot b.dat -o b.svg
check '... is SVG' has b.svg '<svg'
check '... with its axis' has b.svg 'Scattering vector q (nm⁻¹)'
check '... and the other' has b.svg 'Mean intensity per pixel'
check '... and its band' has b.svg 'band: 3 standard errors'
check '--errors' plot b.dat -o errors.svg --errors 1
check '--errors: it says so' has errors.svg 'band: 1 standard error<'
check '--errors 0: no band' plot b.dat -o none.svg --errors 0
check '--errors 0: it matters' lacks none.svg 'band'
check '--title' plot b.dat -o title.svg --title 'Cerium & oxide'
check '--title: it is there' has title.svg 'Cerium &amp; oxide'
check '--log' plot b.dat -o log.svg --log
check '--log: it matters' differ b.svg log.svg
check '--range' plot b.dat -o range.svg --range 3,5
check '--range: its axis' has range.svg '> *4.5<'
check '--size' plot b.dat -o size.svg --size 640x320
check '--size: so large' has size.svg 'width="640" height="320"'
check 'PNG' plot b.dat -o b.png
check '... is PNG' sh -c "head -c 4 b.png | grep -a -q PNG"
check '--frames: one of several' plot a.dat -o one.svg --frames 3
check '--frames: it says so' has one.svg 'a.dat, frame 3'
check '--frames: several' plot a.dat -o some.svg --frames 3:6
check '--frames: from the first' has some.svg '>frame 3<'
check '--frames: to the last' sh -c "grep -q '>frame 5<' some.svg && ! grep -q '>frame 6<' some.svg"
check 'several files' plot b.dat a.dat -o files.svg --frames 0:2
check 'several files: by name' sh -c "grep -q '>b.dat<' files.svg && grep -q '>a.dat, frame 1<' files.svg"
check 'many curves are a map' plot a.dat -o map.svg
check 'a map: its colours are inside' has map.svg 'data:image/png;base64'
check 'a map: its axes' sh -c "grep -q '>Frame<' map.svg && grep -q 'Scattering vector' map.svg"
check '--as curves' plot a.dat -o curves.svg --as curves
check '--as curves: it matters' lacks curves.svg 'data:image/png'
check '--as waterfall' plot a.dat -o fall.svg --as waterfall
check '--as waterfall: it says how' has fall.svg 'Mean intensity per pixel, plus'
check '--as waterfall --log' plot a.dat -o fall2.svg --as waterfall --log
check '--as waterfall --log: it says how' has fall2.svg 'Mean intensity per pixel, times'
check 'an image' plot image.edf -o image.svg
check 'an image: its axes' sh -c "grep -q 'Azimuthal angle χ (°)' image.svg && grep -q 'Scattering angle 2θ (°)' image.svg"
check 'an image: --log' plot image.edf -o image.png --log

evil=$(printf "a'b\"\`touch pwned\`\$(touch pwned)|;\nset output 'pwned'#.dat")
cp b.dat "$evil"
check "a file's name is no command" plot "$evil" -o evil.svg
check "... nor the picture's" plot "$evil" -o "|touch pwned.svg"
check '... which has its name' test -s '|touch pwned.svg'
check '... and nothing was done' sh -c "! ls pwned* 2>/dev/null"
check 'a picture that cannot be written' refused 1 'nowhere/x.svg' plot b.dat -o nowhere/x.svg
[ ! -w /dev/full ] || ln -s /dev/full full.svg
check 'a full disk, in its own words' \
    sh -c "test ! -e full.svg || { '$halcyon' plot b.dat -o full.svg 2>&1 | grep -q 'full.svg: writing failed: No space'; }"
printf '# frame 0 failed: x\n\n\n# frame 1\n1 2\n2 3\n' >damaged.dat
check 'a failed frame is left out' plot damaged.dat -o damaged.svg
check '... and said' sh -c "'$halcyon' plot damaged.dat -o damaged.svg 2>&1 | grep -q 'frame 0 failed'"
check 'failed frames alone' refused 1 'nothing to show' plot damaged.dat --frames 0
echo "1..$n"
exit $failed
