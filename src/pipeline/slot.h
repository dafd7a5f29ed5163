/* slot.h - batches of frames on their way to the devices (slot.c owns the part and its slots).
 *
 *     FREE -> FILLING (producers) -> READY (listed) -> RUNNING (a worker) -> FREE or READY again
 *
 * Lock rules: the lists, and members marked [lock], are under the lock.  A slot's other members and its memory belong,
 * without the lock, to whom its state names: while it is FILLING each producer has its own place; while it is READY
 * nobody may touch it; while it is RUNNING the worker that took it has all of it, also what is marked [lock].  (A
 * worker asks under the lock which devices have refused a slot, and says so under it: other workers ask too.)
 */
#ifndef HCY_PIPELINE_SLOT_H
#define HCY_PIPELINE_SLOT_H

#include <halcyon/pipeline.h>

#include "push.h"

struct pipe_output;

/* Memory of the host that `home`'s copies reach at full speed, or plain memory where it has no such kind. */
struct pipe_memory {
    hcy_buffer *buffer; /* NULL: plain */
    void *host;
    size_t size;
};
int hcy__memory_create(struct pipe_memory *memory, hcy_device *home, size_t size);
void hcy__memory_free(struct pipe_memory *memory);

/* A chunk that lies in the host's memory until a device has read it. */
struct pipe_held {
    struct pipe_chunk chunk;
    size_t index, offset; /* its frame in the slot; where it goes on a device that must copy */
};

/* Entries of block tables that did not fit into their frames' places. */
struct pipe_overflow {
    hcy_bslz4_block *blocks;
    size_t n, capacity;
};

enum pipe_slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_RUNNING };

struct pipe_slot {
    enum pipe_slot_state state; /* [lock] */
    int closed;                 /* [lock] takes no more frames */
    size_t pending;             /* [lock] frames whose producer has not committed */
    size_t n, limit;            /* [lock] frames, and how many it takes */
    size_t used, n_blocks;      /* [lock] bytes of chunks; entries of blocks, those of no frame included */
    size_t stored;              /* [lock] bytes of the good frames' chunks alone */
    size_t stride;              /* entries that each frame has: its producer writes them without the lock */
    struct pipe_overflow overflow; /* [lock] of frames that have more */
    uint64_t first;             /* ordinal of its first frame */
    int in_place;               /* its chunks are not in `chunks` but in the host's memory: */
    size_t n_held;              /* [lock] those to give back when a device has read them */
    struct pipe_held *held;
    unsigned char *refused; /* [lock] a device: it has seen these frames and leaves some of them to others */
    int again;              /* some device has: frames that are done have a status in `frames` */
    int kept;               /* a device that hangs may still read it: never given back to the system */
    hcy_device *home;
    struct pipe_memory chunks, frames, blocks; /* hcy_bslz4_frame[], hcy_bslz4_block[] */
    hcy_buffer **views;     /* a device: chunks as its kernels read them, NULL where they must be copied */
    struct pipe_slot *next; /* [lock] in the list of ready slots, by `first` */
};

struct pipe_slots {
    struct pipe_slot *all;
    size_t n;
    struct pipe_slot *filling; /* [lock] the one that producers fill, NULL: none */
    struct pipe_slot *ready;   /* [lock] */
    size_t n_ready;            /* [lock] */
    size_t stride;             /* [lock] entries of a block table that frames have asked for so far, at most */
};

/* Where one frame goes. */
struct pipe_seat {
    struct pipe_slot *slot;
    struct pipe_output *output;
    uint8_t *into;     /* NULL: it is already */
    const uint8_t *at; /* there */
    size_t index, offset, capacity;
    size_t size; /* of the chunk */
    int apart;   /* its blocks are in the producer's table */
};

/* A producer's own block table, for frames whose place in the slot's is too small: grown as chunks ask for it. */
struct pipe_parser {
    hcy_bslz4_block *blocks;
    size_t capacity;
};

int hcy__slots_create(hcy_pipeline *p, size_t n);
void hcy__slots_destroy(hcy_pipeline *p);
/* All slots are free, and what they held is given back; when no thread fills or runs one any more. */
void hcy__slots_empty(hcy_pipeline *p);
/* [lock] Of a run that has stopped: a chunk that a slot holds and no thread reads any more; 0: there is none now. */
int hcy__slots_pop_held(struct pipe_slots *slots, struct pipe_chunk *chunk);

/* For producers. */
/* [lock] A place for the next ordinal, for a chunk of `size` bytes that will be written to it or is at
 * `in_place` (in the push form's memory): 0 if there is none now (wait for PIPE_SPACE). */
int hcy__slot_reserve(hcy_pipeline *p, size_t size, const uint8_t *in_place, struct pipe_seat *place);
/* [lock] The slot gives this chunk, which is in its place, back when a device has read it. */
void hcy__slot_hold(const struct pipe_seat *place, const struct pipe_chunk *chunk);
/* [lock] No more frames go into the slot being filled, which is returned; NULL: there is none. */
struct pipe_slot *hcy__slot_close(hcy_pipeline *p);
/* [lock] It takes no more frames, and producers still have places in it; of NULL: 0. */
static inline int hcy__slot_is_closing(const struct pipe_slot *slot)
{
    return slot && slot->closed && slot->state == SLOT_FILLING;
}
/* Takes the chunk of place->size bytes in its place apart, unless its output has failed already.  Where place->apart
 * says that its blocks are in the producer's table, it is committed before that thread parses another one. */
void hcy__slot_parse(hcy_pipeline *p, struct pipe_seat *place, struct pipe_parser *parser);
/* [lock] So many frames are in their places. */
void hcy__slot_commit(hcy_pipeline *p, const struct pipe_seat *places, size_t n, const struct pipe_parser *parser);

/* For workers. */
/* [lock] The ready slots, oldest frames first, by `next`; one of them taken off the list. */
static inline struct pipe_slot *hcy__slots_ready(const struct pipe_slots *slots)
{
    return slots->ready;
}
static inline size_t hcy__slots_n_ready(const struct pipe_slots *slots)
{
    return slots->n_ready;
}
void hcy__slot_take(struct pipe_slots *slots, struct pipe_slot *slot);
/* Of a slot that is the worker's: all blocks in one table; frames in the host's memory found where that begins, or
 * (packed) as they are copied. */
int hcy__slot_join_tables(struct pipe_slot *slot);
void hcy__slot_point(const hcy_pipeline *p, struct pipe_slot *slot, int packed);
/* [lock] Onto the list again. */
void hcy__slot_make_ready(hcy_pipeline *p, struct pipe_slot *slot);
/* Its device has read all of it: chunks go back to their host, the slot to the producers. */
void hcy__slot_release(hcy_pipeline *p, struct pipe_slot *slot);

/* Bytes of a slot's block table as it was made. */
static inline size_t hcy__slots_block_bytes(const struct pipe_slots *slots)
{
    return slots->all[0].blocks.size;
}

#endif
