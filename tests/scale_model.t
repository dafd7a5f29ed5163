# halcyon scale-model from outside: what must hold of any model, what is sent by hand's count, and what is refused.
test_name=scale_model
. "${top_srcdir:-.}/tests/cli.sh"

model() { "$halcyon" scale-model "$@"; }
machine="--alpha 2us --beta 10GB/s --rate 40GB/s"
# value KEY ARGUMENTS: of the JSON
value()
{
    key=$1
    shift
    # shellcheck disable=SC2086 # the machine is several words
    "$halcyon" scale-model $machine --json "$@" >model.json && "$json" "$key" <model.json
}
about() { echo "$1 $2" | awk '{ d = $1 - $2; exit !(d * d <= 1e-14 * $2 * $2) }'; }
least() { echo "$1 $2" | awk '{ exit !($1 >= $2) }'; }

# shellcheck disable=SC2086
check 'says that it is modelled' sh -c "'$halcyon' scale-model halo -n 64 $machine | grep -q '^MODELLED, not measured: halo of 64'"
check 'in JSON too' equals "`value modelled halo -n 64`" true
check 'powers of 2 up to 1024' equals "`value rows.10.ranks halo -n 64`" 1024
check '--ranks: a list' equals "`value rows.2.ranks halo -n 64 --ranks 1,3,6-7`" 6
for key in job size bytes_a_real alpha_s beta_bytes_per_s rate_bytes_per_s rows.0.ranks rows.0.compute_s rows.0.exchange_s \
    rows.0.hidden_s rows.0.total_s rows.0.speed_up rows.0.efficiency; do
    check "JSON has $key" test -n "`value $key halo -n 64`"
done
# One rank sends nothing: it takes what it takes alone.
for job in halo reduction transpose sense; do
    check "$job: one rank takes its own time" equals "`value rows.0.total_s $job -n 500 --local 30ms`" 0.03
    check "... and sends nothing" equals "`value rows.0.exchange_s $job -n 500 --local 30ms`" 0
    for ranks in 2 7 1000; do
        at() { value rows.0.total_s $job -n 500 --local 30ms --ranks $ranks "$@"; }
        check "$job on $ranks: a slower way between ranks is never faster" least "`at --beta 1GB/s`" "`at`"
        check "$job on $ranks: nor is a longer latency" least "`at --alpha 20us`" "`at`"
        check "$job on $ranks: nor a slower memory" least "`at --rate 10GB/s`" "`at`"
    done
done
# 8 bytes an element at 40 GB/s; two ghost rows of 100^2 floats to and fro.
check 'halo: bytes at the rate' about "`value rows.0.total_s halo -n 100`" 2e-4
check 'halo: a neighbour' about "`value rows.0.exchange_s halo -n 100 --ranks 2`" 6e-6
check 'halo: two of them' about "`value rows.0.exchange_s halo -n 100 --ranks 4`" 1.2e-5
check 'halo: a quarter of the rows' about "`value rows.0.compute_s halo -n 100 --ranks 4`" 5e-5
check 'halo: hidden behind the rows inside' about "`value rows.0.hidden_s halo -n 100 --ranks 4`" 1.2e-5
check 'halo: behind three of five' about "`value rows.0.hidden_s halo -n 100 --ranks 20`" 6e-6
check 'halo: two rows hide nothing' equals "`value rows.0.hidden_s halo -n 100 --ranks 50`" 0
check '--double' about "`value rows.0.total_s halo -n 100 --double`" 4e-4
# 10^7 numbers, 9766 pieces, 10 pieces: two rounds, then 7 messages of one or two numbers.
check 'reduction: rounds, then all to all' about "`value rows.0.exchange_s reduction -n 10000000 --ranks 8`" 1.96438e-5
check '--sum tree: steps' about "`value rows.0.exchange_s reduction -n 10000000 --ranks 8 --sum tree`" 6.0024e-6
# 64^3 complex numbers of 8 bytes: 3 messages of 16^2 * 64 each, twice.
check 'transpose: all to all, twice' about "`value rows.0.exchange_s transpose -n 64 --ranks 4`" 9.06432e-5
# 50^3 complex numbers of 8 bytes: 4 steps, and 3/4 of the image twice.
# Half of 64^3 of them, read and written twice: 2^20 bytes each time at 40 GB/s, and as often at another rate.
packing() { value rows.0.compute_s transpose -n 64 --local 1s --ranks 2 "$@"; }
check 'transpose: packs' about "`packing`" 0.5001048576
check '--turn: and unpacks' about "`packing --turn 10GB/s`" 0.500524288
check '... at that rate' equals "`value turn_bytes_per_s transpose -n 64 --turn 10GB/s`" 1e+10
check 'sense: an allreduce' about "`value rows.0.exchange_s sense -n 50 --local 1s --ranks 4`" 1.58e-4
check 'sense: no more ranks than coils' equals "`value rows.0.ranks sense -n 50 --local 1s --coils 4 --ranks 8`" 8
check '... gain anything' least "`value rows.0.total_s sense -n 50 --local 1s --coils 4 --ranks 8`" \
    "`value rows.0.total_s sense -n 50 --local 1s --coils 4 --ranks 4`"

check 'a job that is none' refused 2 "'halo' meant" model hallo -n 64
check 'without a size' refused 2 '--size is needed' model halo
# shellcheck disable=SC2086
for what in '--alpha 2' '--alpha 2GB/s' '--alpha -2us' '--alpha 0us' '--alpha nanus' '--alpha infs' '--beta 10' '--beta 10us' \
    '--beta 0GB/s' '--rate 1e308TB/s' '--rate 1e-320B/s' '--turn 1' '--local x'; do
    check "$what" refused 2 "${what%% *} '" model halo -n 64 $machine $what
done
for what in '--ranks 0,1' '--ranks 1:' '--ranks 5:200000001' '--ranks 1:100000' '--ranks 2,1' '--size 0' '--size 1000001' '--sum no'; do
    check "$what" refused 2 "${what%% *}" model halo -n 64 $machine $what
done
# shellcheck disable=SC2086
{
    check 'coils of a job that has none' refused 2 '--coils is for sense' model transpose -n 64 $machine --coils 8
    check 'a sum of a job that has none' refused 2 '--sum is for a reduction' model halo -n 64 $machine --sum exact
}
check 'without figures of a machine' refused 2 '--beta is needed' model halo -n 64 --alpha 2us --rate 4GB/s
# shellcheck disable=SC2086
check 'sense has no bytes of its own' refused 2 '--local is needed' model sense -n 64 $machine
echo "1..$n"
exit $failed
