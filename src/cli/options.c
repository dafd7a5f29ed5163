/* options.c - the one parser of command lines: everything it knows of an option stands in the subcommand's
 * table.
 *
 * --name VALUE, --name=VALUE, -n VALUE, -nVALUE; "--" ends the options; operands and options may be mixed;
 * the last of a repeated option counts.  Nothing is guessed: an unknown name is an error that proposes the
 * closest one.
 */
#include "cli.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Levenshtein distance, of words short enough to be options; small letters are as large ones. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    /* One row is kept: row[j] is the distance of the first i letters of a from the first j of b. */
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            /* Replacing, leaving out or adding a letter costs one. */
            size_t best = diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            diagonal = row[j + 1];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *cli_closest(const char *word, const char *const *names, size_t n)
{
    const char *found = NULL;
    size_t length = strlen(word), best = length < 4 ? 2 : length / 3 + 2; /* further away is another word */
    for (size_t i = 0; i < n; i++) {
        /* The beginning of a name is as good as the name. */
        size_t d = strncasecmp(names[i], word, strlen(word)) ? distance(word, names[i]) : 0;
        if (d < best) {
            best = d;
            found = names[i];
        }
    }
    return found;
}

static const struct cli_option *with_name(const struct cli_command *command, const char *name, size_t n)
{
    for (const struct cli_option *o = command->options; o->name; o++)
        if (strlen(o->name) == n && !strncmp(o->name, name, n))
            return o;
    return NULL;
}

