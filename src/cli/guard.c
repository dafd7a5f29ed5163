/* guard.c - see guard.h.  Files are the same if device and inode are. */
#include "guard.h"
#include "inputs.h"
#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct guard_file {
    uint64_t id[2]; /* guard_identify()'s */
    const char *what;
    char *written; /* its path in one spelling, if it is an output; malloced */
};

static void add_guarded_file(struct guard *g, struct guard_file file)
{
    if (g->n == g->room) {
        size_t room = g->room ? 2 * g->room : 16;
        struct guard_file *more = realloc(g->files, room * sizeof *more);
        /* The functions that add have no status: guard_writes() refuses everything after a failure. */
        g->failed |= !more;
        if (!more) {
            free(file.written);
            return;
        }
        g->files = more;
        g->room = room;
    }
    g->files[g->n++] = file;
}

/* The file in `path`, up to its dataset. */
static int file_of(char *file, size_t size, const char *path)
{
    const char *inside = strstr(path, "::"); /* of a stack */
    struct stat is;
    size_t n = inside ? (size_t)(inside - path) : hcy_file_length(path);
    /* A file whose own name has such a part is that file. */
    if (!stat(path, &is))
        n = strlen(path);
    return (size_t)snprintf(file, size, "%.*s", (int)n, path) < size;
}

int guard_identify(uint64_t file[2], const char *path)
{
    char name[4096];
    struct stat is;
    /* Writing to a device or a pipe destroys nothing, even if it is read too. */
    if (!file_of(name, sizeof name, path) || stat(name, &is) || S_ISCHR(is.st_mode) || S_ISFIFO(is.st_mode))
        return 0;
    file[0] = (uint64_t)is.st_dev;
    file[1] = (uint64_t)is.st_ino;
    return 1;
}

/* The file that belongs to `path`, the header beside BART's numbers; 0: none does. */
static int find_beside(char *name, size_t size, const char *path)
{
    size_t n = strlen(path);
    if (n < 5 || n >= size || strcmp(path + n - 4, ".cfl"))
        return 0;
    snprintf(name, size, "%.*s.hdr", (int)n - 4, path);
    return 1;
}

void guard_reads(struct guard *g, const char *what, const char *path)
{
    struct guard_file file = { .what = what };
    char beside[4096];
    if (path && guard_identify(file.id, path))
        add_guarded_file(g, file);
    if (path && find_beside(beside, sizeof beside, path) && guard_identify(file.id, beside))
        add_guarded_file(g, file);
}

void guard_reads_stack(struct guard *g, const hcy_stack *stack)
{
    hcy_stack_file *files = NULL;
    size_t n = 0;
    g->failed |= hcy_stack_files(&files, &n, stack) != 0;
    for (size_t i = 0; i < n; i++)
        add_guarded_file(g, (struct guard_file){ { files[i].device, files[i].inode }, "the stack", NULL });
    hcy_list_free(files);
}

/* One file that will be written. */
static int check_written_file(const struct guard *g, const char *what, const char *path)
{
    struct guard_file file;
    int there = guard_identify(file.id, path), status = CLI_OK;
    char *whole = inputs_whole_name(path);
    if (!whole)
        return cli_error("no memory for the name of %s", path);
    /* Links make one file of two names, and two outputs that are not there yet have no inode: paths are
     * compared for these, x and ./x in one spelling. */
    for (size_t i = 0; i < g->n && !status; i++)
        if ((there && !memcmp(g->files[i].id, file.id, sizeof file.id)) ||
            (g->files[i].written && !strcmp(g->files[i].written, whole)))
            status = g->files[i].written
                         ? cli_error("%s would be written twice, for %s and for %s; name another file", path,
                                     g->files[i].what, what)
                         : cli_error("%s is read (%s), and %s would write over it; name another file", path,
                                     g->files[i].what, what);
    free(whole);
    return status;
}

/* 0, or an errno. */
static int why_not_written(const char *path)
{
    char folder[4096], file[4096];
    struct stat is;
    if (!file_of(file, sizeof file, path))
        return ENAMETOOLONG;
    int there = !stat(file, &is);
    if (there && S_ISDIR(is.st_mode))
        return EISDIR;
    snprintf(folder, sizeof folder, "%s", file);
    /* A file that is not there yet needs a folder that takes it. */
    const char *into = dirname(folder);
    if (!there && !stat(into, &is) && !S_ISDIR(is.st_mode))
        return ENOTDIR;
    return access(there ? file : into, W_OK) ? errno : 0;
}

static int can_be_written(const char *path)
{
    int number = why_not_written(path);
    if (number == EISDIR)
        return cli_error("%s is a directory; name a file in it", path);
    return number ? cli_write_failed(path, number) : CLI_OK;
}

