/* gpu_nufft.c - launches of the family nufft: how points are cut into pencils and slabs, memory, order.
 *
 * A launch checks its buffers and hands a row of kernels to the queue; the host waits for nothing.
 */
#include "gpu_priv.h"
#include "nufft/nufft_bits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SORT_AT(name)  HCY_ARG_AT(nufft_sort, name)
#define SPREAD_AT(name) HCY_ARG_AT(nufft_spread, name)

/* Of groups in the second direction of a grid. */
#define MOST_ROWS 65535u

/* A job on this device; offsets in the memory of sorted points. */
struct nufft {
    const hcy_nufft_job *job;
    struct gpu_shape shape;
    struct gpu_nufft at;
    uint32_t places; /* bits (point.cl) */
    size_t real, record, n_sums;
    int fixed; /* sums do not depend on their order; GPU_NUFFT_SAME: nor on the device */
    size_t counts, sums, ranks, records, end;
    uint32_t n_buckets; /* of many points; 0: few */
    size_t codes, cursors, buckets;
};

/* --- A job --- */

static bool is_nufft_job(const hcy_nufft_job *j)
{
    return j->dim >= 1 && j->dim <= 3 && j->precision >= 1 && j->precision <= 2 &&
           j->width >= HCY_NUFFT_MIN_WIDTH && j->width <= HCY_NUFFT_MAX_WIDTH &&
           j->n_points <= UINT32_MAX - 64;
}

int gpu_nufft_check_job(size_t *cells, const hcy_nufft_job *job)
{
    if (!is_nufft_job(job))
        return hcy_fail(HCY_EINVAL, "nufft: a job with %u axes, precision %u, width %u, %llu points",
                        job->dim, job->precision, job->width, (unsigned long long)job->n_points);
    *cells = 1;
    for (unsigned d = 0; d < job->dim; d++) {
        uint64_t size = job->grid[d];
        /* Pieces wrap around an axis at most once, for which axes of two windows are long enough. */
        if (size > INT32_MAX || size < 2 * job->width || job->modes[d] > size ||
            hcy_size_mul(cells, *cells, (size_t)size))
            return hcy_fail(HCY_EINVAL, "nufft: axis %u has %llu cells", d, (unsigned long long)size);
    }
    return 0;
}

static void set_grid_axes(struct nufft *n, const hcy_nufft_job *job)
{
    for (unsigned d = 0; d < 3; d++) {
        /* Devices count axes from the fastest, and jobs from the slowest. */
        uint64_t size = d < job->dim ? job->grid[job->dim - 1 - d] : 1;
        n->at.n[d] = (uint32_t)size;
        n->at.offset[d] = 0.5 * job->width / (double)size;
    }
}

static uint32_t parts_of(uint64_t n, uint32_t by)
{
    return (uint32_t)((n + by - 1) / by);
}

/* Many points (settle.cl): a group's items, the records that it puts in order, and its near memory; that of a group
 * which deals points to buckets: the rest is the cache's, through which their coordinates come. */
#define SETTLERS     1024u
#define SETTLED      8192u
#define SETTLE_BYTES (SETTLED * 20u + GPU_NUFFT_CODES * 8u)
#define DEAL_BYTES   (SETTLED * 21u)
/* Fewer are sorted in a device's cache. */
#define MANY_POINTS (1u << 21)
/* Two places of doubles in 16 bytes have fewer bits than these, which windows up to this width, whose error is 1e-10 or
 * more, do not show; the bits that are left number so many points. */
#define PACKED_WIDTH  11u
#define PACKED_POINTS (1u << 24)

/* Whether there are many, and near memory for two steps. */
static bool are_many(const hcy_nufft_job *job, const struct gpu_ops *ops)
{
    return ops->local_bytes >= SETTLE_BYTES + 1024 && job->n_points >= MANY_POINTS &&
           parts_of(job->n_points, SETTLED) <= GPU_NUFFT_CODES / 2;
}

/* Records and their places: 16 bytes, 24, or 32, which one step writes faster than 24 where a cache does not hold
 * them all. */
