/* tally.c - see tally.h. */
#include "tally.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tally_begin(struct tally *t)
{
    memset(t, 0, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
}

void tally_end(struct tally *t)
{
    pthread_mutex_destroy(&t->lock);
    free(t->queue);
    t->queue = NULL;
}

/* --- Numbers --- */

static uint8_t *seen_byte(struct tally *t, uint64_t number, uint8_t *bit)
{
    *bit = (uint8_t)(1u << number % 8);
    return &t->seen[number % TALLY_WINDOW / 8];
}

enum tally_number tally_number(struct tally *t, uint64_t number)
{
    uint8_t bit;
    pthread_mutex_lock(&t->lock);
    uint64_t distinct = t->counts.distinct, highest = t->counts.highest;
    /* Those that a jump leaves out may come yet; their bits are those of numbers that have left the window. */
    uint64_t jump = distinct ? number > highest ? number - highest : 0 : TALLY_WINDOW;
    if (jump >= TALLY_WINDOW)
        memset(t->seen, 0, sizeof t->seen);
    for (uint64_t i = 1; i <= jump && jump < TALLY_WINDOW; i++) {
        uint8_t *byte = seen_byte(t, highest + i, &bit);
        *byte &= (uint8_t)~bit;
    }
    uint8_t *byte = seen_byte(t, number, &bit);
    enum tally_number verdict = TALLY_NEW;
    if (distinct && number < highest && highest - number >= TALLY_WINDOW)
        verdict = TALLY_OLD;
    else if (*byte & bit)
        verdict = TALLY_REPEATED;
    /* A number that is too old to be known is counted as repeated: doing a frame twice would be worse than leaving
     * it out. */
    if (verdict == TALLY_NEW) {
        *byte |= bit;
        t->counts.distinct++;
        t->counts.highest = !distinct || number > highest ? number : highest;
    } else {
        t->counts.repeated++;
    }
    pthread_mutex_unlock(&t->lock);
    return verdict;
}

uint64_t tally_missing(const struct tally_counts *counts, uint64_t announced)
{
    uint64_t last = counts->distinct ? counts->highest + 1 : 0, all = announced > last ? announced : last;
    return all - counts->distinct;
}

void tally_count(struct tally *t, uint64_t *counter)
{
    pthread_mutex_lock(&t->lock);
    ++*counter;
    pthread_mutex_unlock(&t->lock);
}

struct tally_counts tally_read(struct tally *t)
{
    pthread_mutex_lock(&t->lock);
    struct tally_counts counts = t->counts;
    pthread_mutex_unlock(&t->lock);
    return counts;
}

/* --- From submission to result --- */

/* [lock] A ring that is twice as large, or -1. */
static int grow_queue(struct tally *t)
{
    size_t room = t->room ? 2 * t->room : 256;
    struct tally_entry *more = malloc(room * sizeof *more);
    if (!more)
        return -1;
    /* The ring's wrap depends on its size, so entries are put in order from 0 on. */
    for (uint64_t i = 0; i < t->counts.waiting; i++)
        more[i] = t->queue[(t->first + i) % t->room];
    free(t->queue);
    t->queue = more;
    t->room = room;
    t->first = 0;
    return 0;
}

int tally_submit(struct tally *t, uint64_t number)
{
    pthread_mutex_lock(&t->lock);
    int status = t->counts.waiting == t->room ? grow_queue(t) : 0;
    if (!status)
        t->queue[(t->first + t->counts.waiting++) % t->room] = (struct tally_entry){ number, hcy_now_ns() };
    pthread_mutex_unlock(&t->lock);
    return status;
}

void tally_withdraw(struct tally *t)
{
    pthread_mutex_lock(&t->lock);
    /* Only one thread submits, so the newest entry is the one that was not taken. */
    t->counts.waiting--;
    pthread_mutex_unlock(&t->lock);
}

/* [lock] */
static void add_latency(struct tally *t, uint64_t ns)
{
    size_t bucket = ns > 1 ? (size_t)(log2((double)ns) * TALLY_STEPS) : 0;
    t->latency[bucket < TALLY_BUCKETS ? bucket : TALLY_BUCKETS - 1]++;
    t->n_latencies++;
}

void tally_result(struct tally *t, uint64_t number, int failed)
{
    uint64_t now = hcy_now_ns();
    pthread_mutex_lock(&t->lock);
    while (t->counts.waiting) {
        struct tally_entry entry = t->queue[t->first];
        t->first = (t->first + 1) % t->room;
        t->counts.waiting--;
        if (entry.number == number) {
            add_latency(t, now - entry.ns);
            break;
        }
        /* Results come in the order of submission, so an entry in front of this one will never have its own. */
        t->counts.dropped++;
    }
    t->counts.done++;
    t->counts.failed += (uint64_t)failed;
    pthread_mutex_unlock(&t->lock);
}

double tally_latency(struct tally *t, double part)
{
    uint64_t seen = 0;
    size_t i = 0;
    pthread_mutex_lock(&t->lock);
    for (; i < TALLY_BUCKETS && t->n_latencies; i++) {
        seen += t->latency[i];
        if (seen && (double)seen >= part * (double)t->n_latencies)
            break;
    }
    int none = !t->n_latencies;
    pthread_mutex_unlock(&t->lock);
    return none ? 0 : 1e-9 * exp2(((double)i + 0.5) / TALLY_STEPS);
}
