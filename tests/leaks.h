/* leaks.h - for programs that make HDF5 fail: what it then leaves is not Halcyon's, and LeakSanitizer keeps still. */
#ifndef LEAKS_H
#define LEAKS_H

const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

#endif
