/* dlpack.c - arrays to and from DLPack's tensors: the structures as dlpack.h has them, memory that is shared, deleters,
 * and tensors that nobody should have made.
 *
 *     tests/dlpack [DEVICE]
 */
#include "cts_array.h"
#include "tensors.h"

#include <halcyon/eval.h>

static hcy_device *dev;
static hcy_queue *queue;

static int n_deleted;
static void count_deleted(struct DLManagedTensorVersioned *self)
{
    n_deleted += self->manager_ctx == &n_deleted;
}
static void count_plain(struct DLManagedTensor *self)
{
    n_deleted += self->manager_ctx == &n_deleted;
}

static float memory[4096];

static struct DLManagedTensorVersioned tensor_of(int rank, int64_t *shape, int64_t *strides, size_t offset)
{
    return (struct DLManagedTensorVersioned){ 1, 1, &n_deleted, count_deleted, 0,
                                              { memory, 1, 0, rank, 2, 32, 1, shape, strides, 4 * offset } };
}

static void test_out(void)
{
    const int64_t shape[2] = { 6, 10 };
    double x[60];
    hcy_array *a = NULL, *view = NULL, *again = NULL;
    struct DLManagedTensorVersioned *t = NULL;
    for (int i = 0; i < 60; i++)
        x[i] = i;
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT64, 2, shape, x), "an array");
    st_ok(hcy_array_slice(&view, a, "1::2, ::-3"), "a view");
    st_ok(HCY_EVAL(queue, "v = v + 0.5", hcy_op_array("v", view)), "is computed with");
    int64_t type = 0;
    if (hcy_device_get_i64(&type, dev, "dlpack_type"))
        type = 0;
    int status = hcy_array_to_dlpack(&t, queue, view);
    if (type) {
        ok(!status && t->dl_tensor.device_type == type && t->dl_tensor.strides[1] == -3,
           "as a tensor of the device's own memory");
        t->deleter(t);
    } else if (!(hcy_device_get_info(dev)->caps & HCY_CAP_HOST_MEMORY)) {
        st_is(status, HCY_EUNSUPPORTED, "a device's own memory is no tensor of the host's");
    } else {
        const DLTensor *d = &t->dl_tensor;
        ok(!status && t->major == 1 && t->flags == 0 && d->device_type == 1 && d->device_id == 0 && d->ndim == 2 &&
               d->code == 2 && d->bits == 64 && d->lanes == 1,
           "as a tensor");
        ok(d->shape[0] == 3 && d->shape[1] == 4 && d->strides[0] == 20 && d->strides[1] == -3, "with its layout");
        hcy_array_release(view);
        hcy_array_release(a);
        view = a = NULL;
        int wrong = 0;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                wrong += ((double *)((char *)d->data + d->byte_offset))[20 * r - 3 * c] !=
                         10 * (2 * r + 1) + 9 - 3 * c + 0.5;
        is_int(wrong, 0, "and numbers, which it keeps alive");
        st_ok(hcy_array_from_dlpack(&again, dev, t), "and back");
        hcy_array_info i = info_of(again);
        ok(i.dtype == HCY_FLOAT64 && i.rank == 2 && i.shape[1] == 4 && i.strides[0] == 20 && i.strides[1] == -3,
           "it is the same view");
        hcy_array_release(again);
    }
    hcy_array_release(view);
    hcy_array_release(a);
}

