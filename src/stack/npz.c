/* npz.c - arrays in NumPy's .npz files: a zip archive of .npy files, stored (numpy.savez) or deflated
 * (numpy.savez_compressed).
 *
 * A stored array is read where it lies in the archive; a deflated one is inflated once to a file without a name, so
 * that its frames can be read by address, too.  The archive's directory is at its end, and it alone is believed.
 * https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
#include "npz.h"
#include "stack_priv.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

enum { LOCAL = 30, CENTRAL = 46, END = 22, END64 = 56, LOCATOR = 20, MAX_COMMENT = 65535, PIECE = 1 << 16 };
enum { STORED = 0, DEFLATED = 8 };
#define MAX_DIRECTORY ((uint64_t)1 << 24)

/* What the directory says of an array. */
struct member {
    uint64_t size, packed, header; /* bytes of it, and in the file; where its local header is */
    unsigned method;
    uint32_t crc;
};

static uint64_t take_number(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i--;)
        value = value << 8 | from[i];
    return value;
}

static int fail_damaged(const char *path, const char *what)
{
    return hcy_fail(HCY_ECORRUPT, "%s: a zip archive that is damaged: %s", path, what);
}

static int need_bytes(void *to, size_t n, int fd, uint64_t offset, const char *path, const char *what)
{
    int number = 0;
    /* A place beyond what the system can count is outside of the file, too. */
    if (offset <= INT64_MAX - n && hcy__read_at(fd, to, n, offset, &number) == n)
        return 0;
    return number ? hcy__read_failed(path, number) : fail_damaged(path, what);
}

/* Where the directory is, from the record at the end; archives beyond 4 GiB have a second, longer one before it. */
static int find_directory(uint64_t *offset, uint64_t *size, int fd, uint64_t file_size, const char *path)
{
    uint64_t n = file_size < END + MAX_COMMENT ? file_size : END + MAX_COMMENT, from = file_size - n;
    unsigned char *tail = malloc((size_t)n + 1), far[END64];
    if (!tail)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    int st = need_bytes(tail, (size_t)n, fd, from, path, "it cannot be read");
    /* A comment may follow the record, so that it is looked for from the end. */
    uint64_t at = n < END ? UINT64_MAX : n - END;
    while (!st && at != UINT64_MAX && memcmp(tail + at, "PK\5\6", 4))
        at--;
    if (!st && at == UINT64_MAX)
        st = fail_damaged(path, "it has no directory");
    if (!st) {
        *size = take_number(tail + at + 12, 4);
        *offset = take_number(tail + at + 16, 4);
    }
    /* Where the longer record is, its numbers count: those of 32 bits may be all ones then. */
    if (!st && at >= LOCATOR && !memcmp(tail + at - LOCATOR, "PK\6\7", 4)) {
        st = need_bytes(far, END64, fd, take_number(tail + at - LOCATOR + 8, 8), path, "it has no directory");
        *size = take_number(far + 40, 8);
        *offset = take_number(far + 48, 8);
    }
    free(tail);
    /* The sizes come from the file, so they are held against what it has before memory is taken for them. */
    if (!st && (*size > MAX_DIRECTORY || *offset > file_size || *size > file_size - *offset))
        st = fail_damaged(path, "its directory lies outside of it");
    return st;
}

/* Sizes and a place of 32 bits that are all ones stand in the entry's extra field, in 64, one after the other. */
static void take_long_sizes(struct member *m, const unsigned char *extra, size_t n)
{
    while (n >= 4) {
        size_t id = (size_t)take_number(extra, 2), length = (size_t)take_number(extra + 2, 2), at = 4;
        if (length > n - 4)
            return;
        /* Only numbers that did not fit are in the field, always in this order, so which ones they are follows from
         * those before. */
        uint64_t *const fields[] = { &m->size, &m->packed, &m->header };
        for (size_t i = 0; id == 1 && i < 3; i++)
            if (*fields[i] == UINT32_MAX && at + 8 <= length + 4) {
                *fields[i] = take_number(extra + at, 8);
                at += 8;
            }
        extra += length + 4;
        n -= length + 4;
    }
}

