/* xrt.c - the XRT backend's own: names and options of cards, programs that are damaged or of others, cards that fault.
 *
 * Its argument says what is tried: "names", "programs", a "user"'s program, results that come "late", or how the
 * virtual card was told to fail (tests/local.mk).
 */
#include "cts.h"

#include "../backends/xrt/xclbin_format.h"

#include <halcyon/eval.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 140 << 20 }; /* more than half of a memory of the virtual card "ddr" */

static const char *platform = "hbm";
static char path[] = "/tmp/halcyon-xclbin.XXXXXX";

static unsigned char *read_program_of(const char *whose, size_t *size)
{
    char file[600];
    snprintf(file, sizeof file, "%s/%s_%s.xclbin", getenv("top_builddir"), whose, platform);
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

static unsigned char *read_program(size_t *size)
{
    return read_program_of("virtual", size);
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

/* Each of another memory than there is, then by arguments that no kernel has, which XRT crashes on. */
static void test_connections(const unsigned char *good, size_t size)
{
    unsigned char *data = malloc(size);
    hcy_device *dev = NULL;
    hcy_kernel *kernel = NULL;
    char spec[200];
    if (!data)
        bail_out("out of memory");
    memcpy(data, good, size);
    struct xclbin_connections *c = (void *)(data + section(data, XCLBIN_CONNECTIVITY)->offset);
    c->list[c->n - 1].memory = 1000;
    st_says(open_program(data, size), HCY_EFORMAT, "a connection leads nowhere", "a memory that is not there");
    c->list[c->n - 1].memory = 0;
    for (int32_t i = 0; i < c->n; i++)
        c->list[i].argument = 1000;
    ((struct xclbin_head *)(void *)data)->uuid[3] ^= 1;
    st_ok(open_program(data, size), "arguments that are not there, of whatever kernels");
    snprintf(spec, sizeof spec, "xrt:0@xclbin=%s", path);
    st_ok(hcy_device_open(&dev, spec), "... whose program may be loaded");
    st_says(hcy_kernel_get(&kernel, dev, "bslz4_decode"), HCY_EFORMAT, "arguments that it does not have",
            "... but no kernel of it used");
    hcy_device_release(dev);
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
    test_connections(good, size);
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

static void count_done(void *n)
{
    ++*(int *)n;
}

static hcy_buffer *lend(hcy_device *dev, int *n_back)
{
    static _Alignas(4096) unsigned char host[4096];
    hcy_buffer *lent = NULL;
    if (hcy_buffer_import_host(&lent, dev, host, sizeof host, count_done, n_back))
        bail_out("memory is not lent: %s", hcy_last_error()->text);
    return lent;
}

/* The device is lost, and the process goes on with the other card.  At the end of the process XRT's own objects go
 * while its card still runs, which has been seen to crash: this ends at once. */
static void test_hang(void)
{
    struct cts_work work;
    int n_back = 0;
    hcy_device *dev = cts_open_spec("xrt:0@timeout-ms=200");
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *lent = lend(dev, &n_back);
    if (cts_work_make(&work, dev))
        bail_out("no work: %s", hcy_last_error()->text);
    st_ok(cts_work_launch(&work, queue), "a run that never ends");
    st_says(hcy_queue_finish(queue), HCY_ELOST, "in time", "is given up, and the device is lost");
    hcy_buffer_release(lent);
    is_int(n_back, 0, "what was lent to it is not given back: it may still use it");
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    dev = cts_open_spec("xrt:1");
    queue = cts_queue(dev);
    if (cts_work_make(&work, dev))
        bail_out("no work: %s", hcy_last_error()->text);
    st_ok(cts_work_launch(&work, queue), "a run on the other card");
    st_ok(hcy_queue_finish(queue), "ends well");
    hcy_buffer_release(lend(dev, &n_back));
    is_int(n_back, 1, "and what is lent to that one comes back");
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    int failed = done_testing();
    fflush(NULL);
    _exit(failed);
}

static _Alignas(4096) unsigned char late[4096];
static volatile sig_atomic_t n_late;

/* Whoever writes there first waits for half a second. */
static void come_late(int sig)
{
    (void)sig;
    if (n_late++ || mprotect(late, sizeof late, PROT_READ | PROT_WRITE))
        _exit(99);
    nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
}

/* One launch's runs on two units: the results of the first take longer to bring home than the second may run. */
static void test_late(void)
{
    enum { FRAMES = 4 };
    struct cts_work work;
    int n_back = 0;
    hcy_device *dev = cts_open_spec("xrt:0@timeout-ms=300");
    hcy_queue *queue = cts_queue(dev);
    if (cts_work_make(&work, dev))
        bail_out("no work: %s", hcy_last_error()->text);
    hcy_buffer *frames = cts_buffer(dev, FRAMES * sizeof(hcy_bslz4_frame)), *images = NULL,
               *reports = cts_buffer(dev, FRAMES * sizeof(hcy_frame_report));
    hcy_bslz4_frame frame;
    int status = hcy_buffer_read_now(&frame, work.frames, 0, sizeof frame);
    for (size_t i = 0; !status && i < FRAMES; i++)
        status = hcy_buffer_write_now(frames, i * sizeof frame, &frame, sizeof frame);
    if (status || hcy_buffer_import_host(&images, dev, late, sizeof late, count_done, &n_back))
        bail_out("no frames: %s", hcy_last_error()->text);
    work.args[1] = hcy_arg_buf(frames);
    work.args[4] = hcy_arg_buf(images);
    work.args[5] = hcy_arg_buf(reports);
    sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = come_late }, NULL);
    mprotect(late, sizeof late, PROT_READ);
    st_ok(hcy_launch(queue, work.kernel, FRAMES, work.args, CTS_WORK_ARGS), "a launch of several runs");
    st_ok(hcy_queue_finish(queue), "whose last ended in time, though it was looked at later");
    is_int(n_late, 1, "the first one's results came late");
    hcy_buffer_release(images);
    is_int(n_back, 1, "what was lent comes back");
    hcy_buffer_release(frames);
    hcy_buffer_release(reports);
    cts_work_free(&work);
    hcy_queue_release(queue);
    hcy_device_release(dev);
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

/* --- A user's own program --- */

enum { N = 5000, FIRST = 100 };

static const hcy_grid one_run = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };

/* y = 3 x + 0.5 from FIRST on, with -1 before. */
static void check_scaled(const float *y, const char *how)
{
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += y[i] != (i < FIRST ? -1 : (float)(3 * (double)i + 0.5));
    is_int(wrong, 0, "numbers that are wrong (%s)", how);
}

static int launch_scale(hcy_queue *queue, hcy_kernel *kernel, hcy_buffer *y, hcy_buffer *x)
{
    const hcy_arg args[] = { hcy_arg_buf(y), hcy_arg_buf(x), hcy_arg_f32(3), hcy_arg_f64(0.5),
                             hcy_arg_u32(FIRST), hcy_arg_u64(N) };
    return hcy_launch_grid(queue, kernel, &one_run, args, 6);
}

/* With buffers of this memory; several launches use both units, whose memories differ on "ddr". */
static void test_scale(hcy_program *program, hcy_queue *queue, int mem, bool typed)
{
    static const hcy_arg_decl args[] = { { "y", HCY_ARG_OUT, 0 },    { "x", HCY_ARG_IN, 0 },
                                         { "factor", HCY_ARG_F32, 0 }, { "shift", HCY_ARG_F64, 0 },
                                         { "first", HCY_ARG_U32, 0 },  { "n", HCY_ARG_U64, 0 } };
    static const hcy_signature signature = { "user_scale", args, 6 };
    static float x[N], y[N];
    hcy_device *dev = hcy_queue_device(queue);
    hcy_buffer *from = NULL, *to = NULL;
    hcy_kernel *kernel = NULL;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = -1;
    }
    int status = hcy_program_kernel(&kernel, program, "user_scale", typed ? &signature : NULL);
    if (!status)
        status = hcy_buffer_create(&from, dev, mem, sizeof x);
    if (!status)
        status = hcy_buffer_create(&to, dev, mem, sizeof y);
    if (!status)
        status = hcy_buffer_write(queue, from, 0, x, sizeof x);
    if (!status)
        status = hcy_buffer_write(queue, to, 0, y, sizeof y);
    for (int i = 0; i < 4 && !status; i++)
        status = launch_scale(queue, kernel, to, from);
    if (!status)
        status = hcy_buffer_read(queue, y, to, 0, sizeof y);
    st_ok(status ? status : hcy_queue_finish(queue), "four runs of a kernel by its name");
    check_scaled(y, typed ? "with a signature" : "without one");
    hcy_kernel_release(kernel);
    hcy_buffer_release(from);
    hcy_buffer_release(to);
}

