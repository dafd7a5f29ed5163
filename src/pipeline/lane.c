/* lane.c - what a device needs for the batches that it has in flight: queues, buffers, where their outcome comes to. */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include <halcyon/backend.h>

#define IMAGE_MEMORY ((uint64_t)256 << 20) /* bytes of images in the two-stage way, one a lane at least */

static int create_parts(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_pipeline *p = w->pipeline;
    lane->parts = calloc(w->n_parts, sizeof *lane->parts);
    if (!lane->parts)
        return hcy_fail(HCY_ENOMEM, "the parts of a batch");
    /* A launch's items count from 0, so each part has views that begin at its own frames. */
    for (size_t i = 0, at = 0; i < w->n_parts; i++, at += w->part) {
        struct pipe_part *part = &lane->parts[i];
        size_t n = p->batch - at < w->part ? p->batch - at : w->part;
        int status = hcy_buffer_sub(&part->frames, lane->frames, at * sizeof(hcy_bslz4_frame),
                                    n * sizeof(hcy_bslz4_frame));
        if (!status)
            status = hcy_buffer_sub(&part->sums, lane->sums, at * p->sums_bytes, n * p->sums_bytes);
        if (!status)
            status = hcy_buffer_sub(&part->reports, lane->reports, at * sizeof(hcy_frame_report),
                                    n * sizeof(hcy_frame_report));
        for (int k = 0; !status && k < PIPE_BESIDE; k++)
            if (lane->found[k])
                status = hcy_buffer_sub(&part->found[k], lane->found[k], at * p->beside[k].found,
                                        n * p->beside[k].found);
        if (status)
            return status;
    }
    return 0;
}

/* Where the host finds sums and reports: in place, or read back. */
static int create_back(struct pipe_worker *w, struct pipe_lane *lane)
{
    const hcy_pipeline *p = w->pipeline;
    const size_t sums = p->batch * p->sums_bytes, reports = p->batch * sizeof(hcy_frame_report);
    size_t at = sums + reports;
    if (w->direct) {
        lane->host_sums = hcy_buffer_host(lane->sums);
        lane->host_reports = hcy_buffer_host(lane->reports);
        for (int k = 0; k < PIPE_BESIDE; k++)
            lane->host_found[k] = lane->found[k] ? hcy_buffer_host(lane->found[k]) : NULL;
        return 0;
    }
    /* All in one piece: pinned memory comes in pages and is slow to get. */
    int status = hcy__memory_create(&lane->back, w->device, at + p->batch * hcy__found_bytes(p));
    if (status)
        return status;
    lane->host_sums = lane->back.host;
    lane->host_reports = (const hcy_frame_report *)((char *)lane->back.host + sums);
    for (int k = 0; k < PIPE_BESIDE; at += p->batch * p->beside[k++].found)
        lane->host_found[k] = (const uint64_t *)((char *)lane->back.host + at);
    return 0;
}

/* The row of its queue in the timeline. */
static void name_lane(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    char name[32];
    snprintf(name, sizeof name, "batches %d", (int)(lane - w->lanes) + 1);
    hcy_trace_name_queue(lane->queue, name);
}

static int create_lane(struct pipe_worker *w, struct pipe_lane *lane)
{
    const hcy_pipeline *p = w->pipeline;
    /* With one batch in flight the lanes only keep sums apart: what a running launch alone needs, they share. */
    const int shares = hcy__worker_depth(w) == 1 && lane != w->lanes;
    const hcy_device_info *info = hcy_device_get_info(w->device);
    /* Rows of sums that nobody writes take no memory then: pages come as they are first written. */
    const int mapped = w->direct && info->kind == HCY_KIND_CPU && info->caps & HCY_CAP_MAPPED;
    const uint64_t zero = 0;
    size_t images = 0, scratch = 0, sums = p->batch * p->sums_bytes;
    int status = hcy__launch_scratch(w, &scratch);
    lane->worker = w;
    if (!status && !w->fused)
        status = hcy_size_mul(&images, w->part, p->source.coding.image_bytes);
    if (!status)
        status = hcy_queue_create(&lane->queue, w->device);
    if (!status)
        name_lane(w, lane);
    /* A size of 0: the lane has no such buffer. */
    const struct {
        hcy_buffer **buffer;
        size_t size;
        int mem;
    } table[] = {
        { &lane->chunks, w->direct ? 0 : p->capacity + HCY_BSLZ4_PADDING, HCY_MEM_DEVICE },
        { &lane->frames, p->batch * sizeof(hcy_bslz4_frame), HCY_MEM_DEVICE },
        { &lane->blocks, hcy__slots_block_bytes(&p->slots), HCY_MEM_DEVICE },
        { &lane->images, shares ? 0 : images, HCY_MEM_DEVICE },
        { &lane->sums, sums, mapped ? HCY_MEM_MAPPED : HCY_MEM_DEVICE },
        { &lane->reports, p->batch * sizeof(hcy_frame_report), HCY_MEM_DEVICE },
        { &lane->scratch, shares ? 0 : scratch, HCY_MEM_DEVICE },
        { &lane->found[PIPE_REGIONS], p->batch * p->beside[PIPE_REGIONS].found, HCY_MEM_DEVICE },
        { &lane->found[PIPE_PICK], p->batch * p->beside[PIPE_PICK].found, HCY_MEM_DEVICE },
    };
    if (!status && shares) {
        lane->images = hcy_buffer_retain(w->lanes->images);
        lane->scratch = hcy_buffer_retain(w->lanes->scratch);
    }
    for (size_t i = 0; !status && i < sizeof table / sizeof table[0]; i++)
        if (table[i].size)
            status = hcy_buffer_create(table[i].buffer, w->device, table[i].mem, table[i].size);
    /* All of them are copied back, also rows that no kernel writes, so none may be left undefined. */
    if (!status && !w->direct)
        status = hcy_buffer_fill(lane->queue, lane->sums, 0, sums, &zero, sizeof zero);
    if (!status)
        status = create_parts(w, lane);
    return status ? status : create_back(w, lane);
}

