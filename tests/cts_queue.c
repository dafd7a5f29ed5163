/* cts_queue.c - conformance: order, asynchrony, events between queues and devices, time stamps, waiting. */
#include "cts_gate.h"

#include <limits.h>
#include <stdatomic.h>

static hcy_device *dev;

/* --- Order --- */

/* Many random fills and copies, against the same done at once on the host. */
static void test_order(void)
{
    enum { SIZE = 512, COMMANDS = 2000 };
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *a = cts_buffer(dev, SIZE), *b = cts_buffer(dev, SIZE);
    unsigned char zeros[SIZE] = { 0 }, wa[SIZE] = { 0 }, wb[SIZE] = { 0 }, got[SIZE];
    uint64_t seed = 5;
    int status = hcy_buffer_write(queue, a, 0, zeros, SIZE);
    status = cts_first(status, hcy_buffer_write(queue, b, 0, zeros, SIZE));
    for (int i = 0; i < COMMANDS && !status; i++) {
        uint64_t r = cts_random(&seed);
        size_t from = r % (SIZE / 2), to = (r >> 16) % (SIZE / 2), n = (r >> 32) % (SIZE / 2) + 1;
        unsigned char value = (unsigned char)(r >> 56);
        if (i % 3 == 0) {
            status = hcy_buffer_fill(queue, a, to, n, &value, 1);
            memset(wa + to, value, n);
        } else if (i % 3 == 1) {
            status = hcy_buffer_copy(queue, b, to, a, from, n);
            memcpy(wb + to, wa + from, n);
        } else {
            status = hcy_buffer_copy(queue, a, to, b, from, n);
            memcpy(wa + to, wb + from, n);
        }
    }
    st_ok(status, "%d commands are taken", COMMANDS);
    st_ok(hcy_buffer_read(queue, got, a, 0, SIZE), "and a read");
    st_ok(hcy_queue_finish(queue), "they run");
    ok(!memcmp(got, wa, SIZE), "in the order in which they were submitted");
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_queue_release(queue);
}

/* --- Asynchrony --- */

static void check_pending(hcy_queue *queue, hcy_event *event)
{
    uint64_t ns = 0, before = cts_now();
    int done = 1;
    st_ok(hcy_queue_status(queue), "a queue that waits has not failed");
    st_ok(hcy_event_query(&done, event), "an event that waits can be asked");
    is_int(done, 0, "and has not completed");
    st_is(hcy_event_time(&ns, event), HCY_ESTATE, "it has no time yet");
    st_is(hcy_event_wait(event, 0), HCY_ETIMEOUT, "a wait of no time ends");
    st_is(hcy_event_wait(event, 20 * CTS_MS), HCY_ETIMEOUT, "a wait of 20 ms ends");
    ok(cts_now() - before >= 20 * CTS_MS, "after 20 ms at least");
}

static void test_asynchronous(void)
{
    enum { SIZE = 1 << 16 };
    hcy_queue *queue = cts_queue(dev), *free_one = cts_queue(dev);
    hcy_buffer *buf = cts_buffer(dev, SIZE), *other = cts_buffer(dev, SIZE);
    unsigned char *data = cts_bytes(SIZE, 1), *got = calloc(1, SIZE), *got2 = calloc(1, SIZE);
    hcy_event *event = NULL;
    struct cts_gate *gate = cts_gate_new();
    int done = 0;
    uint64_t at = 0;
    if (!cts_gate_hold(gate, queue)) {
        skip(1, CTS_GATE_SKIP);
        goto out;
    }
    st_ok(hcy_buffer_write(queue, buf, 0, data, SIZE), "a write behind a closed gate is taken");
    st_ok(hcy_buffer_copy(queue, other, 0, buf, 0, SIZE), "a copy too");
    st_ok(hcy_buffer_read(queue, got, other, 0, SIZE), "a read too");
    st_ok(hcy_event_record(&event, queue), "an event too");
    check_pending(queue, event);
    ok(!got[0] && !memcmp(got, got + 1, SIZE - 1), "nothing has been read");
    st_ok(hcy_buffer_write(free_one, buf, 0, data, SIZE), "another queue");
    st_ok(hcy_buffer_read(free_one, got2, buf, 0, SIZE), "of the same device");
    st_ok(hcy_queue_finish(free_one), "runs meanwhile");
    ok(!memcmp(got2, data, SIZE), "and does its work");
    ok(!cts_gate_expired(gate), "none of these calls waited for the gate");
    uint64_t opened = cts_now();
    cts_gate_open(gate);
    st_ok(hcy_event_wait(event, CTS_PATIENCE), "the gate opens, the event completes");
    ok(!memcmp(got, data, SIZE), "what was submitted before it has run");
    st_ok(hcy_event_query(&done, event), "it can be asked again");
    is_int(done, 1, "and has completed");
    st_ok(hcy_event_time(&at, event), "it has a time");
    ok(at >= opened && at <= cts_now(), "after the gate was opened, and not in the future");
    st_ok(hcy_event_wait(event, 0), "a wait for what has completed needs no time");
    st_ok(hcy_queue_finish(queue), "the queue is finished");
out:
    cts_gate_free(gate);
    hcy_event_release(event);
    hcy_queue_release(queue);
    hcy_queue_release(free_one);
    hcy_buffer_release(buf);
    hcy_buffer_release(other);
    free(data);
    free(got);
    free(got2);
}

