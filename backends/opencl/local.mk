# The OpenCL backend: no OpenCL is needed to build it.
EXTRA_DIST += backends/opencl/cl_syms.def backends/opencl/README.md
halcyoninclude_HEADERS += backends/opencl/halcyon/opencl.h
noinst_LTLIBRARIES += libopencl_common.la libopencl_builtin.la
libopencl_common_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu
libopencl_common_la_SOURCES = backends/opencl/api.c backends/opencl/cl_api.h backends/opencl/cl_priv.h \
    backends/opencl/device.c backends/opencl/fft.c backends/opencl/kernel.c backends/opencl/list.c backends/opencl/memory.c \
    backends/opencl/program.c backends/opencl/queue.c backends/opencl/quirks.c
EXTRA_DIST += backends/opencl/vkfft.c backends/opencl/vkfft/CL/cl.h
if HAVE_VKFFT
libopencl_common_la_CPPFLAGS += -I$(srcdir)/backends/opencl -I$(srcdir)/backends/opencl/vkfft
libopencl_common_la_SOURCES += backends/opencl/vkfft.c
# Behind the user's own -O, which comes last elsewhere.  (Through a variable, or Automake would leave out its own rule.)
vkfft_object = backends/opencl/libopencl_common_la-vkfft.lo
$(vkfft_object): override CFLAGS += $(HCY_VKFFT_CFLAGS)
endif

builtin_libs += libopencl_builtin.la
builtin_names += opencl
libopencl_builtin_la_CPPFLAGS = $(libopencl_common_la_CPPFLAGS) -DHCY_BACKEND_STATIC
libopencl_builtin_la_SOURCES = backends/opencl/backend.c
libopencl_builtin_la_LIBADD = libopencl_common.la
if !STATIC_BACKENDS
pkglib_LTLIBRARIES += hcy_opencl.la
hcy_opencl_la_CPPFLAGS = $(libopencl_common_la_CPPFLAGS)
hcy_opencl_la_LDFLAGS = $(module_ldflags)
hcy_opencl_la_LIBADD = libopencl_common.la libgpu.la libhalcyon.la
hcy_opencl_la_SOURCES = backends/opencl/backend.c families/families.c
endif
