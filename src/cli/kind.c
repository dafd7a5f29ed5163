/* kind.c - see kind.h. */
#include "kind.h"
#include <halcyon/stack.h>

/* Is there such a dataset of numbers? */
static int has_numbers(const char *path, const char *dataset)
{
    hcy_stack *stack;
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = dataset;
    int status = hcy_stack_open_with(&stack, path, &opts);
    /* An array of four axes is taken for frames of several energy thresholds, of which one has to be named. */
    opts.channel = "1";
    if (status && hcy_stack_open_with(&stack, path, &opts))
        return 0;
    /* A file of another format has frames whatever dataset is named. */
    int has = *hcy_stack_get_info(stack)->dataset != 0;
    hcy_stack_close(stack);
    return has;
}

enum kind kind_of(const char *path)
{
    if (has_numbers(path, KIND_SPARSE_FRAMES "/background_avg"))
        return KIND_SPARSE;
    /* Samples are complex, so no stack; image and trajectory beside one another are enough to tell. */
    return has_numbers(path, "/trajectory") && has_numbers(path, "/image") ? KIND_KSPACE : KIND_OTHER;
}

int kind_no_picture(const char *path, enum kind kind)
{
    if (kind == KIND_SPARSE)
        return cli_error("%s holds sparse frames, single pixels and their background: plot the curves that the same run wrote "
                         "(its -o)", path);
    return cli_error("%s holds k-space: plot one of its arrays, %s:/image, or %s:/maps and %s:/samples (--frames N: of "
                     "one coil)", path, path, path, path);
}
