/* gram.cl - images convolved with a spectrum, without the zeros that a Fourier transform of the whole grid would move.
 *
 * A line of n numbers with zeros behind them, 2 LENGTH in all, has two halves of frequencies: the even ones are a
 * transform of LENGTH numbers, the odd ones another, of numbers that were multiplied by exp(-2 pi i e / (2 LENGTH)).
 * So nothing is ever twice as long as the image, and along the first axis forward, product and backward are one kernel
 * that keeps its numbers in registers for both halves.
 *
 * Lines are transformed in registers (registers.cl).
 */
#pragma once
#define ROOT_STEP 2 /* roots are those of the whole grid */
#define WIDTH gram.width
#include "nufft/registers.cl"

#define LINE_NUMBERS C line[OWNED][R0];

/* Beyond the image's N numbers the item's first one is read, which does not count. */
#define IS_NUMBER(e) (N == LENGTH || (e) < N)
#define NUMBER_OR_ZERO(e, x) (IS_NUMBER(e) ? (x) : reg_number(0, 0))

/* A half of the frequencies begins with the line's numbers, times roots for the odd ones. */
#define BEGIN_HALF(odd)                                                                                             \
    EACH(R0)                                                                                                        \
    EACH_NUMBER(R0)                                                                                                 \
        a[own][k] = (odd) ? reg_times(line[own][k], roots[t + PLACE(k, R0)]) : line[own][k];                        \
    END
/* What came back is added up over both halves. */
#define ADD_HALF(odd, sum)                                                                                          \
    EACH(R0)                                                                                                        \
    EACH_NUMBER(R0) {                                                                                               \
        const C x = reg_exchanged(a[own][k]);                                                                       \
        sum[own][k] = (odd) ? reg_add(sum[own][k], reg_back(roots[t + PLACE(k, R0)], x)) : x;                       \
    }                                                                                                               \
    END

#if STRIDED

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
            a[own][k] = reg_exchanged(from_t[PLACE(k, RL) * gram.far_step]);
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
            a[own][k] = reg_exchanged(reg_scaled(a[own][k], factors_t[PLACE(k, RL) * gram.far_step]));
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
            line[own][k] = NUMBER_OR_ZERO(t + PLACE(k, R0), gram.plain ? x : reg_times(x, coil[PLACE_OR_FIRST(k)]));
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
                a[own][k] = reg_exchanged(from_t[PLACE(k, RL)]);
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
                line[own][k] = reg_back(coil[PLACE_OR_FIRST(k)], line[own][k]);
        if (gram.adds || o)
            EACH_NUMBER(R0)
                line[own][k] = reg_add(pixels[PLACE_OR_FIRST(k)], line[own][k]);
        EACH_NUMBER(R0)
            if (IS_LINE(l) && IS_NUMBER(t + PLACE(k, R0)))
                pixels[PLACE(k, R0)] = line[own][k];
        END
    }
}

#endif
