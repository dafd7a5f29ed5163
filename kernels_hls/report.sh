# report.sh BUILD_DIR - reads what v++ wrote (*_csynth.rpt: loops with their II, the clock, resources): is every
# PIPELINE's II what was asked for, is the clock met; a kernel's resources beside the model's estimate.  Ends with 1
# if something is not as it should be.  Written to the reports of Vitis 2022.1; not run on one of these yet.
dir=${1:?usage: report.sh BUILD_DIR}
reports=$(find "$dir" -name '*_csynth.rpt' | sort)
[ -n "$reports" ] || { echo "report.sh: no csynth.rpt under $dir" >&2; exit 1; }

# What the model (model.c) says of a compute unit: kernel, LUT, BRAM_36K, URAM, DSP.
estimates='bslz4_decode 48000 100 0 0
azint_image 47000 34 59 96
bslz4_azint 83000 102 59 96'

# Loops:  | name | latency, twice | of an iteration | II achieved | asked for | trips | pipelined |
# Clock:  |ap_clk | target | estimated | uncertainty|
# Of it all:  |Total | BRAM_18K | DSP | FF | LUT | URAM|
echo "$reports" | while read -r report; do
    name=${report##*/}
    echo "== ${name%_csynth.rpt}"
    echo "$estimates" | awk -F'|' -v kernel="${name%_csynth.rpt}" '
    function ns(x) { sub(/ns.*/, "", x); return x + 0 }
    function beside(what, got, model) {
        more = got > 1.25 * model
        printf "%-9s %8d, modelled %8d%s\n", what, got, model, more ? ": MORE THAN MODELLED" : ""
        if (more) bad = 1
    }
    FILENAME == "-" { split($0, e, " "); if (e[1] == kernel) split($0, estimate, " "); next }
    { for (i = 1; i <= NF; i++) gsub(/^ +| +$/, "", $i) }
    NF == 10 && $9 == "yes" {
        loops++
        if ($6 + 0 > $7 + 0) { print "SLOWER THAN ASKED FOR: " $2 ": II " $6 ", asked for " $7; bad = 1 }
    }
    $2 == "ap_clk" {
        late = ns($4) + ns($5) > ns($3) + 0.01
        print "clock     " ns($4) " ns of " ns($3) " ns, of which " ns($5) " are uncertain" (late ? ": NOT MET" : "")
        if (late) bad = 1
    }
    $2 == "Total" && NF == 8 && estimate[1] != "" {
        beside("LUT", $6, estimate[2])
        beside("BRAM_18K", $3, 2 * estimate[3])
        beside("URAM", $7, estimate[4])
        beside("DSP", $4, estimate[5])
    }
    END { if (loops) print "loops     " loops " pipelined"; exit bad }' - "$report" || echo bad >&3
done 3>"$dir/report.bad"
bad=$(wc -l <"$dir/report.bad")
rm -f "$dir/report.bad"
exit $((bad > 0))
