/* decode.cl - the kernel bslz4_decode: pixels to images. */
#pragma once
#include "bslz4/blocks.cl"

struct rest_target {
    u8 *images;
    u64 image_bytes;
};

#if GROUP_SIZE == 1
/* Planes to elements: digit by digit to bytes of their own, these then side by side.  At most LINE elements at once. */
#define LINE 512
DEVICE void join_digits(const u8 *digits, u8 *to, u32 n, u32 es)
{
    /* Whole elements are written where their address allows, because that lets compilers use vectors. */
    if (es == 4 && (u64)to % 4 == 0)
        for (u32 i = 0; i < n; i++)
            ((u32 *)to)[i] = digits[i] | (u32)digits[LINE + i] << 8 | (u32)digits[2 * LINE + i] << 16 |
                             (u32)digits[3 * LINE + i] << 24;
    else if (es == 2 && (u64)to % 2 == 0)
        for (u32 i = 0; i < n; i++)
            ((u16 *)to)[i] = (u16)(digits[i] | (u32)digits[LINE + i] << 8);
    else
        for (u32 i = 0; i < n; i++)
            for (u32 b = 0; b < es; b++)
                to[i * es + b] = digits[b * LINE + i];
}

/* eight_bytes() of eight places side by side. */
DEVICE void sixty_four_bytes(const u8 *planes, u32 plane, u64 *to)
{
    ulong8 x = convert_ulong8(vload8(0, planes)), t;
    UNROLL
    for (u32 b = 1; b < 8; b++)
        x |= convert_ulong8(vload8(0, planes + b * plane)) << (ulong8)(8 * b);
    /* The same steps as in transpose8(), on eight words at once. */
    t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAul;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCul;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ul;
    vstore8(x ^ t ^ (t << 28), 0, to);
}

DEVICE void write_planes(const struct decoded *d, u8 *to)
{
    u64 digits[8 * LINE / 8];
    /* The pieces are so short that their digits stay in the nearest cache. */
    for (u32 first = 0; first < d->n; first += LINE) {
        u32 n = d->n - first < LINE ? d->n - first : LINE;
        const u8 *planes = d->bytes + first / 8;
        for (u32 digit = 0; digit < d->elem_size; digit++) {
            u64 *own = digits + digit * (LINE / 8);
            u32 i = 0;
            for (; i + 8 <= n / 8; i += 8)
                sixty_four_bytes(planes + 8 * digit * d->plane + i, d->plane, own + i);
            for (; i < n / 8; i++)
                own[i] = eight_bytes(planes, d->plane, digit, i);
        }
        join_digits((const u8 *)digits, to + (u64)first * d->elem_size, n, d->elem_size);
    }
}
#endif

/* Elements of `d` to their place in the item's image. */
DEVICE void rest_pixels(const struct rest_target *target, u32 item, u64 first, const struct decoded *d)
{
    u8 *to = target->images + item * target->image_bytes + first * d->elem_size;
    if (!d->plane) {
        /* Without planes, elements stand in the block as in the image. */
        for (u32 i = ITEM; i < d->n * d->elem_size; i += GROUP_SIZE)
            to[i] = d->bytes[i];
        return;
    }
#if GROUP_SIZE == 1
    write_planes(d, to);
#else
    for (u32 i = ITEM; i < d->n / 8; i += GROUP_SIZE) {
        u64 v[8];
        eight_elements(d, i, v);
        for (u32 k = 0; k < 8; k++)
            for (u32 b = 0; b < d->elem_size; b++)
                to[(8 * i + k) * d->elem_size + b] = (u8)(v[k] >> 8 * b);
    }
#endif
}
