# What is installed, where users look for it: manuals, completions, examples, headers; and ./quickstart --prefix, with commands
# that do nothing in the places of the real ones.  What needs the libraries installed is tests/installcheck.
test_name=install
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
builddir=${top_builddir:-.}
# Of this very build: its makefile, its prefix.
value() { sed -n "s|^$1 = ||p" "$builddir/Makefile" | sed -e "s|\${prefix}|$prefix|" -e "s|\${datarootdir}|$prefix/share|" \
    -e "s|\${exec_prefix}|$prefix|" | head -n 1; }
prefix=`value prefix`
stage=$work/stage
make_quietly() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$builddir" "$@"; }
# Nothing of this links anything, so that other tests may use the build.
check 'manuals, completions, examples, headers are installed' make_quietly install-man install-dist_bashcompDATA \
    install-dist_zshcompDATA install-dist_fishcompDATA install-dist_docDATA install-examplesDATA install-nobase_backendDATA install-pkgconfigDATA install-cmakeDATA \
    install-halcyonincludeHEADERS "DESTDIR=$stage"
there()
{
    for file in "$@"; do
        [ -s "$stage$file" ] || { echo "no $file; there are:"; find "$stage" -name "${file##*/}"; return 1; }
    done
}
manuals()
{
    man=`value mandir`
    for page in "$top_srcdir"/doc/*.[137]; do
        name=${page##*/}
        there "$man/man${name##*.}/$name" || return 1
    done
}
check 'each manual page in the section that it is of' manuals
check "bash's, zsh's and fish's completions" there "$prefix/share/bash-completion/completions/halcyon" \
    "$prefix/share/zsh/site-functions/_halcyon" "$prefix/share/fish/vendor_completions.d/halcyon.fish"
check 'what pkg-config and CMake ask' there "`value libdir`/pkgconfig/halcyon.pc" "`value libdir`/cmake/halcyon/halcyon-config.cmake"
check '... has this prefix' grep -qxF "prefix=$prefix" "$stage`value libdir`/pkgconfig/halcyon.pc"
alone='pkg-config knows it where no other library has its headers'
if ! command -v pkg-config >/dev/null; then
    skip "$alone: no pkg-config"
elif grep -qx 'build_old_libs=yes' "$builddir/libtool" && grep -q '^Requires.private: .' "$builddir/halcyon.pc"; then
    skip "$alone: the static library is linked to them"
else
    check "$alone" env PKG_CONFIG_LIBDIR="$stage`value libdir`/pkgconfig" PKG_CONFIG_PATH= pkg-config --cflags --libs halcyon
fi
# A project's own variables, and its folder configured again for another tree.
finds()
{
    cmake -S find -B find/build "-Dhalcyon_DIR=$1`value libdir`/cmake/halcyon" >find/log 2>&1 &&
        grep -F "mine mine mine $1`value libdir`/libhalcyon.so $1`value includedir`" find/log || { cat find/log; return 1; }
}
if command -v cmake >/dev/null; then
    mkdir find
    cat >find/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(find NONE)
set(prefix mine)
set(exec_prefix mine)
set(includedir mine)
find_package(halcyon REQUIRED)
get_target_property(library halcyon::halcyon IMPORTED_LOCATION)
get_target_property(headers halcyon::halcyon INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS "${prefix} ${exec_prefix} ${includedir} ${library} ${headers}")
END
    : >"$stage`value libdir`/libhalcyon.so"
    cp -R "$stage" "$work/other tree"
    check "CMake finds it, and leaves the project's variables alone" finds "$stage"
    check '... a library and headers of one tree' finds "$work/other tree"
else
    skip "CMake finds it, and leaves the project's variables alone: no cmake"
    skip '... a library and headers of one tree'
fi
examples=`value docdir | sed 's|\${PACKAGE_TARNAME}|halcyon|'`/examples
compiled()
{
    for source in "$top_srcdir"/examples/*.c; do
        there "$examples/${source##*/}" || return 1
        grep '<zmq.h>' "$source" >/dev/null && continue # which is another's to install
        # shellcheck disable=SC2086 # CC may be several words
        $CC -std=c11 -fsyntax-only -Werror=implicit-function-declaration -I"$stage`value includedir`" "$stage$examples/${source##*/}" || return 1
    done
}
check 'what one reads beside manuals' there "${examples%/examples}/numbers.md" "${examples%/examples}/tutorial-receiver.md"
check 'every example, which the installed headers are enough for, and no macro' compiled
backend=${examples%/examples}/backend
conformance()
{
    there "$backend/backends/null/README.md" "$backend/tests/cts.mk" "$backend/tests/toy-backend/toy_backend.c" || return 1
    for source in "$stage$backend"/tests/cts_*.c "$stage$backend/backends/null/null.c" "$stage$backend/families/families.c"; do
        # shellcheck disable=SC2086 # CC may be several words
        $CC -std=c11 -fsyntax-only -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -I"$stage`value includedir`" \
            -I"$stage$backend/families" "$source" || return 1
    done
    equals "`ls "$stage$backend"/tests/cts_*.c | wc -l | tr -d ' '`" 12
}
check 'the guide to backends, its module and the conformance tests, which the installed headers are enough for' conformance
check 'a reader of curves in Python' there "$examples/curve_reader.py"
check 'another prefix than that of the build says what to do' sh -c \
    "env -u MAKEFLAGS -u MAKELEVEL make -C '$builddir' check-prefix prefix=/nowhere 2>&1 | grep 'quickstart --prefix /nowhere'"
