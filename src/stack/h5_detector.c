/* h5_detector.c - what HDF5 files say of a detector: pyFAI's detector files, NXdetector groups of measurements.
 *
 * The first group of class NXdetector counts, one with pixel_corners before all others.  Lengths have a unit as their
 * attribute, or the one that is usual for them.
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

struct found {
    char path[512];
    int has_corners;
};

static int look_for_detector(void *data, hid_t group, const char *name)
{
    struct found *found = data;
    char class[32];
    if (group < 0 || H5Iget_type(group) != H5I_GROUP || strlen(name) >= sizeof found->path)
        return 0;
    hcy__h5_get_text(class, sizeof class, group, "NX_class");
    int has_corners = H5Lexists(group, "pixel_corners", H5P_DEFAULT) > 0;
    /* A detector with corners is pyFAI's, made to be read as a geometry: it goes before what a beamline
     * wrote. */
    if (!strcmp(class, "NXdetector") && (!*found->path || has_corners)) {
        snprintf(found->path, sizeof found->path, "%s", name);
        found->has_corners = has_corners;
    }
    return found->has_corners;
}

int hcy__h5_detector_find(char path[512], int *has_corners, hid_t file, const char *name)
{
    struct found found = { "", 0 };
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    int st = root < 0 ? 0 : look_for_detector(&found, root, ".");
    if (!st && root >= 0)
        st = hcy__h5_visit(root, look_for_detector, &found, name);
    /* A detector in what could be read counts; that there is none is not known of a damaged file. */
    if (st == HCY_ECORRUPT && *found.path)
        st = 0;
    if (root >= 0)
        H5Gclose(root);
    snprintf(path, 512, "%s", found.path);
    *has_corners = found.has_corners;
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

static const struct unit {
    const char *name;
    double metres;
} units[] = { { "m", 1 },           { "metre", 1 },     { "meter", 1 },       { "mm", 1e-3 },  { "um", 1e-6 },
              { "micron", 1e-6 },   { "nm", 1e-9 },     { "A", 1e-10 },       { "angstrom", 1e-10 },
              { "angstroms", 1e-10 }, { "Angstrom", 1e-10 }, { "pm", 1e-12 } };

double hcy__h5_metres(const char *unit)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (!strcmp(unit, units[i].name))
            return units[i].metres;
    return 0;
}

