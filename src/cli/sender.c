/* sender.c - see sender.h.
 *
 * Faults are by count, not by chance: the same recording with the same faults is the same stream, and a test knows
 * which images are missing. */
#include "sender.h"
#include "interrupt.h"
#include "timer.h"
#include <halcyon/stream.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTS = 16, TICK_MS = 100 };
#define MOST_WAIT 60.0 /* seconds that nobody takes a message */

struct sender_copy {
    hcy_span parts[PARTS];
    size_t n;
    uint8_t bytes[];
};

/* --- Faults of the command line --- */

int sender_parse_faults(struct sender_faults *f, const char *text)
{
    const struct {
        const char *name;
        uint64_t *every;
    } counts[] = { { "drop", &f->drop }, { "repeat", &f->repeat }, { "damage", &f->damage }, { "cut", &f->cut },
                   { "swap", &f->swap }, { "header", &f->header }, { "die", &f->die } };
    memset(f, 0, sizeof *f);
    while (text && *text) {
        size_t n = strcspn(text, ",="), found = 0;
        char *end = (char *)text + n;
        /* A word is a name up to its = or comma; only those with a number have an =. */
        for (size_t i = 0; text[n] == '=' && i < sizeof counts / sizeof counts[0]; i++)
            if (strlen(counts[i].name) == n && !strncmp(text, counts[i].name, n)) {
                long long every = strtoll(text + n + 1, &end, 10);
                *counts[i].every = every > 0 ? (uint64_t)every : 0;
                found = every > 0;
            }
        int header = n == 9 && !strncmp(text, "no-header", n), no_end = n == 6 && !strncmp(text, "no-end", n);
        f->no_header |= header;
        f->no_end |= no_end;
        /* A word that is not known, or has something behind its number, is told: a fault that is not made would pass
         * every test. */
        if ((!found && !header && !no_end) || (*end && *end != ','))
            return cli_usage("--faults '%s' is not valid: drop=N, repeat=N, damage=N, cut=N, swap=N, header=N (every N "
                             "images), die=N, no-header, no-end, with commas between them", text);
        text = *end ? end + 1 : end;
    }
    return CLI_OK;
}

/* --- Sending --- */

static struct sender_copy *copy_message(const hcy_span *parts, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += parts[i].size;
    /* One block for all parts, so that one free() ends a message wherever it waits. */
    struct sender_copy *copy = malloc(sizeof *copy + size);
    uint8_t *at = copy ? copy->bytes : NULL;
    for (size_t i = 0; copy && i < n; i++) {
        if (parts[i].size)
            memcpy(at, parts[i].data, parts[i].size);
        copy->parts[i] = (hcy_span){ at, parts[i].size };
        at += parts[i].size;
    }
    if (copy)
        copy->n = n;
    else
        cli_error("out of memory for a message");
    return copy;
}

/* Said once a wait, and without a terminal, too: whoever started the receiver may not look at its words. */
static void tell_gone(struct sender *s, int *told)
{
    if (*told || !s->sent || wire_others(s->wire) > 0)
        return;
    *told = 1;
    progress_clear(&s->progress);
    cli_note("%s: the receiver went away, and what it had not taken is lost; waiting up to %g s for another", s->address,
             MOST_WAIT);
}

/* Waits for whoever takes it, but not for ever. */
static int send_now(struct sender *s, const hcy_span *parts, size_t n)
{
    double since = timer_now();
    int told = 0;
    for (;;) {
        int sent = wire_send(s->wire, parts, n, TICK_MS);
        if (sent)
            progress_clear(&s->progress);
        /* A wait that a signal has ended looks like one in which nobody took the message. */
        if (sent < 0 || interrupt_came())
            return sent > 0 ? CLI_OK : CLI_FAILED;
        if (sent) {
            s->sent++;
            for (size_t i = 0; i < n; i++)
                s->bytes += parts[i].size;
            return CLI_OK;
        }
        tell_gone(s, &told);
        progress_say(&s->progress, s->sent ? "waiting for who receives at %s ..." : "waiting for a receiver at %s ...", s->address);
        if (timer_now() - since > MOST_WAIT)
            return cli_error("nobody took a message for %g s", MOST_WAIT);
    }
}

