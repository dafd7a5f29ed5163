/* halcyon/dist.h - several processes on one problem, or several threads of one: communicators, arrays that are dealt
 * out, operators.
 *
 * A communicator is a number of processes, or of threads, its ranks, that call the same functions in the same order:
 * all functions here but those that say otherwise are collective.  How bytes travel is a matter of modules that are
 * found when a program runs: `self` is one process, Open MPI and MPICH have a module each where the build has found
 * them, and `nccl` carries what lies on devices that it reaches; what no module carries from there goes through
 * pinned memory of the host.  An array that is dealt out is an ordinary array on each rank: what goes element by
 * element is hcy_eval() as ever.  A layout, common to many, says which part of the whole each rank has.
 * For example:
 *
 *     static int norm_of_ones(double *square, int64_t n)
 *     {
 *         hcy_dist *comm = NULL;
 *         hcy_device *dev = NULL;
 *         hcy_queue *queue = NULL;
 *         hcy_dist_layout *layout = NULL;
 *         hcy_array *x = NULL, *sum = NULL;
 *         int status = hcy_dist_open(&comm, NULL);
 *         if (!status)
 *             status = hcy_dist_device(&dev, comm, NULL);
 *         if (!status)
 *             status = hcy_queue_create(&queue, dev);
 *         if (!status)
 *             status = hcy_dist_layout_blocks(&layout, comm, 1, &n, 0, NULL);
 *         if (!status)
 *             status = hcy_dist_array(&x, dev, layout, HCY_FLOAT32);
 *         if (!status)
 *             status = HCY_EVAL(queue, "x = 1", hcy_op_array("x", x));
 *         if (!status)
 *             status = hcy_array_empty(&sum, dev, HCY_FLOAT64, 0, NULL);
 *         if (!status)
 *             status = hcy_dist_dot(queue, sum, layout, x, x);
 *         if (!status)
 *             status = hcy_array_to_host(square, queue, sum);
 *         hcy_array_release(sum);
 *         hcy_array_release(x);
 *         hcy_dist_layout_release(layout);
 *         hcy_queue_release(queue);
 *         hcy_device_release(dev);
 *         hcy_dist_release(comm);
 *         return status;
 *     }
 *
 * Failures.  A rank that fails alone leaves the others waiting for it: a program reports what was wrong and calls
 * hcy_dist_abort(), which ends all; one that simply ends, or is killed, is noticed by its launcher, which does the
 * same.  hcy_dist_agree() makes a failure of one rank that of all, so that they may go on together.  Functions that
 * make communicators, devices and layouts do that themselves.
 *
 * Threads: one at a time uses communicators, all of them, and what is made of them; ranks that are threads each their
 * own, and none of another's.  Objects are reference-counted;
 * giving back a communicator's last reference is collective, too.  Functions that take a queue may wait for it.
 */
#ifndef HALCYON_DIST_H
#define HALCYON_DIST_H

#include <halcyon/eval.h>
#include <halcyon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_dist hcy_dist;

/* --- Communicators --- */

/* All processes that were started together.  `wish` is a list of names: self, threads (hcy_dist_run()), mpi (the one
 * of the program or of its launcher), openmpi, mpich, mpi-abi (libraries with MPI 5's binary interface, found at run
 * time), nccl, mpi-device (an MPI that takes a device's memory as it lies; never unless it is named), shared (memory
 * that ranks of one host have in common, taken where there is any); "-name" is not to be used, what is named otherwise
 * has to be there.  NULL: the environment's HALCYON_DIST.  Where neither names processes: MPI's if the program is
 * linked to one, or has opened one before, or a launcher of MPI started this one, else `self`.  "mpi@piece=4096" cuts
 * messages into pieces of so many bytes (1 GiB unless it is said); "mpi@wait=60" fails a message or collective by MPI
 * that takes longer, after which nothing more is carried and hcy_dist_abort() is due; "nccl@wait=60" gives NCCL so many
 * seconds to join all ranks, and to part them, before hcy_dist_device() fails on all; without, and with 0, that is
 * waited for for ever, and short messages take half the time.  HCY_EINVAL: no such name, one that is taken away, or
 * a launcher has started several processes and this one would be alone without having said so; HCY_ENODEV: no such
 * module, or no library for it; HCY_ESTATE: MPI has been ended in this process; HCY_EABI: a module or library of
 * another interface; HCY_EBACKEND. */
