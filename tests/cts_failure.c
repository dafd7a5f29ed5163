/* cts_failure.c - conformance: sticky failures and their causes, memory that runs out, devices that are lost.
 *
 * Failures come to the device under test by an event of a CPU device whose function fails, and by the faults that
 * every device string can ask for. */
#include "cts_gate.h"

static hcy_device *dev;

/* --- The first failure sticks --- */

static void test_inherited(void)
{
    unsigned char ones[64], twos[64], got[64] = { 0 }, untouched[64] = { 0 };
    hcy_queue *queue = cts_queue(dev), *healthy = cts_queue(dev), *behind = cts_queue(dev);
    hcy_device *other = cts_open_spec(cts_spec2);
    hcy_queue *theirs = cts_queue(other);
    hcy_buffer *buf = cts_buffer(dev, 64);
    hcy_event *before = NULL, *after = NULL, *first = cts_failed_event(-777),
              *second = cts_failed_event(-888), *event = NULL;
    int done = 0;
    uint64_t at = 0;
    memset(ones, 1, 64);
    memset(twos, 2, 64);
    st_ok(hcy_buffer_write(queue, buf, 0, ones, 64), "a write");
    st_ok(hcy_event_record(&before, queue), "an event");
    int status = hcy_queue_wait(queue, first);
    ok(status == 0 || status == HCY_ELAUNCH, "a queue waits for what fails (%s)", hcy_status_name(status));
    ok(hcy_buffer_write(queue, buf, 0, twos, 64) <= 0, "it may take what follows");
    ok(hcy_buffer_read(queue, untouched, buf, 0, 64) <= 0, "whatever that is");
    st_ok(hcy_event_record(&after, queue), "an event behind");
    st_says(hcy_queue_finish(queue), HCY_ELAUNCH, "-777",
            "the queue has failed, for the reason it inherited");
    is_int(hcy_last_error()->vendor_code, -777, "with the code behind it");
    hcy_clear_error();
    st_says(hcy_queue_finish(queue), HCY_ELAUNCH, "-777", "it stays so");
    hcy_clear_error();
    st_says(hcy_queue_status(queue), HCY_ELAUNCH, "-777", "its status too");
    st_ok(hcy_event_wait(before, CTS_PATIENCE), "an event before the failure has completed");
    st_says(hcy_event_wait(after, CTS_PATIENCE), HCY_ELAUNCH, "-777", "one behind it carries it");
    st_says(hcy_event_query(&done, after), HCY_ELAUNCH, "-777", "also when it is asked");
    is_int(done, 1, "and has completed");
    st_ok(hcy_event_time(&at, after), "and has a time");
    st_ok(hcy_buffer_read(healthy, got, buf, 0, 64), "another queue of the device");
    st_ok(hcy_queue_finish(healthy), "goes on");
    ok(!memcmp(got, ones, 64), "what followed the failure was skipped");
    ok(!untouched[0] && !untouched[63], "reads too");
    st_ok(hcy_device_status(dev), "the device is not lost");

    status = hcy_queue_wait(queue, second);
    ok(status == 0 || status == HCY_ELAUNCH, "a second failure (%s)", hcy_status_name(status));
    st_says(hcy_queue_finish(queue), HCY_ELAUNCH, "-777", "does not replace the first");

    ok(hcy_queue_wait(behind, after) <= 0, "a queue behind the failed one");
    st_says(hcy_queue_finish(behind), HCY_ELAUNCH, "-777", "inherits its failure");
    ok(hcy_queue_wait(theirs, after) <= 0, "a queue of another device");
    st_ok(hcy_event_record(&event, theirs), "an event on that one");
    st_says(hcy_queue_finish(theirs), HCY_ELAUNCH, "-777", "inherits it too");
    st_says(hcy_event_wait(event, CTS_PATIENCE), HCY_ELAUNCH, "-777", "and its event");
    st_says(hcy_event_wait(second, CTS_PATIENCE), HCY_ELAUNCH, "-888", "each event keeps its own");
    hcy_event_release(before);
    hcy_event_release(after);
    hcy_event_release(first);
    hcy_event_release(second);
    hcy_event_release(event);
    hcy_queue_release(queue);
    hcy_queue_release(healthy);
    hcy_queue_release(behind);
    hcy_queue_release(theirs);
    hcy_device_release(other);
    hcy_buffer_release(buf);
}