/* Until an image is due. */
static void keep_rate(struct sender *s)
{
    double now = timer_now();
    if (!(s->rate > 0))
        return;
    if (s->next <= 0)
        s->next = now;
    double wait = s->next - now;
    if (wait > 0) {
        struct timespec t = { (time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait)) };
        nanosleep(&t, NULL); /* a signal ends it */
    }
    /* Counted from when it was due, so that late images do not lower the rate. */
    s->next += 1 / s->rate;
}

static int is_hit(uint64_t every, uint64_t count)
{
    return every && count % every == 0;
}

/* The largest part, the image of v1, or the only one, with bytes in the middle turned over, or cut in half. */
static int send_damaged(struct sender *s, const hcy_span *parts, size_t n, int cut)
{
    struct sender_copy *copy = copy_message(parts, n);
    if (!copy)
        return CLI_FAILED;
    size_t largest = 0;
    for (size_t i = 1; i < n; i++)
        largest = copy->parts[i].size > copy->parts[largest].size ? i : largest;
    hcy_span *part = &copy->parts[largest];
    uint8_t *bytes = (uint8_t *)part->data;
    if (cut)
        part->size /= 2;
    for (size_t i = part->size / 2; !cut && i < part->size && i < part->size / 2 + 64; i++)
        bytes[i] = (uint8_t)~bytes[i];
    int status = send_now(s, copy->parts, n);
    free(copy);
    return status;
}

/* The one that waited, behind the one that overtook it. */
static int send_swapped(struct sender *s)
{
    struct sender_copy *copy = s->swapped;
    s->swapped = NULL;
    int status = copy ? send_now(s, copy->parts, copy->n) : CLI_OK;
    free(copy);
    return status;
}

static int send_image(struct sender *s, const hcy_span *parts, size_t n)
{
    const struct sender_faults *f = &s->faults;
    uint64_t count = ++s->images;
    int status = CLI_OK;
    keep_rate(s);
    /* From here on nothing more goes out, not even the series' end: that is what a crash looks like. */
    if (f->die && count > f->die) {
        s->is_dead = 1;
        return CLI_OK;
    }
    if (is_hit(f->swap, count) && !s->swapped)
        return (s->swapped = copy_message(parts, n)) ? CLI_OK : CLI_FAILED;
    if (is_hit(f->damage, count) || is_hit(f->cut, count))
        status = send_damaged(s, parts, n, is_hit(f->cut, count));
    else if (!is_hit(f->drop, count))
        status = send_now(s, parts, n);
    if (!status && is_hit(f->repeat, count))
        status = send_now(s, parts, n);
    if (!status)
        status = send_swapped(s);
    if (!status && is_hit(f->header, count) && s->header)
        status = send_now(s, s->header->parts, s->header->n);
    return status;
}

int sender_send(struct sender *s, const hcy_span *parts, size_t n)
{
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    /* What cannot be read is played again as it is. */
    int kind = hcy_stream_decode(&m, parts, n) ? HCY_STREAM_OTHER : m.kind;
    if (s->is_dead || n > PARTS)
        return CLI_OK;
    if (kind == HCY_STREAM_IMAGE)
        return send_image(s, parts, n);
    /* An image that waits to be overtaken still belongs in front of its series' end. */
    int status = send_swapped(s);
    if (kind == HCY_STREAM_START) {
        /* Kept for the fault that sends it again amid the images. */
        free(s->header);
        s->header = copy_message(parts, n);
    }
    if (status || (kind == HCY_STREAM_START && s->faults.no_header) || (kind == HCY_STREAM_END && s->faults.no_end))
        return status;
    return send_now(s, parts, n);
}

int sender_end(struct sender *s)
{
    int status = s->is_dead ? CLI_OK : send_swapped(s);
    free(s->header);
    free(s->swapped);
    s->header = s->swapped = NULL;
    return status;
}
