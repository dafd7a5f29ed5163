# TAP programs.  `make check` runs each of $(TESTS) through tests/run-test (a time limit) and Automake's TAP driver.
#   test_public    programs that use the installed interface alone: linked to libhalcyon.la, backends as modules
#   test_internal  programs that look inside: linked to libinternal.la (hcy__* functions, backends built in)
#   test_scripts   shell scripts that write TAP
#   cts_programs   conformance programs, tests/cts_AREA; each is run once per configuration, through a launcher
#                  tests/cts_AREA-CONFIG.t that gives it a device string as its argument
# A program that needs more than its own file or libhalcyon.la says so below its list: tests_NAME_SOURCES, and
# tests_NAME_LDADD = libinternal.la for each of test_internal.
test_public =
test_internal =
test_scripts = tests/headers.t tests/symbols.t tests/laws.t tests/examples.t tests/cts.t tests/docs.t
cts_programs = tests/cts_device tests/cts_buffer tests/cts_queue tests/cts_kernel tests/cts_fft tests/cts_failure \
    tests/cts_threads tests/cts_lifetime tests/cts_pool tests/cts_trace tests/cts_fork
EXTRA_DIST += tests/cts.h tests/cts_gate.h

# The HAL's own parts.
test_public += tests/hal_status tests/hal_modules tests/hal_null tests/nulls tests/hal_options tests/sized
test_internal += tests/hal_spec
tests_hal_spec_LDADD = libinternal.la
check_PROGRAMS += tests/cuda
cts_launchers = tests/cuda-cuda.t
test_scripts += tests/fake_cuda.t tests/embedded.t
# A family and a backend from outside.
test_scripts += tests/toy.t
EXTRA_DIST += tests/toy-family/toy_format.h tests/toy-family/kernels.def tests/toy-family/toy.h tests/toy-family/toy.c \
    tests/toy-family/toy_cpu.c tests/toy-family/toy.cl tests/toy-family/toy_test.c tests/toy-backend/toy_backend.c
EXTRA_DIST += tests/fake_cuda.c

# Who launches kernels and who is launched, compiled once more with the arguments of each kernel in reverse order.
test_internal += tests/arguments
reversed_sources = src/bslz4/decode.c src/pipeline/launch.c src/nufft/interface.c src/nufft/points.c src/nufft/grid.c src/nufft/each.c src/nufft/type3.c src/nufft/out_of_core.c \
    backends/cpu/bslz4/decode_images.c backends/cpu/azint/pass.c backends/cpu/azint/azint_launch.c \
    backends/cpu/azint/filter.c backends/cpu/nufft/sort.c backends/cpu/nufft/spread_interp.c backends/cpu/nufft/cut.c \
    backends/cpu/nufft/cut_fft.c backends/gpu/bslz4/gpu_bslz4.c backends/gpu/azint/gpu_azint.c \
    backends/gpu/azint/gpu_filter.c backends/gpu/nufft/gpu_nufft.c
tests_arguments_SOURCES = tests/arguments.c tests/pipeline_scene.h $(reversed_sources)
nodist_tests_arguments_SOURCES = tests/reversed/families.c
tests_arguments_CPPFLAGS = -Itests/reversed -Itests/reversed/bslz4 -Itests/reversed/azint -Itests/reversed/nufft \
    $(libcpu_la_CPPFLAGS) -I$(srcdir)/backends/gpu
tests_arguments_LDADD = libinternal.la
$(tests_arguments_OBJECTS): tests/reversed/families.c
tests/reversed/families.c: $(wildcard $(srcdir)/families/*.* $(srcdir)/families/*/*.*)
	$(AM_V_GEN)for f in $^; do to=tests/reversed/$${f#$(srcdir)/families/}; \
	    $(MKDIR_P) `dirname $$to` && case $$f in \
	    */kernels.def) awk '/^ *ARG\(/ { held = $$0 "\n" held; next } { printf "%s%s\n", held, $$0; held = "" }' $$f ;; \
	    *) cat $$f ;; esac > $$to || exit 1; done

