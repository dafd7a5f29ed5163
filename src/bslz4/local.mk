# Codecs of detector data.
halcyoninclude_HEADERS += src/bslz4/halcyon/bslz4.h src/bslz4/bslz4_format.h
libcore_la_SOURCES += src/bslz4/bslz4_format.h src/bslz4/bslz4_bits.h src/bslz4/kernels.def src/bslz4/bslz4_priv.h \
    src/bslz4/table.c src/bslz4/walk.c src/bslz4/encode.c src/bslz4/decode.c
