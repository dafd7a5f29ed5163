/* few.c - a plan for a few frames: nothing is made of its runs, their weights are added as they stand.
 *
 * A plan's strips of entries (prepare.c) take as long to make as a few frames take to be summed pixel by pixel.  So who
 * says that no more will come gets a plan without entries: what pixels have weights, and which bins each strip adds to.
 * All else is that of other plans, and so are the bits.  Making it is shared by all threads; adding is one worker's.
 */
#include "cpu_azint.h"

#include <string.h>

struct few {
    const hcy_azint_head *head;
    const uint8_t *runs;
    const uint64_t *starts;
    size_t runs_size, n_strips, words; /* words: of a strip's bits for blocks of bins */
    const struct azint_ops *ops;
    uint8_t *live;
    uint64_t *blocks;
    atomic_bool broken;
};

static void mark_blocks(uint64_t *blocks, uint32_t first, uint32_t last)
{
    for (uint32_t b = first / AZINT_BLOCK_BINS; b <= (last - 1) / AZINT_BLOCK_BINS; b++)
        blocks[b / 64] |= (uint64_t)1 << b % 64;
}

/* The runs of one pixel, bounds-checked; *at moves on. */
static bool look_at_pixel(const struct few *few, uint64_t pixel, size_t *at, uint64_t *blocks)
{
    struct azint_run r;
    do {
        if (!azint_run_next(&r, at, few->runs, few->runs_size, few->head->n_bins))
            return false;
        if (!r.n)
            continue;
        few->live[pixel / 8] |= (uint8_t)(1u << pixel % 8);
        mark_blocks(blocks, r.bin, r.bin + r.n);
    } while (r.more);
    return true;
}

static void note_segments(const struct few *few, uint64_t pixel, const struct azint_segments *s, uint64_t *blocks)
{
    for (unsigned k = 0; k < AZINT_TOGETHER / 8; k++)
        few->live[pixel / 8 + k] = (uint8_t)(s->live >> 8 * k);
    if (s->live)
        mark_blocks(blocks, s->first, s->last);
}

/* Eight segments before `end`, or four, whose pixels have a run each; the blocks between their bins count as theirs,
 * which costs no more than zeros to add.  How many pixels; 0: they have to be looked at one by one. */
static uint64_t look_at_segments(const struct few *few, uint64_t pixel, uint64_t end, const uint64_t *starts,
                                 uint64_t *blocks)
{
    struct azint_segments s[2];
    if (few->ops->look && end - pixel >= 2 * AZINT_TOGETHER && few->ops->look(s, few->runs, few->runs_size, starts) &&
        s[0].last <= few->head->n_bins) {
        note_segments(few, pixel, &s[0], blocks);
        note_segments(few, pixel + AZINT_TOGETHER, &s[1], blocks);
        return 2 * AZINT_TOGETHER;
    }
    if (end - pixel < AZINT_TOGETHER || !azint_segments_at(s, few->runs, few->runs_size, starts) ||
        s->last > few->head->n_bins)
        return 0;
    note_segments(few, pixel, s, blocks);
    return AZINT_TOGETHER;
}

/* A segment's pixels before `end`.  It begins at its own start, so that its look-ups need not wait for those of the one
 * before, and must end where the next one begins, as lost pixels are looked up by the starts. */
static bool look_at_segment(const struct few *few, uint64_t pixel, uint64_t end, const uint64_t *start,
                            uint64_t *blocks)
{
    size_t at = (size_t)*start;
    bool sound = true;
    for (unsigned i = 0; sound && i < HCY_AZINT_START_EVERY && pixel < end; i++, pixel++)
        sound = look_at_pixel(few, pixel, &at, blocks);
    return sound && at == start[1];
}

