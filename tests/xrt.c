/* xrt.c - the XRT backend's own: names and options of cards, programs that are damaged or of others, cards that fault.
 *
 * Its argument says what is tried: "names", "programs", or how the virtual card was told to fail (tests/local.mk).
 */
#include "cts.h"

#include "../backends/xrt/xclbin_format.h"

#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 140 << 20 }; /* more than half of a memory of the virtual card "ddr" */

static const char *platform = "hbm";
static char path[] = "/tmp/halcyon-xclbin.XXXXXX";

static unsigned char *read_program(size_t *size)
{
    char file[600];
    snprintf(file, sizeof file, "%s/virtual_%s.xclbin", getenv("top_builddir"), platform);
    FILE *f = fopen(file, "rb");
    if (!f)
        bail_out("no %s", file);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *data = malloc(*size);
    if (!data || fread(data, 1, *size, f) != *size)
        bail_out("%s cannot be read", file);
    fclose(f);
    return data;
}

static int open_program(const void *data, size_t size)
{
    char spec[200];
    hcy_device *dev = NULL;
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        bail_out("%s cannot be written", path);
    snprintf(spec, sizeof spec, "xrt:0@xclbin=%s", path);
    int status = hcy_device_open(&dev, spec);
    hcy_device_release(dev);
    return status;
}

/* Where `word` is in the program; it is there. */
static unsigned char *find(unsigned char *data, size_t size, const char *word)
{
    size_t n = strlen(word), i = 0;
    while (i + n < size && memcmp(data + i, word, n) != 0)
        i++;
    if (i + n >= size)
        bail_out("the program has no \"%s\"", word);
    return data + i;
}

static struct xclbin_section *section(unsigned char *data, uint32_t kind)
{
    struct xclbin_head *h = (struct xclbin_head *)(void *)data;
    uint32_t i = 0;
    while (h->sections[i].kind != kind)
        i++;
    return &h->sections[i];
}

static void test_damaged(const unsigned char *good, size_t size)
{
    unsigned char *data = malloc(size);
    size_t cuts[] = { 1, 100, 400, 495, 496, 700, 4000, size - 1 }, refused = 0,
           n = sizeof cuts / sizeof cuts[0];
    if (!data)
        bail_out("out of memory");
    for (size_t i = 0; i < n; i++)
        refused += open_program(good, cuts[i]) == HCY_EFORMAT;
    is_int((int)refused, (int)n, "a program that is cut short is refused, wherever");
    memcpy(data, good, size);
    data[3] ^= 1;
    st_says(open_program(data, size), HCY_EFORMAT, "begin", "another magic word");
    const uint32_t kinds[] = { XCLBIN_BITSTREAM, XCLBIN_METADATA, XCLBIN_MEMORIES, XCLBIN_UNITS,
                               XCLBIN_CONNECTIVITY };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        memcpy(data, good, size);
        section(data, kinds[i])->size = size;
        st_says(open_program(data, size), HCY_EFORMAT, "section", "section %u reaches over the end",
                kinds[i]);
    }
    for (size_t i = 2; i < sizeof kinds / sizeof kinds[0]; i++) {
        memcpy(data, good, size);
        memset(data + section(data, kinds[i])->offset, 0x7f, 4);
        st_says(open_program(data, size), HCY_EFORMAT, "table", "table %u has too many entries", kinds[i]);
    }
    free(data);
}

static void test_other(const unsigned char *good, size_t size)
{
    static const struct {
        const char *from, *to;
        int status;
        const char *word, *what;
    } others[] = {
        { "halcyon_virtual_hbm_1", "halcyon_virtual_hbm_2", HCY_EINVAL, "is for cards",
          "of another platform" },
        { "halcyon-interface 2", "halcyon-interface 9", HCY_EABI, "interface", "of another interface" },
        { "family bslz4 ", "family bslz5 ", HCY_EABI, "version", "of another version of a family" },
        { "arg name=\"chunks\"", "arg name=\"chonks\"", HCY_EABI, "chunks", "with another argument" },
        { "size=\"0x8\" offset=\"0x1c\"", "size=\"0x8\" offset=\"0x20\"", HCY_EABI, "argument 1",
          "with other registers" },
        { "addressQualifier=\"1\"", "addressQualifier=\"0\"", HCY_EABI, "argument 1",
          "with a number for a buffer" },
    };
    unsigned char *data = malloc(size);
    if (!data)
        bail_out("out of memory");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        memcpy(data, good, size);
        memcpy(find(data, size, others[i].from), others[i].to, strlen(others[i].to));
        st_says(open_program(data, size), others[i].status, others[i].word, "a program %s is refused",
                others[i].what);
    }
    free(data);
}

