/* halcyon/host_array.h - whole arrays of real or complex numbers in files: NumPy's, HDF5, BART's, ISMRMRD's, NIfTI.
 *
 * For data that is no stack of images: coordinates, coefficients, tables, what magnetic resonance has.  Any thread.
 */
#ifndef HALCYON_HOST_ARRAY_H
#define HALCYON_HOST_ARRAY_H

#include <halcyon/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCY_HOST_ARRAY_MAX_RANK 8

/* An array in C order.  Begin with HCY_HOST_ARRAY_INIT. */
typedef struct hcy_host_array {
    size_t size;       /* sizeof(hcy_host_array) */
    int is_complex;    /* real and imaginary part side by side */
    unsigned bytes;    /* of a real number: 4 or 8 */
    int rank;          /* 0: a number */
    uint64_t shape[HCY_HOST_ARRAY_MAX_RANK];
    void *data;        /* malloced */
    double cells[3];   /* written: how large its cells are in mm, along the last axis first; 0: it is not said */
    const double *places; /* written, [n_places][5][3]: where images are in a patient, x to the left, y to the back and
                             z to the head: the middle cell (n / 2 of each axis) in mm, unit vectors along the last
                             axis, the one in front of it and the next, and the table in mm; the caller's */
    size_t n_places;      /* 1, or as many as .mrd has images; 0: it is not said */
    const uint32_t *counters; /* written, [n_counters][10]: what .mrd's images are counted by: average, slice, contrast,
                                 phase, repetition, set, acquisition_time_stamp, physiology_time_stamp (3); the
                                 caller's */
    size_t n_counters;        /* 1, or as many as there are images; 0: it is not said */
} hcy_host_array;
#define HCY_HOST_ARRAY_INIT { sizeof(hcy_host_array), 0, 8, 0, { 0 }, NULL, { 0 }, NULL, 0, NULL, 0 }

/* `path` is FILE.npy or .npz, FILE.h5:DATASET (FILE.h5: its dataset /data), FILE.cfl with FILE.hdr beside it (BART:
 * complex floats), or a list of ISMRMRD's acquisitions, FILE.h5:/dataset/data or FILE.mrd: its samples, complex floats
 * [channels][acquisitions][samples], and with /traj behind that name its coordinates,
 * [acquisitions][samples][dimensions] (or a series of images, FILE.mrd:SERIES; without acquisitions image_0); without
 * what is no sample of the image (noise, calibration alone, navigators ...) or is to be discarded.  Behind that name
 * /counters are what each is counted by, [acquisitions][9], /noise is the noise, /space what the header says of sizes,
 * [2][2][3], /dwell how long samples take, [3], /navigators what EPI's say of each, [acquisitions][2], /places where
 * each is, [acquisitions][5][3], and /stamps when, [acquisitions][4] (halcyon_host_array(3)).
 * The first index of a .cfl is the fastest, so its dimensions are the array's axes in reverse; trailing ones of 1
 * are none.  Complex numbers in HDF5 are compounds of r and i, as h5py has them, or real and imag. Integers become
 * doubles, Fortran order of .npy C order. HCY_ENOENT, HCY_EIO: the file cannot be read; HCY_EFORMAT: its numbers are
 * neither integers nor float or double, real or complex, it is a big-endian NumPy file, acquisitions are not all alike;
 * HCY_ECORRUPT: it ends early, or its parts contradict each other; HCY_EUNSUPPORTED: an HDF5 file, in a build without
 * HDF5, or NIfTI; HCY_ENOMEM. */
HCY_API int hcy_host_array_read(hcy_host_array *array, const char *path) HCY_MUST_USE;
/* Writes these files, .npz with one array that is not compressed; also FILE.nii, FILE.nii:magnitude, :phase, :real or
 * :imaginary, NIfTI-1 of up to 7 axes, the last one first, with cells as the array says, else of length 1, at the first
 * of its places; FILE.mrd, FILE.mrd:SERIES, images of ISMRMRD's ([[[images][channels]][z]][y]][x], in the group
 * /dataset/image_0 or /dataset/SERIES), counted as the array says.  An existing file is replaced; an HDF5 file keeps
 * its other datasets, as it is copied, changed and renamed.  HCY_EINVAL: a suffix that is none of these, axes that the
 * format has not, cells, places or counters that are none, a name in an HDF5 file that something else than an array
 * (.mrd: a series) has; HCY_ERANGE: axes that are too long for it, or counters too large. */
HCY_API int hcy_host_array_write(const hcy_host_array *array, const char *path) HCY_MUST_USE;
HCY_API void hcy_host_array_free(hcy_host_array *array);
/* How many numbers the array has.  HCY_ERANGE: more than can be addressed. */
HCY_API int hcy_host_array_count(size_t *n, const hcy_host_array *array) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