static bool look_at_strip(const struct few *few, size_t strip)
{
    uint64_t pixel = (uint64_t)strip * AZINT_STRIP, left = few->head->n_pixels - pixel;
    uint64_t end = pixel + (left < AZINT_STRIP ? left : AZINT_STRIP);
    uint64_t *blocks = few->blocks + strip * few->words;
    bool sound = true;
    while (sound && pixel < end) {
        const uint64_t *start = few->starts + pixel / HCY_AZINT_START_EVERY;
        uint64_t stop = end - pixel < AZINT_TOGETHER ? end : pixel + AZINT_TOGETHER;
        uint64_t seen = look_at_segments(few, pixel, end, start, blocks);
        pixel += seen;
        for (; !seen && sound && pixel < stop; pixel += HCY_AZINT_START_EVERY)
            sound = look_at_segment(few, pixel, stop, start++, blocks);
    }
    return sound;
}

static void look_at_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct few *few = context;
    (void)thread;
    for (size_t s = begin; s < end && !atomic_load(&few->broken); s++)
        if (!look_at_strip(few, s))
            atomic_store(&few->broken, true);
}

int azint_prepare_few(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans,
                      size_t n)
{
    int status = azint_check_spans(spans, n);
    if (status)
        return status;
    struct azint_plan plan = azint_plan_of(spans);
    struct few few = { .head = spans[0].data, .runs = spans[1].data, .runs_size = spans[1].size,
                       .starts = spans[2].data, .n_strips = plan.n_strips, .words = azint_block_words(plan.n_bins),
                       .ops = azint_ops(simd) };
    size_t bits = few.words * sizeof(uint64_t), total;
    plan.direct = 1;
    plan.strips = plan.live + azint_up64(few.n_strips * AZINT_STRIP_BYTES + AZINT_PAD);
    size_t blocks = plan.strips + azint_up64(few.n_strips * sizeof(struct azint_strip));
    if (hcy_size_mul(&total, few.n_strips, bits) || hcy_size_add(&total, total, blocks))
        return hcy_fail(HCY_ERANGE, "azint: a plan of %zu strips and %u bins", few.n_strips, plan.n_bins);
    uint8_t *memory = cpu_blob_alloc(total);
    if (!memory)
        return hcy_fail(HCY_ENOMEM, "azint: no memory for a plan of %zu bytes", total);
    memset(memory, 0, total);
    memcpy(memory, &plan, sizeof plan);
    for (size_t s = 0; s < few.n_strips; s++)
        ((struct azint_strip *)(memory + plan.strips))[s].blocks = blocks + s * bits;
    few.live = memory + plan.live;
    few.blocks = (uint64_t *)(memory + blocks);
    cpu_pool_for(pool, few.n_strips, 4, look_at_range, &few);
    if (atomic_load(&few.broken)) {
        cpu_blob_free(memory, total);
        return hcy_fail(HCY_EINVAL, "azint: the plan's runs are not well formed");
    }
    *blob = memory;
    *size = total;
    return 0;
}

/* Are all pixels of a segment 0? */
static inline bool segment_is_zero(const int8_t *x)
{
    uint64_t words[HCY_AZINT_START_EVERY / sizeof(uint64_t)], any = 0;
    memcpy(words, x, sizeof words);
    for (unsigned k = 0; k < HCY_AZINT_START_EVERY / sizeof(uint64_t); k++)
        any |= words[k];
    return !any;
}

/* What one pixel adds; where the next one's runs begin.  step: from a bin's sums to the next one's. */
static inline const uint8_t *add_pixel(const uint8_t *p, enum azint_variance from, int64_t value, int64_t variance,
                                       size_t step, int64_t *sums)
{
    struct azint_run r;
    do {
        r = azint_run_at(p);
        int64_t *sum = sums + r.bin * step;
        for (p = azint_run_end(&r); r.weights != p; r.weights += 3, sum += step) {
            uint32_t c = azint_weight(&r, 0);
            sum[0] += (int64_t)c * value;
            if (from != AZINT_V_NONE)
                sum[step / 2] += (int64_t)azint_square(c) * variance;
        }
    } while (r.more);
    return p;
}

/* The same of one run of up to three weights, as most pixels have, without a variance.  All three are read, and those
 * that it has not are taken for 0: how many there are is nothing that a processor guesses well. */
