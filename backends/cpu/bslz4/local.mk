# libcpu_block.la, single blocks of detector data, is what the HDF5 filters link too.
cpu_kernel_tables += bslz4
libcpu_la_SOURCES += backends/cpu/bslz4/decode_images.c
noinst_LTLIBRARIES += libcpu_block.la
libcpu_la_LIBADD += libcpu_block.la
libcpu_block_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_block_la_LIBADD = $(LZ4_LIBS)
libcpu_block_la_SOURCES = backends/cpu/cpu_priv.h backends/cpu/simd.c backends/cpu/bslz4/block.h \
    backends/cpu/bslz4/block.c backends/cpu/bslz4/copy16.h backends/cpu/bslz4/lz4_planes.h backends/cpu/bslz4/plane_pixels.h \
    backends/cpu/bslz4/block_portable.c

if X86_SIMD
noinst_LTLIBRARIES += libcpu_block_avx2.la libcpu_block_avx512.la
libcpu_block_la_LIBADD += libcpu_block_avx2.la libcpu_block_avx512.la
libcpu_block_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_avx2_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_block_avx2_la_SOURCES = backends/cpu/bslz4/block_avx2.c
libcpu_block_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_avx512_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_block_avx512_la_SOURCES = backends/cpu/bslz4/block_avx512.c
else
if ARM64_SIMD
noinst_LTLIBRARIES += libcpu_block_neon.la
libcpu_block_la_LIBADD += libcpu_block_neon.la
libcpu_block_neon_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_block_neon_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_block_neon_la_SOURCES = backends/cpu/bslz4/block_neon.c
endif
endif
