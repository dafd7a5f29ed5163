/* parse.c - a text to a tree: names, numbers, operators by their precedence.  Pure functions, any thread. */
#include "parser.h"

#include "array_priv.h"
#include "plain_locale.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of parentheses, calls and signs within one another. */
enum { DEEPEST = 64 };

static const struct {
    const char *name;
    int fewest, most;
} functions[] = {
#define ROW(fn, name, fewest, most) { name, fewest, most },
    HCY__FUNCTIONS(ROW)
#undef ROW
};

/* Binary operators, from those that bind least.  A longer sign stands before one that it begins with. */
static const struct {
    const char *sign;
    int level, function;
    bool swap; /* a > b is b < a */
} operators[] = {
    { "||", 1, HCY__FN_TRUTH_OR, false }, { "&&", 2, HCY__FN_TRUTH_AND, false },
    { "==", 3, HCY__FN_EQ, false },       { "!=", 3, HCY__FN_NE, false },
    { "<=", 3, HCY__FN_LE, false },       { ">=", 3, HCY__FN_LE, true },
    { "<", 3, HCY__FN_LT, false },        { ">", 3, HCY__FN_LT, true },
    { "|", 4, HCY__FN_OR, false },        { "^", 5, HCY__FN_XOR, false },
    { "&", 6, HCY__FN_AND, false },       { "+", 7, HCY__FN_ADD, false },
    { "-", 7, HCY__FN_SUB, false },       { "**", 0, HCY__FN_POW, false },
    { "*", 8, HCY__FN_MUL, false },       { "//", 8, HCY__FN_FLOORDIV, false },
    { "/", 8, HCY__FN_DIV, false },       { "%", 8, HCY__FN_MOD, false },
};
enum { N_OPERATORS = sizeof operators / sizeof operators[0], LEAST = 1, COMPARISON = 3, SIGN = 9 };

bool hcy__is_operator(const char *sign, size_t n)
{
    bool found = n == 1 && (!strcmp(sign, "-") || !strcmp(sign, "~") || !strcmp(sign, "!"));
    for (int i = 0; i < N_OPERATORS && n == 2 && !found; i++)
        found = !strcmp(operators[i].sign, sign);
    return found;
}

bool hcy__is_name(const char *name)
{
    /* hcy__read_name() cuts a name at 63 characters, so that a longer one would never be found. */
    return (isalpha((unsigned char)*name) || *name == '_') && !name[strspn(name, HCY__NAME_LETTERS)] &&
           strlen(name) <= 60;
}

