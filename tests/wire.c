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

/* The example that reads curves looks at nothing that lies behind a message.  XPUB hears when somebody listens. */
static void read_example(uint32_t head, uint32_t n_radial, uint32_t n_azim, const char *want)
{
    char message[64 + 5 * sizeof(double)] = "HCYCURV1", heard[16], command[1024], line[200] = "";
    const char *build = getenv("top_builddir");
    const int wait = 20000;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_XPUB);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait, sizeof wait);
    zmq_bind(socket, address);
    snprintf(command, sizeof command, "exec '%s/examples/curve_reader' '%s' 1 2>&1", build ? build : ".", address);
    FILE *reader = popen(command, "r");
    memcpy(message + 8, &head, 4);
    memcpy(message + 32, &n_radial, 4);
    memcpy(message + 36, &n_azim, 4);
    strcpy(message + 40, "unit");
    bool sent = zmq_recv(socket, heard, sizeof heard, 0) > 0 && zmq_send(socket, message, sizeof message, 0) > 0;
    ok(sent && fgets(line, sizeof line, reader) && strstr(line, want), "curve_reader, of %u and %u bins behind %u bytes: %s", n_radial,
       n_azim, head, want);
    pclose(reader);
    zmq_close(socket);
    zmq_ctx_term(context);
}

static void test_example(void)
{
    if (TAP_THREAD_SANITIZER) {
        skip(5, "it does not see how ZeroMQ's threads wait for one another");
        return;
    }
    read_example(64, 2, 0, "unit");
    read_example(64, 3, 0, "does not hold");
    read_example(64, 0x7fffffff, 0x80000001, "does not hold");
    read_example(0x7ffffff8, 1, 0, "does not hold");
    read_example(0, 1, 0, "does not hold");
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
    test_example();
    unlink(address + strlen("ipc://"));
    return done_testing();
}
