/* image_writer.c - stacks as TIFF, EDF, CBF and NumPy files, which other programs read: all frames in one file, or one
 * file a frame, of a path with %d.
 *
 * Nothing but CBF is compressed, so every frame has a place that is known from the beginning: headers are written when
 * the file is made, pixels by any thread.  TIFF is written here and not by libtiff, which takes pages one after the
 * other.  Pixels are little-endian, as the host's.
 */
#include "npy.h"
#include "writer.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDF_HEAD = 512, TIFF_TAGS = 10, CBF_MOST = 8 }; /* CBF_MOST: bytes that a pixel of 4 may take, and to spare */

/* A file of `frames` images, whose pixels stand at first + i * step. */
struct shape {
    const hcy__pixel *pixel;
    uint64_t frames, first, step;
    uint32_t height, width;
    size_t image_bytes;
};

/* `heads` fills in where pixels go and writes what is around them; `put`, if not NULL, writes frames whose
 * place is not known beforehand. */
struct form {
    int (*heads)(struct shape *shape, hcy_output *output);
    int (*put)(const struct shape *shape, hcy_output *output, const void *pixels);
};

struct images {
    const struct form *form;
    struct shape shape;
    hcy_output *output;     /* NULL: one file a frame */
    hcy__numbered numbered; /* of `path` */
    char *path;
    uint64_t first_number;
    hcy_stack_file *read; /* [n_read] which are never written over */
    size_t n_read;
    int keep_existing;
};

/* --- NumPy --- */

static int npy_heads(struct shape *s, hcy_output *output)
{
    char header[HCY__NPY_HEADER];
    const uint64_t sizes[2] = { s->height, s->width };
    s->first = HCY__NPY_HEADER;
    s->step = s->image_bytes;
    hcy__npy_write(header, s->pixel->kind, s->pixel->size, 2, sizes);
    return hcy_output_write(output, header, sizeof header, 0);
}

/* --- EDF --- */

static const char *edf_type(const hcy__pixel *pixel)
{
    static const struct {
        char kind;
        uint32_t size;
        const char *name;
    } types[] = { { 'u', 1, "UnsignedByte" },  { 'u', 2, "UnsignedShort" }, { 'u', 4, "UnsignedInteger" },
                  { 'u', 8, "Unsigned64" },    { 'i', 1, "SignedByte" },    { 'i', 2, "SignedShort" },
                  { 'i', 4, "SignedInteger" }, { 'i', 8, "Signed64" },      { 'f', 4, "FloatValue" },
                  { 'f', 8, "DoubleValue" } };
    size_t i = 0;
    while (types[i].kind != pixel->kind || types[i].size != pixel->size)
        i++;
    return types[i].name;
}

static int edf_heads(struct shape *s, hcy_output *output)
{
    char head[EDF_HEAD + 1];
    int st = 0;
    s->first = EDF_HEAD;
    s->step = EDF_HEAD + s->image_bytes;
    for (uint64_t i = 0; !st && i < s->frames; i++) {
        int n = snprintf(head, sizeof head,
                         "{\nHeaderID = EH:%06llu:000000:000000 ;\nImage = %llu ;\nByteOrder = LowByteFirst ;\n"
                         "DataType = %s ;\nDim_1 = %u ;\nDim_2 = %u ;\nSize = %zu ;\n",
                         (unsigned long long)i + 1, (unsigned long long)i + 1, edf_type(s->pixel), s->width,
                         s->height, s->image_bytes);
        /* Blanks up to the block's end, where readers look for the pixels. */
        snprintf(head + n, sizeof head - (size_t)n, "%*s}\n", EDF_HEAD - 2 - n, "");
        st = hcy_output_write(output, head, EDF_HEAD, i * s->step);
    }
    return st;
}

/* --- TIFF --- */

static unsigned char *put_number_bytes(unsigned char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *at++ = (unsigned char)(value >> 8 * i);
    return at;
}

