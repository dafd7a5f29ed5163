/* stream.c - messages of detectors: what is in those of real ones, what comes back of those that were written, what is
 * said of damaged ones. */
#include "mutate.h"
#include "stream_scene.h"
#include <halcyon/device.h>
#include <math.h>
#include <stdio.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

static hcy_queue *queue;

/* --- Decoding an image of a message --- */

/* Its pixels; freed by the caller.  NULL: it is damaged. */
static uint8_t *pixels_of(const hcy_stream_array *a)
{
    hcy_bslz4_job job = scene_job(a);
    size_t room = hcy_stream_chunk_room(a);
    uint8_t *pixels = malloc(a->bytes), *buffer = malloc(room ? room : 1);
    hcy_span chunk;
    int status = hcy_stream_chunk(&chunk, buffer, room, a);
    if (!status)
        status = hcy_bslz4_decode(pixels, NULL, queue, &job, &chunk, 1);
    free(buffer);
    if (!status)
        return pixels;
    diag("%s", hcy_last_error()->text);
    free(pixels);
    return NULL;
}

/* --- Real messages --- */

static void *file_of(size_t *size, const char *name)
{
    const char *path = test_data(name);
    FILE *f = path ? fopen(path, "rb") : NULL;
    void *bytes = malloc(1 << 20);
    *size = f ? fread(bytes, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    if (*size)
        return bytes;
    free(bytes);
    return NULL;
}

static void test_real(void)
{
    static const char *const names[] = { "stream/dectris_stream2_start.cbor", "stream/dectris_stream2_image.cbor",
                                         "stream/dectris_stream2_end.cbor", "stream/dectris_stream1_frame.bin" };
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    hcy_span part[4];
    for (size_t i = 0; i < 4; i++)
        part[i].data = file_of(&part[i].size, names[i]);
    if (!part[0].data || !part[1].data || !part[2].data || !part[3].data) {
        skip(14, "no %s", names[0]);
        return;
    }
    is_int(hcy_stream_decode(&m, &part[0], 1), 0, "the start of a real EIGER2 16M");
    ok(m.kind == HCY_STREAM_START && m.version == 2 && m.series == 15614, "its kind and series");
    is_str(m.series_id, "01HBV3JPF9T4ZDPADX6EMK6XMZ", "its unique name");
    ok(m.height == 4362 && m.width == 4148 && m.images == 1, "its images");
    ok(fabs(m.beam_x - 2049.384) < 1e-3 && fabs(m.beam_y - 2163.621) < 1e-3 && fabs(m.distance - 0.237159) < 1e-6,
       "where the beam is: %g %g, %g m", m.beam_x, m.beam_y, m.distance);
    is_near(m.wavelength, 0.91837e-10, 1e-4, 0, "the wavelength");
    ok(m.mask_applied == 1 && m.flat_applied == 1 && m.countrate_applied == 1 && m.has_countrate_table, "its flags");
    is_str(m.description, "Dectris EIGER2 Si 16M", "its name");
    is_int(hcy_stream_decode(&m, &part[1], 1), 0, "an image");
    const hcy_stream_array *a = &m.channels[0].image;
    ok(m.kind == HCY_STREAM_IMAGE && m.number == 0 && m.n_channels == 1 && a->pixel_type == HCY_PIXEL_U16 &&
           a->codec == HCY_CODEC_BSLZ4 && a->height == 4362 && a->width == 4148 && a->size == 513082,
       "16-bit pixels in bitshuffle and LZ4");
    is_near(m.real, 0x34b41 / 50e6, 1e-12, 0, "exposed");
    /* Stream v1 had the same frame, whose blob is the chunk. */
    static const char json[] = "{\"htype\":\"dimage_d-1.0\",\"shape\":[4148,4362],\"type\":\"uint16\",\"encoding\":"
                               "\"bs16-lz4<\",\"size\":514994}",
                      head[] = "{\"htype\":\"dimage-1.0\",\"series\":1,\"frame\":0}";
    hcy_span old[] = { { head, strlen(head) }, { json, strlen(json) }, part[3] };
    hcy_stream_message first = HCY_STREAM_MESSAGE_INIT;
    int status = hcy_stream_decode(&first, old, 3);
    uint8_t *pixels = pixels_of(a), *before = status ? NULL : pixels_of(&first.channels[0].image);
    ok(pixels != NULL, "the image decodes");
    if (status == HCY_EUNSUPPORTED)
        skip(1, "built without jansson");
    else
        ok(before != NULL, "so does the blob of Stream v1");
    free(pixels);
    free(before);
    ok(!hcy_stream_decode(&m, &part[2], 1) && m.kind == HCY_STREAM_END && m.series == 15614, "the end of the series");
    for (size_t i = 0; i < 4; i++)
        free((void *)part[i].data);
}

/* --- What was written is read again --- */

static void test_round(int version, uint32_t codec, uint32_t type, uint32_t elem)
{
    static const char *const codecs[] = { "none", "bslz4", "lz4" };
    struct sent_series s = scene_series;
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    struct sent message;
    hcy_span chunks[2];
    s.version = version;
    s.codec = codec;
    s.pixel_type = type;
    s.elem_size = elem;
    s.n_channels = version == 2 ? 2 : 1;
    uint8_t *pixels[2] = { malloc(SCENE_N * elem), malloc(SCENE_N * elem) }, *coded[2];
    for (int i = 0; i < 2; i++) {
        scene_pixels(pixels[i], elem, (uint64_t)i);
        coded[i] = scene_chunk(&chunks[i], &s, pixels[i]);
    }
    if (sent_image(&message, &s, 5, chunks))
        bail_out("%s", hcy_last_error()->text);
    int status = hcy_stream_decode(&m, message.parts, message.n), good = !status;
    if (status == HCY_EUNSUPPORTED && version == 1) {
        skip(1, "%s", hcy_last_error()->text);
    } else {
        good = good && m.number == 5 && m.series == 7 && m.n_channels == s.n_channels;
        for (size_t i = 0; good && i < s.n_channels; i++) {
            uint8_t *back = pixels_of(&m.channels[i].image);
            good = back && !memcmp(back, pixels[i], SCENE_N * elem);
            free(back);
        }
        ok(good, "v%d, %s, %u bytes a pixel: the same pixels", version, codecs[codec], elem);
    }
    if (version == 1) {
        char size[64], head[512];
        snprintf(size, sizeof size, "\"size\":%zu}", message.parts[2].size);
        snprintf(head, sizeof head, "%.*s", (int)message.parts[1].size, (const char *)message.parts[1].data);
        ok(strstr(head, size) != NULL, "... whose size is that of the part behind: %s in %s", size, head);
    }
    sent_free(&message);
    for (int i = 0; i < 2; i++) {
        free(coded[i]);
        free(pixels[i]);
    }
}

static void test_rounds(void)
{
    for (int version = 1; version <= 2; version++)
        for (uint32_t codec = HCY_CODEC_NONE; codec <= HCY_CODEC_LZ4; codec++)
            for (uint32_t type = HCY_PIXEL_U8; type <= HCY_PIXEL_U32; type++)
                test_round(version, codec, type, 1u << (type - HCY_PIXEL_U8));
}

#ifdef HAVE_ZSTD
/* An image's chunk as Jungfraujoch codes it: filter 32008's blocks of shuffled bytes, each by Zstandard. */
static uint8_t *zstd_chunk(hcy_span *chunk, const uint8_t *pixels, size_t bytes, uint32_t elem, uint32_t block)
{
    hcy_bslz4_job job = { HCY_CODEC_BITSHUFFLE, elem, bytes, block, 0 };
    size_t size, tail = bytes % (8 * elem), coded = bytes - tail, at = 12;
    uint8_t *planes = malloc(bytes), *out = calloc(1, 2 * bytes + 4096);
    if (hcy_bslz4_encode(&size, planes, bytes, &job, pixels) || size != bytes)
        bail_out("no planes: %s", hcy_last_error()->text);
    for (int i = 0; i < 4; i++) {
        out[7 - i] = (uint8_t)(bytes >> 8 * i);
        out[11 - i] = (uint8_t)(block >> 8 * i);
    }
    for (size_t from = 0; from < coded; from += block) {
        size_t n = coded - from < block ? coded - from : block;
        size = ZSTD_compress(out + at + 4, ZSTD_compressBound(n), planes + from, n, 1);
        for (int i = 0; i < 4; i++)
            out[at + 3 - i] = (uint8_t)(size >> 8 * i);
        at += 4 + size;
    }
    /* Eights of pixels alone are shuffled. */
    memcpy(out + at, planes + coded, tail);
    free(planes);
    *chunk = (hcy_span){ out, at + tail };
    return out;
}

/* The message of such an image; the caller frees it. */
static hcy_span zstd_message(const struct sent_series *s, const uint8_t *pixels, uint32_t block)
{
    struct sent message;
    hcy_span chunk;
    uint8_t *coded = zstd_chunk(&chunk, pixels, (size_t)s->height * s->width * s->elem_size, s->elem_size, block);
    if (sent_image(&message, s, 5, &chunk))
        bail_out("%s", hcy_last_error()->text);
    /* What was written says bslz4; one letter more is another coding. */
    uint8_t *bytes = malloc(message.parts[0].size + 1), *name;
    memcpy(bytes, message.parts[0].data, message.parts[0].size);
    for (name = bytes; memcmp(name, "\x65" "bslz4", 6); name++)
        ;
    memmove(name + 7, name + 6, (size_t)(bytes + message.parts[0].size - (name + 6)));
    memcpy(name, "\x66" "bszstd", 7);
    hcy_span part = { bytes, message.parts[0].size + 1 };
    free(coded);
    sent_free(&message);
    return part;
}

/* Blocks of the filter's 8 KiB, and of other sizes, into which planes are parted and joined; an image without a photon,
 * which is coded in less than a thousandth of its bytes. */
static void test_zstd_blocks(void)
{
    static const struct {
        uint32_t height, width, elem, block;
        int blank;
    } cases[] = { { SCENE_H, SCENE_W, 2, 8192, 0 }, { SCENE_H, SCENE_W, 2, 208, 0 }, { 67, 65, 4, 16384, 0 },
                  { 67, 65, 1, 4096, 0 },           { 256, 256, 4, 65536, 1 } };
    static uint8_t pixels[256 * 256 * 4];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sent_series s = scene_series;
        hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
        size_t n = (size_t)cases[i].height * cases[i].width * cases[i].elem;
        for (size_t k = 0; k < n; k++)
            pixels[k] = cases[i].blank ? 0 : (uint8_t)(k * k % 251 >> k % 5);
        s.height = cases[i].height;
        s.width = cases[i].width;
        s.elem_size = cases[i].elem;
        s.pixel_type = s.elem_size == 1 ? HCY_PIXEL_U8 : s.elem_size == 2 ? HCY_PIXEL_U16 : HCY_PIXEL_U32;
        hcy_span part = zstd_message(&s, pixels, cases[i].block);
        is_int(hcy_stream_decode(&m, &part, 1), 0, "bitshuffle and Zstandard: %s", hcy_last_error()->text);
        uint8_t *back = m.n_channels ? pixels_of(&m.channels[0].image) : NULL;
        ok(back && !memcmp(back, pixels, n), "its pixels of %u bytes, in blocks of %u", s.elem_size, cases[i].block);
        free(back);
        free((void *)part.data);
    }
}

