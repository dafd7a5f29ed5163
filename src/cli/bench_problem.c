/* bench_problem.c - what `halcyon bench nufft` transforms (bench_problem.h). */
#include "bench_problem.h"
#include "cli.h"
#include "simulate.h"
#include <halcyon/nufft.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Few points on a large grid, as of magnetic resonance: run only if they are named, as they take gigabytes. */
struct bench_sparse {
    const char *name;
    int64_t last; /* modes of the last axis */
    int64_t points;
    size_t vectors;
};
static const struct bench_sparse mri = { "mri", 320, 195200, 1 }, coils = { "coils", 320, 100000, 32 };

const struct bench_cell bench_cells[BENCH_CELLS] = {
    { 1, 1, 1000000, 1e-6, HCY_F32, NULL }, { 1, 2, 1000000, 1e-6, HCY_F32, NULL },
    { 1, 1, 1000000, 1e-9, HCY_F64, NULL }, { 1, 2, 1000000, 1e-9, HCY_F64, NULL },
    { 2, 1, 1000, 1e-3, HCY_F32, NULL }, { 2, 2, 1000, 1e-3, HCY_F32, NULL },
    { 2, 1, 1000, 1e-6, HCY_F32, NULL }, { 2, 2, 1000, 1e-6, HCY_F32, NULL },
    { 2, 1, 1000, 1e-2, HCY_F64, NULL }, { 2, 2, 1000, 1e-2, HCY_F64, NULL },
    { 2, 1, 1000, 1e-9, HCY_F64, NULL }, { 2, 2, 1000, 1e-9, HCY_F64, NULL },
    { 2, 1, 1000, 1e-12, HCY_F64, NULL }, { 2, 2, 1000, 1e-12, HCY_F64, NULL },
    { 3, 1, 128, 1e-3, HCY_F32, NULL }, { 3, 2, 128, 1e-3, HCY_F32, NULL },
    { 3, 1, 128, 1e-6, HCY_F32, NULL }, { 3, 2, 128, 1e-6, HCY_F32, NULL },
    { 3, 1, 128, 1e-2, HCY_F64, NULL }, { 3, 2, 128, 1e-2, HCY_F64, NULL },
    { 3, 1, 128, 1e-6, HCY_F64, NULL }, { 3, 2, 128, 1e-6, HCY_F64, NULL },
    { 3, 1, 128, 1e-9, HCY_F64, NULL }, { 3, 2, 128, 1e-9, HCY_F64, NULL },
    { 3, 1, 128, 1e-12, HCY_F64, NULL }, { 3, 2, 128, 1e-12, HCY_F64, NULL },
    { 3, 1, 244, 1e-6, HCY_F32, &mri }, { 3, 2, 244, 1e-6, HCY_F32, &mri },
    { 3, 1, 244, 1e-7, HCY_F64, &mri }, { 3, 2, 244, 1e-7, HCY_F64, &mri },
    { 3, 1, 320, 1e-6, HCY_F32, &coils }, { 3, 2, 320, 1e-6, HCY_F32, &coils },
    { 3, 1, 320, 1e-7, HCY_F64, &coils }, { 3, 2, 320, 1e-7, HCY_F64, &coils },
};

void bench_cell_name(char name[40], const struct bench_cell *cell)
{
    char kind[16];
    snprintf(kind, sizeof kind, "%dd", cell->dim);
    snprintf(name, 40, "%s%d-%.0e-%s", cell->sparse ? cell->sparse->name : kind, cell->type, cell->eps,
             cell->precision == HCY_F32 ? "single" : "double");
}

bool bench_cell_is_named(const struct bench_cell *cell, const char *word)
{
    char name[40];
    size_t kind = cell->sparse ? strlen(cell->sparse->name) : 0;
    bench_cell_name(name, cell);
    return !strncmp(word, name, kind) && strstr(name, word);
}

static const uint64_t first_state = 20261121;
static uint64_t state;

void bench_problems_start(void)
{
    state = first_state;
}

static void put_real_number(const struct bench_problem *p, void *array, size_t i, double v)
{
    if (p->real == 8)
        ((double *)array)[i] = v;
    else
        ((float *)array)[i] = (float)v;
}

