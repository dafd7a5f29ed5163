/* curves_config.c - how curves were made, in pyFAI's words: the JSON of its WorkerConfig, version 5. */
#include "corrections.h"
#include "isolate.h"
#include "curves_priv.h"
#include "sized.h"
#include <halcyon/backend.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes "text", or null for NULL. */
static void put_json_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, "  \"%s\": ", key);
    if (!text) {
        fputs("null,\n", out);
        return;
    }
    putc('"', out);
    /* JSON has no control characters in text, and file names may have any. */
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            putc(*text, out);
    fputs("\",\n", out);
}

static void put_json_number(FILE *out, const char *key, double value, int given)
{
    if (given)
        fprintf(out, "  \"%s\": %.17g,\n", key, value);
    else
        fprintf(out, "  \"%s\": null,\n", key);
}

/* Writes a range, or null if it is none. */
static void put_json_range(FILE *out, const char *key, const double range[2])
{
    if (range[0] != range[1])
        fprintf(out, "  \"%s\": [%.17g, %.17g],\n", key, range[0], range[1]);
    else
        put_json_text(out, key, NULL);
}

/* The geometry; the detector's own keys are those of a PONI file. */
static int put_json_poni(FILE *out, const hcy_poni *p)
{
    static const char key[] = "Detector_config: ";
    char text[4096];
    /* The detector's configuration is JSON in a PONI file already. */
    int st = hcy_poni_format(text, sizeof text, NULL, p);
    if (st)
        return st;
    /* The detector's configuration is JSON already, and pyFAI's own: its line is copied as it stands. */
    const char *config = strstr(text, key);
    int n = config ? (int)strcspn(config + sizeof key - 1, "\n") : 0;
    fprintf(out, "  \"poni\": {\n    \"poni_version\": %s,\n", p->parallax ? "3" : "2.1");
    fprintf(out, "    \"dist\": %.17g,\n    \"poni1\": %.17g,\n    \"poni2\": %.17g,\n", p->dist, p->poni1,
            p->poni2);
    fprintf(out, "    \"rot1\": %.17g,\n    \"rot2\": %.17g,\n    \"rot3\": %.17g,\n", p->rot1, p->rot2,
            p->rot3);
    fprintf(out, "    \"detector\": \"%s\",\n", p->detector ? p->detector->name : "Detector");
    fprintf(out, "    \"detector_config\": %.*s", n ? n : 2, n ? config + sizeof key - 1 : "{}");
    if (p->wavelength > 0)
        fprintf(out, ",\n    \"wavelength\": %.17g", p->wavelength);
    /* pyFAI, too, writes the key only where it is true. */
    if (p->parallax)
        fputs(",\n    \"parallax\": true", out);
    fputs("\n  },\n", out);
    return 0;
}

/* The axes of pyFAI's FiberIntegrator, which are seen from the sample: in the plane and out of it are its words for the
 * first and the second one. */
static void put_json_fibre(FILE *out, const hcy_azint_options *o)
{
    const struct {
        const char *word, *unit;
        size_t npt;
        const double *range;
    } axes[] = { { "ip", o->unit, o->npt, o->radial_range },
                 { "oop", o->azimuth_unit, o->npt_azim ? o->npt_azim : 1, o->azimuth_range } };
    for (size_t i = 0; i < 2; i++) {
        char key[16];
        fprintf(out,
                "  \"npt_%s\": %zu,\n  \"unit_%s\": { \"incident_angle\": %.17g, \"tilt_angle\": %.17g, "
                "\"sample_orientation\": %d, \"name\": \"%s\" },\n",
                axes[i].word, axes[i].npt, axes[i].word, o->incident_angle, o->tilt_angle, o->sample_orientation,
                axes[i].unit);
        snprintf(key, sizeof key, "%s_range", axes[i].word);
        put_json_range(out, key, axes[i].range);
    }
    fprintf(out, "  \"integration_1d\": %s,\n  \"vertical_integration\": %s,\n",
            o->npt_azim && o->npt > 1 ? "false" : "true", o->npt_azim ? "true" : "false");
    put_json_text(out, "integrator_class", "FiberIntegrator");
}

/* Those of its other integrator. */
static void put_json_axes(FILE *out, const hcy_azint_options *o)
{
    fprintf(out, "  \"nbpt_rad\": %zu,\n  \"nbpt_azim\": %zu,\n", o->npt, o->npt_azim ? o->npt_azim : 1);
    put_json_text(out, "unit", o->unit);
    fputs("  \"chi_discontinuity_at_0\": false,\n", out);
    put_json_range(out, "azimuth_range", o->azimuth_range);
    put_json_range(out, "radial_range", o->radial_range);
    put_json_text(out, "integrator_class", "AzimuthalIntegrator");
}

