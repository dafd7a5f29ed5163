/* hermitian.h - eigenvalues and eigenvectors of small Hermitian matrices, on the host. */
#ifndef HCY_HERMITIAN_H
#define HCY_HERMITIAN_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

/* Eigenvalues from the largest down; vectors[k * n ...] is the k-th eigenvector, of norm 1.  matrix[n][n] is
 * overwritten; what is below the diagonal does not count.  Some 30 n^3 operations; up to 64 rows some 200 n^3, by which
 * small eigenvalues have as many digits as large ones. */
void hcy__hermitian_eigen(double *values, double complex *vectors, double complex *matrix, size_t n);
/* Numbers so far from 1 that their squares are 0 or infinite, or have lost digits, are brought near it, by a power of
 * two; its exponent, or 0: they stay.  hcy__scale_numbers() with it leads back. */
int hcy__bring_near_one(double complex *numbers, size_t n);
void hcy__scale_numbers(double complex *numbers, int exponent, size_t n);
/* to[i] += factor * x[i], or factor * conj(x[i]). */
void hcy__add_multiple(double complex *to, double complex factor, const double complex *x, bool conjugate, size_t n);

#endif
