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

compiles() { # WHAT COMPILER...
    what=$1
    shift
    n=$((n + 1))
    if "$@" >"$dir/log" 2>&1; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        sed 's/^/# /' "$dir/log"
    fi
}

in_both() { # WHAT: $dir/t.c
    cp "$dir/t.c" "$dir/t.cpp"
    # shellcheck disable=SC2086 # several words on purpose
    compiles "$1 as C" $CC -std=c11 $flags $rooms "$dir/t.c"
    if [ -n "$CXX" ]; then
        # shellcheck disable=SC2086
        compiles "$1 as C++" $CXX -std=c++11 $flags $rooms "$dir/t.cpp"
    else
        n=$((n + 1))
        echo "ok $n # SKIP no C++ compiler"
    fi
}

for h in $HCY_HEADERS; do
    case $h in
    */halcyon/*) name=halcyon/${h##*/} ;;
    *) name=${h##*/} ;;
    esac
    # twice, so that the include guard is tried too; a line of its own, so that it is no empty translation unit
    printf '#include <%s>\n#include <%s>\nextern int hcy_header_test;\n' "$name" "$name" >"$dir/t.c"
    in_both "<$name> alone"
done

# What structs begin with: HCY_NAME_INIT is of hcy_name.
for h in $HCY_HEADERS; do
    case $h in */halcyon/*) printf '#include <halcyon/%s>\n' "${h##*/}" ;; esac
done >"$dir/t.c"
# shellcheck disable=SC2086
for name in $(cd "$top_srcdir" && sed -n 's/^#define HCY_\([A-Z_]*\)_INIT .*/\1/p' $HCY_HEADERS); do
    type=hcy_$(printf %s "$name" | tr A-Z a-z)
    printf 'extern %s %s_0;\n%s %s_0 = HCY_%s_INIT;\n' "$type" "$type" "$type" "$type" "$name"
done >>"$dir/t.c"
in_both "every INIT macro"

# The macros that take arguments as further ones.
cat >"$dir/t.c" <<'END'
#include <halcyon/formula.h>
int use(hcy_queue *queue, hcy_formula *f, hcy_array *a, hcy_term *t);
int use(hcy_queue *queue, hcy_formula *f, hcy_array *a, hcy_term *t)
{
    *t = HCY_TERM(f, "+", HCY_TERM(f, "sin", *t), *t);
    return HCY_EVAL(queue, "x = n", hcy_op_array("x", a), hcy_op_real("n", 1));
}
END
in_both "HCY_EVAL and HCY_TERM"
echo "1..$n"
