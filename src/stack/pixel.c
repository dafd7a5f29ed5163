/* pixel.c - the table of pixel types.  Constant data. */
#include "stack_priv.h"

#include <azint/azint_pixels.h>

#define ROW(NAME, name, c_type, kind, bytes) { HCY_PIXEL_##NAME, kind, bytes, #name },
static const hcy__pixel table[] = { HCY_PIXEL_TYPES(ROW) };

const hcy__pixel *hcy__pixel_find(char kind, size_t size)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].kind == kind && table[i].size == size)
            return &table[i];
    return NULL;
}

const hcy__pixel *hcy__pixel_of_type(uint32_t pixel_type)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].type == pixel_type)
            return &table[i];
    return NULL;
}
