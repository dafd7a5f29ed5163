/* calibrate_pattern.h - a frame's radial pattern, and how like a calibrant's rings it is. */
#ifndef HCY_CLI_CALIBRATE_PATTERN_H
#define HCY_CLI_CALIBRATE_PATTERN_H

#include "calibrate.h"
#include <math.h>

enum { MOST_BINS = 4096 };
#define STEP 0.002 /* of distances tried, relative */

/* A radial pattern, less what changes slowly, over its noise; bins of one of the frame's pixels. */
struct pattern {
    size_t n;
    double value[MOST_BINS];
    unsigned char known[MOST_BINS];
    double bin; /* how many pixels a bin is wide */
};

/* Bins get the means of roots of counts, by a pixel's radius in the frame. */
struct pattern_sums {
    double sum[MOST_BINS], count[MOST_BINS];
};

/* A pixel, whose radius is in bins; one that is masked is passed over. */
static inline void add_to_pattern(struct pattern_sums *s, double radius, float counts)
{
    if (isnan(counts) || !(radius >= 0 && radius < MOST_BINS))
        return;
    s->sum[(size_t)radius] += copysign(sqrt(fabs(counts)), counts);
    s->count[(size_t)radius]++;
}

/* From sums to the pattern; bins are `bin` pixels wide. */
void finish_pattern(struct pattern *f, struct pattern_sums *s, double bin);
/* How alike the pattern and rings at these angles are at a distance (in bins): the cosine of both less their means. */
double likeness_at(const struct pattern *f, const double *tangents, size_t n, double distance);
/* The tangents of rings that are before the detector. */
size_t list_tangents(double *tangents, const double *spacings, size_t n, double wavelength);

#endif
