/* halcyon/nufft.h - non-uniform fast Fourier transforms of types 1, 2 and 3 in one to three dimensions.
 *
 * For example:
 *
 *     hcy_nufft *plan;
 *     hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;        // double, type 1, sign +1, one vector, eps 1e-6
 *     const void *points[2] = { x, y };
 *     desc.dim = 2;
 *     desc.modes[0] = desc.modes[1] = 128;
 *     hcy_nufft_create(&plan, device, &desc, NULL);     // once for a size and an accuracy
 *     hcy_nufft_set_points(plan, n, points, 0, NULL);   // once for a set of points
 *     hcy_nufft_execute(plan, strengths, coefficients); // as often as there are data
 *     hcy_nufft_destroy(plan);
 *
 * With points x_j, strengths c_j, modes k and their coefficients f_k (or frequencies s_k):
 *
 *     type 1   f_k = sum over j of c_j exp(sign i k x_j)      nonuniform to uniform, the adjoint of
 *     type 2   c_j = sum over k of f_k exp(sign i k x_j)      uniform to nonuniform
 *     type 3   f_k = sum over j of c_j exp(sign i s_k x_j)    nonuniform to nonuniform
 *
 * CONVENTIONS. Nothing is divided by anything. x is in radians, of period 2 pi, and may lie anywhere; k x
 * is the scalar product over the axes.  Axis 0 is the slowest of the array of coefficients, the last axis
 * the fastest (C order), and points are given in the order of the axes.  Modes of an axis with n of them are
 * k = -(n/2) ... (n-1)/2 with n/2 rounded down. FINUFFT's x, y, z are the last, the middle and the first
 * axis here, and all else is the same; PyNUFFT's forward is type 2 with sign -1, its adjoint is type 1 with
 * sign +1 divided by the product of its Kd, and for odd n its modes are half an integer off.
 *
 * ACCURACY. eps is the error wanted, relative in the 2-norm.  The error stays below 2 eps for eps from 1e-1 to 1e-12
 * in double, and below 5 eps down to 1e-5 in float.  An upsampling that the user asks for may be too coarse for eps
 * (1.25: tested to 1e-8, refused from about 1e-10 on): HCY_ERANGE, unless the width is given too.  Where the result is
 * small because its terms cancel (all points at one place, a sum near 0 there), eps is relative to the 2-norm of the
 * terms.  Coordinates are folded to one period in double for float data too.  Rounding sets a floor: 1e-6 in float, in
 * double 1e-14 or, if that is more, |x| k 2^-53, which is 3.5e-16 for each mode of the longest axis times the periods
 * that points are away, 1 at least (3.5e-10 with 10^6 modes).
 *
 * THREADS. One plan may be executed by several threads at once, each execution has working memory of its
 * own; setting points needs the plan for itself.  Any number of plans, on any devices, live side by side.
 * Failures are described in hcy_last_error(). A plan that was destroyed is HCY_EINVAL to every call, if the
 * library was built without NDEBUG.
 */
#ifndef HALCYON_NUFFT_H
#define HALCYON_NUFFT_H

#include <halcyon/fft.h>
#include <halcyon/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_nufft hcy_nufft;

enum hcy_nufft_order {
    HCY_NUFFT_CENTRED = 0,   /* k from the most negative up */
    HCY_NUFFT_ZERO_FIRST = 1 /* k from 0 up, then from the most negative up: an FFT's order */
};

enum hcy_nufft_method {
    HCY_NUFFT_AUTO = 0,  /* whatever is cheaper; a grid where anything about it is asked for, and for buffers */
    HCY_NUFFT_GRID = 1,  /* spreading and an FFT */
    HCY_NUFFT_DIRECT = 2 /* the sum itself, on the host in double: small problems; the same bits on every device */
};

