/* stream_v2.c - DECTRIS Stream v2, and Jungfraujoch's messages, which are like it: one CBOR map.
 *
 * What a message says is read by a table of its keys; keys that are not in it are passed over, whatever they hold.
 * Arrays are RFC 8746's: tag 40 (1040: by columns) of [[rows, columns], typed array], the typed array being bytes, or
 * DECTRIS' tag 56500 of [algorithm, element size, bytes].
 */
#include "cbor_reader.h"
#include "stream_priv.h"
#include <azint/azint_pixels.h>
#include <bslz4/bslz4_format.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { TAG_BY_ROWS = 40, TAG_BY_COLUMNS = 1040, TAG_COMPRESSED = 56500, TAG_SELF = 55799 };

/* Typed arrays, little-endian where that makes a difference. */
static const struct {
    uint64_t tag;
    uint32_t type;
} typed_arrays[] = { { 64, HCY_PIXEL_U8 },  { 68, HCY_PIXEL_U8 },  { 69, HCY_PIXEL_U16 }, { 70, HCY_PIXEL_U32 },
                     { 71, HCY_PIXEL_U64 }, { 72, HCY_PIXEL_I8 },  { 77, HCY_PIXEL_I16 }, { 78, HCY_PIXEL_I32 },
                     { 79, HCY_PIXEL_I64 }, { 85, HCY_PIXEL_F32 }, { 86, HCY_PIXEL_F64 } };

static int span_is(hcy_span text, const char *word)
{
    return text.size == strlen(word) && !memcmp(text.data, word, text.size);
}

/* --- Arrays --- */

/* [algorithm, element size, bytes], the array's typed tag having been read. */
static int read_compressed(hcy_stream_array *array, struct cbor *c)
{
    struct cbor_list list;
    hcy_span name = { NULL, 0 }, bytes = { NULL, 0 };
    uint64_t elem = 0;
    int status = cbor_open(&list, c, CBOR_ARRAY);
    if (!status && (list.until_mark || list.left != 3))
        return hcy_fail(HCY_ECORRUPT, "a compressed string is not of three items");
    if (!status)
        status = cbor_string(&name, c, CBOR_TEXT);
    if (!status)
        status = cbor_uint(&elem, c);
    if (!status)
        status = cbor_string(&bytes, c, CBOR_BYTES);
    if (status)
        return status;
    array->data = bytes.data;
    array->size = bytes.size;
    array->zstd = (uint32_t)span_is(name, "bszstd");
    if (!span_is(name, "bslz4") && !span_is(name, "lz4") && !array->zstd)
        return hcy_fail(HCY_EUNSUPPORTED, "compression '%.*s': Halcyon takes bslz4, bszstd and lz4",
                        (int)(name.size < 32 ? name.size : 32), (const char *)name.data);
    array->codec = array->zstd            ? HCY_CODEC_BITSHUFFLE
                   : span_is(name, "lz4") ? HCY_CODEC_LZ4
                                          : HCY_CODEC_BSLZ4;
    /* Other sizes can be, and no detector shuffles pixels as if they were of another size. */
    const struct hcy_pixel_type *pixel = hcy_pixel_type(array->pixel_type);
    if (array->codec != HCY_CODEC_LZ4 && pixel && elem != pixel->bytes)
        return hcy_fail(HCY_EUNSUPPORTED, "elements of %llu bytes were shuffled, pixels have %u",
                        (unsigned long long)elem, pixel->bytes);
    return 0;
}

/* Bytes, compressed or not, behind their typed tag; without one their type stays 0. */
static int read_typed(hcy_stream_array *array, struct cbor *c)
{
    hcy_span bytes = { NULL, 0 };
    uint64_t tag = 0;
    int status = 0;
    /* The typed array's tag stands before that of compression; one that is not known leaves the type 0, which is
     * refused later. */
    while (!status && cbor_peek(c) == CBOR_TAG) {
        status = cbor_tag(&tag, c);
        if (!status && tag == TAG_COMPRESSED)
            return read_compressed(array, c);
        for (size_t i = 0; i < sizeof typed_arrays / sizeof typed_arrays[0]; i++)
            if (tag == typed_arrays[i].tag)
                array->pixel_type = typed_arrays[i].type;
    }
    if (!status)
        status = cbor_string(&bytes, c, CBOR_BYTES);
    array->data = bytes.data;
    array->size = bytes.size;
    array->codec = HCY_CODEC_NONE;
    return status;
}

/* [rows, columns]; of other ranks nothing is kept. */
static int read_shape(hcy_stream_array *array, struct cbor *c)
{
    struct cbor_list list;
    uint64_t shape[2] = { 0, 0 }, n = 0, length;
    int more, status = cbor_open(&list, c, CBOR_ARRAY);
    while (!status && (more = cbor_more(&list, c)) != 0) {
        status = more < 0 ? more : cbor_uint(&length, c);
        if (!status && n < 2)
            shape[n] = length;
        n++;
    }
    if (!status && n == 2 && shape[0] <= UINT32_MAX && shape[1] <= UINT32_MAX) {
        array->height = (uint32_t)shape[0];
        array->width = (uint32_t)shape[1];
    }
    return status;
}

