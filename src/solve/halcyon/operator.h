/* halcyon/operator.h - linear operators: what takes vectors of a device to others, and back by its adjoint.
 *
 * An operator A has a domain and a range, which are shapes and types of arrays, and two functions: y = A x, and
 * x = A^H y.  Both are submitted to a queue and do not wait.  The user's functions, matrices, weights, transforms and
 * whatever is made of these by sums, chains and stacks are all the same to <halcyon/solve.h>.  For example:
 *
 *     static int weigh_twice(hcy_queue *queue, hcy_array *y, hcy_array *weights, hcy_array *x, const hcy_space *space)
 *     {
 *         hcy_operator *w = NULL, *twice = NULL;
 *         int status = hcy_operator_diagonal(&w, space, weights);
 *         if (!status)
 *             status = hcy_operator_compose(&twice, (hcy_operator *[]){ w, w }, 2);
 *         if (!status)
 *             status = hcy_operator_apply(queue, y, twice, x);
 *         hcy_operator_release(twice);
 *         hcy_operator_release(w);
 *         return status;
 *     }
 *
 * Operators are reference-counted, do not change, and keep what they are made of.  They may be applied from any thread
 * and on any queue of their device; one that has memory of its own orders the queues among themselves.
 *
 * A domain of real numbers and a range of complex ones go together (an image that is known to be real): the adjoint
 * is then that of real numbers, Re<A x, y> = <x, A^H y>.
 */
#ifndef HALCYON_OPERATOR_H
#define HALCYON_OPERATOR_H

#include <halcyon/eval.h>
#include <halcyon/nufft.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_operator hcy_operator;

/* How a vector's sums are made where an array is this process's part of a vector that is distributed: operators
 * and solvers do with the part what they do with a whole array, and ask this table for what goes beyond it.  It
 * outlives the operators. */
typedef struct hcy_vectors {
    size_t size; /* sizeof(hcy_vectors) */
    /* sum = the sum of conj(x) * y over the whole vectors: one number, float64 if both are real, else complex128.
     * NULL: the array's own sum, then total(). */
    int (*dot)(hcy_queue *queue, hcy_array *sum, void *user, hcy_array *x, hcy_array *y);
    /* The one number of `sum` is added up over all parts, and stored in each. */
    int (*total)(hcy_queue *queue, hcy_array *sum, void *user);
    void *user;
    int64_t first; /* the number of the array's first element among those of the whole vector: random vectors have
                      other numbers in each part */
    int (*adds_parts)(void *user); /* not 0: dot() is the array's own sum, then total(), so that what makes the array
                                      may add it up as well.  NULL: it may where there is no dot() */
    /* hcy_eval() of a text of n < 9 operands, whose last statement writes the vector v, operand 0; then what dot()
     * makes of v and v.  NULL: dot() comes after the text. */
    int (*eval_square)(hcy_queue *queue, hcy_array *sum, void *user, const char *text, const hcy_operand *operands,
                       size_t n);
    int64_t run, skip; /* of the whole vector's elements `skip` are another part's after each `run` of the array's.  0:
                          the array has all that follow `first` */
} hcy_vectors;
#define HCY_VECTORS_INIT { sizeof(hcy_vectors), NULL, NULL, NULL, 0, NULL, NULL, 0, 0 }

/* What a vector is: float32, float64, complex64 or complex128, contiguous, of this shape. */
typedef struct hcy_space {
    int dtype, rank;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    const hcy_vectors *vectors; /* NULL: an array is the whole vector */
} hcy_space;

/* An operator that is the user's. */
typedef struct hcy_operator_desc {
    size_t size;      /* sizeof(hcy_operator_desc) */
    const char *name; /* in messages; copied.  NULL: "function" */
    hcy_space domain, range;
    /* y = A x, and x = A^H y, submitted to `queue` without waiting: a status.  The arrays have the shapes and types
     * above, lie on the device, and share no memory; they are the functions' for the call, and commands keep what they
     * use.  adjoint NULL: there is none. */
    int (*apply)(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x);
    int (*adjoint)(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y);
    void (*destroy)(void *user); /* with the last reference, in any thread; NULL: nothing is to be done */
    void *user;
} hcy_operator_desc;
#define HCY_OPERATOR_DESC_INIT \
    { sizeof(hcy_operator_desc), NULL, { 0, 0, { 0 }, NULL }, { 0, 0, { 0 }, NULL }, NULL, NULL, NULL, NULL }

