/* formula.c - a text of hcy_eval() that is written by calls.  A formula is its owner's: one thread at a time changes
 * it.
 *
 * Terms are kept as they were made and written when a statement needs them: what is read twice, or lies deep, as a
 * local before it, all else in its place.  The text is the one form of an expression that everything else takes.
 */
#include <halcyon/formula.h>

#include "array_priv.h"
#include "parser.h"
#include "plain_locale.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls within one another that are written in one place: a text has 64 at most, of which
 * a sign and its parentheses are three. */
enum { MOST_TERMS = 1024, MOST_ARGUMENTS = 8, DEEPEST = 16, LONGEST = 65536, NAME = 61 };

struct term {
    char what[64];            /* a name, a number, a function or a sign */
    char along[80];           /* ", axis=(0, -1)" */
    int arguments[MOST_ARGUMENTS], n;
    int operand, statements;  /* -1: it is none; how many there were before it */
    int body;                 /* a term: of the function of one's own that this names or calls; -1: it is none */
    int depth, local, uses;   /* since the last local; its number, 0: it is none; in this statement */
    bool reached;             /* by this statement, in locals too */
    bool parameter;
};

struct operand {
    char name[NAME];
    hcy_operand value; /* without a name, with a reference on the array */
    int written;       /* the last statement that did so; 0: none */
};

struct hcy_formula {
    hcy_error failed;
    struct term *terms;
    struct operand *operands;
    hcy_operand *list; /* of the operands, as hcy_eval() takes them */
    char *text;
    size_t size, room; /* of the text, without its end */
    int n_terms, n_operands, n_statements, n_locals;
    bool in_body; /* of a function, which knows no locals */
};

int hcy_formula_create(hcy_formula **out, int flags)
{
    if (!out || (flags & ~HCY_FORMULA_FAST))
        return hcy_fail(HCY_EINVAL, "hcy_formula_create: %s", out ? "no such flag" : "no place for the formula");
    hcy_formula *f = *out = calloc(1, sizeof *f);
    static const char fast[] = "fast:\n";
    if (f)
        f->text = calloc(1, f->room = sizeof fast);
    if (!f || !f->text) {
        free(f);
        *out = NULL;
        return hcy_fail(HCY_ENOMEM, "out of memory for a formula");
    }
    if (flags & HCY_FORMULA_FAST)
        memcpy(f->text, fast, f->size = sizeof fast - 1);
    return 0;
}

void hcy_formula_release(hcy_formula *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->n_operands; i++)
        hcy_array_release(f->operands[i].value.array);
    free(f->terms);
    free(f->operands);
    free(f->list);
    free(f->text);
    free(f);
}

/* --- Failures, the first of which stays --- */

static int check_formula(const hcy_formula *f, const char *function)
{
    if (!f)
        return hcy_fail(HCY_EINVAL, "%s: no formula", function);
    return f->failed.status ? hcy_fail_again(&f->failed) : 0;
}

/* A status that was told. */
static int keep_failure(hcy_formula *f, int status)
{
    if (status && f && !f->failed.status)
        f->failed = *hcy_last_error();
    return status;
}

static hcy_term give_up(hcy_formula *f, int status)
{
    (void)keep_failure(f, status);
    return (hcy_term){ f, -1 };
}

static int check_name(const char *name, const char *function)
{
    if (name && hcy__is_name(name) && strncmp(name, "hcy_", 4))
        return 0;
    return hcy_fail(HCY_EINVAL, "%s: %s is no name of letters, digits and _, at most 60, without hcy_ before them",
                    function, name ? name : "NULL");
}

static int check_term(const hcy_formula *f, hcy_term term, const char *function)
{
    if (term.formula == f && term.at >= 0 && term.at < f->n_terms)
        return 0;
    return hcy_fail(HCY_EINVAL, "%s: %s", function,
                    term.formula == f ? "there is no such term" : "a term of another formula, or of none");
}

/* --- Terms --- */

static int find_operand(const hcy_formula *f, const char *name)
{
    int i = 0;
    while (i < f->n_operands && strcmp(f->operands[i].name, name))
        i++;
    return i;
}

