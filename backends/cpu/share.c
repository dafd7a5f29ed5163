/* share.c - memory of the CPU backend that other processes can have: a file of memory, which is gone with the last who
 * has it.  Others find it as one of its creator's open files, under /proc.  No state of its own; any thread.
 *
 * Nothing in a name is believed: what it leads to is looked at before it is opened, and must be a file of that number
 * and size that can no longer shrink, since a page that is taken away ends whoever touches it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, O_PATH, F_ADD_SEALS */
#endif
#include "cpu_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct share {
    int fd; /* -1: another process has created it */
    void *bytes;
    size_t size;
};
struct share_name {
    uint64_t process, fd, device, inode;
};
_Static_assert(sizeof(struct share_name) <= HCY_SHARE_NAME, "a name has room for it");

#ifdef MFD_ALLOW_SEALING

static int map_share(struct share **out, int fd, int keep_fd, size_t size)
{
    struct share *s = malloc(sizeof *s);
    void *bytes = s ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED) {
        free(s);
        return hcy_fail(HCY_ENOMEM, "no room for %zu bytes of shared memory", size);
    }
    *s = (struct share){ keep_fd, bytes, size };
    *out = s;
    return 0;
}

/* A file of memory counts as a file: one that is larger than the process may write (ulimit -f) would end it. */
static bool may_have_file(size_t size)
{
    struct rlimit most;
    return size <= INT64_MAX &&
           (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY || size <= most.rlim_cur);
}

/* Pages are taken now: one that is not to be had later would end the process.  Some at a time, as kernels before Linux
 * 6 give back all that a call has taken when a signal comes, and a profiler's come again and again. */
static int take_pages(int fd, size_t size)
{
    const size_t piece = (size_t)64 << 20;
    int error = 0;
    for (size_t at = 0; !error && at < size;) {
        const size_t n = size - at < piece ? size - at : piece;
        error = posix_fallocate(fd, (off_t)at, (off_t)n);
        at += error ? 0 : n;
        error = error == EINTR ? 0 : error;
    }
    return error;
}

int cpu_share_create(void **share, void **bytes, size_t size)
{
    struct share *s = NULL;
    int status = 0, fd = memfd_create("halcyon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return hcy_fail_vendor(errno == ENOSYS ? HCY_EUNSUPPORTED : HCY_ENOMEM, errno, "memfd_create",
                               "the system gives no memory that processes share");
    if (!may_have_file(size))
        status = hcy_fail(HCY_ENOMEM, "a file of memory of %zu bytes is larger than this process may have (ulimit -f)",
                          size);
    else if (take_pages(fd, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        status = hcy_fail(HCY_ENOMEM, "there are no %zu bytes of shared memory", size);
    if (!status)
        status = map_share(&s, fd, fd, size);
    if (status) {
        close(fd);
        return status;
    }
    *share = s;
    *bytes = s->bytes;
    return 0;
}

int cpu_share_name(unsigned char name[HCY_SHARE_NAME], void *share)
{
    const struct share *s = share;
    struct stat st;
    if (fstat(s->fd, &st))
        return hcy_fail_vendor(HCY_EIO, errno, "fstat", "shared memory that cannot be looked at");
    struct share_name n = { (uint64_t)getpid(), (uint64_t)s->fd, (uint64_t)st.st_dev, (uint64_t)st.st_ino };
    memset(name, 0, HCY_SHARE_NAME);
    memcpy(name, &n, sizeof n);
    return 0;
}

/* Whether an open file is the one that the name means, and so large. */
static bool is_named(int fd, const struct share_name *n, size_t size)
{
    struct stat st;
    return !fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_dev == n->device &&
           (uint64_t)st.st_ino == n->inode && (uint64_t)st.st_size == size;
}

/* The file that the name means, opened in two steps: to open a device or a pipe can do things. */
static int open_named(int *fd, const struct share_name *n, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)n->process, (unsigned long long)n->fd);
    int look = open(path, O_PATH | O_CLOEXEC);
    if (look < 0)
        return hcy_fail_vendor(HCY_ENOENT, errno, "open",
                               "shared memory of process %llu is not to be had: it has released it or ended, or may "
                               "not be looked into",
                               (unsigned long long)n->process);
    snprintf(path, sizeof path, "/proc/self/fd/%d", look);
    *fd = is_named(look, n, size) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    close(look);
    int seals = *fd < 0 ? -1 : fcntl(*fd, F_GET_SEALS);
    /* Its size is believed once nobody can make it smaller: before the seal it may have been another. */
    if (seals >= 0 && seals & F_SEAL_SHRINK && is_named(*fd, n, size))
        return 0;
    if (*fd >= 0)
        close(*fd);
    return hcy_fail(HCY_ENOENT, "process %llu no longer has that shared memory; the handle is stale or made up",
                    (unsigned long long)n->process);
}

int cpu_share_open(void **share, void **bytes, const unsigned char name[HCY_SHARE_NAME], size_t size)
{
    struct share *s = NULL;
    struct share_name n;
    int fd = -1;
    memcpy(&n, name, sizeof n);
    int status = open_named(&fd, &n, size);
    if (status)
        return status;
    status = map_share(&s, fd, -1, size);
    close(fd);
    if (!status) {
        *share = s;
        *bytes = s->bytes;
    }
    return status;
}

#else

int cpu_share_create(void **share, void **bytes, size_t size)
{
    (void)share, (void)bytes, (void)size;
    return hcy_fail(HCY_EUNSUPPORTED, "this system has no files of memory (memfd_create)");
}

int cpu_share_name(unsigned char name[HCY_SHARE_NAME], void *share)
{
    (void)name, (void)share;
    return hcy_fail(HCY_EUNSUPPORTED, "this system has no files of memory (memfd_create)");
}

int cpu_share_open(void **share, void **bytes, const unsigned char name[HCY_SHARE_NAME], size_t size)
{
    (void)name;
    return cpu_share_create(share, bytes, size);
}

#endif

size_t cpu_share_close(void *share)
{
    struct share *s = share;
    size_t own = s->fd < 0 ? 0 : s->size;
    munmap(s->bytes, s->size);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
    return own;
}
