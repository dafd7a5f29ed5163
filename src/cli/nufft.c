/* nufft.c - halcyon nufft: one non-uniform FFT from arrays in files to an array in a file.
 *
 * Points are [n][axes], or [axes][n] if that is said, where n may be several axes, as spokes and samples; all is
 * computed in double if any input is, or --double says so, else in float. */
#include "arrays.h"
#include "guard.h"
#include "points.h"
#include "progress.h"
#include <halcyon/host_array.h>
#include <halcyon/nufft.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED = 100 };

struct values {
    const char *points, *targets, *in, *out, *modes, *device, *weights;
    struct cli_int type, sign;
    struct cli_real eps;
    struct points_options how;
    int method, deterministic, everywhere, check, quiet, wide;
};

static const char *const methods[] = { "auto", "grid", "direct", NULL }; /* as hcy_nufft_method */

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "type", 't', CLI_INT, AT(type), "T", "1: points to modes, 2: modes to points, 3: to targets", 1, 3,
      NULL },
    { "points", 'p', CLI_TEXT, AT(points), "FILE", "coordinates, [n][axes] or [n]", 0, 0, NULL },
    POINTS_OPTIONS(AT(how)),
    { "double", 0, CLI_FLAG, AT(wide), NULL, "compute in double, whatever the files hold", 0, 0, NULL },
    { "in", 'i', CLI_TEXT, AT(in), "FILE", "strengths [n], type 2: modes; or many of either", 0, 0, NULL },
    { "weights", 0, CLI_TEXT, AT(weights), "FILE", "types 1 and 3: real [n], each strength's factor", 0, 0, NULL },
    { "out", 'o', CLI_TEXT, AT(out), "FILE", "the result, complex; formats: below", 0, 0, NULL },
    { "targets", 0, CLI_TEXT, AT(targets), "FILE", "type 3: frequencies, [n][axes] or [n]", 0, 0, NULL },
    { "modes", 'n', CLI_TEXT, AT(modes), "N1,N2,N3", "type 1: how many on each axis; type 2: what --in must have",
      0, 0, NULL },
    { "eps", 'e', CLI_REAL, AT(eps), "E", "relative error wanted (1e-6)", 1e-16, 1, NULL },
    { "sign", 0, CLI_INT, AT(sign), "S", "of the exponent: +1, -1 (type 2: -1, else +1)", -1, 1, NULL },
    { "device", 'd', CLI_TEXT, AT(device), "DEVICE", "cpu; cpu@threads=2; gpu; ... (auto)", 0, 0, NULL },
    { "method", 0, CLI_CHOICE, AT(method), "METHOD", "auto (default), grid, direct: the sum itself", 0, 0, methods },
    { "deterministic", 0, CLI_FLAG, AT(deterministic), NULL, "the same bits for any threads and any order of points", 0, 0,
      NULL },
    { "same-everywhere", 0, CLI_FLAG, AT(everywhere), NULL, "the same bits on every device, too", 0, 0, NULL },
    { "check", 0, CLI_FLAG, AT(check), NULL, "100 random results against the direct sum", 0, 0, NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no summary", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_nufft_command = {
    "nufft",
    "non-uniform fast Fourier transforms of arrays",
    "-t TYPE -p POINTS -i IN -o OUT",
    0,
    0,
    options,
    "FILE is x.npy, x.npz (x.npz:NAME of several), x.h5:DATASET, BART's x.cfl with x.hdr, or ISMRMRD's\n"
    "x.mrd (x.h5:/dataset/data: samples, x.h5:/dataset/data/traj); NIfTI's x.nii (x.nii:magnitude,\n"
    ":phase) is written.  Modes are k = -N/2 ... N/2 - 1, in C order, as the axes of points.  n may be\n"
    "several axes, as [spokes][samples].\n"
    "Exit status: 0 if it was done (--check: and within 10 eps), else 1; 2: usage."
};

struct job {
    const struct values *v;
    int type, dim, sign;
    int n_sizes; /* that --modes names */
    bool is_double, has_vector_axis;
    int64_t modes[3];
    size_t m, n, vectors; /* points; modes or targets */
    double eps;
    hcy_host_array points, targets, in, out;
    void *x[3], *s[3], *data; /* in the precision used */
    hcy_device *dev;
    struct progress progress;
};

