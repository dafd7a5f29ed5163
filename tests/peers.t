# With silx, pyFAI, fabio and h5py in $PYTHON, where they are: they read what halcyon writes, and it reads what they write.
test_name=peers
top_srcdir=${top_srcdir:-.}
case $top_srcdir in /*) ;; *) top_srcdir=`pwd`/$top_srcdir ;; esac
. "$top_srcdir/tests/cli.sh"
python=${PYTHON:-python3}
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
echo "1..$n"
exit $failed
