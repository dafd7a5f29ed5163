# The main job when memory runs out: allocations of Halcyon's own are counted through one run of `halcyon integrate`,
# then each of many fails in a run of its own.  Such a run ends with status 1 and words for it, or does without that
# memory and has the same curves.  FAIL_ALLOC_STEP: every how many-th is tried (11; 1 by hand).
halcyon=${HALCYON:-./halcyon}
step=${FAIL_ALLOC_STEP:-11}
work=`mktemp -d "${TMPDIR:-/tmp}/halcyon-alloc.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
case $halcyon in /*) ;; *) halcyon=`pwd`/$halcyon ;; esac
source=${top_srcdir:-.}/tests/fail_alloc.c

leave() { echo "1..0 # SKIP $1"; exit 0; }
[ -n "${HCY_HDF5-yes}" ] || leave 'this build has no HDF5'
for file in "${top_builddir:-.}/.libs/halcyon" "$halcyon"; do
    [ -e "$file" ] || continue
    ldd "$file" 2>/dev/null | grep -E 'lib(a|t|ub)san' >/dev/null && leave 'sanitizers have allocators of their own'
    break
done
${CC:-cc} -O1 -shared -fPIC -o "$work/fail_alloc.so" "$source" -ldl 2>/dev/null || leave 'the allocator cannot be built here'
cd "$work" || exit 99
"$halcyon" simulate s.h5 --shape 64x90 --dtype uint16 -n 6 -q || exit 99

# integrate N: with allocation N failing (0: none).
integrate()
{
    rm -f out.dat
    FAIL_ALLOC_AT=$1 FAIL_ALLOC_COUNT=count LD_PRELOAD=$work/fail_alloc.so timeout 60 \
        "$halcyon" integrate s.h5 -p s.poni -d cpu@threads=2 -q -n 50 -o out.dat >out 2>err
}
rows() { grep -v '^#' out.dat; }

integrate 0
rows >good 2>/dev/null
count=`cat count 2>/dev/null`
[ "${count:-0}" -gt 0 ] || leave 'allocations are not seen here'
if [ -s good ]; then echo "ok 1 - a run of $count allocations"; else echo "not ok 1 - a run of $count allocations"; fi
wrong=0 tried=0 refused=0 at=1
while [ "$at" -le "$count" ]; do
    integrate "$at"
    status=$?
    tried=`expr $tried + 1`
    case $status in
    0)  rows 2>/dev/null | cmp -s - good || { echo "# allocation $at: status 0, and other curves"; wrong=1; } ;;
    1)  refused=`expr $refused + 1`
        [ -s err ] || { echo "# allocation $at: no words"; wrong=1; } ;;
    *)  echo "# allocation $at: status $status"
        sed 's/^/# /' err
        wrong=1 ;;
    esac
    at=`expr $at + $step`
done
[ $wrong = 0 ] && echo "ok 2 - $tried of them failed, one a run: no crash" || echo "not ok 2 - $tried of them failed, one a run: no crash"
[ $refused -gt 0 ] && echo "ok 3 - $refused runs said so" || echo "not ok 3 - $refused runs said so"
echo 1..3
exit $wrong
