# halcyon integrate on a real EIGER frame: its curves against those of pyFAI, for every splitting, with
# Poisson errors: within 1e-6 (median) and 1e-4 (the worst bin of more than 10 pixels), as far as the text's
# 7 digits show.
halcyon=${HALCYON:-./halcyon}
data=${HALCYON_TEST_DATA:-../shared/data}
real=$data/detector/eiger1_4m_real.h5
[ -n "${HCY_HDF5-yes}" ] || { echo "1..0 # SKIP this build has no HDF5"; exit 0; }
case `"$halcyon" integrate "$real" -p none 2>&1` in
*'no HDF5'*) echo "1..0 # SKIP this build has no HDF5"; exit 0 ;;
esac
[ -r "$real" ] || { echo "1..0 # SKIP $real is not there"; exit 0; }
work=`mktemp -d "${TMPDIR:-/tmp}/halcyon-real.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
n=0
failed=0

check()
{
    what=$1
    shift
    n=$((n + 1))
    if "$@" >"$work/check.log" 2>&1; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        head -20 "$work/check.log" | sed 's/^/# /'
        failed=1
    fi
}

for split in no bbox full; do
    reference=$data/reference/Eiger4M_${split}_q_poisson_npt2000.txt
    off=$work/off
    check "splitting $split: the curve is made" \
        "$halcyon" integrate "$real" -p "$data/detector/eiger4m.poni" -q -n 2000 --split $split \
        --error-model poisson --polarization 0.99 --mask-from-frame 0 -o "$work/real.dat"
    grep -v '^#' "$work/real.dat" | grep . >"$work/real"
    grep -v '^#' "$reference" >"$work/reference"
    # Columns: ours radial, I, sigma; theirs radial, I, sigma, ... count.
    paste "$work/real" "$work/reference" | awk '
        function off(a, b) { a -= b; if (a < 0) a = -a; if (b < 0) b = -b; return b > 0 ? a / b : a }
        { print off($1, $4), off($2, $5), off($3, $6), $NF }' >"$off"
    check "splitting $split: 2000 bins" test "`wc -l <"$off"`" -eq 2000
    for c in 1 2 3; do
        name=`echo 'radius intensity sigma' | cut -d' ' -f$c`
        check "splitting $split: the $name, median" sh -c \
            "sort -g -k$c '$off' | awk -v c=$c 'NR == 1000 { exit !(\$c <= 1e-6) }'"
        check "splitting $split: the $name, worst bin" sh -c \
            "awk -v c=$c '\$4 > 10 && \$c > 1e-4 { print; bad = 1 } END { exit bad }' '$off'"
    done
done
echo "1..$n"
exit $failed
