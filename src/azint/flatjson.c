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

/* A number or one of the three words. */
static const char *word(const char *p)
{
    static const char *const words[] = { "null", "true", "false" };
    char *end;

    for (size_t i = 0; i < 3; i++) {
        if (!strncmp(p, words[i], strlen(words[i])))
            return p + strlen(words[i]);
    }
    if (*p != '-' && !isdigit((unsigned char)*p))
        return NULL;
    (void)strtod(p, &end);
    return end;
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
    char *end;

    /* strtod() would also take blanks, hexadecimal numbers and "inf", which JSON does not have. */
    if (!v.text || (*v.text != '-' && !isdigit((unsigned char)*v.text)))
        return -1;
    *x = strtod(v.text, &end);
    return end == v.text + v.size ? 0 : -1;
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

int hcy__flatjson_string(char *text, size_t size, flatjson_value v)
{
    size_t n = 0;

    if (!v.text || v.size < 2 || *v.text != '"')
        return -1;
    for (size_t i = 1; i + 1 < v.size; i++) {
        /* Escapes that stand for other characters are refused: names with them would be other files'
         * names. */
        if (v.text[i] == '\\' && !strchr("\"\\/", v.text[++i]))
            return -1;
        if (n + 1 >= size)
            return -1;
        text[n++] = v.text[i];
    }
    text[n] = 0;
    return 0;
}
