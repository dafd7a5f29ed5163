/* output.c - files that get their name when they are whole.
 *
 * An output is written beside the file that it will be, as NAME.partial-PID, and renamed: whoever looks finds what was
 * there before, or all of the new.  Symbolic links are followed, so that they stay; the new file has the permissions
 * of the old one.  What is no file (a pipe, a device) gets its bytes at once, and so does a file in a folder where
 * none may be made.  One thread at a time may use an output, but for
 * hcy_output_write(); hcy_output_abandon() may be called from signal handlers.
 */
#include "hal_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, MOST_TRIES = 1000, TAIL = 32 };

struct hcy_output {
    char *path;      /* as it was asked for, for messages */
    char *target;    /* what it is called in the end: absolute, and no symbolic link */
    char *temporary; /* what it is called until then; NULL: its bytes go where they belong at once */
    int fd;
    bool replaces, listed; /* there is a file of that name; `temporary` is among the unfinished */
    FILE *stream;
    uint64_t piped;             /* bytes that went to what is no file */
    uint64_t base;              /* where a file that was open already was: its bytes before that are others' */
    _Atomic(uint64_t) behind;   /* what was written to it, from there on */
};

/* Names of files that are unfinished, for hcy_output_abandon(); who takes one out owns it.  Files beyond these are
 * not taken away by a signal. */
static _Atomic(char *) unfinished[64];
/* Those that a signal's handler has taken: it may not free them, and the process is about to end. */
static _Atomic(char *) abandoned[64];

static bool enlist(char *name)
{
    for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&unfinished[i], &none, name))
            return true;
    }
    return false;
}

static bool strike_out(char *name)
{
    for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
        char *is = name;
        if (atomic_compare_exchange_strong(&unfinished[i], &is, NULL))
            return true;
    }
    return false;
}

void hcy_output_abandon(void)
{
    for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
        char *name = atomic_exchange(&unfinished[i], NULL);
        if (name) {
            (void)unlink(name);
            atomic_store(&abandoned[i], name);
        }
    }
}

/* --- Names --- */

static int failed(const char *path, const char *what, int number)
{
    char words[128] = "";
    if (strerror_r(number, words, sizeof words))
        words[0] = 0;
    return hcy_fail(HCY_EIO, "%s%s: %s", strcmp(path, "-") ? path : "standard output", what, words);
}

/* `name` in the folder of `path`, or as it is where it is absolute. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    size_t folder = *name == '/' || !slash ? 0 : (size_t)(slash + 1 - path);
    char *made = malloc(folder + strlen(name) + 1);
    if (made) {
        memcpy(made, path, folder);
        memcpy(made + folder, name, strlen(name) + 1);
    }
    return made;
}

/* Where a chain of symbolic links leads, whether it is there or not; NULL: see errno. */
static char *follow_links(const char *path)
{
    char *name = strdup(path), link[PATH_MAX];
    for (int i = 0; name && i < MOST_LINKS; i++) {
        ssize_t n = readlink(name, link, sizeof link - 1);
        if (n < 0)
            return name;
        link[n] = 0;
        char *next = beside(name, link);
        free(name);
        name = next;
    }
    if (name)
        errno = ELOOP;
    free(name);
    return NULL;
}

/* The name of `path` from the root on, so that it stays right in another working directory; NULL: see errno. */
static char *full_name(const char *path)
{
    char *name = follow_links(path), *slash = name ? strrchr(name, '/') : NULL, *folder, *made = NULL;
    if (!name)
        return NULL;
    const char *base = slash ? slash + 1 : name;
    char *end = slash == name ? slash + 1 : slash; /* of the folder; that of "/x" is "/" */
    char kept = end ? *end : 0;
    if (end)
        *end = 0;
    folder = realpath(end ? name : ".", NULL);
    if (end)
        *end = kept;
    size_t size = folder ? strlen(folder) + strlen(base) + 2 : 0;
    if (folder && (made = malloc(size)))
        snprintf(made, size, "%s%s%s", folder, folder[1] ? "/" : "", base);
    free(folder);
    free(name);
    return made;
}

/* The number of a descriptor of this process that `path` is another name of, or -1: what is open already is written
 * from where it is, and has no name to be replaced, though it may be a file. */
