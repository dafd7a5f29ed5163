# halcyon compare from outside: each figure is there or says why not, a device that fails is a line, and the page is whole,
# in a browser too where there is one.
test_name=compare
. "${top_srcdir:-.}/tests/cli.sh"

# Devices on a machine without HDF5's stacks would have nothing to do, and reports are jansson's.
if "$halcyon" simulate s.h5 --shape 140x160 -n 12 --seed 5 -q >simulate.log 2>&1; then :; else
    echo '1..0 # SKIP built without HDF5'
    exit 0
fi
if "$halcyon" compare none.json 2>&1 | grep -q 'built without jansson'; then
    echo '1..0 # SKIP built without jansson'
    exit 0
fi
threads_elsewhere
compare() { "$halcyon" compare -q "$@"; }
value() { "$json" "$1" <"$2"; }
# number KEY FILE LEAST MOST: the value lies within.
number()
{
    got=`value "$1" "$2"`
    echo "$1 is $got"
    [ -n "$got" ] && echo "$got $3 $4" | awk '{ exit !($1 != "null" && $1 + 0 >= $2 && $1 + 0 <= $3) }'
}

# --- A report ---
odd='nosuch:0<b>&"x'
check 'compare: a report' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 100 --rounds 2 --json -o a.html \
    -d 'cpu@threads=1,cpu@simd=portable,null:0,$odd' >a.json"
check 'its head' equals "`value report a.json` `value version a.json`" 'halcyoncompare 1'
check 'the machine' number machine.processors_online a.json 1 100000
check 'the stack' equals "`value stack.frames_used a.json` `value stack.bins a.json`" '12 100'
for d in 0 1; do
    check "device $d: the reference's bits" equals "`value devices.$d.result.equal a.json`" true
    check "device $d: no failed frame" equals "`value devices.$d.failed_frames a.json`" 0
    check "device $d: a rate" number devices.$d.frames_per_s a.json 0.001 1e9
    check "device $d: from a round of the stack's frames" number devices.$d.frames_of_a_round a.json 12 1e12
    check "device $d: whose runs take a quarter of a second at least" sh -c "f=\`'$json' devices.$d.frames_of_a_round <a.json\`
        r=\`'$json' devices.$d.runs_of_a_round <a.json\` l=\`'$json' devices.$d.rounds_frames_per_s.1 <a.json\`
        echo \$f \$r \$l | awk '{ exit !(\$1 == 12 * \$2 && \$1 / \$3 > 0.249) }'"
    check "device $d: its limit" number devices.$d.limits.kernels_frames_per_s a.json 0.001 1e12
    check "device $d: memory's bandwidth" number devices.$d.limits.memory_gb_per_s a.json 0.01 1e5
    check "device $d: latency" number devices.$d.latency_ms.p50 a.json 1e-6 1e5
    check "device $d: memory of the host" number devices.$d.memory.host_bytes a.json 1e6 1e12
    check "device $d: it stays in its place" equals "`value devices.$d.time_ms.copy_back a.json`" null
    for stage in read parse decode_and_integrate divide write; do
        check "device $d: $stage" number devices.$d.time_ms.$stage a.json 1e-9 1e5
    done
done
check 'a device without kernels: its reason' sh -c "'$json' devices.2.error <a.json | grep -q 'kernel'"
check 'a device that is none: its reason' sh -c "'$json' devices.3.error <a.json | grep -q nosuch"
check '... and its name as it was given' equals "`value devices.3.device a.json`" 'nosuch:0<b>&\"x'
check 'a virtual device is marked' sh -c "'$json' devices.2.virtual <a.json | grep -q virtual"
check 'all together: the bits' equals "`value together.result.equal a.json`" true
check 'all together against the sum' sh -c "
    s=\`'$json' together.sum_of_parts_frames_per_s <a.json\` r=\`'$json' together.frames_per_s <a.json\`
    q=\`'$json' together.of_the_sum <a.json\`
    a=\`'$json' devices.0.frames_per_s <a.json\` b=\`'$json' devices.1.frames_per_s <a.json\`
    echo \$s \$r \$q \$a \$b | awk '{ d = \$2 / \$1 - \$3; e = (\$4 + \$5) / \$1 - 1
        exit !(d < 1e-6 && d > -1e-6 && e < 1e-6 && e > -1e-6) }'"
check 'devices that share the processors: JSON' sh -c "'$json' together.sharing_processors <a.json | grep -q 'cpu@threads=1, cpu@simd'
    s=\`'$json' together.sum_of_shares_frames_per_s <a.json\` r=\`'$json' together.frames_per_s <a.json\`
    q=\`'$json' together.of_the_shares <a.json\`
    a=\`'$json' devices.0.frames_per_s <a.json\` b=\`'$json' devices.1.frames_per_s <a.json\`
    echo \$s \$r \$q \$a \$b | awk '{ d = \$2 / \$1 - \$3; e = (\$4 > \$5 ? \$4 : \$5) / \$1 - 1
        exit !(d < 1e-6 && d > -1e-6 && e < 1e-6 && e > -1e-6) }'"
check '... page' grep -q 'of the sum of the parts, which share the processors: .*cpu@threads=1' a.html
check '... table' sh -c "'$halcyon' compare a.json >again.txt; grep -q 'with the fastest sharer.*same processors: cpu@threads=1' again.txt"
check 'a timeline of all' sh -c "'$json' together.timeline.spans.0.name <a.json | grep -q ."
check 'energy: figures, or why not' sh -c "
    [ -n \"\`'$json' devices.0.energy.sources.0.joules_per_frame <a.json\`\" ] ||
    '$json' devices.0.energy.not_readable <a.json | grep -q ."
check 'nothing is left behind' sh -c "mkdir tmp; TMPDIR=tmp '$halcyon' compare -q s.h5 -p s.poni -d cpu@threads=1 -n 50 \
    --rounds 1 --frames 4 >table && [ -z \"\`ls -A tmp\`\" ]"
check 'the table' grep -q "^cpu@threads=1 .*the reference's bits" table
check 'one device has no sum' sh -c '! grep -q "all together" table'

# A damaged frame fails on every device, and is told.
cp s.h5 damaged.h5
dd if=/dev/zero of=damaged.h5 bs=1 seek=`expr \`wc -c <s.h5\` - 6000` count=4000 conv=notrunc 2>dd.log
check 'a damaged frame' sh -c "'$halcyon' compare -q damaged.h5 -p s.poni -d cpu@threads=1 -n 50 --rounds 1 --json >d.json"
check '... is counted' number devices.0.failed_frames d.json 1 12
check '... and the others are held against the reference' equals "`value devices.0.result.equal d.json`" true