/* A failure that comes while others already wait. */
static void *wait_for(void *event)
{
    static const int failed = 1;
    return hcy_event_wait(event, CTS_PATIENCE) == HCY_ELAUNCH && strstr(hcy_last_error()->text, "-777")
               ? (void *)(uintptr_t)&failed
               : NULL;
}

static void test_waiters(void)
{
    enum { N = 4 };
    hcy_queue *queue = cts_queue(dev);
    struct cts_gate *gate = cts_gate_new();
    hcy_event *first = cts_failed_event(-777), *event = NULL;
    pthread_t threads[N];
    void *right = NULL;
    int n = 0;
    cts_gate_hold(gate, queue);
    int status = hcy_queue_wait(queue, first);
    ok(status == 0 || status == HCY_ELAUNCH, "a queue that is held will fail");
    st_ok(hcy_event_record(&event, queue), "with an event behind");
    for (int i = 0; i < N; i++)
        if (pthread_create(&threads[i], NULL, wait_for, event))
            bail_out("no thread");
    cts_sleep_ms(10);
    cts_gate_open(gate);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], &right);
        n += right != NULL;
    }
    is_int(n, N, "%d waiting threads are woken by the failure, with its words", N);
    cts_gate_free(gate);
    hcy_event_release(first);
    hcy_event_release(event);
    hcy_queue_release(queue);
}

/* --- Failures of its own: devices that are told to fail --- */

static hcy_device *open_with(const char *option)
{
    char text[256];
    hcy_device *special = NULL;
    st_ok(hcy_device_open(&special, cts_with(text, sizeof text, cts_spec, option)), "%s opens", text);
    return special;
}

static void test_failed_launch(void)
{
    struct cts_work work;
    hcy_device *special = open_with("@fail-launch=2");
    if (!special)
        return;
    hcy_queue *queue = cts_queue(special), *other = cts_queue(special);
    int status = cts_work_make(&work, special);
    if (status == HCY_EUNSUPPORTED)
        skip(1, "%s", hcy_last_error()->text);
    else {
        st_ok(cts_work_launch(&work, queue), "the first launch");
        st_ok(hcy_queue_finish(queue), "runs");
        ok(cts_work_launch(&work, queue) <= 0, "the second");
        st_says(hcy_queue_finish(queue), HCY_ELAUNCH, "fail-launch", "fails the queue, and says why");
        hcy_event *event = NULL;
        st_ok(hcy_event_record(&event, queue), "an event behind");
        st_is(hcy_event_wait(event, CTS_PATIENCE), HCY_ELAUNCH, "carries it");
        hcy_event_release(event);
        st_ok(cts_work_launch(&work, other), "the third, elsewhere");
        st_ok(hcy_queue_finish(other), "runs");
        st_ok(hcy_device_status(special), "the device is not lost");
    }
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_queue_release(other);
    hcy_device_release(special);
}

/* --- Memory --- */

static void test_retried_allocation(void)
{
    hcy_buffer *a = NULL, *b = NULL;
    hcy_pool_stats stats;
    hcy_device *special = open_with("@fail-alloc=2");
    if (!special)
        return;
    st_ok(hcy_buffer_create(&a, special, HCY_MEM_DEVICE, 5000), "an allocation");
    hcy_buffer_release(a);
    st_ok(hcy_device_pool_stats(&stats, special), "the pool is asked");
    ok(stats.cached >= 5000, "and has kept it");
    st_ok(hcy_buffer_create(&b, special, HCY_MEM_DEVICE, 50000),
          "the second fails, the pool is trimmed, it is tried again");
    st_ok(hcy_device_pool_stats(&stats, special), "the pool is asked again");
    is_int((intmax_t)stats.cached, 0, "it was trimmed");
    ok(stats.in_use >= 50000, "what is in use is counted");
    hcy_buffer_release(b);
    hcy_device_release(special);
}

