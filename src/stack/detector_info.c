/* detector_info.c - a detector that a file describes, put into a geometry.  The reading is h5_detector.c's. */
#include "stack_priv.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hcy_detector_read(hcy_detector_info **info, const char *path)
{
    int fd, st;
    if (!info || !path)
        return hcy_fail(HCY_EINVAL, "hcy_detector_read: info and path must not be NULL");
    *info = NULL;
    st = hcy__open_file(&fd, path);
    if (st)
        return st;
    close(fd);
    hcy_detector_info *made = calloc(1, sizeof *made);
    if (!made)
        return hcy_fail(HCY_ENOMEM, "no memory to read the detector in %s", path);
#ifdef HAVE_HDF5
    st = hcy__h5_detector_read(made, path);
#else
    st = hcy_fail(HCY_EUNSUPPORTED, "%s: this build of Halcyon has no HDF5", path);
#endif
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
    free(info->mask);
    free(info->flat);
    free(info->dark);
    free(info);
}

void hcy_detector_to_poni(hcy_poni *poni, const hcy_detector_info *info)
{
    const hcy_detector *nexus;
    if (!hcy_detector_find(&nexus, "NexusDetector"))
        poni->detector = nexus;
    poni->detector_is_read = 1;
    poni->corners = info->corners;
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
    for (size_t i = 0; i < n; i++)
        if (list[i].height == height && list[i].width == width && is_near(info->pixel1, list[i].pixel1) &&
            is_near(info->pixel2, list[i].pixel2) && cdte == (strstr(list[i].name, "CdTe") != NULL))
            return &list[i];
    return NULL;
}

int hcy_detector_geometry(hcy_poni *poni, const hcy_detector_info *info, uint32_t height, uint32_t width)
{
    static const hcy_poni init = HCY_PONI_INIT;
    const char *missing = !(info->pixel1 > 0) || !(info->pixel2 > 0) ? "pixel size"
                          : !info->has_beam                          ? "distance and beam centre"
                          : !(info->distance > 0)                    ? "distance"
                                                                     : NULL;
    if (missing)
        return hcy_fail(HCY_ENOENT, "the file does not say the detector's %s", missing);
    *poni = init;
    poni->detector = known_detector(info, height, width);
    poni->pixel1 = info->pixel1;
    poni->pixel2 = info->pixel2;
    poni->height = height;
    poni->width = width;
    poni->dist = info->distance;
    poni->poni1 = info->beam_y * info->pixel1;
    poni->poni2 = info->beam_x * info->pixel2;
    poni->wavelength = info->wavelength > 0 ? info->wavelength : 0;
    return 0;
}
