/* keep.c - a plan's strips on disk: where the plan is kept, what was built of it is kept beside it, and mapped the next
 * time.  So processes that integrate with the same plan build it once and share its pages; what they write to, the head
 * and what they learn, is their own.
 *
 * A file that is not what it should be is passed over and replaced by what is then built; that nothing can be kept is
 * no failure.  Its sum says that the strips are those that were written.  Whoever wrote a sum as well gets wrong
 * curves, but no kernel reads or writes beyond its memory: all that is followed without another check is checked here.
 * The runs are not looked at then: they are those of a plan that says where its tables are kept, and were checked when
 * it was made or read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise() of cache_map.h */
#endif
#include "cpu_azint.h"
#include "cache_map.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT 1u                   /* of the file; whoever changes what strips are raises it */
#define BLOB   65536                /* where it begins in the file: whole pages of any machine */
#define LEAST  ((size_t)1 << 20)    /* smaller ones are built as fast */
#define ENDING "-cpu"

struct keep_head {
    char magic[8];
    uint32_t format, bytes; /* of this structure */
    uint64_t size, sum;     /* of the blob; of it and of this head */
    hcy_azint_head plan;
    uint64_t runs_size, strips, learnt;
    uint32_t unit, end; /* end: 0 */
};
static const char magic[8] = "hcystrip";

/* The work of all threads on a blob, piece by piece or strip by strip. */
struct keep {
    const uint8_t *blob;
    size_t size, n_pieces, head; /* head: bytes before the strips' tables */
    uint64_t *sums;
    hcy_output *output; /* NULL: it is being read */
    atomic_bool failed;
};

static bool name_file(char *path, size_t size, const hcy_span *spans, size_t n)
{
    const hcy_span *name = &spans[HCY_AZINT_SPANS];
    if (n <= HCY_AZINT_SPANS || !name->size || name->size >= size - sizeof ENDING)
        return false;
    snprintf(path, size, "%.*s" ENDING, (int)name->size, (const char *)name->data);
    return true;
}

static struct keep_head head_of(const struct azint_plan *plan, size_t size, const hcy_span *spans)
{
    struct keep_head h;
    /* Padding is zero, for the sum covers the bytes of the structure. */
    memset(&h, 0, sizeof h);
    memcpy(h.magic, magic, sizeof magic);
    h.format = FORMAT;
    h.bytes = sizeof h;
    h.size = size;
    memcpy(&h.plan, spans[0].data, sizeof h.plan);
    h.runs_size = spans[1].size;
    h.strips = plan->strips;
    h.learnt = plan->learnt;
    h.unit = plan->unit;
    return h;
}

static void do_pieces(void *context, size_t begin, size_t end, unsigned thread)
{
    struct keep *keep = context;
    (void)thread;
    for (size_t i = begin; i < end && !atomic_load(&keep->failed); i++) {
        const size_t at = i * HCY__PIECE, n = keep->size - at < HCY__PIECE ? keep->size - at : HCY__PIECE;
        struct hcy__lines lines = hcy__lines_of(i);
        if (keep->output ? hcy_output_write(keep->output, keep->blob + at, n, BLOB + at)
                         : hcy__cache_fetch(keep->blob + at, n))
            atomic_store(&keep->failed, true);
        else
            hcy__lines_add(&lines, keep->blob + at, n);
        keep->sums[i] = hcy__lines_sum(&lines);
    }
}

/* Reads or writes all of the blob, and finds its sum with the head's.  False: that failed. */
static bool sum_blob(uint64_t *sum, struct keep *keep, const struct keep_head *head, struct cpu_pool *pool)
{
    struct keep_head h = *head;
    keep->n_pieces = (keep->size + HCY__PIECE - 1) / HCY__PIECE;
    keep->sums = calloc(keep->n_pieces, sizeof *keep->sums);
    if (!keep->sums)
        return false;
    cpu_pool_for(pool, keep->n_pieces, 1, do_pieces, keep);
    h.sum = hcy_cache_sum(keep->sums, keep->n_pieces * sizeof *keep->sums);
    *sum = hcy_cache_sum(&h, sizeof h);
    free(keep->sums);
    return !atomic_load(&keep->failed);
}

/* --- Writing --- */

/* Would a file of this name be mapped the next time? */
static bool is_of_use(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
    if (folder < 0)
        return false;
    bool stays = hcy__cache_stays(folder);
    close(folder);
    return stays;
}

void azint_keep(struct cpu_pool *pool, const hcy_span *spans, size_t n, void *blob, size_t size)
{
    char path[4096];
    const hcy_error before = *hcy_last_error(); /* that nothing is kept is nobody's failure */
    struct keep keep = { .blob = blob, .size = size };
    struct azint_plan plan;
    /* What cannot be mapped there, or would push its own plan out, would be written at every run. */
    if (size < LEAST || size + BLOB > hcy_cache_limit() / 2 ||
        !name_file(path, sizeof path, spans, n) || !is_of_use(path) || hcy_cache_begin(&keep.output, path))
        return;
    /* Addresses are this process's: the file has zeros in the place of the plan's head. */
    memcpy(&plan, blob, sizeof plan);
    memset(blob, 0, sizeof plan);
    struct keep_head h = head_of(&plan, size, spans);
    int status = sum_blob(&h.sum, &keep, &h, pool) ? 0 : HCY_EIO;
    if (!status)
        status = hcy_output_write(keep.output, &h, sizeof h, 0);
    memcpy(blob, &plan, sizeof plan);
    /* Who reads it sees all of it or nothing. */
    (void)hcy_cache_end(keep.output, status);
    hcy_fail_again(&before);
}

/* --- Reading --- */

