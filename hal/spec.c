/* spec.c - device strings: backend[:selector][@key=value]... taken apart and percent-decoded. */
#include "hal_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place.  %00 is refused: it would cut the value short. */
static int percent_decode(char *s, const char *text)
{
    char *to = s;
    for (; *s; s++) {
        if (*s != '%') {
            *to++ = *s;
            continue;
        }
        int hi = hex(s[1]), lo = hi < 0 ? -1 : hex(s[2]);
        if (lo < 0 || hi * 16 + lo == 0)
            return hcy_fail(HCY_EINVAL,
                            "device string \"%s\": '%%' must be followed by two hexadecimal digits (a '%%' "
                            "itself is %%25)",
                            text);
        *to++ = (char)(hi * 16 + lo);
        s += 2;
    }
    *to = 0;
    return 0;
}

static int check_backend_name(const char *name, const char *text)
{
    if (!*name)
        return hcy_fail(
            HCY_EINVAL,
            "device string \"%s\" does not begin with a backend (say \"cpu\"; `halcyon devices` lists them)",
            text);
    for (const char *c = name; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_')
            return hcy_fail(HCY_EINVAL,
                            "device string \"%s\": '%c' cannot be in a backend's name (a-z, 0-9, _)", text,
                            *c);
    if (strlen(name) >= 24)
        return hcy_fail(HCY_EINVAL, "device string \"%s\": the backend's name is too long", text);
    return 0;
}

static int add_option(struct hcy__spec *spec, char *part, const char *text)
{
    char *value = strchr(part, '=');
    if (!value || value == part)
        return hcy_fail(HCY_EINVAL, "device string \"%s\": \"@%s\" is not @key=value", text, part);
    *value++ = 0;
    int status = percent_decode(value, text);
    if (status)
        return status;
    for (size_t i = 0; i < spec->spec.n_options; i++)
        if (!strcmp(spec->options[i].key, part))
            return hcy_fail(HCY_EINVAL, "device string \"%s\" says @%s twice", text, part);
    if (spec->spec.n_options == sizeof spec->options / sizeof spec->options[0])
        return hcy_fail(HCY_EINVAL, "device string \"%s\" has too many options", text);
    spec->options[spec->spec.n_options++] = (hcy_spec_option){ part, value };
    return 0;
}

/* Cuts `text` at '@', the first part at ':'; options refer into the copy. */
static int take_apart(struct hcy__spec *spec, const char *text)
{
    char *rest = strchr(spec->text, '@');
    if (rest)
        *rest++ = 0;
    char *selector = strchr(spec->text, ':');
    if (selector) {
        *selector++ = 0;
        if (!*selector)
            return hcy_fail(HCY_EINVAL, "device string \"%s\": nothing follows the ':'", text);
        int status = percent_decode(selector, text);
        if (status)
            return status;
    }
    spec->spec.backend = spec->text;
    spec->spec.selector = selector ? selector : "";
    int status = check_backend_name(spec->text, text);
    while (!status && rest) {
        char *part = rest;
        if ((rest = strchr(part, '@')))
            *rest++ = 0;
        status = add_option(spec, part, text);
    }
    return status;
}

int hcy__spec_parse(struct hcy__spec *spec, const char *text)
{
    memset(spec, 0, sizeof *spec);
    spec->spec.text = text;
    spec->spec.options = spec->options;
    if (!text)
        return hcy_fail(HCY_EINVAL, "no device string");
    spec->text = strdup(text);
    if (!spec->text)
        return hcy_fail(HCY_ENOMEM, "out of memory for a device string");
    int status = take_apart(spec, text);
    if (status)
        hcy__spec_free(spec);
    return status;
}

void hcy__spec_free(struct hcy__spec *spec)
{
    free(spec->text);
    spec->text = NULL;
}
