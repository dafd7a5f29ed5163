/* nufft_priv.h - what the files of src/nufft share: the plan, the ways that a transform is done, how sizes are chosen.
 *
 * The arrows: window, choose and destroyed know no other file; points and grid make tables, sort, and transform;
 * the ways stand on these; interface, stages and many_devices are the public functions.  A way that is made of other
 * plans makes and sets them through the public functions, as any user would.
 */
#ifndef HCY_NUFFT_PRIV_H
#define HCY_NUFFT_PRIV_H

#include <halcyon/backend.h>
#include <halcyon/nufft.h>
#include <pthread.h>
#include <stdbool.h>
#include "nufft_arguments.h"
#include "nufft_format.h"
#include "window.h"

/* In the order of kernel_names[]. */
enum { SORT, SPREAD, INTERP, CROP, PAD, TO_MODES, TO_GRID, SCALE, LINES, SLOPES, AXES, N_KERNELS };

/* Memory of one execution, which has it alone; a plan keeps those that are free. */
struct hcy__nufft_work {
    struct hcy__nufft_work *next;
    struct hcy__nufft_work *inner; /* type 3 */
    hcy_queue *queue;              /* of executions that bring none */
    hcy_queue *last;               /* a caller's, whose commands use the memory, in order; a reference, or NULL */
    hcy_buffer *grid, *scratch, *fft_work, *scaled, *c, *f;
};

/* Where the next vectors are in a caller's buffer; what takes them moves on. */
struct hcy__nufft_span {
    hcy_buffer *buf;
    size_t at;
};

/* How a plan's transforms are done, from the points on: chosen when they are set (interface.c).  What a way needs for
 * itself is p->state. */
struct hcy__nufft_way {
    /* p->n_points points of the host's, and targets, which may go afterwards.  After a failure forget() is called. */
    int (*set_points)(hcy_nufft *p, const void *const *points, const void *const *targets);
    /* The first n vectors, from and to host memory; done on return.  Several threads at once. */
    int (*execute)(hcy_nufft *p, char *c, char *f, size_t n, bool adjoint);
    /* The same in buffers that are large enough, with a work that serves this queue alone. */
    int (*submit)(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, struct hcy__nufft_span *c,
                  struct hcy__nufft_span *f, size_t n, bool adjoint);
    /* One stage of all vectors, types 1 and 2. */
    int (*stage)(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage, struct hcy__nufft_span *from,
                 struct hcy__nufft_span *to);
    /* What differs from a plan with a grid; NULL: nothing. */
    int (*info)(hcy_nufft_info *info, const hcy_nufft *p);
    void (*forget)(hcy_nufft *p); /* the state, whole or half made or NULL */
};
extern const struct hcy__nufft_way hcy__nufft_on_grid, hcy__nufft_type3, /* the device has points and a grid */
    hcy__nufft_direct, /* small problems: the sum itself, on the host */
    hcy__nufft_pieces, /* points that the device has no room for at once */
    hcy__nufft_each;   /* points of each transform's own */

/* Type 3, an axis: centres and half widths of points and targets, and the scale. */
struct hcy__nufft_axis {
    double c, x, d, s, gamma;
};

struct hcy_nufft {
    /* What it is: constant (interface.c). */
    hcy_device *dev;
    hcy_kernel *kernels[N_KERNELS]; /* NULL: the device has none */
    hcy_nufft_desc desc; /* modes of 1 where there are none, the sign +1 or -1 */
    hcy_nufft_options opts;
    size_t n_transforms;
    size_t n_modes;      /* in all */
    bool may_be_direct;  /* nothing about the grid was asked for */
    bool whole;          /* never in pieces: part of another plan */
    size_t first_number; /* what words call the first point */
    hcy_nufft *owner;    /* whose work is taken, or NULL (each.c) */
    hcy_nufft *next_live; /* destroyed.c's */

