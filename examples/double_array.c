/* double_array.c - an array to a device, twice its numbers, and back: the first program of most books on GPUs.
 *
 * usage: double_array [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 */
#include <halcyon/eval.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const int64_t shape[2] = { 4, 4 };
    float a[16], twice[16];
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *x = NULL;
    int wrong = 0, status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    for (int i = 0; i < 16; i++)
        a[i] = 0.1f * (float)(i - 5);
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_from_host(&x, dev, HCY_FLOAT32, 2, shape, a);
    if (!status)
        status = HCY_EVAL(queue, "x *= 2", hcy_op_array("x", x));
    /* This waits for what the queue was given. */
    if (!status)
        status = hcy_array_to_host(twice, queue, x);
    if (status)
        fprintf(stderr, "double_array: %s\n", hcy_last_error()->text);
    for (int i = 0; !status && i < 16; i++) {
        wrong += twice[i] != a[i] + a[i];
        printf("%5.1f%s", twice[i], i % 4 == 3 ? "\n" : "");
    }
    hcy_array_release(x);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || wrong;
}