const char *hcy__where(char where[HCY__WHERE], const char *text, int column)
{
    int line = 1, begin = 0, end = 0;
    /* The column counts the text's characters; who looks for it in an editor has lines, which have their own. */
    for (int i = 0; i < column - 1 && text[i]; i++)
        if (text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    bool many = strchr(text, '\n') != NULL;
    end = begin + (int)strcspn(text + begin, "\n");
    int n = end - begin < 200 ? end - begin : 200;
    if (many)
        snprintf(where, HCY__WHERE, "\"%.*s\", line %d, column %d", n, text + begin, line, column - begin);
    else
        snprintf(where, HCY__WHERE, "\"%.*s\", column %d", n, text, column);
    return where;
}

int hcy__refuse(const struct hcy__tree *tree, int column, const char *what, const char *which)
{
    char where[HCY__WHERE];
    return hcy_fail(HCY_EINVAL, "%s: %s%s", hcy__where(where, tree->text, column), what, which);
}

const char *hcy__function_name(const struct hcy__node *node)
{
    if (node->function == HCY__FN_CAST)
        return hcy_dtype_name(node->dtype);
    if (*functions[node->function].name)
        return functions[node->function].name;
    for (int i = 0; i < N_OPERATORS; i++)
        if (operators[i].function == node->function)
            return operators[i].sign;
    return node->function == HCY__FN_NEG ? "-" : "~";
}

int hcy__column(const struct hcy__parser *p)
{
    return (int)(p->at - p->tree->text) + 1;
}

/* The first thing that is wrong is kept; every function returns at once after it. */
int hcy__complain(struct hcy__parser *p, const char *what, const char *which)
{
    if (!p->status)
        p->status = hcy__refuse(p->tree, hcy__column(p), what, which);
    return -1;
}

void hcy__skip_space(struct hcy__parser *p)
{
    /* "#" and what is behind it on its line is a remark. */
    for (;; p->at += strcspn(p->at, "\n")) {
        while (isspace((unsigned char)*p->at))
            p->at++;
        if (*p->at != '#')
            return;
    }
}

bool hcy__take_sign(struct hcy__parser *p, const char *sign)
{
    size_t n = strlen(sign);
    hcy__skip_space(p);
    if (strncmp(p->at, sign, n))
        return false;
    p->at += n;
    return true;
}

/* --- Nodes --- */

int hcy__add_node(struct hcy__parser *p, int kind, int column)
{
    /* Shorthands add several nodes in a row without a look at each: after a failure none gets in whose arguments are
     * missing. */
    if (p->status)
        return -1;
    if (p->tree->n_nodes == HCY__NODES) {
        p->status = hcy_fail(HCY_EUNSUPPORTED, "\"%.100s...\": more than %d operations and names: cut it up",
                             p->tree->text, HCY__NODES);
        return -1;
    }
    p->tree->nodes[p->tree->n_nodes] = (struct hcy__node){
        .kind = kind, .column = column, .kids = { -1, -1, -1 }, .operand = -1, .temporary = -1
    };
    return p->tree->n_nodes++;
}

int hcy__add_call(struct hcy__parser *p, int function, int column, int a, int b, int c)
{
    int i = hcy__add_node(p, HCY__CALL, column);
    if (i < 0)
        return -1;
    struct hcy__node *node = &p->tree->nodes[i];
    node->function = function;
    node->kids[0] = a;
    node->kids[1] = b;
    node->kids[2] = c;
    node->axes = p->axes;
    return i;
}

/* --- What stands alone --- */

static int parse_level(struct hcy__parser *p, int level);

size_t hcy__read_name(const struct hcy__parser *p, char name[64])
{
    size_t n = 0;
    while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')
        n++;
    snprintf(name, 64, "%.*s", n < 63 ? (int)n : 63, p->at);
    return n;
}

static int parse_number(struct hcy__parser *p)
{
    /* Digits without a point or an exponent are an integer. */
    size_t digits = strspn(p->at, "0123456789"), n = digits;
    if (p->at[n] == '.')
        n += 1 + strspn(p->at + n + 1, "0123456789");
    size_t sign =
        (p->at[n] == 'e' || p->at[n] == 'E') ? 1u + (p->at[n + 1] == '-' || p->at[n + 1] == '+') : 0;
    /* An "e" without digits is no exponent: it is left to be complained of below. */
    if (sign && isdigit((unsigned char)p->at[n + sign]))
        n += sign + strspn(p->at + n + sign, "0123456789");
    bool imaginary = p->at[n] == 'j';
    /* strtod() by itself would take hexadecimal numbers as well, so that it is given what belongs to the number and
     * no more. */
    char copy[64];
    if (n >= sizeof copy)
        return hcy__complain(p, "a number of more than 63 digits", "");
    memcpy(copy, p->at, n);
    copy[n] = 0;
    int kind = imaginary     ? HCY__IMAGINARY
               : n == digits ? HCY__INTEGER
                             : HCY__REAL,
        i = hcy__add_node(p, kind, hcy__column(p));
    if (i < 0)
        return -1;
    struct hcy__node *node = &p->tree->nodes[i];
    if (kind == HCY__INTEGER) {
        /* All integers of 18 digits fit 64 bits, not all of 19 do. */
        if (n > 18)
            return hcy__complain(p, "an integer of more than 18 digits", "");
        node->integer = strtoll(copy, NULL, 10);
    } else {
        /* The process may have a locale whose decimal point is a comma. */
        hcy__plain plain = hcy__plain_enter();
        node->real = strtod(copy, NULL);
        hcy__plain_leave(plain);
    }
    p->at += n + imaginary;
    if (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.')
        return hcy__complain(p, "this does not belong to a number", "");
    return i;
}

int hcy__find_function(const char *name, int *dtype)
{
    *dtype = 0;
    /* Its own name is the operator. */
    if (!strcmp(name, "pow"))
        return HCY__FN_POW;
    for (int f = 0; f < HCY__FN_CAST; f++)
        if (*functions[f].name && !strcmp(functions[f].name, name))
            return f;
    for (int type = HCY_BOOL; type <= HCY_COMPLEX128; type++)
        if (!strcmp(hcy_dtype_name(type), name)) {
            *dtype = type;
            return HCY__FN_CAST;
        }
    return -1;
}

/* "axis=" without the name of an operand: an equals sign alone. */
static bool take_keyword(struct hcy__parser *p, const char *name)
{
    const char *before = p->at;
    if (hcy__take_sign(p, name) && hcy__take_sign(p, "=") && *p->at != '=')
        return true;
    p->at = before;
    return false;
}

static void parse_axis(struct hcy__parser *p, struct hcy__axes *axes)
{
    bool from_end = hcy__take_sign(p, "-");
    hcy__skip_space(p);
    /* An array has 8 axes at most; whether this one has so many is seen when there is one. */
    if (axes->n == HCY_ARRAY_MAX_RANK || !isdigit((unsigned char)*p->at) || isdigit((unsigned char)p->at[1]))
        hcy__complain(p, "the number of an axis is wanted", "");
    else {
        signed char axis = (signed char)(*p->at++ - '0');
        axes->of[axes->n++] = (signed char)(from_end ? -axis : axis);
    }
}

static void parse_axes(struct hcy__parser *p, struct hcy__axes *axes)
{
    bool many = hcy__take_sign(p, "(");
    do
        parse_axis(p, axes);
    while (!p->status && many && hcy__take_sign(p, ","));
    if (!p->status && many && !hcy__take_sign(p, ")"))
        hcy__complain(p, "a closing parenthesis is wanted after the axes", "");
}

static void parse_truth(struct hcy__parser *p, signed char *truth)
{
    *truth = hcy__take_sign(p, "True");
    if (!*truth && !hcy__take_sign(p, "False"))
        hcy__complain(p, "True or False is wanted", "");
}

/* axis=1, axis=(0, 2), keepdims=True, exclusive=True; `seen` has a bit of each that was there. */
static bool parse_keyword(struct hcy__parser *p, struct hcy__axes *axes, unsigned *seen)
{
    static const char *const keywords[] = { "axis", "keepdims", "exclusive" };
    unsigned which = 0;
    hcy__skip_space(p);
    const char *before = p->at;
    while (which < 3 && !take_keyword(p, keywords[which]))
        which++;
    if (which == 3)
        return false;
    if (*seen >> which & 1u) {
        p->at = before;
        hcy__complain(p, "this argument stands twice: ", keywords[which]);
    } else if (which == 0)
        parse_axes(p, axes);
    else
        parse_truth(p, which == 1 ? &axes->keep : &axes->exclusive);
    *seen |= 1u << which;
    return true;
}

int hcy__call_function(struct hcy__parser *p, int function, int column, const int *kids, int n)
{
    if (n < functions[function].fewest || n > functions[function].most || function >= HCY__FN_SUM)
        return hcy__complain(p, "this is no function of so many numbers: ", functions[function].name);
    return hcy__write_out(p, function, column, kids);
}

/* A call of a function of the text's own, behind its parenthesis. */
static int parse_own_call(struct hcy__parser *p, int definition, const char *name)
{
    int arguments[HCY__PARAMETERS], n = 0, wanted = p->definitions[definition].n_parameters;
    do {
        if (n == wanted)
            return hcy__complain(p, "too many arguments for ", name);
        arguments[n++] = parse_level(p, LEAST);
    } while (!p->status && hcy__take_sign(p, ","));
    if (!p->status && !hcy__take_sign(p, ")"))
        return hcy__complain(p, "a closing parenthesis is wanted after the arguments of ", name);
    if (!p->status && n < wanted)
        return hcy__complain(p, "too few arguments for ", name);
    return p->status ? -1 : hcy__expand(p, definition, arguments);
}

/* reduce(f, x, nothing) and scan(f, x, nothing): arguments as they are compiled, x, what joins two, nothing. */
static int add_own(struct hcy__parser *p, int function, int column, const int *kids, int join,
                   struct hcy__word name)
{
    int nothing = kids[1];
    const struct hcy__node *node = nothing >= 0 ? &p->tree->nodes[nothing] : NULL;
    /* The host must know it: of no elements it is all there is. */
    bool is_number = !node || node->kind <= HCY__IMAGINARY ||
                     (node->kind == HCY__OPERAND && p->operands[node->operand].kind != HCY_OPERAND_ARRAY);
    if (!is_number)
        return hcy__complain(p, "what no elements make is a number, or the name of one", "");
    if (!node && p->axes.exclusive)
        return hcy__complain(p, "exclusive=True wants what no elements make, as the 0 of scan(f, x, 0, ...)", "");
    int i = hcy__add_call(p, function, column, kids[0], join, nothing);
    if (i >= 0)
        p->tree->nodes[i].join = name.at;
    return i;
}

/* What stands between the parentheses of a call. */
static int parse_call(struct hcy__parser *p, const char *name, int column)
{
    struct hcy__axes axes = { 0 };
    struct hcy__word joins = { NULL, 0 };
    int kids[3] = { -1, -1, -1 }, n = 0, dtype, function = hcy__find_function(name, &dtype), join = -1,
        own = hcy__find_definition(p, name);
    if (function < 0 && own < 0) {
        /* What is wrong is the name, and not the parenthesis behind it. */
        p->at -= hcy__column(p) - column;
        return hcy__complain(p, "no function is called ", name);
    }
    p->at++;
    if (own >= 0)
        return parse_own_call(p, own, name);
    /* A type's name stands in no row of `functions`, which ends before HCY__FN_CAST. */
    int fewest = dtype ? 1 : functions[function].fewest, most = dtype ? 1 : functions[function].most;
    if (function == HCY__FN_REDUCE || function == HCY__FN_SCAN)
        join = hcy__parse_join(p, &joins);
    if (p->status)
        return -1;
    unsigned seen = 0;
    do {
        if (n && parse_keyword(p, &axes, &seen))
            continue;
        if (seen)
            return hcy__complain(p, "an argument without a name behind one with a name in ", name);
        if (n == 3)
            return hcy__complain(p, "too many arguments for ", name);
        kids[n++] = parse_level(p, LEAST);
        if (p->status)
            return -1;
    } while (!p->status && hcy__take_sign(p, ","));
    if (!hcy__take_sign(p, ")"))
        return hcy__complain(p, "a closing parenthesis is wanted after the arguments of ", name);
    /* min(x, y) is what one would write for two numbers. */
    if (n == 2 && (function == HCY__FN_MIN || function == HCY__FN_MAX))
        function = function == HCY__FN_MIN ? HCY__FN_MINIMUM : HCY__FN_MAXIMUM;
    else if (n < fewest || n > most)
        return hcy__complain(p, n < fewest ? "too few arguments for " : "too many arguments for ", name);
    bool scans = function >= HCY__FN_CUMSUM && function < HCY__FN_CAST,
         reduces = function >= HCY__FN_SUM && function < HCY__FN_CUMSUM;
    if (axes.n && !scans && !reduces)
        return hcy__complain(p, "there is no axis= of ", name);
    if (axes.keep && (!reduces || !axes.n))
        return hcy__complain(p, reduces ? "keepdims= wants axis= in " : "there is no keepdims= of ", name);
    if (axes.exclusive && !scans)
        return hcy__complain(p, "there is no exclusive= of ", name);
    /* What was written in the arguments is there already: only this call's own reductions go along its axes. */
    p->axes = axes;
    int i = joins.n ? add_own(p, function, column, kids, join, joins) : hcy__write_out(p, function, column, kids);
    p->axes = (struct hcy__axes){ 0 };
    if (i >= 0 && dtype)
        p->tree->nodes[i].dtype = dtype;
    return i;
}

int hcy__find_operand(const struct hcy__parser *p, const char *name)
{
    for (size_t i = 0; i < p->n_operands; i++)
        if (!strcmp(p->operands[i].name, name))
            return (int)i;
    return -1;
}

static int parse_name(struct hcy__parser *p)
{
    char name[64];
    int column = hcy__column(p);
    size_t n = hcy__read_name(p, name);
    const char *begin = p->at;
    p->at += n;
    hcy__skip_space(p);
    /* A name before a parenthesis is a function's, so that an operand may be called `sum` or `min` too. */
    if (*p->at == '(')
        return parse_call(p, name, column);
    p->at = begin;
    int named = hcy__find_named(p, (struct hcy__word){ p->at, n });
    if (named >= 0 || p->status) {
        p->at += n;
        return named;
    }
    int operand = hcy__find_operand(p, name), i = -1;
    if (operand < 0 && strcmp(name, "pi") && strcmp(name, "index"))
        return hcy__complain(p, "nothing is called ", name);
    p->at += n;
    /* A name that was given counts before ours. */
    if (operand >= 0)
        i = hcy__add_node(p, HCY__OPERAND, column);
    else
        i = hcy__add_node(p, *name == 'p' ? HCY__REAL : HCY__INDEX, column);
    if (i >= 0) {
        p->tree->nodes[i].operand = operand;
        p->tree->nodes[i].real = 3.14159265358979323846;
    }
    return i;
}

static int parse_alone(struct hcy__parser *p)
{
    hcy__skip_space(p);
    if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1])))
        return parse_number(p);
    if (isalpha((unsigned char)*p->at) || *p->at == '_')
        return parse_name(p);
    if (*p->at != '(')
        return hcy__complain(p, *p->at ? "a number, a name or a parenthesis is wanted" : "the text ends too early",
                        "");
    p->at++;
    int i = parse_level(p, LEAST);
    if (!p->status && !hcy__take_sign(p, ")"))
        return hcy__complain(p, "a closing parenthesis is wanted", "");
    return i;
}

