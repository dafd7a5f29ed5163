/* stencil_loops.h - sums of neighbours of consecutive elements, for the variant that includes this: the table LOOPS.
 *
 * A loop for each number of neighbours, so that each is read where it lies and the sum stays in a register.  The result
 * of more is taken up again, which changes no bit: it is rounded after each addition anyway.
 */
#include "cpu_stencil.h"

/* Elements whose sums stay in the nearest cache between two loops. */
enum { STRETCH = 1024 };

#define TAP(k) + c[k] * from[k][i]
#define TAPS_1 TAP(0)
#define TAPS_2 TAPS_1 TAP(1)
#define TAPS_3 TAPS_2 TAP(2)
#define TAPS_4 TAPS_3 TAP(3)
#define TAPS_5 TAPS_4 TAP(4)
#define TAPS_6 TAPS_5 TAP(5)
#define TAPS_7 TAPS_6 TAP(6)
#define TAPS_8 TAPS_7 TAP(7)
#define TAPS_9 TAPS_8 TAP(8)
#define LOOP(count, start)                                                                         \
    case count:                                                                                    \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = (start)TAPS_##count;                                                           \
        break;
#define LOOPS_FROM(start)                                                                          \
    LOOP(1, start) LOOP(2, start) LOOP(3, start) LOOP(4, start) LOOP(5, start) LOOP(6, start)      \
    LOOP(7, start) LOOP(8, start) LOOP(9, start)
enum { AT_ONCE = 9 };

#define DEFINE_SUM(t)                                                                              \
    static void begin_##t(t *restrict to, const t *const *from, const t *c, uint32_t count, size_t n)\
    {                                                                                              \
        switch (count) {                                                                           \
            LOOPS_FROM(0)                                                                          \
        default:                                                                                   \
            for (size_t i = 0; i < n; i++)                                                         \
                to[i] = 0;                                                                         \
        }                                                                                          \
    }                                                                                              \
    static void go_on_##t(t *restrict to, const t *const *from, const t *c, uint32_t count, size_t n)\
    {                                                                                              \
        switch (count) {                                                                           \
            LOOPS_FROM(to[i])                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void sum_##t(void *to_, const void *const *from_, const struct cpu_stencil_taps *taps,  \
                        const t *c, size_t n)                                                      \
    {                                                                                              \
        const t *from[CPU_STENCIL_MOST_TAPS];                                                      \
        for (size_t at = 0, some; at < n; at += some) {                                            \
            uint32_t count = taps->n < AT_ONCE ? taps->n : AT_ONCE;                                \
            t *to = (t *)to_ + at;                                                                 \
            for (uint32_t k = 0; k < taps->n; k++)                                                 \
                from[k] = (const t *)from_[k] + at;                                                \
            some = n - at < STRETCH ? n - at : STRETCH;                                            \
            begin_##t(to, from, c, count, some);                                                   \
            for (uint32_t k = count; k < taps->n; k += count) {                                    \
                count = taps->n - k < AT_ONCE ? taps->n - k : AT_ONCE;                             \
                go_on_##t(to, from + k, c + k, count, some);                                       \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_SUM(float)
DEFINE_SUM(double)

static void sum_floats(void *to, const void *const *from, const struct cpu_stencil_taps *taps, size_t n)
{
    sum_float(to, from, taps, taps->c.f32, n);
}

static void sum_doubles(void *to, const void *const *from, const struct cpu_stencil_taps *taps, size_t n)
{
    sum_double(to, from, taps, taps->c.f64, n);
}

const struct cpu_stencil_loops LOOPS = { sum_floats, sum_doubles };