/* --- Arrays --- */

static double real_at(const struct job *j, const void *reals, size_t i)
{
    return reals_get(j->is_double, reals, i);
}

/* Sizes that --modes names must fit the points' axes. */
static int check_modes(const struct job *j)
{
    if (!j->v->modes || j->n_sizes == j->dim)
        return CLI_OK;
    return cli_usage("--modes needs %d whole number%s above 0, with commas between", j->dim, j->dim > 1 ? "s" : "");
}

/* Modes of the input of type 2, the number of vectors of any. */
static int take_vector_shape(struct job *j)
{
    const hcy_host_array *a = &j->in;
    char is[200];
    /* No points, or targets, are fine; of no vectors there is nothing to transform. */
    if (a->rank > 1 && !a->shape[0] && (j->type == 2 || j->m))
        return cli_error("%s: there are no numbers in it; it is %s", j->v->in, array_words(is, a, 0));
    if (j->type != 2) {
        j->vectors = array_count_vectors(&j->has_vector_axis, a, j->m);
        return j->vectors ? 0
                          : cli_error("%s: strengths must be [%zu] or [vectors][%zu]; it is %s", j->v->in, j->m, j->m,
                                      array_words(is, a, 0));
    }
    /* Modes bring their own shape; an axis in front of those of one vector counts vectors. */
    int first = a->rank - j->dim;
    const int64_t wanted[3] = { j->modes[0], j->modes[1], j->modes[2] };
    if (first != 0 && first != 1)
        return cli_error("%s: modes must have %d axes, as the points, or one more in front; it is %s", j->v->in, j->dim,
                         array_words(is, a, 0));
    for (int d = 0; d < j->dim; d++)
        j->modes[d] = (int64_t)a->shape[first + d];
    /* --modes is not needed with type 2, but it must not contradict the array. */
    for (int d = 0; d < j->dim && j->v->modes; d++)
        if (wanted[d] != j->modes[d])
            return cli_error("%s: its modes are %s, not as --modes says", j->v->in, array_words(is, a, first));
    j->has_vector_axis = first == 1;
    j->vectors = first ? (size_t)a->shape[0] : 1;
    return 0;
}

/* Weights stand for how much of k-space each point has: strengths of all vectors are multiplied by them. */
static int weigh_strengths(struct job *j)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    void *weights = NULL;
    int status = hcy_host_array_read(&a, j->v->weights);
    status = status ? cli_fail(status) : array_take_reals(&weights, &a, j->is_double, j->m, j->v->weights, "weights");
    for (size_t i = 0; !status && i < j->m; i++)
        if (!isfinite(real_at(j, weights, i)))
            status = cli_error("%s: weight %zu is %g, which is no number to weigh with", j->v->weights, i,
                               real_at(j, weights, i));
    for (size_t i = 0; !status && i < j->vectors * j->m; i++)
        for (size_t k = 2 * i; k < 2 * i + 2; k++)
            reals_put(j->is_double, j->data, k, real_at(j, j->data, k) * real_at(j, weights, i % j->m));
    free(weights);
    hcy_host_array_free(&a);
    return status;
}

/* The axes of points or targets, without that of their coordinates. */
static int put_point_axes(uint64_t *shape, const struct job *j, const hcy_host_array *a)
{
    int first = a->rank > 1 && j->v->how.planar, n = a->rank > 1 ? a->rank - 1 : 1;
    memcpy(shape, a->shape + first, (size_t)n * sizeof *shape);
    return n;
}

static int make_out(struct job *j)
{
    int rank = 0;
    size_t count;
    /* An input with an axis of vectors, even of one, gives an output with that axis. */
    if (j->has_vector_axis)
        j->out.shape[rank++] = j->vectors;
    for (int d = 0; d < j->dim && j->type == 1; d++)
        j->out.shape[rank++] = (uint64_t)j->modes[d];
    if (j->type != 1)
        rank += put_point_axes(j->out.shape + rank, j, j->type == 2 ? &j->points : &j->targets);
    j->out.rank = rank;
    j->out.is_complex = 1;
    j->out.bytes = j->is_double ? 8 : 4;
    int status = hcy_host_array_count(&count, &j->out);
    if (status)
        return cli_fail(status);
    j->out.data = reals_room(j->is_double, 2 * count);
    return j->out.data ? 0 : cli_error("out of memory for %zu results", count);
}