static void set_record(struct nufft *n, const struct gpu_ops *ops)
{
    const hcy_nufft_job *job = n->job;
    uint32_t dim = job->dim, longest = 0;
    for (uint32_t d = 0; d < 3; d++) {
        n->at.bits[d] = hcy_nufft_cell_bits(n->at.n[d]);
        longest = n->at.n[d] > longest ? n->at.n[d] : longest;
    }
    n->places = hcy_nufft_place_bits(dim, job->precision == HCY_F32, longest);
    n->record = n->places < 64 || dim == 1 ? 16 : 32;
    /* What all devices shall calculate alike has all bits. */
    bool many = are_many(job, ops), wide = n->record == 32 && !(job->flags & HCY_NUFFT_SAME_BITS);
    if (wide && (many || job->n_points < MANY_POINTS)) {
        bool is_packed = dim == 2 && job->width <= PACKED_WIDTH && job->n_points <= PACKED_POINTS;
        n->places = dim == 3 ? 53 : is_packed ? 52 : 64;
        n->record = is_packed ? 16 : 24;
    }
    n->n_buckets = many && n->record < 32 ? parts_of(job->n_points, SETTLED) : 0;
    for (uint32_t d = 0; d < 3; d++)
        n->at.scale[d] = ldexp(1, (int)(n->places - n->at.bits[d]));
}

/* Points that a group deals to buckets at once: their records, their order, and three words of each bucket are near. */
static uint32_t most_of_tile(const struct nufft *n)
{
    uint32_t most = (DEAL_BYTES - 12 * n->n_buckets) / (uint32_t)(n->record + 4) / SETTLERS * SETTLERS;
    return most < SETTLED ? most : SETTLED;
}

static struct gpu_shape cached_shape(struct gpu_kernel *k, const hcy_nufft_job *job)
{
    pthread_mutex_lock(&k->lock);
    /* Jobs are compared byte by byte: they are plain data, and a plan launches the same one again and
     * again. */
    if (memcmp(&k->shaped, job, sizeof *job)) {
        k->shape = gpu_shape_of(k->ops, job);
        k->shaped = *job;
    }
    struct gpu_shape shape = k->shape;
    pthread_mutex_unlock(&k->lock);
    return shape;
}

static int set_keys(struct nufft *n, const struct gpu_call *call)
{
    const hcy_nufft_job *job = n->job;
    size_t slabs;
    n->shape = cached_shape(call->kernel, job);
    n->at.range = n->shape.range;
    n->at.bins[0] = job->dim > 1 ? parts_of(n->at.n[0], n->shape.xb) : 1;
    n->at.bins[1] = job->dim > 2 ? parts_of(n->at.n[1], n->shape.yb) : 1;
    n->at.slabs = parts_of(n->at.n[job->dim - 1], n->shape.zs);
    if (hcy_size_mul(&slabs, (size_t)n->at.bins[0] * n->at.bins[1], n->at.slabs) || slabs > UINT32_MAX / 2)
        return hcy_fail(HCY_ERANGE, "nufft: a grid of %llu cells is too large",
                        (unsigned long long)n->at.cells);
    n->at.coarse = gpu_coarseness(slabs, job, n->record, n->n_buckets > 0);
    n->at.n_keys = (uint32_t)((slabs - 1) >> n->at.coarse) + 1;
    /* Sums in fixed point are scaled by how many slabs' points can meet in one cell. */
    n->at.reach = (job->dim > 1 ? parts_of(job->width - 1, n->shape.xb) + 1 : 1) *
                  (job->dim > 2 ? parts_of(job->width - 1, n->shape.yb) + 1 : 1) *
                  (parts_of(job->width - 1, n->shape.zs) + 1);
    n->n_sums = parts_of(n->at.n_keys, GPU_NUFFT_SCAN);
    return 0;
}

/* The size of `n` elements after what is there, and where they begin. */
static int place_array(size_t *at, struct nufft *n, size_t count, size_t size)
{
    size_t bytes;
    *at = n->end;
    int status = hcy_size_mul(&bytes, count, size);
    if (!status)
        status = hcy_size_add(&bytes, bytes, 255);
    return status ? status : hcy_size_add(&n->end, n->end, bytes / 256 * 256);
}

static int place_buckets(struct nufft *n)
{
    int status = place_array(&n->codes, n, n->at.n_keys, 4);
    if (!status)
        status = place_array(&n->cursors, n, n->n_buckets, 8);
    return status ? status : place_array(&n->buckets, n, n->n_buckets, sizeof(struct gpu_nufft_bucket));
}

