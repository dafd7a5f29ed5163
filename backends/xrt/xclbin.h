/* xclbin.h - an FPGA program checked before XRT sees it, and what it says of itself.
 *
 * XRT crashes on files that are cut short, so every offset and every count is proved here; kernels are held against the
 * catalogue.  An xclbin owns its bytes; immutable, any thread.
 */
#ifndef HCY_XRT_XCLBIN_H
#define HCY_XRT_XCLBIN_H

#include "../../kernels_hls/args.h"
#include "xclbin_format.h"

#include <halcyon/backend.h>
#include <stdbool.h>

#define XCLBIN_MOST_UNITS 64

struct xclbin {
    struct xclbin_head *head; /* the file */
    const struct xclbin_memories *memories;
    const struct xclbin_units *units;
    const char *xml;
    size_t xml_size;
};

/* Reads and proves a file; its words name it. */
int xclbin_read(struct xclbin *x, const char *path);
/* The same of bytes of the user's, which are copied. */
int xclbin_copy(struct xclbin *x, const void *bytes, size_t size);
void xclbin_free(struct xclbin *x);
/* Whether it has any of the catalogue's kernels: a user's own program need not. */
bool xclbin_is_catalogue(const struct xclbin *x);
/* Its interface and families' versions, and the arguments of those kernels that the catalogue knows. */
int xclbin_check(const struct xclbin *x, const char *path);
bool xclbin_has(const struct xclbin *x, const char *kernel);
/* The instances of a kernel, "kernel:{instance}" each: how many. */
size_t xclbin_instances(const struct xclbin *x, const char *kernel, char names[][80], size_t room);
/* Whether what its units are connected by are arguments of its own, n_args of them: XRT crashes where they are not. */
bool xclbin_connects(const struct xclbin *x, const char *kernel, size_t n_args);
/* What a kernel takes, by its metadata.  HCY_ENOENT: there is none of that name. */
struct xclbin_argument {
    char name[80];
    bool is_buffer, is_real; /* real: float or double, by its size */
    uint32_t size;           /* bytes of a number */
};
int xclbin_arguments(struct xclbin_argument *arguments, size_t *n, size_t room, const struct xclbin *x,
                     const char *kernel);
uint64_t xclbin_memory(const struct xclbin *x); /* bytes */

/* A program for cards of this platform: the first in the search path that is good.  path has `size` bytes. */
int xclbin_search(const char *platform, char *path, size_t size);

#endif
