/* halcyon/stack.h - reads and writes stacks of detector images, and the curves that are made of them.
 *
 * Reading gives a frame's bytes as they lie in the file, compressed or not, for the devices to decode.  A
 * stack is an HDF5 dataset (frames x height x width, or one image), an image file (TIFF, EDF, CBF, NumPy) or a
 * numbered series of those; no call below decodes a whole stack.
 *
 * Threads: hcy_stack_read() and hcy_stack_frame_size() may be called on one stack from many threads at once;
 * all other calls on one object must come from one thread at a time; different objects may be used by different
 * threads at once.  HDF5 is not thread-safe: every HDF5 call of Halcyon's happens under one lock in src/stack.  A
 * program that calls HDF5 itself must not do so while another of its threads is inside a call of this header.
 * HDF5's own error printing stays silent.
 *
 * In a build without HDF5, libtiff or zlib the files that need them are HCY_EUNSUPPORTED, with a message saying
 * so.
 */
#ifndef HALCYON_STACK_H
#define HALCYON_STACK_H

#include <halcyon/azint.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Reading stacks --- */

typedef struct hcy_stack hcy_stack;

/* Strings belong to the stack. */
typedef struct hcy_stack_info {
    const char *path;
    const char *dataset; /* "/entry/data/data"; "" where it is not HDF5 */
    uint64_t frames;
    uint32_t height, width;
    uint32_t pixel_type;   /* HCY_PIXEL_* of azint_format.h, little-endian */
    uint32_t elem_size;    /* bytes of a pixel: 1, 2, 4, 8 */
    uint32_t codec;        /* HCY_CODEC_* of bslz4_format.h: how every frame's bytes are given */
    uint32_t block_bytes;  /* with HCY_CODEC_BITSHUFFLE: decoded bytes of a block (hcy_bslz4_job.block_bytes),
                              else 0 */
    uint32_t direct;       /* 1: frames are read by pread, in parallel; 0: HDF5 reads them, one at a time */
    uint64_t frame_bytes;  /* of a decoded frame: height * width * elem_size */
    uint64_t max_chunk;    /* most bytes that hcy_stack_read() gives for a frame */
    uint64_t raw_bytes;    /* frames * frame_bytes */
    uint64_t stored_bytes; /* of all frames as they lie in the file */
    uint64_t expected;     /* frames that the detector was told to take (an EIGER master file says so); 0: not known */
    uint32_t channel;      /* which of its energy thresholds, from 1; 0: it has but one */
    const char *channel_name; /* "threshold_2", "difference"; "" */
    uint64_t uncached;     /* files whose frames are read past the page cache; 0 where that was not asked for */
} hcy_stack_info;

/* Opens `path`, by what is in it:
 *   HDF5
 *   TIFF   any number of pages; strips or tiles, either byte order, any compression libtiff has
 *   EDF    any number of frames; either byte order, compressed or not, also whole files in gzip
 *   CBF    one image, as differences (x-CBF_BYTE_OFFSET) or plain, also in gzip
 *   FIT2D  a mask (.msk), a bit a pixel
 *   NumPy  .npy: C order, little-endian, 2-D or 3-D; .npz: one such array, or that which `dataset` names
 * A path with one %d or %05d in it that is no file itself: the series of the files whose numbers are there, one
 * after the other, all like the first; a number that is missing, or a file that is damaged, is one frame that
 * cannot be read.  Files other than HDF5 are decoded when they are read, by the threads that read.
 *
 * For HDF5, a `dataset` of NULL stands for /entry/data/data if that exists, else for EIGER's
 * /entry/data/data_000001, data_000002 ... one after the other, else for the largest numeric dataset of three (or
 * two) dimensions; if several are equally large, the call fails with HCY_EINVAL and names them.  A 2-D dataset is a
 * stack of one frame.  A file that is being written with SWMR is read as far as it is written. In a virtual dataset
 * the frames whose source is missing cannot be read; if that is so of all of them, the call fails with HCY_ENOENT.
 * A virtual dataset that refers to itself is HCY_ECORRUPT.
 *
 * HCY_ENOENT no such file or dataset, HCY_EIO not readable, HCY_EFORMAT no format that is known, or a
 * rank or type that is no image, HCY_ECORRUPT a truncated file, sizes that nothing stands behind, or a damaged group
 * that is to be looked through and cannot be, HCY_ERANGE groups or sources without end, HCY_EUNSUPPORTED, HCY_EINVAL,
 * HCY_ENOMEM. */
HCY_API int hcy_stack_open(hcy_stack **stack, const char *path, const char *dataset) HCY_MUST_USE;
HCY_API void hcy_stack_close(hcy_stack *stack); /* NULL is fine */
HCY_API const hcy_stack_info *hcy_stack_get_info(const hcy_stack *stack);

/* HDF5 is a large library, which a damaged file, or one made for that, can crash, keep busy without end, or fill all
 * memory with.  A file that is isolated is read by a process of its own, halcyon-h5-reader: its structure, attributes,
 * small datasets and the addresses of its chunks come from there, and stored frames are then read by this process as
 * ever.  What only HDF5 can read (other filters, datasets put together from others), that process reads, too: with the
 * same results, only slower.  Its time and memory are limited, and on Linux (x86-64, aarch64) it can read files and do
 * nothing else.  A crash is HCY_ECORRUPT, too much time HCY_ETIMEOUT, too much memory HCY_ENOMEM (HCY_EIO, where HDF5
 * itself notices that it gets none), with words that name the file; after three of them HDF5 is not asked for that
 * stack's frames again.  A file over which it took too much time before it was open takes it once: whatever else is
 * asked about it is HCY_ETIMEOUT at once for ten minutes, unless the file changes or more time is allowed.
 *
 * The host is left alone: no handler of signals is set, this child alone is waited for, no descriptor is inherited.
 * Where the host has its children waited for in general (SIGCHLD ignored, wait() in a thread), a message lacks the
 * signal.  A child of fork() may read such a stack's frames, but those that the process reads: HCY_EFORK. */
