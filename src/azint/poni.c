/* poni.c - PONI files in and out: "key: value" lines, '#' comments, the last entry of a key wins.
 *
 *   version 1    PixelSize1 and 2, SplineFile, perhaps Detector
 *   version 2    Detector and Detector_config (JSON)
 *   version 2.1  "orientation" in Detector_config
 *   version 3    Parallax, "sensor" in Detector_config
 *
 * Numbers are read and written as the "C" locale has them, whatever the program's.  No state, any thread.
 */
#include "azint_priv.h"
#include "detector.h"
#include "flatjson.h"
#include "plain_locale.h"
#include "poni.h"
#include "sized.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_FILE (1u << 20)
#define LATEST_VERSION 3.0

enum key {
    PONI_VERSION, DETECTOR, CONFIG, DISTANCE, DIST, PONI1, PONI2, ROT1, ROT2, ROT3, WAVELENGTH, PIXEL1,
    PIXEL2, SPLINE, PARALLAX, N_KEYS
};
static const char *const key_names[N_KEYS] = {
    "poni_version", "Detector", "Detector_config", "Distance", "Dist", "Poni1", "Poni2", "Rot1", "Rot2",
    "Rot3", "Wavelength", "PixelSize1", "PixelSize2", "SplineFile", "Parallax"
};

/* A file taken apart: values are trimmed and end with 0, NULL if the key is not there. */
struct entries {
    const char *file;
    char *value[N_KEYS];
    int line[N_KEYS];
};

static char *trim_blanks(char *s, char *end)
{
    while (s < end && isspace((unsigned char)*s))
        s++;
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    *end = 0;
    return s;
}

static void split_lines(struct entries *e, char *text)
{
    for (int line = 1; text; line++) {
        char *next = strchr(text, '\n'), *end = next ? next : text + strlen(text);
        char *colon = memchr(text, ':', (size_t)(end - text));

        /* pyFAI appends to its files: of a key that is there twice the last value counts, as it does
         * there. */
        if (colon && *text != '#') {
            char *key = trim_blanks(text, colon), *value = trim_blanks(colon + 1, end);

            for (int k = 0; k < N_KEYS; k++) {
                if (!strcasecmp(key, key_names[k])) {
                    e->value[k] = value;
                    e->line[k] = line;
                }
            }
        }
        text = next ? next + 1 : NULL;
    }
}

static int is_none(const char *value)
{
    return !value || !*value || !strcasecmp(value, "none") || !strcasecmp(value, "null");
}

static int to_number(double *x, const char *s)
{
    char *end;

    *x = strtod(s, &end);
    return end != s && !*end && isfinite(*x) ? 0 : -1;
}

static int read_entry_number(double *x, const struct entries *e, enum key key)
{
    const char *s = e->value[key];

    if (!s)
        return hcy_fail(HCY_EFORMAT, "%s: no %s: not a PONI file, or not all of one", e->file,
                        key_names[key]);
    if (to_number(x, s))
        return hcy_fail(HCY_EFORMAT, "%s:%d: %s is '%.60s', not a finite number", e->file, e->line[key],
                        key_names[key], s);
    return 0;
}

static int optional_number(double *x, const struct entries *e, enum key key)
{
    return is_none(e->value[key]) ? 0 : read_entry_number(x, e, key);
}

static int config_value(flatjson_value *v, const struct entries *e, const char *key)
{
    /* Old files have no configuration, which then says nothing of any key. */
    if (is_none(e->value[CONFIG])) {
        *v = (flatjson_value){ NULL, 0 };
        return 0;
    }
    if (hcy__flatjson_find(v, e->value[CONFIG], key))
        return hcy_fail(HCY_EFORMAT, "%s:%d: Detector_config is not a JSON object", e->file, e->line[CONFIG]);
    return 0;
}

