/* live.c - halcyon integrate --stream: messages in, series after series, until there have been enough or no more come.
 *
 * What can happen to a stream has one outcome each, told and counted:
 *   an image before any header     left out (its header went to another receiver, or was sent before this one came)
 *   a header                       always begins a series; one that was running ends there, as not complete
 *   an image of another series     left out
 *   a number a second time         the first one counts
 *   a number that does not come    missing, as the series' end or its announced images show
 *   a message that cannot be read  left out; the run goes on
 *   no message for --timeout       the series ends; it is complete if all announced images had come
 */
#include "guard.h"
#include "integrate_job.h"
#include "interrupt.h"
#include "live.h"
#include "live_priv.h"
#include "timer.h"
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 100, SAID_MESSAGES = 20 };

/* --- One message --- */

static int take_unreadable(struct live *live, struct live_series *series)
{
    /* Inside a series it may have been one of its frames. */
    if (series)
        tally_count(&series->tally, &series->tally.counts.malformed);
    live->unreadable += !series;
    uint64_t n = series ? tally_read(&series->tally).malformed : live->unreadable;
    progress_clear(&live->progress);
    if (n <= SAID_MESSAGES)
        cli_note("a message cannot be read: %s", hcy_last_error()->text);
    if (n == SAID_MESSAGES)
        cli_note("further such messages are only counted");
    return CLI_OK;
}

/* Ends the running series, if there is one, and notes how well. */
static void end_series(struct live_series **series, enum live_end end, int *worst)
{
    if (*series && live_series_end(*series, end))
        *worst = CLI_FAILED;
    *series = NULL;
}

/* Have there been as many series as were asked for? */
static int is_enough(const struct live *live)
{
    return live->values->series.value && live->n_series >= (uint64_t)live->values->series.value;
}

/* A header.  *more: 0 if the run ends here. */
static int take_start(struct live_series **series, struct live *live, struct wire_message *message,
                      const hcy_stream_message *m, int *more)
{
    int worst = CLI_OK;
    if (*series)
        cli_note("series %llu begins before the end of series %llu", (unsigned long long)m->series,
                 (unsigned long long)(*series)->start.series);
    end_series(series, LIVE_CUT, &worst);
    if (is_enough(live)) {
        *more = 0;
        wire_message_free(message);
        return worst;
    }
    int status = live_series_begin(series, live, message, m);
    *more = !status;
    return status ? status : worst;
}

static int take_image(struct live_series *series, struct live *live, struct wire_message *message,
                      const hcy_stream_message *m, int *more)
{
    if (series && live_series_has(series, m)) {
        int status = live_series_image(series, message, m);
        *more = !status;
        return status;
    }
    /* Said once and counted on: a series without its header may have many thousand images. */
    if (!series && !live->before_header)
        cli_note("image %llu of series %llu comes before any header: images are left out until one comes",
                 (unsigned long long)m->number, (unsigned long long)m->series);
    live->before_header += !series;
    live->others += series != NULL;
    wire_message_free(message);
    return CLI_OK;
}

/* Takes the message over.  *more: 0 if the run ends with it. */
static int take_message(struct live_series **series, struct live *live, struct wire_message *message, int *more)
{
    hcy_stream_message m = HCY_STREAM_MESSAGE_INIT;
    size_t n;
    const hcy_span *parts = wire_parts(&n, message);
    /* The recording comes first and takes every message as it came, so that it has those that cannot be read, too. */
    if (live->record)
        record_add(live->record, parts, n);
    if (hcy_stream_decode(&m, parts, n)) {
        wire_message_free(message);
        return take_unreadable(live, *series);
    }
    /* From here a header or an image takes the message along, as its bytes are used in place. */
    if (m.kind == HCY_STREAM_START)
        return take_start(series, live, message, &m, more);
    if (m.kind == HCY_STREAM_IMAGE)
        return take_image(*series, live, message, &m, more);
    wire_message_free(message);
    if (m.kind == HCY_STREAM_END && *series && live_series_has(*series, &m)) {
        int status = CLI_OK;
        end_series(series, LIVE_ENDED, &status);
        *more = !is_enough(live);
        return status;
    }
    /* An end without its series, or of another one, ends nothing. */
    live->others++;
    return CLI_OK;
}

/* --- The run --- */

