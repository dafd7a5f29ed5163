/* fft_device.h - bench/fft of a device that is no CPU. */
#ifndef BENCH_FFT_DEVICE_H
#define BENCH_FFT_DEVICE_H

/* Rows of the grids that have at most so many millions of numbers. */
void bench_fft_device(const char *device, double millions);

#endif
