# Non-uniform FFTs on the CPU.
cpu_kernel_tables += nufft
libcpu_la_SOURCES += backends/cpu/nufft/spread_interp.c backends/cpu/nufft/sort.c backends/cpu/nufft/cut.c backends/cpu/nufft/mix.c backends/cpu/nufft/cut_fft.c backends/cpu/nufft/cut_fft.h \
    backends/cpu/nufft/cut_lead.c backends/cpu/nufft/units.c \
    backends/cpu/nufft/cpu_nufft.h backends/cpu/nufft/same_portable.c backends/cpu/nufft/same_variant.h \
    backends/cpu/nufft/same.h

# Floating-point sums with a tolerance, where a * b + c may be one operation: not for what must have the same bits.
noinst_LTLIBRARIES += libcpu_nufft.la
libcpu_la_LIBADD += libcpu_nufft.la
libcpu_nufft_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_la_CFLAGS = $(KERNEL_CFLAGS) $(HCY_CONTRACT)
libcpu_nufft_la_SOURCES = backends/cpu/nufft/points_portable.c backends/cpu/nufft/variant.h backends/cpu/nufft/lane_lists.h \
    backends/cpu/nufft/rows.h backends/cpu/nufft/row_slopes.h backends/cpu/nufft/row_sort.h

if X86_SIMD
libcpu_avx2_la_SOURCES += backends/cpu/nufft/same_avx2.c
libcpu_avx512_la_SOURCES += backends/cpu/nufft/same_avx512.c
noinst_LTLIBRARIES += libcpu_nufft_avx2.la libcpu_nufft_avx512.la
libcpu_nufft_la_LIBADD = libcpu_nufft_avx2.la libcpu_nufft_avx512.la
libcpu_nufft_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_avx2_la_CFLAGS = $(libcpu_nufft_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_nufft_avx2_la_SOURCES = backends/cpu/nufft/points_avx2.c
libcpu_nufft_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_avx512_la_CFLAGS = $(libcpu_nufft_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_nufft_avx512_la_SOURCES = backends/cpu/nufft/points_avx512.c
endif
