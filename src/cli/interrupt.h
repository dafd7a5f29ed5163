/* interrupt.h - runs that a signal ends early; see interrupt.c. */
#ifndef HCY_CLI_INTERRUPT_H
#define HCY_CLI_INTERRUPT_H

#include <halcyon/pipeline.h>

/* Once a process: signals that end it take away what is unfinished. */
void interrupt_begin(void);
/* Files of this run's own, texts that live as long as it: a signal that ends it removes them. */
void interrupt_removes(const char *path, const char *other);
/* From before the output is made until it is closed. */
void interrupt_catch(void);
void interrupt_release(void);
int interrupt_came(void);
/* A signal cancels this pipeline too, also one that has come already. */
void interrupt_cancels(hcy_pipeline *pipeline);

#endif
