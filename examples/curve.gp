# A plot of the first curve of a text file written by `halcyon integrate`: in the terminal, or as SVG.
#   gnuplot -e "curves='curves.dat'; columns=100" examples/curve.gp
#   gnuplot -e "curves='curves.dat'; picture='curve.svg'" examples/curve.gp
set encoding utf8
set xlabel "q (nm⁻¹)"
set key off
set border 3
set tics nomirror out
set yrange [0:*]
set xrange [*:*] noextend
if (exists("picture")) {
    set terminal svg noenhanced size 900,400 font "sans,13" background "white"
    set output picture
    set ylabel "photons per pixel"
    set style fill solid 0.35 noborder
    plot curves index 0 using 1:($2-3*$3):($2+3*$3) with filledcurves lc rgb "#7fb2e5", \
         "" index 0 using 1:2 with lines lw 1.2 lc rgb "#1f3f66"
} else {
    set terminal dumb noenhanced size columns, 24
    set title "photons per pixel"
    plot curves index 0 using 1:2 with lines
}
