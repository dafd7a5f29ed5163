# Sums of neighbours on GPUs.
gpu_kernel_tables += stencil
libgpu_la_SOURCES += backends/gpu/stencil/gpu_stencil.c
gpu_cl += families/stencil/stencil_format.h families/stencil/stencil_rows.h backends/gpu/stencil/coefficient.h \
    backends/gpu/stencil/stencil.cl backends/gpu/stencil/faces.cl
gpu_texts += stencil:stencil/stencil.cl faces:stencil/faces.cl
