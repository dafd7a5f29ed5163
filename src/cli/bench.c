/* bench.c - halcyon bench: each stage of a frame's way alone, and the whole, on each device.
 *
 * The stages work on frames that were read before, so that each figure is of one thing; "whole" is what
 * `halcyon integrate` does, without writing.  Every figure is the best of several rounds over all frames. */
#include "azint_arguments.h"
#include "bench_tune.h"
#include "guard.h"
#include "mask.h"
#include "progress.h"
#include "timer.h"
#include <halcyon/pipeline.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    const char *poni, *devices, *dataset;
    struct cli_int npt, frames, batch, readers, memory, rounds;
    int split, errors, json, tune;
};

static const char *const splits[] = { "no", "bbox", "full", NULL };
static const char *const errors[] = { "none", "poisson", NULL };

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "poni", 'p', CLI_TEXT, AT(poni), "FILE", "geometry (default: 0.2 m behind the middle)", 0, 0, NULL },
    { "devices", 'd', CLI_TEXT, AT(devices), "LIST",
      "one after the other, and all together (auto)", 0, 0, NULL },
    { "npt", 'n', CLI_INT, AT(npt), "N", "bins of the curve (1000)", 1, HCY_AZINT_MAX_BINS, NULL },
    { "split", 0, CLI_CHOICE, AT(split), "HOW", "no, bbox, full (default)", 0, 0, splits },
    { "error-model", 0, CLI_CHOICE, AT(errors), "MODEL", "none, poisson (default)", 0, 0, errors },
    { "frames", 0, CLI_INT, AT(frames), "N", "of the stack, from its first (64)", 1, 100000, NULL },
    { "batch", 0, CLI_INT, AT(batch), "N", "frames a launch (the devices' wish)", 1, 4096, NULL },
    { "readers", 0, CLI_INT, AT(readers), "N", "threads that read (one for two processors)", 1, 64, NULL },
    { "memory", 0, CLI_INT, AT(memory), "MB", "for stored frames on their way (128; GPUs: 384)", 1, 1e6, NULL },
    { "rounds", 0, CLI_INT, AT(rounds), "N", "of which the best counts (5)", 1, 1000, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in STACK (default: found)", 0, 0, NULL },
    { "tune", 0, CLI_FLAG, AT(tune), NULL, "find the devices' fastest parameters, and keep them", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "as one JSON object", 0, 0, NULL },
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_bench_command = {
    "bench", "how fast each stage is here, and the whole", "[STACK]", 0, 1, options,
    "Pixels that the first frame marks invalid are masked.  Without STACK one is simulated\n"
    "(EIGER 4M, 32 frames) in TMPDIR and removed afterwards."
};

struct bench {
    const struct values *values;
    char simulated[256], poni_path[256]; /* "" if not ours */
    hcy_stack *stack;
    const hcy_stack_info *info;
    hcy_pipeline_source source;
    uint8_t *mask;
    hcy_azint_plan *plan;
    hcy_azint_job job;
    size_t n, n_bins; /* frames, bins */
    uint8_t *chunks;  /* all frames' chunks, as a batch's buffer */
    size_t chunk_bytes;
    size_t *sizes;
    hcy_bslz4_frame *frames;
    hcy_bslz4_block *blocks;
    size_t n_blocks, room;
    hcy_device **devices;
    size_t n_devices;
    struct cli_json json;
};

/* --- One figure --- */

/* `memory`: bytes that the pipeline holds on its devices, 0 for a stage alone. */
static void print_figure(struct bench *b, const char *device, const char *stage, size_t batch, double seconds,
                         uint64_t memory)
{
    double per_frame = seconds / (double)b->n, raw = (double)b->info->frame_bytes;
    if (!b->values->json) {
        printf("%-28s %-10s %5zu %9.3f ms/frame %9.1f frames/s %8.2f GB/s raw", device, stage, batch,
               1e3 * per_frame, 1 / per_frame, 1e-9 * raw / per_frame);
        if (memory)
            printf(", %.1f MB on it", 1e-6 * (double)memory);
        putchar('\n');
        /* A run takes minutes, so each line is shown as soon as it is known. */
        fflush(stdout);
        return;
    }
    cli_json_open(&b->json, NULL, '{');
    cli_json_text(&b->json, "device", device);
    cli_json_text(&b->json, "stage", stage);
    cli_json_int(&b->json, "batch", (int64_t)batch);
    cli_json_real(&b->json, "ms_per_frame", 1e3 * per_frame);
    cli_json_real(&b->json, "frames_per_s", 1 / per_frame);
    cli_json_real(&b->json, "gb_per_s_raw", 1e-9 * raw / per_frame);
    if (memory)
        cli_json_int(&b->json, "device_bytes", (int64_t)memory);
    cli_json_close(&b->json, '}');
}

/* --- The host's stages --- */

static int read_all_chunks(struct bench *b)
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

static int parse_all(struct bench *b)
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
static int host_stage(struct bench *b, const char *stage, int (*all)(struct bench *))
{
    double best = INFINITY;
    for (int64_t i = 0; i < b->values->rounds.value; i++) {
        double start = timer_now();
        int status = all(b);
        if (status)
            return status;
        /* The best round counts, as whatever else the machine does can only add time. */
        best = timer_best(best, start);
    }
    print_figure(b, "host, one thread", stage, 1, best, 0);
    return 0;
}

static int load_frames(struct bench *b)
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
    status = host_stage(b, "read", read_all_chunks);
    for (size_t i = 0; !status && i < b->n; i++) {
        status =
            hcy_bslz4_block_count(&count, &b->source.coding, b->chunks + b->frames[i].offset, b->sizes[i]);
        b->room += status ? 0 : count;
    }
    /* Some codecs have no blocks, and no memory for them would look like a failure. */
    b->blocks = calloc(b->room + 1, sizeof *b->blocks);
    if (!status && !b->blocks)
        status = hcy_fail(HCY_ENOMEM, "%zu blocks", b->room);
    return status ? status : host_stage(b, "parse", parse_all);
}

