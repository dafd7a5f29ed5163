/* halcyon/azint.h - azimuthal integration: geometry files, plans, and curves from a device's sums.
 *
 * For example:
 *
 *     hcy_poni poni = HCY_PONI_INIT;
 *     hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
 *     hcy_azint_plan *plan;
 *     hcy_azint_job job;
 *     hcy_span spans[HCY_AZINT_SPANS];
 *     hcy_poni_read(&poni, "GEOMETRY.poni");
 *     hcy_azint_plan_create(&plan, &poni, height, width, &options); // once for a geometry
 *     hcy_azint_plan_tables(spans, plan);
 *     hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS);  // once for a device
 *     hcy_azint_plan_job(&job, plan, HCY_PIXEL_U32);                // every launch gets it
 *     hcy_azint_finish(result, plan, &job, sums, report, 1.0);      // once for a frame
 *
 * Rules and names are pyFAI's (2026.9).  A plan is immutable: any number of threads and devices may share it.
 * What decides about bits is integer or plain IEEE double, so a plan's hash and a frame give one curve.
 * Every function may be called from any thread; failures are described in hcy_last_error().
 */
#ifndef HALCYON_AZINT_H
#define HALCYON_AZINT_H

#include <halcyon/kernel.h>
#include "azint_format.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hcy_frame_report; /* bslz4_format.h */

/* --- Detectors --- */

/* A detector known by name.  Static data; strings are constants. */
typedef struct hcy_detector {
    const char *name;           /* as in a PONI file: "Eiger4M" */
    const char *aliases;        /* other spellings, between '|'; case, blanks, '-' and '_' do not count */
    double pixel1, pixel2;      /* metres, slow (y) and fast (x) axis */
    uint32_t height, width;     /* 0, 0: any shape */
    uint32_t module[2], gap[2]; /* pixels, slow and fast; gaps lie between modules; 0: none */
    uint32_t chip[2];           /* chips whose border pixels are twice as wide; 0: all pixels are equal */
    uint32_t masked_columns;    /* columns masked in the middle of each module (CdTe sensors) */
    int has_dummy;              /* pixels within 1.5 of -2, cast to the pixel type, are invalid */
    int orientation;            /* the default, 1 to 4 */
    const struct hcy__detector_layout *layout; /* the library's own: other masks, pixels that are no grid; or NULL */
    int has_corners;            /* pixels are no grid of rectangles, each has its own corners; else 0 */
} hcy_detector;

/* All detectors known, *n of them. */
HCY_API const hcy_detector *hcy_detector_list(size_t *n);
/* HCY_ENOENT: not known; the words name the detectors that are. */
HCY_API int hcy_detector_find(const hcy_detector **detector, const char *name) HCY_MUST_USE;
/* mask[height][width] = 1 in gaps and other places without a pixel, 0 elsewhere.  HCY_EINVAL: the detector
 * has another shape. */
HCY_API int hcy_detector_mask(uint8_t *mask, const hcy_detector *detector, size_t height,
                              size_t width) HCY_MUST_USE;

/* --- Geometry --- */

/* Where the detector stands: what a PONI file says.  Metres and radians.  Plain data, copied freely; may be
 * filled in by hand, beginning with HCY_PONI_INIT. */
typedef struct hcy_poni {
    size_t size;                  /* sizeof(hcy_poni) */
    double dist, poni1, poni2;    /* sample to the point of normal incidence; where that is */
    double rot1, rot2, rot3;
    double wavelength;            /* 0: not known; units in q and d need it */
    double pixel1, pixel2;        /* the detector's own if 0 */
    uint32_t height, width;       /* the detector's; 0, 0: any */
    int orientation;              /* 1 to 4 (EXIF); 0: the detector's default */
    const hcy_detector *detector; /* NULL: a generic one */
    /* Where pixels are, each with four corners: (0, 0), (1, 0), (1, 1), (0, 1) along the slow and the fast axis, each
     * of those its z, y, x in metres: [height][width][4][3].  NULL: a regular grid.  Read by hcy_azint_plan_create(),
     * which masks pixels with a corner that is not finite. */
    const float *corners;
    char detector_file[1024]; /* the file that has them, for hcy_detector_read(), of any but a "NexusDetector" its
                               * distortion (splineFile); "" */
    int detector_is_read;     /* it was */
    int corners_orientation;  /* that `corners` are in already: what `orientation` is beyond it turns them; 0: 3 */
    double radius;            /* of a detector that is bent around the sample (Aarhus, Rapid); 0: its own */
    /* What a flat detector counts photons with: "Si", "CdTe" ..., "": not known; metres, 0: so much that it absorbs all.
     * With `parallax` pixels are moved to where the photons that they count came in. */
    char sensor_material[32];
    double sensor_thickness;
    int parallax;
    /* How large pixels with corners are, by that of one without a distortion, [height][width], as the corners lie: with
     * options.solid_angle counts are divided by it too, pyFAI's rule for distortion files.  NULL: all are 1. */
    const float *areas;
} hcy_poni;
#define HCY_PONI_INIT \
    { sizeof(hcy_poni), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, "", 0, 0, 0, "", 0, 0, NULL }

