/* cli.h - what the subcommands of `halcyon` share: the option table, messages, JSON.
 *
 * A subcommand is one file with a struct cli_command: a table of options from which its parsing, its --help
 * and its error messages come, and cli_NAME(argc, argv), argv[0] being the subcommand's name.  Exit statuses:
 * CLI_OK, CLI_FAILED (something was not done), CLI_USAGE (the command line was wrong).  Only this folder
 * prints.  Single-threaded.
 */
#ifndef HCY_CLI_H
#define HCY_CLI_H

#include <halcyon/device.h>
#include <halcyon/stack.h>
#include <halcyon/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* --- Options --- */

/* What an option stores at its offset in the subcommand's structure. */
enum cli_type {
    CLI_FLAG,   /* int: 1 */
    CLI_TEXT,   /* const char * (into argv) */
    CLI_INT,    /* struct cli_int, within [min, max] */
    CLI_REAL,   /* struct cli_real, finite and within [min, max] */
    CLI_CHOICE, /* int: index into choices */
    CLI_PAIR,   /* struct cli_pair: "A,B", A < B */
    CLI_SPAN,   /* struct cli_span: "A:B", "A:", ":B" or "A" of whole numbers, B excluded */
    CLI_SPANS,  /* struct cli_spans: such spans, and "A-B" with B, between commas; each behind the one before */
    CLI_ISOLATE /* nothing: the library is told, at once, that its offset is what it isolates (HCY_ISOLATE_*) */
};
struct cli_int {
    int given;
    int64_t value;
};
struct cli_real {
    int given;
    double value;
};
struct cli_pair {
    int given;
    double a, b;
};
struct cli_span {
    int given;
    uint64_t first, last; /* last is UINT64_MAX if it was left open */
};
enum { CLI_MOST_SPANS = 64 };
struct cli_spans {
    int given;
    size_t n;
    struct cli_span list[CLI_MOST_SPANS];
};

struct cli_option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* of the short form, 0 for none */
    enum cli_type type;
    size_t offset;
    const char *arg;            /* what the help calls the value; NULL for a flag */
    const char *help;           /* a line or two; the help wraps it */
    double min, max;            /* of numbers; both 0: any */
    const char *const *choices; /* ends with NULL */
};

/* Of every command that reads HDF5 files.  What stands in none of its options is main()'s: files of other users. */
#define CLI_ISOLATE_OPTIONS                                                                                      \
    { "isolate", 0, CLI_ISOLATE, HCY_ISOLATE_ALL, NULL,                                                          \
      "HDF5 files are read by a process of their own, which damaged ones may crash (default: other users' files)", \
      0, 0, NULL },                                                                                              \
        { "no-isolate", 0, CLI_ISOLATE, HCY_ISOLATE_NONE, NULL, "not even other users' files", 0, 0, NULL }

/* Options that --help shows together, by their names with blanks between: `usual` ones, and the `rest` only with
 * --help-all.  A title of NULL ends a table. */
struct cli_group {
    const char *title, *usual, *rest;
};

struct cli_command {
    const char *name;
    const char *summary;  /* for the list of subcommands: one line */
    const char *operands; /* "STACK -p GEOMETRY.poni" */
    int min_operands, max_operands;
    const struct cli_option *options; /* --help is there without an entry */
    const char *notes;                /* below the options, may be NULL */
};

/* Fills `values` (which holds the defaults) and operands[0 .. max_operands).  Returns 0 to go on with the
 * subcommand, or 1 with *status to leave with: help was asked for, or the command line is wrong and a message
 * was printed. */
int cli_parse(const struct cli_command *command, int argc, char **argv, void *values, const char **operands,
              int *status);
void cli_help(FILE *out, const struct cli_command *command, int all);
/* The words of a text, whose first line begins at column `indent`, as further ones do, none beyond column 80. */
void cli_put_words(FILE *out, const char *text, size_t length, int indent);
/* A line for each library that this build is without and that the command (NULL: any) would use (lacks.c). */
void cli_print_lacks(FILE *out, const char *command);
/* The entry of names[0 .. n) closest to `word`, NULL if none is near. */
const char *cli_closest(const char *word, const char *const *names, size_t n);

/* --- Messages, on stderr --- */

/* "halcyon NAME: ..." with a newline; returns CLI_FAILED. */
int cli_error(const char *fmt, ...) HCY_PRINTF(1, 2);
void cli_note(const char *fmt, ...) HCY_PRINTF(1, 2);
/* A device hangs: its driver's exit handlers would take apart what threads in it still use, so that the program ends
 * without these. */
