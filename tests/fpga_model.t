# halcyon fpga-model from outside: every option does what it says, and every figure is said to be modelled.
test_name=fpga_model
. "${top_srcdir:-.}/tests/cli.sh"

[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }

"$halcyon" simulate s.h5 --shape 120x140 -n 3 -q || exit 99
value()
{
    key=$1
    shift
    "$halcyon" fpga-model s.h5 -p s.poni --json "$@" >model.json && "$json" "$key" <model.json
}
model() { "$halcyon" fpga-model "$@"; }
more() { echo "$1 $2" | awk '{ exit !($1 > $2) }'; }

check 'says that it is modelled' sh -c "'$halcyon' fpga-model s.h5 -p s.poni | grep -q '^MODELLED, not measured'"
check 'in JSON too' equals "`value modelled`" true
check 'all frames' equals "`value frames`" 3
check '--frames' equals "`value frames --frames 2`" 2
check '--units' equals "`value units --units 3`" 3
check '--units: more of them, more resources' more "`value uram --units 4`" "`value uram --units 3`"
check '--engines' more "`value bram --engines 6`" "`value bram`"
check '--clock' more "`value kernels_frames_per_s --clock 300`" "`value kernels_frames_per_s --clock 200`"
check '--platform' equals "`value units --platform u50`" 6
room=${top_srcdir:-.}/kernels_hls
grep -v '^#' "$room/platforms.tbl" >cards.tbl
while read -r card _ units _ memory _; do
    check "--platform: $card of platforms.tbl" equals "$units" "`value units --platform "$card"`"
    [ "$memory" != DDR ] || check "... whose memories bound it" equals memory "`value limit --platform "$card" --units 64`"
done <cards.tbl
resources=$(for what in lut_thousands bram uram dsp; do value $what --units 1 | tr '\n' ' '; done)
check "report.sh has the model's estimate" grep -q "^bslz4_azint $(echo "$resources" | sed 's/ /000 /; s/ $//')" "$room/report.sh"
check '--platform that is none' refused 2 'u280' model s.h5 -p s.poni --platform u1
check '--npt-azim: several pieces' more "`value pieces --npt 500 --npt-azim 360`" 1
check '--npt-azim: more sums' more "`value sums_bytes_per_s --npt 500 --npt-azim 360`" "`value sums_bytes_per_s`"
check 'the way of large sums to the host bounds it' equals "`value limit --npt 1000 --npt-azim 360 --units 64`" link_back
check 'a slow clock does' equals "`value limit --npt 1000 --npt-azim 360 --clock 50`" settle
check '--npt' more "`value clocks_a_frame.settle --npt 2000`" "`value clocks_a_frame.settle --npt 1000`"
check '--split' more "`value records --split full --npt 4000`" "`value records --split no --npt 4000`"
check '--dataset that is not there' refused 1 '/no' model s.h5 -p s.poni --dataset /no
{ printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 8), }"; head -c 256 /dev/zero; } >float.npy
check 'pixels that the kernels do not take' refused 1 'floats of 4 bytes' model float.npy -p s.poni
"$halcyon" compress s.h5 -o big.h5 --block 16384 -q && "$halcyon" compress s.h5 -o big_lz4.h5 --codec lz4 --block 16384 -q || exit 99
check 'blocks larger than the engines hold' refused 1 '16384 bytes' model big.h5 -p s.poni
check '... which without bit-planes may have any size' model big_lz4.h5 -p s.poni
check 'without a geometry' refused 2 'poni' model s.h5
echo "1..$n"
exit $failed