static int open_job(struct nufft *n, const struct gpu_call *call, const hcy_nufft_job *job)
{
    size_t head, cells;
    memset(n, 0, sizeof *n);
    int status = gpu_nufft_check_job(&cells, job);
    if (status)
        return status;
    n->job = job;
    n->real = job->precision == HCY_F64 ? 8 : 4;
    n->at.n_points = job->n_points;
    n->at.cells = cells;
    set_grid_axes(n, job);
    set_record(n, call->kernel->ops);
    status = set_keys(n, call);
    /* The head comes first; the order of what follows is the same for the sort and for all that reads it. */
    if (!status)
        status = place_array(&head, n, 1, sizeof(struct gpu_nufft_head));
    if (!status)
        status = place_array(&n->records, n, (size_t)job->n_points, n->record);
    if (!status)
        status = place_array(&n->counts, n, n->at.n_keys, 4);
    if (!status)
        status = place_array(&n->sums, n, n->n_sums, 4);
    n->fixed = (job->flags & HCY_NUFFT_FIXED_ORDER) != 0;
    if (job->flags & HCY_NUFFT_SAME_BITS)
        n->fixed = GPU_NUFFT_SAME;
    /* The sort in two steps finds ranks as it goes, so only the other one keeps them. */
    if (!status)
        status = n->n_buckets ? place_buckets(n) : place_array(&n->ranks, n, (size_t)job->n_points, 4);
    return status;
}

int gpu_nufft_bits_option(char *options, size_t size, const struct gpu_call *call, const hcy_nufft_job *job)
{
    const char *option = call->kernel->ops->no_contraction;
    bool wanted = option && job->flags & HCY_NUFFT_SAME_BITS;
    return snprintf(options, size, "%s%s", wanted ? " " : "", wanted ? option : "");
}

static int options_of(const struct nufft *n, const struct gpu_call *call, uint32_t group, char *options)
{
    int used = gpu_nufft_bits_option(options, GPU_OPTIONS_BYTES, call, n->job);
    return used +
           snprintf(options + used, GPU_OPTIONS_BYTES - (size_t)used,
                    " -DGROUP_SIZE=%u -DREAL=%s -DPRECISION=%u -DDIM=%u -DXB=%u -DYB=%u -DZS=%u -DFIXED=%d -DPLACES=%u"
                    " -DWORDS=%zu",
                    group, n->job->precision == HCY_F64 ? "double" : "float", n->job->precision, n->job->dim,
                    n->shape.xb, n->shape.yb, n->shape.zs, n->fixed, n->places, n->record / 8);
}

/* --- nufft_sort --- */

int gpu_nufft_sort_scratch(size_t *size, const struct gpu_call *call)
{
    struct nufft n;
    int status = open_job(&n, call, call->values[SORT_AT(job)].bytes);
    *size = n.end;
    return status;
}

/* What a sort runs: a text of points, and one that does not know them. */
struct sort {
    const struct gpu_call *call;
    struct gpu_variant *points, *scan;
    uint32_t group;
};

/* Turns counts into the sums of those before them. */
static int sum_up(const struct nufft *n, const struct sort *s)
{
    const struct gpu_call *call = s->call;
    const hcy_value *sorted = &call->values[SORT_AT(sorted)];
    /* Three kernels, because groups cannot wait for one another: sums of groups, their sums, then each
     * key's. */
    uint32_t n_sums = (uint32_t)n->n_sums;
    struct gpu_grid scans = { { n_sums, 1 }, s->group, 0 }, one = { { 1, 1 }, s->group, 0 };
    int status = GPU_STEP(call, s->scan, "gpu_nufft_sums", &scans, GPU_BYTES(n->at), gpu_at(sorted, n->counts),
                          gpu_at(sorted, n->sums), gpu_at(sorted, 0));
    if (!status)
        status = GPU_STEP(call, s->scan, "gpu_nufft_places", &one, GPU_BYTES(n_sums), gpu_at(sorted, n->sums));
    if (!status)
        status = GPU_STEP(call, s->scan, "gpu_nufft_starts", &scans, GPU_BYTES(n->at), gpu_at(sorted, n->counts),
                          gpu_at(sorted, n->sums));
    return status;
}

/* How often all points are looked at to write some: measured on an H200, where 10^7 records of 32 bytes take 0.46 ms
 * at once and 0.36 in three passes, those of 16 bytes 0.55 and 0.50 in two. */
