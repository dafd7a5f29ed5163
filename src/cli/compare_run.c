/* compare_run.c - a report of a stack: the reference, each device alone, all together, and what they come to. */
#include "compare.h"
#include "geometry.h"
#include "guard.h"
#include "inputs.h"
#include "interrupt.h"
#include "mask.h"
#include "progress.h"
#include "timer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char *const splits[] = { "no", "bbox", "full" };
static const char *const errors[] = { "none", "poisson" };

struct run {
    struct compare_job job;
    hcy_stack *stack;
    const hcy_stack_info *info;
    hcy_poni poni;
    struct cli_geometry geometry;
    hcy_azint_options azint;
    hcy_azint_plan *plan;
    size_t curves_bytes, mask_bytes;
    double plan_seconds;
    struct progress progress;
};

/* --- What is integrated --- */

int compare_open(hcy_stack **stack, size_t *n_files, const struct compare_job *job)
{
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = job->values->dataset;
    return inputs_open(stack, n_files, job->path, &opts);
}

static int mask_first_frame(json_t *object, const struct compare_job *job, const void *what)
{
    const struct run *r = what;
    hcy_device *cpu = NULL;
    hcy_stack *stack = NULL;
    (void)object;
    int status = compare_open(&stack, NULL, job);
    if (!status)
        status = hcy_device_open(&cpu, "cpu");
    if (!status && cli_mask_frame(job->mask, stack, cpu, &r->poni, &r->azint, 0))
        status = hcy_last_error()->status;
    hcy_device_release(cpu);
    hcy_stack_close(stack);
    return status;
}

static void *share_memory(size_t bytes)
{
    void *memory = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    return memory == MAP_FAILED ? NULL : memory;
}

/* 0, with the message of what a process of its own reported, else CLI_FAILED. */
static int check_apart(json_t *object, const char *what)
{
    const char *error = value_string(object, "error");
    int status = error ? cli_error("%s: %s", what, error) : CLI_OK;
    json_decref(object);
    return status;
}

static int make_compare_plan(struct run *r)
{
    const struct compare_values *v = r->job.values;
    struct compare_job *job = &r->job;
    r->azint.npt = (size_t)v->npt.value;
    r->azint.split = v->split;
    r->azint.error_model = v->errors;
    r->azint.sentinels = HCY_SENTINELS_ALWAYS;
    r->mask_bytes = (size_t)r->info->height * r->info->width;
    /* A child makes the mask, and its own memory ends with it. */
    job->mask = share_memory(r->mask_bytes);
    if (!job->mask)
        return cli_error("out of memory for a mask of %u x %u", r->info->height, r->info->width);
    /* As in `halcyon bench`: a real run masks what the detector marks as invalid. */
    int status = check_apart(compare_apart(job, mask_first_frame, r), "the first frame");
    if (status)
        return status;
    r->azint.mask = job->mask;
    r->azint.mask_height = r->info->height;
    r->azint.mask_width = r->info->width;
    double start = timer_now();
    status = hcy_azint_plan_create(&r->plan, &r->poni, r->info->height, r->info->width, &r->azint);
    r->plan_seconds = timer_now() - start;
    job->plan = r->plan;
    return status ? cli_fail(status) : CLI_OK;
}

static int make_curves_memory(struct run *r)
{
    struct compare_job *job = &r->job;
    job->n_bins = r->azint.npt;
    job->n = (uint64_t)job->values->frames.value < r->info->frames ? (size_t)job->values->frames.value
                                                                   : (size_t)r->info->frames;
    if (hcy_size_mul(&r->curves_bytes, job->n, 2 * job->n_bins * sizeof(double)))
        return cli_error("%zu frames of %zu bins are too many: give fewer --frames", job->n, job->n_bins);
    /* Children fill the curves; the reference is kept by this process alone, where no later child writes. */
    job->curves = share_memory(r->curves_bytes);
    job->reference = malloc(r->curves_bytes);
    if (!job->curves || !job->reference)
        return cli_error("out of memory for %zu curves of %zu bins", job->n, job->n_bins);
    return CLI_OK;
}

/* The page and the environment's trace go over nothing that is read. */
static int guard_compare_files(const struct run *r)
{
    const struct compare_values *v = r->job.values;
    struct guard guard = { 0 };
    guard_reads_stack(&guard, r->stack);
    guard_reads(&guard, "the geometry", v->poni);
    guard_reads(&guard, "--finufft", v->finufft);
    int status = guard_writes(&guard, "-o", v->output, 0, 0);
    guard_free(&guard);
    return status;
}

