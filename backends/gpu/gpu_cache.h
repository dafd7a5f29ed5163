/* gpu_cache.h - compiled kernels on disk, from run to run.  Thread-safe, and safe between processes. */
#ifndef HCY_GPU_CACHE_H
#define HCY_GPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An entry's bytes, malloced; NULL if there is none (or a damaged one).  `kind` is the backend's name; `key` and
 * `check` are two hashes of all that the bytes depend on. */
void *gpu_cache_read(const char *kind, uint64_t key, uint64_t check, size_t *size);
/* Whether a text, or an option, includes a file: what that holds is in no hash, so that nothing is kept. */
bool gpu_cache_includes(const char *text);
/* Whether there is a folder to keep entries in: where the user wants no cache, their bytes need not be made. */
bool gpu_cache_is_on(void);
/* Keeps an entry if that is possible. */
void gpu_cache_write(const char *kind, uint64_t key, uint64_t check, const void *data, size_t size);

#endif
