/* config_read.c - pyFAI's WorkerConfig (JSON, versions 1 to 5) as a geometry, options and names of files.
 *
 * What a key means is pyFAI's (2026.9, io/integration_config.py and worker.py); the geometry goes through the reader
 * of PONI files, whose keys it has.  What would give another curve than pyFAI's is refused, not passed over.
 */
#include "curves_priv.h"
#include <stdlib.h>
#include <string.h>

struct config {
    hcy_config is; /* first: what the user sees */
    char *texts[4];
};

void hcy_config_free(hcy_config *config)
{
    struct config *c = (struct config *)config;
    for (size_t i = 0; c && i < sizeof c->texts / sizeof c->texts[0]; i++)
        free(c->texts[i]);
    free(c);
}

#ifdef HAVE_JANSSON
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "config_old.h"
#include "poni.h"

enum { OLDEST = 1, LATEST = 5, MAX_FILE = 16 << 20 };

/* A file being read. */
struct reading {
    struct config *to;
    const char *path;
    json_t *json;
    int version;
    size_t *known; /* how many of its keys, or more, were ones that configurations have */
};

static int refuse_value(const struct reading *r, const char *key, const char *what)
{
    return hcy_fail(HCY_EFORMAT, "%s: its \"%s\" is not %s", r->path, key, what);
}

static int unsupported(const struct reading *r, const char *key, const char *what)
{
    return hcy_fail(HCY_EUNSUPPORTED, "%s: its \"%s\" %s", r->path, key, what);
}

/* The value of a key that is there and not null, else NULL. */
static json_t *get_value(const struct reading *r, const char *key)
{
    json_t *value = json_object_get(r->json, key);
    if (value && !json_is_null(value))
        *r->known += 1;
    return json_is_null(value) ? NULL : value;
}

/* Is what the key belongs to switched off (before version 5)?  No key: it is not. */
static int is_switched_off(const struct reading *r, const char *key)
{
    json_t *value = r->version < LATEST ? get_value(r, key) : NULL;
    return value && !json_is_true(value) && !(json_is_number(value) && json_number_value(value) != 0);
}

/* Gets a number; *given says whether the key is there. */
static int get_number(double *x, int *given, const struct reading *r, const char *key)
{
    json_t *value = get_value(r, key);
    *given = value != NULL;
    if (!value)
        return 0;
    if (!json_is_number(value))
        return refuse_value(r, key, "a number");
    *x = json_number_value(value);
    return 0;
}

static int get_count(size_t *n, const struct reading *r, const char *key)
{
    double x = 0;
    int given, st = get_number(&x, &given, r, key);
    if (st || !given)
        return st;
    if (!(x >= 1) || x > HCY_AZINT_MAX_BINS || x != floor(x))
        return refuse_value(r, key, "a number of bins");
    *n = (size_t)x;
    return 0;
}

/* Gets a text, or NULL. */
static int get_text(const char **text, const struct reading *r, const char *key)
{
    json_t *value = get_value(r, key);
    *text = NULL;
    if (value && !json_is_string(value))
        return refuse_value(r, key, "text");
    if (value && *json_string_value(value))
        *text = json_string_value(value);
    return 0;
}

/* --- The geometry --- */

/* A line of a PONI file for each key that is there; a number of either form. */
static void put_key(FILE *out, json_t *poni, const char *key, const char *line)
{
    json_t *value = json_object_get(poni, key);
    if (json_is_number(value))
        fprintf(out, "%s: %.17g\n", line, json_number_value(value));
    /* A line's end within the value would begin a key of its own. */
    else if (json_is_string(value))
        fprintf(out, "%s: %.*s\n", line, (int)strcspn(json_string_value(value), "\r\n"),
                json_string_value(value));
    else if (json_is_boolean(value))
        fprintf(out, "%s: %s\n", line, json_is_true(value) ? "True" : "False");
}

