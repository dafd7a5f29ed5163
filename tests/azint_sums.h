/* azint_sums.h - what plans' tables come to, to be compared with sums that pyFAI made.  For tests. */
#ifndef AZINT_SUMS_H
#define AZINT_SUMS_H

#include "azint_oracle.h"

#include <halcyon/azint.h>

/* Sums of weights, and of weights times (pixel + 1), in each bin; how many pixels do not add up to 1. */
static inline int sum_weights(double *weight, double *moment, const hcy_azint_plan *p, int n_pixels)
{
    hcy_span spans[HCY_AZINT_SPANS];
    const uint8_t *at, *w;
    int wrong = 0;

    hcy_azint_plan_tables(spans, p);
    at = spans[1].data;
    for (int i = 0; i < n_pixels; i++) {
        uint64_t whole = 0;
        uint32_t word;

        do {
            word = oracle_run(&at, &w);
            for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++) {
                double c = oracle_weight(w, k) / (double)HCY_AZINT_ONE;

                weight[HCY_AZINT_RUN_BIN(word) + k] += c;
                moment[HCY_AZINT_RUN_BIN(word) + k] += c * (i + 1);
                whole += oracle_weight(w, k);
            }
        } while (HCY_AZINT_RUN_MORE(word));
        wrong += whole && whole != HCY_AZINT_ONE;
    }
    return wrong;
}

static inline double deviation(const double *got, const double *want, size_t n)
{
    double worst = 0, most = 0;

    for (size_t k = 0; k < n; k++) {
        worst = fabs(got[k] - want[k]) > worst ? fabs(got[k] - want[k]) : worst;
        most = fabs(want[k]) > most ? fabs(want[k]) : most;
    }
    return worst / most;
}

#endif