extern bool cli_has_hung;
/* Notes are not printed: another process of this run has said the same. */
extern bool cli_notes_off;
/* The same of a command line that is wrong in itself, whatever its files hold: it ends in where help is.  CLI_USAGE. */
int cli_usage(const char *fmt, ...) HCY_PRINTF(1, 2);
/* The library's words for `status`, a negative return; returns CLI_FAILED. */
int cli_fail(int status);
/* cli_fail() of what an option's value is for (NULL: it was not given): CLI_USAGE where it is malformed, HCY_EINVAL. */
int cli_fail_value(int status, const char *value);
/* FILE cannot be written, because of an errno; returns CLI_FAILED. */
int cli_write_failed(const char *path, int number);
/* An output's suffix is one that is written for this (HCY_WRITE_*); of curves and tables it may be "-".  CLI_OK, or
 * CLI_USAGE with a message. */
int cli_check_format(const char *path, unsigned use);
/* The name has no %d, as one file is written and not one a frame.  CLI_OK, or CLI_USAGE with a message. */
int cli_check_one_file(const char *path);
/* Says what is at an output's place after a run that did not come to its end. */
void cli_not_written(const char *path);
/* Which file is at an output's place, and as it was written last; all 0: none. */
struct cli_identity {
    uint64_t device, number, bytes, seconds, nanoseconds;
};
struct cli_identity cli_identify(const char *path);
/* cli_not_written() of an output that may grow under its own name; `before` is what was there before it was opened. */
void cli_not_completed(const char *path, const struct cli_identity *before);
/* The same after cli_fail(status): an output could not be begun or written.  CLI_FAILED. */
int cli_fail_to_write(int status, const char *path);
/* Set by main(): the subcommand's name for messages. */
extern const char *cli_name;
/* A word of a command line that can be pasted into a shell; `out`. */
enum { CLI_WORD = 8192 };
const char *cli_shell_word(char *out, size_t size, const char *word);
/* Bytes of the character at `c` if that is well-formed UTF-8, else 0. */
size_t cli_utf8_length(const unsigned char *c);
/* What a file says, on a terminal: a control character, of one byte or two, is '?'.  Returns what is behind the first
 * character; all of it. */
const char *cli_print_character(FILE *out, const char *text);
void cli_print_words(FILE *out, const char *text);
/* Flushes stdout and says so if what was printed did not arrive; returns `status` or CLI_FAILED. */
int cli_close_stdout(int status);

/* --- Devices --- */

/* Kernels are compiled when they are first launched, by some drivers behind the launch, where no clock of ours tells
 * that from their work: the first time of something is set-up then, and the second is what it takes. */
bool cli_compiles(const hcy_device *device);
/* So many frames are done by the processor before the drivers of other devices are loaded. */
enum { CLI_FEW_FRAMES = 3 };
/* It alone, where neither a list nor HALCYON_DEVICE names any device; false: nothing is opened. */
bool cli_open_processor(hcy_device ***devices, size_t *n, const char *list);

/* --- JSON, printed as it is made --- */

struct cli_json {
    FILE *out;
    int depth, first; /* first: the next member needs no comma */
};
void cli_json_begin(struct cli_json *json, FILE *out);
/* key is NULL inside arrays and for the outermost object. */
void cli_json_open(struct cli_json *json, const char *key, char bracket);      /* '{' or '[' */
void cli_json_close(struct cli_json *json, char bracket);                      /* '}' or ']' */
void cli_json_text(struct cli_json *json, const char *key, const char *value); /* NULL: null */
void cli_json_int(struct cli_json *json, const char *key, int64_t value);
void cli_json_uint(struct cli_json *json, const char *key, uint64_t value); /* of a stream: may be 2^63 and more */
void cli_json_real(struct cli_json *json, const char *key, double value); /* not finite: null */
void cli_json_bool(struct cli_json *json, const char *key, int value);

/* --- Subcommands --- */

int cli_integrate(int argc, char **argv);
int cli_devices(int argc, char **argv);
int cli_nufft(int argc, char **argv);
int cli_recon(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_compare(int argc, char **argv);
int cli_fpga_model(int argc, char **argv);
int cli_scale_model(int argc, char **argv);
int cli_bench_nufft(int argc, char **argv);
int cli_decompress(int argc, char **argv);
int cli_compress(int argc, char **argv);
int cli_sum(int argc, char **argv);
int cli_merge(int argc, char **argv);
int cli_plot(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_calibrate(int argc, char **argv);
extern const struct cli_group cli_integrate_groups[]; /* the one subcommand with more options than a screen has lines */
extern const struct cli_command cli_integrate_command, cli_devices_command, cli_simulate_command,
    cli_bench_command, cli_bench_nufft_command, cli_nufft_command, cli_recon_command,
    cli_decompress_command, cli_compress_command,
    cli_sum_command, cli_merge_command, cli_plot_command, cli_info_command, cli_fpga_model_command,
    cli_scale_model_command, cli_compare_command, cli_calibrate_command;

#endif
