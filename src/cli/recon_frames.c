/* recon_frames.c - many images of halcyon recon: frames that are measured one after the other, each of its own samples.
 *
 * Devices take frames in turn, each in a thread with a copy of what was read.  Frames of the same points have one
 * operator and one solver on a device, which is started again with each frame's samples; where each frame has points of
 * its own, everything is made anew.  Which image a frame has does not depend on the others, unless a regulariser looks
 * at all of them: then they are one problem, whose operator has the frames' on its diagonal.
 */
#include "interrupt.h"
#include "recon.h"
#include <halcyon/backend.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const struct recon *r, size_t reals)
{
    return reals * (r->is_double ? sizeof(double) : sizeof(float));
}

/* --- What is read --- */

/* Of an axis of frames in front and [coils][n] or [n] behind it: how many coils, or 0.  Where coils have maps an array
 * [frames][n] is one of as many coils. */
static size_t coils_behind_frames(const struct recon *r, const hcy_host_array *a, size_t n)
{
    hcy_host_array rest = *a;
    bool has_axis = false;
    if (a->rank < 2 || a->shape[0] != r->n_frames)
        return 0;
    rest.rank--;
    memmove(rest.shape, a->shape + 1, (size_t)rest.rank * sizeof *rest.shape);
    const size_t coils = array_count_vectors(&has_axis, &rest, n);
    return has_axis || !(r->v->maps || r->v->espirit) ? coils : 0;
}

/* Readouts that are left over at the end of a series belong to no frame. */
static int count_spokes(struct recon *r)
{
    const size_t length = (size_t)r->point_shape[r->point_rank - 1], spokes = r->n / length,
                 each = (size_t)r->v->spokes_per_frame.value;
    r->n_frames = spokes / each;
    r->frame_points = each * length;
    if (!r->n_frames)
        return cli_error("--spokes-per-frame %zu: %s has %zu spokes", each, r->trajectory, spokes);
    if (spokes % each && !r->v->quiet)
        cli_note("the last %zu of %zu spokes are less than a frame of %zu, and are left out", spokes % each, spokes, each);
    return CLI_OK;
}

int recon_find_frames(struct recon *r, const hcy_host_array *a)
{
    bool has_axis;
    char is[200];
    const size_t n = r->n;
    int status = r->v->spokes_per_frame.given ? count_spokes(r) : CLI_OK;
    if (r->wanted_frames) {
        r->n_frames = r->wanted_frames;
        r->coils = r->is_list ? 0 : coils_behind_frames(r, a, n);
        r->is_same = r->coils != 0;
        r->frame_points = r->is_same ? n : n / r->n_frames;
        if (r->frame_begins)
            r->frame_points = r->frame_begins[1] * (n / r->n_taken);
        if (!r->is_list && !r->coils && n % r->n_frames == 0)
            r->coils = coils_behind_frames(r, a, r->frame_points);
        r->has_frame_axis = r->coils != 0;
    }
    if (!r->coils)
        r->coils = array_count_vectors(&has_axis, a, n);
    const size_t spokes = n / (size_t)r->point_shape[r->point_rank - 1];
    if (!status && (!r->coils || (!r->is_same && !r->frame_begins && r->wanted_frames && spokes % r->n_frames)))
        status = cli_error("%s: samples of %zu frames must be [%zu][coils][n] of the %zu points, or [coils][%zu] whose "
                           "%zu spokes are as many for each frame; it is %s", r->kspace, r->n_frames, r->n_frames, n, n,
                           spokes, array_words(is, a, 0));
    return status;
}

size_t recon_points_before(const struct recon *r, size_t f)
{
    if (r->is_same)
        return 0;
    return r->frame_begins ? r->frame_begins[f] * (r->n / r->n_taken) : f * r->frame_points;
}

size_t recon_points_of(const struct recon *r, size_t f)
{
    return r->is_same ? r->n : recon_points_before(r, f + 1) - recon_points_before(r, f);
}

