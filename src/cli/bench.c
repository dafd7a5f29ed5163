/* bench.c - halcyon bench: each stage of a frame's way alone, and the whole, on each device.
 *
 * The stages work on frames that were read before, so that each figure is of one thing; "whole" is what
 * `halcyon integrate` does, without writing.  Every figure is the best of several rounds over all frames. */
#include "bench_tune.h"
#include "guard.h"
#include "inputs.h"
#include "interrupt.h"
#include "mask.h"
#include "progress.h"
#include "stage.h"
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
    { "readers", 0, CLI_INT, AT(readers), "N", "threads that read (as the devices take)", 1, 64, NULL },
    { "memory", 0, CLI_INT, AT(memory), "MB", "for stored frames on their way (128; GPUs: 512)", 1, 1e6, NULL },
    { "rounds", 0, CLI_INT, AT(rounds), "N", "of which the best counts (5)", 1, 1000, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in STACK (default: found)", 0, 0, NULL },
    { "tune", 0, CLI_FLAG, AT(tune), NULL, "find the devices' fastest parameters, and keep them", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "as one JSON object", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_bench_command = {
    "bench", "how fast each stage is here, and the whole", "[STACK]", 0, 1, options,
    "STACK may be many files: 'a/*.tif', a directory, @LIST of paths.  Pixels that the\n"
    "first frame marks invalid are masked.  Without STACK one is simulated\n"
    "(EIGER 4M, 32 frames) in TMPDIR and removed afterwards.  `halcyon bench nufft` is of\n"
    "non-uniform FFTs and has a help of its own."
};

struct bench {
    const struct values *values;
    char simulated[256], poni_path[256]; /* "" if not ours */
    struct stage_frames frames;
    uint8_t *mask;
    hcy_azint_plan *plan;
    hcy_device **devices;
    size_t n_devices;
    struct cli_json json;
};

/* --- One figure --- */

/* `memory`: bytes that the pipeline holds on its devices, 0 for a stage alone. */
static void print_figure(struct bench *b, const char *device, const char *stage, size_t batch, double seconds,
                         uint64_t memory)
{
    double per_frame = seconds / (double)b->frames.n, raw = (double)b->frames.info->frame_bytes;
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

/* --- A stage alone --- */

static int load_frames(struct bench *b)
{
    double read, parse;
    int status = stage_load(&read, &parse, &b->frames);
    if (status)
        return status;
    print_figure(b, "host, one thread", "read", 1, read, 0);
    print_figure(b, "host, one thread", "parse", 1, parse, 0);
    return 0;
}

/* *seconds is left alone where the device has no such kernel. */
static int kernel_stage(struct bench *b, hcy_device *device, const char *label, const char *name, double *seconds)
{
    double best;
    size_t batch;
    int status = stage_kernel(&best, &batch, &b->frames, device, name);
    if (status)
        return status == HCY_EUNSUPPORTED ? 0 : status; /* it has no figure */
    print_figure(b, hcy_device_get_info(device)->name, label, batch, best, 0);
    *seconds = best;
    return 0;
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
    int status = hcy_pipeline_create(&pipeline, devices, n, b->plan, &b->frames.source, &opts);
    if (status)
        return status;
    /* The pipeline is made once: a user also makes it once for many frames. */
    for (int64_t i = 0; !status && i < b->values->rounds.value; i++) {
        status = hcy_pipeline_run(pipeline, b->frames.stack, 0, b->frames.n, check_frame_done, NULL, NULL);
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
                         folder ? folder : "/tmp", (long)getpid()) >= sizeof b->simulated) {
        b->simulated[0] = 0; /* what is left of the name may be another file's */
        return cli_error("TMPDIR is too long: %s", folder);
    }
    snprintf(b->poni_path, sizeof b->poni_path, "%.*s.poni", (int)strlen(b->simulated) - 3, b->simulated);
    interrupt_removes(b->simulated, b->poni_path);
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
        const hcy_stack_info *is = b->frames.info;
        printf("%u x %u pixels of %u bytes, %zu bins, splitting %s, errors %s; plan made in %.3f s\n", is->height,
               is->width, is->elem_size, b->frames.n_bins, splits[v->split], errors[v->errors], plan_seconds);
        return;
    }
    cli_json_begin(&b->json, stdout);
    cli_json_open(&b->json, NULL, '{');
    cli_json_real(&b->json, "plan_seconds", plan_seconds);
    cli_json_text(&b->json, "plan", hcy_azint_plan_get_info(&info, b->plan) ? NULL : info.hash);
    cli_json_int(&b->json, "bins", (int64_t)b->frames.n_bins);
    cli_json_text(&b->json, "split", splits[v->split]);
    cli_json_text(&b->json, "error_model", errors[v->errors]);
    cli_json_int(&b->json, "rounds", v->rounds.value);
    cli_json_int(&b->json, "readers", v->readers.value); /* 0: the pipeline's choice, also of the memory */
    cli_json_int(&b->json, "memory_mb", v->memory.value);
}

static int make_bench_plan(struct bench *b)
{
    const struct values *v = b->values;
    hcy_poni poni = plain_geometry(b->frames.info);
    hcy_azint_options azint = HCY_AZINT_OPTIONS_INIT;
    const char *path = b->poni_path[0] ? b->poni_path : NULL;
    if (v->poni)
        path = v->poni;
    int status = path ? hcy_poni_read(&poni, path) : 0;
    if (status)
        return cli_fail(status);
    azint.npt = b->frames.n_bins = (size_t)v->npt.value;
    azint.split = v->split;
    azint.error_model = v->errors;
    /* A real run masks what the detector marks as invalid. The first frame shows which pixels these are, so
     * the time is that of a run with such a mask. */
    azint.sentinels = HCY_SENTINELS_ALWAYS;
    b->mask = calloc(b->frames.info->height, b->frames.info->width);
    if (!b->mask)
        return cli_error("out of memory for a mask");
    status = cli_mask_frame(b->mask, b->frames.stack, b->devices[0], &poni, &azint, 0);
    if (status)
        return status;
    azint.mask = b->mask;
    azint.mask_height = b->frames.info->height;
    azint.mask_width = b->frames.info->width;
    /* Making the plan is timed alone, as users pay for it once for a geometry. */
    double start = timer_now();
    status = hcy_azint_plan_create(&b->plan, &poni, b->frames.info->height, b->frames.info->width, &azint);
    double seconds = timer_now() - start;
    b->frames.plan = b->plan;
    b->frames.batch = (size_t)v->batch.value;
    b->frames.rounds = v->rounds.value;
    if (!status)
        status = hcy_azint_plan_job(&b->frames.job, b->plan, b->frames.info->pixel_type);
    if (status)
        return cli_fail(status);
    print_settings(b, seconds);
    return CLI_OK;
}

static int measure_stack(struct bench *b, const char *path)
{
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = b->values->dataset;
    int status = inputs_open(&b->frames.stack, NULL, path, &opts);
    if (status)
        return inputs_fail(path, status);
    b->frames.info = hcy_stack_get_info(b->frames.stack);
    b->frames.source = hcy_pipeline_source_of(b->frames.info);
    /* The trace is written during the run, so it must not go over the stack or the geometry. */
    status = guard_trace_alone(b->frames.stack, b->values->poni);
    if (status)
        return status;
    status = hcy_device_open_list(&b->devices, &b->n_devices, b->values->devices);
    if (status)
        return cli_fail_value(status, b->values->devices);
    /* The plan prints the settings, which open the JSON object: the figures follow in it. */
    status = make_bench_plan(b);
    if (status)
        return status;
    /* A stack shorter than --frames is no error: what there is, is measured. */
    b->frames.n = (uint64_t)b->values->frames.value < b->frames.info->frames ? (size_t)b->values->frames.value
                                                               : (size_t)b->frames.info->frames;
    if (b->values->json) {
        cli_json_int(&b->json, "frames", (int64_t)b->frames.n);
        cli_json_open(&b->json, "figures", '[');
    }
    status = b->values->tune ? tune_all(b) : all_stages(b);
    if (b->values->json)
        cli_json_close(&b->json, ']');
    return status ? cli_fail(status) : CLI_OK;
}

static void free_bench(struct bench *b)
{
    for (size_t i = 0; i < b->n_devices; i++)
        hcy_device_release(b->devices[i]);
    hcy_list_free(b->devices);
    hcy_azint_plan_release(b->plan);
    hcy_stack_close(b->frames.stack);
    free(b->mask);
    stage_unload(&b->frames);
    /* Only a stack that this run made itself is removed. */
    if (b->simulated[0]) {
        unlink(b->simulated);
        unlink(b->poni_path);
        interrupt_removes(NULL, NULL);
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
    /* Figures that came before a failure are an object, too. */
    if (bench.json.depth)
        cli_json_close(&bench.json, '}');
    free_bench(&bench);
    return status ? status : cli_close_stdout(CLI_OK);
}
