/* bslz4_bits.h - the bit order of bslz4_format.h as code, for the encoder and for devices that run C. */
#ifndef HCY_BSLZ4_BITS_H
#define HCY_BSLZ4_BITS_H

#include <stdint.h>

/* Defines a function on uint64_t, or on a vector of them: bit b of byte i of the result is bit i of byte b of x. */
#define HCY_DEFINE_TRANSPOSE8(name, type)                                                                    \
    static inline type name(type x)                                                                          \
    {                                                                                                        \
        type t = (x ^ (x >> 7)) & (uint64_t)0x00AA00AA00AA00AA;                                              \
        x ^= t ^ (t << 7);                                                                                   \
        t = (x ^ (x >> 14)) & (uint64_t)0x0000CCCC0000CCCC;                                                  \
        x ^= t ^ (t << 14);                                                                                  \
        t = (x ^ (x >> 28)) & (uint64_t)0x00000000F0F0F0F0;                                                  \
        return x ^ t ^ (t << 28);                                                                            \
    }

HCY_DEFINE_TRANSPOSE8(hcy_transpose8, uint64_t)

#endif
