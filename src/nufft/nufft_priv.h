/* nufft_priv.h - what the files of src/nufft share: the plan, and how sizes are chosen. */
#ifndef HCY_NUFFT_PRIV_H
#define HCY_NUFFT_PRIV_H

#include <halcyon/backend.h>
#include <halcyon/nufft.h>
#include <pthread.h>
#include <stdbool.h>
#include "nufft_format.h"
#include "window.h"

/* In the order of hcy__nufft_kernels[]. */
enum { SORT, SPREAD, INTERP, CROP, PAD, TO_MODES, TO_GRID, SCALE, N_KERNELS };

/* Memory of one execution; a plan keeps those that are free. */
struct hcy__nufft_work {
    struct hcy__nufft_work *next;
    struct hcy__nufft_work *inner; /* type 3 */
    hcy_queue *queue;              /* of executions that bring none */
    hcy_buffer *grid, *scratch, *fft_work, *scaled, *c, *f;
};

struct hcy_nufft {
    hcy_device *dev;
    hcy_kernel *kernels[N_KERNELS]; /* TO_MODES and TO_GRID may be NULL */
    hcy_nufft_desc desc; /* modes of 1 where there are none, the sign +1 or -1 */
    hcy_nufft_options opts;
    size_t n_transforms, batch;
    size_t n_modes;    /* in all */
    hcy_nufft_job job; /* modes known from the start, the rest from the points on */
    struct hcy__window window;
    double upsampling;
    hcy_buffer *table, *factors, *sorted, *report;
    hcy_event *sorting; /* NULL: the points are sorted */
    /* Where the device has no TO_MODES; for job.grid: of all axes, or (3-D) of the first alone and, of the planes that
     * have modes, of the others: of `planes` of them on either side. */
    hcy_fft *fft, *first_axis;
    size_t planes;
    bool ready;   /* points are set */
    size_t n_points, n_targets;
    size_t first_number;   /* what words call the first point */
    /* Points of each transform's own: a plan each, of one vector, whose work is that of its owner. */
    hcy_nufft **each, *owner;
    hcy_nufft *next_live; /* destroyed.c's */
    pthread_mutex_t lock; /* of: */
    struct hcy__nufft_work *free_work;
    /* Type 3: strengths times `before`, to the grid, whose cells are the modes of `inner`, a type 2; times
     * `after`. */
    hcy_nufft *inner;
    hcy_buffer *before, *after;
    /* Small problems: direct sums; `gridded`, under its lock, is the same plan with a grid, once something asks for
     * it. */
    struct hcy__nufft_direct *direct;
    pthread_mutex_t grid_lock;
    hcy_nufft *gridded;
    struct hcy__nufft_pieces *pieces; /* points that the device has no room for at once */
    bool whole;                       /* never in pieces: part of another plan */
    bool may_be_direct;               /* nothing about the grid was asked for */
};

static inline size_t hcy__nufft_real(const hcy_nufft *p)
{
    return p->desc.precision == HCY_F64 ? 8 : 4;
}

/* Of a vector: coefficients, or what stands for them. */
static inline size_t hcy__nufft_results(const hcy_nufft *p)
{
    return p->desc.type == 3 ? p->n_targets : p->n_modes;
}

/* choose.c: width and fine grid for n_points; HCY_ERANGE, HCY_EINVAL. */
int hcy__nufft_choose(hcy_nufft *plan, size_t n_points);
/* The window's width for this upsampling. */
unsigned hcy__nufft_width(double eps, int dim, bool type3, double upsampling);
/* What the plan takes: the option, or that, as far as there are windows and the precision has use for them. */
unsigned hcy__nufft_width_for(const hcy_nufft *plan, double upsampling);
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

/* plan.c */
/* Numbers and pointers of points and, for type 3, targets. */
int hcy__nufft_check_points(const hcy_nufft *plan, int64_t n_points, const void *const *points, int64_t n_targets,
                            const void *const *targets);
/* job.width and job.grid are chosen: window, table, factors (types 1 and 2), FFT. */
int hcy__nufft_tables(hcy_nufft *plan, bool factors);
/* Points in host memory, doubles if the job says so. */
int hcy__nufft_sort(hcy_nufft *plan, size_t n, const void *const *points);
/* HCY_EINVAL, and which point it was. */
int hcy__nufft_bad_point(const hcy_nufft *plan, size_t point);
/* `values` to a buffer of reals of the plan's precision, in place of what *buf was; `values` are
 * overwritten. */
