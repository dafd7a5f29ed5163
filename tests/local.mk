# TAP programs.  `make check` runs each of $(TESTS) through tests/run-test (a time limit) and Automake's TAP driver.
# A new test is its file and its name in one of these lists.
#
#   test_public    uses the installed interface alone: linked to libhalcyon.la, backends as modules
#   test_internal  looks inside: linked to libinternal.la (hcy__* functions, backends built in); a line of its own below
#   test_scripts   a shell script that writes TAP
#   cts_programs   conformance: run once per configuration, which tests/configurations has
#
# What needs more than its own file has it in the table below the lists.

test_public = \
    tests/hal_status tests/hal_modules tests/dist_threads tests/hal_null tests/hal_options tests/hostqueue tests/nulls tests/sized tests/past_caches tests/callbacks \
    tests/stack tests/stack_files tests/stack_grow tests/stack_h5 tests/stack_raw tests/stack_virtual \
    tests/stack_write tests/isolated tests/isolated_ends tests/stack_writer tests/shards tests/corrections \
    tests/pipes tests/results tests/config tests/h5plugin tests/bslz4_decode tests/azint_poni tests/azint_parallax tests/azint_geometry \
    tests/azint_plan tests/azint_curve tests/azint_reference tests/azint_arrays tests/azint_2d tests/azint_fibre tests/azint_corners \
    tests/azint_spline tests/azint_filter tests/azint_regions tests/azint_large tests/pipeline_norm tests/pipeline_regions \
    tests/pipeline_sparse tests/push_batches tests/uncached tests/simulate tests/calibrate tests/array_formats tests/array_places tests/simulate_mri \
    tests/nufft tests/nufft_kernels tests/nufft_plan tests/nufft_many tests/nufft_cli tests/nufft_finufft tests/nufft_wisdom \
    tests/nufft_direct tests/nufft_widths tests/nufft_use tests/nufft_order tests/nufft_pencil tests/nufft_settle tests/sort_digits \
    tests/sort_digits_packed tests/sort_digits_plain tests/parse_lanes tests/stream tests/eval tests/eval_layouts tests/eval_seen tests/eval_together tests/eval_stages tests/dots tests/eval_programs tests/array tests/many_bins tests/axes tests/scans tests/joins \
    tests/pick tests/dlpack tests/maths tests/operators tests/solvers tests/solvers_rest tests/nufft_same tests/density \
    tests/regularize tests/misfit tests/sense tests/in_field tests/several_devices tests/coil_maps tests/stencils tests/matrices tests/cts_share \
    tests/csr tests/trajectory

test_internal = tests/hal_spec tests/arguments tests/nvrtc tests/own_fft tests/bslz4 tests/mutations tests/fuzz tests/azint_cache tests/azint_detectors tests/caches \
    tests/azint_loops tests/azint_ops tests/azint_kept tests/azint_kernels tests/azint_lanes tests/azint_lanes_unit tests/nufft_lacks tests/eval_lacks tests/stencil_faces tests/formula tests/hls_args \
    tests/pipeline tests/pipeline_push tests/pipeline_refuse tests/pipeline_rows tests/near tests/readers tests/read_errors

# The longest first, so that none is left alone at the end.
test_scripts = tests/dist.t tests/recon_cli.t tests/valgrind.t tests/hosts.t tests/opencl.t tests/inject.t tests/calibrate_cli.t tests/compare.t tests/together.t tests/processes.t \
    tests/trace.t tests/numpy.t tests/headers.t tests/run_test.t tests/symbols.t tests/laws.t tests/docs.t \
    tests/examples.t tests/cts.t tests/toy.t tests/fake_cuda.t tests/itt.t tests/embedded.t tests/aarch64.t \
    tests/locale.t tests/cli.t tests/cli_filter.t tests/cli_real.t tests/cli_config.t tests/cli_bench.t tests/plot.t \
    tests/monitor.t tests/many.t tests/tutorials.t tests/merge.t tests/regions.t tests/convert.t tests/endings.t \
    tests/outputs.t tests/raw.t tests/follow.t tests/live.t tests/detector.t tests/corrections.t tests/isolate.t \
    tests/nexus.t tests/install.t tests/sparse.t tests/peers.t tests/sample.t tests/nufft_data.t tests/recon_mrd.t \
    tests/bart.t tests/ismrmrd.t tests/fftw_memory.t tests/fpga_model.t tests/scale_model.t tests/hls_lint.t \
    tests/hls_report.t tests/xrt_curves.t

cts_programs = tests/cts_device tests/cts_buffer tests/cts_queue tests/cts_kernel tests/cts_fft tests/cts_failure \
    tests/cts_threads tests/cts_lifetime tests/cts_pool tests/cts_trace tests/cts_fork

