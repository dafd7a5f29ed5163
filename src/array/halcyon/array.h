/* halcyon/array.h - arrays of numbers on a device: views of its buffers with a type, a shape and strides.
 *
 * An array does not change: slices, transposes and so on are arrays of their own that show the same numbers.  It
 * keeps its buffer, and so its device, alive.  What the numbers are is <halcyon/eval.h>'s to compute.  Arrays may be
 * used and released from any thread; what their numbers hold is the caller's to order, with queues and events.
 *
 * Shapes, strides and offsets count elements, axes go from the slowest to the fastest (C order).  An array without axes
 * is one number; one with an axis of 0 is empty.  For example:
 *
 *     hcy_array *image = NULL, *every_other_row = NULL;
 *     const int64_t shape[2] = { 480, 640 };
 *     int status = hcy_array_full(&image, queue, HCY_FLOAT32, 2, shape, 1.5);
 *     if (!status)
 *         status = hcy_array_slice(&every_other_row, image, "::2, ::-1");
 *     hcy_array_release(every_other_row);
 *     hcy_array_release(image);
 */
#ifndef HALCYON_ARRAY_H
#define HALCYON_ARRAY_H

#include <halcyon/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_array hcy_array;

#define HCY_ARRAY_MAX_RANK 8

/* Types of elements.  A boolean is a byte, 0 or 1; a complex number its real and its imaginary part.  float16 is for
 * storage: what is computed of it is float32. */
enum hcy_dtype {
    HCY_BOOL = 1,
    HCY_INT8, HCY_UINT8, HCY_INT16, HCY_UINT16, HCY_INT32, HCY_UINT32, HCY_INT64, HCY_UINT64,
    HCY_FLOAT16, HCY_FLOAT32, HCY_FLOAT64,
    HCY_COMPLEX64, HCY_COMPLEX128
};
/* Bytes of an element; 0: there is no such type. */
HCY_API size_t hcy_dtype_size(int dtype);
/* "float32"; "?" for a number that is no type.  Static strings. */
HCY_API const char *hcy_dtype_name(int dtype);

/* What an array is.  The buffer belongs to it. */
typedef struct hcy_array_info {
    size_t size; /* sizeof(hcy_array_info) */
    int dtype, rank;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    int64_t strides[HCY_ARRAY_MAX_RANK]; /* from an element to the next; 0 along what is broadcast */
    int64_t offset;                      /* of the first element in the buffer */
    int64_t count;                       /* elements */
    int is_contiguous;                   /* they lie in C order, without gaps */
    hcy_buffer *buffer;                  /* NULL of an empty array that has none */
} hcy_array_info;
#define HCY_ARRAY_INFO_INIT { sizeof(hcy_array_info), 0, 0, { 0 }, { 0 }, 0, 0, 0, NULL }

/* New memory on a device, undefined.  rank 0: shape may be NULL.  HCY_EINVAL: type, rank or a negative size;
 * HCY_ERANGE: more than can be addressed; HCY_ENOMEM and what hcy_buffer_create() returns. */
HCY_API int hcy_array_empty(hcy_array **array, hcy_device *dev, int dtype, int rank,
                            const int64_t *shape) HCY_MUST_USE;
/* The same, with a number everywhere, as `queue` comes to it. */
HCY_API int hcy_array_full(hcy_array **array, hcy_queue *queue, int dtype, int rank, const int64_t *shape,
                           double value) HCY_MUST_USE;
/* A copy of numbers in host memory, in C order, which may be used again at once; of none `data` may be NULL. */
HCY_API int hcy_array_from_host(hcy_array **array, hcy_device *dev, int dtype, int rank, const int64_t *shape,
                                const void *data) HCY_MUST_USE;
/* A view of a buffer; strides NULL: C order.  HCY_ERANGE: an element would lie outside; HCY_EINVAL: the buffer begins
 * where no number of the type may. */
HCY_API int hcy_array_of_buffer(hcy_array **array, hcy_buffer *buffer, int dtype, int rank, const int64_t *shape,
                                const int64_t *strides, int64_t offset) HCY_MUST_USE;
/* FILE.npy in its own type; FILE.h5:DATASET as hcy_host_array_read() has it. */
HCY_API int hcy_array_from_file(hcy_array **array, hcy_device *dev, const char *path) HCY_MUST_USE;
/* One reference more (returns array), one less; NULL is fine. */
HCY_API hcy_array *hcy_array_retain(hcy_array *array);
HCY_API void hcy_array_release(hcy_array *array);
/* *info begins with HCY_ARRAY_INFO_INIT. */
HCY_API int hcy_array_get_info(hcy_array_info *info, const hcy_array *array) HCY_MUST_USE;

