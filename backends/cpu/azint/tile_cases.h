/* tile_cases.h - the operations `many` and `one`, each case with constants of its own: included by SIMD variants.
 *
 * The including file defines what tile_many.h wants and, always inlined,
 *     one_frame(part, x, v, from_tile, unit, stride, sums)
 */
#include "tile_many.h"

static void one(const struct azint_part *part, const uint8_t *x, const uint8_t *v,
                enum azint_variance variance, size_t stride, int64_t *sums)
{
    const bool unit = !part->weights;
    if (variance == AZINT_V_TILE)
        unit ? one_frame(part, x, v, true, true, stride, sums)
             : one_frame(part, x, v, true, false, stride, sums);
    else
        unit ? one_frame(part, x, v, false, true, stride, sums)
             : one_frame(part, x, v, false, false, stride, sums);
}
