/* plot.c - halcyon plot: curves with their errors, stacks of curves, images in radius and azimuth, a detector's frames,
 * images of arrays, as a picture or in the terminal.
 *
 * Decides what is shown, which plot_results.c, plot_frames.c and plot_array.c read, and leaves the drawing to gnuplot
 * (plot_script.c, gnuplot.c) or to plot_terminal.c. */
#include "guard.h"
#include "plot_results.h"
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

struct values {
    const char *output, *size;
    struct plot_wish wish; /* of frames */
    struct cli_spans frames;
    struct cli_pair contrast;
    struct cli_pair range;
    struct cli_real errors;
    int as, screen;
};

static const char *const kinds[] = { "auto", "curves", "waterfall", "map", NULL }; /* of enum plot_kind */

/* Of enum plot_screen. */
static const char *const screens[] = { "auto", "text", "blocks", "blocks-256", "sixel", "kitty", NULL };

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "output", 'o', CLI_TEXT, AT(output), "FILE", ".svg, .png or .pdf (default: in the terminal)", 0, 0,
      NULL },
    { "frames", 0, CLI_SPANS, AT(frames), "LIST", "these alone, from 0: 3,5,7-9, or A:B, B not included", 0, 0, NULL },
    { "as", 0, CLI_CHOICE, AT(as), "KIND",
      "curves in one picture, waterfall (one above the\nother), map (colours); auto: curves up to 8, else "
      "map",
      0, 0, kinds },
    { "log", 0, CLI_FLAG, AT(wish.log), NULL, "logarithmic intensity", 0, 0, NULL },
    { "linear", 0, CLI_FLAG, AT(wish.linear), NULL, "linear: arrays of floating-point and of complex numbers are; frames are where --log helps little", 0, 0, NULL },
    { "contrast", 0, CLI_PAIR, AT(contrast), "A,B", "percentiles at the ends of the colours (1,99.8)", 0, 0, NULL },
    { "range", 0, CLI_PAIR, AT(range), "A,B", "of the axis, in its unit", 0, 0, NULL },
    { "errors", 0, CLI_REAL, AT(errors), "N", "standard errors of the band (3); 0: no band", 0, 1000, NULL },
    { "title", 0, CLI_TEXT, AT(wish.title), "TEXT", "above the plot (default: what is shown)", 0, 0, NULL },
    { "size", 0, CLI_TEXT, AT(size), "WxH", "pixels (900x500), or characters", 0, 0, NULL },
    { "terminal", 0, CLI_CHOICE, AT(screen), "HOW",
      "maps and frames in the terminal: text, blocks,\nblocks-256, sixel, kitty; auto: what it can", 0, 0, screens },
    { "part", 0, CLI_CHOICE, AT(wish.part), "PART", "of an array: magnitude (default), phase, real,\nimaginary", 0, 0,
      plot_parts },
    { "sum", 0, CLI_INT, AT(wish.sum), "N", "of a stack: the sum of N frames, from --frames on", 1, 1e9, NULL },
    { "poni", 'p', CLI_TEXT, AT(wish.poni), "FILE", "of a frame: the geometry, if its file has none", 0, 0, NULL },
    { "calibrant", 'c', CLI_TEXT, AT(wish.calibrant), "NAME", "of a frame: its rings, such as those of CeO2", 0, 0, NULL },
    { "rings", 0, CLI_TEXT, AT(wish.rings), "LIST", "of a frame: rings at these degrees of 2 theta", 0, 0, NULL },
    { "flip", 0, CLI_FLAG, AT(wish.flip), NULL, "rows run the other way than the geometry has it", 0, 0, NULL },
    { "mask", 0, CLI_TEXT, AT(wish.mask), "FILE", "of a frame: what is not 0 there is grey", 0, 0, NULL },
    { "no-file-mask", 0, CLI_FLAG, AT(wish.no_file_mask), NULL, "not the pixel_mask of the frame's file", 0, 0, NULL },
    { "dataset", 0, CLI_TEXT, AT(wish.dataset), "PATH", "of a stack in HDF5 (default: found)", 0, 0, NULL },
    { "channel", 0, CLI_TEXT, AT(wish.channel), "N", "of several energy thresholds: 1, 2 ...", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_plot_command = {
    "plot",
    "patterns and cakes that integrate wrote, or frames, as a picture or in the terminal",
    "RESULT...|STACK [-o FILE.svg]",
    1,
    PLOT_FILES,
    options,
    "RESULT is HDF5 (.h5), text (.dat, .xy) or EDF, of halcyon or pyFAI: 1-D patterns (curves), or\n"
    "cakes (images in radius and azimuth).  STACK is what `halcyon integrate` takes: the frames.\n"
    "Arrays of complex numbers (.npy, .npz, .cfl, .mrd, x.h5:DATASET) are images in their last two axes.\n"
    "Of cakes, frames and images one is shown: --frames N, or the first.  gnuplot draws files and curves.\n"
    "Exit status: 0, 1 if it could not be drawn, 2 if the command line is wrong."
};

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
        p->width = window.ws_col;
        p->height = window.ws_row - 2u;
        p->has_window = 1;
        p->cell[0] = window.ws_xpixel / window.ws_col;
        p->cell[1] = window.ws_ypixel / window.ws_row;
    }
    p->is_sized = v->size != NULL;
    unsigned most = v->output ? 10000 : 500, least = v->output ? 100 : 20;
    char end;
    /* The last conversion must fail: whatever stands behind the numbers is a mistake. */
    if (v->size && (sscanf(v->size, "%5ux%5u%c", &p->width, &p->height, &end) != 2 || p->width < least ||
                    p->height < least / 2 || p->width > most || p->height > most))
        return cli_usage("--size '%s' is not valid: WIDTHxHEIGHT is needed, %u to %u %s wide and %u to %u high",
                         v->size, least, most, v->output ? "pixels" : "characters", least / 2, most);
    if (known)
        return CLI_OK;
    /* The message lists the formats that there are. */
    return cli_check_format(v->output, HCY_WRITE_PICTURE);
}

