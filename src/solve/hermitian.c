/* hermitian.c - Jacobi's method: rotations of two axes at a time, each of which makes one pair of elements 0, until all
 * are.  Slow for large matrices, simple, and accurate for the small eigenvalues too.  A pure function. */
#include "hermitian.h"

#include <float.h>
#include <math.h>

enum { MOST_SWEEPS = 60 };

static double off_diagonal(const double complex *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            sum += creal(a[i * n + j]) * creal(a[i * n + j]) + cimag(a[i * n + j]) * cimag(a[i * n + j]);
    return sum;
}

/* Rows p and q of `rows` become c p - conj(s) q and s p + c q. */
static void rotate_rows(double complex *rows, size_t n, size_t p, size_t q, double c, double complex s)
{
    for (size_t k = 0; k < n; k++) {
        const double complex x = rows[p * n + k], y = rows[q * n + k];
        rows[p * n + k] = c * x - conj(s) * y;
        rows[q * n + k] = s * x + c * y;
    }
}

static void rotate_columns(double complex *a, size_t n, size_t p, size_t q, double c, double complex s)
{
    for (size_t k = 0; k < n; k++) {
        const double complex x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = conj(s) * x + c * y;
    }
}

/* Makes a[p][q] 0, unless it is no larger than `least`. */
static void rotate_pair(double complex *vectors, double complex *a, size_t n, size_t p, size_t q, double least)
{
    const double size = cabs(a[p * n + q]);
    if (!(size > least))
        return;
    /* The smaller of the two angles, so that rotations converge. */
    const double t0 = (creal(a[q * n + q]) - creal(a[p * n + p])) / (2 * size);
    const double t = (t0 < 0 ? -1 : 1) / (fabs(t0) + sqrt(t0 * t0 + 1)), c = 1 / sqrt(t * t + 1);
    const double complex s = t * c * conj(a[p * n + q]) / size;
    rotate_rows(a, n, p, q, c, s);
    rotate_columns(a, n, p, q, c, s);
    rotate_rows(vectors, n, p, q, c, conj(s));
    a[p * n + q] = a[q * n + p] = 0;
}

static void swap_rows(double *values, double complex *vectors, size_t n, size_t i, size_t j)
{
    const double value = values[i];
    values[i] = values[j];
    values[j] = value;
    for (size_t k = 0; k < n; k++) {
        const double complex x = vectors[i * n + k];
        vectors[i * n + k] = vectors[j * n + k];
        vectors[j * n + k] = x;
    }
}

void hcy__hermitian_eigen(double *values, double complex *vectors, double complex *a, size_t n)
{
    double trace = 0;
    for (size_t i = 0; i < n; i++) {
        a[i * n + i] = creal(a[i * n + i]);
        trace += creal(a[i * n + i]) * creal(a[i * n + i]);
        for (size_t j = 0; j < n; j++) {
            vectors[i * n + j] = i == j;
            if (j > i)
                a[j * n + i] = conj(a[i * n + j]);
        }
    }
    /* Squares below the rounding of the matrix's norm are none.  Elements so small that all of them together are none
     * are not rotated: of matrices of low rank that is most of them. */
    const double least = DBL_EPSILON * sqrt(trace) / (double)n;
    for (int sweep = 0; sweep < MOST_SWEEPS && off_diagonal(a, n) > DBL_EPSILON * DBL_EPSILON * trace; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                rotate_pair(vectors, a, n, p, q, least);
    for (size_t i = 0; i < n; i++)
        values[i] = creal(a[i * n + i]);
    for (size_t i = 0; i < n; i++) {
        size_t largest = i;
        for (size_t j = i + 1; j < n; j++)
            if (values[j] > values[largest])
                largest = j;
        swap_rows(values, vectors, n, i, largest);
    }
}
