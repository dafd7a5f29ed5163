/* h5_detector.c - what HDF5 files say of a detector: pyFAI's detector files, NXdetector groups of measurements.
 *
 * Frames have the first group of class NXdetector of their own entry, the file's first group that they are in; only
 * where that has none, those of the rest of the file count, if one entry has them.  One of pyFAI's making goes before
 * all others there, and the newest of these, as in pyFAI.  Lengths have a unit as their attribute, or the one that is
 * usual for them.
 */
#include "h5_detector.h"
#include "h5_driver.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include "h5_visit.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Finding the group --- */

enum { MOST_PATH = 512, TIME = 20 }; /* 2026-01-31T12:00:00, without the zone, which pyFAI passes over */

struct found {
    char within[MOST_PATH]; /* what is looked through; "": the file */
    char path[MOST_PATH];   /* the group */
    char also[MOST_PATH];   /* one of another entry, of which nothing says that it counts less */
    char start[TIME], now[TIME]; /* when the group's entry began, and that which is looked through */
    int is_pyfai;
};

static int same_entry(const char *a, const char *b)
{
    size_t n = strcspn(a, "/");
    return n == strcspn(b, "/") && !strncmp(a, b, n);
}

static int look_for_detector(void *data, hid_t group, const char *name)
{
    struct found *found = data;
    char class[32], path[MOST_PATH];
    int is_top = !strcmp(name, "."), parted = *found->within && !is_top;
    if (group < 0 || H5Iget_type(group) != H5I_GROUP ||
        snprintf(path, sizeof path, "%s%s%s", found->within, parted ? "/" : "",
                 is_top && *found->within ? "" : name) >= MOST_PATH)
        return 0;
    if (!strchr(path, '/'))
        hcy__h5_text_of(found->now, sizeof found->now, group, "start_time");
    if (!hcy__h5_get_text(class, sizeof class, group, "NX_class") || strcmp(class, "NXdetector"))
        return 0;
    /* Made to be read as a geometry, such a detector goes before what a beamline wrote. */
    int is_pyfai = H5Lexists(group, "pixel_corners", H5P_DEFAULT) > 0 || H5Lexists(group, "API_VERSION", H5P_DEFAULT) > 0;
    if (!*found->path || is_pyfai > found->is_pyfai || (is_pyfai && strcmp(found->now, found->start) > 0)) {
        memcpy(found->path, path, sizeof path);
        memcpy(found->start, found->now, sizeof found->now);
        found->is_pyfai = is_pyfai;
        *found->also = 0;
    } else if (!found->is_pyfai && !*found->also && !same_entry(path, found->path)) {
        memcpy(found->also, path, sizeof path);
    }
    return 0;
}

/* Looks at the group of these n characters, and, if that is wanted, at all below it. */
static int look_through(struct found *found, hid_t file, const char *group, size_t n, int below, const char *name)
{
    snprintf(found->within, sizeof found->within, "%.*s", (int)n, group);
    hid_t at = H5Gopen2(file, n ? found->within : "/", H5P_DEFAULT);
    if (at < 0)
        return 0;
    int st = look_for_detector(found, at, ".");
    if (!st && below && !*found->path)
        st = hcy__h5_visit(at, look_for_detector, found, name);
    H5Gclose(at);
    /* A detector in what could be read counts; that there is none is not known of a damaged file. */
    return st == HCY_ECORRUPT && *found->path ? 0 : st;
}

int hcy__h5_detector_find(char path[512], int *is_pyfai, hid_t file, const char *dataset, const char *name)
{
    struct found found = { .is_pyfai = 0 };
    dataset += strspn(dataset, "/");
    const char *last = strrchr(dataset, '/');
    const size_t group = last ? (size_t)(last - dataset) : 0, entry = group ? strcspn(dataset, "/") : 0;
    int st = 0;
    /* The group that the frames stand in may be the detector itself; EIGER's stand in /entry/data, apart from it. */
    if (group && group < MOST_PATH)
        st = look_through(&found, file, dataset, group, 0, name);
    if (!st && entry && entry < MOST_PATH && !*found.path)
        st = look_through(&found, file, dataset, entry, 1, name);
    if (!st && !*found.path)
        st = look_through(&found, file, "", 0, 1, name);
    if (!st && *found.also)
        st = hcy_fail(HCY_EINVAL, "%s has detectors of several entries, /%.200s and /%.200s: name a dataset of the one that is meant",
                      name, found.path, found.also);
    snprintf(path, 512, "%s", st ? "" : found.path);
    *is_pyfai = found.is_pyfai;
    return st;
}

