/* cache_prune.c - keeps a folder of plans below HALCYON_CACHE_SIZE MiB (2048; 0: no limit): those that were used
 * longest ago go first.  What devices have kept beside them counts like plans.
 *
 * Any number of processes may do so at once: a file that is gone is gone, and a plan that was read does not need its
 * file any more.  Files of writers that did not live to rename them go after a day.
 */
#include "azint_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY   (24 * 3600)
#define UNFINISHED ".partial-" /* behind the name, as hcy_output_open() calls what is being written */
#define DIGITS 32u
enum { NAME = 63 };

struct file {
    struct timespec used;
    uint64_t size;
    char name[NAME + 1];
};
struct files {
    struct file *at;
    size_t n, room;
};

/* What stands behind the name of a plan, or of what a device has kept of it (".tables-" and a word); NULL: it is the name
 * of neither.  Nothing else is ever removed: the folder may hold other files. */
static const char *behind_name(const char *name)
{
    static const char plan[] = ".plan", tables[] = ".tables-", letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const char *ending = name + DIGITS;
    size_t word = 0;

    if (strspn(name, "0123456789abcdef") != DIGITS)
        return NULL;
    if (!strncmp(ending, plan, sizeof plan - 1))
        ending += sizeof plan - 1;
    else if (!strncmp(ending, tables, sizeof tables - 1) && (word = strspn(ending + sizeof tables - 1, letters)))
        ending += sizeof tables - 1 + word;
    else
        return NULL;
    return !*ending || !strncmp(ending, UNFINISHED, sizeof UNFINISHED - 1) ? ending : NULL;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct file *)a)->used, *y = &((const struct file *)b)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Takes note of such a file; one left unfinished is removed. */
static void note_plan_file(struct files *files, int folder, const char *name)
{
    struct stat is;
    struct timespec now;

    const char *behind = behind_name(name);

    if (!behind || fstatat(folder, name, &is, AT_SYMLINK_NOFOLLOW) || !S_ISREG(is.st_mode))
        return;
    /* A younger one may belong to a process that is still writing it. */
    if (*behind) {
        if (!clock_gettime(CLOCK_REALTIME, &now) && now.tv_sec - is.st_mtim.tv_sec > DAY)
            (void)unlinkat(folder, name, 0);
        return;
    }
    if (strlen(name) > NAME)
        return;
    if (files->n == files->room) {
        size_t room = files->room ? 2 * files->room : 64;
        struct file *more = realloc(files->at, room * sizeof *more);

        /* Without memory this file just stays; the next plan that is saved looks again. */
        if (!more)
            return;
        files->at = more;
        files->room = room;
    }
    files->at[files->n] = (struct file){ .used = is.st_mtim, .size = (uint64_t)is.st_size };
    memcpy(files->at[files->n++].name, name, strlen(name) + 1);
}

void hcy__azint_cache_prune(const char *path)
{
    DIR *folder = opendir(path);
    struct files files = { NULL, 0, 0 };
    uint64_t limit = hcy_cache_limit(), all = 0;

    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));)
        note_plan_file(&files, dirfd(folder), entry->d_name);
    for (size_t i = 0; i < files.n; i++)
        all += files.at[i].size;
    /* Only a folder that is too large needs the order. */
    if (all > limit)
        qsort(files.at, files.n, sizeof *files.at, by_use);
    for (size_t i = 0; i < files.n && all > limit; i++) {
        /* Another process may have removed it just now: its bytes are gone in either case. */
        (void)unlinkat(dirfd(folder), files.at[i].name, 0);
        all -= files.at[i].size;
    }
    closedir(folder);
    free(files.at);
}
