/* recon_epi.c - EPI of halcyon recon: what navigators say of its lines, every second one of which is reversed. */
#include "recon.h"
#include <complex.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Samples [channels][acquisitions][samples] lose that phase. */
static void turn_line(hcy_host_array *samples, size_t line, double phase)
{
    const size_t lines = (size_t)samples->shape[1], n = (size_t)samples->shape[2];
    const double complex turn = cexp(-I * phase);
    for (size_t c = 0; c < samples->shape[0]; c++)
        for (size_t s = 0; s < n; s++) {
            float *at = (float *)samples->data + 2 * ((c * lines + line) * n + s);
            const double complex turned = turn * (at[0] + I * at[1]);
            at[0] = (float)creal(turned);
            at[1] = (float)cimag(turned);
        }
}

/* Coordinates [acquisitions][samples][x first].  A phase along x is a shift of k: the transform takes it wherever
 * samples lie. */
static void shift_line(hcy_host_array *points, size_t line, double shift)
{
    const size_t n = (size_t)points->shape[1], axes = (size_t)points->shape[2];
    for (size_t s = 0; s < n; s++)
        ((float *)points->data)[(line * n + s) * axes] += (float)shift;
}

/* How far a line's samples are from one another in its middle. */
static double step_of(const hcy_host_array *points, size_t line)
{
    const size_t n = (size_t)points->shape[1], axes = (size_t)points->shape[2];
    const float *middle = (const float *)points->data + (line * n + n / 2) * axes;
    const double step = n > 1 ? fabs((double)middle[0] - (double)middle[-(ptrdiff_t)axes]) : 0;
    return step > 0 ? step : 1;
}

static void note_ghosts(const struct recon *r, const double *said, const hcy_host_array *points)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    size_t none = 0, slice;
    /* Whoever takes some of the lines need not hear of the others. */
    for (size_t taken = 0; taken < r->n_taken; taken++) {
        const size_t i = recon_acquisition(&slice, r, taken);
        if (!isfinite(said[2 * i])) {
            none++;
            continue;
        }
        least = fmin(least, said[2 * i] / step_of(points, i));
        most = fmax(most, said[2 * i] / step_of(points, i));
    }
    if (none < r->n_taken)
        cli_note("%s: by its navigators lines are %.3f to %.3f samples beside their coordinates, and reversed ones have "
                 "another phase, which is corrected; --no-navigators leaves them", r->kspace, least, most);
    if (none)
        cli_note("%s: of %zu of %zu lines navigators say nothing, as there are none of their slice and set, or these have no "
                 "signal: they stay as they are", r->kspace, none, r->n_taken);
}

int recon_correct_lines(struct recon *r, hcy_host_array *samples, hcy_host_array *points)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char *name = r->v->no_navigators ? NULL : recon_name_part(r, "navigators");
    /* Coordinates of another file may have it all. */
    const int st = r->v->no_navigators || r->v->trajectory ? HCY_ENOENT
                   : name ? hcy_host_array_read(&a, name)
                          : hcy_fail(HCY_ENOMEM, "no memory for the names of files");
    free(name);
    if (st)
        return st == HCY_ENOENT ? CLI_OK : cli_fail(st);
    const double *said = a.data;
    const size_t lines = (size_t)a.shape[0];
    int status = CLI_OK;
    if (a.rank != 2 || a.is_complex || a.bytes != 8 || a.shape[1] != 2 || samples->rank != 3 || samples->bytes != 4 ||
        samples->shape[1] != lines || points->rank != 3 || points->bytes != 4 || points->shape[0] != lines)
        status = cli_error("%s: its /navigators are none of ISMRMRD's, or it changed while it was read", r->kspace);
    for (size_t i = 0; !status && i < lines; i++)
        if (isfinite(said[2 * i])) {
            shift_line(points, i, said[2 * i]);
            turn_line(samples, i, said[2 * i + 1]);
        }
    if (!status && !r->v->quiet)
        note_ghosts(r, said, points);
    hcy_host_array_free(&a);
    return status;
}
