# With silx, pyFAI, fabio and h5py in $PYTHON, where they are: they read what halcyon writes, and it reads what they write.
test_name=peers
top_srcdir=${top_srcdir:-.}
case $top_srcdir in /*) ;; *) top_srcdir=`pwd`/$top_srcdir ;; esac
. "$top_srcdir/tests/cli.sh"
python=${PYTHON:-python3}
tools=${json%/*}
if "$python" -c 'import silx, pyFAI, fabio, h5py, hdf5plugin' >/dev/null 2>&1; then
    :
else
    echo "1..0 # SKIP $python has not silx, pyFAI, fabio, h5py and hdf5plugin (PYTHON names one that has)"
    exit 0
fi
if "$halcyon" simulate s.h5 --detector Eiger500k --frames 2 --seed 3 -q >simulate.log 2>&1; then
    :
else
    echo '1..0 # SKIP built without HDF5'
    exit 0
fi
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR
integrate() { "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=1 -q "$@"; }
reads() { "$python" "$top_srcdir/tests/reference/read_curves.py" "$1"; }

check 'curves' integrate -o one.h5 --error-model poisson
check 'curves: silx and pyFAI read them, and find the same' reads one.h5
check 'images in radius and azimuth' integrate -o two.h5 -n 100 --npt-azim 20
check 'images: silx and pyFAI read them, and find the same' reads two.h5

# sum PATH FACTOR: the stack's sum is that.
sum()
{
    "$halcyon" sum "$1" -o sum.npy -q &&
        "$python" -c "
import numpy
want = $2 * numpy.load('want.npy')
assert (numpy.load('sum.npy').reshape(want.shape) == want).all()"
}
"$python" "$top_srcdir/tests/reference/write_inputs.py" . >made 2>made.log || { cat made.log; exit 99; }
while read -r path factor; do
    check "reads $path of fabio's or h5py's" sum "$path" "$factor"
done <made

# --- Detectors: what the library is held against is what this pyFAI says ---
same_detectors()
{
    "$python" "$top_srcdir/tests/reference/make_detectors.py" >detectors.h 2>detectors.log || { cat detectors.log; return 1; }
    diff "$top_srcdir/tests/reference/azint_detectors.h" detectors.h
}
check 'every detector of pyFAI has the pixels, mask and corners of the table' same_detectors

# --- Calibrants ---
same_calibrants() { "$tools/calibrate" print >rings && "$python" "$top_srcdir/tests/reference/check_calibrants.py" <rings; }
check 'every calibrant of pyFAI has the same rings' same_calibrants

# What doc/geometry.md says of this pyFAI is what it prints; another pyFAI may have mended some of it.
if "$python" -c 'import pyFAI; raise SystemExit(not pyFAI.version.startswith("2026.9"))'; then
    printed()
    {
        # What stands in memory that nothing was written to is right now and then.
        for run in 1 2 3 4 5 6 7 8 9 10; do
            "$python" "$top_srcdir/tests/reference/pyfai_errors.py" >printed 2>&1 || { cat printed; return 1; }
            grep -q 'not seen' printed || break
        done
        while read -r line; do
            grep -F "$line" "$top_srcdir/doc/geometry.md" || { echo "not there: $line"; return 1; }
        done <printed
    }
    check "pyFAI's errors are as doc/geometry.md has them" printed
else
    skip 'another pyFAI than 2026.9'
fi

# --- Configurations: pyFAI makes the same curves from them ---
tool=$tools/corrections
for words in few mask 'mask dectris' 'mask nexus' plain; do
    "$tool" make "`echo $words | tr -d ' '`.h5" "$words" || exit 99
done
# saves NAME STACK OPTIONS...: a configuration with its curve, another case.
saves()
{
    name=$1 stack=$2
    shift 2
    "$halcyon" integrate "$stack" -d cpu@threads=1 -q -n 20 -u r_mm --frames 0:1 -o "$name.dat" \
        --save-config "$name.json" "$@" && echo "`pwd`/$name.json `pwd`/$stack `pwd`/$name.dat" >>cases
}
mask=/entry/instrument/detector/pixel_mask
check "a configuration: the file's own mask" saves own few.h5
check '... by its whole name' grep "\"`pwd`/few.h5::$mask\"" own.json
check 'a master file as mask' saves master plain.h5 --mask few.h5
check '... by its whole name, too' grep "\"`pwd`/few.h5::$mask\"" master.json
check 'a dataset as mask' saves dataset plain.h5 --mask few.h5::$mask
check '... by the same' grep "\"`pwd`/few.h5::$mask\"" dataset.json
check 'bits that pyFAI does not see' saves bits mask.h5
check '... are in a mask of its own' grep "\"`pwd`/bits_mask.npy\"" bits.json
check 'two masks' saves both few.h5 --mask mask.h5
check '... in one' grep "\"`pwd`/both_mask.npy\"" both.json
check 'no mask' saves none mask.h5 --no-file-mask
check "DECTRIS' flat field, which multiplies" saves dectris maskdectris.h5
check '... is one that divides' grep "\"`pwd`/dectris_flat.npy\"" dectris.json
check "NeXus' flat field" saves nexus masknexus.h5
check '... is named' grep "\"`pwd`/masknexus.h5::/entry/instrument/detector/flatfield\"" nexus.json
i=0 # not --along-chi: the Worker of pyFAI 2026.9 fails in its own integrate_radial
for options in '--split no' '--split full' '-u q_A^-1' '--no-solid-angle' '--polarization 0.9' '--radial-range 0.5,2' \
    '--azimuth-range -100,50' '--normalization 3' '--dummy 60000' '--error-model poisson' \
    '--sigma-clip' '--percentile 50 --split no'; do
    i=`expr $i + 1`
    # shellcheck disable=SC2086 # several words on purpose
    check "$options" saves option$i few.h5 $options
done
check 'pyFAI makes the same curves of them all, from another folder' \
    sh -c "w=\`pwd\`; cd / && '$python' '$top_srcdir/tests/reference/check_config.py' <\"\$w/cases\""
echo "1..$n"
exit $failed
