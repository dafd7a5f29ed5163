/* dist_priv.h - a communicator, as src/dist sees it, and messages between arrays. */
#ifndef HCY_DIST_PRIV_H
#define HCY_DIST_PRIV_H

#include "array_priv.h"
#include "transport.h"

#include <halcyon/dist.h>

/* How arrays on devices may go: 1: so it has to be; -1: not so; 0: NCCL where it can be, MPI not.  shared -1: ranks of
 * one host have no memory in common. */
struct hcy__ways {
    int nccl, mpi, shared;
    int seconds; /* that NCCL has to join all ranks; 0: for ever */
};

struct hcy_dist {
    atomic_uint refs;
    const struct hcy_transport *transport;
    void *impl;
    struct hcy__place place;
    struct hcy__ways ways;
    bool has_free_sums;
    int64_t most_gathered; /* sums that all ranks get rather than pieces' shares: what a device's messages carry in the
                              time of some launches; 0 by the host */
    hcy_device *device; /* of hcy_dist_device() */
    const struct hcy_device_transport *on_device; /* NULL: the transport of host memory carries all */
    void *device_impl;
    bool reaches_device; /* ... and takes the device's as well */
    hcy_buffer *staging; /* pinned memory of a device, which grows */
    struct hcy__exchange *plain; /* hcy__dist_exchange()'s, without a reference; NULL: it was never called */
};

/* What a wish says: names of transports, and the piece of messages. */
struct hcy__wish {
    char transport[16]; /* "": whatever fits; "mpi": any MPI */
    bool without[5];    /* of the names in transports.c */
    struct hcy__ways ways;
    size_t piece;
    int seconds;   /* that ranks may take to come by MPI; 0: for ever */
    int n_threads; /* 0: it does not say */
};
int hcy__dist_wish(struct hcy__wish *wish, const char *text);
/* HCY_EINVAL: there are several processes, in each of which threads would believe that they are all. */
int hcy__dist_check_threads(void);
/* Joins the processes that a wish is for. */
int hcy__dist_join(const struct hcy_transport **transport, void **impl, struct hcy__place *place,
                   const struct hcy__wish *wish);
/* A communicator of this rank's end of a transport, which is closed on failure. */
int hcy__dist_new(hcy_dist **comm, const struct hcy_transport *transport, void *impl, const struct hcy__place *place,
                  struct hcy__ways ways);
/* hcy_dist_open() of a wish that was read. */
int hcy__dist_open(hcy_dist **comm, const struct hcy__wish *wish);
/* GPUs of this process, 1 where there is none. */
int hcy__dist_count_gpus(void);
/* No more by a transport of devices. */
void hcy__dist_leave_device(hcy_dist *comm);
/* The module NAME, of one of the two kinds.  HCY_ENODEV, HCY_EBACKEND, HCY_EABI. */
int hcy__transport_load(const struct hcy_transport **host, const struct hcy_device_transport **device,
                        const char *name);

/* --- Ranks that are threads: dist_threads.c, dist_meetings.c --- */

/* Whether ranks see each other's memory as their own. */
bool hcy__are_threads(const hcy_dist *comm);
/* n ranks that are threads, and a communicator for each; on failure some have none, and there may be a run. */
struct hcy__run;
int hcy__run_new(struct hcy__run **run, hcy_dist **comms, int n, struct hcy__ways ways);
/* A rank's thread has ended, with a status: its own words are the caller's last failure. */
void hcy__run_end_rank(struct hcy__run *run, int rank, int status);
/* The status of the first rank that failed, with its words; 0: none has. */
int hcy__run_release(struct hcy__run *run);

/* An array, or a part of one, that goes to or comes from a rank; this one's own too. */
struct hcy__dist_part {
    int rank;
    bool sends;
    hcy_array *array;
};
/* All parts at once.  Between two ranks they go in their order, and have as many bytes at both ends. */
int hcy__dist_exchange(hcy_queue *queue, hcy_dist *comm, const struct hcy__dist_part *parts, size_t n);
/* The same where all ranks' `status` is 0 and all had the memory that it takes, on which they agree first. */
int hcy__dist_exchange_agreed(hcy_queue *queue, hcy_dist *comm, const struct hcy__dist_part *parts, size_t n,
                              int status);
/* The same, begun and ended: what is submitted between runs while messages are on their way, and changes none of the
 * parts that are sent.  It has memory of its own, and is used again; one queue at a time. */
