/* npy.c - NumPy's .npy files as stacks: C order, little-endian, 2-D or 3-D.  One file stays open and is read
 * from any thread; those of a series are opened for each frame (files.h).
 *
 * The file is a magic, a version, the length of a Python dictionary as text, that dictionary, and the pixels.
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
#include "files.h"
#include "npy.h"
#include "npz.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HEADER = 64 * 1024 };
static const char magic[] = "\x93NUMPY", zip[] = "PK\3\4";

/* What stands behind 'key': in the dictionary, NULL if it is not there. */
static const char *find_npy_value(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = text; (at = strstr(at, key)); at++) {
        const char *value = at + n;
        /* The key in quotes of one kind: a value may contain the word. */
        if (at == text || (at[-1] != '\'' && at[-1] != '"') || *value != at[-1])
            continue;
        value += 1 + strspn(value + 1, " \t");
        if (*value == ':')
            return value + 1 + strspn(value + 1, " \t");
    }
    return NULL;
}

static int parse_npy_type(struct hcy__npy *npy, const char *path, const char *text)
{
    const char *value = find_npy_value(text, "descr");
    if (value && (*value == '\'' || *value == '"') && value[1] && value[2]) {
        npy->kind = value[2] == 'b' ? 'u' : value[2]; /* booleans are bytes */
        npy->element = strtoul(value + 3, NULL, 10);
        /* Such files are rare: the message says how to mend one, and no frame has to be swapped while it
         * is read. */
        if (value[1] == '>' && npy->element > 1)
            return hcy_fail(HCY_EFORMAT, "%s: big-endian numbers; save it again with a.astype('<%c%lu')", path,
                            npy->kind, npy->element);
    }
    size_t quoted = value && *value == '\'' ? strcspn(value + 1, "'") + 2 : 24;
    snprintf(npy->type, sizeof npy->type, "%.*s", quoted < 24 ? (int)quoted : 24, value ? value : "");
    return value ? 0 : hcy_fail(HCY_EFORMAT, "%s: its header names no type", path);
}

static int need_pixel(const struct hcy__npy *npy, const hcy__pixel **pixel, const char *path)
{
    *pixel = hcy__pixel_find(npy->kind, npy->element);
    return *pixel ? 0
                  : hcy_fail(HCY_EFORMAT,
                             "%s: its type %s is not a pixel type; unsigned and signed integers and floats of up to 8 "
                             "bytes are",
                             path, npy->type);
}

static int parse_npy_shape(struct hcy__npy *npy, const char *path, const char *text)
{
    const char *at = find_npy_value(text, "shape");
    if (!at || *at != '(')
        return hcy_fail(HCY_EFORMAT, "%s: its header has no shape", path);
    at++;
    for (npy->rank = 0;; npy->rank++) {
        at += strspn(at, " ");
        if (*at == ')')
            break;
        char *end = NULL;
        errno = 0;
        unsigned long long n = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        /* Python 2 wrote its long integers with an L. */
        const char *behind = end ? end + (*end == 'L') : "";
        behind += strspn(behind, " ");
        if (end && npy->rank == HCY__NPY_RANK)
            return hcy_fail(HCY_EFORMAT, "%s: an array of more than %d axes", path, HCY__NPY_RANK);
        const size_t rest = strcspn(at, "}\n"); /* of the header's line */
        if (errno || (*behind != ',' && *behind != ')'))
            return hcy_fail(HCY_EFORMAT, "%s: its shape makes no sense: %.*s", path, rest < 80 ? (int)rest : 80, at);
        npy->shape[npy->rank] = n;
        at = behind + (*behind == ',');
    }
    return 0;
}

static int parse_npy(struct hcy__npy *npy, const char *path, const char *text)
{
    int st = parse_npy_type(npy, path, text);
    if (!st)
        st = parse_npy_shape(npy, path, text);
    if (st)
        return st;
    const char *order = find_npy_value(text, "fortran_order");
    /* Of one dimension both orders are the same. */
    npy->fortran = npy->rank > 1 && (!order || strncmp(order, "False", 5));
    return 0;
}

int hcy__npy_header(struct hcy__npy *npy, const char *path, int fd)
{
    unsigned char head[12];
    int number;
    /* Ten bytes in version 1 and twelve in later ones, which have a longer length. */
    uint64_t n = hcy__read_at(fd, head, sizeof head, npy->start, &number);
    if (number)
        return hcy__read_failed(path, number);
    /* The file is told from a NumPy file that was cut short: the user does different things about them. */
    if (n < 6 || memcmp(head, magic, 6))
        return hcy_fail(HCY_EFORMAT, "%s is not a NumPy file", path);
    if (n < 10)
        return hcy_fail(HCY_ECORRUPT, "%s: a NumPy file that ends inside its header", path);
    size_t length = head[8] | (size_t)head[9] << 8, at = 10;
    if (head[6] >= 2 && n == 12) {
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
        at = 12;
    }
    /* The length is bounded before memory is asked for. */
    if (head[6] < 1 || head[6] > 3 || length > MAX_HEADER)
        return hcy_fail(HCY_EFORMAT, "%s: NumPy format %d with a header of %zu bytes is not known", path,
                        head[6], length);
    char *text = malloc(length + 1);
    if (!text)
        return hcy_fail(HCY_ENOMEM, "%s: no memory for its header", path);
    /* By pread, so that any thread may read the same descriptor. */
    n = hcy__read_at(fd, text, length, npy->start + at, &number);
    int st;
    if (number) {
        st = hcy__read_failed(path, number);
    } else if (n != length) {
        st = hcy_fail(HCY_ECORRUPT, "%s: a NumPy file that ends inside its header", path);
    } else {
        text[length] = 0;
        npy->data = npy->start + at + length;
        st = parse_npy(npy, path, text);
    }
    free(text);
    return st;
}