int guard_writes(struct guard *g, const char *what, const char *path, uint64_t first, uint64_t last)
{
    if (!path || !strcmp(path, "-"))
        return CLI_OK;
    if (g->failed)
        return cli_error("no memory for the names of all files that are read");
    /* Only a numbered series has many names; elsewhere a % is one of the name's characters. */
    if (!strchr(path, '%') || first >= last) {
        char beside[4096];
        int status = check_written_file(g, what, path);
        if (!status)
            status = can_be_written(path);
        if (!status && find_beside(beside, sizeof beside, path)) {
            status = check_written_file(g, what, beside);
            status = status ? status : can_be_written(beside);
        }
        struct guard_file file = { .what = what };
        /* What is written becomes one of the files that no later output may go over. */
        (void)guard_identify(file.id, path);
        if (!status && !(file.written = inputs_whole_name(path)))
            status = cli_error("no memory for the name of %s", path);
        if (!status)
            add_guarded_file(g, file);
        return status;
    }
    /* Frames that a growing stack will have are not known, so their names cannot be checked. */
    for (uint64_t i = first; last != UINT64_MAX && i < last; i++) {
        char name[4096];
        int st = hcy_numbered_path(name, sizeof name, path, i);
        if (st)
            return cli_fail(st);
        if (check_written_file(g, what, name))
            return CLI_FAILED;
    }
    return CLI_OK;
}

/* Anything but a file that begins as a timeline does. */
static int is_other_file(const char *path)
{
    struct stat is;
    if (stat(path, &is) || S_ISDIR(is.st_mode) || (S_ISREG(is.st_mode) && !is.st_size))
        return 0;
    if (!S_ISREG(is.st_mode)) /* a pipe cannot be written over, as a timeline's end is by each span */
        return 1;
    FILE *file = fopen(path, "r");
    int other = !file || fgetc(file) != '[';
    if (file)
        fclose(file);
    return other;
}

/* The library passes over a file that it cannot or may not write; whoever set the variable waits for a timeline. */
static void warn_of_lost_trace(const char *path)
{
    char words[128] = "";
    int is_other = is_other_file(path), number = is_other ? 0 : why_not_written(path);
    if (number && strerror_r(number, words, sizeof words))
        words[0] = 0;
    if (number)
        cli_note("no timeline is written: HALCYON_TRACE names %s: %s", path, words);
    else if (is_other)
        cli_note("no timeline is written: HALCYON_TRACE names %s, which is not a timeline and stays as it is", path);
}

int guard_trace(struct guard *g)
{
    const char *path = getenv("HALCYON_TRACE");
    if (!path || !*path)
        return CLI_OK;
    int status = check_written_file(g, "HALCYON_TRACE", path);
    if (!status)
        warn_of_lost_trace(path);
    return status;
}

int guard_trace_alone(const hcy_stack *stack, const char *poni)
{
    struct guard g = { 0 };
    guard_reads_stack(&g, stack);
    guard_reads(&g, "the geometry", poni);
    int status = guard_trace(&g);
    guard_free(&g);
    return status;
}

/* --- Arrays --- */

static bool is_in_h5(const char *path)
{
    const char *format;
    return !hcy_format_of(&format, path, HCY_WRITE_ARRAY) && (!strcmp(format, "h5") || !strcmp(format, "mrd"));
}

/* "a/b", of "FILE.h5://a/./b": HDF5 has many spellings of a name.  Of "FILE.h5" it is `otherwise`. */
static void spell_dataset(char name[], size_t size, const char *path, const char *otherwise)
{
    size_t n = hcy_file_length(path), at = 0;
    const char *from = path[n] && path[n + 1] ? path + n + 1 : otherwise;
    name[0] = 0;
    while (*from) {
        size_t length = strcspn(from, "/");
        if (length && !(length == 1 && *from == '.') && at < size)
            at += (size_t)snprintf(name + at, size - at, "%s%.*s", at ? "/" : "", (int)length, from);
        from += length + (from[length] == '/');
    }
}

/* Does writing the one replace the other: is it that, or a group or a list with it? */
static bool is_dataset_lost(const char *written, const char *read)
{
    size_t n = strlen(written);
    return !strncmp(written, read, n) && (!read[n] || read[n] == '/');
}

/* Would `out`, in the same HDF5 file, replace the dataset that is read? */
static bool replaces_dataset(const char *out, const char *in)
{
    static const char *const unnamed[] = { "data", "dataset/data" }; /* what a file alone stands for */
    char written[4096], read[4096], series[4096];
    spell_dataset(written, sizeof written, out, "");
    snprintf(series, sizeof series, "dataset/%.*s", (int)(sizeof series - 16), written);
    for (size_t i = 0; i < 2; i++) {
        spell_dataset(read, sizeof read, in, unnamed[i]);
        /* What is written to .mrd is in the group /dataset. */
        if (is_dataset_lost(written, read) || is_dataset_lost(series, read))
            return true;
    }
    return false;
}

int guard_arrays(const char *const reads[][2], size_t n, const char *out, const char *more)
{
    bool is_dataset = out[hcy_file_length(out)] && is_in_h5(out);
    struct guard guard = { 0 };
    for (size_t i = 0; i < n; i++)
        /* A whole file that is read must stay, while another dataset of the same HDF5 file may be written. */
        if (reads[i][1] && (!is_dataset || !is_in_h5(reads[i][1]) || replaces_dataset(out, reads[i][1])))
            guard_reads(&guard, reads[i][0], reads[i][1]);
    int status = guard_writes(&guard, "--out", out, 0, 0);
    for (size_t i = 0; i < n; i++)
        guard_reads(&guard, reads[i][0], reads[i][1]);
    if (!status)
        status = guard_writes(&guard, "the second output", more, 0, 0);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status;
}

void guard_free(struct guard *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->files[i].written);
    free(g->files);
}
