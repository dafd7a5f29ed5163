/* kind.h - HDF5 files of this project's that hold neither frames nor curves.  Single-threaded. */
#ifndef HCY_CLI_KIND_H
#define HCY_CLI_KIND_H

#include "cli.h"

#define KIND_SPARSE_FRAMES "/entry_0000/sparse_frames" /* as `integrate --sparse` and pyFAI's sparsify have them */

enum kind { KIND_OTHER, KIND_SPARSE, KIND_KSPACE };

/* Told by the datasets that such a file has; KIND_OTHER, too, for what cannot be read. */
enum kind kind_of(const char *path);
/* KIND_SPARSE and KIND_KSPACE have no picture of their own: says so, and what has; CLI_FAILED. */
int kind_no_picture(const char *path, enum kind kind);

#endif
