/* config_options.c - what pyFAI's WorkerConfig says of an integration: unit, method, bins, ranges, corrections. */
#include "config_file.h"

#ifdef HAVE_JANSSON
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Gets a number; *given says whether the key is there. */
static int get_number(double *x, int *given, const struct hcy__config_file *r, const char *key)
{
    json_t *value = hcy__config_value(r, key);
    *given = value != NULL;
    if (!value)
        return 0;
    if (!json_is_number(value))
        return hcy__config_refuse(r, key, "a number");
    *x = json_number_value(value);
    return 0;
}

static int get_count(size_t *n, const struct hcy__config_file *r, const char *key)
{
    double x = 0;
    int given, st = get_number(&x, &given, r, key);
    if (st || !given)
        return st;
    if (!(x >= 1) || x > HCY_AZINT_MAX_BINS || x != floor(x))
        return hcy__config_refuse(r, key, "a number of bins");
    *n = (size_t)x;
    return 0;
}

/* Gets a text, or NULL. */
static int get_text(const char **text, const struct hcy__config_file *r, const char *key)
{
    json_t *value = hcy__config_value(r, key);
    *text = NULL;
    if (value && !json_is_string(value))
        return hcy__config_refuse(r, key, "text");
    if (value && *json_string_value(value))
        *text = json_string_value(value);
    return 0;
}

/* The entry of names that is `word`, whatever its case; -1: none. */
static int index_of(const char *word, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (!strcasecmp(word, names[i]))
            return i;
    return -1;
}

static int read_unit(const struct hcy__config_file *r)
{
    const char *name;
    int st = get_text(&name, r, "unit");
    const hcy_azint_unit *unit = hcy_azint_unit_find(name ? name : "2th_deg"); /* pyFAI's own default */
    /* chi_deg is an axis of results and no unit to integrate in. */
    if (!st && (!unit || !strcmp(unit->name, "chi_deg")))
        st = hcy__config_unsupported(r, "unit", "is not one that is known");
    if (!st)
        r->to->options.unit = unit->name;
    return st;
}

static int read_error_model(const struct hcy__config_file *r)
{
    const char *name;
    int st = get_text(&name, r, "error_model");
    /* Older versions have a switch for the one model that they knew. */
    if (!st && !name)
        name = json_is_true(hcy__config_value(r, "do_poisson")) ? "poisson" : "no";
    if (!st && !strcasecmp(name, "none"))
        name = "no";
    int model = st ? -1 : index_of(name, hcy__config_errors);
    if (!st && model < 0)
        return hcy__config_unsupported(r, "error_model", "is not one that is known");
    if (!st)
        r->to->options.error_model = model;
    return st;
}

/* How pyFAI 2026.9 splits pixels for one of its older words, which are of the engine first; what stands behind _ocl is
 * a device.  -1: it is none of them. */
static int split_of_word(const char *word)
{
    static const struct {
        const char *word;
        int split;
    } words[] = {
        { "no", HCY_SPLIT_NO },          { "nosplit", HCY_SPLIT_NO },     { "numpy", HCY_SPLIT_NO },
        { "python", HCY_SPLIT_NO },      { "cython", HCY_SPLIT_NO },      { "histogram", HCY_SPLIT_NO },
        { "splitpixel", HCY_SPLIT_NO },  { "csr", HCY_SPLIT_NO },         { "nosplit_csr", HCY_SPLIT_NO },
        { "nosplit_lut", HCY_SPLIT_NO }, { "pseudo_csr", HCY_SPLIT_NO },  { "lut", HCY_SPLIT_BBOX },
        { "bbox", HCY_SPLIT_BBOX },      { "splitbbox", HCY_SPLIT_BBOX }, { "bbox_csr", HCY_SPLIT_BBOX },
        { "bbox_lut", HCY_SPLIT_BBOX },  { "full", HCY_SPLIT_FULL },      { "splitpixelfull", HCY_SPLIT_FULL },
        { "full_csr", HCY_SPLIT_FULL },  { "full_lut", HCY_SPLIT_FULL },
    };
    const char *device = strstr(word, "_ocl");
    size_t n = device ? (size_t)(device - word) : strlen(word);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == n && !strncasecmp(word, words[i].word, n))
            return words[i].split;
    return -1;
}

