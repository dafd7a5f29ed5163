# The CPU's Fourier transforms: FFTW's, and our own, the same loops in each variant.
libcpu_la_SOURCES += backends/cpu/fft/fft.c backends/cpu/fft/fftw.c backends/cpu/fft/own_fft.c backends/cpu/fft/own_grid.c \
    backends/cpu/fft/own_portable.c backends/cpu/fft/own_pass.c backends/cpu/fft/own_pass.h \
    backends/cpu/fft/own_real.h backends/cpu/fft/cpu_fft.h backends/cpu/fft/own_fft.h backends/cpu/fft/own_loops.h \
    backends/cpu/fft/own_variant.h backends/cpu/fft/own_vector.h backends/cpu/fft/own_row.h backends/cpu/fft/own_lead.h

if X86_SIMD
libcpu_avx2_la_SOURCES += backends/cpu/fft/own_avx2.c
libcpu_avx512_la_SOURCES += backends/cpu/fft/own_avx512.c
endif
