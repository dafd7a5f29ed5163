/* matrix_numbers.h - numbers of type REAL to and from doubles; NAME(x) is the functions' name. */

static void NAME(in)(struct cpu_matrix_view to, struct cpu_matrix_view from, size_t n_outer, size_t n_inner,
                     double factor)
{
    /* A matrix that is turned round: so many of its lines at once are written to that these stay in the first cache
     * until they are full. */
    const size_t most = to.inner >= CPU_MATRIX_DEPTH ? 8 : n_inner;
    for (size_t begin = 0, n; begin < n_inner; begin += n) {
        n = n_inner - begin < most ? n_inner - begin : most;
        for (size_t i = 0; i < n_outer; i++) {
            double *restrict out = (double *)to.at + (ptrdiff_t)i * to.outer + (ptrdiff_t)begin * to.inner;
            const REAL *restrict in = (const REAL *)from.at + (ptrdiff_t)i * from.outer + (ptrdiff_t)begin * from.inner;
            /* Numbers side by side, as a matrix stands in memory mostly: vectors of them. */
            if (to.inner == 1 && from.inner == 1)
                for (size_t j = 0; j < n; j++)
                    out[j] = factor * in[j];
            else
                for (size_t j = 0; j < n; j++)
                    out[(ptrdiff_t)j * to.inner] = factor * in[(ptrdiff_t)j * from.inner];
        }
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
