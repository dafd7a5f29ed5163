/* live_priv.h - the parts of a live run: the run (live.c), its series one after the other (live_series.c), the plan of
 * each (live_plan.c).
 *
 * The thread that receives owns everything; the pipeline's sink touches of a series what is marked so, from its own
 * thread and one frame at a time. */
#ifndef HCY_CLI_LIVE_PRIV_H
#define HCY_CLI_LIVE_PRIV_H

#include "failures.h"
#include "geometry.h"
#include "group.h"
#include "integrate.h"
#include "pixels.h"
#include "publish.h"
#include "record.h"
#include "regions.h"
#include "sparse.h"
#include "tally.h"
#include "watch.h"
#include "wire.h"
#include <halcyon/stream.h>

/* What the frames of one series are integrated with. */
struct live_plan {
    hcy_poni poni;
    struct cli_geometry geometry;
    hcy_azint_options azint;
    char cache[1024];
    uint8_t *mask;
    float *arrays[4]; /* what azint's pointers point at */
    struct pixels pixels;
    hcy_azint_plan *plan;
};
/* Reads the files that plans are made from, before a detector sends what cannot be sent again.  CLI_*. */
int live_plan_check(const struct integrate_values *values);
/* From a start message, whose height and width are known.  CLI_*; to be freed also after a failure. */
int live_plan_make(struct live_plan *plan, const struct integrate_values *values, const hcy_stream_message *start,
                   size_t channel, hcy_device *device);
void live_plan_free(struct live_plan *plan);

/* The whole run. */
struct live {
    const struct integrate_values *values;
    hcy_device **devices;
    size_t n_devices;
    struct wire *in, *out;
    struct record *record;
    struct progress progress;
    struct watch watch;
    struct cli_json json;
    uint64_t n_series;      /* that began */
    uint64_t before_header; /* images that came before any */
    uint64_t others;        /* messages of no use, of other kinds or of series that are over */
    uint64_t unreadable;    /* messages outside a series that could not be read */
};

struct live_series {
    struct live *live;
    struct wire_message *held; /* the start message, whose arrays `start` points at */
    hcy_stream_message start;
    char channel[32];
    struct live_plan plan;
    int is_prepared; /* it has a plan and an output */
    char output[4096], place[4096];
    struct cli_identity before; /* the file of that name, if there was one */
    pthread_mutex_t lock;       /* of curves and group, while frames are done */
    hcy_curves *curves;         /* the sink's while frames are done, as are: */
    struct group group;
    struct regions regions;
    struct sparse sparse;
    struct publish publish;
    struct failures failures;
    uint64_t written;
    struct tally tally;
    hcy_pipeline *pipeline; /* NULL: no image came yet */
    hcy_stream_array kind;  /* what all its images are like */
    double setup;
};

/* How a series ends. */
enum live_end { LIVE_ENDED, LIVE_TIMEOUT, LIVE_CUT, LIVE_INTERRUPTED, LIVE_FAILED };

/* Takes the message over, also if it fails.  CLI_*. */
int live_series_begin(struct live_series **series, struct live *live, struct wire_message *held,
                      const hcy_stream_message *start);
/* Is the message one of this series? */
int live_series_has(const struct live_series *series, const hcy_stream_message *message);
/* Takes the message over.  CLI_OK also for an image that is left out; CLI_FAILED: the series cannot go on. */
int live_series_image(struct live_series *series, struct wire_message *carrier, const hcy_stream_message *message);
/* While no message comes: no curve waits for long to be in the file. */
void live_series_idle(struct live_series *series);
/* Waits for its frames, closes the output, says what became of them, and frees it.  CLI_OK: all of it was done. */
int live_series_end(struct live_series *series, enum live_end end);

#endif
