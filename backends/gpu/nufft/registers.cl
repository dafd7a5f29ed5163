/* registers.cl - Fourier transforms of lines whose numbers items keep in registers, LENGTH numbers each, for kernels
 * that say what is read before and where it goes.
 *
 * A group has LINES lines: neighbours of a slower axis (STRIDED 1), or, of the fastest axis, lines one behind the
 * other.  An item has as many numbers of a line as the pass has a radix, and between passes (Stockham's order) items
 * exchange them in local memory.  Radices are R0 to R5, as many as PASSES, and backwards they come in the other order:
 * so an item begins to go back with the numbers it has, and ends with those of the places where it began.  Backward is
 * forward with real and imaginary parts exchanged.  A line has some numbers more in local memory, so that lanes that
 * write numbers far apart meet different banks.
 *
 * Kernels have `roots`, number ROOT_STEP * k of which is exp(-2 pi i k / LENGTH), and WIDTH: how many lines lie side by
 * side in a row of lines, or, of the fastest axis, how many there are.
 */
#pragma once
#include "dialect.h"
#include "gpu_format.h"

#define V REAL
/* As a whole, so that it moves in one piece. */
struct __attribute__((aligned(2 * sizeof(REAL)))) reg_number {
    REAL re, im;
};
typedef struct reg_number reg_number_t;
#define C reg_number_t
#define NUMBER reg_number_t
#define NAME(x) reg_##x
#include "fft_short.h"

/* Four times four, whose roots between them are constants. */
DEVICE void reg_short_16(C *a)
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
        reg_short_4(rows[i]);
    }
    UNROLL
    for (int k = 0; k < 4; k++) {
        C column[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            column[i] = i * k ? reg_times(rows[i][k], reg_number(c[i * k], s[i * k])) : rows[i][k];
        reg_short_4(column);
        UNROLL
        for (int i = 0; i < 4; i++)
            a[k + 4 * i] = column[i];
    }
}

/* A times B, whose roots between them are numbers of `roots` that are the same for all items. */
#define SHORT_OF(RADIX, A, B)                                                                                       \
    DEVICE void reg_short_##RADIX(C *a, const C *roots)                                                             \
    {                                                                                                               \
        C rows[B][A];                                                                                               \
        UNROLL                                                                                                      \
        for (int i = 0; i < B; i++) {                                                                               \
            UNROLL                                                                                                  \
            for (int k = 0; k < A; k++)                                                                             \
                rows[i][k] = a[B * k + i];                                                                          \
            SHORT_##A(rows[i]);                                                                                     \
        }                                                                                                           \
        UNROLL                                                                                                      \
        for (int k = 0; k < A; k++) {                                                                               \
            C column[B];                                                                                            \
            UNROLL                                                                                                  \
            for (int i = 0; i < B; i++)                                                                             \
                column[i] = i * k ? reg_times(rows[i][k], roots[ROOT_STEP * (LENGTH / RADIX) * i * k]) : rows[i][k];\
            SHORT_##B(column);                                                                                      \
            UNROLL                                                                                                  \
            for (int i = 0; i < B; i++)                                                                             \
                a[k + A * i] = column[i];                                                                           \
        }                                                                                                           \
    }
#define SHORT_2(a) reg_short_2(a)
#define SHORT_3(a) reg_short_3(a)
#define SHORT_4(a) reg_short_4(a)
#define SHORT_5(a) reg_short_5(a)
#define SHORT_7(a) reg_short_7(a)
#define SHORT_8(a) reg_short_8(a)
#define SHORT_16(a) reg_short_16(a)
SHORT_OF(6, 3, 2)
#define SHORT_6(a) reg_short_6(a, roots)
SHORT_OF(9, 3, 3)
#define SHORT_9(a) reg_short_9(a, roots)
SHORT_OF(10, 5, 2)
#define SHORT_10(a) reg_short_10(a, roots)
SHORT_OF(12, 4, 3)
#define SHORT_12(a) reg_short_12(a, roots)
SHORT_OF(14, 7, 2)
#define SHORT_14(a) reg_short_14(a, roots)
SHORT_OF(15, 5, 3)
#define SHORT_15(a) reg_short_15(a, roots)
SHORT_OF(18, 9, 2)
#define SHORT_18(a) reg_short_18(a, roots)
SHORT_OF(20, 5, 4)
#define SHORT_20(a) reg_short_20(a, roots)
SHORT_OF(21, 7, 3)
#define SHORT_21(a) reg_short_21(a, roots)
SHORT_OF(24, 8, 3)
#define SHORT_24(a) reg_short_24(a, roots)
SHORT_OF(25, 5, 5)
#define SHORT_25(a) reg_short_25(a, roots)
SHORT_OF(28, 7, 4)
#define SHORT_28(a) reg_short_28(a, roots)
SHORT_OF(32, 8, 4)
#define SHORT_32(a) reg_short_32(a, roots)

DEVICE C reg_exchanged(C x)
{
    return reg_number(x.im, x.re);
}
/* conj(a) b */
DEVICE C reg_back(C a, C b)
{
    return reg_number(a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re);
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

/* What is written first lies R0 apart (backward RL): with a place more for each of them neighbouring items meet
 * different banks. */
#ifndef PAD_EVERY
#define PAD_EVERY (RL == 16 ? 16 : 8)
#endif

/* Number e of a group's line l.  Lines side by side that fill all banks need no numbers more. */
DEVICE uint32_t room_place(uint32_t e, uint32_t l)
{
    const uint32_t padded = STRIDED * LINES * sizeof(C) >= 128 ? e : e + e / PAD_EVERY;
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
    SHORT_##RADIX(a[own]);                                                                                          \
    EACH_NUMBER(RADIX)                                                                                              \
        room[room_place(q + (done) * (RADIX * j + k), l)] =                                                         \
            k ? reg_times(a[own][k], roots[ROOT_STEP * j * k * (done)]) : a[own][k];                                \
    END                                                                                                             \
    BARRIER();                                                                                                      \
    EACH(NEXT)                                                                                                      \
    EACH_NUMBER(NEXT)                                                                                               \
        a[own][k] = room[room_place(t + PLACE(k, NEXT), l)];                                                        \
    END                                                                                                             \
    BARRIER();
#define PASS(RADIX, done, NEXT) PASS_(RADIX, done, NEXT)
#define LAST_PASS_(RADIX) EACH(RADIX) SHORT_##RADIX(a[own]); END
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

/* Reads go without branches, so that all of an item's are under way at once: beyond the last line the group's first one
 * is read, which does not count. */
#define IS_LINE(l) (first + (l) < WIDTH)
#define LINE_OR_FIRST(l) (IS_LINE(l) ? (l) : 0)

#if STRIDED
/* Lines side by side in a row of lines: this group's row, and the first of its lines there. */
#define GROUPS_OF_ROW (((uint32_t)WIDTH + LINES - 1) / LINES)
#define ROW                                             \
    const uint32_t row = GROUP / GROUPS_OF_ROW;         \
    const uint32_t first = GROUP % GROUPS_OF_ROW * LINES;
#endif