enum {
    HCY_ISOLATE_NONE = 1, /* no file */
    HCY_ISOLATE_FOREIGN,  /* files that belong to another user than the one who runs this process */
    HCY_ISOLATE_ALL       /* every HDF5 file */
};
typedef struct hcy_isolation {
    size_t size;      /* sizeof this struct */
    unsigned files;   /* HCY_ISOLATE_*; 0: where options are given, as the program has it */
    unsigned seconds; /* that it may take to answer a question, as what a file holds, or a frame; 0: 60 */
    uint64_t memory;  /* bytes that it may have; 0: 4 GiB */
} hcy_isolation;
#define HCY_ISOLATION_INIT { sizeof(hcy_isolation), HCY_ISOLATE_ALL, 0, 0 }

/* From now on, in all threads: which HDF5 files are isolated by all that reads them here (stacks, images, detectors,
 * corrections, numbers, results, arrays), where its options do not say otherwise.  Before the first call it is what the
 * environment's HALCYON_ISOLATE says (none, foreign, all, which any other word means), else HCY_ISOLATE_NONE. The file
 * that is named counts, not those that it leads to. Parts that hcy_curves_merge() and hcy_sparse_merge() read are
 * tried by that process first: attributes, lists and texts of all that is in them, not the numbers of tables; what
 * HDF5 survives there it is given here. Never isolated are files that are changed; the attributes of an isolated
 * source are not copied by hcy_stack_create().
 * HCY_EINVAL; HCY_EUNSUPPORTED: a build without HDF5, which has nothing to isolate (HCY_ISOLATE_NONE is fine). */
HCY_API int hcy_isolation_set(const hcy_isolation *isolation) HCY_MUST_USE;

typedef struct hcy_stack_options {
    size_t size;         /* sizeof this struct */
    const char *dataset; /* as above; NULL: found */
    const char *channel; /* of a detector with several energy thresholds: "1", "threshold_2", "difference"; NULL */
    int growing;         /* 1: it may be written at this moment; hcy_stack_refresh() looks for more frames */
    const hcy_isolation *isolation; /* of this stack and its corrections; NULL: as the program has it */
    int uncached;        /* 1: frames that lie in one HDF5 or NumPy file (`direct`; of no more than 256 such files) are
                            read past the system's page cache (O_DIRECT), where the file system can; others, and those
                            that a child of fork() reads, as ever */
} hcy_stack_options;
#define HCY_STACK_OPTIONS_INIT { sizeof(hcy_stack_options), NULL, NULL, 0, NULL, 0 }

/* The same with options (NULL: none).
 * Channels are the second of four dimensions (frames x channels x height x width), named by the dataset `channel`
 * beside it, else threshold_1, threshold_2 ...; or groups of such names, each with what a stack can be.  HCY_EINVAL:
 * there are several and none was named, or none has that name. A growing stack is one of chunks in HDF5 (written
 * with SWMR, or flushed now and then), an EIGER master file whose data files appear, or a series.  It has the frames
 * before the first one that is missing; as long as there is no frame at all, opening it is HCY_ENOENT. */
HCY_API int hcy_stack_open_with(hcy_stack **stack, const char *path, const hcy_stack_options *opts) HCY_MUST_USE;

/* One stack of the frames of `n` files, one file after the other, all like the first, each of any of the kinds above;
 * its path is the first one's.  A file behind the first that cannot be read is one frame that cannot be read.
 * HCY_EFORMAT: frames of another size, pixel type or compression; HCY_EINVAL: a growing stack of several files. */
HCY_API int hcy_stack_open_files(hcy_stack **stack, const char *const *paths, size_t n,
                                 const hcy_stack_options *opts) HCY_MUST_USE;
/* The files that a word of a command line names, (*paths)[*n], of which NULL is the end: `@FILE`, those that FILE
 * lists, one a line; a pattern with *, ? or [; a directory, its images and HDF5 files by their suffixes, but for data
 * files whose master is beside them; else the word itself.  In the order of the numbers in their names, a list in its
 * own.  Freed with hcy_list_free().  HCY_ENOENT: there are none; HCY_EFORMAT: an empty list; HCY_EIO, HCY_ERANGE,
 * HCY_ENOMEM. */
HCY_API int hcy_files_find(char ***paths, size_t *n, const char *word) HCY_MUST_USE;

/* Looks again at a growing stack: info's frames, bytes and max_chunk are new, everything else is as it was.  `rest`
 * not 0: nobody writes any more, so frames behind one that is missing count, too.  Not while another thread is in a
 * call on this stack.  On failure the stack stays as it was, and the next look may succeed: a file can be caught
 * half-written.  HCY_ESTATE: not opened as growing; HCY_EFORMAT: it is another stack now. */
HCY_API int hcy_stack_refresh(hcy_stack *stack, int rest) HCY_MUST_USE;

/* Bytes to have ready for hcy_stack_read() of this frame, which may give fewer.  HCY_ERANGE past the last
 * frame; HCY_ENOENT if the frame was never written, or a source of it is not there (HDF5 would read its fill value,
 * which is no measurement). */