/* Whether an entry is the array that is wanted, which may be named without its .npy; NULL: any. */
static int is_wanted(const char *name, size_t n, const char *wanted)
{
    if (n < 4 || memcmp(name + n - 4, ".npy", 4))
        return 0;
    size_t w = wanted ? strlen(wanted) : 0;
    return !wanted || ((w == n || w == n - 4) && !memcmp(name, wanted, w));
}

/* The one array of a directory of `size` bytes; with several, a name must say which. */
static int find_member(struct member *m, const unsigned char *at, size_t size, const char *path, const char *wanted)
{
    char names[200] = "";
    size_t found = 0, used = 0;
    while (size >= CENTRAL && !memcmp(at, "PK\1\2", 4)) {
        size_t n = (size_t)take_number(at + 28, 2), extra = (size_t)take_number(at + 30, 2);
        size_t whole = CENTRAL + n + extra + (size_t)take_number(at + 32, 2);
        /* Lengths of names and fields are the file's own, and must not lead beyond the directory. */
        if (whole > size)
            return fail_damaged(path, "an entry of its directory is cut off");
        const char *name = (const char *)at + CENTRAL;
        /* The names are for the message alone, so those that find no room are missing there and nowhere else. */
        if (is_wanted(name, n, NULL) && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", used ? ", " : "", (int)n - 4, name);
        if (is_wanted(name, n, wanted)) {
            /* Every entry is looked at even after a match: an array without a name must be the only one. */
            found++;
            *m = (struct member){ take_number(at + 24, 4), take_number(at + 20, 4), take_number(at + 42, 4),
                                  (unsigned)take_number(at + 10, 2), (uint32_t)take_number(at + 16, 4) };
            take_long_sizes(m, at + CENTRAL + n, extra);
        }
        at += whole;
        size -= whole;
    }
    /* Without exactly one match the message is to help, so it says which arrays there are. */
    if (found == 1)
        return 0;
    if (!*names)
        return hcy_fail(HCY_EFORMAT, "%s is a zip archive without an array (.npy) in it", path);
    if (found)
        return hcy_fail(HCY_EINVAL, "%s holds several arrays, %s; say which", path, names);
    return hcy_fail(HCY_ENOENT, "%s holds no array '%s'; it has %s", path, wanted, names);
}

/* --- Arrays that are deflated --- */

#ifdef HAVE_ZLIB
/* From `offset` of one file to the other, in pieces; *size and *crc are what came, *number is a read's errno, or 0. */
static int inflate_pieces(z_stream *z, uint64_t *size, uLong *crc, int *number, FILE *to, int fd, uint64_t offset,
                          const struct member *m)
{
    unsigned char in[PIECE / 4], out[PIECE];
    uint64_t left = m->packed;
    int st = Z_OK;
    *number = 0;
    while (st == Z_OK) {
        /* The next piece is read when the last one is used up. */
        if (!z->avail_in && left) {
            size_t n = left < sizeof in ? (size_t)left : sizeof in;
            if (hcy__read_at(fd, in, n, offset + m->packed - left, number) != n)
                return Z_DATA_ERROR;
            z->next_in = in;
            z->avail_in = (uInt)n;
            left -= n;
        }
        z->next_out = out;
        z->avail_out = sizeof out;
        st = inflate(z, Z_NO_FLUSH);
        size_t came = sizeof out - z->avail_out;
        *size += came;
        *crc = crc32(*crc, out, (uInt)came);
        /* More than the directory says would fill the disk without end. */
        if (*size > m->size)
            return Z_DATA_ERROR;
        if (came && fwrite(out, 1, came, to) != came)
            return Z_ERRNO;
    }
    return st;
}

/* Puts a file without a name in the place of *fd. */
static int inflate_member(int *fd, const struct member *m, uint64_t offset, const char *path)
{
    z_stream z = { 0 };
    uint64_t size = 0;
    uLong crc = crc32(0, NULL, 0);
    FILE *to = tmpfile();
    if (!to)
        return hcy_fail(HCY_EIO, "%s: no temporary file to inflate it to", path);
    if (inflateInit2(&z, -15) != Z_OK) { /* no header of zlib's */
        fclose(to);
        return hcy_fail(HCY_ENOMEM, "no memory to inflate %s", path);
    }
    int number, got = inflate_pieces(&z, &size, &crc, &number, to, *fd, offset, m);
    inflateEnd(&z);
    if (got == Z_STREAM_END && fflush(to))
        got = Z_ERRNO;
    /* A file without a name is gone with its last descriptor, so it gets one that outlives the stream. */
    int copy = got == Z_STREAM_END ? dup(fileno(to)) : -1;
    fclose(to);
    if (number)
        return hcy__read_failed(path, number);
    if (got == Z_ERRNO || (got == Z_STREAM_END && copy < 0))
        return hcy_fail(HCY_EIO, "%s: %llu bytes of it do not fit where temporary files go; save it with numpy.savez",
                        path, (unsigned long long)m->size);
    /* Only an array that is whole takes the archive's place; otherwise the caller still has the archive to close. */
    if (copy >= 0 && size == m->size && (uint32_t)crc == m->crc) {
        close(*fd);
        *fd = copy;
        return 0;
    }
    if (copy >= 0)
        close(copy);
    return fail_damaged(path, "its array is not what its checksum says");
}
#else
static int inflate_member(int *fd, const struct member *m, uint64_t offset, const char *path)
{
    (void)fd, (void)m, (void)offset;
    return hcy_fail(HCY_EUNSUPPORTED, "%s is compressed, and this build of Halcyon has no zlib; save it with numpy.savez",
                    path);
}
#endif

int hcy__npz_find(uint64_t *start, uint64_t *end, int *fd, const char *path, const char *wanted)
{
    unsigned char local[LOCAL], *directory = NULL;
    uint64_t offset = 0, size = 0;
    struct member m = { 0 };
    off_t file_size = lseek(*fd, 0, SEEK_END);
    int st = file_size < 0 ? hcy_fail(HCY_EIO, "%s cannot be read", path)
                           : find_directory(&offset, &size, *fd, (uint64_t)file_size, path);
    if (!st && !(directory = malloc((size_t)size + 1)))
        st = hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    if (!st)
        st = need_bytes(directory, (size_t)size, *fd, offset, path, "its directory is cut off");
    if (!st)
        st = find_member(&m, directory, (size_t)size, path, wanted);
    free(directory);
    /* The array begins behind a second header, whose own extra field may have another length. */
    if (!st)
        st = need_bytes(local, LOCAL, *fd, m.header, path, "an array's header is cut off");
    if (st)
        return st;
    *start = m.header + LOCAL + take_number(local + 26, 2) + take_number(local + 28, 2);
    /* What the directory says is believed only within the file: frames are read by these addresses. */
    if (memcmp(local, "PK\3\4", 4) || *start > (uint64_t)file_size || m.packed > (uint64_t)file_size - *start)
        return fail_damaged(path, "an array lies outside of it");
    *end = *start + m.size;
    /* A stored array is read where it lies, as if the archive were a .npy file with something around it. */
    if (m.method == STORED)
        return m.size == m.packed ? 0 : fail_damaged(path, "a stored array has two sizes");
    if (m.method != DEFLATED)
        return hcy_fail(HCY_EUNSUPPORTED, "%s is compressed by a method that is not known (%u); save it with numpy.savez",
                        path, m.method);
    st = inflate_member(fd, &m, *start, path);
    *start = 0;
    *end = m.size;
    return st;
}