/* --- Operators --- */

static int parse_power(struct hcy__parser *p)
{
    int base = parse_alone(p), column;
    hcy__skip_space(p);
    column = hcy__column(p);
    if (p->status || !hcy__take_sign(p, "**"))
        return base;
    /* As in Python, -x ** 2 is -(x ** 2), and an exponent may have a sign of its own. */
    int exponent = parse_level(p, SIGN);
    return hcy__add_call(p, HCY__FN_POW, column, base, exponent, -1);
}

/* A number's sign belongs to it. */
static int negate(struct hcy__parser *p, int column, int x)
{
    if (x < 0)
        return -1;
    struct hcy__node *node = &p->tree->nodes[x];
    /* What a function was given may stand elsewhere in its body, without the sign. */
    for (int i = 0; p->calling >= 0 && i < p->definitions[p->calling].n_parameters; i++)
        if (p->arguments[i] == x)
            return hcy__add_call(p, HCY__FN_NEG, column, x, -1, -1);
    /* So -128 is one number, which check_fit() holds against an int8, and no step. */
    if (node->kind == HCY__INTEGER && node->column > column)
        node->integer = -node->integer;
    else if (node->kind == HCY__REAL && node->operand < 0 && node->column > column)
        node->real = -node->real;
    else
        return hcy__add_call(p, HCY__FN_NEG, column, x, -1, -1);
    return x;
}

