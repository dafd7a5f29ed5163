/* xrt_priv.h - the XRT backend's own types.
 *
 * A device is a card with a program in it.  A queue is the HAL's host queue: its thread copies, and hands a
 * launch to the card as runs, a range of the items each, several in flight on every compute unit; it waits until
 * they have ended or are overdue.  What a compute unit cannot reach is copied into the memory that it is connected
 * to.
 *
 * A run that fails or does not end loses the device.  After one that does not end XRT is not called for it any
 * more, not even to release: it would end the process.
 */
#ifndef HCY_XRT_PRIV_H
#define HCY_XRT_PRIV_H

#include "card.h"
#include "xclbin.h"

#include "azint/azint_format.h"
#include "bslz4/bslz4_format.h"

#include <halcyon/backend.h>
#include <pthread.h>
#include <stdatomic.h>

#define XRT_MOST_CARDS 32
#define XRT_PAGE       ((size_t)4096)

/* --- Cards (list.c) --- */
struct xrt_found {
    char bdf[20], platform[80];
    bool ready;
};
size_t xrt_find(struct xrt_found found[XRT_MOST_CARDS]);
int xrt_list(hcy_device_info **infos, size_t *n);
/* What listing and opening both say. */
void xrt_describe(hcy_device_info *info, const struct xrt_found *f, size_t number);

/* --- Devices (device.c) --- */
struct xrt_device {
    hcy_device *dev; /* not a reference */
    struct xrt_card *at;
    void *card; /* XRT's */
    struct xclbin xclbin; /* another one only while nobody holds it */
    pthread_mutex_t lock;
    size_t holders; /* [lock] buffers, kernels, programs: what lies in this program's memories and units */
    unsigned timeout_ms;
    uint32_t group;    /* the memory where buffers go first */
    int32_t host_group; /* memory of the host's that the card reaches; -1: none */
    uint64_t memory, most_memory; /* most: as the user limits it; 0: not */
    atomic_uint_least64_t used;
    atomic_bool lost, hung; /* hung: a run is still in flight, so that nothing can be released any more */
};
int xrt_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec);
void xrt_close(void *impl);
int xrt_get_i64(int64_t *value, void *impl, const char *key);
int xrt_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl);
/* From here on the device keeps its program; what it says may be read. */
void xrt_hold(struct xrt_device *d);
void xrt_let_go(struct xrt_device *d);
/* Makes these bytes the device's program, if they are not it, and holds it.  HCY_EBUSY: another one is held. */
int xrt_use_program(struct xrt_device *d, const void *bytes, size_t size);
int xrt_lose(struct xrt_device *d, const char *what, int code); /* HCY_ELOST */

/* --- Memory (memory.c) --- */

/* A buffer with its two sides, on the card and on the host; a block's handle.  Which side counts:
 *   the card's, as long as all compute units reach it where it lies; it moves there when the first one uses it
 *   the host's (`at_host`): pinned, mapped and imported memory, and what units of several memories use.  A run
 *   brings what it reads to the memory of its unit, and back what it has written. */
struct xrt_memory {
    struct xrt_device *device;
    void *buffer;        /* NULL: the host's side is all there is */
    unsigned char *host; /* allocated here if there is no buffer and it is not `users` */
    size_t size;
    uint32_t group;        /* where the buffer lies */
    hcy_span tables;       /* a plan's canonical head, malloced */
    pthread_rwlock_t lock; /* read: a copy is under way; write: a run finds its memory, or all below changes */
    bool at_host, users;   /* users: imported */
    bool placed;           /* a compute unit has used it */
    struct xrt_memory *copies; /* in other memories: of plans, and of what users' kernels take */
    bool complete;             /* of a copy: a plan's tables are in it */
};
/* HCY_ENOMEM, in words, if the memory is full. */
int xrt_memory_new(struct xrt_memory **out, struct xrt_device *d, size_t size, uint32_t group);
void xrt_memory_free(struct xrt_memory *m);
/* What compute units of this memory use of m: some bytes, which with `bring` are there. */
struct xrt_use {
    uint32_t group;
    bool spread; /* other units of the kernel use it in other memories */
    bool bring;
    size_t offset, size;
};
/* Where they find them. */
struct xrt_there {
    struct xrt_memory *memory;
    size_t at;
};
/* Bytes that another memory has are put into *own, a run's, made as large as they are; without it (NULL) into a copy of
 * all of m that stays with it, as plans are. */
