/* stack.c - stacks of images: opening, where a frame is, reading it.
 *
 * The formats' openers (files.c, npy.c, h5_stack.c) fill in what the file holds; this file knows no format.
 * hcy_stack_read() takes no lock and writes to nothing but the caller's memory, but past the page cache (uncached.c).
 */
#include "files.h"
#include "isolate.h"
#include "sized.h"
#include <errno.h>
#include <fcntl.h>
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *hcy__errno_text(int number, char *buf, size_t size)
{
    if (strerror_r(number, buf, size))
        buf[0] = 0;
    return buf;
}

/* A pipe that nobody writes to would be waited for without O_NONBLOCK, which files do not heed. */
int hcy__open_file(int *fd, const char *path)
{
    char words[128];
    struct stat is = { 0 };
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int number = errno;
    if (*fd >= 0 && !fstat(*fd, &is) && S_ISREG(is.st_mode))
        return 0;
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
        const char *kind = S_ISDIR(is.st_mode) ? "directory" : "device";
        if (S_ISFIFO(is.st_mode))
            kind = "pipe";
        return hcy_fail(HCY_EIO, "%s is a %s, not a file", path, kind);
    }
    if (number == ENOENT || number == ENOTDIR)
        return hcy_fail(HCY_ENOENT, "%s: there is no such file", path);
    return hcy_fail(HCY_EIO, "%s cannot be opened: %s", path, hcy__errno_text(number, words, sizeof words));
}

int hcy__stack_add_part(hcy__part **part, hcy_stack *stack, const char *name)
{
    hcy__part *parts = realloc(stack->parts, (stack->n_parts + 1) * sizeof *parts);
    char *copy = strdup(name);
    /* The array may have moved even if the name could not be copied: the stack keeps it, one part larger than it
     * counts. */
    if (parts)
        stack->parts = parts;
    if (!parts || !copy) {
        free(copy);
        return hcy_fail(HCY_ENOMEM, "no memory for part %zu of %s", stack->n_parts, stack->path);
    }
    *part = &parts[stack->n_parts++];
    **part = (hcy__part){ .fd = -1, .uncached = -1, .name = copy, .dataset = -1 };
    return 0;
}

int hcy__stack_add_places(hcy__location **places, hcy_stack *stack, uint64_t n)
{
    size_t bytes;
    hcy__location *all = NULL;
    if (!hcy_size_add(&bytes, stack->info.frames, n) && !hcy_size_mul(&bytes, bytes, sizeof *all))
        all = realloc(stack->places, bytes ? bytes : 1);
    if (!all)
        return hcy_fail(HCY_ENOMEM, "no memory for the places of %llu frames of %s", (unsigned long long)n,
                        stack->path);
    stack->places = all;
    /* New ones stand behind those that the stack has; whoever asked for them fills in what is there. */
    *places = all + stack->info.frames;
    for (uint64_t i = 0; i < n; i++)
        (*places)[i] = (hcy__location){ .flags = LOCATION_MISSING };
    return 0;
}

int hcy__stack_absent(hcy__location *place, hcy_stack *stack, const char *reason)
{
    size_t i = stack->n_absent;
    /* Frames next to one another have the same reason, so that it is looked for from the end. */
    while (i > 0 && strcmp(stack->absent[i - 1], reason))
        i--;
    if (!i) {
        char **absent = realloc(stack->absent, (stack->n_absent + 1) * sizeof *absent);
        char *copy = absent ? strdup(reason) : NULL;
        stack->absent = absent ? absent : stack->absent;
        if (!copy)
            return hcy_fail(HCY_ENOMEM, "no memory for the sources of %s", stack->path);
        stack->absent[stack->n_absent++] = copy;
        i = stack->n_absent;
    }
    *place = (hcy__location){ .part = (uint32_t)(i - 1), .flags = LOCATION_MISSING | LOCATION_ABSENT };
    return 0;
}

int hcy__note_path(char ***paths, size_t *n, const char *path, const hcy_stack *stack)
{
    char **more = realloc(*paths, (*n + 1) * sizeof *more), *copy = strdup(path);
    *paths = more ? more : *paths;
    if (!more || !copy) {
        free(copy);
        return hcy_fail(HCY_ENOMEM, "no memory for the files of %s", stack->path);
    }
    (*paths)[(*n)++] = copy;
    return 0;
}

uint64_t hcy__read_at(int fd, void *dst, uint64_t size, uint64_t offset, int *number)
{
    uint64_t done = 0;
    *number = 0;
    while (done < size) {
        ssize_t n = pread(fd, (char *)dst + done, size - done, (off_t)(offset + done));
        /* A signal is no failure, and a short read may just be a network's. */
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            *number = errno;
        if (n <= 0)
            break;
        done += (uint64_t)n;
    }
    return done;
}