static uint32_t passes_of(const struct nufft *n, const struct gpu_call *call)
{
    bool at_once = call->kernel->ops->alone || n->at.n_points * n->record < 64u << 20;
    if (at_once)
        return 1;
    return n->record > 16 ? 3 : 2;
}

/* Many points, in two steps.  Tiles are as large as leaves no multiprocessor idle in the last round. */
static int sort_many(const struct nufft *n, const struct sort *s, const hcy_value *const x[3])
{
    const struct gpu_call *call = s->call;
    const hcy_value *sorted = &call->values[SORT_AT(sorted)];
    /* Groups have so much near memory that a multiprocessor holds one of them. */
    uint32_t units = call->kernel->ops->units, most = most_of_tile(n),
             tile = parts_of(n->at.n_points, parts_of(parts_of(n->at.n_points, most), units) * units);
    bool few_keys = n->at.n_keys <= SETTLE_BYTES / 4;
    struct gpu_grid points = gpu_groups_over(call, n->at.n_points, SETTLERS, 1),
                    keys = gpu_groups_over(call, n->at.n_keys, SETTLERS, 1),
                    near = { { units, 1 }, SETTLERS, SETTLE_BYTES },
                    tiles = { { parts_of(n->at.n_points, tile), 1 }, SETTLERS, DEAL_BYTES },
                    buckets = { { n->n_buckets, 1 }, SETTLERS, SETTLE_BYTES };
    /* Buckets in whose part no key begins, and the cursor of the first one, are zeros. */
    int status = call->kernel->ops->zero(call->queue, sorted, n->cursors, n->end - n->cursors);
    if (!status)
        status = GPU_STEP(call, s->points, few_keys ? "gpu_nufft_count_near" : "gpu_nufft_count_many",
                          few_keys ? &near : &points, GPU_BYTES(n->at), gpu_at(x[0], 0), gpu_at(x[1], 0),
                          gpu_at(x[2], 0), gpu_at(sorted, n->counts), gpu_at(sorted, 0));
    if (!status)
        /* Where keys begin decides which keys make a bucket. */
        status = sum_up(n, s);
    if (!status)
        status = GPU_STEP(call, s->points, "gpu_nufft_buckets", &keys, GPU_BYTES(n->at), gpu_at(sorted, n->counts),
                          gpu_at(sorted, n->codes), gpu_at(sorted, n->cursors), gpu_at(sorted, n->buckets));
    if (!status)
        /* The first step writes runs of records to their buckets, the second one orders each bucket in
         * near memory. */
        status = GPU_STEP(call, s->points, "gpu_nufft_part", &tiles, GPU_BYTES(n->at), GPU_BYTES(tile),
                          GPU_BYTES(n->n_buckets), gpu_at(x[0], 0), gpu_at(x[1], 0), gpu_at(x[2], 0),
                          gpu_at(sorted, n->codes), gpu_at(sorted, n->cursors), gpu_at(sorted, n->records));
    if (!status)
        status = GPU_STEP(call, s->points, "gpu_nufft_settle", &buckets, GPU_BYTES(n->at), gpu_at(sorted, n->counts),
                          gpu_at(sorted, n->buckets), gpu_at(sorted, 0), gpu_at(sorted, n->records),
                          gpu_at(&call->values[SORT_AT(report)], 0));
    return status;
}

