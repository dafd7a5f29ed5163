# Azimuthal integration on GPUs; filters, regions and picking are tables of kernels of their own.
gpu_kernel_tables += azint filter regions pick
libgpu_la_SOURCES += backends/gpu/azint/gpu_azint.c backends/gpu/azint/gpu_filter.c backends/gpu/azint/gpu_regions.c backends/gpu/azint/gpu_pick.c backends/gpu/azint/gpu_runs.h \
    backends/gpu/azint/gpu_prepare.c backends/gpu/azint/gpu_filter_prepare.c
gpu_cl += families/azint/azint_format.h families/azint/azint_runs.h families/azint/azint_wide.h families/azint/azint_pick.h \
    backends/gpu/azint/sums.cl backends/gpu/azint/sums_alone.cl backends/gpu/azint/sums_rest.cl \
    backends/gpu/azint/sums_rest_kernel.cl backends/gpu/azint/sums_fast.cl backends/gpu/azint/sums_one.cl \
    backends/gpu/azint/wide.cl backends/gpu/azint/filter.cl backends/gpu/azint/regions.cl \
    backends/gpu/azint/pick.cl
gpu_texts += azint:azint/sums_alone.cl azint_fast:azint/sums_alone.cl:azint/sums_one.cl filter:azint/filter.cl regions:azint/regions.cl pick:azint/pick.cl
