/* config_read.c - pyFAI's WorkerConfig (JSON, versions 1 to 5) as a geometry, options (config_options.c) and names of
 * files.
 *
 * What a key means is pyFAI's (2026.9, io/integration_config.py and worker.py); the geometry goes through the reader
 * of PONI files, whose keys it has.  What would give another curve than pyFAI's is refused, not passed over.
 */
#include "config_file.h"

#include <azint/plain_locale.h>
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
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

#include "config_old.h"
#include "poni.h"

enum { OLDEST = 1, MAX_FILE = 16 << 20 };

int hcy__config_refuse(const struct hcy__config_file *r, const char *key, const char *what)
{
    return hcy_fail(HCY_EFORMAT, "%s: its \"%s\" is not %s", r->path, key, what);
}

int hcy__config_unsupported(const struct hcy__config_file *r, const char *key, const char *what)
{
    return hcy_fail(HCY_EUNSUPPORTED, "%s: its \"%s\" %s", r->path, key, what);
}

json_t *hcy__config_value(const struct hcy__config_file *r, const char *key)
{
    json_t *value = json_object_get(r->json, key);
    if (value && !json_is_null(value))
        *r->known += 1;
    return json_is_null(value) ? NULL : value;
}

int hcy__config_is_off(const struct hcy__config_file *r, const char *key)
{
    json_t *value = r->version < HCY__CONFIG_LATEST ? hcy__config_value(r, key) : NULL;
    return value && !json_is_true(value) && !(json_is_number(value) && json_number_value(value) != 0);
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

static int read_poni(const struct hcy__config_file *r)
{
    json_t *poni = r->version < 4 ? r->json : hcy__config_value(r, "poni");
    hcy_config *c = r->to;
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
static int take_file_name(const char **to, const struct hcy__config_file *r, const char *key, size_t slot)
{
    json_t *value = hcy__config_value(r, key);
    *to = NULL;
    /* pyFAI averages several dark or flat images, which would be another curve. */
    if (json_is_array(value) && json_array_size(value) > 1)
        return hcy__config_unsupported(r, key, "names several files, which pyFAI averages: name one");
    if (json_is_array(value))
        value = json_array_get(value, 0);
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return hcy__config_refuse(r, key, "the name of a file");
    const char *name = json_string_value(value);
    if (!*name)
        return 0;
    size_t size = strlen(name) + 3;
    char *copy = ((struct config *)r->to)->texts[slot] = malloc(size);
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
        return hcy__config_unsupported(r, key, "names a part of a file: name one image");
    else
        snprintf(copy, size, "%s", name);
    *to = copy;
    return 0;
}

static int read_files(const struct hcy__config_file *r)
{
    hcy_config *c = r->to;
    int st = 0;
    /* Older versions name a file and switch it off by a key of its own. */
    if (!hcy__config_is_off(r, "do_mask"))
        st = take_file_name(&c->mask, r, hcy__config_value(r, "mask_file") ? "mask_file" : "mask_image", 0);
    if (!st && !hcy__config_is_off(r, "do_dark"))
        st = take_file_name(&c->dark, r, "dark_current", 1);
    if (!st && !hcy__config_is_off(r, "do_flat"))
        st = take_file_name(&c->flat, r, "flat_field", 2);
    if (!st)
        st = take_file_name(&c->monitor, r, "monitor_name", 3);
    if (!st && c->monitor && *c->monitor != '/' && !strstr(c->monitor, "::"))
        st = hcy__config_unsupported(r, "monitor_name",
                                     "is a key of files' headers; /path or FILE::/path of a dataset can be read");
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

static int check_version(struct hcy__config_file *r)
{
    json_t *application = hcy__config_value(r, "application");
    const char *name = json_string_value(application);
    /* pyFAI's other programs save JSON with other meanings of the same keys. */
    if (application && (!name || (strcmp(name, "worker") && strcmp(name, "pyfai-integrate"))))
        return hcy__config_unsupported(r, "application", "is not that of an integration");
    json_t *version = json_object_get(r->json, "version"); /* which many kinds of files have */
    if (json_is_null(version))
        version = NULL;
    if (version && !json_is_number(version))
        return hcy__config_refuse(r, "version", "a number");
    double v = version ? json_number_value(version) : OLDEST; /* the first one had no such key */
    if (!(v >= OLDEST && v <= HCY__CONFIG_LATEST))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: it is of version %g, of which %d to %d are read", r->path, v, OLDEST,
                        HCY__CONFIG_LATEST);
    r->version = (int)v;
    return r->version == OLDEST ? hcy__config_renew(r->json) : 0;
}

static int read_config_json(struct hcy__config_file *r)
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
        r->json = json_loads(hcy__after_mark(text), 0, &error);
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
        st = hcy__config_read_options(r);
    if (!st)
        st = read_files(r);
    /* Another program's JSON would be an integration by defaults, without a word; a geometry alone is pyFAI's,
     * an error model alone is anybody's (`bench --json` has one). */
    if (!st && known <= (json_object_get(r->json, "error_model") != NULL) && !r->to->has_poni && !json_object_get(r->json, "poni_version"))
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
    struct hcy__config_file file = { .path = path };
    if (!c || !plain) {
        free(c);
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    }
    file.to = &c->is;
    c->is.options = (hcy_azint_options)HCY_AZINT_OPTIONS_INIT;
    c->is.poni = (hcy_poni)HCY_PONI_INIT;
    /* Numbers in JSON have a point, whatever the program's locale has. */
    locale_t before = uselocale(plain);
    int st = read_config_json(&file);
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
