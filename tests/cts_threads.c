/* cts_threads.c - conformance: every call from any thread.  Most of its worth is under ThreadSanitizer. */
#include "cts_gate.h"

#include <stdatomic.h>

enum { THREADS = 8, TURNS = 40 };

static hcy_device *dev, *dev2;

/* Runs fn in THREADS threads; the sum of what they return. */
static intptr_t in_threads(void *(*fn)(void *), void *contexts, size_t size)
{
    pthread_t threads[THREADS];
    intptr_t sum = 0;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, fn, (char *)contexts + i * size))
            bail_out("no thread");
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (intptr_t)result;
    }
    return sum;
}

/* A buffer's round: made, written, copied, filled, read, compared. */
static int round_of(hcy_device *d, hcy_queue *queue, uint64_t seed)
{
    size_t size = 64 + seed * 97 % 5000;
    unsigned char *data = cts_bytes(size, seed), *got = calloc(1, size), value = (unsigned char)seed;
    hcy_buffer *a = NULL, *b = NULL, *view = NULL;
    int status = hcy_buffer_create(&a, d, HCY_MEM_DEVICE, size);
    status = cts_first(status, hcy_buffer_create(&b, d, seed % 2 ? HCY_MEM_PINNED : HCY_MEM_DEVICE, size));
    if (!status)
        status = hcy_buffer_sub(&view, b, 16, size - 16);
    status = cts_first(status, hcy_buffer_write(queue, a, 0, data, size));
    status = cts_first(status, hcy_buffer_copy(queue, b, 0, a, 0, size));
    status = cts_first(status, hcy_buffer_fill(queue, view, 0, 16, &value, 1));
    status = cts_first(status, hcy_buffer_read(queue, got, b, 0, size));
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(view);
    status = cts_first(status, hcy_queue_finish(queue));
    memset(data + 16, value, 16);
    int right = !status && !memcmp(data, got, size);
    free(data);
    free(got);
    return right;
}

static void *one_device(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    hcy_queue *queue = cts_queue(dev);
    intptr_t right = 0;
    for (int i = 0; i < TURNS; i++)
        right += round_of(dev, queue, seed + (uint64_t)i);
    hcy_queue_release(queue);
    return (void *)right;
}

static void *two_devices(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    hcy_queue *queues[2] = { cts_queue(dev), cts_queue(dev2) };
    intptr_t right = 0;
    for (int i = 0; i < TURNS; i++)
        right += round_of(i % 2 ? dev2 : dev, queues[i % 2], seed + (uint64_t)i);
    hcy_queue_release(queues[0]);
    hcy_queue_release(queues[1]);
    return (void *)right;
}

static hcy_queue *shared;

static void *one_queue(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    intptr_t right = 0;
    for (int i = 0; i < TURNS; i++)
        right += round_of(dev, shared, seed + (uint64_t)i);
    return (void *)right;
}

/* A pair of queues of two devices, ordered by events. */
static void *events(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    hcy_queue *a = cts_queue(dev), *b = cts_queue(dev2);
    hcy_buffer *x = cts_buffer(dev, 256), *y = cts_buffer(dev2, 256);
    intptr_t right = 0;
    for (int i = 0; i < TURNS; i++) {
        unsigned char value = (unsigned char)(seed + (uint64_t)i), got[256] = { 0 };
        hcy_event *there = NULL, *back = NULL;
        int status = hcy_buffer_fill(a, x, 0, 256, &value, 1);
        status = cts_first(status, hcy_event_record(&there, a));
        status = cts_first(status, hcy_queue_wait(b, there));
        status = cts_first(status, hcy_buffer_copy(b, y, 0, x, 0, 256));
        status = cts_first(status, hcy_event_record(&back, b));
        status = cts_first(status, hcy_queue_wait(a, back));
        status = cts_first(status, hcy_buffer_read(b, got, y, 0, 256));
        status = cts_first(status, hcy_event_wait(back, CTS_PATIENCE));
        status = cts_first(status, hcy_queue_finish(b));
        status = cts_first(status, hcy_queue_finish(a));
        right += !status && got[0] == value && got[255] == value;
        hcy_event_release(there);
        hcy_event_release(back);
    }
    hcy_queue_release(a);
    hcy_queue_release(b);
    hcy_buffer_release(x);
    hcy_buffer_release(y);
    return (void *)right;
}

