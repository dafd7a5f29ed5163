/* staging.c - large copies between a GPU and memory of the program's that is not pinned.
 *
 * The driver takes such a copy through pinned memory of its own with one thread, and the link waits for that thread.
 * Here several threads take pieces through slots of pinned memory, each thread with two: one is filled or emptied while
 * the link carries the other.  A transform whose modes lie in ordinary memory spends most of its time there.
 *
 * A device has one set of slots, made by the first such copy and kept until the device is closed; one copy has them at
 * a time.  The threads live as long as the copy, so that a program whose copies are small or pinned has none of them.
 */
#include "cuda_priv.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>

#define PIECE        ((size_t)2 << 20)
#define LEAST        ((size_t)16 << 20)
#define SLOTS        2 /* of a thread */
#define MOST_THREADS 8u

struct slot {
    unsigned char *host;
    CUevent event; /* behind the slot's last copy on whichever stream */
};

struct cuda_staging {
    pthread_mutex_t turn;
    unsigned threads;
    unsigned char *memory; /* of all slots */
    struct slot slots[MOST_THREADS][SLOTS];
};

/* One copy; its threads take the next piece until there is none. */
struct staged {
    const struct cuda_queue *q;
    CUdeviceptr gpu;
    unsigned char *host;
    size_t size;
    bool to_gpu;
    atomic_size_t next;
    atomic_int failed; /* the first CUresult that is not 0 */
};

struct share {
    struct staged *copy;
    struct slot *slots;
    pthread_t thread;
};

/* --- Slots --- */

static void free_staging(struct cuda_device *d, struct cuda_staging *s)
{
    for (unsigned t = 0; t < s->threads; t++)
        for (int k = 0; k < SLOTS; k++)
            cuda_event_give(d, s->slots[t][k].event, false);
    if (s->memory)
        cu.cuMemFreeHost(s->memory);
    pthread_mutex_destroy(&s->turn);
    free(s);
}

/* NULL if there is no memory for it: then the driver copies. */
static struct cuda_staging *new_staging(struct cuda_device *d)
{
    struct cuda_staging *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    /* Half of the processors, as a program that calls this has work of its own; the link is full with fewer than 8. */
    unsigned half = hcy_processors() / 2;
    s->threads = half < 2 ? 2 : half < MOST_THREADS ? half : MOST_THREADS;
    pthread_mutex_init(&s->turn, NULL);
    void *memory = NULL;
    bool whole = !cu.cuMemHostAlloc(&memory, s->threads * SLOTS * PIECE, CUDA_HOST_PORTABLE);
    s->memory = memory;
    for (unsigned i = 0; whole && i < s->threads * SLOTS; i++) {
        struct slot *slot = &s->slots[i / SLOTS][i % SLOTS];
        slot->host = s->memory + i * PIECE;
        whole = (slot->event = cuda_event_take(d, false)) != NULL;
    }
    if (whole)
        return s;
    free_staging(d, s);
    return NULL;
}

static struct cuda_staging *staging_of(struct cuda_device *d)
{
    pthread_mutex_lock(&d->lock);
    struct cuda_staging *s = d->staging;
    pthread_mutex_unlock(&d->lock);
    if (s || !(s = new_staging(d)))
        return s;
    /* Made without the lock, which taking events needs; of two that are made at once one is dropped again. */
    pthread_mutex_lock(&d->lock);
    struct cuda_staging *other = d->staging;
    if (!other)
        d->staging = s;
    pthread_mutex_unlock(&d->lock);
    if (!other)
        return s;
    free_staging(d, s);
    return other;
}

void cuda_staging_free(struct cuda_device *d)
{
    if (d->staging)
        free_staging(d, d->staging);
    d->staging = NULL;
}

/* --- Pieces --- */

static bool next_piece(size_t *at, size_t *size, struct staged *c)
{
    if (atomic_load(&c->failed))
        return false;
    *at = atomic_fetch_add(&c->next, PIECE);
    if (*at >= c->size)
        return false;
    *size = c->size - *at < PIECE ? c->size - *at : PIECE;
    return true;
}