int hcy__read_failed(const char *path, int number)
{
    char words[128];
    return hcy_fail(HCY_EIO, "%s cannot be read: %s", path, hcy__errno_text(number, words, sizeof words));
}

int hcy__fetch_pread(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__location *place,
                     void *dst)
{
    char words[128];
    int number = 0;
    uint64_t done = 0;
    if (part->uncached >= 0)
        done = hcy__uncached_read(stack, part, dst, place->size, place->offset, &number);
    /* What cannot be read that way may be read as ever. */
    if (part->uncached < 0 || number)
        done = hcy__read_at(part->fd, dst, place->size, place->offset, &number);
    if (done == place->size)
        return 0;
    if (number)
        return hcy_fail(HCY_EIO, "frame %llu of %s: reading %llu bytes at offset %llu of %s failed: %s",
                        (unsigned long long)frame, stack->path, (unsigned long long)place->size,
                        (unsigned long long)place->offset, part->name,
                        hcy__errno_text(number, words, sizeof words));
    return hcy_fail(
        HCY_ECORRUPT,
        "frame %llu of %s: the file is truncated, %llu of the frame's %llu bytes at offset %llu of %s are "
        "missing",
        (unsigned long long)frame, stack->path, (unsigned long long)(place->size - done),
        (unsigned long long)place->size, (unsigned long long)place->offset, part->name);
}

/* --- Opening --- */

/* Image files by their first bytes; all else is HDF5's to understand (its signature may stand behind a user
 * block).  A path with %d that is no file is a series. */
int hcy__stack_fill(hcy_stack *stack)
{
    const char *dataset = stack->wanted;
    struct stat is;
    int taken = 1, st;
    if (strchr(stack->path, '%') && stat(stack->path, &is))
        st = hcy__series_open(stack);
    else
        st = hcy__files_open(stack, &taken);
    /* A dataset or a channel that is asked for of an image would be passed over without a word. */
    if (!st && taken && dataset && dataset[0] && !stack->wanted_is_taken)
        return hcy_fail(HCY_EINVAL, "%s is not an HDF5 file: it has no dataset '%s'", stack->path, dataset);
    if (!st && taken && stack->channel)
        return hcy_fail(HCY_EINVAL, "%s is not an HDF5 file: it has no channel '%s'", stack->path, stack->channel);
    if (st || taken)
        return st;
#ifdef HAVE_HDF5
    hcy_isolation limits;
    return hcy__isolates(&limits, &stack->isolation, stack->path) ? hcy__isolated_open(stack, &limits)
                                                                  : hcy__h5_open(stack);
#else
    return hcy_fail(HCY_EUNSUPPORTED,
                    "%s is neither TIFF, EDF, CBF nor NumPy, and this build of Halcyon has no HDF5", stack->path);
#endif
}

static hcy_bslz4_job job_of(const hcy_stack_info *info)
{
    return (hcy_bslz4_job){ .codec = info->codec,
                            .elem_size = info->elem_size,
                            .image_bytes = info->frame_bytes,
                            .block_bytes = info->block_bytes };
}

/* What a frame can take in the caller's memory: plain frames of a coded stack are coded while they are read,
 * Zstandard's decompressed.  Without a codec it is the pixels, however large a damaged file's chunk is said to be. */
static int given_bytes(size_t *size, const hcy_stack_info *info, const hcy__location *place)
{
    if (place->flags & LOCATION_PLAIN) {
        hcy_bslz4_job job = job_of(info);
        return hcy_bslz4_encode_bound(size, &job);
    }
    *size = place->flags & LOCATION_ZSTD || info->codec == HCY_CODEC_NONE ? info->frame_bytes : place->size;
    return 0;
}

