/* strip.c - one strip of a pass, on one thread: blocks to rows, rows to tiles, tiles to the thread's
 * sums (entries.c).
 *
 * Frames are taken block by block in turn, so that what was just decoded is still in the L1 cache when the
 * rows of 16 frames are turned into a tile.  The entries' weights are expanded a chunk at a time, for all
 * frames at once.
 */
#include "cpu_regions.h"

#include <string.h>

int azint_block_pixels(const struct azint_pass *pass, struct azint_space *space,
                       const struct azint_frame *frame, uint32_t block, uint8_t *out)
{
    const hcy_bslz4_block *b = &frame->blocks[block];
    size_t bytes = HCY_BLOCK_BYTES(frame->frame, block);
    if (!cpu_block_fits(&pass->coding, frame->frame, b, bytes))
        return HCY_ECORRUPT;
    return cpu_bslz4_block(pass->block_ops, &pass->coding, frame->chunk + b->offset, b->size, pass->limit,
                           bytes, space->planes - CPU_BLOCK_LEAD, out);
}

void azint_damaged(struct azint_frame *frame, uint32_t block)
{
    unsigned seen = atomic_load(&frame->damaged);
    /* The report names the first damaged block, whichever a thread finds first. */
    while (block < seen && !atomic_compare_exchange_weak(&frame->damaged, &seen, block))
        ;
}

/* While one frame's block is decoded, the next one's codes come nearer: sixteen other frames lie between, and
 * no hardware prefetcher follows so many streams. */
static void prefetch_block(const struct azint_frame *frame, uint32_t block)
{
    if (block >= frame->frame->n_blocks)
        return;
    const uint8_t *coded = frame->chunk + frame->blocks[block].offset;
    uint32_t size = frame->blocks[block].size & ~HCY_BLOCK_STORED;
    for (uint32_t i = 0; i < size && i < 1024; i += 64)
        __builtin_prefetch(coded + i);
}

/* Writes the pixels of one block, from `skip` on. */
static void put_block(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      uint32_t block, size_t skip)
{
    struct azint_frame *frame = &pass->frames[where->frame];
    unsigned elem_size = pass->type->elem_size, same;
    size_t bytes = HCY_BLOCK_BYTES(frame->frame, block);
    const hcy_bslz4_block *b = &frame->blocks[block];
    prefetch_block(frame, block + 1);
    /* Bitshuffle-LZ4 goes from planes to digits and never becomes pixels; other codecs and stored blocks do first. */
    if (pass->coding.codec != HCY_CODEC_BSLZ4 || b->size & HCY_BLOCK_STORED) {
        if (azint_block_pixels(pass, space, frame, block, space->pixels) == 0) {
            azint_put_pixels(pass, space, where, space->pixels + skip * elem_size);
            if (pass->regions.job)
                azint_regions_pixels(pass, space, where, space->pixels + skip * elem_size);
            return;
        }
    } else if (cpu_block_fits(&pass->coding, frame->frame, b, bytes) &&
               pass->block_ops->planes(frame->chunk + b->offset, b->size, pass->limit, bytes, elem_size,
                                       space->planes, &same) == 0) {
        azint_put_planes(pass, space, where, space->planes + skip / 8, bytes / elem_size / 8, same);
        if (pass->regions.job)
            azint_regions_planes(pass, space, where, space->planes + skip / 8, bytes / elem_size / 8, same);
        return;
    }
    /* The other frames of the pass go on, and zeros keep the digits of the damaged one defined. */
    azint_damaged(frame, block);
    memset(azint_row(pass, space, 0, where->frame) + where->at, 0, where->n);
}

/* Pixels [at, end) of the strip from one frame's blocks, or its raw tail. */
static void fill_coded(struct azint_pass *pass, struct azint_space *space, struct azint_where where,
                       size_t end)
{
    const struct azint_frame *frame = &pass->frames[where.frame];
    unsigned elem_size = pass->type->elem_size;
    while (where.at < end) {
        uint64_t pixel = (uint64_t)where.strip * AZINT_STRIP + where.at;
        uint64_t block = pixel / frame->block_pixels;
        /* The last block may be shorter than the others, and the tail behind it is not coded. */
        if (block < frame->frame->n_blocks &&
            pixel - block * frame->block_pixels <
                HCY_BLOCK_BYTES(frame->frame, (uint32_t)block) / elem_size) {
            size_t skip = (size_t)(pixel - block * frame->block_pixels);
            size_t left = HCY_BLOCK_BYTES(frame->frame, (uint32_t)block) / elem_size - skip;
            where.n = left < end - where.at ? left : end - where.at;
            put_block(pass, space, &where, (uint32_t)block, skip);
        } else {
            where.n = end - where.at;
            azint_put_pixels(pass, space, &where, frame->chunk + frame->frame->tail_offset);
            if (pass->regions.job)
                azint_regions_pixels(pass, space, &where, frame->chunk + frame->frame->tail_offset);
        }
        where.at += where.n;
    }
}

/* Pixels [at, end) from plain ones, in pieces that the caches hold. */
static void fill_plain(struct azint_pass *pass, struct azint_space *space, struct azint_where where,
                       size_t end)
{
    const uint8_t *pixels = pass->frames[where.frame].pixels;
    for (; where.at < end; where.at += where.n) {
        where.n = end - where.at < 2048 ? end - where.at : 2048;
        const uint8_t *from = pixels + ((uint64_t)where.strip * AZINT_STRIP + where.at) * pass->type->elem_size;
        azint_put_pixels(pass, space, &where, from);
        if (pass->regions.job)
            azint_regions_pixels(pass, space, &where, from);
    }
}

