/* pick.h - between pick.c, which moves elements by their numbers, and what finds such numbers. */
#ifndef HCY_ARRAY_PICK_H
#define HCY_ARRAY_PICK_H

#include "array_priv.h"

/* picked = array[..., numbers, ...], or the other way around: three views of one shape, and an axis of `array`, which
 * its view has at 0. */
struct hcy__picking {
    hcy_array *picked, *array, *numbers;
    int64_t extent, step; /* elements of the axis; elements of memory from one to the next */
    hcy_array *owners;    /* of which number puts to where; NULL: elements are taken */
};
int hcy__array_pick(hcy_queue *queue, const struct hcy__picking *picking);
/* Of n numbers that lie in one piece: how many are k (table: int64), or which is the last of these (uint32; 1 more). */
int hcy__tabulate(hcy_queue *queue, hcy_array *table, hcy_buffer *numbers, int64_t n);

/* What each of these functions asks first: arrays that are there, on the queue's device; dst can be written. */
int hcy__check_move(const char *function, hcy_queue *queue, const hcy_array *dst, const hcy_array *src,
                    const hcy_array *numbers);
/* The axis from 0 on. */
int hcy__find_axis(int *axis, const char *function, int rank, int given);
int hcy__check_shape(const char *function, const hcy_array *dst, const hcy_array *result);

/* Where a command writes: dst itself, or, if dst shares memory with one of these (NULL is fine), an array of its own,
 * which hcy__aside_end() copies to dst and releases.  A status goes through it. */
int hcy__aside_begin(hcy_array **to, hcy_array *dst, const hcy_array *src, const hcy_array *numbers);
int hcy__aside_end(hcy_queue *queue, hcy_array *dst, hcy_array *to, int status);

/* A contiguous int64 array, its first element at the beginning of its buffer. */
int hcy__new_numbers(hcy_array **numbers, hcy_queue *queue, int rank, const int64_t *shape);

#endif
