/* memory.c - buffers, each with a side on the card and one on the host; where compute units find them; their copies in
 * other memories; pinned, mapped and imported memory.
 *
 * Thread-safe, as far as commands on the same bytes are ordered by the user.
 */
#include "xrt_priv.h"

#include <stdlib.h>
#include <string.h>

static size_t whole_pages(size_t size)
{
    return (size + XRT_PAGE - 1) / XRT_PAGE * XRT_PAGE;
}

/* Makes the record of a memory that has no side yet. */
static struct xrt_memory *new_record(struct xrt_device *d, size_t size)
{
    struct xrt_memory *m = size <= SIZE_MAX - XRT_PAGE ? calloc(1, sizeof *m) : NULL;
    if (m) {
        *m = (struct xrt_memory){ .device = d, .size = whole_pages(size), .group = UINT32_MAX };
        pthread_rwlock_init(&m->lock, NULL);
    } else {
        hcy_fail(HCY_ENOMEM, "out of memory for a buffer");
    }
    return m;
}

static int no_room_on_card(const struct xrt_device *d, size_t size, uint32_t group)
{
    const struct xclbin_memory *at = &d->xclbin.memories->list[group];
    if (group >= (uint32_t)d->xclbin.memories->n)
        return hcy_fail(HCY_EBACKEND, "%s has no memory %u", hcy_device_get_info(d->dev)->name, group);
    return hcy_fail(HCY_ENOMEM, "%s has no %zu bytes left in its memory %.16s, which has %llu MiB",
                    hcy_device_get_info(d->dev)->name, size, at->tag, (unsigned long long)at->kib / 1024);
}

static void *buffer_in(const struct xrt_device *d, size_t size, uint32_t group)
{
    return (int64_t)group == d->host_group ? card_buffer_at_host(d->card, size, group)
                                           : card_buffer(d->card, size, group);
}

/* Takes over a buffer of XRT's; its host's side is asked for. */
static int take_buffer(struct xrt_memory *m, void *buffer, uint32_t group)
{
    unsigned char *host = buffer ? card_buffer_host(buffer) : NULL;
    /* A buffer that the host cannot see is of no use here: all copies go through its host's side. */
    if (buffer && !host)
        card_buffer_free(buffer);
    if (!host)
        return no_room_on_card(m->device, m->size, group);
    m->buffer = buffer;
    m->host = host;
    m->group = group;
    return 0;
}

int xrt_memory_new(struct xrt_memory **out, struct xrt_device *d, size_t size, uint32_t group)
{
    struct xrt_memory *m = new_record(d, size);
    int status = m ? take_buffer(m, buffer_in(d, m->size, group), group) : HCY_ENOMEM;
    if (!status) {
        *out = m;
    } else if (m) {
        pthread_rwlock_destroy(&m->lock);
        free(m);
    }
    return status;
}

void xrt_memory_free(struct xrt_memory *m)
{
    while (m) {
        struct xrt_memory *next = m->copies;
        /* A unit that hangs may still write there, so the memory is left to it. */
        if (m->buffer && !atomic_load(&m->device->hung))
            card_buffer_free(m->buffer);
        if (!m->buffer && !m->users)
            free(m->host);
        pthread_rwlock_destroy(&m->lock);
        free((void *)(uintptr_t)m->tables.data);
        free(m);
        m = next;
    }
}

int xrt_transfer(struct xrt_memory *m, size_t offset, size_t size, bool to_card)
{
    if (!size || (to_card ? card_to(m->buffer, offset, size) : card_from(m->buffer, offset, size)))
        return 0;
    return xrt_lose(m->device, to_card ? "a copy to the card failed" : "a copy from the card failed", 0);
}

int xrt_ends(void)
{
    return hcy_fail(HCY_ECANCELLED, "the process ends");
}

int xrt_put(struct xrt_memory *m, size_t offset, const void *data, size_t size)
{
    if (!card_enter())
        return xrt_ends();
    memcpy(m->host + offset, data, size);
    card_leave();
    return 0;
}

/* --- Where compute units find it --- */

/* The memory of the first compute unit that uses it becomes its own. */
static int move_memory(struct xrt_memory *m, uint32_t group)
{
    /* The old buffer is kept until its contents are in the new one.  As no unit has used it, all that was written there
     * came by its host's side, which still has it. */
    struct xrt_memory old = *m;
    int status = take_buffer(m, buffer_in(m->device, m->size, group), group);
    if (status)
        return status;
    status = xrt_put(m, 0, old.host, m->size);
    card_buffer_free(old.buffer);
    return status ? status : xrt_transfer(m, 0, m->size, true);
}

/* What units of several memories use, and none has used yet, needs no room on the card: each run has its part of it
 * there.  As above, the host's side has all of it. */
static int move_to_host(struct xrt_memory *m)
{
    void *host = aligned_alloc(XRT_PAGE, m->size);
    if (!host)
        return hcy_fail(HCY_ENOMEM, "there are no %zu bytes of memory", m->size);
    if (!card_enter()) {
        free(host);
        return xrt_ends();
    }
    memcpy(host, m->host, m->size);
    card_leave();
    card_buffer_free(m->buffer);
    m->buffer = NULL;
    m->host = host;
    m->group = UINT32_MAX;
    m->at_host = true;
    return 0;
}

