# The rules that a reader of the source relies on.  From the makefile: top_srcdir.
cd "$top_srcdir" || exit 99
rooms="hal families backends src transports h5plugin" # of the library and its modules
echo "1..21"

none() { # TEXT; reads the lines that must not be there
    found=$(cat)
    if [ -n "$found" ]; then
        echo "not ok - $1"
        echo "$found" | sed 's/^/# /'
    else
        echo "ok - $1"
    fi
}
sources() { find "$@" -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.cl' -o -name '*.cu' -o -name '*.cpp' \) | LC_ALL=C sort; }
# Source with comments and string constants blanked: FILE:LINE:TEXT.
code() {
    for f in $(sources "$@"); do
        awk -v file="$f" '
            { line = $0; out = ""
              while (length(line)) {
                  if (inside) {
                      end = index(line, "*/")
                      if (!end) { line = ""; break }
                      line = substr(line, end + 2); inside = 0
                  } else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"/)) {
                      token = substr(line, RSTART, RLENGTH)
                      out = out substr(line, 1, RSTART - 1)
                      line = substr(line, RSTART + RLENGTH)
                      if (token == "//") line = ""
                      else if (token == "/*") inside = 1
                      else out = out "\"\""
                  } else { out = out line; line = "" }
              }
              print file ":" FNR ":" out }' "$f"
    done
}

code src | grep -iE '(cuda|opencl|nvrtc|cufft|xrt)' | none "src/ names no vendor"
code backends/xrt | grep -E '\<xrt(Device|Xclbin|BO|Kernel|Run|ErrorGet)' | grep -v -e '/card\.c:' -e '/xrt_syms\.def:' |
    none "XRT's interface is used in one file"
