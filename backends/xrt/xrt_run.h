/* xrt_run.h - kernels, their compute units and runs, as kernel.c keeps them and run.c gives runs their arguments.
 *
 * A run belongs to the launch that took it until it has ended; what it keeps of its own it has from launch to launch.
 */
#ifndef HCY_XRT_RUN_H
#define HCY_XRT_RUN_H

#include "xrt_priv.h"

#define XRT_RUNS_PER_UNIT 2 /* one works, the next is there when it ends */
#define XRT_MOST_UNITS    16
#define XRT_MOST_RUNS     (XRT_RUNS_PER_UNIT * XRT_MOST_UNITS)
#define XRT_MOST_ARGS     (1 + 2 * XRT_MOST_VALUES)

struct xrt_unit {
    void *handle;
    uint32_t groups[XRT_MOST_ARGS]; /* the memory of each argument that is an address */
    unsigned in_flight;
};

/* A run, and what belongs to it while it is in flight. */
struct xrt_run {
    struct xrt_kernel *kernel;
    struct xrt_unit *unit;
    void *handle;
    bool busy;
    uint64_t deadline_ns;
    /* Of each value: where structures are put, what stands for absent buffers, and the run's part of memory that its
     * unit does not reach. */
    struct xrt_memory *own[XRT_MOST_VALUES];
    struct xrt_piece {
        struct xrt_memory *home;
        struct xrt_there there; /* where the unit sees it */
        void *view;
        size_t offset, size; /* in home */
        bool back;           /* to be brought home at the end */
    } pieces[XRT_MOST_VALUES];
    struct xrt_reach reach[XRT_PARTS]; /* of chunks and blocks, what its frames use */
    bool narrow;                       /* no more than that is brought, and its frames, in `bytes`, say where in that */
    void *bytes;                       /* malloced */
    size_t room;
};

struct xrt_kernel {
    struct xrt_device *device; /* held */
    const char *name;
    const hcy_hls_layout *layout;
    const struct xrt_shape *shape; /* of the catalogue's */
    struct xrt_own *own;           /* of a user's; freed with it */
    size_t argument_of[XRT_MOST_VALUES]; /* a value's first argument */
    bool spread[XRT_MOST_ARGS];          /* the argument is in different memories, by the unit */
    size_t n_units, n_runs;
    struct xrt_unit units[XRT_MOST_UNITS];
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a run is free */
    struct xrt_run runs[XRT_MOST_RUNS];
};

/* A launch while it runs. */
struct xrt_launch {
    struct xrt_kernel *kernel;
    const hcy_launch_desc *desc; /* lives as long as the command's keep */
    size_t item_bytes[XRT_MOST_VALUES];
    struct xrt_run *flying[XRT_MOST_RUNS];
    size_t n_flying;
};

/* All arguments for items [range[0], range[0] + range[1]): what its unit reads is where it reads it. */
int xrt_run_set(struct xrt_run *r, const struct xrt_launch *l, const size_t range[2]);
/* What it has written, after its end. */
int xrt_run_home(struct xrt_run *r, const struct xrt_launch *l);
/* What it was given by a launch. */
void xrt_run_forget(struct xrt_run *r);
/* What it has of its own. */
void xrt_run_free(struct xrt_run *r);

#endif
