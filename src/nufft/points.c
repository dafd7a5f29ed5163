/* points.c - what a plan with a grid has on its device: the tables of its window and grid, and its sorted points.
 *
 * Tables belong to the plan and outlive its points, for the next ones often need the same.  Sorted points go with
 * hcy__nufft_forget().  Setting points has the plan for itself; executions only read what is made here.
 */
#include "nufft_priv.h"
#include "fft_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int upload_new(hcy_buffer **buf, hcy_device *dev, const void *data, size_t size)
{
    int status = hcy_buffer_create(buf, dev, HCY_MEM_DEVICE, size);
    return status ? status : hcy_buffer_write_now(*buf, 0, data, size);
}

/* --- Tables --- */

static void release_fft(hcy_nufft *p)
{
    hcy_fft_release(p->fft);
    hcy_fft_release(p->first_axis);
    p->fft = p->first_axis = NULL;
}

int hcy__nufft_upload_reals(hcy_buffer **buf, const hcy_nufft *p, double *values, size_t n)
{
    hcy__nufft_drop(buf);
    if (p->desc.precision == HCY_F32)
        for (size_t i = 0; i < n; i++) { /* in place: never ahead of what is still to be read */
            float single = (float)values[i];
            memcpy((char *)values + i * sizeof single, &single, sizeof single);
        }
    return upload_new(buf, p->dev, values, n * hcy__nufft_real(p));
}

static int make_factors(hcy_nufft *p)
{
    size_t n = 0, at = 0;
    for (int d = 0; d < p->desc.dim; d++)
        n += (size_t)p->job.modes[d];
    double *values = calloc(n, sizeof *values);
    if (!values)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu factors", n);
    for (int d = 0; d < p->desc.dim; d++) {
        int64_t modes = (int64_t)p->job.modes[d], below = modes / 2;
        /* The window is even, so its transform is too: each value serves two modes, where there are two. */
        for (int64_t k = 0; k <= below; k++) {
            double one = 1 / hcy__window_hat(&p->window, (double)k, (double)p->job.grid[d]);
            values[at + (size_t)(below - k)] = one;
            if (below + k < modes)
                values[at + (size_t)(below + k)] = one;
        }
        at += (size_t)modes;
    }
    int status = hcy__nufft_upload_reals(&p->factors, p, values, n);
    free(values);
    return status;
}

static int make_fft(hcy_nufft *p)
{
    const uint64_t *grid = p->job.grid;
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    desc.precision = p->desc.precision;
    desc.rank = p->desc.dim;
    desc.batch = p->batch;
    desc.flags = p->opts.deterministic ? HCY_FFT_DETERMINISTIC : 0;
    for (int d = 0; d < p->desc.dim; d++)
        desc.n[d] = (size_t)grid[d];
    size_t planes = (size_t)(p->job.modes[0] - p->job.modes[0] / 2);
    /* Worth it only in 3-D, and only if the planes with modes, twice that many, are fewer than all. */
    if (p->desc.dim < 3 || p->opts.separate_fft || 2 * planes > grid[0])
        return hcy_fft_create(&p->fft, p->dev, &desc);
    hcy_fft_desc others = desc;
    p->planes = planes;
    desc.rank = 1;
    /* Along the first axis there is a transform for each cell of a plane; then the other two axes follow, of those
     * planes alone that have modes, which lie together at either end of the grid. */
    desc.inner = (size_t)(grid[1] * grid[2]);
    others.rank = 2;
    others.n[0] = (size_t)grid[1];
    others.n[1] = (size_t)grid[2];
    others.batch = planes;
    int status = hcy_fft_create(&p->first_axis, p->dev, &desc);
    return status ? status : hcy_fft_create(&p->fft, p->dev, &others);
}

/* The roots of unity that nufft_lines takes (kernels.def). */
static int make_line_roots(hcy_nufft *p)
{
    unsigned radices[HCY_FFT_MOST_PASSES];
    size_t all = 0, at = 0;
    for (int d = 0; d < p->desc.dim; d++) {
        const size_t cells = (size_t)p->job.grid[d];
        if (!hcy_fft_factor(radices, cells))
            return hcy_fail(HCY_EUNSUPPORTED, "%s: axis %d has a grid of %zu cells, which has a prime factor above 7",
                            hcy__nufft_is_same(p) ? "the same bits everywhere" : "a device's own FFT", d, cells);
        all += 2 * cells; /* more than it takes: a pass's are fewer than the numbers left to it, by its radix */
    }
    double *roots = calloc(all, 2 * sizeof *roots);
    if (!roots)
        return hcy_fail(HCY_ENOMEM, "out of memory for the roots of a Fourier transform");
    for (int d = 0; d < p->desc.dim; d++) {
        const unsigned passes = hcy_fft_factor(radices, (size_t)p->job.grid[d]);
        size_t part = (size_t)p->job.grid[d];
        for (unsigned i = 0; i < passes; part /= radices[i++])
            for (size_t j = 0; j < part / radices[i]; j++)
                for (unsigned k = 1; k < radices[i]; k++, at++) {
                    const struct hcy_fft_number root = hcy_fft_root(j * k, part);
                    roots[2 * at] = root.re;
                    roots[2 * at + 1] = root.im;
                }
    }
    int status = hcy__nufft_upload_reals(&p->roots, p, roots, 2 * at);
    free(roots);
    return status;
}

