/* plane_pixels.h - bit-planes to pixels, in pieces of 512: included by every variant.
 *
 * The including file defines
 *     bytes64(rows, at, out)          64 bytes at `at` of each of 8 planes to 512 bytes, bit k from plane k
 *     widen_rows(bytes, w, elem_size, out)
 *                                     512 elements of 2, 4 or 8 bytes from w = 1, 2, 4 or 8 <= elem_size rows
 *                                     of 512 bytes, least significant first, sign-extended (always inlined)
 */

/* Bytes of an element that the planes below the aliased ones fill, sign bit included: 1, 2, 4 or 8. */
static inline unsigned width_of(unsigned same_from)
{
    return same_from < 8 ? 1 : same_from < 16 ? 2 : same_from < 32 ? 4 : 8;
}

/* Each combination with constants of its own. */
static inline void widen512(const uint8_t *bytes, unsigned w, unsigned elem_size, uint8_t *out)
{
#define WIDEN(size, width)            \
    if (elem_size == size && w == width) \
    widen_rows(bytes, width, size, out)
    WIDEN(2, 1);
    WIDEN(2, 2);
    WIDEN(4, 1);
    WIDEN(4, 2);
    WIDEN(4, 4);
    WIDEN(8, 1);
    WIDEN(8, 2);
    WIDEN(8, 4);
    WIDEN(8, 8);
#undef WIDEN
}

static inline void put_512_pixels(const uint8_t *const *rows, size_t at, unsigned w, unsigned elem_size, uint8_t *out)
{
    _Alignas(64) uint8_t bytes[8 * 512];
    /* One byte a pixel needs no second step. */
    if (elem_size == 1) {
        bytes64(rows, at, out);
        return;
    }
    for (unsigned k = 0; k < w; k++)
        bytes64(rows + 8 * k, at, bytes + 512 * k);
    widen512(bytes, w, elem_size, out);
}

static void planes_to_pixels(const uint8_t *planes, unsigned same_from, size_t block_bytes, unsigned elem_size,
                             void *out)
{
    const size_t plane = block_bytes / (8 * elem_size), step = (size_t)512 * elem_size;
    const unsigned w = width_of(same_from);
    const uint8_t *rows[64];
    uint8_t *to = out, last[8 * 512];
    size_t at = 0;
    for (unsigned k = 0; k < 8 * w; k++)
        /* Planes from same_from on are equal and only the first of them was written. */
        rows[k] = planes + plane * (k < same_from ? k : same_from);
    for (; at + 64 <= plane; at += 64, to += step)
        put_512_pixels(rows, at, w, elem_size, to);
    if (at < plane) { /* the planes' slack makes a full piece of it */
        put_512_pixels(rows, at, w, elem_size, last);
        memcpy(to, last, (plane - at) * 8 * elem_size);
    }
}

static void planes_to_bytes(const uint8_t *const planes[8], size_t n_bytes, uint8_t *out)
{
    size_t at = 0;
    for (; at + 64 <= n_bytes; at += 64)
        bytes64(planes, at, out + 8 * at);
    /* The last columns, fewer than 64, go one by one, so that nothing behind the planes is read. */
    for (; at < n_bytes; at++) {
        uint64_t x = 0;
        for (unsigned k = 0; k < 8; k++)
            x |= (uint64_t)planes[k][at] << 8 * k;
        x = hcy_transpose8(x);
        memcpy(out + 8 * at, &x, 8);
    }
}
