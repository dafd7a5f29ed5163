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

int cpu_share_create(void **share, void **bytes, size_t size)
{
    struct share *s = NULL;
    int status = 0, fd = memfd_create("halcyon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return hcy_fail_vendor(errno == ENOSYS ? HCY_EUNSUPPORTED : HCY_ENOMEM, errno, "memfd_create",
                               "the system gives no memory that processes share");
    /* Pages are taken now: one that is not to be had later would end the process. */
    if (size > INT64_MAX || posix_fallocate(fd, 0, (off_t)size) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
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

/* The file that the name means, opened in two steps: to open a device or a pipe can do things. */
static int open_named(int *fd, const struct share_name *n, size_t size)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)n->process, (unsigned long long)n->fd);
    int look = open(path, O_PATH | O_CLOEXEC);
    if (look < 0)
        return hcy_fail_vendor(HCY_ENOENT, errno, "open",
                               "shared memory of process %llu is not to be had: it has released it or ended, or may "
                               "not be looked into",
                               (unsigned long long)n->process);
    bool same = !fstat(look, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_dev == n->device &&
                (uint64_t)st.st_ino == n->inode && (uint64_t)st.st_size == size;
    snprintf(path, sizeof path, "/proc/self/fd/%d", look);
    *fd = same ? open(path, O_RDWR | O_CLOEXEC) : -1;
    close(look);
    int seals = *fd < 0 ? -1 : fcntl(*fd, F_GET_SEALS);
    if (seals >= 0 && seals & F_SEAL_SHRINK)
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
