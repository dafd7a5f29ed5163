/* azimuths_avx2.c - a row of azimuths in single precision, many at a time.  No state; any thread.
 *
 * They have the bits of the C library's atan2(), rounded: ours is right to some units of a double's last place, of
 * which a float's place has 2^29, so the two differ only where a number lies as near as that to the middle between two
 * floats.  Those few are left to the library.
 */
#include "row_loops.h"

#include <math.h>
#include <string.h>

#define HELPER            static inline
#define FUSED_F32(a, b, c) fmaf(a, b, c)
#define FUSED_F64(a, b, c) fma(a, b, c)
typedef float f32;
typedef double f64;
#include "eval/eval_polynomials.h"

#define EIGHTH 0.78539816339744828 /* of a turn */
enum { BLOCK = 64, NEAR = 1024 };

/* The loops have no branches, so that compilers make vectors of them. */
static void find_block(double *restrict chi, const double *restrict y, const double *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double up = fabs(y[i]), along = fabs(x[i]), least = up < along ? up : along, most = up < along ? along : up;
        /* From tan(pi/8) on, from the diagonal. */
        int far = least > 0.41421356237309503 * most;
        double t = (far ? least - most : least) / (far ? least + most : most), z = t * t;
        double angle = fma(t * z, atan_polynomial(z), t) + (far ? EIGHTH : 0);

        angle = up > along ? 2 * EIGHTH - angle : angle;
        angle = x[i] < 0 ? 4 * EIGHTH - angle : angle;
        chi[i] = copysign(angle, y[i]);
    }
}

/* Is a number too near to the middle between two floats, or not one of usual size? */
static inline int is_unsure(double chi, double y, double x)
{
    uint64_t bits, below;
    double up = fabs(y), along = fabs(x), most = up < along ? along : up;

    memcpy(&bits, &chi, sizeof bits);
    below = (bits & 0x1fffffff) - (0x10000000 - NEAR);
    /* An angle of 0 is one of y; angles that floats have only part of are not looked at. */
    return (below < 2 * NEAR) | !(most > 1e-100) | !(most < 1e100) | ((fabs(chi) < 1e-30) & (y != 0));
}

void hcy__azint_azimuths_avx2(double *chi, const double *y, const double *x, size_t n)
{
    for (size_t first = 0; first < n; first += BLOCK) {
        size_t end = n - first < BLOCK ? n : first + BLOCK;
        int unsure = 0;

        find_block(chi + first, y + first, x + first, end - first);
        for (size_t i = first; i < end; i++)
            unsure |= is_unsure(chi[i], y[i], x[i]);
        for (size_t i = first; unsure && i < end; i++)
            chi[i] = is_unsure(chi[i], y[i], x[i]) ? atan2(y[i], x[i]) : chi[i];
        for (size_t i = first; i < end; i++)
            chi[i] = (float)chi[i];
    }
}
