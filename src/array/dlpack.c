/* dlpack.c - arrays to and from DLPack's tensors, of the host's memory and of devices that DLPack has a number for; the
 * facts of Python's array interfaces, which come in as tensors.
 *
 * The structures are DLPack's (dlpack.h, version 1), whose layout is its ABI.  A tensor that was made here holds a
 * reference on its array; an array that was made of a tensor gives it back with its buffer.
 */
#include "array_priv.h"

#include "sized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Devices: the host, and its memory as it is pinned for GPUs of two makers. */
enum { ON_CPU = 1, ON_GPU = 2, PINNED = 3, PINNED_OTHERWISE = 11, MAJOR = 1, READ_ONLY = 1 };
enum { CODE_INT = 0, CODE_UINT = 1, CODE_FLOAT = 2, CODE_COMPLEX = 5, CODE_BOOL = 6 };

struct tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* in elements; strides NULL: C order */
    uint64_t byte_offset;
};
struct DLManagedTensor {
    struct tensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct tensor tensor;
};

/* DLPack's code of a type, by what NumPy's files call it. */
static uint8_t code_of_kind(char kind)
{
    switch (kind) {
    case 'b':
        return CODE_BOOL;
    case 'i':
        return CODE_INT;
    case 'u':
        return CODE_UINT;
    case 'f':
        return CODE_FLOAT;
    default:
        return CODE_COMPLEX;
    }
}

/* What DLPack calls the device: its backend knows (the keys dlpack_type and dlpack_id).  False: it has no number. */
static bool find_device(int32_t *type, int32_t *id, hcy_device *dev)
{
    int64_t t = 0, i = 0;
    if (hcy_device_get_i64(&t, dev, "dlpack_type") || hcy_device_get_i64(&i, dev, "dlpack_id"))
        return false;
    *type = (int32_t)t;
    *id = (int32_t)i;
    return true;
}

static bool is_hosts(int32_t type)
{
    return type == ON_CPU || type == PINNED || type == PINNED_OTHERWISE;
}

/* --- Out --- */

struct exported {
    struct DLManagedTensorVersioned tensor;
    int64_t shape[HCY_ARRAY_MAX_RANK], strides[HCY_ARRAY_MAX_RANK];
    hcy_array *array;
};

static void delete_exported(struct DLManagedTensorVersioned *self)
{
    struct exported *e = self->context;
    hcy_array_release(e->array);
    free(e);
}

/* Where the array's buffer begins, and in whose memory: the host's, wherever it reaches that. */
static int find_data(struct tensor *t, const hcy_array *a, const char *function)
{
    hcy_device *dev = hcy__array_device(a);
    int64_t address = 0;
    t->data = a->buffer ? hcy_buffer_host(a->buffer) : NULL;
    t->device.type = ON_CPU;
    if (!a->count || t->data)
        return 0;
    if (!find_device(&t->device.type, &t->device.id, dev) || hcy_buffer_get_i64(&address, a->buffer, "address"))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: the memory of %s is not the host's; hcy_array_to_device() copies to a"
                                          " cpu device",
                        function, hcy_device_get_info(dev)->name);
    t->data = (void *)(intptr_t)address;
    return 0;
}

int hcy_array_to_dlpack(struct DLManagedTensorVersioned **out, hcy_queue *queue, hcy_array *a)
{
    struct tensor where = { .data = NULL };
    if (!out || !a)
        return hcy_fail(HCY_EINVAL, "hcy_array_to_dlpack: no %s", out ? "array" : "place for the tensor");
    int status = find_data(&where, a, "hcy_array_to_dlpack");
    /* Whoever takes the tensor knows nothing of our queues. */
    if (!status && queue)
        status = hcy_queue_finish(queue);
    struct exported *e = status ? NULL : calloc(1, sizeof *e);
    if (!e)
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for a tensor's record");
    memcpy(e->shape, a->shape, sizeof e->shape);
    memcpy(e->strides, a->strides, sizeof e->strides);
    e->array = hcy_array_retain(a);
    e->tensor.version.major = MAJOR;
    e->tensor.context = e;
    e->tensor.deleter = delete_exported;
    struct tensor *t = &e->tensor.tensor;
    t->data = where.data;
    t->device = where.device;
    t->rank = a->rank;
    t->dtype.code = code_of_kind(hcy__dtype(a->dtype)->kind);
    t->dtype.bits = (uint8_t)(8 * hcy_dtype_size(a->dtype));
    t->dtype.lanes = 1;
    t->shape = e->shape;
    t->strides = e->strides;
    t->byte_offset = t->data ? (uint64_t)a->offset * hcy_dtype_size(a->dtype) : 0;
    *out = &e->tensor;
    return 0;
}

