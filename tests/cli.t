# The halcyon command from outside: every option of integrate does what it says, every kind of bad input has a message
# and a status, stdout holds what was asked for and nothing else.
test_name=cli
. "${top_srcdir:-.}/tests/cli.sh"

# integrate ARGUMENTS: the simulated stack, quietly, on one thread.
integrate() { "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=1 -q "$@"; }
# The rows of a .dat file.
rows() { grep -v '^#' "$1" | grep .; }
column() { rows "$1" | awk -v c="$2" '{ print $c }'; }
# same A.dat B.dat: the same curves; the headers name files and times.
same() { rows "$1" >same.a; rows "$2" >same.b; cmp same.a same.b; }
differ() { not same "$1" "$2" >/dev/null; }
# ratio A.dat B.dat X: every intensity of B is X times that of A, to the digits printed.
ratio()
{
    column "$1" 2 >ratio.a
    column "$2" 2 >ratio.b
    paste ratio.a ratio.b |
        awk -v x="$3" '{ d = $1 * x - $2; if (d < 0) d = -d; if (d > 2e-6 * ($2 + 1e-9)) exit 1 }'
}
# numpy FILE ROWS COLUMNS MASKED: a uint8 image whose first MASKED rows are 1.
numpy()
{
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '|u1', 'fortran_order': False, 'shape': ($2, $3), }" >"$1"
    head -c `expr $4 '*' $3` /dev/zero | tr '\0' '\001' >>"$1"
    head -c `expr '(' $2 - $4 ')' '*' $3` /dev/zero >>"$1"
}

# --- The command itself ---
check 'halcyon --version' sh -c "'$halcyon' --version | grep -q '^halcyon [0-9]'"
"$halcyon" --help >help.all
for pair in "HDF5=${HCY_HDF5-yes}" "libtiff=${HCY_TIFF-yes}" "jansson=${HCY_JANSSON-yes}" \
    "zlib=${HCY_ZLIB-yes}" "libzstd=${HCY_ZSTD-yes}" "ZeroMQ=${HCY_ZMQ-yes}"; do
    [ -n "${pair#*=}" ] && lines=0 || lines=1
    check "--help says whether it is built without ${pair%%=*}" \
        equals "`grep -c "^Built without ${pair%%=*}: " help.all`" $lines
done
for sub in merge info compare; do
    [ -n "${HCY_HDF5-yes}" ] && lines=0 || lines=1
    check "halcyon $sub --help says whether it has no HDF5" \
        equals "`"$halcyon" $sub --help | grep -c '^Built without HDF5: '`" $lines
done
check 'halcyon --help names the subcommands' sh -c "'$halcyon' --help | grep -q integrate"
for sub in integrate plot info simulate devices bench; do
    "$halcyon" help $sub >a.$sub
    check "halcyon help $sub fits a tall screen" sh -c "test \`'$halcyon' help $sub | wc -l\` -le 60"
    check "halcyon $sub --help is the same" \
        sh -c "'$halcyon' help $sub >a && '$halcyon' $sub --help >b && cmp a b"
done
check 'halcyon integrate --help is one screen' sh -c "test \`sed '/^Built without/,\\$d' a.integrate | wc -l\` -le 50"
check '... of 80 columns' not grep -E '^.{81}' a.integrate
check '... in groups' grep -q '^Bins:$' a.integrate
check '... without what is rare' not grep -e --two-stage a.integrate
"$halcyon" integrate --help-all >all.integrate
check '--help-all has the rest' grep -q -e --two-stage all.integrate
check '--help-all: 80 columns' not grep -E '^.{81}' all.integrate
check '--help-all: no option twice' equals "`grep -oE '^ {2,6}(-., )?--[a-z-]+' all.integrate | sort | uniq -d`" ''
check 'no subcommand' refused 2 usage "$halcyon"
check 'an unknown subcommand, with a suggestion' refused 2 "integrate" "$halcyon" integrat
check 'an unknown option, with a suggestion' \
    refused 2 '--polarization' "$halcyon" integrate x.h5 --polarisation 1
check 'an unknown short option' refused 2 'unknown option -z' "$halcyon" integrate x.h5 -z
check 'a value that is missing' refused 2 '--npt needs' "$halcyon" integrate x.h5 --npt
check 'npt 0' refused 2 'from 1 to' "$halcyon" integrate x.h5 -p x.poni -n 0
check 'npt 0: the option as it was typed' refused 2 "integrate: -n '0'" "$halcyon" integrate x.h5 -p x.poni -n 0
check 'npt 0: in its long form' refused 2 "integrate: --npt '0'" "$halcyon" integrate x.h5 -p x.poni --npt=0
check 'npt with letters behind it' refused 2 '10x' "$halcyon" integrate x.h5 -p x.poni -n 10x
check 'a range the wrong way round' refused 2 'A < B' "$halcyon" integrate x.h5 -p x.poni --radial-range 2,1
while read -r words; do
    check "wrong in itself: $words" refused 2 'help' "$halcyon" integrate x.h5 -p x.poni $words
done <<END
--unweighted --percentile 50
--unweighted --error-model azimuthal
--azimuth-range=-180,300
-u qip,q_nm^-1
-u q_nm^-1,qip
-u qip --split full
-n 5000 --npt-azim 5000
END
check 'a splitting that is none' refused 2 'bbox' "$halcyon" integrate x.h5 -p x.poni --split some
check 'a word too many' refused 2 'y.h5' "$halcyon" bench x.h5 y.h5 -p x.poni
check 'an empty word' refused 2 'a word is empty' "$halcyon" info ''
check 'no stack' refused 2 'missing' "$halcyon" integrate
check 'an incident angle, and a unit that knows none' \
    refused 2 'seen from the sample' "$halcyon" integrate x.h5 -p x.poni --incident-angle 0.2
