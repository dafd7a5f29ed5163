/* tile8_avx512.c - tiles of eight lanes for AVX-512: batches of few frames leave no lane of them empty, and where
 * bins are many, their sums are half as much memory. */
#include "planes.h"

#include <immintrin.h>

enum { LANES = 8 };
typedef __m256i vec;
#define V(name)  _mm256_##name
#define SET64(x) _mm256_set1_epi64x(x)
#include "tile_vnni.h"

#include "tile8.h"
#include "tile_many.h"

const struct azint_tiles azint_tiles_few_avx512 = { LANES, tile8, many };