/* Memory of the caller's has no buffer before it is used; one that is not whole pages gets copies. */
static void give_buffer(struct xrt_memory *m, uint32_t group)
{
    /* XRT maps whole pages only. */
    if ((uintptr_t)m->host % XRT_PAGE || m->size % XRT_PAGE)
        return;
    m->buffer = card_buffer_of(m->device->card, m->host, m->size, group);
    m->group = m->buffer ? group : UINT32_MAX;
}

/* [lock] Makes m ready for compute units of this memory. */
static int make_memory_ready(struct xrt_memory *m, uint32_t group, bool spread)
{
    int status = 0;
    if (m->users && !m->buffer && !spread)
        give_buffer(m, group);
    if (!m->at_host && !m->placed && spread)
        status = move_to_host(m);
    /* Once a unit has used it in one memory it stays there: moving to and fro would cost more than copies. */
    if (!status && !m->at_host && m->group != group) {
        if (m->placed)
            status = xrt_transfer(m, 0, m->size, false);
        else
            status = move_memory(m, group);
        m->at_host = !status && m->placed;
    }
    m->placed = !status;
    return status;
}

/* The copies hang one behind another, each in another memory. */
static int find_copy(struct xrt_memory **out, struct xrt_memory *m, uint32_t group)
{
    struct xrt_memory *c = m;
    int status = 0;
    /* Copies are made when they are first needed and freed with the original. */
    while (c->group != group && c->copies)
        c = c->copies;
    if (c->group != group && !(status = xrt_memory_new(&c->copies, m->device, m->size, group)))
        c = c->copies;
    *out = c;
    return status;
}

int xrt_memory_room(struct xrt_memory **own, struct xrt_device *d, size_t size, uint32_t group)
{
    if (*own && (*own)->size >= size)
        return 0;
    xrt_memory_free(*own);
    *own = NULL;
    return xrt_memory_new(own, d, size, group);
}

/* The host's side of m is what counts, so another memory is written from it. */
static int bring_there(const struct xrt_memory *m, const struct xrt_there *there, size_t offset, size_t size)
{
    int status = there->memory == m ? 0 : xrt_put(there->memory, there->at, m->host + offset, size);
    return status ? status : xrt_transfer(there->memory, there->at, size, true);
}

/* [lock] Tables do not change, so they are brought there once and as a whole. */
static int bring_tables(const struct xrt_memory *m, struct xrt_memory *there)
{
    int status = there->complete ? 0 : bring_there(m, &(struct xrt_there){ there, 0 }, 0, m->size);
    there->complete = !status;
    return status;
}

int xrt_memory_in(struct xrt_there *there, struct xrt_memory **own, struct xrt_memory *m, const struct xrt_use *use)
{
    pthread_rwlock_wrlock(&m->lock);
    int status = make_memory_ready(m, use->group, use->spread);
    const bool tables = m->tables.data != NULL, apart = own && m->at_host && m->group != use->group && !tables;
    there->at = apart ? 0 : use->offset;
    if (!status && apart)
        status = xrt_memory_room(own, m->device, use->size, use->group);
    else if (!status)
        status = find_copy(&there->memory, m, use->group);
    if (!status && apart)
        there->memory = *own;
    if (!status && use->bring && m->at_host)
        status = tables ? bring_tables(m, there->memory) : bring_there(m, there, use->offset, use->size);
    pthread_rwlock_unlock(&m->lock);
    return status;
}

int xrt_memory_settle(bool *at_host, struct xrt_memory *m, const struct xrt_use *use)
{
    pthread_rwlock_wrlock(&m->lock);
    int status = make_memory_ready(m, use->group, use->spread);
    *at_host = m->at_host;
    pthread_rwlock_unlock(&m->lock);
    return status;
}

bool xrt_memory_at_host(struct xrt_memory *m)
{
    pthread_rwlock_rdlock(&m->lock);
    bool at_host = m->at_host;
    pthread_rwlock_unlock(&m->lock);
    return at_host;
}

int xrt_memory_back(struct xrt_memory *m, const struct xrt_there *there, size_t offset, size_t size)
{
    pthread_rwlock_wrlock(&m->lock);
    /* Where the card's side counts, results stay on the card until they are read. */
    int status = m->at_host ? xrt_transfer(there->memory, there->at, size, false) : 0;
    if (!status && m != there->memory)
        status = xrt_put(m, offset, there->memory->host + there->at, size);
    pthread_rwlock_unlock(&m->lock);
    return status;
}

int xrt_memory_peek(void *bytes, struct xrt_memory *m, size_t offset, size_t size)
{
    pthread_rwlock_wrlock(&m->lock);
    int status = m->at_host ? 0 : xrt_transfer(m, offset, size, false);
    if (!status && !card_enter())
        status = xrt_ends();
    else if (!status) {
        memcpy(bytes, m->host + offset, size);
        card_leave();
    }
    pthread_rwlock_unlock(&m->lock);
    return status;
}

