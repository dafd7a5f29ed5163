/* numbers.c - lists of numbers beside a stack: monitors. */
#include <halcyon/stack.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_HDF5
#include "h5_read.h"

static int read_dataset(double **values, size_t *n, const char *file, const char *dataset)
{
    hid_t id;
    hcy__h5_lock();
    int st = hcy__h5_open_file(&id, file);
    if (!st)
        st = hcy__h5_get_doubles(values, n, id, dataset, file);
    if (id >= 0)
        H5Fclose(id);
    hcy__h5_unlock();
    return st;
}
#else
static int read_dataset(double **values, size_t *n, const char *file, const char *dataset)
{
    (void)values, (void)n, (void)dataset;
    return hcy_fail(HCY_EUNSUPPORTED, "%s: this build of Halcyon has no HDF5", file);
}
#endif

int hcy_numbers_read(double **values, size_t *n, const char *path)
{
    if (!values || !n || !path)
        return hcy_fail(HCY_EINVAL, "hcy_numbers_read: values, n and path must not be NULL");
    *values = NULL;
    *n = 0;
    const char *parting = strstr(path, "::");
    if (!parting || parting == path || !parting[2])
        return hcy_fail(HCY_EINVAL, "%s: numbers are read from FILE.h5::/path", path);
    char *file = strdup(path);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    file[parting - path] = 0;
    int st = read_dataset(values, n, file, parting + 2);
    free(file);
    return st;
}
