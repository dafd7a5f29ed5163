# Sums of neighbours on the CPU: the same loops in each variant.
cpu_kernel_tables += stencil
libcpu_la_SOURCES += backends/cpu/stencil/cpu_stencil.c backends/cpu/stencil/cpu_faces.c backends/cpu/stencil/cpu_stencil.h \
    backends/cpu/stencil/stencil_loops.h backends/cpu/stencil/stencil_portable.c

if X86_SIMD
libcpu_avx2_la_SOURCES += backends/cpu/stencil/stencil_avx2.c
libcpu_avx512_la_SOURCES += backends/cpu/stencil/stencil_avx512.c
endif
