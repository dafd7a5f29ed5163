/* array.h - arrays in HDF5: array_h5.c, where there is HDF5. */
#ifndef HCY_STACK_ARRAY_H
#define HCY_STACK_ARRAY_H

#include <halcyon/array.h>

int hcy__array_read_h5(hcy_array *array, const char *file, const char *dataset);
int hcy__array_write_h5(const hcy_array *array, const char *file, const char *dataset);

#endif