/* ["full", "csr", "cython"], or one of pyFAI's older words. */
static int read_method(const struct hcy__config_file *r)
{
    json_t *method = hcy__config_value(r, "method");
    int split = HCY_SPLIT_BBOX;
    /* Only the first entry changes the result; the others are which of pyFAI's engines computes it. */
    if (json_is_array(method)) {
        const char *name = json_string_value(json_array_get(method, 0));
        split = name ? index_of(name, hcy__config_splits) : HCY_SPLIT_BBOX;
        if (split < 0)
            return hcy__config_unsupported(r, "method",
                                           "splits pixels in a way that is not known (no, bbox, pseudo and full are)");
    } else if (json_is_string(method)) {
        split = split_of_word(json_string_value(method));
        if (split < 0)
            return hcy__config_unsupported(r, "method", "is not a word that is known; give it as [\"bbox\", \"csr\", \"cython\"]");
    } else if (method) {
        return hcy__config_refuse(r, "method", "a list or a word");
    }
    r->to->options.split = split;
    return 0;
}

/* Reads [A, B], or KEY_min and KEY_max; if both are open there is no range. */
static int read_range(double range[2], const struct hcy__config_file *r, const char *key, const char *off_key)
{
    static const char *const ends[] = { "min", "max" };
    json_t *list = hcy__config_value(r, key);
    int given[2] = { 0, 0 };
    if (hcy__config_is_off(r, off_key))
        return 0;
    if (list && (!json_is_array(list) || json_array_size(list) != 2))
        return hcy__config_refuse(r, key, "two numbers");
    for (size_t i = 0; i < 2; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s_%s", key, ends[i]);
        json_t *end = list ? json_array_get(list, i) : hcy__config_value(r, name);
        if (end && !json_is_null(end) && !json_is_number(end))
            return hcy__config_refuse(r, key, "two numbers");
        given[i] = json_is_number(end);
        range[i] = given[i] ? json_number_value(end) : 0;
    }
    /* An open end would have to come from the pixels, which options of a plan cannot say. */
    if (given[0] != given[1])
        return hcy__config_unsupported(r, key, "has one end: give both");
    if (given[0] && !(range[0] < range[1]))
        return hcy__config_refuse(r, key, "a range from a smaller to a larger number");
    return 0;
}

/* Reads [factor, radians], or a factor alone. */
static int read_polarization(const struct hcy__config_file *r)
{
    hcy_azint_options *o = &r->to->options;
    const bool is_described = hcy__config_value(r, "polarization_description") != NULL;
    const char *key = is_described ? "polarization_description" : "polarization_factor";
    json_t *value = hcy__config_value(r, key), *offset = NULL;
    if (!value || hcy__config_is_off(r, "do_polarization"))
        return 0;
    /* Version 5 has factor and offset in one list, those before it in two keys. */
    if (json_is_array(value)) {
        offset = json_array_get(value, 1);
        value = json_array_get(value, 0);
    } else {
        offset = hcy__config_value(r, "polarization_offset");
    }
    if (!json_is_number(value) || (offset && !json_is_number(offset) && !json_is_null(offset)))
        return hcy__config_refuse(r, key, "a factor and an angle");
    o->use_polarization = 1;
    o->polarization = json_number_value(value);
    o->polarization_offset = json_number_value(offset);
    return 0;
}

static int read_dummy(const struct hcy__config_file *r)
{
    hcy_azint_options *o = &r->to->options;
    int given;
    if (hcy__config_is_off(r, "do_dummy"))
        return 0;
    int st = get_number(&o->dummy, &o->use_dummy, r, "val_dummy");
    if (!st && o->use_dummy)
        st = get_number(&o->delta_dummy, &given, r, "delta_dummy");
    return st;
}

