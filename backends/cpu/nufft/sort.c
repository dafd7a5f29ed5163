/* sort.c - the kernel nufft_sort: how a job's grid is cut into bins, points put into their order, and
 * subproblems made of them.
 *
 * It runs on its queue's thread and is shared out to the device's pool: each thread counts a range of points,
 * then puts their records behind those of the ranges before it.
 */
#include "cpu_nufft.h"
#include "nufft/nufft_bits.h"

#include <stdlib.h>
#include <string.h>

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
/* Of sub-bins; and where the points of one are sorted further (HCY_NUFFT_FIXED_ORDER). */
static const uint8_t sub_logs[2][3][3] = { { { 12 }, { 6, 5 }, { 2, 2, 2 } }, { { 4 }, { 3, 2 }, { 2, 2, 2 } } };
/* Points of a subproblem: few enough that sums in float stay exact enough where points are dense. */
static const uint16_t limits[2][3] = { { 8192, 2048, 2048 }, { 8192, 8192, 8192 } };

static void set_layout_axis(struct nufft_layout *l, unsigned d, uint64_t cells, bool fixed)
{
    struct nufft_axis *a = &l->axis[d];
    uint32_t log_bin = bin_logs[l->is_double][l->dim - 1][d], all = log_up(cells);
    a->n = (uint32_t)cells;
    /* A bin is not larger than its axis, so that small grids have no bins of mostly nothing. */
    a->log_bin = log_bin < all ? log_bin : all;
    a->log_sub = sub_logs[fixed][l->dim - 1][d] < a->log_bin ? sub_logs[fixed][l->dim - 1][d] : a->log_bin;
    a->bins = (uint32_t)(((cells - 1) >> a->log_bin) + 1);
    a->subs = 1u << (a->log_bin - a->log_sub);
    a->offset = 0.5 * l->width / (double)cells;
    a->bits = hcy_nufft_cell_bits(cells);
}

/* Finer sorting than a few points a sub-bin does not pay. */
static void coarsen_keys(struct nufft_layout *l)
{
    for (unsigned d = 0; d < 3; d++)
        if (l->n_keys > l->n_bins && l->n_keys > l->n_points) {
            /* From the fastest axis on, whose cells lie closest in memory anyway. */
            l->n_keys /= l->axis[d].subs;
            l->axis[d].log_sub = l->axis[d].log_bin;
            l->axis[d].subs = 1;
        }
}

/* A cell of the small grid beyond the bin's, and rows that do not start in the same cache sets. */
static void set_small_grid(struct nufft_layout *l)
{
    size_t extent[3];
    for (unsigned d = 0; d < 3; d++)
        extent[d] = d < l->dim ? ((size_t)1 << l->axis[d].log_bin) + l->width - 1 : 1;
    /* Rows are whole cache lines, so that moved rows are stored aligned. */
    size_t line = 32 / l->real; /* complex numbers of 64 bytes; an odd number of them a row */
    l->pitch = ((extent[0] + 16 + line - 1) / line | 1) * line;
    l->rows = extent[1];
    l->local = l->pitch * l->rows * extent[2] + 64;
    l->number = l->same ? 2 * sizeof(int64_t) : 2 * l->real;
}

/* How fine points' places are is the same on every device. */
static void set_places(struct nufft_layout *l)
{
    uint64_t longest = 0;
    for (unsigned d = 0; d < l->dim; d++)
        longest = l->axis[d].n > longest ? l->axis[d].n : longest;
    for (unsigned d = 0; d < l->dim; d++) {
        l->axis[d].place_bits = hcy_nufft_place_bits(l->dim, !l->is_double, longest);
        l->axis[d].scale = ldexp(1, (int)(l->axis[d].place_bits - l->axis[d].bits));
    }
}

