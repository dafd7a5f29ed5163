/* multiply.c - products of matrices: the kernel `matrix`, sums along an axis where there are few columns, and
 * matrix_twice.
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
    set_job(&job, c, a, b, how);
    args[HCY_ARG_AT(matrix, job)] = hcy_arg_struct(&job, sizeof job);
    args[HCY_ARG_AT(matrix, a)] = hcy_arg_buf(a->buffer);
    args[HCY_ARG_AT(matrix, b)] = hcy_arg_buf(b->buffer);
    args[HCY_ARG_AT(matrix, c)] = hcy_arg_buf(c->buffer);
    int status = hcy__room_move(&kernel, c->room, HCY__MOVE_MATRIX);
    return status ? status
                  : hcy__room_launch(queue, kernel, args, HCY_N_ARGS(matrix), HCY_ARG_AT(matrix, scratch));
}

int hcy__multiply(hcy_queue *queue, hcy_array *c, hcy_array *a, hcy_array *b, unsigned how)
{
    if (!c->count)
        return 0;
    return c->shape[2] < FEW_COLUMNS ? sum_products(queue, c, a, b, how) : launch_product(queue, c, a, b, how);
}

/* --- A matrix and its transpose --- */

bool hcy__multiply_goes_twice(const hcy_array *a)
{
    hcy_kernel *kernel = NULL;
    const size_t bytes = hcy_dtype_size(a->dtype);
    if ((a->dtype != HCY_FLOAT32 && a->dtype != HCY_FLOAT64) || a->rank != 2 || a->shape[0] >= INT32_MAX)
        return false;
    /* Which ways there are is a matter of shapes: a rank without rows goes the way of the others. */
    if (a->shape[1] < 1 || a->shape[1] > (int64_t)(HCY_MATRIX_TWICE_BYTES / bytes) ||
        (a->count && ((a->strides[1] != 1 && a->shape[1] > 1) || (a->strides[0] < a->shape[1] && a->shape[0] > 1))))
        return false;
    return !hcy__room_move(&kernel, a->room, HCY__MOVE_TWICE);
}

static hcy_matrix_twice_job twice_job(const struct hcy__twice *t)
{
    hcy_matrix_twice_job job;
    memset(&job, 0, sizeof job);
    job.bytes = (uint32_t)hcy_dtype_size(t->a->dtype);
    job.rows = (uint64_t)t->a->shape[0];
    job.columns = (uint64_t)t->a->shape[1];
    job.step = t->a->shape[0] > 1 ? t->a->strides[0] : t->a->shape[1];
    job.a = t->a->offset;
    job.p = t->p->offset;
    job.m = t->m->offset;
    job.q = t->q->offset;
    job.g = t->g->offset;
    job.s = t->s->offset;
    job.by = t->by->offset;
    return job;
}

/* Memory for the kernel's sums, as much as it asks for. */
static int need_scratch(struct hcy__twice *t, hcy_kernel *kernel, const hcy_arg *args)
{
    size_t bytes = 0;
    int status = hcy_kernel_scratch_size(&bytes, kernel, 1, args, HCY_N_ARGS(matrix_twice));
    if (status || (t->scratch && (size_t)t->scratch->count >= bytes))
        return status;
    hcy_array_release(t->scratch);
    t->scratch = NULL;
    return hcy_array_empty(&t->scratch, hcy__array_device(t->a), HCY_UINT8, 1, (int64_t[]){ (int64_t)bytes });
}

int hcy__multiply_twice(hcy_queue *queue, struct hcy__twice *t)
{
    const hcy_matrix_twice_job job = twice_job(t);
    hcy_arg args[HCY_N_ARGS(matrix_twice)];
    hcy_kernel *kernel = NULL;
    if (!t->a->count)
        return HCY_EVAL(queue, "g = 0; s = 0", hcy_op_array("g", t->g), hcy_op_array("s", t->s));
    args[HCY_ARG_AT(matrix_twice, job)] = hcy_arg_struct(&job, sizeof job);
    args[HCY_ARG_AT(matrix_twice, a)] = hcy_arg_buf(t->a->buffer);
    args[HCY_ARG_AT(matrix_twice, p)] = hcy_arg_buf(t->p->buffer);
    args[HCY_ARG_AT(matrix_twice, m)] = hcy_arg_buf(t->m->buffer);
    args[HCY_ARG_AT(matrix_twice, by)] = hcy_arg_buf(t->by->buffer);
    args[HCY_ARG_AT(matrix_twice, q)] = hcy_arg_buf(t->q->buffer);
    args[HCY_ARG_AT(matrix_twice, g)] = hcy_arg_buf(t->g->buffer);
    args[HCY_ARG_AT(matrix_twice, s)] = hcy_arg_buf(t->s->buffer);
    args[HCY_ARG_AT(matrix_twice, scratch)] = hcy_arg_buf(NULL);
    int status = hcy__room_move(&kernel, t->a->room, HCY__MOVE_TWICE);
    if (!status)
        status = need_scratch(t, kernel, args);
    if (!status)
        args[HCY_ARG_AT(matrix_twice, scratch)] = hcy_arg_buf(t->scratch->buffer);
    return status ? status : hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(matrix_twice));
}
