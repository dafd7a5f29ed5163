# report.sh BUILD_DIR - reads what v++ wrote (csynth.rpt: loops with their II, and timing; utilization of each
# kernel): is every PIPELINE's II what was asked for, is the clock met; resources beside the model's estimate.
# Written to the reports of Vitis 2022.1; not run on one yet.
dir=${1:?usage: report.sh BUILD_DIR}
status=0
reports=$(find "$dir" -name '*csynth.rpt' | sort)
[ -n "$reports" ] || { echo "report.sh: no csynth.rpt under $dir" >&2; exit 1; }
for report in $reports; do
    echo "== $report"
    # Loops: | name | ... | achieved II | target II | trips | pipelined |
    awk -F'|' '/\| *[-+o ]*[A-Za-z_0-9]+.*\| *(yes|no) *\|/ {
        for (i = 1; i <= NF; i++) gsub(/^ +| +$/, "", $i)
        if ($(NF - 1) == "yes" && $(NF - 4) + 0 > $(NF - 3) + 0) {
            print "SLOWER THAN ASKED FOR: " $2 ": II " $(NF - 4) ", asked for " $(NF - 3)
            bad = 1
        }
    } END { exit bad }' "$report" || status=1
    # Timing: |ap_clk | target | estimated | uncertainty |
    awk -F'|' '/ap_clk/ {
        gsub(/ns| /, "", $3); gsub(/ns| /, "", $4)
        print "clock: target " $3 " ns, estimated " $4 " ns" ($4 + 0 > $3 + 0 ? ": NOT MET" : "")
        if ($4 + 0 > $3 + 0) exit 1
    }' "$report" || status=1
done
echo "== resources of a compute unit; the model's estimate for 4 engines: 77k LUT, 102 BRAM_36K, 52 URAM, 80 DSP"
find "$dir" -name '*utilization*.rpt' -o -name 'kernel_util*.rpt' | sort | while read -r report; do
    grep -E 'bslz4_|azint_|LUT|URAM|DSP|BRAM' "$report" | head -20
done
exit $status