HCY_API int hcy_stack_frame_size(size_t *size, const hcy_stack *stack, uint64_t frame) HCY_MUST_USE;

/* Reads the frame's bytes, coded as info.codec says, to dst; *size is how many.  Thread-safe.  Where a chunk
 * was stored without the dataset's filter (its filter mask says so), the bytes given are coded all the same;
 * filter 32008's Zstandard is given as HCY_CODEC_BITSHUFFLE.
 * HCY_ERANGE: no such frame, or capacity below hcy_stack_frame_size(); HCY_ENOENT as above; HCY_ECORRUPT: the
 * file ends before the frame does, or stores it without a filter and in another size than its pixels'; HCY_EIO. */
HCY_API int hcy_stack_read(size_t *size, void *dst, size_t capacity, hcy_stack *stack,
                           uint64_t frame) HCY_MUST_USE;

/* --- One image --- */

typedef struct hcy_image {
    uint32_t height, width;
    uint32_t pixel_type; /* HCY_PIXEL_*; booleans are HCY_PIXEL_U8 */
    uint32_t elem_size;
    size_t bytes;
    void *pixels; /* row after row, decoded */
} hcy_image;

/* Reads a mask, flat ... from `FILE.npy` (or TIFF, EDF, CBF, FIT2D's .msk), `FILE.h5::/path` or `FILE.h5` (where the
 * dataset is found as above).  Only one image: a stack of several frames is HCY_EFORMAT.  Statuses as of
 * hcy_stack_open() and hcy_stack_read().  Free it with hcy_image_free(). */
HCY_API int hcy_image_read(hcy_image **image, const char *path) HCY_MUST_USE;
/* The same; but in an HDF5 file of a detector (a master file), named without ::/path, it is the image `name` of
 * /entry/instrument/detector or its detectorSpecific: "pixel_mask", "flatfield".  Where there is none it is the file's
 * own image; one that is there and cannot be read is that failure. */
HCY_API int hcy_image_find(hcy_image **image, const char *path, const char *name) HCY_MUST_USE;
HCY_API void hcy_image_free(hcy_image *image); /* NULL is fine */
/* mask[height * width]: 1 where the pixel is not zero (masked, as pyFAI has it), else 0. */
HCY_API void hcy_image_to_mask(uint8_t *mask, const hcy_image *image);

/* --- Numbers --- */

/* Reads a list of numbers, one for each frame, such as a monitor's counts.  `path` is `FILE.h5::/path`, `FILE.npy`
 * (both of one dimension; others may be 1) or a text: a number a line, or with `FILE::2` that of its second column;
 * blanks, commas and semicolons part columns, none of them empty, # begins a comment.  `growing` not 0: it may be
 * written at this moment, so a last line without an end, and zeros and NaN at the end of the list, are not there yet.
 * (*values)[*n] is freed with hcy_list_free().  HCY_EINVAL: HDF5 without ::/path, several columns and none is named;
 * HCY_ENOENT, HCY_EFORMAT, HCY_ECORRUPT, HCY_EIO, HCY_EUNSUPPORTED, HCY_ENOMEM. */
HCY_API int hcy_numbers_read(double **values, size_t *n, const char *path, int growing) HCY_MUST_USE;

/* values[height * width], whatever the image's type. */
HCY_API void hcy_image_to_floats(float *values, const hcy_image *image);
/* n images of that size, from a stack named like an image, (*values)[n][height][width]; freed with hcy_list_free().
 * HCY_EFORMAT: it holds others. */
HCY_API int hcy_images_read(float **values, uint32_t n, uint32_t height, uint32_t width,
                            const char *path) HCY_MUST_USE;

/* --- Raw frames of detectors that integrate charge --- */

/* PSI's JUNGFRAU: 16 bits a pixel, the lower 14 what its converter counted, the upper two its gain: 0, 1 and 3 are the
 * maps' first, second and third. */
typedef struct hcy_stack_raw_options {
    size_t size;           /* sizeof this struct */
    const float *pedestal; /* [3][height][width]: counts without light */
    const float *gain;     /* [3][height][width]: counts for a keV, with their sign */
    double photon_energy;  /* keV; 0: pixels become keV */
} hcy_stack_raw_options;
#define HCY_STACK_RAW_OPTIONS_INIT { sizeof(hcy_stack_raw_options), NULL, NULL, 0 }

/* From now on the stack's frames are given converted, by the threads that read them: (count - pedestal) / gain, in
 * single precision.  With a photon energy that is divided by it and rounded to the nearest whole number:
 * HCY_PIXEL_I32, whose sums are exact.  Without, HCY_PIXEL_F32, in keV.  Pixels that are not valid (gain 2, all bits
 * set, a gain of 0 or not finite) become INT32_MIN, those at the end of the third gain, which counts down, INT32_MAX;
 * in keV both are NaN.  info changes; maps are copied.  Not while another thread is in a call on this stack, and once.
 * HCY_EFORMAT: pixels of another type; HCY_EINVAL, HCY_ENOMEM. */
HCY_API int hcy_stack_convert(hcy_stack *stack, const hcy_stack_raw_options *opts) HCY_MUST_USE;

/* A file that a stack is read from: st_dev and st_ino. */
typedef struct hcy_stack_file {
    uint64_t device, inode;
} hcy_stack_file;
/* All of them: its own, the files behind links, virtual datasets and external storage, those of a series.  (*files)[*n]
 * is freed with hcy_list_free(). */
HCY_API int hcy_stack_files(hcy_stack_file **files, size_t *n, const hcy_stack *stack) HCY_MUST_USE;