# The conformance tests for backends elsewhere, and what is built there against the headers alone.
conformance = $(cts_programs:=.c) tests/cts_share.c tests/cts.h tests/cts_gate.h tests/tap.h tests/cts.mk
toys = tests/toy-backend/toy_backend.c tests/toy-family/kernels.def tests/toy-family/toy.c tests/toy-family/toy.cl \
    tests/toy-family/toy.h tests/toy-family/toy_cpu.c tests/toy-family/toy_format.h tests/toy-family/toy_test.c
nobase_backend_DATA += $(conformance) $(toys)

# Programs that a launcher or a script of the lists runs.
check_PROGRAMS += tests/cuda tests/opencl tests/xrt tests/xrt_together tests/cli_json tests/recon_files tests/dist

# --- What a program is linked to, and compiled with ---

LDADD = libhalcyon.la $(HDF5_LIBS) $(ZSTD_LIBS) $(ZLIB_LIBS) $(LZ4_LIBS)
inside = libinternal.la $(LZ4_LIBS) $(ZSTD_LIBS)
wrap = $(AM_LDFLAGS) -Wl,--wrap=

tests_dist_SOURCES = tests/dist_scene.h tests/dist.c tests/dist_arrays.c tests/dist_compare.c \
    tests/dist_operators.c tests/dist_solvers.c tests/dist_stacks.c tests/dist_overlap.c tests/dist_grids.c tests/dist_sums.c tests/dist_transforms.c tests/dist_products.c tests/dist_copies.c tests/dist_failing.c tests/dist_timers.c
tests_hal_spec_LDADD = $(inside)
tests_eval_stages_LDADD = $(inside)
tests_arguments_LDADD = $(inside)
tests_nvrtc_LDADD = $(inside)
tests_nvrtc_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -I$(srcdir)/backends/cuda
tests_own_fft_LDADD = $(inside)
tests_own_fft_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cpu -I$(srcdir)/backends/cpu/fft
tests_bslz4_LDADD = $(inside)
tests_bslz4_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cpu
tests_mutations_LDADD = $(inside)
tests_mutations_CPPFLAGS = $(tests_bslz4_CPPFLAGS)
tests_fuzz_LDADD = $(inside)
tests_azint_cache_LDADD = $(inside)
tests_caches_LDADD = $(inside)
tests_caches_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu
tests_azint_detectors_LDADD = $(inside)
tests_azint_loops_LDADD = $(inside)
tests_azint_ops_LDADD = $(inside)
tests_near_LDADD = $(inside)
tests_near_LDFLAGS = $(wrap)sched_getaffinity -Wl,--wrap=sched_setaffinity -Wl,--wrap=pthread_setaffinity_np
tests_azint_ops_CPPFLAGS = $(tests_bslz4_CPPFLAGS)
tests_azint_kept_LDADD = $(inside)
tests_azint_kept_LDFLAGS = $(wrap)hcy_memory_left -Wl,--wrap=fstatfs
tests_azint_kept_CPPFLAGS = $(tests_bslz4_CPPFLAGS)
tests_azint_kernels_LDADD = $(inside)
tests_hls_args_LDADD = $(inside)
tests_stencil_faces_LDADD = $(inside)
tests_eval_lacks_LDADD = $(inside)
tests_eval_lacks_LDFLAGS = $(wrap)hcy_kernel_get
tests_formula_LDADD = $(inside)
tests_formula_LDFLAGS = $(wrap)calloc -Wl,--wrap=realloc
tests_nufft_lacks_LDADD = $(inside)
tests_nufft_lacks_LDFLAGS = $(wrap)hcy_kernel_get -Wl,--wrap=hcy_device_get_info
tests_pipeline_LDADD = $(inside)
tests_pipeline_push_LDADD = $(inside)
tests_pipeline_push_LDFLAGS = $(wrap)malloc -Wl,--wrap=hcy_buffer_write -Wl,--wrap=hcy_buffer_import_host \
    -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=posix_memalign \
    -Wl,--wrap=aligned_alloc
tests_pipeline_refuse_LDADD = $(inside)
tests_pipeline_refuse_LDFLAGS = $(wrap)hcy_launch -Wl,--wrap=hcy_kernel_preferred_batch -Wl,--wrap=hcy_kernel_prepare
tests_pipeline_rows_LDADD = $(inside)
tests_pipeline_rows_LDFLAGS = $(wrap)hcy_buffer_read
tests_readers_LDADD = $(inside)
tests_readers_LDFLAGS = $(wrap)hcy_processors -Wl,--wrap=hcy_device_get_info -Wl,--wrap=hcy__device_at \
    -Wl,--wrap=hcy__device_works
