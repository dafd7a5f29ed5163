/* progress.h - one line on the terminal while frames are done, and the words about them afterwards.  All on stderr; the
 * line appears only where stderr is a terminal, and no dumb one.  It may be replaced and cleared from any thread, all
 * else is single-threaded. */
#ifndef HCY_CLI_PROGRESS_H
#define HCY_CLI_PROGRESS_H

#include "cli.h"
#include <halcyon/pipeline.h>

struct progress {
    int on;         /* there is a terminal, and it is wanted */
    int shown;      /* a line stands there */
    double start;   /* of timer_now */
};

/* Columns of the terminal that stderr is, 80 where nobody says. */
int progress_columns(void);
/* Cuts a line to what that terminal has room for: one that it breaks in two is not found again to be written over. */
void progress_cut(char *line);
/* Is stderr a terminal that writes a line anew?  A dumb one, as in an editor's window, shows the commands for that. */
int progress_has_terminal(void);
void progress_begin(struct progress *progress, int wanted);
double progress_seconds(const struct progress *progress);
/* Replaces the line. */
void progress_say(struct progress *progress, const char *fmt, ...) HCY_PRINTF(2, 3);
void progress_frames(struct progress *progress, const hcy_pipeline_stats *stats);
void progress_clear(struct progress *progress);

/* "frame" for one, "frames" for any other number. */
const char *frames_word(uint64_t n);
/* Frames, and two rates: of the run, and of each device while it had work.  setup: seconds before the run, in which
 * files and devices were opened and kernels compiled; source: what frames came from, "file" or "stream". */
void progress_summary(const hcy_pipeline_stats *stats, double setup, const char *source);
void progress_device_json(struct cli_json *json, const hcy_pipeline_device *device);

#endif