/* What pyFAI passes on to its method by name; any other name would be passed over. */
static int check_extra(const struct hcy__config_file *r, const char *const *known)
{
    json_t *extra = hcy__config_value(r, "extra_options"), *value;
    const char *key;
    if (extra && !json_is_object(extra))
        return hcy__config_refuse(r, "extra_options", "an object");
    json_object_foreach(extra, key, value) {
        if (!json_is_null(value) && index_of(key, known) < 0)
            return hcy_fail(HCY_EUNSUPPORTED, "%s: its \"extra_options\" have \"%s\", which is not supported",
                            r->path, key);
    }
    return 0;
}

static int read_clipping(const struct hcy__config_file *r)
{
    static const char *const known[] = { "thres", "max_iter", NULL };
    hcy_azint_options *o = &r->to->options;
    json_t *extra = hcy__config_value(r, "extra_options");
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
        return hcy__config_refuse(r, "thres", "a number, or two");
    /* Bounded before the conversion, whose result would otherwise not be defined. */
    if (rounds &&
        (!json_is_number(rounds) || !(json_number_value(rounds) >= 0 && json_number_value(rounds) < 1e9)))
        return hcy__config_refuse(r, "max_iter", "a number of rounds");
    if (threshold)
        o->threshold = json_number_value(threshold); /* null: Chauvenet's criterion alone */
    if (n > 1)
        o->threshold_above = json_number_value(above);
    if (rounds)
        o->max_iter = (uint32_t)json_number_value(rounds);
    return check_extra(r, known);
}

static int read_percentile(const struct hcy__config_file *r)
{
    static const char *const known[] = { "percentile", NULL };
    hcy_azint_options *o = &r->to->options;
    json_t *value = json_object_get(hcy__config_value(r, "extra_options"), "percentile");
    o->filter = HCY_FILTER_PERCENTILE;
    for (size_t i = 0; i < 2 && value; i++) {
        json_t *end = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_number(end))
            return hcy__config_refuse(r, "percentile", "a number, or two");
        o->percentile[i] = json_number_value(end);
    }
    return check_extra(r, known);
}

/* What a method leaves out of bins, and the arguments of that. */
static int read_filter(const struct hcy__config_file *r, const char *method)
{
    static const char *const none[] = { NULL };
    if (method && !strncmp(method, "sigma_clip", strlen("sigma_clip")))
        return read_clipping(r);
    if (method && !strncmp(method, "medfilt1d", strlen("medfilt1d")))
        return read_percentile(r);
    return check_extra(r, none);
}

/* One of the axes of FiberIntegrator: { "name": ..., "incident_angle": ... }. */
static int read_fibre_axis(const hcy_azint_unit **unit, size_t *npt, double range[2],
                           const struct hcy__config_file *r, const char *which)
{
    hcy_azint_options *o = &r->to->options;
    char key[16];
    snprintf(key, sizeof key, "npt_%s", which);
    int st = get_count(npt, r, key);
    snprintf(key, sizeof key, "%s_range", which);
    if (!st)
        st = read_range(range, r, key, key);
    snprintf(key, sizeof key, "unit_%s", which);
    json_t *given = hcy__config_value(r, key), *turned = json_object_get(given, "sample_orientation");
    const char *name = json_string_value(json_object_get(given, "name"));
    if (st || !given)
        return st;
    if (!(*unit = hcy_azint_unit_find(name)) || !(*unit)->needs_sample)
        return hcy__config_unsupported(r, key, "is not one that is known");
    const struct {
        const char *key;
        double *to;
    } angles[] = { { "incident_angle", &o->incident_angle }, { "tilt_angle", &o->tilt_angle } };
    for (size_t i = 0; i < 2; i++) {
        json_t *angle = json_object_get(given, angles[i].key);
        if (angle && !json_is_number(angle) && !json_is_null(angle))
            return hcy__config_refuse(r, key, "an angle in radians");
        /* The first axis says it for both. */
        if (json_is_number(angle) && !strcmp(which, "ip"))
            *angles[i].to = json_number_value(angle);
    }
    if (turned && !json_is_null(turned) &&
        !(json_is_integer(turned) && json_integer_value(turned) >= 1 && json_integer_value(turned) <= 8))
        return hcy__config_refuse(r, key, "a sample_orientation from 1 to 8");
    if (json_is_integer(turned) && !strcmp(which, "ip"))
        o->sample_orientation = (int)json_integer_value(turned);
    return 0;
}

