/* cpu_stencil.c - sums of neighbours along axes: one pass over memory, whatever the axes.
 *
 * A LINE is what consecutive elements of the last axis are; long ones are cut into pieces.  Threads MARCH along the
 * outermost axis that has neighbours, over so many pieces of lines side by side that these are still in a core's cache
 * when the next steps want them again.  What a line is a sum of is looked up once for all lines of the same kind.
 */
#include "cpu_stencil.h"

#include "stencil_job.h"

enum {
    PIECE = 2048,            /* reals; even, so that complex numbers stay whole */
    MARCH = 32,              /* steps of a march: what it reads about its ends is read twice */
    BLOCK_BYTES = 2 << 20    /* that a step takes up, of all sources and results, in the last cache */
};

struct stencil_run {
    struct cpu_stencil_sums sums;
    /* How it is shared out: axes before `march` count batches, those between it and the last one lines. */
    int march; /* -1: there is one axis alone */
    size_t steps, pieces, units, block, blocks, marches, batches; /* a unit is a piece of a line */
};

/* --- What an element is a sum of --- */

static double round_real(const hcy_stencil_job *job, double x)
{
    return job->bytes == 4 ? (float)x : x;
}

static void add_tap(struct cpu_stencil_taps *taps, const hcy_stencil_job *job, ptrdiff_t offset, uint32_t axis,
                    int shift, double c)
{
    taps->offsets[taps->n] = offset;
    taps->axes[taps->n] = (uint8_t)axis;
    taps->shifts[taps->n] = (int8_t)shift;
    if (job->bytes == 4)
        taps->c.f32[taps->n++] = (float)c;
    else
        taps->c.f64[taps->n++] = c;
}

/* The taps of result q in lines of these rows where the last axis has row `inner`; in the format's order. */
static void find_taps(struct cpu_stencil_taps *taps, const struct cpu_stencil_sums *sums, const uint8_t *rows,
                      uint32_t inner, uint32_t q)
{
    const hcy_stencil_job *job = sums->job;
    double middle = 0;
    uint32_t term = 0;
    taps->n = 0;
    for (uint32_t d = 0; sums->has_middle && d < job->rank; d++) {
        const hcy_stencil_axis *a = &job->axes[d];
        uint32_t row = d + 1 < job->rank ? rows[d] : inner;
        if (a->is_term)
            middle = round_real(job, middle + round_real(job, a->rows[row][HCY_STENCIL_REACH] * a->scale));
    }
    if (middle != 0)
        add_tap(taps, job, 0, 0, 0, middle);
    for (uint32_t d = 0; d < job->rank; d++) {
        const hcy_stencil_axis *a = &job->axes[d];
        const int8_t *row = a->rows[d + 1 < job->rank ? rows[d] : inner];
        if (!a->is_term || (term++ != q && sums->results > 1))
            continue;
        for (int k = 0; k < HCY_STENCIL_TAPS; k++)
            if (row[k] && !(sums->has_middle && k == HCY_STENCIL_REACH))
                add_tap(taps, job,
                        (k - HCY_STENCIL_REACH) * (ptrdiff_t)a->stride + (ptrdiff_t)((term - 1) * job->from_step), d,
                        k - HCY_STENCIL_REACH, row[k] * a->scale);
    }
}

void cpu_stencil_know(struct cpu_stencil_lines *l, const struct cpu_stencil_sums *sums)
{
    const hcy_stencil_job *job = sums->job;
    bool same = l->known;
    for (uint32_t d = 0; d + 1 < job->rank; d++) {
        const hcy_stencil_axis *a = &job->axes[d];
        uint8_t row = (uint8_t)(a->is_term ? row_of_element(a->first + l->index[d], a->extent, a->head, a->tail) : 0);
        same = same && l->rows[d] == row;
        l->rows[d] = row;
    }
    l->known = true;
    if (same)
        return;
    const hcy_stencil_axis *last = &job->axes[job->rank - 1];
    for (uint32_t inner = 0; inner < HCY_STENCIL_ROWS; inner++) {
        bool differs = inner < last->head || inner >= (uint32_t)(HCY_STENCIL_ROWS - last->tail);
        for (uint32_t q = 0; (differs || inner == HCY_STENCIL_EDGE) && q < sums->results; q++)
            find_taps(&l->taps[inner][q], sums, l->rows, inner, q);
    }
}

/* --- Pieces of lines --- */

