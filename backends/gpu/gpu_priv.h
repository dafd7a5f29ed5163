/* gpu_priv.h - between the files of this room: a call of a kernel, its variants, its steps. */
#ifndef HCY_GPU_PRIV_H
#define HCY_GPU_PRIV_H

#include "arguments.h"
#include "azint/azint_job.h"
#include "begin.h"
#include "bslz4/bslz4_job.h"
#include "fft_plan.h"
#include "gpu.h"
#include "nufft/nufft_arguments.h"

#include <pthread.h>

#define GPU_MAX_OPTIONS   20
#define GPU_OPTIONS_BYTES 400
#define GPU_MAX_FUNCTIONS 12
/* Frames a launch: enough to fill the largest device, few enough for two launches to overlap with their copies. */
#define GPU_BATCH 32
/* The same where images are stored between; a bin of a frame is a group's, so few frames fill a device. */
#define GPU_FILTER_BATCH 8

struct gpu_variant {
    struct gpu_variant *next;
    const char *text;
    char options[GPU_OPTIONS_BYTES];
    void *module;
    struct {
        const char *name;
        void *function;
        uint32_t local_bytes; /* that it may be launched with */
    } functions[GPU_MAX_FUNCTIONS];
    size_t n_functions;
};

/* Non-uniform FFTs: how large pencils and slabs are, and how a group shares a piece of the grid (spread_interp.cl,
 * pencil.cl). */
struct gpu_shape {
    uint32_t xb, yb, zs;
    uint32_t group, batch; /* items; points whose weights they find at once */
    uint32_t parts;        /* of a column of the piece (spread_interp.cl) */
    uint32_t vectors, range; /* vectors and points of a group */
    uint32_t resident;       /* tensor cores (pencil.cl): groups of a multiprocessor; 0: without them */
    uint32_t near_bytes;     /* of a group, */
    bool ample, carries;     /* with room for what makes interpolation wait less; points wait for the next batch's */
    bool tiles;              /* few points: the grid is written by tiles (tiles.cl), and read by points (same.cl) */
};
/* What a kernel of a family is, as its table gpu_NAME_kernels has it: a NULL name at the end. */
struct gpu_call;
struct gpu_kernel_kind {
    const char *name;
    int (*launch)(const struct gpu_call *call);
    int (*scratch)(size_t *size, const struct gpu_call *call);
    gpu_make_tables *tables; /* NULL: it takes none */
    size_t batch;            /* frames a launch should take */
    bool doubles;            /* it adds doubles atomically */
};
/* Generated from what the families' folders add to gpu_kernel_tables (local.mk).  NULL at the end. */
extern const struct gpu_kernel_kind *const gpu_kernel_tables[];

struct gpu_kernel {
    const struct gpu_ops *ops;
    void *device;
    const struct gpu_kernel_kind *kind;
    pthread_mutex_t lock; /* of what follows */
    struct gpu_variant *variants;
    hcy_nufft_job shaped; /* the last job, and its shape: finding one takes longer than launching a kernel */
    struct gpu_shape shape;
};

/* One launch, or the question what one would need (queue NULL). */
struct gpu_call {
    struct gpu_kernel *kernel;
    void *queue;
    size_t items;
    const hcy_value *values;
};

/* Items of a group that `many` would share. */
static inline uint32_t gpu_group(const struct gpu_call *call, uint32_t many)
{
    return call->kernel->ops->alone ? 1 : many;
}
/* Groups for `items` that do not depend on one another. */
static inline struct gpu_grid gpu_over(const struct gpu_call *call, uint32_t items, uint32_t rows)
{
    uint32_t group = gpu_group(call, GPU_LANES);
    return (struct gpu_grid){ { (items + group - 1) / group, rows }, group, 0 };
}
/* Groups for items that each take some of `n`, no more than keep the device busy. */
static inline struct gpu_grid gpu_groups_over(const struct gpu_call *call, uint64_t n, uint32_t group, uint32_t rows)
{
    const struct gpu_ops *ops = call->kernel->ops;
    /* More groups than keep a device busy only begin anew what the others go on with. */
    uint64_t groups = (n + group - 1) / group, most = ops->alone ? ops->units * 4 : ops->units * 64;
    if (groups > most)
        groups = most;
    return (struct gpu_grid){ { groups ? (uint32_t)groups : 1, rows }, group, 0 };
}

/* Groups over lines, in blocks of them; a kernel goes on with what is beyond a grid's ends.  It numbers all items along
 * the first direction with 32 bits. */
static inline struct gpu_grid gpu_grid_of(const struct gpu_ops *ops, uint64_t groups, uint64_t blocks, uint32_t group)
{
    const uint64_t most = ops->alone ? ops->units * 4 : UINT32_MAX / group, most_blocks = 65535;
    return (struct gpu_grid){ { (uint32_t)(groups < most ? groups : most),
                                (uint32_t)(blocks < most_blocks ? blocks : most_blocks) },
                              group,
                              0 };
}

