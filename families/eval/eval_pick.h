/* eval_pick.h - elements that are picked by their number along an axis: what hosts and devices share of the kernels
 * eval_take, eval_put and eval_own.  Plain data and inline code.
 *
 * The job goes over the picked elements, in an order that does not matter.  Each has a place in three operands: among
 * the picked values; in the array, where the axis is at 0; and among the numbers, which are int64 and lie in one piece.
 * A number k below 0 counts from the axis's end.  What is outside of the axis is 0 when it is taken and is not put.
 * Of numbers that are the same the last one puts its element: eval_own finds out which that is.
 */
#ifndef HCY_EVAL_PICK_H
#define HCY_EVAL_PICK_H

#include "eval_format.h"

/* The job's operands, and its values. */
enum { HCY_PICK_PICKED, HCY_PICK_ARRAY, HCY_PICK_NUMBERS, HCY_PICK_OPERANDS };
enum {
    HCY_PICK_EXTENT, /* of the axis */
    HCY_PICK_STEP,   /* from one of its elements to the next; counts components, as strides do */
    HCY_PICK_BYTES,  /* of a component: 1, 2, 4, 8 */
    HCY_PICK_PARTS   /* components of an element: 1, 2 */
};

/* The value of a job of eval_sort_values: what its values are (enum hcy_eval_memory; no M_BOOL); of eval_sort: what its
 * keys are made of, whose bytes are enough for them, of integers with their sign. */
enum { HCY_PICK_MEMORY };

/* Owners are numbers of elements and 1 more, in 32 bits. */
#define HCY_PICK_MOST 0xfffffffeu

#endif
