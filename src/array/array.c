/* array.c - arrays: their types, making them, what they are. */
#include "array_priv.h"

#include "hal_priv.h"
#include "room.h"
#include "sized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hcy__dtype dtypes[] = {
    [HCY_BOOL] = { "bool", 1, 'b' },           [HCY_INT8] = { "int8", 1, 'i' },
    [HCY_UINT8] = { "uint8", 1, 'u' },         [HCY_INT16] = { "int16", 2, 'i' },
    [HCY_UINT16] = { "uint16", 2, 'u' },       [HCY_INT32] = { "int32", 4, 'i' },
    [HCY_UINT32] = { "uint32", 4, 'u' },       [HCY_INT64] = { "int64", 8, 'i' },
    [HCY_UINT64] = { "uint64", 8, 'u' },       [HCY_FLOAT16] = { "float16", 2, 'f' },
    [HCY_FLOAT32] = { "float32", 4, 'f' },     [HCY_FLOAT64] = { "float64", 8, 'f' },
    [HCY_COMPLEX64] = { "complex64", 8, 'c' }, [HCY_COMPLEX128] = { "complex128", 16, 'c' },
};

const struct hcy__dtype *hcy__dtype(int dtype)
{
    return dtype >= HCY_BOOL && dtype <= HCY_COMPLEX128 ? &dtypes[dtype] : NULL;
}

size_t hcy_dtype_size(int dtype)
{
    const struct hcy__dtype *type = hcy__dtype(dtype);
    return type ? type->bytes : 0;
}

const char *hcy_dtype_name(int dtype)
{
    const struct hcy__dtype *type = hcy__dtype(dtype);
    return type ? type->name : "?";
}

int hcy__array_check(const hcy_array *array, const char *function)
{
    return array ? 0 : hcy_fail(HCY_EINVAL, "%s: no array", function);
}

const char *hcy__shape_text(char text[200], int rank, const int64_t *shape)
{
    size_t n = (size_t)snprintf(text, 200, "(");
    /* At most 8 axes of 20 characters and a comma fit, so that n never passes the end. */
    for (int d = 0; d < rank; d++)
        n += (size_t)snprintf(text + n, 200 - n, "%s%lld", d ? ", " : "", (long long)shape[d]);
    snprintf(text + n, 200 - n, rank == 1 ? ",)" : ")");
    return text;
}

int hcy__shape_count(int64_t *count, int rank, const int64_t *shape)
{
    size_t n = 1;
    bool empty = false;
    if (rank < 0 || rank > HCY_ARRAY_MAX_RANK || (rank && !shape))
        return hcy_fail(HCY_EINVAL, "an array has 0 to %d axes, not %d, and a size for each",
                        HCY_ARRAY_MAX_RANK, rank);
    /* Sizes beside an axis of 0 are multiplied too: strides are made of them. */
    for (int d = 0; d < rank; d++) {
        if (shape[d] < 0)
            return hcy_fail(HCY_EINVAL, "axis %d of an array cannot have %lld elements", d,
                            (long long)shape[d]);
        empty = empty || !shape[d];
        if (shape[d] && (hcy_size_mul(&n, n, (size_t)shape[d]) || n > INT64_MAX / 16))
            return hcy_fail(HCY_ERANGE, "an array that is larger than can be addressed");
    }
    *count = empty ? 0 : (int64_t)n;
    return 0;
}

void hcy__c_strides(int64_t *strides, int rank, const int64_t *shape)
{
    int64_t step = 1;
    /* An axis of 0 must not make 0 of the strides before it, which is how a broadcast looks. */
    for (int d = rank; d-- > 0; step *= shape[d] ? shape[d] : 1)
        strides[d] = step;
}

bool hcy__is_contiguous(const hcy_array *a)
{
    int64_t step = 1;
    /* The stride of an axis of one element is never used. */
    for (int d = a->rank; d-- > 0; step *= a->shape[d])
        if (a->shape[d] > 1 && a->strides[d] != step)
            return a->count == 0;
    return true;
}

hcy_device *hcy__array_device(const hcy_array *array)
{
    return hcy__room_device(array->room);
}

/* --- Making and releasing --- */

static int new_array(hcy_array **out, hcy_device *dev, int dtype, int rank, const int64_t *shape)
{
    int64_t count = 0;
    /* Rank and shape are checked first, since the loop over them below trusts them. */
    int status = hcy__shape_count(&count, rank, shape);
    if (!status && (!out || !dev || !hcy__dtype(dtype)))
        status = hcy_fail(HCY_EINVAL,
                          !out   ? "an array: no place for it"
                          : !dev ? "an array: no device"
                                 : "an array: %d is not a type of HCY_BOOL to HCY_COMPLEX128",
                          dtype);
    /* Up to here nothing is held, so that a refused argument leaves nothing to free. */
    hcy_array *a = status ? NULL : calloc(1, sizeof *a);
    if (status)
        return status;
    if (!a)
        return hcy_fail(HCY_ENOMEM, "out of memory for an array's record");
    atomic_init(&a->refs, 1);
    a->dtype = dtype;
    a->rank = rank;
    a->count = count;
    for (int d = 0; d < rank; d++)
        a->shape[d] = shape[d];
    hcy__c_strides(a->strides, rank, shape);
    /* The room comes last, so that without one only the record has to go; the buffer is the caller's to add, and
     * until then the array counts as an empty one for hcy_array_release(). */
    status = hcy__room_get(&a->room, dev);
    if (status)
        free(a);
    else
        *out = a;
    return status;
}

