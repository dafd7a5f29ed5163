# Benchmarks: what the figures in the README come from.  `make bench` builds them; each runs by itself.
# A program that uses internals says bench_NAME_LDADD = libinternal.la.
bench_programs =
EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)
bench: $(bench_programs)
.PHONY: bench
