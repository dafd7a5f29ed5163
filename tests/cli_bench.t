# halcyon simulate and halcyon bench from outside: every option does what it says.
test_name=bench
. "${top_srcdir:-.}/tests/cli.sh"

[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }

# --- simulate ---
simulate() { "$halcyon" simulate "$@" --threads 1 -q; }
pixels() { "$halcyon" decompress "$1" -o pixels.npy -q && cat pixels.npy; }
shape() { "$halcyon" decompress "$1" -o pixels.npy -q && head -c 128 pixels.npy | grep -a -o "'descr.*)"; }
# differ A.h5 B.h5: in their pixels.
differ() { pixels "$1" >differ.a; pixels "$2" >differ.b; test -s differ.a -a -s differ.b && ! cmp -s differ.a differ.b; }
same() { pixels "$1" >same.a; pixels "$2" >same.b; test -s same.a && cmp same.a same.b; }
mean() { "$halcyon" sum "$1" -o sum.npy -q && tail -c +129 sum.npy | od -An -v -t u8 -w8 | awk '$1 < 1e9 { s += $1; n++ } END { print s / n }'; }

check 'simulate --shape, -n' simulate s.h5 --shape 40x70 -n 3
check 'simulate: what it is' equals "`shape s.h5`" "'descr': '<u4', 'fortran_order': False, 'shape': (3, 40, 70)"
check 'simulate: its geometry' grep -q '^Distance' s.poni
check 'simulate: the same again' simulate again.h5 --shape 40x70 -n 3
check 'simulate: the same pixels' same s.h5 again.h5
check 'simulate --seed' simulate seed.h5 --shape 40x70 -n 3 --seed 1
check 'simulate --seed: others' differ s.h5 seed.h5
check 'simulate --dtype' simulate dtype.h5 --shape 40x70 -n 3 --dtype uint16
check 'simulate --dtype: it is' equals "`shape dtype.h5`" "'descr': '<u2', 'fortran_order': False, 'shape': (3, 40, 70)"
check 'simulate --calibrant' simulate si.h5 --shape 40x70 -n 3 --calibrant Si
check 'simulate --calibrant: other rings' differ s.h5 si.h5
check 'simulate --calibrant: distances' simulate d.h5 --shape 40x70 -n 3 --calibrant 3.12,2.71
check 'simulate --calibrant: other rings again' differ s.h5 d.h5
check 'simulate --shape that is none' refused 2 '8 to 65536' simulate x.h5 --shape nonsense
check 'simulate --shape and --detector' refused 2 'exclude one another' simulate x.h5 --shape 40x70 --detector Eiger4M
check 'simulate --detector that is none' refused 2 '(is Eiger4M meant?): no detector is called' simulate x.h5 --detector Eiger4N
check 'simulate to a suffix that is none' refused 2 'not written as .jpeg' simulate x.jpeg --shape 40x70
check 'simulate --calibrant that is none' refused 2 'LaB6' simulate x.h5 --shape 40x70 --calibrant Xx
check 'simulate --counts' simulate counts.h5 --shape 40x70 -n 3 --counts 400
check 'simulate --counts: the mean of 3 frames' sh -c \
    "echo `mean counts.h5` `mean s.h5` | awk '{ exit !(\$1 > 900 && \$1 < 1500 && \$2 > 9 && \$2 < 15) }'"
check 'simulate --detector' simulate detector.h5 --detector Eiger500k -n 1
check 'simulate --detector: its shape' equals "`shape detector.h5`" \
    "'descr': '<u4', 'fortran_order': False, 'shape': (1, 514, 1030)"
check 'simulate --detector: in the geometry' grep -q 'Eiger500k' detector.poni
check 'simulate --threads: the same pixels' "$halcyon" simulate threads.h5 --shape 40x70 -n 3 --threads 2 -q
check 'simulate --threads: as with one' same s.h5 threads.h5
check 'simulate --threads: so many' sh -c "'$halcyon' simulate x.h5 --shape 40x70 -n 3 --threads 2 2>&1 | grep -q ', 2 threads$'"
check 'simulate --threads 0' refused 2 'threads' "$halcyon" simulate x.h5 --threads 0
check 'simulate -q says nothing' equals "`simulate s.h5 --shape 40x70 -n 3 2>&1`" ''
check 'simulate says what it made' sh -c "'$halcyon' simulate s.h5 --shape 40x70 -n 3 2>&1 | grep -q s.h5"