/* Read a PONI file, versions 1, 2, 2.1 and 3, to a geometry that begins with HCY_PONI_INIT.  HCY_EIO, HCY_ENOENT: the
 * file; HCY_EFORMAT: a key is missing or has no valid value (words: file, line, key); HCY_EUNSUPPORTED: a later
 * version, a goniometer's JSON, a detector that is not known, a distortion (splineFile) of one of modules. */
HCY_API int hcy_poni_read(hcy_poni *poni, const char *path) HCY_MUST_USE;
/* The same from memory; `name` stands for the file in messages. */
HCY_API int hcy_poni_parse(hcy_poni *poni, const char *text, size_t size, const char *name) HCY_MUST_USE;
/* The text of a PONI file (version 2.1; 3 where it names a sensor), 0-terminated, with *length bytes before the 0
 * (length may be NULL).  HCY_ERANGE: more than `capacity` (4096 is always enough). */
HCY_API int hcy_poni_format(char *text, size_t capacity, size_t *length, const hcy_poni *poni) HCY_MUST_USE;

/* --- Units --- */

/* A radial unit.  Static data. */
typedef struct hcy_azint_unit {
    const char *name;       /* pyFAI's, "q_nm^-1" */
    const char *label;      /* for a plot's axis, "Scattering vector q (nm^-1)" */
    const char *quantity;   /* "q" */
    const char *symbol;     /* "nm^-1" */
    int needs_wavelength;
    int needs_sample; /* it is of a fibre or of grazing incidence: options.incident_angle and so on count */
} hcy_azint_unit;
HCY_API const hcy_azint_unit *hcy_azint_unit_list(size_t *n);
/* The one of that name, of the list or "chi_deg", degrees about the beam, in which azimuth is; NULL: there is none. */
HCY_API const hcy_azint_unit *hcy_azint_unit_find(const char *name);
/* Where the pixels of a height x width image are, of pixels 0, step, 2 step ... of both axes (1: of all): `radial` in
 * `unit`, `chi` in degrees (NULL: not wanted), of the pixels' centres, each [(height + step - 1) / step]
 * [(width + step - 1) / step].  HCY_EINVAL: a geometry that is none, a NULL, a step of 0; HCY_ENOENT: the unit;
 * HCY_ENOMEM. */
HCY_API int hcy_azint_map(double *radial, double *chi, const hcy_poni *poni, size_t height, size_t width,
                          const char *unit, size_t step) HCY_MUST_USE;

/* --- Plans --- */

/* How a pixel is shared among bins: not, as a box about its centre that has all of its corners, by its outline, as a
 * box of its area in the place of its outline.  Of units that need the sample the first two alone. */
