# Many devices on one stack: two of the CPU's, an OpenCL device where tests have one, two virtual cards; 1000 frames.  The curves
# have the bits of one thread alone, also when a card disappears, fails, has no memory or hangs in the middle.
test_name=together
top=`cd "${top_builddir:-.}" && pwd`
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
board=$top/halcyon-virtual-board

all=cpu@threads=1,cpu@threads=2
if "$halcyon" devices | grep '^opencl:0 ' >/dev/null; then
    all=$all,opencl:0
else
    echo '# no OpenCL device here'
fi
# XRT does not run under sanitizers here.
case ${HCY_SANITIZER-} in
*fsanitize*) cards= ;;
*) if [ -x "$board" ] && "$board" --check >why; then cards=yes; else cards=; fi ;;
esac
[ "$cards" ] && all=$all,xrt:0,xrt:1

if ! "$halcyon" simulate s.h5 --shape 128x128 --frames 1000 --seed 3 --threads 1 -q 2>simulate.log; then
    grep 'no HDF5' simulate.log >/dev/null && echo '1..0 # SKIP built without HDF5' && exit 0
    cat simulate.log
    exit 99
fi
# integrate [BOARD'S OPTION...] -- OPTION...: two words of the card's at most.
integrate()
{
    options=
    while [ "$1" != -- ]; do options="$options $1"; shift; done
    shift
    # shellcheck disable=SC2086 # several words on purpose
    ${cards:+"$board" $options --} "$halcyon" integrate "${stack:-s.h5}" -p s.poni --split full --error-model poisson -n 100 -q "$@"
}
curves() { grep -v '^#' "$1" >"$1.rows"; test -s "$1.rows"; }
same() { curves one.dat && curves "$1" && cmp one.dat.rows "$1.rows"; }

check 'one thread' "$halcyon" integrate s.h5 -p s.poni --split full --error-model poisson -n 100 -q -d cpu@threads=1 -o one.dat
check "$all: 1000 frames" integrate -- -d "$all" --batch 8 -o all.dat
check '... the same bits, in order' same all.dat
check '... beside a device whose launches fail' integrate -- -d "$all,cpu@threads=1@fail-launch=2" --batch 8 -o some.dat
check '... no frame is lost or doubled' same some.dat
# A damaged chunk is that frame's alone, whoever gets it.
cp s.h5 damaged.h5
dd if=/dev/zero of=damaged.h5 bs=512 seek=`expr \`wc -c <s.h5\` / 2 / 512` count=4 conv=notrunc 2>/dev/null
check 'a damaged chunk, one thread' refused 1 'frame [0-9]* failed: block' "$halcyon" integrate damaged.h5 -p s.poni --split full \
    --error-model poisson -n 100 -q -d cpu@threads=1 -o one.damaged.dat
stack=damaged.h5
check '... all devices' refused 1 'frame [0-9]* failed: block' integrate -- -d "$all" --batch 8 -o damaged.dat
stack=
check '... the same bits of all others' sh -c "grep -v '^#' one.damaged.dat >a && grep -v '^#' damaged.dat >b && cmp a b &&
    grep '^# frame' one.damaged.dat >c && grep '^# frame' damaged.dat | cmp c - && ! cmp -s a one.dat.rows"
for fault in lose-run fault-run fail-alloc hang-run; do
    limit=
    [ $fault = hang-run ] && limit='--device-timeout 2' # its threads stay in the driver when the program ends
    if [ "$cards" ]; then
        # shellcheck disable=SC2086 # two words on purpose
        check "a card, $fault" integrate --$fault 9 -- -d "$all" --batch 8 $limit -o $fault.dat
        check '... no frame is lost or doubled' same $fault.dat
    else
        skip 'no virtual cards here'
    fi
done
echo "1..$n"
exit $failed
