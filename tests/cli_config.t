# halcyon integrate -j and --save-config: a configuration of pyFAI's below the options.
test_name=config
. "${top_srcdir:-.}/tests/cli.sh"

rows() { grep -v '^#' "$1" | grep .; }
same() { rows "$1" >same.a; rows "$2" >same.b; cmp same.a same.b; }
differ() { if same "$1" "$2" >/dev/null; then echo "$1 and $2 are the same"; return 1; fi; }
integrate() { "$halcyon" integrate i.npy -d cpu@threads=1 -q "$@"; }

# An image of 60 x 40 bytes, a mask, a flat field, a geometry.
image() # FILE EXPRESSION: pixel i, as awk has it
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (60, 40), }" >"$1"
    awk 'BEGIN { for (i = 0; i < 2400; i++) printf "\\%03o", '"$2"' }' >escapes
    printf "`cat escapes`" >>"$1"
}
image i.npy '(i * 37 % 101) + 1 + (i % 53 == 0 ? 150 : 0)'
image mask.npy 'i % 7 == 0'
image flat.npy '1 + i % 3'
image mask2.npy 'i % 5 == 0'
cat >g.poni <<'P'
poni_version: 2.1
Detector: Detector
Detector_config: {"pixel1": 0.0001, "pixel2": 0.0001, "max_shape": [60, 40], "orientation": 3}
Distance: 0.1
Poni1: 0.003
Poni2: 0.002
Rot1: 0.01
Rot2: 0.02
Rot3: 0
Wavelength: 1e-10
P

options='-n 30 -u 2th_deg --split full --error-model poisson --radial-range 0.3,2.5 --azimuth-range -100,100
    --polarization 0.9,17 --no-solid-angle --normalization 3 --dummy 60 --delta-dummy 2 --mask mask.npy --flat flat.npy
    --dark mask.npy'
check 'a run with many options, saved' integrate -p g.poni $options -o want.dat --save-config c.json
check '... is JSON' sh -c "'$json' <c.json"
check '... of version 5' equals "`"$json" version <c.json`" 5
check '... with its bins' equals "`"$json" nbpt_rad <c.json`" 30
check '... its files' equals "`"$json" mask_file <c.json``"$json" flat_field <c.json``"$json" dark_current <c.json`" \
    "`pwd`/mask.npy`pwd`/flat.npy`pwd`/mask.npy"
"$halcyon" integrate i.npy -j c.json -d cpu@threads=1 -q -o try.dat 2>try.err
if grep -q jansson try.err; then
    echo "ok `expr $n + 1` # SKIP built without jansson"
    echo "1..`expr $n + 1`"
    exit 0
fi
check '-j: the same curve' integrate -j c.json -o got.dat
check '... it is' same want.dat got.dat
check '--config is -j' integrate --config c.json -o long.dat
check '... it is' same want.dat long.dat
check '-j and --save-config: the same again' integrate -j c.json --save-config again.json -o again.dat
check '... they are' cmp c.json again.json
# Every option overrides what the file says.
for o in '-n 17' '-u q_nm^-1' '--split no' '--error-model none' '--radial-range 0.5,2' '--azimuth-range 0,50' \
    '--polarization -1' '--polarization 0.9' '--normalization 7' '--dummy 100' '--delta-dummy 9' '--mask mask2.npy' '--flat i.npy' \
    '--dark flat.npy' --unweighted '--no-sentinels'; do
    check "-j and $o" integrate -j c.json $o -o over.dat
    check '... is another curve' differ want.dat over.dat
    case $o in
    --no-sentinels) continue ;; # is not for a line with --dummy
    '--dummy 100') o="$o --delta-dummy 0" ;; # not that of the configuration
    esac
    check '... the one that the options give' integrate -p g.poni $options $o -o both.dat
    check '... it is' same both.dat over.dat
