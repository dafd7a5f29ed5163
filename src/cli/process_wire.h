/* process_wire.h - what halcyon integrate and its worker processes say to each other, and where results lie.
 *
 * A worker is this program, started with the name PROCESS_NAME and the same arguments, its socket at PROCESS_SOCKET and
 * the shared memory at PROCESS_MEMORY.  It gets one setup, answers that it is ready, then gets orders and answers each.
 * Results go to slots of the memory, `block` rows each; who may write to a slot is who was last given it. */
#ifndef HCY_CLI_PROCESS_WIRE_H
#define HCY_CLI_PROCESS_WIRE_H

#include "integrate_job.h"

#define PROCESS_NAME "halcyon-worker"
enum { PROCESS_SOCKET = 3, PROCESS_MEMORY = 4 };

struct process_setup {
    uint64_t memory, row_bytes, block; /* bytes of all slots and of a row, rows of a slot */
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

/* A frame's result: this, then the arrays that the job's results have. */
struct process_row {
    hcy_frame_report report;
    int32_t good;
    char why[300];
};

/* Bytes of a row whose arrays are those of `like`. */
size_t process_row_bytes(const hcy_azint_result *like);
/* *result is `like` with its arrays in a row. */
void process_row_result(hcy_azint_result *result, const hcy_azint_result *like, struct process_row *row);
/* All of a message, both ways: 1, or 0 if the other side is gone. */
int process_send(int socket, const void *message, size_t size);
int process_receive(void *message, size_t size, int socket);

/* The whole of a worker: main() hands it the arguments.  Its exit status. */
int process_work(int argc, char **argv);

#endif
