/* matrix.c - matrices as operators: one, whose products are summed along an axis in one kernel, or several. */
#include "multiply.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdlib.h>

/* What a matrix's operators have. */
struct matrix {
    hcy_array *a;
    struct hcy__twice twice; /* whose scratch memory is the turn's */
    struct hcy__turn turn;
};

static void free_matrix(void *user)
{
    struct matrix *m = user;
    hcy_array_release(m->a);
    hcy_array_release(m->twice.a);
    hcy_array_release(m->twice.scratch);
    hcy__turn_end(&m->turn);
    free(m);
}

static int run_twice(hcy_queue *queue, hcy_array *q, hcy_array *g, hcy_array *s, void *user, hcy_array *p, hcy_array *m,
                     hcy_array *by)
{
    struct matrix *x = user;
    int status = hcy__turn_take(&x->turn, queue);
    x->twice.q = q;
    x->twice.g = g;
    x->twice.s = s;
    x->twice.p = p;
    x->twice.m = m;
    x->twice.by = by;
    if (!status)
        status = hcy__multiply_twice(queue, &x->twice);
    hcy__turn_give(&x->turn);
    return status;
}

/* Finishes `desc`; `once` is the one matrix there is, or NULL. */
static int make_matrix(hcy_operator **op, hcy_operator_desc *desc, hcy_array *a, hcy_array *once)
{
    struct matrix *m = calloc(1, sizeof *m);
    if (!m)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    m->a = hcy_array_retain(a);
    m->twice.a = hcy_array_retain(once);
    hcy__turn_init(&m->turn);
    desc->destroy = free_matrix;
    desc->user = m;
    int status = hcy__operator_make(op, hcy__array_device(a), desc);
    if (!status && once && hcy__multiply_goes_twice(once))
        (*op)->twice = run_twice;
    return status;
}

static int apply_matrix(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct matrix *m = user;
    return HCY_EVAL(queue, "y = sum(a * x, axis=1)", hcy_op_array("y", y), hcy_op_array("a", m->a),
                    hcy_op_array("x", x));
}

/* x = A^H y; y stands as a column, so that it goes with each of the matrix's. */
static int apply_matrix_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    hcy_array *column = NULL, *a = ((struct matrix *)user)->a;
    const char *text = a->dtype == HCY_COMPLEX64 || a->dtype == HCY_COMPLEX128
                           ? "x = sum(conj(a) * y, axis=0)"
                           : "x = sum(a * y, axis=0)";
    int status = hcy_array_reshape(&column, y, 2, (int64_t[]){ y->count, 1 });
    if (!status)
        status = HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_array("a", a), hcy_op_array("y", column));
    hcy_array_release(column);
    return status;
}

int hcy_operator_matrix(hcy_operator **op, hcy_array *matrix)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = hcy__array_check(matrix, "hcy_operator_matrix");
    if (status)
        return status;
    if (matrix->rank != 2)
        return hcy_fail(HCY_EINVAL, "hcy_operator_matrix: an array of %d axes is no matrix", matrix->rank);
    desc.name = "matrix";
    desc.domain = (hcy_space){ matrix->dtype, 1, { matrix->shape[1] }, NULL };
    desc.range = (hcy_space){ matrix->dtype, 1, { matrix->shape[0] }, NULL };
    desc.apply = apply_matrix;
    desc.adjoint = apply_matrix_adjoint;
    return make_matrix(op, &desc, matrix, matrix);
}

/* --- Several matrices, of several vectors each --- */

static int apply_matrices(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return hcy__multiply(queue, y, ((struct matrix *)user)->a, x, 0);
}

static int apply_matrices_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return hcy__multiply(queue, x, ((struct matrix *)user)->a, y, HCY__MULTIPLY_ADJOINT);
}

int hcy_operator_matrices(hcy_operator **op, hcy_array *matrices, int64_t n)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = hcy__array_check(matrices, "hcy_operator_matrices");
    if (status)
        return status;
    if (matrices->rank != 3 || n < 0 || (matrices->shape[0] && (!matrices->shape[1] || !matrices->shape[2])))
        return hcy_fail(HCY_EINVAL, "hcy_operator_matrices: an array of %d axes, or an empty one, and %lld columns",
                        matrices->rank, (long long)n);
    desc.name = "matrices";
    desc.domain = (hcy_space){ matrices->dtype, 3, { matrices->shape[0], matrices->shape[2], n }, NULL };
    desc.range = (hcy_space){ matrices->dtype, 3, { matrices->shape[0], matrices->shape[1], n }, NULL };
    desc.apply = apply_matrices;
    desc.adjoint = apply_matrices_adjoint;
    hcy_array *once = NULL;
    if (matrices->shape[0] == 1 && n == 1)
        status = hcy_array_slice(&once, matrices, "0");
    if (!status)
        status = make_matrix(op, &desc, matrices, once);
    hcy_array_release(once);
    return status;
}
