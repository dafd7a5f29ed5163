/* fft_real.h - a real line of an even number of numbers as a complex one of half as many, its numbers by twos: between
 * that one's transform and the first half of the line's own, by pairs of numbers.  For C, REAL and NUMBER of what
 * includes it, after fft_short.h, and like it one text for the CPU's vectors and for GPUs. */

/* Numbers k and h - k of the halves' transform, to those of the line's own; w: exp(-pi i k / h). */
FFT_INLINE void NAME(split_pair)(C *low, C *high, C a, C b, NUMBER w)
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
FFT_INLINE void NAME(join_pair)(C *low, C *high, C a, C b, NUMBER w)
{
    NUMBER back = w;
    back.im = -w.im;
    const C even = NAME(number)(a.re + b.re, a.im - b.im);
    const C odd = NAME(times)(NAME(number)(a.re - b.re, a.im + b.im), back);
    const C less = NAME(less_i)(even, odd);
    *low = NAME(plus_i)(even, odd);
    *high = NAME(number)(less.re, -less.im);
}