int hcy__nufft_upload_reals(hcy_buffer **buf, const hcy_nufft *plan, double *values, size_t n);
void hcy__nufft_forget(hcy_nufft *plan); /* points and what came from them */

/* run.c */
int hcy__nufft_take_work(struct hcy__nufft_work **work, hcy_nufft *plan, bool queue);
void hcy__nufft_give_work(struct hcy__nufft_work *work, hcy_nufft *plan);
void hcy__nufft_free_memory(struct hcy__nufft_work *work); /* what the work has, but for its queue */
void hcy__nufft_free_work(struct hcy__nufft_work *work);
/* n vectors, at most plan->batch, from and to buffers of the device. */
int hcy__nufft_vectors(hcy_queue *q, hcy_nufft *plan, struct hcy__nufft_work *w, hcy_buffer *c, hcy_buffer *f,
                       size_t n, bool adjoint);

/* Points to grid or back; the work's grid to modes or back. */
int hcy__nufft_spread(hcy_queue *q, const hcy_nufft *plan, struct hcy__nufft_work *w, hcy_buffer *c,
                      hcy_buffer *grid, size_t n, bool interpolates);
int hcy__nufft_transform(hcy_queue *q, const hcy_nufft *plan, struct hcy__nufft_work *w, hcy_buffer *f,
                         size_t n, int sign, bool to_grid);
/* A buffer of the work, at least this large. */
int hcy__nufft_need(hcy_buffer **buf, const hcy_nufft *plan, size_t size);
/* Memory of the host as a buffer: imported where the device reads it, else the work's `own`, written to if it
 * is input. */
int hcy__nufft_borrow(hcy_buffer **out, hcy_buffer **own, hcy_nufft *plan, hcy_queue *queue, void *host,
                      size_t size, bool input);
/* The first n of the plan's vectors, from and to host memory. */
int hcy__nufft_execute_some(hcy_nufft *plan, void *c, void *f, size_t n, bool adjoint);
int hcy__nufft_need_grid(const hcy_nufft *plan, struct hcy__nufft_work *w);
int hcy__nufft_ready(const hcy_nufft *plan); /* HCY_ESTATE without points */
size_t hcy__nufft_cells(const hcy_nufft *plan);

/* direct.c */
/* Whether a transform is to be a direct sum where a grid takes grid_ns. */
bool hcy__nufft_is_direct(const hcy_nufft *plan, size_t n_points, size_t n_targets, double grid_ns);
/* plan->n_points points, and targets, are set: HCY_EINVAL, HCY_ENOMEM. */
int hcy__nufft_set_direct(hcy_nufft *plan, const void *const *points, const void *const *targets);
void hcy__nufft_free_direct(struct hcy__nufft_direct *direct);
int hcy__nufft_run_direct(const hcy_nufft *plan, char *c, char *f, size_t n_vectors, bool adjoint);
/* The plan itself, or if it is direct one with a grid, which belongs to it. */
int hcy__nufft_gridded(hcy_nufft **gridded, hcy_nufft *plan);

/* out_of_core.c */
/* How many of n points are taken to the device at a time; 0: all, and as many vectors as the plan wants.  Type 3:
 * window and grid are chosen. */
int hcy__nufft_piece_length(const hcy_nufft *plan, size_t n, size_t *length);
int hcy__nufft_set_pieces(hcy_nufft *plan, const void *const *points, const void *const *targets,
                          size_t length);
void hcy__nufft_free_pieces(struct hcy__nufft_pieces *pieces);
int hcy__nufft_pieces_info(hcy_nufft_info *info, const hcy_nufft *plan);
int hcy__nufft_run_pieces(const hcy_nufft *plan, char *c, char *f, size_t n_vectors, bool adjoint);
/* n reals added to others. */
void hcy__nufft_add(void *to, const void *from, size_t n, size_t real);

/* type3.c */
/* Of the type 2 that is part of it: window and grid for the plan's targets. */
int hcy__nufft_inner_job(const hcy_nufft *plan, hcy_nufft_job *job);
int hcy__nufft_set_type3(hcy_nufft *plan, size_t n_points, const void *const *points, size_t n_targets,
                         const void *const *targets);

#endif
