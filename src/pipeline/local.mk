# Many frames over many devices.
libcore_la_SOURCES += src/pipeline/pipeline_priv.h src/pipeline/pipeline.c src/pipeline/regions.c src/pipeline/sparse.c src/pipeline/pull.c \
    src/pipeline/callback.h src/pipeline/callback.c src/pipeline/control.h src/pipeline/control.c \
    src/pipeline/reader.h src/pipeline/reader.c src/pipeline/slot.h src/pipeline/slot.c \
    src/pipeline/worker.h src/pipeline/worker.c src/pipeline/lane.c src/pipeline/share.c src/pipeline/divide.c \
    src/pipeline/launch.c src/pipeline/outcome.c \
    src/pipeline/output.h src/pipeline/output.c src/pipeline/push.h src/pipeline/push.c \
    src/pipeline/near.h src/pipeline/near.c src/pipeline/stats.h src/pipeline/stats.c src/pipeline/latency.c
halcyoninclude_HEADERS += src/pipeline/halcyon/pipeline.h