static int run_sort(const struct nufft *n, const struct sort *s)
{
    const struct gpu_call *call = s->call;
    const hcy_value *x[3], *sorted = &call->values[SORT_AT(sorted)];
    struct gpu_grid points = gpu_groups_over(call, n->at.n_points, s->group, 1),
                    keys = gpu_groups_over(call, n->at.n_keys, s->group, 1);
    for (uint32_t d = 0; d < 3; d++)
        /* An axis that is not there gets the first one's coordinates, which no kernel reads. */
        x[d] = &call->values[hcy_nufft_points_at(d < n->job->dim ? n->job->dim - 1 - d : 0)];
    int status = GPU_STEP(call, s->scan, "gpu_nufft_begin", &keys, GPU_BYTES(n->at),
                          gpu_at(sorted, n->counts), gpu_at(sorted, 0));
    if (status || n->n_buckets)
        return status ? status : sort_many(n, s, x);
    if (!status)
        status = GPU_STEP(call, s->points, "gpu_nufft_count", &points, GPU_BYTES(n->at), gpu_at(x[0], 0),
                          gpu_at(x[1], 0), gpu_at(x[2], 0), gpu_at(sorted, n->counts),
                          gpu_at(sorted, n->ranks), gpu_at(sorted, 0));
    if (!status)
        status = sum_up(n, s);
    /* Fewer keys a pass are fewer places that are written at a time. */
    uint32_t passes = passes_of(n, call), each = parts_of(n->at.n_keys, passes);
    for (uint32_t first = 0; !status && first < n->at.n_keys; first += each)
        status = GPU_STEP(call, s->points, "gpu_nufft_scatter", &points, GPU_BYTES(n->at), GPU_BYTES(first),
                          GPU_BYTES(each), gpu_at(x[0], 0), gpu_at(x[1], 0), gpu_at(x[2], 0),
                          gpu_at(sorted, n->counts), gpu_at(sorted, n->ranks), gpu_at(sorted, 0),
                          gpu_at(sorted, n->records), gpu_at(&call->values[SORT_AT(report)], 0));
    return status;
}

int gpu_nufft_sort_launch(const struct gpu_call *call)
{
    struct nufft n;
    struct sort s = { .call = call, .group = gpu_group(call, GPU_NUFFT_GROUP) };
    char options[GPU_OPTIONS_BYTES];
    const hcy_nufft_job *job = call->values[SORT_AT(job)].bytes;
    bool is_double = job->flags & HCY_NUFFT_DOUBLE_POINTS || job->precision == HCY_F64;
    int status = open_job(&n, call, job);
    if (status)
        return status;
    /* Buffers are proved against the job here; kernels trust them. */
    for (uint32_t d = 0; d < job->dim; d++)
        if (!gpu_holds(&call->values[hcy_nufft_points_at(d)], (size_t)job->n_points, is_double ? 8 : 4))
            return hcy_fail(HCY_EINVAL, "nufft_sort: coordinates %u are fewer than the job's points, or begin between numbers", d);
    if (!gpu_holds(&call->values[SORT_AT(sorted)], 1, n.end) ||
        !gpu_holds(&call->values[SORT_AT(report)], 1, sizeof(hcy_nufft_report)))
        return hcy_fail(HCY_EINVAL, "nufft_sort: the buffers are too small, or begin at no multiple of 16 bytes");
    /* Both texts are compiled before anything is launched, so a failure leaves the buffers alone. */
    int used = options_of(&n, call, n.n_buckets ? SETTLERS : s.group, options);
    snprintf(options + used, sizeof options - (size_t)used, " -DPOINT=%s -DBUCKET=%u -DTILE=%u",
             is_double ? "double" : "float", SETTLED, most_of_tile(&n));
    status = gpu_variant_get(&s.points, call->kernel, n.n_buckets ? gpu_text_nufft_settle : gpu_text_nufft_sort,
                             options);
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u", s.group);
    if (!status)
        status = gpu_variant_get(&s.scan, call->kernel, gpu_text_nufft_scan, options);
    return status ? status : run_sort(&n, &s);
}

/* --- nufft_spread, nufft_interp, nufft_slopes --- */

/* Complex numbers of a point. */
static size_t numbers_of(const struct nufft *n, enum hcy_nufft_move move)
{
    return move == HCY_NUFFT_SLOPES ? 1 + n->job->dim : 1;
}

static const char *text_of(const struct gpu_shape *s, enum hcy_nufft_move move, bool by_points)
{
    if (by_points)
        return move == HCY_NUFFT_SLOPES ? gpu_text_nufft_slopes : gpu_text_nufft_same;
    return s->resident ? gpu_text_nufft_pencil : s->tiles ? gpu_text_nufft_tiles : gpu_text_nufft;
}

