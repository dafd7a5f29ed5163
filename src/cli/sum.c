/* sum.c - halcyon sum: all frames of a stack added up, or the largest value of each pixel; regions are in roi.c.
 *
 * Sums are kept in 64 bits, one image of them a thread, and added at the end: whole numbers come out the same
 * for any number of threads. */
#include "frames.h"
#include "merge.h"
#include "roi.h"
#include "shard.h"
#include <halcyon/azint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *output, *devices, *dataset, *channel, *roi, *shard;
    struct cli_span frames;
    struct cli_raw raw;
    int max, quiet;
};

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "output", 'o', CLI_TEXT, AT(output), "FILE", "OUT.h5, .npy, .tif, .edf, of --max also .cbf; regions\nto .dat, .h5, .npy, or - for stdout",
      0, 0, NULL },
    { "max", 0, CLI_FLAG, AT(max), NULL, "the largest values instead of the sums", 0, 0, NULL },
    { "roi", 0, CLI_TEXT, AT(roi), "LIST",
      "X0,Y0,X1,Y1[,...]: frame by frame the sums over these\nregions, X1 and Y1 not included", 0, 0, NULL },
    { "devices", 'd', CLI_TEXT, AT(devices), "LIST", "cpu; cpu@threads=2,gpu; all; ... (auto)", 0, 0, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in the input (default: found)", 0, 0, NULL },
    { "channel", 0, CLI_TEXT, AT(channel), "N", "of several energy thresholds: 1, 2 ...", 0, 0, NULL },
    CLI_RAW_OPTIONS(AT(raw)),
    { "frames", 0, CLI_SPAN, AT(frames), "A:B", "these alone, from 0, B not included", 0, 0, NULL },
    CLI_SHARD_OPTION(AT(shard)),
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no progress, no summary", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_sum_command = {
    "sum",
    "the sum of a stack's frames, or each pixel's largest value",
    "STACK -o FILE",
    1,
    1,
    options,
    "Sums of whole numbers have 64 bits, those of floats are doubles; --max keeps the pixels' type.\n"
    "An unsigned pixel that has one of its type's two top values in any frame (gaps, hot and\n"
    "saturated pixels) has the sum 2^64-1: it is masked there too; so is a sum that does not fit.\n"
    "Sums of signed pixels are of 64 bits and go round beyond them, as int64's alone can.\n"
    "Photons of raw frames: a pixel that is not valid or saturated in any frame has the sum -2^63.\n"
    "--roi writes of each frame and region the sum, the largest value, and the numbers of pixels\n"
    "counted and invalid, as text or as an array [frames][regions][4] of 64 bits.\n"
    "`halcyon merge` adds up the totals of parts (--shard) of whole numbers, and largest values, exactly.\n"
    "Frames that are damaged are left out and reported.  Exit status: 0 if none was, else 1; 2: usage."
};

/* How one kind of pixels is put on what a thread has: sums of 64 bits, or largest values in the same. */
typedef void (*add_fn)(void *sums, const void *pixels, size_t n);

#define ADD_UNSIGNED(name, type)                                                                             \
    static void name(void *sums, const void *pixels, size_t n)                                               \
    {                                                                                                        \
        const type *from = pixels, top = (type)-1;                                                           \
        uint64_t *to = sums;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                     \
            uint64_t sum = to[i] + from[i];                                                                  \
            to[i] = from[i] >= (type)(top - 1) || sum < to[i] || !~to[i] ? UINT64_MAX : sum;                 \
        }                                                                                                    \
    }
#define ADD(name, type, number)                                                                             \
    static void name(void *sums, const void *pixels, size_t n)                                               \
    {                                                                                                        \
        const type *from = pixels;                                                                           \
        number *to = sums;                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                       \
            to[i] = (number)(to[i] + (number)from[i]);                                                      \
    }
#define MAX(name, type)                                                                                      \
    static void name(void *largest, const void *pixels, size_t n)                                            \
    {                                                                                                        \
        const type *from = pixels;                                                                           \
        type *to = largest;                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                       \
            to[i] = from[i] > to[i] ? from[i] : to[i];                                                       \
    }
ADD_UNSIGNED(add_u8, uint8_t)
ADD_UNSIGNED(add_u16, uint16_t)
ADD_UNSIGNED(add_u32, uint32_t)
ADD_UNSIGNED(add_u64, uint64_t)
/* Signed sums wrap as unsigned ones do, which C defines. */
#define ADD_SIGNED(name, type)                                                                               \
    static void name(void *sums, const void *pixels, size_t n)                                               \
    {                                                                                                        \
        const type *from = pixels;                                                                           \
        uint64_t *to = sums;                                                                                 \
        for (size_t i = 0; i < n; i++)                                                                       \
            to[i] += (uint64_t)(int64_t)from[i];                                                             \
    }