int hcy_array_empty(hcy_array **out, hcy_device *dev, int dtype, int rank, const int64_t *shape)
{
    hcy_array *a = NULL;
    int status = new_array(&a, dev, dtype, rank, shape);
    /* The count was held against 16 bytes an element. */
    if (!status && !out)
        status = hcy_fail(HCY_EINVAL, "hcy_array_empty: no place for the array");
    if (!status && a->count)
        status = hcy_buffer_create(&a->buffer, dev, HCY_MEM_DEVICE, (size_t)a->count * hcy_dtype_size(dtype));
    if (status)
        hcy_array_release(a);
    else
        *out = a;
    return status;
}

/* Whether the elements, as they are strided, lie in so many. */
static bool lies_within(const hcy_array *a, size_t room)
{
    size_t below = 0, above = 0, far = 0;
    /* Strides are the caller's: unchecked, a sum could wrap around and seem to lie inside. No axis is 0 here. */
    for (int d = 0; d < a->rank; d++) {
        int64_t stride = a->strides[d];
        size_t step = stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride,
               *side = stride < 0 ? &below : &above;
        if (hcy_size_mul(&far, step, (size_t)a->shape[d] - 1) || hcy_size_add(side, *side, far))
            return false;
    }
    size_t offset = (size_t)a->offset;
    return a->offset >= 0 && below <= offset && !hcy_size_add(&above, above, offset) && above < room;
}

/* Whether numbers of the type may begin where the buffer does: devices, and compilers, take it for granted. */
static bool lies_aligned(const hcy_buffer *buffer, int dtype)
{
    const size_t size = hcy_dtype_size(dtype);
    return hcy__begins_at_multiple(buffer, dtype >= HCY_COMPLEX64 ? size / 2 : size);
}

int hcy_array_of_buffer(hcy_array **out, hcy_buffer *buffer, int dtype, int rank, const int64_t *shape,
                        const int64_t *strides, int64_t offset)
{
    hcy_array *a = NULL;
    if (!out || !buffer)
        return hcy_fail(HCY_EINVAL, "hcy_array_of_buffer: no %s", out ? "buffer" : "place for the array");
    int status = new_array(&a, hcy_buffer_device(buffer), dtype, rank, shape);
    if (status)
        return status;
    a->offset = offset;
    /* Strides that are never used may be any number, and views would multiply it: those of C order stay. */
    for (int d = 0; strides && a->count && d < rank; d++)
        if (shape[d] > 1)
            a->strides[d] = strides[d];
    if (a->count && !lies_within(a, hcy_buffer_size(buffer) / hcy_dtype_size(dtype)))
        status = hcy_fail(HCY_ERANGE, "hcy_array_of_buffer: elements outside of a buffer of %zu bytes",
                          hcy_buffer_size(buffer));
    if (!status && a->count && !lies_aligned(buffer, dtype))
        status = hcy_fail(HCY_EINVAL, "hcy_array_of_buffer: a buffer that begins across %s's boundaries",
                          hcy_dtype_name(dtype));
    /* It is held even by an array that is refused, so that one release undoes all. */
    a->buffer = hcy_buffer_retain(buffer);
    if (status)
        hcy_array_release(a);
    else
        *out = a;
    return status;
}

int hcy__array_view(hcy_array **out, const hcy_array *of)
{
    if (!out)
        return hcy_fail(HCY_EINVAL, "a view of an array: no place for it");
    hcy_array *a = malloc(sizeof *a);
    if (!a)
        return hcy_fail(HCY_ENOMEM, "out of memory for an array's record");
    /* The record is not copied as a whole: its references are counted atomically, and are not the view's. */
    a->dtype = of->dtype;
    a->rank = of->rank;
    memcpy(a->shape, of->shape, sizeof a->shape);
    memcpy(a->strides, of->strides, sizeof a->strides);
    a->offset = of->offset;
    a->count = of->count;
    atomic_init(&a->refs, 1);
    a->buffer = of->buffer ? hcy_buffer_retain(of->buffer) : NULL;
    a->room = hcy__room_retain(of->room);
    *out = a;
    return 0;
}

hcy_array *hcy_array_retain(hcy_array *array)
{
    if (array)
        /* Whoever calls holds a reference already, so that nothing has to be ordered. */
        atomic_fetch_add_explicit(&array->refs, 1, memory_order_relaxed);
    return array;
}

void hcy_array_release(hcy_array *array)
{
    if (!array || atomic_fetch_sub_explicit(&array->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* The last release comes after all that other threads did with the array. */
    hcy_buffer_release(array->buffer);
    hcy__room_release(array->room);
    free(array);
}

int hcy_array_get_info(hcy_array_info *info, const hcy_array *a)
{
    int status = hcy__array_check(a, "hcy_array_get_info");
    if (status)
        return status;
    hcy_array_info i = HCY_ARRAY_INFO_INIT;
    i.dtype = a->dtype;
    i.rank = a->rank;
    memcpy(i.shape, a->shape, sizeof i.shape);
    memcpy(i.strides, a->strides, sizeof i.strides);
    i.offset = a->offset;
    i.count = a->count;
    i.is_contiguous = hcy__is_contiguous(a);
    i.buffer = a->buffer;
    return hcy__sized_write(info, &i, sizeof i, "hcy_array_info");
}
