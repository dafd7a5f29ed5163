/* args.h - the arguments of the FPGA kernels, generated from the catalogue (families/STEM/kernels.def): what the kernels,
 * the host (backends/xrt), the xclbin and the virtual board agree on.  C and C++; args.c holds the table.
 *
 * A kernel's function has these arguments, each of 64 bits, all of them in one s_axilite bundle `control`:
 *
 *   items               first: how many items the run takes
 *   then, of each argument in kernels.def, in its order,
 *   buffers             an address (m_axi), and behind it NAME_bytes: what the run may touch there.  An absent buffer
 *                       has 0 bytes.
 *   TABLES              the same; what it holds is below
 *   STRUCT              the address of a copy, 64-byte aligned (m_axi); its size is the catalogue's
 *   scalars             their bits, smaller ones zero-extended
 *
 * Vitis HLS gives argument i the registers at HCY_HLS_REGISTER(i): low word, high word, one reserved.
 * Every address is a multiple of 8 (a launch whose views or items do not allow that is refused or not cut), those of
 * whole buffers of 64.
 *
 * A launch may become several runs, each with a range of the items: addresses and sizes are then those of the range
 * (offsets inside a buffer, of chunks and of first blocks, stay those of the launch).  A run writes all of its OUT
 * buffers, whatever they held; it finds no memory zeroed.  Nobody has checked what the buffers hold: a run stays
 * within the bytes it was given and ends, and says in its reports what was wrong.
 */
#ifndef HCY_HLS_ARGS_H
#define HCY_HLS_ARGS_H

#include <stddef.h>
#include <stdint.h>

/* Of everything in this header; an xclbin says which one it was built for, and is refused when it differs. */
#define HCY_HLS_INTERFACE 2u

#define HCY_HLS_REGISTER(i) (0x10u + 12u * (i))

/* The tables of a plan: this head, then the family's canonical spans one after another, each at a multiple of 64
 * (offsets count from the head). */
#define HCY_HLS_MAX_SPANS 7
typedef struct hcy_hls_tables {
    uint64_t n_spans, reserved;
    struct {
        uint64_t offset, size;
    } span[HCY_HLS_MAX_SPANS];
} hcy_hls_tables;

enum hcy_hls_kind { HCY_HLS_ITEMS, HCY_HLS_ADDRESS, HCY_HLS_BYTES, HCY_HLS_STRUCT, HCY_HLS_SCALAR };

typedef struct hcy_hls_arg {
    const char *name;
    int kind; /* HCY_HLS_*; BYTES stands behind the ADDRESS that it belongs to */
} hcy_hls_arg;

typedef struct hcy_hls_layout {
    const char *kernel;
    const hcy_hls_arg *args;
    size_t n_args;
} hcy_hls_layout;

typedef struct hcy_hls_family {
    const char *stem;
    uint32_t version; /* of its format */
    const hcy_hls_layout *kernels;
    size_t n_kernels;
} hcy_hls_family;

/* How many 64-bit arguments each kernel has: hcy_hls_n_KERNEL. */
#define HCY_HLS_N_IN      2
#define HCY_HLS_N_OUT     2
#define HCY_HLS_N_INOUT   2
#define HCY_HLS_N_SCRATCH 2
#define HCY_HLS_N_TABLES  2
#define HCY_HLS_N_STRUCT  1
#define HCY_HLS_N_I32     1
#define HCY_HLS_N_U32     1
#define HCY_HLS_N_I64     1
#define HCY_HLS_N_U64     1
#define HCY_HLS_N_F32     1
#define HCY_HLS_N_F64     1
#define FAMILY(stem, version)
#define KERNEL(kernel)        enum { hcy_hls_n_##kernel = 1
#define ARG(type, name, size) + HCY_HLS_N_##type
#define END(kernel)           };
#define END_FAMILY(stem)
#include "families.def"
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY

/* A kernel as the host's compiler makes it: `memory` is where the device's address 0 would be, `args` are the
 * hcy_hls_n_KERNEL values of a run. */
typedef void (*hcy_hls_run)(unsigned char *memory, const uint64_t *args);

typedef struct hcy_hls_kernel {
    const char *name;
    hcy_hls_run run;
} hcy_hls_kernel;

#ifdef __cplusplus
extern "C" {
#endif
/* Every kernel of the catalogue, whether or not it exists for FPGAs; ends with a stem of NULL. */
extern const hcy_hls_family hcy__hls_families[];
/* NULL: no family has such a kernel. */
const hcy_hls_layout *hcy__hls_layout(const char *kernel);

/* What a library of compiled kernels exports (table.cpp): those that it has; ends with a name of NULL. */
extern const hcy_hls_kernel hcy_hls_kernels[];
#ifdef __cplusplus
}
#endif

#endif
