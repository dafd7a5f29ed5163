# The halcyon command, one file a subcommand.
bin_PROGRAMS += halcyon
halcyon_LDFLAGS = $(HCY_LDFLAGS)
halcyon_SOURCES = src/cli/cli.h src/cli/main.c src/cli/options.c src/cli/print.c src/cli/lacks.c src/cli/info.c src/cli/info_arrays.h src/cli/info_arrays.c src/cli/kind.h src/cli/kind.c src/cli/inputs.h src/cli/inputs.c src/cli/mask.h src/cli/mask.c \
    src/cli/timer.h src/cli/progress.h src/cli/progress.c src/cli/interrupt.h src/cli/interrupt.c \
    src/cli/group.h src/cli/group.c src/cli/integrate.h src/cli/integrate_options.c src/cli/integrate_job.h src/cli/integrate_report.c src/cli/integrate_output.c src/cli/integrate.c \
    src/cli/shard.h src/cli/shard.c src/cli/merge.h src/cli/merge.c src/cli/integrate_layout.c \
    src/cli/process_wire.h src/cli/process_worker.c src/cli/processes.h src/cli/processes.c \
    src/cli/guard.h src/cli/guard.c src/cli/frames.h src/cli/frames.c src/cli/convert.c src/cli/sum.c src/cli/roi.h src/cli/roi.c \
    src/cli/plot.h src/cli/plot.c src/cli/plot_script.c src/cli/plot_terminal.c src/cli/plot_screen.c \
    src/cli/plot_frames.c src/cli/plot_array.c src/cli/frame_sum.h src/cli/frame_sum.c src/cli/plot_results.h src/cli/plot_results.c \
    src/cli/plot_rings.h src/cli/plot_rings.c src/cli/gnuplot.h src/cli/gnuplot.c src/cli/devices.c src/cli/arrays.h src/cli/arrays.c src/cli/points.h src/cli/points.c src/cli/nufft.c \
    src/cli/recon.h src/cli/recon.c src/cli/recon_load.c src/cli/recon_mrd.c src/cli/recon_epi.c src/cli/recon_place.c src/cli/recon_whiten.c src/cli/recon_field.c src/cli/recon_trajectory.c src/cli/recon_frames.c src/cli/recon_stack.c src/cli/recon_reg.c src/cli/recon_devices.c src/cli/recon_weights.c src/cli/recon_operator.c src/cli/recon_solve.c \
    src/cli/bench.c src/cli/stage.h src/cli/stage.c src/cli/bench_tune.c src/cli/bench_tune.h src/cli/bench_nufft.h \
    src/cli/bench_nufft.c src/cli/finufft.h src/cli/finufft.c src/cli/bench_problem.h src/cli/bench_problem.c src/cli/simulate.c src/cli/simulate.h \
    src/cli/simulate_image.c src/cli/simulate_noise.c src/cli/simulate_mri.h src/cli/simulate_mri.c \
    src/cli/mri_phantom.h src/cli/mri_phantom.c src/cli/mri_trajectory.c
halcyon_SOURCES += src/cli/follow.h src/cli/follow.c src/cli/failures.h src/cli/failures.c src/cli/geometry.h src/cli/geometry.c src/cli/raw.h src/cli/raw.c src/cli/pixels.h src/cli/pixels.c src/cli/regions.h src/cli/regions.c src/cli/sparse.h src/cli/sparse.c src/cli/saved_config.h src/cli/saved_config.c src/cli/rings.h src/cli/rings.c
halcyon_SOURCES += src/cli/calibrate.h src/cli/calibrate_frame.h src/cli/calibrate.c src/cli/calibrate_frame.c \
    src/cli/calibrate_points.c src/cli/calibrate_pattern.h src/cli/calibrate_pattern.c src/cli/calibrate_search.c src/cli/calibrate_plot.c
# Live streams.
halcyon_SOURCES += src/cli/live.h src/cli/simulate_stream.h src/cli/sender.h src/cli/wire.h
if HAVE_ZMQ
halcyon_SOURCES += src/cli/live_priv.h src/cli/live.c src/cli/live_plan.c src/cli/live_series.c src/cli/tally.h src/cli/tally.c \
    src/cli/wire.c src/cli/sender.c src/cli/simulate_stream.c src/cli/stream_write.h src/cli/stream_write.c src/cli/record.h src/cli/record.c src/cli/publish.h src/cli/publish.c \
    src/cli/watch.h src/cli/watch.c
endif
# What ranks would take.
halcyon_SOURCES += src/cli/scale_model.c src/cli/scale_time.h src/cli/scale_time.c
# The model of the FPGA kernels stands beside them.
halcyon_SOURCES += src/cli/fpga_model.c
halcyon_CPPFLAGS = $(AM_CPPFLAGS) $(ZMQ_CFLAGS) -I$(srcdir)/kernels_hls
halcyon_LDADD = libhls_plan.la libhalcyon.la $(ZMQ_LIBS)
# Reports are JSON, read and written by jansson.
halcyon_SOURCES += src/cli/compare.h src/cli/compare.c
if HAVE_JANSSON
halcyon_SOURCES += src/cli/compare_value.c src/cli/compare_machine.c src/cli/compare_apart.c src/cli/compare_run.c \
    src/cli/compare_measure.c src/cli/compare_folder.c src/cli/compare_limits.c src/cli/compare_energy.c src/cli/compare_nufft.c \
    src/cli/compare_pyfai.c src/cli/compare_table.c src/cli/compare_caveats.c src/cli/compare_page.c src/cli/compare_charts.h src/cli/compare_charts.c src/cli/compare_charts_lists.c \
    src/cli/compare_svg.h src/cli/compare_svg.c
halcyon_LDADD += $(JANSSON_LIBS)
endif