/* --- A device's stages --- */

/* Buffers of one kernel's launches: at most `batch` frames each, until all frames are done. */
struct stage {
    struct bench *bench;
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
    const struct bench *b = s->bench;
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
    const struct bench *b = s->bench;
    size_t blocks = b->n_blocks * sizeof *b->blocks;
    int status = hcy_buffer_write_now(s->chunks, 0, b->chunks, b->chunk_bytes);
    if (!status)
        status = hcy_buffer_write_now(s->frames, 0, b->frames, b->n * sizeof *b->frames);
    /* Plain pixels have no blocks, and nothing can be written to no buffer's range. */
    return status || !blocks ? status : hcy_buffer_write_now(s->blocks, 0, b->blocks, blocks);
}

static int create_stage_views(struct stage *s)
{
    size_t n = s->bench->n;
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
    const struct bench *b = s->bench;
    hcy_arg args[HCY_MAX_ARGS];
    size_t n = stage_args(s, name, NULL, args), most = b->n;
    int status = 0;
    s->batch = (size_t)b->values->batch.value;
    /* The device knows its own best batch, unless the user wants another. */
    if (!s->batch)
        status = hcy_kernel_preferred_batch(&s->batch, s->kernel, args, n);
    /* The fused kernel keeps no images. The others do, and their memory is bounded here. */
    if (strcmp(name, "bslz4_azint") && IMAGE_MEMORY / b->info->frame_bytes < most)
        most = (size_t)(IMAGE_MEMORY / b->info->frame_bytes);
    /* A frame larger than the bound still gets a batch of one. */
    if (s->batch > most)
        s->batch = most;
    if (!s->batch)
        s->batch = 1;
    return status;
}

