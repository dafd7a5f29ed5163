/* compare.c - halcyon compare: the same work on each device alone and on all together, and two such reports side
 * by side.  What is measured, and how, is in compare_run.c and compare_measure.c; what a report holds in
 * doc/compare.md. */
#include "compare.h"
#include "bench_nufft.h"
#include "guard.h"
#include <errno.h>
#include <halcyon/azint.h>
#include <string.h>

static const char *const splits[] = { "no", "bbox", "full", NULL };
static const char *const errors[] = { "none", "poisson", NULL };

#define AT(member) offsetof(struct compare_values, member)
static const struct cli_option options[] = {
    { "devices", 'd', CLI_TEXT, AT(devices), "LIST", "cpu,cuda:0,opencl:0 ... (all)", 0, 0, NULL },
    { "poni", 'p', CLI_TEXT, AT(poni), "FILE", "the geometry (default: what STACK says)", 0, 0, NULL },
    { "output", 'o', CLI_TEXT, AT(output), "FILE", "the report as a page, FILE.html", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "the report as JSON on stdout, in the table's place", 0, 0, NULL },
    { "npt", 'n', CLI_INT, AT(npt), "N", "bins of the curve (1000)", 1, HCY_AZINT_MAX_BINS, NULL },
    { "split", 0, CLI_CHOICE, AT(split), "HOW", "no, bbox, full (default)", 0, 0, splits },
    { "error-model", 0, CLI_CHOICE, AT(errors), "MODEL", "none, poisson (default)", 0, 0, errors },
    { "frames", 0, CLI_INT, AT(frames), "N", "of the stack, from its first (64)", 1, 100000, NULL },
    { "batch", 0, CLI_INT, AT(batch), "N", "frames a launch (the devices' wish)", 1, 4096, NULL },
    { "rounds", 0, CLI_INT, AT(rounds), "N", "of which the best counts (5)", 1, 1000, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in STACK (default: found)", 0, 0, NULL },
    { "limit", 0, CLI_REAL, AT(limit), "S", "a device that takes longer than S seconds is\nstopped, and its line says so (600)", 1,
      1e6, NULL },
    { "sizes", 0, CLI_FLAG, AT(sizes), NULL, "also the rates on simulated stacks of other sizes", 0, 0, NULL },
    { "nufft", 0, CLI_FLAG, AT(nufft), NULL, "also non-uniform FFTs, as `halcyon bench nufft`", 0, 0, NULL },
    { "cells", 0, CLI_TEXT, AT(cells), "PART", "of these the cells with PART in their names: 2d1, 1e-06", 0, 0, NULL },
    { "points", 'm', CLI_INT, AT(points), "N", "how many these have (200000)", 1, 4e9, NULL },
    { "finufft", 'f', CLI_TEXT, AT(finufft), "FILE", "FINUFFT's library beside them", 0, 0, NULL },
    { "pyfai", 0, CLI_TEXT, AT(python), "PYTHON", "and the pyFAI of this Python beside the curves", 0, 0, NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no progress", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_compare_command = {
    "compare",
    "what each device is worth, alone and all together, as table or page",
    "STACK | A.json [B.json]",
    1,
    2,
    options,
    "STACK may be many files: 'a/*.tif', a directory, @LIST of paths.\n"
    "Results are held against the CPU's.  Two reports made by --json are laid side by side.\n"
    "Exit status: 0 if there is a report, also where a device of it failed; 1 if not."
};

#ifdef HAVE_JANSSON
static int is_report_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".json");
}

static int read_report(json_t **report, const char *path)
{
    json_error_t error;
    errno = 0;
    *report = json_load_file(path, 0, &error);
    /* Of a file that is not there no line is wrong, and a long name leaves no room in the text for why. */
    if (!*report && error.line < 0)
        return cli_error("%s: %s", path, errno ? strerror(errno) : error.text);
    if (!*report)
        return cli_error("%s: %s (line %d)", path, error.text, error.line);
    const char *what = value_string(*report, "report");
    if (!what || strcmp(what, "halcyon compare"))
        return cli_error("%s is not a report of halcyon compare", path);
    /* Members of another version may have other meanings, so none is read by guess. */
    double version = value_number(*report, "version");
    if (version == COMPARE_VERSION)
        return CLI_OK;
    return cli_error("%s is a report of version %g, this program reads version %d", path, version, COMPARE_VERSION);
}

