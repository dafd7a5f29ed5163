/* gpu.h - the GPU kernels' host side, shared by the backends that compile their texts.
 *
 * A backend brings struct gpu_ops: compiling, launching, zeroing, tables in device memory.  Here is what does not
 * depend on it: which texts with which options, how a launch of the HAL becomes launches of kernels, how a plan is
 * laid out.  A gpu_kernel may be used from several threads.
 */
#ifndef HCY_GPU_H
#define HCY_GPU_H

#include <halcyon/backend.h>
#include <stdbool.h>

#include "azint/azint_format.h"
#include "bslz4/bslz4_format.h"
#include "gpu_format.h"
#include "gpu_tuning.h"
#include "nufft/nufft_format.h"

/* An argument of a kernel: a place in a buffer, or bytes. */
struct gpu_arg {
    const hcy_value *buffer; /* NULL: bytes */
    size_t offset;           /* in the buffer's value */
    const void *bytes;
    size_t size;
};

/* Where a kernel runs: groups[0] x groups[1] groups of `group` items. */
struct gpu_grid {
    uint32_t groups[2], group, local_bytes;
};

/* A piece of tables, copied to offset `at`. */
struct gpu_piece {
    const void *data;
    size_t at, size;
};

struct gpu_ops {
    /* Text to a module; options are -DNAME=VALUE.  Kept by the caller until module_release. */
    int (*compile)(void *device, const char *text, const char *const *options, int n, void **module);
    void (*module_release)(void *device, void *module);
    /* A kernel of a module that will be launched with up to local_bytes of dynamic local memory. */
    int (*function)(void *device, void *module, const char *name, uint32_t local_bytes, void **function);
    int (*launch)(void *queue, void *function, const struct gpu_grid *grid, const struct gpu_arg *args,
                  size_t n);
    int (*zero)(void *queue, const hcy_value *buffer, size_t offset, size_t size);
    /* Device memory of `size` bytes with the pieces in it; *block as alloc() makes it, its handle is `handle`. */
    int (*tables)(void *device, const struct gpu_piece *pieces, size_t n, size_t size, void *handle,
                  hcy_block *block);
    /* The host side that tables() was given for a block; NULL if the block is none of its. */
    const void *(*plan)(const hcy_block *block);
    uint32_t units;    /* multiprocessors: how many groups keep the device busy */
    bool lanes;        /* GPU_LANES in step, shuffles: the fast kernels can be compiled */
    uint32_t products; /* of matrices, by a warp of 32 lanes: 1: of floats, 2: of doubles too (pencil.cl) */
    bool alone;        /* a processor: groups of one item, which runs in sequence what many would share */
    bool static_local; /* local memory is what the text says, not what a launch wants */
    bool atomics32;    /* no atomic sums of 64 bits */
    /* The compiler's option with which a * b + c are two operations; NULL: the texts' own pragma is enough. */
    const char *no_contraction;
    const struct gpu_row *row; /* its parameters */
    size_t local_bytes;        /* that a group may have, */
    size_t group_items;        /* and items of it; 0: not known */
};

/* A prepared plan's host side: the handle of its block. */
struct gpu_plan {
    struct gpu_plan_at at;
    bool unit;   /* all weights are one */
    bool filter; /* made by gpu_filter_tables(): */
    uint64_t n_entries;
};

struct gpu_kernel;
/* HCY_EUNSUPPORTED for a name that is none of ours. */
int gpu_kernel_get(struct gpu_kernel **kernel, const struct gpu_ops *ops, void *device, const char *name);
const char *gpu_kernel_name(const struct gpu_kernel *kernel);
void gpu_kernel_release(struct gpu_kernel *kernel);
int gpu_kernel_launch(struct gpu_kernel *kernel, void *queue, const hcy_launch_desc *launch);
int gpu_kernel_scratch_size(size_t *size, struct gpu_kernel *kernel, size_t items, const hcy_value *values,
                            size_t n);
int gpu_kernel_preferred_batch(size_t *items, struct gpu_kernel *kernel, const hcy_value *values, size_t n);
int gpu_kernel_prepare(struct gpu_kernel *kernel, const hcy_span *spans, size_t n, hcy_block *tables);

/* Local memory of the largest group of the fast kernels. */
size_t gpu_fast_local_bytes(const struct gpu_row *row);

/* Canonical spans to a plan and its memory; `put` gets the pieces and, if all went well, the plan, malloced. */
typedef int gpu_put(void *context, const struct gpu_piece *pieces, size_t n, size_t size, struct gpu_plan *plan);
typedef int gpu_make_tables(const hcy_span *spans, size_t n, gpu_put *put, void *context);
gpu_make_tables gpu_tables_make;                            /* gpu_prepare.c */
gpu_make_tables gpu_filter_tables, gpu_filter_plain_tables; /* gpu_filter_prepare.c; without dark current, variances */

/* Texts, generated from the .cl files; zero at the end. */
extern const char gpu_text_decode[], gpu_text_decode_fast[], gpu_text_azint[], gpu_text_azint_fast[],
    gpu_text_filter[], gpu_text_regions[], gpu_text_pick[],
    gpu_text_nufft_sort[], gpu_text_nufft_settle[], gpu_text_nufft_scan[],
    gpu_text_nufft[], gpu_text_nufft_pencil[], gpu_text_nufft_cut[], gpu_text_nufft_same[], gpu_text_nufft_tiles[],
    gpu_text_nufft_slopes[], gpu_text_nufft_lines[], gpu_text_nufft_gram[], gpu_text_nufft_axes[],
    gpu_text_fft[],
    gpu_text_eval_pick[], gpu_text_eval_order[], gpu_text_eval_digits[], gpu_text_stencil[], gpu_text_faces[],
    gpu_text_matrix[];

#endif
