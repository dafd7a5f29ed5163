/* h5_axes.c - where NeXus says that a detector's pixels are: chains of NXtransformations.
 *
 * A module (NXdetector_module) has the directions of its rows and columns, fast_pixel_direction and
 * slow_pixel_direction.  What such an axis depends on moves it, that again may depend on another, up to ".".
 * A translation moves along its vector by its value, a rotation turns about it, right-handed; both then add their
 * offset.  The value of a module's own axis is the step to the next pixel, which moves nothing that depends on it.
 */
#include "h5_detector.h"
#include "h5_read.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 32, MOST_PATH = 512 };
#define FAST "fast_pixel_direction"
#define SLOW "slow_pixel_direction"

struct axis {
    double value, vector[3], offset[3]; /* radians or metres; of length 1; metres */
    int rotates;
    char depends_on[MOST_PATH];
};

/* Three numbers of an attribute: 1; 0: there is none; -1: they are not. */
static int read_vector(double x[3], hid_t object, const char *name)
{
    if (H5Aexists(object, name) <= 0)
        return 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), space = H5Aget_space(attribute);
    herr_t done = H5Sget_simple_extent_npoints(space) == 3 ? H5Aread(attribute, H5T_NATIVE_DOUBLE, x) : -1;
    H5Sclose(space);
    H5Aclose(attribute);
    return done < 0 || !isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2]) ? -1 : 1;
}

/* One number, or many that are the same; -1: they are not. */
static int read_value(double *value, hid_t file, const char *path)
{
    double *values;
    size_t n;
    if (hcy__h5_get_doubles(&values, &n, file, path, "axis"))
        return -1;
    int one = n > 0 && isfinite(values[0]);
    for (size_t i = 1; i < n; i++)
        one &= values[i] == values[0];
    *value = one ? values[0] : 0;
    free(values);
    return one ? 0 : -1;
}

/* Radians of a unit of angles, degrees where none is said; 0: none is called so. */
static double radians_of(const char *unit)
{
    static const char *const degrees[] = { "", "deg", "degree", "degrees", "\u00b0" },
                      *const radians[] = { "rad", "rads", "radian", "radians" };
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++)
        if (!strcmp(unit, degrees[i]))
            return acos(-1) / 180;
    for (size_t i = 0; i < sizeof radians / sizeof radians[0]; i++)
        if (!strcmp(unit, radians[i]))
            return 1;
    return strcmp(unit, "mrad") ? 0 : 1e-3;
}

static int take_axis(struct axis *axis, hid_t file, hid_t data, const char *path)
{
    char type[32], units[32], offset_units[32];
    hcy__h5_get_text(type, sizeof type, data, "transformation_type");
    hcy__h5_get_text(units, sizeof units, data, "units");
    /* A rotation's own unit is an angle, so that its offset has metres unless it says otherwise. */
    if (!hcy__h5_get_text(offset_units, sizeof offset_units, data, "offset_units"))
        snprintf(offset_units, sizeof offset_units, "%s", strcmp(type, "rotation") ? units : "m");
    /* NeXus ends a chain with "."; where nothing is said it ends as well. */
    if (!hcy__h5_get_text(axis->depends_on, sizeof axis->depends_on, data, "depends_on"))
        snprintf(axis->depends_on, sizeof axis->depends_on, ".");
    axis->rotates = !strcmp(type, "rotation");
    double unit = axis->rotates ? radians_of(units) : hcy__h5_metres(units);
    double offset_unit = hcy__h5_metres(offset_units);
    int has_vector = read_vector(axis->vector, data, "vector"), has_offset = read_vector(axis->offset, data, "offset");
    double norm = hypot(hypot(axis->vector[0], axis->vector[1]), axis->vector[2]);
    if ((!axis->rotates && strcmp(type, "translation")) || has_vector <= 0 || !(norm > 0) || !(unit > 0))
        return hcy_fail(HCY_EFORMAT, "the axis %s has no sound type, vector or unit", path);
    if (has_offset < 0 || (has_offset && !(offset_unit > 0)))
        return hcy_fail(HCY_EFORMAT, "the axis %s has no sound offset", path);
    /* An axis with a value a frame is a scan: the geometry of one plan cannot follow it. */
    if (read_value(&axis->value, file, path))
        return hcy_fail(HCY_EUNSUPPORTED, "the axis %s has more values than one", path);
    axis->value *= unit;
    for (int i = 0; i < 3; i++) {
        axis->vector[i] /= norm;
        axis->offset[i] *= offset_unit;
    }
    return 0;
}

/* `name` may be relative to the group of `from`; the path is left in `path`. */
static int read_chained_axis(struct axis *axis, char path[MOST_PATH], hid_t file, const char *from, const char *name)
{
    char full[MOST_PATH];
    const char *slash = strrchr(from, '/');
    int n = *name == '/' || !slash ? snprintf(full, sizeof full, "%s", name)
                                   : snprintf(full, sizeof full, "%.*s/%s", (int)(slash - from), from, name);
    *axis = (struct axis){ 0 };
    if (n < 0 || (size_t)n >= sizeof full)
        return hcy_fail(HCY_EFORMAT, "an axis has a path that is too long");
    /* Files name axes that are not there, or link to files that are not: both are refused by name. */
    hid_t data = H5Oexists_by_name(file, full, H5P_DEFAULT) > 0 ? H5Dopen2(file, full, H5P_DEFAULT) : -1;
    if (data < 0)
        return hcy_fail(HCY_ENOENT, "there is no axis %s", full);
    int st = take_axis(axis, file, data, full);
    H5Dclose(data);
    memcpy(path, full, sizeof full);
    return st;
}