static int open_run(struct run *r, const char *path)
{
    const struct compare_values *v = r->job.values;
    /* What the user names is read first, so that what is wrong with it is told before anything is measured. */
    int status = v->poni ? hcy_poni_read(&r->poni, v->poni) : 0;
    r->job.path = path;
    if (!status)
        status = compare_open(&r->stack, NULL, &r->job);
    if (status)
        return cli_fail(status);
    if (v->nufft)
        status = check_apart(compare_apart(&r->job, compare_check_nufft, NULL), "--nufft");
    if (status)
        return status;
    r->info = hcy_stack_get_info(r->stack);
    if (!r->info->frames)
        return cli_error("%s has no frame", path);
    r->geometry.given = v->poni != NULL;
    r->geometry.quiet = v->quiet;
    status = cli_geometry_read(&r->poni, &r->geometry, r->stack);
    if (!status)
        status = guard_compare_files(r);
    if (status)
        return status;
    status = compare_make_folder(&r->job);
    if (!status)
        status = make_compare_plan(r);
    return status ? status : make_curves_memory(r);
}

static void close_run(struct run *r)
{
    compare_remove_folder(&r->job);
    if (r->job.curves)
        munmap(r->job.curves, r->curves_bytes);
    if (r->job.mask)
        munmap(r->job.mask, r->mask_bytes);
    free(r->job.reference);
    hcy_azint_plan_release(r->plan);
    hcy_stack_close(r->stack);
    hcy_detector_info_free(r->geometry.file);
}

static json_t *describe_stack(const struct run *r, const char *path)
{
    const struct compare_values *v = r->job.values;
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    json_t *stack = json_object();
    double stored = 0;
    for (size_t i = 0; i < r->job.n; i++) {
        size_t bytes = 0;
        stored += hcy_stack_frame_size(&bytes, r->stack, i) ? 0 : (double)bytes;
    }
    value_put_text(stack, "path", path);
    value_put(stack, "frames", (double)r->info->frames);
    value_put(stack, "frames_used", (double)r->job.n);
    value_put(stack, "height", r->info->height);
    value_put(stack, "width", r->info->width);
    value_put(stack, "pixel_bytes", r->info->elem_size);
    value_put(stack, "raw_bytes", (double)r->info->frame_bytes);
    value_put(stack, "stored_bytes", stored / (double)r->job.n);
    value_put_text(stack, "geometry", v->poni);
    value_put(stack, "bins", (double)r->job.n_bins);
    value_put_text(stack, "split", splits[v->split]);
    value_put_text(stack, "error_model", errors[v->errors]);
    value_put(stack, "plan_seconds", r->plan_seconds);
    value_put_text(stack, "plan", hcy_azint_plan_get_info(&info, r->plan) ? NULL : info.hash);
    value_put(stack, "rounds", (double)v->rounds.value);
    return stack;
}

/* --- Against the reference --- */

/* *largest and *all: of every bin of every frame that both have; 0 where both have no pixel. */
static size_t collect_deviations(double *largest, double *all, const struct compare_job *job)
{
    size_t n = 0;
    for (size_t b = 0; b < job->n_bins; b++)
        largest[b] = 0;
    for (size_t f = 0; f < job->n; f++)
        for (size_t b = 0; b < job->n_bins; b++) {
            double is = job->curves[2 * job->n_bins * f + b], should = job->reference[2 * job->n_bins * f + b];
            /* Against a 0 any deviation would be infinite, which JSON has no number for. */
            double off = is == should ? 0 : fmin(fabs(is - should) / fmax(fabs(should), 1e-300), 1e300);
            if (isnan(is) || isnan(should))
                continue;
            all[n++] = off;
            largest[b] = fmax(largest[b], off);
        }
    value_sort(all, n);
    return n;
}

void compare_curves(json_t *object, const struct compare_job *job)
{
    json_t *result = json_object(), *bins = json_array();
    size_t values = job->n * job->n_bins;
    /* Errors count for "equal" as curves do; deviations are the intensity's. */
    int equal = !memcmp(job->curves, job->reference, 2 * values * sizeof(double));
    double *all = malloc(values * sizeof *all), *largest = malloc(job->n_bins * sizeof *largest);
    json_object_set_new(result, "equal", json_boolean(equal));
    if (all && largest) {
        size_t n = collect_deviations(largest, all, job);
        value_put(result, "largest", value_quantile(all, n, 1));
        value_put(result, "median", value_quantile(all, n, 0.5));
        for (size_t b = 0; b < job->n_bins && !equal; b++)
            json_array_append_new(bins, value_real(largest[b]));
    }
    json_object_set_new(result, "per_bin", bins);
    json_object_set_new(object, "result", result);
    free(all);
    free(largest);
}

