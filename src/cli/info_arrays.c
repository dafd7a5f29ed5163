/* info_arrays.c - see info_arrays.h. */
#include "info_arrays.h"
#include "kind.h"
#include "plot.h"
#include <halcyon/backend.h>
#include <halcyon/host_array.h>
#include <halcyon/stack.h>
#include <string.h>

/* "32 x 32"; a number has no axis. */
static const char *words_of_shape(char *text, size_t size, const hcy_host_array *a)
{
    size_t used = (size_t)snprintf(text, size, "%s", a->rank ? "" : "one number");
    for (int i = 0; i < a->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? " x " : "", (unsigned long long)a->shape[i]);
    return text;
}

/* "float", "complex double" */
static void put_numbers(char *text, size_t size, const hcy_host_array *a)
{
    snprintf(text, size, "%s%s", a->is_complex ? "complex " : "", a->bytes == 8 ? "double" : "float");
}

/* --- Sparse frames --- */

static void tell_sparse_file(const char *path)
{
    hcy_stack *stack;
    char numbers[4096];
    double *starts = NULL;
    size_t n = 0;
    if (hcy_stack_open(&stack, path, KIND_SPARSE_FRAMES "/background_avg"))
        return;
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    /* Its rows are the frames' background curves. */
    printf("%s: %u sparse %s (integrate --sparse, pyFAI's sparsify)\n", path, info->height,
           info->height == 1 ? "frame" : "frames");
    info_say("background", "of %u bins, with its deviation", info->width);
    hcy_stack_close(stack);
    snprintf(numbers, sizeof numbers, "%s::" KIND_SPARSE_FRAMES "/frame_ptr", path);
    if (!hcy_numbers_read(&starts, &n, numbers, 0) && n > 1)
        info_say("pixels", "%.0f that stand out of it, %.1f a frame", starts[n - 1], starts[n - 1] / (double)(n - 1));
    hcy_list_free(starts);
    info_say("then", "FabIO opens it as images (densify), from Python or in silx view; the curves are in the same run's -o");
}

/* --- Regions --- */

void tell_regions(const char *path)
{
    hcy_stack *stack;
    if (hcy_stack_open(&stack, path, "/entry_0000/integrate/regions/sum"))
        return;
    /* Its rows are frames; files of other formats have frames whatever dataset is named. */
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    if (*info->dataset)
        info_say("regions", "%u (integrate --roi, --stats): of each frame sums, extremes and counts of pixels, in "
                 "/entry_0000/integrate/regions", info->width);
    hcy_stack_close(stack);
}

/* --- K-space --- */

/* sizes: room for the array's, as -n takes them; NULL: not wanted.  Is it there? */
static bool say_array(char *sizes, size_t size, const char *path, const char *dataset, const char *what)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char name[4096], shape[128], numbers[32];
    snprintf(name, sizeof name, "%s:/%s", path, dataset);
    if (hcy_host_array_read(&a, name))
        return false;
    put_numbers(numbers, sizeof numbers, &a);
    info_say(dataset, "%s, %s: %s", words_of_shape(shape, sizeof shape, &a), numbers, what);
    size_t used = 0;
    for (int i = 0; sizes && i < a.rank && used < size; i++)
        used += (size_t)snprintf(sizes + used, size - used, "%s%llu", i ? "," : "", (unsigned long long)a.shape[i]);
    hcy_host_array_free(&a);
    return true;
}

static void tell_kspace(const char *path)
{
    char word[CLI_WORD], sizes[128] = "N1,N2";
    cli_shell_word(word, sizeof word, path);
    printf("%s: k-space along a trajectory (simulate --mri)\n", path);
    say_array(NULL, 0, path, "samples", "of each coil, what was measured");
    say_array(NULL, 0, path, "trajectory", "where, in radians");
    say_array(NULL, 0, path, "maps", "the coils' sensitivities");
    say_array(sizes, sizeof sizes, path, "image", "what was there");
    const bool is_off = say_array(NULL, 0, path, "field_map", "how far the field is off, Hz"),
               are_timed = say_array(NULL, 0, path, "times", "of a readout's samples, s");
    info_say("then", "halcyon recon %s:/samples -t %s:/trajectory -n %s --maps %s:/maps%s%s%s%s%s -o IMAGE.npy", word,
             word, sizes, word, is_off ? " --field-map " : "", is_off ? word : "",
             !is_off ? "" : are_timed ? ":/field_map --times " : ":/field_map --readout MS",
             is_off && are_timed ? word : "", is_off && are_timed ? ":/times" : "");
    info_say("", "halcyon plot %s:/image", word);
    info_say("", "halcyon nufft -t 2 -p %s:/trajectory -i %s:/image -o OUT.npy", word, word);
}

int tell_kind(const char *path)
{
    enum kind kind = kind_of(path);
    if (kind == KIND_SPARSE)
        tell_sparse_file(path);
    else if (kind == KIND_KSPACE)
        tell_kspace(path);
    return kind != KIND_OTHER;
}

/* --- Arrays --- */

int tell_array(const char *path)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char shape[128], numbers[32], word[CLI_WORD];
    /* All of it is read: its readers have no other way to prove that it is whole. */
    if (!plot_is_array(path) || hcy_host_array_read(&a, path))
        return 0;
    put_numbers(numbers, sizeof numbers, &a);
    printf("%s: an array of %s numbers, %s\n", path, numbers, words_of_shape(shape, sizeof shape, &a));
    cli_shell_word(word, sizeof word, path);
    if (a.rank >= 2)
        info_say("then", "halcyon plot %s%s", word, a.is_complex ? "  (--part phase, real, imaginary)" : "");
    info_say(a.rank < 2 ? "then" : "", "halcyon nufft -i %s ...", word);
    hcy_host_array_free(&a);
    return 1;
}
