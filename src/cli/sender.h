/* sender.h - messages sent at a rate, with what can happen to them on the way.  Single-threaded. */
#ifndef HCY_CLI_SENDER_H
#define HCY_CLI_SENDER_H

#include "progress.h"
#include "wire.h"

/* Every Nth image (0: none); what is done with it. */
struct sender_faults {
    uint64_t drop, repeat, damage, cut, swap, header; /* header: after every Nth image the header comes again */
    uint64_t die;                                     /* after so many images nothing is sent any more */
    int no_header, no_end;
};

struct sender_copy; /* of a message */
struct sender {
    struct wire *wire;
    const char *address;
    struct progress progress;  /* while nobody takes a message */
    struct sender_faults faults;
    double rate, next;         /* images a second; when the next one is due */
    uint64_t images, sent;     /* of the whole run; messages that were sent */
    uint64_t bytes;
    struct sender_copy *header, *swapped; /* the last header; an image that waits for the next one */
    int is_dead;
};

/* "drop=10,no-end" of a command line; NULL: none.  CLI_OK, or CLI_USAGE after a message. */
int sender_parse_faults(struct sender_faults *faults, const char *text);
/* One message.  CLI_OK, also for one that a fault has left out; CLI_FAILED after a message. */
int sender_send(struct sender *sender, const hcy_span *parts, size_t n);
/* What still waits, and what belongs to it; the wire stays the caller's. */
int sender_end(struct sender *sender);

#endif
