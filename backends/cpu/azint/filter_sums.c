/* filter_sums.c - what pixels, one by one, add to a bin that is filtered.  Called from any thread, on its own bins. */
#include "cpu_filter.h"

/* c * |D| on the scale of c * value, with D's sign: azint_format.h. */
static azint_i128 weighed_dark(const struct filter_plan *plan, uint32_t pixel, uint32_t c)
{
    if (!plan->darks)
        return 0;
    double dark = (double)plan->darks[pixel] * (double)(1ull << plan->dark_shift);
    azint_u128 half = plan->dark_shift ? (azint_u128)1 << (plan->dark_shift - 1) : 0;
    azint_i128 cd = (azint_i128)(((azint_u128)c * (uint64_t)fabs(dark) + half) >> plan->dark_shift);
    return dark < 0 ? -cd : cd;
}

static azint_u128 weighed_variance(const struct filter_plan *plan, uint32_t pixel, uint32_t c)
{
    if (!plan->variances)
        return 0;
    return (azint_u128)azint_square(c) * (uint64_t)ldexp((double)plan->variances[pixel], plan->variance_shift);
}

void filter_total_add(struct filter_total *total, const struct filter_plan *plan, uint32_t pixel, uint32_t c,
                      uint32_t norm24)
{
    uint64_t norm = (uint64_t)((double)plan->norms[pixel] * (double)(1ull << HCY_AZINT_NORM_SHIFT));
    uint64_t cn = azint_mul_shift(c, norm, 24);
    total->count += c;
    total->norm += cn;
    total->norm2 += azint_mul_shift(cn, cn, HCY_AZINT_NORM_SHIFT);
    total->norm24 += (azint_u128)((uint64_t)azint_square(c) * norm24) * norm24;
    total->dark += weighed_dark(plan, pixel, c);
    total->variance += weighed_variance(plan, pixel, c);
}

static azint_u128 round_sum(azint_u128 x, unsigned bits)
{
    return (x + ((azint_u128)1 << (bits - 1))) >> bits;
}

/* What depends on the value.  Poisson's variance is 1 at least, for lost pixels too, whose value is 0. */
static void add_entry_value(struct filter_bin *bin, size_t i, int sign)
{
    struct filter_sums *s = &bin->sums;
    uint32_t c = filter_weight(bin, i), c2 = azint_square(c);
    bool negative = bin->type->is_signed && bin->values[i] < 0;
    azint_i128 value = bin->type->is_signed ? (azint_i128)bin->values[i] : (azint_i128)(uint64_t)bin->values[i];
    s->signal += sign * (value * c);
    if (bin->job->flags & HCY_AZINT_WANT_VARIANCE) {
        /* Modulo 2^128 taking off is adding the negative. */
        azint_u128 v = (azint_u128)c2 * (negative || value == 0 ? 1 : (uint64_t)value);
        s->variance += sign > 0 ? v : -v;
    }
    if (bin->deviation) {
        int64_t v = bin->fine[i];
        azint_u128 square = (azint_u128)((azint_i128)v * v) * c2;
        azint_i128 cross = (azint_i128)v * (int64_t)((uint64_t)c2 * bin->norms24[i]);
        /* Rounded by magnitude, so that what is added is what is taken off, and v and -v cancel. */
        if (bin->shift == HCY_AZINT_COARSE_SHIFT) {
            square = round_sum(square, HCY_AZINT_COARSE_SQUARE);
            cross = v < 0 ? -(azint_i128)round_sum((azint_u128)-cross, HCY_AZINT_COARSE_CROSS)
                          : (azint_i128)round_sum((azint_u128)cross, HCY_AZINT_COARSE_CROSS);
        }
        s->square += sign > 0 ? square : -square;
        s->cross += sign * cross;
    }
}

static void add_entry_constants(struct filter_bin *bin, size_t i, int sign)
{
    struct filter_total t = { 0 };
    struct filter_sums *s = &bin->sums;
    filter_total_add(&t, bin->plan, bin->pixels[i], filter_weight(bin, i), bin->norms24[i]);
    s->signal -= sign * t.dark;
    s->variance += sign > 0 ? t.variance : -t.variance;
    s->count += sign > 0 ? t.count : -t.count;
    s->norm += sign > 0 ? t.norm : -t.norm;
    s->norm2 += sign > 0 ? t.norm2 : -t.norm2;
    s->norm24 += sign > 0 ? t.norm24 : -t.norm24;
}

void filter_add(struct filter_bin *bin, size_t i)
{
    if (!bin->type->is_float)
        add_entry_value(bin, i, 1);
    add_entry_constants(bin, i, 1);
}

void filter_take(struct filter_bin *bin, size_t i)
{
    if (!bin->type->is_float)
        add_entry_value(bin, i, -1);
    add_entry_constants(bin, i, -1);
}

void filter_sum_each(struct filter_bin *bin)
{
    for (size_t i = 0; i < bin->n; i++)
        add_entry_value(bin, i, 1);
}

/* --- Float pixels --- */

static double float_at(const struct filter_bin *bin, size_t i)
{
    double value;
    memcpy(&value, &bin->values[i], sizeof value);
    return value;
}

static double dark_at(const struct filter_bin *bin, size_t i)
{
    return bin->plan->darks ? (double)bin->plan->darks[bin->pixels[i]] : 0;
}

void filter_sum_floats(struct filter_bin *bin)
{
    bool poisson = bin->job->flags & HCY_AZINT_WANT_VARIANCE;
    double signal = 0, variance = 0;
    for (size_t i = 0; i < bin->n; i++) {
        uint32_t c = filter_weight(bin, i);
        double value = float_at(bin, i);
        /* A NaN marks what is out. */
        if (bin->x[i] != bin->x[i])
            continue;
        signal += c * (value - dark_at(bin, i));
        if (poisson)
            variance += azint_square(c) * (value > 1 ? value : 1);
        else if (bin->plan->variances)
            variance += azint_square(c) * (double)bin->plan->variances[bin->pixels[i]];
    }
    bin->sums.float_signal = signal;
    bin->sums.float_variance = variance;
}

void filter_deviation_floats(struct filter_bin *bin, double mean)
{
    double deviation = 0;
    for (size_t i = 0; i < bin->n; i++) {
        double r = float_at(bin, i) - dark_at(bin, i) - mean * (double)bin->plan->norms[bin->pixels[i]];
        if (bin->x[i] == bin->x[i])
            deviation += azint_square(filter_weight(bin, i)) * (r * r);
    }
    bin->sums.float_deviation = deviation;
}
