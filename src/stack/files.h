/* files.h - image files as stacks: TIFF, EDF, CBF, NumPy, FIT2D's masks, one file or a numbered series.
 *
 * A format says whether a file is its own, where the frames in it are, and reads one of them to little-endian
 * pixels.  It keeps nothing open: files are opened for each frame, so a series may have any number of them, and
 * frames are read by any number of threads.
 */
#ifndef HCY_STACK_FILES_H
#define HCY_STACK_FILES_H

#include "stack_priv.h"

/* --- Bytes of a file; those of a gzip file are decompressed to memory --- */

typedef struct hcy__bytes {
    const char *path; /* the caller's */
    int fd;
    unsigned char *memory; /* NULL: in the file */
    uint64_t size;
} hcy__bytes;
int hcy__bytes_open(hcy__bytes *bytes, const char *path);
void hcy__bytes_close(hcy__bytes *bytes);
/* *n: how many of `size` bytes are there, which were read.  HCY_EIO. */
int hcy__bytes_read(size_t *n, const hcy__bytes *bytes, void *dst, size_t size, uint64_t offset);
/* All of them, or HCY_ECORRUPT: there are fewer; HCY_EIO. */
int hcy__bytes_need(const hcy__bytes *bytes, void *dst, size_t size, uint64_t offset);
/* Text from `offset` to where `end` says that it ends (0: not within these n bytes), 0-terminated, freed by the
 * caller.  HCY_ECORRUPT: no end within a megabyte. */
int hcy__bytes_text(char **text, size_t *length, const hcy__bytes *bytes, uint64_t offset,
                    size_t (*end)(const char *text, size_t n));
/* Decompresses zlib's or gzip's bytes to exactly `size`.  HCY_ECORRUPT, HCY_EUNSUPPORTED. */
int hcy__inflate(void *dst, size_t size, const void *src, size_t src_size, const char *path);

/* --- Formats --- */

/* What is in a file. */
typedef struct hcy__frames {
    uint64_t height, width; /* of its first frame */
    const hcy__pixel *pixel;
    uint64_t *offsets; /* where each begins, in the format's own way; 0 is always the first one */
    size_t n, room;
} hcy__frames;
int hcy__frames_add(hcy__frames *frames, uint64_t offset);

typedef struct hcy__format {
    const char *name;
    int (*is)(const unsigned char *head, size_t n);
    int (*scan)(hcy__frames *frames, const char *path);
    /* The frame at `offset`, if it is as `info` says: info->frame_bytes of pixels. */
    int (*read)(void *dst, const char *path, uint64_t offset, const hcy_stack_info *info);
} hcy__format;

extern const hcy__format hcy__format_tiff, hcy__format_edf, hcy__format_cbf, hcy__format_npy, hcy__format_mask;
#define HCY__MAGIC 16 /* bytes that is() gets, if there are so many */

/* EDF: the header at `offset`, 0-terminated, freed by the caller; the value of "key = value ;" in such a text,
 * 0 if it is not there. */
int hcy__edf_text(char **text, const char *path, uint64_t offset);
int hcy__edf_value(char *value, size_t room, const char *text, const char *key);

/* 0 if a frame of these properties is one of the stack's, else HCY_EFORMAT. */
int hcy__frame_fits(const hcy_stack_info *info, const char *path, uint64_t height, uint64_t width,
                    const hcy__pixel *pixel);
/* Turns the bytes of n elements around. */
void hcy__swap(void *pixels, size_t n, size_t size);

/* Takes `path` in if it is an image file: *taken. */
int hcy__files_open(hcy_stack *stack, int *taken);
/* The files of a numbered path, "img_%05d.tif". */
int hcy__series_open(hcy_stack *stack);

#endif
