/* shard.c - which part of the frames this process has, and what its file is called.
 *
 * Parts need no library and no connection: a process is told its number, by the user or by what started it, and a merge
 * sees afterwards whether all of them are there. */
#include "shard.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What starts processes numbers them in these.  mpirun's come first: under Slurm its processes also have the numbers of
 * the daemon that started them.  Slurm's is the size of the step, which a batch script itself does not have: there
 * nothing was started several times. */
static const struct launcher {
    const char *name, *number, *count;
} launchers[] = { { "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
                  { "PMI", "PMI_RANK", "PMI_SIZE" },
                  { "Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" } };

/* A whole number up to `most` at the beginning of the text, and what ends it. */
static int read_number(uint64_t *number, const char **end, const char *text, uint64_t most)
{
    char *stop = NULL;
    errno = 0;
    unsigned long long value = text && isdigit((unsigned char)*text) ? strtoull(text, &stop, 10) : 0;
    *number = value;
    *end = stop;
    return stop && !errno && value <= most;
}

static int number_by_launcher(hcy_shard *shard)
{
    const char *end;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct launcher *l = &launchers[i];
        const char *number = getenv(l->number), *count = getenv(l->count);
        if (!number || !count)
            continue;
        if (read_number(&shard->count, &end, count, UINT32_MAX) && !*end && shard->count &&
            read_number(&shard->number, &end, number, shard->count - 1) && !*end)
            return CLI_OK;
        /* Numbers that make no sense are not passed over: another launcher's would then deal the wrong frames. */
        return cli_usage("--shard auto: %s says process '%s' of '%s' (%s, %s); give --shard I/N", l->name, number,
                         count, l->number, l->count);
    }
    return cli_usage("--shard auto: nothing numbers this process (OMPI_COMM_WORLD_RANK, PMI_RANK and SLURM_PROCID with "
                     "their counts are not set); start it with mpirun or srun, or give --shard I/N");
}

int shard_parse(hcy_shard *shard, const char *text)
{
    const char *end;
    *shard = (hcy_shard){ .unit = 1 };
    if (!text)
        return CLI_OK;
    if (!strcmp(text, "auto"))
        return number_by_launcher(shard);
    if (read_number(&shard->number, &end, text, UINT32_MAX) && *end == '/' &&
        read_number(&shard->count, &end, end + 1, UINT32_MAX) && !*end && shard->number < shard->count)
        return CLI_OK;
    return cli_usage("--shard '%s' is not valid: it takes I/N with I from 0 to N - 1, or auto", text);
}

int shard_output(char *out, size_t size, const char *path, const hcy_shard *shard, int is_one_file)
{
    const char *base = strrchr(path, '/'), *dot = strrchr(base ? base + 1 : path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    /* Parts write under names of their own; standard output has none, and of a file a frame no two parts write the
     * same. */
    int part = shard->count && strcmp(path, "-") && (is_one_file || !strchr(path, '%'));
    int n = part ? snprintf(out, size, "%.*s.%llu-of-%llu%s", (int)stem, path, (unsigned long long)shard->number,
                            (unsigned long long)shard->count, path + stem)
                 : snprintf(out, size, "%s", path);
    return (size_t)n < size ? CLI_OK : cli_error("the name of %s is too long", path);
}

int shard_deal(uint64_t *first, uint64_t *last, hcy_shard *shard)
{
    if (!shard->count)
        return CLI_OK;
    shard->first = *first;
    shard->last = *last;
    int status = hcy_shard_frames(first, last, shard);
    if (status)
        return cli_fail(status);
    /* More parts than frames are no failure: whoever started them all may not know how many frames there are. */
    if (*first == *last)
        cli_note("part %llu/%llu has no frames, there are %llu in all: nothing is written",
                 (unsigned long long)shard->number, (unsigned long long)shard->count,
                 (unsigned long long)(shard->last - shard->first));
    return CLI_OK;
}