# Codecs of detector data.
test_internal += tests/bslz4
tests_bslz4_SOURCES = tests/bslz4.c tests/bslz4_ref.h
tests_bslz4_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/cpu
tests_bslz4_LDADD = libinternal.la $(LZ4_LIBS)
test_public += tests/bslz4_decode
tests_bslz4_decode_SOURCES = tests/bslz4_decode.c tests/sha256.h
tests_bslz4_decode_LDADD = libhalcyon.la $(HDF5_LIBS)
test_public += tests/stack
tests_stack_SOURCES = tests/stack.c tests/stack_make.h tests/stack_read.h
test_public += tests/stack_files
tests_stack_files_SOURCES = tests/stack_files.c tests/stack_images.h tests/stack_make.h tests/stack_read.h
tests_stack_files_LDADD = libhalcyon.la $(ZLIB_LIBS)
test_public += tests/stack_h5 tests/stack_virtual tests/stack_write
tests_stack_h5_SOURCES = tests/stack_h5.c tests/stack_make.h tests/stack_read.h
tests_stack_h5_LDADD = libhalcyon.la $(HDF5_LIBS) $(ZSTD_LIBS)
tests_stack_virtual_SOURCES = tests/stack_virtual.c tests/stack_make.h tests/stack_read.h
tests_stack_virtual_LDADD = libhalcyon.la $(HDF5_LIBS)
tests_stack_write_SOURCES = tests/stack_write.c tests/stack_make.h
tests_stack_write_LDADD = libhalcyon.la $(HDF5_LIBS)
test_public += tests/results tests/config
tests_config_SOURCES = tests/config.c tests/stack_make.h tests/reference/config_cases.h
EXTRA_DIST += tests/reference/make_config.py tests/reference/config_plain.json tests/reference/config_ranges.json \
    tests/reference/config_dummy.json tests/reference/config_image.json tests/reference/config_version3.json \
    tests/reference/config_version4.json
tests_results_SOURCES = tests/results.c tests/stack_make.h
test_public += tests/stack_raw tests/pipes
test_scripts += tests/raw.t
tests_stack_raw_SOURCES = tests/stack_raw.c tests/stack_make.h
test_public += tests/azint_corners
tests_azint_corners_SOURCES = tests/azint_corners.c tests/azint_sums.h tests/azint_oracle.h tests/stack_make.h \
    tests/reference/azint_corners.h
tests_azint_corners_LDADD = libhalcyon.la $(HDF5_LIBS)
EXTRA_DIST += tests/reference/make_azint_corners.py
test_public += tests/stack_grow
tests_stack_grow_SOURCES = tests/stack_grow.c tests/stack_make.h tests/stack_read.h
test_scripts += tests/follow.t tests/detector.t tests/corrections.t
test_public += tests/corrections
tests_corrections_SOURCES = tests/corrections.c tests/stack_make.h
tests_corrections_LDADD = libhalcyon.la $(HDF5_LIBS)
tests_stack_grow_LDADD = libhalcyon.la $(HDF5_LIBS)
test_public += tests/h5plugin
tests_h5plugin_SOURCES = tests/h5plugin.c tests/stack_make.h tests/stack_read.h
tests_h5plugin_LDADD = libhalcyon.la $(HDF5_LIBS)
EXTRA_DIST += tests/reference/h5plugin.py
test_public += tests/simulate
tests_simulate_SOURCES = tests/simulate.c src/cli/simulate.h src/cli/simulate_image.c src/cli/simulate_noise.c

# Azimuthal integration: geometry files, plans, curves.
test_public += tests/azint_poni tests/azint_geometry tests/azint_plan tests/azint_curve \
    tests/azint_reference
tests_azint_poni_SOURCES = tests/azint_poni.c tests/reference/azint_cases.h
tests_azint_geometry_SOURCES = tests/azint_geometry.c tests/azint_oracle.h tests/reference/azint_cases.h
tests_azint_plan_SOURCES = tests/azint_plan.c tests/azint_scene.h tests/azint_oracle.h
tests_azint_curve_SOURCES = tests/azint_curve.c tests/azint_scene.h tests/azint_oracle.h
tests_azint_reference_SOURCES = tests/azint_reference.c tests/azint_oracle.h
tests_azint_reference_LDADD = libhalcyon.la $(HDF5_LIBS) $(LZ4_LIBS)
test_public += tests/azint_arrays tests/azint_2d
test_internal += tests/azint_cache
tests_azint_cache_SOURCES = tests/azint_cache.c tests/azint_scene.h tests/azint_oracle.h
tests_azint_cache_LDADD = libinternal.la
tests_azint_2d_SOURCES = tests/azint_2d.c tests/azint_sums.h tests/azint_oracle.h tests/reference/azint_2d.h
test_public += tests/azint_filter
tests_azint_filter_SOURCES = tests/azint_filter.c tests/azint_oracle.h tests/reference/azint_filter.h
tests_azint_arrays_SOURCES = tests/azint_arrays.c tests/azint_oracle.h tests/reference/azint_arrays.h
EXTRA_DIST += tests/reference/make_azint.py tests/reference/make_azint_arrays.py \
    tests/reference/make_azint_filter.py tests/reference/make_azint_2d.py tests/reference/read_curves.py \
    tests/reference/check_config.py \
    tests/reference/write_inputs.py