tests_read_errors_LDADD = $(inside)
tests_read_errors_LDFLAGS = $(wrap)pread -Wl,--wrap=fdopen -Wl,--wrap=fopen -Wl,--wrap=readdir
tests_stream_SOURCES = tests/stream.c src/cli/stream_write.h src/cli/stream_write.c
if HAVE_ZMQ
test_public += tests/wire
endif
tests_wire_SOURCES = tests/wire.c src/cli/cli.h src/cli/print.c src/cli/wire.h src/cli/wire.c
tests_wire_LDFLAGS = $(wrap)zmq_poll
tests_wire_CPPFLAGS = $(AM_CPPFLAGS) $(ZMQ_CFLAGS)
tests_wire_LDADD = $(LDADD) $(ZMQ_LIBS)
if HAVE_JANSSON
test_public += tests/energy
endif
tests_energy_SOURCES = tests/energy.c src/cli/cli.h src/cli/print.c src/cli/compare.h src/cli/compare_value.c src/cli/compare_energy.c
tests_energy_LDFLAGS = $(wrap)pthread_create -Wl,--wrap=hcy_device_get_i64 -Wl,--wrap=hcy_device_get_info
tests_energy_LDADD = $(LDADD) $(JANSSON_LIBS)
tests_isolated_ends_SOURCES = tests/isolated_ends.c src/reader/sandbox.h src/reader/sandbox.c
tests_isolated_ends_CPPFLAGS = $(AM_CPPFLAGS)
if SANITIZER
tests_isolated_ends_CPPFLAGS += -DHCY_SANITIZED
endif
tests_simulate_mri_SOURCES = tests/simulate_mri.c src/cli/mri_phantom.h src/cli/mri_phantom.c src/cli/simulate.h src/cli/simulate_noise.c
tests_simulate_SOURCES = tests/simulate.c src/cli/simulate.h src/cli/simulate_image.c src/cli/simulate_noise.c

# Who launches kernels and who is launched, compiled once more with the arguments of each kernel in reverse order.
reversed_sources = src/bslz4/decode.c src/pipeline/launch.c src/nufft/interface.c src/nufft/points.c \
    src/nufft/grid.c src/nufft/each.c src/nufft/type3.c src/nufft/out_of_core.c \
    backends/cpu/bslz4/decode_images.c backends/cpu/azint/pass.c backends/cpu/azint/azint_launch.c \
    backends/cpu/azint/filter.c backends/cpu/nufft/sort.c backends/cpu/nufft/spread_interp.c backends/cpu/nufft/cut.c \
    backends/cpu/nufft/cut_fft.c backends/gpu/bslz4/gpu_bslz4.c backends/gpu/azint/gpu_azint.c \
    backends/gpu/azint/gpu_filter.c backends/gpu/nufft/gpu_nufft.c backends/gpu/nufft/gpu_nufft_cut.c \
    backends/gpu/nufft/gpu_nufft_axes.c
tests_arguments_SOURCES = tests/arguments.c $(reversed_sources)
nodist_tests_arguments_SOURCES = tests/reversed/families.c
tests_arguments_CPPFLAGS = -Itests/reversed -Itests/reversed/bslz4 -Itests/reversed/azint -Itests/reversed/nufft \
    $(libcpu_la_CPPFLAGS) -I$(srcdir)/backends/gpu
$(tests_arguments_OBJECTS): tests/reversed/families.c
tests/reversed/families.c: $(wildcard $(srcdir)/families/*.* $(srcdir)/families/*/*.*)
	$(AM_V_GEN)for f in $^; do to=tests/reversed/$${f#$(srcdir)/families/}; \
	    $(MKDIR_P) `dirname $$to` && case $$f in \
	    */kernels.def) awk '/^ *ARG\(/ { held = $$0 "\n" held; next } { printf "%s%s\n", held, $$0; held = "" }' $$f ;; \
	    *) cat $$f ;; esac > $$to || exit 1; done

# Texts of backends/gpu on the host, where lanes are threads (tests/lanes.h): sums_one.cl, parse_lanes.cl, settle.cl,
# digits.cl, and pencil.cl with several options.
azint_lanes_flags = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DPIXEL_FLOAT=0
tests_azint_lanes_LDADD = $(inside)
tests_azint_lanes_CPPFLAGS = $(azint_lanes_flags) -DPIXEL_BYTES=4 -DPIXEL_SIGNED=1 -DVARIANCE=1 -DUNIT=0 -DFIRST_VALID=-2147483647 \
    -DFIRST_INVALID=2147483645
