# halcyon integrate: error models, sigma clipping and percentiles, on an image whose one bin can be counted by hand:
# 64 x 64 pixels, 40 of which are 250, 10 are 40, and all others 10.
test_name=filter
. "${top_srcdir:-.}/tests/cli.sh"

# gives INTENSITY SIGMA OPTIONS...: the only row of the curve; sigma - for none.
gives()
{
    intensity=$1 sigma=$2
    shift 2
    "$halcyon" integrate i.npy -p p.poni -d cpu@threads=1 -q -n 1 --no-solid-angle --plan-cache none -o - "$@" |
        grep -v '^#' | awk -v i="$intensity" -v s="$sigma" '
            function off(a, b) { return a - b > 1e-5 * b + 1e-9 || b - a > 1e-5 * b + 1e-9 }
            { print; rows++; bad = off($2, i) || (s == "-" ? NF != 2 : NF != 3 || off($3, s)) }
            END { exit rows != 1 || bad }'
}
# wrong WORD OPTIONS...: options that do not go together.
wrong() { word=$1; shift; refused 2 "$word" "$halcyon" integrate i.npy -p p.poni -q -o x.dat "$@"; }

{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (64, 64), }"
    awk 'BEGIN { for (k = 0; k < 4096; k++)
                 printf "%c", k % 100 == 7 && k < 4000 ? 250 : k % 400 == 50 && k < 4000 ? 40 : 10 }'
} >i.npy
printf '%s\n' 'poni_version: 2' 'Detector: Detector' 'Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4}' \
    'Distance: 0.1' 'Poni1: 0.0032' 'Poni2: 0.0032' 'Rot1: 0' 'Rot2: 0' 'Rot3: 0' 'Wavelength: 1e-10' >p.poni

# What awk makes of it.
set -- `awk 'BEGIN {
    n = 4046; a = 40; b = 10; all = n + a + b
    m = (10 * n + 250 * a + 40 * b) / all
    v = n * (10 - m) ^ 2 + a * (250 - m) ^ 2 + b * (40 - m) ^ 2
    one = (10 * n + 40 * b) / (n + b)
    printf "%.9g %.9g %.9g ", m, sqrt(m * all) / all, sqrt(v) / all
    printf "%.9g %.9g", one, sqrt(n * (10 - one) ^ 2 + b * (40 - one) ^ 2) / (n + b)
    printf " %.9g\n", sqrt(10 * n) / n }'`
mean=$1 poisson=$2 azimuthal=$3 once=$4 once_sigma=$5 left=$6
check 'the mean' gives $mean -
check '--error-model poisson' gives $mean $poisson --error-model poisson
check '--error-model azimuthal' gives $mean $azimuthal --error-model azimuthal
check 'the same from images' gives $mean $azimuthal --error-model azimuthal --two-stage
check '--error-model hybrid, where nothing is clipped' gives $mean $poisson --error-model hybrid
check '--sigma-clip: azimuthal errors by default, and five rounds' gives 10 0 --sigma-clip
check '--sigma-clip --error-model hybrid' gives 10 $left --sigma-clip --error-model hybrid
check '--sigma-clip --error-model poisson' gives 10 $left --sigma-clip --error-model poisson
check '--max-iter' gives $once $once_sigma --sigma-clip --max-iter 1
check '--threshold' gives $mean $azimuthal --sigma-clip --threshold 100
check '--threshold LOW,HIGH: none above' gives $mean $azimuthal --sigma-clip --threshold 0,100
check '... none below' gives 10 0 --sigma-clip --threshold 100,0
check '--threshold 0: Chauvenet' gives 10 0 --sigma-clip --threshold 0
check '--percentile: the median' gives 10 - --percentile 50
check '--percentile: the largest' gives 250 - --percentile 100
check '--percentile: a part of all' gives 250 - --percentile 99.1,100
check '--percentile: all' gives $mean $poisson --percentile 0,100 --error-model poisson
check '--split no by default' sh -c "'$halcyon' integrate i.npy -p p.poni -q -n 7 --sigma-clip -o a.dat &&
    '$halcyon' integrate i.npy -p p.poni -q -n 7 --sigma-clip --split no -o b.dat &&
    '$halcyon' integrate i.npy -p p.poni -q -n 7 --sigma-clip --split bbox -o c.dat &&
    for f in a b c; do grep -v '^#' \$f.dat >\$f; done; cmp a b && ! cmp a c"
check 'clipping without errors' wrong 'none' --sigma-clip --error-model none
check '--threshold alone' wrong '--sigma-clip' --threshold 3
for wrong in x -1 3,-1 '3,' 1,2,3 nan; do
    check "--threshold $wrong" wrong '--threshold takes' --sigma-clip --threshold $wrong
done
check '--max-iter alone' wrong '--sigma-clip' --max-iter 3
check 'both' wrong 'one or the other' --sigma-clip --percentile 50
for wrong in 101 x 60,40 '5,' 10,20,30; do
    check "--percentile $wrong" wrong '--percentile takes' --percentile $wrong
done
check 'a device without them says so' sh -c "! '$halcyon' integrate i.npy -p p.poni -q --sigma-clip -d null \
    -o x.dat 2>null.err && grep -e 'sigma clipping' null.err"
if "$halcyon" integrate i.npy -p p.poni -q --sigma-clip -o x.h5 2>h5.err; then
    check "pyFAI's configuration names the method" grep -a '"integrator_method": "sigma_clip_ng"' x.h5
    check 'its arguments' grep -a '"thres": 5, "max_iter": 5' x.h5
    check 'and the error model' grep -a '"error_model": "azimuthal"' x.h5
else
    n=$((n + 1))
    echo "ok $n # SKIP no HDF5: `head -1 h5.err`"
fi
echo "1..$n"
exit $failed
