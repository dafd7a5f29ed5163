/* trajectory_priv.h - readouts of a trajectory, as the functions of <halcyon/trajectory.h> share them.  Any thread. */
#ifndef HCY_TRAJECTORY_PRIV_H
#define HCY_TRAJECTORY_PRIV_H

#include <halcyon/trajectory.h>
#include <stdbool.h>

/* *to is the caller's desc; *n: how many points it has.  HCY_EINVAL, HCY_ERANGE, in the words of a function. */
int hcy__trajectory_check(hcy_trajectory_desc *to, size_t *n, const hcy_trajectory_desc *desc,
                          const void *const *points, const char *function);
/* Number i of reals of a precision. */
double hcy__trajectory_get(const hcy_trajectory_desc *desc, const void *reals, size_t i);
void hcy__trajectory_put(const hcy_trajectory_desc *desc, void *reals, size_t i, double value);
/* Whether readout r begins at 0 on all axes. */
bool hcy__trajectory_rests(const hcy_trajectory_desc *desc, const void *const *points, size_t r);
/* The cubic through four of n numbers, `apart` one from the next, around number `at`, by Lagrange's formula; of fewer
 * numbers the polynomial through all.  n above 0. */
double hcy__trajectory_interpolate(const double *row, size_t apart, size_t n, double at);

#endif
