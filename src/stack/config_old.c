/* config_old.c - pyFAI's configurations of version 1, which have no "version", as those of version 2.
 *
 * What changes is pyFAI's own rule (2026.9, io/integration_config.py): "poni" names a file, below the keys beside it;
 * the detector's pixels and shape stand among them; several dark or flat images are one text with commas.  With
 * "poni_version" it is a geometry alone, whose detector is said as it is today. */
#include "curves_priv.h"

#ifdef HAVE_JANSSON
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config_old.h"

/* The value of a line of a PONI file, which ends where the line does; NULL: there is none. */
static char *find_line(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (!strncmp(at, key, n) && !strncmp(at + n, ": ", 2))
            return strndup(at + n + 2, strcspn(at + n + 2, "\n"));
    }
    return NULL;
}

/* What the file says goes to keys that are not there. */
static int take_poni_file(json_t *json, const char *path)
{
    char text[4096];
    hcy_poni poni = HCY_PONI_INIT;
    int st = hcy_poni_read(&poni, path);
    if (!st)
        st = hcy_poni_format(text, sizeof text, NULL, &poni);
    if (st)
        return st;
    const struct {
        const char *key;
        double value;
    } numbers[] = { { "dist", poni.dist }, { "poni1", poni.poni1 }, { "poni2", poni.poni2 }, { "rot1", poni.rot1 },
                    { "rot2", poni.rot2 }, { "rot3", poni.rot3 }, { "wavelength", poni.wavelength } };
    /* A wavelength of 0 is one that the file does not say. */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!json_object_get(json, numbers[i].key) && (numbers[i].value != 0 || strcmp(numbers[i].key, "wavelength")))
            json_object_set_new(json, numbers[i].key, json_real(numbers[i].value));
    json_object_set_new(json, "poni_version", json_real(2.1));
    if (json_object_get(json, "detector"))
        return 0;
    /* The detector is named as the writer of PONI files names it. */
    char *name = find_line(text, "Detector"), *config = find_line(text, "Detector_config");
    json_object_set_new(json, "detector", json_string(name ? name : "Detector"));
    json_object_set_new(json, "detector_config", config ? json_loads(config, 0, NULL) : json_object());
    free(name);
    free(config);
    return 0;
}

/* The distortion file, by either spelling, or NULL. */
static json_t *find_spline(const json_t *json)
{
    json_t *spline = json_object_get(json, "splinefile");
    const char *name = json_string_value(spline);
    return name && *name ? spline : json_object_get(json, "splineFile");
}

/* Pixels, shape and distortion from beside the detector's name; pixels of one that is known count for nothing. */
static void move_detector(json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "detector"));
    json_t *shape = json_object_get(json, "shape"), *pixel1 = json_object_get(json, "pixel1");
    json_t *pixel2 = json_object_get(json, "pixel2"), *config = json_object();
    if (find_spline(json))
        json_object_set(config, "splineFile", find_spline(json));
    if (name && strcasecmp(name, "detector")) {
        json_object_set_new(json, "detector_config", config);
        return;
    }
    if (pixel1)
        json_object_set(config, "pixel1", pixel1);
    if (pixel2)
        json_object_set(config, "pixel2", pixel2);
    if (json_is_array(shape))
        json_object_set(config, "max_shape", shape);
    json_object_set_new(json, "detector", json_string("Detector"));
    json_object_set_new(json, "detector_config", config);
}

/* A text with commas is a list of names. */
static void split_names(json_t *json, const char *key)
{
    const char *at = json_string_value(json_object_get(json, key));
    if (!at || !strchr(at, ','))
        return;
    json_t *list = json_array();
    for (size_t n; *at; at += n + (at[n] == ',')) {
        at += strspn(at, " ");
        n = strcspn(at, ",");
        json_array_append_new(list, json_stringn(at, n));
    }
    json_object_set_new(json, key, list);
}

/* A PONI file in JSON: pyFAI takes the geometry and passes over all else. */
static int check_geometry(json_t *json)
{
    static const char *const keys[] = { "poni_version", "dist", "poni1", "poni2", "rot1", "rot2", "rot3", "wavelength",
                                        "detector", "detector_config", "version", "application" };
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value) {
        size_t i = 0;
        while (i < sizeof keys / sizeof keys[0] && strcmp(keys[i], key))
            i++;
        if (i == sizeof keys / sizeof keys[0])
            return hcy_fail(HCY_EUNSUPPORTED, "with \"poni_version\" a configuration of version 1 is a geometry alone, "
                                              "and pyFAI passes over \"%s\": take it out, or say \"version\": 2", key);
    }
    return 0;
}

int hcy__config_renew(json_t *json)
{
    const char *file = json_string_value(json_object_get(json, "poni"));
    if (!(file && *file) && json_object_get(json, "poni_version"))
        return check_geometry(json);
    /* Pixels beside a PONI file that names the detector are not looked at. */
    int names_detector = json_object_get(json, "detector") ||
                         (!(file && *file) && (json_object_get(json, "pixel1") || find_spline(json)));
    int st = file && *file ? take_poni_file(json, file) : 0;
    if (names_detector)
        move_detector(json);
    split_names(json, "dark_current");
    split_names(json, "flat_field");
    return st;
}
#endif
