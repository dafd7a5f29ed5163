# Non-uniform FFTs on GPUs.
gpu_kernel_tables += nufft
libgpu_la_SOURCES += backends/gpu/nufft/gpu_nufft.c backends/gpu/nufft/gpu_nufft_shape.c backends/gpu/nufft/gpu_nufft_lines.c backends/gpu/nufft/gpu_nufft_whole.c \
    backends/gpu/nufft/gpu_nufft_gram.c backends/gpu/nufft/gpu_nufft_cut.c backends/gpu/nufft/gpu_nufft_axes.c backends/gpu/nufft/gpu_nufft_registers.c
gpu_cl += families/nufft/nufft_format.h families/nufft/nufft_bits.h families/fft_short.h \
    backends/gpu/nufft/point.cl backends/gpu/nufft/sort.cl backends/gpu/nufft/scan.cl backends/gpu/nufft/group_sums.cl \
    backends/gpu/nufft/settle.cl backends/gpu/nufft/window.cl backends/gpu/nufft/spread_interp.cl \
    backends/gpu/nufft/pencil.cl backends/gpu/nufft/pencil_get.cl backends/gpu/nufft/cut.cl backends/gpu/nufft/shares.cl backends/gpu/nufft/same.cl backends/gpu/nufft/slopes.cl \
    backends/gpu/nufft/tiles.cl backends/gpu/nufft/lines.cl backends/gpu/nufft/whole.cl backends/gpu/nufft/gram.cl \
    backends/gpu/nufft/registers.cl backends/gpu/nufft/axes.cl
gpu_texts += nufft_sort:nufft/sort.cl nufft_settle:nufft/settle.cl nufft_scan:nufft/scan.cl nufft:nufft/spread_interp.cl \
    nufft_pencil:nufft/pencil.cl nufft_cut:nufft/cut.cl nufft_same:nufft/same.cl nufft_slopes:nufft/slopes.cl \
    nufft_tiles:nufft/tiles.cl nufft_lines:nufft/lines.cl nufft_gram:nufft/gram.cl nufft_axes:nufft/axes.cl