check 'a variance, and no errors' \
    refused 2 'for --error-model variance' "$halcyon" integrate x.h5 -p x.poni --variance v.npy --error-model none
check 'delta-dummy without dummy' refused 2 '--dummy' "$halcyon" integrate x.h5 -p x.poni --delta-dummy 1

# --- Devices ---
check 'halcyon devices lists the CPU' sh -c "'$halcyon' devices | grep -q '^cpu '"
check 'halcyon devices --json is JSON' sh -c "'$halcyon' devices --json | '$json' devices.0.device"
check '... and says that there is none, and where it looked' \
    refused 0 'no backend.*HALCYON_BACKEND' env HALCYON_BACKENDS=-cpu,-cuda,-opencl,-xrt "$halcyon" devices
# Where both versions of cgroups are mounted the quota is that of version 1's group, which has the processors' controller.
cat >groups.sh <<'EOF'
mkdir -p groups && mount -t tmpfs none groups && mkdir -p groups/cpu/ours || exit 77
printf '4:cpu,cpuacct:/ours\n0::/theirs\n' >groups/lines
echo 50000 >groups/cpu/ours/cpu.cfs_quota_us
echo 100000 >groups/cpu/ours/cpu.cfs_period_us
mount --bind groups/lines /proc/$$/cgroup && mount --bind groups /sys/fs/cgroup || exit 77
[ -z "$1" ] || exec "$1" devices --json
EOF
own=unshare
[ "$(id -u)" -eq 0 ] || own='unshare -r'
if [ "`getconf _NPROCESSORS_ONLN`" -gt 1 ] && $own -m sh groups.sh '' 2>/dev/null; then
    check 'the quota of a host with both versions of cgroups' equals \
        "`HALCYON_BACKENDS=cpu $own -m sh groups.sh "$halcyon" | "$json" devices.0.units`" 1
else
    skip 'no mounts of our own, or one processor: both versions of cgroups'
fi

check 'no device of a kind: what HALCYON_BACKENDS is' \
    refused 1 'kind "gpu" (HALCYON_BACKENDS is -cuda,-opencl' env HALCYON_BACKENDS=-cuda,-opencl \
    "$halcyon" bench nufft -d gpu

# --- Any build ---
numpy ones.npy 40 60 40
printf '%s\n' 'poni_version: 2' 'Detector: Detector' 'Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4}' 'Distance: 0.1' \
    'Poni1: 0.002' 'Poni2: 0.003' 'Rot1: 0' 'Rot2: 0' 'Rot3: 0' 'Wavelength: 1e-10' >ones.poni
[ -n "${HCY_HDF5-yes}" ] && default=.h5 || default=.dat
check "the default output is one that this build has, $default" \
    sh -c "'$halcyon' integrate ones.npy -p ones.poni -q -d cpu && test -s ones_azint$default"
[ -n "${HCY_HDF5-yes}" ] && default=.h5 || default=.edf
check "... of cakes, $default" \
    sh -c "'$halcyon' integrate ones.npy -p ones.poni -q -d cpu -n 9 --npt-azim 4 && test -s ones_azint$default"
"$halcyon" integrate ones.npy -p ones.poni -d cpu -n 9 -o one.dat 2>words
check 'a dummy that no pixel can be' refused 0 'no pixel of uint.* can be the dummy, -1' \
    "$halcyon" integrate ones.npy -p ones.poni -d cpu -n 9 -o other.dat --dummy -1
check '... none of these' not grep 'can be the dummy' words
check 'a device that the environment names' refused 1 'no backend "foo".*HALCYON_DEVICE names it' \
    env HALCYON_DEVICE=foo "$halcyon" sum ones.npy -o other.npy
check 'no folder for plans' refused 0 'no plans are kept: /dev/null' \
    "$halcyon" integrate ones.npy -p ones.poni -d cpu -n 9 -o other.dat --plan-cache /dev/null
check 'no rate of 0 is told' not grep ' 0[.]0 frames/s' words

# --- What files are ---
info() { "$halcyon" info "$@" >info.out 2>info.err || { cat info.err; return 1; }; cat info.out; }
# tells WORD FILE: its info has the word.
tells() { word=$1; shift; info "$@" | grep -e "$word"; }
check 'info: a mask' tells 'a mask of 40 x 60 pixels' ones.npy
check 'info: a geometry' tells 'a geometry (PONI file)' ones.poni
sed 's/^Detector_config: {/&"sensor": {"material": "Si", "thickness": 0.00045}, /' ones.poni >thick.poni
echo 'Parallax: True' >>thick.poni
check 'info: a sensor' tells 'sensor *Si, 450 um; corrected for parallax' thick.poni
check 'info: what would be done with it' tells 'halcyon integrate STACK -p ones.poni' ones.poni
cp ones.poni "a b'c.poni"
check 'info: ... of a name with blanks and quotes as a shell takes it' \
    tells "halcyon integrate STACK -p 'a b'.*'c.poni'\$" "a b'c.poni"
