/* strip.c - one strip of a pass, on one thread: blocks to rows, rows to tiles, tiles to the thread's
 * sums.
 *
 * Frames are taken block by block in turn, so that what was just decoded is still in the L1 cache when the
 * rows of 16 frames are turned into a tile.  The entries' weights are expanded a chunk at a time, for all
 * frames at once.
 */
#include "cpu_azint.h"

#include <string.h>

int64_t *azint_sums(struct azint_pass *pass, struct azint_space *space, unsigned digit)
{
    size_t n = (size_t)pass->plan->n_bins * 2 * pass->stride;
    if (!(space->used >> digit & 1)) {
        space->used |= 1u << digit;
        memset(space->sums + n * digit, 0, n * sizeof(int64_t));
    }
    return space->sums + n * digit;
}

/* Zeroes what the strip adds to and no strip before it has.  A worker has neighbouring strips, which share most of
 * their bins, and with many bins it never touches those of other workers. */
static void touch_bins(const struct azint_pass *pass, struct azint_space *space, const struct azint_strip *strip)
{
    const uint64_t *blocks = azint_at(pass->plan, strip->blocks);
    const size_t n_bins = pass->plan->n_bins, row = 2 * pass->stride;
    for (size_t i = 0; i < azint_block_words(n_bins); i++) {
        for (uint64_t bits = blocks[i] & ~space->touched[i]; bits; bits &= bits - 1) {
            size_t bin = (64 * i + (size_t)__builtin_ctzll(bits)) * AZINT_BLOCK_BINS;
            size_t n = n_bins - bin < AZINT_BLOCK_BINS ? n_bins - bin : AZINT_BLOCK_BINS;
            memset(space->sums + bin * row, 0, n * row * sizeof *space->sums);
        }
        space->touched[i] |= blocks[i];
    }
}

int azint_block_pixels(const struct azint_pass *pass, struct azint_space *space,
                       const struct azint_frame *frame, uint32_t block, uint8_t *out)
{
    const hcy_bslz4_block *b = &frame->blocks[block];
    size_t bytes = HCY_BLOCK_BYTES(frame->frame, block);
    if (!cpu_block_fits(frame->frame, b, bytes))
        return HCY_ECORRUPT;
    return cpu_bslz4_block(pass->block_ops, &pass->coding, frame->chunk + b->offset, b->size, pass->limit,
                           bytes, space->planes - CPU_BLOCK_LEAD, out);
}

void azint_damaged(struct azint_frame *frame, uint32_t block)
{
    unsigned seen = atomic_load(&frame->damaged);
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

/* Pixels from `skip` on of one block. */
static void put_block(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      uint32_t block, size_t skip)
{
    struct azint_frame *frame = &pass->frames[where->frame];
    unsigned elem_size = pass->type->elem_size, same;
    size_t bytes = HCY_BLOCK_BYTES(frame->frame, block);
    const hcy_bslz4_block *b = &frame->blocks[block];
    prefetch_block(frame, block + 1);
    if (pass->coding.codec != HCY_CODEC_BSLZ4) {
        if (azint_block_pixels(pass, space, frame, block, space->pixels) == 0) {
            azint_put_pixels(pass, space, where, space->pixels + skip * elem_size);
            return;
        }
    } else if (cpu_block_fits(frame->frame, b, bytes) && !(b->size & HCY_BLOCK_STORED) &&
               pass->block_ops->planes(frame->chunk + b->offset, b->size, pass->limit, bytes, elem_size,
                                       space->planes, &same) == 0) {
        azint_put_planes(pass, space, where, space->planes + skip / 8, bytes / elem_size / 8, same);
        return;
    }
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
        azint_put_pixels(pass, space, &where,
                         pixels + ((uint64_t)where.strip * AZINT_STRIP + where.at) * pass->type->elem_size);
    }
}

/* The rows of a group of lanes to a tile. */
static void make_tile(const struct azint_pass *pass, const uint8_t *rows, unsigned group, size_t first,
                      size_t last, uint8_t *tile)
{
    unsigned lanes = pass->tiles->lanes, begin = group * lanes;
    const uint8_t *row[AZINT_MAX_PASS];
    for (unsigned l = 0; l < lanes; l++) /* lanes without a frame repeat one: nobody reads their sums */
        row[l] = rows + (begin + l < pass->n_frames ? begin + l : begin) * (size_t)AZINT_PITCH;
    pass->tiles->tile(row, first, last, tile + (size_t)group * lanes * AZINT_STRIP);
}

static size_t up64(size_t n)
{
    return (n + 63) / 64 * 64;
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
        if (!pass->single)
            make_tile(pass, space->rows, begin / pass->tiles->lanes, at, up64(stop), space->x);
    }
}

/* Does a digit of the variance, where a strip has several, differ from the signal's?  max(1, value) does in
 * the first one, and for negative values in all. */
static bool own_variance(const struct azint_pass *pass, unsigned digit)
{
    return pass->spread || digit == 0 || pass->type->is_signed;
}

void azint_variance_tiles(const struct azint_pass *pass, struct azint_space *space, size_t n)
{
    for (unsigned g = 0; !pass->single && g * pass->tiles->lanes < pass->n_frames; g++)
        make_tile(pass, space->vrows, g, 0, up64(n), space->v);
}