HCY_API int hcy_dist_open(hcy_dist **comm, const char *wish) HCY_MUST_USE;
/* Calls work(comm, user) with the communicator that hcy_dist_open() makes of such a wish, or, where that is
 * "threads@ranks=N", on N threads of this process at once, of which the caller's is rank 0: several devices without
 * a launcher, each rank with its own (hcy_dist_device() of "gpu" or of a list), and a transport of devices between
 * them, if there is one. Without "@ranks" there are as many as GPUs. Threads have the caller's signal mask and
 * floating point environment, and end by returning from `work`, which does not call pthread_exit(). What `work`
 * makes of its communicator it gives back itself. Returns when all threads have ended: 0, or what the first `work`
 * that failed has returned, with its words. Other ranks, wherever they wait for it, return a failure then,
 * HCY_EBACKEND where it has returned a number above 0. Threads that come together to different functions, or with other
 * numbers, all fail with HCY_EINVAL; processes may wait for ever. Where ranks are processes, giving back the
 * communicator waits for the others: `work` that fails alone says why and calls hcy_dist_abort(), which does for
 * threads what is wanted, too. Not collective, and not within `work`. Statuses as hcy_dist_open(). */
HCY_API int hcy_dist_run(int (*work)(hcy_dist *comm, void *user), void *user, const char *wish) HCY_MUST_USE;
/* Not collective, but for the last release. */
HCY_API hcy_dist *hcy_dist_retain(hcy_dist *comm);
HCY_API void hcy_dist_release(hcy_dist *comm);

/* What a communicator is.  Strings are static. */
typedef struct hcy_dist_info {
    size_t size;                  /* sizeof(hcy_dist_info) */
    const char *transport;        /* "self", "threads", "openmpi", "mpich", "mpi-abi" */
    const char *device_transport; /* "nccl", "mpi-device", or "" where arrays on devices go through the host */
    int rank, n_ranks;            /* from 0 */
    int local_rank, n_local;      /* among the ranks of this host */
} hcy_dist_info;
#define HCY_DIST_INFO_INIT { sizeof(hcy_dist_info), NULL, NULL, 0, 0, 0, 0 }
/* *info begins with HCY_DIST_INFO_INIT.  Not collective. */
HCY_API int hcy_dist_get_info(hcy_dist_info *info, const hcy_dist *comm) HCY_MUST_USE;

/* The ranks that give the same colour, in their order; below 0: in none, *part is NULL. */
HCY_API int hcy_dist_split(hcy_dist **part, hcy_dist *comm, int colour) HCY_MUST_USE;

/* Opens this rank's device, and lets arrays on it go by a transport of devices if all ranks have one.  `spec` is a
 * device string; of several, with commas, and of all devices of a backend ("cuda") or kind ("gpu", or "auto" where
 * there is one), with options or without ("cuda@fft=own"), the one of the local rank, counted round.  NULL:
 * HALCYON_DEVICE, else a GPU, else the CPU.  On failure *dev is NULL.  A communicator has one device:
 * HCY_ESTATE when it is asked again.  HCY_EUNSUPPORTED: nccl or mpi-device was wished for, and a rank
 * cannot use it; HCY_EBACKEND: NCCL has not joined all ranks, or not in time. */
HCY_API int hcy_dist_device(hcy_device **dev, hcy_dist *comm, const char *spec) HCY_MUST_USE;

/* 0 if all ranks come with 0; else all return the same failure, the worst (a number above 0, no status, is
 * HCY_EBACKEND): whose it is in its own words, the others in those of the first of these ranks. */
HCY_API int hcy_dist_agree(hcy_dist *comm, int status) HCY_MUST_USE;
/* Ends the processes of all ranks, this one too, with an exit status from 1 to 255; not collective.  It returns if
 * there is this process alone, which the caller ends; then other threads of hcy_dist_run() fail from here on, which
 * returns the code, with the words of this thread's last failure, as old as that may be. */
HCY_API void hcy_dist_abort(hcy_dist *comm, int code);
HCY_API int hcy_dist_barrier(hcy_dist *comm) HCY_MUST_USE;

/* --- How long it takes --- */

/* Times by labels; collective.  on: 1, 0, or below 0: as HALCYON_DIST_TIMER says in rank 0's environment, 1; one that
 * is off does nothing.  It keeps the communicator; one thread at a time. */
