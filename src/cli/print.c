/* print.c - messages on stderr and JSON on stdout, for the subcommands. */
#include "cli.h"
#include <errno.h>
#include <halcyon/stack.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cli_name = "";
bool cli_has_hung, cli_notes_off;

/* Lines of words; what a file says in them is no command of a terminal. */
static void print_lines(const char *text)
{
    while (*text)
        if (*text == '\n' || *text == '\t')
            fputc(*text++, stderr);
        else
            text = cli_print_character(stderr, text);
}

static void message(const char *fmt, va_list args)
{
    char some[1024] = "", *all = NULL;
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(some, sizeof some, fmt, args);
    /* A compiler's log may be longer; without memory for it its begin is better than nothing. */
    if (length >= (int)sizeof some && (all = malloc((size_t)length + 1)))
        vsnprintf(all, (size_t)length + 1, fmt, again);
    va_end(again);
    /* Threads report failed frames at the same time: a message stays in one piece. */
    flockfile(stderr);
    fprintf(stderr, "halcyon%s%s: ", *cli_name ? " " : "", cli_name);
    print_lines(all ? all : some);
    fputc('\n', stderr);
    funlockfile(stderr);
    free(all);
}

int cli_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    message(fmt, args);
    va_end(args);
    return CLI_FAILED;
}

void cli_note(const char *fmt, ...)
{
    va_list args;
    if (cli_notes_off)
        return;
    va_start(args, fmt);
    message(fmt, args);
    va_end(args);
}

int cli_usage(const char *fmt, ...)
{
    char what[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    cli_error("%s; see `halcyon %s --help`", what, cli_name);
    return CLI_USAGE;
}

int cli_fail(int status)
{
    const hcy_error *error = hcy_last_error();
    /* The last error may be that of another call; its words would then mislead. */
    if (error->status != status || !error->text[0])
        return cli_error("%s", hcy_status_text(status));
    if (error->vendor[0])
        return cli_error("%s (%s)", error->text, error->vendor);
    return cli_error("%s", error->text);
}

int cli_fail_value(int status, const char *value)
{
    return value && status == HCY_EINVAL && hcy_last_error()->status == status ? cli_usage("%s", hcy_last_error()->text)
                                                                               : cli_fail(status);
}

int cli_write_failed(const char *path, int number)
{
    char words[128] = "";
    if (strerror_r(number, words, sizeof words))
        words[0] = 0;
    return cli_error("%s cannot be written: %s", path, words);
}

enum { CURVES = HCY_WRITE_CURVES | HCY_WRITE_CAKES };

int cli_check_format(const char *path, unsigned use)
{
    const char *format;
    struct stat is;
    if (!stat(path, &is) && S_ISDIR(is.st_mode)) /* which is worth words of its own, of guard_writes() */
        return CLI_OK;
    /* These are text, mostly, which one looks at in a terminal. */
    if (use & (CURVES | HCY_WRITE_GEOMETRY | HCY_WRITE_SETTINGS) && !strncmp(path, "/dev/", 5))
        return CLI_OK;
    if (use & (CURVES | HCY_WRITE_TABLE) && !strcmp(path, "-"))
        return CLI_OK;
    /* An archive's array has a name where it is read; who computes for hours must know now that none can be given. */
    const char *part = path + (use == HCY_WRITE_ARRAY ? hcy_file_length(path) : strlen(path));
    const int status = hcy_format_of(&format, path, use);
    if (!status && *part && !strcmp(format, "npz"))
        return cli_usage("%s: an archive is written with one array, whose name is arr_0; leave %s", path, part);
    if (!status)
        return CLI_OK;
    return cli_usage("%s", hcy_last_error()->text);
}

int cli_check_one_file(const char *path)
{
    char made[4096];
    if (hcy_numbered_path(made, sizeof made, path, 0) || !strcmp(made, path))
        return CLI_OK;
    return cli_usage("%s: this is one file, not one a frame: leave the %%d out of its name", path);
}

void cli_not_written(const char *path)
{
    struct stat is;
    /* An earlier file of this name was not touched, and users want to know which of the two they have. */
    int there = !stat(path, &is) && S_ISREG(is.st_mode);
    cli_note(there ? "%s stays as it was before" : "%s is not written", path);
}

struct cli_identity cli_identify(const char *path)
{
    struct stat is;
    if (stat(path, &is) || !S_ISREG(is.st_mode))
        return (struct cli_identity){ 0 };
    return (struct cli_identity){ (uint64_t)is.st_dev, (uint64_t)is.st_ino, (uint64_t)is.st_size,
                                  (uint64_t)is.st_mtim.tv_sec, (uint64_t)is.st_mtim.tv_nsec };
}

void cli_not_completed(const char *path, const struct cli_identity *before)
{
    struct cli_identity now = cli_identify(path);
    /* What was written since is of this run: its beginning, as far as it came. */
    if (now.number && memcmp(&now, before, sizeof now))
        cli_note("%s is not complete", path);
    else
        cli_not_written(path);
}

int cli_fail_to_write(int status, const char *path)
{
    status = cli_fail(status);
    if (strcmp(path, "-"))
        cli_not_written(path);
    return status;
}

int cli_close_stdout(int status)
{
    /* A full disk behind a redirection shows only when the last bytes are written. */
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    return cli_write_failed("standard output", errno);
}

const char *cli_shell_word(char *out, size_t size, const char *word)
{
    size_t used = 0;
    if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-^")]) {
        snprintf(out, size, "%s", word);
        return out;
    }
    /* Between quotes all is as it is but the quote itself, which ends them, stands alone, and begins them again. */
    for (used = (size_t)snprintf(out, size, "'"); *word && used < size; word++)
        used += (size_t)snprintf(out + used, size - used, *word == '\'' ? "'\\''" : "%c", *word);
    if (used < size)
        snprintf(out + used, size - used, "'");
    return out;
}

