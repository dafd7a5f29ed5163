/* cpu_eval.h - expressions on the CPU: the loops over a piece's registers, and the check of a program. */
#ifndef HCY_CPU_EVAL_H
#define HCY_CPU_EVAL_H

#include "cpu_priv.h"

#include "eval_format.h"
#include "eval_ops.h"

/* n elements; `to` is none of the others.  Arguments that an operation has not are NULL. */
typedef void cpu_eval_loop(void *to, const void *a, const void *b, const void *c, size_t n);
/* From memory whose elements are `stride` apart, and to it. */
typedef void cpu_eval_load(void *to, const void *from, ptrdiff_t stride, size_t n);
typedef void cpu_eval_store(void *to, ptrdiff_t stride, const void *from, size_t n);
/* n elements (1 to HCY_EVAL_PIECE) to one, by the tree of eval_format.h. */
typedef void cpu_eval_reduce(void *to, const void *from, size_t n);
/* n elements in spans of `span` (1 to HCY_EVAL_PIECE) by the rule of eval_format.h.  carry NULL: they begin their span;
 * first NULL: inclusive. */
typedef void cpu_eval_scan(void *to, const void *from, const void *carry, const void *first, size_t span, size_t n);

/* Both parts of complex numbers that lie one after the other. */
typedef void cpu_eval_load_pair(void *re, void *im, const void *from, size_t n);
typedef void cpu_eval_store_pair(void *to, const void *re, const void *im, size_t n);

struct cpu_eval_loops {
    cpu_eval_loop *op[HCY_EVAL_END];         /* from HCY_EVAL_FIRST_OP on */
    cpu_eval_loop *stored[HCY_EVAL_END];     /* the same of simple ones, results as a store leaves them; else NULL */
    cpu_eval_reduce *reduction[HCY_EVAL_END]; /* from HCY_EVAL_FIRST_REDUCTION on */
    cpu_eval_reduce *whole[HCY_EVAL_END];     /* the same of HCY_EVAL_PIECE elements in a register */
    cpu_eval_reduce *sum_floats;              /* SUM_F64 of HCY_EVAL_PIECE floats */
    cpu_eval_scan *scan[HCY_EVAL_END];        /* from HCY_EVAL_FIRST_SCAN on */
    cpu_eval_load *load[HCY_EVAL_MEMORIES];
    cpu_eval_store *store[HCY_EVAL_MEMORIES];
    cpu_eval_load_pair *load_pair[HCY_EVAL_MEMORIES]; /* F32, F64; others NULL */
    cpu_eval_store_pair *store_pair[HCY_EVAL_MEMORIES];
};
extern const struct cpu_eval_loops cpu_eval_portable, cpu_eval_avx2, cpu_eval_avx512;

/* The call's arguments. */
struct cpu_eval_operand {
    char *at; /* of the first element */
    const int64_t *strides;
};
struct cpu_eval_call {
    const hcy_eval_program *program;
    const hcy_eval_job *job;
    struct cpu_eval_operand operands[HCY_EVAL_OPERANDS];
};
/* Bytes of a component. */
extern const unsigned char cpu_eval_bytes[HCY_EVAL_MEMORIES];

/* n times the number of these bits, as a register of this type (enum hcy_eval_type). */
void cpu_eval_spread(const struct cpu_eval_loops *loops, void *to, uint64_t bits, unsigned type, size_t n);

/* Bytes of a number in a register, of how it lies in memory. */
size_t cpu_eval_wide(unsigned memory);
/* Whether numbers lie in memory as in a register. */
bool cpu_eval_is_as_it_lies(unsigned memory);
/* This step and the next one load, or store, both parts of complex numbers, which `loops` have as one. */
bool cpu_eval_is_pair(const struct cpu_eval_loops *loops, const hcy_eval_step *s);

/* eval_columns.c: a reduction along an axis whose elements lie further apart than spans do.  false: it is none, and
 * nothing was done. */
bool cpu_eval_columns(const struct cpu_eval_call *call, const struct cpu_eval_loops *loops, struct cpu_pool *pool);

/* eval_own.c: a program's own join, of numbers of 4 or 8 bytes and one or two components; arrays are of so many. */
struct cpu_eval_own {
    const hcy_eval_join *join;
    const uint64_t *values; /* the job's */
    const struct cpu_eval_loops *loops;
    unsigned components;
    size_t bytes;
};
/* As cpu_eval_reduce and cpu_eval_scan; a component that is not there is NULL in `from` of a reduction, and any
 * address of a scan. */
void cpu_eval_reduce_own(void *const to[2], const struct cpu_eval_own *own, const void *const from[2], size_t n);
void cpu_eval_scan_own(void *const to[2], const struct cpu_eval_own *own, const void *const from[2],
                       const void *const carry[2], const void *const first[2], size_t span, size_t n);

/* eval_pick.c, eval_order.c: the kernels that run no program. */
int cpu_eval_take(const struct cpu_call *call);
int cpu_eval_put(const struct cpu_call *call);
int cpu_eval_own(const struct cpu_call *call);
int cpu_eval_count(const struct cpu_call *call);
int cpu_eval_sort(const struct cpu_call *call);
int cpu_eval_sort_values(const struct cpu_call *call);

/* eval_held.c: every step reads what an earlier one has written, as the type that it was written as.  HCY_EINVAL; the
 * steps' numbers were found to be ones that there are. */
int cpu_eval_check_held(const hcy_eval_program *p);

/* A launch anybody may ask for: registers and operands that exist, places inside of the buffers. */
int cpu_eval_open(struct cpu_eval_call *eval, const struct cpu_call *call);

#endif
