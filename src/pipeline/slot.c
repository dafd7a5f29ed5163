/* slot.c - the batches on their way to the devices: their memory, their filling, the list of those that are
 * ready.
 *
 * One slot is being filled at a time, by any number of producers; it is closed when it is full, when the ring is, or
 * when the frames end, and ready when the last producer has committed.  A slot is READY again if its device failed, or
 * does not take some of its frames.
 */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

#define MOST_BETWEEN 65536 /* bytes that are copied in vain between two chunks */
#define LEAST_BATCH  8 /* frames; smaller ones cost more in launches than devices that end together save */

int hcy__memory_create(struct pipe_memory *memory, hcy_device *home, size_t size)
{
    *memory = (struct pipe_memory){ NULL, NULL, size };
    int status = hcy_buffer_create(&memory->buffer, home, HCY_MEM_PINNED, size);
    if (!status)
        memory->host = hcy_buffer_host(memory->buffer);
    if (status != HCY_EUNSUPPORTED)
        return status;
    /* Whole pages: devices that import host memory import pages. */
    if (posix_memalign(&memory->host, 4096, size)) {
        memory->host = NULL;
        return hcy_fail(HCY_ENOMEM, "%zu bytes for a slot of the pipeline", size);
    }
    return 0;
}

void hcy__memory_free(struct pipe_memory *memory)
{
    if (memory->buffer)
        hcy_buffer_release(memory->buffer);
    else
        free(memory->host);
    *memory = (struct pipe_memory){ NULL, NULL, 0 };
}

/* --- Their life --- */

/* How each device's kernels get at the slot's chunks. */
static int view_slot(hcy_pipeline *p, struct pipe_slot *slot)
{
    const size_t n = hcy__n_devices(&p->workers);
    slot->views = calloc(n, sizeof *slot->views);
    if (!slot->views)
        return hcy_fail(HCY_ENOMEM, "the views of a slot");
    for (size_t i = 0; i < n; i++) {
        hcy_device *device = hcy__device_at(&p->workers, i);
        int status = 0;
        if (!hcy__device_reads_host(&p->workers, i))
            continue;
        /* Its own pinned memory a device knows already; every other device is shown it as the host's. */
        if (device == slot->home && slot->chunks.buffer)
            slot->views[i] = hcy_buffer_retain(slot->chunks.buffer);
        else
            status = hcy_buffer_import_host(&slot->views[i], device, slot->chunks.host, slot->chunks.size,
                                            NULL, NULL);
        if (status)
            return status;
    }
    return 0;
}

/* A table in which each frame has as many blocks as frames have asked for so far. */
static int create_table(hcy_pipeline *p, struct pipe_slot *slot)
{
    size_t bytes;
    int status = hcy_size_mul(&bytes, p->slots.stride, p->batch * sizeof(hcy_bslz4_block));
    if (status)
        return status;
    /* Each slot keeps the stride of its own table, as tables grow one by one. */
    slot->stride = p->slots.stride;
    return hcy__memory_create(&slot->blocks, slot->home, bytes ? bytes : sizeof(hcy_bslz4_block));
}

static int create_slot(hcy_pipeline *p, struct pipe_slot *slot, hcy_device *home)
{
    size_t frames;
    slot->home = home;
    int status = hcy_size_mul(&frames, p->batch, sizeof(hcy_bslz4_frame));
    if (status)
        return status;
    /* Kernels may load a few bytes past a chunk's end, so the last one has padding behind it. */
    status = hcy__memory_create(&slot->chunks, home, p->capacity + HCY_BSLZ4_PADDING);
    if (!status)
        status = hcy__memory_create(&slot->frames, home, frames);
    if (!status)
        status = create_table(p, slot);
    if (!status && !(slot->held = calloc(p->batch, sizeof *slot->held)))
        status = hcy_fail(HCY_ENOMEM, "a slot's list of %zu frames", p->batch);
    if (!status && !(slot->refused = calloc(hcy__n_devices(&p->workers), 1)))
        status = hcy_fail(HCY_ENOMEM, "a slot's list of %zu devices", hcy__n_devices(&p->workers));
    return status ? status : view_slot(p, slot);
}

