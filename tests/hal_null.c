/* hal_null.c - the null backend standing in for other devices: several, slow, failing and lost ones. */
#include "cts_gate.h"

#include <halcyon/eval.h>

static void test_devices(void)
{
    static const char *const names[] = { "null", "null:0", "null:1", "null:2", "null:3" };
    hcy_device *dev = NULL;
    for (size_t i = 0; i < 5; i++) {
        dev = cts_open_spec(names[i]);
        const hcy_device_info *info = hcy_device_get_info(dev);
        char stable[16];
        snprintf(stable, sizeof stable, "null:%zu", i ? i - 1 : 0);
        is_str(info->stable, stable, "%s is %s", names[i], stable);
        is_int(info->kind, HCY_KIND_OTHER, "of a kind that nobody takes by chance");
        ok(info->caps & HCY_CAP_VIRTUAL, "whose speed means nothing");
        hcy_device_release(dev);
    }
    dev = NULL;
    st_says(hcy_device_open(&dev, "null:4"), HCY_ENODEV, "null:3", "there is no fifth");
    ok(!dev, "none opens");
}

static void test_noop(void)
{
    struct cts_work work;
    hcy_device *dev = cts_open_spec("null");
    st_says(cts_work_make(&work, dev), HCY_EUNSUPPORTED, "kernels=noop",
            "without kernels it says how to get them");
    cts_work_free(&work);
    hcy_device_release(dev);

    dev = cts_open_spec("null@kernels=noop");
    hcy_queue *queue = cts_queue(dev);
    int64_t launches = -1;
    unsigned char data[64], got[64] = { 0 };
    memset(data, 9, 64);
    st_ok(cts_work_make(&work, dev), "with them");
    is_str(hcy_kernel_variant(work.kernel), "noop", "they do nothing");
    st_ok(hcy_buffer_write_now(work.images, 0, data, 64), "a buffer");
    for (int i = 0; i < 5; i++)
        st_ok(cts_work_launch(&work, queue), "launch %d", i + 1);
    st_ok(hcy_queue_finish(queue), "all of them run");
    st_ok(hcy_device_get_i64(&launches, dev, "launches"), "they are counted");
    is_int(launches, 5, "right");
    st_ok(hcy_buffer_read_now(got, work.images, 0, 64), "the buffer");
    ok(!memcmp(got, data, 64), "is as it was");
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

/* Arrays are memory, which it has; expressions need kernels. */
static void test_expressions(void)
{
    const float x[2] = { 1, 2 };
    const int64_t n = 2;
    float got[2] = { 0 };
    hcy_device *dev = cts_open_spec("null");
    hcy_queue *queue = cts_queue(dev);
    hcy_array *a = NULL;
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT32, 1, &n, x), "an array");
    st_says(HCY_EVAL(queue, "x = x + 1", hcy_op_array("x", a)), HCY_EUNSUPPORTED, "compiles no programs",
            "an expression is refused, with words");
    st_ok(hcy_array_to_host(got, queue, a), "and the array is read");
    ok(got[0] == 1 && got[1] == 2, "as it was");
    hcy_array_release(a);
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

/* Time of one launch of `items`, in ms. */
static double launch_ms(const char *spec, size_t items)
{
    struct cts_work work;
    hcy_device *dev = cts_open_spec(spec);
    hcy_queue *queue = cts_queue(dev);
    double ms = -1;
    if (!cts_work_make(&work, dev)) {
        uint64_t start = cts_now();
        if (!hcy_launch(queue, work.kernel, items, work.args, CTS_WORK_ARGS) && !hcy_queue_finish(queue))
            ms = (double)(cts_now() - start) / 1e6;
    }
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return ms;
}

/* A device that hangs, as far as its host can tell. */
static void test_limit(void)
{
    struct cts_work work;
    hcy_device *dev = cts_open_spec("null@kernels=noop@delay-us=300000");
    hcy_queue *queue = cts_queue(dev);
    st_ok(cts_work_make(&work, dev), "a device that takes long");
    st_ok(hcy_queue_finish_within(queue, HCY_FOREVER), "with nothing to do it is done");
    st_ok(hcy_launch(queue, work.kernel, 1, work.args, CTS_WORK_ARGS), "a launch of 300 ms");
    st_says(hcy_queue_finish_within(queue, 0), HCY_ETIMEOUT, "not run all", "asked at once it is not done");
    st_says(hcy_queue_finish_within(queue, 1000000), HCY_ETIMEOUT, "0.001 s", "is not done within 1 ms");
    st_ok(hcy_queue_finish_within(queue, HCY_FOREVER), "it is in the end");
    st_ok(hcy_queue_finish_within(queue, 0), "and asked at once");
    st_says(hcy_queue_finish_within(NULL, 5), HCY_EINVAL, "no queue", "no queue");
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

int main(void)
{
    test_limit();
    test_devices();
    test_noop();
    test_expressions();
    double slow = launch_ms("null@kernels=noop@delay-us=1000", 20),
           slower = launch_ms("null@kernels=noop@delay-us=2000", 30);
    ok(slow >= 20, "20 items of 1 ms take 20 ms at least (%.1f)", slow);
    ok(slower >= 60, "30 items of 2 ms take 60 ms at least (%.1f)", slower);
    return done_testing();
}
