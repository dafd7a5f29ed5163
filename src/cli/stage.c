/* stage.c - the stages of a frame's way, each alone: reading, parsing, and the kernels of a device.
 *
 * The frames are read before, and the kernels work on what is in the device's memory already, so that a time is of one
 * thing.  Buffers are those of one launch; all launches of a round follow one another as in the pipeline. */
#include "stage.h"
#include "azint_arguments.h"
#include "timer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- The host's stages --- */

static int read_all_chunks(struct stage_frames *b)
{
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        int status = hcy_stack_read(&b->sizes[i], b->chunks + at, b->chunk_bytes - at, b->stack, i);
        if (status)
            return status;
        b->frames[i].offset = at;
        /* The chunks lie as in a batch of the pipeline: kernels load whole words from aligned starts. */
        at += (b->sizes[i] + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    }
    return 0;
}

static int parse_all(struct stage_frames *b)
{
    size_t used = 0;
    for (size_t i = 0; i < b->n; i++) {
        /* The parser fills the whole frame, so its offset is kept over the call. */
        uint64_t offset = b->frames[i].offset;
        int status = hcy_bslz4_parse(&b->frames[i], b->blocks + used, b->room - used, NULL, &b->source.coding,
                                     b->chunks + offset, b->sizes[i]);
        if (status)
            return status;
        b->frames[i].offset = offset;
        /* Blocks of all frames share one table, and a view of the frames alone makes a launch. */
        b->frames[i].first_block = (uint32_t)used;
        used += b->frames[i].n_blocks;
    }
    b->n_blocks = used;
    return 0;
}

/* Best time of several rounds of one of these. */
static int host_stage(double *seconds, struct stage_frames *b, int (*all)(struct stage_frames *))
{
    *seconds = INFINITY;
    for (int64_t i = 0; i < b->rounds; i++) {
        double start = timer_now();
        int status = all(b);
        if (status)
            return status;
        /* The best round counts, as whatever else the machine does can only add time. */
        *seconds = timer_best(*seconds, start);
    }
    return 0;
}

int stage_load(double *read, double *parse, struct stage_frames *b)
{
    size_t wanted = 0, count;
    int status;
    b->sizes = calloc(b->n, sizeof *b->sizes);
    b->frames = calloc(b->n, sizeof *b->frames);
    for (size_t i = 0; b->sizes && i < b->n; i++) {
        status = hcy_stack_frame_size(&b->sizes[i], b->stack, i);
        if (status)
            return status;
        wanted += b->sizes[i] + HCY_BSLZ4_ALIGN;
    }
    /* The sizes that the file states are an upper bound: reading sets those that are. */
    b->chunk_bytes = wanted;
    b->chunks = malloc(wanted + HCY_BSLZ4_PADDING);
    if (!b->chunks || !b->frames || !b->sizes)
        return hcy_fail(HCY_ENOMEM, "%zu bytes for %zu frames", wanted, b->n);
    /* The timed rounds leave the chunks in memory, where the following stages use them. */
    status = host_stage(read, b, read_all_chunks);
    for (size_t i = 0; !status && i < b->n; i++) {
        status =
            hcy_bslz4_block_count(&count, &b->source.coding, b->chunks + b->frames[i].offset, b->sizes[i]);
        b->room += status ? 0 : count;
    }
    /* Some codecs have no blocks, and no memory for them would look like a failure. */
    b->blocks = calloc(b->room + 1, sizeof *b->blocks);
    if (!status && !b->blocks)
        status = hcy_fail(HCY_ENOMEM, "%zu blocks", b->room);
    return status ? status : host_stage(parse, b, parse_all);
}

void stage_unload(struct stage_frames *b)
{
    free(b->chunks);
    free(b->sizes);
    free(b->frames);
    free(b->blocks);
}

/* --- A device's stages --- */

