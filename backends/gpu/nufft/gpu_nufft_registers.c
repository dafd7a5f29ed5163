/* gpu_nufft_registers.c - lines whose Fourier transforms items keep in registers (registers.cl): radices, lines and
 * items of a group, what the text is compiled with.  Pure functions but for compiling, which any thread may do. */
#include "gpu_priv.h"

#include <stdio.h>

enum {
    MOST_ROWS = 65535,        /* of groups in the second direction of a grid */
    MOST_PASSES = 6,          /* registers.cl's radices */
    LINE_BYTES = 75 << 10,    /* local memory of a group at most; */
    LEAST_LINE_BYTES = 32768, /* what devices have that do not say */
    MOST_ITEMS = 512,
    FAST_LINES = 4,           /* of floats, of the fastest axis: short groups wait for few, and many are under way; */
    FAST_ITEMS = 64,          /* more where these are fewer items */
    LARGE_RADIX = 16,         /* which registers.cl has besides fft_plan.h's */
    MOST_OF_FLOATS = 32,      /* numbers for which an item has registers */
    MOST_OF_DOUBLES = 20,
    REGISTERS = 65536,        /* of a multiprocessor; */
    LOCAL_BYTES = 200 << 10   /* its local memory */
};

/* Floats go sixteen at once where that saves a pass: doubles would leave no registers for it. */
static void set_radices(struct gpu_line *line, bool large)
{
    line->passes = hcy_fft_factor(line->radices, line->n);
    for (size_t left = line->n, n = 1; large && left % LARGE_RADIX == 0; n++) {
        unsigned list[HCY_FFT_MOST_PASSES];
        left /= LARGE_RADIX;
        const unsigned rest = left > 1 ? hcy_fft_factor(list, left) : 0;
        if ((left > 1 && !rest) || n + rest >= line->passes)
            continue;
        line->passes = (unsigned)n + rest;
        for (unsigned i = 0; i < line->passes; i++)
            line->radices[i] = i < n ? LARGE_RADIX : list[i - n];
    }
}

/* What registers.cl has. */
static const unsigned all_radices[] = { 32, 28, 25, 24, 21, 20, 18, 16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2 };
enum { N_RADICES = sizeof all_radices / sizeof all_radices[0] };

/* Of the products of `now`'s radices and of others from the first one on that are n more: the cheapest.  A pass more
 * costs as much as a largest radix twice the smallest, in whose pass every second item waits. */
static void find_radices(struct gpu_line *best, double *cost, struct gpu_line *now, size_t n, unsigned first)
{
    if (n == 1 && now->passes) {
        const double own = now->passes + (double)now->radices[0] / now->radices[now->passes - 1];
        if (own <= *cost) { /* the later one is more even */
            *cost = own;
            *best = *now;
        }
        return;
    }
    /* One pass more at least, and radices that are all the same. */
    if (now->passes + 2 > *cost)
        return;
    for (unsigned i = first; i < N_RADICES && now->passes < MOST_PASSES; i++)
        if (n % all_radices[i] == 0) {
            now->radices[now->passes++] = all_radices[i];
            find_radices(best, cost, now, n / all_radices[i], i);
            now->passes--;
        }
}

/* As few passes as can be of about as large radices, the largest one first. */
static void set_even_radices(struct gpu_line *line, unsigned most)
{
    struct gpu_line now = *line;
    double cost = INFINITY;
    unsigned first = 0;
    while (all_radices[first] > most)
        first++;
    find_radices(line, &cost, &now, line->n, first);
}

static size_t line_bytes(const struct gpu_line *line)
{
    return (line->n + line->n / 8) * line->number;
}