int xrt_memory_in(struct xrt_there *there, struct xrt_memory **own, struct xrt_memory *m, const struct xrt_use *use);
/* Whether the host's side will count when compute units use it so; from then on it stays. */
int xrt_memory_settle(bool *at_host, struct xrt_memory *m, const struct xrt_use *use);
bool xrt_memory_at_host(struct xrt_memory *m);
/* What a run has written there comes back, if the host's side is what counts. */
int xrt_memory_back(struct xrt_memory *m, const struct xrt_there *there, size_t offset, size_t size);
/* Bytes to the host's, wherever they are. */
int xrt_memory_peek(void *bytes, struct xrt_memory *m, size_t offset, size_t size);
/* *own gets room for so many bytes, in this memory; what it had may be gone. */
int xrt_memory_room(struct xrt_memory **own, struct xrt_device *d, size_t size, uint32_t group);
/* From memory that is not a buffer's to the host's side. */
int xrt_put(struct xrt_memory *m, size_t offset, const void *data, size_t size);
int xrt_transfer(struct xrt_memory *m, size_t offset, size_t size, bool to_card);

int xrt_alloc(hcy_block *block, void *impl, int mem, size_t size);
int xrt_import_host(hcy_block *block, void *impl, void *host, size_t size);
void xrt_unimport(void *impl, hcy_block *block);
int xrt_hangs(void *impl);
void xrt_free(void *impl, int mem, hcy_block *block);

/* HCY_ECANCELLED. */
int xrt_ends(void);

/* --- Queues (queue.c) --- */
struct xrt_queue {
    struct xrt_device *device;
    hcy_hostqueue *host;
};
int xrt_queue_create(void **qimpl, void *impl, hcy_queue *queue);
void xrt_queue_destroy(void *qimpl);
int xrt_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep);
int xrt_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
             hcy_keep *keep);
int xrt_finish(void *qimpl);
int xrt_finished(void *qimpl);
int xrt_status(void *qimpl);
int xrt_record(void **eimpl, void *qimpl);
int xrt_wait(void *qimpl, hcy_event *event);

/* --- Kernels (arguments.c: what their arguments are; kernel.c) --- */
#define XRT_MOST_VALUES 32

/* Bytes [first, end). */
struct xrt_reach {
    size_t first, end;
};

/* Kernels that read coded frames: which of a launch's values these are, and what they point into. */
enum { XRT_PART_CHUNKS, XRT_PART_BLOCKS, XRT_PARTS };
struct xrt_coded {
    size_t frames, in[XRT_PARTS];
};
/* Out of the whole, the bytes of chunks and blocks that n frames use; where `narrow` says so the frames are set to find
 * them in that part alone.  Frames that do not lie in the whole get their status here. */
void xrt_narrow(struct xrt_reach reach[XRT_PARTS], hcy_bslz4_frame *frames, size_t n, const bool narrow[XRT_PARTS]);

/* Kernels that write sums. */
struct xrt_sums {
    size_t sums, reports, job;
};
#define XRT_MOST_ROWS 3
/* Whether sums come home row by row, and a frame's rows then: how many ranges of bytes. */
bool xrt_by_rows(const hcy_azint_job *job);
size_t xrt_rows_written(struct xrt_reach rows[XRT_MOST_ROWS], const hcy_azint_job *job, const hcy_frame_report *report);

struct xrt_shape {
    const char *kernel;
    /* Checks a launch's structures and tables, and says how many bytes of each argument one item has; 0: the argument
     * belongs to all. */
    int (*look)(const hcy_value *values, size_t item_bytes[XRT_MOST_VALUES]);
    /* One more span for a plan's tables, malloced; NULL: they are the canonical ones. */
    int (*more)(void **span, size_t *size, const hcy_span *spans, size_t n);
    const struct xrt_coded *coded; /* NULL: it reads none */
    const struct xrt_sums *sums;   /* NULL: it writes none */
};
const struct xrt_shape *xrt_shape_of(const char *kernel); /* NULL: no such kernel here */

/* What a user's kernel takes, by its program's metadata. */
struct xrt_own {
    hcy_hls_layout layout;
    hcy_hls_arg args[XRT_MOST_VALUES];
    struct xclbin_argument arguments[XRT_MOST_VALUES];
    char name[80];
    bool typed; /* a signature says which buffers it reads and writes */
};
int xrt_own_check(const struct xrt_own *own, const hcy_launch_desc *launch);

/* One of both; `own`, malloced, is taken over in any case. */
int xrt_kernel_open(void **kimpl, struct xrt_device *d, const struct xrt_shape *shape, struct xrt_own *own);

int xrt_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature);
void xrt_kernel_release(void *kimpl);
int xrt_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep);
int xrt_prepare(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n);
int xrt_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n);
int xrt_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n);

/* --- The user's programs (program.c) --- */
int xrt_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                       const char *options);
void xrt_program_release(void *pimpl);
int xrt_program_kernel(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature);

#endif
