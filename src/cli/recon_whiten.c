/* recon_whiten.c - coils whose noise is not alike, or not independent, made such that it is: with their noise's
 * covariance C = L L^H, samples b become L^-1 b, and maps alike.  Least squares of these weigh each coil as it
 * deserves. */
#include "recon.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>

typedef double complex number;
enum { ENOUGH = 10 }; /* samples, for each coil */

static number number_at(bool is_double, const void *numbers, size_t i)
{
    return reals_get(is_double, numbers, 2 * i) + I * reals_get(is_double, numbers, 2 * i + 1);
}

/* The lower half of C, of n samples [coils][n] of `pace` times the variance. */
static void find_covariance(number *c, size_t coils, size_t n, const void *noise, double pace)
{
    for (size_t i = 0; i < coils; i++)
        for (size_t j = 0; j <= i; j++) {
            number sum = 0;
            for (size_t s = 0; s < n; s++)
                sum += number_at(true, noise, i * n + s) * conj(number_at(true, noise, j * n + s));
            c[i * coils + j] = sum / ((double)n * pace);
        }
}

/* C becomes L; false: of a coil's noise nothing is left beside what it shares with others, or it is no number. */
static bool factor(number *c, size_t coils)
{
    for (size_t j = 0; j < coils; j++) {
        double left = creal(c[j * coils + j]);
        const double whole = left;
        for (size_t k = 0; k < j; k++)
            left -= creal(c[j * coils + k] * conj(c[j * coils + k]));
        if (!(left > 1e-12 * whole && isfinite(left)))
            return false;
        c[j * coils + j] = sqrt(left);
        for (size_t i = j + 1; i < coils; i++) {
            number sum = c[i * coils + j];
            for (size_t k = 0; k < j; k++)
                sum -= c[i * coils + k] * conj(c[j * coils + k]);
            c[i * coils + j] = sum / c[j * coils + j];
        }
    }
    return true;
}

/* Numbers [series][coils][n]. */
static void whiten(const struct recon *r, void *numbers, size_t series, size_t n, const number *l, number *one)
{
    for (size_t at = 0; at < series * n; at++) {
        const size_t first = at / n * r->coils * n + at % n;
        for (size_t i = 0; i < r->coils; i++) {
            one[i] = number_at(r->is_double, numbers, first + i * n);
            for (size_t k = 0; k < i; k++)
                one[i] -= l[i * r->coils + k] * one[k];
            one[i] /= l[i * r->coils + i];
            reals_put(r->is_double, numbers, 2 * (first + i * n), creal(one[i]));
            reals_put(r->is_double, numbers, 2 * (first + i * n) + 1, cimag(one[i]));
        }
    }
}

int recon_whiten(struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char is[200];
    size_t count = 0;
    void *noise = NULL;
    number *l = malloc(r->coils * r->coils * sizeof *l), *one = malloc(r->coils * sizeof *one);
    int status = l && one ? recon_read_array(&a, r, r->v->noise) : cli_error("no memory for %zu coils", r->coils);
    if (!status && hcy_host_array_count(&count, &a))
        count = 0;
    const size_t n = count / r->coils;
    if (!status && (a.rank < 1 || ((a.rank > 1 || r->coils > 1) && a.shape[0] != r->coils) || n < r->coils ||
                    n * r->coils != count))
        status = cli_error("%s: noise must be [%zu], the coils of %s, of at least as many samples each; it is %s",
                           r->v->noise, r->coils, r->kspace, array_words(is, &a, 0));
    if (!status && n < ENOUGH * r->coils && !r->v->quiet)
        cli_note("%s: %zu samples of %zu coil%s, whose covariance's numbers are uncertain below %d samples a coil", r->v->noise,
                 n, r->coils, r->coils == 1 ? "" : "s", (int)(ENOUGH * r->coils));
    if (!status)
        status = array_take_complex(&noise, &a, true);
    if (!status) {
        find_covariance(l, r->coils, n, noise, recon_find_pace(r));
        if (!factor(l, r->coils))
            status = cli_error("%s: the noise of a coil is 0, or nothing beside what it shares with others, or no number: it "
                               "cannot be whitened", r->v->noise);
    }
    if (!status) {
        whiten(r, r->samples, r->is_same ? r->n_frames : 1, r->n, l, one);
        if (r->maps)
            whiten(r, r->maps, recon_count_slices(r), r->pixels, l, one);
    }
    free(noise);
    free(one);
    free(l);
    hcy_host_array_free(&a);
    return status;
}
