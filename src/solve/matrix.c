/* matrix.c - matrices as operators: one, whose products are summed along an axis in one kernel, or several. */
#include "multiply.h"
#include "operator_priv.h"

#include <halcyon/eval.h>

static void release_matrix(void *user)
{
    hcy_array_release(user);
}

static int apply_matrix(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return HCY_EVAL(queue, "y = sum(a * x, axis=1)", hcy_op_array("y", y), hcy_op_array("a", user),
                    hcy_op_array("x", x));
}

/* x = A^H y; y stands as a column, so that it goes with each of the matrix's. */
static int apply_matrix_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    hcy_array *column = NULL, *a = user;
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
    desc.destroy = release_matrix;
    desc.user = hcy_array_retain(matrix);
    return hcy__operator_make(op, hcy__array_device(matrix), &desc);
}

/* --- Several matrices, of several vectors each --- */

static int apply_matrices(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return hcy__multiply(queue, y, user, x, 0);
}

static int apply_matrices_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return hcy__multiply(queue, x, user, y, HCY__MULTIPLY_ADJOINT);
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
    desc.destroy = release_matrix;
    desc.user = hcy_array_retain(matrices);
    return hcy__operator_make(op, hcy__array_device(matrices), &desc);
}
