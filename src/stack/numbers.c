/* numbers.c - lists of numbers beside a stack: monitors, from HDF5, NumPy or text. */
#include "npy.h"
#include "stack_priv.h"
#include <azint/plain_locale.h>
#include <errno.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_COLUMNS = 9999 };
#define MOST_TEXT ((uint64_t)1 << 30)

/* What is read: a file, and what stands behind its "::". */
struct source {
    const char *file, *part; /* part NULL: nothing does */
    int growing;
};

/* --- HDF5 --- */

#ifdef HAVE_HDF5
#include "h5_driver.h"
#include "h5_read.h"
#include "isolate.h"

int hcy__h5_numbers(double **values, size_t *n, const char *path, const char *name)
{
    const char *words;
    *values = NULL;
    hcy__h5_lock();
    hid_t id = hcy__h5_spy_open(path, &words); /* which can also read what is being written */
    int st = id < 0 ? hcy_fail_vendor(HCY_EFORMAT, 0, words, "%s cannot be opened as HDF5", path)
                    : hcy__h5_get_doubles(values, n, id, name, path);
    if (id >= 0)
        H5Fclose(id);
    st = hcy__h5_judge(st, path);
    hcy__h5_unlock();
    if (st) {
        free(*values);
        *values = NULL;
    }
    return st;
}

static int read_dataset(double **values, size_t *n, const struct source *from)
{
    hcy_isolation limits;
    return hcy__isolates(&limits, NULL, from->file)
               ? hcy__isolated_numbers(values, n, &limits, from->file, from->part)
               : hcy__h5_numbers(values, n, from->file, from->part);
}
#else
static int read_dataset(double **values, size_t *n, const struct source *from)
{
    (void)values, (void)n;
    return hcy_fail(HCY_EUNSUPPORTED, "%s: this build of Halcyon has no HDF5", from->file);
}
#endif

/* --- NumPy --- */

static int read_npy_numbers(double **values, size_t *n, const struct source *from, int fd)
{
    struct hcy__npy npy = { 0 };
    int number, st = hcy__npy_header(&npy, from->file, fd), long_ones = 0;
    if (st)
        return st;
    const hcy__pixel *pixel = hcy__pixel_find(npy.kind == 'b' ? 'u' : npy.kind, npy.element);
    if (!pixel)
        return hcy_fail(HCY_EFORMAT, "%s: its type %s is not a real number", from->file, npy.type);
    *n = 1;
    for (int i = 0; i < npy.rank; i++) {
        long_ones += npy.shape[i] != 1;
        *n = npy.shape[i] != 1 ? (size_t)npy.shape[i] : *n;
    }
    /* The length is proved against the file before memory is asked for. */
    struct stat is;
    size_t bytes;
    if (long_ones > 1)
        return hcy_fail(HCY_EFORMAT, "%s: it has %d dimensions where a list is wanted", from->file, npy.rank);
    if (hcy_size_mul(&bytes, *n, pixel->size) || fstat(fd, &is) || (uint64_t)is.st_size < npy.data ||
        (uint64_t)is.st_size - npy.data < bytes)
        return hcy_fail(HCY_ECORRUPT, "%s is truncated", from->file);
    /* Read as stored and widened, since the list is doubles whatever it was. */
    void *raw = malloc(bytes ? bytes : 1);
    *values = malloc(*n ? *n * sizeof **values : 1);
    if (!raw || !*values)
        st = hcy_fail(HCY_ENOMEM, "%s: no memory for its %zu numbers", from->file, *n);
    else if (hcy__read_at(fd, raw, bytes, npy.data, &number) != bytes)
        st = number ? hcy__read_failed(from->file, number) : hcy_fail(HCY_ECORRUPT, "%s is truncated", from->file);
    else
        hcy__pixels_to_doubles(*values, raw, pixel->type, *n);
    free(raw);
    return st;
}

/* --- Text --- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == ',' || c == ';';
}

/* The number in the column (from 1; 0: the only one) of a line, if it has any. */
static int number_of_line(double *x, int *found, const char *line, size_t column, const struct source *from, size_t at)
{
    size_t n = 0;
    for (char *end;; line = end) {
        size_t signs = 0;
        for (; is_blank(*line); line++)
            signs += *line == ',' || *line == ';';
        if (!*line || *line == '#')
            break;
        /* An empty column would be taken for none, and those behind it would move. */
        if (signs > (n > 0))
            return hcy_fail(HCY_EFORMAT, "%s:%zu: column %zu is empty", from->file, at, n + 1);
        double v = strtod(line, &end);
        if (end == line || (*end && !is_blank(*end)))
            return hcy_fail(HCY_EFORMAT, "%s:%zu: '%.40s' must be a number", from->file, at, line);
        n++;
        /* Without a column the first number counts, and there must be no other. */
        if (n == column || n == 1)
            *x = v;
    }
    *found = n != 0;
    if (n == 0 || (column ? n >= column : n == 1))
        return 0;
    if (column)
        return hcy_fail(HCY_EFORMAT, "%s:%zu: there is no column %zu, only %zu", from->file, at, column, n);
    return hcy_fail(HCY_EINVAL, "%s:%zu: there are %zu columns: name one, as in %s::2", from->file, at, n, from->file);
}

