/* prepare.c - prepare: canonical runs (azint_format.h) to the CPU's own layout (cpu_azint.h).
 *
 * Strips are built independently, by all threads, each into mapped memory of its own, which moves into the
 * blob piece by piece: so building takes little more memory than the plan.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include "cpu_azint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAGIC 0x31544e495a414348u

/* One (group, bin) and its four weights. */
struct entry {
    uint32_t bin;
    uint16_t group;
    uint16_t mask;
    uint32_t c[4];
};

/* A strip's finished tables, on the way to the blob. */
struct piece {
    uint8_t *memory;
    size_t size;
    struct azint_strip strip; /* offsets from `memory` */
};

struct builder {
    const hcy_azint_head *head;
    const uint8_t *runs;
    const uint64_t *starts;
    size_t runs_size;
    bool unit;
    uint8_t *live;
    struct piece *pieces;
    uint8_t *blob;
    size_t *places;
    size_t n_strips;
    atomic_size_t n_done, done_bytes; /* of strips that are built */
    atomic_size_t need;               /* what there was no memory for; 0: it has not been found out */
    atomic_int status; /* 0, HCY_ENOMEM, HCY_EINVAL */
    atomic_bool not_unit;
};

/* A thread's growing list.  The entries of a group of pixels stand together, from `first` on.  Runs go along the
 * bins, so an entry that is looked for mostly stands behind the last one; else it is looked up by its bin, where there
 * are many. */
struct list {
    struct entry *entries;
    uint32_t *order, *other;
    size_t n, room, first;
    size_t last;              /* the entry found last */
    uint32_t lowest, highest; /* bins of the group */
    uint32_t *slots;          /* hash table: 1 + an entry's place behind `first`, or 0; a power of two */
    size_t n_slots, slots_room, n_indexed; /* entries that are in it */
};
#define FEW_ENTRIES 32u
#define MUCH_MEMORY ((size_t)4 << 20) /* of one piece */

static bool list_grow(struct list *list)
{
    size_t room = list->room ? list->room * 2 : 1u << 16;
    void *entries = realloc(list->entries, room * sizeof *list->entries);
    if (entries)
        list->entries = entries;
    void *order = realloc(list->order, room * sizeof *list->order);
    if (order)
        list->order = order;
    void *other = realloc(list->other, room * sizeof *list->other);
    if (other)
        list->other = other;
    /* Whatever could be grown stays in the list, for list_free(). */
    if (!entries || !order || !other)
        return false;
    list->room = room;
    return true;
}

static void list_free(struct list *list)
{
    free(list->entries);
    free(list->order);
    free(list->other);
    free(list->slots);
}

/* The slot of the group's first entry of this bin, or the one where it belongs. */
static uint32_t *list_slot(const struct list *list, uint32_t bin)
{
    size_t last = list->n_slots - 1, s = (size_t)((bin * 0x9e3779b97f4a7c15u) >> 32) & last;
    /* list_index() leaves half of the slots free, so the search ends. */
    while (list->slots[s] && list->entries[list->first + list->slots[s] - 1].bin != bin)
        s = (s + 1) & last;
    return &list->slots[s];
}

/* Brings the table up to date, with room for twice as many entries as the group has. */
static bool list_index(struct list *list)
{
    size_t n = list->n - list->first, n_slots = 4 * FEW_ENTRIES;
    while (n_slots < 4 * n)
        n_slots *= 2;
    if (n_slots > list->slots_room) {
        uint32_t *slots = realloc(list->slots, n_slots * sizeof *slots);
        if (!slots)
            return false;
        list->slots = slots;
        list->slots_room = n_slots;
    }
    /* A table that is made anew has twice the room it needs, so that this stays rare. */
    if (2 * n > list->n_slots) {
        list->n_slots = n_slots;
        list->n_indexed = 0;
        memset(list->slots, 0, n_slots * sizeof *list->slots);
    }
    /* Entries are only appended, so those that are missing are the last ones; the first entry of a bin keeps its
     * slot. */
    for (; list->n_indexed < n; list->n_indexed++) {
        uint32_t *slot = list_slot(list, list->entries[list->first + list->n_indexed].bin);
        *slot = *slot ? *slot : (uint32_t)list->n_indexed + 1;
    }
    return true;
}

static void list_next_group(struct list *list)
{
    list->first = list->last = list->n;
    list->lowest = UINT32_MAX;
    list->highest = 0;
    list->n_slots = 0;
}

