/* interpose.c - the libc calls by which XRT reaches its driver, in front of libc's own.
 *
 * Paths of the cards lead into the tree of files.c, descriptors of opened cards to driver.c; everything else goes on
 * to libc.  The names with underscores are what fortified code calls.
 */
#define _GNU_SOURCE
#include "board.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* libc's functions: type, name, parameters. */
#define FUNCTIONS                                                                                            \
    F(int, open, (const char *, int, ...))                                                                   \
    F(int, open64, (const char *, int, ...))                                                                 \
    F(FILE *, fopen, (const char *, const char *))                                                           \
    F(FILE *, fopen64, (const char *, const char *))                                                         \
    F(DIR *, opendir, (const char *))                                                                        \
    F(int, stat, (const char *, struct stat *))                                                              \
    F(int, stat64, (const char *, struct stat64 *))                                                          \
    F(int, lstat, (const char *, struct stat *))                                                             \
    F(int, access, (const char *, int))                                                                      \
    F(int, statx, (int, const char *, int, unsigned, struct statx *))                                        \
    F(int, ioctl, (int, unsigned long, ...))                                                                 \
    F(void *, mmap, (void *, size_t, int, int, int, off_t))                                                  \
    F(void *, mmap64, (void *, size_t, int, int, int, off64_t))                                              \
    F(int, poll, (struct pollfd *, nfds_t, int))                                                             \
    F(int, close, (int))

static struct {
#define F(type, name, parameters) type(*name) parameters;
    FUNCTIONS
#undef F
} real;

static void find_real(void)
{
#define F(type, name, parameters) *(void **)&real.name = dlsym(RTLD_NEXT, #name);
    FUNCTIONS
#undef F
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
#define LIBC(name) (pthread_once(&once, find_real), real.name)

int real_close(int fd)
{
    return LIBC(close)(fd);
}

FILE *real_fopen(const char *path, const char *mode)
{
    return LIBC(fopen)(path, mode);
}

/* Here, and only here, everything is seen from outside. */
#pragma GCC visibility push(default)

/* --- Paths --- */

#define PATH_BYTES 600

#define OPEN(name)                                                                                           \
    int name(const char *path, int flags, ...)                                                               \
    {                                                                                                        \
        char place[PATH_BYTES];                                                                              \
        mode_t mode = 0;                                                                                     \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                                 \
            va_list ap;                                                                                      \
            va_start(ap, flags);                                                                             \
            mode = (mode_t)va_arg(ap, int);                                                                  \
            va_end(ap);                                                                                      \
        }                                                                                                    \
        int card = files_node(path);                                                                         \
        if (card >= 0)                                                                                       \
            return client_open(card);                                                                        \
        return LIBC(name)(files_path(path, place, PATH_BYTES), flags, mode);                                 \
    }
OPEN(open)
OPEN(open64)

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
    return open(path, flags);
}
int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

/* Functions of a path that only has to be another. */
#define WITH_PATH(type, name, parameters, arguments)                                                         \
    type name parameters                                                                                     \
    {                                                                                                        \
        char place[PATH_BYTES];                                                                              \
        path = files_path(path, place, PATH_BYTES);                                                          \
        return LIBC(name) arguments;                                                                         \
    }
WITH_PATH(FILE *, fopen, (const char *path, const char *mode), (path, mode))
WITH_PATH(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
WITH_PATH(DIR *, opendir, (const char *path), (path))
WITH_PATH(int, stat, (const char *path, struct stat *s), (path, s))
WITH_PATH(int, stat64, (const char *path, struct stat64 *s), (path, s))
WITH_PATH(int, lstat, (const char *path, struct stat *s), (path, s))
WITH_PATH(int, access, (const char *path, int mode), (path, mode))
WITH_PATH(int, statx, (int dir, const char *path, int flags, unsigned mask, struct statx *s),
          (dir, path, flags, mask, s))

/* --- Descriptors --- */

/* The client with this descriptor, and the lock held; or NULL, and no lock. */
static struct client *lock_client(int fd)
{
    pthread_mutex_lock(&board_lock);
    struct client *c = fd >= 0 && board_clients ? client_of(fd) : NULL;
    if (!c)
        pthread_mutex_unlock(&board_lock);
    return c;
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    va_start(ap, request);
    void *argument = va_arg(ap, void *);
    va_end(ap);
    struct client *c = _IOC_TYPE(request) == 'd' ? lock_client(fd) : NULL;
    if (!c)
        return LIBC(ioctl)(fd, request, argument);
    int result = client_request(c, request, argument);
    pthread_mutex_unlock(&board_lock);
    if (result >= 0)
        return result;
    errno = -result;
    return -1;
}

#define MMAP(name, offset_type)                                                                              \
    void *name(void *at, size_t size, int protection, int flags, int fd, offset_type offset)                 \
    {                                                                                                        \
        struct client *c = fd >= 0 ? lock_client(fd) : NULL;                                                 \
        if (!c)                                                                                              \
            return LIBC(name)(at, size, protection, flags, fd, offset);                                      \
        struct buffer *b = client_buffer(c, (uint32_t)((uint64_t)offset >> 32));                             \
        void *p = b ? buffer_map(b, size) : MAP_FAILED;                                                      \
        pthread_mutex_unlock(&board_lock);                                                                   \
        if (p == MAP_FAILED)                                                                                 \
            errno = EINVAL;                                                                                  \
        return p;                                                                                            \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

static int poll_client(struct client *c, struct pollfd *p, int ms)
{
    struct timespec until;
    int result = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    c->pollers++;
    while (!c->events && !c->closed && !result && ms)
        result = ms < 0 ? pthread_cond_wait(&board_done, &board_lock)
                        : pthread_cond_timedwait(&board_done, &board_lock, &until);
    p->revents = c->events ? POLLIN : 0;
    if (c->events)
        c->events--;
    if (!--c->pollers && c->closed)
        client_free(c);
    return p->revents != 0;
}

/* Under another name in C: libc's declaration says that nothing is read from the list. */
int board_poll(struct pollfd *list, nfds_t n, int ms) __asm__("poll");
int board_poll(struct pollfd *list, nfds_t n, int ms)
{
    struct client *c = n == 1 ? lock_client(list->fd) : NULL;
    if (!c)
        return LIBC(poll)(list, n, ms);
    int result = poll_client(c, list, ms);
    pthread_mutex_unlock(&board_lock);
    return result;
}

int __poll_chk(struct pollfd *list, nfds_t n, int ms, size_t size);
int __poll_chk(struct pollfd *list, nfds_t n, int ms, size_t size)
{
    (void)size;
    return board_poll(list, n, ms);
}

int close(int fd)
{
    struct client *c = lock_client(fd);
    if (c) {
        pthread_mutex_unlock(&board_lock);
        client_close(c);
    }
    return LIBC(close)(fd);
}