check 'info: results' tells '1 pattern (curve) of integration' one.dat
check 'info: the bins of results' tells '9 bins of q_nm^-1' one.dat
for suffix in xye chi fxye; do
    "$halcyon" integrate ones.npy -p ones.poni -d cpu -n 9 -u 2th_deg --error-model poisson -o one.$suffix -q
    check "info: a pattern as .$suffix" tells '1 pattern (curve) of integration' one.$suffix
done
"$halcyon" info one.xye | sed -n 's/.*unit, //p' >axis.xye
for suffix in chi fxye; do
    "$halcyon" info one.$suffix | sed -n 's/.*2th_deg, //p' >axis.$suffix
    check "info: the unit and the bins of .$suffix" cmp axis.xye axis.$suffix
done
printf '%s\n' '{"content": "Goniometer calibration v2", "detector": "Pilatus100k"}' >gonio.json
check 'a goniometer as a geometry' refused 1 'make a PONI file of each' "$halcyon" integrate ones.npy -p gonio.json -o refused.dat
check 'info: a goniometer is named' tells "pyFAI's calibration of a goniometer" gonio.json
if [ -n "${HCY_JANSSON-yes}" ]; then
    "$halcyon" integrate ones.npy -p ones.poni -q -d cpu -n 33 -o saved.dat --save-config saved.json
    check 'info: a configuration' tells 'halcyon integrate STACK -j saved.json' saved.json
    check 'info: the bins of a configuration' tells '33 of q_nm^-1' saved.json
    check 'a goniometer as a configuration' refused 1 'make a PONI file of each' \
        "$halcyon" integrate ones.npy -j gonio.json -o refused.dat
else
    skip 'this build has no jansson'
fi
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }" >complex.npy
head -c 48 /dev/zero >>complex.npy
check 'info: complex numbers' tells 'complex.npy: an array of complex float numbers, 2 x 3' complex.npy
check 'info: ... and what shows them' tells 'then *halcyon plot complex.npy' complex.npy
"$halcyon" simulate scan.cfl --mri radial --size 16 -q
check "info: BART's files" tells 'an array of complex float numbers, 16 x 16' scan_image.cfl
rm scan_maps.hdr
check "info: ... and what is wrong with them" refused 1 'scan_maps.hdr: there is no such file' "$halcyon" info scan_maps.cfl
check 'info: ... and no command of a terminal in the message' refused 1 'a?\[2Jb.h5: there is no such file' \
    "$halcyon" info "`printf 'a\033[2Jb.h5'`"
head -c 140 complex.npy >short.npy
check 'info: ... and with complex numbers' refused 1 'short.npy is truncated' "$halcyon" info short.npy
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2, 2), }" >cut.npy
printf '1122334455667' >>cut.npy
check 'info: plain pixels that end too soon' tells 'damaged .*frame 1 of cut.npy: the file is truncated, 3 of' cut.npy
printf '788' >>cut.npy
check 'info: ... and that do not' sh -c "! '$halcyon' info cut.npy | grep damaged"
if "$halcyon" simulate scan.h5 --mri radial --size 16 -q 2>/dev/null; then
    check 'info: k-space' tells 'scan.h5: k-space along a trajectory' scan.h5
    check 'info: ... its arrays' tells 'image *16 x 16, double' scan.h5
    check 'info: ... and what is made of them' tells 'halcyon plot scan.h5:/image' scan.h5
    made=$(info scan.h5 | sed -n 's/^  then *halcyon //p')
    # shellcheck disable=SC2086 # several words on purpose
    check 'info: ... by a command that does it' "$halcyon" $made -q --iterations 1
    check 'info: ... an image' tells '16 x 16' IMAGE.npy
    "$halcyon" simulate field.h5 --mri radial --size 16 --field-map 20 -q
    made=$(info field.h5 | sed -n 's/^  then *halcyon //p')
    check 'info: k-space in a field that is off, and when it was sampled' equals "$made" \
        'recon field.h5:/samples -t field.h5:/trajectory -n 16,16 --maps field.h5:/maps --field-map field.h5:/field_map --times field.h5:/times -o IMAGE.npy'
    # shellcheck disable=SC2086 # several words on purpose
    check 'info: ... by a command that does it' "$halcyon" $made -q --iterations 1
    check 'simulate: a scan without a field does not go to one that has it' \
        refused 1 'field.h5:/field_map is there' "$halcyon" simulate field.h5 --mri radial --size 16 -q
    check 'simulate: ... another one does' "$halcyon" simulate field.h5 --mri radial --size 16 --field-map 10 -q
    "$halcyon" simulate stars.h5 --mri stack-of-stars --size 16 -q
    check 'info: k-space whose trajectory has four axes' tells 'stars.h5: k-space along a trajectory' stars.h5
    check 'info: an array in HDF5' tells 'an array of complex double numbers, 1 x ' scan.h5:/samples
    "$halcyon" simulate named.h5 --shape 40x70 -n 2 -q
    check 'info: a dataset of several by its name' \
        tells 'halcyon integrate named.h5 --dataset /entry/data/data -p GEOMETRY.poni$' named.h5 --dataset /entry/data/data
    check 'plot: k-space has arrays to be plotted' refused 1 'plot one of its arrays, scan.h5:/image' "$halcyon" plot scan.h5
else
    # All of recon is tried elsewhere (recon_cli.t, in builds that have HDF5): here, that a build without does it at all.
    "$halcyon" simulate --mri radial --size 32 -q k.npy
    check 'recon: without HDF5' "$halcyon" recon k_samples.npy -t k_trajectory.npy -n 32,32 -q -o x.npy
    check 'recon: ... is an image' "${json%/*}/recon_files" error x.npy k_image.npy 0.24
    check 'recon: ... and HDF5 is refused' refused 1 'HDF5' "$halcyon" recon k.h5:/samples -t k.h5:/trajectory -n 32,32 -o x.npy
