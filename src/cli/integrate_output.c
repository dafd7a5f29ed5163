/* integrate_output.c - the name of an integration's result: given, or made of the stack's; none that is read. */
#include "cli.h"
#include "guard.h"
#include "integrate_job.h"

#include <string.h>

int integrate_makes_cakes(const struct integrate_values *v)
{
    hcy_azint_options options;
    integrate_options(&options, v);
    return options.npt_azim && options.npt > 1;
}

/* Refuses several curves in one file of rows alone, which cannot say whose they are. */
static int check_rows_alone(const char *output, const struct integrate_values *v, uint64_t frames)
{
    static const char *const alone[] = { ".xy", ".xye", ".chi", ".fxye" };
    const char *dot = strrchr(output, '.');
    int is_alone = 0;
    for (size_t i = 0; dot && i < sizeof alone / sizeof alone[0]; i++)
        is_alone |= !strcmp(dot, alone[i]);
    /* With %d each frame has a file, and with --sum one curve may be all; of cakes the format is refused. */
    if (!is_alone || integrate_makes_cakes(v) || strchr(output, '%') || frames <= (uint64_t)v->sum.value)
        return CLI_OK;
    return cli_error("%s is for one curve, and there are more: name a file for each (%.*s_%%04d%s), or one .dat or .h5",
                     output, (int)(dot - output), output, dot);
}

/* HDF5 has room for everything; a build without it has text for curves and EDF for images. */
static const char *choose_suffix(const struct job *job)
{
    const char *format;
    int is_cake = integrate_makes_cakes(job->values);
    if (!hcy_format_of(&format, "x.h5", is_cake ? HCY_WRITE_CAKES : HCY_WRITE_CURVES))
        return ".h5";
    return is_cake ? ".edf" : ".dat";
}

/* STACK_azint.h5 in the current directory, from the stack's path; of a numbered series without its number. */
static int name_output(char *made, size_t size, const struct job *job)
{
    char stem[sizeof job->output];
    int status = inputs_stem(stem, sizeof stem, job->path);
    if (status || (size_t)snprintf(made, size, "%s_azint%s", stem, choose_suffix(job)) < size)
        return status;
    return cli_error("the name of %s is too long to make one for the output: give -o", job->path);
}

int integrate_check_name(const char *output, const struct integrate_values *v, uint64_t frames)
{
    /* Text may be a file a frame; other formats hold all of them. */
    static const char *const whole[] = { ".h5", ".hdf5", ".nxs", ".edf" };
    const char *dot = strrchr(output, '.');
    int status = check_rows_alone(output, v, frames);
    for (size_t i = 0; !status && dot && i < sizeof whole / sizeof whole[0]; i++)
        if (!strcmp(dot, whole[i]))
            status = cli_check_one_file(output);
    return status;
}

int integrate_check_formats(const struct integrate_values *v)
{
    const char *format;
    int status = CLI_OK;
    if (v->output)
        status = cli_check_format(v->output, integrate_makes_cakes(v) ? HCY_WRITE_CAKES : HCY_WRITE_CURVES);
    if (!status && v->sparse && (hcy_format_of(&format, v->sparse, HCY_WRITE_CURVES) || strcmp(format, "h5")))
        status = cli_usage("--sparse %s: sparse frames are HDF5: name an .h5 file", v->sparse);
    if (!status && v->save_config)
        status = cli_check_format(v->save_config, HCY_WRITE_SETTINGS);
    return status;
}

int integrate_name_output(struct job *job)
{
    const char *given = job->values->output;
    char made[sizeof job->output];
    int status;
    if (inputs_each(given)) {
        status = inputs_output(job->output, sizeof job->output, given, job->path);
    } else {
        status = given ? CLI_OK : name_output(made, sizeof made, job);
        if (!status)
            status = shard_output(job->output, sizeof job->output, given ? given : made, &job->shard, 0);
    }
    return status ? status : integrate_check_name(job->output, job->values, job->last - job->first);
}

int integrate_guard_files(const struct job *job)
{
    const struct integrate_values *v = job->values;
    const char *const reads[][2] = {
        { "the geometry", v->poni },     { "--config", v->config_file }, { "--mask", v->mask },
        { "--flat", v->flat },           { "--absorption", v->absorption }, { "--dark", v->dark },
        { "--variance", v->variance },   { "--monitor", v->monitor }, { "--detector", v->detector },
        { "the detector", job->poni.detector_file }, { "--pedestal", v->raw.pedestal }, { "--gain", v->raw.gain },
    };
    struct guard guard = { 0 };
    /* The stack names all its files: those that its external links and virtual datasets lead to. */
    guard_reads_stack(&guard, job->stack);
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        guard_reads(&guard, reads[i][0], reads[i][1]);
    /* Only after all that is read is known can a name be judged. */
    int status = guard_writes(&guard, "-o", job->output, job->first, job->last);
    if (!status)
        status = guard_writes(&guard, "--save-config", v->save_config, 0, 0);
    if (!status)
        status = guard_writes(&guard, "--sparse", v->sparse ? job->sparse.path : NULL, 0, 0);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status ? status : integrate_check_formats(v);
}