/* Room that fits what is shown, where nobody said how much there is. */
static void fit_size(struct plot *p, int is_file)
{
    const struct plot_map *map = &p->map;
    double shape = p->kind == PLOT_IMAGE ? (double)map->height / (double)map->width : 0;
    if (p->is_sized)
        return;
    if (p->kind == PLOT_IMAGE && is_file) {
        /* The labels take about 180 pixels beside a detector's image, and 110 above and below. */
        p->height = (unsigned)fmin(2000, fmax(200, (p->width - 180) * shape + 110));
    } else if (p->kind == PLOT_IMAGE && !p->has_window) {
        p->height = (unsigned)fmin(500, fmax(20, p->width * shape / 2 + 6));
    } else if (p->kind != PLOT_IMAGE && !is_file) {
        /* Curves and maps that fill a large window are hard to look at. */
        p->width = p->width < 160 ? p->width : 160;
        p->height = p->height < 40 ? p->height : 40;
    }
}

static int draw_plot(struct plot *p, const struct values *v)
{
    const char *output = v->output;
    fit_size(p, output != NULL);
    /* gnuplot has no maps in text, so the terminal's are drawn here. */
    if (!output && (p->kind == PLOT_MAP || p->kind == PLOT_IMAGE)) {
        p->screen = (enum plot_screen)v->screen;
        if (p->screen == SCREEN_AUTO)
            p->screen = plot_find_screen();
        plot_print_map(stdout, p);
        return cli_close_stdout(CLI_OK);
    }
    /* gnuplot does not look whether what it writes has arrived, so that is done here, in the terminal too. */
    FILE *script = tmpfile(), *picture = tmpfile();
    int status = CLI_FAILED;
    if (!script || !picture) {
        status = cli_error("no temporary file can be made");
    } else {
        plot_write(script, p);
        status = gnuplot_run(script, fileno(picture));
        if (!status)
            status = output ? gnuplot_save(picture, output) : gnuplot_print(picture);
    }
    if (script)
        fclose(script);
    if (picture)
        fclose(picture);
    return status;
}

/* Nothing that is read is written over. */
static int guard_plot(const struct plot_job *job, const char *output)
{
    struct guard guard = { 0 };
    for (size_t i = 0; i < job->n_files; i++)
        guard_reads(&guard, "what is plotted", job->paths[i]);
    guard_reads(&guard, "--poni", job->wish->poni);
    guard_reads(&guard, "--mask", job->wish->mask);
    int status = guard_writes(&guard, "-o", output, 0, 0);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status;
}

/* What is shown, as bits: options are for some of these. */
enum {
    OF_CURVES = 1, OF_WATERFALL = 2, OF_MAP = 4, OF_FRAMES = 8, OF_ARRAY = 16,
    OF_RESULTS = OF_CURVES | OF_WATERFALL | OF_MAP, OF_IMAGES = OF_MAP | OF_FRAMES | OF_ARRAY
};

static unsigned what_is_shown(const struct plot_job *job, enum plot_input input)
{
    if (input != PLOT_OF_RESULTS)
        return input == PLOT_OF_FRAMES ? OF_FRAMES : OF_ARRAY;
    return job->plot.kind == PLOT_MAP ? OF_MAP : job->plot.kind == PLOT_WATERFALL ? OF_WATERFALL : OF_CURVES;
}