/* --- Events between queues --- */

/* q[0] is held; q[1] waits for q[0], q[2] for q[1]; each copies what the one before it has made. */
static void test_chain(void)
{
    enum { N = 6, SIZE = 4096 };
    hcy_device *devs[N];
    hcy_queue *queues[N];
    hcy_buffer *bufs[N];
    hcy_event *events[N] = { NULL };
    unsigned char *data = cts_bytes(SIZE, 2), *got = calloc(1, SIZE), zeros[SIZE] = { 0 };
    struct cts_gate *gate = cts_gate_new();
    hcy_device *second = cts_open_spec(cts_spec2);
    int status = 0, done = 1;
    for (int i = 0; i < N; i++) {
        devs[i] = i % 3 == 2 ? second : dev;
        queues[i] = cts_queue(devs[i]);
        bufs[i] = cts_buffer(devs[i], SIZE);
        status = cts_first(status, hcy_buffer_write_now(bufs[i], 0, zeros, SIZE));
    }
    bool held = cts_gate_hold(gate, queues[0]);
    status = cts_first(status, hcy_buffer_write(queues[0], bufs[0], 0, data, SIZE));
    status = cts_first(status, hcy_event_record(&events[0], queues[0]));
    for (int i = 1; i < N; i++) {
        status = cts_first(status, hcy_queue_wait(queues[i], events[i - 1]));
        status = cts_first(status, hcy_buffer_copy(queues[i], bufs[i], 0, bufs[i - 1], 0, SIZE));
        status = cts_first(status, hcy_event_record(&events[i], queues[i]));
    }
    st_ok(status, "a chain over %d queues of two devices is taken", N);
    if (held) {
        st_ok(hcy_event_query(&done, events[N - 1]), "its end can be asked");
        is_int(done, 0, "and waits for its beginning");
        ok(!cts_gate_expired(gate), "no call waited");
    } else
        skip(3, CTS_GATE_SKIP);
    cts_gate_open(gate);
    st_ok(hcy_event_wait(events[N - 1], CTS_PATIENCE), "it runs");
    st_ok(hcy_buffer_read_now(got, bufs[N - 1], 0, SIZE), "its end is read");
    ok(!memcmp(got, data, SIZE), "every copy waited for the one before");
    uint64_t last = 0, now = 0;
    bool monotone = true;
    for (int i = 0; i < N; i++) {
        monotone = monotone && !hcy_event_time(&now, events[i]) && now >= last;
        last = now;
        hcy_event_release(events[i]);
        hcy_queue_release(queues[i]);
        hcy_buffer_release(bufs[i]);
    }
    ok(monotone, "their times follow one another");
    cts_gate_free(gate);
    hcy_device_release(second);
    free(data);
    free(got);
}

/* A token goes to and fro between two devices; each end adds a byte. */
static void test_ping_pong(void)
{
    enum { TURNS = 60 };
    hcy_device *devs[2] = { dev, cts_open_spec(cts_spec2) };
    hcy_queue *queues[2] = { cts_queue(devs[0]), cts_queue(devs[1]) };
    hcy_buffer *bufs[2] = { cts_buffer(devs[0], TURNS), cts_buffer(devs[1], TURNS) };
    unsigned char got[TURNS], want[TURNS];
    hcy_event *event = NULL;
    int status = 0;
    for (int i = 0; i < TURNS; i++) {
        int here = i % 2;
        unsigned char value = want[i] = (unsigned char)(i * 7 + 1);
        if (event)
            status = cts_first(status, hcy_queue_wait(queues[here], event));
        if (i)
            status =
                cts_first(status, hcy_buffer_copy(queues[here], bufs[here], 0, bufs[!here], 0, (size_t)i));
        status = cts_first(status, hcy_buffer_fill(queues[here], bufs[here], (size_t)i, 1, &value, 1));
        hcy_event_release(event);
        event = NULL;
        status = cts_first(status, hcy_event_record(&event, queues[here]));
    }
    st_ok(status, "%d turns are taken", TURNS);
    st_ok(event ? hcy_event_wait(event, CTS_PATIENCE) : HCY_ESTATE, "and run");
    st_ok(hcy_buffer_read_now(got, bufs[(TURNS - 1) % 2], 0, TURNS), "the token is read");
    ok(!memcmp(got, want, TURNS), "nothing of it was lost on the way");
    hcy_event_release(event);
    for (int i = 0; i < 2; i++) {
        hcy_queue_release(queues[i]);
        hcy_buffer_release(bufs[i]);
    }
    hcy_device_release(devs[1]);
}

