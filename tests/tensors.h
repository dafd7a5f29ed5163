/* tensors.h - DLPack's structures, for tests that make or read a tensor. */
#ifndef TESTS_TENSORS_H
#define TESTS_TENSORS_H

#include <stdint.h>

/* As in dlpack.h 1.0; the library has its own text of it. */
typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
};

#endif
