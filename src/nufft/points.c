/* points.c - making and ending plans, and setting their points. */
#include "nufft_priv.h"
#include "sized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernel_names[N_KERNELS] = { "nufft_sort", "nufft_spread", "nufft_interp",
                                                     "nufft_crop", "nufft_pad",    "nufft_modes",
                                                     "nufft_grid", "nufft_scale" };

static int upload(hcy_buffer **buf, hcy_device *dev, const void *data, size_t size)
{
    int status = hcy_buffer_create(buf, dev, HCY_MEM_DEVICE, size);
    return status ? status : hcy_buffer_write_now(*buf, 0, data, size);
}

/* --- Creating --- */

static int check_desc(const hcy_nufft_desc *d)
{
    bool single = d->precision == HCY_F32;
    double reach = single ? 0x1p-23 : 0x1p-52;
    if (d->type < 1 || d->type > 3)
        return hcy_fail(HCY_EINVAL, "%d is no type of non-uniform FFT (1, 2, 3)", d->type);
    if (d->dim < 1 || d->dim > 3)
        return hcy_fail(HCY_EINVAL, "%d dimensions; 1, 2 and 3 are possible", d->dim);
    if (d->precision != HCY_F32 && d->precision != HCY_F64)
        return hcy_fail(HCY_EINVAL, "%d is no precision (HCY_F32, HCY_F64)", d->precision);
    if (d->n_transforms < 1)
        return hcy_fail(HCY_EINVAL, "%lld transforms; 1 at least", (long long)d->n_transforms);
    if (!(d->eps > 0)) /* NaN too */
        return hcy_fail(HCY_EINVAL, "an eps of %g is not above 0", d->eps);
    if (d->eps < reach)
        return hcy_fail(HCY_ERANGE, "an eps of %g is below what %s can reach, %.2g", d->eps,
                        single ? "float" : "double", reach);
    for (int a = 0; a < d->dim && d->type != 3; a++)
        if (d->modes[a] < 1)
            return hcy_fail(HCY_EINVAL, "%lld modes on axis %d; 1 at least", (long long)d->modes[a], a);
    return 0;
}

static int check_options(const hcy_nufft_options *o, const hcy_nufft_desc *desc)
{
    bool some = false, all = true;
    for (int d = 0; d < desc->dim; d++) {
        some = some || o->grid[d];
        all = all && o->grid[d];
    }
    if (o->upsampling != 0 && !(o->upsampling > 1 && o->upsampling <= 8))
        return hcy_fail(HCY_EINVAL, "an upsampling of %g: above 1 to 8, or 0", o->upsampling);
    if (o->width && (o->width < HCY_NUFFT_MIN_WIDTH || o->width > HCY_NUFFT_MAX_WIDTH))
        return hcy_fail(HCY_EINVAL, "a window of %u cells: %u to %u, or 0", o->width, HCY_NUFFT_MIN_WIDTH,
                        HCY_NUFFT_MAX_WIDTH);
    if (o->order != HCY_NUFFT_CENTRED && o->order != HCY_NUFFT_ZERO_FIRST)
        return hcy_fail(HCY_EINVAL, "%d is no order of modes", o->order);
    if (o->method < HCY_NUFFT_AUTO || o->method > HCY_NUFFT_DIRECT)
        return hcy_fail(HCY_EINVAL, "%d is no method (HCY_NUFFT_AUTO, HCY_NUFFT_GRID, HCY_NUFFT_DIRECT)", o->method);
    if (some && (!all || desc->type == 3))
        return hcy_fail(HCY_EINVAL, "a grid is given %s", all ? "to a type 3" : "for some axes only");
    return 0;
}

/* The caller's two structs, whatever their version, in one form. */
static int read_request(hcy_nufft_desc *desc, hcy_nufft_options *opts, const hcy_nufft_desc *user,
                        const hcy_nufft_options *user_opts)
{
    int status = hcy__sized_read(desc, sizeof *desc, user, "hcy_nufft_desc");
    if (!status && user_opts)
        status = hcy__sized_read(opts, sizeof *opts, user_opts, "hcy_nufft_options");
    if (!status)
        status = check_desc(desc);
    if (!status)
        status = check_options(opts, desc);
    desc->sign = desc->sign < 0 ? -1 : 1;
    for (int d = 0; d < 3; d++) /* whoever copies a desc need not ask which of them count */
        desc->modes[d] = desc->type != 3 && d < desc->dim ? desc->modes[d] : 1;
    return status;
}

