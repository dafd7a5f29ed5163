/* nufft.c - halcyon nufft: one non-uniform FFT from arrays in files to an array in a file.
 *
 * Points are [n][axes], or [axes][n] if that is said, where n may be several axes, as spokes and samples; all is
 * computed in double if any input is, or --double says so, else in float. */
#include "guard.h"
#include "progress.h"
#include <halcyon/backend.h>
#include <halcyon/host_array.h>
#include <halcyon/nufft.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED = 100 };

struct values {
    const char *points, *targets, *in, *out, *modes, *device;
    struct cli_int type, sign;
    struct cli_real eps;
    int method, deterministic, everywhere, check, quiet, cycles, planar, xyz, wide;
};

static const char *const methods[] = { "auto", "grid", "direct", NULL }; /* as hcy_nufft_method */

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "type", 't', CLI_INT, AT(type), "T", "1: points to modes, 2: modes to points, 3: to targets", 1, 3,
      NULL },
    { "points", 'p', CLI_TEXT, AT(points), "FILE", "coordinates in radians, [n][axes] or [n]", 0, 0, NULL },
    { "cycles", 0, CLI_FLAG, AT(cycles), NULL, "points are in cycles, -0.5 to 0.5 once around: times 2 pi", 0, 0, NULL },
    { "planar", 0, CLI_FLAG, AT(planar), NULL, "points and targets are [axes][n]: an axis after the other", 0, 0, NULL },
    { "xyz", 0, CLI_FLAG, AT(xyz), NULL, "coordinates are x, y, z: of the modes' last axis first", 0, 0, NULL },
    { "double", 0, CLI_FLAG, AT(wide), NULL, "compute in double, whatever the files hold", 0, 0, NULL },
    { "in", 'i', CLI_TEXT, AT(in), "FILE", "strengths [n], type 2: modes; or many of either", 0, 0, NULL },
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

/* Real number i of an array that has floats or doubles. */
static double real_of_array(const hcy_host_array *a, size_t i)
{
    return a->bytes == 8 ? ((const double *)a->data)[i] : (double)((const float *)a->data)[i];
}

static double real_at(const struct job *j, const void *reals, size_t i)
{
    return j->is_double ? ((const double *)reals)[i] : (double)((const float *)reals)[i];
}

static void put_real(const struct job *j, void *reals, size_t i, double value)
{
    if (j->is_double)
        ((double *)reals)[i] = value;
    else
        ((float *)reals)[i] = (float)value;
}

static void *room(const struct job *j, size_t n)
{
    return n < SIZE_MAX / 16 ? malloc((n + 1) * (j->is_double ? 8 : 4)) : NULL;
}

/* "[2][3]", of the axes from `first` on, for messages. */
static const char *describe_shape(char text[200], const hcy_host_array *a, int first)
{
    size_t at = (size_t)snprintf(text, 200, "%s", a->rank > first ? "" : "a number");
    for (int d = first; d < a->rank && at < 170; d++)
        at += (size_t)snprintf(text + at, 200 - at, "[%llu]", (unsigned long long)a->shape[d]);
    return text;
}

/* Files that have complex numbers alone have coordinates without imaginary parts. */
static bool is_real(const hcy_host_array *a, size_t numbers)
{
    for (size_t i = 0; a->is_complex && i < numbers; i++)
        if (real_of_array(a, 2 * i + 1) != 0)
            return false;
    return true;
}

/* "[n][axes]", where n may be several axes, or a list: how many axes, 0 if it is none of these, and how many points. */
static int find_axes(size_t *n, const hcy_host_array *a, size_t numbers, bool planar)
{
    /* A list is taken as points on one axis; [n][axes] says the number of axes itself. */
    uint64_t axes = a->rank > 1 ? a->shape[planar ? 0 : a->rank - 1] : 1;
    if (a->rank < 1 || axes < 1 || axes > 3)
        return 0;
    *n = numbers / axes;
    return (int)axes;
}

/* Turns coordinates [n][dim] into one array for each axis. */
static int take_axes(struct job *j, const hcy_host_array *a, const char *what, size_t *n, void **axes)
{
    bool planar = j->v->planar && a->rank > 1;
    size_t numbers;
    int status = hcy_host_array_count(&numbers, a);
    if (status)
        return cli_fail(status);
    int dim = find_axes(n, a, numbers, planar);
    char is[200];
    if (!dim || !is_real(a, numbers)) {
        /* Whoever has an axis after the other is told what says so. */
        size_t other;
        bool turned = !dim && a->rank > 1 && find_axes(&other, a, numbers, !planar);
        return cli_error("%s: %s must be real, %s with 1 to 3 axes, or [n]; it is %s%s%s",
                         what[0] == 'p' ? j->v->points : j->v->targets, what, planar ? "[axes][n]" : "[n][axes]",
                         a->is_complex ? "complex " : "", describe_shape(is, a, 0),
                         !turned ? "" : planar ? "; leave --planar" : "; give --planar");
    }
    if (j->dim && j->dim != dim)
        return cli_error("points have %d axes, targets %d", j->dim, dim);
    j->dim = dim;
    /* Targets are frequencies: what they are multiplied with is in radians. */
    double unit = j->v->cycles && what[0] == 'p' ? 6.283185307179586476925 : 1;
    /* Plans take an array for each axis, while files hold a point's coordinates side by side. */
    for (int d = 0; d < dim; d++) {
        size_t from = (size_t)(j->v->xyz ? dim - 1 - d : d), parts = a->is_complex ? 2 : 1;
        axes[d] = room(j, *n);
        if (!axes[d])
            return cli_error("out of memory for %zu %s", *n, what);
        for (size_t i = 0; i < *n; i++)
            put_real(j, axes[d], i, unit * real_of_array(a, parts * (planar ? from * *n + i : i * (size_t)dim + from)));
    }
    return 0;
}

