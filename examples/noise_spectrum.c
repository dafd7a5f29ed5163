/* noise_spectrum.c - random numbers and a Fourier transform: a tone below its noise is found in the spectrum.
 *
 * usage: noise_spectrum [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 *
 * Noise is made on the device by counting (Philox 4x32-10): a number belongs to a seed and an index, on every device
 * and for any number of threads.  Nothing comes to the host but where the spectrum is largest.
 */
#include <halcyon/eval.h>
#include <halcyon/fft.h>
#include <stdio.h>

enum { N = 65536, TONE = 4321 };

/* Noise whose parts have deviation 1, and a tone with a two-hundredth of its power. */
static int make_signal(hcy_queue *queue, hcy_array *x)
{
    return HCY_EVAL(queue,
                    "x = complex(normal(2026, index), normal(2026, index, 1)) + 0.1*exp(2j*pi*(tone*index % n) / n)",
                    hcy_op_array("x", x), hcy_op_integer("tone", TONE), hcy_op_integer("n", N));
}

/* In place: an array's memory is a buffer, which the transform takes. */
static int transform(hcy_queue *queue, hcy_device *dev, hcy_array *x)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    hcy_fft *fft = NULL;
    hcy_buffer *work = NULL;
    desc.n[0] = N;
    int status = hcy_array_get_info(&info, x);
    if (!status)
        status = hcy_fft_create(&fft, dev, &desc);
    if (!status && hcy_fft_workspace(fft))
        status = hcy_buffer_create(&work, dev, HCY_MEM_DEVICE, hcy_fft_workspace(fft));
    if (!status)
        status = hcy_fft_execute(queue, info.buffer, fft, HCY_FFT_FORWARD, info.buffer, work);
    /* What was submitted keeps what it needs. */
    hcy_buffer_release(work);
    hcy_fft_release(fft);
    return status;
}

int main(int argc, char **argv)
{
    const int64_t n = N;
    int64_t place = -1;
    double ratio = 0;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *x = NULL, *where = NULL, *height = NULL;
    int status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_empty(&x, dev, HCY_COMPLEX128, 1, &n);
    if (!status)
        status = hcy_array_empty(&where, dev, HCY_INT64, 0, NULL);
    if (!status)
        status = hcy_array_empty(&height, dev, HCY_FLOAT64, 0, NULL);
    if (!status)
        status = make_signal(queue, x);
    if (!status)
        status = transform(queue, dev, x);
    if (!status)
        status = HCY_EVAL(queue, "where = argmax(abs2(x)); height = max(abs(x)) / sqrt((sum(abs2(x)) - max(abs2(x))) / (n - 1))",
                          hcy_op_array("where", where), hcy_op_array("height", height), hcy_op_array("x", x),
                          hcy_op_integer("n", N));
    if (!status)
        status = hcy_array_to_host(&place, queue, where);
    if (!status)
        status = hcy_array_to_host(&ratio, queue, height);
    if (status)
        fprintf(stderr, "noise_spectrum: %s\n", hcy_last_error()->text);
    else
        printf("the largest of %d lines is %lld, %.1f times the others' root mean square\n", N, (long long)place, ratio);
    hcy_array_release(x);
    hcy_array_release(where);
    hcy_array_release(height);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || place != TONE;
}
