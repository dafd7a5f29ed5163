/* recon_solve.c - the image of samples of halcyon recon: coils' maps, the data, a solver's steps.  Single-threaded, but
 * that other threads may have a struct recon of their own. */
#include "interrupt.h"
#include "recon.h"
#include <halcyon/backend.h>
#include <halcyon/coil_maps.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_KERNEL = 2,
    MOST_KERNEL_NUMBERS = 300 /* of all coils */
};

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

/* --- Maps --- */

/* Each coil's image by gridding. */
static int grid_coils(hcy_array **images, struct recon *r)
{
    hcy_operator *nufft = NULL, *weigh = NULL;
    hcy_array *samples = NULL, *weighted = NULL, *weights = NULL;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    int status = recon_make_plan(r);
    if (!status)
        status = hcy_operator_nufft(&nufft, r->plan);
    if (!status)
        status = hcy_operator_get_info(&info, nufft);
    const hcy_space *range = &info.range, *domain = &info.domain;
    if (!status)
        status = recon_put_weights(&weights, r, false);
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
        status = hcy_array_empty(&maps, r->dev, recon_type(r), r->dim + 1, shape);
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

static int estimate_maps(struct recon *r)
{
    const double begun = progress_seconds(&r->progress), before = r->setup;
    void *all = r->samples, *mean = NULL, *own = r->weights;
    /* Gridding needs the density also where the solver does without, and that of all frames' points together. */
    const bool is_weighed = own && (!r->n_frames || r->is_same);
    progress_say(&r->progress, "maps of %zu coils ...", r->coils);
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
        r->weights = own;
    }
    progress_clear(&r->progress);
    r->setup = before + progress_seconds(&r->progress) - begun;
    return st ? cli_fail(st) : status;
}

/* Frames [first, end) of one slice, one behind the other, as what all of them measured of its maps. */
static int estimate_slice(struct recon *r, size_t slice, size_t first, size_t end)
{
    struct recon one = *r;
    const size_t real = r->is_double ? sizeof(double) : sizeof(float), maps = 2 * real * r->coils * r->pixels;
    one.maps = NULL;
    const size_t before = recon_points_before(r, first);
    one.n = recon_points_before(r, end) - before;
    one.samples = reals_room(r->is_double, 2 * r->coils * one.n);
    if (!one.samples)
        return cli_error("no memory for %zu samples of %zu coils", one.n, r->coils);
    for (int d = 0; d < r->dim; d++)
        one.axes[d] = (char *)r->axes[d] + real * before;
    for (size_t c = 0; c < r->coils; c++)
        memcpy((char *)one.samples + 2 * real * c * one.n,
               (char *)r->samples + 2 * real * (c * r->n + before), 2 * real * one.n);
    const int status = estimate_maps(&one);
    if (!status)
        memcpy((char *)r->maps + slice * maps, one.maps, maps);
    r->setup = one.setup;
    free(one.maps);
    free(one.samples);
    return status;
}

int recon_estimate_maps(struct recon *r)
{
    size_t n, first = 0, end;
    int status = CLI_OK;
    if (recon_count_slices(r) == 1)
        return estimate_maps(r);
    if (hcy_size_mul(&n, 2 * r->n_slices * r->coils, r->pixels) || !(r->maps = reals_room(r->is_double, n)))
        return cli_error("no memory for maps of %zu coils and %zu slices", r->coils, r->n_slices);
    for (size_t slice = 0; slice < r->n_slices && !status; slice++, first = end) {
        for (end = first; end < r->n_frames && recon_slice_of(r, end) == slice;)
            end++;
        status = estimate_slice(r, slice, first, end);
    }
    return status;
}

/* --- The data --- */

/* The samples times the square roots of the weights, where they are read; host memory is no longer needed then. */
static int make_data(hcy_array **data, struct recon *r)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    for (size_t i = 0; i < r->coils * r->n; i++) {
        double root = sqrt(recon_weight_of(r, i % r->n));
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

/* The Gram operator becomes that of real images. */
static int make_real_gram(struct recon *r)
{
    hcy_operator *complex_gram = r->gram;
    r->gram = NULL;
    int status = recon_make_real(&r->gram, complex_gram, r, true);
    hcy_operator_release(complex_gram);
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
    if (!status && r->is_generalised)
        status = recon_widen_for_tgv(data, r);
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
    return status || !r->v->real || r->real_op ? status : recon_make_real(&r->real_op, r->op, r, false);
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
    free(r->taken);
    free(r->slices);
    free(r->frame_begins);
    free(r->places);
    free(r->image_places);
    free(r->counted);
    free(r->image_counters);
    free(r->image);
    free(r->residuals);
    free(r->trajectory);
}
