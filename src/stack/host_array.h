/* host_array.h - arrays in files, a format a file: those of HDF5 are host_array_h5.c's and h5_mrd.c's, where there is
 * HDF5. */
#ifndef HCY_STACK_HOST_ARRAY_H
#define HCY_STACK_HOST_ARRAY_H

#include <halcyon/host_array.h>
#include <halcyon/backend.h>

/* The format of "FILE:PART" by its suffix, and the path cut to the file; *part: NULL if none is named (suffix.c). */
const char *hcy__array_format(const char **part, char *path);
/* Bytes of one of its numbers, and of all; HCY_ERANGE. */
size_t hcy__host_array_element(const hcy_host_array *array);
int hcy__host_array_bytes(size_t *bytes, const hcy_host_array *array);
/* Number i, its real and its imaginary part. */
void hcy__host_array_get(double number[2], const hcy_host_array *array, size_t i);

/* --- Formats --- */

/* NULL, or an empty name: the file's /data, an ISMRMRD file's acquisitions. */
int hcy__host_array_read_h5(hcy_host_array *array, const char *file, const char *dataset);
int hcy__host_array_write_h5(const hcy_host_array *array, const char *file, const char *dataset);
/* The same without the numbers, which whoever has them writes to *output from *offset on, as they are in memory, before
 * it is committed. */
int hcy__host_array_begin_h5(hcy_output **output, uint64_t *offset, const hcy_host_array *array, const char *file,
                             const char *dataset);
/* An array's type and shape; data stays NULL. */
int hcy__host_array_head_h5(hcy_host_array *array, const char *file, const char *dataset);
/* Of the array with that head `count` rows of an axis, from row `first` on, in C order: HDF5 reads no others, but where
 * the file is isolated.  HCY_EFORMAT: it has another head. */
int hcy__host_array_rows_h5(void *rows, const hcy_host_array *head, const char *file, const char *dataset, int axis,
                            uint64_t first, uint64_t count);
/* An image series of the group /dataset, image_0 for NULL, as ISMRMRD writes it. */
int hcy__host_array_write_mrd(const hcy_host_array *array, const char *file, const char *series);
int hcy__host_array_read_cfl(hcy_host_array *array, const char *file, const char *part);
int hcy__host_array_write_cfl(const hcy_host_array *array, const char *file, const char *part);
int hcy__host_array_write_nii(const hcy_host_array *array, const char *file, const char *part);

/* One file of these bytes, a head and data. */
int hcy__host_array_write_npz(hcy_output *output, const void *head, size_t head_size, const void *data, size_t size);

#endif