/* Axes in the plane and out of it, in the place of radius and azimuth. */
static int read_fibre(const struct hcy__config_file *r)
{
    const char *method;
    hcy_azint_options *o = &r->to->options;
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
    if (json_is_true(hcy__config_value(r, "integration_1d"))) {
        if (json_is_false(hcy__config_value(r, "vertical_integration")))
            o->npt_azim = 0;
        else
            o->npt = 1;
    }
    /* pyFAI has no filters of such axes; configurations of ours may have one. */
    st = get_text(&method, r, "integrator_method");
    return st ? st : read_filter(r, method);
}

/* Curves, images, curves along chi; clipped, percentiles. */
static int read_bins(const struct hcy__config_file *r)
{
    static const char *const methods[] = {
        "integrate1d", "integrate1d_ng", "integrate2d", "integrate2d_ng", "integrate_radial",
        "sigma_clip",  "sigma_clip_ng",  "medfilt1d",   "medfilt1d_ng",   NULL
    };
    enum { CURVE = 0, IMAGE = 2, ALONG_CHI = 4, CLIP_NG = 6, MEDIAN_NG = 8 };
    hcy_azint_options *o = &r->to->options;
    const char *method, *class;
    size_t n_azim = 1;
    int st = get_text(&class, r, "integrator_class");
    if (!st && class && !strcmp(class, "FiberIntegrator"))
        return read_fibre(r);
    if (!st)
        st = get_text(&method, r, hcy__config_value(r, "integrator_method") ? "integrator_method" : "integrator_name");
    if (!st && class && strcmp(class, "AzimuthalIntegrator"))
        st = hcy__config_unsupported(r, "integrator_class", "is not AzimuthalIntegrator");
    if (!st)
        st = get_count(&o->npt, r, "nbpt_rad");
    if (!st)
        st = get_count(&n_azim, r, "nbpt_azim");
    /* Without the name of a method the number of azimuthal bins tells curves from images. */
    int which = n_azim > 1 ? IMAGE : CURVE;
    if (!st && method)
        which = index_of(method, methods);
    if (!st && which < 0)
        st = hcy__config_unsupported(r, "integrator_method", "is not one that is known");
    /* As pyFAI's worker has it, which knows no filters in images; our configurations do, under these names. */
    if (!st && (which < IMAGE || which == CLIP_NG || which == MEDIAN_NG) && n_azim > 1)
        which = IMAGE;
    /* pyFAI's images then run from 0 to 360 degrees, ours from -180 to 180 unless a range says otherwise. */
    if (!st && which >= IMAGE && which <= ALONG_CHI && json_is_true(hcy__config_value(r, "chi_discontinuity_at_0")) &&
        o->azimuth_range[0] == o->azimuth_range[1])
        st = hcy__config_unsupported(r, "chi_discontinuity_at_0", "needs an azimuth_range, 0 to 360");
    if (which >= IMAGE && which <= ALONG_CHI)
        o->npt_azim = n_azim;
    /* A curve along chi is an image of one radial bin. */
    if (which == ALONG_CHI)
        o->npt = 1;
    return st ? st : read_filter(r, method);
}

int hcy__config_read_options(const struct hcy__config_file *r)
{
    hcy_azint_options *o = &r->to->options;
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
    json_t *solid = hcy__config_value(r, r->version < HCY__CONFIG_LATEST ? "do_solid_angle" : "correct_solid_angle");
    if (!st && solid && !json_is_boolean(solid))
        st = hcy__config_refuse(r, "correct_solid_angle", "true or false");
    o->solid_angle = !json_is_false(solid);
    json_t *weighted = hcy__config_value(r, "weighted_average"); /* our own key */
    if (!st && weighted && !json_is_boolean(weighted))
        st = hcy__config_refuse(r, "weighted_average", "true or false");
    o->unweighted = json_is_false(weighted);
    return st;
}
#endif
