# The null backend: the skeleton to copy, and its guide.
null_sources = backends/null/null.c
EXTRA_DIST += backends/null/README.md

builtin_libs += libnull_builtin.la
builtin_names += null
noinst_LTLIBRARIES += libnull_builtin.la
libnull_builtin_la_CPPFLAGS = $(AM_CPPFLAGS) -DHCY_BACKEND_STATIC
libnull_builtin_la_SOURCES = $(null_sources)
if !STATIC_BACKENDS
pkglib_LTLIBRARIES += hcy_null.la
hcy_null_la_LDFLAGS = $(module_ldflags)
hcy_null_la_LIBADD = libhalcyon.la
hcy_null_la_SOURCES = $(null_sources) families/families.c
endif
