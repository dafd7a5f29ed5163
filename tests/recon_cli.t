# halcyon recon: images of a phantom from its exact k-space, of one coil and of several, in every format; what does not fit
# is refused; the same bits.  Data come from halcyon simulate --mri, whose samples are integrals: no image was transformed.
test_name=recon_cli
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
HALCYON_CACHE_DIR=$work/cache
HALCYON_DEVICE=cpu@threads=2
export HALCYON_CACHE_DIR HALCYON_DEVICE
files=${top_builddir:-.}/tests/recon_files
case $files in /*) ;; *) files=$OLDPWD/$files ;; esac
# Under a sanitizer a command takes ten times as long: there two iterations do all that many do, and are no image yet.
quick=${HCY_SANITIZER:+yes} few=${HCY_SANITIZER:+2}
whole() { "$halcyon" recon "$@" -q; }
recon()
{
    case "$quick $*" in
    ' '* | *'--solver adjoint'*) whole "$@" ;;
    *) whole "$@" --iterations $few ;;
    esac
}
# near LIMIT IMAGE WORDS...: the command makes an image that is no further from the phantom than that.
near()
{
    limit=$1 image=$2
    shift 2
    recon "$@" -o "$image" && { [ -n "$quick" ] || "$files" error "$image" "${reference:-r_image.npy}" "$limit"; }
}
# far LIMIT IMAGE WORDS...: an image that is further.
far()
{
    limit=$1 image=$2
    shift 2
    recon "$@" -o "$image" && { [ -n "$quick" ] || not "$files" error "$image" "${reference:-r_image.npy}" "$limit"; }
}
"$halcyon" simulate --mri radial --size 32 -q r.npy
"$halcyon" simulate --mri radial --size 32 --coils 4 --spokes 20 --noise 0.02 -q c.npy
R='r_samples.npy -t r_trajectory.npy -n 32,32'
C='c_samples.npy -t c_trajectory.npy -n 32,32'

# Of 32 x 32 frequencies the phantom's edges are missing: 0.23 is what they are.
for solver in cg cgls lsqr lsmr fista; do
    check "$solver" near 0.24 x.npy $R --solver $solver
    check "... with weights" near 0.25 x.npy $R --solver $solver --dcf pipe
done
check 'adjoint: gridding' near 0.26 x.npy $R --solver adjoint
check '... with cells' near 0.33 x.npy $R --solver adjoint --dcf cells
check '... with the cells of Voronoi' near 0.24 x.npy $R --solver adjoint --dcf voronoi
recon $R --solver adjoint --dcf voronoi --save-dcf one.npy -o y.npy -d cpu@threads=1
recon $R --solver adjoint --dcf voronoi --save-dcf three.npy -o y.npy -d cpu@threads=3
check '... the same bits for any threads' cmp one.npy three.npy
check '... without weights is no image' far 0.9 x.npy $R --solver adjoint --dcf none
check 'floats' near 0.24 x.npy $R --precision float
check '... are the image'\''s' sh -c "head -c 128 x.npy | grep \"'<c8'\""
check 'an image that is to be small is nearer to none' far 0.7 x.npy $R --lambda 100
check 'l1' near 0.24 x.npy $R --solver fista --reg l1:0.0005

# A field that is 60 Hz off, over 20 ms more than a turn: without its map there is no image.
"$halcyon" simulate --mri radial --size 32 --coils 3 --field-map 60 --readout 20 -q o.npy
O='o_samples.npy -t o_trajectory.npy -n 32,32'
reference=o_image.npy
check 'a field that is off' far 0.7 x.npy $O --maps o_maps.npy
check '... whose map is known' near 0.24 x.npy $O --maps o_maps.npy --field-map o_field_map.npy --times o_times.npy
check '... or how long a spoke takes' near 0.24 x.npy $O --maps o_maps.npy --field-map o_field_map.npy --readout 20
check '... with too few segments' sh -c "'$halcyon' recon $O --maps o_maps.npy --field-map o_field_map.npy --readout 20 --segments 2 -o x.npy 2>&1 | grep '2 segments leave errors of .*; more --segments leave less'"
check '... which is said' sh -c "'$halcyon' recon $O --maps o_maps.npy --field-map o_field_map.npy --readout 20 --json -q -o x.npy >x.json && '$json' segments <x.json && awk -v e=\`'$json' segments_error <x.json\` 'BEGIN { exit !(e > 0 && e <= 1e-3) }'"
check '... in floats' near 0.24 x.npy $O --maps o_maps.npy --field-map o_field_map.npy --times o_times.npy --precision float
F='--field-map o_field_map.npy --readout 20'
L='--lambda 0.1 --eps 1e-9 --iterations 8'
recon $O --maps o_maps.npy $F $L --segments 20 -o by_points.npy
recon $O --maps o_maps.npy $F $L --segments 20 --toeplitz -o x.npy
check '... by convolutions: the same image' "$files" error x.npy by_points.npy 1e-6
recon $O --maps o_maps.npy $F $L --segments 20 --toeplitz -d cpu,cpu -o y.npy
check '... on two devices' "$files" error y.npy x.npy 1e-7
check '... with segments that are enough' near 0.24 x.npy $O --maps o_maps.npy $F --toeplitz --precision float
check '... coils without maps' recon $O --field-map o_field_map.npy --times o_times.npy -o rss.npy
check '... the same by weights and regularisers' near 0.25 x.npy $O --maps o_maps.npy --field-map o_field_map.npy --times o_times.npy --dcf voronoi --reg tv:0.0005
# The same where the signal decays, too, to exp(-2) at the end of a spoke.
"$files" decay o_samples.npy o_times.npy d_samples.npy 100
"$files" fill o_field_map.npy d_rates.npy 100
D='d_samples.npy -t o_trajectory.npy -n 32,32 --maps o_maps.npy --readout 20'
check 'a signal that decays' far 0.4 x.npy $D --field-map o_field_map.npy
check '... by a map of R2*' near 0.24 x.npy $D --field-map o_field_map.npy --r2star d_rates.npy
recon $D --field-map o_field_map.npy --r2star d_rates.npy $L -o by_points.npy
recon $D --field-map o_field_map.npy --r2star d_rates.npy $L --toeplitz -o x.npy
check '... by convolutions' "$files" error x.npy by_points.npy 1e-6
check '... of it alone' far 0.7 x.npy $D --r2star d_rates.npy
"$halcyon" simulate --mri spiral --size 16 --coils 2 --field-map 40 -q o.cfl
reference=o_image.cfl
check "... of BART's files" near 0.3 x.npy o_samples.cfl -t o_trajectory.cfl -n 16,16 --maps o_maps.cfl --field-map o_field_map.cfl --times o_times.cfl
check '... without the map' far 0.3 x.npy o_samples.cfl -t o_trajectory.cfl -n 16,16 --maps o_maps.cfl
reference=

# Gradients that come late: by as much the image is what it is without delays, which are found, too.
"$halcyon" simulate --mri radial --size 32 --coils 3 --delay 1.5,-0.75 -q l.npy
L='l_samples.npy -t l_trajectory.npy -n 32,32 --maps l_maps.npy'
reference=l_image.npy
check 'gradients that come late' far 0.4 x.npy $L
check '... by as much' near 0.24 x.npy $L --delay 1.5,-0.75
recon $L --eps 1e-10 --iterations 5 --delay 1.5,-0.75 -o late.npy
recon $L --eps 1e-10 --iterations 5 --delay 6us,-3us --dwell 4 -o y.npy
check '... in microseconds, the same' "$files" error y.npy late.npy 1e-9
check '... the other way round' far 0.45 y.npy $L --delay -0.75,1.5
check '... which is found' near 0.24 x.npy $L --delay auto
check '... and said' sh -c "'$halcyon' recon $L --delay auto --iterations 1 -o y.npy 2>&1 | grep -E 'delays 1\.(50|49).,-0\.7(50|49) samples'"
"$halcyon" recon $L --delay auto --iterations 1 --json -q -o y.npy >x.json
check '... x first' sh -c "awk -v x=\`'$json' delays.0 <x.json\` -v y=\`'$json' delays.1 <x.json\` 'BEGIN { exit !(x > 1.49 && x < 1.51 && y > -0.76 && y < -0.74) }'"
check '... in floats, with weights of where samples were' near 0.25 x.npy $L --delay auto --precision float --dcf voronoi
"$halcyon" simulate --mri radial --size 32 --coils 3 --delay 1.5,-0.75 -q l.cfl
check "... of BART's files" near 0.24 x.npy l_samples.cfl -t l_trajectory.cfl -n 32,32 --maps l_maps.cfl --delay auto
"$halcyon" simulate --mri stack-of-stars --size 16 --slices 4 --coils 2 --delay 1,1,3 -q l3.npy
reference=l3_image.npy
check '... of a stack, along whose planes there is no gradient' near 0.28 x.npy l3_samples.npy -t l3_trajectory.npy -n 4,16,16 --maps l3_maps.npy --delay auto
check '... which is still one' sh -c "'$halcyon' recon l3_samples.npy -t l3_trajectory.npy -n 4,16,16 --delay auto --iterations 1 -o y.npy 2>&1 | grep -E 'delays (1.00|0.99).,(1.00|0.99).,0.000 samples; a stack of 4 planes'"
# The same delays as a response: phases that fall evenly, of 64 frequencies, or of some with their step.
"$files" ramp girf.npy 4096 1.5 -0.75
"$files" ramp ramp.npy 4096 1.5
reference=l_image.npy
check 'a response of gradients' near 0.24 x.npy $L --girf girf.npy
recon $L --eps 1e-10 --iterations 5 --girf girf.npy -o x.npy
check '... the same as delays' "$files" error x.npy late.npy 1e-6
recon $L --eps 1e-10 --iterations 5 --girf girf.npy --girf-step 61.03515625 --dwell 4 -o x.npy
check '... with a step of frequencies' "$files" error x.npy late.npy 1e-6
check '... with another one other delays' far 0.4 x.npy $L --girf girf.npy --girf-step 10 --dwell 4
check '... of all axes, the rest by delays' near 0.24 x.npy $L --girf ramp.npy --delay 0,-2.25
reference=

# Coils: 20 spokes are too few for one, and enough for four whose maps are known.
check 'four coils, SENSE' near 0.27 x.npy $C --maps c_maps.npy
check '... by LSQR, with weights and a little l2' near 0.26 x.npy $C --maps c_maps.npy --solver lsqr --dcf pipe --lambda 0.02
check '... by a convolution' near 0.27 t.npy $C --maps c_maps.npy --toeplitz --lambda 0.1
recon $C --maps c_maps.npy --lambda 0.1 -o l.npy
check '... is the same image' "$files" error t.npy l.npy 0.002
check '... of one coil, with weights' near 0.25 x.npy $R --toeplitz --dcf pipe
# Without noise's freedom the phantom, flat in pieces, is nearer than least squares, at 0.245.
check 'TV' near 0.21 x.npy $C --maps c_maps.npy --reg tv:0.01
check 'wavelets and TV' near 0.20 x.npy $C --maps c_maps.npy --reg wavelet:0.003,tv:0.003
check '... by a convolution' near 0.20 x.npy $C --maps c_maps.npy --reg wavelet:0.003,tv:0.003 --toeplitz
check '... by primal-dual steps' near 0.25 x.npy $C --maps c_maps.npy --reg wavelet:0.003,tv:0.003 --solver primal-dual --iterations 100
check '... that many were done by ADMM' sh -c "'$halcyon' recon $C --maps c_maps.npy --reg l1:0,tv:0.003 -o x.npy 2>&1 | grep 'admm: '"
check 'total generalised variation' near 0.18 x.npy $C --maps c_maps.npy --reg tgv:0.005
check '... by primal-dual steps' near 0.22 x.npy $C --maps c_maps.npy --reg tgv:0.005 --solver primal-dual --iterations 200
check '... coils without maps, in floats' recon $C --reg tgv:0.003 --iterations 5 --precision float -o x.npy
check 'wavelets of coils without maps' recon $C --reg wavelet:0.003 -o x.npy
# Maps that are estimated have 1 as their sum of squares, so that the image is the coils' root of the sum of squares.
"$halcyon" simulate --mri radial --size 32 --coils 4 -q full.npy
recon full_samples.npy -t full_trajectory.npy -n 32,32 -o full_rss.npy
"$halcyon" simulate --mri radial --size 32 --coils 4 --spokes 24 -q few.npy
reference=full_rss.npy
check 'ESPIRiT' near 0.08 x.npy few_samples.npy -t few_trajectory.npy -n 32,32 --espirit
check '... by a convolution' near 0.08 x.npy few_samples.npy -t few_trajectory.npy -n 32,32 --espirit --toeplitz --precision float
check '... without it the spokes are too few' far 0.1 x.npy few_samples.npy -t few_trajectory.npy -n 32,32
"$halcyon" simulate --mri kooshball --size 8 --coils 5 -q ball.npy
recon ball_samples.npy -t ball_trajectory.npy -n 8,8,8 -o ball_rss.npy
reference=ball_rss.npy
check '... of three axes, whose usual kernel has too many numbers' near 0.35 x.npy ball_samples.npy -t ball_trajectory.npy -n 8,8,8 --espirit
reference=
check 'four coils: the sum of squares' recon $C -o rss.npy
check '... is real' sh -c "head -c 128 rss.npy | grep \"'<f8'\""
check '... and has what maps take out' not "$files" error rss.npy c_image.npy 0.3
for kind in spiral stack-of-stars kooshball; do
    sizes=16,16,16 limit=0.33
    [ $kind = spiral ] && sizes=16,16 limit=0.24
    [ $kind = stack-of-stars ] && sizes=4,16,16 limit=0.28
    check "$kind" sh -c "'$halcyon' simulate --mri $kind --size 16 --coils 2 -q k.npy"
    reference=k_image.npy
    check "... its image" near $limit x.npy k_samples.npy -t k_trajectory.npy -n $sizes --maps k_maps.npy
    reference=
done

# Functions of time, 1 1 and 1 -1, of an image that does not change: it is the first one's, and the second one's is none.
npy() { printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': ($1), }"; shift; printf "$@"; }
one='\000\000\000\000\000\000\360\077' minus='\000\000\000\000\000\000\360\277'
npy '2, 2' "$one$one$one$minus" >basis.npy
npy '2,' "$one$one" >even.npy
npy '1, 2' "$one$one" >still.npy
npy '7,' "$one$one$one$one$one$one$one" >seven.npy
npy '2,' "$one\000\000\000\000\000\000\360\177" >infinite.npy
"$halcyon" simulate --mri radial --golden --size 32 --coils 4 --spokes 60 -q g.npy
G='g_samples.npy -t g_trajectory.npy -n 32,32 --maps g_maps.npy'
recon $G -o plain.npy
check 'functions of time' sh -c "'$halcyon' recon $G --basis basis.npy -o x.npy 2>&1 | grep '2 functions of 2 frames'"
check '... of one frame, which are still two' sh -c "'$halcyon' recon $G --basis still.npy --iterations 2 -o y.npy 2>&1 | grep '2 functions of 1 frame'"
{ head -c 128 plain.npy; tail -c +129 x.npy | head -c 16384; } >first.npy
{ head -c 128 plain.npy; tail -c 16384 x.npy; } >second.npy
check '... the image of the first' "$files" error first.npy g_image.npy 0.27
check '... none of the second' not "$files" error second.npy g_image.npy 0.9
check '... with weights and a regulariser' recon $G --basis basis.npy --reg tv:0.0005 --dcf pipe -o x.npy
E="--iterations ${few:-8} --tolerance 0 --deterministic"
recon $G $E -o plain.npy
check '... that are locally of low rank' whole $G --basis basis.npy --reg llr:0.0005:4 -o x.npy
{ head -c 128 plain.npy; tail -c +129 x.npy | head -c 16384; } >first.npy
check '... with the image of the first' "$files" error first.npy g_image.npy 0.27
check '... by ADMM, with another regulariser' recon $G --basis basis.npy --reg llr:0.0005,tv:0.0005 --iterations 10 -o y.npy
check '... coils without maps' recon $O --reg llr:0.001 --iterations 5 -o y.npy
recon $G $E --basis even.npy -o x.npy
{ head -c 128 plain.npy; tail -c 16384 x.npy; } >one.npy
check '... a constant one changes nothing' "$files" error one.npy plain.npy 1e-9
check '... of coils whose maps are found' recon g_samples.npy -t g_trajectory.npy -n 32,32 --espirit --basis basis.npy --precision float -o x.npy
# Images that are known to be real, from half as many spokes; of the maps' phase, without which there is none.
"$halcyon" simulate --mri radial --size 32 --coils 4 --spokes 12 --noise 0.05 -q real.npy
V='real_samples.npy -t real_trajectory.npy -n 32,32 --maps real_maps.npy'
reference=real_image.npy
check 'an image of complex numbers, of few spokes' far 0.36 x.npy $V
check '... of real ones' near 0.35 y.npy $V --real
check '... is real' sh -c "head -c 128 y.npy | grep \"'<f8'.*(32, 32)\""
E="--iterations ${few:-8} --tolerance 0 --eps 1e-10"
recon $V --real $E -o y.npy
check '... by a convolution, the same' sh -c "'$halcyon' recon $V --real $E --toeplitz -q -o x.npy && '$files' error x.npy y.npy 1e-6"
check '... by CGLS' sh -c "'$halcyon' recon $V --real $E --solver cgls -q -o x.npy && '$files' error x.npy y.npy 1e-6"
check '... of several devices' sh -c "'$halcyon' recon $V --real $E -d cpu@threads=1,cpu@threads=2 -q -o x.npy && '$files' error x.npy y.npy 1e-6"
check '... with several regularisers' near 0.35 x.npy $V --real --reg wavelet:0.003,tv:0.003
check '... in floats, with generalised variation' near 0.35 x.npy $V --real --reg tgv:0.005 --precision float
check '... gridded' recon $V --real --solver adjoint -o x.npy
"$halcyon" recon $V --real --solver lsqr --json -q -o x.npy >x.json
check '... by LSQR, which JSON says' equals "`"$json" real <x.json`" true
reference=r_image.npy
check '... of one coil' near 0.24 x.npy $R --real
reference=o_image.npy
W='--maps o_maps.npy --field-map o_field_map.npy --readout 20'
check '... in a field that is off' near 0.24 x.npy $O $W --real
check '... by convolutions' near 0.24 y.npy $O $W --real --toeplitz
check '... in frames of the same spokes' sh -c "'$halcyon' recon $O $W --frames 3 --toeplitz --real --segments 8 --iterations 6 -q -o x.npy && '$halcyon' recon $O $W --frames 3 --real --segments 8 --iterations 6 -q -o y.npy && '$files' error x.npy y.npy 0.01"
reference=
check '... of coils without maps' recon $V --real --iterations 5 -o x.npy
recon $G --basis basis.npy --real -o x.npy
check '... of functions of time' sh -c "head -c 128 x.npy | grep \"'<f8'.*(2, 32, 32)\""

# Frames, each an image of its own: that of its samples alone, bit for bit.
"$halcyon" simulate --mri radial --golden --size 32 --coils 4 --spokes 70 -q f.npy
"$halcyon" simulate --mri radial --golden --size 32 --coils 4 --spokes 21 -q f0.npy
F='f_samples.npy -t f_trajectory.npy -n 32,32 --maps f_maps.npy --deterministic'
F0='f0_samples.npy -t f0_trajectory.npy -n 32,32 --maps f_maps.npy --deterministic'
# first_frame SINGLE MANY BYTES: the first image, behind the head of the file.
first_frame() { tail -c +129 "$2" | head -c "$3" >a && tail -c +129 "$1" >b && cmp a b; }
# framed SHAPE FILES...: an array of complex numbers of that shape, the files' one behind the other.
framed()
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<c16', 'fortran_order': False, 'shape': ($1), }"
    shift
    for file; do tail -c +129 "$file"; done
}
whole $F0 -o one.npy
check 'frames of spokes' sh -c "'$halcyon' recon $F --spokes-per-frame 21 -o x.npy 2>said && grep 'the last 7 of 70 spokes' said && grep '4032 points.*; 3 frames' said"
check '... of which there may be one' sh -c "'$halcyon' recon $F --spokes-per-frame 60 -o z.npy 2>said && grep '; 1 frame; ' said"
check '... are so many images' sh -c "head -c 128 x.npy | grep \"'<c16'.*(3, 32, 32)\""
check '... each that of its own spokes' first_frame one.npy x.npy 16384
recon $F --frames 10 -o y.npy
check '... or of so many frames' sh -c "head -c 128 y.npy | grep '(10, 32, 32)'"
check '... or of as many as coils' sh -c "'$halcyon' recon $F0 --frames 3 -q -o y.npy && '$halcyon' simulate --mri radial --golden --size 32 --coils 3 --spokes 21 -q f3.npy && '$halcyon' recon f3_samples.npy -t f3_trajectory.npy -n 32,32 --maps f3_maps.npy --frames 3 -q -o y.npy"
whole $F --spokes-per-frame 21 -d cpu@threads=1,cpu@threads=2 -o y.npy
check '... several devices share them, the same bits' cmp x.npy y.npy
# Times of all points, those of the spokes that are left out among them.
{ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (70, 64), }"; for spoke in `seq 70`; do tail -c 512 o_times.npy; done; } >all_times.npy
recon $F --spokes-per-frame 21 --field-map o_field_map.npy --times o_times.npy --iterations 3 -o x.npy
recon $F --spokes-per-frame 21 --field-map o_field_map.npy --times all_times.npy --iterations 3 -o y.npy
check '... in a field, with times of all spokes' cmp x.npy y.npy
for how in '--toeplitz -d cpu@threads=1' '--real --reg tv:0.001' '--dcf voronoi --solver cgls' '--precision float --reg tgv:0.001' '--solver adjoint'; do
    recon $F0 $how -o one.npy
    recon $F $how --spokes-per-frame 21 -o x.npy
    check "... with $how" first_frame one.npy x.npy `tail -c +129 one.npy | wc -c`
done
recon f_samples.npy -t f_trajectory.npy -n 32,32 --deterministic --spokes-per-frame 21 -o x.npy
recon f0_samples.npy -t f0_trajectory.npy -n 32,32 --deterministic -o one.npy
check '... of coils without maps' first_frame one.npy x.npy 8192
# Of the same points: an axis of frames in front.
"$files" scale f0_samples.npy half.npy 0.5
framed '2, 4, 21, 64' f0_samples.npy half.npy >two.npy
recon $F0 -o one.npy
T='two.npy -t f0_trajectory.npy -n 32,32 --maps f_maps.npy --deterministic --frames 2'
recon $T -o x.npy
check 'frames of the same points' first_frame one.npy x.npy 16384
"$files" scale one.npy half.npy 0.5
framed '2, 32, 32' one.npy half.npy >both.npy
check '... each its own' "$files" error x.npy both.npy 1e-12
recon $T -d cpu@threads=1,cpu@threads=1 -o y.npy
check '... of several devices, the same bits' cmp x.npy y.npy
for how in '--toeplitz -d cpu@threads=1' '--real --reg tv:0.001' '--dcf voronoi' '--dcf pipe --solver lsqr' '--solver adjoint'; do
    recon $F0 $how -o one.npy
    recon $T $how -o x.npy
    check "... with $how" first_frame one.npy x.npy `tail -c +129 one.npy | wc -c`
done
check '... whose coils'\'' maps are found' recon two.npy -t f0_trajectory.npy -n 32,32 --frames 2 --espirit -o x.npy
check '... whose delays are found' sh -c "'$halcyon' recon $T --delay auto --iterations 2 -o x.npy 2>&1 | grep 'delays -*0.00.,-*0.00. samples'"
"$halcyon" recon $T --json -q -o x.npy >x.json
check '... which JSON counts' equals "`"$json" frames <x.json`" 2
# Points of their own with an axis of frames in front of the coils'.
{ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 21, 64, 2), }"; tail -c +129 f0_trajectory.npy; tail -c +129 f0_trajectory.npy; } >points.npy
recon two.npy -t points.npy -n 32,32 --maps f_maps.npy --deterministic --frames 2 -o y.npy
recon $T -o x.npy
check 'frames of points of their own' cmp x.npy y.npy
"$files" spoil two.npy nan.npy 16134
for file in f0_trajectory.npy points.npy; do
    check "... a number that is none, by $file" refused 1 'the first one at 3 of coil 2 of frame 1' "$halcyon" recon nan.npy -t $file -n 32,32 --maps f_maps.npy --frames 2 -o none.npy
done
[ -n "${HCY_HDF5-yes}" ] && hdf5=x.h5:/frames || hdf5=
for out in $hdf5 x.cfl x.nii; do check "... to $out" recon $T -o "$out"; done
check '... in order' "$files" error x.cfl both.npy 1e-5
check "... NIfTI's of time, not of z" sh -c "od -An -j40 -N10 -td2 x.nii | grep '4 *32 *32 *1 *2'"

# What fails before a frame has an image leaves all frames' image alone.
"$files" spoil f0_trajectory.npy nan.npy 8
for device in cpu cpu@threads=1,cpu@threads=1; do
    check "... a point that is none, on $device" refused 1 'point 4 has a coordinate' "$halcyon" recon two.npy -t nan.npy -n 32,32 --frames 2 -d $device -o none.npy
done
check '... a launch that fails' refused 1 'a launch failed' "$halcyon" recon two.npy -t f0_trajectory.npy -n 32,32 --frames 2 -d cpu@fail-launch=3 -o none.npy
check 'an archive whose array has a name is refused before' refused 2 'leave :image' "$halcyon" recon two.npy -t f0_trajectory.npy -n 32,32 --frames 2 -o none.npz:image
# Weights of frames: written with the points' own shape, 0 for the spokes that are left out, and the same when they are read.
recon $F --spokes-per-frame 21 --dcf voronoi -o x.npy
recon $F --spokes-per-frame 21 --dcf voronoi --save-dcf w.npy -o y.npy
check 'weights of frames are written' cmp x.npy y.npy
check '... of all spokes' sh -c "head -c 128 w.npy | grep \"'<f8'.*(70, 64)\" && tail -c 3584 w.npy | tr -d '\\0' | wc -c | grep '^ *0\$'"
recon $F --spokes-per-frame 21 --dcf w.npy -o y.npy
check '... and read' cmp x.npy y.npy
check '... of other points' refused 1 'weights must be 4480 real numbers' "$halcyon" recon $F --spokes-per-frame 21 --dcf f0_trajectory.npy -o none.npy
U='f_samples.npy -t f_trajectory.npy -n 32,32 --deterministic --spokes-per-frame 21'
recon $U --dcf pipe --espirit -o x.npy
recon $U --dcf pipe --espirit --save-dcf w.npy -o y.npy
check '... of coils whose maps are found' cmp x.npy y.npy

# What all frames have in common needs them all: few spokes of each, noise, and an image that does not change.
"$halcyon" simulate --mri radial --golden --size 32 --coils 4 --spokes 64 --noise 0.1 -q n.npy
N='n_samples.npy -t n_trajectory.npy -n 32,32 --maps n_maps.npy --frames 8'
first_of() { { framed '32, 32'; tail -c +129 "$1" | head -c 16384; } >first.npy; "$files" error first.npy n_image.npy "$2"; }
whole $N -o x.npy
check 'frames of few spokes' not first_of x.npy 0.6
check '... whose worst one is told' sh -c "'$halcyon' recon $N --iterations 1 -o x.npy 2>&1 | grep '; 8 frames, of which this is the worst;'"
"$halcyon" recon $N --reg llr:0.2 --iterations 60 -o x.npy 2>said
check '... that are locally of low rank' first_of x.npy 0.35
check '... of which none is the worst' grep '; 8 frames; weights' said
recon $N --reg llr:0.2 --iterations 5 --deterministic -o x.npy
recon $N --reg llr:0.2 --iterations 5 --deterministic -d cpu@threads=1,cpu@threads=2 -o y.npy
check '... on several devices' "$files" error x.npy y.npy 1e-12
check '... real ones, with weights, in floats' recon $N --reg llr:0.2,tv:0.001 --real --dcf pipe --precision float -o x.npy
check '... are' sh -c "head -c 128 x.npy | grep \"'<f4'.*(8, 32, 32)\""
check '... of the same points' recon $T --reg llr:0.001 --iterations 3 -o x.npy
# By convolutions they are the same images.  (FISTA's steps differ, whose length is a norm that is found to a few digits.)
E="--eps 1e-10 --iterations ${few:-6} --tolerance 0"
convolved() { recon "$@" $E -o one.npy && recon "$@" $E --toeplitz -o x.npy && "$files" error x.npy one.npy 1e-6; }
check '... by convolutions' convolved $N --reg llr:0.2 --solver admm
check '... real ones' convolved $N --reg llr:0.2 --solver admm --real --dcf pipe
check '... of the same points' convolved $T --reg llr:0.001
check '... on several devices' convolved $N --reg llr:0.2,tv:0.001 -d cpu@threads=1,cpu@threads=2
check '... in a field that is off' convolved $T --reg llr:0.001 --field-map o_field_map.npy --readout 20 --segments 6
# Coils without maps: blocks of all coils of all frames, whose images are the roots of their sums of squares.
M='n_samples.npy -t n_trajectory.npy -n 32,32 --frames 8'
check 'frames of coils without maps' convolved $M --reg llr:0.2 --solver admm
check '... are as many images' sh -c "head -c 128 x.npy | grep \"'<f8'.*(8, 32, 32)\""
recon $M --reg llr:0 --solver fista $E -o x.npy
recon $M --reg l1:0 --solver fista $E -o y.npy
check '... each its own where nothing is common' "$files" error x.npy y.npy 0.02
check '... real ones' recon $M --reg llr:0.2 --real --iterations 3 -o y.npy
check 'coils without maps, by convolutions' convolved $C
check '... real ones' convolved $C --real
check '... real ones in frames' convolved two.npy -t f0_trajectory.npy -n 32,32 --frames 2 --real
check '... with a regulariser' convolved $C --reg tv:0.001
check '... of several devices' convolved $C -d cpu@threads=1,cpu@threads=2
check '... in a field that is off' convolved o_samples.npy -t o_trajectory.npy -n 32,32 --field-map o_field_map.npy --readout 20 --segments 6
check '... in frames' convolved two.npy -t f0_trajectory.npy -n 32,32 --frames 2
for how in '' --real '--reg tv:0.001' '--reg llr:0.0005 --solver admm' '--dcf pipe -d cpu@threads=1,cpu@threads=2'; do check "functions of time by convolutions $how" convolved $G --basis basis.npy $how; done
for field in '--field-map o_field_map.npy' '--field-map o_field_map.npy --r2star d_rates.npy'; do
    check "... in a field, $field" convolved $G --basis basis.npy $field --readout 20 --segments 6; done
check 'generalised variation by convolutions' convolved $C --maps c_maps.npy --reg tgv:0.005
check '... by primal-dual steps, of several devices' convolved $C --maps c_maps.npy --reg tgv:0.005 --solver primal-dual -d cpu@threads=1,cpu@threads=2
check '... in frames, real ones' convolved $T --reg tgv:0.005 --real

# A stack is found in the trajectory; by FFTs across its planes the image is that of points anywhere.
"$halcyon" simulate --mri stack-of-stars --size 16 --slices 6 --coils 3 -q s.npy
S='s_samples.npy -t s_trajectory.npy -n 6,16,16 --tolerance 0 --iterations 8'
check 'a stack is found' sh -c "'$halcyon' recon $S --maps s_maps.npy -o stack.npy 2>&1 | grep 'a stack of 6 planes'"
check '... and told' sh -c "test \`'$halcyon' recon $S --maps s_maps.npy -o x.npy -q --json | '$json' planes\` = 6"
recon $S --eps 1e-9 --maps s_maps.npy -o stack.npy
recon $S --eps 1e-9 --maps s_maps.npy --stack no -o points.npy
check '... the same image as of points anywhere' "$files" error stack.npy points.npy 1e-7
recon $S --precision float -o stack.npy
recon $S --precision float --stack no -o points.npy
check '... of coils without maps, in floats' "$files" error stack.npy points.npy 1e-3
recon $S --dcf pipe --reg tv:0.001 --maps s_maps.npy --eps 1e-9 -o stack.npy
recon $S --dcf pipe --reg tv:0.001 --maps s_maps.npy --eps 1e-9 --stack no -o points.npy
check '... with weights and a regulariser' "$files" error stack.npy points.npy 1e-7
check '... without, the same bits everywhere' sh -c "'$halcyon' recon $S --same-everywhere -o x.npy 2>said && ! grep stack said"

"$halcyon" simulate --mri stack-of-stars --size 16 --coils 2 -q k.cfl
reference=k_image.cfl
check "... in BART's files, of other sizes" near 0.28 x.npy k_samples.cfl -t k_trajectory.cfl -n 4,16,16 --maps k_maps.cfl
reference=

# Words and numbers.
check 'a summary' sh -c "'$halcyon' recon $R -o x.npy 2>said && grep 'x.npy: 32 x 32 from .* points of 1 coil on cpu.*; cg: .* iterations, residual .* of the first (' said"
check 'one of the adjoint' sh -c "'$halcyon' recon $R --solver adjoint -o x.npy 2>said && grep '(double); adjoint; weights' said"
check 'iterations that are enough' sh -c "'$halcyon' recon $R --iterations 3 -o x.npy 2>said && grep 'cg: 3 iterations, .*(iterations)' said"
"$halcyon" recon $C --maps c_maps.npy --iterations 5 --tolerance 0 --json -q -o x.npy >x.json
check 'JSON' equals "`"$json" iterations <x.json` `"$json" coils <x.json` `"$json" ended_by <x.json` `"$json" unit <x.json`" '5 4 iterations radians'
check '... has all residuals, which go down' sh -c "'$json' residuals.5 <x.json && ! '$json' residuals.6 <x.json && awk -v a=\`'$json' residuals.0 <x.json\` -v b=\`'$json' residuals.5 <x.json\` 'BEGIN { exit !(b > 0 && b < a / 3) }'"
check '-q says nothing' sh -c "'$halcyon' recon $R -q -o x.npy >said 2>&1 && ! [ -s said ]"
check 'transforms too coarse for CG are noted' sh -c "'$halcyon' recon $R --toeplitz --tolerance 0 --iterations 300 --eps 0.1 -o x.npy 2>&1 | grep 'CG is stuck'"
check '... but not with -q' sh -c "'$halcyon' recon $R --toeplitz --tolerance 0 --iterations 300 --eps 0.1 -q -o x.npy >said 2>&1 && ! [ -s said ]"

# Weights that are kept are those of the next run, and of a transform.
check 'weights' recon $R --deterministic --solver adjoint --save-dcf w.npy -o a.npy
check '... of a file' near 0.26 b.npy $R --deterministic --solver adjoint --dcf w.npy
check '... the same' cmp a.npy b.npy
check '... in a transform' "$halcyon" nufft -t 1 -p r_trajectory.npy -i r_samples.npy --weights w.npy -n 32,32 -o f.npy -q
check '... is that image' "$files" error f.npy a.npy 1e-4

# Files.
check 'BART' "$halcyon" simulate --mri radial --size 32 --coils 4 --spokes 20 --noise 0.02 -q b.cfl
check '... has three coordinates' grep '^3 64 20 1 1 1 1' b_trajectory.hdr
check '... samples of coils' grep '^1 64 20 4 1 1 1' b_samples.hdr
check '... maps of coils' grep '^32 32 1 4 1 1 1' b_maps.hdr
reference=c_image.npy
check '... to its image' near 0.27 x.cfl b_samples.cfl -t b_trajectory.cfl -n 32,32 --maps b_maps.cfl
recon $C --maps c_maps.npy --solver adjoint -o adjoint.npy
check '... or gridded' recon b_samples.cfl -t b_trajectory.cfl -n 32,32 --maps b_maps.cfl --solver adjoint -o adjoint.cfl
check '... the same as of NumPy, in floats' "$files" error adjoint.cfl adjoint.npy 1e-4
check '... its unit is said' sh -c "'$halcyon' recon b_samples.cfl -t b_trajectory.cfl -n 32,32 --maps b_maps.cfl -o x.cfl 2>&1 | grep \"BART's, x first, in units of 1/FOV\""
check '... and one that is wrong' sh -c "'$halcyon' recon b_samples.cfl -t b_trajectory.cfl -n 32,32 --unit radians -o x.cfl 2>&1 | grep 'if they are on a grid or in 1/FOV'"
printf '# Dimensions\n3 1 1\n' >one_trajectory.hdr
printf '# Dimensions\n1 1 1\n' >one_samples.hdr
printf '\000\000\200\077\000\000\000\000\000\000\000\100\000\000\000\000\000\000\000\000\000\000\000\000' >one_trajectory.cfl
printf '\000\000\200\077\000\000\000\000' >one_samples.cfl
check '... one point has three coordinates, too' sh -c "'$halcyon' recon one_samples.cfl -t one_trajectory.cfl -n 8,8 --solver adjoint -o x.npy 2>&1 | grep '8 x 8 from 1 points'"
check 'cycles' "$files" scale c_trajectory.npy cycles.npy 0.15915494309189535
check '... to an image' near 0.27 x.npy c_samples.npy -t cycles.npy --cycles -n 32,32 --maps c_maps.npy
check '... which is said where they are not' sh -c "'$halcyon' recon c_samples.npy -t cycles.npy -n 32,32 -o x.npy 2>&1 | grep -e '--unit cycles'"
recon $C --maps c_maps.npy --deterministic -o same.npy
check 'NIfTI' recon $C --maps c_maps.npy --deterministic -o x.nii
check '... has the same numbers' sh -c 'tail -c +353 x.nii >a && tail -c +129 same.npy >b && cmp a b'
check '... or magnitudes' recon $C --maps c_maps.npy -o m.nii:magnitude
for command in plot info; do check "... $command says that it is not read" refused 1 'NIfTI images are written, not read' "$halcyon" $command m.nii; done
check '... in half of the room' equals "`wc -c <m.nii`" 8544
if [ -n "${HCY_HDF5-yes}" ]; then
    "$halcyon" simulate --mri radial --size 32 --coils 4 --spokes 20 --noise 0.02 -q c.h5
    check 'HDF5, to a dataset of the same file' near 0.27 c.h5:/recon c.h5:/samples -t c.h5:/trajectory -n 32,32 --maps c.h5:/maps
    check '... which needs a name, before anything is computed' refused 2 'no name in it' "$halcyon" recon c.h5:/samples -t c.h5:/trajectory -n 32,32 -o new.h5:/
    check '... is not written over what is read' refused 1 'write over it' "$halcyon" recon c.h5:/samples -t c.h5:/trajectory -n 32,32 -o c.h5:/samples
    check 'acquisitions' "$files" mrd c_samples.npy c_trajectory.npy raw.h5
    check '... need no trajectory' near 0.27 x.npy raw.h5 -n 32,32 --maps c_maps.npy
    check '... by any name, their unit is said' sh -c "mv raw.h5 raw.mrd; '$halcyon' recon raw.mrd -n 32,32 --maps c_maps.npy -o image.mrd 2>&1 | grep \"ISMRMRD's, x first, in radians (by their range)\""
    check '... to an image of ISMRMRD'\''s' "$files" error image.mrd:/dataset/image_0/data c_image.npy 0.27
    check '... which is read by the name it was written by' "$files" error image.mrd c_image.npy 0.27
    check '... and by its series' sh -c "'$halcyon' info image.mrd:image_0 | grep 'array of complex'"
    check '... in cycles' "$files" mrd c_samples.npy cycles.npy cycles.mrd
    check '... as well' near 0.27 x.npy cycles.mrd -n 32,32 --maps c_maps.npy
    # On a grid, as ismrmrd-tools write it: where samples lie is what their encoding steps and the header say.
    "$halcyon" simulate --mri radial --size 16 -q small.npy
    "$halcyon" simulate --mri stack-of-stars --size 8 --slices 4 -q planes.npy
    "$files" grid small_image.npy grid.h5 plain
    reference=small_image.npy
    check 'acquisitions on a grid' near 1e-3 x.npy grid.h5 -n 16,16
    check '... with the FOV of all samples' sh -c "'$halcyon' recon grid.h5 -n 16,32 -o x.npy 2>&1 | grep \"ISMRMRD's, x first, in cycles\" && head -c 128 x.npy | grep '(16, 32)'"
    "$files" grid small_image.npy reversed.h5 reversed
    check '... every other one reversed' near 1e-3 x.npy reversed.h5 -n 16,16
    "$files" grid small_image.npy calibrated.h5 embedded
    check '... with a line for calibration in the same scan' near 1e-3 x.npy calibrated.h5 -n 16,16
    for mode in separate unsaid; do
        check "... left out where it is $mode" sh -c "'$files' grid small_image.npy $mode.h5 $mode && '$halcyon' recon $mode.h5 -n 16,16 -o x.npy 2>&1 | grep 'from 480 points'"; done
    "$files" grid planes_image.npy volume.h5 planes
    reference=planes_image.npy
    check '... of planes' near 1e-3 x.npy volume.h5 -n 4,8,8
    for what in outside:'steps 16 and 0' bare:'no header beside them' radial:'which Cartesian grid'; do
        "$files" grid small_image.npy bad.h5 ${what%%:*}
        check "... refused: ${what%%:*}" refused 1 "${what#*:}" "$halcyon" recon bad.h5 -n 16,16 -o none.npy
    done
    # What the header says of the image.
    reference=small_image.npy
    recon grid.h5 -n 16,16 --deterministic -o n.npy
    check 'sizes of the header' sh -c "'$halcyon' recon grid.h5 -o one.npy --deterministic 2>&1 | grep 'the image is -n 16,16, the header.s reconstructed matrix (encoded: 32x16x1, x first); -n'"
    check '... give what they give as -n' cmp one.npy n.npy
    check '... of a volume' sh -c "'$halcyon' recon volume.h5 -o x.npy 2>&1 | grep 'image is -n 4,8,8'"
    "$files" grid small_image.npy empty.h5 empty
    check '... of the encoded matrix, where there is no other' sh -c "'$halcyon' recon empty.h5 -o x.npy 2>&1 | grep 'image is -n 16,32, the header.s encoded matrix'"
    "$files" grid small_image.npy fine.h5 fine
    "$files" scale grid.h5:/dataset/data/traj half.npy 0.5
    whole grid.h5:/dataset/data -t half.npy --cycles --xyz -n 32,32 --iterations 4 -o n.npy
    check '... of smaller pixels' sh -c "'$halcyon' recon fine.h5 --iterations 4 -o x.npy 2>&1 | grep 'its pixels are 0.5 x 0.5 of the encoded ones'"
    check '... stretch coordinates' "$files" near x.npy n.npy 1e-4
    check '... and -n is of the encoded ones' near 1e-3 x.npy fine.h5 -n 16,16
    "$files" grid small_image.npy bad.h5 coarse
    check '... of larger pixels than were measured: refused' refused 1 '-n is an image of encoded pixels' "$halcyon" recon bad.h5 -o bad.npy
    check '... without a header: refused' refused 1 'no header says it' "$halcyon" recon raw.mrd -o bad.npy
    # Several images in a file, in turns; another encoding's lines.
    "$files" grid small_image.npy encodings.h5 encodings
    check 'another encoding is left out' sh -c "'$halcyon' recon encodings.h5 -o x.npy -q --deterministic && cmp x.npy one.npy"
    "$files" grid small_image.npy two.h5 two
    check 'two slices are two images' sh -c "'$halcyon' recon two.h5 -o x.npy --deterministic 2>&1 | grep 'of 2 images (2 slices;' && head -c 128 x.npy | grep '(2, 16, 16)'"
    recon two.h5 --only slice=0 --deterministic -o first.npy
    recon two.h5 --only slice=1 --deterministic -o second.npy
    check '... one of which is the plain one' cmp first.npy one.npy
    check '... and the other is twice as bright' sh -c "'$files' scale one.npy twice.npy 2 && '$files' error second.npy twice.npy 1e-5"
    tail -c +129 first.npy >first
    check '... both one behind the other' sh -c "tail -c +129 first.npy >both && tail -c +129 second.npy >>both && tail -c +129 x.npy | cmp - both"
    check '... of ranges' sh -c "'$halcyon' recon two.h5 --only slice=0-1,contrast=0 -o y.npy -q --deterministic && cmp x.npy y.npy"
    check '... have maps of their own' refused 1 'must be .2., its slices' "$halcyon" recon two.h5 --maps one.npy -o bad.npy
    check '... of which there are two alone' refused 1 'leaves no acquisition' "$halcyon" recon two.h5 --only slice=2 -o bad.npy
    "$files" grid small_image.npy uneven.h5 uneven
    check '... not of as many lines' sh -c "'$halcyon' recon uneven.h5 -o y.npy --deterministic 2>&1 | grep 'frames; they do not have as many acq'"
    check '... the first as it was' sh -c "tail -c +129 y.npy | head -c 2048 | cmp - first"
    check '... one alone' sh -c "'$halcyon' recon uneven.h5 --only slice=0 -o y.npy -q --deterministic && cmp y.npy one.npy"
    for only in slice slice= 'slice=1,' sli=1 slice=2-1 slice=1x; do
        check "refused: --only $only" refused 2 'COUNTER=N' "$halcyon" recon two.h5 --only "$only" -o bad.npy
    done
    reference=c_image.npy
    check 'HDF5 without a trajectory' refused 1 'traj' "$halcyon" recon c.h5:/samples -n 32,32 -o x.npy
else
    check 'no HDF5' refused 1 'HDF5' "$halcyon" recon c.h5:/samples -t c.h5:/trajectory -n 32,32 -o x.npy
fi
reference=

# Coils whose noise is not alike.
reference=c_image.npy
"$files" noisy c_samples.npy noisy.npy noise.npy
noisy='noisy.npy -t c_trajectory.npy -n 32,32 --maps c_maps.npy --iterations 10'
check 'coils with much noise' far 0.5 x.npy $noisy
check '... whitened by it' whole $noisy --noise noise.npy -o whitened.npy
check '... and their scale is that of the maps' "$files" error whitened.npy c_image.npy 0.45
check '... it is of the same coils' refused 1 'noise must be \[4\]' "$halcyon" recon $C --noise r_samples.npy -o y.npy
"$files" fill c_samples.npy silent.npy 0
check '... and some' refused 1 'nothing beside' "$halcyon" recon $C --noise silent.npy -o y.npy
reference=

# What does not go together.
refuse() { check "refused: $2" refused "$1" "$2" "$halcyon" recon $3; }
refuse 2 '--trajectory is missing' 'r_samples.npy -n 32,32 -o y.npy'
if "$halcyon" simulate --mri radial --size 16 bare.h5 -q 2>bare.log; then
    refuse 1 'the trajectory is missing: give -t FILE (bare.h5 has no dataset /samples/traj' 'bare.h5:/samples -n 16,16 -o y.npy'
    refuse 1 '^halcyon recon: --modes is missing' 'bare.h5:/samples -t bare.h5:/trajectory -o y.npy'
    check '... in one line' equals "`wc -l <refused.err | tr -d ' '`" 1
    refuse 1 'none is named: FILE.h5:/NAME does that; it has /image, /maps, /samples, /trajectory (' 'bare.h5 -t bare.h5:/trajectory -n 16,16 -o y.npy'
else
    skip 'built without HDF5'
fi
refuse 2 '--modes is missing' 'r_samples.npy -t r_trajectory.npy -o y.npy'
refuse 2 '--only is for' 'r_samples.npy -t r_trajectory.npy -n 32,32 --only slice=0 -o y.npy'
refuse 2 '--out is missing' 'r_samples.npy -t r_trajectory.npy -n 32,32'
refuse 2 'the name has no suffix' 'r_samples.npy -t r_trajectory.npy -n 32,32 -o .npy'
{ printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "{'descr': '<c16', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"; } >large.npy
refuse 1 'large.npy: an array that is larger' 'large.npy -t r_trajectory.npy -n 32,32 -o y.npy'
refuse 2 'needs 1 to 3 whole numbers' 'r_samples.npy -t r_trajectory.npy -n 32,x -o y.npy'
refuse 2 'is for --solver fista' "$R --solver cg --reg l1:1 -o y.npy"
refuse 2 'which takes one' "$R --solver fista --reg l1:1,tv:1 -o y.npy"
refuse 2 '--reg takes l1:F' "$R --reg huber:1 -o y.npy"
refuse 2 '--reg takes l1:F' "$R --reg tv:1,,l1:1 -o y.npy"
refuse 2 '--reg takes l1:F' "$R --reg tv:1, -o y.npy"
refuse 1 'sizes must be even' 'r_samples.npy -t r_trajectory.npy -n 31,32 --reg wavelet:1 -o y.npy'
refuse 2 '--reg takes l1:F' "$R --solver fista --reg l1:-1 -o y.npy"
refuse 2 '--toeplitz is for' "$R --solver cgls --toeplitz -o y.npy"
refuse 2 'tgv:F alone' "$C --reg tgv:0.1,l1:0.1 -o y.npy"
refuse 2 'llr:F' "$G --basis basis.npy --reg llr:1:0 -o y.npy"
refuse 2 'llr:F' "$G --basis basis.npy --reg tv:1:4 -o y.npy"
refuse 1 'of several images' "$G --reg llr:1 -o y.npy"
refuse 1 'as many for each frame' "$G --basis seven.npy -o y.npy"
refuse 1 'number 1 is none' "$G --basis infinite.npy -o y.npy"
refuse 1 'needs --maps or --espirit' "g_samples.npy -t g_trajectory.npy -n 32,32 --basis basis.npy -o y.npy"
refuse 2 'needs no points' "$S --stack yes --toeplitz -o y.npy"
refuse 2 'FFTs across planes' "$S --stack yes --same-everywhere -o y.npy"
refuse 1 'has no planes' "s_samples.npy -t s_trajectory.npy -n 5,16,16 --stack yes -o y.npy"
refuse 2 'in place of --maps' "$C --maps c_maps.npy --espirit -o y.npy"
refuse 1 'has one coil' "$R --espirit -o y.npy"
refuse 2 'are for solvers that iterate' "$R --solver adjoint --lambda 1 -o y.npy"
refuse 2 '--field-map needs --times or --readout' "$O --field-map o_field_map.npy -o y.npy"
refuse 2 '--field-map needs --times or --readout' "$O --field-map o_field_map.npy --times o_times.npy --readout 3 -o y.npy"
refuse 2 'are for --field-map' "$O --readout 3 -o y.npy"
refuse 1 'the field must be real numbers, Hz, of the image' "$O --field-map o_maps.npy --readout 3 -o y.npy"
refuse 2 '--r2star needs --times or --readout' "$O --r2star d_rates.npy -o y.npy"
refuse 1 'R2. must be real numbers, 1/s, of the image' "$O --r2star o_maps.npy --readout 3 -o y.npy"
"$files" fill o_field_map.npy n_rates.npy -1
refuse 1 'number 0 is -1; R2. is 0 or more' "$O --r2star n_rates.npy --readout 3 -o y.npy"
"$files" spoil d_rates.npy i_rates.npy 7
refuse 1 'number 7 is none' "$O --r2star i_rates.npy --readout 3 -o y.npy"
refuse 1 'write over it' "$O --r2star d_rates.npy --readout 3 -o d_rates.npy"
refuse 1 'times must be real numbers, seconds, 64 of a spoke' "$O --field-map o_field_map.npy --times o_image.npy -o y.npy"
refuse 1 'write over it' "$O --field-map o_field_map.npy --readout 3 -o o_field_map.npy"
refuse 2 'has frames of its own' "$G --basis basis.npy --frames 2 -o y.npy"
refuse 2 'in place of --frames' "$F --frames 2 --spokes-per-frame 21 -o y.npy"
refuse 1 'has 70 spokes' "$F --spokes-per-frame 71 -o y.npy"
refuse 1 'samples of 3 frames must be' "$F --frames 3 -o y.npy"
refuse 1 '3 devices cannot share 2 frames' "$F --frames 2 -d cpu,cpu,cpu -o y.npy"
refuse 2 '--delay takes X' "$L --delay 1,2,3 -o y.npy"
refuse 2 '--delay takes X' "$L --delay 1, -o y.npy"
refuse 2 '--delay takes X' "$L --delay soon -o y.npy"
refuse 2 '3us with --dwell' "$L --delay 3us -o y.npy"
refuse 2 '--girf-step is for' "$L --girf girf.npy --girf-step 3 -o y.npy"
refuse 2 '--girf-step is for' "$L --dwell 3 -o y.npy"
refuse 1 'longer than a readout' "$L --delay 1000 -o y.npy"
refuse 1 'a response is .frequencies.' "$L --girf l_samples.npy -o y.npy"
refuse 1 'write over it' "$L --girf girf.npy -o girf.npy"
refuse 1 'too few samples in the middle' 'one_samples.cfl -t one_trajectory.cfl -n 8,8 --delay auto -o y.npy'
refuse 2 '--save-dcf is for' "$R --save-dcf w.npy -o y.npy"
refuse 2 'tif' "$R -o y.tif"
refuse 1 'none.npy' 'r_samples.npy -t none.npy -n 32,32 -o y.npy'
refuse 1 'points have 2 coordinates, and --modes names 3 sizes' 'r_samples.npy -t r_trajectory.npy -n 32,32,32 -o y.npy'
refuse 1 'samples must be \[[0-9]*\] or \[coils\]' 'c_samples.npy -t r_trajectory.npy -n 32,32 -o y.npy'
refuse 1 'maps must be \[4\]' 'c_samples.npy -t c_trajectory.npy -n 32,32 --maps r_maps.npy -o y.npy'
refuse 1 'maps must be \[4\]' 'c_samples.npy -t c_trajectory.npy -n 16,64 --maps c_maps.npy -o y.npy'
refuse 1 'weights must be' "$R --dcf c_trajectory.npy -o y.npy"
refuse 1 'write over it' "$R -o r_samples.npy"
"$files" spoil c_samples.npy nan.npy 2567
refuse 1 '1 of .* numbers of the samples are none or infinite, the first one at 3 of coil 1' 'nan.npy -t c_trajectory.npy -n 32,32 -o y.npy'
"$files" scale r_samples.npy huge.npy 1e100
refuse 1 'numbers of the samples are none or infinite as floats' 'huge.npy -t r_trajectory.npy -n 32,32 --precision float -o y.npy'
"$files" spoil c_trajectory.npy nan.npy 7
refuse 1 'point' 'c_samples.npy -t nan.npy -n 32,32 -o y.npy'
"$files" spoil c_maps.npy nan.npy 7
refuse 1 'numbers of the maps' "$C --maps nan.npy -o y.npy"
"$files" spoil o_field_map.npy nan.npy 7
refuse 1 'nan.npy: number 7 is none' "$O --maps o_maps.npy --field-map nan.npy --readout 3 -o y.npy"
"$files" scale w.npy minus.npy -1
refuse 1 'weights are 0 or more' "$R --dcf minus.npy -o y.npy"
"$files" scale c_samples.npy large.npy 1e20
"$files" scale c_maps.npy large_maps.npy 1e25
refuse 1 'no number.*--precision double' "large.npy -t c_trajectory.npy -n 32,32 --maps large_maps.npy --precision float -o y.npy"
check 'nothing was written' not ls y.npy y.tif
check 'no samples but 0 are an image of 0' sh -c "'$files' scale r_samples.npy zero.npy 0 && '$halcyon' recon zero.npy -t r_trajectory.npy -n 32,32 -o x.npy && '$files' scale x.npy y.npy 1 && tail -c +129 x.npy | tr -d '\\0' | wc -c | grep '^ *0\$'"

# Whoever ends a run gets the image so far, and is told.  A run that was not that far is tried again, and ended later.
# (Primal-dual steps do not come to an end of themselves, as CG's do.)
# interrupted LIMIT WORDS...: an image that is no further from the phantom, where there is a limit.
interrupted()
{
    limit=$1
    shift
    for pause in 0.3 1 4 20; do
        rm -f w.npy y.npy
        "$halcyon" recon "$@" --dcf cells --save-dcf w.npy --iterations 100000 --tolerance 0 -o y.npy 2>said &
        while [ ! -s w.npy ] && kill -0 $!; do sleep 0.05; done
        sleep $pause
        kill -TERM $!
        wait $!
        code=$?
        cat said
        [ -s y.npy ] && { [ -z "$limit" ] || "$files" error y.npy r_image.npy $limit; } && break
    done
    grep "${words:-(interrupted)}" said && rm y.npy && equals $code 1
}
check 'a run that is ended' interrupted 0.3 $R --reg tv:0.001
check 'a run of frames' interrupted '' $C --spokes-per-frame 5 --maps c_maps.npy --solver primal-dual --reg tv:0.001
check '... says how many have no image' grep 'the images of 3 of 4 are 0' said
words='was interrupted'
check '... in few words with --quiet' interrupted '' $C --spokes-per-frame 5 --maps c_maps.npy --solver primal-dual --reg tv:0.001 -q
check '... and these' grep 'the images of 3 of 4 are 0' said

# Several devices share the coils.  Iterations multiply rounding: of five, 1e-12 are left.
D="--iterations ${few:-5} --precision double --eps 1e-12"
shared='cpu@threads=1,cpu@threads=2,cpu@threads=1'
# as_one WORDS...: the same image as one device's.
as_one()
{
    recon "$@" $D -d cpu@threads=1 -o one.npy && recon "$@" $D -d $shared -o shared.npy &&
        "$files" error shared.npy one.npy 1e-12
}
check 'devices that share coils' as_one $C --maps c_maps.npy
check '... by a convolution' as_one $C --maps c_maps.npy --toeplitz
check '... with weights, for a solver of the data' as_one $C --maps c_maps.npy --dcf pipe --solver lsqr
check '... with a regulariser' as_one $C --maps c_maps.npy --reg tv:0.01
check '... without maps' as_one $C
check '... with maps that are estimated' as_one full_samples.npy -t full_trajectory.npy -n 32,32 --espirit
check '... in a field that is off' as_one $O --maps o_maps.npy --field-map o_field_map.npy --readout 20
# The solver within ADMM's steps multiplies rounding, on one device as well.
check '... with generalised variation' as_one $C --maps c_maps.npy --reg tgv:0.005 --solver primal-dual
check '... of a stack' as_one $S --maps s_maps.npy
check '... which is told' sh -c "'$halcyon' recon $S --maps s_maps.npy -d $shared -o x.npy 2>&1 | grep 'a stack of 6 planes' && '$halcyon' recon $S --maps s_maps.npy -d $shared --json -q -o x.npy | '$json' planes | grep -x 6"
check '... of functions of time' as_one $G --basis basis.npy
check '... the adjoint' sh -c "'$halcyon' recon $C --maps c_maps.npy --solver adjoint -d $shared -q -o x.npy"
recon $C --maps c_maps.npy --deterministic -d $shared -o one.npy
recon $C --maps c_maps.npy --deterministic -d cpu@threads=3,cpu@threads=1,cpu@threads=2 -o shared.npy
check '... with the same bits for any numbers of threads' cmp one.npy shared.npy
check '... which are named' sh -c "'$halcyon' recon $C --maps c_maps.npy --json -q -d $shared -o x.npy | '$json' device | grep -x $shared"
check 'more devices than coils' sh -c "'$halcyon' recon $R -d cpu,cpu -q -o x.npy 2>&1 | grep '2 devices cannot share 1 coil;'"
check 'one that fails' sh -c "'$halcyon' recon $C --maps c_maps.npy -d cpu,cpu@threads=1@fail-launch=9 -q -o x.npy 2>&1 | grep 'cpu@threads=1@fail-launch=9'"

# The same bits.
for threads in 1 3; do
    recon $C --maps c_maps.npy --dcf pipe --deterministic -d cpu@threads=$threads -o t$threads.npy
    recon $C --maps c_maps.npy --dcf pipe --same-everywhere -d cpu@threads=$threads -o e$threads.npy
    recon $C --maps c_maps.npy --dcf pipe --toeplitz --deterministic -d cpu@threads=$threads -o g$threads.npy
done
check '--deterministic: any number of threads' cmp t1.npy t3.npy
check '--same-everywhere: too' cmp e1.npy e3.npy
check '--toeplitz --deterministic: too' cmp g1.npy g3.npy
check '--toeplitz --same-everywhere: not' sh -c "'$halcyon' recon $C --toeplitz --same-everywhere -o x.npy 2>&1 | grep 'no --toeplitz'"

# PyNUFFT's trajectory and phantom: its own CG reaches 0.108 in 20 iterations (pynufft's figure, magnitudes).
if [ -z "$quick" ] && [ -r "$data/nufft/om2D.npz" ] && command -v unzip >/dev/null; then
    for name in om2D phantom_256_256; do unzip -p "$data/nufft/$name.npz" arr_0.npy >$name.npy; done
    "$halcyon" nufft -t 2 -p om2D.npy -i phantom_256_256.npy -e 1e-7 -o k.npy -q
    reference=phantom_256_256.npy
    check "PyNUFFT's data: CG, 20 iterations" near 0.108 x.npy k.npy -t om2D.npy -n 256,256 --iterations 20 --tolerance 0
    # Its L1-TV reaches 0.039.
    check '... TV' near 0.039 x.npy k.npy -t om2D.npy -n 256,256 --dcf pipe --solver admm --reg tv:0.001 --iterations 10 --tolerance 0
else
    skip 'no nufft/om2D.npz in HALCYON_TEST_DATA, no unzip, or a sanitizer that takes long'
    skip 'no nufft/om2D.npz in HALCYON_TEST_DATA, no unzip, or a sanitizer that takes long'
fi
echo "1..$n"
exit $failed
