/* spread_interp.c - the kernels of the family nufft: spreading and interpolation, whose subproblems are shared
 * out to threads.
 *
 * A kernel runs on its queue's thread and is shared out to the device's pool; what it keeps between
 * launches is the buffer `sorted`. Parts of the fine grid that neighbouring subproblems add to are guarded
 * slab by slab (a slab: the bins of one place on the slowest axis); with HCY_NUFFT_FIXED_ORDER a slab also
 * takes its subproblems in their order.  That cannot deadlock: threads take subproblems in their order, so
 * one only waits for those under way.
 */
#include "cpu_nufft.h"
#include "nufft/nufft_bits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

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

const struct nufft_ops *nufft_ops_for(enum cpu_simd simd, const hcy_nufft_job *job)
{
    const bool is_double = job->precision == HCY_F64;
    if (!(job->flags & HCY_NUFFT_SAME_BITS))
        return nufft_ops(simd, is_double);
#ifdef HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        return &nufft_same_avx512[is_double];
    if (simd >= CPU_SIMD_AVX2)
        return &nufft_same_avx2[is_double];
#endif
    return &nufft_same_portable[is_double];
}

/* --- Spreading and interpolation --- */

struct slab {
    pthread_mutex_t lock;
    pthread_cond_t moved_on;
    uint32_t next, all; /* how many came to it; and will, to one that is begun and ended, else 0 */
};

struct move {
    struct nufft_layout layout;
    struct nufft_rows rows;
    const struct nufft_ops *ops;
    const struct nufft_sorted *s;
    const struct nufft_sub *subs;
    char *strengths, *grid; /* of the first vector */
    size_t vector; /* bytes of a vector's strengths */
    void (*get)(const struct nufft_rows *rows, const void *records, size_t n, void *c, const void *local);
    char *scratch;
    struct slab *slabs; /* [vector][slab]; NULL: one thread, and nothing to be done to slabs */
    bool in_order;
    size_t number;      /* bytes of a number of the grid */
    char *floats;       /* the grid in the end, where `grid` is one of integers; */
    const double *units, *last_units; /* of its vectors, nufft_find_units(), or NULL */
};

static size_t local_bytes(const struct nufft_layout *l)
{
    return nufft_up(l->local * l->number, NUFFT_ALIGN) + NUFFT_ALIGN;
}

static size_t table_bytes(const struct nufft_layout *l)
{
    return l->real * HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH;
}

static int move_scratch(size_t *size, const struct cpu_call *call, const hcy_nufft_job *job)
{
    struct nufft_layout l;
    int status = nufft_layout_of(&l, job);
    *size = status ? 0 : nufft_up(table_bytes(&l), NUFFT_ALIGN) + cpu_pool_threads(call->pool) * local_bytes(&l);
    return status;
}

/* Integers are summed in grids of their own, behind all else. */
static int integer_grids(size_t *bytes, const struct cpu_call *call, const hcy_nufft_job *job)
{
    struct nufft_layout l;
    int status = nufft_layout_of(&l, job);
    *bytes = 0;
    if (!status && l.same)
        status = hcy_size_mul(bytes, l.cells * l.number, call->items);
    return status;
}

static int spread_scratch(size_t *size, const struct cpu_call *call)
{
    const hcy_nufft_job *job = call->values[HCY_ARG_AT(nufft_spread, job)].bytes;
    size_t grids = 0;
    int status = move_scratch(size, call, job);
    if (!status)
        status = integer_grids(&grids, call, job);
    return status ? status : hcy_size_add(size, *size, grids);
}

static int interp_scratch(size_t *size, const struct cpu_call *call)
{
    return move_scratch(size, call, call->values[HCY_ARG_AT(nufft_interp, job)].bytes);
}

static int slopes_scratch(size_t *size, const struct cpu_call *call)
{
    return move_scratch(size, call, call->values[HCY_ARG_AT(nufft_slopes, job)].bytes);
}

