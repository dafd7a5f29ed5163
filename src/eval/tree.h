/* tree.h - a text of <halcyon/eval.h> as a tree.  Plain data of a fixed size, made by hcy__parse(). */
#ifndef HCY_EVAL_TREE_H
#define HCY_EVAL_TREE_H

#include <halcyon/eval.h>
#include <stdbool.h>

enum { HCY__NODES = 256, HCY__STATEMENTS = 16, HCY__DEFINITIONS = 16, HCY__WHERE = 300 };

#define HCY__NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

/* X(NAME, its name in a text or "", fewest and most arguments) */
#define HCY__FUNCTIONS(X)                                                                                    \
    X(ADD, "", 2, 2) X(SUB, "", 2, 2) X(MUL, "", 2, 2) X(DIV, "", 2, 2) X(FLOORDIV, "", 2, 2) X(MOD, "", 2, 2) \
    X(NEG, "", 1, 1) X(POW, "", 2, 2) X(AND, "", 2, 2) X(OR, "", 2, 2) X(XOR, "", 2, 2) X(INVERT, "", 1, 1)     \
    X(TRUTH_AND, "", 2, 2) X(TRUTH_OR, "", 2, 2) X(TRUTH_NOT, "", 1, 1)                                         \
    X(EQ, "", 2, 2) X(NE, "", 2, 2) X(LT, "", 2, 2) X(LE, "", 2, 2) X(GT, "", 2, 2) X(GE, "", 2, 2)             \
    X(ABS, "abs", 1, 1) X(ABS2, "abs2", 1, 1) X(SIGN, "sign", 1, 1) X(SQRT, "sqrt", 1, 1)                       \
    X(FLOOR, "floor", 1, 1) X(CEIL, "ceil", 1, 1) X(ROUND, "round", 1, 1) X(CONJ, "conj", 1, 1)                 \
    X(REAL, "real", 1, 1) X(IMAG, "imag", 1, 1) X(COMPLEX, "complex", 2, 2) X(MINIMUM, "minimum", 2, 2)         \
    X(MAXIMUM, "maximum", 2, 2) X(CLIP, "clip", 3, 3) X(WHERE, "where", 3, 3) X(FMA, "fma", 3, 3)               \
    X(ISNAN, "isnan", 1, 1)                                                                                     \
    X(EXP, "exp", 1, 1) X(EXP2, "exp2", 1, 1) X(EXPM1, "expm1", 1, 1) X(LOG, "log", 1, 1) X(LOG2, "log2", 1, 1) \
    X(LOG10, "log10", 1, 1) X(LOG1P, "log1p", 1, 1) X(SIN, "sin", 1, 1) X(COS, "cos", 1, 1) X(TAN, "tan", 1, 1) \
    X(ASIN, "asin", 1, 1) X(ACOS, "acos", 1, 1) X(ATAN, "atan", 1, 1) X(ATAN2, "atan2", 2, 2)                   \
    X(SINH, "sinh", 1, 1) X(COSH, "cosh", 1, 1) X(TANH, "tanh", 1, 1) X(ERF, "erf", 1, 1)                       \
    X(RSQRT, "rsqrt", 1, 1) X(HYPOT, "hypot", 2, 2) X(FMOD, "fmod", 2, 2) X(COPYSIGN, "copysign", 2, 2)         \
    X(LDEXP, "ldexp", 2, 2) X(FRACTION, "fraction", 1, 1) X(EXPONENT, "exponent", 1, 1) X(ANGLE, "angle", 1, 1) \
    X(RANDOM, "random", 2, 3) X(UNIFORM, "uniform", 2, 3) X(UNIFORM32, "uniform32", 2, 3) X(NORMAL, "normal", 2, 3) \
    X(BELOW, "below", 2, 2) X(POISSON, "poisson", 2, 2)                                                          \
    X(SUM, "sum", 1, 1) X(PROD, "prod", 1, 1) X(MIN, "min", 1, 1) X(MAX, "max", 1, 1)                           \
    X(ANY, "any", 1, 1) X(ALL, "all", 1, 1) X(COUNT, "count", 1, 1) X(MEAN, "mean", 1, 1) X(DOT, "dot", 2, 2)   \
    X(VDOT, "vdot", 2, 2) X(NORM, "norm", 1, 1) X(NORM1, "norm1", 1, 1) X(NORMINF, "norminf", 1, 1)             \
    X(ARGMIN, "argmin", 1, 1) X(ARGMAX, "argmax", 1, 1) X(VAR, "var", 1, 1) X(STD, "std", 1, 1) \
    X(REDUCE, "reduce", 1, 2) /* behind its function; its arguments are x, what joins two, what nothing makes */     \
    X(CUMSUM, "cumsum", 1, 1) X(CUMPROD, "cumprod", 1, 1) X(CUMMIN, "cummin", 1, 1) X(CUMMAX, "cummax", 1, 1) \
    X(SCAN, "scan", 1, 2)