struct hcy__exchange;
int hcy__exchange_new(struct hcy__exchange **out, hcy_dist *comm);
void hcy__exchange_free(struct hcy__exchange *x); /* NULL is fine */
/* With the communicator goes its own. */
void hcy__exchange_forget(hcy_dist *comm);
int hcy__exchange_begin(hcy_queue *queue, struct hcy__exchange *x, const struct hcy__dist_part *parts, size_t n);
int hcy__exchange_end(hcy_queue *queue, struct hcy__exchange *x);
/* After a failure of the caller's: what was begun on this rank is over. */
void hcy__exchange_cancel(hcy_queue *queue, struct hcy__exchange *x);
/* What is submitted to `queue` from here on comes after all that `other` has so far. */
int hcy__follow(hcy_queue *queue, hcy_queue *other);
/* Of a contiguous array: its bytes, where they begin in its buffer, and where the transport of host memory takes them
 * from as they lie (NULL: nowhere). */
size_t hcy__bytes_of(const hcy_array *a);
size_t hcy__offset_of(const hcy_array *a);
void *hcy__within_reach(const hcy_dist *comm, const hcy_array *a);
/* An array without gaps, as large as another; undefined. */
int hcy__new_packed(hcy_array **packed, hcy_queue *queue, const hcy_array *a);
/* Pinned memory of so many bytes at least, for the queue's device: *staging is kept, or replaced. */
int hcy__need_staging(char **memory, hcy_buffer **staging, hcy_queue *queue, size_t bytes);
/* A view of `count` rows of an array from row `first` of an axis on. */
int hcy__rows(hcy_array **rows, const hcy_array *array, int axis, int64_t first, int64_t count);
/* HCY_EINVAL: no communicator, or no such rank in it. */
int hcy__dist_check(const hcy_dist *comm, int rank, const char *function);

/* Which part of an array each rank has; constant once it is made, but for what its sums are made in (dist_sum.c). */
struct hcy__sum_memory;
void hcy__sum_memory_free(struct hcy__sum_memory *memory); /* NULL is fine */
struct hcy_dist_layout {
    atomic_uint refs;
    hcy_dist *comm;
    int rank, axis; /* axis -1: replicated; HCY_DIST_GRID: blocks along several */
    bool is_checked;
    int grid[HCY_ARRAY_MAX_RANK]; /* ranks along each axis, which are numbered row by row; 1 of what is replicated */
    int64_t shape[HCY_ARRAY_MAX_RANK], local[HCY_ARRAY_MAX_RANK];
    int64_t *bounds[HCY_ARRAY_MAX_RANK]; /* of grid[d] + 1: where blocks along an axis begin, then their end */
    int64_t *firsts;     /* of n_ranks + 1: the first row of each rank, then their number; over a grid of elements */
    int64_t row;         /* elements of a row: of all axes but that of the blocks; over a grid 1 */
    hcy_vectors vectors; /* sums over the parts; for this layout alone */
    struct hcy__sum_memory *sums; /* NULL: none was made yet */
};
static inline bool hcy__is_dealt(const hcy_dist_layout *layout)
{
    return layout->axis != -1;
}
/* As the public functions make them: of an axis, or HCY_DIST_GRID, and a grid.  NULL in `rows`: as even as can be. */
int hcy__layout_make(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, int axis,
                     const int *grid, const int64_t *const *rows, bool is_checked);
/* How many rows each rank has, to be freed; NULL of a replicated layout.  HCY_EUNSUPPORTED over a grid. */
int hcy__layout_rows(int64_t **rows, const hcy_dist_layout *layout);
/* Rows [first, end) of each axis. */
struct hcy__box {
    int64_t first[HCY_ARRAY_MAX_RANK], end[HCY_ARRAY_MAX_RANK];
};
/* A rank's part of the whole. */
struct hcy__box hcy__layout_box(const hcy_dist_layout *layout, int rank);
/* What two boxes have in common, counted from `origin`; false: nothing. */
bool hcy__box_common(struct hcy__box *common, const struct hcy__box *a, const struct hcy__box *b,
                     const int64_t *origin, int rank);
/* A view of a box of an array. */
int hcy__cut(hcy_array **part, const hcy_array *array, const struct hcy__box *box);
/* HCY_EINVAL, in the words of a function, if an array is no part of the layout on the queue's device. */
int hcy__part_check(const hcy_queue *queue, const hcy_array *part, const hcy_dist_layout *layout,
                    const char *function);
