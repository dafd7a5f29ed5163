# The CPU backend.  cpu_sources are common to the module and to the built-in form; backend.c, with the entry point,
# is compiled for each.  SIMD variants have flags of their own: no other file may be compiled with them.
# libcpu_block.la, single blocks of detector data, is what the HDF5 filters link too.
noinst_LTLIBRARIES += libcpu_block.la libcpu.la libcpu_builtin.la
libcpu_block_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_block_la_LIBADD = $(LZ4_LIBS)
libcpu_block_la_SOURCES = backends/cpu/cpu_priv.h backends/cpu/simd.c backends/cpu/bslz4/block.h \
    backends/cpu/bslz4/block.c backends/cpu/bslz4/copy16.h backends/cpu/bslz4/lz4_planes.h backends/cpu/bslz4/plane_pixels.h \
    backends/cpu/bslz4/block_portable.c
libcpu_la_CPPFLAGS = $(AM_CPPFLAGS) $(cpu_defines) -I$(srcdir)/backends/cpu
libcpu_la_CFLAGS = $(KERNEL_CFLAGS) $(HCY_NO_CONTRACT)
libcpu_la_LIBADD = libcpu_block.la $(FFTW3_LIBS)
libcpu_la_SOURCES = backends/cpu/fft.c backends/cpu/pages.c backends/cpu/pool.c \
    backends/cpu/program.c backends/cpu/tables.c backends/cpu/topology.c \
    backends/cpu/bslz4/decode_images.c \
    backends/cpu/azint/pass.c backends/cpu/azint/azint_launch.c backends/cpu/azint/azint_launch.h backends/cpu/azint/planes.h \
    backends/cpu/azint/tile_cases.h backends/cpu/azint/tile_many.h \
    backends/cpu/azint/tile8.h backends/cpu/azint/tile_vnni.h backends/cpu/azint/float_pixels.c backends/cpu/azint/digits.c \
    backends/cpu/azint/tile_portable.c backends/cpu/azint/cpu_azint.h backends/cpu/azint/outliers.c backends/cpu/azint/strip.c \
    backends/cpu/azint/entries.c \
    backends/cpu/azint/prepare.c \
    backends/cpu/azint/filter.c backends/cpu/azint/filter_loops.h backends/cpu/azint/filter_portable.c \
    backends/cpu/azint/deviation.c backends/cpu/azint/filter_sums.c backends/cpu/azint/filter_prepare.c backends/cpu/azint/cpu_filter.h
libcpu_la_SOURCES += backends/cpu/nufft/spread_interp.c backends/cpu/nufft/sort.c backends/cpu/nufft/cut.c backends/cpu/nufft/cut_fft.c \
    backends/cpu/nufft/cpu_nufft.h

# Floating-point sums with a tolerance, where a * b + c may be one operation: not for what must have the same bits.
noinst_LTLIBRARIES += libcpu_nufft.la
libcpu_la_LIBADD += libcpu_nufft.la
libcpu_nufft_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_la_CFLAGS = $(KERNEL_CFLAGS) $(HCY_CONTRACT)
libcpu_nufft_la_SOURCES = backends/cpu/nufft/points_portable.c backends/cpu/nufft/variant.h backends/cpu/nufft/lane_lists.h \
    backends/cpu/nufft/rows.h
cpu_entry = backends/cpu/backend.c
halcyoninclude_HEADERS += backends/cpu/halcyon/cpu.h

if X86_SIMD
cpu_defines = -DHCY_CPU_X86=1
noinst_LTLIBRARIES += libcpu_block_avx2.la libcpu_block_avx512.la libcpu_avx2.la libcpu_avx512.la
libcpu_block_la_LIBADD += libcpu_block_avx2.la libcpu_block_avx512.la
libcpu_la_LIBADD += libcpu_avx2.la libcpu_avx512.la
libcpu_block_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_avx2_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_block_avx2_la_SOURCES = backends/cpu/bslz4/block_avx2.c
libcpu_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_avx2_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_avx2_la_SOURCES = backends/cpu/azint/tile_avx2.c backends/cpu/azint/filter_avx2.c
noinst_LTLIBRARIES += libcpu_nufft_avx2.la libcpu_nufft_avx512.la
libcpu_nufft_la_LIBADD = libcpu_nufft_avx2.la libcpu_nufft_avx512.la
libcpu_nufft_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_avx2_la_CFLAGS = $(libcpu_nufft_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_nufft_avx2_la_SOURCES = backends/cpu/nufft/points_avx2.c
libcpu_nufft_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_nufft_avx512_la_CFLAGS = $(libcpu_nufft_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_nufft_avx512_la_SOURCES = backends/cpu/nufft/points_avx512.c
libcpu_block_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_avx512_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_block_avx512_la_SOURCES = backends/cpu/bslz4/block_avx512.c
libcpu_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_avx512_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_avx512_la_SOURCES = backends/cpu/azint/tile_avx512.c backends/cpu/azint/tile8_avx512.c \
    backends/cpu/azint/filter_avx512.c
else
if ARM64_SIMD
cpu_defines = -DHCY_CPU_ARM64=1
noinst_LTLIBRARIES += libcpu_block_neon.la libcpu_neon.la libcpu_dotprod.la
libcpu_block_la_LIBADD += libcpu_block_neon.la
libcpu_la_LIBADD += libcpu_neon.la libcpu_dotprod.la
libcpu_block_neon_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_neon_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_block_neon_la_SOURCES = backends/cpu/bslz4/block_neon.c
libcpu_neon_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_neon_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_neon_la_SOURCES = backends/cpu/azint/tile_neon.c
libcpu_dotprod_la_CPPFLAGS = $(libcpu_la_CPPFLAGS) -DHCY_CPU_DOTPROD
libcpu_dotprod_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_DOTPROD_CFLAGS)
libcpu_dotprod_la_SOURCES = backends/cpu/azint/tile_neon.c
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
hcy_cpu_la_SOURCES = $(cpu_entry) families/families.c
endif
