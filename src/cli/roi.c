/* roi.c - sums over regions of interest: of each frame and region the sum, the largest value, how many pixels were
 * counted and how many are invalid (one of the two top values of unsigned pixels, NaN, both ends of the photons of raw
 * frames).
 *
 * Threads fill rows of one table, which is written at the end: text in frame order, or an array
 * [frames][regions][4] in HDF5 or NumPy. */
#include "roi.h"
#include <halcyon/backend.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values have 8 bytes: whole numbers of the pixels' kind, or doubles. */
union value {
    uint64_t u;
    int64_t i;
    double d;
};

typedef void (*roi_fn)(union value row[ROI_VALUES], const void *pixels, size_t width, const struct roi *roi);

/* Signed sums wrap as unsigned ones do, which C defines. */
#define PLUS(a, b) ((a) + (b))
#define PLUS_SIGNED(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))

/* `invalid` says of v, and of `top`, the type's largest value, whether it is left out. */
#define ROI_FN(name, type, number, member, largest, add, invalid)                                           \
    static void name(union value row[ROI_VALUES], const void *pixels, size_t width, const struct roi *roi)   \
    {                                                                                                        \
        const type *from = pixels, top = (type)largest;                                                      \
        number sum = 0, most = 0;                                                                           \
        uint64_t counted = 0, lost = 0;                                                                      \
        (void)top;                                                                                           \
        for (size_t y = roi->y0; y < roi->y1; y++)                                                           \
            for (size_t x = roi->x0; x < roi->x1; x++) {                                                     \
                type v = from[y * width + x];                                                                \
                if (invalid) {                                                                               \
                    lost++;                                                                                  \
                    continue;                                                                                \
                }                                                                                            \
                most = !counted || (number)v > most ? (number)v : most;                                     \
                sum = add(sum, (number)v);                                                                  \
                counted++;                                                                                   \
            }                                                                                                \
        row[0].member = sum;                                                                                 \
        row[1].member = most;                                                                                \
        row[2].member = (number)counted;                                                                    \
        row[3].member = (number)lost;                                                                       \
    }
#define TOP (v >= (top - 1))
ROI_FN(roi_u8, uint8_t, uint64_t, u, UINT8_MAX, PLUS, TOP)
ROI_FN(roi_u16, uint16_t, uint64_t, u, UINT16_MAX, PLUS, TOP)
ROI_FN(roi_u32, uint32_t, uint64_t, u, UINT32_MAX, PLUS, TOP)
ROI_FN(roi_u64, uint64_t, uint64_t, u, UINT64_MAX, PLUS, TOP)
ROI_FN(roi_i8, int8_t, int64_t, i, 0, PLUS_SIGNED, 0)
ROI_FN(roi_i16, int16_t, int64_t, i, 0, PLUS_SIGNED, 0)
ROI_FN(roi_i32, int32_t, int64_t, i, 0, PLUS_SIGNED, 0)
ROI_FN(roi_i64, int64_t, int64_t, i, 0, PLUS_SIGNED, 0)
ROI_FN(roi_photons, int32_t, int64_t, i, 0, PLUS_SIGNED, v == INT32_MIN || v == INT32_MAX)
ROI_FN(roi_f32, float, double, d, 0, PLUS, isnan(v))
ROI_FN(roi_f64, double, double, d, 0, PLUS, isnan(v))

