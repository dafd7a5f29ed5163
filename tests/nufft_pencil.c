/* nufft_pencil - the kernels of non-uniform FFTs on tensor cores, where there are none: their text, with lanes that are
 * threads (lanes.h), in several shapes. */
#include "tap.h"

double spread_3d_float(void), interp_3d_double(void), interp_2d_float(void), spread_1d_double(void),
    interp_1d_float(void), spread_1d_float(void), spread_3d_double(void), slopes_3d_double(void),
    slopes_2d_double(void), interp_slab_by_slab(void);

int main(void)
{
    static const struct {
        const char *what;
        double (*error)(void), most;
    } cases[] = { { "3-D, float of 11 bits, to the grid, two warps and vectors", spread_3d_float, 8192 },
                  { "3-D, double, from the grid, two warps and vectors", interp_3d_double, 30 },
                  { "3-D, double, from the grid, planes brought ahead of slabs", interp_slab_by_slab, 30 },
                  { "3-D, double, to the grid, two warps", spread_3d_double, 30 },
                  { "3-D, double, with slopes, two warps", slopes_3d_double, 60 },
                  { "2-D, double, with slopes, an odd window", slopes_2d_double, 60 },
                  { "2-D, float, from the grid", interp_2d_float, 30 },
                  { "1-D, double, to the grid, two vectors", spread_1d_double, 30 },
                  { "1-D, float, from the grid", interp_1d_float, 30 },
                  { "1-D, float, to the grid, more points than sums are good for", spread_1d_float, 30 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double error = cases[i].error();
        ok(error >= 0 && error < cases[i].most, "%s: %.1f roundings", cases[i].what, error);
    }
    return done_testing();
}