static void test_refused_launches(hcy_program *program, hcy_queue *queue)
{
    const hcy_grid many = { { 2, 1, 1 }, { 1, 1, 1 }, 0 };
    hcy_buffer *buf = NULL;
    hcy_kernel *kernel = NULL;
    st_says(hcy_program_kernel(&kernel, program, "nosuch", NULL), HCY_ENOENT, "nosuch", "a kernel that it has not");
    st_ok(hcy_program_kernel(&kernel, program, "user_count", NULL), "one that it has");
    st_ok(hcy_buffer_create(&buf, hcy_queue_device(queue), HCY_MEM_DEVICE, 4096), "a buffer");
    const hcy_arg good[] = { hcy_arg_buf(buf), hcy_arg_i32(1) }, wide[] = { hcy_arg_buf(buf), hcy_arg_i64(1) },
                  swapped[] = { hcy_arg_i32(1), hcy_arg_buf(buf) };
    st_says(hcy_launch_grid(queue, kernel, &many, good, 2), HCY_EINVAL, "one run", "a grid of two groups");
    st_says(hcy_launch_grid(queue, kernel, &one_run, good, 1), HCY_EINVAL, "2 arguments", "an argument too few");
    st_says(hcy_launch_grid(queue, kernel, &one_run, wide, 2), HCY_EINVAL, "(which) must be a number of 4 bytes",
            "a number of 8 bytes");
    st_says(hcy_launch_grid(queue, kernel, &one_run, swapped, 2), HCY_EINVAL, "(counts) must be a buffer",
            "a number for a buffer");
    size_t size = 0;
    st_says(hcy_kernel_scratch_size(&size, kernel, 1, good, 2), HCY_EUNSUPPORTED, "own kernel", "its scratch memory");
    st_says(hcy_kernel_preferred_batch(&size, kernel, good, 2), HCY_EUNSUPPORTED, "own kernel", "its items at once");
    hcy_kernel_release(kernel);
    st_ok(hcy_program_kernel(&kernel, program, "user_scale", NULL), "another kernel");
    const hcy_arg bits[] = { hcy_arg_buf(buf), hcy_arg_buf(buf),   hcy_arg_u32(3),
                             hcy_arg_f64(1),   hcy_arg_u32(FIRST), hcy_arg_u64(0) };
    st_says(hcy_launch_grid(queue, kernel, &one_run, bits, 6), HCY_EINVAL, "(factor) must be a float",
            "an integer for a float");
    hcy_kernel_release(kernel);
    hcy_buffer_release(buf);
}

