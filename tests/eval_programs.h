/* eval_programs.h - programs of eval_format.h that no text was compiled to, as anybody may launch them: on one device
 * of the CPU, with eight operands of doubles. */
#ifndef HCY_TESTS_EVAL_PROGRAMS_H
#define HCY_TESTS_EVAL_PROGRAMS_H

#include "tap.h"

#include "eval_format.h"
#include "eval_ops.h"

#include <halcyon/kernel.h>
#include <halcyon/queue.h>
#include <stdbool.h>
#include <string.h>

enum { PROGRAM_ELEMENTS = 2500, PROGRAM_SPAN = 1250, PROGRAM_SIDE = 50, PROGRAM_BYTES = PROGRAM_ELEMENTS * 8 };

static struct {
    hcy_device *dev;
    hcy_kernel *kernel;
    hcy_buffer *program, *operands[HCY_EVAL_OPERANDS];
    bool in_columns; /* spans lie beside one another, and not one behind the other */
} bench;

static inline void begin_programs(void)
{
    int status = hcy_device_open(&bench.dev, "cpu@threads=1");
    if (!status)
        status = hcy_kernel_get(&bench.kernel, bench.dev, "eval_run");
    if (!status)
        status = hcy_buffer_create(&bench.program, bench.dev, HCY_MEM_DEVICE, sizeof(hcy_eval_program));
    for (int k = 0; !status && k < HCY_EVAL_OPERANDS; k++)
        status = hcy_buffer_create(&bench.operands[k], bench.dev, HCY_MEM_DEVICE, PROGRAM_BYTES);
    if (status)
        bail_out("no place for programs: %s", hcy_last_error()->text);
}

static inline void end_programs(void)
{
    for (int k = 0; k < HCY_EVAL_OPERANDS; k++)
        hcy_buffer_release(bench.operands[k]);
    hcy_buffer_release(bench.program);
    hcy_kernel_release(bench.kernel);
    hcy_device_release(bench.dev);
}

static inline int launch_program(hcy_queue *queue, const hcy_eval_program *program, double value)
{
    hcy_eval_job job = { .n = PROGRAM_ELEMENTS, .span = PROGRAM_SPAN, .rank = 1, .n_operands = HCY_EVAL_OPERANDS,
                         .shape = { PROGRAM_ELEMENTS } };
    hcy_eval_strides strides = { { { 1 }, { 1 }, { 1 }, { 1 } } };
    hcy_arg args[4 + HCY_EVAL_OPERANDS] = { hcy_arg_buf(bench.program), hcy_arg_struct(&job, sizeof job),
                                            hcy_arg_struct(&strides, sizeof strides),
                                            hcy_arg_struct(&strides, sizeof strides) };
    if (bench.in_columns) {
        job.span = job.shape[0] = job.shape[1] = PROGRAM_SIDE;
        job.rank = 2;
        for (int k = 0; k < 4; k++)
            strides.of[k][1] = PROGRAM_SIDE;
    }
    for (int k = 0; k < HCY_EVAL_VALUES; k++)
        memcpy(&job.values[k], &value, sizeof value);
    for (int k = 0; k < HCY_EVAL_OPERANDS; k++)
        args[4 + k] = hcy_arg_buf(bench.operands[k]);
    int status = hcy_buffer_write(queue, bench.program, 0, program, sizeof *program);
    return status ? status : hcy_launch(queue, bench.kernel, 1, args, 4 + HCY_EVAL_OPERANDS);
}

/* Operands hold 1.5 everywhere, the job's numbers are all 2, and registers are full of `before`: a program fills them
 * that the same thread runs first, so that they lie in the same place.  A queue of its own, as a refused launch fails
 * it; the error stays. */
static inline int run_program(const hcy_eval_program *program, double before)
{
    static const double number = 1.5;
    static hcy_eval_program fills = { .n_steps = HCY_EVAL_REGISTERS, .n_registers = HCY_EVAL_REGISTERS };
    hcy_queue *queue = NULL;
    int status = hcy_queue_create(&queue, bench.dev);
    for (uint16_t k = 0; k < HCY_EVAL_REGISTERS; k++)
        fills.steps[k] = (hcy_eval_step){ .op = HCY_EVAL_VALUE, .to = k, .memory = HCY_EVAL_F64 };
    for (int k = 0; !status && k < HCY_EVAL_OPERANDS; k++)
        status = hcy_buffer_fill(queue, bench.operands[k], 0, PROGRAM_BYTES, &number, sizeof number);
    if (!status)
        status = launch_program(queue, &fills, before);
    if (!status)
        status = launch_program(queue, program, 2);
    int end = hcy_queue_finish(queue);
    hcy_queue_release(queue);
    return status ? status : end;
}

/* To host memory of PROGRAM_BYTES. */
static inline void read_operand(void *bytes, int k)
{
    hcy_queue *queue = NULL;
    if (hcy_queue_create(&queue, bench.dev) || hcy_buffer_read(queue, bytes, bench.operands[k], 0, PROGRAM_BYTES) ||
        hcy_queue_finish(queue))
        bail_out("what a program wrote is not read: %s", hcy_last_error()->text);
    hcy_queue_release(queue);
}

#endif