static int config_bad(const struct entries *e, const char *key, flatjson_value v, const char *wanted)
{
    return hcy_fail(HCY_EFORMAT, "%s:%d: \"%s\" of Detector_config is %.*s, not %s", e->file, e->line[CONFIG],
                    key, (int)(v.size < 60 ? v.size : 60), v.text, wanted);
}

static int config_pixel(double *x, const struct entries *e, const char *key)
{
    flatjson_value v;
    int rc = config_value(&v, e, key);

    if (!rc && !hcy__flatjson_is_null(v) && (hcy__flatjson_number(x, v) || !(*x > 0) || !isfinite(*x)))
        rc = config_bad(e, key, v, "a pixel size in metres");
    return rc;
}

static int config_shape(hcy_poni *poni, const struct entries *e)
{
    flatjson_value v;
    double shape[2];
    int rc = config_value(&v, e, "max_shape");

    if (rc || hcy__flatjson_is_null(v))
        return rc;
    if (hcy__flatjson_numbers(shape, 2, v) || !(shape[0] >= 1 && shape[0] <= UINT32_MAX) ||
        !(shape[1] >= 1 && shape[1] <= UINT32_MAX))
        return config_bad(e, "max_shape", v, "[rows, columns]");
    poni->height = (uint32_t)shape[0];
    poni->width = (uint32_t)shape[1];
    return 0;
}

/* Of a detector that is bent around the sample. */
static int config_radius(hcy_poni *poni, const struct entries *e)
{
    flatjson_value v;
    int rc = config_value(&v, e, "radius");

    if (!rc && !hcy__flatjson_is_null(v) &&
        (hcy__flatjson_number(&poni->radius, v) || !(poni->radius > 0) || !isfinite(poni->radius)))
        rc = config_bad(e, "radius", v, "a radius in metres");
    return rc;
}

static int config_orientation(hcy_poni *poni, const struct entries *e)
{
    flatjson_value v;
    double x = 0;
    int rc = config_value(&v, e, "orientation");

    if (rc || hcy__flatjson_is_null(v))
        return rc;
    if (hcy__flatjson_number(&x, v) || !(x == 0 || x == 1 || x == 2 || x == 3 || x == 4))
        return config_bad(e, "orientation", v, "1, 2, 3 or 4");
    poni->orientation = (int)x;
    return 0;
}

/* Whatever describes a sensor is taken where it can be, and has to be where pixels are moved by it. */
static int config_sensor(hcy_poni *poni, const struct entries *e)
{
    char text[512];
    flatjson_value v, material = { NULL, 0 }, thickness = { NULL, 0 };
    int rc = config_value(&v, e, "sensor"), is_read;

    poni->parallax = e->value[PARALLAX] && !strcasecmp(e->value[PARALLAX], "true");
    if (rc)
        return rc;
    snprintf(text, sizeof text, "%.*s", v.size < sizeof text ? (int)v.size : 0, v.text ? v.text : "");
    is_read = !hcy__flatjson_find(&material, text, "material") && !hcy__flatjson_find(&thickness, text, "thickness") &&
              !hcy__flatjson_string(poni->sensor_material, sizeof poni->sensor_material, material) &&
              (hcy__flatjson_is_null(thickness) ||
               (!hcy__flatjson_number(&poni->sensor_thickness, thickness) && poni->sensor_thickness > 0 &&
                isfinite(poni->sensor_thickness)));
    if (!is_read) {
        *poni->sensor_material = 0;
        poni->sensor_thickness = 0;
    }
    if (poni->parallax && hcy__flatjson_is_null(v))
        return hcy_fail(HCY_EFORMAT, "%s:%d: Parallax needs \"sensor\" in Detector_config: its material and thickness",
                        e->file, e->line[PARALLAX]);
    return poni->parallax && !is_read
               ? config_bad(e, "sensor", v, "{\"material\": \"Si\", \"thickness\": 450e-6}, in metres")
               : 0;
}

