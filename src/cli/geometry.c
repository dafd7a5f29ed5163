/* geometry.c - see geometry.h.  Single-threaded. */
#include "geometry.h"
#include <stdlib.h>
#include <string.h>

hcy_detector_info *cli_own_detector(const hcy_stack_info *stack)
{
    hcy_detector_info *info = NULL;
    size_t size = strlen(stack->path) + strlen(stack->dataset) + 3;
    char *path = *stack->dataset ? malloc(size) : NULL;
    if (!path)
        return NULL;
    snprintf(path, size, "%s::%s", stack->path, stack->dataset);
    int status = hcy_detector_read(&info, path);
    free(path);
    return status ? NULL : info;
}

static int from_stack(hcy_poni *poni, const struct cli_geometry *g, const hcy_stack_info *stack,
                      const hcy_detector_info *info)
{
    if (!info && *stack->dataset && hcy_last_error()->status == HCY_EINVAL)
        return cli_error("the geometry is missing: give -p FILE.poni (%s)", hcy_last_error()->text);
    if (!info)
        return cli_error("the geometry is missing: give -p FILE.poni (%s has no NXdetector group)", stack->path);
    if (hcy_detector_geometry(poni, info, stack->height, stack->width))
        return cli_error("the geometry is missing: give -p FILE.poni (%s: %s)", stack->path, hcy_last_error()->text);
    const char *not_used = *info->frame_problem ? "; not all of it is used: " : "";
    if (!g->quiet && poni->orientation)
        fprintf(stderr, "geometry of %s (no -p): %s, %g m away, PONI (%g, %g) m, turned by %.6f %.6f %.6f rad, "
                "orientation %d, wavelength %g A%s%s\n", stack->path, poni->detector ? poni->detector->name : "a detector",
                poni->dist, poni->poni1, poni->poni2, poni->rot1, poni->rot2, poni->rot3, poni->orientation,
                1e10 * poni->wavelength, not_used, info->frame_problem);
    else if (!g->quiet)
        fprintf(stderr,
                "geometry of %s (no -p): %s, %g m away, beam at pixel (%g, %g), wavelength %g A, not tilted%s%s\n",
                stack->path, poni->detector ? poni->detector->name : "a detector", poni->dist, info->beam_x,
                info->beam_y, 1e10 * poni->wavelength, not_used, info->frame_problem);
    return CLI_OK;
}

const char *cli_detector_meant(char words[80], const char *name)
{
    const char *names[256], *meant;
    size_t n;
    const hcy_detector *list = hcy_detector_list(&n);
    n = n < sizeof names / sizeof names[0] ? n : sizeof names / sizeof names[0];
    for (size_t i = 0; i < n; i++)
        names[i] = list[i].name;
    meant = cli_closest(name, names, n);
    snprintf(words, 80, meant ? " (is %s meant?)" : "%s", meant ? meant : "");
    return words;
}

int cli_detector_read(hcy_detector_info **file, const char *path, int given)
{
    const int status = hcy_detector_read(file, path);
    if (status && !given)
        return cli_error("%s: %s", path, hcy_last_error()->text);
    if (!status)
        return CLI_OK;
    /* Neither a name nor a file: the message says so, since the user may have meant either.  A word without folder and
     * suffix is a name, and a wrong one. */
    const char *const words = "--detector %s: %s; nor is a detector called so%s", *why = hcy_last_error()->text;
    char meant[80] = "";
    return status == HCY_ENOENT && !strpbrk(path, "/.")
               ? cli_usage(words, path, why, cli_detector_meant(meant, path))
               : cli_error(words, path, why, meant);
}

