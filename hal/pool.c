/* pool.c - released memory of a device, kept for the next allocation of its kind and size class.
 *
 * A buffer is released only when no command uses it any more (commands hold references), so a block in the pool is
 * free at once, whatever the queues do.  Size classes are 8 steps to a power of two: at most an eighth is wasted,
 * and nothing where the device has no room for that: such a block has no class, and is not kept.
 * HALCYON_POOL=0 has neither: with blocks of the very size that was asked for, given back at once, tools that look for
 * reads and writes beyond memory, or of memory that is gone, see those of kernels.
 * What is kept stays below an eighth of the device's memory.  Where a device has none left, memory may be on its way
 * back, from commands that have not ended: who submits faster than the device works is held back here.  Thread-safe.
 */
#include "hal_priv.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KINDS 3
#define CLASSES 512
#define MIN_SIZE ((size_t)256)
/* How long memory that commands have is waited for without any coming back: they may wait for who asks.  And in all:
 * others may go on without an end. */
#define PATIENCE_NS 2000000000u
#define LIMIT_NS    20000000000u
#define LOOK_NS     50000 /* between two looks; the driver is asked for memory again, which takes longer */

struct entry {
    struct entry *next;
    hcy_block block;
};

struct hcy__pool {
    hcy_device *dev; /* not a reference: the device owns its pool */
    pthread_mutex_t lock;
    struct entry *kept[KINDS][CLASSES];
    hcy_pool_stats stats;
    uint64_t limit;
    bool is_off; /* HALCYON_POOL=0 */
    atomic_size_t n_freed; /* blocks that have come back */
};

/* The class of a size, and the size all blocks of that class have. */
static size_t class_of(size_t size, size_t *rounded)
{
    size_t base = MIN_SIZE, index = 0;
    /* The second condition ends the loop for sizes that cannot be rounded; their rounded size is below them,
     * which the caller finds. */
    while (size > base * 2 && base <= SIZE_MAX / 4) {
        base *= 2;
        index += 8;
    }
    /* Between two powers there are 8 steps, so a block is at most an eighth larger than what was asked for. */
    size_t step = base / 8, steps = size <= base ? 0 : (size - base + step - 1) / step;
    *rounded = base + steps * step;
    return index + steps;
}

int hcy__pool_create(struct hcy__pool **pool, hcy_device *dev)
{
    struct hcy__pool *p = calloc(1, sizeof *p);
    const char *wanted = getenv("HALCYON_POOL");
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a device's pool");
    p->is_off = wanted && !strcmp(wanted, "0");
    p->dev = dev;
    /* Kept memory is lost to other processes on the device, so it stays a small share. */
    p->limit = dev->info.memory / 8;
    atomic_init(&p->n_freed, 0);
    pthread_mutex_init(&p->lock, NULL);
    *pool = p;
    return 0;
}

void hcy__pool_trim(struct hcy__pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    for (int k = 0; k < KINDS; k++)
        for (size_t c = 0; c < CLASSES; c++)
            while (pool->kept[k][c]) {
                struct entry *e = pool->kept[k][c];
                pool->kept[k][c] = e->next;
                pool->stats.cached -= e->block.size;
                pool->dev->backend->ops->free(pool->dev->impl, k + 1, &e->block);
                free(e);
            }
    pthread_mutex_unlock(&pool->lock);
}

