# cli.sh - what the tests of the command share.  `test_name=NAME; . cli.sh`: then they stand in a folder of their own, and
# $halcyon, $json (tests/cli_json) and $data are absolute.
halcyon=${HALCYON:-./halcyon}
json=${top_builddir:-.}/tests/cli_json
data=${HALCYON_TEST_DATA:-../shared/data}
case $halcyon in /*) ;; *) halcyon=`pwd`/$halcyon ;; esac
case $json in /*) ;; *) json=`pwd`/$json ;; esac
case $data in /*) ;; *) data=`pwd`/$data ;; esac
LC_ALL=C
export LC_ALL
n=0
failed=0
work=`mktemp -d "${TMPDIR:-/tmp}/halcyon-$test_name.XXXXXX"` || exit 99
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 99

# threads_elsewhere: ThreadSanitizer, under which commands take ten times as long, sees nothing in this script that it does
# not see in shorter tests of the same threads.
threads_elsewhere()
{
    case ${HCY_SANITIZER-} in *thread*) echo '1..0 # SKIP these threads have shorter tests'; exit 0 ;; esac
}

# trust_zmq: ThreadSanitizer does not see how ZeroMQ's own threads wait for one another, which decrypt with libsodium.
trust_zmq()
{
    case ${HCY_SANITIZER-} in
    *thread*)
        # One file of these counts, the last that is named.
        given=$(printf %s "${TSAN_OPTIONS-}" | sed -n 's/.*suppressions=\([^: ]*\).*/\1/p')
        { [ -z "$given" ] || cat "$given"; printf 'called_from_lib:%s\n' libzmq.so.5 libsodium.so.23; } >"$work/tsan"
        TSAN_OPTIONS="${TSAN_OPTIONS-} suppressions=$work/tsan"
        export TSAN_OPTIONS ;;
    esac
}

# check WHAT COMMAND...: the command succeeds.
check()
{
    what=$1
    shift
    n=$((n + 1))
    if "$@" >check.log 2>&1; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        echo "# $*"
        { head -c 2000 check.log; echo; } | sed 's/^/# /' # the next line is one of its own
        failed=1
    fi
}
skip() { n=$((n + 1)); echo "ok $n # SKIP $1"; }
not() { if "$@"; then return 1; else return 0; fi; }
equals() { if [ "$1" = "$2" ]; then :; else echo "got '$1', want '$2'"; return 1; fi; }
# refused STATUS WORD COMMAND...: it ends with the status, says the word on stderr, and nothing on stdout.
refused()
{
    status=$1 word=$2
    shift 2
    "$@" >refused.out 2>refused.err
    equals $? "$status" || { cat refused.err; return 1; }
    [ -s refused.out ] && { echo "stdout is not empty"; return 1; }
    grep -e "$word" refused.err >/dev/null && return 0
    echo "no '$word' in:"
    cat refused.err
    return 1
}
# marked_driver: a libcuda.so.1 that leaves driver/loaded where it is loaded; a failure where none can be.
marked_driver()
{
    [ -z "${HCY_SANITIZER-}" ] && mkdir driver && cat >driver/cuda.c <<'C' || return 1
#include <stdio.h>
static void __attribute__((constructor)) leave_mark(void)
{
    FILE *mark = fopen("driver/loaded", "w");
    if (mark)
        fclose(mark);
}
C
    ${CC-cc} -shared -fPIC -o driver/libcuda.so.1 driver/cuda.c >driver/log 2>&1 || return 1
    with_driver devices >driver/log 2>&1 # not so in a build without CUDA
    rm driver/loaded 2>/dev/null
}
# with_driver SUBCOMMAND...: with that one, and no devices named.
with_driver()
{
    env -u HALCYON_DEVICE -u HALCYON_BACKENDS LD_LIBRARY_PATH="`pwd`/driver:${LD_LIBRARY_PATH-}" "$halcyon" "$@"
}
