/* cache.c - where things are kept from run to run: HALCYON_CACHE_DIR, else $XDG_CACHE_HOME/halcyon, else
 * ~/.cache/halcyon; a HALCYON_CACHE_DIR that is set but empty switches the cache off.  Any thread, any number of
 * processes at once.
 *
 * What is kept decides on results and on code that runs, so it is read and written only where nobody else but root
 * could have put it: the file and its folder belong to this user or to root, and not everybody may write to them.  A
 * group may, since with a umask of 002 all files of a user are so; who is in a group with others trusts them. */
#include "hal_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_MIB ((uint64_t)2048)

/* All folders of `path`, which is as it was afterwards. */
static int make_folders(char *path)
{
    for (char *p = path + 1;; p++)
        if (*p == '/' || !*p) {
            char was = *p;
            *p = 0;
            /* Folders above ours may belong to others and be closed to us; whether the last one can be used,
             * the first file in it will show. */
            if (mkdir(path, 0777) && errno != EEXIST && errno != EROFS && errno != EACCES)
                return HCY_ENOENT;
            *p = was;
            if (!was)
                return 0;
        }
}

int hcy_cache_folder(char *path, size_t size, const char *folder)
{
    const char *own = getenv("HALCYON_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (!path || !folder)
        return HCY_ENOENT;
    /* Set but empty means that the user wants no cache: length 0 is then treated as a failure below. */
    if (own)
        n = *own ? snprintf(path, size, "%s/%s", own, folder) : 0;
    else if (xdg && *xdg)
        n = snprintf(path, size, "%s/halcyon/%s", xdg, folder);
    else
        n = home && *home ? snprintf(path, size, "%s/.cache/halcyon/%s", home, folder) : 0;
    /* A path that was cut would be another folder, so it is refused. */
    return n <= 0 || (size_t)n >= size ? HCY_ENOENT : make_folders(path);
}

uint64_t hcy_cache_limit(void)
{
    const char *text = getenv("HALCYON_CACHE_SIZE");
    uint64_t mib = USUAL_MIB;
    char *end;
    if (text && *text >= '0' && *text <= '9') {
        uint64_t given = strtoull(text, &end, 10);
        /* A value that is no number is not taken for one: 2G would otherwise be 2 MiB, and empty the cache. */
        mib = *end ? USUAL_MIB : given;
    }
    /* MiB that do not fit into 64 bits as bytes are no limit, as 0 is. */
    return mib && mib < UINT64_MAX >> 20 ? mib << 20 : UINT64_MAX;
}

static int folder_of(char folder[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path + 1) : 0;
    n = snprintf(folder, PATH_MAX, "%.*s", n ? n : 1, n ? path : ".");
    return n < 0 || n >= PATH_MAX;
}

/* Can nobody but this user and root have put this there?  In a folder with the sticky bit others may only add files,
 * which are theirs. */
static int is_safe(const struct stat *st)
{
    int shared = st->st_mode & S_IWOTH && !(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX);
    return (st->st_uid == geteuid() || !st->st_uid) && !shared;
}

static int is_safe_folder(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;
    return !folder_of(folder, path) && !stat(folder, &st) && S_ISDIR(st.st_mode) && is_safe(&st);
}

int hcy_cache_open(int *fd, const char *path)
{
    struct stat st;
    if (!fd || !path || !is_safe_folder(path))
        return HCY_ENOENT;
    /* Somebody may have put a pipe there, for whose writer an open without O_NONBLOCK would wait. */
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return HCY_ENOENT;
    /* The file that is open is looked at, since what has its name may be another one by now. */
    if (!fstat(*fd, &st) && S_ISREG(st.st_mode) && is_safe(&st))
        return 0;
    close(*fd);
    return HCY_ENOENT;
}

static int read_whole(char *bytes, size_t size, int fd)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = read(fd, bytes + at, size - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return HCY_ENOENT;
        at += (size_t)n;
    }
    return 0;
}

int hcy_cache_read(void **data, size_t *size, const char *path, size_t most)
{
    struct stat st;
    int fd, status = data && size ? hcy_cache_open(&fd, path) : HCY_ENOENT;
    char *bytes = NULL;
    if (status)
        return status;
    if (fstat(fd, &st) || (uint64_t)st.st_size > most || !(bytes = malloc((size_t)st.st_size + 1)))
        status = HCY_ENOENT;
    if (!status)
        status = read_whole(bytes, (size_t)st.st_size, fd);
    close(fd);
    if (status) {
        free(bytes);
        return status;
    }
    bytes[st.st_size] = 0;
    *data = bytes;
    *size = (size_t)st.st_size;
    return 0;
}

uint64_t hcy_cache_sum(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; p && i < size; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

int hcy_cache_begin(hcy_output **output, const char *path)
{
    char folder[PATH_MAX];
    hcy_error before = *hcy_last_error(); /* that the cache cannot be written is nobody's failure */
    /* The folder may have been removed since it was asked for: whoever empties the cache need not stop
     * anybody. */
    if (!output || !path || folder_of(folder, path) || make_folders(folder) || !is_safe_folder(path))
        return HCY_ENOENT;
    int st = hcy_output_open(output, path, HCY_OUTPUT_REPLACES); /* a pipe would wait for its reader */
    hcy_fail_again(&before);
    return st ? HCY_ENOENT : 0;
}

int hcy_cache_end(hcy_output *output, int status)
{
    hcy_error before = *hcy_last_error();
    if (!output)
        return HCY_ENOENT;
    /* A cache may be shared, so others than its owner may read it.  Nobody writes to it again, as who has it mapped
     * counts on; it is replaced. */
    if (!status && fchmod(hcy_output_fd(output), 0444))
        status = HCY_EIO;
    /* Readers see the old file or the whole new one: the output takes its name only when it is complete. */
    status = hcy_output_commit(output, status);
    hcy_fail_again(&before);
    return status ? HCY_ENOENT : 0;
}

int hcy_cache_write(const char *path, const void *head, size_t head_size, const void *data, size_t size)
{
    hcy_output *output;
    hcy_error before = *hcy_last_error();
    int st = hcy_cache_begin(&output, path);
    if (st)
        return st;
    st = hcy_output_write(output, head, head_size, 0);
    if (!st)
        st = hcy_output_write(output, data, size, head_size);
    st = hcy_cache_end(output, st);
    hcy_fail_again(&before);
    return st;
}
