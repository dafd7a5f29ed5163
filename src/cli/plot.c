/* plot.c - halcyon plot: curves with their errors, stacks of curves, images in radius and azimuth, as a
 * picture or in the terminal.
 *
 * Reads what integrate has written (hcy_results), decides what is shown, and leaves the drawing to gnuplot
 * (plot_script.c, gnuplot.c).  A map of many curves is averaged to the picture's resolution as it is read, so
 * memory does not depend on how many there are. */
#include "guard.h"
#include "plot.h"
#include "cli.h"
#include "gnuplot.h"
#include <halcyon/backend.h>
#include <errno.h>
#include <halcyon/stack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_FILES = 64, MAX_CURVES = 100, FEW = 8, MAP_WIDTH = 1200, MAP_HEIGHT = 700 };

struct values {
    const char *output, *title, *size;
    struct cli_span frames;
    struct cli_pair range;
    struct cli_real errors;
    int as, log;
};

static const char *const kinds[] = { "auto", "curves", "waterfall", "map", NULL }; /* of enum plot_kind */

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "output", 'o', CLI_TEXT, AT(output), "FILE", ".svg, .png or .pdf (default: in the terminal)", 0, 0,
      NULL },
    { "frames", 0, CLI_SPAN, AT(frames), "A:B", "the curves of these frames, B not included", 0, 0, NULL },
    { "as", 0, CLI_CHOICE, AT(as), "KIND",
      "curves in one picture, waterfall (one above the\nother), map (colours); auto: curves up to 8, else "
      "map",
      0, 0, kinds },
    { "log", 0, CLI_FLAG, AT(log), NULL, "logarithmic intensity", 0, 0, NULL },
    { "range", 0, CLI_PAIR, AT(range), "A,B", "of the axis, in its unit", 0, 0, NULL },
    { "errors", 0, CLI_REAL, AT(errors), "N", "standard errors of the band (3); 0: no band", 0, 1000, NULL },
    { "title", 0, CLI_TEXT, AT(title), "TEXT", "above the plot (default: what is shown)", 0, 0, NULL },
    { "size", 0, CLI_TEXT, AT(size), "WxH", "pixels (900x500), or characters", 0, 0, NULL },
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_plot_command = {
    "plot",
    "curves and images that integrate wrote, as a picture or in the terminal",
    "RESULT... [-o FILE.svg]",
    1,
    MAX_FILES,
    options,
    "RESULT is HDF5 (.h5), text (.dat, .xy) or EDF, of halcyon or pyFAI.  gnuplot draws it.\n"
    "Of images in radius and azimuth one is shown: --frames N, or the first.\n"
    "Exit status: 0, 1 if it could not be drawn, 2 if the command line is wrong."
};

struct job {
    const struct values *values;
    const char *paths[MAX_FILES];
    size_t n_files;
    hcy_results *results[MAX_FILES];
    uint64_t first[MAX_FILES], last[MAX_FILES]; /* rows */
    uint64_t rows;                              /* of all files */
    uint64_t shown;                             /* the frame of an image */
    struct plot plot;
    double *row; /* of any of the files, and its errors */
};

/* --- Input --- */

static const hcy_results_info *results_of(const struct job *job, size_t i)
{
    return hcy_results_get_info(job->results[i]);
}

static size_t bins_of(const hcy_results_info *info)
{
    return info->n_radial * (info->n_azim ? info->n_azim : 1);
}

/* The first row whose frame is not below `frame`; frames ascend. */
static int find_row(uint64_t *row, struct job *job, size_t file, uint64_t frame)
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

static int choose_rows(struct job *job, size_t file)
{
    const struct cli_span *span = &job->values->frames;
    const hcy_results_info *info = results_of(job, file);
    uint64_t number;
    job->last[file] = info->rows;
    int status = span->given ? find_row(&job->first[file], job, file, span->first) : CLI_OK;
    if (!status && span->given && span->last != UINT64_MAX)
        status = find_row(&job->last[file], job, file, span->last);
    if (status)
        return status;
    /* Images are shown one at a time, so without a choice it is the first. */
    if (info->n_azim && !span->given && info->rows)
        job->last[file] = 1;
    if (job->first[file] < job->last[file]) {
        job->rows += job->last[file] - job->first[file];
        return info->n_azim && job->rows > 1 ? cli_error("one image is shown at a time: give --frames N")
                                             : CLI_OK;
    }
    if (!info->rows)
        return cli_error("%s: there is no curve in it", info->path);
    /* The number of the last frame tells the user what could have been chosen. */
    status = hcy_results_read(&number, job->row, NULL, job->results[file], info->rows - 1);
    return status ? cli_fail(status)
                  : cli_error("--frames: %s has none of these; its last one is %llu", info->path,
                              (unsigned long long)number);
}