/* Do `bytes` of a table from `at` on lie in the blob, behind its head, which is written to later? */
static bool lies_in(const struct keep *keep, uint64_t at, uint64_t bytes)
{
    return at % 64 == 0 && at >= keep->head && at <= keep->size && bytes <= keep->size - at;
}

/* Segments follow one another up to the last entry, cut where chunks end, and name bins that the strip says it has. */
static bool segments_are_sound(const struct azint_plan *plan, const struct azint_strip *strip)
{
    const struct azint_seg *seg = azint_at(plan, strip->segs);
    const uint64_t *blocks = azint_at(plan, strip->blocks);
    uint32_t at = 0;
    for (uint32_t i = 0; i < strip->n_segs; at = seg[i++].end) {
        const uint32_t block = seg[i].bin / AZINT_BLOCK_BINS;
        if (seg[i].bin >= plan->n_bins || seg[i].end <= at || at / AZINT_CHUNK != (seg[i].end - 1) / AZINT_CHUNK ||
            !(blocks[block / 64] >> block % 64 & 1))
            return false;
    }
    const size_t words = azint_block_words(plan->n_bins), last = (plan->n_bins - 1) / AZINT_BLOCK_BINS;
    return at == strip->n_entries && !(blocks[words - 1] & ~(UINT64_MAX >> (63 - last % 64)));
}

static bool strip_is_sound(const struct keep *keep, const struct azint_strip *strip)
{
    const struct azint_plan *plan = (const void *)keep->blob;
    const uint64_t n = strip->n_entries, words = azint_block_words(plan->n_bins);
    if (!lies_in(keep, strip->index, 2 * n + AZINT_PAD) ||
        (!plan->unit && !lies_in(keep, strip->weights, 12 * n + AZINT_PAD)) ||
        !lies_in(keep, strip->segs, strip->n_segs * sizeof(struct azint_seg)) ||
        !lies_in(keep, strip->blocks, words * sizeof(uint64_t)) || !segments_are_sound(plan, strip))
        return false;
    /* Groups are those of a strip; a unit plan's have twelve bits in any case.  In the last one some may lie behind the
     * last pixel: rows of digits are whole strips', and deviation.c, which looks up norms, asks. */
    const uint16_t *index = azint_at(plan, strip->index);
    unsigned groups = 0;
    for (uint64_t i = 0; i < n; i++)
        groups |= index[i];
    return plan->unit || groups < AZINT_STRIP / 4;
}

static void check_strips(void *context, size_t begin, size_t end, unsigned thread)
{
    struct keep *keep = context;
    const struct azint_plan *plan = (const void *)keep->blob;
    (void)thread;
    for (size_t s = begin; s < end && !atomic_load(&keep->failed); s++)
        if (!strip_is_sound(keep, azint_strip_at(plan, s)))
            atomic_store(&keep->failed, true);
}

/* No pixel behind the last one may have weights. */
static bool live_ends(const struct azint_plan *plan)
{
    const uint8_t *live = azint_at(plan, plan->live);
    const uint64_t end = (uint64_t)plan->n_strips * AZINT_STRIP + 8 * AZINT_PAD;
    bool none = true;
    for (uint64_t pixel = plan->n_pixels; pixel < end; pixel++)
        none &= !(live[pixel / 8] >> pixel % 8 & 1);
    return none;
}

/* The mapped blob becomes the plan of these spans, if it holds together. */
static bool take_blob(struct keep *keep, const struct keep_head *h, struct cpu_pool *pool, const hcy_span *spans)
{
    struct azint_plan plan = azint_plan_of(spans);
    uint64_t sum;
    azint_lay_head(&plan);
    plan.unit = h->unit;
    keep->head = azint_head_size(&plan);
    if (h->strips != plan.strips || h->learnt != plan.learnt || h->unit > 1 ||
        keep->head > keep->size || !sum_blob(&sum, keep, h, pool) || sum != h->sum)
        return false;
    memcpy((void *)keep->blob, &plan, sizeof plan);
    cpu_pool_for(pool, plan.n_strips, 4, check_strips, keep);
    if (atomic_load(&keep->failed) || !live_ends((const void *)keep->blob))
        return false;
    azint_learnt_init((struct azint_plan *)keep->blob);
    return true;
}

bool azint_kept(void **blob, size_t *size, struct cpu_pool *pool, const hcy_span *spans, size_t n)
{
    char path[4096];
    struct keep_head h, want;
    int fd;
    if (!name_file(path, sizeof path, spans, n) || hcy_cache_open(&fd, path))
        return false;
    struct keep keep = { 0 };
    struct stat is;
    bool fits = pread(fd, &h, sizeof h, 0) == sizeof h && !fstat(fd, &is) && hcy__cache_can_map(fd);
    if (fits) {
        /* All but what the building finds out is what the spans say. */
        want = head_of(&(struct azint_plan){ .strips = h.strips, .learnt = h.learnt, .unit = h.unit }, h.size, spans);
        want.sum = h.sum;
        fits = !memcmp(&want, &h, sizeof h) && h.size % HCY__LINE == 0 && h.size <= (uint64_t)is.st_size &&
               (uint64_t)is.st_size - h.size == BLOB && h.size <= hcy_memory_left();
    }
    if (fits)
        keep = (struct keep){ .blob = cpu_blob_map_file(fd, BLOB, h.size), .size = h.size };
    /* Used now: plans and what is kept of them go by that. */
    if (keep.blob)
        (void)futimens(fd, NULL);
    close(fd);
    if (keep.blob && !take_blob(&keep, &h, pool, spans)) {
        cpu_blob_free((void *)keep.blob, h.size);
        return false;
    }
    *blob = (void *)keep.blob;
    *size = keep.size;
    return keep.blob != NULL;
}
