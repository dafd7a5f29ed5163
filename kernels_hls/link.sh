# link.sh CARD "KERNEL..." - a configuration for `v++ -l`: the card's compute units of each kernel, and which memory
# each argument is in.  A compute unit has three of the 32 channels of an HBM: weights and chunks (or images) one
# each, as they are read all the time; tables of frames and blocks, jobs, reports and sums share the third.
card=$1 kernels=$2
cd "$(dirname "$0")" || exit 1
row=$(awk -v card="$card" '$1 == card' platforms.tbl)
[ -n "$row" ] || { echo "link.sh: no card \"$card\" in platforms.tbl" >&2; exit 1; }
# shellcheck disable=SC2086 # the words of a row
set -- $row
units=$3 clock=$4 memory=$5
args_of() { # KERNEL: its buffers, those with a channel of their own first, "-" behind each of these
    case $1 in
    bslz4_decode) echo chunks - images - frames blocks job reports scratch ;;
    azint_image) echo plan - images - job sums reports scratch ;;
    bslz4_azint) echo plan - chunks - frames blocks coding job sums reports scratch ;;
    *) echo "link.sh: no kernel \"$1\"" >&2; exit 1 ;;
    esac
}
n_kernels=0
for k in $kernels; do n_kernels=$((n_kernels + 1)); done
[ "$n_kernels" -gt 0 ] || exit 1
units=$((units / n_kernels))
echo "# Made by link.sh $card \"$kernels\": compute units, and the memory of each argument."
echo "kernel_frequency=$clock"
echo "[connectivity]"
for k in $kernels; do echo "nk=$k:$units"; done
channel=0
for k in $kernels; do
    args=$(args_of "$k") || exit 1
    u=1
    while [ "$u" -le "$units" ]; do
        for a in $args; do
            case $a in
            -) channel=$(((channel + 1) % 32)) ;;
            *) echo "sp=${k}_$u.$a:${memory}[$channel]" ;;
            esac
        done
        channel=$(((channel + 1) % 32))
        u=$((u + 1))
    done
done
echo "[vivado]"
echo "prop=run.impl_1.strategy=Performance_Explore"