/* Bytes that no curve has: a frame that fails leaves them. */
static void clear_curves(const struct run *r)
{
    memset(r->job.curves, 0xff, r->curves_bytes);
}

/* The CPU's curves, by one thread and the portable code: as little as possible between them and the definition. */
static const char reference[] = "cpu@threads=1@simd=portable";

static int make_reference(struct run *r)
{
    clear_curves(r);
    int status = check_apart(compare_apart(&r->job, compare_once, reference), "the reference");
    /* Every later child writes over the shared curves. */
    memcpy(r->job.reference, r->job.curves, r->curves_bytes);
    return status;
}

/* --- Devices --- */

/* What "all" stands for, one by one: of a list, one device that cannot be opened would be the end of all. */
static int list_devices(json_t *object, const struct compare_job *job, const void *what)
{
    hcy_device_info *infos = NULL;
    size_t n = 0;
    json_t *names = json_array();
    (void)job, (void)what;
    int status = hcy_device_list(&infos, &n);
    for (size_t i = 0; !status && i < n; i++)
        if (infos[i].kind != HCY_KIND_OTHER && !(infos[i].caps & HCY_CAP_SECOND))
            json_array_append_new(names, value_text(infos[i].name));
    hcy_list_free(infos);
    json_object_set_new(object, "names", names);
    return status;
}

/* The names of a list, as they were written: what cannot be opened is a line of the report.  Listing asks the drivers,
 * so it has a process of its own too. */
static int name_devices(json_t *names, const struct compare_job *job)
{
    const char *named = getenv("HALCYON_DEVICE");
    const char *list = job->values->devices ? job->values->devices : named && *named ? named : "all";
    for (const char *word = list, *next; word; word = next) {
        char device[256];
        size_t n = strcspn(word, ",");
        next = word[n] ? word + n + 1 : NULL;
        /* As an empty list that would be the default, and a line of the report without a name. */
        if (!n)
            return cli_usage("an empty device string in the list of devices, '%.200s'", list);
        if (n >= sizeof device)
            return cli_error("the name of a device is too long: %.40s...", word);
        snprintf(device, sizeof device, "%.*s", (int)n, word);
        if (strcmp(device, "all")) {
            json_array_append_new(names, value_text(device));
            continue;
        }
        json_t *found = compare_apart(job, list_devices, device);
        json_array_extend(names, json_object_get(found, "names"));
        int status = check_apart(found, device);
        if (status)
            return status;
    }
    return json_array_size(names) ? CLI_OK : cli_error("no device in '%s'", list);
}

/* Where a frame's time goes: the host's stages alone, in one thread; of the device what its queues did. */
static void put_times(json_t *device, const json_t *timeline)
{
    static const char *const table[][2] = {
        { "read", "host_ms.read" },      { "parse", "host_ms.parse" }, { "copy", "busy_ms.copy" },
        { "decode", "busy_ms.decode" },  { "integrate", "busy_ms.integrate" },
        { "decode_and_integrate", "busy_ms.fused" },                     { "copy_back", "busy_ms.copy back" },
        { "other", "busy_ms.other" },    { "divide", "host_ms.divide" },
        { "write", "host_ms.write" }
    };
    json_t *times = json_object();
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        /* The host's stages were measured alone, the device's come from the timeline: each name is in one of the
         * two. */
        double here = value_number(device, table[i][1]);
        value_put(times, table[i][0], isfinite(here) ? here : value_number(timeline, table[i][1]));
    }
    json_object_set_new(device, "time_ms", times);
    json_object_set(device, "timeline", json_object_get(timeline, "timeline"));
}

static double kernels_ms(const json_t *device)
{
    const char *path = value_string(json_array_get(json_object_get(device, "shares"), 0), "path");
    /* Without the fused kernel a frame passes through both of the others, one after the other. */
    if (path && !strcmp(path, "fused"))
        return value_number(device, "kernels_ms.fused");
    return value_number(device, "kernels_ms.decode") + value_number(device, "kernels_ms.integrate");
}

/* The rate against what the device's own link and kernels would allow. */
static void put_efficiency(json_t *device, const json_t *stack)
{
    json_t *limits = json_object_get(device, "limits");
    double link = 1e9 * value_number(limits, "host_to_device_gb_per_s") / value_number(stack, "stored_bytes");
    double kernels = 1e3 / kernels_ms(device), bound = fmin(link, kernels); /* a NaN does not count */
    if (!limits)
        return;
    value_put(limits, "link_frames_per_s", link);
    value_put(limits, "kernels_frames_per_s", kernels);
    value_put(limits, "frames_per_s", bound);
    value_put_text(limits, "bound_by", isnan(bound) ? NULL : bound == link ? "copies to the device" : "kernels");
    value_put(limits, "efficiency", value_number(device, "frames_per_s") / bound);
}