/* --- Reading from it --- */

int hcy__h5_has(hid_t at, const char *path)
{
    char part[512];
    for (const char *end = path; *end;) {
        end += 1 + strcspn(end + 1, "/");
        if ((size_t)(end - path) >= sizeof part)
            return 0;
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        /* Group by group, as H5Lexists() asks for the last link of a path alone. */
        if (strcmp(part, ".") && H5Lexists(at, part, H5P_DEFAULT) <= 0)
            return 0;
    }
    return 1;
}

struct unit {
    const char *name;
    double size;
};
static const struct unit lengths[] = { { "m", 1 },           { "cm", 1e-2 },         { "mm", 1e-3 },
                                       { "um", 1e-6 },       { "\u00b5m", 1e-6 },    { "\u03bcm", 1e-6 },
                                       { "micron", 1e-6 },   { "microns", 1e-6 },    { "nm", 1e-9 },
                                       { "pm", 1e-12 },      { "A", 1e-10 },         { "\u00c5", 1e-10 },
                                       { "\u212b", 1e-10 },  { "angstrom", 1e-10 },  { "angstroms", 1e-10 },
                                       { "Angstrom", 1e-10 }, { "Angstroms", 1e-10 } };
static const struct unit parts[] = { { "", 1 },         { "centi", 1e-2 }, { "milli", 1e-3 },
                                     { "micro", 1e-6 }, { "nano", 1e-9 },  { "pico", 1e-12 } };

/* "meter" and the like, behind a word for a part of it. */
static int is_metre(const char *name)
{
    return (!strncmp(name, "meter", 5) || !strncmp(name, "metre", 5)) && (!name[5] || !strcmp(name + 5, "s"));
}

double hcy__h5_metres(const char *unit)
{
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (!strcmp(unit, lengths[i].name))
            return lengths[i].size;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strncmp(unit, parts[i].name, strlen(parts[i].name)) && is_metre(unit + strlen(parts[i].name)))
            return parts[i].size;
    return 0;
}

/* n numbers, and the unit that is said of them, or ""; -1: they are not there. */
static int read_numbers_in(double *x, char unit[32], hsize_t n, hid_t at, const char *path)
{
    hid_t data = H5Lexists(at, path, H5P_DEFAULT) > 0 ? H5Dopen2(at, path, H5P_DEFAULT) : -1;
    if (data < 0)
        return -1;
    hid_t space = H5Dget_space(data);
    herr_t done = (hsize_t)H5Sget_simple_extent_npoints(space) != n
                      ? -1
                      : hcy__h5_read_whole(data, H5T_NATIVE_DOUBLE, x);
    hcy__h5_get_text(unit, 32, data, "units");
    H5Sclose(space);
    H5Dclose(data);
    return done < 0 ? -1 : 0;
}

static int read_numbers(double *x, hsize_t n, hid_t at, const char *path)
{
    char unit[32];
    return read_numbers_in(x, unit, n, at, path);
}

/* A number in a unit that is not known is none.  Who looks for it hears why; the axes' words go before. */
static int refuse_unit(hcy_detector_info *info, const char *path, const char *unit)
{
    if (!*info->frame_problem)
        snprintf(info->frame_problem, sizeof info->frame_problem, "%.80s is in '%s', which is not understood", path, unit);
    return -1;
}

/* n lengths, in metres; `metres` is the usual unit, where none is said. */
static int read_lengths(double *x, hcy_detector_info *info, hsize_t n, hid_t at, const char *path, double metres)
{
    char unit[32];
    if (read_numbers_in(x, unit, n, at, path))
        return -1;
    if (*unit)
        metres = hcy__h5_metres(unit);
    for (hsize_t i = 0; i < n; i++)
        x[i] *= metres;
    return metres > 0 ? 0 : refuse_unit(info, path, unit);
}

/* A number of pixels, which may be a length. */
static int read_pixels(double *x, hcy_detector_info *info, double size, hid_t at, const char *path)
{
    static const char *const pixels[] = { "", "pixel", "pixels", "px" };
    char unit[32];
    if (read_numbers_in(x, unit, 1, at, path))
        return -1;
    for (size_t i = 0; i < sizeof pixels / sizeof pixels[0]; i++)
        if (!strcmp(unit, pixels[i]))
            return 0;
    double metres = size > 0 ? hcy__h5_metres(unit) : 0;
    *x *= metres > 0 ? metres / size : 0;
    return metres > 0 ? 0 : refuse_unit(info, path, unit);
}

