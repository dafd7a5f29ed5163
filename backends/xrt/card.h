/* card.h - XRT behind functions of ours: card.c is the only file that knows its C API.
 *
 * Handles are XRT's.  XRT prints what went wrong into its log, which is switched off, and its errno cannot be relied
 * on: a failure is told by its result alone.  Thread-safe, but for one run or one buffer at a time.
 */
#ifndef HCY_XRT_CARD_H
#define HCY_XRT_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library: 0, or HCY_ENODEV with the reason. */
int card_load_library(void);

/* NULL: it cannot be opened.  A card stays open: each time that it is opened XRT leaves a thread behind. */
void *card_open(const char *bdf);
/* The program must have been checked (xclbin.h): XRT crashes on damaged ones. */
bool card_program(void *card, const void *xclbin);

/* A compute unit: "kernel:{instance}", shared with others. */
void *card_unit_open(void *card, const unsigned char uuid[16], const char *name);
void card_unit_close(void *unit);
int card_unit_group(void *unit, int argument); /* the memory that argument is connected to */

void *card_buffer(void *card, size_t size, uint32_t group); /* NULL: there is no room in that memory */
/* The host's side is the caller's: whole pages. */
void *card_buffer_of(void *card, void *host, size_t size, uint32_t group);
/* Memory of the host's that the card reads and writes itself. */
void *card_buffer_at_host(void *card, size_t size, uint32_t group);
void *card_view(void *buffer, size_t size, size_t offset);
void card_buffer_free(void *buffer);
void *card_buffer_host(void *buffer); /* the host's side of it */
/* When the process ends, XRT takes the host's side of buffers away: only between these it stays.  False: it is gone. */
bool card_enter(void);
void card_leave(void);
bool card_to(void *buffer, size_t offset, size_t size);
bool card_from(void *buffer, size_t offset, size_t size);

/* A run of a unit.  XRT can call back when it has ended, but uses the run behind that, so that it must not be closed
 * yet, and nobody says when it may be: its end is waited for instead. */
void *card_run_open(void *unit);
void card_run_close(void *run);
bool card_run_set_buffer(void *run, int argument, void *buffer);
bool card_run_set_number(void *run, int argument, uint64_t number);
bool card_run_set_real(void *run, int argument, double number); /* a float too */
bool card_run_start(void *run);
enum card_state { CARD_RUNS, CARD_DONE, CARD_FAILED };
enum card_state card_run_wait(int *code, void *run, unsigned milliseconds);

#endif
