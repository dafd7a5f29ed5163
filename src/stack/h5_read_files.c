/* h5_read_files.c - the files that HDF5 itself opens for a dataset: sources of virtual ones, external storage. */
#include "h5_virtual.h"
#include "stack_priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HDF5 looks for a name in the folder of the file that has it, and where the process is. */
static void give(const char *name, const char *from, void (*take)(void *, const char *), void *payload)
{
    const char *slash = strrchr(from, '/');
    char path[4096];
    take(payload, name);
    if (slash && *name != '/' &&
        (size_t)snprintf(path, sizeof path, "%.*s%s", (int)(slash + 1 - from), from, name) < sizeof path)
        take(payload, path);
}

void hcy__h5_read_files(int64_t dataset, const char *from, void (*take)(void *, const char *), void *payload)
{
    char name[4096], stored[4096];
    size_t n = 0;
    off_t offset;
    hsize_t size;
    hcy__h5_lock();
    hid_t plist = H5Dget_create_plist((hid_t)dataset);
    if (plist >= 0 && H5Pget_layout(plist) == H5D_VIRTUAL && H5Pget_virtual_count(plist, &n) >= 0)
        for (size_t i = 0; i < n; i++)
            if (H5Pget_virtual_filename(plist, i, stored, sizeof stored) < (ssize_t)sizeof stored &&
                !hcy__h5_source_name(name, sizeof name, stored, 0))
                give(name, from, take, payload);
    int external = plist >= 0 ? H5Pget_external_count(plist) : 0;
    for (int i = 0; i < external; i++)
        if (H5Pget_external(plist, (unsigned)i, sizeof name, name, &offset, &size) >= 0)
            give(name, from, take, payload);
    if (plist >= 0)
        H5Pclose(plist);
    hcy__h5_unlock();
}
