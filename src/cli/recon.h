/* recon.h - halcyon recon: what reading, solving and writing share.  Single-threaded. */
#ifndef HCY_CLI_RECON_H
#define HCY_CLI_RECON_H

#include "points.h"
#include "progress.h"
#include <halcyon/solve.h>

struct recon_values {
    const char *trajectory, *sizes, *maps, *basis, *field, *r2star, *times, *delay, *girf, *dcf, *save_dcf, *reg,
        *only, *noise, *device, *out;
    struct points_options how;
    struct cli_int iterations, segments, frames, spokes_per_frame;
    struct cli_real tolerance, lambda, eps, readout, dwell, girf_step;
    int solver, precision, stack, toeplitz, espirit, real, deterministic, everywhere, no_navigators, json, quiet;
};
enum recon_solver {
    RECON_AUTO,
    RECON_CG,
    RECON_CGLS,
    RECON_LSQR,
    RECON_LSMR,
    RECON_FISTA,
    RECON_PRIMAL_DUAL,
    RECON_ADMM,
    RECON_ADJOINT
};
extern const char *const recon_solvers[], *const recon_precisions[], *const recon_stacks[];
enum recon_stack { RECON_STACK_AUTO, RECON_STACK_YES, RECON_STACK_NO };

/* Density weights: none, of halcyon/density.h, or of a file. */
enum recon_dcf { RECON_DCF_NONE, RECON_DCF_PIPE, RECON_DCF_CELLS, RECON_DCF_VORONOI, RECON_DCF_FILE };

/* A regulariser of --reg. */
struct recon_reg {
    int kind, block; /* pixels an axis, of low rank */
    double factor;
};
enum { RECON_MOST_REGS = HCY_SOLVER_MAX_PROXIMALS };

struct recon {
    const struct recon_values *v;
    const char *kspace;
    char *trajectory; /* its name, also where the command line has none; freed */
    struct progress progress;
    enum recon_dcf dcf;
    enum recon_solver solver; /* that --solver names, or the one for these regularisers */
    struct recon_reg regs[RECON_MOST_REGS];
    size_t n_regs;
    bool is_generalised; /* TGV is one of them */

    /* What is read, all in the precision that is computed with. */
    bool is_double;
    int dim;
    int64_t sizes[3];
    char size_words[80];  /* as -n has them */
    int64_t encoded[3];   /* those of the field of view that coordinates in its units are of; */
    double stretch[3];    /* how large a pixel of the image is, of one of these */
    double cells[3];      /* and in mm, x first; 0: is not said */
    size_t n, coils, pixels;
    enum points_unit unit;
    int point_rank; /* the points' own axes, for weights that are written */
    uint64_t point_shape[HCY_HOST_ARRAY_MAX_RANK];
    void *axes[3];  /* radians */
    double delays[3]; /* of gradients, in samples */
    int64_t *planes; /* of a stack: where they are along stack_axis, in 2 pi / its size; NULL: it is none */
    size_t n_planes;
    int stack_axis;
    void *samples;  /* complex [coils][n]; */
    void *maps;     /* complex [coils][pixels], or NULL; */
    void *basis;    /* complex [functions][frames], or NULL: one image of all samples; */
    size_t functions, frames;
    bool is_list; /* samples are of an ISMRMRD list, [coils][n_taken][samples]: frames are never in front of coils; */
    struct recon_taken *taken;              /* which of its acquisitions, NULL: all in their order, */
    size_t n_taken, n_acquisitions, n_apart; /* of so many slices, contrasts, phases and sets */
    size_t *slices, n_slices; /* which slice each is of; above 1 slices each has its own maps, field and decay */
    double *places; /* of each slice, [5][3] as a list's /places, of unit vectors at right angles; NULL: unknown */
    double *image_places; /* of each image that is written, where they are not alike */
    uint32_t *counted;       /* of each acquisition that is taken, as hcy_host_array.counters, of 10; */
    uint32_t *image_counters; /* and of each image that is written */
    size_t wanted_frames; /* of --frames, or of an ISMRMRD file of several images; 0: one */
    size_t n_frames;     /* images of samples of their own, one after the other; 0: one image; */
    size_t frame_points; /* points of each, or those of the first: */
    size_t *frame_begins; /* acquisitions before each, [n_frames + 1]; NULL: all have as many points, */
    bool is_same;        /* which are all the same, n in all: samples are [frames][coils][n] then; */
    bool has_frame_axis; /* files have an axis of them in front */
    void *weights;  /* real [n], or NULL: 1 / n each, or frames' own that are still to be computed */
    void *field;    /* real [pixels], radians a second, or NULL; */
    void *decay;    /* real [pixels], R2* in 1/s, or NULL; */
    void *times;    /* real [n], seconds */