check '... its own is fine' make_quietly check-prefix
# The program that reads HDF5 apart is looked for where it goes to.
reader=`value libexecdir`/halcyon
if [ -e "$builddir/halcyon-h5-reader" ]; then
    make_quietly -n install-pkglibexecPROGRAMS "DESTDIR=$stage" >steps 2>&1
    check 'halcyon-h5-reader goes to a folder of its own' grep -F "mkdir -p '$stage$reader'" steps
    check '... where the library looks for it' sh -c \
        "cat '$builddir'/.libs/libhalcyon.so '$builddir'/.libs/libhalcyon.a '$builddir'/.libs/libcore.a 2>parts.log | grep -aF '$reader' >found"
else
    skip 'halcyon-h5-reader goes to a folder of its own: built without HDF5'
    skip '... where the library looks for it'
fi

# --- ./quickstart --prefix ---
mkdir -p tree bin
cp "$top_srcdir/quickstart" tree
touch tree/configure.ac
for tool in autoreconf libtoolize pkg-config cc apt-get gnuplot; do
    printf '#!/bin/sh\n' >bin/$tool
done
printf '#!/bin/sh\necho "install ok installed"\n' >bin/dpkg-query
printf '#!/bin/sh\necho "$*" >>../made\n' >bin/make
cat >tree/configure <<'END'
#!/bin/sh
echo "$*" >>../../configured
for word in "$@"; do
    case $word in --prefix=*) echo "prefix = ${word#*=}" >Makefile ;; esac
done
[ -e Makefile ] || echo 'prefix = /usr/local' >Makefile
echo 'CPPFLAGS = -DHAVE_HDF5=1' >>Makefile
printf '#!/bin/sh\necho "'"'--with-care'"'"\n' >config.status
printf '#!/bin/sh\n' >halcyon
chmod +x config.status halcyon
END
chmod +x bin/* tree/configure
if command -v bash >/dev/null; then
    quickstart() { env PATH="$work/bin:$PATH" CC=cc bash tree/quickstart "$@" </dev/null; }
    told() { equals "`tail -n 1 configured`" "$1"; }
    n_times() { equals "`wc -l <configured | tr -d ' '`" "$1"; }
    check './quickstart' quickstart
    check '... configures with what there is' told ''
    # What is compiled with a prefix inside.
    (cd "$top_srcdir" && grep -rlE 'HCY_(PLUGIN|READER)DIR' hal src backends) | sed 's/\.c$/.lo/' >inside
    while read -r object; do
        mkdir -p "tree/build/${object%/*}"
        : >"tree/build/$object"
    done <inside
    check './quickstart --prefix DIR' quickstart --prefix "$work/inst"
    check '... compiles again what has the old one inside' sh -c 'test -s inside && ! find tree/build -name "*.lo" | grep .'
    check '... configures again, as it was but for the prefix' told "--with-care --prefix=$work/inst"
    check '... says how to install' sh -c "env PATH='$work/bin:$PATH' CC=cc bash tree/quickstart --prefix=$work/inst |
        grep 'install it in $work/inst: make -C build install'"
    check '... and how programs find it there' sh -c "env PATH='$work/bin:$PATH' CC=cc bash tree/quickstart --prefix=$work/inst |
        grep 'PKG_CONFIG_PATH=$work/inst/lib/pkgconfig .* -Wl,-rpath,$work/inst/lib$'"
    check '... and once is enough' n_times 2
    rm -r tree/build
    check 'a name from here, in a tree that is new' quickstart --prefix inst
    check '... is whole' told "--prefix=$work/tree/inst"
    check '--prefix without a folder' refused 1 'needs a directory' quickstart --prefix
    check '... or with an empty name' refused 1 'needs a directory' quickstart --prefix=
    check '... configures nothing' n_times 3
    check 'a compiler of two words, as CC="ccache gcc"' env PATH="$work/bin:$PATH" CC='env cc' bash tree/quickstart
    check 'what is no compiler' refused 1 'please install: a C compiler' \
        env PATH="$work/bin:$PATH" CC='env no-compiler' bash tree/quickstart
else
    for what in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do skip "./quickstart: no bash ($what)"; done
fi
echo "1..$n"
exit $failed