static int parse_signs(struct hcy__parser *p)
{
    hcy__skip_space(p);
    int column = hcy__column(p);
    if (hcy__take_sign(p, "+"))
        return parse_level(p, SIGN);
    if (hcy__take_sign(p, "-"))
        return negate(p, column, parse_level(p, SIGN));
    if (hcy__take_sign(p, "~"))
        return hcy__add_call(p, HCY__FN_INVERT, column, parse_level(p, SIGN), -1, -1);
    if (*p->at == '!' && p->at[1] != '=' && hcy__take_sign(p, "!"))
        return hcy__add_call(p, HCY__FN_TRUTH_NOT, column, parse_level(p, SIGN), -1, -1);
    return parse_power(p);
}

/* The operator of this level that stands here, taken; -1: none. */
static int take_operator(struct hcy__parser *p, int level)
{
    hcy__skip_space(p);
    for (int i = 0; i < N_OPERATORS; i++) {
        /* The first sign that fits is the longest: where it is another level's, a shorter one must not be found in
         * it, as * in **. */
        size_t n = strlen(operators[i].sign);
        if (strncmp(p->at, operators[i].sign, n))
            continue;
        /* "-=" belongs to a statement; "==" was found before. */
        if (operators[i].level != level || (operators[i].level > COMPARISON && p->at[n] == '='))
            return -1;
        p->at += n;
        return i;
    }
    return -1;
}

