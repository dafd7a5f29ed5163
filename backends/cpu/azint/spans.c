/* spans.c - a plan's canonical spans (azint_format.h), checked, and the head of what is prepared of them.  No state;
 * any thread. */
#include "cpu_azint.h"

#define MAGIC 0x31544e495a414348u

int azint_check_spans(const hcy_span *spans, size_t n)
{
    const hcy_azint_head *head = n == HCY_AZINT_SPANS || n == HCY_AZINT_SPANS_KEPT ? spans[0].data : NULL;
    if (!head || spans[0].size != sizeof *head ||
        (head->version != HCY_AZINT_VERSION && head->version != HCY_AZINT_VERSION_FULL))
        return hcy_fail(HCY_EINVAL, "azint: the plan's tables are not %d spans with a head of version %u",
                        HCY_AZINT_SPANS, HCY_AZINT_VERSION);
    /* Within these limits the sizes computed below cannot overflow. */
    if (!head->n_pixels || head->n_pixels > UINT64_MAX / 4 || !head->n_bins ||
        head->n_bins > HCY_AZINT_MAX_BINS)
        return hcy_fail(HCY_EINVAL, "azint: a plan of %llu pixels and %u bins",
                        (unsigned long long)head->n_pixels, head->n_bins);
    uint64_t n_starts = (head->n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1;
    if (spans[2].size / sizeof(uint64_t) != n_starts || spans[3].size / sizeof(float) != head->n_pixels)
        return hcy_fail(HCY_EINVAL, "azint: the plan's starts or norms are not those of %llu pixels",
                        (unsigned long long)head->n_pixels);
    for (int i = 4; i < HCY_AZINT_SPANS; i++)
        if (spans[i].size && spans[i].size / sizeof(float) != head->n_pixels)
            return hcy_fail(HCY_EINVAL, "azint: the plan's darks or variances are not those of %llu pixels",
                            (unsigned long long)head->n_pixels);
    if (head->dark_shift < 0 || head->dark_shift > 62)
        return hcy_fail(HCY_EINVAL, "azint: a dark shift of %d", (int)head->dark_shift);
    /* Kernels follow the starts without another check. */
    const uint64_t *starts = spans[2].data;
    for (uint64_t i = 0; i < n_starts; i++)
        if (starts[i] > spans[1].size || (i ? starts[i] < starts[i - 1] : starts[i] != 0))
            return hcy_fail(HCY_EINVAL, "azint: the plan's start %llu is out of order",
                            (unsigned long long)i);
    return 0;
}

struct azint_plan azint_plan_of(const hcy_span *spans)
{
    const hcy_azint_head *head = spans[0].data;
    return (struct azint_plan){ .magic = MAGIC,
                                .n_bins = head->n_bins,
                                .n_strips = (uint32_t)((head->n_pixels + AZINT_STRIP - 1) / AZINT_STRIP),
                                .n_pixels = head->n_pixels,
                                .live = azint_up64(sizeof(struct azint_plan)),
                                .runs = spans[1].data,
                                .starts = spans[2].data,
                                .norms = spans[3].data,
                                .darks = spans[4].size ? spans[4].data : NULL,
                                .variances = spans[5].size ? spans[5].data : NULL,
                                .dark_shift = head->dark_shift,
                                .variance_shift = head->variance_shift };
}

const struct azint_plan *azint_plan_at(const void *blob, size_t size)
{
    const struct azint_plan *plan = blob;
    return blob && size >= sizeof *plan && plan->magic == MAGIC ? plan : NULL;
}
