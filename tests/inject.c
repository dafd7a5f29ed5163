/* inject.c - LD_PRELOAD: the allocation of number $FAIL_ALLOC_AT fails, once, or the read or write of number
 * $FAIL_IO_AT; the others go through.  With $SIGNAL_AT_OPEN a SIGTERM comes while a file NAME.partial-PID is made.
 *
 * Allocations count that Halcyon's own files make (the loader's and HDF5's are not ours to survive), reads and writes
 * of files by their descriptors also where HDF5 makes them; over all threads.  At the end `allocations reads-and-writes
 * leaks` is written to $INJECT_REPORT, if that is set: leaks are allocations of Halcyon's that nobody has freed.  A
 * program may ask for them itself, and for the next allocations to fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);
void *aligned_alloc(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
void free(void *memory);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *memory);

static atomic_long n_allocations, n_io, fail_allocation, fail_io;

/* Is the caller one of Halcyon's own objects: the command, libhalcyon.so, hcy_*.so?  Or, with `hdf5`, HDF5? */
static int is_ours(void *caller, int hdf5)
{
    static _Thread_local int inside; /* what dladdr() itself does is not */
    Dl_info where;
    if (inside)
        return 0;
    inside = 1;
    int found = dladdr(caller, &where) && where.dli_fname;
    inside = 0;
    if (!found)
        return 0;
    const char *name = strrchr(where.dli_fname, '/');
    name = name ? name + 1 : where.dli_fname;
    return strstr(name, "halcyon") || !strncmp(name, "hcy_", 4) || (hdf5 && strstr(name, "hdf5"));
}

/* --- What is allocated: a table of addresses, open addressing --- */

enum { PLACES = 1 << 16 };
static void *_Atomic live[PLACES];
static void *const gone = &live;

static size_t place_of(const void *memory)
{
    return (size_t)((uintptr_t)memory >> 4) * 2654435761u % PLACES;
}

static void *note(void *memory)
{
    for (size_t i = place_of(memory), n = 0; memory && n < PLACES; i = (i + 1) % PLACES, n++) {
        void *is = atomic_load(&live[i]);
        if ((!is || is == gone) && atomic_compare_exchange_strong(&live[i], &is, memory))
            break;
    }
    return memory;
}

static void forget(void *memory)
{
    for (size_t i = place_of(memory), n = 0; memory && n < PLACES; i = (i + 1) % PLACES, n++) {
        void *is = atomic_load(&live[i]);
        if (is == memory)
            atomic_store(&live[i], gone);
        if (!is || is == memory)
            return;
    }
}

static long n_live(void)
{
    long n = 0;
    for (size_t i = 0; i < PLACES; i++) {
        void *is = atomic_load(&live[i]);
        n += is && is != gone;
    }
    return n;
}

/* --- What fails --- */

static void begin(void) __attribute__((constructor));
static void begin(void)
{
    const char *allocation = getenv("FAIL_ALLOC_AT"), *io = getenv("FAIL_IO_AT");
    atomic_store(&fail_allocation, allocation ? atol(allocation) : 0);
    atomic_store(&fail_io, io ? atol(io) : 0);
}

/* The n-th allocation from now on fails; 0: none. */
void inject_next(long n);
void inject_next(long n)
{
    atomic_store(&fail_allocation, n ? atomic_load(&n_allocations) + n : 0);
}
long inject_live(void);
long inject_live(void)
{
    return n_live();
}

/* Threads that nobody waits for free what is left of their queues. */
static void end(void) __attribute__((destructor));
static void end(void)
{
    const char *path = getenv("INJECT_REPORT");
    const struct timespec moment = { 0, 10000000 };
    if (!path || !atomic_load(&n_allocations))
        return; /* not by shells on the way */
    for (int i = 0; i < 100 && n_live(); i++)
        nanosleep(&moment, NULL);
    FILE *out = fopen(path, "w");
    if (out) {
        fprintf(out, "%ld %ld %ld\n", atomic_load(&n_allocations), atomic_load(&n_io), n_live());
        fclose(out);
    }
}

/* An allocation of Halcyon's: 1, or -1 if it is to fail; else 0. */
static int ours(void *caller)
{
    if (!is_ours(caller, 0))
        return 0;
    return atomic_fetch_add(&n_allocations, 1) + 1 == atomic_load(&fail_allocation) ? -1 : 1;
}

#define ALLOCATE(call)                                   \
    int own = ours(__builtin_return_address(0));         \
    if (own < 0) {                                       \
        errno = ENOMEM;                                  \
        return NULL;                                     \
    }                                                    \
    return own ? note(call) : (call);

void *malloc(size_t size)
{
    ALLOCATE(__libc_malloc(size))
}

void *calloc(size_t n, size_t size)
{
    ALLOCATE(__libc_calloc(n, size))
}

void *aligned_alloc(size_t align, size_t size)
{
    ALLOCATE(__libc_memalign(align, size))
}

void *realloc(void *old, size_t size)
{
    int own = ours(__builtin_return_address(0));
    if (own < 0) {
        errno = ENOMEM;
        return NULL;
    }
    forget(old); /* before somebody else gets its address */
    void *memory = __libc_realloc(old, size);
    if (!memory && size && own)
        note(old);
    return own ? note(memory) : memory;
}

int posix_memalign(void **out, size_t align, size_t size)
{
    int own = ours(__builtin_return_address(0));
    void *memory = own < 0 ? NULL : __libc_memalign(align, size);
    if (!memory)
        return ENOMEM;
    *out = own ? note(memory) : memory;
    return 0;
}

void free(void *memory)
{
    forget(memory);
    __libc_free(memory);
}

/* --- Reads and writes --- */

static int io_fails(int fd, void *caller)
{
    if (fd <= STDERR_FILENO || !is_ours(caller, 1) ||
        atomic_fetch_add(&n_io, 1) + 1 != atomic_load(&fail_io))
        return 0;
    errno = EIO;
    return 1;
}

/* The function that this one stands in front of. */
#define NEXT(function, name) ((function)(uintptr_t)dlsym(RTLD_NEXT, name))
typedef ssize_t (*read_fn)(int, void *, size_t);
typedef ssize_t (*write_fn)(int, const void *, size_t);
typedef ssize_t (*pread_fn)(int, void *, size_t, off_t);
typedef int (*open_fn)(const char *, int, ...);
typedef ssize_t (*pwrite_fn)(int, const void *, size_t, off_t);

ssize_t read(int fd, void *to, size_t n)
{
    return io_fails(fd, __builtin_return_address(0)) ? -1 : NEXT(read_fn, "read")(fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n)
{
    return io_fails(fd, __builtin_return_address(0)) ? -1 : NEXT(write_fn, "write")(fd, from, n);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    return io_fails(fd, __builtin_return_address(0)) ? -1 : NEXT(pread_fn, "pread")(fd, to, n, at);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
    return io_fails(fd, __builtin_return_address(0)) ? -1 : NEXT(pwrite_fn, "pwrite")(fd, from, n, at);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    const int fd = NEXT(open_fn, "open")(path, flags, mode);
    if (fd >= 0 && flags & O_CREAT && strstr(path, ".partial-") && getenv("SIGNAL_AT_OPEN"))
        raise(SIGTERM);
    return fd;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
ssize_t pread64(int fd, void *to, size_t n, off_t at) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *from, size_t n, off_t at) __attribute__((alias("pwrite")));
