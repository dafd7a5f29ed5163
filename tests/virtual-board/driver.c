/* driver.c - what the kernel's driver would do: opened cards, and the requests of ioctl() on them.
 *
 * Called with board_lock held, but for client_open() and client_close(), which take it.
 */
#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define MOST_BUFFERS 65536u

pthread_mutex_t board_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t board_work = PTHREAD_COND_INITIALIZER, board_done = PTHREAD_COND_INITIALIZER;
struct card board_cards[BOARD_MAX];
struct client *board_clients;

struct client *client_of(int fd)
{
    struct client *c = board_clients;
    while (c && c->fd != fd)
        c = c->next;
    return c;
}

int client_open(int index)
{
    struct client *c = calloc(1, sizeof *c);
    int fd = c && !board_cards[index].gone && !share_gone(index) ? memfd_create("virtual-board", MFD_CLOEXEC) : -1;
    if (fd < 0) {
        free(c);
        errno = c ? ENODEV : ENOMEM;
        return -1;
    }
    c->fd = fd;
    c->card = &board_cards[index];
    pthread_mutex_lock(&board_lock);
    c->next = board_clients;
    board_clients = c;
    pthread_mutex_unlock(&board_lock);
    return fd;
}

void client_close(struct client *c)
{
    struct client **at = &board_clients;
    pthread_mutex_lock(&board_lock);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    units_forget(c);
    c->card->n_contexts -= c->n_whole;
    for (int i = 0; i < c->n_whole; i++)
        share_context(c->card->index, -1, -1, false);
    for (int i = 0; i < BOARD_UNITS; i++)
        if (c->has[i]) {
            c->card->n_contexts--;
            share_context(c->card->index, i, -1, false);
        }
    for (uint32_t h = 1; h < c->n_buffers; h++)
        if (c->buffers[h])
            buffer_release(c->buffers[h]);
    c->closed = true;
    pthread_cond_broadcast(&board_done);
    if (!c->pollers)
        client_free(c);
    pthread_mutex_unlock(&board_lock);
}

void client_free(struct client *c)
{
    free(c->buffers);
    free(c);
}

/* --- Buffers --- */

struct buffer *client_buffer(struct client *c, uint32_t handle)
{
    return handle && handle < c->n_buffers ? c->buffers[handle] : NULL;
}

/* A free handle, 0 if there is none. */
static uint32_t new_handle(struct client *c)
{
    uint32_t h = 1;
    while (h < c->n_buffers && c->buffers[h])
        h++;
    if (h < c->n_buffers)
        return h;
    uint32_t n = c->n_buffers ? 2 * c->n_buffers : 64;
    struct buffer **more = n <= MOST_BUFFERS ? realloc(c->buffers, n * sizeof *more) : NULL;
    if (!more)
        return 0;
    memset(more + c->n_buffers, 0, (n - c->n_buffers) * sizeof *more);
    c->buffers = more;
    h = c->n_buffers ? c->n_buffers : 1;
    c->n_buffers = n;
    return h;
}

static int add_buffer(struct client *c, uint64_t size, uint32_t flags, void *user, uint32_t *handle)
{
    uint32_t h = new_handle(c);
    int error = h ? buffer_new(c->card, size, flags, user, &c->buffers[h]) : -ENOMEM;
    if (!error)
        *handle = h;
    return error;
}

static int create_buffer(struct client *c, void *argument)
{
    struct abi_create *a = argument;
    return add_buffer(c, a->size, a->flags, NULL, &a->handle);
}

static int user_buffer(struct client *c, void *argument)
{
    struct abi_user *a = argument;
    return add_buffer(c, a->size, a->flags, (void *)(uintptr_t)a->address, &a->handle);
}

static int close_buffer(struct client *c, void *argument)
{
    uint32_t handle = *(const uint32_t *)argument;
    struct buffer *b = client_buffer(c, handle);
    if (!b)
        return -EINVAL;
    c->buffers[handle] = NULL;
    buffer_release(b);
    return 0;
}

static int map_buffer(struct client *c, void *argument)
{
    struct abi_map *a = argument;
    struct buffer *b = client_buffer(c, a->handle);
    if (!b || !b->host_size)
        return b ? -EINVAL : -ENOENT;
    a->offset = (uint64_t)a->handle << 32;
    return 0;
}

static int sync_buffer(struct client *c, void *argument)
{
    const struct abi_sync *a = argument;
    struct buffer *b = client_buffer(c, a->handle);
    return b ? buffer_sync(b, a->offset, a->size, a->from_device) : -ENOENT;
}

