/* watch.c - see watch.h. */
#include "watch.h"
#include "cli.h"
#include "progress.h"
#include "timer.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, MOST_COLUMNS = 160, LEVELS = 8 };
#define PAUSE_TERMINAL 0.2
#define PAUSE_LINES    1.0

void watch_begin(struct watch *w, int wanted)
{
    memset(w, 0, sizeof *w);
    w->on = wanted;
    w->terminal = progress_has_terminal();
    pthread_mutex_init(&w->lock, NULL);
    w->shown = w->last_time = timer_now();
}

void watch_end(struct watch *w)
{
    pthread_mutex_destroy(&w->lock);
    free(w->curve);
}

void watch_curve(struct watch *w, const hcy_azint_result *result, uint64_t frame)
{
    /* Without a terminal there is no picture, and the pipeline's thread is not kept with copies for it. */
    if (!w->on || !w->terminal || !result)
        return;
    /* Rows of an image one behind the other would look like one curve. */
    const size_t n = result->n_azim && result->n_radial > 1 ? result->n_radial : result->n_bins;
    pthread_mutex_lock(&w->lock);
    /* A picture is not worth ending a run for, so without memory it is left out. */
    if (!w->curve)
        w->curve = malloc(n * sizeof *w->curve);
    if (w->curve) {
        w->n = n;
        memcpy(w->curve, result->intensity, w->n * sizeof *w->curve);
        w->frame = frame;
        w->has_curve = 1;
    }
    pthread_mutex_unlock(&w->lock);
}

static int count_columns(void)
{
    int columns = progress_columns();
    return columns < 2 ? 2 : columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
}

/* [lock] heights[columns] from 0 to 1, the means of the bins of each column. */
static void make_heights(double *heights, const struct watch *w, int columns)
{
    double most = 0;
    for (int c = 0; c < columns; c++) {
        size_t from = w->n * (size_t)c / (size_t)columns, to = w->n * (size_t)(c + 1) / (size_t)columns, n = 0;
        heights[c] = 0;
        for (size_t i = from; i < (to > from ? to : from + 1) && i < w->n; i++)
            /* Empty bins may be NaN, which would spread over their whole column. */
            if (isfinite(w->curve[i]) && w->curve[i] > 0) {
                heights[c] += w->curve[i];
                n++;
            }
        heights[c] /= n ? (double)n : 1;
        most = heights[c] > most ? heights[c] : most;
    }
    for (int c = 0; c < columns && most > 0; c++)
        heights[c] /= most;
}

/* Rows of block characters; returns how many. */
static int draw_curve(struct watch *w)
{
    static const char *const blocks[LEVELS + 1] = { " ", "\342\226\201", "\342\226\202", "\342\226\203", "\342\226\204",
                                                    "\342\226\205", "\342\226\206", "\342\226\207", "\342\226\210" };
    double heights[MOST_COLUMNS];
    int columns = count_columns() - 1;
    pthread_mutex_lock(&w->lock);
    int has = w->has_curve;
    if (has)
        make_heights(heights, w, columns);
    unsigned long long frame = w->frame;
    /* Writing to a terminal may block, so it is done without the lock that the pipeline's thread needs. */
    pthread_mutex_unlock(&w->lock);
    if (!has)
        return 0;
    for (int row = ROWS - 1; row >= 0; row--) {
        for (int c = 0; c < columns; c++) {
            int level = (int)lround(heights[c] * ROWS * LEVELS) - row * LEVELS;
            fputs(blocks[level < 0 ? 0 : level > LEVELS ? LEVELS : level], stderr);
        }
        fputs("\033[K\n", stderr);
    }
    fprintf(stderr, "frame %llu\033[K\n", frame);
    return ROWS + 1;
}

/* On a terminal a line of its own; else one of three in a row. */
static void print_line(const struct watch *w, int is_last, const char *fmt, ...) HCY_PRINTF(3, 4);
static void print_line(const struct watch *w, int is_last, const char *fmt, ...)
{
    char line[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (w->terminal)
        progress_cut(line);
    fprintf(stderr, "%s%s", line, w->terminal ? "\033[K\n" : is_last ? "\n" : "  ");
}

static void print_numbers(const struct tally_counts *c, struct watch *w, struct tally *t, uint64_t series,
                          uint64_t announced)
{
    print_line(w, 0, "series %llu: %llu of %llu frames, %.0f frames/s", (unsigned long long)series,
               (unsigned long long)c->done, (unsigned long long)(announced ? announced : c->received), w->rate);
    print_line(w, 0, "waiting %llu, dropped %llu, skipped %llu, repeated %llu, malformed %llu, failed %llu",
               (unsigned long long)c->waiting, (unsigned long long)c->dropped, (unsigned long long)c->skipped,
               (unsigned long long)c->repeated, (unsigned long long)c->malformed, (unsigned long long)c->failed);
    print_line(w, 1, "latency p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms", 1e3 * tally_latency(t, 0.5),
               1e3 * tally_latency(t, 0.99), 1e3 * tally_latency(t, 0.999));
}

void watch_show(struct watch *w, struct tally *t, uint64_t series, uint64_t announced, int force)
{
    double now = timer_now();
    if (!w->on || (!force && now - w->shown < (w->terminal ? PAUSE_TERMINAL : PAUSE_LINES)))
        return;
    struct tally_counts counts = tally_read(t);
    if (series != w->series || counts.done < w->last_done)
        w->last_done = 0; /* of an earlier series */
    w->series = series;
    w->rate = now > w->last_time ? (double)(counts.done - w->last_done) / (now - w->last_time) : 0;
    w->last_done = counts.done;
    w->last_time = w->shown = now;
    if (w->lines)
        fprintf(stderr, "\033[%dA", w->lines);
    print_numbers(&counts, w, t, series, announced);
    w->lines = w->terminal && !force ? 3 + draw_curve(w) : 0;
    if (w->terminal && force)
        (void)draw_curve(w);
    fflush(stderr);
}
