/* h5_file.h - HDF5 files that are written: creating and closing them, attributes.
 *
 * HDF5 does not survive a write that fails (in 1.10 a full disk ends in a crash when the process exits), so
 * files are written through a driver of our own that tells HDF5 that every write went well, keeps the first
 * failure, and lets the caller ask.  All functions expect the lock of h5.h to be held.
 */
#ifndef HCY_STACK_H5_FILE_H
#define HCY_STACK_H5_FILE_H

#include "h5.h"

typedef struct hcy__h5_file {
    hid_t id; /* the file, -1: not open */
    int fd;
    char *path;
    uint64_t end; /* how far the file reaches */
    int number;   /* errno of the first failure, 0: none */
} hcy__h5_file;

/* Creates (or replaces) path.  HCY_EIO. */
int hcy__h5_file_create(hcy__h5_file **file, const char *path);
/* HCY_EIO if something did not reach the file, else 0. */
int hcy__h5_file_status(const hcy__h5_file *file);
/* Flushes what HDF5 still holds, and asks. */
int hcy__h5_file_flush(hcy__h5_file *file);
/* Closes and frees: the status, as above.  Every object of the file must be closed before. */
int hcy__h5_file_close(hcy__h5_file *file);

/* Text is of variable length in UTF-8, as h5py writes it; a NULL text is left out. */
typedef struct hcy__h5_text {
    const char *name, *text;
} hcy__h5_text;
hid_t hcy__h5_text_type(void); /* to be closed */
/* An attribute of an object, of an object by its path, several. */
int hcy__h5_put_text(hid_t object, const char *name, const char *text);
int hcy__h5_put_text_at(hid_t file, const char *path, const char *name, const char *text);
int hcy__h5_put_texts(hid_t object, const hcy__h5_text *texts, size_t n);
/* A scalar dataset. */
int hcy__h5_put_field(hid_t file, const char *path, const char *text);
/* A group, with those above it, and the NeXus class it has. */
int hcy__h5_put_group(hid_t file, const char *path, const char *nx_class);

#endif
