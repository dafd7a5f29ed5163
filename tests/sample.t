# halcyon integrate beside the pyFAI of $PYTHON, where that is: axes that are seen from the sample, the polarization's axis,
# unweighted means, pseudo splitting.  tests/reference/sample.py compares.
test_name=sample
top_srcdir=${top_srcdir:-.}
case $top_srcdir in /*) ;; *) top_srcdir=`pwd`/$top_srcdir ;; esac
. "$top_srcdir/tests/cli.sh"
python=${PYTHON:-python3}
if "$python" -c 'import pyFAI.integrator.fiber' >/dev/null 2>&1; then
    :
else
    echo "1..0 # SKIP $python has no pyFAI with FiberIntegrator (PYTHON names one that has)"
    exit 0
fi
"$python" "$top_srcdir/tests/reference/sample.py" "$halcyon"
