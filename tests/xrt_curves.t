# Curves by the FPGA kernels, on virtual cards: the CPU's bits.  From the makefile: HALCYON, top_builddir, top_srcdir,
# HCY_SANITIZER.
board=${top_builddir:?}/halcyon-virtual-board
skip() {
    echo "1..0 # SKIP $*"
    exit 0
}
[ -x "$board" ] || skip "this build has no virtual board"
case $HCY_SANITIZER in *fsanitize*) skip "XRT does not run under sanitizers here" ;; esac
reason=$("$board" --check) || skip "$reason"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
"$HALCYON" simulate "$dir/s.h5" --detector Eiger500k --frames 5 --seed 3 --threads 1 >"$dir/log" 2>&1 || skip "$(tail -n 1 "$dir/log")"

n=0
curves() { # NAME DEVICES OPTION...: numbers alone into NAME
    name=$1 devices=$2
    shift 2
    "$board" -- "$HALCYON" integrate "$dir/s.h5" -p "$dir/s.poni" -d "$devices" -o "$dir/$name.dat" "$@" \
        >"$dir/log" 2>&1 || sed 's/^/# /' "$dir/log"
    grep -v '^#' "$dir/$name.dat" > "$dir/$name"
}
same() { # TEXT
    n=$((n + 1))
    if [ -s "$dir/cpu" ] && cmp "$dir/cpu" "$dir/xrt" >"$dir/wrong" 2>&1; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$dir/wrong"
    fi
}
full="--split full --error-model poisson --npt 500"
# shellcheck disable=SC2086 # several words on purpose
curves cpu cpu@threads=1 $full
# shellcheck disable=SC2086
curves xrt xrt:0 $full
same "pixels split, Poisson's errors: a card's curves are the CPU's"
# shellcheck disable=SC2086
curves xrt cpu@threads=1,xrt:0,xrt:1 $full --batch 1
same "... and those of two cards and the CPU together"
image() { # DEVICE FILE: a frame in radius and azimuth, more bins than a compute unit keeps
    "$board" -- "$HALCYON" integrate "$dir/s.h5" -p "$dir/s.poni" -d "$1" -o "$dir/$2.edf" --frames 2 --split full \
        --error-model poisson --npt 150 --npt-azim 120 -q >"$dir/log" 2>&1 || sed 's/^/# /' "$dir/log"
    mv "$dir/$2.edf" "$dir/$2"
}
image cpu@threads=1 cpu
image xrt:0 xrt
same "an image in radius and azimuth, whose sums come back row by row"
# Channels of memory, an argument of a compute unit each: what 12 frames more cost on the link is what the model says.
"$HALCYON" simulate "$dir/c.h5" --shape 256x256 --frames 24 --seed 5 --threads 1 >"$dir/log" 2>&1 || sed 's/^/# /' "$dir/log"
counted() { # FRAMES BINS...: "TO FROM MEMORY", bytes to the card, from it, and of the second unit's memory of chunks
    frames=$1
    shift
    "$board" -n 1 -p channels --count -- "$HALCYON" integrate "$dir/c.h5" -p "$dir/c.poni" -d xrt:0 --batch 4 \
        --frames ":$frames" --split full --error-model poisson --mask-from-frame 0 -q -o "$dir/counted.h5" "$@" 2>&1 |
        sed -n 's/^virtual board 0: \([0-9]*\) bytes to it, \([0-9]*\) from it;.* 4: \([0-9]*\).*/\1 \2 \3/p'
}
counts() { # TEXT BINS...
    text=$1
    shift
    n=$((n + 1))
    all=$(counted 24 "$@") half=$(counted 12 "$@")
    modelled=$("$HALCYON" fpga-model "$dir/c.h5" -p "$dir/c.poni" --frames 24 --json "$@" |
        sed -n 's/^  "link\(_back\)*_bytes": \([0-9]*\),$/\2/p' | tr '\n' ' ')
    if echo "$all $half $modelled" | awk '{ to = 2 * ($1 - $4) / $7; from = 2 * ($2 - $5) / $8
            exit !(NF == 8 && to > 0.97 && to < 1.03 && from > 0.97 && from < 1.03 && $3 < 3 * $7 / 24) }'; then
        echo "ok $n - $text"
    else
        echo "not ok $n - $text: $all, $half, the model has $modelled"
    fi
}
counts "chunks go to a card's channels once, a run's part to each, and sums come back, as the model has it" --npt 500
counts "... of an image those rows of them that were written" --npt 150 --npt-azim 120
n=$((n + 1))
if "$board" -- "$HALCYON" devices | grep '^xrt:1 .*virtual: functional only, its speed means nothing' >/dev/null; then
    echo "ok $n - halcyon devices says that the cards are virtual"
else
    echo "not ok $n - halcyon devices says that the cards are virtual"
fi
n=$((n + 1)) # of 5 runs at least 3 come one after the other
"$HALCYON" simulate "$dir/t.h5" --shape 64x64 --frames 5 --threads 1 >"$dir/log" 2>&1
seconds=$("$board" -n 1 --latency-us 200000 -- "$HALCYON" integrate "$dir/t.h5" -p "$dir/t.poni" -d xrt:0 --batch 1 -q --json \
    -o "$dir/late.dat" | sed -n 's/^  "seconds": \([0-9.e-]*\),*$/\1/p')
if echo "$seconds" | awk '{ exit !($1 >= 0.59) }'; then
    echo "ok $n - runs take the time that --latency-us adds"
else
    echo "not ok $n - runs take the time that --latency-us adds: ${seconds:-no} seconds"
fi
# In a tree that was moved its libraries are as far from the command as they were.
n=$((n + 1))
libs=$dir/$(sed -n 's#.*|| libs=$here/\.\./##p' "$board")
mkdir -p "$dir/bin" "$libs"
cp "$board" "$dir/bin"
cp "$top_builddir/.libs/virtual_board.so" "$top_builddir/virtual_hbm.xclbin" "$libs"
if "$dir/bin/halcyon-virtual-board" -n 1 -- "$HALCYON" devices | grep '^xrt:0 ' >/dev/null; then
    echo "ok $n - the command in a tree that was moved"
else
    echo "not ok $n - the command in a tree that was moved"
fi
echo "1..$n"
