/* gnuplot.h - gnuplot as a child process: its script on stdin, its picture from stdout, so that no name of a
 * file is ever seen by it or by a shell.  Single-threaded. */
#ifndef HCY_CLI_GNUPLOT_H
#define HCY_CLI_GNUPLOT_H

#include <stdio.h>

/* A text of gnuplot's in single quotes, in which nothing is a command; what is no UTF-8, or a control
 * character, becomes '?'. */
void gnuplot_text(FILE *script, const char *text);
/* Runs what was written to `script` (a tmpfile) and takes what it prints to `out`, a descriptor.  CLI_OK, or
 * CLI_FAILED after a message. */
int gnuplot_run(FILE *script, int out);
/* Copies a picture that was drawn (to a tmpfile) to a file, which is written whole or not at all.  CLI_*. */
int gnuplot_save(FILE *picture, const char *path);
/* Copies it to standard output. */
int gnuplot_print(FILE *picture);

#endif
