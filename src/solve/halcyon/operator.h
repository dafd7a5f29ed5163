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

#include <halcyon/array.h>
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
} hcy_vectors;
#define HCY_VECTORS_INIT { sizeof(hcy_vectors), NULL, NULL, NULL, 0 }

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

/* What an operator is.  The strings and the device belong to it. */
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

/* The sum of operators between the same two spaces. */
HCY_API int hcy_operator_sum(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;
/* Stacks: vectors of one axis that have the operators' elements one behind the other.  vstack: of one domain, results
 * stand one behind the other; hstack: each takes its part of the domain, results are added up; block_diagonal: each
 * takes its part and gives its part. */
HCY_API int hcy_operator_vstack(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;
HCY_API int hcy_operator_hstack(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;
HCY_API int hcy_operator_block_diagonal(hcy_operator **op, hcy_operator *const *ops, size_t n) HCY_MUST_USE;

/* --- Matrices, differences, transforms --- */

/* A matrix of one's own, an array of two axes (hcy_array_from_host() makes one of numbers in host memory), which is
 * kept: y[i] = sum over j of matrix[i, j] * x[j], added up in double. */
HCY_API int hcy_operator_matrix(hcy_operator **op, hcy_array *matrix) HCY_MUST_USE;

/* Differences of neighbours; 0 where one is missing. */
enum hcy_difference {
    HCY_DIFFERENCE_FORWARD = 1, /* x[i + 1] - x[i] */
    HCY_DIFFERENCE_BACKWARD,    /* x[i] - x[i - 1] */
    HCY_DIFFERENCE_CENTRED,     /* (x[i + 1] - x[i - 1]) / 2 */
    HCY_DIFFERENCE_SECOND       /* x[i - 1] - 2 x[i] + x[i + 1] */
};
/* Along an axis (from the last one if it is negative), times `factor`: 1 / h makes derivatives of samples h apart, of
 * the second difference 1 / h^2. */
HCY_API int hcy_operator_difference(hcy_operator **op, hcy_device *dev, const hcy_space *space, int axis, int kind,
                                    double factor) HCY_MUST_USE;
/* The sum of second differences along all axes, each times its factor; NULL: 1 each. */
HCY_API int hcy_operator_laplacian(hcy_operator **op, hcy_device *dev, const hcy_space *space,
                                   const double *factors) HCY_MUST_USE;
/* The differences along all axes; the range has an axis in front, of as many elements as the space has axes. */
HCY_API int hcy_operator_gradient(hcy_operator **op, hcy_device *dev, const hcy_space *space, int kind) HCY_MUST_USE;

/* What hcy_nufft_execute() does, in its direction: of type 2 from coefficients [modes...] to strengths [points], of
 * types 1 and 3 from strengths to coefficients; of several transforms with an axis in front, of transforms with points
 * of their own in one axis.  The adjoint is hcy_nufft_execute_adjoint().  The points are set, and stay; the plan is the
 * caller's and outlives the operator and what was submitted. */
HCY_API int hcy_operator_nufft(hcy_operator **op, hcy_nufft *plan) HCY_MUST_USE;
/* The Fourier transform of the last 1 to 3 axes, exp(-i...), of all the others; not divided by anything, so that its
 * adjoint is the inverse times the number of points.  HCY_EUNSUPPORTED: the device has none. */
HCY_API int hcy_operator_fft(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
