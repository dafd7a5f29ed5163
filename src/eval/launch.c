/* launch.c - one program, one launch: arguments for the kernel that runs programs, or for one that was generated. */
#include "room.h"

#include "arguments.h"

#include <stdlib.h>

/* Work items of a group that does some elements each. */
enum { GROUP = 256 };
/* Of a generated kernel, before its operands: the job, and strides of four operands or of all. */
enum { N_STRUCTURES = 3 };

static int launch_any(hcy_queue *queue, hcy_kernel *kernel, const struct hcy__device_program *p,
                      const hcy_eval_job *job, const hcy_eval_strides strides[2], hcy_buffer *const *b)
{
    hcy_arg args[HCY_MAX_ARGS];
    args[HCY_ARG_AT(eval_run, program)] = hcy_arg_buf(p->data);
    args[HCY_ARG_AT(eval_run, job)] = hcy_arg_struct(job, sizeof *job);
    args[HCY_ARG_AT(eval_run, strides)] = hcy_arg_struct(&strides[0], sizeof strides[0]);
    args[HCY_ARG_AT(eval_run, more_strides)] = hcy_arg_struct(&strides[1], sizeof strides[1]);
    /* An operand that the program has not is any buffer. */
    hcy_buffer *none = p->data;
    args[HCY_ARG_AT(eval_run, operand0)] = hcy_arg_buf(b[0] ? b[0] : none);
    args[HCY_ARG_AT(eval_run, operand1)] = hcy_arg_buf(b[1] ? b[1] : none);
    args[HCY_ARG_AT(eval_run, operand2)] = hcy_arg_buf(b[2] ? b[2] : none);
    args[HCY_ARG_AT(eval_run, operand3)] = hcy_arg_buf(b[3] ? b[3] : none);
    args[HCY_ARG_AT(eval_run, operand4)] = hcy_arg_buf(b[4] ? b[4] : none);
    args[HCY_ARG_AT(eval_run, operand5)] = hcy_arg_buf(b[5] ? b[5] : none);
    args[HCY_ARG_AT(eval_run, operand6)] = hcy_arg_buf(b[6] ? b[6] : none);
    args[HCY_ARG_AT(eval_run, operand7)] = hcy_arg_buf(b[7] ? b[7] : none);
    return hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(eval_run));
}

uint32_t hcy__elements_of_lane(const hcy_eval_program *p)
{
    return p->scans || p->join.n_steps ? HCY_EVAL_RUN : 1;
}

static uint32_t lanes_of_span(uint64_t span, uint32_t of_lane)
{
    uint32_t lanes = 1;
    while (lanes * of_lane < span && lanes < HCY_EVAL_LANES)
        lanes *= 2;
    return lanes;
}

/* Whether the elements of neighbouring spans are nearer to each other than those of a span. */
static bool lies_in_columns(const hcy_eval_job *job, const hcy_eval_strides strides[2])
{
    const uint32_t last = job->rank - 1;
    bool in_columns = false;
    for (uint32_t k = 0; k < job->n_operands; k++) {
        const int64_t *of = strides[k / 4].of[k % 4], along = llabs(of[last]), across = llabs(of[last - 1]);
        /* An operand that is the same for all spans, or all along each, does not mind. */
        if (along && across && along < across)
            return false;
        in_columns = in_columns || (across && across < along);
    }
    return in_columns;
}

/* An item has all of a short span, or of a longer one as many lanes as there are columns: each has a sum in registers,
 * and 16 neighbours of 4 bytes, half a line of memory, are read as fast as 32.  Elements of a long program are not
 * taken many at once: its text would be there for each of them. */
enum { SHORT_SPAN = 32, COLUMNS = 16, FEW_SPANS = 8, FEW_STEPS = 32 };

void hcy__find_columns(struct hcy__form *form, const hcy_eval_program *p, const hcy_eval_job *job,
                       const hcy_eval_strides strides[2])
{
    form->columns = form->lanes = form->turns = 0;
    if (!p->reduces || p->join.n_steps || p->n_steps > FEW_STEPS || job->rank < 2 ||
        job->shape[job->rank - 1] != job->span || job->n / job->span < FEW_SPANS || !lies_in_columns(job, strides))
        return;
    form->columns = job->span <= SHORT_SPAN ? HCY_EVAL_LANES : COLUMNS;
    form->lanes = lanes_of_span(job->span, 1) * form->columns / HCY_EVAL_LANES;
    form->turns = job->span > HCY_EVAL_LANES;
}

/* A group of what reduces or scans is a piece, or several spans that are shorter, as write_piece() has them, or side
 * by side, as write_column() does. */
static uint64_t count_groups(const hcy_eval_program *p, const hcy_eval_job *job, const hcy_eval_strides strides[2])
{
    if (!p->reduces && !p->scans)
        return (job->n - 1) / (GROUP * HCY__EVAL_AT_ONCE) + 1;
    struct hcy__form form;
    hcy__find_columns(&form, p, job, strides);
    uint64_t lanes = lanes_of_span(job->span, hcy__elements_of_lane(p)), spans = job->n / job->span,
             together = form.columns ? form.columns : HCY_EVAL_LANES / lanes;
    return ((job->span - 1) / HCY_EVAL_PIECE + 1) * ((spans - 1) / together + 1);
}

static int launch_generated(hcy_queue *queue, hcy_kernel *kernel, const struct hcy__device_program *p,
                            const hcy_eval_job *job, const hcy_eval_strides strides[2], hcy_buffer *const *buffers)
{
    hcy_arg list[N_STRUCTURES + HCY_EVAL_OPERANDS], *to = list;
    hcy_grid grid = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };
    uint64_t groups = count_groups(p->program, job, strides);
    if (groups > INT32_MAX)
        return hcy_fail(HCY_ERANGE, "an expression over %llu elements in one launch",
                        (unsigned long long)job->n);
    grid.groups[0] = (uint32_t)groups;
    grid.group[0] = p->program->reduces || p->program->scans ? HCY_EVAL_LANES : GROUP;
    *to++ = hcy_arg_struct(job, sizeof *job);
    *to++ = hcy_arg_struct(&strides[0], sizeof strides[0]);
    if (job->n_operands > 4)
        *to++ = hcy_arg_struct(&strides[1], sizeof strides[1]);
    /* A generated kernel has the operands of its program alone, not all eight. */
    for (uint32_t k = 0; k < job->n_operands; k++)
        *to++ = hcy_arg_buf(buffers[k]);
    return hcy_launch_grid(queue, kernel, &grid, list, (size_t)(to - list));
}

int hcy__kernel_launch(hcy_queue *queue, hcy_kernel *kernel, int generated,
                       const struct hcy__device_program *program, const hcy_eval_job *job,
                       const hcy_eval_strides strides[2], hcy_buffer *const *buffers)
{
    return generated ? launch_generated(queue, kernel, program, job, strides, buffers)
                     : launch_any(queue, kernel, program, job, strides, buffers);
}

int hcy__program_launch(hcy_queue *queue, struct hcy__room *room, struct hcy__device_program *program,
                        const struct hcy__launch *launch)
{
    hcy_kernel *kernel = NULL;
    int generated = 0;
    /* Without elements there is nothing to write, and the number of groups would wrap around. */
    if (!launch->job.n)
        return 0;
    int status = hcy__program_ready(&kernel, &generated, program, room, launch);
    if (status)
        return status;
    return hcy__kernel_launch(queue, kernel, generated, program, &launch->job, launch->strides, launch->buffers);
}
