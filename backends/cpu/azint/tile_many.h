/* tile_many.h - the operation `many`, each case with constants of its own: included by SIMD variants.
 *
 * The including file defines LANES, INLINE and, always inlined,
 *     many_groups(part, x, v, G, variance, unit, stride, sums)    G = 1 or 2 groups of lanes, side by side
 */

INLINE void many_variance(const struct azint_part *part, const uint8_t *x, const uint8_t *v, const unsigned G,
                          enum azint_variance variance, size_t stride, int64_t *sums)
{
    const bool unit = !part->weights;
    if (variance == AZINT_V_MAX)
        unit ? many_groups(part, x, v, G, AZINT_V_MAX, true, stride, sums)
             : many_groups(part, x, v, G, AZINT_V_MAX, false, stride, sums);
    else if (variance == AZINT_V_TILE)
        unit ? many_groups(part, x, v, G, AZINT_V_TILE, true, stride, sums)
             : many_groups(part, x, v, G, AZINT_V_TILE, false, stride, sums);
    else
        unit ? many_groups(part, x, v, G, AZINT_V_NONE, true, stride, sums)
             : many_groups(part, x, v, G, AZINT_V_NONE, false, stride, sums);
}

static void many(const struct azint_part *part, const uint8_t *x, const uint8_t *v,
                 enum azint_variance variance, unsigned groups, int64_t *sums)
{
    const size_t stride = (size_t)groups * LANES, tile_bytes = (size_t)LANES * AZINT_STRIP;
    unsigned g = 0;
    for (; g + 2 <= groups; g += 2)
        many_variance(part, x + g * tile_bytes, v + g * tile_bytes, 2, variance, stride, sums + g * LANES);
    if (g < groups)
        many_variance(part, x + g * tile_bytes, v + g * tile_bytes, 1, variance, stride, sums + g * LANES);
}
