/* room.h - what belongs to a device as long as there are arrays on it: expressions that were compiled for it.
 *
 * Arrays hold references; with a device's last array its room goes, so that nothing here keeps a device open.  Compiled
 * expressions are found, made and dropped under the room's lock; who runs one holds a reference on it, which is given
 * back without the lock: to the next call with this text.
 */
#ifndef HCY_EVAL_ROOM_H
#define HCY_EVAL_ROOM_H

#include "eval_dialects.h"
#include "eval_stage.h"

#include <halcyon/kernel.h>
#include <pthread.h>
#include <stdatomic.h>

struct hcy__room;

/* A reference on the device's room; HCY_ENOMEM, HCY_EFORK. */
int hcy__room_get(struct hcy__room **room, hcy_device *dev);
struct hcy__room *hcy__room_retain(struct hcy__room *room);
void hcy__room_release(struct hcy__room *room); /* NULL is fine */
hcy_device *hcy__room_device(const struct hcy__room *room);

/* The device's kernel that moves elements so (eval_pick.h, eval_merge.h), or adds neighbours up (stencil_format.h), or
 * multiplies matrices (matrix_format.h), as long as the room; HCY_EUNSUPPORTED. */
enum hcy__move {
    HCY__MOVE_TAKE, HCY__MOVE_PUT, HCY__MOVE_OWN, HCY__MOVE_COUNT, HCY__MOVE_SORT, HCY__MOVE_SORT_VALUES,
    HCY__MOVE_STENCIL, HCY__MOVE_FACES, HCY__MOVE_MATRIX, HCY__MOVE_TWICE, HCY__MOVES
};
int hcy__room_move(hcy_kernel **kernel, struct hcy__room *room, enum hcy__move move);
/* Launches one for one item, with the scratch memory that it asks for as args[scratch]. */
int hcy__room_launch(hcy_queue *queue, hcy_kernel *kernel, hcy_arg *args, size_t n, size_t scratch);

/* What a kernel is generated for: so many axes; elements and strides that 31 bits number or not; a reduction or a scan
 * of several spans; where those of a reduction lie side by side, how many of them a group takes, how many lanes of one
 * an item has, and whether lanes have several elements. */
struct hcy__form {
    int rank, wide, spans;
    uint32_t columns, lanes, turns;
};
struct hcy__generated {
    struct hcy__generated *next;
    struct hcy__form form;
    hcy_kernel *kernel;
};

/* A program on a device: as data, for the kernel that runs any, or as kernels that were generated of it. */
struct hcy__device_program {
    const hcy_eval_program *program;
    bool fast; /* with the device's own functions, if it is generated */
    hcy_buffer *data;
    struct hcy__generated *generated;
};

struct hcy__expression {
    struct hcy__expression *next;
    atomic_uint refs; /* the table's, and one for each run, which is taken under the room's lock or from its last run */
    uint64_t hash;
    char *key;
    size_t key_size;
    struct hcy__compiled compiled;
    struct hcy__device_program programs[HCY__STAGES], again[HCY__STAGES];
    _Atomic(struct hcy__known *) known[HCY__STAGES]; /* known.c; the newest first */
    struct hcy__expression *apart; /* the same with a tree that is apart; NULL: nobody has asked for it */
};

/* The expression, compiled if it was not; to be given back with the text that it was got by. */
int hcy__expression_get(struct hcy__expression **expression, struct hcy__room *room, const char *text,
                        const hcy_operand *operands, size_t n);
/* The same with statements apart, as long as the expression. */
int hcy__expression_apart(struct hcy__expression **apart, struct hcy__room *room, struct hcy__expression *expression,
                          const char *text, const hcy_operand *operands, size_t n);
void hcy__expression_put(struct hcy__room *room, const char *text, struct hcy__expression *expression);

/* One launch of a program. */
struct hcy__launch {
    hcy_eval_job job;
    hcy_eval_strides strides[2];
    hcy_buffer *buffers[HCY_EVAL_OPERANDS];
};
/* The kernel that runs the program on this device, made if it was not there: from a text, or the one that takes
 * programs as data.  It stays as long as the expression. */
int hcy__program_ready(hcy_kernel **kernel, int *generated, struct hcy__device_program *p,
                       struct hcy__room *room, const struct hcy__launch *launch);
int hcy__program_launch(hcy_queue *queue, struct hcy__room *room, struct hcy__device_program *program,
                        const struct hcy__launch *launch);
/* The same by a kernel that hcy__program_ready() gave for such a launch, of elements that there are. */
int hcy__kernel_launch(hcy_queue *queue, hcy_kernel *kernel, int generated,
                       const struct hcy__device_program *program, const hcy_eval_job *job,
                       const hcy_eval_strides strides[2], hcy_buffer *const *buffers);

/* What a stage's arrays were like; rank -1: a temporary of one element. */
struct hcy__lie {
    int rank;
    int64_t shape[HCY_EVAL_AXES], strides[HCY_EVAL_AXES];
};
/* How they were launched then; the job's offsets and values are each launch's, as buffers are. */
struct hcy__known {
    struct hcy__known *next;
    int depth; /* of the list from here on */
    int generated;
    hcy_kernel *kernel; /* the room's or the expression's */
    struct hcy__lie lies[HCY_EVAL_OPERANDS];
    hcy_eval_job job;
    hcy_eval_strides strides[2];
};
void hcy__known_free(struct hcy__expression *expression);

/* Consecutive elements that a lane of a program that reduces or scans takes: where they must stay in order, a run. */
uint32_t hcy__elements_of_lane(const hcy_eval_program *program);

/* The form's columns, lanes and turns for a launch of the program; 0 where it does not go by columns. */
void hcy__find_columns(struct hcy__form *form, const hcy_eval_program *program, const hcy_eval_job *job,
                       const hcy_eval_strides strides[2]);

/* Elements that a work item of a generated kernel takes at once, unless it reduces or scans. */
enum { HCY__EVAL_AT_ONCE = 4 };

/* generate.c: the program as text in a dialect, malloced; NULL: out of memory. */
char *hcy__generate(const hcy_eval_program *program, const struct hcy__eval_dialect *dialect, struct hcy__form form,
                    uint32_t n_operands, bool fast);

#endif
