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
    esac
    { cat head.sh; script "$page"; } >$name.sh
    mkdir $name
    check "$name has commands" sh -c "grep -c failed $name.sh | awk '{ exit \$1 < 4 }'"
    check "$name: they work, and say what they are said to" sh -c "cd $name && sh ../$name.sh"
done
echo "1..$n"
exit $failed
