/* plot_results.c - see plot_results.h.  Rows are read when they are needed: a map of many curves is averaged to the
 * picture's resolution as it is read, so memory does not depend on how many there are. */
#include "plot_results.h"
#include "inputs.h"
#include "kind.h"
#include <halcyon/backend.h>
#include <halcyon/host_array.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CURVES = 100, FEW = PLOT_FEW, MAP_WIDTH = 1200, MAP_HEIGHT = 700 };

/* --- Input --- */

static const hcy_results_info *results_of(const struct plot_job *job, size_t i)
{
    return hcy_results_get_info(job->results[i]);
}

static size_t bins_of(const hcy_results_info *info)
{
    return info->n_radial * (info->n_azim ? info->n_azim : 1);
}

/* The first row whose frame is not below `frame`; frames ascend. */
static int find_row(uint64_t *row, struct plot_job *job, size_t file, uint64_t frame)
{
    uint64_t low = 0, high = results_of(job, file)->rows, number;
    while (low < high) {
        /* Rows are in the file, and reading one costs: a search by halves reads few of them. */
        uint64_t middle = low + (high - low) / 2;
        int status = hcy_results_read(&number, job->row, NULL, job->results[file], middle);
        if (status)
            return cli_fail(status);
        if (number < frame)
            low = middle + 1;
        else
            high = middle;
    }
    *row = low;
    return CLI_OK;
}

/* The rows of a span of frames. */
static int add_range(struct plot_job *job, size_t file, const struct cli_span *span)
{
    struct plot_range range = { file, 0, results_of(job, file)->rows };
    int status = find_row(&range.first, job, file, span->first);
    if (!status && span->last != UINT64_MAX)
        status = find_row(&range.last, job, file, span->last);
    if (status || range.first >= range.last)
        return status;
    /* A span that goes on where the file has ended. */
    uint64_t number = 0;
    if (span->last != UINT64_MAX && range.last == results_of(job, file)->rows) {
        status = hcy_results_read(&number, job->row, NULL, job->results[file], range.last - 1);
        if (status)
            return cli_fail(status);
        if (number + 1 < span->last)
            cli_note("--frames: %s ends with frame %llu", job->paths[file], (unsigned long long)number);
    }
    job->rows += range.last - range.first;
    job->ranges[job->n_ranges++] = range;
    return CLI_OK;
}

/* Which of the frames chosen a file has not, where it has others. */
static void tell_absent(const hcy_results_info *info, const struct cli_span *span)
{
    if (span->last - span->first == 1)
        cli_note("--frames: %s has no frame %llu", info->path, (unsigned long long)span->first);
    else
        cli_note("--frames: %s has no frame from %llu to %llu", info->path, (unsigned long long)span->first,
                 (unsigned long long)span->last - 1);
}

static int choose_rows(struct plot_job *job, size_t file)
{
    const struct cli_spans *chosen = job->wish->frames;
    const hcy_results_info *info = results_of(job, file);
    uint64_t number, before = job->rows;
    int status = CLI_OK;
    const struct cli_span *absent[CLI_MOST_SPANS];
    size_t n_absent = 0;
    for (size_t i = 0; i < chosen->n && !status; i++) {
        const size_t ranges = job->n_ranges;
        status = add_range(job, file, &chosen->list[i]);
        if (!status && job->n_ranges == ranges)
            absent[n_absent++] = &chosen->list[i];
    }
    if (status)
        return status;
    for (size_t i = 0; i < n_absent && job->rows > before; i++)
        tell_absent(info, absent[i]);
    /* Cakes are shown one at a time, so without a choice it is the first. */
    if (!chosen->given && info->rows) {
        job->ranges[job->n_ranges++] = (struct plot_range){ file, 0, info->n_azim ? 1 : info->rows };
        job->rows += info->n_azim ? 1 : info->rows;
    }
    if (job->rows > before)
        return info->n_azim && job->rows > 1 ? cli_usage("one cake is shown at a time: give --frames N") : CLI_OK;
    if (!info->rows)
        return cli_error("%s: there is no curve in it", info->path);
    /* The number of the last frame tells the user what could have been chosen. */
    status = hcy_results_read(&number, job->row, NULL, job->results[file], info->rows - 1);
    return status ? cli_fail(status)
                  : cli_error("--frames: %s has none of these; its last one is %llu", info->path,
                              (unsigned long long)number);
}

static int is_read_as_array(const char *path)
{
    hcy_host_array array = HCY_HOST_ARRAY_INIT;
    int is = plot_is_array(path) && !hcy_host_array_read(&array, path);
    hcy_host_array_free(&array);
    return is;
}

