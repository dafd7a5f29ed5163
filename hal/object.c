/* object.c - reference counts, and the references a command in flight holds.  Thread-safe. */
#include "hal_priv.h"

#include <stdlib.h>
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
        atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return object;
}

void hcy__release(void *object)
{
    struct hcy__object *o = object;
    if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        o->destroy(o);
}

hcy_keep *hcy__keep_new(size_t n, size_t extra, void **storage)
{
    const size_t align = _Alignof(max_align_t);
    size_t head = sizeof(hcy_keep) + n * sizeof(struct hcy__object *);
    head = (head + align - 1) / align * align;
    hcy_keep *keep = malloc(head + extra);
    if (!keep)
        return NULL;
    keep->n = 0;
    if (storage)
        *storage = (char *)keep + head;
    return keep;
}

void hcy__keep_add(hcy_keep *keep, void *object)
{
    if (object)
        keep->objects[keep->n++] = hcy__retain(object);
}

void hcy_keep_release(hcy_keep *keep)
{
    if (!keep)
        return;
    for (size_t i = keep->n; i-- > 0;)
        hcy__release(keep->objects[i]);
    free(keep);
}

uint64_t hcy_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int hcy_size_mul(size_t *out, size_t a, size_t b)
{
    if (b && a > SIZE_MAX / b)
        return hcy_fail(HCY_ERANGE, "%zu times %zu is more than memory can address", a, b);
    *out = a * b;
    return 0;
}

int hcy_size_add(size_t *out, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return hcy_fail(HCY_ERANGE, "%zu plus %zu is more than memory can address", a, b);
    *out = a + b;
    return 0;
}