int nufft_layout_of(struct nufft_layout *l, const hcy_nufft_job *job)
{
    memset(l, 0, sizeof *l);
    if (job->dim < 1 || job->dim > 3 || job->precision < 1 || job->precision > 2 ||
        job->width < HCY_NUFFT_MIN_WIDTH || job->width > HCY_NUFFT_MAX_WIDTH ||
        job->n_points > UINT32_MAX - 64)
        return hcy_fail(HCY_EINVAL, "nufft: a job with %u axes, precision %u, width %u, %llu points",
                        job->dim, job->precision, job->width, (unsigned long long)job->n_points);
    /* The job has been found sound; from here on sizes follow from it. */
    l->dim = job->dim;
    l->same = job->flags & HCY_NUFFT_SAME_BITS;
    l->width = job->width;
    l->is_double = job->precision == HCY_F64;
    l->real = l->is_double ? 8 : 4;
    l->record = l->dim * l->real + 8;
    l->n_points = (size_t)job->n_points;
    l->n_bins = l->n_keys = l->cells = 1;
    for (unsigned d = 0; d < 3; d++) {
        /* The job counts axes from the slowest on, layouts from the fastest. */
        uint64_t cells = d < job->dim ? job->grid[job->dim - 1 - d] : 1;
        if (cells > INT32_MAX || (d < job->dim && (cells < 2 * job->width || job->modes[d] > job->grid[d])) ||
            hcy_size_mul(&l->cells, l->cells, (size_t)cells))
            return hcy_fail(HCY_EINVAL, "nufft: axis %u has %llu cells", d, (unsigned long long)cells);
        set_layout_axis(l, d, cells, job->flags & HCY_NUFFT_FIXED_ORDER);
        l->n_bins *= l->axis[d].bins;
        l->n_keys *= (size_t)l->axis[d].bins * l->axis[d].subs;
    }
    /* Keys and places have 32 bits. */
    if (l->n_keys > UINT32_MAX / 2)
        return hcy_fail(HCY_ERANGE, "nufft: a grid of %zu cells is too large", l->cells);
    coarsen_keys(l);
    set_places(l);
    l->limit = limits[l->is_double][l->dim - 1];
    set_small_grid(l);
    return 0;
}

/* --- Sorting --- */

#define AT(name) HCY_ARG_AT(nufft_sort, name)

/* Lays out what lies in `sorted`. */
static int place_sorted(struct nufft_sorted *s, const struct nufft_layout *l, struct cpu_pool *pool)
{
    size_t ranges = l->n_points / (l->n_keys / 2 + 1024) + 1, n_subs, bytes = nufft_up(sizeof *s, NUFFT_ALIGN);
    memset(s, 0, sizeof *s);
    /* Every range has counts of all keys, which must not outweigh the points themselves. */
    ranges = ranges < cpu_pool_threads(pool) ? ranges : cpu_pool_threads(pool);
    /* A bin with points has a subproblem, and one more for each `limit` of points. */
    n_subs = (l->n_bins < l->n_points ? l->n_bins : l->n_points) + l->n_points / l->limit + 1;
    const size_t sizes[4][2] = { { n_subs, sizeof(struct nufft_sub) },
                                 { l->n_points + NUFFT_AHEAD, l->record },
                                 { l->n_points, sizeof(uint32_t) },
                                 { (l->n_keys + 16) * ranges, sizeof(uint32_t) } };
    uint64_t *const at[4] = { &s->subs, &s->records, &s->keys, &s->counts };
    for (int i = 0; i < 4; i++) {
        size_t size;
        *at[i] = bytes;
        if (hcy_size_mul(&size, sizes[i][0], sizes[i][1]) || hcy_size_add(&bytes, bytes, size) ||
            hcy_size_add(&bytes, bytes, NUFFT_ALIGN))
            return hcy_fail(HCY_ERANGE, "nufft: %zu points are too many", l->n_points);
        bytes = nufft_up(bytes, NUFFT_ALIGN);
    }
    s->magic = NUFFT_MAGIC;
    s->n_points = l->n_points;
    for (unsigned d = 0; d < 3; d++)
        s->cells[d] = l->axis[d].n;
    s->record = (uint32_t)l->record;
    s->width = l->width;
    s->ranges = (uint32_t)ranges;
    s->size = bytes;
    return 0;
}