enum hcy_azint_split { HCY_SPLIT_NO = 0, HCY_SPLIT_BBOX = 1, HCY_SPLIT_FULL = 2, HCY_SPLIT_PSEUDO = 3 };
enum hcy_azint_errors {
    HCY_ERRORS_NONE = 0,
    HCY_ERRORS_POISSON = 1, /* a pixel's variance is its value, 1 at least */
    HCY_ERRORS_VARIANCE = 2, /* options.variance */
    HCY_ERRORS_AZIMUTHAL = 3, /* what the pixels of a bin show: their deviation from its mean */
    HCY_ERRORS_HYBRID = 4     /* azimuthal while outliers are clipped, Poisson's in the result */
};
/* Which pixels of a bin count, frame by frame.  A pixel that is shared among bins may count in some of them. */
enum hcy_azint_filters {
    HCY_FILTER_NONE = 0,       /* all */
    HCY_FILTER_SIGMA_CLIP = 1, /* those not too far from the mean: options.threshold, options.max_iter */
    HCY_FILTER_PERCENTILE = 2  /* those between two percentiles of the intensity: options.percentile */
};
/* When pixels with a detector's reserved values are masked, frame by frame. */
enum hcy_azint_sentinels {
    HCY_SENTINELS_OFF = 0,
    HCY_SENTINELS_AUTO = 1,  /* as pyFAI: those of the PONI's detector, unless a dummy is given */
    HCY_SENTINELS_ALWAYS = 2 /* those, with a dummy too; for a detector without any the two top values of
                                unsigned pixels and both ends of signed ones */
};

typedef struct hcy_azint_options {
    size_t size;             /* sizeof(hcy_azint_options) */
    size_t npt;              /* bins, 1 to HCY_AZINT_MAX_BINS */
    const char *unit;        /* a name of hcy_azint_unit_list() */
    int split;               /* HCY_SPLIT_* */
    int error_model;         /* HCY_ERRORS_* */
    double radial_range[2];  /* in `unit`; equal: all there is */
    double azimuth_range[2]; /* degrees (or azimuth_unit), may cross +-180, a turn at most; equal: all.  Pixels that
                              lie outside are left out: with splitting whole ones, else those whose centre does */
    const uint8_t *mask;     /* [mask_height][mask_width], non-zero: masked; NULL: none.  Read by create() */
    size_t mask_height, mask_width;
    int detector_mask;       /* the detector's own gaps too (pyFAI: where no mask is given) */
    int sentinels;           /* HCY_SENTINELS_* */
    int use_dummy;           /* pixels within delta_dummy of dummy are masked, frame by frame */
    double dummy, delta_dummy;
    int solid_angle;         /* correct for it */
    int use_polarization;
    double polarization;     /* -1 vertical, 0 circular, +1 horizontal */
    double polarization_offset; /* radians, of the polarization's axis */
    double normalization;    /* curves are divided by it */
    unsigned threads;        /* that build the plan; 0: as many as this process may use */
    /* Of each pixel, [height][width], or NULL; read by create().  Pixels are masked where flat * absorption is not
     * a positive number, the dark current not finite, the variance not finite or below 0; the bins stay where they
     * are.  The dummy is the frames' own: it masks no pixel by its flat field. */
    const float *flat, *absorption; /* what counts are divided by */
    const float *dark;              /* what is taken off counts */
    const float *variance;          /* with HCY_ERRORS_VARIANCE, and only then */
    /* Bins in azimuth, over azimuth_range or all there is: the result is an image [npt_azim][npt].  0: a curve.
     * With npt 1 it is a curve along chi.  In a range across 180 degrees angles go on beyond it. */
    size_t npt_azim;
    /* A folder where plans are kept (made if need be), or NULL: the same plan is read from there, in place of
     * being made; a new one is written.  What cannot be read or written there is done without. */
    const char *cache;
    int filter;              /* HCY_FILTER_*; clipping needs an error model */
    /* Clipping: pixels whose intensity is further from the bin's mean than `threshold` of its pixels' standard
     * deviations are left out, and mean and deviation taken anew, until none is left out or max_iter times.  The
     * threshold is raised to Chauvenet's criterion, sqrt(2 ln(n / sqrt(2 pi))) for n pixels; 0: that alone. */
    double threshold;
    uint32_t max_iter;
    /* Percentiles, 0 to 100: pixels are sorted by intensity, their norms added up.  The mean is that of the pixels
     * that the interval between both touches: where one is exactly the edge of two pixels, both of these are in.  The
     * same number twice is one pixel, or those two; 50 is the median. */
    double percentile[2];
    double saturation; /* integer pixels above it are masked, frame by frame; 0: none are for this */
    int use_underload;
    double underload; /* with it integer pixels below it are masked, frame by frame */
    /* The mean of the pixels' corrected values, each of which counts by its share in the bin alone, as pyFAI's
     * `method.unweighted`; without filters and azimuthal errors.  Sums and norms are those of weights that have the
     * pixel's norm divided out: both have the least norm as a common factor. */
    int unweighted;
    /* Where `unit` needs the sample: the other axis, in whose bins (npt_azim) and range (azimuth_range) pixels are in
     * the place of azimuth, a unit that needs it as well; NULL: "qoop_nm^-1".  Else NULL or "chi_deg". */
    const char *azimuth_unit;
    double incident_angle, tilt_angle; /* radians: of the beam onto the sample, of its horizon about the beam */
    int sample_orientation;            /* how the sample lies: 1 to 8, as EXIF has it */
    double threshold_above; /* clipping of pixels above the mean, by which `threshold` is for those below; negative: one
                               for both */
    /* The frames are parts of sums that hcy_azint_result_add() makes.  With Poisson's errors, without a filter and not
     * unweighted, the variance of their pixels is then what they count, and only the sum has that of one count a pixel
     * at least: so its errors are those of the summed image.  No part of the plan's hash. */
    int part_of_sum;
} hcy_azint_options;
#define HCY_AZINT_OPTIONS_INIT                                                                              \
    { sizeof(hcy_azint_options), 1000, "q_nm^-1", HCY_SPLIT_BBOX, HCY_ERRORS_NONE, { 0, 0 }, { 0, 0 }, NULL, \
      0, 0, 1, HCY_SENTINELS_AUTO, 0, 0, 0, 1, 0, 0, 0, 1.0, 0, NULL, NULL, NULL, NULL, 0, NULL, \
      HCY_FILTER_NONE, 5.0, 5, { 50, 50 }, 0, 0, 0, 0, NULL, 0, 0, 1, -1, 0 }

