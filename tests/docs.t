# The manual pages, the completion and the environment against the code.  From the makefile: top_srcdir, HALCYON, CC,
# HCY_HEADERS (paths in the source tree).
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
unset HALCYON_DEVICE HALCYON_BACKENDS
doc=$top_srcdir/doc
n=0

ok() { # TEXT: the lines of $dir/wrong should not be there
    n=$((n + 1))
    if [ -s "$dir/wrong" ]; then
        echo "not ok $n - $1"
        sed 's/^/# /' "$dir/wrong"
    else
        echo "ok $n - $1"
    fi
}
same() { # TEXT WANTED GOT: two lists, in files
    sort "$2" > "$dir/a"
    sort "$3" > "$dir/b"
    diff "$dir/a" "$dir/b" > "$dir/wrong" 2>&1
    [ -s "$2" ] || echo "the list is empty" > "$dir/wrong"
    ok "$1"
}
skip() { n=$((n + 1)); echo "ok $n # SKIP $1"; }

# --- The environment ---
(cd "$top_srcdir" && find hal src backends tests -name '*.[ch]' -exec \
    grep -ohE 'getenv\("(HALCYON_[A-Z0-9_]+|TMPDIR)"\)' {} +) | sed 's/.*"\(.*\)".*/\1/' | sort -u > "$dir/code"
sed -n 's/^\.It Ev //p' "$doc/halcyon.7" | tr -d , | tr ' ' '\n' | sed '/^$/d' > "$dir/page"
same "halcyon.7 has every variable of the environment, and no other" "$dir/code" "$dir/page"

# --- The overview ---
(cd "$top_srcdir" && grep -rohE '(\{ |COUNT\()"[a-z-]+", (HCY_OPTION_|[a-z_]+, ")' hal backends --include='*.[ch]') |
    sed 's/[^"]*"\([^"]*\)".*/\1/' | sort -u > "$dir/code"
sed -n '/^\.Ss Device strings/,/^\.Sh ENV/s/^\.It Li //p' "$doc/halcyon.7" | grep -oE '[a-z-]+=' | tr -d = | sort -u > "$dir/page"
same "halcyon.7 has the options of every backend, and no other" "$dir/code" "$dir/page"
for h in $HCY_HEADERS; do
    case $h in */halcyon/*) echo "halcyon_$(basename "$h" .h)" ;; esac
done > "$dir/code"
sed -n 's/^\.It Xr \(halcyon_[a-z_0-9]*\) 3$/\1/p' "$doc/halcyon.7" > "$dir/page"
same "halcyon.7 names the page of every header" "$dir/code" "$dir/page"

# --- The command ---
"$HALCYON" --help | sed -n 's/^  \([a-z][a-z0-9 -]*[a-z0-9]\)  .*/\1/p' > "$dir/subs"
awk '/^\.Sh / { on = $2 == "DESCRIPTION" } on && /^\.Ss [a-z]/ { print substr($0, 5) }' "$doc/halcyon.1" > "$dir/page"
same "halcyon.1 has a section for every subcommand" "$dir/subs" "$dir/page"
while read -r sub; do
    # shellcheck disable=SC2086 # several words on purpose
    "$HALCYON" $sub --help-all | sed -nE 's/^  (-.), (--[a-z0-9-]+)( [^ ]+)?(  .*)?$/\1 \2\3/p
                                        s/^      (--[a-z0-9-]+)( [^ ]+)?(  .*)?$/\1\2/p' | grep -v -e '--help' > "$dir/code"
    awk -v sub_="$sub" '/^\.S[hs] / { on = substr($0, 5) == sub_ } on && /^\.It Fl / {
        out = ""
        for (i = 2; i <= NF; i++)
            if ($i == "Fl") out = out " -" $(++i)
            else if ($i != "," && $i != "Ar") out = out " " $i
        print substr(out, 2) }' "$doc/halcyon.1" > "$dir/page"
    same "halcyon.1 has the options of $sub" "$dir/code" "$dir/page"
done < "$dir/subs"
{
    "$HALCYON" --help
    while read -r sub; do
        # shellcheck disable=SC2086 # several words on purpose
        "$HALCYON" $sub --help && "$HALCYON" $sub --help-all
    done < "$dir/subs"
} > "$dir/page"
awk 'length > 80' "$dir/page" > "$dir/wrong"
[ "$(wc -l < "$dir/page")" -gt 100 ] || echo "these are not all the helps" > "$dir/wrong"
ok "no line of any --help is wider than 80 columns"