# --- What has to be known before figures are believed ---
# of LOAD EFFICIENCY ROUND: a.json as it would be on such a machine; the first device is cpu@threads=1.
of()
{
    sed -e "s/\"load_before\": [^,]*/\"load_before\": $1/" -e "s/\"efficiency\": [0-9.e+-]*/\"efficiency\": $2/" \
        -e "s/\"frames_per_s\": [0-9.e+-]*/\"frames_per_s\": 100.0/" -e "s/\"frames_of_a_round\": [0-9]*/\"frames_of_a_round\": $3/" \
        -e 's/"runs_of_a_round": [0-9]*/"runs_of_a_round": 1/' \
        -e "s/\"processors_online\": [0-9]*/\"processors_online\": 2/" a.json
}
of 0.1 0.9 30 >idle.json; of 3.5 0.9 30 >busy.json; of 0.1 1.3 30 >passed.json; of 0.1 0.9 1 >short.json
for kind in idle busy passed short; do
    check "$kind: a table and a page" sh -c "'$halcyon' compare $kind.json -o $kind.html >$kind.txt"
done
check 'an idle machine and long rounds: no caveat' sh -c "! grep -q '^!' idle.txt && ! grep -q '<p class=.caveat' idle.html"
check 'a busy machine is told' sh -c "grep -q '^! the machine was not idle (load 3.50 on 2 processors' busy.txt &&
    grep -q 'class=.caveat.>the machine was not idle' busy.html"