/* The numbers to host memory, in C order, once `queue` has done what was submitted to it; waits. */
HCY_API int hcy_array_to_host(void *data, hcy_queue *queue, const hcy_array *array) HCY_MUST_USE;
/* To FILE.npy in its own type; to .npz and FILE.h5:DATASET what hcy_host_array_write() takes: float32, float64 and
 * complex numbers of these.  Waits, as hcy_array_to_host(). */
HCY_API int hcy_array_to_file(hcy_queue *queue, const hcy_array *array, const char *path) HCY_MUST_USE;
/* dst = src on the queue's device, both of one type; src is broadcast to dst's shape.  They may overlap. */
HCY_API int hcy_array_copy(hcy_queue *queue, hcy_array *dst, const hcy_array *src) HCY_MUST_USE;
/* A copy on the device of `queue`, contiguous, of an array of any device.  `from`: the queue of the array's device that
 * computes it; NULL: the array is ready.  HCY_EINVAL: no such queue. */
HCY_API int hcy_array_to_device(hcy_array **copy, hcy_queue *queue, const hcy_array *array,
                                hcy_queue *from) HCY_MUST_USE;

/* --- Elements by their numbers and by their order ---
 *
 * Commands of `queue`, on its device, which wait for nothing; dst is an array that is there, of src's type where
 * nothing else is said, and may share memory with what is read: the result is as if all was read first.  An axis below
 * 0 counts from the last one.  The same bits on every device.  HCY_EINVAL: types, shapes or an axis that
 * do not go together, an array of another device; elements to write that share memory, or whose axes step into one
 * another.  HCY_EUNSUPPORTED: a device without the kernel.  HCY_ENOMEM: of working memory too. */

/* dst = src[..., numbers, ...], where `numbers` are integers and stand in the place of src's axis: dst has its shape
 * with theirs in that place.  A number below 0 counts from the end.  As no queue waits for its numbers, one outside of
 * the axis is no failure: it takes 0.  HCY_EINVAL: one of an axis without elements. */
HCY_API int hcy_array_take(hcy_queue *queue, hcy_array *dst, const hcy_array *src, const hcy_array *numbers,
                           int axis) HCY_MUST_USE;
/* dst[..., numbers, ...] = src, which is broadcast to that shape.  A number outside of the axis puts nothing; of
 * several that are the same the last one puts (in C order). */
HCY_API int hcy_array_put(hcy_queue *queue, hcy_array *dst, const hcy_array *src, const hcy_array *numbers,
                          int axis) HCY_MUST_USE;
/* dst = the arrays one behind the other along an axis; the others are the same in all. */
HCY_API int hcy_array_concatenate(hcy_queue *queue, hcy_array *dst, const hcy_array *const *arrays, size_t n,
                                  int axis) HCY_MUST_USE;
/* The same along an axis that they do not have: dst's axis, of n. */
HCY_API int hcy_array_stack(hcy_queue *queue, hcy_array *dst, const hcy_array *const *arrays, size_t n,
                            int axis) HCY_MUST_USE;
/* src along an axis by size, as NumPy's stable sort has it: what is equal (-0.0 and 0.0 too) stays in order, NaNs come
 * last.  Works in memory of 32 bytes an element; CPUs, in rows of 64 numbers and more (no bool), in that of one more
 * array of src's type, and of one each for what is not contiguous or overlaps.  Complex numbers have no order:
 * HCY_EINVAL. */
HCY_API int hcy_array_sort(hcy_queue *queue, hcy_array *dst, const hcy_array *src, int axis) HCY_MUST_USE;
/* The same as numbers along the axis (int64), with which hcy_array_take() makes the order of a row: 32 bytes an
 * element. */
HCY_API int hcy_array_argsort(hcy_queue *queue, hcy_array *dst, const hcy_array *src, int axis) HCY_MUST_USE;
/* dst (one axis, int64 or uint64): how many of src's numbers are in each of as many equal bins from low to high, the
 * last of which has its upper end too; others, and NaNs, are not counted.  As NumPy's histogram() with a range, of
 * numbers as float64. */
HCY_API int hcy_array_histogram(hcy_queue *queue, hcy_array *dst, const hcy_array *src, double low,
                                double high) HCY_MUST_USE;

/* --- DLPack: memory that is shared with NumPy, PyTorch and others, without a copy --- */

/* Of dlpack.h, version 1, which is not needed here: Python has them in capsules. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* The array as a tensor, which keeps it alive until its deleter is called, from any thread: of the host's memory
 * (kDLCPU) where the host reaches it, else of the device's (kDLCUDA).  What `queue` was given is done by then (NULL:
 * the array is ready), so that no stream has to wait, whichever was asked for; later writes are the caller's to order.
 * HCY_EUNSUPPORTED: memory of a device that DLPack has no number for, or no addresses. */