static int stage_create(struct stage *s, const char *name)
{
    const struct bench *b = s->bench;
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
    struct stage decode = { .bench = s->bench, .device = s->device };
    int status = hcy_kernel_get(&decode.kernel, s->device, "bslz4_decode");
    if (!status)
        status = stage_create(&decode, "bslz4_decode");
    /* The decoder may take fewer frames than azint_image does. Its first batch is decoded again and again,
     * since what the pixels are does not matter for a time. */
    for (size_t i = 0; !status && i < s->batch; i += decode.batch) {
        size_t bytes =
            (s->batch - i < decode.batch ? s->batch - i : decode.batch) * (size_t)s->bench->info->frame_bytes;
        hcy_arg args[HCY_MAX_ARGS];
        status = hcy_launch(decode.queue, decode.kernel,
                            hcy_buffer_size(decode.views[0]) / sizeof(hcy_bslz4_frame), args,
                            stage_args(&decode, "bslz4_decode", decode.views[0], args));
        if (!status)
            status = hcy_buffer_copy(decode.queue, s->images, i * (size_t)s->bench->info->frame_bytes,
                                     decode.images, 0, bytes);
        if (!status)
            status = hcy_queue_finish(decode.queue);
    }
    stage_destroy(&decode);
    return status;
}

/* *seconds is left alone where the device has no such kernel. */
static int kernel_stage(struct bench *b, hcy_device *device, const char *label, const char *name, double *seconds)
{
    struct stage s = { .bench = b, .device = device };
    double best = INFINITY;
    int status = hcy_kernel_get(&s.kernel, device, name);
    if (status == HCY_EUNSUPPORTED)
        return 0; /* it has no figure */
    if (!status)
        status = stage_create(&s, name);
    if (!status && !strcmp(name, "azint_image"))
        status = fill_images(&s);
    for (int64_t i = 0; !status && i < b->values->rounds.value; i++) {
        double start = timer_now();
        status = stage_round(&s, name);
        best = timer_best(best, start);
    }
    if (!status) {
        print_figure(b, hcy_device_get_info(device)->name, label, s.batch, best, 0);
        *seconds = best;
    }
    stage_destroy(&s);
    return status;
}

/* --- The whole --- */

static int check_frame_done(void *payload, const hcy_pipeline_frame *frame)
{
    (void)payload;
    return frame->result ? 0
                         : hcy_fail(frame->report->status, "frame %llu: %s",
                                    (unsigned long long)frame->number, frame->why);
}

static int run_whole(struct bench *b, hcy_device *const *devices, size_t n, const char *name)
{
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline *pipeline;
    double best = INFINITY;
    opts.batch = (uint32_t)b->values->batch.value;
    opts.readers = (uint32_t)b->values->readers.value;
    opts.memory = (uint64_t)b->values->memory.value << 20;
    int status = hcy_pipeline_create(&pipeline, devices, n, b->plan, &b->source, &opts);
    if (status)
        return status;
    /* The pipeline is made once: a user also makes it once for many frames. */
    for (int64_t i = 0; !status && i < b->values->rounds.value; i++) {
        status = hcy_pipeline_run(pipeline, b->stack, 0, b->n, check_frame_done, NULL, NULL);
        best = fmin(best, hcy_pipeline_get_stats(pipeline)->seconds);
    }
    if (!status) {
        const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(pipeline);
        /* What the devices hold is their sum, as the figure may be that of several. */
        uint64_t memory = 0;
        for (size_t i = 0; i < stats->n_devices; i++)
            memory += stats->devices[i].memory;
        print_figure(b, name, stats->devices[0].two_stage ? "two-stage" : "whole", stats->batch, best, memory);
    }
    hcy_pipeline_destroy(pipeline);
    return status;
}

/* --- Parameters --- */

/* Images and curves weigh the same, however long they take. */
static int tune_cost(void *context, hcy_device *device, double *seconds)
{
    double decode = 1, fused = 1;
    int status = kernel_stage(context, device, "decode", "bslz4_decode", &decode);
    if (!status)
        status = kernel_stage(context, device, "fused", "bslz4_azint", &fused);
    if (!status)
        *seconds = decode * fused;
    return status;
}

