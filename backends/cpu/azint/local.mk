# Azimuthal integration on the CPU; filters, regions and picking are tables of kernels of their own.
cpu_kernel_tables += azint filter regions pick
libcpu_la_SOURCES += \
    backends/cpu/azint/pass.c backends/cpu/azint/azint_launch.c backends/cpu/azint/azint_launch.h backends/cpu/azint/planes.h \
    backends/cpu/azint/tile_cases.h backends/cpu/azint/tile_many.h \
    backends/cpu/azint/tile8.h backends/cpu/azint/tile_vnni.h backends/cpu/azint/float_pixels.c backends/cpu/azint/digits.c \
    backends/cpu/azint/tile_portable.c backends/cpu/azint/cpu_azint.h backends/cpu/azint/outliers.c backends/cpu/azint/strip.c \
    backends/cpu/azint/entries.c backends/cpu/azint/keep.c backends/cpu/azint/regions.c backends/cpu/azint/pick.c backends/cpu/azint/cpu_regions.h \
    backends/cpu/azint/region_planes.h \
    backends/cpu/azint/prepare.c backends/cpu/azint/spans.c backends/cpu/azint/few.c backends/cpu/azint/learn.c \
    backends/cpu/azint/filter.c backends/cpu/azint/filter_loops.h backends/cpu/azint/filter_portable.c \
    backends/cpu/azint/deviation.c backends/cpu/azint/filter_sums.c backends/cpu/azint/filter_prepare.c backends/cpu/azint/cpu_filter.h

if X86_SIMD
libcpu_avx2_la_SOURCES += backends/cpu/azint/tile_avx2.c backends/cpu/azint/filter_avx2.c backends/cpu/azint/few_avx2.c
libcpu_avx512_la_SOURCES += backends/cpu/azint/tile_avx512.c backends/cpu/azint/tile8_avx512.c \
    backends/cpu/azint/filter_avx512.c
else
if ARM64_SIMD
libcpu_neon_la_SOURCES += backends/cpu/azint/tile_neon.c
libcpu_dotprod_la_SOURCES += backends/cpu/azint/tile_neon.c
endif
endif