static void test_zstd(void)
{
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    uint8_t pixels[SCENE_N * 2];
    scene_pixels(pixels, 2, 3);
    test_zstd_blocks();
    hcy_span part = zstd_message(&scene_series, pixels, 8192), out;
    is_int(hcy_stream_decode(&m, &part, 1), 0, "an image: %s", hcy_last_error()->text);
    hcy_stream_array a = m.channels[0].image;
    uint8_t *broken = malloc(a.size), planes[sizeof pixels];
    memcpy(broken, a.data, a.size);
    broken[16] ^= 255;
    a.data = broken;
    is_int(hcy_stream_chunk(&out, planes, sizeof planes, &a), HCY_ECORRUPT, "a damaged one");
    is_int(hcy_stream_chunk(&out, planes, 8, &m.channels[0].image), HCY_ERANGE, "no room for it");
    free(broken);
    free((void *)part.data);
}
#else
static void test_zstd(void)
{
    const hcy_stream_array a = { .data = "", .size = 1, .zstd = 1, .bytes = 1 };
    hcy_span out;
    uint8_t byte;
    is_int(hcy_stream_chunk(&out, &byte, 1, &a), HCY_EUNSUPPORTED, "Zstandard: not in this build");
}
#endif

/* An LZ4 block that is exactly as long as what it decodes to: filter 32004 would take it for stored bytes. */
static void test_ambiguous(void)
{
    /* 2 literals and 8 bytes from 2 back, then 11 literals: 17 bytes for 21. */
    static const uint8_t block[] = { 0x24, 'a', 'b', 2, 0, 0xb0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    static const uint8_t want[] = { 'a', 'b', 'a', 'b', 'a', 'b', 'a', 'b', 'a', 'b',
                                    1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11 };
    hcy_stream_array a = { block, sizeof block, 1, sizeof want, HCY_PIXEL_U8, 1, HCY_CODEC_LZ4, 1, sizeof want, 0 };
    uint8_t *pixels = pixels_of(&a);
    ok(pixels && !memcmp(pixels, want, sizeof want), "LZ4 without a head");
    free(pixels);
    /* 4 literals and 4 bytes from 4 back, then 8 literals: 16 bytes for 16. */
    static const uint8_t equal[] = { 0x40, 9, 8, 7, 6, 4, 0, 0x80, 1, 2, 3, 4, 5, 6, 7, 8 };
    hcy_stream_array exact = { equal, 16, 1, 16, HCY_PIXEL_U8, 1, HCY_CODEC_LZ4, 1, 16, 0 };
    uint8_t *stored = pixels_of(&exact);
    ok(stored && stored[4] == 9 && stored[8] == 1 && stored[15] == 8, "as long as its pixels, and not taken for them");
    free(stored);
}

/* --- Messages by hand: hexadecimal digits, and text between ' --- */

static hcy_span by_hand(const char *text)
{
    static uint8_t bytes[4096];
    size_t n = 0;
    for (int quoted = 0, high = -1; *text; text++) {
        int digit = *text <= '9' ? *text - '0' : *text - 'a' + 10;
        if (*text == '\'')
            quoted = !quoted;
        else if (quoted)
            bytes[n++] = (uint8_t)*text;
        else if (*text != ' ' && high < 0)
            high = digit;
        else if (*text != ' ') {
            bytes[n++] = (uint8_t)(high << 4 | digit);
            high = -1;
        }
    }
    return (hcy_span){ bytes, n };
}

static int read_by_hand(hcy_stream_message *m, const char *text)
{
    hcy_span part = by_hand(text);
    *m = (hcy_stream_message)HCY_STREAM_MESSAGE_INIT;
    uint8_t *tight = malloc(part.size ? part.size : 1); /* so that a sanitizer sees its end */
    part.data = memcpy(tight, part.data, part.size);
    int status = hcy_stream_decode(m, &part, 1);
    free(tight);
    return status;
}

#define START "64'type' 65'start' "
#define IMAGE "64'type' 65'image' "
static void test_by_hand(void)
{
    hcy_stream_message m;
    ok(!read_by_hand(&m, "a1 " START) && m.kind == HCY_STREAM_START, "without the prefix");
    ok(!read_by_hand(&m, "d9d9f7 a1 " START) && m.kind == HCY_STREAM_START, "with it");
    ok(!read_by_hand(&m, "bf " START "69'series_id' 05 ff") && m.series == 5, "a map without a length");
    ok(!read_by_hand(&m, "a1 64'type' 6b'calibration'") && m.kind == HCY_STREAM_OTHER, "Jungfraujoch's other kinds");
    ok(!read_by_hand(&m, "a3 61'x' 82 a1 01 80 c2 41 05 69'series_id' 1903e8 " START) && m.series == 1000,
       "unknown fields are passed over, the type may come last");
    ok(!read_by_hand(&m, "a2 " START "61'x' 9f 5f 41 00 41 01 ff bf 60 f6 ff ff"), "so are strings in pieces");
    ok(!read_by_hand(&m, "a3 " START "6d'beam_center_x' f9 4900 6d'beam_center_y' fa 41200000") && m.beam_x == 10 &&
           m.beam_y == 10, "half and single precision");
    ok(!read_by_hand(&m, "a2 " START "6d'beam_center_x' f6") && isnan(m.beam_x), "null is not there");
    ok(!read_by_hand(&m, "a2 " START "68'channels' 82 61'a' 61'b'") && m.n_channels == 2 && !strcmp(m.channels[1].name, "b"),
       "channels in their order");
    size_t index;
    ok(!hcy_stream_find_channel(&index, &m, "b") && index == 1, "a channel by name");
    ok(!hcy_stream_find_channel(&index, &m, "2") && index == 1, "by number");
    ok(!hcy_stream_find_channel(&index, &m, NULL) && index == 0, "the first one");
    ok(hcy_stream_find_channel(&index, &m, "c") == HCY_EINVAL && strstr(hcy_last_error()->text, "1 a, 2 b"),
       "one that is not there: %s", hcy_last_error()->text);
    ok(!read_by_hand(&m, "a2 " IMAGE "64'data' a1 61'a' d828 82 82 01 02 d840 42 0102") && m.channels[0].image.width == 2,
       "plain pixels");
    ok(!read_by_hand(&m, "a2 " IMAGE "64'data' a1 61'a' d828 82 82 01 02 d84e 48 0102030405060708") &&
           m.channels[0].image.pixel_type == HCY_PIXEL_I32, "signed ones");
}

/* What is refused: the message, its status, a word of the reason. */
static void test_refused(void)
{
    static const struct {
        const char *text;
        int status;
        const char *word;
    } cases[] = {
        { "80", HCY_EFORMAT, "not a map" },
        { "c0 a0", HCY_EFORMAT, "tag 0" },
        { "a0", HCY_EFORMAT, "\"type\"" },
        { "a1 " START "00", HCY_ECORRUPT, "behind the end" },
        { "a2 " START, HCY_ECORRUPT, "too soon" },
        { "bf " START, HCY_ECORRUPT, "too soon" },
        { "bb ffffffffffffffff " START, HCY_ECORRUPT, "too soon" },
        { "a2 " START "61'x' 9b ffffffffffffffff 00", HCY_ECORRUPT, "too soon" },
        { "a2 " START "61'x' 5b ffffffffffffffff 00", HCY_ECORRUPT, "longer than the message" },
        { "a2 " START "61'x' ff", HCY_ECORRUPT, "no CBOR" },
        { "a2 " START "61'x' 1c", HCY_ECORRUPT, "no CBOR" },
        { "a2 " START "6d'beam_center_x' 61'1'", HCY_EFORMAT, "\"beam_center_x\"" },
        { "a2 " START "69'series_id' 20", HCY_EFORMAT, "whole number" },
        { "a2 " START "72'pixel_mask_enabled' f820", HCY_EFORMAT, "byte 31: neither" },
        { "a1 " IMAGE, HCY_ECORRUPT, "without data" },
        { "a2 " IMAGE "64'data' a0", HCY_ECORRUPT, "without data" },
        { "a2 " IMAGE "64'data' a1 61'a' d828 82 82 01 02 d840 43 010203", HCY_ECORRUPT, "3 bytes" },
        { "a2 " IMAGE "64'data' a1 61'a' d828 82 82 00 02 d840 40", HCY_ECORRUPT, "height" },
        { "a2 " IMAGE "64'data' a1 61'a' d828 82 83 01 02 01 d840 42 0102", HCY_ECORRUPT, "height" },
        { "a2 " IMAGE "64'data' a1 61'a' d90410 82 82 01 02 d840 42 0102", HCY_EUNSUPPORTED, "by columns" },
        { "a2 " IMAGE "64'data' a1 61'a' d828 82 82 01 02 42 0102", HCY_EUNSUPPORTED, "type of pixels" },
        { "a2 " IMAGE "64'data' a1 61'a' d828 82 82 01 02 d840 d9dcb4 83 64'zstd' 01 41 00", HCY_EUNSUPPORTED, "zstd" },
        { "a2 " IMAGE "64'data' a1 61'a' d828 82 82 01 02 d845 d9dcb4 83 65'bslz4' 04 41 00", HCY_EUNSUPPORTED, "shuffled" },
        { "a2 " IMAGE "64'data' a1 61'a' d828 82 82 1affffffff 1affffffff d846 41 00", HCY_ERANGE, "4294967295" },
        { "{", HCY_ECORRUPT, "Stream v1" },
    };
    hcy_stream_message m;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int v1 = *cases[i].text == '{', status = read_by_hand(&m, v1 ? "7b" : cases[i].text);
        if (v1 && status == HCY_EUNSUPPORTED)
            skip(1, "built without jansson");
        else if (!ok(status == cases[i].status && strstr(hcy_last_error()->text, cases[i].word), "refused: %s",
                     cases[i].text))
            diag("status %d: %s", status, hcy_last_error()->text);
    }
    char deep[512] = "a2 " START "61'x' ";
    for (int i = 0; i < 100; i++)
        strcat(deep, "81");
    ok(read_by_hand(&m, deep) == HCY_ECORRUPT && strstr(hcy_last_error()->text, "deeply"), "nested without end");
}