ADD_SIGNED(add_i8, int8_t)
ADD_SIGNED(add_i16, int16_t)
ADD_SIGNED(add_i32, int32_t)
ADD_SIGNED(add_i64, int64_t)
/* Photons of raw frames: what is no number of them in one frame has no sum, which is INT64_MIN. */
static void add_photons(void *sums, const void *pixels, size_t n)
{
    const int32_t *from = pixels;
    int64_t *to = sums;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] == INT32_MIN || from[i] == INT32_MAX || to[i] == INT64_MIN ? INT64_MIN : to[i] + from[i];
}
/* Sums on sums: no sum of photons stays none. */
static void merge_signed(void *sums, const void *more, size_t n)
{
    const uint64_t *from = more, none = (uint64_t)INT64_MIN;
    uint64_t *to = sums;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] == none || to[i] == none ? none : to[i] + from[i];
}
/* Sums on sums: 2^64-1 alone is masked. */
static void merge_unsigned(void *sums, const void *more, size_t n)
{
    const uint64_t *from = more;
    uint64_t *to = sums;
    for (size_t i = 0; i < n; i++) {
        uint64_t all = to[i] + from[i];
        to[i] = !~from[i] || all < to[i] || !~to[i] ? UINT64_MAX : all;
    }
}
ADD(add_f32, float, double)
ADD(add_f64, double, double)
MAX(max_u8, uint8_t)
MAX(max_u16, uint16_t)
MAX(max_u32, uint32_t)
MAX(max_u64, uint64_t)
MAX(max_i8, int8_t)
MAX(max_i16, int16_t)
MAX(max_i32, int32_t)
MAX(max_i64, int64_t)
/* A value that is none is replaced by any other, so the order of frames does not count. */
#define MAX_REAL(name, type)                                                                                 \
    static void name(void *largest, const void *pixels, size_t n)                                            \
    {                                                                                                        \
        const type *from = pixels;                                                                           \
        type *to = largest;                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                       \
            to[i] = from[i] > to[i] || isnan(to[i]) ? from[i] : to[i];                                       \
    }
MAX_REAL(max_f32, float)
MAX_REAL(max_f64, double)

static const struct kind {
    uint32_t type, sum_type;
    add_fn add, merge, max; /* merge: sums to sums */
} kinds[] = {
    { HCY_PIXEL_U8, HCY_PIXEL_U64, add_u8, merge_unsigned, max_u8 },
    { HCY_PIXEL_U16, HCY_PIXEL_U64, add_u16, merge_unsigned, max_u16 },
    { HCY_PIXEL_U32, HCY_PIXEL_U64, add_u32, merge_unsigned, max_u32 },
    { HCY_PIXEL_U64, HCY_PIXEL_U64, add_u64, merge_unsigned, max_u64 },
    { HCY_PIXEL_I8, HCY_PIXEL_I64, add_i8, merge_signed, max_i8 },
    { HCY_PIXEL_I16, HCY_PIXEL_I64, add_i16, merge_signed, max_i16 },
    { HCY_PIXEL_I32, HCY_PIXEL_I64, add_i32, merge_signed, max_i32 },
    { HCY_PIXEL_I64, HCY_PIXEL_I64, add_i64, add_i64, max_i64 },
    { HCY_PIXEL_F32, HCY_PIXEL_F64, add_f32, add_f64, max_f32 },
    { HCY_PIXEL_F64, HCY_PIXEL_F64, add_f64, add_f64, max_f64 },
};
static const struct kind photons = { HCY_PIXEL_I32, HCY_PIXEL_I64, add_photons, merge_signed, max_i32 };

struct sum {
    add_fn add;
    size_t n_pixels, frame_bytes;
    int max;
    void **images; /* one a thread, NULL before its first frame */
};

static int add_frame_to_sum(void *payload, unsigned thread, uint64_t frame, const void *pixels)
{
    struct sum *s = payload;
    (void)frame;
    if (!pixels)
        return 0;
    /* A thread gets its image with its first frame: those without one cost no memory. */
    if (!s->images[thread]) {
        s->images[thread] = s->max ? malloc(s->frame_bytes) : calloc(s->n_pixels, 8);
        if (!s->images[thread])
            return hcy_fail(HCY_ENOMEM, "no memory for the sum of %zu pixels", s->n_pixels);
        /* A largest value has no neutral start, so the first frame is it. */
        if (s->max) {
            memcpy(s->images[thread], pixels, s->frame_bytes);
            return 0;
        }
    }
    s->add(s->images[thread], pixels, s->n_pixels);
    return 0;
}