static int tune_all(struct bench *b)
{
    int status = load_frames(b);
    for (size_t i = 0; !status && i < b->n_devices; i++) {
        const char *name = hcy_device_get_info(b->devices[i])->name;
        int64_t row = 0, rows = 0;
        /* A row of parameters is tried on the same frames that the figures are made with. */
        status = cli_tune(b->devices[i], tune_cost, b, &row, &rows);
        if (status)
            return status;
        if (b->values->json) {
            cli_json_open(&b->json, NULL, '{');
            cli_json_text(&b->json, "device", name);
            cli_json_text(&b->json, "stage", "tuned");
            cli_json_int(&b->json, "rows", rows);
            cli_json_int(&b->json, "row", row);
            cli_json_close(&b->json, '}');
        } else {
            printf(rows ? "%-28s row %lld of %lld is kept\n" : "%-28s has nothing to tune\n", name, (long long)row,
                   (long long)rows);
        }
    }
    return status;
}

static int all_stages(struct bench *b)
{
    double unused;
    int status = load_frames(b);
    for (size_t i = 0; !status && i < b->n_devices; i++) {
        hcy_device *device = b->devices[i];
        status = kernel_stage(b, device, "decode", "bslz4_decode", &unused);
        if (!status)
            status = kernel_stage(b, device, "integrate", "azint_image", &unused);
        if (!status)
            status = kernel_stage(b, device, "fused", "bslz4_azint", &unused);
        if (!status)
            /* The whole comes last: by then the device's kernels are compiled and its memory is cached. */
            status = run_whole(b, &device, 1, hcy_device_get_info(device)->name);
    }
    if (!status && b->n_devices > 1)
        status = run_whole(b, b->devices, b->n_devices, "all together");
    return status;
}

/* --- What is integrated --- */

static int simulate_stack(struct bench *b)
{
    const char *folder = getenv("TMPDIR");
    if ((size_t)snprintf(b->simulated, sizeof b->simulated, "%s/halcyon-bench-%ld.h5",
                         folder ? folder : "/tmp", (long)getpid()) >= sizeof b->simulated)
        return cli_error("TMPDIR is too long: %s", folder);
    snprintf(b->poni_path, sizeof b->poni_path, "%.*s.poni", (int)strlen(b->simulated) - 3, b->simulated);
    /* The command itself makes the stack, so that a figure can be repeated by hand. */
    char *argv[] = { "simulate", b->simulated, "--frames", "32", "--quiet", NULL };
    return cli_simulate(5, argv);
}

/* Pixels of 75 um, 0.2 m behind the sample, the beam in the middle. */
static hcy_poni plain_geometry(const hcy_stack_info *info)
{
    hcy_poni poni = HCY_PONI_INIT;
    poni.pixel1 = poni.pixel2 = 75e-6;
    poni.dist = 0.2;
    poni.poni1 = 0.5 * info->height * poni.pixel1;
    poni.poni2 = 0.5 * info->width * poni.pixel2;
    poni.wavelength = 1e-10;
    return poni;
}

/* Prints what the figures are of. */
static void print_settings(struct bench *b, double plan_seconds)
{
    const struct values *v = b->values;
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    if (!v->json) {
        printf("%u x %u pixels of %u bytes, %zu bins, splitting %s, errors %s; plan made in %.3f s\n", b->info->height,
               b->info->width, b->info->elem_size, b->n_bins, splits[v->split], errors[v->errors], plan_seconds);
        return;
    }
    cli_json_begin(&b->json, stdout);
    cli_json_open(&b->json, NULL, '{');
    cli_json_real(&b->json, "plan_seconds", plan_seconds);
    cli_json_text(&b->json, "plan", hcy_azint_plan_get_info(&info, b->plan) ? NULL : info.hash);
    cli_json_int(&b->json, "bins", (int64_t)b->n_bins);
    cli_json_text(&b->json, "split", splits[v->split]);
    cli_json_text(&b->json, "error_model", errors[v->errors]);
    cli_json_int(&b->json, "rounds", v->rounds.value);
    cli_json_int(&b->json, "readers", v->readers.value); /* 0: the pipeline's choice, also of the memory */
    cli_json_int(&b->json, "memory_mb", v->memory.value);
}

