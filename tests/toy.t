# A kernel family and a backend from outside of the library (toy-family, toy-backend), built against its headers and
# itself alone.  From the makefile: top_srcdir, top_builddir, CC, HALCYON_BACKEND_PATH, HCY_SANITIZER.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
skip() { echo "1..0 # SKIP $1"; exit 0; }
libs=$top_builddir/.libs
[ -e "$libs/libhalcyon.so" ] || skip "modules need a shared library"
include=$dir/include # as it is installed
mkdir "$include" "$include/halcyon" &&
    ln -s "$top_srcdir"/hal/halcyon/*.h "$top_srcdir"/backends/cpu/halcyon/*.h "$include/halcyon" || exit 99
family=$top_srcdir/tests/toy-family
{
    echo 'extern const char toy_text[]; const char toy_text[] ='
    sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' "$family/toy.cl"
    echo ';'
} > "$dir/toy_text.c"
LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
HALCYON_BACKEND_PATH=$dir:$HALCYON_BACKEND_PATH
export LD_LIBRARY_PATH HALCYON_BACKEND_PATH

n=0
pass() { n=$((n + 1)); echo "ok $n - $1"; }
fail() { n=$((n + 1)); echo "not ok $n - $1"; grep -v '^ok' "$dir/log" | head -n 30 | sed 's/^/# /'; }
build() { # WHAT FLAGS...
    what=$1
    shift
    # shellcheck disable=SC2086 # several words
    if $CC -std=c11 -D_XOPEN_SOURCE=700 -Wall -Wextra -Wpedantic -Werror $HCY_SANITIZER -I"$include" -I"$family" "$@" \
        > "$dir/log" 2>&1; then
        pass "$what is built against installed headers"
    else
        fail "$what is built"
    fi
}
try() { # WHAT PROGRAM ARGUMENTS...: its TAP as one check
    what=$1
    shift
    if "$@" > "$dir/log" 2>&1 && ! grep -q '^not ok' "$dir/log" && grep -q '^1\.\.' "$dir/log"; then
        reason=$(sed -n 's/^1\.\.0 # SKIP/# SKIP/p' "$dir/log")
        n=$((n + 1))
        echo "ok $n ${reason:-- $what: $(grep -c '^ok' "$dir/log") checks}"
    else
        fail "$what"
    fi
}

build 'a program with a family' -I"$top_srcdir/families" -o "$dir/toy_test" "$family"/*.c "$dir/toy_text.c" -L"$libs" \
    -lhalcyon -lpthread
build 'a backend' -shared -fPIC -o "$dir/hcy_toy.so" "$top_srcdir/tests/toy-backend/toy_backend.c" "$family/toy_cpu.c"
if [ -n "$CXX" ]; then # what only a GPU runs is read at least, its words stubbed
    { echo 'static const struct { unsigned x; } blockIdx = { 0 }, threadIdx = { 0 };'; cat "$family/toy.cl"; } > "$dir/cuda.cpp"
    if $CXX -std=c++11 -fsyntax-only -Wall -Wextra -Werror -DLANES=32 -D__CUDACC__ -D__global__= -D__shared__=static \
        -D'__syncthreads()=(void)0' \
        "$dir/cuda.cpp" > "$dir/log" 2>&1; then
        pass 'its text is CUDA C too, as far as C++ can tell'
    else
        fail 'its text is CUDA C'
    fi
fi
awk '/^\.Sh EXAMPLES/ { on = 1 } on && /^\.Ed/ { exit } inside { gsub(/\\e/, "\\"); print }
     on && /^\.Bd/ { inside = 1 }' "$top_srcdir/doc/halcyon_backend.3" > "$dir/mine.c"
build "the manual's backend" -shared -fPIC -o "$dir/hcy_mine.so" "$dir/mine.c"
build 'the skeleton' -shared -fPIC -I"$top_srcdir/families" -o "$dir/hcy_null.so" "$top_srcdir/backends/null/null.c" \
    "$top_srcdir/families/families.c"
try 'the family in C' "$dir/toy_test" cpu
try 'the family on a device that takes no programs' "$dir/toy_test" null
if [ -n "$HCY_SANITIZER" ]; then
    n=$((n + 1))
    echo "ok $n # SKIP drivers of OpenCL do not run under sanitizers"
else
    try 'the family in OpenCL C' env -u OCL_ICD_VENDORS "$dir/toy_test" opencl:0
fi
try 'the family in CUDA C' "$dir/toy_test" cuda:0
try 'the family in a backend of its own' "$dir/toy_test" toy brings-it
try 'in any order' "$dir/toy_test" toy@backwards=1 brings-it
for area in device buffer queue kernel failure threads lifetime pool; do
    try "the backend passes cts_$area" tests/cts_$area toy cpu
done
for area in device buffer queue kernel failure threads lifetime pool trace; do
    try "the manual's backend passes cts_$area" tests/cts_$area mine cpu
done
try "the skeleton, built outside, is the library's" tests/cts_device null
echo "1..$n"