/* The link file of "ddr" has y and x in two memories, and nobody says which copy is the result. */
static void test_shared_bytes(hcy_program *program, hcy_device *dev)
{
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *buf = NULL;
    hcy_kernel *kernel = NULL;
    st_ok(hcy_program_kernel(&kernel, program, "user_scale", NULL), "a kernel without a signature");
    st_ok(hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, 4096), "a buffer for both of its arguments");
    int status = launch_scale(queue, kernel, buf, buf);
    st_says(status ? status : hcy_queue_finish(queue), HCY_EINVAL, "different memories", "which has them apart");
    hcy_kernel_release(kernel);
    hcy_buffer_release(buf);
    hcy_queue_release(queue);
}

static void test_refused_programs(hcy_device *dev, const unsigned char *mine, size_t size)
{
    hcy_program *program = NULL;
    unsigned char *other = malloc(size);
    if (!other)
        bail_out("out of memory");
    memcpy(other, mine, size);
    st_says(hcy_program_create(&program, dev, "opencl-c", mine, size, NULL), HCY_EUNSUPPORTED, "\"xclbin\"",
            "another format, and the one that is known");
    st_says(hcy_program_create(&program, dev, "xclbin", mine, size - 1, NULL), HCY_EFORMAT, "cut short",
            "a program that is cut short");
    find(other, size, "halcyon_virtual_")[20] ^= 1;
    st_says(hcy_program_create(&program, dev, "xclbin", other, size, NULL), HCY_EINVAL, "is for cards",
            "one for other cards");
    free(other);
}

/* A program whose metadata say `to` in the place of `from`; it is another one. */
static void refuse_kernel(hcy_device *dev, const unsigned char *mine, size_t size, const char *from, const char *to,
                          const char *word)
{
    static unsigned char number;
    hcy_program *program = NULL;
    hcy_kernel *kernel = NULL;
    unsigned char *other = malloc(size);
    if (!other)
        bail_out("out of memory");
    memcpy(other, mine, size);
    memcpy(find(other, size, from), to, strlen(to));
    ((struct xclbin_head *)(void *)other)->uuid[3] ^= ++number;
    st_ok(hcy_program_create(&program, dev, "xclbin", other, size, NULL), "a program with %s", to);
    st_says(hcy_program_kernel(&kernel, program, "user_scale", NULL), HCY_EUNSUPPORTED, word, "whose kernel is refused");
    hcy_program_release(program);
    free(other);
}

static void test_refused_kernels(hcy_device *dev, const unsigned char *mine, size_t size)
{
    refuse_kernel(dev, mine, size, "name=\"x\" addressQualifier=\"1\"", "name=\"x\" addressQualifier=\"4\"",
                  "argument 1 (x) is a stream");
    refuse_kernel(dev, mine, size, "size=\"0x4\" offset", "size=\"0x9\" offset", "argument 2 (factor) has 9 bytes");
}