/* Windows that leave half of a vector free, once more in its other half. */
static void double_table(char *table, const struct nufft_layout *l, size_t half)
{
    size_t window = l->width * l->real, row = HCY_NUFFT_MAX_WIDTH * l->real;
    for (unsigned c = 0; window <= half && c < HCY_NUFFT_COEFS(l->width); c++)
        memcpy(table + c * row + half, table + c * row, window);
}

/* The buffer says itself what it was sorted for, because hosts may hand over that of another job.  Records of other
 * numbers or axes would lead anywhere, and turns of another window would never come. */
static bool is_sorted_for(const struct nufft_sorted *s, const struct nufft_layout *l)
{
    bool is = s->magic == NUFFT_MAGIC && s->n_points == l->n_points && s->record == l->record && s->width == l->width;
    for (unsigned d = 0; d < 3; d++)
        is = is && s->cells[d] == l->axis[d].n;
    return is;
}

static int take_move(struct move *m, const struct cpu_call *call, enum hcy_nufft_move move)
{
    const struct hcy_nufft_move_at *at = hcy_nufft_move_at(move);
    const hcy_nufft_job *job = call->values[at->job].bytes;
    size_t size, strengths, grid;
    int status = nufft_layout_of(&m->layout, job);
    if (!status)
        status = move_scratch(&size, call, job);
    if (status)
        return status;
    const struct nufft_layout *l = &m->layout;
    m->s = cpu_arg(call, at->sorted);
    if (cpu_arg_size(call, at->sorted) < sizeof *m->s || !is_sorted_for(m->s, l) ||
        cpu_arg_size(call, at->sorted) < m->s->size)
        return hcy_fail(HCY_EINVAL, "nufft: the points were not sorted, or for another job");
    /* All sizes are checked against the job once, so the loops need no tests. */
    m->vector = l->n_points * 2 * l->real * (move == HCY_NUFFT_SLOPES ? 1 + l->dim : 1);
    if (hcy_size_mul(&strengths, m->vector, call->items) ||
        hcy_size_mul(&grid, l->cells * 2 * l->real, call->items) || cpu_arg_size(call, at->scratch) < size ||
        cpu_arg_size(call, at->strengths) < strengths || cpu_arg_size(call, at->grid) < grid ||
        cpu_arg_size(call, at->table) < HCY_NUFFT_COEFS(l->width) * HCY_NUFFT_MAX_WIDTH * l->real)
        return hcy_fail(HCY_EINVAL,
                        "nufft: strengths, grid, window or scratch are smaller than the job says");
    if (!nufft_may_begin(cpu_arg(call, at->scratch)))
        return hcy_fail(HCY_EINVAL, "nufft: scratch memory does not begin at a multiple of %d bytes", NUFFT_ALIGN);
    m->ops = nufft_ops_for(call->simd, job);
    m->get = move == HCY_NUFFT_SLOPES ? m->ops->slopes : m->ops->interp;
    m->subs = (const void *)((const char *)m->s + m->s->subs);
    m->strengths = cpu_arg(call, at->strengths);
    m->grid = cpu_arg(call, at->grid);
    /* The table is copied to where it is aligned, with narrow windows twice in a row. */
    char *table = cpu_arg(call, at->scratch);
    memcpy(table, cpu_arg(call, at->table), HCY_NUFFT_COEFS(l->width) * HCY_NUFFT_MAX_WIDTH * l->real);
    double_table(table, l, m->ops->lanes / 2 * l->real);
    m->scratch = table + nufft_up(table_bytes(l), NUFFT_ALIGN);
    m->rows = (struct nufft_rows){ table, l->pitch, l->pitch * l->rows, l->width, l->dim, 1, { 0 } };
    for (unsigned d = 0; d < l->dim; d++)
        m->rows.rate[d] = -(double)l->axis[d].n / PI;
    m->slabs = NULL;
    m->number = 2 * l->real;
    m->units = NULL;
    m->in_order = (job->flags & HCY_NUFFT_FIXED_ORDER) != 0;
    return 0;
}