/* Of the function of this name; -1: there is none of one's own yet. */
static int find_body(const hcy_formula *f, const char *name)
{
    int i = 0;
    while (i < f->n_terms && (f->terms[i].body < 0 || strcmp(f->terms[i].what, name)))
        i++;
    return i < f->n_terms ? f->terms[i].body : -1;
}

/* The list with room for one more than the n that it has; NULL: out of memory, and it is where it was. */
static void *grow(void *list, int n, size_t size)
{
    void *more = n & (n - 1) ? list : realloc(list, size * (size_t)(n ? 2 * n : 1));
    if (!more)
        (void)hcy_fail(HCY_ENOMEM, "out of memory for a formula");
    return more;
}

static hcy_term add_term(hcy_formula *f, const char *what, const hcy_term *arguments, size_t n)
{
    struct term term = { .operand = -1, .body = find_body(f, what), .statements = f->n_statements, .n = (int)n };
    if (n > MOST_ARGUMENTS || f->n_terms == MOST_TERMS)
        return give_up(f, hcy_fail(HCY_EUNSUPPORTED, "a formula of more than %d terms, or %d arguments", MOST_TERMS,
                                   MOST_ARGUMENTS));
    struct term *more = grow(f->terms, f->n_terms, sizeof term);
    if (!more)
        return give_up(f, HCY_ENOMEM);
    f->terms = more;
    for (size_t i = 0; i < n; i++)
        if (check_term(f, arguments[i], what))
            return give_up(f, HCY_EINVAL);
    snprintf(term.what, sizeof term.what, "%s", what);
    for (int i = 0; i < term.n; i++) {
        term.arguments[i] = arguments[i].at;
        if (f->terms[arguments[i].at].depth >= term.depth)
            term.depth = f->terms[arguments[i].at].depth + 1;
    }
    term.depth %= DEEPEST;
    f->terms[f->n_terms] = term;
    return (hcy_term){ f, f->n_terms++ };
}

static bool is_local(const struct term *term)
{
    return term->n && (term->uses > 1 || !term->depth);
}

hcy_term hcy_formula_integer(hcy_formula *f, int64_t x)
{
    char what[32];
    int status = check_formula(f, "hcy_formula_integer");
    /* No text has more digits. */
    if (!status && (x > 999999999999999999 || x < -999999999999999999))
        status = hcy_fail(HCY_ERANGE, "hcy_formula_integer: more than 18 digits; hcy_op_integer() takes them");
    if (status)
        return give_up(f, status);
    snprintf(what, sizeof what, x < 0 ? "(%lld)" : "%lld", (long long)x);
    return add_term(f, what, NULL, 0);
}

/* What strtod() makes the same double of, and no integer. */
static void write_real(char what[32], double x)
{
    char digits[32];
    hcy__plain plain = hcy__plain_enter();
    snprintf(digits, sizeof digits, "%.17g", fabs(x));
    hcy__plain_leave(plain);
    if (isinf(x))
        strcpy(digits, "1e999");
    else if (!strpbrk(digits, ".e"))
        strcat(digits, ".0");
    snprintf(what, 32, signbit(x) ? "(-%s)" : "%s", digits);
}

hcy_term hcy_formula_real(hcy_formula *f, double x)
{
    char what[32] = "(1e999 - 1e999)";
    int status = check_formula(f, "hcy_formula_real");
    if (status)
        return give_up(f, status);
    if (!isnan(x))
        write_real(what, x);
    return add_term(f, what, NULL, 0);
}

hcy_term hcy_formula_complex(hcy_formula *f, double real, double imag)
{
    hcy_term parts[2] = { hcy_formula_real(f, real), hcy_formula_real(f, imag) };
    return hcy_formula_apply(f, "complex", parts, 2);
}