static void show_live(struct live *live, struct live_series *series)
{
    if (!series) {
        progress_say(&live->progress, "waiting for a series from %s ...", live->values->stream);
        return;
    }
    /* The curve on the terminal has the numbers with it, and a progress line would be drawn over it. */
    if (live->watch.on) {
        watch_show(&live->watch, &series->tally, series->start.series, series->start.images, 0);
        return;
    }
    struct tally_counts c = tally_read(&series->tally);
    progress_say(&live->progress, "series %llu: %llu of %llu frames, %llu waiting, %llu dropped",
                 (unsigned long long)series->start.series, (unsigned long long)c.done,
                 (unsigned long long)(series->start.images ? series->start.images : c.received),
                 (unsigned long long)c.waiting, (unsigned long long)c.dropped);
}

/* No message for too long.  Without a series this is a failure, in words that say what there was. */
static int give_up(struct live_series **series, struct live *live)
{
    int worst = CLI_OK;
    double timeout = live->values->timeout.value;
    if (*series)
        cli_note("no message for %g s: series %llu ends here", timeout, (unsigned long long)(*series)->start.series);
    else if (!live->n_series || live->values->series.value)
        worst = cli_error("%s: no %sseries began within %g s", live->values->stream, live->n_series ? "further " : "",
                          timeout);
    end_series(series, LIVE_TIMEOUT, &worst);
    if (!worst && live->values->series.value && !is_enough(live))
        worst = cli_error("%s: %llu of %lld series came, and no further one within %g s", live->values->stream,
                          (unsigned long long)live->n_series, (long long)live->values->series.value, timeout);
    return worst;
}

static int receive_series(struct live *live)
{
    struct live_series *series = NULL;
    double heard = timer_now(), shown = 0;
    int more = 1, worst = CLI_OK;
    while (more && !interrupt_came()) {
        struct wire_message *message;
        int got = wire_receive(&message, live->in, TICK_MS), status = got < 0 ? CLI_FAILED : CLI_OK;
        more = got >= 0;
        if (got > 0)
            status = take_message(&series, live, message, &more);
        else if (got == 0 && series)
            live_series_idle(series);
        if (status)
            worst = status;
        /* Making a plan takes its time, in which messages wait: silence counts from the end of each one's work. */
        if (got > 0)
            heard = timer_now();
        if (more && timer_now() - shown > 1e-3 * TICK_MS) {
            show_live(live, series);
            shown = timer_now();
        }
        if (more && got == 0 && timer_now() - heard > live->values->timeout.value) {
            int gave_up = give_up(&series, live);
            return gave_up ? gave_up : worst;
        }
    }
    /* A series that still runs here did not come to an end of its own; what it has is written nevertheless. */
    int interrupted = interrupt_came(), is_between = interrupted && !series;
    if (is_between) {
        progress_clear(&live->progress);
        cli_note("stopped while no series was running");
    }
    end_series(&series, interrupted ? LIVE_INTERRUPTED : LIVE_FAILED, &worst);
    /* Whoever takes all that come has no other end. */
    const bool is_end = is_between && live->n_series && !live->values->series.value;
    return interrupted && !is_end ? CLI_FAILED : worst;
}

/* Is `other` what a further series' `name` is called? */
static int is_further_name(const char *name, const char *other)
{
    const char *base = strrchr(name, '/'), *dot = strrchr(base ? base : name, '.');
    const size_t stem = dot ? (size_t)(dot - name) : strlen(name);
    if (strncmp(name, other, stem) || other[stem] != '_')
        return 0;
    const char *number = other + stem + 1;
    const size_t digits = strspn(number, "0123456789");
    return digits && !strcmp(number + digits, dot ? dot : "");
}

/* None of the names that further series write to may be a file that is read. */
static int guard_further_names(struct guard *guard, const char *what, const char *name, uint64_t series)
{
    enum { LOOKED_AT = 1000 }; /* of a run without an end */
    char pattern[4096];
    if (series == 1 || !name || !strcmp(name, "-") || !strncmp(name, "/dev/", 5) || strchr(name, '%'))
        return CLI_OK;
    const char *base = strrchr(name, '/'), *dot = strrchr(base ? base : name, '.');
    const int stem = dot ? (int)(dot - name) : (int)strlen(name);
    if ((size_t)snprintf(pattern, sizeof pattern, "%.*s_%%d%s", stem, name, dot ? dot : "") >= sizeof pattern)
        return CLI_OK; /* it cannot be opened either */
    return guard_writes(guard, what, pattern, 2, !series || series > LOOKED_AT ? LOOKED_AT : series + 1);
}

