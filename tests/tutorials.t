# The tutorials' commands, as they stand in doc/tutorial-*.md: each block of ```sh is run by one shell a page, which stops at
# the first command that fails; `#=> WORDS` asks for these in what the command before it said.
test_name=tutorials
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere

[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }
HALCYON_CACHE_DIR=$work/cache
HALCYON_DEVICE=cpu
PATH=$work/bin:$PATH
export HALCYON_CACHE_DIR HALCYON_DEVICE PATH
mkdir bin
ln -s "$halcyon" bin/halcyon
# A compiler, and a library that is installed, as far as the pages need them.
libs=${top_builddir:-.}/.libs
mkdir include include/halcyon
for header in $HCY_HEADERS; do
    ln -s "$top_srcdir/$header" include/halcyon
done
printf '#!/bin/sh\nexec %s %s "$@"\n' "$CC" "$HCY_SANITIZER" >bin/cc
printf '#!/bin/sh\necho -I%s -L%s -lhalcyon\n' "$work/include" "$libs" >bin/pkg-config
chmod +x bin/cc bin/pkg-config
LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# script PAGE: a shell's, of its blocks; a heredoc ends in END.
script()
{
    awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } !on { next }
        inside { print; if ($0 == "END") { inside = 0; print "} >said 2>&1 || failed" } next }
        /^#=> / { print "expect <<\"END\"\n" substr($0, 5) "\nEND"; next }
        { print "at=" NR; print "{ " $0 }
        /<</ { inside = 1; next }
        { print "} >said 2>&1 || failed" }' "$1"
}
cat >head.sh <<'END'
failed() { echo "the command of line $at fails:"; cat said; exit 1; }
expect() { read -r words; grep -F -e "$words" said >grep.out || { echo "line $at does not say '$words':"; cat said; exit 1; }; }
END
for page in "${top_srcdir:-.}"/doc/tutorial-*.md; do
    name=`basename "$page" .md`
    case $name in
    *finufft)
        if ! command -v python3 >/dev/null; then
            skip 'no python3'
            continue
        elif "$halcyon" nufft -t 1 2>&1 | grep 'no FFT' >/dev/null; then
            skip 'built without an FFT'
            continue
        fi ;;
    *receiver)
        if [ ! -e "$libs/libhalcyon.so" ]; then
            skip 'built without a shared library'
            continue
        fi ;;
    esac
    { cat head.sh; script "$page"; } >$name.sh
    mkdir $name
    # What a reader saves: the page's program, which is the example.
    if grep '^```c$' "$page" >/dev/null; then
        sed -n '/^```c$/,/^```$/p' "$page" | sed '1d;$d' >$name/receiver.c
        check "$name shows examples/receiver.c" cmp $name/receiver.c "${top_srcdir:-.}/examples/receiver.c"
        check "$name says how many lines it has" test "`wc -l <$name/receiver.c`" -le 80
    fi
    check "$name has commands" sh -c "grep -c failed $name.sh | awk '{ exit \$1 < 4 }'"
    check "$name: they work, and say what they are said to" sh -c "cd $name && sh ../$name.sh"
done
# The receiver's patterns are the command's, to the seven digits that the latter's text has.
numbers() { awk '!/^#/ && NF { print $1, $2 }' "$1"; }
same_patterns()
{
    numbers tutorial-receiver/received.dat >received.txt
    numbers tutorial-receiver/written.dat >written.txt
    paste -d' ' received.txt written.txt | awk '
        function off(a, b) { return (a - b) ^ 2 > 1e-12 * b * b }
        NF != 4 || off($1, $3) || off($2, $4) { print "line " NR ": " $0; bad++ }
        $4 > 0 { seen++ }
        END { print NR " points, " seen + 0 " above zero"; exit bad || NR != 100000 || seen < 50000 }'
}
if [ -d tutorial-receiver ]; then
    check "the receiver's patterns are the command's" same_patterns
fi
echo "1..$n"
exit $failed
