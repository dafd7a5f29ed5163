/* nufft.c - the kernels of the family nufft: points sorted, subproblems shared out to threads.
 *
 * A kernel runs on its queue's thread and spreads itself over the device's pool; what it keeps between
 * launches is the buffer `sorted`. Parts of the fine grid that neighbouring subproblems add to are guarded
 * slab by slab (a slab: the bins of one place on the slowest axis); with HCY_NUFFT_FIXED_ORDER a slab also
 * takes its subproblems in their order.  That cannot deadlock: threads take subproblems in their order, so
 * one only waits for those under way.
 */
#include "cpu_nufft.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x6873617466756eull
enum { SEGMENTS = 4, ALIGN = 64 };

/* A subproblem: points [begin, end) in a bin. turn: how many come before it in the slabs it adds to, from
 * its own slab on. */
struct sub {
    uint32_t bin, begin, end, turn[SEGMENTS];
};

/* `sorted`; offsets from its start. */
struct sorted {
    uint64_t magic, n_points, n_subs, cells;
    uint64_t subs, records, keys, counts, size;
    uint32_t ranges; /* in which keys are counted */
};

const struct nufft_ops *nufft_ops(enum cpu_simd simd, bool is_double)
{
#ifdef HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        return &nufft_ops_avx512[is_double];
    if (simd >= CPU_SIMD_AVX2)
        return &nufft_ops_avx2[is_double];
#endif
    (void)simd;
    return &nufft_ops_portable[is_double];
}

/* --- Layouts --- */

static uint32_t log_up(uint64_t n)
{
    uint32_t log = 0;
    while ((uint64_t)1 << log < n)
        log++;
    return log;
}

/* Sizes of bins, as powers of 2, from the fastest axis on: small grids that fit the first or second cache. */
static const uint8_t bin_logs[2][3][3] = { { { 12 }, { 6, 5 }, { 4, 4, 4 } },
                                           { { 11 }, { 5, 5 }, { 4, 4, 4 } } };
static const uint8_t sub_logs[3][3] = { { 12 }, { 6, 5 }, { 2, 2, 2 } };
/* Points of a subproblem: few enough that sums in float stay exact enough where points are dense. */
static const uint16_t limits[2][3] = { { 8192, 2048, 2048 }, { 8192, 8192, 8192 } };

static void set_axis(struct nufft_layout *l, unsigned d, uint64_t cells)
{
    struct nufft_axis *a = &l->axis[d];
    uint32_t log_bin = bin_logs[l->is_double][l->dim - 1][d], all = log_up(cells);
    a->n = (uint32_t)cells;
    a->log_bin = log_bin < all ? log_bin : all;
    a->log_sub = sub_logs[l->dim - 1][d] < a->log_bin ? sub_logs[l->dim - 1][d] : a->log_bin;
    a->bins = (uint32_t)(((cells - 1) >> a->log_bin) + 1);
    a->subs = 1u << (a->log_bin - a->log_sub);
    a->offset = 0.5 * l->width / (double)cells;
}

/* Finer sorting than a few points a sub-bin does not pay. */
static void coarsen(struct nufft_layout *l)
{
    for (unsigned d = 0; d < 3; d++)
        if (l->n_keys > l->n_bins && l->n_keys > l->n_points) {
            l->n_keys /= l->axis[d].subs;
            l->axis[d].log_sub = l->axis[d].log_bin;
            l->axis[d].subs = 1;
        }
}

/* A cell of the small grid beyond the bin's, and rows that do not start in the same cache sets. */
static void set_local(struct nufft_layout *l)
{
    size_t extent[3];
    for (unsigned d = 0; d < 3; d++)
        extent[d] = d < l->dim ? ((size_t)1 << l->axis[d].log_bin) + l->width - 1 : 1;
    size_t line = 32 / l->real; /* complex numbers of 64 bytes; an odd number of them a row */
    l->pitch = ((extent[0] + 16 + line - 1) / line | 1) * line;
    l->rows = extent[1];
    l->local = l->pitch * l->rows * extent[2] + 64;
}