/* pyFAI's method, and the arguments that it has a name for. */
static void put_method(FILE *out, const hcy_azint_options *o)
{
    const char *method = o->azimuth_unit ? "integrate_fiber" : "integrate1d";
    if (o->npt_azim && o->azimuth_unit)
        method = o->npt > 1 ? "integrate2d_fiber" : method;
    else if (o->npt_azim)
        method = o->npt > 1 ? "integrate2d" : "integrate_radial";
    /* pyFAI has filters as methods of their own, in one dimension. */
    if (o->filter == HCY_FILTER_SIGMA_CLIP)
        method = "sigma_clip_ng";
    if (o->filter == HCY_FILTER_PERCENTILE)
        method = "medfilt1d_ng";
    put_json_text(out, "integrator_method", method);
    fputs("  \"extra_options\": {", out);
    if (o->filter == HCY_FILTER_SIGMA_CLIP)
        fprintf(out, o->threshold_above < 0 ? "\"thres\": %.17g" : "\"thres\": [%.17g, %.17g]", o->threshold,
                o->threshold_above);
    if (o->filter == HCY_FILTER_SIGMA_CLIP)
        fprintf(out, ", \"max_iter\": %u", o->max_iter);
    if (o->filter == HCY_FILTER_PERCENTILE)
        fprintf(out, "\"percentile\": [%.17g, %.17g]", o->percentile[0], o->percentile[1]);
    fputs("},\n", out);
}

const char *const hcy__config_splits[] = { "no", "bbox", "full", "pseudo", NULL };
const char *const hcy__config_errors[] = { "no", "poisson", "variance", "azimuthal", "hybrid", NULL };

static int put_config(FILE *out, const hcy__curves_head *head)
{
    const hcy_azint_plan_info *plan = &head->plan;
    const hcy_azint_options *o = &plan->options;
    fputs("{\n  \"application\": \"worker\",\n  \"version\": 5,\n", out);
    int st = put_json_poni(out, &plan->poni);
    if (o->azimuth_unit)
        put_json_fibre(out, o);
    else
        put_json_axes(out, o);
    if (o->use_polarization)
        fprintf(out, "  \"polarization_description\": [%.17g, %.17g],\n", o->polarization,
                o->polarization_offset);
    else
        put_json_text(out, "polarization_description", NULL);
    put_json_number(out, "normalization_factor", o->normalization, 1);
    /* null where the user gave none: pyFAI then looks for no dummy, where 0 would be one. */
    put_json_number(out, "val_dummy", o->dummy, o->use_dummy);
    put_json_number(out, "delta_dummy", o->delta_dummy, o->use_dummy);
    fprintf(out, "  \"correct_solid_angle\": %s,\n", o->solid_angle ? "true" : "false");
    /* pyFAI has it as a property of its method, which its configurations leave out. */
    if (o->unweighted)
        fputs("  \"weighted_average\": false,\n", out);
    put_json_text(out, "dark_current", head->files[HCY__CONFIG_DARK]);
    put_json_text(out, "flat_field", head->files[HCY__CONFIG_FLAT]);
    put_json_text(out, "mask_file", head->files[HCY__CONFIG_MASK]);
    put_json_text(out, "error_model", hcy__config_errors[o->error_model]);
    /* The engine is one that every installation of pyFAI has; it does not change the result. */
    fprintf(out, "  \"method\": [\"%s\", \"%s\", \"cython\"],\n  \"opencl_device\": null,\n",
            hcy__config_splits[o->split], o->split == HCY_SPLIT_PSEUDO ? "histogram" : "csr");
    put_method(out, o);
    put_json_text(out, "monitor_name", head->files[HCY__CONFIG_MONITOR]);
    fprintf(out, "  \"shape\": [%zu, %zu]\n}", plan->height, plan->width);
    return st;
}

/* --- Names of files --- */