/* The desc is copied, the device retained.  After a failure destroy() is not called.  HCY_EINVAL: no apply(), a shape
 * or a type that no vector has; HCY_ENOMEM. */
HCY_API int hcy_operator_create(hcy_operator **op, hcy_device *dev, const hcy_operator_desc *desc) HCY_MUST_USE;
/* One reference more (returns op), one less; NULL is fine.  What was submitted goes on. */
HCY_API hcy_operator *hcy_operator_retain(hcy_operator *op);
HCY_API void hcy_operator_release(hcy_operator *op);

/* What an operator is.  The strings and the device belong to it; the tables of a stack's vectors to it, and to all
 * operators and regularisers of such a space. */
typedef struct hcy_operator_info {
    size_t size; /* sizeof(hcy_operator_info) */
    const char *name;
    hcy_device *device;
    hcy_space domain, range;
    int has_adjoint;
} hcy_operator_info;
#define HCY_OPERATOR_INFO_INIT \
    { sizeof(hcy_operator_info), NULL, NULL, { 0, 0, { 0 }, NULL }, { 0, 0, { 0 }, NULL }, 0 }
/* *info begins with HCY_OPERATOR_INFO_INIT. */
HCY_API int hcy_operator_get_info(hcy_operator_info *info, const hcy_operator *op) HCY_MUST_USE;

/* y = A x and x = A^H y, in the queue's order; the result is overwritten.  HCY_EINVAL: another device, shape or type,
 * gaps between elements, x and y that share memory; HCY_EUNSUPPORTED: no adjoint; else what the operator returns. */
HCY_API int hcy_operator_apply(hcy_queue *queue, hcy_array *y, hcy_operator *op, hcy_array *x) HCY_MUST_USE;
HCY_API int hcy_operator_apply_adjoint(hcy_queue *queue, hcy_array *x, hcy_operator *op, hcy_array *y) HCY_MUST_USE;

/* Whether the adjoint is one: *mismatch is the largest |<A x, y> - <x, A^H y>| over the mean of |A x| |y| and
 * |x| |A^H y|, for so many pairs of random x and y (of the seed and Philox, so that a result can be had again).  Of a
 * right operator it is some units of rounding, 1e-15 in double; it is infinite if numbers are none.  Waits. */
HCY_API int hcy_operator_dot_test(double *mismatch, hcy_queue *queue, hcy_operator *op, int pairs,
                                  uint64_t seed) HCY_MUST_USE;

/* --- Simple ones --- */

HCY_API int hcy_operator_identity(hcy_operator **op, hcy_device *dev, const hcy_space *space) HCY_MUST_USE;
/* y = x of a real space as complex numbers of its precision, whose adjoint is the real part: A times it is A of images
 * that are known to be real.  HCY_EINVAL: a complex space. */
HCY_API int hcy_operator_complex(hcy_operator **op, hcy_device *dev, const hcy_space *space) HCY_MUST_USE;
/* y = weights * x; the array is kept, and is broadcast to the space's shape.  HCY_EINVAL: it does not go together, or
 * complex weights of real vectors. */
HCY_API int hcy_operator_diagonal(hcy_operator **op, const hcy_space *space, hcy_array *weights) HCY_MUST_USE;

/* --- Algebra: operators of operators, which are retained.  HCY_EINVAL: spaces or devices that do not go together. */

/* (real + imag i) A; a complex factor is for complex vectors. */
HCY_API int hcy_operator_scale(hcy_operator **op, hcy_operator *a, double real, double imag) HCY_MUST_USE;
/* A^H. */
HCY_API int hcy_operator_adjoint(hcy_operator **op, hcy_operator *a) HCY_MUST_USE;
/* ops[0] ops[1] ... ops[n - 1] x: the last is applied first.  What stands between two of them is memory of the
 * operator's, made here. */
