# The FPGA kernels obey the rules that hls_common.h states, as far as lint.awk can see; and it does see what is wrong.
# From the makefile: top_srcdir.
room=${top_srcdir:-.}/kernels_hls
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

found=$(awk -f "$room/lint.awk" "$room"/*/*.cpp "$room"/hls_*.h "$room"/bslz4/*.h "$room"/azint/azint_*.h)
n=$((n + 1))
if [ -z "$found" ]; then
    echo "ok $n - nothing that v++ could make no hardware of"
else
    echo "not ok $n - nothing that v++ could make no hardware of"
    echo "$found" | sed 's/^/# /'
fi

finds() { # WORDS LINE...: the lines as a function's body are refused with these words
    n=$((n + 1))
    words=$1
    shift
    { echo 'static void sample(int n, int *p)'; echo '{'; printf '%s\n' "$@"; echo '}'; } >"$dir/sample.cpp"
    if awk -f "$room/lint.awk" "$dir/sample.cpp" | grep -q -e "$words"; then
        echo "ok $n - finds: $words"
    else
        echo "not ok $n - finds: $words"
        awk -f "$room/lint.awk" "$dir/sample.cpp" | sed 's/^/# /'
    fi
}
finds 'neither PIPELINE' '    for (int i = 0; i < 4; i++) {' '        p[i] = 0;' '    }'
finds 'without its II' '    for (int i = 0; i < 4; i++) {' '#pragma HLS PIPELINE' '        p[i] = 0;' '    }'
finds 'no LOOP_TRIPCOUNT' '    while (n) {' '#pragma HLS PIPELINE II=1' '        n--;' '    }'
finds 'no LOOP_TRIPCOUNT' '    for (int i = 0; i < n; i++) { /* HLS_OUTER */' '        p[i] = 0;' '    }'
finds 'UNROLL of a loop' '    for (int i = 0; i < n; i++) {' '#pragma HLS UNROLL' '        p[i] = 0;' '    }'
finds 'need not end' '    for (;;) { /* HLS_OUTER */' '        p[0]++;' '    }'
finds 'asks for all of its banks' '    uint8_t window[8][512];' '#pragma HLS ARRAY_PARTITION variable=window complete dim=1' \
    '#pragma HLS BIND_STORAGE variable=window type=ram_s2p impl=bram' '    for (int k = 0; k < 8; k++) {' \
    '#pragma HLS UNROLL' '        window[(n + k) & 7][(n + k) >> 3] = 0;' '    }'
finds 'makes no bursts' '    for (int i = 0; i < n; i++) {' '#pragma HLS PIPELINE II=1' '        x = n > 3 ? plan[i] : 0;' '    }'
finds 'makes no bursts' '    for (int i = 0; i < n; i++) {' '#pragma HLS PIPELINE II=1' '        if (x)' '            images[i] = x;' '    }'
finds 'max_widen_bitwidth' '#pragma HLS INTERFACE m_axi port=p bundle=gmem0'
finds 'ARRAY_PARTITION' '    uint8_t table[256];' '    p[0] = table[n];'
finds 'calls itself' '    if (n)' '        sample(n - 1, p);'
finds 'no hardware for this word' '    p = new int[4];'
finds 'no hardware for this word' '    throw 1;'
finds 'standard library' '    std::vector<int> v;'
finds 'floating point' '    double x = n;'
finds 'pointer to a pointer' '    int **q = &p;'
n=$((n + 1))
{
    echo 'static void sample(int n, int *p)'
    echo '{'
    echo '#ifndef __SYNTHESIS__'
    echo '    p = new int[4];'
    echo '#endif'
    echo '    for (int i = 0; i < n; i++) {'
    echo '#pragma HLS PIPELINE II=1'
    echo '#pragma HLS LOOP_TRIPCOUNT min=1 max=4'
    echo '        p[i] = 0;'
    echo '    }'
    echo '}'
} >"$dir/good.cpp"
if [ -z "$(awk -f "$room/lint.awk" "$dir/good.cpp")" ]; then
    echo "ok $n - has nothing to say about a good one"
else
    echo "not ok $n - has nothing to say about a good one"
fi
n=$((n + 1))
if (cd "$room" && sh ./link.sh u55c bslz4_azint) | cmp - "$room/link.cfg"; then
    echo "ok $n - link.cfg is what link.sh writes"
else
    echo "not ok $n - link.cfg is what link.sh writes"
fi
n=$((n + 1)) # every buffer of a kernel has a memory, and no other
args=$(sed -n 's/^#pragma HLS INTERFACE m_axi port=\([a-z]*\).*/\1/p' "$room/azint/azint.cpp" | sort -u)
linked=$(for k in azint_image bslz4_azint; do sh "$room/link.sh" u50 "$k"; done | sed -n 's/^sp=.*\.\([a-z]*\):.*/\1/p' | sort -u)
if [ -n "$args" ] && [ "$args" = "$linked" ]; then
    echo "ok $n - link.sh knows the kernels' buffers"
else
    echo "not ok $n - link.sh knows the kernels' buffers"
fi
recipe() { # WORDS WHAT KERNELS...: what the makefile for v++ would do, or why it does not
    n=$((n + 1))
    words=$1 what=$2
    shift 2
    if (cd "$room" && MAKEFLAGS='' "${MAKE:-make}" -n "$@" 2>&1) | grep -q -e "$words"; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
    fi
}
recipe '-k bslz4_decode -o .* bslz4/bslz4.cpp' 'make: a kernel from its source' KERNELS=bslz4_decode
recipe 'xclbinutil .*USER_METADATA' '... what the backend wants to read in the xclbin' KERNELS=bslz4_decode
recipe 'platform xilinx_u250' '... for another card' CARD=u250
recipe 'nufft_spread is not written yet' '... a kernel to come' KERNELS=nufft_spread
recipe 'none is not in kernels.tbl' '... one that is none' KERNELS=none
recipe 'u1 is not in platforms.tbl' '... a card that is none' CARD=u1
echo "1..$n"
