/* entries.c - a strip's entries: tiles of the frames' rows, and what they add to the thread's sums.
 *
 * The lowest step of a pass: pass.c runs strips, strip.c fills rows of digits, digits.c and outliers.c take the pixels
 * that need more, deviation.c adds squares and cross products; all of them add through this file, which calls none of
 * them.  Everything here is the calling thread's own (struct azint_space); the plan is read only.
 */
#include "cpu_azint.h"

#include <string.h>

int64_t *azint_sums(struct azint_pass *pass, struct azint_space *space, unsigned digit)
{
    size_t n = (size_t)pass->plan->n_bins * 2 * pass->stride;
    /* Most passes never need the sums of higher digits, which are as large as those of the first. */
    if (!(space->used >> digit & 1)) {
        space->used |= 1u << digit;
        memset(space->sums + n * digit, 0, n * sizeof(int64_t));
    }
    return space->sums + n * digit;
}

void azint_touch_bins(const struct azint_pass *pass, struct azint_space *space, const struct azint_strip *strip)
{
    const uint64_t *blocks = azint_at(pass->plan, strip->blocks);
    const size_t n_bins = pass->plan->n_bins, row = 2 * pass->stride;
    for (size_t i = 0; i < azint_block_words(n_bins); i++) {
        for (uint64_t bits = blocks[i] & ~space->touched[i]; bits; bits &= bits - 1) {
            size_t bin = (64 * i + (size_t)__builtin_ctzll(bits)) * AZINT_BLOCK_BINS;
            size_t n = n_bins - bin < AZINT_BLOCK_BINS ? n_bins - bin : AZINT_BLOCK_BINS;
            /* Zeroed shortly before they are added to, the sums are read from memory once. */
            memset(space->sums + bin * row, 0, n * row * sizeof *space->sums);
        }
        space->touched[i] |= blocks[i];
    }
}

/* Brings the rows of a group of lanes into a tile. */
void azint_make_tile(const struct azint_pass *pass, const uint8_t *rows, unsigned group, size_t first,
                      size_t last, uint8_t *tile)
{
    unsigned lanes = pass->tiles->lanes, begin = group * lanes;
    const uint8_t *row[AZINT_MAX_PASS];
    for (unsigned l = 0; l < lanes; l++) /* lanes without a frame repeat one: nobody reads their sums */
        row[l] = rows + (begin + l < pass->n_frames ? begin + l : begin) * (size_t)AZINT_PITCH;
    pass->tiles->tile(row, first, last, tile + (size_t)group * lanes * AZINT_STRIP);
}

void azint_variance_tiles(const struct azint_pass *pass, struct azint_space *space, size_t n)
{
    for (unsigned g = 0; !pass->few_frames && g * pass->tiles->lanes < pass->n_frames; g++)
        azint_make_tile(pass, space->vrows, g, 0, azint_up64(n), space->v);
}

static void add_part(struct azint_pass *pass, struct azint_space *space, const struct azint_part *part,
                     const struct azint_source *source)
{
    int64_t *sums = azint_sums(pass, space, source->slot);
    bool own = azint_own_variance(pass, source->digit);
    /* Where the variance has no rows of its own its digit is the signal's. */
    const uint8_t *vrows = own ? space->vrows : azint_row(pass, space, source->digit, 0);
    if (!pass->few_frames) {
        unsigned lanes = pass->tiles->lanes;
        pass->tiles->many(part, space->x, own ? space->v : space->x, source->variance,
                        (pass->n_frames + lanes - 1) / lanes, sums);
        return;
    }
    /* Every frame reads the weights again, from the L1 cache, where they were just expanded to. */
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

/* Adds up the strip's entries, a chunk at a time. */
void azint_add_entries(struct azint_pass *pass, struct azint_space *space, const struct azint_strip *strip,
                       const struct azint_source *source)
{
    const struct azint_seg *seg = azint_at(pass->plan, strip->segs), *end = seg + strip->n_segs;
    for (uint32_t first = 0; first < strip->n_entries; first += AZINT_CHUNK) {
        uint32_t last = strip->n_entries - first < AZINT_CHUNK ? strip->n_entries : first + AZINT_CHUNK;
        struct azint_part part = { source->index + first, NULL, seg, 0, first };
        /* Segments end where chunks do (prepare.c), so each belongs to one part. */
        while (seg < end && seg->end <= last)
            seg++;
        part.n_segs = (size_t)(seg - part.segs);
        /* A unit plan's index holds masks, which the kernels turn into weights themselves. */
        if (source->weights) {
            pass->ops->expand(source->weights + 12 * (size_t)first, last - first, space->weights);
            part.weights = space->weights;
        }
        prefetch_chunk(source, strip, last);
        add_part(pass, space, &part, source);
    }
}