static int open_move(struct nufft *n, const struct gpu_call *call, enum hcy_nufft_move move, struct gpu_variant **v)
{
    const struct hcy_nufft_move_at *at = hcy_nufft_move_at(move);
    const bool spreads = move == HCY_NUFFT_PUTS;
    const hcy_value *values = call->values;
    size_t strengths, grids;
    char options[GPU_OPTIONS_BYTES];
    int status = open_job(n, call, values[at->job].bytes);
    if (status)
        return status;
    if (move == HCY_NUFFT_SLOPES && n->fixed == GPU_NUFFT_SAME)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_slopes: not with the same bits everywhere; nufft_interp has those");
    size_t complex_ = 2 * n->real;
    /* A buffer sorted for another job would have another size, or keys beyond this grid. */
    if (!gpu_holds(&values[at->sorted], 1, n->end))
        return hcy_fail(HCY_EINVAL, "nufft: the points were not sorted, or for another job");
    if (hcy_size_mul(&strengths, (size_t)n->at.n_points, call->items) ||
        hcy_size_mul(&grids, (size_t)n->at.cells, call->items) ||
        hcy_size_mul(&strengths, strengths, numbers_of(n, move)) ||
        !gpu_holds(&values[at->strengths], strengths, complex_) ||
        !gpu_holds(&values[at->grid], grids, complex_) ||
        !gpu_holds(&values[at->table], HCY_NUFFT_COEFS(n->job->width) * HCY_NUFFT_MAX_WIDTH, n->real))
        return hcy_fail(HCY_EINVAL, "nufft: strengths, grid or window are smaller than the job says, or begin between numbers");
    /* Pencils are the sort's; what a group takes of them depends on the direction and the number of
     * vectors. */
    gpu_shape_for(&n->shape, call->kernel->ops, n->job, call->items, move);
    n->at.range = n->shape.range;
    struct gpu_shape *s = &n->shape;
    /* What a group shares in other ways has an order of the device's own, and few points share nothing (same.cl).
     * Slopes of doubles are products on tensor cores where there are some: by points these took 4 to 5 transforms. */
    const bool slopes = move == HCY_NUFFT_SLOPES, in_pencils = s->resident && n->real == 8 && n->job->dim > 1,
               by_points = slopes ? !in_pencils : !spreads && (n->fixed == GPU_NUFFT_SAME || s->tiles);
    if (by_points) {
        s->group = gpu_group(call, GPU_NUFFT_GROUP / 2);
        s->vectors = 1;
        s->near_bytes = 0;
        n->at.range = 128;
    }
    int used = options_of(n, call, s->group, options);
    used += snprintf(options + used, sizeof options - (size_t)used,
                     " -DWIDTH=%uu -DPARTS=%u -DBATCH=%u -DVECTORS=%u -DSPREADS=%d -DRESIDENT=%u%s", n->job->width,
                     s->parts, s->batch, s->vectors, spreads, s->resident, slopes ? " -DSLOPES=1" : "");
    if (s->near_bytes)
        snprintf(options + used, sizeof options - (size_t)used, " -DNEAR_BYTES=%u -DAMPLE=%d%s", s->near_bytes,
                 s->ample, s->carries ? " -DCARRIES=1" : "");
    return gpu_variant_get(v, call->kernel, text_of(s, move, by_points), options);
}

/* Groups that each take a range of points and some vectors. */
static struct gpu_grid move_grid(const struct nufft *n, const struct gpu_ops *ops, size_t vectors)
{
    uint32_t near = ops->static_local ? 0 : n->shape.near_bytes;
    uint32_t rows = parts_of(vectors, n->shape.vectors);
    return (struct gpu_grid){ { parts_of(n->at.n_points, n->at.range), rows }, n->shape.group, near };
}

/* Moves up to MOST_ROWS vectors, from the `done`-th on. */
static int move_vectors(const struct nufft *n, const struct gpu_call *call, struct gpu_variant *v,
                        enum hcy_nufft_move move, size_t done)
{
    static const char *const names[] = { [HCY_NUFFT_GETS] = "gpu_nufft_interp", [HCY_NUFFT_PUTS] = "gpu_nufft_spread",
                                         [HCY_NUFFT_SLOPES] = "gpu_nufft_slopes" };
    const struct hcy_nufft_move_at *of = hcy_nufft_move_at(move);
    const bool spreads = move == HCY_NUFFT_PUTS;
    const hcy_value *values = call->values;
    size_t rows = call->items - done < MOST_ROWS ? call->items - done : MOST_ROWS, complex_ = 2 * n->real;
    struct gpu_nufft at = n->at;
    struct gpu_grid grid = move_grid(n, call->kernel->ops, rows);
    /* Offsets are in bytes from the launch's first vector, so kernels count vectors from 0. */
    size_t points = done * n->at.n_points * complex_ * numbers_of(n, move), cells = done * n->at.cells * complex_;
    at.vectors = (uint32_t)rows;
    return GPU_STEP(call, v, names[move], &grid, GPU_BYTES(at),
                    gpu_at(&values[of->sorted], n->records), gpu_at(&values[of->table], 0),
                    spreads ? gpu_at(&values[of->strengths], points) : gpu_at(&values[of->grid], cells),
                    spreads ? gpu_at(&values[of->grid], cells) : gpu_at(&values[of->strengths], points));
}

