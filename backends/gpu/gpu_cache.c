/* gpu_cache.c - compiled kernels on disk, from run to run, in the cache's folder kernels.
 *
 * An entry names its length and both hashes, and what does not fit them is compiled anew.
 */
#include "gpu_cache.h"

#include <halcyon/backend.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC   0x314e49424c434148u
#define LARGEST ((size_t)256 << 20)

struct head {
    uint64_t magic, key, check, size, sum;
};

static bool entry_path(char *path, size_t size, const char *kind, uint64_t key)
{
    char dir[PATH_MAX];
    return !hcy_cache_folder(dir, sizeof dir, "kernels") &&
           (size_t)snprintf(path, size, "%s/%s-%016llx.bin", dir, kind, (unsigned long long)key) < size;
}

void *gpu_cache_read(const char *kind, uint64_t key, uint64_t check, size_t *size)
{
    char path[PATH_MAX + 40];
    struct head head = { 0 };
    size_t all = 0;
    void *read = NULL;
    unsigned char *data = NULL;
    *size = 0;
    if (!entry_path(path, sizeof path, kind, key) || hcy_cache_read(&read, &all, path, LARGEST))
        return NULL;
    data = read;
    if (all > sizeof head)
        memcpy(&head, data, sizeof head);
    if (head.magic != MAGIC || head.key != key || head.check != check || head.size != all - sizeof head ||
        hcy_cache_sum(data + sizeof head, head.size) != head.sum) {
        free(data);
        return NULL;
    }
    /* The bytes move to where the head was, so that they are what is freed. */
    memmove(data, data + sizeof head, head.size);
    *size = head.size;
    return data;
}

bool gpu_cache_includes(const char *text)
{
    static const char word[] = "include";
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        const char *before = at;
        /* A line may go on behind a backslash, and "%:" is C's other word for "#". */
        while (before > text && strchr(" \t\r\n\\", before[-1]))
            before--;
        if (before > text && strchr("#:-", before[-1]))
            return true;
    }
    return false;
}

void gpu_cache_write(const char *kind, uint64_t key, uint64_t check, const void *data, size_t size)
{
    char path[PATH_MAX + 40];
    struct head head = { MAGIC, key, check, size, hcy_cache_sum(data, size) };
    if (entry_path(path, sizeof path, kind, key))
        (void)hcy_cache_write(path, &head, sizeof head, data, size); /* or not: it is compiled again */
}
