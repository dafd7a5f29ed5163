/* curves_h5_head.c - what a file of curves in HDF5 says before its rows: see curves_h5.c for the layout.  All under
 * HDF5's lock. */
#include "curves_h5.h"
#include "h5_read.h"
#include "h5_shard.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ENTRY   HCY__CURVES_ENTRY
#define PROCESS HCY__CURVES_PROCESS
#define RESULTS HCY__CURVES_RESULTS

/* --- The run --- */

void hcy__lost_add(hcy__lost_frames *lost, hcy__lost_frames more)
{
    if (more.n)
        lost->first = lost->n && lost->first < more.first ? lost->first : more.first;
    lost->n += more.n;
}

static const char *const lost_names[2] = { "failed_frames", "first_failed_frame" };

int hcy__lost_put(hid_t file, hcy__lost_frames lost)
{
    const uint64_t values[2] = { lost.n, lost.first };
    int st = 0;
    for (int i = 0; i < 2 && !st; i++) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)values[i]);
        if (H5Aexists_by_name(file, PROCESS "/halcyon", lost_names[i], H5P_DEFAULT) > 0)
            H5Adelete_by_name(file, PROCESS "/halcyon", lost_names[i], H5P_DEFAULT);
        if (lost.n)
            st = hcy__h5_put_text_at(file, PROCESS "/halcyon", lost_names[i], text);
    }
    return st;
}

hcy__lost_frames hcy__lost_get(hid_t file)
{
    char text[2][24] = { "", "" };
    hid_t group = H5Gopen2(file, PROCESS "/halcyon", H5P_DEFAULT);
    for (int i = 0; i < 2 && group >= 0; i++)
        hcy__h5_get_text(text[i], sizeof text[i], group, lost_names[i]);
    if (group >= 0)
        H5Gclose(group);
    return (hcy__lost_frames){ strtoull(text[0], NULL, 10), strtoull(text[1], NULL, 10) };
}

