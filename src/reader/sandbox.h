/* sandbox.h - what halcyon-h5-reader gives up before it reads a file.  It has one thread. */
#ifndef HCY_READER_SANDBOX_H
#define HCY_READER_SANDBOX_H

#include <stdint.h>

enum { MOST_QUESTION = 1 << 20 };

/* No descriptors but its own, no core files, so many bytes of address space, and, where the system has it, no calls but
 * those that reading needs.  0, or -1: limits cannot be set. */
int enter_sandbox(uint64_t memory);
/* So much of a processor's time from now on: past it comes SIGXCPU. */
void limit_time(unsigned seconds);

#endif
