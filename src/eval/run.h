/* run.h - between run.c, which runs a text's stages, reduce.c, which runs those that reduce, and scan.c. */
#ifndef HCY_EVAL_RUN_H
#define HCY_EVAL_RUN_H

#include "layout.h"

/* One call of hcy_eval(). */
struct hcy__evaluation {
    hcy_queue *queue;
    struct hcy__room *room;
    const char *text;
    const hcy_operand *operands;
    size_t n_operands;
    const struct hcy__compiled *compiled;
    hcy_buffer *temporaries[HCY__TEMPORARIES]; /* references, or NULL */
    hcy_array *arrays[HCY__TEMPORARIES];       /* the same where they have a shape; NULL: one element */
    uint64_t elements[HCY__TEMPORARIES];       /* that each element was made of */
    bool is_stored; /* by the reduction itself: the stage behind it has nothing to do */
};

/* The numbers of a launch. */
void hcy__fill_values(hcy_eval_job *job, const struct hcy__evaluation *v, const struct hcy__stage *stage);
/* These and the buffers of a launch; the layout is there. */
void hcy__fill_launch(struct hcy__launch *launch, const struct hcy__evaluation *v, const struct hcy__stage *stage,
                      const struct hcy__operands *operands);
/* Whether a step asks for the elements' numbers. */
bool hcy__numbers_elements(const hcy_eval_program *program);
/* What is reduced to what, or scanned. */
struct hcy__fold {
    int order[HCY_EVAL_AXES]; /* axes that stay, then those that are reduced */
    int rank;                 /* of the result */
    int64_t shape[HCY_EVAL_AXES];
    uint64_t span, outer;     /* elements that one is made of; how many are made */
};
/* Of the stage's axes in this shape; HCY_EINVAL, HCY_EUNSUPPORTED: the stage wants what these axes do not give. */
int hcy__find_fold(struct hcy__fold *fold, const struct hcy__evaluation *v, const struct hcy__stage *stage, int rank,
                   const int64_t *shape);
uint64_t hcy__pieces_of(uint64_t span);
/* direct.c: *to = the buffer that the result is stored in, where the reduction may write it itself; else it stays. */
void hcy__direct_result(hcy_buffer **to, const struct hcy__evaluation *v, const struct hcy__stage *stage,
                        const struct hcy__fold *fold, const struct hcy__operands *operands);

/* Stage i of the expression, over this shape. */
int hcy__run_reduction(struct hcy__evaluation *v, struct hcy__expression *x, int i,
                       const struct hcy__operands *operands, int rank, const int64_t *shape);
/* The same of a scan: the operands have a target, which what is read does not overlap otherwise than in place. */
int hcy__run_scan(struct hcy__evaluation *v, struct hcy__expression *x, int i, const struct hcy__operands *operands,
                  int rank, const int64_t *shape);
/* The array that a scan within an expression writes to. */
int hcy__scan_array(hcy_array **array, const struct hcy__evaluation *v, const struct hcy__stage *stage, int rank,
                    const int64_t *shape);

#endif
