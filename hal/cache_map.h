/* cache_map.h - files of the cache that are used where they lie: which may be mapped, their pages, and the sum by which
 * bytes are known to be what was written.  Inline, no state.
 *
 * A mapped file costs neither memory nor a copy, and processes that use the same one share it.  But one that is cut
 * short while it is mapped ends the process that looks at it.  The library replaces what is in its cache, by another
 * file of that name, and nobody may write to its files: so such a file is mapped.  Any other is not: older ones, those
 * whose permissions somebody changed, and those on file systems of the network, where another machine can take the
 * bytes away together with the name.  What remains: root, or who gives himself the permission while the file is in
 * use, and a disk that fails to read again what the system had to forget for want of memory.  The including file
 * defines _GNU_SOURCE. */
#ifndef HCY_CACHE_MAP_H
#define HCY_CACHE_MAP_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif
#include <unistd.h>

#define HCY__PIECE ((size_t)1 << 20) /* bytes that are read or written, and summed, at once */
#define HCY__LINE  64u

/* The pages of a mapped file that these bytes are in, all at once.  A file that ends before them, or a disk that fails,
 * is an error here, where touching them would end the process; systems older than this call know no such thing. */
static inline int hcy__cache_fetch(const uint8_t *data, size_t n)
{
#ifdef MADV_POPULATE_READ
    size_t before = (uintptr_t)data % (size_t)sysconf(_SC_PAGESIZE);
    return madvise((void *)((uintptr_t)data - before), n + before, MADV_POPULATE_READ);
#else
    (void)data, (void)n;
    return -1;
#endif
}

/* Is the file where bytes stay as long as nobody writes to them, on a system that can fetch them? */
static inline int hcy__cache_stays(int fd)
{
#ifdef __linux__
    /* By their numbers in statfs(2): ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs, overlayfs. */
    static const uint32_t local[] = { 0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630 };
    const uint8_t mine = 0;
    struct statfs on;
    int rc = hcy__cache_fetch(&mine, 1) ? -1 : fstatfs(fd, &on);
    for (size_t i = 0; !rc && i < sizeof local / sizeof local[0]; i++)
        if ((uint32_t)on.f_type == local[i])
            return 1;
#else
    (void)fd;
#endif
    return 0;
}

/* Will the bytes of this file stay where they are? */
static inline int hcy__cache_can_map(int fd)
{
    struct stat is;
    return !fstat(fd, &is) && !(is.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) && hcy__cache_stays(fd);
}

struct hcy__lines {
    uint64_t lane[HCY__LINE / sizeof(uint64_t)];
};

/* The number of the piece is its seed, so that pieces which change places are noticed. */
static inline struct hcy__lines hcy__lines_of(uint64_t piece)
{
    struct hcy__lines l;
    for (unsigned k = 0; k < HCY__LINE / sizeof(uint64_t); k++)
        l.lane[k] = piece + k;
    return l;
}

/* Whole lines; any change of one word changes the sum.  Eight sums that do not wait for one another keep up with
 * memory, each in a register of its own: compilers would make vectors of an array, and few processors multiply those.
 * Processors do not look ahead over the end of a page by themselves. */
static inline void hcy__lines_add(struct hcy__lines *lines, const uint8_t *p, size_t size)
{
    enum { AHEAD = 4096 };
    uint64_t *l = lines->lane, w[HCY__LINE / sizeof(uint64_t)];
    uint64_t a = l[0], b = l[1], c = l[2], d = l[3], e = l[4], f = l[5], g = l[6], h = l[7];
#define ADD(lane, i) lane = (lane ^ w[i]) * 0x9e3779b97f4a7c15u
    for (; size >= sizeof w; p += sizeof w, size -= sizeof w) {
        if (size > AHEAD)
            __builtin_prefetch(p + AHEAD);
        memcpy(w, p, sizeof w);
        ADD(a, 0), ADD(b, 1), ADD(c, 2), ADD(d, 3), ADD(e, 4), ADD(f, 5), ADD(g, 6), ADD(h, 7);
    }
#undef ADD
    memcpy(l, (const uint64_t[]){ a, b, c, d, e, f, g, h }, sizeof lines->lane);
}

/* The lanes are mixed in order, so that words which change places between lanes change the sum.  A file's sum is
 * hcy_cache_sum() of those of its pieces, in their order: the same for any number of threads. */
static inline uint64_t hcy__lines_sum(const struct hcy__lines *lines)
{
    uint64_t sum = lines->lane[0];
    for (unsigned k = 1; k < HCY__LINE / sizeof(uint64_t); k++)
        sum = (sum ^ lines->lane[k] >> 29) * 0x9e3779b97f4a7c15u + lines->lane[k];
    return sum;
}

#endif
