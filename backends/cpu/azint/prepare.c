/* prepare.c - prepare: canonical runs (azint_format.h) to the CPU's own layout (cpu_azint.h).
 *
 * Strips are built independently, by all threads, each in memory that its thread has for that and that stays in a
 * cache, and move from there into the blob, behind one another as they are done.  How large the blob becomes is known
 * at the end: memory is mapped for as many entries as there are weights, of which what nobody has written to takes
 * none, and what is left of it goes back.  A strip with very many weights is built slice after slice of its bins,
 * because an entry takes more than twice as much while it is listed.
 * A plan whose strips do not fit into memory gets none: few.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include "cpu_azint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* One (group, bin) and its four weights. */
struct entry {
    uint32_t bin;
    uint16_t group;
    uint16_t mask;
    uint32_t c[4];
};

/* A strip's finished tables, on the way to the blob, where they stand without gaps.  A thread's, for one strip after
 * the other. */
struct piece {
    uint8_t *memory;
    size_t size; /* of the memory, of which what nobody has written to takes none */
    bool open;   /* the strip is laid out in it */
    struct azint_strip strip; /* offsets from `memory` */
};

/* Consecutive bins of a strip that are built at once. */
struct slice {
    uint32_t first, end;
};

struct builder {
    const hcy_azint_head *head;
    const uint8_t *runs;
    const uint64_t *starts;
    size_t runs_size;
    bool unit;
    uint8_t *blob;
    size_t room;
    uint8_t *live; /* in the blob, as are: */
    struct azint_strip *strips;
    size_t n_strips;
    atomic_size_t end; /* of what is in the blob */
    atomic_size_t done_weights, done_bytes; /* of strips and slices that are built */
    atomic_size_t need;               /* what there was no memory for; 0: it has not been found out */
    atomic_int status; /* 0, HCY_ENOMEM, HCY_EINVAL */
    atomic_bool not_unit;
};

/* A thread's growing list.  The entries of a group of pixels stand together, from `first` on.  Runs go along the
 * bins, so an entry that is looked for mostly stands behind the last one; else it is looked up by its bin, where there
 * are many.  A pixel may have a bin several times: entries of one bin are chained, and while that pixel is listed the
 * table leads to the last of them that is known to have it. */
struct list {
    struct entry *entries;
    /* For sorting; until then `other` has the bin's next entry, as slots have entries. */
    uint32_t *order, *other;
    size_t n, room, first;
    size_t last;              /* the entry found last */
    uint32_t lowest, highest; /* bins of the group */
    uint32_t *slots;          /* hash table: 1 + an entry's place behind `first`, or 0; a power of two */
    size_t n_slots, slots_room, n_indexed; /* entries that are in it */
    bool moved; /* not all slots lead to the first entry of their bin */
};
#define FEW_ENTRIES 32u
#define MUCH_MEMORY  ((size_t)4 << 20)  /* of one piece */
#define SLICE        ((size_t)1 << 20)  /* weights that are listed at once, in 32 MiB at most */
#define MOST_SLICES  64u                /* of a strip: each goes over all of its runs */
#define MOVED        ((size_t)16 << 20) /* bytes of a piece that are there twice as it moves */
#define KEPT         ((size_t)2 << 20)  /* larger pieces are given back when they have moved */

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
    list->moved = false;
}

/* For the next pixel all entries are free. */
static void list_next_pixel(struct list *list)
{
    list->n_slots = list->moved ? 0 : list->n_slots;
    list->moved = false;
}

/* Where the group's entries are looked through for this bin: if they are many, from its slot on and along the chain. */
static bool list_from(struct list *list, uint32_t bin, size_t *from, uint32_t **slot)
{
    *from = list->n;
    *slot = NULL;
    /* A bin beyond those of the group is a new one. */
    if (bin < list->lowest || bin > list->highest)
        return true;
    *from = list->first;
    if (list->n - list->first < FEW_ENTRIES)
        return true;
    if (!list_index(list))
        return false;
    *slot = list_slot(list, bin);
    *from = **slot ? list->first + **slot - 1 : list->n;
    return true;
}

