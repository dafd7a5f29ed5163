/* recon_solve.c - the image of samples: the operator of all coils, and a solver's steps.
 *
 * What is minimised is |W^1/2 (A x - b)|^2, where A is what the coils receive of an image and W the share of k-space
 * that each sample has, 1 in all: with the density's weights A^H W A is about the identity, whatever the trajectory, so
 * that factors of regularisers mean the same for every file.
 */
#include "interrupt.h"
#include "recon.h"
#include <halcyon/backend.h>
#include <halcyon/coil_maps.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_AT_ONCE = 8, /* coils whose images are in memory together */
    LEAST_KERNEL = 2,
    MOST_KERNEL_NUMBERS = 300 /* of all coils */
};

static int type_of_numbers(const struct recon *r)
{
    return r->is_double ? HCY_COMPLEX128 : HCY_COMPLEX64;
}

int recon_same_bits(const struct recon *r)
{
    if (r->v->everywhere)
        return HCY_NUFFT_SAME_EVERYWHERE;
    return r->v->deterministic ? HCY_NUFFT_SAME_RUNS : 0;
}

bool recon_measures(const struct recon *r)
{
    return r->v->json || !r->v->quiet;
}

static bool compiles_any(const struct recon *r)
{
    for (size_t i = 0; i < r->n_devs; i++)
        if (cli_compiles(r->devs[i]))
            return true;
    return false;
}

/* --- The operator --- */

static void describe_plan(hcy_nufft_desc *desc, const struct recon *r)
{
    desc->type = 2;
    desc->sign = -1;
    desc->precision = recon_precision(r);
    desc->dim = r->dim;
    memcpy(desc->modes, r->sizes, sizeof desc->modes);
    desc->eps = r->v->eps.value;
}

/* With maps coils go through the plan some at a time; without, each is an image of its own. */
static int make_plan(struct recon *r)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    describe_plan(&desc, r);
    desc.n_transforms = (int64_t)(r->maps && r->coils > MOST_AT_ONCE ? MOST_AT_ONCE : r->coils);
    options.deterministic = recon_same_bits(r);
    int status = hcy_nufft_create(&r->plan, r->dev, &desc, &options);
    if (!status)
        status = hcy_nufft_set_points(r->plan, (int64_t)r->n, (const void *const *)r->axes, 0, NULL);
    return status;
}

static double weight_of(const struct recon *r, size_t i)
{
    return r->weights ? reals_get(r->is_double, r->weights, i) : 1 / (double)r->n;
}

/* The weights, or their square roots: [n]. */
static int put_weights(hcy_array **weights, const struct recon *r, bool roots)
{
    int64_t shape = (int64_t)r->n;
    void *numbers = reals_room(r->is_double, r->n);
    if (!numbers)
        return hcy_fail(HCY_ENOMEM, "no memory for %zu weights", r->n);
    for (size_t i = 0; i < r->n; i++)
        reals_put(r->is_double, numbers, i, roots ? sqrt(weight_of(r, i)) : weight_of(r, i));
    int status =
        hcy_array_from_host(weights, r->dev, r->is_double ? HCY_FLOAT64 : HCY_FLOAT32, 1, &shape, numbers);
    free(numbers);
    return status;
}

static int put_maps(hcy_array **maps, const struct recon *r)
{
    int64_t shape[4] = { (int64_t)r->coils, r->sizes[0], r->sizes[1], r->sizes[2] };
    return hcy_array_from_host(maps, r->dev, type_of_numbers(r), r->dim + 1, shape, r->maps);
}

static int make_coils(struct recon *r, hcy_array *roots)
{
    hcy_array *maps = NULL;
    int status = make_plan(r);
    if (!status)
        status = put_maps(&maps, r);
    if (!status)
        status = hcy_operator_sense(&r->op, r->plan, maps, roots);
    hcy_array_release(maps);
    return status;
}

