/* points.c - see points.h.
 *
 * BART: trajectories are in units of 1/FOV, which makes x = 2 pi k / N of a coordinate k along an axis of N pixels
 * (its doc/README, and src/nufft.c of github.com/mrirecon/bart).  ISMRMRD: coordinates are kx, ky, kz
 * (include/ismrmrd/ismrmrd.h), whose unit its documents leave open.
 */
#include "points.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURN 6.283185307179586476925
const char *const points_units[] = { "auto", "radians", "cycles", "fov", NULL };

int points_parse_sizes(int64_t sizes[3], const char *text)
{
    const char *at = text;
    for (int d = 0; d < 3; d++) {
        char *end;
        errno = 0;
        sizes[d] = strtoll(at, &end, 10);
        if (sizes[d] < 1 || errno || (*end && *end != ','))
            break;
        if (!*end)
            return d + 1;
        at = end + 1;
    }
    cli_usage("--modes needs 1 to 3 whole numbers above 0, with commas between; it is %s", text);
    return 0;
}

/* One of the list, and what follows it, or NULL if it is none. */
static const char *parse_delay(double *delay, const char *at, double dwell)
{
    char *end;
    *delay = strtod(at, &end);
    const bool is_time = end != at && !strncmp(end, "us", 2);
    end += is_time ? 2 : 0;
    *delay /= is_time ? dwell : 1;
    if (end == at || (is_time && !(dwell > 0)) || !isfinite(*delay) || (*end && *end != ','))
        return NULL;
    return *end ? end + 1 : end;
}

int points_parse_delays(double delays[3], const char *text, int axes, double dwell)
{
    const char *at = text;
    int n = 0;
    double given[3];
    while (at && (!n || at[-1] == ',') && n < axes)
        at = parse_delay(&given[n++], at, dwell);
    if (at && !*at && at[-1] != ',' && (n == 1 || n == axes)) {
        for (int d = 0; d < axes; d++)
            delays[d] = given[n == 1 ? 0 : axes - 1 - d];
        return CLI_OK;
    }
    return cli_usage("--delay takes X, of all axes, or a number for each of %d, x first with commas between, in "
                     "samples%s; it is %s", axes, dwell < 0 ? "" : ", or as 3us with --dwell", text);
}

/* Coordinate `column` of point i, in the file's unit. */
static double raw_coordinate(const struct points *p, size_t i, int column)
{
    size_t at = p->is_planar ? (size_t)column * p->n + i : i * (size_t)p->columns + (size_t)column;
    return array_real(p->array, p->array->is_complex ? 2 * at : at);
}

/* "cfl" and "mrd" are what says how its coordinates are meant; all others are "". */
static const char *kind_of_points(const char *path)
{
    const char *format = "", *part = path + hcy_file_length(path);
    size_t n = strlen(part);
    if (hcy_format_of(&format, path, HCY_WRITE_ARRAY))
        return "";
    /* ISMRMRD's files are HDF5, whatever they are called; acquisitions have a member of that name. */
    if (!strcmp(format, "mrd") || (!strcmp(format, "h5") && n > 5 && !strcmp(part + n - 5, "/traj")))
        return "mrd";
    return strcmp(format, "cfl") ? "" : format;
}

/* BART's trajectories have three coordinates of each point, and files have no axes of 1: a list of three is one point,
 * unless one coordinate is wanted. */
static bool is_single_point(const hcy_host_array *a, const char *path, int axes)
{
    return a->rank == 1 && a->shape[0] == 3 && axes != 1 && !strcmp(kind_of_points(path), "cfl");
}

/* "[n][axes]", where n may be several axes, or a list: how many axes, 0 if it is none of these, and how many points. */
static int find_axes(size_t *n, const hcy_host_array *a, size_t numbers, bool planar)
{
    /* A list is taken as points on one axis; [n][axes] says the number of axes itself. */
    uint64_t axes = a->rank > 1 ? a->shape[planar ? 0 : a->rank - 1] : 1;
    if (a->rank < 1 || axes < 1 || axes > 3)
        return 0;
    *n = numbers / axes;
    return (int)axes;
}

