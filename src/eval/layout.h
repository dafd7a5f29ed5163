/* layout.h - a stage's arrays on one shape: broadcast, and with as few axes as they need.  Pure functions. */
#ifndef HCY_EVAL_LAYOUT_H
#define HCY_EVAL_LAYOUT_H

#include "array_priv.h"
#include "room.h"

/* The stage's arrays; NULL: a temporary, which has one element. */
struct hcy__operands {
    const hcy_array *arrays[HCY_EVAL_OPERANDS];
    int n, target; /* target -1: nothing is written but a temporary */
};

/* The shape that the arrays are broadcast to (the target's, where there is one); HCY_EINVAL with the shapes. */
int hcy__find_shape(int64_t *shape, int *rank, const struct hcy__operands *operands, const char *text);
/* job.n (span too), rank, shape and offset, and the strides.  `order`: elements are numbered in C order of the axes as
 * they stand there; NULL: in any order that suits the target. */
void hcy__lay_out(struct hcy__launch *launch, const struct hcy__operands *operands, int rank, const int64_t *shape,
                  const int *order);
/* job.offset alone: where the arrays begin, which no other part of a layout depends on. */
void hcy__set_offsets(hcy_eval_job *job, const struct hcy__operands *operands);
extern const int hcy__c_order[HCY_EVAL_AXES];
/* Two elements of it never share memory. */
bool hcy__is_one_to_one(const hcy_array *array);
/* Whether memory from the first to the last element of one is the other's too. */
bool hcy__shares_memory(const hcy_array *a, const hcy_array *b);
/* Whether writing `target` elementwise may change what of `source` is read later. */
bool hcy__is_hazard(const hcy_array *target, const hcy_array *source);

/* How a stage's arrays of these shapes and strides were launched before; NULL: not that anybody knows. */
const struct hcy__known *hcy__known_find(struct hcy__expression *expression, int stage,
                                         const struct hcy__operands *operands);
/* Remembers this launch for them, if there is room. */
void hcy__known_add(struct hcy__expression *expression, int stage, const struct hcy__operands *operands,
                    const struct hcy__launch *launch, hcy_kernel *kernel, int generated);

#endif
