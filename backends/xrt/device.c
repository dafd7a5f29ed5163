/* device.c - opening and closing FPGA cards.  Thread-safe.
 *
 * A device is "xrt:N", cards counted by their addresses, or "xrt:ADDRESS" ("xrt:0000:3b:00.1"), with options:
 *   xclbin=FILE      the program (else the first that fits in HALCYON_XCLBIN_PATH)
 *   timeout-ms=N     a run that takes longer is taken for hung, and the device for lost (60000)
 *   memory=BYTES     a limit for its buffers
 */
#include "xrt_priv.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    const char *xclbin;
    int64_t timeout_ms;
    uint64_t memory;
};

static const hcy_option options[] = {
    { "xclbin", HCY_OPTION_STRING, offsetof(struct settings, xclbin), "the file of its program", 0, 0, NULL },
    { "timeout-ms", HCY_OPTION_INT, offsetof(struct settings, timeout_ms), "until a run is taken for hung", 1, INT_MAX,
      NULL },
    { "memory", HCY_OPTION_SIZE, offsetof(struct settings, memory), "a limit for its buffers", 0, 0, NULL },
    { .key = NULL },
};

static int select_card(const hcy_spec *spec, struct xrt_found *card, size_t *number)
{
    struct xrt_found found[XRT_MOST_CARDS];
    const char *s = *spec->selector ? spec->selector : "0";
    size_t n = xrt_find(found);
    for (size_t i = 0; i < n; i++) {
        char text[24];
        snprintf(text, sizeof text, "%zu", i);
        /* Cards are listed in the order of their addresses, so both names mean the same card from call to
         * call. */
        if (!strcmp(s, text) || !strcmp(s, found[i].bdf)) {
            *card = found[i];
            *number = i;
            return found[i].ready
                       ? 0
                       : hcy_fail(HCY_ENODEV,
                                  "FPGA card %s is not ready: its driver has lost it, or not started it yet",
                                  found[i].bdf);
        }
    }
    return hcy_fail(HCY_ENODEV, "\"%s\": there is no such FPGA card (%zu here; `halcyon devices` names them)",
                    spec->text, n);
}

static int check_program(const struct xclbin *x, const char *platform, const char *bdf, const char *file)
{
    return strcmp(x->head->platform, platform) ? hcy_fail(HCY_EINVAL, "%s is for cards \"%s\", %s is a \"%s\"", file,
                                                          x->head->platform, bdf, platform)
                                               : xclbin_check(x, file);
}

static int read_program(struct xclbin *x, const struct xrt_found *card, const char *wish)
{
    char path[800];
    int status = wish ? 0 : xclbin_search(card->platform, path, sizeof path);
    if (status)
        return status;
    /* The user's own file is taken or refused; no other is searched for in its place. */
    const char *file = wish ? wish : path;
    status = xclbin_read(x, file);
    return status ? status : check_program(x, card->platform, card->bdf, file);
}

/* --- Cards that this process has opened --- */

static struct xrt_card {
    char bdf[20];
    void *handle;
    unsigned users;         /* devices */
    unsigned char uuid[16]; /* of the program, if there are users */
    bool lost;
} cards[XRT_MOST_CARDS];
static pthread_mutex_t cards_lock = PTHREAD_MUTEX_INITIALIZER;

static struct xrt_card *card_at(const char *bdf)
{
    struct xrt_card *c = cards;
    /* A card keeps its entry for the life of the process, and there are as many entries as cards are
     * listed. */
    while (c < cards + XRT_MOST_CARDS - 1 && *c->bdf && strcmp(c->bdf, bdf))
        c++;
    snprintf(c->bdf, sizeof c->bdf, "%s", bdf);
    return c;
}