fi
printf '%s\n' 'Detector: NexusDetector' 'Detector_config: {"filename": "a\u000a\u001b[31m\u009bé.h5"}' 'Distance: 1' 'Poni1: 0' 'Poni2: 0' \
    'Rot1: 0' 'Rot2: 0' 'Rot3: 0' 'poni_version: 2' >odd.poni
check 'info: a name of odd characters is no command of a terminal' tells 'of the file a??\[31m?é.h5$' odd.poni
head -c 500 /dev/urandom >noise.bin
check 'info: what is not known' refused 1 'noise.bin' "$halcyon" info noise.bin
check 'info: several, of which one is not known' not info ones.poni noise.bin
check 'info: the others are told' grep -q 'PONI' info.out

# --- A simulated stack ---
if "$halcyon" simulate s.h5 --detector Eiger500k --frames 6 --seed 3 --threads 1 >simulate.log 2>&1; then
    :
elif [ -z "${HCY_HDF5-yes}" ]; then
    skip "this build has no HDF5; nor what follows"
    echo "1..$n"
    exit $failed
elif grep 'no HDF5' simulate.log >/dev/null; then
    skip 'the rest needs HDF5'
    echo "1..$n"
    exit $failed
else
    sed 's/^/# /' simulate.log
    echo "not ok `expr $n + 1` - halcyon simulate"
    echo "1..`expr $n + 1`"
    exit 1
fi
check 'info: a stack' tells 'a stack of 6 frames of [0-9]* x 10[0-9]* uint32' s.h5
check 'info: how it is stored' tells 'bitshuffle and LZ4' s.h5
check 'integrate to text' integrate -o plain.dat --frames 0
check '1000 bins by default' equals "`rows plain.dat | wc -l | tr -d ' '`" 1000
check 'the unit stands in the header' grep -q '^# *q_nm^-1  *I *$' plain.dat
check '-n' integrate -o npt.dat --frames 0 -n 77
check '-n: so many rows' equals "`rows npt.dat | wc -l | tr -d ' '`" 77
check '-u' integrate -o unit.dat --frames 0 -u 2th_deg
check '-u: other radii' differ plain.dat unit.dat
check '-u: in the header' grep -q '2th_deg' unit.dat
check '--split no' integrate -o no.dat --frames 0 --split no
check '--split full' integrate -o full.dat --frames 0 --split full
check '--split bbox' integrate -o bbox.dat --frames 0 --split bbox
check '--split: bbox is the default' same plain.dat bbox.dat
check '--split: no differs' differ no.dat bbox.dat
check '--split: full differs' differ full.dat bbox.dat
check '--error-model poisson' integrate -o poisson.dat --frames 0 --error-model poisson
check '--error-model: three columns' equals "`rows poisson.dat | awk '{ print NF; exit }'`" 3
check '--error-model: else two' equals "`rows plain.dat | awk '{ print NF; exit }'`" 2
check '--polarization' integrate -o polarization.dat --frames 0 --polarization 0.99
check '--polarization: it matters' differ polarization.dat plain.dat
check '--no-solid-angle' integrate -o solid.dat --frames 0 --no-solid-angle
check '--no-solid-angle: it matters' differ solid.dat plain.dat
check '--normalization' integrate -o normal.dat --frames 0 --normalization 4
check '--normalization: a quarter' ratio plain.dat normal.dat 0.25
# array FILE BYTE BYTE: a uint8 image, the upper half of one value, the lower of the other (octal).
array()
{
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '|u1', 'fortran_order': False, 'shape': (514, 1030), }" >"$1"
    head -c 264710 /dev/zero | tr '\0' "\\$2" >>"$1"
    head -c 264710 /dev/zero | tr '\0' "\\$3" >>"$1"
}
array four.npy 004 004
array halves.npy 004 002
check '--flat' integrate -o flat.dat --frames 0 --flat four.npy
check '--flat: a quarter' ratio plain.dat flat.dat 0.25
check '--flat: in the header' grep -q 'Flat field applied: provided' flat.dat
check '--flat: pixel by pixel' integrate -o halves.dat --frames 0 --flat halves.npy
check '--flat: no quarter' differ flat.dat halves.dat
check '--absorption' integrate -o absorption.dat --frames 0 --absorption four.npy
check '--absorption: a quarter' ratio plain.dat absorption.dat 0.25
if [ -n "${HCY_JANSSON-yes}" ]; then
    # What pyFAI's configuration has no key for is written beside it, or said.
    integrate -n 40 -o thin.dat --flat four.npy --absorption halves.npy --frames 0 --save-config thin.json 2>/dev/null
    "$halcyon" integrate s.h5 -q -j thin.json --frames 0 -o thin2.dat
    check '--save-config keeps the absorption' same thin.dat thin2.dat
    integrate -n 40 -o left.dat --no-sentinels --no-file-mask --save-config left.json 2>left.err
    check '--save-config says what it has no place for' grep -q 'no place for --no-sentinels, --no-file-mask' left.err
    integrate -n 40 -o far.dat --radial-range 5,20 --save-config far.json
    "$halcyon" integrate s.h5 -q -j far.json -u 2th_deg --frames 0 -o far2.dat 2>far.err
    check 'a range of --config in another unit is said' grep -q 'far.json is in q_nm^-1' far.err
    "$halcyon" integrate s.h5 -q -j far.json -u 2th_deg --radial-range 5,20 --frames 0 -o far2.dat 2>far.err
    check '... unless one is given' not grep -q . far.err