static void test_waits(void)
{
    hcy_queue *queue = cts_queue(dev), *other = cts_queue(dev);
    hcy_event *event = NULL;
    int done = 0;
    st_ok(hcy_event_record(&event, queue), "an event on an empty queue");
    st_ok(hcy_event_wait(event, CTS_PATIENCE), "completes");
    st_ok(hcy_queue_wait(other, event), "a queue can wait for what has completed");
    st_ok(hcy_queue_wait(other, event), "twice");
    st_ok(hcy_queue_wait(queue, event), "or for an event of its own");
    st_ok(hcy_queue_finish(queue), "without hanging");
    st_ok(hcy_queue_finish(other), "nor the other");
    ok(hcy_event_retain(event) == event, "retain gives the event back");
    hcy_event_release(event);
    st_ok(hcy_event_query(&done, event), "one of two references is enough");
    is_int(done, 1, "it has still completed");
    st_ok(hcy_event_wait(event, HCY_FOREVER), "for ever may be short");
    st_is(hcy_event_query(NULL, event), HCY_EINVAL, "no place for the answer");
    st_is(hcy_event_time(NULL, event), HCY_EINVAL, "nor for the time");
    hcy_event_release(event);
    st_is(hcy_event_wait(NULL, 0), HCY_EINVAL, "no event to wait for");
    st_is(hcy_event_record(&event, NULL), HCY_EINVAL, "no queue to record on");
    st_is(hcy_event_record(NULL, queue), HCY_EINVAL, "no place for the event");
    st_is(hcy_queue_wait(queue, NULL), HCY_EINVAL, "no event for a queue");
    st_is(hcy_queue_wait(NULL, NULL), HCY_EINVAL, "no queue to wait");
    st_is(hcy_queue_finish(NULL), HCY_EINVAL, "no queue to finish");
    st_is(hcy_queue_status(NULL), HCY_EINVAL, "no queue to ask");
    st_is(hcy_queue_create(NULL, dev), HCY_EINVAL, "no place for a queue");
    st_is(hcy_queue_create(&other, NULL), HCY_EINVAL, "no device for a queue");
    ok(hcy_queue_device(queue) == dev && !hcy_queue_device(NULL), "a queue knows its device");
    hcy_event_release(NULL);
    hcy_queue_release(NULL);
    hcy_queue_release(queue);
    hcy_queue_release(other);
}

/* --- Time --- */

static void test_time(void)
{
    enum { N = 8, SIZE = 1 << 20 };
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *buf = cts_buffer(dev, SIZE);
    hcy_event *events[N];
    uint64_t times[N], before = cts_now();
    int status = 0;
    bool monotone = true;
    for (int i = 0; i < N; i++) {
        unsigned char value = (unsigned char)i;
        status = cts_first(status, hcy_buffer_fill(queue, buf, 0, SIZE, &value, 1));
        status = cts_first(status, hcy_event_record(&events[i], queue));
    }
    status = cts_first(status, hcy_queue_finish(queue));
    uint64_t after = cts_now();
    for (int i = 0; i < N; i++) {
        status = cts_first(status, hcy_event_time(&times[i], events[i]));
        monotone = monotone && (!i || times[i] >= times[i - 1]);
        hcy_event_release(events[i]);
    }
    st_ok(status, "%d events have times", N);
    ok(monotone, "which do not go back");
    ok(times[0] >= before && times[N - 1] <= after, "and lie between the host's own, before and after");
    ok(times[N - 1] > times[0], "%d MiB of fills take time", N - 1);
    hcy_buffer_release(buf);
    hcy_queue_release(queue);
}

/* --- Waiting from several threads --- */

static void *finish(void *queue)
{
    return hcy_queue_finish(queue) ? queue : NULL;
}

static void test_finish(void)
{
    enum { N = 3 };
    hcy_queue *queue = cts_queue(dev);
    struct cts_gate *gate = cts_gate_new();
    pthread_t threads[N];
    void *failed = NULL, *any = NULL;
    bool held = cts_gate_hold(gate, queue);
    for (int i = 0; i < N; i++)
        if (pthread_create(&threads[i], NULL, finish, queue))
            bail_out("no thread");
    cts_sleep_ms(20);
    hcy_buffer *buf = cts_buffer(dev, 64);
    unsigned char data[64] = { 0 };
    st_ok(hcy_buffer_write(queue, buf, 0, data, 64), "a queue takes commands while others wait for it");
    if (held)
        ok(!cts_gate_expired(gate), "at once");
    else
        skip(1, CTS_GATE_SKIP);
    cts_gate_open(gate);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], &failed);
        any = any ? any : failed;
    }
    ok(!any, "%d threads finish one queue", N);
    st_ok(hcy_queue_finish(queue), "and once more");
    cts_gate_free(gate);
    hcy_buffer_release(buf);
    hcy_queue_release(queue);
}

