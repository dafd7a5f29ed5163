/* status.c - the status table, and the per-thread record of the last failure. */
#include "hal_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifndef HCY_VERSION_STRING
#define HCY_VERSION_STRING "unknown"
#endif

static const struct {
    int status;
    const char *name, *text;
} table[] = {
#define ROW(name, number, text) { number, #name, text },
    HCY_STATUS_TABLE(ROW)
#undef ROW
};

static _Thread_local hcy_error last;

const char *hcy_status_name(int status)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].name;
    return "HCY_E?";
}

const char *hcy_status_text(int status)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].text;
    return "not a status of Halcyon";
}

const hcy_error *hcy_last_error(void)
{
    return &last;
}

void hcy_clear_error(void)
{
    memset(&last, 0, sizeof last);
}

int hcy__swap_status(int status)
{
    int before = last.status;
    last.status = status;
    return before;
}

const char *hcy_version(void)
{
    return HCY_VERSION_STRING;
}

/* The text is made in a buffer of its own: an argument may be the old record's text. */
static int record_failure(const char *file, int line, int status, long code, const char *words, const char *fmt,
                  va_list ap)
{
    hcy_error e = { .status = status, .vendor_code = code, .file = file, .line = line };
    vsnprintf(e.text, sizeof e.text, fmt, ap);
    snprintf(e.vendor, sizeof e.vendor, "%s", words ? words : "");
    /* Only now: until here the arguments may have pointed into the old record. */
    last = e;
    return status;
}

int hcy_fail_at(const char *file, int line, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    record_failure(file, line, status, 0, NULL, fmt, ap);
    va_end(ap);
    return status;
}

int hcy_fail_vendor_at(const char *file, int line, int status, long code, const char *words, const char *fmt,
                       ...)
{
    va_list ap;
    va_start(ap, fmt);
    record_failure(file, line, status, code, words, fmt, ap);
    va_end(ap);
    return status;
}

int hcy_fail_again(const hcy_error *error)
{
    if (!error)
        return hcy_fail(HCY_EINVAL, "hcy_fail_again: no record");
    /* A record is often passed on by the thread that made it; copying it onto itself would not be defined. */
    if (error != &last)
        last = *error;
    return last.status;
}
