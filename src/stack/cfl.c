/* cfl.c - arrays as BART has them, in two files: FILE.hdr, text with the dimensions behind the line "# Dimensions", and
 * FILE.cfl, complex floats alone (BART's doc/README and src/misc/io.c; https://mrirecon.github.io/bart).
 *
 * The first dimension is the fastest, so an array in C order has BART's dimensions in reverse, with the same bytes in
 * the same order: a trajectory of [3, samples, spokes] is [spokes][samples][3].
 */
#include "host_array.h"
#include "stack_priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIMENSIONS = 16, MOST_HEAD = 1 << 16, PIECE = 4096, NUMBER = 8 /* bytes */ };
static const char section[] = "# Dimensions";

/* x.cfl -> x.hdr; freed by the caller. */
static char *find_head_path(const char *path)
{
    char *head = strdup(path);
    if (head)
        memcpy(head + strlen(head) - 3, "hdr", 3);
    return head;
}

/* --- Reading --- */

/* The numbers of the line behind "# Dimensions": how many, 0 if there is no such line or it has anything else. */
static int parse_cfl_dimensions(uint64_t dims[DIMENSIONS], const char *text)
{
    const char *at = text;
    int n = 0;
    while ((at = strstr(at, section)) && at != text && at[-1] != '\n')
        at++;
    /* The rest of the heading's line is of no interest. */
    at = at ? strchr(at, '\n') : NULL;
    for (at = at ? at + 1 : "";; n++) {
        char *end;
        at += strspn(at, " \t\r");
        if (*at == '\n' || !*at)
            return n;
        unsigned long long value = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (!value || n == DIMENSIONS || value == UINT64_MAX)
            return 0;
        dims[n] = value;
        at = end;
    }
}

static int read_cfl_head(uint64_t dims[DIMENSIONS], int *n, const char *path)
{
    int fd = -1, number = 0;
    char *head = find_head_path(path), *text = malloc(MOST_HEAD + 1);
    int st = head && text ? hcy__open_file(&fd, head) : hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    if (!st) {
        text[hcy__read_at(fd, text, MOST_HEAD, 0, &number)] = 0;
        close(fd);
        *n = parse_cfl_dimensions(dims, text);
        if (number)
            st = hcy__read_failed(head, number);
        else if (!*n)
            st = hcy_fail(
                HCY_EFORMAT,
                "%s: behind \"%s\" there must be a line of 1 to %d whole numbers above 0, as BART writes it",
                head, section, DIMENSIONS);
    }
    free(text);
    free(head);
    return st;
}

/* Trailing dimensions of 1 are no axes, and where too many are left none of 1 is. */
static int take_cfl_shape(hcy_host_array *a, const uint64_t dims[DIMENSIONS], int n, const char *path)
{
    uint64_t kept[DIMENSIONS];
    while (n > 1 && dims[n - 1] == 1)
        n--;
    int rank = 0;
    for (int i = 0; i < n; i++)
        if (n <= HCY_HOST_ARRAY_MAX_RANK || dims[i] != 1)
            kept[rank++] = dims[i];
    if (rank > HCY_HOST_ARRAY_MAX_RANK)
        return hcy_fail(HCY_EFORMAT, "%s has %d dimensions of more than 1; arrays have %d at most", path,
                        rank, HCY_HOST_ARRAY_MAX_RANK);
    for (int i = 0; i < rank; i++)
        a->shape[i] = kept[rank - 1 - i];
    a->rank = rank;
    a->is_complex = 1;
    a->bytes = 4;
    return 0;
}

int hcy__host_array_read_cfl(hcy_host_array *a, const char *path, const char *part)
{
    uint64_t dims[DIMENSIONS];
    size_t bytes = 0;
    int n = 0, number, fd = -1, st = read_cfl_head(dims, &n, path);
    (void)part;
    if (!st)
        st = take_cfl_shape(a, dims, n, path);
    if (!st && hcy__host_array_bytes(&bytes, a))
        st = hcy_fail(HCY_ERANGE, "%s: its header says more numbers than can be addressed", path);
    if (!st)
        st = hcy__open_file(&fd, path);
    if (st)
        return st;
    /* The length is compared before malloc(), and no byte may be left over: the header is then another file's. */
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (uint64_t)size != bytes)
        st = hcy_fail(HCY_ECORRUPT, "%s has %lld bytes, and its header (.hdr) says %zu", path,
                      (long long)size, bytes);
    else if (!(a->data = malloc(bytes)))
        st = hcy_fail(HCY_ENOMEM, "no memory for %s, %zu bytes", path, bytes);
    else if (hcy__read_at(fd, a->data, bytes, 0, &number) != bytes)
        st = number ? hcy__read_failed(path, number) : hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
    close(fd);
    return st;
}

/* --- Writing --- */

static int write_cfl_head(hcy_output *output, const hcy_host_array *a)
{
    char text[64 + 21 * DIMENSIONS];
    int at = snprintf(text, sizeof text, "%s\n", section);
    for (int i = 0; i < DIMENSIONS; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%llu ",
                       i < a->rank ? (unsigned long long)a->shape[a->rank - 1 - i] : 1ull);
    at += snprintf(text + at, sizeof text - (size_t)at, "\n# Creator\nHalcyon\n");
    return hcy_output_write(output, text, (size_t)at, 0);
}

static int write_cfl_numbers(hcy_output *output, const hcy_host_array *a, size_t n)
{
    int st = 0;
    if (a->is_complex && a->bytes == 4)
        return hcy_output_write(output, a->data, n * NUMBER, 0);
    for (size_t i = 0; !st && i < n; i += PIECE) {
        float piece[PIECE][2];
        size_t count = n - i < PIECE ? n - i : PIECE;
        for (size_t k = 0; k < count; k++) {
            double number[2];
            hcy__host_array_get(number, a, i + k);
            piece[k][0] = (float)number[0];
            piece[k][1] = (float)number[1];
        }
        st = hcy_output_write(output, piece, count * NUMBER, (uint64_t)i * NUMBER);
    }
    return st;
}

int hcy__host_array_write_cfl(const hcy_host_array *a, const char *path, const char *part)
{
    hcy_output *head = NULL, *numbers = NULL;
    size_t n, bytes;
    (void)part;
    int st = hcy_host_array_count(&n, a);
    if (!st && hcy_size_mul(&bytes, n, NUMBER))
        st = hcy_fail(HCY_ERANGE, "%s: an array that is larger than can be addressed", path);
    if (!st && !n)
        st = hcy_fail(HCY_EINVAL, "%s: BART has no arrays without numbers; use .npy or .h5", path);
    char *head_path = st ? NULL : find_head_path(path);
    if (!st && !head_path)
        st = hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    if (!st)
        st = hcy_output_open(&numbers, path, 0);
    if (!st)
        st = hcy_output_open(&head, head_path, 0);
    if (!st)
        st = write_cfl_numbers(numbers, a, n);
    if (!st)
        st = write_cfl_head(head, a);
    /* The header comes last: who waits for the pair looks for it. */
    if (numbers)
        st = hcy_output_commit(numbers, st);
    if (head)
        st = hcy_output_commit(head, st);
    free(head_path);
    return st;
}
