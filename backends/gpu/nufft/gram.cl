/* gram.cl - images convolved with a spectrum, without the zeros that a Fourier transform of the whole grid would move.
 *
 * A line of n numbers, zeros behind them, is transformed to LENGTH numbers in local memory (Stockham's order, as
 * lines.cl), so a pass over an axis reads n and writes LENGTH numbers, or, backward, reads LENGTH and writes n.  On the
 * first axis forward, product and backward are one kernel.  A group has LINES lines: neighbours of a slower axis
 * (STRIDED 1), or, of the fastest axis, lines one behind the other.  Backward is forward with real and imaginary parts
 * exchanged where numbers come in and go out.
 *
 * Radices are R0 to R5, as many as PASSES.  Local memory has two rooms for all lines, and passes go to and fro between
 * them.  A line has one number more for each eight, so that lanes eight numbers apart meet different banks.  Three
 * groups shall fit a multiprocessor, so that one reads while others transform.
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

#define NEAR_LINE (LENGTH + LENGTH / 8)
#define NEAR_NUMBERS (NEAR_LINE * LINES)
#define ROOMS DYNAMIC_LOCAL(rooms_bytes, 4 * NEAR_NUMBERS * sizeof(REAL)); \
    NEAR C *rooms = (NEAR C *)rooms_bytes;

/* Number e of a group's line l. */
DEVICE uint32_t room_place(uint32_t room, uint32_t e, uint32_t l)
{
    const uint32_t padded = e + (e >> 3);
    return room % 2 * NEAR_NUMBERS + (STRIDED ? padded * LINES + l : l * NEAR_LINE + padded);
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

#define FROM_ROOM(room, e, l) rooms[room_place((room), (e), (l))]
#define TO_ROOM(room, e, l, x) rooms[room_place((room), (e), (l))] = (x)

/* One pass: FROM(room, e, l) is number e of line l, TO(room, e, l, x) takes it; `done`: the earlier radices'
 * product. */
#define PASS_(RADIX, done, FROM, from_room, TO, to_room)                                                     \
    for (uint32_t w = ITEM; w < LINES * (LENGTH / RADIX); w += GROUP_SIZE) {                                 \
        const uint32_t part = LENGTH / RADIX, b = STRIDED ? w / LINES : w % part;                            \
        const uint32_t l = STRIDED ? w % LINES : w / part, j = b / (done), q = b - j * (done);               \
        C a[RADIX];                                                                                          \
        UNROLL                                                                                               \
        for (int k = 0; k < RADIX; k++)                                                                      \
            a[k] = FROM((from_room), b + part * k, l);                                                       \
        gram_short_##RADIX(a);                                                                               \
        UNROLL                                                                                               \
        for (int k = 0; k < RADIX; k++) {                                                                    \
            const C x = k && j ? gram_times(a[k], roots[j * k * (done)]) : a[k];                             \
            TO((to_room), q + (done) * (RADIX * j + k), l, x);                                               \
        }                                                                                                    \
    }                                                                                                        \
    BARRIER();
#define PASS(RADIX, done, FROM, from_room, TO, to_room) PASS_(RADIX, done, FROM, from_room, TO, to_room)

/* All passes: the first one reads by FROM, of room `at` - 1 if that is one; the last one writes by TO, to room
 * `at` + PASSES - 1 if that is one. */
#define INNER(i, RADIX, done, at) PASS(RADIX, done, FROM_ROOM, (at) + (i)-1, TO_ROOM, (at) + (i))
#define LAST(i, RADIX, done, TO, at) PASS(RADIX, done, FROM_ROOM, (at) + (i)-1, TO, (at) + (i))
#if PASSES == 1
#define ALL_PASSES(FROM, TO, at) PASS(R0, 1, FROM, (at) + 1, TO, (at))
#else
#define FIRST(FROM, at) PASS(R0, 1, FROM, (at) + 1, TO_ROOM, (at))
#if PASSES == 2
#define ALL_PASSES(FROM, TO, at) FIRST(FROM, at) LAST(1, R1, R0, TO, at)
#elif PASSES == 3
#define ALL_PASSES(FROM, TO, at) FIRST(FROM, at) INNER(1, R1, R0, at) LAST(2, R2, R0 *R1, TO, at)
#elif PASSES == 4
#define ALL_PASSES(FROM, TO, at) \
    FIRST(FROM, at) INNER(1, R1, R0, at) INNER(2, R2, R0 *R1, at) LAST(3, R3, R0 *R1 *R2, TO, at)
#elif PASSES == 5
#define ALL_PASSES(FROM, TO, at)                                                                             \
    FIRST(FROM, at) INNER(1, R1, R0, at) INNER(2, R2, R0 *R1, at) INNER(3, R3, R0 *R1 *R2, at)               \
    LAST(4, R4, R0 *R1 *R2 *R3, TO, at)
#else
#define ALL_PASSES(FROM, TO, at)                                                                             \
    FIRST(FROM, at) INNER(1, R1, R0, at) INNER(2, R2, R0 *R1, at) INNER(3, R3, R0 *R1 *R2, at)               \
    INNER(4, R4, R0 *R1 *R2 *R3, at) LAST(5, R5, R0 *R1 *R2 *R3 *R4, TO, at)
#endif
#endif

#if STRIDED

/* Lines of a block side by side, `inner` of them: from [outer][n][inner] to [outer][LENGTH][inner], and back. */
#define IS_LINE(l) (first + (l) < gram.inner)
#define READ(room, e, l) \
    ((e) < gram.n && IS_LINE(l) ? source[(uint64_t)(e)*gram.inner + first + (l)] : gram_number(0, 0))
#define WRITE(room, e, l, x) \
    if (IS_LINE(l))          \
    target[(uint64_t)(e)*gram.inner + first + (l)] = (x)
#define READ_BACK(room, e, l) \
    (IS_LINE(l) ? gram_exchanged(source[(uint64_t)(e)*gram.inner + first + (l)]) : gram_number(0, 0))
#define WRITE_BACK(room, e, l, x)     \
    if ((e) < gram.n && IS_LINE(l))   \
    target[(uint64_t)(e)*gram.inner + first + (l)] = gram_exchanged(x)
/* The product, as what goes back begins with. */
#define MULTIPLY(room, e, l, x)                                                                              \
    rooms[room_place((room), (e), (l))] = gram_exchanged(                                                    \
        gram_scaled((x), IS_LINE(l) ? spectrum[(uint64_t)(e)*gram.inner + first + (l)] : (REAL)0))

KERNEL GROUPS_OF(GROUP_SIZE, 3)
void gpu_gram_out(struct gpu_nufft_gram gram, BUFFER(const C, from), BUFFER(const C, roots), BUFFER(C, to))
{
    ROOMS
    OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)
    const uint64_t first = (uint64_t)GROUP * LINES;
    for (uint64_t o = GROUP_Y; o < gram.outer; o += GROUPS_Y) {
        const C *source = from + o * gram.n * gram.inner;
        C *target = to + o * LENGTH * gram.inner;
        ALL_PASSES(READ, WRITE, 0)
    }
}

