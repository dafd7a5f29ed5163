/* azint_front.c - one block of one frame to rows of digits; and the pixels that do not go there.
 *
 * Everything is decided on bit-planes, a bit a pixel, so that it costs a few words a block: is there a live
 * pixel (one with weights) beyond the first digit?  Mostly not, and the block is one call of bytes().  If so,
 * pixels in the job's invalid ranges are taken out and marked as lost; a few others are added one by one
 * (azint_slow.c); only many of them make another digit of the whole strip.  Runs on any thread, in its own
 * azint_space.
 */
#include "azint_bits.h"

/* So many pixels of a block are added singly before another digit is worth its pass over the strip. */
#define FEW 16

static const uint8_t zeros[AZINT_STRIP_BYTES + 64];

static uint64_t value_at(const struct azint_block *b, size_t pixel)
{
    uint64_t value = 0;
    for (unsigned p = 0; p <= b->same; p++)
        value |= (uint64_t)(b->planes[p * b->stride + pixel / 8] >> pixel % 8 & 1) << p;
    unsigned shift = 63 - b->same;
    int64_t extended = (int64_t)(value << shift) >> shift;
    return b->is_signed ? (uint64_t)extended : (uint64_t)extended & UINT64_MAX >> (63 - b->top);
}

static void add_single(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                       const struct azint_block *b)
{
    uint64_t pixel = (uint64_t)where->strip * AZINT_STRIP + where->at;
    for (size_t i = 0; i < b->n_words; i++)
        for (uint64_t bits = space->out[i]; bits; bits &= bits - 1) {
            size_t k = 64 * i + (size_t)__builtin_ctzll(bits);
            azint_slow_pixel(pass, space, where->frame, pixel + k, value_at(b, k));
        }
}

static void mark_lost(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      const struct azint_block *b)
{
    size_t place = (size_t)where->frame * pass->plan->n_strips + where->strip;
    uint8_t *bits = pass->lost + place * AZINT_STRIP_BYTES;
    if (!pass->lost_any[place]) {
        memset(bits, 0, AZINT_STRIP_BYTES);
        pass->lost_any[place] = 1;
    }
    memcpy(bits + where->at / 8, space->lost, b->n_bytes);
}

/* Planes to rows: a digit is 7 planes, and the sign where it is the top one of a signed type. */
static void put_digits(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                       const struct azint_block *b, unsigned digits)
{
    for (; space->digits[where->frame] < digits; space->digits[where->frame]++)
        memset(azint_row(pass, space, space->digits[where->frame], where->frame), 0, AZINT_PITCH);
    for (unsigned d = 0; d < digits; d++) {
        const uint8_t *planes[8];
        for (unsigned k = 0; k < 8; k++) {
            unsigned p = AZINT_DIGIT_BITS * d + k;
            bool in = k < 7 ? b->is_signed || p <= b->top : b->is_signed && d + 1 == digits;
            planes[k] = in ? azint_plane(b, p) : zeros;
        }
        pass->block_ops->bytes(planes, b->n_bytes, azint_row(pass, space, d, where->frame) + where->at);
    }
}

/* A block with pixels that are lost or too large; noinline keeps it out of the common path's way. */
static __attribute__((noinline)) void put_hard(struct azint_pass *pass, struct azint_space *space,
                                               const struct azint_where *where, struct azint_block *b)
{
    bool lost = pass->ops->lost(b, pass->job, space->lost);
    unsigned digits = 1;
    size_t single;
    while ((single = pass->ops->beyond(b, AZINT_DIGIT_BITS * digits, space->lost, space->out)) > FEW)
        digits++;
    if (lost)
        mark_lost(pass, space, where, b);
    if (single)
        add_single(pass, space, where, b);
    if (lost || single) {
        for (size_t i = 0; i < b->n_words; i++)
            space->drop[i] = space->lost[i] | space->out[i];
        pass->ops->drop(b, AZINT_DIGIT_BITS * digits + 1, space->drop, space->masked);
    }
    put_digits(pass, space, where, b, digits);
}

void azint_put_planes(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      const uint8_t *planes, size_t stride, unsigned same_from)
{
    const struct azint_type *type = pass->type;
    size_t n_words = (where->n + 63) / 64;
    struct azint_block b = { planes,
                             stride,
                             same_from,
                             8u * type->elem_size - 1,
                             type->is_signed,
                             (where->n + 7) / 8,
                             n_words,
                             UINT64_MAX >> (64 * n_words - where->n),
                             azint_live(pass, (uint64_t)where->strip * AZINT_STRIP + where->at) };
    if (pass->small_invalid || pass->ops->beyond(&b, AZINT_DIGIT_BITS, NULL, space->out))
        put_hard(pass, space, where, &b);
    else
        put_digits(pass, space, where, &b, 1);
}

void azint_put_pixels(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      const uint8_t *pixels)
{
    unsigned elem_size = pass->type->elem_size;
    const uint8_t *live = azint_live(pass, (uint64_t)where->strip * AZINT_STRIP + where->at);
    uint8_t *row = azint_row(pass, space, 0, where->frame) + where->at;
    if (!pass->ops->narrow(pixels, where->n, elem_size, pass->type->is_signed, live, row) &&
        !pass->small_invalid)
        return;
    size_t n = (where->n + 63) / 64 * 64, stride = n / 8;
    if (n != where->n) {
        memcpy(space->masked, pixels, where->n * elem_size);
        memset(space->masked + where->n * elem_size, 0, (n - where->n) * elem_size);
        pixels = space->masked;
    }
    pass->ops->to_planes(pixels, n, elem_size, space->planes, stride);
    azint_put_planes(pass, space, where, space->planes, stride, 8 * elem_size - 1);
}