typedef struct hcy_dist_timer hcy_dist_timer;
HCY_API int hcy_dist_timer_create(hcy_dist_timer **timer, hcy_dist *comm, int on) HCY_MUST_USE;
HCY_API void hcy_dist_timer_destroy(hcy_dist_timer *timer);
/* From here to the end that belongs to it, once more.  The beginning waits for the queue (NULL: none) and for all
 * ranks, the end for the queue: so ranks begin together, and who is late shows.  Between them others may begin and end.
 * HCY_EINVAL: a label of more than 63 bytes or none, more than 16 in one another; HCY_ERANGE: more than 64 labels;
 * HCY_ESTATE: an end without a beginning. */
HCY_API int hcy_dist_timer_begin(hcy_queue *queue, hcy_dist_timer *timer, const char *label) HCY_MUST_USE;
HCY_API int hcy_dist_timer_end(hcy_queue *queue, hcy_dist_timer *timer) HCY_MUST_USE;

typedef struct hcy_dist_mark {
    size_t size;        /* sizeof(hcy_dist_mark) */
    const char *label;  /* the timer's */
    int depth, parent;  /* in how many others it stands; which mark the innermost of these is, -1: none */
    int64_t times;      /* how often it was ended */
    double least, most; /* seconds of all those times, of the fastest rank and of the slowest */
} hcy_dist_mark;
#define HCY_DIST_MARK_INIT { sizeof(hcy_dist_mark), NULL, 0, -1, 0, 0, 0 }
/* Marks in the order in which they were first begun; *n: how many there are, of which as many are written as there is
 * room for.  Each begins with HCY_DIST_MARK_INIT.  HCY_EINVAL: ranks have timed other labels. */
HCY_API int hcy_dist_timer_read(hcy_dist_mark *marks, size_t *n, size_t capacity,
                                hcy_dist_timer *timer) HCY_MUST_USE;

/* --- Numbers between ranks ---
 *
 * Arrays are contiguous or not, of any device, of the same types and shapes on all ranks where nothing else is said.
 * Those of one call are all on the ranks' devices of hcy_dist_device(), or on no rank: with a transport of devices the
 * two ways that they go know nothing of each other.  NCCL leaves them in the queue, behind what was submitted before,
 * and a failure is that of the next call or of the queue; by MPI, through the host or not, they are done on return.
 * HCY_EINVAL: ranks, types or counts that cannot be. */

enum hcy_reduction { HCY_REDUCE_SUM = 1, HCY_REDUCE_MIN, HCY_REDUCE_MAX };

/* What rank `root` has goes to all. */
HCY_API int hcy_dist_broadcast(hcy_queue *queue, hcy_array *array, hcy_dist *comm, int root) HCY_MUST_USE;
/* Element by element the sum (of integers, floats, complex numbers), the smallest or the largest of all ranks', in
 * place, to all.  A sum of floats is the same on all ranks, but how it is rounded depends on their number;
 * hcy_dist_dot() has sums that do not.  What a sum of integers is that their type cannot have is the transport's own:
 * the largest or smallest of 8 and 16 bits by some builds of Open MPI, elsewhere it wraps. */
HCY_API int hcy_dist_allreduce(hcy_queue *queue, hcy_array *array, hcy_dist *comm, int reduction) HCY_MUST_USE;
/* HCY_ECORRUPT on all ranks, in words that name the first one of them, if a rank's array, in C order, has another bit
 * than rank 0's, another type or another number of elements.  Waits for the queue. */
HCY_API int hcy_dist_compare(hcy_queue *queue, hcy_array *array, hcy_dist *comm) HCY_MUST_USE;
/* `sent` goes to rank `to` while what rank `from` sends comes to `received`; a rank below 0: nothing is sent, or
 * comes.  The two sides name arrays of as many bytes; `received` and `sent` share no memory. */
HCY_API int hcy_dist_sendrecv(hcy_queue *queue, hcy_array *received, hcy_dist *comm, int from, hcy_array *sent,
                              int to) HCY_MUST_USE;
/* Of `sent`, which has one axis, the first sends[0] elements go to rank 0, the next sends[1] to rank 1 and so on; in
 * `received`, which shares no memory with it, stand first the receives[0] elements that rank 0 has sent, and so on. */
HCY_API int hcy_dist_alltoall(hcy_queue *queue, hcy_array *received, hcy_dist *comm, const int64_t *receives,
                              hcy_array *sent, const int64_t *sends) HCY_MUST_USE;