static int make_bench_plan(struct bench *b)
{
    const struct values *v = b->values;
    hcy_poni poni = plain_geometry(b->info);
    hcy_azint_options azint = HCY_AZINT_OPTIONS_INIT;
    const char *path = b->poni_path[0] ? b->poni_path : NULL;
    if (v->poni)
        path = v->poni;
    int status = path ? hcy_poni_read(&poni, path) : 0;
    if (status)
        return cli_fail(status);
    azint.npt = b->n_bins = (size_t)v->npt.value;
    azint.split = v->split;
    azint.error_model = v->errors;
    /* A real run masks what the detector marks as invalid. The first frame shows which pixels these are, so
     * the time is that of a run with such a mask. */
    azint.sentinels = HCY_SENTINELS_ALWAYS;
    b->mask = calloc(b->info->height, b->info->width);
    if (!b->mask)
        return cli_error("out of memory for a mask");
    status = cli_mask_frame(b->mask, b->stack, b->devices[0], &poni, &azint, 0);
    if (status)
        return status;
    azint.mask = b->mask;
    azint.mask_height = b->info->height;
    azint.mask_width = b->info->width;
    /* Making the plan is timed alone, as users pay for it once for a geometry. */
    double start = timer_now();
    status = hcy_azint_plan_create(&b->plan, &poni, b->info->height, b->info->width, &azint);
    double seconds = timer_now() - start;
    if (!status)
        status = hcy_azint_plan_job(&b->job, b->plan, b->info->pixel_type);
    if (status)
        return cli_fail(status);
    print_settings(b, seconds);
    return CLI_OK;
}

static int measure_stack(struct bench *b, const char *path)
{
    int status = hcy_stack_open(&b->stack, path, b->values->dataset);
    if (status)
        return cli_fail(status);
    b->info = hcy_stack_get_info(b->stack);
    b->source = hcy_pipeline_source_of(b->info);
    /* The trace is written during the run, so it must not go over the stack or the geometry. */
    status = guard_trace_alone(b->stack, b->values->poni);
    if (status)
        return status;
    status = hcy_device_open_list(&b->devices, &b->n_devices, b->values->devices);
    if (status)
        return cli_fail(status);
    /* The plan prints the settings, which open the JSON object: the figures follow in it. */
    status = make_bench_plan(b);
    if (status)
        return status;
    /* A stack shorter than --frames is no error: what there is, is measured. */
    b->n = (uint64_t)b->values->frames.value < b->info->frames ? (size_t)b->values->frames.value
                                                               : (size_t)b->info->frames;
    if (b->values->json) {
        cli_json_int(&b->json, "frames", (int64_t)b->n);
        cli_json_open(&b->json, "figures", '[');
    }
    status = b->values->tune ? tune_all(b) : all_stages(b);
    if (status)
        return cli_fail(status);
    if (b->values->json)
        cli_json_close(&b->json, ']');
    return CLI_OK;
}

static void free_bench(struct bench *b)
{
    for (size_t i = 0; i < b->n_devices; i++)
        hcy_device_release(b->devices[i]);
    hcy_list_free(b->devices);
    hcy_azint_plan_release(b->plan);
    hcy_stack_close(b->stack);
    free(b->mask);
    free(b->chunks);
    free(b->sizes);
    free(b->frames);
    free(b->blocks);
    /* Only a stack that this run made itself is removed. */
    if (b->simulated[0]) {
        unlink(b->simulated);
        unlink(b->poni_path);
    }
}

int cli_bench(int argc, char **argv)
{
    struct values values = { .npt = { 0, 1000 },
                             .frames = { 0, 64 },
                             .rounds = { 0, 5 },
                             .split = HCY_SPLIT_FULL,
                             .errors = HCY_ERRORS_POISSON };
    struct bench bench = { .values = &values };
    const char *path = NULL;
    int status;
    if (cli_parse(&cli_bench_command, argc, argv, &values, &path, &status))
        return status;
    if (!path) {
        status = simulate_stack(&bench);
        path = bench.simulated;
    }
    if (!status)
        status = measure_stack(&bench, path);
    if (!status && values.json)
        cli_json_close(&bench.json, '}');
    free_bench(&bench);
    return status ? status : cli_close_stdout(CLI_OK);
}
