# Arrays and expressions against NumPy, which shares no code with them: types, slices, reductions along axes, order.
# From the makefile: top_srcdir, top_builddir, HCY_SANITIZER.  PYTHON names a Python that has NumPy.
python=${PYTHON:-python3}
library=$top_builddir/.libs/libhalcyon.so
if [ -n "$HCY_SANITIZER" ]; then
    echo "1..0 # SKIP a sanitizer's library is not for a program without it"
elif [ ! -r "$library" ]; then
    echo "1..0 # SKIP no shared library"
elif ! "$python" -c 'import ctypes, numpy' > /dev/null 2>&1; then
    echo "1..0 # SKIP $python has no numpy (PYTHON names one that has)"
else
    "$python" "$top_srcdir/tests/reference/numpy_oracle.py" "$library"
fi
