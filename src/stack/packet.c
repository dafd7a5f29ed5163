/* packet.c - see packet.h.  Both sides are compiled from it. */
#include "packet.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* --- Writing --- */

void hcy__packet_put(hcy__packet *p, const void *bytes, size_t size)
{
    size_t need;
    if (p->bad || hcy_size_add(&need, p->size, size)) {
        p->bad = 1;
        return;
    }
    if (need > p->room) {
        size_t room = need < 2 * p->room ? 2 * p->room : need + 256;
        unsigned char *more = realloc(p->bytes, room);
        p->bad = !more;
        if (!more)
            return;
        p->bytes = more;
        p->room = room;
    }
    if (size)
        memcpy(p->bytes + p->size, bytes, size);
    p->size = need;
}

void hcy__packet_put_number(hcy__packet *p, uint64_t number)
{
    hcy__packet_put(p, &number, sizeof number);
}

void hcy__packet_put_real(hcy__packet *p, double number)
{
    hcy__packet_put(p, &number, sizeof number);
}

void hcy__packet_put_text(hcy__packet *p, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    hcy__packet_put_array(p, text, size, 1);
}

void hcy__packet_put_array(hcy__packet *p, const void *array, size_t n, size_t element)
{
    size_t size;
    if (hcy_size_mul(&size, n, element)) {
        p->bad = 1;
        return;
    }
    hcy__packet_put_number(p, n);
    hcy__packet_put(p, array, size);
}

/* --- Reading --- */

/* The next `size` bytes, NULL if there are fewer. */
static const unsigned char *take_bytes(hcy__packet *p, size_t size)
{
    if (p->bad || p->size - p->next < size) {
        p->bad = 1;
        return NULL;
    }
    const unsigned char *at = p->bytes + p->next;
    p->next += size;
    return at;
}

void hcy__packet_get(void *bytes, size_t size, hcy__packet *p)
{
    const unsigned char *at = take_bytes(p, size);
    if (at)
        memcpy(bytes, at, size);
    else
        memset(bytes, 0, size);
}

uint64_t hcy__packet_get_number(hcy__packet *p)
{
    uint64_t number;
    hcy__packet_get(&number, sizeof number, p);
    return number;
}

uint64_t hcy__packet_get_within(hcy__packet *p, uint64_t least, uint64_t most)
{
    uint64_t number = hcy__packet_get_number(p);
    if (number >= least && number <= most)
        return number;
    p->bad = 1;
    return least;
}

double hcy__packet_get_real(hcy__packet *p)
{
    double number;
    hcy__packet_get(&number, sizeof number, p);
    return number;
}

const void *hcy__packet_get_array(size_t *n, hcy__packet *p, size_t element)
{
    uint64_t count = hcy__packet_get_number(p);
    size_t size = 0;
    *n = 0;
    if (count > SIZE_MAX || hcy_size_mul(&size, (size_t)count, element))
        p->bad = 1;
    const void *at = take_bytes(p, size);
    if (at)
        *n = (size_t)count;
    return at;
}

void *hcy__packet_copy_array(size_t *n, hcy__packet *p, size_t element)
{
    const void *at = hcy__packet_get_array(n, p, element);
    void *copy = *n ? malloc(*n * element) : NULL;
    if (copy)
        memcpy(copy, at, *n * element);
    else if (*n)
        p->bad = 1;
    return copy;
}

const char *hcy__packet_get_text(hcy__packet *p)
{
    size_t n;
    const char *text = hcy__packet_get_array(&n, p, 1);
    if (!text || !n)
        return NULL;
    /* It ends where it says, and not before. */
    if (memchr(text, 0, n) == text + n - 1)
        return text;
    p->bad = 1;
    return NULL;
}

void hcy__packet_copy_text(char *text, size_t size, hcy__packet *p)
{
    const char *from = hcy__packet_get_text(p);
    size_t n = from ? strlen(from) : 0;
    *text = 0;
    if (n >= size)
        p->bad = 1;
    else if (from)
        memcpy(text, from, n + 1);
}

void hcy__packet_free(hcy__packet *p)
{
    free(p->bytes);
    *p = (hcy__packet){ 0 };
}

/* --- Over a socket --- */

struct head {
    char magic[8];
    uint64_t size;
};
static const char magic[8] = "HCYH5R\1"; /* its last letter is the format's version */

int64_t hcy__packet_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_socket(int socket, short events, int64_t deadline)
{
    struct pollfd ready = { .fd = socket, .events = events };
    int64_t left = deadline ? deadline - hcy__packet_clock() : -1;
    if (deadline && left <= 0)
        return ETIMEDOUT;
    /* A signal is no end of the time: whoever calls asks again. */
    int n = poll(&ready, 1, left > 1000000 ? 1000000 : (int)left);
    return n < 0 && errno != EINTR ? errno : 0;
}

/* Moves all bytes, in either direction.  Sending raises no SIGPIPE, which would be the host's. */
static int move_bytes(int socket, unsigned char *bytes, size_t size, int64_t deadline, int sends)
{
    int number = 0;
    while (size && !number) {
        ssize_t n = sends ? send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                          : recv(socket, bytes, size, MSG_DONTWAIT);
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        } else if (n == 0) {
            number = ECONNRESET;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            number = wait_socket(socket, sends ? POLLOUT : POLLIN, deadline);
        } else if (errno != EINTR) {
            number = errno == EPIPE ? ECONNRESET : errno;
        }
    }
    return number;
}

int hcy__packet_send(int socket, const hcy__packet *p, const hcy__packet *rest, int64_t deadline)
{
    struct head head = { .size = (uint64_t)p->size + (rest ? rest->size : 0) };
    memcpy(head.magic, magic, sizeof magic);
    int number = move_bytes(socket, (unsigned char *)&head, sizeof head, deadline, 1);
    if (!number)
        number = move_bytes(socket, p->bytes, p->size, deadline, 1);
    return number || !rest ? number : move_bytes(socket, rest->bytes, rest->size, deadline, 1);
}

int hcy__packet_receive(hcy__packet *p, int socket, uint64_t most, int64_t deadline)
{
    enum { FIRST = 65536 };
    struct head head;
    *p = (hcy__packet){ 0 };
    int number = move_bytes(socket, (unsigned char *)&head, sizeof head, deadline, 0);
    if (!number && (memcmp(head.magic, magic, sizeof magic) || head.size > most || head.size > SIZE_MAX / 2))
        number = EPROTO;
    while (!number && p->size < head.size) {
        /* As much again as has come: a size alone costs nothing. */
        size_t n = p->size ? p->size : FIRST, left = (size_t)head.size - p->size;
        n = n < left ? n : left;
        unsigned char *more = realloc(p->bytes, p->size + n);
        if (!more) {
            number = ENOMEM;
            break;
        }
        p->bytes = more;
        p->room = p->size + n;
        number = move_bytes(socket, p->bytes + p->size, n, deadline, 0);
        p->size += n;
    }
    if (number)
        hcy__packet_free(p);
    return number;
}