static int parse_binary(struct hcy__parser *p, int level)
{
    int left = parse_level(p, level + 1), op;
    hcy__skip_space(p);
    int column = hcy__column(p);
    while (!p->status && (op = take_operator(p, level)) >= 0) {
        int right = parse_level(p, level + 1);
        left = operators[op].swap ? hcy__add_call(p, operators[op].function, column, right, left, -1)
                                  : hcy__add_call(p, operators[op].function, column, left, right, -1);
        hcy__skip_space(p);
        column = hcy__column(p);
        /* a < b < c is one thing in C and another in Python, so that neither is guessed. */
        if (level == COMPARISON && !p->status && take_operator(p, level) >= 0)
            return hcy__complain(p, "a comparison of a comparison: use parentheses and &&", "");
    }
    return left;
}

static int parse_level(struct hcy__parser *p, int level)
{
    if (p->status)
        return -1;
    /* Levels of one expression are few; what is counted are expressions within others. */
    if ((level == LEAST || level == SIGN) && ++p->depth > DEEPEST)
        return hcy__complain(p, "expressions within one another, too many", "");
    int i = level >= SIGN ? parse_signs(p) : parse_binary(p, level);
    if (level == LEAST || level == SIGN)
        p->depth--;
    return p->status ? -1 : i;
}

int hcy__parse_value(struct hcy__parser *p)
{
    return parse_level(p, LEAST);
}
