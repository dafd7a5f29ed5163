/* shorthand.c - calls that become others: mean(x) is sum(x) over a count.  Pure functions, any thread. */
#include "parser.h"

static int add_integer(struct hcy__parser *p, int64_t x, int column)
{
    int i = hcy__add_node(p, HCY__INTEGER, column);
    if (i >= 0)
        p->tree->nodes[i].integer = x;
    return i;
}

static int add_cast(struct hcy__parser *p, int column, int x, int dtype)
{
    int i = hcy__add_call(p, HCY__FN_CAST, column, x, -1, -1);
    if (i >= 0)
        p->tree->nodes[i].dtype = dtype;
    return i;
}

/* Sums of shorter integers have 64 bits, and wrap for no array of fewer than 2^32 elements. */
static int add_mean(struct hcy__parser *p, int column, int x)
{
    x = add_cast(p, column, x, HCY__CAST_LONG_INTEGERS);
    int sum = hcy__add_call(p, HCY__FN_SUM, column, x, -1, -1), n = hcy__add_node(p, HCY__HOW_MANY, column);
    if (n >= 0)
        p->tree->nodes[n].kids[0] = sum;
    return hcy__add_call(p, HCY__FN_DIV, column, sum, n, -1);
}

/* A reduction whose result stands beside what it was made of: the axes stay, with one element. */
static int add_kept(struct hcy__parser *p, int function, int column, int x)
{
    signed char keep = p->axes.keep;
    p->axes.keep = 1;
    int i = function == HCY__FN_MEAN ? add_mean(p, column, x) : hcy__add_call(p, function, column, x, -1, -1);
    p->axes.keep = keep;
    return i;
}

/* A mean that elements are compared with.  The sum of the one that there is, is that number, but in a place of its own:
 * else each element would divide by the count once more, which takes longer than all else. */
static int add_kept_mean(struct hcy__parser *p, int column, int x)
{
    return add_kept(p, HCY__FN_SUM, column, add_kept(p, HCY__FN_MEAN, column, x));
}

/* The first element that equals the extreme one, or is not a number. */
static int add_arg_extreme(struct hcy__parser *p, int reduction, int column, int x)
{
    /* x stands here several times and is computed once in a stage, as equal steps are found again; elements that do
     * not match take a number that none has. */
    int extreme = add_kept(p, reduction, column, x),
        same = hcy__add_call(p, HCY__FN_EQ, column, x, extreme, -1),
        nan = hcy__add_call(p, HCY__FN_NE, column, x, x, -1),
        either = hcy__add_call(p, HCY__FN_TRUTH_OR, column, same, nan, -1),
        index = hcy__add_node(p, p->axes.n ? HCY__PLACE : HCY__INDEX, column), 
        none = add_integer(p, INT64_MAX, column),
        where = hcy__add_call(p, HCY__FN_WHERE, column, either, index, none);
    return hcy__add_call(p, HCY__FN_MIN, column, where, -1, -1);
}

int hcy__write_out(struct hcy__parser *p, int function, int column, const int *kids)
{
    int a = kids[0], b = kids[1], zero = -1;
    switch (function) {
    case HCY__FN_MEAN:
        return add_mean(p, column, a);
    case HCY__FN_ANY:
    case HCY__FN_ALL:
    case HCY__FN_COUNT:
        /* How many are there that are, or are not. */
        zero = add_integer(p, 0, column);
        a = hcy__add_call(p, function == HCY__FN_ALL ? HCY__FN_EQ : HCY__FN_NE, column, a, zero, -1);
        a = hcy__add_call(p, HCY__FN_SUM, column, a, -1, -1);
        return function == HCY__FN_COUNT
                   ? a
                   : hcy__add_call(p, function == HCY__FN_ALL ? HCY__FN_EQ : HCY__FN_NE, column, a, zero, -1);
    case HCY__FN_VAR:
    case HCY__FN_STD:
        /* In two passes: squares of the numbers themselves would cancel where the mean is large. */
        a = hcy__add_call(p, HCY__FN_SUB, column, a, add_kept_mean(p, column, a), -1);
        a = add_mean(p, column, hcy__add_call(p, HCY__FN_ABS2, column, a, -1, -1));
        return function == HCY__FN_VAR ? a : hcy__add_call(p, HCY__FN_SQRT, column, a, -1, -1);
    case HCY__FN_VDOT:
        a = hcy__add_call(p, HCY__FN_CONJ, column, a, -1, -1); /* fall through */
    case HCY__FN_DOT:
        return hcy__add_call(p, HCY__FN_SUM, column, hcy__add_call(p, HCY__FN_MUL, column, a, b, -1), -1, -1);
    case HCY__FN_NORM:
        /* Squares of small integers would wrap, as those of dot() do. */
        a = add_cast(p, column, a, HCY__CAST_INTEGERS);
        a = hcy__add_call(p, HCY__FN_SUM, column, hcy__add_call(p, HCY__FN_ABS2, column, a, -1, -1), -1, -1);
        return hcy__add_call(p, HCY__FN_SQRT, column, a, -1, -1);
    case HCY__FN_NORM1:
    case HCY__FN_NORMINF:
        /* The least integer has no absolute value of its type. */
        a = hcy__add_call(p, HCY__FN_ABS, column, add_cast(p, column, a, HCY__CAST_SIGNED), -1, -1);
        return hcy__add_call(p, function == HCY__FN_NORM1 ? HCY__FN_SUM : HCY__FN_MAX, column, a, -1, -1);
    case HCY__FN_ARGMIN:
        return add_arg_extreme(p, HCY__FN_MIN, column, a);
    case HCY__FN_ARGMAX:
        return add_arg_extreme(p, HCY__FN_MAX, column, a);
    default:
        return hcy__add_call(p, function, column, a, b, kids[2]);
    }
}
