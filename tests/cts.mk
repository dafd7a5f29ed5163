# The conformance tests of a backend outside of Halcyon's source, with GNU make, in the current folder:
#
#     HALCYON_BACKEND_PATH=FOLDER_OF_THE_MODULE make -f .../cts.mk check DEVICE=NAME [DEVICE2=cpu]
#
# What is beside this file is compiled against the installed library, which pkg-config finds.
DEVICE ?= cpu
DEVICE2 ?= $(DEVICE)
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O1 -g
CTS_LIMIT ?= 300
areas = device buffer queue kernel fft failure threads lifetime pool trace fork share
programs = $(areas:%=cts_%)
here := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
# Behind the backend's own folder the installed ones: cts_trace has a null device beside.
modules = $${HALCYON_BACKEND_PATH:+$$HALCYON_BACKEND_PATH:}$$($(PKG_CONFIG) --variable=plugindir halcyon)

all: $(programs)

cts_%: $(here)cts_%.c $(wildcard $(here)*.h)
	$(CC) -std=c11 -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -I$(here)../families $(CPPFLAGS) $(CFLAGS) \
	    $$($(PKG_CONFIG) --cflags halcyon) -o $@ $< $(LDFLAGS) $$($(PKG_CONFIG) --libs halcyon) -pthread -lm

# Each program writes TAP; what failed is shown, and what was skipped.
check: $(programs)
	@failed=0; for area in $(areas); do \
	    HALCYON_BACKEND_PATH=$(modules) timeout $(CTS_LIMIT) ./cts_$$area '$(DEVICE)' '$(DEVICE2)' > cts_$$area.log 2>&1; status=$$?; \
	    grep -E -A 2 '^not ok|^Bail out' cts_$$area.log; grep -E '# SKIP' cts_$$area.log; \
	    if [ $$status -eq 0 ] && ! grep -q '^not ok' cts_$$area.log; then \
	        echo "PASS: cts_$$area: `grep -c '^ok' cts_$$area.log` checks"; \
	    else echo "FAIL: cts_$$area, status $$status: cts_$$area.log"; failed=1; fi; \
	done; exit $$failed

clean:
	rm -f $(programs) $(programs:=.log)

.PHONY: all check clean
