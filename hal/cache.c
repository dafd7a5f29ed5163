/* cache.c - where things are kept from run to run: HALCYON_CACHE_DIR, else $XDG_CACHE_HOME/halcyon, else
 * ~/.cache/halcyon; a HALCYON_CACHE_DIR that is set but empty switches the cache off.  Any thread. */
#include "hal_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int hcy_cache_folder(char *path, size_t size, const char *folder)
{
    const char *own = getenv("HALCYON_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (own)
        n = *own ? snprintf(path, size, "%s/%s", own, folder) : 0;
    else if (xdg && *xdg)
        n = snprintf(path, size, "%s/halcyon/%s", xdg, folder);
    else
        n = home && *home ? snprintf(path, size, "%s/.cache/halcyon/%s", home, folder) : 0;
    if (n <= 0 || (size_t)n >= size)
        return HCY_ENOENT;
    for (char *p = path + 1;; p++)
        if (*p == '/' || !*p) {
            char was = *p;
            *p = 0;
            if (mkdir(path, 0777) && errno != EEXIST && errno != EROFS && errno != EACCES)
                return HCY_ENOENT;
            *p = was;
            if (!was)
                return 0;
        }
}