enum hcy__function {
#define HCY__ENUM(name, ...) HCY__FN_##name,
    HCY__FUNCTIONS(HCY__ENUM)
#undef HCY__ENUM
    HCY__FN_CAST /* to the node's dtype, or as below */
};
/* Nothing but some integers becomes another type: all of them float64; those of 64 bits, whose sums would wrap; those
 * with a sign int64, which has the absolute values of all shorter ones. */
enum { HCY__CAST_INTEGERS = 0, HCY__CAST_LONG_INTEGERS = -1, HCY__CAST_SIGNED = -2 };

enum hcy__node_kind {
    HCY__INTEGER, HCY__REAL, HCY__IMAGINARY, /* numbers: integer, real, real times 1j */
    HCY__OPERAND,                            /* operand */
    HCY__INDEX,
    HCY__PLACE,                              /* an element's number among those that are reduced to one */
    HCY__CALL,                               /* function, kids */
    HCY__LEFT, HCY__RIGHT,                   /* of two that are joined, what was before and what comes behind */
    HCY__HOW_MANY                            /* elements that the reduction kids[0] takes */
};

/* Along which axes a reduction or a scan goes, as they are written: -1 is the last one.  n 0: all. */
struct hcy__axes {
    signed char n, keep, exclusive, of[HCY_ARRAY_MAX_RANK];
};

struct hcy__node {
    int kind, function, column, dtype;
    int kids[3]; /* -1: none */
    int64_t integer;
    double real;
    int operand;
    int temporary; /* of a reduction or a scan, once it is compiled: its result's number; else -1 */
    int alike;     /* the first node that is the same expression, itself if none is (alike.c) */
    struct hcy__axes axes;
    const char *join; /* of REDUCE and SCAN: the function's name in the text */
};

struct hcy__tree {
    const char *text;
    int n_nodes, n_statements, n_definitions;
    bool fast;  /* it begins with "fast:" */
    bool apart; /* each statement makes its own reductions and scans, of names that others have too */
    struct hcy__node nodes[HCY__NODES];
    struct {
        int target, value, column; /* an operand, a node */
    } statements[HCY__STATEMENTS];
    struct {
        const char *begin, *end; /* in the text */
    } definitions[HCY__DEFINITIONS];
};

/* HCY_EINVAL, with the column; HCY_EUNSUPPORTED: longer than a tree has room for. */
int hcy__parse(struct hcy__tree *tree, const char *text, const hcy_operand *operands, size_t n);
/* The line that the column is on, and both their numbers where there are several lines. */
const char *hcy__where(char where[HCY__WHERE], const char *text, int column);
/* hcy_fail(), with the text's column. */
int hcy__refuse(const struct hcy__tree *tree, int column, const char *what, const char *which);
/* "sum", or the operator's sign. */
const char *hcy__function_name(const struct hcy__node *node);

#endif
