/* azint_priv.h - what the files of src/azint share: geometry row by row, the bins' grid, pixels split into
 * runs.
 *
 * Rows are the unit of work: everything is computed for one row of pixels (or of their corners) at a time,
 * from constants that no one changes after the plan's creation began, so rows can be done by any thread in
 * any order.
 */
#ifndef HCY_AZINT_PRIV_H
#define HCY_AZINT_PRIV_H

#include <halcyon/azint.h>
#include <halcyon/backend.h>
#include "azint_runs.h"
#include "azint_wide.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

const char *hcy__errno_text(int number, char *buf, size_t size); /* src/stack/stack.c */
int hcy__open_file(int *fd, const char *path);

#define AZINT_PI 3.14159265358979323846
#define AZINT_MAX_EXPONENT 62 /* of dark currents and variances as integers: they are below 2^62 */

/* --- Detectors (detector.c) --- */

const hcy_detector *hcy__detector_generic(void);

/* --- Units (unit.c) --- */

/* How the sample lies (fibre.c). */
struct azint_sample {
    double sin_incident, cos_incident, sin_tilt, cos_tilt;
    int orientation; /* 1 to 8 */
};
void hcy__azint_sample_init(struct azint_sample *sample, double incident_angle, double tilt_angle, int orientation);

/* A unit with the wavelength and the sample put in. */
struct azint_scale;
typedef void azint_unit_fn(double *out, const double *x, const double *y, const double *z, size_t n,
                           const struct azint_scale *scale);
struct azint_scale {
    const hcy_azint_unit *unit;
    azint_unit_fn *eval;
    double factor;
    struct azint_sample sample;
    double scale; /* of eval's values, to be in the unit */
    int may_be_negative;
    int is_component; /* of a vector: 0 along a line across the detector, and of either sign beside it */
    int jumps;        /* from one sign to the other, within a pixel */
};
/* With a sample that lies as it comes. */
int hcy__azint_scale_init(struct azint_scale *scale, const char *name, double wavelength);
/* Of units that need the sample (fibre.c). */
azint_unit_fn hcy__fibre_qx, hcy__fibre_qy, hcy__fibre_qz, hcy__fibre_qip, hcy__fibre_chi, hcy__fibre_scattering_up,
    hcy__fibre_scattering_across, hcy__fibre_exit_up, hcy__fibre_exit_across;

/* --- Thick sensors (parallax.c) --- */

struct azint_parallax {
    double mu, thickness, dist; /* 1/m, m, m; mu 0: there is no such correction */
};
/* Of a geometry that asks for it. */
int hcy__azint_parallax_init(struct azint_parallax *parallax, const hcy_poni *poni);
/* What a place of the detector, relative to the point of normal incidence, is multiplied by to be where photons came
 * in. */
double hcy__azint_parallax_scale(const struct azint_parallax *p, double p1, double p2);

/* --- Geometry (geometry.c) --- */

/* Points on the detector and what they are in the lab.  Positions are relative to the point of normal
 * incidence, detector's orientation and chips of uneven pixels included. */
struct azint_geometry {
    size_t height, width;
    double *corner1, *corner2; /* [height + 1], [width + 1] */
    double *centre1, *centre2; /* [height], [width] */
    double m[3][3];            /* rows: y, x, z in the lab; columns: axis 1, axis 2, distance */
    double dist;
    double contour;            /* -1: one axis is mirrored, so corners go round the other way; 0: not known */
    /* Pixels that have corners of their own have so many, 4 or AZINT_MOST_CORNERS; else 0, and all this is unused. */
    unsigned own;
    int turn1, turn2;          /* pixel (0, 0) of the image is the last one of that axis */
    /* (z, y, x) of the corners of the detector's pixel (i, j), in metres */
    void (*place)(double corners[][3], const struct azint_geometry *g, size_t i, size_t j);
    const float *corners;      /* [height][width][4][3] */
    const float *areas;        /* [height][width] or NULL */
    double pixel1, pixel2, radius, gap;
    size_t period;
    double poni1, poni2;
    int is_flat;               /* no corner lies before or behind the others */
    const struct azint_scale *azimuth; /* what chi of a row is in; NULL: radians about the beam */
    struct azint_parallax parallax;
};
#define AZINT_MOST_CORNERS 6 /* of a pixel */
/* A row of points in the lab. */
struct azint_row {
    double *x, *y, *z; /* [width + 1] */
    double *radial, *chi;
};
/* What `poni->detector` calls for beyond a grid, into g; 0: nothing (detector_pixels.c). */
unsigned hcy__detector_place(struct azint_geometry *g, const hcy_poni *poni);
/* Edges of n pixels, in metres from the first one's outer edge.  Where chips meet, the two pixels that face each other
 * are 1 + `wider` as wide as others. */