/* "img_%05d.tif" with a number in its place; a path without % as it is.  HCY_EINVAL: a % that is no %d, or a second
 * one; HCY_ERANGE: it does not fit. */
HCY_API int hcy_numbered_path(char *path, size_t size, const char *pattern, uint64_t number) HCY_MUST_USE;

/* --- Detectors --- */

/* What a file says of its detector: one of pyFAI's detector files (NexusDetector) or a measurement with an NXdetector
 * group (an EIGER master file), both HDF5, or a distortion file of FIT2D's (.spline), which is text.  NULL, 0 or ""
 * where it says nothing. */
typedef struct hcy_detector_info {
    uint32_t height, width;
    double pixel1, pixel2; /* metres, slow and fast axis */
    int orientation;
    char description[128]; /* "Dectris EIGER 4M" */
    float *corners;        /* hcy_poni.corners */
    uint8_t *mask;         /* [height][width], 1: masked */
    float *flat, *dark;    /* [height][width]: of a detector file, to be applied */
    int has_dummy;
    double dummy, delta_dummy;
    int has_beam;
    double distance, beam_x, beam_y; /* metres; pixels, from the outer corner of the first one */
    double wavelength;               /* metres */
    double saturation;               /* counts above it are not valid */
    int has_underload;
    double underload; /* counts below it are not valid */
    /* 1: where its first pixel's outer corner is and which way its rows and columns run, from NXtransformations, in
     * NeXus's frame: z along the beam, y up, x to the left of who looks along it.  -1: it is turned, by axes that
     * cannot be used.  frame_problem says why they cannot, also of axes of which none is known to turn it (0); else
     * which number was not taken for its unit. */
    int has_frame;
    double corner[3];        /* metres */
    double slow[3], fast[3]; /* of length 1: from a row to the next, from a column to the next */
    char frame_problem[160];
    /* FIT2D's distortion file: `mask` has the pixels that are placed outside its valid region, which pyFAI masks for a
     * FReLoN and no other detector. */
    int is_spline;
    float *areas; /* hcy_poni.areas */
} hcy_detector_info;

/* Reads it; to be freed by hcy_detector_info_free().  `FILE.h5::/dataset` is the detector of those frames, in a file
 * of several entries: that of the first group of their path, or, where this has none, the file's one; of pyFAI's files,
 * the newest.  A number in a unit that is not understood is not taken.  HCY_ENOENT no such file, or no detector or
 * dataset in it; HCY_EINVAL: several entries have one; HCY_ECORRUPT: none in what can be read of a damaged file;
 * HCY_EFORMAT: arrays that do not fit one another, or what is no distortion file (words: the line). */
HCY_API int hcy_detector_read(hcy_detector_info **info, const char *path) HCY_MUST_USE;
HCY_API void hcy_detector_info_free(hcy_detector_info *info); /* NULL is fine */
/* Puts the detector of a file into a geometry, which keeps pointing at info's corners.  With a distortion file the
 * geometry's detector stays, if it is of one piece. */
HCY_API void hcy_detector_to_poni(hcy_poni *poni, const hcy_detector_info *info);
/* Makes a whole geometry (beginning with HCY_PONI_INIT) for frames of height x width: from the detector's frame, or
 * else from beam centre and distance, with the detector at right angles to the beam.  A detector that is recognised
 * by its pixels has its gaps masked. HCY_ENOENT: the file does not say all of it; HCY_EUNSUPPORTED: its frame cannot
 * be used. */
HCY_API int hcy_detector_geometry(hcy_poni *poni, const hcy_detector_info *info, uint32_t height,
                                  uint32_t width) HCY_MUST_USE;

/* --- Corrections that come with a stack --- */

/* What an HDF5 file, mostly a stack's own, says of its pixels: the pixel_mask, the flat field and the count-rate
 * correction of its NXdetector group, of its energy threshold where that has its own.  Names are datasets of the file,
 * "" where there is none; flags are 1, 0, or -1 where the file does not say. */
typedef struct hcy_corrections {
    char mask_name[640], flat_name[640], countrate_table[640];
    uint8_t *mask;         /* [height][width], 1: masked; NULL: none, or not asked for */
    int n_masks;           /* datasets that it is made of: pixel_mask, and pixel_mask_1 ... beside it */
    uint64_t n_masked;     /* pixels */
    int mask_is_plain;     /* it is of one dataset, and pyFAI, which looks at the lower 8 bits, masks the same pixels */
    int mask_applied;      /* its pixels have values of their own already: the top value, or 0 */
    float *flat;           /* [height][width]: what counts are divided by; NULL: not to be used, or 1 everywhere */
    int flat_applied;      /* by the detector; then, and where the file does not say, it is not to be used */
    int flat_multiplies;   /* in the file it multiplies counts, as DECTRIS' do; `flat` is one divided by it */
    int countrate_applied; /* by the detector.  Halcyon applies no such table, which acts on each count */
} hcy_corrections;

enum hcy_correction {
    HCY_CORRECTION_MASK = 1,
    HCY_CORRECTION_FLAT = 2,
    HCY_CORRECTION_FLAT_ANYWAY = 4 /* with the second: also where it is not said to be still to be applied */
};

/* Reads the images named by `which` (HCY_CORRECTION_*), and all names and flags, of the stack's own file, or of
 * another one for its frames (`path`; NULL: its own); to be freed by hcy_corrections_free().  What is no HDF5 file, or
 * knows no detector, says nothing: 0.
 * In a pixel_mask the lower 16 bits mask, as NXdetector defines them; the others only say of what kind a pixel is.
 * Which detector's they are is as with hcy_detector_read().
 * HCY_EFORMAT: an image of another shape than the frames; HCY_ENOENT: behind a link that leads nowhere; HCY_EINVAL:
 * several entries have a detector; HCY_EIO, HCY_ENOMEM. */