int hcy__nufft_choose_axes(bool *by_axes, const hcy_nufft *p, const hcy_nufft_job *job)
{
    hcy_arg args[HCY_N_ARGS(nufft_axes)];
    size_t size;
    *by_axes = false;
    if (!p->kernels[AXES] || p->opts.separate_fft || hcy__nufft_is_same(p))
        return 0;
    for (size_t i = 0; i < HCY_N_ARGS(nufft_axes); i++)
        args[i] = hcy_arg_buf(NULL);
    args[HCY_ARG_AT(nufft_axes, job)] = hcy_arg_struct(job, sizeof *job);
    int status = hcy_kernel_scratch_size(&size, p->kernels[AXES], 1, args, HCY_N_ARGS(nufft_axes));
    *by_axes = !status;
    return status == HCY_EUNSUPPORTED ? 0 : status;
}

/* The roots of unity that nufft_axes takes (kernels.def). */
static int make_axes_roots(hcy_nufft *p)
{
    size_t all = 0;
    for (int d = 0; d < p->desc.dim; d++)
        all += (size_t)p->job.grid[d];
    double *roots = calloc(all, 2 * sizeof *roots), *next = roots;
    if (!roots)
        return hcy_fail(HCY_ENOMEM, "out of memory for the roots of a Fourier transform");
    for (int d = 0; d < p->desc.dim; d++)
        for (size_t k = 0; k < (size_t)p->job.grid[d]; k++) {
            const struct hcy_fft_number root = hcy_fft_root(k, (size_t)p->job.grid[d]);
            *next++ = root.re;
            *next++ = root.im;
        }
    int status = hcy__nufft_upload_reals(&p->roots, p, roots, 2 * all);
    free(roots);
    return status;
}

void hcy__nufft_drop_tables(hcy_nufft *p)
{
    hcy__nufft_drop(&p->table);
    hcy__nufft_drop(&p->roots);
    hcy__nufft_drop(&p->factors);
    /* An FFT belongs to one grid and one batch, so the one of the last grid is of no use. */
    release_fft(p);
}

int hcy__nufft_tables(hcy_nufft *p, bool factors)
{
    double table[HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH];
    /* A type 3 has its factors from its points (type3.c), and its inner plan the FFT: it wants the window's table
     * alone. */
    hcy__window_init(&p->window, p->job.width, p->upsampling);
    hcy__window_table(&p->window, table);
    int status =
        hcy__nufft_upload_reals(&p->table, p, table, HCY_NUFFT_COEFS(p->job.width) * HCY_NUFFT_MAX_WIDTH);
    if (!status && factors)
        status = make_factors(p);
    const bool apart = factors && !(p->kernels[TO_MODES] && p->kernels[TO_GRID]);
    if (status || !apart)
        return status;
    /* The last grid may have gone another way. */
    release_fft(p);
    hcy__nufft_drop(&p->roots);
    status = hcy__nufft_choose_axes(&p->goes_by_axes, p, &p->job);
    if (status)
        return status;
    if (p->goes_by_axes)
        return make_axes_roots(p);
    if (hcy__nufft_goes_by_lines(p))
        return make_line_roots(p);
    return hcy__nufft_has_fft(p) ? make_fft(p) : 0;
}

int hcy__nufft_grid_tables(hcy_nufft *p)
{
    const hcy_nufft_job *had = &p->tables_of, *job = &p->job;
    /* Window and grid make the tables, the points do not: new points on the same grid keep them. */
    if (p->table && had->width == job->width && p->tables_batch == p->batch &&
        !memcmp(had->grid, job->grid, sizeof job->grid))
        return 0;
    int status = hcy__nufft_tables(p, true);
    p->tables_of = p->job;
    p->tables_batch = p->batch;
    if (status)
        hcy__nufft_drop(&p->table); /* half of them are none */
    return status;
}

void hcy__nufft_share_tables(hcy_nufft *p, const hcy_nufft *from)
{
    hcy__nufft_drop_tables(p);
    /* Tables are never written once they are there, so plans may hold the same ones. */
    p->tables_of = from->tables_of;
    p->tables_batch = from->tables_batch;
    p->window = from->window;
    p->table = hcy_buffer_retain(from->table);
    p->factors = hcy_buffer_retain(from->factors);
    p->roots = from->roots ? hcy_buffer_retain(from->roots) : NULL;
    p->fft = from->fft ? hcy_fft_retain(from->fft) : NULL;
    p->first_axis = from->first_axis ? hcy_fft_retain(from->first_axis) : NULL;
    p->planes = from->planes;
    p->goes_by_axes = from->goes_by_axes;
}

