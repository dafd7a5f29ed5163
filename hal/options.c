/* options.c - the options of a device string, read by a backend's table of them.  Pure functions. */
#include "hal_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const hcy_spec *spec;
    const hcy_option *option;
    const char *value;
    void *place; /* in the settings */
};

static int refuse(const struct reading *r, const char *wanted)
{
    return hcy_fail(HCY_EINVAL, "%s@%s=%s: %s is wanted (%s)", r->spec->backend, r->option->key, r->value, wanted,
                    r->option->help);
}

/* A whole decimal number in the range; strtoll alone would take "+1" and " 1". */
static int read_number(const struct reading *r, int64_t least, int64_t most, int64_t *number)
{
    char wanted[80], *end = NULL;
    const char *digits = r->value + (*r->value == '-');
    errno = 0;
    long long value = strtoll(r->value, &end, 10);
    if (*digits >= '0' && *digits <= '9' && !*end && !errno && value >= least && value <= most) {
        *number = value;
        return 0;
    }
    if (most == INT64_MAX)
        snprintf(wanted, sizeof wanted, "a number of %lld or more", (long long)least);
    else
        snprintf(wanted, sizeof wanted, "a number from %lld to %lld", (long long)least, (long long)most);
    return refuse(r, wanted);
}

static int read_bool(const struct reading *r)
{
    bool yes = !strcmp(r->value, "1");
    if (!yes && strcmp(r->value, "0"))
        return refuse(r, "0 or 1");
    *(bool *)r->place = yes;
    return 0;
}

static int read_size(const struct reading *r)
{
    int64_t bytes;
    int status = read_number(r, 1, INT64_MAX, &bytes);
    if (!status)
        *(uint64_t *)r->place = (uint64_t)bytes;
    return status;
}

/* Writes "one two three" as "one, two or three". */
static void say_words(char *text, size_t size, const char *words)
{
    size_t used = 0;
    for (const char *w = words; *w && used < size;) {
        size_t n = strcspn(w, " ");
        const char *next = w + n + (w[n] == ' '), *before = *next ? ", " : " or ";
        if (w == words)
            before = "";
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", before, (int)n, w);
        w = next;
    }
}

static int read_word(const struct reading *r)
{
    char wanted[200] = "";
    size_t length = strlen(r->value);
    int number = 0;
    for (const char *w = r->option->words; *w; number++) {
        size_t n = strcspn(w, " ");
        if (n == length && !strncmp(w, r->value, n)) {
            *(int *)r->place = number;
            return 0;
        }
        w += n + (w[n] == ' ');
    }
    say_words(wanted, sizeof wanted, r->option->words);
    return refuse(r, wanted);
}

static int read_string(const struct reading *r)
{
    if (!*r->value)
        return refuse(r, "something");
    *(const char **)r->place = r->value;
    return 0;
}

int hcy__option_read(void *settings, const hcy_spec *spec, const hcy_option *option, const char *value)
{
    const struct reading r = { spec, option, value, (char *)settings + option->offset };
    switch (option->kind) {
    case HCY_OPTION_BOOL:
        return read_bool(&r);
    case HCY_OPTION_INT:
        return read_number(&r, option->least, option->most, r.place);
    case HCY_OPTION_SIZE:
        return read_size(&r);
    case HCY_OPTION_WORD:
        return read_word(&r);
    default:
        return read_string(&r);
    }
}

const hcy_option *hcy__option_find(const hcy_option *options, const char *key)
{
    while (options->key && strcmp(options->key, key))
        options++;
    return options->key ? options : NULL;
}

static void add_keys(char *text, size_t size, const hcy_option *options)
{
    for (; options->key; options++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used ? ", " : "", options->key);
    }
}

int hcy_options_read(void *settings, const hcy_spec *spec, const hcy_option *options)
{
    char keys[400] = "";
    int status = settings && spec && options ? 0 : hcy_fail(HCY_EINVAL, "hcy_options_read: no settings, string or table");
    for (size_t i = 0; !status && i < spec->n_options; i++) {
        const char *key = spec->options[i].key;
        const hcy_option *option = hcy__option_find(options, key);
        if (option) {
            status = hcy__option_read(settings, spec, option, spec->options[i].value);
            continue;
        }
        add_keys(keys, sizeof keys, options);
        add_keys(keys, sizeof keys, hcy__fault_options);
        status = hcy_fail(HCY_EINVAL, "%s@%s: there is no such option; %s has %s", spec->backend, key, spec->backend,
                          keys);
    }
    return status;
}