static int program_card(struct xrt_card *c, const struct xclbin *x)
{
    if (c->lost)
        return hcy_fail(HCY_EBACKEND, "card %s was lost; it is unusable until the process ends", c->bdf);
    if (!c->handle)
        c->handle = card_open(c->bdf);
    if (!c->handle)
        return hcy_fail(HCY_EBACKEND, "XRT cannot open card %s", c->bdf);
    /* Loading another program would take it away under the devices that use it. */
    if (c->users && memcmp(c->uuid, x->head->uuid, sizeof c->uuid))
        return hcy_fail(HCY_EBUSY, "card %s is open with another program", c->bdf);
    if (!card_program(c->handle, x->head))
        return hcy_fail(
            HCY_EBUSY,
            "XRT does not load the program onto card %s: it does not take it, or another process uses the card with"
            " another one", c->bdf);
    /* The program is known by its UUID, which the next device on this card is held against. */
    memcpy(c->uuid, x->head->uuid, sizeof c->uuid);
    c->users++;
    return 0;
}

static int take_card(struct xrt_device *d, const char *bdf)
{
    pthread_mutex_lock(&cards_lock);
    struct xrt_card *c = card_at(bdf);
    int status = program_card(c, &d->xclbin);
    if (!status) {
        d->at = c;
        d->card = c->handle;
    }
    pthread_mutex_unlock(&cards_lock);
    return status;
}

static void give_card(struct xrt_device *d, bool lost)
{
    pthread_mutex_lock(&cards_lock);
    d->at->users -= !lost;
    /* A lost device still counts as a user, so that no other program is loaded while a run may be in
     * flight. */
    d->at->lost |= lost;
    pthread_mutex_unlock(&cards_lock);
}

/* --- Opening --- */

static void fill_card_info(struct xrt_device *d, const struct xrt_found *card, size_t number, const hcy_spec *spec,
                           hcy_device_info *info)
{
    const char *said = spec->text + strcspn(spec->text, "@");
    xrt_describe(info, card, number);
    size_t name = strlen(info->name), stable = strlen(info->stable);
    snprintf(info->name + name, sizeof info->name - name, "%s", said);
    snprintf(info->stable + stable, sizeof info->stable - stable, "%s", said);
    /* Only kernels count as units: an xclbin's table has the platform's own parts too. */
    info->units = 0;
    for (int32_t i = 0; i < d->xclbin.units->n; i++)
        info->units += d->xclbin.units->list[i].type == XCLBIN_KERNEL;
    info->memory = d->memory;
}

/* The first memory of the card's own. */
static uint32_t first_group(const struct xclbin *x)
{
    int32_t i = 0;
    /* The last memory is taken if none is the card's own: allocating there gives the message. */
    while (i + 1 < x->memories->n && (!x->memories->list[i].used || x->memories->list[i].type == XCLBIN_HOST))
        i++;
    return (uint32_t)i;
}

/* Memory of the host's that compute units may be connected to; -1: none. */
static int32_t host_group(const struct xclbin *x)
{
    int32_t i = 0;
    while (i < x->memories->n && (!x->memories->list[i].used || x->memories->list[i].type != XCLBIN_HOST))
        i++;
    return i < x->memories->n ? i : -1;
}

/* What the device's program says of the card's memory. */
static void take_memories(struct xrt_device *d)
{
    d->group = first_group(&d->xclbin);
    d->host_group = host_group(&d->xclbin);
    d->memory = d->most_memory ? d->most_memory : xclbin_memory(&d->xclbin);
}

int xrt_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec)
{
    struct settings s = { .timeout_ms = 60000 };
    struct xrt_found card;
    size_t number = 0;
    /* Steps go from what is cheap to check to what changes the card. */
    int status = hcy_options_read(&s, spec, options);
    struct xrt_device *d = status ? NULL : calloc(1, sizeof *d);
    if (!status && !d)
        status = hcy_fail(HCY_ENOMEM, "out of memory for a device");
    if (!status)
        status = select_card(spec, &card, &number);
    if (!status)
        status = read_program(&d->xclbin, &card, s.xclbin);
    if (!status)
        status = take_card(d, card.bdf);
    if (status) {
        if (d)
            xclbin_free(&d->xclbin);
        free(d);
        return status;
    }
    d->dev = dev;
    d->timeout_ms = (unsigned)s.timeout_ms;
    d->most_memory = s.memory;
    pthread_mutex_init(&d->lock, NULL);
    take_memories(d);
    fill_card_info(d, &card, number, spec, info);
    *impl = d;
    return 0;
}