/* Slots live at devices that must copy from them, if there are any: those gain from pinned memory of their
 * own. */
static hcy_device *choose_home(const hcy_pipeline *p, size_t i)
{
    const size_t copying = hcy__count_devices(&p->workers, 0);
    if (copying)
        return hcy__find_device(&p->workers, 0, i % copying);
    return hcy__find_device(&p->workers, 1, i % hcy__count_devices(&p->workers, 1));
}

int hcy__slots_create(hcy_pipeline *p, size_t n)
{
    /* Blocks of the default size; chunks with smaller ones overflow, and make the tables grow (open_slot). */
    int status = hcy_bslz4_block_count(&p->slots.stride, &p->source.coding, NULL, 0);
    if (status)
        return status;
    p->slots.all = calloc(n, sizeof *p->slots.all);
    if (!p->slots.all)
        return hcy_fail(HCY_ENOMEM, "%zu slots of the pipeline", n);
    p->slots.n = n;
    for (size_t i = 0; i < n; i++) {
        status = create_slot(p, &p->slots.all[i], choose_home(p, i));
        if (status)
            return status;
    }
    return 0;
}

void hcy__slots_destroy(hcy_pipeline *p)
{
    int kept = 0;
    for (size_t i = 0; i < p->slots.n; i++) {
        struct pipe_slot *slot = &p->slots.all[i];
        kept |= slot->kept;
        if (slot->kept)
            continue;
        /* What could not be made is NULL. */
        for (size_t w = 0; slot->views && w < hcy__n_devices(&p->workers); w++)
            hcy_buffer_release(slot->views[w]);
        free(slot->views);
        free(slot->held);
        free(slot->overflow.blocks);
        free(slot->refused);
        hcy__memory_free(&slot->chunks);
        hcy__memory_free(&slot->frames);
        hcy__memory_free(&slot->blocks);
    }
    if (kept)
        hcy__keep_for_ever(p->slots.all);
    else
        free(p->slots.all);
}

/* [lock] */
static void clear_slot(const hcy_pipeline *p, struct pipe_slot *slot)
{
    slot->state = SLOT_FREE;
    slot->closed = slot->again = 0;
    memset(slot->refused, 0, hcy__n_devices(&p->workers));
    slot->n = slot->used = slot->stored = slot->n_blocks = slot->pending = slot->n_held = slot->overflow.n = 0;
}

static void give_chunks_back(const hcy_pipeline *p, struct pipe_slot *slot, int status)
{
    for (size_t i = 0; i < slot->n_held; i++)
        hcy__chunk_give_back(p, &slot->held[i].chunk, status);
    slot->n_held = 0;
}

void hcy__slot_release(hcy_pipeline *p, struct pipe_slot *slot)
{
    /* The slot is still this worker's while the host's callbacks run, without the lock. */
    give_chunks_back(p, slot, 0);
    hcy__pipe_lock(&p->control);
    clear_slot(p, slot);
    if (p->batch > 1)
        hcy__pipe_wake(&p->control, PIPE_SPACE);
    else
        hcy__pipe_wake_one(&p->control, PIPE_SPACE);
    hcy__pipe_unlock(&p->control);
}

int hcy__slots_pop_held(struct pipe_slots *slots, struct pipe_chunk *chunk)
{
    for (size_t i = 0; i < slots->n; i++) {
        struct pipe_slot *slot = &slots->all[i];
        /* One that is being filled is nobody's when its producers have committed. */
        const int idle = slot->state == SLOT_READY || (slot->state == SLOT_FILLING && !slot->pending);
        if (idle && slot->n_held) {
            *chunk = slot->held[--slot->n_held].chunk;
            return 1;
        }
    }
    return 0;
}

void hcy__slots_empty(hcy_pipeline *p)
{
    for (size_t i = 0; i < p->slots.n; i++)
        give_chunks_back(p, &p->slots.all[i], HCY_ECANCELLED);
    /* Chunks have gone back first, as the host is called without the lock, and clearing forgets them. */
    hcy__pipe_lock(&p->control);
    p->slots.filling = p->slots.ready = NULL;
    p->slots.n_ready = 0;
    for (size_t i = 0; i < p->slots.n; i++)
        clear_slot(p, &p->slots.all[i]);
    hcy__pipe_unlock(&p->control);
}

