/* cts_share.c - conformance: buffers that several processes have, and handles that are refused.  The second process is
 * this program again, which was forked and executed before a device was opened here.
 *
 *     tests/cts_share [DEVICE]
 */
#include "cts.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { N = 300000, OFFSET = 4096 };

/* What goes between the two; the second one's answer. */
struct answer {
    int status, wrong;
};

static void put(int fd, const void *bytes, size_t size)
{
    if (write(fd, bytes, size) != (ssize_t)size)
        bail_out("a pipe does not take %zu bytes", size);
}
static void get(void *bytes, size_t size, int fd)
{
    size_t have = 0;
    ssize_t n = 1;
    while (have < size && (n = read(fd, (char *)bytes + have, size - have)) > 0)
        have += (size_t)n;
    if (have < size)
        bail_out("the other process said %zu bytes of %zu", have, size);
}

/* --- The second process --- */

/* What was written there: byte i is i * 7; all of them get 1 more. */
static struct answer add_one(hcy_buffer *buf)
{
    size_t size = hcy_buffer_size(buf);
    unsigned char *bytes = malloc(size);
    struct answer a = { bytes ? hcy_buffer_read_now(bytes, buf, 0, size) : HCY_ENOMEM, size != N };
    for (size_t i = 0; !a.status && i < size; i++) {
        a.wrong += bytes[i] != (unsigned char)(7 * i);
        bytes[i]++;
    }
    if (!a.status)
        a.status = hcy_buffer_write_now(buf, 0, bytes, size);
    free(bytes);
    return a;
}

/* Imports what comes, until nothing comes. */
static int second(const char *spec, int in, int out)
{
    hcy_buffer_handle handle;
    hcy_device *dev = NULL;
    int opened = hcy_device_open(&dev, spec);
    while (read(in, &handle, sizeof handle) == (ssize_t)sizeof handle) {
        hcy_buffer *buf = NULL;
        hcy_buffer_handle again;
        struct answer a = { opened ? opened : hcy_buffer_import(&buf, dev, &handle), 0 };
        if (!a.status) {
            int exported = hcy_buffer_export(&again, buf);
            a = add_one(buf);
            a.wrong += exported != HCY_EINVAL || hcy_buffer_mem(buf) != HCY_MEM_DEVICE;
        }
        hcy_buffer_release(buf);
        put(out, &a, sizeof a);
    }
    hcy_device_release(dev);
    return 0;
}

static int to_second, from_second;
static pid_t second_pid;

static void start_second(void)
{
    int down[2], up[2];
    char in[16], out[16], spec[256];
    if (pipe(down) || pipe(up))
        bail_out("no pipes");
    snprintf(spec, sizeof spec, "%s", cts_spec);
    fflush(NULL);
    second_pid = fork();
    if (!second_pid) {
        snprintf(in, sizeof in, "%d", down[0]);
        snprintf(out, sizeof out, "%d", up[1]);
        close(down[1]);
        close(up[0]);
        char *arguments[] = { "cts_share", "second", spec, in, out, NULL };
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    to_second = down[1];
    from_second = up[0];
}
static struct answer ask_second(const hcy_buffer_handle *handle)
{
    struct answer a;
    put(to_second, handle, sizeof *handle);
    get(&a, sizeof a, from_second);
    return a;
}

/* --- The first --- */

/* How many bytes of the view are not as the other process left them. */
static int count_wrong(hcy_buffer *buf)
{
    unsigned char *bytes = malloc(N);
    int wrong = 0;
    st_ok(hcy_buffer_read_now(bytes, buf, 0, N), "the view is read");
    for (size_t i = 0; i < N; i++)
        wrong += bytes[i] != (unsigned char)(7 * i + 1);
    free(bytes);
    return wrong;
}
static void write_bytes(hcy_buffer *buf)
{
    unsigned char *bytes = malloc(N);
    for (size_t i = 0; i < N; i++)
        bytes[i] = (unsigned char)(7 * i);
    st_ok(hcy_buffer_write_now(buf, 0, bytes, N), "the view is written");
    free(bytes);
}

/* A handle one byte of which is another is no handle, wherever that byte is. */
static void test_damaged(hcy_device *dev, const hcy_buffer_handle *handle)
{
    int taken = 0, other = 0;
    for (size_t i = 0; i < sizeof handle->bytes; i++) {
        hcy_buffer_handle damaged = *handle;
        hcy_buffer *buf = NULL;
        damaged.bytes[i] ^= 0x10;
        int status = hcy_buffer_import(&buf, dev, &damaged);
        taken += !status;
        /* Bytes behind what a version uses are nobody's. */
        other += status != HCY_EFORMAT && status != HCY_ECORRUPT && status != HCY_ESTATE;
        hcy_buffer_release(buf);
    }
    ok(!taken && !other, "a handle with a damaged byte is refused (%d taken, %d otherwise)", taken, other);
}

/* The sum is no secret: whoever makes up a handle gets it right. */
static void make_up(hcy_buffer_handle *handle, size_t at)
{
    uint64_t sum = 0xcbf29ce484222325u;
    handle->bytes[at] ^= 1;
    for (size_t i = 0; i < 240; i++)
        sum = (sum ^ handle->bytes[i]) * 0x100000001b3u;
    memcpy(handle->bytes + 240, &sum, sizeof sum);
}

static void test_refused(hcy_device *dev, hcy_buffer *shared, const hcy_buffer_handle *handle)
{
    hcy_buffer_handle nothing = { { 0 } };
    hcy_buffer *buf = NULL, *plain = cts_buffer(dev, 64);
    hcy_device *null = cts_open_spec(cts_is("null") ? "cpu" : "null");
    st_says(hcy_buffer_import(&buf, dev, handle), HCY_ESTATE, "retain", "a process's own handle is refused");
    st_says(hcy_buffer_export(&nothing, plain), HCY_EINVAL, "HCY_MEM_SHARED", "other memory has no handle");
    st_says(hcy_buffer_import(&buf, dev, &nothing), HCY_EFORMAT, "no handle", "zeros are no handle");
    st_is(hcy_buffer_import(&buf, null, handle), HCY_EUNSUPPORTED, "a device that shares nothing says so");
    ok(hcy_buffer_size(shared) == N + OFFSET + 100 && hcy_buffer_mem(shared) == HCY_MEM_DEVICE &&
           hcy_buffer_device(shared) == dev,
       "what is shared is a buffer like any other");
    test_damaged(dev, handle);
    hcy_buffer_release(plain);
    hcy_device_release(null);
}

/* Each of these bytes is one that only the memory, or the system, can say is wrong.  A GPU's driver does not look at
 * every byte of its names: then this one leads to the same memory, whose key is the handle's. */
static void test_made_up(const hcy_buffer_handle *handle, bool is_gpu)
{
    static const struct {
        size_t at;
        const char *what;
    } bytes[] = { { 136, "another key" }, { 176, "another name" }, { 150, "more of the key" } };
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        hcy_buffer_handle made = *handle;
        make_up(&made, bytes[i].at);
        const int status = ask_second(&made).status;
        ok(status == HCY_ENOENT || (is_gpu && i == 1 && !status), "a handle that is made up is refused: %s",
           bytes[i].what);
    }
    /* The size of all, the device. */
    hcy_buffer_handle small = *handle, other = *handle;
    make_up(&small, 152);
    ok(ask_second(&small).status < 0, "and one of another size");
    make_up(&other, 16);
    is_int(ask_second(&other).status, HCY_ENODEV, "and one of another device");
}

