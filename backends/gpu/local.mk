# Kernel texts shared by the GPU backends, turned into C, and the host side that launches them.
# gpu_text_NAME is what the files named here include, one after the other.
gpu_cl = backends/gpu/bslz4/blocks.cl backends/gpu/bslz4/decode.cl backends/gpu/bslz4/decode_rest.cl \
    backends/gpu/bslz4/decode_fast.cl backends/gpu/bslz4/fast.cl backends/gpu/bslz4/parse_lanes.cl backends/gpu/bslz4/rest.cl \
    backends/gpu/azint/sums.cl backends/gpu/azint/sums_alone.cl backends/gpu/azint/sums_rest.cl \
    backends/gpu/azint/sums_rest_kernel.cl backends/gpu/azint/sums_fast.cl backends/gpu/azint/sums_one.cl \
    backends/gpu/azint/wide.cl backends/gpu/azint/filter.cl \
    backends/gpu/nufft/point.cl backends/gpu/nufft/sort.cl backends/gpu/nufft/scan.cl backends/gpu/nufft/group_sums.cl \
    backends/gpu/nufft/settle.cl backends/gpu/nufft/window.cl backends/gpu/nufft/spread_interp.cl \
    backends/gpu/nufft/pencil.cl backends/gpu/nufft/cut.cl
EXTRA_DIST += backends/gpu/dialect.h backends/gpu/text.sh $(gpu_cl)

backends/gpu/gpu_texts.c: backends/gpu/text.sh backends/gpu/dialect.h backends/gpu/gpu_format.h $(gpu_cl) \
    families/bslz4/bslz4_format.h families/azint/azint_format.h families/azint/azint_runs.h families/azint/azint_wide.h families/nufft/nufft_format.h
	$(AM_V_GEN)$(MKDIR_P) backends/gpu && cd $(srcdir) && text() { \
	    name=$$1; shift; $(SHELL) backends/gpu/text.sh gpu_text_$$name "$$@"; } && at=backends/gpu && { \
	    text decode $$at/bslz4/decode_rest.cl && \
	    text decode_fast $$at/bslz4/decode_fast.cl && \
	    text azint $$at/azint/sums_alone.cl && \
	    text azint_fast $$at/azint/sums_alone.cl $$at/azint/sums_one.cl && \
	    text filter $$at/azint/filter.cl && \
	    text nufft_sort $$at/nufft/sort.cl && \
	    text nufft_settle $$at/nufft/settle.cl && \
	    text nufft_scan $$at/nufft/scan.cl && \
	    text nufft $$at/nufft/spread_interp.cl && \
	    text nufft_pencil $$at/nufft/pencil.cl && \
	    text nufft_cut $$at/nufft/cut.cl; \
	    } > $(abs_builddir)/$@.tmp && mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@
CLEANFILES += backends/gpu/gpu_texts.c

# Linked in once, beside the backends that use it.
noinst_LTLIBRARIES += libgpu.la
builtin_libs += libgpu.la
libgpu_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu
libgpu_la_SOURCES = backends/gpu/gpu.h backends/gpu/gpu_format.h backends/gpu/gpu_priv.h backends/gpu/gpu_kernels.c \
    backends/gpu/gpu_tuning.c backends/gpu/gpu_tuning.h \
    backends/gpu/gpu_cache.c backends/gpu/gpu_cache.h backends/gpu/bslz4/gpu_bslz4.c backends/gpu/azint/gpu_azint.c backends/gpu/azint/gpu_filter.c \
    backends/gpu/azint/gpu_runs.h backends/gpu/azint/gpu_prepare.c backends/gpu/azint/gpu_filter_prepare.c \
    backends/gpu/nufft/gpu_nufft.c backends/gpu/nufft/gpu_nufft_shape.c
nodist_libgpu_la_SOURCES = backends/gpu/gpu_texts.c