/* All threads' images in the first that there is; NULL if no frame was good. */
static void *merge_thread_sums(struct sum *s, add_fn merge_two, unsigned threads)
{
    void *all = NULL;
    for (unsigned i = 0; i < threads; i++) {
        if (all && s->images[i])
            merge_two(all, s->images[i], s->n_pixels);
        else if (!all)
            all = s->images[i];
    }
    return all;
}

/* `like`: a stack of that size, whose dataset and attributes the file gets.  `shard`: its part, or NULL. */
static int write_sum_image(const char *path, const hcy_stack *like, uint32_t pixel_type, const void *pixels,
                           const hcy_shard *shard, const char *kind)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    const hcy_stack_info *info = hcy_stack_get_info(like);
    opts.frames = 1;
    opts.height = info->height;
    opts.width = info->width;
    opts.pixel_type = pixel_type;
    opts.source = like;
    opts.shard = shard;
    opts.kind = kind;
    int status = hcy_stack_create(&writer, path, &opts);
    if (!status)
        status = hcy_stack_write(writer, 0, pixels);
    if (!status)
        return (status = hcy_stack_writer_close(writer)) ? cli_fail(status) : CLI_OK;
    status = cli_fail(status);
    hcy_stack_writer_discard(writer);
    return status;
}

static int sum_frames(struct frames *f, const struct values *v)
{
    const struct kind *kind = cli_raw_is_photons(&f->raw) ? &photons : kinds;
    while (kind->type != f->info->pixel_type)
        kind++;
    unsigned threads = frames_threads(f);
    struct sum s = { .add = v->max ? kind->max : kind->add,
                     .n_pixels = (size_t)f->info->height * f->info->width,
                     .frame_bytes = f->info->frame_bytes,
                     .max = v->max,
                     .images = calloc(threads, sizeof *s.images) };
    if (!s.images)
        return cli_error("no memory for %u threads", threads);
    f->take = add_frame_to_sum;
    f->payload = &s;
    int status = frames_run(f);
    /* Whole numbers give the same sum in any order of threads. */
    void *all = merge_thread_sums(&s, v->max ? kind->max : kind->merge, threads);
    /* A sum of a part of the frames would look like the whole, so it is not written. */
    int written = 0;
    if (all && frames_all_taken(f)) {
        /* Who merges parts does not see what this run has said. */
        const char *const whole = v->max ? "max" : "sum", *const lacks = v->max ? "max-damaged" : "sum-damaged";
        written = write_sum_image(v->output, f->stack, v->max ? kind->type : kind->sum_type, all,
                                  f->shard.count ? &f->shard : NULL, f->stats.failed ? lacks : whole);
        status = written ? written : status;
        if (!written && !v->quiet)
            fprintf(stderr, "%s: the %s of %llu %s\n", v->output, v->max ? "largest values" : "sums",
                    (unsigned long long)(f->stats.done - f->stats.failed),
                    frames_word(f->stats.done - f->stats.failed));
    } else if (!status) {
        status = cli_error("no frame is good");
    }
    if (!all || !frames_all_taken(f) || written)
        cli_not_written(v->output);
    for (unsigned i = 0; i < threads; i++)
        free(s.images[i]);
    free(s.images);
    return status;
}

/* --- Totals of parts --- */

/* How totals of two parts become one: exactly, or not at all. */
static add_fn find_total_merge(uint32_t pixel_type, int max)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (max ? kinds[i].type == pixel_type : kinds[i].sum_type == pixel_type && pixel_type != HCY_PIXEL_F64)
            return max ? kinds[i].max : kinds[i].merge;
    return NULL;
}

/* The one image of a file of totals, which is to be as large as the others; *image is freed by the caller. */
static int read_total(void **image, hcy_stack **stack, const char *path, const hcy_stack_info *like)
{
    size_t n;
    *image = NULL;
    int status = hcy_stack_open(stack, path, NULL);
    if (status)
        return cli_fail(status);
    const hcy_stack_info *info = hcy_stack_get_info(*stack);
    if (info->frames != 1 || info->codec != HCY_CODEC_NONE)
        return cli_error("%s was not written by `halcyon sum`", path);
    if (like && (info->height != like->height || info->width != like->width || info->pixel_type != like->pixel_type))
        return cli_error("%s has other pixels than %s", path, like->path);
    *image = malloc(info->frame_bytes);
    if (!*image)
        return cli_error("no memory for the total in %s", path);
    status = hcy_stack_read(&n, *image, info->frame_bytes, *stack, 0);
    return status ? cli_fail(status) : CLI_OK;
}