static int open_already(const char *path)
{
    static const struct {
        const char *name;
        int fd; /* -1: the number follows */
    } names[] = { { "-", STDOUT_FILENO },   { "/dev/stdout", STDOUT_FILENO }, { "/dev/stderr", STDERR_FILENO },
                  { "/dev/fd/", -1 }, { "/proc/self/fd/", -1 } };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i].name);
        char *end;
        if (names[i].fd >= 0 && !strcmp(path, names[i].name))
            return names[i].fd;
        if (names[i].fd < 0 && !strncmp(path, names[i].name, n)) {
            long fd = strtol(path + n, &end, 10);
            return end > path + n && !*end && fd >= 0 && fd <= INT_MAX ? (int)fd : -1;
        }
    }
    return -1;
}

/* --- Opening --- */

/* Makes the file beside the target: its descriptor, or -1 with errno. */
static int make_temporary(struct hcy_output *o)
{
    size_t size = strlen(o->target) + TAIL;
    const char *base = strrchr(o->target, '/') + 1;
    int n = strlen(base) + TAIL > NAME_MAX ? (int)(base - o->target) + NAME_MAX - TAIL : (int)strlen(o->target);
    int fd = -1;
    char *name = malloc(size);
    for (int i = 0; name && i < MOST_TRIES && fd < 0; i++) {
        if (i)
            snprintf(name, size, "%.*s.partial-%ld.%d", n, o->target, (long)getpid(), i);
        else
            snprintf(name, size, "%.*s.partial-%ld", n, o->target, (long)getpid());
        /* What is there already is another's. */
        if (!access(name, F_OK)) {
            errno = EEXIST;
            continue;
        }
        /* A signal that comes while the file is made is handled before open() returns: by then its name is known. */
        o->listed = enlist(name);
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        const bool is_taken = fd < 0 && o->listed && !strike_out(name); /* by that handler, which ends the process */
        o->listed = o->listed && fd >= 0;
        if (is_taken)
            return -1;
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0) {
        free(name);
        return -1;
    }
    o->temporary = name;
    return fd;
}

/* The new file belongs to whom the old one belonged, as far as that may be done. */
static void take_permissions(int fd, const struct stat *old)
{
    if (fchown(fd, old->st_uid, old->st_gid))
        (void)!fchown(fd, (uid_t)-1, old->st_gid);
    (void)!fchmod(fd, old->st_mode & 0777);
}

static int open_file(struct hcy_output *o, unsigned flags)
{
    struct stat old;
    o->replaces = !stat(o->target, &old);
    /* What has the name is as good as written to, if it may be; else the folder alone says who replaces it. */
    const int writes = o->replaces && !(flags & HCY_OUTPUT_REPLACES);
    if (o->replaces && S_ISDIR(old.st_mode))
        return hcy_fail(HCY_EIO, "%s is a directory; name a file in it", o->path);
    if (writes && access(o->target, W_OK))
        return failed(o->path, " cannot be written", errno);
    if (writes && !S_ISREG(old.st_mode)) {
        o->fd = open(o->target, O_WRONLY | O_CLOEXEC);
    } else {
        o->fd = make_temporary(o);
        if (o->fd >= 0 && o->replaces && S_ISREG(old.st_mode))
            take_permissions(o->fd, &old);
        else if (o->fd < 0 && writes && (errno == EACCES || errno == EPERM || errno == EROFS))
            o->fd = open(o->target, O_RDWR | O_TRUNC | O_CLOEXEC);
    }
    return o->fd < 0 ? failed(o->path, " cannot be created", errno) : 0;
}

static int open_output(struct hcy_output *o, unsigned flags)
{
    int fd = open_already(o->path);
    if (fd >= 0) {
        o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        const off_t at = o->fd < 0 ? 0 : lseek(o->fd, 0, SEEK_CUR);
        o->base = at > 0 ? (uint64_t)at : 0; /* a pipe has no place */
        return o->fd < 0 ? failed(o->path, " cannot be written", errno) : 0;
    }
    o->target = full_name(o->path);
    return o->target ? open_file(o, flags) : failed(o->path, " cannot be created", errno);
}

int hcy_output_open(hcy_output **output, const char *path, unsigned flags)
{
    if (!output || !path)
        return hcy_fail(HCY_EINVAL, "hcy_output_open: output and path must not be NULL");
    *output = NULL;
    hcy_output *o = calloc(1, sizeof *o);
    if (!o || !(o->path = strdup(path))) {
        free(o);
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    }
    o->fd = -1;
    int st = open_output(o, flags);
    if (st) {
        hcy_error why = *hcy_last_error();
        hcy_output_discard(o);
        return hcy_fail_again(&why);
    }
    *output = o;
    return 0;
}

