/* cts_pool.c - conformance: the pool that keeps a device's released memory: counts, reuse, trimming. */
#include "cts_gate.h"

static hcy_device *dev;

static hcy_pool_stats stats(void)
{
    hcy_pool_stats s = { 0 };
    if (hcy_device_pool_stats(&s, dev))
        bail_out("no statistics: %s", hcy_last_error()->text);
    return s;
}

static void test_counts(void)
{
    hcy_pool_stats s = stats();
    ok(!s.in_use && !s.cached && !s.peak && !s.hits && !s.misses, "a device begins with nothing");
    hcy_buffer *a = cts_buffer(dev, 100000), *view = NULL;
    s = stats();
    ok(s.in_use >= 100000 && s.in_use < 125000,
       "what is in use is counted, rounded up by an eighth at most (%llu)", (unsigned long long)s.in_use);
    ok(s.misses == 1 && !s.hits && !s.cached && s.peak == s.in_use, "the device gave it");
    st_ok(hcy_buffer_sub(&view, a, 0, 10), "a view");
    is_int((intmax_t)stats().in_use, (intmax_t)s.in_use, "costs nothing");
    hcy_buffer_release(a);
    is_int((intmax_t)stats().in_use, (intmax_t)s.in_use, "and keeps its parent's memory");
    hcy_buffer_release(view);
    ok(!stats().in_use && stats().cached == s.in_use, "released memory is kept");
}

static void test_reuse(void)
{
    hcy_pool_stats before = stats(), s;
    hcy_buffer *a = cts_buffer(dev, 99000);
    s = stats();
    ok(s.hits == before.hits + 1 && s.misses == before.misses,
       "memory of about that size comes from the pool");
    ok(s.in_use == before.cached && !s.cached && s.peak == before.peak, "and is no longer kept there");
    hcy_buffer *b = cts_buffer(dev, 100000);
    s = stats();
    ok(s.misses == before.misses + 1 && s.peak == s.in_use, "a second one does not");
    hcy_buffer *c = cts_buffer(dev, 300000);
    hcy_buffer_release(b);
    hcy_buffer_release(c);
    hcy_buffer *d = cts_buffer(dev, 1000);
    s = stats();
    ok(s.misses == before.misses + 3, "small memory is not cut out of what is far larger");
    uint64_t peak = s.peak;
    hcy_buffer_release(a);
    hcy_buffer_release(d);
    s = stats();
    ok(!s.in_use && s.peak == peak && s.cached <= peak, "the peak stays (%llu)", (unsigned long long)peak);
}

static void test_kinds(void)
{
    hcy_buffer *pinned = NULL;
    hcy_pool_stats before = stats();
    st_ok(hcy_buffer_create(&pinned, dev, HCY_MEM_PINNED, 99000), "pinned memory");
    is_int((intmax_t)(stats().hits - before.hits), 0, "is not made of kept device memory");
    hcy_buffer_release(pinned);
    before = stats();
    st_ok(hcy_buffer_create(&pinned, dev, HCY_MEM_PINNED, 99000), "but again");
    is_int((intmax_t)(stats().hits - before.hits), 1, "of kept pinned memory");
    hcy_buffer_release(pinned);
}

static void test_trim(void)
{
    ok(stats().cached > 0, "something is kept");
    hcy_buffer *a = cts_buffer(dev, 5000);
    uint64_t in_use = stats().in_use;
    st_ok(hcy_device_pool_trim(dev), "the pool is trimmed");
    hcy_pool_stats s = stats();
    ok(!s.cached && s.in_use == in_use, "nothing is kept, what is in use stays");
    st_ok(hcy_device_pool_trim(dev), "twice is fine");
    hcy_buffer_release(a);
    st_is(hcy_device_pool_stats(NULL, dev), HCY_EINVAL, "no place for the statistics");
    st_is(hcy_device_pool_stats(&s, NULL), HCY_EINVAL, "no device to ask");
    st_is(hcy_device_pool_trim(NULL), HCY_EINVAL, "nor to trim");
}

