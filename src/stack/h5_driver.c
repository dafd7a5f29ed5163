/* h5_driver.c - reading HDF5 files, and learning where HDF5 would read. */
#include "h5_driver.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

struct open_file {
    H5FD_t pub;
    int fd;
    haddr_t allocated, end;
};

/* What spy_chunk() wants to know; under the lock. */
static struct {
    int armed, reads;
    uint64_t address, size;
} spy;

/* The driver's registration; under the lock.  It is made once and never undone: HDF5 frees a class that nobody has
 * registered any more before it calls the class's `close`. */
static hid_t registered = H5I_INVALID_HID;

/* HDF5 shuts down: when the process ends, or because a program calls H5close(), after which it may be used again. */
static herr_t reader_end(void)
{
    registered = H5I_INVALID_HID;
    return 0;
}

static H5FD_t *reader_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    (void)access;
    (void)most;
    struct stat is;
    struct open_file *file = flags & H5F_ACC_RDWR ? NULL : calloc(1, sizeof *file);
    if (!file)
        return NULL;
    /* A pipe would be waited for, and a directory has words of its own. */
    if (hcy__open_file(&file->fd, name) || fstat(file->fd, &is)) {
        if (file->fd >= 0)
            close(file->fd);
        free(file);
        return NULL;
    }
    file->end = (haddr_t)is.st_size;
    return &file->pub;
}

static herr_t reader_close(H5FD_t *pub)
{
    close(((struct open_file *)pub)->fd);
    free(pub);
    return 0;
}

static herr_t reader_query(const H5FD_t *pub, unsigned long *flags)
{
    (void)pub;
    *flags = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_SUPPORTS_SWMR_IO;
    return 0;
}

/* What HDF5 may read: all there is, where a writer has not yet noted in the head how far its file reaches. */
static haddr_t reader_get_allocated(const H5FD_t *pub, H5FD_mem_t type)
{
    const struct open_file *file = (const struct open_file *)pub;
    (void)type;
    return file->allocated > file->end ? file->allocated : file->end;
}

static herr_t reader_set_allocated(H5FD_t *pub, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((struct open_file *)pub)->allocated = address;
    return 0;
}

static haddr_t reader_get_end(const H5FD_t *pub, H5FD_mem_t type)
{
    (void)type;
    return ((const struct open_file *)pub)->end;
}

static herr_t reader_read(H5FD_t *pub, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                          void *buffer)
{
    (void)transfer;
    const struct open_file *file = (const struct open_file *)pub;
    /* Pixels are not read while spying, only their place is noted; what describes the file must still
     * come. */
    if (spy.armed && type == H5FD_MEM_DRAW) {
        spy.address = address;
        spy.size = size;
        spy.reads++;
        return 0;
    }
    int number;
    uint64_t n = hcy__read_at(file->fd, buffer, size, address, &number);
    hcy__h5_note_failure(number);
    return n == size ? 0 : -1;
}

/* Never called: files are open for reading. */
static herr_t reader_write(H5FD_t *pub, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                           const void *buffer)
{
    (void)pub;
    (void)type;
    (void)transfer;
    (void)address;
    (void)size;
    (void)buffer;
    return -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = 612, /* of those left to programs */
#endif
    .name = "halcyon-read",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .terminate = reader_end,
    .open = reader_open,
    .close = reader_close,
    .query = reader_query,
    .get_eoa = reader_get_allocated,
    .set_eoa = reader_set_allocated,
    .get_eof = reader_get_end,
    .read = reader_read,
    .write = reader_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Is a writer at work that lets others read?  Superblocks from version 3 on say so in their flags. */
static int has_writer(const char *path)
{
    enum { MAGIC = 8, FLAGS = 11, HEAD = 12, SWMR = 4 };
    static const unsigned char magic[MAGIC] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
    unsigned char head[HEAD] = { 0 };
    int fd, number;
    /* That it cannot be opened H5Fopen() will say. */
    if (hcy__open_file(&fd, path))
        return 0;
    uint64_t n = hcy__read_at(fd, head, sizeof head, 0, &number);
    close(fd);
    hcy__h5_note_failure(number);
    return n == sizeof head && !memcmp(head, magic, sizeof magic) && head[MAGIC] >= 3 && head[FLAGS] & SWMR;
}

hid_t hcy__h5_spy_open(const char *path, const char **words)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (registered < 0)
        registered = H5FDregister(&driver);
    herr_t set = H5Pset_driver(access, registered, NULL); /* spying on a file of another driver would write to memory */
    hid_t file = set < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY | (has_writer(path) ? H5F_ACC_SWMR_READ : 0u), access);
    *words = file < 0 ? hcy__h5_words() : ""; /* before other calls wipe them out */
    H5Pclose(access);
    return file;
}

int hcy__h5_spy_chunk(uint64_t *address, uint64_t *size, uint32_t *mask, hid_t dataset, const hsize_t *offset)
{
    char nothing[8];
    /* Nothing is written to `nothing`: the driver only notes where HDF5 would have read. */
    spy.armed = 1;
    spy.reads = 0;
#if H5_VERSION_GE(2, 0, 0)
    size_t room = SIZE_MAX;
    herr_t done = H5Dread_chunk2(dataset, H5P_DEFAULT, offset, mask, nothing, &room);
#else
    herr_t done = H5Dread_chunk(dataset, H5P_DEFAULT, offset, mask, nothing);
#endif
    spy.armed = 0;
    *address = spy.address;
    *size = spy.size;
    /* A chunk that is in one piece is read at once; anything else has no address of its own. */
    return done < 0 || spy.reads != 1 ? -1 : 0;
}

hsize_t hcy__h5_spy_box(hsize_t *all, uint64_t *bytes, hid_t dataset, int rank, const hsize_t *chunk,
                        const hsize_t *from, const hsize_t *to, int any)
{
    hsize_t at[H5S_MAX_RANK], n = 0;
    int d = 0;
    memcpy(at, from, (size_t)rank * sizeof *at);
    *all = 0;
    *bytes = 0;
    while (d >= 0 && !(any && n)) {
        uint64_t address, size;
        uint32_t mask;
        ++*all;
        if (!hcy__h5_spy_chunk(&address, &size, &mask, dataset, at)) {
            *bytes += size;
            n++;
        }
        /* Counts like an odometer, the last dimension fastest; d < 0 says that all of the box was seen. */
        for (d = rank - 1; d >= 0 && (at[d] += chunk[d]) >= to[d]; d--)
            at[d] = from[d];
    }
    return n;
}
