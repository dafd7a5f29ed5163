# Azimuthal integration: geometry, plans, results.  A plan's bits must not depend on the compiler's mood, so this room
# is a library of its own, compiled without contraction of a * b + c.
noinst_LTLIBRARIES += libazint.la
libcore_la_LIBADD += libazint.la
libazint_la_CFLAGS = $(AM_CFLAGS) $(HCY_NO_CONTRACT) $(HCY_VECTORIZE) $(HCY_QUIET_MATH)
libazint_la_SOURCES = families/azint/azint_format.h families/azint/kernels.def src/azint/azint_priv.h \
    families/azint/azint_wide.h families/azint/azint_runs.h families/azint/azint_eight_avx2.h families/azint/azint_pick.h families/azint/azint_pixels.h families/azint/azint_job.h \
    families/azint/azint_arguments.h src/azint/build.h src/azint/flatjson.h src/azint/plain_locale.h src/azint/poni.h \
    src/azint/units.def src/azint/sensors.def src/azint/calibrants.def src/azint/calibrant.c src/azint/fibre.c src/azint/build.c src/azint/cache.c src/azint/cache_prune.c src/azint/cache_read.c \
    src/azint/check.c \
    src/azint/detector.c src/azint/detector_mask.c src/azint/detector_pixels.c src/azint/detector.h \
    src/azint/flatjson.c src/azint/geometry.c src/azint/gradient.c src/azint/hash.c src/azint/job.c \
    src/azint/map.c src/azint/norm.c src/azint/plan.c src/azint/poni.c src/azint/refine.c src/azint/result.c src/azint/row.c \
    src/azint/split.c src/azint/share_loops.c src/azint/share_loops.h src/azint/unit.c src/azint/weigh.c \
    src/azint/parallax.c
halcyoninclude_HEADERS += src/azint/halcyon/azint.h src/azint/halcyon/calibrate.h families/azint/azint_format.h
dist_man_MANS += doc/halcyon_azint.3 doc/halcyon_calibrate.3

# Loops over the many bins of a pixel and over rows of pixels, for processors that have these instructions.
libazint_la_CPPFLAGS = $(AM_CPPFLAGS)
if X86_SIMD
libazint_la_CPPFLAGS += -DHCY_AZINT_AVX2=1
noinst_LTLIBRARIES += libazint_avx2.la
libazint_la_LIBADD = libazint_avx2.la
libazint_avx2_la_CFLAGS = $(libazint_la_CFLAGS) $(HCY_AVX2_CFLAGS)
libazint_avx2_la_SOURCES = src/azint/share_loops_avx2.c src/azint/outlines_avx2.c src/azint/azimuths_avx2.c \
    src/azint/row_loops.h
endif