/* r->op becomes that and the weights behind it. */
static int weigh_operator(struct recon *r, hcy_array *roots)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *chain[2] = { NULL, r->op };
    r->op = NULL;
    int status = hcy_operator_get_info(&info, chain[1]);
    if (!status)
        status = hcy_operator_diagonal(&chain[0], &info.range, roots);
    if (!status)
        status = hcy_operator_compose(&r->op, chain, 2);
    hcy_operator_release(chain[0]);
    hcy_operator_release(chain[1]);
    return status;
}

static int make_transforms(struct recon *r)
{
    int status = make_plan(r);
    return status ? status : hcy_operator_nufft(&r->op, r->plan);
}

static int make_stack(struct recon *r)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    hcy_array *maps = NULL;
    describe_plan(&desc, r);
    desc.n_transforms = r->maps ? (int64_t)(r->coils < MOST_AT_ONCE ? r->coils : MOST_AT_ONCE) : 1;
    options.deterministic = recon_same_bits(r);
    int status = r->maps ? put_maps(&maps, r) : 0;
    if (!status)
        status = recon_make_stack(r, &desc, &options, maps);
    hcy_array_release(maps);
    return status;
}

/* r->op becomes the one of an image for each function. */
static int add_basis(struct recon *r)
{
    const int64_t shape[2] = { (int64_t)r->functions, (int64_t)r->frames };
    hcy_operator *op = NULL;
    hcy_array *basis = NULL;
    int status = hcy_array_from_host(&basis, r->dev, type_of_numbers(r), 2, shape, r->basis);
    if (!status)
        status = hcy_operator_subspace(&op, r->op, basis);
    hcy_array_release(basis);
    if (status)
        return status;
    hcy_operator_release(r->op);
    r->op = op;
    return 0;
}

int recon_make_operator(struct recon *r)
{
    hcy_array *roots = NULL;
    const bool is_stack = r->planes && !r->v->toeplitz, weighs = r->maps && !is_stack;
    int status = put_weights(&roots, r, true);
    if (!status && weighs)
        status = make_coils(r, roots);
    else if (!status)
        status = is_stack ? make_stack(r) : make_transforms(r);
    if (!status && !weighs)
        status = weigh_operator(r, roots);
    if (!status && (r->field || r->decay))
        status = recon_add_field(r);
    if (!status && r->basis)
        status = add_basis(r);
    hcy_array_release(roots);
    return status;
}

hcy_operator *recon_operator(const struct recon *r)
{
    return r->real_op ? r->real_op : r->op;
}

void recon_free_operator(struct recon *r)
{
    hcy_operator_release(r->real_op);
    r->real_op = NULL;
    hcy_operator_release(r->op);
    r->op = NULL;
    hcy_nufft_destroy(r->plan);
    r->plan = NULL;
}

/* --- Maps --- */

/* Each coil's image by gridding. */
static int grid_coils(hcy_array **images, struct recon *r)
{
    hcy_operator *nufft = NULL, *weigh = NULL;
    hcy_array *samples = NULL, *weighted = NULL, *weights = NULL;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    int status = make_plan(r);
    if (!status)
        status = hcy_operator_nufft(&nufft, r->plan);
    if (!status)
        status = hcy_operator_get_info(&info, nufft);
    const hcy_space *range = &info.range, *domain = &info.domain;
    if (!status)
        status = put_weights(&weights, r, false);
    if (!status)
        status = hcy_operator_diagonal(&weigh, range, weights);
    if (!status)
        status = hcy_array_from_host(&samples, r->dev, range->dtype, range->rank, range->shape, r->samples);
    if (!status)
        status = hcy_array_empty(&weighted, r->dev, range->dtype, range->rank, range->shape);
    if (!status)
        status = hcy_array_empty(images, r->dev, domain->dtype, domain->rank, domain->shape);
    if (!status)
        status = hcy_operator_apply(r->queue, weighted, weigh, samples);
    if (!status)
        status = hcy_operator_apply_adjoint(r->queue, *images, nufft, weighted);
    /* The plan outlives what was submitted. */
    int finished = hcy_queue_finish(r->queue);
    hcy_array_release(weighted);
    hcy_array_release(samples);
    hcy_array_release(weights);
    hcy_operator_release(weigh);
    hcy_operator_release(nufft);
    hcy_nufft_destroy(r->plan);
    r->plan = NULL;
    return status ? status : finished;
}

