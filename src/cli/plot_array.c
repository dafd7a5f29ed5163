/* plot_array.c - an image of an array as a map: the magnitude or the phase of complex numbers, or real ones.
 *
 * The last two axes are the image; those in front count images. */
#include "plot.h"
#include <halcyon/host_array.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const plot_parts[] = { "auto", "magnitude", "phase", "real", "imaginary", NULL };

int plot_is_array(const char *path)
{
    const char *format;
    return !hcy_format_of(&format, path, HCY_WRITE_ARRAY);
}

/* Number i of an array as the part has it; the phase is taken when pixels have been averaged. */
static double read_part(const hcy_host_array *a, size_t i, enum plot_part part)
{
    double number[2] = { 0, 0 };
    size_t parts = a->is_complex ? 2 : 1;
    for (size_t k = 0; k < parts; k++)
        number[k] = a->bytes == 8 ? ((const double *)a->data)[i * parts + k]
                                  : (double)((const float *)a->data)[i * parts + k];
    if (part == PLOT_MAGNITUDE)
        return hypot(number[0], number[1]);
    return number[part == PLOT_IMAGINARY];
}

/* The image whose first number is `first`. */
static int fill_part(struct plot_map *map, const hcy_host_array *a, size_t first, enum plot_part part)
{
    size_t height = (size_t)a->shape[a->rank - 2], width = (size_t)a->shape[a->rank - 1];
    double *values = malloc(height * width * sizeof *values);
    if (!values)
        return cli_error("no memory for an image of %zu x %zu", height, width);
    for (size_t i = 0; i < height * width; i++)
        values[i] = read_part(a, first + i, part);
    int status = plot_fill_cells(map, values, NULL, height, width);
    free(values);
    return status;
}

/* Phases cannot be averaged where they jump, so the parts are, and the phase is theirs. */
static int fill_phase(struct plot_map *map, const hcy_host_array *a, size_t first)
{
    struct plot_map other = { 0 };
    int status = fill_part(map, a, first, PLOT_REAL);
    if (!status)
        status = fill_part(&other, a, first, PLOT_IMAGINARY);
    for (size_t i = 0; !status && i < map->width * map->height; i++)
        map->cells[i] = atan2(other.cells[i], map->cells[i]);
    free(other.cells);
    return status;
}

/* Where the chosen image begins. */
static int choose_image(size_t *first, size_t *number, size_t *images, const hcy_host_array *a,
                        const struct plot_wish *wish)
{
    size_t count = 0;
    int status = hcy_host_array_count(&count, a);
    if (status)
        return cli_fail(status);
    if (a->rank < 2 || !count)
        return cli_error("%s: an array of %d axes with %zu numbers; an image has 2 axes, of images there are "
                         "more in front",
                         wish->path, a->rank, count);
    size_t pixels = (size_t)a->shape[a->rank - 2] * (size_t)a->shape[a->rank - 1];
    const struct cli_span *wanted = wish->frames->given ? &wish->frames->list[0] : NULL;
    *images = count / pixels;
    *number = wanted ? (size_t)wanted->first : 0;
    if (wanted && (wish->frames->n > 1 || wanted->last - wanted->first != 1))
        return cli_usage("one image is shown at a time: --frames N");
    if (*number >= *images)
        return cli_error("%s: it has images 0 to %zu, and no %zu", wish->path, *images - 1, *number);
    *first = *number * pixels;
    return CLI_OK;
}

static void put_array_words(struct plot *p, const struct plot_wish *wish, enum plot_part part, size_t number,
                            size_t images)
{
    /* The file's own name, and all of a dataset's, which has slashes too. */
    const char *name = wish->path + hcy_file_length(wish->path);
    while (name > wish->path && name[-1] != '/')
        name--;
    static const char *const labels[] = { NULL, "Magnitude", "Phase (radian)", "Real part", "Imaginary part" };
    p->value_label = labels[part];
    snprintf(p->x_label, sizeof p->x_label, "Column (last axis)");
    snprintf(p->y_label, sizeof p->y_label, "Row");
    if (wish->title)
        snprintf(p->title, sizeof p->title, "%s", wish->title);
    else if (images > 1)
        snprintf(p->title, sizeof p->title, "%s, image %zu, %s", name, number, plot_parts[part]);
    else
        snprintf(p->title, sizeof p->title, "%s, %s", name, plot_parts[part]);
}

int plot_read_array(struct plot *p, const struct plot_wish *wish)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    size_t first = 0, number = 0, images = 0;
    int status = hcy_host_array_read(&a, wish->path);
    if (status)
        return cli_fail(status);
    enum plot_part part = (enum plot_part)wish->part;
    if (part == PLOT_PART_AUTO)
        part = a.is_complex ? PLOT_MAGNITUDE : PLOT_REAL;
    p->kind = PLOT_IMAGE;
    status = choose_image(&first, &number, &images, &a, wish);
    if (!status)
        status = part == PLOT_PHASE ? fill_phase(&p->map, &a, first) : fill_part(&p->map, &a, first, part);
    if (!status)
        put_array_words(p, wish, part, number, images);
    hcy_host_array_free(&a);
    return status;
}
