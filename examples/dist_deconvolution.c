/* dist_deconvolution.c - multi-dimensional deconvolution on several processes: the response between receivers, from the
 * waves that come down to them and those that go up.
 *
 * usage: mpirun -n 4 dist_deconvolution [DEVICES]    "cpu", "cuda" (a GPU for each process of a host)
 *
 * Up-going waves are down-going ones convolved in time with the response and added up over receivers: at each frequency
 * a matrix.  The response [times][receivers][sources] is in blocks of sources; its Fourier transform goes to blocks of
 * frequencies, where each process has the matrices of its own, and back: d = F^H G F m, solved by CGLS.
 */
#include "dist_tutorial.h"

#include <math.h>
#include <stdlib.h>

enum { TIMES = 32, RECEIVERS = 6, SHOTS = 8, SOURCES = 5, ITERATIONS = 80 };
static const double pi = 3.14159265358979323846;

struct fields {
    hcy_dist_layout *response, *up;               /* in time, blocks of sources */
    hcy_dist_layout *frequencies, *up_frequencies; /* blocks of frequencies */
    hcy_operator *steps[5], *own, *chain;         /* the first that is applied stands last */
    hcy_array *matrices, *truth, *data, *found;
    hcy_solver *solver;
};

/* The down-going waves of this process's frequencies: what goes straight to a receiver and, later and less, what comes
 * from the others.  Frequencies in the upper half are negative. */
static int make_matrices(struct fields *f, const struct ranks *r)
{
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    int status = hcy_dist_layout_get_info(&info, f->frequencies);
    if (status)
        return status;
    const int64_t n = info.local_shape[0], shape[3] = { n, SHOTS, RECEIVERS };
    double *g = malloc(((size_t)n * SHOTS * RECEIVERS * 2 + 1) * sizeof *g);
    if (!g)
        return hcy_fail(HCY_ENOMEM, "out of memory for %d matrices", (int)n);
    for (int64_t i = 0; i < n * SHOTS * RECEIVERS; i++) {
        const int64_t k = info.first + i / (SHOTS * RECEIVERS);
        const double far = fabs((double)(i / RECEIVERS % SHOTS) - (double)(i % RECEIVERS)),
                     w = 2 * pi * (double)(k < TIMES / 2 ? k : k - TIMES) / TIMES, size = 1 / (1 + 2 * far * far);
        g[2 * i] = size * cos(w * far);
        g[2 * i + 1] = k == TIMES / 2 ? 0 : -size * sin(w * far);
    }
    status = hcy_array_from_host(&f->matrices, r->dev, HCY_COMPLEX128, 3, shape, g);
    free(g);
    return status ? status : hcy_operator_matrices(&f->own, f->matrices, SOURCES);
}

static int make_chain(struct fields *f, const struct ranks *r)
{
    const int64_t response[3] = { TIMES, RECEIVERS, SOURCES }, up[3] = { TIMES, SHOTS, SOURCES };
    const int time = 0;
    hcy_operator *there = NULL, *transform = NULL, *back = NULL;
    int status = hcy_dist_layout_blocks(&f->response, r->comm, 3, response, 2, NULL);
    if (!status)
        status = hcy_dist_layout_blocks(&f->up, r->comm, 3, up, 2, NULL);
    if (!status)
        status = hcy_dist_fft(&f->steps[4], r->dev, f->response, HCY_COMPLEX128, &time, 1);
    if (!status)
        status = hcy_dist_transpose(&f->steps[3], &f->frequencies, r->dev, f->response, HCY_COMPLEX128, NULL, 0);
    if (!status)
        status = hcy_dist_transpose(&there, &f->up_frequencies, r->dev, f->up, HCY_COMPLEX128, NULL, 0);
    if (!status)
        status = hcy_dist_agree(r->comm, make_matrices(f, r));
    if (!status)
        status = hcy_dist_operator(&f->steps[2], f->up_frequencies, f->frequencies, f->own);
    if (!status)
        status = hcy_operator_adjoint(&f->steps[1], there);
    if (!status)
        status = hcy_dist_fft(&transform, r->dev, f->up, HCY_COMPLEX128, &time, 1);
    /* The adjoint is the inverse times the number of times. */
    if (!status)
        status = hcy_operator_adjoint(&back, transform);
    if (!status)
        status = hcy_operator_scale(&f->steps[0], back, 1.0 / TIMES, 0);
    if (!status)
        status = hcy_operator_compose(&f->chain, f->steps, 5);
    hcy_operator_release(there);
    hcy_operator_release(transform);
    hcy_operator_release(back);
    return status;
}

/* A pulse from each receiver's place to each source's, later the further they are apart. */
static int make_response(struct fields *f, const struct ranks *r)
{
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    int status = hcy_dist_array(&f->truth, r->dev, f->response, HCY_COMPLEX128);
    if (!status)
        status = hcy_dist_array(&f->data, r->dev, f->up, HCY_COMPLEX128);
    if (!status)
        status = hcy_dist_layout_get_info(&info, f->response);
    if (!status && info.local_shape[2])
        status = HCY_EVAL(r->queue,
                          "s = first + index % n; i = index // n % m; t = index // (n * m);"
                          "late = t - 8 - abs(s - i); x = (1 - late * late) * exp(0 - 0.5 * late * late)",
                          hcy_op_array("x", f->truth), hcy_op_integer("first", info.first),
                          hcy_op_integer("n", info.local_shape[2]), hcy_op_integer("m", RECEIVERS));
    return status ? status : hcy_operator_apply(r->queue, f->data, f->chain, f->truth);
}

static int deconvolve(double *error, struct fields *f, const struct ranks *r)
{
    double off = 0;
    int status = make_chain(f, r);
    if (!status)
        status = make_response(f, r);
    if (!status)
        status = solve_for(&f->found, &f->solver, r, f->chain, HCY_SOLVER_CGLS, ITERATIONS, f->data, NULL);
    if (!status)
        status = sum_squares(&off, r, f->found, f->truth);
    /* Pulses have a height of 1; each process looks at its own sources. */
    *error = sqrt(off);
    return status;
}

static int solve_deconvolution(double *error, struct ranks *r)
{
    struct fields f = { .response = NULL };
    int status = deconvolve(error, &f, r);
    hcy_solver_destroy(f.solver);
    hcy_operator_release(f.chain);
    hcy_operator_release(f.own);
    for (int i = 0; i < 5; i++)
        hcy_operator_release(f.steps[i]);
    hcy_array *const arrays[] = { f.matrices, f.truth, f.data, f.found };
    hcy_dist_layout *const layouts[] = { f.response, f.up, f.frequencies, f.up_frequencies };
    for (int i = 0; i < 4; i++) {
        hcy_array_release(arrays[i]);
        hcy_dist_layout_release(layouts[i]);
    }
    return status;
}

int main(int argc, char **argv)
{
    return run_tutorial("dist_deconvolution", solve_deconvolution, 1e-6, argc > 1 ? argv[1] : NULL);
}
