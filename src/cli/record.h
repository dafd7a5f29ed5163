/* record.h - a stream as it came, in a file: part after part, each behind its length (64 bits, little-endian, signed).
 * LiberTEM's dumps of DECTRIS streams are of that form.  Single-threaded. */
#ifndef HCY_CLI_RECORD_H
#define HCY_CLI_RECORD_H

#include "cli.h"
#include <halcyon/kernel.h>

struct record;

/* Writing; CLI_OK, or CLI_FAILED after a message. */
int record_create(struct record **record, const char *path);
/* What cannot be written is told once, and is record_close()'s failure. */
void record_add(struct record *record, const hcy_span *parts, size_t n);

/* Reading: the next message; its parts stay until the next call.  1, 0 at the end, -1 after a message. */
int record_open(struct record **record, const char *path);
int record_next(const hcy_span **parts, size_t *n, struct record *record);

/* CLI_OK, or CLI_FAILED after a message: what was written did not arrive.  NULL is fine. */
int record_close(struct record *record);

#endif
