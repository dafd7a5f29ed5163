/* halcyon/kernel.h - kernels by name, and the user's own.
 *
 * A named kernel has a typed signature, declared once in its family's kernels.def; arguments are checked against it.
 * hcy_launch() takes logical items (frames, points, blocks); each backend maps them onto its hardware.
 * The user's own kernels (a format the backend knows: "c-function", "cuda-c", "ptx", "opencl-c", "xclbin"...) get
 * the explicit-grid launch.  Thread-safe; launches keep their arguments alive until they have run.
 */
#ifndef HALCYON_KERNEL_H
#define HALCYON_KERNEL_H

#include <halcyon/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_kernel hcy_kernel;
typedef struct hcy_program hcy_program;

enum hcy_arg_type {
    HCY_ARG_IN = 1,      /* buffers: read, */
    HCY_ARG_OUT = 2,     /* written, */
    HCY_ARG_INOUT = 3,   /* both, */
    HCY_ARG_SCRATCH = 4, /* the kernel's own, of hcy_kernel_scratch_size() bytes at least; NULL if that is 0 */
    HCY_ARG_TABLES = 5,  /* what hcy_kernel_prepare() made */
    HCY_ARG_I32 = 6,
    HCY_ARG_U32 = 7,
    HCY_ARG_I64 = 8,
    HCY_ARG_U64 = 9,
    HCY_ARG_F32 = 10,
    HCY_ARG_F64 = 11,
    HCY_ARG_STRUCT = 12 /* a small structure by value, copied at submission; its size is in the signature */
};
#define HCY_ARG_STRUCT_MAX 256

typedef struct hcy_arg_decl {
    const char *name;
    int type;        /* HCY_ARG_* */
    uint32_t size;   /* of a structure */
} hcy_arg_decl;

typedef struct hcy_signature {
    const char *name; /* "family_verb" */
    const hcy_arg_decl *args;
    size_t n_args;
} hcy_signature;

/* One argument.  A structure is given by address and copied. */
typedef struct hcy_arg {
    int type; /* HCY_ARG_IN for any buffer (its direction is the signature's), or the scalar's type */
    uint32_t size;
    union {
        hcy_buffer *buf;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
        const void *bytes;
    } v;
} hcy_arg;

static inline hcy_arg hcy_arg_buf(hcy_buffer *b) { hcy_arg a; a.type = HCY_ARG_IN; a.size = 0; a.v.buf = b; return a; }
static inline hcy_arg hcy_arg_i32(int32_t x) { hcy_arg a; a.type = HCY_ARG_I32; a.size = 4; a.v.i32 = x; return a; }
static inline hcy_arg hcy_arg_u32(uint32_t x) { hcy_arg a; a.type = HCY_ARG_U32; a.size = 4; a.v.u32 = x; return a; }
static inline hcy_arg hcy_arg_i64(int64_t x) { hcy_arg a; a.type = HCY_ARG_I64; a.size = 8; a.v.i64 = x; return a; }
static inline hcy_arg hcy_arg_u64(uint64_t x) { hcy_arg a; a.type = HCY_ARG_U64; a.size = 8; a.v.u64 = x; return a; }
static inline hcy_arg hcy_arg_f32(float x) { hcy_arg a; a.type = HCY_ARG_F32; a.size = 4; a.v.f32 = x; return a; }
static inline hcy_arg hcy_arg_f64(double x) { hcy_arg a; a.type = HCY_ARG_F64; a.size = 8; a.v.f64 = x; return a; }
static inline hcy_arg hcy_arg_struct(const void *p, size_t n)
{
    hcy_arg a;
    a.type = HCY_ARG_STRUCT;
    a.size = (uint32_t)n;
    a.v.bytes = p;
    return a;
}

/* A host table handed to hcy_kernel_prepare(). */
typedef struct hcy_span {
    const void *data;
    size_t size;
} hcy_span;

/* A kernel by its name.  HCY_ENOENT: no family has such a kernel; HCY_EUNSUPPORTED: this device has none (which
 * answers "can it run here"). */