stems=$(for folder in families/*/; do basename "$folder"; done | paste -sd '|')
sources hal | xargs grep -niE "$stems|bitshuffle|azimuth|poni|hcy__families|families\.(h|def)" | none "hal/ names no algorithm, nor the table of families"
code $rooms | grep -v '^src/cli/' \
    | grep -E '[^a-z_](v?printf|puts|putchar|perror|abort|_?exit|assert)[[:space:]]*\(|f(printf|puts|putc) *\(.*std(out|err)' \
    | none "the library never prints, aborts or exits"
code $rooms | grep -v '^src/cli/' \
    | grep -E '[^a-z_](strerror|strtok|localtime|gmtime|rand|setlocale)[[:space:]]*\(' \
    | none "the library calls nothing that is unsafe between threads"
code $rooms | grep -v -e '^src/cli/' -e '^hal/thread\.h:' | grep 'pthread_create' | none "signals stay the host's: threads come from hal/thread.h"
grep -nE '\<(u8|u16|u32|u64|i32|i64|int|float|double|REAL) (half|pipe|kernel|global|local|constant|private|quad)\>' backends/gpu/*/*.cl \
    | none "no variable of a GPU kernel is named as a word of OpenCL C"
grep -nE '(ITEM|GROUP_SIZE|GPU_PARSE_GROUP|group) *[%/] *32\>|\<3[12] \* (lane|h \+|GPU_|blocks)|lane (<|==) 3[12]\>' backends/gpu/*.* backends/gpu/*/*.* \
    | none "how many lanes run in step is called GPU_LANES"
# Law 2.  What launches a kernel, or is launched, does not count its arguments.
grep -rlE '\<(hcy_arg|hcy_value|cpu_call|gpu_call)\>' src backends bench --include='*.[ch]' | grep -v '^backends/opencl/vkfft/' \
    | xargs grep -nE '\<args?\[([0-9]|n\+\+|n - [0-9])|\<(values|v)\[[0-9]\]\.(bytes|block)|cpu_arg(_size)?\([a-z]+, [0-9]|hcy_arg [a-z_]+\[[0-9]*\] = \{ *hcy_arg|enum \{ ([A-Z]+_)?(CHUNKS|IMAGES|SORTED)\>' \
    | none "arguments of kernels go by their names, not by their places (families/arguments.h)"
code src backends h5plugin | grep -E 'HCY_AZINT_RUN_(BIN|N|MORE)\>|HCY_PIXEL_[A-Z0-9]+\] *= *[{0-9]' |
    none "runs, types of pixels are read and tabled in families/ alone"
# One line for a family in the register of families and one in the makefile's; all else is in its folders.
{
    for stem in $(echo "$stems" | tr '|' ' '); do
        [ "$(grep -c "$stem" families/families.def)" = 1 ] || echo "families/families.def: $stem"
        [ "$(grep -c "^include.*$stem" Makefile.am)" = 1 ] || echo "Makefile.am: $stem"
    done
    grep -nE "$stems" configure.ac families/families.[ch] hal/local.mk backends/*/local.mk kernels_hls/local.mk \
        backends/cpu/*.[ch] backends/gpu/gpu_kernels.c backends/gpu/text.sh kernels_hls/args.[ch]
} | none "a kernel family is a line in families.def and one in Makefile.am"
# Law 1.  Headers have names of their own, so an include is told from the name alone whatever path it is found by.
headers_of() { find "$@" -name '*.h' | sed 's#.*/##' | LC_ALL=C sort -u; }
includes_of() { grep -rnE '^ *# *include "' "$@" --include='*.[ch]' --include='*.cl' --include='*.cpp' --include='*.def'; }
not_among() { # FILE with names: the includes whose header's name is one of these
    awk -v list="$1" 'BEGIN { while ((getline name < list) > 0) bad[name] = 1 }
        { path = $0; sub(/.*include "/, "", path); sub(/".*/, "", path); sub(/.*\//, "", path); if (path in bad) print }'
}
names=$(mktemp) || exit 99
headers_of src h5plugin > "$names"
includes_of hal families backends transports kernels_hls | not_among "$names" |
    none "backends include hal/, families/ and each other's; nothing of src/"
headers_of backends transports kernels_hls | grep -v '^cpu\.h$' > "$names"
includes_of hal families src | grep -v '^src/cli/fpga_model\.c:' | not_among "$names" |
    none "src/ includes hal/ and families/; nothing of backends/ (but for the model of the FPGA kernels)"
rm -f "$names"
# What a public function or a backend's slot writes to comes first.  What it writes to is told from its type: a number, a
# pointer, or a structure that headers define, and not const (handles are not: their structures are nowhere defined).
# A command's queue comes before all, a size right after what it is the size of.  finufft.h has FINUFFT's order.
outputs_first() { # EXCEPTIONS; reads FILE:LINE:TEXT
    awk -v structs="$structs" -v names="$1" '
        function judge(file, line, text,   name, at, depth, i, c, p, n, part, input, out, before) {
            if (!match(text, /(\(\*[a-z0-9_]+\)|[a-z0-9_]+)\(/)) return
            name = substr(text, RSTART, RLENGTH - 1); gsub(/[(*)]/, "", name)
            text = substr(text, RSTART + RLENGTH)
            n = 1; part[1] = ""; depth = 0
            for (i = 1; i <= length(text); i++) {
                c = substr(text, i, 1)
                if (c == ")" && !depth) break
                depth += (c == "(") - (c == ")")
                if (c == "," && !depth) part[++n] = ""
                else part[n] = part[n] c
            }
            input = before = 0
            for (i = 1; i <= n; i++) {
                p = part[i]; gsub(/^ +| +$/, "", p)
                out = is_output(p)
                if (out && input && !(name in may)) print file ":" line ": " name ": " p
                if (out && input) met[name] = 1
                if (!out && !(before && p ~ /^size_t [a-z]+$/) && !(i == 1 && p ~ /^(hcy_queue \*queue|void \*qimpl)$/)) input = 1
                before = out
            }
        }
        function is_output(p,   type) {
            if (p ~ /\*const/ || p !~ /[*[]/ || p ~ /\(/) return 0
            if (p ~ /\*\*/) return 1
            if (p ~ /^const /) return 0
            type = p; sub(/ .*/, "", type)
            if (type == "void") return p !~ /\*([a-z]?impl|payload|host|user)$/
            return type ~ /^(int|unsigned|char|float|double|size_t|u?int[0-9]+_t)$/ || type in value
        }
        BEGIN { split(structs, list); for (i in list) value[list[i]] = 1; split(names, more); for (i in more) may[more[i]] = 1 }
        {
            file = $0; sub(/:.*/, "", file); text = $0; sub(/^[^:]*:[0-9]+:/, "", text)
            line = $0; sub(/^[^:]*:/, "", line); sub(/:.*/, "", line)
            if (text ~ /^ *#/ || macro) { macro = text ~ /\\$/; next }
            if (begin == "") begin = line
            all = all " " text
            while (match(all, /[;{}]/)) {
                head = substr(all, 1, RSTART - 1); all = substr(all, RSTART + 1)
                judge(file, begin, head); begin = line
            }
        }
        END { for (name in may) if (!(name in met)) print "no such exception: " name }
    '
}
while read -r name why; do
    [ -n "$why" ] && exceptions="$exceptions $name"
done << EXCEPTIONS
free gives a block back
unimport gives a block back
hcy_nufft_execute which of c and f is written is a matter of the type; they stand as in FINUFFT
hcy_nufft_execute_adjoint the same
hcy_nufft_run the same
hcy_nufft_split_execute the same
EXCEPTIONS
public=$(find hal src backends -path '*/halcyon/*.h' ! -name finufft.h | LC_ALL=C sort)
# shellcheck disable=SC2086 # several words on purpose
structs=$(find families -name '*_format.h' -print0 | xargs -0 sed -n 's/^typedef struct \(hcy_[a-z0-9_]*\) {.*/\1/p' $public | tr '\n' ' ')
# shellcheck disable=SC2086
code $public | outputs_first "$exceptions" | none "public functions, and slots of backends, have what they write to first"
# A pipeline's parts: PART and the files that own it.
while read -r part owners; do
    code src/pipeline | grep -E "\<(p|pipeline)->$part(->|\.)" | grep -vE "^src/pipeline/($owners)\.[ch]:"
done << PARTS | none "each part of a pipeline is touched by its owner's files alone"
control control
reader reader
slots slot
workers worker|share|divide|lane|launch|outcome
ring output
push push
stats stats|latency
PARTS
find hal families src backends transports kernels_hls h5plugin -name '*.h' -not -path '*/halcyon/*' | sed 's#.*/##' | LC_ALL=C sort | uniq -d |
    none "no two headers have one name"
sources $rooms tests bench examples | xargs grep -nE '\b(TODO|FIXME|XXX|HACK)\b' \
    | grep -vE '^tests/tap\.h:' | none "nothing is left for later"
sources $rooms tests bench examples | xargs awk '
    { line = $0; gsub(/"([^"\\]|\\.)*"/, "\"\"", line) }
    length(line) > 120 { print FILENAME ":" FNR ": " length(line) " columns" }' \
    | none "no line is longer than 120 columns, strings left out"
sources $rooms | while read -r f; do
    case $(head -c 2 "$f") in '/*') ;; *) echo "$f" ;; esac
done | none "every file opens with its purpose"
sources $rooms | xargs awk '
    FNR == 1 { start = 0 }
    /^\{/ { start = FNR }
    /^\}/ { if (start && FNR - start > 100) print FILENAME ":" start ": " FNR - start " lines"; start = 0 }' \
    | none "no function is longer than 100 lines"
sources $rooms | xargs grep -ohE 'getenv\("[A-Z_]+"\)' | sed 's/.*"\(.*\)".*/\1/' | sort -u | while read -r name; do
    for page in README.md doc/halcyon.1; do
        case $name in HALCYON_*) grep -q "$name" "$page" || echo "$page lacks $name" ;; esac
    done
done | none "every variable of the environment is documented"
