# Outputs: no command writes over what it reads; a file takes its name when it is whole; pipes, links, permissions; every
# suffix is what it says, or is refused.
test_name=outputs
. "${top_srcdir:-.}/tests/cli.sh"

[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }
HALCYON_BACKENDS=cpu
export HALCYON_BACKENDS

"$halcyon" simulate s.h5 --shape 64x90 --dtype uint16 -n 4 -q || exit 99
"$halcyon" decompress s.h5 --frames 0 -o one.npy -q || exit 99
printf '1\n1\n1\n1\n' >monitor.txt
"$halcyon" integrate s.h5 -p s.poni -o first.h5 --save-config config.json -q || exit 99
cp one.npy 'img_0.npy'
mkdir kept
cp ./* kept 2>cp.log

# --- What is read is not written over ---
# kept WHAT COMMAND...: it is refused, and all files are as they were.
unharmed() { for f in kept/*; do cmp "$f" "${f#kept/}" || return 1; done; }
spared()
{
    what=$1
    shift
    check "$what: refused" refused 1 'name another file' "$@"
    check "$what: nothing was written" unharmed
}
run="$halcyon integrate s.h5 -p s.poni -q -n 20"
ln -s s.h5 alias.h5
ln one.npy hard.npy
for option in flat dark mask absorption; do
    # shellcheck disable=SC2086 # several words
    spared "-o naming --$option" $run --$option hard.npy -o one.npy --save-config x.json
done
# shellcheck disable=SC2086
{
    spared '-o naming the PONI file' $run -o ./s.poni
    spared '-o naming the monitor' $run --monitor monitor.txt -o monitor.txt
    spared '-o naming the stack by a link' $run -o alias.h5
    spared '-o naming the configuration' "$halcyon" integrate s.h5 -q --config config.json -o config.json
    spared '-o naming one file a frame' $run --flat img_0.npy --frames :2 -o img_%d.npy
    spared '--save-config naming the stack' $run -o x.h5 --save-config s.h5
    spared '--save-config naming the PONI file' $run -o x.h5 --save-config s.poni
    spared '--save-config naming the output' $run -o x.h5 --save-config x.h5
    for path in s.h5 s.poni one.npy; do
        spared "HALCYON_TRACE naming $path" env HALCYON_TRACE=$path $run --flat one.npy -o x.h5
    done
}
for sub in sum decompress compress; do
    spared "$sub onto its stack" "$halcyon" $sub s.h5 -o alias.h5 -q
    spared "$sub: HALCYON_TRACE naming the stack" env HALCYON_TRACE=alias.h5 "$halcyon" $sub s.h5 -o x.h5 -q
done
spared 'simulate: a stack that is its geometry' "$halcyon" simulate s.poni --shape 64x90 -q
spared 'bench: HALCYON_TRACE' env HALCYON_TRACE=s.poni "$halcyon" bench s.h5 -p s.poni
spared 'fpga-model: HALCYON_TRACE' env HALCYON_TRACE=s.h5 "$halcyon" fpga-model s.h5 -p s.poni
spared 'nufft' "$halcyon" nufft -t 1 -p one.npy -i one.npy -n 4 -o hard.npy

cp config.json config.svg
"$halcyon" integrate s.h5 -p s.poni -n 20 -o curve.dat -q
ln -s curve.dat curve.svg
check 'plot onto what is plotted' refused 1 'name another file' "$halcyon" plot curve.dat -o curve.svg
HALCYON_TRACE=monitor.txt "$halcyon" nufft -t 1 -p one.npy -i one.npy -n 4 -o x.npy 2>words
check 'a trace is written over nothing but a trace' unharmed

# --- Pipes, links, permissions ---
"$halcyon" integrate s.h5 -p s.poni -n 20 -o plain.xy -q
for out in - /dev/stdout /dev/fd/1; do
    check "-o $out" sh -c "'$halcyon' integrate s.h5 -p s.poni -n 20 -o $out -q | grep -v '^#' | tail -20 >got; tail -20 plain.xy | cmp - got"
done
{ echo before; "$halcyon" integrate s.h5 -p s.poni -n 20 -o /dev/stdout -q; echo after; } >all
check '-o /dev/stdout in a file: what stands around it stays' \
    sh -c 'head -1 all | grep before && tail -1 all | grep after && grep "frame 3" all'
mkdir elsewhere
ln -s elsewhere/real.npy link.npy
check 'through a link' "$halcyon" decompress s.h5 -o link.npy -q
check 'through a link: which stays, and what it names is written' test -L link.npy -a -s elsewhere/real.npy
chmod 600 link.npy
check 'over a file' "$halcyon" decompress s.h5 -o link.npy -q
check 'over a file: its permissions stay' equals "`ls -l elsewhere/real.npy | cut -c1-10`" '-rw-------'
mkfifo pipe.dat
cat pipe.dat >through &
check 'to a pipe' "$halcyon" integrate s.h5 -p s.poni -n 20 -o pipe.dat -q
wait $!
check 'to a pipe: all of it' equals "`grep -c '^# frame' through`" 4

echo "1..$n"
exit $failed
