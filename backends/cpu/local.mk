# The CPU backend.  libcpu.la is common to the module and to the built-in form; backend.c, with the entry point, is
# compiled for each.  SIMD variants have flags of their own: no other file may be compiled with them.  Families add their
# files and the names of their tables of kernels in their own folders.
noinst_LTLIBRARIES += libcpu.la libcpu_builtin.la
libcpu_la_CPPFLAGS = $(AM_CPPFLAGS) $(cpu_defines) -I$(srcdir)/backends/cpu -I$(srcdir)/backends/cpu/fft
libcpu_la_CFLAGS = $(KERNEL_CFLAGS) $(HCY_NO_CONTRACT) $(HCY_QUIET_MATH)
libcpu_la_LIBADD = $(FFTW3_LIBS)
libcpu_la_SOURCES = backends/cpu/caller.c backends/cpu/cpu_device.h backends/cpu/itt.c backends/cpu/memory.c \
    backends/cpu/pages.c backends/cpu/pool.c backends/cpu/program.c backends/cpu/share.c backends/cpu/tables.c \
    backends/cpu/topology.c
cpu_entry = backends/cpu/backend.c
halcyoninclude_HEADERS += backends/cpu/halcyon/cpu.h

if X86_SIMD
cpu_defines = -DHCY_CPU_X86=1
noinst_LTLIBRARIES += libcpu_avx2.la libcpu_avx512.la
libcpu_la_LIBADD += libcpu_avx2.la libcpu_avx512.la
libcpu_avx2_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_avx2_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libcpu_avx2_la_SOURCES =
libcpu_avx512_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_avx512_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_AVX512_CFLAGS)
libcpu_avx512_la_SOURCES =
else
if ARM64_SIMD
cpu_defines = -DHCY_CPU_ARM64=1
noinst_LTLIBRARIES += libcpu_neon.la libcpu_dotprod.la
libcpu_la_LIBADD += libcpu_neon.la libcpu_dotprod.la
libcpu_neon_la_CPPFLAGS = $(libcpu_la_CPPFLAGS)
libcpu_neon_la_CFLAGS = $(libcpu_la_CFLAGS)
libcpu_neon_la_SOURCES =
libcpu_dotprod_la_CPPFLAGS = $(libcpu_la_CPPFLAGS) -DHCY_CPU_DOTPROD
libcpu_dotprod_la_CFLAGS = $(libcpu_la_CFLAGS) $(HCY_DOTPROD_CFLAGS)
libcpu_dotprod_la_SOURCES =
else
cpu_defines =
endif
endif

# The tables of kernels, from the list of their names.
cpu_kernel_tables =
nodist_libcpu_la_SOURCES = backends/cpu/cpu_kernel_tables.c
backends/cpu/cpu_kernel_tables.c: Makefile
	$(AM_V_GEN)$(MKDIR_P) backends/cpu && $(SHELL) $(srcdir)/build-aux/kernel-tables cpu_priv.h 'struct cpu_kernel' cpu \
	    $(cpu_kernel_tables) > $@.tmp && mv $@.tmp $@
CLEANFILES += backends/cpu/cpu_kernel_tables.c

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