/* ESPIRiT's kernel: the usual one, or what many coils, or three axes, leave of it.  Its time goes with the third power
 * of its numbers. */
static int choose_kernel(const struct recon *r, int usual)
{
    for (int kernel = usual; kernel > LEAST_KERNEL; kernel--) {
        size_t numbers = r->coils;
        for (int d = 0; d < r->dim; d++)
            numbers *= (size_t)kernel;
        if (numbers <= MOST_KERNEL_NUMBERS)
            return kernel;
    }
    return LEAST_KERNEL;
}

/* The middle of k-space, from coils' images, to host memory, as maps of a file are. */
static int find_maps(struct recon *r)
{
    hcy_coil_maps_options how = HCY_COIL_MAPS_OPTIONS_INIT;
    int64_t shape[4] = { (int64_t)r->coils, r->sizes[0], r->sizes[1], r->sizes[2] };
    hcy_array *images = NULL, *maps = NULL;
    void *numbers = NULL;
    size_t n;
    how.method = HCY_COIL_MAPS_ESPIRIT;
    how.kernel = choose_kernel(r, how.kernel);
    int status = grid_coils(&images, r);
    if (!status)
        status = hcy_array_empty(&maps, r->dev, type_of_numbers(r), r->dim + 1, shape);
    if (!status)
        status = hcy_coil_maps(r->queue, maps, images, &how);
    hcy_array_release(images);
    if (!status && (hcy_size_mul(&n, 2 * r->coils, r->pixels) || !(numbers = reals_room(r->is_double, n))))
        status = hcy_fail(HCY_ENOMEM, "no memory for maps of %zu coils", r->coils);
    if (!status)
        status = hcy_array_to_host(numbers, r->queue, maps);
    hcy_array_release(maps);
    r->maps = numbers;
    return status;
}

int recon_estimate_maps(struct recon *r)
{
    const double begun = progress_seconds(&r->progress), before = r->setup;
    bool is_weighed = r->weights != NULL;
    void *all = r->samples, *mean = NULL;
    progress_say(&r->progress, "maps of %zu coils ...", r->coils);
    /* Gridding needs the density also where the solver does without. */
    int status = is_weighed ? CLI_OK : recon_compute_weights(r, RECON_DCF_PIPE);
    /* What moves between frames is no coil's. */
    if (!status && r->is_same)
        status = recon_mean_samples(&mean, r);
    r->samples = mean ? mean : all;
    int st = status ? 0 : find_maps(r);
    r->samples = all;
    free(mean);
    if (!is_weighed) {
        free(r->weights);
        r->weights = NULL;
    }
    progress_clear(&r->progress);
    r->setup = before + progress_seconds(&r->progress) - begun;
    return st ? cli_fail(st) : status;
}

/* --- The data --- */

/* The samples times the square roots of the weights, where they are read; host memory is no longer needed then. */
static int make_data(hcy_array **data, struct recon *r)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    for (size_t i = 0; i < r->coils * r->n; i++) {
        double root = sqrt(weight_of(r, i % r->n));
        for (size_t k = 2 * i; k < 2 * i + 2; k++)
            reals_put(r->is_double, r->samples, k, root * reals_get(r->is_double, r->samples, k));
    }
    int status = hcy_operator_get_info(&info, r->op);
    if (!status)
        status = hcy_array_from_host(data, r->dev, info.range.dtype, info.range.rank, info.range.shape,
                                     r->samples);
    free(r->samples);
    r->samples = NULL;
    return status;
}

/* --- Solving --- */

