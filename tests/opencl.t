# `halcyon integrate` on an OpenCL device: the same curves as on the CPU, byte for byte.  From the makefile: HALCYON,
# HCY_SANITIZER ("" if there is none).
halcyon=${HALCYON:?from the makefile}
unset OCL_ICD_VENDORS HALCYON_DEVICE HALCYON_BACKENDS # drivers, which the other tests do without
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99

skip() { echo "1..0 # SKIP $1"; exit 0; }
[ -z "$HCY_SANITIZER" ] || skip "drivers of OpenCL do not run under sanitizers"
"$halcyon" devices > devices 2>&1
grep -q '^opencl:0 ' devices || skip "$(grep -m 1 '^opencl' devices || echo 'no OpenCL here')"
"$halcyon" simulate s.h5 --shape 300x500 --frames 20 --quiet > log 2>&1 || skip "$(cat log)"
echo "1..15"

same() { # TEXT ARGUMENTS...
    what=$1
    shift
    for d in cpu opencl:0; do
        "$halcyon" integrate s.h5 -p s.poni -d "$d" -n 200 --quiet -o "$d.dat" "$@" > "$d.log" 2>&1 || cat "$d.log"
        grep -v -e '[Dd]evice' -e '^# Configuration' -e '-->' "$d.dat" > "$d.txt"
    done
    if [ -s cpu.txt ] && cmp -s cpu.txt opencl:0.txt; then echo "ok - $what"; else
        echo "not ok - $what"
        diff cpu.txt opencl:0.txt | head -n 5 | sed 's/^/# /'
    fi
}
same "curves with Poisson errors, full splitting" --error-model poisson
same "curves without splitting" --split no
same "curves along the azimuth, bounding boxes" --along-chi --split bbox
same "curves clipped by the pixels' own deviation" --error-model azimuthal --sigma-clip
grep -q 'pocl\|opencl' opencl:0.dat && echo "ok - the result says which device made it" ||
    echo "not ok - the result says which device made it"

# Parameters are measured, kept for the device, and there when it is opened again.
"$halcyon" simulate small.h5 --shape 60x70 --frames 1 --quiet > log 2>&1
POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable # much is compiled from here on; how well, other tests see
export POCL_EXTRA_BUILD_FLAGS
HALCYON_CACHE_DIR=$dir/cache "$halcyon" bench small.h5 --tune --rounds 1 -d opencl:0 > tuned 2>&1
row=$(sed -n 's/^opencl:0  *row \([0-9]*\) of [0-9]* is kept$/\1/p' tuned)
[ -n "$row" ] && echo "ok - a row of parameters is chosen" || { echo "not ok - a row of parameters is chosen"; sed 's/^/# /' tuned; }
rows=$(grep -c '^opencl:0@row=[0-9]* *fused' tuned)
[ "$rows" -gt 1 ] && echo "ok - of all that were measured" || echo "not ok - of all that were measured"
set -- cache/kernels/tuned-opencl-*.bin
[ -s "$1" ] && echo "ok - and kept" || echo "not ok - and kept"

# Without kernels on disk compiling is set-up: the run's own time does not hold it, and is about that of a second run.
HALCYON_CACHE_DIR=$dir/cold POCL_CACHE_DIR=$dir/cold-pocl
export HALCYON_CACHE_DIR POCL_CACHE_DIR
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (3000,), }" > ones.npy
head -c 12000 /dev/zero >> ones.npy
# milliseconds WORD LOG: what stands behind the word, in s or ms.
milliseconds() { sed -n "s/.*$1 \([0-9.]*\) \(m*s\)\b.*/\1 \2/p" "$2" | awk '{ print $1 * ($2 == "s" ? 1000 : 1) }'; }
apart() { # TEXT WORD COMMAND...: the time behind WORD is less than half of that of preparing
    what=$1 word=$2
    shift 2
    "$halcyon" "$@" 2> log
    own=$(milliseconds "$word" log) before=$(milliseconds 'set-up[ a-z]*' log)
    [ "$before" ] || before=$(milliseconds 'preparing took' log)
    if awk -v own="$own" -v before="$before" 'BEGIN { exit !(own != "" && before > 0 && own < before / 2) }'; then
        echo "ok - $what: compiling is set-up"
    else
        echo "not ok - $what: compiling is set-up"
        sed 's/^/# /' log
    fi
}
apart nufft transform nufft -t 1 -p ones.npy -i ones.npy -n 5000 --method grid -o f.npy -d opencl:0
apart sum 'frames in' sum s.h5 -o sum.npy -d opencl:0
"$halcyon" simulate --mri radial --size 16 k.npy -q
apart recon image recon k_samples.npy -t k_trajectory.npy -n 16,16 --deterministic -o image.npy -d opencl:0
"$halcyon" recon k_samples.npy -t k_trajectory.npy -n 16,16 --deterministic -o quiet.npy -d opencl:0 -q
cmp image.npy quiet.npy >&2 && echo "ok - recon: the step before leaves no trace" || echo "not ok - recon: the step before leaves no trace"
"$halcyon" simulate --mri radial --size 16 --coils 2 c.npy -q
set -- recon c_samples.npy -t c_trajectory.npy -n 16,16 --reg llr:0.002:4 --iterations 3 --deterministic -d opencl:0
"$halcyon" "$@" -o blocks.npy 2> log && "$halcyon" "$@" -o same.npy -q && cmp blocks.npy same.npy >&2 &&
    echo "ok - ... nor with blocks that move" || echo "not ok - ... nor with blocks that move"
# Where nothing is kept, a driver is asked for no binary, for which PoCL compiles each kernel once more, for any group (0-0-0).
HALCYON_CACHE_DIR='' POCL_CACHE_DIR=$dir/off
apart integrate 'frames in' integrate s.h5 -p s.poni -o x.dat -d opencl:0
if [ -d off ] && { find off -name 0-0-0 | grep . >&2 || ! find off -name '*.so' | grep . >/dev/null; }; then
    echo "not ok - without a cache no kernel is compiled twice"
else
    echo "ok - without a cache no kernel is compiled twice"
fi
