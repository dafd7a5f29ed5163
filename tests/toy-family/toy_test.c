/* toy_test.c - a family and a backend from outside of the library: toy_test DEVICE; built and run by tests/toy.t. */
#include "../cts.h"
#include "toy.h"

#include <halcyon/family.h>

enum { ROWS = 1000, N = 77, OFFSET = 4096 };

static void test_refusals(void)
{
    static const hcy_arg_decl args[] = { { "x", HCY_ARG_TABLES, 0 } };
    static const hcy_signature mine[] = { { "other_tables", args, 1 } }, taken[] = { { "toy_sum", args, 1 } };
    static const hcy_family tables = { "other", 1, mine, 1 }, thief = { "thief", 1, taken, 1 },
                            stale = { "toy", TOY_VERSION + 1, taken, 1 }, ours = { "azint", 1, mine, 1 };
    hcy_kernel_code code = { .kernel = "other_tables", .backend = "cpu", .format = "c-function", .data = "x", .size = 1 };
    st_is(hcy_family_register(NULL, NULL, 0), HCY_EINVAL, "no family is refused");
    st_says(hcy_family_register(&stale, NULL, 0), HCY_EABI, "version 2", "another version of it too");
    st_says(hcy_family_register(&ours, NULL, 0), HCY_EABI, "azint", "and one of the library's own");
    st_says(hcy_family_register(&thief, NULL, 0), HCY_EABI, "toy_sum", "and a kernel's name that is taken");
    st_says(hcy_family_register(&tables, &code, 1), HCY_EINVAL, "only a backend", "code for tables has nobody to make them");
    code.kernel = "toy_sum";
    st_says(hcy_family_register(&tables, &code, 1), HCY_EINVAL, "toy_sum", "code for another family's kernel");
    code.kernel = "other_tables";
    code.data = NULL;
    st_says(hcy_family_register(&tables, &code, 1), HCY_EINVAL, "without", "code that is none");
}

static void test_sums(hcy_device *dev, hcy_kernel *kernel)
{
    static uint32_t rows[ROWS][N];
    static uint64_t sums[ROWS];
    toy_job job = { N, 3 };
    uint64_t state = 1;
    size_t size = 0, batch = 0, right = 0;
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *in = cts_buffer(dev, sizeof rows), *root = cts_buffer(dev, sizeof sums + OFFSET), *out = NULL;
    hcy_arg args[] = { hcy_arg_buf(in), hcy_arg_struct(&job, sizeof job), hcy_arg_buf(NULL), hcy_arg_buf(NULL) };
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < N; k++)
            rows[i][k] = (uint32_t)cts_random(&state);
    st_ok(hcy_buffer_sub(&out, root, OFFSET, sizeof sums), "a view for the sums");
    st_ok(hcy_kernel_scratch_size(&size, kernel, ROWS, args, 4), "its scratch memory");
    is_int((intmax_t)size, ROWS * 8, "is what the family says for each item");
    st_ok(hcy_kernel_preferred_batch(&batch, kernel, args, 4), "a batch");
    ok(batch > 0, "is one item at least");
    hcy_buffer *scratch = cts_buffer(dev, size);
    args[2] = hcy_arg_buf(out);
    args[3] = hcy_arg_buf(scratch);
    st_ok(hcy_buffer_write(queue, in, 0, rows, sizeof rows), "rows go there");
    st_ok(hcy_launch(queue, kernel, ROWS, args, 4), "a launch of items");
    st_ok(hcy_launch(queue, kernel, 0, args, 4), "no items are nothing");
    st_ok(hcy_buffer_read(queue, sums, out, 0, sizeof sums), "sums come back");
    st_ok(hcy_queue_finish(queue), "it runs");
    for (size_t i = 0; i < ROWS; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < N; k++)
            sum += rows[i][k];
        right += sums[i] == 3 * sum;
    }
    is_int((intmax_t)right, ROWS, "and are right");
    st_says(hcy_launch(queue, kernel, 1, args, 3), HCY_EINVAL, "toy_sum", "arguments are counted");
    args[0] = hcy_arg_u32(1);
    st_says(hcy_launch(queue, kernel, 1, args, 4), HCY_EINVAL, "rows", "and refused by name");
    const hcy_grid grid = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };
    st_is(hcy_launch_grid(queue, kernel, &grid, args, 4), HCY_EINVAL, "a grid for a kernel with a name");
    hcy_buffer_release(in);
    hcy_buffer_release(out);
    hcy_buffer_release(root);
    hcy_buffer_release(scratch);
    hcy_queue_release(queue);
}

int main(int argc, char **argv)
{
    hcy_kernel *kernel = NULL;
    const bool brings_it = argc > 2; /* the backend itself */
    cts_spec = argc > 1 ? argv[1] : "cpu";
    hcy_device *dev = NULL;
    if (hcy_device_open(&dev, cts_spec))
        skip_all("%s: %s", cts_spec, hcy_last_error()->text);
    if (!brings_it)
        st_is(hcy_kernel_get(&kernel, dev, "toy_sum"), HCY_ENOENT, "nobody knows the family yet");
    st_ok(toy_register(), "it is made known");
    st_ok(toy_register(), "twice is fine");
    int status = hcy_kernel_get(&kernel, dev, "toy_sum");
    if (status == HCY_EUNSUPPORTED) {
        skip(1, "%s", hcy_last_error()->text);
    } else {
        st_ok(status, "its kernel is here, on a device that was open before");
        is_str(hcy_kernel_variant(kernel), brings_it ? "toy" : cts_is("cpu") ? "c-function" : hcy_kernel_variant(kernel),
               "in the backend's own code where it has one");
        if (status == 0)
            test_sums(dev, kernel);
    }
    test_refusals();
    hcy_kernel_release(kernel);
    hcy_device_release(dev);
    return done_testing();
}