/* An array with its shape, or a string of bytes without one, which is no image. */
static int read_array(hcy_stream_array *array, struct cbor *c, const char *what)
{
    struct cbor before = *c;
    struct cbor_list list;
    uint64_t tag = 0;
    int status = cbor_peek(c) == CBOR_TAG ? cbor_tag(&tag, c) : 0;
    if (!status && tag != TAG_BY_ROWS && tag != TAG_BY_COLUMNS) {
        /* Its data stays NULL, so that it counts as not there. */
        *c = before;
        return cbor_skip(c);
    }
    if (!status)
        status = cbor_open(&list, c, CBOR_ARRAY);
    if (!status && (list.until_mark || list.left != 2))
        return hcy_fail(HCY_ECORRUPT, "%s: an array is not of a shape and its elements", what);
    if (!status)
        status = read_shape(array, c);
    if (!status)
        status = read_typed(array, c);
    /* By columns, rows and columns change places in memory, which no geometry would know of. */
    if (!status && tag == TAG_BY_COLUMNS)
        return hcy_fail(HCY_EUNSUPPORTED, "%s is stored by columns", what);
    return status ? status : hcy__stream_array_check(array, what);
}

/* A map from channels to arrays, which stand at `offset` of a channel. */
static int read_channels(hcy_stream_message *m, struct cbor *c, size_t offset, const char *what)
{
    struct cbor_list list;
    hcy_stream_array ignored;
    hcy_span name;
    int more, status = cbor_open(&list, c, CBOR_MAP);
    while (!status && (more = cbor_more(&list, c)) != 0) {
        status = more < 0 ? more : cbor_string(&name, c, CBOR_TEXT);
        if (status)
            break;
        /* Channels beyond those that there is room for are read too, as the next key stands behind them. */
        hcy_stream_channel *channel = hcy__stream_channel(m, name.data, name.size);
        hcy_stream_array *array = channel ? (hcy_stream_array *)((char *)channel + offset) : &ignored;
        *array = (hcy_stream_array){ .data = NULL };
        status = read_array(array, c, what);
    }
    return status;
}

/* --- Plain values --- */

static int read_kind(hcy_stream_message *m, struct cbor *c)
{
    static const char *const names[] = { "start", "image", "end" }; /* from HCY_STREAM_START on */
    hcy_span word;
    int status = cbor_string(&word, c, CBOR_TEXT);
    m->kind = HCY_STREAM_OTHER;
    for (int i = 0; !status && i < 3; i++)
        if (span_is(word, names[i]))
            m->kind = HCY_STREAM_START + i;
    return status;
}

/* ["threshold_1", "threshold_2"]: the order in which they count. */
static int read_channel_names(hcy_stream_message *m, struct cbor *c)
{
    struct cbor_list list;
    hcy_span name;
    int more, status = cbor_open(&list, c, CBOR_ARRAY);
    while (!status && (more = cbor_more(&list, c)) != 0) {
        status = more < 0 ? more : cbor_string(&name, c, CBOR_TEXT);
        if (!status)
            (void)hcy__stream_channel(m, name.data, name.size);
    }
    return status;
}

/* Numbers in a list: to[n], of which those that are missing stay. */
static int read_reals(double *to, struct cbor *c, size_t n)
{
    struct cbor_list list;
    double value;
    size_t i = 0;
    int more, status = cbor_open(&list, c, CBOR_ARRAY);
    while (!status && (more = cbor_more(&list, c)) != 0) {
        status = more < 0 ? more : cbor_real(&value, c);
        if (!status && i < n)
            to[i++] = value;
    }
    return status;
}

/* [ticks, ticks a second] */
static int read_time(double *seconds, struct cbor *c)
{
    double ratio[2] = { NAN, 0 };
    int status = read_reals(ratio, c, 2);
    *seconds = ratio[1] > 0 ? ratio[0] / ratio[1] : NAN;
    return status;
}

/* From the sample to the first pixel; the third is the distance, with a sign that differs between versions. */
static int read_translation(double *distance, struct cbor *c)
{
    double translation[3] = { 0, 0, 0 };
    int status = read_reals(translation, c, 3);
    if (translation[2] != 0)
        *distance = fabs(translation[2]);
    return status;
}

static int read_text(char *to, size_t room, struct cbor *c)
{
    hcy_span text;
    int status = cbor_string(&text, c, CBOR_TEXT);
    if (!status)
        hcy__stream_text(to, room, text.data, text.size);
    return status;
}

static int read_size(uint32_t *to, struct cbor *c)
{
    uint64_t value;
    int status = cbor_uint(&value, c);
    *to = !status && value <= UINT32_MAX ? (uint32_t)value : 0;
    return status;
}

/* --- The message --- */

