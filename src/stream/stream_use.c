/* stream_use.c - what a message says as the rest of the library takes it: channels, chunks, the detector, and its
 * corrections. */
#include "corrections.h"
#include "stream_priv.h"
#include <bslz4/bslz4_format.h>
#include <halcyon/backend.h>
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hcy_stream_find_channel(size_t *index, const hcy_stream_message *m, const char *name)
{
    if (!index || !m)
        return hcy_fail(HCY_EINVAL, "hcy_stream_find_channel: index and message must not be NULL");
    char *end = NULL, list[HCY_STREAM_CHANNELS * 48] = "";
    unsigned long number = name && *name >= '1' && *name <= '9' ? strtoul(name, &end, 10) : 0;
    *index = 0;
    if (!name && m->n_channels)
        return 0;
    /* A name has at most 31 characters, so that 48 for each channel keep the list within its room; `end` is set
     * where a number is not 0. */
    for (size_t i = 0, used = 0; i < m->n_channels; i++) {
        if (name && (!strcmp(name, m->channels[i].name) || (number == i + 1 && !*end))) {
            *index = i;
            return 0;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu %s", i ? ", " : "", i + 1,
                                 m->channels[i].name);
    }
    return hcy_fail(HCY_EINVAL, "channel '%s': the stream has %s", name ? name : "", *list ? list : "none");
}

/* --- Chunks --- */

/* Filter 32004's head, and of one block its size: u64 decoded bytes, u32 of a block, u32 coded, big-endian. */
enum { LZ4_HEAD = 16 };

static void put_big_endian(uint8_t *to, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(value >> 8 * (n - 1 - i));
}

/* A block whose coded size is its decoded one would count as stored; such a block is decoded and stored. */
static int is_ambiguous(const hcy_stream_array *a)
{
    return a->size == a->bytes;
}

size_t hcy_stream_chunk_room(const hcy_stream_array *a)
{
    if (a && a->zstd)
        return a->bytes;
    return a && a->bare ? LZ4_HEAD + a->size : 0;
}

#ifdef HAVE_ZSTD
/* To what the same filter makes without compression, as chunks in files are read. */
static int decompress_chunk(hcy_span *chunk, void *buffer, size_t capacity, const hcy_stream_array *a)
{
    const hcy_bslz4_job job = { HCY_CODEC_BITSHUFFLE, a->elem_size, a->bytes, 0, 0 };
    if (!buffer || capacity < a->bytes)
        return hcy_fail(HCY_ERANGE, "%llu bytes below Zstandard in %zu", (unsigned long long)a->bytes, capacity);
    *chunk = (hcy_span){ buffer, a->bytes };
    return hcy__zstd_planes(buffer, &job, a->data, a->size);
}
#else
static int decompress_chunk(hcy_span *chunk, void *buffer, size_t capacity, const hcy_stream_array *a)
{
    (void)chunk, (void)buffer, (void)capacity;
    return hcy_fail(HCY_EUNSUPPORTED, "%zu bytes of Zstandard: this build has no libzstd", a->size);
}
#endif

int hcy_stream_chunk(hcy_span *chunk, void *buffer, size_t capacity, const hcy_stream_array *a)
{
    if (!chunk || !a || !a->data)
        return hcy_fail(HCY_EINVAL, "hcy_stream_chunk: no array");
    *chunk = (hcy_span){ a->data, a->size };
    if (a->zstd)
        return decompress_chunk(chunk, buffer, capacity, a);
    if (!a->bare)
        return 0;
    /* LZ4 counts bytes in an int, and the head has 32 bits for a block. */
    if (a->bytes > INT32_MAX || a->size > INT32_MAX)
        return hcy_fail(HCY_EUNSUPPORTED, "an LZ4 block of 2 GiB and more");
    if (!buffer || capacity < LZ4_HEAD + a->size)
        return hcy_fail(HCY_ERANGE, "an LZ4 block of %zu bytes with its head in %zu", a->size, capacity);
    uint8_t *to = buffer;
    put_big_endian(to, a->bytes, 8);
    put_big_endian(to + 8, a->bytes, 4);
    put_big_endian(to + 12, a->size, 4);
    /* Decoded, such a block is as large as coded, so that it has room here as well. */
    if (!is_ambiguous(a))
        memcpy(to + LZ4_HEAD, a->data, a->size);
    else if (LZ4_decompress_safe(a->data, (char *)to + LZ4_HEAD, (int)a->size, (int)a->bytes) != (int)a->bytes)
        return hcy_fail(HCY_ECORRUPT, "an LZ4 block that does not decode to %llu bytes", (unsigned long long)a->bytes);
    *chunk = (hcy_span){ to, LZ4_HEAD + a->size };
    return 0;
}

/* --- The detector --- */