/* The same in host memory, for what is no array: bytes, and `count` numbers of an integer type, float32 or float64. */
HCY_API int hcy_dist_broadcast_host(void *data, hcy_dist *comm, size_t bytes, int root) HCY_MUST_USE;
HCY_API int hcy_dist_allreduce_host(void *data, hcy_dist *comm, int dtype, size_t count, int reduction) HCY_MUST_USE;

/* --- Layouts: which part of an array each rank has --- */

typedef struct hcy_dist_layout hcy_dist_layout;

/* Arrays of a shape in blocks along an axis (from the last one if it is negative): rank r has rows[r] of them, 0 too,
 * which add up to the shape's; NULL: as many each as can be, the first ranks one more.  All ranks give the same.
 * HCY_EINVAL: they do not, or numbers that cannot be.  The layout keeps its communicator. */
HCY_API int hcy_dist_layout_blocks(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, int axis,
                                   const int64_t *rows) HCY_MUST_USE;
/* The same over a grid of ranks, grid[d] of them along axis d, as many in all as there are, which are numbered row by
 * row: number i along axis d has rows[d][i] rows of it, 0 too; rows or rows[d] NULL: as even as can be.  A grid with
 * ranks along one axis is hcy_dist_layout_blocks().  Over one with several hcy_dist_fft() and hcy_dist_fft_real() make
 * no operator: hcy_dist_transpose() and hcy_dist_redistribute() lead to blocks along one.  HCY_EINVAL: as above, or
 * another number of ranks. */
HCY_API int hcy_dist_layout_grid(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape,
                                 const int *grid, const int64_t *const *rows) HCY_MUST_USE;
/* The whole array on each rank, the same everywhere: whether it is, nobody asks. */
HCY_API int hcy_dist_layout_replicated(hcy_dist_layout **layout, hcy_dist *comm, int rank,
                                       const int64_t *shape) HCY_MUST_USE;
/* The same for those who look for a mistake: hcy_dist_operator()'s operators, hcy_dist_gather() and
 * hcy_dist_redistribute() compare such an array before they use it, as hcy_dist_compare() does. */
HCY_API int hcy_dist_layout_checked(hcy_dist_layout **layout, hcy_dist *comm, int rank,
                                    const int64_t *shape) HCY_MUST_USE;
/* Not collective, but for the last release if the communicator goes with it. */
HCY_API hcy_dist_layout *hcy_dist_layout_retain(hcy_dist_layout *layout);
HCY_API void hcy_dist_layout_release(hcy_dist_layout *layout);

enum { HCY_DIST_GRID = -2 };

typedef struct hcy_dist_layout_info {
    size_t size;    /* sizeof(hcy_dist_layout_info) */
    hcy_dist *comm; /* the layout's */
    int rank;       /* axes */
    int axis;       /* along which there are blocks; -1: replicated; HCY_DIST_GRID: along several */
    int64_t shape[HCY_ARRAY_MAX_RANK], local_shape[HCY_ARRAY_MAX_RANK]; /* of the whole, and of this rank's part */
    int64_t first;  /* this rank's first row along the axis */
    int is_checked; /* replicated, and compared before it is used */
    int grid[HCY_ARRAY_MAX_RANK];       /* ranks along each axis; 1 where the axis is not dealt out */
    int64_t firsts[HCY_ARRAY_MAX_RANK]; /* this rank's first row along each */
} hcy_dist_layout_info;
#define HCY_DIST_LAYOUT_INFO_INIT { sizeof(hcy_dist_layout_info), NULL, 0, 0, { 0 }, { 0 }, 0, 0, { 0 }, { 0 } }
/* *info begins with HCY_DIST_LAYOUT_INFO_INIT.  Not collective. */
HCY_API int hcy_dist_layout_get_info(hcy_dist_layout_info *info, const hcy_dist_layout *layout) HCY_MUST_USE;

/* This rank's part of a new array, undefined: an ordinary array of the layout's local shape.  Not collective. */
HCY_API int hcy_dist_array(hcy_array **part, hcy_device *dev, const hcy_dist_layout *layout, int dtype) HCY_MUST_USE;
/* Vectors of a layout, for operators and solvers: in blocks with the sums of hcy_dist_dot(), replicated like a whole
 * vector.  Random vectors, by which norms are estimated, are those of the whole array for any number of ranks and rows;
 * over a grid, whose elements are numbered block by block, the grid's own.  It holds for as long as the layout, which
 * operators of hcy_dist_operator() keep.  Not collective. */