int nufft_layout_of(struct nufft_layout *l, const hcy_nufft_job *job)
{
    memset(l, 0, sizeof *l);
    if (job->dim < 1 || job->dim > 3 || job->precision < 1 || job->precision > 2 ||
        job->width < HCY_NUFFT_MIN_WIDTH || job->width > HCY_NUFFT_MAX_WIDTH ||
        job->n_points > UINT32_MAX - 64)
        return hcy_fail(HCY_EINVAL, "nufft: a job with %u axes, precision %u, width %u, %llu points",
                        job->dim, job->precision, job->width, (unsigned long long)job->n_points);
    l->dim = job->dim;
    l->width = job->width;
    l->is_double = job->precision == HCY_F64;
    l->real = l->is_double ? 8 : 4;
    l->record = l->dim * l->real + 8;
    l->n_points = (size_t)job->n_points;
    l->n_bins = l->n_keys = l->cells = 1;
    for (unsigned d = 0; d < 3; d++) {
        uint64_t cells = d < job->dim ? job->grid[job->dim - 1 - d] : 1;
        if (cells > INT32_MAX || (d < job->dim && (cells < 2 * job->width || job->modes[d] > job->grid[d])) ||
            hcy_size_mul(&l->cells, l->cells, (size_t)cells))
            return hcy_fail(HCY_EINVAL, "nufft: axis %u has %llu cells", d, (unsigned long long)cells);
        set_axis(l, d, cells);
        l->n_bins *= l->axis[d].bins;
        l->n_keys *= (size_t)l->axis[d].bins * l->axis[d].subs;
    }
    if (l->n_keys > UINT32_MAX / 2)
        return hcy_fail(HCY_ERANGE, "nufft: a grid of %zu cells is too large", l->cells);
    coarsen(l);
    l->limit = limits[l->is_double][l->dim - 1];
    set_local(l);
    return 0;
}

/* --- Sorting --- */

enum { SORT_JOB = 3, SORT_REPORT = 4, SORT_SORTED = 5 };

static size_t up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Where things lie in `sorted`. */
static int place_sorted(struct sorted *s, const struct nufft_layout *l, struct cpu_pool *pool)
{
    size_t ranges = l->n_points / (l->n_keys / 2 + 1024) + 1, n_subs, bytes = up(sizeof *s, ALIGN);
    memset(s, 0, sizeof *s);
    ranges = ranges < cpu_pool_threads(pool) ? ranges : cpu_pool_threads(pool);
    n_subs = (l->n_bins < l->n_points ? l->n_bins : l->n_points) + l->n_points / l->limit + 1;
    const size_t sizes[4][2] = { { n_subs, sizeof(struct sub) },
                                 { l->n_points + NUFFT_AHEAD, l->record },
                                 { l->n_points, sizeof(uint32_t) },
                                 { (l->n_keys + 16) * ranges, sizeof(uint32_t) } };
    uint64_t *const at[4] = { &s->subs, &s->records, &s->keys, &s->counts };
    for (int i = 0; i < 4; i++) {
        size_t size;
        *at[i] = bytes;
        if (hcy_size_mul(&size, sizes[i][0], sizes[i][1]) || hcy_size_add(&bytes, bytes, size) ||
            hcy_size_add(&bytes, bytes, ALIGN))
            return hcy_fail(HCY_ERANGE, "nufft: %zu points are too many", l->n_points);
        bytes = up(bytes, ALIGN);
    }
    s->magic = MAGIC;
    s->n_points = l->n_points;
    s->cells = l->cells;
    s->ranges = (uint32_t)ranges;
    s->size = bytes;
    return 0;
}

static int sorted_size(const struct cpu_call *call, size_t *size)
{
    struct nufft_layout l;
    struct sorted s = { 0 };
    int status = nufft_layout_of(&l, call->values[SORT_JOB].bytes);
    if (!status)
        status = place_sorted(&s, &l, call->pool);
    *size = (size_t)s.size;
    return status;
}

struct sort {
    struct nufft_layout layout;
    const struct nufft_ops *ops;
    struct sorted *s;
    struct nufft_fold fold; /* of all points */
    uint32_t *counts;
    size_t *first_bad; /* a range */
};

static struct nufft_fold range_of(const struct sort *s, size_t i)
{
    struct nufft_fold f = s->fold;
    size_t blocks = s->layout.n_points / 64 + 1, ranges = s->s->ranges;
    f.begin = blocks * i / ranges * 64;
    f.end = i + 1 == ranges ? s->layout.n_points : blocks * (i + 1) / ranges * 64;
    f.end = f.end < s->layout.n_points ? f.end : s->layout.n_points;
    f.counts = s->counts + i * (s->layout.n_keys + 16);
    return f;
}

static void count_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct sort *s = context;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        struct nufft_fold f = range_of(s, i);
        memset(f.counts, 0, s->layout.n_keys * sizeof *f.counts);
        s->first_bad[i] = s->ops->keys(&f);
    }
}