static const char *words_of(unsigned shown)
{
    return shown == OF_FRAMES      ? "holds frames"
           : shown == OF_ARRAY     ? "is an array"
           : shown == OF_MAP       ? "is shown as a map"
           : shown == OF_WATERFALL ? "is shown as a waterfall"
                                   : "is shown as curves";
}

/* An option that would do nothing is a misunderstanding.  CLI_OK, or CLI_USAGE with a message. */
static int check_shown(const struct plot_job *job, const struct values *v, unsigned shown)
{
    const struct plot_wish *wish = job->wish;
    const struct {
        int given;
        unsigned of;
        const char *option, *what;
    } rules[] = { { v->as, OF_RESULTS, "--as", "results" },
                  { v->range.given, OF_RESULTS, "--range", "results" },
                  { v->errors.given, OF_CURVES, "--errors", "curves" },
                  { v->contrast.given, OF_IMAGES, "--contrast", "maps, frames and arrays" },
                  { v->screen, OF_IMAGES, "--terminal", "maps, frames and arrays" },
                  { wish->part, OF_ARRAY, "--part", "arrays" },
                  { wish->sum.given, OF_FRAMES, "--sum", "frames" },
                  { wish->poni != NULL, OF_FRAMES, "--poni", "frames" },
                  { wish->calibrant != NULL, OF_FRAMES, "--calibrant", "frames" },
                  { wish->rings != NULL, OF_FRAMES, "--rings", "frames" },
                  { wish->flip, OF_FRAMES, "--flip", "frames" },
                  { wish->mask != NULL, OF_FRAMES, "--mask", "frames" },
                  { wish->no_file_mask, OF_FRAMES, "--no-file-mask", "frames" },
                  { wish->dataset != NULL, OF_FRAMES, "--dataset", "frames" },
                  { wish->channel != NULL, OF_FRAMES, "--channel", "frames" } };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].given && !(rules[i].of & shown))
            return cli_usage("%s is for %s, and %s %s", rules[i].option, rules[i].what, job->paths[0], words_of(shown));
    return CLI_OK;
}

static int plot_files(struct plot_job *job, const struct values *v)
{
    const struct plot_wish *wish = job->wish;
    enum plot_input input;
    int status = plot_open_results(job, &input);
    if (!status)
        status = guard_plot(job, v->output);
    /* Whether results are curves or a map is known when they are chosen. */
    if (!status && input == PLOT_OF_RESULTS)
        status = plot_read_results(job);
    if (!status)
        status = check_shown(job, v, what_is_shown(job, input));
    if (!status && input == PLOT_OF_FRAMES)
        status = plot_read_frames(&job->plot, wish);
    if (!status && input == PLOT_OF_ARRAY)
        status = plot_read_array(&job->plot, wish);
    return status ? status : draw_plot(&job->plot, v);
}

/* What goes together; CLI_OK, or CLI_USAGE with a message. */
static int check_plot_values(const struct values *v)
{
    if (v->wish.log && v->wish.linear)
        return cli_usage("--log and --linear exclude each other");
    if (v->contrast.a < 0 || v->contrast.b > 100)
        return cli_usage("--contrast: percentiles go from 0 to 100");
    if (v->screen && v->output)
        return cli_usage("--terminal is for what is shown there: leave -o");
    return CLI_OK;
}

int cli_plot(int argc, char **argv)
{
    struct values values = { .errors = { 0, 3 }, .contrast = { 0, 1, 99.8 } };
    struct plot_job job = { .wish = &values.wish };
    int status;
    if (cli_parse(&cli_plot_command, argc, argv, &values, job.paths, &status))
        return status;
    while (job.n_files < PLOT_FILES && job.paths[job.n_files])
        job.n_files++;
    values.wish.path = job.paths[0];
    values.wish.frames = &values.frames;
    job.as = values.as;
    status = check_plot_values(&values);
    if (!status)
        status = choose_terminal(&job.plot, &values);
    if (status)
        return status;
    memcpy(job.plot.contrast, (double[]){ values.contrast.a, values.contrast.b }, sizeof job.plot.contrast);
    job.plot.log = values.wish.log;
    job.plot.errors = values.errors.value;
    if (values.range.given)
        memcpy(job.plot.range, (double[]){ values.range.a, values.range.b }, sizeof job.plot.range);
    job.plot.has_range = values.range.given;
    status = plot_files(&job, &values);
    plot_close_results(&job);
    free(job.plot.map.cells);
    free(job.plot.map.segments);
    return status;
}
