/* embedded.c - looking up the PTX that was made when the module was built.  Pure functions. */
#include "embedded.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix_ptx(uint64_t h, const char *text)
{
    do
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    while (*text++);
    return h;
}

uint64_t cuda_hash(uint64_t start, const char *text, const char *const *options, int n)
{
    for (int i = 0; i < n; i++)
        start = mix_ptx(start, options[i]);
    return mix_ptx(start, text);
}

bool cuda_ptx_has(const char *kernel)
{
    for (const char *const *name = cuda_ptx_kernels; *name; name++)
        if (!strcmp(*name, kernel))
            return true;
    return false;
}

char *cuda_ptx_find(const char *text, const char *const *options, int n)
{
    const uint64_t key = cuda_hash(CUDA_HASH_KEY, text, options, n);
    const struct cuda_ptx *p = cuda_ptx;
    while (p->size && (p->key != key || p->check != cuda_hash(CUDA_HASH_CHECK, text, options, n)))
        p++;
    char *ptx = p->size ? malloc((size_t)p->size) : NULL;
    if (ptx && LZ4_decompress_safe((const char *)p->data, ptx, p->packed, p->size) != p->size) {
        free(ptx);
        ptx = NULL;
    }
    return ptx;
}
