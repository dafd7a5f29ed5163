/* load.c - an xclbin on a card: its memories, its compute units, and as its bitstream the kernels, compiled for the
 * host.  Called with board_lock held.  Another xclbin may replace it while nobody holds a context.
 */
#define _GNU_SOURCE
#include "board.h"

#include "../../backends/xrt/xclbin_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct found {
    const void *data;
    size_t size;
};

static int find_section(const struct xclbin_head *h, uint32_t kind, struct found *found)
{
    for (uint32_t i = 0; i < h->n_sections; i++) {
        const struct xclbin_section *s = &h->sections[i];
        if (s->offset > h->length || s->size > h->length - s->offset)
            return -EINVAL;
        if (s->kind == kind) {
            *found = (struct found){ (const char *)h + s->offset, s->size };
            return 0;
        }
    }
    return -EINVAL;
}

/* The bitstream is a shared library; each card has a copy of its own. */
static int open_library(struct card *card, const struct found *bits)
{
    char path[64];
    int fd = memfd_create("bitstream", MFD_CLOEXEC);
    bool written = fd >= 0 && write(fd, bits->data, bits->size) == (ssize_t)bits->size;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    card->library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (fd >= 0)
        real_close(fd);
    if (!card->library && written)
        fprintf(stderr, "virtual board: the bitstream does not load: %s\n", dlerror());
    return card->library ? 0 : -EIO;
}

static int open_banks(struct card *card, const struct found *section)
{
    const struct xclbin_memories *m = section->data;
    if (m->n < 1 || m->n > BOARD_BANKS)
        return -EINVAL;
    for (int i = 0; i < m->n; i++)
        card->banks[i] = (struct bank){ .base = m->list[i].base,
                                        .size = m->list[i].kib * 1024,
                                        .there = m->list[i].used && m->list[i].type != XCLBIN_HOST };
    card->n_banks = m->n;
    return memory_open(card);
}

/* Where the arguments' registers are, as the metadata say (in the form that mkxclbin writes). */
static int set_registers(struct unit *u, const char *kernel, const struct found *xml)
{
    char word[80], qualifier;
    unsigned size, offset;
    snprintf(word, sizeof word, "<kernel name=\"%.60s\"", kernel);
    const char *at = memmem(xml->data, xml->size, word, strlen(word)), *end = (const char *)xml->data + xml->size;
    const char *last = at ? memmem(at, (size_t)(end - at), "</kernel>", 9) : NULL;
    while (last && u->n_args < BOARD_ARGS && (at = memmem(at, (size_t)(last - at), "<arg ", 5)) != NULL) {
        if (sscanf(at, "<arg name=\"%*[^\"]\" addressQualifier=\"%c\" id=\"%*[^\"]\" port=\"%*[^\"]\""
                       " size=\"%x\" offset=\"%x\"", &qualifier, &size, &offset) != 3)
            return -EINVAL;
        u->offsets[u->n_args] = offset;
        u->wide[u->n_args++] = size > 4;
        at += 5;
    }
    return last ? 0 : -EINVAL;
}

static int set_unit(struct card *card, struct unit *u, const char *name, const struct found *xml)
{
    const hcy_hls_kernel *k = dlsym(card->library, "hcy_hls_kernels");
    size_t n = strcspn(name, ":");
    while (k && k->name && (strlen(k->name) != n || strncmp(k->name, name, n) != 0))
        k++;
    *u = (struct unit){ .card = card };
    if (!k || !k->name || set_registers(u, k->name, xml)) {
        fprintf(stderr, "virtual board: the bitstream has no kernel for %s\n", name);
        return -EINVAL;
    }
    u->run = k->run;
    snprintf(u->name, sizeof u->name, "%s", name);
    return 0;
}

static int open_units(struct card *card, const struct found *section, const struct found *xml)
{
    const struct xclbin_units *units = section->data;
    int error = units->n < 1 || units->n > BOARD_UNITS ? -EINVAL : 0, n = 0;
    for (int i = 0; !error && i < units->n; i++)
        if (units->list[i].type == XCLBIN_KERNEL)
            error = set_unit(card, &card->units[n++], units->list[i].name, xml);
    if (error)
        return error;
    card->n_units = n;
    return units_start(card);
}

static void unload(struct card *card)
{
    units_stop(card);
    memory_close(card);
    if (card->library)
        dlclose(card->library);
    card->library = NULL;
    card->loaded = false;
}

int card_load(struct card *card, const void *xclbin)
{
    const struct xclbin_head *h = xclbin;
    struct found bits, memories, units, xml;
    if (memcmp(h->magic, XCLBIN_MAGIC, sizeof h->magic))
        return -EINVAL;
    if (card->loaded && !memcmp(card->uuid, h->uuid, sizeof h->uuid))
        return share_load(card->index, h->uuid) ? 0 : -EBUSY;
    if (card->n_contexts)
        return -EBUSY;
    if (strncmp(h->platform, board_settings.platform->vbnv, sizeof h->platform))
        return -EOPNOTSUPP;
    if (find_section(h, XCLBIN_BITSTREAM, &bits) || find_section(h, XCLBIN_MEMORIES, &memories) ||
        find_section(h, XCLBIN_UNITS, &units) || find_section(h, XCLBIN_METADATA, &xml))
        return -EINVAL;
    if (!share_load(card->index, h->uuid))
        return -EBUSY;
    unload(card);
    int error = open_library(card, &bits);
    if (!error)
        error = open_banks(card, &memories);
    if (!error)
        error = open_units(card, &units, &xml);
    if (error) {
        unload(card);
        return error;
    }
    memcpy(card->uuid, h->uuid, sizeof card->uuid);
    card->loaded = true;
    files_loaded(card, memories.data, memories.size, units.data, units.size);
    return 0;
}
