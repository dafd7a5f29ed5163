/* filter_prepare.c - prepare for azint_filter: canonical runs (azint_format.h), sorted by bin.
 *
 * A counting sort in two readings of the runs, so entries of a bin are in the order of their pixels.  The second is
 * shared by threads that have a range of bins each: nothing is written twice.
 */
#include "cpu_filter.h"

#include <stdlib.h>

#define MAGIC 0x3152544c4946u
#define PAD   ((FILTER_STEP + FILTER_AHEAD) * sizeof(uint32_t)) /* readable behind each array */

struct sorter {
    struct filter_plan *plan;
    const uint8_t *runs;
    size_t runs_size;
    uint64_t *starts;
    uint64_t *next; /* of each bin: where its next entry goes */
    uint32_t *cuts; /* bins of piece k: from cuts[k] on, to cuts[k + 1] */
};

/* Counts the entries of all bins, to counts[bin + 1]; checks the runs. */
static int count_entries(const struct sorter *s, uint64_t *counts, bool *unit)
{
    const struct filter_plan *plan = s->plan;
    size_t at = 0;
    for (uint64_t pixel = 0; pixel < plan->n_pixels; pixel++) {
        struct azint_run r;
        do {
            if (!azint_run_next(&r, &at, s->runs, s->runs_size, plan->n_bins))
                return HCY_EINVAL;
            for (uint32_t k = 0; k < r.n; k++) {
                uint32_t c = azint_weight(&r, k);
                /* Counted one place on, so that a running sum makes starts of them. */
                counts[r.bin + k + 1] += c > 0;
                *unit &= c == HCY_AZINT_ONE || !c;
            }
        } while (r.more);
    }
    return 0;
}

static void put_filter_entry(const struct sorter *s, uint32_t bin, uint32_t pixel, uint32_t weight)
{
    const struct filter_plan *plan = s->plan;
    uint64_t at = s->next[bin]++;
    float norm = plan->norms[pixel];
    uint32_t norm24 = azint_norm24(norm), c = weight & ~FILTER_FIRST;
    ((uint32_t *)filter_at(plan, plan->pixels))[at] = pixel;
    ((uint32_t *)filter_at(plan, plan->norms24))[at] = norm24;
    ((float *)filter_at(plan, plan->inverse))[at] = (float)(1 / (double)norm);
    if (!plan->unit)
        ((uint32_t *)filter_at(plan, plan->weights))[at] = weight;
    filter_total_add((struct filter_total *)filter_at(plan, plan->totals) + bin, plan, pixel, c, norm24);
}

/* Pieces [begin, end): each reads all runs, and writes those of its own bins. */
static void put_piece_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct sorter *s = context;
    (void)thread;
    for (size_t piece = begin; piece < end; piece++) {
        const uint8_t *p = s->runs;
        uint32_t from = s->cuts[piece], to = s->cuts[piece + 1];
        /* Every thread reads all runs, which is cheap, and writes its own bins alone, so nothing needs a lock. */
        for (uint32_t pixel = 0; pixel < s->plan->n_pixels; pixel++) {
            uint32_t first = FILTER_FIRST;
            struct azint_run r;
            do {
                r = azint_run_at(p);
                for (uint32_t k = 0; k < r.n; k++) {
                    uint32_t c = azint_weight(&r, k);
                    if (c && r.bin + k >= from && r.bin + k < to)
                        put_filter_entry(s, r.bin + k, pixel, c | first);
                    /* The mark is the pixel's first entry, even where that is in another thread's bins. */
                    first = c ? 0 : first;
                }
                p = azint_run_end(&r);
            } while (r.more);
        }
    }
}

/* Cuts the bins into pieces that have about as many entries. */
static void cut_bins(struct sorter *s, size_t n_pieces)
{
    uint32_t bin = 0;
    for (size_t k = 0; k <= n_pieces; k++) {
        /* Bins differ in size: a piece is measured in entries. */
        while (bin < s->plan->n_bins && s->starts[bin] < s->plan->n_entries * k / n_pieces)
            bin++;
        s->cuts[k] = k == n_pieces ? s->plan->n_bins : bin;
    }
}

