/* stream_scene.h - messages of a small detector, as halcyon simulate writes them, and what holds for every message that
 * was taken. */
#ifndef STREAM_SCENE_H
#define STREAM_SCENE_H

#include "../src/cli/stream_write.h"
#include "tap.h"
#include <azint/azint_format.h>
#include <halcyon/bslz4.h>
#include <halcyon/stream.h>
#include <stdlib.h>
#include <string.h>

enum { SCENE_H = 37, SCENE_W = 29, SCENE_N = SCENE_H * SCENE_W };

static const struct sent_series scene_series = {
    .version = 2, .number = 7, .images = 3, .id = "01HBV", .height = SCENE_H, .width = SCENE_W,
    .pixel_type = HCY_PIXEL_U16, .elem_size = 2, .codec = HCY_CODEC_BSLZ4, .pixel1 = 75e-6, .pixel2 = 80e-6,
    .wavelength = 1e-10, .distance = 0.25, .beam_x = 14.5, .beam_y = 18.25, .description = "Dectris TEST", .n_channels = 1,
};

static inline hcy_bslz4_job scene_job(const hcy_stream_array *array)
{
    return (hcy_bslz4_job){ array->codec, array->elem_size, array->bytes, 0, 0 };
}

/* Pixels that compress a little: of `elem` bytes. */
static inline void scene_pixels(uint8_t *pixels, size_t elem, uint64_t number)
{
    uint64_t state = 88172645463325252u + number;
    for (size_t i = 0; i < SCENE_N; i++)
        for (size_t b = 0; b < elem; b++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            pixels[i * elem + b] = b ? 0 : (uint8_t)(state & 7);
        }
}

/* A chunk as the series says; freed by the caller. */
static inline uint8_t *scene_chunk(hcy_span *chunk, const struct sent_series *s, const uint8_t *pixels)
{
    hcy_bslz4_job job = { s->codec, s->elem_size, (uint64_t)SCENE_N * s->elem_size, 0, 0 };
    /* Stream v1's LZ4 is one block: as large as the image, in eights of pixels. */
    if (s->version == 1 && s->codec == HCY_CODEC_LZ4)
        job.block_bytes = (uint32_t)((SCENE_N + 7) / 8 * 8 * s->elem_size);
    size_t bound = 0, size = 0;
    if (hcy_bslz4_encode_bound(&bound, &job))
        bail_out("no bound: %s", hcy_last_error()->text);
    uint8_t *bytes = malloc(bound);
    if (hcy_bslz4_encode(&size, bytes, bound, &job, pixels))
        bail_out("no chunk: %s", hcy_last_error()->text);
    *chunk = (hcy_span){ bytes, size };
    return bytes;
}

static inline int lies_inside(const hcy_stream_array *a, const hcy_span *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *begin = parts[i].data, *at = a->data;
        if (at >= begin && at <= begin + parts[i].size && a->size <= (size_t)(begin + parts[i].size - at))
            return 1;
    }
    return !a->data;
}

/* Every array lies in the message, has a size that its shape says, and can be taken apart by those it is for. */
static inline int message_holds(const hcy_stream_message *m, const hcy_span *parts, size_t n)
{
    int good = m->n_channels <= HCY_STREAM_CHANNELS && (m->kind != HCY_STREAM_IMAGE || m->n_channels);
    for (uint32_t i = 0; good && i < m->n_channels; i++) {
        const hcy_stream_array *arrays[] = { &m->channels[i].image, &m->channels[i].mask, &m->channels[i].flat };
        good = memchr(m->channels[i].name, 0, sizeof m->channels[i].name) != NULL;
        for (size_t k = 0; good && k < 3; k++) {
            const hcy_stream_array *a = arrays[k];
            hcy_bslz4_job job = scene_job(a);
            size_t blocks, room = hcy_stream_chunk_room(a);
            if (!a->data || !a->bytes)
                continue;
            good = lies_inside(a, parts, n) && a->bytes == (uint64_t)a->height * a->width * a->elem_size;
            hcy_span chunk;
            uint8_t *buffer = malloc(room ? room : 1);
            if (good && !hcy_stream_chunk(&chunk, buffer, room, a))
                (void)!hcy_bslz4_block_count(&blocks, &job, chunk.data, chunk.size);
            free(buffer);
        }
    }
    return good;
}

#endif
