/* tally.h - what became of a series' frames: which numbers came, how many of them were left out and why, and how long
 * those took that were not.
 *
 * Who receives calls tally_number() and tally_submit(), the pipeline's sink tally_result(): all under one lock of the
 * tally's, held for a few operations. */
#ifndef HCY_CLI_TALLY_H
#define HCY_CLI_TALLY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_WINDOW = 1 << 16, TALLY_STEPS = 32, TALLY_BUCKETS = 64 * TALLY_STEPS };
enum tally_number { TALLY_NEW, TALLY_REPEATED, TALLY_OLD }; /* OLD: so far behind that nobody knows */

struct tally_counts {
    uint64_t received;  /* messages with an image of this series, those below included */
    uint64_t skipped;   /* left out by --every */
    uint64_t dropped;   /* by --overflow drop-oldest */
    uint64_t repeated;  /* numbers that had come before, or are out of reach */
    uint64_t malformed; /* images that could not be used, other messages that could not be read */
    uint64_t waiting, done, failed;
    uint64_t distinct, highest; /* numbers that came; the largest, where there is one */
};

struct tally {
    pthread_mutex_t lock;
    struct tally_counts counts;           /* [lock] */
    uint8_t seen[TALLY_WINDOW / 8];       /* the last numbers up to the highest, one bit each; the receiver's */
    struct tally_entry { uint64_t number, ns; } *queue; /* [lock] a ring of `room`: submitted, without a result yet */
    size_t room, first;
    uint64_t latency[TALLY_BUCKETS], n_latencies; /* [lock] */
};

void tally_begin(struct tally *tally);
void tally_end(struct tally *tally);
enum tally_number tally_number(struct tally *tally, uint64_t number);
/* One more of what a counter counts: &tally->counts.skipped. */
void tally_count(struct tally *tally, uint64_t *counter);
/* Before a frame is submitted; tally_withdraw() if that fails.  0, or -1: no memory. */
int tally_submit(struct tally *tally, uint64_t number);
void tally_withdraw(struct tally *tally);
/* A frame has its result; those before it that have none were dropped.  Results come in the order of submission. */
void tally_result(struct tally *tally, uint64_t number, int failed);
/* A copy; how many of `announced` (0: not known) numbers have not come. */
struct tally_counts tally_read(struct tally *tally);
uint64_t tally_missing(const struct tally_counts *counts, uint64_t announced);
/* Seconds within which `part` of the frames had their result, to 3 in 100; 0: none had. */
double tally_latency(struct tally *tally, double part);

#endif