static const struct kind {
    uint32_t type, table_type;
    roi_fn sum;
} kinds[] = {
    { HCY_PIXEL_U8, HCY_PIXEL_U64, roi_u8 },   { HCY_PIXEL_U16, HCY_PIXEL_U64, roi_u16 },
    { HCY_PIXEL_U32, HCY_PIXEL_U64, roi_u32 }, { HCY_PIXEL_U64, HCY_PIXEL_U64, roi_u64 },
    { HCY_PIXEL_I8, HCY_PIXEL_I64, roi_i8 },   { HCY_PIXEL_I16, HCY_PIXEL_I64, roi_i16 },
    { HCY_PIXEL_I32, HCY_PIXEL_I64, roi_i32 }, { HCY_PIXEL_I64, HCY_PIXEL_I64, roi_i64 },
    { HCY_PIXEL_F32, HCY_PIXEL_F64, roi_f32 }, { HCY_PIXEL_F64, HCY_PIXEL_F64, roi_f64 },
};
static const struct kind photons = { HCY_PIXEL_I32, HCY_PIXEL_I64, roi_photons };

size_t roi_parse(struct roi *rois, const char *text)
{
    const char *at = text;
    size_t n = 0;
    for (; n < ROI_MOST; n++) {
        uint32_t *to[] = { &rois[n].x0, &rois[n].y0, &rois[n].x1, &rois[n].y1 };
        for (int i = 0; i < 4; i++) {
            char *end;
            errno = 0;
            unsigned long long v = strtoull(at, &end, 10);
            /* strtoull takes a sign and blanks, which are no part of a column's number. */
            if (errno || !isdigit((unsigned char)*at) || v > UINT32_MAX || (i < 3 && *end != ','))
                goto wrong;
            *to[i] = (uint32_t)v;
            at = end + (i < 3);
        }
        if (rois[n].x0 >= rois[n].x1 || rois[n].y0 >= rois[n].y1)
            goto wrong;
        if (!*at)
            return n + 1;
        if (*at++ != ',')
            goto wrong;
    }
wrong:
    cli_usage("--roi '%s' is not valid: X0,Y0,X1,Y1 is needed, X0 < X1 and Y0 < Y1 (X1 and Y1 are not included), or up "
              "to %d of them", text, ROI_MOST);
    return 0;
}

struct table {
    const struct frames *frames;
    const struct roi *rois;
    const struct kind *kind;
    size_t n;
    union value *rows;
    unsigned char *state; /* of each frame: 0 not done, 1 good, 2 failed */
};

static int sum_regions(void *payload, unsigned thread, uint64_t frame, const void *pixels)
{
    const struct table *t = payload;
    size_t at = (size_t)(frame - t->frames->first);
    (void)thread;
    /* Each frame has rows of its own, so threads share nothing. */
    for (size_t i = 0; pixels && i < t->n; i++)
        t->kind->sum(t->rows + (at * t->n + i) * ROI_VALUES, pixels, t->frames->info->width, &t->rois[i]);
    t->state[at] = pixels ? 1 : 2;
    return 0;
}

static void put_roi_value(FILE *out, uint32_t type, const union value *v)
{
    if (type == HCY_PIXEL_U64)
        fprintf(out, " %20llu", (unsigned long long)v->u);
    else if (type == HCY_PIXEL_I64)
        fprintf(out, " %20lld", (long long)v->i);
    else
        fprintf(out, " %20.12g", v->d);
}

static void put_regions(FILE *out, const struct table *t)
{
    static const char *const names[] = { "sum", "max", "pixels", "invalid" };
    fprintf(out, "# Frames from: %s%s%s\n", t->frames->info->path, *t->frames->info->dataset ? "::" : "",
            t->frames->info->dataset);
    /* The header says which pixels the regions have, with their ends included, as people read it. */
    for (size_t i = 0; i < t->n; i++)
        fprintf(out, "# Region %zu: columns %u to %u, rows %u to %u\n", i + 1, t->rois[i].x0,
                t->rois[i].x1 - 1, t->rois[i].y0, t->rois[i].y1 - 1);
    fprintf(out, "#  frame");
    for (size_t i = 0; i < t->n * ROI_VALUES; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s_%zu", names[i % ROI_VALUES], i / ROI_VALUES + 1);
        fprintf(out, " %20s", name);
    }
    putc('\n', out);
    for (uint64_t f = 0; f < t->frames->last - t->frames->first; f++) {
        unsigned long long number = (unsigned long long)(t->frames->first + f);
        /* A comment keeps the rows readable by programs that load columns. */
        if (t->state[f] == 2)
            fprintf(out, "# frame %llu failed\n", number);
        if (t->state[f] != 1)
            continue;
        fprintf(out, "%8llu", number);
        for (size_t i = 0; i < t->n * ROI_VALUES; i++)
            put_roi_value(out, t->kind->table_type, &t->rows[f * t->n * ROI_VALUES + i]);
        putc('\n', out);
    }
}

