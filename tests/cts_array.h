/* cts_array.h - what the tests of arrays and of expressions share, beside cts.h. */
#ifndef HCY_TESTS_CTS_ARRAY_H
#define HCY_TESTS_CTS_ARRAY_H

#include "cts.h"

#include <halcyon/array.h>

static inline hcy_array_info info_of(const hcy_array *a)
{
    hcy_array_info i = HCY_ARRAY_INFO_INIT;
    if (hcy_array_get_info(&i, a))
        bail_out("%s", hcy_last_error()->text);
    return i;
}

#endif
