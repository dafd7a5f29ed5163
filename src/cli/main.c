/* main.c - the halcyon command: finds the subcommand and leaves the rest to it. */
#include "cli.h"
#include "interrupt.h"
#include "process_wire.h"
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const struct cli_command *command;
    int (*run)(int argc, char **argv);
} table[] = {
    { &cli_integrate_command, cli_integrate },
    { &cli_calibrate_command, cli_calibrate },
    { &cli_merge_command, cli_merge },
    { &cli_plot_command, cli_plot },
    { &cli_info_command, cli_info },
    { &cli_decompress_command, cli_decompress },
    { &cli_compress_command, cli_compress },
    { &cli_sum_command, cli_sum },
    { &cli_nufft_command, cli_nufft },
    { &cli_recon_command, cli_recon },
    { &cli_simulate_command, cli_simulate },
    { &cli_devices_command, cli_devices },
    { &cli_bench_command, cli_bench },
    { &cli_bench_nufft_command, cli_bench_nufft },
    { &cli_compare_command, cli_compare },
    { &cli_fpga_model_command, cli_fpga_model },
    { &cli_scale_model_command, cli_scale_model },
};
enum { COUNT = sizeof table / sizeof table[0] };

/* The subcommand that the first words name, the longest one; *n: how many words. */
static int find_subcommand(int argc, char **argv, int *n)
{
    int found = -1;
    *n = 1;
    for (int i = 0; i < COUNT; i++) {
        const char *name = table[i].command->name, *second = strchr(name, ' ');
        size_t first = second ? (size_t)(second - name) : strlen(name);
        bool fits = strlen(argv[0]) == first && !strncmp(name, argv[0], first);
        if (second)
            fits = fits && argc > 1 && !strcmp(argv[1], second + 1);
        /* "bench nufft" is longer than "bench" and wins over it. */
        if (fits && (found < 0 || second)) {
            found = i;
            *n = second ? 2 : 1;
        }
    }
    return found;
}

static int unknown(const char *name)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = table[i].command->name;
    const char *closest = cli_closest(name, names, COUNT);
    if (closest)
        cli_error("there is no subcommand '%s' (is '%s' meant?); see `halcyon --help`", name, closest);
    else
        cli_error("there is no subcommand '%s'; see `halcyon --help`", name);
    return CLI_USAGE;
}

static void overview(FILE *out)
{
    fputs("usage: halcyon SUBCOMMAND ...\n"
          "Detector frames to patterns, and non-uniform FFTs, on any accelerator.\n\n", out);
    for (int i = 0; i < COUNT; i++) {
        fprintf(out, "  %-12s ", table[i].command->name);
        cli_put_words(out, table[i].command->summary, strlen(table[i].command->summary), 15);
        putc('\n', out);
    }
    fputs("  help SUB     what SUB takes, the same as `halcyon SUB --help`\n\n"
          "  --version    the version\n"
          "  --help       this text\n\n"
          "Environment: HALCYON_DEVICE (the default of --devices), HALCYON_BACKENDS\n"
          "(cpu,-opencl: which are looked at), HALCYON_TRACE (a file for the timeline of\n"
          "every copy and kernel); the others are in halcyon(7).\n", out);
    cli_print_lacks(out, NULL);
}

static int help(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') {
        overview(stdout);
        return cli_close_stdout(CLI_OK);
    }
    int n, i = find_subcommand(argc - 1, argv + 1, &n);
    if (i < 0)
        return unknown(argv[1]);
    cli_help(stdout, table[i].command, 0);
    return cli_close_stdout(CLI_OK);
}

/* A file of somebody else's may be made to do harm.  A build without HDF5 has nothing to isolate; who has set the
 * environment has decided. */
static void isolate_others(void)
{
    hcy_isolation isolation = HCY_ISOLATION_INIT;
    const char *word = getenv("HALCYON_ISOLATE");
    isolation.files = HCY_ISOLATE_FOREIGN;
    if (!word || !*word)
        (void)!hcy_isolation_set(&isolation);
}

/* A word that is none must not turn the isolation off: whoever sets it wants more of it, not less. */
static int check_isolate_word(void)
{
    const char *word = getenv("HALCYON_ISOLATE");
    if (!word || !*word || !strcmp(word, "none") || !strcmp(word, "foreign") || !strcmp(word, "all"))
        return CLI_OK;
    (void)cli_error("HALCYON_ISOLATE is '%.40s': it takes one of none, foreign, all", word);
    return CLI_USAGE;
}

/* Exit handlers run behind what main() returns, but not where a device hangs. */
static int end(int status)
{
    if (cli_has_hung) {
        fflush(NULL);
        _exit(status);
    }
    return status;
}

int main(int argc, char **argv)
{
    isolate_others();
    /* halcyon integrate --processes starts this program under another name, with the arguments it has itself. */
    if (argc > 1 && !strcmp(argv[0], PROCESS_NAME)) {
        cli_name = cli_integrate_command.name;
        return end(process_work(argc - 1, argv + 1));
    }
    if (argc < 2) {
        overview(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
        return help(argc - 1, argv + 1);
    if (!strcmp(word, "--version")) {
        printf("halcyon %s\n", hcy_version());
        cli_print_lacks(stdout, NULL);
        return cli_close_stdout(CLI_OK);
    }
    int n, i = find_subcommand(argc - 1, argv + 1, &n);
    if (i < 0)
        return unknown(word);
    cli_name = table[i].command->name;
    signal(SIGXFSZ, SIG_IGN); /* a file that grows past a limit is a failed write, said in words */
    /* Even a command that never catches signals removes its unfinished outputs. */
    interrupt_begin();
    if (check_isolate_word())
        return CLI_USAGE;
    return end(table[i].run(argc - n, argv + n));
}
