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

/* Behind blanks, remarks, and the ends of lines that go on behind a backslash. */
static const char *skip_blanks(const char *at)
{
    for (const char *end = at; end; at = end ? end + 2 : at) {
        at += strspn(at, " \t\v\f\r\n\\");
        end = at[0] == '/' && at[1] == '*' ? strstr(at + 2, "*/") : NULL;
    }
    return at;
}

/* Also where the line goes on within the word. */
static bool begins_with(const char *at, const char *word)
{
    for (; *word; word++, at++) {
        at += *at == '\\' ? strspn(at, " \t\r\n\\") : 0;
        if (*at != *word)
            return false;
    }
    return true;
}

bool gpu_cache_includes(const char *text)
{
    /* "%:" is C's other word for "#", as are trigraphs of some languages.  Whether a file is there is in no hash. */
    if (strstr(text, "?\?=") || strstr(text, "?\?/") || strstr(text, "__has_include") || strstr(text, "__has_embed"))
        return true;
    for (const char *at = strpbrk(text, "#:-"); at; at = strpbrk(at + 1, "#:-")) {
        const char *word = skip_blanks(at + 1);
        if (begins_with(word, "include") || (*at != '-' && (begins_with(word, "import") || begins_with(word, "embed"))))
            return true;
    }
    return false;
}

bool gpu_cache_is_on(void)
{
    char dir[PATH_MAX];
    return !hcy_cache_folder(dir, sizeof dir, "kernels");
}

void gpu_cache_write(const char *kind, uint64_t key, uint64_t check, const void *data, size_t size)
{
    char path[PATH_MAX + 40];
    struct head head = { MAGIC, key, check, size, hcy_cache_sum(data, size) };
    if (entry_path(path, sizeof path, kind, key))
        (void)hcy_cache_write(path, &head, sizeof head, data, size); /* or not: it is compiled again */
}