static void test_programs(void)
{
    size_t size;
    unsigned char *good = read_program(&size);
    int fd = mkstemp(path);
    if (fd < 0)
        bail_out("no temporary file");
    close(fd);
    test_damaged(good, size);
    test_other(good, size);
    st_ok(open_program(good, size), "the program as it was opens");
    remove(path);
    free(good);
    hcy_device *dev = NULL;
    st_says(hcy_device_open(&dev, "xrt:0@xclbin=/no/such"), HCY_ENOENT, "/no/such",
            "a program that is not there");
    setenv("HALCYON_XCLBIN_PATH", "/no/such", 1);
    st_says(hcy_device_open(&dev, "xrt:0"), HCY_ENOENT, "HALCYON_XCLBIN_PATH", "a search path with none");
}

static void test_names(void)
{
    static const struct {
        const char *spec;
        int status;
        const char *word;
    } wrong[] = {
        { "xrt:9", HCY_ENODEV, "no such FPGA card" }, { "xrt:0000:ff:00.1", HCY_ENODEV, "no such FPGA card" },
        { "xrt:0@speed=9", HCY_EINVAL, "speed" },     { "xrt:0@timeout-ms=0", HCY_EINVAL, "timeout-ms" },
        { "xrt:0@memory=x", HCY_EINVAL, "memory" },
    };
    hcy_device *dev = NULL;
    int64_t n = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        st_says(hcy_device_open(&dev, wrong[i].spec), wrong[i].status, wrong[i].word, "%s is refused",
                wrong[i].spec);
    st_ok(hcy_device_open(&dev, "xrt:0000:d1:00.1@timeout-ms=70"), "a card by its address");
    const hcy_device_info *info = hcy_device_get_info(dev);
    ok(info->kind == HCY_KIND_FPGA && info->caps & HCY_CAP_VIRTUAL, "is an FPGA, and virtual");
    ok(strstr(info->description, "its speed means nothing") != NULL, "which its description says");
    ok(!strcmp(info->name, "xrt:1@timeout-ms=70"), "it is the second (%s)", info->name);
    st_ok(hcy_device_get_i64(&n, dev, "timeout_ms"), "it has its");
    is_int((int)n, 70, "time");
    hcy_device_release(dev);
}

/* The second run goes wrong on the card itself: the device is lost, the other one is not, the process neither. */
static void test_lost(const char *spec, bool gone)
{
    struct cts_work work, others;
    hcy_device *dev = cts_open_spec(spec), *other = cts_open_spec("xrt:1");
    hcy_queue *queue = cts_queue(dev), *theirs = cts_queue(other);
    if (cts_work_make(&work, dev) || cts_work_make(&others, other))
        bail_out("no work: %s", hcy_last_error()->text);
    st_ok(cts_work_launch(&work, queue), "a run");
    st_ok(hcy_queue_finish(queue), "ends well");
    st_ok(cts_work_launch(&work, queue), "the next one");
    st_says(hcy_queue_finish(queue), HCY_ELOST, "a run failed", "fails, and the device is lost");
    st_is(hcy_device_status(dev), HCY_ELOST, "for good");
    st_ok(cts_work_launch(&others, theirs), "a run on the other card");
    st_ok(hcy_queue_finish(theirs), "ends well");
    cts_work_free(&work);
    cts_work_free(&others);
    hcy_queue_release(queue);
    hcy_queue_release(theirs);
    hcy_device_release(dev);
    hcy_device_release(other);
    st_says(hcy_device_open(&dev, spec), gone ? HCY_ENODEV : HCY_EBACKEND, "lost",
            "it cannot be opened again");
}