/* Targets are frequencies: what they are multiplied with is in radians, and no file says more of them. */
static int take_targets(struct job *j)
{
    struct points targets;
    const struct points_options how = { .unit = POINTS_RADIANS, .planar = j->v->how.planar, .xyz = j->v->how.xyz };
    int status = points_find(&targets, &j->targets, j->v->targets, "targets", &how, 0);
    j->n = targets.n;
    if (!status && targets.dim != j->dim)
        return cli_error("points have %d axes, targets %d", j->dim, targets.dim);
    return status ? status : points_take(j->s, &targets, NULL, j->is_double);
}

static int take_arrays(struct job *j)
{
    struct points points;
    struct points_options how = j->v->how;
    /* 1/FOV, BART's unit, is of an image's axes, which type 3 has not. */
    if (j->type == 3 && !how.unit && !how.cycles)
        how.unit = POINTS_RADIANS;
    int axes = j->type == 2 && !j->v->modes ? j->in.rank : j->n_sizes;
    int status = points_find(&points, &j->points, j->v->points, "points", &how, axes);
    if (status)
        return status;
    j->m = points.n;
    j->dim = points.dim;
    status = check_modes(j);
    if (!status && j->type == 3)
        status = take_targets(j);
    if (!status)
        status = take_vector_shape(j);
    if (!status)
        status = points_take(j->x, &points, j->type == 3 ? NULL : j->modes, j->is_double);
    if (!status && !j->v->quiet)
        points_note(&points, j->type == 3 ? NULL : j->modes);
    if (!status)
        status = array_take_complex(&j->data, &j->in, j->is_double);
    if (!status && j->v->weights)
        status = weigh_strengths(j);
    return status ? status : make_out(j);
}

static int load_arrays(struct job *j)
{
    progress_say(&j->progress, "reading %s and %s ...", j->v->points, j->v->in);
    int status = hcy_host_array_read(&j->points, j->v->points);
    if (!status)
        status = hcy_host_array_read(&j->in, j->v->in);
    if (!status && j->type == 3)
        status = hcy_host_array_read(&j->targets, j->v->targets);
    progress_clear(&j->progress);
    if (status)
        return cli_fail(status);
    /* One double among the inputs makes all double: nothing that was given is rounded. */
    j->is_double = j->v->wide || j->points.bytes == 8 || j->in.bytes == 8 || (j->type == 3 && j->targets.bytes == 8);
    /* Points decide the number of axes, which targets and modes are checked against. */
    return take_arrays(j);
}

/* --- The direct sum --- */

/* The phase of point i and mode or target k. */
static double phase(const struct job *j, size_t i, size_t k)
{
    double sum = 0;
    size_t left = k;
    for (int d = j->dim - 1; d >= 0; d--) {
        size_t n = (size_t)j->modes[d];
        /* The last axis varies fastest, and modes go from -(n/2) on. */
        double f = j->type == 3 ? real_at(j, j->s[d], k) : (double)((int64_t)(left % n) - (int64_t)(n / 2));
        sum += f * real_at(j, j->x[d], i);
        left /= j->type == 3 ? 1 : n;
    }
    return j->sign * sum;
}

/* Relative error of some results of the first vector. */
static double check_results(struct job *j, size_t n)
{
    size_t results = j->type == 2 ? j->m : n, terms = j->type == 2 ? n : j->m;
    double bad = 0, all = 0;
    uint64_t state = 1;
    for (size_t c = 0; c < CHECKED && c < results; c++) {
        /* A fixed sequence picks the results, so a check can be repeated. */
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t r = results <= CHECKED ? c : (size_t)(state >> 11) % results;
        double re = 0, im = 0;
        progress_say(&j->progress, "summing directly: %zu of %d ...", c, CHECKED);
        for (size_t t = 0; t < terms; t++) {
            double p = j->type == 2 ? phase(j, r, t) : phase(j, t, r);
            double a = real_at(j, j->data, 2 * t), b = real_at(j, j->data, 2 * t + 1);
            re += a * cos(p) - b * sin(p);
            im += a * sin(p) + b * cos(p);
        }
        bad += pow(real_at(j, j->out.data, 2 * r) - re, 2) + pow(real_at(j, j->out.data, 2 * r + 1) - im, 2);
        all += re * re + im * im;
    }
    /* Where everything is 0 the absolute error is shown. */
    return all > 0 ? sqrt(bad / all) : sqrt(bad);
}

