/* device_memory.c - memory of a device without arrays: a fill, an image whose rows have a pitch, host memory that is
 * pinned, two queues that an event orders, times, and the pool that keeps what was released.
 *
 * usage: device_memory [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 *
 * A border of 7 lies around an image of 300 x 200 bytes.  One queue fills the device's memory and writes the image into
 * it; another one, which must wait for that, fetches the lines with their border.
 */
#include <halcyon/buffer.h>
#include <halcyon/queue.h>
#include <stdio.h>

enum { WIDTH = 300, HEIGHT = 200, PITCH = 512, BORDER = 7, ALL_WIDTH = WIDTH + 2, ALL_HEIGHT = HEIGHT + 2 };

struct memory {
    hcy_device *dev;
    hcy_queue *writes, *reads;
    hcy_buffer *image, *padded, *back; /* pinned, the device's, pinned */
};

static int create(struct memory *m, const char *device)
{
    int status = hcy_device_open(&m->dev, device);
    if (!status)
        status = hcy_queue_create(&m->writes, m->dev);
    if (!status)
        status = hcy_queue_create(&m->reads, m->dev);
    /* Copies between such memory and the device need no other copy on the host. */
    if (!status)
        status = hcy_buffer_create(&m->image, m->dev, HCY_MEM_PINNED, WIDTH * HEIGHT);
    if (!status)
        status = hcy_buffer_create(&m->back, m->dev, HCY_MEM_PINNED, ALL_WIDTH * ALL_HEIGHT);
    if (!status)
        status = hcy_buffer_create(&m->padded, m->dev, HCY_MEM_DEVICE, PITCH * ALL_HEIGHT);
    return status;
}

/* Submits everything; nothing has run when it returns, and the events say when what is before them has. */
static int submit(hcy_event **written, hcy_event **read, const struct memory *m)
{
    static const unsigned char border = BORDER;
    const hcy_rect image = { 0, WIDTH, 0 }, inside = { PITCH + 1, PITCH, 0 }, all = { 0, PITCH, 0 },
                   back = { 0, ALL_WIDTH, 0 };
    const size_t lines[3] = { WIDTH, HEIGHT, 1 }, more[3] = { ALL_WIDTH, ALL_HEIGHT, 1 };
    int status = hcy_buffer_fill(m->writes, m->padded, 0, PITCH * ALL_HEIGHT, &border, 1);
    if (!status)
        status = hcy_buffer_copy_rect(m->writes, m->padded, &inside, m->image, &image, lines);
    if (!status)
        status = hcy_event_record(written, m->writes);
    if (!status)
        status = hcy_queue_wait(m->reads, *written);
    if (!status)
        status = hcy_buffer_copy_rect(m->reads, m->back, &back, m->padded, &all, more);
    if (!status)
        status = hcy_event_record(read, m->reads);
    return status;
}

static unsigned char pixel_at(int x, int y)
{
    return (unsigned char)(x + 3 * y);
}

static int count_wrong(const unsigned char *back)
{
    int wrong = 0;
    for (int y = 0; y < ALL_HEIGHT; y++)
        for (int x = 0; x < ALL_WIDTH; x++) {
            int inside = x > 0 && x <= WIDTH && y > 0 && y <= HEIGHT;
            wrong += back[y * ALL_WIDTH + x] != (inside ? pixel_at(x - 1, y - 1) : BORDER);
        }
    return wrong;
}

int main(int argc, char **argv)
{
    struct memory m = { NULL, NULL, NULL, NULL, NULL, NULL };
    hcy_event *written = NULL, *read = NULL;
    hcy_pool_stats before = { 0, 0, 0, 0, 0 }, after = before;
    uint64_t begin = 0, end = 0, unused = 0, total = 0;
    int wrong = 0, status = create(&m, argc > 1 ? argv[1] : "cpu");
    unsigned char *image = status ? NULL : hcy_buffer_host(m.image);
    for (int i = 0; image && i < WIDTH * HEIGHT; i++)
        image[i] = pixel_at(i % WIDTH, i / WIDTH);
    if (!status)
        status = submit(&written, &read, &m);
    if (!status)
        status = hcy_event_wait(read, 10000000000u); /* nanoseconds */
    if (!status)
        status = hcy_event_time(&begin, written);
    if (!status)
        status = hcy_event_time(&end, read);
    if (!status)
        wrong = count_wrong(hcy_buffer_host(m.back)) + (end < begin);
    /* What is released stays in the device's pool for the next one who asks, until it is trimmed. */
    hcy_buffer_release(m.padded);
    if (!status)
        status = hcy_device_pool_stats(&before, m.dev);
    if (!status)
        status = hcy_device_pool_trim(m.dev);
    if (!status)
        status = hcy_device_pool_stats(&after, m.dev);
    if (!status)
        status = hcy_device_mem_info(&unused, &total, m.dev);
    if (status)
        fprintf(stderr, "device_memory: %s\n", hcy_last_error()->text);
    else
        printf("%d of %d bytes wrong; reading took %.1f us; pool: %llu bytes, %llu after a trim; %.1f of "
               "%.1f GB free\n",
               wrong, ALL_WIDTH * ALL_HEIGHT, 1e-3 * (double)(end - begin), (unsigned long long)before.cached,
               (unsigned long long)after.cached, 1e-9 * (double)unused, 1e-9 * (double)total);
    wrong += after.cached != 0;
    hcy_event_release(written);
    hcy_event_release(read);
    hcy_buffer_release(m.image);
    hcy_buffer_release(m.back);
    hcy_queue_release(m.writes);
    hcy_queue_release(m.reads);
    hcy_device_release(m.dev);
    return status || wrong;
}
