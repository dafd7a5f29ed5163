/* multiply.c - products of matrices: the kernel `matrix`, and sums along an axis where there are few columns.
 *
 * A product with few columns reads a matrix once and does little with it, which an expression does as fast as memory
 * gives; a tile of the kernel would be empty mostly. */
#include "multiply.h"
#include "room.h"

#include "arguments.h"

#include <halcyon/eval.h>
#include <string.h>

enum { FEW_COLUMNS = 4 };

static int sum_products(hcy_queue *queue, hcy_array *c, hcy_array *a, hcy_array *b, unsigned how)
{
    static const char *const texts[] = { "y = sum(a * x, axis=2)", "y = sum(conj(a) * x, axis=1)",
                                         "y += sum(a * x, axis=2)", "y += sum(conj(a) * x, axis=1)" };
    hcy_array *left = NULL, *right = NULL;
    int status = hcy_array_slice(&left, a, ":, :, :, new");
    if (!status)
        status = hcy_array_slice(&right, b, "%s", how & HCY__MULTIPLY_ADJOINT ? ":, :, new, :" : ":, new, :, :");
    if (!status)
        status = HCY_EVAL(queue, texts[how], hcy_op_array("y", c), hcy_op_array("a", left), hcy_op_array("x", right));
    hcy_array_release(left);
    hcy_array_release(right);
    return status;
}

static void set_job(hcy_matrix_job *job, const hcy_array *c, const hcy_array *a, const hcy_array *b, unsigned how)
{
    const bool is_complex = c->dtype == HCY_COMPLEX64 || c->dtype == HCY_COMPLEX128,
               adjoint = how & HCY__MULTIPLY_ADJOINT;
    memset(job, 0, sizeof *job);
    job->parts = is_complex ? 2 : 1;
    job->bytes = (uint32_t)hcy_dtype_size(c->dtype) / job->parts;
    job->flags = (adjoint ? HCY_MATRIX_CONJUGATE : 0u) | (how & HCY__MULTIPLY_ADDS ? HCY_MATRIX_ADDS : 0u);
    job->slices = (uint64_t)c->shape[0];
    job->rows = (uint64_t)c->shape[1];
    job->columns = (uint64_t)c->shape[2];
    job->depth = (uint64_t)b->shape[1];
    job->a = a->offset;
    job->b = b->offset;
    job->c = c->offset;
    for (int d = 0; d < 3; d++) {
        job->a_steps[d] = a->strides[d && adjoint ? 3 - d : d];
        job->b_steps[d] = b->strides[d];
        job->c_steps[d] = c->strides[d];
    }
}

static int launch_product(hcy_queue *queue, hcy_array *c, hcy_array *a, hcy_array *b, unsigned how)
{
    hcy_matrix_job job;
    hcy_arg args[HCY_N_ARGS(matrix)];
    hcy_kernel *kernel = NULL;
    hcy_array *scratch = NULL;
    size_t bytes = 0;
    set_job(&job, c, a, b, how);
    args[HCY_ARG_AT(matrix, job)] = hcy_arg_struct(&job, sizeof job);
    args[HCY_ARG_AT(matrix, a)] = hcy_arg_buf(a->buffer);
    args[HCY_ARG_AT(matrix, b)] = hcy_arg_buf(b->buffer);
    args[HCY_ARG_AT(matrix, c)] = hcy_arg_buf(c->buffer);
    args[HCY_ARG_AT(matrix, scratch)] = hcy_arg_buf(NULL);
    int status = hcy__room_move(&kernel, c->room, HCY__MOVE_MATRIX);
    if (!status)
        status = hcy_kernel_scratch_size(&bytes, kernel, 1, args, HCY_N_ARGS(matrix));
    if (!status && bytes) {
        const int64_t n = (int64_t)bytes;
        status = hcy_array_empty(&scratch, hcy_queue_device(queue), HCY_UINT8, 1, &n);
        if (!status)
            args[HCY_ARG_AT(matrix, scratch)] = hcy_arg_buf(scratch->buffer);
    }
    if (!status)
        status = hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(matrix));
    hcy_array_release(scratch);
    return status;
}

int hcy__multiply(hcy_queue *queue, hcy_array *c, hcy_array *a, hcy_array *b, unsigned how)
{
    if (!c->count)
        return 0;
    return c->shape[2] < FEW_COLUMNS ? sum_products(queue, c, a, b, how) : launch_product(queue, c, a, b, how);
}
