/* embedded.h - PTX in the module, made when it was built: of the usual kernels, for machines without NVRTC.
 * Constant data, and pure functions. */
#ifndef HCY_CUDA_EMBEDDED_H
#define HCY_CUDA_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its compute capability, 8.0: few GPUs below have the local memory that the fast kernels need. */
#define CUDA_PTX_ARCH 80

/* Of one text with its options, compressed by LZ4. */
struct cuda_ptx {
    uint64_t key, check; /* hashes of both, from the two starts */
    const unsigned char *data;
    int packed, size; /* size: of the text with its zero; 0 ends the table */
};
/* Made by build-aux/embed_ptx.c; or empty (no_ptx.c). */
extern const struct cuda_ptx cuda_ptx[];
extern const char *const cuda_ptx_kernels[]; /* which kernels they are of; NULL at the end */

#define CUDA_HASH_KEY   14695981039346656037u
#define CUDA_HASH_CHECK 0x9e3779b97f4a7c15u
uint64_t cuda_hash(uint64_t start, const char *text, const char *const *options, int n);

bool cuda_ptx_has(const char *kernel);
/* The PTX, malloced and with a zero at its end; NULL if there is none of this text with these options. */
char *cuda_ptx_find(const char *text, const char *const *options, int n);

#endif