hcy_term hcy_formula_along(hcy_formula *f, const char *what, const hcy_term *arguments, size_t n, const int *axes,
                           size_t n_axes, int flags)
{
    char along[80] = "";
    size_t at = 0;
    int status = check_formula(f, "hcy_formula");
    bool known = what && (hcy__is_operator(what, n) || (hcy__is_name(what) && strncmp(what, "hcy_", 4)));
    if (!status && (!known || (n && !arguments) || (n_axes && !axes) ||
                    (flags & ~(HCY_FORMULA_KEEPDIMS | HCY_FORMULA_EXCLUSIVE)) || ((n_axes || flags) && !n)))
        status = hcy_fail(HCY_EINVAL, "hcy_formula: %s of %zu arguments is no function or sign of so many, or its axes "
                                      "or flags are none", what ? what : "NULL", n);
    for (size_t i = 0; i < n_axes && !status; i++)
        if (n_axes > HCY_ARRAY_MAX_RANK || axes[i] < -HCY_ARRAY_MAX_RANK || axes[i] >= HCY_ARRAY_MAX_RANK)
            status = hcy_fail(HCY_EINVAL, "hcy_formula_along: an array has %d axes at most", HCY_ARRAY_MAX_RANK);
        else
            at += (size_t)sprintf(along + at, "%s%d", i ? ", " : ", axis=(", axes[i]);
    if (status)
        return give_up(f, status);
    sprintf(along + at, "%s%s%s", n_axes ? ")" : "", flags & HCY_FORMULA_KEEPDIMS ? ", keepdims=True" : "",
            flags & HCY_FORMULA_EXCLUSIVE ? ", exclusive=True" : "");
    hcy_term term = add_term(f, what, arguments, n);
    if (term.at >= 0)
        strcpy(f->terms[term.at].along, along);
    /* The name alone may be an operand's. */
    if (term.at >= 0 && !n && find_operand(f, what) < f->n_operands)
        f->terms[term.at].operand = find_operand(f, what);
    return term;
}

hcy_term hcy_formula_apply(hcy_formula *f, const char *what, const hcy_term *arguments, size_t n)
{
    return hcy_formula_along(f, what, arguments, n, NULL, 0, 0);
}

hcy_term hcy_formula_parameter(hcy_formula *f, const char *name)
{
    int status = check_formula(f, "hcy_formula_parameter");
    if (!status)
        status = check_name(name, "hcy_formula_parameter");
    if (status)
        return give_up(f, status);
    hcy_term term = add_term(f, name, NULL, 0);
    if (term.at >= 0)
        f->terms[term.at].parameter = true;
    return term;
}

/* --- Operands --- */

static int set_operand(hcy_formula *f, int i, hcy_operand value)
{
    const bool is_array = value.kind == HCY_OPERAND_ARRAY;
    if (value.kind < HCY_OPERAND_ARRAY || value.kind > HCY_OPERAND_COMPLEX || (is_array && !value.array))
        return hcy_fail(HCY_EINVAL, "hcy_formula: operand %s is neither an array nor a number", value.name);
    hcy_array *before = f->operands[i].value.array;
    value.array = is_array ? hcy_array_retain(value.array) : NULL;
    value.name = NULL;
    f->operands[i].value = value;
    hcy_array_release(before);
    /* A list that grows takes the names elsewhere. */
    for (int k = 0; k < f->n_operands; k++) {
        f->list[k] = f->operands[k].value;
        f->list[k].name = f->operands[k].name;
    }
    return 0;
}

static int add_operand(hcy_formula *f, const char *name)
{
    const int n = f->n_operands;
    struct operand *operands = grow(f->operands, n, sizeof *operands);
    if (!operands)
        return HCY_ENOMEM;
    f->operands = operands;
    hcy_operand *list = grow(f->list, n, sizeof *list);
    if (!list)
        return HCY_ENOMEM;
    f->list = list;
    memset(&f->operands[n], 0, sizeof f->operands[n]);
    strcpy(f->operands[n].name, name);
    f->operands[n].value = hcy_op_integer(NULL, 0);
    f->n_operands++;
    return 0;
}

/* The place of the operand of this name, behind the last one where there is none. */
static int place_operand(int *i, const hcy_formula *f, const char *name, const char *who)
{
    int status = check_formula(f, who);
    if (!status)
        status = check_name(name, who);
    if (!status)
        *i = find_operand(f, name);
    return status;
}

hcy_term hcy_formula_operand(hcy_formula *f, hcy_operand operand)
{
    int i = 0, status = place_operand(&i, f, operand.name, "hcy_formula_operand");
    if (!status && i == f->n_operands)
        status = add_operand(f, operand.name);
    if (!status)
        status = set_operand(f, i, operand);
    if (status)
        return give_up(f, status);
    hcy_term term = add_term(f, operand.name, NULL, 0);
    if (term.at >= 0)
        f->terms[term.at].operand = i;
    return term;
}