/* Where no stack is opened, and there is no array either: then the stack's words say what is lacking.  Of HDF5 whose
 * dataset nobody names the array would be /data; FILE.h5:/NAME is an array's name, whose own words are better. */
static int has_no_array(const char *path, int status)
{
    const char *format;
    if (path[hcy_file_length(path)])
        return 0;
    if (status != HCY_ENOENT && (hcy_format_of(&format, path, HCY_WRITE_ARRAY) || strcmp(format, "h5") != 0))
        return 0;
    return !is_read_as_array(path);
}

int plot_open_results(struct plot_job *job, enum plot_input *input)
{
    *input = PLOT_OF_RESULTS;
    for (size_t i = 0; i < job->n_files; i++) {
        if (!hcy_results_open(&job->results[i], job->paths[i]))
            continue;
        /* What is no result may be a stack of any kind; who names frames' options means one. */
        hcy_error why = *hcy_last_error();
        hcy_stack *stack = NULL;
        hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
        opts.dataset = job->wish->dataset;
        opts.channel = job->wish->channel;
        int status = inputs_open(&stack, NULL, job->paths[i], &opts);
        /* Data files that are not there are why it is nothing else, either; and so is damage. */
        hcy_error lack = *hcy_last_error();
        int lacks = status == HCY_ECORRUPT || status == HCY_ETIMEOUT || (status && has_no_array(job->paths[i], status));
        if (lacks)
            why = lack;
        hcy_stack_close(stack);
        /* Arrays beside one another in HDF5 would be drawn as if they were frames, or named one by one. */
        enum kind kind = job->wish->dataset ? KIND_OTHER : kind_of(job->paths[i]);
        if (kind != KIND_OTHER)
            return kind_no_picture(job->paths[i], kind);
        if (!status && job->n_files == 1)
            *input = PLOT_OF_FRAMES;
        else if (job->n_files == 1 && !lacks && !job->wish->channel && plot_is_array(job->paths[0]))
            *input = PLOT_OF_ARRAY;
        if (*input != PLOT_OF_RESULTS)
            return CLI_OK;
        if (!status)
            return cli_error("%s holds frames: plot it alone", job->paths[i]);
        return cli_fail(hcy_fail_again(&why));
    }
    return CLI_OK;
}

static int choose_all_rows(struct plot_job *job)
{
    size_t most = 1;
    for (size_t i = 0; i < job->n_files; i++) {
        const hcy_results_info *info = results_of(job, i), *one = results_of(job, 0);
        if (strcmp(info->unit, one->unit))
            return cli_error("%s is in %s, %s in %s: plot them one by one", info->path,
                             *info->unit ? info->unit : "no known unit", one->path,
                             *one->unit ? one->unit : "no known unit");
        if (info->n_azim && job->n_files > 1)
            return cli_error("%s holds cakes: plot it alone", info->path);
        /* One row of memory serves all files, so it has the size of the largest. */
        most = bins_of(info) > most ? bins_of(info) : most;
    }
    job->row = calloc(most, 2 * sizeof *job->row);
    job->ranges = calloc(job->n_files * CLI_MOST_SPANS, sizeof *job->ranges);
    if (!job->row || !job->ranges)
        return cli_error("out of memory for %zu bins", most);
    for (size_t i = 0; i < job->n_files; i++) {
        int status = choose_rows(job, i);
        if (status)
            return status;
    }
    return CLI_OK;
}

static int all_nan(const double *values, size_t n)
{
    while (n && isnan(values[n - 1]))
        n--;
    return n == 0;
}

/* --- What is shown --- */

/* Is a bin's mean none, as no pixel was in it?  By the pixels of the bins, or by an error of 0; where the file has
 * neither, a 0 along the azimuth is one: that is where gaps and the beam stop are. */
static int is_empty_bin(const hcy_results_info *info, size_t bin, double mean, double sigma)
{
    if (info->pixels && !(info->pixels[bin] > 0))
        return 1;
    if (!(mean == 0))
        return !isfinite(mean);
    return isnan(sigma) ? !info->pixels && (info->n_azim || !strcmp(info->unit, "chi_deg")) : sigma == 0;
}

/* The name of the file, and the frame where it has several. */
static void label_curve(char *label, size_t size, const struct plot_job *job, size_t file, uint64_t frame)
{
    const hcy_results_info *info = results_of(job, file);
    const char *name = strrchr(info->path, '/');
    name = name ? name + 1 : info->path;
    if (info->rows < 2)
        snprintf(label, size, "%s", name);
    else if (job->n_files > 1)
        snprintf(label, size, "%s, frame %llu", name, (unsigned long long)frame);
    else
        snprintf(label, size, "frame %llu", (unsigned long long)frame);
}