/* What a program takes the place of: nothing may hold that, in this device or in another of the same card. */
static void test_in_place(hcy_device *dev, const unsigned char *mine, size_t size)
{
    hcy_device *twin = NULL;
    hcy_buffer *buf = NULL;
    hcy_kernel *kernel = NULL;
    hcy_program *program = NULL;
    st_ok(hcy_buffer_create(&buf, dev, HCY_MEM_PINNED, 4096), "a buffer");
    st_says(hcy_program_create(&program, dev, "xclbin", mine, size, NULL), HCY_EBUSY, "before them",
            "holds the program that is there");
    hcy_buffer_release(buf);
    st_ok(hcy_device_open(&twin, "xrt:0"), "so does the card as a second device");
    st_says(hcy_program_create(&program, dev, "xclbin", mine, size, NULL), HCY_EBUSY, "another device", "with that program");
    hcy_device_release(twin);
    st_ok(hcy_kernel_get(&kernel, dev, "bslz4_decode"), "and a kernel of it");
    st_is(hcy_program_create(&program, dev, "xclbin", mine, size, NULL), HCY_EBUSY, "as long as that is there");
    hcy_kernel_release(kernel);
    st_ok(hcy_program_create(&program, dev, "xclbin", mine, size, NULL), "then the user's is taken");
    st_is(hcy_kernel_get(&kernel, dev, "bslz4_decode"), HCY_EUNSUPPORTED, "the one before is gone");
    st_says(hcy_device_open(&twin, "xrt:0"), HCY_EBUSY, "another program", "and not loaded under the user's");
    hcy_queue *queue = cts_queue(dev);
    test_scale(program, queue, HCY_MEM_DEVICE, true);
    test_scale(program, queue, HCY_MEM_PINNED, true);
    test_scale(program, queue, HCY_MEM_PINNED, false);
    test_refused_launches(program, queue);
    if (!strcmp(platform, "ddr"))
        test_shared_bytes(program, dev);
    hcy_queue_release(queue);
    hcy_program_release(program);
}

/* A device that was opened with it: the same program again, whatever holds it. */
static void test_opened_with(const unsigned char *mine, size_t size)
{
    char spec[700];
    snprintf(spec, sizeof spec, "xrt:0@xclbin=%s/user_%s.xclbin", getenv("top_builddir"), platform);
    hcy_device *dev = cts_open_spec(spec);
    hcy_queue *queue = cts_queue(dev);
    hcy_buffer *buf = NULL;
    hcy_program *program = NULL;
    st_ok(hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, 4096), "a buffer of a device that was opened with it");
    st_ok(hcy_program_create(&program, dev, "xclbin", mine, size, NULL), "is not in its own program's way");
    test_scale(program, queue, HCY_MEM_DEVICE, false);
    hcy_program_release(program);
    hcy_buffer_release(buf);
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

/* It takes programs, but none that is compiled meanwhile. */
static void test_expression(hcy_device *dev)
{
    const int64_t n = N;
    hcy_queue *queue = cts_queue(dev);
    hcy_array *x = NULL;
    st_ok(hcy_array_empty(&x, dev, HCY_FLOAT32, 1, &n), "an array");
    st_says(HCY_EVAL(queue, "x = 2*x", hcy_op_array("x", x)), HCY_EUNSUPPORTED, "no kernel that expressions run in",
            "expressions are refused in words");
    hcy_array_release(x);
    hcy_queue_release(queue);
}

/* Who releases a queue last does not wait for it to go, and its device with it. */
static hcy_device *open_when_free(const char *spec)
{
    hcy_device *dev = NULL;
    for (int i = 0; i < 1000 && hcy_device_open(&dev, spec) == HCY_EBUSY; i++)
        usleep(10000);
    if (!dev)
        bail_out("%s does not open: %s", spec, hcy_last_error()->text);
    return dev;
}

static void test_user(void)
{
    size_t size;
    unsigned char *mine = read_program_of("user", &size);
    hcy_device *dev = cts_open_spec("xrt:0");
    ok(cts_has(dev, HCY_CAP_PROGRAMS), "a card takes programs");
    test_refused_programs(dev, mine, size);
    test_refused_kernels(dev, mine, size);
    hcy_device_release(dev);
    dev = cts_open_spec("xrt:0");
    test_in_place(dev, mine, size);
    hcy_device_release(dev);
    test_opened_with(mine, size);
    dev = open_when_free("xrt:0");
    hcy_kernel *kernel = NULL;
    st_ok(hcy_kernel_get(&kernel, dev, "bslz4_decode"), "opened again, the card has the catalogue's program");
    hcy_kernel_release(kernel);
    test_expression(dev);
    hcy_device_release(dev);
    free(mine);
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
    else if (!strcmp(what, "late"))
        test_late();
    else if (!strncmp(what, "user", 4)) {
        platform = strcmp(what, "user-ddr") ? "hbm" : "ddr";
        test_user();
    }
    else
        test_lost("xrt:0", !strcmp(what, "lose"));
    return done_testing();
}