/* Where the group's entries are looked through for this bin: at the first one that has it, if they are many. */
static bool list_from(struct list *list, uint32_t bin, size_t *from)
{
    *from = list->n;
    /* A bin beyond those of the group is a new one. */
    if (bin < list->lowest || bin > list->highest)
        return true;
    *from = list->first;
    if (list->n - list->first < FEW_ENTRIES)
        return true;
    if (!list_index(list))
        return false;
    uint32_t slot = *list_slot(list, bin);
    *from = slot ? list->first + slot - 1 : list->n;
    return true;
}

static struct entry *list_append(struct list *list, uint16_t group, uint32_t bin)
{
    if (list->n == list->room && !list_grow(list))
        return NULL;
    list->lowest = bin < list->lowest ? bin : list->lowest;
    list->highest = bin > list->highest ? bin : list->highest;
    list->last = list->n;
    list->entries[list->n] = (struct entry){ .bin = bin, .group = group };
    return &list->entries[list->n++];
}

/* The entry of (group, bin) with pixel p still free. */
static struct entry *list_find(struct list *list, uint16_t group, uint32_t bin, unsigned p)
{
    struct entry *entries = list->entries;
    size_t at = list->last + 1;
    /* A pixel's run mostly goes along the bins of its neighbour's, so the next entry is tried first. */
    if (at < list->n && entries[at].bin == bin && !entries[at].c[p]) {
        list->last = at;
        return &entries[at];
    }
    if (!list_from(list, bin, &at))
        return NULL;
    for (; at < list->n; at++) /* past the first one only where a pixel has a bin twice */
        if (entries[at].bin == bin && !entries[at].c[p]) {
            list->last = at;
            return &entries[at];
        }
    return list_append(list, group, bin);
}

/* The runs of one pixel, bounds-checked; *at moves on.  0 or HCY_E*. */
static int add_pixel(struct builder *b, struct list *list, uint64_t pixel, size_t *at)
{
    struct azint_run r;
    do {
        if (!azint_run_next(&r, at, b->runs, b->runs_size, b->head->n_bins))
            return HCY_EINVAL;
        if (r.n)
            b->live[pixel / 8] |= (uint8_t)(1u << pixel % 8);
        for (uint32_t k = 0; k < r.n; k++) {
            uint32_t c = azint_weight(&r, k);
            /* A weight of 0 would take an entry and add nothing. */
            if (!c)
                continue;
            struct entry *e = list_find(list, (uint16_t)(pixel % AZINT_STRIP / 4), r.bin + k, pixel % 4);
            if (!e)
                return HCY_ENOMEM;
            e->c[pixel % 4] = c;
            e->mask |= (uint16_t)(1u << pixel % 4);
        }
    } while (r.more);
    return 0;
}

/* Sorts the list by bin into list->order: a stable radix sort. */
static void sort_by_bin(struct list *list, uint32_t n_bins)
{
    enum { BITS = 11, SIZE = 1 << BITS };
    for (size_t i = 0; i < list->n; i++)
        list->order[i] = (uint32_t)i;
    /* A plan of few bins needs one turn. */
    for (unsigned shift = 0; shift < 24 && (shift == 0 || (n_bins - 1) >> shift); shift += BITS) {
        uint32_t count[SIZE + 1] = { 0 };
        for (size_t i = 0; i < list->n; i++)
            count[1 + (list->entries[i].bin >> shift & (SIZE - 1))]++;
        for (size_t i = 0; i < SIZE; i++)
            count[i + 1] += count[i];
        for (size_t i = 0; i < list->n; i++) {
            uint32_t e = list->order[i];
            list->other[count[list->entries[e].bin >> shift & (SIZE - 1)]++] = e;
        }
        uint32_t *swap = list->order;
        list->order = list->other;
        list->other = swap;
    }
}

static bool seg_ends(const struct list *list, size_t i)
{
    return i + 1 == list->n || (i + 1) % AZINT_CHUNK == 0 ||
           list->entries[list->order[i]].bin != list->entries[list->order[i + 1]].bin;
}

static void put_strip_entry(const struct builder *b, const struct entry *e, uint16_t *index, uint8_t *weights)
{
    *index = b->unit ? (uint16_t)(e->group << 4 | e->mask) : e->group;
    /* The digits of the four pixels stand together, as struct azint_strip has them. */
    for (unsigned k = 0; !b->unit && k < 12; k++)
        weights[k] = (uint8_t)(e->c[k % 4] >> 8 * (k / 4));
}

