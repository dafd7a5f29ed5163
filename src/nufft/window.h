/* window.h - the spreading window: a prolate spheroidal wave function, its pieces and its Fourier transform.
 */
#ifndef HCY_NUFFT_WINDOW_H
#define HCY_NUFFT_WINDOW_H

#include "nufft_format.h"

#define HCY__WINDOW_TERMS 128
#define HCY__HAT_PANELS   32
#define HCY__HAT_COEFS    14

/* phi(z), |z| <= 1, phi(0) = 1; plain data. */
struct hcy__window {
    unsigned width;
    double c;                                    /* its bandwidth */
    double terms[HCY__WINDOW_TERMS];             /* of even Legendre polynomials */
    double hat[HCY__HAT_PANELS][HCY__HAT_COEFS]; /* phi on [0, 1] by panels: its own transform, scaled */
};

/* The window of `width` cells for a grid `sigma` times as fine as the modes ask for. */
void hcy__window_init(struct hcy__window *w, unsigned width, double sigma);
/* table[coef][HCY_NUFFT_MAX_WIDTH] as nufft_format.h describes it. */
void hcy__window_table(const struct hcy__window *w, double *table);
/* The window's Fourier transform at frequency k on a grid of n cells: the sum over cells of the window times
 * exp(i k x), for a window that reaches `width` cells.  |k| <= n / 2. */
double hcy__window_hat(const struct hcy__window *w, double k, double n);

#endif
