/* cts_fork.c - conformance: a child forked after a device was opened is told so; the parent goes on. */
#include "cts_gate.h"

struct all {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_buffer *buf;
    hcy_event *event;
    struct cts_work work;
    hcy_fft *fft;
};

/* How many of the calls do not answer HCY_EFORK. */
static int child(void *context)
{
    struct all *a = context;
    hcy_device *dev = NULL;
    hcy_buffer *buf = NULL;
    hcy_queue *queue = NULL;
    hcy_event *event = NULL;
    hcy_kernel *kernel = NULL;
    hcy_program *program = NULL;
    hcy_fft *fft = NULL;
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_pool_stats stats;
    unsigned char data[64] = { 0 };
    uint64_t x, y;
    int64_t n;
    int done, wrong = 0;
    const int statuses[] = {
        hcy_device_open(&dev, cts_spec),
        hcy_device_open(&dev, "cpu"),
        hcy_device_status(a->dev),
        hcy_device_get_i64(&n, a->dev, "threads"),
        hcy_device_mem_info(&x, &y, a->dev),
        hcy_device_pool_stats(&stats, a->dev),
        hcy_device_pool_trim(a->dev),
        hcy_buffer_create(&buf, a->dev, HCY_MEM_DEVICE, 64),
        hcy_buffer_sub(&buf, a->buf, 0, 8),
        hcy_buffer_write(a->queue, a->buf, 0, data, 8),
        hcy_buffer_read(a->queue, data, a->buf, 0, 8),
        hcy_buffer_copy(a->queue, a->buf, 0, a->buf, 32, 8),
        hcy_buffer_fill(a->queue, a->buf, 0, 8, data, 1),
        hcy_buffer_read_now(data, a->buf, 0, 8),
        hcy_queue_create(&queue, a->dev),
        hcy_queue_finish(a->queue),
        hcy_queue_status(a->queue),
        hcy_event_record(&event, a->queue),
        hcy_queue_wait(a->queue, a->event),
        hcy_event_wait(a->event, CTS_SECOND),
        hcy_event_query(&done, a->event),
        hcy_event_time(&x, a->event),
        hcy_kernel_get(&kernel, a->dev, "bslz4_decode"),
        a->work.kernel ? cts_work_launch(&a->work, a->queue) : HCY_EFORK,
        hcy_program_create(&program, a->dev, "c-function", "x", 1, NULL),
        hcy_fft_create(&fft, a->dev, &desc),
        a->fft ? hcy_fft_execute(a->queue, a->buf, a->fft, HCY_FFT_FORWARD, a->buf, NULL) : HCY_EFORK,
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i] != HCY_EFORK) {
            wrong++;
            printf("# call %zu in a child: %s\n", i, hcy_status_name(statuses[i]));
        }
    fflush(stdout);
    if (!strstr(hcy_last_error()->text, "fork"))
        wrong += 50;
    hcy_event_release(a->event);
    cts_work_free(&a->work);
    hcy_fft_release(a->fft);
    hcy_buffer_release(a->buf);
    hcy_queue_release(a->queue);
    hcy_device_release(a->dev);
    return wrong;
}

static int grandchild(void *context)
{
    return cts_child(child, context);
}

static int open_works(void *spec)
{
    hcy_device *dev = NULL;
    int status = hcy_device_open(&dev, spec ? spec : cts_spec);
    hcy_device_release(dev);
    return -status;
}

int main(int argc, char **argv)
{
    struct all a = { 0 };
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_device_info *list;
    size_t n;
    unsigned char data[64] = { 9 }, got[64] = { 0 };
    cts_begin(argc, argv);
    st_ok(hcy_device_list(&list, &n), "devices are listed");
    hcy_list_free(list);
    is_int(cts_child(open_works, NULL), 0, "a child forked before the first open may open devices");
    char cpu[] = "cpu", wrong[256];
    st_is(hcy_device_open(&a.dev, cts_with(wrong, sizeof wrong, cts_spec, "@nosuch=1")), HCY_EINVAL,
          "a device string with a mistake opens nothing");
    is_int(cts_child(open_works, cpu), 0, "so a child may");
    a.dev = cts_open();
    a.queue = cts_queue(a.dev);
    a.buf = cts_buffer(a.dev, 64);
    st_ok(hcy_event_record(&a.event, a.queue), "an event");
    if (cts_work_make(&a.work, a.dev))
        cts_work_free(&a.work);
    if (cts_has(a.dev, HCY_CAP_FFT) && hcy_fft_create(&a.fft, a.dev, &desc))
        bail_out("%s", hcy_last_error()->text);
    st_ok(hcy_queue_finish(a.queue), "the parent is at work");
    is_int(cts_child(child, &a), 0,
           "a child gets HCY_EFORK from every call, and can release what it inherited");
    is_int(cts_child(grandchild, &a), 0, "and so does its own");
    st_ok(hcy_buffer_write(a.queue, a.buf, 0, data, 64), "the parent");
    st_ok(hcy_buffer_read(a.queue, got, a.buf, 0, 64), "goes on");
    st_ok(hcy_queue_finish(a.queue), "as before");
    is_int(got[0], 9, "with its memory");
    if (a.work.kernel)
        st_ok(cts_work_launch(&a.work, a.queue), "and its kernels");
    is_int(open_works(NULL), 0, "and opens more devices");
    st_ok(hcy_queue_finish(a.queue), "to the end");
    hcy_event_release(a.event);
    cts_work_free(&a.work);
    hcy_fft_release(a.fft);
    hcy_buffer_release(a.buf);
    hcy_queue_release(a.queue);
    hcy_device_release(a.dev);
    return done_testing();
}
