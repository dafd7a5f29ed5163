/* hermitian.c - small matrices by Jacobi's method: rotations of two axes at a time, each of which makes one pair of
 * elements 0, until all are; accurate for the small eigenvalues too.  Larger ones, where that takes minutes, become
 * tridiagonal by reflections (A. Householder), and diagonal by the QL algorithm with implicit shifts (J. Wilkinson and
 * C. Reinsch, Handbook for Automatic Computation II, 1971).  Pure functions. */
#include "hermitian.h"

#include <float.h>
#include <math.h>

enum { MOST_SWEEPS = 60, MOST_BY_JACOBI = 64 };

/* --- Jacobi --- */

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

static void rotate_to_diagonal(double *values, double complex *vectors, double complex *a, size_t n)
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
}

/* --- Householder and QL --- */

/* Real and imaginary part beside each other: the compiler's products look for numbers that are none, which takes most
 * of the time, and its -O2 makes no vectors of such loops. */
typedef double number __attribute__((vector_size(16), aligned(8), may_alias));

static inline number swap_parts(number x)
{
    return (number){ x[1], x[0] };
}

void hcy__add_multiple(double complex *to, double complex factor, const double complex *x, bool conjugate, size_t n)
{
    const double sign = conjugate ? -1 : 1;
    const number same = { creal(factor), sign * creal(factor) }, crossed = { -sign * cimag(factor), cimag(factor) },
                 *from = (const number *)x;
    number *sum = (number *)to;
    for (size_t k = 0; k < n; k++)
        sum[k] += same * from[k] + crossed * swap_parts(from[k]);
}

/* The sum of x * y, or of conj(x) * y. */
static double complex dot_numbers(const double complex *x, const double complex *y, bool conjugate, size_t n)
{
    const number *u = (const number *)x, *v = (const number *)y, crossing = { conjugate ? 1 : -1, conjugate ? -1 : 1 };
    number sum = { 0, 0 };
    for (size_t k = 0; k < n; k++)
        sum += u[k][0] * v[k] + u[k][1] * crossing * swap_parts(v[k]);
    return sum[0] + I * sum[1];
}

/* x becomes the vector v of the reflection 1 - v v^H that leaves of x the first element alone; returns that. */
static double complex make_reflection(double complex *x, size_t n)
{
    double size = 0, largest = 0;
    for (size_t k = 0; k < n; k++)
        largest = fmax(largest, fmax(fabs(creal(x[k])), fabs(cimag(x[k]))));
    if (!(largest > 0))
        return 0;
    /* Squares of very small numbers would be 0. */
    for (size_t k = 0; k < n; k++) {
        x[k] /= largest;
        size += creal(x[k]) * creal(x[k]) + cimag(x[k]) * cimag(x[k]);
    }
    size = sqrt(size);
    const double head = cabs(x[0]), scale = 1 / sqrt(size * (size + head));
    const double complex turn = head > 0 ? x[0] / head : 1;
    x[0] += turn * size;
    for (size_t k = 0; k < n; k++)
        x[k] *= scale;
    return -turn * size * largest;
}

/* The matrix a[m][m] between two reflections, a - v w^H - w v^H; rows are n apart, what is below the diagonal does not
 * count, w[m] is overwritten. */
static void reflect_both_sides(double complex *a, size_t n, double complex *w, const double complex *v, size_t m)
{
    for (size_t i = 0; i < m; i++)
        w[i] = 0;
    for (size_t i = 0; i < m; i++) {
        const double complex *row = a + i * n;
        w[i] += creal(row[i]) * v[i] + dot_numbers(row + i + 1, v + i + 1, false, m - i - 1);
        /* Column i below the diagonal. */
        hcy__add_multiple(w + i + 1, v[i], row + i + 1, true, m - i - 1);
    }
    hcy__add_multiple(w, -creal(dot_numbers(v, w, true, m)) / 2, v, false, m);
    for (size_t i = 0; i < m; i++) {
        hcy__add_multiple(a + i * n + i, -v[i], w + i, true, m - i);
        hcy__add_multiple(a + i * n + i, -w[i], v + i, true, m - i);
    }
}

/* The matrix becomes, by reflections and turned phases, a real one of the diagonal `values` and of beside[i] between i
 * and i + 1; row k of `vectors` column k of the unitary matrix that leads back.  `beside` is the matrix's memory. */