test_scripts += tests/peers.t

# Non-uniform FFTs.
test_public += tests/nufft_kernels tests/nufft tests/nufft_plan tests/nufft_many tests/nufft_cli tests/nufft_finufft

test_internal += tests/nufft_lacks
tests_nufft_lacks_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=hcy_kernel_get -Wl,--wrap=hcy_device_get_info
tests_nufft_lacks_LDADD = libinternal.la

# The text of backends/gpu/nufft/pencil.cl with several options, on the host.
test_public += tests/nufft_pencil
pencil_flags = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DBATCH=32 -DRESIDENT=1
pencils = libpencil1.la libpencil2.la libpencil3.la libpencil4.la libpencil5.la libpencil6.la libpencil7.la
check_LTLIBRARIES += $(pencils)
tests_nufft_pencil_LDADD = $(pencils) libhalcyon.la
EXTRA_DIST += tests/lanes.h

# That of backends/gpu/nufft/settle.cl.
test_public += tests/nufft_settle
tests_nufft_settle_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -DPLACES=64 -DREAL=double -DPRECISION=2 -DDIM=2 \
    -DXB=2 -DYB=1 -DZS=3 -DGROUP_SIZE=64 -DBUCKET=256 -DFIXED=0 -DPOINT=double
libpencil1_la_SOURCES = tests/nufft_pencil_case.c
libpencil1_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_3d_float -DPLACES=32 -DREAL=float -DPRECISION=1 -DDIM=3 \
    -DWIDTH=4u -DXB=5 -DYB=3 -DZS=4 -DGROUP_SIZE=64 -DVECTORS=2 -DSPREADS=1
libpencil2_la_SOURCES = tests/nufft_pencil_case.c
libpencil2_la_CPPFLAGS = $(pencil_flags) -DCASE=interp_3d_double -DPLACES=64 -DREAL=double -DPRECISION=2 -DDIM=3 \
    -DWIDTH=5u -DXB=4 -DYB=2 -DZS=9 -DGROUP_SIZE=64 -DVECTORS=2 -DSPREADS=0
libpencil3_la_SOURCES = tests/nufft_pencil_case.c
libpencil3_la_CPPFLAGS = $(pencil_flags) -DCASE=interp_2d_float -DPLACES=48 -DREAL=float -DPRECISION=1 -DDIM=2 \
    -DWIDTH=7u -DXB=3 -DYB=1 -DZS=2 -DGROUP_SIZE=32 -DVECTORS=1 -DSPREADS=0
libpencil4_la_SOURCES = tests/nufft_pencil_case.c
libpencil4_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_1d_double -DPLACES=64 -DREAL=double -DPRECISION=2 -DDIM=1 \
    -DWIDTH=11u -DXB=1 -DYB=1 -DZS=118 -DGROUP_SIZE=32 -DVECTORS=2 -DSPREADS=1
libpencil5_la_SOURCES = tests/nufft_pencil_case.c
libpencil5_la_CPPFLAGS = $(pencil_flags) -DCASE=interp_1d_float -DPLACES=64 -DREAL=float -DPRECISION=1 -DDIM=1 \
    -DWIDTH=6u -DXB=1 -DYB=1 -DZS=59 -DGROUP_SIZE=32 -DVECTORS=1 -DSPREADS=0
libpencil6_la_SOURCES = tests/nufft_pencil_case.c
libpencil6_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_1d_float -DPLACES=64 -DREAL=float -DPRECISION=1 -DDIM=1 \
    -DWIDTH=6u -DXB=1 -DYB=1 -DZS=59 -DGROUP_SIZE=32 -DVECTORS=1 -DSPREADS=1 -DPOINTS=420
libpencil7_la_SOURCES = tests/nufft_pencil_case.c
libpencil7_la_CPPFLAGS = $(pencil_flags) -DCASE=spread_3d_double -DPLACES=64 -DREAL=double -DPRECISION=2 -DDIM=3 \
    -DWIDTH=5u -DXB=6 -DYB=3 -DZS=4 -DGROUP_SIZE=64 -DVECTORS=1 -DSPREADS=1