/* --- In --- */

/* What lies under a buffer of a tensor's; `taken` once the tensor is the array's. */
struct imported {
    struct DLManagedTensor *plain;
    struct DLManagedTensorVersioned *versioned;
    bool taken;
};

static void give_back(struct imported *i)
{
    if (i->plain && i->plain->deleter)
        i->plain->deleter(i->plain);
    if (i->versioned && i->versioned->deleter)
        i->versioned->deleter(i->versioned);
}

static void drop_imported(void *payload)
{
    struct imported *i = payload;
    if (i->taken)
        give_back(i);
    free(i);
}

/* Memory of another device than this one is nothing that it can use. */
static int check_device(const struct tensor *t, hcy_device *dev)
{
    int32_t type = 0, id = 0;
    const char *name = hcy_device_get_info(dev)->name;
    if (is_hosts(t->device.type))
        return 0;
    if (!find_device(&type, &id, dev) || type != t->device.type)
        return hcy_fail(HCY_EUNSUPPORTED, "a DLPack tensor on a device of type %d; %s takes the host's memory%s",
                        (int)t->device.type, name, type ? " and its own" : "");
    if (id != t->device.id)
        return hcy_fail(HCY_EUNSUPPORTED, "a DLPack tensor on device %d of type %d; %s is device %d",
                        (int)t->device.id, (int)type, name, (int)id);
    return 0;
}

static int check_tensor(int *dtype, const struct tensor *t)
{
    if (t->rank < 0 || t->rank > HCY_ARRAY_MAX_RANK || (t->rank && !t->shape))
        return hcy_fail(HCY_EINVAL, "a DLPack tensor of %d axes; an array has 0 to %d, and a size for each",
                        (int)t->rank, HCY_ARRAY_MAX_RANK);
    *dtype = HCY_BOOL;
    while (hcy__dtype(*dtype) && (code_of_kind(hcy__dtype(*dtype)->kind) != t->dtype.code ||
                                  8 * hcy_dtype_size(*dtype) != t->dtype.bits))
        ++*dtype;
    if (t->dtype.lanes != 1 || !hcy__dtype(*dtype))
        return hcy_fail(HCY_EUNSUPPORTED, "a DLPack tensor of type code %d, %d bits, %d lanes, which no array has",
                        t->dtype.code, t->dtype.bits, t->dtype.lanes);
    return 0;
}

/* Elements before the first one and behind it that the strides reach, and all of them with it, as bytes. */
static int find_reach(size_t *below, size_t *bytes, const struct tensor *t, const int64_t *strides, size_t size)
{
    size_t above = 0, far = 0;
    int status = 0;
    *below = 0;
    /* The numbers are anybody's: unchecked, a sum could wrap around.  No axis is 0 here. */
    for (int d = 0; !status && d < t->rank; d++) {
        size_t step = strides[d] < 0 ? (size_t)0 - (size_t)strides[d] : (size_t)strides[d];
        size_t *side = strides[d] < 0 ? below : &above;
        status = hcy_size_mul(&far, step, (size_t)t->shape[d] - 1);
        if (!status)
            status = hcy_size_add(side, *side, far);
    }
    if (!status)
        status = hcy_size_add(&far, *below, above);
    if (!status)
        status = hcy_size_add(&far, far, 1);
    if (!status)
        status = hcy_size_mul(bytes, far, size);
    if (status || *bytes > INTPTR_MAX)
        return hcy_fail(HCY_ERANGE, "a DLPack tensor that reaches further than memory");
    return 0;
}

