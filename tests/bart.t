# BART as a second oracle, where it is installed (Debian: apt install bart): its direct sum, its own transforms, pics and
# ecalib on the same files.  Programs scale differently, so that numbers are compared times the one that brings them nearest.
test_name=bart
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
command -v bart >/dev/null || { echo '1..0 # SKIP no bart'; exit 0; }
HALCYON_CACHE_DIR=$work/cache
HALCYON_DEVICE=cpu@threads=2
OMP_NUM_THREADS=2
export HALCYON_CACHE_DIR HALCYON_DEVICE OMP_NUM_THREADS
files=${top_builddir:-.}/tests/recon_files
case $files in /*) ;; *) files=$OLDPWD/$files ;; esac
near() { "$files" near "$1" "$2" "$3"; }
oracle() { bart "$@" >bart.log 2>&1 || { cat bart.log; return 1; }; }

# Transforms: its direct sum at our bound, its own transform at its (-P: else it leaves out what lies beyond k-space's edges).
"$halcyon" simulate --mri radial --size 32 --coils 4 -q r.cfl
"$halcyon" simulate --mri kooshball --size 16 -q k.cfl
for name in r k; do
    check "$name: to points" "$halcyon" nufft -t 2 -p ${name}_trajectory.cfl -i ${name}_image.cfl -e 1e-6 -o ours.cfl -q
    check '... BART too, by the sum itself' oracle nufft -s ${name}_trajectory ${name}_image sum
    check '... the same' near ours.cfl sum.cfl 5e-6
    check '... and by its own' oracle nufft -P ${name}_trajectory ${name}_image own
    check '... to its bound' near ours.cfl own.cfl 2e-4
done
check 'from points: a coil' oracle slice 3 0 r_samples coil
check '... to an image' "$halcyon" nufft -t 1 -p r_trajectory.cfl -i coil.cfl -n 32,32 -o ours.cfl -q
check '... BART too' oracle nufft -P -a -d 32:32:1 r_trajectory coil own
check '... the same' near ours.cfl own.cfl 1e-4

# Images.  Points that are nowhere near k-space's edges, which BART's solver leaves out; samples by its direct sum.
bart scale 0.8 r_trajectory t
bart fmac r_image r_maps coils
bart nufft -s t coils s >/dev/null
# Roundings grow with iterations of single precision: 2e-3 is BART's own bound for such images (its tests/pics.mk).
check 'conjugate gradients' "$halcyon" recon s.cfl -t t.cfl -n 32,32 --maps r_maps.cfl --iterations 5 --tolerance 0 -q -o ours.cfl
check '... BART too' oracle pics -l2 -r 0 -i 5 -t t s r_maps theirs
check '... the same' near ours.cfl theirs.cfl 2e-3
# Its transform has a factor of 1 / 32, and ours the mean over 3264 points: the same smallness is 32^2 / 3264 of its number.
check 'a small image' "$halcyon" recon s.cfl -t t.cfl -n 32,32 --maps r_maps.cfl --iterations 60 --tolerance 0 --lambda 0.3137 -q -o ours.cfl
check '... BART too' oracle pics -w 1 -l2 -r 1 -i 60 -t t s r_maps theirs
check '... the same' near ours.cfl theirs.cfl 2e-3
check '... which another number is not' oracle pics -w 1 -l2 -r 0.1 -i 60 -t t s r_maps theirs
check '... by far' not near ours.cfl theirs.cfl 0.02

# Real images of noisy samples, which no real image has (its -c).
bart noise -n 300 s noisy
check 'a real image' "$halcyon" recon noisy.cfl -t t.cfl -n 32,32 --maps r_maps.cfl --iterations 200 --tolerance 0 --lambda 0.3137 --real -q -o ours.cfl
check '... BART too' oracle pics -w 1 -c -l2 -r 1 -i 100 -S -t t noisy r_maps theirs
check '... the same' near ours.cfl theirs.cfl 1e-3
check 'a complex one' "$halcyon" recon noisy.cfl -t t.cfl -n 32,32 --maps r_maps.cfl --iterations 200 --tolerance 0 --lambda 0.3137 -q -o ours.cfl
check '... is another' not near ours.cfl theirs.cfl 0.2

# Delays of gradients: RING finds them in samples, too, and names them y first, as what is to be added to k.
"$halcyon" simulate --mri radial --size 64 --coils 4 --spokes 101 --golden --delay 0.7,-0.4 -q d.cfl
"$halcyon" recon d_samples.cfl -t d_trajectory.cfl -n 64,64 --delay auto --iterations 1 --json -q -o ours.cfl >ours.json
bart estdelay -R -r 3 -n 40 d_trajectory d_samples 2>/dev/null >theirs
delays_agree() { awk -F: -v x="`"$json" delays.0 <ours.json`" -v y="`"$json" delays.1 <ours.json`" '{ print; dx = x + $2; dy = y + $1 } END { exit !(NR && dx * dx + dy * dy < 1e-5) }' theirs; }
check "delays of gradients: BART's RING finds the same" delays_agree

# Maps: by its ESPIRiT, from k-space that it has gridded, and by ours: each up to a phase, so that magnitudes are compared.
check "ESPIRiT: BART's images" oracle nufft -i -d 32:32:1 r_trajectory r_samples gridded
bart fft -u 3 gridded lines
check '... and maps' oracle ecalib -m 1 -r 24 lines maps
check '... with which there is an image' "$halcyon" recon r_samples.cfl -t r_trajectory.cfl -n 32,32 --maps maps.cfl -q -o theirs.cfl
check '... and with our own' "$halcyon" recon r_samples.cfl -t r_trajectory.cfl -n 32,32 --espirit -q -o ours.cfl
check '... the same' "$files" error ours.cfl theirs.cfl 0.06
echo "1..$n"
exit $failed
