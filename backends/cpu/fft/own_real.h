/* own_real.h - a real line of an even number of numbers as a complex one of half as many, its numbers by twos: between
 * that one's transform and the first half of the line's own.  For C and NUMBER of what includes it, after
 * fft_short.h. */

/* z [h], of complex numbers, becomes [h + 1]; w: exp(-pi i k / h). */
static void NAME(split_real)(C *z, size_t h, const NUMBER *w)
{
    const REAL middle = (REAL)0.5;
    for (size_t k = 0; 2 * k <= h; k++) {
        /* What the even numbers are transformed to, and the odd ones, which stand half a line's number later. */
        const C a = z[k], b = z[k ? h - k : 0];
        const C even = NAME(scaled)(NAME(number)(a.re + b.re, a.im - b.im), middle);
        const C odd = NAME(times)(NAME(scaled)(NAME(number)(a.im + b.im, b.re - a.re), middle), w[k]);
        const C less = NAME(sub)(even, odd);
        z[k] = NAME(add)(even, odd);
        z[h - k] = NAME(number)(less.re, -less.im);
    }
}

/* Back, without dividing by 2; the first number and the last one are real, whatever they are. */
static void NAME(join_real)(C *z, size_t h, const NUMBER *w)
{
    memset(&z[0].im, 0, sizeof z[0].im);
    memset(&z[h].im, 0, sizeof z[h].im);
    for (size_t k = 0; 2 * k <= h; k++) {
        const C a = z[k], b = z[h - k];
        const NUMBER back = { w[k].re, -w[k].im };
        const C even = NAME(number)(a.re + b.re, a.im - b.im);
        const C odd = NAME(times)(NAME(number)(a.re - b.re, a.im + b.im), back);
        const C less = NAME(less_i)(even, odd);
        z[k] = NAME(plus_i)(even, odd);
        if (k)
            z[h - k] = NAME(number)(less.re, -less.im);
    }
}