/* --- Filling --- */

void hcy__slot_make_ready(hcy_pipeline *p, struct pipe_slot *slot)
{
    /* By their frames: the ring waits for the oldest, and slots that a device gave back are older than others. */
    struct pipe_slot **at = &p->slots.ready;
    while (*at && (*at)->first < slot->first)
        at = &(*at)->next;
    slot->next = *at;
    *at = slot;
    slot->state = SLOT_READY;
    p->slots.n_ready++;
    hcy__pipe_wake(&p->control, PIPE_WORK);
    /* No device takes it any more: a push gives its chunks back. */
    if (hcy__is_stopped(&p->control))
        hcy__pipe_wake(&p->control, PIPE_CHUNKS);
}

void hcy__slot_take(struct pipe_slots *slots, struct pipe_slot *slot)
{
    struct pipe_slot **at = &slots->ready;
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    slots->n_ready--;
    slot->state = SLOT_RUNNING;
}

struct pipe_slot *hcy__slot_close(hcy_pipeline *p)
{
    struct pipe_slot *slot = p->slots.filling;
    if (!slot)
        return NULL;
    p->slots.filling = NULL;
    slot->closed = 1;
    /* Else the last of its producers makes it ready. */
    if (!slot->pending)
        hcy__slot_make_ready(p, slot);
    return slot;
}

/* [lock] Batches shrink towards the end of a run, so that several devices end together; a short run is shared out. */
static size_t limit_batch(const hcy_pipeline *p)
{
    uint64_t left = hcy__frames_left(&p->reader), all = hcy__frames_of_run(&p->reader);
    uint64_t working = hcy__count_devices(&p->workers, 0) + hcy__count_devices(&p->workers, 1);
    uint64_t devices = working ? working : 1;
    /* Never less than LEAST_BATCH, unless the whole run has less for each device. */
    uint64_t share = (left + devices - 1) / devices, least = (all + devices - 1) / devices;
    least = least < LEAST_BATCH ? least : LEAST_BATCH;
    if (share < least)
        share = least;
    const size_t batch = hcy__batch_in_time(p);
    return share < batch ? (size_t)share : batch;
}

/* [lock] Frames have more blocks than the table was made for: chunks behind these will have as many. */
static void grow_table(hcy_pipeline *p, struct pipe_slot *slot)
{
    struct pipe_memory old = slot->blocks;
    const size_t stride = slot->stride;
    if (stride >= p->slots.stride)
        return;
    if (create_table(p, slot)) {
        slot->blocks = old;
        slot->stride = stride;
    } else {
        hcy__memory_free(&old);
    }
}

/* [lock] */
static struct pipe_slot *open_slot(hcy_pipeline *p, int in_place)
{
    /* One slot is filled at a time, so the ordinals of its frames follow each other from `first`. */
    for (size_t i = 0; i < p->slots.n; i++) {
        struct pipe_slot *slot = &p->slots.all[i];
        if (slot->state == SLOT_FREE) {
            /* Nobody has a place in it yet, so its table may move.  A table that does not grow overflows. */
            grow_table(p, slot);
            slot->state = SLOT_FILLING;
            slot->first = hcy__ring_accepted(&p->ring);
            slot->in_place = in_place;
            slot->limit = limit_batch(p);
            p->slots.filling = slot;
            return slot;
        }
    }
    return NULL;
}

/* [lock] Where a chunk goes on a device that copies it from the host's memory.  One that lies a little behind the last
 * one there keeps that distance, so that both go in one copy: copies of 2 MB reach 47 GB/s of a link on which long ones
 * reach 54. */
static size_t place_in_copy(const hcy_pipeline *p, const struct pipe_slot *slot, const uint8_t *chunk, size_t room)
{
    if (!slot->n_held)
        return slot->used;
    const struct pipe_held *last = &slot->held[slot->n_held - 1];
    if (chunk < last->chunk.data + last->chunk.size)
        return slot->used;
    size_t distance = (size_t)(chunk - last->chunk.data), at = last->offset + distance;
    /* Chunks on devices begin at whole units of alignment. */
    if (distance % HCY_BSLZ4_ALIGN || at < slot->used || at - slot->used > MOST_BETWEEN || at + room > p->capacity)
        return slot->used;
    return at;
}

