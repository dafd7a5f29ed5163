/* h5_file.c - the file driver that keeps the first failure, and what every written HDF5 file needs.
 *
 * The driver is POSIX pread and pwrite on a descriptor that was opened before HDF5 sees the file.  A write that fails
 * is reported to HDF5 as done; what it should have written reads as zeros, and nothing is written after it: the file
 * stays as it was when it was flushed last, which is what those find who read along.
 */
#include "h5_file.h"
#include <errno.h>
#include <fcntl.h>
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* --- The driver --- */

struct driver_file {
    H5FD_t pub;
    hcy__h5_file *file;
    haddr_t allocated;
};

/* The driver's registration, made once, as in h5_driver.c; under the lock. */
static hid_t registered = H5I_INVALID_HID;

static herr_t writer_end(void)
{
    registered = H5I_INVALID_HID;
    return 0;
}

/* The last error is what went wrong. */
static void keep_failure(hcy__h5_file *file)
{
    if (!file->failed.status)
        file->failed = *hcy_last_error();
}

static int fail_with(const hcy__h5_file *file, const char *what, int number)
{
    char words[128];
    return hcy_fail(HCY_EIO, "%s: %s failed: %s", file->path, what, hcy__errno_text(number, words, sizeof words));
}

static H5FD_t *writer_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    (void)name;
    (void)flags;
    (void)most;
    hcy__h5_file *const *info = H5Pget_driver_info(access);
    struct driver_file *df = info ? calloc(1, sizeof *df) : NULL;
    if (!df)
        return NULL;
    df->file = *info;
    return &df->pub;
}

static herr_t writer_close(H5FD_t *pub)
{
    free(pub);
    return 0;
}

