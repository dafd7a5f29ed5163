/* files.c - image files as stacks: which format, one file or a numbered series of them. */
#include "files.h"
#include <dirent.h>
#include <errno.h>
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

static const hcy__format *const formats[] = { &hcy__format_tiff, &hcy__format_edf, &hcy__format_cbf,
                                              &hcy__format_npy,  &hcy__format_mask };
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

int hcy__frames_add(hcy__frames *frames, uint64_t offset)
{
    if (frames->n == frames->room) {
        size_t room = frames->room ? 2 * frames->room : 16;
        uint64_t *more = realloc(frames->offsets, room * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "no memory for the places of frames");
        frames->offsets = more;
        frames->room = room;
    }
    frames->offsets[frames->n++] = offset;
    return 0;
}

int hcy__frame_fits(const hcy_stack_info *info, const char *path, uint64_t height, uint64_t width,
                    const hcy__pixel *pixel)
{
    if (pixel && height == info->height && width == info->width && pixel->type == info->pixel_type)
        return 0;
    return hcy_fail(HCY_EFORMAT, "%s: a frame of %llu x %llu %s in a stack of %u x %u %s", path,
                    (unsigned long long)height, (unsigned long long)width, pixel ? pixel->name : "nothing",
                    info->height, info->width, hcy__pixel_of_type(info->pixel_type)->name);
}

void hcy__swap(void *pixels, size_t n, size_t size)
{
    unsigned char *at = pixels;
    for (size_t i = 0; i < n; i++, at += size)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char kept = at[k];
            at[k] = at[size - 1 - k];
            at[size - 1 - k] = kept;
        }
}

static int fetch_file(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__location *place,
                      void *dst)
{
    (void)frame;
    return part->format->read(dst, part->name, place->offset, &stack->info);
}

/* The first file says what the stack is. */
static int begin_stack(hcy_stack *stack, const hcy__frames *frames)
{
    hcy_stack_info *info = &stack->info;
    size_t bytes;
    /* Every file of a series is compared with these numbers, so they are checked but once. */
    if (!frames->height || !frames->width || frames->height > UINT32_MAX || frames->width > UINT32_MAX ||
        hcy_size_mul(&bytes, (size_t)frames->height, (size_t)frames->width) ||
        hcy_size_mul(&bytes, bytes, frames->pixel->size))
        return hcy_fail(HCY_ERANGE, "%s: images of %llu x %llu are not supported", stack->path,
                        (unsigned long long)frames->height, (unsigned long long)frames->width);
    info->height = (uint32_t)frames->height;
    info->width = (uint32_t)frames->width;
    info->pixel_type = frames->pixel->type;
    info->elem_size = frames->pixel->size;
    info->codec = HCY_CODEC_NONE;
    info->direct = 1;
    info->frame_bytes = bytes;
    return 0;
}

/* Files are written from front to back: one is all there when its last frame can be read. */
static int is_whole(const hcy_stack *stack, const hcy__format *format, const char *path, const hcy__frames *frames)
{
    /* Only reading the last frame tells: the header is written first and may promise what has not come. */
    void *pixels = malloc(stack->info.frame_bytes);
    int whole = pixels && !format->read(pixels, path, frames->offsets[frames->n - 1], &stack->info);
    free(pixels);
    return whole;
}

/* A file behind the first that is missing or damaged is one frame that cannot be read; in a growing stack the
 * newest file may only not be all there yet. */
static int take_image_file(hcy_stack *stack, const hcy__format *format, const char *path, int newest)
{
    hcy__frames frames = { 0 };
    hcy__part *part;
    hcy__location *places;
    int missing = 0, st = format->scan(&frames, path);
    /* Without a first file nobody knows what the frames are; a later one that is bad costs its own frame
     * alone. */
    if (stack->n_parts == 0)
        st = st ? st : begin_stack(stack, &frames);
    else if (st && st != HCY_ENOMEM) {
        missing = newest || st == HCY_ENOENT;
        frames.n = 0;
        st = hcy__frames_add(&frames, 0);
    }
    /* What was whole when it was last looked at need not be read again. */
    if (!st && newest && !missing && !hcy__stack_known(stack, stack->info.frames))
        missing = !is_whole(stack, format, path, &frames);
    if (!st)
        st = hcy__stack_add_part(&part, stack, path);
    if (!st)
        st = hcy__stack_add_places(&places, stack, frames.n);
    for (size_t i = 0; !st && i < frames.n; i++)
        places[i] = (hcy__location){ .offset = frames.offsets[i],
                                  .size = stack->info.frame_bytes,
                                  .part = (uint32_t)(stack->n_parts - 1),
                                  .flags = missing && stack->growing ? LOCATION_MISSING : 0 };
    if (!st) {
        part->first = stack->info.frames;
        part->format = format;
        part->fetch = fetch_file;
        stack->info.frames += frames.n;
    }
    free(frames.offsets);
    return st;
}

static int find_image_format(const hcy__format **format, const char *path)
{
    unsigned char head[HCY__MAGIC];
    hcy__bytes bytes;
    int st = hcy__bytes_open(&bytes, path);
    *format = NULL;
    if (st)
        return st;
    size_t n;
    st = hcy__bytes_read(&n, &bytes, head, sizeof head, 0);
    for (size_t i = 0; !st && i < N_FORMATS && !*format; i++)
        if (formats[i]->is(head, n))
            *format = formats[i];
    /* Both are read at offsets of the file itself, which mean nothing in its compressed bytes. */
    if (*format && bytes.memory && (*format == &hcy__format_tiff || *format == &hcy__format_npy))
        st = hcy_fail(HCY_EUNSUPPORTED, "%s: %s in gzip; gunzip it first", path, (*format)->name);
    hcy__bytes_close(&bytes);
    return st;
}