static int info_buffer(struct client *c, void *argument)
{
    struct abi_info *a = argument;
    const struct buffer *b = client_buffer(c, a->handle);
    if (!b)
        return -ENOENT;
    a->flags = b->flags;
    a->size = b->size;
    a->address = b->bank >= 0 || b->flags & ABI_HOST_ONLY ? b->address : UINT64_MAX;
    return 0;
}

/* The host's side of a buffer, or card memory at an address, and the caller's data. */
static int transfer(unsigned char *there, const struct abi_transfer *a, bool write)
{
    void *data = (void *)(uintptr_t)a->data;
    if (!there)
        return -EINVAL;
    memcpy(write ? there : data, write ? data : there, a->size);
    return 0;
}

static int transfer_buffer(struct client *c, const struct abi_transfer *a, bool write)
{
    const struct buffer *b = client_buffer(c, a->handle);
    bool inside = b && b->host && a->offset <= b->size && a->size <= b->size - a->offset;
    return transfer(inside ? b->host + a->offset : NULL, a, write);
}

static int write_buffer(struct client *c, void *argument)
{
    return transfer_buffer(c, argument, true);
}

static int read_buffer(struct client *c, void *argument)
{
    return transfer_buffer(c, argument, false);
}

static int write_memory(struct client *c, void *argument)
{
    const struct abi_transfer *a = argument;
    return transfer(card_memory(c->card, a->offset, a->size), a, true);
}

static int read_memory(struct client *c, void *argument)
{
    const struct abi_transfer *a = argument;
    return transfer(card_memory(c->card, a->offset, a->size), a, false);
}

/* --- Programs, contexts, commands --- */

static int load(struct client *c, void *argument)
{
    return card_load(c->card, ((const struct abi_load *)argument)->xclbin);
}

static bool held_by_another(const struct client *c, uint32_t unit)
{
    for (const struct client *o = board_clients; o; o = o->next)
        if (o != c && o->card == c->card && o->has[unit])
            return true;
    return false;
}

static int context(struct client *c, void *argument)
{
    const struct abi_context *a = argument;
    int change = a->operation == 0 ? 1 : -1;
    if (a->operation > 1)
        return -EOPNOTSUPP;
    if (!c->card->loaded || memcmp(a->uuid, c->card->uuid, sizeof a->uuid) ||
        !share_loaded(c->card->index, a->uuid))
        return -EBUSY;
    if (a->unit == ABI_NO_UNIT) {
        if (c->n_whole + change < 0)
            return -EINVAL;
        if (!share_context(c->card->index, -1, change, false))
            return -EBUSY;
        c->n_whole += change;
    } else {
        if (a->unit >= (uint32_t)c->card->n_units || c->has[a->unit] == (change > 0))
            return -EINVAL;
        if (change > 0 && a->flags & ABI_EXCLUSIVE && held_by_another(c, a->unit))
            return -EBUSY;
        if (!share_context(c->card->index, (int)a->unit, change, a->flags & ABI_EXCLUSIVE))
            return -EBUSY;
        c->has[a->unit] = change > 0;
    }
    c->card->n_contexts += change;
    return 0;
}

static int execute(struct client *c, void *argument)
{
    struct buffer *packet = client_buffer(c, ((const struct abi_execute *)argument)->buffer);
    return packet ? units_submit(c, packet) : -ENOENT;
}

static int nothing(struct client *c, void *argument)
{
    (void)c;
    (void)argument;
    return 0;
}

int client_request(struct client *c, unsigned long request, void *argument)
{
    static const struct {
        unsigned number;
        int (*answer)(struct client *c, void *argument);
    } requests[] = {
        { ABI_VERSION, nothing },
        { ABI_CLOSE_BUFFER, close_buffer },
        { ABI_CREATE_BUFFER, create_buffer },
        { ABI_USER_BUFFER, user_buffer },
        { ABI_MAP_BUFFER, map_buffer },
        { ABI_SYNC_BUFFER, sync_buffer },
        { ABI_INFO_BUFFER, info_buffer },
        { ABI_WRITE_BUFFER, write_buffer },
        { ABI_READ_BUFFER, read_buffer },
        { ABI_WRITE_MEMORY, write_memory },
        { ABI_READ_MEMORY, read_memory },
        { ABI_CONTEXT, context },
        { ABI_EXECUTE, execute },
        { ABI_LOAD, load },
    };
    if (!c->card->gone && share_gone(c->card->index))
        card_lose(c->card);
    /* Of a card that is gone one may still let go. */
    if (c->card->gone && _IOC_NR(request) != ABI_CLOSE_BUFFER && _IOC_NR(request) != ABI_CONTEXT &&
        _IOC_NR(request) != ABI_INFO_BUFFER)
        return -ENODEV;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        if (requests[i].number == _IOC_NR(request))
            return requests[i].answer(c, argument);
    return -EOPNOTSUPP;
}
