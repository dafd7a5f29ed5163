/* sparse.h - halcyon integrate --sparse: a second file, with the pixels that stand out of their background.
 * Single-threaded. */
#ifndef HCY_CLI_SPARSE_H
#define HCY_CLI_SPARSE_H

#include "integrate.h"
#include <halcyon/pipeline.h>

struct sparse {
    const struct integrate_values *values; /* NULL: there are none */
    float *radius;
    double *background; /* a frame's curve and deviation that no monitor divides: room for both */
    size_t n_pixels, n_bins;
    uint64_t room; /* pixels of a frame, at most */
    uint32_t pixel_type;
    hcy_sparse_file *file;
    char path[4096]; /* its name, which a part has of its own */
    uint64_t pixels; /* written */
};

/* Where the pixels are; nothing without --sparse.  To be freed in any case.  CLI_*, after a message. */
int sparse_prepare(struct sparse *sparse, const struct integrate_values *values, const hcy_azint_plan *plan,
                   const hcy_poni *poni, uint32_t pixel_type);
void sparse_ask(hcy_pipeline_options *options, const struct sparse *sparse);
/* What the file of a stack is called; "" without --sparse.  CLI_*, after a message. */
int sparse_output(struct sparse *sparse, const struct integrate_values *values, const char *stack,
                  const hcy_shard *shard);
/* The file, a frame, and the end: a status of the library's.  `shard`: of this part (count 0: of all).  monitor: what
 * the frame's curve has been divided by, which its pixels are not. */
int sparse_open(struct sparse *sparse, const hcy_azint_plan *plan, const hcy_stack *stack, const hcy_shard *shard);
int sparse_take(struct sparse *sparse, const hcy_pipeline_frame *frame, double monitor);
int sparse_close(struct sparse *sparse, int whole);
void sparse_free(struct sparse *sparse);

#endif