static int read_curve(struct plot_job *job, size_t file, uint64_t row)
{
    struct plot *p = &job->plot;
    struct plot_curve *c = &p->curves[p->n_curves];
    const hcy_results_info *info = results_of(job, file);
    *c = (struct plot_curve){ .n = info->n_radial, .x = info->radial };
    c->y = calloc(2 * c->n, sizeof *c->y);
    if (!c->y)
        return cli_error("out of memory for a curve of %zu bins", c->n);
    c->sigma = c->y + c->n;
    /* The curve counts from here on, so that whatever fails below is freed with the others. */
    p->n_curves++;
    int status = hcy_results_read(&c->frame, c->y, c->sigma, job->results[file], row);
    if (status)
        return cli_fail(status);
    label_curve(c->label, sizeof c->label, job, file, c->frame);
    /* A failed frame has a row of NaN; it must not take a colour and a line of the key. */
    if (all_nan(c->y, c->n)) {
        cli_note("%s: frame %llu failed, and is not shown", info->path, (unsigned long long)c->frame);
        free(c->y);
        p->n_curves--;
        return CLI_OK;
    }
    for (size_t i = 0; i < c->n; i++) {
        p->has_sigma |= isfinite(c->sigma[i]);
        if (!strcmp(info->unit, "chi_deg") && is_empty_bin(info, i, c->y[i], c->sigma[i]))
            c->y[i] = NAN; /* a gap in the line */
    }
    return CLI_OK;
}

static int read_curves(struct plot_job *job)
{
    struct plot *p = &job->plot;
    /* More lines than that cannot be told apart, and gnuplot becomes slow. */
    if (job->rows > MAX_CURVES)
        return cli_error(
            "%llu curves are too many for one picture (%d at most): choose with --frames LIST%s",
            (unsigned long long)job->rows, MAX_CURVES, job->n_files > 1 ? "" : ", or --as map");
    p->curves = calloc(job->rows, sizeof *p->curves);
    int status = p->curves ? CLI_OK : cli_error("out of memory for the curves");
    for (const struct plot_range *r = job->ranges; r < job->ranges + job->n_ranges && !status; r++)
        for (uint64_t row = r->first; row < r->last && !status; row++)
            status = read_curve(job, r->file, row);
    if (!status && !p->n_curves)
        status = cli_error("no frame is good: there is nothing to show");
    return status;
}

/* Adds a row of bins from `first` on to the cells of row `y` of the map. */
static void add_row(struct plot_map *map, double *counts, size_t y, const hcy_results_info *info, const double *values,
                    const double *sigma, size_t first)
{
    for (size_t i = 0; i < info->n_radial; i++) {
        size_t cell = y * map->width + i * map->width / info->n_radial, bin = first + i;
        if (!is_empty_bin(info, bin, values[bin], sigma[bin])) {
            map->cells[cell] += values[bin];
            counts[cell]++;
        }
    }
}

/* Centres of cells from those of the bins in them. */
static void set_centres(double ends[2], const double *bins, size_t n, size_t cells)
{
    double width = n > 1 ? (bins[n - 1] - bins[0]) / (double)(n - 1) : 0;
    double edge = ((double)n / (double)cells - 1) / 2 * width;
    ends[0] = bins[0] + edge;
    ends[1] = bins[n - 1] - edge;
}

static int fill_map(struct plot_job *job, double *counts)
{
    struct plot_map *map = &job->plot.map;
    const hcy_results_info *info = results_of(job, 0);
    uint64_t n = info->n_azim ? info->n_azim : job->rows, number = 0;
    double frames[2] = { 0, 0 }, *sigma = job->row + bins_of(info);
    /* Each row is averaged into its cells as it is read, so the memory is that of the picture. */
    for (uint64_t i = 0; i < job->rows; i++) {
        int status = hcy_results_read(&number, job->row, sigma, job->results[0], job->ranges[0].first + i);
        if (status)
            return cli_fail(status);
        /* The first and the last frame's numbers are the ends of the axis. */
        frames[i > 0] = (double)number;
        for (size_t y = 0; info->n_azim && y < n; y++)
            add_row(map, counts, y * map->height / n, info, job->row, sigma, y * info->n_radial);
        if (!info->n_azim)
            add_row(map, counts, i * map->height / n, info, job->row, sigma, 0);
    }
    /* A cell without any bin is a gap in the picture, not a 0. */
    for (size_t i = 0; i < map->width * map->height; i++)
        map->cells[i] = counts[i] > 0 ? map->cells[i] / counts[i] : NAN;
    /* gnuplot places cells by their centres, while bins and frames are given by theirs. */
    set_centres(map->x, info->radial, info->n_radial, map->width);
    if (info->n_azim) {
        set_centres(map->y, info->azimuthal, info->n_azim, map->height);
    } else {
        double edge =
            n > 1 ? ((double)n / (double)map->height - 1) / 2 * (frames[1] - frames[0]) / (double)(n - 1) : 0;
        map->y[0] = frames[0] + edge;
        map->y[1] = frames[n > 1] - edge;
    }
    job->shown = number;
    return all_nan(map->cells, map->width * map->height)
               ? cli_error("no frame is good: there is nothing to show")
               : CLI_OK;
}

