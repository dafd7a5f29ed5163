/* wide.cl - azint_wide.h for a kernel's compiler: what it wants defined before it, then itself. */
#pragma once
#include "dialect.h"

#define AZINT_FUNCTION DEVICE_CALL
#define AZINT_PRODUCT(a, b) MUL_F64((a), (b))
#define AZINT_AS_DOUBLE(bits) AS_DOUBLE(bits)

#include "azint/azint_wide.h"
