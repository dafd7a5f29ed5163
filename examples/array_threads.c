/* array_threads.c - several devices from one process, a thread each: the same computation, and the same bits.
 *
 * usage: array_threads [DEVICES]        a list, cpu@threads=1,cpu unless it is given
 *
 * There is no current device: what a thread computes with is its own queue's.  x is scaled to the norm 1, again and
 * again disturbed; no number comes to the host before the end.
 */
#include <halcyon/eval.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100000, ROUNDS = 20, MOST_DEVICES = 16 };

struct worker {
    pthread_t thread;
    hcy_device *dev;
    int status;
    char error[512];
    float x[N];
};

static void *work(void *context)
{
    struct worker *w = context;
    const int64_t n = N;
    hcy_queue *queue = NULL;
    hcy_array *x = NULL;
    w->status = hcy_queue_create(&queue, w->dev);
    if (!w->status)
        w->status = hcy_array_from_host(&x, w->dev, HCY_FLOAT32, 1, &n, w->x);
    for (int i = 0; !w->status && i < ROUNDS; i++)
        w->status = HCY_EVAL(queue, "x = x / norm(x) + 0.001 * x * x", hcy_op_array("x", x));
    if (!w->status)
        w->status = hcy_array_to_host(w->x, queue, x);
    /* The words belong to the thread that failed. */
    if (w->status)
        snprintf(w->error, sizeof w->error, "%s", hcy_last_error()->text);
    hcy_array_release(x);
    hcy_queue_release(queue);
    return NULL;
}

int main(int argc, char **argv)
{
    hcy_device **devs = NULL;
    size_t n = 0;
    int failed = hcy_device_open_list(&devs, &n, argc > 1 ? argv[1] : "cpu@threads=1,cpu") != 0;
    struct worker *workers = calloc(n ? n : 1, sizeof *workers);
    if (failed || !workers || n > MOST_DEVICES) {
        fprintf(stderr, "array_threads: %s\n", failed ? hcy_last_error()->text : "too many devices, or no memory");
        return 1;
    }
    for (size_t k = 0; k < n; k++) {
        workers[k].dev = devs[k];
        for (int i = 0; i < N; i++)
            workers[k].x[i] = (float)(i * 7919LL % 10007) / 997;
        if (pthread_create(&workers[k].thread, NULL, work, &workers[k]))
            abort();
    }
    for (size_t k = 0; k < n; k++) {
        struct worker *w = &workers[k];
        pthread_join(w->thread, NULL);
        int same = !w->status && !memcmp(w->x, workers[0].x, sizeof w->x);
        failed += !same;
        printf("%s: %s\n", hcy_device_get_info(w->dev)->name, w->status ? w->error : same ? "same bits" : "OTHER BITS");
        hcy_device_release(w->dev);
    }
    /* A norm of 1 was made last, but for what disturbs it: that something was computed can be seen. */
    failed += !(workers[0].x[1] > 0 && workers[0].x[1] < 1);
    hcy_list_free(devs);
    free(workers);
    return failed != 0;
}