# --- The library ---
: > "$dir/untold"
grep -oE 'X\(HCY_E[A-Z]+' "$top_srcdir/hal/halcyon/status.h" | sed 's/X(//' > "$dir/statuses"
for h in $HCY_HEADERS; do
    case $h in */halcyon/*) ;; *) continue ;; esac # formats are part of the headers that include them
    name=$(basename "$h" .h)
    page=$doc/halcyon_$name.3
    tr '\n' ' ' < "$top_srcdir/$h" | sed 's/HCY_API/\n&/g' | sed -nE 's/^HCY_API [^(;]*[ *](hcy_[a-z0-9_]+)\(.*/\1/p' \
        > "$dir/code"
    sed -n 's/^\.Fo //p' "$page" > "$dir/page" 2>/dev/null
    [ -s "$dir/code" ] || { echo none >> "$dir/code"; echo none >> "$dir/page"; }
    same "halcyon_$name.3 has the functions of <halcyon/$name.h>" "$dir/code" "$dir/page"
    sed '1,/^\.Sh DESCRIPTION/d; /^\.Sh EXAMPLES/,$d' "$page" > "$dir/text"
    grep -ohE '\bHCY_E[A-Z]+\b' "$top_srcdir/$h" | sort -u | grep -xFf "$dir/statuses" >> "$dir/page"
    while read -r word; do
        [ "$word" = none ] || grep -qw -e "$word" "$dir/text" || echo "$page: $word" >> "$dir/untold"
    done < "$dir/page"
done
sed "s|$doc/||" "$dir/untold" > "$dir/wrong"
ok "the pages say something of each function and of each status that a header names"
grep -oE 'X\(HCY_[A-Z]+, -?[0-9]+' "$top_srcdir/hal/halcyon/status.h" | sed 's/X(//; s/,//' > "$dir/code"
sed -nE 's/^\.It Dv (HCY_[A-Z]+) Pq (-?[0-9]+)$/\1 \2/p' "$doc/halcyon_status.3" > "$dir/page"
same "halcyon_status.3 has every status" "$dir/code" "$dir/page"

