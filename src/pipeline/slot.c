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

#define LEAST_BATCH 8 /* frames; smaller ones cost more in launches than devices that end together save */

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

static int create_slot(hcy_pipeline *p, struct pipe_slot *slot, hcy_device *home)
{
    size_t blocks, frames;
    /* Blocks of the default size; a chunk with smaller ones makes the table grow (grow_table). */
    int status = hcy_bslz4_block_count(&blocks, &p->source.coding, NULL, 0);
    if (!status)
        status = hcy_size_mul(&blocks, blocks, p->batch * sizeof(hcy_bslz4_block));
    if (!status)
        status = hcy_size_mul(&frames, p->batch, sizeof(hcy_bslz4_frame));
    if (status)
        return status;
    slot->home = home;
    /* Kernels may load a few bytes past a chunk's end, so the last one has padding behind it. */
    status = hcy__memory_create(&slot->chunks, home, p->capacity + HCY_BSLZ4_PADDING);
    if (!status)
        status = hcy__memory_create(&slot->frames, home, frames);
    if (!status)
        status = hcy__memory_create(&slot->blocks, home, blocks ? blocks : sizeof(hcy_bslz4_block));
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
    p->slots.all = calloc(n, sizeof *p->slots.all);
    if (!p->slots.all)
        return hcy_fail(HCY_ENOMEM, "%zu slots of the pipeline", n);
    p->slots.n = n;
    for (size_t i = 0; i < n; i++) {
        int status = create_slot(p, &p->slots.all[i], choose_home(p, i));
        if (status)
            return status;
    }
    return 0;
}

void hcy__slots_destroy(hcy_pipeline *p)
{
    for (size_t i = 0; i < p->slots.n; i++) {
        struct pipe_slot *slot = &p->slots.all[i];
        /* What could not be made is NULL. */
        for (size_t w = 0; slot->views && w < hcy__n_devices(&p->workers); w++)
            hcy_buffer_release(slot->views[w]);
        free(slot->views);
        free(slot->held);
        free(slot->refused);
        hcy__memory_free(&slot->chunks);
        hcy__memory_free(&slot->frames);
        hcy__memory_free(&slot->blocks);
    }
    free(p->slots.all);
}

/* [lock] */
static void clear_slot(const hcy_pipeline *p, struct pipe_slot *slot)
{
    slot->state = SLOT_FREE;
    slot->closed = slot->again = 0;
    memset(slot->refused, 0, hcy__n_devices(&p->workers));
    slot->n = slot->used = slot->n_blocks = slot->pending = slot->n_held = 0;
}

static void give_chunks_back(const hcy_pipeline *p, struct pipe_slot *slot, int status)
{
    for (size_t i = 0; i < slot->n_held; i++)
        hcy__chunk_give_back(p, &slot->held[i], status);
    slot->n_held = 0;
}

void hcy__slot_release(hcy_pipeline *p, struct pipe_slot *slot)
{
    /* The slot is still this worker's while the host's callbacks run, without the lock. */
    give_chunks_back(p, slot, 0);
    hcy__pipe_lock(&p->control);
    clear_slot(p, slot);
    hcy__pipe_wake(&p->control, PIPE_SPACE);
    hcy__pipe_unlock(&p->control);
}

void hcy__slots_empty(hcy_pipeline *p)
{
    for (size_t i = 0; i < p->slots.n; i++)
        give_chunks_back(p, &p->slots.all[i], HCY_ECANCELLED);
    hcy__pipe_lock(&p->control);
    p->slots.filling = p->slots.ready = NULL;
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
    hcy__pipe_wake(&p->control, PIPE_WORK);
}

void hcy__slot_take(struct pipe_slots *slots, struct pipe_slot *slot)
{
    struct pipe_slot **at = &slots->ready;
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    slot->state = SLOT_RUNNING;
}

void hcy__slot_close(hcy_pipeline *p)
{
    struct pipe_slot *slot = p->slots.filling;
    if (!slot)
        return;
    p->slots.filling = NULL;
    slot->closed = 1;
    /* Else the last of its producers makes it ready. */
    if (!slot->pending)
        hcy__slot_make_ready(p, slot);
}

/* [lock] Batches shrink towards the end of a run, so that several devices end together; a short run is shared out. */
static size_t limit_batch(const hcy_pipeline *p)
{
    uint64_t left = hcy__frames_left(&p->reader), all = hcy__frames_of_run(&p->reader);
    uint64_t alive = hcy__workers_alive(&p->workers), devices = alive ? alive : 1;
    /* Never less than LEAST_BATCH, unless the whole run has less for each device. */
    uint64_t share = (left + devices - 1) / devices, least = (all + devices - 1) / devices;
    least = least < LEAST_BATCH ? least : LEAST_BATCH;
    if (share < least)
        share = least;
    return share < p->batch ? (size_t)share : p->batch;
}

