/* matrix_numbers.h - numbers of type REAL to and from doubles; NAME(x) is the functions' name. */

static void NAME(in)(struct cpu_matrix_view to, struct cpu_matrix_view from, size_t n_outer, size_t n_inner,
                     double factor)
{
    for (size_t i = 0; i < n_outer; i++) {
        double *restrict out = (double *)to.at + (ptrdiff_t)i * to.outer;
        const REAL *restrict in = (const REAL *)from.at + (ptrdiff_t)i * from.outer;
        /* Numbers side by side, as a matrix stands in memory mostly: vectors of them. */
        if (to.inner == 1 && from.inner == 1)
            for (size_t j = 0; j < n_inner; j++)
                out[j] = factor * in[j];
        else
            for (size_t j = 0; j < n_inner; j++)
                out[(ptrdiff_t)j * to.inner] = factor * in[(ptrdiff_t)j * from.inner];
    }
}

static void NAME(out)(struct cpu_matrix_view to, struct cpu_matrix_view from, size_t n_outer, size_t n_inner,
                      double factor)
{
    for (size_t i = 0; i < n_outer; i++) {
        REAL *restrict out = (REAL *)to.at + (ptrdiff_t)i * to.outer;
        const double *restrict in = (const double *)from.at + (ptrdiff_t)i * from.outer;
        for (size_t j = 0; j < n_inner; j++)
            out[(ptrdiff_t)j * to.inner] = (REAL)(factor * in[(ptrdiff_t)j * from.inner]);
    }
}
