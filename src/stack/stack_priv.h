/* stack_priv.h - what the files of src/stack share: an open stack, pixel types, the formats' openers.
 *
 * A stack is one or more parts (an HDF5 dataset, an image file) and, frame by frame, the place of its bytes.
 * Parts know how their bytes are fetched; everything else is the same for all of them.  After it was opened a
 * stack is only read, so it needs no lock of its own; memory that uncached.c reads through has one.
 */
#ifndef HCY_STACK_PRIV_H
#define HCY_STACK_PRIV_H

#include <azint/azint_format.h>
#include <bslz4/bslz4_format.h>
#include <halcyon/stack.h>
#include <stddef.h>
#include <sys/types.h>

/* The pixel types there are, for names and for finding one by kind and size. */
typedef struct hcy__pixel {
    uint32_t type; /* HCY_PIXEL_* */
    char kind;     /* 'u', 'i', 'f' */
    uint32_t size;
    const char *name;
} hcy__pixel;
const hcy__pixel *hcy__pixel_find(char kind, size_t size); /* NULL: none */
const hcy__pixel *hcy__pixel_of_type(uint32_t pixel_type); /* NULL: none */
/* values[n], whatever the type. */
void hcy__pixels_to_doubles(double *values, const void *pixels, uint32_t pixel_type, size_t n);

/* Where a frame's bytes are. */
typedef struct hcy__location {
    uint64_t offset; /* in the part's file */
    uint64_t size;   /* stored bytes */
    uint32_t part;
    uint32_t flags; /* LOCATION_* */
} hcy__location;
#define LOCATION_MISSING 1u /* never written */
#define LOCATION_PLAIN 2u   /* pixels as they are, though the stack has a codec */
#define LOCATION_ABSENT 8u  /* missing, because a source is: `part` is its number in `absent` */
#define LOCATION_ZSTD 4u    /* of filter 32008 with Zstandard; given as without compression */

typedef struct hcy__part hcy__part;
struct hcy__format;
struct hcy__part {
    int fd;          /* -1: none */
    int uncached;    /* the same file, read past the page cache (uncached.c); -1: it is not */
    char *name;      /* for messages: the file, or dataset */
    const char *from; /* the stack's file that it is of (of `also`); NULL: its first */
    uint64_t first;  /* its first frame in the stack */
    int64_t dataset; /* HDF5's id, for fetch and drop */
    char *file;      /* the file that `fd` is of, where HDF5 named it; NULL */
    struct hcy__reader *reader; /* of isolate.h: the process that has it open, for fetch and drop; NULL */
    const struct hcy__format *format; /* of files.h: `name` is a file that is opened for each frame; or NULL */
    /* Reads place->size bytes of frame `frame` of the stack to dst. */
    int (*fetch)(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__location *place,
                 void *dst);
    void (*drop)(hcy__part *part); /* lets go of `dataset`; NULL: nothing to do */
};

/* Raw frames on their way to photons (raw.c). */
struct hcy__raw;

struct hcy_stack {
    hcy_stack_info info;  /* as stored */
    hcy_stack_info shown; /* as given: the same, but for frames that are converted */
    struct hcy__raw *raw; /* NULL: they are not */
    char *path, *dataset;
    hcy__part *parts;
    size_t n_parts;
    hcy__location *places; /* one a frame; NULL: one part, frames next to one another from `base` on */
    uint64_t base;
    char **also;   /* the files of a list behind the first, `path` */
    size_t n_also;
    char **absent; /* what keeps frames from being read: "x.h5 is not there ..." */
    size_t n_absent;
    char *wanted, *channel; /* asked for, or NULL */
    int wanted_is_taken;    /* by an archive of arrays, where it is no dataset of HDF5's */
    char channel_name[64];
    int growing;
    int reads_uncached;             /* is asked for; */
    struct hcy__uncached *uncached; /* memory that such reads go through, or NULL */
    const hcy_stack *known; /* while a growing stack is opened again: as it was.  Frames stay where they are */
    hcy_isolation isolation;    /* asked for; files 0: as the program has it */
    struct hcy__reader *reader; /* of one that grows and is isolated */
    char **read_by_h5;          /* files that HDF5 opens for the parts with a reader */
    size_t n_read_by_h5;
};

/* Fill an empty stack but for info's sums (hcy_stack_open adds those and closes it after a failure). */
int hcy__npy_open(hcy_stack *stack);
int hcy__h5_open(hcy_stack *stack);

/* Parts and places of an empty stack's path, by what is in it; info's sums are left. */
int hcy__stack_fill(hcy_stack *stack);
/* All in info that follows from parts and places, anew. */
int hcy__stack_complete(hcy_stack *stack);
/* Opens a file and appends its frames; one that cannot be opened is a frame that cannot be read (list.c). */
int hcy__list_add(hcy_stack *stack, const char *path);
/* The files of a list, a line each, freed by the caller; NULL: the stack is no list. */
int hcy__stack_sources(char **text, const hcy_stack *stack);

