# HDF5 in, HDF5 and text out.  What needs HDF5 stands inside the condition.
halcyoninclude_HEADERS += src/stack/halcyon/stack.h
libcore_la_SOURCES +=
if HAVE_HDF5
libcore_la_SOURCES +=
endif