/* A tag of one value; in classic TIFF (`big` 0) numbers have 4 bytes, in BigTIFF 8. */
static unsigned char *put_tag(unsigned char *at, int big, unsigned tag, unsigned type, uint64_t value)
{
    at = put_number_bytes(at, tag, 2);
    at = put_number_bytes(at, type, 2);
    at = put_number_bytes(at, 1, big ? 8 : 4);
    return put_number_bytes(at, value, big ? 8 : 4);
}

static int tiff_heads(struct shape *s, hcy_output *output)
{
    enum { SHORT = 3, LONG = 4, LONG8 = 16 };
    size_t all, pages, limit = UINT32_MAX;
    if (hcy_size_mul(&all, s->image_bytes, s->frames) || hcy_size_mul(&pages, s->frames, 256) ||
        hcy_size_add(&all, all, pages))
        return hcy_fail(HCY_ERANGE, "%s: more than a file can hold", hcy_output_name(output));
    /* Classic TIFF counts offsets in 32 bits: it is used as long as all fits, since every program reads
     * it. */
    int big = all > limit - 16, head = big ? 16 : 8, page = big ? 8 + TIFF_TAGS * 20 + 8 : 2 + TIFF_TAGS * 12 + 4;
    unsigned whole = big ? LONG8 : LONG, count = big ? 8 : 2, next = big ? 8 : 4;
    unsigned char text[256], *at = text;
    /* All directories stand before the pixels, whose place then follows from the frame's number. */
    s->first = ((uint64_t)head + s->frames * (uint64_t)page + 15) / 16 * 16;
    s->step = s->image_bytes;
    memcpy(at, "II", 2);
    at = put_number_bytes(at + 2, big ? 43 : 42, 2);
    if (big)
        at = put_number_bytes(at, 8, 4); /* bytes of an offset */
    at = put_number_bytes(at, (uint64_t)head, next);
    int st = hcy_output_write(output, text, (size_t)(at - text), 0);
    /* Tags have to come in the order of their numbers. */
    for (uint64_t i = 0; !st && i < s->frames; i++) {
        uint64_t here = (uint64_t)head + i * (uint64_t)page;
        unsigned kind = s->pixel->kind == 'u' ? 1 : 2;
        if (s->pixel->kind == 'f')
            kind = 3;
        at = put_number_bytes(text, TIFF_TAGS, count);
        at = put_tag(at, big, 256, LONG, s->width);
        at = put_tag(at, big, 257, LONG, s->height);
        at = put_tag(at, big, 258, SHORT, 8 * s->pixel->size);
        at = put_tag(at, big, 259, SHORT, 1); /* not compressed */
        at = put_tag(at, big, 262, SHORT, 1); /* black is zero */
        at = put_tag(at, big, 273, whole, s->first + i * s->step);
        at = put_tag(at, big, 277, SHORT, 1); /* a sample a pixel */
        at = put_tag(at, big, 278, LONG, s->height);
        at = put_tag(at, big, 279, whole, s->image_bytes);
        at = put_tag(at, big, 339, SHORT, kind);
        at = put_number_bytes(at, i + 1 < s->frames ? here + (uint64_t)page : 0, next);
        st = hcy_output_write(output, text, (size_t)(at - text), here);
    }
    return st;
}

/* --- CBF --- */

static int cbf_heads(struct shape *s, hcy_output *output)
{
    if (s->frames != 1)
        return hcy_fail(HCY_EUNSUPPORTED, "%s: a CBF file holds one image; name one file a frame, as img_%%05d.cbf",
                        hcy_output_name(output));
    if (s->pixel->kind == 'f' || s->pixel->size > 4)
        return hcy_fail(HCY_EUNSUPPORTED, "%s: CBF holds whole numbers of up to 4 bytes, not %s; use .tif, .edf or .npy",
                        hcy_output_name(output), s->pixel->name);
    return 0;
}

