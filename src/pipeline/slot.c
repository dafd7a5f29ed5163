/* slot.c - the batches on their way to the devices: their memory, their filling, the list of those that are
 * ready.
 *
 * FREE -> FILLING (producers) -> READY (listed) -> RUNNING (a worker) -> FREE, or back to READY if the device
 * failed, or does not take some of its frames. One slot is being filled at a time, by any number of producers;
 * it is closed when it is full, when the ring is, or when the frames end, and ready when the last producer has
 * committed.
 */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

int hcy__memory_create(struct pipe_memory *memory, hcy_device *home, size_t size)
{
    *memory = (struct pipe_memory){ NULL, NULL, size };
    int status = hcy_buffer_create(&memory->buffer, home, HCY_MEM_PINNED, size);
    if (!status)
        memory->host = hcy_buffer_host(memory->buffer);
    if (status != HCY_EUNSUPPORTED)
        return status;
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
static int create_views(hcy_pipeline *p, struct pipe_slot *slot)
{
    slot->views = calloc(p->n_workers, sizeof *slot->views);
    if (!slot->views)
        return hcy_fail(HCY_ENOMEM, "the views of a slot");
    for (size_t i = 0; i < p->n_workers; i++) {
        const struct pipe_worker *w = &p->workers[i];
        int status = 0;
        if (!w->direct || w->failed)
            continue;
        if (w->device == slot->home && slot->chunks.buffer)
            slot->views[i] = hcy_buffer_retain(slot->chunks.buffer);
        else
            status = hcy_buffer_import_host(&slot->views[i], w->device, slot->chunks.host, slot->chunks.size,
                                            NULL, NULL);
        if (status)
            return status;
    }
    return 0;
}

static int create(hcy_pipeline *p, struct pipe_slot *slot, hcy_device *home)
{
    size_t blocks, frames;
    int status = hcy_bslz4_block_count(&blocks, &p->source.coding, NULL, 0);
    if (!status)
        status = hcy_size_mul(&blocks, blocks, p->batch * sizeof(hcy_bslz4_block));
    if (!status)
        status = hcy_size_mul(&frames, p->batch, sizeof(hcy_bslz4_frame));
    if (status)
        return status;
    slot->home = home;
    status = hcy__memory_create(&slot->chunks, home, p->capacity + HCY_BSLZ4_PADDING);
    if (!status)
        status = hcy__memory_create(&slot->frames, home, frames);
    if (!status)
        status = hcy__memory_create(&slot->blocks, home, blocks ? blocks : sizeof(hcy_bslz4_block));
    if (!status && !(slot->held = calloc(p->batch, sizeof *slot->held)))
        status = hcy_fail(HCY_ENOMEM, "a slot's list of %zu frames", p->batch);
    if (!status && !(slot->refused = calloc(p->n_workers, 1)))
        status = hcy_fail(HCY_ENOMEM, "a slot's list of %zu devices", p->n_workers);
    return status ? status : create_views(p, slot);
}

/* Slots live at devices that must copy from them, if there are any: those gain from pinned memory of their
 * own. */
static hcy_device *home_of(const hcy_pipeline *p, size_t i)
{
    size_t n = 0;
    for (size_t w = 0; w < p->n_workers; w++)
        n += !p->workers[w].failed && !p->workers[w].direct;
    int direct = !n;
    i %= direct ? p->n_workers - p->n_failed : n;
    for (size_t w = 0;; w++)
        if (!p->workers[w].failed && p->workers[w].direct == direct && !i--)
            return p->workers[w].device;
}

int hcy__slots_create(hcy_pipeline *p)
{
    p->slots = calloc(p->n_slots, sizeof *p->slots);
    if (!p->slots)
        return hcy_fail(HCY_ENOMEM, "%zu slots of the pipeline", p->n_slots);
    for (size_t i = 0; i < p->n_slots; i++) {
        int status = create(p, &p->slots[i], home_of(p, i));
        if (status)
            return status;
    }
    return 0;
}

void hcy__slots_destroy(hcy_pipeline *p)
{
    for (size_t i = 0; p->slots && i < p->n_slots; i++) {
        struct pipe_slot *slot = &p->slots[i];
        for (size_t w = 0; slot->views && w < p->n_workers; w++)
            hcy_buffer_release(slot->views[w]);
        free(slot->views);
        free(slot->held);
        free(slot->refused);
        hcy__memory_free(&slot->chunks);
        hcy__memory_free(&slot->frames);
        hcy__memory_free(&slot->blocks);
    }
    free(p->slots);
}

/* --- Filling --- */

static void release(const hcy_pipeline *p, struct pipe_slot *slot)
{
    slot->state = SLOT_FREE;
    slot->closed = slot->again = 0;
    memset(slot->refused, 0, p->n_workers);
    slot->n = slot->used = slot->n_blocks = slot->pending = slot->n_held = 0;
}

void hcy__slot_release(hcy_pipeline *p, struct pipe_slot *slot)
{
    release(p, slot);
    pthread_cond_broadcast(&p->space);
}

void hcy__slot_make_ready(hcy_pipeline *p, struct pipe_slot *slot)
{
    struct pipe_slot **at = &p->ready;
    while (*at && (*at)->first < slot->first)
        at = &(*at)->next;
    slot->next = *at;
    *at = slot;
    slot->state = SLOT_READY;
    pthread_cond_broadcast(&p->work);
}

void hcy__slot_close(hcy_pipeline *p)
{
    struct pipe_slot *slot = p->filling;
    if (!slot)
        return;
    p->filling = NULL;
    slot->closed = 1;
    if (!slot->pending)
        hcy__slot_make_ready(p, slot);
}

/* Batches shrink towards the end of a run, so that several devices end together; a short run is shared out. */
static size_t limit(const hcy_pipeline *p)
{
    uint64_t left = p->run.last - p->run.next, all = p->run.last - p->run.first;
    uint64_t devices = p->n_workers > p->n_failed ? p->n_workers - p->n_failed : 1;
    uint64_t share = (left + devices - 1) / devices, least = (all + devices - 1) / devices;
    least = least < 8 ? least : 8;
    if (share < least)
        share = least;
    return share < p->batch ? (size_t)share : p->batch;
}

static struct pipe_slot *open_slot(hcy_pipeline *p, int in_place)
{
    for (size_t i = 0; i < p->n_slots; i++) {
        struct pipe_slot *slot = &p->slots[i];
        if (slot->state == SLOT_FREE) {
            slot->state = SLOT_FILLING;
            slot->first = p->accepted;
            slot->in_place = in_place;
            slot->limit = limit(p);
            return p->filling = slot;
        }
    }
    return NULL;
}

int hcy__slot_reserve(hcy_pipeline *p, size_t size, const uint8_t *in_place, struct pipe_place *place)
{
    size_t room = size > p->capacity ? 0 : (size + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    struct pipe_slot *slot = p->filling;
    if (slot &&
        (slot->n == slot->limit || room > p->capacity - slot->used || slot->in_place != (in_place != NULL))) {
        hcy__slot_close(p);
        slot = NULL;
    }
    if (hcy__ring_is_full(p)) {
        pthread_cond_broadcast(&p->work); /* what the ring waits for may be in the slot: an idle device takes it */
        return 0;
    }
    if (!slot && !(slot = open_slot(p, in_place != NULL)))
        return 0;
    place->slot = slot;
    place->index = slot->n++;
    place->offset = in_place ? hcy__push_offset(p, in_place) : slot->used;
    place->into = in_place ? NULL : (uint8_t *)slot->chunks.host + slot->used;
    place->at = in_place ? in_place : place->into;
    place->capacity = room;
    place->output = hcy__output_at(p, p->accepted++);
    slot->used += room;
    slot->pending++;
    return 1;
}

/* --- Block tables --- */

/* A damaged or missing chunk: the frame stays in its batch and devices leave it alone. */
static void note_failure(struct pipe_output *output, hcy_bslz4_frame *frame, int status)
{
    *frame = (hcy_bslz4_frame){ .status = status };
    output->report.status = status;
    snprintf(output->why, sizeof output->why, "%s", hcy_last_error()->text);
}

static int parse(hcy_pipeline *p, const struct pipe_place *place, struct pipe_parser *parser,
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
static int grow(struct pipe_slot *slot, size_t n)
{
    struct pipe_memory more;
    size_t used = slot->n_blocks * sizeof(hcy_bslz4_block), need = used + n * sizeof(hcy_bslz4_block);
    if (need <= slot->blocks.size)
        return 0;
    int status = hcy__memory_create(&more, slot->home, 2 * need);
    if (status)
        return status;
    memcpy(more.host, slot->blocks.host, used);
    hcy__memory_free(&slot->blocks);
    slot->blocks = more;
    return 0;
}

void hcy__slot_commit(hcy_pipeline *p, const struct pipe_place *place, struct pipe_parser *parser, int status,
                      size_t size)
{
    struct pipe_slot *slot = place->slot;
    hcy_bslz4_frame frame = { 0 }, *entry = (hcy_bslz4_frame *)slot->frames.host + place->index;
    if (!status)
        status = parse(p, place, parser, &frame, size);
    pthread_mutex_lock(&p->lock);
    if (!status)
        status = grow(slot, frame.n_blocks);
    if (status) {
        note_failure(place->output, entry, status);
    } else {
        frame.offset = place->offset;
        frame.first_block = (uint32_t)slot->n_blocks;
        *entry = frame;
        if (frame.n_blocks)
            memcpy((hcy_bslz4_block *)slot->blocks.host + slot->n_blocks, parser->blocks,
                   frame.n_blocks * sizeof(hcy_bslz4_block));
        slot->n_blocks += frame.n_blocks;
    }
    p->stats.bytes_stored += status ? 0 : size;
    if (!--slot->pending && slot->closed)
        hcy__slot_make_ready(p, slot);
    else if (p->push)
        pthread_cond_broadcast(&p->work); /* an idle device takes what there is */
    pthread_mutex_unlock(&p->lock);
}
