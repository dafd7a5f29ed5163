/* azint_pixels.h - the types of pixels (azint_format.h), a row each: X(NAME, name, c_type, kind, bytes).
 * HCY_PIXEL_NAME; NumPy's name; the type in C; 'u', 'i' or 'f', as in NumPy; bytes of a pixel. */
#ifndef HCY_AZINT_PIXELS_H
#define HCY_AZINT_PIXELS_H

#include "azint_format.h"

#include <stdbool.h>
#include <stddef.h>

#define HCY_PIXEL_TYPES(X)            \
    X(U8, uint8, uint8_t, 'u', 1)     \
    X(U16, uint16, uint16_t, 'u', 2)  \
    X(U32, uint32, uint32_t, 'u', 4)  \
    X(U64, uint64, uint64_t, 'u', 8)  \
    X(I8, int8, int8_t, 'i', 1)       \
    X(I16, int16, int16_t, 'i', 2)    \
    X(I32, int32, int32_t, 'i', 4)    \
    X(I64, int64, int64_t, 'i', 8)    \
    X(F32, float32, float, 'f', 4)    \
    X(F64, float64, double, 'f', 8)

struct hcy_pixel_type {
    const char *name;
    char kind;
    uint8_t bytes;
    bool is_signed, is_float;
};

/* NULL: no such type. */
static inline const struct hcy_pixel_type *hcy_pixel_type(uint32_t type)
{
#define ROW(NAME, name, c_type, kind, bytes) [HCY_PIXEL_##NAME] = { #name, kind, bytes, kind != 'u', kind == 'f' },
    static const struct hcy_pixel_type rows[] = { HCY_PIXEL_TYPES(ROW) };
#undef ROW
    return type && type < sizeof rows / sizeof rows[0] ? &rows[type] : NULL;
}

/* For messages, whatever the number. */
static inline const char *hcy_pixel_name(uint32_t type)
{
    const struct hcy_pixel_type *pixel = hcy_pixel_type(type);
    return pixel ? pixel->name : "unknown";
}

#endif
