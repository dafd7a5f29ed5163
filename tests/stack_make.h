/* stack_make.h - files for the tests of stacks: a folder of their own, HDF5 and NumPy files made by hand.
 *
 * Pixels are a formula of frame and place, so that nothing has to be kept.  Single-threaded.
 */
#ifndef STACK_MAKE_H
#define STACK_MAKE_H

#include "tap.h"
#include <azint_format.h>
#include <bslz4_format.h>
#include <halcyon/stack.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

static inline void remove_folder(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command))
        diag("%s could not be removed", folder);
}

static inline void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/halcyon-stack-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        bail_out("%s cannot be made", folder);
    atexit(remove_folder);
}

/* A path in the folder; one of 8 buffers, taken in turn. */
static inline const char *in_folder(const char *name)
{
    static char paths[8][512];
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Pixel i of a frame: small numbers with a few large ones, in elements of `size` bytes (a float if
 * `is_float`). */
static inline void put_pixel(void *at, size_t size, int is_float, uint64_t frame, size_t i)
{
    uint64_t v = (i * 2654435761u ^ frame * 40503u) >> 7;
    v = i % 97 == 5 ? v & 0xffff : v & 7;
    if (is_float && size == 4)
        memcpy(at, &(float){ (float)v + 0.25f }, 4);
    else if (is_float)
        memcpy(at, &(double){ (double)v + 0.125 }, 8);
    else
        memcpy(at, &v, size); /* little-endian hosts */
}

static inline void make_frame(void *pixels, const hcy_stack_info *info, uint64_t frame)
{
    int is_float = info->pixel_type == HCY_PIXEL_F32 || info->pixel_type == HCY_PIXEL_F64;
    for (size_t i = 0; i < (size_t)info->height * info->width; i++)
        put_pixel((char *)pixels + i * info->elem_size, info->elem_size, is_float, frame, i);
}

static inline void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
        bail_out("%s cannot be written", path);
}

/* A NumPy file: the dictionary as given, then n bytes (or what fits before `cut`, if that is not 0). */
static inline void put_npy(const char *path, int version, const char *dictionary, const void *bytes, size_t n)
{
    size_t length = strlen(dictionary) + 1, at = version == 1 ? 10 : 12, total = at + length + n;
    unsigned char *file = calloc(1, total);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[8] = (unsigned char)length;
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + at, dictionary, length - 1);
    file[at + length - 1] = '\n';
    memcpy(file + at + length, bytes, n);
    put_file(path, file, total);
    free(file);
}

/* Status `want`, and words that name each of the '|'-separated parts. */
static inline void fails(int got, int want, const char *parts, const char *what)
{
    char copy[256];
    const hcy_error *error = hcy_last_error();
    int named = got == want && error->status == want;
    snprintf(copy, sizeof copy, "%s", parts);
    for (char *save = NULL, *part = strtok_r(copy, "|", &save); part; part = strtok_r(NULL, "|", &save))
        named = named && (strstr(error->text, part) || strstr(error->vendor, part));
    if (!ok(named, "%s: %s, named", what, hcy_status_name(want)))
        diag("got %s: %s (%s)", hcy_status_name(got), error->text, error->vendor);
}

#endif
