/* wire.h - messages over ZeroMQ sockets, whole and of several parts.
 *
 * A socket is one thread's; a message that was received may be freed in any.  Failures are printed. */
#ifndef HCY_CLI_WIRE_H
#define HCY_CLI_WIRE_H

#include "cli.h"
#include <halcyon/kernel.h>

struct wire;
enum wire_kind { WIRE_PULL, WIRE_PUSH, WIRE_PUBLISH };

struct wire_options {
    enum wire_kind kind;
    int bind;               /* 1: others connect to this address; 0: this end connects */
    int waiting;            /* messages that may wait in it */
    const char *server_key; /* CurveZMQ: the other end's public key, or a file that has it; NULL: none */
    const char *secret;     /* a file that has this end's secret key; NULL: none, or one made up for this run */
};

/* Is it an address, to connect to or to `bind` to?  CLI_OK, or CLI_USAGE after a message. */
int wire_check_address(const char *address, int bind);
/* CLI_*, after a message. */
int wire_open(struct wire **wire, const char *address, const struct wire_options *options);
/* `linger` milliseconds for what was not sent yet; NULL is fine. */
void wire_close(struct wire *wire, int linger);

/* One that was received. */
struct wire_message;
/* 1, 0: none came within that time, or a signal; -1 after a message.  Parts beyond the 16th are left out. */
int wire_receive(struct wire_message **message, struct wire *wire, int timeout_ms);
/* They stay where ZeroMQ has received them until the message is freed. */
const hcy_span *wire_parts(size_t *n, const struct wire_message *message);
void wire_message_free(struct wire_message *message); /* NULL is fine */

/* How many are connected to one that was bound to push. */
int wire_others(struct wire *wire);
/* 1, 0: nobody took it within that time, or a signal; -1 after a message.  What nobody listens to is sent. */
int wire_send(struct wire *wire, const hcy_span *parts, size_t n, int timeout_ms);

#endif