typedef struct hcy_azint_plan hcy_azint_plan;

/* The integration of height x width images.  poni and options are copied, their pointers not used afterwards.
 * HCY_EINVAL: an option, or a geometry that is no geometry (words say which); HCY_ENOENT: the unit; HCY_EUNSUPPORTED:
 * options or detectors that do not go together; HCY_ERANGE: too many pixels or bins, numbers too far apart for one
 * scale, or no pixel is left; HCY_ENOMEM. */
HCY_API int hcy_azint_plan_create(hcy_azint_plan **plan, const hcy_poni *poni, size_t height, size_t width,
                                  const hcy_azint_options *options) HCY_MUST_USE;
HCY_API hcy_azint_plan *hcy_azint_plan_retain(hcy_azint_plan *plan);
HCY_API void hcy_azint_plan_release(hcy_azint_plan *plan);

/* What a plan is.  Pointers belong to it. */
typedef struct hcy_azint_plan_info {
    size_t size;                   /* sizeof(hcy_azint_plan_info), set by the caller */
    size_t height, width, n_bins;
    size_t n_masked;               /* pixels of the static mask */
    size_t n_weights;              /* in the tables */
    size_t table_bytes;            /* of the canonical tables */
    const double *radial;          /* [n_radial] bin centres, in the unit */
    double radial_min, radial_max; /* edges of the first and the last bin */
    const hcy_azint_unit *unit;
    const char *hash;              /* 32 hexadecimal digits, of all that entered the plan */
    hcy_azint_options options;     /* those of create(), arrays NULL */
    hcy_poni poni;                 /* that of create(); detector, pixels, shape, orientation filled in */
    int has_flat, has_absorption, has_dark;
    int from_cache;                /* read, not made */
    size_t n_radial, n_azim;       /* n_azim 0: a curve; else n_bins is n_azim * n_radial */
    const double *azimuthal;       /* [n_azim] bin centres, in azimuth_unit: degrees about the beam, mostly */
    double azimuth_min, azimuth_max; /* edges of the first and the last */
    int filtered;    /* frames go through the kernel azint_filter: a filter, or azimuthal errors */
    size_t n_sums;   /* u64 of a bin in a frame's sums: HCY_AZINT_SUMS, or HCY_AZINT_FILTERED */
    double norm_scale; /* what the tables' norms are multiplied by to be those of pixels; a power of two */
    const hcy_azint_unit *azimuth_unit; /* of `azimuthal`: "chi_deg", or that of the options */
} hcy_azint_plan_info;
#define HCY_AZINT_PLAN_INFO_INIT                                                                     \
    { sizeof(hcy_azint_plan_info), 0, 0, 0, 0, 0, 0, NULL, 0, 0, NULL, NULL, HCY_AZINT_OPTIONS_INIT, \
      HCY_PONI_INIT, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 1, NULL }
