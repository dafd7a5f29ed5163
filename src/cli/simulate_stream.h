/* simulate_stream.h - halcyon simulate as a detector's side: a stack as a stream, a recording played again. */
#ifndef HCY_CLI_SIMULATE_STREAM_H
#define HCY_CLI_SIMULATE_STREAM_H

#include "cli.h"

/* What the command line says of it. */
struct sim_stream {
    const char *address;      /* bound to; NULL: nothing is sent */
    const char *replay;       /* a recording, or NULL */
    const char *faults;       /* "drop=10,no-end", or NULL */
    const char *curve_secret; /* a file, or NULL */
    struct cli_int version, channels, series; /* series: how many, one after the other */
    struct cli_int frames;    /* of a series: the stack's, over and over; not given: each once */
    struct cli_real rate;     /* images a second; 0: as fast as they are taken */
    int encoding, quiet;
};
/* In the order of HCY_CODEC_NONE, BSLZ4, LZ4; NULL ends them. */
extern const char *const sim_encodings[];

#ifdef HAVE_ZMQ
/* Before anything is made: CLI_OK, or CLI_USAGE after a message. */
int sim_stream_check(const struct sim_stream *values);
/* Sends a stack's frames, or the recording.  CLI_*. */
int sim_stream_stack(const struct sim_stream *values, const char *path);
int sim_stream_replay(const struct sim_stream *values);
#else
static inline int sim_stream_check(const struct sim_stream *values)
{
    return !values->address ? CLI_OK : cli_error("%s: this halcyon was built without ZeroMQ (Debian: libzmq3-dev)", values->address);
}
static inline int sim_stream_replay(const struct sim_stream *values)
{
    return sim_stream_check(values);
}
static inline int sim_stream_stack(const struct sim_stream *values, const char *path)
{
    (void)path;
    return sim_stream_check(values);
}
#endif

#endif