static void scatter_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct sort *s = context;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        struct nufft_fold f = range_of(s, i);
        s->ops->scatter(&f);
    }
}

/* Cells of the slowest axis that a bin reaches, cut where slabs end and where the axis ends: segment `i` has
 * *n cells from *cell on (0: there is none) and belongs to the slab returned. */
static uint32_t segment(const struct nufft_layout *l, uint32_t slab, unsigned i, uint32_t *cell, uint32_t *n)
{
    const struct nufft_axis *a = &l->axis[l->dim - 1];
    uint32_t size = 1u << a->log_bin, first = slab << a->log_bin;
    uint32_t left = (a->n - first < size ? a->n - first : size) + l->width - 1;
    for (;; i--) {
        uint32_t end = a->n - (slab << a->log_bin);
        end = end < size ? end : size;
        *cell = slab << a->log_bin;
        *n = left < end ? left : end;
        if (!i || !left)
            return slab;
        left -= *n;
        slab = slab + 1 == a->bins ? 0 : slab + 1;
    }
}

static uint32_t slab_of(const struct nufft_layout *l, uint32_t bin)
{
    uint32_t a_slab = l->dim == 1 ? 1 : l->dim == 2 ? l->axis[0].bins : l->axis[0].bins * l->axis[1].bins;
    return bin / a_slab;
}

/* Counts to places, and subproblems from them. */
static int make_subs(struct sort *s)
{
    const struct nufft_layout *l = &s->layout;
    struct sub *subs = (void *)((char *)s->s + s->s->subs);
    uint32_t *turns = calloc(l->axis[l->dim - 1].bins, sizeof *turns), at = 0;
    size_t keys_a_bin = l->n_keys / l->n_bins, n_subs = 0, stride = l->n_keys + 16;
    if (!turns)
        return hcy_fail(HCY_ENOMEM, "nufft: out of memory for %u slabs", l->axis[l->dim - 1].bins);
    for (size_t bin = 0; bin < l->n_bins; bin++) {
        uint32_t first = at;
        for (size_t key = bin * keys_a_bin; key < (bin + 1) * keys_a_bin; key++)
            for (size_t r = 0; r < s->s->ranges; r++) {
                uint32_t n = s->counts[r * stride + key];
                s->counts[r * stride + key] = at;
                at += n;
            }
        for (; first < at; first += (uint32_t)l->limit) {
            struct sub *sub = &subs[n_subs++];
            *sub = (struct sub){ (uint32_t)bin, first, at, { 0 } };
            if (at - first > l->limit)
                sub->end = first + (uint32_t)l->limit;
            uint32_t cell, n, slab = slab_of(l, sub->bin);
            for (unsigned i = 0; i < SEGMENTS; i++) {
                uint32_t there = segment(l, slab, i, &cell, &n);
                if (n)
                    sub->turn[i] = turns[there]++;
            }
        }
    }
    free(turns);
    s->s->n_subs = n_subs;
    return 0;
}

static int run_sort(const struct cpu_call *call)
{
    struct sort s;
    const hcy_nufft_job *job = call->values[SORT_JOB].bytes;
    int status = nufft_layout_of(&s.layout, job);
    s.s = cpu_arg(call, SORT_SORTED);
    struct sorted placed;
    if (!status)
        status = place_sorted(&placed, &s.layout, call->pool);
    if (status)
        return status;
    bool wide = (job->flags & HCY_NUFFT_WIDE_POINTS) != 0;
    size_t bytes = s.layout.n_points * (wide ? 8 : s.layout.real);
    if (cpu_arg_size(call, SORT_SORTED) < placed.size ||
        cpu_arg_size(call, SORT_REPORT) < sizeof(hcy_nufft_report))
        return hcy_fail(HCY_EINVAL, "nufft_sort: the buffers are too small");
    *s.s = placed;
    s.ops = nufft_ops(call->simd, s.layout.is_double);
    s.fold = (struct nufft_fold){ .layout = &s.layout,
                                  .wide = wide,
                                  .keys = (void *)((char *)s.s + placed.keys),
                                  .records = (char *)s.s + placed.records };
    for (unsigned d = 0; d < s.layout.dim; d++) {
        s.fold.points[d] = cpu_arg(call, s.layout.dim - 1 - d);
        if (cpu_arg_size(call, s.layout.dim - 1 - d) < bytes)
            return hcy_fail(HCY_EINVAL, "nufft_sort: coordinates %u are fewer than the job's points", d);
    }
    s.counts = (void *)((char *)s.s + placed.counts);
    s.first_bad = malloc(placed.ranges * sizeof *s.first_bad);
    if (!s.first_bad)
        return hcy_fail(HCY_ENOMEM, "nufft_sort: out of memory");
    cpu_pool_for(call->pool, placed.ranges, 1, count_range, &s);
    hcy_nufft_report *report = cpu_arg(call, SORT_REPORT);
    report->first_bad = UINT64_MAX;
    for (size_t i = placed.ranges; i-- > 0;)
        if (s.first_bad[i] != SIZE_MAX)
            report->first_bad = s.first_bad[i];
    free(s.first_bad);
    status = make_subs(&s);
    if (status)
        return status;
    cpu_pool_for(call->pool, placed.ranges, 1, scatter_range, &s);
    memset((char *)s.fold.records + s.layout.n_points * s.layout.record, 0, NUFFT_AHEAD * s.layout.record);
    return 0;
}

