# Examples, which are tests too (tests/examples.t; first_curve.c is the one in the README).
check_PROGRAMS += examples/first_curve examples/detector_host examples/receiver examples/grid_image examples/processes \
    examples/double_array examples/array_slices examples/array_threads examples/array_scatter examples/array_share examples/recon_cg \
    examples/own_kernels examples/own_program examples/program_parts examples/array_formula examples/host_memory examples/order examples/device_memory examples/noise_spectrum examples/sparse_cg examples/dist_vstack examples/dist_scatter examples/dist_sense \
    examples/dist_poststack examples/dist_migration examples/dist_deconvolution
examples_own_program_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cpu -I$(srcdir)/backends/cuda -I$(srcdir)/backends/opencl
examples_DATA = examples/first_curve.c examples/detector_host.c examples/receiver.c examples/grid_image.c examples/processes.c \
    examples/double_array.c examples/array_slices.c examples/array_threads.c examples/array_scatter.c \
    examples/array_share.c \
    examples/recon_cg.c examples/own_kernels.c examples/own_program.c examples/program_parts.c examples/array_formula.c examples/host_memory.c examples/order.c examples/device_memory.c examples/noise_spectrum.c examples/sparse_cg.c \
    examples/dist_vstack.c examples/dist_scatter.c examples/dist_sense.c \
    examples/dist_tutorial.h examples/dist_poststack.c examples/dist_migration.c examples/dist_deconvolution.c
examples_DATA += examples/curve_reader.c examples/curve_reader.py
EXTRA_DIST += examples/curve_reader.py examples/dist_tutorial.h
examples_program_parts_CPPFLAGS = $(examples_own_program_CPPFLAGS)
if HAVE_ZMQ
check_PROGRAMS += examples/curve_reader
examples_curve_reader_CPPFLAGS = $(AM_CPPFLAGS) $(ZMQ_CFLAGS)
examples_curve_reader_LDADD = $(ZMQ_LIBS)
endif
