# halcyon plot: each kind of plot, every option, names that would do harm in a shell, no gnuplot.
test_name=plot
. "${top_srcdir:-.}/tests/cli.sh"

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
check 'a suffix that is none' refused 2 '.svg' plot b.dat -o x.jpeg
check 'a size that is none' refused 2 'WIDTHxHEIGHT' plot b.dat --size big
check 'frames that are not there' refused 1 'its last one is 11' plot a.dat --frames 20
check 'two units in one picture' refused 1 'one by one' plot b.dat image.edf
check 'images in the terminal need no gnuplot' env PATH=/nonexistent "$halcyon" plot image.edf --size 60x20
PATH=/nonexistent "$halcyon" plot image.edf --size 60x20 >image.txt
check '... with both axes' sh -c "grep -q 'up: Azimuthal angle χ (°)' image.txt && grep -q 'Scattering angle 2θ (°)' image.txt"
check '... and its name' has image.txt 'image.edf'
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
check 'a full disk' sh -c "test ! -e full.svg || { '$halcyon' plot b.dat -o full.svg 2>&1 | grep -q 'full.svg: writing failed'; }"
printf '# frame 0 failed: x\n\n\n# frame 1\n1 2\n2 3\n' >damaged.dat
check 'a failed frame is left out' plot damaged.dat -o damaged.svg
check '... and said' sh -c "'$halcyon' plot damaged.dat -o damaged.svg 2>&1 | grep -q 'frame 0 failed'"
check 'failed frames alone' refused 1 'nothing to show' plot damaged.dat --frames 0
echo "1..$n"
exit $failed