void hcy_stream_detector(hcy_detector_info *info, const hcy_stream_message *m)
{
    if (!info || !m)
        return;
    memset(info, 0, sizeof *info);
    info->height = m->height;
    info->width = m->width;
    info->pixel1 = m->pixel1;
    info->pixel2 = m->pixel2;
    /* A centre that is not known must not go on as a NaN into a geometry. */
    info->has_beam = isfinite(m->beam_x) && isfinite(m->beam_y);
    info->beam_x = info->has_beam ? m->beam_x : 0;
    info->beam_y = info->has_beam ? m->beam_y : 0;
    info->distance = m->distance;
    info->wavelength = m->wavelength;
    info->saturation = m->saturation;
    snprintf(info->description, sizeof info->description, "%s", m->description);
}

/* --- Corrections --- */

/* An array of the start message, decoded, of the images' size; freed with hcy_image_free(). */
static int decode_array(hcy_image **image, const hcy_stream_array *a, const hcy_stream_message *m, hcy_device *device,
                        const char *what)
{
    /* Corrections go with the images pixel by pixel, so that another shape is none of theirs. */
    if (a->height != m->height || a->width != m->width)
        return hcy_fail(HCY_EFORMAT, "the stream's %s is %u x %u pixels, its images are %u x %u", what, a->height,
                        a->width, m->height, m->width);
    /* hcy__decode() takes frames of a stack, so that the array is described as a stack of one. */
    hcy_stack_info info = { .path = what, .dataset = "", .frames = 1, .height = a->height, .width = a->width,
                            .pixel_type = a->pixel_type, .elem_size = a->elem_size, .codec = a->codec,
                            .frame_bytes = a->bytes };
    /* Only LZ4 without a head needs a buffer; all else is decoded from where it stands in the message. */
    size_t room = hcy_stream_chunk_room(a);
    void *buffer = room ? malloc(room) : NULL;
    hcy_image *made = calloc(1, sizeof *made);
    hcy_span chunk;
    /* hcy__stream_array_check() made the size of height and width when the message was read, and saw it overflow
     * nothing. */
    if (!made || !(made->pixels = malloc(a->bytes)) || (room && !buffer)) {
        free(buffer);
        hcy_image_free(made);
        return hcy_fail(HCY_ENOMEM, "no memory for the stream's %s", what);
    }
    made->height = a->height;
    made->width = a->width;
    made->pixel_type = a->pixel_type;
    made->elem_size = a->elem_size;
    made->bytes = a->bytes;
    int status = hcy_stream_chunk(&chunk, buffer, room, a);
    if (!status)
        status = hcy__decode(made->pixels, &info, device, chunk.data, chunk.size);
    /* The decoder is through with the coded bytes, whether it failed or not. */
    free(buffer);
    if (status)
        hcy_image_free(made);
    else
        *image = made;
    return status;
}

static int take_mask(hcy_corrections *c, const hcy_stream_array *a, const hcy_stream_message *m, hcy_device *device)
{
    hcy_image *image;
    int status = decode_array(&image, a, m, device, "pixel mask");
    if (status)
        return status;
    status = hcy__corrections_add_mask(c, image);
    hcy_image_free(image);
    return status;
}

static int take_flat(hcy_corrections *c, const hcy_stream_array *a, const hcy_stream_message *m, hcy_device *device)
{
    hcy_image *image;
    int status = decode_array(&image, a, m, device, "flat field");
    if (status)
        return status;
    status = hcy__corrections_set_flat(c, image, c->flat_multiplies);
    hcy_image_free(image);
    return status;
}

int hcy_stream_corrections(hcy_corrections **corrections, const hcy_stream_message *m, size_t channel, unsigned which,
                           hcy_device *device)
{
    if (!corrections || !m || m->kind != HCY_STREAM_START || (channel && channel >= m->n_channels))
        return hcy_fail(HCY_EINVAL, "hcy_stream_corrections: no start of a series, or no such channel");
    *corrections = NULL;
    hcy_corrections *c = calloc(1, sizeof *c);
    if (!c)
        return hcy_fail(HCY_ENOMEM, "no memory for the stream's corrections");
    /* A start may come without channels, and its flags count nevertheless. */
    static const hcy_stream_channel none;
    const hcy_stream_channel *from = m->n_channels ? &m->channels[channel] : &none;
    snprintf(c->mask_name, sizeof c->mask_name, "%s", from->mask.data ? "pixel_mask" : "");
    snprintf(c->flat_name, sizeof c->flat_name, "%s", from->flat.data ? "flatfield" : "");
    snprintf(c->countrate_table, sizeof c->countrate_table, "%s",
             m->has_countrate_table ? "countrate_correction_lookup_table" : "");
    c->n_masks = from->mask.data != NULL;
    c->mask_applied = m->mask_applied;
    c->flat_applied = m->flat_applied;
    c->flat_multiplies = from->flat.data != NULL; /* as in DECTRIS' files */
    c->countrate_applied = m->countrate_applied;
    int status = 0;
    if (which & HCY_CORRECTION_MASK && from->mask.data)
        status = take_mask(c, &from->mask, m, device);
    /* A flat field that the detector has applied already must not be applied twice. */
    if (!status && which & HCY_CORRECTION_FLAT && from->flat.data &&
        (!m->flat_applied || which & HCY_CORRECTION_FLAT_ANYWAY))
        status = take_flat(c, &from->flat, m, device);
    if (status)
        hcy_corrections_free(c);
    else
        *corrections = c;
    return status;
}