static int read_map(struct plot_job *job)
{
    struct plot_map *map = &job->plot.map;
    const hcy_results_info *info = results_of(job, 0);
    uint64_t height = info->n_azim ? info->n_azim : job->rows;
    if (job->n_files > 1)
        return cli_usage("a map shows one file: %s alone, or --as curves", job->paths[0]);
    if (job->n_ranges > 1)
        return cli_usage("a map shows frames that follow one another: --frames A:B, or --as curves");
    /* A map has no more cells than the picture has points: more would not be seen. */
    map->width = info->n_radial < MAP_WIDTH ? info->n_radial : MAP_WIDTH;
    map->height = height < MAP_HEIGHT ? (size_t)height : MAP_HEIGHT;
    map->cells = calloc(map->width * map->height, sizeof *map->cells);
    double *counts = calloc(map->width * map->height, sizeof *counts);
    int status = map->cells && counts ? fill_map(job, counts) : cli_error("out of memory for a map");
    free(counts);
    return status;
}

/* Checks that the axis that was asked for shows something. */
static int check_axis_range(const struct plot *p)
{
    /* A map begins with its own ends; curves widen an empty range. */
    double min = p->kind == PLOT_MAP ? fmin(p->map.x[0], p->map.x[1]) : INFINITY,
           max = p->kind == PLOT_MAP ? fmax(p->map.x[0], p->map.x[1]) : -INFINITY;
    /* A file of another program may have its axis from right to left. */
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct plot_curve *c = &p->curves[i];
        min = fmin(min, fmin(c->x[0], c->x[c->n - 1]));
        max = fmax(max, fmax(c->x[0], c->x[c->n - 1]));
    }
    if (!p->has_range || (p->range[0] < max && p->range[1] > min) || min == max)
        return CLI_OK;
    return cli_error("--range: there is nothing from %g to %g; the axis goes from %g to %g", p->range[0], p->range[1],
                     min, max);
}

/* Checks that something of it has a place in the picture, for which gnuplot has no good words. */
static int check_drawn(const struct plot *p)
{
    bool any = false;
    for (size_t i = 0; i < p->map.width * p->map.height && !any; i++)
        any = isfinite(p->map.cells[i]) && (!p->log || p->map.cells[i] > 0);
    for (size_t c = 0; c < p->n_curves; c++)
        for (size_t i = 0; i < p->curves[c].n && !any; i++) {
            double x = p->curves[c].x[i], y = p->curves[c].y[i];
            any = isfinite(y) && (!p->log || y > 0) && (!p->has_range || (x >= p->range[0] && x <= p->range[1]));
        }
    if (any)
        return CLI_OK;
    return p->log ? cli_error("--log: there is no intensity above 0 to show") : cli_error("--range: no bin is in it");
}

/* --- Words --- */

/* An axis's label as it is printed: "nm^-1" with raised figures, and so on. */
static void put_axis_label(char *out, size_t size, const char *label)
{
    static const char *const table[][2] = { { "^-1", "⁻¹" },    { "^-2", "⁻²" }, { "d*2", "d*²" },
                                            { "2theta", "2θ" }, { "(A", "(Å" },  { "chi (deg)", "χ (°)" },
                                            { "(deg)", "(°)" } };
    size_t used = 0;
    /* Eight bytes are more than any of the replacements has. */
    while (*label && used + 8 < size) {
        const char *put = NULL;
        for (size_t i = 0; !put && i < sizeof table / sizeof table[0]; i++)
            if (!strncmp(label, table[i][0], strlen(table[i][0]))) {
                put = table[i][1];
                label += strlen(table[i][0]);
            }
        if (put)
            used += (size_t)snprintf(out + used, size - used, "%s", put);
        else
            out[used++] = *label++;
    }
    out[used] = 0;
}