static int config_file(hcy_poni *poni, const struct entries *e)
{
    flatjson_value v;
    int rc = config_value(&v, e, "filename");

    if (rc || hcy__flatjson_is_null(v))
        return rc;
    if (hcy__flatjson_string(poni->detector_file, sizeof poni->detector_file, v) || !*poni->detector_file)
        return config_bad(e, "filename", v, "the name of a file");
    /* A file of corners with a detector that has a shape of its own would be two answers to one question. */
    if (strcmp(poni->detector->name, "NexusDetector"))
        return hcy_fail(HCY_EUNSUPPORTED, "%s:%d: \"filename\" of Detector_config: that is for a NexusDetector",
                        e->file, e->line[CONFIG]);
    return 0;
}

/* FIT2D's distortion; the configuration is the newer way to say the same as SplineFile. */
static int config_spline(hcy_poni *poni, const struct entries *e)
{
    const char *name = e->value[SPLINE];
    flatjson_value v;
    int line = e->line[SPLINE], rc = config_value(&v, e, "splineFile");

    if (rc)
        return rc;
    if (!hcy__flatjson_is_null(v)) {
        line = e->line[CONFIG];
        name = poni->detector_file;
        if (hcy__flatjson_string(poni->detector_file, sizeof poni->detector_file, v))
            return config_bad(e, "splineFile", v, "the name of a file");
    }
    if (is_none(name)) {
        if (name == poni->detector_file)
            *poni->detector_file = 0;
        return 0;
    }
    if (!hcy__detector_may_have_spline(poni->detector))
        return hcy_fail(HCY_EUNSUPPORTED, "%s:%d: splineFile: that is for detectors of one piece, not for a %s", e->file,
                        line, poni->detector->name);
    if (strlen(name) >= sizeof poni->detector_file)
        return hcy_fail(HCY_EFORMAT, "%s:%d: SplineFile: the name of the file is too long", e->file, line);
    if (name != poni->detector_file)
        strcpy(poni->detector_file, name);
    return 0;
}

/* What would change the geometry and is not done here: better no curve than a wrong one. */
static int config_unsupported(const hcy_poni *poni, const struct entries *e)
{
    static const char *const keys[] = { "x_offset_file", "y_offset_file" };
    flatjson_value v;
    double size[2];
    int rc = 0;

    for (size_t i = 0; !rc && i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!(rc = config_value(&v, e, keys[i])) && !hcy__flatjson_is_null(v))
            rc = hcy_fail(HCY_EUNSUPPORTED,
                          "%s:%d: \"%s\" of Detector_config: files of offsets are not supported", e->file,
                          e->line[CONFIG], keys[i]);
    }
    /* The gaps follow from the modules' size, and those of the table are the ones that are masked. */
    if (!rc && !(rc = config_value(&v, e, "module_size")) && !hcy__flatjson_is_null(v) &&
        (hcy__flatjson_numbers(size, 2, v) || size[0] != poni->detector->module[0] ||
         size[1] != poni->detector->module[1]))
        rc = hcy_fail(HCY_EUNSUPPORTED, "%s:%d: \"module_size\" of Detector_config is not that of the %s",
                      e->file, e->line[CONFIG], poni->detector->name);
    return rc;
}