HCY_API int hcy_dist_space(hcy_space *space, const hcy_dist_layout *layout, int dtype) HCY_MUST_USE;

/* sum (one float64, or complex128 of complex numbers) = the sum of conj(x) * y over the whole arrays, on each rank:
 * the bits that hcy_eval()'s dot(float64(x), float64(y)) and vdot(complex128(x), complex128(y)) have on one device,
 * for any number of ranks and rows.  (In blocks along an axis with others in front of it: with that axis in front.
 * Over a grid of ranks: with the ranks' blocks one behind the other, so that bits are the grid's.)  x and y are parts,
 * contiguous. */
HCY_API int hcy_dist_dot(hcy_queue *queue, hcy_array *sum, const hcy_dist_layout *layout, hcy_array *x,
                         hcy_array *y) HCY_MUST_USE;
/* How those and the sums of norms, solvers and dot tests over a communicator's ranks are rounded: so, which is what it
 * begins with, or HCY_SUMS_FREE, each rank's own sum and one reduction, as hcy_dist_allreduce() has it: fewer messages,
 * and other bits for another number of ranks.  Communicators that are split off from then on have it, too.  HCY_EINVAL:
 * ranks do not say the same. */
enum hcy_sums { HCY_SUMS_SAME = 0, HCY_SUMS_FREE };
HCY_API int hcy_dist_set_sums(hcy_dist *comm, int sums) HCY_MUST_USE;
/* norm (one float64) = the square root of the sum of all squares, with such bits. */
HCY_API int hcy_dist_norm(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x) HCY_MUST_USE;
/* The norm of an order, with such bits: above 0 the root of the sum of all |x|^order, INFINITY the largest |x|,
 * -INFINITY the smallest, 0 how many are not 0.  It takes memory for a part of float64.  HCY_EINVAL: another order. */
HCY_API int hcy_dist_norm_of(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x,
                             double order) HCY_MUST_USE;

/* The whole array, which rank `root` has, in parts to all; `whole` is not looked at on other ranks. */
HCY_API int hcy_dist_scatter(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout, hcy_array *whole,
                             int root) HCY_MUST_USE;
/* All parts to the whole array on rank `root`, and on all ranks if that is below 0; of a replicated array the parts
 * are the root's own.  `whole` is not looked at on other ranks. */
HCY_API int hcy_dist_gather(hcy_queue *queue, hcy_array *whole, const hcy_dist_layout *layout, hcy_array *part,
                            int root) HCY_MUST_USE;
/* The same array in another layout, of the same shape and communicator. */
HCY_API int hcy_dist_redistribute(hcy_queue *queue, hcy_array *to, const hcy_dist_layout *to_layout, hcy_array *from,
                                  const hcy_dist_layout *from_layout) HCY_MUST_USE;

/* The whole array to FILE.npy, in its own type, or to FILE.h5:DATASET (/data), floats, doubles and complex numbers, in
 * which other datasets stay: each rank writes its part, to a file system that all share; of a replicated array rank 0
 * does.  The file takes its name when all of it is there.  HCY_EINVAL: another name; HCY_EUNSUPPORTED: such numbers in
 * HDF5; HCY_EIO. */
HCY_API int hcy_dist_to_file(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout,
                             const char *path) HCY_MUST_USE;
/* The layout of a file's array: in blocks along an axis, or replicated (-1).  Rank 0 reads the file's head. */
HCY_API int hcy_dist_layout_of_file(hcy_dist_layout **layout, hcy_dist *comm, const char *path, int axis) HCY_MUST_USE;
/* This rank's part of it, new: each rank reads its own rows of FILE.npy, in its own type, and FILE.h5:DATASET (by
 * hyperslabs; integers as doubles; no raw acquisitions); files of other kinds, and in Fortran's order, whole.
 * HCY_EINVAL: the layout has another shape; HCY_ENOENT, HCY_EFORMAT, HCY_ECORRUPT, HCY_EIO: as hcy_array_from_file(),
 * on all ranks. */
HCY_API int hcy_dist_from_file(hcy_array **part, hcy_device *dev, const hcy_dist_layout *layout,
                               const char *path) HCY_MUST_USE;

/* --- Operators over ranks --- */