static void put_poni_lines(FILE *out, json_t *poni)
{
    static const char *const keys[][2] = { { "poni_version", "poni_version" },
                                           { "detector", "Detector" },
                                           { "dist", "Distance" },
                                           { "distance", "Distance" },
                                           { "poni1", "Poni1" },
                                           { "poni2", "Poni2" },
                                           { "rot1", "Rot1" },
                                           { "rot2", "Rot2" },
                                           { "rot3", "Rot3" },
                                           { "wavelength", "Wavelength" },
                                           { "parallax", "Parallax" } };
    /* Keys that are there twice, as dist and distance, mean the same. */
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        put_key(out, poni, keys[i][0], keys[i][1]);
    char *config = json_dumps(json_object_get(poni, "detector_config"), JSON_COMPACT);
    if (config)
        fprintf(out, "Detector_config: %s\n", config);
    free(config);
}

static int read_poni(const struct reading *r)
{
    json_t *poni = r->version < 4 ? r->json : get_value(r, "poni");
    hcy_config *c = &r->to->is;
    char *text = NULL;
    size_t size = 0;
    /* pyFAI lets the geometry be the name of a PONI file. */
    if (json_is_string(poni)) {
        int st = hcy_poni_read(&c->poni, json_string_value(poni));
        c->has_poni = !st;
        return st;
    }
    /* A configuration without a geometry is of use for its options. */
    if (!json_object_get(poni, "dist") && !json_object_get(poni, "distance"))
        return 0;
    FILE *out = open_memstream(&text, &size);
    if (out)
        put_poni_lines(out, poni);
    if (!out || fclose(out)) {
        free(text);
        return hcy_fail(HCY_ENOMEM, "no memory for the geometry in %s", r->path);
    }
    int st = hcy_poni_parse(&c->poni, text, size, r->path);
    c->has_poni = !st;
    free(text);
    return st;
}

/* --- Files --- */

/* The name of one file, in `texts[slot]`; silx's FILE?path=/x and FILE?/x become FILE::/x. */
static int take_file_name(const char **to, const struct reading *r, const char *key, size_t slot)
{
    json_t *value = get_value(r, key);
    *to = NULL;
    /* pyFAI averages several dark or flat images, which would be another curve. */
    if (json_is_array(value) && json_array_size(value) > 1)
        return unsupported(r, key, "names several files, which pyFAI averages: name one");
    if (json_is_array(value))
        value = json_array_get(value, 0);
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return refuse_value(r, key, "the name of a file");
    const char *name = json_string_value(value);
    if (!*name)
        return 0;
    size_t size = strlen(name) + 3;
    char *copy = r->to->texts[slot] = malloc(size);
    if (!copy)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", r->path);
    /* Such a scheme says which library reads the file, and is no part of its name. */
    if (!strncmp(name, "silx:", 5) || !strncmp(name, "fabio:", 6))
        name = strchr(name, ':') + 1;
    const char *query = strchr(name, '?'), *dataset = query ? strchr(query, '/') : NULL;
    /* More after the path, as a slice, names a part of an image, which is not supported. */
    if (dataset && strcspn(dataset, "&") == strlen(dataset))
        snprintf(copy, size, "%.*s::%s", (int)(query - name), name, dataset);
    else if (query)
        return unsupported(r, key, "names a part of a file: name one image");
    else
        snprintf(copy, size, "%s", name);
    *to = copy;
    return 0;
}

static int read_files(const struct reading *r)
{
    hcy_config *c = &r->to->is;
    int st = 0;
    /* Older versions name a file and switch it off by a key of its own. */
    if (!is_switched_off(r, "do_mask"))
        st = take_file_name(&c->mask, r, get_value(r, "mask_file") ? "mask_file" : "mask_image", 0);
    if (!st && !is_switched_off(r, "do_dark"))
        st = take_file_name(&c->dark, r, "dark_current", 1);
    if (!st && !is_switched_off(r, "do_flat"))
        st = take_file_name(&c->flat, r, "flat_field", 2);
    if (!st)
        st = take_file_name(&c->monitor, r, "monitor_name", 3);
    if (!st && c->monitor && *c->monitor != '/' && !strstr(c->monitor, "::"))
        st = unsupported(r, "monitor_name",
                         "is a key of files' headers; /path or FILE::/path of a dataset can be read");
    return st;
}

