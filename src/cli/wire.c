/* wire.c - see wire.h. */
#include "wire.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { PARTS = 16, KEY = 40 };
/* No frame is larger; a peer that claims more gets no memory for it. */
#define MOST_BYTES ((int64_t)1 << 30)

struct wire {
    void *context, *socket;
    void *monitor; /* of one that pushes: who has come and gone; or NULL */
    int others;    /* that are connected, as far as the monitor was read */
    char address[256];
};

struct wire_message {
    zmq_msg_t messages[PARTS];
    hcy_span parts[PARTS];
    size_t n;
};

static int fail_wire(const struct wire *wire, const char *what)
{
    const int why = zmq_errno();
    return cli_error("%s: %s: %s%s", wire->address, what, zmq_strerror(why),
                     why == ENODEV || why == EADDRNOTAVAIL ? " (no address of this machine; tcp://*:PORT is for all that it has)" : "");
}

/* --- Keys --- */

/* 40 characters (Z85), themselves or in a file, whose other lines do not matter. */
static int read_key(char key[KEY + 1], const char *text, const char *what)
{
    uint8_t bytes[32];
    char line[256];
    if (strlen(text) == KEY && zmq_z85_decode(bytes, text)) {
        memcpy(key, text, KEY + 1);
        return CLI_OK;
    }
    FILE *file = fopen(text, "r");
    if (!file)
        return cli_error("%s '%s' is neither a key of %d characters nor a file that can be read", what, text, KEY);
    int found = 0;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, " \t\r\n")] = 0;
        found = strlen(line) == KEY && zmq_z85_decode(bytes, line);
    }
    fclose(file);
    if (!found)
        return cli_error("%s: no line of %s is a key of %d characters (Z85)", what, text, KEY);
    memcpy(key, line, KEY + 1);
    return CLI_OK;
}

static int set_keys(struct wire *wire, const struct wire_options *o)
{
    char server[KEY + 1], public[KEY + 1], secret[KEY + 1];
    int is_server = 1, status = CLI_OK, wrong = 0;
    if (!o->server_key && !o->secret)
        return CLI_OK;
    if (!zmq_has("curve"))
        return cli_error("this libzmq was built without CurveZMQ: no keys");
    if (o->secret)
        status = read_key(secret, o->secret, "--curve-secret");
    if (!status && o->server_key)
        status = read_key(server, o->server_key, "--curve-key");
    if (status)
        return status;
    /* A client needs a pair of its own; if the server does not ask for a known one, any will do. */
    if (o->secret ? zmq_curve_public(public, secret) : zmq_curve_keypair(public, secret))
        return fail_wire(wire, "no pair of keys");
    if (o->server_key) {
        wrong |= zmq_setsockopt(wire->socket, ZMQ_CURVE_SERVERKEY, server, sizeof server);
        wrong |= zmq_setsockopt(wire->socket, ZMQ_CURVE_PUBLICKEY, public, sizeof public);
    } else {
        wrong |= zmq_setsockopt(wire->socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server);
    }
    wrong |= zmq_setsockopt(wire->socket, ZMQ_CURVE_SECRETKEY, secret, sizeof secret);
    return wrong ? fail_wire(wire, "its keys") : CLI_OK;
}

/* --- Sockets --- */

static const char *const wire_ends[] = { "cannot be connected to", "cannot be bound to" };

/* ZeroMQ says of a wrong one that an argument is invalid, and waits for ever for a port that there cannot be.  A * is
 * any of this machine's own, which only who binds can mean. */
static bool is_address(const char *text, int bind)
{
    const char *port = strrchr(text, ':');
    if (strncmp(text, "tcp://", 6))
        return strstr(text, "://") != NULL;
    if (port < text + 6 || (!bind && strchr(text, '*')))
        return false;
    size_t digits = strspn(++port, "0123456789");
    return !strcmp(port, "*") || (digits && digits < 6 && !port[digits] && atoi(port) <= 65535);
}

int wire_check_address(const char *address, int bind)
{
    return is_address(address, bind) ? CLI_OK
                                     : cli_usage("%s: %s: an address is tcp://HOST:PORT, with a port from 0 to 65535, or "
                                                 "ipc://FILE", address, wire_ends[bind]);
}

/* Each wire has a context of its own, so that the name is taken once. */
static int watch_others(struct wire *wire)
{
    static const char place[] = "inproc://others";
    if (zmq_socket_monitor(wire->socket, place, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED) ||
        !(wire->monitor = zmq_socket(wire->context, ZMQ_PAIR)) || zmq_connect(wire->monitor, place))
        return fail_wire(wire, "who is connected");
    return CLI_OK;
}

int wire_others(struct wire *wire)
{
    struct { /* as ZeroMQ has it, without a gap; a second part names the connection */
        uint8_t event[2], value[4];
    } came;
    char which[256];
    while (wire->monitor && zmq_recv(wire->monitor, &came, sizeof came, ZMQ_DONTWAIT) == sizeof came) {
        uint16_t event;
        memcpy(&event, came.event, sizeof event);
        wire->others += event == ZMQ_EVENT_ACCEPTED ? 1 : -1;
        (void)!zmq_recv(wire->monitor, which, sizeof which, 0);
    }
    return wire->others;
}