static int read_poni_detector(hcy_poni *poni, const struct entries *e, double version)
{
    const char *name = e->value[DETECTOR];
    int rc;

    /* Version 1 has pixel sizes alone, which the generic detector stands for. */
    if (version >= 2 && is_none(name))
        return hcy_fail(HCY_EFORMAT, "%s: no Detector, which version %g needs", e->file, version);
    if (hcy_detector_find(&poni->detector, is_none(name) ? "Detector" : name))
        return hcy_fail(HCY_EUNSUPPORTED, "%s:%d: %.300s", e->file, e->line[DETECTOR],
                        hcy_last_error()->text);
    /* What the table says of the detector comes first, and what the file says replaces it. */
    poni->height = poni->detector->height;
    poni->width = poni->detector->width;
    poni->pixel1 = poni->detector->pixel1;
    poni->pixel2 = poni->detector->pixel2;
    /* Later keys win: the configuration is the newer way to say the same as PixelSize. */
    if ((rc = optional_number(&poni->pixel1, e, PIXEL1)) ||
        (rc = optional_number(&poni->pixel2, e, PIXEL2)) ||
        (rc = config_pixel(&poni->pixel1, e, "pixel1")) ||
        (rc = config_pixel(&poni->pixel2, e, "pixel2")) ||
        (rc = config_shape(poni, e)) ||
        (rc = config_radius(poni, e)) ||
        (rc = config_orientation(poni, e)) ||
        (rc = config_sensor(poni, e)) ||
        (rc = config_file(poni, e)) ||
        (rc = config_spline(poni, e)) ||
        (rc = config_unsupported(poni, e)))
        return rc;
    /* A detector's file will bring the sizes when it is read; otherwise they have to be known by now. */
    if (!*poni->detector_file && (!(poni->pixel1 > 0) || !(poni->pixel2 > 0)))
        return hcy_fail(HCY_EFORMAT, "%s: no pixel size: %s missing or not positive", e->file,
                        version >= 2 ? "\"pixel1\" or \"pixel2\" of Detector_config is"
                                     : "PixelSize1 or PixelSize2 is");
    return 0;
}

/* The version said, or the first that has what is there. */
static int read_version(double *version, const struct entries *e)
{
    int rc;

    *version = e->value[CONFIG] ? 2 : 1;
    if (e->value[PARALLAX])
        *version = 3;
    if ((rc = optional_number(version, e, PONI_VERSION)))
        return rc;
    /* A newer version may mean something else by a key that is known. */
    if (*version > LATEST_VERSION)
        return hcy_fail(HCY_EUNSUPPORTED, "%s:%d: PONI version %g is newer than %g, the last one known",
                        e->file, e->line[PONI_VERSION], *version, LATEST_VERSION);
    return 0;
}