/* Into a slot, once what it held is through, and on to the GPU. */
static CUresult send_piece(const struct staged *c, struct slot *slot, size_t at, size_t size)
{
    CUresult r = cu.cuEventSynchronize(slot->event);
    if (r)
        return r;
    memcpy(slot->host, c->host + at, size);
    r = cu.cuMemcpyAsync(c->gpu + at, (CUdeviceptr)(uintptr_t)slot->host, size, c->q->stream);
    return r ? r : cu.cuEventRecord(slot->event, c->q->stream);
}

static CUresult send_pieces(struct staged *c, struct slot *slots)
{
    CUresult r = CUDA_SUCCESS;
    size_t at, size;
    for (int k = 0; !r && next_piece(&at, &size, c); k = (k + 1) % SLOTS)
        r = send_piece(c, &slots[k], at, size);
    return r;
}

static CUresult ask_for_piece(const struct staged *c, struct slot *slot, size_t at, size_t size)
{
    CUresult r = cu.cuEventSynchronize(slot->event);
    if (!r)
        r = cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)slot->host, c->gpu + at, size, c->q->stream);
    return r ? r : cu.cuEventRecord(slot->event, c->q->stream);
}

/* A piece is on its way while the one before it is taken out of its slot. */
static CUresult receive_pieces(struct staged *c, struct slot *slots)
{
    CUresult r = CUDA_SUCCESS;
    size_t at[SLOTS], size[SLOTS] = { 0 };
    for (int k = 0; !r; k = (k + 1) % SLOTS) {
        bool more = next_piece(&at[k], &size[k], c);
        if (more)
            r = ask_for_piece(c, &slots[k], at[k], size[k]);
        int last = (k + SLOTS - 1) % SLOTS;
        if (!r && size[last] && !(r = cu.cuEventSynchronize(slots[last].event)))
            memcpy(c->host + at[last], slots[last].host, size[last]);
        size[last] = 0;
        if (!more)
            break;
    }
    return r;
}

static void *take_share(void *arg)
{
    struct share *share = arg;
    struct staged *c = share->copy;
    CUresult r = cu.cuCtxPushCurrent(c->q->dev->context);
    if (!r) {
        r = c->to_gpu ? send_pieces(c, share->slots) : receive_pieces(c, share->slots);
        cuda_leave();
    }
    int none = 0;
    if (r)
        atomic_compare_exchange_strong(&c->failed, &none, (int)r);
    return NULL;
}

/* The calling thread takes a share too; threads that cannot be started leave theirs to the others. */
static void share_out(struct staged *c, struct cuda_staging *s)
{
    struct share shares[MOST_THREADS];
    unsigned started = 1;
    pthread_mutex_lock(&s->turn);
    for (unsigned t = 0; t < s->threads; t++)
        shares[t] = (struct share){ .copy = c, .slots = s->slots[t] };
    while (started < s->threads && !hcy__thread_create(&shares[started].thread, take_share, &shares[started]))
        started++;
    take_share(&shares[0]);
    while (started > 1)
        pthread_join(shares[--started].thread, NULL);
    pthread_mutex_unlock(&s->turn);
}

/* What CUDA knows, pinned or a GPU's own, is the driver's to copy: a processor might not reach it. */
bool cuda_is_for_staging(const void *host, size_t size)
{
    return size >= LEAST && !cuda_knows(host);
}

int cuda_copy_staged(struct cuda_queue *q, CUdeviceptr gpu, void *host, size_t size, bool to_gpu)
{
    struct staged c = { .q = q, .gpu = gpu, .host = host, .size = size, .to_gpu = to_gpu };
    struct cuda_staging *s = staging_of(q->dev);
    CUdeviceptr there = (CUdeviceptr)(uintptr_t)host, dst = to_gpu ? gpu : there, src = to_gpu ? there : gpu;
    if (!s)
        return cuda_check(q->dev, cu.cuMemcpyAsync(dst, src, size, q->stream), "a copy");
    /* What is read must be there first, and other queues' copies shall not wait for that. */
    CUresult r = to_gpu ? CUDA_SUCCESS : cu.cuStreamSynchronize(q->stream);
    if (r)
        return cuda_check(q->dev, r, "a command");
    share_out(&c, s);
    return cuda_check(q->dev, (CUresult)atomic_load(&c.failed), "a copy of memory that is not pinned");
}
