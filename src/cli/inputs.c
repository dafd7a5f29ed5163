/* inputs.c - see inputs.h. */
#include "inputs.h"
#include "guard.h"
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

int inputs_fail(const char *word, int status)
{
    const char *part = word + hcy_file_length(word);
    /* Arrays are named with what is meant in their file, and the frames of a stack are not. */
    if (status == HCY_ENOENT && *part)
        return cli_error("%s: there is no such file; a stack's dataset is named apart: %.*s --dataset %s", word,
                         (int)(part - word), word, part + 1);
    return cli_fail(status);
}

int inputs_find(struct inputs *in, const char *const *words, size_t n_words)
{
    *in = (struct inputs){ 0 };
    for (size_t i = 0; i < n_words; i++) {
        char **found;
        size_t n;
        int status = hcy_files_find(&found, &n, words[i]);
        if (status)
            return inputs_fail(words[i], status);
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

int inputs_open(hcy_stack **stack, size_t *n_files, const char *word, const hcy_stack_options *opts)
{
    char **paths = NULL;
    size_t n = 0;
    int status = hcy_files_find(&paths, &n, word);
    if (!status)
        status = hcy_stack_open_files(stack, (const char *const *)paths, n, opts);
    hcy_list_free(paths);
    if (n_files)
        *n_files = n;
    return status;
}

int inputs_each(const char *output)
{
    return output && strstr(output, "%s");
}

int inputs_stem(char *stem, size_t size, const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
    /* A name that begins with its only dot has no suffix to take off. */
    const char *end = dot && dot > name ? dot : name + strlen(name), *first = end, *second = end;
    const char *percent = memchr(name, '%', (size_t)(end - name));
    if (percent) {
        first = percent;
        second = percent + 1 + strspn(percent + 1, "0123456789");
        if (*second++ != 'd')
            second = percent + 1; /* no number: the % alone is left out, which would ask for a file a frame */
        else if (first > name && strchr("_-.", first[-1]))
            first--; /* what joins the number to the name goes with it */
    }
    int n = snprintf(stem, size, "%.*s%.*s", (int)(first - name), name, (int)(end - second), second);
    if (n < 0 || (size_t)n >= size)
        return cli_error("the name of %s is too long to make one of it", file);
    /* Nor does any further one ask for that. */
    for (char *at = stem; (at = strchr(at, '%'));)
        memmove(at, at + 1, strlen(at));
    /* A series may have a number for a name. */
    if (!*stem && size > sizeof "frames")
        memcpy(stem, "frames", sizeof "frames");
    return CLI_OK;
}

int inputs_output(char *path, size_t size, const char *pattern, const char *file)
{
    const char *at = strstr(pattern, "%s");
    char stem[4096];
    int status = inputs_stem(stem, sizeof stem, file);
    if (status || (size_t)snprintf(path, size, "%.*s%s%s", (int)(at - pattern), pattern, stem, at + 2) < size)
        return status;
    return cli_error("the name of the output of %s is too long", file);
}

char *inputs_whole_name(const char *path)
{
    char folder[4096], *real = NULL;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    real = realpath(folder, NULL);
    if (!real) /* there is no such folder, as writing will tell */
        return strdup(path);
    size_t size = strlen(real) + strlen(base) + 2;
    char *whole = malloc(size);
    if (whole)
        snprintf(whole, size, "%s/%s", real, base);
    free(real);
    return whole;
}

static int compare_outputs(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_files(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(uint64_t)); /* in any order, as long as it is one */
}

/* No result may take the place of a file whose turn comes later, or has been. */
static int check_results_apart(const struct inputs *in, char *const *outputs, size_t n_outputs)
{
    uint64_t(*files)[2] = calloc(in->n ? in->n : 1, sizeof *files), one[2];
    int status = files ? CLI_OK : cli_error("out of memory for the names of %zu files", in->n);
    size_t n = 0;
    for (size_t i = 0; i < in->n && !status; i++)
        n += (size_t)guard_identify(files[n], in->files[i]);
    if (!status)
        qsort(files, n, sizeof *files, compare_files);
    for (size_t i = 0; i < n_outputs && !status; i++)
        if (guard_identify(one, outputs[i]) && bsearch(one, files, n, sizeof *files, compare_files))
            status = cli_error("%s is read (a stack), and a result would be written over it; name the results apart",
                               outputs[i]);
    free(files);
    return status;
}

int inputs_check_outputs(const struct inputs *in, const char *const *patterns, size_t n_patterns)
{
    const size_t n = in->n * n_patterns;
    char **outputs = calloc(n ? n : 1, sizeof *outputs), path[4096];
    int status = outputs ? CLI_OK : cli_error("out of memory for the names of %zu outputs", n);
    for (size_t i = 0; i < n && !status; i++) {
        status = inputs_output(path, sizeof path, patterns[i % n_patterns], in->files[i / n_patterns]);
        if (!status && !(outputs[i] = inputs_whole_name(path)))
            status = cli_error("out of memory for the names of %zu outputs", n);
    }
    /* Same names stand side by side once they are sorted. */
    if (!status)
        qsort(outputs, n, sizeof *outputs, compare_outputs);
    for (size_t i = 1; i < n && !status; i++)
        if (!strcmp(outputs[i - 1], outputs[i]))
            status = cli_error("%s would be written for several files%s", outputs[i],
                               n_patterns > 1 ? ", or for -o and for --sparse; name them apart"
                                              : " of that name; integrate these apart");
    if (!status)
        status = check_results_apart(in, outputs, n);
    for (size_t i = 0; outputs && i < n; i++)
        free(outputs[i]);
    free(outputs);
    return status;
}