size_t cli_utf8_length(const unsigned char *c)
{
    /* Of the second byte: beyond lie characters in too many bytes, halves of UTF-16's, and none at all. */
    const unsigned char least = *c == 0xe0 ? 0xa0 : *c == 0xf0 ? 0x90 : 0x80,
                        largest = *c == 0xed ? 0x9f : *c == 0xf4 ? 0x8f : 0xbf;
    size_t n = *c < 0x80;
    /* 0x80 to 0xc1 begin no character, nor does anything from 0xf5 on. */
    if (*c >= 0xc2 && *c < 0xf5)
        n = (size_t)2 + (*c >= 0xe0) + (*c >= 0xf0);
    for (size_t i = 1; i < n; i++)
        if (c[i] < (i == 1 ? least : 0x80) || c[i] > (i == 1 ? largest : 0xbf))
            return 0;
    return n;
}

const char *cli_print_character(FILE *out, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t n = cli_utf8_length(c) ? cli_utf8_length(c) : 1;
    if (*c < ' ' || *c == 0x7f || (n == 2 && *c == 0xc2 && c[1] < 0xa0))
        fputc('?', out);
    else
        fwrite(c, 1, n, out);
    return text + n;
}

void cli_print_words(FILE *out, const char *text)
{
    while (*text)
        text = cli_print_character(out, text);
}

/* --- JSON --- */

void cli_json_begin(struct cli_json *json, FILE *out)
{
    *json = (struct cli_json){ out, 0, 1 };
}

static void quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const size_t n = cli_utf8_length(c);
        /* UTF-8 passes as it is; JSON escapes quotes, backslashes and control characters.  Names may be any bytes. */
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else if (n)
            fwrite(c, 1, n, out);
        else
            fputs("\\ufffd", out);
        c += n ? n : 1;
    }
    fputc('"', out);
}

static void member(struct cli_json *json, const char *key)
{
    if (!json->first)
        fputc(',', json->out);
    if (json->depth)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    json->first = 0;
    if (key) {
        quoted(json->out, key);
        fputs(": ", json->out);
    }
}

void cli_json_open(struct cli_json *json, const char *key, char bracket)
{
    member(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->first = 1;
}

void cli_json_close(struct cli_json *json, char bracket)
{
    json->depth--;
    if (!json->first)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    json->first = 0;
    if (!json->depth)
        fputc('\n', json->out);
}

void cli_json_text(struct cli_json *json, const char *key, const char *value)
{
    member(json, key);
    if (value)
        quoted(json->out, value);
    else
        fputs("null", json->out);
}

void cli_json_int(struct cli_json *json, const char *key, int64_t value)
{
    member(json, key);
    fprintf(json->out, "%lld", (long long)value);
}

void cli_json_uint(struct cli_json *json, const char *key, uint64_t value)
{
    member(json, key);
    fprintf(json->out, "%llu", (unsigned long long)value);
}

void cli_json_real(struct cli_json *json, const char *key, double value)
{
    member(json, key);
    /* Nine digits are more than any time or rate has; JSON has no word for infinity. */
    if (isfinite(value))
        fprintf(json->out, "%.9g", value);
    else
        fputs("null", json->out);
}

void cli_json_bool(struct cli_json *json, const char *key, int value)
{
    member(json, key);
    fputs(value ? "true" : "false", json->out);
}
