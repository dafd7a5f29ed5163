/* bytes.c - the bytes of a file, plain or gzip, for the formats that take them apart themselves. */
#include "files.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

enum { FIRST_TEXT = 4096, MAX_TEXT = 1 << 20 };

#ifdef HAVE_ZLIB
#define MAX_INFLATED ((size_t)1 << 32)

/* Inflates until the stream ends or dst is full: how much came, and zlib's last word.  `is_file`: of gzip's files
 * several that follow one another are one. */
static int inflate_all(size_t *done, void *dst, size_t size, const void *src, size_t src_size, int is_file)
{
    static const unsigned char next[] = { 0x1f, 0x8b, Z_DEFLATED };
    z_stream z = { .next_in = (Bytef *)(uintptr_t)src, .next_out = dst };
    size_t in = src_size, out = size;
    *done = 0;
    if (inflateInit2(&z, 15 + 32) != Z_OK) /* zlib's header or gzip's */
        return Z_MEM_ERROR;
    int st = Z_OK;
    while (st == Z_OK) {
        /* zlib counts in 32 bits, so that large buffers are given to it by the gigabyte. */
        uInt give = in > 1 << 30 ? 1u << 30 : (uInt)in, room = out > 1 << 30 ? 1u << 30 : (uInt)out;
        z.avail_in = give;
        z.avail_out = room;
        st = inflate(&z, Z_NO_FLUSH);
        in -= give - z.avail_in;
        out -= room - z.avail_out;
        /* Whatever else follows is none of it, as for gzip(1). */
        if (st == Z_STREAM_END && is_file && in > sizeof next && !memcmp(z.next_in, next, sizeof next))
            st = inflateReset(&z);
        /* No byte taken and none given: without this it would go round for ever. */
        if (st == Z_OK && give == z.avail_in && room == z.avail_out)
            st = Z_BUF_ERROR;
    }
    inflateEnd(&z);
    *done = size - out;
    return st;
}

int hcy__inflate(void *dst, size_t size, const void *src, size_t src_size, const char *path)
{
    size_t done;
    int st = inflate_all(&done, dst, size, src, src_size, 0);
    /* A stream that has more than the frame needs is all right; one that has less is damaged. */
    if (done == size && (st == Z_STREAM_END || st == Z_BUF_ERROR || st == Z_OK))
        return 0;
    return hcy_fail(HCY_ECORRUPT, "%s: its compressed pixels give %zu of %zu bytes", path, done, size);
}

/* The whole file, decompressed; the room is doubled until it is enough. */
static int inflate_file(hcy__bytes *b)
{
    size_t size = (size_t)b->size, room = size < FIRST_TEXT ? 4 * FIRST_TEXT : 4 * size, done = 0;
    unsigned char *packed = malloc(size), *memory = NULL;
    /* The size of the decompressed file is not known: gzip notes it modulo 2^32 alone. */
    int st = packed ? 0 : hcy_fail(HCY_ENOMEM, "no memory to read %s", b->path), z = Z_BUF_ERROR;
    if (!st)
        st = hcy__bytes_need(b, packed, size, 0);
    /* Too small a room starts again from the front, four times as large: rare, and simpler than going on. */
    while (!st && z == Z_BUF_ERROR) {
        free(memory);
        room = room < MAX_INFLATED ? room : MAX_INFLATED;
        memory = malloc(room);
        if (!memory)
            st = hcy_fail(HCY_ENOMEM, "no memory to decompress %s", b->path);
        else if ((z = inflate_all(&done, memory, room, packed, size, 1)) == Z_BUF_ERROR && done < room)
            st = hcy_fail(HCY_ECORRUPT, "%s: the gzip file is truncated", b->path);
        else if (z == Z_BUF_ERROR && room == MAX_INFLATED)
            st = hcy_fail(HCY_EUNSUPPORTED, "%s: more than 4 GiB when it is decompressed; gunzip it first", b->path);
        else if (z != Z_STREAM_END && z != Z_BUF_ERROR)
            st = hcy_fail(HCY_ECORRUPT, "%s: the gzip file is damaged", b->path);
        room *= 4;
    }
    free(packed);
    if (st) {
        free(memory);
        return st;
    }
    b->memory = memory;
    b->size = done;
    return 0;
}
#else
int hcy__inflate(void *dst, size_t size, const void *src, size_t src_size, const char *path)
{
    (void)dst;
    (void)size;
    (void)src;
    (void)src_size;
    return hcy_fail(HCY_EUNSUPPORTED, "%s is compressed, and this build of Halcyon has no zlib", path);
}

static int inflate_file(hcy__bytes *b)
{
    return hcy__inflate(NULL, 0, NULL, 0, b->path);
}
#endif

int hcy__bytes_open(hcy__bytes *b, const char *path)
{
    unsigned char magic[2];
    struct stat is;
    *b = (hcy__bytes){ .path = path, .fd = -1 };
    int st = hcy__open_file(&b->fd, path);
    if (st)
        return st;
    if (fstat(b->fd, &is)) {
        st = hcy_fail(HCY_EIO, "%s: its size is not known", path);
    } else {
        b->size = (uint64_t)is.st_size;
        size_t n = 0;
        st = hcy__bytes_read(&n, b, magic, 2, 0);
        /* By its first bytes and not by its suffix: beamlines compress files without renaming them. */
        if (!st && n == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
            st = inflate_file(b);
    }
    if (st)
        hcy__bytes_close(b);
    return st;
}

void hcy__bytes_close(hcy__bytes *b)
{
    if (b->fd >= 0)
        close(b->fd);
    free(b->memory);
    b->fd = -1;
    b->memory = NULL;
}

int hcy__bytes_read(size_t *n, const hcy__bytes *b, void *dst, size_t size, uint64_t offset)
{
    int number = 0;
    *n = 0;
    if (offset >= b->size)
        return 0;
    /* The file may have grown since it was opened; a frame is judged by what was there then. */
    if (size > b->size - offset)
        size = (size_t)(b->size - offset);
    *n = size;
    if (b->memory)
        memcpy(dst, b->memory + offset, size);
    else
        *n = (size_t)hcy__read_at(b->fd, dst, size, offset, &number);
    return number ? hcy__read_failed(b->path, number) : 0;
}

int hcy__bytes_need(const hcy__bytes *b, void *dst, size_t size, uint64_t offset)
{
    size_t done;
    int st = hcy__bytes_read(&done, b, dst, size, offset);
    if (st || done == size)
        return st;
    return hcy_fail(HCY_ECORRUPT, "%s is truncated: %zu of %zu bytes at offset %llu are missing", b->path,
                    size - done, size, (unsigned long long)offset);
}

int hcy__bytes_text(char **text, size_t *length, const hcy__bytes *b, uint64_t offset,
                    size_t (*end)(const char *text, size_t n))
{
    *text = NULL;
    for (size_t room = FIRST_TEXT;; room *= 4) {
        char *more = realloc(*text, room + 1);
        if (!more) {
            free(*text);
            return hcy_fail(HCY_ENOMEM, "no memory for the header of %s", b->path);
        }
        *text = more;
        size_t n;
        int st = hcy__bytes_read(&n, b, more, room, offset);
        *length = st ? 0 : end(more, n);
        if (*length) {
            more[*length] = 0;
            return 0;
        }
        /* The end of the file, or a header longer than any real one: what looked like one is damaged. */
        if (st || n < room || room >= MAX_TEXT) {
            free(more);
            *text = NULL;
            return st ? st : hcy_fail(HCY_ECORRUPT, "%s: its header at offset %llu has no end", b->path,
                            (unsigned long long)offset);
        }
    }
}
