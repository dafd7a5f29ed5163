# What a profiler of Intel's sees (fake_itt.c), of both kinds that there are; and one that does not come.
# From the makefile: top_srcdir, CC, HALCYON_BACKEND_PATH, HCY_SANITIZER.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
skip() { echo "1..0 # SKIP $1"; exit 0; }
[ -z "$HCY_SANITIZER" ] || skip "a library without it goes with the process"
make_() { # NAME FLAGS...: a library
    name=$1
    shift
    $CC -std=gnu11 -O2 -shared -fPIC -o "$dir/$name" "$@" > "$dir/log" 2>&1
}
fail() { echo "1..1"; echo "not ok 1 - $1"; sed 's/^/# /' "$dir/log"; exit 1; }
make_ empty.so -xc /dev/null || skip "no library can be built here"
make_ names.so "$top_srcdir/tests/fake_itt.c" -lpthread || fail "a collector with its functions' names is built"
make_ table.so -DFAKE_INIT "$top_srcdir/tests/fake_itt.c" -lpthread || fail "one that fills a table is built"

echo "1..10"
export FAKE_ITT_LOG="$dir/tasks" INTEL_LIBITTNOTIFY64 INTEL_LIBITTNOTIFY32
run() { # COLLECTOR PROGRAM: its checks pass
    INTEL_LIBITTNOTIFY64=$dir/$1 INTEL_LIBITTNOTIFY32=$dir/$1
    rm -f "$FAKE_ITT_LOG"
    if tests/$2 cpu > "$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"; then
        echo "ok - $2 with $1"
    else
        echo "not ok - $2 with $1"
        grep -v '^ok' "$dir/out" | head -n 20 | sed 's/^/# /'
    fi
}
has() { # PATTERN WHAT
    if grep -q "$1" "$FAKE_ITT_LOG"; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        sed 's/^/# /' "$FAKE_ITT_LOG"
    fi
}
for kind in names.so table.so; do
    run $kind cts_buffer
    has '^halcyon write [1-9]' "copies are tasks by the timeline's names"
    run $kind eval_seen
    has '^halcyon eval_run [1-9]' "launches, too, those that run in the caller's thread"
done
has '^missing 0$' "each that began has ended"
run not-there.so cts_buffer
