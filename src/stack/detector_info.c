/* detector_info.c - a detector that a file describes, put into a geometry.  The reading is h5_detector.c's and
 * spline.c's. */
#include "isolate.h"
#include "sized.h"
#include "spline.h"
#include <azint/detector.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_hdf5_detector(hcy_detector_info *info, const char *path, const char *dataset)
{
#ifdef HAVE_HDF5
    hcy_isolation limits;
    return hcy__isolates(&limits, NULL, path) ? hcy__isolated_detector(info, &limits, path, dataset)
                                              : hcy__h5_detector_read(info, path, dataset);
#else
    (void)info, (void)dataset;
    return hcy_fail(HCY_EUNSUPPORTED, "%s: this build of Halcyon has no HDF5", path);
#endif
}

/* A distortion file has no datasets. */
static int read_detector(hcy_detector_info *info, const char *path, const char *dataset)
{
    int fd, st = hcy__open_file(&fd, path);
    if (st)
        return st;
    if (hcy__is_spline(fd, path))
        st = *dataset ? hcy_fail(HCY_EINVAL, "%s is not an HDF5 file: it has no dataset '%s'", path, dataset)
                      : hcy__spline_read(info, fd, path);
    else
        st = read_hdf5_detector(info, path, dataset);
    close(fd);
    return st;
}

int hcy_detector_read(hcy_detector_info **info, const char *path)
{
    if (!info || !path)
        return hcy_fail(HCY_EINVAL, "hcy_detector_read: info and path must not be NULL");
    *info = NULL;
    char *dataset, *file = hcy__split_path(&dataset, path);
    hcy_detector_info *made = calloc(1, sizeof *made);
    int st = file && made ? read_detector(made, file, dataset ? dataset : "")
                          : hcy_fail(HCY_ENOMEM, "no memory to read the detector in %s", path);
    free(file);
    if (st)
        hcy_detector_info_free(made);
    else
        *info = made;
    return st;
}

void hcy_detector_info_free(hcy_detector_info *info)
{
    if (!info)
        return;
    free(info->corners);
    free(info->areas);
    free(info->mask);
    free(info->flat);
    free(info->dark);
    free(info);
}

void hcy_detector_to_poni(hcy_poni *poni, const hcy_detector_info *info)
{
    if (!poni || !info)
        return;
    const hcy_detector *nexus;
    /* A distortion is one of a detector that has a name of its own, which some masks depend on. */
    if (!info->is_spline && !hcy_detector_find(&nexus, "NexusDetector"))
        poni->detector = nexus;
    else if (!poni->detector || !hcy__detector_may_have_spline(poni->detector))
        poni->detector = NULL;
    poni->detector_is_read = 1;
    poni->corners = info->corners;
    poni->areas = info->areas;
    poni->corners_orientation = info->orientation;
    /* What the file does not say stays as the geometry has it. */
    if (info->height) {
        poni->height = info->height;
        poni->width = info->width;
    }
    if (info->pixel1 > 0 && info->pixel2 > 0) {
        poni->pixel1 = info->pixel1;
        poni->pixel2 = info->pixel2;
    }
    if (!poni->orientation)
        poni->orientation = info->orientation;
}

static int is_near(double a, double b)
{
    return fabs(a - b) < 0.01 * b;
}

/* The one of the known detectors that has these pixels; silicon's, unless it says CdTe. */
static const hcy_detector *known_detector(const hcy_detector_info *info, uint32_t height, uint32_t width)
{
    size_t n;
    const hcy_detector *list = hcy_detector_list(&n);
    int cdte = strstr(info->description, "CdTe") != NULL;
    /* Silicon and CdTe versions have the same pixels and different masked columns.  Without modules nothing is to be
     * told from a shape, which several makers may have. */
    for (size_t i = 0; i < n; i++)
        if (list[i].module[0] && !list[i].layout && list[i].height == height && list[i].width == width &&
            is_near(info->pixel1, list[i].pixel1) && is_near(info->pixel2, list[i].pixel2) &&
            cdte == (strstr(list[i].name, "CdTe") != NULL))
            return &list[i];
    return NULL;
}