/* Whose bits are the same, whatever order points come in. */
enum hcy_nufft_deterministic {
    HCY_NUFFT_SAME_RUNS = 1, /* of every run on a device, for any number of threads; not of points in pieces, nor of
                              * those that several devices share, whose order counts */
    /* Of every device too, processors with any instructions and GPUs; on one host, whose library has the sines and
     * cosines.  One window, one grid whatever the device, sums of integers that keep 62 bits less those of the
     * number of points, of the largest strength of a vector; a Fourier transform of our own everywhere.  A result
     * that is no number is one everywhere, of any bits.  Points are never taken in pieces (HCY_ENOMEM); shared out to
     * several devices (hcy_nufft_split), the bits are those of so many devices.  A device that lacks a kernel is
     * HCY_EUNSUPPORTED, as is, but for the CPU, a grid with prime factors above 7. */
    HCY_NUFFT_SAME_EVERYWHERE = 2
};

/* What a transform is. */
typedef struct hcy_nufft_desc {
    size_t size;          /* sizeof(hcy_nufft_desc) */
    int type;             /* 1, 2, 3 */
    int precision;        /* HCY_F64 or HCY_F32: of points, strengths and coefficients */
    int dim;              /* 1 to 3 */
    int64_t modes[3];     /* of `dim` axes, above 0; ignored for type 3 */
    int sign;             /* of the exponent: any number counts by its sign, 0 as +1 */
    int64_t n_transforms; /* vectors at a time, above 0, which share their points */
    double eps;           /* the error wanted, above 0 */
} hcy_nufft_desc;
#define HCY_NUFFT_DESC_INIT { sizeof(hcy_nufft_desc), 1, HCY_F64, 1, { 1, 1, 1 }, 1, 1, 1e-6 }

/* How it is done. */
typedef struct hcy_nufft_options {
    size_t size;        /* sizeof(hcy_nufft_options) */
    double upsampling;  /* fine grid over modes, above 1 to 8; 0: whatever is fastest, 1.25 to 2 */
    unsigned width;     /* of the window, in cells, 2 to 16 (PyNUFFT's Jd); 0: what eps needs */
    size_t grid[3];     /* the fine grid outright (PyNUFFT's Kd), whose upsampling it is then; or 0; not for type 3 */
    int order;          /* HCY_NUFFT_CENTRED ... */
    int deterministic;  /* HCY_NUFFT_SAME_RUNS, HCY_NUFFT_SAME_EVERYWHERE, or 0; all else is HCY_EINVAL */
    int check_points;   /* set_points refuses coordinates that are no number, infinite, or beyond 2^40 periods; without,
                         * they count as 0.  Type 3 refuses what is no number or infinite in any case */
    int separate_fft;   /* the device's general FFT in place of one made for these transforms */
    size_t max_batch;   /* vectors transformed at once, of memory for as many grids; 0: a few, or of few points on a
                         * large grid as many as 512 MB of grids, at least one */
    int method;         /* HCY_NUFFT_AUTO ..., for executions from host memory */
    size_t memory;      /* of the device, in bytes, for points and transforms together; 0: what is free there. More
                         * points than fit, from host memory, are taken in pieces */
} hcy_nufft_options;
#define HCY_NUFFT_OPTIONS_INIT \
    { sizeof(hcy_nufft_options), 0, 0, { 0, 0, 0 }, 0, 0, 1, 0, 0, HCY_NUFFT_AUTO, 0 }

/* desc and opts are copied; opts may be NULL.  How many threads there are is the device's (cpu@threads=4), and points
 * are always sorted.  The device is retained.  HCY_EINVAL: what desc or opts say; HCY_ERANGE: eps below the precision's
 * reach (2.2e-16, 1.2e-7) or that of the upsampling given, sizes beyond what can be addressed; HCY_EUNSUPPORTED: the
 * device lacks a kernel that this type takes (it is named), or an FFT; HCY_ENOMEM. */
HCY_API int hcy_nufft_create(hcy_nufft **plan, hcy_device *dev, const hcy_nufft_desc *desc,
                             const hcy_nufft_options *opts) HCY_MUST_USE;
