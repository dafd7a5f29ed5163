#!/bin/sh
# text.sh NAME FILE... - the files as one C array NAME, without their #include lines, a zero at the end.
name=$1
shift
echo '/* Generated from the kernel texts. */'
echo "extern const char $name[];"
echo "const char $name[] = {"
cat "$@" | sed '/^#include/d' | od -An -v -td1 | sed 's/\([-0-9][0-9]*\)/\1,/g'
echo '0 };'