/* [lock] */
static struct pipe_slot *open_slot(hcy_pipeline *p, int in_place)
{
    /* One slot is filled at a time, so the ordinals of its frames follow each other from `first`. */
    for (size_t i = 0; i < p->slots.n; i++) {
        struct pipe_slot *slot = &p->slots.all[i];
        if (slot->state == SLOT_FREE) {
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
    place->offset = in_place ? hcy__push_offset(p->push, in_place) : slot->used;
    place->into = in_place ? NULL : (uint8_t *)slot->chunks.host + slot->used;
    place->at = in_place ? in_place : place->into;
    place->capacity = room;
    place->output = hcy__ring_accept(&p->ring);
    slot->used += room;
    slot->pending++;
    return 1;
}

void hcy__slot_hold(struct pipe_slot *slot, const struct pipe_chunk *chunk)
{
    slot->held[slot->n_held++] = *chunk;
}

/* --- Block tables --- */

/* A damaged or missing chunk: the frame stays in its batch and devices leave it alone. */
static void note_bad_chunk(struct pipe_output *output, hcy_bslz4_frame *frame, int status)
{
    *frame = (hcy_bslz4_frame){ .status = status };
    output->report.status = status;
    snprintf(output->why, sizeof output->why, "%s", hcy_last_error()->text);
}

static int parse_into_table(hcy_pipeline *p, const struct pipe_seat *place, struct pipe_parser *parser,
                       hcy_bslz4_frame *frame, size_t size)
{
    hcy_frame_report *report = &place->output->report;
    const hcy_bslz4_job *job = &p->source.coding;
    size_t need;
    int status = hcy_bslz4_block_count(&need, job, place->at, size);
    if (status) {
        report->status = status;
        return status;
    }
    /* Chunks of one stack ask for the same table, so this happens once a thread. */
    if (need > parser->capacity) {
        hcy_bslz4_block *more = realloc(parser->blocks, need * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "a table of %zu blocks", need);
        parser->blocks = more;
        parser->capacity = need;
    }
    return hcy_bslz4_parse(frame, parser->blocks, parser->capacity, report, job, place->at, size);
}

/* [lock] Room for n more blocks in the slot's table; producers copy into it under the lock, so it may move.
 */
static int grow_table(struct pipe_slot *slot, size_t n)
{
    struct pipe_memory more;
    size_t used = slot->n_blocks * sizeof(hcy_bslz4_block), need = used + n * sizeof(hcy_bslz4_block);
    if (need <= slot->blocks.size)
        return 0;
    /* Twice what is needed: chunks behind this one have as many blocks, and pinned memory is slow to get. */
    int status = hcy__memory_create(&more, slot->home, 2 * need);
    if (status)
        return status;
    memcpy(more.host, slot->blocks.host, used);
    hcy__memory_free(&slot->blocks);
    slot->blocks = more;
    return 0;
}

void hcy__slot_commit(hcy_pipeline *p, const struct pipe_seat *place, struct pipe_parser *parser, int status,
                      size_t size)
{
    struct pipe_slot *slot = place->slot;
    hcy_bslz4_frame frame = { 0 }, *entry = (hcy_bslz4_frame *)slot->frames.host + place->index;
    /* Into the producer's own table first: how many blocks frames have is known only when they are parsed, and
     * frames of one slot are parsed side by side. */
    if (!status)
        status = parse_into_table(p, place, parser, &frame, size);
    hcy__pipe_lock(&p->control);
    if (!status)
        status = grow_table(slot, frame.n_blocks);
    if (status) {
        note_bad_chunk(place->output, entry, status);
    } else {
        frame.offset = place->offset;
        frame.first_block = (uint32_t)slot->n_blocks;
        *entry = frame;
        if (frame.n_blocks)
            memcpy((hcy_bslz4_block *)slot->blocks.host + slot->n_blocks, parser->blocks,
                   frame.n_blocks * sizeof(hcy_bslz4_block));
        slot->n_blocks += frame.n_blocks;
        hcy__stats_stored(&p->stats, size);
    }
    /* A slot that is still open waits for more frames, except in a push: nobody knows when the next one comes, so an
     * idle device takes what there is. */
    if (!--slot->pending && slot->closed)
        hcy__slot_make_ready(p, slot);
    else if (p->push)
        hcy__pipe_wake(&p->control, PIPE_WORK);
    hcy__pipe_unlock(&p->control);
}