/* Frames [begin, end) of the pass: their first digits to rows, and to the group's tile as they come. */
static void fill_group(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned begin,
                       unsigned end, size_t n_pixels)
{
    for (size_t at = 0; at < n_pixels; at += pass->step) {
        size_t stop = n_pixels - at < pass->step ? n_pixels : at + pass->step;
        for (unsigned f = begin; f < end; f++) {
            struct azint_where where = { f, strip, at, 0 };
            (pass->frames[f].pixels ? fill_plain : fill_coded)(pass, space, where, stop);
        }
        /* The rows were written a moment ago and are still in the L1 cache. */
        if (!pass->few_frames)
            azint_make_tile(pass, space->rows, begin / pass->tiles->lanes, at, azint_up64(stop), space->x);
    }
}

/* Takes the 1 off again that a first digit of the variance has where the value is 0 or negative. */
static void drop_least(const uint8_t *const *rows, unsigned digits, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t all = 0;
        for (unsigned d = 0; d < digits; d++)
            all |= rows[d][i];
        if (!all || all & 0x80)
            out[i] = 0;
    }
}

/* Makes that digit in space->vrows, and its tile. */
static void make_variance(const struct azint_pass *pass, struct azint_space *space, unsigned digit, size_t n)
{
    const uint8_t *rows[AZINT_MAX_DIGITS];
    for (unsigned f = 0; f < pass->n_frames; f++) {
        uint8_t *out = space->vrows + f * (size_t)AZINT_PITCH;
        for (unsigned d = 0; d < space->digits[f]; d++)
            rows[d] = azint_row(pass, space, d, f);
        /* A frame without this digit adds nothing to it: the least variance of 1 is in the first digit. */
        if (space->digits[f] > digit)
            pass->ops->variance(rows, space->digits[f], digit, azint_up64(n), out);
        else
            memset(out, 0, n);
        if (!digit && !azint_least(pass))
            drop_least(rows, space->digits[f], n, out);
    }
    azint_variance_tiles(pass, space, n);
}

/* The higher digit's rows: frames that do not have it get zeros. */
static void make_digit(struct azint_pass *pass, struct azint_space *space, unsigned digit, size_t n)
{
    for (unsigned f = 0; f < pass->n_frames; f++)
        if (space->digits[f] <= digit)
            memset(azint_row(pass, space, digit, f), 0, AZINT_PITCH);
    for (unsigned g = 0; !pass->few_frames && g * pass->tiles->lanes < pass->n_frames; g++)
        azint_make_tile(pass, azint_row(pass, space, digit, 0), g, 0, azint_up64(n), space->x);
}

/* Where the digits' variance comes from.  With one digit it is max(1, digit), which the kernels find as they go; where
 * no pixel is given a variance of 1 it is the digits themselves. */
static enum azint_variance variance_source(const struct azint_pass *pass, unsigned digits)
{
    if (pass->deviation)
        return AZINT_V_TILE;
    if (!(pass->job->flags & HCY_AZINT_WANT_VARIANCE))
        return AZINT_V_NONE;
    return digits > 1 || !azint_least(pass) ? AZINT_V_TILE : AZINT_V_MAX;
}

/* Adds digit `digit` of all frames.  The first digit's tiles are there already: they were made as blocks came, while
 * the rows were in the L1 cache. */
static void add_digit(struct azint_pass *pass, struct azint_space *space, size_t number, unsigned digit,
                      enum azint_variance variance, size_t n)
{
    const struct azint_strip *strip = azint_strip_at(pass->plan, number);
    struct azint_source source = { azint_at(pass->plan, strip->index),
                                   pass->plan->unit ? NULL : azint_at(pass->plan, strip->weights), digit, digit,
                                   variance };
    if (digit)
        make_digit(pass, space, digit, n);
    if (pass->deviation)
        azint_deviation_rows(pass, space, number, digit, n);
    else if (variance == AZINT_V_TILE && azint_own_variance(pass, digit))
        make_variance(pass, space, digit, n);
    if (pass->plan->direct)
        azint_add_runs(pass, space, number, n, &source);
    else
        azint_add_entries(pass, space, strip, &source);
    if (pass->deviation)
        azint_deviation_cross(pass, space, number, digit);
}

void azint_strip_run(struct azint_pass *pass, struct azint_space *space, size_t number)
{
    uint64_t left = pass->plan->n_pixels - (uint64_t)number * AZINT_STRIP;
    size_t n = left < AZINT_STRIP ? (size_t)left : AZINT_STRIP;
    unsigned digits = 1, lanes = pass->few_frames ? 1 : pass->tiles->lanes;

    /* Every frame begins with one digit: most strips of most detectors never need another. */
    memset(space->digits, 1, sizeof space->digits);
    space->n_outliers = 0;
    azint_touch_bins(pass, space, azint_strip_at(pass->plan, number));

    /* Blocks to rows, a group of lanes after the other.  Pixels beyond a digit are put by until all frames are in,
     * because their number decides what is cheaper: a digit more for the whole strip, or each by itself. */
    for (unsigned f = 0; f < pass->n_frames; f += lanes)
        fill_group(pass, space, number, f, f + lanes < pass->n_frames ? f + lanes : pass->n_frames, n);
    azint_settle(pass, space, number);

    /* Rows to sums: all frames take as many digits as the frame that has most, the others' are zeros. */
    for (unsigned f = 0; f < pass->n_frames; f++)
        digits = space->digits[f] > digits ? space->digits[f] : digits;
    for (unsigned d = 0; d < digits; d++)
        add_digit(pass, space, number, d, variance_source(pass, digits), n);
    if (pass->deviation)
        azint_deviation_rest(pass, space, number, digits, n);
}
