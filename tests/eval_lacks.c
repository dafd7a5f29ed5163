/* eval_lacks.c - expressions and sorts on devices that have some of the kernels, or memory for them a moment
 * later.  The device is the CPU; what it has is said here. */
#include "cts.h"

#include <halcyon/eval.h>

static const char *lacking = ""; /* the kernel that is not to be had, */
static int why;                  /* and what that fails with */

int __real_hcy_kernel_get(hcy_kernel **kernel, hcy_device *device, const char *name);
int __wrap_hcy_kernel_get(hcy_kernel **kernel, hcy_device *device, const char *name);
int __wrap_hcy_kernel_get(hcy_kernel **kernel, hcy_device *device, const char *name)
{
    return strcmp(name, lacking) ? __real_hcy_kernel_get(kernel, device, name) : hcy_fail(why, "no kernel %s", name);
}

enum { ROWS = 3, COLUMNS = 200, ALL = ROWS * COLUMNS };

static hcy_device *dev;
static hcy_queue *queue;
static hcy_array *x, *y;

/* The device is asked for its kernels once more for each first array on it. */
static void begin(const char *without, int status)
{
    const int64_t shape[2] = { ROWS, COLUMNS };
    lacking = without;
    why = status;
    if (hcy_array_empty(&x, dev, HCY_FLOAT64, 2, shape) || hcy_array_empty(&y, dev, HCY_FLOAT64, 2, shape))
        bail_out("no arrays: %s", hcy_last_error()->text);
}

static void end(void)
{
    hcy_array_release(x);
    hcy_array_release(y);
    lacking = "";
}

static int fill(void)
{
    return HCY_EVAL(queue, "x = floor(9 * normal(5, index))", hcy_op_array("x", x));
}

static int sort(double *sorted)
{
    int status = fill();
    status = cts_first(status, hcy_array_sort(queue, y, x, 1));
    return cts_first(status, hcy_array_to_host(sorted, queue, y));
}

int main(void)
{
    static double wanted[ALL], got[ALL];
    if (hcy_device_open(&dev, "cpu@threads=2"))
        bail_out("no cpu: %s", hcy_last_error()->text);
    queue = cts_queue(dev);
    begin("", 0);
    st_ok(sort(wanted), "a sort on a device that has all kernels");
    end();

    begin("eval_sort_values", HCY_EUNSUPPORTED);
    ok(!sort(got) && !memcmp(got, wanted, sizeof got), "one that sorts no values sorts numbers of places: the same");
    end();

    begin("eval_sort_values", HCY_ENOMEM);
    st_says(sort(got), HCY_ENOMEM, "no kernel eval_sort_values", "no memory for a kernel is no other way to sort");
    lacking = "";
    ok(!sort(got) && !memcmp(got, wanted, sizeof got), "... and when there is some it sorts");
    end();

    begin("eval_run", HCY_ENOMEM);
    st_says(fill(), HCY_ENOMEM, "no kernel eval_run", "no memory for the kernel of expressions is said");
    lacking = "";
    ok(!sort(got) && !memcmp(got, wanted, sizeof got), "... and is forgotten when there is some");
    end();

    begin("eval_run", HCY_EUNSUPPORTED);
    is_int(fill(), HCY_EUNSUPPORTED, "a device with neither that kernel nor a compiler");
    end();
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
