/* results_edf.c - images in radius and azimuth from EDF, as this library and pyFAI write them: the axes are
 * the header's "q_nm^-1_min", "q_nm^-1_max", "chi_min" and "chi_max", centres of the first and the last bin.
 */
#include "files.h"
#include "results.h"
#include <azint/plain_locale.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct edf {
    hcy__frames frames;
    hcy_stack_info info; /* as far as the format's read() wants it */
    void *pixels;
};

static void edf_results_close(void *state)
{
    struct edf *edf = state;
    free(edf->frames.offsets);
    free(edf->pixels);
    free(edf);
}

/* Only a disk that fails is a failure: other formats are to come. */
static int is_edf(int *is, const char *path)
{
    hcy__bytes bytes;
    unsigned char magic[HCY__MAGIC];
    size_t n;
    *is = 0;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st == HCY_EIO ? st : 0;
    st = hcy__bytes_read(&n, &bytes, magic, sizeof magic, 0);
    *is = !st && hcy__format_edf.is(magic, n);
    hcy__bytes_close(&bytes);
    return st;
}

/* Reads an axis of n centres from NAME_min to NAME_max. */
static int read_edf_axis(double **axis, size_t n, const char *text, const char *name)
{
    static const char *const ends[] = { "min", "max" };
    double at[2];
    for (int i = 0; i < 2; i++) {
        char key[64], value[64], *end;
        snprintf(key, sizeof key, "%s_%s", name, ends[i]);
        if (!hcy__edf_value(value, sizeof value, text, key))
            return HCY_EFORMAT;
        at[i] = strtod(value, &end);
        if (end == value)
            return HCY_EFORMAT;
    }
    *axis = malloc(n * sizeof **axis);
    if (!*axis)
        return hcy_fail(HCY_ENOMEM, "no memory for an axis of %zu bins", n);
    for (size_t i = 0; i < n; i++)
        (*axis)[i] = n > 1 ? at[0] + (at[1] - at[0]) * (double)i / (double)(n - 1) : at[0];
    return 0;
}

static int read_axes(hcy__results_head *head, const struct edf *edf, const char *text)
{
    size_t n;
    const hcy_azint_unit *units = hcy_azint_unit_list(&n);
    int st = HCY_EFORMAT;
    if (!hcy__edf_value(head->azimuth_unit, sizeof head->azimuth_unit, text, "azimuth_unit"))
        snprintf(head->azimuth_unit, sizeof head->azimuth_unit, "chi_deg");
    /* The unit is not said; the header's keys begin with it, so each is tried. */
    for (size_t i = 0; i < n && st == HCY_EFORMAT; i++) {
        if (!strcmp(units[i].name, head->azimuth_unit))
            continue;
        st = read_edf_axis(&head->radial, (size_t)edf->frames.width, text, units[i].name);
        if (!st)
            snprintf(head->unit, sizeof head->unit, "%s", units[i].name);
    }
    if (!st)
        st = read_edf_axis(&head->azimuthal, (size_t)edf->frames.height, text, "chi");
    if (st == HCY_EFORMAT) /* pyFAI's name for it, or what is seen from the sample */
        st = read_edf_axis(&head->azimuthal, (size_t)edf->frames.height, text, head->azimuth_unit);
    if (st == HCY_EFORMAT)
        return hcy_fail(HCY_EFORMAT,
                        "%s: its header has no range in radius and chi: it is not a result of an integration",
                        head->path);
    return st;
}

static int fill_edf_results(struct edf *edf, hcy__results_head *head)
{
    char *text = NULL;
    size_t bytes;
    int st = hcy__format_edf.scan(&edf->frames, head->path);
    if (st)
        return st;
    const hcy__frames *frames = &edf->frames;
    /* Results are floats: whole numbers are raw frames, which the format's reader would take as well. */
    if (frames->pixel->kind != 'f' || hcy_size_mul(&bytes, (size_t)frames->height, (size_t)frames->width) ||
        hcy_size_mul(&bytes, bytes, sizeof(double)))
        return hcy_fail(HCY_EFORMAT, "%s: images of %s are not results of an integration", head->path,
                        frames->pixel->name);
    /* Read through the format of stacks, which wants a stack's numbers. */
    edf->info = (hcy_stack_info){ .height = (uint32_t)frames->height,
                                  .width = (uint32_t)frames->width,
                                  .pixel_type = frames->pixel->type,
                                  .elem_size = frames->pixel->size,
                                  .frame_bytes = frames->height * frames->width * frames->pixel->size };
    head->rows = frames->n;
    head->n_radial = (size_t)frames->width;
    head->n_azim = (size_t)frames->height;
    edf->pixels = malloc((size_t)edf->info.frame_bytes);
    if (!edf->pixels)
        return hcy_fail(HCY_ENOMEM, "no memory for an image of %s", head->path);
    /* Read before axes are made: a header alone must not make them as long as it says. */
    st = hcy__format_edf.read(edf->pixels, head->path, frames->offsets[0], &edf->info);
    /* The first header has the axes of all. */
    if (!st)
        st = hcy__edf_text(&text, head->path, frames->offsets[0]);
    if (!st)
        st = read_axes(head, edf, text);
    free(text);
    return st;
}

static int edf_results_open(void **state, hcy__results_head *head)
{
    int is, st = is_edf(&is, head->path);
    if (st || !is)
        return st;
    struct edf *edf = calloc(1, sizeof *edf);
    if (!edf)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", head->path);
    *state = edf;
    hcy__plain plain = hcy__plain_enter();
    st = fill_edf_results(edf, head);
    hcy__plain_leave(plain);
    return st;
}

static int edf_results_read(void *state, const hcy__results_head *head, uint64_t row, uint64_t *frame,
                    double *intensity, double *sigma)
{
    struct edf *edf = state;
    uint64_t at = edf->frames.offsets[row];
    char *text = NULL, value[32];
    (void)sigma;
    int st = hcy__format_edf.read(edf->pixels, head->path, at, &edf->info);
    if (!st)
        st = hcy__edf_text(&text, head->path, at);
    if (!st && hcy__edf_value(value, sizeof value, text, "frame"))
        *frame = strtoull(value, NULL, 10);
    free(text);
    for (size_t i = 0; !st && i < head->n_radial * head->n_azim; i++)
        intensity[i] =
            edf->info.elem_size == 8 ? ((const double *)edf->pixels)[i] : ((const float *)edf->pixels)[i];
    return st;
}

const hcy__results_format hcy__results_edf = { edf_results_open, edf_results_read, edf_results_close };
