/* transport.h - what carries bytes between the ranks of a communicator: a table that a module halcyon-dist-
 * NAME.so fills in, found where backends are; `self` and `threads` are the library's own.  Transports of host memory
 * join the ranks; those of device memory are made on top of one.
 *
 * Functions return a status and wait until the caller may use its memory again, but for those that take a queue,
 * which only submit.  All ranks call the same functions in the same order, each one thread at a time.  The caller has
 * checked ranks and types, and sends nothing to itself.
 */
#ifndef HCY_TRANSPORT_H
#define HCY_TRANSPORT_H

#include <halcyon/buffer.h>

enum { HCY_TRANSPORT_ABI = 5 };

enum hcy__reduction { HCY__SUM = 1, HCY__MIN, HCY__MAX };

/* Where a process stands among all, and among those of its host. */
struct hcy__place {
    int rank, n_ranks, local_rank, n_local;
};

/* Bytes from or to another rank: in host memory, or from a buffer's offset on. */
struct hcy__message {
    int rank;
    int sends; /* else it receives */
    void *data;
    hcy_buffer *buffer;
    size_t offset, bytes;
};

struct hcy_transport {
    size_t size;
    uint32_t abi;
    const char *name; /* "openmpi" */
    /* Joins the processes that were started together.  No message is larger than `piece` bytes, into which larger
     * ones are cut; others may take so many seconds to come, or, 0, for ever: after that nothing more is carried. */
    int (*open)(void **impl, struct hcy__place *place, size_t piece, int seconds);
    /* The ranks of one colour, in the order they have; a colour below 0: *part is NULL. */
    int (*split)(void **part, struct hcy__place *place, void *impl, int colour);
    void (*close)(void *impl);
    int (*barrier)(void *impl);
    int (*broadcast)(void *data, void *impl, size_t bytes, int root);
    /* Of numbers, in place: HCY_INT8 and so on to HCY_FLOAT64. */
    int (*allreduce)(void *data, void *impl, size_t count, int dtype, int reduction);
    /* Messages to and from any ranks at once; between two ranks they go in their order. */
    int (*exchange)(void *impl, const struct hcy__message *messages, size_t n);
    /* Ends the processes of all ranks, this one too, with an exit status; or returns, and what waits for another rank
     * fails from then on. */
    void (*end_all)(void *impl, int code);
    /* Whether messages and collectives of this end may also be in memory of a device, where no command uses it by
     * then; NULL: in none.  Without a device: no more, before the one that was asked for is released. */
    int (*reaches)(void *impl, hcy_device *dev);
    /* Where a buffer of it lies for them. */
    void *(*address)(void *impl, hcy_buffer *buffer);
    /* What is called once a rank has failed, this one or another, in the thread of who notices it first, until another
     * function is given, or NULL: a transport of devices is given up, so that nothing waits in a queue.  NULL: a
     * failure ends processes. */
    void (*watch)(void *impl, void (*give_up)(void *device_impl), void *device_impl);
};

/* The first bytes by which the ranks of a device transport find each other. */
enum { HCY__TRANSPORT_ID = 128 };

struct hcy_device_transport {
    size_t size;
    uint32_t abi;
    const char *name; /* "nccl" */
    /* Whether it is of use for a device, by that of the device's backend and by what the machine has. */
    int (*usable)(hcy_device *dev);
    /* The rank 0 makes an id; with that of rank 0 all make their end, and each waits for the others for so many seconds
     * at most, or, 0, for ever. */
    int (*make_id)(char id[HCY__TRANSPORT_ID], hcy_device *dev);
    int (*open)(void **impl, hcy_device *dev, const char *id, int rank, int n_ranks, int seconds);
    void (*close)(void *impl);
    /* In the queue, as its own commands are: done when it has passed them. */
    int (*broadcast)(hcy_queue *queue, void *impl, hcy_buffer *buffer, size_t offset, size_t bytes, int root);
    int (*allreduce)(hcy_queue *queue, void *impl, hcy_buffer *buffer, size_t offset, size_t count, int dtype,
                     int reduction);
    int (*exchange)(hcy_queue *queue, void *impl, const struct hcy__message *messages, size_t n);
    /* What was submitted ends, done or not, and nothing more is taken; by any thread. */
    void (*give_up)(void *impl);
};

/* What a module has, by the name HCY_TRANSPORT_ENTRY: one of both, the other NULL. */
typedef void (*hcy__transport_entry_fn)(const struct hcy_transport **host,
                                        const struct hcy_device_transport **device);
#define HCY_TRANSPORT_ENTRY "hcy_transport_entry"

#endif
