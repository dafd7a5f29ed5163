/* begin.h - where a buffer that a kernel is given begins. */
#ifndef HCY_BEGIN_H
#define HCY_BEGIN_H

#include <halcyon/backend.h>

/* What has no address, of a device's or of the host's, begins where its driver aligns it. */
static inline uint64_t hcy__begin(const hcy_value *v)
{
    const hcy_block *b = v->block;
    return v->offset + (!b ? 0 : b->address ? b->address : (uint64_t)(uintptr_t)b->host);
}

#endif
