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
#define PASTE_(a, b)  a##_##b
#define PASTE(a, b)   PASTE_(a, b)
#define EVEN          PASTE(EVEN, LANES)
#define ODD           PASTE(ODD, LANES)
#define JOINED_LOW    PASTE(JOINED_LOW, LANES)
#define JOINED_HIGH   PASTE(JOINED_HIGH, LANES)

enum { TILE = 8 };

#define REAL     float
#define NUMBER   struct own_float
#define LANES    FLOATS
#define NAME(x)  x##_f32
#include "own_loops.h"
#undef REAL
#undef NUMBER
#undef LANES
#undef NAME

#define REAL     double
#define NUMBER   struct own_double
#define LANES    DOUBLES
#define NAME(x)  x##_f64
#include "own_loops.h"

const struct own_fft_ops VARIANT = { { run_lines_f32, run_lines_f64 } };
