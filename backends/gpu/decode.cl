/* decode.cl - the kernel bslz4_decode: pixels to images. */

struct rest_target {
    u8 *images;
    u64 image_bytes;
};

/* Elements of `d` to their place in the item's image. */
DEVICE void rest_pixels(const struct rest_target *target, u32 item, u64 first, const struct decoded *d)
{
    u8 *to = target->images + item * target->image_bytes + first * d->elem_size;
    if (!d->plane) {
        for (u32 i = ITEM; i < d->n * d->elem_size; i += GROUP_SIZE)
            to[i] = d->bytes[i];
        return;
    }
    for (u32 i = ITEM; i < d->n / 8; i += GROUP_SIZE) {
        u64 v[8];
        eight_elements(d, i, v);
        for (u32 k = 0; k < 8; k++)
            for (u32 b = 0; b < d->elem_size; b++)
                to[(8 * i + k) * d->elem_size + b] = (u8)(v[k] >> 8 * b);
    }
}