void hcy__azint_place_edges(double *edge, size_t n, double pixel, size_t chip, double wider);
/* Whether the image's first pixel on axis 1 or 2 is the detector's last one. */
int hcy__azint_turns(const hcy_poni *poni, int axis);
int hcy__azint_geometry_init(struct azint_geometry *g, const hcy_poni *poni, size_t height, size_t width);
void hcy__azint_geometry_free(struct azint_geometry *g);
int hcy__azint_row_alloc(struct azint_row *row, size_t width);
void hcy__azint_row_free(struct azint_row *row);
/* Fill x, y, z, radial (unless `scale` is NULL) and chi (if wanted) for n points at position p1 and p2[0 ..
 * n). */
void hcy__azint_row_eval(struct azint_row *row, const struct azint_geometry *g,
                         const struct azint_scale *scale, double p1, const double *p2, size_t n,
                         int want_chi);
/* Row i's centres of pixels. */
void hcy__azint_centres_eval(struct azint_row *row, const struct azint_geometry *g, const struct azint_scale *scale,
                             size_t i, int want_chi);
/* Of pixels with corners of their own: row i's, g->own to a pixel. */
void hcy__azint_quads_eval(struct azint_row *row, const struct azint_geometry *g, const struct azint_scale *scale,
                           size_t i, int want_chi);
/* The corners of the image's pixel (i, j), of pixels that have their own. */
void hcy__azint_place_pixel(double corners[][3], const struct azint_geometry *g, size_t i, size_t j);
/* What the solid angle of the image's pixel (i, j) is multiplied by. */
double hcy__azint_area(const struct azint_geometry *g, size_t i, size_t j);
/* The cosine of the angle at which pixel j is hit, from its centre and its corners. */
double hcy__azint_incidence(const struct azint_row *centre, const struct azint_row *quads, size_t j);

/* --- Splitting (split.c) --- */

/* The bins, in the scale's own values. */
struct azint_grid {
    double min, delta;
    size_t n_bins;
    int open;                  /* what an interval has below the first bin is that bin's: there is nothing else there */
    int check_chi;
    int is_sector;             /* two-dimensional: a range of less than a turn, so azimuth has an outside */
    int is_straight;           /* the second axis is none that goes round */
    double chi_min, chi_max;   /* two-dimensional: where the bins begin, and what is still in them */
    size_t n_azim;             /* 0: one dimension */
    double chi_end, chi_delta; /* two-dimensional: where the bins end, their width */
    double max;                /* two-dimensional: the largest radial value that is still in the bins */
};

/* Which bins a pixel is in: n consecutive ones from `first`, n = 0 for none. */
struct azint_span {
    uint32_t first;
    uint32_t n;
};

/* A rectangle of bins; chi is 0, 1 in one dimension. */
struct azint_window {
    struct azint_span radial, chi;
    int is_part; /* of the pixel: its shares here add up to less than 1 */
};

/* From lo to hi, of which from .. to counts. */
struct azint_interval {
    double lo, hi, from, to;
};

/* A pixel's interval, in bins; and its corners, for full splitting. */
struct azint_pixel {
    struct azint_interval radial, azimuth; /* the second: two-dimensional */
    unsigned n; /* corners */
    double bin[AZINT_MOST_CORNERS], chi[AZINT_MOST_CORNERS];
    int through; /* its unit is 0 across it: the corners may go round in an eight, and are in double */
};

/* Which of n_bins bins an interval reaches into, and what of it counts there; beyond ends that are open the first
 * and the last bin go on. */