/* The text compiled with these options ("-DA=1 -DB=2"). */
int gpu_variant_get(struct gpu_variant **variant, struct gpu_kernel *kernel, const char *text,
                    const char *options);
/* Whether a buffer has n things of `size` bytes, and begins where GPUs read such: at a multiple of the largest power of
 * two in their size, up to 16. */
bool gpu_holds(const hcy_value *v, size_t n, size_t size);
/* Launches a kernel of it; `name` is a constant. */
int gpu_step(const struct gpu_call *call, struct gpu_variant *variant, const char *name,
             const struct gpu_grid *grid, const struct gpu_arg *args, size_t n);

/* Of kernels that need none. */
int gpu_no_scratch(size_t *size, const struct gpu_call *call);

/* Arguments. */
static inline struct gpu_arg gpu_at(const hcy_value *buffer, size_t offset)
{
    return (struct gpu_arg){ .buffer = buffer, .offset = offset };
}
#define GPU_BYTES(x)                                                                                         \
    (struct gpu_arg)                                                                                         \
    {                                                                                                        \
        .bytes = &(x), .size = sizeof(x)                                                                     \
    }
#define GPU_STEP(call, variant, name, grid, ...)                                                             \
    gpu_step((call), (variant), (name), (grid), (const struct gpu_arg[]){ __VA_ARGS__ },                     \
             sizeof((const struct gpu_arg[]){ __VA_ARGS__ }) / sizeof(struct gpu_arg))

/* Chunks, and where a launch keeps what in its scratch buffer (gpu_bslz4.c). */
struct gpu_coded {
    const hcy_value *chunks, *frames, *blocks, *reports, *scratch;
    const hcy_bslz4_job *job;
    struct gpu_batch batch;
    uint32_t full_blocks;               /* of a frame in the usual blocks, without a partial one */
    size_t slots, infos, commands, end; /* offsets; the state is at 0 */
    struct gpu_variant *variant;
    bool fast_text; /* of the fast kernels, also if a launch does without them */
};
/* Checks the job; lays the scratch memory out.  `fast` wants the usual blocks parsed, where the job allows it. */
int gpu_coded_open(struct gpu_coded *c, const struct gpu_call *call, const hcy_bslz4_job *job, bool fast);
/* Where a kernel that takes chunks has these arguments. */
struct gpu_coded_at {
    size_t chunks, frames, blocks, reports, scratch;
};
#define GPU_CODED_AT(kernel)                                                                                 \
    (struct gpu_coded_at)                                                                                    \
    {                                                                                                        \
        HCY_ARG_AT(kernel, chunks), HCY_ARG_AT(kernel, frames), HCY_ARG_AT(kernel, blocks),                  \
            HCY_ARG_AT(kernel, reports), HCY_ARG_AT(kernel, scratch)                                         \
    }
/* The launch's buffers. */
int gpu_coded_set(struct gpu_coded *c, const struct gpu_call *call, struct gpu_coded_at at);
/* Frames looked at, and the usual ones parsed. */
int gpu_coded_begin(const struct gpu_coded *c, const struct gpu_call *call);
/* Reports written. */
int gpu_coded_end(const struct gpu_coded *c, const struct gpu_call *call);
/* Every frame to images at offset `at` of `images`; the general way, if these are not aligned for the fast one. */
int gpu_coded_decode(struct gpu_coded *c, const struct gpu_call *call, const hcy_value *images, size_t at);
uint32_t gpu_rest_group(const struct gpu_coded *c, const struct gpu_call *call);
struct gpu_grid gpu_rest_grid(const struct gpu_coded *c, const struct gpu_call *call);

/* Whether the fast kernels can do that: images are written in words, and a group has its local memory. */
bool gpu_decodes_fast(const struct gpu_call *call, const hcy_bslz4_job *job);
/* Compiles what gpu_coded_decode() needs. */
int gpu_decode_variant(struct gpu_coded *c, const struct gpu_call *call);
int gpu_decode_launch(const struct gpu_call *call);
int gpu_decode_scratch(size_t *size, const struct gpu_call *call);
int gpu_image_launch(const struct gpu_call *call);
int gpu_image_scratch(size_t *size, const struct gpu_call *call);
int gpu_azint_launch(const struct gpu_call *call);
int gpu_azint_scratch(size_t *size, const struct gpu_call *call);
int gpu_filter_launch(const struct gpu_call *call);
int gpu_filter_scratch(size_t *size, const struct gpu_call *call);
int gpu_deviation_launch(const struct gpu_call *call);
int gpu_deviation_scratch(size_t *size, const struct gpu_call *call);