static void *open_soon(void *gate)
{
    cts_sleep_ms(50);
    cts_gate_open(gate);
    return NULL;
}

/* All of a device's memory is released, and a command that has not run yet keeps it. */
static void test_memory_on_its_way(hcy_device *special, size_t limit)
{
    hcy_buffer *all = NULL, *again = NULL;
    hcy_queue *queue = cts_queue(special);
    struct cts_gate *gate = cts_gate_new();
    pthread_t thread;
    st_ok(hcy_buffer_create(&all, special, HCY_MEM_DEVICE, limit - 1000), "all memory");
    if (cts_gate_hold(gate, queue)) {
        st_ok(hcy_buffer_fill(queue, all, 0, 64, "", 1), "is used by a command");
        hcy_buffer_release(all);
        pthread_create(&thread, NULL, open_soon, gate);
        st_ok(hcy_buffer_create(&again, special, HCY_MEM_DEVICE, limit - 1000), "for which the next allocation waits");
        pthread_join(thread, NULL);
        ok(!cts_gate_expired(gate), "no longer than it takes");
        hcy_buffer_release(again);
    } else {
        skip(1, CTS_GATE_SKIP);
        cts_gate_open(gate);
        hcy_buffer_release(all);
    }
    st_ok(hcy_queue_finish(queue), "the command ran");
    hcy_queue_release(queue);
    cts_gate_free(gate);
}

static void test_no_memory(void)
{
    enum { LIMIT = 1 << 20, PIECE = 1 << 17 };
    hcy_buffer *bufs[10] = { NULL }, *large = NULL;
    char text[256];
    hcy_device *special = NULL;
    int n = 0, status = hcy_device_open(&special, cts_with(text, sizeof text, cts_spec, "@memory=1048576"));
    if (status == HCY_EINVAL) {
        skip(1, "%s takes no limit: %s", cts_spec, hcy_last_error()->text);
        return;
    }
    st_ok(status, "%s opens", text);
    hcy_queue *queue = cts_queue(special);
    st_is(hcy_buffer_create(&large, special, HCY_MEM_DEVICE, LIMIT + 1), HCY_ENOMEM,
          "more than there is is a status");
    ok(!large, "and no buffer");
    while (n < 10 && !(status = hcy_buffer_create(&bufs[n], special, HCY_MEM_DEVICE, PIECE)))
        n++;
    st_is(status, HCY_ENOMEM, "memory runs out");
    is_int(n, LIMIT / PIECE, "when all of it is taken");
    unsigned char data[16] = { 7 }, got[16] = { 0 };
    st_ok(hcy_buffer_write(queue, bufs[0], 0, data, 16), "what was there before");
    st_ok(hcy_buffer_read(queue, got, bufs[0], 0, 16), "can be used");
    st_ok(hcy_queue_finish(queue), "and no queue failed");
    is_int(got[0], 7, "no byte was lost");
    for (int i = 0; i < n; i++)
        hcy_buffer_release(bufs[i]);
    st_ok(hcy_buffer_create(&large, special, HCY_MEM_DEVICE, LIMIT - 1000),
          "after release all of it can be had at once");
    hcy_buffer_release(large);
    test_memory_on_its_way(special, LIMIT);
    hcy_queue_release(queue);
    hcy_device_release(special);
}

/* --- Lost devices --- */

struct lost {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_buffer *buf;
    hcy_event *event;
    hcy_kernel *kernel;
    struct cts_work work;
};