static int parse_modes(struct job *j)
{
    const char *text = j->v->modes;
    for (int d = 0; d < j->dim; d++) {
        char *end;
        errno = 0;
        j->modes[d] = strtoll(text, &end, 10);
        /* The number of modes must fit the points' axes: the last number ends the text. */
        if (j->modes[d] < 1 || errno || *end != (d + 1 < j->dim ? ',' : 0)) {
            cli_error(
                "--modes needs %d whole number%s above 0, with commas between; see `halcyon nufft --help`",
                j->dim, j->dim > 1 ? "s" : "");
            return CLI_USAGE;
        }
        text = end + 1;
    }
    return 0;
}

/* Of strengths, [m] or [vectors][m], where each may be several axes: how many vectors, and whether there is an axis of
 * them; 0: they are none. */
static size_t count_vectors(bool *has_axis, const hcy_host_array *a, size_t m)
{
    size_t points = 1, vectors = 1;
    int axis = a->rank;
    /* The last axes are points as soon as they are enough; what is in front, also an axis of one, is vectors. */
    while (axis > 0 && (axis == a->rank || points != m))
        if (hcy_size_mul(&points, points, (size_t)a->shape[--axis]))
            return 0;
    if (!a->rank || points != m)
        return 0;
    *has_axis = axis > 0;
    while (axis > 0)
        if (hcy_size_mul(&vectors, vectors, (size_t)a->shape[--axis]))
            return 0;
    return vectors;
}

/* Modes of the input of type 2, the number of vectors of any. */
static int take_vector_shape(struct job *j)
{
    const hcy_host_array *a = &j->in;
    char is[200];
    if (j->type != 2) {
        j->vectors = count_vectors(&j->has_vector_axis, a, j->m);
        return j->vectors ? 0
                          : cli_error("%s: strengths must be [%zu] or [vectors][%zu]; it is %s", j->v->in, j->m, j->m,
                                      describe_shape(is, a, 0));
    }
    /* Modes bring their own shape; an axis in front of those of one vector counts vectors. */
    int first = a->rank - j->dim;
    const int64_t wanted[3] = { j->modes[0], j->modes[1], j->modes[2] };
    if (first != 0 && first != 1)
        return cli_error("%s: modes must have %d axes, as the points, or one more in front; it is %s", j->v->in, j->dim,
                         describe_shape(is, a, 0));
    for (int d = 0; d < j->dim; d++)
        j->modes[d] = (int64_t)a->shape[first + d];
    /* --modes is not needed with type 2, but it must not contradict the array. */
    for (int d = 0; d < j->dim && j->v->modes; d++)
        if (wanted[d] != j->modes[d])
            return cli_error("%s: its modes are %s, not as --modes says", j->v->in, describe_shape(is, a, first));
    j->has_vector_axis = first == 1;
    j->vectors = first ? (size_t)a->shape[0] : 1;
    return 0;
}

static int take_data(struct job *j)
{
    size_t count;
    int status = hcy_host_array_count(&count, &j->in);
    if (status)
        return cli_fail(status);
    j->data = room(j, 2 * count);
    if (!j->data)
        return cli_error("out of memory for %zu numbers", count);
    for (size_t i = 0; i < count; i++) {
        /* Real arrays are strengths without an imaginary part. */
        put_real(j, j->data, 2 * i, real_of_array(&j->in, j->in.is_complex ? 2 * i : i));
        put_real(j, j->data, 2 * i + 1, j->in.is_complex ? real_of_array(&j->in, 2 * i + 1) : 0);
    }
    return 0;
}