test_scripts += tests/nufft_data.t tests/fftw_memory.t
test_public += tests/nufft_wisdom tests/nufft_direct tests/nufft_widths tests/nufft_use
tests_nufft_use_SOURCES = tests/nufft_use.c tests/nufft_oracle.h tests/cts.h tests/cts_gate.h
# The text of backends/gpu/bslz4/parse_lanes.cl, on the host.
test_public += tests/parse_lanes
tests_parse_lanes_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu
tests_nufft_direct_SOURCES = tests/nufft_direct.c tests/nufft_oracle.h
tests_nufft_wisdom_SOURCES = tests/nufft_wisdom.c tests/nufft_oracle.h
tests_nufft_widths_SOURCES = tests/nufft_widths.c tests/nufft_oracle.h
test_public += tests/nufft_order
tests_nufft_order_SOURCES = tests/nufft_order.c tests/nufft_oracle.h
tests_nufft_many_SOURCES = tests/nufft_many.c tests/nufft_oracle.h
tests_nufft_finufft_SOURCES = tests/nufft_finufft.c tests/nufft_oracle.h
tests_nufft_cli_SOURCES = tests/nufft_cli.c tests/nufft_oracle.h
tests_nufft_SOURCES = tests/nufft.c tests/nufft_oracle.h
tests_nufft_plan_SOURCES = tests/nufft_plan.c tests/nufft_oracle.h

# Many frames over many devices, and the command.
test_internal += tests/pipeline
tests_pipeline_SOURCES = tests/pipeline.c tests/pipeline_scene.h
tests_pipeline_LDADD = libinternal.la
test_public += tests/pipeline_norm tests/callbacks
tests_callbacks_SOURCES = tests/callbacks.c tests/pipeline_scene.h
tests_pipeline_norm_SOURCES = tests/pipeline_norm.c tests/pipeline_scene.h
test_internal += tests/pipeline_refuse
tests_pipeline_refuse_SOURCES = tests/pipeline_refuse.c tests/pipeline_scene.h
tests_pipeline_refuse_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=hcy_launch -Wl,--wrap=hcy_kernel_preferred_batch
tests_pipeline_refuse_LDADD = libinternal.la
test_internal += tests/pipeline_rows
tests_pipeline_rows_SOURCES = tests/pipeline_rows.c tests/pipeline_scene.h
tests_pipeline_rows_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=hcy_buffer_read
tests_pipeline_rows_LDADD = libinternal.la
test_internal += tests/pipeline_push
tests_pipeline_push_SOURCES = tests/pipeline_push.c tests/pipeline_scene.h
tests_pipeline_push_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
    -Wl,--wrap=posix_memalign -Wl,--wrap=aligned_alloc
tests_pipeline_push_LDADD = libinternal.la
check_PROGRAMS += tests/cli_json
test_scripts += tests/locale.t tests/valgrind.t tests/convert.t tests/inject.t tests/endings.t tests/outputs.t tests/aarch64.t
EXTRA_DIST += tests/inject.c
test_internal += tests/mutations
tests_mutations_SOURCES = tests/mutations.c tests/mutate.h tests/bslz4_ref.h tests/stack_make.h tests/stack_read.h
tests_mutations_CPPFLAGS = $(tests_bslz4_CPPFLAGS)
tests_mutations_LDADD = libinternal.la $(LZ4_LIBS)
test_public += tests/stack_writer
tests_stack_writer_SOURCES = tests/stack_writer.c tests/stack_make.h tests/stack_read.h
tests_stack_writer_LDADD = libhalcyon.la $(HDF5_LIBS)
test_scripts += tests/fpga_model.t tests/hls_lint.t tests/hls_report.t
test_scripts += tests/cli.t tests/cli_filter.t tests/cli_real.t tests/plot.t tests/monitor.t tests/cli_config.t \
    tests/cli_bench.t tests/xrt_curves.t

# Fuzz targets, on damaged seeds in the suite.  Under libFuzzer: configure with CC=clang
# CFLAGS='-g -O1 -fsanitize=fuzzer-no-link' --enable-sanitizer=address, then make fuzzers.
fuzz_targets = tests/fuzz.h tests/fuzz_codecs.c tests/fuzz_files.c tests/fuzz_texts.c tests/fuzz_results.c tests/stack_make.h \
    tests/stack_images.h tests/bslz4_ref.h tests/pipeline_scene.h tests/azint_scene.h tests/azint_oracle.h \
    h5plugin/codec.h h5plugin/codec.c h5plugin/host.h h5plugin/host.c