static int open_socket(struct wire *wire, const struct wire_options *o)
{
    static const int kinds[] = { ZMQ_PULL, ZMQ_PUSH, ZMQ_PUB };
    int64_t most = MOST_BYTES;
    wire->context = zmq_ctx_new();
    wire->socket = wire->context ? zmq_socket(wire->context, kinds[o->kind]) : NULL;
    if (!wire->socket)
        return fail_wire(wire, "no socket");
    int limit = o->kind == WIRE_PULL ? ZMQ_RCVHWM : ZMQ_SNDHWM;
    if (zmq_setsockopt(wire->socket, limit, &o->waiting, sizeof o->waiting) ||
        zmq_setsockopt(wire->socket, ZMQ_MAXMSGSIZE, &most, sizeof most))
        return fail_wire(wire, "its limits");
    int status = set_keys(wire, o);
    if (status)
        return status;
    status = wire_check_address(wire->address, o->bind);
    if (!status && o->kind == WIRE_PUSH)
        status = watch_others(wire);
    if (!status && (o->bind ? zmq_bind(wire->socket, wire->address) : zmq_connect(wire->socket, wire->address)))
        status = fail_wire(wire, wire_ends[o->bind]);
    return status;
}

int wire_open(struct wire **out, const char *address, const struct wire_options *options)
{
    struct wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        return cli_error("out of memory for a socket");
    snprintf(wire->address, sizeof wire->address, "%s", address);
    int status = open_socket(wire, options);
    if (status)
        wire_close(wire, 0);
    else
        *out = wire;
    return status;
}

void wire_close(struct wire *wire, int linger)
{
    if (!wire)
        return;
    if (wire->socket) {
        zmq_setsockopt(wire->socket, ZMQ_LINGER, &linger, sizeof linger);
        zmq_close(wire->socket);
    }
    if (wire->monitor)
        zmq_close(wire->monitor);
    if (wire->context)
        zmq_ctx_term(wire->context);
    free(wire);
}

/* Ready for `events`: 1, 0, or -1 after a message. */
static int wait_wire(struct wire *wire, short events, int timeout_ms)
{
    zmq_pollitem_t item = { wire->socket, 0, events, 0 };
    int n = zmq_poll(&item, 1, timeout_ms);
    if (n < 0 && zmq_errno() != EINTR) {
        fail_wire(wire, "waiting");
        return -1;
    }
    return n > 0;
}

/* Neither end waits in a first part: the other one may go between the poll that calls a socket ready and the call that
 * uses it, and a call that waits goes on through signals. */
static bool is_not_yet(size_t part)
{
    return !part && (zmq_errno() == EAGAIN || zmq_errno() == EINTR);
}

/* All parts of the message whose first one is there: ZeroMQ gives whole messages. */
static int receive_parts(struct wire_message *m, struct wire *wire)
{
    for (int more = 1; more;) {
        zmq_msg_t rest, *part = m->n < PARTS ? &m->messages[m->n] : &rest;
        zmq_msg_init(part);
        if (zmq_msg_recv(part, wire->socket, m->n ? 0 : ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(part);
            if (zmq_errno() == EINTR && m->n)
                continue;
            return is_not_yet(m->n) ? 0 : (fail_wire(wire, "receiving"), -1);
        }
        more = zmq_msg_more(part);
        if (part == &rest) {
            zmq_msg_close(part);
            continue;
        }
        m->parts[m->n] = (hcy_span){ zmq_msg_data(part), zmq_msg_size(part) };
        m->n++;
    }
    return 1;
}

int wire_receive(struct wire_message **message, struct wire *wire, int timeout_ms)
{
    int ready = wait_wire(wire, ZMQ_POLLIN, timeout_ms);
    if (ready <= 0)
        return ready;
    struct wire_message *m = malloc(sizeof *m);
    if (!m)
        return cli_error("out of memory for a message"), -1;
    m->n = 0;
    int got = receive_parts(m, wire);
    if (got > 0)
        *message = m;
    else
        wire_message_free(m);
    return got;
}

const hcy_span *wire_parts(size_t *n, const struct wire_message *m)
{
    *n = m->n;
    return m->parts;
}

void wire_message_free(struct wire_message *m)
{
    for (size_t i = 0; m && i < m->n; i++)
        zmq_msg_close(&m->messages[i]);
    free(m);
}

int wire_send(struct wire *wire, const hcy_span *parts, size_t n, int timeout_ms)
{
    int ready = wait_wire(wire, ZMQ_POLLOUT, timeout_ms);
    if (ready <= 0)
        return ready;
    for (size_t i = 0; i < n; i++) {
        /* What follows a first part goes where that went, or nowhere, and does not wait. */
        const int flags = (i ? 0 : ZMQ_DONTWAIT) | (i + 1 < n ? ZMQ_SNDMORE : 0);
        while (zmq_send(wire->socket, parts[i].data, parts[i].size, flags) < 0) {
            if (is_not_yet(i))
                return 0;
            if (zmq_errno() != EINTR)
                return fail_wire(wire, "sending"), -1;
        }
    }
    return 1;
}
