/* hls_numbers.h - numbers of the widths that hardware has for them: sums of 96 bits, products of 24 and 33.
 *
 * v++ takes them from ap_int.h.  So does the C simulation where configure was given Xilinx's open headers
 * (--with-ap-types=DIR); else they are made of 32 and 64 bits here, with the same values.
 */
#ifndef HCY_HLS_NUMBERS_H
#define HCY_HLS_NUMBERS_H

#include <stdint.h>

#if defined(__SYNTHESIS__) || defined(HCY_AP_TYPES)
#include <ap_int.h>

typedef ap_int<96> hls_sum;

static inline hls_sum hls_sum_of(int64_t x)
{
    return x;
}

static inline hls_sum hls_sum_add(const hls_sum &a, const hls_sum &b)
{
    return a + b;
}

/* Bits 0 to 63, or those from 64 on with the sign. */
static inline uint64_t hls_sum_limb(const hls_sum &s, bool high)
{
    ap_int<64> low = s, rest = s >> 64;
    return (uint64_t)(high ? rest.to_int64() : low.to_int64());
}

/* c has 24 bits, x 33 with its sign. */
static inline int64_t hls_product(uint32_t c, int64_t x)
{
    ap_uint<24> narrow = c;
    ap_int<33> value = x;
    ap_int<57> product = narrow * value;
    return product.to_int64();
}
#else
/* Two's complement. */
struct hls_sum {
    uint64_t low;
    uint32_t high;
};

static inline hls_sum hls_sum_of(int64_t x)
{
    hls_sum s = { (uint64_t)x, (uint32_t)(x >> 63) };
    return s;
}

static inline hls_sum hls_sum_add(const hls_sum &a, const hls_sum &b)
{
    hls_sum s = { a.low + b.low, 0 };
    s.high = a.high + b.high + (s.low < a.low);
    return s;
}

static inline uint64_t hls_sum_limb(const hls_sum &s, bool high)
{
    return high ? (uint64_t)(int64_t)(int32_t)s.high : s.low;
}

static inline int64_t hls_product(uint32_t c, int64_t x)
{
    return (int64_t)c * x;
}
#endif

#endif
