/* array_scatter.c - an array dealt out over all devices, 0.9*x a thousand times on each part, and gathered.
 *
 * usage: array_scatter [DEVICES]        a list, cpu@threads=1,cpu unless it is given; all
 *
 * One thread is enough: a call puts work into a device's queue and returns, so that all devices compute at once.
 */
#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 50000, TIMES = 1000, MOST_DEVICES = 16 };

struct part {
    hcy_queue *queue;
    hcy_array *x;
    int64_t first, n;
};

/* By way of the first device, which copies from the others directly where it can. */
static int gather(float *to, hcy_queue *first, const struct part *p)
{
    hcy_array *copy = NULL;
    int status = hcy_array_to_device(&copy, first, p->x, p->queue);
    if (!status)
        status = hcy_array_to_host(to, first, copy);
    hcy_array_release(copy);
    return status;
}

int main(int argc, char **argv)
{
    static float x[N], gathered[N];
    struct part parts[MOST_DEVICES] = { { NULL, NULL, 0, 0 } };
    hcy_device **devs = NULL;
    size_t n = 0, wrong = 0;
    int status = hcy_device_open_list(&devs, &n, argc > 1 ? argv[1] : "cpu@threads=1,cpu");
    if (status || n > MOST_DEVICES) {
        fprintf(stderr, "array_scatter: %s\n", status ? hcy_last_error()->text : "more than 16 devices");
        return 1;
    }
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    for (size_t k = 0; !status && k < n; k++) {
        struct part *p = &parts[k];
        p->first = N * (int64_t)k / (int64_t)n;
        p->n = N * (int64_t)(k + 1) / (int64_t)n - p->first;
        status = hcy_queue_create(&p->queue, devs[k]);
        if (!status)
            status = hcy_array_from_host(&p->x, devs[k], HCY_FLOAT32, 1, &p->n, x + p->first);
    }
    for (int i = 0; i < TIMES; i++)
        for (size_t k = 0; !status && k < n; k++)
            status = HCY_EVAL(parts[k].queue, "x = 0.9*x", hcy_op_array("x", parts[k].x));
    for (size_t k = 0; !status && k < n; k++)
        status = gather(gathered + parts[k].first, parts[0].queue, &parts[k]);
    if (status)
        fprintf(stderr, "array_scatter: %s\n", hcy_last_error()->text);
    /* Each product is rounded once, on every device and here: not nearly right, but the same. */
    for (int i = 0; !status && i < N; i++) {
        float want = x[i];
        for (int k = 0; k < TIMES; k++)
            want *= 0.9f;
        wrong += gathered[i] != want;
    }
    if (!status)
        printf("%d numbers on %zu devices, %zu wrong\n", N, n, wrong);
    for (size_t k = 0; k < n; k++) {
        hcy_array_release(parts[k].x);
        hcy_queue_release(parts[k].queue);
        hcy_device_release(devs[k]);
    }
    hcy_list_free(devs);
    return status || wrong;
}
