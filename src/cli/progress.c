/* progress.c - the line on the terminal, and the closing words. */
#include "progress.h"
#include "timer.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int progress_has_terminal(void)
{
    const char *name = getenv("TERM");
    return isatty(STDERR_FILENO) && !(name && !strcmp(name, "dumb"));
}

int progress_columns(void)
{
    struct winsize size;
    return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

void progress_cut(char *line)
{
    /* The last column stays free: behind a character there some terminals are on the next line. */
    int left = progress_columns() - 1;
    /* The bytes of a character that follow its first one are 10xxxxxx. */
    while (*line && ((*line & 0xc0) == 0x80 || left-- > 0))
        line++;
    *line = 0;
}

void progress_begin(struct progress *progress, int wanted)
{
    *progress = (struct progress){ wanted && progress_has_terminal(), 0, timer_now() };
}

double progress_seconds(const struct progress *progress)
{
    return timer_now() - progress->start;
}

/* A pipeline's sink says that a frame failed while another thread shows how far the run is. */
static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;

void progress_clear(struct progress *progress)
{
    pthread_mutex_lock(&line_lock);
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = 0;
    pthread_mutex_unlock(&line_lock);
}

void progress_say(struct progress *progress, const char *fmt, ...)
{
    va_list args;
    char line[1024];
    /* A line that overwrites itself makes no sense in a file. */
    if (!progress->on)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    progress_cut(line);
    pthread_mutex_lock(&line_lock);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    progress->shown = 1;
    pthread_mutex_unlock(&line_lock);
}

const char *frames_word(uint64_t n)
{
    return n == 1 ? "frame" : "frames";
}

static double rate(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

void progress_frames(struct progress *progress, const hcy_pipeline_stats *s)
{
    double per_s = rate((double)s->done, s->seconds);
    /* Without a finished frame there is no rate, and no time left to estimate. */
    if (!s->done) {
        progress_say(progress, "0 of %llu %s", (unsigned long long)s->frames,
                     frames_word(s->frames));
        return;
    }
    unsigned long left = (unsigned long)((double)(s->frames - s->done) / per_s);
    progress_say(progress, "%llu of %llu %s  %.0f frames/s  %.1f GB/s  %lu:%02lu left%s",
                 (unsigned long long)s->done, (unsigned long long)s->frames,
                 frames_word(s->frames), per_s,
                 1e-9 * rate((double)s->bytes_raw, s->seconds), left / 60, left % 60,
                 s->failed ? "  (some failed)" : "");
}

static const char *way(const hcy_pipeline_device *device)
{
    return device->two_stage ? "two-stage" : "fused";
}

static const char *mark(const hcy_pipeline_device *device)
{
    if (device->error.status)
        return "  FAILED";
    return device->stands_by ? "  (stands by: its processors are another device's)" : "";
}

static const char *bound_words(int bound)
{
    static const char *const words[] = { [HCY_PIPELINE_BY_READING] = "reading and parsing",
                                         [HCY_PIPELINE_BY_DEVICES] = "the devices",
                                         [HCY_PIPELINE_BY_SINK] = "writing",
                                         [HCY_PIPELINE_BY_SUBMITTING] = "the stream: its sender, or receiving it" };
    return words[bound];
}

/* A time that three decimals of a second would round away is told in milliseconds. */
static const char *words_of_seconds(char text[32], double seconds)
{
    snprintf(text, 32, seconds < 0.1 ? "%.2f ms" : "%.2f s", seconds < 0.1 ? 1e3 * seconds : seconds);
    return text;
}

static void print_device_rate(const hcy_pipeline_device *d)
{
    fprintf(stderr, "  %-24s %8llu %-6s", d->name, (unsigned long long)d->frames, frames_word(d->frames));
    if (d->frames && d->seconds > 0)
        fprintf(stderr, "  %8.1f frames/s while it had work;", rate((double)d->frames, d->seconds));
    /* A device that was left out has no kernels, nor a variant of them. */
    const char *variant = d->variant ? d->variant : "";
    fprintf(stderr, "  decoded %s integrated%s%s%s\n", d->two_stage ? "to images, then" : "and", *variant ? ", " : "",
            variant, mark(d));
}

void progress_summary(const hcy_pipeline_stats *s, double setup, const char *source)
{
    char took[32], before[32];
    fprintf(stderr, "%llu %s in %s", (unsigned long long)s->done, frames_word(s->done),
            words_of_seconds(took, s->seconds));
    /* No rate stands where nothing was done: it would say that the machine is slow. */
    if (s->done && s->seconds > 0)
        fprintf(stderr, ": %.1f frames/s from %s to result (%.2f GB/s of pixels, %.2f GB/s of the %s)",
                rate((double)s->done, s->seconds), source, 1e-9 * rate((double)s->bytes_raw, s->seconds),
                1e-9 * rate((double)s->bytes_stored, s->seconds), source);
    fprintf(stderr, "; preparing took %s before that; %llu failed\n", words_of_seconds(before, setup),
            (unsigned long long)s->failed);
    for (size_t i = 0; i < s->n_devices; i++)
        print_device_rate(&s->devices[i]);
    /* A run of an instant says nothing of what bounds longer ones. */
    if (s->seconds > 0.5)
        fprintf(stderr, "  what took the time: %s\n", bound_words(s->bound));
}

void progress_device_json(struct cli_json *json, const hcy_pipeline_device *d)
{
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "device", d->name);
    cli_json_text(json, "path", way(d));
    cli_json_text(json, "variant", d->variant);
    cli_json_int(json, "frames", (int64_t)d->frames);
    cli_json_int(json, "batches", (int64_t)d->batches);
    cli_json_int(json, "bytes_stored", (int64_t)d->bytes);
    cli_json_real(json, "seconds", d->seconds);
    cli_json_real(json, "frames_per_s", rate((double)d->frames, d->seconds));
    cli_json_real(json, "idle_seconds", d->idle);
    cli_json_int(json, "stands_by", d->stands_by);
    cli_json_text(json, "error", d->error.status ? d->error.text : NULL);
    cli_json_close(json, '}');
}