int hcy_output_fd(const hcy_output *o)
{
    return o ? o->fd : -1;
}

int hcy_output_write(hcy_output *o, const void *bytes, size_t size, uint64_t offset)
{
    if (!o || (!bytes && size))
        return hcy_fail(HCY_EINVAL, "hcy_output_write: output and bytes must not be NULL");
    for (const char *from = bytes; size;) {
        ssize_t n = pwrite(o->fd, from, size, (off_t)(o->base + offset));
        if (n < 0 && errno == ESPIPE && offset == o->piped) { /* no file: what comes in order can be written */
            n = write(o->fd, from, size);
            o->piped += n > 0 ? (uint64_t)n : 0;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(o->path, ": writing failed", n < 0 ? errno : EIO);
        from += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    uint64_t behind = atomic_load(&o->behind);
    while (behind < offset && !atomic_compare_exchange_weak(&o->behind, &behind, offset))
        ;
    return 0;
}

FILE *hcy_output_stream(hcy_output *o)
{
    if (o && !o->stream)
        o->stream = fdopen(o->fd, "w");
    return o ? o->stream : NULL;
}

const char *hcy_output_name(const hcy_output *o)
{
    if (!o)
        return NULL;
    return o->target ? o->target : o->path;
}

const char *hcy_output_place(const hcy_output *o)
{
    if (!o)
        return NULL;
    return o->temporary ? o->temporary : o->path;
}

int hcy_output_show(hcy_output *o)
{
    if (!o)
        return hcy_fail(HCY_EINVAL, "hcy_output_show: output must not be NULL");
    if (o->stream && fflush(o->stream))
        return failed(o->path, ": writing failed", errno);
    if (o->stream && ferror(o->stream)) /* of an earlier write, which has not left its number */
        return failed(o->path, ": writing failed", EIO);
    if (!o->temporary)
        return 0;
    if (rename(o->temporary, o->target))
        return failed(o->path, " cannot be created", errno);
    if (!o->listed || strike_out(o->temporary))
        free(o->temporary);
    o->temporary = NULL;
    o->listed = false;
    return 0;
}

/* --- Closing --- */

/* Closes what is open: 0, or why not all of it arrived. */
static int close_all(struct hcy_output *o)
{
    int number = 0;
    if (o->stream) {
        int broken = ferror(o->stream);
        if (fclose(o->stream))
            number = errno;
        else if (broken)
            number = EIO;
    } else if (o->fd >= 0) {
        /* Who writes next to what was open already goes on behind; of a pipe this fails. */
        if (!o->target && o->behind)
            (void)lseek(o->fd, (off_t)(o->base + o->behind), SEEK_SET);
        number = close(o->fd) ? errno : 0;
    }
    return number;
}

static void free_output(struct hcy_output *o)
{
    if (!o->listed || strike_out(o->temporary)) /* else a signal's handler is at it */
        free(o->temporary);
    free(o->target);
    free(o->path);
    free(o);
}

int hcy_output_commit(hcy_output *o, int status)
{
    if (!o)
        return hcy_fail(HCY_EINVAL, "hcy_output_commit: output must not be NULL");
    if (status) {
        hcy_output_discard(o);
        return status;
    }
    int number = close_all(o), st = 0;
    if (!number && o->temporary && rename(o->temporary, o->target))
        number = errno;
    if (number && o->temporary)
        (void)unlink(o->temporary);
    if (number)
        st = failed(o->path, o->temporary && o->replaces ? ": writing failed, it is as it was before" : ": writing failed",
                    number);
    free_output(o);
    return st;
}

int hcy_output_keep(hcy_output *o)
{
    if (!o)
        return hcy_fail(HCY_EINVAL, "hcy_output_keep: output must not be NULL");
    int number = close_all(o), st = number ? failed(hcy_output_place(o), ": writing failed", number) : 0;
    free_output(o);
    return st;
}

void hcy_output_discard(hcy_output *o)
{
    if (!o)
        return;
    (void)close_all(o);
    if (o->temporary)
        (void)unlink(o->temporary);
    free_output(o);
}