check 'a limit that was passed is told' sh -c "grep -q '^! cpu@threads=1: 130 % of its limit' passed.txt"
check 'rounds that are too short are told' sh -c "grep -q '^! cpu@threads=1: its runs had 1 frame and took 10 ms' short.txt &&
    grep -q 'its runs had 1 frame' short.html"
sed -e 's/"bins": 100/"bins": 200/' -e 's/"plan": "[^"]*"/"plan": "x"/' idle.json >bins.json
sed 's/"plan": "[^"]*"/"plan": "x"/' idle.json >plan.json
check 'reports of different work are told' sh -c "'$halcyon' compare idle.json bins.json -o differ.html >differ.txt &&
    grep -q '^! A and B did not do the same work.*: bins 100 and 200\$' differ.txt && grep -q 'did not do the same work' differ.html"
check '... of different geometries' sh -c "'$halcyon' compare idle.json plan.json | grep -q '^! A and B did not.*plans .* and x'"
check 'reports of the same work are not' sh -c "'$halcyon' compare idle.json idle.json >same.txt && ! grep -q '^!' same.txt"
check 'long names stay in their cards' grep -q '[.]card{overflow-wrap:anywhere' a.html

# --- What ends a device ends its line alone ---
check 'a device that is lost' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --json \
    -d cpu@threads=1@lose-launch=1,cpu@threads=1 >l.json"
check '... has its reason' sh -c "'$json' devices.0.error <l.json | grep -q ."
check '... and the other its figures' number devices.1.frames_per_s l.json 0.001 1e9
# It takes 20 s a frame whatever else the machine does; the reference takes a moment.
check 'a device over its limit' sh -c "'$halcyon' compare -q s.h5 -p s.poni --limit 8 --frames 4 --json \
    -d null:0@kernels=noop@delay-us=20000000 >t.json && '$json' devices.0.error <t.json | grep -q -e --limit"