static struct entry *list_append(struct list *list, uint16_t group, uint32_t bin)
{
    if (list->n == list->room && !list_grow(list))
        return NULL;
    list->lowest = bin < list->lowest ? bin : list->lowest;
    list->highest = bin > list->highest ? bin : list->highest;
    list->last = list->n;
    list->other[list->n] = 0;
    list->entries[list->n] = (struct entry){ .bin = bin, .group = group };
    return &list->entries[list->n++];
}

/* The entry of (group, bin) with pixel p still free. */
static struct entry *list_find(struct list *list, uint16_t group, uint32_t bin, unsigned p)
{
    struct entry *entries = list->entries;
    size_t at = list->last + 1, before = SIZE_MAX; /* the last entry of the bin that has the pixel already */
    uint32_t *slot;
    /* A pixel's run mostly goes along the bins of its neighbour's, so the next entry is tried first. */
    if (at < list->n && entries[at].bin == bin && !entries[at].c[p]) {
        list->last = at;
        return &entries[at];
    }
    if (!list_from(list, bin, &at, &slot))
        return NULL;
    while (at < list->n && (entries[at].bin != bin || entries[at].c[p])) {
        before = entries[at].bin == bin ? at : before;
        at = !slot ? at + 1 : list->other[at] ? list->first + list->other[at] - 1 : list->n;
    }
    /* The next search for the bin begins there, or a pixel that has it a million times would take a million searches of
     * that length. */
    if (slot && before != SIZE_MAX) {
        *slot = (uint32_t)(before - list->first) + 1;
        list->moved = true;
    }
    if (at < list->n) {
        list->last = at;
        return &entries[at];
    }
    struct entry *made = list_append(list, group, bin);
    if (made && before != SIZE_MAX)
        list->other[before] = (uint32_t)(list->last - list->first) + 1;
    return made;
}

