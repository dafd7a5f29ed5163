# The library for 64-bit ARM: built by a cross compiler, without what is optional, and run by an emulator.  NEON
# variants give the bits of the portable one.  From the makefile: top_srcdir.
# Needs Debian's gcc-aarch64-linux-gnu, qemu-user, and liblz4 for arm64: what ./quickstart check has unpacked in the
# build directory, or the system's.
host=aarch64-linux-gnu
dir=tests/aarch64
src=`cd "$top_srcdir" && pwd`
skip() { echo "1..0 # SKIP $*"; exit 0; }

command -v $host-gcc >/dev/null || skip "no $host-gcc"
emulator=`command -v qemu-aarch64 || command -v qemu-aarch64-static` || skip "no qemu-aarch64"
grep -q '^HCY_LDFLAGS = .*-fsanitize' Makefile && skip "a build with sanitizers"
mkdir -p $dir || exit 99
CPPFLAGS='' LIBS=-llz4
[ ! -e arm64/usr/include/lz4.h ] || CPPFLAGS=-I`pwd`/arm64/usr/include LIBS="-L`pwd`/arm64/usr/lib/$host -l:liblz4.a"
echo '#include <lz4.h>
int main(void) { return LZ4_versionNumber() < 1; }' >$dir/lz4.c
$host-gcc $CPPFLAGS $dir/lz4.c -o $dir/lz4 $LIBS 2>$dir/lz4.log || skip "no liblz4 for $host-gcc"
[ -e /lib/ld-linux-aarch64.so.1 ] && root=/ || root=/usr/$host # one C library, not two halves
run() { timeout "${HCY_TEST_TIMEOUT:-100}" "$emulator" -L $root "$@"; }
run $dir/lz4 2>$dir/lz4.log || skip "what $host-gcc makes does not run: `head -n 1 $dir/lz4.log`"

# A second run has nothing to build.
unset CC CXX NM MAKEFLAGS MFLAGS MAKELEVEL
idle='backends/cpu/nufft/libcpu_nufft_la-points_portable.lo backends/cpu/nufft/libcpu_la-same_portable.lo
    backends/cpu/fft/libcpu_la-own_portable.lo backends/cpu/eval/libcpu_la-eval_portable.lo'
build()
{
    # Packages that pkg-config knows are this machine's.
    [ -f Makefile ] || PKG_CONFIG_LIBDIR=/nonexistent LZ4_CFLAGS="$CPPFLAGS " LZ4_LIBS="$LIBS" "$src/configure" -q \
        --host=$host --without-hdf5 --without-zstd --without-tiff --without-zlib \
        --enable-static-backends --disable-shared CFLAGS=-O1 || return 1
    # These are compiled here and not run: without optimisation, which takes the compiler a third of all its time.
    make -j2 CFLAGS=-O0 $idle && make -j2 halcyon tests/azint_ops tests/bslz4
}
echo "1..5"
if (cd $dir && build) >$dir/build.log 2>&1; then
    echo "ok 1 - built for $host"
else
    echo "not ok 1 - built for $host"
    tail -n 20 $dir/build.log | sed 's/^/# /'
    exit 1
fi
cd $dir || exit 99

n=1
ran() # NAME: a test program; says at once which of its own tests fail
{
    n=$((n + 1))
    run tests/$1 >$1.log 2>&1 && ! grep -v -e '^ok' -e '^1\.\.' $1.log >$1.bad && echo "ok $n - tests/$1" && return
    echo "not ok $n - tests/$1"
    sed 's/^/# /' $1.bad
}
ran azint_ops
ran bslz4

# A frame of 8-bit pixels: some text.
awk 'BEGIN { for (i = 0; i < 6000; i++) printf "%d %d counts\n", i, i * i }' | head -c 65536 >pixels
{
    header="{'descr': '|u1', 'fortran_order': False, 'shape': (256, 256), }"
    printf '\223NUMPY\001\000v\000%-117s\n' "$header"
    cat pixels
} >frame.npy
cat >frame.poni <<'END'
poni_version: 2
Detector: Detector
Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [256, 256]}
Distance: 0.1
Poni1: 0.01
Poni2: 0.011
Rot1: 0.01
Rot2: 0
Rot3: 0
Wavelength: 1e-10
END
for simd in portable neon dotprod; do
    run ./halcyon integrate frame.npy -p frame.poni -n 200 --split full --error-model poisson --plan-cache none -q \
        -d cpu@threads=2@simd=$simd -o - >$simd.dat 2>$simd.log || sed 's/^/# /' $simd.log
done
for simd in neon dotprod; do
    n=$((n + 1))
    if [ -s portable.dat ] && grep -v '^#' portable.dat >a && grep -v '^#' $simd.dat | cmp - a; then
        echo "ok $n - halcyon integrate, $simd"
    else
        echo "not ok $n - halcyon integrate, $simd"
    fi
done
