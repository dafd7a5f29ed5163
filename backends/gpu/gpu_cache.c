/* gpu_cache.c - compiled kernels on disk, from run to run, in the cache's folder kernels.
 *
 * An entry names its length and both hashes, and what does not fit them is compiled anew.
 */
#include "gpu_cache.h"

#include <fcntl.h>
#include <halcyon/backend.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC   0x314e49424c434148u
#define LARGEST ((size_t)256 << 20)

struct head {
    uint64_t magic, key, check, size, sum;
};

static uint64_t sum_bytes(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static bool entry_path(char *path, size_t size, const char *kind, uint64_t key)
{
    char dir[PATH_MAX];
    return !hcy_cache_folder(dir, sizeof dir, "kernels") &&
           (size_t)snprintf(path, size, "%s/%s-%016llx.bin", dir, kind, (unsigned long long)key) < size;
}

/* What is a pipe is not waited for, and has nothing in it. */
static FILE *open_entry(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

void *gpu_cache_read(const char *kind, uint64_t key, uint64_t check, size_t *size)
{
    char path[PATH_MAX + 40];
    struct head head;
    void *data = NULL;
    FILE *f = entry_path(path, sizeof path, kind, key) ? open_entry(path) : NULL;
    if (!f)
        return NULL;
    /* The size comes from a file that anybody may have written, so it has a limit before it is allocated,
     * and the sum tells whether all of it is there. */
    if (fread(&head, sizeof head, 1, f) == 1 && head.magic == MAGIC && head.key == key &&
        head.check == check && head.size && head.size <= LARGEST && (data = malloc(head.size)) &&
        (fread(data, 1, head.size, f) != head.size || sum_bytes(data, head.size) != head.sum)) {
        free(data);
        data = NULL;
    }
    fclose(f);
    *size = data ? head.size : 0;
    return data;
}

void gpu_cache_write(const char *kind, uint64_t key, uint64_t check, const void *data, size_t size)
{
    char path[PATH_MAX + 40];
    struct head head = { MAGIC, key, check, size, sum_bytes(data, size) };
    if (entry_path(path, sizeof path, kind, key))
        (void)hcy_cache_write(path, &head, sizeof head, data, size); /* or not: it is compiled again */
}