static int read_entries(hcy_poni *poni, const struct entries *e)
{
    const struct {
        double *x;
        enum key key;
    } numbers[] = {
        { &poni->dist, e->value[DISTANCE] || !e->value[DIST] ? DISTANCE : DIST },
        { &poni->poni1, PONI1 }, { &poni->poni2, PONI2 },
        { &poni->rot1, ROT1 }, { &poni->rot2, ROT2 }, { &poni->rot3, ROT3 },
    };
    double version;
    int rc = read_version(&version, e);

    for (size_t i = 0; !rc && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        rc = read_entry_number(numbers[i].x, e, numbers[i].key);
    if (!rc)
        rc = optional_number(&poni->wavelength, e, WAVELENGTH);
    if (!rc && poni->wavelength < 0)
        rc = hcy_fail(HCY_EFORMAT, "%s:%d: Wavelength is negative", e->file, e->line[WAVELENGTH]);
    return rc ? rc : read_poni_detector(poni, e, version);
}

int hcy__refuse_goniometer(const char *name, const char *text)
{
    if (text[strspn(text, " \t\r\n")] != '{' || !strstr(text, "Goniometer calibration"))
        return 0;
    return hcy_fail(HCY_EUNSUPPORTED,
                    "%s: pyFAI's calibration of a goniometer (JSON), which is of all its positions: let pyFAI make a PONI "
                    "file of each, Goniometer.sload(\"%s\").get_ai(position).save(\"POSITION.poni\")", name, name);
}

/* Files of pyFAI's that are often given in place of a PONI file. */
static int refuse_json(const char *name, const char *text)
{
    int rc = hcy__refuse_goniometer(name, text);

    if (!rc && text[strspn(text, " \t\r\n")] == '{')
        rc = hcy_fail(HCY_EFORMAT, "%s: JSON, not a PONI file; if it is a configuration of pyFAI's: integrate -j %s", name,
                      name);
    return rc;
}

int hcy_poni_parse(hcy_poni *poni, const char *text, size_t size, const char *name)
{
    static const hcy_poni init = HCY_PONI_INIT;
    struct entries e = { name ? name : "PONI", { NULL }, { 0 } };
    hcy_poni read = init;
    hcy__plain plain;
    char *copy;
    int rc;

    if (!poni || (!text && size))
        return hcy_fail(HCY_EINVAL, "hcy_poni_parse: %s is NULL", poni ? "text" : "poni");
    /* A zero would end the text early, and the rest would be passed over without a word. */
    if (size > MAX_FILE || memchr(text ? text : "", 0, size))
        return hcy_fail(HCY_EFORMAT, "%s: not a text file of at most %u bytes, so not a PONI file", e.file,
                        MAX_FILE);
    if (!(copy = malloc(size + 1)))
        return hcy_fail(HCY_ENOMEM, "%s: no memory to read it", e.file);
    if (size)
        memcpy(copy, text, size);
    copy[size] = 0;
    /* The file's numbers have a point, whatever the program's locale has. */
    plain = hcy__plain_enter();
    rc = refuse_json(e.file, hcy__after_mark(copy));
    if (!rc) {
        split_lines(&e, hcy__after_mark(copy));
        rc = read_entries(&read, &e);
    }
    hcy__plain_leave(plain);
    free(copy);
    /* The caller's structure is left as it was unless all of the text was sound. */
    return rc ? rc : hcy__sized_write(poni, &read, sizeof read, "hcy_poni");
}

/* A detector's file is named as seen from the working directory, or from the folder of the PONI file. */
static void look_beside(hcy_poni *poni, const char *path)
{
    const char *slash = strrchr(path, '/');
    char beside[sizeof poni->detector_file];

    /* A name that is found from where we are is not looked for elsewhere: that is how pyFAI reads it. */
    if (!*poni->detector_file || *poni->detector_file == '/' || !slash || !access(poni->detector_file, F_OK))
        return;
    int n = snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - path), path, poni->detector_file);
    if (n > 0 && (size_t)n < sizeof beside && !access(beside, F_OK))
        memcpy(poni->detector_file, beside, (size_t)n + 1);
}

int hcy_poni_read(hcy_poni *poni, const char *path)
{
    char words[128], *text = NULL;
    hcy_poni read = HCY_PONI_INIT;
    size_t size = 0;
    FILE *f;
    int fd, rc;

    if (!poni || !path)
        return hcy_fail(HCY_EINVAL, "hcy_poni_read: %s is NULL", poni ? "path" : "poni");
    /* A pipe or a directory under that name is refused here and not waited for. */
    if ((rc = hcy__open_file(&fd, path)))
        return rc;
    if (!(f = fdopen(fd, "rb"))) {
        close(fd);
        return hcy_fail(HCY_ENOMEM, "%s: no memory to read it", path);
    }
    /* One byte more than is allowed tells a file that is too long from one that just fits. */
    if (!(text = malloc(MAX_FILE + 1)))
        rc = hcy_fail(HCY_ENOMEM, "%s: no memory to read it", path);
    else if ((size = fread(text, 1, MAX_FILE + 1, f)), ferror(f))
        rc = hcy_fail(HCY_EIO, "%s cannot be read: %s", path, hcy__errno_text(errno, words, sizeof words));
    else
        rc = hcy_poni_parse(&read, text, size, path);
    if (!rc)
        look_beside(&read, path);
    free(text);
    fclose(f);
    return rc ? rc : hcy__sized_write(poni, &read, sizeof read, "hcy_poni");
}

