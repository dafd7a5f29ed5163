# lint.awk - can v++ make hardware of this?  What a machine can see of the rules in hls_common.h.
#     awk -f lint.awk FILE...    prints FILE:LINE: what is wrong
# Text for the host's compiler alone (#ifndef __SYNTHESIS__) is passed over.
function wrong(line, what) { print FILENAME ":" line ": " what }

# The loop that began at loop_line is known as far as it says what it is.
function end_loop() {
    if (!loop_line) return
    if (!loop_kind) wrong(loop_line, "a loop that says neither PIPELINE, UNROLL nor HLS_OUTER")
    else if (loop_kind == "UNROLL" && !loop_constant) wrong(loop_line, "UNROLL of a loop without a constant bound")
    else if (loop_kind != "UNROLL" && !loop_constant && !loop_trips)
        wrong(loop_line, "a loop without a constant bound says no LOOP_TRIPCOUNT")
    loop_line = 0
}
function end_arrays(  name) {
    for (name in array_line) {
        wrong(array_line[name], "array " name " says neither ARRAY_PARTITION nor BIND_STORAGE")
        delete array_line[name]
    }
}

# Memories in banks of their own: turns of an unrolled loop that choose the bank themselves all ask for each of them.
function look_at_banks(  i, name, text, index1, index2) {
    for (i = 1; i <= n_asked; i++) {
        text = asked[i]
        name = text
        sub(/\[.*/, "", name)
        sub(/^.*\./, "", name)
        if (!(name in in_banks) || !(name in is_memory)) continue
        sub(/^[^[]*\[/, "", text)
        index1 = index2 = text
        sub(/\].*/, "", index1)
        if (!sub(/^[^]]*\]\[/, "", index2)) index2 = ""
        sub(/\].*/, "", index2)
        if (index1 !~ /^[a-z]+$/ && index2 !~ /^[a-z]+$/)
            print asked_where[i] ": " name ": every turn of this loop asks for all of its banks"
    }
}

FNR == 1 { end_loop(); end_arrays(); depth = 0; skipping = 0; level = 0; name = ""; inside = 0; unrolled = pipelined = "none" }

# --- What v++ sees ---
/^#if/ { level++ }
/^#ifndef __SYNTHESIS__/ && !skipping { skipping = level }
/^#ifdef __SYNTHESIS__/ { synthesis[level] = 1 }
/^#else/ && synthesis[level] && !skipping { skipping = level }
/^#endif/ { if (skipping == level) skipping = 0; synthesis[level] = 0; level--; next }
skipping { next }

{
    raw = $0
    line = $0
    if (inside) { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
    gsub(/\/\*[^*]*\*\//, "", line)
    sub(/\/\/.*/, "", line)
    if (sub(/\/\*.*/, "", line)) inside = 1
    gsub(/"[^"]*"/, "\"\"", line)
}

# --- Pragmas say what the loop or the array before them is ---
/^#pragma HLS/ {
    if (loop_line) {
        if (/HLS PIPELINE II/) pipelined = loop_indent
        if (/HLS PIPELINE/) { loop_kind = "PIPELINE"; if (!/II=[0-9]+/ && !/PIPELINE off/) wrong(FNR, "PIPELINE without its II") }
        else if (/HLS UNROLL/) { loop_kind = "UNROLL"; if (unrolled == "none") unrolled = loop_indent }
        else if (/HLS LOOP_TRIPCOUNT/) loop_trips = 1
    }
    if (/INTERFACE m_axi/ && !/max_widen_bitwidth=64/ && !/port=plan .*max_widen_bitwidth=512/)
        wrong(FNR, "a port of words of 64 bits, which addresses are multiples of, says no max_widen_bitwidth=64")
    if (match($0, /variable=[A-Za-z_0-9]+/)) delete array_line[substr($0, RSTART + 9, RLENGTH - 9)]
    if (match($0, /variable=[A-Za-z_0-9.]+/)) {
        text = substr($0, RSTART + 9, RLENGTH - 9)
        sub(/^.*\./, "", text)
        if (/ARRAY_PARTITION .*complete/) in_banks[text] = 1
        if (/BIND_STORAGE .*type=ram/) is_memory[text] = 1
    }
    next
}
line ~ /^[ \t]*$/ { next }
{ end_loop() }
/^#/ { next }