static void every_call(struct lost *l)
{
    hcy_buffer *buf = NULL, *mine = cts_buffer(dev, 64);
    hcy_queue *queue = NULL, *my_queue = cts_queue(dev);
    hcy_event *event = NULL;
    hcy_kernel *kernel = NULL;
    hcy_program *program = NULL;
    hcy_fft *fft = NULL;
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_rect rect = { 0, 8, 64 };
    hcy_pool_stats stats;
    unsigned char data[64] = { 0 };
    size_t extent[3] = { 8, 1, 1 }, size;
    uint64_t a, b;
    int64_t n;
    int done;
    const struct {
        const char *call;
        int status;
    } calls[] = {
#define CALL(f, ...) { #f, f(__VA_ARGS__) }
        CALL(hcy_device_status, l->dev),
        CALL(hcy_device_get_i64, &n, l->dev, "threads"),
        CALL(hcy_device_mem_info, &a, &b, l->dev),
        CALL(hcy_device_pool_stats, &stats, l->dev),
        CALL(hcy_device_pool_trim, l->dev),
        CALL(hcy_buffer_create, &buf, l->dev, HCY_MEM_DEVICE, 64),
        CALL(hcy_buffer_sub, &buf, l->buf, 0, 8),
        CALL(hcy_buffer_import_host, &buf, l->dev, data, 64, NULL, NULL),
        CALL(hcy_buffer_write, l->queue, l->buf, 0, data, 8),
        CALL(hcy_buffer_read, l->queue, data, l->buf, 0, 8),
        CALL(hcy_buffer_copy, l->queue, l->buf, 0, l->buf, 32, 8),
        CALL(hcy_buffer_copy, my_queue, mine, 0, l->buf, 0, 8),
        CALL(hcy_buffer_copy, my_queue, l->buf, 0, mine, 0, 8),
        CALL(hcy_buffer_copy_rect, my_queue, mine, &rect, l->buf, &rect, extent),
        CALL(hcy_buffer_fill, l->queue, l->buf, 0, 8, data, 1),
        CALL(hcy_buffer_write_now, l->buf, 0, data, 8),
        CALL(hcy_buffer_read_now, data, l->buf, 0, 8),
        CALL(hcy_queue_create, &queue, l->dev),
        CALL(hcy_queue_finish, l->queue),
        CALL(hcy_queue_status, l->queue),
        CALL(hcy_event_record, &event, l->queue),
        CALL(hcy_queue_wait, l->queue, l->event),
        CALL(hcy_event_wait, l->event, CTS_PATIENCE),
        CALL(hcy_event_query, &done, l->event),
        CALL(hcy_event_time, &a, l->event),
        CALL(hcy_kernel_get, &kernel, l->dev, "bslz4_decode"),
        CALL(hcy_kernel_scratch_size, &size, l->work.kernel, 1, l->work.args, CTS_WORK_ARGS),
        CALL(hcy_kernel_preferred_batch, &size, l->work.kernel, l->work.args, CTS_WORK_ARGS),
        CALL(hcy_kernel_prepare, &buf, l->work.kernel, NULL, 0),
        CALL(cts_work_launch, &l->work, l->queue),
        CALL(hcy_program_create, &program, l->dev, "c-function", "x", 1, NULL),
        CALL(hcy_fft_create, &fft, l->dev, &desc),
#undef CALL
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        is_int(calls[i].status, HCY_ELOST, "%s answers that the device is lost", calls[i].call);
    st_ok(hcy_queue_finish(my_queue), "a copy from or to it did not make another device's queue fail");
    hcy_buffer_release(mine);
    hcy_queue_release(my_queue);
}

static void *finish(void *queue)
{
    static const int lost = 1;
    return hcy_queue_finish(queue) == HCY_ELOST ? (void *)(uintptr_t)&lost : NULL;
}

static void lose(struct lost *l)
{
    hcy_queue *waiting = cts_queue(dev), *held = cts_queue(l->dev);
    struct cts_gate *first = cts_gate_new(), *second = cts_gate_new();
    pthread_t thread;
    void *woken = NULL;
    bool behind = cts_gate_hold(first, l->queue);
    bool asynchronous = cts_gate_hold(second, held);
    if (pthread_create(&thread, NULL, finish, held))
        bail_out("no thread");
    if (!behind) /* the device may be lost before anything can be recorded behind the launch */
        st_ok(hcy_event_record(&l->event, l->queue), "an event");
    st_ok(cts_work_launch(&l->work, l->queue), "a launch that will lose the device");
    if (behind) {
        st_ok(hcy_event_record(&l->event, l->queue), "an event behind it");
        st_ok(hcy_queue_wait(waiting, l->event), "a queue of another device that waits for it");
        cts_gate_open(first);
        st_says(hcy_queue_finish(waiting), HCY_ELOST, "lose-launch", "inherits the loss, and its cause");
    } else {
        skip(2, CTS_GATE_SKIP);
    }
    st_says(hcy_queue_finish(l->queue), HCY_ELOST, "lose-launch", "its own queue says so");
    st_says(hcy_device_status(l->dev), HCY_ELOST, "lose-launch", "and the device");
    st_ok(hcy_device_status(dev), "the other device is not lost");
    cts_gate_open(second);
    pthread_join(thread, &woken);
    if (asynchronous)
        ok(woken, "who waited for another of its queues is told");
    else
        skip(1, CTS_GATE_SKIP);
    cts_gate_free(first);
    cts_gate_free(second);
    hcy_queue_release(waiting);
    hcy_queue_release(held);
}

static void test_lost(void)
{
    struct lost l = { .dev = open_with("@lose-launch=1") };
    unsigned char data[64] = { 5 }, got[64] = { 0 };
    if (!l.dev)
        return;
    l.queue = cts_queue(l.dev);
    l.buf = cts_buffer(l.dev, 64);
    if (cts_work_make(&l.work, l.dev) == HCY_EUNSUPPORTED)
        skip(1, "%s", hcy_last_error()->text);
    else {
        lose(&l);
        every_call(&l);
        hcy_buffer *mine = cts_buffer(dev, 64);
        st_ok(hcy_buffer_write_now(mine, 0, data, 64), "the other device is written");
        st_ok(hcy_buffer_read_now(got, mine, 0, 64), "and read");
        is_int(got[0], 5, "and works");
        hcy_buffer_release(mine);
        ok(hcy_buffer_size(l.buf) == 64 && hcy_device_get_info(l.dev)->kind,
           "what is only known of a lost device is still known");
    }
    hcy_device_release(l.dev);
    hcy_buffer_release(l.buf);
    cts_work_free(&l.work);
    hcy_event_release(l.event);
    hcy_queue_release(l.queue);
    ok(true, "releasing everything of a lost device, the device first, is fine");
}

/* What runs when its device is lost goes on, and may read the host's memory until it ends: it is waited for. */
static void test_lost_while_running(void)
{
    struct cts_gate gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    hcy_device *special = cts_is("cpu") ? open_with("@lose-launch=2") : NULL;
    hcy_kernel *kernel = NULL;
    if (!special)
        return;
    hcy_queue *queue = cts_queue(special), *other = cts_queue(special);
    int status = cts_function(&kernel, special, cts_gate_stand);
    st_ok(cts_first(status, cts_launch_function(queue, kernel, &gate)), "a launch that goes on");
    pthread_mutex_lock(&gate.lock);
    while (!gate.entered)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    status = cts_launch_function(other, kernel, &gate);
    st_is(cts_first(status, hcy_queue_finish(other)), HCY_ELOST, "another one loses the device");
    st_says(hcy_queue_finish_within(queue, 0), HCY_ETIMEOUT, "not run all", "the first one is not done");
    st_says(hcy_queue_finish_within(queue, 1000000), HCY_ETIMEOUT, "not run all", "nor in 1 ms");
    cts_gate_open(&gate);
    st_says(hcy_queue_finish(queue), HCY_ELOST, "lose-launch", "it is waited for, and the device is lost");
    st_says(hcy_queue_finish_within(queue, 0), HCY_ELOST, "lose-launch", "and it is done");
    hcy_kernel_release(kernel);
    hcy_queue_release(other);
    hcy_queue_release(queue);
    hcy_device_release(special);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    test_inherited();
    test_waiters();
    test_failed_launch();
    test_retried_allocation();
    test_no_memory();
    test_lost();
    test_lost_while_running();
    hcy_device_release(dev);
    return done_testing();
}
