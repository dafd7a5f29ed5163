/* pixel.c - the table of pixel types.  Constant data. */
#include "stack_priv.h"

static const hcy__pixel table[] = {
    { HCY_PIXEL_U8, 'u', 1, "uint8" },    { HCY_PIXEL_U16, 'u', 2, "uint16" },
    { HCY_PIXEL_U32, 'u', 4, "uint32" },  { HCY_PIXEL_U64, 'u', 8, "uint64" },
    { HCY_PIXEL_I8, 'i', 1, "int8" },     { HCY_PIXEL_I16, 'i', 2, "int16" },
    { HCY_PIXEL_I32, 'i', 4, "int32" },   { HCY_PIXEL_I64, 'i', 8, "int64" },
    { HCY_PIXEL_F32, 'f', 4, "float32" }, { HCY_PIXEL_F64, 'f', 8, "float64" },
};

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