# --- Words that have no hardware ---
line ~ /(^|[^A-Za-z_0-9])(new|delete|malloc|calloc|realloc|free|virtual|throw|try|catch)[^A-Za-z_0-9]/ ||
line ~ /(^|[^A-Za-z_0-9])(dynamic_cast|typeid|goto|longjmp|printf|abort|exit)[^A-Za-z_0-9]/ {
    wrong(FNR, "no hardware for this word")
}
line ~ /(^|[^A-Za-z_0-9])std::/ { wrong(FNR, "nothing of the standard library") }
line ~ /(^|[^A-Za-z_0-9])(float|double)[^A-Za-z_0-9]/ { wrong(FNR, "no floating point: sums are integers") }
line ~ /[A-Za-z_0-9>] *\* *\*[^=]/ { wrong(FNR, "a pointer to a pointer") }

# --- Loops ---
line ~ /(^|[^A-Za-z_0-9])(for|while) *\(/ {
    loop_line = FNR
    loop_trips = 0
    loop_kind = raw ~ /HLS_OUTER/ ? "OUTER" : ""
    match(line, /^ */)
    loop_indent = substr(line, 1, RLENGTH)
    loop_constant = line ~ /[<>]=? *([0-9]+|[A-Z][A-Z_0-9]+)( [-+*\/] [0-9]+)?;/ ||
        line ~ /= [A-Z][A-Z_0-9]+( - 1)?; .*> 0;/
    if (line ~ /for *\(;;\)/ || line ~ /while *\((true|1)\)/) wrong(FNR, "a loop that need not end")
}

# --- Memories in an unrolled loop, up to the brace that ends it: looked at when all that are in banks are known ---
unrolled != "none" && line ~ ("^" unrolled "}") { unrolled = "none" }
unrolled != "none" {
    text = line
    while (match(text, /[a-z_.]+(\[[^][]*\])+/)) {
        asked[++n_asked] = substr(text, RSTART, RLENGTH)
        asked_where[n_asked] = FILENAME ":" FNR
        text = substr(text, RSTART + RLENGTH)
    }
}

# --- Memory in a pipelined loop: v++ makes bursts of what each turn reads or writes ---
pipelined != "none" && line ~ ("^" pipelined "}") { pipelined = "none" }
pipelined != "none" && raw !~ /HLS_SINGLE/ && line ~ /(^|[^a-z_])((chunks|blocks|images|plan|sums)\[|hls_load\()/ {
    match(line, /^ */)
    if (RLENGTH > length(pipelined) + 4 || line ~ /\?|if \(/)
        wrong(FNR, "memory is asked under a condition, which makes no bursts (HLS_SINGLE: as it is meant to be)")
}

# --- Arrays of more than eight elements, in functions ---
depth && line ~ /^ +(const )?(bool|u?int[0-9]+_t|hls_[a-z_]+|hcy_[a-z0-9_]+) [a-z_0-9]+[^(]*\[/ {
    text = line
    sub(/^ +(const )?[a-z0-9_]+ /, "", text)
    gsub(/\{[^}]*\}/, "", text)
    while (match(text, /[a-z_0-9]+(\[[^\]]+\])+/)) {
        declared = substr(text, RSTART, RLENGTH)
        begins = substr(text, 1, RSTART - 1) ~ /= [^,]*$/ # it is part of what something begins with
        text = substr(text, RSTART + RLENGTH)
        if (begins) continue
        if (declared !~ /\[[A-Z]/ && declared !~ /\[[0-9][0-9]/) continue
        sub(/\[.*/, "", declared)
        array_line[declared] = FNR
    }
}
depth && line ~ /^ +HLS_MEMORY / {
    text = line
    sub(/\[.*|;.*/, "", text)
    sub(/.* /, "", text)
    array_line[text] = FNR
}

# --- Functions: where they begin, and that they do not call themselves ---
!depth && line ~ /^[A-Za-z].*\(/ && line !~ /;$/ { name = line; sub(/\(.*/, "", name); sub(/.*[ *&]/, "", name) }
depth && name != "" && index(line, name "(") && line !~ ("[A-Za-z_0-9]" name "\\(") { wrong(FNR, name " calls itself") }
line ~ /^\{/ { depth = 1 }
line ~ /^\}/ { depth = 0; name = ""; end_arrays() }
END { end_loop(); end_arrays(); look_at_banks() }