enum { SHORT_RUN = 3, SHORT_READ = 13, AHEAD = 4096 }; /* the second: bytes from where it begins */
static inline const uint8_t *add_short_run(const struct azint_run *run, int64_t value, size_t step, int64_t *sums)
{
    static const struct {
        uint64_t two;
        uint32_t third;
    } has[SHORT_RUN + 1] = { { 0, 0 }, { 0xffffff, 0 }, { 0xffffffffffff, 0 }, { 0xffffffffffff, 0xffffff } };
    int64_t *sum = sums + run->bin * step;
    uint64_t two;
    uint32_t third;
    memcpy(&two, run->weights, sizeof two);
    memcpy(&third, run->weights + 5, sizeof third);
    two &= has[run->n].two;
    sum[0] += (int64_t)(two & 0xffffff) * value;
    sum[step] += (int64_t)(two >> 24) * value;
    sum[2 * step] += (int64_t)(third >> 8 & has[run->n].third) * value;
    return azint_run_end(run);
}

/* One frame's row of digits, by the runs of its n pixels from the first start on. */
static void add_row(const struct azint_plan *plan, const uint64_t *starts, uint64_t runs_size, size_t n,
                    const int8_t *x, size_t step, int64_t *sums)
{
    const uint32_t n_bins = plan->n_bins;
    for (size_t first = 0; first < n; first += HCY_AZINT_START_EVERY) {
        size_t end = n - first < HCY_AZINT_START_EVERY ? n : first + HCY_AZINT_START_EVERY;
        const uint8_t *p = plan->runs + *starts++;
        bool near_end = runs_size - *starts < SHORT_READ;
        /* Processors do not look ahead over the end of a page by themselves. */
        for (uint64_t ahead = starts[-1] + AHEAD; ahead < *starts + AHEAD && ahead < runs_size; ahead += 64)
            __builtin_prefetch(plan->runs + ahead);
        /* Most segments are, of high digits and of weak frames. */
        if (end - first == HCY_AZINT_START_EVERY && segment_is_zero(x + first))
            continue;
        for (size_t i = first; i < end; i++) {
            const struct azint_run run = azint_run_at(p);
            /* The bins of two weights more are the plan's, too. */
            if (run.n <= SHORT_RUN && !run.more && run.bin + SHORT_RUN <= n_bins && !near_end)
                p = add_short_run(&run, x[i], step, sums);
            else
                p = add_pixel(p, AZINT_V_NONE, x[i], 0, step, sums);
        }
    }
}

/* The same with a variance; v: its digits. */
static inline void add_varied_row(const uint8_t *runs, const uint64_t *starts, size_t n, const int8_t *x,
                                  const int8_t *v, enum azint_variance from, size_t step, int64_t *sums)
{
    const uint8_t *p = runs + *starts;
    for (size_t i = 0; i < n; i++) {
        const int64_t value = x[i], least = value < 1 ? 1 : value;
        p = add_pixel(p, from, value, from == AZINT_V_TILE ? v[i] : least, step, sums);
    }
}

void azint_add_runs(struct azint_pass *pass, struct azint_space *space, size_t strip, size_t n,
                    const struct azint_source *source)
{
    int64_t *sums = azint_sums(pass, space, source->slot);
    const struct azint_plan *plan = pass->plan;
    const uint64_t *starts = plan->starts + strip * (AZINT_STRIP / HCY_AZINT_START_EVERY);
    const uint64_t end = plan->starts[(plan->n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY];
    const size_t step = 2 * pass->stride;
    bool own = azint_own_variance(pass, source->digit);
    /* The runs are read anew for each frame: there are few. */
    for (unsigned f = 0; f < pass->n_frames; f++) {
        const int8_t *x = (const int8_t *)azint_row(pass, space, source->digit, f);
        const int8_t *v = own ? (const int8_t *)space->vrows + f * (size_t)AZINT_PITCH : x;
        int64_t *to = sums + azint_frame_at(pass, f);
        /* Each case is a loop of its own. */
        if (source->variance == AZINT_V_NONE)
            add_row(plan, starts, end, n, x, step, to);
        else if (source->variance == AZINT_V_MAX)
            add_varied_row(plan->runs, starts, n, x, v, AZINT_V_MAX, step, to);
        else
            add_varied_row(plan->runs, starts, n, x, v, AZINT_V_TILE, step, to);
    }
}
