/* out_of_core.c - points that a device has no room for, with their strengths: taken to it piece by piece.
 *
 * The host keeps the points.  A plan of one vector has the points of one piece at a time; sums over points are added up
 * on the host in the order of the pieces, and what is interpolated is a piece of the strengths.  Every piece is a
 * transform of its own, so what a device must have room for is the grid, and a piece's points.
 */
#include "nufft_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 1024 }; /* points of a piece, at least */

struct pieces {
    pthread_mutex_t lock; /* of what is in the plan: one execution at a time */
    hcy_nufft *plan; /* of one vector, and the points from `at` on */
    size_t length, at;
    void *x[3], *t[3]; /* all points, and all targets */
};

static struct pieces *pieces_of(const hcy_nufft *p)
{
    return p->state;
}

/* --- How many points at a time --- */

/* Bytes of scratch that a launch over these points takes.  All arguments but the job are buffers. */
static int scratch(const hcy_nufft *p, const hcy_nufft_job *job, int kernel, size_t items, double *bytes)
{
    static const struct {
        size_t job, n;
    } at[N_KERNELS] = {
        [SORT] = { HCY_ARG_AT(nufft_sort, job), HCY_N_ARGS(nufft_sort) },
        [SPREAD] = { HCY_ARG_AT(nufft_spread, job), HCY_N_ARGS(nufft_spread) },
        [INTERP] = { HCY_ARG_AT(nufft_interp, job), HCY_N_ARGS(nufft_interp) },
        [TO_MODES] = { HCY_ARG_AT(nufft_modes, job), HCY_N_ARGS(nufft_modes) },
    };
    hcy_arg args[HCY_MAX_ARGS];
    size_t size = 0;
    int status = 0;
    /* Absent buffers are fine for a question: a kernel's scratch follows from the job and the items alone. */
    for (size_t i = 0; i < at[kernel].n; i++)
        args[i] = hcy_arg_buf(NULL);
    args[at[kernel].job] = hcy_arg_struct(job, sizeof *job);
    if (p->kernels[kernel])
        status = hcy_kernel_scratch_size(&size, p->kernels[kernel], items, args, at[kernel].n);
    *bytes = (double)size;
    return status;
}

static double grid_bytes(const hcy_nufft *p, const hcy_nufft_job *job, size_t batch)
{
    double bytes = (double)batch * 2 * (double)hcy__nufft_real(p);
    for (int d = 0; d < p->desc.dim; d++)
        bytes *= (double)job->grid[d];
    return bytes;
}

/* The larger of the scratches of what is between points and grid (type 3: and the type 2 that follows) and modes. */
static int working(const hcy_nufft *p, const hcy_nufft_job *job, const hcy_nufft_job *inner, size_t batch,
                   double *bytes)
{
    /* Launches follow one another and share the work's scratch, so the largest counts and not the sum. */
    double spread = 0, interp = 0, modes = 0;
    int status = scratch(p, job, SPREAD, batch, &spread);
    if (!status)
        status = scratch(p, inner, INTERP, batch, &interp);
    if (!status)
        status = scratch(p, inner, TO_MODES, batch, &modes);
    bool by_axes = false;
    if (!status)
        status = hcy__nufft_choose_axes(&by_axes, p, inner);
    if (!p->kernels[TO_MODES] && !by_axes)
        modes = grid_bytes(p, inner, batch); /* a general FFT's working memory: not known, about as much */
    *bytes = fmax(modes, fmax(spread, interp));
    return status;
}

/* Bytes of device memory that n points and their transform take, `batch` vectors at once. */
static int need(const hcy_nufft *p, size_t n, size_t batch, double *bytes)
{
    hcy_nufft q = { .dev = p->dev, .desc = p->desc, .opts = p->opts, .job = p->job };
    hcy_nufft_job inner;
    const double one = 2 * (double)hcy__nufft_real(p), results = (double)hcy__nufft_results(p);
    double sorted = 0, targets = 0, work = 0, coordinates = (double)n * p->desc.dim * (p->desc.type == 3 ? 8 : one / 2);
    /* A copy of the plan is asked, as the number of points may change the choice of window and grid. */
    int status = p->desc.type == 3 ? hcy__nufft_inner_job(p, &inner) : hcy__nufft_choose(&q, n ? n : 1);
    q.job.n_points = n;
    if (p->desc.type != 3)
        inner = q.job;
    if (!status)
        status = scratch(p, &q.job, SORT, n, &sorted);
    if (!status && p->desc.type == 3)
        status = scratch(p, &inner, SORT, p->n_targets, &targets);
    if (!status)
        status = working(p, &q.job, &inner, batch, &work);
    /* A batch of grids, and the strengths and results of its vectors. */
    work += grid_bytes(p, &q.job, batch) + (double)batch * one * ((double)n + results);
    if (p->desc.type == 3) { /* factors of both ends, and one end multiplied */
        targets += one * ((double)n + results);
        work += grid_bytes(p, &inner, batch) + (double)batch * one * fmax((double)n, results);
    }
    /* Coordinates are needed until the sort ends, working memory only after: the larger one counts. */
    *bytes = status ? 0 : sorted + targets + fmax(coordinates, work);
    return status;
}

