# Codecs of detector data.
halcyoninclude_HEADERS += src/bslz4/halcyon/bslz4.h families/bslz4/bslz4_format.h
libcore_la_SOURCES += families/bslz4/bslz4_format.h families/bslz4/bslz4_bits.h families/bslz4/bslz4_job.h families/bslz4/kernels.def src/bslz4/bslz4_priv.h \
    src/bslz4/table.c src/bslz4/walk.c src/bslz4/encode.c src/bslz4/decode.c
dist_man_MANS += doc/halcyon_bslz4.3
