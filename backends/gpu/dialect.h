/* dialect.h - one kernel text for CUDA C and OpenCL C.  Every kernel text begins with it.
 *
 * Kernels are C without libraries.  A group has GROUP_SIZE work items, known when the text is compiled; with one,
 * what is written for many runs in sequence.  What is written for GPU_LANES in step (shuffles, ballots) is compiled
 * only where the device has them.
 *
 * Pointers reach any memory, as in CUDA, unless they are NEAR, to the group's local memory.  A kernel takes a buffer
 * as BUFFER(type, name) and begins with OPEN(type, name); then `name` is such a pointer.  OpenCL 1.2 has no pointers
 * to any memory; but processors' drivers have one space of addresses (SPACES 1), and NVIDIA's compiler takes a
 * pointer without a space for a generic one (SPACES 2).  Other devices need OpenCL C 2.0's (SPACES 3).
 *
 * Sums of 64 bits are added to atomically; ATOMICS 32 says that the device can do that with 32 bits alone.  Then a sum
 * is two halves, whose carries are added where they arise: whole once the kernel (local memory: the barrier) is over.
 * Doubles have no such way.
 */
#ifndef GPU_DIALECT_H /* a test that runs a text on the host brings its own (tests/lanes.h) */
#define GPU_DIALECT_H

#ifndef ATOMICS
#define ATOMICS 64
#endif
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define KERNEL extern "C" __global__
#define GROUP_OF(n) __launch_bounds__(n)                      /* items of a group */
#define GROUPS_OF(n, resident) __launch_bounds__(n, resident) /* and how many groups shall fit a multiprocessor */
#define BUFFER(type, name) type *name
#define OPEN(type, name)
#define NEAR
#define ALIGNED_TO(n) __align__(n)
#define ANY_SPACE(type, near_pointer) (near_pointer)
#define LOCAL __shared__
#define LOCAL_ROOM(type, name, n) __shared__ type name[n]
#define DYNAMIC_LOCAL(name, most) extern __shared__ __align__(16) unsigned char name[]
#define DEVICE static __device__ __forceinline__
#define DEVICE_CALL static __device__ __noinline__
#define ITEM ((uint32_t)threadIdx.x)
#define ITEM_OF_ALL ((uint32_t)(blockIdx.x * blockDim.x + threadIdx.x))
#define GROUP ((uint32_t)blockIdx.x)
#define GROUP_Y ((uint32_t)blockIdx.y)
#define GROUPS ((uint32_t)gridDim.x)
#define GROUPS_Y ((uint32_t)gridDim.y)
#define BARRIER() __syncthreads()
#define ATOMIC_ADD32(p, x) atomicAdd((unsigned *)(p), (unsigned)(x))
#define ATOMIC_MIN32(p, x) atomicMin((unsigned *)(p), (unsigned)(x))
#define ATOMIC_MAX32(p, x) atomicMax((unsigned *)(p), (unsigned)(x))
#define NEAR_ADD32(p, x) ATOMIC_ADD32(p, x)
#define NEAR_OR32(p, x)  atomicOr((unsigned *)(p), (unsigned)(x))
#if ATOMICS == 64
#define ATOMIC_ADD64(p, x) atomicAdd((unsigned long long *)(p), (unsigned long long)(x))
#define NEAR_ADD64(p, x) ATOMIC_ADD64(p, x)
#define ATOMIC_ADD_F64(p, x) atomicAdd((double *)(p), (double)(x))
#define ATOMIC_ADD_PAIR_F64(p, a, b) (atomicAdd((p), (double)(a)), atomicAdd((p) + 1, (double)(b)))
#endif
#if __CUDA_ARCH__ >= 900
#define ATOMIC_ADD_PAIR_F32(p, a, b)                                                             \
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "f"(a), \
                 "f"(b) : "memory")
