/* gram.cl - images convolved with a spectrum, without the zeros that a Fourier transform of the whole grid would move.
 *
 * A line of n numbers with zeros behind them, 2 LENGTH in all, has two halves of frequencies: the even ones are a
 * transform of LENGTH numbers, the odd ones another, of numbers that were multiplied by exp(-2 pi i e / (2 LENGTH)).
 * So nothing is ever twice as long as the image, and along the first axis forward, product and backward are one kernel
 * that keeps its numbers in registers for both halves.
 *
 * A group has LINES lines: neighbours of a slower axis (STRIDED 1), or, of the fastest axis, lines one behind the
 * other.  An item has as many numbers of a line as the pass has a radix, and between passes (Stockham's order) items
 * exchange them in local memory.  Radices are R0 to R5, as many as PASSES, and backwards they come in the other order:
 * so an item begins to go back with the numbers it has, and ends with those of the places where it began.  Backward is
 * forward with real and imaginary parts exchanged.  A line has some numbers more in local memory, so that lanes that
 * write numbers far apart meet different banks.
 */
#pragma once
#include "dialect.h"
#include "gpu_format.h"

#define V REAL
/* As a whole, so that it moves in one piece. */
struct __attribute__((aligned(2 * sizeof(REAL)))) gram_number {
    REAL re, im;
};
typedef struct gram_number gram_number_t;
#define C gram_number_t
#define NUMBER gram_number_t
#define NAME(x) gram_##x
#include "fft_short.h"