static void test_in(void)
{
    int64_t shape[2] = { 3, 4 }, strides[2] = { -100, 2 }, none[2] = { 3, 0 };
    struct DLManagedTensorVersioned t = tensor_of(2, shape, strides, 500), empty = tensor_of(2, none, NULL, 0);
    struct DLManagedTensor plain = { t.dl_tensor, &n_deleted, count_plain };
    hcy_array *a = NULL;
    float got[12];
    int wrong = 0;
    for (int i = 0; i < 4096; i++)
        memory[i] = (float)i;
    int status = hcy_array_from_dlpack(&a, dev, &t);
    if (status == HCY_EUNSUPPORTED) {
        ok(n_deleted == 0, "the device takes no memory of the host's, and the tensor is still ours");
        return;
    }
    st_ok(status, "a tensor with strides of both signs");
    is_int(info_of(a).strides[0], -100, "as an array");
    st_ok(HCY_EVAL(queue, "a = 2*a", hcy_op_array("a", a)), "is computed with");
    st_ok(hcy_array_to_host(got, queue, a), "and read");
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            float want = 2.0f * (float)(500 - 100 * r + 2 * c);
            wrong += got[4 * r + c] != want;
            if (hcy_device_get_info(dev)->caps & HCY_CAP_HOST_MEMORY)
                wrong += memory[500 - 100 * r + 2 * c] != want || memory[500 - 100 * r + 2 * c + 1] > 2000;
        }
    is_int(wrong, 0, "where it lies");
    is_int(n_deleted, 0, "the tensor is in use");
    hcy_array_release(a);
    st_ok(hcy_queue_finish(queue), "until the queue is past it");
    is_int(n_deleted, 1, "and is given back, once");
    st_ok(hcy_array_from_dlpack_plain(&a, dev, &plain), "one without a version");
    hcy_array_release(a);
    is_int(n_deleted, 2, "is given back too");
    st_ok(hcy_array_from_dlpack(&a, dev, &empty), "one without elements");
    is_int(info_of(a).count, 0, "is an empty array");
    is_int(n_deleted, 3, "and is given back at once");
    hcy_array_release(a);
}

static void test_hostile(void)
{
    int64_t shape[2] = { 3, 4 }, strides[2] = { 4, 1 }, huge[2] = { INT64_MAX, INT64_MAX }, below[2] = { 3, -1 },
            far[2] = { INT64_MIN, 1 }, away[2] = { INT64_MAX / 2, INT64_MAX / 2 };
    static const char *const words[] = {
        "9 axes", "-1 axes", "0 to 8", "version 2.1", "reading only", "type 7", "4 lanes", "code 4, 16 bits", "64 bits",
        "larger than can", "cannot have", "reaches further", "reaches further", "without memory", "leaves it",
        "boundaries",
    };
    int before = n_deleted;
    for (int c = 0; c < 16; c++) {
        struct DLManagedTensorVersioned t = tensor_of(2, shape, strides, 100);
        DLTensor *d = &t.dl_tensor;
        hcy_array *a = NULL;
        d->ndim = c == 0 ? 9 : c == 1 ? -1 : 2;
        d->shape = c == 2 ? NULL : c == 9 ? huge : c == 10 ? below : shape;
        t.major = c == 3 ? 2 : 1;
        t.flags = c == 4;
        d->device_type = c == 5 ? 7 : 1;
        d->lanes = c == 6 ? 4 : 1;
        d->code = c == 7 ? 4 : c == 8 ? 6 : 2;
        d->bits = c == 7 ? 16 : c == 8 ? 64 : 32;
        d->strides = c == 11 ? far : c == 12 ? away : strides;
        d->data = c == 13 ? NULL : memory;
        if (c == 14)
            d->byte_offset = UINT64_MAX - 3;
        if (c == 15)
            d->byte_offset = 402;
        int status = hcy_array_from_dlpack(&a, dev, &t);
        ok(status < 0 && strstr(hcy_last_error()->text, words[c]), "refused: %s", words[c]);
        if (status >= 0 || !strstr(hcy_last_error()->text, words[c]))
            diag("%d: %s", status, hcy_last_error()->text);
    }
    is_int(n_deleted, before, "after a failure the tensor is still the caller's");
}

