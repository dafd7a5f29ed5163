/* window.c - the prolate spheroidal wave function of order 0 as a spreading window.  Pure functions, any
 * thread.
 *
 * psi_c is the function on [-1, 1] whose Fourier transform, as far as it can, stays within frequencies up to
 * c.  It is an eigenfunction of ((1 - z^2) f')' - c^2 z^2 f, a symmetric tridiagonal matrix in even
 * normalised Legendre polynomials (Xiao, Rokhlin, Yarvin 2001), of which the smallest eigenvalue is wanted:
 * bisection finds it from below, where the shifted matrix is positive definite and inverse iteration needs
 * no pivots.  Its transform over [-1, 1] is itself: integral of psi(z) exp(i c y z) dz = lambda psi(y).
 */
#include "window.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

struct matrix {
    int n;
    double d[HCY__WINDOW_TERMS], e[HCY__WINDOW_TERMS]; /* diagonal; beside it, from row i to i + 1 */
};

static void fill_matrix(struct matrix *m, double c)
{
    m->n = 60 + (int)c;
    for (int i = 0; i < m->n; i++) {
        double k = 2.0 * i;
        m->d[i] = k * (k + 1) + (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1)) * c * c;
        m->e[i] = (k + 2) * (k + 1) / ((2 * k + 3) * sqrt((2 * k + 1) * (2 * k + 5))) * c * c;
    }
}

/* Makes the pivots of m - shift; returns whether all are positive. */
static int pivots(const struct matrix *m, double shift, double *p)
{
    for (int i = 0; i < m->n; i++) {
        p[i] = m->d[i] - shift - (i ? m->e[i - 1] * m->e[i - 1] / p[i - 1] : 0);
        if (!(p[i] > 0))
            return 0;
    }
    return 1;
}

/* The eigenvector of the smallest eigenvalue, to x. */
static void smallest(const struct matrix *m, double *x)
{
    double p[HCY__WINDOW_TERMS], low = 0,
                                 high = m->d[0]; /* the smallest eigenvalue is positive, and below any d */
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high);
        if (pivots(m, middle, p))
            low = middle;
        else
            high = middle;
    }
    low -= 1e-12 * high; /* clear of rounding */
    pivots(m, low, p);
    for (int i = 0; i < m->n; i++)
        x[i] = i ? 0 : 1;
    for (int turn = 0; turn < 4; turn++) {
        double norm = 0;
        for (int i = 1; i < m->n; i++)
            x[i] -= m->e[i - 1] / p[i - 1] * x[i - 1];
        for (int i = m->n - 1; i >= 0; i--)
            x[i] = (x[i] - (i + 1 < m->n ? m->e[i] * x[i + 1] : 0)) / p[i];
        for (int i = 0; i < m->n; i++)
            norm += x[i] * x[i];
        for (int i = 0; i < m->n; i++)
            x[i] /= sqrt(norm);
    }
}

/* The sum of terms[i] P_2i(z). */
static double series(const double *terms, int n, double z)
{
    double before = 1, p = z, sum = terms[0];
    for (int k = 1; k < 2 * n - 1; k++) {
        double next = ((2 * k + 1) * z * p - k * before) / (k + 1);
        before = p;
        p = next;
        if (k & 1)
            sum += terms[(k + 1) / 2] * p;
    }
    return sum;
}

static int n_terms(const struct hcy__window *w)
{
    return 60 + (int)w->c;
}

/* phi(z); 0 outside [-1, 1]. */
static double window_value(const struct hcy__window *w, double z)
{
    return fabs(z) <= 1 ? series(w->terms, n_terms(w), z) : 0;
}

/* Coefficients, ascending, of the polynomial of degree n - 1 through phi at Chebyshev's nodes of middle +-
 * half. */
static void fit(const struct hcy__window *w, double middle, double half, int n, double *coefs)
{
    double cheb[HCY_NUFFT_MAX_COEFS], f[HCY_NUFFT_MAX_COEFS];
    double before[HCY_NUFFT_MAX_COEFS] = { 1 }, t[HCY_NUFFT_MAX_COEFS] = { 0, 1 };
    for (int i = 0; i < n; i++)
        f[i] = window_value(w, middle + half * cos(PI * (i + 0.5) / n));
    for (int k = 0; k < n; k++) {
        cheb[k] = 0;
        for (int i = 0; i < n; i++)
            cheb[k] += (k ? 2.0 : 1.0) / n * f[i] * cos(PI * k * (i + 0.5) / n);
    }
    for (int i = 0; i < n; i++)
        coefs[i] = cheb[0] * before[i] + cheb[1] * t[i];
    for (int k = 2; k < n; k++) {
        for (int i = k; i >= 0; i--) {
            double next = (i ? 2 * t[i - 1] : 0) - before[i];
            before[i] = next;
        }
        for (int i = 0; i <= k; i++) { /* `before` is now T_k, t is T_(k-1) */
            double swap = before[i];
            before[i] = t[i];
            t[i] = swap;
            coefs[i] += cheb[k] * t[i];
        }
    }
}

void hcy__window_init(struct hcy__window *w, unsigned width, double sigma)
{
    struct matrix m;
    memset(w, 0, sizeof *w);
    w->width = width;
    w->c = PI * width * (1 - 1 / (2 * sigma)) - 0.05; /* the margin is FINUFFT's choice */
    fill_matrix(&m, w->c);
    smallest(&m, w->terms);
    for (int i = 0; i < m.n; i++)
        w->terms[i] *= sqrt(2.0 * i + 0.5);
    double middle = series(w->terms, m.n, 0);
    for (int i = 0; i < m.n; i++)
        w->terms[i] /= middle;
    for (int i = 0; i < HCY__HAT_PANELS; i++)
        fit(w, (i + 0.5) / HCY__HAT_PANELS, 0.5 / HCY__HAT_PANELS, HCY__HAT_COEFS, w->hat[i]);
}

void hcy__window_table(const struct hcy__window *w, double *table)
{
    int n = (int)HCY_NUFFT_COEFS(w->width);
    double coefs[HCY_NUFFT_MAX_COEFS];
    memset(table, 0, sizeof *table * HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH);
    for (unsigned j = 0; j < w->width; j++) {
        fit(w, (2.0 * j + 1) / w->width - 1, 1.0 / w->width, n, coefs);
        for (int c = 0; c < n; c++)
            table[(size_t)c * HCY_NUFFT_MAX_WIDTH + j] = coefs[n - 1 - c];
    }
}

double hcy__window_hat(const struct hcy__window *w, double k, double n)
{
    double y = fabs(k) * PI * w->width / (n * w->c); /* frequency of z = x n / (pi width), over c */
    double at = y * HCY__HAT_PANELS, sum = 0;
    int panel = at < HCY__HAT_PANELS ? (int)at : HCY__HAT_PANELS - 1;
    double t = 2 * (at - panel) - 1;
    for (int i = HCY__HAT_COEFS - 1; i >= 0; i--)
        sum = sum * t + w->hat[panel][i];
    return w->width * w->terms[0] *
           sum; /* width / 2 cells a unit of z; lambda = integral of phi = 2 terms[0] */
}