tests_azint_lanes_unit_SOURCES = tests/azint_lanes.c
tests_azint_lanes_unit_LDADD = $(inside)
tests_azint_lanes_unit_CPPFLAGS = $(azint_lanes_flags) -DPIXEL_BYTES=2 -DPIXEL_SIGNED=1 -DVARIANCE=1 -DUNIT=1 -DFIRST_VALID=-32767 \
    -DFIRST_INVALID=32765
tests_parse_lanes_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu
tests_sort_digits_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DGROUP_SIZE=64 -DTILE=1024 -DREAL=double -DFLOATS=0 \
    -DPLACES=1
tests_sort_digits_packed_SOURCES = tests/sort_digits.c
tests_sort_digits_packed_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DGROUP_SIZE=64 -DTILE=1024 -DREAL=double -DFLOATS=0 \
    -DPLACES=0
tests_sort_digits_plain_SOURCES = tests/sort_digits.c
tests_sort_digits_plain_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DGROUP_SIZE=64 -DTILE=1024 -DREAL=double -DFLOATS=1
tests_nufft_settle_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DPLACES=53 -DWORDS=3 -DREAL=double -DPRECISION=2 -DDIM=3 \
    -DXB=2 -DYB=4 -DZS=3 -DGROUP_SIZE=64 -DBUCKET=256 -DTILE=128 -DFIXED=0 -DPOINT=double
pencil_flags = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DBATCH=32 -DRESIDENT=1 -DNEAR_BYTES=262144
pencils = libpencil1.la libpencil2.la libpencil3.la libpencil4.la libpencil5.la libpencil6.la libpencil7.la libpencil8.la libpencil9.la \
    libpencil10.la
check_LTLIBRARIES += $(pencils)
tests_nufft_pencil_LDADD = $(pencils) libhalcyon.la
libpencil1_la_SOURCES = tests/nufft_pencil_case.c
libpencil1_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_3d_float -DPLACES=32 -DWORDS=2 -DREAL=float -DPRECISION=1 -DDIM=3 \
    -DWIDTH=4u -DXB=5 -DYB=3 -DZS=4 -DGROUP_SIZE=64 -DVECTORS=2 -DSPREADS=1 -DAMPLE=0
libpencil2_la_SOURCES = tests/nufft_pencil_case.c
libpencil2_la_CPPFLAGS = $(pencil_flags) -DCASE=interp_3d_double -DPLACES=53 -DWORDS=3 -DREAL=double -DPRECISION=2 -DDIM=3 \
    -DWIDTH=5u -DXB=4 -DYB=2 -DZS=9 -DGROUP_SIZE=64 -DVECTORS=2 -DCOARSE=3 -DSPREADS=0 -DAMPLE=1
libpencil3_la_SOURCES = tests/nufft_pencil_case.c
libpencil3_la_CPPFLAGS = $(pencil_flags) -DCASE=interp_2d_float -DPLACES=48 -DWORDS=2 -DREAL=float -DPRECISION=1 -DDIM=2 \
    -DWIDTH=7u -DXB=3 -DYB=1 -DZS=2 -DGROUP_SIZE=32 -DVECTORS=1 -DCOARSE=3 -DSPREADS=0 -DAMPLE=0 -DCARRIES=1
libpencil4_la_SOURCES = tests/nufft_pencil_case.c
libpencil4_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_1d_double -DPLACES=64 -DWORDS=2 -DREAL=double -DPRECISION=2 -DDIM=1 \
    -DWIDTH=11u -DXB=1 -DYB=1 -DZS=118 -DGROUP_SIZE=32 -DVECTORS=2 -DSPREADS=1 -DAMPLE=0
libpencil5_la_SOURCES = tests/nufft_pencil_case.c
libpencil5_la_CPPFLAGS = $(pencil_flags) -DCASE=interp_1d_float -DPLACES=64 -DWORDS=2 -DREAL=float -DPRECISION=1 -DDIM=1 \
    -DWIDTH=6u -DXB=1 -DYB=1 -DZS=59 -DGROUP_SIZE=32 -DVECTORS=1 -DSPREADS=0 -DAMPLE=0
libpencil6_la_SOURCES = tests/nufft_pencil_case.c
libpencil6_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_1d_float -DPLACES=64 -DWORDS=2 -DREAL=float -DPRECISION=1 -DDIM=1 \
    -DWIDTH=6u -DXB=1 -DYB=1 -DZS=59 -DGROUP_SIZE=32 -DVECTORS=1 -DSPREADS=1 -DAMPLE=0 -DPOINTS=420