/* The first cell of a bin on each axis, and how many cells it reaches from there. */
static void reach_of(const struct nufft_layout *l, uint32_t bin, size_t first[3], size_t n[3])
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
static void move_bin_rows(const struct move *m, uint32_t bin, size_t begin, size_t end, char *local, char *grid,
                          bool adds)
{
    const struct nufft_layout *l = &m->layout;
    size_t first[3], n[3], c = m->number;
    reach_of(l, bin, first, n);
    n[l->dim - 1] = end;
    /* The fine grid is periodic: a row of the small grid is at most two parts of it. */
    size_t straight = l->axis[0].n - first[0], x0 = l->dim == 1 ? begin : 0;
    straight = straight < n[0] ? straight : n[0]; /* then the axis begins again */
    for (size_t z = l->dim == 3 ? begin : 0; z < n[2]; z++)
        for (size_t y = l->dim == 2 ? begin : 0; y < n[1]; y++) {
            /* The window may reach around the end of the axis. */
            size_t gz = (first[2] + z) % l->axis[2].n, gy = (first[1] + y) % l->axis[1].n;
            char *row = grid + (gz * l->axis[1].n + gy) * l->axis[0].n * c;
            char *small = local + (z * l->rows + y) * l->pitch * c;
            size_t parts[2][3] = { { x0, straight, first[0] + x0 }, { straight, n[0], 0 } };
            /* In one dimension a segment may begin behind the end of the axis. */
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

/* Slabs that fit into a processor's own cache are zeroed by who comes first, and made floating point by who comes last:
 * the integers, twice as large as what comes of them, are written to memory once and not read again. */
enum { SLAB_BYTES = 1 << 20, SUMS_PIECE = 1 << 14 };

static size_t slab_cells(const struct nufft_layout *l)
{
    const struct nufft_axis *slowest = &l->axis[l->dim - 1];
    return l->cells / slowest->n << slowest->log_bin;
}

/* The first of a slab's cells, and how many they are. */
static size_t find_slab(size_t *n, const struct nufft_layout *l, size_t slab)
{
    const size_t first = slab * slab_cells(l), left = l->cells - first;
    *n = left < slab_cells(l) ? left : slab_cells(l);
    return first;
}

/* How many come to each slab. */
static void count_adders(struct move *m, size_t vectors)
{
    const size_t n_slabs = m->layout.axis[m->layout.dim - 1].bins;
    uint32_t cell, n;
    for (size_t i = 0; i < m->s->n_subs; i++)
        for (unsigned k = 0; k < NUFFT_SEGMENTS; k++) {
            const uint32_t slab = nufft_segment(&m->layout, nufft_slab_of(&m->layout, m->subs[i].bin), k, &cell, &n);
            for (size_t v = 0; n && v < vectors; v++)
                m->slabs[v * n_slabs + slab].all++;
        }
}

static void make_floats(const struct move *m, size_t vector, size_t first, size_t n)
{
    const struct nufft_layout *l = &m->layout;
    const size_t cell = vector * l->cells + first;
    m->ops->floats(m->floats + cell * 2 * l->real, m->grid + cell * m->number, m->last_units[vector], n);
}

static void begin_slab(const struct move *m, size_t vector, uint32_t slab)
{
    size_t n, first = find_slab(&n, &m->layout, slab);
    memset(m->grid + (vector * m->layout.cells + first) * m->number, 0, n * m->number);
}

static void end_slab(const struct move *m, size_t vector, uint32_t slab)
{
    size_t n, first = find_slab(&n, &m->layout, slab);
    make_floats(m, vector, first, n);
}

static void enter_slab(const struct move *m, struct slab *slab, uint32_t turn)
{
    pthread_mutex_lock(&slab->lock);
    /* Who has the turn before is under way on another thread, so this ends. */
    while (m->in_order && slab->next != turn)
        pthread_cond_wait(&slab->moved_on, &slab->lock);
}

static void leave_slab(struct slab *slab)
{
    slab->next++;
    /* Several may wait for different turns, and only they know which is theirs. */
    pthread_cond_broadcast(&slab->moved_on);
    pthread_mutex_unlock(&slab->lock);
}

static void add_to_grid(const struct move *m, const struct nufft_sub *sub, size_t vector, char *local)
{
    const struct nufft_layout *l = &m->layout;
    uint32_t cell, n, own = nufft_slab_of(l, sub->bin);
    size_t done = 0;
    for (unsigned i = 0; i < NUFFT_SEGMENTS; i++) {
        uint32_t slab = nufft_segment(l, own, i, &cell, &n);
        if (!n)
            return;
        /* With one thread there may be no slabs to lock. */
        struct slab *s = m->slabs ? &m->slabs[vector * l->axis[l->dim - 1].bins + slab] : NULL;
        if (s)
            enter_slab(m, s, sub->turn[i]);
        if (s && s->all && !s->next)
            begin_slab(m, vector, slab);
        move_bin_rows(m, sub->bin, done, done + n, local, m->grid + vector * l->cells * m->number, true);
        const bool is_last = s && s->next + 1 == s->all;
        if (s)
            leave_slab(s);
        if (is_last)
            end_slab(m, vector, slab);
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
        const struct nufft_sub *sub = &m->subs[i % m->s->n_subs];
        struct nufft_rows rows = m->rows;
        rows.unit = m->units ? m->units[vector] : 1;
        /* Each subproblem has the whole small grid to itself, however few of its cells it uses. */
        memset(local, 0, l->local * m->number);
        m->ops->spread(&rows, records + sub->begin * l->record, sub->end - sub->begin,
                       m->strengths + vector * l->n_points * 2 * l->real, local);
        add_to_grid(m, sub, vector, local);
    }
}

/* Where a bin's reach begins in the fine grid, if its points are so few that they are interpolated right there: of
 * 200 000 points on 305 x 305 x 400 doubles, the copies of bins take four times as long as the sums.  More points want
 * a bin's rows side by side: the two are even where windows have three to five times as many cells as the copy.  NULL:
 * it is to be copied, as it goes beyond the end of an axis, or vectors that begin in it may end beyond the grid. */
static const char *place_in_grid(const struct move *m, const struct nufft_sub *sub, const char *grid)
{
    const struct nufft_layout *l = &m->layout;
    size_t first[3], n[3], window = 1, cells = 1, at = 0, last = 0;
    reach_of(l, sub->bin, first, n);
    for (unsigned d = 3; d-- > 0;) {
        window *= d < l->dim ? l->width : 1;
        cells *= n[d];
        if (first[d] + n[d] > l->axis[d].n)
            return NULL;
        at = at * l->axis[d].n + first[d];
        last = last * l->axis[d].n + first[d] + n[d] - 1;
    }
    bool is_few = l->dim == 3 && (sub->end - sub->begin) * window <= 2 * cells;
    return is_few && last + 2 * HCY_NUFFT_MAX_WIDTH < l->cells ? grid + at * 2 * l->real : NULL;
}

/* Vectors reach beyond the cells of a row, with weights of 0: what is there must be numbers.  Behind the row of a bin
 * that ends with its axis there may be those of another bin, and vector, before it. */
static void clear_ends(const struct move *m, const size_t n[3], char *local)
{
    const struct nufft_layout *l = &m->layout;
    const size_t longest = ((size_t)1 << l->axis[0].log_bin) + l->width - 1;
    for (size_t z = 0; z < n[2] && n[0] < longest; z++)
        for (size_t y = 0; y < n[1]; y++)
            memset(local + ((z * l->rows + y) * l->pitch + n[0]) * m->number, 0, (longest - n[0]) * m->number);
}

static void interp_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct move *m = context;
    const struct nufft_layout *l = &m->layout;
    const char *records = (const char *)m->s + m->s->records;
    char *local = m->scratch + thread * local_bytes(l);
    struct nufft_rows in_grid = m->rows;
    const char *copied = NULL; /* what is in the small grid: of this vector's grid, */
    uint32_t bin = 0;          /* and this bin */
    in_grid.pitch = l->axis[0].n;
    in_grid.plane = (size_t)l->axis[0].n * l->axis[1].n;
    for (size_t i = begin; i < end; i++) {
        size_t vector = i / m->s->n_subs, first[3], n[3];
        const struct nufft_sub *sub = &m->subs[i % m->s->n_subs];
        char *grid = m->grid + vector * l->cells * 2 * l->real;
        const char *place = place_in_grid(m, sub, grid);
        /* Subproblems of a bin follow each other and read the same cells, which are copied once. */
        if (!place && (grid != copied || sub->bin != bin)) {
            reach_of(l, sub->bin, first, n);
            move_bin_rows(m, sub->bin, 0, n[l->dim - 1], local, grid, false);
            clear_ends(m, n, local);
            copied = grid;
            bin = sub->bin;
        }
        m->get(place ? &in_grid : &m->rows, records + sub->begin * l->record, sub->end - sub->begin,
               m->strengths + vector * m->vector, place ? place : local);
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
        m->slabs[i].next = m->slabs[i].all = 0;
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

struct settle {
    const struct move *m;
    char *room; /* [vector] */
};

static void settle_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct settle *s = context;
    const struct move *m = s->m;
    const struct nufft_layout *l = &m->layout;
    size_t c = 2 * l->real;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        for (size_t first = 0, next; first < m->s->n_subs; first = next) { /* a bin's: places are within it */
            for (next = first + 1; next < m->s->n_subs && m->subs[next].bin == m->subs[first].bin; next++)
                ;
            /* Strengths of a bin are not those of another, so vectors and bins are settled apart. */
            size_t at = m->subs[first].begin;
            m->ops->settle(l->dim, (const char *)m->s + m->s->records + at * l->record, m->subs[next - 1].end - at,
                           m->strengths + i * l->n_points * c, s->room + i * m->s->longest * c);
        }
}

/* Strengths of points at the same place in an order by what they are; *copy is what they are then read from. */
static int settle_strengths(struct move *m, const struct cpu_call *call, char **copy)
{
    size_t c = 2 * m->layout.real, all = call->items * m->layout.n_points * c;
    struct settle s = { m, malloc(call->items * m->s->longest * c) };
    *copy = malloc(all);
    /* The caller's strengths are not ours to reorder, so a copy is. */
    if (s.room && *copy) {
        m->strengths = memcpy(*copy, m->strengths, all);
        cpu_pool_for(call->pool, call->items, 1, settle_range, &s);
    }
    free(s.room);
    return s.room && *copy ? 0 : hcy_fail(HCY_ENOMEM, "nufft_spread: out of memory for a copy of the strengths");
}

/* --- The same bits everywhere: sums of integers --- */

/* What nobody came to. */
static void empty_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct move *m = context;
    const struct nufft_layout *l = &m->layout;
    const size_t n_slabs = l->axis[l->dim - 1].bins;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t n, first = find_slab(&n, l, i % n_slabs);
        if (!m->slabs[i].all)
            memset(m->floats + (i / n_slabs * l->cells + first) * 2 * l->real, 0, n * 2 * l->real);
    }
}

