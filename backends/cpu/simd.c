/* simd.c - which SIMD variants this processor can run, and which are compiled in. */
#include "cpu_priv.h"

#if HCY_CPU_X86
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("gfni") &&
           __builtin_cpu_supports("bmi2");
}

enum cpu_simd cpu_simd_best(void)
{
    __builtin_cpu_init();
    if (has_avx512())
        return CPU_SIMD_AVX512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")
               ? CPU_SIMD_AVX2
               : CPU_SIMD_PORTABLE;
}
#elif HCY_CPU_ARM64
#ifdef __linux__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1 << 20)
#endif
#endif

enum cpu_simd cpu_simd_best(void)
{
#ifdef __linux__
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? CPU_SIMD_DOTPROD : CPU_SIMD_NEON;
#else
    return CPU_SIMD_NEON;
#endif
}
#else
enum cpu_simd cpu_simd_best(void)
{
    return CPU_SIMD_PORTABLE;
}
#endif

enum cpu_simd cpu_simd_built(enum cpu_simd simd)
{
#ifdef HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        return CPU_SIMD_AVX512;
    if (simd >= CPU_SIMD_AVX2)
        return CPU_SIMD_AVX2;
#elif HCY_CPU_ARM64
    if (simd >= CPU_SIMD_NEON)
        return simd >= CPU_SIMD_DOTPROD ? CPU_SIMD_DOTPROD : CPU_SIMD_NEON;
#endif
    (void)simd;
    return CPU_SIMD_PORTABLE;
}

const char *cpu_simd_name(enum cpu_simd simd)
{
#define NAME(name) #name,
    static const char *const names[CPU_SIMD_COUNT] = { CPU_SIMD_NAMES(NAME) };
#undef NAME
    return names[simd];
}