/* Any numbers at all: an array whose view lies in its buffer, or a refusal. */
static void test_random(void)
{
    static const int64_t odd[] = { 0, 1, 2, 7, -1, -3, 1 << 20, INT64_MAX, INT64_MIN, INT64_MIN + 1, (int64_t)1 << 62 };
    enum { N_ODD = sizeof odd / sizeof odd[0], TRIES = 20000 };
    uint64_t seed = 77;
    int before = n_deleted, taken = 0;
    for (int i = 0; i < TRIES; i++) {
        int64_t shape[8], strides[8];
        struct DLManagedTensorVersioned t = tensor_of((int)(cts_random(&seed) >> 33) % 9, shape, strides, 0);
        for (int d = 0; d < 8; d++) {
            shape[d] = odd[(cts_random(&seed) >> 33) % (i % 3 ? 4 : N_ODD)];
            strides[d] = odd[(cts_random(&seed) >> 33) % (i % 2 ? 6 : N_ODD)];
        }
        t.dl_tensor.strides = i % 5 ? strides : NULL;
        t.dl_tensor.code = (uint8_t)((cts_random(&seed) >> 33) % 7);
        t.dl_tensor.bits = (uint8_t)(8 << (cts_random(&seed) >> 33) % 5);
        t.dl_tensor.byte_offset = (uint64_t)odd[(cts_random(&seed) >> 33) % N_ODD] * 16;
        hcy_array *a = NULL;
        if (hcy_array_from_dlpack(&a, dev, &t))
            continue;
        hcy_array_info info = info_of(a);
        int64_t low = info.offset, high = info.offset;
        for (int d = 0; info.count && d < info.rank; d++)
            *(info.strides[d] < 0 ? &low : &high) += info.strides[d] * (info.shape[d] - 1);
        if (info.count && (low < 0 || (size_t)high >= hcy_buffer_size(info.buffer) / hcy_dtype_size(info.dtype)))
            ok(false, "tensor %d lies outside of its buffer", i);
        taken++;
        hcy_array_release(a);
    }
    ok(taken > TRIES / 50 && taken < TRIES, "%d of %d tensors of any numbers are taken", taken, (int)TRIES);
    is_int(n_deleted - before, taken, "and given back");
}

/* The same memory, taken in twice: what is written through one array is read through the other.  A GPU takes parts of
 * what it has been shown, but nothing that lies there partly. */
static void test_twice(void)
{
    enum { N = 4000 };
    int64_t shape[1] = { N }, more[1] = { N + 1 };
    struct DLManagedTensorVersioned all = tensor_of(1, more, NULL, 0), first = tensor_of(1, shape, NULL, 0),
                                    second = tensor_of(1, shape, NULL, 1);
    hcy_array *whole = NULL, *a = NULL, *b = NULL;
    int wrong = 0;
    for (int i = 0; i <= N; i++)
        memory[i] = (float)i;
    int status = hcy_array_from_dlpack(&whole, dev, &all);
    if (status == HCY_EUNSUPPORTED) {
        skip(2, "%s takes no memory of the host's", cts_spec);
        return;
    }
    status = cts_first(status, hcy_array_from_dlpack(&a, dev, &first));
    status = cts_first(status, hcy_array_from_dlpack(&b, dev, &second));
    hcy_array_release(whole);
    status = cts_first(status, HCY_EVAL(queue, "b = a + 1", hcy_op_array("b", b), hcy_op_array("a", a)));
    st_ok(cts_first(status, hcy_queue_finish(queue)), "two tensors of one memory, one number apart");
    for (int i = 0; i < N; i++)
        wrong += memory[i + 1] != (float)(i + 1);
    is_int(wrong, 0, "are known to overlap");
    hcy_array_release(a);
    hcy_array_release(b);
}

/* --- NumPy's __array_interface__ --- */

static void count_done(void *payload)
{
    ++*(int *)payload;
}