/* --- Spreading and interpolation --- */

enum { MOVE_SORTED, MOVE_TABLE, MOVE_FROM, MOVE_JOB, MOVE_TO, MOVE_SCRATCH };

struct slab {
    pthread_mutex_t lock;
    pthread_cond_t moved_on;
    uint32_t next;
};

struct move {
    struct nufft_layout layout;
    struct nufft_rows rows;
    const struct nufft_ops *ops;
    const struct sorted *s;
    const struct sub *subs;
    char *strengths, *grid; /* of the first vector */
    char *scratch;
    struct slab *slabs; /* [vector][slab]; NULL: one thread */
    bool in_order;
};

static size_t local_bytes(const struct nufft_layout *l)
{
    return up(l->local * 2 * l->real, ALIGN) + ALIGN;
}

static size_t table_bytes(const struct nufft_layout *l)
{
    return l->real * HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH;
}

static int move_scratch(const struct cpu_call *call, size_t *size)
{
    struct nufft_layout l;
    int status = nufft_layout_of(&l, call->values[MOVE_JOB].bytes);
    *size = status ? 0 : up(table_bytes(&l), ALIGN) + cpu_pool_threads(call->pool) * local_bytes(&l);
    return status;
}

/* Windows that leave half of a vector free, once more in its other half. */
static void double_table(char *table, const struct nufft_layout *l, size_t half)
{
    size_t window = l->width * l->real, row = HCY_NUFFT_MAX_WIDTH * l->real;
    for (unsigned c = 0; window <= half && c < HCY_NUFFT_COEFS(l->width); c++)
        memcpy(table + c * row + half, table + c * row, window);
}

static int take_move(struct move *m, const struct cpu_call *call, bool spreads)
{
    const hcy_nufft_job *job = call->values[MOVE_JOB].bytes;
    size_t size, strengths, grid, from = cpu_arg_size(call, MOVE_FROM), to = cpu_arg_size(call, MOVE_TO);
    int status = nufft_layout_of(&m->layout, job);
    if (!status)
        status = move_scratch(call, &size);
    if (status)
        return status;
    const struct nufft_layout *l = &m->layout;
    m->s = cpu_arg(call, MOVE_SORTED);
    if (cpu_arg_size(call, MOVE_SORTED) < sizeof *m->s || m->s->magic != MAGIC ||
        m->s->n_points != l->n_points || m->s->cells != l->cells)
        return hcy_fail(HCY_EINVAL, "nufft: the points were not sorted, or for another job");
    if (hcy_size_mul(&strengths, l->n_points * 2 * l->real, call->items) ||
        hcy_size_mul(&grid, l->cells * 2 * l->real, call->items) || cpu_arg_size(call, MOVE_SCRATCH) < size ||
        (spreads ? from : to) < strengths || (spreads ? to : from) < grid ||
        cpu_arg_size(call, MOVE_TABLE) < HCY_NUFFT_COEFS(l->width) * HCY_NUFFT_MAX_WIDTH * l->real)
        return hcy_fail(HCY_EINVAL,
                        "nufft: strengths, grid, window or scratch are smaller than the job says");
    m->ops = nufft_ops(call->simd, l->is_double);
    m->subs = (const void *)((const char *)m->s + m->s->subs);
    m->strengths = cpu_arg(call, spreads ? MOVE_FROM : MOVE_TO);
    m->grid = cpu_arg(call, spreads ? MOVE_TO : MOVE_FROM);
    char *table = cpu_arg(call, MOVE_SCRATCH);
    memcpy(table, cpu_arg(call, MOVE_TABLE), HCY_NUFFT_COEFS(l->width) * HCY_NUFFT_MAX_WIDTH * l->real);
    double_table(table, l, m->ops->lanes / 2 * l->real);
    m->scratch = table + up(table_bytes(l), ALIGN);
    m->rows = (struct nufft_rows){ table, l->pitch, l->pitch * l->rows, l->width, l->dim };
    m->slabs = NULL;
    m->in_order = (job->flags & HCY_NUFFT_FIXED_ORDER) != 0;
    return 0;
}