/* --- Transforming --- */

/* Seconds of what was done. */
struct times {
    double setup, points, transform;
};

static void summary(const struct job *j, const hcy_nufft *plan, const struct times *took)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    if (j->v->quiet || hcy_nufft_get_info(&info, plan))
        return;
    fprintf(stderr, "type %d in %d-D on %s (%s, %s): %zu points, %zu vector%s, eps %g; ", j->type, j->dim,
            hcy_device_get_info(j->dev)->name, info.direct ? "the host" : info.variant,
            j->is_double ? "double" : "float", j->m, j->vectors, j->vectors == 1 ? "" : "s", j->eps);
    /* A type 3 without points or targets has no grid. */
    if (info.direct || !info.grid[0])
        fprintf(stderr, "%s", info.direct ? "the sum itself" : "nothing to sum");
    else
        fprintf(stderr, "window %u, grid", info.width);
    for (int d = 0; d < j->dim && !info.direct && info.grid[0]; d++)
        fprintf(stderr, "%s%zu", d ? " x " : " ", info.grid[d]);
    fprintf(stderr, "; set-up %.2f ms, points %.2f ms, transform %.2f ms\n", 1e3 * took->setup, 1e3 * took->points,
            1e3 * took->transform);
}

/* Points and transform are timed apart: a program sets points once for many transforms. */
static int transform_once(struct times *took, struct job *j, hcy_nufft *plan, const char *words)
{
    void *c = j->type == 2 ? j->out.data : j->data, *f = j->type == 2 ? j->data : j->out.data;
    double begun = progress_seconds(&j->progress);
    progress_say(&j->progress, "setting %zu points%s ...", j->m, words);
    int status = hcy_nufft_set_points(plan, (int64_t)j->m, (const void *const *)j->x,
                                      j->type == 3 ? (int64_t)j->n : 0, (const void *const *)j->s);
    double set = progress_seconds(&j->progress);
    progress_say(&j->progress, "transforming%s ...", words);
    if (!status)
        status = hcy_nufft_execute(plan, c, f);
    took->points = set - begun;
    took->transform = progress_seconds(&j->progress) - set;
    return status;
}

static bool has_compiled(const struct job *j, const hcy_nufft *plan)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    return cli_compiles(j->dev) && !hcy_nufft_get_info(&info, plan) && !info.direct;
}

/* `begun`: when the device was opened. */
static int run_plan(struct job *j, hcy_nufft *plan, double begun)
{
    struct times took = { .setup = progress_seconds(&j->progress) - begun };
    /* Compiling takes seconds, which would look like hanging. */
    int status = transform_once(&took, j, plan, cli_compiles(j->dev) ? " (the first time kernels are compiled)" : "");
    if (!status && !j->v->quiet && has_compiled(j, plan)) {
        /* So the first time is set-up, and the second is what a transform takes. */
        took.setup = progress_seconds(&j->progress) - begun;
        status = transform_once(&took, j, plan, "");
    }
    progress_clear(&j->progress);
    if (status)
        return cli_fail(status);
    summary(j, plan, &took);
    return 0;
}

