/* stream_v1.c - DECTRIS Stream v1: messages of several parts, JSON and blobs (SIMPLON API 1.8).
 *
 *   dheader-1.0      [configuration [, flatfield-1.0, blob, dpixelmask-1.0, blob, dcountrate_table-1.0, blob]]
 *   dimage-1.0       dimage_d-1.0, blob, dconfig-1.0
 *   dseries_end-1.0
 *
 * An appendix of the user's is one part more, which nobody here looks at.
 */
#include "stream_priv.h"

#ifdef HAVE_JANSSON
#include <azint/azint_pixels.h>
#include <bslz4/bslz4_format.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* A part as JSON, an object; to be released. */
static int load_part(json_t **json, const hcy_span *part, size_t i)
{
    json_error_t error;
    *json = json_loadb(part->data, part->size, 0, &error);
    if (*json && json_is_object(*json))
        return 0;
    int was_read = *json != NULL;
    json_decref(*json);
    *json = NULL;
    return hcy_fail(HCY_ECORRUPT, "part %zu of a message of Stream v1: %s", i + 1,
                    was_read ? "no object of JSON" : error.text);
}

static int is_type(const json_t *json, const char *type)
{
    const char *text = json_string_value(json_object_get(json, "htype"));
    return text && !strcmp(text, type);
}

