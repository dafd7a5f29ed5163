# halcyon --isolate, and the library's tests of HDF5 files with every file isolated: the same results.
tests=${top_builddir:-.}/tests
case $tests in /*) ;; *) tests=`pwd`/$tests ;; esac
test_name=isolate
. "${top_srcdir:-.}/tests/cli.sh"
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR

if "$halcyon" simulate s.h5 --detector Eiger500k --frames 4 --seed 3 -q >simulate.log 2>&1; then
    :
elif grep 'no HDF5' simulate.log >/dev/null; then
    check 'without HDF5 it says so' sh -c '"$1" info --isolate x.h5 2>&1 | grep "built without HDF5"' sh "$halcyon"
    echo "1..$n"
    exit $failed
else
    sed 's/^/# /' simulate.log
    exit 99
fi

integrate() { "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=1 -q "$@"; }
# Comments name the command that made a curve.
same() { grep -v '^#' "$1" >a; grep -v '^#' "$2" >b; [ -s a ] && cmp a b; }
both() # COMMAND...: twice, with -o plain.X and with -o isolated.X --isolate
{
    suffix=$1
    shift
    "$@" --no-isolate -o plain.$suffix && "$@" --isolate -o isolated.$suffix
}
curves() { both dat integrate && same plain.dat isolated.dat; }
check 'integrate --isolate: the same curves' curves
pixels() { both npy "$halcyon" decompress s.h5 -q && cmp plain.npy isolated.npy; }
check 'decompress --isolate: the same pixels' pixels
sums() { both npy "$halcyon" sum s.h5 -q && cmp plain.npy isolated.npy; }
check 'sum --isolate: the same sum' sums
information() { "$halcyon" info s.h5 >a && "$halcyon" info --isolate s.h5 >b && [ -s a ] && cmp a b; }
check 'info --isolate: the same words' information
results()
{
    integrate -o r.h5 && "$halcyon" plot r.h5 -o p.svg --no-isolate && 
        "$halcyon" plot r.h5 -o q.svg --isolate && cmp p.svg q.svg
}
if command -v gnuplot >/dev/null; then
    check 'plot --isolate: the same picture' results
fi
processes() { integrate --isolate --processes 2 -o isolated.dat && same plain.dat isolated.dat; }
check 'worker processes isolate, too' processes

built_reader() { (unset HALCYON_H5_READER; "$halcyon" info --isolate s.h5); }
check 'the reader beside the command is found' built_reader
no_reader() { HALCYON_H5_READER=$work/none "$halcyon" "$@"; }
needs_it() { no_reader info s.h5 "$@" >log 2>&1; [ $? = 1 ] && grep "$work/none" log; }
check 'a reader that is not there is named' needs_it --isolate
check 'few descriptors are said to be few' refused 1 'Too many open files' sh -c "ulimit -n 10; exec '$halcyon' info s.h5 --isolate"
check 'calibrate --isolate: it is named, too' refused 1 "$work/none" no_reader calibrate s.h5 -c CeO2 -p s.poni --isolate
HALCYON_ISOLATE=all
export HALCYON_ISOLATE
check 'the environment asks for it' needs_it
check 'an option goes before it' no_reader info s.h5 --no-isolate
HALCYON_ISOLATE=yes
check 'HALCYON_ISOLATE: a word that is none' refused 2 'none, foreign, all' "$halcyon" info s.h5
unset HALCYON_ISOLATE
check "one's own files need no reader" no_reader info s.h5
if [ "`id -u`" = 0 ] && chown 65534 s.h5; then
    check "other users' files do" needs_it
    check 'unless they are trusted' no_reader info s.h5 --no-isolate
    chown 0 s.h5
fi

# Each way in goes through the reader: one that counts stands in front of it.
reader=${HALCYON_H5_READER-${top_builddir:-.}/halcyon-h5-reader}
cat >counter <<EOF
#!/bin/sh
echo x >>'$work/count'
exec '$reader' "\$@"
EOF
chmod +x counter
counted() # LEAST MOST COMMAND...: how many readers it starts
{
    least=$1 most=$2
    shift 2
    rm -f count
    HALCYON_H5_READER=$work/counter "$@" >log 2>&1 || return 1
    started=0
    [ ! -f count ] || started=`wc -l <count`
    echo "$started readers" >>log
    [ "$started" -ge "$least" ] && [ "$started" -le "$most" ]
}
check 'integrate asks it' counted 1 9 integrate --isolate -o c.dat
check 'decompress asks it' counted 1 9 "$halcyon" decompress s.h5 --isolate -q -o c.npy
check 'sum asks it' counted 1 9 "$halcyon" sum s.h5 --isolate -q -o c.npy
check 'info asks it' counted 1 9 "$halcyon" info s.h5 --isolate
integrate -o r.h5 >log 2>&1
if command -v gnuplot >/dev/null; then
    check 'plot asks it' counted 1 9 "$halcyon" plot r.h5 --isolate -o c.svg
fi
# The command alone asks three times.
check 'each of two processes asks it' counted 4 99 integrate --isolate --processes 2 -o c.dat
check 'nobody asks it for files of his own' counted 0 0 integrate -o c.dat

# What `merge` reads, the reader tries first: the part that says what all are, and each once more; then it looks at its output.
for i in 0 1; do integrate -o m.h5 --shard $i/2 >log 2>&1; done
parts='m.0-of-2.h5 m.1-of-2.h5'
check 'merge has each part tried' counted 4 4 "$halcyon" merge $parts --isolate -o merged.h5
mv merged.h5 isolated.h5
# The curves, as a file also says when it was made.
merged_curves() { "$halcyon" sum "$1" --dataset /entry_0000/integrate/results/data -o rows.npy -q && cat rows.npy; }
merged_same()
{
    "$halcyon" merge $parts -o merged.h5 && merged_curves isolated.h5 >a && merged_curves merged.h5 >b && [ -s a ] && cmp a b
}
check '... and makes the same curves' merged_same
printf '#!/bin/sh\nkill -SEGV $$\n' >crasher
chmod +x crasher
check 'a part that crashes HDF5 is named' refused 1 'm.0-of-2.h5: HDF5 crashed' env HALCYON_H5_READER=$work/crasher "$halcyon" merge $parts --isolate -o none.h5
check '... and nothing is written' not ls none.h5
if command -v gnuplot >/dev/null; then
    check 'plot says so of a stack, and looks for no array in it' refused 1 's.h5: HDF5 crashed' env HALCYON_H5_READER=$work/crasher "$halcyon" plot s.h5 --isolate -o none.svg
fi

# The library's own tests of what it reads, with all of it isolated.
HALCYON_ISOLATE=all
export HALCYON_ISOLATE
for name in stack_virtual stack_grow corrections results; do
    check "tests/$name, isolated" "$tests/$name"
done
echo "1..$n"
exit $failed
