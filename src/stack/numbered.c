/* numbered.c - paths with a number in them: "curve_%04d.dat". */
#include "stack_priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hcy__numbered_parse(hcy__numbered *n, const char *path)
{
    const char *at = strchr(path, '%');
    *n = (hcy__numbered){ .path = path };
    if (!at)
        return 0;
    char *end;
    n->zeros = at[1] == '0';
    /* The conversion is read by hand and never given to printf(): a path is the user's text. */
    const unsigned long width = strtoul(at + 1, &end, 10);
    /* Digits alone: strtoul() takes blanks and a sign as well. */
    const int plain = strspn(at + 1, "0123456789") == (size_t)(end - at - 1);
    if (*end != 'd' || !plain || width > 20 || strchr(end, '%'))
        return hcy_fail(HCY_EINVAL, "%s: a numbered path has one %%d or %%04d, and no other %%", path);
    n->width = (int)width;
    n->at = (size_t)(at - path);
    n->length = (size_t)(end + 1 - at);
    return 0;
}

char *hcy__numbered_path(const hcy__numbered *n, uint64_t number)
{
    size_t size = strlen(n->path) + 32;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, n->zeros ? "%.*s%0*llu%s" : "%.*s%*llu%s", (int)n->at, n->path, n->width,
                 (unsigned long long)number, n->path + n->at + n->length);
    return path;
}

int hcy_numbered_path(char *path, size_t size, const char *pattern, uint64_t number)
{
    hcy__numbered numbered;
    if (!path || !pattern)
        return hcy_fail(HCY_EINVAL, "hcy_numbered_path: path and pattern must not be NULL");
    int st = hcy__numbered_parse(&numbered, pattern);
    char *made = NULL;
    if (!st)
        made = numbered.length ? hcy__numbered_path(&numbered, number) : strdup(pattern);
    if (!st && !made)
        st = hcy_fail(HCY_ENOMEM, "no memory for a file's name");
    if (made && (size_t)snprintf(path, size, "%s", made) >= size)
        st = hcy_fail(HCY_ERANGE, "%s: the name is too long", pattern);
    free(made);
    return st;
}