/* The largest coordinate without its sign, of those that are used; 0 of none and of NaN, which plans refuse. */
static double largest_coordinate(const struct points *p)
{
    double most = 0;
    for (int c = 0; c < p->columns; c++)
        for (size_t i = 0; i < p->n; i++)
            most = fmax(most, fabs(raw_coordinate(p, i, c)));
    return most;
}

static bool is_zero_column(const struct points *p, int column)
{
    for (size_t i = 0; i < p->n; i++)
        if (raw_coordinate(p, i, column) != 0)
            return false;
    return true;
}

/* Two-dimensional trajectories may have a third coordinate that says nothing. */
static void drop_zero_column(struct points *p, int axes)
{
    for (int c = p->columns - 1; c >= 0 && p->dropped < 0 && axes && axes == p->columns - 1; c--)
        if (is_zero_column(p, c))
            p->dropped = c;
    p->dim = p->columns - (p->dropped >= 0);
}

/* How many coordinates of a sample a list of ISMRMRD's has, 0: they are made by its encoding steps; -1: it is none. */
static double axes_of_list(const char *path)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    const size_t n = strlen(path);
    char *name = n > 5 && !strcmp(path + n - 5, "/traj") ? strdup(path) : NULL;
    size_t count;
    if (name)
        memcpy(name + n - 5, "/axes", 5);
    const bool is_list = name && !hcy_host_array_read(&a, name) && !hcy_host_array_count(&count, &a) && count == 1;
    const double axes = is_list ? array_real(&a, 0) : -1;
    hcy_host_array_free(&a);
    free(name);
    return axes;
}

static void choose_unit(struct points *p, const struct points_options *o)
{
    const char *kind = kind_of_points(p->path);
    const double axes = strcmp(kind, "mrd") ? -1 : axes_of_list(p->path);
    p->is_grid = axes == 0;
    /* Who says BART's own unit of BART's file has changed nothing. */
    p->is_xyz = o->xyz || axes >= 0 || (o->unit == POINTS_FOV && !strcmp(kind, "cfl"));
    p->is_said = o->unit || o->cycles;
    p->unit = o->unit ? (enum points_unit)o->unit : o->cycles ? POINTS_CYCLES : POINTS_RADIANS;
    if (p->is_said || !*kind)
        return;
    p->is_xyz = true;
    p->unit = POINTS_FOV;
    double most = strcmp(kind, "mrd") ? HUGE_VAL : largest_coordinate(p);
    /* Half a cycle and pi are where the spectrum of an image ends; a little is left for rounding. */
    if (p->is_grid || most <= 0.5 * 1.001)
        p->unit = POINTS_CYCLES;
    else if (most <= TURN / 2 * 1.001)
        p->unit = POINTS_RADIANS;
}

int points_find(struct points *p, const hcy_host_array *a, const char *path, const char *what,
                const struct points_options *options, int axes)
{
    size_t numbers, other;
    char is[200];
    if (options->cycles && options->unit && options->unit != POINTS_CYCLES)
        return cli_usage("--cycles and --unit say the unit of points: give one");
    int status = hcy_host_array_count(&numbers, a);
    if (status)
        return cli_fail(status);
    *p = (struct points){ .array = a, .path = path, .what = what, .dropped = -1 };
    p->is_planar = options->planar && a->rank > 1;
    p->columns = find_axes(&p->n, a, numbers, p->is_planar);
    if (is_single_point(a, path, axes)) {
        p->columns = 3;
        p->n = 1;
    }
    const bool is_real = array_is_real(a, numbers);
    if (!p->columns || !is_real) {
        /* Whoever has an axis after the other is told what says so. */
        bool turned = !p->columns && a->rank > 1 && find_axes(&other, a, numbers, !p->is_planar);
        const char *advice = p->is_planar ? "; leave --planar" : "; give --planar";
        return cli_error("%s: %s must be real, %s with 1 to 3 axes, or [n]; it is %s%s%s", path, what,
                         p->is_planar ? "[axes][n]" : "[n][axes]", is_real ? "" : "complex ",
                         array_words(is, a, 0), turned ? advice : "");
    }
    choose_unit(p, options);
    drop_zero_column(p, axes);
    return CLI_OK;
}