/* The view of the tensor's memory; the buffer has the payload from here on, or it is freed. */
static int view_tensor(hcy_array **out, hcy_device *dev, const struct tensor *t, int dtype, struct imported *payload)
{
    int64_t strides[HCY_ARRAY_MAX_RANK];
    size_t below = 0, bytes = 0, size = hcy_dtype_size(dtype);
    uintptr_t first = (uintptr_t)t->data + (uintptr_t)t->byte_offset;
    hcy_buffer *buffer = NULL;
    hcy__c_strides(strides, t->rank, t->shape);
    if (t->strides)
        memcpy(strides, t->strides, sizeof *strides * (size_t)t->rank);
    int status = find_reach(&below, &bytes, t, strides, size);
    if (!status && (!t->data || first < (uintptr_t)t->data || first < below * size ||
                    first - below * size > UINTPTR_MAX - bytes))
        status = hcy_fail(HCY_EINVAL, "a DLPack tensor without memory, or with an offset that leaves it");
    size_t part = dtype >= HCY_COMPLEX64 ? size / 2 : size;
    if (!status && first % part)
        status = hcy_fail(HCY_EINVAL, "a DLPack tensor whose elements lie across %s's boundaries",
                          hcy_dtype_name(dtype));
    first -= below * size;
    if (!status && is_hosts(t->device.type))
        status = hcy_buffer_import_host(&buffer, dev, (void *)first, bytes, drop_imported, payload);
    else if (!status)
        status = hcy_buffer_import_device(&buffer, dev, first, bytes, drop_imported, payload);
    if (status) {
        free(payload);
        return status;
    }
    status = hcy_array_of_buffer(out, buffer, dtype, t->rank, t->shape, strides, (int64_t)below);
    payload->taken = !status;
    hcy_buffer_release(buffer);
    return status;
}

static int import_tensor(hcy_array **out, hcy_device *dev, const struct tensor *t, struct imported from)
{
    int64_t count = 0;
    int dtype = 0, status = check_tensor(&dtype, t);
    if (!status)
        status = check_device(t, dev);
    if (!status)
        status = hcy__shape_count(&count, t->rank, t->shape);
    if (status)
        return status;
    if (!count) {
        /* Nothing is shown of it, and the array needs none. */
        status = hcy_array_empty(out, dev, dtype, t->rank, t->shape);
        if (!status)
            give_back(&from);
        return status;
    }
    struct imported *payload = malloc(sizeof *payload);
    if (!payload)
        return hcy_fail(HCY_ENOMEM, "out of memory for a tensor's record");
    *payload = from;
    return view_tensor(out, dev, t, dtype, payload);
}

int hcy_array_from_dlpack(hcy_array **out, hcy_device *dev, struct DLManagedTensorVersioned *tensor)
{
    if (!out || !dev || !tensor)
        return hcy_fail(HCY_EINVAL, "hcy_array_from_dlpack: no %s",
                        !out  ? "place for the array"
                        : dev ? "tensor"
                              : "device");
    if (tensor->version.major != MAJOR)
        return hcy_fail(HCY_EUNSUPPORTED, "a DLPack tensor of version %u.%u; versions 1.x are taken",
                        (unsigned)tensor->version.major, (unsigned)tensor->version.minor);
    /* An array may be written, and nothing would stop it. */
    if (tensor->flags & READ_ONLY)
        return hcy_fail(HCY_EUNSUPPORTED, "a DLPack tensor that is for reading only; hcy_array_from_host() copies");
    return import_tensor(out, dev, &tensor->tensor, (struct imported){ .versioned = tensor });
}

int hcy_array_from_dlpack_plain(hcy_array **out, hcy_device *dev, struct DLManagedTensor *tensor)
{
    if (!out || !dev || !tensor)
        return hcy_fail(HCY_EINVAL, "hcy_array_from_dlpack_plain: no %s",
                        !out  ? "place for the array"
                        : dev ? "tensor"
                              : "device");
    return import_tensor(out, dev, &tensor->tensor, (struct imported){ .plain = tensor });
}

/* --- Facts --- */

/* The stream as a number; 0 of a queue that has none. */
static uint64_t stream_of(hcy_queue *queue)
{
    int64_t stream = 0;
    return queue && !hcy_queue_get_i64(&stream, queue, "stream") ? (uint64_t)stream : 0;
}

int hcy_array_to_interface(hcy_array_interface *facts, hcy_queue *queue, const hcy_array *a)
{
    hcy_array_interface f = HCY_ARRAY_INTERFACE_INIT;
    struct tensor where = { .data = NULL };
    int status = hcy__array_check(a, "hcy_array_to_interface");
    if (!status)
        status = find_data(&where, a, "hcy_array_to_interface");
    if (!status && where.device.type != ON_CPU && where.device.type != ON_GPU)
        status = hcy_fail(HCY_EUNSUPPORTED, "hcy_array_to_interface: memory of a device that has no such interface");
    if (!status && queue && where.device.type == ON_CPU)
        status = hcy_queue_finish(queue);
    if (status)
        return status;
    const size_t size = hcy_dtype_size(a->dtype);
    const int kind = hcy__dtype(a->dtype)->kind;
    /* Bytes have no order, which NumPy writes as a bar. */
    snprintf(f.typestr, sizeof f.typestr, "%c%c%zu", size > 1 ? '<' : '|', kind, size);
    f.data = a->count ? (uint64_t)(uintptr_t)where.data + (uint64_t)a->offset * size : 0;
    f.rank = a->rank;
    for (int d = 0; d < a->rank; d++) {
        f.shape[d] = a->shape[d];
        f.strides[d] = a->strides[d] * (int64_t)size;
    }
    f.is_device = where.device.type == ON_GPU;
    f.stream = f.is_device ? stream_of(queue) : 0;
    return hcy__sized_write(facts, &f, sizeof f, "hcy_array_interface");
}