# Who writes a backend has the page alone.
awk '/^typedef struct [a-z_]+ \{|^enum hcy_option_kind/ { inside = 1; next } /^}/ { inside = 0 }
     inside && /^ *\*/ { next } # the rest of a comment
     inside { gsub(/\/\*.*/, ""); while (match($0, /\(\*[a-z0-9_]+\)|[a-z0-9_]+(\[[0-9]\])?[,;]/)) {
         name = substr($0, RSTART, RLENGTH); gsub(/\[.*|[(*),;]/, "", name); print name
         $0 = name && /\(\*/ ? "" : substr($0, RSTART + RLENGTH) } }
     /^HCY_API/ && match($0, /hcy_[a-z0-9_]+\(/) { print substr($0, RSTART, RLENGTH - 1) }' \
    "$top_srcdir/hal/halcyon/backend.h" | sort -u > "$dir/code"
sed -n '/^\.Sh DESCRIPTION/,/^\.Sh RETURN/p' "$doc/halcyon_backend.3" > "$dir/page"
[ "$(wc -l < "$dir/code")" -gt 100 ] && : > "$dir/wrong" || echo "these are not all names" > "$dir/wrong"
while read -r name; do
    grep -qw -e "$name" "$dir/page" || echo "$name" >> "$dir/wrong"
done < "$dir/code"
ok "halcyon_backend.3 says what each slot, member and function of <halcyon/backend.h> is"

includes=
for h in $HCY_HEADERS; do
    case $h in
    */halcyon/*) includes="$includes -I$top_srcdir/${h%/halcyon/*}" ;;
    *) includes="$includes -I$top_srcdir/${h%/*}" ;; # a format's header
    esac
done
: > "$dir/all"
for page in "$doc"/halcyon_*.3; do
    awk '/^\.Sh EXAMPLES/ { on = 1 } on && /^\.Ed/ { exit } inside { gsub(/\\e/, "\\"); print }
         on && /^\.Bd/ { inside = 1 }' "$page" > "$dir/example.c"
    [ -s "$dir/example.c" ] || echo "$page has no example" >> "$dir/all"
    # shellcheck disable=SC2086 # several words on purpose
    $CC -std=c11 -Wall -Wno-unused -Werror -fsyntax-only $includes "$dir/example.c" >> "$dir/all" 2>&1
done
cp "$dir/all" "$dir/wrong"
ok "the examples of the pages compile"

# An example of a header is an indented block after a line that ends in "For example:".  What stands before an empty line
# of a block that begins with `static` is not inside of a function.  The objects here are given; all else is declared.
cat > "$dir/given.h" << 'EOF'
#include <halcyon/bslz4.h>
#include <halcyon/nufft.h>
#include <halcyon/pipeline.h>
extern hcy_device *device;
extern hcy_queue *queue;
extern hcy_buffer *buffer, *tables;
extern hcy_kernel *kernel;
extern hcy_program *program;
extern size_t n, capacity, height, width, bytes;
/* azint.h, bslz4.h */
extern hcy_azint_result *result;
extern uint64_t *sums, *offset;
extern hcy_frame_report *report, *reports;
extern hcy_bslz4_frame *frames;
extern hcy_bslz4_block *blocks;
extern hcy_bslz4_job job;
extern const void **chunk;
extern size_t *size;
/* nufft.h */
extern double *x, *y, *strengths, *coefficients;
/* the vendors' headers */
typedef void *cudaStream_t, *cl_kernel, *cl_mem;
extern cl_kernel cl;
extern int cudaMemsetAsync(void *, int, size_t, cudaStream_t), clSetKernelArg(cl_kernel, unsigned, size_t, const void *);
EOF
: > "$dir/all"
examples=0
for h in $HCY_HEADERS; do
    awk -v out="$dir/example.c" -v name="$h" '
        BEGIN { printf "" > out }
        /For example:$/ { on = 1; next }
        on && /^ \*$/ { blank++; if (blank > 1 && outside) { outside = 0; print "static void example(void)\n{" > out } next }
        on && /^ \*    / {
            if (blank == 1) { blank++; outside = /static/; if (!outside) print "static void example(void)\n{" > out }
            print substr($0, 3) > out; next }
        on { print "}" > out; on = blank = 0 }
        /^ \*  .*hcy_[a-z0-9_]+\(.*\);/ { print name ": code without \"For example:\": " $0 }' "$top_srcdir/$h" >> "$dir/all"
    [ -s "$dir/example.c" ] || continue
    examples=$((examples + 1))
    printf '#include "given.h"\n#include <halcyon/%s>\n' "${h##*/}" | cat - "$dir/example.c" > "$dir/whole.c"
    # shellcheck disable=SC2086 # several words on purpose
    $CC -std=c11 -Wall -Wno-unused -Wno-unused-result -Werror -fsyntax-only -I"$dir" $includes "$dir/whole.c" >> "$dir/all" 2>&1
done
[ $examples -gt 0 ] || echo "no header has an example" >> "$dir/all"
cp "$dir/all" "$dir/wrong"
ok "the examples of the headers compile"

# Of Halcyon's own, that is; others' pages are the system's.
sed -nE 's/^\.Xr (halcyon[a-z0-9_-]*|hcy_[a-z0-9_]*) ([0-9]).*/\1.\2/p' "$doc"/*.[137] | sort -u > "$dir/code"
[ -s "$dir/code" ] && : > "$dir/wrong" || echo "no page names another" > "$dir/wrong"
while read -r page; do
    [ -e "$doc/$page" ] || echo "$page" >> "$dir/wrong"
done < "$dir/code"
ok "a page that another one names is there"

# --- How they are set ---
lint() { # PROGRAM ARGUMENTS...
    if ! command -v "$1" > "$dir/null"; then
        skip "no $1"
        return
    fi
    for page in "$doc"/*.[137]; do "$@" "$page"; done 2>&1 > "$dir/out" | cat > "$dir/wrong"
    [ "$1" != mandoc ] || cp "$dir/out" "$dir/wrong"
    ok "$1 has nothing to say about the pages"
}
lint mandoc -Tlint -Wwarning
lint groff -mdoc -Tutf8 -ww

# --- Completion ---
complete_() { # WORDS...: what bash would offer for the last of them
    # shellcheck disable=SC2016 # for the inner shell
    "$bash" -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _halcyon "$1" "${@: -1}" "${@: -2:1}"; printf "%s\n" "${COMPREPLY[@]}"' - "$top_srcdir/completions/halcyon" "$HALCYON" "$@"
}
if bash=$(command -v bash); then
    complete_ "" > "$dir/page"
    { sed 's/ .*//' "$dir/subs" | sort -u; printf '%s\n' help --help --version; } > "$dir/code"
    same "completion offers the subcommands" "$dir/code" "$dir/page"
    while read -r sub; do
        # shellcheck disable=SC2086 # several words on purpose
        "$HALCYON" $sub --help-all | grep -oE '^ +(-., )?--[a-z0-9-]+' | tr -d ', ' | sed 's/^\(-[a-zA-Z]\)--/\1\n--/' > "$dir/code"
        # shellcheck disable=SC2086 # several words on purpose
        complete_ $sub - > "$dir/page"
        same "completion offers the options of $sub" "$dir/code" "$dir/page"
    done < "$dir/subs"
    complete_ bench nuff > "$dir/page"
    echo nufft > "$dir/code"
    same "completion offers second words" "$dir/code" "$dir/page"
    complete_ integrate -d cp > "$dir/page"
    echo cpu > "$dir/code"
    same "completion offers devices" "$dir/code" "$dir/page"
    complete_ integrate --devices auto,cp > "$dir/page"
    echo auto,cpu > "$dir/code"
    same "... in a list too" "$dir/code" "$dir/page"
    complete_ integrate --split "" > "$dir/page"
    printf '%s\n' no bbox full pseudo > "$dir/code"
    same "completion offers values" "$dir/code" "$dir/page"
    complete_ integrate -u 2th > "$dir/page"
    printf '%s\n' 2th_deg 2th_rad > "$dir/code"
    same "completion offers units" "$dir/code" "$dir/page"
    complete_ nufft --device cp > "$dir/page"
    echo cpu > "$dir/code"
    same "completion offers the device of nufft" "$dir/code" "$dir/page"
    touch "$dir/x.poni"
    for option in -p --poni; do complete_ integrate $option "$dir/x.p"; done > "$dir/page"
    printf '%s\n' "$dir/x.poni" "$dir/x.poni" > "$dir/code"
    same "completion offers files for values" "$dir/code" "$dir/page"
    (cd "$dir" && complete_ integrate --json x.) > "$dir/page"
    echo x.poni > "$dir/code"
    same "completion offers files for operands" "$dir/code" "$dir/page"
else
    skip "no bash"
fi

# zsh and fish: the same lists.
"$HALCYON" integrate --help-all | grep -oE '^ +(-., )?--[a-z0-9-]+' | tr -d ', ' | sed 's/^\(-[a-zA-Z]\)--/\1\n--/' \
    > "$dir/options"
printf '%s\n' no bbox full pseudo > "$dir/splits"
if command -v zsh > "$dir/null"; then
    zsh_() { # WORDS...: what is offered for the last one
        HALCYON_COMPLETION_TEST=1 zsh -fc 'compadd() { while [[ $1 != -- ]]; do shift; done; shift; (( $# == 0 )) || print -l -- "$@" }
            _files() { print FILES }
            source $1; shift; words=("$@"); CURRENT=$#words; _halcyon' - "$top_srcdir/completions/_halcyon" "$HALCYON" "$@"
    }
    zsh_ integrate - > "$dir/page"
    same "zsh: options" "$dir/options" "$dir/page"
    zsh_ integrate --split "" > "$dir/page"
    same "zsh: values" "$dir/splits" "$dir/page"
    zsh_ integrate --unit "" | grep 2th > "$dir/page"
    printf '%s\n' 2th_deg 2th_rad > "$dir/code"
    same "zsh: units" "$dir/code" "$dir/page"
    zsh_ nufft --device "" | grep -x cpu > "$dir/page"
    echo cpu > "$dir/code"
    same "zsh: devices" "$dir/code" "$dir/page"
    zsh_ "" > "$dir/page"
    { sed 's/ .*//' "$dir/subs" | sort -u; printf '%s\n' help --help --version; } > "$dir/code"
    same "zsh: subcommands" "$dir/code" "$dir/page"
    zsh_ integrate x > "$dir/page"
    echo FILES > "$dir/code"
    same "zsh: files" "$dir/code" "$dir/page"
else
    skip "no zsh"
fi
if command -v fish > "$dir/null"; then
    fish_() { # LINE: what is offered for its last word
        (cd "$dir" && HOME=$dir PATH=$(dirname "$HALCYON"):$PATH fish --no-config -c \
            'source $argv[1]; complete -C $argv[2]' "$top_srcdir/completions/halcyon.fish" "halcyon $1" | sed 's/\t.*//')
    }
    fish_ "integrate -" > "$dir/page"
    same "fish: options" "$dir/options" "$dir/page"
    fish_ "integrate --split " > "$dir/page"
    same "fish: values" "$dir/splits" "$dir/page"
    fish_ "nufft --device cp" > "$dir/page"
    echo cpu > "$dir/code"
    same "fish: devices" "$dir/code" "$dir/page"
    fish_ "bench nuff" > "$dir/page"
    echo nufft > "$dir/code"
    same "fish: second words" "$dir/code" "$dir/page"
else
    skip "no fish"
fi

# --- PyCUDA's table: programs that are there, and run; functions that are there ---
{
    grep -o '[a-z_]*\.c\>' "$doc/pycuda.md" | sort -u | while read -r name; do
        grep -qw "${name%.c}" "$top_srcdir/tests/examples.t" "$top_srcdir"/tests/dist*.t || echo "$name runs in no test"
        [ -r "$top_srcdir/examples/$name" ] || echo "there is no examples/$name"
    done
    # shellcheck disable=SC2086 # a list of files
    grep -ow 'hcy_[a-z0-9_]*()' "$doc/pycuda.md" | sort -u | while read -r name; do
        (cd "$top_srcdir" && grep -qw "${name%??}" $HCY_HEADERS) || echo "no header has $name"
    done
} > "$dir/wrong" 2>&1
ok "pycuda.md names examples that run, and functions that there are"
echo "1..$n"
