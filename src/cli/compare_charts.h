/* compare_charts.h - the pictures of a page: each a <figure> of one report, or nothing where it has no such figures.
 * `beside` is the report that stands beside it, or itself: the scales of both are one, so that lengths compare. */
#ifndef CLI_COMPARE_CHARTS_H
#define CLI_COMPARE_CHARTS_H

#include "compare.h"

typedef void compare_chart(FILE *out, const json_t *report, const json_t *beside);
compare_chart chart_rates, chart_times, chart_latency, chart_bins, chart_roofline, chart_timeline, chart_sizes,
    chart_nufft;

/* --- What the pictures share --- */

/* The devices of a report, and behind them all together and pyFAI, where they have figures. */
enum { MOST_ENTRIES = 64 };
struct chart_entries {
    const json_t *at[MOST_ENTRIES];
    char names[MOST_ENTRIES][64];
    int colour[MOST_ENTRIES];
    size_t n;
};
void chart_add_entry(struct chart_entries *entries, const json_t *entry, const char *name, int colour);
/* `with_others`: all together and pyFAI too. */
void chart_list_entries(struct chart_entries *entries, const json_t *report, int with_others);
/* The classes of entry i's shapes: its colour, and whether it is virtual. */
const char *chart_style(char style[32], const struct chart_entries *entries, size_t i, const char *kind);
void chart_begin_figure(FILE *out, const char *title);
void chart_end_figure(FILE *out, const char *caption);
void chart_draw_legend(FILE *out, const struct chart_entries *entries);

#endif
