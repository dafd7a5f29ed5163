/* tile_portable.c - the tile kernels in plain C, for any processor, and the measure of the others.
 *
 * Weights are expanded to two 12-bit digits, in 16 bits, which compilers turn into what multiply-add the
 * target has.
 */
#include "region_planes.h"

enum { LANES = 16 };

/* An expanded entry: the low and high 12 bits of the four weights, and of their squares. */
struct expanded {
    int16_t digit[2][2][4]; /* [weight, square][low, high][pixel] */
};

static void tile_lanes(const uint8_t *const *rows, size_t first, size_t last, uint8_t *out)
{
    for (size_t at = first; at < last; at += 4)
        for (size_t l = 0; l < LANES; l++)
            memcpy(out + at * LANES + 4 * l, rows[l] + at, 4);
}

static void variance_portable(const uint8_t *const *rows, unsigned digits, unsigned digit, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t all = 0;
        for (unsigned d = 0; d < digits; d++)
            all |= rows[d][i];
        /* max(1, value): for what is 0 or negative it is 1, which is in the first digit. */
        out[i] = all & 0x80 ? digit == 0 : (uint8_t)(rows[digit][i] | (digit == 0 && all == 0));
    }
}

static void expand_portable(const uint8_t *weights, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++, weights += 12) {
        struct expanded w;
        for (unsigned p = 0; p < 4; p++) {
            uint32_t c =
                (uint32_t)weights[p] | (uint32_t)weights[4 + p] << 8 | (uint32_t)weights[8 + p] << 16;
            uint32_t square = azint_square(c);
            w.digit[0][0][p] = (int16_t)(c & 0xfff);
            w.digit[0][1][p] = (int16_t)(c >> 12);
            w.digit[1][0][p] = (int16_t)(square & 0xfff);
            w.digit[1][1][p] = (int16_t)(square >> 12);
        }
        memcpy(out + i * sizeof w, &w, sizeof w);
    }
}

/* Weights of a unit plan's entry, as their low digits. */
static void unit_entry(uint16_t entry, struct expanded *w)
{
    memset(w, 0, sizeof *w);
    /* A weight of 1 is its own square. */
    for (unsigned p = 0; p < 4; p++)
        w->digit[0][0][p] = w->digit[1][0][p] = (int16_t)(entry >> p & 1);
}

/* acc[k][l] += digit k of the weights * the four bytes of lane l. */
static inline void dot_portable(int32_t acc[2][LANES], int16_t digit[2][4], const int8_t *x, unsigned lanes, int least)
{
    for (unsigned l = 0; l < lanes; l++) {
        int a = x[4 * l] < least ? least : x[4 * l], b = x[4 * l + 1] < least ? least : x[4 * l + 1];
        int c = x[4 * l + 2] < least ? least : x[4 * l + 2], d = x[4 * l + 3] < least ? least : x[4 * l + 3];
        for (unsigned k = 0; k < 2; k++)
            acc[k][l] += digit[k][0] * a + digit[k][1] * b + digit[k][2] * c + digit[k][3] * d;
    }
}

static inline void add_part_portable(const struct azint_part *part, const uint8_t *x, const uint8_t *v,
                                     enum azint_variance from, unsigned lanes, size_t stride, int64_t *sums)
{
    uint32_t e = part->first;
    for (size_t s = 0; s < part->n_segs; s++) {
        int32_t acc[2][2][LANES] = { 0 };
        for (; e < part->segs[s].end; e++) {
            struct expanded w;
            size_t i = e - part->first, group = part->index[i];
            if (part->weights) {
                memcpy(&w, part->weights + i * sizeof w, sizeof w);
            } else {
                unit_entry(part->index[i], &w);
                group >>= 4;
            }
            dot_portable(acc[0], w.digit[0], (const int8_t *)x + 4 * lanes * group, lanes, -128);
            if (from == AZINT_V_MAX)
                dot_portable(acc[1], w.digit[1], (const int8_t *)x + 4 * lanes * group, lanes, 1);
            else if (from == AZINT_V_TILE)
                dot_portable(acc[1], w.digit[1], (const int8_t *)v + 4 * lanes * group, lanes, -128);
        }
        /* A segment is short enough for 32 bits; the two digits of the weights meet in 64. */
        int64_t *sum = sums + (size_t)part->segs[s].bin * 2 * stride;
        for (unsigned l = 0; l < lanes; l++)
            for (unsigned k = 0; k < 2; k++)
                sum[k * stride + azint_lane(l, lanes)] += acc[k][0][l] + ((int64_t)acc[k][1][l] * (1 << 12));
    }
}

static void many_portable(const struct azint_part *part, const uint8_t *x, const uint8_t *v, enum azint_variance from,
                          unsigned groups, int64_t *sums)
{
    for (unsigned g = 0; g < groups; g++) {
        size_t tile_at = (size_t)g * LANES * AZINT_STRIP;
        add_part_portable(part, x + tile_at, v + tile_at, from, LANES, (size_t)groups * LANES, sums + g * LANES);
    }
}

static void one_portable(const struct azint_part *part, const uint8_t *x, const uint8_t *v, enum azint_variance from,
                         size_t stride, int64_t *sums)
{
    add_part_portable(part, x, v, from, 1, stride, sums);
}

static int64_t pixel_value(const uint8_t *pixels, size_t i, unsigned elem_size, bool is_signed)
{
    int64_t value = 0;
    memcpy(&value, pixels + i * elem_size, elem_size);
    unsigned shift = 64 - 8 * elem_size;
    return is_signed ? (int64_t)((uint64_t)value << shift) >> shift : value;
}

static int narrow_portable(const void *pixels, size_t n, unsigned elem_size, bool is_signed, const uint8_t *live,
                           uint8_t *out)
{
    int beyond = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t value = pixel_value(pixels, i, elem_size, is_signed);
        bool fits = is_signed ? value >= -128 && value <= 127 : (uint64_t)value <= 127;
        beyond |= !fits && live[i / 8] >> i % 8 & 1;
        out[i] = (uint8_t)value;
    }
    return beyond;
}

static void to_planes_portable(const void *pixels, size_t n, unsigned elem_size, uint8_t *planes, size_t stride)
{
    const uint8_t *bytes = pixels;
    for (size_t i = 0; i < n; i += 8)
        for (unsigned b = 0; b < elem_size; b++) {
            uint64_t word = 0;
            for (unsigned k = 0; k < 8; k++)
                word |= (uint64_t)bytes[(i + k) * elem_size + b] << 8 * k;
            /* Byte k of eight pixels is a matrix of bits, whose transpose has a plane in each byte. */
            word = hcy_transpose8(word);
            for (unsigned k = 0; k < 8; k++)
                planes[(8 * b + k) * stride + i / 8] = (uint8_t)(word >> 8 * k);
        }
}

const struct azint_ops azint_ops_portable = {
    .tiles = { LANES, tile_lanes, many_portable },
    .pass = LANES,
    .few_frames = 3,
    .variance = variance_portable,
    .expand = expand_portable,
    .one = one_portable,
    .beyond = azint_beyond,
    .lost = azint_lost,
    .ones = azint_ones,
    .tally = azint_tally_block,
    .drop = azint_drop,
    .narrow = narrow_portable,
    .to_planes = to_planes_portable,
};
