# The README's C example is the file in examples/, and makes the curves that the command makes; the detector host
# gets a curve for each frame that it does not report dropped; the receiver's are the same on small stacks.
# From the makefile: top_srcdir, top_builddir, HALCYON, HCY_HDF5 ("" in a build without it).
echo "1..26"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

sed -n '/^```c$/,/^```$/p' "$top_srcdir/README.md" | sed '1d;$d' > "$dir/readme.c"
sed '1d' "$top_srcdir/examples/first_curve.c" > "$dir/example.c"
if cmp -s "$dir/readme.c" "$dir/example.c"; then
    echo "ok 1 - the README shows examples/first_curve.c"
else
    echo "not ok 1 - the README shows examples/first_curve.c"
    diff "$dir/readme.c" "$dir/example.c" | sed 's/^/# /'
fi

verdict() { # NUMBER TEXT STATUS
    if [ "$3" -eq 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; sed 's/^/# /' "$dir/log"; fi
}

# Non-uniform FFTs need an FFT, a picture gnuplot.
picture() { # NUMBER TEXT LARGEST ARGUMENTS...: the picture is one, and so close to what was sampled
    number=$1 text=$2 largest=$3
    shift 3
    "$top_builddir/examples/grid_image" "$dir/image.png" "$@" > "$dir/log" 2>&1
    state=$?
    if grep -q 'has no FFT' "$dir/log"; then echo "ok $number # SKIP built without an FFT"; return; fi
    [ $state -ne 0 ] || { head -c 4 "$dir/image.png" | grep -q PNG && awk -v most="$largest" \
        '/relative difference/ { seen++; bad = !($NF < most) } END { exit !seen || bad }' "$dir/log"; } || state=1
    verdict "$number" "$text" $state
}
if command -v gnuplot > "$dir/log"; then
    picture 2 "the image of samples along spokes" 0.09
    if [ -r "$HALCYON_TEST_DATA/nufft/om2D.npz" ] && command -v unzip > "$dir/log"; then
        unzip -p "$HALCYON_TEST_DATA/nufft/om2D.npz" arr_0.npy > "$dir/points.npy"
        unzip -p "$HALCYON_TEST_DATA/nufft/phantom_256_256.npz" arr_0.npy > "$dir/phantom.npy"
        picture 3 "the image of a phantom sampled along om2D" 0.12 "$dir/points.npy" "$dir/phantom.npy"
    else
        echo "ok 3 # SKIP no nufft/om2D.npz in HALCYON_TEST_DATA, or no unzip"
    fi
else
    echo "ok 2 # SKIP no gnuplot"
    echo "ok 3 # SKIP no gnuplot"
fi
"$top_builddir/examples/processes" cpu@threads=1 cpu > "$dir/log" 2>&1
state=$?
if grep -q 'has no FFT' "$dir/log"; then
    echo "ok 4 # SKIP built without an FFT"
else
    [ $state -ne 0 ] || { [ "$(grep -c '^process [01]: ' "$dir/log")" -eq 2 ] && awk \
        '/worst error/ { seen++; bad = !($NF < 1e-8) } END { exit !seen || bad }' "$dir/log"; } || state=1
    verdict 4 "one process a device, forked before any is open" $state
fi

# Those of arrays say by their status whether the numbers are right, for a device or a list of them.
arrays() { # NUMBER TEXT EXAMPLE DEVICES...
    number=$1 text=$2 example=$3 state=0
    shift 3
    for devices in "$@"; do
        "$top_builddir/examples/$example" "$devices" >> "$dir/log" 2>&1 || state=1
    done
    # A device that is not there is a failure that is heard of.
    "$top_builddir/examples/$example" nowhere:7 > "$dir/none" 2>&1 && state=1
    grep -q nowhere "$dir/none" || state=1
    verdict "$number" "$text" $state
}
arrays 5 "an array is doubled" double_array cpu@threads=1 cpu@threads=3@discrete=1
arrays 6 "slices are read and written" array_slices cpu@threads=1 cpu@threads=3@simd=portable
arrays 7 "devices have threads of their own, and the same bits" array_threads \
    cpu@threads=1,cpu@threads=3,cpu@threads=2@simd=portable,cpu@threads=2@discrete=1
arrays 8 "an array is dealt out over devices" array_scatter cpu@threads=1 cpu@threads=1,cpu@threads=2@simd=portable
arrays 9 "an image comes from samples along spokes" recon_cg cpu@threads=1 cpu@threads=3@discrete=1
arrays 10 "kernels of a text run" own_kernels cpu@threads=1 cpu@threads=3@simd=portable
arrays 11 "numbers come into order" order cpu@threads=1 cpu@threads=3@discrete=1
arrays 12 "an array is in two processes" array_share cpu@threads=1 cpu@threads=2@discrete=1
# In OpenCL C too, where there is a driver, which other tests do without, and no sanitizer, which none runs under.
(
    unset OCL_ICD_VENDORS
    opencl=
    [ -n "$HCY_SANITIZER" ] || opencl=$("$HALCYON" devices 2> "$dir/log" | sed -n 's/^\(opencl:[0-9]*\) .*/\1/p' | head -1)
    arrays 13 "a program runs on a slice" own_program cpu@threads=1 cpu@threads=3@discrete=1 ${opencl:+"$opencl"}
    arrays 14 "a program's parts are used" program_parts cpu@threads=1 cpu@threads=3@discrete=1 ${opencl:+"$opencl"}
    arrays 15 "an expression is built by calls" array_formula cpu@threads=1 cpu@threads=3@discrete=1 ${opencl:+"$opencl"}
    arrays 16 "one memory is the host's and the device's" host_memory cpu@threads=1 cpu@threads=3@discrete=1 ${opencl:+"$opencl"}
)
arrays 17 "a system of equations is solved" sparse_cg cpu@threads=1 cpu@threads=3@simd=portable
arrays 18 "memory is filled, and read by another queue" device_memory cpu@threads=1 cpu@threads=3@discrete=1
arrays 19 "a tone is found in noise" noise_spectrum cpu@threads=1 cpu@threads=3@simd=portable

# What is wrong is said in words: how the program is called, or what failed last, never an empty text or another failure's.
refused() { # STATUS TEXT PROGRAM ARGUMENTS...: the one line on stderr is the text, or its beginning
    wanted=$1 text=$2 program=$3
    shift 3
    "$top_builddir/examples/$program" "$@" > "$dir/null" 2> "$dir/said"
    got=$?
    echo "$program $*: status $got" >> "$dir/log"
    cat "$dir/said" >> "$dir/log"
    [ $got -eq "$wanted" ] && [ "$(grep -cF "$text" "$dir/said")" -eq 1 ] || state=1
}
state=0
: > "$dir/log"
for program in first_curve receiver detector_host; do
    refused 2 "usage: $program " "$program"
done
[ ! -x "$top_builddir/examples/curve_reader" ] || refused 2 "usage: curve_reader ADDRESS" curve_reader
verdict 20 "examples without arguments say how they are called" $state
state=0
: > "$dir/log"
for numbers in "none" "0" "5 0" "5 fast" "5 -1"; do
    # shellcheck disable=SC2086 # several words on purpose
    refused 2 "usage: detector_host " detector_host "$dir/s.poni" cpu $numbers
done
verdict 21 "a detector host of no frames, or of no rate, is refused" $state
state=0
: > "$dir/log"
refused 1 "grid_image: reading or writing failed: $dir/none/x.png: " grid_image "$dir/none/x.png"
if grep -q 'has no FFT' "$dir/log"; then
    echo "ok 22 # SKIP built without an FFT"
else
    verdict 22 "a picture that cannot be written is told by its name" $state
fi

if [ -z "$HCY_HDF5" ]; then
    for number in 23 24 25 26; do echo "ok $number # SKIP built without HDF5"; done
    exit 0
fi
{
    "$HALCYON" simulate "$dir/s.h5" --detector Eiger500k --frames 2 \
        && "$HALCYON" integrate "$dir/s.h5" -p "$dir/s.poni" -d cpu@threads=1 --error-model poisson -q -o "$dir/command.dat" \
        && "$top_builddir/examples/first_curve" "$dir/s.h5" "$dir/s.poni" cpu@threads=2 > "$dir/example.dat"
} > "$dir/log" 2>&1
verdict 23 "the example runs on a simulated stack" $?

# Radial and intensity of both, as numbers; 1e-5 because the example prints six digits.
for f in command example; do awk '!/^#/ && NF { print $1, $2 }' "$dir/$f.dat" > "$dir/$f.xy"; done
paste -d' ' "$dir/command.xy" "$dir/example.xy" | awk '
    function off(a, b) { return a - b > 1e-5 * (b < 0 ? -b : b) + 1e-30 || b - a > 1e-5 * (b < 0 ? -b : b) + 1e-30 }
    NF != 4 || off($1, $3) || off($2, $4) { print "line " NR ": " $0; bad++ }
    $4 > 0 { seen++ }
    END { print NR " points, " seen + 0 " above zero"; exit bad || NR != 2000 || seen < 1000 }' > "$dir/log" 2>&1
verdict 24 "its curves are those of the command" $?

"$top_builddir/examples/detector_host" "$dir/s.poni" cpu@threads=2 300 1000 > "$dir/log" 2>&1 && awk '
    /^curves/ { gsub(",", ""); all = $2 + $6 + $8; good = $2 - $4; peak = $10 }
    /^from submission/ { half = $7; most = $(NF - 1) }
    END { exit !(all == 300 && good >= 10 && peak > 50 && peak < 600 && half > 0 && most >= half) }' "$dir/log"
verdict 25 "the detector host accounts for every frame" $?

# Its own threads, and where it is the host's limit the library's by default, have little room then.
if [ -n "$HCY_SANITIZER" ]; then
    echo "ok 26 # SKIP a sanitizer needs a larger stack"
else
    # shellcheck disable=SC3045 # not POSIX's, but dash, bash and busybox have it
    {
        "$top_builddir/examples/receiver" "$dir/s.h5" "$dir/s.poni" cpu@threads=2 > "$dir/usual.dat" \
            && (ulimit -s 128 && "$top_builddir/examples/receiver" "$dir/s.h5" "$dir/s.poni" cpu@threads=2 > "$dir/small.dat") \
            && cmp "$dir/usual.dat" "$dir/small.dat"
    } > "$dir/log" 2>&1
    verdict 26 "a receiver whose stacks have 128 KiB" $?
fi