/* --- Options --- */

/* The entry of names that is `word`, whatever its case; -1: none. */
static int index_of(const char *word, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (!strcasecmp(word, names[i]))
            return i;
    return -1;
}

static int read_unit(const struct reading *r)
{
    const char *name;
    int st = get_text(&name, r, "unit");
    const hcy_azint_unit *unit = hcy_azint_unit_find(name ? name : "2th_deg"); /* pyFAI's own default */
    /* chi_deg is an axis of results and no unit to integrate in. */
    if (!st && (!unit || !strcmp(unit->name, "chi_deg")))
        st = unsupported(r, "unit", "is not one that is known");
    if (!st)
        r->to->is.options.unit = unit->name;
    return st;
}

static int read_error_model(const struct reading *r)
{
    const char *name;
    int st = get_text(&name, r, "error_model");
    /* Older versions have a switch for the one model that they knew. */
    if (!st && !name)
        name = json_is_true(get_value(r, "do_poisson")) ? "poisson" : "no";
    if (!st && !strcasecmp(name, "none"))
        name = "no";
    int model = st ? -1 : index_of(name, hcy__config_errors);
    if (!st && model < 0)
        return unsupported(r, "error_model", "is not one that is known");
    if (!st)
        r->to->is.options.error_model = model;
    return st;
}

/* ["full", "csr", "cython"], or one of pyFAI's older words. */
static int read_method(const struct reading *r)
{
    json_t *method = get_value(r, "method");
    int split = HCY_SPLIT_BBOX;
    /* Only the first entry changes the result; the others are which of pyFAI's engines computes it. */
    if (json_is_array(method)) {
        const char *name = json_string_value(json_array_get(method, 0));
        split = name ? index_of(name, hcy__config_splits) : HCY_SPLIT_BBOX;
        if (split < 0)
            return unsupported(r, "method",
                               "splits pixels in a way that is not known (no, bbox, pseudo and full are)");
    } else if (json_is_string(method)) {
        const char *word = json_string_value(method);
        if (strstr(word, "nosplit") || !strcmp(word, "numpy") || !strncmp(word, "no", 2))
            split = HCY_SPLIT_NO;
        else if (strstr(word, "full") || strstr(word, "splitpixel"))
            split = HCY_SPLIT_FULL;
    } else if (method) {
        return refuse_value(r, "method", "a list or a word");
    }
    r->to->is.options.split = split;
    return 0;
}

/* Reads [A, B], or KEY_min and KEY_max; if both are open there is no range. */
static int read_range(double range[2], const struct reading *r, const char *key, const char *off_key)
{
    static const char *const ends[] = { "min", "max" };
    json_t *list = get_value(r, key);
    int given[2] = { 0, 0 };
    if (is_switched_off(r, off_key))
        return 0;
    if (list && (!json_is_array(list) || json_array_size(list) != 2))
        return refuse_value(r, key, "two numbers");
    for (size_t i = 0; i < 2; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s_%s", key, ends[i]);
        json_t *end = list ? json_array_get(list, i) : json_object_get(r->json, name);
        if (end && !json_is_null(end) && !json_is_number(end))
            return refuse_value(r, key, "two numbers");
        given[i] = json_is_number(end);
        range[i] = given[i] ? json_number_value(end) : 0;
    }
    /* An open end would have to come from the pixels, which options of a plan cannot say. */
    if (given[0] != given[1])
        return unsupported(r, key, "has one end: give both");
    if (given[0] && !(range[0] < range[1]))
        return refuse_value(r, key, "a range from a smaller to a larger number");
    return 0;
}