static void test_interface(void)
{
    static const char *const types[] = { "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8",
                                         "<f2", "<f4", "<f8", "<c8", "<c16" };
    double x[60];
    int done = 0, wrong = 0;
    const int64_t shape[2] = { 6, 10 };
    hcy_array *a = NULL, *view = NULL, *again = NULL;
    hcy_array_interface f = HCY_ARRAY_INTERFACE_INIT;
    for (int i = 0; i < 60; i++)
        x[i] = i;
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT64, 2, shape, x), "an array");
    st_ok(hcy_array_slice(&view, a, "1::2, ::-3"), "a view");
    int status = hcy_array_to_interface(&f, queue, view);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_HOST_MEMORY)) {
        ok(status == HCY_EUNSUPPORTED || f.is_device, "a device's own memory is none of the host's");
    } else {
        st_ok(status, "is told as NumPy's array interface");
        ok(!f.is_device && !f.stream && f.rank == 2 && f.shape[0] == 3 && f.shape[1] == 4 && f.strides[0] == 160 &&
               f.strides[1] == -24 && !strcmp(f.typestr, "<f8"),
           "with its shape, strides in bytes and type");
        ok(*(const double *)(uintptr_t)f.data == 19, "where its first number is");
        st_ok(hcy_array_from_interface(&again, queue, &f, count_done, &done), "is an array again");
        hcy_array_info i = info_of(again);
        ok(i.dtype == HCY_FLOAT64 && i.shape[1] == 4 && i.strides[0] == 20 && i.strides[1] == -3, "the same view");
        is_int(done, 0, "which is in use");
        hcy_array_release(again);
        is_int(done, 1, "and is given back once");
        f.strides[1] = -20;
        st_says(hcy_array_from_interface(&again, queue, &f, count_done, &done), HCY_EUNSUPPORTED, "20 bytes",
                "strides between elements are refused");
        f.shape[1] = 1;
        st_ok(hcy_array_from_interface(&again, queue, &f, NULL, NULL), "but along one number");
        hcy_array_release(again);
        f.shape[1] = 4;
        f.strides[1] = -24;
        f.is_device = 1;
        st_is(hcy_array_from_interface(&again, queue, &f, count_done, &done), HCY_EUNSUPPORTED, "so is a GPU's memory");
        f.is_device = 0;
        f.stream = 1;
        st_says(hcy_array_from_interface(&again, queue, &f, count_done, &done), HCY_EUNSUPPORTED, "stream",
                "and a stream that is not the queue's");
        f.stream = 0;
        f.rank = HCY_ARRAY_MAX_RANK + 1;
        st_is(hcy_array_from_interface(&again, queue, &f, count_done, &done), HCY_EINVAL, "too many axes");
        f.rank = 2;
        static const char *const none[] = { "", "<f", ">f8", "<f3", "<x8", "<f8x", "f8" };
        for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
            snprintf(f.typestr, sizeof f.typestr, "%s", none[k]);
            wrong += hcy_array_from_interface(&again, queue, &f, count_done, &done) != HCY_EUNSUPPORTED;
        }
        is_int(wrong, 0, "types that no array has are refused");
        is_int(done, 1, "what was refused is still the caller's");
    }
    hcy_array_release(view);
    hcy_array_release(a);
    wrong = 0;
    for (int dtype = HCY_BOOL; dtype <= HCY_COMPLEX128; dtype++) {
        a = again = NULL;
        hcy_array_info i = HCY_ARRAY_INFO_INIT;
        /* An empty array has no memory to speak of, and goes out and in all the same. */
        status = hcy_array_empty(&a, dev, dtype, 1, (const int64_t[]){ 0 });
        if (!status)
            status = hcy_array_to_interface(&f, queue, a);
        if (!status)
            status = hcy_array_from_interface(&again, queue, &f, count_done, &done);
        wrong += status || strcmp(f.typestr, types[dtype - HCY_BOOL]) || hcy_array_get_info(&i, again) ||
                 i.dtype != dtype;
        hcy_array_release(a);
        hcy_array_release(again);
    }
    is_int(wrong, 0, "types are called as NumPy calls them, and found again");
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    test_out();
    test_in();
    test_hostile();
    test_twice();
    test_interface();
    /* Memory that is not there is only wrapped by a CPU; a driver may look at it. */
    if (cts_is("cpu") && hcy_device_get_info(dev)->caps & HCY_CAP_HOST_MEMORY)
        test_random();
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