/* n numbers, or -1: they are not there. */
static int read_numbers(double *x, hsize_t n, hid_t at, const char *path, double length)
{
    char unit[32];
    hid_t data = H5Lexists(at, path, H5P_DEFAULT) > 0 ? H5Dopen2(at, path, H5P_DEFAULT) : -1;
    if (data < 0)
        return -1;
    hid_t space = H5Dget_space(data);
    herr_t done = (hsize_t)H5Sget_simple_extent_npoints(space) != n
                      ? -1
                      : hcy__h5_read_whole(data, H5T_NATIVE_DOUBLE, x);
    hcy__h5_get_text(unit, sizeof unit, data, "units");
    /* A unit that is said wins over the usual one; one that is not known is taken for the usual. */
    if (length > 0 && hcy__h5_metres(unit) > 0)
        length = hcy__h5_metres(unit);
    for (hsize_t i = 0; length > 0 && done >= 0 && i < n; i++)
        x[i] *= length;
    H5Sclose(space);
    H5Dclose(data);
    return done < 0 ? -1 : 0;
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

/* What only pyFAI's files have. */
static int read_pyfai_arrays(hcy_detector_info *info, hid_t group)
{
    double flat = 0, shape[2];
    if (!read_numbers(shape, 2, group, "shape", 0) && shape[0] >= 1 && shape[1] >= 1) {
        info->height = (uint32_t)shape[0];
        info->width = (uint32_t)shape[1];
    }
    int st = read_array((void **)&info->corners, info, group, "pixel_corners", 4, H5T_NATIVE_FLOAT);
    if (!st)
        st = read_array((void **)&info->mask, info, group, "mask", 2, H5T_NATIVE_UINT8);
    if (!st)
        st = read_array((void **)&info->flat, info, group, "flatfield", 2, H5T_NATIVE_FLOAT);
    if (!st)
        st = read_array((void **)&info->dark, info, group, "darkcurrent", 2, H5T_NATIVE_FLOAT);
    /* pyFAI ignores the corners' heights of detectors that say they are flat. */
    if (!st && info->corners && !read_numbers(&flat, 1, group, "IS_FLAT", 0) && flat)
        for (size_t i = 0; i < (size_t)4 * info->height * info->width; i++)
            info->corners[3 * i] = 0;
    return st;
}

static void read_sizes(hcy_detector_info *info, hid_t group)
{
    double pixel[2], orientation;
    /* pyFAI's files have one list, NeXus two numbers. */
    if (!read_numbers(pixel, 2, group, "pixel_size", 1)) {
        info->pixel1 = pixel[0];
        info->pixel2 = pixel[1];
    } else if (!read_numbers(pixel, 1, group, "y_pixel_size", 1) &&
               !read_numbers(pixel + 1, 1, group, "x_pixel_size", 1)) {
        info->pixel1 = pixel[0];
        info->pixel2 = pixel[1];
    }
    if (!read_numbers(&orientation, 1, group, "orientation", 0))
        info->orientation = (int)orientation;
    info->has_dummy = !read_numbers(&info->dummy, 1, group, "dummy", 0);
    if (info->has_dummy && read_numbers(&info->delta_dummy, 1, group, "delta_dummy", 0))
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
        found = read_numbers(&info->distance, 1, group, distances[i], 1);
    info->has_beam = !found && !read_numbers(&info->beam_x, 1, group, "beam_center_x", 0) &&
                     !read_numbers(&info->beam_y, 1, group, "beam_center_y", 0);
    /* Beamlines put the wavelength in many places; the most specific comes first. */
    for (size_t i = 0; entry && i < sizeof wavelengths / sizeof wavelengths[0]; i++) {
        snprintf(name, sizeof name, "%.*s/%s", (int)(entry - path), path, wavelengths[i]);
        if (H5Oexists_by_name(file, name, H5P_DEFAULT) > 0 &&
            !read_numbers(&info->wavelength, 1, file, name, 1e-10))
            break;
    }
    if (read_numbers(&info->saturation, 1, group, "saturation_value", 0) || !(info->saturation > 0))
        info->saturation = 0;
    info->has_underload = !read_numbers(&info->underload, 1, group, "underload_value", 0) && isfinite(info->underload);
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

static int read_detector_group(hcy_detector_info *info, hid_t file, const char *path)
{
    struct found found;
    int st = hcy__h5_detector_find(found.path, &found.has_corners, file, path);
    hid_t group = *found.path ? H5Gopen2(file, found.path, H5P_DEFAULT) : -1;
    if (group < 0)
        return st < 0 ? st : hcy_fail(HCY_ENOENT, "%s: there is no detector in it, no group of class NXdetector", path);
    st = 0;
    /* Arrays of these names in a measurement are not of pyFAI's making, and may mean something else. */
    if (found.has_corners || H5Lexists(group, "API_VERSION", H5P_DEFAULT) > 0)
        st = read_pyfai_arrays(info, group);
    read_sizes(info, group);
    read_beam(info, file, group, found.path);
    hcy__h5_axes_read(info, file, found.path);
    add_text(info->description, sizeof info->description, group, "description");
    add_text(info->description, sizeof info->description, group, "sensor_material");
    H5Gclose(group);
    return st;
}

int hcy__h5_detector_read(hcy_detector_info *info, const char *path)
{
    const char *words;
    hcy__h5_lock();
    hid_t file = hcy__h5_spy_open(path, &words);
    int st = file < 0 ? hcy_fail_vendor(HCY_EIO, 0, words, "%s cannot be opened as HDF5", path) : 0;
    if (!st)
        st = read_detector_group(info, file, path);
    if (file >= 0)
        H5Fclose(file);
    st = hcy__h5_judge(st, path);
    hcy__h5_unlock();
    return st;
}
