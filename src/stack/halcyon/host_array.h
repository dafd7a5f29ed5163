/* halcyon/host_array.h - whole arrays of real or complex numbers in NumPy and HDF5 files.
 *
 * For data that is no stack of images: coordinates, coefficients, tables.  Any thread.
 */
#ifndef HALCYON_HOST_ARRAY_H
#define HALCYON_HOST_ARRAY_H

#include <halcyon/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCY_HOST_ARRAY_MAX_RANK 8

/* An array in C order.  Begin with HCY_HOST_ARRAY_INIT. */
typedef struct hcy_host_array {
    size_t size;       /* sizeof(hcy_host_array) */
    int is_complex;    /* real and imaginary part side by side */
    unsigned bytes;    /* of a real number: 4 or 8 */
    int rank;          /* 0: a number */
    uint64_t shape[HCY_HOST_ARRAY_MAX_RANK];
    void *data;        /* malloced */
} hcy_host_array;
#define HCY_HOST_ARRAY_INIT { sizeof(hcy_host_array), 0, 8, 0, { 0 }, NULL }

/* `path` is FILE.npy, or FILE.h5:DATASET (FILE.h5: its dataset /data).  Complex numbers in HDF5 are
 * compounds of r and i, as h5py has them. Integers become doubles, Fortran order C order. HCY_ENOENT, HCY_EIO: the
 * file cannot be read; HCY_EFORMAT: its numbers are neither integers nor float or double, real or complex, or it is
 * a big-endian NumPy file; HCY_ECORRUPT: it ends early; HCY_EUNSUPPORTED: an HDF5 file, in a build without HDF5;
 * HCY_ENOMEM. */
HCY_API int hcy_host_array_read(hcy_host_array *array, const char *path) HCY_MUST_USE;
/* Writes these files, and also FILE.npz, with one array that is not compressed.  An existing NumPy file is replaced;
 * an HDF5 file keeps its other datasets, as it is copied, changed and renamed. */
HCY_API int hcy_host_array_write(const hcy_host_array *array, const char *path) HCY_MUST_USE;
HCY_API void hcy_host_array_free(hcy_host_array *array);
/* How many numbers the array has.  HCY_ERANGE: more than can be addressed. */
HCY_API int hcy_host_array_count(size_t *n, const hcy_host_array *array) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