libpencil7_la_SOURCES = tests/nufft_pencil_case.c
libpencil7_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_3d_double -DPLACES=53 -DWORDS=3 -DREAL=double -DPRECISION=2 -DDIM=3 \
    -DWIDTH=5u -DXB=6 -DYB=3 -DZS=4 -DGROUP_SIZE=64 -DVECTORS=1 -DCOARSE=3 -DSPREADS=1 -DAMPLE=0
libpencil8_la_SOURCES = tests/nufft_pencil_case.c
libpencil8_la_CPPFLAGS = $(pencil_flags) -DCASE=slopes_3d_double -DPLACES=53 -DWORDS=3 -DREAL=double -DPRECISION=2 -DDIM=3 \
    -DWIDTH=6u -DXB=3 -DYB=2 -DZS=3 -DGROUP_SIZE=64 -DVECTORS=1 -DSPREADS=0 -DSLOPES=1 -DAMPLE=0
libpencil9_la_SOURCES = tests/nufft_pencil_case.c
libpencil9_la_CPPFLAGS = $(pencil_flags) -DCASE=slopes_2d_double -DPLACES=52 -DWORDS=2 -DREAL=double -DPRECISION=2 -DDIM=2 \
    -DWIDTH=7u -DXB=4 -DYB=1 -DZS=9 -DGROUP_SIZE=32 -DVECTORS=1 -DCOARSE=3 -DSPREADS=0 -DSLOPES=1 -DAMPLE=0
libpencil10_la_SOURCES = tests/nufft_pencil_case.c
libpencil10_la_CPPFLAGS = $(pencil_flags) -DCASE=interp_slab_by_slab -DPLACES=53 -DWORDS=3 -DREAL=double -DPRECISION=2 -DDIM=3 \
    -DWIDTH=6u -DXB=3 -DYB=4 -DZS=3 -DGROUP_SIZE=64 -DVECTORS=1 -DSPREADS=0 -DAMPLE=1 -DCARRIES=1 -DPOINTS=420

# Fuzz targets, on damaged seeds in the suite.  Under libFuzzer: configure with CC=clang
# CFLAGS='-g -O1 -fsanitize=fuzzer-no-link' --enable-sanitizer=address, then make fuzzers.
fuzz_targets = tests/fuzz_codecs.c tests/fuzz_files.c tests/fuzz_texts.c tests/fuzz_programs.c tests/fuzz_results.c \
    tests/fuzz_streams.c tests/fuzz_tensors.c tests/fuzz_xclbin.c src/cli/stream_write.h src/cli/stream_write.c h5plugin/codec.h h5plugin/codec.c h5plugin/host.h h5plugin/host.c
tests_fuzz_SOURCES = tests/fuzz.c $(fuzz_targets)
tests_fuzz_CPPFLAGS = $(tests_bslz4_CPPFLAGS) -I$(srcdir)/h5plugin
EXTRA_PROGRAMS += tests/fuzz_libfuzzer
CLEANFILES += tests/fuzz_libfuzzer
fuzzers: tests/fuzz_libfuzzer
.PHONY: fuzzers
tests_fuzz_libfuzzer_SOURCES = tests/fuzz_libfuzzer.c $(fuzz_targets)
tests_fuzz_libfuzzer_CPPFLAGS = $(tests_fuzz_CPPFLAGS)
tests_fuzz_libfuzzer_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_libfuzzer_LDADD = $(inside)

# --- Conformance tests: a launcher tests/PROGRAM-CONFIG.t runs a program with a row of tests/configurations ---

# Drivers of OpenCL, which come with compilers, are there for the tests that are about them; not for their own bugs.
if SANITIZER
test_drivers = 'echo "1..0 \# SKIP drivers of OpenCL do not run under sanitizers"; exit 0'
else
test_drivers = 'unset OCL_ICD_VENDORS'
endif
# Where PoCL does not optimise what it compiles, which takes long; its optimiser is seen by the tests of
# kernels, formulas, functions and sums.  Nor is memory filled (tests/run-test), but where the backend itself is tested:
# compilers in drivers take a third of their time to have theirs filled.
unoptimised = arguments axes azint_large azint_regions coil_maps csr cts_fft density eval eval_layouts eval_together in_field joins matrices \
    misfit nufft operators pick pipeline_regions pipeline_sparse regularize scans sense several_devices solvers stencil_faces

cts_launchers = tests/cuda-cuda.t
cts_launchers += $(cts_programs:=-cpu.t) $(cts_programs:=-cpu-1.t) $(cts_programs:=-cpu-portable.t) \
    $(cts_programs:=-cpu-discrete.t) $(cts_programs:=-null.t) $(cts_programs:=-null-noop.t) \
    tests/cts_queue-null-wait.t tests/cts_failure-null-wait.t