/* Reads [factor, radians], or a factor alone. */
static int read_polarization(const struct reading *r)
{
    hcy_azint_options *o = &r->to->is.options;
    const char *key = get_value(r, "polarization_description") ? "polarization_description" : "polarization_factor";
    json_t *value = get_value(r, key), *offset = NULL;
    if (!value || is_switched_off(r, "do_polarization"))
        return 0;
    /* Version 5 has factor and offset in one list, those before it in two keys. */
    if (json_is_array(value)) {
        offset = json_array_get(value, 1);
        value = json_array_get(value, 0);
    } else {
        offset = get_value(r, "polarization_offset");
    }
    if (!json_is_number(value) || (offset && !json_is_number(offset) && !json_is_null(offset)))
        return refuse_value(r, key, "a factor and an angle");
    o->use_polarization = 1;
    o->polarization = json_number_value(value);
    o->polarization_offset = json_number_value(offset);
    return 0;
}

static int read_dummy(const struct reading *r)
{
    hcy_azint_options *o = &r->to->is.options;
    int given;
    if (is_switched_off(r, "do_dummy"))
        return 0;
    int st = get_number(&o->dummy, &o->use_dummy, r, "val_dummy");
    if (!st && o->use_dummy)
        st = get_number(&o->delta_dummy, &given, r, "delta_dummy");
    return st;
}

/* What pyFAI passes on to its method by name; any other name would be passed over. */
static int check_extra(const struct reading *r, const char *const *known)
{
    json_t *extra = get_value(r, "extra_options"), *value;
    const char *key;
    if (extra && !json_is_object(extra))
        return refuse_value(r, "extra_options", "an object");
    json_object_foreach(extra, key, value) {
        if (!json_is_null(value) && index_of(key, known) < 0)
            return hcy_fail(HCY_EUNSUPPORTED, "%s: its \"extra_options\" have \"%s\", which is not supported",
                            r->path, key);
    }
    return 0;
}

static int read_clipping(const struct reading *r)
{
    static const char *const known[] = { "thres", "max_iter", NULL };
    hcy_azint_options *o = &r->to->is.options;
    json_t *extra = get_value(r, "extra_options");
    json_t *threshold = json_object_get(extra, "thres"), *rounds = json_object_get(extra, "max_iter");
    o->filter = HCY_FILTER_SIGMA_CLIP;
    if (o->error_model == HCY_ERRORS_NONE)
        o->error_model = HCY_ERRORS_AZIMUTHAL; /* as pyFAI's sigma_clip has it */
    /* pyFAI's older clipping takes two, below and above the mean. */
    size_t n = json_array_size(threshold);
    json_t *above = n ? json_array_get(threshold, n - 1) : NULL;
    threshold = n ? json_array_get(threshold, 0) : threshold;
    if ((threshold && !json_is_number(threshold) && !json_is_null(threshold)) || (above && !json_is_number(above)) ||
        n > 2)
        return refuse_value(r, "thres", "a number, or two");
    /* Bounded before the conversion, whose result would otherwise not be defined. */
    if (rounds &&
        (!json_is_number(rounds) || !(json_number_value(rounds) >= 0 && json_number_value(rounds) < 1e9)))
        return refuse_value(r, "max_iter", "a number of rounds");
    if (threshold)
        o->threshold = json_number_value(threshold); /* null: Chauvenet's criterion alone */
    if (n > 1)
        o->threshold_above = json_number_value(above);
    if (rounds)
        o->max_iter = (uint32_t)json_number_value(rounds);
    return check_extra(r, known);
}

static int read_percentile(const struct reading *r)
{
    static const char *const known[] = { "percentile", NULL };
    hcy_azint_options *o = &r->to->is.options;
    json_t *value = json_object_get(get_value(r, "extra_options"), "percentile");
    o->filter = HCY_FILTER_PERCENTILE;
    for (size_t i = 0; i < 2 && value; i++) {
        json_t *end = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_number(end))
            return refuse_value(r, "percentile", "a number, or two");
        o->percentile[i] = json_number_value(end);
    }
    return check_extra(r, known);
}

