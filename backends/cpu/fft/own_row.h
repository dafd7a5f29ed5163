/* own_row.h - rows one by one, for REAL, LANES neighbouring numbers of a row at a time.
 *
 * LANES rows side by side (own_loops.h) leave the nearest cache where one row does not.  In Stockham's order what
 * neighbouring short transforms read is side by side in every pass.  So is what they write, but for the first passes,
 * whose vectors are turned, and whose transforms have roots of their own.  After one of 8, or two others, later ones
 * write vectors that are whole, or whose last one takes some numbers once more.  A number's parts are apart.
 */
#include "own_vector.h"
#include "own_lead.h"

enum {
    NAME(FIRST) = 8, /* the radix of a first pass that turns its vectors itself */
    /* From a number's real part to its imaginary one: what is known here needs no register. */
    NAME(APART) = OWN_FFT_ROW_PART / sizeof(REAL)
};

static inline C NAME(get)(const REAL *x)
{
    C a;
    memcpy(&a.re, x, sizeof a.re);
    memcpy(&a.im, x + NAME(APART), sizeof a.im);
    return a;
}
static inline void NAME(put)(REAL *x, C a)
{
    memcpy(x, &a.re, sizeof a.re);
    memcpy(x + NAME(APART), &a.im, sizeof a.im);
}

/* A number for all lanes. */
static inline C NAME(all)(const REAL *number)
{
    return (C){ number[0] - (V){ 0 }, number[1] - (V){ 0 } };
}

static inline C NAME(times_root)(C x, const REAL *root, bool has_roots)
{
    return has_roots ? NAME(times)(x, NAME(all)(root)) : x;
}

/* --- Passes --- */

/* LANES vectors, turned, to rows that are `pitch` apart. */
static inline __attribute__((always_inline)) void NAME(put_square)(REAL *to, size_t pitch, V v[LANES])
{
    NAME(turn)(v);
    TURN_UNROLLED for (int i = 0; i < LANES; i++)
        memcpy(to + pitch * (size_t)i, &v[i], sizeof v[i]);
}

/* Eight vectors of short transforms' numbers, to where these are side by side. */
static inline void NAME(put_turned)(REAL *to, const V z[NAME(FIRST)])
{
    TURN_UNROLLED for (int half = 0; half < NAME(FIRST); half += LANES) {
        V v[LANES];
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            v[i] = z[half + i];
        NAME(put_square)(to + half, NAME(FIRST), v);
    }
}

/* The first pass, from the row or, where that is NULL, from x, whose parts are exchanged then. */
static inline __attribute__((always_inline)) void NAME(row_first_from)(const struct own_fft *f, const REAL *row,
                                                                       const REAL *x, bool backward, REAL *y)
{
    const size_t left = f->passes[0].left;
    for (size_t j = 0; j < left; j += LANES) {
        /* The last vector may take some numbers once more. */
        const size_t at = j + LANES <= left ? j : left - LANES;
        const REAL *roots = (const REAL *)f->lead_roots + at;
        V re[NAME(FIRST)], im[NAME(FIRST)];
#define GET(k) NAME(exchanged)(row ? NAME(part)(row + 2 * (at + left * (k))) : NAME(get)(x + at + left * (k)), backward)
#define PUT(k, number)                                                                                    \
    do {                                                                                                  \
        const C z = number;                                                                               \
        re[k] = z.re, im[k] = z.im;                                                                       \
        if (k) {                                                                                          \
            const C w = NAME(roots_of)(roots + left * (2 * (k) - 2), roots + left * (2 * (k) - 1));       \
            const C product = NAME(times)(z, w);                                                          \
            re[k] = product.re, im[k] = product.im;                                                       \
        }                                                                                                 \
        /* A root of 1 multiplies nothing. */                                                             \
        if (k && !at)                                                                                     \
            re[k][0] = z.re[0], im[k][0] = z.im[0];                                                       \
    } while (0)
        SHORT_8(GET, PUT)
#undef GET
#undef PUT
        NAME(put_turned)(y + NAME(FIRST) * at, re);
        NAME(put_turned)(y + NAME(APART) + NAME(FIRST) * at, im);
    }
}