static int open_files(struct job *job)
{
    size_t most = 1;
    for (size_t i = 0; i < job->n_files; i++) {
        int status = hcy_results_open(&job->results[i], job->paths[i]);
        if (status)
            return cli_fail(status);
        const hcy_results_info *info = results_of(job, i), *one = results_of(job, 0);
        if (strcmp(info->unit, one->unit))
            return cli_error("%s is in %s, %s in %s: plot them one by one", info->path,
                             *info->unit ? info->unit : "no known unit", one->path,
                             *one->unit ? one->unit : "no known unit");
        if (info->n_azim && job->n_files > 1)
            return cli_error("%s holds images: plot it alone", info->path);
        /* One row of memory serves all files, so it has the size of the largest. */
        most = bins_of(info) > most ? bins_of(info) : most;
    }
    job->row = calloc(most, 2 * sizeof *job->row);
    if (!job->row)
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
static void label_curve(char *label, size_t size, const struct job *job, size_t file, uint64_t frame)
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

static int read_curve(struct job *job, size_t file, uint64_t row)
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

static int read_curves(struct job *job)
{
    struct plot *p = &job->plot;
    /* More lines than that cannot be told apart, and gnuplot becomes slow. */
    if (job->rows > MAX_CURVES)
        return cli_error(
            "%llu curves are too many for one picture (%d at most): choose with --frames A:B, or --as map",
            (unsigned long long)job->rows, MAX_CURVES);
    p->curves = calloc(job->rows, sizeof *p->curves);
    int status = p->curves ? CLI_OK : cli_error("out of memory for the curves");
    for (size_t i = 0; i < job->n_files && !status; i++)
        for (uint64_t row = job->first[i]; row < job->last[i] && !status; row++)
            status = read_curve(job, i, row);
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

static int fill_map(struct job *job, double *counts)
{
    struct plot_map *map = &job->plot.map;
    const hcy_results_info *info = results_of(job, 0);
    uint64_t n = info->n_azim ? info->n_azim : job->rows, number = 0;
    double frames[2] = { 0, 0 }, *sigma = job->row + bins_of(info);
    /* Each row is averaged into its cells as it is read, so the memory is that of the picture. */
    for (uint64_t i = 0; i < job->rows; i++) {
        int status = hcy_results_read(&number, job->row, sigma, job->results[0], job->first[0] + i);
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

static int read_map(struct job *job)
{
    struct plot_map *map = &job->plot.map;
    const hcy_results_info *info = results_of(job, 0);
    uint64_t height = info->n_azim ? info->n_azim : job->rows;
    if (job->n_files > 1)
        return cli_error("a map shows one file: %s alone, or --as curves", job->paths[0]);
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
    double min = p->kind == PLOT_MAP ? p->map.x[0] : INFINITY, max = p->kind == PLOT_MAP ? p->map.x[1] : -INFINITY;
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct plot_curve *c = &p->curves[i];
        min = fmin(min, c->x[0]);
        max = fmax(max, c->x[c->n - 1]);
    }
    if (!p->has_range || (p->range[0] < max && p->range[1] > min) || min == max)
        return CLI_OK;
    return cli_error("--range: there is nothing from %g to %g; the axis goes from %g to %g", p->range[0], p->range[1],
                     min, max);
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

static void put_words(struct job *job)
{
    struct plot *p = &job->plot;
    const hcy_results_info *info = results_of(job, 0);
    const char *name = strrchr(info->path, '/');
    name = name ? name + 1 : info->path;
    put_axis_label(p->x_label, sizeof p->x_label, *info->label ? info->label : "radius, in an unknown unit");
    if (p->kind != PLOT_MAP)
        snprintf(p->y_label, sizeof p->y_label, "Mean intensity per pixel");
    else if (info->n_azim)
        put_axis_label(p->y_label, sizeof p->y_label, "Azimuthal angle chi (deg)");
    else
        snprintf(p->y_label, sizeof p->y_label, "Frame");
    /* A title of the user's is taken as it is; else it says as much as is needed to tell the picture from
     * others. */
    if (job->values->title)
        snprintf(p->title, sizeof p->title, "%s", job->values->title);
    else if (p->kind == PLOT_MAP && info->n_azim && info->rows > 1)
        snprintf(p->title, sizeof p->title, "%s, frame %llu", name, (unsigned long long)job->shown);
    else if (job->n_files == 1 && p->n_curves == 1 && info->rows > 1)
        snprintf(p->title, sizeof p->title, "%s, %s", name, p->curves[0].label);
    else if (job->n_files == 1)
        snprintf(p->title, sizeof p->title, "%s", name);
    /* A band without its meaning would be read as anything from 1 to 3 errors. */
    if (plot_has_band(p) && !job->values->title) {
        size_t n = strlen(p->title);
        snprintf(p->title + n, sizeof p->title - n, "%sband: %g standard error%s", n ? "; " : "", p->errors,
                 p->errors == 1 ? "" : "s");
    }
}

/* --- Output --- */

static const struct {
    const char *suffix;
    enum plot_terminal terminal;
} suffixes[] = { { ".svg", PLOT_SVG }, { ".png", PLOT_PNG }, { ".pdf", PLOT_PDF } };

/* Chooses where the picture goes, and how large it is. */
static int choose_terminal(struct plot *p, const struct values *v)
{
    struct winsize window = { 0 };
    const char *dot = v->output ? strrchr(v->output, '.') : NULL;
    int known = !v->output;
    /* The suffix decides, as users expect it of a file. */
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (!strcmp(dot, suffixes[i].suffix)) {
            p->terminal = suffixes[i].terminal;
            known = 1;
        }
    /* Pixels of a file, or characters of a terminal of which nothing is known. */
    p->width = v->output ? 900 : 100;
    p->height = v->output ? 500 : 28;
    /* The window's size is used only where a plot fits it; two lines stay for the prompt. */
    if (!v->output && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) && window.ws_col >= 40 &&
        window.ws_row >= 12) {
        p->width = window.ws_col < 160 ? window.ws_col : 160;
        p->height = window.ws_row < 43 ? window.ws_row - 2u : 40;
    }
    unsigned most = v->output ? 10000 : 500, least = v->output ? 100 : 20;
    char end;
    /* The last conversion must fail: whatever stands behind the numbers is a mistake. */
    if (v->size && (sscanf(v->size, "%ux%u%c", &p->width, &p->height, &end) != 2 || p->width < least ||
                    p->height < least / 2 || p->width > most || p->height > most)) {
        cli_error("--size '%s' is not valid: WIDTHxHEIGHT is needed, %u to %u %s; see `halcyon plot --help`",
                  v->size, least, most, v->output ? "pixels" : "characters");
        return CLI_USAGE;
    }
    if (known)
        return CLI_OK;
    /* The message lists the formats that there are. */
    return cli_check_format(v->output, HCY_WRITE_PICTURE);
}

/* Writes the picture to its file, whole or not at all. */
static int draw_plot(struct job *job)
{
    const char *output = job->values->output;
    /* gnuplot has no maps in text, so the terminal's are drawn here. */
    if (!output && job->plot.kind == PLOT_MAP) {
        plot_print_map(stdout, &job->plot, isatty(STDOUT_FILENO));
        return cli_close_stdout(CLI_OK);
    }
    FILE *script = tmpfile(), *picture = output ? tmpfile() : NULL;
    int status = CLI_FAILED;
    if (!script || (output && !picture)) {
        status = cli_error("no temporary file can be made");
    } else {
        plot_write(script, &job->plot);
        status = gnuplot_run(script, picture ? fileno(picture) : STDOUT_FILENO);
        if (!status && picture)
            status = gnuplot_save(picture, output);
    }
    if (script)
        fclose(script);
    if (picture)
        fclose(picture);
    return status;
}

static int plot_files(struct job *job)
{
    struct plot *p = &job->plot;
    int status = open_files(job);
    struct guard guard = { 0 };
    for (size_t i = 0; !status && i < job->n_files; i++)
        guard_reads(&guard, "what is plotted", job->paths[i]);
    if (!status)
        status = guard_writes(&guard, "-o", job->values->output, 0, 0);
    guard_free(&guard);
    if (status)
        return status;
    /* Images can only be maps. Few curves are told apart by colour, many are not. */
    p->kind = (enum plot_kind)job->values->as;
    if (results_of(job, 0)->n_azim)
        p->kind = PLOT_MAP;
    else if (p->kind == PLOT_AUTO)
        p->kind = job->rows <= FEW ? PLOT_CURVES : PLOT_MAP;
    status = p->kind == PLOT_MAP ? read_map(job) : read_curves(job);
    if (!status)
        status = check_axis_range(p);
    if (status)
        return status;
    put_words(job);
    return draw_plot(job);
}

static void free_plot_job(struct job *job)
{
    for (size_t i = 0; i < job->plot.n_curves; i++)
        free(job->plot.curves[i].y);
    free(job->plot.curves);
    free(job->plot.map.cells);
    for (size_t i = 0; i < job->n_files; i++)
        hcy_results_close(job->results[i]);
    free(job->row);
}

int cli_plot(int argc, char **argv)
{
    struct values values = { .errors = { 0, 3 } };
    struct job job = { .values = &values };
    int status;
    if (cli_parse(&cli_plot_command, argc, argv, &values, job.paths, &status))
        return status;
    while (job.n_files < MAX_FILES && job.paths[job.n_files])
        job.n_files++;
    status = choose_terminal(&job.plot, &values);
    if (status)
        return status;
    job.plot.log = values.log;
    job.plot.errors = values.errors.value;
    if (values.range.given)
        memcpy(job.plot.range, (double[]){ values.range.a, values.range.b }, sizeof job.plot.range);
    job.plot.has_range = values.range.given;
    status = plot_files(&job);
    free_plot_job(&job);
    return status;
}
