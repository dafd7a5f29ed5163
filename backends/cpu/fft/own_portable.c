/* own_portable.c - the CPU's own Fourier transforms, for processors of any kind. */
#define VECTOR_BYTES 16
#define FLOATS       4
#define DOUBLES      2
#define VARIANT      own_fft_portable
#include "own_variant.h"
