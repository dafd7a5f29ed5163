/* eval_format.h - an expression over arrays as a program of steps on registers: what every device runs.  Plain data.
 *
 * Elements are numbered in C order of the job's shape and taken in PIECES.  A register holds one number an element, of
 * one of five types; complex numbers are two registers.  A step makes one register of up to three others, loads a
 * component of an operand's elements, or stores one.  Integers of less than 64 bits are held in 64 and wrapped after
 * what may leave their range.
 *
 * A program that reduces goes over SPANS: job.span consecutive elements each, all of them or those along some axes
 * (the job's last ones then).  Pieces end with their span, and are numbered through: span after span.  It makes
 * one number of each piece, by a fixed tree: lane l of HCY_EVAL_LANES adds its piece's elements l, l +
 * HCY_EVAL_LANES, ... in this order; then lane l takes lane l + HCY_EVAL_LANES / 2, for all l below that, and so
 * on by halves, where there is such a lane.  The numbers of a span's pieces are reduced in the same way until one
 * is left.  So a sum's bits depend on nothing but its elements: a row's are those of the row alone.
 *
 * A program that scans makes of each element what those up to it in its span join to: RUNS of HCY_EVAL_RUN
 * elements of a piece join theirs one after the other; then, for w = 1, 2, 4 and so on, the total of run r becomes
 * that of run r - w joined with it, for all r from w on at once; an element's number is the total of the run
 * before it joined with its own, and in all but a span's first piece the CARRY joined with that: the exclusive
 * scan of the pieces' numbers of a reduction, by the same rule.  An exclusive scan takes an element's predecessor
 * in its run; the first of a run takes the total of the runs before it, or the carry, or what the program says.
 *
 * Two numbers are joined by an operation of eval_ops.h, or by the program's own JOIN: steps on registers of their own,
 * to which LEFT and RIGHT bring a component of the one before and the one behind, and which end with JOINED for each
 * component.  Both components of a complex number are joined at once: their OWN steps follow one another.  What is
 * joined so need not commute: a piece's elements are joined in runs as a scan has them, and then, for w = 1, 2, 4 and
 * so on, the total of run r takes that of run r + w behind it, for all r that 2 w divides, where there is such a run.
 */
#ifndef HCY_EVAL_FORMAT_H
#define HCY_EVAL_FORMAT_H

#include <stdint.h>

#define HCY_EVAL_OPERANDS  8
#define HCY_EVAL_AXES      8
#define HCY_EVAL_VALUES    12    /* scalars of a launch, 64 bits each */
#define HCY_EVAL_REGISTERS 32
#define HCY_EVAL_STEPS     512
#define HCY_EVAL_PIECE     1024u /* elements */
#define HCY_EVAL_LANES     128u  /* of a piece that is reduced; divides it */
#define HCY_EVAL_RUN       8u    /* elements; as many as a piece has for each lane */
#define HCY_EVAL_JOIN      96    /* steps */

/* How a component of an element lies in memory. */
enum hcy_eval_memory {
    HCY_EVAL_M_BOOL, HCY_EVAL_M_I8, HCY_EVAL_M_U8, HCY_EVAL_M_I16, HCY_EVAL_M_U16, HCY_EVAL_M_I32, HCY_EVAL_M_U32,
    HCY_EVAL_M_I64, HCY_EVAL_M_U64, HCY_EVAL_M_F16, HCY_EVAL_M_F32, HCY_EVAL_M_F64, HCY_EVAL_MEMORIES
};

typedef struct hcy_eval_step {
    uint16_t op; /* enum hcy_eval_op (eval_ops.h) */
    uint16_t to; /* a register; of STORE and reductions an operand */
    uint16_t a, b, c; /* registers.  LOAD: an operand, a component.  STORE: a register, a component.  VALUE: which.
                         Reductions: a register, a component, how many components the operand has.  CARRY: an operand
                         with a number for each piece, and as reductions.  Scans: a register, the carry's, of an
                         exclusive scan the first element's.  LEFT, RIGHT: a component.  JOINED: a register, a
                         component */
    uint16_t memory;  /* LOAD, STORE, CARRY, reductions: enum hcy_eval_memory; VALUE: enum hcy_eval_type; scans: whether
                         it is exclusive */
} hcy_eval_step;

typedef struct hcy_eval_join {
    uint32_t n_steps, n_registers; /* VALUE steps come first */
    hcy_eval_step steps[HCY_EVAL_JOIN];
} hcy_eval_join;

typedef struct hcy_eval_program {
    uint32_t n_steps, n_registers;
    uint32_t n_fixed;  /* leading VALUE steps: registers that no other step makes */
    uint32_t reduces;  /* steps at the end that reduce */
    uint32_t scans;    /* steps that scan, one behind the other; what follows are conversions and STORE */
    hcy_eval_step steps[HCY_EVAL_STEPS];
    hcy_eval_join join; /* of the OWN steps, if there are any */
} hcy_eval_program;

/* Of a launch.  Offsets and strides count components: a complex element is two. */
typedef struct hcy_eval_job {
    uint64_t n, span; /* elements; how many of them a reduction makes one of, or a scan goes over: a divisor of n */
    uint32_t rank, n_operands;
    uint64_t shape[HCY_EVAL_AXES];
    uint64_t offset[HCY_EVAL_OPERANDS];
    uint64_t values[HCY_EVAL_VALUES]; /* bits of I64, U64 or F64 (F32: as F64) */
} hcy_eval_job;

/* Of four operands; what is broadcast has strides of 0. */
typedef struct hcy_eval_strides {
    int64_t of[4][HCY_EVAL_AXES];
} hcy_eval_strides;

#endif