/* After every iteration: the line of progress; a signal ends the run, whose image is written as it is. */
static int report_iteration(void *user, hcy_solver *solver, int64_t iteration, double residual)
{
    struct recon *r = user;
    size_t n;
    char frame[60] = "";
    if (r->n_frames)
        snprintf(frame, sizeof frame, "frame %zu of %zu, ", r->frame + 1, r->n_frames);
    if (!(r->first > 0) && hcy_solver_residuals(&r->first, &n, 1, solver))
        return 1;
    progress_say(&r->progress, "%s%s: iteration %lld of %lld, residual %.2e of the first  %.1f s",
                 frame, recon_solvers[r->solver], (long long)iteration, (long long)r->v->iterations.value,
                 r->first > 0 ? residual / r->first : residual, progress_seconds(&r->progress));
    return interrupt_came();
}

static int keep_residuals(struct recon *r)
{
    size_t capacity = (size_t)r->v->iterations.value + 1;
    free(r->residuals);
    r->residuals = calloc(capacity, sizeof *r->residuals);
    if (!r->residuals)
        return hcy_fail(HCY_ENOMEM, "no memory for %zu residuals", capacity);
    int status = hcy_solver_residuals(r->residuals, &r->n_residuals, capacity, r->steps);
    return status ? status : hcy_solver_get_info(&r->info, r->steps);
}

/* The solver's x, or the image that stands in front of TGV's field. */
static int take_solution(hcy_array **image, struct recon *r)
{
    hcy_array *x = NULL;
    int status = hcy_solver_get_x(&x, r->steps);
    if (!status && r->is_generalised)
        status = hcy_array_slice(image, x, "0");
    else if (!status)
        *image = hcy_array_retain(x);
    hcy_array_release(x);
    return status;
}

/* Starts the solver; a step that does not count goes before where kernels are compiled by it, and nothing remembers it:
 * what the start itself needs are the transforms already. */
static int start_solver(struct recon *r, hcy_array *data)
{
    int status = hcy_solver_start(r->steps, data, NULL);
    if (status || !recon_measures(r) || !compiles_any(r) || recon_regs_count(r))
        return status;
    status = hcy_solver_step(r->steps);
    if (!status)
        status = hcy_solver_start(r->steps, data, NULL);
    return status ? status : hcy_queue_finish(r->queue);
}

/* The solver, unless the frame before had it. */
static int make_solver(struct recon *r)
{
    static const int methods[] = { [RECON_CG] = HCY_SOLVER_CG_NORMAL,
                                   [RECON_CGLS] = HCY_SOLVER_CGLS,
                                   [RECON_LSQR] = HCY_SOLVER_LSQR,
                                   [RECON_LSMR] = HCY_SOLVER_LSMR,
                                   [RECON_FISTA] = HCY_SOLVER_FISTA,
                                   [RECON_PRIMAL_DUAL] = HCY_SOLVER_PRIMAL_DUAL,
                                   [RECON_ADMM] = HCY_SOLVER_ADMM };
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *op = r->gram ? r->gram : recon_operator(r), *with_field = NULL;
    if (r->steps)
        return 0;
    how.method = r->gram && r->solver == RECON_CG ? HCY_SOLVER_CG : methods[r->solver];
    how.max_iterations = r->v->iterations.value;
    how.tolerance = r->v->tolerance.value;
    how.check_every = 1;
    how.l2 = r->v->lambda.value;
    how.proximals = r->proximals;
    how.n_proximals = r->n_regs;
    how.is_gram = r->gram && r->solver != RECON_CG;
    how.callback = report_iteration;
    how.user = r;
    int status = hcy_operator_get_info(&info, op);
    if (!status)
        status = recon_make_regs(r, &info.domain);
    if (!status && r->is_generalised)
        status = recon_add_field_of_tgv(&with_field, r, &info.domain);
    op = with_field ? with_field : op;
    if (!status)
        status = hcy_solver_create(&r->steps, r->queue, op, &how);
    hcy_operator_release(with_field);
    return status;
}

