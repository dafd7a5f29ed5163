/* operator_priv.h - an operator, as src/solve sees it; memory of operators, and whose turn it is to use that. */
#ifndef HCY_OPERATOR_PRIV_H
#define HCY_OPERATOR_PRIV_H

#include "array_priv.h"
#include "stencil_format.h"

#include <halcyon/fft.h>
#include <halcyon/operator.h>
#include <pthread.h>

/* q = A p, g = A^H m and s = A^H (by q), `by` being one float64, in one go, where that costs less than three products:
 * the same bits. */
typedef int hcy__twice_function(hcy_queue *queue, hcy_array *q, hcy_array *g, hcy_array *s, void *user, hcy_array *p,
                                hcy_array *m, hcy_array *by);

/* Operands of a text with its square (hcy_vectors.eval_square) that go with it in one launch. */
enum { HCY__SQUARE_OPERANDS = 8 };

struct hcy_operator {
    atomic_uint refs;
    hcy_device *dev;
    hcy_operator_desc desc; /* its name is this operator's own */
    const hcy_vectors *kept[2]; /* hcy__vectors_retain() of domain and range */
    hcy__twice_function *twice; /* NULL: it has none.  Set where the operator is made */
};

/* Memory that an operator has for one application at a time.  Whoever submits holds the lock; another queue than the
 * last one waits for that, so that queues do not overwrite each other's numbers. */
struct hcy__turn {
    pthread_mutex_t lock;
    hcy_queue *last; /* a reference, so that no new queue has its address */
};
void hcy__turn_init(struct hcy__turn *turn);
/* After a failure too the turn is to be given back. */
int hcy__turn_take(struct hcy__turn *turn, hcy_queue *queue);
void hcy__turn_give(struct hcy__turn *turn);
void hcy__turn_end(struct hcy__turn *turn);

/* HCY_EINVAL: no type or shape of vectors, in the words of `what`. */
int hcy__space_check(const hcy_space *space, const char *what);
int64_t hcy__space_count(const hcy_space *space);
bool hcy__space_same(const hcy_space *a, const hcy_space *b);
/* stack_space.c.  The table of a stack, with one reference more, to be released; of others, which are their makers' and
 * may go before an operator does, NULL. */
const hcy_vectors *hcy__vectors_retain(const hcy_vectors *vectors);
void hcy__vectors_release(const hcy_vectors *kept);
bool hcy__vectors_same(const hcy_vectors *a, const hcy_vectors *b);
bool hcy__space_is_complex(const hcy_space *space);
/* Whether its numbers are floats, or pairs of these. */
bool hcy__is_single(const hcy_space *space);
/* "complex64 (3, 4)" */
const char *hcy__space_text(char text[240], const hcy_space *space);
/* A vector of it, undefined. */
int hcy__space_vector(hcy_array **vector, hcy_device *dev, const hcy_space *space);
/* Elements from `first` on of a contiguous vector, in a space's shape. */
int hcy__vector_part(hcy_array **part, const hcy_array *vector, int64_t first, const hcy_space *space);
/* Rows `first` to `first + count` of an array along an axis. */
int hcy__vector_rows(hcy_array **rows, const hcy_array *a, int axis, int64_t first, int64_t count);
/* Differences of a part of the whole vectors, as two launches: of a box inside, which needs no ghosts, and of what is
 * left around it (stencil_format.h). */
struct hcy__stencil_part {
    hcy_stencil_job inner, faces; /* their operands begin at 0 */
    hcy_stencil_faces around[HCY_STENCIL_AXES];
    bool has_inner, has_faces;
    int width; /* reals of a number */
};
/* Along an axis: rows of ghosts before and behind the part, and which number is the first one's. */
struct hcy__stencil_ghosts {
    int64_t before, after, place;
};
/* size[d] elements from first[d] on along axis d. */
int hcy__stencil_part_set(struct hcy__stencil_part *part, const hcy_differences_desc *whole, const int64_t *first,
                          const int64_t *size, const struct hcy__stencil_ghosts *ghosts);
