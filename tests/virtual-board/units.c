/* units.c - the compute units: a thread each, which takes the commands given to it in their order.
 *
 * A command is a packet in a buffer: which units may take it, then the registers.  Its end is written into the packet
 * and counted for whoever polls.  Everything is called with board_lock held; a kernel runs without it.
 */
#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct command {
    struct command *next;
    struct client *client;
    struct buffer *packet;
    bool running;
};

static void end(struct client *client, struct buffer *packet, unsigned state)
{
    _Atomic uint32_t *head = (_Atomic uint32_t *)(void *)packet->host;
    *head = (*head & ~15u) | state;
    client->events++;
    pthread_cond_broadcast(&board_done);
}

/* The first command of the unit is at its end. */
static void end_first(struct unit *u, unsigned state)
{
    struct command *c = u->queue;
    u->queue = c->next;
    u->depth--;
    u->runs++;
    end(c->client, c->packet, state);
    buffer_release(c->packet);
    free(c);
}

/* The arguments, from the register map behind the masks; word 0 of it is the kernel's control register. */
static void read_registers(const struct unit *u, const struct buffer *packet, uint64_t *args)
{
    const uint32_t *words = (const uint32_t *)(const void *)packet->host;
    uint32_t masks = 1 + ABI_MASKS(words[0]), n = ABI_WORDS(words[0]);
    for (size_t i = 0; i < u->n_args; i++) {
        size_t at = masks + u->offsets[i] / 4, end = at + 1 + u->wide[i];
        args[i] = end <= n ? words[1 + at] | (u->wide[i] ? (uint64_t)words[2 + at] << 32 : 0) : 0;
    }
}

static void sleep_us(long us)
{
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };
    nanosleep(&t, NULL);
}

static void run_first(struct unit *u)
{
    uint64_t args[BOARD_ARGS];
    struct command *c = u->queue;
    bool fault = board_strikes(&board_settings.fault_run), lose = board_strikes(&board_settings.lose_run);
    if (board_strikes(&board_settings.hang_run)) {
        u->hangs = true; /* for good: the command stays where it is */
        return;
    }
    if (lose)
        card_lose(u->card);
    if (fault || u->card->gone) {
        end_first(u, fault ? ABI_ERROR : ABI_ABORTED);
        return;
    }
    read_registers(u, c->packet, args);
    c->running = true;
    pthread_mutex_unlock(&board_lock);
    if (board_settings.latency_us)
        sleep_us(board_settings.latency_us);
    share_unit_take(u->card->index, (int)(u - u->card->units));
    u->run(u->card->memory, args);
    share_unit_give(u->card->index, (int)(u - u->card->units));
    pthread_mutex_lock(&board_lock);
    end_first(u, ABI_COMPLETED);
}

static void *work(void *unit)
{
    struct unit *u = unit;
    pthread_mutex_lock(&board_lock);
    while (u->run || u->queue)
        if (u->queue && !u->hangs)
            run_first(u);
        else
            pthread_cond_wait(&board_work, &board_lock);
    pthread_mutex_unlock(&board_lock);
    return NULL;
}

int units_start(struct card *card)
{
    for (int i = 0; i < card->n_units; i++)
        if (pthread_create(&card->units[i].thread, NULL, work, &card->units[i])) {
            card->n_units = i;
            return -ENOMEM;
        }
    return 0;
}

/* No context is open, so nothing is queued. */
void units_stop(struct card *card)
{
    for (int i = 0; i < card->n_units; i++)
        card->units[i].run = NULL;
    pthread_cond_broadcast(&board_work);
    for (int i = 0; i < card->n_units; i++) {
        pthread_mutex_unlock(&board_lock);
        pthread_join(card->units[i].thread, NULL);
        pthread_mutex_lock(&board_lock);
    }
    card->n_units = 0;
}

/* --- Commands --- */

