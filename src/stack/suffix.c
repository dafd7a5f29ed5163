/* suffix.c - which formats are written, by the suffix of a path: one table for all commands. */
#include "stack_priv.h"
#include <stdio.h>
#include <string.h>

#define ALL_H5                                                                                                  \
    (HCY_WRITE_CURVES | HCY_WRITE_CAKES | HCY_WRITE_IMAGES | HCY_WRITE_PACKED | HCY_WRITE_ARRAY | HCY_WRITE_TABLE)

static const struct {
    const char *suffix, *format;
    unsigned uses;
} table[] = {
#ifdef HAVE_HDF5
    { ".h5", "h5", ALL_H5 },
    { ".hdf5", "h5", ALL_H5 },
    { ".nxs", "h5", ALL_H5 },
#endif
    { ".npy", "npy", HCY_WRITE_IMAGES | HCY_WRITE_ARRAY | HCY_WRITE_TABLE },
    { ".npz", "npz", HCY_WRITE_ARRAY },
    { ".tif", "tiff", HCY_WRITE_IMAGES },
    { ".tiff", "tiff", HCY_WRITE_IMAGES },
    { ".edf", "edf", HCY_WRITE_IMAGES | HCY_WRITE_CAKES },
    { ".cbf", "cbf", HCY_WRITE_IMAGES },
    { ".dat", "dat", HCY_WRITE_CURVES | HCY_WRITE_TABLE },
    { ".txt", "dat", HCY_WRITE_CURVES | HCY_WRITE_TABLE },
    { ".xy", "xy", HCY_WRITE_CURVES },
    { ".xye", "xye", HCY_WRITE_CURVES },
    { ".chi", "chi", HCY_WRITE_CURVES },
    { ".fxye", "fxye", HCY_WRITE_CURVES },
    { ".svg", "svg", HCY_WRITE_PICTURE },
    { ".png", "png", HCY_WRITE_PICTURE },
    { ".pdf", "pdf", HCY_WRITE_PICTURE },
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
                  { HCY_WRITE_PICTURE, "plots" } };
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

int hcy_format_of(const char **format, const char *path, unsigned use)
{
    if (!format || !path)
        return hcy_fail(HCY_EINVAL, "hcy_format_of: format and path must not be NULL");
    const char *base = strrchr(path, '/'), *suffix = strrchr(base ? base : path, '.');
    if (!suffix)
        suffix = "";
    *format = NULL;
    for (size_t i = 0; i < N_SUFFIXES && !*format; i++)
        if ((table[i].uses & use) && !strcmp(suffix, table[i].suffix))
            *format = table[i].format;
    return *format ? 0 : refuse_suffix(path, suffix, use);
}