/* The dataset that is meant where a file is named alone: a master file's own, else the one image; "": no HDF5. */
static int find_dataset(char dataset[HCY__CORRECTION_NAME], const char *file, int which, const hcy_stack *source)
{
    *dataset = 0;
#ifdef HAVE_HDF5
    static const hcy_stack_info none = { .path = "", .dataset = "", .channel_name = "" };
    struct hcy__correction_names *names = calloc(1, sizeof *names);
    hcy_stack_options options = HCY_STACK_OPTIONS_INIT;
    hcy_stack *stack = NULL;
    options.isolation = source && source->isolation.files ? &source->isolation : NULL;
    if (!names)
        return hcy_fail(HCY_ENOMEM, "no memory to look into %s", file);
    /* A file without such groups finds nothing, and the next way is tried. */
    (void)!hcy__corrections_find(names, source ? hcy_stack_get_info(source) : &none,
                                 source ? &source->isolation : NULL, file);
    if (which != HCY__CONFIG_DARK)
        snprintf(dataset, HCY__CORRECTION_NAME, "%s", which == HCY__CONFIG_MASK ? names->masks[0] : names->flat);
    if (!*dataset && !hcy_stack_open_with(&stack, file, &options))
        snprintf(dataset, HCY__CORRECTION_NAME, "%s", hcy_stack_get_info(stack)->dataset);
    hcy_stack_close(stack);
    free(names);
#else
    (void)file, (void)which, (void)source;
#endif
    return 0;
}

/* One that is not there (a host may name what it likes) keeps its name. */
static int whole_name(char **name, const char *given, int which, const hcy_stack *source)
{
    char found[HCY__CORRECTION_NAME] = "", *inside, *file = hcy__split_path(&inside, given);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory for the name of %s", given);
    /* Configurations are read from other folders than the one that they were made in. */
    char *whole = realpath(file, NULL);
    /* A list of numbers is no image, and a dataset of the stack is no file: both keep what they are called. */
    int st = whole && !inside && which != HCY__CONFIG_MONITOR ? find_dataset(found, whole, which, source) : 0;
    /* A name of its own comes first; what was found stands in for none. */
    const char *dataset = inside ? inside : found;
    size_t size = strlen(whole ? whole : file) + strlen(dataset) + 3;
    if (!st && !(*name = malloc(size)))
        st = hcy_fail(HCY_ENOMEM, "no memory for the name of %s", given);
    if (!st)
        snprintf(*name, size, "%s%s%s", whole ? whole : file, *dataset ? "::" : "", dataset);
    free(whole);
    free(file);
    return st;
}

int hcy__config_names(hcy__curves_head *head)
{
    const char *given[HCY__CONFIG_FILES] = { [HCY__CONFIG_MASK] = head->opts.mask ? head->opts.mask
                                                                                 : head->opts.file_mask,
                                             [HCY__CONFIG_DARK] = head->opts.dark,
                                             [HCY__CONFIG_FLAT] = head->opts.flat,
                                             [HCY__CONFIG_MONITOR] = head->opts.monitor };
    int st = 0;
    for (int i = 0; !st && i < HCY__CONFIG_FILES; i++)
        /* What was not given stays NULL, which becomes null in JSON. */
        if (given[i])
            st = whole_name(&head->files[i], given[i], i, head->opts.source);
    return st;
}

void hcy__config_names_free(hcy__curves_head *head)
{
    for (int i = 0; i < HCY__CONFIG_FILES; i++)
        free(head->files[i]);
}

int hcy__curves_config(char **json, const hcy__curves_head *head)
{
    size_t size;
    *json = NULL;
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    FILE *out = plain ? open_memstream(json, &size) : NULL;
    int st = 0, broken = !out;
    if (out) {
        /* Numbers in JSON have a point, whatever the program's locale has. */
        locale_t before = uselocale(plain);
        st = put_config(out, head);
        uselocale(before);
        broken = ferror(out) | fclose(out);
    }
    if (plain)
        freelocale(plain);
    if (!st && broken)
        st = hcy_fail(HCY_ENOMEM, "no memory for the configuration in %s", head->path);
    if (st) {
        free(*json);
        *json = NULL;
    }
    return st;
}

int hcy_config_write(const char *path, const hcy_azint_plan *plan, const hcy_curves_options *opts)
{
    if (!path || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_config_write: path and plan must not be NULL");
    /* The head of a file of curves without the file: what makes the configuration reads no more of it. */
    hcy__curves_head head = { path, HCY_AZINT_PLAN_INFO_INIT, HCY_CURVES_OPTIONS_INIT, 0, NULL, { NULL }, NULL };
    hcy_output *output;
    char *json = NULL;
    int st = opts ? hcy__sized_read(&head.opts, sizeof head.opts, opts, "hcy_curves_options") : 0;
    if (!st)
        st = hcy_azint_plan_get_info(&head.plan, plan);
    if (!st)
        st = hcy__config_names(&head);
    if (!st)
        st = hcy__curves_config(&json, &head);
    if (!st)
        st = hcy_output_open(&output, path, 0);
    if (!st) {
        FILE *out = hcy_output_stream(output);
        if (out)
            fprintf(out, "%s\n", json);
        st = hcy_output_commit(output, 0);
    }
    free(json);
    hcy__config_names_free(&head);
    return st;
}
