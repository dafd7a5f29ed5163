/* curves.c - writing curves: which format, and what is the same for all of them. */
#include "curves_priv.h"
#include "sized.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hcy_curves {
    const hcy__curves_format *format;
    void *state;
    size_t n_bins;
    int with_sigma, with_sums;
    uint64_t rows;
    hcy_error failed; /* status 0: none yet */
};

static const hcy__curves_format *const formats[] = {
    &hcy__curves_dat,
    &hcy__curves_xy,
    &hcy__curves_xye,
    &hcy__curves_chi,
    &hcy__curves_fxye,
    &hcy__curves_edf,
#ifdef HAVE_HDF5
    &hcy__curves_h5,
#endif
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static int find_curves_format(const hcy__curves_format **format, const char *path, const char *name, int images)
{
    const char *base = strrchr(path, '/'), *suffix = strrchr(base ? base : path, '.');
    /* Standard output and devices have no suffix, and text is what one looks at there. */
    if (!name && (!strcmp(path, "-") || (!suffix && !strncmp(path, "/dev/", 5))))
        name = "dat";
    int st = name ? 0 : hcy_format_of(&name, path, images ? HCY_WRITE_CAKES : HCY_WRITE_CURVES);
    for (size_t i = 0; !st && i < N_FORMATS; i++) {
        *format = formats[i];
        if (!strcmp(name, formats[i]->name))
            return 0;
    }
#ifndef HAVE_HDF5
    if (!st && !strcmp(name, "h5"))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: this build has no HDF5", path);
#endif
    return st ? st : hcy_fail(HCY_EINVAL, "%s: there is no format '%s' for curves in this build", path, name);
}

const char *hcy__curves_mask_words(const hcy__curves_head *head)
{
    const hcy_detector *detector = head->plan.poni.detector;
    if (head->opts.mask)
        return head->opts.file_mask ? "user provided, and the file's pixel_mask" : "user provided";
    if (head->opts.file_mask)
        return "the file's pixel_mask";
    if (head->plan.options.detector_mask && detector && (detector->gap[0] || detector->gap[1]))
        return "from detector";
    return "False";
}

const char *const hcy__region_values[HCY__REGION_VALUES] = { "sum", "min", "max", "valid", "invalid", "zero", "above" };

void hcy__region_row(uint64_t row[HCY__REGION_VALUES], const hcy_region_sums *s)
{
    const uint64_t values[] = { (uint64_t)s->sum, (uint64_t)s->min, (uint64_t)s->max, s->valid, s->invalid, s->zero,
                                s->above };
    memcpy(row, values, sizeof values);
}

void hcy__curves_unit_words(char space[32], char symbol[32], const char *unit)
{
    const char *last = strrchr(unit, '_');
    snprintf(space, 32, "%.*s", (int)(last ? last - unit : 0), unit);
    last = last ? last + 1 : unit;
    const char *power = strchr(last, '^');
    if (!strcmp(last, "None"))
        snprintf(symbol, 32, "?");
    else
        snprintf(symbol, 32, "%s%.*s%s%s%s", *last == 'A' ? "\\A" : "", (int)strcspn(last, "^"), last,
                 power ? "^{" : "", power ? power + 1 : "", power ? "}" : "");
}

/* Images, or curves along chi, and whether the format takes images. */
static int set_curves_axes(hcy_azint_plan_info *plan, const hcy__curves_format *format, const char *path)
{
    /* One radial bin makes a curve along chi, whose axis the formats then find where they look for the
     * radial one. */
    if (plan->n_azim && plan->n_radial == 1) {
        plan->unit = plan->azimuth_unit;
        plan->radial = plan->azimuthal;
        plan->n_radial = plan->n_azim;
        plan->n_azim = 0;
    }
    if (plan->n_azim && strcmp(format->name, "edf") && strcmp(format->name, "h5"))
        return hcy_fail(HCY_EINVAL, "%s: text has room for curves alone; use .edf or .h5 for images", path);
    return 0;
}

/* Rows alone and images have no place for anything beside them. */
static int check_places(const hcy__curves_head *head, const hcy__curves_format *format)
{
    const hcy_curves_options *o = &head->opts;
    if (o->n_regions && (!o->regions || !o->region_names))
        return hcy_fail(HCY_EINVAL, "hcy_curves_open: regions without places or names");
    if (o->sums && strcmp(format->name, "h5"))
        return hcy_fail(HCY_EINVAL, "%s has no place for the bins' sums: use .h5", head->path);
    if (!o->n_regions || !strcmp(format->name, "dat") || !strcmp(format->name, "h5"))
        return 0;
    return hcy_fail(HCY_EINVAL, "%s has no place for regions: use .h5 or .dat", head->path);
}

int hcy_curves_open(hcy_curves **curves, const char *path, const hcy_azint_plan *plan,
                    const hcy_curves_options *opts)
{
    if (!curves || !path || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_curves_open: curves, path and plan must not be NULL");
    *curves = NULL;
    hcy__curves_head head = { path, HCY_AZINT_PLAN_INFO_INIT, HCY_CURVES_OPTIONS_INIT, 0, hcy_azint_plan_norms(plan),
                              { NULL }, plan };
    int st = opts ? hcy__sized_read(&head.opts, sizeof head.opts, opts, "hcy_curves_options") : 0;
    if (st)
        return st;
    /* All that may refuse comes before the file is made. */
    st = hcy_azint_plan_get_info(&head.plan, plan);
    head.with_sigma = head.plan.options.error_model != HCY_ERRORS_NONE;
    hcy_curves *c = calloc(1, sizeof *c);
    if (!st && !c)
        st = hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    if (!st)
        st = find_curves_format(&c->format, path, head.opts.format, head.plan.n_azim && head.plan.n_radial > 1);
    if (!st)
        st = set_curves_axes(&head.plan, c->format, path);
    if (!st)
        st = check_places(&head, c->format);
    /* Writing over the frames that are being read would destroy them. */
    if (!st && strcmp(path, "-"))
        st = hcy__may_write(path, head.opts.keep_existing, head.opts.source);
    if (!st)
        st = hcy__config_names(&head);
    /* From here on there is a file; each format removes its own if it fails. */
    if (!st)
        st = c->format->open(&c->state, &head);
    hcy__config_names_free(&head);
    if (st) {
        free(c);
        return st;
    }
    c->n_bins = head.plan.n_bins;
    c->with_sigma = head.with_sigma;
    c->with_sums = head.opts.sums;
    *curves = c;
    return 0;
}

int hcy_curves_append(hcy_curves *c, uint64_t frame, const hcy_azint_result *result, const char *why)
{
    return hcy_curves_append_regions(c, frame, result, NULL, why);
}

int hcy_curves_append_regions(hcy_curves *c, uint64_t frame, const hcy_azint_result *result,
                              const hcy_region_sums *regions, const char *why)
{
    if (!c ||
        (result && (result->n_bins != c->n_bins || !result->intensity || (c->with_sigma && !result->sigma))))
        return hcy_fail(HCY_EINVAL, "hcy_curves_append: a result of another plan than the file's");
    if (result && c->with_sums && !result->sum_signal)
        return hcy_fail(HCY_EINVAL, "hcy_curves_append: a result of means alone, for a file with sums");
    /* After a failure nothing is written any more: rows behind a gap would be taken for other frames. */
    if (c->failed.status)
        return hcy_fail_again(&c->failed);
    uint64_t since = hcy_trace_begin();
    int st = c->format->append(c->state, frame, result, regions, why ? why : "no reason given");
    hcy_trace_end(since, "write", frame, 1, 0);
    if (st)
        c->failed = *hcy_last_error();
    c->rows += !st;
    return st;
}

int hcy_curves_remark(hcy_curves *c, const char *name, const char *text)
{
    if (!c || !name || !text)
        return hcy_fail(HCY_EINVAL, "hcy_curves_remark: curves, name and text must not be NULL");
    if (c->failed.status)
        return hcy_fail_again(&c->failed);
    return c->format->remark ? c->format->remark(c->state, name, text) : 0;
}

int hcy_curves_flush(hcy_curves *c)
{
    if (!c)
        return hcy_fail(HCY_EINVAL, "hcy_curves_flush: curves must not be NULL");
    if (c->failed.status)
        return hcy_fail_again(&c->failed);
    int st = c->format->flush ? c->format->flush(c->state) : 0;
    if (st)
        c->failed = *hcy_last_error();
    return st;
}

int hcy_curves_close(hcy_curves *c)
{
    if (!c)
        return 0;
    if (c->failed.status)
        return hcy_curves_stop(NULL, 0, c);
    uint64_t since = hcy_trace_begin();
    int st = c->format->close(c->state, HCY__WHOLE);
    hcy_trace_end(since, "close the file", 0, 0, 0);
    free(c);
    return st;
}

int hcy_curves_stop(char *place, size_t size, hcy_curves *c)
{
    if (place && size)
        *place = 0;
    if (!c)
        return 0;
    /* Without a row there is nothing to keep, and the file is removed. */
    const char *name = c->rows ? c->format->place(c->state) : NULL;
    if (place)
        snprintf(place, size, "%s", name ? name : "");
    int st = c->format->close(c->state, c->rows ? HCY__STOPPED : HCY__DISCARDED);
    if (c->failed.status)
        st = hcy_fail_again(&c->failed);
    free(c);
    return st;
}