    /* What is chosen for the points (choose.c, type3.c): constant from the points on. */
    hcy_nufft_job job; /* its modes from the start */
    double upsampling;
    size_t batch; /* vectors at once */
    size_t n_points, n_targets;
    size_t all_points, all_results; /* of all transforms */
    size_t piece_length;
    struct hcy__nufft_axis axes[3]; /* type 3 */
    const struct hcy__nufft_way *way; /* NULL: no points are set */
    void *state; /* the way's own */

    /* What is on the device (points.c).  Tables are of the job that tables_of was, FFTs of a batch. */
    hcy_nufft_job tables_of;
    size_t tables_batch;
    struct hcy__window window;
    hcy_buffer *table, *factors, *roots, *sorted, *report; /* roots: of LINES or AXES */
    hcy_event *sorting; /* NULL: the points are sorted */
    /* Where the device lacks TO_MODES or TO_GRID; for job.grid: of all axes, or (3-D) of the first alone and, of the
     * planes that have modes, of the others: of `planes` of them on either side. */
    hcy_fft *fft, *first_axis;
    size_t planes;
    bool has_own_lines; /* LINES in place of these, */
    bool goes_by_axes;  /* or AXES, for the grid that job has */

    /* Executions, of any threads (grid.c). */
    pthread_mutex_t lock; /* of: */
    struct hcy__nufft_work *free_work;
};

/* Whether bits shall be the same on every device. */
static inline bool hcy__nufft_is_same(const hcy_nufft *p)
{
    return p->opts.deterministic == HCY_NUFFT_SAME_EVERYWHERE;
}

static inline size_t hcy__nufft_real(const hcy_nufft *p)
{
    return p->desc.precision == HCY_F64 ? 8 : 4;
}

/* Of a vector: coefficients, or what stands for them. */
static inline size_t hcy__nufft_results(const hcy_nufft *p)
{
    return p->desc.type == 3 ? p->n_targets : p->n_modes;
}

/* Whether strengths are the result, not the coefficients. */
static inline bool hcy__nufft_writes_c(const hcy_nufft *p, bool adjoint)
{
    return (p->desc.type == 2) == !adjoint;
}

/* Bytes of one vector of strengths, or of coefficients. */
static inline size_t hcy__nufft_vector_bytes(const hcy_nufft *p, bool of_c)
{
    return (of_c ? p->n_points : hcy__nufft_results(p)) * 2 * hcy__nufft_real(p);
}

/* So many for every transform. */
static inline void hcy__nufft_count_points(hcy_nufft *p, size_t n_points, size_t n_targets)
{
    p->n_points = n_points;
    p->n_targets = n_targets;
    p->all_points = p->n_transforms * n_points;
    p->all_results = p->n_transforms * hcy__nufft_results(p);
}

static inline void hcy__nufft_drop(hcy_buffer **buf)
{
    hcy_buffer_release(*buf);
    *buf = NULL;
}

/* choose.c: width and fine grid for n_points; HCY_ERANGE, HCY_EINVAL. */
int hcy__nufft_choose(hcy_nufft *plan, size_t n_points);
/* Vectors at once, of the plan's grid and so many points; 0: these are not known. */
size_t hcy__nufft_batch(const hcy_nufft *plan, size_t n_points);
/* The window's width for this upsampling. */
unsigned hcy__nufft_width(double eps, int dim, bool type3, double upsampling);
/* What the plan takes: the option, or that, as far as there are windows and the precision has use for them. */
unsigned hcy__nufft_width_for(const hcy_nufft *plan, double upsampling);
/* The most cells of a window that the precision has use for. */
unsigned hcy__nufft_widest(int precision, double upsampling);
/* Whether eps can be reached on such a grid by a window of a plan's choice, */
bool hcy__nufft_reaches(const hcy_nufft_desc *desc, double upsampling);
/* ... or is not wanted, as the width is given: 0, HCY_ERANGE. */
int hcy__nufft_check_reach(const hcy_nufft *plan, double upsampling);
/* Upsampling that is worth looking at, the i-th from 2 down; 0 behind the last. */
double hcy__nufft_candidate(const hcy_nufft *plan, size_t i);
/* About what a transform takes with the job's window and grid, ns of a thread. */
double hcy__nufft_cost(const hcy_nufft_job *job, size_t n_points);
/* The next size that FFTs like. */
uint64_t hcy__nufft_smooth(uint64_t n);

