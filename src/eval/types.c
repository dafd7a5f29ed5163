/* types.c - types of expressions.  Pure functions, any thread. */
#include "types.h"

#include "eval_format.h"

#include <halcyon/array.h>

int hcy__kind_of(int dtype)
{
    if (dtype == HCY_BOOL)
        return HCY__KIND_BOOL;
    if (dtype <= HCY_UINT64)
        return HCY__KIND_INTEGER;
    return dtype <= HCY_FLOAT64 ? HCY__KIND_REAL : HCY__KIND_COMPLEX;
}

bool hcy__is_unsigned(int dtype)
{
    return dtype == HCY_UINT8 || dtype == HCY_UINT16 || dtype == HCY_UINT32 || dtype == HCY_UINT64;
}

int hcy__part_of(int dtype)
{
    if (hcy__kind_of(dtype) != HCY__KIND_COMPLEX)
        return dtype;
    return dtype == HCY_COMPLEX64 ? HCY_FLOAT32 : HCY_FLOAT64;
}

/* A real type: integers to float64 (those of 8 and 16 bits too, as NumPy divides), complex types to their parts. */
static int real_type_of(int dtype)
{
    return hcy__kind_of(dtype) < HCY__KIND_REAL ? HCY_FLOAT64 : hcy__part_of(dtype);
}

int hcy__complex_of(int dtype)
{
    return real_type_of(dtype) == HCY_FLOAT64 ? HCY_COMPLEX128 : HCY_COMPLEX64;
}

static int promote_integers(int a, int b)
{
    /* No integer has all numbers of a signed type and of uint64: NumPy takes a double for these. */
    static const int wider[] = { [1] = HCY_INT16, [2] = HCY_INT32, [4] = HCY_INT64, [8] = HCY_FLOAT64 };
    size_t na = hcy_dtype_size(a), nb = hcy_dtype_size(b);
    if (hcy__is_unsigned(a) == hcy__is_unsigned(b))
        return na < nb ? b : a;
    int with_sign = hcy__is_unsigned(a) ? b : a, without = hcy__is_unsigned(a) ? a : b;
    size_t n = hcy_dtype_size(without);
    /* A signed type that has all numbers of the unsigned one. */
    return hcy_dtype_size(with_sign) > n ? with_sign : wider[n];
}

/* The precision that an integer wants beside floats: 16 bits fit a float32. */
static int real_beside(int dtype)
{
    if (hcy__kind_of(dtype) < HCY__KIND_REAL)
        return hcy_dtype_size(dtype) <= 2 ? HCY_FLOAT32 : HCY_FLOAT64;
    return hcy__part_of(dtype);
}

static int promote_arrays(int a, int b)
{
    int kind_a = hcy__kind_of(a), kind_b = hcy__kind_of(b), kind = kind_a > kind_b ? kind_a : kind_b;
    if (a == b)
        return a;
    if (kind_a == HCY__KIND_BOOL)
        return b;
    if (kind_b == HCY__KIND_BOOL)
        return a;
    if (kind == HCY__KIND_INTEGER)
        return promote_integers(a, b);
    /* What needs no double is a float32, of float16 too, which is for storage alone. */
    int real = real_beside(a) == HCY_FLOAT64 || real_beside(b) == HCY_FLOAT64 ? HCY_FLOAT64 : HCY_FLOAT32;
    return kind == HCY__KIND_COMPLEX ? hcy__complex_of(real) : real;
}

/* An array's type, and a number's kind. */
static int promote_weak(int dtype, int kind)
{
    /* A number of an array's kind does not widen it: 0.5 * x stays a float32 where x is one. */
    if (hcy__kind_of(dtype) >= kind)
        return dtype;
    if (kind == HCY__KIND_INTEGER)
        return HCY_INT64;
    return kind == HCY__KIND_REAL ? real_type_of(dtype) : hcy__complex_of(dtype);
}

struct hcy__type hcy__promote(struct hcy__type a, struct hcy__type b)
{
    struct hcy__type t = { 0, a.weak && b.weak };
    if (a.weak == b.weak)
        t.dtype = promote_arrays(a.dtype, b.dtype);
    else
        t.dtype = a.weak ? promote_weak(b.dtype, hcy__kind_of(a.dtype))
                         : promote_weak(a.dtype, hcy__kind_of(b.dtype));
    return t;
}

enum hcy_eval_type hcy__register_of(int dtype)
{
    switch (hcy__kind_of(dtype)) {
    case HCY__KIND_BOOL:
        return HCY_EVAL_B32;
    case HCY__KIND_INTEGER:
        return hcy__is_unsigned(dtype) ? HCY_EVAL_U64 : HCY_EVAL_I64;
    }
    return real_type_of(dtype) == HCY_FLOAT64 ? HCY_EVAL_F64 : HCY_EVAL_F32;
}

int hcy__memory_of(int dtype)
{
    switch (dtype) {
    case HCY_COMPLEX64:
        return HCY_EVAL_M_F32;
    case HCY_COMPLEX128:
        return HCY_EVAL_M_F64;
    }
    /* Both count in the same order. */
    return dtype - HCY_BOOL;
}

enum hcy_eval_op hcy__wrap_of(int dtype)
{
    switch (dtype) {
    case HCY_INT8:
        return HCY_EVAL_WRAP_I8;
    case HCY_INT16:
        return HCY_EVAL_WRAP_I16;
    case HCY_INT32:
        return HCY_EVAL_WRAP_I32;
    case HCY_UINT8:
        return HCY_EVAL_WRAP_U8;
    case HCY_UINT16:
        return HCY_EVAL_WRAP_U16;
    case HCY_UINT32:
        return HCY_EVAL_WRAP_U32;
    }
    return HCY_EVAL_VALUE;
}

bool hcy__fits(int dtype, int64_t x)
{
    size_t bits = 8 * hcy_dtype_size(dtype);
    /* Types of 64 bits are asked for first: nothing is left to check then, and a shift by 64 is undefined. */
    if (hcy__is_unsigned(dtype))
        return x >= 0 && (bits == 64 || x < (int64_t)1 << bits);
    return bits == 64 || (x >= -((int64_t)1 << (bits - 1)) && x < (int64_t)1 << (bits - 1));
}
