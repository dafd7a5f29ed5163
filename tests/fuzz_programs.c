/* fuzz_programs.c - programs of eval_format.h as data: one that is taken gives the same bits whatever its thread's
 * stack held before, so that it reads no register which it did not write. */
#include "eval_programs.h"
#include "fuzz.h"

#include <stdlib.h>

enum { HEAD = 7 }; /* a byte for each count of the program and of its join, then the steps of both */

/* How many steps there are goes by the bytes that there are. */
static bool unpack_program(hcy_eval_program *p, const uint8_t *data, size_t size)
{
    size_t step = sizeof p->steps[0], steps = size < HEAD ? 0 : data[0], joins = size < HEAD ? 0 : data[5];
    if (!steps || steps > HCY_EVAL_STEPS || joins > HCY_EVAL_JOIN || size < HEAD + (steps + joins) * step)
        return false;
    memset(p, 0, sizeof *p);
    p->n_steps = (uint32_t)steps;
    p->n_registers = data[1];
    p->n_fixed = data[2];
    p->reduces = data[3];
    p->scans = data[4];
    p->join.n_steps = (uint32_t)joins;
    p->join.n_registers = data[6];
    memcpy(p->steps, data + HEAD, steps * step);
    memcpy(p->join.steps, data + HEAD + steps * step, joins * step);
    return true;
}

/* Twice, with other numbers in the registers before: 1 if it runs. */
static int run_twice(const hcy_eval_program *program)
{
    static char first[HCY_EVAL_OPERANDS][PROGRAM_BYTES], again[PROGRAM_BYTES];
    if (run_program(program, -1e300))
        return 0;
    for (int k = 0; k < HCY_EVAL_OPERANDS; k++)
        read_operand(first[k], k);
    if (run_program(program, 3e-200))
        abort();
    for (int k = 0; k < HCY_EVAL_OPERANDS; k++) {
        read_operand(again, k);
        if (memcmp(first[k], again, sizeof again))
            abort();
    }
    return 1;
}

static int run_data(const uint8_t *data, size_t size)
{
    hcy_eval_program program;
    if (!unpack_program(&program, data, size))
        return 0;
    bench.in_columns = false;
    const int runs = run_twice(&program);
    bench.in_columns = true;
    return run_twice(&program) | runs;
}

static void give_program(const hcy_eval_program *p)
{
    const uint32_t head[HEAD] = { p->n_steps, p->n_registers,  p->n_fixed,         p->reduces,
                                  p->scans,   p->join.n_steps, p->join.n_registers };
    uint8_t bytes[HEAD + (8 + 4) * sizeof(hcy_eval_step)];
    size_t steps = p->n_steps * sizeof p->steps[0], joins = p->join.n_steps * sizeof p->join.steps[0];
    for (int i = 0; i < HEAD; i++)
        bytes[i] = (uint8_t)head[i];
    memcpy(bytes + HEAD, p->steps, steps);
    memcpy(bytes + HEAD + steps, p->join.steps, joins);
    fuzz_give(bytes, HEAD + steps + joins);
}

#define S(OP, TO, A, B, C, MEMORY) { HCY_EVAL_##OP, TO, A, B, C, MEMORY }

static void seed_programs(void)
{
    static const hcy_eval_program seeds[] = {
        { 8, 6, 1, 0, 0,
          { S(VALUE, 0, 0, 0, 0, HCY_EVAL_F32), S(LOAD, 1, 0, 0, 0, HCY_EVAL_M_F32), S(LT_F32, 2, 0, 1, 0, 0),
            S(WHERE_F32, 3, 2, 0, 1, 0), S(TOF64_F32, 4, 3, 0, 0, 0), S(INDEX, 5, 0, 0, 0, 0),
            S(STORE, 2, 5, 0, 0, HCY_EVAL_M_I64), S(STORE, 1, 4, 0, 0, HCY_EVAL_M_F64) },
          { 0 } },
        { 5, 4, 1, 0, 1,
          { S(VALUE, 3, 1, 0, 0, HCY_EVAL_F64), S(LOAD, 0, 0, 0, 0, HCY_EVAL_M_F64),
            S(CARRY, 1, 2, 0, 1, HCY_EVAL_M_F64), S(SCAN_SUM_F64, 2, 0, 1, 3, 1),
            S(STORE, 1, 2, 0, 0, HCY_EVAL_M_F64) },
          { 0 } },
        { 3, 3, 0, 1, 0,
          { S(LOAD, 0, 0, 0, 0, HCY_EVAL_M_F32), S(NEG_F32, 1, 0, 0, 0, 0), S(OWN_F32, 1, 1, 0, 1, HCY_EVAL_M_F32) },
          { 4, 3,
            { S(LEFT, 0, 0, 0, 0, 0), S(RIGHT, 1, 0, 0, 0, 0), S(MAX_F32, 2, 0, 1, 0, 0),
              S(JOINED, 0, 2, 0, 0, 0) } } },
    };
    begin_programs();
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++)
        give_program(&seeds[i]);
}

const struct fuzz_target fuzz_programs[] = {
    { "program", run_data, seed_programs },
    { NULL, NULL, NULL },
};
