/* dialect.h - one kernel text for CUDA C and OpenCL C (2.0's generic addresses).  Put before every kernel text.
 *
 * Kernels are C without libraries.  A group has GROUP_SIZE work items, known when the text is compiled; what is
 * written for SUBGROUP lanes in step (shuffles, ballots) is compiled only where the device has them.
 */
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define KERNEL      extern "C" __global__
#define GROUP_OF(n) __launch_bounds__(n) /* items of a group */
#define GROUPS_OF(n, resident)                                                                               \
    __launch_bounds__(n, resident) /* and how many groups shall fit a multiprocessor */
#define GLOBAL
#define LOCAL                __shared__
#define DEVICE               static __device__ __forceinline__
#define DEVICE_CALL          static __device__ __noinline__
#define CONSTANT             static __constant__ const
#define RESTRICT             __restrict__
#define DYNAMIC_LOCAL(name)  extern __shared__ __align__(16) unsigned char name[]
#define ITEM                 ((uint32_t)threadIdx.x)
#define GROUP                ((uint32_t)blockIdx.x)
#define GROUP_Y              ((uint32_t)blockIdx.y)
#define GROUPS               ((uint32_t)gridDim.x)
#define BARRIER()            __syncthreads()
#define ATOMIC_ADD32(p, x)   atomicAdd((unsigned *)(p), (unsigned)(x))
#define ATOMIC_MIN32(p, x)   atomicMin((unsigned *)(p), (unsigned)(x))
#define ATOMIC_ADD64(p, x)   atomicAdd((unsigned long long *)(p), (unsigned long long)(x))
#define ATOMIC_ADD_F64(p, x) atomicAdd((double *)(p), (double)(x))
#define MUL_HI64(a, b)       __umul64hi((a), (b))
#define AS_DOUBLE(x)         __longlong_as_double((long long)(x))
#define AS_BITS64(x)         ((uint64_t)__double_as_longlong(x))
#define AS_FLOAT(x)          __uint_as_float(x)
#define POPCOUNT(x)          __popc(x)
#define FIRST_BIT(x)         (__ffs((int)(x)) - 1) /* of a value that is not 0 */
#define MUL_F64(a, b)        __dmul_rn((a), (b))
#define UNROLL               _Pragma("unroll")
#define UNROLL_4             _Pragma("unroll 4")
/* Lanes in step. */
#define ALL                0xffffffffu
#define SHUFFLE(x, lane)   __shfl_sync(ALL, (x), (lane))
#define BALLOT(x)          __ballot_sync(ALL, (x))
#define ANY(x)             __any_sync(ALL, (x))
#define MAX_OF_LANES(x)    __reduce_max_sync(ALL, (x))
#define LANES_BARRIER()    __syncwarp()
#define BYTE_PERM(a, b, s) __byte_perm((a), (b), (s))
#define FUNNEL(lo, hi, s)  __funnelshift_r((lo), (hi), (s))
#define READ_ONLY(p)       __ldg(p)
#else
#error "no dialect for this compiler"
#endif
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
#define NULL_PTR 0
