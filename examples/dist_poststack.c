/* dist_poststack.c - post-stack inversion on several processes: the logarithm of the impedance under each trace of a
 * volume, from a seismic image.
 *
 * usage: mpirun -n 4 dist_poststack [DEVICES]    "cpu", "cuda" (a GPU for each process of a host)
 *
 * A trace is a wavelet over half of the derivative of its column, d = W D m.  The volume [lines][traces][depths] is in
 * blocks of lines.  What the wavelet lacks comes from a smooth background, and a Laplacian holds neighbours together:
 * (A^T A + e L^T L) m = A^T d, by conjugate gradients.
 */
#include "dist_tutorial.h"

#include <math.h>

enum { LINES = 9, TRACES = 8, DEPTHS = 60, TAPS = 21, ITERATIONS = 150 };

struct volume {
    hcy_dist_layout *layout;
    hcy_operator *wavelet, *derivative, *modelling, *roughness, *normal;
    hcy_array *truth, *background, *data, *right_side;
    hcy_solver *solver;
    hcy_array *model;
};

/* A Ricker wavelet for every row: along the column it does not change. */
static int make_modelling(struct volume *v, const struct ranks *r)
{
    hcy_filters filters = HCY_FILTERS_INIT;
    double taps[TAPS];
    for (int k = 0; k < TAPS; k++) {
        const double t = 0.4 * (k - TAPS / 2);
        taps[k] = (1 - 2 * t * t) * exp(-t * t);
    }
    filters.taps = taps;
    filters.n = 1;
    filters.length = TAPS;
    int status = hcy_dist_convolve(&v->wavelet, r->dev, v->layout, HCY_FLOAT64, 2, &filters);
    if (!status)
        status = hcy_dist_difference(&v->derivative, r->dev, v->layout, HCY_FLOAT64, 2, HCY_DIFFERENCE_CENTRED, 0.5);
    return status ? status
                  : hcy_operator_compose(&v->modelling, (hcy_operator *[]){ v->wavelet, v->derivative }, 2);
}

/* A^T A + e L^T L. */
static int make_normal(struct volume *v, const struct ranks *r)
{
    const double sides[3] = { 1, 1, 0 };
    hcy_operator *back = NULL, *transposed = NULL, *of_data = NULL, *of_model = NULL, *weighted = NULL;
    int status = hcy_dist_laplacian(&v->roughness, r->dev, v->layout, HCY_FLOAT64, sides);
    if (!status)
        status = hcy_operator_adjoint(&back, v->modelling);
    if (!status)
        status = hcy_operator_adjoint(&transposed, v->roughness);
    if (!status)
        status = hcy_operator_compose(&of_data, (hcy_operator *[]){ back, v->modelling }, 2);
    if (!status)
        status = hcy_operator_compose(&of_model, (hcy_operator *[]){ transposed, v->roughness }, 2);
    if (!status)
        status = hcy_operator_scale(&weighted, of_model, 1e-3, 0);
    if (!status)
        status = hcy_operator_sum(&v->normal, (hcy_operator *[]){ of_data, weighted }, 2);
    hcy_operator_release(back);
    hcy_operator_release(transposed);
    hcy_operator_release(of_data);
    hcy_operator_release(of_model);
    hcy_operator_release(weighted);
    return status;
}

/* Layers that dip a little, on a trend; the background knows the trend alone. */
static int make_earth(struct volume *v, const struct ranks *r)
{
    const int64_t shape[3] = { LINES, TRACES, DEPTHS };
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    int status = hcy_dist_layout_blocks(&v->layout, r->comm, 3, shape, 0, NULL);
    if (!status)
        status = hcy_dist_layout_get_info(&info, v->layout);
    hcy_array **const arrays[4] = { &v->truth, &v->background, &v->data, &v->right_side };
    for (int i = 0; !status && i < 4; i++)
        status = hcy_dist_array(arrays[i], r->dev, v->layout, HCY_FLOAT64);
    /* index counts this process's elements, whose first line is `first`. */
    if (!status)
        status = HCY_EVAL(r->queue,
                          "line = first + index // (n * d); trace = index // d % n; z = index % d;"
                          "b = 8 + 0.01 * z; m = b + 0.2 * sin(0.5 * z + 0.1 * line + 0.15 * trace)"
                          "* exp(0 - 0.008 * (z - 30) * (z - 30))",
                          hcy_op_array("m", v->truth), hcy_op_array("b", v->background),
                          hcy_op_integer("first", info.first), hcy_op_integer("n", TRACES),
                          hcy_op_integer("d", DEPTHS));
    return status;
}

/* The model's error over that of the background. */
static int invert(double *error, struct volume *v, const struct ranks *r)
{
    double sums[2] = { 0, 0 };
    int status = make_earth(v, r);
    if (!status)
        status = make_modelling(v, r);
    if (!status)
        status = make_normal(v, r);
    if (!status)
        status = hcy_operator_apply(r->queue, v->data, v->modelling, v->truth);
    if (!status)
        status = hcy_operator_apply_adjoint(r->queue, v->right_side, v->modelling, v->data);
    if (!status)
        status = solve_for(&v->model, &v->solver, r, v->normal, HCY_SOLVER_CG, ITERATIONS, v->right_side,
                           v->background);
    if (!status)
        status = sum_squares(&sums[0], r, v->model, v->truth);
    if (!status)
        status = sum_squares(&sums[1], r, v->background, v->truth);
    /* Each process looks at its own lines; one without any has nothing wrong. */
    *error = sums[1] > 0 ? sqrt(sums[0] / sums[1]) : 0;
    return status;
}

static int solve_poststack(double *error, struct ranks *r)
{
    struct volume v = { .layout = NULL };
    int status = invert(error, &v, r);
    hcy_solver_destroy(v.solver);
    hcy_operator *const operators[] = { v.wavelet, v.derivative, v.modelling, v.roughness, v.normal };
    hcy_array *const arrays[] = { v.truth, v.background, v.data, v.right_side, v.model };
    for (int i = 0; i < 5; i++) {
        hcy_operator_release(operators[i]);
        hcy_array_release(arrays[i]);
    }
    hcy_dist_layout_release(v.layout);
    return status;
}

int main(int argc, char **argv)
{
    return run_tutorial("dist_poststack", solve_poststack, 0.1, argc > 1 ? argv[1] : NULL);
}
