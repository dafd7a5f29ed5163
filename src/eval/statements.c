/* statements.c - a text's statements: what is assigned to which array, what is defined, what the operands are called.
 * Pure functions, any thread. */
#include "parser.h"

#include "array_priv.h"

#include <ctype.h>
#include <string.h>

/* What += adds to: the array that is written, or the local that was. */
static int add_self(struct hcy__parser *p, int target, struct hcy__word name, int column)
{
    int i = target < 0 ? hcy__find_named(p, name) : hcy__add_node(p, HCY__OPERAND, column);
    if (i < 0 && !p->status)
        return hcy__complain(p, "there is nothing yet to change", "");
    if (i >= 0 && target >= 0)
        p->tree->nodes[i].operand = target;
    return i;
}

static int parse_statement(struct hcy__parser *p)
{
    static const struct {
        const char *sign;
        int function;
    } assignments[] = {
        { "+=", HCY__FN_ADD }, { "-=", HCY__FN_SUB }, { "*=", HCY__FN_MUL }, { "/=", HCY__FN_DIV }
    };
    char name[64];
    int function = -1, target, column = hcy__column(p);
    /* hcy__read_name() takes digits too, with which no name begins. */
    size_t n = isdigit((unsigned char)*p->at) ? 0 : hcy__read_name(p, name);
    if (!n)
        return hcy__complain(p, "the name of an array is wanted, as in \"y = x\"", "");
    struct hcy__word word = { p->at, n };
    target = hcy__find_operand(p, name);
    if (n > 60 || (target >= 0 && p->operands[target].kind != HCY_OPERAND_ARRAY))
        return hcy__complain(p, "no array to write to is called ", name);
    p->at += n;
    for (size_t i = 0; function < 0 && i < sizeof assignments / sizeof assignments[0]; i++)
        if (hcy__take_sign(p, assignments[i].sign))
            function = assignments[i].function;
    /* "y == x" assigns nothing, and must not be read as y = (= x). */
    hcy__skip_space(p);
    if (function < 0 && (p->at[0] != '=' || p->at[1] == '='))
        return hcy__complain(p, "=, +=, -=, *= or /= is wanted", "");
    p->at += function < 0;
    int value = hcy__parse_value(p);
    /* y += x is y = y + x: hcy_eval() promises that what is written may be read in the same statement. */
    if (function >= 0 && !p->status) {
        int self = add_self(p, target, word, column);
        value = hcy__add_call(p, function, column, self, value, -1);
    }
    if (p->status)
        return -1;
    if (target < 0) {
        hcy__add_local(p, word, value, column);
        return 0;
    }
    /* A statement counts once it is whole. */
    p->tree->statements[p->tree->n_statements].target = target;
    p->tree->statements[p->tree->n_statements].column = column;
    p->tree->statements[p->tree->n_statements++].value = value;
    return 0;
}

static int check_names(const hcy_operand *operands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const hcy_operand *o = &operands[i];
        if (!o->name || !hcy__is_name(o->name))
            return hcy_fail(HCY_EINVAL,
                            "hcy_eval: operand %zu has no name of letters, digits and _, at most 60", i);
        if (o->kind < HCY_OPERAND_ARRAY || o->kind > HCY_OPERAND_COMPLEX ||
            (o->kind == HCY_OPERAND_ARRAY && !o->array))
            return hcy_fail(HCY_EINVAL, "hcy_eval: operand %s is neither an array nor a number", o->name);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(operands[k].name, o->name))
                return hcy_fail(HCY_EINVAL, "hcy_eval: two operands are called %s", o->name);
    }
    return 0;
}

int hcy__parse(struct hcy__tree *tree, const char *text, const hcy_operand *operands, size_t n)
{
    struct hcy__parser p = { .tree = tree, .operands = operands, .n_operands = n, .at = text, .calling = -1 };
    tree->text = text;
    tree->n_nodes = tree->n_statements = tree->n_definitions = 0;
    tree->apart = false;
    int status = check_names(operands, n);
    if (status)
        return status;
    hcy__skip_space(&p);
    tree->fast = hcy__take_sign(&p, "fast:");
    for (;;) {
        hcy__skip_space(&p);
        /* An empty text is left to parse_statement() to complain of; a ";" behind the last statement is fine. */
        if (!*p.at && (tree->n_statements || p.n_locals || tree->n_definitions))
            break;
        if (tree->n_statements == HCY__STATEMENTS)
            hcy__complain(&p, "too many statements", "");
        if (!p.status && hcy__begins_definition(&p))
            hcy__parse_definition(&p);
        else if (!p.status)
            parse_statement(&p);
        hcy__skip_space(&p);
        if (!p.status && *p.at && !hcy__take_sign(&p, ";"))
            hcy__complain(&p, "an operator, or the end of the statement, is wanted", "");
        if (p.status)
            return p.status;
    }
    hcy__check_locals(&p);
    return p.status;
}
