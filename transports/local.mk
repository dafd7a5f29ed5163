# What carries bytes between processes: modules halcyon-dist-NAME.so beside those of the backends.
EXTRA_DIST += transports/mpi.c transports/mpi_abi.h transports/cuda_context.h transports/nccl.c
transport_ldflags = $(HCY_LDFLAGS) -module -avoid-version -shared -no-undefined $(HCY_NO_UNDEFINED) \
    -export-symbols-regex '^hcy_transport_entry$$'
if SHARED
pkglib_LTLIBRARIES += halcyon-dist-nccl.la
halcyon_dist_nccl_la_SOURCES = transports/nccl.c transports/cuda_context.h
halcyon_dist_nccl_la_LDFLAGS = $(transport_ldflags)
halcyon_dist_nccl_la_LIBADD = libhalcyon.la
# One text for every MPI, whose types and constants differ; those of MPI 5's binary interface need none to be built.
pkglib_LTLIBRARIES += halcyon-dist-mpi-abi.la
halcyon_dist_mpi_abi_la_SOURCES = transports/mpi.c transports/mpi_abi.h transports/cuda_context.h
halcyon_dist_mpi_abi_la_CPPFLAGS = -DTRANSPORT_NAME='"mpi-abi"' -DTRANSPORT_ABI $(AM_CPPFLAGS)
halcyon_dist_mpi_abi_la_LDFLAGS = $(transport_ldflags)
halcyon_dist_mpi_abi_la_LIBADD = libhalcyon.la
if HAVE_OPENMPI
pkglib_LTLIBRARIES += halcyon-dist-openmpi.la
halcyon_dist_openmpi_la_SOURCES = transports/mpi.c transports/cuda_context.h
halcyon_dist_openmpi_la_CPPFLAGS = -DTRANSPORT_NAME='"openmpi"' $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
halcyon_dist_openmpi_la_LDFLAGS = $(transport_ldflags)
halcyon_dist_openmpi_la_LIBADD = libhalcyon.la $(OPENMPI_LIBS)
endif
if HAVE_MPICH
pkglib_LTLIBRARIES += halcyon-dist-mpich.la
halcyon_dist_mpich_la_SOURCES = transports/mpi.c transports/cuda_context.h
halcyon_dist_mpich_la_CPPFLAGS = -DTRANSPORT_NAME='"mpich"' $(AM_CPPFLAGS) $(MPICH_CFLAGS)
halcyon_dist_mpich_la_LDFLAGS = $(transport_ldflags)
halcyon_dist_mpich_la_LIBADD = libhalcyon.la $(MPICH_LIBS)
endif
endif