/* --- The start of a series --- */

static void test_start(int version)
{
    struct sent_series s = scene_series;
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    struct sent message;
    static uint32_t mask[SCENE_N];
    memset(mask, 0, sizeof mask);
    mask[3] = 1;
    mask[SCENE_W] = 1u << 8;
    mask[SCENE_W + 1] = 1u << 20; /* only says of what kind the pixel is */
    s.version = version;
    s.mask = mask;
    if (sent_start(&message, &s))
        bail_out("%s", hcy_last_error()->text);
    int status = hcy_stream_decode(&m, message.parts, message.n);
    if (status == HCY_EUNSUPPORTED) {
        skip(5, "%s", hcy_last_error()->text);
        sent_free(&message);
        return;
    }
    ok(!status && m.kind == HCY_STREAM_START && m.version == version && m.images == 3 && m.height == SCENE_H &&
           m.width == SCENE_W, "v%d: the start of a series", version);
    hcy_detector_info detector;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_stream_detector(&detector, &m);
    status = hcy_detector_geometry(&poni, &detector, m.height, m.width);
    ok(!status && poni.dist == 0.25 && fabs(poni.poni1 - 18.25 * 75e-6) < 1e-15 &&
           fabs(poni.poni2 - 14.5 * 80e-6) < 1e-15 && fabs(poni.wavelength - 1e-10) < 1e-20, "v%d: its geometry", version);
    hcy_corrections *c = NULL;
    status = hcy_stream_corrections(&c, &m, 0, HCY_CORRECTION_MASK | HCY_CORRECTION_FLAT, NULL);
    ok(!status && c->n_masked == 2 && c->mask[3] && c->mask[SCENE_W] && !c->mask[SCENE_W + 1] && c->mask_applied == 1,
       "v%d: its pixel mask, as a file's", version);
    hcy_corrections_free(c);
    c = NULL;
    status = hcy_stream_corrections(&c, &m, 0, 0, NULL);
    ok(!status && !c->mask && *c->mask_name, "v%d: a mask that is not asked for", version);
    hcy_corrections_free(c);
    m.width--;
    ok(hcy_stream_corrections(&c, &m, 0, HCY_CORRECTION_MASK, NULL) == HCY_EFORMAT, "v%d: a mask of another shape: %s",
       version, hcy_last_error()->text);
    sent_free(&message);
}

