/* own_avx512.c - the CPU's own Fourier transforms, with AVX-512. */
#define VECTOR_BYTES 64
#define FLOATS       16
#define DOUBLES      8
#define VARIANT      own_fft_avx512
#include "own_variant.h"