/* An array whose first two dimensions are those of the detector, as `type`; NULL if it is not there. */
static int read_array(void **array, hcy_detector_info *info, hid_t group, const char *name, int rank, hid_t type)
{
    hsize_t dims[4] = { 0, 0, 4, 3 };
    size_t bytes;
    int st = 0;
    hid_t data = H5Lexists(group, name, H5P_DEFAULT) > 0 ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (data < 0)
        return 0;
    hid_t space = H5Dget_space(data);
    /* The shape is proved before memory is asked for: the last two dimensions stay 4 and 3 where there are
     * only two. */
    if (H5Sget_simple_extent_ndims(space) != rank || H5Sget_simple_extent_dims(space, dims, NULL) < 0 ||
        dims[2] != 4 || dims[3] != 3 || !dims[0] || !dims[1] || dims[0] > UINT32_MAX || dims[1] > UINT32_MAX ||
        (info->height && (dims[0] != info->height || dims[1] != info->width)))
        st = hcy_fail(HCY_EFORMAT, "the detector's %s has not the shape of its pixels", name);
    else if (hcy_size_mul(&bytes, dims[0], dims[1]) ||
             hcy_size_mul(&bytes, bytes, H5Tget_size(type) * (rank == 4 ? 12 : 1)) || !(*array = malloc(bytes)))
        st = hcy_fail(HCY_ENOMEM, "no memory for the detector's %s", name);
    else if (hcy__h5_read_whole(data, type, *array) < 0)
        st = hcy__h5_fail(HCY_EIO, "the detector's %s cannot be read", name);
    H5Sclose(space);
    H5Dclose(data);
    /* The first array that is there gives the shape, which all others must have. */
    info->height = (uint32_t)dims[0];
    info->width = (uint32_t)dims[1];
    return st;
}

/* Every pixel that is not 0 is masked: read as bytes, -1 would be 0. */
static int read_mask(hcy_detector_info *info, hid_t group)
{
    float *mask = NULL;
    int st = read_array((void **)&mask, info, group, "mask", 2, H5T_NATIVE_FLOAT);
    const size_t n = st || !mask ? 0 : (size_t)info->height * info->width;
    if (n && !(info->mask = malloc(n)))
        st = hcy_fail(HCY_ENOMEM, "no memory for the detector's mask");
    for (size_t i = 0; !st && i < n; i++)
        info->mask[i] = mask[i] != 0;
    free(mask);
    return st;
}

/* What only pyFAI's files have. */
static int read_pyfai_arrays(hcy_detector_info *info, hid_t group)
{
    double flat = 0, shape[2];
    if (!read_numbers(shape, 2, group, "shape") && shape[0] >= 1 && shape[1] >= 1 && shape[0] <= UINT32_MAX &&
        shape[1] <= UINT32_MAX) {
        info->height = (uint32_t)shape[0];
        info->width = (uint32_t)shape[1];
    }
    int st = read_array((void **)&info->corners, info, group, "pixel_corners", 4, H5T_NATIVE_FLOAT);
    if (!st)
        st = read_mask(info, group);
    if (!st)
        st = read_array((void **)&info->flat, info, group, "flatfield", 2, H5T_NATIVE_FLOAT);
    if (!st)
        st = read_array((void **)&info->dark, info, group, "darkcurrent", 2, H5T_NATIVE_FLOAT);
    /* pyFAI ignores the corners' heights of detectors that say they are flat. */
    if (!st && info->corners && !read_numbers(&flat, 1, group, "IS_FLAT") && flat)
        for (size_t i = 0; i < (size_t)4 * info->height * info->width; i++)
            info->corners[3 * i] = 0;
    return st;
}

static void read_sizes(hcy_detector_info *info, hid_t group)
{
    double pixel[2], orientation;
    /* pyFAI's files have one list, NeXus two numbers. */
    if (!read_lengths(pixel, info, 2, group, "pixel_size", 1)) {
        info->pixel1 = pixel[0];
        info->pixel2 = pixel[1];
    } else if (!read_lengths(pixel, info, 1, group, "y_pixel_size", 1) &&
               !read_lengths(pixel + 1, info, 1, group, "x_pixel_size", 1)) {
        info->pixel1 = pixel[0];
        info->pixel2 = pixel[1];
    }
    if (!read_numbers(&orientation, 1, group, "orientation") && fabs(orientation) <= INT16_MAX)
        info->orientation = (int)orientation;
    info->has_dummy = !read_numbers(&info->dummy, 1, group, "dummy");
    if (info->has_dummy && read_numbers(&info->delta_dummy, 1, group, "delta_dummy"))
        info->delta_dummy = 0;
}

