/* inputs.c - see inputs.h. */
#include "inputs.h"
#include <halcyon/stack.h>
#include <stdlib.h>
#include <string.h>

static int add_files(struct inputs *in, char **found, size_t n)
{
    const char **files = realloc(in->files, (in->n + n) * sizeof *files);
    /* What realloc() has moved is kept even if the other one fails, or it would be freed twice. */
    in->files = files ? files : in->files;
    char ***lists = realloc(in->lists, (in->n_lists + 1) * sizeof *lists);
    in->lists = lists ? lists : in->lists;
    if (!files || !lists) {
        hcy_list_free(found);
        return cli_error("out of memory for the names of files");
    }
    in->lists[in->n_lists++] = found;
    for (size_t i = 0; i < n; i++)
        /* The names stay in their list, which lives as long as these do. */
        in->files[in->n++] = found[i];
    return CLI_OK;
}

int inputs_find(struct inputs *in, const char *const *words, size_t n_words)
{
    *in = (struct inputs){ 0 };
    for (size_t i = 0; i < n_words; i++) {
        char **found;
        size_t n;
        int status = hcy_files_find(&found, &n, words[i]);
        if (status)
            return cli_fail(status);
        status = add_files(in, found, n);
        if (status)
            return status;
    }
    return CLI_OK;
}

void inputs_free(struct inputs *in)
{
    for (size_t i = 0; i < in->n_lists; i++)
        hcy_list_free(in->lists[i]);
    free(in->lists);
    free(in->files);
    *in = (struct inputs){ 0 };
}

int inputs_each(const char *output)
{
    return output && strstr(output, "%s");
}

int inputs_output(char *path, size_t size, const char *pattern, const char *file)
{
    const char *at = strstr(pattern, "%s"), *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');
    /* A name that begins with its only dot has no suffix to take off. */
    int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    if ((size_t)snprintf(path, size, "%.*s%.*s%s", (int)(at - pattern), pattern, stem, name, at + 2) < size)
        return CLI_OK;
    return cli_error("the name of the output of %s is too long", file);
}

static int compare_outputs(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int inputs_check_outputs(const struct inputs *in, const char *pattern)
{
    char **outputs = calloc(in->n ? in->n : 1, sizeof *outputs), path[4096];
    int status = outputs ? CLI_OK : cli_error("out of memory for the names of %zu outputs", in->n);
    for (size_t i = 0; i < in->n && !status; i++) {
        status = inputs_output(path, sizeof path, pattern, in->files[i]);
        if (!status && !(outputs[i] = strdup(path)))
            status = cli_error("out of memory for the names of %zu outputs", in->n);
    }
    /* Same names stand side by side once they are sorted. */
    if (!status)
        qsort(outputs, in->n, sizeof *outputs, compare_outputs);
    for (size_t i = 1; i < in->n && !status; i++)
        if (!strcmp(outputs[i - 1], outputs[i]))
            status = cli_error("%s would be written for several files of that name; integrate these apart",
                               outputs[i]);
    for (size_t i = 0; outputs && i < in->n; i++)
        free(outputs[i]);
    free(outputs);
    return status;
}
