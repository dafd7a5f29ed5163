# link.sh CARD "KERNEL..." - a configuration for `v++ -l`: the card's compute units of each kernel, and which memory
# each argument is in (kernels.tbl).  A compute unit has three of the 32 channels of an HBM: weights and chunks (or images) one
# each, as they are read all the time; tables of frames and blocks, jobs, reports and sums share the third.
card=$1 kernels=$2
cd "$(dirname "$0")" || exit 1
row=$(awk -v card="$card" '$1 == card' platforms.tbl)
[ -n "$row" ] || { echo "link.sh: no card \"$card\" in platforms.tbl" >&2; exit 1; }
# shellcheck disable=SC2086 # the words of a row
set -- $row
units=$3 clock=$4 memory=$5 channels=$6
args_of() { # KERNEL: its buffers
    awk -v kernel="$1" '$1 == kernel { $1 = $2 = ""; print; found = 1 } END { exit !found }' kernels.tbl ||
        { echo "link.sh: no kernel \"$1\" in kernels.tbl" >&2; exit 1; }
}
n_kernels=0
for k in $kernels; do n_kernels=$((n_kernels + 1)); done
[ "$n_kernels" -gt 0 ] || exit 1
units=$((units / n_kernels))
[ "$units" -gt 0 ] || { echo "link.sh: more kernels than compute units on a $card" >&2; exit 1; }
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
            -) channel=$(((channel + 1) % channels)) ;;
            *) echo "sp=${k}_$u.$a:${memory}[$channel]" ;;
            esac
        done
        channel=$(((channel + 1) % channels))
        u=$((u + 1))
    done
done
echo "[vivado]"
echo "prop=run.impl_1.strategy=Performance_Explore"
