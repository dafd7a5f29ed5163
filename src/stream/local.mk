# Messages of live detectors.  What receives them is the command's (src/cli): the library is not linked to ZeroMQ.
halcyoninclude_HEADERS += src/stream/halcyon/stream.h
dist_man_MANS += doc/halcyon_stream.3
libcore_la_SOURCES += src/stream/stream_priv.h src/stream/stream.c src/stream/stream_use.c src/stream/stream_v1.c \
    src/stream/cbor_reader.h src/stream/cbor_reader.c src/stream/stream_v2.c