/* Is there room for a piece, and for those to come if they are alike?  (The blob takes them over one by one.) */
static bool leaves_room(struct builder *b, size_t size)
{
    size_t done = atomic_fetch_add(&b->done_bytes, size) + size, n = atomic_fetch_add(&b->n_done, 1) + 1;
    if (size < MUCH_MEMORY)
        return true;
    /* The mean of the strips that are done stands for those to come.  What is done is no longer among what is left,
     * and one piece is there twice while it moves. */
    uint64_t all = (uint64_t)((double)done / (double)n * (double)b->n_strips), left = hcy_memory_left();
    if (all - (done - size) + size <= left)
        return true;
    atomic_store(&b->need, (size_t)(all + size));
    return false;
}

/* Writes the sorted list as a piece of the plan. */
static int put_strip_piece(struct builder *b, const struct list *list, struct piece *piece)
{
    size_t n_segs = 0;
    for (size_t i = 0; i < list->n; i++)
        n_segs += seg_ends(list, i);
    struct azint_strip *strip = &piece->strip;
    strip->n_entries = (uint32_t)list->n;
    strip->n_segs = (uint32_t)n_segs;
    strip->index = 0;
    strip->weights = azint_up64(2 * list->n + AZINT_PAD);
    strip->segs = strip->weights + (b->unit ? 0 : azint_up64(12 * list->n + AZINT_PAD));
    strip->blocks = strip->segs + azint_up64(n_segs * sizeof(struct azint_seg));
    piece->size = strip->blocks + azint_up64(azint_block_words(b->head->n_bins) * sizeof(uint64_t));
    if (!leaves_room(b, piece->size))
        return HCY_ENOMEM;
    /* The memory is mapped so that it goes back to the system piece by piece, which free() does not promise. */
    void *memory = mmap(NULL, piece->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return HCY_ENOMEM;
    piece->memory = memory;
    struct azint_seg *segs = (void *)(piece->memory + strip->segs);
    uint64_t *blocks = (void *)(piece->memory + strip->blocks);
    for (size_t i = 0; i < list->n; i++) {
        const struct entry *e = &list->entries[list->order[i]];
        put_strip_entry(b, e, (uint16_t *)memory + i, piece->memory + strip->weights + 12 * i);
        blocks[e->bin / AZINT_BLOCK_BINS / 64] |= (uint64_t)1 << e->bin / AZINT_BLOCK_BINS % 64;
        if (seg_ends(list, i))
            *segs++ = (struct azint_seg){ e->bin, (uint32_t)i + 1 };
    }
    return 0;
}

static int build_strip(struct builder *b, struct list *list, size_t strip)
{
    uint64_t pixel = (uint64_t)strip * AZINT_STRIP;
    uint64_t end = pixel + AZINT_STRIP < b->head->n_pixels ? pixel + AZINT_STRIP : b->head->n_pixels;
    size_t at = b->starts[pixel / HCY_AZINT_START_EVERY];
    list->n = 0;
    for (; pixel < end; pixel++) {
        /* Outliers and lost pixels are looked up by the starts, which must agree with the runs. */
        if (pixel % HCY_AZINT_START_EVERY == 0 && at != b->starts[pixel / HCY_AZINT_START_EVERY])
            return HCY_EINVAL;
        if (pixel % 4 == 0)
            list_next_group(list);
        int status = add_pixel(b, list, pixel, &at);
        if (status)
            return status;
    }
    sort_by_bin(list, b->head->n_bins);
    return put_strip_piece(b, list, &b->pieces[strip]);
}

static void build_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct builder *b = context;
    struct list list = { 0 };
    int status = list_grow(&list) ? 0 : HCY_ENOMEM;
    (void)thread;
    /* The list is used for all strips of the range; one failure stops all threads. */
    for (size_t s = begin; s < end && !status && !atomic_load(&b->status); s++)
        status = build_strip(b, &list, s);
    list_free(&list);
    if (status)
        atomic_store(&b->status, status);
}