static struct unit *choose(struct client *c, const uint32_t *words)
{
    struct unit *best = NULL;
    for (int i = 0; i < c->card->n_units; i++) {
        struct unit *u = &c->card->units[i];
        bool wanted = i / 32 <= (int)ABI_MASKS(words[0]) && words[1 + i / 32] >> i % 32 & 1;
        if (wanted && c->has[i] &&
            (!best || u->depth < best->depth || (u->depth == best->depth && u->runs < best->runs)))
            best = u;
    }
    return best;
}

static int start(struct client *c, struct buffer *packet)
{
    uint32_t *words = (uint32_t *)(void *)packet->host;
    struct unit *u = choose(c, words);
    struct command *command = u ? calloc(1, sizeof *command) : NULL;
    if (!command)
        return u ? -ENOMEM : -EINVAL;
    command->client = c;
    command->packet = packet;
    packet->refs++;
    words[0] = (words[0] & ~15u) | ABI_QUEUED;
    struct command **last = &u->queue;
    while (*last)
        last = &(*last)->next;
    *last = command;
    u->depth++;
    pthread_cond_broadcast(&board_work);
    return 0;
}

static int copy(struct client *c, struct buffer *packet)
{
    const struct abi_copy *k = (const struct abi_copy *)(const void *)packet->host;
    struct buffer *to = client_buffer(c, k->destination), *from = client_buffer(c, k->source);
    uint64_t to_offset = k->destination_offset[0] | (uint64_t)k->destination_offset[1] << 32,
             from_offset = k->source_offset[0] | (uint64_t)k->source_offset[1] << 32;
    int error = to && from ? buffer_copy(to, to_offset, from, from_offset, k->size[0]) : -EINVAL;
    if (!error)
        end(c, packet, ABI_COMPLETED);
    return error;
}

/* Takes commands out of a unit's queue: those of a client, or the one in `packet`; what runs stays. */
static void drop(struct unit *u, const struct client *c, const struct buffer *packet)
{
    for (struct command **at = &u->queue; *at;) {
        struct command *k = *at;
        if (k->client != c || (packet && k->packet != packet) || k->running) {
            at = &k->next;
            continue;
        }
        if (k == u->queue)
            u->hangs = false;
        *at = k->next;
        u->depth--;
        end(k->client, k->packet, ABI_ABORTED);
        buffer_release(k->packet);
        free(k);
    }
}

static int abort_command(struct client *c, struct buffer *packet)
{
    const struct abi_abort *k = (const struct abi_abort *)(const void *)packet->host;
    struct buffer *which = client_buffer(c, (uint32_t)k->buffer);
    for (int i = 0; which && i < c->card->n_units; i++)
        drop(&c->card->units[i], c, which);
    end(c, packet, ABI_COMPLETED);
    return 0;
}

int units_submit(struct client *c, struct buffer *packet)
{
    if (!(packet->flags & ABI_COMMAND) || packet->size < 4096)
        return -EINVAL;
    switch (ABI_OPCODE(*(const uint32_t *)(const void *)packet->host)) {
    case ABI_START:
        return start(c, packet);
    case ABI_COPY:
        return copy(c, packet);
    case ABI_ABORT:
        return abort_command(c, packet);
    case ABI_CONFIGURE:
    case ABI_STATISTICS:
        end(c, packet, ABI_COMPLETED);
        return 0;
    default:
        return -EOPNOTSUPP;
    }
}

void units_forget(struct client *c)
{
    for (int i = 0; i < c->card->n_units; i++) {
        struct unit *u = &c->card->units[i];
        drop(u, c, NULL);
        while (u->queue && u->queue->client == c)
            pthread_cond_wait(&board_done, &board_lock);
    }
}

/* What waits and what hangs ends at once; what runs, at its end. */
void card_lose(struct card *card)
{
    card->gone = true;
    share_lose(card->index);
    files_lost(card);
    for (int i = 0; i < card->n_units; i++)
        card->units[i].hangs = false;
    pthread_cond_broadcast(&board_work);
    pthread_cond_broadcast(&board_done);
}
