/* digits.c - one block of one frame to rows of digits; and the pixels that do not go there.
 *
 * Everything is decided on bit-planes, a bit a pixel, so that it costs a few words a block: is there a live
 * pixel (one with weights) beyond the first digit?  Mostly not, and the block is one call of bytes().  If so,
 * pixels in the job's invalid ranges are taken out and marked as lost; a few others are put by, to be added one
 * by one (outliers.c); only many of them make another digit of the whole strip.  Runs on any thread, in its own
 * azint_space.
 */
#include "planes.h"

/* More pixels of a block than this beyond a digit make another digit of the block.  Fewer are put by, and settled
 * when it is known how many the strip has. */
#define FEW 32

static const uint8_t zeros[AZINT_STRIP_BYTES + 64];

static uint64_t pixel_of_planes(const struct azint_block *b, size_t pixel)
{
    uint64_t value = 0;
    for (unsigned p = 0; p <= b->same; p++)
        value |= (uint64_t)(b->planes[p * b->stride + pixel / 8] >> pixel % 8 & 1) << p;
    return azint_plane_value(b, value);
}

static void put_by(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                   const struct azint_block *b)
{
    for (size_t i = 0; i < b->n_words; i++)
        for (uint64_t bits = space->out[i]; bits; bits &= bits - 1) {
            size_t k = 64 * i + (size_t)__builtin_ctzll(bits);
            struct azint_outlier outlier = { where->frame, (uint32_t)(where->at + k), pixel_of_planes(b, k) };
            /* The list is as long as the scratch buffer has room; pixels beyond it are added at once, which only
             * takes longer. */
            if (space->n_outliers < AZINT_MAX_OUTLIERS)
                space->outliers[space->n_outliers++] = outlier;
            else
                azint_slow_pixel(pass, space, outlier.frame,
                                 (uint64_t)where->strip * AZINT_STRIP + outlier.pixel, outlier.bits);
        }
}

static void mark_lost(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      size_t n_bytes)
{
    size_t place = (size_t)where->frame * pass->plan->n_strips + where->strip;
    uint8_t *bits = pass->lost + place * AZINT_STRIP_BYTES;
    /* Most strips of most frames lose nothing but what is learnt, so bits are set when the first pixel differs. */
    if (!pass->lost_any[place]) {
        memcpy(bits, azint_lost_bits(pass, where->frame, where->strip), AZINT_STRIP_BYTES);
        pass->lost_any[place] = 1;
    }
    memcpy(bits + where->at / 8, space->lost, n_bytes);
}

/* Adds rows of zeros, so that the frame has `digits` digits. */
static void grow_digits(const struct azint_pass *pass, struct azint_space *space, unsigned frame, unsigned digits)
{
    for (; space->digits[frame] < digits; space->digits[frame]++)
        memset(azint_row(pass, space, space->digits[frame], frame), 0, AZINT_PITCH);
}

/* Planes to rows: a digit is 7 planes, and the sign where it is the top one of a signed type. */
static void put_digits(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                       const struct azint_block *b, unsigned digits)
{
    grow_digits(pass, space, where->frame, digits);
    for (unsigned d = 0; d < digits; d++) {
        const uint8_t *planes[8];
        for (unsigned k = 0; k < 8; k++) {
            unsigned p = AZINT_DIGIT_BITS * d + k;
            /* The eighth bit of a digit is its sign, which only the top digit of a signed value may have. */
            bool in = k < 7 ? b->is_signed || p <= b->top : b->is_signed && d + 1 == digits;
            planes[k] = in ? azint_plane(b, p) : zeros;
        }
        pass->block_ops->bytes(planes, b->n_bytes, azint_row(pass, space, d, where->frame) + where->at);
    }
}

/* A block with pixels that are lost or too large; noinline keeps it out of the common path's way. */
static __attribute__((noinline)) void put_hard(struct azint_pass *pass, struct azint_space *space,
                                               const struct azint_where *where, struct azint_block *b,
                                               bool has_learnt)
{
    bool lost = pass->ops->lost(b, pass->job, space->lost);
    unsigned digits = 1;
    size_t n_outliers;
    /* The block takes a digit more as long as more than FEW pixels do not fit; what is lost does not count. */
    while ((n_outliers = pass->ops->beyond(b, AZINT_DIGIT_BITS * digits, space->lost, space->out)) > FEW)
        digits++;
    /* Learnt pixels count as lost unless they are marked, be it as no loss. */
    if (lost || has_learnt)
        mark_lost(pass, space, where, b->n_bytes);
    if (n_outliers)
        put_by(pass, space, where, b);
    if (lost || n_outliers) {
        /* Lost pixels and outliers become zeros in the planes, so that the rows hold the sum without them. */
        for (size_t i = 0; i < b->n_words; i++)
            space->drop[i] = space->lost[i] | space->out[i];
        pass->ops->drop(b, AZINT_DIGIT_BITS * digits + 1, space->drop, space->masked);
    }
    put_digits(pass, space, where, b, digits);
}

/* The learnt pixels among n of them, to space->lost; whether there are any. */
static bool find_learnt(const struct azint_pass *pass, struct azint_space *space, const struct azint_where *where)
{
    size_t n_words = (where->n + 63) / 64;
    uint64_t any = 0;
    if (!pass->learnt)
        return false;
    memcpy(space->lost, azint_learnt_bits(pass->learnt, where->strip) + where->at / 8, 8 * n_words);
    space->lost[n_words - 1] &= UINT64_MAX >> (64 * n_words - where->n);
    for (size_t i = 0; i < n_words; i++)
        any |= space->lost[i];
    return any != 0;
}