static int iterate_image(hcy_array **x, struct recon *r, hcy_array *data)
{
    const double begun = progress_seconds(&r->progress);
    int status = make_solver(r);
    r->first = 0;
    if (!status)
        status = start_solver(r, data);
    /* The norms that steps depend on are found by then, which is set-up as well. */
    r->setup += progress_seconds(&r->progress) - begun;
    if (!status)
        status = hcy_solver_run(r->steps, r->v->iterations.value);
    if (!status)
        status = take_solution(x, r);
    return status ? status : keep_residuals(r);
}

static int apply_adjoint(hcy_array **x, struct recon *r, hcy_array *data)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *op = recon_operator(r);
    int status = hcy_operator_get_info(&info, op);
    if (!status)
        status = hcy_array_empty(x, r->dev, info.domain.dtype, info.domain.rank, info.domain.shape);
    return status ? status : hcy_operator_apply_adjoint(r->queue, *x, op, data);
}

/* The image by the adjoint alone, after a first time where kernels are compiled by that. */
static int grid_image(hcy_array **x, struct recon *r, hcy_array *data)
{
    const double begun = progress_seconds(&r->progress);
    int status = 0;
    if (recon_measures(r) && compiles_any(r)) {
        status = apply_adjoint(x, r, data);
        status = status ? status : hcy_queue_finish(r->queue);
        hcy_array_release(*x);
        *x = NULL;
        r->setup += progress_seconds(&r->progress) - begun;
    }
    return status ? status : apply_adjoint(x, r, data);
}

/* The operator of real images, of one of complex ones or of a Gram operator. */
static int make_real(hcy_operator **real, hcy_operator *op, const struct recon *r, bool is_gram)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *widen = NULL, *narrow = NULL;
    int status = hcy_operator_get_info(&info, op);
    hcy_space image = info.domain;
    image.dtype = r->is_double ? HCY_FLOAT64 : HCY_FLOAT32;
    if (!status)
        status = hcy_operator_complex(&widen, r->dev, &image);
    if (!status)
        status = hcy_operator_adjoint(&narrow, widen);
    if (!status)
        status = hcy_operator_compose(real, (hcy_operator *[]){ narrow, op, widen } + !is_gram, 2 + is_gram);
    hcy_operator_release(widen);
    hcy_operator_release(narrow);
    return status;
}

/* The Gram operator becomes that of real images. */
static int make_real_gram(struct recon *r)
{
    hcy_operator *complex_gram = r->gram;
    r->gram = NULL;
    int status = make_real(&r->gram, complex_gram, r, true);
    hcy_operator_release(complex_gram);
    return status;
}

int recon_make_convolution(struct recon *r)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_array *maps = NULL, *weights = NULL;
    const void *const *points = (const void *const *)r->axes;
    const bool has_field = r->field || r->decay;
    describe_plan(&desc, r);
    /* It is not needed any more, unless for the next frame's samples, and large; but it has the segments of a field. */
    if (!has_field && !r->keeps)
        recon_free_operator(r);
    int status = r->maps ? put_maps(&maps, r) : 0;
    if (!status)
        status = put_weights(&weights, r, false);
    if (!status && has_field)
        status = hcy_operator_toeplitz_field(&r->gram, r->op, &desc, (int64_t)r->n, points, maps, weights);
    else if (!status)
        status = hcy_operator_toeplitz(&r->gram, r->dev, &desc, (int64_t)r->n, points, maps, weights);
    if (!r->keeps)
        recon_free_operator(r);
    hcy_array_release(maps);
    hcy_array_release(weights);
    return status;
}

/* Several devices send each other images of a Gram operator, and of the others samples, too.  Generalised variation
 * puts its field beside the image that an operator takes. */
static bool needs_gram(const struct recon *r)
{
    const bool takes_gram = r->solver == RECON_CG || r->solver == RECON_FISTA ||
                            r->solver == RECON_PRIMAL_DUAL || r->solver == RECON_ADMM;
    return r->v->toeplitz || (r->n_devs > 1 && takes_gram && !r->is_generalised);
}

