# Tests of HDF5 files under valgrind's memcheck, which also sees what HDF5 does with memory of ours, and with its own after
# what we did: sanitizers do not, since HDF5 is not built with them.
set -u
top_builddir=${top_builddir:-.}
skip() { echo "1..0 # SKIP $*"; exit 0; }
command -v valgrind >/dev/null || skip "no valgrind"
grep -q '^HCY_LDFLAGS = .*-fsanitize' "$top_builddir/Makefile" && skip "a build with sanitizers"
grep -q -e '-DHAVE_HDF5=1' "$top_builddir/Makefile" || skip "built without HDF5"
valgrind -q true >/dev/null 2>&1 || skip "valgrind does not run here"
log=`mktemp "${TMPDIR:-/tmp}/halcyon-valgrind.XXXXXX"` || exit 99
trap 'rm -f "$log"' EXIT
trap 'exit 1' HUP INT TERM
unset HALCYON_TEST_DATA # large files take minutes
n=0
failed=0
for test in stack_h5 stack_write stack_virtual stack_grow stack_writer results array_formats; do
    n=$((n + 1))
    if "$top_builddir"/libtool --mode=execute valgrind -q --error-exitcode=99 "$top_builddir"/tests/$test >"$log" 2>&1; then
        echo "ok $n - $test"
    else
        failed=1
        echo "not ok $n - $test"
        grep -av '^ok' "$log" | head -n 40 | sed 's/^/# /'
    fi
done
echo "1..$n"
exit $failed