check 'an interrupted run leaves nothing' sh -c "
    '$halcyon' simulate big.h5 --shape 1062x1028 -n 4 -q; mkdir -p tmp; TMPDIR=tmp '$halcyon' compare -q big.h5 -p big.poni --rounds 1000 -d cpu@threads=1@simd=portable --frames 4 \
        -o never.html >i.out 2>i.err & sleep 2; kill -TERM \$!; wait \$!
    test \$? = 1 && grep -q interrupted i.err && [ -z \"\`ls -A tmp\`\" ] && [ ! -e never.html ]"

# Whatever ends it, as a second signal does that comes before the first has been heeded.
if command -v setsid >/dev/null; then
    check '... nor does one that is ended outright' sh -c "
        TMPDIR=tmp setsid '$halcyon' compare -q big.h5 -p big.poni --rounds 1000 -d cpu@threads=1@simd=portable --frames 4 >i.out 2>&1 &
        until [ -n \"\`ls -A tmp\`\" ]; do kill -0 \$! || exit 1; sleep 0.05; done
        kill -KILL \$!; kill -TERM -\$!; wait
        i=0; until [ -z \"\`ls -A tmp\`\" ]; do i=\`expr \$i + 1\`; [ \$i -lt 200 ] || exit 1; sleep 0.05; done"
    check 'a hangup that is ignored, as under nohup, ends no device either' sh -c "
        trap '' HUP; setsid '$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 -d cpu@threads=1 --json >hup.json &
        while kill -0 \$!; do kill -HUP -\$! 2>hup.err; sleep 0.02; done 2>hup.err
        wait \$! && test -n \"\`'$json' devices.0.frames_per_s <hup.json\`\""
else
    skip 'no setsid here: a run that is ended outright'
fi
check 'a size that cannot be made costs its figures alone' sh -c "ulimit -f 300
    TMPDIR=tmp '$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --sizes -d cpu@threads=1 --json >room.json 2>room.err &&
    grep -q 'Eiger500k.h5: writing failed' room.err && [ -z \"\`ls -A tmp\`\" ]"
check '... the others are in the report' number devices.0.frames_per_s room.json 0.001 1e9
mkdir many && "$halcyon" decompress s.h5 -o many/f_%02d.npy --frames 0:4 -q
check 'many files are one stack' sh -c "'$halcyon' compare -q 'many/*.npy' -p s.poni -n 50 --rounds 1 --json -d cpu@threads=1 >many.json"
check '... of all their frames' equals "`value stack.frames many.json` `value devices.0.failed_frames many.json`" '4 0'

# Counters of energy as the kernel shows them, in a /sys of our own: one package that begins anew every 5 J, what is inside of
# it, and the same by another way.
cat >counters <<'EOF'
mount -t tmpfs none /sys/class || exit 77
cd /sys/class && mkdir -p powercap/intel-rapl:0 powercap/intel-rapl:0:0 powercap/intel-rapl-mmio:0 && cd powercap/intel-rapl:0 || exit 77
echo package-0 >name
echo 5000000 >max_energy_range_uj
echo 4000000 >energy_uj
cp * ../intel-rapl:0:0 && cp * ../intel-rapl-mmio:0
i=0
while [ $i -lt 600 ]; do
    i=`expr $i + 1`
    echo `expr \( 4000000 + $i \* 730001 \) % 5000000` >next && mv next energy_uj
    sleep 0.05
done &
counting=$!
cd "$1" && "$2" compare -q s.h5 -p s.poni --rounds 1 -n 50 -d cpu@threads=1 --json >e.json
status=$?
kill $counting
exit $status
EOF
if unshare -m sh -c 'mount -t tmpfs none /sys/class' 2>/dev/null; then
    check 'energy: the counters of a package' unshare -m sh counters "`pwd`" "$halcyon"
    check '... by its name' equals "`value devices.0.energy.sources.0.source e.json`" 'RAPLpackage-0'
    check '... alone' equals "`value devices.0.energy.sources.1.source e.json`" ''
    check '... its joules' number devices.0.energy.sources.0.watts e.json 1e-6 5
    check '... for each frame' number devices.0.energy.sources.0.joules_per_frame e.json 1e-12 5
else
    skip 'no file system of our own can be mounted here'
fi

# Figures of no hardware: the skeleton's kernels compute nothing, as fast as they like.
check 'virtual figures' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 -d null:0@kernels=noop,cpu@threads=1 \
    --json -o v.html >v.json && '$halcyon' compare v.json >v.txt"
check '... are figures' number devices.0.frames_per_s v.json 0.001 1e12
check '... not the reference' equals "`value devices.0.result.equal v.json`" false
check '... marked in the JSON, all together too' sh -c "'$json' devices.0.virtual <v.json | grep -q virtual &&
    '$json' together.virtual <v.json | grep -q virtual"
check '... marked in the table' sh -c "grep -q '^null:0@kernels=noop *\* ' v.txt && grep -q '^all together *\* ' v.txt &&
    grep -q '^[*] virtual' v.txt && ! grep -q '^cpu@threads=1 *\*' v.txt"
check '... marked in the pictures' sh -c "grep -q '>null:0@kernels=noop (virtual)<' v.html && grep -q 'modelled' v.html"
# A virtual device's rate is no length that others have to fit beside.
awk '/"frames_per_s":/ { sub(/: [0-9.e+-]*/, n++ ? ": 50.0" : ": 1e9") } { print }' v.json >far.json
check '... whose bars end at the edge' sh -c "'$halcyon' compare far.json -o far.html >far.txt &&
    grep -q '>1e+09/s [^<]' far.html && grep -q '>50/s<' far.html"
check '... and not the fastest device' sh -c "grep -q 'the fastest device: cpu' v.html"

# --- The page ---
# whole FILE: nothing is loaded, nothing runs, and no text is markup.
whole()
{
    if grep -iE '(src|href)=|url\(|@import|<script|<link|<iframe|<object|https?:' "$1"; then
        echo 'a reference to something outside'
        return 1
    fi
    head -c 15 "$1" | grep -q '<!DOCTYPE html>' && tail -c 30 "$1" | grep -q '</html>' &&
        grep -q 'prefers-color-scheme:dark' "$1" && grep -q '@media print' "$1"
}
check 'the page: nothing from outside' whole a.html
check 'the page: names are text' sh -c "grep -q 'nosuch:0&#60;b&#62;&#38;&#34;x' a.html && ! grep -q 'nosuch:0<b>' a.html"
check 'the page: virtual figures are marked' grep -q 'class="tag">virtual' a.html
check 'the page: its pictures' sh -c "test \`grep -c '<svg ' a.html\` -ge 5"

# --- Two reports ---
sed 's/"frames_per_s": [0-9.e+]*/"frames_per_s": 1.0/' a.json >b.json
check 'two reports: a table' sh -c "'$halcyon' compare a.json b.json >two && grep -q 'B beside A' two"
check 'two reports: a page' compare a.json b.json -o two.html
check '... with nothing from outside' whole two.html
check '... and both of each picture' sh -c "test \`grep -c 'Frames a second' two.html\` = 2"
check 'one report again: the page it had' sh -c "'$halcyon' compare a.json -o again.html >again && cmp a.html again.html"
for keys in '[]' '{}' '{"report": "halcyon compare"}' '{"report": "halcyon compare", "version": 2}' 'x'; do
    echo "$keys" >wrong.json
    check "no report: $keys" refused 1 'wrong.json' compare wrong.json
done
# Values of other kinds than a report's are not there, and nothing else.
echo '{"report": "halcyon compare", "version": 1, "devices": [1, {"device": {}, "frames_per_s": "x", "timeline": {"spans": [2]},
    "latency_ms": {"edges_ms": [0, "y"], "counts": 3, "max": -1}, "result": {"per_bin": ["z", -1], "largest": 1e999}},
    {"device": "<script>", "frames_per_s": 1e308, "latency_ms": {"edges_ms": [1e-300], "max": 1e300},
    "limits": {"frames_per_s": -5}}], "stack": {"bins": -3, "raw_bytes": 0, "stored_bytes": 0}, "together": [], "sizes": [7],
    "nufft": {"devices": [{"cells": [{"mpoints_per_s": 0}, {"mpoints_per_s": 1e300}]}]}}' | sed 's/1e999/1e99/' >odd.json
check 'a report of odd values' compare odd.json -o odd.html
check '... is a page' whole odd.html
# Of what fails on the way its figures are there, and why there are no more; a scale names each size that was measured once.
echo '{"report": "halcyon compare", "version": 1, "devices": [{"device": "x", "frames_per_s": 1.6e6}, {"device": "y", "frames_per_s": 1e5}],
    "sizes": [{"device": "x", "pixels": 5e5, "frames_per_s": 9}, {"device": "y", "pixels": 5e5, "frames_per_s": 8},
        {"device": "x", "detector": "D", "pixels": 4e6, "error": "too large"}, {"device": "y", "pixels": 2e6, "frames_per_s": 3}],
    "nufft": {"devices": [{"device": "x", "error": "went away", "cells": [{"cell": "c1", "mpoints_per_s": 1}]},
        {"device": "y", "cells": [{"cell": "c1", "mpoints_per_s": 2}, {"cell": "c2", "mpoints_per_s": 3}]}]}}' >part.json
