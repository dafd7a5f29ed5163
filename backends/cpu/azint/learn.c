/* learn.c - pixels that are invalid in every frame: gaps between modules that no mask names.
 *
 * A pass looks for invalid pixels in each block of each frame, and sums what they take off the norms.  Where the
 * first frames agree, both are done once for all frames to come: their pixels are learnt, with the sums of what they
 * take off.  They remain a guess: each block is asked whether its learnt pixels hold the largest value (digits.c), and
 * where one does not it is taken as if nothing were learnt; lost pixels then differ from those learnt, and the sums are
 * set right by the difference (outliers.c).  So the bits are the same.
 *
 * What is learnt stands in the plan's blob and is shared by all who launch it.  Whoever has set `state` to BUSY writes;
 * it is read only when it is READY, and written no more then.
 */
#include "cpu_azint.h"

#include <string.h>

enum { IDLE, BUSY, READY, NOTHING };

#define ENOUGH 8u /* frames that must agree */

/* Rows larger than a frame's sums are to its pixels are not worth keeping. */
size_t azint_learnt_size(const struct azint_plan *plan)
{
    uint64_t rows = (uint64_t)HCY_AZINT_SUMS * plan->n_bins * sizeof(uint64_t);
    if (rows > 8 * plan->n_pixels + 65536)
        return 0;
    return azint_up64(sizeof(struct azint_learnt)) + azint_up64(plan->n_strips * sizeof(uint32_t)) +
           azint_up64((size_t)plan->n_strips * AZINT_STRIP_BYTES + AZINT_PAD) + (size_t)rows;
}

void azint_learnt_init(struct azint_plan *plan)
{
    struct azint_learnt *learnt = azint_learnt_of(plan);
    if (!learnt)
        return;
    *learnt = (struct azint_learnt){ .counts = azint_up64(sizeof *learnt) };
    learnt->bits = learnt->counts + azint_up64(plan->n_strips * sizeof(uint32_t));
    learnt->rows = learnt->bits + azint_up64((size_t)plan->n_strips * AZINT_STRIP_BYTES + AZINT_PAD);
    memset(azint_learnt_bits(learnt, 0), 0, (size_t)plan->n_strips * AZINT_STRIP_BYTES + AZINT_PAD);
    atomic_init(&learnt->state, IDLE);
}

/* Are all values whose planes from `from` on are ones invalid? */
static bool ones_are_invalid(const hcy_azint_job *job, const struct azint_type *type, unsigned from)
{
    uint64_t all = UINT64_MAX >> (64 - 8 * type->elem_size), hi = type->is_signed ? UINT64_MAX : all;
    uint64_t lo = hi & UINT64_MAX << from;
    for (unsigned r = 0; r < job->n_invalid; r++) {
        const hcy_azint_range *range = &job->invalid[r];
        if (type->is_signed ? (int64_t)range->lo <= (int64_t)lo && (int64_t)range->hi >= (int64_t)hi
                            : range->lo <= lo && range->hi >= hi)
            return true;
    }
    return false;
}

/* Is there anything by which learnt pixels could be told in this pass? */
static bool can_learn(const struct azint_pass *pass)
{
    return pass->plan->learnt && !pass->deviation && !pass->small_invalid && !pass->type->is_float &&
           ones_are_invalid(pass->job, pass->type, 0);
}

void azint_learnt_use(struct azint_pass *pass)
{
    const struct azint_learnt *learnt = azint_learnt_of(pass->plan);
    pass->learnt = NULL;
    if (!can_learn(pass) || atomic_load_explicit(&learnt->state, memory_order_acquire) != READY ||
        learnt->what != azint_loss_of(pass))
        return;
    pass->learnt = learnt;
    /* The fewer planes tell it the better. */
    pass->ones_from = 0;
    while (pass->ones_from + 1 < 8u * pass->type->elem_size &&
           ones_are_invalid(pass->job, pass->type, pass->ones_from + 1))
        pass->ones_from++;
}

/* Takes out of the strip's learnt bits what this pass's frames have not lost.  A damaged frame says nothing. */
static void agree_on_strip(const struct azint_pass *pass, uint8_t *bits, size_t strip)
{
    for (unsigned f = 0; f < pass->n_frames; f++) {
        const uint8_t *lost = azint_lost_bits(pass, f, strip);
        if (atomic_load(&pass->frames[f].damaged) != UINT32_MAX)
            continue;
        for (size_t i = 0; i < AZINT_STRIP_BYTES; i++)
            bits[i] &= lost[i];
    }
}

static uint32_t count_bits(const uint8_t *bits)
{
    uint32_t n = 0;
    for (size_t i = 0; i < AZINT_STRIP_BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, bits + i, 8);
        n += (uint32_t)__builtin_popcountll(word);
    }
    return n;
}

void azint_learn(struct azint_pass *pass, struct cpu_pool *pool)
{
    struct azint_learnt *learnt = azint_learnt_of(pass->plan);
    unsigned idle = IDLE, next = IDLE;
    if (pass->learnt || !can_learn(pass) || !atomic_compare_exchange_strong(&learnt->state, &idle, BUSY))
        return;
    uint32_t *counts = (uint32_t *)((uint8_t *)learnt + learnt->counts);
    learnt->n = 0;
    for (size_t s = 0; s < pass->plan->n_strips; s++) {
        uint8_t *bits = azint_learnt_bits(learnt, s);
        if (!learnt->seen)
            memset(bits, 0xff, AZINT_STRIP_BYTES);
        agree_on_strip(pass, bits, s);
        learnt->n += counts[s] = count_bits(bits);
    }
    /* Frames that were all damaged have left bits of pixels that do not even exist; they count as nothing learnt. */
    for (unsigned f = 0; f < pass->n_frames; f++)
        learnt->seen += atomic_load(&pass->frames[f].damaged) == UINT32_MAX;
    if (learnt->seen && !learnt->n)
        next = NOTHING;
    if (learnt->seen >= ENOUGH && learnt->n) {
        learnt->what = azint_loss_of(pass);
        azint_sum_learnt(learnt, pass, pool);
        next = READY;
    }
    atomic_store_explicit(&learnt->state, next, memory_order_release);
}
