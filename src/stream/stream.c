/* stream.c - one message of a detector: which way of writing it has, and what both come to. */
#include "stream_priv.h"
#include "sized.h"
#include <azint/azint_pixels.h>
#include <bslz4/bslz4_format.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hcy__stream_text(char *to, size_t room, const char *text, size_t size)
{
    size_t n = size < room - 1 ? size : room - 1;
    memcpy(to, text, n);
    to[n] = 0;
}

hcy_stream_channel *hcy__stream_channel(hcy_stream_message *m, const char *name, size_t size)
{
    char wanted[sizeof m->channels[0].name];
    /* Names are compared as they are kept, cut to their room, or a long one would never be found again. */
    hcy__stream_text(wanted, sizeof wanted, size ? name : "", size);
    for (uint32_t i = 0; i < m->n_channels; i++)
        if (!strcmp(m->channels[i].name, wanted))
            return &m->channels[i];
    if (m->n_channels == HCY_STREAM_CHANNELS)
        return NULL;
    memcpy(m->channels[m->n_channels].name, wanted, sizeof wanted);
    return &m->channels[m->n_channels++];
}

int hcy__stream_array_check(hcy_stream_array *a, const char *what)
{
    const struct hcy_pixel_type *type = hcy_pixel_type(a->pixel_type);
    size_t bytes;
    if (!type)
        return hcy_fail(HCY_EUNSUPPORTED, "%s: a type of pixels that is not known", what);
    if (!a->height || !a->width)
        return hcy_fail(HCY_ECORRUPT, "%s: it has no height and width", what);
    if (hcy_size_mul(&bytes, a->height, a->width) || hcy_size_mul(&bytes, bytes, type->bytes))
        return hcy_fail(HCY_ERANGE, "%s: %u x %u pixels of %u bytes", what, a->height, a->width, type->bytes);
    /* Plain and shuffled bytes have one size; that of others is the codec's to prove. */
    int plain = a->codec == HCY_CODEC_NONE || (a->codec == HCY_CODEC_BITSHUFFLE && !a->zstd);
    if (!a->size || (plain && a->size != bytes))
        return hcy_fail(HCY_ECORRUPT, "%s: %zu bytes, where %u x %u pixels are %zu", what, a->size, a->height, a->width,
                        bytes);
    /* A block of Jungfraujoch's 4096 pixels has 13 bytes and more: nobody makes much more room for pixels than such a
     * message can have. */
    if (a->zstd && bytes / 4096 > a->size)
        return hcy_fail(HCY_ECORRUPT, "%s: %zu bytes of Zstandard for %zu of pixels", what, a->size, bytes);
    a->elem_size = type->bytes;
    a->bytes = bytes;
    return 0;
}

/* Behind blanks, which JSON may begin with: is it JSON? */
static int is_json(const hcy_span *part)
{
    const char *bytes = part->data;
    size_t i = 0;
    /* strchr() finds the 0 behind its blanks as well, which is none of them. */
    while (i < part->size && strchr(" \t\r\n", bytes[i]) && bytes[i])
        i++;
    return i < part->size && bytes[i] == '{';
}

int hcy_stream_decode(hcy_stream_message *message, const hcy_span *parts, size_t n)
{
    if (!message || !parts || !n || !parts[0].data || !parts[0].size)
        return hcy_fail(HCY_EINVAL, "hcy_stream_decode: no message");
    for (size_t i = 1; i < n; i++)
        if (!parts[i].data && parts[i].size)
            return hcy_fail(HCY_EINVAL, "hcy_stream_decode: part %zu is NULL", i + 1);
    /* It is decoded apart: the caller's structure may be an older and shorter one, and keeps what it has after a
     * failure. */
    hcy_stream_message *made = calloc(1, sizeof *made);
    if (!made)
        return hcy_fail(HCY_ENOMEM, "no memory for a message");
    /* A time or a beam centre may be 0, and a flag too, so that what is not said has to be something else. */
    made->start = made->stop = made->real = made->beam_x = made->beam_y = NAN;
    made->mask_applied = made->flat_applied = made->countrate_applied = -1;
    made->version = is_json(&parts[0]) ? 1 : 2;
    int status = made->version == 1 ? hcy__stream_v1(made, parts, n) : hcy__stream_v2(made, &parts[0]);
    /* Jungfraujoch's channel list and its data may differ: an image is one with pixels in it. */
    int has_image = 0;
    for (uint32_t i = 0; i < made->n_channels; i++)
        has_image |= made->channels[i].image.data != NULL;
    if (!status && made->kind == HCY_STREAM_IMAGE && !has_image)
        status = hcy_fail(HCY_ECORRUPT, "an image without data");
    if (!status)
        status = hcy__sized_write(message, made, sizeof *made, "hcy_stream_message");
    free(made);
    return status;
}

/* Does the text stand in the first bytes? */
static int has_text(const hcy_span *part, const char *text)
{
    size_t n = strlen(text), room = part->size < 512 ? part->size : 512;
    for (size_t i = 0; i + n <= room; i++)
        if (!memcmp((const char *)part->data + i, text, n))
            return 1;
    return 0;
}

int hcy_stream_begins(const void *bytes, size_t size, int version)
{
    static const char *const types[] = { "dheader-1.0", "dimage-1.0", "dseries_end-1.0" };
    hcy_span part = { bytes, size };
    /* Blobs are of any bytes, so in a recording of v1 only JSON of these types begins a message; each record of v2 is
     * one. */
    if (!bytes || !size || version == 2)
        return bytes && size;
    for (size_t i = 0; is_json(&part) && i < sizeof types / sizeof types[0]; i++)
        if (has_text(&part, types[i]))
            return 1;
    return !version && !is_json(&part);
}
