/* define.c - what a text names itself: functions, whose bodies are read again wherever they are called, so that what
 * they were given takes the place of their parameters; and locals, which are expressions with a name.  Nothing of
 * either is left in what is compiled.  Pure functions, any thread. */
#include "parser.h"

#include <ctype.h>
#include <string.h>

/* Of functions that call functions: a text of a few lines could ask for billions. */
enum { MOST_CALLS = 2048 };

static bool same_word(struct hcy__word a, struct hcy__word b)
{
    return a.n == b.n && !memcmp(a.at, b.at, a.n);
}

/* The name here, taken; n 0: there is none. */
static struct hcy__word take_word(struct hcy__parser *p)
{
    char name[64];
    hcy__skip_space(p);
    struct hcy__word word = { p->at, isdigit((unsigned char)*p->at) ? 0 : hcy__read_name(p, name) };
    p->at += word.n;
    return word;
}

/* --- Functions --- */

bool hcy__begins_definition(const struct hcy__parser *p)
{
    struct hcy__parser ahead = *p;
    return take_word(&ahead).n && hcy__take_sign(&ahead, "(");
}

int hcy__find_definition(const struct hcy__parser *p, const char *name)
{
    struct hcy__word word = { name, strlen(name) };
    /* A body knows the functions that stand before its own, and none calls itself. */
    int n = p->calling >= 0 ? p->calling : p->tree->n_definitions;
    for (int i = 0; i < n; i++)
        if (same_word(p->definitions[i].name, word))
            return i;
    return -1;
}

static void parse_parameters(struct hcy__parser *p, struct hcy__definition *d)
{
    do {
        struct hcy__word word = take_word(p);
        /* Where the name stands is what is wrong, and not what is behind it. */
        p->at = word.at;
        if (!word.n)
            hcy__complain(p, "the name of a parameter is wanted", "");
        else if (d->n_parameters == HCY__PARAMETERS)
            hcy__complain(p, "a function has 8 parameters at most", "");
        for (int i = 0; i < d->n_parameters && !p->status; i++)
            if (same_word(d->parameters[i], word))
                hcy__complain(p, "two parameters have one name", "");
        p->at += word.n;
        if (!p->status)
            d->parameters[d->n_parameters++] = word;
    } while (!p->status && hcy__take_sign(p, ","));
    if (!p->status && !hcy__take_sign(p, ")"))
        hcy__complain(p, "a closing parenthesis is wanted after the parameters", "");
    if (!p->status && (!hcy__take_sign(p, "=") || *p->at == '='))
        hcy__complain(p, "= and what the function makes of its parameters are wanted", "");
}

/* The body with a number for each parameter: what is wrong in it is said where it stands, called or not. */
static void try_body(struct hcy__parser *p, struct hcy__definition *d)
{
    int nodes = p->tree->n_nodes, arguments[HCY__PARAMETERS], calling = p->tree->n_definitions;
    for (int i = 0; i < d->n_parameters; i++)
        arguments[i] = hcy__add_node(p, HCY__INTEGER, hcy__column(p));
    p->calling = calling;
    p->arguments = arguments;
    d->body = p->at;
    hcy__parse_value(p);
    p->calling = -1;
    p->arguments = NULL;
    p->tree->n_nodes = nodes;
}

void hcy__parse_definition(struct hcy__parser *p)
{
    struct hcy__tree *tree = p->tree;
    char name[64];
    int dtype;
    hcy__skip_space(p);
    const char *begin = p->at;
    hcy__read_name(p, name);
    if (hcy__find_function(name, &dtype) >= 0 || hcy__find_definition(p, name) >= 0)
        hcy__complain(p, "a function is called so already: ", name);
    if (tree->n_definitions == HCY__DEFINITIONS)
        hcy__complain(p, "too many functions", "");
    if (p->status)
        return;
    struct hcy__definition *d = &p->definitions[tree->n_definitions];
    *d = (struct hcy__definition){ .name = take_word(p) };
    hcy__take_sign(p, "(");
    parse_parameters(p, d);
    if (!p->status)
        try_body(p, d);
    if (p->status)
        return;
    tree->definitions[tree->n_definitions].begin = begin;
    tree->definitions[tree->n_definitions++].end = p->at;
}