/* A block that has lost its learnt pixels, and whose others fit a digit: these alone go on. */
static bool put_learnt(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                       struct azint_block *b)
{
    if (!pass->ops->ones(b, pass->ones_from, space->lost) ||
        pass->ops->beyond(b, AZINT_DIGIT_BITS, space->lost, space->out))
        return false;
    pass->ops->drop(b, AZINT_DIGIT_BITS + 1, space->lost, space->masked);
    put_digits(pass, space, where, b, 1);
    return true;
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
    bool has_learnt = find_learnt(pass, space, where);
    if (has_learnt && put_learnt(pass, space, where, &b))
        return;
    /* Invalid values mostly are the largest ones: a block without a large pixel has none, and needs no second look. */
    if (pass->small_invalid || has_learnt || pass->ops->beyond(&b, AZINT_DIGIT_BITS, NULL, space->out))
        put_hard(pass, space, where, &b, has_learnt);
    else
        put_digits(pass, space, where, &b, 1);
}

void azint_put_pixels(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      const uint8_t *pixels)
{
    unsigned elem_size = pass->type->elem_size;
    const uint8_t *live = azint_live(pass, (uint64_t)where->strip * AZINT_STRIP + where->at);
    uint8_t *row = azint_row(pass, space, 0, where->frame) + where->at;
    /* Plain pixels that all fit one digit never become planes. */
    if (!pass->ops->narrow(pixels, where->n, elem_size, pass->type->is_signed, live, row) &&
        !pass->small_invalid) {
        /* Learnt pixels that fit are none of the largest values: here they are valid. */
        if (find_learnt(pass, space, where)) {
            memset(space->lost, 0, (where->n + 63) / 64 * 8);
            mark_lost(pass, space, where, (where->n + 7) / 8);
        }
        return;
    }
    /* to_planes() takes multiples of 64 pixels, so the last ones are copied and filled up with zeros. */
    size_t n = (where->n + 63) / 64 * 64, stride = n / 8;
    if (n != where->n) {
        memcpy(space->masked, pixels, where->n * elem_size);
        memset(space->masked + where->n * elem_size, 0, (n - where->n) * elem_size);
        pixels = space->masked;
    }
    pass->ops->to_planes(pixels, n, elem_size, space->planes, stride);
    azint_put_planes(pass, space, where, space->planes, stride, 8 * elem_size - 1);
}

static unsigned digits_of(uint64_t bits, bool is_signed)
{
    uint64_t rest = is_signed && (int64_t)bits < 0 ? ~bits : bits;
    unsigned digits = 1;
    while (rest >>= AZINT_DIGIT_BITS)
        digits++;
    return digits;
}

/* The pixel's digits to the frame's rows; its first one also to the tile, which has been made already. */
static void put_outlier(struct azint_pass *pass, struct azint_space *space, const struct azint_outlier *outlier,
                        unsigned digits)
{
    size_t p = outlier->pixel, lanes = pass->tiles->lanes, lane = outlier->frame % lanes;
    bool is_signed = pass->type->is_signed;
    grow_digits(pass, space, outlier->frame, digits);
    for (unsigned d = 0; d < digits; d++) {
        /* The arithmetic shift leaves the sign in the top digit alone. */
        uint64_t rest = is_signed ? (uint64_t)((int64_t)outlier->bits >> AZINT_DIGIT_BITS * d)
                                  : outlier->bits >> AZINT_DIGIT_BITS * d;
        azint_row(pass, space, d, outlier->frame)[p] =
            (uint8_t)(is_signed && d + 1 == digits ? rest : rest & 0x7f);
    }
    /* The first tile has been made already, the later ones are made from the rows. */
    if (!pass->few_frames)
        space->x[(outlier->frame - lane) * AZINT_STRIP + p / 4 * 4 * lanes + 4 * lane + p % 4] =
            *(azint_row(pass, space, 0, outlier->frame) + p);
}

/* A digit costs every frame a pass over the strip, an outlier a walk through the tables: about as much as an
 * eighth of a frame's pass.  So digits are added until few enough pixels need more. */
void azint_settle(struct azint_pass *pass, struct azint_space *space, size_t strip)
{
    size_t with[AZINT_MAX_DIGITS + 2] = { 0 }, left = space->n_outliers,
                                   few = 128 + 8 * (size_t)pass->n_frames;
    unsigned digits = 1;
    for (size_t i = 0; i < space->n_outliers; i++)
        with[digits_of(space->outliers[i].bits, pass->type->is_signed)]++;
    /* with[d] outliers have d digits: they fit as soon as the strip takes that many. */
    while (left > few)
        left -= with[++digits];
    for (size_t i = 0; i < space->n_outliers; i++) {
        const struct azint_outlier *outlier = &space->outliers[i];
        unsigned need = digits_of(outlier->bits, pass->type->is_signed);
        if (need <= digits)
            put_outlier(pass, space, outlier, need);
        else
            azint_slow_pixel(pass, space, outlier->frame, (uint64_t)strip * AZINT_STRIP + outlier->pixel,
                             outlier->bits);
    }
}
