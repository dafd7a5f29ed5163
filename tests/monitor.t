# halcyon integrate --monitor and --sum: curves divided by counts, curves of summed frames; halcyon sum --roi.
test_name=monitor
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere

integrate() { "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=1 -q "$@"; }
rows() { grep -v '^#' "$1" | grep .; }
# numbers FILE.h5 N...: a dataset /entry/data/data of bytes, 1 x 1 x how many.
numbers()
{
    file=$1
    shift
    {
        printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (1, $#), }"
        for i; do printf "\\`printf %03o "$i"`"; done
    } >numbers.npy
    "$halcyon" decompress numbers.npy -q -o "$file"
}
# part FILE K: the intensities of its Kth curve of 50 bins.
part() { rows "$1" | awk -v k="$2" 'NR > 50 * (k - 1) && NR <= 50 * k { print $2 }'; }
# ratio A KA B KB X: the intensities of curve KB in B are X times those of curve KA in A, to the digits printed.
ratio()
{
    part "$1" "$2" >ratio.a
    part "$3" "$4" >ratio.b
    paste ratio.a ratio.b | awk -v x="$5" '{ d = $1 * x - $2; if (d < 0) d = -d; if (d > 3e-6 * ($2 + 1e-9)) exit 1 }
        END { exit NR != 50 }'
}

if ! "$halcyon" simulate s.h5 --detector Eiger500k --frames 6 --seed 4 --threads 1 >log 2>&1; then
    grep -q 'no HDF5' log && { echo "1..1"; echo "ok 1 # SKIP built without HDF5"; exit 0; }
    sed 's/^/# /' log
    exit 1
fi
numbers monitor.h5 1 2 4 8 16 32
numbers zero.h5 1 0 4 8 16 32
numbers short.h5 1 2 4
counts=::/entry/data/data

# --- Monitors ---
check 'plain' integrate -n 50 -o plain.dat
check '--monitor' integrate -n 50 -o m.dat --monitor monitor.h5$counts
for i in 1 2 3 4 5 6; do
    check "--monitor: frame $i" ratio plain.dat $i m.dat $i `awk "BEGIN { print 1 / 2 ^ ($i - 1) }"`
done
check '--monitor: some frames, each by its own' integrate -n 50 -o some.dat --frames 3:5 --monitor monitor.h5$counts
check '... the first of them' ratio plain.dat 4 some.dat 1 0.125
# A configuration has the whole name of a text, too, so that it is read in again from any folder.
printf '1\n2\n4\n8\n16\n32\n' >list.txt
saves_monitor()
{
    integrate -n 50 -o list.dat --monitor list.txt --save-config list.json && mkdir -p away && cp s.h5 away &&
        (cd away && "$halcyon" integrate s.h5 -j ../list.json -d cpu@threads=1 -q -o ../away.dat) || return 1
    grep -v '^#' list.dat >a
    grep -v '^#' away.dat >b
    cmp a b
}
check '--monitor: a text, saved in a configuration' saves_monitor
check '--monitor: two devices, the same' sh -c \
    "'$halcyon' integrate s.h5 -p s.poni -q -n 50 -d cpu@threads=1,cpu@threads=1 --batch 1 -o two.dat \
        --monitor monitor.h5$counts && grep -v '^#' two.dat >a && grep -v '^#' m.dat >b && cmp a b"
check '--monitor and --normalization' integrate -n 50 -o both.dat --monitor monitor.h5$counts --normalization 2
check '... multiply' ratio plain.dat 3 both.dat 3 0.125
check '--monitor: a zero is a failed frame' refused 1 'frame 1 failed: .*normalization is 0' \
    integrate -n 50 -o zero.dat --monitor zero.h5$counts
check '... the others are there' equals "`grep -c '^# frame [0-9]*$' zero.dat`" 5
check '--monitor: too short' refused 1 'short.h5.* has 3 values, s.h5 has 6 frames' \
    integrate -o x.dat --monitor short.h5$counts
check '--monitor: no such file' refused 1 'none.h5' integrate -o x.dat --monitor none.h5::/x
check '--monitor: no such dataset' refused 1 'no numbers at /entry/monitor' integrate -o x.dat --monitor /entry/monitor
check '... looked for in the stack' grep -q 's.h5' refused.err
check '--monitor: images are no list' refused 1 'where a list is wanted' integrate -o x.dat --monitor /entry/data/data

# --- Sums ---
check '--sum' integrate -n 50 -o sum.dat --sum 4
check '--sum: two curves, the last of what is left' equals "`grep -c '^# frame [0-9]*$' sum.dat`" 2
check '--sum: the file says how it was made' grep -q '^# Configuration: halcyon integrate s.h5 .* --sum 4$' sum.dat
check '--sum: numbered by their first frames' sh -c "grep -q '^# frame 0$' sum.dat && grep -q '^# frame 4$' sum.dat"
check '--sum: all' integrate -n 50 -o all.dat --sum 6
"$halcyon" sum s.h5 -q -o all.h5
check '--sum: as the sum of the images' "$halcyon" integrate all.h5 -p s.poni -d cpu@threads=1 -q -n 50 -o image.dat
check '... it is' ratio image.dat 1 all.dat 1 1
check '--sum: with errors' integrate -n 50 -o poisson.dat --sum 6 --error-model poisson
check '... as those of images' "$halcyon" integrate all.h5 -p s.poni -q -n 50 -o image.dat --error-model poisson
rows image.dat | awk '{ print $3 }' >a
rows poisson.dat | awk '{ print $3 }' >b
check '... which have them' sh -c \
    "paste a b | awk '{ d = \$1 - \$2; if (d < 0) d = -d; if (d > 0.05 * \$1) exit 1; all += \$1 } END { exit !all }'"
# Of few counts a frame most pixels are zeros, whose least variance of one may count once a sum, not once a frame.
"$halcyon" simulate low.h5 --shape 128x128 --frames 200 --counts 0.01 --seed 3 -q
"$halcyon" sum low.h5 -q -o lows.h5
for split in no bbox; do
    low() { "$halcyon" integrate "$@" -p low.poni -d cpu@threads=1 -q -n 50 --split $split --error-model poisson; }
    check "--sum: few counts, split $split" low low.h5 -o parts.dat --sum 200
    check '... and their image' low lows.h5 -o whole.dat
    rows whole.dat >a
    rows parts.dat >b
    check '... has such errors' sh -c "paste a b | awk '{ r = \$6 / \$3; if (r < 0.75 || r > 1.001) exit 1
        if (\$2 > 4 && r < 0.95) exit 1 } END { exit NR != 50 }'"
    check '--average: few counts' low low.h5 -o mean.dat --average 200
    check '... the last of them has those of the sum' sh -c "tail -n 50 mean.dat | paste b - | awk '
        { d = 200 * \$6 - \$3; if (d < 0) d = -d; if (d > 1e-5 * \$3) exit 1 } END { exit NR != 50 }'"
done
"$halcyon" integrate low.h5 -p low.poni -d cpu@threads=1 -o x.dat --sum 200 --percentile 50 --error-model poisson 2>said
check '--sum: with a filter the summary says what errors are' grep -q 'variance of 1 at least.*sigma is too large' said
"$halcyon" integrate low.h5 -p low.poni -d cpu@threads=1 -o x.dat --sum 200 --error-model poisson 2>said
check '... without it there is nothing to say' not grep -q 'sigma is too large' said
check '--sum and --monitor' integrate -n 50 -o divided.dat --sum 6 --monitor monitor.h5$counts
check '... by all counts' ratio all.dat 1 divided.dat 1 `awk 'BEGIN { print 1 / 63 }'`
check '--sum and --monitor: one zero of several does no harm' integrate -n 50 -o x.dat --sum 3 --monitor zero.h5$counts
numbers zeros.h5 0 0 1 1 1 1
check '--sum and --monitor: nothing but zeros' refused 1 'the sum of 2 frames from 0 failed' \
    integrate -n 50 -o x.dat --sum 2 --monitor zeros.h5$counts
check '... is a failed curve' grep -q '^# frame 0 failed' x.dat
# listed NUMBERS OPTION...: as --json has them of such a run.
listed()
{
    numbers=$1
    shift
    integrate -n 50 -o x.dat --monitor zeros.h5$counts --json "$@" 2>said | tr -d ' \n' |
        grep -qF "\"failed\":[$numbers],"
}
check '... which --json lists' listed 0 --sum 2
check '... as it does those of averages' listed 0,1 --average 2

# --- Running averages ---
# block FILE FRAME: the rows of the curve of that number.
block() { awk -v f="$2" '/^# frame/ { on = $3 == f && NF == 3; next } /^#/ { next } on && NF' "$1"; }
# alike A FRAME B FRAME X: the second curve and its errors are X times the first's, to the digits printed.
alike()
{
    block "$1" "$2" >alike.a
    block "$3" "$4" >alike.b
    paste alike.a alike.b | awk -v x="$5" 'function far(a, b) { d = a - b; if (d < 0) d = -d; return d > 3e-6 * (b + 1e-9) }
        far($2 * x, $5) || far($3 * x, $6) { exit 1 } END { if (NR != 50) exit 1 }'
}
check '--average' integrate -n 50 -o mean.dat --average 3 --error-model poisson
check '--average: a curve for each frame' equals "`grep -c '^# frame [0-9]*$' mean.dat`" 6
integrate -n 50 -o threes.dat --sum 3 --error-model poisson
check '--average: of the last three frames' alike mean.dat 2 threes.dat 0 3
check '--average: ... and of the next' alike mean.dat 5 threes.dat 3 3
integrate -n 50 -o twos.dat --sum 2 --error-model poisson
check '--average: of as many as there are' alike mean.dat 1 twos.dat 0 2
integrate -n 50 -o ones.dat --error-model poisson
check '--average: the first one is alone' ratio mean.dat 1 ones.dat 1 1
integrate -n 50 -o mean.mon.dat --average 3 --monitor monitor.h5$counts --error-model poisson
integrate -n 50 -o threes.mon.dat --sum 3 --monitor monitor.h5$counts --error-model poisson
check '--average and --monitor: as their sum' alike mean.mon.dat 2 threes.mon.dat 0 1
check '--average of two processes' sh -c "'$halcyon' integrate s.h5 -p s.poni -n 50 --processes 2 -o two.dat \
    --average 3 --error-model poisson -q && grep -v '^#' two.dat >a && grep -v '^#' mean.dat >b && cmp a b"
check '--average 1' sh -c "'$halcyon' integrate s.h5 -p s.poni -n 50 -o one.dat --average 1 --error-model poisson -q \
    && grep -v '^#' one.dat >a && grep -v '^#' ones.dat >b && cmp a b"
"$halcyon" decompress s.h5 -o f_%d.npy -q
rm f_1.npy
check '--average: a frame that fails' refused 1 'frame 1 failed' "$halcyon" integrate f_%d.npy -p s.poni -n 50 -o hole.dat \
    --average 3 --error-model poisson -q
check '... is left out of the others' sh -c "grep '^# frame 1 failed' hole.dat"
block hole.dat 2 >hole.rows
block ones.dat 0 >first.rows
block ones.dat 2 >third.rows
check '... whose mean is of two' sh -c "paste hole.rows first.rows third.rows | awk '
    { d = 2 * \$2 - \$5 - \$8; if (d < 0) d = -d; if (d > 3e-6 * (\$5 + \$8)) exit 1 } END { if (NR != 50) exit 1 }'"
check '--average and --sum' refused 2 'one or the other' "$halcyon" integrate s.h5 -p s.poni --average 2 --sum 2
check '--average and --shard' refused 2 'leave --shard' "$halcyon" integrate s.h5 -p s.poni --average 2 --shard 0/2

printf '%s\n' 1 2 4 8 16 0 >end0.txt
# --- Monitors in other files, and that grow ---
same() { rows "$1" >same.a; rows "$2" >same.b; [ -s same.a ] && cmp same.a same.b; }
printf '%s\n' '# counts' 1 2 4 ' 8.0 # four' '' 1.6e1 32 >m.txt
printf '%s\n' '# time, counts' '0.1, 1' '0.2, 2' '0.3, 4' '0.4, 8' '0.5, 16' '0.6, 32' >two.csv
check '--monitor FILE.txt' integrate -n 50 -o text.dat --monitor m.txt
check '... the same as from HDF5' same m.dat text.dat
check '--monitor FILE.csv::2' integrate -n 50 -o text.dat --monitor two.csv::2
check '... the same' same m.dat text.dat
check '--monitor FILE.csv: which column?' refused 1 'two.csv:2: there are 2 columns: name one' \
    integrate -o x.dat --monitor two.csv
numbers x.h5 1 2 4 8 16 32 # numbers.npy is left
cp numbers.npy m.npy
check '--monitor FILE.npy' integrate -n 50 -o npy.dat --monitor m.npy
check '... the same' same m.dat npy.dat
check '--monitor FILE.h5 alone' refused 1 'name a dataset of it, as monitor.h5::/path' \
    integrate -o x.dat --monitor monitor.h5
# follows MONITOR WRITER: 8 is the last number when the run begins, then the writer writes the others.
follows()
{
    (sleep 0.3; eval "$2") &
    integrate -n 50 -o grown.dat --monitor "$1" --follow --follow-timeout 20 --frames :6 || return 1
    wait
    same m.dat grown.dat
}
printf '%s\n' 1 2 4 8 >grow.txt
check '--monitor and --follow: a text, line by line' follows grow.txt \
    'printf 1 >>grow.txt; sleep 0.2; printf "6\n" >>grow.txt; sleep 0.1; echo 32 >>grow.txt'
numbers grow.h5 1 2 4 8 0 0
check '... a dataset of zeros that are filled' follows grow.h5$counts 'cp monitor.h5 grow.h5.new; mv grow.h5.new grow.h5'
check '... a file that comes later' follows late.txt 'cp m.txt late.new; mv late.new late.txt'
check '... a number that does not come' refused 1 'frame 3 came, but no monitor for it within 0.2 s' \
    integrate -n 50 -o x.dat --monitor short.h5$counts --follow --follow-timeout 0.2
check '... what came is written' equals "`grep -c '^# frame [0-9]*$' x.dat`" 3
check '... a zero in its end is one' refused 1 'frame 5 failed: .*normalization is 0' \
    integrate -n 50 -o x.dat --monitor end0.txt --follow --follow-timeout 0.2 --frames :6
check '--sum and --follow' integrate -n 50 -o follow.dat --sum 4 --follow --follow-timeout 0.2 --frames 0:6
check '... the same sums' sh -c "grep -v '^#' sum.dat >a; grep -v '^#' follow.dat >b; cmp a b"
check '--sum 0' refused 2 '--sum' integrate -o x.dat --sum 0
size=`wc -c <s.h5`
cp s.h5 damaged.h5
dd if=/dev/zero of=damaged.h5 bs=512 seek=`expr $size '*' 5 / 12 / 512` count=16 conv=notrunc 2>/dev/null
check '--sum: a damaged frame' refused 1 'frame 2 failed' "$halcyon" integrate damaged.h5 -p s.poni -q -n 50 -o x.dat --sum 2
check '... its sum has failed' grep -q '^# frame 2 failed: of its frames 2 failed' x.dat
check '... the others are there' equals "`grep -c '^# frame [0-9]*$' x.dat`" 2

# --- Regions ---
# An image of 4 x 6 bytes: 0 to 23, one of them the top value, one the value below it.
numbers r.h5 0 1 2 3 4 5 6 7 8 9 10 255 12 13 14 15 16 17 254 19 20 21 22 23
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 4, 6), }"
    for k in 1 2; do tail -c 24 numbers.npy; done
} >r.npy
roi() { "$halcyon" sum r.npy -q -d cpu@threads=1 "$@"; }
check '--roi' roi --roi 0,0,2,2 -o roi.dat
check '--roi: sum, largest, counted, invalid' equals "`rows roi.dat | tr -s ' '`" ' 0 14 7 4 0
 1 14 7 4 0'