/* Four times four, whose roots between them are constants. */
DEVICE void gram_short_16(C *a)
{
    const REAL c[10] = { 1, (REAL)0.92387953251128675613, (REAL)0.70710678118654752440, (REAL)0.38268343236508977173, 0,
                         0, (REAL)-0.70710678118654752440, 0, 0, (REAL)-0.92387953251128675613 };
    const REAL s[10] = { 0, (REAL)-0.38268343236508977173, (REAL)-0.70710678118654752440, (REAL)-0.92387953251128675613,
                         -1, 0, (REAL)-0.70710678118654752440, 0, 0, (REAL)0.38268343236508977173 };
    C rows[4][4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        UNROLL
        for (int k = 0; k < 4; k++)
            rows[i][k] = a[4 * k + i];
        gram_short_4(rows[i]);
    }
    UNROLL
    for (int k = 0; k < 4; k++) {
        C column[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            column[i] = i * k ? gram_times(rows[i][k], gram_number(c[i * k], s[i * k])) : rows[i][k];
        gram_short_4(column);
        UNROLL
        for (int i = 0; i < 4; i++)
            a[k + 4 * i] = column[i];
    }
}

DEVICE C gram_exchanged(C x)
{
    return gram_number(x.im, x.re);
}
/* conj(a) b */
DEVICE C gram_back(C a, C b)
{
    return gram_number(a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re);
}

/* The last radix, the smallest one: so many items have a line. */
#if PASSES == 1
#define RL R0
#elif PASSES == 2
#define RL R1
#elif PASSES == 3
#define RL R2
#elif PASSES == 4
#define RL R3
#elif PASSES == 5
#define RL R4
#else
#define RL R5
#endif
#define ITEMS_OF_LINE (LENGTH / RL)
#define NEAR_LINE (LENGTH + LENGTH / 8)

/* Number e of a group's line l.  Lines side by side that fill all banks need no numbers more. */
DEVICE uint32_t room_place(uint32_t e, uint32_t l)
{
    const uint32_t padded = STRIDED && LINES * sizeof(C) >= 128 ? e : e + (e >> (RL == 16 ? 4 : 3));
    return STRIDED ? padded * LINES + l : l * NEAR_LINE + padded;
}

/* What follows is done by each item that has a transform of RADIX numbers, number t of line l.  `own` is where its
 * numbers are: a processor's one item has those of all. */
#if GROUP_SIZE == 1
#define OWNED (LINES * ITEMS_OF_LINE)
#define ITEM_OWNING(own) (own)
#else
#define OWNED 1
#define ITEM_OWNING(own) (ITEM % GROUP_SIZE) /* so that compilers know what it is below: 9 % of a convolution */
#endif
#define EACH(RADIX)                                                                                                 \
    for (uint32_t own = 0; own < OWNED; own++) {                                                                    \
        const uint32_t t = STRIDED ? ITEM_OWNING(own) / LINES : ITEM_OWNING(own) % ITEMS_OF_LINE;                   \
        const uint32_t l = STRIDED ? ITEM_OWNING(own) % LINES : ITEM_OWNING(own) / ITEMS_OF_LINE;                   \
        if (t < LENGTH / RADIX && l < LINES) {
#define END }}
/* And with each of its numbers, number t + PLACE(k, RADIX) of the line. */
#define PLACE(k, RADIX) ((uint32_t)(k) * (LENGTH / RADIX))
#define EACH_NUMBER(RADIX)               \
    UNROLL                               \
    for (int k = 0; k < RADIX; k++)

/* A pass: RADIX numbers are transformed and given to the items that have NEXT of them; `done`: the product of the
 * radices before. */
#define PASS_(RADIX, done, NEXT)                                                                                    \
    EACH(RADIX)                                                                                                     \
    const uint32_t j = t / (done), q = t - j * (done);                                                              \
    gram_short_##RADIX(a[own]);                                                                                     \
    EACH_NUMBER(RADIX)                                                                                              \
        room[room_place(q + (done) * (RADIX * j + k), l)] =                                                         \
            k ? gram_times(a[own][k], roots[2 * j * k * (done)]) : a[own][k];                                       \
    END                                                                                                             \
    BARRIER();                                                                                                      \
    EACH(NEXT)                                                                                                      \
    EACH_NUMBER(NEXT)                                                                                               \
        a[own][k] = room[room_place(t + PLACE(k, NEXT), l)];                                                        \
    END                                                                                                             \
    BARRIER();
#define PASS(RADIX, done, NEXT) PASS_(RADIX, done, NEXT)
#define LAST_PASS_(RADIX) EACH(RADIX) gram_short_##RADIX(a[own]); END
#define LAST_PASS(RADIX) LAST_PASS_(RADIX)

/* `a` has numbers of R0 for an item, then of RL; and back. */
#if PASSES == 1
#define FORWARD LAST_PASS(R0)
#define BACKWARD LAST_PASS(R0)
#elif PASSES == 2
#define FORWARD PASS(R0, 1, R1) LAST_PASS(R1)
#define BACKWARD PASS(R1, 1, R0) LAST_PASS(R0)
#elif PASSES == 3
#define FORWARD PASS(R0, 1, R1) PASS(R1, R0, R2) LAST_PASS(R2)
#define BACKWARD PASS(R2, 1, R1) PASS(R1, R2, R0) LAST_PASS(R0)
#elif PASSES == 4
#define FORWARD PASS(R0, 1, R1) PASS(R1, R0, R2) PASS(R2, R0 *R1, R3) LAST_PASS(R3)
#define BACKWARD PASS(R3, 1, R2) PASS(R2, R3, R1) PASS(R1, R3 *R2, R0) LAST_PASS(R0)
#elif PASSES == 5
#define FORWARD PASS(R0, 1, R1) PASS(R1, R0, R2) PASS(R2, R0 *R1, R3) PASS(R3, R0 *R1 *R2, R4) LAST_PASS(R4)
#define BACKWARD PASS(R4, 1, R3) PASS(R3, R4, R2) PASS(R2, R4 *R3, R1) PASS(R1, R4 *R3 *R2, R0) LAST_PASS(R0)
#else
#define FORWARD                                                                                                     \
    PASS(R0, 1, R1) PASS(R1, R0, R2) PASS(R2, R0 *R1, R3) PASS(R3, R0 *R1 *R2, R4) PASS(R4, R0 *R1 *R2 *R3, R5)     \
    LAST_PASS(R5)
#define BACKWARD                                                                                                    \
    PASS(R5, 1, R4) PASS(R4, R5, R3) PASS(R3, R5 *R4, R2) PASS(R2, R5 *R4 *R3, R1) PASS(R1, R5 *R4 *R3 *R2, R0)     \
    LAST_PASS(R0)
#endif

/* The items' numbers: of the pass, of the line, and of what comes back. */
#define NUMBERS                                                                   \
    DYNAMIC_LOCAL(room_bytes, 2 * NEAR_LINE * LINES * sizeof(REAL));              \
    NEAR C *room = (NEAR C *)room_bytes;                                          \
    C a[OWNED][R0];
#define LINE_NUMBERS C line[OWNED][R0];

/* A half of the frequencies begins with the line's numbers, times roots for the odd ones. */
#define BEGIN_HALF(odd)                                                                                             \
    EACH(R0)                                                                                                        \
    EACH_NUMBER(R0)                                                                                                 \
        a[own][k] = (odd) ? gram_times(line[own][k], roots[t + PLACE(k, R0)]) : line[own][k];                       \
    END
/* What came back is added up over both halves. */
#define ADD_HALF(odd, sum)                                                                                          \
    EACH(R0)                                                                                                        \
    EACH_NUMBER(R0) {                                                                                               \
        const C x = gram_exchanged(a[own][k]);                                                                      \
        sum[own][k] = (odd) ? gram_add(sum[own][k], gram_back(roots[t + PLACE(k, R0)], x)) : x;                     \
    }                                                                                                               \
    END

/* Reads go without branches, so that all of an item's are under way at once: beyond the last line the group's first one
 * is read, beyond the image's N numbers the item's first one, which does not count. */
#define IS_LINE(l) (first + (l) < gram.width)
#define LINE_OR_FIRST(l) (IS_LINE(l) ? (l) : 0)
#define IS_NUMBER(e) (N == LENGTH || (e) < N)
#define NUMBER_OR_ZERO(e, x) (IS_NUMBER(e) ? (x) : gram_number(0, 0))

#if STRIDED

/* Lines side by side, `width` of them in a row of lines: this group's row, and the first of its lines there. */
#define GROUPS_OF_ROW (((uint32_t)gram.width + LINES - 1) / LINES)
#define ROW                                             \
    const uint32_t row = GROUP / GROUPS_OF_ROW;         \
    const uint32_t first = GROUP % GROUPS_OF_ROW * LINES;
#define LOAD_LINE(source)                                                                                           \
    EACH(R0)                                                                                                        \
    const C *from_t = (source) + t * gram.step + LINE_OR_FIRST(l);                                                  \
    EACH_NUMBER(R0) {                                                                                               \
        const uint32_t e = t + PLACE(k, R0);                                                                        \
        const C x = from_t[IS_NUMBER(e) ? PLACE(k, R0) * gram.step : 0];                                            \
        line[own][k] = NUMBER_OR_ZERO(e, x);                                                                        \
    }                                                                                                               \
    END
#define STORE_LINE(target, numbers)                                                                                 \
    EACH(R0)                                                                                                        \
    C *to_t = (target) + t * gram.step + l;                                                                         \
    if (IS_LINE(l))                                                                                                 \
        EACH_NUMBER(R0)                                                                                             \
            if (IS_NUMBER(t + PLACE(k, R0)))                                                                        \
                to_t[PLACE(k, R0) * gram.step] = numbers[own][k];                                                   \
    END

/* From an image's axis to both halves of its frequencies. */
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_gram_out(struct gpu_nufft_gram gram, BUFFER(const C, from), BUFFER(const C, roots), BUFFER(C, to))
{
    NUMBERS LINE_NUMBERS
    OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)
    ROW
    LOAD_LINE(from + row * gram.row + first)
    UNROLL
    for (uint32_t odd = 0; odd < 2; odd++) {
        C *target = to + row * gram.far_row + odd * gram.far_half + first;
        BEGIN_HALF(odd)
        FORWARD
        EACH(RL)
        C *to_t = target + t * gram.far_step + l;
        if (IS_LINE(l))
            EACH_NUMBER(RL)
                to_t[PLACE(k, RL) * gram.far_step] = a[own][k];
        END
    }
}

KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_gram_in(struct gpu_nufft_gram gram, BUFFER(const C, from), BUFFER(const C, roots), BUFFER(C, to))
{
    NUMBERS LINE_NUMBERS
    OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)
    ROW
    UNROLL
    for (uint32_t odd = 0; odd < 2; odd++) {
        const C *source = from + row * gram.far_row + odd * gram.far_half + first;
        EACH(RL)
        const C *from_t = source + t * gram.far_step + LINE_OR_FIRST(l);
        EACH_NUMBER(RL)
            a[own][k] = gram_exchanged(from_t[PLACE(k, RL) * gram.far_step]);
        END
        BACKWARD
        ADD_HALF(odd, line)
    }
    STORE_LINE(to + row * gram.row + first, line)
}

/* There and back, in place: a line is read before it is written, by the same group. */
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_gram_through(struct gpu_nufft_gram gram, BUFFER(C, data), BUFFER(const C, roots), BUFFER(const REAL, spectrum))
{
    NUMBERS LINE_NUMBERS
    C sum[OWNED][R0];
    OPEN(C, data) OPEN(const C, roots) OPEN(const REAL, spectrum)
    ROW
    LOAD_LINE(data + row * gram.row + first)
    /* The spectrum comes to the cache while the line is transformed. */
    const REAL *spectrum_of_row = spectrum + row % (uint32_t)gram.far_rows * gram.far_row + first;
    for (uint32_t e = ITEM; e < 2 * LENGTH; e += GROUP_SIZE)
        FETCH(spectrum_of_row + e / LENGTH * gram.far_half + e % LENGTH * gram.far_step);
    UNROLL
    for (uint32_t odd = 0; odd < 2; odd++) {
        const REAL *factors = spectrum_of_row + odd * gram.far_half;
        BEGIN_HALF(odd)
        FORWARD
        EACH(RL)
        const REAL *factors_t = factors + t * gram.far_step + LINE_OR_FIRST(l);
        EACH_NUMBER(RL)
            a[own][k] = gram_exchanged(gram_scaled(a[own][k], factors_t[PLACE(k, RL) * gram.far_step]));
        END
        BACKWARD
        ADD_HALF(odd, sum)
    }
    STORE_LINE(data + row * gram.row + first, sum)
}

#else

#define PLACE_OR_FIRST(k) (IS_NUMBER(t + PLACE(k, R0)) ? PLACE(k, R0) : 0)

/* Lines of the fastest axis: from the image times maps of `outer` coils, and to the sum of products with conjugates. */
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_gram_first(struct gpu_nufft_gram gram, BUFFER(const C, image), BUFFER(const C, maps), BUFFER(const C, roots),
                    BUFFER(C, to))
{
    NUMBERS LINE_NUMBERS
    OPEN(const C, image) OPEN(const C, maps) OPEN(const C, roots) OPEN(C, to)
    const uint64_t first = (uint64_t)GROUP * LINES;
    for (uint64_t o = GROUP_Y; o < gram.outer; o += GROUPS_Y) {
        EACH(R0)
        const uint64_t at = (first + LINE_OR_FIRST(l)) * N + t;
        const C *pixels = image + at, *coil = gram.plain ? pixels : maps + o * gram.coil + at;
        EACH_NUMBER(R0) {
            const C x = pixels[PLACE_OR_FIRST(k)];
            line[own][k] = NUMBER_OR_ZERO(t + PLACE(k, R0), gram.plain ? x : gram_times(x, coil[PLACE_OR_FIRST(k)]));
        }
        END
        UNROLL
        for (uint32_t odd = 0; odd < 2; odd++) {
            C *target = to + (2 * o + odd) * gram.far_half;
            BEGIN_HALF(odd)
            FORWARD
            EACH(RL)
            C *to_t = target + (first + l) * LENGTH + t;
            if (IS_LINE(l))
                EACH_NUMBER(RL)
                    to_t[PLACE(k, RL)] = a[own][k];
            END
        }
    }
}

/* A group adds up its lines of all coils, in their order. */
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_gram_last(struct gpu_nufft_gram gram, BUFFER(const C, from), BUFFER(const C, maps), BUFFER(const C, roots),
                   BUFFER(C, result))
{
    NUMBERS LINE_NUMBERS
    OPEN(const C, from) OPEN(const C, maps) OPEN(const C, roots) OPEN(C, result)
    const uint64_t first = (uint64_t)GROUP * LINES;
    for (uint64_t o = 0; o < gram.outer; o++) {
        UNROLL
        for (uint32_t odd = 0; odd < 2; odd++) {
            const C *source = from + (2 * o + odd) * gram.far_half;
            EACH(RL)
            const C *from_t = source + (first + LINE_OR_FIRST(l)) * LENGTH + t;
            EACH_NUMBER(RL)
                a[own][k] = gram_exchanged(from_t[PLACE(k, RL)]);
            END
            BACKWARD
            ADD_HALF(odd, line)
        }
        /* All is read before anything is written, which might be the same memory for all that compilers know. */
        EACH(R0)
        const uint64_t at = (first + LINE_OR_FIRST(l)) * N + t;
        C *pixels = result + at;
        const C *coil = maps + o * gram.coil + at;
        if (!gram.plain)
            EACH_NUMBER(R0)
                line[own][k] = gram_back(coil[PLACE_OR_FIRST(k)], line[own][k]);
        if (gram.adds || o)
            EACH_NUMBER(R0)
                line[own][k] = gram_add(pixels[PLACE_OR_FIRST(k)], line[own][k]);
        EACH_NUMBER(R0)
            if (IS_LINE(l) && IS_NUMBER(t + PLACE(k, R0)))
                pixels[PLACE(k, R0)] = line[own][k];
        END
    }
}

#endif