int hcy__slot_reserve(hcy_pipeline *p, size_t size, const uint8_t *in_place, struct pipe_seat *place)
{
    size_t room = size > p->capacity ? 0 : (size + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    struct pipe_slot *slot = p->slots.filling;
    /* Kernels get one buffer of chunks a batch, so chunks in the host's memory and copied ones do not mix. */
    if (slot &&
        (slot->n == slot->limit || room > p->capacity - slot->used || slot->in_place != (in_place != NULL))) {
        hcy__slot_close(p);
        slot = NULL;
    }
    if (hcy__ring_is_full(&p->ring)) {
        /* The frames that the ring waits for may be in the slot: an idle device takes it before it is full. */
        hcy__pipe_wake(&p->control, PIPE_WORK);
        return 0;
    }
    if (!slot)
        slot = open_slot(p, in_place != NULL);
    if (!slot)
        return 0;
    place->slot = slot;
    place->index = slot->n++;
    place->offset = in_place ? place_in_copy(p, slot, in_place, room) : slot->used;
    place->into = in_place ? NULL : (uint8_t *)slot->chunks.host + slot->used;
    place->at = in_place ? in_place : place->into;
    place->capacity = room;
    place->size = size;
    place->apart = 0;
    place->output = hcy__ring_accept(&p->ring);
    slot->used = place->offset + room;
    slot->pending++;
    return 1;
}

void hcy__slot_hold(const struct pipe_seat *place, const struct pipe_chunk *chunk)
{
    struct pipe_slot *slot = place->slot;
    slot->held[slot->n_held++] = (struct pipe_held){ *chunk, place->index, place->offset };
}

/* --- Block tables --- */

static int grow_parser(struct pipe_parser *parser, size_t need)
{
    /* Chunks of one stack ask for the same table, so this happens once a thread. */
    if (need <= parser->capacity)
        return 0;
    hcy_bslz4_block *more = realloc(parser->blocks, need * sizeof *more);
    if (!more)
        return hcy_fail(HCY_ENOMEM, "a table of %zu blocks", need);
    parser->blocks = more;
    parser->capacity = need;
    return 0;
}

/* Into the frame's own entries of the slot's table, which nobody else writes and nobody moves while the slot is being
 * filled; or, where it has more blocks than those, into the producer's table: place->apart. */
static int parse_into_table(const hcy_pipeline *p, struct pipe_seat *place, struct pipe_parser *parser,
                            hcy_bslz4_frame *frame)
{
    hcy_frame_report *report = &place->output->report;
    const hcy_bslz4_job *job = &p->source.coding;
    const struct pipe_slot *slot = place->slot;
    const size_t size = place->size, first = place->index * slot->stride;
    size_t need;
    int status = hcy_bslz4_block_count(&need, job, place->at, size);
    if (status) {
        report->status = status;
        return status;
    }
    place->apart = need > slot->stride;
    if (!place->apart) {
        status = hcy_bslz4_parse(frame, (hcy_bslz4_block *)slot->blocks.host + first, slot->stride, report, job,
                                 place->at, size);
        frame->first_block = (uint32_t)first;
        return status;
    }
    status = grow_parser(parser, need);
    return status ? status : hcy_bslz4_parse(frame, parser->blocks, parser->capacity, report, job, place->at, size);
}

/* [lock] A slot that is opened later has room for so many blocks of each frame at once, unless that takes more memory
 * than its chunks: one odd frame would make all tables large for good. */
static void note_stride(hcy_pipeline *p, size_t n)
{
    if (n > p->slots.stride && n <= p->capacity / p->batch / sizeof(hcy_bslz4_block))
        p->slots.stride = n;
}

/* [lock] Behind what other frames have put there. */
static int add_overflow(hcy_pipeline *p, struct pipe_slot *slot, const hcy_bslz4_block *blocks, size_t n)
{
    struct pipe_overflow *o = &slot->overflow;
    note_stride(p, n);
    if (o->n + n > o->capacity) {
        size_t capacity = 2 * (o->n + n);
        hcy_bslz4_block *more = realloc(o->blocks, capacity * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "a table of %zu blocks", capacity);
        o->blocks = more;
        o->capacity = capacity;
    }
    memcpy(o->blocks + o->n, blocks, n * sizeof *blocks);
    o->n += n;
    return 0;
}

/* A damaged or missing chunk: the frame stays in its batch and devices leave it alone. */
static void note_bad_chunk(const struct pipe_seat *place, hcy_bslz4_frame *entry, int status)
{
    *entry = (hcy_bslz4_frame){ .status = status };
    hcy__output_fail(place->output, status);
}

static hcy_bslz4_frame *entry_of(const struct pipe_seat *place)
{
    return (hcy_bslz4_frame *)place->slot->frames.host + place->index;
}

void hcy__slot_parse(hcy_pipeline *p, struct pipe_seat *place, struct pipe_parser *parser)
{
    hcy_bslz4_frame *entry = entry_of(place);
    int status = place->output->report.status;
    uint64_t since = hcy_trace_begin();
    /* What could not be read has its words already. */
    *entry = (hcy_bslz4_frame){ .status = status, .offset = place->offset };
    if (!status) {
        status = parse_into_table(p, place, parser, entry);
        if (status)
            note_bad_chunk(place, entry, status);
        entry->offset = place->offset;
    }
    hcy_trace_end(since, "parse", place->output->number, 1, place->size);
}

/* [lock] The frame's blocks are the slot's. */
static void note_blocks(hcy_pipeline *p, const struct pipe_seat *place, const struct pipe_parser *parser)
{
    struct pipe_slot *slot = place->slot;
    hcy_bslz4_frame *entry = entry_of(place);
    if (!entry->status && place->apart) {
        /* Overflowing entries come behind all frames' own when the table is joined. */
        entry->first_block = (uint32_t)(p->batch * slot->stride + slot->overflow.n);
        int status = add_overflow(p, slot, parser->blocks, entry->n_blocks);
        if (status)
            note_bad_chunk(place, entry, status);
    }
    if (entry->status)
        return;
    const size_t end = (size_t)entry->first_block + entry->n_blocks;
    if (entry->n_blocks && end > slot->n_blocks)
        slot->n_blocks = end;
    slot->stored += place->size;
    hcy__stats_stored(&p->stats, place->size);
}

void hcy__slot_commit(hcy_pipeline *p, const struct pipe_seat *places, size_t n, const struct pipe_parser *parser)
{
    for (const struct pipe_seat *place = places; place < places + n; place++) {
        struct pipe_slot *slot = place->slot;
        note_blocks(p, place, parser);
        /* A slot that is still open waits for more frames, except in a push: nobody knows when the next one comes, so
         * an idle device takes what there is. */
        if (!--slot->pending && slot->closed)
            hcy__slot_make_ready(p, slot);
    }
    if (p->push && p->slots.filling)
        hcy__pipe_wake(&p->control, PIPE_WORK);
}

/* --- For the device that has it --- */

int hcy__slot_join_tables(struct pipe_slot *slot)
{
    const size_t n = slot->overflow.n, own = slot->n_blocks - n;
    struct pipe_memory more;
    if (!n)
        return 0;
    size_t need = slot->n_blocks * sizeof(hcy_bslz4_block);
    if (need > slot->blocks.size) {
        int status = hcy__memory_create(&more, slot->home, need);
        if (status)
            return status;
        memcpy(more.host, slot->blocks.host, slot->blocks.size);
        hcy__memory_free(&slot->blocks);
        slot->blocks = more;
    }
    memcpy((hcy_bslz4_block *)slot->blocks.host + own, slot->overflow.blocks, n * sizeof(hcy_bslz4_block));
    return 0;
}

void hcy__slot_point(const hcy_pipeline *p, struct pipe_slot *slot, int packed)
{
    hcy_bslz4_frame *frames = slot->frames.host;
    for (size_t i = 0; i < slot->n_held; i++) {
        const struct pipe_held *held = &slot->held[i];
        frames[held->index].offset = packed ? held->offset : hcy__push_offset(p->push, held->chunk.data);
    }
}
