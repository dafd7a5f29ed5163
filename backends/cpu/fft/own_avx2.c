/* own_avx2.c - the CPU's own Fourier transforms, with AVX2. */
#define VECTOR_BYTES 32
#define FLOATS       8
#define DOUBLES      4
#define VARIANT      own_fft_avx2
#include "own_variant.h"
