/* array_priv.h - an array, as src/array and src/eval see it. */
#ifndef HCY_ARRAY_PRIV_H
#define HCY_ARRAY_PRIV_H

#include <halcyon/array.h>
#include <halcyon/backend.h>
#include <stdatomic.h>
#include <stdbool.h>

struct hcy__room;

struct hcy_array {
    atomic_uint refs;
    hcy_buffer *buffer;     /* NULL: empty */
    struct hcy__room *room; /* what is compiled for its device (src/eval); a reference */
    int dtype, rank;
    int64_t shape[HCY_ARRAY_MAX_RANK], strides[HCY_ARRAY_MAX_RANK], offset, count;
};

/* A type: its name, bytes, and what NumPy's files call it. */
struct hcy__dtype {
    const char *name;
    unsigned char bytes;
    char kind;
};
/* NULL: no such type. */
const struct hcy__dtype *hcy__dtype(int dtype);
/* By what NumPy's files call it; 0: none. */
int hcy__dtype_find(char kind, unsigned long bytes);
/* Of a .npy file's header: the type, and the shape as C has it, that of Fortran's order in reverse (array_files.c). */
struct hcy__npy;
int hcy__npy_array_head(int *dtype, int64_t *shape, const struct hcy__npy *npy, const char *path);
/* HCY_EINVAL, naming the function. */
int hcy__array_check(const hcy_array *array, const char *function);
/* Elements of a shape; HCY_EINVAL, HCY_ERANGE. */
int hcy__shape_count(int64_t *count, int rank, const int64_t *shape);
/* Like `of`, but for what the caller sets then; a reference of its buffer and its room. */
int hcy__array_view(hcy_array **view, const hcy_array *of);
bool hcy__is_contiguous(const hcy_array *array);
/* Whether hcy_array_broadcast() makes such a shape of it. */
bool hcy__is_broadcast_to(const hcy_array *array, int rank, const int64_t *shape);
void hcy__c_strides(int64_t *strides, int rank, const int64_t *shape);
/* `rank` sizes as "(2, 3)". */
const char *hcy__shape_text(char text[200], int rank, const int64_t *shape);
hcy_device *hcy__array_device(const hcy_array *array);

#endif
