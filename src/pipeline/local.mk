# Many frames over many devices.
libcore_la_SOURCES += src/pipeline/pipeline_priv.h
halcyoninclude_HEADERS += src/pipeline/halcyon/pipeline.h
