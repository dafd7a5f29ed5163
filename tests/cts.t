# A conformance program skips, with the reason, a device that the build knows and this machine cannot have.
# From the makefile: the directory of the build is the current one.
echo "1..3"
skipped=
for simd in neon dotprod avx2 avx512; do
    out=$(tests/cts_pool "cpu@simd=$simd") || { echo "not ok - cts_pool cpu@simd=$simd ends well"; exit 0; }
    case $out in "1..0 # SKIP cpu@simd=$simd: "*) skipped="$skipped $simd" ;; esac
done
echo "ok - cts_pool ends well for every variant"
# No processor has them all.
[ -n "$skipped" ] || echo "not ok - some variant is skipped with its reason"
[ -z "$skipped" ] || echo "ok - some variant is skipped with its reason:$skipped"
case $(tests/cts_pool cpu@simd=nosuch) in
"Bail out!"*) echo "ok - a device string that is wrong is no reason to skip" ;;
*) echo "not ok - a device string that is wrong is no reason to skip" ;;
esac