test_internal += tests/fuzz
tests_fuzz_SOURCES = tests/fuzz.c tests/mutate.h $(fuzz_targets)
tests_fuzz_CPPFLAGS = $(tests_bslz4_CPPFLAGS) -I$(srcdir)/h5plugin
tests_fuzz_LDADD = libinternal.la $(LZ4_LIBS) $(ZSTD_LIBS)
EXTRA_PROGRAMS += tests/fuzz_libfuzzer
CLEANFILES += tests/fuzz_libfuzzer
fuzzers: tests/fuzz_libfuzzer
.PHONY: fuzzers
tests_fuzz_libfuzzer_SOURCES = tests/fuzz_libfuzzer.c $(fuzz_targets)
tests_fuzz_libfuzzer_CPPFLAGS = $(tests_fuzz_CPPFLAGS)
tests_fuzz_libfuzzer_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_libfuzzer_LDADD = $(tests_fuzz_LDADD)

# Drivers of OpenCL, which come with compilers, are there for the tests that are about them; not for their own bugs.
if SANITIZER
test_drivers = 'echo "1..0 \# SKIP drivers of OpenCL do not run under sanitizers"; exit 0'
else
test_drivers = 'unset OCL_ICD_VENDORS'
endif

cts_device = drivers=:; run=; case $$config in \
    cpu) device=cpu@threads=2;; \
    cuda) device=cuda:0;; \
    cpu-1) device=cpu@threads=1;; \
    cpu-discrete) device=cpu@threads=2@discrete=1;; \
    null-noop) device=null@kernels=noop;; \
    null-wait) device=null@kernels=noop@wait=host;; \
    opencl) device=opencl:0; drivers=$(test_drivers);; \
    opencl-few) device="opencl:0' 'few"; drivers=$(test_drivers);; \
    xrt) device="xrt:0' 'xrt:1"; run='sh "$$top_srcdir"/tests/virtual-board/run ';; \
    xrt-one) device="xrt:0' 'one"; run='sh "$$top_srcdir"/tests/virtual-board/run ';; \
    xrt-all) device=; drivers=$(test_drivers); run='sh "$$top_srcdir"/tests/virtual-board/run ';; \
    xrt-alone) device=xrt:0; run='sh "$$top_srcdir"/tests/virtual-board/run ';; \
    xrt-channels) device="xrt:0' 'cpu"; run='sh "$$top_srcdir"/tests/virtual-board/run -p channels ';; \
    xrt-links) device="xrt:0' 'one"; run='sh "$$top_srcdir"/tests/virtual-board/run -p channels ';; \
    xrt-ddr) device="xrt:1' 'cpu"; run='sh "$$top_srcdir"/tests/virtual-board/run -p ddr ';; \
    opencl-atomics32) device="opencl:0@atomics=32' 'one"; drivers=$(test_drivers);; \
    opencl-discrete) device=opencl:0@discrete=1; drivers=$(test_drivers);; \
    opencl-profile) device=opencl:0@profile=1@discrete=1; drivers=$(test_drivers);; \
    cpu-*) device=cpu@threads=2@simd=`expr $$config : "cpu-\(.*\)"`;; \
    *) device=$$config;; esac

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
    tests/nufft_many-opencl.t tests/nufft_many-cuda.t \
    tests/azint_large-opencl.t tests/azint_large-cuda.t \
    tests/azint_kernels-opencl-atomics32.t tests/azint_filter-opencl-few.t \
    tests/opencl-opencl.t tests/opencl-opencl-discrete.t \
    tests/cts_buffer-opencl-discrete.t tests/cts_queue-opencl-discrete.t tests/cts_failure-opencl-discrete.t \
    tests/cts_lifetime-opencl-discrete.t tests/cts_threads-opencl-discrete.t tests/cts_queue-opencl-profile.t
cts_launchers += $(cts_programs:=-xrt.t) tests/cts_buffer-xrt-ddr.t tests/cts_kernel-xrt-ddr.t \
    tests/cts_threads-xrt-ddr.t tests/azint_kernels-xrt-one.t tests/bslz4_decode-xrt-alone.t \
    tests/xrt_together-xrt-all.t tests/cts_buffer-xrt-channels.t tests/cts_kernel-xrt-channels.t \
    tests/azint_kernels-xrt-links.t
cts_launchers += $(cts_programs:=-cuda.t) tests/bslz4_decode-cuda.t tests/azint_kernels-cuda.t \
    tests/azint_filter-cuda.t