HCY_API int hcy_kernel_get(hcy_kernel **kernel, hcy_device *dev, const char *name) HCY_MUST_USE;
HCY_API hcy_kernel *hcy_kernel_retain(hcy_kernel *kernel);
HCY_API void hcy_kernel_release(hcy_kernel *kernel);
/* NULL for an untyped user kernel. */
HCY_API const hcy_signature *hcy_kernel_signature(const hcy_kernel *kernel);
/* Which variant runs: "avx512", "portable", "sm_90".  Belongs to the kernel. */
HCY_API const char *hcy_kernel_variant(const hcy_kernel *kernel);
/* A number of a user's kernel by its key: on GPUs "group_items" (the most of a group), "local_bytes" (of a group)
 * and "private_bytes" (of an item), "group_multiple" on OpenCL devices, "registers" on NVIDIA's (halcyon/cuda.h).
 * HCY_ENOENT: no such key here. */
HCY_API int hcy_kernel_get_i64(int64_t *value, hcy_kernel *kernel, const char *key) HCY_MUST_USE;

/* The device's own layout of a family's canonical tables, for an argument of type HCY_ARG_TABLES.  May take long;
 * the spans may go afterwards unless the family says otherwise.  HCY_EUNSUPPORTED where the kernel takes none. */
HCY_API int hcy_kernel_prepare(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans,
                               size_t n) HCY_MUST_USE;
/* The same for a few items in all, three or so: made in less time, where a device knows how, while each item takes
 * longer.  Results have the same bits. */
HCY_API int hcy_kernel_prepare_few(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans,
                                   size_t n) HCY_MUST_USE;
/* Bytes of scratch a launch of `items` with these arguments needs (the scratch argument itself is not looked at,
 * nor are IN and OUT buffers: they may be NULL).  A view as scratch begins at a multiple of 64 bytes of its memory. */
HCY_API int hcy_kernel_scratch_size(size_t *size, hcy_kernel *kernel, size_t items, const hcy_arg *args,
                                    size_t n) HCY_MUST_USE;
/* How many items a launch with these arguments should take for full speed. */
HCY_API int hcy_kernel_preferred_batch(size_t *items, hcy_kernel *kernel, const hcy_arg *args,
                                       size_t n) HCY_MUST_USE;

/* Asynchronous.  HCY_EINVAL: a wrong number or type of arguments, or a buffer of another device; the error names the
 * argument. */
HCY_API int hcy_launch(hcy_queue *queue, hcy_kernel *kernel, size_t items, const hcy_arg *args,
                       size_t n) HCY_MUST_USE;

/* The user's own code.  `data` is copied unless the format says otherwise.  HCY_EUNSUPPORTED: the device does not
 * know the format (the error lists those it knows); HCY_ERANGE: over 64 options; HCY_ECOMPILE: the
 * error begins with the compiler's words. */
HCY_API int hcy_program_create(hcy_program **program, hcy_device *dev, const char *format, const void *data,
                               size_t size, const char *options) HCY_MUST_USE;
HCY_API hcy_program *hcy_program_retain(hcy_program *program);
HCY_API void hcy_program_release(hcy_program *program);
HCY_API const char *hcy_program_log(const hcy_program *program); /* "" if there is nothing to say */
/* `signature`, which is copied, may be NULL: the arguments are then passed as they come. */
HCY_API int hcy_program_kernel(hcy_kernel **kernel, hcy_program *program, const char *name,
                               const hcy_signature *signature) HCY_MUST_USE;
/* The memory of one of its variables, by the name that it has there (CUDA: __constant__ and __device__, extern "C"), to
 * be written before a launch and read after it.  The buffer keeps the program.  HCY_ENOENT: it has no such variable;
 * HCY_EUNSUPPORTED: the device names none (OpenCL; a C function's are the caller's own). */
HCY_API int hcy_program_global(hcy_buffer **buf, hcy_program *program, const char *name) HCY_MUST_USE;

typedef struct hcy_grid {
    uint32_t groups[3];   /* all > 0 */
    uint32_t group[3];    /* items of a group; 1,1,1 on a CPU unless the function wants them */
    uint32_t local_bytes; /* dynamic local memory of a group */
} hcy_grid;
HCY_API int hcy_launch_grid(hcy_queue *queue, hcy_kernel *kernel, const hcy_grid *grid, const hcy_arg *args,
                            size_t n) HCY_MUST_USE;
/* The same, of groups that all run at once, so that they may wait for one another (CUDA's cooperative launch).
 * HCY_EUNSUPPORTED: a device without HCY_CAP_TOGETHER; HCY_ERANGE: more groups than it runs at once, which
 * hcy_kernel_get_i64() helps to find (halcyon/cuda.h); behind another backend's event that is the queue's failure. */
HCY_API int hcy_launch_together(hcy_queue *queue, hcy_kernel *kernel, const hcy_grid *grid, const hcy_arg *args,
                                size_t n) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
