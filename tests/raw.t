# Raw frames of JUNGFRAU, converted in front of what the commands do with them.
raw=${top_builddir:-.}/tests/stack_raw
case $raw in /*) ;; *) raw=`pwd`/$raw ;; esac
test_name=raw
. "${top_srcdir:-.}/tests/cli.sh"
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR

rows() { grep -v '^#' "$1" | grep .; }
same() { rows "$1" >same.a; rows "$2" >same.b; [ -s same.a ] && cmp same.a same.b; }
differ() { not same "$1" "$2" >/dev/null; }
# status WANT WORD COMMAND...: it ends with that status and says the word.
status()
{
    want=$1 word=$2
    shift 2
    "$@" >status.log 2>&1
    got=$?
    [ $got = $want ] && grep -e "$word" status.log >/dev/null && return 0
    echo "status $got, want $want with '$word':"
    cat status.log
    return 1
}

"$raw" . || exit 99
printf 'Detector: Detector\nPixelSize1: 75e-6\nPixelSize2: 75e-6\nDistance: 0.01\nPoni1: 0.001\nPoni2: 0.002\n' >g.poni
printf 'Rot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n' >>g.poni
integrate() { stack=$1; shift; "$halcyon" integrate "$stack" -p g.poni -d cpu@threads=1 -q -n 20 "$@"; }
# pixels FILE.npy: those of photons.npy, whatever the header.
pixels() { tail -c 46176 photons.npy >pixels.a; tail -c 46176 "$1" >pixels.b; cmp pixels.a pixels.b; }
unpacked() { "$halcyon" decompress packed.h5 -o again.npy -q && pixels again.npy; }
maps='--pedestal pedestal.npy --gain gain.npy'

check 'integrate: the photons' integrate photons.npy -o want.dat --error-model poisson
check 'integrate: raw frames' integrate raw.npy $maps --photon-energy 12.5 -o got.dat --error-model poisson
check 'integrate: the same' same want.dat got.dat
check 'integrate: in keV' integrate raw.npy $maps -o kev.dat
check 'integrate: keV are other numbers' differ want.dat kev.dat
check 'integrate: the energy of another photon' integrate raw.npy $maps --photon-energy 6.25 -o half.dat
check 'integrate: the energy matters' differ got.dat half.dat
check 'integrate: raw frames as they are' integrate raw.npy -o raw.dat
check 'integrate: are no photons' differ raw.dat want.dat
check '--pedestal: it matters' integrate raw.npy --pedestal gain.npy --gain gain.npy --photon-energy 12.5 -o ped.dat
check '--pedestal: other numbers' differ got.dat ped.dat
check '--pedestal alone' status 2 'need --pedestal and --gain' integrate raw.npy --pedestal pedestal.npy -o x.dat
check '--photon-energy alone' status 2 'need --pedestal and --gain' integrate raw.npy --photon-energy 9 -o x.dat
check 'maps of another number' status 1 'where 3 of' integrate raw.npy --pedestal raw.npy --gain gain.npy -o x.dat
check 'frames that are not raw' status 1 'raw frames are of uint16' integrate photons.npy $maps -o x.dat

check 'decompress' "$halcyon" decompress raw.npy $maps --photon-energy 12.5 -o images.npy -q
check 'decompress: photons' pixels images.npy
check 'sum' "$halcyon" sum raw.npy $maps --photon-energy 12.5 -o sum.npy -q
# whole FILE.npy BYTES N: its numbers, a line each.
whole() { tail -c `expr $2 \* $3` "$1" | od -An -v -td$2 -w$2 | tr -d ' '; }
whole photons.npy 4 11544 | awk -v n=1924 '{ i = (NR - 1) % n; s[i] += $1; if ($1 == -2147483648 || $1 == 2147483647) none[i] = 1 }
    END { for (i = 0; i < n; i++) print i in none ? "-9223372036854775808" : s[i] }' >want.sum
whole sum.npy 8 1924 >got.sum
check 'sum: of the photons, none where a frame has none' cmp got.sum want.sum
check '... of which there are some' grep -q '^-9223372036854775808$' want.sum
whole photons.npy 4 11544 | awk -v n=1924 '{ f = int((NR - 1) / n); if ($1 == -2147483648 || $1 == 2147483647) none[f]++
    else { s[f] += $1; if (!c[f]++ || $1 > most[f]) most[f] = $1 } }
    END { for (f = 0; f < 6; f++) print f, s[f], most[f], c[f], none[f] }' >want.roi
"$halcyon" sum raw.npy $maps --photon-energy 12.5 --roi 0,0,52,37 -o - -q | awk '!/^#/ { print $1, $2, $3, $4, $5 }' >got.roi
check 'sum --roi: of the photons alone' cmp got.roi want.roi
if "$halcyon" compress raw.npy $maps --photon-energy 12.5 -o packed.h5 -q >packed.log 2>&1; then
    check 'compress: the photons' unpacked
    for i in 0 1; do
        "$halcyon" sum raw.npy $maps --photon-energy 12.5 --shard $i/2 -o part.h5 -q || exit 99
    done
    check 'sum: of parts' "$halcyon" merge part.0-of-2.h5 part.1-of-2.h5 -o merged.npy -q
    check '... is the same' cmp merged.npy sum.npy
else
    check 'compress needs HDF5' grep -q 'no HDF5' packed.log
fi
echo "1..$n"
exit $failed