static int guard_live_files(const struct integrate_values *v)
{
    const char *output = v->output ? v->output : "stream_azint.h5";
    const char *const reads[][2] = { { "the geometry", v->poni },     { "--config", v->config_file },
                                     { "--mask", v->mask },           { "--flat", v->flat },
                                     { "--absorption", v->absorption }, { "--dark", v->dark },
                                     { "--variance", v->variance },   { "--detector", v->detector },
                                     { "--curve-key", v->curve_key }, { "--curve-secret", v->curve_secret } };
    struct guard guard = { 0 };
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        guard_reads(&guard, reads[i][0], reads[i][1]);
    /* Each further series writes to a name with a number, and none of these may be a file that is read either. */
    int status = guard_writes(&guard, "-o", output, 0, UINT64_MAX);
    if (!status)
        status = guard_writes(&guard, "--sparse", v->sparse, 0, 0);
    if (!status)
        status = guard_further_names(&guard, "-o", output, (uint64_t)v->series.value);
    if (!status)
        status = guard_further_names(&guard, "--sparse", v->sparse, (uint64_t)v->series.value);
    if (!status && v->sparse && (is_further_name(output, v->sparse) || is_further_name(v->sparse, output)))
        status = cli_usage("--sparse %s and -o %s: one is what a further series calls the other; give one another name",
                           v->sparse, output);
    if (!status && v->record &&
        (is_further_name(output, v->record) || (v->sparse && is_further_name(v->sparse, v->record))))
        status = cli_usage("--record %s is what a further series is written to; give it another name", v->record);
    if (!status)
        status = guard_writes(&guard, "--record", v->record, 0, 0);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status ? status : integrate_check_formats(v);
}

static int open_live(struct live *live)
{
    const struct integrate_values *v = live->values;
    const struct wire_options in = { WIRE_PULL, 0, (int)v->queue.value, v->curve_key, v->curve_secret },
                              out = { WIRE_PUBLISH, 1, 1000, NULL, NULL };
    int status = guard_live_files(v);
    /* How many frames come only a series says. */
    if (!status && v->output)
        status = integrate_check_name(v->output, v, 0);
    if (!status)
        status = live_plan_check(v);
    if (!status && hcy_device_open_list(&live->devices, &live->n_devices, v->devices))
        status = cli_fail_value(hcy_last_error()->status, v->devices);
    if (!status && v->record)
        status = record_create(&live->record, v->record);
    if (!status && v->publish)
        status = wire_open(&live->out, v->publish, &out);
    /* Last of all: from here on messages come, and whoever sends may not send them to anyone else. */
    return status ? status : wire_open(&live->in, v->stream, &in);
}

static void print_live_end(struct live *live)
{
    if (live->values->json) {
        cli_json_close(&live->json, ']');
        cli_json_int(&live->json, "before_header", (int64_t)live->before_header);
        cli_json_int(&live->json, "other_messages", (int64_t)live->others);
        cli_json_int(&live->json, "unreadable", (int64_t)live->unreadable);
        cli_json_close(&live->json, '}');
    }
    if (live->before_header)
        cli_note("%llu %s came before any header and were left out", (unsigned long long)live->before_header,
                 live->before_header == 1 ? "image" : "images");
}

int cli_live(const struct integrate_values *values)
{
    struct live live = { .values = values };
    progress_begin(&live.progress, !values->quiet);
    watch_begin(&live.watch, values->watch);
    interrupt_catch();
    /* The signals are caught before anything is opened, so that an interruption always ends the run in order. */
    int status = open_live(&live);
    if (!status && values->json) {
        cli_json_begin(&live.json, stdout);
        cli_json_open(&live.json, NULL, '{');
        cli_json_text(&live.json, "stream", values->stream);
        cli_json_open(&live.json, "series", '[');
    }
    if (!status) {
        status = receive_series(&live);
        print_live_end(&live);
    }
    progress_clear(&live.progress);
    interrupt_release();
    /* All series have ended by now, so nothing uses the sockets and the devices any more; the last curves still have
     * a second to go out. */
    wire_close(live.in, 0);
    wire_close(live.out, 1000);
    int recorded = record_close(live.record);
    for (size_t i = 0; i < live.n_devices; i++)
        hcy_device_release(live.devices[i]);
    hcy_list_free(live.devices);
    watch_end(&live.watch);
    /* A recording that did not arrive whole is a failure even where all curves are good. */
    status = recorded ? recorded : status;
    return values->json ? cli_close_stdout(status) : status;
}