HCY_API int hcy_corrections_read(hcy_corrections **corrections, const hcy_stack *stack, const char *path,
                                 unsigned which) HCY_MUST_USE;
HCY_API void hcy_corrections_free(hcy_corrections *corrections); /* NULL is fine */
/* Lets options without a mask, or a flat, of their own point at those of `corrections`, for
 * hcy_azint_plan_create().  The mask has the size of the stack's frames: without a stack nothing is done. */
HCY_API void hcy_corrections_use(hcy_azint_options *options, const hcy_corrections *corrections,
                                 const hcy_stack *stack);

/* --- Formats that are written --- */

/* What for; a bit each. */
#define HCY_WRITE_CURVES   1u   /* hcy_curves_open() */
#define HCY_WRITE_CAKES    2u   /* ... of images in radius and azimuth */
#define HCY_WRITE_IMAGES   4u   /* hcy_stack_create(), plain pixels */
#define HCY_WRITE_PACKED   8u   /* ... and coded ones */
#define HCY_WRITE_ARRAY    16u  /* hcy_host_array_write() */
#define HCY_WRITE_TABLE    32u  /* the command's sums of regions */
#define HCY_WRITE_PICTURE  64u  /* its plots */
#define HCY_WRITE_GEOMETRY 128u /* PONI files */
#define HCY_WRITE_SETTINGS 256u /* pyFAI's configurations, hcy_config_write() */

/* The format that a path's suffix says: "h5", "mrd", "npy", "npz", "cfl", "nii", "tiff", "edf", "cbf", "dat", "xy",
 * "xye", "chi", "fxye", "svg", "png", "pdf", "poni", "json".  HCY_EINVAL with those there are, if that is none for `use`, which is one of the
 * above.  For arrays, what is meant in the file may stand behind a colon: "x.h5:/image", "x.nii:phase". */
HCY_API int hcy_format_of(const char **format, const char *path, unsigned use) HCY_MUST_USE;
/* How much of a path is the file's name: up to the colon of "x.h5:/image", where the suffix before it is one of files
 * that hold several things, else all.  0: NULL. */
HCY_API size_t hcy_file_length(const char *path);

/* --- Parts of a stack: frames dealt to several processes or machines --- */

/* One of `count` parts of the frames first to last - 1. */
typedef struct hcy_shard {
    uint64_t number, count; /* number < count; count 0: no part, but the whole */
    uint64_t first, last;   /* the frames of all parts together */
    uint64_t unit;          /* frames that stay together: those of a curve (0 is 1) */
} hcy_shard;

/* The frames of a part, *first to *last - 1: one block, as long as the others' to one unit.  None if *first is *last:
 * there are more parts than units.  HCY_EINVAL: no such part. */
HCY_API int hcy_shard_frames(uint64_t *first, uint64_t *last, const hcy_shard *shard) HCY_MUST_USE;

/* What an HDF5 file, made of a part, says of it; `kind` is what it holds: "curves", "sum", "max", "sparse";
 * "sum-damaged", "max-damaged" where damaged frames were left out of it.  Of a file that is no part count is 0 and kind "".
 * HCY_ENOENT, HCY_EIO, HCY_EFORMAT; HCY_ECORRUPT and what else a reader fails with, where it is isolated;
 * HCY_EUNSUPPORTED: a build without HDF5. */
HCY_API int hcy_shard_read(hcy_shard *shard, char kind[16], const char *path) HCY_MUST_USE;

/* That n parts are all of one dealing, each of them once; a part without frames may be absent.  The message names the
 * files (names[n]), or the parts that are missing.  HCY_EINVAL: not parts, of several dealings, or one twice;
 * HCY_ENOENT: parts are missing. */
HCY_API int hcy_shards_check(const hcy_shard *shards, const char *const *names, size_t n) HCY_MUST_USE;

/* --- Sparse frames --- */

typedef struct hcy_sparse_file hcy_sparse_file;

typedef struct hcy_sparse_options {
    size_t size;          /* sizeof(hcy_sparse_options) */
    uint32_t pixel_type;  /* HCY_PIXEL_*, of the frames */
    const float *radius;  /* [height][width]: as the pipeline was given it */
    double cutoff, noise; /* likewise */
    const char *command;  /* what has made them, in words, or NULL */
    const hcy_stack *source; /* where the frames come from, or NULL: the file says so */
    const hcy_shard *shard;  /* the file says that it is made of this part of the stack; NULL: of all */
} hcy_sparse_options;
#define HCY_SPARSE_OPTIONS_INIT { sizeof(hcy_sparse_options), 0, NULL, 3, 1, NULL, NULL, NULL }

/* An HDF5 file of sparse frames as pyFAI's sparsify writes it, which FabIO reads as images (densify).  It has its name
 * when it is closed.  Of a plan with a dark current the pixels are less it, as the background is, and floating point
 * (float32 for those of 1 and 2 bytes).  The file keeps a reference to the plan.  One thread at a time.
 * HCY_EINVAL: NULL, no radii, a plan of two dimensions; HCY_EIO; HCY_ENOMEM; HCY_EUNSUPPORTED: a build without HDF5. */
HCY_API int hcy_sparse_create(hcy_sparse_file **file, const char *path, const hcy_azint_plan *plan,
                              const hcy_sparse_options *options) HCY_MUST_USE;