/* The first cell of a bin on each axis, and how many cells it reaches from there. */
static void extent(const struct nufft_layout *l, uint32_t bin, size_t first[3], size_t n[3])
{
    for (unsigned d = 0; d < 3; d++) {
        const struct nufft_axis *a = &l->axis[d];
        size_t size = (size_t)1 << a->log_bin;
        first[d] = (size_t)(bin % a->bins) << a->log_bin;
        bin /= a->bins;
        n[d] = a->n - first[d] < size ? a->n - first[d] : size;
        n[d] += d < l->dim ? l->width - 1 : 0;
    }
}

/* The rows [begin, end) of a bin's reach on the slowest axis, counted from its first, between small and fine
 * grid. */
static void move_rows(const struct move *m, uint32_t bin, size_t begin, size_t end, char *local, char *grid,
                      bool adds)
{
    const struct nufft_layout *l = &m->layout;
    size_t first[3], n[3], c = 2 * l->real;
    extent(l, bin, first, n);
    n[l->dim - 1] = end;
    size_t straight = l->axis[0].n - first[0], x0 = l->dim == 1 ? begin : 0;
    straight = straight < n[0] ? straight : n[0]; /* then the axis begins again */
    for (size_t z = l->dim == 3 ? begin : 0; z < n[2]; z++)
        for (size_t y = l->dim == 2 ? begin : 0; y < n[1]; y++) {
            size_t gz = (first[2] + z) % l->axis[2].n, gy = (first[1] + y) % l->axis[1].n;
            char *row = grid + (gz * l->axis[1].n + gy) * l->axis[0].n * c;
            char *small = local + (z * l->rows + y) * l->pitch * c;
            size_t parts[2][3] = { { x0, straight, first[0] + x0 }, { straight, n[0], 0 } };
            if (x0 > straight)
                parts[1][2] = x0 - straight, parts[1][0] = x0;
            for (int i = 0; i < 2; i++) {
                size_t from = parts[i][0], to = parts[i][1];
                if (from >= to)
                    continue;
                if (adds)
                    m->ops->add(row + parts[i][2] * c, small + from * c, to - from);
                else
                    memcpy(small + from * c, row + parts[i][2] * c, (to - from) * c);
            }
        }
}

static void enter(const struct move *m, struct slab *slab, uint32_t turn)
{
    pthread_mutex_lock(&slab->lock);
    while (m->in_order && slab->next != turn)
        pthread_cond_wait(&slab->moved_on, &slab->lock);
}

static void leave(struct slab *slab)
{
    slab->next++;
    pthread_cond_broadcast(&slab->moved_on);
    pthread_mutex_unlock(&slab->lock);
}

static void add_up(const struct move *m, const struct sub *sub, size_t vector, char *local)
{
    const struct nufft_layout *l = &m->layout;
    uint32_t cell, n, own = slab_of(l, sub->bin);
    size_t done = 0;
    for (unsigned i = 0; i < SEGMENTS; i++) {
        uint32_t slab = segment(l, own, i, &cell, &n);
        if (!n)
            return;
        struct slab *s = m->slabs ? &m->slabs[vector * l->axis[l->dim - 1].bins + slab] : NULL;
        if (s)
            enter(m, s, sub->turn[i]);
        move_rows(m, sub->bin, done, done + n, local, m->grid + vector * l->cells * 2 * l->real, true);
        if (s)
            leave(s);
        done += n;
    }
}

static void spread_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct move *m = context;
    const struct nufft_layout *l = &m->layout;
    const char *records = (const char *)m->s + m->s->records;
    char *local = m->scratch + thread * local_bytes(l);
    for (size_t i = begin; i < end; i++) {
        size_t vector = i / m->s->n_subs;
        const struct sub *sub = &m->subs[i % m->s->n_subs];
        memset(local, 0, l->local * 2 * l->real);
        m->ops->spread(&m->rows, records + sub->begin * l->record, sub->end - sub->begin,
                       m->strengths + vector * l->n_points * 2 * l->real, local);
        add_up(m, sub, vector, local);
    }
}