/* Writes the shortest text that reads back as x. */
static const char *shortest(char s[32], double x)
{
    /* 15 digits are how people write it; 17 bring every double back. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(s, 32, "%.*g", digits, x);
        if (strtod(s, NULL) == x)
            break;
    }
    return s;
}

/* A pixel's size as text; one that a detector's file will say is left open. */
static const char *size_text(char s[32], double x)
{
    return x > 0 ? shortest(s, x) : "null";
}

/* Of a character, at most. */
#define QUOTED 6

/* Writes a text as another member of the configuration; returns its end. */
static char *quote(char *out, const char *key, const char *text)
{
    out += sprintf(out, "%s: \"", key);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        out += sprintf(out, c < ' ' ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    strcpy(out, "\"");
    return out + 1;
}

static void format_sensor(char *out, const hcy_poni *poni)
{
    char n[32];

    out = quote(out, ", \"sensor\": {\"material\"", poni->sensor_material);
    if (poni->sensor_thickness > 0)
        out += sprintf(out, ", \"thickness\": %s", shortest(n, poni->sensor_thickness));
    strcpy(out, "}");
}

static int format_poni(char *text, size_t capacity, const hcy_poni *poni)
{
    const hcy_detector *d = poni->detector ? poni->detector : hcy__detector_generic();
    int orientation = poni->orientation ? poni->orientation : d->orientation;
    char n[10][32], shape[64] = "", radius[64] = "", wavelength[64] = "";
    char file[QUOTED * sizeof poni->detector_file + 32] = "", sensor[QUOTED * sizeof poni->sensor_material + 96] = "";
    const char *parallax = "";

    /* A shape that the detector's name says already is not repeated, so that files of ours read as pyFAI's
     * do. */
    if (poni->height && (poni->height != d->height || poni->width != d->width))
        snprintf(shape, sizeof shape, ", \"max_shape\": [%u, %u]", poni->height, poni->width);
    if (poni->radius > 0)
        snprintf(radius, sizeof radius, ", \"radius\": %s", shortest(n[9], poni->radius));
    if (poni->wavelength > 0)
        snprintf(wavelength, sizeof wavelength, "Wavelength: %s\n", shortest(n[0], poni->wavelength));
    if (*poni->detector_file)
        quote(file, strcmp(d->name, "NexusDetector") ? ", \"splineFile\"" : ", \"filename\"", poni->detector_file);
    if (*poni->sensor_material) {
        format_sensor(sensor, poni);
        parallax = poni->parallax ? "Parallax: True\n" : "Parallax: False\n";
    }
    return snprintf(text, capacity,
                    "# Nota: C-Order, 1 refers to the Y axis, 2 to the X axis\n"
                    "poni_version: %s\n"
                    "Detector: %s\n"
                    "Detector_config: {\"pixel1\": %s, \"pixel2\": %s%s%s%s%s, \"orientation\": %d}\n"
                    "Distance: %s\nPoni1: %s\nPoni2: %s\nRot1: %s\nRot2: %s\nRot3: %s\n%s%s",
                    *parallax ? "3" : "2.1", d->name, size_text(n[1], poni->pixel1 > 0 ? poni->pixel1 : d->pixel1),
                    size_text(n[2], poni->pixel2 > 0 ? poni->pixel2 : d->pixel2), shape, radius, file, sensor,
                    orientation,
                    shortest(n[3], poni->dist), shortest(n[4], poni->poni1), shortest(n[5], poni->poni2),
                    shortest(n[6], poni->rot1), shortest(n[7], poni->rot2), shortest(n[8], poni->rot3),
                    wavelength, parallax);
}

int hcy_poni_format(char *text, size_t capacity, size_t *length, const hcy_poni *user)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy__plain plain;
    int n, rc;

    if (!text)
        return hcy_fail(HCY_EINVAL, "hcy_poni_format: text is NULL");
    if ((rc = hcy__sized_read(&poni, sizeof poni, user, "hcy_poni")))
        return rc;
    plain = hcy__plain_enter();
    n = format_poni(text, capacity, &poni);
    hcy__plain_leave(plain);
    /* snprintf() tells how long the text would have been: it is refused and not cut off. */
    if (n < 0 || (size_t)n >= capacity)
        return hcy_fail(HCY_ERANGE, "the PONI text has %d bytes, there is room for %zu", n, capacity);
    if (length)
        *length = (size_t)n;
    return 0;
}