else
    skip 'this build has no jansson'
fi
check '--dark' integrate -o dark.dat --frames 0 --dark four.npy --no-solid-angle
column solid.dat 2 >dark.a
column dark.dat 2 >dark.b
paste dark.a dark.b >dark.ab
check '--dark: four counts less' awk '$1 { d = $1 - $2 - 4; if (d > 1e-3 || d < -1e-3) exit 1 }' dark.ab
check '--dark: in the header' grep -q 'Dark current applied: provided' dark.dat
check '--variance' integrate -o variance.dat --frames 0 --variance four.npy
check '--variance: three columns' equals "`rows variance.dat | awk '{ print NF; exit }'`" 3
check '--variance: it is the model' \
    integrate -o variance2.dat --frames 0 --variance four.npy --error-model variance
check '--variance: the same' same variance.dat variance2.dat
check '--variance: not Poisson' differ variance.dat poisson.dat
check '--error-model variance needs one' refused 2 '--variance' integrate -o x.dat --error-model variance
numpy little.npy 10 20 1
check '--flat of another shape' refused 1 '--flat: .*10 x 20' integrate -o x.dat --flat little.npy
check '--npt-azim' integrate -o image.edf --frames 0 --npt-azim 9 -n 50
check '--npt-azim: an image' grep -a -q 'Dim_1 = 50 ;' image.edf
check '--npt-azim: its other side' grep -a -q 'Dim_2 = 9 ;' image.edf
check '--npt-azim: whole blocks of header, then floats' \
    equals `expr '(' \`wc -c <image.edf\` - 1800 ')' % 512` 0
check '--npt-azim: HDF5' integrate -o image.h5 --npt-azim 9 -n 50
check '--npt-azim: text is refused' refused 2 'edf' integrate -o x.dat --npt-azim 9
check 'EDF of curves is refused' refused 2 'curves are not written as .edf' integrate -o x.edf
check '--along-chi' integrate -o chi.dat --frames 0 --along-chi -n 72
check '--along-chi: 72 rows' equals "`rows chi.dat | wc -l | tr -d ' '`" 72
check '--along-chi: in the header' grep -q '^# *chi_deg  *I *$' chi.dat
check '--along-chi: degrees' sh -c "grep -v '^#' chi.dat | awk '\$1 < -180 || \$1 > 180 { exit 1 }
    \$1 > 170 { far = 1 } END { exit !far }'"
check '--along-chi and --npt-azim' refused 2 '--npt' integrate -o x.dat --along-chi --npt-azim 3
check '--plan-cache' integrate -o cached.dat --frames 0 --plan-cache plans/here
check '--plan-cache: a plan is there' equals "`ls plans/here | wc -l | tr -d ' '`" 1
check '--plan-cache: again' integrate -o cached2.dat --frames 0 --plan-cache plans/here
check '--plan-cache: the same curves' same cached.dat cached2.dat
check '--plan-cache: as without' same cached.dat plain.dat
check '--plan-cache: by default where HALCYON_CACHE_DIR says' sh -c \
    "HALCYON_CACHE_DIR=other '$halcyon' integrate s.h5 -p s.poni -q --frames 0 -o x.dat && ls other/plans/*.plan"
check '--plan-cache none' sh -c "HALCYON_CACHE_DIR=third '$halcyon' integrate s.h5 -p s.poni -q --frames 0 -o x.dat \
    --plan-cache none && test ! -e third"
check '--radial-range' integrate -o radial.dat --frames 0 --radial-range 5,10
check '--radial-range: the radii are in it' \
    sh -c "grep -v '^#' radial.dat | awk '\$1 < 5 || \$1 > 10 { exit 1 }'"
