/* board.h - the virtual board's own types.
 *
 * A library that is preloaded: interpose.c answers the libc calls by which XRT's shim reaches its driver, files.c shows
 * the cards in a tree of files, driver.c answers the requests, memory.c is the card's memory and the buffers, units.c
 * the compute units, load.c what an xclbin makes of a card, share.c what several processes see of each other.
 *
 * Threads: everything mutable is under board_lock; compute units run without it.  Cards and units live as long as the
 * process.  A forked child begins with cards that nobody has opened, if its parent had opened none.
 */
#ifndef HCY_BOARD_H
#define HCY_BOARD_H

#include "abi.h"
#include "platforms.h"

#include "../../kernels_hls/args.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define BOARD_MAX    8
#define BOARD_BANKS  40
#define BOARD_UNITS  64
#define BOARD_ARGS   64
#define BOARD_PAGE   ((uint64_t)4096)
#define BOARD_NODE   200 /* the first card is /dev/dri/renderD200 */
#define BOARD_POISON 0xa5

/* --- Settings (files.c): the variable HALCYON_BOARD, words KEY=VALUE --- */
struct settings {
    long boards;
    const struct platform *platform;
    long latency_us;                                /* of a run */
    long fail_alloc, fault_run, hang_run, lose_run; /* the N-th in this process, 0: none */
    long count;                                     /* what the process has moved is printed at its end */
};
extern struct settings board_settings;
/* Counts one event; true for the one that shall fail. */
static inline bool board_strikes(long *countdown)
{
    return *countdown > 0 && --*countdown == 0;
}

/* --- Cards --- */
struct range {
    struct range *next;
    uint64_t address, size;
};

struct bank {
    uint64_t base, size, taken;
    struct range *used; /* in the order of their addresses */
    bool there;
};

struct command;
struct unit {
    struct card *card;
    char name[64];
    hcy_hls_run run;
    size_t n_args;
    uint32_t offsets[BOARD_ARGS]; /* of its arguments' registers, */
    bool wide[BOARD_ARGS];        /* two words each, or one */
    pthread_t thread;
    struct command *queue; /* the first is the one that runs */
    unsigned long runs;
    unsigned depth;
    bool hangs;
};

struct card {
    int index;
    char bdf[16];
    bool gone;
    unsigned char uuid[16];
    bool loaded;
    int n_contexts;
    int n_banks, n_units;
    struct bank banks[BOARD_BANKS];
    unsigned char *memory; /* where the card's address 0 would be; nothing is mapped but buffers */
    uint64_t span;
    struct unit units[BOARD_UNITS];
    void *library; /* the bitstream */
    uint64_t bytes_to, bytes_from, most[BOARD_BANKS]; /* copied; most: taken of a memory at a time */
};

extern pthread_mutex_t board_lock;
extern pthread_cond_t board_work, board_done; /* something for a unit to do; something is done */
extern struct card board_cards[BOARD_MAX];

/* --- Buffers (memory.c) --- */
struct buffer {
    unsigned refs;
    struct card *card;
    uint64_t size, address;
    uint32_t flags;
    unsigned char *host; /* NULL: device only */
    size_t host_size;    /* 0: the host's memory is the user's */
    int bank;            /* -1: none of the card's memory */
};
int buffer_new(struct card *card, uint64_t size, uint32_t flags, void *user, struct buffer **out);
void buffer_release(struct buffer *b);
int buffer_sync(struct buffer *b, uint64_t offset, uint64_t size, bool from_device);
int buffer_copy(struct buffer *to, uint64_t to_offset, struct buffer *from, uint64_t from_offset,
                uint64_t size);
/* A second mapping of the host's side. */
void *buffer_map(struct buffer *b, size_t size);
/* The card's memory behind an address, NULL if not all of it is a buffer's. */
unsigned char *card_memory(struct card *card, uint64_t address, uint64_t size);
int memory_open(struct card *card); /* the banks are set */
void memory_close(struct card *card);

/* --- Clients: opened cards (driver.c) --- */
struct client {
    struct client *next;
    int fd;
    struct card *card;
    unsigned pollers;        /* threads in poll() */
    bool closed;             /* the last of them frees it */
    unsigned events;         /* commands that ended and were not polled for */
    int n_whole;             /* contexts of the whole program */
    bool has[BOARD_UNITS];   /* contexts of units */
    struct buffer **buffers; /* by handle; [0] stays empty */
    uint32_t n_buffers;
};
extern struct client *board_clients;
struct client *client_of(int fd);
int client_open(int index);
void client_close(struct client *c);
void client_free(struct client *c);
int client_request(struct client *c, unsigned long request, void *argument); /* 0 or -errno */
struct buffer *client_buffer(struct client *c, uint32_t handle);

/* --- Compute units (units.c) --- */
int units_start(struct card *card);
void units_stop(struct card *card);
int units_submit(struct client *c, struct buffer *packet);
void units_forget(struct client *c); /* nothing of it is queued or runs when this returns */
void card_lose(struct card *card);

/* --- Between processes (share.c): cards are counted from 0; false: another process stands against it --- */
bool share_load(int card, const unsigned char uuid[16]);
bool share_loaded(int card, const unsigned char uuid[16]); /* it is still this program */
bool share_context(int card, int unit, int change, bool exclusive); /* unit -1: the whole program */
bool share_take(int card, int bank, uint64_t size, uint64_t all);
void share_give(int card, int bank, uint64_t size);
void share_unit_take(int card, int unit);
void share_unit_give(int card, int unit);
bool share_gone(int card);
void share_lose(int card);

/* --- Loading (load.c) --- */
int card_load(struct card *card, const void *xclbin);

/* --- Files (files.c) --- */
void files_begin(void); /* makes the tree when it is first needed */
/* `path` or where it is in the tree. */
const char *files_path(const char *path, char *buffer, size_t size);
/* The card behind a device node's path; -1: none. */
int files_node(const char *path);
void files_loaded(const struct card *card, const void *memories, size_t memories_size, const void *units,
                  size_t units_size);
void files_lost(const struct card *card);

/* --- libc's own (interpose.c) --- */
int real_close(int fd);
FILE *real_fopen(const char *path, const char *mode);

#endif
