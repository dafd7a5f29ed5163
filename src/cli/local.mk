# The halcyon command, one file a subcommand.
# bin_PROGRAMS += halcyon
# halcyon_SOURCES =
# halcyon_LDADD = libhalcyon.la