check '--azimuth-range' integrate -o azimuth.dat --frames 0 --azimuth-range 0,90
check '--azimuth-range: it matters' differ azimuth.dat plain.dat
numpy mask.npy 514 1030 200
check '--mask' integrate -o mask.dat --frames 0 --mask mask.npy
check '--mask: it matters' differ mask.dat plain.dat
check '--no-sentinels' integrate -o sentinels.dat --frames 0 --no-sentinels
check '--no-sentinels: it matters' differ sentinels.dat plain.dat
check '--mask-from-frame' integrate -o frame.dat --frames 0 --mask-from-frame 5 --dummy 1
check '--dummy' integrate -o dummy.dat --frames 0 --dummy 1
check '--dummy: it matters' differ dummy.dat sentinels.dat
check '--mask-from-frame: another frame masks this one' differ dummy.dat frame.dat
check '--delta-dummy' integrate -o delta.dat --frames 0 --dummy 1 --delta-dummy 1
check '--delta-dummy: it matters' differ delta.dat dummy.dat
check '--dataset' integrate -o dataset.dat --frames 0 --dataset /entry/data/data
check '--dataset: the same one' same dataset.dat plain.dat
check '--dataset: one that is not there' refused 1 '/nothing' integrate -o x.dat --dataset /nothing
check '--frames A:B' integrate -o frames.dat --frames 2:5
check '--frames: three of them' equals "`grep -c '^# frame' frames.dat`" 3
check '--frames: from the third' sh -c "grep '^# frame' frames.dat | head -1 | grep -q 2"
check '--frames past the end' refused 1 'frames 0 to 5' integrate -o x.dat --frames 4:7
integrate --frames 0 -o - >stdout.dat
check '-o - writes to stdout' same stdout.dat plain.dat
"$halcyon" integrate s.h5 -p s.poni --frames 0 -o - >stdout.dat 2>words
check 'the summary leaves stdout alone' same stdout.dat plain.dat
check 'the summary is there' grep -q 'frames/s from file to result' words
check '... and says which rate is the device'"'"'s' grep -q 'cpu.* frames/s while it had work' words
check '... and how long was before it' grep -q 'preparing took [0-9.]* m*s before that; 0 failed' words
"$halcyon" integrate s.h5 -p s.poni -o again.dat --frames 0 2>words
check 'the summary says what was written' grep -q '^again.dat: 1 curve$' words
"$halcyon" integrate s.h5 -p s.poni -o again.dat --frames 0:2 2>words
check '... and that it replaced a file' grep -q '^again.dat: 2 curves; it replaced an earlier file of this name$' words
"$halcyon" integrate s.h5 -p s.poni -o cake.edf --npt-azim 4 -n 20 --frames 0 2>words
check '... cakes are no curves' grep -q '^cake.edf: 1 cake$' words
check 'the summary counts one frame' grep -q '^1 frame in ' words
"$halcyon" integrate s.h5 -p s.poni --frames 0:2 -o where.dat 2>words
check 'the summary says where the curves are' grep -q '^where.dat: 2 curves$' words
check '-o x.h5' integrate -o x.h5
check '-o x.xy' integrate --frames 0 -o x.xy
rows plain.dat >x.rows
check '-o x.xy: rows and nothing else' cmp x.rows x.xy
check '-o x.xy of many frames' refused 1 'x.xy is for one curve.*name a file for each (x_%04d.xy)' integrate -o x.xy
check '-o x.xye of many frames' refused 1 'one curve.*(x_%04d.xye)' integrate --error-model poisson -o x.xye
integrate --frames 0 --error-model poisson -u 2th_deg -n 77 -o errors.dat
check '-o x.xye' integrate --frames 0 --error-model poisson -u 2th_deg -n 77 -o x.xye
rows errors.dat >errors.rows
check '-o x.xye: rows of three, and nothing else' cmp errors.rows x.xye
check '-o x.xye without errors' refused 2 'choose an error model' integrate --frames 0 -o x.xye
check '-o x.chi' integrate --frames 0 --error-model poisson -u 2th_deg -n 77 -o x.chi
check '-o x.chi: a title, labels, how many' sh -c "sed -n 2,4p x.chi | tr -s ' \\n' ' ' | grep -q '^[^ ].*2.*deg.* Intensity 77 '"
tail -n +5 x.chi >chi.rows
check '-o x.chi: rows of two' sh -c "awk '{ print \$1, \$2 }' errors.rows >a && awk '{ print \$1, \$2 }' chi.rows >b && cmp a b &&
    awk 'NF != 2 { exit 1 }' chi.rows"
check '-o x.fxye' integrate --frames 0 --error-model poisson -u 2th_deg -n 77 -o x.fxye
check '-o x.fxye: a title of 80 characters' equals "`head -1 x.fxye | wc -c | tr -d ' '`" 81
check '-o x.fxye: its bank' sh -c "sed -n 2p x.fxye | grep -q '^BANK 1 77 77 CONS [0-9.]* [0-9.]* 0 0 FXYE'"
check '-o x.fxye: hundredths of a degree, of the steps that it says' awk 'NR == 2 { at = $6; step = $7 }
    NR > 2 { d = $1 - at - (NR - 3) * step; if (d * d > 1e-6 * step * step || NF != 3) exit 1 }
    END { exit NR != 79 }' x.fxye
check '-o x.fxye: errors as they are' sh -c "tail -n +3 x.fxye | awk '{ print \$2, \$3 }' >a && awk '{ print \$2, \$3 }' errors.rows >b && cmp a b"
check '-o x.fxye in another unit' refused 2 'choose the unit 2th_deg' \
    integrate --frames 0 --error-model poisson -u q_nm^-1 -o x.fxye
check '-o x_%d.fxye' integrate --frames 0:2 --error-model poisson -u 2th_deg -o x_%d.fxye
check '-o x.xy of cakes: no advice that is refused, too' refused 2 'images in radius and azimuth are not written as .xy; use one of .*edf' \
    integrate --npt-azim 9 -o x_%d.xy
check 'an option that is misspelt, of the last of many' refused 2 'unknown option --quiett (is --quiet meant?)' integrate --quiett
check '... of three letters, two of which are others' refused 2 'unknown option --log; see' integrate --log
check 'a unit that is misspelt' refused 2 "'q_nm-1' is not valid (is q_nm^-1 meant?)" integrate -u q_nm-1 -o x.dat
check '... or has another name here' refused 2 '(is 2th_deg meant?)' integrate -u 2theta -o x.dat
check 'azimuths across 180 degrees the other way' refused 2 'may go on beyond 180 degrees: 170,190' \
    integrate --azimuth-range 170,-170 -o x.dat
check '... as the message says' integrate --azimuth-range 170,190 -o x.dat
check '-o x.xy of their sum' integrate -o sum.xy --sum 100
check '-o x_%d.xy of many frames' integrate -o x_%d.xy
check '... each has its own' sh -c "cmp x.rows x_0.xy && test -s x_5.xy"
check 'without -o: a file named after the stack' \
    sh -c "'$halcyon' integrate s.h5 -p s.poni -q && test -s s_azint.h5"
