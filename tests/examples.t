# The README's C example is the file in examples/, and makes the curves that the command makes; the detector host
# gets a curve for each frame that it does not report dropped.
# From the makefile: top_srcdir, top_builddir, HALCYON, HCY_HDF5 ("" in a build without it).
echo "1..4"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

sed -n '/^```c$/,/^```$/p' "$top_srcdir/README.md" | sed '1d;$d' > "$dir/readme.c"
sed '1d' "$top_srcdir/examples/first_curve.c" > "$dir/example.c"
if cmp -s "$dir/readme.c" "$dir/example.c"; then
    echo "ok 1 - the README shows examples/first_curve.c"
else
    echo "not ok 1 - the README shows examples/first_curve.c"
    diff "$dir/readme.c" "$dir/example.c" | sed 's/^/# /'
fi

if [ -z "$HCY_HDF5" ]; then
    echo "ok 2 # SKIP built without HDF5"
    echo "ok 3 # SKIP built without HDF5"
    echo "ok 4 # SKIP built without HDF5"
    exit 0
fi
verdict() { # NUMBER TEXT STATUS
    if [ "$3" -eq 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; sed 's/^/# /' "$dir/log"; fi
}
{
    "$HALCYON" simulate "$dir/s.h5" --detector Eiger500k --frames 2 \
        && "$HALCYON" integrate "$dir/s.h5" -p "$dir/s.poni" -d cpu@threads=1 --error-model poisson -q -o "$dir/command.dat" \
        && "$top_builddir/examples/first_curve" "$dir/s.h5" "$dir/s.poni" cpu@threads=2 > "$dir/example.dat"
} > "$dir/log" 2>&1
verdict 2 "the example runs on a simulated stack" $?

# Radial and intensity of both, as numbers; 1e-5 because the example prints six digits.
for f in command example; do awk '!/^#/ && NF { print $1, $2 }' "$dir/$f.dat" > "$dir/$f.xy"; done
paste -d' ' "$dir/command.xy" "$dir/example.xy" | awk '
    function off(a, b) { return a - b > 1e-5 * (b < 0 ? -b : b) + 1e-30 || b - a > 1e-5 * (b < 0 ? -b : b) + 1e-30 }
    NF != 4 || off($1, $3) || off($2, $4) { print "line " NR ": " $0; bad++ }
    $4 > 0 { seen++ }
    END { print NR " points, " seen + 0 " above zero"; exit bad || NR != 2000 || seen < 1000 }' > "$dir/log" 2>&1
verdict 3 "its curves are those of the command" $?

"$top_builddir/examples/detector_host" "$dir/s.poni" cpu@threads=2 300 1000 > "$dir/log" 2>&1 && awk '
    /^curves/ { gsub(",", ""); all = $2 + $6 + $8; good = $2 - $4; peak = $10 }
    /^from submission/ { half = $7; most = $(NF - 1) }
    END { exit !(all == 300 && good >= 10 && peak > 50 && peak < 600 && half > 0 && most >= half) }' "$dir/log"
verdict 4 "the detector host accounts for every frame" $?