/* Buffers of one kernel's launches: at most `batch` frames each, until all frames are done. */
struct stage {
    const struct stage_frames *of;
    hcy_device *device;
    hcy_kernel *kernel;
    hcy_queue *queue;
    hcy_buffer *chunks, *frames, *blocks, *images, *tables, *sums, *reports, *scratch, **views;
    size_t batch, n_views;
};

#define DECODE_AT(name) HCY_ARG_AT(bslz4_decode, name)

/* Returns how many the kernel takes; a view is a launch's part of the frames. */
static size_t stage_args(const struct stage *s, const char *name, hcy_buffer *view, hcy_arg args[HCY_MAX_ARGS])
{
    const struct stage_frames *b = s->of;
    const struct hcy_azint_arguments all = { .chunks = hcy_arg_buf(s->chunks),
                                             .frames = hcy_arg_buf(view),
                                             .blocks = hcy_arg_buf(s->blocks),
                                             .coding = hcy_arg_struct(&b->source.coding, sizeof b->source.coding),
                                             .images = hcy_arg_buf(s->images),
                                             .plan = hcy_arg_buf(s->tables),
                                             .job = hcy_arg_struct(&b->job, sizeof b->job),
                                             .sums = hcy_arg_buf(s->sums),
                                             .reports = hcy_arg_buf(s->reports),
                                             .scratch = hcy_arg_buf(s->scratch) };
    /* The order of integrating kernels' arguments is the family's affair; decoding has a contract of its
     * own. */
    if (strcmp(name, "bslz4_decode"))
        return hcy_azint_arguments(args, s->kernel, &all);
    args[DECODE_AT(chunks)] = all.chunks;
    args[DECODE_AT(frames)] = all.frames;
    args[DECODE_AT(blocks)] = all.blocks;
    args[DECODE_AT(job)] = all.coding;
    args[DECODE_AT(images)] = all.images;
    args[DECODE_AT(reports)] = all.reports;
    args[DECODE_AT(scratch)] = all.scratch;
    return HCY_N_ARGS(bslz4_decode);
}

static int upload(struct stage *s)
{
    const struct stage_frames *b = s->of;
    size_t blocks = b->n_blocks * sizeof *b->blocks;
    int status = hcy_buffer_write_now(s->chunks, 0, b->chunks, b->chunk_bytes);
    if (!status)
        status = hcy_buffer_write_now(s->frames, 0, b->frames, b->n * sizeof *b->frames);
    /* Plain pixels have no blocks, and nothing can be written to no buffer's range. */
    return status || !blocks ? status : hcy_buffer_write_now(s->blocks, 0, b->blocks, blocks);
}

static int create_stage_views(struct stage *s)
{
    size_t n = s->of->n;
    s->n_views = (n + s->batch - 1) / s->batch;
    s->views = calloc(s->n_views, sizeof *s->views);
    if (!s->views)
        return hcy_fail(HCY_ENOMEM, "the launches of a stage");
    /* A launch gets its frames as a part of the buffer, so that no round copies anything. */
    for (size_t i = 0; i < s->n_views; i++) {
        size_t at = i * s->batch, count = n - at < s->batch ? n - at : s->batch;
        int status = hcy_buffer_sub(&s->views[i], s->frames, at * sizeof(hcy_bslz4_frame),
                                    count * sizeof(hcy_bslz4_frame));
        if (status)
            return status;
    }
    return 0;
}

#define IMAGE_MEMORY ((uint64_t)256 << 20)

static int stage_batch(struct stage *s, const char *name)
{
    const struct stage_frames *b = s->of;
    hcy_arg args[HCY_MAX_ARGS];
    size_t n = stage_args(s, name, NULL, args), most = b->n;
    int status = 0;
    s->batch = b->batch;
    /* The device knows its own best batch, unless the user wants another. */
    if (!s->batch)
        status = hcy_kernel_preferred_batch(&s->batch, s->kernel, args, n);
    /* The fused kernel keeps no images. The others do, and their memory is bounded here. */
    if (strcmp(name, "bslz4_azint") && IMAGE_MEMORY / b->info->frame_bytes < most)
        most = (size_t)(IMAGE_MEMORY / b->info->frame_bytes);
    /* A frame larger than the bound still gets a batch of one. */
    s->batch = s->batch < 1 || !most ? 1 : s->batch < most ? s->batch : most;
    return status;
}

