/* inputs.h - the files that a command line's words name, and an output for each.  Single-threaded. */
#ifndef HCY_CLI_INPUTS_H
#define HCY_CLI_INPUTS_H

#include "cli.h"
#include <halcyon/stack.h>

struct inputs {
    const char **files; /* [n], in the order of the words */
    size_t n;
    char ***lists; /* what the names belong to */
    size_t n_lists;
};

/* Of words[n_words]: files, patterns, directories, @lists, numbered series.  CLI_OK, or CLI_FAILED after a message; to
 * be freed in any case. */
int inputs_find(struct inputs *inputs, const char *const *words, size_t n_words);
void inputs_free(struct inputs *inputs);
/* The files of one word as one stack; *n_files (NULL is fine): how many these are.  HCY_E*, as cli_fail() tells it. */
int inputs_open(hcy_stack **stack, size_t *n_files, const char *word, const hcy_stack_options *opts);
/* As cli_fail(), of a word whose files were not found or opened. */
int inputs_fail(const char *word, int status);

/* Is there a %s in this output, so that each file has one of its own? */
int inputs_each(const char *output);
/* A file's name without folder and suffix, nor what would ask for a file a frame: the number of a series, any %. */
int inputs_stem(char *stem, size_t size, const char *file);
/* `pattern` with that in the place of %s. */
int inputs_output(char *path, size_t size, const char *pattern, const char *file);
/* One name of each file, there or not, whichever way its folder is called; malloced, NULL without memory. */
char *inputs_whole_name(const char *path);
/* No two of the files' outputs by these patterns, -o and --sparse, may be the same. */
int inputs_check_outputs(const struct inputs *inputs, const char *const *patterns, size_t n_patterns);

#endif
