/* suffix.c - formats by the suffix of a path: which are written, which hold several things, of which one is named
 * behind a colon.  One table for all commands. */
#include "host_array.h"
#include "stack_priv.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ALL_H5                                                                                                  \
    (HCY_WRITE_CURVES | HCY_WRITE_CAKES | HCY_WRITE_IMAGES | HCY_WRITE_PACKED | HCY_WRITE_ARRAY | HCY_WRITE_TABLE)
#ifdef HAVE_HDF5
#define IN_H5(uses) (uses)
#else
#define IN_H5(uses) 0 /* known, so that it can be said what the build lacks */
#endif

static const struct suffix {
    const char *suffix, *format;
    unsigned uses;
    const char *parts; /* what may stand behind a colon: "" anything, else one of these words; NULL: nothing */
} table[] = {
    { ".h5", "h5", IN_H5(ALL_H5), "" },
    { ".hdf5", "h5", IN_H5(ALL_H5), "" },
    { ".nxs", "h5", IN_H5(ALL_H5), "" },
    { ".mrd", "mrd", IN_H5(HCY_WRITE_ARRAY), "" },
    { ".npy", "npy", HCY_WRITE_IMAGES | HCY_WRITE_ARRAY | HCY_WRITE_TABLE, NULL },
    { ".npz", "npz", HCY_WRITE_ARRAY, "" },
    { ".cfl", "cfl", HCY_WRITE_ARRAY, NULL },
    { ".nii", "nii", HCY_WRITE_ARRAY, "complex magnitude phase real imaginary" },
    { ".tif", "tiff", HCY_WRITE_IMAGES, NULL },
    { ".tiff", "tiff", HCY_WRITE_IMAGES, NULL },
    { ".edf", "edf", HCY_WRITE_IMAGES | HCY_WRITE_CAKES, NULL },
    { ".cbf", "cbf", HCY_WRITE_IMAGES, NULL },
    { ".dat", "dat", HCY_WRITE_CURVES | HCY_WRITE_TABLE, NULL },
    { ".txt", "dat", HCY_WRITE_CURVES | HCY_WRITE_TABLE, NULL },
    { ".xy", "xy", HCY_WRITE_CURVES, NULL },
    { ".xye", "xye", HCY_WRITE_CURVES, NULL },
    { ".chi", "chi", HCY_WRITE_CURVES, NULL },
    { ".fxye", "fxye", HCY_WRITE_CURVES, NULL },
    { ".svg", "svg", HCY_WRITE_PICTURE, NULL },
    { ".png", "png", HCY_WRITE_PICTURE, NULL },
    { ".pdf", "pdf", HCY_WRITE_PICTURE, NULL },
    { ".poni", "poni", HCY_WRITE_GEOMETRY, NULL },
    { ".json", "json", HCY_WRITE_SETTINGS, NULL },
};
enum { N_SUFFIXES = sizeof table / sizeof table[0] };

static const char *words_of_use(unsigned use)
{
    static const struct {
        unsigned use;
        const char *words;
    } names[] = { { HCY_WRITE_CURVES, "curves" },         { HCY_WRITE_CAKES, "images in radius and azimuth" },
                  { HCY_WRITE_IMAGES, "images" },         { HCY_WRITE_PACKED, "packed images" },
                  { HCY_WRITE_ARRAY, "arrays" },          { HCY_WRITE_TABLE, "tables of regions" },
                  { HCY_WRITE_PICTURE, "plots" },             { HCY_WRITE_GEOMETRY, "geometries" },
                  { HCY_WRITE_SETTINGS, "configurations" } };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].use == use)
            return names[i].words;
    return "results";
}

static int refuse_suffix(const char *path, const char *suffix, unsigned use)
{
    char those[160] = "";
    size_t used = 0;
    /* The message lists what this build can write, from the same table. */
    for (size_t i = 0; i < N_SUFFIXES; i++)
        if (table[i].uses & use)
            used += (size_t)snprintf(those + used, sizeof those - used, "%s%s", used ? ", " : "", table[i].suffix);
#ifndef HAVE_HDF5
    /* Whoever could have had HDF5 is told so, all the more where it is the only format. */
    if (ALL_H5 & use)
        (void)snprintf(those + used, sizeof those - used, "%s", used ? " (not .h5: this build has no HDF5)"
                                                                      : ".h5; but this build has no HDF5");
#endif
    if (!*suffix)
        return hcy_fail(HCY_EINVAL, "%s: the name has no suffix to say the format; %s are written as one of %s", path,
                        words_of_use(use), those);
    return hcy_fail(HCY_EINVAL, "%s: %s are not written as %s; use one of %s", path, words_of_use(use), suffix, those);
}

/* The table's line for the suffix with which the first n characters of a path end; NULL: none. */
static const struct suffix *find_suffix(const char *path, size_t n)
{
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        size_t length = strlen(table[i].suffix);
        if (n > length && !memcmp(path + n - length, table[i].suffix, length))
            return &table[i];
    }
    return NULL;
}

size_t hcy_file_length(const char *path)
{
    const char *colon = path ? strrchr(path, ':') : NULL;
    /* The suffix stands before the colon: a folder or a file may have colons in its name. */
    const struct suffix *found = colon ? find_suffix(path, (size_t)(colon - path)) : NULL;
    if (found && found->parts)
        return (size_t)(colon - path);
    return path ? strlen(path) : 0;
}

const char *hcy__array_format(const char **part, char *path)
{
    size_t n = hcy_file_length(path);
    const struct suffix *found = find_suffix(path, n);
    *part = path[n] ? path + n + 1 : NULL;
    path[n] = 0;
    return found ? found->format : "npy";
}

/* Is it one of the words, which blanks separate?  Two of them are not. */
static int is_among_words(const char *word, const char *words)
{
    size_t n = strchr(word, ' ') ? 0 : strlen(word);
    for (const char *at = words; n && (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
}

/* HDF5 passes over empty names and "." on its way, so that of nothing else the whole file is left. */
static bool is_root(const char *part)
{
    size_t n;
    for (const char *at = part; *at; at += n + (at[n] != 0)) {
        n = strcspn(at, "/");
        if (n > 1 || (n && *at != '.'))
            return false;
    }
    return *part != 0;
}

int hcy_format_of(const char **format, const char *path, unsigned use)
{
    if (!format || !path)
        return hcy_fail(HCY_EINVAL, "hcy_format_of: format and path must not be NULL");
    /* Of a file of several things one is named for arrays alone. */
    size_t n = use == HCY_WRITE_ARRAY ? hcy_file_length(path) : strlen(path);
    const struct suffix *found = find_suffix(path, n);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *suffix = strrchr(base, '.');
    *format = found && (found->uses & use) ? found->format : NULL;
    /* What begins with its only dot has no suffix but a name. */
    if (!*format)
        return refuse_suffix(path, suffix && suffix != base ? suffix : "", use);
    if (path[n] && !*found->parts && strcmp(found->format, "npz") && is_root(path + n + 1))
        return hcy_fail(HCY_EINVAL, "%s: behind the colon is the whole file, and no name in it; give one, as in %.*s:image",
                        path, (int)n, path);
    if (path[n] && *found->parts && !is_among_words(path + n + 1, found->parts))
        return hcy_fail(HCY_EINVAL, "%s: behind the colon is none of these: %s", path, found->parts);
    return 0;
}