/* Do the pixels of these strips have weights of 1 alone?  (Bounds are checked when the strips are built.) */
static void unit_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct builder *b = context;
    uint64_t first = (uint64_t)begin * AZINT_STRIP, last = (uint64_t)end * AZINT_STRIP;
    size_t at = b->starts[first / HCY_AZINT_START_EVERY];
    size_t stop = last < b->head->n_pixels ? b->starts[last / HCY_AZINT_START_EVERY] : b->runs_size;
    (void)thread;
    /* One weight other than 1 decides.  The flag only ever rises, so its order with other memory does not matter. */
    while (at < stop && stop - at >= 4 && !atomic_load_explicit(&b->not_unit, memory_order_relaxed)) {
        struct azint_run r = azint_run_at(b->runs + at);
        at += 4 + 3 * (size_t)r.n;
        if (at > stop)
            return;
        for (uint32_t k = 0; k < r.n; k++)
            if (azint_weight(&r, k) != HCY_AZINT_ONE)
                atomic_store_explicit(&b->not_unit, true, memory_order_relaxed);
    }
}

static void move_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct builder *b = context;
    const struct azint_plan *plan = (const struct azint_plan *)b->blob;
    struct azint_strip *strips = (void *)(b->blob + plan->strips);
    (void)thread;
    for (size_t s = begin; s < end; s++) {
        struct piece *piece = &b->pieces[s];
        memcpy(b->blob + b->places[s], piece->memory, piece->size);
        strips[s] = piece->strip;
        strips[s].index += b->places[s];
        strips[s].weights += b->places[s];
        strips[s].segs += b->places[s];
        strips[s].blocks += b->places[s];
        /* Each piece is given back at once: pieces and blob together are never much more than the plan. */
        munmap(piece->memory, piece->size);
        piece->memory = NULL;
    }
}