check 'a file a frame' integrate -o curve_%d.dat --frames 1:3
check 'a file a frame: they are there' test -s curve_1.dat -a -s curve_2.dat
check '-q says nothing' \
    sh -c "'$halcyon' integrate s.h5 -p s.poni -q -o quiet.dat 2>&1 | grep -q . && exit 1; exit 0"
check '--json is JSON' sh -c "'$halcyon' integrate s.h5 -p s.poni --json -o j.dat >j.json && '$json' <j.json"
for key in frames seconds frames_per_s bytes_raw failed devices.0.device; do
    check "--json has $key" sh -c "'$json' $key <j.json"
done
check '--json: all frames' equals "`"$json" frames <j.json`" 6
check '--json: bytes' equals "`"$json" bytes_raw <j.json`" `expr 6 '*' 514 '*' 1030 '*' 4`
check '--json: none failed' equals "`"$json" failed <j.json`" '[]'
check '--json: fused' equals "`"$json" devices.0.path <j.json`" fused
check '--json and -o - do not go together' refused 2 'stdout' integrate --json -o -
check '--two-stage' \
    sh -c "'$halcyon' integrate s.h5 -p s.poni --json --two-stage --frames 0 -o two.dat >two.json"
check '--two-stage: it says so' equals "`"$json" devices.0.path <two.json`" two-stage
check '--two-stage: the same bytes' same two.dat plain.dat
check '--batch' sh -c "'$halcyon' integrate s.h5 -p s.poni --json --batch 2 -o batch.dat >batch.json"
check '--batch: it counts' equals "`"$json" batch <batch.json`" 2
check '-d with two devices' \
    sh -c "'$halcyon' integrate s.h5 -p s.poni --json -d cpu@threads=1,cpu@threads=1 --batch 1 -o two.dat \
        >two.json"
check '-d: both are there' sh -c "'$json' devices.1.device <two.json"
integrate -o one.dat
check 'two devices, one device: the same bytes' same two.dat one.dat
check 'another batch: the same bytes' same batch.dat one.dat
check 'what bounds a run: devices that work on when all is read' sh -c "'$halcyon' integrate s.h5 -p s.poni --json --frames :4 \
    -d null@kernels=noop@delay-us=30000 --batch 1 -o slow.dat | grep '\"bound_by\": \"devices\"'"
"$halcyon" simulate large.h5 --shape 400x400 --frames 20 -q
check '--memory: batches are as small' sh -c "'$halcyon' integrate large.h5 -p large.poni --json -d cpu@threads=1 --memory 1 \
    -o memory.dat >memory.json && [ \"\`'$json' devices.0.batches <memory.json\`\" -ge 4 ]"
"$halcyon" integrate s.h5 -p s.poni -o uncached.dat -q --uncached
check '--uncached: the same bytes' same uncached.dat one.dat
for i in 0 1 2 3 4 5; do for j in 0 1 2 3 4 5 6 7 8 9; do ln s.h5 many_$i$j.h5; done; done
check '... of more files than it may have open twice' sh -c \
    "ulimit -n 110 && '$halcyon' integrate many_??.h5 -p s.poni -o many.dat -q --uncached --frames 59"
rm -f many_??.h5
check '... of a file that cannot be read so: a note' sh -c \
    "'$halcyon' integrate image.edf -p s.poni --uncached -o x.dat 2>&1 | grep 'read through the page cache'"
check '-d with an option that is none' refused 2 'there is no such option' "$halcyon" integrate s.h5 -p s.poni -d cpu@nonsense=1 -o x.dat
check '... with a value that is none' refused 2 'a number from 1' "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=x -o x.dat
check '... from the environment, which is no command line' refused 1 'a number from 1' \
    env HALCYON_DEVICE=cpu@threads=x "$halcyon" integrate s.h5 -p s.poni -o x.dat
check '-d that is none' refused 1 'nonsense' "$halcyon" integrate s.h5 -p s.poni -d nonsense -o x.dat

# --- Devices that fail, runs that are interrupted ---
noop=null:1@kernels=noop
check 'a device that fails: the run succeeds' sh -c \
    "'$halcyon' integrate s.h5 -p s.poni -d null@kernels=noop@fail-launch=1,$noop@delay-us=20000 --batch 1 \
        -o x.dat 2>words"
check 'a device that fails: it is reported' grep -q 'null.* was given up' words
check 'a device that fails: all frames are there' equals "`grep -c '^# frame [0-9]*$' x.dat`" 6
# The null device has no kernels unless it is told to.
check 'a device without kernels: the run succeeds' sh -c \
    "'$halcyon' integrate s.h5 -p s.poni -d null,cpu@threads=1 -o x.dat 2>words && grep 'null .* and integrated  FAILED' words"
check 'no device left' \
    refused 1 'given up: .*as @fail-launch asked' integrate -d null@kernels=noop@fail-launch=2 --batch 1 -o x.dat
check 'a device that hangs: the limit gives it up' \
    integrate -d null@kernels=noop@delay-us=60000000,cpu@threads=1 --device-timeout 3 -o hung.dat
check '... and its frames are the other one'"'"'s' same hung.dat one.dat
rm -f x.dat x.dat.partial-*
"$halcyon" integrate s.h5 -p s.poni -d $noop@delay-us=900000 --batch 1 -o x.dat 2>words &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep '^# frame 0' x.dat.partial-* >/dev/null 2>&1 && break
    sleep 1