/* Turns v about the axis, by Rodrigues' formula. */
static void turn_vector(double v[3], const struct axis *axis)
{
    const double *k = axis->vector, c = cos(axis->value), s = sin(axis->value);
    double dot = k[0] * v[0] + k[1] * v[1] + k[2] * v[2];
    const double cross[3] = { k[1] * v[2] - k[2] * v[1], k[2] * v[0] - k[0] * v[2], k[0] * v[1] - k[1] * v[0] };
    for (int i = 0; i < 3; i++)
        v[i] = v[i] * c + cross[i] * s + k[i] * dot * (1 - c);
}

static void move_point(double point[3], const struct axis *axis)
{
    if (axis->rotates)
        turn_vector(point, axis);
    for (int i = 0; i < 3; i++)
        point[i] += axis->offset[i] + (axis->rotates ? 0 : axis->value * axis->vector[i]);
}

/* Whether a path ends in this name. */
static int ends_in(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, name);
}

/* Moves the direction, and the point if it is not NULL, by all that the axis depends on.  *turns: whether anything
 * turned. */
static int follow(double direction[3], double *point, int *turns, struct axis axis, hid_t file, char path[MOST_PATH])
{
    char name[MOST_PATH];
    int st = 0;
    /* The bound ends chains that lead back into themselves. */
    for (int i = 0; !st && strcmp(axis.depends_on, ".") && *axis.depends_on; i++) {
        if (i == MOST_AXES)
            return hcy_fail(HCY_EFORMAT, "the axis %s depends on itself", path);
        memcpy(name, axis.depends_on, sizeof name);
        st = read_chained_axis(&axis, path, file, path, name);
        if (st)
            break;
        /* A direction has no place: translations leave it alone. */
        if (axis.rotates) {
            turn_vector(direction, &axis);
            *turns |= axis.value != 0;
        }
        if (!axis.rotates && (ends_in(path, FAST) || ends_in(path, SLOW)))
            axis.value = 0;
        if (point)
            move_point(point, &axis);
    }
    return st;
}

/* The one NXdetector_module of a detector; how many there are. */
struct modules {
    int n;
    char name[64];
};

static herr_t count_module(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    struct modules *modules = data;
    char class[32];
    (void)info;
    hid_t object = H5Oexists_by_name(group, name, H5P_DEFAULT) > 0 ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    if (object < 0)
        return 0;
    if (hcy__h5_get_text(class, sizeof class, object, "NX_class") && !strcmp(class, "NXdetector_module")) {
        modules->n++;
        snprintf(modules->name, sizeof modules->name, "%s", name);
    }
    H5Oclose(object);
    return 0;
}

static int read_module(hcy_detector_info *info, int *turns, hid_t file, const char *path)
{
    struct axis fast, slow;
    char fast_path[MOST_PATH], slow_path[MOST_PATH];
    int st = read_chained_axis(&fast, fast_path, file, path, FAST);
    if (!st)
        st = read_chained_axis(&slow, slow_path, file, path, SLOW);
    if (st)
        return st;
    if (fast.rotates || slow.rotates)
        return hcy_fail(HCY_EFORMAT, "the axis %s is a rotation", fast.rotates ? fast_path : slow_path);
    /* The axes' own values are the sizes of pixels, for files that do not say them elsewhere. */
    if (!(info->pixel1 > 0 && info->pixel2 > 0)) {
        info->pixel1 = slow.value;
        info->pixel2 = fast.value;
    }
    memcpy(info->fast, fast.vector, sizeof fast.vector);
    memcpy(info->slow, slow.vector, sizeof slow.vector);
    /* Both directions hang on one chain, one behind the other or side by side, but files may give each its own. */
    const int behind = ends_in(slow.depends_on, FAST);
    memcpy(info->corner, behind ? slow.offset : fast.offset, sizeof info->corner);
    st = follow(info->slow, behind ? info->corner : NULL, turns, slow, file, slow_path);
    return st ? st : follow(info->fast, behind ? NULL : info->corner, turns, fast, file, fast_path);
}

/* Without a module nothing says where its chain begins: that is all right as long as nothing turns. */
static int check_chain(int *turns, hid_t file, hid_t group, const char *path)
{
    struct axis first = { .depends_on = "." };
    double direction[3] = { 0, 0, 1 };
    char at[MOST_PATH];
    snprintf(at, sizeof at, "%s/depends_on", path);
    if (hcy__h5_text_of(first.depends_on, sizeof first.depends_on, group, "depends_on"))
        return 0;
    int st = follow(direction, NULL, turns, first, file, at);
    return !st && *turns ? hcy_fail(HCY_EUNSUPPORTED, "it is turned, and has no NXdetector_module") : st;
}

void hcy__h5_axes_read(hcy_detector_info *info, hid_t file, const char *path)
{
    struct modules modules = { 0, "" };
    char within[MOST_PATH];
    hid_t group = H5Gopen2(file, path, H5P_DEFAULT);
    if (group < 0)
        return;
    int all = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, count_module, &modules) >= 0;
    int n = snprintf(within, sizeof within, "/%s/%s/x", path, modules.name);
    int turns = 0, st = 0;
    if (!all)
        st = hcy_fail(HCY_ECORRUPT, "what its group holds cannot all be read");
    else if (modules.n == 0)
        st = check_chain(&turns, file, group, path);
    else if (modules.n > 1 || (size_t)n >= sizeof within)
        st = hcy_fail(HCY_EUNSUPPORTED, "it has %d modules", modules.n);
    else
        st = read_module(info, &turns, file, within);
    info->has_frame = modules.n;
    if (st)
        info->has_frame = turns ? -1 : 0;
    if (st)
        snprintf(info->frame_problem, sizeof info->frame_problem, "%.159s", hcy_last_error()->text);
    H5Gclose(group);
}