# --- bench ---
# value KEY ARGUMENTS...: of the JSON that bench prints.
bench() { "$halcyon" bench s.h5 -d cpu@threads=1 --rounds 1 --json "$@"; }
value()
{
    key=$1
    shift
    bench "$@" >bench.json && "$json" "$key" <bench.json
}
plan=`value plan`
mkdir own
TMPDIR=own "$halcyon" bench -d cpu --frames 2 --rounds 1 2>/dev/null | head -n 1 >first
check 'bench: a reader who has enough leaves no stack behind' equals "`test -s first; ls own`" ''
long=`printf '%0255d' 0`
: >$long
check 'bench: a folder whose name is too long' refused 1 'TMPDIR is too long' env TMPDIR=${long}0 "$halcyon" bench
check 'bench: ... and no other file is removed for it' ls $long
check 'bench: the plan' test -n "$plan"
"$halcyon" bench s.h5 -d cpu@threads=1@fail-launch=3 --rounds 1 --json >bench.json 2>/dev/null
check 'bench: a device that fails' equals $? 1
check 'bench: ... after figures that are a whole object' equals "`"$json" figures.1.stage <bench.json`" parse
check 'bench --npt' equals "`value bins -n 77`" 77
check 'bench --npt: another plan' test "`value plan -n 77`" != "$plan"
check 'bench --split' equals "`value split --split no`" no
check 'bench --split: another plan' test "`value plan --split no`" != "$plan"
check 'bench --error-model' equals "`value error_model --error-model none`" none
check 'bench --error-model: another plan' test "`value plan --error-model none`" != "$plan"
check 'bench --poni' test "`value plan -p s.poni`" != "$plan"
check 'bench --poni that is none' refused 1 'none.poni' bench -p none.poni
mkdir many && "$halcyon" decompress s.h5 -o many/f_%02d.npy -q
check 'bench of many files' sh -c "'$halcyon' bench 'many/*.npy' -d cpu@threads=1 --rounds 1 --json | '$json' frames | grep -qx 3"
check 'bench --frames' equals "`value frames --frames 2`" 2
check 'bench: all frames' equals "`value frames`" 3
check 'bench --batch' equals "`value figures.5.batch --batch 2`" 2
memory=`value figures.5.device_bytes --batch 2 --frames 2`
check 'bench: the memory of the whole on its device' test "${memory:-0}" -gt 10000
check 'bench: it does not depend on the number of frames' equals "`value figures.5.device_bytes --batch 2`" "$memory"
check 'bench: it does on the batch' test "`value figures.5.device_bytes --batch 1`" -lt "${memory:-0}"
check 'bench --readers' equals "`value readers --readers 3`" 3
check 'bench --memory' equals "`value memory_mb --memory 9`" 9
check 'bench --rounds' equals "`value rounds --rounds 2`" 2
check 'bench --dataset that is not there' refused 1 'nothing' "$halcyon" bench s.h5 --dataset /entry/nothing
check 'bench --devices' equals "`value figures.2.device`" 'cpu@threads=1'
check 'bench --devices: two, and all together' \
    equals "`"$halcyon" bench s.h5 -d cpu@threads=1,cpu@threads=2 --rounds 1 --json | "$json" figures.10.stage`" \
    whole
check 'bench --tune: what has no parameters' \
    sh -c "'$halcyon' bench s.h5 -d cpu@threads=1 --rounds 1 --tune | grep -q '^cpu@threads=1 *has nothing to tune$'"
check 'bench --tune --json' equals "`value figures.2.stage --tune`" tuned
check 'bench: text' sh -c "'$halcyon' bench s.h5 -d cpu@threads=1 --rounds 1 | grep -q '1000 bins, splitting full'"

# --- bench nufft ---
# 1000 points to a million modes is the cheapest cell.
nufft() { "$halcyon" bench nufft 1d1-1e-06-single --rounds 1 -m 1000 "$@"; }
nufft_value()
{
    key=$1
    shift
    nufft --json "$@" >nufft.json && "$json" "$key" <nufft.json
}
if nufft >nufft.txt 2>nufft.err || ! grep -q 'no FFT' nufft.err; then
    check 'bench nufft: a row' grep -q '^1d1-1e-06-single  *[0-9.]* ' nufft.txt
    check 'bench nufft: the cells named, and no other' equals "`grep -c '^[123]d' nufft.txt`" 1
    check 'bench nufft: its points' grep -q '1e+03 points, uniform' nufft.txt
    check 'bench nufft: right' sh -c "echo '`nufft_value cells.0.error`' | awk '{ exit !(\$1 > 0 && \$1 < 1e-5) }'"
    check 'bench nufft --threads' equals "`nufft_value device -t 2`" 'cpu@threads=2'
    check 'bench nufft --device' equals "`nufft_value device -d cpu@threads=3`" 'cpu@threads=3'
    check 'bench nufft --cluster, --rounds' equals "`nufft_value cluster --cluster 0.5 --rounds 2`" 0.5
    check 'bench nufft: memory of a point' sh -c \
        "echo '`nufft_value cells.0.bytes_per_point`' | awk '{ exit !(\$1 >= 16 && \$1 < 10000) }'"
    check 'bench nufft --rounds' equals "`nufft_value rounds --rounds 2`" 2
    check 'bench nufft --quick' equals \
        "`"$halcyon" bench nufft 1d1-1e-06-single -m 1000 --quick --json | "$json" rounds`" 2
    check 'bench nufft: few points on a large grid' sh -c \
        "'$halcyon' bench nufft mri2-1e-06-single -m 1 --quick --rounds 1 | grep -q '^mri2-1e-06-single  *[0-9.]* '"
    check 'bench nufft --width' equals "`nufft_value cells.0.width --width 4`" 4
    check 'bench nufft --upsampling' sh -c \
        "echo '`nufft_value cells.0.upsampling --upsampling 1.9`' | awk '{ exit !(\$1 >= 1.9 && \$1 < 1.99) }'"
fi
check 'bench nufft --finufft that is not there' refused 1 'none.so' "$halcyon" bench nufft -f ./none.so
check 'bench nufft: a cell that is none' refused 2 '9d9' "$halcyon" bench nufft 9d9
check 'bench nufft: large grids by their own names alone' refused 2 '1e-07-double' "$halcyon" bench nufft 1e-07-double
check 'bench nufft --help' sh -c "'$halcyon' help bench nufft | grep -q '^usage: halcyon bench nufft '"

# --- devices ---
check 'devices: text' sh -c "'$halcyon' devices | grep -q '^cpu'"
check 'devices --json' sh -c "'$halcyon' devices --json | '$json' devices.0.device"

echo "1..$n"
exit $failed