/* --- As the HAL knows them --- */

/* Where it may go at first: of the card's own memories. */
static bool may_hold(const struct xclbin_memory *at, size_t size)
{
    return at->used && at->type != XCLBIN_HOST && at->kib >= size / 1024;
}

/* In the first memory of the card that has room; it moves when a compute unit needs it elsewhere. */
static int alloc_on_card(struct xrt_device *d, size_t size, hcy_block *block)
{
    const struct xclbin_memories *all = d->xclbin.memories;
    struct xrt_memory *m = NULL;
    int status = HCY_ENOMEM;
    uint64_t largest = 0;
    for (int32_t i = 0; status == HCY_ENOMEM && i < all->n; i++) {
        /* The search begins at the card's first memory and wraps around. */
        uint32_t group = (d->group + (uint32_t)i) % (uint32_t)all->n;
        if (may_hold(&all->list[group], size))
            status = xrt_memory_new(&m, d, size, group);
        /* Noted for the message, because a card's memory comes in pieces. */
        if (may_hold(&all->list[group], 0) && all->list[group].kib > largest)
            largest = all->list[group].kib;
    }
    if (status)
        return hcy_fail(status, "%s has no %zu bytes in one piece: the largest of its memories has %llu MiB",
                        hcy_device_get_info(d->dev)->name, size, (unsigned long long)largest / 1024);
    *block = (hcy_block){ .handle = m, .size = size };
    return 0;
}

static int alloc_pinned(struct xrt_device *d, size_t size, hcy_block *block)
{
    struct xrt_memory *m = new_record(d, size);
    void *host = m ? aligned_alloc(XRT_PAGE, m->size) : NULL;
    if (!host) {
        xrt_memory_free(m);
        return hcy_fail(HCY_ENOMEM, "there are no %zu bytes of memory", size);
    }
    m->host = host;
    m->at_host = true;
    *block = (hcy_block){ .handle = m, .host = host, .size = size };
    return 0;
}

/* Where the card reaches memory of the host's; elsewhere mapped memory is as pinned memory is. */
static int alloc_mapped(struct xrt_device *d, size_t size, hcy_block *block)
{
    uint32_t group = (uint32_t)d->host_group;
    struct xrt_memory *m = new_record(d, size);
    int status = m ? take_buffer(m, buffer_in(d, m->size, group), group) : HCY_ENOMEM;
    if (status) {
        xrt_memory_free(m);
        return status;
    }
    m->at_host = true;
    *block = (hcy_block){ .handle = m, .host = m->host, .size = size };
    return 0;
}

/* Its compute units read and write it where it is, if it is whole pages; else they get copies. */
int xrt_import_host(hcy_block *block, void *impl, void *host, size_t size)
{
    struct xrt_memory *m = new_record(impl, size);
    if (!m)
        return HCY_ENOMEM;
    xrt_hold(impl);
    /* Imported memory keeps its own size: pages that are not whole are not the card's to write. */
    m->size = size;
    m->host = host;
    m->at_host = m->users = true;
    *block = (hcy_block){ .handle = m, .host = host, .size = size };
    return 0;
}

void xrt_unimport(void *impl, hcy_block *block)
{
    xrt_memory_free(block->handle);
    xrt_let_go(impl);
}

int xrt_hangs(void *impl)
{
    const struct xrt_device *d = impl;
    return atomic_load(&d->hung);
}

static bool take_card_memory(struct xrt_device *d, size_t size)
{
    uint_least64_t used = atomic_load(&d->used);
    do
        if (used > d->memory || size > d->memory - used)
            return false;
    while (!atomic_compare_exchange_weak(&d->used, &used, used + size));
    return true;
}

/* [held] */
static int alloc_held(hcy_block *block, struct xrt_device *d, int mem, size_t size)
{
    if (mem == HCY_MEM_DEVICE && !take_card_memory(d, size))
        return hcy_fail(HCY_ENOMEM, "%s has no %zu bytes (%llu of %llu are in use)",
                        hcy_device_get_info(d->dev)->name, size, (unsigned long long)atomic_load(&d->used),
                        (unsigned long long)d->memory);
    /* Only device memory counts against the limit: the rest is the host's. */
    int status;
    if (mem == HCY_MEM_DEVICE)
        status = alloc_on_card(d, size, block);
    else if (mem == HCY_MEM_MAPPED && d->host_group >= 0)
        status = alloc_mapped(d, size, block);
    else
        status = alloc_pinned(d, size, block);
    if (status && mem == HCY_MEM_DEVICE)
        atomic_fetch_sub(&d->used, size);
    return status;
}

int xrt_alloc(hcy_block *block, void *impl, int mem, size_t size)
{
    xrt_hold(impl);
    int status = alloc_held(block, impl, mem, size);
    if (status)
        xrt_let_go(impl);
    return status;
}

void xrt_free(void *impl, int mem, hcy_block *block)
{
    struct xrt_device *d = impl;
    if (mem == HCY_MEM_DEVICE)
        atomic_fetch_sub(&d->used, block->size);
    xrt_memory_free(block->handle);
    xrt_let_go(d);
}