/* --- Counts --- */

struct objects {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_buffer *buf, *view;
    hcy_event *event;
};

static pthread_barrier_t start;
static atomic_int dones;

static void count_done(void *payload)
{
    (void)payload;
    atomic_fetch_add(&dones, 1);
}

static void *retain_and_release(void *arg)
{
    struct objects *o = arg;
    pthread_barrier_wait(&start); /* side by side, not one after the other */
    for (int i = 0; i < 15000 * TURNS; i++) {
        hcy_device_release(hcy_device_retain(o->dev));
        hcy_queue_release(hcy_queue_retain(o->queue));
        hcy_buffer_release(hcy_buffer_retain(o->buf));
        hcy_buffer_release(hcy_buffer_retain(o->view));
        hcy_event_release(hcy_event_retain(o->event));
    }
    intptr_t early = atomic_load(&dones) != 0;
    pthread_barrier_wait(&start);
    hcy_device_release(o->dev); /* whoever comes last destroys */
    hcy_buffer_release(o->buf);
    hcy_queue_release(o->queue);
    hcy_event_release(o->event);
    hcy_buffer_release(o->view);
    return (void *)early;
}

static void test_counts(void)
{
    struct objects o[THREADS];
    static unsigned char memory[4096] __attribute__((aligned(4096)));
    unsigned char zero = 0;
    o[0].dev = cts_open();
    o[0].queue = cts_queue(o[0].dev);
    bool imports = cts_has(o[0].dev, HCY_CAP_IMPORT_HOST);
    if (!imports)
        o[0].buf = cts_buffer(o[0].dev, 4096);
    else
        st_ok(hcy_buffer_import_host(&o[0].buf, o[0].dev, memory, 4096, count_done, NULL),
              "a buffer that says when it goes");
    st_ok(hcy_buffer_sub(&o[0].view, o[0].buf, 10, 10), "a view");
    st_ok(hcy_buffer_fill(o[0].queue, o[0].buf, 0, 4096, &zero, 1), "a fill in flight");
    st_ok(hcy_event_record(&o[0].event, o[0].queue), "an event");
    for (int i = 1; i < THREADS; i++) {
        o[i] = o[0];
        hcy_device_retain(o[i].dev);
        hcy_queue_retain(o[i].queue);
        hcy_buffer_retain(o[i].buf);
        hcy_buffer_retain(o[i].view);
        hcy_event_retain(o[i].event);
    }
    pthread_barrier_init(&start, NULL, THREADS);
    is_int(in_threads(retain_and_release, o, sizeof o[0]), 0,
           "%d threads count references up and down, none goes early", THREADS);
    pthread_barrier_destroy(&start);
    for (int i = 0; imports && i < 200 && !atomic_load(&dones); i++)
        cts_sleep_ms(5); /* the fill may hold the last one */
    is_int(atomic_load(&dones), imports, "and the last one away");
}

/* --- Opening, listing, kernels --- */

static void *open_and_close(void *arg)
{
    intptr_t right = 0;
    (void)arg;
    for (int i = 0; i < TURNS / 4; i++) {
        hcy_device *d = NULL;
        hcy_device_info *list = NULL;
        size_t n = 0;
        int status = hcy_device_open(&d, cts_spec);
        status = cts_first(status, hcy_device_list(&list, &n));
        if (!status) {
            hcy_queue *queue = cts_queue(d);
            status = !round_of(d, queue, (uint64_t)i);
            hcy_queue_release(queue);
        }
        right += !status;
        hcy_device_release(d);
        hcy_list_free(list);
    }
    return (void *)right;
}