/* A flat field behind tag 56500, which the detector has not applied; DECTRIS' multiply. */
static void test_flat(void)
{
    static const char text[] =
        "a5 " START "6c'image_size_x' 02 6c'image_size_y' 01 71'flatfield_enabled' f4 69'flatfield' a1 61'a' "
        "d828 82 82 01 02 d855 d9dcb4 83 63'lz4' 00 58 18 0000000000000008 00000008 00000008 0000803f 00000040";
    hcy_span part = by_hand(text);
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    hcy_corrections *c = NULL;
    int status = hcy_stream_decode(&m, &part, 1);
    if (!status)
        status = hcy_stream_corrections(&c, &m, 0, HCY_CORRECTION_FLAT, NULL);
    ok(!status && c->flat && c->flat[0] == 1 && c->flat[1] == 0.5f && c->flat_multiplies, "a compressed flat field");
    if (status)
        diag("%s", hcy_last_error()->text);
    hcy_corrections_free(c);
    for (m.flat_applied = -1; m.flat_applied <= 1; m.flat_applied += 2) {
        status = hcy_stream_corrections(&c, &m, 0, HCY_CORRECTION_FLAT, NULL);
        ok(!status && !c->flat, "one that the detector has applied, or does not say so: %d", m.flat_applied);
        hcy_corrections_free(c);
        status = hcy_stream_corrections(&c, &m, 0, HCY_CORRECTION_FLAT | HCY_CORRECTION_FLAT_ANYWAY, NULL);
        ok(!status && c->flat, "... which is asked for nevertheless");
        hcy_corrections_free(c);
    }
}