void hcy__pool_destroy(struct hcy__pool *pool)
{
    if (!pool)
        return;
    /* Buffers hold the device, so none is in use any more: all blocks are kept ones. */
    hcy__pool_trim(pool);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static bool take_kept(struct hcy__pool *pool, int mem, size_t class, hcy_block *block)
{
    struct entry **head = &pool->kept[mem - 1][class], *e;
    pthread_mutex_lock(&pool->lock);
    if ((e = *head)) {
        *head = e->next;
        *block = e->block;
        pool->stats.cached -= e->block.size;
        pool->stats.in_use += e->block.size;
        pool->stats.hits++;
    }
    pthread_mutex_unlock(&pool->lock);
    /* Outside of the lock, as nothing else needs to wait for the allocator. */
    free(e);
    return e != NULL;
}

static int alloc_block(hcy_device *dev, int mem, size_t size, hcy_block *block)
{
    int status = hcy__fault_alloc(dev);
    if (!status)
        status = dev->backend->ops->alloc(block, dev->impl, mem, size);
    /* Also where the backend says more, as the pool counts and keeps by it. */
    block->size = size;
    return status;
}

/* Whether memory has come back since `seen` blocks had. */
static bool wait_for_memory(struct hcy__pool *pool, size_t seen)
{
    const uint64_t began = hcy_now_ns();
    while (atomic_load(&pool->n_freed) == seen && atomic_load(&pool->dev->notes.in_use) &&
           hcy_now_ns() - began < PATIENCE_NS)
        nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
    return atomic_load(&pool->n_freed) != seen;
}

/* What is kept here may be all that was missing, or what commands under way give back. */
static int alloc_from_others(struct hcy__pool *pool, int mem, size_t size, size_t rounded, hcy_block *block)
{
    const uint64_t began = hcy_now_ns(), all = pool->dev->info.memory;
    for (;;) {
        const size_t seen = atomic_load(&pool->n_freed);
        hcy__pool_trim(pool);
        int status = alloc_block(pool->dev, mem, rounded, block);
        if (status == HCY_ENOMEM && size < rounded)
            status = alloc_block(pool->dev, mem, size, block);
        if (status != HCY_ENOMEM || (mem == HCY_MEM_DEVICE && all && size > all) ||
            hcy_now_ns() - began > LIMIT_NS || !wait_for_memory(pool, seen))
            return status;
    }
}

int hcy__pool_alloc(struct hcy__pool *pool, int mem, size_t size, hcy_block *block)
{
    size_t rounded, class = class_of(size, &rounded);
    if (rounded < size || class >= CLASSES)
        return hcy_fail(HCY_ERANGE, "%zu bytes are more than any device has", size);
    if (pool->is_off)
        rounded = size;
    if (take_kept(pool, mem, class, block))
        return 0;
    int status = alloc_block(pool->dev, mem, rounded, block);
    if (status == HCY_ENOMEM)
        status = alloc_from_others(pool, mem, size, rounded, block);
    if (status)
        return status;
    pthread_mutex_lock(&pool->lock);
    pool->stats.misses++;
    pool->stats.in_use += block->size;
    /* Only an allocation can make a new peak: taking and keeping move bytes between the two. */
    if (pool->stats.in_use + pool->stats.cached > pool->stats.peak)
        pool->stats.peak = pool->stats.in_use + pool->stats.cached;
    pthread_mutex_unlock(&pool->lock);
    return 0;
}

void hcy__pool_free(struct hcy__pool *pool, int mem, hcy_block *block)
{
    size_t rounded, class = class_of(block->size, &rounded);
    /* Before the lock; without memory for the entry the block is simply given back. */
    struct entry *e = malloc(sizeof *e);
    pthread_mutex_lock(&pool->lock);
    pool->stats.in_use -= block->size;
    /* All blocks of a class have one size, so that any of them serves the next request.  A lost device's memory is of
     * no use to the next one. */
    bool keep = e && !pool->is_off && block->size == rounded && pool->stats.cached + block->size <= pool->limit &&
                !atomic_load(&pool->dev->is_lost);
    if (keep) {
        e->block = *block;
        e->next = pool->kept[mem - 1][class];
        pool->kept[mem - 1][class] = e;
        pool->stats.cached += block->size;
    }
    pthread_mutex_unlock(&pool->lock);
    /* Drivers may wait for the device here, so the lock is not held. */
    if (!keep) {
        free(e);
        pool->dev->backend->ops->free(pool->dev->impl, mem, block);
    }
    atomic_fetch_add(&pool->n_freed, 1);
}

void hcy__pool_get_stats(struct hcy__pool *pool, hcy_pool_stats *stats)
{
    pthread_mutex_lock(&pool->lock);
    *stats = pool->stats;
    pthread_mutex_unlock(&pool->lock);
}