static void note_missing(json_t *device, const char *what, const char *why)
{
    char note[800];
    snprintf(note, sizeof note, "%s: %.700s", what, why);
    json_array_append_new(json_object_get(device, "notes"), value_text(note));
}

/* One device, or several as "a,b": an entry of the report. */
static json_t *measure_devices(struct run *r, const char *devices, const json_t *stack)
{
    clear_curves(r);
    progress_say(&r->progress, "%s: rates, latency, stages ...", devices);
    json_t *device = compare_apart(&r->job, compare_devices, devices);
    value_put_text(device, "device", devices);
    /* A device that failed leaves no curves to compare, and its timeline would fail in the same way. */
    if (value_string(device, "error"))
        return device;
    compare_curves(device, &r->job);
    progress_say(&r->progress, "%s: timeline ...", devices);
    json_t *timeline = compare_apart(&r->job, compare_timeline, devices);
    put_times(device, timeline);
    put_efficiency(device, stack);
    /* Without a timeline the rates are still good, so it is only noted as missing. */
    const char *error = value_string(timeline, "error");
    if (error)
        note_missing(device, "the timeline", error);
    json_decref(timeline);
    return device;
}

/* --- All together --- */

/* Those that have a rate of their own; the sum of these. */
static double list_working(char *list, size_t size, size_t *n, const json_t *devices)
{
    const json_t *device;
    size_t i, used = 0;
    double sum = 0;
    *n = 0;
    *list = '\0';
    json_array_foreach(devices, i, device)
    {
        /* A device that has no rate by itself would be in the way of the others. */
        double rate = value_number(device, "frames_per_s");
        if (!isfinite(rate) || used >= size)
            continue;
        used += (size_t)snprintf(list + used, size - used, "%s%s", *n ? "," : "", compare_name(device));
        sum += rate;
        ++*n;
    }
    return sum;
}

/* Devices that work with the processors, if there are more of their threads than processors: the sum of their rates is
 * one that no run can have, and with the fastest of them alone it is what shares of the processors allow. */
static void put_sharing(json_t *together, const json_t *devices, double sum)
{
    const json_t *device;
    char list[4096] = "";
    size_t i, n = 0, used = 0;
    double units = 0, fastest = 0, all = 0;
    json_array_foreach(devices, i, device)
    {
        const char *kind = value_string(device, "kind");
        double rate = value_number(device, "frames_per_s");
        if (!kind || strcmp(kind, "cpu") || !isfinite(rate) || used >= sizeof list)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n++ ? ", " : "", compare_name(device));
        units += value_number(device, "units");
        fastest = fmax(fastest, rate);
        all += rate;
    }
    int shares = n > 1 && units > hcy_processors();
    value_put_text(together, "sharing_processors", shares ? list : NULL);
    value_put(together, "sum_of_shares_frames_per_s", shares ? sum - all + fastest : NAN);
    value_put(together, "of_the_shares", shares ? value_number(together, "frames_per_s") / (sum - all + fastest) : NAN);
}

static void put_together(json_t *report, struct run *r, const json_t *devices, const json_t *stack)
{
    char list[4096];
    size_t n;
    double sum = list_working(list, sizeof list, &n, devices);
    /* A single device together with nobody would be the same figures again. */
    json_t *together = n < 2 || interrupt_came() ? json_null() : measure_devices(r, list, stack);
    if (json_is_object(together)) {
        value_put(together, "sum_of_parts_frames_per_s", sum);
        value_put(together, "of_the_sum", value_number(together, "frames_per_s") / sum);
        put_sharing(together, devices, sum);
    }
    json_object_set_new(report, "together", together);
}

/* --- Other sizes --- */

/* A simulated stack of a detector in the measurement's folder. */
static int simulate_size(char stack[320], char poni[320], const struct compare_job *job, const char *detector)
{
    char frames[32];
    snprintf(stack, 320, "%s/%s.h5", job->folder, detector);
    snprintf(poni, 320, "%s/%s.poni", job->folder, detector);
    snprintf(frames, sizeof frames, "%zu", job->n < 16 ? job->n : 16);
    char *argv[] = { "simulate", stack, "--detector", (char *)(uintptr_t)detector, "--frames", frames, "--quiet", NULL };
    return cli_simulate(7, argv);
}