static int stage_create(struct stage *s, const char *name)
{
    const struct stage_frames *b = s->of;
    const int images = strcmp(name, "bslz4_azint") != 0, sums = strcmp(name, "bslz4_decode") != 0;
    size_t scratch = 0;
    hcy_arg args[HCY_MAX_ARGS];
    hcy_span spans[HCY_AZINT_SPANS];
    int status = 0;
    /* Only kernels that integrate take the plan's tables. */
    hcy_azint_plan_tables(spans, b->plan);
    if (sums)
        status = hcy_kernel_prepare(&s->tables, s->kernel, spans, HCY_AZINT_SPANS);
    if (!status)
        status = stage_batch(s, name);
    if (!status)
        status =
            /* The scratch space depends on the batch, which is why it is asked for after the batch is known. */
            hcy_kernel_scratch_size(&scratch, s->kernel, s->batch, args, stage_args(s, name, NULL, args));
    if (!status)
        status = hcy_queue_create(&s->queue, s->device);
    /* A size of 0 means that this kernel does not take the buffer: its argument is then NULL. */
    const struct {
        hcy_buffer **buffer;
        size_t size;
    } table[] = {
        { &s->chunks, b->chunk_bytes + HCY_BSLZ4_PADDING },
        { &s->frames, b->n * sizeof *b->frames },
        { &s->blocks, (b->n_blocks + 1) * sizeof *b->blocks },
        { &s->images, images ? s->batch * (size_t)b->info->frame_bytes : 0 },
        { &s->sums, sums ? s->batch * HCY_AZINT_SUMS * b->n_bins * sizeof(uint64_t) : 0 },
        { &s->reports, s->batch * sizeof(hcy_frame_report) },
        { &s->scratch, scratch },
    };
    for (size_t i = 0; !status && i < sizeof table / sizeof table[0]; i++)
        if (table[i].size)
            status = hcy_buffer_create(table[i].buffer, s->device, HCY_MEM_DEVICE, table[i].size);
    if (!status)
        status = upload(s);
    return status ? status : create_stage_views(s);
}

static void stage_destroy(struct stage *s)
{
    hcy_buffer *buffers[] = { s->chunks, s->frames, s->blocks,  s->images,
                              s->tables, s->sums,   s->reports, s->scratch };
    for (size_t i = 0; s->views && i < s->n_views; i++)
        hcy_buffer_release(s->views[i]);
    free(s->views);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        hcy_buffer_release(buffers[i]);
    hcy_queue_release(s->queue);
    hcy_kernel_release(s->kernel);
}

static int stage_round(struct stage *s, const char *name)
{
    hcy_arg args[HCY_MAX_ARGS];
    const uint64_t zero = 0;
    int status = 0;
    for (size_t i = 0; !status && i < s->n_views; i++) {
        size_t n = hcy_buffer_size(s->views[i]) / sizeof(hcy_bslz4_frame);
        /* Kernels leave alone a frame whose report says that it failed, so reports start as zeros in every
         * round. */
        status = hcy_buffer_fill(s->queue, s->reports, 0, n * sizeof(hcy_frame_report), &zero, sizeof zero);
        if (!status)
            status = hcy_launch(s->queue, s->kernel, n, args, stage_args(s, name, s->views[i], args));
    }
    /* One wait at the end lets launches follow one another as they do in the pipeline. */
    return status ? status : hcy_queue_finish(s->queue);
}

