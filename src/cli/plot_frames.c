/* plot_frames.c - a frame of a stack, or the sum of several, as a map: its mask, its contrast, rings.
 *
 * Single-threaded but for the decoding of frames (frame_sum.c). */
#include "frame_sum.h"
#include "geometry.h"
#include "plot.h"
#include "plot_rings.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 1000 }; /* of a side of the picture */
#define HELPS 8             /* a logarithmic scale: where the brightest pixels have so many times what most have */

/* --- The geometry --- */

/* The geometry from -p, or from the file itself; *has: there is one. */
static int find_geometry(hcy_poni *poni, int *has, struct cli_geometry *g, const struct frames *f,
                         const struct plot_wish *wish)
{
    *has = 0;
    g->quiet = 1;
    g->flip = wish->flip;
    if (wish->poni) {
        int status = hcy_poni_read(poni, wish->poni);
        if (status)
            return cli_fail(status);
        g->given = 1;
    } else {
        /* Frames can be looked at without a geometry; whoever wants rings hears what is missing. */
        hcy_detector_info *own = cli_own_detector(f->info);
        int whole = own && !hcy_detector_geometry(poni, own, f->info->height, f->info->width);
        hcy_detector_info_free(own);
        if (!whole && !wish->rings && !wish->calibrant)
            return CLI_OK;
        *poni = (hcy_poni)HCY_PONI_INIT;
    }
    *has = 1;
    return cli_geometry_read(poni, g, f->stack);
}

/* --- The map --- */

/* Squares of pixels, averaged over those that are valid, so that no side has more cells than a picture shows. */
int plot_fill_cells(struct plot_map *map, const double *values, const uint8_t *bad, size_t height, size_t width)
{
    size_t side = height > width ? height : width, k = (side + MOST_CELLS - 1) / MOST_CELLS;
    map->width = (width + k - 1) / k;
    map->height = (height + k - 1) / k;
    map->cells = malloc(map->width * map->height * sizeof *map->cells);
    if (!map->cells)
        return cli_error("no memory for a picture of %zu x %zu pixels", height, width);
    for (size_t y = 0; y < map->height; y++)
        for (size_t x = 0; x < map->width; x++) {
            double sum = 0, n = 0;
            for (size_t i = y * k; i < (y + 1) * k && i < height; i++)
                for (size_t j = x * k; j < (x + 1) * k && j < width; j++)
                    if (!(bad && bad[i * width + j]) && isfinite(values[i * width + j])) {
                        sum += values[i * width + j];
                        n++;
                    }
            map->cells[y * map->width + x] = n > 0 ? sum / n : NAN;
        }
    /* Pixel j lies between j and j + 1, as beam centres are counted. */
    double half = (double)k / 2;
    memcpy(map->x, (double[]){ half, half + (double)((map->width - 1) * k) }, sizeof map->x);
    memcpy(map->y, (double[]){ half, half + (double)((map->height - 1) * k) }, sizeof map->y);
    return CLI_OK;
}

/* Does a linear scale leave most of the picture dark? */
static int log_helps(const struct plot *p)
{
    struct plot linear = *p;
    double ends[2], middle[2];
    linear.log = 0;
    if (!plot_find_colours(ends, &linear))
        return 0;
    linear.contrast[0] = linear.contrast[1] = 50;
    plot_find_colours(middle, &linear);
    return ends[1] > HELPS * fmax(middle[0], 0) && ends[1] > 0;
}

/* Are these floating-point numbers in a file of an array, as no detector writes? */
static int is_computed(const struct frames *f)
{
    const char *dot = strrchr(f->info->path, '.');
    return (f->info->pixel_type == HCY_PIXEL_F32 || f->info->pixel_type == HCY_PIXEL_F64) && dot &&
           (!strcmp(dot, ".npy") || !strcmp(dot, ".npz"));
}

static void put_frame_words(struct plot *p, const struct frames *f, const struct plot_wish *wish, uint64_t frames)
{
    const char *name = strrchr(f->info->path, '/');
    size_t n;
    name = name ? name + 1 : f->info->path;
    snprintf(p->x_label, sizeof p->x_label, "Column (fast axis)");
    snprintf(p->y_label, sizeof p->y_label, "Row (slow axis)");
    if (wish->title || f->info->frames == 1)
        snprintf(p->title, sizeof p->title, "%s", wish->title ? wish->title : name);
    else if (!wish->sum.given)
        snprintf(p->title, sizeof p->title, "%s, frame %llu", name, (unsigned long long)f->first);
    else
        snprintf(p->title, sizeof p->title, "%s, sum of %llu frames from %llu", name, (unsigned long long)frames,
                 (unsigned long long)f->first);
    n = strlen(p->title);
    if (wish->title)
        return;
    if (wish->calibrant)
        snprintf(p->title + n, sizeof p->title - n, "; rings of %s", wish->calibrant);
    else if (wish->rings)
        snprintf(p->title + n, sizeof p->title - n, "; rings at %s°", wish->rings);
}

/* --- The whole --- */

/* The frames from the first that was asked for on, as many as are added up. */
static int choose_span(struct frames *f, const struct plot_wish *wish)
{
    const struct cli_span *wanted = wish->frames->given ? &wish->frames->list[0] : NULL;
    uint64_t first = wanted ? wanted->first : 0, n = wish->sum.given ? (uint64_t)wish->sum.value : 1;
    /* With --sum, too: what a list names beside its first frame would not be shown. */
    if (wanted && (wish->frames->n > 1 || wanted->last - first != 1))
        return cli_usage("one frame is shown at a time: --frames N, or --frames N --sum M for the sum of M from it on");
    f->span = (struct cli_span){ 1, first, first + n };
    return CLI_OK;
}

int plot_read_frames(struct plot *p, const struct plot_wish *wish)
{
    struct frames f = { .path = wish->path, .dataset = wish->dataset, .channel = wish->channel, .device_list = "cpu",
                        .no_summary = 1 };
    struct frame_sum s = { 0 };
    const struct frame_masks masks = { wish->mask, wish->no_file_mask };
    struct cli_geometry g = { 0 };
    hcy_poni poni = HCY_PONI_INIT;
    int has_geometry = 0, status = choose_span(&f, wish);
    if (status)
        return status;
    p->kind = PLOT_IMAGE;
    status = frames_open(&f);
    if (!status)
        status = find_geometry(&poni, &has_geometry, &g, &f, wish);
    if (!status)
        status = frame_sum_make(&s, &f, has_geometry ? &poni : NULL, &masks);
    if (!status)
        status = plot_fill_cells(&p->map, s.values, s.bad, f.info->height, f.info->width);
    if (!status && has_geometry)
        status = plot_add_rings(&p->map, &poni, f.info->height, f.info->width, wish);
    if (!status) {
        /* What detectors count spans decades; numbers that were computed are seen as they are, as complex ones. */
        p->log = wish->log || (!wish->linear && !is_computed(&f) && log_helps(p));
        p->value_label = wish->sum.given ? "Sum of the frames in a pixel" : "Intensity of a pixel";
        put_frame_words(p, &f, wish, s.frames);
    }
    hcy_detector_info_free(g.file);
    frame_sum_free(&s);
    frames_close(&f);
    return status;
}
