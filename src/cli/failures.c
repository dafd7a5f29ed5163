/* failures.c - see failures.h. */
#include "failures.h"
#include <stdlib.h>

enum { SAID = 20 }; /* failed frames whose reason is printed */

int failures_add(struct failures *f, uint64_t number)
{
    /* The list cannot be incomplete: the exit status and the JSON object rely on it. */
    if (f->n == f->room) {
        /* Doubling keeps the cost of many failures linear. */
        size_t room = f->room ? 2 * f->room : 64;
        uint64_t *more = realloc(f->numbers, room * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "the list of failed frames");
        f->numbers = more;
        f->room = room;
    }
    f->numbers[f->n++] = number;
    return 0;
}

int failures_take(struct failures *f, struct progress *progress, const hcy_pipeline_frame *frame)
{
    int status = frame->result ? 0 : failures_add(f, frame->number);
    if (status || frame->result)
        return status;
    progress_clear(progress);
    /* A stack with a thousand bad frames must not fill the terminal. */
    if (f->n <= SAID)
        cli_note("frame %llu failed: %s", (unsigned long long)frame->number, frame->why);
    if (f->n == SAID)
        cli_note("further failed frames are only counted");
    return 0;
}

void failures_print(const struct failures *f)
{
    if (!f->n)
        return;
    fprintf(stderr, "failed:");
    for (size_t i = 0; i < f->n && i < 100; i++)
        fprintf(stderr, " %llu", (unsigned long long)f->numbers[i]);
    fprintf(stderr, "%s\n", f->n > 100 ? " ..." : "");
}

void failures_run_json(struct cli_json *json, const struct failures *f, const hcy_pipeline_stats *stats, double setup)
{
    cli_json_int(json, "frames", (int64_t)stats->done);
    cli_json_open(json, "failed", '[');
    for (size_t i = 0; i < f->n; i++)
        cli_json_uint(json, NULL, f->numbers[i]);
    cli_json_close(json, ']');
    cli_json_real(json, "seconds", stats->seconds);
    cli_json_real(json, "setup_seconds", setup);
    cli_json_real(json, "frames_per_s", stats->seconds > 0 ? (double)stats->done / stats->seconds : 0);
    cli_json_int(json, "bytes_raw", (int64_t)stats->bytes_raw);
    cli_json_int(json, "bytes_stored", (int64_t)stats->bytes_stored);
    cli_json_int(json, "batch", (int64_t)stats->batch);
    cli_json_text(json, "bound_by", hcy_pipeline_bound_name(stats->bound));
    cli_json_real(json, "readers_waited_seconds", stats->waited);
    cli_json_real(json, "writing_seconds", stats->delivering);
}

void failures_free(struct failures *f)
{
    free(f->numbers);
}
