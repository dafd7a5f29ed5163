/* compare_value.c - values of a report: what is put into JSON, and what is found there. */
#include "compare.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

json_t *value_text(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    if (value)
        return value;
    /* Names of files may be any bytes, and a text that was cut ends within a character; JSON is UTF-8. */
    char *plain = strdup(text);
    for (char *c = plain; c && *c;) {
        const size_t n = cli_utf8_length((const unsigned char *)c);
        if (!n)
            *c = '?';
        c += n ? n : 1;
    }
    value = plain ? json_string(plain) : NULL;
    free(plain);
    return value;
}

void value_put_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, value_text(text));
}

void value_put_format(json_t *object, const char *key, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    value_put_text(object, key, text);
}

json_t *value_real(double number)
{
    char text[40];
    /* Rounded as it will be written, so that a page shows the same from the report and from its file. */
    snprintf(text, sizeof text, "%.*g", COMPARE_DIGITS, number);
    return json_real(strtod(text, NULL));
}

void value_put(json_t *object, const char *key, double number)
{
    /* Whole numbers stay whole: a count of frames reads as one. */
    int whole = isfinite(number) && number == floor(number) && fabs(number) < 1e15;
    json_object_set_new(object, key, !isfinite(number) ? json_null()
                        : whole ? json_integer((json_int_t)number)
                                : value_real(number));
}

const json_t *value_at(const json_t *value, const char *path)
{
    while (value && *path) {
        char key[64];
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        value = json_object_get(value, key);
        path += n + (path[n] == '.');
    }
    return json_is_null(value) ? NULL : value;
}

double value_number(const json_t *value, const char *path)
{
    const json_t *found = value_at(value, path);
    return json_is_number(found) ? json_number_value(found) : NAN;
}

const char *value_string(const json_t *value, const char *path)
{
    return json_string_value(value_at(value, path));
}

int value_true(const json_t *value, const char *path)
{
    return json_is_true(value_at(value, path));
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void value_sort(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, compare_doubles);
}

double value_quantile(const double *sorted, size_t n, double q)
{
    if (!n)
        return NAN;
    /* The smallest value that at least this share is not above. */
    double rank = ceil(q * (double)n);
    return sorted[rank < 1 ? 0 : (size_t)rank - 1];
}

const char *compare_name(const json_t *device)
{
    const char *name = value_string(device, "device");
    return name ? name : "?";
}

const char *compare_mark(const json_t *device)
{
    const char *mark = value_string(device, "virtual");
    return mark ? mark : "";
}

static const json_t *find_device(const json_t *report, const char *name)
{
    const json_t *device;
    size_t i;
    json_array_foreach(value_at(report, "devices"), i, device)
    {
        if (!strcmp(compare_name(device), name))
            return device;
    }
    return NULL;
}

void compare_each_change(FILE *out, const json_t *a, const json_t *b, compare_change *change)
{
    const json_t *device;
    size_t i;
    json_array_foreach(value_at(a, "devices"), i, device)
    {
        change(out, compare_name(device), device, find_device(b, compare_name(device)));
    }
    /* What is new stands behind what was there before. */
    json_array_foreach(value_at(b, "devices"), i, device)
    {
        if (!find_device(a, compare_name(device)))
            change(out, compare_name(device), NULL, device);
    }
    change(out, "all together", value_at(a, "together"), value_at(b, "together"));
}