/* What a method leaves out of bins, and the arguments of that. */
static int read_filter(const struct reading *r, const char *method)
{
    static const char *const none[] = { NULL };
    if (method && !strncmp(method, "sigma_clip", strlen("sigma_clip")))
        return read_clipping(r);
    if (method && !strncmp(method, "medfilt1d", strlen("medfilt1d")))
        return read_percentile(r);
    return check_extra(r, none);
}

/* One of the axes of FiberIntegrator: { "name": ..., "incident_angle": ... }. */
static int read_fibre_axis(const hcy_azint_unit **unit, size_t *npt, double range[2], const struct reading *r,
                           const char *which)
{
    hcy_azint_options *o = &r->to->is.options;
    char key[16];
    snprintf(key, sizeof key, "npt_%s", which);
    int st = get_count(npt, r, key);
    snprintf(key, sizeof key, "%s_range", which);
    if (!st)
        st = read_range(range, r, key, key);
    snprintf(key, sizeof key, "unit_%s", which);
    json_t *given = get_value(r, key), *turned = json_object_get(given, "sample_orientation");
    const char *name = json_string_value(json_object_get(given, "name"));
    if (st || !given)
        return st;
    if (!(*unit = hcy_azint_unit_find(name)) || !(*unit)->needs_sample)
        return unsupported(r, key, "is not one that is known");
    const struct {
        const char *key;
        double *to;
    } angles[] = { { "incident_angle", &o->incident_angle }, { "tilt_angle", &o->tilt_angle } };
    for (size_t i = 0; i < 2; i++) {
        json_t *angle = json_object_get(given, angles[i].key);
        if (angle && !json_is_number(angle) && !json_is_null(angle))
            return refuse_value(r, key, "an angle in radians");
        /* The first axis says it for both. */
        if (json_is_number(angle) && !strcmp(which, "ip"))
            *angles[i].to = json_number_value(angle);
    }
    if (turned && !json_is_null(turned) &&
        !(json_is_integer(turned) && json_integer_value(turned) >= 1 && json_integer_value(turned) <= 8))
        return refuse_value(r, key, "a sample_orientation from 1 to 8");
    if (json_is_integer(turned) && !strcmp(which, "ip"))
        o->sample_orientation = (int)json_integer_value(turned);
    return 0;
}

/* Axes in the plane and out of it, in the place of radius and azimuth. */
static int read_fibre(const struct reading *r)
{
    const char *method;
    hcy_azint_options *o = &r->to->is.options;
    const hcy_azint_unit *units[2] = { hcy_azint_unit_find("qip_nm^-1"), hcy_azint_unit_find("qoop_nm^-1") };
    o->npt_azim = o->npt; /* pyFAI's default of both */
    int st = read_fibre_axis(&units[0], &o->npt, o->radial_range, r, "ip");
    if (!st)
        st = read_fibre_axis(&units[1], &o->npt_azim, o->azimuth_range, r, "oop");
    if (st)
        return st;
    o->unit = units[0]->name;
    o->azimuth_unit = units[1]->name;
    /* pyFAI's curves are sums of an image along its other axis, whose bins do not show any more. */
    if (json_is_true(get_value(r, "integration_1d"))) {
        if (json_is_false(get_value(r, "vertical_integration")))
            o->npt_azim = 0;
        else
            o->npt = 1;
    }
    /* pyFAI has no filters of such axes; configurations of ours may have one. */
    st = get_text(&method, r, "integrator_method");
    return st ? st : read_filter(r, method);
}