static herr_t writer_query(const H5FD_t *pub, unsigned long *flags)
{
    (void)pub;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t writer_get_allocated(const H5FD_t *pub, H5FD_mem_t type)
{
    (void)type;
    return ((const struct driver_file *)pub)->allocated;
}

static herr_t writer_set_allocated(H5FD_t *pub, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((struct driver_file *)pub)->allocated = address;
    return 0;
}

static haddr_t writer_get_end(const H5FD_t *pub, H5FD_mem_t type)
{
    (void)type;
    return ((const struct driver_file *)pub)->file->end;
}

static herr_t writer_read(H5FD_t *pub, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                          void *buffer)
{
    (void)type;
    (void)transfer;
    hcy__h5_file *file = ((struct driver_file *)pub)->file;
    int number;
    uint64_t done = hcy__read_at(hcy_output_fd(file->output), buffer, size, address, &number);
    /* HDF5 is told that all went well; the first failure is kept for hcy__h5_file_status(). */
    if (number) {
        (void)fail_with(file, "reading", number);
        keep_failure(file);
    }
    memset((char *)buffer + done, 0, size - done);
    return 0;
}

static herr_t writer_write(H5FD_t *pub, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                           const void *buffer)
{
    (void)type;
    (void)transfer;
    hcy__h5_file *file = ((struct driver_file *)pub)->file;
    /* The end moves also when writing fails, so that HDF5's view of the file stays consistent. */
    if (address + size > file->end)
        file->end = address + size;
    if (!file->failed.status && hcy_output_write(file->output, buffer, size, address))
        keep_failure(file);
    return 0;
}

static herr_t writer_truncate(H5FD_t *pub, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    struct driver_file *df = (struct driver_file *)pub;
    if (df->allocated != df->file->end) {
        if (!df->file->failed.status && ftruncate(hcy_output_fd(df->file->output), (off_t)df->allocated)) {
            (void)fail_with(df->file, "writing", errno);
            keep_failure(df->file);
        }
        df->file->end = df->allocated;
    }
    return 0;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = 611, /* of those left to programs; never written to a file */
#endif
    .name = "halcyon",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .terminate = writer_end,
    .fapl_size = sizeof(hcy__h5_file *),
    .open = writer_open,
    .close = writer_close,
    .query = writer_query,
    .get_eoa = writer_get_allocated,
    .set_eoa = writer_set_allocated,
    .get_eof = writer_get_end,
    .read = writer_read,
    .write = writer_write,
    .truncate = writer_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* --- Files --- */

/* What describes the file reaches it when it is flushed, and never in part in between. */
static void keep_metadata(hid_t access)
{
    H5AC_cache_config_t config = { .version = H5AC__CURR_CACHE_CONFIG_VERSION };
    if (H5Pget_mdc_config(access, &config) < 0)
        return;
    /* The cache otherwise writes parts of it whenever it is full, and a process that is killed then leaves
     * a file that cannot be opened. */
    config.evictions_enabled = 0;
    config.incr_mode = H5C_incr__off;
    config.flash_incr_mode = H5C_flash_incr__off;
    config.decr_mode = H5C_decr__off;
    H5Pset_mdc_config(access, &config);
}

/* HDF5's own part of opening, where bytes go to file->output. */
static int open_h5_output(hcy__h5_file *file, int fresh)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    int st = 0;
    if (registered < 0)
        registered = H5FDregister(&driver);
    H5Pset_driver(access, registered, &file);
    keep_metadata(access);
    file->id = fresh ? H5Fcreate(file->path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                     : H5Fopen(file->path, H5F_ACC_RDWR, access);
    if (file->id < 0)
        st = hcy__h5_fail(HCY_EIO, "%s cannot be %s", file->path, fresh ? "created" : "opened for writing");
    H5Pclose(access);
    return st;
}

/* All bytes of the file that is there already. */
static int copy_in(hcy__h5_file *file)
{
    enum { PIECE = 1 << 20 };
    char *piece = malloc(PIECE);
    int from = -1, number = 0, st = piece ? hcy__open_file(&from, file->path)
                                          : hcy_fail(HCY_ENOMEM, "no memory to copy %s", file->path);
    /* The file itself is never written to: the copy replaces it when all went well. */
    for (uint64_t n = PIECE; !st && n == PIECE; file->end += n) {
        n = hcy__read_at(from, piece, PIECE, file->end, &number);
        st = number ? fail_with(file, "copying it", number)
                    : hcy_output_write(file->output, piece, (size_t)n, file->end);
    }
    if (from >= 0)
        close(from);
    free(piece);
    return st;
}

static int begin_h5_file(hcy__h5_file **file, const char *path, int fresh)
{
    hcy__h5_file *made = calloc(1, sizeof *made);
    *file = NULL;
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    }
    made->id = -1;
    /* The output is opened first, so that its message about the path is the one that the user sees. */
    int st = hcy_output_open(&made->output, path, 0);
    const off_t at = st ? 0 : lseek(hcy_output_fd(made->output), 0, SEEK_CUR);
    if (at < 0 && errno == ESPIPE)
        st = hcy_fail(HCY_EINVAL, "%s is a pipe: HDF5 is written at any place of a file", path);
    else if (at > 0)
        st = hcy_fail(HCY_EINVAL, "%s holds %lld bytes already: HDF5 begins where its file does", path, (long long)at);
    if (!st && !fresh)
        st = copy_in(made);
    if (!st)
        st = open_h5_output(made, fresh);
    if (st) {
        hcy_error why = *hcy_last_error();
        hcy_output_discard(made->output);
        free(made->path);
        free(made);
        return hcy_fail_again(&why);
    }
    *file = made;
    return 0;
}

int hcy__h5_file_create(hcy__h5_file **file, const char *path)
{
    return begin_h5_file(file, path, 1);
}

int hcy__h5_file_change(hcy__h5_file **file, const char *path)
{
    return begin_h5_file(file, path, 0);
}

int hcy__h5_file_status(const hcy__h5_file *file)
{
    return file->failed.status ? hcy_fail_again(&file->failed) : 0;
}

/* Room for all that HDF5 has given addresses to: metadata that reach a full disk in part are a file that cannot be
 * opened. */
static int reserve(hcy__h5_file *file)
{
    hsize_t size = 0;
    /* HDF5's own size of the file is what it has given addresses to, or what was written. */
    int number = H5Fget_filesize(file->id, &size) < 0 || size <= file->reserved
                     ? 0
                     : posix_fallocate(hcy_output_fd(file->output), (off_t)file->reserved,
                                       (off_t)(size - file->reserved));
    if (number == ENOSPC || number == EDQUOT || number == EFBIG) {
        (void)fail_with(file, "writing", number);
        keep_failure(file);
    }
    /* Of a file system that cannot say, writing does. */
    file->reserved = size > file->reserved ? size : file->reserved;
    return hcy__h5_file_status(file);
}

int hcy__h5_file_flush(hcy__h5_file *file)
{
    int st = reserve(file);
    if (st)
        return st;
    herr_t done = H5Fflush(file->id, H5F_SCOPE_LOCAL);
    st = hcy__h5_file_status(file);
    if (!st && done < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: writing failed", file->path);
    return st;
}

int hcy__h5_file_show(hcy__h5_file *file)
{
    int st = hcy__h5_file_flush(file);
    return st ? st : hcy_output_show(file->output);
}

/* For HDF5 alone: its output stays open.  The failure is the last error. */
static int close_for_h5(hcy__h5_file *file)
{
    if (file->reserved && !file->failed.status)
        (void)!reserve(file);
    herr_t done = H5Fclose(file->id);
    const char *words = done < 0 ? hcy__h5_words() : "";
    int st = hcy__h5_file_status(file);
    if (!st && done < 0)
        st = hcy_fail_vendor(HCY_EIO, 0, words, "%s: closing it failed", file->path);
    return st;
}

int hcy__h5_file_close(hcy__h5_file *file, enum hcy__h5_end end)
{
    if (!file)
        return 0;
    int st = close_for_h5(file), ended = 0;
    /* What follows may set the error again. */
    hcy_error why = *hcy_last_error();
    /* A file that failed is never put in the place of a good one. */
    if (end == HCY__H5_KEEP)
        ended = hcy_output_keep(file->output);
    else if (end == HCY__H5_WHOLE && !st)
        ended = hcy_output_commit(file->output, 0);
    else
        hcy_output_discard(file->output);
    st = st ? hcy_fail_again(&why) : ended;
    free(file->path);
    free(file);
    return st;
}

int hcy__h5_file_hand_over(hcy_output **output, hcy__h5_file *file)
{
    int st = close_for_h5(file);
    *output = file->output;
    if (st) {
        hcy_error why = *hcy_last_error();
        hcy_output_discard(file->output);
        *output = NULL;
        st = hcy_fail_again(&why);
    }
    free(file->path);
    free(file);
    return st;
}

/* --- What is in them --- */

hid_t hcy__h5_text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

int hcy__h5_put_text(hid_t object, const char *name, const char *text)
{
    if (!text)
        return 0;
    hid_t type = hcy__h5_text_type(), space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t done = attribute < 0 ? -1 : H5Awrite(attribute, type, &text);
    int st = done < 0 ? hcy__h5_fail(HCY_EIO, "attribute '%s' cannot be written", name) : 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return st;
}

int hcy__h5_put_texts(hid_t object, const hcy__h5_text *texts, size_t n)
{
    int st = 0;
    for (size_t i = 0; !st && i < n; i++)
        st = hcy__h5_put_text(object, texts[i].name, texts[i].text);
    return st;
}

int hcy__h5_put_names(hid_t object, const char *name, const char *const *texts, size_t n)
{
    hsize_t size = n;
    hid_t type = hcy__h5_text_type(), space = H5Screate_simple(1, &size, NULL);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int st = attribute < 0 || H5Awrite(attribute, type, texts) < 0
                 ? hcy__h5_fail(HCY_EIO, "attribute '%s' cannot be written", name)
                 : 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return st;
}

int hcy__h5_put_text_at(hid_t file, const char *path, const char *name, const char *text)
{
    hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0)
        return hcy__h5_fail(HCY_EIO, "attribute '%s' cannot be written: there is no %s", name, path);
    int st = hcy__h5_put_text(object, name, text);
    H5Oclose(object);
    return st;
}

int hcy__h5_put_field(hid_t file, const char *path, const char *text)
{
    if (!text)
        return 0;
    enum { BUFFER = 4096 };
    hid_t type = hcy__h5_text_type(), space = H5Screate(H5S_SCALAR), transfer = H5Pcreate(H5P_DATASET_XFER);
    hid_t data = H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    /* HDF5's own buffer for converting is a megabyte, which it zeroes for each text. */
    H5Pset_buffer(transfer, BUFFER, NULL, NULL);
    herr_t done = data < 0 ? -1 : H5Dwrite(data, type, H5S_ALL, H5S_ALL, transfer, &text);
    int st = done < 0 ? hcy__h5_fail(HCY_EIO, "%s cannot be written", path) : 0;
    if (data >= 0)
        H5Dclose(data);
    H5Pclose(transfer);
    H5Sclose(space);
    H5Tclose(type);
    return st;
}

int hcy__h5_put_numbers(hid_t at, const char *name, hid_t type, int rank, const hsize_t *dims, const double *values,
                        const hcy__h5_text *texts, size_t n_texts)
{
    hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t data = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    /* H5Dcreate2() refuses a dataspace that failed, so one test finds either failure. */
    int st = data < 0 || H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0
                 ? hcy__h5_fail(HCY_EIO, "%s cannot be written", name)
                 : hcy__h5_put_texts(data, texts, n_texts);
    if (data >= 0)
        H5Dclose(data);
    H5Sclose(space);
    return st;
}

int hcy__h5_put_group(hid_t file, const char *path, const char *nx_class)
{
    /* Groups above it are made on the way. */
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t group = H5Gcreate2(file, path, links, H5P_DEFAULT, H5P_DEFAULT);
    int st = group < 0 ? hcy__h5_fail(HCY_EIO, "group %s cannot be created", path) : 0;
    if (!st)
        st = hcy__h5_put_text(group, "NX_class", nx_class);
    if (group >= 0)
        H5Gclose(group);
    H5Pclose(links);
    return st;
}

/* --- What other files have --- */

/* One attribute to the object *to.  What cannot be read, or points into its file, stays behind. */
static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info, void *to)
{
    (void)info;
    hid_t attribute = H5Aopen(from, name, H5P_DEFAULT);
    if (attribute < 0)
        return 0;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute), copy = -1;
    hssize_t n = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    /* The file may be damaged: how many there are is multiplied with care. */
    void *value = n > 0 && size && (size_t)n < SIZE_MAX / size ? calloc((size_t)n, size) : NULL;
    if (value && H5Tdetect_class(type, H5T_REFERENCE) <= 0 && H5Aread(attribute, type, value) >= 0) {
        copy = *(hid_t *)to < 0 ? -1 : H5Acreate2(*(hid_t *)to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (copy >= 0)
            H5Awrite(copy, type, value);
        /* Texts of variable length are HDF5's memory, and are freed by it. */
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
    }
    free(value);
    if (copy >= 0)
        H5Aclose(copy);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return 0;
}

void hcy__h5_copy_attributes(hid_t to, hid_t from)
{
    H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute, &to);
}

char *hcy__h5_link_target(const char *path, const char *source)
{
    char *there = realpath(source, NULL);
    const char *end = strrchr(path, '/');
    size_t folder = end ? (size_t)(end + 1 - path) : 0;
    /* Links without the folder survive when both files are moved together. */
    if (there && folder && !strncmp(path, there, folder))
        memmove(there, there + folder, strlen(there + folder) + 1);
    return there;
}