/* Frames of their own points, one behind the other for each coil, as the points are: [coils][frames][points]. */
int recon_order_frames(struct recon *r)
{
    const size_t each = r->frame_points, all = r->n_frames * each, before = r->n;
    /* A list's, which alone has frames of unlike numbers, are in that order. */
    if (r->is_same || r->frame_begins)
        return CLI_OK;
    r->n = all;
    char *from = r->samples, *to = reals_room(r->is_double, 2 * r->coils * all);
    if (!to)
        return cli_error("no memory for %zu samples of %zu coils", all, r->coils);
    for (size_t c = 0; c < r->coils; c++)
        for (size_t f = 0; f < r->n_frames; f++)
            memcpy(to + bytes_of(r, 2 * (c * all + f * each)),
                   from + bytes_of(r, 2 * (r->has_frame_axis ? (f * r->coils + c) * each : c * before + f * each)),
                   bytes_of(r, 2 * each));
    free(r->samples);
    r->samples = to;
    return CLI_OK;
}

int recon_mean_samples(void **mean, const struct recon *r)
{
    const size_t numbers = 2 * r->coils * r->n;
    *mean = reals_room(r->is_double, numbers);
    if (!*mean)
        return cli_error("no memory for %zu samples of %zu coils", r->n, r->coils);
    for (size_t i = 0; i < numbers; i++) {
        double sum = 0;
        for (size_t f = 0; f < r->n_frames; f++)
            sum += reals_get(r->is_double, r->samples, f * numbers + i);
        reals_put(r->is_double, *mean, i, sum / (double)r->n_frames);
    }
    return CLI_OK;
}

/* --- A frame --- */

struct worker {
    struct recon *whole;
    struct recon one; /* on its device */
    struct recon_values silent;
    size_t number, n_kept;
    int status;
    double worst; /* residual of its frames, of the first one, and what else is told of that frame; below 0: none */
    hcy_solver_info told;
    double *residuals;
    size_t n_residuals;
    pthread_t thread;
};

/* A frame's samples, [coils][points]; the solver makes them its data. */
static int take_frame(struct recon *one, const struct recon *r, size_t f)
{
    const size_t n = recon_points_of(r, f), before = recon_points_before(r, f), each = bytes_of(r, 2 * n);
    const char *from = r->samples;
    char *to = reals_room(r->is_double, 2 * r->coils * n);
    one->samples = to;
    if (!to)
        return cli_error("no memory for %zu samples of %zu coils", n, r->coils);
    for (size_t c = 0; c < r->coils; c++)
        memcpy(to + c * each, from + bytes_of(r, 2 * (r->is_same ? (f * r->coils + c) * n : c * r->n + before)), each);
    return CLI_OK;
}

/* One's weights become those of its points: all frames' are there where they were read, or are written. */
static int take_weights(struct recon *one, const struct recon *r, size_t f)
{
    one->weights = NULL;
    if (!r->weights)
        return r->dcf ? recon_compute_weights(one, r->dcf) : CLI_OK;
    one->weights = reals_room(r->is_double, one->n);
    if (!one->weights)
        return cli_error("no memory for %zu weights", one->n);
    memcpy(one->weights, (const char *)r->weights + bytes_of(r, recon_points_before(r, f)), bytes_of(r, one->n));
    return CLI_OK;
}

static void take_axes(struct recon *one, const struct recon *r, size_t f)
{
    one->n = recon_points_of(r, f);
    for (int d = 0; d < r->dim; d++)
        one->axes[d] = (char *)r->axes[d] + bytes_of(r, recon_points_before(r, f));
}

/* The maps of a frame's slice. */
static void take_slice(struct recon *one, const struct recon *r, size_t f)
{
    const size_t first = recon_slice_of(r, f) * r->pixels;
    if (r->maps)
        one->maps = (char *)r->maps + bytes_of(r, 2 * first * r->coils);
    if (r->field)
        one->field = (char *)r->field + bytes_of(r, first);
    if (r->decay)
        one->decay = (char *)r->decay + bytes_of(r, first);
}

/* Its own points, with their times, weights and planes. */
static int take_points(struct recon *one, const struct recon *r, size_t f)
{
    take_axes(one, r, f);
    take_slice(one, r, f);
    if (r->times)
        one->times = (char *)r->times + bytes_of(r, recon_points_before(r, f));
    int status = recon_find_stack(one);
    return status ? status : take_weights(one, r, f);
}