static int64_t integer_at(const struct shape *s, const void *pixels, size_t i)
{
    int sign = s->pixel->kind == 'i';
    /* cbf_heads() has refused wider ones. */
    switch (s->pixel->size) {
    case 1:
        return sign ? ((const int8_t *)pixels)[i] : ((const uint8_t *)pixels)[i];
    case 2:
        return sign ? ((const int16_t *)pixels)[i] : ((const uint16_t *)pixels)[i];
    default:
        return sign ? ((const int32_t *)pixels)[i] : (int64_t)((const uint32_t *)pixels)[i];
    }
}

/* Differences as cbf.c reads them; returns how many bytes they take. */
static size_t cbf_code(unsigned char *dst, const struct shape *s, const void *pixels, size_t n)
{
    unsigned char *at = dst;
    int64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t is = integer_at(s, pixels, i), step = (int32_t)(uint32_t)(uint64_t)(is - before);
        before = is;
        /* The least number of each width marks a wider step, so that it is not used as a step itself. */
        if (step > -128 && step < 128) {
            *at++ = (unsigned char)step;
            continue;
        }
        *at++ = 0x80;
        if (step > -32768 && step < 32768) {
            at = put_number_bytes(at, (uint64_t)step, 2);
        } else if (step > INT32_MIN) {
            at = put_number_bytes(put_number_bytes(at, 0x8000, 2), (uint64_t)step, 4);
        } else { /* the one step that is 4 bytes' mark for more */
            at = put_number_bytes(put_number_bytes(put_number_bytes(at, 0x8000, 2), 0x80000000u, 4), (uint64_t)step, 8);
        }
    }
    return (size_t)(at - dst);
}

static int cbf_put(const struct shape *s, hcy_output *output, const void *pixels)
{
    static const unsigned char mark[4] = { 0x0c, 0x1a, 0x04, 0xd5 };
    static const char tail[] = "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n\r\n";
    size_t n = (size_t)s->height * s->width, room;
    /* The worst pixel takes 15 bytes: twice CBF_MOST holds it. */
    unsigned char *coded = hcy_size_mul(&room, n, 2 * CBF_MOST) ? NULL : malloc(room);
    char head[1024];
    if (!coded)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", hcy_output_name(output));
    size_t size = cbf_code(coded, s, pixels, n);
    /* The size of the coded pixels stands before them, so that they are coded first. */
    int length = snprintf(head, sizeof head,
                          "###CBF: VERSION 1.5, halcyon %s\r\n\r\ndata_image\r\n\r\n_array_data.data\r\n;\r\n"
                          "--CIF-BINARY-FORMAT-SECTION--\r\nContent-Type: application/octet-stream;\r\n"
                          "     conversions=\"x-CBF_BYTE_OFFSET\"\r\nContent-Transfer-Encoding: BINARY\r\n"
                          "X-Binary-Size: %zu\r\nX-Binary-ID: 1\r\nX-Binary-Element-Type: \"%s %u-bit integer\"\r\n"
                          "X-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\nX-Binary-Number-of-Elements: %zu\r\n"
                          "X-Binary-Size-Fastest-Dimension: %u\r\nX-Binary-Size-Second-Dimension: %u\r\n"
                          "X-Binary-Size-Padding: 0\r\n\r\n",
                          hcy_version(), size, s->pixel->kind == 'i' ? "signed" : "unsigned", 8 * s->pixel->size, n,
                          s->width, s->height);
    const struct {
        const void *bytes;
        size_t size;
    /* In the file's order; each begins where the one before ends. */
    } parts[] = { { head, (size_t)length }, { mark, sizeof mark }, { coded, size }, { tail, sizeof tail - 1 } };
    uint64_t at = 0;
    int st = 0;
    for (size_t i = 0; !st && i < sizeof parts / sizeof parts[0]; at += parts[i++].size)
        st = hcy_output_write(output, parts[i].bytes, parts[i].size, at);
    free(coded);
    return st;
}

/* --- The writer --- */