/* The next frame, with the arrays of a whole result, of a run without normalization of each frame; NULLs: it failed,
 * has no pixels and a background of NaN. */
HCY_API int hcy_sparse_append(hcy_sparse_file *file, const hcy_azint_result *result,
                              const hcy_sparse *sparse) HCY_MUST_USE;
/* Closes and frees, whatever it returns (NULL is fine); whole 0: the file is taken away, an earlier one stays. */
HCY_API int hcy_sparse_close(hcy_sparse_file *file, int whole);
/* One file of sparse frames from those of all parts, in any order, which it does not need afterwards; *frames and
 * *failed (NULL is fine): how many it has, and how many of them failed, which have no background.  The parts are of one
 * plan and one stack, and nothing is missing or doubled, as hcy_shards_check() has it; the message names the part.
 * Nothing is written after a failure.  HCY_EINVAL, HCY_ENOENT, HCY_EIO, HCY_EFORMAT: no such files; HCY_ECORRUPT: one
 * that says that it has more than it stores; HCY_ENOMEM; HCY_EUNSUPPORTED: a build without HDF5. */
HCY_API int hcy_sparse_merge(uint64_t *frames, uint64_t *failed, const char *path, const char *const *parts,
                             size_t n) HCY_MUST_USE;

/* --- Writing stacks --- */

typedef struct hcy_stack_writer hcy_stack_writer;

typedef struct hcy_stack_writer_options {
    size_t size;         /* sizeof this struct */
    const char *dataset; /* NULL: the source's where that is one dataset, else /entry/data/data */
    uint64_t frames;     /* >= 1 */
    uint32_t height, width;
    uint32_t pixel_type;     /* HCY_PIXEL_* */
    uint32_t codec;          /* HCY_CODEC_NONE, HCY_CODEC_BSLZ4 or HCY_CODEC_LZ4 */
    int keep_existing;       /* 1: an existing file is HCY_ESTATE; 0: it is replaced */
    uint32_t block_bytes;    /* decoded bytes of a block; 0: 8192 */
    int contiguous;          /* HCY_CODEC_NONE: 1: frames lie next to one another, not in chunks */
    const hcy_stack *source; /* where the frames come from, or NULL: never written over; the attributes of its
                                dataset are copied */
    int growing; /* 1: under its own name from the first frame on, for those who read it while it grows; 0: it takes
                    its name when it is closed, and an earlier file stays until then */
    uint64_t first_number; /* of a path with %d: the first frame's */
    const hcy_shard *shard; /* HDF5: the file says that it is made of this part of a stack, or NULL */
    const char *kind;       /* ... and what it holds: "sum", "max" */
} hcy_stack_writer_options;
#define HCY_STACK_WRITER_OPTIONS_INIT { sizeof(hcy_stack_writer_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* The path's suffix says the format: HDF5 with one chunk a frame; plain pixels also as NumPy, TIFF and EDF, and one
 * image of whole numbers of up to 4 bytes as CBF.  A path with one %d: one file a frame, of these but HDF5.  A frame
 * that is never written is a missing chunk in HDF5, a missing file where the path has %d, and zeros elsewhere.
 * HCY_EINVAL: another suffix; HCY_EUNSUPPORTED: pixels of a type that the format lacks; HCY_ERANGE: images of 4 GiB and
 * more, or more frames than can be addressed; HCY_ESTATE: it exists (keep_existing; else it is replaced); HCY_EIO: it
 * cannot be written. */
HCY_API int hcy_stack_create(hcy_stack_writer **writer, const char *path,
                             const hcy_stack_writer_options *opts) HCY_MUST_USE;
/* Writes a decoded frame: coded in the calling thread, so several threads may write different frames of one
 * writer at once.  HCY_ERANGE no such frame, HCY_EIO, HCY_ENOMEM. */
HCY_API int hcy_stack_write(hcy_stack_writer *writer, uint64_t frame, const void *pixels) HCY_MUST_USE;
/* Writes a frame that is coded already; same rules. */
HCY_API int hcy_stack_write_chunk(hcy_stack_writer *writer, uint64_t frame, const void *chunk,
                                  size_t size) HCY_MUST_USE;
/* Bytes of all chunks written so far. */
HCY_API uint64_t hcy_stack_writer_bytes(const hcy_stack_writer *writer);
/* Closes the file and frees the writer, whatever it returns.  HCY_EIO: what was written did not reach the disk; the
 * file is then removed, and an earlier one of that name stays. */
HCY_API int hcy_stack_writer_close(hcy_stack_writer *writer); /* NULL is fine */
/* To be called instead when the stack will not be whole: the file is removed, and an earlier one stays; a growing
 * file stays as it is. */
HCY_API void hcy_stack_writer_discard(hcy_stack_writer *writer); /* NULL is fine */

/* --- Writing curves --- */

typedef struct hcy_curves hcy_curves;