static double real_number_at(const struct bench_problem *p, const void *array, size_t i)
{
    return p->real == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

void bench_problem_close(struct bench_problem *p)
{
    for (int d = 0; d < 3; d++)
        free(p->x[d]);
    free(p->c);
    free(p->f);
}

/* exp(i k x) of an axis's modes, in their order. */
static void make_phases(double complex *phases, int64_t modes, double x)
{
    for (int64_t k = 0; k < modes; k++)
        phases[k] = cexp(I * x * (double)(k - modes / 2));
}

/* A point's sum over all modes of the first vector.  Phases are products of the axes', so that a term is hardly more
 * than a multiplication, which matters where there are millions. */
static double complex sum_over_modes(const struct bench_problem *p, size_t point, double complex *const phases[3])
{
    double complex sum = 0;
    size_t at = 0;
    for (int d = 0; d < 3; d++)
        make_phases(phases[d], p->modes[d], d < p->cell->dim ? real_number_at(p, p->x[d], point) : 0);
    for (int64_t i = 0; i < p->modes[0]; i++)
        for (int64_t j = 0; j < p->modes[1]; j++) {
            double complex part = 0;
            for (int64_t k = 0; k < p->modes[2]; k++, at += 2)
                part += phases[2][k] * (real_number_at(p, p->f, at) + I * real_number_at(p, p->f, at + 1));
            sum += part * phases[0][i] * phases[1][j];
        }
    return sum;
}

/* A mode's sum over all points, of the first vector. */
static double complex sum_over_points(const struct bench_problem *p, size_t mode)
{
    double k[3];
    double complex sum = 0;
    for (int d = 2; d >= 0; d--) {
        k[d] = (double)((int64_t)(mode % (size_t)p->modes[d]) - p->modes[d] / 2);
        mode /= (size_t)p->modes[d];
    }
    for (size_t i = 0; i < p->m; i++) {
        double phase = 0;
        for (int d = 0; d < p->cell->dim; d++)
            phase += real_number_at(p, p->x[d], i) * k[d];
        sum += (real_number_at(p, p->c, 2 * i) + I * real_number_at(p, p->c, 2 * i + 1)) * cexp(I * phase);
    }
    return sum;
}

/* Picks some results and makes their direct sums. */
static int make_sums(struct bench_problem *p)
{
    double complex *phases[3];
    bool to_modes = p->cell->type == 1, there = true;
    for (int d = 0; d < 3; d++) {
        phases[d] = malloc((size_t)p->modes[d] * sizeof *phases[d]);
        there = there && phases[d];
    }
    for (int i = 0; i < p->n_checked && there; i++) {
        size_t r = (size_t)(sim_uniform(&state) * (double)(to_modes ? p->n : p->m));
        p->checked[i] = r;
        p->sums[i] = to_modes ? sum_over_points(p, r) : sum_over_modes(p, r, phases);
    }
    for (int d = 0; d < 3; d++)
        free(phases[d]);
    return there ? 0 : cli_error("out of memory for direct sums");
}

/* Random numbers for the first vector, which is checked; the others have the same. */
static void fill_vectors(const struct bench_problem *p, void *array, size_t n)
{
    for (size_t i = 0; i < 2 * n; i++)
        put_real_number(p, array, i, sim_uniform(&state) - 0.5);
    for (size_t v = 1; v < p->vectors; v++)
        memcpy((char *)array + v * 2 * n * p->real, array, 2 * n * p->real);
}

/* Room for n complex numbers of each vector, or NULL. */
static void *room_for(const struct bench_problem *p, size_t n)
{
    size_t size = 2 * p->real * p->vectors;
    return n <= SIZE_MAX / size ? malloc(n * size) : NULL;
}

int bench_problem_open(struct bench_problem *p, const struct bench_cell *cell, int64_t points, double sigma,
                       int n_checked)
{
    const struct bench_sparse *sparse = cell->sparse;
    *p = (struct bench_problem){ .cell = cell, .n = 1, .vectors = 1, .modes = { 1, 1, 1 }, .n_checked = n_checked };
    p->real = cell->precision == HCY_F64 ? 8 : 4;
    for (int d = 0; d < cell->dim; d++)
        p->modes[d] = cell->n;
    p->m = BENCH_POINTS;
    if (sparse) {
        p->modes[2] = sparse->last;
        p->vectors = sparse->vectors;
        p->m = (size_t)sparse->points;
    }
    if (points)
        p->m = (size_t)points;
    for (int d = 0; d < 3; d++)
        p->n *= (size_t)p->modes[d];
    p->c = room_for(p, p->m);
    p->f = room_for(p, p->n);
    bool there = p->c && p->f;
    for (int d = 0; d < cell->dim && there; d++) {
        p->x[d] = malloc(p->m * p->real);
        there = p->x[d] != NULL;
        for (size_t i = 0; i < p->m && there; i++)
            put_real_number(p, p->x[d], i, sim_coordinate(&state, sigma));
    }
    if (!there) {
        bench_problem_close(p);
        return cli_error("out of memory for %zu points and %zu modes, %zu vectors", p->m, p->n, p->vectors);
    }
    fill_vectors(p, p->c, p->m);
    fill_vectors(p, p->f, p->n);
    /* The direct sums are taken before the transforms write over one of the arrays. */
    int status = make_sums(p);
    if (status)
        bench_problem_close(p);
    return status;
}

double bench_problem_error(const struct bench_problem *p)
{
    const void *out = p->cell->type == 1 ? p->f : p->c;
    double bad = 0, all = 0;
    for (int i = 0; i < p->n_checked; i++) {
        size_t r = p->checked[i];
        double complex sum = p->sums[i], got = real_number_at(p, out, 2 * r) + I * real_number_at(p, out, 2 * r + 1);
        double complex off = got - sum;
        bad += creal(off * conj(off));
        all += creal(sum * conj(sum));
    }
    return sqrt(bad / all);
}