static const struct form *form_of_format(const char *format)
{
    static const struct {
        const char *name;
        struct form form;
    } forms[] = { { "npy", { npy_heads, NULL } },
                  { "edf", { edf_heads, NULL } },
                  { "tiff", { tiff_heads, NULL } },
                  { "cbf", { cbf_heads, cbf_put } } };
    size_t i = 0;
    while (strcmp(forms[i].name, format))
        i++;
    return &forms[i].form;
}

static int put_at(const struct images *w, const struct shape *s, hcy_output *output, uint64_t i, const void *pixels)
{
    return w->form->put ? w->form->put(s, output, pixels)
                        : hcy_output_write(output, pixels, s->image_bytes, s->first + i * s->step);
}

static int put_file(const struct images *w, uint64_t frame, const void *pixels)
{
    struct shape shape = w->shape;
    hcy_output *output;
    char *path = hcy__numbered_path(&w->numbered, w->first_number + frame);
    /* Each frame's path is asked about when its turn comes, for who knows what is there by then. */
    int st = path ? hcy__may_write(path, w->keep_existing, NULL) : hcy_fail(HCY_ENOMEM, "no memory for a file's name");
    if (!st && hcy__is_among(w->read, w->n_read, path))
        st = hcy_fail(HCY_EINVAL, "%s is the stack that is read; name other files for the results", path);
    if (!st)
        st = hcy_output_open(&output, path, 0);
    if (!st) {
        /* The formats are told of a file of one image. */
        shape.frames = 1;
        st = w->form->heads(&shape, output);
        if (!st)
            st = put_at(w, &shape, output, 0, pixels);
        st = hcy_output_commit(output, st);
    }
    free(path);
    return st;
}

static int put_images(void *state, uint64_t frame, const void *bytes, size_t size)
{
    const struct images *w = state;
    (void)size;
    return w->output ? put_at(w, &w->shape, w->output, frame, bytes) : put_file(w, frame, bytes);
}

static int close_images(void *state, int whole)
{
    struct images *w = state;
    int st = 0;
    if (w->output && whole)
        st = hcy_output_commit(w->output, 0);
    else
        hcy_output_discard(w->output);
    hcy_list_free(w->read);
    free(w->path);
    free(w);
    return st;
}

static int begin_images(struct images *w, const hcy_stack_writer_options *opts)
{
    int st = hcy__numbered_parse(&w->numbered, w->path);
    if (st)
        return st;
    /* Files a frame are opened one by one; here only the files that must stay are noted. */
    if (w->numbered.length)
        return opts->source ? hcy_stack_files(&w->read, &w->n_read, opts->source) : 0;
    st = hcy_output_open(&w->output, w->path, 0);
    if (!st)
        st = w->form->heads(&w->shape, w->output);
    return st || !opts->growing ? st : hcy_output_show(w->output);
}

static int open_images(void **state, const char *path, const hcy_stack_writer_options *opts, const hcy_bslz4_job *job)
{
    const char *format = NULL;
    int st = hcy_format_of(&format, path, HCY_WRITE_IMAGES);
    struct images *w = st ? NULL : calloc(1, sizeof *w);
    if (st || !w || !(w->path = strdup(path))) {
        free(w);
        return st ? st : hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    }
    w->form = form_of_format(format);
    w->shape = (struct shape){ .pixel = hcy__pixel_of_type(opts->pixel_type),
                               .frames = opts->frames,
                               .height = opts->height,
                               .width = opts->width,
                               .image_bytes = (size_t)job->image_bytes };
    w->first_number = opts->first_number;
    w->keep_existing = opts->keep_existing;
    st = begin_images(w, opts);
    if (st) {
        /* Closing may set another error. */
        hcy_error why = *hcy_last_error();
        (void)!close_images(w, 0);
        return hcy_fail_again(&why);
    }
    *state = w;
    return 0;
}

const hcy__writer_format hcy__writer_images = { open_images, put_images, close_images };
