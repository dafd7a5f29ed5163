/* object.c - reference counts, the clock, sizes.  Thread-safe. */
#include "hal_priv.h"

#include <time.h>

void hcy__object_init(void *object, void (*destroy)(void *))
{
    struct hcy__object *o = object;
    atomic_init(&o->refs, 1);
    o->destroy = destroy;
}

void *hcy__retain(void *object)
{
    struct hcy__object *o = object;
    if (o)
        /* Relaxed is enough: whoever adds a reference has one already, so nothing can be destroyed
         * meanwhile. */
        atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return object;
}

void hcy__release(void *object)
{
    struct hcy__object *o = object;
    /* What other threads did with the object must be seen by the one that destroys it. */
    if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        o->destroy(o);
}

uint64_t hcy_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int hcy_size_mul(size_t *out, size_t a, size_t b)
{
    const size_t half = SIZE_MAX >> 4 * sizeof half;
    if (!out)
        return hcy_fail(HCY_EINVAL, "hcy_size_mul: no place for the product");
    /* Halves of a word have a product that fits.  Beyond, a division cannot wrap where the product could; it takes as
     * long as much of a short launch. */
    if ((a > half || b > half) && b && a > SIZE_MAX / b)
        return hcy_fail(HCY_ERANGE, "%zu times %zu is more than memory can address", a, b);
    *out = a * b;
    return 0;
}

int hcy_size_add(size_t *out, size_t a, size_t b)
{
    if (!out)
        return hcy_fail(HCY_EINVAL, "hcy_size_add: no place for the sum");
    if (a > SIZE_MAX - b)
        return hcy_fail(HCY_ERANGE, "%zu plus %zu is more than memory can address", a, b);
    *out = a + b;
    return 0;
}