static void read_beam(hcy_detector_info *info, hid_t file, hid_t group, const char *path)
{
    static const char *const wavelengths[] = { "instrument/beam/incident_wavelength", "instrument/beam/wavelength",
                                               "instrument/monochromator/wavelength", "sample/beam/incident_wavelength",
                                               "instrument/incident_wavelength" };
    static const char *const distances[] = { "distance", "detector_distance" };
    char name[600];
    const char *entry = strchr(path, '/');
    int found = -1;
    /* detector_distance is DECTRIS's name. */
    for (size_t i = 0; found && i < 2; i++)
        found = read_lengths(&info->distance, info, 1, group, distances[i], 1);
    info->has_beam = !found && !read_pixels(&info->beam_x, info, info->pixel2, group, "beam_center_x") &&
                     !read_pixels(&info->beam_y, info, info->pixel1, group, "beam_center_y");
    /* Beamlines put the wavelength in many places; the most specific comes first. */
    for (size_t i = 0; entry && i < sizeof wavelengths / sizeof wavelengths[0]; i++) {
        snprintf(name, sizeof name, "%.*s/%s", (int)(entry - path), path, wavelengths[i]);
        if (H5Oexists_by_name(file, name, H5P_DEFAULT) > 0 &&
            !read_lengths(&info->wavelength, info, 1, file, name, 1e-10))
            break;
    }
    if (read_numbers(&info->saturation, 1, group, "saturation_value") || !(info->saturation > 0))
        info->saturation = 0;
    info->has_underload = !read_numbers(&info->underload, 1, group, "underload_value") && isfinite(info->underload);
}

int hcy__h5_text_of(char *text, size_t size, hid_t group, const char *name)
{
    char *variable = NULL, fixed[512] = "";
    *text = 0;
    hid_t data = H5Lexists(group, name, H5P_DEFAULT) > 0 ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (data < 0)
        return -1;
    hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    /* HDF5 reads text of variable length into memory of its own, and text of fixed length into ours. */
    int is_variable = H5Tis_variable_str(type) > 0, st = -1;
    if (H5Sget_simple_extent_npoints(space) == 1 && H5Tget_class(type) == H5T_STRING &&
        (is_variable || H5Tget_size(type) < sizeof fixed) &&
        hcy__h5_read_whole(data, type, is_variable ? (void *)&variable : fixed) >= 0) {
        snprintf(text, size, "%s", is_variable ? (variable ? variable : "") : fixed);
        st = 0;
    }
    if (variable)
        H5free_memory(variable);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(data);
    return st;
}

/* Appends a text, if it is there. */
static void add_text(char *text, size_t size, hid_t group, const char *name)
{
    char more[128];
    if (hcy__h5_text_of(more, sizeof more, group, name))
        return;
    strncat(text, *text ? " " : "", size - strlen(text) - 1);
    strncat(text, more, size - strlen(text) - 1);
}

static int read_detector_group(hcy_detector_info *info, hid_t file, const char *dataset, const char *path)
{
    char found[MOST_PATH];
    int is_pyfai, st = hcy__h5_detector_find(found, &is_pyfai, file, dataset, path);
    hid_t group = *found ? H5Gopen2(file, found, H5P_DEFAULT) : -1;
    if (group < 0)
        return st < 0 ? st : hcy_fail(HCY_ENOENT, "%s: there is no detector in it, no group of class NXdetector", path);
    st = 0;
    /* Arrays of these names in a measurement are not of pyFAI's making, and may mean something else. */
    if (is_pyfai)
        st = read_pyfai_arrays(info, group);
    read_sizes(info, group);
    /* Axes may have the pixels' sizes, which a beam centre in metres needs. */
    hcy__h5_axes_read(info, file, found);
    read_beam(info, file, group, found);
    add_text(info->description, sizeof info->description, group, "description");
    add_text(info->description, sizeof info->description, group, "sensor_material");
    H5Gclose(group);
    return st;
}

int hcy__h5_detector_read(hcy_detector_info *info, const char *path, const char *dataset)
{
    const char *words;
    hcy__h5_lock();
    hid_t file = hcy__h5_spy_open(path, &words);
    int st = file < 0 ? hcy_fail_vendor(HCY_EIO, 0, words, "%s cannot be opened as HDF5", path) : 0;
    if (!st && *dataset && !hcy__h5_has(file, dataset))
        st = hcy_fail(HCY_ENOENT, "%s: there is no %s in it", path, dataset);
    if (!st)
        st = read_detector_group(info, file, dataset, path);
    if (file >= 0)
        H5Fclose(file);
    st = hcy__h5_judge(st, path);
    hcy__h5_unlock();
    return st;
}
