/* gpu_tuning.c - rows of parameters, and which one a device has.  Pure functions and files. */
#include "gpu_tuning.h"

#include "gpu.h"
#include "gpu_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gpu_row rows[GPU_ROWS] = {
    { 8, 8, 256, 4 }, /* an H200's and, alone, a processor's best */
    { 4, 8, 256, 8 }, /* groups that fit 48 KiB of local memory */
    { 4, 16, 128, 2 },
    { 8, 16, 512, 4 },
};
enum { LARGE = 0, SMALL = 1 };

const struct gpu_row *gpu_row_of(const struct gpu_choice *choice)
{
    return &rows[choice->row >= 0 && choice->row < GPU_ROWS ? choice->row : 0];
}

/* Of all that is compiled: other texts or rows make another choice necessary. */
static uint64_t hash_texts(uint64_t h, uint64_t key)
{
    /* Only these texts are compiled with a row's parameters. */
    const char *const texts[] = { gpu_text_decode_fast, gpu_text_azint_fast };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (const char *p = texts[i]; *p; p++)
            h = (h ^ (unsigned char)*p) * 1099511628211u;
    for (const unsigned char *p = (const unsigned char *)rows; p < (const unsigned char *)(rows + GPU_ROWS); p++)
        h = (h ^ *p) * 1099511628211u;
    return (h ^ key) * 1099511628211u;
}

static int64_t kept_tuned_row(const struct gpu_tuned *of, uint64_t key, uint64_t check)
{
    size_t size;
    char kind[32];
    snprintf(kind, sizeof kind, "tuned-%s", of->backend);
    unsigned char *data = gpu_cache_read(kind, key, check, &size);
    /* What the cache has may be of another version with other rows: it counts only if it is one of ours. */
    int64_t row = data && size == 1 && *data < GPU_ROWS ? *data : GPU_NO_ROW;
    free(data);
    return row;
}

static int keep_tuned_row(const struct gpu_tuned *of, uint64_t key, uint64_t check, int64_t row)
{
    char kind[32];
    unsigned char byte = (unsigned char)row;
    snprintf(kind, sizeof kind, "tuned-%s", of->backend);
    gpu_cache_write(kind, key, check, &byte, 1);
    /* Writing the cache never fails aloud, so what is kept is read back: the user has asked for this row. */
    return kept_tuned_row(of, key, check) == row
               ? 0
               : hcy_fail(HCY_EIO, "%s@keep=1: there is no directory for what is kept, or it cannot be written"
                                   " (HALCYON_CACHE_DIR)", of->backend);
}

int gpu_check_fft(int fft, bool has_library, const char *name)
{
    return fft == 1 && !has_library ? hcy_fail(HCY_EUNSUPPORTED, "fft=%s: it is not here", name) : 0;
}

int gpu_choice_settle(struct gpu_choice *choice, const struct gpu_tuned *of)
{
    uint64_t key = hash_texts(14695981039346656037u, of->key), check = hash_texts(0x9e3779b97f4a7c15u, of->key);
    /* The large row's groups want more local memory than some devices have. */
    bool small = !of->alone && of->local_bytes && of->local_bytes < gpu_fast_local_bytes(&rows[LARGE]);
    if (choice->keep && choice->row == GPU_NO_ROW)
        return hcy_fail(HCY_EINVAL, "%s@keep=1: which row, is said by row=N", of->backend);
    if (choice->keep)
        return keep_tuned_row(of, key, check, choice->row);
    /* What the user says comes first, then what was kept, then what is known of such devices. */
    if (choice->row == GPU_NO_ROW)
        choice->row = kept_tuned_row(of, key, check);
    if (choice->row == GPU_NO_ROW)
        choice->row = small ? SMALL : LARGE;
    return 0;
}

bool gpu_choice_number(int64_t *value, const struct gpu_choice *choice, const char *key)
{
    const bool number = !strcmp(key, "tuning_rows"), own = !strcmp(key, "tuning_row");
    if (number || own)
        *value = number ? GPU_ROWS : choice->row;
    return number || own;
}
