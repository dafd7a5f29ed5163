# The null backend: the skeleton to copy, and its guide.
null_sources =
EXTRA_DIST +=
