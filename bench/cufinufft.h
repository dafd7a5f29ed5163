/* cufinufft.h - cuFINUFFT beside the benchmarks of transforms, in the same process, on the same buffers: its library,
 * libcufinufft.so of its package from PyPI, is what the environment's CUFINUFFT names.  The host's thread alone. */
#ifndef BENCH_CUFINUFFT_H
#define BENCH_CUFINUFFT_H

#include <halcyon/nufft.h>

/* The library, for a device of the backend cuda; NULL without CUFINUFFT.  Exits with a message if it cannot be used.
 * To be given to free(). */
struct cufinufft *cufinufft_open(hcy_device *dev);

struct cufinufft_times {
    double set, run; /* seconds: setting points, a whole transform of all vectors; each the best of three */
    int method;
};
/* What desc's transform is made of: buffers as hcy_nufft_set_point_buffers() and hcy_nufft_submit() take them. */
struct cufinufft_job {
    const hcy_nufft_desc *desc;
    int64_t m;
    hcy_buffer *points[3], *strengths, *coefficients;
};
/* By one of its methods, 0 for the library's choice; by the fastest of them. */
struct cufinufft_times cufinufft_time(const struct cufinufft *lib, const struct cufinufft_job *job, int method);
struct cufinufft_times cufinufft_best(const struct cufinufft *lib, const struct cufinufft_job *job);

#endif
