/* hermitian.h - eigenvalues and eigenvectors of small Hermitian matrices, on the host. */
#ifndef HCY_HERMITIAN_H
#define HCY_HERMITIAN_H

#include <complex.h>
#include <stddef.h>

/* Eigenvalues from the largest down; vectors[k * n ...] is the k-th eigenvector, of norm 1.  matrix[n][n] is
 * overwritten; what is below the diagonal does not count.  Jacobi's rotations: some 200 n^3 operations. */
void hcy__hermitian_eigen(double *values, double complex *vectors, double complex *matrix, size_t n);

#endif
