/* simulate.h - the parts of halcyon simulate: what a detector would see on average, and what it counts. */
#ifndef HCY_CLI_SIMULATE_H
#define HCY_CLI_SIMULATE_H

#include <halcyon/azint.h>
#include <stdint.h>

/* --- The average (simulate_image.c) --- */

enum { SIM_RINGS = 512 };
struct sim_rings {
    size_t n;
    double d[SIM_RINGS];        /* metres, from large to small */
    double strength[SIM_RINGS]; /* of the whole ring, in any unit */
};
/* "CeO2", "LaB6", "Si", or d-spacings in Angstrom, "3.12,2.71".  0, or -1 with the reason in `why`. */
int sim_rings_find(struct sim_rings *rings, const char *name, char *why, size_t size);

/* A detector of `poni`'s shape and pixels is placed, untilted, where the rings fall on it: fills in the rest
 * of poni. */
void sim_place(hcy_poni *poni, const struct sim_rings *rings);
/* mean[height * width]: counts a pixel, `counts` on average; rings, air, polarization, solid angle.  0 or -1:
 * no memory. */
int sim_mean(float *mean, const hcy_poni *poni, const struct sim_rings *rings, double counts);

/* gaps[height * width]: 1 where an EIGER of this shape has no pixel because modules meet there, else 0. */
void sim_eiger_gaps(uint8_t *gaps, uint32_t height, uint32_t width);

/* --- Plain random numbers (simulate_noise.c), for points and for samples --- */

/* From 0 to below 1; the state is any number at first. */
double sim_uniform(uint64_t *state);
/* Uniform from -pi to pi, or normal around 0 with a deviation of `sigma` if that is above 0. */
double sim_coordinate(uint64_t *state, double sigma);

/* Two independent normal numbers of deviation 1, the same for the same seed and number. */
void sim_normals(double normal[2], uint64_t seed, uint64_t number);

/* --- Counting (simulate_noise.c) --- */

/* What each pixel does, prepared once and then only read: any number of threads may draw frames from it. */
struct sim_counter;
enum sim_pixel { SIM_GOOD, SIM_GAP, SIM_HOT, SIM_DEAD }; /* counts; always the top value; the one below; 0 */
struct sim_counter *sim_counter_create(const float *mean, const uint8_t *kinds, size_t n, uint64_t seed);
void sim_counter_destroy(struct sim_counter *counter);
/* frame[n] of 2 or 4 bytes: independent Poisson numbers, the same for the same seed and frame number whoever
 * draws them. */
void sim_draw(void *frame, unsigned elem_size, const struct sim_counter *counter, uint64_t number);

#endif
