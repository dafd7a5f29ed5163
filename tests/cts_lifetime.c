/* cts_lifetime.c - conformance: objects released in any order, with work in flight, and from unlikely places.
 *
 * Most of its worth is under AddressSanitizer: a use after release, or memory that nobody released. */
#include "cts_gate.h"

#include <fcntl.h>
#include <stdatomic.h>

static const char *const names[] = { "device", "queue", "buffer", "view", "event", "kernel", "FFT" };
enum { DEVICE, QUEUE, BUFFER, VIEW, EVENT, KERNEL, FFT, N_OBJECTS };

struct objects {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_buffer *buf, *view;
    hcy_event *event;
    struct cts_work work; /* its kernel and buffers go together */
    hcy_fft *fft;
};

static void make(struct objects *o)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    unsigned char value = 7;
    memset(o, 0, sizeof *o);
    desc.n[0] = 32;
    o->dev = cts_open();
    o->queue = cts_queue(o->dev);
    o->buf = cts_buffer(o->dev, 1024);
    if (hcy_buffer_sub(&o->view, o->buf, 100, 100) || hcy_buffer_fill(o->queue, o->view, 0, 100, &value, 1) ||
        hcy_event_record(&o->event, o->queue))
        bail_out("%s", hcy_last_error()->text);
    if (cts_work_make(&o->work, o->dev) == 0 && cts_work_launch(&o->work, o->queue))
        bail_out("%s", hcy_last_error()->text);
    if (cts_has(o->dev, HCY_CAP_FFT) && hcy_fft_create(&o->fft, o->dev, &desc))
        bail_out("%s", hcy_last_error()->text);
}

static void drop(struct objects *o, int which)
{
    switch (which) {
    case DEVICE:
        hcy_device_release(o->dev);
        break;
    case QUEUE:
        hcy_queue_release(o->queue);
        break;
    case BUFFER:
        hcy_buffer_release(o->buf);
        break;
    case VIEW:
        hcy_buffer_release(o->view);
        break;
    case EVENT:
        hcy_event_release(o->event);
        break;
    case KERNEL:
        cts_work_free(&o->work);
        break;
    case FFT:
        hcy_fft_release(o->fft);
        break;
    }
}

/* Each object first, each object last, and random orders. */
static void test_orders(void)
{
    enum { ORDERS = 60 };
    uint64_t seed = 1;
    for (int turn = 0; turn < ORDERS; turn++) {
        struct objects o;
        int order[N_OBJECTS];
        for (int i = 0; i < N_OBJECTS; i++)
            order[i] = i;
        for (int i = N_OBJECTS - 1; i > 0; i--) {
            int k = (int)(cts_random(&seed) % (unsigned)(i + 1)), t = order[i];
            order[i] = order[k];
            order[k] = t;
        }
        if (turn < 2 * N_OBJECTS) { /* object turn / 2 to the front, or to the end */
            int at = 0, end = turn % 2 ? N_OBJECTS - 1 : 0;
            while (order[at] != turn / 2)
                at++;
            order[at] = order[end];
            order[end] = turn / 2;
        }
        make(&o);
        if (turn % 3 == 0 && hcy_queue_finish(o.queue))
            bail_out("%s", hcy_last_error()->text);
        for (int i = 0; i < N_OBJECTS; i++)
            drop(&o, order[i]);
    }
    ok(true, "%d orders of release, %s to %s first and last", ORDERS, names[0], names[N_OBJECTS - 1]);
}

/* --- Released with work in flight --- */