struct azint_span hcy__azint_span_interval(struct azint_interval *x, size_t n_bins, int open_low, int open_high);
/* Which of n_bins bins a polygon reaches into. */
static inline struct azint_span azint_span_polygon(double lo, double hi, size_t n_bins)
{
    struct azint_span none = { 0, 0 }, span;

    if (!(hi > 0) || !(lo < (double)n_bins) || !isfinite(hi - lo))
        return none;
    span.first = lo > 0 ? (uint32_t)lo : 0;
    span.n = (uint32_t)(hi < (double)n_bins ? (size_t)hi : n_bins - 1) - span.first + 1;
    return span;
}
/* cum[k]: the share of the pixel in the first k + 1 of its bins.  Room for span.n. */
struct azint_loops; /* share_loops.h */
void hcy__azint_shares_interval(double *cum, const struct azint_loops *loops, const struct azint_pixel *p,
                                struct azint_span span);
void hcy__azint_shares_polygon(double *cum, const struct azint_loops *loops, const struct azint_pixel *p,
                               struct azint_span span);
/* The same of a pixel in the bins' own coordinates on both axes; cells of the window, radial ones fastest. */
struct azint_span hcy__azint_span_box(double lo, double hi);
void hcy__azint_shares_boxes(double *cum, const struct azint_pixel *p, struct azint_window window);
void hcy__azint_shares_area(double *cum, const struct azint_loops *loops, const struct azint_pixel *p,
                            struct azint_window window);
/* Chi of the corners made continuous if the pixel lies across the +-pi line; `contour` as in the geometry, 0 where a
 * contour says nothing of that. */
void hcy__azint_recentre(struct azint_pixel *p, double contour);
/* Whether chi from lo to hi touches the grid's azimuthal range. */
int hcy__azint_in_azimuth(const struct azint_grid *grid, double lo, double hi);

static inline size_t azint_cells(struct azint_window w)
{
    return (size_t)w.radial.n * w.chi.n;
}
#define AZINT_MOST_OF_RUN 127u /* weights */
static inline size_t azint_run_bytes(struct azint_window window)
{
    size_t n = window.radial.n, runs = n > AZINT_MOST_OF_RUN ? (n + AZINT_MOST_OF_RUN - 1) / AZINT_MOST_OF_RUN : 1;

    return window.chi.n * (runs * 4 + n * 3);
}
/* Of a pixel without weight. */
uint8_t *hcy__azint_put_no_run(uint8_t *p);
/* Weights of the shares in the window's cells; room for twice as many. */
void hcy__azint_weigh(uint32_t *weights, const struct azint_loops *loops, struct azint_window window,
                      const double *cum);
/* Write a pixel's runs, n_radial bins to a row of the window; returns where the next ones begin.  `more`: the pixel has
 * another window. */
uint8_t *hcy__azint_put_runs(uint8_t *p, const struct azint_loops *loops, struct azint_window window, size_t n_radial,
                             const uint32_t *weights, int more);

/* --- 128-bit sums: see also azint_wide.h --- */

/* c * |d| to the scale of c * value: >> shift, 0 to 62, rounded half up. */
static inline void azint_dark_round(uint64_t cd[2], const uint64_t fine[2], int shift)
{
    cd[0] = fine[0];
    cd[1] = fine[1];
    if (!shift)
        return;
    azint_add(cd, (uint64_t)1 << (shift - 1), 0);
    cd[0] = cd[0] >> shift | cd[1] << (64 - shift);
    cd[1] >>= shift;
}

/* --- Checking (check.c) --- */

/* The geometry of an image of this shape, with nothing left open. */
int hcy__azint_resolve_poni(hcy_poni *poni, size_t height, size_t width);
int hcy__azint_check_options(const hcy_azint_options *options, size_t height, size_t width);

/* --- Hashes (hash.c) --- */

/* Two words of 64 bits: not for cryptography, but no two plans will meet in it by chance. */
struct azint_hash {
    uint64_t a, b;
};
#define AZINT_HASH_INIT { 0xcbf29ce484222325u, 0x84222325cbf29ce4u }
void hcy__azint_hash(struct azint_hash *h, const void *data, size_t size);
/* Everything that enters a plan but the tables themselves. */
void hcy__azint_hash_inputs(struct azint_hash *h, const hcy_azint_plan *plan);

/* --- The plan (plan.c makes it, result.c reads it) --- */

