# Kernel texts shared by the GPU backends, turned into C, and the host side that launches them.  Families add theirs in
# their own folders: files of kernel text (gpu_cl), texts NAME:FILE... made of what these files include, one after the
# other, for C's gpu_text_NAME (gpu_texts), and the names of their tables of kernels (gpu_kernel_tables).
gpu_cl =
gpu_texts =
gpu_kernel_tables =
EXTRA_DIST += backends/gpu/dialect.h backends/gpu/text.sh $(gpu_cl)

backends/gpu/gpu_texts.c: backends/gpu/text.sh backends/gpu/dialect.h backends/gpu/gpu_format.h $(gpu_cl) Makefile
	$(AM_V_GEN)$(MKDIR_P) backends/gpu && (cd $(srcdir) && for text in $(gpu_texts); do \
	    $(SHELL) backends/gpu/text.sh gpu_text_`echo $$text | sed 's#:# backends/gpu/#g'` || exit 1; done) \
	    > $@.tmp && mv $@.tmp $@
backends/gpu/gpu_kernel_tables.c: Makefile
	$(AM_V_GEN)$(MKDIR_P) backends/gpu && $(SHELL) $(srcdir)/build-aux/kernel-tables gpu_priv.h 'struct gpu_kernel_kind' \
	    gpu $(gpu_kernel_tables) > $@.tmp && mv $@.tmp $@
CLEANFILES += backends/gpu/gpu_texts.c backends/gpu/gpu_kernel_tables.c

# Linked in once, beside the backends that use it.
noinst_LTLIBRARIES += libgpu.la
builtin_libs += libgpu.la
libgpu_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu
libgpu_la_SOURCES = backends/gpu/gpu.h backends/gpu/gpu_format.h backends/gpu/gpu_priv.h backends/gpu/gpu_kernels.c \
    backends/gpu/gpu_tuning.c backends/gpu/gpu_tuning.h \
    backends/gpu/gpu_cache.c backends/gpu/gpu_cache.h
nodist_libgpu_la_SOURCES = backends/gpu/gpu_texts.c backends/gpu/gpu_kernel_tables.c