static int set_modes(hcy_nufft *p)
{
    const hcy_nufft_desc *desc = &p->desc;
    size_t bytes = 0;
    p->job = (hcy_nufft_job){ .dim = (uint32_t)desc->dim,
                              .precision = (uint32_t)desc->precision,
                              .flags = (p->opts.deterministic ? HCY_NUFFT_FIXED_ORDER : 0u) |
                                       (p->opts.order ? HCY_NUFFT_FFT_ORDER : 0u),
                              .sign = desc->sign,
                              .modes = { 1, 1, 1 },
                              .grid = { 1, 1, 1 } };
    p->n_modes = 1;
    int status = 0;
    for (int d = 0; d < 3 && !status; d++) {
        p->job.modes[d] = (uint64_t)desc->modes[d];
        status = hcy_size_mul(&p->n_modes, p->n_modes, (size_t)desc->modes[d]);
    }
    if (!status)
        status = hcy_size_mul(&bytes, p->n_modes, 16);
    if (!status)
        status = hcy_size_mul(&bytes, bytes, p->n_transforms);
    return status ? hcy_fail(status, "the modes are more than can be addressed") : 0;
}

static int get_kernels(hcy_nufft *p)
{
    for (int i = 0; i < N_KERNELS; i++) {
        bool needed = i != TO_MODES && i != TO_GRID;
        int status = needed || !p->opts.separate_fft ? hcy_kernel_get(&p->kernels[i], p->dev, kernel_names[i])
                                                     : HCY_EUNSUPPORTED;
        if (status && (needed || status != HCY_EUNSUPPORTED))
            return status;
        if (status)
            p->kernels[i] = NULL;
    }
    if (!p->kernels[TO_MODES] && !(hcy_device_get_info(p->dev)->caps & HCY_CAP_FFT))
        return hcy_fail(HCY_EUNSUPPORTED, "%s has no FFT", hcy_device_get_info(p->dev)->name);
    return 0;
}

int hcy_nufft_create(hcy_nufft **out, hcy_device *dev, const hcy_nufft_desc *user, const hcy_nufft_options *user_opts)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options opts = HCY_NUFFT_OPTIONS_INIT;
    if (!out || !dev)
        return hcy_fail(HCY_EINVAL, "hcy_nufft_create: %s", out ? "no device" : "no place for the plan");
    int status = read_request(&desc, &opts, user, user_opts);
    if (!status)
        status = hcy_fork_check();
    if (status)
        return status;
    hcy_nufft *p = calloc(1, sizeof *p);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a plan");
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->grid_lock, NULL);
    hcy__nufft_born(p);
    p->dev = hcy_device_retain(dev);
    p->desc = desc;
    p->opts = opts;
    p->may_be_direct = !opts.upsampling && !opts.width && !opts.grid[0] && !opts.separate_fft;
    p->n_transforms = (size_t)desc.n_transforms;
    p->batch = opts.max_batch ? opts.max_batch : 4;
    p->batch = p->batch < p->n_transforms ? p->batch : p->n_transforms;
    status = set_modes(p);
    if (!status)
        status = get_kernels(p);
    /* What types 1 and 2 cannot have, whatever the points, is said here; the grid itself is chosen with the points. */
    if (!status && desc.type != 3)
        status = hcy__nufft_choose(p, p->n_modes);
    if (!status && desc.type != 3)
        p->job.grid[0] = p->job.grid[1] = p->job.grid[2] = 0;
    if (status)
        hcy_nufft_destroy(p);
    else
        *out = p;
    return status;
}

static void drop(hcy_buffer **buf)
{
    hcy_buffer_release(*buf);
    *buf = NULL;
}