static int get_from_grid(const struct gpu_call *call, enum hcy_nufft_move move)
{
    struct nufft n;
    struct gpu_variant *v;
    int status = open_move(&n, call, move, &v);
    for (size_t done = 0; !status && done < call->items && n.at.n_points; done += MOST_ROWS)
        status = move_vectors(&n, call, v, move, done);
    return status;
}

int gpu_nufft_interp_launch(const struct gpu_call *call)
{
    return get_from_grid(call, HCY_NUFFT_GETS);
}

int gpu_nufft_slopes_launch(const struct gpu_call *call)
{
    return get_from_grid(call, HCY_NUFFT_SLOPES);
}

/* Fixed order: the vectors' exponents, then their grids of 64-bit integers. */
static int fixed_scratch(const struct nufft *n, size_t items, size_t *grids, size_t *size)
{
    int status = hcy_size_mul(size, items, (size_t)n->at.cells);
    if (!status)
        status = hcy_size_mul(size, *size, 16);
    /* The exponents come first, rounded up so that the grids are aligned for atomics. */
    *grids = (items * 4 + 255) / 256 * 256;
    return status ? status : hcy_size_add(size, *size, *grids);
}

/* Tiles: a counter, then parts.  A tile in parts has half as many points a part at least, and a point is looked at by
 * as many tiles as an axis has bins that reach one, twice over. */
#define PARTS_AT 256u
static size_t most_parts(const struct nufft *n)
{
    return (size_t)(n->at.n_points / GPU_NUFFT_TILE_MOST + 1) * 2 * 27;
}

int gpu_nufft_spread_scratch(size_t *size, const struct gpu_call *call)
{
    struct nufft n;
    size_t grids;
    int status = open_job(&n, call, call->values[SPREAD_AT(job)].bytes);
    *size = n.shape.tiles ? PARTS_AT + most_parts(&n) * sizeof(struct gpu_nufft_part) : 0;
    return status || !n.fixed ? status : fixed_scratch(&n, call->items, &grids, size);
}

/* Few points: tiles, then the parts of those that many points reach, whose number the host does not learn. */
static int spread_tiles(const struct nufft *n, const struct gpu_call *call, struct gpu_variant *v)
{
    const hcy_value *values = call->values;
    const hcy_value *scratch = &values[SPREAD_AT(scratch)], *sorted = &values[SPREAD_AT(sorted)];
    size_t parts = most_parts(n), vector = n->at.cells * 2 * n->real;
    if (!gpu_holds(scratch, 1, PARTS_AT + parts * sizeof(struct gpu_nufft_part)))
        return hcy_fail(HCY_EINVAL, "nufft_spread: no room for the parts of tiles");
    int status = 0;
    for (size_t done = 0; !status && done < call->items; done += MOST_ROWS) {
        uint32_t rows = (uint32_t)(call->items - done < MOST_ROWS ? call->items - done : MOST_ROWS);
        struct gpu_grid tiles = { { n->at.n_keys, rows }, n->shape.group, 0 },
                        rest = { { (uint32_t)parts, rows }, n->shape.group, 0 };
        const struct gpu_arg args[] = { GPU_BYTES(n->at),
                                        gpu_at(sorted, n->records),
                                        gpu_at(sorted, n->counts),
                                        gpu_at(&values[SPREAD_AT(table)], 0),
                                        gpu_at(&values[SPREAD_AT(strengths)], done * n->at.n_points * 2 * n->real),
                                        gpu_at(&values[SPREAD_AT(grid)], done * vector),
                                        gpu_at(scratch, 0),
                                        gpu_at(scratch, PARTS_AT) };
        status = call->kernel->ops->zero(call->queue, scratch, 0, PARTS_AT);
        if (!status)
            status = gpu_step(call, v, "gpu_nufft_spread", &tiles, args, sizeof args / sizeof *args);
        if (!status)
            status = gpu_step(call, v, "gpu_nufft_spread_parts", &rest, args, sizeof args / sizeof *args);
    }
    return status;
}