int nufft_sorted_size(size_t *size, const struct cpu_call *call)
{
    struct nufft_layout l;
    struct nufft_sorted s = { 0 };
    int status = nufft_layout_of(&l, call->values[AT(job)].bytes);
    if (!status)
        status = place_sorted(&s, &l, call->pool);
    *size = (size_t)s.size;
    return status;
}

struct sort {
    struct nufft_layout layout;
    const struct nufft_ops *ops;
    struct nufft_sorted *s;
    struct nufft_fold fold; /* of all points */
    uint32_t *counts;
    size_t *first_bad; /* a range */
    uint32_t *longest; /* a thread */
};

static struct nufft_fold range_of(const struct sort *s, size_t i)
{
    struct nufft_fold f = s->fold;
    size_t blocks = s->layout.n_points / 64 + 1, ranges = s->s->ranges;
    /* Ranges are cut between blocks of 64 points, which is what keys are made by. */
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

uint32_t nufft_segment(const struct nufft_layout *l, uint32_t slab, unsigned i, uint32_t *cell, uint32_t *n)
{
    const struct nufft_axis *a = &l->axis[l->dim - 1];
    uint32_t size = 1u << a->log_bin, first = slab << a->log_bin;
    uint32_t left = (a->n - first < size ? a->n - first : size) + l->width - 1;
    for (;; i--) {
        /* A window may reach over several short slabs, and around the end of the axis. */
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

uint32_t nufft_slab_of(const struct nufft_layout *l, uint32_t bin)
{
    uint32_t a_slab = 1;
    for (unsigned d = 0; d + 1 < l->dim; d++)
        a_slab *= l->axis[d].bins;
    return bin / a_slab;
}

/* Points of keys [begin, end), whose counts are the places where they end. */
static void order_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct sort *s = context;
    const struct nufft_layout *l = &s->layout;
    const uint32_t *ends = s->counts + (s->s->ranges - 1) * (l->n_keys + 16);
    for (size_t key = begin; key < end; key++) {
        /* scatter() has moved the places on: those of the last range are where keys end. */
        uint32_t first = key ? ends[key - 1] : 0;
        /* Keys are small, and each is ordered by one thread, so the order does not depend on their number. */
        size_t longest =
            s->ops->order(l->dim, (char *)s->fold.records + first * l->record, ends[key] - first);
        s->longest[thread] = longest > s->longest[thread] ? (uint32_t)longest : s->longest[thread];
    }
}

static int order_points(struct sort *s, struct cpu_pool *pool)
{
    unsigned threads = cpu_pool_threads(pool);
    s->longest = calloc(threads, sizeof *s->longest);
    if (!s->longest)
        return hcy_fail(HCY_ENOMEM, "nufft_sort: out of memory");
    cpu_pool_for(pool, s->layout.n_keys, 64, order_range, s);
    for (unsigned i = 0; i < threads; i++)
        s->s->longest = s->longest[i] > s->s->longest ? s->longest[i] : s->s->longest;
    free(s->longest);
    return 0;
}

/* Turns counts into places, and makes subproblems from them. */
static int make_subs(struct sort *s)
{
    const struct nufft_layout *l = &s->layout;
    struct nufft_sub *subs = (void *)((char *)s->s + s->s->subs);
    uint32_t *turns = calloc(l->axis[l->dim - 1].bins, sizeof *turns), at = 0;
    size_t keys_a_bin = l->n_keys / l->n_bins, n_subs = 0, stride = l->n_keys + 16;
    if (!turns)
        return hcy_fail(HCY_ENOMEM, "nufft: out of memory for %u slabs", l->axis[l->dim - 1].bins);
    for (size_t bin = 0; bin < l->n_bins; bin++) {
        /* Within a key the ranges follow each other, which keeps points in their order whatever the number of
         * threads. */
        uint64_t first = at; /* steps may lead beyond the last point that 32 bits count */
        for (size_t key = bin * keys_a_bin; key < (bin + 1) * keys_a_bin; key++)
            for (size_t r = 0; r < s->s->ranges; r++) {
                uint32_t n = s->counts[r * stride + key];
                s->counts[r * stride + key] = at;
                at += n;
            }
        for (; first < at; first += l->limit) {
            struct nufft_sub *sub = &subs[n_subs++];
            *sub = (struct nufft_sub){ (uint32_t)bin, (uint32_t)first, at, { 0 } };
            /* A crowded bin is cut, so that threads can share it and sums in float stay short. */
            if (at - first > l->limit)
                sub->end = (uint32_t)(first + l->limit);
            /* turn[] is the number of earlier subproblems that add to the same slab, which is what a fixed order
             * waits for. */
            uint32_t cell, n, slab = nufft_slab_of(l, sub->bin);
            for (unsigned i = 0; i < NUFFT_SEGMENTS; i++) {
                uint32_t there = nufft_segment(l, slab, i, &cell, &n);
                if (n)
                    sub->turn[i] = turns[there]++;
            }
        }
    }
    free(turns);
    s->s->n_subs = n_subs;
    return 0;
}

int nufft_run_sort(const struct cpu_call *call)
{
    struct sort s;
    const hcy_nufft_job *job = call->values[AT(job)].bytes;
    int status = nufft_layout_of(&s.layout, job);
    s.s = cpu_arg(call, AT(sorted));
    struct nufft_sorted placed;
    if (!status)
        status = place_sorted(&placed, &s.layout, call->pool);
    if (status)
        return status;
    /* Buffers are checked before anything is written, as the sizes are those of this job. */
    bool doubles = (job->flags & HCY_NUFFT_DOUBLE_POINTS) != 0;
    size_t bytes = s.layout.n_points * (doubles ? 8 : s.layout.real);
    if (cpu_arg_size(call, AT(sorted)) < placed.size ||
        cpu_arg_size(call, AT(report)) < sizeof(hcy_nufft_report))
        return hcy_fail(HCY_EINVAL, "nufft_sort: the buffers are too small");
    *s.s = placed;
    s.ops = nufft_ops_for(call->simd, job);
    s.fold = (struct nufft_fold){ .layout = &s.layout,
                                  .doubles = doubles,
                                  .keys = (void *)((char *)s.s + placed.keys),
                                  .records = (char *)s.s + placed.records };
    for (unsigned d = 0; d < s.layout.dim; d++) {
        size_t at = hcy_nufft_points_at(s.layout.dim - 1 - d);
        s.fold.points[d] = cpu_arg(call, at);
        if (cpu_arg_size(call, at) < bytes)
            return hcy_fail(HCY_EINVAL, "nufft_sort: coordinates %u are fewer than the job's points", d);
    }
    /* Counting comes first: a place is known only when all points before it have been counted. */
    s.counts = (void *)((char *)s.s + placed.counts);
    s.first_bad = malloc(placed.ranges * sizeof *s.first_bad);
    if (!s.first_bad)
        return hcy_fail(HCY_ENOMEM, "nufft_sort: out of memory");
    cpu_pool_for(call->pool, placed.ranges, 1, count_range, &s);
    hcy_nufft_report *report = cpu_arg(call, AT(report));
    report->first_bad = UINT64_MAX;
    /* Ranges are in the order of the points, so from the last down the first bad point stays. */
    for (size_t i = placed.ranges; i-- > 0;)
        if (s.first_bad[i] != SIZE_MAX)
            report->first_bad = s.first_bad[i];
    free(s.first_bad);
    status = make_subs(&s);
    if (status)
        return status;
    cpu_pool_for(call->pool, placed.ranges, 1, scatter_range, &s);
    /* The loops prefetch by records behind the last one, whose numbers must be points. */
    memset((char *)s.fold.records + s.layout.n_points * s.layout.record, 0, NUFFT_AHEAD * s.layout.record);
    /* Sums of integers (HCY_NUFFT_SAME_BITS) know no order. */
    return job->flags & HCY_NUFFT_FIXED_ORDER && s.ops->order ? order_points(&s, call->pool) : 0;
}