/* --- Taking them --- */

/* The file's coordinate for an axis of the image. */
static int column_of_axis(const struct points *p, int axis)
{
    int at = p->is_xyz ? p->dim - 1 - axis : axis;
    return at + (p->dropped >= 0 && at >= p->dropped);
}

static double radians_of_unit(const struct points *p, const int64_t *sizes, int axis)
{
    if (p->unit == POINTS_FOV && sizes)
        return TURN / (double)sizes[axis];
    return p->unit == POINTS_CYCLES ? TURN : 1;
}

int points_take(void *axes[3], const struct points *p, const int64_t *sizes, bool is_double)
{
    /* Plans take an array for each axis, while files hold a point's coordinates side by side. */
    for (int d = 0; d < p->dim; d++) {
        int column = column_of_axis(p, d);
        double unit = radians_of_unit(p, sizes, d);
        axes[d] = reals_room(is_double, p->n);
        if (!axes[d])
            return cli_error("out of memory for %zu %s", p->n, p->what);
        for (size_t i = 0; i < p->n; i++)
            reals_put(is_double, axes[d], i, unit * raw_coordinate(p, i, column));
    }
    return CLI_OK;
}

/* --- Words --- */

/* A unit that the range makes likelier than the one that is used, or POINTS_AUTO. */
static enum points_unit suspect_unit(const struct points *p, const int64_t *sizes, double most)
{
    int64_t longest = 0;
    for (int d = 0; sizes && d < p->dim; d++)
        longest = sizes[d] > longest ? sizes[d] : longest;
    if (p->unit == POINTS_RADIANS && most <= 0.5)
        return POINTS_CYCLES;
    /* Any number of periods is legal, so two on each side are no reason to say something. */
    if (p->unit == POINTS_RADIANS && most > 2 * TURN)
        return POINTS_FOV;
    if (p->unit == POINTS_CYCLES && !p->is_grid && most > 1)
        return most <= TURN / 2 * 1.001 ? POINTS_RADIANS : POINTS_FOV;
    /* 1/FOV goes to half of the image's pixels. */
    if (p->unit == POINTS_FOV && longest >= 16 && most <= TURN / 2 * 1.001)
        return most <= 0.5 ? POINTS_CYCLES : POINTS_RADIANS;
    return POINTS_AUTO;
}

void points_note(const struct points *p, const int64_t *sizes)
{
    static const char *const words[] = { "", "radians", "cycles", "units of 1/FOV" };
    const char *kind = kind_of_points(p->path);
    if (p->n < 2)
        return;
    if (!p->is_said && *kind)
        cli_note("%s: coordinates are taken as %s, x first, in %s%s; --unit says otherwise", p->path,
                 strcmp(kind, "cfl") ? "ISMRMRD's" : "BART's", words[p->unit],
                 !strcmp(kind, "cfl") ? "" : p->is_grid ? " (of its grid)" : " (by their range)");
    double most = largest_coordinate(p);
    enum points_unit other = suspect_unit(p, sizes, most);
    /* What has no sizes has no 1/FOV either, and coordinates of any range. */
    if (other == POINTS_FOV && !sizes)
        return;
    if (other == POINTS_FOV && p->unit == POINTS_RADIANS)
        cli_note("%s: coordinates reach %g, which is %.3g periods, and are taken as radians; if they are on "
                 "a grid or in 1/FOV, "
                 "--unit fov says so; degrees have to be converted",
                 p->path, most, most / TURN * 2);
    else if (other)
        cli_note("%s: coordinates reach %g and are taken as %s; if they are %s, --unit %s says so", p->path,
                 most, words[p->unit], words[other], points_units[other]);
}