if X86_SIMD
cts_launchers += $(cts_programs:=-cpu-avx2.t)
endif
# Devices that few machines have: what is not there is skipped with its reason.
cts_launchers += $(cts_programs:=-opencl.t) tests/arguments-opencl-few.t tests/bslz4_decode-opencl.t tests/azint_kernels-opencl-few.t \
    tests/nufft_kernels-opencl-few.t tests/nufft-opencl-few.t tests/nufft_plan-opencl.t tests/nufft_kernels-cuda.t \
    tests/nufft-cuda.t tests/nufft_plan-cuda.t tests/nufft_use-cuda.t tests/nufft_order-opencl-few.t tests/nufft_order-cuda.t \
    tests/nufft_many-opencl.t tests/nufft_many-cuda.t tests/density-opencl.t tests/density-cuda.t \
    tests/azint_large-opencl.t tests/azint_large-cuda.t \
    tests/azint_kernels-opencl-atomics32.t tests/azint_filter-opencl-few.t tests/azint_regions-opencl.t tests/pipeline_regions-opencl.t \
    tests/pipeline_sparse-opencl.t \
    tests/opencl-opencl.t tests/opencl-opencl-discrete.t \
    tests/cts_buffer-opencl-discrete.t tests/cts_queue-opencl-discrete.t tests/cts_failure-opencl-discrete.t \
    tests/cts_lifetime-opencl-discrete.t tests/cts_threads-opencl-discrete.t tests/cts_queue-opencl-profile.t
cts_launchers += tests/nufft_same-opencl-few.t tests/nufft_same-cuda.t
cts_launchers += tests/nufft-opencl-own-few.t tests/cts_fft-opencl-own.t tests/cts_fft-cpu-own.t tests/nufft_plan-cpu-own.t tests/nufft_order-cpu-own.t
cts_launchers += tests/eval_layouts-cpu-portable.t tests/eval_layouts-cpu-avx2.t tests/eval_layouts-opencl-few.t tests/eval_layouts-cuda-few.t
cts_launchers += tests/eval-cpu-1.t tests/eval-cpu-portable.t tests/eval-cpu-discrete.t tests/eval-opencl-few.t tests/eval-cuda.t tests/formula-opencl-few.t tests/formula-cuda.t \
    tests/operators-cpu-discrete.t tests/operators-opencl-few.t tests/operators-cuda.t \
    tests/coil_maps-cpu-discrete.t tests/coil_maps-opencl-few.t tests/coil_maps-cuda.t \
    tests/sense-cpu-discrete.t tests/sense-opencl-few.t tests/sense-cuda.t \
    tests/in_field-cpu-discrete.t tests/in_field-opencl-few.t tests/in_field-cuda.t \
    tests/misfit-cpu-discrete.t tests/misfit-opencl-few.t tests/misfit-cuda.t \
    tests/several_devices-cpu-discrete.t tests/several_devices-opencl.t tests/several_devices-cuda.t \
    tests/stencils-cpu-portable.t tests/stencil_faces-opencl.t tests/stencil_faces-cuda.t tests/stencils-opencl-few.t tests/stencils-cuda-few.t \
    tests/matrices-cpu-portable.t tests/matrices-opencl-few.t tests/matrices-cuda.t \
    tests/csr-cpu-portable.t tests/csr-opencl-few.t tests/csr-cuda.t \
    tests/eval_together-cpu-portable.t tests/eval_together-cpu-discrete.t tests/eval_together-opencl-few.t tests/eval_together-cuda.t \
    tests/dots-cpu-1.t tests/dots-cpu-portable.t tests/dots-cpu-discrete.t tests/dots-opencl-few.t tests/dots-cuda.t \
    tests/solvers-cpu-discrete.t tests/solvers-opencl-few.t tests/solvers-cuda.t tests/solvers_rest-cuda.t \
    tests/regularize-cpu-discrete.t tests/regularize-opencl-few.t tests/regularize-cuda.t \
    tests/array-cpu-discrete.t tests/array-opencl.t tests/array-cuda.t \
    tests/axes-cpu-1.t tests/axes-cpu-portable.t tests/axes-cpu-discrete.t tests/axes-opencl-few.t tests/axes-cuda.t \
    tests/cts_share-cpu-discrete.t tests/cts_share-null.t tests/cts_share-opencl.t tests/cts_share-cuda.t \
    tests/dlpack-cpu-discrete.t tests/dlpack-opencl.t tests/dlpack-cuda.t \
    tests/scans-cpu-1.t tests/scans-cpu-portable.t tests/scans-cpu-discrete.t tests/scans-opencl-few.t tests/scans-cuda.t \
    tests/joins-cpu-portable.t tests/joins-cpu-discrete.t tests/joins-opencl-few.t tests/joins-cuda.t \
    tests/pick-cpu-1.t tests/pick-cpu-discrete.t tests/pick-opencl-few.t tests/pick-cuda.t tests/maths-cpu-portable.t tests/maths-opencl.t tests/maths-cuda.t
