# The CPU backend.  cpu_sources are common to the module and to the built-in form; backend.c, with the entry point,
# is compiled for each.  SIMD variants have flags of their own: no other file may be compiled with them.
# libcpu_block.la, single blocks of detector data, is what the HDF5 filters link too.
noinst_LTLIBRARIES += libcpu_block.la libcpu.la libcpu_builtin.la
libcpu_block_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_block_la_LIBADD = $(LZ4_LIBS)
libcpu_block_la_SOURCES = backends/cpu/cpu_priv.h backends/cpu/simd.c backends/cpu/bslz4_block.h \
    backends/cpu/bslz4_block.c backends/cpu/bslz4_copy16.h backends/cpu/bslz4_lz4.h backends/cpu/bslz4_pixels.h \
    backends/cpu/bslz4_portable.c
libcpu_la_CPPFLAGS = $(AM_CPPFLAGS) $(cpu_defines) -I$(srcdir)/backends/cpu
libcpu_la_CFLAGS = $(KERNEL_CFLAGS) $(HCY_NO_CONTRACT)
libcpu_la_LIBADD = libcpu_block.la $(FFTW3_LIBS)
libcpu_la_SOURCES = backends/cpu/fft.c backends/cpu/pages.c backends/cpu/pool.c \
    backends/cpu/program.c backends/cpu/tables.c backends/cpu/topology.c \
    backends/cpu/bslz4.c \
    backends/cpu/azint.c backends/cpu/azint_launch.c backends/cpu/azint_launch.h backends/cpu/azint_bits.h \
    backends/cpu/azint_cases.h backends/cpu/azint_many.h \
    backends/cpu/azint_tile8.h backends/cpu/azint_vnni.h backends/cpu/azint_float.c backends/cpu/azint_front.c \
    backends/cpu/azint_portable.c backends/cpu/cpu_azint.h backends/cpu/azint_slow.c backends/cpu/azint_strip.c \
    backends/cpu/azint_tables.c \
    backends/cpu/azint_filter.c backends/cpu/azint_filter_loops.h backends/cpu/azint_filter_portable.c \
    backends/cpu/azint_spread.c backends/cpu/azint_filter_sums.c backends/cpu/azint_filter_tables.c backends/cpu/cpu_filter.h
libcpu_la_SOURCES += backends/cpu/nufft.c backends/cpu/nufft_sort.c backends/cpu/nufft_cut.c backends/cpu/nufft_fft.c \
    backends/cpu/cpu_nufft.h

# Floating-point sums with a tolerance, where a * b + c may be one operation: not for what must have the same bits.
noinst_LTLIBRARIES += libcpu_nufft.la
libcpu_la_LIBADD += libcpu_nufft.la
libcpu_nufft_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_la_CFLAGS = $(KERNEL_CFLAGS) $(HCY_CONTRACT)
libcpu_nufft_la_SOURCES = backends/cpu/nufft_portable.c backends/cpu/nufft_variant.h backends/cpu/nufft_lanes.h \
    backends/cpu/nufft_rows.h
cpu_entry = backends/cpu/backend.c
halcyoninclude_HEADERS += backends/cpu/halcyon/cpu.h

if X86_SIMD
cpu_defines = -DHCY_CPU_X86=1
noinst_LTLIBRARIES += libcpu_block_avx2.la libcpu_block_avx512.la libcpu_avx2.la libcpu_avx512.la
libcpu_block_la_LIBADD += libcpu_block_avx2.la libcpu_block_avx512.la
libcpu_la_LIBADD += libcpu_avx2.la libcpu_avx512.la
libcpu_block_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_avx2_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_block_avx2_la_SOURCES = backends/cpu/bslz4_avx2.c
libcpu_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_avx2_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_avx2_la_SOURCES = backends/cpu/azint_avx2.c backends/cpu/azint_filter_avx2.c
noinst_LTLIBRARIES += libcpu_nufft_avx2.la libcpu_nufft_avx512.la
libcpu_nufft_la_LIBADD = libcpu_nufft_avx2.la libcpu_nufft_avx512.la
libcpu_nufft_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_avx2_la_CFLAGS = $(libcpu_nufft_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_nufft_avx2_la_SOURCES = backends/cpu/nufft_avx2.c
libcpu_nufft_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_avx512_la_CFLAGS = $(libcpu_nufft_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_nufft_avx512_la_SOURCES = backends/cpu/nufft_avx512.c
libcpu_block_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_avx512_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_block_avx512_la_SOURCES = backends/cpu/bslz4_avx512.c
libcpu_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_avx512_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_avx512_la_SOURCES = backends/cpu/azint_avx512.c backends/cpu/azint_few_avx512.c \
    backends/cpu/azint_filter_avx512.c
else
if ARM64_SIMD
cpu_defines = -DHCY_CPU_ARM64=1
noinst_LTLIBRARIES += libcpu_block_neon.la libcpu_neon.la libcpu_dotprod.la
libcpu_block_la_LIBADD += libcpu_block_neon.la
libcpu_la_LIBADD += libcpu_neon.la libcpu_dotprod.la
libcpu_block_neon_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_neon_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_block_neon_la_SOURCES = backends/cpu/bslz4_neon.c
libcpu_neon_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_neon_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_neon_la_SOURCES = backends/cpu/azint_neon.c
libcpu_dotprod_la_CPPFLAGS = $(libcpu_la_CPPFLAGS) -DHCY_CPU_DOTPROD
libcpu_dotprod_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_DOTPROD_CFLAGS)
libcpu_dotprod_la_SOURCES = backends/cpu/azint_neon.c
else
cpu_defines =
endif
endif

libcpu_builtin_la_CPPFLAGS = $(libcpu_la_CPPFLAGS) -DHCY_BACKEND_STATIC
libcpu_builtin_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_builtin_la_SOURCES = $(cpu_entry)
libcpu_builtin_la_LIBADD = libcpu.la

builtin_libs += libcpu_builtin.la
builtin_names += cpu
if !STATIC_BACKENDS
pkglib_LTLIBRARIES += hcy_cpu.la
hcy_cpu_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
hcy_cpu_la_CFLAGS = $(libcpu_la_CFLAGS)
hcy_cpu_la_LDFLAGS = $(module_ldflags)
hcy_cpu_la_LIBADD = libcpu.la libhalcyon.la
hcy_cpu_la_SOURCES = $(cpu_entry) src/families.c
endif