static void floating_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct move *m = context;
    const size_t pieces = m->layout.cells / SUMS_PIECE + 1;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        const size_t first = i % pieces * SUMS_PIECE, left = m->layout.cells - first;
        make_floats(m, i / pieces, first, left < SUMS_PIECE ? left : SUMS_PIECE);
    }
}

/* Spreads to integers behind the scratch memory of the threads, and makes them floating point. */
static int spread_integers(struct move *m, const struct cpu_call *call)
{
    const struct nufft_layout *l = &m->layout;
    const size_t bytes = call->items * l->cells * l->number, n_slabs = call->items * l->axis[l->dim - 1].bins;
    const bool is_small = slab_cells(l) * l->number <= SLAB_BYTES;
    double *units = malloc(call->items * 2 * sizeof *units);
    int status = units ? nufft_find_units(units, l, m->strengths, call)
                       : hcy_fail(HCY_ENOMEM, "nufft_spread: out of memory for %zu vectors", call->items);
    if (!status && is_small && !m->slabs)
        status = make_slabs(m, n_slabs);
    if (!status) {
        m->units = units;
        m->last_units = units + call->items;
        m->floats = m->grid;
        m->grid = m->scratch + cpu_pool_threads(call->pool) * local_bytes(l);
        m->number = l->number;
        if (is_small)
            count_adders(m, call->items);
        else
            nufft_zero(call->pool, m->grid, bytes);
        cpu_pool_for(call->pool, call->items * m->s->n_subs, 1, spread_range, m);
        if (is_small)
            cpu_pool_for(call->pool, n_slabs, 1, empty_range, m);
        else
            cpu_pool_for(call->pool, call->items * (l->cells / SUMS_PIECE + 1), 1, floating_range, m);
    }
    free(units);
    return status;
}

