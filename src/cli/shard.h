/* shard.h - one of several processes or machines that share a stack's frames; see shard.c. */
#ifndef HCY_CLI_SHARD_H
#define HCY_CLI_SHARD_H

#include "cli.h"
#include <halcyon/stack.h>

#define CLI_SHARD_OPTION(at)                                                                                         \
    {                                                                                                                \
        "shard", 0, CLI_TEXT, at, "I/N", "part I of N of the frames (auto: MPI, Slurm) to a file", 0, 0, NULL        \
    }

/* "2/4" or "auto": number and count alone.  NULL is no part: count 0.  CLI_OK, or CLI_USAGE with a message. */
int shard_parse(hcy_shard *shard, const char *text);
/* The part's name for an output: "run.h5" is "run.2-of-4.h5".  What is no file of a name of its own ("-"; a series
 * with %d, unless `is_one_file`) stays.  CLI_OK, or CLI_FAILED with a message. */
int shard_output(char *out, size_t size, const char *path, const hcy_shard *shard, int is_one_file);
/* Of frames *first to *last - 1, which become those of all parts, the part's own: *first is *last, after a message, if
 * it has none.  Without a part nothing changes. */
int shard_deal(uint64_t *first, uint64_t *last, hcy_shard *shard);

#endif
