# A plot of the first curve of a text file written by `halcyon integrate`: in the terminal, or as SVG.
#   gnuplot -e "curves='curves.dat'; columns=100" examples/curve.gp
#   gnuplot -e "curves='curves.dat'; picture='curve.svg'" examples/curve.gp
set xlabel "q (nm^{-1})"
set ylabel "intensity (photons / pixel)"
set key off
set border 3
set tics nomirror out
if (exists("picture")) {
    set terminal svg enhanced size 900,420 font "sans,13" background "white"
    set output picture
    set style fill solid 0.25 noborder
    plot curves index 0 using 1:($2-3*$3):($2+3*$3) with filledcurves lc rgb "#3b6ea5", \
         "" index 0 using 1:2 with lines lw 1.2 lc rgb "#1f3f66"
} else {
    set terminal dumb noenhanced size columns, 24
    set xlabel "q (nm^-1)"
    set ylabel
    set title "intensity (photons / pixel)"
    plot curves index 0 using 1:2 with lines
}