static int write_text(const struct table *t, const char *path)
{
    hcy_output *output;
    int status = hcy_output_open(&output, path, 0);
    if (!status) {
        if (hcy_output_stream(output))
            put_regions(hcy_output_stream(output), t);
        status = hcy_output_commit(output, 0);
    }
    return status ? cli_fail_to_write(status, path) : CLI_OK;
}

/* All bytes of frames that failed are 255, as decompress has it. */
static int write_array(const struct table *t, const char *path)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    opts.dataset = "/entry/roi/data";
    opts.frames = t->frames->last - t->frames->first;
    opts.height = (uint32_t)t->n;
    opts.width = ROI_VALUES;
    opts.pixel_type = t->kind->table_type;
    opts.contiguous = 1;
    int status = hcy_stack_create(&writer, path, &opts);
    for (uint64_t f = 0; f < opts.frames && !status; f++) {
        union value *row = t->rows + f * t->n * ROI_VALUES;
        /* An array has no comments, so a value that no region can have stands for a failed frame. */
        if (t->state[f] != 1)
            memset(row, 255, t->n * ROI_VALUES * sizeof *row);
        status = hcy_stack_write(writer, f, row);
    }
    if (!status)
        return (status = hcy_stack_writer_close(writer)) ? cli_fail_to_write(status, path) : CLI_OK;
    status = cli_fail_to_write(status, path);
    hcy_stack_writer_discard(writer);
    return status;
}

static int is_text(const char *path)
{
    const char *dot = strrchr(path, '.');
    return !strcmp(path, "-") || (dot && (!strcmp(dot, ".dat") || !strcmp(dot, ".txt")));
}

static int check_regions(const struct frames *f, const struct roi *rois, size_t n)
{
    for (size_t i = 0; i < n; i++)
        /* X1 and Y1 are not included, so they may equal the width and the height. */
        if (rois[i].x1 > f->info->width || rois[i].y1 > f->info->height)
            return cli_error(
                "--roi: region %zu ends at column %u, row %u; the frames of %s have %u columns, %u rows",
                i + 1, rois[i].x1, rois[i].y1, f->path, f->info->width, f->info->height);
    return CLI_OK;
}

int roi_run(struct frames *f, const struct roi *rois, size_t n, const char *path)
{
    struct table t = { .frames = f, .rois = rois, .n = n, .kind = cli_raw_is_photons(&f->raw) ? &photons : kinds };
    size_t frames = (size_t)(f->last - f->first);
    int status = check_regions(f, rois, n);
    if (status)
        return status;
    /* Every pixel type of a stack has a kind, so this ends. */
    while (t.kind->type != f->info->pixel_type)
        t.kind++;
    t.rows = calloc(frames, n * ROI_VALUES * sizeof *t.rows);
    t.state = calloc(frames, 1);
    f->take = sum_regions;
    f->payload = &t;
    if (t.rows && t.state) {
        status = frames_run(f);
        /* A table with frames missing is not written; one with failed frames is, as it names them. */
        int written = CLI_FAILED;
        if (frames_all_taken(f))
            written = is_text(path) ? write_text(&t, path) : write_array(&t, path);
        else
            cli_not_written(path);
        status = written ? written : status;
    } else {
        status = cli_error("no memory for %zu rows of %zu regions", frames, n);
    }
    free(t.rows);
    free(t.state);
    return status;
}