if X86_SIMD
cts_launchers += tests/eval-cpu-avx2.t tests/maths-cpu-avx2.t tests/stencils-cpu-avx2.t tests/matrices-cpu-avx2.t tests/dots-cpu-avx2.t
endif
cts_launchers += $(cts_programs:=-xrt.t) tests/cts_buffer-xrt-ddr.t tests/cts_kernel-xrt-ddr.t \
    tests/cts_threads-xrt-ddr.t tests/azint_kernels-xrt-one.t tests/bslz4_decode-xrt-alone.t tests/bslz4_decode-xrt-apart.t \
    tests/xrt_together-xrt-all.t tests/cts_buffer-xrt-channels.t tests/cts_kernel-xrt-channels.t \
    tests/azint_kernels-xrt-links.t
cts_launchers += $(cts_programs:=-cuda.t) tests/bslz4_decode-cuda.t tests/azint_kernels-cuda.t \
    tests/azint_filter-cuda.t tests/azint_regions-cuda.t tests/pipeline_sparse-cuda.t
$(cts_launchers): tests/local.mk tests/configurations
	@$(MKDIR_P) tests; name=$(@F); name=$${name%.t}; set -- `awk -v name="$${name#*-}" \
	    '$$1 == name { $$1 = ""; print; exit }' $(srcdir)/tests/configurations`; run=; \
	    while :; do case $$1 in drivers) echo $(test_drivers); shift; \
	    case $$name in cts_*) ;; *) echo 'export MALLOC_PERTURB_=0';; esac; \
	    case " $(unoptimised) " in *" $${name%%-*} "*) echo 'export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable';; esac;; board) run="sh \"\$$top_srcdir\"/tests/virtual-board/run "; shift;; \
	    -p) run="$$run-p $$2 "; shift 2;; *) break;; esac; done > $@; echo "exec $${run}tests/$${name%%-*} $$*" >> $@

# FPGA cards.
xrt_launchers = tests/xrt-names.t tests/xrt-programs.t tests/xrt-alloc.t tests/xrt-hang.t tests/xrt-fault.t tests/xrt-lose.t \
    tests/xrt-late.t tests/xrt-shared.t tests/xrt-user.t tests/xrt-user-ddr.t
$(xrt_launchers): tests/local.mk
	@$(MKDIR_P) tests; what=$(@F:xrt-%.t=%); case $$what in \
	    alloc) o='--fail-alloc 2';; hang) o='--hang-run 1';; fault) o='--fault-run 2';; lose) o='--lose-run 2';; *ddr|shared) o='-p ddr';; *) o=;; esac; \
	    echo "exec sh \"\$$top_srcdir\"/tests/virtual-board/run $$o tests/xrt $$what" > $@

# The FPGA kernels in C simulation, where there is a C++ compiler.
EXTRA_DIST += tests/hls.h tests/hls_decode.cpp tests/hls_azint.cpp tests/hls_model.cpp
if HAVE_CXX
test_public += tests/hls_decode tests/hls_azint tests/hls_model
tests_hls_decode_SOURCES = tests/hls_decode.cpp
tests_hls_decode_CPPFLAGS = $(hls_cppflags)
tests_hls_decode_CXXFLAGS = $(HCY_CXXFLAGS)
tests_hls_decode_LDADD = libhls.la libhalcyon.la $(LZ4_LIBS)
tests_hls_azint_SOURCES = tests/hls_azint.cpp
tests_hls_azint_CPPFLAGS = $(hls_cppflags)
tests_hls_azint_CXXFLAGS = $(HCY_CXXFLAGS)
tests_hls_azint_LDADD = libhls.la libhls_plan.la libhalcyon.la
tests_hls_model_SOURCES = tests/hls_model.cpp
tests_hls_model_CPPFLAGS = $(hls_cppflags)
tests_hls_model_CXXFLAGS = $(HCY_CXXFLAGS)
tests_hls_model_LDADD = $(tests_hls_azint_LDADD)
endif


# --- All of them ---

