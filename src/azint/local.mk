# Azimuthal integration: geometry, plans, results.  A plan's bits must not depend on the compiler's mood, so this room
# is a library of its own, compiled without contraction of a * b + c.
noinst_LTLIBRARIES += libazint.la
libcore_la_LIBADD += libazint.la
libazint_la_CFLAGS = $(AM_CFLAGS) $(HCY_NO_CONTRACT)
libazint_la_SOURCES = src/azint/kernels.def
halcyoninclude_HEADERS += src/azint/halcyon/azint.h src/azint/azint_format.h
