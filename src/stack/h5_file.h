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
    struct hcy_output *output;
    char *path;
    uint64_t end;      /* how far the file reaches */
    uint64_t reserved; /* how far the disk has room for it: of files that are flushed */
    hcy_error failed; /* the first failure; status 0: none */
} hcy__h5_file;

/* Begins path, to be whole when it is closed.  HCY_EIO. */
int hcy__h5_file_create(hcy__h5_file **file, const char *path);
/* The same with what an HDF5 file of that name holds. */
int hcy__h5_file_change(hcy__h5_file **file, const char *path);
/* HCY_EIO if something did not reach the file, else 0. */
int hcy__h5_file_status(const hcy__h5_file *file);
/* Flushes what HDF5 still holds, and asks.  From then on the file can be read as it was flushed last. */
int hcy__h5_file_flush(hcy__h5_file *file);
/* The same, and it has its name from then on, for those who read along. */
int hcy__h5_file_show(hcy__h5_file *file);
/* Closes and frees: the status, as above.  Every object of the file must be closed before.  The file gets its name
 * (not after a failure), stays where it is, or is taken away. */
enum hcy__h5_end { HCY__H5_WHOLE, HCY__H5_KEEP, HCY__H5_DISCARD };
int hcy__h5_file_close(hcy__h5_file *file, enum hcy__h5_end end);
/* Closes for HDF5, and frees; what it has written is the caller's, who commits it.  *output is NULL after a failure. */
int hcy__h5_file_hand_over(struct hcy_output **output, hcy__h5_file *file);

/* Text is of variable length in UTF-8, as h5py writes it; a NULL text is left out. */
typedef struct hcy__h5_text {
    const char *name, *text;
} hcy__h5_text;
hid_t hcy__h5_text_type(void); /* to be closed */
/* An attribute of an object, of an object by its path, several. */
int hcy__h5_put_text(hid_t object, const char *name, const char *text);
int hcy__h5_put_text_at(hid_t file, const char *path, const char *name, const char *text);
int hcy__h5_put_texts(hid_t object, const hcy__h5_text *texts, size_t n);
/* An attribute of several texts: NXdata's axes, one name a dimension, "." where there is none. */
int hcy__h5_put_names(hid_t object, const char *name, const char *const *texts, size_t n);
/* A scalar dataset. */
int hcy__h5_put_field(hid_t file, const char *path, const char *text);
/* A dataset of numbers, of the type as it is stored, with attributes; rank 0: one number. */
int hcy__h5_put_numbers(hid_t at, const char *name, hid_t type, int rank, const hsize_t *dims, const double *values,
                        const hcy__h5_text *texts, size_t n_texts);
/* A group, with those above it, and the NeXus class it has. */
int hcy__h5_put_group(hid_t file, const char *path, const char *nx_class);
/* The attributes of an object of any file, as far as they can be read and do not point into it.  `to` -1: they are only
 * read. */
void hcy__h5_copy_attributes(hid_t to, hid_t from);
/* What a link in the file `path`, a whole name, says of the file `source`: its name within the folder of `path` where
 * it lies there or below, else from the root on; freed by the caller.  NULL: there is no such file. */
char *hcy__h5_link_target(const char *path, const char *source);

#endif