/* --detector: a name, or a file; without it the file that the PONI file names. */
static int set_detector(hcy_poni *poni, struct cli_geometry *g, const hcy_stack_info *stack)
{
    const hcy_detector *known;
    const char *path = g->detector ? g->detector : poni->detector_file;
    /* A known name wins over a file of that name, and brings its own pixels and shape. */
    if (g->detector && !hcy_detector_find(&known, g->detector)) {
        poni->detector = known;
        poni->pixel1 = poni->pixel2 = 0;
        poni->height = poni->width = 0;
        *poni->detector_file = 0;
        return CLI_OK;
    }
    if (!*path)
        return CLI_OK;
    if (strlen(path) >= sizeof poni->detector_file)
        return cli_usage("--detector: the name of the file is too long");
    int status = cli_detector_read(&g->file, path, g->detector != NULL);
    if (status)
        return status;
    /* The results record the file, whoever named it. */
    if (path != poni->detector_file)
        snprintf(poni->detector_file, sizeof poni->detector_file, "%s", path);
    hcy_detector_to_poni(poni, g->file);
    /* pyFAI lets pixels outside the valid region count, but for this one detector. */
    if (g->file->is_spline && (!poni->detector || strcmp(poni->detector->name, "FReLoN"))) {
        free(g->file->mask);
        g->file->mask = NULL;
    }
    if (g->file->height && (g->file->height != stack->height || g->file->width != stack->width))
        return cli_error("the detector in %s has %u x %u pixels, the frames of %s are %u x %u", path, g->file->height,
                         g->file->width, stack->path, stack->height, stack->width);
    return CLI_OK;
}

/* What is written in another unit than PONI files have. */
struct length {
    const char *what;
    double value, least, most; /* metres: what instruments have */
    const char *units[2];      /* that are most often meant instead */
    double metres[2];          /* each of them */
};

static void warn_length(const struct length *l)
{
    char meant[96] = "";
    /* What is not known is 0, and not said here. */
    if (l->value == 0 || (l->value >= l->least && l->value <= l->most))
        return;
    for (int i = 1; i >= 0; i--) {
        double metres = l->value * l->metres[i];
        if (metres >= l->least && metres <= l->most)
            snprintf(meant, sizeof meant, "; if that is in %s, it must be %g", l->units[i], metres);
    }
    cli_note("warning: the geometry's %s is %g m, which is hardly meant: it is given in metres, %g to %g%s", l->what, l->value,
             l->least, l->most, meant);
}

/* Programs and people write Angstrom and millimetres where metres are wanted, and curves look as good. */
static void warn_geometry(const hcy_poni *p)
{
    const struct length lengths[] = {
        { "wavelength", p->wavelength, 1e-13, 1e-8, { "Angstrom", "nanometres" }, { 1e-10, 1e-9 } },
        { "distance", p->dist, 1e-3, 20, { "millimetres", "centimetres" }, { 1e-3, 1e-2 } },
        { "pixel height", p->pixel1, 1e-6, 5e-3, { "micrometres", "millimetres" }, { 1e-6, 1e-3 } },
        { "pixel width", p->pixel2, 1e-6, 5e-3, { "micrometres", "millimetres" }, { 1e-6, 1e-3 } },
    };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        warn_length(&lengths[i]);
}

/* Rows the other way round are another orientation: nothing has to be moved. */
static void orient(hcy_poni *poni, const struct cli_geometry *g)
{
    static const int flipped[] = { 0, 4, 3, 2, 1 };
    if (g->orientation)
        poni->orientation = g->orientation;
    if (!poni->orientation)
        /* 3 is what pyFAI takes where nothing is said. */
        poni->orientation = poni->detector ? poni->detector->orientation : 3;
    if (g->flip)
        poni->orientation = flipped[poni->orientation];
}

int cli_geometry_read(hcy_poni *poni, struct cli_geometry *g, const hcy_stack *stack)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    hcy_detector_info *own = cli_own_detector(info);
    int status = CLI_OK;
    if (!g->given)
        status = from_stack(poni, g, info, own);
    /* Limits of the counts belong to the stack's detector, wherever the geometry is from. */
    g->saturation = own ? own->saturation : 0;
    g->has_underload = own && own->has_underload;
    g->underload = own ? own->underload : 0;
    hcy_detector_info_free(own);
    return status ? status : cli_geometry_complete(poni, g, info);
}

int cli_geometry_complete(hcy_poni *poni, struct cli_geometry *g, const hcy_stack_info *frames)
{
    int status = set_detector(poni, g, frames);
    if (!status)
        orient(poni, g);
    if (!status)
        warn_geometry(poni);
    return status;
}

void cli_geometry_invalid(hcy_azint_options *o, const struct cli_geometry *g)
{
    if (o->sentinels != HCY_SENTINELS_OFF) {
        o->saturation = g->saturation;
        o->use_underload = g->has_underload;
        o->underload = g->underload;
    }
    /* A dummy that the user gives stands before that of the detector's file. */
    if (o->use_dummy || !g->file || !g->file->has_dummy)
        return;
    o->use_dummy = 1;
    o->dummy = g->file->dummy;
    o->delta_dummy = g->file->delta_dummy;
}
