/* own_variant.h - one SIMD variant: the loops for float and for double, with vectors of VECTOR_BYTES. */
#include "own_fft.h"

#include <string.h>

/* Lists of lanes: of complex numbers one behind the other the real parts, the imaginary ones, and back. */
#define EVEN_2 0, 2
#define ODD_2 1, 3
#define JOINED_LOW_2 0, 2
#define JOINED_HIGH_2 1, 3
#define EVEN_4 0, 2, 4, 6
#define ODD_4 1, 3, 5, 7
#define JOINED_LOW_4 0, 4, 1, 5
#define JOINED_HIGH_4 2, 6, 3, 7
#define EVEN_8 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_8 1, 3, 5, 7, 9, 11, 13, 15
#define JOINED_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define JOINED_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_16 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_16 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define JOINED_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define JOINED_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
/* Of two vectors' blocks of 1, 2, 4, 8 numbers: those at even places, of both in turn, and those at odd places; where a
 * vector has no two such blocks, nobody takes them. */
#define FIRSTS_1_2 0, 2
#define SECONDS_1_2 1, 3
#define FIRSTS_2_2 0, 1
#define SECONDS_2_2 0, 1
#define FIRSTS_4_2 0, 1
#define SECONDS_4_2 0, 1
#define FIRSTS_8_2 0, 1
#define SECONDS_8_2 0, 1
#define FIRSTS_1_4 0, 4, 2, 6
#define SECONDS_1_4 1, 5, 3, 7
#define FIRSTS_2_4 0, 1, 4, 5
#define SECONDS_2_4 2, 3, 6, 7
#define FIRSTS_4_4 0, 1, 2, 3
#define SECONDS_4_4 0, 1, 2, 3
#define FIRSTS_8_4 0, 1, 2, 3
#define SECONDS_8_4 0, 1, 2, 3
#define FIRSTS_1_8 0, 8, 2, 10, 4, 12, 6, 14
#define SECONDS_1_8 1, 9, 3, 11, 5, 13, 7, 15
#define FIRSTS_2_8 0, 1, 8, 9, 4, 5, 12, 13
#define SECONDS_2_8 2, 3, 10, 11, 6, 7, 14, 15
#define FIRSTS_4_8 0, 1, 2, 3, 8, 9, 10, 11
#define SECONDS_4_8 4, 5, 6, 7, 12, 13, 14, 15
#define FIRSTS_8_8 0, 1, 2, 3, 4, 5, 6, 7
#define SECONDS_8_8 0, 1, 2, 3, 4, 5, 6, 7
#define FIRSTS_1_16 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define SECONDS_1_16 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define FIRSTS_2_16 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define SECONDS_2_16 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define FIRSTS_4_16 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define SECONDS_4_16 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define FIRSTS_8_16 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define SECONDS_8_16 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
/* Joined in two steps: pairs within the vectors' halves, then these halves. */
#define PAIRS_LOW_4 0, 4, 2, 6
#define PAIRS_HIGH_4 1, 5, 3, 7
#define HALVES_LOW_4 0, 1, 4, 5
#define HALVES_HIGH_4 2, 3, 6, 7
#define PAIRS_LOW_8 0, 8, 1, 9, 4, 12, 5, 13
#define PAIRS_HIGH_8 2, 10, 3, 11, 6, 14, 7, 15
#define HALVES_LOW_8 0, 1, 2, 3, 8, 9, 10, 11
#define HALVES_HIGH_8 4, 5, 6, 7, 12, 13, 14, 15
#define REVERSED_2 1, 0
#define REVERSED_4 3, 2, 1, 0
#define REVERSED_8 7, 6, 5, 4, 3, 2, 1, 0
#define PASTE_(a, b)  a##_##b
#define PASTE(a, b)   PASTE_(a, b)
#define EVEN          PASTE(EVEN, LANES)
#define ODD           PASTE(ODD, LANES)
#define JOINED_LOW    PASTE(JOINED_LOW, LANES)
#define JOINED_HIGH   PASTE(JOINED_HIGH, LANES)
#define REVERSED      PASTE(REVERSED, LANES)
#if VECTOR_BYTES == 32
#define PAIRS_LOW     PASTE(PAIRS_LOW, LANES)
#define PAIRS_HIGH    PASTE(PAIRS_HIGH, LANES)
#define HALVES_LOW    PASTE(HALVES_LOW, LANES)
#define HALVES_HIGH   PASTE(HALVES_HIGH, LANES)
#endif
#define FIRSTS(each)  PASTE(FIRSTS_##each, LANES)
#define SECONDS(each) PASTE(SECONDS_##each, LANES)

/* Vectors along a row are no longer than what a first pass of 8 leaves side by side (OWN_FFT_ROW_LANES). */
#if FLOATS < 8
#define ROW_FLOATS FLOATS
#else
#define ROW_FLOATS 8
#endif

#if defined(__clang__)
#define TURN_UNROLLED FFT_UNROLLED
#else
#define TURN_UNROLLED _Pragma("GCC unroll 16")
#endif

/* What of a pass is taken: of `left` transforms, from the `first` of the pass's on, `done` numbers of each part. */
struct own_fft_part {
    size_t left, done, first, apart, to_apart;
    const void *twiddles;
};

/* Shorter lines stay in the nearest cache as they are. */
static inline bool goes_by_tiles(const struct own_fft *f)
{
    return !f->inner && f->n_passes > 1 && f->n > 128;
}

#define REAL     float
#define NUMBER   struct own_float
#define LANES    FLOATS
#define NAME(x)  x##_f32
#include "own_loops.h"
#undef NUMBER
#undef LANES
#undef NAME
#define LANES    ROW_FLOATS
#define NAME(x)  x##_row_f32
#define NUMBER   NAME(cplx)
#include "own_row.h"
#undef REAL
#undef NUMBER
#undef LANES
#undef NAME

#define REAL     double
#define NUMBER   struct own_double
#define LANES    DOUBLES
#define NAME(x)  x##_f64
#include "own_loops.h"
#undef NUMBER
#undef LANES
#undef NAME
#define LANES    DOUBLES
#define NAME(x)  x##_row_f64
#define NUMBER   NAME(cplx)
#include "own_row.h"

const struct own_fft_ops VARIANT = { { FLOATS, DOUBLES },
                                     { run_lines_f32, run_lines_f64 },
                                     { run_halves_f32, run_halves_f64 },
                                     { run_rows_row_f32, run_rows_row_f64 },
                                     { run_lead_f32, run_lead_f64 } };