static double dot_product(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* From NeXus's axes to those of PONI files: up, to the right, along the beam. */
static void turned(double to[3], const double from[3], double sign)
{
    to[0] = sign * from[1];
    to[1] = -sign * from[0];
    to[2] = sign * from[2];
}

enum { BY_AXES = 0, BY_BEAM = 1 };

/* Axes and beam centre may both be there.  Those of a detector that is not turned are used if they agree: some writers
 * leave them as they never were.  tan1, tan2: of the beam, seen from the normal. */
static int agrees(const hcy_detector_info *info, const hcy_poni *poni, uint32_t height, double tan1, double tan2)
{
    double y = (poni->poni1 + poni->dist * tan1) / info->pixel1, x = (poni->poni2 + poni->dist * tan2) / info->pixel2;
    if (poni->orientation == 2)
        y = height - y;
    int same = fabs(y - info->beam_y) <= 2 && fabs(x - info->beam_x) <= 2,
        is_turned = !(fabs(tan1) < 1e-9 && fabs(tan2) < 1e-9);
    if (!info->has_beam || (same && (is_turned || is_near(poni->dist, info->distance))))
        return BY_AXES;
    if (!is_turned)
        return BY_BEAM;
    return hcy_fail(HCY_EUNSUPPORTED, "by its axes the beam is at pixel (%g, %g), by its beam_center at (%g, %g)", x, y,
                    info->beam_x, info->beam_y);
}

/* A frame as distance, PONI and rotations.  The detector's axes 1 and 2 and the normal, which points away from the
 * sample, are the columns of the rotation; where rows run so that it would not, axis 1 runs against them
 * (orientation 2, the corner then being at its far end).  BY_AXES, BY_BEAM or a status. */
static int from_frame(hcy_poni *poni, const hcy_detector_info *info, uint32_t height)
{
    double corner[3], a[3], b[3], c[3];
    turned(corner, info->corner, 1);
    turned(a, info->slow, 1);
    turned(b, info->fast, 1);
    /* The cross product of the axes is the normal; which way it points tells how the rows run. */
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    int mirrored = dot_product(c, corner) < 0;
    /* The comparisons are written so that NaN fails them. */
    if (!(fabs(dot_product(a, b)) < 1e-6) || !(fabs(dot_product(c, corner)) > 0))
        return hcy_fail(HCY_EFORMAT, "the detector's axes are not at right angles, or the beam lies in its plane");
    for (int i = 0; mirrored && i < 3; i++) {
        a[i] = -a[i];
        c[i] = -c[i];
    }
    poni->orientation = mirrored ? 2 : 3;
    /* Seen along its own axes the corner is the distance away, and minus the PONI in the plane. */
    poni->dist = dot_product(c, corner);
    poni->poni1 = (mirrored ? height * info->pixel1 : 0) - dot_product(a, corner);
    poni->poni2 = -dot_product(b, corner);
    /* The rotation's columns are known, so that its three angles can be read off it. */
    poni->rot1 = atan2(-b[2], c[2]);
    poni->rot2 = atan2(a[2], hypot(a[0], a[1]));
    poni->rot3 = atan2(a[1], a[0]);
    return agrees(info, poni, height, a[2] / c[2], b[2] / c[2]);
}

int hcy_detector_geometry(hcy_poni *out, const hcy_detector_info *info, uint32_t height, uint32_t width)
{
    if (!out || !info)
        return hcy_fail(HCY_EINVAL, "hcy_detector_geometry: no geometry, or no detector");
    static const hcy_poni init = HCY_PONI_INIT;
    hcy_poni poni = init;
    /* A chain of axes that was found and could not be followed may turn the detector: no guess is made. */
    if (info->has_frame < 0)
        return hcy_fail(HCY_EUNSUPPORTED, "where the detector is cannot be used: %s", info->frame_problem);
    const char *missing = NULL;
    if (!info->has_frame && !(info->distance > 0))
        missing = "distance";
    if (!info->has_frame && !info->has_beam)
        missing = "distance and beam centre";
    if (!(info->pixel1 > 0) || !(info->pixel2 > 0))
        missing = "pixel size";
    if (missing)
        return hcy_fail(HCY_ENOENT, "the file does not say the detector's %s%s%s", missing,
                        *info->frame_problem ? ": " : "", info->frame_problem);
    int way = info->has_frame ? from_frame(&poni, info, height) : BY_BEAM;
    if (way < 0)
        return way;
    /* Without a usable frame the detector stands upright across the beam, at its distance. */
    if (way == BY_BEAM) {
        poni = init;
        poni.dist = info->distance;
        poni.poni1 = info->beam_y * info->pixel1;
        poni.poni2 = info->beam_x * info->pixel2;
    }
    /* NULL is all right here: the geometry then has pixels and shape of its own. */
    poni.detector = known_detector(info, height, width);
    poni.pixel1 = info->pixel1;
    poni.pixel2 = info->pixel2;
    poni.height = height;
    poni.width = width;
    poni.wavelength = info->wavelength > 0 ? info->wavelength : 0;
    return hcy__sized_write(out, &poni, sizeof poni, "hcy_poni");
}