int hcy__stack_complete(hcy_stack *stack)
{
    hcy_stack_info *info = &stack->info;
    size_t bytes, raw;
    /* Addresses in the stack: they hold until it is closed. */
    info->path = stack->path;
    info->dataset = stack->dataset ? stack->dataset : "";
    info->channel_name = stack->channel_name;
    info->elem_size = hcy__pixel_of_type(info->pixel_type)->size;
    /* The openers check what they use; that there are pixels, and that all of them can be addressed, is
     * checked here for all. */
    if (!info->frames || !info->height || !info->width)
        return hcy_fail(HCY_EFORMAT, "%s%s%s holds no pixels: %llu frames of %u x %u", stack->path,
                        *info->dataset ? "::" : "", info->dataset, (unsigned long long)info->frames,
                        info->height, info->width);
    if (hcy_size_mul(&bytes, info->height, info->width) || hcy_size_mul(&bytes, bytes, info->elem_size) ||
        hcy_size_mul(&raw, bytes, info->frames))
        return hcy_fail(HCY_ERANGE, "%s: %llu frames of %u x %u are more than can be addressed", stack->path,
                        (unsigned long long)info->frames, info->height, info->width);
    info->frame_bytes = bytes;
    info->raw_bytes = raw;
    info->max_chunk = 0;
    info->stored_bytes = 0;
    /* Frames next to one another, all as large: no list is needed to add them up. */
    if (!stack->places) {
        info->max_chunk = bytes;
        info->stored_bytes = raw;
    }
    /* Callers allocate max_chunk once and read any frame into it. */
    for (uint64_t i = 0; stack->places && i < info->frames; i++) {
        size_t size;
        int st = given_bytes(&size, info, &stack->places[i]);
        if (st)
            return st;
        if (size > info->max_chunk)
            info->max_chunk = size;
        info->stored_bytes += stack->places[i].size;
    }
    /* What callers see, which differs where frames are converted. */
    stack->shown = *info;
    if (stack->raw)
        hcy__raw_show(stack);
    return hcy__uncached_open(stack);
}

const hcy__location *hcy__stack_known(const hcy_stack *stack, uint64_t frame)
{
    const hcy_stack *known = stack->known;
    return known && known->places && frame < known->info.frames && !(known->places[frame].flags & LOCATION_MISSING)
               ? &known->places[frame]
               : NULL;
}

/* A growing stack ends before the first frame that is not there; with `rest`, behind the last that is. */
static int trim_frames(hcy_stack *stack, int rest)
{
    uint64_t n = 0, all = stack->info.frames;
    if (!stack->places)
        return 0;
    for (uint64_t i = 0; i < all && (rest || n == i); i++)
        if (!(stack->places[i].flags & LOCATION_MISSING))
            n = i + 1;
    stack->info.frames = n;
    return n ? 0 : hcy_fail(HCY_ENOENT, "%s: none of its frames is there yet", stack->path);
}

/* Opens what an empty stack's path, wanted, channel and growing say. */
static int open_empty(hcy_stack *stack, int rest)
{
    int st = hcy__stack_fill(stack);
    if (!st && stack->growing)
        st = trim_frames(stack, rest);
    return st ? st : hcy__stack_complete(stack);
}

int hcy_stack_open_with(hcy_stack **stack, const char *path, const hcy_stack_options *opts)
{
    hcy_stack_options options = HCY_STACK_OPTIONS_INIT;
    if (!stack || !path)
        return hcy_fail(HCY_EINVAL, "hcy_stack_open: stack and path must not be NULL");
    hcy_isolation isolation;
    int st = opts ? hcy__sized_read(&options, sizeof options, opts, "hcy_stack_options") : 0;
    if (!st)
        st = hcy__isolation_read(&isolation, options.isolation);
    if (st)
        return st;
    hcy_stack *s = calloc(1, sizeof *s);
    *stack = NULL;
    /* Copies, since the caller's texts need not outlive this call. */
    if (!s || !(s->path = strdup(path)) || (options.dataset && !(s->wanted = strdup(options.dataset))) ||
        (options.channel && !(s->channel = strdup(options.channel)))) {
        hcy_stack_close(s);
        return hcy_fail(HCY_ENOMEM, "no memory to open %s", path);
    }
    s->growing = options.growing;
    s->reads_uncached = options.uncached;
    s->isolation = isolation;
    st = open_empty(s, 0);
    if (st) {
        hcy_stack_close(s);
        return st;
    }
    *stack = s;
    return 0;
}

int hcy_stack_open(hcy_stack **stack, const char *path, const char *dataset)
{
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = dataset;
    return hcy_stack_open_with(stack, path, &opts);
}

static int is_same(const hcy_stack_info *a, const hcy_stack_info *b)
{
    return a->height == b->height && a->width == b->width && a->pixel_type == b->pixel_type && a->codec == b->codec &&
           a->block_bytes == b->block_bytes && a->channel == b->channel && a->frames <= b->frames;
}

