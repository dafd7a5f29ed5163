/* own_pass.c - single passes of the CPU's own Fourier transforms over one long line, number by number.  The bits are
 * those of the vectors' lanes (own_loops.h).  Pure functions. */
#include "own_fft.h"

#include <string.h>

#define REAL     float
#define NUMBER   struct own_float
#define NAME(x)  x##_float
#include "own_pass.h"
#undef REAL
#undef NUMBER
#undef NAME

#define REAL     double
#define NUMBER   struct own_double
#define NAME(x)  x##_double
#include "own_pass.h"

void own_fft_pass_run(const struct own_fft *plan, unsigned pass, bool backward, const void *in, void *out, size_t begin,
                      size_t end)
{
    const struct own_fft_pass *p = &plan->passes[pass];
    if (plan->is_double)
        run_pass_double(p, backward, in, out, begin, end);
    else
        run_pass_float(p, backward, in, out, begin, end);
}

void own_fft_multiply(const struct own_fft *plan, void *to, const void *from, const void *table, size_t n, bool before,
                      bool after)
{
    if (plan->is_double)
        multiply_double(to, from, table, n, before, after);
    else
        multiply_float(to, from, table, n, before, after);
}

void own_fft_widen(const struct own_fft *plan, void *to, const void *from, bool from_real)
{
    if (plan->is_double)
        widen_double(to, from, plan->n, from_real);
    else
        widen_float(to, from, plan->n, from_real);
}

void own_fft_narrow(const struct own_fft *plan, void *to, const void *from, bool from_real)
{
    if (plan->is_double)
        narrow_double(to, from, plan->n, from_real);
    else
        narrow_float(to, from, plan->n, from_real);
}

void own_fft_split_real(void *z, const struct own_fft *plan)
{
    if (plan->is_double)
        split_real_double(z, plan->half->n, plan->turns);
    else
        split_real_float(z, plan->half->n, plan->turns);
}

void own_fft_join_real(void *z, const struct own_fft *plan)
{
    if (plan->is_double)
        join_real_double(z, plan->half->n, plan->turns);
    else
        join_real_float(z, plan->half->n, plan->turns);
}
