#!/bin/sh
# Halcyon beside its peers, in one run on one machine: the rates of pyFAI's pipelines (detector_peers.py) and
# of `halcyon integrate` over the same stack, chunk to curve with Poisson errors, and their ratio.
#
# usage: bench/compare.sh [FRAMES [ARGUMENTS OF make_stack.py]]
#   PEERS    the folder of detector_peers.py and make_stack.py (default: ../shared/peers beside the source)
#   PYTHON   an interpreter with numpy, h5py, bitshuffle and pyFAI (default: python3)
#   HALCYON  the command (default: build/halcyon, or the one installed)   DEVICES  what it runs on (default: cpu)
set -eu
frames=${1-32}
[ $# -gt 0 ] && shift
here=`cd "\`dirname "$0"\`/.." && pwd`
peers=${PEERS:-$here/../shared/peers}
python=${PYTHON:-python3}
halcyon=${HALCYON:-build/halcyon}
[ -n "${HALCYON-}" ] || [ -x "$halcyon" ] || halcyon=halcyon
devices=${DEVICES:-cpu}
for f in detector_peers.py make_stack.py; do
    [ -r "$peers/$f" ] || { echo "$0: $peers/$f is not there; PEERS names its folder" >&2; exit 1; }
done
"$python" -c 'import numpy, h5py, bitshuffle, pyFAI' 2>/dev/null ||
    { echo "$0: $python has no numpy, h5py, bitshuffle and pyFAI; PYTHON names one that has" >&2; exit 1; }
work=`mktemp -d "${TMPDIR:-/tmp}/halcyon-compare.XXXXXX"`
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

"$python" "$peers/make_stack.py" "$work/s.h5" --frames "$frames" "$@"
"$python" "$peers/detector_peers.py" "$work/s.h5" "$work/s.poni" --bins 1000 --frames "$frames" |
    tee "$work/peers.txt"

# rate OPTIONS...: the best of five runs, frames/s.
rate()
{
    for i in 1 2 3 4 5; do
        "$halcyon" integrate "$work/s.h5" -p "$work/s.poni" -d "$devices" -n 1000 -u q_A^-1 "$@" \
            --polarization 0.99 --mask-from-frame 0 --json -o "$work/curves.h5" |
            sed -n 's/^  "frames_per_s": \([0-9.e+]*\).*/\1/p'
    done | sort -g | tail -1
}

for split in no bbox full; do
    ours=`rate --split $split --error-model poisson`
    awk -v split_="$split" -v ours="$ours" '
        $0 ~ "^pyFAI " split_ ": chunk" && / threads/ {
            for (i = 2; i <= NF; i++)
                if ($i == "frames/s")
                    theirs = $(i - 1)
        }
        END {
            printf "%-44s %9.3f ms/frame %9.1f frames/s", "halcyon " split_ ": chunk->curve", 1e3 / ours, ours
            if (theirs) printf "   %.1f times pyFAI, threaded", ours / theirs
            printf "\n"
        }' "$work/peers.txt"
done

# Images of 1000 x 360 bins, azimuthal errors, sigma clipping, the median.
"$python" "$here/bench/azint_peers.py" "$work/s.h5" "$work/s.poni" "$frames" >"$work/rest.txt"
while read -r name theirs cpu; do
    case $name in
    image) set -- --split bbox --error-model poisson --npt-azim 360 ;;
    azimuthal) set -- --split no --error-model azimuthal ;;
    clip-*) set -- --sigma-clip --error-model ${name#clip-} ;;
    median) set -- --split no --error-model poisson --percentile 50 ;;
    esac
    ours=`rate "$@"`
    awk -v name="$name" -v theirs="$theirs" -v cpu="$cpu" -v ours="$ours" 'BEGIN {
        printf "pyFAI %-38s %9.3f ms/frame (%.3f of processors'"'"' time)\n", name ": chunk->result, threaded", theirs, cpu
        printf "halcyon %-36s %9.3f ms/frame %9.1f frames/s   %.1f times pyFAI, threaded\n", name ": chunk->result",
            1e3 / ours, ours, theirs * ours / 1e3 }'
done <"$work/rest.txt"