static void interp_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct move *m = context;
    const struct nufft_layout *l = &m->layout;
    const char *records = (const char *)m->s + m->s->records;
    char *local = m->scratch + thread * local_bytes(l);
    for (size_t i = begin; i < end; i++) {
        size_t vector = i / m->s->n_subs, first[3], n[3];
        const struct sub *sub = &m->subs[i % m->s->n_subs];
        if (i == begin || i % m->s->n_subs == 0 || sub[-1].bin != sub->bin) {
            extent(l, sub->bin, first, n);
            move_rows(m, sub->bin, 0, n[l->dim - 1], local, m->grid + vector * l->cells * 2 * l->real, false);
        }
        m->ops->interp(&m->rows, records + sub->begin * l->record, sub->end - sub->begin,
                       m->strengths + vector * l->n_points * 2 * l->real, local);
    }
}

struct zero {
    char *bytes;
    size_t size;
};
enum { ZERO_PIECE = 1 << 20 };

static void zero_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct zero *z = context;
    size_t to = end * ZERO_PIECE;
    (void)thread;
    memset(z->bytes + begin * ZERO_PIECE, 0, (to < z->size ? to : z->size) - begin * ZERO_PIECE);
}

void nufft_zero(struct cpu_pool *pool, void *bytes, size_t size)
{
    struct zero zero = { bytes, size };
    cpu_pool_for(pool, (size + ZERO_PIECE - 1) / ZERO_PIECE, 1, zero_range, &zero);
}

static int make_slabs(struct move *m, size_t n)
{
    m->slabs = malloc(n * sizeof *m->slabs);
    if (!m->slabs)
        return hcy_fail(HCY_ENOMEM, "nufft_spread: out of memory for %zu slabs", n);
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_init(&m->slabs[i].lock, NULL);
        pthread_cond_init(&m->slabs[i].moved_on, NULL);
        m->slabs[i].next = 0;
    }
    return 0;
}

static void free_slabs(struct move *m, size_t n)
{
    for (size_t i = 0; m->slabs && i < n; i++) {
        pthread_cond_destroy(&m->slabs[i].moved_on);
        pthread_mutex_destroy(&m->slabs[i].lock);
    }
    free(m->slabs);
}

static int run_spread(const struct cpu_call *call)
{
    struct move m;
    int status = take_move(&m, call, true);
    if (status)
        return status;
    size_t n_slabs = call->items * m.layout.axis[m.layout.dim - 1].bins;
    if (cpu_pool_threads(call->pool) > 1)
        status = make_slabs(&m, n_slabs);
    if (status)
        return status;
    nufft_zero(call->pool, m.grid, call->items * m.layout.cells * 2 * m.layout.real);
    cpu_pool_for(call->pool, call->items * m.s->n_subs, 1, spread_range, &m);
    free_slabs(&m, n_slabs);
    return 0;
}

static int run_interp(const struct cpu_call *call)
{
    struct move m;
    int status = take_move(&m, call, false);
    if (status)
        return status;
    /* Vectors reach beyond the cells of a row, with weights of 0: what is there must be numbers. */
    nufft_zero(call->pool, m.scratch, cpu_pool_threads(call->pool) * local_bytes(&m.layout));
    cpu_pool_for(call->pool, call->items * m.s->n_subs, 4, interp_range, &m);
    return 0;
}

const struct cpu_kernel cpu_nufft_kernels[] = {
    { .name = "nufft_sort", .run = run_sort, .scratch_size = sorted_size, .variant = cpu_simd_built },
    { .name = "nufft_spread", .run = run_spread, .scratch_size = move_scratch, .variant = cpu_simd_built },
    { .name = "nufft_interp", .run = run_interp, .scratch_size = move_scratch, .variant = cpu_simd_built },
    { .name = "nufft_crop", .run = nufft_run_crop, .variant = cpu_simd_built },
    { .name = "nufft_pad", .run = nufft_run_pad, .variant = cpu_simd_built },
    { .name = "nufft_scale", .run = nufft_run_scale, .variant = cpu_simd_built },
#if HAVE_FFTW3
    { .name = "nufft_modes",
      .run = nufft_run_modes,
      .scratch_size = nufft_fft_scratch,
      .variant = cpu_simd_built },
    { .name = "nufft_grid",
      .run = nufft_run_grid,
      .scratch_size = nufft_fft_scratch,
      .variant = cpu_simd_built },
#endif
    { .name = NULL },
};