static int run_nufft_spread(const struct cpu_call *call)
{
    struct move m;
    char *copy = NULL;
    size_t needed, at = hcy_nufft_move_at(HCY_NUFFT_PUTS)->scratch;
    int status = take_move(&m, call, HCY_NUFFT_PUTS);
    if (!status)
        status = spread_scratch(&needed, call);
    if (!status && cpu_arg_size(call, at) < needed)
        status = hcy_fail(HCY_EINVAL, "nufft: %zu bytes of scratch are needed", needed);
    if (status)
        return status;
    size_t n_slabs = call->items * m.layout.axis[m.layout.dim - 1].bins;
    /* Slabs are guarded only where threads can meet. */
    if (cpu_pool_threads(call->pool) > 1)
        status = make_slabs(&m, n_slabs);
    /* Points at the same place could otherwise come in any order, which their sums would show. */
    if (!status && m.in_order && m.s->longest > 1)
        status = settle_strengths(&m, call, &copy);
    if (!status && m.layout.same) {
        status = spread_integers(&m, call);
    } else if (!status) {
        nufft_zero(call->pool, m.grid, call->items * m.layout.cells * 2 * m.layout.real);
        cpu_pool_for(call->pool, call->items * m.s->n_subs, 1, spread_range, &m);
    }
    free_slabs(&m, n_slabs);
    free(copy);
    return status;
}