static json_t *rate_of_size(struct run *r, const json_t *device)
{
    clear_curves(r);
    json_t *entry = compare_apart(&r->job, compare_rate, compare_name(device));
    value_put_text(entry, "device", compare_name(device));
    value_put_text(entry, "virtual", value_string(device, "virtual"));
    if (!value_string(entry, "error")) {
        json_object_set_new(entry, "equal", json_boolean(!memcmp(r->job.curves, r->job.reference, r->curves_bytes)));
        compare_curves(entry, &r->job);
    }
    return entry;
}

/* All devices that work at all, on one size: entries are added to `sizes`. */
static int measure_size(json_t *sizes, const struct run *of, const char *detector, const json_t *devices)
{
    struct compare_values values = *of->job.values;
    struct run r = { .job = { .values = &values }, .poni = HCY_PONI_INIT, .azint = HCY_AZINT_OPTIONS_INIT };
    char stack[320], poni[320];
    const json_t *device;
    size_t i;
    int status = simulate_size(stack, poni, &of->job, detector);
    /* Simulating has caught signals for itself, and let them go. */
    interrupt_catch();
    /* The simulated stack has its own geometry, and its dataset's name is not the user's. */
    values.poni = poni;
    values.dataset = NULL;
    if (!status)
        status = open_run(&r, stack);
    if (!status)
        status = make_reference(&r);
    /* What did not work with the user's stack is not waited for once more. */
    json_array_foreach(devices, i, device)
    {
        if (status || interrupt_came() || value_string(device, "error"))
            continue;
        json_t *entry = rate_of_size(&r, device);
        value_put_text(entry, "detector", detector);
        value_put(entry, "pixels", (double)r.info->height * r.info->width);
        json_array_append_new(sizes, entry);
    }
    close_run(&r);
    /* One size lies in the folder at a time, since that may be memory. */
    unlink(stack);
    unlink(poni);
    return status;
}

static void measure_sizes(json_t *report, struct run *r, const json_t *devices)
{
    static const char *const detectors[] = { "Eiger500k", "Eiger1M", "Eiger4M", "Eiger9M" };
    json_t *sizes = json_array();
    int status = CLI_OK;
    /* One that cannot be made, for want of room mostly, is said; what was measured before is a report nevertheless. */
    for (size_t i = 0; !status && !interrupt_came() && i < sizeof detectors / sizeof detectors[0]; i++) {
        progress_say(&r->progress, "stacks of %s ...", detectors[i]);
        status = measure_size(sizes, r, detectors[i], devices);
    }
    json_object_set_new(report, "sizes", sizes);
}

/* --- The report --- */

static void put_head(json_t *report)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    value_put_text(report, "report", "halcyon compare");
    value_put(report, "version", COMPARE_VERSION);
    value_put_text(report, "halcyon", hcy_version());
    value_put_text(report, "date", date);
    json_object_set_new(report, "machine", compare_machine());
}

static int measure_all(json_t *report, struct run *r, const char *path)
{
    const struct compare_values *v = r->job.values;
    json_t *names = json_array(), *devices = json_array(), *stack = describe_stack(r, path);
    json_object_set_new(report, "stack", stack);
    json_object_set_new(report, "devices", devices);
    value_put_text(report, "reference", reference);
    int status = name_devices(names, &r->job);
    progress_say(&r->progress, "the reference ...");
    if (!status)
        status = make_reference(r);
    for (size_t i = 0; !status && !interrupt_came() && i < json_array_size(names); i++)
        json_array_append_new(devices, measure_devices(r, json_string_value(json_array_get(names, i)), stack));
    json_decref(names);
    if (!status)
        put_together(report, r, devices, stack);
    if (!status && v->python && !interrupt_came())
        compare_pyfai(report, &r->job);
    if (!status && v->sizes && !interrupt_came())
        measure_sizes(report, r, devices);
    if (!status && v->nufft && !interrupt_came())
        compare_nufft(report, &r->job, devices);
    /* A report in which devices are missing because of an interruption would look as if they had not been there. */
    return status || !interrupt_came() ? status : cli_error("interrupted: there is no report");
}

int compare_measure(json_t **report, const struct compare_values *values, const char *path)
{
    struct run r = { .job = { .values = values }, .poni = HCY_PONI_INIT, .azint = HCY_AZINT_OPTIONS_INIT };
    *report = json_object();
    interrupt_catch();
    progress_begin(&r.progress, !values->quiet);
    put_head(*report);
    int status = open_run(&r, path);
    if (!status)
        status = measure_all(*report, &r, path);
    progress_clear(&r.progress);
    close_run(&r);
    return status;
}