/* Constants of a bin that only plans with a dark current or given variances have. */
struct azint_bin_extra {
    uint64_t dark[2];      /* sum of cd, two's complement: for integer pixels */
    uint64_t dark_fine[2]; /* sum of c * d: for float pixels */
    uint64_t variance[2];  /* sum of c2 * v */
};

struct hcy_azint_plan {
    atomic_uint refs;
    hcy_azint_options options;
    hcy_poni poni;
    struct azint_scale scale;
    struct azint_scale azimuth; /* where the unit needs the sample; else its unit and its scale alone count */
    double min, max; /* of the grid, in the unit */
    double azimuth_min, azimuth_max;
    hcy_azint_head head;
    size_t n_masked, run_bytes;
    uint8_t *runs;
    uint64_t *starts;
    float *norms;
    float *darks, *variances; /* NULL without */
    double *radial, *azimuthal; /* one block of memory */
    hcy_azint_bin_norm *bin_norms;
    double *full_norms; /* [n_bins] their norms: what a frame that loses no pixel is divided by, */
    double *full_norms2, *full_counts; /* with the rest of them; both are in the first one's memory */
    uint64_t max_count; /* the largest of their counts */
    struct azint_bin_extra *extra; /* NULL without both */
    int filtered;                  /* frames go through azint_filter */
    double norm_scale;             /* of norms: a power of two, so that the largest is about 1 */
    double least_norm;             /* what an unweighted mean's shares are times, by a pixel's; or 0 */
    int has_flat, has_absorption;
    char hash[33];
    struct azint_hash full_hash;
    char *kept; /* under which name devices may keep what they make of the tables; NULL: nowhere */
    struct timespec kept_since; /* when its folder had changed last, at that time */
    void *map; /* the tables are in this memory, a file's, or NULL: they are their own blocks of memory */
    size_t map_size;
};

/* Is the variance of a pixel its value? */
static inline int hcy__azint_is_poisson(const hcy_azint_plan *plan)
{
    return plan->options.error_model == HCY_ERRORS_POISSON || plan->options.error_model == HCY_ERRORS_HYBRID;
}
/* Do sums of its frames get a least variance when they are merged, in place of the frames' pixels?  A filter compares
 * pixels by their variance, so those of its frames keep theirs.  So do those of an unweighted mean, whose weights have
 * the norms divided out: a bin's sums do not say any more what one count a pixel is in them. */
static inline int hcy__azint_is_part_of_sum(const hcy_azint_plan *plan)
{
    return plan->options.part_of_sum && hcy__azint_is_poisson(plan) && !plan->filtered && !plan->options.unweighted;
}
/* Bytes of a pixel of this type (job.c); 0: no such type. */
uint32_t hcy__azint_pixel_bytes(uint32_t pixel_type);

/* What follows from bin_norms (result.c); HCY_ENOMEM. */
int hcy__azint_set_norms(hcy_azint_plan *plan);

/* --- Plans on disk (cache.c) --- */

/* 0: the plan is complete, but for its hash as text.  -1: there is none; it is as it was.  At most so many threads. */
int hcy__azint_cache_load(hcy_azint_plan *plan, const char *folder, const struct azint_hash *key, size_t threads);
void hcy__azint_cache_save(hcy_azint_plan *plan, const char *folder, const struct azint_hash *key, size_t threads);

/* `size` bytes of tables from the place `at` of a file, the plan's from then on, and their sum; NULL: they are not
 * there, or there is no memory (cache_read.c). */
uint8_t *hcy__azint_cache_tables(uint64_t *sum, hcy_azint_plan *plan, int fd, size_t at, size_t size, size_t threads);
void hcy__azint_cache_free(hcy_azint_plan *plan);
/* The plan goes, and with it plan->kept: the folder is brought below its limit, if anything came to it since. */
void hcy__azint_cache_leave(hcy_azint_plan *plan);
/* All of n pieces of work, until one does not return 0, by several threads; one that cannot be had is done without.
 * Nonzero: one has failed. */
int hcy__azint_do_pieces(size_t n, size_t threads, int (*work)(void *context, size_t piece), void *context);
/* 0 if runs and starts hold together. */
int hcy__azint_cache_check(hcy_azint_plan *plan, size_t threads);
/* Removes the plans of a folder that were used longest ago, above hcy_cache_limit() (cache_prune.c). */
void hcy__azint_cache_prune(const char *folder);

#endif