static void *launches(void *arg)
{
    struct cts_work work;
    intptr_t right = 0;
    hcy_queue *queue = cts_queue(dev);
    (void)arg;
    for (int i = 0; i < TURNS / 4; i++) {
        int status = cts_work_make(&work, dev);
        for (int k = 0; k < 4; k++)
            status = cts_first(status, cts_work_launch(&work, queue));
        cts_work_free(&work);
        status = cts_first(status, hcy_queue_finish(queue));
        right += !status;
    }
    hcy_queue_release(queue);
    return (void *)right;
}

/* --- Words of failures belong to the thread --- */

static void *own_error(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    char name[32];
    intptr_t right = 0;
    for (int i = 0; i < TURNS; i++) {
        hcy_device *d = NULL;
        snprintf(name, sizeof name, "nosuch%llu", (unsigned long long)seed);
        int status = hcy_device_open(&d, name);
        right += status == HCY_ENODEV && hcy_last_error()->status == status &&
                 strstr(hcy_last_error()->text, name);
    }
    return (void *)right;
}

static struct cts_gate *gate;
static hcy_event *common;

static void *wait_common(void *arg)
{
    (void)arg;
    int status = hcy_event_wait(common, CTS_MS);
    return (void *)(intptr_t)((status == HCY_ETIMEOUT || !status) && !hcy_event_wait(common, CTS_PATIENCE));
}

static void *open_gate(void *arg)
{
    cts_sleep_ms(20);
    cts_gate_open(gate);
    return arg;
}

static void test_common_event(void)
{
    hcy_queue *queue = cts_queue(dev);
    uint64_t seeds[THREADS] = { 0 };
    pthread_t opener;
    gate = cts_gate_new();
    cts_gate_hold(gate, queue);
    st_ok(hcy_event_record(&common, queue), "an event behind a gate");
    if (pthread_create(&opener, NULL, open_gate, NULL))
        bail_out("no thread");
    is_int(in_threads(wait_common, seeds, sizeof seeds[0]), THREADS, "%d threads wait for one event",
           THREADS);
    pthread_join(opener, NULL);
    cts_gate_free(gate);
    hcy_event_release(common);
    hcy_queue_release(queue);
}

int main(int argc, char **argv)
{
    uint64_t seeds[THREADS];
    struct cts_work work;
    cts_begin(argc, argv);
    dev = cts_open();
    dev2 = cts_open_spec(cts_spec2);
    shared = cts_queue(dev);
    for (uint64_t i = 0; i < THREADS; i++)
        seeds[i] = i * 1000 + 1;
    is_int(in_threads(one_device, seeds, sizeof seeds[0]), THREADS * TURNS, "%d threads, a queue each",
           THREADS);
    is_int(in_threads(two_devices, seeds, sizeof seeds[0]), THREADS * TURNS, "%d threads, two devices each",
           THREADS);
    is_int(in_threads(one_queue, seeds, sizeof seeds[0]), THREADS * TURNS, "%d threads, one queue", THREADS);
    is_int(in_threads(events, seeds, sizeof seeds[0]), THREADS * TURNS,
           "%d threads, events between two devices", THREADS);
    is_int(in_threads(open_and_close, seeds, sizeof seeds[0]), THREADS * (TURNS / 4),
           "%d threads open, list, use and close", THREADS);
    is_int(in_threads(own_error, seeds, sizeof seeds[0]), THREADS * TURNS,
           "%d threads fail, each with its own words", THREADS);
    if (cts_work_make(&work, dev) == HCY_EUNSUPPORTED)
        skip(1, "%s", hcy_last_error()->text);
    else
        is_int(in_threads(launches, seeds, sizeof seeds[0]), THREADS * (TURNS / 4), "%d threads launch",
               THREADS);
    cts_work_free(&work);
    test_counts();
    test_common_event();
    hcy_queue_release(shared);
    hcy_device_release(dev);
    hcy_device_release(dev2);
    return done_testing();
}
