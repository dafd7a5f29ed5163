/* cache.c - where things are kept from run to run: HALCYON_CACHE_DIR, else $XDG_CACHE_HOME/halcyon, else
 * ~/.cache/halcyon; a HALCYON_CACHE_DIR that is set but empty switches the cache off.  Any thread, any number of
 * processes at once. */
#include "hal_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static int make_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    return (size_t)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) >= sizeof folder ||
           make_folders(folder);
}

int hcy_cache_write(const char *path, const void *head, size_t head_size, const void *data, size_t size)
{
    hcy_output *output;
    hcy_error before = *hcy_last_error(); /* that the cache cannot be written is nobody's failure */
    /* The folder may have been removed since it was asked for: whoever empties the cache need not stop
     * anybody. */
    if (!path || make_folder_of(path))
        return HCY_ENOENT;
    int st = hcy_output_open(&output, path, HCY_OUTPUT_REPLACES); /* a pipe would wait for its reader */
    if (!st) {
        /* Readers see the old file or the whole new one: the output takes its name only when it is complete. */
        st = hcy_output_write(output, head, head_size, 0);
        if (!st)
            st = hcy_output_write(output, data, size, head_size);
        /* A cache may be shared, so others than its owner may read it. */
        if (!st && fchmod(hcy_output_fd(output), 0644))
            st = HCY_EIO;
        st = hcy_output_commit(output, st);
    }
    hcy_fail_again(&before);
    return st ? HCY_ENOENT : 0;
}
