# Every installed header compiles alone, as C11 and as C++11, without warnings.
# From the makefile: top_srcdir, CC, CXX ("" if there is none), HCY_HEADERS (paths in the source tree).
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only"
for h in $HCY_HEADERS; do
    case $h in
    */halcyon/*) room=${h%/halcyon/*} ;;
    *) room=${h%/*} ;; # a format's header: installed beside those that include it
    esac
    case " $rooms " in *" -I$top_srcdir/$room "*) ;; *) rooms="$rooms -I$top_srcdir/$room" ;; esac
done
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

check() { # LANGUAGE NAME COMPILER...
    language=$1 name=$2
    shift 2
    n=$((n + 1))
    # twice, so that the include guard is tried too; a line of its own, so that it is no empty translation unit
    printf '#include <%s>\n#include <%s>\nextern int hcy_header_test;\n' "$name" "$name" > "$dir/t.c"
    cp "$dir/t.c" "$dir/t.cpp"
    if "$@" >"$dir/log" 2>&1; then
        echo "ok $n - <$name> alone as $language"
    else
        echo "not ok $n - <$name> alone as $language"
        sed 's/^/# /' "$dir/log"
    fi
}

for h in $HCY_HEADERS; do
    case $h in
    */halcyon/*) name=halcyon/${h##*/} ;;
    *) name=${h##*/} ;;
    esac
    # shellcheck disable=SC2086 # several words on purpose
    check C "$name" $CC -std=c11 $flags $rooms "$dir/t.c"
    if [ -n "$CXX" ]; then
        # shellcheck disable=SC2086
        check C++ "$name" $CXX -std=c++11 $flags $rooms "$dir/t.cpp"
    else
        n=$((n + 1))
        echo "ok $n # SKIP no C++ compiler"
    fi
done
echo "1..$n"