/* The runs of one pixel, bounds-checked, in the slice's bins; *at moves on.  0 or HCY_E*. */
static int add_pixel(struct builder *b, struct list *list, struct slice slice, uint64_t pixel, size_t *at)
{
    struct azint_run r;
    list_next_pixel(list);
    do {
        if (!azint_run_next(&r, at, b->runs, b->runs_size, b->head->n_bins))
            return HCY_EINVAL;
        if (r.n)
            b->live[pixel / 8] |= (uint8_t)(1u << pixel % 8);
        uint32_t k = r.bin < slice.first ? slice.first - r.bin : 0;
        uint32_t end = r.bin + r.n > slice.end ? slice.end : r.bin + r.n;
        for (; r.bin + k < end; k++) {
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

/* Does a segment end with entry i of the list, which is entry `before` + i of the strip? */
static bool seg_ends(const struct list *list, size_t before, size_t i)
{
    return i + 1 == list->n || (before + i + 1) % AZINT_CHUNK == 0 ||
           list->entries[list->order[i]].bin != list->entries[list->order[i + 1]].bin;
}

/* One digit of each of the four pixels. */
static void put_digits(uint8_t *to, const uint32_t c[4], unsigned shift)
{
    to[0] = (uint8_t)(c[0] >> shift);
    to[1] = (uint8_t)(c[1] >> shift);
    to[2] = (uint8_t)(c[2] >> shift);
    to[3] = (uint8_t)(c[3] >> shift);
}

/* Digits stand together, as struct azint_strip has them.  Written out: in a loop they took a fourth of all building. */
static void put_strip_entry(const struct builder *b, const struct entry *e, uint16_t *index, uint8_t *weights)
{
    *index = b->unit ? (uint16_t)(e->group << 4 | e->mask) : e->group;
    if (b->unit)
        return;
    put_digits(weights, e->c, 0);
    put_digits(weights + 4, e->c, 8);
    put_digits(weights + 8, e->c, 16);
}

/* Is there room for `bytes` of tables of so many weights, and for those to come if they are alike? */
static bool leaves_room(struct builder *b, size_t bytes, size_t weights)
{
    size_t done = atomic_fetch_add(&b->done_bytes, bytes) + bytes;
    size_t n = atomic_fetch_add(&b->done_weights, weights) + weights;
    if (bytes < MUCH_MEMORY || !n)
        return true;
    /* What is done stands for what is to come, and is no longer among what is left. */
    double all = (double)done / (double)n * (double)b->head->n_weights;
    uint64_t left = hcy_memory_left();
    if (all - (double)(done - bytes) + (double)MOVED <= (double)left)
        return true;
    atomic_store(&b->need, (size_t)all);
    return false;
}

/* Places for so many entries and segments from `at` on, and where they end. */
static size_t place_strip(const struct builder *b, struct azint_strip *strip, size_t at, size_t entries, size_t segs)
{
    strip->index = at;
    strip->weights = strip->index + azint_up64(2 * entries + AZINT_PAD);
    strip->segs = strip->weights + (b->unit ? 0 : azint_up64(12 * entries + AZINT_PAD));
    strip->blocks = strip->segs + azint_up64(segs * sizeof(struct azint_seg));
    return strip->blocks + azint_up64(azint_block_words(b->head->n_bins) * sizeof(uint64_t));
}

static void close_piece(struct piece *piece)
{
    if (piece->memory)
        munmap(piece->memory, piece->size);
    piece->memory = NULL;
    piece->size = 0;
}

/* Makes it a piece for so many entries and segments, at most.  Its memory is mapped, so that it goes back to the system
 * bit by bit, which free() does not promise, and is counted only where it is written. */
static int open_piece(const struct builder *b, struct piece *piece, size_t entries, size_t segs)
{
    size_t size = place_strip(b, &piece->strip, 0, entries, segs);
    if (size > piece->size) {
        close_piece(piece);
        size = size < KEPT ? KEPT : size;
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return HCY_ENOMEM;
        piece->memory = memory;
        piece->size = size;
    }
    /* The strip before has left its own. */
    memset(piece->memory + piece->strip.blocks, 0, azint_block_words(b->head->n_bins) * sizeof(uint64_t));
    piece->open = true;
    return 0;
}

/* Writes the sorted list, one of `n` slices of a strip with so many weights, behind what the piece has. */
static int put_slice(struct builder *b, const struct list *list, size_t n, size_t weights, struct piece *piece)
{
    struct azint_strip *strip = &piece->strip;
    size_t before = strip->n_entries, n_segs = 0;
    for (size_t i = 0; i < list->n; i++)
        n_segs += seg_ends(list, before, i);
    if (!leaves_room(b, list->n * (b->unit ? 2 : 14) + n_segs * sizeof(struct azint_seg), weights / n))
        return HCY_ENOMEM;
    /* The first slice opens the piece for all of them: for no more entries than weights, nor segments than that many
     * entries of so many bins can have. */
    size_t most = n > 1 ? weights : list->n, most_segs = n > 1 ? b->head->n_bins + weights / AZINT_CHUNK + n : n_segs;
    if (!piece->open && open_piece(b, piece, most, most_segs))
        return HCY_ENOMEM;
    uint16_t *index = (uint16_t *)(piece->memory + strip->index) + before;
    uint8_t *to = piece->memory + strip->weights + 12 * before;
    struct azint_seg *segs = (struct azint_seg *)(piece->memory + strip->segs) + strip->n_segs;
    uint64_t *blocks = (void *)(piece->memory + strip->blocks);
    for (size_t i = 0; i < list->n; i++) {
        const struct entry *e = &list->entries[list->order[i]];
        put_strip_entry(b, e, index + i, to + 12 * i);
        blocks[e->bin / AZINT_BLOCK_BINS / 64] |= (uint64_t)1 << e->bin / AZINT_BLOCK_BINS % 64;
        if (seg_ends(list, before, i))
            *segs++ = (struct azint_seg){ e->bin, (uint32_t)(before + i) + 1 };
    }
    strip->n_entries += (uint32_t)list->n;
    strip->n_segs += (uint32_t)n_segs;
    return 0;
}

/* Lists what the strip's pixels have in the slice's bins. */
static int list_slice(struct builder *b, struct list *list, size_t strip, struct slice slice)
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
        int status = add_pixel(b, list, slice, pixel, &at);
        if (status)
            return status;
    }
    /* Nor do they lead into the next strip's: pieces have room for the weights between its starts, and whoever walks
     * along all runs takes them one strip behind the other. */
    if (at != b->starts[(end + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY])
        return HCY_EINVAL;
    sort_by_bin(list, b->head->n_bins);
    return 0;
}

/* The bins from the first to the last that the runs in [at, end) name. */
static struct slice find_bins(const struct builder *b, size_t at, size_t end)
{
    struct slice bins = { UINT32_MAX, 0 };
    struct azint_run r;
    /* A strip of a large detector may have a small part of the bins, which alone is worth cutting. */
    while (at < end && azint_run_next(&r, &at, b->runs, b->runs_size, b->head->n_bins)) {
        bins.first = r.n && r.bin < bins.first ? r.bin : bins.first;
        bins.end = r.n && r.bin + r.n > bins.end ? r.bin + r.n : bins.end;
    }
    return bins.first < bins.end ? bins : (struct slice){ 0, b->head->n_bins };
}

/* Moves `size` bytes to the blob and gives their pages back as it goes, if they are many. */
static void move_table(uint8_t *to, uint8_t *from, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t n; size; size -= n, to += n, from += n) {
        n = size < MOVED ? size : MOVED;
        memcpy(to, from, n);
        /* Whole pages alone: what shares one with bytes behind these is still needed. */
        size_t before = (page - (uintptr_t)from % page) % page;
        if (n == MOVED)
            (void)madvise(from + before, (n - before) / page * page, MADV_DONTNEED);
    }
}

/* The strip's tables to the end of the blob, in whatever order strips are done. */
static int move_piece(struct builder *b, struct piece *piece, size_t strip)
{
    const size_t words = azint_block_words(b->head->n_bins);
    const struct azint_strip *from = &piece->strip;
    struct azint_strip *to = &b->strips[strip];
    size_t size = place_strip(b, to, 0, from->n_entries, from->n_segs), at = atomic_fetch_add(&b->end, size);
    if (size > b->room || at > b->room - size)
        return HCY_EINVAL;
    *to = *from;
    place_strip(b, to, at, from->n_entries, from->n_segs);
    /* What is behind the tables stays zero, as the blob's memory is: kernels read whole vectors of it. */
    const uint64_t tables[][3] = { { to->index, from->index, 2 * (uint64_t)from->n_entries },
                                   { to->weights, from->weights, b->unit ? 0 : 12 * (uint64_t)from->n_entries },
                                   { to->segs, from->segs, from->n_segs * sizeof(struct azint_seg) },
                                   { to->blocks, from->blocks, words * sizeof(uint64_t) } };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        move_table(b->blob + tables[i][0], piece->memory + tables[i][1], tables[i][2]);
    piece->open = false;
    piece->strip = (struct azint_strip){ 0 };
    /* Pieces and blob together are never much more than the plan. */
    if (piece->size > KEPT)
        close_piece(piece);
    return 0;
}

static int build_strip(struct builder *b, struct list *list, struct piece *piece, size_t strip)
{
    const size_t step = AZINT_STRIP / HCY_AZINT_START_EVERY, last = (b->head->n_pixels + HCY_AZINT_START_EVERY - 1) /
                                                                     HCY_AZINT_START_EVERY;
    size_t begin = b->starts[strip * step], end = b->starts[(strip + 1) * step < last ? (strip + 1) * step : last];
    size_t weights = (end - begin) / 3, n = weights / SLICE + 1;
    struct slice all = { 0, b->head->n_bins };
    int status = 0;
    /* Entries are counted by 32 bits. */
    if (weights > UINT32_MAX) {
        atomic_store(&b->need, weights);
        return HCY_ENOMEM;
    }
    n = n < MOST_SLICES ? n : MOST_SLICES;
    if (n > 1)
        all = find_bins(b, begin, end);
    /* Slices follow one another in the order of their bins, so the strip's entries are sorted as one list would be. */
    for (size_t i = 0; i < n && !status && !atomic_load(&b->status); i++) {
        uint64_t width = all.end - all.first;
        struct slice slice = { all.first + (uint32_t)(width * i / n), all.first + (uint32_t)(width * (i + 1) / n) };
        status = list_slice(b, list, strip, slice);
        if (!status)
            status = put_slice(b, list, n, weights, piece);
    }
    return status || !piece->open ? status : move_piece(b, piece, strip);
}

static void build_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct builder *b = context;
    struct list list = { 0 };
    struct piece piece = { 0 };
    int status = list_grow(&list) ? 0 : HCY_ENOMEM;
    (void)thread;
    /* The list and the piece are used for all strips of the range; one failure stops all threads. */
    for (size_t s = begin; s < end && !status && !atomic_load(&b->status); s++)
        status = build_strip(b, &list, &piece, s);
    list_free(&list);
    close_piece(&piece);
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

void azint_lay_head(struct azint_plan *plan)
{
    plan->strips = plan->live + azint_up64((uint64_t)plan->n_strips * AZINT_STRIP_BYTES + AZINT_PAD);
    plan->learnt = azint_learnt_size(plan) ? plan->strips + azint_up64(plan->n_strips * sizeof(struct azint_strip)) : 0;
}

size_t azint_head_size(const struct azint_plan *plan)
{
    return plan->strips + azint_up64(plan->n_strips * sizeof(struct azint_strip)) + azint_up64(azint_learnt_size(plan));
}

/* Bytes that all strips' tables have at most.  0 or HCY_ERANGE. */
static int most_tables(size_t *bytes, const struct builder *b)
{
    const size_t n_pixels = (size_t)b->head->n_pixels, n_bins = b->head->n_bins;
    struct azint_strip none;
    size_t entries, segs, strip = place_strip(b, &none, 0, 0, 0) + 4 * AZINT_PAD, strips;
    /* A run is a word and three bytes a weight, and each pixel has one; a strip has no more entries than weights. */
    size_t weights = b->runs_size / 4 > n_pixels ? (b->runs_size - 4 * n_pixels) / 3 : 0;
    /* Segments end with bins and chunks, and each has an entry. */
    int status = hcy_size_mul(&segs, b->n_strips, n_bins + 1);
    if (status || segs > weights)
        segs = weights;
    else if ((segs += weights / AZINT_CHUNK) > weights)
        segs = weights;
    status = hcy_size_mul(&entries, weights, b->unit ? 2 : 14);
    if (!status)
        status = hcy_size_mul(&segs, segs, sizeof(struct azint_seg));
    if (!status)
        status = hcy_size_mul(&strips, b->n_strips, strip);
    if (!status)
        status = hcy_size_add(bytes, entries, segs);
    return status ? status : hcy_size_add(bytes, *bytes, strips);
}

/* Maps the blob, with room for whatever the runs may become, and lays out what stands before the strips' tables. */
static int open_blob(struct builder *b, const hcy_span *spans)
{
    struct azint_plan plan = azint_plan_of(spans);
    plan.unit = b->unit;
    azint_lay_head(&plan);
    const size_t tables = azint_head_size(&plan);
    if (most_tables(&b->room, b) || hcy_size_add(&b->room, b->room, tables))
        return hcy_fail(HCY_ERANGE, "azint: a plan of %zu strips and %u bins", b->n_strips, b->head->n_bins);
    b->blob = cpu_blob_map(b->room);
    if (!b->blob)
        return hcy_fail(HCY_ENOMEM, "azint: no memory for a plan of up to %zu bytes", b->room);
    memcpy(b->blob, &plan, sizeof plan);
    azint_learnt_init((struct azint_plan *)b->blob);
    b->live = b->blob + plan.live;
    b->strips = (void *)(b->blob + plan.strips);
    atomic_init(&b->end, tables);
    return 0;
}

/* Makes the strips of all pixels; what there is no memory for is left in b->need. */
static int build_strips(struct builder *b, struct cpu_pool *pool, const hcy_span *spans)
{
    /* Whether all weights are 1 decides on the layout of every strip, so it is found out first. */
    cpu_pool_for(pool, b->n_strips, 8, unit_range, b);
    b->unit = !atomic_load(&b->not_unit);
    /* As if every four pixels had the same bins. */
    size_t least = (size_t)(b->head->n_weights / 4 * (b->unit ? 2 : 14));
    if (least > MUCH_MEMORY && least > hcy_memory_left()) {
        atomic_store(&b->need, least);
        return HCY_ENOMEM;
    }
    int status = open_blob(b, spans);
    if (status)
        return status;
    cpu_pool_for(pool, b->n_strips, 4, build_range, b);
    /* Error records belong to the calling thread, so the threads of the pool leave only a status. */
    if (atomic_load(&b->status) == HCY_EINVAL)
        return hcy_fail(HCY_EINVAL, "azint: the plan's runs are not well formed");
    if (atomic_load(&b->need))
        return HCY_ENOMEM;
    return atomic_load(&b->status) ? hcy_fail(HCY_ENOMEM, "azint: no memory to prepare the plan") : 0;
}

static int fail_plan_memory(const struct builder *b, uint64_t need)
{
    return hcy_fail(HCY_ENOMEM, "azint: the plan's %llu weights take %llu MiB or more on this device, and %llu MiB are left: "
                    "take fewer bins, or no splitting", (unsigned long long)b->head->n_weights,
                    (unsigned long long)(need >> 20), (unsigned long long)(hcy_memory_left() >> 20));
}

int azint_prepare_strips(void **blob, size_t *size, struct cpu_pool *pool, const hcy_span *spans, size_t n)
{
    struct builder b = { 0 };
    int status = azint_check_spans(spans, n);
    if (status)
        return status;
    b.head = spans[0].data;
    b.runs = spans[1].data;
    b.runs_size = spans[1].size;
    b.starts = spans[2].data;
    b.n_strips = (size_t)((b.head->n_pixels + AZINT_STRIP - 1) / AZINT_STRIP);
    if (b.n_strips > UINT32_MAX)
        return hcy_fail(HCY_ENOMEM, "azint: no memory to prepare a plan of %zu strips", b.n_strips);
    if (azint_kept(blob, size, pool, spans, n))
        return 0;
    status = build_strips(&b, pool, spans);
    if (atomic_load(&b.need))
        status = fail_plan_memory(&b, atomic_load(&b.need));
    if (status) {
        cpu_blob_free(b.blob, b.room);
        return status;
    }
    *size = atomic_load(&b.end);
    *blob = b.blob;
    cpu_blob_trim(b.blob, *size);
    azint_keep(pool, spans, n, b.blob, *size);
    return 0;
}

int azint_prepare(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans,
                  size_t n)
{
    const hcy_error before = *hcy_last_error();
    int status = azint_prepare_strips(blob, size, pool, spans, n);
    if (status != HCY_ENOMEM)
        return status;
    /* Strips take several times what the runs do.  Without them frames take longer, and have the same bits, so that is
     * no failure. */
    hcy_fail_again(&before);
    return azint_prepare_few(blob, size, pool, simd, spans, n);
}
