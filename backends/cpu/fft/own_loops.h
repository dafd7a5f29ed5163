/* own_loops.h - the loops of the CPU's own Fourier transforms, for REAL, LANES lines at a time.
 *
 * Stockham's order: a pass of radix r reads its r numbers n / r apart and writes them side by side, so that no pass
 * reorders, and each goes from one half of the scratch to the other.  The first pass reads the lines themselves, and
 * the last one writes them: where they are side by side number by number, else by tiles that stay in the nearest cache,
 * which the scratch of some hundred numbers does not.  Forward only: backward is forward with real and imaginary parts
 * exchanged when they are read and when they are written.
 */
#include "own_vector.h"

/* --- Passes --- */

/* Numbers q + done j + apart k, k = 0 to RADIX - 1, of x become numbers q + done RADIX j + to_apart k of y. */
#define GET(k) from[apart * (k)]
#define PUT(k, number) to[to_apart * (k)] = (k) && has_roots ? NAME(times)(number, w[(k) - 1]) : (number)
#define PASS(RADIX)                                                                                       \
    static inline __attribute__((always_inline)) void NAME(part_##RADIX)(                                 \
        size_t done, size_t apart, size_t to_apart, const NUMBER *w, bool has_roots, const C *restrict from, \
        C *restrict to)                                                                                   \
    {                                                                                                     \
        for (size_t q = 0; q < done; q++, from++, to++) {                                                 \
            SHORT_##RADIX(GET, PUT)                                                                       \
        }                                                                                                 \
    }                                                                                                     \
    static void NAME(pass_##RADIX)(const struct own_fft_part *part, const C *restrict x, C *restrict y)   \
    {                                                                                                     \
        const size_t done = part->done, left = part->left, apart = part->apart, to_apart = part->to_apart; \
        const NUMBER *w = (const NUMBER *)part->twiddles + part->first * (RADIX - 1);                     \
        size_t j = 0;                                                                                     \
        /* The first of a pass's transforms, and all of the last pass, have roots that are 1. */          \
        if (!part->first)                                                                                 \
            NAME(part_##RADIX)(done, apart, to_apart, w, false, x, y), j++;                               \
        for (; j < left; j++)                                                                             \
            NAME(part_##RADIX)(done, apart, to_apart, w + j * (RADIX - 1), true, x + done * j,            \
                               y + done * RADIX * j);                                                     \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(7)
PASS(8)
#undef PASS
#undef GET
#undef PUT

static void NAME(run_part)(unsigned radix, const struct own_fft_part *part, const C *x, C *y)
{
    switch (radix) {
    case 2: NAME(pass_2)(part, x, y); break;
    case 3: NAME(pass_3)(part, x, y); break;
    case 4: NAME(pass_4)(part, x, y); break;
    case 5: NAME(pass_5)(part, x, y); break;
    case 7: NAME(pass_7)(part, x, y); break;
    default: NAME(pass_8)(part, x, y); break;
    }
}

/* Passes `first` up to `end`, from x, by way of y; where the result is. */
static C *NAME(run_passes)(const struct own_fft *f, unsigned first, unsigned end, C *x, C *y)
{
    for (unsigned i = first; i < end; i++) {
        const struct own_fft_pass *p = &f->passes[i];
        const struct own_fft_part all = { p->left, p->done, 0, p->left * p->done, p->done, p->twiddles };
        NAME(run_part)(p->radix, &all, x, y);
        C *next = x;
        x = y;
        y = next;
    }
    return x;
}

static void NAME(exchange)(C *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        x[k] = (C){ x[k].im, x[k].re };
}

/* The convolution with the chirp. */
static C *NAME(run_chirp)(const struct own_fft *f, C *x, C *y)
{
    const struct own_fft *inner = f->inner;
    const NUMBER *chirp = f->chirp, *filter = f->filter;
    for (size_t k = 0; k < f->n; k++)
        x[k] = NAME(times)(x[k], chirp[k]);
    memset(x + f->n, 0, (inner->n - f->n) * sizeof *x);
    C *z = NAME(run_passes)(inner, 0, inner->n_passes, x, y);
    for (size_t k = 0; k < inner->n; k++)
        z[k] = NAME(times)(z[k], filter[k]);
    NAME(exchange)(z, inner->n);
    z = NAME(run_passes)(inner, 0, inner->n_passes, z, z == x ? y : x);
    NAME(exchange)(z, f->n);
    for (size_t k = 0; k < f->n; k++)
        z[k] = NAME(times)(z[k], chirp[k]);
    return z;
}

/* --- Lines in and out --- */

/* Complex lines for all lanes, side by side. */
static void NAME(load_columns)(C *x, size_t n, const REAL *from, size_t step)
{
    for (size_t k = 0; k < n; k++)
        x[k] = NAME(part)(from + 2 * k * step);
}
static void NAME(store_columns)(const C *x, size_t n, REAL *to, size_t step)
{
    for (size_t k = 0; k < n; k++)
        NAME(join)(to + 2 * k * step, x[k]);
}

/* Complex lines for all lanes, far from each other: of each as many numbers at a time as a vector has, the last ones
 * maybe once more.  How many are done: none of fewer. */
static size_t NAME(load_squares)(C *x, size_t n, const REAL *from, size_t pitch)
{
    enum { EACH = LANES / 2 };
    for (size_t k = 0; n >= EACH && k < n; k += EACH) {
        const size_t at = k + EACH <= n ? k : n - EACH;
        V v[LANES];
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            memcpy(&v[i], from + 2 * ((size_t)i * pitch + at), sizeof v[i]);
        NAME(turn)(v);
        TURN_UNROLLED for (int i = 0; i < EACH; i++)
            x[at + (size_t)i] = (C){ v[2 * i], v[2 * i + 1] };
    }
    return n >= EACH ? n : 0;
}
static size_t NAME(store_squares)(const C *x, size_t n, REAL *to, size_t pitch)
{
    enum { EACH = LANES / 2 };
    for (size_t k = 0; n >= EACH && k < n; k += EACH) {
        const size_t at = k + EACH <= n ? k : n - EACH;
        V v[LANES];
        TURN_UNROLLED for (int i = 0; i < EACH; i++) {
            v[2 * i] = x[at + (size_t)i].re;
            v[2 * i + 1] = x[at + (size_t)i].im;
        }
        NAME(turn)(v);
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            memcpy(to + 2 * ((size_t)i * pitch + at), &v[i], sizeof v[i]);
    }
    return n >= EACH ? n : 0;
}

/* Number k of all lanes' lines. */
static C NAME(load_row_number)(const REAL *from, size_t k, size_t step, size_t pitch)
{
    REAL numbers[2 * LANES];
    for (size_t i = 0; i < LANES; i++)
        memcpy(numbers + 2 * i, from + 2 * (i * pitch + k * step), sizeof(NUMBER));
    return NAME(part)(numbers);
}
static void NAME(store_row_number)(C x, size_t k, REAL *to, size_t step, size_t pitch)
{
    REAL numbers[2 * LANES];
    NAME(join)(numbers, x);
    for (size_t i = 0; i < LANES; i++)
        memcpy(to + 2 * (i * pitch + k * step), numbers + 2 * i, sizeof(NUMBER));
}

static void NAME(load_rows)(C *x, size_t n, const REAL *from, size_t step, size_t pitch)
{
    for (size_t k = step == 1 ? NAME(load_squares)(x, n, from, pitch) : 0; k < n; k++)
        x[k] = NAME(load_row_number)(from, k, step, pitch);
}
static void NAME(store_rows)(const C *x, size_t n, REAL *to, size_t step, size_t pitch)
{
    for (size_t k = step == 1 ? NAME(store_squares)(x, n, to, pitch) : 0; k < n; k++)
        NAME(store_row_number)(x[k], k, to, step, pitch);
}

/* Lines that are real on this side, for all lanes: side by side, or of each a vector's numbers at a time. */
static void NAME(load_reals)(C *x, size_t n, const REAL *from, size_t step, size_t pitch)
{
    size_t k = 0;
    for (; pitch > 1 && step == 1 && k + LANES <= n; k += LANES) {
        V v[LANES];
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            memcpy(&v[i], from + (size_t)i * pitch + k, sizeof v[i]);
        NAME(turn)(v);
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            x[k + (size_t)i] = (C){ v[i], (V){ 0 } };
    }
    for (; k < n; k++) {
        REAL numbers[LANES];
        for (size_t i = 0; i < LANES; i++)
            numbers[i] = from[k * step + i * pitch];
        memcpy(&x[k].re, numbers, sizeof numbers);
        x[k].im = (V){ 0 };
    }
}
static void NAME(store_reals)(const C *x, size_t n, REAL *to, size_t step, size_t pitch)
{
    size_t k = 0;
    for (; pitch > 1 && step == 1 && k + LANES <= n; k += LANES) {
        V v[LANES];
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            v[i] = x[k + (size_t)i].re;
        NAME(turn)(v);
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            memcpy(to + (size_t)i * pitch + k, &v[i], sizeof v[i]);
    }
    for (; k < n; k++) {
        REAL numbers[LANES];
        memcpy(numbers, &x[k].re, sizeof numbers);
        for (size_t i = 0; i < LANES; i++)
            to[k * step + i * pitch] = numbers[i];
    }
}

/* The other half of a real result's transform: numbers that are not stored are conjugates of those that are, and those
 * that would be their own are real, whatever is stored.  Backward, parts are exchanged already. */
static void NAME(mirror)(C *x, size_t n, bool backward)
{
    for (size_t k = 0; k < n; k++) {
        if (k > n / 2)
            x[k] = backward ? (C){ -x[n - k].re, x[n - k].im } : (C){ x[n - k].re, -x[n - k].im };
        else if (!k || 2 * k == n)
            *(backward ? &x[k].re : &x[k].im) = (V){ 0 };
    }
}

/* The same of n lines; lanes without a line repeat the first one. */
static C NAME(load_some)(const struct own_fft_lines *l, size_t k, size_t first, size_t n)
{
    REAL numbers[2 * LANES];
    const bool real = l->kind == OWN_FFT_FROM_REAL;
    for (size_t i = 0; i < LANES; i++) {
        const REAL *from =
            (const REAL *)l->in + (k * l->in_step + (first + (i < n ? i : 0)) * l->in_pitch) * (real ? 1 : 2);
        numbers[2 * i] = from[0];
        numbers[2 * i + 1] = real ? 0 : from[1];
    }
    return NAME(part)(numbers);
}

static void NAME(store_some)(const struct own_fft_lines *l, size_t k, size_t first, size_t n, C x)
{
    REAL numbers[2 * LANES];
    const size_t each = l->kind == OWN_FFT_TO_REAL ? 1 : 2;
    NAME(join)(numbers, x);
    for (size_t i = 0; i < n; i++)
        memcpy((REAL *)l->out + (k * l->out_step + (first + i) * l->out_pitch) * each, numbers + 2 * i,
               each * sizeof(REAL));
}

/* Numbers k up to k + m of n lines from the `first` on. */
static void NAME(load_numbers)(C *x, const struct own_fft_lines *l, size_t first, size_t n, size_t k, size_t m)
{
    const bool real = l->kind == OWN_FFT_FROM_REAL;
    const REAL *from = (const REAL *)l->in + (real ? 1 : 2) * (first * l->in_pitch + k * l->in_step);
    if (n < LANES)
        for (size_t i = 0; i < m; i++)
            x[i] = NAME(load_some)(l, k + i, first, n);
    else if (real)
        NAME(load_reals)(x, m, from, l->in_step, l->in_pitch);
    else if (l->in_pitch == 1)
        NAME(load_columns)(x, m, from, l->in_step);
    else
        NAME(load_rows)(x, m, from, l->in_step, l->in_pitch);
    if (l->backward)
        NAME(exchange)(x, m);
}

static void NAME(store_numbers)(C *x, const struct own_fft_lines *l, size_t first, size_t n, size_t k, size_t m)
{
    const bool real = l->kind == OWN_FFT_TO_REAL;
    REAL *to = (REAL *)l->out + (real ? 1 : 2) * (first * l->out_pitch + k * l->out_step);
    if (l->backward)
        NAME(exchange)(x, m);
    if (n < LANES)
        for (size_t i = 0; i < m; i++)
            NAME(store_some)(l, k + i, first, n, x[i]);
    else if (real)
        NAME(store_reals)(x, m, to, l->out_step, l->out_pitch);
    else if (l->out_pitch == 1)
        NAME(store_columns)(x, m, to, l->out_step);
    else
        NAME(store_rows)(x, m, to, l->out_step, l->out_pitch);
}

static void NAME(load_lines)(C *x, const struct own_fft *f, const struct own_fft_lines *l, size_t first, size_t n)
{
    const bool mirrored = l->kind == OWN_FFT_TO_REAL;
    NAME(load_numbers)(x, l, first, n, 0, mirrored ? f->n / 2 + 1 : f->n);
    if (mirrored)
        NAME(mirror)(x, f->n, l->backward);
}

/* --- The ends --- */

enum { NAME(TILE) = LANES, NAME(TILE_NUMBERS) = 8 * LANES }; /* numbers of each part; of the parts of any radix */

/* The first pass, from the lines to y. */
static void NAME(run_first)(const struct own_fft *f, const struct own_fft_lines *l, size_t first, size_t n, C *y)
{
    const struct own_fft_pass *p = &f->passes[0];
    C tile[NAME(TILE_NUMBERS)];
    for (size_t j = 0; j < p->left; j += NAME(TILE)) {
        const size_t m = p->left - j < NAME(TILE) ? p->left - j : NAME(TILE);
        const struct own_fft_part part = { m, 1, j, m, 1, p->twiddles };
        for (unsigned k = 0; k < p->radix; k++)
            NAME(load_numbers)(tile + k * m, l, first, n, j + p->left * k, m);
        NAME(run_part)(p->radix, &part, tile, y + p->radix * j);
    }
}

/* The last pass, from x to the lines; of a real line's transform the first half and the number in the middle. */
static void NAME(run_last)(const struct own_fft *f, const struct own_fft_lines *l, size_t first, size_t n, const C *x)
{
    const struct own_fft_pass *p = &f->passes[f->n_passes - 1];
    const size_t numbers = l->kind == OWN_FFT_FROM_REAL ? f->n / 2 + 1 : f->n;
    C tile[NAME(TILE_NUMBERS)];
    for (size_t q = 0; q < p->done; q += NAME(TILE)) {
        const size_t m = p->done - q < NAME(TILE) ? p->done - q : NAME(TILE);
        const struct own_fft_part part = { 1, m, 0, p->done, m, p->twiddles };
        NAME(run_part)(p->radix, &part, x + q, tile);
        for (unsigned k = 0; k < p->radix; k++) {
            const size_t at = q + p->done * k, left = at < numbers ? numbers - at : 0;
            NAME(store_numbers)(tile + k * m, l, first, n, at, left < m ? left : m);
        }
    }
}

/* Lines that are real on a side, by complex ones of half as many numbers. */
static void NAME(run_halves)(const struct own_fft *f, const struct own_fft_lines *l, void *scratch)
{
    const struct own_fft *g = f->half;
    const bool from_real = l->kind == OWN_FFT_FROM_REAL, by_tiles = goes_by_tiles(g);
    struct own_fft_lines pairs = *l, stored = *l;
    C *x = scratch, *y = x + (f->inner ? f->inner->n : f->n), *z = x;
    pairs.kind = OWN_FFT_COMPLEX;
    *(from_real ? &pairs.in_pitch : &pairs.out_pitch) /= 2;
    /* Parts are exchanged once the halves are one line. */
    stored.backward = false;
    for (size_t first = 0; first < l->lines; first += LANES) {
        const size_t n = l->lines - first < LANES ? l->lines - first : LANES;
        if (!from_real) {
            NAME(load_numbers)(x, &stored, first, n, 0, g->n + 1);
            NAME(join_real)(x, g->n, f->turns);
            NAME(exchange)(x, g->n);
        } else if (by_tiles) {
            NAME(run_first)(g, &pairs, first, n, x);
        } else {
            NAME(load_numbers)(x, &pairs, first, n, 0, g->n);
        }
        z = g->inner ? NAME(run_chirp)(g, x, y)
                     : NAME(run_passes)(g, from_real && by_tiles, g->n_passes - (!from_real && by_tiles), x, y);
        if (from_real) {
            NAME(split_real)(z, g->n, f->turns);
            NAME(store_numbers)(z, &stored, first, n, 0, g->n + 1);
        } else if (by_tiles) {
            NAME(run_last)(g, &pairs, first, n, z);
        } else {
            NAME(store_numbers)(z, &pairs, first, n, 0, g->n);
        }
    }
}

/* First and last passes of LANES complex lines that are side by side, whose numbers are read and written where they are
 * needed. */
#define GET(k) NAME(exchanged)(NAME(part)(from + 2 * step * (j + left * (k))), backward)
#define PUT(k, number) to[k] = (k) && j ? NAME(times)(number, w[(k) - 1]) : (number)
#define GET_LAST(k) x[q + done * (k)]
#define PUT_LAST(k, number) NAME(join)(to + 2 * step * (q + done * (k)), NAME(exchanged)(number, backward))
#define COLUMNS(RADIX)                                                                                    \
    static inline __attribute__((always_inline)) void NAME(first_##RADIX)(                                \
        const struct own_fft_pass *p, const REAL *from, size_t step, bool backward, C *restrict to)       \
    {                                                                                                     \
        const size_t left = p->left;                                                                      \
        const NUMBER *w = p->twiddles;                                                                    \
        for (size_t j = 0; j < left; j++, w += RADIX - 1, to += RADIX) {                                  \
            SHORT_##RADIX(GET, PUT)                                                                       \
        }                                                                                                 \
    }                                                                                                     \
    static inline __attribute__((always_inline)) void NAME(last_##RADIX)(                                 \
        const struct own_fft_pass *p, REAL *to, size_t step, bool backward, const C *x)                   \
    {                                                                                                     \
        const size_t done = p->done;                                                                      \
        for (size_t q = 0; q < done; q++) {                                                               \
            SHORT_##RADIX(GET_LAST, PUT_LAST)                                                             \
        }                                                                                                 \
    }                                                                                                     \
    static void NAME(columns_##RADIX)(const struct own_fft_pass *p, const struct own_fft_lines *l,        \
                                      size_t first, bool ends, C *x)                                      \
    {                                                                                                     \
        const REAL *from = (const REAL *)l->in + 2 * first;                                               \
        REAL *to = (REAL *)l->out + 2 * first;                                                            \
        if (ends && l->backward)                                                                          \
            NAME(last_##RADIX)(p, to, l->out_step, true, x);                                              \
        else if (ends)                                                                                    \
            NAME(last_##RADIX)(p, to, l->out_step, false, x);                                             \
        else if (l->backward)                                                                             \
            NAME(first_##RADIX)(p, from, l->in_step, true, x);                                            \
        else                                                                                              \
            NAME(first_##RADIX)(p, from, l->in_step, false, x);                                           \
    }
COLUMNS(2)
COLUMNS(3)
COLUMNS(4)
COLUMNS(5)
COLUMNS(7)
COLUMNS(8)
#undef COLUMNS
#undef GET
#undef PUT
#undef GET_LAST
#undef PUT_LAST

/* The first pass to x, or the last one (`ends`) from it. */
static void NAME(run_columns)(const struct own_fft *f, const struct own_fft_lines *l, size_t first, bool ends, C *x)
{
    const struct own_fft_pass *p = &f->passes[ends ? f->n_passes - 1 : 0];
    switch (p->radix) {
    case 2: NAME(columns_2)(p, l, first, ends, x); break;
    case 3: NAME(columns_3)(p, l, first, ends, x); break;
    case 4: NAME(columns_4)(p, l, first, ends, x); break;
    case 5: NAME(columns_5)(p, l, first, ends, x); break;
    case 7: NAME(columns_7)(p, l, first, ends, x); break;
    default: NAME(columns_8)(p, l, first, ends, x); break;
    }
}

static void NAME(run_lines)(const struct own_fft *f, const struct own_fft_lines *l, void *scratch)
{
    const bool is_tiled = goes_by_tiles(f) && l->kind != OWN_FFT_TO_REAL; /* which is mirrored as a whole */
    C *x = scratch, *y = x + (f->inner ? f->inner->n : f->n);
    for (size_t first = 0; first < l->lines; first += LANES) {
        const size_t n = l->lines - first < LANES ? l->lines - first : LANES;
        const bool is_whole = n == LANES && l->kind == OWN_FFT_COMPLEX && !f->inner && f->n_passes > 1,
                   from_columns = is_whole && l->in_pitch == 1, to_columns = is_whole && l->out_pitch == 1;
        /* All lines of this round are read before one is written, as they may be in place. */
        if (from_columns)
            NAME(run_columns)(f, l, first, false, x);
        else if (is_tiled)
            NAME(run_first)(f, l, first, n, x);
        else
            NAME(load_lines)(x, f, l, first, n);
        C *z = f->inner ? NAME(run_chirp)(f, x, y)
                        : NAME(run_passes)(f, from_columns || is_tiled, f->n_passes - (to_columns || is_tiled), x, y);
        if (to_columns)
            NAME(run_columns)(f, l, first, true, z);
        else if (is_tiled)
            NAME(run_last)(f, l, first, n, z);
        else
            NAME(store_numbers)(z, l, first, n, 0, l->kind == OWN_FFT_FROM_REAL ? f->n / 2 + 1 : f->n);
    }
}

/* --- The first passes of a long line --- */

#include "own_lead.h"

/* Factors go large ones first: where columns are left that fill vectors there were no others before. */
static void NAME(run_lead_pass)(const struct own_fft_pass *p, size_t columns, const REAL *roots, bool is_first,
                                const C *restrict x, C *restrict y)
{
    switch (p->radix) {
    case 5: NAME(lead_part_5)(p->done, p->lead_left, roots, columns, p->left, is_first, x, y); break;
    case 7: NAME(lead_part_7)(p->done, p->lead_left, roots, columns, p->left, is_first, x, y); break;
    default: NAME(lead_part_8)(p->done, p->lead_left, roots, columns, p->left, is_first, x, y); break;
    }
}

/* A vector's columns, from x, by way of y; where the result is. */
static C *NAME(run_lead_passes)(const struct own_fft *f, size_t at, C *x, C *y)
{
    const REAL *roots = f->lead_roots;
    for (unsigned i = 0; i < f->lead_passes; i++) {
        const struct own_fft_pass *p = &f->passes[i];
        NAME(run_lead_pass)(p, f->columns, roots + at, !at, x, y);
        roots += 2 * p->left * (p->radix - 1);
        C *next = x;
        x = y;
        y = next;
    }
    return x;
}

static void NAME(run_lead)(const struct own_fft *f, bool backward, const void *from, void *to, size_t pitch,
                           void *scratch)
{
    enum { VECTORS = OWN_FFT_LEAD_COLUMNS / LANES };
    const size_t columns = f->columns;
    C *tile = scratch, *other = tile + VECTORS * f->lead;
    for (size_t at = 0; at < columns; at += OWN_FFT_LEAD_COLUMNS) {
        /* Some lines of the cache at once, as each of a column's numbers is on another page. */
        for (size_t m = 0; m < f->lead; m++)
            for (size_t v = 0; v < VECTORS; v++)
                tile[v * f->lead + m] = NAME(part)((const REAL *)from + 2 * (at + v * LANES + columns * m));
        if (backward)
            NAME(exchange)(tile, VECTORS * f->lead);
        for (size_t v = 0; v < VECTORS; v++) {
            C *x = tile + v * f->lead, *z = NAME(run_lead_passes)(f, at + v * LANES, x, other);
            if (z != x)
                memcpy(x, z, f->lead * sizeof *x);
        }
        if (backward)
            NAME(exchange)(tile, VECTORS * f->lead);
        for (size_t m = 0; m < f->lead; m++)
            for (size_t v = 0; v < VECTORS; v++)
                NAME(join)((REAL *)to + 2 * (at + v * LANES + pitch * m), tile[v * f->lead + m]);
    }
}
#undef V
#undef C