HCY_API void hcy_nufft_destroy(hcy_nufft *plan); /* NULL is fine; nobody else may be using it */

/* points[axis][n_points], reals of the plan's precision in host memory, and for type 3
 * targets[axis][n_targets], the frequencies s; they are read here and may go afterwards.  The fine grid is
 * chosen here. n_points may be 0. HCY_EINVAL: a negative number, a pointer that is NULL, a coordinate that
 * is no number (its index in the words); HCY_ERANGE: more than 2^32 - 65 points, or a type 3 that needs too
 * large a grid, but for HCY_NUFFT_DIRECT (whose executions on queues then are HCY_ERANGE); HCY_ENOMEM. */
HCY_API int hcy_nufft_set_points(hcy_nufft *plan, int64_t n_points, const void *const *points, int64_t n_targets,
                                 const void *const *targets) HCY_MUST_USE;

/* The same, types 1 and 2, from buffers of the plan's device, points[axis]; what writes to them must be done.  Without
 * check_points nothing is waited for: transforms wait for the sort, and until one has run the buffers must stay as they
 * are; a failure of the sort is the transform's. */
HCY_API int hcy_nufft_set_point_buffers(hcy_nufft *plan, int64_t n_points, hcy_buffer *const *points) HCY_MUST_USE;
/* Points of each transform's own: n_points[transform], points[transform * dim + axis][number], and for type 3
 * the targets likewise. Strengths are then those of one transform behind those of the other, and so are
 * coefficients; all transforms of type 1 or 2 have one grid; else all is as above. */
HCY_API int hcy_nufft_set_points_each(hcy_nufft *plan, const int64_t *n_points, const void *const *points,
                                      const int64_t *n_targets, const void *const *targets) HCY_MUST_USE;

/* Strengths c are complex [n_transforms][n_points], coefficients f complex [n_transforms][modes...] or
 * [n_transforms][n_targets], in host memory.  Types 1 and 3 write f, type 2 writes c. HCY_ESTATE: no points
 * yet. */
HCY_API int hcy_nufft_execute(hcy_nufft *plan, void *c, void *f) HCY_MUST_USE;
/* The adjoint: types 1 and 3 read f and write c, type 2 reads c and writes f; the sign is the opposite one.
 * HCY_EUNSUPPORTED: the device has what the plan takes, but not what this does. */
HCY_API int hcy_nufft_execute_adjoint(hcy_nufft *plan, void *c, void *f) HCY_MUST_USE;

/* The same on a queue of the plan's device, from and to its buffers: asynchronous, in order.  The plan must live until
 * the queue has passed it.  Its working memory stays with it for what this queue is given next, until another queue,
 * other points or its end, with a reference on the queue: any number of transforms submitted ahead need one grid, which
 * an idle plan has still.  HCY_EINVAL: no queue, one of another device, buffers that are too small or, on GPUs,
 * begin within a complex number; HCY_ENOMEM: also for points that go to the device in pieces. */
HCY_API int hcy_nufft_submit(hcy_queue *queue, hcy_nufft *plan, hcy_buffer *c, hcy_buffer *f,
                             int adjoint) HCY_MUST_USE;

/* One stage of a plan of type 1 or 2 alone, on a queue as above; what the whole is made of:
 *     type 1 is HCY_NUFFT_SPREAD, HCY_NUFFT_TO_MODES;  type 2 is HCY_NUFFT_TO_GRID, HCY_NUFFT_INTERPOLATE.
 * Grids are complex [n_transforms][grid...], of hcy_nufft_info's sizes, not transformed after SPREAD and
 * before INTERPOLATE. TO_MODES and TO_GRID transform and divide by the window's transform; their sign is
 * the plan's where the plan's type has that stage, else the opposite (they are its adjoint's). `from` is
 * kept.  HCY_EUNSUPPORTED: type 3; HCY_ENOMEM: points that go to the device in pieces (hcy_nufft_info's pieces). */