static int check_filter_spans(const hcy_span *spans, size_t n)
{
    int status = azint_check_spans(spans, n);
    if (status)
        return status;
    const hcy_azint_head *head = spans[0].data;
    const float *norms = spans[3].data;
    /* An entry has 32 bits for its pixel and 24 for its norm. */
    if (head->n_pixels > UINT32_MAX)
        return hcy_fail(HCY_EINVAL, "azint_filter: a plan of %llu pixels", (unsigned long long)head->n_pixels);
    for (size_t i = 0; i < head->n_pixels; i++)
        if (norms[i] > 1)
            return hcy_fail(HCY_EINVAL, "azint_filter: the plan has a norm of %g; 1 is the most", (double)norms[i]);
    return 0;
}

/* The head with the arrays' places; returns the size of all. */
static size_t lay_out_filter(struct filter_plan *plan)
{
    size_t at = azint_up64(sizeof *plan), column = azint_up64(plan->n_entries * sizeof(uint32_t) + PAD);
    plan->starts = at;
    plan->totals = plan->starts + azint_up64((plan->n_bins + 1ull) * sizeof(uint64_t));
    plan->pixels = plan->totals + azint_up64(plan->n_bins * sizeof(struct filter_total));
    plan->inverse = plan->pixels + column;
    plan->norms24 = plan->inverse + column;
    plan->weights = plan->norms24 + column;
    return plan->weights + (plan->unit ? 0 : column);
}

static void sort_by_bins(struct sorter *s, struct cpu_pool *pool)
{
    size_t pieces = cpu_pool_threads(pool);
    for (uint32_t b = 0; b < s->plan->n_bins; b++) {
        uint64_t n = s->starts[b + 1] - s->starts[b];
        s->plan->largest = n > s->plan->largest ? n : s->plan->largest;
        s->next[b] = s->starts[b];
    }
    cut_bins(s, pieces);
    cpu_pool_for(pool, pieces, 1, put_piece_range, s);
}

int filter_prepare(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans,
                   size_t n)
{
    struct filter_plan plan = { .magic = MAGIC };
    struct sorter s = { .plan = &plan };
    int status = check_filter_spans(spans, n);
    (void)simd; /* one layout for all */
    if (status)
        return status;
    const hcy_azint_head *head = spans[0].data;
    bool unit = true;
    plan.n_bins = head->n_bins;
    plan.n_pixels = head->n_pixels;
    plan.norms = spans[3].data;
    plan.darks = spans[4].size ? spans[4].data : NULL;
    plan.variances = spans[5].size ? spans[5].data : NULL;
    plan.dark_shift = head->dark_shift;
    plan.variance_shift = head->variance_shift;
    s.runs = spans[1].data;
    s.runs_size = spans[1].size;
    uint64_t *starts = calloc(head->n_bins + 1ull, sizeof *starts);
    s.next = calloc(head->n_bins, sizeof *s.next);
    s.cuts = calloc(cpu_pool_threads(pool) + 1ull, sizeof *s.cuts);
    if (!starts || !s.next || !s.cuts)
        status = hcy_fail(HCY_ENOMEM, "azint_filter: no memory to prepare a plan of %u bins", head->n_bins);
    if (!status && count_entries(&s, starts, &unit))
        status = hcy_fail(HCY_EINVAL, "azint_filter: the plan's runs are not well formed");
    if (!status) {
        /* Counts become starts, and with them the size of the plan is known. */
        for (uint32_t b = 0; b < head->n_bins; b++)
            starts[b + 1] += starts[b];
        plan.n_entries = starts[head->n_bins];
        plan.unit = unit;
        *size = lay_out_filter(&plan);
        *blob = cpu_blob_alloc(*size);
        if (!*blob)
            status = hcy_fail(HCY_ENOMEM, "azint_filter: no memory for a plan of %zu bytes", *size);
    }
    if (!status) {
        s.plan = *blob;
        /* Totals are added to, and the pixels' padding is prefetched by: both must be zero.  The columns are
         * written whole. */
        memset(*blob, 0, plan.pixels);
        memset((uint8_t *)*blob + plan.pixels + plan.n_entries * sizeof(uint32_t), 0, PAD);
        memcpy(*blob, &plan, sizeof plan);
        s.starts = (uint64_t *)filter_at(s.plan, plan.starts);
        memcpy(s.starts, starts, (head->n_bins + 1ull) * sizeof *starts);
        sort_by_bins(&s, pool);
    }
    free(starts);
    free(s.next);
    free(s.cuts);
    return status;
}

const struct filter_plan *filter_plan_at(const void *blob, size_t size)
{
    const struct filter_plan *plan = blob;
    return blob && size >= sizeof *plan && plan->magic == MAGIC ? plan : NULL;
}