    /* What it is done with. */
    hcy_device **devs; /* of --device; */
    size_t n_devs;
    struct recon *shares; /* several devices': some of the coils, on a device; NULL: all are on one */
    hcy_device *dev;      /* the first, which has the image; or a share's */
    hcy_queue *queue;
    hcy_nufft *plan;
    hcy_operator *op;   /* square roots of the weights times what coils receive */
    hcy_operator *real_op; /* that of real images, with --real; */
    hcy_operator *gram; /* its Gram operator: by convolution (--toeplitz), or that of several devices */
    hcy_proximal *proximals[RECON_MOST_REGS];
    hcy_solver *steps;
    double first; /* residual */
    bool keeps;   /* operators and solver, for the next frame; */
    size_t frame; /* the number of this one */
    int segments; /* of time, of the field */
    double segments_error;

    /* What came of it. */
    void *image; /* complex, or real (--real): [pixels], with a basis [functions][pixels], else without maps
                    [coils][pixels] */
    hcy_solver_info info; /* of frames the one that ended worst, with its residuals */
    double *residuals; /* of all iterations */
    size_t n_residuals;
    double setup, weighing, solving; /* seconds */
};

/* What --reg says, CLI_USAGE with words; and made for images of a space, a status of the library's. */
int recon_parse_reg(struct recon *r);
int recon_make_regs(struct recon *r, const hcy_space *image);
/* Whether one of them is llr: it looks at all images at once, and goes on from one iteration to the next, so that a
 * step that was tried would show. */
bool recon_regs_count(const struct recon *r);
/* What TGV is of are images [1 + axes][image] whose first one counts: the operator, or the Gram operator, of these, a
 * reference of the caller's; and what the adjoint made of the data as one of them, in its place. */
int recon_add_field_of_tgv(hcy_operator **op, struct recon *r, const hcy_space *image);
int recon_widen_for_tgv(hcy_array **data, struct recon *r);
/* ISMRMRD's lists of acquisitions: the name of a part of KSPACE's, to be freed; whether a file can have one. */
char *recon_name_part(const struct recon *r, const char *part);
bool recon_may_be_mrd(const char *path);
/* The image's sizes by their header, and those of its pixels; or of the pixels of -n's, once the unit is known, where a
 * header says them; then the axes are made those of its pixels. */
int recon_find_sizes(struct recon *r);
void recon_find_cells(struct recon *r);
int recon_stretch_points(struct recon *r);
/* --only: whether it can be read; then those acquisitions, each image's behind another's, how many of which are
 * wanted_frames. */
int recon_check_only(const struct recon *r);
int recon_take_acquisitions(struct recon *r, hcy_host_array *samples, hcy_host_array *points);
/* EPI's lines become what its navigators say of them: acquisitions in the file's order, a list's. */
int recon_correct_lines(struct recon *r, hcy_host_array *samples, hcy_host_array *points);
/* A file's numbers, one for each point in the order of its acquisitions, become those of the points as they were taken;
 * and, of as many reals, a copy in the file's order, to be freed, NULL: it is the same. */
int recon_order_points(hcy_host_array *a, const struct recon *r);
int recon_unorder_points(void **ordered, const struct recon *r, const void *numbers);
/* The file's number of an acquisition, one of those that are taken in their order, and its slice. */
size_t recon_acquisition(size_t *slice, const struct recon *r, size_t i);
/* Where slices are in the patient, by the acquisitions' headers; then an image that is to be written has its place, and
 * in NIfTI slices become an axis, where they are side by side. */
int recon_find_places(struct recon *r);
int recon_place_image(hcy_host_array *a, struct recon *r);
/* Which slice the frame is of. */
size_t recon_slice_of(const struct recon *r, size_t frame);
/* .mrd's images are counted by what their first acquisition is. */
int recon_count_image(hcy_host_array *a, struct recon *r);
/* How much more noise's covariance is than that of the samples, which were taken at another pace. */
double recon_find_pace(const struct recon *r);
/* --noise: samples, and maps, become those of coils whose noise is alike and independent. */
int recon_whiten(struct recon *r);
/* Files to arrays, all checked against each other.  CLI_OK, or another status with words. */
int recon_load(struct recon *r);
/* The axes become where samples were taken, by --girf and --delay, which are said in words: x first, in samples. */
int recon_correct_trajectory(struct recon *r);
const char *recon_delay_words(char text[100], const struct recon *r);
/* Looks whether the points are a stack of planes with the same points each; makes the operator of that, without
 * weights, of a desc and options for all points and as many transforms as coils go at once. */