void hcy__now_text(char date[32])
{
    time_t now = time(NULL);
    struct tm utc;
    *date = 0;
    if (gmtime_r(&now, &utc))
        strftime(date, 32, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
}

/* Links to the datasets that the frames come from. */
static int put_source(hcy__h5_file *out, const hcy__curves_head *head)
{
    hid_t file = out->id;
    const hcy_stack *stack = head->opts.source;
    if (!stack || !stack->dataset)
        return 0;
    int st = hcy__h5_put_group(file, ENTRY "/measurement", "NXdata");
    /* pyFAI's name for each part of the stack; the first is what viewers show. */
    for (size_t i = 0; !st && i < stack->n_parts; i++) {
        char name[64];
        const char *from = stack->parts[i].from ? stack->parts[i].from : stack->path;
        char *target = hcy__h5_link_target(hcy_output_name(out->output), from);
        snprintf(name, sizeof name, ENTRY "/measurement/images_%04zu", i + 1);
        if (!target)
            continue;
        if (H5Lcreate_external(target, stack->parts[i].name, file, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: the link to %s cannot be written", head->path, from);
        free(target);
    }
    return st ? st : hcy__h5_put_text_at(file, ENTRY "/measurement", "signal", "images_0001");
}

/* Scalar text in its place: the process, and what made it. */
static int put_fields(hid_t file, const hcy__curves_head *head)
{
    char version[32], date[32], poni[4096] = "", *config = NULL, *sources = NULL;
    const hcy_stack_info *source = head->opts.source ? hcy_stack_get_info(head->opts.source) : NULL;
    hcy__now_text(date);
    snprintf(version, sizeof version, "%s", hcy_version());
    int st = hcy_poni_format(poni, sizeof poni, NULL, &head->plan.poni);
    if (!st)
        st = hcy__curves_config(&config, head);
    if (!st && head->opts.source)
        st = hcy__stack_sources(&sources, head->opts.source);
    /* In the order of the file's layout above; a text that is NULL leaves its field out. */
    const hcy__h5_text fields[] = {
        { ENTRY "/program_name", "halcyon" },
        { ENTRY "/start_time", date },
        { ENTRY "/title", "Scanning 1D experiment" },
        { PROCESS "/program", "halcyon" },
        { PROCESS "/version", version },
        { PROCESS "/date", date },
        { PROCESS "/configuration/type", "text/json" },
        { PROCESS "/configuration/data", config },
        { PROCESS "/halcyon/plan", head->plan.hash },
        { PROCESS "/halcyon/devices", head->opts.devices },
        { PROCESS "/halcyon/geometry", poni },
        { PROCESS "/halcyon/mask", hcy__curves_mask_words(head) },
        { PROCESS "/halcyon/mask_file", head->opts.mask },
        { PROCESS "/halcyon/pixel_mask", head->opts.file_mask },
        { PROCESS "/halcyon/corrections", head->opts.corrections },
        { PROCESS "/halcyon/command", head->opts.config },
        { PROCESS "/halcyon/source", source ? source->path : NULL },
        { PROCESS "/halcyon/sources", sources },
        { PROCESS "/halcyon/source_dataset", source ? source->dataset : NULL },
        { RESULTS "/title", /* pyFAI's spelling */
          head->plan.n_azim ? "2D azimuthaly integrated data" : "Azimuthaly integrated data" },
    };
    for (size_t i = 0; !st && i < sizeof fields / sizeof fields[0]; i++)
        st = hcy__h5_put_field(file, fields[i].name, fields[i].text);
    free(config);
    free(sources);
    return st ? st : hcy__h5_put_text_at(file, ENTRY "/program_name", "version", version);
}

/* Groups, and the attributes by which viewers find what to plot. */
static int put_groups(hcy__h5_file *out)
{
    static const char *const groups[][2] = {
        { ENTRY, "NXentry" },
        { PROCESS, "NXprocess" },
        { PROCESS "/configuration", "NXnote" },
        { PROCESS "/halcyon", "NXcollection" },
        { RESULTS, "NXdata" },
    };
    char version[32], date[32];
    hid_t file = out->id;
    unsigned v[3] = { 0 };
    int st = 0;
    H5get_libversion(&v[0], &v[1], &v[2]);
    snprintf(version, sizeof version, "%u.%u.%u", v[0], v[1], v[2]);
    hcy__now_text(date);
    /* The root is there already and has only attributes put to it. */
    const hcy__h5_text root[] = { { "NX_class", "NXroot" }, { "file_name", hcy_output_name(out->output) },
                                  { "file_time", date },    { "HDF5_Version", version },
                                  { "creator", "halcyon" }, { "default", "entry_0000" } };
    hid_t top = H5Gopen2(file, "/", H5P_DEFAULT);
    st = hcy__h5_put_texts(top, root, sizeof root / sizeof root[0]);
    H5Gclose(top);
    /* Outer groups come before those within them. */
    for (size_t i = 0; !st && i < sizeof groups / sizeof groups[0]; i++)
        st = hcy__h5_put_group(file, groups[i][0], groups[i][1]);
    /* These lead a viewer from the root to the results. */
    if (!st)
        st = hcy__h5_put_text_at(file, ENTRY, "default", "integrate/results");
    if (!st)
        st = hcy__h5_put_text_at(file, PROCESS, "default", "results");
    if (!st)
        st = hcy__h5_put_text_at(file, PROCESS "/configuration", "desc", "PyFAI worker configuration");
    /* A file whose writer was killed keeps saying so. */
    if (!st)
        st = hcy__h5_put_text_at(file, PROCESS "/halcyon", "status", "growing");
    return st ? st : hcy__h5_put_text_at(file, RESULTS, "signal", "data");
}

static int put_count(hid_t file, const char *name, double value)
{
    return hcy__h5_put_numbers(file, name, H5T_STD_I64LE, 0, NULL, &value, NULL, 0);
}

int hcy__curves_put_head(hcy__h5_file *out, const hcy__curves_head *head)
{
    int st = put_groups(out);
    if (!st)
        st = hcy__h5_put_shard(out->id, head->opts.shard, "curves");
    if (!st)
        st = put_fields(out->id, head);
    if (!st)
        st = put_count(out->id, PROCESS "/sequence_index", 1);
    if (!st)
        st = put_count(out->id, PROCESS "/halcyon/masked_pixels", (double)head->plan.n_masked);
    return st ? st : put_source(out, head);
}

/* --- Bins --- */

/* An axis under pyFAI's name, in its words. */
static int put_curves_axis(hid_t group, const char *name, const hcy_azint_unit *unit, const char *direction,
                           const double *values, size_t n)
{
    char space_name[32], symbol[32], long_name[128];
    hcy__curves_unit_words(space_name, symbol, unit->name);
    snprintf(long_name, sizeof long_name, "%s %s (%s)", direction, space_name, symbol);
    const hcy__h5_text texts[] = { { "unit", symbol },
                                   { "units", unit->symbol },
                                   { "interpretation", "scalar" },
                                   { "name", space_name },
                                   { "long_name", long_name } };
    return hcy__h5_put_numbers(group, name, H5T_IEEE_F64LE, 1, (const hsize_t[]){ n }, values, texts,
                               sizeof texts / sizeof texts[0]);
}

static int put_chi(hid_t group, const hcy__curves_head *head)
{
    static const hcy__h5_text texts[] = { { "unit", "deg" },
                                          { "units", "deg" },
                                          { "interpretation", "scalar" },
                                          { "long_name", "Azimuthal angle \317\207 (degree)" } };
    if (head->plan.options.azimuth_unit)
        return put_curves_axis(group, "chi", head->plan.azimuth_unit, "Out-of-plane direction", head->plan.azimuthal,
                               head->plan.n_azim);
    return hcy__h5_put_numbers(group, "chi", H5T_IEEE_F64LE, 1, (const hsize_t[]){ head->plan.n_azim },
                               head->plan.azimuthal, texts, sizeof texts / sizeof texts[0]);
}

static int put_radial(hid_t group, const hcy__curves_head *head)
{
    return put_curves_axis(group, "radial", head->plan.unit, "Diffraction radial direction", head->plan.radial,
                           head->plan.n_radial);
}

/* How many pixels each bin has, as the plan has it: where there are none, a mean of 0 says nothing.  And what a frame
 * that loses no pixel is divided by: its curve times that are its sums, which can be added and put into wider bins. */
static int put_bins(hid_t group, const hcy__curves_head *head)
{
    static const hcy__h5_text texts[] = { /* as NXazint1d words it */
        { "long_name", "effective number of pixels contributing to the corresponding bin" },
        { "units", "arbitrary units" },
    };
    const size_t n = head->plan.n_bins, n_azim = head->plan.n_azim;
    const hsize_t dims[2] = { n_azim ? n_azim : n, n_azim ? n / n_azim : 1 };
    double *values = malloc(n * sizeof *values);
    int st = values ? 0 : hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    for (size_t i = 0; !st && i < n; i++)
        values[i] = (double)head->norms[i].count / HCY_AZINT_ONE;
    if (!st)
        st = hcy__h5_put_numbers(group, "pixels", H5T_IEEE_F32LE, n_azim ? 2 : 1, dims, values, NULL, 0);
    if (!st)
        st = hcy_azint_plan_get_norms(values, head->from);
    if (!st)
        st = hcy__h5_put_numbers(group, "norm", H5T_IEEE_F64LE, n_azim ? 2 : 1, dims, values, texts, 2);
    free(values);
    return st;
}

int hcy__curves_put_axes(hid_t group, const hcy__curves_head *head)
{
    static const char *const names[2][3] = { { ".", "radial" }, { ".", "chi", "radial" } };
    const int images = head->plan.n_azim > 0;
    int st = hcy__h5_put_names(group, "axes", names[images], images ? 3 : 2);
    if (!st)
        st = put_radial(group, head);
    if (!st && head->plan.n_azim)
        st = put_chi(group, head);
    return st ? st : put_bins(group, head);
}