/* Two other first passes, of `left` transforms each vector of columns: the first one, from the row or x likewise, */
#define GET(k)                                                                                            \
    NAME(exchanged)(row ? NAME(part)(row + 2 * columns * (j + left * (k)))                                \
                        : NAME(get)(x + columns * (j + left * (k))),                                      \
                    backward)
#define ROW_COLUMNS(RADIX)                                                                                \
    static inline __attribute__((always_inline)) void NAME(columns_from_##RADIX)(                         \
        size_t left, const REAL *w, size_t columns, bool is_first, const REAL *row, const REAL *x,        \
        bool backward, C *y)                                                                              \
    {                                                                                                     \
        const size_t done = 1, roots = columns * left;                                                    \
        for (size_t j = 0; j < left; j++, w += columns, y += RADIX) {                                     \
            LEAD_SHORT(RADIX, GET)                                                                        \
        }                                                                                                 \
    }                                                                                                     \
    static void NAME(row_columns_##RADIX)(size_t left, const REAL *w, size_t columns, bool is_first,      \
                                          const REAL *row, const REAL *x, bool backward, C *y)            \
    {                                                                                                     \
        if (!row)                                                                                         \
            NAME(columns_from_##RADIX)(left, w, columns, is_first, NULL, x, true, y);                     \
        else if (backward)                                                                                \
            NAME(columns_from_##RADIX)(left, w, columns, is_first, row, x, true, y);                      \
        else                                                                                              \
            NAME(columns_from_##RADIX)(left, w, columns, is_first, row, x, false, y);                     \
    }
ROW_COLUMNS(3)
ROW_COLUMNS(4)
ROW_COLUMNS(5)
#undef ROW_COLUMNS
#undef GET

/* and both, whose n numbers of each column go to rows.  That these are known here makes them places of the stack. */
static inline __attribute__((always_inline)) void NAME(put_columns)(REAL *y, const C *z, size_t n)
{
    for (size_t k = 0; k < n; k += LANES) {
        const size_t m = k + LANES <= n ? k : n - LANES;
        V re[LANES], im[LANES];
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            re[i] = z[m + (size_t)i].re;
        NAME(put_square)(y + m, n, re);
        TURN_UNROLLED for (int i = 0; i < LANES; i++)
            im[i] = z[m + (size_t)i].im;
        NAME(put_square)(y + NAME(APART) + m, n, im);
    }
}
#define ROW_TWO(ONE, OTHER)                                                                               \
    static void NAME(row_two_##ONE##_##OTHER)(const struct own_fft *f, const REAL *row, const REAL *x, bool backward, \
                                              REAL *y)                                                    \
    {                                                                                                     \
        const size_t columns = f->columns, left = columns * OTHER;                                        \
        const REAL *one = f->lead_roots, *other = one + 2 * left * (ONE - 1);                             \
        for (size_t j = 0; j < columns; j += LANES) {                                                     \
            const size_t at = j + LANES <= columns ? j : columns - LANES;                                 \
            C a[ONE * OTHER], b[ONE * OTHER];                                                             \
            NAME(row_columns_##ONE)(OTHER, one + at, columns, !at, row ? row + 2 * at : NULL, x + at,     \
                                    backward, a);                                                         \
            NAME(lead_part_##OTHER)(ONE, 1, other + at, columns, columns, !at, a, b);                     \
            NAME(put_columns)(y + ONE * OTHER * at, b, ONE * OTHER);                                      \
        }                                                                                                 \
    }
ROW_TWO(5, 5)
ROW_TWO(5, 4)
ROW_TWO(5, 3)
ROW_TWO(4, 4)
ROW_TWO(4, 3)
ROW_TWO(3, 3)
#undef ROW_TWO

static void NAME(row_two)(const struct own_fft *f, const REAL *row, const REAL *x, bool backward, REAL *y)
{
    switch (f->lead) {
    case 25: NAME(row_two_5_5)(f, row, x, backward, y); break;
    case 20: NAME(row_two_5_4)(f, row, x, backward, y); break;
    case 15: NAME(row_two_5_3)(f, row, x, backward, y); break;
    case 16: NAME(row_two_4_4)(f, row, x, backward, y); break;
    case 12: NAME(row_two_4_3)(f, row, x, backward, y); break;
    default: NAME(row_two_3_3)(f, row, x, backward, y); break;
    }
}

static void NAME(row_first)(const struct own_fft *f, const REAL *row, const REAL *x, bool backward, REAL *y)
{
    if (f->passes[0].radix != NAME(FIRST))
        NAME(row_two)(f, row, x, backward, y);
    else if (!row)
        NAME(row_first_from)(f, NULL, x, true, y);
    else if (backward)
        NAME(row_first_from)(f, row, x, true, y);
    else
        NAME(row_first_from)(f, row, x, false, y);
}

/* A later one, and the last one to the row. */
#define GET(k) NAME(get)(from + part * (k))
#define PUT(k, number) NAME(put)(to + done * (k), k ? NAME(times_root)(number, root + 2 * (k) - 2, has_roots) : number)
#define PUT_LAST(k, number) NAME(join)(to + 2 * done * (k), NAME(exchanged)(number, backward))
/* How many numbers the last vector takes once more. */
#define BACK (q + LANES <= done ? 0 : q + LANES - done)
#define ROW_PASS(RADIX)                                                                                   \
    static inline __attribute__((always_inline)) void NAME(row_part_##RADIX)(                             \
        size_t done, size_t part, const REAL *root, bool has_roots, const REAL *from, REAL *to)           \
    {                                                                                                     \
        for (size_t q = 0; q < done; q += LANES, from += LANES, to += LANES) {                            \
            from -= BACK, to -= BACK;                                                                     \
            SHORT_##RADIX(GET, PUT)                                                                       \
        }                                                                                                 \
    }                                                                                                     \
    static void NAME(row_pass_##RADIX)(const struct own_fft_pass *p, const REAL *x, REAL *y)              \
    {                                                                                                     \
        const size_t done = p->done, left = p->left;                                                      \
        const REAL *root = p->twiddles;                                                                   \
        NAME(row_part_##RADIX)(done, done * left, root, false, x, y);                                     \
        for (size_t j = 1; j < left; j++)                                                                 \
            NAME(row_part_##RADIX)(done, done * left, root + 2 * j * (RADIX - 1), true, x + done * j,     \
                                   y + done * RADIX * j);                                                 \
    }                                                                                                     \
    static inline __attribute__((always_inline)) void NAME(row_end_##RADIX)(size_t done, const REAL *from, \
                                                                            bool backward, REAL *to)      \
    {                                                                                                     \
        const size_t part = done;                                                                         \
        for (size_t q = 0; q < done; q += LANES, from += LANES, to += 2 * LANES) {                        \
            from -= BACK, to -= 2 * BACK;                                                                 \
            SHORT_##RADIX(GET, PUT_LAST)                                                                  \
        }                                                                                                 \
    }                                                                                                     \
    static void NAME(row_last_##RADIX)(const struct own_fft_pass *p, const REAL *x, bool backward, REAL *row) \
    {                                                                                                     \
        if (backward)                                                                                     \
            NAME(row_end_##RADIX)(p->done, x, true, row);                                                 \
        else                                                                                              \
            NAME(row_end_##RADIX)(p->done, x, false, row);                                                \
    }
ROW_PASS(2)
ROW_PASS(3)
ROW_PASS(4)
ROW_PASS(5)
ROW_PASS(7)
ROW_PASS(8)
#undef ROW_PASS
#undef GET
#undef PUT
#undef PUT_LAST
#undef BACK

static void NAME(row_pass)(const struct own_fft_pass *p, const REAL *x, REAL *y)
{
    switch (p->radix) {
    case 2: NAME(row_pass_2)(p, x, y); break;
    case 3: NAME(row_pass_3)(p, x, y); break;
    case 4: NAME(row_pass_4)(p, x, y); break;
    case 5: NAME(row_pass_5)(p, x, y); break;
    case 7: NAME(row_pass_7)(p, x, y); break;
    default: NAME(row_pass_8)(p, x, y); break;
    }
}
static void NAME(row_last)(const struct own_fft_pass *p, const REAL *x, bool backward, REAL *row)
{
    switch (p->radix) {
    case 2: NAME(row_last_2)(p, x, backward, row); break;
    case 3: NAME(row_last_3)(p, x, backward, row); break;
    case 4: NAME(row_last_4)(p, x, backward, row); break;
    case 5: NAME(row_last_5)(p, x, backward, row); break;
    case 7: NAME(row_last_7)(p, x, backward, row); break;
    default: NAME(row_last_8)(p, x, backward, row); break;
    }
}

/* --- Rows --- */

/* All passes, from `in` (or x) to `out` (or where the result is), by way of x and y. */
static REAL *NAME(row_passes)(const struct own_fft *f, bool backward, const REAL *in, REAL *out, REAL *x, REAL *y)
{
    NAME(row_first)(f, in, x, backward, y);
    for (unsigned i = f->lead_passes; i < f->n_passes; i++) {
        if (out && i + 1 == f->n_passes)
            NAME(row_last)(&f->passes[i], y, backward, out);
        else
            NAME(row_pass)(&f->passes[i], y, x);
        REAL *next = x;
        x = y;
        y = next;
    }
    return y;
}

static inline C NAME(reversed)(C x)
{
    return (C){ __builtin_shufflevector(x.re, x.re, REVERSED), __builtin_shufflevector(x.im, x.im, REVERSED) };
}

/* As split_real() and join_real() (own_real.h), to or from the real line's transform in memory. */
static void NAME(split_row)(REAL *z, size_t h, const REAL *turns, REAL *out)
{
    z[h] = z[0];
    z[h + NAME(APART)] = z[NAME(APART)];
    for (size_t k = 0; k <= h / 2; k += LANES) {
        const size_t at = k + LANES <= h / 2 + 1 ? k : h / 2 + 1 - LANES, other = h - at - (LANES - 1);
        C low, high;
        NAME(split_pair)(&low, &high, NAME(get)(z + at), NAME(reversed)(NAME(get)(z + other)),
                         NAME(roots_of)(turns + at, turns + h / 2 + 1 + at));
        NAME(join)(out + 2 * at, low);
        NAME(join)(out + 2 * other, NAME(reversed)(high));
    }
}
static void NAME(join_row)(REAL *z, size_t h, const REAL *turns, const REAL *in)
{
    for (size_t k = 0; k <= h / 2; k += LANES) {
        const size_t at = k + LANES <= h / 2 + 1 ? k : h / 2 + 1 - LANES, other = h - at - (LANES - 1);
        C low, high, a = NAME(part)(in + 2 * at), b = NAME(reversed)(NAME(part)(in + 2 * other));
        if (!at)
            a.im[0] = b.im[0] = 0;
        NAME(join_pair)(&low, &high, a, b, NAME(roots_of)(turns + at, turns + h / 2 + 1 + at));
        NAME(put)(z + at, low);
        NAME(put)(z + other, NAME(reversed)(high));
    }
}

static void NAME(run_rows)(const struct own_fft *f, const struct own_fft_lines *l, void *scratch)
{
    const struct own_fft *g = l->kind == OWN_FFT_COMPLEX ? f : f->half;
    const bool from_real = l->kind == OWN_FFT_FROM_REAL, to_real = l->kind == OWN_FFT_TO_REAL;
    REAL *x = scratch, *y = x + 2 * NAME(APART);
    for (size_t i = 0; i < l->lines; i++) {
        const REAL *in = (const REAL *)l->in + (from_real ? 1 : 2) * i * l->in_pitch;
        REAL *out = (REAL *)l->out + (to_real ? 1 : 2) * i * l->out_pitch;
        if (to_real)
            NAME(join_row)(x, g->n, f->row_turns, in);
        REAL *z = NAME(row_passes)(g, l->backward, to_real ? NULL : in, from_real ? NULL : out, x, y);
        if (from_real)
            NAME(split_row)(z, g->n, f->row_turns, out);
    }
}
#undef V
#undef C