/* hcy_dist_compare() of an array in a layout that is checked; 0 of others. */
int hcy__layout_compare(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout);
/* What hcy_dist_redistribute() does with arrays that go together. */
int hcy__dist_move(hcy_queue *queue, hcy_array *to, const hcy_dist_layout *to_layout, hcy_array *from,
                   const hcy_dist_layout *from_layout);
/* The same, with a failure for lack of memory on all ranks. */
int hcy__dist_move_agreed(hcy_queue *queue, hcy_array *to, const hcy_dist_layout *to_layout, hcy_array *from,
                          const hcy_dist_layout *from_layout);
/* The sum of conj(x) * y over arrays in blocks; y NULL: that of x. */
int hcy__dist_sum(hcy_queue *queue, hcy_array *sum, const hcy_dist_layout *layout, hcy_array *x, hcy_array *y);
/* What hcy_dist_dot() does, as a table of vectors has it. */
int hcy__dist_dot(hcy_queue *queue, hcy_array *sum, void *layout, hcy_array *x, hcy_array *y);
/* The text, whose last statement writes operand 0, and that of it and itself. */
int hcy__dist_eval_square(hcy_queue *queue, hcy_array *sum, void *layout, const char *text, const hcy_operand *operands,
                          size_t n);
/* Whether that is the part's own sum, then the total over ranks. */
int hcy__dist_adds_parts(void *layout);
int hcy__dist_total(hcy_queue *queue, hcy_array *sum, void *layout);

/* hcy_dist_agree() on an operator that was made: one that not all ranks have goes again. */
int hcy__dist_agree_on(hcy_operator **op, hcy_dist *comm, int status);
/* HCY_EINVAL on all ranks where they come with other bytes, which `words` name: messages between them would not fit. */
int hcy__dist_same(hcy_dist *comm, const void *what, size_t bytes, const char *function, const char *words);

/* --- dist_transpose.c --- */

/* hcy_dist_transpose(), with the rows of each rank in the result; NULL: as even as can be.  *range is to be released
 * by the caller, and is NULL after a failure; it is `into`, if that is one, which has such a shape and rows. */
int hcy__dist_turn(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *domain, int dtype,
                   const int *axes, int blocks, const int64_t *rows, hcy_dist_layout *into);

/* --- dist_dealt.c --- */

/* Of parts in blocks, on devices whose memory is the host's: this rank's own transform of the last n_axes (0: none;
 * real numbers, if dtype says so, to half of the last), then that of the blocks' axis, by way of blocks along axis
 * `other`.  Numbers of to_dtype, in layout `range`, come out. */
int hcy__dist_transform_dealt(hcy_operator **op, hcy_device *dev, hcy_dist_layout *range, hcy_dist_layout *domain,
                              int dtype, int to_dtype, int n_axes, int other);

/* --- halo.c --- */

/* Ghost rows along each axis, and whether there are some, zeros, outside the whole array. */
struct hcy__widths {
    int64_t front[HCY_ARRAY_MAX_RANK], back[HCY_ARRAY_MAX_RANK];
    bool outside;
};
/* What this rank fetches, counted in its padded part, or what it gives, counted in its own part: one box a rank. */
struct hcy__ghost {
    int rank;
    bool gives;
    struct hcy__box box;
};
/* To be freed; not collective. */
int hcy__dist_list_ghosts(struct hcy__ghost **ghosts, size_t *n, const hcy_dist_layout *l,
                          const struct hcy__widths *widths);

/* HCY_EINVAL, in the words of a function: nothing to make an operator of rows from.  *op is NULL. */
int hcy__dist_check_halo(hcy_operator **op, const hcy_device *dev, const hcy_dist_layout *layout,
                         const char *function);
/* The layout of all ranks' rows with their ghosts; collective. */
int hcy__dist_pad(hcy_dist_layout **padded, const hcy_dist_layout *l, const struct hcy__widths *widths);
/* The operator that fetches ghosts (fetches), or the one that leaves them out: not collective. */
int hcy__dist_ghosts(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, hcy_dist_layout *padded,
                     int dtype, const struct hcy__widths *widths, bool fetches);
/* Layout and operator of ghosts; collective. */
int hcy__dist_halo_of(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout, int dtype,
                      const struct hcy__widths *widths);

/* --- dist_overlap.c --- */

/* Differences of `half`, transposed or not, of arrays in any blocks, one layout with an axis in front of the other's
 * where they are apart, which fetches ghosts while it computes what needs none: not collective. */
int hcy__dist_overlapped(hcy_operator **op, hcy_device *dev, hcy_dist_layout *to, hcy_dist_layout *from,
                         const hcy_differences_desc *half);

#endif