/* That digit, to space->vrows and its tile. */
static void make_variance(const struct azint_pass *pass, struct azint_space *space, unsigned digit, size_t n)
{
    const uint8_t *rows[AZINT_MAX_DIGITS];
    for (unsigned f = 0; f < pass->n_frames; f++) {
        uint8_t *out = space->vrows + f * (size_t)AZINT_PITCH;
        for (unsigned d = 0; d < space->digits[f]; d++)
            rows[d] = azint_row(pass, space, d, f);
        if (space->digits[f] > digit)
            pass->ops->variance(rows, space->digits[f], digit, up64(n), out);
        else
            memset(out, 0, n);
    }
    azint_variance_tiles(pass, space, n);
}

/* The higher digit's rows: frames that do not have it get zeros. */
static void make_digit(struct azint_pass *pass, struct azint_space *space, unsigned digit, size_t n)
{
    for (unsigned f = 0; f < pass->n_frames; f++)
        if (space->digits[f] <= digit)
            memset(azint_row(pass, space, digit, f), 0, AZINT_PITCH);
    for (unsigned g = 0; !pass->single && g * pass->tiles->lanes < pass->n_frames; g++)
        make_tile(pass, azint_row(pass, space, digit, 0), g, 0, up64(n), space->x);
}

static void add_part(struct azint_pass *pass, struct azint_space *space, const struct azint_part *part,
                     const struct azint_source *source)
{
    int64_t *sums = azint_sums(pass, space, source->slot);
    bool own = own_variance(pass, source->digit);
    const uint8_t *vrows = own ? space->vrows : azint_row(pass, space, source->digit, 0);
    if (!pass->single) {
        unsigned lanes = pass->tiles->lanes;
        pass->tiles->many(part, space->x, own ? space->v : space->x, source->variance,
                        (pass->n_frames + lanes - 1) / lanes, sums);
        return;
    }
    for (unsigned f = 0; f < pass->n_frames; f++)
        pass->ops->one(part, azint_row(pass, space, source->digit, f), vrows + f * (size_t)AZINT_PITCH,
                       source->variance, pass->stride, sums + f);
}

/* The next chunk's entries, while this one's are used: the plan is read from memory, end to end. */
static void prefetch_chunk(const struct azint_source *source, const struct azint_strip *strip, uint32_t first)
{
    uint32_t last = strip->n_entries - first < AZINT_CHUNK ? strip->n_entries : first + AZINT_CHUNK;
    const uint8_t *index = (const uint8_t *)source->index, *weights = source->weights;
    for (size_t i = 2 * (size_t)first; i < 2 * (size_t)last; i += 64)
        __builtin_prefetch(index + i);
    for (size_t i = 12 * (size_t)first; weights && i < 12 * (size_t)last; i += 64)
        __builtin_prefetch(weights + i);
}

/* The strip's entries, a chunk at a time. */
void azint_add_entries(struct azint_pass *pass, struct azint_space *space, const struct azint_strip *strip,
                       const struct azint_source *source)
{
    const struct azint_seg *seg = azint_at(pass->plan, strip->segs), *end = seg + strip->n_segs;
    for (uint32_t first = 0; first < strip->n_entries; first += AZINT_CHUNK) {
        uint32_t last = strip->n_entries - first < AZINT_CHUNK ? strip->n_entries : first + AZINT_CHUNK;
        struct azint_part part = { source->index + first, NULL, seg, 0, first };
        while (seg < end && seg->end <= last)
            seg++;
        part.n_segs = (size_t)(seg - part.segs);
        if (source->weights) {
            pass->ops->expand(source->weights + 12 * (size_t)first, last - first, space->weights);
            part.weights = space->weights;
        }
        prefetch_chunk(source, strip, last);
        add_part(pass, space, &part, source);
    }
}

void azint_strip_run(struct azint_pass *pass, struct azint_space *space, size_t number)
{
    const struct azint_strip *strip =
        (const struct azint_strip *)azint_at(pass->plan, pass->plan->strips) + number;
    uint64_t left = pass->plan->n_pixels - (uint64_t)number * AZINT_STRIP;
    size_t n = left < AZINT_STRIP ? (size_t)left : AZINT_STRIP;
    unsigned digits = 1, lanes = pass->single ? 1 : pass->tiles->lanes;
    bool want_variance = pass->job->flags & HCY_AZINT_WANT_VARIANCE;
    memset(space->digits, 1, sizeof space->digits);
    space->n_singles = 0;
    touch_bins(pass, space, strip);
    for (unsigned f = 0; f < pass->n_frames; f += lanes)
        fill_group(pass, space, number, f, f + lanes < pass->n_frames ? f + lanes : pass->n_frames, n);
    azint_settle(pass, space, number);
    for (unsigned f = 0; f < pass->n_frames; f++)
        digits = space->digits[f] > digits ? space->digits[f] : digits;
    for (unsigned d = 0; d < digits; d++) {
        enum azint_variance variance = pass->spread     ? AZINT_V_TILE
                                       : !want_variance ? AZINT_V_NONE
                                       : digits > 1     ? AZINT_V_TILE
                                                        : AZINT_V_MAX;
        struct azint_source source = { azint_at(pass->plan, strip->index),
                                       pass->plan->unit ? NULL : azint_at(pass->plan, strip->weights), d, d, variance };
        if (d)
            make_digit(pass, space, d, n);
        if (pass->spread)
            azint_spread_rows(pass, space, number, d, n);
        else if (variance == AZINT_V_TILE && own_variance(pass, d))
            make_variance(pass, space, d, n);
        azint_add_entries(pass, space, strip, &source);
        if (pass->spread)
            azint_spread_cross(pass, space, number, d);
    }
    if (pass->spread)
        azint_spread_rest(pass, space, number, digits, n);
}
