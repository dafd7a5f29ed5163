/* results.c - reading curves and images that were written before: which format, and what is the same for all.
 */
#include "results.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hcy_results {
    const hcy__results_format *format;
    void *state;
    char *path;
    hcy__results_head head;
    hcy_results_info info;
};

#ifndef HAVE_HDF5
static int no_hdf5_open(void **state, hcy__results_head *head)
{
    static const unsigned char magic[8] = "\211HDF\r\n\032\n";
    unsigned char start[8];
    int fd, number, st = hcy__open_file(&fd, head->path);
    (void)state;
    if (st)
        return st;
    uint64_t n = hcy__read_at(fd, start, sizeof start, 0, &number);
    close(fd);
    return n == sizeof start && !memcmp(start, magic, sizeof magic)
               ? hcy_fail(HCY_EUNSUPPORTED, "%s: this build of Halcyon has no HDF5", head->path)
               : 0;
}
static const hcy__results_format hcy__results_h5 = { no_hdf5_open, NULL, NULL };
#define hcy__results_isolated hcy__results_h5
#endif

/* HDF5's files are the reader's first, if they are isolated.  Text is last: it takes any file. */
static const hcy__results_format *const formats[] = { &hcy__results_isolated, &hcy__results_h5, &hcy__results_edf,
                                                      &hcy__results_text };

static int open_results_format(hcy_results *r)
{
    int fd, st = hcy__open_file(&fd, r->path); /* HDF5 would wait for a pipe */
    if (st)
        return st;
    close(fd);
    for (size_t i = 0; !st && !r->state && i < sizeof formats / sizeof formats[0]; i++) {
        r->format = formats[i];
        /* A format that does not know the file returns 0 and sets no state. */
        st = r->format->open(&r->state, &r->head);
    }
    return st;
}

static void fill_results_info(hcy_results *r)
{
    const hcy__results_head *head = &r->head;
    const hcy_azint_unit *unit = hcy_azint_unit_find(head->unit),
                         *azimuth = head->n_azim ? hcy_azint_unit_find(head->azimuth_unit) : NULL;
    r->info = (hcy_results_info){ .path = r->path,
                                  .rows = head->rows,
                                  .n_radial = head->n_radial,
                                  .n_azim = head->n_azim,
                                  .radial = head->radial,
                                  .azimuthal = head->azimuthal,
                                  .unit = head->unit,
                                  .label = unit ? unit->label : head->unit,
                                  .has_sigma = head->has_sigma,
                                  .pixels = head->pixels,
                                  .definition = head->definition,
                                  .azimuth_unit = head->n_azim ? head->azimuth_unit : "",
                                  .azimuth_label = azimuth ? azimuth->label : "",
                                  .has_sums = head->has_sums,
                                  .failed = head->failed,
                                  .first_failed = head->first_failed };
}

int hcy_results_open(hcy_results **results, const char *path)
{
    if (!results || !path)
        return hcy_fail(HCY_EINVAL, "hcy_results_open: results and path must not be NULL");
    *results = NULL;
    hcy_results *r = calloc(1, sizeof *r);
    if (!r || !(r->path = strdup(path))) {
        free(r);
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    }
    r->head.path = r->path;
    int st = open_results_format(r);
    if (st) {
        /* Closing may set another error. */
        hcy_error why = *hcy_last_error();
        hcy_results_close(r);
        return hcy_fail_again(&why);
    }
    fill_results_info(r);
    *results = r;
    return 0;
}

const hcy_results_info *hcy_results_get_info(const hcy_results *results)
{
    return results ? &results->info : NULL;
}

int hcy_results_read(uint64_t *frame, double *intensity, double *sigma, hcy_results *r, uint64_t row)
{
    uint64_t number = row;
    if (!r || !intensity)
        return hcy_fail(HCY_EINVAL, "hcy_results_read: results and intensity must not be NULL");
    if (row >= r->head.rows)
        return hcy_fail(HCY_ERANGE, "%s: there is no row %llu, it has %llu, counted from 0", r->path,
                        (unsigned long long)row, (unsigned long long)r->head.rows);
    int st = r->format->read(r->state, &r->head, row, &number, intensity, r->head.has_sigma ? sigma : NULL);
    size_t n = r->head.n_radial * (r->head.n_azim ? r->head.n_azim : 1);
    /* Whoever asks for errors that are not there gets NaN, and need not ask first. */
    for (size_t i = 0; !st && sigma && !r->head.has_sigma && i < n; i++)
        sigma[i] = NAN;
    if (!st && frame)
        *frame = number;
    return st;
}

void hcy_results_close(hcy_results *r)
{
    if (!r)
        return;
    if (r->state)
        r->format->close(r->state);
    free(r->head.radial);
    free(r->head.azimuthal);
    free(r->head.pixels);
    free(r->path);
    free(r);
}