/* --- Points --- */

/* Points that the device reads where they are, or copies of them. */
static int point_buffers(hcy_buffer *buffers[3], hcy_nufft *p, size_t n, const void *const *points)
{
    size_t bytes = n * (p->job.flags & HCY_NUFFT_DOUBLE_POINTS ? sizeof(double) : hcy__nufft_real(p));
    const uint32_t in_place = HCY_CAP_HOST_MEMORY | HCY_CAP_IMPORT_HOST;
    bool import = (hcy_device_get_info(p->dev)->caps & in_place) == in_place;
    int status = 0;
    for (int d = 0; d < 3 && !status; d++) {
        /* Kernels take three axes and read as many as the job says; what stands in the others' place must only be
         * there. */
        if (d >= p->desc.dim)
            buffers[d] = hcy_buffer_retain(buffers[0]);
        else if (import)
            status =
                hcy_buffer_import_host(&buffers[d], p->dev, (void *)(uintptr_t)points[d], bytes, NULL, NULL);
        else
            status = upload_new(&buffers[d], p->dev, points[d], bytes);
    }
    return status;
}

#define AT(name) HCY_ARG_AT(nufft_sort, name)

/* The sort, and what it reports; without a place for that nothing is waited for. */
static int launch_sort(hcy_nufft *p, hcy_buffer *const points[3], hcy_nufft_report *report)
{
    struct hcy__nufft_work *w;
    hcy_nufft_job job = p->job;
    hcy_arg args[HCY_N_ARGS(nufft_sort)] = { [AT(job)] = hcy_arg_struct(&job, sizeof job),
                                             [AT(report)] = hcy_arg_buf(p->report),
                                             [AT(sorted)] = hcy_arg_buf(NULL) };
    size_t size;
    for (unsigned d = 0; d < 3; d++)
        args[hcy_nufft_points_at(d)] = hcy_arg_buf(points[d]);
    int status = hcy_kernel_scratch_size(&size, p->kernels[SORT], p->n_points, args, HCY_N_ARGS(nufft_sort));
    if (!status)
        status = hcy_buffer_create(&p->sorted, p->dev, HCY_MEM_DEVICE, size);
    if (!status)
        status = hcy__nufft_take_work(&w, p, NULL);
    if (status)
        return status;
    /* The size of the sorted points is the scratch that the kernel asked for: what it makes of them is its own
     * layout. */
    args[AT(sorted)] = hcy_arg_buf(p->sorted);
    status = hcy_launch(w->queue, p->kernels[SORT], p->n_points, args, HCY_N_ARGS(nufft_sort));
    if (!status)
        status = report ? hcy_buffer_read(w->queue, report, p->report, 0, sizeof *report)
                        : hcy_event_record(&p->sorting, w->queue);
    /* Without a report the sort goes on when this returns; transforms wait for its event. With a failure it is
     * waited for, because points and work are given back next. */
    int finished = report || status ? hcy_queue_finish(w->queue) : 0;
    hcy__nufft_give_work(w, p);
    return status ? status : finished;
}

int hcy__nufft_bad_point(const hcy_nufft *p, size_t point)
{
    return hcy_fail(HCY_EINVAL, "point %zu has a coordinate that is not a number, infinite or out of range",
                    point + p->first_number);
}

int hcy__nufft_sort_buffers(hcy_nufft *p, size_t n, hcy_buffer *const buffers[3], bool waits)
{
    hcy_nufft_report report;
    int status = 0;
    p->n_points = n;
    p->job.n_points = n;
    if (!n)
        return 0;
    /* Kept from one set of points to the next: it is small and always of one size. */
    if (!p->report)
        status = hcy_buffer_create(&p->report, p->dev, HCY_MEM_DEVICE, sizeof report);
    if (!status)
        status = launch_sort(p, buffers, waits || p->opts.check_points ? &report : NULL);
    /* The report counts all points, also where nobody asked; only a check may refuse them. */
    if (status || !p->opts.check_points || report.first_bad == UINT64_MAX)
        return status;
    return hcy__nufft_bad_point(p, (size_t)report.first_bad);
}

int hcy__nufft_sort(hcy_nufft *p, size_t n, const void *const *points)
{
    hcy_buffer *buffers[3] = { NULL, NULL, NULL };
    int status = n ? point_buffers(buffers, p, n, points) : 0;
    if (!status)
        status = hcy__nufft_sort_buffers(p, n, buffers, true);
    for (int d = 0; d < 3; d++)
        hcy_buffer_release(buffers[d]);
    return status;
}