enum hcy_nufft_stage {
    HCY_NUFFT_SPREAD = 1,      /* strengths to grid */
    HCY_NUFFT_INTERPOLATE = 2, /* grid to strengths */
    HCY_NUFFT_TO_MODES = 3,    /* grid to coefficients */
    HCY_NUFFT_TO_GRID = 4      /* coefficients to grid */
};
HCY_API int hcy_nufft_submit_stage(hcy_queue *queue, hcy_buffer *to, hcy_nufft *plan, int stage,
                                   hcy_buffer *from) HCY_MUST_USE;
/* The same from and to host memory, done on return. */
HCY_API int hcy_nufft_execute_stage(void *to, hcy_nufft *plan, int stage, const void *from) HCY_MUST_USE;
/* The self-adjoint operator: coefficients to points and back to coefficients, of a plan of type 1 or 2; `to`
 * may be `from`. */
HCY_API int hcy_nufft_submit_self_adjoint(hcy_queue *queue, hcy_buffer *to, hcy_nufft *plan,
                                          hcy_buffer *from) HCY_MUST_USE;

/* Makes a plan, sets its points, executes it and destroys it, with the options' defaults. */
HCY_API int hcy_nufft_run(hcy_device *dev, const hcy_nufft_desc *desc, int64_t n_points, const void *const *points,
                          int64_t n_targets, const void *const *targets, void *c, void *f) HCY_MUST_USE;

/* One transform on several devices, which may be of different kinds: arguments and arrays are those of a plan, in
 * host memory. With as many vectors as devices, devices take vectors, whoever is free (with opts->deterministic: the
 * same ones always); with fewer, points are shared out in proportion to how fast each device was with the last ones
 * (with opts->deterministic: evenly), which set_points looks at, and measures when nothing is known. One call at a
 * time. */
typedef struct hcy_nufft_split hcy_nufft_split;
#define HCY_NUFFT_MAX_DEVICES 64
HCY_API int hcy_nufft_split_create(hcy_nufft_split **split, hcy_device *const *devices, size_t n_devices,
                                   const hcy_nufft_desc *desc, const hcy_nufft_options *opts) HCY_MUST_USE;
HCY_API void hcy_nufft_split_destroy(hcy_nufft_split *split); /* NULL is fine */
HCY_API int hcy_nufft_split_set_points(hcy_nufft_split *split, int64_t n_points, const void *const *points,
                                       int64_t n_targets, const void *const *targets) HCY_MUST_USE;
HCY_API int hcy_nufft_split_execute(hcy_nufft_split *split, void *c, void *f, int adjoint) HCY_MUST_USE;
/* How many points a device has (all of them where vectors are shared out), and how many a second it was last measured
 * to do, 0 if it was not; either may be NULL. */
HCY_API int hcy_nufft_split_share(size_t *n_points, double *speed, const hcy_nufft_split *split,
                                  size_t device) HCY_MUST_USE;

/* What a plan has chosen; sizes of the fine grid are 0 before the points are known, and of a type 3 without
 * points or targets. */
typedef struct hcy_nufft_info {
    size_t size;          /* sizeof(hcy_nufft_info), set by the caller */
    int type, dim, precision;
    unsigned width;
    size_t grid[3];
    double upsampling;
    size_t point_bytes;   /* device memory for the points, */
    size_t grid_bytes;    /* and for the grids of one execution */
    const char *variant;  /* of the device's kernels: "avx512"; belongs to the plan */
    int direct;           /* executions from host memory are direct sums; the rest is what stages have */
    size_t pieces;        /* in which points go to the device: 1, if they fit */
} hcy_nufft_info;
#define HCY_NUFFT_INFO_INIT { sizeof(hcy_nufft_info), 0, 0, 0, 0, { 0, 0, 0 }, 0, 0, 0, NULL, 0, 1 }
/* Fills `info`.  HCY_EINVAL: NULL, or its size is none. */
HCY_API int hcy_nufft_get_info(hcy_nufft_info *info, const hcy_nufft *plan) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