int hcy_stack_refresh(hcy_stack *stack, int rest)
{
    if (!stack || !stack->growing)
        return hcy_fail(stack ? HCY_ESTATE : HCY_EINVAL, "hcy_stack_refresh: %s",
                        stack ? "the stack was not opened as one that grows" : "stack must not be NULL");
    hcy_stack *next = calloc(1, sizeof *next);
    if (!next)
        return hcy_fail(HCY_ENOMEM, "no memory to look at %s again", stack->path);
    /* A second stack is filled from the same words and the same maps, which it only borrows. */
    next->path = stack->path;
    next->wanted = stack->wanted;
    next->growing = 1;
    next->reads_uncached = stack->reads_uncached;
    next->channel = stack->channel;
    next->raw = stack->raw;
    next->isolation = stack->isolation;
    next->known = stack;
    /* It knows the old one: frames that were there are not looked for again. */
    int st = open_empty(next, rest);
    if (!st && !is_same(&stack->info, &next->info))
        st = hcy_fail(HCY_EFORMAT, "%s is another stack than it was: frames are gone or of another kind", stack->path);
    next->known = NULL;
    /* They change places whole, so that a failure leaves the old one as it was and the caller's pointer
     * holds. */
    if (!st) {
        hcy_stack kept = *stack;
        *stack = *next;
        *next = kept;
        stack->info.channel_name = stack->shown.channel_name = stack->channel_name;
    }
    /* What was borrowed is the stack's that stays, and must not be freed with the other. */
    next->path = next->wanted = next->channel = NULL;
    next->raw = NULL;
    hcy_stack_close(next);
    return st;
}

void hcy__stack_drop_parts(hcy_stack *stack, size_t keep)
{
    while (stack->n_parts > keep) {
        hcy__part *part = &stack->parts[--stack->n_parts];
        if (part->drop)
            /* A part of HDF5's has its dataset open. */
            part->drop(part);
        if (part->fd >= 0)
            close(part->fd);
        if (part->uncached >= 0)
            close(part->uncached);
        free(part->name);
        free(part->file);
    }
}

void hcy_stack_close(hcy_stack *stack)
{
    if (!stack)
        return;
    hcy__stack_drop_parts(stack, 0);
    hcy__uncached_close(stack);
#ifdef HAVE_HDF5
    hcy__reader_release(stack->reader);
#endif
    for (size_t i = 0; i < stack->n_read_by_h5; i++)
        free(stack->read_by_h5[i]);
    free(stack->read_by_h5);
    hcy__raw_free(stack->raw);
    for (size_t i = 0; i < stack->n_absent; i++)
        free(stack->absent[i]);
    free(stack->absent);
    for (size_t i = 0; i < stack->n_also; i++)
        free(stack->also[i]);
    free(stack->also);
    free(stack->parts);
    free(stack->places);
    free(stack->dataset);
    free(stack->wanted);
    free(stack->channel);
    free(stack->path);
    free(stack);
}

const hcy_stack_info *hcy_stack_get_info(const hcy_stack *stack)
{
    return stack ? &stack->shown : NULL;
}

/* --- Reading --- */

static int find_place(hcy__location *place, const hcy_stack *stack, uint64_t frame)
{
    const hcy_stack_info *info = &stack->info;
    if (frame >= info->frames)
        return hcy_fail(HCY_ERANGE, "frame %llu of %s: it has frames 0 to %llu", (unsigned long long)frame,
                        stack->path, (unsigned long long)info->frames - 1);
    /* Frames that lie next to one another need no table: a multiplication is their place. */
    if (stack->places)
        *place = stack->places[frame];
    else
        *place = (hcy__location){ .offset = stack->base + frame * info->frame_bytes, .size = info->frame_bytes };
    if (place->flags & LOCATION_ABSENT)
        return hcy_fail(HCY_ENOENT, "frame %llu of %s cannot be read: its source %s", (unsigned long long)frame,
                        stack->path, stack->absent[place->part]);
    if (place->flags & LOCATION_MISSING)
        return hcy_fail(HCY_ENOENT, "frame %llu of %s was never written: the file has no bytes of it",
                        (unsigned long long)frame, stack->path);
    return 0;
}

int hcy_stack_frame_size(size_t *size, const hcy_stack *stack, uint64_t frame)
{
    if (!size || !stack)
        return hcy_fail(HCY_EINVAL, "hcy_stack_frame_size: no stack, or no place for the size");
    hcy__location place;
    int st = find_place(&place, stack, frame);
    if (!st && stack->raw)
        *size = stack->shown.frame_bytes;
    else if (!st)
        st = given_bytes(size, &stack->info, &place);
    return st;
}

