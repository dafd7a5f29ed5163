/* flatjson.c - see flatjson.h.  A cursor over the text; every function leaves it behind what it has taken, or
 * sets it to NULL where the text is not JSON. */
#include "flatjson.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_DEPTH 32

static const char *blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
        p++;
    return p;
}

static const char *string(const char *p)
{
    if (*p++ != '"')
        return NULL;
    while (*p && *p != '"') {
        if (*p == '\\' && p[1])
            p++;
        p++;
    }
    return *p ? p + 1 : NULL;
}

static const char *skip_digits(const char *p)
{
    if (!p || !isdigit((unsigned char)*p))
        return NULL;
    while (isdigit((unsigned char)*p))
        p++;
    return p;
}

/* What JSON has of the numbers that strtod() takes: none in hexadecimal, and no "-inf". */
static const char *number(const char *p)
{
    p = skip_digits(p + (*p == '-'));
    if (p && *p == '.')
        p = skip_digits(p + 1);
    if (p && (*p == 'e' || *p == 'E'))
        p = skip_digits(p + 1 + (p[1] == '-' || p[1] == '+'));
    return p;
}

/* A number or one of the three words. */
static const char *word(const char *p)
{
    static const char *const words[] = { "null", "true", "false" };

    for (size_t i = 0; i < 3; i++) {
        if (!strncmp(p, words[i], strlen(words[i])))
            return p + strlen(words[i]);
    }
    return number(p);
}

static const char *value(const char *p, int depth);

/* What stands between brackets: values, or keys and values. */
static const char *members(const char *p, char close, int depth)
{
    p = blanks(p);
    if (*p == close)
        return p + 1;
    while (p) {
        if (close == '}') {
            if (!(p = string(blanks(p))) || *(p = blanks(p)) != ':')
                return NULL;
            p++;
        }
        if (!(p = value(p, depth)))
            return NULL;
        p = blanks(p);
        if (*p == close)
            return p + 1;
        p = *p == ',' ? p + 1 : NULL;
    }
    return NULL;
}

static const char *value(const char *p, int depth)
{
    p = blanks(p);
    if (depth > MAX_DEPTH)
        return NULL;
    if (*p == '{' || *p == '[')
        return members(p + 1, *p == '{' ? '}' : ']', depth + 1);
    return *p == '"' ? string(p) : word(p);
}

int hcy__flatjson_find(flatjson_value *found, const char *text, const char *key)
{
    const char *p = blanks(text), *end = *p == '{' ? value(p, 0) : NULL;
    size_t n = strlen(key);

    *found = (flatjson_value){ NULL, 0 };
    /* The whole text is gone through first, so that below every cursor stands on sound JSON and need not
     * be tested. */
    if (!end || *blanks(end))
        return -1;
    for (p = blanks(p + 1); *p == '"';) {
        const char *name = p + 1, *v;
        int same = (size_t)((p = string(p)) - name) == n + 1 && !strncasecmp(name, key, n);

        v = blanks(blanks(p) + 1);
        p = value(v, 1);
        /* A key that is there twice has its last value, as Python's reader has it. */
        if (same)
            *found = (flatjson_value){ v, (size_t)(p - v) };
        p = blanks(p);
        p = blanks(p + (*p == ','));
    }
    return 0;
}

int hcy__flatjson_is_null(flatjson_value v)
{
    return !v.text || (v.size == 4 && !strncmp(v.text, "null", 4));
}

int hcy__flatjson_number(double *x, flatjson_value v)
{
    if (!v.text || number(v.text) != v.text + v.size)
        return -1;
    *x = strtod(v.text, NULL);
    return 0;
}

int hcy__flatjson_numbers(double *x, size_t n, flatjson_value v)
{
    const char *p = v.text;

    if (!p || *p != '[')
        return -1;
    for (size_t i = 0; i < n; i++) {
        flatjson_value item;

        item.text = blanks(p + 1);
        if (!(p = word(item.text)))
            return -1;
        item.size = (size_t)(p - item.text);
        if (hcy__flatjson_number(&x[i], item))
            return -1;
        p = blanks(p);
        if (*p != (i + 1 < n ? ',' : ']'))
            return -1;
    }
    return 0;
}

/* The 16 bits of "uXXXX", or -1. */
static long code_unit(const char *p, const char *end)
{
    long code = 0;

    if (end - p < 5 || *p != 'u')
        return -1;
    for (int i = 1; i <= 4; i++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, tolower((unsigned char)p[i]));

        if (!p[i] || !digit)
            return -1;
        code = 16 * code + (digit - digits);
    }
    return code;
}

/* A character by its number, as UTF-8; how many bytes. */
static size_t put_utf8(char out[4], unsigned long code)
{
    static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(heads[n] | code);
    return n;
}

/* Of a "uXXXX", or of two that are one character: the bytes that it stands for; NULL: it stands for none. */
static const char *take_code(char out[4], size_t *n, const char *p, const char *end)
{
    long code = code_unit(p, end);

    if (code >= 0xd800 && code < 0xdc00) {
        long low = end - p > 5 && p[5] == '\\' ? code_unit(p + 6, end) : -1;

        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
        p += 6;
    }
    if (code <= 0 || (code >= 0xd800 && code < 0xe000))
        return NULL;
    *n = put_utf8(out, (unsigned long)code);
    return p + 5;
}

int hcy__flatjson_string(char *text, size_t size, flatjson_value v)
{
    size_t used = 0;

    if (!v.text || v.size < 2 || *v.text != '"')
        return -1;
    for (const char *p = v.text + 1, *end = v.text + v.size - 1; p < end;) {
        char bytes[4] = { *p };
        size_t n = 1;

        /* Python escapes what is not ASCII.  Other escapes that stand for another character are refused: names with
         * them would be other files' names. */
        if (*p != '\\') {
            p++;
        } else if (p + 1 < end && strchr("\"\\/", p[1])) {
            bytes[0] = p[1];
            p += 2;
        } else if (!(p = take_code(bytes, &n, p + 1, end))) {
            return -1;
        }
        if (used + n >= size)
            return -1;
        memcpy(text + used, bytes, n);
        used += n;
    }
    text[used] = 0;
    return 0;
}
