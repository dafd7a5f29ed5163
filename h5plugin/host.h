/* host.h - HDF5 as the filters see it: the few declarations a filter needs, and the functions of the library
 * that loaded it.
 *
 * The filters are not linked against HDF5: a second copy of it in h5py, or one of another version, would have
 * types and property lists of its own.  What is needed is looked up in the library whose call asked for the
 * plugin.  The declarations are those of HDF5 1.10 and later, which keeps them the same for all plugins.
 */
#ifndef HCY_H5PLUGIN_HOST_H
#define HCY_H5PLUGIN_HOST_H

#include <stddef.h>
#include <stdint.h>

typedef int64_t h5_id;

/* H5Z_class2_t, version 1. */
typedef struct h5_filter {
    int version, id;
    unsigned has_encoder, has_decoder;
    const char *name;
    int (*can_apply)(h5_id plist, h5_id type, h5_id space);
    int (*set_local)(h5_id plist, h5_id type, h5_id space);
    size_t (*run)(unsigned flags, size_t n_values, const unsigned values[], size_t n_bytes, size_t *buf_size,
                  void **buf);
} h5_filter;
#define H5_FILTER_VERSION 1
#define H5_PLUGIN_FILTER  0      /* H5PL_TYPE_FILTER */
#define H5_REVERSE        0x0100 /* H5Z_FLAG_REVERSE: decode */

/* Remembers the library that this address is in. */
void hcy__h5_host_is(void *address);
/* Puts the words on HDF5's error stack, where it has one. */
void hcy__h5_push(const char *function, const char *words);
/* Memory that HDF5 may free, and back. */
void *hcy__h5_allocate(size_t size);
void hcy__h5_free(void *memory);
/* Of a dataset that is being created: the values its filter was given (at most *n), the same replaced, and
 * the bytes of its elements (0: not known).  0, or -1. */
int hcy__h5_get_values(h5_id plist, int filter, unsigned *flags, size_t *n, unsigned *values);
int hcy__h5_set_values(h5_id plist, int filter, unsigned flags, size_t n, const unsigned *values);
size_t hcy__h5_type_size(h5_id type);

#endif