/* A buffer in flight is not handed out again before its command has run. */
static void test_in_flight(void)
{
    enum { SIZE = 40000 };
    hcy_queue *held = cts_queue(dev), *queue = cts_queue(dev);
    struct cts_gate *gate = cts_gate_new();
    unsigned char *data = cts_bytes(SIZE, 4), *got = calloc(1, SIZE), zero = 0;
    hcy_buffer *a = cts_buffer(dev, SIZE);
    st_ok(hcy_buffer_write_now(a, 0, data, SIZE), "a buffer");
    bool asynchronous = cts_gate_hold(gate, held);
    st_ok(hcy_buffer_read(held, got, a, 0, SIZE), "is to be read, behind a gate");
    hcy_buffer_release(a);
    hcy_buffer *b = cts_buffer(dev, SIZE);
    st_ok(hcy_buffer_fill(queue, b, 0, SIZE, &zero, 1), "another of its size is overwritten meanwhile");
    st_ok(hcy_queue_finish(queue), "at once");
    cts_gate_open(gate);
    st_ok(hcy_queue_finish(held), "then it is read");
    ok(!memcmp(got, data, SIZE), "it was not handed out again%s", asynchronous ? "" : " (nor could it be)");
    hcy_buffer_release(b);
    cts_gate_free(gate);
    hcy_queue_release(held);
    hcy_queue_release(queue);
    free(data);
    free(got);
}

/* What fits is given, where a size of the pool's, up to an eighth larger, does not. */
static void test_exact(void)
{
    enum { SIZE = 1000000 };
    char spec[256];
    hcy_device *kept = dev;
    hcy_buffer *a = NULL, *b = NULL;
    if (hcy_device_open(&dev, cts_with(spec, sizeof spec, cts_spec, "@memory=1000000"))) {
        dev = kept;
        skip(5, "no limit for memory: %s", hcy_last_error()->text);
        return;
    }
    st_ok(hcy_buffer_create(&a, dev, HCY_MEM_DEVICE, SIZE), "all the memory that there is");
    is_int((intmax_t)stats().in_use, SIZE, "is in use");
    st_is(hcy_buffer_create(&b, dev, HCY_MEM_DEVICE, 1), HCY_ENOMEM, "there is no more");
    hcy_buffer_release(a);
    ok(!stats().in_use && !stats().cached, "and what is given back is not kept");
    st_ok(hcy_buffer_create(&a, dev, HCY_MEM_DEVICE, SIZE), "but is there again");
    hcy_buffer_release(a);
    hcy_device_release(dev);
    dev = kept;
}

/* Without a pool there is neither room behind a buffer nor a buffer after its end. */
static void test_off(void)
{
    enum { SIZE = 99001 };
    hcy_device *kept = dev;
    setenv("HALCYON_POOL", "0", 1);
    dev = cts_open();
    unsetenv("HALCYON_POOL");
    hcy_buffer *a = cts_buffer(dev, SIZE);
    is_int((intmax_t)stats().in_use, SIZE, "HALCYON_POOL=0: as many bytes as are asked for");
    hcy_buffer_release(a);
    ok(!stats().in_use && !stats().cached, "none is kept");
    a = cts_buffer(dev, SIZE);
    ok(!stats().hits && stats().misses == 2, "the device gave both");
    hcy_buffer_release(a);
    hcy_device_release(dev);
    dev = kept;
}

/* Many sizes come and go; what is kept stays bounded, and everything is accounted for. */
static void test_churn(void)
{
    enum { N = 64, TURNS = 3000 };
    hcy_buffer *bufs[N] = { NULL };
    size_t sizes[N] = { 0 };
    uint64_t seed = 3, least = 0;
    int bad = 0;
    for (int i = 0; i < TURNS; i++) {
        uint64_t r = cts_random(&seed);
        size_t at = r % N;
        least -= sizes[at];
        hcy_buffer_release(bufs[at]);
        sizes[at] = 1 + (r >> 8) % ((size_t)1 << (r >> 50) % 18);
        bufs[at] = cts_buffer(dev, sizes[at]);
        least += sizes[at];
        bad += stats().in_use < least;
    }
    hcy_pool_stats s = stats();
    is_int(bad, 0, "memory in use is never less than what was asked for");
    ok(s.hits > TURNS / 4, "sizes that come and go are served by the pool (%llu of %d)",
       (unsigned long long)s.hits, TURNS);
    ok(s.peak >= s.in_use + s.cached, "the peak is the most there was");
    for (int i = 0; i < N; i++)
        hcy_buffer_release(bufs[i]);
    is_int((intmax_t)stats().in_use, 0, "in the end nothing is in use");
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    unsetenv("HALCYON_POOL");
    dev = cts_open();
    if (!hcy_device_get_info(dev)->memory)
        skip_all("%s does not know its memory: nothing is kept", cts_spec);
    test_counts();
    test_reuse();
    test_kinds();
    test_trim();
    test_in_flight();
    test_churn();
    test_exact();
    test_off();
    hcy_device_release(dev);
    return done_testing();
}
