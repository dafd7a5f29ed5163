/* recon.c - halcyon recon: an image from samples of its Fourier transform at any places, of one coil or of many. */
#include "recon.h"
#include "guard.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const recon_solvers[] = { "auto",  "cg",          "cgls", "lsqr",    "lsmr",
                                      "fista", "primal-dual", "admm", "adjoint", NULL };
const char *const recon_precisions[] = { "auto", "float", "double", NULL };
const char *const recon_stacks[] = { "auto", "yes", "no", NULL };

#define AT(member) offsetof(struct recon_values, member)
static const struct cli_option options[] = {
    { "trajectory", 't', CLI_TEXT, AT(trajectory), "FILE",
      "where samples lie, [n][axes]; ISMRMRD's files have it", 0, 0, NULL },
    { "modes", 'n', CLI_TEXT, AT(sizes), "N1,N2,N3",
      "the image's sizes, in the order of its axes; ISMRMRD's headers have them", 0, 0, NULL },
    { "only", 0, CLI_TEXT, AT(only), "LIST",
      "of ISMRMRD's acquisitions those alone: slice=2,contrast=0-1; also repetition, phase, set, ...", 0, 0, NULL },
    { "no-navigators", 0, CLI_FLAG, AT(no_navigators), NULL,
      "lines of ISMRMRD's EPI as they are, whatever its navigators say", 0, 0, NULL },
    { "noise", 0, CLI_TEXT, AT(noise), "FILE",
      "coils' noise, [coils][n], by which they are whitened; ISMRMRD's: x.h5:/dataset/data/noise", 0, 0, NULL },
    { "maps", 0, CLI_TEXT, AT(maps), "FILE",
      "the coils' sensitivities, [coils][image]: one image of all (SENSE)", 0, 0, NULL },
    { "espirit", 0, CLI_FLAG, AT(espirit), NULL, "such maps, from the middle of k-space itself", 0, 0, NULL },
    { "basis", 0, CLI_TEXT, AT(basis), "FILE",
      "functions of time, [frames][functions]: an image of each, of samples in as many frames", 0, 0, NULL },
    { "frames", 0, CLI_INT, AT(frames), "N",
      "KSPACE is N images', [N][coils][n]; or n itself, one frame behind the other", 1, 1e7, NULL },
    { "spokes-per-frame", 0, CLI_INT, AT(spokes_per_frame), "N", "or so many spokes are an image's", 1, 1e7, NULL },
    { "field-map", 0, CLI_TEXT, AT(field), "FILE", "how far the field is off, in Hz, [image]", 0, 0, NULL },
    { "r2star", 0, CLI_TEXT, AT(r2star), "FILE", "how fast the signal decays, R2* in 1/s, [image]", 0, 0, NULL },
    { "times", 0, CLI_TEXT, AT(times), "FILE",
      "with --field-map or --r2star: when samples were taken, in seconds, [samples] or [n]", 0, 0, NULL },
    { "readout", 0, CLI_REAL, AT(readout), "MS", "in place of --times: what a spoke takes, from its excitation on", 0,
      1e6, NULL },
    { "segments", 0, CLI_INT, AT(segments), "N", "of time or frequencies, with these maps (as many as leave an error of 1e-3)", 1, 64,
      NULL },
    { "delay", 0, CLI_TEXT, AT(delay), "X,Y,Z",
      "gradients come late, by so many samples (or 3us), one number for all; auto: found in the samples", 0, 0, NULL },
    { "girf", 0, CLI_TEXT, AT(girf), "FILE",
      "what the scanner makes of gradients, complex [axes][frequencies] or [frequencies]: x first, 0 in the middle", 0, 0,
      NULL },
    { "girf-step", 0, CLI_REAL, AT(girf_step), "HZ", "from one of these frequencies to the next (all: 1 / dwell)", 1e-9,
      1e9, NULL },
    { "dwell", 0, CLI_REAL, AT(dwell), "US", "from a sample to the next, for these two", 1e-6, 1e9, NULL },
    { "dcf", 0, CLI_TEXT, AT(dcf), "WEIGHTS", "of the samples: pipe, voronoi, cells, none, or FILE [n]; below", 0, 0,
      NULL },
    { "save-dcf", 0, CLI_TEXT, AT(save_dcf), "FILE", "the weights, too", 0, 0, NULL },
    { "solver", 0, CLI_CHOICE, AT(solver), "NAME",
      "cg, cgls, lsqr, lsmr, fista, primal-dual, admm, adjoint (none); auto (default): cg, with --reg fista or admm", 0,
      0, recon_solvers },
    { "stack", 0, CLI_CHOICE, AT(stack), "WHEN",
      "points in planes, as stars, by an FFT across them: auto (default: where they are), yes, no", 0, 0,
      recon_stacks },
    { "real", 0, CLI_FLAG, AT(real), NULL, "an image without imaginary part, as maps have its phase", 0, 0, NULL },
    { "toeplitz", 0, CLI_FLAG, AT(toeplitz), NULL,
      "iterate by FFTs of twice the sizes, without the points; more memory", 0, 0, NULL },
    { "iterations", 0, CLI_INT, AT(iterations), "N", "at most (30)", 1, 100000, NULL },
    { "tolerance", 0, CLI_REAL, AT(tolerance), "T", "the residual, of the first one, that is enough (1e-4)",
      0, 1, NULL },
    { "lambda", 0, CLI_REAL, AT(lambda), "L2", "smallness of the image: adds L2 |x|^2 to what is minimised",
      0, 1e30, NULL },
    { "reg", 0, CLI_TEXT, AT(reg), "LIST", "regularisers: wavelet:F,tv:F,l1:F,llr:F or some of them; or tgv:F", 0, 0,
      NULL },
    { "eps", 'e', CLI_REAL, AT(eps), "E", "relative error of the transforms (1e-5)", 1e-16, 1, NULL },
    { "precision", 0, CLI_CHOICE, AT(precision), "P", "float, double; auto (default): the samples'", 0, 0,
      recon_precisions },
    POINTS_OPTIONS(AT(how)),
    { "device", 'd', CLI_TEXT, AT(device), "LIST",
      "cpu; cpu@threads=2; gpu; ... (auto); several share the coils, or frames", 0, 0, NULL },
    { "deterministic", 0, CLI_FLAG, AT(deterministic), NULL,
      "the same bits for any threads and any order of points", 0, 0, NULL },
    { "same-everywhere", 0, CLI_FLAG, AT(everywhere), NULL, "the same bits on every device, too", 0, 0,
      NULL },
    { "out", 'o', CLI_TEXT, AT(out), "IMAGE", "the result; formats: below", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "the summary, with all residuals, as one JSON object", 0, 0,
      NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no progress, no summary", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_recon_command = {
    "recon",
    "images from samples of k-space along any trajectory",
    "KSPACE -t TRAJECTORY -n N1,N2[,N3] -o IMAGE",
    1,
    1,
    options,
    "KSPACE is complex, [n] or [coils][n], the sum that `halcyon nufft -t 2` makes of an image; n may be\n"
    "several axes, as [spokes][samples].  Files are x.npy, x.h5:DATASET, BART's x.cfl (coordinates in\n"
    "1/FOV, x first), ISMRMRD's acquisitions x.mrd (x.h5); IMAGE also x.nii, and x.mrd is images.\n"
    "It is complex (--real: not); of several coils without maps it is the root of the sum of their squares.\n"
    "Minimised is |W^1/2 (A x - b)|^2 + L2 |x|^2; with --reg half of that, and F times the sum of the\n"
    "pixels' magnitudes (l1), of wavelet coefficients' (Daubechies, 4 taps), or the total variation;\n"
    "tgv is the generalised one, F times the first and 2 F times the second differences.\n"
    "llr:F[:BLOCK] is of several images (--frames; --basis; coils without maps): F times the singular values\n"
    "of their blocks, BLOCK pixels an axis (8), which are elsewhere in each iteration.\n"
    "With --basis there is an image of each function, [functions][image]; with --frames [frames][image].\n"
    "W are the weights of --dcf, or 1/n each: none, the default but with --solver adjoint (pipe), as a\n"
    "solver finds the density itself; pipe, voronoi and cells are shares of k-space, with which it\n"
    "needs fewer iterations and weighs noise more.\n"
    "Exit status: 0 if it was done, else 1; 2: usage."
};

/* --- Usage --- */

/* Regularisers need a solver that takes them: one at a time, or several.  For TGV ADMM needs the fewest iterations. */
static enum recon_solver choose_solver(const struct recon *r)
{
    if (r->v->solver)
        return (enum recon_solver)r->v->solver;
    if (r->n_regs)
        return r->n_regs > 1 || r->is_generalised ? RECON_ADMM : RECON_FISTA;
    return RECON_CG;
}

static bool takes_regs(const struct recon *r)
{
    return r->solver == RECON_FISTA ? r->n_regs <= 1
                                    : r->solver == RECON_PRIMAL_DUAL || r->solver == RECON_ADMM;
}

static enum recon_dcf choose_dcf(const struct recon *r)
{
    static const char *const names[] = { "none", "pipe", "cells", "voronoi" };
    const struct recon_values *v = r->v;
    if (!v->dcf)
        return r->solver == RECON_ADJOINT ? RECON_DCF_PIPE : RECON_DCF_NONE;
    for (int i = 0; i < RECON_DCF_FILE; i++)
        if (!strcmp(v->dcf, names[i]))
            return (enum recon_dcf)i;
    return RECON_DCF_FILE;
}

/* What the command line says; nothing is read before it goes together. */
static int check_recon(struct recon *r)
{
    const struct recon_values *v = r->v;
    const bool has_map = v->field || v->r2star;
    if (recon_parse_reg(r))
        return CLI_USAGE;
    r->solver = choose_solver(r);
    r->dcf = choose_dcf(r);
    r->wanted_frames = v->frames.given ? (size_t)v->frames.value : 0;
    if (!v->sizes && !recon_may_be_mrd(r->kspace))
        cli_usage("--modes is missing: the image's sizes, as -n 128,128");
    else if (!v->out)
        cli_usage("--out is missing");
    else if (v->maps && v->espirit)
        cli_usage("--espirit is in place of --maps");
    else if (v->reg && !takes_regs(r))
        cli_usage("--reg is for --solver fista, which takes one, primal-dual and admm");
    else if (v->toeplitz && r->solver != RECON_CG && !takes_regs(r))
        cli_usage("--toeplitz is for --solver cg, fista, primal-dual and admm");
    else if (r->solver == RECON_ADJOINT && (v->lambda.given || v->iterations.given || v->tolerance.given))
        cli_usage("--lambda, --iterations and --tolerance are for solvers that iterate");
    else if (has_map && !v->times == !v->readout.given)
        cli_usage("%s needs --times or --readout, when samples were taken", v->field ? "--field-map" : "--r2star");
    else if (!has_map && (v->times || v->readout.given || v->segments.given))
        cli_usage("--times, --readout and --segments are for --field-map and --r2star");
    else if ((v->girf_step.given && !(v->girf && v->dwell.given)) ||
             (v->dwell.given && !v->girf_step.given && !v->delay))
        cli_usage("--girf-step is for --girf and needs --dwell, which is for that and for --delay");
    else if (v->basis && (v->frames.given || v->spokes_per_frame.given))
        cli_usage("--basis has frames of its own, without --frames and --spokes-per-frame");
    else if (v->frames.given && v->spokes_per_frame.given)
        cli_usage("--spokes-per-frame is in place of --frames");
    else if (v->stack == RECON_STACK_YES && v->toeplitz)
        cli_usage("--toeplitz needs no points, in planes or elsewhere, so no --stack");
    else if (v->stack == RECON_STACK_YES && v->everywhere)
        cli_usage("--same-everywhere has no --stack: FFTs across planes are the device's");
    else if (v->toeplitz && v->everywhere)
        cli_usage("--same-everywhere has no --toeplitz: its FFTs are the device's");
    else if (v->save_dcf && !r->dcf)
        cli_usage("--save-dcf is for --dcf pipe, voronoi, cells or FILE");
    else if (cli_check_format(v->out, HCY_WRITE_ARRAY) ||
             (v->save_dcf && cli_check_format(v->save_dcf, HCY_WRITE_ARRAY)))
        return CLI_USAGE;
    else
        return recon_check_only(r);
    return CLI_USAGE;
}

/* --- The image --- */

void recon_combine_coils(struct recon *r)
{
    const size_t parts = r->v->real ? 1 : 2;
    for (size_t p = 0; p < r->pixels; p++) {
        double sum = 0;
        for (size_t c = 0; c < r->coils; c++) {
            for (size_t k = 0; k < parts; k++) {
                double part = reals_get(r->is_double, r->image, parts * (c * r->pixels + p) + k);
                sum += part * part;
            }
        }
        /* Number p is real and lies before all that is still to be read. */
        reals_put(r->is_double, r->image, p, sqrt(sum));
    }
}

bool recon_is_complex(const struct recon *r)
{
    return (r->maps || r->coils == 1) && !r->v->real;
}

/* Frames, or functions of time, are in front of the image's axes, and slices of functions in front of these: where the
 * image's have their places, [z][y][x] in NIfTI and behind channels in ISMRMRD's files, there is one axis of all these,
 * and empty ones are between. */
static int find_shape(hcy_host_array *a, const struct recon *r)
{
    size_t images = recon_count_functions(r);
    const char *format;
    int axes = r->dim, status = hcy_format_of(&format, r->v->out, HCY_WRITE_ARRAY);
    if (status)
        return status;
    const bool has_places = !strcmp(format, "mrd") || !strcmp(format, "nii");
    if (r->n_frames && r->basis && !has_places)
        a->shape[a->rank++] = r->n_frames;
    else if (r->n_frames)
        images *= r->n_frames;
    if (r->n_frames || r->basis) {
        a->shape[a->rank++] = images;
        axes = !strcmp(format, "mrd") ? 4 : !strcmp(format, "nii") ? 3 : r->dim;
    }
    for (int d = r->dim - axes; d < r->dim; d++)
        a->shape[a->rank++] = d < 0 ? 1 : (uint64_t)r->sizes[d];
    return 0;
}

static int write_image(struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    a.is_complex = recon_is_complex(r);
    a.bytes = r->is_double ? 8 : 4;
    memcpy(a.cells, r->cells, sizeof a.cells);
    int status = find_shape(&a, r);
    if (status)
        return cli_fail(status);
    if (!r->n_frames && !r->maps && r->coils > 1)
        recon_combine_coils(r);
    a.data = r->image;
    status = recon_place_image(&a, r);
    if (!status)
        status = recon_count_image(&a, r);
    if (status)
        return status;
    progress_say(&r->progress, "writing %s ...", r->v->out);
    status = hcy_host_array_write(&a, r->v->out);
    progress_clear(&r->progress);
    return status ? cli_fail_to_write(status, r->v->out) : CLI_OK;
}

/* --- Words --- */

static const char *reason_of(const struct recon *r)
{
    static const char *const words[] = { "",          "iterations", "tolerance", "interrupted",
                                         "breakdown", "iterations" };
    return words[r->info.reason];
}

static double last_residual(const struct recon *r)
{
    return r->info.first > 0 ? r->info.last / r->info.first : 0;
}

static const char *words_of_sizes(char text[80], const struct recon *r)
{
    int at = 0;
    for (int d = 0; d < r->dim; d++)
        at += snprintf(text + at, 80 - (size_t)at, "%s%lld", d ? " x " : "", (long long)r->sizes[d]);
    return text;
}

static void print_recon(const struct recon *r)
{
    char sizes[80], devices[400], delays[100];
    fprintf(stderr, "%s: %s from %zu points of %zu coil%s on %s (%s); ", r->v->out, words_of_sizes(sizes, r),
            r->n, r->coils, r->coils == 1 ? "" : "s", recon_device_names(devices, sizeof devices, r),
            r->is_double ? "double" : "float");
    if (r->solver == RECON_ADJOINT)
        fprintf(stderr, "adjoint");
    else
        fprintf(stderr, "%s: %lld iteration%s, residual %.1e of the first (%s)", recon_solvers[r->solver],
                (long long)r->info.iterations, r->info.iterations == 1 ? "" : "s", last_residual(r),
                reason_of(r));
    if (r->v->delay)
        fprintf(stderr, "; delays %s samples", recon_delay_words(delays, r));
    if (r->basis)
        fprintf(stderr, "; %zu functions of %zu frames", r->functions, r->frames);
    const bool is_worst = r->n_frames > 1 && !recon_frames_count(r) && r->solver != RECON_ADJOINT;
    if (r->n_frames)
        fprintf(stderr, "; %zu %s%s%s", r->n_frames, r->basis ? "slice" : "frame", r->n_frames == 1 ? "" : "s",
                is_worst ? ", of which this is the worst" : "");
    if (r->segments)
        fprintf(stderr, "; field of %d segments, error %.1e", r->segments, r->segments_error);
    if (r->n_planes && !r->v->toeplitz)
        fprintf(stderr, "; a stack of %zu planes", r->n_planes);
    fprintf(stderr, "; weights %.2f ms, set-up %.2f ms, image %.2f ms\n", 1e3 * r->weighing, 1e3 * r->setup,
            1e3 * r->solving);
}

static void print_recon_json(const struct recon *r)
{
    static const char *const units[] = { "", "radians", "cycles", "fov" };
    static const char *const weights[] = { "none", "pipe", "cells", "voronoi", "file" };
    struct cli_json json;
    char devices[400];
    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "image", r->v->out);
    cli_json_text(&json, "device", recon_device_names(devices, sizeof devices, r));
    cli_json_text(&json, "precision", r->is_double ? "double" : "float");
    cli_json_open(&json, "sizes", '[');
    for (int d = 0; d < r->dim; d++)
        cli_json_int(&json, NULL, r->sizes[d]);
    cli_json_close(&json, ']');
    cli_json_int(&json, "points", (int64_t)r->n);
    cli_json_text(&json, "unit", units[r->unit]);
    cli_json_int(&json, "planes", r->v->toeplitz ? 0 : (int64_t)r->n_planes);
    cli_json_int(&json, "coils", (int64_t)r->coils);
    cli_json_int(&json, "frames", (int64_t)(r->n_frames ? r->n_frames : 1));
    cli_json_int(&json, "functions", (int64_t)r->functions);
    cli_json_bool(&json, "maps", r->maps != NULL);
    cli_json_bool(&json, "whitened", r->v->noise != NULL);
    cli_json_bool(&json, "real", r->v->real);
    if (r->v->delay) {
        cli_json_open(&json, "delays", '[');
        for (int d = r->dim - 1; d >= 0; d--)
            cli_json_real(&json, NULL, r->delays[d]);
        cli_json_close(&json, ']');
    }
    if (r->segments) {
        cli_json_int(&json, "segments", r->segments);
        cli_json_real(&json, "segments_error", r->segments_error);
    }
    cli_json_text(&json, "dcf", weights[r->dcf]);
    cli_json_text(&json, "solver", recon_solvers[r->solver]);
    cli_json_text(&json, "reg", r->v->reg);
    cli_json_bool(&json, "toeplitz", r->v->toeplitz);
    cli_json_int(&json, "iterations", r->info.iterations);
    cli_json_text(&json, "ended_by", r->info.reason ? reason_of(r) : NULL);
    cli_json_real(&json, "residual", last_residual(r));
    cli_json_open(&json, "residuals", '[');
    for (size_t i = 0; i < r->n_residuals; i++)
        cli_json_real(&json, NULL, r->residuals[i]);
    cli_json_close(&json, ']');
    cli_json_real(&json, "weights_seconds", r->weighing);
    cli_json_real(&json, "setup_seconds", r->setup);
    cli_json_real(&json, "image_seconds", r->solving);
    cli_json_close(&json, '}');
}