static int add_number(double **values, size_t *n, size_t *room, double x)
{
    if (*n == *room) {
        size_t more = *room ? 2 * *room : 1024;
        double *grown = realloc(*values, more * sizeof *grown);
        if (!grown)
            return hcy_fail(HCY_ENOMEM, "no memory for a list of %zu numbers", more);
        *values = grown;
        *room = more;
    }
    (*values)[(*n)++] = x;
    return 0;
}

static int parse_text(double **values, size_t *n, const struct source *from, char *text)
{
    size_t room = 0, at = 0, column = from->part ? (size_t)strtoul(from->part, NULL, 10) : 0;
    int st = 0;
    for (char *next; !st && *text; text = next) {
        char *end = strchr(text, '\n');
        double x = 0;
        int found = 0;
        if (!end && from->growing) /* the rest of the number may be yet to come */
            break;
        next = end ? end + 1 : text + strlen(text);
        if (end)
            *end = 0;
        st = number_of_line(&x, &found, text, column, from, ++at);
        if (!st && found)
            st = add_number(values, n, &room, x);
    }
    return st;
}

static int read_text_numbers(double **values, size_t *n, const struct source *from, int fd)
{
    struct stat is;
    int number;
    if (from->part && (strspn(from->part, "0123456789") != strlen(from->part) || strtoul(from->part, NULL, 10) < 1 ||
                       strtoul(from->part, NULL, 10) > MOST_COLUMNS))
        return hcy_fail(HCY_EINVAL, "%s is text: a column's number is wanted after ::, not '%s'", from->file, from->part);
    if (fstat(fd, &is) || (uint64_t)is.st_size > MOST_TEXT)
        return hcy_fail(HCY_EFORMAT, "%s: too large for a list of numbers in text", from->file);
    char *text = malloc((size_t)is.st_size + 1);
    if (!text)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", from->file);
    uint64_t got = hcy__read_at(fd, text, (uint64_t)is.st_size, 0, &number);
    int st = number ? hcy__read_failed(from->file, number) : 0;
    text[got] = 0;
    /* A zero byte: some other format, whose bytes must not be read as numbers. */
    if (!st && strlen(text) != got)
        st = hcy_fail(HCY_EFORMAT, "%s is neither HDF5, NumPy nor text", from->file);
    hcy__plain plain = hcy__plain_enter();
    if (!st)
        st = parse_text(values, n, from, hcy__after_mark(text));
    hcy__plain_leave(plain);
    free(text);
    return st;
}

/* --- Any of them --- */

static int read_any(double **values, size_t *n, const struct source *from)
{
    static const char npy[] = "\x93NUMPY", hdf[] = "\x89HDF\r\n\x1a\n";
    char magic[8] = "";
    int fd, number, st = hcy__open_file(&fd, from->file);
    if (st)
        return st;
    (void)hcy__read_at(fd, magic, sizeof magic, 0, &number);
    /* The first bytes tell the format.  A path behind :: can only mean HDF5, whose reader then says what
     * is wrong. */
    if (number)
        st = hcy__read_failed(from->file, number);
    else if (!memcmp(magic, npy, sizeof npy - 1) && !from->part)
        st = read_npy_numbers(values, n, from, fd);
    else if (from->part && (!memcmp(magic, hdf, sizeof hdf - 1) || *from->part == '/'))
        st = read_dataset(values, n, from);
    else if (!memcmp(magic, hdf, sizeof hdf - 1))
        st = hcy_fail(HCY_EINVAL, "%s is HDF5: name a dataset of it, as %s::/path", from->file, from->file);
    else
        st = read_text_numbers(values, n, from, fd);
    close(fd);
    return st;
}

int hcy_numbers_read(double **values, size_t *n, const char *path, int growing)
{
    if (!values || !n || !path)
        return hcy_fail(HCY_EINVAL, "hcy_numbers_read: values, n and path must not be NULL");
    *values = NULL;
    *n = 0;
    char *inside, *file = hcy__split_path(&inside, path);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    struct source from = { file, inside && *inside ? inside : NULL, growing };
    int st = read_any(values, n, &from);
    free(file);
    if (st) {
        free(*values);
        *values = NULL;
        *n = 0;
    }
    while (growing && *n && (isnan((*values)[*n - 1]) || (*values)[*n - 1] == 0)) /* room that is not filled yet */
        --*n;
    return st;
}
