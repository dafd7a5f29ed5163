# Codecs of detector data.
halcyoninclude_HEADERS += src/bslz4/halcyon/bslz4.h src/bslz4/bslz4_format.h
libcore_la_SOURCES += src/bslz4/kernels.def