/* Fills `info`, whose pointers are the plan's own.  HCY_EINVAL: NULL, or its size is none. */
HCY_API int hcy_azint_plan_get_info(hcy_azint_plan_info *info, const hcy_azint_plan *plan) HCY_MUST_USE;

/* Where the pixels are that curves of the plan are made of, [height][width] in its unit; NaN: the pixel has no part in
 * them.  poni: what the plan was made of, with its corners.  HCY_EINVAL, HCY_ENOMEM. */
HCY_API int hcy_azint_radius(float *radius, const hcy_azint_plan *plan, const hcy_poni *poni) HCY_MUST_USE;

/* The canonical tables of azint_format.h, for hcy_kernel_prepare(); they live as long as the plan. */
HCY_API void hcy_azint_plan_tables(hcy_span spans[HCY_AZINT_SPANS], const hcy_azint_plan *plan);
/* And behind them the name under which a device may keep what it prepares of them, in the folder in which the plan is
 * (hcy_azint_options.cache), or nothing: for hcy_kernel_prepare(..., spans, HCY_AZINT_SPANS_KEPT).  The CPU's tables of
 * many frames are read from there the next time, and processes share their memory. */
HCY_API void hcy_azint_plan_tables_kept(hcy_span spans[HCY_AZINT_SPANS_KEPT], const hcy_azint_plan *plan);
/* The job for frames of one pixel type (HCY_PIXEL_*): invalid values from the dummy and the sentinels,
 * a variance if it is Poisson's.  HCY_EINVAL: no such type; HCY_ERANGE: the plan filters, and its dark
 * current is too large for pixels of this type. */
HCY_API int hcy_azint_plan_job(hcy_azint_job *job, const hcy_azint_plan *plan,
                               uint32_t pixel_type) HCY_MUST_USE;

/* Sets HCY_AZINT_NARROW in the job where it holds, which halves what a device writes and hcy_azint_finish() reads: for
 * who leaves sums to the latter.  HCY_EINVAL: the job is not of hcy_azint_plan_job(). */
HCY_API int hcy_azint_plan_narrow(hcy_azint_job *job, const hcy_azint_plan *plan) HCY_MUST_USE;

/* What azint_filter gets besides, for a plan whose frames are filtered.  HCY_EINVAL: they are not. */
HCY_API int hcy_azint_plan_filter(hcy_azint_filter *filter, const hcy_azint_plan *plan) HCY_MUST_USE;

/* A plan's constant sums in one bin: the same fixed point as the LOST rows of azint_format.h. */
typedef struct hcy_azint_bin_norm {
    uint64_t count;
    uint64_t norm[2], norm2[2]; /* low, high */
} hcy_azint_bin_norm;
HCY_API const hcy_azint_bin_norm *hcy_azint_plan_norms(const hcy_azint_plan *plan); /* [n_bins] */
/* The same as numbers, norms[n_bins]: the sum_norm of a frame that loses no pixel, by a filter neither, and has no
 * normalization of its own.  Its intensity times that is its sum_signal.  HCY_EINVAL: NULL. */
HCY_API int hcy_azint_plan_get_norms(double *norms, const hcy_azint_plan *plan) HCY_MUST_USE;

/* --- Curves --- */

/* The curve of a frame, or its image over azimuth and radius, radius fastest.  Arrays of n_bins, but for the axes;
 * sigma, std and sum_variance are NULL if the plan has no error model. */