/* Of each rank's own operator, between this rank's parts of two layouts, one over all ranks:
 *
 *     domain in blocks, range in blocks        block diagonal: nothing goes between ranks
 *     domain replicated, range in blocks       a stack of rows, such as the row blocks of a matrix; the adjoint adds up
 *     domain in blocks, range replicated       a stack of columns: the operator adds up
 *     both replicated                          the same operator everywhere
 *
 * Its vectors are those of hcy_dist_space(), so that the solvers of <halcyon/solve.h> do the same on each rank; the
 * layouts and the operator are kept.  Its adjoint is that of the whole, if all ranks have one.  HCY_EINVAL: an
 * operator between other shapes, layouts of two communicators, or in blocks on some ranks and replicated on others. */
HCY_API int hcy_dist_operator(hcy_operator **op, hcy_dist_layout *range, hcy_dist_layout *domain,
                              hcy_operator *own) HCY_MUST_USE;

/* Ghost rows: the rank's rows with `front` rows of those before them and `back` of those behind, from as many ranks
 * as it takes; at the ends of the whole array there are none, nor on a rank without rows.  The adjoint adds ghosts
 * up where they come from.  *padded is the layout of what comes out, to be released; NULL: it is not wanted.  What
 * goes where is found here, once.  HCY_EINVAL: a replicated layout or one over a grid, widths below 0. */
HCY_API int hcy_dist_halo(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout,
                          int dtype, int64_t front, int64_t back) HCY_MUST_USE;
/* The same along all axes, front[d] and back[d] ghost rows along axis d, with the corners between neighbours of several
 * axes; of a layout over a grid of ranks or in blocks.  `outside`: what stands where the whole array ends, along axes
 * that are not dealt out as well; zeros have no adjoint to add up to. */
enum hcy_outside { HCY_OUTSIDE_NONE = 0, HCY_OUTSIDE_ZERO };
HCY_API int hcy_dist_halo_grid(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout,
                               int dtype, const int64_t *front, const int64_t *back, int outside) HCY_MUST_USE;
/* The rank's own rows of the result of these two, between the same spaces; the adjoint puts zeros around them.  Not
 * collective.  HCY_EINVAL: not theirs. */
HCY_API int hcy_dist_crop(hcy_operator **op, hcy_operator *halo) HCY_MUST_USE;
/* padded = halo x in two calls, all ranks both: between them x's own rows are in the middle of `padded`, and what the
 * caller submits runs while ghost rows are on their way; they are there for what is submitted after the end.  x and
 * the ghost rows are not written until then, and other collective functions may be called, by all ranks alike.  The
 * plan and its memory of the host are kept for the next time; one queue at a time.  HCY_ESTATE: begun twice, or not at
 * all; HCY_EINVAL: not hcy_dist_halo()'s or hcy_dist_halo_grid()'s. */
HCY_API int hcy_dist_halo_begin(hcy_queue *queue, hcy_array *padded, hcy_operator *halo, hcy_array *x) HCY_MUST_USE;
HCY_API int hcy_dist_halo_end(hcy_queue *queue, hcy_operator *halo) HCY_MUST_USE;
/* What hcy_operator_difference(), hcy_operator_laplacian() and hcy_operator_gradient() do, of an array in blocks, along
 * one axis or over a grid of ranks: the same bits, of the adjoint too.  What needs no ghost rows is computed while
 * these are on their way.  The gradient's *range is the layout of what comes out, with an axis in front, to be
 * released; NULL: it is not wanted. */
HCY_API int hcy_dist_difference(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype, int axis,
                                int kind, double factor) HCY_MUST_USE;
HCY_API int hcy_dist_laplacian(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype,
                               const double *factors) HCY_MUST_USE;
HCY_API int hcy_dist_gradient(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *layout,
                              int dtype, int kind) HCY_MUST_USE;

/* --- Transforms --- */

/* The NUFFT of each rank's points: hcy_operator_nufft() of a plan that has this rank's own, none too.  Coefficients are
 * replicated, samples in blocks along their axis of points, as many as each plan has; the direction from samples to
 * coefficients adds up over the ranks.  Plans are alike but for their points: type 1 or 2, precision, modes,
 * transforms, sign, eps.  *samples is the layout of the samples, to be released; NULL: it is not wanted.
 * HCY_EUNSUPPORTED: a plan of type 3, transforms with points of their own. */
