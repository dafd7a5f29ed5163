# Products of matrices on GPUs.
gpu_kernel_tables += matrix
libgpu_la_SOURCES += backends/gpu/matrix/gpu_matrix.c
gpu_cl += families/matrix/matrix_format.h backends/gpu/matrix/matrix.cl
gpu_texts += matrix:matrix/matrix.cl