/* --- The whole --- */

static int guard_recon(const struct recon *r)
{
    const struct recon_values *v = r->v;
    const char *const reads[][2] = { { "KSPACE", r->kspace },
                                     { "--trajectory", v->trajectory },
                                     { "--maps", v->maps },
                                     { "--noise", v->noise },
                                     { "--basis", v->basis },
                                     { "--field-map", v->field },
                                     { "--r2star", v->r2star },
                                     { "--times", v->times },
                                     { "--girf", v->girf },
                                     { "--dcf", r->dcf == RECON_DCF_FILE ? v->dcf : NULL } };
    return guard_arrays(reads, sizeof reads / sizeof reads[0], v->out, v->save_dcf);
}

int cli_recon(int argc, char **argv)
{
    struct recon_values v = { .iterations = { 0, 30 }, .tolerance = { 0, 1e-4 }, .eps = { 0, 1e-5 } };
    struct recon r = { .v = &v, .info = HCY_SOLVER_INFO_INIT };
    int status;
    if (cli_parse(&cli_recon_command, argc, argv, &v, &r.kspace, &status))
        return status;
    status = check_recon(&r);
    progress_begin(&r.progress, !v.quiet);
    if (!status)
        status = guard_recon(&r);
    if (!status)
        status = recon_load(&r);
    if (!status)
        status = recon_weigh(&r);
    if (!status && v.espirit)
        status = recon_estimate_maps(&r);
    if (!status)
        status = r.n_frames ? recon_solve_frames(&r) : recon_solve(&r);
    if (!status)
        status = write_image(&r);
    if (!status && !v.quiet)
        print_recon(&r);
    else if (!status && r.info.reason == HCY_SOLVER_CALLBACK) /* the status is to have its reason */
        cli_error("%s: the run was interrupted, and this is the image until then", v.out);
    if (!status && v.json)
        print_recon_json(&r);
    if (!status)
        status = cli_close_stdout(r.info.reason == HCY_SOLVER_CALLBACK ? CLI_FAILED : CLI_OK);
    recon_free(&r);
    return status;
}
