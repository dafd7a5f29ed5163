/* merge.c - halcyon merge: the files of all parts of a stack to one.
 *
 * Curves become virtual datasets, or copies; sparse frames are copied; totals are added up.  Which of these is said by
 * the files. */
#include "merge.h"
#include "cli.h"
#include "guard.h"
#include <halcyon/stack.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *output;
    int copy, quiet;
};

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "output", 'o', CLI_TEXT, AT(output), "FILE", "the merged file: HDF5; of totals also .npy, .tif, .edf", 0, 0, NULL },
    { "copy", 0, CLI_FLAG, AT(copy), NULL, "copy the curves, so that the parts can go; without it\nthey stay where they are",
      0, 0, NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no summary", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_merge_command = {
    "merge", "one file of those that parts of a stack were made to (--shard)", "PART.h5 ... -o FILE.h5", 1, INT_MAX, options,
    "Curves: one file for pyFAI, silx and the like, with virtual datasets that lead to the parts.\n"
    "Sparse frames (integrate --sparse): one file, which does not need the parts.\n"
    "Totals of `halcyon sum`: added up exactly.  The order of the parts does not matter; nothing is written\n"
    "if a part is missing, unfinished, there twice or of another stack or plan: the message names it.\n"
    "Exit status: 0; 1 if nothing was written, or frames that failed have no curve, no pixels, or are in no total;\n"
    "2: usage."
};

/* Nothing that is read is written over. */
static int guard_parts(const char *output, const char *const *parts, size_t n)
{
    struct guard guard = { 0 };
    for (size_t i = 0; i < n; i++)
        guard_reads(&guard, "a part", parts[i]);
    int status = guard_writes(&guard, "-o", output, 0, 0);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status;
}

/* Takes off a kind that frames were left out of the total; were there any? */
static bool take_damaged(char kind[16])
{
    char *mark = strstr(kind, "-damaged");
    if (mark)
        *mark = 0;
    return mark != NULL;
}

/* All totals are of one kind, and parts of one stack; *lacking: of how many frames were left out. */
static int check_totals(size_t *lacking, const char *kind, const char *const *parts, size_t n)
{
    hcy_shard *shards = calloc(n, sizeof *shards);
    int status = shards ? CLI_OK : cli_error("no memory for a list of %zu parts", n);
    for (size_t i = 0; !status && i < n; i++) {
        char other[16];
        /* A file that is no part at all has no kind to compare: hcy_shards_check() has the better message for it. */
        int st = hcy_shard_read(&shards[i], other, parts[i]);
        if (st)
            status = cli_fail(st);
        else if (take_damaged(other)) {
            (*lacking)++;
            cli_note("%s lacks frames that were damaged", parts[i]);
        }
        if (!status && shards[i].count && strcmp(kind, other))
            status = cli_error("%s has %s, %s has %s", parts[0], kind, parts[i], other);
    }
    int st = status ? 0 : hcy_shards_check(shards, parts, n);
    free(shards);
    return st ? cli_fail(st) : status;
}

/* Totals are an image, of any format. */
static int check_output(const char *path, const char *what)
{
    const char *format;
    if (!what)
        return cli_check_format(path, HCY_WRITE_IMAGES);
    if (!hcy_format_of(&format, path, HCY_WRITE_CURVES) && !strcmp(format, "h5"))
        return CLI_OK;
    return cli_usage("%s: merged %s are HDF5: give -o FILE.h5", path, what);
}

/* Says how many of the frames have no curve: a merge looks whole without.  CLI_OK if all have, else CLI_FAILED, as of
 * one process. */
static int tell_lost(const char *output)
{
    hcy_results *results = NULL;
    if (hcy_results_open(&results, output))
        return cli_fail(hcy_last_error()->status);
    const hcy_results_info *info = hcy_results_get_info(results);
    if (info->failed)
        cli_error("%s: %llu of %llu frames failed and %s no curve, frame %llu first", output,
                  (unsigned long long)info->failed, (unsigned long long)info->rows, info->failed == 1 ? "has" : "have",
                  (unsigned long long)info->first_failed);
    const int status = info->failed ? CLI_FAILED : CLI_OK;
    hcy_results_close(results);
    return status;
}

static int merge_files(const struct values *v, const char *const *parts, size_t n)
{
    const char *of = n == 1 ? "part" : "parts";
    hcy_shard shard;
    char kind[16];
    uint64_t rows = 0, failed = 0;
    size_t lacking = 0;
    /* The first part says what all of them are; the others are held against it later. */
    int status = guard_parts(v->output, parts, n), st = status ? 0 : hcy_shard_read(&shard, kind, parts[0]);
    if (status || st)
        return st ? cli_fail(st) : status;
    /* Curves of --frames are no part of a dealing and say no kind; totals can be added up only where they do. */
    (void)take_damaged(kind);
    const int curves = !*kind || !strcmp(kind, "curves"), sparse = !strcmp(kind, "sparse");
    status = check_output(v->output, curves ? "curves" : sparse ? "sparse frames" : NULL);
    if (status)
        return status;
    if (curves) {
        st = hcy_curves_merge(&rows, v->output, parts, n, v->copy ? HCY_MERGE_COPY : 0);
        status = st ? cli_fail(st) : CLI_OK;
    } else if (sparse) {
        st = hcy_sparse_merge(&rows, &failed, v->output, parts, n);
        status = st ? cli_fail(st) : CLI_OK;
    } else {
        status = check_totals(&lacking, kind, parts, n);
        if (!status)
            status = merge_totals(v->output, parts, n, kind);
    }
    if (status)
        cli_not_written(v->output);
    else if (!v->quiet && curves)
        fprintf(stderr, "%s: %llu %s of %zu %s\n", v->output, (unsigned long long)rows,
                rows == 1 ? "curve" : "curves", n, of);
    else if (!v->quiet && sparse)
        fprintf(stderr, "%s: %llu sparse %s of %zu %s\n", v->output, (unsigned long long)rows,
                rows == 1 ? "frame" : "frames", n, of);
    else if (!v->quiet)
        fprintf(stderr, "%s: the %s of %zu %s\n", v->output, strcmp(kind, "max") ? "sums" : "largest values", n, of);
    /* What was merged is there, as that of one process would be, whose status says the same. */
    if (!status && curves)
        status = tell_lost(v->output);
    if (failed)
        cli_error("%s: %llu of %llu frames failed and %s no pixels", v->output, (unsigned long long)failed,
                  (unsigned long long)rows, failed == 1 ? "has" : "have");
    return status || !(lacking || failed) ? status : CLI_FAILED;
}

int cli_merge(int argc, char **argv)
{
    struct values values = { 0 };
    const char **parts = calloc((size_t)argc, sizeof *parts);
    int status;
    size_t n = 0;
    if (!parts)
        return cli_error("no memory for a list of %d parts", argc);
    if (!cli_parse(&cli_merge_command, argc, argv, &values, parts, &status)) {
        while (n < (size_t)argc && parts[n])
            n++;
        status = values.output ? merge_files(&values, parts, n)
                               : cli_usage("where the merged file goes is missing: give -o FILE.h5");
    }
    free(parts);
    return status;
}