int recon_find_stack(struct recon *r);
/* In place of an operator, or a Gram operator, of one coil that of all, which have an image each. */
int recon_repeat(hcy_operator **op, const struct recon *r, bool is_gram);
int recon_make_stack(struct recon *r, const hcy_nufft_desc *desc, const hcy_nufft_options *options, hcy_array *maps);
/* A field map and the samples' times, of files; then the operator of a signal that precesses in that field. */
int recon_load_field(struct recon *r);
int recon_add_field(struct recon *r);
/* How many slices have maps of their own.  Whether an array has the image's axes, with the coils' in front where
 * `coils`, and with these slices in front of all; axes of 1 do not matter. */
size_t recon_count_slices(const struct recon *r);
size_t recon_count_functions(const struct recon *r); /* images of a frame, or of a slice with a basis */
bool recon_fits_image(const struct recon *r, const hcy_host_array *a, bool coils);
int recon_read_array(hcy_host_array *a, struct recon *r, const char *path);
/* The devices of the command line, unless they are open; what they are called, as a list. */
int recon_open_devices(struct recon *r);
const char *recon_device_names(char *text, size_t size, const struct recon *r);
void recon_free_devices(struct recon *r);
/* Of r->dev, or of all devices and their shares: the operator; in its place its Gram operator by a convolution; the
 * Gram operator, for which each share's own operator is there.  A status of the library's. */
int recon_make_operator(struct recon *r);
int recon_make_convolution(struct recon *r);
int recon_share_operator(struct recon *r);
int recon_share_gram(struct recon *r);
void recon_free_operator(struct recon *r); /* and its plan */
/* The operator of real images, of one of complex ones or of a Gram operator. */
int recon_make_real(hcy_operator **real, hcy_operator *op, const struct recon *r, bool is_gram);
/* The plan: with maps coils go through it some at a time; without, each is an image of its own. */
int recon_make_plan(struct recon *r);
double recon_weight_of(const struct recon *r, size_t i);
int recon_put_weights(hcy_array **weights, const struct recon *r, bool roots); /* or their square roots: [n] */
int recon_type(const struct recon *r); /* of complex numbers */
hcy_operator *recon_operator(const struct recon *r); /* the one that images go through */
/* The devices, and weights of the points; by a method alone; of frames of their own points, for all of these. */
int recon_weigh(struct recon *r);
int recon_compute_weights(struct recon *r, enum recon_dcf dcf);
int recon_weigh_frames(struct recon *r);
size_t recon_count_points(const struct recon *r); /* of the trajectory, with those that no frame has */
/* What transforms are asked for: HCY_F32 or HCY_F64, and which bits. */
int recon_precision(const struct recon *r);
int recon_same_bits(const struct recon *r);
/* Whether times are said, for which kernels are launched once more so that compiling them is set-up. */
bool recon_measures(const struct recon *r);
/* The coils' maps, by ESPIRiT. */
int recon_estimate_maps(struct recon *r);
/* The image. */
int recon_solve(struct recon *r);
void recon_free_solver(struct recon *r); /* with its operators and regularisers */
/* Whether the image is complex; of coils without maps it is the root of the sum of squares, in the place of the first
 * one. */
bool recon_is_complex(const struct recon *r);
void recon_combine_coils(struct recon *r);
/* --frames, --spokes-per-frame: how many, and coils; samples in their order, with those points alone that have a frame;
 * of frames of the same points their mean; the images. */
int recon_find_frames(struct recon *r, const hcy_host_array *samples);
/* Points before a frame's own (f = n_frames: of all), none where all have the same; and those that it has. */
size_t recon_points_before(const struct recon *r, size_t f);
size_t recon_points_of(const struct recon *r, size_t f);
int recon_order_frames(struct recon *r);
int recon_mean_samples(void **mean, const struct recon *r);
int recon_solve_frames(struct recon *r);
/* Whether they are one problem, as a regulariser looks at all of them. */
bool recon_frames_count(const struct recon *r);
void recon_free(struct recon *r);

#endif
