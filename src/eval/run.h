/* run.h - between run.c, which runs a text's stages, and reduce.c, which runs those that reduce. */
#ifndef HCY_EVAL_RUN_H
#define HCY_EVAL_RUN_H

#include "layout.h"

/* One call of hcy_eval(). */
struct hcy__evaluation {
    hcy_queue *queue;
    struct hcy__room *room;
    const char *text;
    const hcy_operand *operands;
    const struct hcy__compiled *compiled;
    hcy_buffer *temporaries[HCY__TEMPORARIES]; /* references, or NULL */
    hcy_array *arrays[HCY__TEMPORARIES];       /* the same where they have a shape; NULL: one element */
    uint64_t elements[HCY__TEMPORARIES];       /* that each element was made of */
};

/* The numbers and the buffers of a launch; the layout is there. */
void hcy__fill_launch(struct hcy__launch *launch, const struct hcy__evaluation *v, const struct hcy__stage *stage,
                      const struct hcy__operands *operands);
/* Whether a step asks for the elements' numbers. */
bool hcy__numbers_elements(const hcy_eval_program *program);
/* Stage i of the expression, over this shape. */
int hcy__run_reduction(struct hcy__evaluation *v, struct hcy__expression *x, int i, const struct hcy__operands *operands,
                       int rank, const int64_t *shape);

#endif
