# Benchmarks: what the figures of doc/performance.md come from.  `make bench` builds them; each runs by itself.
# A program that uses internals says bench_NAME_LDADD = libinternal.la.
bench_programs = bench/bslz4 bench/azint bench/azint_filter bench/gpu bench/push bench/nufft bench/fft bench/array \
    bench/sense bench/misfit bench/operators bench/dist bench/dist_rates \
    bench/ways
# The frames, and what `halcyon simulate` draws them with.
bench_scene = bench/bench.h bench/scene.h bench/scene.c src/cli/timer.h src/cli/simulate.h src/cli/simulate_image.c \
    src/cli/simulate_noise.c
bench_bslz4_SOURCES = bench/bslz4.c $(bench_scene)
bench_bslz4_LDADD = libinternal.la $(LZ4_LIBS)
bench_azint_SOURCES = bench/azint.c $(bench_scene)
bench_azint_LDADD = libinternal.la
bench_azint_filter_SOURCES = bench/azint_filter.c $(bench_scene)
bench_push_SOURCES = bench/push.c $(bench_scene)
bench_gpu_SOURCES = bench/gpu.c $(bench_scene)
bench_peer = bench/cufinufft.h bench/cufinufft.c src/cli/finufft.h src/cli/finufft.c bench/bench.h src/cli/timer.h
bench_nufft_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cuda
bench_nufft_SOURCES = bench/nufft.c $(bench_peer) src/cli/simulate.h src/cli/simulate_noise.c
bench_fft_SOURCES = bench/fft.c bench/fft_device.h bench/fft_device.c bench/bench.h src/cli/timer.h
bench_fft_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cpu
bench_fft_LDADD = libinternal.la
bench_array_SOURCES = bench/array.c bench/bench.h src/cli/timer.h
bench_sense_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cuda
bench_sense_SOURCES = bench/sense.c $(bench_peer)
bench_misfit_SOURCES = bench/misfit.c bench/bench.h src/cli/timer.h
bench_operators_SOURCES = bench/operators.c bench/bench.h src/cli/timer.h
bench_job = bench/dist_job.h bench/dist_job.c bench/bench.h src/cli/timer.h
bench_dist_SOURCES = bench/dist.c $(bench_job)
bench_dist_rates_SOURCES = bench/dist_rates.c $(bench_job)
bench_ways_SOURCES = bench/ways.c bench/bench.h src/cli/timer.h
EXTRA_PROGRAMS += $(bench_programs)
EXTRA_DIST += bench/compare.sh bench/finufft.sh bench/array_peers.py bench/azint_peers.py bench/recon_peers.py bench/sense_peers.py \
    bench/dist_peers.py bench/dist_fftw.c bench/texture.cu
CLEANFILES += $(bench_programs)
bench: $(bench_programs)
.PHONY: bench
