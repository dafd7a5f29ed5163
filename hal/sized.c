/* sized.c - public structs that begin with their size, read and written whatever their version. */
#include "sized.h"

#include <halcyon/status.h>
#include <string.h>

enum { LARGEST = 4096 }; /* what is larger is no size, but what the memory held before */

static int get_size(size_t *size, const void *object, const char *name)
{
    *size = object ? *(const size_t *)object : 0;
    if (!object)
        return hcy_fail(HCY_EINVAL, "%s is NULL", name);
    if (*size < sizeof *size || *size > LARGEST)
        return hcy_fail(HCY_EINVAL, "%s.size is %zu: begin with the struct's INIT macro", name, *size);
    return 0;
}

int hcy__sized_read(void *to, size_t known, const void *from, const char *name)
{
    size_t size;
    int status = get_size(&size, from, name);
    for (size_t i = known; !status && i < size; i++)
        if (((const char *)from)[i])
            status = hcy_fail(HCY_EINVAL, "%s has members that this version does not know", name);
    if (status)
        return status;
    memcpy(to, from, size < known ? size : known);
    *(size_t *)to = known;
    return 0;
}

int hcy__sized_write(void *to, const void *from, size_t known, const char *name)
{
    size_t size;
    int status = get_size(&size, to, name);
    if (status)
        return status;
    memset(to, 0, size);
    memcpy(to, from, size < known ? size : known);
    *(size_t *)to = size;
    return 0;
}
