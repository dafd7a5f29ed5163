/* types.h - which type comes of which: NumPy's promotion of arrays' types, with float16 as storage alone. */
#ifndef HCY_EVAL_TYPES_H
#define HCY_EVAL_TYPES_H

#include "eval_ops.h"
#include <stdbool.h>
#include <stdint.h>

/* Of an expression.  A weak one is made of numbers alone and takes the type of what it meets. */
struct hcy__type {
    int dtype;
    bool weak;
};
enum hcy__kind { HCY__KIND_BOOL, HCY__KIND_INTEGER, HCY__KIND_REAL, HCY__KIND_COMPLEX };

int hcy__kind_of(int dtype);
bool hcy__is_unsigned(int dtype);
/* What two make together. */
struct hcy__type hcy__promote(struct hcy__type a, struct hcy__type b);
/* Of a complex type's parts; others as they are. */
int hcy__part_of(int dtype);
int hcy__complex_of(int dtype);
/* The register of a component, and its memory (enum hcy_eval_memory). */
enum hcy_eval_type hcy__register_of(int dtype);
int hcy__memory_of(int dtype);
/* Whether an integer type has this number. */
bool hcy__fits(int dtype, int64_t x);
/* The operation that cuts a register down to the type; 0: it has 64 bits, or is no integer. */
enum hcy_eval_op hcy__wrap_of(int dtype);

#endif
