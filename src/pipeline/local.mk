# Many frames over many devices.
libcore_la_SOURCES +=
