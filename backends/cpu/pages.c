/* pages.c - memory of the CPU backend, aligned, of huge pages where they pay.  No state; any thread. */
#include "cpu_priv.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

void *cpu_pages_alloc(size_t size, bool huge)
{
    size_t align = huge && size >= 4 * HUGE_PAGE ? HUGE_PAGE : ALIGN;
    if (size > SIZE_MAX - align)
        return NULL;
    /* Sizes are rounded up, as aligned_alloc() wants multiples of the alignment. */
    void *p = aligned_alloc(align, (size + align - 1) / align * align);
#ifdef MADV_HUGEPAGE
    if (p && align == HUGE_PAGE)
        madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

void *cpu_blob_alloc(size_t size)
{
    return cpu_pages_alloc(size, true);
}

void cpu_blob_free(void *blob, size_t size)
{
    (void)size;
    free(blob);
}
