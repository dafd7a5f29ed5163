/* coil_maps_priv.h - what both methods for coils' maps share. */
#ifndef HCY_COIL_MAPS_PRIV_H
#define HCY_COIL_MAPS_PRIV_H

#include "operator_priv.h"

#include <halcyon/coil_maps.h>
#include <halcyon/fft.h>

struct hcy__calibration {
    hcy_queue *queue;
    hcy_array *maps, *images;
    const hcy_coil_maps_options *opts;
    int dim;
    bool is_double;
    int64_t coils, sizes[3], frequencies[3]; /* how many of these are looked at */
};

/* The Fourier transform, in place, of the last axes of a contiguous array; submitted. */
int hcy__calibration_transform(const struct hcy__calibration *c, hcy_array *a, int direction);
/* maps = those of the low frequencies. */
int hcy__low_maps(const struct hcy__calibration *c, double crop);
/* espirit.c */
int hcy__espirit_maps(const struct hcy__calibration *c);

#endif
