/* nufft_arguments.h - where arguments stand (arguments.h) of kernels that share code: one for each direction. */
#ifndef HCY_NUFFT_ARGUMENTS_H
#define HCY_NUFFT_ARGUMENTS_H

#include "arguments.h"

#include <stdbool.h>

/* Coordinates of an axis, of nufft_sort. */
static inline size_t hcy_nufft_points_at(unsigned axis)
{
    static const size_t at[] = { HCY_ARG_AT(nufft_sort, points0), HCY_ARG_AT(nufft_sort, points1),
                                 HCY_ARG_AT(nufft_sort, points2) };
    return at[axis];
}

/* Between points and grid: from it to them, from them to it, and from it with slopes. */
enum hcy_nufft_move { HCY_NUFFT_GETS, HCY_NUFFT_PUTS, HCY_NUFFT_SLOPES };
struct hcy_nufft_move_at {
    size_t sorted, table, strengths, grid, job, scratch, n;
};
#define HCY_NUFFT_MOVE_AT(kernel)                                                                            \
    {                                                                                                        \
        HCY_ARG_AT(kernel, sorted), HCY_ARG_AT(kernel, table), HCY_ARG_AT(kernel, strengths),                \
            HCY_ARG_AT(kernel, grid), HCY_ARG_AT(kernel, job), HCY_ARG_AT(kernel, scratch), HCY_N_ARGS(kernel) \
    }
static inline const struct hcy_nufft_move_at *hcy_nufft_move_at(enum hcy_nufft_move move)
{
    static const struct hcy_nufft_move_at at[] = { HCY_NUFFT_MOVE_AT(nufft_interp),
                                                   HCY_NUFFT_MOVE_AT(nufft_spread),
                                                   HCY_NUFFT_MOVE_AT(nufft_slopes) };
    return &at[move];
}

/* Between grid and modes, with the transform or without; `scratch` is n where there is none. */
struct hcy_nufft_cut_at {
    size_t grid, factors, modes, job, scratch, n;
};
#define HCY_NUFFT_CUT_AT(kernel, scratch)                                                                    \
    {                                                                                                        \
        HCY_ARG_AT(kernel, grid), HCY_ARG_AT(kernel, factors), HCY_ARG_AT(kernel, modes),                    \
            HCY_ARG_AT(kernel, job), HCY_ARG_AT(kernel, scratch), HCY_N_ARGS(kernel)                         \
    }
static inline const struct hcy_nufft_cut_at *hcy_nufft_cut_at(bool crops, bool transforms)
{
    static const struct hcy_nufft_cut_at at[2][2] = {
        { HCY_NUFFT_CUT_AT(nufft_pad, end_of_arguments), HCY_NUFFT_CUT_AT(nufft_crop, end_of_arguments) },
        { HCY_NUFFT_CUT_AT(nufft_grid, scratch), HCY_NUFFT_CUT_AT(nufft_modes, scratch) },
    };
    return &at[transforms][crops];
}

#endif
