/* parser.h - between parse.c, which reads expressions, shorthand.c, statements.c, and define.c, which knows what a text
 * names. */
#ifndef HCY_EVAL_PARSER_H
#define HCY_EVAL_PARSER_H

#include "tree.h"

enum { HCY__PARAMETERS = 8, HCY__LOCALS = 64 };

/* A name as it stands in the text. */
struct hcy__word {
    const char *at;
    size_t n;
};

/* A function of the text's own: "f(a, b) = BODY". */
struct hcy__definition {
    struct hcy__word name, parameters[HCY__PARAMETERS];
    int n_parameters;
    const char *body;
};

/* "t = VALUE" where no operand is called t. */
struct hcy__local {
    struct hcy__word name;
    int node, column, statements; /* how many there were before it */
    bool used;
};

struct hcy__parser {
    struct hcy__tree *tree;
    const hcy_operand *operands;
    size_t n_operands;
    const char *at;
    int depth, status;
    struct hcy__axes axes; /* of the reductions that are added */
    struct hcy__definition definitions[HCY__DEFINITIONS];
    struct hcy__local locals[HCY__LOCALS];
    int n_locals, n_calls;
    int calling;          /* the definition whose body is being read; -1: none */
    const int *arguments; /* of this call: nodes */
};

/* parse.c.  The first thing that is wrong is kept; every function returns at once after it, -1. */
int hcy__complain(struct hcy__parser *p, const char *what, const char *which);
int hcy__parse_value(struct hcy__parser *p);
bool hcy__take_sign(struct hcy__parser *p, const char *sign);
void hcy__skip_space(struct hcy__parser *p);
int hcy__column(const struct hcy__parser *p);
int hcy__add_node(struct hcy__parser *p, int kind, int column);
int hcy__add_call(struct hcy__parser *p, int function, int column, int a, int b, int c);
/* Which operand has this name; -1: none. */
int hcy__find_operand(const struct hcy__parser *p, const char *name);
/* Whether this is an operator of so many arguments, or may be called so. */
bool hcy__is_operator(const char *sign, size_t n);
bool hcy__is_name(const char *name);
/* The name at p->at, and cut to fit; its length, 0: there is none. */
size_t hcy__read_name(const struct hcy__parser *p, char name[64]);
/* A function of ours by its name: which takes from so many to so many arguments; -1: there is none. */
int hcy__find_function(const char *name, int *dtype);
int hcy__call_function(struct hcy__parser *p, int function, int column, const int *kids, int n);

/* shorthand.c.  A call as it is written, to calls that are compiled. */
int hcy__write_out(struct hcy__parser *p, int function, int column, const int *kids);

/* define.c.  A definition begins here: it is read and kept. */
bool hcy__begins_definition(const struct hcy__parser *p);
void hcy__parse_definition(struct hcy__parser *p);
/* The definition's number; -1: no function of the text's own is called so. */
int hcy__find_definition(const struct hcy__parser *p, const char *name);
/* Its body with these nodes for its parameters. */
int hcy__expand(struct hcy__parser *p, int definition, const int *arguments);
/* The node of a parameter or of a local; -1: nothing is called so. */
int hcy__find_named(struct hcy__parser *p, struct hcy__word name);
void hcy__add_local(struct hcy__parser *p, struct hcy__word name, int node, int column);
/* HCY_EINVAL: a local that nothing uses is most likely an array's name that is misspelt. */
void hcy__check_locals(struct hcy__parser *p);
/* "f, " of reduce(f, x): the function's name, and the node that joins two numbers by it. */
int hcy__parse_join(struct hcy__parser *p, struct hcy__word *name);

#endif
