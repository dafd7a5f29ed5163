# Our own Fourier transforms on GPUs.
gpu_kernel_tables += fft
libgpu_la_SOURCES += backends/gpu/fft/gpu_fft.c backends/gpu/fft/gpu_fft.h
gpu_cl += families/fft_real.h backends/gpu/fft/fft.cl
gpu_texts += fft:fft/fft.cl
