# tests/run-test gives tests the command itself in place of libtool's script around it, from wherever they are.
# From the makefile: top_srcdir, SHELL.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
runner=$(cd "$top_srcdir/tests" && pwd)/run-test
n=0

# What a test elsewhere that runs $HALCYON gets, with the command called $1.
runs() { # COMMAND WANTED WHAT
    n=$((n + 1))
    got=$(cd "$dir" && HALCYON=$1 "${SHELL:-/bin/sh}" "$runner" ./elsewhere.t)
    if [ "$got" = "$2" ]; then
        echo "ok $n - $3"
    else
        echo "not ok $n - $3"
        echo "# $got, wanted $2"
    fi
}

mkdir "$dir/build" "$dir/build/.libs" "$dir/elsewhere"
# shellcheck disable=SC2016 # the test's own
echo 'cd elsewhere && "$HALCYON"' >"$dir/elsewhere.t"
printf '#!/bin/sh\necho script\n' >"$dir/build/halcyon"
printf '#!/bin/sh\necho itself\n' >"$dir/build/.libs/halcyon"
chmod +x "$dir/build/halcyon" "$dir/build/.libs/halcyon"
runs "$dir/build/halcyon" itself "the command itself in place of the script"
runs build/halcyon itself "that of a relative path, too"
# A shell runs what has no #! as its own.
echo 'echo program' >"$dir/build/halcyon"
runs "$dir/build/halcyon" program "a command that is no script is itself, whatever an earlier build has left"
echo "1..$n"