int merge_totals(const char *output, const char *const *parts, size_t n, const char *kind)
{
    hcy_stack *first = NULL;
    void *all = NULL;
    int max = !strcmp(kind, "max"), status = read_total(&all, &first, parts[0], NULL);
    const hcy_stack_info *info = first ? hcy_stack_get_info(first) : NULL;
    add_fn add = info ? find_total_merge(info->pixel_type, max) : NULL;
    if (!status && !add)
        status = cli_error("%s has sums of floats, which depend on the order that they are added in: sum such a stack in "
                           "one run", parts[0]);
    /* Whole numbers, and largest values, are the same in any order. */
    for (size_t i = 1; !status && i < n; i++) {
        hcy_stack *stack = NULL;
        void *more = NULL;
        status = read_total(&more, &stack, parts[i], info);
        if (!status)
            add(all, more, (size_t)info->height * info->width);
        free(more);
        hcy_stack_close(stack);
    }
    if (!status)
        status = write_sum_image(output, first, info->pixel_type, all, NULL, NULL);
    free(all);
    hcy_stack_close(first);
    return status;
}

/* What goes together; CLI_OK, or CLI_USAGE with a message. */
static int check_sum_values(const struct values *v)
{
    const struct {
        int wrong;
        const char *what;
    } rules[] = { { !v->output, "where the sums go is missing: give -o FILE" },
                  { v->roi && v->max, "--roi has sums and largest values: leave --max" },
                  { v->roi && v->shard, "--roi has a row for each frame: take --frames for a part" } };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].wrong)
            return cli_usage("%s", rules[i].what);
    return CLI_OK;
}

/* The part, and its file's name, which takes `output`. */
static int choose_part(struct frames *f, char output[4096], const struct values *v)
{
    int status = shard_parse(&f->shard, v->shard);
    if (!status)
        status = shard_output(output, 4096, v->output, &f->shard, 0);
    const char *format;
    /* Other formats cannot say which part they are. */
    if (!status && v->shard && (hcy_format_of(&format, output, HCY_WRITE_IMAGES) || strcmp(format, "h5")))
        return cli_usage("--shard: totals of parts are HDF5, which a merge can check: give -o FILE.h5");
    return status;
}

/* Known before frames are read, where the writer comes when all of them have been: CBF of sums is refused already. */
static int check_cbf(const struct frames *f, const char *output)
{
    const char *format;
    if (hcy_format_of(&format, output, HCY_WRITE_IMAGES) || strcmp(format, "cbf") ||
        (f->info->elem_size <= 4 && f->info->pixel_type != HCY_PIXEL_F32))
        return CLI_OK;
    return cli_error("%s: CBF holds whole numbers of up to 4 bytes, and the pixels of %s are others: use .h5, .npy, .tif or "
                     ".edf", output, f->path);
}

int cli_sum(int argc, char **argv)
{
    struct values values = { 0 };
    struct frames frames = { 0 };
    char output[4096];
    const char *format;
    int status;
    if (cli_parse(&cli_sum_command, argc, argv, &values, &frames.path, &status))
        return status;
    status = check_sum_values(&values);
    if (!status)
        status = choose_part(&frames, output, &values);
    if (status)
        return status;
    values.output = output;
    struct roi rois[ROI_MOST];
    size_t n_rois = values.roi ? roi_parse(rois, values.roi) : 0;
    if (values.roi && !n_rois)
        return CLI_USAGE;
    /* Regions make a table, sums an image: the formats differ. */
    status = cli_check_format(values.output, n_rois ? HCY_WRITE_TABLE : HCY_WRITE_IMAGES);
    /* Known before the frames are read: sums have 64 bits, whatever pixels have. */
    if (!status && !n_rois && !values.max && !hcy_format_of(&format, values.output, HCY_WRITE_IMAGES) &&
        !strcmp(format, "cbf"))
        status = cli_usage("%s: CBF holds whole numbers of up to 4 bytes, and sums have 8: use .h5, .npy, .tif or "
                           ".edf, or --max",
                           values.output);
    if (!status)
        status = cli_check_one_file(values.output);
    if (status)
        return status;
    frames.dataset = values.dataset;
    frames.channel = values.channel;
    frames.raw = values.raw;
    frames.device_list = values.devices;
    frames.span = values.frames;
    frames.quiet = values.quiet;
    status = frames_open(&frames);
    if (!status && frames.first < frames.last)
        status = frames_guard(&frames, values.output);
    if (!status && !n_rois)
        status = check_cbf(&frames, values.output);
    if (!status && frames.first < frames.last)
        status = n_rois ? roi_run(&frames, rois, n_rois, values.output) : sum_frames(&frames, &values);
    frames_close(&frames);
    return status;
}