int hcy_formula_set(hcy_formula *f, hcy_operand operand)
{
    int i = 0, status = place_operand(&i, f, operand.name, "hcy_formula_set");
    if (!status && i == f->n_operands)
        status = hcy_fail(HCY_EINVAL, "hcy_formula_set: no operand is called %s", operand.name);
    return status ? status : set_operand(f, i, operand);
}

/* --- The text --- */

static void write_text(hcy_formula *f, const char *format, ...)
{
    va_list list;
    if (f->failed.status)
        return;
    /* What is written at once is a name, a number, axes or less. */
    enum { MOST = 256 };
    if (f->size + MOST > f->room) {
        char *more = realloc(f->text, f->room = 2 * f->room + MOST);
        if (!more) {
            (void)keep_failure(f, hcy_fail(HCY_ENOMEM, "out of memory for a formula"));
            return;
        }
        f->text = more;
    }
    va_start(list, format);
    f->size += (size_t)vsnprintf(f->text + f->size, MOST, format, list);
    va_end(list);
    if (f->size > LONGEST)
        (void)keep_failure(f, hcy_fail(HCY_EUNSUPPORTED, "a formula of more than %d characters", LONGEST));
}

static void write_term(hcy_formula *f, int at);

static void write_call(hcy_formula *f, const struct term *t)
{
    const bool infix = hcy__is_operator(t->what, (size_t)t->n);
    if (t->n && infix)
        write_text(f, t->n == 1 ? "(%s" : "(", t->what);
    else
        write_text(f, t->n ? "%s(" : "%s", t->what);
    for (int i = 0; i < t->n && !f->failed.status; i++) {
        if (i)
            write_text(f, infix ? " %s " : "%s ", infix ? t->what : ",");
        write_term(f, t->arguments[i]);
    }
    write_text(f, t->n ? "%s)" : "", t->along);
}

static void write_term(hcy_formula *f, int at)
{
    const struct term *t = &f->terms[at];
    if (t->local && !f->in_body)
        write_text(f, "hcy_%d", t->local);
    else
        write_call(f, t);
}

/* Counts where the terms that this one is made of will be written. */
static void count_uses(hcy_formula *f, int at)
{
    for (int i = 0; i <= at; i++)
        f->terms[i].uses = f->terms[i].reached = i == at;
    /* Arguments were made before what takes them. */
    for (int i = at; i >= 0; i--) {
        struct term *t = &f->terms[i];
        for (int k = 0; k < t->n && t->reached; k++) {
            f->terms[t->arguments[k]].reached = true;
            f->terms[t->arguments[k]].uses += t->uses && !t->local;
        }
    }
}

static int check_operand(const hcy_formula *f, int i, int statements)
{
    if (i < 0 || f->operands[i].written <= statements)
        return 0;
    return hcy_fail(HCY_EINVAL, "hcy_formula: a term reads %s as it was before a statement wrote it; "
                                "hcy_formula_operand() gives one that reads it anew", f->operands[i].name);
}

/* What a function's body reads, it reads where it is called: that must be as old as the call. */
static int check_body(const hcy_formula *f, int at, int statements, bool seen[MOST_TERMS])
{
    const struct term *t = &f->terms[at];
    if (seen[at])
        return 0;
    seen[at] = true;
    int status = check_operand(f, t->operand, statements);
    if (!status && t->body >= 0)
        status = check_body(f, t->body, statements, seen);
    for (int i = 0; i < t->n && !status; i++)
        status = check_body(f, t->arguments[i], statements, seen);
    return status;
}

/* Refuses what is stale among the terms that were reached, functions' bodies included. */
static int check_reads(const hcy_formula *f, int at)
{
    int status = 0;
    for (int i = 0; i <= at && !status; i++) {
        const struct term *t = &f->terms[i];
        if (!t->reached)
            continue;
        status = check_operand(f, t->operand, t->statements);
        if (!status && t->body >= 0) {
            bool seen[MOST_TERMS] = { false };
            status = check_body(f, t->body, t->statements, seen);
        }
    }
    return status;
}

