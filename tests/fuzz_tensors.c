/* fuzz_tensors.c - DLPack's tensors of any numbers: one that is taken is a view inside its buffer, and is given back
 * once; one that is refused is still its maker's.  The memory is only wrapped, and nothing here touches it. */
#include "fuzz.h"
#include "tensors.h"

#include <halcyon/array.h>
#include <stdlib.h>
#include <string.h>

/* What the bytes are: numbers of a tensor, then eight sizes and eight strides. */
struct fuzz_tensor {
    int8_t rank, device_type, device_id, major;
    uint8_t flags, code, bits, lanes;
    uint8_t without; /* bits: no shape, no strides, no memory */
    uint8_t rest[7];
    uint64_t offset;
    int64_t shape[8], strides[8];
};

static hcy_device *dev;
static int n_deleted;
static double memory[512];

static void count_tensor(struct DLManagedTensorVersioned *self)
{
    (void)self;
    n_deleted++;
}

/* Elements that the strides reach, wherever that is; the sums cannot wrap in a view that was taken. */
static void check_view(const hcy_array *array)
{
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    if (hcy_array_get_info(&info, array))
        abort();
    int64_t low = info.offset, high = info.offset;
    for (int d = 0; info.count && d < info.rank; d++)
        *(info.strides[d] < 0 ? &low : &high) += info.strides[d] * (info.shape[d] - 1);
    if (info.count && (low < 0 || (size_t)high >= hcy_buffer_size(info.buffer) / hcy_dtype_size(info.dtype)))
        abort();
}

static int run_tensor(const uint8_t *data, size_t size)
{
    struct fuzz_tensor f;
    hcy_array *array = NULL;
    if (size < sizeof f)
        return 0;
    memcpy(&f, data, sizeof f);
    struct DLManagedTensorVersioned t = { .major = (uint32_t)f.major, .deleter = count_tensor, .flags = f.flags };
    t.dl_tensor.data = f.without & 4 ? NULL : memory;
    t.dl_tensor.device_type = f.device_type;
    t.dl_tensor.device_id = f.device_id;
    t.dl_tensor.ndim = f.rank;
    t.dl_tensor.code = f.code;
    t.dl_tensor.bits = f.bits;
    t.dl_tensor.lanes = f.lanes;
    t.dl_tensor.shape = f.without & 1 ? NULL : f.shape;
    t.dl_tensor.strides = f.without & 2 ? NULL : f.strides;
    t.dl_tensor.byte_offset = f.offset;
    n_deleted = 0;
    int status = hcy_array_from_dlpack(&array, dev, &t);
    if (!status)
        check_view(array);
    hcy_array_release(array);
    if (n_deleted != !status)
        abort();
    return !status;
}

static void seed_tensors(void)
{
    static const struct fuzz_tensor seeds[] = {
        { 2, 1, 0, 1, 0, 2, 32, 1, 0, { 0 }, 2000, { 3, 4 }, { -100, 2 } },
        { 3, 3, 0, 1, 0, 5, 64, 1, 2, { 0 }, 0, { 2, 5, 7 }, { 0 } },
        { 1, 1, 0, 1, 0, 6, 8, 1, 0, { 0 }, 0, { 0 }, { 1 } },
    };
    if (!dev && hcy_device_open(&dev, "cpu@threads=1"))
        abort();
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++)
        fuzz_give(&seeds[i], sizeof seeds[i]);
}

const struct fuzz_target fuzz_tensors[] = {
    { "tensor", run_tensor, seed_tensors },
    { NULL, NULL, NULL },
};
