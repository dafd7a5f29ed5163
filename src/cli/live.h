/* live.h - halcyon integrate --stream: a detector's stream to curves, while it comes. */
#ifndef HCY_CLI_LIVE_H
#define HCY_CLI_LIVE_H

#include "integrate.h"

#ifdef HAVE_ZMQ
/* CLI_*, after messages. */
int cli_live(const struct integrate_values *values);
#else
static inline int cli_live(const struct integrate_values *values)
{
    return cli_error("%s: this halcyon was built without ZeroMQ (Debian: libzmq3-dev)", values->stream);
}
#endif

#endif