$(cts_launchers): tests/local.mk
	@$(MKDIR_P) tests; name=$(@F); name=$${name%.t}; config=$${name#*-}; $(cts_device); \
	    { echo "$$drivers"; echo "exec $${run}tests/$${name%%-*} '$$device'"; } > $@

test_internal += tests/azint_ops
tests_azint_ops_SOURCES = tests/azint_ops.c tests/azint_oracle.h
tests_azint_ops_CPPFLAGS = $(tests_bslz4_CPPFLAGS)
tests_azint_ops_LDADD = libinternal.la
test_internal += tests/azint_kernels
tests_azint_kernels_SOURCES = tests/azint_kernels.c tests/azint_oracle.h tests/tap.h
tests_azint_kernels_LDADD = libinternal.la

# FPGA cards.
test_internal += tests/hls_args
tests_hls_args_LDADD = libinternal.la
check_PROGRAMS += tests/xrt tests/xrt_together
tests_xrt_together_SOURCES = tests/xrt_together.c tests/pipeline_scene.h
xrt_launchers = tests/xrt-names.t tests/xrt-programs.t tests/xrt-alloc.t tests/xrt-hang.t tests/xrt-fault.t tests/xrt-lose.t \
    tests/xrt-shared.t
$(xrt_launchers): tests/local.mk
	@$(MKDIR_P) tests; what=$(@F:xrt-%.t=%); case $$what in \
	    alloc) o='--fail-alloc 2';; hang) o='--hang-run 1';; fault) o='--fault-run 2';; lose) o='--lose-run 2';; shared) o='-p ddr';; *) o=;; esac; \
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

test_public += tests/azint_large tests/hostqueue
tests_hostqueue_SOURCES = tests/hostqueue.c tests/tap.h
tests_azint_large_SOURCES = tests/azint_large.c tests/azint_oracle.h tests/tap.h
test_internal += tests/nvrtc
tests_nvrtc_SOURCES = tests/nvrtc.c tests/tap.h
tests_nvrtc_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/backends/gpu -I$(srcdir)/backends/cuda
tests_nvrtc_LDADD = libinternal.la

check_PROGRAMS += tests/opencl
test_scripts += tests/opencl.t
check_PROGRAMS += $(test_public) $(test_internal) $(cts_programs)
TESTS += $(test_public) $(test_internal) $(cts_launchers) $(xrt_launchers) $(test_scripts)
LDADD = libhalcyon.la
EXTRA_DIST += tests/tap.h tests/cli.sh tests/run-test $(test_scripts)
CLEANFILES += $(cts_launchers) $(xrt_launchers)

clean-local:
	rm -rf tests/cache tests/aarch64 tests/reversed

AM_TESTS_ENVIRONMENT = \
    HALCYON_BACKEND_PATH='$(abs_top_builddir)/.libs'; export HALCYON_BACKEND_PATH; \
    HALCYON_TEST_DATA=$${HALCYON_TEST_DATA-`cd '$(abs_top_srcdir)' && pwd`/../shared/data}; export HALCYON_TEST_DATA; \
    HALCYON_CACHE_DIR='$(abs_top_builddir)/tests/cache'; export HALCYON_CACHE_DIR; \
    HALCYON='$(abs_top_builddir)/halcyon'; export HALCYON; \
    OCL_ICD_VENDORS='$(abs_top_builddir)/no-drivers'; export OCL_ICD_VENDORS; \
    top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; export top_srcdir top_builddir; \
    CC='$(CC)'; CXX='$(HCY_CXX)'; NM='$(NM_TOOL)'; export CC CXX NM; \
    HCY_SANITIZER='$(HCY_LDFLAGS)'; export HCY_SANITIZER; \
    HCY_HEADERS='$(halcyoninclude_HEADERS)'; HCY_HDF5='$(HDF5_LIBS)'; HCY_TIFF='$(TIFF_LIBS)'; \
    export HCY_HEADERS HCY_HDF5 HCY_TIFF; \
    ASAN_OPTIONS=$${ASAN_OPTIONS-detect_leaks=1:allocator_may_return_null=1}; export ASAN_OPTIONS; \
    TSAN_OPTIONS=$${TSAN_OPTIONS-halt_on_error=1:allocator_may_return_null=1}; export TSAN_OPTIONS;
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-test
TEST_EXTENSIONS = .t
T_LOG_DRIVER = $(LOG_DRIVER)
T_LOG_COMPILER = $(LOG_COMPILER)