#else
#define ATOMIC_ADD_PAIR_F32(p, a, b) (atomicAdd((p), (float)(a)), atomicAdd((p) + 1, (float)(b)))
#endif
#define MUL_HI64(a, b) __umul64hi((a), (b))
#define MUL_HI32(a, b) __umulhi((a), (b))
#define MAX32(a, b) umax((a), (b))
#define AS_DOUBLE(x) __longlong_as_double((long long)(x))
#define AS_BITS64(x) ((uint64_t)__double_as_longlong(x))
#define AS_FLOAT(x) __uint_as_float(x)
#define AS_BITS32(x) __float_as_uint(x)
#define POPCOUNT(x) __popc(x)
#define FIRST_BIT(x) (__ffs((int)(x)) - 1) /* of a value that is not 0 */
#define MUL_F64(a, b) __dmul_rn((a), (b))
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define NO_UNROLL _Pragma("unroll 1")
/* Lanes in step. */
#define ALL 0xffffffffu
#define SHUFFLE(x, lane) __shfl_sync(ALL, (x), (lane))
#define SHUFFLE_XOR(x, mask) __shfl_xor_sync(ALL, (x), (mask)) /* of lane LANE ^ mask */
#define BALLOT(x) __ballot_sync(ALL, (x))
#define ANY(x) __any_sync(ALL, (x))
#define LANES_BARRIER() __syncwarp()
#define SIGN_PERM(a, b, s) bytes_picked((a), (b), (s)) /* 8 | k: the sign of byte k instead of it */
#define NEAR_ADDRESS(p) ((uint32_t)__cvta_generic_to_shared(p))
#define BYTE_PERM(a, b, s) __byte_perm((a), (b), (s))
#define READ_ONLY(p) __ldg(p)
#define FETCH(p) asm volatile("prefetch.global.L2 [%0];" ::"l"(p)) /* to the cache */
#define DOT_BYTES(a, b, sum) __dp4a((unsigned)(a), (unsigned)(b), (unsigned)(sum)) /* four products of bytes */
/* sum += a * b, 64 bits of 32: one instruction that compilers do not always choose. */
#define MUL_ADD_64(sum, a, b) asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(sum) : "r"(a), "r"(b))
#define MUL_ADD_SIGNED_64(sum, a, b) asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(sum) : "r"(a), "r"(b))
#elif defined __OPENCL_VERSION__
#if ATOMICS == 64
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define KERNEL __kernel
#define GROUP_OF(n) __attribute__((reqd_work_group_size(n, 1, 1)))
#define GROUPS_OF(n, resident) GROUP_OF(n)
#define BUFFER(type, name) __global type *name##_buffer, ulong name##_at
#if SPACES == 3
#define OPEN(type, name) type *name = (__global type *)((__global uchar *)name##_buffer + name##_at);
#define ANY_SPACE(type, near_pointer) ((type *)(near_pointer))
#define FAR(type, p) ((volatile __global type *)(p))
#else
#define OPEN(type, name) type *name = (type *)((ulong)name##_buffer + name##_at);
#define FAR(type, p) ((volatile __global type *)(ulong)(p))
#if SPACES == 2
static inline ulong generic_of(const __local void *p)
{
    ulong x;
    asm("cvta.shared.u64 %0, %1;" : "=l"(x) : "l"((ulong)p));
    return x;
}
#define ANY_SPACE(type, near_pointer) ((type *)generic_of(near_pointer))
#else
#define ANY_SPACE(type, near_pointer) ((type *)(ulong)(near_pointer))
#endif
#endif
#define NEAR __local
#define ALIGNED_TO(n) __attribute__((aligned(n)))
#define LOCAL __local
#if GROUP_SIZE == 1
#define LOCAL_ROOM(type, name, n) type name[n] /* PoCL loses track of local memory behind other pointers */
#else
#define LOCAL_ROOM(type, name, n) \
    __local type name##_near[n];  \
    type *name = ANY_SPACE(type, name##_near)
#endif
#define DYNAMIC_LOCAL(name, most) __local uchar name[most] __attribute__((aligned(16)))
#define DEVICE static inline __attribute__((always_inline))
#define DEVICE_CALL static
#define GROUP ((uint32_t)get_group_id(0))
#define GROUP_Y ((uint32_t)get_group_id(1))
#define GROUPS ((uint32_t)get_num_groups(0))
#define GROUPS_Y ((uint32_t)get_num_groups(1))
#define ITEM_OF_ALL ((uint32_t)get_global_id(0))
#if GROUP_SIZE == 1
#define ITEM 0u
#define BARRIER()
#else
#define ITEM ((uint32_t)get_local_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#define ATOMIC_ADD32(p, x) atomic_add(FAR(uint, p), (uint)(x))
#define ATOMIC_MIN32(p, x) atomic_min(FAR(uint, p), (uint)(x))
#define ATOMIC_MAX32(p, x) atomic_max(FAR(uint, p), (uint)(x))
#define NEAR_ADD32(p, x) atomic_add((volatile __local uint *)(p), (uint)(x))
#define NEAR_OR32(p, x)  atomic_or((volatile __local uint *)(p), (uint)(x))
#if LANES
#define FETCH(p) asm volatile("prefetch.global.L2 [%0];" ::"l"((ulong)(p)))
#else
#define FETCH(p) (void)(p)
#endif
#if ATOMICS == 64
#define ATOMIC_ADD64(p, x) atom_add(FAR(ulong, p), (ulong)(x))
#define NEAR_ADD64(p, x) atom_add((volatile __local ulong *)(p), (ulong)(x))
#if LANES /* NVIDIA's atomics of floating point, which its OpenCL knows nothing of */
#define ATOMIC_ADD_F64(p, x) asm volatile("red.global.add.f64 [%0], %1;" ::"l"((ulong)(p)), "d"(x) : "memory")
#else
#define ATOMIC_ADD_F64(p, x) add_f64(FAR(ulong, p), (x))
#endif
static inline void add_f64(volatile __global ulong *p, double x)
{
    ulong old = *p, seen;
    while ((seen = atom_cmpxchg(p, old, as_ulong(as_double(old) + x))) != old)
        old = seen;
}
#endif
#if LANES
#define ATOMIC_ADD_PAIR_F32(p, a, b)                                                                  \
    asm volatile("red.global.add.f32 [%0], %1; red.global.add.f32 [%0+4], %2;" ::"l"((ulong)(p)), "f"(a), \
                 "f"(b) : "memory")
#define ATOMIC_ADD_PAIR_F64(p, a, b)                                                                  \
    asm volatile("red.global.add.f64 [%0], %1; red.global.add.f64 [%0+8], %2;" ::"l"((ulong)(p)), "d"(a), \
                 "d"(b) : "memory")
#else
#define ATOMIC_ADD_PAIR_F32(p, a, b) (add_f32(FAR(uint, p), (a)), add_f32(FAR(uint, (p) + 1), (b)))
#define ATOMIC_ADD_PAIR_F64(p, a, b) (add_f64(FAR(ulong, p), (a)), add_f64(FAR(ulong, (p) + 1), (b)))
static inline void add_f32(volatile __global uint *p, float x)
{
    uint old = *p, seen;
    while ((seen = atomic_cmpxchg(p, old, as_uint(as_float(old) + x))) != old)
        old = seen;
}
#endif
#define MUL_HI64(a, b) mul_hi((ulong)(a), (ulong)(b))
#define MUL_HI32(a, b) mul_hi((uint)(a), (uint)(b))
#define MAX32(a, b) max((uint)(a), (uint)(b))
#define AS_DOUBLE(x) as_double((ulong)(x))
#define AS_BITS64(x) as_ulong((double)(x))
#define AS_FLOAT(x) as_float((uint)(x))
#define AS_BITS32(x) as_uint((float)(x))
#define POPCOUNT(x) popcount((uint)(x))
#define FIRST_BIT(x) (31 - (int)clz((uint)(x) & (0u - (uint)(x))))
#define MUL_F64(a, b) ((a) * (b))
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define NO_UNROLL _Pragma("unroll 1")
#if LANES
/* Lanes in step: NVIDIA's, which its OpenCL knows nothing of. */
static inline uint lanes_shuffle(uint x, uint lane)
{
    uint y;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" : "=r"(y) : "r"(x), "r"(lane));
    return y;
}
static inline uint lanes_xor(uint x, uint mask)
{
    uint y;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(y) : "r"(x), "r"(mask));
    return y;
}
static inline uint lanes_ballot(int x)
{
    uint y;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(y) : "r"(x));
    return y;
}
/* Memory that does not change while the kernel runs. */
static inline __attribute__((overloadable)) ushort load_constant(const ushort *p)
{
    ushort x;
    asm("ld.global.nc.u16 %0, [%1];" : "=h"(x) : "l"((ulong)p));
    return x;
}
static inline __attribute__((overloadable)) uint load_constant(const uint *p)
{
    uint x;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(x) : "l"((ulong)p));
    return x;
}
static inline __attribute__((overloadable)) uint2 load_constant(const uint2 *p)
{
    uint2 x;
    asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"((ulong)p));
    return x;
}
static inline __attribute__((overloadable)) uint4 load_constant(const uint4 *p)
{
    uint4 x;
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"((ulong)p));
    return x;
}
static inline uint bytes_dot(uint a, uint b, uint sum)
{
    uint y;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(sum));
    return y;
}
#define SHUFFLE(x, lane) lanes_shuffle((x), (uint)(lane))
#define SHUFFLE_XOR(x, mask) lanes_xor((x), (uint)(mask))
#define BALLOT(x) lanes_ballot(x)
#define ANY(x) (lanes_ballot(x) != 0)
#define LANES_BARRIER() asm volatile("bar.warp.sync -1;" ::: "memory")
#define NEAR_ADDRESS(p) ((uint)(ulong)(p))
#define BYTE_PERM(a, b, s) bytes_picked((a), (b), (s))
#define SIGN_PERM(a, b, s) bytes_picked((a), (b), (s))
#define READ_ONLY(p) load_constant(p)
#define DOT_BYTES(a, b, sum) bytes_dot((a), (b), (sum))
#define MUL_ADD_64(sum, a, b) asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(sum) : "r"(a), "r"(b))
#define MUL_ADD_SIGNED_64(sum, a, b) asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(sum) : "r"(a), "r"(b))
#endif
#else
#error "no dialect for this compiler"
#endif
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;