/* Either of the part's y = A x, unchecked: x and y are contiguous, of one shape but for an axis in front of the one
 * that is apart; ghosts are numbers one behind the other. */
int hcy__stencil_inner(hcy_queue *queue, hcy_array *y, const struct hcy__stencil_part *part, hcy_array *x);
int hcy__stencil_faces(hcy_queue *queue, hcy_array *y, const struct hcy__stencil_part *part, hcy_array *x,
                       hcy_array *ghosts);
/* Neighbours along an axis, before and behind, that an element of the result needs at most. */
void hcy__stencil_reach_of(int64_t reach[2], const hcy_differences_desc *whole, int axis);
/* Differences along the last axes; messages name the function. */
int hcy__gradient_of(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes, int kind,
                     const char *function);

/* The buffer that begins with a contiguous vector's first element: a new reference, or NULL of an empty one. */
int hcy__vector_buffer(hcy_buffer **buffer, const hcy_array *vector);
/* A plan's transform between two vectors, with its working memory (NULL: it needs none). */
int hcy__operator_submit_fft(hcy_queue *queue, hcy_array *to, hcy_fft *plan, int direction, hcy_array *from,
                             hcy_buffer *work);

/* transform.c: the first n vectors of a NUFFT's, strengths c and coefficients f. */
int hcy__operator_submit_nufft(hcy_queue *queue, hcy_nufft *plan, hcy_array *c, hcy_array *f, size_t n,
                               bool adjoint);

/* Coefficients of one transform of a plan of type 1 or 2: [modes...]. */
hcy_space hcy__operator_image(const hcy_nufft *plan);
/* HCY_EINVAL, HCY_ESTATE, HCY_EUNSUPPORTED, naming the function: a plan that is none, has no points, is of type 3, or
 * whose transforms have points of their own. */
int hcy__operator_check_plan(const hcy_nufft *plan, const char *function);

/* "float32" for complex64 and float32, "float64" for the others. */
const char *hcy__real_name(int dtype);
/* Operators that are given: there, of one device unless `any_device`.  HCY_EINVAL, naming the function. */
int hcy__operators_check(hcy_operator *const *ops, size_t n, bool any_device, const char *function);
/* One of src/solve's own: `desc` with its user data, which go to destroy() on failure too. */
int hcy__operator_make(hcy_operator **op, hcy_device *dev, const hcy_operator_desc *desc);
/* HCY_EINVAL: no vector of the space on the operator's device; `what` it is called in the words. */
int hcy__operator_check_vector(const hcy_array *a, const hcy_operator *op, const hcy_space *space,
                               const char *what);
/* Whether contiguous vectors overlap. */
bool hcy__operator_shares_memory(const hcy_array *a, const hcy_array *b);
/* Whether y = A x, or y = A^H x, can be submitted. */
int hcy__operator_check(hcy_queue *queue, const hcy_array *y, const hcy_operator *op, const hcy_array *x, bool adjoint);
/* y = A x, or y = A^H x. */
int hcy__operator_run(hcy_queue *queue, hcy_array *y, hcy_operator *op, hcy_array *x, bool adjoint);

/* subspace.c: the operator that one of hcy_operator_subspace() is around, and its basis as [functions][frames][1], both
 * for as long as that is there; NULL: it is another one. */
hcy_operator *hcy__subspace_parts(hcy_array **basis, const hcy_operator *op);

/* misfit.c: image, data, then what is written, the gradients in image and samples, another one and the value, or NULL:
 * each of its space, and none in the memory of another.  HCY_EINVAL, naming the function. */
int hcy__misfit_check(hcy_array *const arrays[6], const hcy_operator *op, const hcy_space *const spaces[6],
                      const char *const names[6], const char *function);
/* |rest|^2 / 2 and -rest, where they are wanted. */
int hcy__misfit_of_rest(hcy_queue *queue, hcy_array *value, hcy_array *of_samples, hcy_array *rest);

#endif