int hcy__files_open(hcy_stack *stack, int *taken)
{
    const hcy__format *format;
    int st = find_image_format(&format, stack->path);
    *taken = format != NULL;
    if (st || !format)
        return st;
    /* One NumPy file stays open and is read by address; others are opened for each frame. */
    return format == &hcy__format_npy ? hcy__npy_open(stack)
                                      : take_image_file(stack, format, stack->path, stack->growing);
}

/* --- Series --- */

struct range {
    uint64_t first, last, n;
};

/* Finds the numbers of the files that are there. */
static int find_numbers(struct range *range, const hcy__numbered *n)
{
    const char *slash = strrchr(n->path, '/');
    size_t folder = slash ? (size_t)(slash - n->path) + 1 : 0;
    *range = (struct range){ UINT64_MAX, 0, 0 };
    /* One folder is listed; a number in a folder's name would need many. */
    if (n->at < folder)
        return hcy_fail(HCY_EINVAL, "%s: the number must stand in the file's name", n->path);
    char *name = folder ? strndup(n->path, folder) : strdup(".");
    if (!name)
        return hcy_fail(HCY_ENOMEM, "no memory for the folder of %s", n->path);
    char words[128];
    DIR *dir = opendir(name);
    int number = errno; /* free() may change it */
    free(name);
    if (!dir) {
        if (number == ENOENT || number == ENOTDIR)
            return hcy_fail(HCY_ENOENT, "%s: there is no such folder", n->path);
        return hcy_fail(HCY_EIO, "%s: the folder cannot be read: %s", n->path,
                        hcy__errno_text(number, words, sizeof words));
    }
    /* A folder that fails in the middle would make a shorter series: its end alone leaves errno as it was. */
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)); errno = 0) {
        size_t prefix = n->at - folder;
        if (strncmp(entry->d_name, n->path + folder, prefix))
            continue;
        uint64_t value = strtoull(entry->d_name + prefix, NULL, 10);
        /* Only names that the pattern makes are in the series: img_1.tif is not of img_%03d.tif. */
        char *path = hcy__numbered_path(n, value);
        if (path && !strcmp(path + folder, entry->d_name)) {
            range->first = value < range->first ? value : range->first;
            range->last = value > range->last ? value : range->last;
            range->n++;
        }
        free(path);
    }
    number = errno;
    closedir(dir);
    if (number)
        return hcy_fail(HCY_EIO, "%s: the folder cannot be read: %s", n->path,
                        hcy__errno_text(number, words, sizeof words));
    if (!range->n)
        return hcy_fail(HCY_ENOENT, "%s: there is no such file, with any number", n->path);
    /* Each number of the range becomes a frame, and a date among the names would make millions of them. */
    if ((range->last - range->first) / 64 > range->n)
        return hcy_fail(HCY_EINVAL, "%s: %llu files with numbers from %llu to %llu are not a series", n->path,
                        (unsigned long long)range->n, (unsigned long long)range->first,
                        (unsigned long long)range->last);
    return 0;
}

/* Files that hold stacks, one after the other; the stack is called by the first of them, which says what else is known
 * of the detector. */
static int open_series_of_stacks(hcy_stack *stack, const hcy__numbered *numbered, const struct range *range)
{
    char *path = hcy__numbered_path(numbered, range->first);
    if (!path)
        return hcy_fail(HCY_ENOMEM, "no memory for a file's name");
    if (stack->growing) {
        free(path);
        return hcy_fail(HCY_EINVAL, "%s: a series that grows is of TIFF, EDF, CBF or NumPy files; follow a master file",
                        stack->path);
    }
    char *pattern = stack->path; /* which `numbered` points at */
    stack->path = path;
    int st = hcy__stack_fill(stack);
    for (uint64_t i = range->first + 1; !st && i <= range->last; i++) {
        path = hcy__numbered_path(numbered, i);
        st = path ? hcy__list_add(stack, path) : hcy_fail(HCY_ENOMEM, "no memory for a file's name");
        free(path);
    }
    free(pattern);
    return st;
}

int hcy__series_open(hcy_stack *stack)
{
    const hcy__format *format = NULL;
    hcy__numbered numbered;
    struct range range;
    int st = hcy__numbered_parse(&numbered, stack->path);
    if (!st)
        st = find_numbers(&range, &numbered);
    for (uint64_t i = 0; !st && i <= range.last - range.first; i++) {
        char *path = hcy__numbered_path(&numbered, range.first + i);
        if (!path)
            st = hcy_fail(HCY_ENOMEM, "no memory for a file's name");
        /* The first file that is there decides for all of them. */
        else if (!format)
            st = find_image_format(&format, path);
        if (!st && format)
            st = take_image_file(stack, format, path, stack->growing && range.first + i == range.last);
        free(path);
        /* What no image format takes is HDF5's: an EIGER's data files without their master. */
        if (!st && !format)
            return open_series_of_stacks(stack, &numbered, &range);
    }
    return st;
}
