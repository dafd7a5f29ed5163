# Many frames over many devices.
libcore_la_SOURCES += src/pipeline/pipeline.c src/pipeline/slot.c src/pipeline/reader.c src/pipeline/worker.c \
    src/pipeline/output.c src/pipeline/push.c src/pipeline/callback.c src/pipeline/latency.c src/pipeline/pipeline_priv.h
halcyoninclude_HEADERS += src/pipeline/halcyon/pipeline.h
