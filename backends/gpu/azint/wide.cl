/* wide.cl - what families/azint/azint_wide.h, which follows, wants of a kernel's compiler. */
#define AZINT_FUNCTION DEVICE_CALL
#define AZINT_PRODUCT(a, b) MUL_F64((a), (b))
