# The XRT backend: no XRT is needed to build it.
EXTRA_DIST += backends/xrt/xrt_syms.def backends/xrt/README.md
xrt_sources = backends/xrt/card.c backends/xrt/card.h backends/xrt/device.c backends/xrt/kernel.c backends/xrt/list.c \
    backends/xrt/memory.c backends/xrt/program.c backends/xrt/queue.c backends/xrt/run.c backends/xrt/arguments.c \
    backends/xrt/xclbin.c backends/xrt/xclbin.h backends/xrt/xclbin_format.h backends/xrt/xrt_priv.h backends/xrt/xrt_run.h
noinst_LTLIBRARIES += libxrt_common.la libxrt_builtin.la
libxrt_common_la_SOURCES = $(xrt_sources)

builtin_libs += libxrt_builtin.la
builtin_names += xrt
libxrt_builtin_la_CPPFLAGS = $(AM_CPPFLAGS) -DHCY_BACKEND_STATIC
libxrt_builtin_la_SOURCES = backends/xrt/backend.c
libxrt_builtin_la_LIBADD = libxrt_common.la libhls_args.la libhls_plan.la
if !STATIC_BACKENDS
pkglib_LTLIBRARIES += hcy_xrt.la
hcy_xrt_la_LDFLAGS = $(module_ldflags)
hcy_xrt_la_LIBADD = libxrt_common.la libhls_args.la libhls_plan.la libhalcyon.la
hcy_xrt_la_SOURCES = backends/xrt/backend.c families/families.c
endif