/* What launches that make sums have in common (gpu_azint.c). */
/* The job's pixels, checked against the plan; NULL with a failure that names the kernel. */
const struct hcy_pixel_type *gpu_job_pixel(const struct gpu_call *call, const struct gpu_plan *plan, bool filter,
                                           const hcy_azint_job *job);
/* Checks that sums of `rows` and reports have room for the call's frames; *size: of the sums. */
int gpu_check_room(size_t *size, const struct gpu_call *call, const hcy_azint_job *job, uint32_t rows,
                   const hcy_value *sums, const hcy_value *reports);
/* The options of the device's row, behind others. */
int gpu_row_options(const struct gpu_call *call, char *options, int used);
/* The options that any text about pixels wants. */
int gpu_pixel_options(char *options, uint32_t group, const struct hcy_pixel_type *pixel, unsigned variance);

/* Non-uniform FFTs: what points are sorted by, the same for both directions, and then what a direction makes of it. */
struct gpu_shape gpu_shape_of(const struct gpu_ops *ops, const hcy_nufft_job *job);
void gpu_shape_for(struct gpu_shape *shape, const struct gpu_ops *ops, const hcy_nufft_job *job, size_t items,
                   enum hcy_nufft_move move);
/* So many slabs a key, as a power of 2, that memory is bounded by the number of points, not by the grid: of few points
 * on a large grid nearly all slabs have none, and hardly a point has others in the slabs beside it to share planes
 * with. */
uint32_t gpu_coarseness(uint64_t slabs, const hcy_nufft_job *job, size_t record, bool two_steps);

/* gpu_nufft.c */
int gpu_nufft_sort_launch(const struct gpu_call *call);
int gpu_nufft_sort_scratch(size_t *size, const struct gpu_call *call);
int gpu_nufft_spread_launch(const struct gpu_call *call);
int gpu_nufft_interp_launch(const struct gpu_call *call);
int gpu_nufft_slopes_launch(const struct gpu_call *call);
int gpu_nufft_spread_scratch(size_t *size, const struct gpu_call *call);
/* Whether it is a job, and a grid's cells; the compiler's option, behind a blank, for what shall have the same bits on
 * every device. */
int gpu_nufft_check_job(size_t *cells, const hcy_nufft_job *job);
int gpu_nufft_bits_option(char *options, size_t size, const struct gpu_call *call, const hcy_nufft_job *job);
/* gpu_nufft_cut.c */
int gpu_nufft_crop_launch(const struct gpu_call *call);
int gpu_nufft_pad_launch(const struct gpu_call *call);
int gpu_nufft_scale_launch(const struct gpu_call *call);

/* gpu_nufft_lines.c */
int gpu_nufft_lines_launch(const struct gpu_call *call);
int gpu_nufft_lines_scratch(size_t *size, const struct gpu_call *call);

/* gpu_nufft_whole.c: all passes over lines in one launch; false where they do not fit a group, or one pass is all.  The
 * pass is the first one.  Items of a group that have something to do; roots: of all passes, one behind the other. */
bool gpu_whole_lines(struct gpu_nufft_whole *w, const struct gpu_ops *ops, const struct gpu_nufft_pass *pass,
                     size_t number);
uint64_t gpu_whole_items(const struct gpu_nufft_whole *w);
int gpu_whole_launch(const struct gpu_call *call, struct gpu_variant *variant, uint32_t group, size_t number,
                     const struct gpu_nufft_whole *w, struct gpu_arg from, struct gpu_arg roots, struct gpu_arg to);

/* gpu_nufft_registers.c: lines that registers.cl transforms, of `number` bytes a number.  HCY_EUNSUPPORTED: they do not
 * fit a group. */
enum { GPU_SIDE_BYTES = 128 }; /* of lines side by side */
struct gpu_line {
    size_t n, number;
    unsigned passes, radices[HCY_FFT_MOST_PASSES];
    uint32_t lines, items; /* of a group */
    bool strided;          /* lines side by side, or, of the fastest axis, one behind the other */
    bool alone;            /* items keep no other numbers than a pass's, and may have more of these */
};
int gpu_line_of(struct gpu_line *line, const struct gpu_call *call, size_t n, size_t number, bool strided, bool alone);
int gpu_line_compile(struct gpu_variant **variant, const struct gpu_call *call, const char *text,
                     const struct gpu_line *line, const char *more);
/* For rows of `width` lines side by side; `outer` of all that, as far as groups go in the second direction. */
struct gpu_grid gpu_line_groups(const struct gpu_line *line, uint64_t width, uint64_t rows, uint64_t outer);

/* gpu_nufft_axes.c */
int gpu_nufft_axes_launch(const struct gpu_call *call);
int gpu_nufft_axes_scratch(size_t *size, const struct gpu_call *call);

/* gpu_nufft_gram.c */
int gpu_nufft_gram_launch(const struct gpu_call *call);
int gpu_nufft_gram_scratch(size_t *size, const struct gpu_call *call);

#endif
