# halcyon nufft on PyNUFFT's trajectories (../shared/data/nufft, or HALCYON_TEST_DATA): om2D, which repeats 5760 points,
# om3D, of which 7 coordinates are beyond pi.  Against direct sums, and forward against back.
test_name=nufft_data
. "${top_srcdir:-.}/tests/cli.sh"
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR

if [ ! -r "$data/nufft/om2D.npz" ] || [ ! -r "$data/nufft/om3D.npz" ] || ! command -v unzip >/dev/null; then
    echo "1..0 # SKIP no nufft/om2D.npz and om3D.npz in HALCYON_TEST_DATA, or no unzip"
    exit 0
fi
for name in om2D om3D phantom_256_256; do unzip -p "$data/nufft/$name.npz" arr_0.npy >$name.npy; done
run() { "$halcyon" nufft -d cpu@threads=2 "$@"; }
# list N FILE: the last N doubles of an array as a list of their own, real strengths of nearly any size.
list()
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': ($1,), }"
    tail -c "$(expr "$1" \* 8)" "$2"
}
# within LIMIT WORDS...: the command's --check finds no more than that.
within()
{
    limit=$1
    shift
    run "$@" --check 2>within.log || { cat within.log; return 1; }
    cat within.log
    awk -v limit="$limit" '/against the direct sum/ { good = $6 + 0 <= limit } END { exit !good }' within.log
}
list 122880 om2D.npy >c2.npy
list 262144 om3D.npy >c3.npy

if ! run -t 1 -p om2D.npy -i c2.npy -n 30,20 -o f2.npy 2>first.log && grep -q 'no FFT' first.log; then
    echo "1..0 # SKIP built without an FFT"
    exit 0
fi
check 'om2D, a phantom at its points' within 2e-10 -t 2 -p om2D.npy -i phantom_256_256.npy -e 1e-10 -o c.npy
check 'om2D, back to modes' run -t 1 -p om2D.npy -i c.npy -n 256,256 -e 1e-10 -o f.npy
check 'om2D, some modes' within 2e-12 -t 1 -p om2D.npy -i c2.npy -n 30,20 -e 1e-12 -o f2.npy
check 'om3D, to modes' run -t 1 -p om3D.npy -i c3.npy -n 20,18,24 -e 1e-9 -o f3.npy
check 'om3D, modes at its points' within 2e-9 -t 2 -p om3D.npy -i f3.npy -e 1e-9 -o d3.npy
check 'om3D, some modes' within 2e-9 -t 1 -p om3D.npy -i c3.npy -n 4,3,5 -e 1e-9 -o e3.npy
echo "1..$n"
exit $failed
