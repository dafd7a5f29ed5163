# The CUDA backend without a GPU: the conformance programs, and that about CUDA, on a driver that is none
# (fake_cuda.c), with two devices.  From the makefile: top_srcdir, CC, HALCYON_BACKEND_PATH, HCY_SANITIZER.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
skip() { echo "1..0 # SKIP $1"; exit 0; }
[ -z "$HCY_SANITIZER" ] || skip "what is lost with a device is never freed"
make_() { # NAME FLAGS...: a library
    name=$1
    shift
    $CC -std=gnu11 -O3 -shared -fPIC -I"$top_srcdir/backends/cuda" -o "$dir/$name" "$@" > "$dir/log" 2>&1
}
fail() { echo "1..1"; echo "not ok 1 - $1"; sed 's/^/# /' "$dir/log"; exit 1; }
make_ nothing.so -xc /dev/null || skip "no library can be built here"
make_ libcuda.so.1 "$top_srcdir/tests/fake_cuda.c" -lpthread || fail "the driver is built"
make_ libcufft.so -DFAKE_CUFFT "$top_srcdir/tests/fake_cuda.c" -lfftw3 -lfftw3f -lpthread ||
    make_ libcufft.so -xc /dev/null
make_ libnvrtc.so -xc /dev/null # one that has nothing, before any that has
make_ libnvidia-ml.so.1 -DFAKE_NVML "$top_srcdir/tests/fake_cuda.c" -lpthread || fail "the management library is built"
mkdir "$dir/compiler" "$dir/cache" &&
    make_ compiler/libnvrtc.so -DFAKE_NVRTC "$top_srcdir/tests/fake_cuda.c" -lpthread || fail "the compiler is built"
HALCYON_CACHE_DIR=$dir/cache
export HALCYON_CACHE_DIR
make_ profiler.so "$top_srcdir/tests/fake_nvtx.c" -lpthread || fail "a profiler is built"
mkdir "$dir/old" && make_ old/libcuda.so.1 -DFAKE_OLD "$top_srcdir/tests/fake_cuda.c" -lpthread || fail "an old driver is built"
LD_LIBRARY_PATH=$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

set -- cuda cts_device cts_buffer cts_queue cts_kernel cts_fft cts_failure cts_threads cts_lifetime cts_pool cts_trace \
    cts_fork cts_share
echo "1..$(($# + 3))"
try() { # WHAT PROGRAM [MUST]: all is well, and one check has said that
    what=$1 program=$2
    tests/$program cuda:0 cuda:1 > "$dir/out" 2>&1
    status=$?
    if [ $status -eq 0 ] && grep -q '^1\.\.[1-9]' "$dir/out" && ! grep -q '^not ok' "$dir/out" &&
        grep -q "^ok.*$3" "$dir/out"; then
        echo "ok - $what: $(grep -c '^ok' "$dir/out") checks"
    else
        echo "not ok - $what (status $status)"
        grep -vE '^ok' "$dir/out" | head -n 30 | sed 's/^/# /'
    fi
}
for program; do
    try $program $program
done
# What a profiler sees; a driver that lacks the calls to begin and end it.
NVTX_INJECTION64_PATH=$dir/profiler.so
export NVTX_INJECTION64_PATH
try 'cuda under a profiler' cuda 'it gets their names'
unset NVTX_INJECTION64_PATH
kept=$LD_LIBRARY_PATH
LD_LIBRARY_PATH=$dir/old:$LD_LIBRARY_PATH
try 'cuda on an old driver' cuda 'an old driver has no profiler'
LD_LIBRARY_PATH=$kept
# With a compiler there are launches, which compute nothing but can be told to fail.
LD_LIBRARY_PATH=$dir/compiler:$LD_LIBRARY_PATH
try 'cts_failure with launches' cts_failure 'hcy_kernel_prepare answers that the device is lost'