check_PROGRAMS += $(test_public) $(test_internal) $(cts_programs)
# What a compiler says of all programs that tests run, without linking them.
test-objects: $(foreach program,$(check_PROGRAMS),$($(subst -,_,$(subst /,_,$(program)))_OBJECTS))
.PHONY: test-objects
all_tests = $(test_scripts) $(cts_launchers) $(test_internal) $(test_public) $(xrt_launchers)
TESTS += $(all_tests)
EXTRA_DIST += tests/run-test tests/tsan.supp tests/configurations tests/cli.sh tests/soak.sh $(test_scripts) tests/fake_cuda.c tests/fake_nccl.c tests/fake_nvtx.c tests/inject.c \
    tests/fake_itt.c \
    tests/azint_oracle.h tests/azint_scene.h tests/azint_sums.h tests/bslz4_ref.h tests/cts.h tests/cts_array.h \
    tests/cts_gate.h tests/sense.h tests/eval_layouts.h tests/eval_programs.h tests/fuzz.h tests/lanes.h tests/mutate.h tests/mutate_h5.h tests/nufft_oracle.h tests/tensors.h \
    tests/pipeline_scene.h tests/sha256.h tests/stack_images.h tests/mrd_epi.h tests/mrd_make.h tests/leaks.h tests/mutate_files.h \
    tests/stack_make.h tests/stack_read.h tests/stream_scene.h tests/tap.h \
    tests/cts.mk $(toys) \
    tests/reference/azint_2d.h tests/reference/azint_arrays.h tests/reference/azint_cases.h tests/reference/azint_corners.h \
    tests/reference/azint_detectors.h \
    tests/reference/azint_filter.h tests/reference/config_cases.h tests/reference/check_config.py tests/reference/numpy_oracle.py \
    tests/reference/config_dummy.json tests/reference/config_image.json tests/reference/config_plain.json \
    tests/reference/config_ranges.json tests/reference/config_version1.json tests/reference/config_version2.json \
    tests/reference/config_version3.json tests/reference/config_version4.json \
    tests/reference/h5plugin.py tests/reference/make_azint.py tests/reference/make_azint_2d.py \
    tests/reference/make_azint_arrays.py tests/reference/make_azint_corners.py \
    tests/reference/make_detectors.py tests/reference/make_azint_filter.py \
    tests/reference/check_calibrants.py tests/reference/make_config.py tests/reference/pyfai_errors.py tests/reference/read_curves.py \
    tests/reference/sample.py tests/reference/write_inputs.py
CLEANFILES += $(cts_launchers) $(xrt_launchers)

clean-local:
	rm -rf tests/cache tests/aarch64 tests/reversed

AM_TESTS_ENVIRONMENT = \
    HALCYON_BACKEND_PATH='$(abs_top_builddir)/.libs'; export HALCYON_BACKEND_PATH; \
    HALCYON_TEST_DATA=$${HALCYON_TEST_DATA-`cd '$(abs_top_srcdir)' && pwd`/../shared/data}; export HALCYON_TEST_DATA; \
    HALCYON_CACHE_DIR='$(abs_top_builddir)/tests/cache'; export HALCYON_CACHE_DIR; \
    HALCYON='$(abs_top_builddir)/halcyon'; export HALCYON; \
    HALCYON_H5_READER='$(abs_top_builddir)/halcyon-h5-reader'; export HALCYON_H5_READER; \
    OCL_ICD_VENDORS='$(abs_top_builddir)/no-drivers'; export OCL_ICD_VENDORS; \
    top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; export top_srcdir top_builddir; \
    CC='$(CC)'; CXX='$(HCY_CXX)'; NM='$(NM_TOOL)'; export CC CXX NM; \
    HCY_SANITIZER='$(HCY_LDFLAGS)'; export HCY_SANITIZER; \
    HCY_HEADERS='$(halcyoninclude_HEADERS)'; HCY_HDF5='$(HDF5_LIBS)'; HCY_TIFF='$(TIFF_LIBS)'; \
    HCY_JANSSON='$(JANSSON_LIBS)'; HCY_ZLIB='$(ZLIB_LIBS)'; HCY_ZSTD='$(ZSTD_LIBS)'; \
    HCY_ZMQ='$(ZMQ_LIBS)'; export HCY_HEADERS HCY_HDF5 HCY_TIFF HCY_JANSSON HCY_ZLIB HCY_ZSTD HCY_ZMQ; \
    ASAN_OPTIONS=$${ASAN_OPTIONS-detect_leaks=1:allocator_may_return_null=1}; export ASAN_OPTIONS; \
    TSAN_OPTIONS=$${TSAN_OPTIONS-halt_on_error=1:allocator_may_return_null=1:print_suppressions=0:suppressions='$(abs_top_srcdir)/tests/tsan.supp'}; \
    export TSAN_OPTIONS;
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-test
TEST_EXTENSIONS = .t
T_LOG_DRIVER = $(LOG_DRIVER)
T_LOG_COMPILER = $(LOG_COMPILER)