int azint_check_spans(const hcy_span *spans, size_t n)
{
    const hcy_azint_head *head = n == HCY_AZINT_SPANS ? spans[0].data : NULL;
    if (!head || spans[0].size != sizeof *head ||
        (head->version != HCY_AZINT_VERSION && head->version != HCY_AZINT_VERSION_FULL))
        return hcy_fail(HCY_EINVAL, "azint: the plan's tables are not %d spans with a head of version %u",
                        HCY_AZINT_SPANS, HCY_AZINT_VERSION);
    /* Within these limits the sizes computed below cannot overflow. */
    if (!head->n_pixels || head->n_pixels > UINT64_MAX / 4 || !head->n_bins ||
        head->n_bins > HCY_AZINT_MAX_BINS)
        return hcy_fail(HCY_EINVAL, "azint: a plan of %llu pixels and %u bins",
                        (unsigned long long)head->n_pixels, head->n_bins);
    uint64_t n_starts = (head->n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1;
    if (spans[2].size / sizeof(uint64_t) != n_starts || spans[3].size / sizeof(float) != head->n_pixels)
        return hcy_fail(HCY_EINVAL, "azint: the plan's starts or norms are not those of %llu pixels",
                        (unsigned long long)head->n_pixels);
    for (int i = 4; i < HCY_AZINT_SPANS; i++)
        if (spans[i].size && spans[i].size / sizeof(float) != head->n_pixels)
            return hcy_fail(HCY_EINVAL, "azint: the plan's darks or variances are not those of %llu pixels",
                            (unsigned long long)head->n_pixels);
    if (head->dark_shift < 0 || head->dark_shift > 62)
        return hcy_fail(HCY_EINVAL, "azint: a dark shift of %d", (int)head->dark_shift);
    /* Kernels follow the starts without another check. */
    const uint64_t *starts = spans[2].data;
    for (uint64_t i = 0; i < n_starts; i++)
        if (starts[i] > spans[1].size || (i && starts[i] < starts[i - 1]))
            return hcy_fail(HCY_EINVAL, "azint: the plan's start %llu is out of order",
                            (unsigned long long)i);
    return 0;
}

struct azint_plan azint_plan_of(const hcy_span *spans)
{
    const hcy_azint_head *head = spans[0].data;
    return (struct azint_plan){ .magic = MAGIC,
                                .n_bins = head->n_bins,
                                .n_strips = (uint32_t)((head->n_pixels + AZINT_STRIP - 1) / AZINT_STRIP),
                                .n_pixels = head->n_pixels,
                                .live = azint_up64(sizeof(struct azint_plan)),
                                .runs = spans[1].data,
                                .starts = spans[2].data,
                                .norms = spans[3].data,
                                .darks = spans[4].size ? spans[4].data : NULL,
                                .variances = spans[5].size ? spans[5].data : NULL,
                                .dark_shift = head->dark_shift,
                                .variance_shift = head->variance_shift };
}

/* Lays the blob out and fills it from the pieces. */
static int fill_blob(struct builder *b, struct cpu_pool *pool, const hcy_span *spans, size_t n_strips,
                     void **blob, size_t *size)
{
    size_t live_size = azint_up64(n_strips * AZINT_STRIP_BYTES + AZINT_PAD);
    struct azint_plan plan = azint_plan_of(spans);
    plan.unit = b->unit;
    /* Behind the head and the list of strips each piece stands as it was built, moved by all threads. */
    plan.strips = plan.live + live_size;
    size_t total = plan.strips + azint_up64(n_strips * sizeof(struct azint_strip));
    for (size_t s = 0; s < n_strips; s++) {
        b->places[s] = total;
        total += b->pieces[s].size;
    }
    size_t learnt = azint_learnt_size(&plan);
    plan.learnt = learnt ? total : 0;
    total += learnt;
    b->blob = cpu_blob_alloc(total);
    if (!b->blob)
        return hcy_fail(HCY_ENOMEM, "azint: no memory for a plan of %zu bytes", total);
    memcpy(b->blob, &plan, sizeof plan);
    memcpy(b->blob + plan.live, b->live, live_size);
    azint_learnt_init((struct azint_plan *)b->blob);
    cpu_pool_for(pool, n_strips, 1, move_range, b);
    *blob = b->blob;
    *size = total;
    return 0;
}

static int fail_plan_memory(const struct builder *b, uint64_t need)
{
    return hcy_fail(HCY_ENOMEM, "azint: the plan's %llu weights take %llu MiB or more on this device, and %llu MiB are left: "
                    "take fewer bins, or no splitting", (unsigned long long)b->head->n_weights,
                    (unsigned long long)(need >> 20), (unsigned long long)(hcy_memory_left() >> 20));
}

int azint_prepare(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans,
                  size_t n)
{
    struct builder b = { 0 };
    int status = azint_check_spans(spans, n);
    (void)simd; /* one layout for all */
    if (status)
        return status;
    b.head = spans[0].data;
    b.runs = spans[1].data;
    b.runs_size = spans[1].size;
    b.starts = spans[2].data;
    size_t n_strips = (size_t)((b.head->n_pixels + AZINT_STRIP - 1) / AZINT_STRIP);
    b.n_strips = n_strips;
    b.live = calloc(1, azint_up64(n_strips * AZINT_STRIP_BYTES + AZINT_PAD));
    b.pieces = calloc(n_strips, sizeof *b.pieces);
    b.places = calloc(n_strips, sizeof *b.places);
    if (!b.live || !b.pieces || !b.places || n_strips > UINT32_MAX) {
        status = hcy_fail(HCY_ENOMEM, "azint: no memory to prepare a plan of %zu strips", n_strips);
        goto out;
    }
    /* Whether all weights are 1 decides on the layout of every strip, so it is found out first. */
    cpu_pool_for(pool, n_strips, 8, unit_range, &b);
    b.unit = !atomic_load(&b.not_unit);
    uint64_t least = b.head->n_weights / 4 * (b.unit ? 2 : 14); /* as if every four pixels had the same bins */
    if (least > MUCH_MEMORY && least > hcy_memory_left()) {
        status = fail_plan_memory(&b, least);
        goto out;
    }
    cpu_pool_for(pool, n_strips, 4, build_range, &b);
    /* Error records belong to the calling thread, so the threads of the pool leave only a status. */
    if (atomic_load(&b.status) == HCY_EINVAL)
        status = hcy_fail(HCY_EINVAL, "azint: the plan's runs are not well formed");
    else if (atomic_load(&b.need))
        status = fail_plan_memory(&b, atomic_load(&b.need));
    else if (atomic_load(&b.status))
        status = hcy_fail(HCY_ENOMEM, "azint: no memory to prepare the plan");
    else
        status = fill_blob(&b, pool, spans, n_strips, blob, size);
out:
    for (size_t s = 0; b.pieces && s < n_strips; s++)
        if (b.pieces[s].memory)
            munmap(b.pieces[s].memory, b.pieces[s].size);
    free(b.live);
    free(b.pieces);
    free(b.places);
    return status;
}

const struct azint_plan *azint_plan_at(const void *blob, size_t size)
{
    const struct azint_plan *plan = blob;
    return blob && size >= sizeof *plan && plan->magic == MAGIC ? plan : NULL;
}
