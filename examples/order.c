/* order.c - the ten largest of many numbers, and a table in the order of one of its columns: sort, argsort, take, and a
 * histogram.
 *
 * usage: order [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 */
#include <halcyon/eval.h>
#include <stdio.h>

enum { N = 20000, BINS = 16 };

/* Whether places say the order of the masses, first come first of those that are equal. */
static int count_wrong(const float *mass, const int64_t *place, const float *sorted, const int32_t *label,
                       const int64_t *bins)
{
    int64_t by_hand[BINS] = { 0 };
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        float here = mass[place[i]], before = i ? mass[place[i - 1]] : here;
        wrong += before > here || (i && before == here && place[i - 1] > place[i]);
        wrong += sorted[i] != here || label[i] != 2 * place[i];
        by_hand[(int)(mass[i] / 64)]++;
    }
    for (int b = 0; b < BINS; b++)
        wrong += bins[b] != by_hand[b];
    return wrong;
}

int main(int argc, char **argv)
{
    static float mass[N], sorted[N];
    static int32_t labels[N], label[N];
    static int64_t place[N], bins[BINS];
    const int64_t n = N, n_bins = BINS;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *x = NULL, *tags = NULL, *order = NULL, *in_order = NULL, *moved = NULL, *counts = NULL;
    int wrong = 0, status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    for (int i = 0; i < N; i++) {
        mass[i] = (float)(i * 7919 % 1024);
        labels[i] = 2 * i;
    }
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_from_host(&x, dev, HCY_FLOAT32, 1, &n, mass);
    if (!status)
        status = hcy_array_from_host(&tags, dev, HCY_INT32, 1, &n, labels);
    if (!status)
        status = hcy_array_empty(&order, dev, HCY_INT64, 1, &n);
    if (!status)
        status = hcy_array_empty(&in_order, dev, HCY_FLOAT32, 1, &n);
    if (!status)
        status = hcy_array_empty(&moved, dev, HCY_INT32, 1, &n);
    if (!status)
        status = hcy_array_empty(&counts, dev, HCY_INT64, 1, &n_bins);
    /* The places that put the masses in order put the labels in the same order. */
    if (!status)
        status = hcy_array_argsort(queue, order, x, 0);
    if (!status)
        status = hcy_array_take(queue, moved, tags, order, 0);
    if (!status)
        status = hcy_array_sort(queue, in_order, x, 0);
    if (!status)
        status = hcy_array_histogram(queue, counts, x, 0, 1024);
    if (!status)
        status = hcy_array_to_host(place, queue, order);
    if (!status)
        status = hcy_array_to_host(label, queue, moved);
    if (!status)
        status = hcy_array_to_host(sorted, queue, in_order);
    if (!status)
        status = hcy_array_to_host(bins, queue, counts);
    if (status)
        fprintf(stderr, "order: %s\n", hcy_last_error()->text);
    else {
        wrong = count_wrong(mass, place, sorted, label, bins);
        printf("the largest:");
        for (int i = N - 10; i < N; i++)
            printf(" %g", sorted[i]);
        printf("; %d wrong\n", wrong);
    }
    hcy_array_release(x);
    hcy_array_release(tags);
    hcy_array_release(order);
    hcy_array_release(in_order);
    hcy_array_release(moved);
    hcy_array_release(counts);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || wrong;
}
