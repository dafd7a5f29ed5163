# Benchmarks: what the figures in the README come from.  `make bench` builds them.
bench_programs =