/* n reals from `from` on. */
static void sum_reals(char *to, const char *from, const struct cpu_stencil_taps *taps,
                      const struct cpu_stencil_sums *sums, size_t n)
{
    const void *at[CPU_STENCIL_MOST_TAPS];
    for (uint32_t k = 0; k < taps->n; k++)
        at[k] = from + taps->offsets[k] * (ptrdiff_t)sums->job->bytes;
    sums->sum(to, at, taps, n);
}

/* Reals [begin, end) of a line from `from` on, of result q. */
static void sum_piece(char *to, const char *from, const struct cpu_stencil_lines *l,
                      const struct cpu_stencil_sums *sums, uint32_t q, size_t begin, size_t end)
{
    const hcy_stencil_axis *a = &sums->job->axes[sums->job->rank - 1];
    const size_t width = (size_t)a->stride, bytes = sums->job->bytes;
    size_t head = a->is_term ? a->head : 0, tail = a->is_term ? a->tail : 0, inner, behind;
    /* The first and the last real of most elements. */
    inner = head > a->first ? (head - (size_t)a->first) * width : 0;
    behind = (size_t)(a->extent - a->first) * width;
    behind = behind > tail * width ? behind - tail * width : 0;
    for (size_t at = begin, next; at < end; at = next) {
        bool is_inner = at >= inner && at < behind;
        uint32_t row = is_inner ? HCY_STENCIL_EDGE
                                : row_of_element(a->first + at / width, a->extent, (uint32_t)head, (uint32_t)tail);
        next = !is_inner ? at + width : behind < end ? behind : end;
        sum_reals(to + (at - begin) * bytes, from + at * bytes, &l->taps[row][q], sums, next - at);
    }
}

static void run_unit(const struct stencil_run *run, struct cpu_stencil_lines *l)
{
    const hcy_stencil_job *job = run->sums.job;
    const uint32_t last = job->rank - 1;
    const size_t bytes = job->bytes, length = (size_t)(job->axes[last].size * (uint64_t)job->axes[last].stride);
    const size_t begin = (size_t)l->index[last] * PIECE, end = length - begin < PIECE ? length : begin + PIECE;
    ptrdiff_t at = 0;
    cpu_stencil_know(l, &run->sums);
    for (uint32_t d = 0; d < last; d++)
        at += (ptrdiff_t)l->index[d] * (ptrdiff_t)job->axes[d].stride;
    for (uint32_t q = 0; q < run->sums.results; q++) {
        const char *from = run->sums.from + at * (ptrdiff_t)bytes;
        char *to = run->sums.to + (at + (ptrdiff_t)(q * job->to_step) + (ptrdiff_t)begin) * (ptrdiff_t)bytes;
        sum_piece(to, from, l, &run->sums, q, begin, end);
    }
}

/* --- Marches --- */

/* The index of unit u of a step. */
static void find_unit(struct cpu_stencil_lines *l, const struct stencil_run *run, size_t u)
{
    l->index[run->sums.job->rank - 1] = u % run->pieces;
    u /= run->pieces;
    for (int d = (int)run->sums.job->rank - 2; d > run->march; d--) {
        l->index[d] = u % run->sums.job->axes[d].size;
        u /= (size_t)run->sums.job->axes[d].size;
    }
}

static void next_unit(struct cpu_stencil_lines *l, const struct stencil_run *run)
{
    int d = (int)run->sums.job->rank - 1;
    if (++l->index[d] < run->pieces)
        return;
    for (l->index[d--] = 0; d > run->march; l->index[d--] = 0)
        if (++l->index[d] < run->sums.job->axes[d].size)
            return;
}

static void run_marches(void *context, size_t first, size_t end, unsigned thread)
{
    const struct stencil_run *run = context;
    struct cpu_stencil_lines l; /* its last index counts pieces */
    (void)thread;
    l.known = false;
    for (size_t task = first; task < end; task++) {
        size_t march = task % run->marches, block = task / run->marches % run->blocks,
               batch = task / run->marches / run->blocks, step = march * MARCH, begin = block * run->block;
        size_t last_step = step + MARCH < run->steps ? step + MARCH : run->steps,
               behind = begin + run->block < run->units ? begin + run->block : run->units;
        for (int d = run->march - 1; d >= 0; d--) {
            l.index[d] = batch % run->sums.job->axes[d].size;
            batch /= (size_t)run->sums.job->axes[d].size;
        }
        for (; step < last_step; step++) {
            find_unit(&l, run, begin);
            if (run->march >= 0)
                l.index[run->march] = step;
            for (size_t u = begin; u < behind; u++, next_unit(&l, run))
                run_unit(run, &l);
        }
    }
}