done
kill -TERM $pid
wait $pid
check 'a signal ends a run with status 1' equals $? 1
check 'a signal: it says how far it was' grep -q 'stopped after . of 6 frames' words
check 'a signal: what was done is kept' grep -q '^# frame 0' x.dat.partial-$pid
check 'a signal: under no other name' test ! -e x.dat

# --- How fast ---
"$halcyon" bench s.h5 -p s.poni -d cpu@threads=1 --rounds 1 --json >bench.json
check 'bench: JSON' sh -c "'$json' plan_seconds <bench.json"
for i in 0,read 1,parse 2,decode 3,integrate 4,fused 5,whole; do
    check "bench: ${i#*,}" equals "`"$json" figures.${i%,*}.stage <bench.json`" ${i#*,}
done
check 'bench: a rate' sh -c "'$json' figures.5.frames_per_s <bench.json"

# --- Bad input ---
check 'no such file' refused 1 'none.h5' "$halcyon" integrate none.h5 -p s.poni
check 'no such geometry' refused 1 'none.poni' "$halcyon" integrate s.h5 -p none.poni
check 'a text file is no stack' refused 1 's.poni' "$halcyon" integrate s.poni -p s.poni
grep -v '^Distance' s.poni >nodistance.poni
check 'a PONI without a distance' refused 1 'istance' "$halcyon" integrate s.h5 -p nodistance.poni -o x.dat
check 'azimuth as a unit' refused 2 "'chi' is not valid (is --along-chi meant?)" integrate -u chi -o x.dat
check 'units with nothing behind the comma' refused 2 "'qip,' is not valid: it takes" integrate -u qip, -o x.dat
check 'an unknown unit' refused 2 'q_nm' integrate -o x.dat -u q_inch
numpy small.npy 10 20 1
check 'a mask of another shape' refused 1 '10 x 20' integrate -o x.dat --mask small.npy
check 'no such mask' refused 1 'none.npy' integrate -o x.dat --mask none.npy
check 'a mask from a frame that is not there' refused 1 'frames 0 to 5$' integrate -o x.dat --mask-from-frame 99
check 'a folder that is not there' refused 1 'nowhere' integrate -o nowhere/x.dat
check 'a suffix that is none' refused 2 'x.jpeg' integrate -o x.jpeg
check 'the stack itself as output' refused 1 's.h5' integrate -o s.h5
check 'a folder as output' refused 1 'is a directory' integrate -o .
check 'a sum to a folder that is not there: said before the work' \
    refused 1 '^halcyon sum: nowhere/x.h5 cannot be written' "$halcyon" sum s.h5 -o nowhere/x.h5
if [ -w /dev/full ]; then
    ln -s /dev/full disk.dat
    check 'a full disk' refused 1 'disk.dat' integrate -o disk.dat
    check 'a full stdout' sh -c "'$halcyon' integrate s.h5 -p s.poni -q -o - >/dev/full; test \$? -eq 1"
else
    skip '/dev/full is not there'
    skip '/dev/full is not there'
fi
printf 'abc' >empty.npy
check 'a damaged .npy' refused 1 'empty.npy' "$halcyon" integrate empty.npy -p s.poni -o x.dat
numpy flat.npy 514 1030 514
check 'a .npy image is a stack of one' "$halcyon" integrate flat.npy -p s.poni -q --no-sentinels -o flat.dat
numpy n_08.npy 514 1030 514
numpy n_10.npy 514 1030 514
check 'a numbered series: a file that is missing is a failed frame' \
    refused 1 'n_09.npy' "$halcyon" integrate n_%02d.npy -p s.poni -q --no-sentinels -o series.dat
check 'a numbered series: the others are there' equals "`grep -c '^# frame [0-9]*$' series.dat`" 2
size=`wc -c <s.h5`
head -c `expr $size / 2` s.h5 >truncated.h5
check 'a truncated file' refused 1 'truncated.h5' "$halcyon" integrate truncated.h5 -p s.poni -q -o x.dat

# --- A damaged frame ---
cp s.h5 damaged.h5
dd if=/dev/zero of=damaged.h5 bs=512 seek=`expr $size '*' 5 / 12 / 512` count=16 conv=notrunc 2>/dev/null
"$halcyon" integrate damaged.h5 -p s.poni --json -o damaged.dat >damaged.json 2>damaged.err
status=$?
check 'a damaged frame: status 1' equals $status 1
check 'a damaged frame: by its number' equals "`"$json" failed <damaged.json`" '[2]'
check 'a damaged frame: with words' grep -q 'frame 2 failed: .' damaged.err
check 'a damaged frame: the others are done' equals "`grep -c '^# frame [0-9]*$' damaged.dat`" 5
touch d_2.dat d_2.xy
check 'a damaged frame of a series of files' refused 1 'frame 2 failed: .' \
    "$halcyon" integrate damaged.h5 -p s.poni -q -o d_%d.dat
check '... has none, nor one from before' sh -c "test -s d_1.dat && test -s d_3.dat && test ! -e d_2.dat"
check '... of rows alone' refused 1 'frame 2 failed: .' "$halcyon" integrate damaged.h5 -p s.poni -q -o d_%d.xy
check '... has none' sh -c "test -s d_1.xy && test -s d_3.xy && test ! -e d_2.xy"
rows one.dat | awk 'NR <= 1000' >one.first
rows damaged.dat | awk 'NR <= 1000' >damaged.first
check 'a damaged frame: and right' cmp one.first damaged.first

echo "1..$n"
exit $failed
