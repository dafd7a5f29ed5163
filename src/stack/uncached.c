/* uncached.c - frames read past the system's page cache (O_DIRECT): from a disk that takes a fraction of the
 * processors, and leaves the cache to others.
 *
 * The system reads whole pages so, to whole pages of memory, and chunks begin anywhere: each read has a piece of memory
 * for its pages and copies the chunk out of it.  The stack keeps as many pieces as it has had readers at once, behind a
 * lock; a child of fork(), which may have got that from a thread that it has not, reads as ever.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_DIRECT */
#endif
#include "stack_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define MOST_FILES 256 /* read so: each takes a second descriptor */

struct piece {
    struct piece *next;
    uint8_t *memory;
    size_t size;
};

struct hcy__uncached {
    pid_t owner;
    pthread_mutex_t lock;
    struct piece *idle; /* [lock] */
};

static int create_pieces(hcy_stack *stack)
{
    stack->uncached = calloc(1, sizeof *stack->uncached);
    if (!stack->uncached || pthread_mutex_init(&stack->uncached->lock, NULL)) {
        free(stack->uncached);
        stack->uncached = NULL;
        return hcy_fail(HCY_ENOMEM, "no memory to read %s past the page cache", stack->path);
    }
    stack->uncached->owner = getpid();
    return 0;
}

/* A second descriptor of the file, whatever its name means by now, or -1.  None is taken of the upper half of those
 * that the process may have: others need theirs, and this is an aid. */
static int open_again(int fd)
{
#ifdef O_DIRECT
    char name[64];
    struct rlimit most;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const int again = open(name, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (again < 0 || getrlimit(RLIMIT_NOFILE, &most) || most.rlim_cur == RLIM_INFINITY ||
        (rlim_t)again < most.rlim_cur / 2)
        return again;
    close(again);
#else
    (void)fd;
#endif
    return -1;
}

/* Where it is not to be had, frames are read as ever. */
int hcy__uncached_open(hcy_stack *stack)
{
    int st = stack->reads_uncached && !stack->uncached ? create_pieces(stack) : 0;
    uint64_t n = 0;
    for (size_t i = 0; !st && stack->uncached && i < stack->n_parts && i < MOST_FILES; i++) {
        hcy__part *part = &stack->parts[i];
        if (part->fd >= 0 && part->fetch == hcy__fetch_pread && part->uncached < 0)
            part->uncached = open_again(part->fd);
        n += part->uncached >= 0;
    }
    stack->info.uncached = stack->shown.uncached = n;
    return st;
}

void hcy__uncached_close(hcy_stack *stack)
{
    struct hcy__uncached *u = stack->uncached;
    if (!u)
        return;
    for (struct piece *p = u->idle, *next; p; p = next) {
        next = p->next;
        free(p->memory);
        free(p);
    }
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* With no memory the piece has none. */
static struct piece *take_piece(struct hcy__uncached *u, size_t size)
{
    pthread_mutex_lock(&u->lock);
    struct piece *p = u->idle;
    u->idle = p ? p->next : NULL;
    pthread_mutex_unlock(&u->lock);
    if (!p && !(p = calloc(1, sizeof *p)))
        return NULL;
    if (p->size < size) {
        free(p->memory);
        /* Chunks differ a little, and memory that is new costs more than the copy. */
        p->size = (size + size / 4) / PAGE * PAGE + PAGE;
        p->memory = aligned_alloc(PAGE, p->size);
        p->size = p->memory ? p->size : 0;
    }
    return p;
}

static void give_piece(struct hcy__uncached *u, struct piece *p)
{
    pthread_mutex_lock(&u->lock);
    p->next = u->idle;
    u->idle = p;
    pthread_mutex_unlock(&u->lock);
}

uint64_t hcy__uncached_read(const hcy_stack *stack, const hcy__part *part, void *dst, uint64_t size, uint64_t offset,
                            int *number)
{
    const uint64_t begin = offset / PAGE * PAGE, before = offset - begin;
    const size_t whole = (size_t)((before + size + PAGE - 1) / PAGE * PAGE);
    if (getpid() != stack->uncached->owner) {
        *number = ECHILD;
        return 0;
    }
    struct piece *p = take_piece(stack->uncached, whole);
    uint64_t got = 0;
    *number = p && p->memory ? 0 : ENOMEM;
    if (!*number)
        got = hcy__read_at(part->uncached, p->memory, whole, begin, number);
    if (!*number) {
        /* The last pages of a file end where it does, and one that was cut short ends before the chunk does. */
        got = got > before ? got - before : 0;
        got = got < size ? got : size;
        memcpy(dst, p->memory + before, (size_t)got);
    }
    if (p)
        give_piece(stack->uncached, p);
    return *number ? 0 : got;
}
