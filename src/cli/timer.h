/* timer.h - the clock of progress lines and of all benchmarks: `halcyon bench` and the programs in bench/. */
#ifndef HCY_CLI_TIMER_H
#define HCY_CLI_TIMER_H

#include <halcyon/backend.h>

/* Seconds since some moment of the machine's. */
static inline double timer_now(void)
{
    return 1e-9 * (double)hcy_now_ns();
}

/* The shorter of `best` (INFINITY before the first round) and the time since `start`: what others do on the machine
 * can only make a round longer, so the shortest is nearest to what the code takes. */
static inline double timer_best(double best, double start)
{
    double took = timer_now() - start;
    return took < best ? took : best;
}

#endif
