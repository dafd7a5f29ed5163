# Numbers in files have a point, also in programs whose locale has a comma: tests that read and write them, run in such a
# locale (tests/tap.h sets it).
set -u
top_builddir=${top_builddir:-.}
LOCPATH=`mktemp -d "${TMPDIR:-/tmp}/halcyon-locale.XXXXXX"` || exit 99
trap 'rm -rf "$LOCPATH"' EXIT
trap 'exit 1' HUP INT TERM
HCY_TEST_LOCALE=de_DE.UTF-8
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # the C library keeps what it read in LOCPATH
export LOCPATH HCY_TEST_LOCALE ASAN_OPTIONS
localedef -c -f UTF-8 -i de_DE "$LOCPATH/$HCY_TEST_LOCALE" >/dev/null 2>&1
comma=`LC_ALL=$HCY_TEST_LOCALE locale decimal_point 2>/dev/null`
if [ "$comma" != , ]; then
    echo '1..0 # SKIP no locale with decimal commas can be made here (localedef, and the sources in /usr/share/i18n)'
    exit 0
fi
n=0
failed=0
for test in azint_poni config results pipeline_norm "cts_trace cpu"; do
    n=`expr $n + 1`
    # shellcheck disable=SC2086 # a program and its argument
    if "$top_builddir"/tests/$test >"$LOCPATH/log" 2>&1; then
        echo "ok $n - $test"
    else
        failed=1
        echo "not ok $n - $test"
        grep -av '^ok' "$LOCPATH/log" | tail -n 20 | sed 's/^/# /'
    fi
done
echo "1..$n"
exit $failed