int hcy__expand(struct hcy__parser *p, int definition, const int *arguments)
{
    const char *at = p->at;
    const int *outer = p->arguments;
    int calling = p->calling;
    if (p->n_calls++ == MOST_CALLS)
        return hcy__complain(p, "functions that call functions, too many times", "");
    p->at = p->definitions[definition].body;
    p->calling = definition;
    p->arguments = arguments;
    int i = hcy__parse_value(p);
    p->at = at;
    p->calling = calling;
    p->arguments = outer;
    return i;
}

int hcy__parse_join(struct hcy__parser *p, struct hcy__word *name)
{
    char text[64];
    int dtype, column = hcy__column(p), sides[3] = { -1, -1, -1 };
    hcy__skip_space(p);
    hcy__read_name(p, text);
    int definition = hcy__find_definition(p, text), function = hcy__find_function(text, &dtype);
    if (definition < 0 && (function < 0 || dtype))
        return hcy__complain(p, "a function of two arguments is wanted, and none is called ", text);
    if (definition >= 0 && p->definitions[definition].n_parameters != 2)
        return hcy__complain(p, "a function of two arguments is wanted, which is not ", text);
    *name = take_word(p);
    sides[0] = hcy__add_node(p, HCY__LEFT, column);
    sides[1] = hcy__add_node(p, HCY__RIGHT, column);
    int body = definition >= 0 ? hcy__expand(p, definition, sides)
                               : hcy__call_function(p, function, column, sides, 2);
    if (!p->status && !hcy__take_sign(p, ","))
        return hcy__complain(p, "a comma is wanted between the function and what it joins", "");
    return body;
}

/* --- Locals --- */

/* An array that this value reads and that a statement since has written; NULL: there is none. */
static const char *find_stale(const struct hcy__parser *p, const struct hcy__local *local)
{
    const struct hcy__tree *tree = p->tree;
    bool reached[HCY__NODES] = { false };
    reached[local->node] = true;
    /* A node's arguments are made before it. */
    for (int i = local->node; i >= 0; i--) {
        if (!reached[i])
            continue;
        for (int k = 0; k < 3; k++)
            if (tree->nodes[i].kids[k] >= 0)
                reached[tree->nodes[i].kids[k]] = true;
        for (int s = local->statements; tree->nodes[i].operand >= 0 && s < tree->n_statements; s++)
            if (tree->statements[s].target == tree->nodes[i].operand)
                return p->operands[tree->nodes[i].operand].name;
    }
    return NULL;
}

int hcy__find_named(struct hcy__parser *p, struct hcy__word name)
{
    const struct hcy__definition *d = p->calling >= 0 ? &p->definitions[p->calling] : NULL;
    for (int i = 0; d && i < d->n_parameters; i++)
        if (same_word(d->parameters[i], name))
            return p->arguments[i];
    /* The last one counts, so that t = t * t is what it seems; a function has its parameters alone. */
    for (int i = p->n_locals; !d && i-- > 0;)
        if (same_word(p->locals[i].name, name)) {
            const char *stale = find_stale(p, &p->locals[i]);
            p->locals[i].used = true;
            return stale ? hcy__complain(p, "this was made of an array that has been written since: ", stale)
                         : p->locals[i].node;
        }
    return -1;
}

void hcy__add_local(struct hcy__parser *p, struct hcy__word name, int node, int column)
{
    if (p->n_locals == HCY__LOCALS)
        hcy__complain(p, "too many names", "");
    if (!p->status)
        p->locals[p->n_locals++] = (struct hcy__local){ name, node, column, p->tree->n_statements, false };
}

void hcy__check_locals(struct hcy__parser *p)
{
    char name[64];
    for (int i = 0; i < p->n_locals && !p->status; i++) {
        p->at = p->locals[i].name.at;
        hcy__read_name(p, name);
        if (!p->locals[i].used)
            hcy__complain(p, "no array to write to is called ", name);
    }
    if (!p->status && !p->tree->n_statements)
        hcy__complain(p, "no array is written", "");
}