/* A tensor that facts are taken in by. */
struct described {
    struct DLManagedTensorVersioned tensor;
    int64_t shape[HCY_ARRAY_MAX_RANK], strides[HCY_ARRAY_MAX_RANK];
    void (*done)(void *payload);
    void *payload;
};

static void delete_described(struct DLManagedTensorVersioned *self)
{
    struct described *d = self->context;
    if (d->done)
        d->done(d->payload);
    free(d);
}

static int read_typestr(int *dtype, const char *text)
{
    char kind = 0, order = 0;
    unsigned bytes = 0;
    int end = 0;
    if (sscanf(text, "%c%c%3u%n", &order, &kind, &bytes, &end) == 3 && !text[end] && strchr("<|", order))
        *dtype = hcy__dtype_find(kind, bytes);
    return *dtype ? 0 : hcy_fail(HCY_EUNSUPPORTED, "an array interface of type \"%s\", which no array has", text);
}

static int describe(struct described *to, hcy_device *dev, const hcy_array_interface *f, int dtype)
{
    struct tensor *t = &to->tensor.tensor;
    const int64_t size = (int64_t)hcy_dtype_size(dtype);
    if (f->rank < 0 || f->rank > HCY_ARRAY_MAX_RANK)
        return hcy_fail(HCY_EINVAL, "an array interface of %d axes; an array has 0 to %d", f->rank, HCY_ARRAY_MAX_RANK);
    for (int d = 0; d < f->rank; d++) {
        to->shape[d] = f->shape[d];
        to->strides[d] = f->strides[d] / size;
        /* The stride of an axis of one element is never used: NumPy's field of one record has that of the record. */
        if (f->strides[d] % size && f->shape[d] > 1)
            return hcy_fail(HCY_EUNSUPPORTED, "an array interface whose axis %d goes by %lld bytes, of elements of %lld",
                            d, (long long)f->strides[d], (long long)size);
    }
    to->tensor.version.major = MAJOR;
    to->tensor.context = to;
    to->tensor.deleter = delete_described;
    t->data = (void *)(uintptr_t)f->data;
    t->rank = f->rank;
    t->dtype.code = code_of_kind(hcy__dtype(dtype)->kind);
    t->dtype.bits = (uint8_t)(8 * size);
    t->dtype.lanes = 1;
    t->shape = to->shape;
    t->strides = to->strides;
    t->device.type = ON_CPU;
    /* Facts do not say which device's it is; the driver refuses an address that is none of a GPU's. */
    if (f->is_device && (!find_device(&t->device.type, &t->device.id, dev) || t->device.type != ON_GPU))
        return hcy_fail(HCY_EUNSUPPORTED, "an array interface of another device's memory than that of %s",
                        hcy_device_get_info(dev)->name);
    return 0;
}

int hcy_array_from_interface(hcy_array **out, hcy_queue *queue, const hcy_array_interface *facts,
                             void (*done)(void *payload), void *payload)
{
    hcy_array_interface f = HCY_ARRAY_INTERFACE_INIT;
    int dtype = 0;
    if (!out || !queue)
        return hcy_fail(HCY_EINVAL, "hcy_array_from_interface: no %s", out ? "queue" : "place for the array");
    int status = hcy__sized_read(&f, sizeof f, facts, "hcy_array_interface");
    f.typestr[sizeof f.typestr - 1] = 0;
    if (!status)
        status = read_typestr(&dtype, f.typestr);
    if (!status && f.stream && f.stream != stream_of(queue))
        status = hcy_fail(HCY_EUNSUPPORTED, "an array interface of memory that is written in another stream than the"
                                            " queue's: finish that, and set stream to 0");
    struct described *d = status ? NULL : calloc(1, sizeof *d);
    if (!d)
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for an array interface");
    d->done = done;
    d->payload = payload;
    status = describe(d, hcy_queue_device(queue), &f, dtype);
    if (!status)
        status = hcy_array_from_dlpack(out, hcy_queue_device(queue), &d->tensor);
    /* What was taken is gone with its last user, which may be already. */
    if (status)
        free(d);
    return status;
}
