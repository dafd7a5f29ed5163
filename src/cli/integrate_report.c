/* integrate_report.c - the end of halcyon integrate: what became of the output, the summary, the JSON object. */
#include "processes.h"
#include <stdlib.h>
#include <string.h>

static void print_integration_json(const struct job *job, const hcy_pipeline_stats *stats)
{
    struct cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    failures_run_json(&json, &job->failures, stats, job->setup);
    if (job->plan)
        pixels_json(&json, &job->pixels);
    regions_json(&json, &job->regions);
    if (job->values->sparse)
        cli_json_int(&json, "sparse_pixels", (int64_t)job->sparse.pixels);
    cli_json_open(&json, "devices", '[');
    for (size_t i = 0; i < stats->n_devices; i++)
        progress_device_json(&json, &stats->devices[i]);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

/* Pixels that are invalid in every frame cost time in every frame, where a static mask costs none. */
static void give_hint(const struct job *job, const hcy_pipeline_stats *stats)
{
    uint64_t pixels = (uint64_t)job->info->height * job->info->width;
    if (stats->done > stats->failed && stats->done > 1 && job->pixels.least > pixels / 100)
        fprintf(stderr,
                "hint: %llu pixels or more are invalid in each frame; --mask-from-frame %llu is faster\n",
                (unsigned long long)job->pixels.least, (unsigned long long)job->first);
}

/* Clipping compares a frame's pixels by their variance, and sums of an unweighted mean do not say what one count is in
 * them: there zeros keep a variance of 1 in each frame of a sum. */
static void tell_sum_errors(const struct job *job)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    const int errors = job->azint.error_model;
    if (group_adds(&job->group) && (errors == HCY_ERRORS_POISSON || errors == HCY_ERRORS_HYBRID) &&
        !hcy_azint_plan_get_info(&info, job->plan) && (info.filtered || job->azint.unweighted))
        fprintf(stderr, "note: each pixel of each frame has a variance of 1 at least, as its curve is %s: with less "
                        "than about one count a pixel and frame sigma is too large\n",
                info.filtered ? "filtered" : "unweighted");
}

int integrate_close_output(struct job *job)
{
    if (!job->curves)
        return CLI_OK;
    /* What is not whole is kept only where its format says how far it is good. */
    int closed = job->whole ? hcy_curves_close(job->curves)
                            : hcy_curves_stop(job->place, sizeof job->place, job->curves);
    /* A failure that was told when the run ended is not told again. */
    int said = !closed || !strcmp(job->said.text, hcy_last_error()->text);
    job->whole = job->whole && !closed;
    if (!said)
        (void)cli_fail(closed);
    if (job->whole)
        return CLI_OK;
    /* The user learns where the curves are that were made before the end; of a file a frame each is whole. */
    const bool has_files = strchr(job->output, '%') && job->written;
    if (!strcmp(job->output, "-") || !strcmp(job->place, job->output))
        cli_note("%s is not complete", strcmp(job->output, "-") ? job->output : "standard output");
    else if (*job->place || has_files)
        cli_note("what was done is in %s", *job->place ? job->place : job->output);
    if (strcmp(job->output, "-") && strcmp(job->place, job->output) && !has_files)
        cli_not_completed(job->output, &job->before);
    return CLI_FAILED;
}

static int is_cake(const struct job *job)
{
    return job->azint.npt_azim && job->azint.npt > 1;
}

void integrate_heed_hang(const hcy_pipeline_stats *stats)
{
    for (size_t i = 0; stats && i < stats->n_devices; i++)
        cli_has_hung = cli_has_hung || stats->devices[i].error.status == HCY_ETIMEOUT;
}

void integrate_tell_lost(const hcy_pipeline_stats *stats, const char *kind, bool *told)
{
    integrate_heed_hang(stats);
    size_t lost = 0;
    for (size_t i = 0; stats && i < stats->n_devices; i++)
        /* Frames of a lost device went elsewhere only if one device was left. */
        lost += stats->devices[i].error.status != 0;
    for (size_t i = 0; stats && i < stats->n_devices; i++) {
        if (!stats->devices[i].error.status || (told && told[i]))
            continue;
        cli_note("%s%s was given up%s: %s", kind, stats->devices[i].name,
                 lost < stats->n_devices ? ", its frames went to the others" : "", stats->devices[i].error.text);
        if (told)
            told[i] = true;
    }
}

int integrate_report(const struct job *job, int status)
{
    const hcy_pipeline_stats *stats = processes_stats(job->processes);
    if (!stats && job->pipeline)
        stats = hcy_pipeline_get_stats(job->pipeline);
    integrate_tell_lost(stats, job->processes ? "" : "device ", NULL);
    /* A part without frames never had a pipeline; nor a plan that knows pixels. */
    static const hcy_pipeline_stats none;
    if (!stats && (status || !job->values->json))
        return status;
    stats = stats ? stats : &none;
    /* JSON takes stdout for itself; the words for people go to stderr. */
    if (job->values->json) {
        print_integration_json(job, stats);
        return cli_close_stdout(status);
    }
    if (!job->values->quiet) {
        progress_summary(stats, job->setup, "file");
        failures_print(&job->failures);
        pixels_summary(&job->pixels);
        if (job->whole && job->written && strcmp(job->output, "-"))
            fprintf(stderr, "%s: %llu %s%s%s\n", job->output, (unsigned long long)job->written,
                    is_cake(job) ? "cake" : "curve", job->written == 1 ? "" : "s",
                    job->before.number ? "; it replaced an earlier file of this name" : "");
        if (job->whole && job->values->sparse)
            fprintf(stderr, "%s: %llu %s stand out\n", job->sparse.path, (unsigned long long)job->sparse.pixels,
                    job->sparse.pixels == 1 ? "pixel" : "pixels");
        tell_sum_errors(job);
        give_hint(job, stats);
    }
    return status;
}