/* The axes of points or targets, without that of their coordinates. */
static int put_point_axes(uint64_t *shape, const struct job *j, const hcy_host_array *a)
{
    int first = a->rank > 1 && j->v->planar, n = a->rank > 1 ? a->rank - 1 : 1;
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
    j->out.data = room(j, 2 * count);
    return j->out.data ? 0 : cli_error("out of memory for %zu results", count);
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
    status = take_axes(j, &j->points, "points", &j->m, j->x);
    if (!status && j->type == 3)
        status = take_axes(j, &j->targets, "targets", &j->n, j->s);
    if (!status && j->v->modes)
        status = parse_modes(j);
    if (!status)
        status = take_vector_shape(j);
    if (!status)
        status = take_data(j);
    return status ? status : make_out(j);
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
    if (info.direct)
        fprintf(stderr, "the sum itself");
    else
        fprintf(stderr, "window %u, grid", info.width);
    for (int d = 0; d < j->dim && !info.direct; d++)
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

static bool has_compiler(const struct job *j)
{
    return strcmp(hcy_device_get_info(j->dev)->backend, "cpu") != 0;
}

/* Kernels are compiled when they are first launched, by some drivers behind the launch, where no clock of ours tells
 * that from their work. */
static bool has_compiled(const struct job *j, const hcy_nufft *plan)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    return has_compiler(j) && !hcy_nufft_get_info(&info, plan) && !info.direct;
}

/* `begun`: when the device was opened. */
static int run_plan(struct job *j, hcy_nufft *plan, double begun)
{
    struct times took = { .setup = progress_seconds(&j->progress) - begun };
    /* Compiling takes seconds, which would look like hanging. */
    int status = transform_once(&took, j, plan, has_compiler(j) ? " (the first time kernels are compiled)" : "");
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
    int status = hcy_device_open(&j->dev, j->v->device);
    if (!status)
        status = hcy_nufft_create(&plan, j->dev, &desc, &o);
    progress_clear(&j->progress);
    if (status)
        return cli_fail(status);
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
    if (!status)
        status = hcy_host_array_write(&j->out, j->v->out);
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
            return cli_error("%s is missing; see `halcyon nufft --help`", needed[i].name), CLI_USAGE;
    if (v->type.value != 3 && v->targets)
        return cli_error("--targets is for type 3; see `halcyon nufft --help`"), CLI_USAGE;
    if (v->type.value == 3 && v->modes)
        return cli_error("--modes is for types 1 and 2; see `halcyon nufft --help`"), CLI_USAGE;
    if (v->sign.given && !v->sign.value)
        return cli_error("--sign is +1 or -1; see `halcyon nufft --help`"), CLI_USAGE;
    return cli_check_format(v->out, HCY_WRITE_ARRAY);
}

static bool is_in_h5(const char *path)
{
    const char *format;
    return !hcy_format_of(&format, path, HCY_WRITE_ARRAY) && (!strcmp(format, "h5") || !strcmp(format, "mrd"));
}

/* "a/b", of "FILE.h5://a/./b": HDF5 has many spellings of a name.  Of "FILE.h5" it is `otherwise`. */
static void spell_dataset(char name[], size_t size, const char *path, const char *otherwise)
{
    size_t n = hcy_file_length(path), at = 0;
    const char *from = path[n] && path[n + 1] ? path + n + 1 : otherwise;
    name[0] = 0;
    while (*from) {
        size_t length = strcspn(from, "/");
        if (length && !(length == 1 && *from == '.') && at < size)
            at += (size_t)snprintf(name + at, size - at, "%s%.*s", at ? "/" : "", (int)length, from);
        from += length + (from[length] == '/');
    }
}

/* Does writing the one replace the other: is it that, or a group or a list with it? */
static bool is_dataset_lost(const char *written, const char *read)
{
    size_t n = strlen(written);
    return !strncmp(written, read, n) && (!read[n] || read[n] == '/');
}

/* Would `out`, in the same HDF5 file, replace the dataset that is read? */
static bool replaces_dataset(const char *out, const char *in)
{
    static const char *const unnamed[] = { "data", "dataset/data" }; /* what a file alone stands for */
    char written[4096], read[4096], series[4096];
    spell_dataset(written, sizeof written, out, "");
    snprintf(series, sizeof series, "dataset/%.*s", (int)(sizeof series - 16), written);
    for (size_t i = 0; i < 2; i++) {
        spell_dataset(read, sizeof read, in, unnamed[i]);
        /* What is written to .mrd is in the group /dataset. */
        if (is_dataset_lost(written, read) || is_dataset_lost(series, read))
            return true;
    }
    return false;
}

/* Makes sure that no input is lost; one more dataset in a file that is read is no loss. */
static int guard_nufft_files(const struct values *v)
{
    const char *const reads[][2] = { { "--points", v->points }, { "--in", v->in }, { "--targets", v->targets } };
    bool is_dataset = v->out[hcy_file_length(v->out)] && is_in_h5(v->out);
    struct guard guard = { 0 };
    for (size_t i = 0; i < 3; i++)
        /* A whole file that is read must stay, while another dataset of the same HDF5 file may be written. */
        if (reads[i][1] && (!is_dataset || !is_in_h5(reads[i][1]) || replaces_dataset(v->out, reads[i][1])))
            guard_reads(&guard, reads[i][0], reads[i][1]);
    int status = guard_writes(&guard, "--out", v->out, 0, 0);
    for (size_t i = 0; i < 3; i++)
        guard_reads(&guard, reads[i][0], reads[i][1]);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status;
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
    status = guard_nufft_files(&v);
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
