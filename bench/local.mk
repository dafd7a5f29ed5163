# Benchmarks: what the figures in the README come from.  `make bench` builds them; each runs by itself.
# A program that uses internals says bench_NAME_LDADD = libinternal.la.
bench_programs =
bench_programs += bench/bslz4
bench_bslz4_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cpu
bench_bslz4_LDADD = libinternal.la $(LZ4_LIBS) $(HDF5_LIBS)
bench_programs += bench/azint
bench_azint_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cpu
bench_azint_LDADD = libinternal.la $(HDF5_LIBS)
bench_programs += bench/gpu
bench_programs += bench/nufft
bench_programs += bench/azint_filter
EXTRA_PROGRAMS += $(bench_programs)
EXTRA_DIST += bench/bench.h bench/compare.sh bench/finufft.sh bench/azint_peers.py bench/nufft_peers.py
CLEANFILES += $(bench_programs)
bench: $(bench_programs)
.PHONY: bench
