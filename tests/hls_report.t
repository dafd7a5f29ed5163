# kernels_hls/report.sh on reports in the form of Vitis HLS, made up here: what it finds, and how it ends.
room=${top_srcdir:-.}/kernels_hls
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0
failed=0

sample() { # ESTIMATED-NS ACHIEVED-II LUT: reports of a kernel and of one of its loops
    rm -rf "$dir/build" && mkdir -p "$dir/build/temp/bslz4_decode/solution/syn/report" || exit 99
    cat >"$dir/build/temp/bslz4_decode/solution/syn/report/hls_parse_unit_csynth.rpt" <<EOF
+ Timing: 
    * Summary: 
    +--------+---------+----------+------------+
    |  Clock |  Target | Estimated| Uncertainty|
    +--------+---------+----------+------------+
    |ap_clk  |  3.33 ns|  $1 ns|     0.90 ns|
    +--------+---------+----------+------------+
        * Loop: 
        +-------------------+---------+---------+----------+-----------+-----------+------+----------+
        |                   |  Latency (cycles) | Iteration|  Initiation Interval  | Trip |          |
        |     Loop Name     |   min   |   max   |  Latency |  achieved |   target  | Count| Pipelined|
        +-------------------+---------+---------+----------+-----------+-----------+------+----------+
        |- VITIS_LOOP_30_1  |        ?|        ?|         ?|          -|          -|     ?|        no|
        | + VITIS_LOOP_31_2 |        6|     4100|         7|          $2|          2|     ?|       yes|
        +-------------------+---------+---------+----------+-----------+-----------+------+----------+
EOF
    cat >"$dir/build/temp/bslz4_decode/solution/syn/report/bslz4_decode_csynth.rpt" <<EOF
* Summary: 
+-----------------+---------+-----+--------+--------+-----+
|       Name      | BRAM_18K| DSP |   FF   |   LUT  | URAM|
+-----------------+---------+-----+--------+--------+-----+
|FIFO             |        -|    -|       -|       -|    -|
|Total            |      180|    0|   51000|   $3|    0|
|Utilization (%)  |        6|    0|       2|       3|    0|
+-----------------+---------+-----+--------+--------+-----+
EOF
}
says() { # STATUS WORDS WHAT
    n=$((n + 1))
    sh "$room/report.sh" "$dir/build" >"$dir/out" 2>&1
    status=$?
    if [ $status = "$1" ] && grep -q -e "$2" "$dir/out"; then
        echo "ok $n - $3"
    else
        echo "not ok $n - $3"
        echo "# ends with $status"
        sed 's/^/# /' "$dir/out"
        failed=1
    fi
}

sample 2.433 2 45000
says 0 'loops  *1 pipelined' 'loops that are as fast as asked for'
says 0 'LUT  *45000, modelled  *48000$' 'resources beside the model'
says 0 'BRAM_18K  *180, modelled  *200$' '... blocks of memory, by halves'
says 0 'clock  *2.433 ns of 3.33 ns' 'a clock that is met'
sample 2.433 4 45000
says 1 'SLOWER THAN ASKED FOR: + VITIS_LOOP_31_2: II 4, asked for 2' 'a loop that is slower'
sample 2.800 2 45000
says 1 'NOT MET' 'a clock that is not'
sample 2.433 2 70000
says 1 'LUT .*MORE THAN MODELLED' 'more resources than modelled'
rm -rf "$dir/build"
says 1 'no .*csynth.rpt' 'no reports'
echo "1..$n"
exit $failed