static void test_in_flight(void)
{
    enum { SIZE = 1 << 16 };
    hcy_device *dev = cts_open();
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *a = cts_buffer(dev, SIZE), *b = cts_buffer(dev, SIZE), *view = NULL;
    unsigned char *data = cts_bytes(SIZE, 9), *got = calloc(1, SIZE);
    struct cts_gate *gate = cts_gate_new();
    hcy_event *event = NULL;
    uint64_t at;
    int done = 1;
    bool held = cts_gate_hold(gate, queue);
    st_ok(hcy_buffer_write(queue, a, 0, data, SIZE), "a write");
    st_ok(hcy_buffer_copy(queue, b, 0, a, 0, SIZE), "a copy");
    st_ok(hcy_buffer_sub(&view, b, SIZE / 2, SIZE / 2), "a view");
    st_ok(hcy_buffer_read(queue, got, view, 0, SIZE / 2), "a read");
    st_ok(hcy_event_record(&event, queue), "an event");
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(view);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    if (held) {
        st_ok(hcy_event_query(&done, event), "an event outlives its queue and its device's last handle");
        is_int(done, 0, "what it waits for has not run");
        ok(!cts_gate_expired(gate), "the release of a queue does not wait for it");
    } else
        skip(3, CTS_GATE_SKIP);
    cts_gate_open(gate);
    st_ok(hcy_event_wait(event, CTS_PATIENCE), "it still runs");
    ok(!memcmp(got, data + SIZE / 2, SIZE / 2), "with buffers that only its commands keep");
    st_ok(hcy_event_time(&at, event), "its event has a time");
    hcy_event_release(event);
    cts_gate_free(gate);
    free(data);
    free(got);
}

/* An event that another queue waits for, released by everyone else. */
static void test_event_in_flight(void)
{
    hcy_device *dev = cts_open(), *other = cts_open_spec(cts_spec2);
    hcy_queue *first = cts_queue(dev), *second = cts_queue(other);
    struct cts_gate *gate = cts_gate_new();
    hcy_event *event = NULL;
    cts_gate_hold(gate, first);
    st_ok(hcy_event_record(&event, first), "an event behind a gate");
    bool held = !cts_gate_expired(gate);
    if (held) {
        st_ok(hcy_queue_wait(second, event), "a queue of another device waits for it");
        hcy_event_release(event);
        hcy_queue_release(first);
        hcy_device_release(dev);
        cts_gate_open(gate);
        st_ok(hcy_queue_finish(second), "and is served, though everyone else has released it");
    } else {
        skip(2, CTS_GATE_SKIP);
        hcy_event_release(event);
        hcy_queue_release(first);
        hcy_device_release(dev);
    }
    cts_gate_free(gate);
    hcy_queue_release(second);
    hcy_device_release(other);
}

/* The gate's own device: released while its function runs. */
static void test_kernel_in_flight(void)
{
    struct cts_gate *gate = cts_gate_new();
    hcy_event *event = hcy_event_retain(gate->event);
    hcy_kernel_retain(gate->kernel);
    hcy_kernel_release(gate->kernel);
    hcy_device_release(gate->dev);
    gate->dev = NULL;
    hcy_kernel_release(gate->kernel);
    gate->kernel = NULL;
    cts_gate_open(gate);
    st_ok(hcy_event_wait(event, CTS_PATIENCE),
          "a kernel runs on after its handle and its device's were released");
    hcy_event_release(event);
    cts_gate_free(gate);
}

/* --- Imports --- */

static atomic_int dones;
static void count_done(void *payload)
{
    (void)payload;
    atomic_fetch_add(&dones, 1);
}

static void test_import_in_flight(void)
{
    enum { SIZE = 4096 };
    hcy_device *dev = cts_open();
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *mine = NULL, *other = cts_buffer(dev, SIZE);
    unsigned char *memory = NULL, got[SIZE];
    struct cts_gate *gate = cts_gate_new();
    bool held = cts_gate_hold(gate, queue);
    if (posix_memalign((void **)&memory, SIZE, SIZE))
        bail_out("out of memory");
    memset(memory, 3, SIZE);
    if (!cts_has(dev, HCY_CAP_IMPORT_HOST))
        skip(1, "%s imports no host memory", cts_spec);
    else {
        st_ok(hcy_buffer_import_host(&mine, dev, memory, SIZE, count_done, NULL), "memory is imported");
        st_ok(hcy_buffer_copy(queue, other, 0, mine, 0, SIZE), "and a copy of it is under way");
        hcy_buffer_release(mine);
        if (held)
            is_int(atomic_load(&dones), 0, "it is not done with, though its handle is gone");
        cts_gate_open(gate);
        st_ok(hcy_queue_finish(queue), "the copy runs");
        st_ok(hcy_buffer_read_now(got, other, 0, SIZE), "its result is read");
        ok(got[0] == 3 && got[SIZE - 1] == 3, "and right");
        for (int i = 0; i < 200 && !atomic_load(&dones); i++)
            cts_sleep_ms(5);
        is_int(atomic_load(&dones), 1, "then it is done with, once");
    }
    cts_gate_free(gate);
    hcy_buffer_release(other);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    free(memory);
}

