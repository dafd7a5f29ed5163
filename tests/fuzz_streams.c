/* fuzz_streams.c - fuzz targets: messages of detectors. */
#include "fuzz.h"
#include "stream_scene.h"

static int run_parts(const hcy_span *parts, size_t n)
{
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    if (hcy_stream_decode(&m, parts, n))
        return 0;
    if (!message_holds(&m, parts, n))
        abort();
    hcy_corrections *c = NULL;
    size_t pixels = (size_t)m.height * m.width;
    if (m.kind == HCY_STREAM_START && pixels < 1 << 16 &&
        !hcy_stream_corrections(&c, &m, 0, HCY_CORRECTION_MASK | HCY_CORRECTION_FLAT, NULL))
        hcy_corrections_free(c);
    return 1;
}

static void give_messages(int version, void (*give)(const struct sent *message))
{
    static uint32_t mask[SCENE_N];
    static uint8_t pixels[SCENE_N * 2];
    struct sent_series s = scene_series;
    struct sent message;
    hcy_span chunks[2];
    s.version = version;
    s.mask = mask;
    scene_pixels(pixels, 2, 1);
    for (s.codec = HCY_CODEC_NONE; s.codec <= HCY_CODEC_LZ4; s.codec++) {
        uint8_t *coded = scene_chunk(&chunks[0], &s, pixels);
        chunks[1] = chunks[0];
        s.n_channels = version == 2 ? 2 : 1;
        if (sent_image(&message, &s, s.codec, chunks))
            bail_out("%s", hcy_last_error()->text);
        give(&message);
        sent_free(&message);
        free(coded);
    }
    if (sent_start(&message, &s))
        bail_out("%s", hcy_last_error()->text);
    give(&message);
    sent_free(&message);
    if (sent_end(&message, &s))
        bail_out("%s", hcy_last_error()->text);
    give(&message);
    sent_free(&message);
}

/* --- Stream v2: the bytes are the message --- */

static int run_stream2(const uint8_t *data, size_t size)
{
    hcy_span part = { data, size };
    return size && run_parts(&part, 1);
}

static void give_whole(const struct sent *message)
{
    fuzz_give(message->parts[0].data, message->parts[0].size);
}

static void seed_stream2(void)
{
    give_messages(2, give_whole);
}

/* --- Stream v1: parts, each behind its length of two bytes; the last one takes what is left --- */

static int run_stream1(const uint8_t *data, size_t size)
{
    hcy_span parts[SENT_PARTS];
    uint8_t *copies[SENT_PARTS];
    size_t n = 0;
    for (; n < SENT_PARTS && size > 2; n++) {
        size_t length = (size_t)(data[0] | data[1] << 8), left = size - 2;
        length = length < left ? length : left;
        copies[n] = memcpy(malloc(length ? length : 1), data + 2, length);
        parts[n] = (hcy_span){ copies[n], length };
        data += 2 + length;
        size -= 2 + length;
    }
    int taken = n && run_parts(parts, n);
    while (n--)
        free(copies[n]);
    return taken;
}

static void give_parts(const struct sent *message)
{
    size_t size = 0;
    uint8_t *bytes = malloc(1 << 16);
    for (size_t i = 0; i < message->n; i++) {
        bytes[size++] = (uint8_t)message->parts[i].size;
        bytes[size++] = (uint8_t)(message->parts[i].size >> 8);
        memcpy(bytes + size, message->parts[i].data, message->parts[i].size);
        size += message->parts[i].size;
    }
    fuzz_give(bytes, size);
    free(bytes);
}

static void seed_stream1(void)
{
    give_messages(1, give_parts);
}

const struct fuzz_target fuzz_streams[] = {
#ifdef HAVE_JANSSON
    { "stream1", run_stream1, seed_stream1 },
#endif
    { "stream2", run_stream2, seed_stream2 },
    { NULL, NULL, NULL },
};
