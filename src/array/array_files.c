/* array_files.c - arrays in files: NumPy's in their own type, others through hcy_host_array. */
#include "array_priv.h"

#include "npy.h"
#include "stack_priv.h"

#include <halcyon/host_array.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_npy(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".npy");
}

int hcy__dtype_find(char kind, unsigned long bytes)
{
    for (int type = HCY_BOOL; type <= HCY_COMPLEX128; type++)
        if (hcy__dtype(type)->kind == kind && hcy__dtype(type)->bytes == bytes)
            return type;
    return 0;
}

int hcy__npy_array_head(int *dtype, int64_t *shape, const struct hcy__npy *npy, const char *path)
{
    /* The reader of headers has booleans as bytes, so that only the type's text tells them apart. */
    bool truth = strstr(npy->type, "b1") != NULL;
    *dtype = hcy__dtype_find(truth ? 'b' : npy->kind, npy->element);
    if (!*dtype)
        return hcy_fail(HCY_EFORMAT, "%s: no array has its type %s", path, npy->type);
    for (int d = 0; d < npy->rank; d++) {
        uint64_t n = npy->shape[npy->fortran ? npy->rank - 1 - d : d];
        if (n > INT64_MAX)
            return hcy_fail(HCY_ERANGE, "%s: larger than can be addressed", path);
        shape[d] = (int64_t)n;
    }
    return 0;
}

static int read_numbers(void **data, size_t bytes, const struct hcy__npy *npy, int fd, const char *path)
{
    int number = 0;
    /* A damaged header must not ask for more memory than the file could fill. */
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (uint64_t)size < npy->data || (uint64_t)size - npy->data < bytes)
        return hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
    *data = malloc(bytes ? bytes : 1);
    if (!*data)
        return hcy_fail(HCY_ENOMEM, "no memory for %s, %zu bytes", path, bytes);
    if (hcy__read_at(fd, *data, bytes, npy->data, &number) == bytes)
        return 0;
    return number ? hcy__read_failed(path, number) : hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
}

static int array_from_npy(hcy_array **out, hcy_device *dev, const char *path)
{
    struct hcy__npy npy = { 0 };
    int64_t shape[HCY_ARRAY_MAX_RANK] = { 0 }, count = 0;
    int fd = -1, dtype = 0;
    void *data = NULL;
    hcy_array *a = NULL;
    int status = hcy__open_file(&fd, path);
    if (status)
        return status;
    status = hcy__npy_header(&npy, path, fd);
    if (!status)
        status = hcy__npy_array_head(&dtype, shape, &npy, path);
    if (!status)
        status = hcy__shape_count(&count, npy.rank, shape);
    if (!status)
        status = read_numbers(&data, (size_t)count * hcy_dtype_size(dtype), &npy, fd, path);
    if (!status)
        status = hcy_array_from_host(&a, dev, dtype, npy.rank, shape, data);
    /* In Fortran's order the array is that of the file with its axes in reverse: a view. */
    if (!status)
        status = npy.fortran ? hcy_array_transpose(out, a, NULL) : (*out = hcy_array_retain(a), 0);
    hcy_array_release(a);
    free(data);
    close(fd);
    return status;
}

int hcy_array_from_file(hcy_array **out, hcy_device *dev, const char *path)
{
    hcy_host_array h = HCY_HOST_ARRAY_INIT;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    if (!out || !dev || !path)
        return hcy_fail(HCY_EINVAL, "hcy_array_from_file: no %s",
                        !out  ? "place for the array"
                        : dev ? "path"
                              : "device");
    if (is_npy(path))
        return array_from_npy(out, dev, path);
    int status = hcy_host_array_read(&h, path);
    if (status)
        return status;
    for (int d = 0; d < h.rank; d++)
        shape[d] = (int64_t)h.shape[d];
    status = hcy_array_from_host(out, dev,
                                 hcy__dtype_find(h.is_complex ? 'c' : 'f', h.bytes * (h.is_complex ? 2u : 1u)),
                                 h.rank, shape, h.data);
    hcy_host_array_free(&h);
    return status;
}

static int write_npy(const char *path, const hcy_array *a, const uint64_t *shape, const void *data)
{
    char header[HCY__NPY_HEADER];
    hcy_output *output;
    size_t size = hcy_dtype_size(a->dtype);
    int status = hcy_output_open(&output, path, 0);
    if (status)
        return status;
    hcy__npy_write(header, hcy__dtype(a->dtype)->kind, (unsigned)size, a->rank, shape);
    status = hcy_output_write(output, header, sizeof header, 0);
    if (!status && a->count)
        status = hcy_output_write(output, data, (size_t)a->count * size, sizeof header);
    /* A failure is handed over as well: then the file does not take its name. */
    return hcy_output_commit(output, status);
}

static int write_host_array(const char *path, const hcy_array *a, const uint64_t *shape, void *data)
{
    hcy_host_array h = HCY_HOST_ARRAY_INIT;
    size_t size = hcy_dtype_size(a->dtype);
    h.is_complex = a->dtype >= HCY_COMPLEX64;
    h.bytes = (unsigned)(h.is_complex ? size / 2 : size);
    h.rank = a->rank;
    h.data = data;
    memcpy(h.shape, shape, sizeof h.shape);
    if (a->dtype < HCY_FLOAT32)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "%s: only .npy takes %s; others take float32, float64 and complex numbers", path,
                        hcy_dtype_name(a->dtype));
    return hcy_host_array_write(&h, path);
}

int hcy_array_to_file(hcy_queue *queue, const hcy_array *a, const char *path)
{
    uint64_t shape[HCY_ARRAY_MAX_RANK] = { 0 };
    if (!queue || !a || !path)
        return hcy_fail(HCY_EINVAL, "hcy_array_to_file: no %s", !queue ? "queue" : a ? "path" : "array");
    size_t bytes = (size_t)a->count * hcy_dtype_size(a->dtype);
    void *data = malloc(bytes ? bytes : 1);
    if (!data)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s, %zu bytes", path, bytes);
    int status = hcy_array_to_host(data, queue, a);
    for (int d = 0; d < a->rank; d++)
        shape[d] = (uint64_t)a->shape[d];
    if (!status)
        status = is_npy(path) ? write_npy(path, a, shape, data) : write_host_array(path, a, shape, data);
    free(data);
    return status;
}