/* --- Many, one after the other --- */

static size_t count_files(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Waits until no more threads than `before` are left. */
static size_t threads_left(size_t before)
{
    size_t after = 0;
    for (int i = 0; i < 400 && (!after || after > before); i++) {
        cts_sleep_ms(5);
        after = cts_of_process("Threads:");
    }
    return after;
}

/* One device, its objects by the thousand. */
static void test_many(void)
{
    enum { TURNS = 2500, FIRST = 500 };
    hcy_device *dev = cts_open();
    hcy_pool_stats stats = { 0 };
    size_t threads = 0, memory = 0, files = 0, failed = 0;
    const char *sanitizer = getenv("HCY_SANITIZER");
    unsigned char value = 1;
    for (int i = 0; i < TURNS; i++) {
        hcy_queue *queue = cts_queue(dev);
        hcy_buffer *buf = cts_buffer(dev, 1000), *view = NULL;
        hcy_event *event = NULL;
        failed += hcy_buffer_sub(&view, buf, 0, 100) || hcy_buffer_fill(queue, view, 0, 100, &value, 1) ||
                  hcy_event_record(&event, queue);
        hcy_buffer_release(buf);
        hcy_buffer_release(view);
        failed += i % 8 == 0 && hcy_queue_finish(queue);
        hcy_queue_release(queue);
        failed += i % 8 == 1 && hcy_event_wait(event, CTS_PATIENCE);
        hcy_event_release(event);
        if (i == FIRST) {
            cts_sleep_ms(50);
            threads = cts_of_process("Threads:");
            memory = cts_of_process("VmRSS:");
            files = count_files();
        }
    }
    is_int((intmax_t)failed, 0, "%d objects are made, used and released", 4 * TURNS);
    size_t after = threads_left(threads);
    ok(after <= threads, "no thread is left of them (%zu, %zu)", threads, after);
    is_int((intmax_t)count_files(), (intmax_t)files, "no file");
    st_ok(hcy_device_pool_stats(&stats, dev), "the pool's numbers");
    is_int((intmax_t)stats.in_use, 0, "no memory of the device's");
    if (sanitizer && *sanitizer)
        skip(1, "sanitizers keep what was freed");
    else
        ok(cts_of_process("VmRSS:") <= memory + (8 << 10), "none of the host's (%zu KiB before)", memory);
    hcy_device_release(dev);
}

static void test_churn(void)
{
    enum { TURNS = 100 };
    size_t before = 0, after, files = 0;
    for (int i = 0; i < TURNS; i++) {
        struct objects o;
        if (i == 1) { /* whoever starts a thread or opens a file for good with the first one has done so */
            cts_sleep_ms(50);
            before = cts_of_process("Threads:");
            files = count_files();
        }
        make(&o);
        for (int k = 0; k < N_OBJECTS; k++)
            drop(&o, k);
    }
    after = threads_left(before);
    size_t open = count_files(); /* a driver's own come and go: a leak is one a device */
    ok(open < files + TURNS / 10, "%d devices opened and closed leave no file open (%zu, %zu)", TURNS, files, open);
    ok(after <= before, "%d devices opened and closed leave no thread behind (%zu, %zu)", TURNS, before,
       after);
}

/* --- The end of the process, with work in flight and nothing released --- */

static int leave(void *context)
{
    static unsigned char zero;
    static struct objects o;
    (void)context;
    make(&o);
    hcy_buffer *large = cts_buffer(o.dev, (size_t)64 << 20);
    for (int i = 0; i < 20; i++)
        if (hcy_buffer_fill(o.queue, large, 0, (size_t)64 << 20, &zero, 1))
            return 1;
    hcy_buffer_release(large);
    exit(0);
}

static void test_exit(void)
{
    is_int(cts_child(leave, NULL), 0, "a process may end with work in flight and nothing released");
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    test_exit();
    test_churn();
    test_many();
    test_orders();
    test_in_flight();
    test_event_in_flight();
    test_kernel_in_flight();
    test_import_in_flight();
    return done_testing();
}