#define ALIGNED ALIGNED_TO(16)
#define NULL_PTR 0
#ifdef SHUFFLE
/* Products of matrices by 32 lanes: c (16 x 8) += a (16 x 8) * b (8 x 8); of a lane are c[4], a[4], b[2], where
 * pencil.cl says.  F11: floats, of a and b as bits of which 11 of the significand count. */
#define PRODUCT(type, from, to, c, a, b)                                                                               \
    asm volatile("mma.sync.aligned.m16n8k8.row.col." type " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"     \
                 : "+" to((c)[0]), "+" to((c)[1]), "+" to((c)[2]), "+" to((c)[3])                                      \
                 : from((a)[0]), from((a)[1]), from((a)[2]), from((a)[3]), from((b)[0]), from((b)[1]))
#define PRODUCT_F64(c, a, b) PRODUCT("f64.f64.f64.f64", "d", "d", c, a, b)
#define PRODUCT_F11(c, a, b) PRODUCT("f32.tf32.tf32.f32", "r", "f", c, a, b)
DEVICE u32 bytes_picked(u32 a, u32 b, u32 s)
{
    u32 y;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(s));
    return y;
}

/* Copies to local memory that go on while the item does (sm_80 and later, as products): of 8 and 16 bytes.  They are
 * there once the item has waited for its own and met the others. */