static void test_no_room(void)
{
    hcy_device *dev = cts_open_spec("xrt:0");
    hcy_buffer *buf = NULL, *more = NULL;
    st_ok(hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, 1 << 20), "an allocation");
    st_ok(hcy_buffer_create(&more, dev, HCY_MEM_DEVICE, 1 << 20), "one that the card refuses is tried again");
    hcy_buffer_release(more);
    st_is(hcy_buffer_create(&more, dev, HCY_MEM_DEVICE, (size_t)1 << 40), HCY_ENOMEM,
          "more than the card has is refused");
    hcy_buffer_release(buf);
    hcy_device_release(dev);
}

/* The device is lost, and the process goes on with the other card.  At the end of the process XRT's own objects go
 * while its card still runs, which has been seen to crash: this ends at once. */
static void test_hang(void)
{
    struct cts_work work;
    hcy_device *dev = cts_open_spec("xrt:0@timeout-ms=200");
    hcy_queue *queue = cts_queue(dev);
    if (cts_work_make(&work, dev))
        bail_out("no work: %s", hcy_last_error()->text);
    st_ok(cts_work_launch(&work, queue), "a run that never ends");
    st_says(hcy_queue_finish(queue), HCY_ELOST, "in time", "is given up, and the device is lost");
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    dev = cts_open_spec("xrt:1");
    queue = cts_queue(dev);
    if (cts_work_make(&work, dev))
        bail_out("no work: %s", hcy_last_error()->text);
    st_ok(cts_work_launch(&work, queue), "a run on the other card");
    st_ok(hcy_queue_finish(queue), "ends well");
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    int failed = done_testing();
    fflush(NULL);
    _exit(failed);
}

/* Another process on the same card: says when it has done a launch and allocated, and waits until it may end. */
static int other_process(int said, int asked)
{
    struct cts_work work;
    hcy_device *dev = NULL;
    hcy_buffer *buf[2] = { NULL, NULL };
    hcy_queue *queue = NULL;
    char byte = 0;
    int status = hcy_device_open(&dev, "xrt:0");
    for (int i = 0; i < 2 && !status; i++)
        status = hcy_buffer_create(&buf[i], dev, HCY_MEM_DEVICE, (size_t)ROOM);
    if (!status && !(status = cts_work_make(&work, dev)) && !(status = hcy_queue_create(&queue, dev)))
        status = cts_work_launch(&work, queue);
    if (!status)
        status = hcy_queue_finish(queue);
    byte = (char)(status != 0);
    return write(said, &byte, 1) != 1 || read(asked, &byte, 1) != 0; /* dies with all that it holds */
}

/* Two processes with one program use one card: contexts, memory, another program. */
static void test_shared(void)
{
    int said[2], asked[2], state = 1;
    char byte = 1;
    size_t size;
    platform = "ddr";
    unsigned char *program = read_program(&size);
    if (pipe(said) || pipe(asked) || mkstemp(path) < 0)
        bail_out("no pipes, or no temporary file");
    pid_t child = fork();
    if (!child) {
        close(asked[1]);
        _exit(other_process(said[1], asked[0]));
    }
    close(said[1]);
    ok(read(said[0], &byte, 1) == 1 && !byte, "another process uses the card");
    hcy_device *dev = cts_open_spec("xrt:0");
    struct cts_work work;
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *buf = NULL;
    if (cts_work_make(&work, dev))
        bail_out("no work: %s", hcy_last_error()->text);
    st_ok(cts_work_launch(&work, queue), "a launch beside it");
    st_ok(hcy_queue_finish(queue), "ends well");
    st_is(hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, (size_t)ROOM), HCY_ENOMEM,
          "what the other one has taken is not there");
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    ((struct xclbin_head *)(void *)program)->uuid[3] ^= 1;
    st_says(open_program(program, size), HCY_EBUSY, "another", "another program is refused while it does");
    close(asked[1]);
    ok(waitpid(child, &state, 0) == child && !state, "when it has ended");
    st_ok(open_program(program, size), "that is loaded");
    remove(path);
    free(program);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "names"))
        test_names();
    else if (!strcmp(what, "programs"))
        test_programs();
    else if (!strcmp(what, "shared"))
        test_shared();
    else if (!strcmp(what, "alloc"))
        test_no_room();
    else if (!strcmp(what, "hang"))
        test_hang();
    else
        test_lost("xrt:0", !strcmp(what, "lose"));
    return done_testing();
}