int recon_weigh_frames(struct recon *r)
{
    const size_t all = recon_count_points(r);
    struct recon one = *r;
    char *weights = reals_room(r->is_double, all);
    int status = weights ? CLI_OK : cli_error("no memory for %zu weights", all);
    /* What is left over behind the frames weighs nothing. */
    for (size_t i = r->n; !status && i < all; i++)
        reals_put(r->is_double, weights, i, 0);
    for (size_t f = 0; f < r->n_frames && !status; f++) {
        take_axes(&one, r, f);
        status = recon_compute_weights(&one, r->dcf);
        if (!status)
            memcpy(weights + bytes_of(r, recon_points_before(r, f)), one.weights, bytes_of(r, one.n));
        free(one.weights);
    }
    r->setup = one.setup;
    r->weights = weights;
    return status;
}

/* What take_points() and the solver made. */
static void drop_points(struct recon *one)
{
    recon_free_solver(one);
    free(one->planes);
    free(one->weights);
    one->planes = NULL;
    one->weights = NULL;
}

/* The image to its place among all; the frame that ended worst is what is told. */
static void keep_frame(struct worker *w, size_t f)
{
    struct recon *one = &w->one, *r = w->whole;
    const double residual = one->info.first > 0 ? one->info.last / one->info.first : 0;
    const size_t bytes = bytes_of(r, (recon_is_complex(r) ? 2 : 1) * recon_count_functions(r) * r->pixels);
    if (!r->maps && r->coils > 1)
        recon_combine_coils(one);
    memcpy((char *)r->image + f * bytes, one->image, bytes);
    free(one->image);
    one->image = NULL;
    w->n_kept++;
    if (w->worst >= residual)
        return;
    w->worst = residual;
    w->told = one->info;
    free(w->residuals);
    w->residuals = one->residuals;
    w->n_residuals = one->n_residuals;
    one->residuals = NULL;
}

static void *run_worker(void *payload)
{
    struct worker *w = payload;
    struct recon *one = &w->one, *r = w->whole;
    int st = hcy_queue_create(&one->queue, one->dev);
    w->status = st ? cli_fail(st) : CLI_OK;
    for (size_t f = w->number; f < r->n_frames && !w->status && !interrupt_came(); f += r->n_devs) {
        one->frame = f;
        w->status = take_frame(one, r, f);
        if (!w->status && !r->is_same)
            w->status = take_points(one, r, f);
        if (!w->status)
            w->status = recon_solve(one);
        if (!w->status)
            keep_frame(w, f);
        if (!r->is_same)
            drop_points(one);
    }
    return NULL;
}

/* --- All frames at once --- */

/* Images that all have together: a frame's, or of coils without maps as many as there are coils. */
static size_t count_images(const struct recon *r)
{
    return r->n_frames * (r->maps ? 1 : r->coils);
}

/* Frame f's parts; frames of the same points have their device's first one's. */
static struct recon *parts_of(struct recon *frames, const struct recon *r, size_t f)
{
    return &frames[r->is_same ? f % r->n_devs : f];
}

/* Operators of frames, of which device i has every n_devs-th. */
static int make_parts(struct recon *frames, const struct recon *r)
{
    int status = CLI_OK, st = 0;
    for (size_t f = 0; f < r->n_frames && !status; f++) {
        struct recon *one = parts_of(frames, r, f);
        if (one->op)
            continue;
        if (!r->is_same)
            status = take_points(one, r, f);
        st = status ? 0 : recon_make_operator(one);
        if (!status && !st && r->v->toeplitz)
            st = recon_make_convolution(one);
        status = st ? cli_fail(st) : status;
    }
    return status;
}

