/* stencil_faces - what a launch of faces says is held against its buffers: jobs whose numbers do not fit are refused.
 *
 *     tests/stencil_faces [DEVICE]
 */
#include "cts.h"

#include "stencil_arguments.h"

enum { ROWS = 6, COLUMNS = 5 };

struct launch {
    hcy_stencil_job job;
    hcy_stencil_faces faces[HCY_STENCIL_AXES];
};
static hcy_device *dev;
static hcy_buffer *from, *ghosts, *to;

/* Second differences along the first of two axes, with a row of ghosts before and one after. */
static struct launch fitting_launch(void)
{
    static const int8_t row[HCY_STENCIL_TAPS] = { 0, 1, -2, 1, 0 };
    struct launch l = { .job = { .rank = 2, .bytes = 8 } };
    l.job.axes[0] = (hcy_stencil_axis){ .size = ROWS, .extent = ROWS, .stride = COLUMNS, .scale = 1, .is_term = 1 };
    l.job.axes[1] = (hcy_stencil_axis){ .size = COLUMNS, .extent = COLUMNS, .stride = 1 };
    memcpy(l.job.axes[0].rows[HCY_STENCIL_EDGE], row, sizeof row);
    for (int k = 0; k < HCY_STENCIL_TAPS; k++)
        memcpy(&l.job.axes[0].inner[k], &(double){ row[k] }, sizeof(double));
    l.faces[0] = (hcy_stencil_faces){ 0, COLUMNS, 1, 1, 1, 1 };
    return l;
}

/* On a queue of its own, which a failure ends. */
static int run(const struct launch *l)
{
    static const struct hcy__stencil_at at = HCY__STENCIL_AT(stencil_faces);
    hcy_arg args[HCY_N_ARGS(stencil_faces)];
    hcy_queue *queue = cts_queue(dev);
    hcy_kernel *kernel = NULL;
    args[at.job] = hcy_arg_struct(&l->job, offsetof(hcy_stencil_job, axes));
    for (int i = 0; i < HCY_STENCIL_AXES / 2; i++)
        args[at.pairs[i]] = hcy_arg_struct(&l->job.axes[2 * i], 2 * sizeof l->job.axes[0]);
    args[at.from] = hcy_arg_buf(from);
    args[at.to] = hcy_arg_buf(to);
    args[HCY_ARG_AT(stencil_faces, faces)] = hcy_arg_struct(l->faces, sizeof l->faces);
    args[HCY_ARG_AT(stencil_faces, ghosts)] = hcy_arg_buf(ghosts);
    int status = hcy_kernel_get(&kernel, dev, "stencil_faces");
    if (!status)
        status = hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(stencil_faces));
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_kernel_release(kernel);
    hcy_queue_release(queue);
    return status;
}

#define REFUSED(status, change)                          \
    do {                                                 \
        struct launch l = fitting_launch();              \
        change;                                          \
        is_int(run(&l), status, "refused: %s", #change); \
    } while (0)

static void test_numbers(void)
{
    REFUSED(HCY_EINVAL, l.job.rank = 0);
    REFUSED(HCY_EINVAL, l.job.rank = 9);
    REFUSED(HCY_EINVAL, l.job.bytes = 2);
    REFUSED(HCY_EINVAL, l.job.axes[0].stride = 6);
    REFUSED(HCY_EINVAL, l.job.axes[1].stride = 3);
    REFUSED(HCY_EINVAL, l.job.axes[0].is_term = 0);
    REFUSED(HCY_EINVAL, l.job.axes[0].head = 5);
    REFUSED(HCY_EINVAL, (l.job.axes[0].first = 1, l.job.axes[0].size = ROWS - 1));
    REFUSED(HCY_EINVAL, l.job.axes[0].size = l.job.axes[0].extent = INT64_MAX / 8);
    REFUSED(HCY_EINVAL, l.faces[0].before = 3);
    REFUSED(HCY_EINVAL, l.faces[0].back = ROWS);
    REFUSED(HCY_EINVAL, l.faces[0].front = UINT32_MAX);
}

/* A neighbour that is neither there nor a ghost, or a ghost's where the box inside is. */
static void test_lacking(void)
{
    REFUSED(HCY_EINVAL, l.faces[0].before = 0);
    REFUSED(HCY_EINVAL, l.faces[0].after = 0);
    REFUSED(HCY_EINVAL, l.faces[0].front = 0);
    REFUSED(HCY_EINVAL, l.faces[0].back = 0);
    REFUSED(HCY_EINVAL, l.job.axes[0].rows[HCY_STENCIL_EDGE][0] = 1);
    REFUSED(HCY_EINVAL, l.job.axes[0].rows[HCY_STENCIL_EDGE][4] = 1);
    REFUSED(HCY_EINVAL, (l.job.axes[0].head = 3, l.job.axes[0].rows[1][0] = 1));
}

static void test_buffers(void)
{
    REFUSED(HCY_ERANGE, l.job.from = 1);
    REFUSED(HCY_ERANGE, l.job.to = -1);
    REFUSED(HCY_ERANGE, l.faces[0].row = COLUMNS - 1);
    REFUSED(HCY_ERANGE, l.faces[0].row = UINT64_MAX);
    REFUSED(HCY_ERANGE, l.faces[0].after = 2);
    REFUSED(HCY_ERANGE, l.faces[0].ghosts = 1);
    REFUSED(HCY_ERANGE, l.faces[0].ghosts = -1);
    REFUSED(HCY_ERANGE, l.faces[0].ghosts = INT64_MAX);
}

int main(int argc, char **argv)
{
    const size_t bytes = sizeof(double) * ROWS * COLUMNS;
    cts_begin(argc, argv);
    dev = cts_open();
    st_ok(hcy_buffer_create(&from, dev, HCY_MEM_DEVICE, bytes), "a source");
    st_ok(hcy_buffer_create(&to, dev, HCY_MEM_DEVICE, bytes), "a result");
    st_ok(hcy_buffer_create(&ghosts, dev, HCY_MEM_DEVICE, sizeof(double) * 2 * COLUMNS), "two rows of ghosts");
    struct launch fitting = fitting_launch();
    st_ok(run(&fitting), "what fits");
    test_numbers();
    test_lacking();
    test_buffers();
    hcy_buffer_release(from);
    hcy_buffer_release(to);
    hcy_buffer_release(ghosts);
    hcy_device_release(dev);
    cts_wait_alone();
    return done_testing();
}
