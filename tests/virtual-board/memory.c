/* memory.c - the memory of the virtual cards, and buffers in it.  Everything is called with board_lock held.
 *
 * Of the addresses that stand for a card only the pages of its buffers are mapped, so that a
 * kernel that leaves its buffers ends the process instead of reading what is there.  A new buffer is filled with
 * BOARD_POISON: what was not copied to the card shows up in the results.
 */
#define _GNU_SOURCE
#include "board.h"

#include "../../backends/xrt/xclbin_format.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint64_t whole_pages(uint64_t size)
{
    return (size + BOARD_PAGE - 1) / BOARD_PAGE * BOARD_PAGE;
}

int memory_open(struct card *card)
{
    card->span = 0;
    for (int i = 0; i < card->n_banks; i++)
        if (card->banks[i].there && card->banks[i].base + card->banks[i].size > card->span)
            card->span = card->banks[i].base + card->banks[i].size;
    void *p = mmap(NULL, card->span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    card->memory = p == MAP_FAILED ? NULL : p;
    return card->memory ? 0 : -ENOMEM;
}

void memory_close(struct card *card)
{
    for (int i = 0; i < card->n_banks; i++)
        while (card->banks[i].used) {
            struct range *r = card->banks[i].used;
            card->banks[i].used = r->next;
            free(r);
        }
    if (card->memory)
        munmap(card->memory, card->span);
    card->memory = NULL;
    card->n_banks = 0;
}

/* The first gap that is large enough. */
static int take(struct bank *bank, uint64_t size, uint64_t *address)
{
    struct range **at = &bank->used, *r;
    uint64_t begin = bank->base;
    for (; *at && (*at)->address - begin < size; at = &(*at)->next)
        begin = (*at)->address + (*at)->size;
    if (bank->base + bank->size - begin < size || !(r = malloc(sizeof *r)))
        return -ENOMEM;
    *r = (struct range){ *at, begin, size };
    *at = r;
    bank->taken += size;
    *address = begin;
    return 0;
}

static void give(struct bank *bank, uint64_t address)
{
    struct range **at = &bank->used, *r;
    while ((r = *at) && r->address != address)
        at = &r->next;
    if (r) {
        *at = r->next;
        bank->taken -= r->size;
        free(r);
    }
}

static int place_on_card(struct buffer *b)
{
    struct card *card = b->card;
    unsigned bank = ABI_MEMORY(b->flags);
    uint64_t size = whole_pages(b->size);
    if (!card->loaded || bank >= (unsigned)card->n_banks || !card->banks[bank].there)
        return -EINVAL;
    if (size < b->size || !share_take(card->index, (int)bank, size, card->banks[bank].size))
        return -ENOMEM;
    int error = take(&card->banks[bank], size, &b->address);
    if (error) {
        share_give(card->index, (int)bank, size);
        return error;
    }
    if (mprotect(card->memory + b->address, size, PROT_READ | PROT_WRITE)) {
        give(&card->banks[bank], b->address);
        share_give(card->index, (int)bank, size);
        return -ENOMEM;
    }
    b->bank = (int)bank;
    if (card->banks[bank].taken > card->most[bank])
        card->most[bank] = card->banks[bank].taken;
    memset(card->memory + b->address, BOARD_POISON, size);
    return 0;
}

static void take_from_card(struct buffer *b)
{
    struct card *card = b->card;
    if (b->bank < 0 || !card->memory)
        return;
    madvise(card->memory + b->address, whole_pages(b->size), MADV_DONTNEED);
    mprotect(card->memory + b->address, whole_pages(b->size), PROT_NONE);
    give(&card->banks[b->bank], b->address);
    share_give(card->index, b->bank, whole_pages(b->size));
}

static int give_host_side(struct buffer *b, void *user)
{
    b->host = user;
    if (user || b->flags & ABI_DEVICE_ONLY)
        return 0;
    b->host_size = whole_pages(b->size);
    b->host = mmap(NULL, b->host_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b->host != MAP_FAILED)
        return 0;
    b->host = NULL;
    return -ENOMEM;
}

/* Memory of the host's that a card may use has the host's address, seen from where the card's address 0 would be. */
static void address_of_host(struct buffer *b)
{
    if (b->flags & ABI_HOST_ONLY)
        b->address = (uint64_t)(uintptr_t)b->host - (uint64_t)(uintptr_t)b->card->memory;
}

int buffer_new(struct card *card, uint64_t size, uint32_t flags, void *user, struct buffer **out)
{
    struct buffer *b = calloc(1, sizeof *b);
    if (!b || !size || (!(flags & ABI_COMMAND) && board_strikes(&board_settings.fail_alloc))) {
        free(b);
        return size ? -ENOMEM : -EINVAL;
    }
    *b = (struct buffer){ .refs = 1, .card = card, .size = size, .flags = flags, .bank = -1 };
    int error = flags & (ABI_COMMAND | ABI_HOST_ONLY) ? 0 : place_on_card(b);
    if (!error)
        error = give_host_side(b, user);
    if (error) {
        take_from_card(b);
        free(b);
        return error;
    }
    address_of_host(b);
    *out = b;
    return 0;
}

void buffer_release(struct buffer *b)
{
    if (--b->refs)
        return;
    take_from_card(b);
    if (b->host_size)
        munmap(b->host, b->host_size);
    free(b);
}

void *buffer_map(struct buffer *b, size_t size)
{
    if (!b->host_size || size > b->host_size)
        return MAP_FAILED;
    return mremap(b->host, 0, whole_pages(size),
                  MREMAP_MAYMOVE); /* of length 0: another mapping of the same */
}

static bool within(const struct buffer *b, uint64_t offset, uint64_t size)
{
    return offset <= b->size && size <= b->size - offset;
}

int buffer_sync(struct buffer *b, uint64_t offset, uint64_t size, bool from_device)
{
    if (!b->host || !within(b, offset, size))
        return -EINVAL;
    if (b->bank < 0)
        return 0;
    *(from_device ? &b->card->bytes_from : &b->card->bytes_to) += size;
    unsigned char *card = b->card->memory + b->address + offset, *host = b->host + offset;
    b->refs++;
    pthread_mutex_unlock(&board_lock); /* as the card's copying does not keep others from asking */
    memcpy(from_device ? host : card, from_device ? card : host, size);
    pthread_mutex_lock(&board_lock);
    buffer_release(b);
    return 0;
}

int buffer_copy(struct buffer *to, uint64_t to_offset, struct buffer *from, uint64_t from_offset,
                uint64_t size)
{
    if (to->bank < 0 || from->bank < 0 || !within(to, to_offset, size) || !within(from, from_offset, size))
        return -EINVAL;
    memmove(to->card->memory + to->address + to_offset, from->card->memory + from->address + from_offset,
            size);
    return 0;
}

unsigned char *card_memory(struct card *card, uint64_t address, uint64_t size)
{
    for (int i = 0; i < card->n_banks; i++)
        for (struct range *r = card->banks[i].used; r; r = r->next)
            if (address >= r->address && address - r->address < r->size &&
                size <= r->size - (address - r->address))
                return card->memory + address;
    return NULL;
}
