/* halcyon/trajectory.h - trajectories as they were, not as they were asked for: gradients that come late, or that the
 * scanner has filtered.
 *
 * Points are readouts (spokes, interleaves), one behind the other, of as many samples each, equally far apart in time:
 * points[axis][readouts * samples] in radians, as <halcyon/nufft.h> has them, in host memory, but without a jump of a
 * period along a readout.  Each axis of the image is one of the scanner's gradients.
 *
 * Beyond its ends a readout goes on as its first and last step do; one that begins at 0 on all axes was at rest there
 * before.
 */
#ifndef HALCYON_TRAJECTORY_H
#define HALCYON_TRAJECTORY_H

#include <halcyon/fft.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_trajectory_desc {
    size_t size;      /* sizeof(hcy_trajectory_desc) */
    int precision;    /* HCY_F64 or HCY_F32: of points and samples */
    int dim;          /* 1 to 3 */
    int64_t readouts, samples; /* above 0; samples: of a readout.  INIT leaves them to be set */
    double dwell;     /* seconds from a sample to the next; 1: times are in samples, frequencies in cycles a sample */
} hcy_trajectory_desc;
#define HCY_TRAJECTORY_DESC_INIT { sizeof(hcy_trajectory_desc), HCY_F64, 2, 0, 0, 1 }

/* Gradients that come late: what sample i was taken at is points at its time less delays[axis], in seconds (above 0:
 * gradients come after the samples that they are meant for), between samples by cubics.  actual[axis] may be
 * points[axis].  Any thread.  HCY_EINVAL: NULL, what desc says, a delay that is no number or longer than a readout, a
 * coordinate that is no number or infinite. */
HCY_API int hcy_trajectory_delay(void *const *actual, const hcy_trajectory_desc *desc, const void *const *points,
                                 const double *delays) HCY_MUST_USE;

/* A gradient impulse response function, as it is measured: its Fourier transform H, of gradients g(t) whose parts
 * exp(2 pi i f t) the scanner makes H(f) exp(2 pi i f t) of.  H of a delay d is exp(-2 pi i f d). */
typedef struct hcy_girf {
    size_t size;            /* sizeof(hcy_girf) */
    int rows;               /* 1: all axes have the same; else desc's dim, one for each axis */
    int64_t n;              /* frequencies first + k step, k below n; above 0 */
    double first, step;     /* Hz, as the dwell is in seconds; step above 0.  -(n / 2) step is usual for `first` */
    const double *response; /* complex [rows][n], the parts side by side */
} hcy_girf;
#define HCY_GIRF_INIT { sizeof(hcy_girf), 1, 0, 0, 0, NULL }

/* Gradients (the steps from sample to sample) are filtered with a response by the device's Fourier transforms in
 * double, and added up again.  H is interpolated by cubics between its frequencies, and is that of the nearest beyond
 * them (so step is to be far below the inverse of what the response lasts); as gradients are real, the mean of H(f)
 * and of conj(H(-f)) counts where both were measured, else the one that was.  Gradients are followed 1 / step before
 * and behind readouts, at most two readouts' length or 1024 samples.  actual[axis] may be points[axis].  Waits.
 * Any thread.  HCY_EINVAL: NULL, what desc and girf say, a number that is none or infinite; HCY_ERANGE: readouts that
 * cannot be addressed; HCY_EUNSUPPORTED: a device without FFT; HCY_ENOMEM. */
HCY_API int hcy_trajectory_filter(void *const *actual, hcy_device *dev, const hcy_trajectory_desc *desc,
                                  const void *const *points, const hcy_girf *girf) HCY_MUST_USE;

/* The delays of gradients, delays[axis] in seconds as hcy_trajectory_delay() takes them, from what was received:
 * samples, complex [coils][readouts * samples] in host memory.  They are those with which the samples of the middle of
 * k-space, where readouts cross, agree best with images of each coil, of a few pixels (least squares, by Gauss and
 * Newton's steps).  modes[axis]: pixels of the image whose field of view the points' radians mean.  An axis along which
 * no readout has a gradient in the middle has a delay of 0.  Of many readouts some are looked at, and the 8 coils that
 * receive most.  On the host, seconds at most.  Any thread.  HCY_EINVAL: NULL, what desc says, too few samples in the
 * middle, or numbers there that are 0 or none; HCY_ENOMEM. */
HCY_API int hcy_trajectory_find_delays(double *delays, const hcy_trajectory_desc *desc, const int64_t *modes,
                                       const void *const *points, const void *samples, int64_t coils) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