int hcy__npy_file(struct hcy__npy *npy, int *fd, const char *path, const char *member)
{
    unsigned char head[4];
    int number, st = hcy__open_file(fd, path);
    if (st)
        return st;
    off_t size = lseek(*fd, 0, SEEK_END);
    *npy = (struct hcy__npy){ .end = size < 0 ? 0 : (uint64_t)size };
    npy->packed = hcy__read_at(*fd, head, sizeof head, 0, &number) == sizeof head && !memcmp(head, zip, sizeof head);
    if (number)
        st = hcy__read_failed(path, number);
    if (!st && npy->packed)
        st = hcy__npz_find(&npy->start, &npy->end, fd, path, member);
    if (!st)
        st = hcy__npy_header(npy, path, *fd);
    if (!st && npy->data > npy->end)
        st = hcy_fail(HCY_ECORRUPT, "%s: a NumPy file that ends inside its header", path);
    if (st) {
        close(*fd);
        *fd = -1;
    }
    return st;
}

static int take_image_head(struct hcy__npy *npy, const hcy__pixel **pixel, uint64_t image[3], const char *path)
{
    int st = need_pixel(npy, pixel, path);
    if (st)
        return st;
    if (npy->fortran)
        return hcy_fail(HCY_EFORMAT, "%s: it is in Fortran order; save it again with numpy.ascontiguousarray", path);
    if (npy->rank != 2 && npy->rank != 3)
        return hcy_fail(HCY_EFORMAT, "%s: an array of %d dimensions; an image has 2, a stack of images 3",
                        path, npy->rank);
    /* A single image is a stack of one. */
    for (int i = 0; i < 3; i++)
        image[i] = i + npy->rank >= 3 ? npy->shape[i + npy->rank - 3] : 1;
    if (image[1] > UINT32_MAX || image[2] > UINT32_MAX)
        return hcy_fail(HCY_ERANGE, "%s: images of that size are not supported", path);
    return 0;
}

/* *fd is -1 after a failure. */
static int open_image(struct hcy__npy *npy, int *fd, const hcy__pixel **pixel, uint64_t image[3], const char *path,
                      const char *member)
{
    int st = hcy__npy_file(npy, fd, path, member);
    if (!st)
        st = take_image_head(npy, pixel, image, path);
    if (st && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return st;
}

int hcy__npy_open(hcy_stack *stack)
{
    hcy__part *part;
    struct hcy__npy npy = { 0 };
    const hcy__pixel *pixel = NULL;
    uint64_t image[3];
    int st = hcy__stack_add_part(&part, stack, stack->path);
    if (!st)
        st = open_image(&npy, &part->fd, &pixel, image, stack->path, stack->wanted);
    if (st)
        return st;
    size_t bytes;
    /* Behind an array of an archive others follow, which would be read as its frames. */
    if (npy.packed && (hcy_size_mul(&bytes, (size_t)image[0], (size_t)image[1]) ||
                       hcy_size_mul(&bytes, bytes, (size_t)image[2]) || hcy_size_mul(&bytes, bytes, pixel->size) ||
                       bytes > npy.end - npy.data))
        return hcy_fail(HCY_ECORRUPT, "%s is truncated: its header says more than it holds", stack->path);
    /* An archive's array has a name, which is not a dataset of HDF5's. */
    stack->wanted_is_taken = npy.packed;
    stack->info.frames = image[0];
    stack->info.height = (uint32_t)image[1];
    stack->info.width = (uint32_t)image[2];
    stack->info.pixel_type = pixel->type;
    stack->info.codec = HCY_CODEC_NONE;
    stack->info.direct = 1;
    stack->base = npy.data;
    part->fetch = hcy__fetch_pread;
    return 0;
}

/* --- Files of a series --- */

static int npy_is(const unsigned char *head, size_t n)
{
    return (n >= 6 && !memcmp(head, magic, 6)) || (n >= 4 && !memcmp(head, zip, 4));
}

static int npy_scan(hcy__frames *frames, const char *path)
{
    struct hcy__npy npy = { 0 };
    const hcy__pixel *pixel = NULL;
    uint64_t image[3] = { 0 };
    size_t bytes = 0, all;
    int fd, st = open_image(&npy, &fd, &pixel, image, path, NULL);
    if (st)
        return st;
    /* A header may promise more than the file has, in a series as well as alone. */
    if (!st && (hcy_size_mul(&bytes, (size_t)image[1], (size_t)image[2]) ||
                hcy_size_mul(&bytes, bytes, pixel->size) || hcy_size_mul(&all, bytes, (size_t)image[0]) ||
                !all || all > npy.end - npy.data))
        st = hcy_fail(HCY_ECORRUPT, "%s is truncated, or holds no pixels", path);
    close(fd);
    frames->height = image[1];
    frames->width = image[2];
    frames->pixel = pixel;
    for (uint64_t i = 0; !st && i < image[0]; i++)
        st = hcy__frames_add(frames, i * bytes);
    return st;
}

static int npy_read(void *dst, const char *path, uint64_t offset, const hcy_stack_info *info)
{
    struct hcy__npy npy = { 0 };
    const hcy__pixel *pixel = NULL;
    uint64_t image[3];
    int number, fd, st = open_image(&npy, &fd, &pixel, image, path, NULL);
    if (st)
        return st;
    st = hcy__frame_fits(info, path, image[1], image[2], pixel);
    if (!st && hcy__read_at(fd, dst, info->frame_bytes, npy.data + offset, &number) != info->frame_bytes)
        st = number ? hcy__read_failed(path, number) : hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
    close(fd);
    return st;
}

const hcy__format hcy__format_npy = { "NumPy", npy_is, npy_scan, npy_read };
