/* choose.c - by which operation numbers of a type are reduced or scanned, what it wants them to be, and what an
 * exclusive scan begins with.  Pure functions, any thread. */
#include "emit.h"

#include <math.h>
#include <string.h>

/* By register: sums and products of floats are doubles, smallest and largest stay what they are. */
static const enum hcy_eval_op sums[] = { HCY_EVAL_SUM_I64, HCY_EVAL_SUM_I64, HCY_EVAL_SUM_U64,
                                         HCY_EVAL_SUM_F64, HCY_EVAL_SUM_F64 },
                              products[] = { HCY_EVAL_PROD_I64, HCY_EVAL_PROD_I64, HCY_EVAL_PROD_U64,
                                             HCY_EVAL_PROD_F64, HCY_EVAL_PROD_F64 },
                              leasts[] = { HCY_EVAL_LEAST_U64, HCY_EVAL_LEAST_I64, HCY_EVAL_LEAST_U64,
                                           HCY_EVAL_LEAST_F32, HCY_EVAL_LEAST_F64 },
                              mosts[] = { HCY_EVAL_MOST_U64, HCY_EVAL_MOST_I64, HCY_EVAL_MOST_U64,
                                          HCY_EVAL_MOST_F32, HCY_EVAL_MOST_F64 };

/* No reduction makes a boolean: those that begin with booleans go on with integers. */
static const int reduced_memories[] = { 0, HCY_EVAL_M_I64, HCY_EVAL_M_U64, HCY_EVAL_M_F32, HCY_EVAL_M_F64 };

static void choose_own(struct hcy__reduction *r, struct hcy__emitter *e, const struct hcy__node *node, int dtype)
{
    r->op = hcy__own_reduction(e, dtype);
    r->dtype = dtype;
    r->memory = reduced_memories[hcy__op_infos[r->op].result];
    r->has_empty = node->kids[2] >= 0;
    hcy__emit_nothing(e, node, dtype);
    hcy__emit_join(e, node, dtype);
}

static void choose_ours(struct hcy__reduction *r, struct hcy__emitter *e, int function, int dtype)
{
    enum hcy_eval_type t = hcy__register_of(dtype);
    bool adds = function == HCY__FN_SUM, multiplies = function == HCY__FN_PROD;
    r->op = adds ? sums[t] : multiplies ? products[t] : function == HCY__FN_MIN ? leasts[t] : mosts[t];
    r->dtype = dtype;
    r->has_empty = adds || multiplies;
    /* Small integers add up in 64 bits, as NumPy's do. */
    if (r->has_empty && hcy__kind_of(dtype) < HCY__KIND_REAL)
        r->dtype = hcy__is_unsigned(dtype) ? HCY_UINT64 : HCY_INT64;
    if (!adds && hcy__kind_of(dtype) == HCY__KIND_COMPLEX)
        hcy__emit_refuse(e, "complex numbers have a sum, but neither a product, as here, nor an order", "");
    enum hcy_eval_type result = hcy__op_infos[r->op].result;
    double one = 1;
    r->memory = reduced_memories[result];
    /* What nothing adds up to is 0, whose bits are the same in all types; the 1 of a product is not. */
    if (multiplies && result == HCY_EVAL_F64)
        memcpy(&r->empty, &one, sizeof one);
    else
        r->empty = multiplies;
}

void hcy__choose_reduction(struct hcy__reduction *r, struct hcy__emitter *e, const struct hcy__node *node, int dtype)
{
    static const int scanned[] = { HCY__FN_SUM, HCY__FN_PROD, HCY__FN_MIN, HCY__FN_MAX };
    if (node->join)
        choose_own(r, e, node, dtype);
    else
        choose_ours(r, e, node->function < HCY__FN_CUMSUM ? node->function : scanned[node->function - HCY__FN_CUMSUM],
                    dtype);
}

int hcy__emit_reducible(struct hcy__emitter *e, int x, enum hcy_eval_type from, enum hcy_eval_type to)
{
    static const enum hcy_eval_op from_truth[] = { 0, HCY_EVAL_TOI64_B32, HCY_EVAL_TOU64_B32, 0, 0 };
    if (from == to)
        return x;
    return hcy__emit(e, from == HCY_EVAL_B32 ? from_truth[to] : HCY_EVAL_TOF64_F32, x, -1, -1);
}

int hcy__emit_first(struct hcy__emitter *e, int function, int dtype, enum hcy_eval_type t)
{
    size_t bits = 8 * hcy_dtype_size(dtype);
    struct hcy__value value = { .source = HCY__LITERAL, .is_integer = 1 };
    if (function == HCY__FN_CUMSUM || function == HCY__FN_CUMPROD)
        return hcy__emit_literal(e, function == HCY__FN_CUMPROD, t);
    if (hcy__kind_of(dtype) == HCY__KIND_REAL)
        return hcy__emit_literal(e, function == HCY__FN_CUMMAX ? -INFINITY : INFINITY, t);
    /* The ends of an integer's type, booleans among them, in 64 bits. */
    uint64_t largest = dtype == HCY_BOOL ? 1 : UINT64_MAX >> (64 - bits + !hcy__is_unsigned(dtype));
    uint64_t smallest = t == HCY_EVAL_I64 ? ~largest : 0;
    value.bits = function == HCY__FN_CUMMAX ? smallest : largest;
    return hcy__emit_value(e, value, t);
}