HCY_API int hcy_operator_compose(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;
/* Vectors of as many elements in other shapes.  HCY_EINVAL: there are more or fewer. */
HCY_API int hcy_operator_reshape(hcy_operator **op, hcy_operator *a, const hcy_space *domain,
                                 const hcy_space *range) HCY_MUST_USE;

/* Sums and stacks may be of operators of several devices, each of which then has its part of the memory and of the
 * work (coils, frames; what is added up is a Gram operator, so that images travel and samples do not).  Vectors are on
 * the device of ops[0].  Each operator of another one gets a queue of that device and an operand and a result there,
 * made here; applying copies to it and back, waits for nothing, and all devices work at the same time: they wait for
 * the operand alone.  Results are added up in the order of ops, so that the bits depend on what ops are and on which
 * device, not on which is ready first.  ops[0]'s device has its own operators done in that order too: put them in
 * front.  A device that fails fails the queue, in words that name it; where it was not lost the next application, on a
 * queue that has not failed, begins with new queues.  The last release waits for the other devices.
 *
 * The sum of operators between the same two spaces. */
HCY_API int hcy_operator_sum(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;
/* Stacks: vectors of one axis that have the operators' elements one behind the other.  vstack: of one domain, results
 * stand one behind the other; hstack: each takes its part of the domain, results are added up; block_diagonal: each
 * takes its part and gives its part.  Parts may be distributed, each in its own way, and stacks themselves: sums are
 * those of the parts, added up in their order, and stacks of the same parts are the same space. */
HCY_API int hcy_operator_vstack(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;
HCY_API int hcy_operator_hstack(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;
HCY_API int hcy_operator_block_diagonal(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;

/* Number `index` of n vectors of a space, which stand along an axis in front; the adjoint leaves 0 in the others. */
HCY_API int hcy_operator_part(hcy_operator **op, hcy_device *dev, const hcy_space *space, int64_t n,
                              int64_t index) HCY_MUST_USE;

/* --- Matrices, differences, transforms --- */

/* A matrix of one's own, an array of two axes (hcy_array_from_host() makes one of numbers in host memory), which is
 * kept: y[i] = sum over j of matrix[i, j] * x[j], added up in double. */
HCY_API int hcy_operator_matrix(hcy_operator **op, hcy_array *matrix) HCY_MUST_USE;
/* Several matrices [slices][rows][columns], kept, each of which takes n columns of its own: y[s] = matrices[s] x[s],
 * from [slices][columns][n] to [slices][rows][n] (Fredholm's integral of the first kind, a slice for each frequency).
 * Numbers are added up in double, of four and more columns one product after the other: the same bits on every device.
 * Dealt out by slices it is a block diagonal, hcy_dist_operator(). */
HCY_API int hcy_operator_matrices(hcy_operator **op, hcy_array *matrices, int64_t n) HCY_MUST_USE;
/* A sparse matrix of shape[0] rows and shape[1] columns by its rows (CSR), in host memory, which is copied: row i has
 * the elements starts[i] to starts[i + 1] - 1, each in its column and with its value (of `dtype`; a complex one is two
 * numbers), in any order; several of one place add up.  starts[0] is 0, starts[shape[0]] how many there are.  Products
 * are added up in double, with the same bits on every device.  Memory there: up to three times 8 bytes and a value for
 * each element, and while it is applied one and a half values more.  HCY_EINVAL: rows that go back, columns that there
 * are not; HCY_ENOMEM. */
HCY_API int hcy_operator_sparse(hcy_operator **op, hcy_device *dev, int dtype, const int64_t shape[2],
                                const int64_t *starts, const int64_t *columns, const void *values) HCY_MUST_USE;

/* Differences of neighbours, which are derivatives times h, or h^2 if they are second ones, of numbers that are h
 * apart; 0 where a neighbour is missing.  Each operator is one pass over memory, and so is its adjoint, with the same
 * bits on every device: a sum is rounded to the vectors' own type after each step.  HCY_EUNSUPPORTED where they are
 * applied: the device has no kernel for them. */
enum hcy_difference {
    HCY_DIFFERENCE_FORWARD = 1,     /* x[i + 1] - x[i] */
    HCY_DIFFERENCE_BACKWARD,        /* x[i] - x[i - 1] */
    HCY_DIFFERENCE_CENTRED,         /* (x[i + 1] - x[i - 1]) / 2 */
    HCY_DIFFERENCE_SECOND,          /* x[i - 1] - 2 x[i] + x[i + 1] */
    HCY_DIFFERENCE_CENTRED_5,       /* (x[i - 2] - 8 x[i - 1] + 8 x[i + 1] - x[i + 2]) / 12 */
    HCY_DIFFERENCE_SECOND_FORWARD,  /* x[i] - 2 x[i + 1] + x[i + 2] */
    HCY_DIFFERENCE_SECOND_BACKWARD, /* x[i - 2] - 2 x[i - 1] + x[i] */
    HCY_DIFFERENCE_SECOND_5         /* (-x[i - 2] + 16 x[i - 1] - 30 x[i] + 16 x[i + 1] - x[i + 2]) / 12 */
};
/* Added to a kind that is centred: where it lacks neighbours stands a difference that does not.  A first one is that of
 * the first (last) two numbers at the end, and of 5 points the centred one of 3 beside it; a second one is that of the
 * first (last) three numbers at the end, and of 5 points that of 3 beside it.  Other kinds have nothing there. */
#define HCY_DIFFERENCE_EDGES 0x100

/* Along an axis (from the last one if it is negative), times `factor`: 1 / h makes derivatives of samples h apart, of
 * the second difference 1 / h^2. */
HCY_API int hcy_operator_difference(hcy_operator **op, hcy_device *dev, const hcy_space *space, int axis, int kind,
                                    double factor) HCY_MUST_USE;
/* The sum of second differences along all axes, each times its factor; NULL: 1 each. */
HCY_API int hcy_operator_laplacian(hcy_operator **op, hcy_device *dev, const hcy_space *space,
                                   const double *factors) HCY_MUST_USE;
/* The differences along all axes; the range has an axis in front, of as many elements as the space has axes. */
HCY_API int hcy_operator_gradient(hcy_operator **op, hcy_device *dev, const hcy_space *space, int kind) HCY_MUST_USE;

/* Daubechies' orthogonal wavelets with 2 (Haar), 4, 6 or 8 taps, along the last 1 to 3 axes, periodic: the adjoint is
 * the inverse.  A level takes rows 2 i + k (k below the taps, around the end) to smooth number i, in the first half of
 * an axis, and a detail, in the second; the next level is of what is smooth along all axes.  HCY_EINVAL: an axis that
 * cannot be halved as often as there are levels; HCY_EUNSUPPORTED: vectors that are distributed. */
HCY_API int hcy_operator_wavelet(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes, int taps,
                                 int levels) HCY_MUST_USE;

/* Any of these, and parts of them: some rows (elements of the first axis) of a result, made of these rows of the
 * operand and of some before and after, as a process has them that holds a part of a vector. */
typedef struct hcy_differences_desc {
    size_t size;                        /* sizeof(hcy_differences_desc) */
    hcy_space space;                    /* of the whole vectors */
    int kinds[HCY_ARRAY_MAX_RANK];      /* of each axis; 0: none */
    double factors[HCY_ARRAY_MAX_RANK];
    int apart;      /* the axes' differences one behind the other along an axis in front (gradient); 0: their sum */
    int transposed; /* the adjoint of that instead: its range and domain are the other's domain and range */
    int64_t first, rows;   /* the rows of the result from `first` on; rows below 0: all that follow */
    int64_t before, after; /* rows that the operand has before and behind these */
} hcy_differences_desc;
#define HCY_DIFFERENCES_DESC_INIT \
    { sizeof(hcy_differences_desc), { 0, 0, { 0 }, NULL }, { 0 }, { 0 }, 0, 0, 0, -1, 0, 0 }
/* With all rows the operator has an adjoint.  That of a part is made of parts of the adjoint: `transposed`, whose
 * operand has rows before and after, too.  HCY_EINVAL: no kind, rows that are not there, no axis, or rows before or
 * after that are missing (hcy_differences_reach()). */
HCY_API int hcy_operator_differences(hcy_operator **op, hcy_device *dev,
                                     const hcy_differences_desc *desc) HCY_MUST_USE;
/* How many rows before and after its own the operand of a part needs, 0 to 2 each; what desc says of them is not
 * looked at. */
HCY_API int hcy_differences_reach(int64_t *before, int64_t *after,
                                  const hcy_differences_desc *desc) HCY_MUST_USE;
/* Rows [first, end) of y = A x alone, A made by one of these functions and y all of it: what needs no rows of others
 * may be computed while these are under way, and the rest then.  They count from y's own first row (that of each
 * axis's part where these are apart).  HCY_EINVAL: no such operator, rows that y has not. */
HCY_API int hcy_operator_apply_rows(hcy_queue *queue, hcy_array *y, hcy_operator *op, hcy_array *x,
                                    int64_t first, int64_t end) HCY_MUST_USE;

/* What hcy_nufft_execute() does, in its direction: of type 2 from coefficients [modes...] to strengths [points], of
 * types 1 and 3 from strengths to coefficients; of several transforms with an axis in front, of transforms with points
 * of their own in one axis.  The adjoint is hcy_nufft_execute_adjoint().  The points are set, and stay (where there
 * are more or fewer of them now, it is HCY_EINVAL); the plan is the caller's and outlives the operator and what was
 * submitted. */
HCY_API int hcy_operator_nufft(hcy_operator **op, hcy_nufft *plan) HCY_MUST_USE;
/* The Fourier transform of the last 1 to 3 axes, exp(-i...), of all the others; not divided by anything, so that its
 * adjoint is the inverse times the number of points.  HCY_EUNSUPPORTED: the device has none. */
HCY_API int hcy_operator_fft(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes) HCY_MUST_USE;
/* The same of real vectors, to half of the frequencies: of n numbers along the last axis n/2+1, of which those that
 * stand for their conjugates, too, are multiplied by the square root of 2 (as PyLops' real=True): norms are those of
 * the whole transform, and the adjoint is the inverse times the number of points.  HCY_EUNSUPPORTED: vectors that are
 * distributed (hcy_dist_fft_real()), too. */
HCY_API int hcy_operator_fft_real(hcy_operator **op, hcy_device *dev, const hcy_space *space,
                                  int n_axes) HCY_MUST_USE;

/* --- Magnetic resonance: coils --- */

/* SENSE: what several coils receive of an image [modes...], weights[k, j] * sum over x of exp(...) maps[k, x] image[x],
 * as samples [coils][points], at the points of a plan of type 2 (of type 1: its adjoint, whose sign is the opposite
 * one).  maps: complex numbers of the plan's precision, [coils][modes...], contiguous, on its device; weights: an array
 * that is broadcast to the samples, or NULL: 1.  The square roots of a density's weights make least squares weighted by
 * these.  Both arrays are kept; plan and points as hcy_operator_nufft() has them.
 *
 * Points are sorted once for all coils, and as many coils go at once as the plan takes (n_transforms and max_batch):
 * the operator has memory for so many images, with weights for so many samples too; an execution's grids are the
 * plan's.
 * HCY_EINVAL: shapes, types or devices that do not go together; HCY_EUNSUPPORTED: a plan of type 3, transforms with
 * points of their own. */
HCY_API int hcy_operator_sense(hcy_operator **op, hcy_nufft *plan, hcy_array *maps, hcy_array *weights) HCY_MUST_USE;

/* The same where the points lie in planes, each with those of the plan (a stack of stars, or of spirals): an FFT along
 * the image's axis `axis`, of `slices` elements, and of each plane a transform of the others, which are the plan's one
 * or two.  The planes' coordinates along the axis are 2 pi planes[i] / slices; n_planes of them, none there twice, even
 * around the circle.  NULL: all, from -(slices / 2) on.  From images to samples [coils][planes * points], the points of
 * a plane one behind the other; maps are [coils][image], kept, or NULL: one coil that receives the image as it is.
 * Weights are hcy_operator_diagonal()'s.  Memory: images and planes of as many coils as have all their planes in one
 * execution of the plan (n_transforms), of one at least.  HCY_EINVAL, HCY_EUNSUPPORTED: as above, a device without FFT;
 * HCY_ERANGE. */
HCY_API int hcy_operator_stacked_nufft(hcy_operator **op, hcy_nufft *plan, int axis, int64_t slices,
                                       const int64_t *planes, int64_t n_planes, hcy_array *maps) HCY_MUST_USE;

/* The Gram operator of SENSE, A^H W A on images [modes...], without points: a convolution, by Fourier transforms of
 * twice the modes (Toeplitz).  desc is that of a plan for images (type 1 or 2, precision, modes, sign, eps), points are
 * as hcy_nufft_set_points() has them, in host memory; maps as above, or NULL: the NUFFT alone; weights: W's, float32 or
 * float64 [points] on the device, or NULL: 1 (A with their square roots as weights has this Gram operator).  Points and
 * weights are only read here, by a queue of its own: what makes the weights must be over (hcy_queue_finish()).  The
 * maps are kept.  It is for hcy_solver's CG, whose b is A^H W y.
 *
 * MEMORY.  With g numbers on a grid of the least even sizes m with factors 2, 3 and 5 from 2 modes - 1 on: 4 g bytes in
 * float, and what coils work in, as many at once as fit 256 MB, at least one.  On GPUs, whose kernel leaves zeros out,
 * 8 modes[0] modes[1] m2 bytes each, a quarter of the grid, and 34 MB or a little more for all in 3-D, 8 modes[0] m1 in
 * 2-D; elsewhere, and where lines do not fit a GPU's local memory, the grid, 8 g bytes, and what the FFT works in.  In
 * double twice that.  Made with it is a transform of type 1 with g modes, whose memory is given back.
 *
 * Waits when it is made.  HCY_EINVAL: what does not go together; HCY_EUNSUPPORTED: type 3, a device without FFT. */
HCY_API int hcy_operator_toeplitz(hcy_operator **op, hcy_device *dev, const hcy_nufft_desc *desc, int64_t n_points,
                                  const void *const *points, hcy_array *maps, hcy_array *weights) HCY_MUST_USE;

/* Images that change with time as a few functions do: a, an operator from an image to samples [..., n], and basis, an
 * array [functions][frames], real or complex as the samples are, which is kept.  From the functions' coefficients
 * [functions][image] to the samples of frames that come one behind the other, n / frames of each: the sum over k of
 * basis[k, frame of the sample] (a x[k]).  a and its adjoint are applied once for each function; memory for its
 * samples.  HCY_EINVAL: what does not go together, frames that do not divide n; HCY_ESTATE: a basis with gaps that
 * cannot be viewed otherwise; HCY_EUNSUPPORTED: vectors that are distributed. */
HCY_API int hcy_operator_subspace(hcy_operator **op, hcy_operator *a, hcy_array *basis) HCY_MUST_USE;

/* The Gram operator A^H W A of that around SENSE or a NUFFT, on images [functions][modes...], without points: of K
 * functions, K Fourier transforms of twice the modes and K back for each coil, and between them K x K products with
 * K (K + 1) / 2 spectra.  Points and weights are those of all frames, one behind the other, as many for each; basis is
 * float32, float64, complex64 or complex128, and only read here, as they are.  All else is hcy_operator_toeplitz()'s.
 *
 * MEMORY.  With g as there: 8 g bytes in float for each spectrum, 4 g where the basis is real; 8 g for each function,
 * and once more; what the FFTs work in.  In double twice that.  HCY_EINVAL: a basis that is none of the points'. */
HCY_API int hcy_operator_toeplitz_subspace(hcy_operator **op, hcy_device *dev, const hcy_nufft_desc *desc,
                                           int64_t n_points, const void *const *points, hcy_array *maps,
                                           hcy_array *weights, hcy_array *basis) HCY_MUST_USE;

/* A field that is off: a, an operator from images to samples [..., points] (a NUFFT's or SENSE's), whose exponent gets
 * -i field[x] times[j].  field: float32 or float64, radians a second, of the image's shape; or complex64 or complex128
 * where the signal decays, too: R2* + i w, both 1/s, whose exponent is -field[x] times[j].  times: float32 or float64,
 * seconds, one for each of the samples' last axis.  exp(-i w t) is approximated by 1 to 64 segments of time, least
 * squares over the field's histogram; *error (may be NULL): the largest error of that, of any time and bin.  a and its
 * adjoint are applied once for each segment.  Keeps a and field, and segments * points factors; has memory for an image
 * and samples.  Waits when it is made, but for no other queue: field and times must have been written.  HCY_EINVAL:
 * what does not go together, numbers that are none, rates by which a signal would grow more than by exp(30). */
HCY_API int hcy_operator_off_resonance(hcy_operator **op, double *error, hcy_operator *a, hcy_array *field,
                                       hcy_array *times, int segments) HCY_MUST_USE;
/* The same by 1 to 64 segments of frequencies (multifrequency interpolation), least squares over the times: samples of
 * exp(-i w t) at frequencies evenly over the field's, weighted in each place.  As many are about as good, to 1e-7 of
 * the signal; *error: the largest of any bin of the field and of 257 times.  Keeps a weight for each segment and number
 * of the image, complex, besides.  Its Gram operator needs fewest convolutions (hcy_operator_toeplitz_field).
 * HCY_EUNSUPPORTED: images of more than 6 axes. */
HCY_API int hcy_operator_multifrequency(hcy_operator **op, double *error, hcy_operator *a, hcy_array *field,
                                        hcy_array *times, int segments) HCY_MUST_USE;
/* The Gram operator A^H W A of such an operator on images [modes...], without points: of L segments, L Fourier
 * transforms of twice the modes and L back for each coil, and between them L x L products with spectra: L of them are
 * kept of segments of frequencies, L (L + 1) / 2 of segments of time.  in_field is the operator in the field, whose
 * segments are taken, so that the result is its own Gram operator to eps; what it is around does not matter, and it may
 * be released.  All else is hcy_operator_toeplitz()'s: the NUFFT is that of desc and points, and has the times and the
 * field of in_field.  Where in_field is hcy_operator_subspace()'s around such an operator, so is the result, on images
 * [functions][modes...]: of K functions that many times as many transforms, and between them K L x K L products, with
 * K L + K (K - 1) / 2 (2 L - 1) spectra of frequencies or K L (K L + 1) / 2 of time.
 *
 * MEMORY.  With g as there: 8 g bytes in float for each spectrum, each segment, and one more; what the FFTs work in.
 * HCY_EINVAL: another operator, a field or times that are not those of desc and points. */
HCY_API int hcy_operator_toeplitz_field(hcy_operator **op, hcy_operator *in_field, const hcy_nufft_desc *desc,
                                        int64_t n_points, const void *const *points, hcy_array *maps,
                                        hcy_array *weights) HCY_MUST_USE;
/* Of an operator in a field |A m - d|^2 / 2, one float64, and its gradients in the image m, the data d and the field,
 * each of the shape and type of m, d and field (of the vectors' real type, or with decay their own: the gradient in R2*
 * and i times that in w); NULL: is not wanted.  They are g of the change Re<g, dm>, and exact ones of what is computed,
 * to rounding, where the factors of the segments are constants: those of the field as it was when the operator was
 * made.  Costs A, and A^H once for image and field together.  Makes memory for samples; does not wait.  HCY_EINVAL:
 * another operator, arrays of other shapes, types or devices, with gaps, or that share memory; HCY_EUNSUPPORTED: no
 * adjoint, a gradient in the field of segments of frequencies. */
HCY_API int hcy_off_resonance_gradient(hcy_queue *queue, hcy_array *value, hcy_array *of_image, hcy_array *of_samples,
                                       hcy_array *of_field, hcy_operator *op, hcy_array *image,
                                       hcy_array *data) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
