/* eval_dialects.c - what eval_helpers.h and generated kernels want of a language: types, places, operations that
 * round once.
 *
 * A device takes the first of these formats that it knows.  Where single quotients and roots may be rounded otherwise
 * they are made in double: a double has more than twice a float's bits, so that rounding twice is rounding once.
 */
#include "eval_dialects.h"

#include <stddef.h>

static const char opencl_c[] =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef char int8_t; typedef uchar uint8_t; typedef short int16_t; typedef ushort uint16_t;\n"
    "typedef int int32_t; typedef uint uint32_t; typedef long int64_t; typedef ulong uint64_t;\n"
    "#define KERNEL __kernel\n"
    "#define GLOBAL __global\n"
    "#define LOCAL __local\n"
    "#define HELPER static inline\n"
    "#define ITEM ((u32)get_local_id(0))\n"
    "#define GROUP ((u64)get_group_id(0))\n"
    "#define GROUP_ITEMS ((u64)get_local_size(0))\n"
    "#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)\n"
    "#define FLOAT_OF_BITS(x) as_float((uint)(x))\n"
    "#define DOUBLE_OF_BITS(x) as_double((ulong)(x))\n"
    "#define BITS_OF_FLOAT(x) as_uint((float)(x))\n"
    "#define BITS_OF_DOUBLE(x) as_ulong((double)(x))\n"
    "#define TABLE __constant\n"
    "#define DIVIDE_F32(a, b) ((float)((double)(a) / (double)(b)))\n"
    "#define DIVIDE_F64(a, b) ((a) / (b))\n"
    "#define SQUARE_ROOT_F32(a) ((float)sqrt((double)(a)))\n"
    "#define SQUARE_ROOT_F64(a) sqrt(a)\n"
    "#define ABSOLUTE_F32(a) fabs(a)\n"
    "#define ABSOLUTE_F64(a) fabs(a)\n"
    "#define FLOOR_F32(a) floor(a)\n"
    "#define FLOOR_F64(a) floor(a)\n"
    "#define CEILING_F32(a) ceil(a)\n"
    "#define CEILING_F64(a) ceil(a)\n"
    "#define ROUND_F32(a) rint(a)\n"
    "#define ROUND_F64(a) rint(a)\n"
    "#define FUSED_F32(a, b, c) fma((a), (b), (c))\n"
    "#define FUSED_F64(a, b, c) fma((a), (b), (c))\n";

static const char cuda_c[] =
    "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n"
    "typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned int uint32_t;\n"
    "typedef long long int64_t; typedef unsigned long long uint64_t;\n"
    "#define KERNEL extern \"C\" __global__\n"
    "#define GLOBAL\n"
    "#define LOCAL __shared__\n"
    "#define HELPER static __device__ __forceinline__\n"
    "#define ITEM ((u32)threadIdx.x)\n"
    "#define GROUP ((u64)blockIdx.x)\n"
    "#define GROUP_ITEMS ((u64)blockDim.x)\n"
    "#define BARRIER() __syncthreads()\n"
    "#define FLOAT_OF_BITS(x) __uint_as_float(x)\n"
    "#define DOUBLE_OF_BITS(x) __longlong_as_double((long long)(x))\n"
    "#define BITS_OF_FLOAT(x) __float_as_uint(x)\n"
    "#define BITS_OF_DOUBLE(x) ((u64)__double_as_longlong(x))\n"
    "#define TABLE static __constant__ const\n"
    "#define DIVIDE_F32(a, b) __fdiv_rn((a), (b))\n"
    "#define DIVIDE_F64(a, b) __ddiv_rn((a), (b))\n"
    "#define SQUARE_ROOT_F32(a) __fsqrt_rn(a)\n"
    "#define SQUARE_ROOT_F64(a) __dsqrt_rn(a)\n"
    "#define ABSOLUTE_F32(a) fabsf(a)\n"
    "#define ABSOLUTE_F64(a) fabs(a)\n"
    "#define FLOOR_F32(a) floorf(a)\n"
    "#define FLOOR_F64(a) floor(a)\n"
    "#define CEILING_F32(a) ceilf(a)\n"
    "#define CEILING_F64(a) ceil(a)\n"
    "#define ROUND_F32(a) rintf(a)\n"
    "#define ROUND_F64(a) rint(a)\n"
    "#define FUSED_F32(a, b, c) __fmaf_rn((a), (b), (c))\n"
    "#define FUSED_F64(a, b, c) __fma_rn((a), (b), (c))\n";

const struct hcy__eval_dialect hcy__eval_dialects[] = {
    /* OpenCL allows quotients of floats 2.5 ulp, and NVIDIA's compiler makes use of it. */
    { "opencl-c", "-cl-fp32-correctly-rounded-divide-sqrt", opencl_c },
    { "cuda-c", "--fmad=false --ftz=false", cuda_c },
    { NULL, NULL, NULL },
};