static const struct cli_option *with_letter(const struct cli_command *command, char letter)
{
    for (const struct cli_option *o = command->options; o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

static int unknown_option(const struct cli_command *command, const char *name, size_t n)
{
    char word[64];
    size_t count = 0;
    while (command->options[count].name)
        count++;
    const char **names = calloc(count, sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        names[i] = command->options[i].name;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    /* A single letter is close to every other one, so none is proposed for it. */
    const char *closest = n > 1 && names ? cli_closest(word, names, count) : NULL;
    free(names);
    if (closest)
        return cli_usage("unknown option --%s (is --%s meant?)", word, closest);
    return cli_usage("unknown option -%s%s", n > 1 ? "-" : "", word);
}

/* --- Values --- */

static int parse_number(const char *text, char **end, double *value)
{
    errno = 0;
    *value = strtod(text, end);
    return *end != text && isfinite(*value) && !isspace((unsigned char)*text);
}

static int parse_whole(const char *text, char **end, uint64_t *value)
{
    errno = 0;
    *value = strtoull(text, end, 10);
    return *end != text && !errno && isdigit((unsigned char)*text);
}

static int in_range(const struct cli_option *o, double value)
{
    return (o->min == 0 && o->max == 0) || (value >= o->min && value <= o->max);
}

static int set_int(const struct cli_option *o, const char *text, struct cli_int *out)
{
    char *end;
    errno = 0;
    out->value = strtoll(text, &end, 10);
    out->given = 1;
    /* strtoll skips blanks, takes what it can and clips: only a whole word that fits is a number. */
    return end != text && !*end && !errno && !isspace((unsigned char)*text) &&
           in_range(o, (double)out->value);
}

static int set_real(const struct cli_option *o, const char *text, struct cli_real *out)
{
    char *end;
    out->given = 1;
    return parse_number(text, &end, &out->value) && !*end && in_range(o, out->value);
}

static int set_choice(const struct cli_option *o, const char *text, int *out)
{
    for (int i = 0; o->choices[i]; i++)
        if (!strcmp(o->choices[i], text)) {
            *out = i;
            return 1;
        }
    return 0;
}

static int set_pair(const char *text, struct cli_pair *out)
{
    char *end;
    out->given = 1;
    if (!parse_number(text, &end, &out->a) || *end != ',')
        return 0;
    return parse_number(end + 1, &end, &out->b) && !*end && out->a < out->b;
}

static int set_span(const char *text, struct cli_span *out)
{
    char *end = (char *)text;
    /* What is left out reaches to the beginning or to the end. */
    *out = (struct cli_span){ 1, 0, UINT64_MAX };
    if (*text != ':' && !parse_whole(text, &end, &out->first))
        return 0;
    if (!*end) { /* "A": that one alone */
        out->last = out->first + 1;
        return out->last != 0;
    }
    if (*end != ':')
        return 0;
    if (end[1] && (!parse_whole(end + 1, &end, &out->last) || *end))
        return 0;
    return out->first < out->last;
}

/* "3,5,7-9,20:": spans that ascend, so that a file is read from front to back. */
static int set_spans(const char *text, struct cli_spans *out)
{
    uint64_t behind = 0;
    *out = (struct cli_spans){ .given = 1 };
    for (size_t n; out->n < CLI_MOST_SPANS; text += n + 1) {
        struct cli_span *span = &out->list[out->n++];
        char word[64], *end;
        n = strcspn(text, ",");
        if (n >= sizeof word)
            return 0;
        memcpy(word, text, n);
        word[n] = 0;
        /* "A-B" has both its ends; all else is as in a single span. */
        *span = (struct cli_span){ .given = 1 };
        if (parse_whole(word, &end, &span->first) && *end == '-') {
            if (!parse_whole(end + 1, &end, &span->last) || *end || span->last < span->first || !++span->last)
                return 0;
        } else if (!set_span(word, span)) {
            return 0;
        }
        if (span->first < behind)
            return 0;
        behind = span->last;
        if (!text[n])
            return 1;
    }
    return 0;
}

/* What would have been right, for the message. */
static const char *expected(const struct cli_option *o, char *text, size_t size)
{
    size_t used = 0;
    switch (o->type) {
    case CLI_CHOICE:
        for (int i = 0; o->choices[i] && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "one of ", o->choices[i]);
        return text;
    case CLI_INT:
    case CLI_REAL:
        /* Both limits 0 mean that there are none. */
        if (o->min == 0 && o->max == 0)
            return o->type == CLI_INT ? "a whole number" : "a number";
        snprintf(text, size, "a %snumber from %.15g to %.15g", o->type == CLI_INT ? "whole " : "", o->min,
                 o->max);
        return text;
    case CLI_PAIR:
        /* Limits are those of a circle. */
        return o->max > 0 ? "two numbers A,B with A < B, which may go on beyond 180 degrees: 170,190 for 170 to -170"
                          : "two numbers A,B with A < B";
    case CLI_SPAN:
        return "A:B, A:, :B or A in whole numbers, A < B (B is not included)";
    case CLI_SPANS:
        return "a list such as 3,5,7-9 or 20:30 (30 is not included), in ascending whole numbers, 64 items at most";
    default:
        return "a value";
    }
}

static int set_value(const struct cli_option *o, const char *text, void *values)
{
    void *at = (char *)values + o->offset;
    switch (o->type) {
    case CLI_FLAG:
        *(int *)at = 1;
        return 1;
    case CLI_TEXT:
        *(const char **)at = text;
        /* An empty word comes from an unset variable of the shell, and is no name of anything. */
        return *text != 0;
    case CLI_INT:
        return set_int(o, text, at);
    case CLI_REAL:
        return set_real(o, text, at);
    case CLI_CHOICE:
        return set_choice(o, text, at);
    case CLI_PAIR:
        return set_pair(text, at);
    case CLI_SPAN:
        return set_span(text, at);
    case CLI_SPANS:
        return set_spans(text, at);
    case CLI_ISOLATE: /* takes no value: set_isolation() */
        break;
    }
    return 0;
}

/* Which files are isolated holds for all that the command reads, from here on. */
static int set_isolation(size_t files)
{
    hcy_isolation isolation = HCY_ISOLATION_INIT;
    isolation.files = (unsigned)files;
    int status = hcy_isolation_set(&isolation);
    return status ? cli_fail(status) : CLI_OK;
}

/* --- The line --- */

struct line {
    const struct cli_command *command;
    int argc, at; /* at: the next word */
    char **argv;
    void *values;
};

/* `text` is what follows the option in the same word, NULL if nothing does.  Messages name the option as it was
 * given: by its letter, if `by_letter`. */
static int take_option(struct line *line, const struct cli_option *o, const char *text, int by_letter)
{
    char right[320], name[64];
    const char letter[2] = { o->letter, 0 };
    /* The messages repeat what the user typed. */
    snprintf(name, sizeof name, "%s%s", by_letter ? "-" : "--", by_letter ? letter : o->name);
    int takes_none = o->type == CLI_FLAG || o->type == CLI_ISOLATE;
    if (takes_none && text)
        return cli_usage("%s takes no value", name);
    if (o->type == CLI_ISOLATE)
        return set_isolation(o->offset);
    if (!takes_none && !text) {
        if (line->at >= line->argc)
            return cli_usage("%s needs %s", name, expected(o, right, sizeof right));
        /* The next word is the value even if it begins with "-": numbers may be negative. */
        text = line->argv[line->at++];
    }
    if (set_value(o, text, line->values))
        return 0;
    return cli_usage("%s '%s' is not valid: it takes %s", name, text, expected(o, right, sizeof right));
}

static int take_long(struct line *line, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const struct cli_option *o = with_name(line->command, word, n);
    return o ? take_option(line, o, equals ? equals + 1 : NULL, 0) : unknown_option(line->command, word, n);
}

static int take_letters(struct line *line, const char *letters)
{
    for (; *letters; letters++) {
        const struct cli_option *o = with_letter(line->command, *letters);
        if (!o)
            return unknown_option(line->command, letters, 1);
        /* Flags may stand together in a word; a letter that takes a value takes the rest of the word. */
        int is_flag = o->type == CLI_FLAG;
        int status = take_option(line, o, is_flag || !letters[1] ? NULL : letters + 1, 1);
        if (status || !is_flag)
            return status;
    }
    return 0;
}

static int is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "--help-all") || !strcmp(word, "-h");
}

int cli_parse(const struct cli_command *command, int argc, char **argv, void *values, const char **operands,
              int *status)
{
    struct line line = { command, argc, 1, argv, values };
    const char *excess = NULL;
    int n = 0, only_operands = 0, is_empty = 0;
    *status = 0;
    while (line.at < argc && !*status) {
        const char *word = argv[line.at++];
        /* A lone "-" is an operand: it means standard output or input. */
        if (only_operands || word[0] != '-' || !word[1]) {
            /* The first word too many is kept for the message, which comes only if no option is wrong. */
            if (n < command->max_operands)
                operands[n] = word;
            else if (!excess)
                excess = word;
            is_empty |= !*word;
            n++;
        } else if (!strcmp(word, "--")) {
            only_operands = 1;
        } else if (is_help(word)) {
            /* Help is given as soon as it is asked for, whatever else is on the line. */
            cli_help(stdout, command, !strcmp(word, "--help-all"));
            *status = cli_close_stdout(CLI_OK);
            return 1;
        } else if (word[1] == '-') {
            *status = take_long(&line, word + 2);
        } else {
            *status = take_letters(&line, word + 1);
        }
    }
    /* Missing words are told last: a wrong option is often the cause. */
    if (!*status && n < command->min_operands)
        *status = cli_usage("what to work on is missing: halcyon %s %s", cli_name, command->operands);
    if (!*status && is_empty)
        *status = cli_usage("a word is empty, as of a shell's variable that is not set");
    if (!*status && excess)
        *status = cli_usage("there is one word too many, '%s'", excess);
    return *status != 0;
}

/* --- Help --- */

enum { HELP_COLUMN = 26, HELP_WIDTH = 80 };

void cli_put_words(FILE *out, const char *text, size_t length, int indent)
{
    const char *end = text + length;
    int column = indent;
    for (const char *word = text + strspn(text, " \n"); word < end;) {
        int n = (int)strcspn(word, " \n"), gap = column > indent;
        n = n < end - word ? n : (int)(end - word);
        if (gap && column + 1 + n > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            gap = 0;
        }
        fprintf(out, "%s%.*s", gap ? " " : "", n, word);
        column += n + gap;
        word += n;
        word += strspn(word, " \n");
    }
}

/* Paragraphs: a line is one's last if it ends a sentence, or the next begins with blanks, as lists and examples do. */
static void help_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        while (text[n] && text[n + 1] && n && !strchr(".:", text[n - 1]) && text[n + 1] != ' ' && *text != ' ')
            n += 1 + strcspn(text + n + 1, "\n");
        int indent = (int)strspn(text, " ");
        fprintf(out, "%*s", indent, "");
        cli_put_words(out, text, n, indent);
        putc('\n', out);
        text += n + (text[n] == '\n');
    }
}