/* Keeps a queue busy without a gap until it is told to stop, or for `limit` batches: time passes on a busy machine. */
struct submitter {
    hcy_queue *queue;
    hcy_buffer *buf;
    atomic_bool stop;
    atomic_int batches, limit;
};

static void *submit_on(void *arg)
{
    struct submitter *s = arg;
    hcy_event *last = NULL;
    int status = 0;
    while (!status && !atomic_load(&s->stop) && atomic_load(&s->batches) < atomic_load(&s->limit)) {
        hcy_event *event = NULL;
        unsigned char value = 1;
        for (int i = 0; i < 20 && !status; i++)
            status = hcy_buffer_fill(s->queue, s->buf, 0, hcy_buffer_size(s->buf), &value, 1);
        status = cts_first(status, hcy_event_record(&event, s->queue));
        if (last)
            status = cts_first(status, hcy_event_wait(last, CTS_PATIENCE)); /* those just submitted go on */
        hcy_event_release(last);
        last = event;
        atomic_fetch_add(&s->batches, 1);
    }
    hcy_event_release(last);
    return status ? s : NULL;
}

static void test_finish_while_submitting(void)
{
    enum { GOES_ON = 64 };
    struct submitter s = { .queue = cts_queue(dev), .buf = cts_buffer(dev, 1 << 22), .limit = INT_MAX };
    pthread_t thread;
    void *failed = NULL;
    if (pthread_create(&thread, NULL, submit_on, &s))
        bail_out("no thread");
    cts_sleep_ms(20);
    int before = atomic_load(&s.batches);
    atomic_store(&s.limit, before + GOES_ON);
    st_ok(hcy_queue_finish(s.queue), "a queue that never gets empty can be finished");
    int passed = atomic_load(&s.batches) - before;
    ok(passed < 8, "as far as it had been filled then (%d batches passed)", passed);
    atomic_store(&s.stop, true);
    pthread_join(thread, &failed);
    ok(!failed, "nothing failed");
    hcy_buffer_release(s.buf);
    hcy_queue_release(s.queue);
}

static void test_many_queues(void)
{
    enum { N = 40 };
    hcy_queue *queues[N];
    hcy_buffer *bufs[N];
    uint32_t got[N][16] = { { 0 } };
    int status = 0, right = 0;
    for (uint32_t i = 0; i < N; i++) {
        queues[i] = cts_queue(dev);
        bufs[i] = cts_buffer(dev, sizeof got[i]);
        status = cts_first(status, hcy_buffer_fill(queues[i], bufs[i], 0, sizeof got[i], &i, sizeof i));
        status = cts_first(status, hcy_buffer_read(queues[i], got[i], bufs[i], 0, sizeof got[i]));
    }
    for (uint32_t i = 0; i < N; i++) {
        status = cts_first(status, hcy_queue_finish(queues[i]));
        right += got[i][0] == i && got[i][15] == i;
        hcy_queue_release(queues[i]);
        hcy_buffer_release(bufs[i]);
    }
    st_ok(status, "%d queues of one device", N);
    is_int(right, N, "each does its own work");
}

static void count_up(void *count)
{
    (*(int *)count)++;
}

/* What others have in the stream uses a buffer that is let go. */
static void test_keep(void)
{
    static unsigned char mine[4096] __attribute__((aligned(4096)));
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *buf = NULL, *none = NULL;
    int gone = 0;
    st_is(hcy_queue_keep(queue, NULL, 1), HCY_EINVAL, "no list of buffers is refused");
    st_is(hcy_queue_keep(queue, &none, 1), HCY_EINVAL, "and no buffer");
    if (hcy_buffer_import_host(&buf, dev, mine, sizeof mine, count_up, &gone)) {
        skip(3, "the device takes no memory of the caller's");
    } else {
        st_ok(hcy_queue_keep(queue, &buf, 1), "a buffer is kept");
        hcy_buffer_release(buf);
        st_ok(hcy_queue_finish(queue), "the queue passes that");
        is_int(gone, 1, "and keeps it no longer");
    }
    hcy_queue_release(queue);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    test_order();
    test_asynchronous();
    test_chain();
    test_ping_pong();
    test_waits();
    test_time();
    test_finish();
    test_finish_while_submitting();
    test_many_queues();
    test_keep();
    hcy_device_release(dev);
    return done_testing();
}
