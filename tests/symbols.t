# The library exports what its public headers declare with HCY_API, all of it and nothing else; a module exports its
# entry point alone.  From the makefile: top_srcdir, top_builddir, NM, HCY_HEADERS.
lib=$(ls "$top_builddir"/.libs/libhalcyon.so 2>/dev/null)
if [ -z "$lib" ] || [ "$NM" = : ]; then
    echo "1..0 # SKIP no shared library, or no nm"
    exit 0
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
# Functions and data, without the symbol of the version itself and what sanitizers and profilers add.
exported() { "$NM" -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | grep -Ev '^(__|_init$|_fini$)' | LC_ALL=C sort -u; }

for h in $HCY_HEADERS; do
    cat "$top_srcdir/$h"
done | tr '\n' ' ' | sed 's/HCY_API/\nHCY_API/g' | sed -n 's/^HCY_API[^(;]*[ *]\(hcy_[a-z0-9_]*\)[ (;[].*/\1/p' | LC_ALL=C sort -u > "$dir/declared"
exported "$lib" > "$dir/exported"

compare() { # NUMBER TEXT FILE: the file must be empty
    if [ -s "$3" ]; then
        echo "not ok $1 - $2"
        sed 's/^/# /' "$3"
    else
        echo "ok $1 - $2"
    fi
}
LC_ALL=C comm -23 "$dir/declared" "$dir/exported" > "$dir/missing"
LC_ALL=C comm -13 "$dir/declared" "$dir/exported" > "$dir/extra"
if [ "$(wc -l < "$dir/declared")" -ge 20 ]; then echo "ok 1 - the headers declare functions"; else echo "not ok 1 - the headers declare functions"; fi
compare 2 "all that is declared is exported" "$dir/missing"
compare 3 "nothing else is exported" "$dir/extra"
grep -o 'hcy_[a-z0-9_]*(' "$top_srcdir/tests/nulls.c" | tr -d '(' | LC_ALL=C sort -u > "$dir/called"
LC_ALL=C comm -23 "$dir/declared" "$dir/called" > "$dir/missing"
compare 4 "all that is declared is called with NULL (tests/nulls.c)" "$dir/missing"
n=4
for module in "$top_builddir"/.libs/hcy_*.so "$top_builddir"/.libs/halcyon-dist-*.so; do
    [ -e "$module" ] || continue
    n=$((n + 1))
    exported "$module" | grep -vxE 'hcy_(backend|transport)_entry' > "$dir/module"
    compare "$n" "${module##*/} exports its entry point alone" "$dir/module"
done
n=$((n + 1))
if command -v readelf > "$dir/module"; then
    readelf -d "$lib" | grep -c 'FLAGS.*NODELETE' > "$dir/marks"
    grep -vx '[1-9]' "$dir/marks" > "$dir/module"
    compare "$n" "it stays where a host closes the plugin that brought it" "$dir/module"
else
    echo "ok $n # SKIP no readelf"
fi
echo "1..$n"