KERNEL GROUPS_OF(GROUP_SIZE, 3)
void gpu_gram_in(struct gpu_nufft_gram gram, BUFFER(const C, from), BUFFER(const C, roots), BUFFER(C, to))
{
    ROOMS
    OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)
    const uint64_t first = (uint64_t)GROUP * LINES;
    for (uint64_t o = GROUP_Y; o < gram.outer; o += GROUPS_Y) {
        const C *source = from + o * LENGTH * gram.inner;
        C *target = to + o * gram.n * gram.inner;
        ALL_PASSES(READ_BACK, WRITE_BACK, 0)
    }
}

/* There and back, in place: a line is read before it is written, by the same group. */
KERNEL GROUPS_OF(GROUP_SIZE, 3)
void gpu_gram_through(struct gpu_nufft_gram gram, BUFFER(C, data), BUFFER(const C, roots), BUFFER(const REAL, spectrum))
{
    ROOMS
    OPEN(C, data) OPEN(const C, roots) OPEN(const REAL, spectrum)
    const uint64_t first = (uint64_t)GROUP * LINES;
    for (uint64_t o = GROUP_Y; o < gram.outer; o += GROUPS_Y) {
        const C *source = data + o * gram.n * gram.inner;
        C *target = data + o * gram.n * gram.inner;
        ALL_PASSES(READ, MULTIPLY, 0)
        ALL_PASSES(FROM_ROOM, WRITE_BACK, PASSES)
    }
}

#else

/* Lines of the fastest axis: from the image times maps of `outer` coils, and to the sum of products with conjugates. */
#define IS_LINE(l) (first + (l) < gram.inner)
#define AT(e, l) ((first + (l)) * gram.n + (e))
#define READ(room, e, l)                                                                                     \
    (!((e) < gram.n && IS_LINE(l)) ? gram_number(0, 0)                                                       \
     : gram.plain                  ? image[AT(e, l)]                                                         \
                                   : gram_times(image[AT(e, l)], coil[AT(e, l)]))
#define WRITE(room, e, l, x) \
    if (IS_LINE(l))          \
    target[(first + (l)) * LENGTH + (e)] = (x)
#define READ_BACK(room, e, l) \
    (IS_LINE(l) ? gram_exchanged(source[(first + (l)) * LENGTH + (e)]) : gram_number(0, 0))
#define WRITE_BACK(room, e, l, x)                                                                            \
    if ((e) < gram.n && IS_LINE(l)) {                                                                        \
        const C y = gram.plain ? gram_exchanged(x) : gram_back(coil[AT(e, l)], gram_exchanged(x));           \
        result[AT(e, l)] = gram.adds || o ? gram_add(result[AT(e, l)], y) : y;                               \
    }

KERNEL GROUPS_OF(GROUP_SIZE, 3)
void gpu_gram_first(struct gpu_nufft_gram gram, BUFFER(const C, image), BUFFER(const C, maps), BUFFER(const C, roots),
                    BUFFER(C, to))
{
    ROOMS
    OPEN(const C, image) OPEN(const C, maps) OPEN(const C, roots) OPEN(C, to)
    const uint64_t first = (uint64_t)GROUP * LINES;
    for (uint64_t o = GROUP_Y; o < gram.outer; o += GROUPS_Y) {
        const C *coil = maps + o * gram.coil;
        C *target = to + o * gram.inner * LENGTH;
        ALL_PASSES(READ, WRITE, 0)
    }
}

/* A group adds up its lines of all coils, in their order. */
KERNEL GROUPS_OF(GROUP_SIZE, 3)
void gpu_gram_last(struct gpu_nufft_gram gram, BUFFER(const C, from), BUFFER(const C, maps), BUFFER(const C, roots),
                   BUFFER(C, result))
{
    ROOMS
    OPEN(const C, from) OPEN(const C, maps) OPEN(const C, roots) OPEN(C, result)
    const uint64_t first = (uint64_t)GROUP * LINES;
    for (uint64_t o = 0; o < gram.outer; o++) {
        const C *coil = maps + o * gram.coil, *source = from + o * gram.inner * LENGTH;
        ALL_PASSES(READ_BACK, WRITE_BACK, 0)
    }
}

#endif
