/* eval_stage.h - what a text is compiled to: stages, each one program of eval_format.h on one shape, in the order in
 * which they run.  A reduction is a stage of its own, whose result, a TEMPORARY, later stages load: one element, or
 * along some axes an array.
 *
 * Stages do not change once they are made and know no device; what a device makes of them is kept beside them (room.h).
 */
#ifndef HCY_EVAL_STAGE_H
#define HCY_EVAL_STAGE_H

#include "eval_format.h"
#include "eval_ops.h"
#include "tree.h"
#include "types.h"

enum { HCY__STAGES = 48, HCY__TEMPORARIES = 24, HCY__CHECKS = 16 };

/* Where a number of the job comes from. */
enum hcy__source { HCY__LITERAL, HCY__SCALAR, HCY__SCALAR_IMAG, HCY__ELEMENTS };

struct hcy__value {
    int source, which; /* an operand; a temporary, for how many elements it was made of */
    int is_integer;    /* bits of an int64; else of a double */
    uint64_t bits;     /* of a literal */
};

/* An array of a stage. */
struct hcy__slot {
    int is_temporary, which;
};

/* A value that steps have made: one register, or two of a complex type. */
struct hcy__made {
    struct hcy__type type;
    int re, im; /* im -1: real */
};

struct hcy__stage {
    hcy_eval_program program;
    struct hcy__slot slots[HCY_EVAL_OPERANDS];
    int n_slots, target;      /* the slot that is written */
    struct hcy__value values[HCY_EVAL_VALUES];
    int n_values;
    int temporary;            /* that a reduction, or a scan within an expression, makes; -1: an operand is written */
    int carries, carry_slot;  /* of a scan: a temporary, and its slot, for what was before a piece; -1: it is none */
    int scan;                 /* enum hcy__function */
    hcy_eval_program *again;  /* of a reduction: numbers of pieces to numbers of pieces; of a scan: to numbers of pieces
                                 in the place of carries; owned */
    int has_empty;            /* a reduction of nothing has a result: */
    uint64_t empty;           /* these bits in each component */
    bool is_own;              /* a reduction or a scan by a function of the text's: */
    int nothing_of;           /* the operand that is what no elements make; -1: */
    hcy_operand nothing;      /* this number, without a name */
    hcy_eval_join join;
    char *totals;             /* of a scan: the text that scans what pieces make; owned */
    struct hcy__axes axes;    /* of a reduction or a scan */
    int stored;               /* of a reduction: the operand that the next stage stores it in as it is; -1: none */
    int made_of;              /* the node that is reduced or scanned to a temporary; else the statement */
    unsigned writes;          /* slots of operands that are written, as bits: of a joint stage several */
    int joint, covers;        /* the joint stage that may stand for this one and those behind it, 0: none; of a joint
                                 stage, the one where it cannot, and for how many it stands (joint.c) */
    int column;
};

/* A temporary: its type, and what a component of it is in memory. */
struct hcy__temporary {
    int dtype, memory, components;
};
/* The type of an array of such temporaries, in which sums of floats are doubles. */
int hcy__type_in_memory(const struct hcy__temporary *t);

/* An integer that must fit the type it takes. */
struct hcy__check {
    int operand, dtype;
};

struct hcy__compiled {
    int n_stages, n_joints, n_temporaries, n_checks; /* joint stages stand behind all others */
    bool fast;     /* the device's own functions will do */
    bool hands_on; /* a statement takes a reduction or a scan that an earlier one made */
    struct hcy__stage *stages[HCY__STAGES]; /* owned */
    struct hcy__temporary temporaries[HCY__TEMPORARIES];
    struct hcy__check checks[HCY__CHECKS];
};

/* HCY_EINVAL, with the column; HCY_EUNSUPPORTED: more than a stage has room for; HCY_ENOMEM. */
int hcy__compile(struct hcy__compiled *compiled, struct hcy__tree *tree, const hcy_operand *operands, size_t n);
void hcy__compiled_free(struct hcy__compiled *compiled);
/* direct.c: sets `stored` of all stages. */
void hcy__find_direct(struct hcy__compiled *compiled);
/* Stages and joint ones. */
int hcy__all_stages(const struct hcy__compiled *compiled);
/* joint.c: whether these axes are the last one alone, and that is whole pieces: of what lies one behind the other a
 * launch is then that of one number of all. */
bool hcy__folds_pieces(const struct hcy__axes *axes, const hcy_array *a);

/* An operation: its name, its types. */
struct hcy__op_info {
    const char *name;
    int arity;                            /* of a reduction 2; 0: it is no operation */
    enum hcy_eval_type result, types[3];
    enum hcy_eval_op join;                /* of a reduction, and of a scan */
    const char *text;                     /* in C, of a, b and c */
};
extern const struct hcy__op_info hcy__op_infos[HCY_EVAL_END];
/* "exp" of exp(): what compilers call an operation that stands in eval_maths.h; NULL: it has no name there. */
const char *hcy__own_function(enum hcy_eval_op op);
/* Of memory: the types' names in C, and what is loaded and stored of x. */
struct hcy__memory_info {
    const char *memory, *reg, *loaded, *stored;
    enum hcy_eval_type type;
};
extern const struct hcy__memory_info hcy__memory_infos[HCY_EVAL_MEMORIES];
extern const char *const hcy__type_names[HCY_EVAL_TYPES];

/* Steps of one register each, in which a step that was there is used again, to a program with few registers. */
struct hcy__steps {
    int n;
    hcy_eval_step step[HCY_EVAL_STEPS];
    const struct hcy__tree *tree;
    /* What nodes have become: a node may be an argument of many. */
    bool is_made[HCY__NODES];
    struct hcy__made made[HCY__NODES];
};
/* The register of the step; -1: there is no room, or an argument is -1. */
int hcy__step_add(struct hcy__steps *steps, hcy_eval_step step);
int hcy__steps_allot(hcy_eval_program *program, const struct hcy__steps *steps);

#endif