/* destroyed.c: a plan is made, destroyed (false: it was before), used (HCY_EINVAL: it is none). */
void hcy__nufft_born(hcy_nufft *plan);
bool hcy__nufft_dies(hcy_nufft *plan);
int hcy__nufft_alive(const hcy_nufft *plan);

/* points.c */
/* job.width and job.grid are chosen: window, table, factors (types 1 and 2), FFT. */
int hcy__nufft_tables(hcy_nufft *plan, bool factors);
/* interface.c: HCY_EUNSUPPORTED, and which kernel it is that the device lacks. */
int hcy__nufft_lacks(const hcy_nufft *plan, int kernel);
/* HCY_EINVAL: buffers of the caller's (or NULL) that begin within a complex number, where the device has whole ones. */
int hcy__nufft_check_begin(const hcy_nufft *plan, const hcy_buffer *a, const hcy_buffer *b);
bool hcy__nufft_has_fft(const hcy_nufft *plan); /* the device's general one */
/* Whether a transform that no kernel does with the cut takes nufft_lines: for its bits, or as there is no other. */
bool hcy__nufft_goes_by_lines(const hcy_nufft *plan);
/* Whether modes and the job's grid are apart by nufft_axes, which has bits of its own and not every grid (points.c). */
int hcy__nufft_choose_axes(bool *by_axes, const hcy_nufft *plan, const hcy_nufft_job *job);
/* The same, types 1 and 2, unless the plan has them. */
int hcy__nufft_grid_tables(hcy_nufft *plan);
/* Those of a plan with the same grid and precision. */
void hcy__nufft_share_tables(hcy_nufft *plan, const hcy_nufft *from);
void hcy__nufft_drop_tables(hcy_nufft *plan);
/* Points in host memory, doubles if the job says so. */
int hcy__nufft_sort(hcy_nufft *plan, size_t n, const void *const *points);
/* Points on the device.  waits: they may go when this returns. */
int hcy__nufft_sort_buffers(hcy_nufft *plan, size_t n, hcy_buffer *const buffers[3], bool waits);
/* HCY_EINVAL, and which point it was. */
int hcy__nufft_bad_point(const hcy_nufft *plan, size_t point);
/* `values` to a buffer of reals of the plan's precision, in place of what *buf was; `values` are
 * overwritten. */
int hcy__nufft_upload_reals(hcy_buffer **buf, const hcy_nufft *plan, double *values, size_t n);

/* grid.c */
/* For an execution on a caller's queue; NULL: on the work's own. */
int hcy__nufft_take_work(struct hcy__nufft_work **work, hcy_nufft *plan, hcy_queue *callers);
/* After all commands have ended; after commands were submitted to a caller's queue. */
void hcy__nufft_give_work(struct hcy__nufft_work *work, hcy_nufft *plan);
void hcy__nufft_leave_work(struct hcy__nufft_work *work, hcy_nufft *plan, hcy_queue *callers);
void hcy__nufft_free_memory(struct hcy__nufft_work *work); /* what the work has, but for its queue */
void hcy__nufft_free_work(struct hcy__nufft_work *work);
/* A buffer of the work, at least this large. */
int hcy__nufft_need(hcy_buffer **buf, const hcy_nufft *plan, size_t size);
int hcy__nufft_need_grid(const hcy_nufft *plan, struct hcy__nufft_work *w);
/* Memory of the host as a buffer: imported where the device reads it, else the work's `own`, written to if it
 * is input. */
int hcy__nufft_borrow(hcy_buffer **out, hcy_buffer **own, hcy_nufft *plan, hcy_queue *queue, void *host,
                      size_t size, bool input);
