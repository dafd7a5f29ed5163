/* process_wire.h - what halcyon integrate and its worker processes say to each other, and where results lie.
 *
 * A worker is this program, started with the name PROCESS_NAME and the same arguments, its socket at PROCESS_SOCKET and
 * the shared memory at PROCESS_MEMORY.  It gets one setup, and the names of the files behind it, each with its zero, as
 * patterns and lists may name others by now.  It answers that it is ready, then gets orders and answers each.  Results
 * go to slots of the memory, `block` rows each; who may write to a slot is who was last given it. */
#ifndef HCY_CLI_PROCESS_WIRE_H
#define HCY_CLI_PROCESS_WIRE_H

#include "integrate_job.h"

#define PROCESS_NAME "halcyon-worker"
enum { PROCESS_SOCKET = 3, PROCESS_MEMORY = 4 };

struct process_setup {
    uint64_t memory, row_bytes, block; /* bytes of all slots and of a row, rows of a slot */
    uint64_t names;                    /* bytes of the files' names */
    char devices[1024];
};

/* Frames first to last - 1, to a slot. */
struct process_order {
    uint64_t first, last, slot;
};

/* To the setup, and to each order.  Numbers are of all orders so far. */
struct process_answer {
    int32_t status; /* not 0: the worker is at its end, `why` */
    int32_t two_stage;
    uint64_t batch, frames, batches, bytes;
    double seconds;
    char plan[80], variant[64], why[512];
};

/* A frame's result: this, then what a shape says. */
struct process_row {
    hcy_frame_report report;
    uint64_t n_pixels; /* of its sparse frame */
    int32_t good;
    char why[300];
};

/* What rows of a job have: the arrays that `like` has, regions, and room for the pixels of a sparse frame. */
struct process_shape {
    hcy_azint_result *like; /* to be destroyed */
    size_t regions;
    uint64_t room;
};

struct process_arrays {
    hcy_azint_result result;
    hcy_region_sums *regions;
    int64_t *values; /* of floating-point frames the bits of doubles */
    uint32_t *indices;
};

/* Of a job whose plan is made.  A status of the library's. */
int process_shape_of(struct process_shape *shape, const struct job *job);
size_t process_row_bytes(const struct process_shape *shape);
/* Where they are in a row. */
struct process_arrays process_row_arrays(const struct process_shape *shape, struct process_row *row);
/* All of a message, both ways: 1, or 0 if the other side is gone. */
int process_send(int socket, const void *message, size_t size);
int process_receive(void *message, size_t size, int socket);

/* The whole of a worker: main() hands it the arguments.  Its exit status. */
int process_work(int argc, char **argv);

#endif