static void test_share(hcy_device *dev, hcy_buffer *shared)
{
    hcy_buffer_handle handle;
    hcy_buffer *view = NULL;
    st_ok(hcy_buffer_sub(&view, shared, OFFSET, N), "a view of it");
    write_bytes(view);
    st_ok(hcy_buffer_export(&handle, view), "is exported");
    struct answer a = ask_second(&handle);
    ok(!a.status && !a.wrong, "another process has the view's bytes (%s, %d wrong)", hcy_status_name(a.status), a.wrong);
    is_int(count_wrong(view), 0, "and this one those that it has written");
    test_made_up(&handle, hcy_device_get_info(dev)->kind == HCY_KIND_GPU);
    test_refused(dev, shared, &handle);
    write_bytes(view);
    a = ask_second(&handle);
    ok(!a.status && !a.wrong, "a handle serves again");
    hcy_buffer_release(view);
    hcy_buffer_release(shared);
    is_int(ask_second(&handle).status, HCY_ENOENT, "but not after the memory was released");
}

static void test_faults(void)
{
    char spec[256];
    hcy_device *dev = cts_open_spec(cts_with(spec, sizeof spec, cts_spec, "@fail-alloc=1"));
    hcy_buffer *buf = NULL;
    st_is(hcy_buffer_create(&buf, dev, HCY_MEM_SHARED, 64), HCY_ENOMEM, "an allocation that is to fail does");
    st_ok(hcy_buffer_create(&buf, dev, HCY_MEM_SHARED, 64), "and the next does not");
    hcy_buffer_release(buf);
    ok(hcy_buffer_create(&buf, dev, HCY_MEM_SHARED, SIZE_MAX - 64) < 0, "nor is there all of memory");
    hcy_device_release(dev);
}

/* On CPUs, where shared memory is a file to the system, a limit of files' sizes ends whoever goes beyond it. */
static void test_limit(hcy_device *dev)
{
    struct rlimit before, small;
    hcy_buffer *buf = NULL;
    if (getrlimit(RLIMIT_FSIZE, &before))
        bail_out("no limits");
    small = (struct rlimit){ 1 << 20, before.rlim_max };
    const bool limited = !setrlimit(RLIMIT_FSIZE, &small);
    const int status = hcy_buffer_create(&buf, dev, HCY_MEM_SHARED, 2 << 20);
    if (limited && setrlimit(RLIMIT_FSIZE, &before))
        bail_out("the limit stays");
    ok(!status || (status == HCY_ENOMEM && strstr(hcy_last_error()->text, "ulimit -f")),
       "a limit of files' sizes is a status (%s)", hcy_status_name(status));
    hcy_buffer_release(buf);
}

int main(int argc, char **argv)
{
    hcy_buffer *shared = NULL;
    int how = 0;
    if (argc == 5 && !strcmp(argv[1], "second"))
        return second(argv[2], atoi(argv[3]), atoi(argv[4]));
    cts_begin(argc, argv);
    start_second();
    hcy_device *dev = cts_open();
    int status = hcy_buffer_create(&shared, dev, HCY_MEM_SHARED, N + OFFSET + 100);
    if (status == HCY_EUNSUPPORTED) {
        ok(*hcy_last_error()->text, "there is no such memory: %s", hcy_last_error()->text);
    } else {
        st_ok(status, "memory for several processes");
        test_share(dev, shared);
        test_faults();
        if (hcy_device_get_info(dev)->kind == HCY_KIND_CPU)
            test_limit(dev);
    }
    close(to_second);
    ok(waitpid(second_pid, &how, 0) == second_pid && WIFEXITED(how) && !WEXITSTATUS(how), "the second process ends");
    hcy_device_release(dev);
    return done_testing();
}