size_t hcy__nufft_cells(const hcy_nufft *plan);
/* Points to grid or back; the work's grid to modes or back. */
int hcy__nufft_spread(hcy_queue *q, const hcy_nufft *plan, struct hcy__nufft_work *w, hcy_buffer *c,
                      hcy_buffer *grid, size_t n, enum hcy_nufft_move move);
int hcy__nufft_transform(hcy_queue *q, const hcy_nufft *plan, struct hcy__nufft_work *w, hcy_buffer *f,
                         size_t n, int sign, bool to_grid);
/* Type 2 with what it computes differentiated in the points (nufft_slopes): whether this plan, whose points are set,
 * can; all vectors, `c` as that kernel has its strengths. */
bool hcy__nufft_has_slopes(const hcy_nufft *plan);
int hcy__nufft_submit_slopes(hcy_queue *q, hcy_nufft *plan, hcy_buffer *c, hcy_buffer *f);
/* n vectors, at most plan->batch, from and to buffers of the device. */
typedef int hcy__nufft_vectors(hcy_queue *q, hcy_nufft *plan, struct hcy__nufft_work *w, hcy_buffer *c, hcy_buffer *f,
                               size_t n, bool adjoint);
hcy__nufft_vectors hcy__nufft_grid_vectors;
/* A way's execute and submit: its vectors, batch by batch. */
int hcy__nufft_execute_batches(hcy_nufft *plan, hcy__nufft_vectors *vectors, char *c, char *f, size_t n, bool adjoint);
int hcy__nufft_submit_batches(hcy_queue *q, hcy_nufft *plan, hcy__nufft_vectors *vectors, struct hcy__nufft_work *w,
                              struct hcy__nufft_span *c, struct hcy__nufft_span *f, size_t n, bool adjoint);
/* Bytes that a stage of all vectors takes, or gives. */
size_t hcy__nufft_stage_bytes(const hcy_nufft *plan, int stage, bool output);

/* direct.c: whether a transform is to be a direct sum where a grid takes grid_ns. */
bool hcy__nufft_is_direct(const hcy_nufft *plan, size_t n_points, size_t n_targets, double grid_ns);

/* out_of_core.c */
/* How many of the plan's points are taken to the device at a time; 0: all, and as many vectors as the plan wants.
 * Window and grid are chosen. */
int hcy__nufft_piece_length(const hcy_nufft *plan, size_t *length);
/* n reals added to others. */
void hcy__nufft_add(void *to, const void *from, size_t n, size_t real);

/* type3.c */
/* Of the type 2 that is part of it: window and grid for the plan's targets. */
int hcy__nufft_inner_job(const hcy_nufft *plan, hcy_nufft_job *job);
/* Window, grid and axes for its points and targets; *least: ns of a transform with the grid chosen, or infinite with
 * one that was asked for. */
int hcy__nufft_choose_type3(hcy_nufft *plan, const void *const *points, const void *const *targets, double *least);

/* each.c: a plan for each transform, whose points are set. */
int hcy__nufft_set_each(hcy_nufft *plan, const int64_t *n_points, const void *const *points, const int64_t *n_targets,
                        const void *const *targets);

/* interface.c */
/* Numbers and pointers of points and, for type 3, targets. */
int hcy__nufft_check_points(const hcy_nufft *plan, int64_t n_points, const void *const *points, int64_t n_targets,
                            const void *const *targets);
int hcy__nufft_ready(const hcy_nufft *plan); /* HCY_ESTATE without points */
void hcy__nufft_forget(hcy_nufft *plan); /* points and what came from them */
/* The first n of the plan's vectors, from and to host memory. */
int hcy__nufft_execute_some(hcy_nufft *plan, void *c, void *f, size_t n, bool adjoint);
/* The same as hcy_nufft_submit() has it. */
int hcy__nufft_submit_some(hcy_queue *queue, hcy_nufft *plan, hcy_buffer *c, hcy_buffer *f, size_t n, bool adjoint);

#endif