check '--roi: several, with invalid pixels' roi --roi 0,0,6,4,5,1,6,2,2,3,4,4 -o several.dat --frames 1
check '... all of it; nothing valid; a row' equals "`rows several.dat | tr -s ' '`" ' 1 247 23 22 2 0 0 0 1 41 21 2 0'
check '... the header says where' grep -q '^# Region 3: columns 2 to 3, rows 3 to 3$' several.dat
roi --roi 0,0,2,2 -o - >stdout.dat
check '--roi -o -' cmp stdout.dat roi.dat
check '--roi: NumPy' roi --roi 0,0,2,2,0,0,1,1 -o roi.npy
check '... [frames][regions][4] of 64 bits' sh -c "head -c 128 roi.npy | grep -a -q \"u8.*(2, 2, 4)\""
check '... with these numbers' equals "`tail -c 128 roi.npy | od -An -v -t u8 | tr -s ' \n' ' '`" \
    ' 14 7 4 0 0 0 1 0 14 7 4 0 0 0 1 0 '
check '--roi: HDF5' roi --roi 0,0,2,2 -o roi.h5
check '... is read again' sh -c "'$halcyon' decompress roi.h5 --dataset /entry/roi/data -q -o again.npy && tail -c 64 again.npy |
    od -An -v -t u8 | tr -s ' \n' ' ' | grep -q '^ 14 7 4 0 14 7 4 0 $'"
check '--roi: half a region' refused 2 'X0,Y0,X1,Y1' roi --roi 0,0,2 -o x.dat
check '--roi: nothing' refused 2 'X0,Y0,X1,Y1' roi --roi 2,0,2,2 -o x.dat
check '--roi: beyond the frame' refused 1 '6 columns, 4 rows' roi --roi 0,0,7,4 -o x.dat
check '--roi and --max' refused 2 'leave --max' roi --roi 0,0,2,2 --max -o x.dat
check '--roi: a damaged frame' sh -c "'$halcyon' sum damaged.h5 -q --roi 0,0,9,9 -o d.dat; test \$? -eq 1"
check '... is said' grep -q '^# frame 2 failed' d.dat
check '... the others are there' equals "`rows d.dat | wc -l | tr -d ' '`" 5
echo "1..$n"
exit $failed