/* Curves, images, curves along chi; clipped, percentiles. */
static int read_bins(const struct reading *r)
{
    static const char *const methods[] = {
        "integrate1d", "integrate1d_ng", "integrate2d", "integrate2d_ng", "integrate_radial",
        "sigma_clip",  "sigma_clip_ng",  "medfilt1d",   "medfilt1d_ng",   NULL
    };
    enum { CURVE = 0, IMAGE = 2, ALONG_CHI = 4 };
    hcy_azint_options *o = &r->to->is.options;
    const char *method, *class;
    size_t n_azim = 1;
    int st = get_text(&class, r, "integrator_class");
    if (!st && class && !strcmp(class, "FiberIntegrator"))
        return read_fibre(r);
    if (!st)
        st = get_text(&method, r, get_value(r, "integrator_method") ? "integrator_method" : "integrator_name");
    if (!st && class && strcmp(class, "AzimuthalIntegrator"))
        st = unsupported(r, "integrator_class", "is not AzimuthalIntegrator");
    if (!st)
        st = get_count(&o->npt, r, "nbpt_rad");
    if (!st)
        st = get_count(&n_azim, r, "nbpt_azim");
    /* Without the name of a method the number of azimuthal bins tells curves from images. */
    int which = n_azim > 1 ? IMAGE : CURVE;
    if (!st && method)
        which = index_of(method, methods);
    if (!st && which < 0)
        st = unsupported(r, "integrator_method", "is not one that is known");
    if (!st && which < IMAGE && n_azim > 1)
        which = IMAGE; /* as pyFAI's worker has it */
    /* pyFAI's images then run from 0 to 360 degrees, ours from -180 to 180 unless a range says otherwise. */
    if (!st && which >= IMAGE && which <= ALONG_CHI && json_is_true(get_value(r, "chi_discontinuity_at_0")) &&
        o->azimuth_range[0] == o->azimuth_range[1])
        st = unsupported(r, "chi_discontinuity_at_0", "needs an azimuth_range, 0 to 360");
    if (which >= IMAGE && which <= ALONG_CHI)
        o->npt_azim = n_azim;
    /* A curve along chi is an image of one radial bin. */
    if (which == ALONG_CHI)
        o->npt = 1;
    return st ? st : read_filter(r, method);
}

static int read_config_options(const struct reading *r)
{
    hcy_azint_options *o = &r->to->is.options;
    int given, st = read_unit(r);
    /* The error model comes before the bins: sigma clipping depends on it. */
    if (!st)
        st = read_error_model(r);
    if (!st)
        st = read_method(r);
    if (!st)
        st = read_range(o->radial_range, r, "radial_range", "do_radial_range");
    if (!st)
        st = read_range(o->azimuth_range, r, "azimuth_range", "do_azimuthal_range");
    if (!st)
        st = read_bins(r);
    if (!st)
        st = read_polarization(r);
    if (!st)
        st = read_dummy(r);
    if (!st)
        st = get_number(&o->normalization, &given, r, "normalization_factor");
    /* The key was renamed in version 5. */
    json_t *solid = get_value(r, r->version < LATEST ? "do_solid_angle" : "correct_solid_angle");
    if (!st && solid && !json_is_boolean(solid))
        st = refuse_value(r, "correct_solid_angle", "true or false");
    o->solid_angle = !json_is_false(solid);
    json_t *weighted = get_value(r, "weighted_average"); /* our own key */
    if (!st && weighted && !json_is_boolean(weighted))
        st = refuse_value(r, "weighted_average", "true or false");
    o->unweighted = json_is_false(weighted);
    return st;
}

/* --- The file --- */

/* Python writes numbers that JSON has not.  Infinity becomes null, an open end. */
static void blank_constants(char *text)
{
    static const char *const words[] = { "NaN", "-Infinity", "Infinity" };
    for (char *at = text; *at; at++) {
        /* What stands in quotes is text, whatever it says. */
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                at += *at == '\\' && at[1];
            if (!*at)
                return;
            continue;
        }
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            size_t n = strlen(words[i]);
            if (strncmp(at, words[i], n))
                continue;
            /* As many characters as there were, so that lines and columns in messages stay right. */
            memcpy(at, n == 3 ? "[] " : "null     ", n); /* NaN: no number, wherever one is wanted */
            break;
        }
    }
}