/* A batch of decoded images for azint_image. */
static int fill_images(struct stage *s)
{
    struct stage decode = { .of = s->of, .device = s->device };
    int status = hcy_kernel_get(&decode.kernel, s->device, "bslz4_decode");
    if (!status)
        status = stage_create(&decode, "bslz4_decode");
    /* The decoder may take fewer frames than azint_image does. Its first batch is decoded again and again,
     * since what the pixels are does not matter for a time. */
    for (size_t i = 0; !status && i < s->batch; i += decode.batch) {
        size_t bytes =
            (s->batch - i < decode.batch ? s->batch - i : decode.batch) * (size_t)s->of->info->frame_bytes;
        hcy_arg args[HCY_MAX_ARGS];
        status = hcy_launch(decode.queue, decode.kernel,
                            hcy_buffer_size(decode.views[0]) / sizeof(hcy_bslz4_frame), args,
                            stage_args(&decode, "bslz4_decode", decode.views[0], args));
        if (!status)
            status = hcy_buffer_copy(decode.queue, s->images, i * (size_t)s->of->info->frame_bytes,
                                     decode.images, 0, bytes);
        if (!status)
            status = hcy_queue_finish(decode.queue);
    }
    stage_destroy(&decode);
    return status;
}

static int stage_begin(struct stage *s, const char *name)
{
    int status = hcy_kernel_get(&s->kernel, s->device, name);
    if (!status)
        status = stage_create(s, name);
    return status || strcmp(name, "azint_image") ? status : fill_images(s);
}

int stage_kernel(double *seconds, size_t *batch, const struct stage_frames *b, hcy_device *device, const char *name)
{
    struct stage s = { .of = b, .device = device };
    int status = stage_begin(&s, name);
    *seconds = INFINITY;
    /* The first round, in which a device may compile and memory is first touched, does not count. */
    for (int64_t i = 0; !status && i <= b->rounds; i++) {
        double start = timer_now();
        status = stage_round(&s, name);
        if (i)
            *seconds = timer_best(*seconds, start);
    }
    *batch = s.batch;
    stage_destroy(&s);
    return status;
}

/* The sums of one frame of the last launch, and their curve again and again. */
static int time_division(double *seconds, struct stage *s, uint64_t *sums, hcy_azint_result *result)
{
    const struct stage_frames *b = s->of;
    hcy_frame_report report;
    int status = hcy_buffer_read_now(sums, s->sums, 0, HCY_AZINT_SUMS * b->n_bins * sizeof *sums);
    if (!status)
        status = hcy_buffer_read_now(&report, s->reports, 0, sizeof report);
    for (int64_t i = 0; !status && i < 4 * b->rounds; i++) {
        double start = timer_now();
        status = hcy_azint_finish(result, b->plan, &b->job, sums, &report, 1.0);
        *seconds = timer_best(*seconds, start);
    }
    return status;
}

int stage_divide(double *seconds, const struct stage_frames *b, hcy_device *device)
{
    struct stage s = { .of = b, .device = device };
    const char *name = "bslz4_azint";
    hcy_azint_result *result = NULL;
    uint64_t *sums = calloc(HCY_AZINT_SUMS * b->n_bins, sizeof *sums);
    int status = sums ? stage_begin(&s, name) : hcy_fail(HCY_ENOMEM, "the sums of %zu bins", b->n_bins);
    *seconds = INFINITY;
    /* The sums have the same bits wherever they come from, so any kernel that makes some will do. */
    if (status == HCY_EUNSUPPORTED) {
        stage_destroy(&s);
        s = (struct stage){ .of = b, .device = device };
        name = "azint_image";
        status = stage_begin(&s, name);
    }
    if (!status)
        status = stage_round(&s, name);
    if (!status)
        status = hcy_azint_result_create(&result, b->plan);
    if (!status)
        status = time_division(seconds, &s, sums, result);
    hcy_azint_result_destroy(result);
    stage_destroy(&s);
    free(sums);
    return status;
}
