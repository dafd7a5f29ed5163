#!/bin/sh
# text.sh NAME FILE... - a kernel text as one C array NAME, a zero at the end: the files with what they include, each
# once, where it is first asked for.  Headers are looked for in backends/gpu and families; those of the system have no
# place in a kernel and are left out.
name=$1
shift
text=$(mktemp) || exit 1
trap 'rm -f "$text"' EXIT
echo '/* Generated from the kernel texts. */'
echo "extern const char $name[];"
echo "const char $name[] = {"
awk '
    function take(file,    line, found) {
        if (file in taken)
            return
        taken[file] = 1
        while ((found = (getline line < file)) > 0)
            if (line ~ /^#include "/)
                take(find(substr(line, 11, length(line) - 11)))
            else if (line !~ /^#(include|pragma once)/)
                print line
        if (found < 0) {
            print "text.sh: cannot read " file > "/dev/stderr"
            failed = 1
        }
        close(file)
    }
    function find(header,    i, line) {
        for (i = 1; i <= n; i++)
            if ((getline line < (folders[i] header)) >= 0) {
                close(folders[i] header)
                return folders[i] header
            }
        return header
    }
    BEGIN {
        n = split("backends/gpu/ families/ '"$(echo families/*/)"'", folders, " ")
        for (i = 1; i < ARGC; i++)
            take(ARGV[i])
        exit failed
    }' "$@" > "$text" || exit 1
od -An -v -td1 "$text" | sed 's/\([-0-9][0-9]*\)/\1,/g'
echo '0 };'