HCY_API int hcy_dist_nufft(hcy_operator **op, hcy_dist_layout **samples, hcy_dist *comm, hcy_nufft *plan) HCY_MUST_USE;
/* SENSE, hcy_operator_sense(), of an image that is replicated, with samples [coils][points] dealt out along an axis.
 * 0, coils: the plans have the same points, maps are those of this rank's coils (an axis of 0 in front where it has
 * none).  1, points: each plan has this rank's points, maps are those of all coils.  Weights are those of the rank's
 * own samples.  The adjoint adds up over the ranks. */
HCY_API int hcy_dist_sense(hcy_operator **op, hcy_dist_layout **samples, hcy_dist *comm, hcy_nufft *plan,
                           hcy_array *maps, hcy_array *weights, int axis) HCY_MUST_USE;

/* The same array with axis i its axis axes[i] (NULL: as they are), in even blocks along an axis of the result; below
 * 0: replicated.  What was replicated may be dealt out.  It moves numbers from all ranks to all, and its adjoint moves
 * them back.  *range is the layout of what comes out, to be released; NULL: it is not wanted. */
HCY_API int hcy_dist_transpose(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *domain,
                               int dtype, const int *axes, int blocks) HCY_MUST_USE;
/* The Fourier transform over 1 to 3 of the axes, in any order (from the last one if negative), exp(-i...), not
 * divided by anything, as hcy_operator_fft() has it; both sides have the layout.  The axis of the blocks is
 * transformed while another one is dealt out, which takes memory for one or two more parts (where ranks of one
 * host share it, each of them sees all of that); an array with no other axis is gathered on rank 0.  HCY_EINVAL:
 * real vectors, empty ones, axes that are not there; HCY_EUNSUPPORTED: a device without FFT. */
HCY_API int hcy_dist_fft(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype, const int *axes,
                         int n_axes) HCY_MUST_USE;
/* The same of real vectors, to half of the frequencies along the last of `axes`, as hcy_operator_fft_real() has them.
 * *range is the layout of what comes out, in blocks of the same axis with the same rows (even ones along the axis that
 * is halved), to be released; NULL: it is not wanted.  HCY_EINVAL: complex vectors, or as hcy_dist_fft(). */
HCY_API int hcy_dist_fft_real(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *layout,
                              int dtype, const int *axes, int n_axes) HCY_MUST_USE;

/* --- Matrices and convolutions --- */

/* y = A x for matrices A [n][k] and x [k][m], m `columns`, in blocks over a grid of ranks with `grid_rows` rows, which
 * are numbered row by row (SUMMA).  `own` is this rank's block of A: those of a row of the grid have as many rows each,
 * those of a column as many columns, none too.  Vectors have one axis, and a part is a block in C order.  The k rows of
 * x are dealt out evenly to the rows of the grid, the m columns of x and y to its columns, the first ones one more; y's
 * rows are those of A's blocks.  *range and *domain are their layouts, to be released.  The block is kept.
 * HCY_EINVAL: blocks that make no matrix, ranks that make no such grid; HCY_ERANGE: sizes that cannot be counted. */
HCY_API int hcy_dist_matrix(hcy_operator **op, hcy_dist_layout **range, hcy_dist_layout **domain, hcy_dist *comm,
                            hcy_array *own, int64_t columns, int grid_rows) HCY_MUST_USE;

/* Filters along an axis: n of them, that of number i for row first + i * step, whose numbers are taps[i * length] and
 * the following ones, an odd number.  Between two of them they are interpolated linearly; beyond the ends stands the
 * last one. */
typedef struct hcy_filters {
    size_t size;        /* sizeof(hcy_filters) */
    const double *taps; /* [n][length], in host memory; read when an operator is made */
    int64_t n;
    int length;
    int64_t first, step;
} hcy_filters;
#define HCY_FILTERS_INIT { sizeof(hcy_filters), NULL, 0, 0, 0, 1 }
/* Convolution along an axis (from the last one if negative) by filters that change on the way: what stands in row i,
 * times tap k of the row's filter, goes to row i + k - length / 2; nothing goes beyond the ends.  The blocks may be
 * along this axis, where neighbours' rows are fetched, or another one.  HCY_EINVAL: filters of an even number of taps,
 * none, no such axis. */
HCY_API int hcy_dist_convolve(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype, int axis,
                              const hcy_filters *filters) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