/* A header without details has no configuration: what follows it is the user's own, whatever it looks like. */
static void test_bare_start(void)
{
    static const char head[] = "{\"htype\":\"dheader-1.0\",\"series\":7,\"header_detail\":\"none\"}";
    static const char *const appendices[] = { "no JSON", "{\"nimages\":3}" };
    for (size_t i = 0; i < 2; i++) {
        const hcy_span parts[] = { { head, sizeof head - 1 }, { appendices[i], strlen(appendices[i]) } };
        hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
        const int status = hcy_stream_decode(&m, parts, 2);
        if (status == HCY_EUNSUPPORTED)
            skip(1, "%s", hcy_last_error()->text);
        else
            ok(!status && m.kind == HCY_STREAM_START && m.series == 7 && !m.images, "an appendix alone: %s", appendices[i]);
    }
}

/* What stands behind Stream v1's configuration: pairs, of which none is lost without a word, and the user's own. */
static void test_pairs(void)
{
#define HEAD "{\"htype\":\"dheader-1.0\",\"series\":7,\"header_detail\":\"all\"}"
#define MASK "{\"htype\":\"dpixelmask-1.0\",\"shape\":[2,1],\"type\":\"uint32\"}"
    static const struct {
        const char *parts[6], *word; /* NULL: it is taken, with its mask */
    } cases[] = {
        { { HEAD, "{}", MASK, "8 bytes.", "no JSON" }, NULL },
        { { HEAD, "{}", MASK, "8 bytes.", "{\"htype\":\"mine\"}" }, NULL },
        { { HEAD, "{}", "{\"htype\":\"other-1.0\"}", "no JSON", MASK, "8 bytes." }, NULL },
        { { HEAD, "{}", MASK "?", "8 bytes." }, "part 3" },
        { { HEAD, "{}", MASK }, "pixel mask" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
        hcy_span parts[6];
        size_t n = 0;
        for (; n < 6 && cases[i].parts[n]; n++)
            parts[n] = (hcy_span){ cases[i].parts[n], strlen(cases[i].parts[n]) };
        const int status = hcy_stream_decode(&m, parts, n), wanted = cases[i].word ? HCY_ECORRUPT : 0;
        if (status == HCY_EUNSUPPORTED)
            skip(1, "%s", hcy_last_error()->text);
        else
            ok(status == wanted && (status ? !!strstr(hcy_last_error()->text, cases[i].word) :
                                             m.n_channels == 1 && m.channels[0].mask.size == 8),
               "a start of %zu parts: %s", n, status ? hcy_last_error()->text : "taken, with its mask");
    }
}

/* --- Recordings --- */

static void test_begins(void)
{
    struct sent_series s = scene_series;
    struct sent message;
    hcy_span chunk;
    static uint8_t pixels[SCENE_N * 2];
    s.version = 1;
    s.codec = HCY_CODEC_NONE;
    memset(pixels, 0xa5, sizeof pixels); /* what would be a map of CBOR */
    uint8_t *coded = scene_chunk(&chunk, &s, pixels);
    if (sent_image(&message, &s, 0, &chunk))
        bail_out("no message");
    int good = message.n == 4;
    for (size_t i = 0; i < message.n; i++)
        good = good && hcy_stream_begins(message.parts[i].data, message.parts[i].size, 1) == (i == 0);
    ok(good, "of a message of v1 its first part begins it");
    sent_free(&message);
    free(coded);
    ok(hcy_stream_begins(pixels, 3, 2) && !hcy_stream_begins(pixels, 0, 2), "of v2 each is one");
}

/* --- Damage --- */

/* A message's parts, each in memory of its own size, of which one is damaged. */
static int survives(const struct sent *message, size_t damaged)
{
    hcy_span parts[SENT_PARTS];
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    size_t n = message->n;
    for (size_t i = 0; i < n; i++) {
        uint8_t *copy = memcpy(malloc(message->parts[i].size), message->parts[i].data, message->parts[i].size);
        size_t size = i == damaged ? mutate(copy, message->parts[i].size) : message->parts[i].size;
        parts[i] = (hcy_span){ realloc(copy, size), size };
    }
    if (next() % 8 == 0)
        n = 1 + next() % n;
    hcy_clear_error();
    int status = hcy_stream_decode(&m, parts, n);
    int good = status ? hcy_last_error()->status == status && *hcy_last_error()->text : message_holds(&m, parts, n);
    for (size_t i = 0; i < message->n; i++)
        free((void *)parts[i].data);
    return good;
}

static void test_damage(int version, size_t times)
{
    struct sent_series s = scene_series;
    struct sent messages[3];
    hcy_span chunk;
    static uint8_t pixels[SCENE_N * 2];
    static uint32_t mask[SCENE_N];
    s.version = version;
    s.mask = mask;
    s.codec = version == 1 ? HCY_CODEC_LZ4 : HCY_CODEC_BSLZ4;
    scene_pixels(pixels, 2, 1);
    uint8_t *coded = scene_chunk(&chunk, &s, pixels);
    if (sent_start(&messages[0], &s) || sent_image(&messages[1], &s, 1, &chunk) || sent_end(&messages[2], &s))
        bail_out("no messages");
    size_t wrong = 0, cut = 0;
    for (size_t i = 0; i < times; i++) {
        state = i * 0x9e3779b97f4a7c15u;
        const struct sent *message = &messages[i % 3];
        wrong += !survives(message, next() % message->n);
    }
    is_int((intmax_t)wrong, 0, "v%d: %zu damaged messages: refused in words, or all that they say holds", version,
           times);
    /* Every end that is cut off. */
    for (size_t size = 1; version == 2 && size < messages[1].parts[0].size; size++) {
        hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
        uint8_t *tight = memcpy(malloc(size), messages[1].parts[0].data, size);
        hcy_span part = { tight, size };
        cut += !hcy_stream_decode(&m, &part, 1);
        free(tight);
    }
    is_int((intmax_t)cut, 0, "v%d: no message is whole that is cut off", version);
    for (int i = 0; i < 3; i++)
        sent_free(&messages[i]);
    free(coded);
}

int main(int argc, char **argv)
{
    hcy_device *device = NULL;
    if (hcy_device_open(&device, "cpu@threads=1") || hcy_queue_create(&queue, device))
        bail_out("%s", hcy_last_error()->text);
    test_real();
    test_rounds();
    test_zstd();
    test_ambiguous();
    test_by_hand();
    test_refused();
    test_start(1);
    test_start(2);
    test_flat();
    test_bare_start();
    test_pairs();
    test_begins();
    for (int version = 1; version <= 2; version++)
        test_damage(version, argc > 1 ? strtoul(argv[1], NULL, 10) : 3000);
    hcy_queue_release(queue);
    hcy_device_release(device);
    return done_testing();
}