typedef struct hcy_azint_result {
    size_t n_bins;
    double *radial;       /* [n_radial] bin centres */
    double *intensity;    /* sum_signal / sum_norm; 0 in an empty bin, as are sigma and std */
    double *sigma;        /* standard error of the mean: sqrt(sum_variance) / sum_norm */
    double *std;          /* sqrt(sum_variance / sum_norm2) */
    double *sum_signal;   /* sum of c * value */
    double *sum_variance; /* sum of c^2 * variance; azimuthal: of c^2 * norm^2 * (value / norm - intensity)^2 */
    double *sum_norm;     /* sum of c * norm */
    double *sum_norm2;    /* sum of c^2 * norm^2 */
    double *count;        /* sum of c: pixels */
    size_t n_radial, n_azim; /* n_azim 0: a curve */
    double *azimuthal;       /* [n_azim] bin centres, degrees */
    uint64_t n_lost; /* pixels that were invalid in this frame alone (of a sum: in its frames); a filtered plan counts a
                        pixel once for each of its bins */
    int part_of_sum; /* options.part_of_sum holds for sum_variance: it has no least value before it is merged */
} hcy_azint_result;
HCY_API int hcy_azint_result_create(hcy_azint_result **result, const hcy_azint_plan *plan) HCY_MUST_USE;
/* One with intensity and sigma alone, a quarter of the memory and less of the time; its other arrays are NULL. */
HCY_API int hcy_azint_result_create_means(hcy_azint_result **result, const hcy_azint_plan *plan) HCY_MUST_USE;
HCY_API void hcy_azint_result_destroy(hcy_azint_result *result);

/* A frame's curve from its sums, u64[HCY_AZINT_SUMS][n_bins] (of a filtered plan u64[HCY_AZINT_FILTERED][n_bins]), and
 * its report; `job` is the one it was
 * launched with.  `normalization` is the frame's own (a monitor count; 1.0: none), beside the plan's.  The
 * same bits everywhere: each 128-bit sum is rounded to double once, to nearest even; then IEEE division,
 * multiplication and square root.  Returns the report's status if that is a failure (the result is left
 * alone); HCY_EINVAL: a normalization that is 0, infinite or NaN, a result or a job of another plan. */
HCY_API int hcy_azint_finish(hcy_azint_result *result, const hcy_azint_plan *plan, const hcy_azint_job *job,
                             const uint64_t *sums, const struct hcy_frame_report *report,
                             double normalization) HCY_MUST_USE;

/* Adds a frame's sums to `sum`, a result of the same plan that holds n frames already (0: it begins anew).
 * Frames are added unnormalized (1.0 above) and in one order: then the sum has the same bits everywhere, right to
 * the last few of a double's.  HCY_EINVAL: results of different plans, or of
 * means alone. */
HCY_API int hcy_azint_result_add(hcy_azint_result *sum, const hcy_azint_result *frame,
                                 uint64_t n) HCY_MUST_USE;
/* Turns n added frames into the curve of the image that is their sum, divided by `normalization` (the monitor's
 * counts of them all; 1.0: none).  sum_signal and sum_variance are those of all frames, norms and counts the mean
 * of theirs: a pixel that is invalid in some of the frames counts as far as it was there.  With options.part_of_sum
 * a bin's variance is that of one count a pixel at least.  Nothing can be added
 * to it after that.  HCY_EINVAL: no frame, a normalization that is 0, infinite or NaN. */
HCY_API int hcy_azint_result_merge(hcy_azint_result *sum, uint64_t n, double normalization) HCY_MUST_USE;

/* --- Sparse frames --- */

/* The pixels of a frame that stand out of their background, in the order of their index, row * width + column; with the
 * curve they are pyFAI's sparse frame. */
typedef struct hcy_sparse {
    uint64_t n;
    const uint32_t *index;  /* [n] */
    const int64_t *intensity; /* [n]: as they are stored, without corrections; of uint64 the bits of these */
    const double *real;       /* [n]: likewise, of floating-point frames, which have no `intensity`; else NULL */
} hcy_sparse;

/* --- Regions --- */

/* A region of the detector: what its pixels are in a frame, the pipeline finds beside the frame's curve, without
 * reading the frame twice.  Pixels are integers as they are stored, without corrections. */
typedef struct hcy_region {
    uint32_t x0, y0, x1, y1; /* columns x0 to x1 - 1, rows y0 to y1 - 1 */
    const uint8_t *pixels;   /* [height][width]: of these the ones that are not 0; NULL: all */
} hcy_region;
/* Valid pixels are those that are not masked in this frame alone (a dummy, the detector's sentinels, saturation: as for
 * its curve).  The same on every device.  Without a valid pixel min and max are 0; what does not fit is INT64_MAX or
 * INT64_MIN. */
typedef struct hcy_region_sums {
    int64_t sum, min, max;         /* of the valid pixels' values */
    uint64_t valid, invalid, zero; /* pixels; zeros are valid */
    uint64_t above;                /* valid ones above a limit, where there is one */
} hcy_region_sums;

#ifdef __cplusplus
}
#endif
#endif