/* What frames have on its diagonal, operators or Gram operators, between vectors of all of them. */
static int join_parts(hcy_operator **op, struct recon *frames, const struct recon *r, bool is_gram)
{
    hcy_operator **ops = calloc(r->n_frames, sizeof *ops), *all = NULL;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    int status = ops ? 0 : hcy_fail(HCY_ENOMEM, "no memory for %zu frames", r->n_frames);
    for (size_t f = 0; f < r->n_frames && !status; f++)
        ops[f] = is_gram ? parts_of(frames, r, f)->gram : parts_of(frames, r, f)->op;
    if (!status)
        status = hcy_operator_block_diagonal(&all, ops, r->n_frames);
    if (!status)
        status = hcy_operator_get_info(&info, all);
    const hcy_space images = { info.domain.dtype, r->dim + 1,
                               { (int64_t)count_images(r), r->sizes[0], r->sizes[1], r->sizes[2] }, NULL };
    if (!status)
        status = hcy_operator_reshape(op, all, &images, is_gram ? &images : &info.range);
    hcy_operator_release(all);
    free(ops);
    return status;
}

static int make_diagonals(struct recon *together, struct recon *frames, const struct recon *r)
{
    hcy_operator *gram = NULL;
    int status = make_parts(frames, r);
    int st = status ? 0 : join_parts(&together->op, frames, r, false);
    if (!status && !st && r->v->toeplitz)
        st = join_parts(&gram, frames, r, true);
    if (gram && r->v->real)
        st = recon_make_real(&together->gram, gram, r, true);
    else if (gram)
        together->gram = hcy_operator_retain(gram);
    hcy_operator_release(gram);
    return status || !st ? status : cli_fail(st);
}

/* Samples of all frames and coils. */
static size_t count_samples(const struct recon *r)
{
    return (r->is_same ? r->n_frames : 1) * r->coils * r->n;
}

/* All frames' samples and weights, one behind the other. */
static int take_all(struct recon *together, const struct recon *frames, const struct recon *r)
{
    const size_t n = count_samples(r);
    size_t at = 0;
    struct recon one;
    int status = CLI_OK;
    together->samples = reals_room(r->is_double, 2 * n);
    together->weights = reals_room(r->is_double, n);
    if (!together->samples || !together->weights)
        return cli_error("no memory for %zu samples of %zu frames", n, r->n_frames);
    for (size_t f = 0; f < r->n_frames && !status; f++) {
        const void *weights = r->is_same ? r->weights : frames[f].weights;
        const size_t points = recon_points_of(r, f), each = r->coils * points;
        status = take_frame(&one, r, f);
        for (size_t i = 0; i < each && !status; i++)
            reals_put(r->is_double, together->weights, at + i,
                      weights ? reals_get(r->is_double, weights, i % points) : 1 / (double)points);
        if (!status)
            memcpy((char *)together->samples + bytes_of(r, 2 * at), one.samples, bytes_of(r, 2 * each));
        free(one.samples);
        at += each;
    }
    return status;
}

/* Each frame's image of its coils' ones, at its place among these. */
static void combine_frames(struct recon *r)
{
    struct recon one = *r;
    const size_t parts = r->v->real ? 1 : 2;
    for (size_t f = 0; f < r->n_frames; f++) {
        one.image = (char *)r->image + bytes_of(r, parts * f * r->coils * r->pixels);
        recon_combine_coils(&one);
        memmove((char *)r->image + bytes_of(r, f * r->pixels), one.image, bytes_of(r, r->pixels));
    }
}

/* One problem of one coil with all samples, whose image has all frames' pixels. */
static int solve_together(struct recon *r)
{
    struct recon together = *r, *frames = calloc(r->n_frames, sizeof *frames);
    if (!frames)
        return cli_error("no memory for %zu frames", r->n_frames);
    for (size_t f = 0; f < r->n_frames; f++) {
        frames[f] = *r;
        frames[f].dev = r->devs[f % r->n_devs];
        frames[f].keeps = true;
        if (!r->is_same)
            frames[f].weights = NULL;
    }
    together.n = count_samples(r);
    together.pixels = count_images(r) * r->pixels;
    together.coils = together.n_devs = 1;
    together.n_frames = 0;
    together.is_same = false;
    together.samples = together.weights = NULL;
    int status = make_diagonals(&together, frames, r);
    if (!status)
        status = take_all(&together, frames, r);
    if (!status)
        status = recon_solve(&together);
    recon_free_solver(&together);
    for (size_t f = 0; f < r->n_frames; f++) {
        recon_free_solver(&frames[f]);
        if (!r->is_same) {
            free(frames[f].planes);
            free(frames[f].weights);
        }
    }
    r->segments = frames[0].segments;
    r->segments_error = frames[0].segments_error;
    r->n_planes = frames[0].n_planes;
    free(frames);
    free(together.samples);
    free(together.weights);
    r->image = together.image;
    r->info = together.info;
    r->residuals = together.residuals;
    r->n_residuals = together.n_residuals;
    r->setup = together.setup;
    r->solving = together.solving;
    if (!status && !r->maps && r->coils > 1)
        combine_frames(r);
    return status;
}