HCY_API int hcy_array_to_dlpack(struct DLManagedTensorVersioned **tensor, hcy_queue *queue,
                                hcy_array *array) HCY_MUST_USE;
/* A tensor in the host's memory (kDLCPU, kDLCUDAHost, kDLROCMHost) or in that of `dev` itself (kDLCUDA, of the same
 * number) as an array of `dev`; its deleter is called when the buffer goes, in any thread.  Its maker has written it:
 * ask for it (__dlpack__) with the stream of the queue that will use it (hcy_cuda_stream()), or finish the maker's: no
 * queue of ours waits for a default stream.  After a failure it is still the caller's.  HCY_EINVAL, HCY_ERANGE: axes,
 * sizes, strides, an offset or an address that cannot be; HCY_EUNSUPPORTED: a type that no array has, another device's
 * memory, one that is read-only, or a device that takes no memory of the host's.  How large the memory is a tensor does
 * not say: its maker is trusted with that. */
HCY_API int hcy_array_from_dlpack(hcy_array **array, hcy_device *dev,
                                  struct DLManagedTensorVersioned *tensor) HCY_MUST_USE;
/* The same of a tensor without a version, which may be written. */
HCY_API int hcy_array_from_dlpack_plain(hcy_array **array, hcy_device *dev,
                                        struct DLManagedTensor *tensor) HCY_MUST_USE;

/* --- What Python's objects say of their memory --- */

/* NumPy's __array_interface__, or __cuda_array_interface__ (version 3).  Who keeps the memory is not said here. */
typedef struct hcy_array_interface {
    size_t size;     /* sizeof(hcy_array_interface) */
    uint64_t data;   /* where the first element is; 0 of an array without any */
    char typestr[8]; /* "<f4" */
    int rank;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    int64_t strides[HCY_ARRAY_MAX_RANK]; /* in bytes */
    int is_device;                       /* 1: __cuda_array_interface__, a device's memory; 0: the host's */
    uint64_t stream;                     /* of a device: that in which it is written; 0: it is ready */
} hcy_array_interface;
#define HCY_ARRAY_INTERFACE_INIT { sizeof(hcy_array_interface), 0, "", 0, { 0 }, { 0 }, 0, 0 }

/* Facts of an array, as long as it lives.  Of a device `queue`'s stream is named, and nothing is waited for; of the
 * host's memory the queue is finished first.  NULL: the array is ready.  HCY_EUNSUPPORTED: another device's memory. */
HCY_API int hcy_array_to_interface(hcy_array_interface *facts, hcy_queue *queue, const hcy_array *array) HCY_MUST_USE;
/* An array of such memory, on the device of `queue`: it is ready, or written in the queue's stream.  done(payload) is
 * called when nothing uses it any more, from any thread, and not after a failure.  HCY_EUNSUPPORTED: another stream,
 * which is to be finished, a type that no array has, another device's memory; else as hcy_array_from_dlpack(). */
HCY_API int hcy_array_from_interface(hcy_array **array, hcy_queue *queue, const hcy_array_interface *facts,
                                     void (*done)(void *payload), void *payload) HCY_MUST_USE;

/* --- Views: the same numbers, nothing is copied --- */

/* What NumPy writes between brackets, with numbers as printf() has them: "3", "1:-1, ::2", "..., ::-1", "new, :".
 * Axes that are not named are taken whole.  HCY_EINVAL, with the column of what is wrong; HCY_ERANGE: an index
 * outside. */
HCY_API int hcy_array_slice(hcy_array **view, const hcy_array *array, const char *format, ...) HCY_MUST_USE
    HCY_PRINTF(3, 4);
/* Another shape of as many elements; one size may be -1 and is found.  HCY_ESTATE: that is no view of an array whose
 * elements lie so; a copy has to be made. */
HCY_API int hcy_array_reshape(hcy_array **view, const hcy_array *array, int rank, const int64_t *shape) HCY_MUST_USE;
/* Axis i of the view is axis axes[i]; NULL: all in reverse. */
HCY_API int hcy_array_transpose(hcy_array **view, const hcy_array *array, const int *axes) HCY_MUST_USE;
/* Axes of 1, and those that are missing in front, as often as the shape says. */
HCY_API int hcy_array_broadcast(hcy_array **view, const hcy_array *array, int rank,
                                const int64_t *shape) HCY_MUST_USE;
/* The real (part 0) or the imaginary (part 1) parts of complex numbers. */
HCY_API int hcy_array_part(hcy_array **view, const hcy_array *array, int part) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