/* Which pixels the regions have, and where pixels are, for all lanes. */
static int create_beside_tables(struct pipe_worker *w)
{
    int status = 0;
    for (int k = 0; !status && k < PIPE_BESIDE; k++) {
        const struct pipe_beside *b = &w->pipeline->beside[k];
        if (!b->found)
            continue;
        status = hcy_buffer_create(&w->beside_tables[k], w->device, HCY_MEM_DEVICE, b->bytes);
        if (!status)
            status = hcy_buffer_write_now(w->beside_tables[k], 0, b->table, b->bytes);
    }
    return status;
}

/* Bytes of device memory, each buffer once. */
static uint64_t device_bytes(const struct pipe_worker *w)
{
    uint64_t bytes = hcy_buffer_size(w->tables);
    for (int k = 0; k < PIPE_BESIDE; k++)
        bytes += w->beside_tables[k] ? hcy_buffer_size(w->beside_tables[k]) : 0;
    for (size_t i = 0; i < hcy__worker_lanes(w); i++) {
        const struct pipe_lane *lane = &w->lanes[i];
        const hcy_buffer *buffers[] = { lane->chunks,   lane->frames,   lane->blocks, lane->sums,   lane->reports,
                                        lane->found[0], lane->found[1], lane->images, lane->scratch };
        /* The last two are the first lane's where lanes share. */
        size_t n = sizeof buffers / sizeof buffers[0] - (i && hcy__worker_depth(w) == 1 ? 2 : 0);
        for (size_t k = 0; k < n; k++)
            bytes += buffers[k] ? hcy_buffer_size(buffers[k]) : 0;
    }
    return bytes;
}

int hcy__lanes_create(struct pipe_worker *w)
{
    const hcy_pipeline *p = w->pipeline;
    int status = 0;
    w->part = p->batch;
    /* Decoded images are much larger than chunks: in two stages a batch is launched in parts. */
    if (!w->fused) {
        uint64_t images = IMAGE_MEMORY / hcy__worker_depth(w) / p->source.coding.image_bytes;
        if (images < p->batch)
            w->part = images ? (size_t)images : 1;
    }
    w->n_parts = (p->batch + w->part - 1) / w->part;
    status = create_beside_tables(w);
    for (size_t i = 0; !status && i < hcy__worker_lanes(w); i++)
        status = create_lane(w, &w->lanes[i]);
    w->stats.memory = status ? 0 : device_bytes(w);
    return status;
}

static void destroy_lane(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_buffer *buffers[] = { lane->chunks,  lane->frames,  lane->blocks,   lane->images,  lane->sums,
                              lane->reports, lane->scratch, lane->found[0], lane->found[1] };
    /* Of a lane that could not be made, or was never asked for, all or some of these are NULL. */
    for (size_t i = 0; lane->parts && i < w->n_parts; i++) {
        hcy_buffer_release(lane->parts[i].frames);
        hcy_buffer_release(lane->parts[i].sums);
        hcy_buffer_release(lane->parts[i].reports);
        for (int k = 0; k < PIPE_BESIDE; k++)
            hcy_buffer_release(lane->parts[i].found[k]);
    }
    free(lane->parts);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        hcy_buffer_release(buffers[i]);
    hcy__memory_free(&lane->back);
    hcy_queue_release(lane->queue);
}

void hcy__lanes_destroy(struct pipe_worker *w)
{
    for (size_t i = 0; i < hcy__worker_lanes(w); i++)
        destroy_lane(w, &w->lanes[i]);
}