/* The frame's pixels are stored plain in a stack that has a codec. */
static int read_and_code(size_t *size, const hcy_stack *stack, uint64_t frame, const hcy__location *place,
                         void *dst, size_t capacity)
{
    const hcy_stack_info *info = &stack->info;
    /* Readers ask for one coding of all frames, so that a device's batch has one job: this frame is coded here. */
    hcy_bslz4_job job = job_of(info);
    void *pixels = malloc(place->size);
    if (!pixels)
        return hcy_fail(HCY_ENOMEM, "no memory for frame %llu of %s", (unsigned long long)frame, stack->path);
    const hcy__part *part = &stack->parts[place->part];
    int st = part->fetch(stack, part, frame, place, pixels);
    if (!st)
        st = hcy_bslz4_encode(size, dst, capacity, &job, pixels);
    free(pixels);
    return st;
}

#ifdef HAVE_ZSTD
static int read_zstd(const hcy_stack *stack, uint64_t frame, const hcy__location *place, void *dst)
{
    hcy_bslz4_job job = job_of(&stack->info);
    const hcy__part *part = &stack->parts[place->part];
    /* Zstandard's blocks become bit-planes here, because no device takes them coded. */
    void *chunk = malloc(place->size ? place->size : 1);
    if (!chunk)
        return hcy_fail(HCY_ENOMEM, "no memory for frame %llu of %s", (unsigned long long)frame, stack->path);
    int st = part->fetch(stack, part, frame, place, chunk);
    if (!st)
        st = hcy__zstd_planes(dst, &job, chunk, place->size);
    free(chunk);
    return st;
}
#else
/* Never called: there are no such places. */
static int read_zstd(const hcy_stack *stack, uint64_t frame, const hcy__location *place, void *dst)
{
    (void)dst;
    return hcy_fail(HCY_EUNSUPPORTED, "frame %llu of %s, %llu bytes of Zstandard: this build has no libzstd",
                    (unsigned long long)frame, stack->path, (unsigned long long)place->size);
}
#endif

static int too_small(const hcy_stack *stack, uint64_t frame, size_t need, size_t capacity)
{
    return hcy_fail(HCY_ERANGE, "frame %llu of %s takes %zu bytes, there is room for %zu", (unsigned long long)frame,
                    stack->path, need, capacity);
}

/* Who reads a frame that nothing coded takes it to be as large as its pixels, which a damaged file need not mean. */
static int check_plain(const hcy_stack *stack, uint64_t frame, const hcy__location *place)
{
    const hcy_stack_info *info = &stack->info;
    int is_plain = place->flags & LOCATION_PLAIN || info->codec == HCY_CODEC_NONE;
    return !is_plain || place->size == info->frame_bytes
               ? 0
               : hcy_fail(HCY_ECORRUPT, "frame %llu of %s: stored without a filter, with %llu bytes where pixels take %llu",
                          (unsigned long long)frame, stack->path, (unsigned long long)place->size,
                          (unsigned long long)info->frame_bytes);
}

/* Reads a frame as it is stored, before any conversion. */
static int read_stored(size_t *size, hcy_stack *stack, uint64_t frame, void *dst, size_t capacity)
{
    hcy__location place;
    size_t need;
    int st = find_place(&place, stack, frame);
    if (!st)
        st = given_bytes(&need, &stack->info, &place);
    if (st)
        return st;
    /* Nothing is written to a place that is too small, not even a part. */
    if (need > capacity)
        return too_small(stack, frame, need, capacity);
    st = check_plain(stack, frame, &place);
    if (st)
        return st;
    if (place.flags & LOCATION_PLAIN)
        return read_and_code(size, stack, frame, &place, dst, capacity);
    const hcy__part *part = &stack->parts[place.part];
    if (place.flags & LOCATION_ZSTD)
        st = read_zstd(stack, frame, &place, dst);
    else
        st = part->fetch(stack, part, frame, &place, dst);
    if (!st)
        *size = need;
    return st;
}

int hcy_stack_read(size_t *size, void *dst, size_t capacity, hcy_stack *stack, uint64_t frame)
{
    if (!size || !stack || !dst)
        return hcy_fail(HCY_EINVAL, "hcy_stack_read: no stack, or no place for the frame or its size");
    if (!stack->raw)
        return read_stored(size, stack, frame, dst, capacity);
    /* Converted frames are floats or 32-bit numbers, and larger than those that are stored. */
    if (capacity < stack->shown.frame_bytes)
        return too_small(stack, frame, stack->shown.frame_bytes, capacity);
    void *chunk = malloc(stack->info.max_chunk ? stack->info.max_chunk : 1);
    if (!chunk)
        return hcy_fail(HCY_ENOMEM, "no memory for frame %llu of %s", (unsigned long long)frame, stack->path);
    int st = read_stored(size, stack, frame, chunk, stack->info.max_chunk);
    if (!st)
        st = hcy__raw_convert(dst, stack, chunk, *size);
    if (!st)
        *size = stack->shown.frame_bytes;
    free(chunk);
    return st;
}
