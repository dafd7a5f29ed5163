# PTX that is kept in the CUDA backend: the program of the build that makes it, and finding it again.
# From the makefile: top_srcdir, CC, HCY_SANITIZER.
skip() { echo "1..0 # SKIP $1"; exit 0; }
[ -z "$HCY_SANITIZER" ] || skip "NVRTC does not run under sanitizers"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

build-aux/embed_ptx azint_image > "$dir/made.c" 2> "$dir/log"
status=$?
[ $status -ne 77 ] || skip "$(cat "$dir/log")"
cat > "$dir/find.c" <<'EOF'
#include "embedded.h"
#include "gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what)
{
    printf("%s - %s\n", good ? "ok" : "not ok", what);
}

int main(void)
{
    const char *options[] = { "-DGROUP_SIZE=256", "-DPIXEL_BYTES=4", "-DPIXEL_SIGNED=0", "-DPIXEL_FLOAT=0",
                              "-DVARIANCE=1" };
    char *ptx = cuda_ptx_find(gpu_text_azint, options, 5);
    check(ptx && strstr(ptx, ".target sm_80"), "uint32 pixels with errors are found");
    check(ptx && strstr(ptx, ".entry gpu_azint_image"), "with their kernel");
    check(!cuda_ptx_find(gpu_text_azint, options, 4), "other options are not");
    check(!cuda_ptx_find(gpu_text_decode, options, 5), "nor another text");
    check(cuda_ptx_has("azint_image") && !cuda_ptx_has("bslz4_decode"), "it is known which kernels there are");
    free(ptx);
    return 0;
}
EOF
echo "1..7"
[ $status -eq 0 ] && echo "ok - PTX is made" || { echo "not ok - PTX is made"; sed 's/^/# /' "$dir/log"; }
if $CC -std=gnu11 -w -I"$top_srcdir/backends/cuda" -I"$top_srcdir/backends/gpu" -I"$top_srcdir/hal" \
    -I"$top_srcdir/families" "$dir/find.c" "$dir/made.c" "$top_srcdir/backends/cuda/embedded.c" backends/gpu/gpu_texts.c -llz4 \
    -o "$dir/find" > "$dir/log" 2>&1; then
    echo "ok - it compiles"
    "$dir/find"
else
    echo "not ok - it compiles"
    sed 's/^/# /' "$dir/log"
fi
