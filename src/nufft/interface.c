/* interface.c - the public functions of plans: making and ending them, their points, whole executions.
 *
 * Whoever makes a plan owns it.  Setting points has it for itself and chooses its way; from then on executions, by any
 * number of threads, only read it, but for its list of free work, which has a lock.
 */
#include "nufft_priv.h"

#include "hal_priv.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>

static const char *const kernel_names[N_KERNELS] = { "nufft_sort", "nufft_spread", "nufft_interp",
                                                     "nufft_crop", "nufft_pad",    "nufft_modes",
                                                     "nufft_grid", "nufft_scale", "nufft_lines",
                                                     "nufft_slopes", "nufft_axes" };

/* --- Making and ending --- */

static int check_transform(const hcy_nufft_desc *d)
{
    bool single = d->precision == HCY_F32;
    double reach = single ? 0x1p-23 : 0x1p-52;
    if (d->type < 1 || d->type > 3)
        return hcy_fail(HCY_EINVAL, "%d is not a type of non-uniform FFT (1, 2, 3)", d->type);
    if (d->dim < 1 || d->dim > 3)
        return hcy_fail(HCY_EINVAL, "%d dimensions; 1, 2 and 3 are possible", d->dim);
    if (d->precision != HCY_F32 && d->precision != HCY_F64)
        return hcy_fail(HCY_EINVAL, "%d is not a precision (HCY_F32, HCY_F64)", d->precision);
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

static int check_how(const hcy_nufft_options *o, const hcy_nufft_desc *desc)
{
    bool some = false, all = true;
    /* A grid is the user's on all axes or on none: the window's width follows from the upsampling of all. */
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
        return hcy_fail(HCY_EINVAL, "%d is not an order of modes", o->order);
    if (o->method < HCY_NUFFT_AUTO || o->method > HCY_NUFFT_DIRECT)
        return hcy_fail(HCY_EINVAL, "%d is not a method (HCY_NUFFT_AUTO, HCY_NUFFT_GRID, HCY_NUFFT_DIRECT)", o->method);
    if (o->deterministic < 0 || o->deterministic > HCY_NUFFT_SAME_EVERYWHERE)
        return hcy_fail(HCY_EINVAL, "deterministic is %d: 0, HCY_NUFFT_SAME_RUNS (1) or HCY_NUFFT_SAME_EVERYWHERE (2)",
                        o->deterministic);
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
        status = check_transform(desc);
    if (!status)
        status = check_how(opts, desc);
    /* Any sign is taken, as by FINUFFT; only -1 and 1 go on. */
    desc->sign = desc->sign < 0 ? -1 : 1;
    for (int d = 0; d < 3; d++) /* whoever copies a desc need not ask which of them count */
        desc->modes[d] = desc->type != 3 && d < desc->dim ? desc->modes[d] : 1;
    return status;
}

static uint32_t order_flag(const hcy_nufft *p)
{
    if (hcy__nufft_is_same(p))
        return HCY_NUFFT_SAME_BITS;
    return p->opts.deterministic ? HCY_NUFFT_FIXED_ORDER : 0;
}

static int set_modes(hcy_nufft *p)
{
    const hcy_nufft_desc *desc = &p->desc;
    size_t bytes = 0;
    p->job = (hcy_nufft_job){ .dim = (uint32_t)desc->dim,
                              .precision = (uint32_t)desc->precision,
                              .flags = order_flag(p) | (p->opts.order ? HCY_NUFFT_FFT_ORDER : 0u),
                              .sign = desc->sign,
                              .modes = { 1, 1, 1 },
                              .grid = { 1, 1, 1 } };
    /* The product is checked here once, with the largest number of 16 bytes, so nobody multiplies modes with care
     * again. */
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

int hcy__nufft_lacks(const hcy_nufft *p, int kernel)
{
    return hcy_fail(HCY_EUNSUPPORTED, "%s lacks the kernel %s, which this transform of type %d takes",
                    hcy_device_get_info(p->dev)->name, kernel_names[kernel], p->desc.type);
}

bool hcy__nufft_has_fft(const hcy_nufft *p)
{
    return (hcy_device_get_info(p->dev)->caps & HCY_CAP_FFT) != 0;
}

bool hcy__nufft_goes_by_lines(const hcy_nufft *p)
{
    return hcy__nufft_is_same(p) || p->has_own_lines;
}

/* Whether the device has all that the plan's own direction takes; what only the adjoint does is missed when somebody
 * asks for that (grid.c).  A plan of type 3 has a type 2 for its transforms, which asks for itself. */
static int check_kernels(const hcy_nufft *p)
{
    /* Types 1 and 3 spread to the grid, type 2 interpolates from it; modes are then cut out or put in. */
    const int move = p->desc.type == 2 ? INTERP : SPREAD;
    const int at_once = p->desc.type == 2 ? TO_GRID : TO_MODES, apart = p->desc.type == 2 ? PAD : CROP;
    const char *name = hcy_device_get_info(p->dev)->name;
    if (!p->kernels[SORT] || !p->kernels[move])
        return hcy__nufft_lacks(p, p->kernels[SORT] ? move : SORT);
    if (p->desc.type == 3)
        return p->kernels[SCALE] ? 0 : hcy__nufft_lacks(p, SCALE);
    if (p->kernels[at_once])
        return 0;
    /* A vendor's transform has its own bits. */
    if (hcy__nufft_is_same(p) && !p->kernels[LINES])
        return hcy_fail(HCY_EUNSUPPORTED, "%s has neither the kernel %s nor %s, one of which the same bits everywhere take%s",
                        name, kernel_names[at_once], kernel_names[LINES],
                        p->opts.separate_fft ? "; separate_fft leaves out the first" : "");
    if (hcy__nufft_is_same(p))
        return p->kernels[apart] ? 0 : hcy__nufft_lacks(p, apart);
    if (!hcy__nufft_has_fft(p) && !p->kernels[LINES] && p->opts.separate_fft)
        return hcy_fail(HCY_EUNSUPPORTED, "%s has no FFT, which separate_fft asks for", name);
    if (!hcy__nufft_has_fft(p) && !p->kernels[LINES])
        return hcy_fail(HCY_EUNSUPPORTED, "%s has no FFT, nor the kernel %s or %s in its place", name,
                        kernel_names[at_once], kernel_names[LINES]);
    return p->kernels[apart] ? 0 : hcy__nufft_lacks(p, apart);
}

/* A grid's own lines leave out what is zero or cut away, which transforms of such kernels in general do not. */
static bool has_own_lines(const hcy_nufft *p)
{
    int64_t own = 0;
    if (!p->kernels[LINES])
        return false;
    return !hcy__nufft_has_fft(p) || (!hcy_device_get_i64(&own, p->dev, "own_fft") && own);
}

static int get_kernels(hcy_nufft *p)
{
    for (int i = 0; i < N_KERNELS; i++) {
        /* separate_fft hides the kernels that would transform at once, so all else falls back to the device's FFT. */
        const bool wanted = !p->opts.separate_fft || (i != TO_MODES && i != TO_GRID);
        int status = wanted ? hcy_kernel_get(&p->kernels[i], p->dev, kernel_names[i]) : HCY_EUNSUPPORTED;
        /* A kernel that is not there may not be needed; any other failure is the device's. */
        if (status && status != HCY_EUNSUPPORTED)
            return status;
        if (status)
            p->kernels[i] = NULL;
    }
    p->has_own_lines = has_own_lines(p);
    return check_kernels(p);
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
    /* From here on hcy_nufft_destroy() takes the plan apart, however far it came. */
    hcy_nufft *p = calloc(1, sizeof *p);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a plan");
    pthread_mutex_init(&p->lock, NULL);
    hcy__nufft_born(p);
    p->dev = hcy_device_retain(dev);
    p->desc = desc;
    p->opts = opts;
    /* What is weighed against a device's time, or made to fit its memory, would differ from device to device. */
    p->may_be_direct = !opts.upsampling && !opts.width && !opts.grid[0] && !opts.separate_fft && !hcy__nufft_is_same(p);
    p->whole = hcy__nufft_is_same(p);
    p->n_transforms = (size_t)desc.n_transforms;
    p->batch = hcy__nufft_batch(p, 0);
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

void hcy__nufft_forget(hcy_nufft *p)
{
    /* One work keeps its queue, which the next points' sort wants: making one takes longer than sorting few points. */
    struct hcy__nufft_work *kept = p->free_work, *next;
    for (struct hcy__nufft_work *w = kept ? kept->next : NULL; w; w = next) {
        next = w->next;
        hcy__nufft_free_work(w);
    }
    if (kept)
        hcy__nufft_free_memory(kept);
    if (p->way)
        p->way->forget(p);
    p->way = NULL;
    p->state = NULL;
    hcy_event_release(p->sorting);
    p->sorting = NULL;
    hcy__nufft_drop(&p->sorted);
    p->all_points = p->all_results = 0;
}

void hcy_nufft_destroy(hcy_nufft *p)
{
    if (!p || hcy_fork_check() || !hcy__nufft_dies(p)) /* in a child nothing can be given back */
        return;
    hcy__nufft_forget(p);
    hcy__nufft_free_work(p->free_work);
    hcy__nufft_drop_tables(p);
    hcy__nufft_drop(&p->report);
    for (int i = 0; i < N_KERNELS; i++)
        hcy_kernel_release(p->kernels[i]);
    hcy_device_release(p->dev);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* --- Points --- */

static int check_point_arrays(const hcy_nufft *p, int64_t n, const void *const *points, const char *what)
{
    if (n < 0)
        return hcy_fail(HCY_EINVAL, "%lld %s", (long long)n, what);
    /* Kernels number points by 32 bits. */
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
    int status = check_point_arrays(p, n_points, points, "points");
    return status || p->desc.type != 3 ? status : check_point_arrays(p, n_targets, targets, "targets");
}

/* Window and grid for these points, and who does it with them: what a transform would take decides. */
static int choose_way(hcy_nufft *p, const void *const *points, const void *const *targets)
{
    const bool type3 = p->desc.type == 3;
    double grid_ns = 0;
    size_t n = p->n_points;
    p->way = type3 ? &hcy__nufft_type3 : &hcy__nufft_on_grid;
    /* There is no grid to choose, and that of points before is not of these. */
    if (type3 && (!n || !p->n_targets)) {
        memset(p->job.grid, 0, sizeof p->job.grid);
        return 0;
    }
    int status = type3 ? hcy__nufft_choose_type3(p, points, targets, &grid_ns) : hcy__nufft_choose(p, n ? n : 1);
    /* Points and targets may be too far apart for any grid; a sum that was asked for does without. */
    if (status == HCY_ERANGE && type3 && p->opts.method == HCY_NUFFT_DIRECT) {
        memset(p->job.grid, 0, sizeof p->job.grid);
        status = 0;
    }
    if (!status && !type3)
        grid_ns = hcy__nufft_cost(&p->job, n);
    /* Direct sums before pieces: what is cheap without a grid needs no memory on the device either. */
    if (!status && hcy__nufft_is_direct(p, n, p->n_targets, grid_ns)) {
        p->way = &hcy__nufft_direct;
        return 0;
    }
    if (!status)
        status = hcy__nufft_piece_length(p, &p->piece_length);
    if (!status && p->piece_length)
        p->way = &hcy__nufft_pieces;
    return status;
}

/* Points are set as a whole: after a failure none is. */
static int end_points(hcy_nufft *p, int status)
{
    if (status)
        hcy__nufft_forget(p);
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
    /* Arguments were checked before, so a refused call leaves the old points in use; from here on they are gone. */
    hcy__nufft_forget(p);
    hcy__nufft_count_points(p, (size_t)n_points, p->desc.type == 3 ? (size_t)n_targets : 0);
    status = choose_way(p, points, targets);
    return end_points(p, status ? status : p->way->set_points(p, points, targets));
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
    hcy__nufft_count_points(p, (size_t)n_points, 0);
    /* The host does not see these points, so neither direct sums nor pieces can be made of them. */
    p->way = &hcy__nufft_on_grid;
    status = hcy__nufft_choose(p, n_points ? (size_t)n_points : 1);
    if (!status)
        status = hcy__nufft_grid_tables(p);
    /* The kernels take three axes; those that the transform lacks are the first one again. */
    hcy_buffer *buffers[3] = { NULL, NULL, NULL };
    for (int d = 0; n_points && d < 3; d++)
        buffers[d] = points[d < p->desc.dim ? d : 0];
    return end_points(p, status ? status : hcy__nufft_sort_buffers(p, (size_t)n_points, buffers, false));
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
    p->way = &hcy__nufft_each;
    return end_points(p, hcy__nufft_set_each(p, n_points, points, n_targets, targets));
}

int hcy_nufft_get_info(hcy_nufft_info *out, const hcy_nufft *p)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    int status = hcy__nufft_alive(p);
    if (status)
        return status;
    info.type = p->desc.type;
    info.dim = p->desc.dim;
    info.precision = p->desc.precision;
    info.width = p->job.width;
    info.upsampling = p->upsampling;
    info.point_bytes = p->sorted ? hcy_buffer_size(p->sorted) : 0;
    /* Before points are set there is no grid, so there are no numbers of it. */
    info.grid_bytes = p->way ? p->batch * 2 * hcy__nufft_real(p) : 0;
    info.variant = hcy_kernel_variant(p->kernels[p->kernels[SPREAD] ? SPREAD : INTERP]);
    for (int d = 0; d < p->desc.dim; d++) {
        info.grid[d] = p->way ? (size_t)p->job.grid[d] : 0;
        info.grid_bytes *= (size_t)p->job.grid[d];
    }
    /* Ways with plans of their own (pieces, each) know better what was chosen. */
    if (p->way && p->way->info)
        status = p->way->info(&info, p);
    return status ? status : hcy__sized_write(out, &info, sizeof info, "hcy_nufft_info");
}

/* --- Executions --- */

int hcy__nufft_ready(const hcy_nufft *p)
{
    int status = hcy__nufft_alive(p);
    return status || p->way ? status : hcy_fail(HCY_ESTATE, "the plan has no points yet: hcy_nufft_set_points()");
}

int hcy__nufft_execute_some(hcy_nufft *p, void *c, void *f, size_t n, bool adjoint)
{
    int status = hcy__nufft_ready(p);
    if (status)
        return status;
    /* Without points NULL is fine for strengths, so what is NULL need not be what lacks. */
    const bool no_c = !c && p->all_points;
    if (no_c || (!f && p->all_results))
        return hcy_fail(HCY_EINVAL, "hcy_nufft_execute: no %s", no_c ? "strengths" : "coefficients");
    return p->way->execute(p, c, f, n, adjoint);
}

static int execute_all(hcy_nufft *p, void *c, void *f, bool adjoint)
{
    int status = hcy__nufft_alive(p);
    return status ? status : hcy__nufft_execute_some(p, c, f, p->n_transforms, adjoint);
}

int hcy_nufft_execute(hcy_nufft *p, void *c, void *f)
{
    return execute_all(p, c, f, false);
}

int hcy_nufft_execute_adjoint(hcy_nufft *p, void *c, void *f)
{
    return execute_all(p, c, f, true);
}

/* Bytes of the first n vectors of strengths, or of coefficients. */
static size_t bytes_of_some(const hcy_nufft *p, size_t n, bool of_c)
{
    /* Transforms with points of their own have vectors of their own length, and are taken all at once. */
    if (n < p->n_transforms)
        return n * hcy__nufft_vector_bytes(p, of_c);
    return (of_c ? p->all_points : p->all_results) * 2 * hcy__nufft_real(p);
}

int hcy__nufft_check_begin(const hcy_nufft *p, const hcy_buffer *a, const hcy_buffer *b)
{
    const size_t number = 2 * hcy__nufft_real(p);
    /* GPUs' kernels, of which nufft_axes is one, read complex numbers as a whole; a queue would fail, or worse. */
    const bool is_whole = (!a || hcy__begins_at_multiple(a, number)) && (!b || hcy__begins_at_multiple(b, number));
    if (is_whole || !p->kernels[AXES])
        return 0;
    return hcy_fail(HCY_EINVAL, "%s takes buffers that begin at multiples of a complex number, %zu bytes",
                    hcy_device_get_info(p->dev)->name, number);
}

int hcy__nufft_submit_some(hcy_queue *q, hcy_nufft *p, hcy_buffer *c, hcy_buffer *f, size_t n, bool adjoint)
{
    struct hcy__nufft_work *w;
    struct hcy__nufft_span at_c = { c, 0 }, at_f = { f, 0 };
    int status = hcy__nufft_ready(p);
    if (!status && !q)
        status = hcy_fail(HCY_EINVAL, "hcy_nufft_submit: no queue");
    if (status)
        return status;
    size_t c_all = bytes_of_some(p, n, true), f_all = bytes_of_some(p, n, false);
    if ((c_all && (!c || hcy_buffer_size(c) < c_all)) || (f_all && (!f || hcy_buffer_size(f) < f_all)))
        return hcy_fail(HCY_EINVAL, "hcy_nufft_submit: strengths need %zu bytes, coefficients %zu", c_all,
                        f_all);
    status = hcy__nufft_check_begin(p, c, f);
    if (!status)
        status = hcy__nufft_take_work(&w, p, q);
    if (status)
        return status;
    status = p->way->submit(q, p, w, &at_c, &at_f, n, adjoint);
    hcy__nufft_leave_work(w, p, q);
    return status;
}

int hcy_nufft_submit(hcy_queue *q, hcy_nufft *p, hcy_buffer *c, hcy_buffer *f, int adjoint)
{
    int status = hcy__nufft_alive(p);
    return status ? status : hcy__nufft_submit_some(q, p, c, f, p->n_transforms, adjoint != 0);
}

int hcy_nufft_run(hcy_device *dev, const hcy_nufft_desc *desc, int64_t n_points, const void *const *points,
                  int64_t n_targets, const void *const *targets, void *c, void *f)
{
    hcy_nufft *p;
    int status = hcy_nufft_create(&p, dev, desc, NULL);
    if (status)
        return status;
    status = hcy_nufft_set_points(p, n_points, points, n_targets, targets);
    if (!status)
        status = hcy_nufft_execute(p, c, f);
    hcy_nufft_destroy(p);
    return status;
}
