# FFTW ends the process when it gets no memory.  With any limit of it the command must say so itself.  From the makefile:
# HALCYON, HCY_SANITIZER.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC3045 # where the shell has no such limit, the test is skipped
if ! (ulimit -v 100000) 2> "$dir/words"; then
    echo "1..0 # SKIP the shell limits no memory"
    exit 0
fi
case $HCY_SANITIZER in
*sanitize*)
    echo "1..0 # SKIP a sanitizer takes memory of its own"
    exit 0 ;;
esac
export HALCYON_CACHE_DIR='' HALCYON_BACKENDS=cpu
# numbers FILE HEADER COUNT: a NumPy file of zeros.
numbers() {
    { printf '\223NUMPY\001\000\166\000%-117s\n' "$2"; head -c "$3" /dev/zero; } > "$dir/$1"
}
numbers points.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (1000, 2), }" 16000
numbers strengths.npy "{'descr': '<c16', 'fortran_order': False, 'shape': (1000,), }" 16000

# The least limit that is enough is looked for; then limits from below it on are tried.
run() { # LIMIT MODES
    # shellcheck disable=SC3045
    (ulimit -v "$1" && exec timeout 60 "$HALCYON" nufft -t 1 -p "$dir/points.npy" -i "$dir/strengths.npy" -o "$dir/out.npy" \
        -n "$2" --method grid -d cpu@threads=1 -q) > "$dir/words" 2>&1
}
modes=900,900
low=8000 high=400000
while [ $((high - low)) -gt 3000 ]; do
    middle=$(((low + high) / 2))
    if run $middle $modes; then high=$middle; else low=$middle; fi
done
bad=0 step=1
while [ $step -le 12 ]; do
    run $((high - step * 1100)) $modes
    rc=$?
    if [ $rc -gt 1 ] && [ $rc -ne 127 ]; then
        bad=$((bad + 1))
        echo "# $((high - step * 1100)) kB: $rc, $(head -n 1 "$dir/words")"
    fi
    step=$((step + 1))
done
[ $bad -eq 0 ] || printf 'not '
echo "ok 1 - $modes modes need $high kB; with less the command says so"
echo "1..1"