enum field { KIND, UINT, SIZE, REAL, BOOL, TEXT, TIME, NAMES, TRANSLATION, TABLE, ARRAYS };
#define AT(member)      offsetof(hcy_stream_message, member), sizeof(((hcy_stream_message *)0)->member)
#define OF(member)      offsetof(hcy_stream_channel, member), 0
static const struct {
    const char *key;
    enum field field;
    size_t offset, room;
} fields[] = {
    { "type", KIND, AT(kind) },
    { "series_id", UINT, AT(series) },
    { "series_unique_id", TEXT, AT(series_id) },
    { "image_id", UINT, AT(number) },
    { "start_time", TIME, AT(start) },
    { "stop_time", TIME, AT(stop) },
    { "real_time", TIME, AT(real) },
    { "data", ARRAYS, OF(image) },
    { "channels", NAMES, AT(channels) },
    { "number_of_images", UINT, AT(images) },
    { "image_size_x", SIZE, AT(width) },
    { "image_size_y", SIZE, AT(height) },
    { "pixel_size_x", REAL, AT(pixel2) },
    { "pixel_size_y", REAL, AT(pixel1) },
    { "beam_center_x", REAL, AT(beam_x) },
    { "beam_center_y", REAL, AT(beam_y) },
    { "detector_distance", REAL, AT(distance) },
    { "detector_translation", TRANSLATION, AT(distance) },
    { "incident_wavelength", REAL, AT(wavelength) },
    { "saturation_value", REAL, AT(saturation) },
    { "detector_description", TEXT, AT(description) },
    { "pixel_mask", ARRAYS, OF(mask) },
    { "pixel_mask_enabled", BOOL, AT(mask_applied) },
    { "flatfield", ARRAYS, OF(flat) },
    { "flatfield_enabled", BOOL, AT(flat_applied) },
    { "countrate_correction_lookup_table", TABLE, AT(has_countrate_table) },
    { "countrate_correction_enabled", BOOL, AT(countrate_applied) },
};
#undef AT
#undef OF

static int read_field(hcy_stream_message *m, struct cbor *c, size_t i)
{
    /* Of ARRAYS the offset is one within a channel, and this place is not used. */
    void *at = (char *)m + fields[i].offset;
    /* What a detector does not know it may send as null. */
    if (cbor_null(c))
        return 0;
    switch (fields[i].field) {
    case KIND:
        return read_kind(m, c);
    case UINT:
        return cbor_uint(at, c);
    case SIZE:
        return read_size(at, c);
    case REAL:
        return cbor_real(at, c);
    case BOOL:
        return cbor_bool(at, c);
    case TEXT:
        return read_text(at, fields[i].room, c);
    case TIME:
        return read_time(at, c);
    case NAMES:
        return read_channel_names(m, c);
    case TRANSLATION:
        return read_translation(at, c);
    case TABLE:
        m->has_countrate_table = 1;
        return cbor_skip(c);
    case ARRAYS:
        return read_channels(m, c, fields[i].offset, fields[i].key);
    }
    return 0;
}

/* One key with its value. */
static int read_member(hcy_stream_message *m, struct cbor *c)
{
    hcy_span key;
    int status = cbor_string(&key, c, CBOR_TEXT);
    for (size_t i = 0; !status && i < sizeof fields / sizeof fields[0]; i++)
        if (span_is(key, fields[i].key)) {
            status = read_field(m, c, i);
            if (!status)
                return 0;
            /* It is copied, since hcy_fail() writes over the text that it would read. */
            hcy_error error = *hcy_last_error();
            return hcy_fail(status, "\"%s\": %s", fields[i].key, error.text);
        }
    return status ? status : cbor_skip(c);
}

int hcy__stream_v2(hcy_stream_message *m, const hcy_span *part)
{
    struct cbor c;
    struct cbor_list list;
    uint64_t tag;
    int more, status = 0;
    cbor_begin(&c, part->data, part->size);
    /* d9 d9 f7, "this is CBOR", may stand before the map. */
    if (cbor_peek(&c) == CBOR_TAG) {
        status = cbor_tag(&tag, &c);
        if (!status && tag != TAG_SELF)
            return hcy_fail(HCY_EFORMAT, "a message of Stream v2 is a map, not tag %llu", (unsigned long long)tag);
    }
    if (!status)
        status = cbor_open(&list, &c, CBOR_MAP);
    /* Kinds of no use here are HCY_STREAM_OTHER, which a message without a type must not pass for. */
    m->kind = -1;
    while (!status && (more = cbor_more(&list, &c)) != 0)
        status = more < 0 ? more : read_member(m, &c);
    if (!status && m->kind < 0)
        return hcy_fail(HCY_EFORMAT, "a message of Stream v2 without a \"type\"");
    if (!status && c.at != c.end)
        return hcy_fail(HCY_ECORRUPT, "%zu bytes behind the end of a message", (size_t)(c.end - c.at));
    /* It is in Angstrom, as Stream v1's. */
    m->wavelength *= 1e-10;
    return status;
}