static uint64_t get_whole(const json_t *json, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(json, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* 0 also where it has more than 32 bits, as no image has so many pixels across. */
static uint32_t get_size(const json_t *json, const char *key)
{
    uint64_t value = get_whole(json, key);
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* A real number; `other` where there is none. */
static double get_real(const json_t *json, const char *key, double other)
{
    const json_t *value = json_object_get(json, key);
    return json_is_number(value) ? json_number_value(value) : other;
}

/* 1, 0, or -1: it does not say. */
static int get_flag(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return json_is_boolean(value) ? json_is_true(value) : json_is_number(value) ? json_number_value(value) != 0 : -1;
}

/* --- Arrays --- */

/* [bs<BIT>][[-]lz4][<|>].  The size of an element is that of `type`: what stands behind bs has been wrong. */
static int set_codec(hcy_stream_array *array, const char *encoding)
{
    const char *rest = encoding;
    int shuffled = !strncmp(rest, "bs", 2);
    if (shuffled)
        rest += 2 + strspn(rest + 2, "0123456789");
    rest += *rest == '-';
    int lz4 = !strncmp(rest, "lz4", 3);
    rest += lz4 ? 3 : 0;
    if (!strcmp(rest, ">"))
        return hcy_fail(HCY_EUNSUPPORTED, "encoding \"%.32s\": big-endian pixels", encoding);
    if (*rest && strcmp(rest, "<"))
        return hcy_fail(HCY_EUNSUPPORTED, "encoding \"%.32s\" is not known", encoding);
    array->codec = shuffled && lz4 ? HCY_CODEC_BSLZ4
                   : shuffled      ? HCY_CODEC_BITSHUFFLE
                   : lz4           ? HCY_CODEC_LZ4
                                   : HCY_CODEC_NONE;
    array->bare = lz4 && !shuffled;
    return 0;
}

static uint32_t find_pixel_type(const char *name)
{
#define ROW(NAME, name, c_type, kind, bytes) { #name, HCY_PIXEL_##NAME },
    static const struct {
        const char *name;
        uint32_t type;
    } rows[] = { HCY_PIXEL_TYPES(ROW) };
#undef ROW
    for (size_t i = 0; name && i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(name, rows[i].name))
            return rows[i].type;
    return 0;
}

/* {shape: [x, y], type, encoding} and its blob. */
static int read_blob(hcy_stream_array *array, const json_t *json, const hcy_span *blob, const char *what)
{
    const json_t *shape = json_object_get(json, "shape");
    const char *encoding = json_string_value(json_object_get(json, "encoding"));
    json_int_t x = json_integer_value(json_array_get(shape, 0)), y = json_integer_value(json_array_get(shape, 1));
    *array = (hcy_stream_array){ .data = blob->data, .size = blob->size };
    array->pixel_type = find_pixel_type(json_string_value(json_object_get(json, "type")));
    /* Sizes that are out of range stay 0, which the check below refuses. */
    if (x > 0 && x <= UINT32_MAX && y > 0 && y <= UINT32_MAX) {
        array->width = (uint32_t)x;
        array->height = (uint32_t)y;
    }
    int status = set_codec(array, encoding ? encoding : "<");
    return status ? status : hcy__stream_array_check(array, what);
}

/* --- The start of a series --- */

static void read_configuration(hcy_stream_message *m, const json_t *json)
{
    /* A series of several triggers has that many times the images of one. */
    uint64_t triggers = get_whole(json, "ntrigger"), images = get_whole(json, "nimages");
    m->images = triggers > 1 && images <= UINT64_MAX / triggers ? images * triggers : images;
    m->width = get_size(json, "x_pixels_in_detector");
    m->height = get_size(json, "y_pixels_in_detector");
    m->pixel1 = get_real(json, "y_pixel_size", 0);
    m->pixel2 = get_real(json, "x_pixel_size", 0);
    m->distance = get_real(json, "detector_distance", 0);
    m->beam_x = get_real(json, "beam_center_x", NAN);
    m->beam_y = get_real(json, "beam_center_y", NAN);
    /* DECTRIS writes Angstrom; all lengths here are metres. */
    m->wavelength = 1e-10 * get_real(json, "wavelength", 0);
    m->saturation = get_real(json, "countrate_correction_count_cutoff", 0);
    m->mask_applied = get_flag(json, "pixel_mask_applied");
    m->flat_applied = get_flag(json, "flatfield_correction_applied");
    m->countrate_applied = get_flag(json, "countrate_correction_applied");
    const char *description = json_string_value(json_object_get(json, "description"));
    if (description)
        hcy__stream_text(m->description, sizeof m->description, description, strlen(description));
}

/* A description and the blob behind it, NULL: the message ends before.  What is not used is passed over. */
static int read_pair(hcy_stream_message *m, const json_t *json, const hcy_span *blob)
{
    hcy_stream_channel *channel = hcy__stream_channel(m, "", 0);
    const int is_flat = is_type(json, "flatfield-1.0"), is_mask = is_type(json, "dpixelmask-1.0");
    m->has_countrate_table |= is_type(json, "dcountrate_table-1.0");
    if ((is_flat || is_mask) && !blob)
        return hcy_fail(HCY_ECORRUPT, "the start of a series of Stream v1 ends before the bytes of its %s",
                        is_flat ? "flatfield" : "pixel mask");
    if (is_flat)
        return read_blob(&channel->flat, json, blob, "flatfield");
    return is_mask ? read_blob(&channel->mask, json, blob, "pixel mask") : 0;
}

/* The parts behind the header: the configuration, which has no type, and pairs of a description and its blob. */
static int read_start(hcy_stream_message *m, const hcy_span *parts, size_t n)
{
    int status = 0;
    for (size_t i = 1; !status && i < n; i++) {
        json_t *json;
        /* The last part may be the user's own, of any bytes.  One before it may describe the mask, which must not be
         * lost without a word. */
        if (load_part(&json, &parts[i], i))
            return i > 1 && i + 1 == n ? 0 : HCY_ECORRUPT;
        if (json_object_get(json, "htype")) {
            status = read_pair(m, json, i + 1 < n ? &parts[i + 1] : NULL);
            i++;
        } else if (i == 1)
            read_configuration(m, json);
        json_decref(json);
    }
    return status;
}

/* --- An image --- */

static int read_image(hcy_stream_message *m, const hcy_span *parts, size_t n)
{
    json_t *json;
    hcy_stream_channel *channel = hcy__stream_channel(m, "", 0);
    if (n < 3)
        return hcy_fail(HCY_ECORRUPT, "an image of Stream v1 has %zu of its 4 parts", n);
    int status = load_part(&json, &parts[1], 1);
    if (status)
        return status;
    status = is_type(json, "dimage_d-1.0") ? read_blob(&channel->image, json, &parts[2], "image")
                                           : hcy_fail(HCY_ECORRUPT, "an image of Stream v1 without a dimage_d-1.0");
    json_decref(json);
    /* Times are of use where they are there; an image is one without them. */
    if (!status && n > 3 && !load_part(&json, &parts[3], 3)) {
        m->start = 1e-9 * get_real(json, "start_time", NAN);
        m->stop = 1e-9 * get_real(json, "stop_time", NAN);
        m->real = 1e-9 * get_real(json, "real_time", NAN);
        json_decref(json);
    }
    return status;
}

int hcy__stream_v1(hcy_stream_message *m, const hcy_span *parts, size_t n)
{
    json_t *json;
    int status = load_part(&json, &parts[0], 0);
    if (status)
        return status;
    m->series = get_whole(json, "series");
    m->number = get_whole(json, "frame");
    m->kind = is_type(json, "dheader-1.0")       ? HCY_STREAM_START
              : is_type(json, "dimage-1.0")      ? HCY_STREAM_IMAGE
              : is_type(json, "dseries_end-1.0") ? HCY_STREAM_END
                                                 : HCY_STREAM_OTHER;
    /* A type that is not known is a message for somebody else; without any it is none. */
    int named = json_is_string(json_object_get(json, "htype"));
    /* Then there is no configuration, and a part more is the user's own. */
    const char *detail = json_string_value(json_object_get(json, "header_detail"));
    const int is_bare = detail && !strcmp(detail, "none");
    json_decref(json);
    if (!named)
        return hcy_fail(HCY_EFORMAT, "a message of Stream v1 without an \"htype\"");
    if (m->kind == HCY_STREAM_START)
        return read_start(m, parts, is_bare ? 1 : n);
    return m->kind == HCY_STREAM_IMAGE ? read_image(m, parts, n) : 0;
}
#else
int hcy__stream_v1(hcy_stream_message *m, const hcy_span *parts, size_t n)
{
    (void)m, (void)parts, (void)n;
    return hcy_fail(HCY_EUNSUPPORTED, "DECTRIS Stream v1 is JSON, and this build of Halcyon has no jansson");
}
#endif