/* --- All frames --- */

static void begin_worker(struct worker *w, struct recon *r, size_t number)
{
    *w = (struct worker){ .whole = r, .one = *r, .silent = *r->v, .number = number, .worst = -1 };
    w->silent.quiet = 1;
    w->one.v = number ? &w->silent : r->v;
    w->one.dev = r->devs[number];
    w->one.devs = &r->devs[number];
    w->one.n_devs = 1;
    w->one.queue = NULL;
    /* What a frame makes is the worker's to free: all frames' image is not, also where no frame came so far. */
    w->one.samples = w->one.image = NULL;
    w->one.residuals = NULL;
    w->one.keeps = r->is_same;
    w->one.setup = w->one.solving = 0;
    if (r->is_same)
        return;
    w->one.weights = NULL;
    w->one.planes = NULL;
}

static void end_worker(struct worker *w, struct recon *r, double *worst)
{
    recon_free_solver(&w->one);
    hcy_queue_release(w->one.queue);
    free(w->one.samples);
    free(w->one.image);
    free(w->one.residuals);
    if (!w->number) {
        r->setup += w->one.setup;
        r->solving = w->one.solving;
        r->segments = w->one.segments;
        r->segments_error = w->one.segments_error;
        r->n_planes = w->one.n_planes;
    }
    if (w->worst <= *worst) {
        free(w->residuals);
        return;
    }
    free(r->residuals);
    *worst = w->worst;
    r->info = w->told;
    r->residuals = w->residuals;
    r->n_residuals = w->n_residuals;
}

static int solve_apart(struct recon *r)
{
    struct worker *workers = calloc(r->n_devs, sizeof *workers);
    size_t numbers, started = 1, kept = 0;
    double worst = -1;
    int status = CLI_OK;
    r->image = hcy_size_mul(&numbers, r->n_frames * recon_count_functions(r), 2 * r->pixels)
                   ? NULL
                   : reals_room(r->is_double, numbers);
    if (!workers || !r->image)
        status = cli_error("no memory for %zu images of %zu pixels", r->n_frames, r->pixels);
    else
        memset(r->image, 0, bytes_of(r, numbers)); /* what a run that is ended has not come to */
    interrupt_catch();
    for (size_t i = 0; !status && i < r->n_devs; i++)
        begin_worker(&workers[i], r, i);
    while (!status && started < r->n_devs &&
           !pthread_create(&workers[started].thread, NULL, run_worker, &workers[started]))
        started++;
    if (!status)
        run_worker(&workers[0]);
    for (size_t i = 1; !status && i < r->n_devs; i++) {
        /* Frames of a thread that could not be had come last. */
        if (i >= started)
            run_worker(&workers[i]);
        else
            pthread_join(workers[i].thread, NULL);
    }
    interrupt_release();
    progress_clear(&r->progress);
    for (size_t i = 0; workers && r->image && i < r->n_devs; i++) {
        status = status ? status : workers[i].status;
        kept += workers[i].n_kept;
        end_worker(&workers[i], r, &worst);
    }
    free(workers);
    /* Frames that were done may all have ended of themselves. */
    if (interrupt_came())
        r->info.reason = HCY_SOLVER_CALLBACK;
    if (!status && kept < r->n_frames)
        cli_error("%s: the run was ended before all frames had their turn: the images of %zu of %zu are 0", r->v->out,
                  r->n_frames - kept, r->n_frames);
    return status;
}

/* Functions of time are a slice's own: what looks at all images looks at these. */
bool recon_frames_count(const struct recon *r)
{
    return recon_regs_count(r) && !r->basis;
}

int recon_solve_frames(struct recon *r)
{
    return recon_frames_count(r) ? solve_together(r) : solve_apart(r);
}