#define COPY_8(near_to, from)                                                                               \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(NEAR_ADDRESS(near_to)), "l"((u64)(from)) : "memory")
#define COPY_16(near_to, from)                                                                               \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(NEAR_ADDRESS(near_to)), "l"((u64)(from)) : "memory")
#define COPIES_OVER() asm volatile("cp.async.wait_all;" ::: "memory")

/* x, in a register: not computed anew where it is used. */
DEVICE u32 settled(u32 x)
{
    asm volatile("" : "+r"(x));
    return x;
}

/* What groups tell one another while they run: a word is there as a whole, whichever is read first. */
DEVICE void tell(u32 *p, u32 x)
{
    asm volatile("st.volatile.u32 [%0], %1;" ::"l"((u64)p), "r"(x) : "memory");
}
DEVICE u32 heard(const u32 *p)
{
    u32 x;
    asm volatile("ld.volatile.u32 %0, [%1];" : "=r"(x) : "l"((u64)p) : "memory");
    return x;
}

DEVICE u64 settled64(u64 x)
{
    asm volatile("" : "+l"(x));
    return x;
}
#define SETTLED64(x) settled64(x)

/* x in another register: of two that an instruction wants side by side, what they were made in does not stand so.
 * That it is a sum matters: a mere move is left out. */