/* What the file says beside the plan; strings are copied where they are needed later. */
typedef struct hcy_curves_options {
    size_t size;             /* sizeof this struct */
    const char *format;      /* "dat", "xy", "xye", "chi", "fxye", "edf", "h5"; NULL: by the path's suffix, "-" is dat */
    const hcy_stack *source; /* where the frames come from, or NULL: recorded, and never written over */
    int keep_existing;       /* 1: an existing file is HCY_ESTATE; 0: it is replaced */
    const char *mask;        /* where the user's mask comes from; NULL: none but the detector's own */
    const char *config;      /* how the curves were made (a command line, JSON), or NULL */
    const char *devices;     /* device strings, or NULL */
    const char *dark, *flat, *monitor; /* where they come from, or NULL */
    const char *file_mask;   /* a mask that the stack's own file has and that was used, FILE::/path, or NULL */
    const char *corrections; /* what was done with masks and corrections of that file, in words, or NULL */
    int growing; /* 1: HDF5 and pyFAI's text have their name from the first frame on and say in themselves how far they
                    are good; 0: every file takes its name when it is closed, and an earlier one stays until then */
    const hcy_shard *shard; /* HDF5: the file says that its curves are of this part of the stack; NULL: of all */
    /* Regions whose sums come with the curves, to HDF5 and pyFAI's text: */
    const hcy_region *regions;       /* [n_regions] where they are; their masks are not looked at */
    const char *const *region_names; /* [n_regions] */
    size_t n_regions;
    int sums; /* 1, HDF5: the sums of each frame's bins, too; results must have them (no means alone) */
} hcy_curves_options;
#define HCY_CURVES_OPTIONS_INIT { sizeof(hcy_curves_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Opens a file for the curves of `plan` (only read during the call).  opts NULL: the defaults.  The suffix
 * of `path` says the format:
 *   .dat .txt       pyFAI's text.  One file: frames are blocks that open with `# frame N`, separated by two
 *                   blank lines (gnuplot's `index`).  A path with one %d (`curve_%04d.dat`): one file a
 *                   frame, numbered by it, each as pyFAI writes it; a frame that failed has none.  "-" is
 *                   standard output.
 *   .xy             the rows of that text and nothing else; a failed frame's are NaN, where it has no file of its own.
 *   .xye            the same with a column of errors, which there must be.
 *   .chi            Fit2D's text: a title, two labels, the number of rows, and the rows; one curve a file.
 *   .fxye           GSAS' and GSAS-II's: 2theta in hundredths of a degree, intensity, error; one curve a file, of
 *                   plans in 2th_deg.
 *   .h5 .hdf5 .nxs  HDF5 in the layout of pyFAI's HDF5Writer: /entry_0000/integrate/results with radial[n],
 *                   data[frames][n], data_errors[frames][n], the frames' numbers, frame[frames],
 *                   pixels[n], those of each bin, and norm[n], what a frame that loses no pixel is divided by;
 *                   with `sums` sum_signal[frames][n] and the other sums of hcy_azint_result, by pyFAI's names:
 *                   sum_variance, sum_normalization, sum_normalization2, count; .../regions with
 *                   sum[frames][regions] and the other members of hcy_region_sums, name[regions],
 *                   box[regions][4]; .../configuration/data is pyFAI's WorkerConfig as JSON.  Where the unit
 *                   is q or 2 theta and the wavelength is known, /azint has the same as NXazint1d or NXazint2d
 *                   (NeXus' definitions of 2025.11), in 1/Angstrom or degrees.
 *                   Flushed once a second while rows come, so that an interruption leaves a valid file;
 *                   /entry_0000/integrate/halcyon/status is an attribute that says "growing", "stopped" or
 *                   "complete".
 *   .edf            images in radius and azimuth (plans with n_azim bins) in single precision, one after the other.
 * Images go to .h5 too: chi[n_azim], data[frames][n_azim][n].  Curves along chi (one bin in radius) are curves.
 * HCY_EINVAL unknown suffix or the source itself, images as text, curves as EDF, regions elsewhere than in .dat, .h5,
 * HCY_ESTATE exists (keep_existing; else it is replaced), HCY_EIO not writable, HCY_EUNSUPPORTED.
 */
HCY_API int hcy_curves_open(hcy_curves **curves, const char *path, const hcy_azint_plan *plan,
                            const hcy_curves_options *opts) HCY_MUST_USE;
/* The next curve, written at once; frames come in the order in which they shall stand.  result NULL: the
 * frame failed, `why` says why (may be NULL); its row is NaN, in text the line `# frame N failed: why`,
 * and no file where each frame has its own.
 * HCY_EIO: full disk ...; nothing more is written then. */
HCY_API int hcy_curves_append(hcy_curves *curves, uint64_t frame, const hcy_azint_result *result,
                              const char *why) HCY_MUST_USE;
/* The same with what is in the file's regions in this frame, [n_regions]; NULL: the frame failed, and has zeros. */
HCY_API int hcy_curves_append_regions(hcy_curves *curves, uint64_t frame, const hcy_azint_result *result,
                                      const hcy_region_sums *regions, const char *why) HCY_MUST_USE;
/* Puts what became of the run beside the curves, at any time before they are closed: in HDF5 an attribute `name` of
 * /entry_0000/integrate/halcyon, in one file of pyFAI's text a line `# name: text`; in other formats there is no place
 * for it, which is no failure. */
HCY_API int hcy_curves_remark(hcy_curves *curves, const char *name, const char *text) HCY_MUST_USE;
/* To be called now and then while no curve comes: takes those that have waited for a second to the file, as the next
 * append would, for whoever reads along, and so that they are there if the process is killed.  HCY_EIO as above. */
HCY_API int hcy_curves_flush(hcy_curves *curves) HCY_MUST_USE;
/* To be called when all curves are there: closes and frees, whatever it returns.  HCY_EIO: what was written did not
 * reach the disk; the file is then removed, and an earlier one stays.  If an append failed before, its failure is
 * returned again, and the file ends as hcy_curves_stop() leaves it. */
HCY_API int hcy_curves_close(hcy_curves *curves); /* NULL is fine */
/* To be called instead when curves are missing: what there is stays under the temporary name that a file has until
 * it is whole, and an earlier file stays too.  The temporary name is written to `place`, which has `size` bytes; ""
 * means that nothing is left, or that each frame has its own file. */
HCY_API int hcy_curves_stop(char *place, size_t size, hcy_curves *curves); /* NULL is fine */

enum { HCY_MERGE_COPY = 1 }; /* rows are copied; else they stay in the parts, to which virtual datasets lead */

/* Makes one file of the HDF5 files parts[n], which hcy_curves_open() has written and hcy_curves_close() has closed:
 * the curves of all in the order of their frames (*rows of them; NULL: of no interest), in the layout of one such file,
 * with what the first one says.  Parts in its folder, or in one within, are referred to relative to it, others by
 * their whole path.
 * The parts are of one plan and one stack, and nothing is missing or doubled: as hcy_shards_check() has it, or, where
 * they do not say that they are parts, their frames follow one another.  HCY_EINVAL: they are not, or
 * `path` is a part and rows are not copied; HCY_ENOENT: a part is missing; HCY_ESTATE: one was not finished; both
 * messages say which.  HCY_EFORMAT: no file of curves; HCY_EIO, HCY_ENOMEM, HCY_EUNSUPPORTED: a build without HDF5. */
HCY_API int hcy_curves_merge(uint64_t *rows, const char *path, const char *const *parts, size_t n,
                             uint32_t flags) HCY_MUST_USE;

/* --- Configurations: pyFAI's WorkerConfig as JSON --- */

/* What a configuration says.  Strings belong to it. */
typedef struct hcy_config {
    int has_poni;
    hcy_poni poni;             /* where it has one */
    hcy_azint_options options; /* its arrays are NULL; what it does not say is as in HCY_AZINT_OPTIONS_INIT */
    const char *mask, *dark, *flat; /* files, as hcy_image_read() takes them, or NULL */
    const char *monitor;            /* "/path" or "FILE::/path" of a list of numbers, or NULL */
} hcy_config;

/* Reads a configuration of version 1 to 5, as pyFAI's programs and its Worker write it.  A configuration that
 * Halcyon could not follow to pyFAI's curve is refused, and the error names the key: HCY_EUNSUPPORTED (another
 * integrator, several files for a dark current ...; or a build without jansson).  HCY_EFORMAT: no JSON, or a value
 * that is none; HCY_ENOENT, HCY_EIO, HCY_ENOMEM. */
HCY_API int hcy_config_read(hcy_config **config, const char *path) HCY_MUST_USE;
HCY_API void hcy_config_free(hcy_config *config); /* NULL is fine */
/* Writes what `plan` does, with the files that `opts` (may be NULL) names, for pyFAI and hcy_config_read(): the text
 * that HDF5 files of curves have inside.  Files get their whole path, HDF5 files their dataset.  HCY_EIO,
 * HCY_ENOMEM. */
HCY_API int hcy_config_write(const char *path, const hcy_azint_plan *plan,
                             const hcy_curves_options *opts) HCY_MUST_USE;

/* --- Reading curves --- */

typedef struct hcy_results hcy_results;

/* What is in a file of curves; everything belongs to the hcy_results. */
typedef struct hcy_results_info {
    const char *path;
    uint64_t rows;           /* curves, or images */
    size_t n_radial, n_azim; /* n_azim 0: curves */
    const double *radial;    /* [n_radial] bin centres */
    const double *azimuthal; /* [n_azim] in azimuth_unit: degrees, mostly; NULL for curves */
    const char *unit;        /* of radial: a name of hcy_azint_unit_list(), "chi_deg"; "": not known */
    const char *label;       /* for an axis: "Scattering vector q (nm^-1)"; "" as above */
    int has_sigma;
    const double *pixels; /* [n_radial], or [n_azim][n_radial]: how many are in each bin; NULL: the file does not say */
    const char *definition; /* NeXus' that an entry of the file follows, "NXazint1d", "NXazint2d"; "": none */
    int has_sums;           /* the sums of each frame's bins are in it, too */
    const char *azimuth_unit, *azimuth_label; /* of azimuthal, likewise: "chi_deg", mostly */
    uint64_t failed, first_failed; /* frames without a curve, and the first one's number, as HDF5 of ours says; 0 */
} hcy_results_info;

/* Opens what hcy_curves_open() or pyFAI has written, by what is in it: HDF5 (the file's default NXdata with
 * `radial`, and `chi` for images, or that of NXazint1d and NXazint2d, whoever wrote it), text of two or three columns
 * in blocks, Fit2D's and GSAS' text, EDF images.  Rows are read when they are asked for.  HCY_ENOENT, HCY_EIO;
 * HCY_EFORMAT: no such thing is in it, or blocks of text of unequal length (a last one that is shorter, of a run that
 * was interrupted, is left out); HCY_EUNSUPPORTED; HCY_ENOMEM. */
HCY_API int hcy_results_open(hcy_results **results, const char *path) HCY_MUST_USE;
HCY_API const hcy_results_info *hcy_results_get_info(const hcy_results *results);
/* Reads one curve (n_radial values) or one image (n_azim rows of n_radial values) to `intensity`, and its errors,
 * NaN where there are none, to `sigma`.  `frame` gets the frame's number in its stack, or the row's where the file
 * says none.  `frame` and `sigma` may be NULL.  A frame that failed is all NaN.  HCY_ERANGE: no such row; HCY_EIO,
 * HCY_ECORRUPT. */
HCY_API int hcy_results_read(uint64_t *frame, double *intensity, double *sigma, hcy_results *results,
                             uint64_t row) HCY_MUST_USE;
HCY_API void hcy_results_close(hcy_results *results); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
