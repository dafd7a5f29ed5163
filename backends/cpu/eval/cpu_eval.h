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
    cpu_eval_reduce *reduction[HCY_EVAL_END]; /* from HCY_EVAL_FIRST_REDUCTION on */
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

/* eval_pick.c, eval_order.c: the kernels that run no program. */
int cpu_eval_take(const struct cpu_call *call);
int cpu_eval_put(const struct cpu_call *call);
int cpu_eval_own(const struct cpu_call *call);
int cpu_eval_count(const struct cpu_call *call);
int cpu_eval_sort(const struct cpu_call *call);

/* A launch anybody may ask for: registers and operands that exist, places inside of the buffers. */
int cpu_eval_open(struct cpu_eval_call *eval, const struct cpu_call *call);

#endif
