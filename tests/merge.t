# Stacks over several processes or machines: integrate and sum with --shard, and halcyon merge.
test_name=merge
top_srcdir=${top_srcdir:-.}
case $top_srcdir in /*) ;; *) top_srcdir=`pwd`/$top_srcdir ;; esac
. "$top_srcdir/tests/cli.sh"
python=${PYTHON:-python3}
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE SLURM_PROCID SLURM_STEP_NUM_TASKS

if "$halcyon" simulate s.h5 --detector Eiger500k --frames 10 --seed 3 -q >simulate.log 2>&1; then
    :
elif grep 'no HDF5' simulate.log >/dev/null; then
    echo '1..0 # SKIP built without HDF5'
    exit 0
else
    sed 's/^/# /' simulate.log
    exit 99
fi
integrate() { "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=1 --error-model poisson -q "$@"; }
merge() { "$halcyon" merge "$@" -q; }
# text FILE.h5: its curves as they are, bit by bit.
text() { "$halcyon" sum "$1" --dataset /entry_0000/integrate/results/$2 -o $2.npy -q && cat $2.npy; }
same() { text "$1" data >same.a && text "$1" data_errors >>same.a && text "$2" data >same.b &&
    text "$2" data_errors >>same.b && [ -s same.a ] && cmp same.a same.b; }
each() { for i in 0 1 2 3; do "$@" --shard $i/4 || return 1; done; }

# --- A loop ---
integrate -o whole.h5 || exit 99
check 'a loop: four parts' each integrate -o run.h5
check 'a loop: the files have names of their own' ls run.0-of-4.h5 run.1-of-4.h5 run.2-of-4.h5 run.3-of-4.h5
check 'merge' merge run.3-of-4.h5 run.0-of-4.h5 run.2-of-4.h5 run.1-of-4.h5 -o all.h5
check 'merge: the curves of one process, bit by bit' same whole.h5 all.h5
check 'merge --copy' merge run.?-of-4.h5 -o copy.h5 --copy
mkdir below && cp run.?-of-4.h5 below
check 'parts in a folder below' merge below/run.?-of-4.h5 -o below.h5
mkdir moved && mv below below.h5 moved
check '... which moves with the merged file' same whole.h5 moved/below.h5

# --- A part that died ---
mv run.2-of-4.h5 kept.h5
check 'a missing part is named' refused 1 '2/4 (frames 6 to 7)' "$halcyon" merge run.?-of-4.h5 -o none.h5
check '... and nothing is written' not ls none.h5
check 'all.h5 says what it lacks' refused 1 'run.2-of-4.h5' "$halcyon" sum all.h5 --dataset /entry_0000/integrate/results/data -o none.npy
check 'a part is run again alone' integrate -o run.h5 --shard 2/4
check '... and takes its place' same whole.h5 all.h5
check 'a copy did without it' same whole.h5 copy.h5
: >empty.h5
check 'a file with nothing in it' refused 1 'empty.h5 is empty' "$halcyon" merge run.?-of-4.h5 empty.h5 -o none.h5
check 'a part twice' refused 1 'both part 2/4' "$halcyon" merge run.?-of-4.h5 kept.h5 -o none.h5
integrate -o other.h5 --shard 2/4 -n 500
check 'a part of another plan' refused 1 'different plans' "$halcyon" merge run.0-of-4.h5 run.1-of-4.h5 other.2-of-4.h5 run.3-of-4.h5 -o none.h5
cp run.1-of-4.h5 safe.h5
check 'a part is not written over' refused 1 'name another file' "$halcyon" merge run.?-of-4.h5 -o run.1-of-4.h5
check '... and stays' cmp safe.h5 run.1-of-4.h5

# --- What parts have in common ---
integrate -o pairs.h5 --sum 3 || exit 99
check '--sum: parts have whole groups' each integrate -o pair.h5 --sum 3
check '--sum: merged' merge pair.?-of-4.h5 -o paired.h5
check '--sum: the curves of one process' same pairs.h5 paired.h5
integrate -o middle.h5 --frames 2:9 || exit 99
check '--frames: of these' each integrate -o part.h5 --frames 2:9
check '--frames: merged' merge part.?-of-4.h5 -o parts.h5
check '--frames: the curves of one process' same middle.h5 parts.h5
check 'more parts than frames' integrate -o one.h5 --frames 0:1 --shard 1/3
integrate -o none.h5 --frames 0:1 --shard 1/3 --json >none.json
check '... whose JSON is an object' sh -c "grep '\"frames\": 0,' none.json && [ '{}' = \"\`head -c 1 none.json; tail -n 1 none.json\`\" ]"
check '... have no file' not ls one.1-of-3.h5
integrate -o one.h5 --frames 0:1 --shard 0/3
check '... and are not missed' merge one.0-of-3.h5 -o ones.h5
check 'images in radius and azimuth' each integrate -o cake.h5 -n 50 --npt-azim 8
check '... merged' merge cake.?-of-4.h5 -o cakes.h5
integrate -o wholecake.h5 -n 50 --npt-azim 8
check '... the images of one process' same wholecake.h5 cakes.h5

# --- Totals ---
total() { "$halcyon" sum s.h5 -d cpu@threads=1 -q "$@"; }
for how in '' --max; do
    # shellcheck disable=SC2086 # none, or one
    {
        total $how -o total$how.npy || exit 99
        check "sum $how: parts" each total $how -o t$how.h5
        check "sum $how: merged" merge t$how.?-of-4.h5 -o merged$how.npy
        check "sum $how: every bit" cmp total$how.npy merged$how.npy
    }
done
check 'sum: a part is missing' refused 1 '1/4' "$halcyon" merge t.0-of-4.h5 t.2-of-4.h5 t.3-of-4.h5 -o none.npy
check 'sum: sums and largest values' refused 1 'has sum' "$halcyon" merge t.0-of-4.h5 t--max.1-of-4.h5 -o none.npy
check 'sum: parts are HDF5' refused 2 'give -o FILE.h5' "$halcyon" sum s.h5 --shard 0/2 -o t.npy
# A frame that one part has left out is missing in the merge.
"$halcyon" decompress s.h5 -o 'g_%d.tif' -q && rm g_3.tif
check 'sum: a part without one of its frames' refused 1 'frame 3 failed' "$halcyon" sum g_%d.tif --shard 0/2 -o g.h5 -q
check 'sum: the other part' "$halcyon" sum g_%d.tif --shard 1/2 -o g.h5 -q
check 'merge: ... is said, and the status' refused 1 'g.0-of-2.h5 lacks frames' merge g.0-of-2.h5 g.1-of-2.h5 -o g.npy
"$halcyon" sum g_%d.tif -o g1.npy -q 2>g.log
check 'merge: ... and the total is that of one process' cmp g.npy g1.npy
fails() { "$halcyon" integrate g_%d.tif -p s.poni -d cpu@threads=1 --error-model poisson -q "$@"; }
check 'curves: a part without one of its frames' refused 1 'frame 3 failed' fails --shard 0/2 -o f.h5
check 'curves: the other part' fails --shard 1/2 -o f.h5
fails -o failed.h5 2>f.log
for how in '' --copy; do
    # shellcheck disable=SC2086 # none, or one
    check "merge $how: ... is said, and the status" refused 1 'f.h5: 1 of 10 frames failed and has no curve, frame 3 first' \
        merge f.1-of-2.h5 f.0-of-2.h5 -o f.h5 $how
    check "merge $how: ... the file does, too" sh -c \
        "'$halcyon' info f.h5 | grep 'failed .*1 of the frames, which have no curve, frame 3 first'"
    check "merge $how: ... and the curves are those of one process" same failed.h5 f.h5
done
check 'sum: not by regions' refused 2 'a row for each frame' "$halcyon" sum s.h5 --shard 0/2 --roi 0,0,2,2 -o t.h5

# --- What says which part ---
launched() { # WORDS OF ENVIRONMENT...: --shard auto is part 1/4
    rm -f auto.*
    env "$@" "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=1 -q -o auto.h5 --shard auto && ls auto.1-of-4.h5
}
check 'auto: Open MPI' launched OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1
check 'auto: PMI' launched PMI_RANK=1 PMI_SIZE=4
check 'auto: Slurm' launched SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4
check 'auto: a batch script is no step' refused 2 'nothing numbers' env SLURM_PROCID=0 SLURM_NTASKS=4 "$halcyon" integrate s.h5 -p s.poni --shard auto
check 'auto: numbers that cannot be' refused 2 "process '4' of '4'" env PMI_RANK=4 PMI_SIZE=4 "$halcyon" integrate s.h5 -p s.poni --shard auto
for wrong in 4/4 -1/4 1 1/ /4 1/4x ' 1/4' 1/0 99999999999999999999/4; do
    check "--shard '$wrong'" refused 2 'is not valid' "$halcyon" integrate s.h5 -p s.poni --shard "$wrong"
done
check '--shard and --follow' refused 2 'leave --follow' "$halcyon" integrate s.h5 -p s.poni --shard 0/2 --follow
check 'merge: without -o' refused 2 'give -o' "$halcyon" merge run.0-of-4.h5
check 'merge: curves to text' refused 2 'HDF5' "$halcyon" merge run.?-of-4.h5 -o all.dat
check 'merge: a file of something else' refused 1 's.h5' "$halcyon" merge s.h5 -o none.h5

# --- Open MPI ---
if mpirun --version 2>/dev/null | grep 'Open MPI' >/dev/null; then
    mpi() { mpirun --allow-run-as-root --oversubscribe -n 4 "$halcyon" "$@" --shard auto </dev/null; }
    check 'Open MPI: four processes' mpi integrate s.h5 -p s.poni -d cpu@threads=1 --error-model poisson -q -o mpi.h5
    check 'Open MPI: merged' merge mpi.?-of-4.h5 -o mpis.h5
    check 'Open MPI: the curves of one process' same whole.h5 mpis.h5
    check 'Open MPI: totals' mpi sum s.h5 -d cpu@threads=1 -q -o mpit.h5
    check 'Open MPI: totals merged' merge mpit.?-of-4.h5 -o mpit.npy
    check 'Open MPI: every bit' cmp total.npy mpit.npy
else
    skip 'there is no Open MPI'
fi

# --- pyFAI's and silx' way in ---
if "$python" -c 'import h5py' 2>no.h5py; then
    check 'h5py: the same, virtual' "$python" - <<'END'
import h5py, numpy
with h5py.File("whole.h5") as whole, h5py.File("all.h5") as merged, h5py.File("copy.h5") as copy:
    def held(name, one):
        for other in merged[name], copy[name]:
            assert set(one.attrs) == set(other.attrs), name
            if isinstance(one, h5py.Dataset) and one.dtype.kind in "iuf":
                assert one.dtype == other.dtype and numpy.array_equal(one[()], other[()], equal_nan=one.dtype.kind == "f"), name
    whole.visititems(held)
    results = "entry_0000/integrate/results/"
    for column in "data", "data_errors", "frame", "masked":
        assert merged[results + column].is_virtual and not copy[results + column].is_virtual
        assert [s.file_name for s in merged[results + column].virtual_sources()] == [f"run.{i}-of-4.h5" for i in range(4)]
    assert merged["entry_0000/measurement/images_0001"].shape[0] == 10
END
else
    skip "$python has no h5py (PYTHON names one that has)"
fi
if "$python" -c 'import silx, pyFAI' 2>no.silx; then
    check 'silx and pyFAI read a merged file' "$python" "$top_srcdir/tests/reference/read_curves.py" all.h5
    check 'silx and pyFAI read a merged copy' "$python" "$top_srcdir/tests/reference/read_curves.py" copy.h5
else
    skip "$python has no silx and pyFAI (PYTHON names one that has)"
fi
echo "1..$n"
exit $failed
