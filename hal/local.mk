# The abstraction: knows no vendor and no algorithm.
halcyoninclude_HEADERS += hal/halcyon/status.h hal/halcyon/device.h hal/halcyon/buffer.h hal/halcyon/queue.h \
    hal/halcyon/kernel.h hal/halcyon/family.h hal/halcyon/fft.h hal/halcyon/backend.h
libcore_la_SOURCES += hal/hal_priv.h hal/cache_map.h hal/sized.h hal/thread.h hal/buffer.c hal/cache.c hal/copy.c hal/device.c hal/family.c hal/faults.c hal/fft.c \
    hal/hostqueue.c hal/kernel.c hal/loader.c hal/command_records.c hal/memory.c hal/object.c hal/options.c hal/output.c hal/past_caches.c hal/program.c \
    hal/pool.c hal/processors.c hal/queue.c hal/registry.c hal/share.c hal/sized.c hal/spec.c hal/status.c hal/trace.c