/* Refuses what the text would not tell apart: parameters that are none of these, and operands that are called like one
 * of them. */
static int check_parameters(const hcy_formula *f, const char *const *parameters, size_t n, int at)
{
    for (int i = 0; i <= at; i++) {
        const struct term *t = &f->terms[i];
        size_t k = 0;
        while (k < n && strcmp(parameters[k], t->what))
            k++;
        if (t->reached && t->parameter && k == n)
            return hcy_fail(HCY_EINVAL, "hcy_formula: %s is a parameter of another function, or of none", t->what);
        if (t->reached && t->operand >= 0 && k < n)
            return hcy_fail(HCY_EINVAL, "hcy_formula_define: %s is a parameter and an operand that the function reads",
                            t->what);
    }
    return 0;
}

static int check_value(hcy_formula *f, const char *const *parameters, size_t n, int at)
{
    count_uses(f, at);
    int status = check_parameters(f, parameters, n, at);
    return status ? status : check_reads(f, at);
}

/* A failure leaves half a statement behind, which nobody sees: the formula has failed. */
static void write_locals(hcy_formula *f, int end)
{
    for (int i = 0; i < end; i++) {
        struct term *t = &f->terms[i];
        if (!t->uses || t->local || !is_local(t))
            continue;
        write_text(f, "hcy_%d = ", f->n_locals + 1);
        write_call(f, t);
        write_text(f, ";\n");
        t->local = ++f->n_locals;
    }
}

int hcy_formula_assign(hcy_formula *f, const char *array, hcy_term value)
{
    int status = check_formula(f, "hcy_formula_assign");
    if (!status)
        status = check_term(f, value, "hcy_formula_assign");
    int i = status || !array ? -1 : find_operand(f, array);
    if (!status && (i < 0 || i == f->n_operands || f->operands[i].value.kind != HCY_OPERAND_ARRAY))
        status = hcy_fail(HCY_EINVAL, "hcy_formula_assign: no array is called %s", array ? array : "NULL");
    if (!status)
        status = check_value(f, NULL, 0, value.at);
    if (status)
        return keep_failure(f, status);
    write_locals(f, value.at);
    write_text(f, "%s = ", array);
    write_term(f, value.at);
    write_text(f, ";\n");
    f->operands[i].written = ++f->n_statements;
    return f->failed.status;
}

hcy_term hcy_formula_define(hcy_formula *f, const char *name, const char *const *parameters, size_t n, hcy_term body)
{
    int status = check_formula(f, "hcy_formula_define");
    if (!status)
        status = check_name(name, "hcy_formula_define");
    if (!status)
        status = check_term(f, body, "hcy_formula_define");
    if (!status && (!parameters || !n))
        status = hcy_fail(HCY_EINVAL, "hcy_formula_define: %s has no parameters", name);
    for (size_t i = 0; i < n && !status; i++)
        status = check_name(parameters[i], "hcy_formula_define");
    if (!status)
        status = check_value(f, parameters, n, body.at);
    if (status)
        return give_up(f, status);
    write_text(f, "%s(%s", name, parameters[0]);
    for (size_t i = 1; i < n; i++)
        write_text(f, ", %s", parameters[i]);
    write_text(f, ") = ");
    f->in_body = true;
    write_term(f, body.at);
    f->in_body = false;
    write_text(f, ";\n");
    hcy_term term = f->failed.status ? (hcy_term){ f, -1 } : add_term(f, name, NULL, 0);
    /* Calls of it may have been made already. */
    for (int i = 0; i <= term.at; i++)
        if (!strcmp(f->terms[i].what, name))
            f->terms[i].body = body.at;
    return term;
}

int hcy_formula_text(const char **text, const hcy_formula *f)
{
    int status = text ? check_formula(f, "hcy_formula_text")
                      : hcy_fail(HCY_EINVAL, "hcy_formula_text: no place for it");
    if (text)
        *text = status ? NULL : f->text;
    return status;
}

int hcy_formula_eval(hcy_queue *queue, const hcy_formula *f)
{
    int status = check_formula(f, "hcy_formula_eval");
    return status ? status : hcy_eval(queue, f->text, f->list, (size_t)f->n_operands);
}