/* `shown` of a stack with `raw`; one of its frames, from the chunk of `size` bytes as stored. */
void hcy__raw_show(hcy_stack *stack);
int hcy__raw_convert(void *dst, const hcy_stack *stack, const void *chunk, size_t size);
void hcy__raw_free(struct hcy__raw *raw);
/* Decodes a chunk with a device's queue of its own; device NULL: of its own, too. */
int hcy__decode(void *pixels, const hcy_stack_info *info, struct hcy_device *device, const void *chunk, size_t size);

/* hcy_image_read() of an HDF5 file that is isolated as these options (files 0: as the program) have it. */
int hcy__image_read(hcy_image **image, const char *path, const hcy_isolation *isolation);
/* Adds an image's masked pixels to a mask: those with a bit in their `low_bytes` (of floats, which are not 0). */
void hcy__image_add_mask(uint8_t *mask, const hcy_image *image, size_t low_bytes);

/* Fills a zeroed info, to be freed also after a failure, with the detector of the frames `dataset` ("": any). */
int hcy__h5_detector_read(hcy_detector_info *info, const char *path, const char *dataset);
/* A copy of the path FILE::INSIDE that ends before its first ::, to be freed; *inside: what stands behind, NULL where
 * it has none.  NULL: no memory. */
char *hcy__split_path(char **inside, const char *path);

/* The known place of frame `frame`, NULL if there is none. */
const hcy__location *hcy__stack_known(const hcy_stack *stack, uint64_t frame);
/* Adds a zeroed part to the stack. */
int hcy__stack_add_part(hcy__part **part, hcy_stack *stack, const char *name);
/* Lets go of all parts but the first `keep`. */
void hcy__stack_drop_parts(hcy_stack *stack, size_t keep);
/* Room for n more places behind those of info.frames: frames that were never written, until they are filled in.
 */
int hcy__stack_add_places(hcy__location **places, hcy_stack *stack, uint64_t n);
/* Notes that a frame cannot be read, because `reason`. */
int hcy__stack_absent(hcy__location *place, hcy_stack *stack, const char *reason);
/* Appends to a list of a stack's paths: `also`, `read_by_h5`. */
int hcy__note_path(char ***paths, size_t *n, const char *path, const hcy_stack *stack);
/* fetch() of parts with a file descriptor: pread. */
int hcy__fetch_pread(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__location *place,
                     void *dst);
/* A chunk of LOCATION_ZSTD as one of the job, which is of HCY_CODEC_BITSHUFFLE: job->image_bytes.  HCY_ECORRUPT,
 * HCY_EUNSUPPORTED: its blocks are of another size.  Only with libzstd. */
int hcy__zstd_planes(void *dst, const hcy_bslz4_job *job, const void *chunk, size_t size);
/* What parts and their pieces of memory need to be read past the page cache, if that is asked for; its end. */
int hcy__uncached_open(hcy_stack *stack);
void hcy__uncached_close(hcy_stack *stack);
/* hcy__read_at() of a part that is. */
uint64_t hcy__uncached_read(const hcy_stack *stack, const hcy__part *part, void *dst, uint64_t size, uint64_t offset,
                            int *number);
/* preads until `size` bytes are there, the file ends, or it fails (then *number is the errno, else 0); how
 * many. */
uint64_t hcy__read_at(int fd, void *dst, uint64_t size, uint64_t offset, int *number);
/* HCY_EIO, in the system's words. */
int hcy__read_failed(const char *path, int number);
/* Opens `path` for reading: *fd, or HCY_ENOENT; HCY_EIO, also for what is no plain file. */
int hcy__open_file(int *fd, const char *path);
/* Is `path` one of these files? */
int hcy__is_among(const hcy_stack_file *files, size_t n, const char *path);
/* Names all files that HDF5 opens for a dataset of the file `from`. */
void hcy__h5_read_files(int64_t dataset, const char *from, void (*take)(void *payload, const char *path),
                        void *payload);
/* A caller's isolation (NULL: none) checked and completed.  HCY_EINVAL; HCY_EUNSUPPORTED: a build without HDF5. */
int hcy__isolation_read(hcy_isolation *isolation, const hcy_isolation *given);
/* The words for an errno, in `buf`. */
const char *hcy__errno_text(int number, char *buf, size_t size);
/* Refuses a path that exists if `keep_existing`, that is no regular file, or that `source` (may be NULL) is
 * read from: what every writer of files asks first. */
int hcy__may_write(const char *path, int keep_existing, const hcy_stack *source);

/* A path with one %d, or %04d, in it. */
typedef struct hcy__numbered {
    const char *path;
    size_t at, length; /* of the conversion; length 0: there is none */
    int width, zeros;
} hcy__numbered;
/* HCY_EINVAL: a % that is none, or a second one. */
int hcy__numbered_parse(hcy__numbered *numbered, const char *path);
/* The path of this number, freed by the caller; NULL: no memory. */
char *hcy__numbered_path(const hcy__numbered *numbered, uint64_t number);

#endif
