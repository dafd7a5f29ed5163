/* emit.h - between compile.c, which walks the tree, and arithmetic.c, which knows what an operation is for each
 * type. */
#ifndef HCY_EVAL_EMIT_H
#define HCY_EVAL_EMIT_H

#include "array_priv.h"
#include "eval_stage.h"
#include "types.h"

struct hcy__emitter {
    struct hcy__tree *tree;
    const hcy_operand *operands;
    struct hcy__compiled *compiled;
    struct hcy__stage *stage;
    struct hcy__steps *steps;
    const struct hcy__made *sides; /* the two numbers, where what joins them is being compiled; else NULL */
    struct hcy__made written[HCY_EVAL_OPERANDS]; /* what slots of stage->writes were given, as it is in memory */
    int column;                    /* of what is being compiled */
    int first_temporary;           /* of the statement, which are those from here on */
    int status; /* the first failure */
};

/* Stages: the emitter's next one, with its steps; the slot of an operand or a temporary there. */
void hcy__stage_begin(struct hcy__emitter *e);
void hcy__stage_free(struct hcy__stage *stage);
int hcy__find_slot(struct hcy__emitter *e, int is_temporary, int which);
/* joint.c: joint stages of the stages that there are; none is wanting where one cannot be made. */
void hcy__find_joints(struct hcy__emitter *e);

/* alike.c: nodes are told which are the same; the temporary that there is of this node, or that the statement has of
 * one that is like it, or -1.  What another statement has may be of arrays that were written since. */
void hcy__find_alike(struct hcy__tree *tree);
int hcy__made_before(const struct hcy__emitter *e, int node);

/* Steps: -1 once something has failed. */
int hcy__emit_step(struct hcy__emitter *e, hcy_eval_step step);
struct hcy__made hcy__emit_node(struct hcy__emitter *e, int node);
/* The value to an operand; components of it reduced to their place in a slot. */
void hcy__emit_stores(struct hcy__emitter *e, int operand, struct hcy__made x);
struct hcy__reduction;
void hcy__emit_reductions(struct hcy__emitter *e, const struct hcy__reduction *r, struct hcy__made x, int slot);
int hcy__emit(struct hcy__emitter *e, enum hcy_eval_op op, int a, int b, int c);
/* A number of the job's, as a register of this type. */
int hcy__emit_value(struct hcy__emitter *e, struct hcy__value value, enum hcy_eval_type type);
int hcy__emit_literal(struct hcy__emitter *e, double x, enum hcy_eval_type type);
/* Failures: HCY_EINVAL with the column; a stage that is full. */
int hcy__emit_refuse(struct hcy__emitter *e, const char *what, const char *which);
int hcy__emit_full(struct hcy__emitter *e, const char *of_what);

/* An integer must fit the type that it takes: at once, or when it is known. */
void hcy__emit_fit(struct hcy__emitter *e, const struct hcy__value *value, int dtype);
/* The value as another type; every conversion there is, explicit ones too. */
struct hcy__made hcy__emit_cast(struct hcy__emitter *e, struct hcy__made x, int dtype);
/* What a function that is no reduction makes of its arguments. */
struct hcy__made hcy__emit_call(struct hcy__emitter *e, const struct hcy__node *node, const struct hcy__made *args);
/* Arguments as the type that they make together. */
void hcy__emit_together(struct hcy__emitter *e, struct hcy__made *args, int n, struct hcy__type *type);
/* maths.c: exp, log and so on, from HCY__FN_EXP to HCY__FN_ANGLE; the root, the size and any power of a number. */
struct hcy__made hcy__emit_maths(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made *args);
struct hcy__made hcy__emit_draw(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made *args);
struct hcy__made hcy__emit_random(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made *args);
/* Integers and booleans as float64; a number of the text stays weak. */
struct hcy__made hcy__emit_as_real(struct hcy__emitter *e, struct hcy__made x);
struct hcy__made hcy__emit_root(struct hcy__emitter *e, struct hcy__made x);
struct hcy__made hcy__emit_size(struct hcy__emitter *e, struct hcy__made x);
struct hcy__made hcy__emit_any_power(struct hcy__emitter *e, struct hcy__made *args);
/* x to a power that the node says as a number. */
struct hcy__made hcy__emit_power(struct hcy__emitter *e, struct hcy__made x, int64_t n);

/* choose.c: what is reduced or scanned, the operation, the type of its result, what no elements make; a register as
 * the operation wants it; what an exclusive scan of ours begins with. */
struct hcy__reduction {
    enum hcy_eval_op op;
    int dtype, memory;
    bool has_empty;
    uint64_t empty;
};
void hcy__choose_reduction(struct hcy__reduction *r, struct hcy__emitter *e, const struct hcy__node *node, int dtype);
int hcy__emit_reducible(struct hcy__emitter *e, int x, enum hcy_eval_type from, enum hcy_eval_type to);
int hcy__emit_first(struct hcy__emitter *e, int function, int dtype, enum hcy_eval_type t);

/* own.c, of a REDUCE or SCAN over numbers of this type.  The operation; what no elements make, in the stage; what joins
 * two, there too; the text that scans the numbers of a scan's pieces. */
enum hcy_eval_op hcy__own_reduction(struct hcy__emitter *e, int dtype);
void hcy__emit_nothing(struct hcy__emitter *e, const struct hcy__node *node, int dtype);
void hcy__emit_join(struct hcy__emitter *e, const struct hcy__node *node, int dtype);
void hcy__write_totals(struct hcy__emitter *e, const struct hcy__node *node, int dtype);

#endif