/* All but a queue: the next points' sort wants one. */
void hcy__nufft_forget(hcy_nufft *p)
{
    struct hcy__nufft_work *kept = p->free_work, *next;
    for (struct hcy__nufft_work *w = kept ? kept->next : NULL; w; w = next) {
        next = w->next;
        hcy__nufft_free_work(w);
    }
    if (kept)
        hcy__nufft_free_memory(kept);
    drop(&p->before);
    drop(&p->after);
    hcy_nufft_destroy(p->inner);
    p->inner = NULL;
    for (size_t i = 0; p->each && i < p->n_transforms; i++)
        hcy_nufft_destroy(p->each[i]);
    free(p->each);
    p->each = NULL;
    hcy_event_release(p->sorting);
    p->sorting = NULL;
    hcy__nufft_free_direct(p->direct);
    p->direct = NULL;
    hcy_nufft_destroy(p->gridded);
    p->gridded = NULL;
    hcy__nufft_free_pieces(p->pieces);
    p->pieces = NULL;
    drop(&p->sorted);
    p->ready = false;
}

static void release_fft(hcy_nufft *p)
{
    hcy_fft_release(p->fft);
    hcy_fft_release(p->first_axis);
    p->fft = p->first_axis = NULL;
}

void hcy_nufft_destroy(hcy_nufft *p)
{
    if (!p || hcy_fork_check() || !hcy__nufft_dies(p)) /* in a child nothing can be given back */
        return;
    hcy__nufft_forget(p);
    hcy__nufft_free_work(p->free_work);
    drop(&p->table);
    drop(&p->factors);
    drop(&p->report);
    release_fft(p);
    for (int i = 0; i < N_KERNELS; i++)
        hcy_kernel_release(p->kernels[i]);
    hcy_device_release(p->dev);
    pthread_mutex_destroy(&p->grid_lock);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* --- Tables --- */

int hcy__nufft_upload_reals(hcy_buffer **buf, const hcy_nufft *p, double *values, size_t n)
{
    drop(buf);
    if (p->desc.precision == HCY_F32)
        for (size_t i = 0; i < n; i++) { /* in place: never ahead of what is still to be read */
            float single = (float)values[i];
            memcpy((char *)values + i * sizeof single, &single, sizeof single);
        }
    return upload(buf, p->dev, values, n * hcy__nufft_real(p));
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
    release_fft(p);
    desc.precision = p->desc.precision;
    desc.rank = p->desc.dim;
    desc.batch = p->batch;
    desc.flags = p->opts.deterministic ? HCY_FFT_DETERMINISTIC : 0;
    for (int d = 0; d < p->desc.dim; d++)
        desc.n[d] = (size_t)grid[d];
    size_t planes = (size_t)(p->job.modes[0] - p->job.modes[0] / 2);
    if (p->desc.dim < 3 || p->opts.separate_fft || 2 * planes > grid[0])
        return hcy_fft_create(&p->fft, p->dev, &desc);
    hcy_fft_desc others = desc;
    p->planes = planes;
    desc.rank = 1;
    desc.inner = (size_t)(grid[1] * grid[2]);
    others.rank = 2;
    others.n[0] = (size_t)grid[1];
    others.n[1] = (size_t)grid[2];
    others.batch = planes;
    int status = hcy_fft_create(&p->first_axis, p->dev, &desc);
    return status ? status : hcy_fft_create(&p->fft, p->dev, &others);
}

int hcy__nufft_tables(hcy_nufft *p, bool factors)
{
    double table[HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH];
    hcy__window_init(&p->window, p->job.width, p->upsampling);
    hcy__window_table(&p->window, table);
    int status =
        hcy__nufft_upload_reals(&p->table, p, table, HCY_NUFFT_COEFS(p->job.width) * HCY_NUFFT_MAX_WIDTH);
    if (!status && factors)
        status = make_factors(p);
    if (!status && factors && !p->kernels[TO_MODES])
        status = make_fft(p);
    return status;
}

/* --- Points --- */

/* Points that the device reads where they are, or copies of them. */
static int point_buffers(hcy_buffer *buffers[3], hcy_nufft *p, size_t n, const void *const *points)
{
    size_t bytes = n * (p->job.flags & HCY_NUFFT_WIDE_POINTS ? sizeof(double) : hcy__nufft_real(p));
    const uint32_t in_place = HCY_CAP_HOST_MEMORY | HCY_CAP_IMPORT_HOST;
    bool import = (hcy_device_get_info(p->dev)->caps & in_place) == in_place;
    int status = 0;
    for (int d = 0; d < 3 && !status; d++) {
        if (d >= p->desc.dim)
            buffers[d] = hcy_buffer_retain(buffers[0]);
        else if (import)
            status =
                hcy_buffer_import_host(&buffers[d], p->dev, (void *)(uintptr_t)points[d], bytes, NULL, NULL);
        else
            status = upload(&buffers[d], p->dev, points[d], bytes);
    }
    return status;
}

/* The sort, and what it reports; without a place for that nothing is waited for. */
static int launch_sort(hcy_nufft *p, hcy_buffer *const points[3], hcy_nufft_report *report)
{
    struct hcy__nufft_work *w;
    hcy_nufft_job job = p->job;
    hcy_arg args[6] = { hcy_arg_buf(points[0]),           hcy_arg_buf(points[1]), hcy_arg_buf(points[2]),
                        hcy_arg_struct(&job, sizeof job), hcy_arg_buf(p->report), hcy_arg_buf(NULL) };
    size_t size;
    int status = hcy_kernel_scratch_size(p->kernels[SORT], p->n_points, args, 6, &size);
    if (!status)
        status = hcy_buffer_create(&p->sorted, p->dev, HCY_MEM_DEVICE, size);
    if (!status)
        status = hcy__nufft_take_work(&w, p, true);
    if (status)
        return status;
    args[5] = hcy_arg_buf(p->sorted);
    status = hcy_launch(w->queue, p->kernels[SORT], p->n_points, args, 6);
    if (!status)
        status = report ? hcy_buffer_read(w->queue, report, p->report, 0, sizeof *report)
                        : hcy_event_record(&p->sorting, w->queue);
    int finished = report || status ? hcy_queue_finish(w->queue) : 0;
    hcy__nufft_give_work(w, p);
    return status ? status : finished;
}

int hcy__nufft_bad_point(const hcy_nufft *p, size_t point)
{
    return hcy_fail(HCY_EINVAL, "point %zu has a coordinate that is no number, infinite or out of range",
                    point + p->first_number);
}

/* waits: the points may go when this returns. */
static int sort_buffers(hcy_nufft *p, size_t n, hcy_buffer *const buffers[3], bool waits)
{
    hcy_nufft_report report;
    int status = 0;
    p->n_points = n;
    p->job.n_points = n;
    if (!n)
        return 0;
    if (!p->report)
        status = hcy_buffer_create(&p->report, p->dev, HCY_MEM_DEVICE, sizeof report);
    if (!status)
        status = launch_sort(p, buffers, waits || p->opts.check_points ? &report : NULL);
    if (status || !p->opts.check_points || report.first_bad == UINT64_MAX)
        return status;
    return hcy__nufft_bad_point(p, (size_t)report.first_bad);
}

int hcy__nufft_sort(hcy_nufft *p, size_t n, const void *const *points)
{
    hcy_buffer *buffers[3] = { NULL, NULL, NULL };
    int status = n ? point_buffers(buffers, p, n, points) : 0;
    if (!status)
        status = sort_buffers(p, n, buffers, true);
    for (int d = 0; d < 3; d++)
        hcy_buffer_release(buffers[d]);
    return status;
}

static int check_end(const hcy_nufft *p, int64_t n, const void *const *points, const char *what)
{
    if (n < 0)
        return hcy_fail(HCY_EINVAL, "%lld %s", (long long)n, what);
    if (n > (int64_t)UINT32_MAX - 64)
        return hcy_fail(HCY_ERANGE, "%lld %s; %lld are the most", (long long)n, what,
                        (long long)UINT32_MAX - 64);
    for (int d = 0; n && d < p->desc.dim; d++)
        if (!points || !points[d])
            return hcy_fail(HCY_EINVAL, "%s have no coordinates on axis %d", what, d);
    return 0;
}

int hcy__nufft_check_points(const hcy_nufft *p, int64_t n_points, const void *const *points, int64_t n_targets,
                            const void *const *targets)
{
    int status = check_end(p, n_points, points, "points");
    return status || p->desc.type != 3 ? status : check_end(p, n_targets, targets, "targets");
}

/* Window, grid and tables for so many points on the device. */
static int prepare(hcy_nufft *p, size_t n)
{
    hcy_nufft_job before = p->job;
    int status = hcy__nufft_choose(p, n ? n : 1);
    bool same =
        p->table && before.width == p->job.width && !memcmp(before.grid, p->job.grid, sizeof before.grid);
    if (!status && !same)
        status = hcy__nufft_tables(p, true);
    if (status)
        p->job.grid[0] = 0; /* made anew the next time */
    return status;
}

/* Types 1 and 2, from host memory: summed directly, in pieces, or all at once. */
static int set_host_points(hcy_nufft *p, size_t n, const void *const *points)
{
    hcy_nufft q = { .dev = p->dev, .desc = p->desc, .opts = p->opts, .job = p->job };
    size_t length;
    int status = hcy__nufft_choose(&q, n ? n : 1);
    if (!status && hcy__nufft_is_direct(p, n, 0, hcy__nufft_cost(&q.job, n))) {
        drop(&p->table); /* it may be another grid's */
        p->job = q.job;
        p->upsampling = q.upsampling;
        return hcy__nufft_set_direct(p, points, NULL);
    }
    if (!status)
        status = hcy__nufft_piece_length(p, n, &length);
    if (status)
        return status;
    if (!length) {
        status = prepare(p, n);
        return status ? status : hcy__nufft_sort(p, n, points);
    }
    drop(&p->table);
    drop(&p->factors);
    return hcy__nufft_set_pieces(p, points, NULL, length);
}

static int end_points(hcy_nufft *p, int status)
{
    if (status)
        hcy__nufft_forget(p);
    p->ready = !status;
    return status;
}

int hcy_nufft_set_points(hcy_nufft *p, int64_t n_points, const void *const *points, int64_t n_targets,
                         const void *const *targets)
{
    int status = hcy__nufft_alive(p);
    if (!status)
        status = hcy__nufft_check_points(p, n_points, points, n_targets, targets);
    if (status)
        return status;
    hcy__nufft_forget(p);
    p->n_targets = p->desc.type == 3 ? (size_t)n_targets : 0;
    p->n_points = (size_t)n_points;
    if (p->desc.type == 3)
        return end_points(p, hcy__nufft_set_type3(p, (size_t)n_points, points, (size_t)n_targets, targets));
    return end_points(p, set_host_points(p, (size_t)n_points, points));
}

int hcy_nufft_set_point_buffers(hcy_nufft *p, int64_t n_points, hcy_buffer *const *points)
{
    int status = hcy__nufft_alive(p);
    if (!status && p->desc.type == 3)
        status = hcy_fail(HCY_EUNSUPPORTED, "points of type 3 must be in host memory");
    if (!status)
        status = hcy__nufft_check_points(p, n_points, (const void *const *)points, 0, NULL);
    for (int d = 0; !status && n_points && d < p->desc.dim; d++)
        if (hcy_buffer_device(points[d]) != p->dev ||
            hcy_buffer_size(points[d]) < (size_t)n_points * hcy__nufft_real(p))
            status = hcy_fail(HCY_EINVAL, "coordinates on axis %d are on another device, or fewer than %lld", d,
                              (long long)n_points);
    if (status)
        return status;
    hcy__nufft_forget(p);
    status = prepare(p, (size_t)n_points);
    hcy_buffer *const buffers[3] = { n_points ? points[0] : NULL, n_points ? points[p->desc.dim > 1] : NULL,
                                     n_points ? points[p->desc.dim > 2 ? 2 : 0] : NULL };
    return end_points(p, status ? status : sort_buffers(p, (size_t)n_points, buffers, false));
}

/* A plan of one vector for each transform. */
static int make_each(hcy_nufft *p)
{
    hcy_nufft_desc one = p->desc;
    one.n_transforms = 1;
    p->each = calloc(p->n_transforms, sizeof *p->each);
    if (!p->each)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu transforms", p->n_transforms);
    for (size_t i = 0; i < p->n_transforms; i++) {
        int status = hcy_nufft_create(&p->each[i], p->dev, &one, &p->opts);
        if (status)
            return status;
        p->each[i]->owner = p;
    }
    return 0;
}

/* One grid for all of them, of types 1 and 2, for stages: that for as many points as they have on average. */
static int share_grid(hcy_nufft *p, const int64_t *n_points)
{
    double mean = 0;
    bool direct = true;
    for (size_t i = 0; i < p->n_transforms; i++)
        mean += fmax((double)n_points[i], 0) / (double)p->n_transforms;
    size_t n = mean < (double)UINT32_MAX ? (size_t)mean : UINT32_MAX;
    int status = hcy__nufft_choose(p, n ? n : 1);
    double grid_ns = hcy__nufft_cost(&p->job, n);
    for (size_t i = 0; i < p->n_transforms && !status; i++)
        direct = direct && n_points[i] > 0 && hcy__nufft_is_direct(p, (size_t)n_points[i], 0, grid_ns);
    drop(&p->table); /* of another grid */
    for (size_t i = 0; i < p->n_transforms && !status; i++) {
        hcy_nufft *e = p->each[i], *first = p->each[0];
        for (int d = 0; d < p->desc.dim; d++)
            e->opts.grid[d] = (size_t)p->job.grid[d];
        e->opts.width = p->job.width;
        e->job = p->job;
        e->upsampling = p->upsampling;
        if (direct)
            continue;
        if (i) {
            e->table = hcy_buffer_retain(first->table);
            e->factors = hcy_buffer_retain(first->factors);
            e->fft = first->fft ? hcy_fft_retain(first->fft) : NULL;
        } else {
            status = hcy__nufft_tables(e, true);
        }
    }
    return status;
}

int hcy_nufft_set_points_each(hcy_nufft *p, const int64_t *n_points, const void *const *points,
                              const int64_t *n_targets, const void *const *targets)
{
    int status = hcy__nufft_alive(p);
    if (!status && (!n_points || !points || (p->desc.type == 3 && (!n_targets || !targets))))
        status = hcy_fail(HCY_EINVAL, "hcy_nufft_set_points_each: no points, or no targets");
    if (status)
        return status;
    hcy__nufft_forget(p);
    status = make_each(p);
    if (!status && p->desc.type != 3)
        status = share_grid(p, n_points);
    for (size_t i = 0; i < p->n_transforms && !status; i++) {
        size_t at = i * (size_t)p->desc.dim;
        status = hcy_nufft_set_points(p->each[i], n_points[i], points + at, p->desc.type == 3 ? n_targets[i] : 0,
                                      p->desc.type == 3 ? targets + at : NULL);
        if (status)
            status = hcy_fail(status, "transform %zu: %s", i, hcy_last_error()->text);
    }
    return end_points(p, status);
}

int hcy_nufft_get_info(hcy_nufft_info *out, const hcy_nufft *p)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    int status = hcy__nufft_alive(p);
    if (status)
        return status;
    if (p->pieces)
        return hcy__nufft_pieces_info(out, p);
    size_t points = p->sorted ? hcy_buffer_size(p->sorted) : 0;
    for (size_t i = 0; p->each && i < p->n_transforms; i++)
        points += p->each[i]->sorted ? hcy_buffer_size(p->each[i]->sorted) : 0;
    p = p->each ? p->each[0] : p;
    info.type = p->desc.type;
    info.dim = p->desc.dim;
    info.precision = p->desc.precision;
    info.width = p->job.width;
    info.upsampling = p->upsampling;
    info.direct = p->direct != NULL;
    info.point_bytes = points;
    info.grid_bytes = p->ready ? p->batch * 2 * hcy__nufft_real(p) : 0;
    info.variant = hcy_kernel_variant(p->kernels[SPREAD]);
    for (int d = 0; d < p->desc.dim; d++) {
        info.grid[d] = p->ready ? (size_t)p->job.grid[d] : 0;
        info.grid_bytes *= (size_t)p->job.grid[d];
    }
    return hcy__sized_write(out, &info, sizeof info, "hcy_nufft_info");
}
