/* azint_rest.cl - what rest.cl decodes, pixel by pixel. */

struct rest_target {
    struct azint_plan plan;
    hcy_azint_job job;
    u64 *sums;
    hcy_frame_report *reports;
};

DEVICE void rest_pixels(const struct rest_target *target, u32 item, u64 first, const struct decoded *d)
{
    u64 *sums = target->sums + item * HCY_AZINT_SUMS * target->plan.at.n_bins;
    for (u32 i = ITEM; i < (d->n + 7) / 8; i += GROUP_SIZE) {
        u64 v[8];
        eight_elements(d, i, v);
        for (u32 k = 0; k < 8 && 8 * i + k < d->n; k++)
            put_pixel(&target->plan, &target->job, first + 8 * i + k, widen(v[k]), sums,
                      &target->reports[item], NULL_PTR);
    }
}