int gpu_line_of(struct gpu_line *line, const struct gpu_call *call, size_t n, size_t number, bool strided, bool alone)
{
    const struct gpu_ops *ops = call->kernel->ops;
    const size_t has = ops->local_bytes ? ops->local_bytes : LEAST_LINE_BYTES;
    const size_t most = has < LINE_BYTES ? has : LINE_BYTES;
    /* A processor's group has one item, for all of these. */
    const bool few = !ops->alone && ops->group_items && ops->group_items < MOST_ITEMS;
    const size_t most_items = few ? ops->group_items : MOST_ITEMS;
    *line = (struct gpu_line){ .n = n, .number = number, .strided = strided, .alone = alone };
    if (n > LINE_BYTES)
        return hcy_fail(HCY_EUNSUPPORTED, "a line of %zu numbers does not fit a group", n);
    if (alone)
        set_even_radices(line, number == 8 ? MOST_OF_FLOATS : MOST_OF_DOUBLES);
    else
        set_radices(line, number == 8);
    if (!line->passes || line->passes > MOST_PASSES)
        return hcy_fail(HCY_EUNSUPPORTED, "lines of %zu numbers, which are no product of few radices", n);
    /* As many items as transforms of the smallest radix. */
    const size_t bytes = line_bytes(line), items = n / line->radices[line->passes - 1];
    const uint32_t side = GPU_SIDE_BYTES / (uint32_t)number;
    line->lines = strided || number > 8 ? side : FAST_LINES;
    while (line->lines < side && line->lines * items < FAST_ITEMS)
        line->lines *= 2;
    while (line->lines > 1 && (line->lines * bytes > most || line->lines * items > most_items))
        line->lines /= 2;
    if (bytes > most || items > most_items)
        return hcy_fail(HCY_EUNSUPPORTED, "a line of %zu numbers does not fit a group", n);
    line->items = gpu_group(call, (uint32_t)((line->lines * items + 31) / 32 * 32));
    return 0;
}

/* Groups on a multiprocessor, so that compilers leave an item's numbers in registers, and many others' reads are under
 * way meanwhile. */
static unsigned resident_groups(const struct gpu_line *line)
{
    const bool is_double = line->number == 16, is_large = line->radices[0] == LARGE_RADIX;
    if (!line->alone) { /* sixteen floats or eight doubles, and their sums, take 128 */
        unsigned groups = 1;
        while (!is_double && groups * line->items <= MOST_ITEMS / 2)
            groups *= 2;
        return is_double || is_large ? groups : 2 * groups;
    }
    const unsigned registers = line->radices[0] * (unsigned)line->number / 4 + (is_double ? 40 : 26);
    const unsigned by_registers = REGISTERS / (line->items * registers);
    const unsigned by_memory = (unsigned)(LOCAL_BYTES / (line->lines * line_bytes(line)));
    const unsigned groups = by_registers < by_memory ? by_registers : by_memory;
    return groups ? groups : 1;
}

int gpu_line_compile(struct gpu_variant **variant, const struct gpu_call *call, const char *text,
                     const struct gpu_line *line, const char *more)
{
    char options[GPU_OPTIONS_BYTES];
    const bool is_double = line->number == 16;
    int used = snprintf(options, sizeof options,
                        "-DGROUP_SIZE=%u -DREAL=%s -DLENGTH=%uu -DLINES=%uu -DSTRIDED=%d -DPASSES=%u -DRESIDENT=%u %s",
                        line->items, is_double ? "double" : "float", (unsigned)line->n, line->lines, line->strided,
                        line->passes, resident_groups(line), more);
    for (unsigned i = 0; i < line->passes; i++)
        used += snprintf(options + used, sizeof options - (size_t)used, " -DR%u=%u", i, line->radices[i]);
    return gpu_variant_get(variant, call->kernel, text, options);
}

struct gpu_grid gpu_line_groups(const struct gpu_line *line, uint64_t width, uint64_t rows, uint64_t outer)
{
    return (struct gpu_grid){ { (uint32_t)(rows * ((width + line->lines - 1) / line->lines)),
                                (uint32_t)(outer < MOST_ROWS ? outer : MOST_ROWS) },
                              line->items,
                              (uint32_t)(line->lines * line_bytes(line)) };
}
