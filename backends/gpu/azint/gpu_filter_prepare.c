/* gpu_filter_prepare.c - a plan's canonical runs (azint_format.h), sorted by bin: entries and totals (gpu_format.h).
 *
 * A counting sort in two readings of the runs; entries of a bin are in the order of their pixels.
 */
#include "gpu_runs.h"

#include "azint/azint_wide.h"

#include <stdlib.h>
#include <string.h>

struct sorter {
    const hcy_azint_head *head;
    const hcy_span *runs;
    const float *norms, *darks, *variances; /* NULL without */
    uint64_t *starts, *next; /* [n_bins + 1]; where each bin's next entry goes */
    struct gpu_entry *entries;
    struct gpu_total *totals;
};

/* Calls put() for each weight that is not 0: `c` has GPU_ENTRY_FIRST32 in the pixel's first. */
static int each_weight(struct sorter *s, void (*put)(struct sorter *s, uint32_t bin, uint32_t pixel, uint32_t c))
{
    size_t at = 0;
    for (uint64_t pixel = 0; pixel < s->head->n_pixels; pixel++) {
        uint32_t first = GPU_ENTRY_FIRST32;
        struct azint_run run;
        do {
            /* Spans may come from a damaged file: every run is checked in both readings, and the second
             * finds what the first found. */
            if (!azint_run_next(&run, &at, s->runs->data, s->runs->size, s->head->n_bins))
                return hcy_fail(HCY_EINVAL, "azint_filter: the plan's runs are not well formed");
            for (uint32_t k = 0; k < run.n; k++) {
                uint32_t c = azint_weight(&run, k);
                /* Weights of zero add nothing, and an entry without weight would be looked at for each
                 * frame. */
                if (c)
                    put(s, run.bin + k, (uint32_t)pixel, c | first);
                first = c ? 0 : first;
            }
        } while (run.more);
    }
    return 0;
}

static void count_weight(struct sorter *s, uint32_t bin, uint32_t pixel, uint32_t c)
{
    (void)pixel;
    (void)c;
    s->starts[bin + 1]++;
}

/* sum += x y. */
static void add_product(uint64_t sum[2], uint64_t x, uint64_t y)
{
    uint64_t p[2];
    azint_mul(p, x, y);
    azint_add(sum, p[0], p[1]);
}

/* c * |D| on the scale of c * value, with D's sign. */
static void add_dark(uint64_t sum[2], const struct sorter *s, uint32_t pixel, uint32_t c)
{
    unsigned shift = (unsigned)s->head->dark_shift;
    double dark = ldexp((double)s->darks[pixel], (int)shift);
    uint64_t cd[2];
    /* The magnitude is rounded and the sign put on afterwards, as the CPU does: same bits. */
    azint_mul(cd, c, (uint64_t)fabs(dark));
    if (shift) {
        azint_add(cd, (uint64_t)1 << (shift - 1), 0);
        cd[0] = cd[0] >> shift | cd[1] << (64 - shift);
        cd[1] >>= shift;
    }
    if (dark < 0)
        azint_negate(cd);
    azint_add(sum, cd[0], cd[1]);
}

static void put_filter_weight(struct sorter *s, uint32_t bin, uint32_t pixel, uint32_t weight)
{
    double norm = (double)s->norms[pixel];
    uint32_t c = weight & ~GPU_ENTRY_FIRST32, norm24 = azint_norm24(s->norms[pixel]);
    /* The totals follow the rounding of the single pixels, so that taking lost ones off leaves exactly the
     * others. */
    uint64_t c2 = azint_square(c);
    uint64_t cn = azint_mul_shift(c, (uint64_t)ldexp(norm, HCY_AZINT_NORM_SHIFT), 24);
    struct gpu_total *t = &s->totals[bin];
    s->entries[s->next[bin]++] = (struct gpu_entry){ pixel, weight, norm24, (float)(1 / norm) };
    t->count[0] += c;
    azint_add(t->norm, cn, 0);
    azint_add(t->norm2, azint_mul_shift(cn, cn, HCY_AZINT_NORM_SHIFT), 0);
    add_product(t->norm24, c2 * norm24, norm24);
    if (s->darks)
        add_dark(t->dark, s, pixel, c);
    if (s->variances)
        add_product(t->variance, c2, (uint64_t)ldexp((double)s->variances[pixel], s->head->variance_shift));
}