static int get_from_grid(const struct cpu_call *call, enum hcy_nufft_move move)
{
    struct move m;
    int status = take_move(&m, call, move);
    if (status)
        return status;
    if (!m.get)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_slopes: not with the same bits everywhere; nufft_interp has those");
    /* No bin's cells are behind the longest rows. */
    nufft_zero(call->pool, m.scratch, cpu_pool_threads(call->pool) * local_bytes(&m.layout));
    cpu_pool_for(call->pool, call->items * m.s->n_subs, 4, interp_range, &m);
    return 0;
}

static int run_nufft_interp(const struct cpu_call *call)
{
    return get_from_grid(call, HCY_NUFFT_GETS);
}

static int run_nufft_slopes(const struct cpu_call *call)
{
    return get_from_grid(call, HCY_NUFFT_SLOPES);
}

const struct cpu_kernel cpu_nufft_kernels[] = {
    { .name = "nufft_sort", .run = nufft_run_sort, .scratch_size = nufft_sorted_size, .variant = cpu_simd_built },
    { .name = "nufft_spread", .run = run_nufft_spread, .scratch_size = spread_scratch, .variant = cpu_simd_built },
    { .name = "nufft_interp", .run = run_nufft_interp, .scratch_size = interp_scratch, .variant = cpu_simd_built },
    { .name = "nufft_slopes", .run = run_nufft_slopes, .scratch_size = slopes_scratch, .variant = cpu_simd_built },
    { .name = "nufft_crop", .run = nufft_run_crop, .variant = cpu_simd_built },
    { .name = "nufft_pad", .run = nufft_run_pad, .variant = cpu_simd_built },
    { .name = "nufft_mix", .run = nufft_run_mix, .variant = cpu_simd_built },
    { .name = "nufft_scale", .run = nufft_run_scale, .variant = cpu_simd_built },
    { .name = "nufft_modes",
      .run = nufft_run_modes,
      .scratch_size = nufft_modes_scratch,
      .variant = cpu_simd_built },
    { .name = "nufft_grid",
      .run = nufft_run_grid,
      .scratch_size = nufft_grid_scratch,
      .variant = cpu_simd_built },
    { .name = NULL },
};