check 'a report of parts' sh -c "'$halcyon' compare part.json -o part.html >part.txt"
check '... transforms of both devices, each row by its name' sh -c "sed -n '/Non-uniform/,/figcaption/p' part.html >part.svg &&
    test \`grep -c '<circle' part.svg\` = 3 && test \`grep -c '>c[12]<' part.svg\` = 2 && grep -q 'x: went away' part.svg"
check '... sizes' sh -c "sed -n '/Sizes of/,/figcaption/p' part.html >sizes.svg && grep -q 'x, D: too large' sizes.svg &&
    test \`grep -c 'mark mid' sizes.svg\` = 2 && grep -q '^x  *4  no figures: too large' part.txt"
check '... marks that are what they stand at' sh -c "grep -q '>1e+06<' part.html && grep -q '>1.5e+06<' part.html"
# What a terminal would obey is printed as ?, and what is equal in its numbers alone is not said to have the bits.
echo '{"report": "halcyon compare", "version": 1, "date": "D\u001b[31m", "stack": {"bins": 2}, "devices": [{"device": "d\u001b[31m",
    "frames_per_s": 1, "notes": ["n"], "result": {"equal": false, "largest": 0, "median": 0, "per_bin": [0, 0]}}],
    "together": {"frames_per_s": 1, "sharing_processors": "s\u001b[31m"}, "pyfai": {"version": "v\u001b[31m", "error": "e"},
    "nufft": {"devices": [{"device": "t\u001b[31m", "cells": [{"cell": "c\u001b[31m"}]}]}}' >coloured.json
check 'words of a report are no commands of a terminal' sh -c "'$halcyon' compare coloured.json coloured.json >coloured.txt &&
    ! grep -q '`printf '\033'`' coloured.txt && test \`grep -o '?\[31m' coloured.txt | wc -l\` -ge 12"
# In pictures and caveats long names are cut, between characters; in the table each of these takes one place.
wide=ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ
sed "s/\"cpu@threads=1\"/\"$wide\"/" passed.json >wide.json
check 'names are cut between characters' sh -c "'$halcyon' compare wide.json -o wide.html >wide.txt && grep -q '>ＡＢＣＤＥＦＧＨＩＪ<' wide.html &&
    grep -q '^$wide  *100' wide.txt && grep -q '^! ＡＢＣ.*ＴＵ?: 130 %' wide.txt"
check 'other bits of the same intensities' sh -c "'$halcyon' compare coloured.json -o coloured.html >coloured.txt &&
    ! grep -q 'None: every device\|not drawn has' coloured.html && grep -q 'None of any intensity' coloured.html"
check '... and the same bits' sh -c "'$halcyon' compare l.json -o l.html >l.txt && grep -q 'None: every device' l.html"
if [ -w /dev/full ]; then
    ln -s /dev/full full.html
    check 'a page that finds no room: the table is there' sh -c "'$halcyon' compare a.json -o full.html >full.txt 2>why; test \$? = 1 &&
        grep -q 'No space' why && cmp full.txt again"
else
    skip 'no /dev/full'
fi
check 'a report is not measured again' refused 2 'as it was measured' compare a.json --frames 3
check '... with another splitting' refused 2 'as it was measured' compare a.json --split full
check '... or other errors' refused 2 'as it was measured' compare a.json --error-model poisson
check 'no such report' refused 1 'none.json: No such file or directory$' compare none.json
check '... of a long name' refused 1 'none.json: No such file or directory$' compare `printf %0200d 0`/none.json
check 'no stack' refused 1 'none.h5' compare none.h5 -p s.poni
check 'no geometry file' refused 1 'none.poni' compare s.h5 -p none.poni
for list in ',cpu' 'cpu,' 'cpu,,cpu'; do
    check "an empty device: $list" refused 2 'an empty device string' compare s.h5 -p s.poni -d "$list"
done
check 'two stacks' refused 2 'A.json B.json' compare s.h5 s.h5
check 'no page' refused 2 'FILE.html' compare s.h5 -p s.poni -o report.txt
ln -s a.json link.html
check 'a report is not written over' refused 1 'write over it' compare a.json -o link.html

# --- Transforms, sizes, pyFAI ---
check '--nufft' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --frames 2 -d cpu@threads=2 --nufft --cells 2d1-1e-03 -m 500 --json \
    -o n.html >n.json"
if "$json" nufft.devices.0.cells.0.cell <n.json 2>/dev/null | grep -q .; then
    check '--nufft: a rate' number nufft.devices.0.cells.0.mpoints_per_s n.json 1e-6 1e6
    check '--nufft: an error' number nufft.devices.0.cells.0.error n.json 0 1e-3
    check '--nufft: a picture' grep -q 'Non-uniform Fourier' n.html
else
    skip 'no transforms in this build'
fi
check '--nufft: a cell that is none is told before anything is measured' sh -c "
    '$halcyon' compare -q s.h5 -p s.poni -d cpu@threads=1 --nufft --cells 9d9 >none.txt 2>why; test \$? = 2 && grep -q 'no cell.*9d9' why"
check '--nufft: and a library' sh -c "
    '$halcyon' compare -q s.h5 -p s.poni -d cpu@threads=1 --nufft -f ./nosuch.so >none.txt 2>why; test \$? = 1 &&
    grep -q 'FINUFFT.*nosuch.so' why && ! grep -q frames/s none.txt"
check '--nufft: a virtual device is refused in words' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --frames 2 \
    -d null@kernels=noop --nufft --cells 2d1-1e-03 -m 500 --json >nn.json
    '$json' nufft.devices.0.error <nn.json | grep -q -e 'is *virtual' -e 'no *cell' -e 'built *without'"
check '-f without --nufft' refused 2 'nufft' compare s.h5 -p s.poni -f ./nosuch.so
check '--sizes' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --frames 1 -d cpu@threads=2 --sizes --json \
    -o z.html >z.json"
check '--sizes: four of them, the same bits' sh -c "for i in 0 1 2 3; do '$json' sizes.\$i.equal <z.json; done | grep -c true | grep -qx 4"
check '--sizes: the table says it of each' sh -c "'$halcyon' compare z.json >z.txt;
    sed -n '/^sizes/,/^\$/p' z.txt | grep -c \"the reference's bits\" | grep -qx 4"
check '--sizes: a picture' grep -q 'Sizes of detectors' z.html
python=${PYTHON:-python3}
check '--pyfai without a Python: why' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --frames 2 -d cpu@threads=1 \
    --pyfai ./nosuch --json >p.json && '$json' pyfai.error <p.json | grep -q 'nosuch.*No *such *file'"
if command -v python3 >/dev/null; then
    printf '#!/bin/sh\nexec python3 -I -S "$@"\n' >bare && chmod +x bare || exit 99
    check '--pyfai of one that has none: what it lacks' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --frames 2 \
        -d cpu@threads=1 --pyfai ./bare --json >p.json && '$json' pyfai.error <p.json | grep -q 'h5py'"
else
    skip 'no python3'
fi
if "$python" -c 'import pyFAI, h5py, hdf5plugin' >/dev/null 2>&1; then
    check '--pyfai' sh -c "'$halcyon' compare -q s.h5 -p s.poni -n 50 --rounds 1 --frames 3 -d cpu@threads=1 \
        --pyfai '$python' --json -o p.html >p.json"
    check '--pyfai: a rate' number pyfai.frames_per_s p.json 0.001 1e6
    check '--pyfai: its curves are near' number pyfai.result.median p.json 0 1e-5
    check '--pyfai: a picture of how near' grep -q 'relative, largest of all frames' p.html
else
    skip "$python has not pyFAI, h5py and hdf5plugin (PYTHON names one that has)"
fi

# --- In a browser ---
browser=`command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chromium-headless-shell`
# shown FILE: the document that the browser has made of it ends where the file does, and nothing was mended.
shown()
{
    HOME=$work timeout 120 "$browser" --headless --no-sandbox --disable-gpu --dump-dom "file://$work/$1" >dom 2>dom.log || return 1
    for tag in figure svg table rect path text; do
        equals "$tag `grep -o "<${tag}[ >]" dom | wc -l`" "$tag `grep -o "<${tag}[ >]" "$1" | wc -l`" || return 1
    done
    whole dom || return 1
}
if [ -n "$browser" ]; then
    for page in a two v n z odd; do
        check "a browser shows $page.html" shown $page.html
    done
    check 'on paper: no page is left half empty' sh -c "HOME=$work timeout 120 '$browser' --headless --no-sandbox --disable-gpu \\
        --no-pdf-header-footer --print-to-pdf=v.pdf 'file://$work/v.html' >pdf.log 2>&1; grep -ac '/Type /Page\$' v.pdf | grep -qx '[123]'"
else
    skip 'no Chromium'
fi
echo "1..$n"
exit $failed
