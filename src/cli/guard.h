/* guard.h - no command writes over what it reads.  A command names all files that it reads, then all that it writes,
 * before it writes any.  Begin with a zeroed struct, end with guard_free(); single-threaded. */
#ifndef HCY_CLI_GUARD_H
#define HCY_CLI_GUARD_H

#include "cli.h"
#include <halcyon/stack.h>

struct guard {
    struct guard_file *files;
    size_t n, room;
    int failed; /* no memory for all of them */
};

/* FILE, FILE::/dataset or FILE.h5:DATASET, with FILE.cfl also FILE.hdr, here and below; `what` is for messages:
 * "--flat".  NULL, and what is not there, is fine. */
void guard_reads(struct guard *g, const char *what, const char *path);
void guard_reads_stack(struct guard *g, const hcy_stack *stack);
/* Device and inode of the file in `path`, up to its dataset.  0: it is not there, or writing to it destroys nothing. */
int guard_identify(uint64_t file[2], const char *path);
/* Before the work, whose results would be lost: `path` is no directory and none of the files that are read or were
 * named to this before, and can be written as far as can be told without doing it.  With %d in it and `first` before
 * `last`, all of these frames' (UINT64_MAX: not known yet); elsewhere a % is one of the name's characters.  "-" can be
 * written, NULL is fine.  CLI_OK, or CLI_FAILED with a message. */
int guard_writes(struct guard *g, const char *what, const char *path, uint64_t first, uint64_t last);
/* The same of what the environment wants written: HALCYON_TRACE. */
int guard_trace(struct guard *g);
/* For a command that reads a stack and a geometry, and writes nothing of its own. */
int guard_trace_alone(const hcy_stack *stack, const char *poni);
/* For a command that reads arrays, { what, path or NULL } each, and writes one to `out` and perhaps to `more` (NULL):
 * no input is lost, and one more dataset in an HDF5 file that is read is no loss. */
int guard_arrays(const char *const reads[][2], size_t n, const char *out, const char *more);
void guard_free(struct guard *g);

#endif