/* --- The kernel --- */

static void share_out(struct stencil_run *run, unsigned threads)
{
    const hcy_stencil_job *job = run->sums.job;
    const int last = (int)job->rank - 1;
    const size_t length = (size_t)(job->axes[last].size * (uint64_t)job->axes[last].stride);
    size_t sources = job->from_step ? run->sums.terms : 1;
    run->march = 0;
    while (run->march < last && !job->axes[run->march].is_term)
        run->march++;
    /* Lines that stand alone are marched along as well as any. */
    if (run->march == last)
        run->march = last - 1;
    run->steps = run->march >= 0 ? (size_t)job->axes[run->march].size : 1;
    run->pieces = run->units = (length - 1) / PIECE + 1;
    run->batches = 1;
    for (int d = 0; d < last; d++)
        if (d != run->march)
            *(d < run->march ? &run->batches : &run->units) *= (size_t)job->axes[d].size;
    size_t unit = (length < PIECE ? length : PIECE) * job->bytes * (sources + run->sums.results);
    run->marches = (run->steps - 1) / MARCH + 1;
    /* Blocks as large as the cache allows: memory is read in long stretches then.  Smaller ones where threads would
     * have none. */
    size_t reals = length * run->units / run->pieces * run->steps * run->batches,
           tasks = reals / CPU_STENCIL_TASK_REALS + 1;
    if (tasks > (size_t)threads * CPU_STENCIL_TASKS)
        tasks = (size_t)threads * CPU_STENCIL_TASKS;
    size_t parts = (tasks - 1) / (run->marches * run->batches) + 1;
    run->block = BLOCK_BYTES / unit + 1;
    if (run->block > (run->units - 1) / parts + 1)
        run->block = (run->units - 1) / parts + 1;
    run->blocks = (run->units - 1) / run->block + 1;
}

static const struct cpu_stencil_loops *stencil_loops_of(enum cpu_simd simd)
{
    /* No operation is contracted, so that the choice shows in the time alone. */
#ifdef HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        return &cpu_stencil_avx512;
    if (simd >= CPU_SIMD_AVX2)
        return &cpu_stencil_avx2;
#endif
    (void)simd;
    return &cpu_stencil_portable;
}

void cpu_stencil_begin(struct cpu_stencil_sums *sums, const struct cpu_call *call, const hcy_stencil_job *job,
                       size_t from, size_t to)
{
    const struct cpu_stencil_loops *loops = stencil_loops_of(call->simd);
    sums->job = job;
    sums->terms = 0;
    for (uint32_t d = 0; d < job->rank; d++)
        sums->terms += job->axes[d].is_term != 0;
    sums->results = job->to_step ? sums->terms : 1;
    sums->has_middle = !job->to_step && !job->from_step;
    sums->from = (const char *)cpu_arg(call, from) + (size_t)job->from * job->bytes;
    sums->to = (char *)cpu_arg(call, to) + (size_t)job->to * job->bytes;
    sums->sum = job->bytes == 4 ? loops->f32 : loops->f64;
}

static int run_stencil(const struct cpu_call *call)
{
    struct stencil_run run = { .march = 0 };
    hcy_stencil_job job;
    int status = hcy__stencil_open(&job, call->values);
    if (status)
        return status;
    cpu_stencil_begin(&run.sums, call, &job, HCY_ARG_AT(stencil, from), HCY_ARG_AT(stencil, to));
    share_out(&run, cpu_pool_threads(call->pool));
    /* Batches may be many and small. */
    size_t tasks = run.batches * run.blocks * run.marches,
           most = (size_t)cpu_pool_threads(call->pool) * CPU_STENCIL_TASKS * CPU_STENCIL_TASKS;
    cpu_pool_for(call->pool, tasks, (tasks - 1) / most + 1, run_marches, &run);
    return 0;
}

static enum cpu_simd stencil_variant(enum cpu_simd simd)
{
    enum cpu_simd built = cpu_simd_built(simd);
    return built == CPU_SIMD_AVX512 || built == CPU_SIMD_AVX2 ? built : CPU_SIMD_PORTABLE;
}

const struct cpu_kernel cpu_stencil_kernels[] = {
    { .name = "stencil", .run = run_stencil, .variant = stencil_variant },
    { .name = "stencil_faces", .run = cpu_stencil_run_faces, .variant = stencil_variant },
    { .name = NULL },
};
