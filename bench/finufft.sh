#!/bin/sh
# Non-uniform FFTs beside FINUFFT, in one run on one machine, as a table in Markdown: one thread and all,
# points that are uniform and in a cluster (cells of 1e-6); the rows themselves go to stderr.  About 4 minutes.
#
# usage: bench/finufft.sh [OPTIONS OF halcyon bench nufft]
#   FINUFFT  its library, finufft/libfinufft.so in its package from PyPI (default: libfinufft.so)
#   HALCYON  the command (default: build/halcyon, or the one installed)   THREADS  all of them (default: nproc's)
set -eu
halcyon=${HALCYON:-build/halcyon}
[ -n "${HALCYON-}" ] || [ -x "$halcyon" ] || halcyon=halcyon
finufft=${FINUFFT:-libfinufft.so}
threads=${THREADS:-`nproc`}
work=`mktemp -d "${TMPDIR:-/tmp}/halcyon-nufft.XXXXXX"`
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

run() # NAME ARGUMENTS...
{
    name=$1
    shift
    "$halcyon" bench nufft -f "$finufft" --quick "$@" >"$work/$name"
    cat "$work/$name" >&2
}
run 1 -t 1 "$@"
run 2 -t "$threads" "$@"
run 3 -t 1 --cluster 0.12 "$@" 1e-06
run 4 -t "$threads" --cluster 0.12 "$@" 1e-06

echo "| ms, points and transform (FINUFFT): times its speed | 1 thread | $threads threads | cluster, 1 thread |" \
    "cluster, $threads threads | bytes a point | error (FINUFFT) |"
echo "|---|---|---|---|---|---|---|"
# Columns: name points execute Mpt/s error w up B/pt | points execute error | ratio total
cd "$work"
awk '
    function ms(x) { return x < 100 ? sprintf("%.1f", x) : sprintf("%.0f", x) }
    /^[123]d/ {
        if (!($1 in rest)) {
            names[++n] = $1
            rest[$1] = $8 " | " $5 " (" $12 ")"
        }
        text[$1, FILENAME] = ms($2 + $3) " (" ms($10 + $11) "): " $15
    }
    /times FINUFFT/ { names[++n] = "least, mean"; text[names[n], FILENAME] = $(NF - 7) ", " $(NF - 4) }
    END {
        for (i = 1; i <= n; i++)
            if (!(names[i] in done) && names[i] != "least, mean")
                row(names[i])
        row("least, mean")
    }
    function row(name,   f, line) {
        done[name] = 1
        line = "| " name " |"
        for (f = 1; f <= 4; f++)
            line = line " " text[name, f] " |"
        print line " " (name in rest ? rest[name] : "|") " |"
    }' 1 2 3 4