/* In place of the operator its Gram operator, and in place of the data what the adjoint makes of them. */
static int make_gram(hcy_array **data, struct recon *r)
{
    hcy_array *gridded = NULL;
    int status = apply_adjoint(&gridded, r, *data);
    if (!status)
        status = hcy_queue_finish(r->queue);
    /* The samples are not needed any more, and large. */
    hcy_array_release(*data);
    *data = gridded;
    if (status || r->gram)
        return status;
    if (r->n_devs == 1) {
        status = recon_make_convolution(r);
    } else {
        recon_free_operator(r);
        status = recon_share_gram(r);
    }
    return status || !r->v->real ? status : make_real_gram(r);
}

static int fetch_image(struct recon *r, hcy_array *x)
{
    size_t images = r->basis ? r->functions : r->maps ? 1 : r->coils, numbers;
    const size_t parts = r->v->real ? 1 : 2;
    r->image = hcy_size_mul(&numbers, images, r->pixels) ? NULL : reals_room(r->is_double, parts * numbers);
    if (!r->image)
        return hcy_fail(HCY_ENOMEM, "no memory for %zu images of %zu pixels", images, r->pixels);
    return hcy_array_to_host(r->image, r->queue, x);
}

/* What a frame before did not leave. */
static int make_operator(struct recon *r)
{
    int status = r->op ? 0 : r->n_devs > 1 ? recon_share_operator(r) : recon_make_operator(r);
    return status || !r->v->real || r->real_op ? status : make_real(&r->real_op, r->op, r, false);
}

int recon_solve(struct recon *r)
{
    hcy_array *data = NULL, *x = NULL;
    double begun = progress_seconds(&r->progress);
    progress_say(&r->progress, "setting %zu points of %zu coil%s ...", r->n, r->coils,
                 r->coils == 1 ? "" : "s");
    int status = make_operator(r);
    if (!status)
        status = make_data(&data, r);
    if (!status && needs_gram(r))
        status = make_gram(&data, r);
    r->setup += progress_seconds(&r->progress) - begun;
    begun = progress_seconds(&r->progress);
    const double before = r->setup;
    /* Whoever interrupts iterations has seen enough of them, and wants what there is. */
    if (!r->n_frames)
        interrupt_catch();
    if (!status)
        status = r->solver == RECON_ADJOINT ? grid_image(&x, r, data) : iterate_image(&x, r, data);
    if (!status)
        status = fetch_image(r, x);
    if (!r->n_frames)
        interrupt_release();
    r->solving += progress_seconds(&r->progress) - begun - (r->setup - before);
    progress_clear(&r->progress);
    hcy_array_release(data);
    hcy_array_release(x);
    if (status)
        return cli_fail(status);
    if (r->info.reason != HCY_SOLVER_BREAKDOWN)
        return CLI_OK;
    if (!isfinite(r->info.last))
        return cli_error("after %lld iterations %s%s", (long long)r->info.iterations, r->info.message,
                         r->is_double ? "" : "; try --precision double");
    /* The image is as good as its residual, which the summary has. */
    if (!r->v->quiet)
        cli_note("%s", r->info.message);
    return CLI_OK;
}

void recon_free_solver(struct recon *r)
{
    /* What was submitted is done: the image has come, or a failure has ended the queue. */
    hcy_solver_destroy(r->steps);
    for (size_t i = 0; i < r->n_regs; i++) {
        hcy_proximal_release(r->proximals[i]);
        r->proximals[i] = NULL;
    }
    hcy_operator_release(r->gram);
    recon_free_operator(r);
    r->steps = NULL;
    r->gram = NULL;
}

void recon_free(struct recon *r)
{
    recon_free_solver(r);
    hcy_queue_release(r->queue);
    recon_free_devices(r);
    for (int d = 0; d < 3; d++)
        free(r->axes[d]);
    free(r->planes);
    free(r->samples);
    free(r->maps);
    free(r->basis);
    free(r->weights);
    free(r->field);
    free(r->decay);
    free(r->times);
    free(r->image);
    free(r->residuals);
    free(r->trajectory);
}