static int spread_fixed(const struct nufft *n, const struct gpu_call *call, struct gpu_variant *v)
{
    const hcy_value *values = call->values;
    const hcy_value *scratch = &values[SPREAD_AT(scratch)], *sorted = &values[SPREAD_AT(sorted)];
    uint32_t rows = (uint32_t)call->items;
    size_t grids, size;
    /* Three steps: the largest strength gives the scale, integers are summed, and become floating point
     * again. */
    struct gpu_grid points = gpu_groups_over(call, 2 * n->at.n_points, n->shape.group, rows),
                    cells = gpu_groups_over(call, 2 * n->at.cells, n->shape.group, rows),
                    grid = move_grid(n, call->kernel->ops, call->items);
    struct gpu_nufft at = n->at;
    int status = call->items <= MOST_ROWS ? fixed_scratch(n, call->items, &grids, &size) : HCY_ERANGE;
    if (status || !gpu_holds(scratch, 1, size))
        return hcy_fail(status ? status : HCY_EINVAL, "nufft_spread: %zu vectors at once in fixed order",
                        call->items);
    /* The exponents' maximum and the integer grids both begin at zero. */
    at.vectors = rows;
    status = call->kernel->ops->zero(call->queue, scratch, 0, size);
    if (!status)
        status = GPU_STEP(call, v, "gpu_nufft_largest", &points, GPU_BYTES(n->at.n_points),
                          gpu_at(&values[SPREAD_AT(strengths)], 0), gpu_at(scratch, 0));
    if (!status)
        status = GPU_STEP(call, v, "gpu_nufft_spread", &grid, GPU_BYTES(at), gpu_at(sorted, n->records),
                          gpu_at(&values[SPREAD_AT(table)], 0), gpu_at(&values[SPREAD_AT(strengths)], 0),
                          gpu_at(scratch, grids), gpu_at(sorted, 0), gpu_at(scratch, 0));
    if (!status)
        status = GPU_STEP(call, v, "gpu_nufft_floating", &cells, GPU_BYTES(n->at), gpu_at(sorted, 0),
                          gpu_at(scratch, 0), gpu_at(scratch, grids), gpu_at(&values[SPREAD_AT(grid)], 0));
    return status;
}

int gpu_nufft_spread_launch(const struct gpu_call *call)
{
    struct nufft n;
    struct gpu_variant *v;
    int status = open_move(&n, call, HCY_NUFFT_PUTS, &v);
    if (status)
        return status;
    if (n.fixed && n.at.n_points)
        return spread_fixed(&n, call, v);
    if (n.shape.tiles)
        return spread_tiles(&n, call, v);
    /* Groups add to the grid where pieces overlap, so it begins as zeros. */
    status = call->kernel->ops->zero(call->queue, &call->values[SPREAD_AT(grid)], 0,
                                     call->items * (size_t)n.at.cells * 2 * n.real);
    for (size_t done = 0; !status && done < call->items && n.at.n_points; done += MOST_ROWS)
        status = move_vectors(&n, call, v, HCY_NUFFT_PUTS, done);
    return status;
}

const struct gpu_kernel_kind gpu_nufft_kernels[] = {
    { "nufft_sort", gpu_nufft_sort_launch, gpu_nufft_sort_scratch, NULL, GPU_BATCH, false },
    { "nufft_spread", gpu_nufft_spread_launch, gpu_nufft_spread_scratch, NULL, GPU_BATCH, true },
    { "nufft_interp", gpu_nufft_interp_launch, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "nufft_slopes", gpu_nufft_slopes_launch, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "nufft_crop", gpu_nufft_crop_launch, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "nufft_pad", gpu_nufft_pad_launch, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "nufft_lines", gpu_nufft_lines_launch, gpu_nufft_lines_scratch, NULL, GPU_BATCH, false },
    { "nufft_axes", gpu_nufft_axes_launch, gpu_nufft_axes_scratch, NULL, GPU_BATCH, false },
    { "nufft_gram", gpu_nufft_gram_launch, gpu_nufft_gram_scratch, NULL, GPU_BATCH, false },
    { "nufft_scale", gpu_nufft_scale_launch, gpu_no_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
