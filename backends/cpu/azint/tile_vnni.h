/* tile_vnni.h - sums of tiles with VPDPBUSD: included by tile_avx512.c for 16 lanes and by tile8_avx512.c
 * for 8.
 *
 * The including file defines LANES, vec, V(name), the intrinsic of that name for the width, and SET64(x).
 *
 * VPDPBUSD multiplies four u8 weight digits with four s8 pixel digits and adds them to a 32-bit lane: with 16 frames
 * as lanes that is 64 multiplications an instruction, and one broadcast weight dword serves them all.  A bin's six
 * sums (three digits of the weight, three of its square) stay in registers while its entries pass.
 */
#ifndef HCY_CPU_AZINT_VNNI_H
#define HCY_CPU_AZINT_VNNI_H

#define INLINE static inline __attribute__((always_inline))

enum { BYTES = 32 }; /* of an expanded entry: digits 0..2, nothing, square's digits 0..2, nothing */

/* In a unit plan the weights are 0 and 1, from a table of the 16 masks. */
static const uint8_t unit_weights[16][4] = {
    { 0, 0, 0, 0 }, { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 1, 1, 0, 0 }, { 0, 0, 1, 0 }, { 1, 0, 1, 0 },
    { 0, 1, 1, 0 }, { 1, 1, 1, 0 }, { 0, 0, 0, 1 }, { 1, 0, 0, 1 }, { 0, 1, 0, 1 }, { 1, 1, 0, 1 },
    { 0, 0, 1, 1 }, { 1, 0, 1, 1 }, { 0, 1, 1, 1 }, { 1, 1, 1, 1 },
};

INLINE vec broadcast_dword(const void *p)
{
    int x;
    memcpy(&x, p, sizeof x);
    return V(set1_epi32)(x);
}

INLINE vec zero_lanes(void)
{
    return V(set1_epi32)(0);
}

/* Three digits' 32-bit sums to 64 bits: even lanes, then odd ones (azint_lane()). */
INLINE void flush_vnni(const vec acc[3], const bool unit, int64_t *sum)
{
    const vec second = SET64(1 << 8), third = SET64(1 << 16);
    vec even = V(mul_epi32)(acc[0], SET64(1));
    vec odd = V(srai_epi64)(acc[0], 32);
    /* The second and third digits count 2^8 and 2^16: a multiplication extends them and shifts them at once. */
    if (!unit) {
        even = V(add_epi64)(even, V(mul_epi32)(acc[1], second));
        odd = V(add_epi64)(odd, V(mul_epi32)(V(srli_epi64)(acc[1], 32), second));
        even = V(add_epi64)(even, V(mul_epi32)(acc[2], third));
        odd = V(add_epi64)(odd, V(mul_epi32)(V(srli_epi64)(acc[2], 32), third));
    }
    V(storeu_epi64)(sum, V(add_epi64)(V(loadu_epi64)(sum), even));
    V(storeu_epi64)(sum + LANES / 2, V(add_epi64)(V(loadu_epi64)(sum + LANES / 2), odd));
}

/* The sums of a bin in registers; written out, not as loops, because gcc keeps arrays that it does not unroll
 * in memory. */
struct six {
    vec signal[3], variance[3];
};

INLINE void clear_six(struct six *acc)
{
    acc->signal[0] = acc->signal[1] = acc->signal[2] = zero_lanes();
    acc->variance[0] = acc->variance[1] = acc->variance[2] = zero_lanes();
}

INLINE void dot_vnni(vec acc[3], const uint8_t *w, vec values, const bool unit)
{
    acc[0] = V(dpbusd_epi32)(acc[0], broadcast_dword(w), values);
    if (unit)
        return;
    acc[1] = V(dpbusd_epi32)(acc[1], broadcast_dword(w + 4), values);
    acc[2] = V(dpbusd_epi32)(acc[2], broadcast_dword(w + 8), values);
}

INLINE void add_entry(struct six *acc, const uint8_t *w, const uint8_t *x, const uint8_t *v,
                      const enum azint_variance variance, const bool unit)
{
    const vec values = V(load_epi32)(x);
    dot_vnni(acc->signal, w, values, unit);
    /* A unit plan's weights are their own squares. */
    if (variance == AZINT_V_MAX)
        dot_vnni(acc->variance, w + (unit ? 0 : 16), V(max_epi8)(values, V(set1_epi8)(1)), unit);
    else if (variance == AZINT_V_TILE)
        dot_vnni(acc->variance, w + (unit ? 0 : 16), V(load_epi32)(v), unit);
}

INLINE void flush_six(const struct six *acc, const enum azint_variance variance, const bool unit,
                      size_t stride, int64_t *sum)
{
    flush_vnni(acc->signal, unit, sum);
    if (variance != AZINT_V_NONE)
        flush_vnni(acc->variance, unit, sum + stride);
}

/* The sums of bins to come: those of many bins are in no cache, and no stream that hardware follows. */
INLINE void prefetch_sums(const struct azint_part *part, size_t s, size_t stride, const int64_t *sums)
{
    const size_t last = part->n_segs - 1, bin = part->segs[s < last ? s : last].bin;
    const char *at = (const char *)(sums + bin * 2 * stride);
    for (size_t i = 0; i < 2 * stride * sizeof *sums; i += 64)
        __builtin_prefetch(at + i, 1);
}

/* Two groups of lanes, side by side, share the broadcast weights. */
INLINE void many_groups(const struct azint_part *part, const uint8_t *x, const uint8_t *v, const unsigned G,
                        const enum azint_variance variance, const bool unit, size_t stride, int64_t *sums)
{
    const size_t next = (size_t)LANES * AZINT_STRIP;
    const uint16_t *index = part->index;
    uint32_t e = 0;
    for (size_t s = 0; s < part->n_segs; s++) {
        /* Bins come one after the other, so their sums are registers, and memory is added to once a segment. */
        struct six a, b;
        clear_six(&a);
        clear_six(&b);
        for (const uint32_t end = part->segs[s].end - part->first; e < end; e++) {
            size_t at = (size_t)(unit ? index[e] >> 4 : index[e]) * 4 * LANES;
            const uint8_t *w = unit ? unit_weights[index[e] & 15] : part->weights + (size_t)e * BYTES;
            add_entry(&a, w, x + at, v + at, variance, unit);
            if (G == 2)
                add_entry(&b, w, x + next + at, v + next + at, variance, unit);
        }
        int64_t *sum = sums + (size_t)part->segs[s].bin * 2 * stride;
        prefetch_sums(part, s + 3, stride, sums);
        flush_six(&a, variance, unit, stride, sum);
        if (G == 2)
            flush_six(&b, variance, unit, stride, sum + LANES);
    }
}

#endif