/* Bytes there are for a plan. */
static double limit_of(const hcy_nufft *p)
{
    uint64_t free_bytes, total;
    hcy_pool_stats pool;
    if (p->opts.memory)
        return (double)p->opts.memory;
    /* Who cannot say how much there is gets no limit: an allocation that fails then says so. */
    if (hcy_device_mem_info(&free_bytes, &total, p->dev) || hcy_device_pool_stats(&pool, p->dev) || !total)
        return INFINITY;
    /* Free memory differs from run to run, and the length of pieces decides how sums are rounded; half of all is
     * the same always. */
    return p->opts.deterministic ? 0.5 * (double)total : 0.8 * ((double)free_bytes + (double)pool.cached);
}

/* Whether so little memory is needed that no limit can matter. */
static bool is_little(const hcy_nufft *p, size_t n)
{
    /* A generous bound from a few products: most transforms are far below it, and kernels need not be asked. */
    double vectors = (double)p->batch * 2 * (double)hcy__nufft_real(p), upsampled = pow(2.5, p->desc.dim);
    double most = (double)n * (vectors + 100) + vectors * 3 * upsampled * ((double)p->n_modes + 1e4);
    return !p->opts.memory && most < (double)hcy_device_get_info(p->dev)->memory / 16;
}

int hcy__nufft_piece_length(const hcy_nufft *p, size_t *length)
{
    const size_t n = p->n_points;
    double bytes, limit;
    *length = 0;
    if (!n || p->whole || (p->desc.type != 3 && is_little(p, n)))
        return 0;
    limit = limit_of(p);
    int status = need(p, n, p->batch, &bytes);
    if (status || bytes <= limit)
        return status;
    /* Halved until it fits with a single vector: pieces are for points, and batches are given up first. */
    *length = n;
    status = need(p, *length, 1, &bytes);
    while (!status && bytes > limit && *length > LEAST) {
        *length = *length / 2 + 1;
        status = need(p, *length, 1, &bytes);
    }
    if (!status && p->desc.type == 3 && bytes > limit)
        status = hcy_fail(HCY_ENOMEM, "%zu targets and their grid need %.3g bytes of the device, which has %.3g: fewer "
                                      "targets at a time, or points and targets nearer to each other",
                          p->n_targets, bytes, limit);
    /* Pieces of nearly the same length, so that the last one is not a small rest. */
    size_t count = (n - 1) / *length + 1;
    *length = (n - 1) / count + 1;
    return status;
}

/* --- Points --- */

static int copy_points(const hcy_nufft *p, void *copies[3], const void *const *points, size_t n)
{
    size_t bytes = n * hcy__nufft_real(p);
    for (int d = 0; d < p->desc.dim; d++) {
        copies[d] = malloc(bytes);
        if (!copies[d])
            return hcy_fail(HCY_ENOMEM, "out of memory for a copy of %zu points", n);
        memcpy(copies[d], points[d], bytes);
    }
    return 0;
}

static int set_piece(const hcy_nufft *p, struct pieces *s, size_t at)
{
    const void *x[3] = { NULL, NULL, NULL };
    size_t n = p->n_points - at < s->length ? p->n_points - at : s->length;
    /* The piece that was set last is still sorted. */
    if (s->at == at)
        return 0;
    for (int d = 0; d < p->desc.dim; d++)
        x[d] = (const char *)s->x[d] + at * hcy__nufft_real(p);
    /* Until it is set nothing is: a failure in between must not leave the old number. */
    s->at = SIZE_MAX;
    s->plan->first_number = p->first_number + at;
    int status =
        hcy_nufft_set_points(s->plan, (int64_t)n, x, (int64_t)p->n_targets, (const void *const *)s->t);
    s->at = status ? SIZE_MAX : at;
    return status;
}

static int make_piece_plan(const hcy_nufft *p, hcy_nufft **plan)
{
    hcy_nufft_desc one = p->desc;
    hcy_nufft_options o = p->opts;
    /* One vector at a time: memory is what there is too little of. */
    one.n_transforms = 1;
    o.method = HCY_NUFFT_GRID;
    int status = hcy_nufft_create(plan, p->dev, &one, &o);
    if (!status)
        /* A plan for pieces must not be cut again. */
        (*plan)->whole = true;
    return status;
}

