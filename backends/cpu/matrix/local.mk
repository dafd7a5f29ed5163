# Products of matrices on the CPU: the same loops in each variant.
cpu_kernel_tables += matrix
libcpu_la_SOURCES += backends/cpu/matrix/cpu_matrix.c backends/cpu/matrix/cpu_matrix.h \
    backends/cpu/matrix/cpu_twice.c backends/cpu/matrix/matrix_loops.h backends/cpu/matrix/matrix_numbers.h \
    backends/cpu/matrix/twice_numbers.h backends/cpu/matrix/matrix_portable.c

if X86_SIMD
libcpu_avx2_la_SOURCES += backends/cpu/matrix/matrix_avx2.c
libcpu_avx512_la_SOURCES += backends/cpu/matrix/matrix_avx512.c
endif