/* Words of an option's text up to the terminal's edge; further lines stand below the first one. */
static void help_option(FILE *out, const struct cli_option *o)
{
    char left[64];
    int column = snprintf(left, sizeof left, "  %c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                          o->letter ? ", " : "  ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    fprintf(out, "%-*s", HELP_COLUMN, left);
    /* A name that reaches into the texts has a line of its own. */
    if (column > HELP_COLUMN - 1)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    putc(' ', out);
    cli_put_words(out, o->help, strlen(o->help), HELP_COLUMN + 1);
    putc('\n', out);
}

/* Is `name` one of the words of `list`? */
static int is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
}

/* Those of a group in the order of the table. */
static void help_listed(FILE *out, const struct cli_command *command, const char *list)
{
    for (const struct cli_option *o = command->options; o->name; o++)
        if (is_listed(list, o->name))
            help_option(out, o);
}

static const struct cli_group *groups_of(const struct cli_command *command)
{
    return command == &cli_integrate_command ? cli_integrate_groups : NULL;
}

/* An option that no group names is one of --help-all. */
static void help_others(FILE *out, const struct cli_command *command)
{
    int titled = 0;
    for (const struct cli_option *o = command->options; o->name; o++) {
        int listed = 0;
        for (const struct cli_group *g = groups_of(command); g->title; g++)
            listed |= is_listed(g->usual, o->name) || is_listed(g->rest, o->name);
        if (!listed) {
            fputs(titled++ ? "" : "\nMore:\n", out);
            help_option(out, o);
        }
    }
}

void cli_help(FILE *out, const struct cli_command *command, int all)
{
    const struct cli_group *groups = groups_of(command);
    fprintf(out, "usage: halcyon %s%s%s [options]\n", command->name, *command->operands ? " " : "", command->operands);
    help_paragraphs(out, command->summary);
    for (const struct cli_group *g = groups; g && g->title; g++) {
        fprintf(out, "\n%s:\n", g->title);
        help_listed(out, command, g->usual);
        if (all)
            help_listed(out, command, g->rest);
    }
    putc('\n', out);
    if (groups && all)
        help_others(out, command);
    for (const struct cli_option *o = command->options; o->name && !groups; o++)
        help_option(out, o);
    fprintf(out, "%-*s this text\n", HELP_COLUMN, "  -h, --help");
    if (groups)
        fprintf(out, "%-*s with all options\n", HELP_COLUMN, "      --help-all");
    if (command->notes) {
        putc('\n', out);
        help_paragraphs(out, command->notes);
    }
    cli_print_lacks(out, command->name);
}