static void put_words(struct plot_job *job)
{
    struct plot *p = &job->plot;
    const hcy_results_info *info = results_of(job, 0);
    const char *name = strrchr(info->path, '/');
    name = name ? name + 1 : info->path;
    put_axis_label(p->x_label, sizeof p->x_label, *info->label ? info->label : "radius, in an unknown unit");
    if (p->kind != PLOT_MAP)
        snprintf(p->y_label, sizeof p->y_label, "Mean intensity per pixel");
    else if (info->n_azim)
        put_axis_label(p->y_label, sizeof p->y_label, *info->azimuth_label ? info->azimuth_label : info->azimuth_unit);
    else
        snprintf(p->y_label, sizeof p->y_label, "Frame");
    /* A title of the user's is taken as it is; else it says as much as is needed to tell the picture from
     * others. */
    if (job->wish->title)
        snprintf(p->title, sizeof p->title, "%s", job->wish->title);
    else if (p->kind == PLOT_MAP && info->n_azim && info->rows > 1)
        snprintf(p->title, sizeof p->title, "%s, frame %llu", name, (unsigned long long)job->shown);
    else if (job->n_files == 1 && p->n_curves == 1 && info->rows > 1)
        snprintf(p->title, sizeof p->title, "%s, %s", name, p->curves[0].label);
    else if (job->n_files == 1)
        snprintf(p->title, sizeof p->title, "%s", name);
    /* A band without its meaning would be read as anything from 1 to 3 errors. */
    if (plot_has_band(p) && !job->wish->title) {
        size_t n = strlen(p->title);
        snprintf(p->title + n, sizeof p->title - n, "%sband: %g standard error%s", n ? "; " : "", p->errors,
                 p->errors == 1 ? "" : "s");
    }
}

/* The cells that the range shows a part of, moved together: a terminal shows all that a map has. */
static void crop_map(struct plot_map *map, const double range[2])
{
    const double start = map->x[0], step = map->width > 1 ? (map->x[1] - start) / (double)(map->width - 1) : 0;
    if (!(fabs(step) > 0))
        return;
    /* A cell reaches half a step to both sides of its centre; the range begins before the last one's and ends behind
     * the first one's, as check_axis_range() has seen. */
    const double most = (double)(map->width - 1), one = (range[0] - start) / step, other = (range[1] - start) / step,
                 from = floor(fmin(one, other) + 0.5), to = ceil(fmax(one, other) - 0.5);
    const size_t first = (size_t)fmax(from, 0), last = (size_t)fmin(fmax(to, (double)first), most),
                 n = last - first + 1;
    for (size_t row = 0; row < map->height; row++)
        memmove(map->cells + row * n, map->cells + row * map->width + first, n * sizeof *map->cells);
    map->x[0] = start + (double)first * step;
    map->x[1] = start + (double)last * step;
    map->width = n;
}

/* --- The whole --- */

int plot_read_results(struct plot_job *job)
{
    struct plot *p = &job->plot;
    int status = choose_all_rows(job);
    if (status)
        return status;
    /* Cakes can only be maps. Few curves are told apart by colour, many are not, but for those that were chosen. */
    p->kind = (enum plot_kind)job->as;
    const bool is_cake = results_of(job, 0)->n_azim > 0;
    if (is_cake && (p->kind == PLOT_CURVES || p->kind == PLOT_WATERFALL))
        return cli_usage("%s holds cakes, which are shown as maps: leave --as", job->paths[0]);
    if (is_cake)
        p->kind = PLOT_MAP;
    else if (p->kind == PLOT_AUTO)
        p->kind = job->rows <= FEW || job->n_ranges > 1 ? PLOT_CURVES : PLOT_MAP;
    status = p->kind == PLOT_MAP ? read_map(job) : read_curves(job);
    if (!status)
        status = check_axis_range(p);
    if (!status)
        status = check_drawn(p);
    if (status)
        return status;
    if (p->kind == PLOT_MAP && p->terminal == PLOT_TEXT && p->has_range)
        crop_map(&p->map, p->range);
    put_words(job);
    return CLI_OK;
}

void plot_close_results(struct plot_job *job)
{
    for (size_t i = 0; i < job->plot.n_curves; i++)
        free(job->plot.curves[i].y);
    free(job->plot.curves);
    for (size_t i = 0; i < job->n_files; i++)
        hcy_results_close(job->results[i]);
    free(job->row);
    free(job->ranges);
}