done
echo '{ "device": "cpu", "error_model": "poisson" }' >other.json
check "-j: another program's JSON with an error model" refused 1 'none of the keys' "$halcyon" integrate s.h5 -j other.json -o other.dat
sed 's/"dist": 0.1/"dist": 0.2/' c.json >far.json
check '-j: its geometry' integrate -j far.json -o far.dat
check '... counts' differ want.dat far.dat
check '-j and -p' integrate -j far.json -p g.poni -o near.dat
check '... the PONI file counts' same want.dat near.dat
check '-j and --npt-azim: an image' integrate -j c.json --npt-azim 8 -o x.edf
check '-j and --along-chi' integrate -j c.json --along-chi -o chi.dat --save-config chi.json
check '... saved' integrate -j chi.json -o chi2.dat
check '... the same' same chi.dat chi2.dat
check '... with other bins' integrate -j chi.json -n 11 -o chi3.dat
check '... so many' equals "`rows chi3.dat | wc -l | tr -d ' '`" 11
check 'an unweighted mean, saved' integrate -j c.json --unweighted -o flat.dat --save-config even.json
check '... read' integrate -j even.json -o flat2.dat
check '... the same' same flat.dat flat2.dat
check 'sigma clipping, saved' integrate -p g.poni --sigma-clip --threshold 1.5,2 -n 9 -o clip.dat --save-config clip.json
check '... read' integrate -j clip.json -o clip2.dat
check '... the same' same clip.dat clip2.dat
check '... two thresholds' grep -q '"thres": \[1.5, 2\]' clip.json
check '... with another threshold' integrate -j clip.json --threshold 5 -o clip3.dat
check '... another curve' differ clip.dat clip3.dat
check 'a percentile of a fibre, saved' integrate -p g.poni -u qip --percentile 20,80 -n 9 -o fibre.dat --save-config fibre.json
check '... read' integrate -j fibre.json -o fibre2.dat
check '... the same' same fibre.dat fibre2.dat
check '-j and --sigma-clip' integrate -j c.json --sigma-clip -o clip4.dat
check "... with the configuration's splitting and errors" integrate -p g.poni $options --sigma-clip -o clip5.dat
check '... are these' same clip4.dat clip5.dat
sed 's/"poni": {/"other": {/' c.json >nowhere.json
check 'no geometry at all' refused 1 '-p FILE.poni' integrate -j nowhere.json -o x.dat
check '... but on the line' integrate -j nowhere.json -p g.poni -o x.dat
check 'no such file' refused 1 'none.json' integrate -j none.json -o x.dat
echo '{ "version": 5, ' >broken.json
check 'no JSON' refused 1 'broken.json.*line' integrate -j broken.json -o x.dat
sed 's/"integrate1d"/"separate"/' c.json >other.json
check 'a method that is not there' refused 1 'integrator_method' integrate -j other.json -o x.dat
sed 's/"poisson"/"variance"/' c.json >variance.json
check 'an error model without its variances' refused 2 '--variance' integrate -j variance.json -o x.dat
# A mask of a frame has no file; two masks have one, made for the configuration.
check '--mask-from-frame, saved' integrate -p g.poni --mask mask.npy --mask-from-frame 0 --dummy 60 -o frame.dat \
    --save-config frame.json
check '... its mask' equals "`"$json" mask_file <frame.json`" "`pwd`/frame_mask.npy"
check '... read' integrate -j frame.json --no-sentinels -o frame2.dat
check '... the same curve' same frame.dat frame2.dat
echo 7 >counts.txt && ln counts.txt kept_mask.npy || exit 99
check '... in place of nothing that is read' refused 1 'kept_mask.npy is read (--monitor)' integrate -p g.poni --mask mask.npy \
    --mask-from-frame 0 --dummy 60 --monitor counts.txt -o x.dat --save-config kept.json
# --- Thick sensors ---
sed -e 's/^Detector_config: {/&"sensor": {"material": "Si", "thickness": 0.00045}, /' -e '$aParallax: True' g.poni >thick.poni
check 'parallax, saved' integrate -p thick.poni -n 9 -o thick.dat --save-config thick.json
check '... as pyFAI names it' grep -q '"parallax": true' thick.json
check '... read' integrate -j thick.json -o thick2.dat
check '... the same curve' same thick.dat thick2.dat
check 'without parallax' integrate -p g.poni -n 9 -o thin.dat
check '... it is another' differ thick.dat thin.dat
check 'a folder that is not there' refused 1 'nowhere/c.json' integrate -p g.poni -o x.dat --save-config nowhere/c.json
echo "1..$n"
exit $failed
