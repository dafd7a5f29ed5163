# Kernel texts shared by the GPU backends, turned into C, and the host side that launches them.
gpu_formats = families/bslz4/bslz4_format.h families/azint/azint_format.h backends/gpu/gpu_format.h
gpu_common = backends/gpu/dialect.h $(gpu_formats) backends/gpu/bslz4/blocks.cl
gpu_decode = $(gpu_common) backends/gpu/bslz4/decode.cl backends/gpu/bslz4/rest.cl backends/gpu/bslz4/decode_rest.cl
gpu_fast = backends/gpu/bslz4/fast.cl backends/gpu/bslz4/parse_lanes.cl
gpu_decode_fast = $(gpu_decode) $(gpu_fast) backends/gpu/bslz4/decode_fast.cl
gpu_azint = $(gpu_common) backends/gpu/azint/sums.cl backends/gpu/azint/sums_alone.cl
gpu_azint_fast = $(gpu_azint) backends/gpu/azint/sums_rest.cl backends/gpu/bslz4/rest.cl backends/gpu/azint/sums_rest_kernel.cl \
    $(gpu_fast) backends/gpu/azint/sums_fast.cl backends/gpu/azint/sums_one.cl
gpu_nufft_common = backends/gpu/dialect.h families/nufft/nufft_format.h backends/gpu/gpu_format.h
gpu_nufft_sort = $(gpu_nufft_common) backends/gpu/nufft/point.cl backends/gpu/nufft/sort.cl
gpu_nufft_settle = $(gpu_nufft_sort) backends/gpu/nufft/group_sums.cl backends/gpu/nufft/settle.cl
gpu_nufft_scan = $(gpu_nufft_common) backends/gpu/nufft/group_sums.cl backends/gpu/nufft/scan.cl
gpu_nufft_window = $(gpu_nufft_common) backends/gpu/nufft/point.cl backends/gpu/nufft/window.cl
gpu_nufft = $(gpu_nufft_window) backends/gpu/nufft/spread_interp.cl
gpu_nufft_pencil = $(gpu_nufft_window) backends/gpu/nufft/pencil.cl
gpu_nufft_cut = $(gpu_nufft_common) backends/gpu/nufft/cut.cl
EXTRA_DIST += backends/gpu/nufft/point.cl backends/gpu/nufft/sort.cl backends/gpu/nufft/scan.cl \
    backends/gpu/nufft/group_sums.cl backends/gpu/nufft/settle.cl \
    backends/gpu/nufft/window.cl backends/gpu/nufft/spread_interp.cl backends/gpu/nufft/pencil.cl backends/gpu/nufft/cut.cl
gpu_filter = $(gpu_common) backends/gpu/azint/sums.cl backends/gpu/azint/wide.cl families/azint/azint_wide.h \
    backends/gpu/azint/filter.cl
EXTRA_DIST += backends/gpu/dialect.h backends/gpu/text.sh backends/gpu/bslz4/blocks.cl backends/gpu/bslz4/decode.cl backends/gpu/bslz4/rest.cl \
    backends/gpu/bslz4/decode_rest.cl backends/gpu/bslz4/fast.cl backends/gpu/bslz4/parse_lanes.cl backends/gpu/bslz4/decode_fast.cl backends/gpu/azint/sums.cl \
    backends/gpu/azint/sums_alone.cl \
    backends/gpu/azint/sums_rest.cl backends/gpu/azint/sums_rest_kernel.cl backends/gpu/azint/sums_fast.cl \
    backends/gpu/azint/sums_one.cl \
    backends/gpu/azint/wide.cl backends/gpu/azint/filter.cl

backends/gpu/gpu_texts.c: backends/gpu/text.sh $(gpu_decode_fast) $(gpu_azint_fast) $(gpu_filter) \
    $(gpu_nufft_sort) $(gpu_nufft_settle) $(gpu_nufft_scan) $(gpu_nufft) $(gpu_nufft_pencil) $(gpu_nufft_cut)
	$(AM_V_GEN)$(MKDIR_P) backends/gpu && cd $(srcdir) && { \
	    $(SHELL) backends/gpu/text.sh gpu_text_decode $(gpu_decode) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_decode_fast $(gpu_decode_fast) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_azint $(gpu_azint) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_azint_fast $(gpu_azint_fast) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_filter $(gpu_filter) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_nufft_sort $(gpu_nufft_sort) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_nufft_settle $(gpu_nufft_settle) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_nufft_scan $(gpu_nufft_scan) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_nufft $(gpu_nufft) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_nufft_pencil $(gpu_nufft_pencil) && \
	    $(SHELL) backends/gpu/text.sh gpu_text_nufft_cut $(gpu_nufft_cut); \
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