static int set_all_pieces(hcy_nufft *p, const void *const *points, const void *const *targets)
{
    struct pieces *s = p->state = calloc(1, sizeof *s);
    if (!s)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu points", p->n_points);
    pthread_mutex_init(&s->lock, NULL);
    hcy__nufft_drop_tables(p); /* the device has no memory to spare, and the pieces' plan has its own */
    s->length = p->piece_length;
    s->at = SIZE_MAX;
    int status = copy_points(p, s->x, points, p->n_points);
    if (!status && p->desc.type == 3)
        status = copy_points(p, s->t, targets, p->n_targets);
    if (!status)
        status = make_piece_plan(p, &s->plan);
    if (!status)
        status = set_piece(p, s, 0);
    /* Bad points are said now, not in the midst of an execution; choosing type 3's grid has looked at all of them. */
    bool looks = p->opts.check_points && p->desc.type != 3;
    for (size_t at = s->length; !status && at < p->n_points && looks; at += s->length)
        status = set_piece(p, s, at);
    return status;
}

static void forget_pieces(hcy_nufft *p)
{
    struct pieces *s = pieces_of(p);
    if (!s)
        return;
    hcy_nufft_destroy(s->plan);
    for (int d = 0; d < 3; d++) {
        free(s->x[d]);
        free(s->t[d]);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* What a piece has chosen, and how many there are. */
static int tell_pieces(hcy_nufft_info *info, const hcy_nufft *p)
{
    struct pieces *s = pieces_of(p);
    /* The plan of the pieces is one for all, and an execution elsewhere may have another piece set. */
    pthread_mutex_lock(&s->lock);
    int status = hcy_nufft_get_info(info, s->plan);
    pthread_mutex_unlock(&s->lock);
    info->pieces = (p->n_points + s->length - 1) / s->length;
    return status;
}

/* --- Execution --- */

void hcy__nufft_add(void *to, const void *from, size_t n, size_t real)
{
    for (size_t i = 0; i < n && real == 8; i++)
        ((double *)to)[i] += ((const double *)from)[i];
    for (size_t i = 0; i < n && real == 4; i++)
        ((float *)to)[i] += ((const float *)from)[i];
}

/* The piece that is set, of one vector; coefficients are added to but for the first piece's. */
static int run_piece(const hcy_nufft *p, const struct pieces *s, char *c, char *f, char *sums, bool adjoint)
{
    /* Strengths have places of their own in each piece; coefficients are sums over all of them. */
    bool adds = (p->desc.type == 2) == adjoint && s->at;
    int status = hcy__nufft_execute_some(s->plan, c + s->at * 2 * hcy__nufft_real(p), adds ? sums : f, 1, adjoint);
    if (!status && adds)
        hcy__nufft_add(f, sums, 2 * hcy__nufft_results(p), hcy__nufft_real(p));
    return status;
}

static int execute_pieces(hcy_nufft *p, char *c, char *f, size_t n_vectors, bool adjoint)
{
    struct pieces *s = pieces_of(p);
    size_t complex_ = 2 * hcy__nufft_real(p), results = hcy__nufft_results(p);
    char *sums = malloc(results * complex_);
    int status = sums ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for the sums of %zu coefficients", results);
    /* Executions of one plan take turns here, and a piece is set once for all vectors. */
    pthread_mutex_lock(&s->lock);
    for (size_t at = 0; !status && at < p->n_points; at += s->length) {
        status = set_piece(p, s, at);
        for (size_t v = 0; !status && v < n_vectors; v++)
            status = run_piece(p, s, c + v * p->n_points * complex_, f + v * results * complex_, sums, adjoint);
    }
    pthread_mutex_unlock(&s->lock);
    free(sums);
    return status;
}

/* The host adds up what pieces come to, so nothing can be left to a queue. */
static int refuse_pieces(const hcy_nufft *p)
{
    return hcy_fail(HCY_ENOMEM, "the device has no room for %zu points at once: execute from host memory",
                    p->n_points);
}

static int submit_pieces(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, struct hcy__nufft_span *c,
                         struct hcy__nufft_span *f, size_t n, bool adjoint)
{
    (void)q, (void)w, (void)c, (void)f, (void)n, (void)adjoint;
    return refuse_pieces(p);
}

static int submit_pieces_stage(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage,
                               struct hcy__nufft_span *from, struct hcy__nufft_span *to)
{
    (void)q, (void)w, (void)stage, (void)from, (void)to;
    return refuse_pieces(p);
}

const struct hcy__nufft_way hcy__nufft_pieces = { set_all_pieces,      execute_pieces, submit_pieces,
                                                  submit_pieces_stage, tell_pieces,    forget_pieces };