DEVICE float moved_f32(float x)
{
    float y;
    asm volatile("add.f32 %0, %1, 0f80000000;" : "=f"(y) : "f"(x));
    return y;
}
#define MOVED_F32(x) moved_f32(x)

/* Local memory by its own addresses. */
DEVICE u32 near_byte(u32 at)
{
    u32 x;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    return x;
}
DEVICE u32 near_word(u32 at)
{
    u32 x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    return x;
}
DEVICE uint4 near_quad(u32 at)
{
    uint4 x;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at) : "memory");
    return x;
}
DEVICE void near_put_byte(u32 at, u32 x)
{
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(x) : "memory");
}
DEVICE void near_put_word(u32 at, u32 x)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(x) : "memory");
}
#endif

/* Adds x to a sum that others add to as well; 1 where that passes 2^64. */
#if ATOMICS == 64
DEVICE u32 add_carry(u64 *sum, u64 x)
{
    u64 old = ATOMIC_ADD64(sum, x);
    return old + x < old;
}
#else
/* The same of a half, with the carry from below. */
#define ADD_HALF(add, half, x, carry)                  \
    u32 more = (u32)(x) + carry, before;               \
    carry = more < carry;                              \
    if (more) {                                        \
        before = add(half, more);                      \
        carry += before + more < before;               \
    }
DEVICE u32 add_carry(u64 *sum, u64 x)
{
    u32 carry = 0;
    {
        ADD_HALF(ATOMIC_ADD32, (u32 *)sum, x, carry)
    }
    {
        ADD_HALF(ATOMIC_ADD32, (u32 *)sum + 1, x >> 32, carry)
    }
    return carry;
}
DEVICE void near_add(NEAR u64 *sum, u64 x)
{
    u32 carry = 0;
    {
        ADD_HALF(NEAR_ADD32, (NEAR u32 *)sum, x, carry)
    }
    {
        ADD_HALF(NEAR_ADD32, (NEAR u32 *)sum + 1, x >> 32, carry)
    }
}
#define ATOMIC_ADD64(p, x) add_carry((u64 *)(p), (x))
#define NEAR_ADD64(p, x) near_add((p), (x))
/* No such kernel is launched. */
#define ATOMIC_ADD_F64(p, x)
#ifndef __CUDACC_RTC__
#define add_f64(p, x) ((void)0)
#endif
#endif

#endif
