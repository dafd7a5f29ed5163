/* host_array.h - arrays in HDF5: host_array_h5.c, where there is HDF5. */
#ifndef HCY_STACK_HOST_ARRAY_H
#define HCY_STACK_HOST_ARRAY_H

#include <halcyon/host_array.h>
#include <halcyon/backend.h>

int hcy__host_array_read_h5(hcy_host_array *array, const char *file, const char *dataset);
int hcy__host_array_write_h5(const hcy_host_array *array, const char *file, const char *dataset);

/* One file of these bytes, a head and data. */
int hcy__host_array_write_npz(hcy_output *output, const void *head, size_t head_size, const void *data, size_t size);

#endif
