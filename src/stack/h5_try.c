/* h5_try.c - an HDF5 file read for nothing, in a reader: what HDF5 survives there, it survives here.
 *
 * Who merges reads a file by more calls than a reader has questions for.  So the reader is only asked to try the file:
 * attributes, lists and texts of all its objects, and where tables are stored.  The numbers in tables are not read:
 * there may be more of them than a reader's minute is long.
 */
#include "h5_file.h"
#include "h5_read.h"
#include "h5_visit.h"
#include "isolate.h"
#include <halcyon/backend.h>
#include <stdlib.h>

enum { MOST_BYTES = 64 << 20 };

/* What HDF5 cannot read is no failure here: whoever merges finds it missing, and says of what file. */
static void try_list(hid_t data)
{
    hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    void *value = NULL;
    if (H5Sget_simple_extent_ndims(space) <= 1 && n > 0 && size && (size_t)n <= MOST_BYTES / size)
        value = calloc((size_t)n, size);
    if (value && H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
    free(value);
    (void)H5Dget_storage_size(data);
    H5Sclose(space);
    H5Tclose(type);
}

static int try_object(void *nothing, hid_t object, const char *path)
{
    (void)nothing, (void)path;
    if (object < 0)
        return 0;
    hcy__h5_copy_attributes(-1, object);
    if (H5Iget_type(object) == H5I_DATASET)
        try_list(object);
    return 0;
}

int hcy__h5_try(const char *path)
{
    hid_t file;
    hcy__h5_lock();
    int st = hcy__h5_open_file(&file, path);
    if (!st) {
        hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
        (void)try_object(NULL, root, "");
        st = root < 0 ? hcy__h5_fail(HCY_EFORMAT, "%s has no root", path)
                      : hcy__h5_visit(root, try_object, NULL, path);
        if (root >= 0)
            H5Gclose(root);
        H5Fclose(file);
    }
    hcy__h5_unlock();
    return st;
}
