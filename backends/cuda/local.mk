# The CUDA backend: no CUDA is needed to build it.
cuda_sources = backends/cuda/api.c backends/cuda/copy.c backends/cuda/cufft.c backends/cuda/cuda_api.h \
    backends/cuda/cuda_priv.h backends/cuda/device.c backends/cuda/embedded.c backends/cuda/embedded.h backends/cuda/event.c backends/cuda/fft.c backends/cuda/kernel.c \
    backends/cuda/memory.c backends/cuda/nvml.c backends/cuda/nvtx.c backends/cuda/program.c backends/cuda/queue.c backends/cuda/registered.c backends/cuda/share.c backends/cuda/staging.c
EXTRA_DIST += backends/cuda/cuda_syms.def backends/cuda/cufft_syms.def backends/cuda/nvml_syms.def backends/cuda/nvrtc_syms.def
halcyoninclude_HEADERS += backends/cuda/halcyon/cuda.h
noinst_LTLIBRARIES += libcuda_common.la libcuda_builtin.la
libcuda_common_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -I$(srcdir)/backends/cuda
libcuda_common_la_SOURCES = $(cuda_sources)
libcuda_common_la_LIBADD = $(LZ4_LIBS)

# PTX for machines without NVRTC: made by a program of the build, which tests/embedded.t runs in any case.
build_aux_embed_ptx_CPPFLAGS = $(libcuda_common_la_CPPFLAGS)
build_aux_embed_ptx_SOURCES = build-aux/embed_ptx.c backends/cuda/embedded.c backends/cuda/api.c backends/cuda/no_ptx.c \
    backends/no_static.c
build_aux_embed_ptx_LDADD = libgpu.la libcore.la $(LZ4_LIBS)
if EMBEDDED_PTX
noinst_PROGRAMS += build-aux/embed_ptx
nodist_libcuda_common_la_SOURCES = backends/cuda/made_ptx.c
backends/cuda/made_ptx.c: build-aux/embed_ptx$(EXEEXT)
	$(AM_V_GEN)build-aux/embed_ptx$(EXEEXT) > $@.tmp && mv $@.tmp $@
CLEANFILES += backends/cuda/made_ptx.c backends/cuda/made_ptx.c.tmp
else
check_PROGRAMS += build-aux/embed_ptx
libcuda_common_la_SOURCES += backends/cuda/no_ptx.c
endif

builtin_libs += libcuda_builtin.la
builtin_names += cuda
libcuda_builtin_la_CPPFLAGS = $(libcuda_common_la_CPPFLAGS) -DHCY_BACKEND_STATIC
libcuda_builtin_la_SOURCES = backends/cuda/backend.c
libcuda_builtin_la_LIBADD = libcuda_common.la
if !STATIC_BACKENDS
pkglib_LTLIBRARIES += hcy_cuda.la
hcy_cuda_la_CPPFLAGS = $(libcuda_common_la_CPPFLAGS)
hcy_cuda_la_LDFLAGS = $(module_ldflags)
hcy_cuda_la_LIBADD = libcuda_common.la libgpu.la libhalcyon.la
hcy_cuda_la_SOURCES = backends/cuda/backend.c families/families.c
endif