static int check_output(const struct compare_values *v, const char *const *operands)
{
    const char *dot = v->output ? strrchr(v->output, '.') : NULL;
    const bool measures = v->poni || v->devices || v->dataset || v->python || v->npt.given || v->frames.given ||
                          v->batch.given || v->rounds.given || v->limit.given || v->nufft || v->sizes ||
                          v->split >= 0 || v->errors >= 0;
    const char *const slips[][2] = {
        { v->output && (!dot || strcmp(dot, ".html")) ? "x" : NULL, "-o takes a page, FILE.html" },
        { operands[1] && (!is_report_file(operands[0]) || !is_report_file(operands[1])) ? "x" : NULL,
          "two operands are two reports, A.json B.json" },
        { measures && is_report_file(operands[0]) ? "x" : NULL,
          "a report is shown as it was measured: options of measuring are for a STACK" },
        { v->json && operands[1] ? "x" : NULL, "--json is for one report" },
        { !v->nufft && (v->cells || v->finufft || v->points.given) ? "x" : NULL,
          "--cells, --points and --finufft are of transforms, which --nufft asks for" },
    };
    for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++)
        if (slips[i][0])
            return cli_usage("%s", slips[i][1]);
    return v->cells ? bench_nufft_check_cells(v->cells) : CLI_OK;
}

static int read_reports(json_t **reports, const struct compare_values *v, const char *const *operands)
{
    struct guard guard = { 0 };
    int status = CLI_OK;
    for (size_t i = 0; !status && i < COMPARE_REPORTS && operands[i]; i++) {
        guard_reads(&guard, "a report", operands[i]);
        status = read_report(&reports[i], operands[i]);
    }
    if (!status)
        status = guard_writes(&guard, "-o", v->output, 0, 0);
    guard_free(&guard);
    return status;
}

static int show_reports(json_t *const *reports, const struct compare_values *v)
{
    size_t n = reports[1] ? 2 : 1;
    /* What took minutes to measure is shown also where its page could not be written. */
    int status = v->output ? compare_page(v->output, reports, n) : CLI_OK;
    if (!v->json) {
        compare_print(stdout, reports, n);
        return cli_close_stdout(status);
    }
    if (json_dumpf(reports[0], stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(COMPARE_DIGITS)))
        return cli_error("the report cannot be written to standard output");
    putchar('\n');
    return cli_close_stdout(status);
}

int cli_compare(int argc, char **argv)
{
    struct compare_values values = { .npt = { 0, 1000 },
                                     .frames = { 0, 64 },
                                     .rounds = { 0, 5 },
                                     .limit = { 0, 600 },
                                     .points = { 0, 200000 },
                                     .split = -1,
                                     .errors = -1 };
    const char *operands[COMPARE_REPORTS + 1] = { NULL };
    json_t *reports[COMPARE_REPORTS] = { NULL };
    int status;
    if (cli_parse(&cli_compare_command, argc, argv, &values, operands, &status))
        return status;
    status = check_output(&values, operands);
    /* Only now, since what is given to a report is refused. */
    values.split = values.split < 0 ? HCY_SPLIT_FULL : values.split;
    values.errors = values.errors < 0 ? HCY_ERRORS_POISSON : values.errors;
    if (!status)
        status = is_report_file(operands[0]) ? read_reports(reports, &values, operands)
                                             : compare_measure(&reports[0], &values, operands[0]);
    if (!status)
        status = show_reports(reports, &values);
    for (size_t i = 0; i < COMPARE_REPORTS; i++)
        json_decref(reports[i]);
    return status;
}

#else
int cli_compare(int argc, char **argv)
{
    struct compare_values values;
    const char *operands[COMPARE_REPORTS];
    int status;
    if (cli_parse(&cli_compare_command, argc, argv, &values, operands, &status))
        return status;
    return cli_error("built without jansson, which reports are made with");
}
#endif
