/* memory.c - buffers on the card, each with a side on the host; their copies in other memories; pinned memory.
 *
 * Thread-safe, as far as commands on the same bytes are ordered by the user.  Pinned memory is the host's alone: it is
 * one end of copies, and no kernel sees it.
 */
#include "xrt_priv.h"

#include <stdlib.h>
#include <string.h>

static size_t whole_pages(size_t size)
{
    return (size + XRT_PAGE - 1) / XRT_PAGE * XRT_PAGE;
}

int xrt_memory_new(struct xrt_device *d, size_t size, uint32_t group, struct xrt_memory **out)
{
    struct xrt_memory *m = size <= SIZE_MAX - XRT_PAGE ? calloc(1, sizeof *m) : NULL;
    if (!m)
        return hcy_fail(HCY_ENOMEM, "out of memory for a buffer");
    *m = (struct xrt_memory){ .device = d, .size = whole_pages(size), .group = group };
    m->buffer = card_buffer(d->card, m->size, group);
    m->host = m->buffer ? card_buffer_host(m->buffer) : NULL;
    if (!m->host) {
        if (m->buffer)
            card_buffer_free(m->buffer);
        free(m);
        return hcy_fail(HCY_ENOMEM, "%s has no %zu bytes in its memory %u", hcy_device_get_info(d->dev)->name,
                        size, group);
    }
    pthread_mutex_init(&m->lock, NULL);
    *out = m;
    return 0;
}

void xrt_memory_free(struct xrt_memory *m)
{
    while (m) {
        struct xrt_memory *next = m->copies;
        if (!m->buffer)
            free(m->host);
        else if (!atomic_load(&m->device->hung))
            card_buffer_free(m->buffer);
        pthread_mutex_destroy(&m->lock);
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

/* Between two memories of the card, by way of the host. */
static int move(struct xrt_memory *to, struct xrt_memory *from, size_t offset, size_t size)
{
    int status = xrt_transfer(from, offset, size, false);
    if (status)
        return status;
    status = xrt_put(to, offset, from->host + offset, size);
    return status ? status : xrt_transfer(to, offset, size, true);
}

/* The copies hang one behind another, each in another memory. */
int xrt_memory_in(struct xrt_memory *m, uint32_t group, size_t offset, size_t size, bool copy,
                  struct xrt_memory **out)
{
    struct xrt_memory *c = m;
    int status = 0;
    pthread_mutex_lock(&m->lock);
    while (c->group != group && c->copies)
        c = c->copies;
    if (c->group != group && !(status = xrt_memory_new(m->device, m->size, group, &c->copies)))
        c = c->copies;
    if (!status && copy && c != m && !c->complete) {
        status = move(c, m, offset, size);
        c->complete = !status && m->tables.data;
    }
    pthread_mutex_unlock(&m->lock);
    *out = c;
    return status;
}

int xrt_memory_back(struct xrt_memory *m, struct xrt_memory *copy, size_t offset, size_t size)
{
    return m == copy ? 0 : move(m, copy, offset, size);
}

/* --- As the HAL knows them --- */

/* In the first memory of the card that has room. */
static int alloc_on_card(struct xrt_device *d, size_t size, hcy_block *block)
{
    const struct xclbin_memories *all = d->xclbin.memories;
    struct xrt_memory *m = NULL;
    int status = HCY_ENOMEM;
    for (int32_t i = 0; status == HCY_ENOMEM && i < all->n; i++) {
        uint32_t group = (d->group + (uint32_t)i) % (uint32_t)all->n;
        if (all->list[group].used && all->list[group].type != XCLBIN_HOST &&
            all->list[group].kib >= size / 1024)
            status = xrt_memory_new(d, size, group, &m);
    }
    if (status)
        return hcy_fail(status, "%s has no %zu bytes in one piece", hcy_device_get_info(d->dev)->name, size);
    *block = (hcy_block){ .handle = m, .address = card_address(m->buffer), .size = size };
    return 0;
}

static int alloc_pinned(struct xrt_device *d, size_t size, hcy_block *block)
{
    struct xrt_memory *m = size <= SIZE_MAX - XRT_PAGE ? calloc(1, sizeof *m) : NULL;
    void *host = m ? aligned_alloc(XRT_PAGE, whole_pages(size)) : NULL;
    if (!host) {
        free(m);
        return hcy_fail(HCY_ENOMEM, "there are no %zu bytes of memory", size);
    }
    *m = (struct xrt_memory){ .device = d, .host = host, .size = size };
    pthread_mutex_init(&m->lock, NULL);
    *block = (hcy_block){ .handle = m, .host = host, .size = size };
    return 0;
}

static bool take(struct xrt_device *d, size_t size)
{
    uint_least64_t used = atomic_load(&d->used);
    do
        if (used > d->memory || size > d->memory - used)
            return false;
    while (!atomic_compare_exchange_weak(&d->used, &used, used + size));
    return true;
}

int xrt_alloc(void *impl, int mem, size_t size, hcy_block *block)
{
    struct xrt_device *d = impl;
    if (mem == HCY_MEM_MAPPED)
        return hcy_fail(HCY_EUNSUPPORTED, "FPGA cards have no mapped memory");
    if (xrt_strikes(&d->fail_alloc) || (mem == HCY_MEM_DEVICE && !take(d, size)))
        return hcy_fail(HCY_ENOMEM, "%s has no %zu bytes (%llu of %llu are in use)",
                        hcy_device_get_info(d->dev)->name, size, (unsigned long long)atomic_load(&d->used),
                        (unsigned long long)d->memory);
    int status = mem == HCY_MEM_DEVICE ? alloc_on_card(d, size, block) : alloc_pinned(d, size, block);
    if (status && mem == HCY_MEM_DEVICE)
        atomic_fetch_sub(&d->used, size);
    return status;
}

void xrt_free(void *impl, int mem, hcy_block *block)
{
    struct xrt_device *d = impl;
    if (mem == HCY_MEM_DEVICE)
        atomic_fetch_sub(&d->used, block->size);
    xrt_memory_free(block->handle);
}