void xrt_close(void *impl)
{
    struct xrt_device *d = impl;
    give_card(d, false);
    xclbin_free(&d->xclbin);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* --- Its program --- */

void xrt_hold(struct xrt_device *d)
{
    pthread_mutex_lock(&d->lock);
    d->holders++;
    pthread_mutex_unlock(&d->lock);
}

void xrt_let_go(struct xrt_device *d)
{
    pthread_mutex_lock(&d->lock);
    d->holders--;
    pthread_mutex_unlock(&d->lock);
}

/* [cards_lock] Another program on the card of a device that alone has it. */
static int replace_program(struct xrt_card *c, const struct xclbin *x)
{
    if (c->users > 1)
        return hcy_fail(HCY_EBUSY, "card %s is open as another device as well, with another program", c->bdf);
    c->users = 0;
    int status = program_card(c, x);
    if (status)
        c->users = 1;
    return status;
}

/* [d->lock] */
static int load_program(struct xrt_device *d, struct xclbin *x)
{
    if (d->holders)
        return hcy_fail(HCY_EBUSY, "%s has another program, which its buffers, kernels and programs hold (%zu): create"
                                   " this one before them", hcy_device_get_info(d->dev)->name, d->holders);
    pthread_mutex_lock(&cards_lock);
    int status = replace_program(d->at, x);
    pthread_mutex_unlock(&cards_lock);
    if (status)
        return status;
    /* Nobody looks at the old one any more, since nobody holds it. */
    struct xclbin old = d->xclbin;
    d->xclbin = *x;
    *x = old;
    take_memories(d);
    return 0;
}

int xrt_use_program(struct xrt_device *d, const void *bytes, size_t size)
{
    struct xclbin x;
    int status = xclbin_copy(&x, bytes, size);
    if (status)
        return status;
    /* What is kept for the next allocation holds the program that is there. */
    status = hcy_device_pool_trim(d->dev);
    pthread_mutex_lock(&d->lock);
    if (!status)
        status = check_program(&x, d->xclbin.head->platform, d->at->bdf, "the program");
    if (!status && memcmp(d->xclbin.head->uuid, x.head->uuid, sizeof x.head->uuid))
        status = load_program(d, &x);
    d->holders += !status;
    pthread_mutex_unlock(&d->lock);
    xclbin_free(&x);
    return status;
}

int xrt_lose(struct xrt_device *d, const char *what, int code)
{
    /* Threads that wait for a free run look at this and give up. */
    atomic_store(&d->lost, true);
    give_card(d, true);
    return hcy_device_lose(d->dev, "%s (XRT's state %d); the card is unusable until the process ends", what,
                           code);
}

int xrt_get_i64(int64_t *value, void *impl, const char *key)
{
    static const char *const places[] = { "pci_domain", "pci_bus", "pci_device" };
    struct xrt_device *d = impl;
    unsigned at[3];
    for (int i = 0; i < 3; i++)
        if (!strcmp(key, places[i]) && sscanf(d->at->bdf, "%x:%x:%x", &at[0], &at[1], &at[2]) == 3) {
            *value = at[i];
            return 0;
        }
    if (!strcmp(key, "memories")) {
        xrt_hold(d);
        *value = d->xclbin.memories->n;
        xrt_let_go(d);
    } else if (!strcmp(key, "timeout_ms"))
        *value = d->timeout_ms;
    else
        return hcy_fail(HCY_ENOENT, "an FPGA card has no number \"%s\" (memories, timeout_ms, pci_domain, pci_bus, pci_device)", key);
    return 0;
}

int xrt_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl)
{
    struct xrt_device *d = impl;
    uint64_t used = atomic_load(&d->used);
    xrt_hold(d);
    *total_bytes = d->memory;
    xrt_let_go(d);
    /* XRT does not say how much of a memory is free, so our own count does. */
    *free_bytes = used < *total_bytes ? *total_bytes - used : 0;
    return 0;
}