static int transform_arrays(struct job *j)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan;
    /* The command line has all that a description needs; what is not set stays at its default. */
    desc.type = j->type;
    desc.precision = j->is_double ? HCY_F64 : HCY_F32;
    desc.dim = j->dim;
    for (int d = 0; d < j->dim; d++)
        desc.modes[d] = j->modes[d];
    desc.sign = j->sign;
    desc.n_transforms = (int64_t)j->vectors;
    desc.eps = j->eps;
    o.method = j->v->method;
    o.deterministic = j->v->deterministic ? HCY_NUFFT_SAME_RUNS : 0;
    if (j->v->everywhere)
        o.deterministic = HCY_NUFFT_SAME_EVERYWHERE;
    /* Opening a device may compile kernels, so the user is told. */
    double begun = progress_seconds(&j->progress);
    progress_say(&j->progress, "preparing the device ...");
    int opened = hcy_device_open(&j->dev, j->v->device);
    int status = opened ? opened : hcy_nufft_create(&plan, j->dev, &desc, &o);
    progress_clear(&j->progress);
    if (status)
        return cli_fail_value(status, opened ? j->v->device : NULL);
    status = run_plan(j, plan, begun);
    hcy_nufft_destroy(plan);
    /* The result is checked before it is written, so a wrong one never reaches the file. */
    if (!status && j->v->check) {
        size_t n = j->n;
        for (int d = 0; d < j->dim && j->type != 3; d++)
            n = (d ? n : 1) * (size_t)j->modes[d];
        double error = check_results(j, n);
        progress_clear(&j->progress);
        fprintf(stderr, "error against the direct sum: %.2e (eps %g)\n", error, j->eps);
        /* The comparison fails for NaN too. */
        if (!(error <= 10 * j->eps))
            return cli_error("that is above 10 eps: %s is not written", j->v->out), CLI_FAILED;
    }
    if (!status && (status = hcy_host_array_write(&j->out, j->v->out)))
        return cli_fail_to_write(status, j->v->out);
    return status ? (status < 0 ? cli_fail(status) : status) : CLI_OK;
}

/* Refuses options that are missing or do not go together. */
static int check_usage(const struct values *v)
{
    const struct {
        const char *name;
        bool is_missing;
    } needed[] = { { "--type", !v->type.given },
                   { "--points", !v->points },
                   { "--in", !v->in },
                   { "--out", !v->out },
                   { "--targets", v->type.value == 3 && !v->targets },
                   { "--modes", v->type.value == 1 && !v->modes } };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (needed[i].is_missing)
            return cli_usage("%s is missing", needed[i].name);
    if (v->type.value != 3 && v->targets)
        return cli_usage("--targets is for type 3");
    if (v->type.value == 3 && v->modes)
        return cli_usage("--modes is for types 1 and 2");
    if (v->type.value == 2 && v->weights)
        return cli_usage("--weights is for strengths, which type 2 makes");
    if (v->type.value == 3 && v->how.unit == POINTS_FOV)
        return cli_usage("--unit fov is for types 1 and 2");
    if (v->sign.given && !v->sign.value)
        return cli_usage("--sign is +1 or -1");
    return cli_check_format(v->out, HCY_WRITE_ARRAY);
}

int cli_nufft(int argc, char **argv)
{
    struct values v = { .eps = { 0, 1e-6 } };
    struct job j = { .v = &v };
    int status;
    if (cli_parse(&cli_nufft_command, argc, argv, &v, NULL, &status))
        return status;
    /* All that is wrong with the command line is told before any file is read. */
    status = check_usage(&v);
    if (!status && v.modes) {
        j.n_sizes = points_parse_sizes(j.modes, v.modes);
        status = j.n_sizes ? CLI_OK : CLI_USAGE;
    }
    if (status)
        return status;
    j.type = (int)v.type.value;
    j.sign = j.type == 2 ? -1 : 1;
    if (v.sign.given)
        j.sign = v.sign.value < 0 ? -1 : 1;
    j.eps = v.eps.value;
    j.points = j.targets = j.in = j.out = (hcy_host_array)HCY_HOST_ARRAY_INIT;
    progress_begin(&j.progress, !v.quiet);
    /* Arrays may be large: names are checked before they are read. */
    const char *const reads[][2] = {
        { "--points", v.points }, { "--in", v.in }, { "--targets", v.targets }, { "--weights", v.weights }
    };
    status = guard_arrays(reads, sizeof reads / sizeof reads[0], v.out, NULL);
    if (!status)
        status = load_arrays(&j);
    if (!status)
        status = transform_arrays(&j);
    /* What was not made is NULL, and releasing that is fine. */
    for (int d = 0; d < 3; d++) {
        free(j.x[d]);
        free(j.s[d]);
    }
    free(j.data);
    hcy_host_array_free(&j.points);
    hcy_host_array_free(&j.targets);
    hcy_host_array_free(&j.in);
    hcy_host_array_free(&j.out);
    hcy_device_release(j.dev);
    return status;
}