static double *make_tridiagonal(double *values, double complex *vectors, double complex *a, size_t n)
{
    /* A reflection takes the place of its row, and what it leaves that of the mirror's. */
    for (size_t k = 0; k + 1 < n; k++) {
        double complex *v = a + k * n + k + 1;
        const size_t m = n - k - 1;
        for (size_t i = 0; i < m; i++)
            v[i] = conj(v[i]);
        const double complex left = make_reflection(v, m);
        reflect_both_sides(a + (k + 1) * n + k + 1, n, vectors, v, m);
        a[(k + 1) * n + k] = left;
    }
    double complex phase = 1;
    for (size_t k = 0; k < n; k++) {
        double complex *column = vectors + k * n;
        const double size = k ? cabs(a[k * n + k - 1]) : 0;
        if (size > 0)
            phase *= a[k * n + k - 1] / size;
        values[k] = creal(a[k * n + k]);
        for (size_t i = 0; i < n; i++)
            column[i] = i == k ? phase : 0;
        for (size_t r = k; r-- > 0;) {
            const double complex *v = a + r * n + r + 1;
            hcy__add_multiple(column + r + 1, -dot_numbers(v, column + r + 1, true, n - r - 1), v, false, n - r - 1);
        }
    }
    double *beside = (double *)a;
    for (size_t k = 0; k + 1 < n; k++)
        beside[k] = cabs(a[(k + 1) * n + k]);
    beside[n - 1] = 0;
    return beside;
}

/* One sweep of implicit QL over rows `first` to `last` of a tridiagonal matrix that is in one piece there:
 * beside[first] becomes small. */
static void sweep_up(double *values, double *beside, double complex *vectors, size_t n, size_t first, size_t last)
{
    const double half = (values[first + 1] - values[first]) / (2 * beside[first]);
    double g = values[last] - values[first] + beside[first] / (half + copysign(hypot(half, 1), half)), s = 1, c = 1,
           shift = 0;
    for (size_t i = last; i-- > first;) {
        const double f = s * beside[i], b = c * beside[i], r = hypot(f, g);
        beside[i + 1] = r;
        if (!(r > 0)) { /* it has come apart here */
            values[i + 1] -= shift;
            beside[last] = 0;
            return;
        }
        s = f / r;
        c = g / r;
        g = values[i + 1] - shift;
        const double t = (values[i] - g) * s + 2 * c * b;
        shift = s * t;
        values[i + 1] = g + shift;
        g = c * t - b;
        for (size_t k = 0; k < n; k++) {
            const double complex x = vectors[i * n + k], y = vectors[(i + 1) * n + k];
            vectors[(i + 1) * n + k] = s * x + c * y;
            vectors[i * n + k] = c * x - s * y;
        }
    }
    values[first] -= shift;
    beside[first] = g;
    beside[last] = 0;
}

static void make_diagonal(double *values, double *beside, double complex *vectors, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fmax(fabs(values[i]), fabs(beside[i])));
    for (size_t first = 0; first < n; first++)
        for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
            size_t last = first;
            /* What the reflections' rounding may have made is none. */
            while (last + 1 < n && !(fabs(beside[last]) <= DBL_EPSILON * largest))
                last++;
            /* Nor does a matrix of what are no numbers become any better. */
            if (last == first || !isfinite(values[first]))
                break;
            sweep_up(values, beside, vectors, n, first, last);
        }
}

/* --- All --- */

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

/* The largest one's exponent where that is far from 1; else 0, as of what is no number. */
static int exponent_if_far(double largest)
{
    enum { FAR = 200 };
    const int exponent = largest > 0 && isfinite(largest) ? ilogb(largest) : 0;
    return exponent > -FAR && exponent < FAR ? 0 : exponent;
}

void hcy__scale_numbers(double complex *numbers, int exponent, size_t n)
{
    for (size_t i = 0; exponent && i < n; i++)
        numbers[i] = ldexp(creal(numbers[i]), exponent) + I * ldexp(cimag(numbers[i]), exponent);
}

int hcy__bring_near_one(double complex *numbers, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fmax(fabs(creal(numbers[i])), fabs(cimag(numbers[i])));
        largest = size > largest ? size : largest;
    }
    const int exponent = exponent_if_far(largest);
    hcy__scale_numbers(numbers, -exponent, n);
    return exponent;
}

/* Squares of elements are held against each other: those of very large and very small matrices, as their diagonals say,
 * are brought near 1, by the power of two that is returned.  No bit depends on it; what is no number stays. */
static int bring_matrix_near_one(double complex *a, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(creal(a[i * n + i]));
        largest = size > largest ? size : largest;
    }
    const int exponent = exponent_if_far(largest);
    hcy__scale_numbers(a, -exponent, n * n);
    return exponent;
}

void hcy__hermitian_eigen(double *values, double complex *vectors, double complex *a, size_t n)
{
    const int exponent = bring_matrix_near_one(a, n);
    if (n <= MOST_BY_JACOBI)
        rotate_to_diagonal(values, vectors, a, n);
    else
        make_diagonal(values, make_tridiagonal(values, vectors, a, n), vectors, n);
    for (size_t i = 0; i < n; i++) {
        size_t largest = i;
        for (size_t j = i + 1; j < n; j++)
            if (values[j] > values[largest])
                largest = j;
        swap_rows(values, vectors, n, i, largest);
    }
    for (size_t i = 0; exponent && i < n; i++)
        values[i] = ldexp(values[i], exponent);
}
