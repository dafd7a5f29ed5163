/* halcyon/formula.h - an expression of <halcyon/eval.h> that is built by calls: for who has it as data, or makes it as
 * the program goes.
 *
 * A formula is terms, operands, and statements, which assign terms to arrays.  What comes of the calls is a text of
 * hcy_eval(), whose operations, types, bits, limits and refusals it has; what is compiled for it is kept as a text's
 * is.
 * For example:
 *
 *     static int scale_and_add(hcy_queue *queue, hcy_array *y, hcy_array *x)
 *     {
 *         hcy_formula *f = NULL;
 *         int status = hcy_formula_create(&f, 0);
 *         hcy_term of_x = hcy_formula_operand(f, hcy_op_array("x", x)),
 *                  of_y = hcy_formula_operand(f, hcy_op_array("y", y)),
 *                  a = hcy_formula_operand(f, hcy_op_real("a", 0.5)),
 *                  sum = HCY_TERM(f, "+", HCY_TERM(f, "*", a, of_x), of_y);
 *         if (!status)
 *             status = hcy_formula_assign(f, "y", sum); // y = ((a * x) + y)
 *         if (!status)
 *             status = hcy_formula_eval(queue, f);
 *         hcy_formula_release(f);
 *         return status;
 *     }
 *
 * Terms do not change.  One may be an argument of many, and is computed once in a statement.  It stands for what its
 * operands were when it was made: one that reads an array which a statement has written since is refused, and the
 * array's new numbers are those of another hcy_formula_operand().  So is a call of one's own function that reads it.
 * What is written is known by its name: a term of an array under another name, or of a view of it, reads what is there
 * when its statement is evaluated.
 *
 * The first failure of a call stays: terms that are made after it are none, and hcy_formula_assign(), _text() and
 * _eval() return it, so that nobody needs to look in between.  Such a formula is good for nothing but to be released.
 * One thread at a time may change a formula; several may evaluate it while none does.
 */
#ifndef HALCYON_FORMULA_H
#define HALCYON_FORMULA_H

#include <halcyon/eval.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

typedef struct hcy_formula hcy_formula;

/* A value in a formula, passed by value; it goes with the formula: one of a formula that was released must not be used,
 * for another may lie where that lay. */
typedef struct hcy_term {
    hcy_formula *formula;
    int at; /* -1: it is none */
} hcy_term;

/* The device's own functions, as of a text that begins with "fast:". */
#define HCY_FORMULA_FAST 1
/* Of hcy_formula_along(). */
#define HCY_FORMULA_KEEPDIMS 1
#define HCY_FORMULA_EXCLUSIVE 2

/* flags: HCY_FORMULA_FAST or 0.  HCY_EINVAL, HCY_ENOMEM. */
HCY_API int hcy_formula_create(hcy_formula **formula, int flags) HCY_MUST_USE;
/* With its terms and its references on arrays; NULL is fine. */
HCY_API void hcy_formula_release(hcy_formula *formula);

/* Terms.  Failures, which stay: HCY_EINVAL (no name, no such sign, a term of another formula or none),
 * HCY_ERANGE (an integer of more than 18 digits: it may be an operand), HCY_EUNSUPPORTED (more than 1024 terms, or more
 * than 8 arguments), HCY_ENOMEM. */

/* An operand; the formula copies the name and takes a reference on the array.  A name that is there stands for this
 * from now on, in the statements before too: they are evaluated with what their names stand for then.  Names that begin
 * with hcy_ are the library's. */
HCY_API hcy_term hcy_formula_operand(hcy_formula *formula, hcy_operand operand);
/* Numbers that take the arrays' type, as those of a text: 2, 0.5, 1 + 2j. */
HCY_API hcy_term hcy_formula_integer(hcy_formula *formula, int64_t x);
HCY_API hcy_term hcy_formula_real(hcy_formula *formula, double x);
HCY_API hcy_term hcy_formula_complex(hcy_formula *formula, double real, double imag);
/* An operator by its sign ("+", "<=", "**"; "-", "~" and "!" of one too), a function of a text or a type by its name
 * ("sin", "where", "float32", "sum"), or one's own.  Without arguments the name alone: "pi", "index", and a function
 * that "reduce" or "scan" are to join by, their first argument. */
HCY_API hcy_term hcy_formula_apply(hcy_formula *formula, const char *what, const hcy_term *arguments, size_t n);
/* The same of a reduction or a scan along these axes, of which -1 is the last one; n_axes 0: all.  flags:
 * HCY_FORMULA_KEEPDIMS, HCY_FORMULA_EXCLUSIVE. */
HCY_API hcy_term hcy_formula_along(hcy_formula *formula, const char *what, const hcy_term *arguments, size_t n,
                                   const int *axes, size_t n_axes, int flags);
/* What a function of one's own is given, by its name there.  No statement reads it, and no other function. */
HCY_API hcy_term hcy_formula_parameter(hcy_formula *formula, const char *name);
/* A function of one's own: its name, those of its parameters, and what it makes of them, in which no operand has the
 * name of a parameter.  It is written whole, in one expression: calls within one another are as many as a text's may
 * be, and what it reads twice is written twice.  The term is its name, as "reduce" and "scan" want it;
 * hcy_formula_apply() calls it by its name. */
HCY_API hcy_term hcy_formula_define(hcy_formula *formula, const char *name, const char *const *parameters, size_t n,
                                    hcy_term body);

/* hcy_formula_apply() with the arguments as further ones. */
#ifdef __cplusplus
static inline hcy_term hcy_term_list(hcy_formula *formula, const char *what, std::initializer_list<hcy_term> list)
{
    return hcy_formula_apply(formula, what, list.begin(), list.size());
}
#define HCY_TERM(formula, what, ...) hcy_term_list((formula), (what), { __VA_ARGS__ })
#else
#define HCY_TERM(formula, what, ...)                                                \
    hcy_formula_apply((formula), (what), (const hcy_term[]){ __VA_ARGS__ },         \
                      sizeof((const hcy_term[]){ __VA_ARGS__ }) / sizeof(hcy_term))
#endif

/* One more statement: the array operand of this name is written.  HCY_EINVAL: there is none, or the term reads what has
 * been written since it was made; HCY_EUNSUPPORTED: a text of more than 64 KiB; HCY_ENOMEM. */
HCY_API int hcy_formula_assign(hcy_formula *formula, const char *array, hcy_term value) HCY_MUST_USE;
/* An operand that is there stands for this from now on: another array, another number.  The text stays.  HCY_EINVAL. */
HCY_API int hcy_formula_set(hcy_formula *formula, hcy_operand operand) HCY_MUST_USE;
/* The text of the statements so far, for hcy_eval() and whatever else takes one.  The formula's, until it changes. */
HCY_API int hcy_formula_text(const char **text, const hcy_formula *formula) HCY_MUST_USE;
/* hcy_eval() of the text and the operands, with its statuses; what is wrong is told by a column of the text. */
HCY_API int hcy_formula_eval(hcy_queue *queue, const hcy_formula *formula) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
