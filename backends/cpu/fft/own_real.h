/* own_real.h - a real line of an even number of numbers as a complex one of half as many, its numbers by twos: between
 * that one's transform and the first half of the line's own.  For C and NUMBER of what includes it, after
 * fft_short.h. */

/* Numbers k and h - k of the halves' transform, to those of the line's own; w: exp(-pi i k / h). */
static inline void NAME(split_pair)(C *low, C *high, C a, C b, NUMBER w)
{
    const REAL middle = (REAL)0.5;
    /* What the even numbers are transformed to, and the odd ones, which stand half a line's number later. */
    const C even = NAME(scaled)(NAME(number)(a.re + b.re, a.im - b.im), middle);
    const C odd = NAME(times)(NAME(scaled)(NAME(number)(a.im + b.im, b.re - a.re), middle), w);
    const C less = NAME(sub)(even, odd);
    *low = NAME(add)(even, odd);
    *high = NAME(number)(less.re, -less.im);
}

/* Back, without dividing by 2. */
static inline void NAME(join_pair)(C *low, C *high, C a, C b, NUMBER w)
{
    const NUMBER back = { w.re, -w.im };
    const C even = NAME(number)(a.re + b.re, a.im - b.im);
    const C odd = NAME(times)(NAME(number)(a.re - b.re, a.im + b.im), back);
    const C less = NAME(less_i)(even, odd);
    *low = NAME(plus_i)(even, odd);
    *high = NAME(number)(less.re, -less.im);
}

/* z [h], of complex numbers, becomes [h + 1]. */
static inline void NAME(split_real)(C *z, size_t h, const NUMBER *w)
{
    for (size_t k = 0; 2 * k <= h; k++) {
        C low, high;
        NAME(split_pair)(&low, &high, z[k], z[k ? h - k : 0], w[k]);
        z[k] = low;
        z[h - k] = high;
    }
}

/* Back; the first number and the last one are real, whatever they are. */
static inline void NAME(join_real)(C *z, size_t h, const NUMBER *w)
{
    memset(&z[0].im, 0, sizeof z[0].im);
    memset(&z[h].im, 0, sizeof z[h].im);
    for (size_t k = 0; 2 * k <= h; k++) {
        C low, high;
        NAME(join_pair)(&low, &high, z[k], z[h - k], w[k]);
        z[k] = low;
        if (k)
            z[h - k] = high;
    }
}
