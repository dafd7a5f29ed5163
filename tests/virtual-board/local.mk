# FPGA cards without cards: a driver to preload, the program that its cards are given, and the command that uses both.
EXTRA_DIST += tests/virtual-board/README.md tests/virtual-board/halcyon-virtual-board.in \
    tests/virtual-board/run

if VIRTUAL_BOARD
BOARD_CPPFLAGS = -I$(srcdir)/families
pkglib_LTLIBRARIES += virtual_board.la fpga_kernels.la
virtual_board_la_CPPFLAGS = $(BOARD_CPPFLAGS)
virtual_board_la_CFLAGS = $(HCY_PLAIN_CFLAGS)
virtual_board_la_LDFLAGS = -module -avoid-version -shared
virtual_board_la_SOURCES = tests/virtual-board/abi.h tests/virtual-board/board.h tests/virtual-board/platforms.h \
    tests/virtual-board/driver.c tests/virtual-board/files.c tests/virtual-board/interpose.c \
    tests/virtual-board/load.c tests/virtual-board/memory.c tests/virtual-board/share.c tests/virtual-board/units.c \
    kernels_hls/args.c kernels_hls/args.h backends/xrt/xclbin_format.h

# Linked by the C++ compiler, which a source that is not there asks for.
fpga_kernels_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
fpga_kernels_la_SOURCES = kernels_hls/table.c kernels_hls/args.h
nodist_EXTRA_fpga_kernels_la_SOURCES = kernels_hls/none.cpp
fpga_kernels_la_LIBADD = libhls.la

noinst_PROGRAMS += mkxclbin
mkxclbin_CPPFLAGS = $(BOARD_CPPFLAGS)
mkxclbin_SOURCES = tests/virtual-board/mkxclbin.c tests/virtual-board/platforms.h kernels_hls/args.c \
    kernels_hls/args.h backends/xrt/xclbin_format.h
mkxclbin_LDADD =

board_xclbins = virtual_hbm.xclbin virtual_ddr.xclbin virtual_channels.xclbin
$(board_xclbins): mkxclbin fpga_kernels.la $(srcdir)/kernels_hls/link.cfg
	$(AM_V_GEN)platform=$(@:virtual_%.xclbin=%); case $$platform in channels) l='-l $(srcdir)/kernels_hls/link.cfg';; *) l=;; esac; \
	    ./mkxclbin -p $$platform $$l .libs/fpga_kernels.so $@
board_DATA += $(board_xclbins)

# A program of a user's own, which the tests load.
check_LTLIBRARIES += user_kernels.la
user_kernels_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
user_kernels_la_SOURCES = tests/virtual-board/user_kernels.c kernels_hls/args.h
user_xclbins = user_hbm.xclbin user_ddr.xclbin
$(user_xclbins): mkxclbin user_kernels.la $(srcdir)/tests/virtual-board/user_link.cfg
	$(AM_V_GEN)./mkxclbin -l $(srcdir)/tests/virtual-board/user_link.cfg -p $(@:user_%.xclbin=%) .libs/user_kernels.so $@
EXTRA_DIST += tests/virtual-board/user_link.cfg
check_DATA = $(user_xclbins)
CLEANFILES += $(user_xclbins)
bin_SCRIPTS += halcyon-virtual-board
halcyon-virtual-board: tests/virtual-board/halcyon-virtual-board.in Makefile
	$(AM_V_GEN)lib='$(pkglibdir)'; sed -e 's#@pkglibdir@#$(pkglibdir)#' -e "s|@pkglib@|$${lib#'$(exec_prefix)'/}|g" \
	    $(srcdir)/tests/virtual-board/halcyon-virtual-board.in > $@.tmp && \
	    chmod +x $@.tmp && mv $@.tmp $@
CLEANFILES += $(board_xclbins) halcyon-virtual-board
endif
