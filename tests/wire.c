/* wire.c - messages over ZeroMQ: whole, to whoever is there, and never a wait that nothing ends.
 *
 * The other end may go just after a poll has called the socket ready: here polls can be made to lie. */
#include "../src/cli/wire.h"
#include "tap.h"
#include <unistd.h>
#include <zmq.h>

enum { LIMIT_S = 60 };
static int polls_lie;
static char address[128];

int __real_zmq_poll(zmq_pollitem_t *items, int n, long timeout);
int __wrap_zmq_poll(zmq_pollitem_t *items, int n, long timeout);

int __wrap_zmq_poll(zmq_pollitem_t *items, int n, long timeout)
{
    return polls_lie ? n : __real_zmq_poll(items, n, timeout);
}

static const hcy_span parts[] = { { "one", 3 }, { "", 0 }, { "three", 5 } };

static struct wire *open_end(enum wire_kind kind)
{
    const struct wire_options options = { kind, kind != WIRE_PULL, 8, NULL, NULL };
    struct wire *wire = NULL;
    is_int(wire_open(&wire, address, &options), CLI_OK, "an end opens");
    return wire;
}

static void sees_others(struct wire *push, int want)
{
    int tries = 0;
    while (wire_others(push) != want && tries++ < 1000)
        usleep(10000);
    is_int(wire_others(push), want, "%d connected", want);
}

static void nobody(struct wire *push)
{
    is_int(wire_send(push, parts, 3, 10), 0, "nobody takes a message");
    polls_lie = 1;
    is_int(wire_send(push, parts, 3, 10), 0, "... nor where a poll says somebody does");
    polls_lie = 0;
}

static void whole_message(struct wire *push, struct wire *pull)
{
    struct wire_message *message = NULL;
    size_t n = 0;
    is_int(wire_send(push, parts, 3, 5000), 1, "a message goes");
    if (!is_int(wire_receive(&message, pull, 5000), 1, "... and comes"))
        return;
    const hcy_span *got = wire_parts(&n, message);
    is_int(n, 3, "... of three parts");
    for (size_t i = 0; i < n; i++)
        ok(got[i].size == parts[i].size && !memcmp(got[i].data, parts[i].data, got[i].size), "... part %zu", i);
    wire_message_free(message);
}

int main(void)
{
    snprintf(address, sizeof address, "ipc:///tmp/halcyon-wire-%ld", (long)getpid());
    alarm(LIMIT_S);
    struct wire *push = open_end(WIRE_PUSH), *pull;
    nobody(push);
    pull = open_end(WIRE_PULL);
    sees_others(push, 1);
    whole_message(push, pull);
    struct wire_message *message;
    is_int(wire_receive(&message, pull, 10), 0, "no further one");
    polls_lie = 1;
    is_int(wire_receive(&message, pull, 10), 0, "... nor where a poll says so");
    polls_lie = 0;
    wire_close(pull, 0);
    sees_others(push, 0);
    nobody(push);
    wire_close(push, 0);
    struct wire *publish = open_end(WIRE_PUBLISH);
    is_int(wire_send(publish, parts, 1, 0), 1, "what nobody listens to is sent");
    wire_close(publish, 0);
    unlink(address + strlen("ipc://"));
    return done_testing();
}