static int read_config_text(char **text, const char *path)
{
    int fd, number, st = hcy__open_file(&fd, path);
    if (st)
        return st;
    *text = malloc(MAX_FILE + 1);
    uint64_t n = *text ? hcy__read_at(fd, *text, MAX_FILE + 1, 0, &number) : 0;
    close(fd);
    if (!*text)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    if (number)
        return hcy__read_failed(path, number);
    /* A zero would end the text for jansson, and the rest would be passed over. */
    if (n > MAX_FILE || memchr(*text, 0, (size_t)n))
        return hcy_fail(HCY_EFORMAT, "%s is not a configuration: not JSON", path);
    (*text)[n] = 0;
    return 0;
}

static int check_version(struct reading *r)
{
    json_t *application = get_value(r, "application");
    const char *name = json_string_value(application);
    /* pyFAI's other programs save JSON with other meanings of the same keys. */
    if (application && (!name || (strcmp(name, "worker") && strcmp(name, "pyfai-integrate"))))
        return unsupported(r, "application", "is not that of an integration");
    json_t *version = json_object_get(r->json, "version"); /* which many kinds of files have */
    if (json_is_null(version))
        version = NULL;
    if (version && !json_is_number(version))
        return refuse_value(r, "version", "a number");
    double v = version ? json_number_value(version) : OLDEST; /* the first one had no such key */
    if (!(v >= OLDEST && v <= LATEST))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: it is of version %g, of which %d to %d are read", r->path, v, OLDEST,
                        LATEST);
    r->version = (int)v;
    return r->version == OLDEST ? hcy__config_renew(r->json) : 0;
}

static int read_config_json(struct reading *r)
{
    char *text = NULL;
    size_t known = 0;
    json_error_t error;
    int st = read_config_text(&text, r->path);
    r->known = &known;
    if (!st)
        st = hcy__refuse_goniometer(r->path, text);
    if (!st) {
        blank_constants(text);
        r->json = json_loads(text, 0, &error);
        /* jansson also takes lists and numbers as a whole file. */
        if (!json_is_object(r->json))
            st = hcy_fail(HCY_EFORMAT, "%s is not a configuration: %s, line %d", r->path,
                          r->json ? "no JSON object" : error.text, r->json ? 1 : error.line);
    }
    free(text);
    if (!st)
        st = check_version(r);
    if (!st)
        st = read_poni(r);
    if (!st)
        st = read_config_options(r);
    if (!st)
        st = read_files(r);
    /* Another program's JSON would be an integration by defaults, without a word; a geometry alone is pyFAI's. */
    if (!st && !known && !json_object_get(r->json, "poni_version"))
        st = hcy_fail(HCY_EFORMAT, "%s is not a configuration: it has none of the keys of pyFAI's, such as \"poni\" or "
                      "\"nbpt_rad\"", r->path);
    json_decref(r->json);
    return st;
}

int hcy_config_read(hcy_config **config, const char *path)
{
    if (!config || !path)
        return hcy_fail(HCY_EINVAL, "hcy_config_read: config and path must not be NULL");
    *config = NULL;
    struct config *c = calloc(1, sizeof *c);
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    struct reading reading = { .to = c, .path = path };
    if (!c || !plain) {
        free(c);
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    }
    c->is.options = (hcy_azint_options)HCY_AZINT_OPTIONS_INIT;
    c->is.poni = (hcy_poni)HCY_PONI_INIT;
    /* Numbers in JSON have a point, whatever the program's locale has. */
    locale_t before = uselocale(plain);
    int st = read_config_json(&reading);
    uselocale(before);
    freelocale(plain);
    if (st)
        hcy_config_free(&c->is);
    else
        *config = &c->is;
    return st;
}
#else
int hcy_config_read(hcy_config **config, const char *path)
{
    if (!config || !path)
        return hcy_fail(HCY_EINVAL, "hcy_config_read: config and path must not be NULL");
    *config = NULL;
    return hcy_fail(HCY_EUNSUPPORTED, "%s: this build of Halcyon has no jansson, and reads no JSON", path);
}
#endif