static int check_norms(const hcy_span *spans)
{
    const hcy_azint_head *head = spans[0].data;
    const float *norms = spans[3].data;
    for (size_t i = 0; i < head->n_pixels; i++)
        if (norms[i] > 1)
            return hcy_fail(HCY_EINVAL, "azint_filter: the plan has a norm of %g; 1 is the most", (double)norms[i]);
    return 0;
}

static int sort_weights_by_bin(struct sorter *s)
{
    size_t n_bins = s->head->n_bins;
    int status = each_weight(s, count_weight);
    if (status)
        return status;
    /* Counts become starts; the copies in `next` move on as entries come. */
    for (size_t b = 0; b < n_bins; b++) {
        s->starts[b + 1] += s->starts[b];
        s->next[b] = s->starts[b];
    }
    s->entries = malloc((s->starts[n_bins] + 1) * sizeof *s->entries);
    return s->entries ? each_weight(s, put_filter_weight) : hcy_fail(HCY_ENOMEM, "out of memory for a plan's tables");
}

static int hand_over(const struct sorter *s, const hcy_span *spans, gpu_put *put, void *context)
{
    size_t n_bins = s->head->n_bins, n = s->starts[n_bins], size = 0;
    struct gpu_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return hcy_fail(HCY_ENOMEM, "out of memory for a plan's tables");
    plan->filter = true;
    /* The pieces' places are decided here and nowhere else; kernels get them with the plan. */
    plan->at.starts_of = gpu_place(&size, (n_bins + 1) * sizeof *s->starts);
    plan->at.totals = gpu_place(&size, n_bins * sizeof *s->totals);
    plan->at.entries = gpu_place(&size, n * sizeof *s->entries);
    plan->n_entries = n;
    gpu_place_arrays(&plan->at, &size, spans);
    struct gpu_piece pieces[6] = {
        { s->starts, plan->at.starts_of, (n_bins + 1) * sizeof *s->starts },
        { s->totals, plan->at.totals, n_bins * sizeof *s->totals },
        { s->entries, plan->at.entries, n * sizeof *s->entries },
    };
    size_t k = 3 + gpu_array_pieces(pieces + 3, &plan->at, spans);
    int status = put(context, pieces, k, size, plan);
    if (status)
        free(plan);
    return status;
}

int gpu_filter_tables(const hcy_span *spans, size_t n, gpu_put *put, void *context)
{
    int status = gpu_check_spans(spans, n);
    if (!status)
        status = check_norms(spans);
    if (status)
        return status;
    /* Nothing is allocated before the spans are known to fit together. */
    struct sorter s = { .head = spans[0].data, .runs = &spans[1], .norms = spans[3].data,
                        .darks = spans[4].size ? spans[4].data : NULL,
                        .variances = spans[5].size ? spans[5].data : NULL };
    s.starts = calloc(s.head->n_bins + 1ull, sizeof *s.starts);
    s.next = calloc(s.head->n_bins, sizeof *s.next);
    s.totals = calloc(s.head->n_bins, sizeof *s.totals);
    status = s.starts && s.next && s.totals ? sort_weights_by_bin(&s)
                                            : hcy_fail(HCY_ENOMEM, "out of memory for a plan's tables");
    if (!status)
        status = hand_over(&s, spans, put, context);
    free(s.starts);
    free(s.next);
    free(s.totals);
    free(s.entries);
    return status;
}

int gpu_filter_plain_tables(const hcy_span *spans, size_t n, gpu_put *put, void *context)
{
    int status = gpu_check_spans(spans, n);
    if (!status && (spans[4].size || spans[5].size))
        status = hcy_fail(HCY_EUNSUPPORTED, "bslz4_azint_deviation: a plan with a dark current or variances");
    return status ? status : gpu_filter_tables(spans, n, put, context);
}
