/* compare_limits.c - what a device could do at best: bytes a second to it, and in its memory. */
#include "compare.h"
#include "timer.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, COPIES = 4, THREADS = 256 };
#define SMALL ((size_t)32 << 20)
#define LARGE ((size_t)256 << 20) /* beyond the caches of GPUs */

/* --- The link --- */

static int time_writes(double *best, hcy_queue *queue, hcy_buffer *to, const void *from, size_t size)
{
    int status = 0;
    for (int i = 0; !status && i < ROUNDS; i++) {
        double start = timer_now();
        /* Several copies for one wait, as the pipeline has several in flight: a wait for each would be timed with
         * it. */
        for (int c = 0; !status && c < COPIES; c++)
            status = hcy_buffer_write(queue, to, 0, from, size);
        if (!status)
            status = hcy_queue_finish(queue);
        *best = timer_best(*best, start);
    }
    return status;
}

/* Pinned memory where the device has some, as the pipeline's slots. */
static int measure_link(double *gb_per_s, hcy_device *device, hcy_queue *queue, hcy_buffer *to, size_t size)
{
    hcy_buffer *pinned = NULL;
    void *from = NULL;
    double best = INFINITY;
    if (!hcy_buffer_create(&pinned, device, HCY_MEM_PINNED, size))
        from = hcy_buffer_host(pinned);
    void *plain = from ? NULL : malloc(size);
    from = from ? from : plain;
    int status = from ? 0 : hcy_fail(HCY_ENOMEM, "%zu bytes to copy", size);
    /* Pages that were never written are all one page of zeros, which no frame is. */
    if (!status)
        memset(from, 1, size);
    if (!status)
        status = time_writes(&best, queue, to, from, size);
    *gb_per_s = 1e-9 * (double)size * COPIES / best;
    free(plain);
    hcy_buffer_release(pinned);
    return status;
}

/* --- The memory --- */

/* A byte that is copied is read once and written once. */
static int measure_memory(double *gb_per_s, hcy_queue *queue, hcy_buffer *a, hcy_buffer *b, size_t size)
{
    double best = INFINITY;
    int status = 0;
    for (int i = 0; !status && i < ROUNDS; i++) {
        double start = timer_now();
        for (int c = 0; !status && c < COPIES; c++)
            status = hcy_buffer_copy(queue, b, 0, a, 0, size);
        if (!status)
            status = hcy_queue_finish(queue);
        best = timer_best(best, start);
    }
    *gb_per_s = 2e-9 * (double)size * COPIES / best;
    return status;
}

struct share {
    char *to, *from;
    size_t size;
};

static void *copy_share(void *payload)
{
    const struct share *s = payload;
    for (int c = 0; c < COPIES; c++)
        memcpy(s->to, s->from, s->size);
    return NULL;
}

/* Host memory by as many threads as the device has: one thread alone does not fill a processor's channels. */
static int measure_host_memory(double *gb_per_s, size_t threads)
{
    struct share shares[THREADS];
    pthread_t started[THREADS];
    threads = threads < 1 ? 1 : threads > THREADS ? THREADS : threads;
    size_t part = LARGE / threads;
    char *memory = malloc(2 * part * threads);
    double best = INFINITY;
    if (!memory)
        return hcy_fail(HCY_ENOMEM, "%zu bytes to copy", 2 * part * threads);
    /* Pages that were never written are no memory yet, and the first round would pay for them. */
    memset(memory, 1, 2 * part * threads);
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = 0;
        double start = timer_now();
        for (; n < threads; n++) {
            shares[n] = (struct share){ memory + 2 * n * part, memory + (2 * n + 1) * part, part };
            if (pthread_create(&started[n], NULL, copy_share, &shares[n]))
                break;
        }
        /* Where a thread is missing the copies are fewer, and that round must not count. */
        int whole = n == threads;
        while (n)
            pthread_join(started[--n], NULL);
        if (whole)
            best = timer_best(best, start);
    }
    *gb_per_s = 2e-9 * (double)(part * threads) * COPIES / best;
    free(memory);
    return 0;
}

int compare_limits(json_t *limits, hcy_device *device)
{
    const hcy_device_info *info = hcy_device_get_info(device);
    hcy_buffer *a = NULL, *b = NULL;
    hcy_queue *queue = NULL;
    double link = NAN, memory = NAN;
    /* A device in the host's memory is sent no frames, so it has no link to measure. */
    if (info->caps & HCY_CAP_HOST_MEMORY) {
        int status = measure_host_memory(&memory, info->units);
        value_put(limits, "host_to_device_gb_per_s", NAN);
        value_put(limits, "memory_gb_per_s", memory);
        return status;
    }
    /* Two large buffers must fit into the device's memory, and only GPUs have caches that call for them. */
    size_t size = info->memory > ((uint64_t)4 << 30) && info->kind == HCY_KIND_GPU ? LARGE : SMALL;
    int status = hcy_queue_create(&queue, device);
    if (!status)
        status = hcy_buffer_create(&a, device, HCY_MEM_DEVICE, size);
    if (!status)
        status = hcy_buffer_create(&b, device, HCY_MEM_DEVICE, size);
    if (!status)
        status = measure_link(&link, device, queue, a, size);
    if (!status)
        status = measure_memory(&memory, queue, a, b, size);
    value_put(limits, "host_to_device_gb_per_s", link);
    value_put(limits, "memory_gb_per_s", memory);
    hcy_queue_release(queue);
    hcy_buffer_release(b);
    hcy_buffer_release(a);
    return status;
}
