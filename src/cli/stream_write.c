/* stream_write.c - see stream_write.h. */
#include "stream_write.h"
#include <azint/azint_pixels.h>
#include <bslz4/bslz4_format.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Bytes that grow --- */

static void put_bytes(struct sent_text *t, const void *bytes, size_t size)
{
    if (t->failed || t->room - t->size < size) {
        size_t room = 2 * t->room + size + 256;
        uint8_t *more = t->failed ? NULL : realloc(t->bytes, room);
        t->failed = !more;
        if (!more)
            return;
        t->bytes = more;
        t->room = room;
    }
    if (size)
        memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
}

static void HCY_PRINTF(2, 3) put_format(struct sent_text *t, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_bytes(t, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* The message's next part, to be filled. */
static struct sent_text *next_part(struct sent *m)
{
    return &m->texts[m->n++];
}

/* All texts have their place now. */
static int finish_message(struct sent *m)
{
    int failed = 0;
    /* A text moves as it grows, so parts point to texts only now; a part without a text is the caller's own bytes. */
    for (size_t i = 0; i < m->n; i++) {
        failed |= m->texts[i].failed;
        if (m->texts[i].bytes)
            m->parts[i] = (hcy_span){ m->texts[i].bytes, m->texts[i].size };
    }
    if (!failed)
        return 0;
    sent_free(m);
    return hcy_fail(HCY_ENOMEM, "no memory for a message");
}

void sent_free(struct sent *m)
{
    for (size_t i = 0; i < SENT_PARTS; i++)
        free(m->texts[i].bytes);
    memset(m, 0, sizeof *m);
}

/* --- CBOR (RFC 8949) --- */

enum { UINT, BYTES = 2, TEXT, ARRAY, MAP, TAG, SIMPLE };
enum { FALSE_VALUE = 20, TRUE_VALUE = 21 };

static void put_head(struct sent_text *t, int type, uint64_t value)
{
    uint8_t head[9];
    /* The shortest of the forms, which is the one that RFC 8949 prefers. */
    size_t n = value < 24 ? 0 : value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value <= UINT32_MAX ? 4 : 8;
    head[0] = (uint8_t)(type << 5 | (n == 0 ? (int)value : n == 1 ? 24 : n == 2 ? 25 : n == 4 ? 26 : 27));
    for (size_t i = 0; i < n; i++)
        head[1 + i] = (uint8_t)(value >> 8 * (n - 1 - i));
    put_bytes(t, head, 1 + n);
}

static void put_word(struct sent_text *t, const char *word)
{
    put_head(t, TEXT, strlen(word));
    put_bytes(t, word, strlen(word));
}

static void put_real(struct sent_text *t, const char *key, double value)
{
    uint64_t bits;
    uint8_t bytes[9] = { SIMPLE << 5 | 27 };
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (uint8_t)(bits >> 8 * (7 - i));
    put_word(t, key);
    put_bytes(t, bytes, sizeof bytes);
}

static void put_whole(struct sent_text *t, const char *key, uint64_t value)
{
    put_word(t, key);
    put_head(t, UINT, value);
}

/* Tag 40 with a shape and bytes, compressed where the codec is. */
static void put_array(struct sent_text *t, const struct sent_series *s, uint32_t type, uint32_t codec,
                      const hcy_span *bytes)
{
    /* RFC 8746's tags of little-endian arrays, as the pixels of a stack are. */
    const uint64_t tag = type == HCY_PIXEL_U8 ? 64 : type == HCY_PIXEL_U16 ? 69 : 70;
    put_head(t, TAG, 40);
    put_head(t, ARRAY, 2);
    put_head(t, ARRAY, 2);
    put_head(t, UINT, s->height);
    put_head(t, UINT, s->width);
    put_head(t, TAG, tag);
    if (codec != HCY_CODEC_NONE) {
        put_head(t, TAG, 56500);
        put_head(t, ARRAY, 3);
        /* For bitshuffle the number is the size of an element, without which the bits cannot be put back; LZ4 has
         * none. */
        put_word(t, codec == HCY_CODEC_LZ4 ? "lz4" : "bslz4");
        put_head(t, UINT, codec == HCY_CODEC_LZ4 ? 0 : s->elem_size);
    }
    put_head(t, BYTES, bytes->size);
    put_bytes(t, bytes->data, bytes->size);
}

/* What each message of v2 begins with; `more` members follow. */
static struct sent_text *begin_map(struct sent *m, const struct sent_series *s, const char *type, uint64_t more)
{
    static const uint8_t prefix[] = { 0xd9, 0xd9, 0xf7 };
    struct sent_text *t = next_part(m);
    put_bytes(t, prefix, sizeof prefix);
    put_head(t, MAP, 3 + more);
    put_word(t, "type");
    put_word(t, type);
    put_whole(t, "series_id", s->number);
    put_word(t, "series_unique_id");
    put_word(t, s->id);
    return t;
}

static void put_channel_name(struct sent_text *t, size_t i)
{
    char name[32];
    snprintf(name, sizeof name, "threshold_%zu", i + 1);
    put_word(t, name);
}

static void start_v2(struct sent *m, const struct sent_series *s)
{
    /* A map of CBOR begins with the number of its members, so what is left out below must be known here. */
    int placed = s->distance > 0;
    struct sent_text *t = begin_map(m, s, "start", 8 + (placed ? 4 : 0) + (s->mask ? 2 : 0));
    put_whole(t, "number_of_images", s->images);
    put_whole(t, "image_size_x", s->width);
    put_whole(t, "image_size_y", s->height);
    put_real(t, "pixel_size_x", s->pixel2);
    put_real(t, "pixel_size_y", s->pixel1);
    put_real(t, "incident_wavelength", 1e10 * s->wavelength);
    put_word(t, "detector_description");
    put_word(t, s->description);
    put_word(t, "channels");
    put_head(t, ARRAY, s->n_channels);
    for (size_t i = 0; i < s->n_channels; i++)
        put_channel_name(t, i);
    /* A geometry that is not known is not sent at all: zeros would be believed. */
    if (placed) {
        put_real(t, "beam_center_x", s->beam_x);
        put_real(t, "beam_center_y", s->beam_y);
        put_real(t, "detector_distance", s->distance);
        put_word(t, "countrate_correction_enabled");
        put_head(t, SIMPLE, FALSE_VALUE);
    }
    if (s->mask) {
        put_word(t, "pixel_mask_enabled");
        put_head(t, SIMPLE, TRUE_VALUE);
        put_word(t, "pixel_mask");
        put_head(t, MAP, s->n_channels);
        /* Every threshold gets the same mask, as a detector's pixels are broken for all of them. */
        hcy_span mask = { s->mask, (size_t)s->height * s->width * sizeof *s->mask };
        for (size_t i = 0; i < s->n_channels; i++) {
            put_channel_name(t, i);
            put_array(t, s, HCY_PIXEL_U32, HCY_CODEC_NONE, &mask);
        }
    }
}

static void image_v2(struct sent *m, const struct sent_series *s, uint64_t number, const hcy_span *chunks)
{
    struct sent_text *t = begin_map(m, s, "image", 2);
    put_whole(t, "image_id", number);
    put_word(t, "data");
    put_head(t, MAP, s->n_channels);
    for (size_t i = 0; i < s->n_channels; i++) {
        put_channel_name(t, i);
        put_array(t, s, s->pixel_type, s->codec, &chunks[i]);
    }
}

/* --- Stream v1: JSON and blobs --- */

static const char *type_name(uint32_t type)
{
#define ROW(NAME, name, c_type, kind, bytes) [HCY_PIXEL_##NAME] = #name,
    static const char *const names[] = { HCY_PIXEL_TYPES(ROW) };
#undef ROW
    return names[type];
}

/* A part that is the caller's own bytes. */
static void add_blob(struct sent *m, const void *bytes, size_t size)
{
    m->parts[m->n++] = (hcy_span){ bytes, size };
}

static void start_v1(struct sent *m, const struct sent_series *s)
{
    /* The first part promises the mask's two parts by its "all". */
    put_format(next_part(m), "{\"htype\":\"dheader-1.0\",\"series\":%llu,\"header_detail\":\"%s\"}",
               (unsigned long long)s->number, s->mask ? "all" : "basic");
    struct sent_text *t = next_part(m);
    put_format(t, "{\"nimages\":%llu,\"ntrigger\":1,\"x_pixels_in_detector\":%u,\"y_pixels_in_detector\":%u,",
               (unsigned long long)s->images, s->width, s->height);
    if (s->distance > 0)
        put_format(t, "\"beam_center_x\":%.17g,\"beam_center_y\":%.17g,\"detector_distance\":%.17g,", s->beam_x, s->beam_y,
                   s->distance);
    put_format(t, "\"x_pixel_size\":%.17g,\"y_pixel_size\":%.17g,\"wavelength\":%.17g,\"description\":\"%s\",", s->pixel2,
               s->pixel1, 1e10 * s->wavelength, s->description);
    put_format(t, "\"pixel_mask_applied\":%s,\"flatfield_correction_applied\":true}", s->mask ? "true" : "false");
    if (!s->mask)
        return;
    /* Stream v1 gives shapes as width and height, the other way round than v2. */
    put_format(next_part(m), "{\"htype\":\"dpixelmask-1.0\",\"shape\":[%u,%u],\"type\":\"uint32\"}", s->width, s->height);
    add_blob(m, s->mask, (size_t)s->height * s->width * sizeof *s->mask);
}

/* Literals alone: LZ4 of what does not become shorter. */
static void put_literals(struct sent_text *t, const uint8_t *bytes, size_t size)
{
    uint8_t token = size < 15 ? (uint8_t)(size << 4) : 0xf0, full = 255;
    put_bytes(t, &token, 1);
    size_t rest = size < 15 ? 0 : size - 15;
    for (; size >= 15 && rest >= 255; rest -= 255)
        put_bytes(t, &full, 1);
    /* A length that is not shorter than 15 ends with a byte below 255, even if that is 0. */
    uint8_t last = (uint8_t)rest;
    if (size >= 15)
        put_bytes(t, &last, 1);
    put_bytes(t, bytes, size);
}

/* The only block of a chunk of filter 32004, without the filter's 16 bytes of head; what the filter stored is coded. */
static void add_bare_lz4(struct sent *m, const struct sent_series *s, const hcy_span *chunk)
{
    enum { HEAD = 16 };
    size_t raw = (size_t)s->height * s->width * s->elem_size;
    const uint8_t *block = (const uint8_t *)chunk->data + HEAD;
    /* The filter stores a block as it is where LZ4 makes it no shorter; the stream has no sign for that. */
    if (chunk->size - HEAD == raw)
        put_literals(next_part(m), block, raw);
    else
        add_blob(m, block, chunk->size - HEAD);
}

static void image_v1(struct sent *m, const struct sent_series *s, uint64_t number, const hcy_span *chunk)
{
    char encoding[32] = "<";
    if (s->codec == HCY_CODEC_BSLZ4)
        snprintf(encoding, sizeof encoding, "bs%u-lz4<", 8 * s->elem_size);
    else if (s->codec == HCY_CODEC_LZ4)
        snprintf(encoding, sizeof encoding, "lz4<");
    put_format(next_part(m), "{\"htype\":\"dimage-1.0\",\"series\":%llu,\"frame\":%llu,\"hash\":\"\"}",
               (unsigned long long)s->number, (unsigned long long)number);
    struct sent_text *t = next_part(m);
    const size_t at = m->n;
    if (s->codec == HCY_CODEC_LZ4)
        add_bare_lz4(m, s, chunk);
    else
        add_blob(m, chunk->data, chunk->size);
    /* The size is that of the part, which is not the chunk's where LZ4 has lost its head. */
    put_format(t, "{\"htype\":\"dimage_d-1.0\",\"shape\":[%u,%u],\"type\":\"%s\",\"encoding\":\"%s\",\"size\":%zu}",
               s->width, s->height, type_name(s->pixel_type), encoding,
               m->texts[at].bytes ? m->texts[at].size : m->parts[at].size);
    put_format(next_part(m), "{\"htype\":\"dconfig-1.0\",\"start_time\":0,\"stop_time\":0,\"real_time\":0}");
}

/* --- Either --- */

int sent_start(struct sent *m, const struct sent_series *s)
{
    memset(m, 0, sizeof *m);
    /* A series has room for that many, and v1 has no names for thresholds. */
    if (s->n_channels < 1 || s->n_channels > SENT_CHANNELS || (s->version == 1 && s->n_channels > 1))
        return hcy_fail(HCY_EINVAL, "Stream v%d does not have %zu channels", s->version, s->n_channels);
    (s->version == 1 ? start_v1 : start_v2)(m, s);
    return finish_message(m);
}

int sent_image(struct sent *m, const struct sent_series *s, uint64_t number, const hcy_span *chunks)
{
    memset(m, 0, sizeof *m);
    (s->version == 1 ? image_v1 : image_v2)(m, s, number, chunks);
    return finish_message(m);
}

int sent_end(struct sent *m, const struct sent_series *s)
{
    memset(m, 0, sizeof *m);
    if (s->version == 1)
        put_format(next_part(m), "{\"htype\":\"dseries_end-1.0\",\"series\":%llu}", (unsigned long long)s->number);
    else
        (void)begin_map(m, s, "end", 0);
    return finish_message(m);
}
