/* opencl.c - what an OpenCL device has beyond the conformance suite: the user's programs, its handles, its cache. */
#include "cts.h"

#include "../backends/opencl/halcyon/opencl.h"

#include <halcyon/backend.h>

#include <dirent.h>
#include <dlfcn.h>

static hcy_device *dev;
static hcy_queue *queue;

static const char source[] =
    "typedef struct { double f64; char text[8]; } pack;\n"
    "__kernel void fill_in(__global ulong *out, int a, uint b, long c, ulong d, float e, double f, pack m, "
    "__local uchar *l)\n"
    "{\n"
    "    size_t i = get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * "
    "get_group_id(2));\n"
    "    if (get_local_id(0) + get_local_id(1) + get_local_id(2))\n"
    "        return;\n"
    "    for (int k = 0; k < 100; k++)\n"
    "        l[k] = (uchar)i;\n"
    "    int good = a == -1 && b == 2 && c == -3 && d == 4 && e == 5.5f && f == 6.25 && m.f64 == 7.125 && "
    "m.text[4] == 't' &&\n"
    "               get_local_size(0) == 2 && get_local_size(1) == 1 && get_local_size(2) == 7 && l[99] == "
    "(uchar)i;\n"
    "    out[i] += good ? 1000 + i : 1;\n"
    "}\n"
    "__kernel void add(__global double *x, double more) { x[get_global_id(0)] += more; }\n";

struct pack {
    double f64;
    char text[8];
};

static void test_grid(hcy_program *program)
{
    enum { N = 3 * 4 * 5, AT = 1024 };
    const hcy_grid grid = { { 3, 4, 5 }, { 2, 1, 7 }, 100 };
    struct pack pack = { 7.125, "eight" };
    uint64_t got[N], zero = 0;
    hcy_kernel *kernel = NULL;
    hcy_buffer *root = cts_buffer(dev, N * 8 + AT), *out = NULL, *odd = NULL;
    st_ok(hcy_program_kernel(&kernel, program, "fill_in", NULL), "a kernel is found by its name");
    st_ok(hcy_buffer_sub(&out, root, AT, N * 8), "a view for its results");
    hcy_arg args[] = { hcy_arg_buf(out),  hcy_arg_i32(-1),
                       hcy_arg_u32(2),    hcy_arg_i64(-3),
                       hcy_arg_u64(4),    hcy_arg_f32(5.5f),
                       hcy_arg_f64(6.25), hcy_arg_struct(&pack, sizeof pack) };
    st_ok(hcy_buffer_fill(queue, root, 0, N * 8 + AT, &zero, 8), "zeros");
    st_ok(hcy_launch_grid(queue, kernel, &grid, args, 8), "a launch over a grid, with local memory");
    memset(&pack, 0, sizeof pack);
    st_ok(hcy_buffer_read(queue, got, out, 0, sizeof got), "its results are read");
    st_ok(hcy_queue_finish(queue), "it runs");
    size_t right = 0;
    for (size_t i = 0; i < N; i++)
        right += got[i] == 1000 + i;
    is_int((intmax_t)right, N, "every group ran once, with every argument");
    /* Fewer arguments would be run with those of the launch before, whose buffers may be gone. */
    const hcy_grid plain = { { 3, 4, 5 }, { 2, 1, 7 }, 0 };
    st_says(hcy_launch_grid(queue, kernel, &grid, args, 7), HCY_EINVAL, "takes 9 arguments", "a launch with one less");
    st_says(hcy_launch_grid(queue, kernel, &plain, args, 8), HCY_EINVAL, "takes 9 arguments", "without local memory");
    st_ok(hcy_queue_finish(queue), "the queue goes on");
    st_ok(hcy_buffer_sub(&odd, root, 8, N * 8), "a view across the device's alignment");
    args[0] = hcy_arg_buf(odd);
    hcy_queue *mine = cts_queue(dev);
    st_ok(hcy_launch_grid(mine, kernel, &grid, args, 8), "is launched");
    st_says(hcy_queue_finish(mine), HCY_EINVAL, "multiples of", "and refused, with the alignment");
    hcy_queue_release(mine);
    hcy_buffer_release(odd);
    hcy_buffer_release(root);
    hcy_buffer_release(out);
    hcy_kernel_release(kernel);
}

static void test_typed(hcy_program *program)
{
    static const hcy_arg_decl decl[] = { { "x", HCY_ARG_INOUT, 0 }, { "more", HCY_ARG_F64, 0 } };
    static const hcy_signature signature = { "add", decl, 2 };
    const hcy_grid grid = { { 2, 1, 1 }, { 2, 1, 1 }, 0 };
    double x[4] = { 1, 2, 3, 4 };
    hcy_kernel *kernel = NULL;
    hcy_buffer *buf = cts_buffer(dev, sizeof x);
    int64_t most = 0, multiple = 0;
    hcy_arg good[] = { hcy_arg_buf(buf), hcy_arg_f64(0.5) }, bad[] = { hcy_arg_buf(buf), hcy_arg_f32(0.5f) };
    st_ok(hcy_program_kernel(&kernel, program, "add", &signature), "a kernel with a signature");
    st_says(hcy_launch_grid(queue, kernel, &grid, bad, 2), HCY_EINVAL, "more", "is checked against it");
    st_ok(hcy_kernel_get_i64(&most, kernel, "group_items"), "its largest group");
    st_ok(hcy_kernel_get_i64(&multiple, kernel, "group_multiple"), "what groups should be multiples of");
    ok(most > 0 && multiple > 0 && multiple <= most, "are numbers (%lld, %lld)", (long long)most,
       (long long)multiple);
    st_says(hcy_kernel_get_i64(&most, kernel, "registers"), HCY_ENOENT, "group_items", "another key is refused");
    st_ok(hcy_buffer_write(queue, buf, 0, x, sizeof x), "numbers");
    st_ok(hcy_launch_grid(queue, kernel, &grid, good, 2), "a good launch");
    st_ok(hcy_launch_grid(queue, kernel, &grid, good, 2), "and another");
    hcy_kernel_release(kernel);
    st_ok(hcy_buffer_read(queue, x, buf, 0, sizeof x), "are read");
    st_ok(hcy_queue_finish(queue), "after both");
    ok(x[0] == 2 && x[3] == 5, "and have been added to");
    hcy_buffer_release(buf);
}

static void test_programs(void)
{
    hcy_program *program = NULL, *again = NULL;
    hcy_kernel *kernel = NULL;
    st_ok(hcy_program_create(&program, dev, "opencl-c", source, sizeof source - 1, NULL), "a program");
    st_ok(hcy_program_create(&again, dev, "opencl-c", source, sizeof source - 1, NULL),
          "the same once more, from the cache");
    st_says(hcy_program_kernel(&kernel, program, "nosuch", NULL), HCY_ENOENT, "nosuch",
            "a kernel that it lacks");
    if (cts_has(dev, HCY_CAP_F64)) {
        test_grid(program);
        test_typed(again);
    }
    hcy_program_release(program);
    hcy_program_release(again);
    program = NULL;
    static const char wrong[] = "__kernel void f(void) { no_such_thing(); }";
    st_says(hcy_program_create(&program, dev, "opencl-c", wrong, sizeof wrong - 1, NULL), HCY_ECOMPILE,
            "no_such_thing", "a program that does not compile, with the compiler's words");
    static const char defined[] = "__kernel void f(__global int *x) { x[0] = VALUE; }";
    st_ok(hcy_program_create(&program, dev, "opencl-c", defined, sizeof defined - 1, "-DVALUE=7"),
          "options reach the compiler");
    hcy_program_release(program);
    program = NULL;
    int status = hcy_program_create(&program, dev, "spirv", "no SPIR-V", 9, NULL);
    ok(status == HCY_EUNSUPPORTED || status == HCY_ECOMPILE, "what is no SPIR-V is refused (%s)",
       hcy_last_error()->text);
    st_says(hcy_program_create(&program, dev, "ptx", "x", 1, NULL), HCY_EUNSUPPORTED, "opencl-c",
            "the formats are named");
}

static int value_included(const char *path, int value, const char *options)
{
    static const char text[] = "#include \"hcy_value.h\"\n__kernel void f(__global int *x) { x[0] = VALUE; }";
    const hcy_grid grid = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };
    hcy_program *program = NULL;
    hcy_kernel *kernel = NULL;
    hcy_buffer *buf = cts_buffer(dev, sizeof(int));
    const hcy_arg arg = hcy_arg_buf(buf);
    int got = 0;
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "#define VALUE %d\n", value) < 0 || fclose(f))
        bail_out("%s is not written", path);
    int status = hcy_program_create(&program, dev, "opencl-c", text, sizeof text - 1, options);
    if (!status)
        status = hcy_program_kernel(&kernel, program, "f", NULL);
    if (!status)
        status = hcy_launch_grid(queue, kernel, &grid, &arg, 1);
    if (!status)
        status = hcy_buffer_read(queue, &got, buf, 0, sizeof got);
    if (status || hcy_queue_finish(queue))
        diag("%s", hcy_last_error()->text);
    hcy_kernel_release(kernel);
    hcy_program_release(program);
    hcy_buffer_release(buf);
    return got;
}

/* A file that a text includes may change between two programs of the same text. */
static void test_includes(void)
{
    char dir[] = "/tmp/halcyon-includes-XXXXXX", path[80], options[80];
    if (!mkdtemp(dir))
        bail_out("no temporary folder");
    snprintf(path, sizeof path, "%s/hcy_value.h", dir);
    snprintf(options, sizeof options, "-I%s", dir);
    is_int(value_included(path, 7, options), 7, "a file is included from a folder that the options name");
    is_int(value_included(path, 8, options), 8, "once it has changed, as it is then");
    remove(path);
    rmdir(dir);
}

static void test_handles(void)
{
    void *context = NULL, *device = NULL, *platform = NULL, *mem = NULL, *command_queue = NULL;
    hcy_buffer *buf = cts_buffer(dev, 4096), *same = NULL, *view = NULL;
    size_t offset = 0;
    unsigned char data[64] = { 5 }, got[64] = { 0 };
    st_ok(hcy_opencl_platform(&platform, dev), "a device's platform");
    st_ok(hcy_opencl_device(&device, dev), "its own handle");
    st_ok(hcy_opencl_context(&context, dev), "its context");
    st_ok(hcy_opencl_queue(&command_queue, queue), "a queue's");
    ok(platform && device && context && command_queue, "are there");
    st_ok(hcy_buffer_sub(&view, buf, 100, 100), "a view");
    st_ok(hcy_opencl_mem(&mem, &offset, view), "its cl_mem");
    ok(mem && offset == 100, "and where it begins in that");
    st_ok(hcy_buffer_import_device(&same, dev, (uint64_t)(uintptr_t)mem, 4096, NULL, NULL),
          "a cl_mem is imported");
    ok(hcy_buffer_host(same) == hcy_buffer_host(buf) && !hcy_buffer_host(buf) == !cts_has(dev, HCY_CAP_HOST_MEMORY),
       "with the host's address of it, where all memory has one");
    st_ok(hcy_buffer_write_now(same, 0, data, 64), "written");
    st_ok(hcy_buffer_read_now(got, buf, 0, 64), "and read under its other name");
    is_int(got[0], 5, "the same memory");
    hcy_buffer_release(same);
    st_is(hcy_buffer_import_device(&same, dev, (uint64_t)(uintptr_t)mem, 1 << 20, NULL, NULL), HCY_ERANGE,
          "more than it has is refused");
    hcy_device *cpu = cts_open_spec("cpu@threads=1");
    hcy_buffer *other = cts_buffer(cpu, 64);
    st_is(hcy_opencl_context(&context, cpu), HCY_ENOENT, "a device of another backend has no context");
    st_is(hcy_opencl_mem(&mem, &offset, other), HCY_ENOENT, "nor its memory a cl_mem");
    hcy_buffer_release(other);
    hcy_device_release(cpu);
    hcy_buffer_release(view);
    hcy_buffer_release(buf);
}

/* Rows of parameters of our kernels: named, kept, found again; nothing of it is left. */
static int64_t row_of(const char *options)
{
    char text[320];
    int64_t row = -1;
    hcy_device *with = NULL;
    snprintf(text, sizeof text, "%s%s", hcy_device_get_info(dev)->name, options);
    if (!hcy_device_open(&with, text) && hcy_device_get_i64(&row, with, "tuning_row"))
        row = -2;
    hcy_device_release(with);
    return row;
}

static void test_rows(void)
{
    char dir[] = "/tmp/halcyon-rows-XXXXXX", before[4096], path[512];
    int64_t rows = 0;
    snprintf(before, sizeof before, "%s", getenv("HALCYON_CACHE_DIR") ? getenv("HALCYON_CACHE_DIR") : "");
    if (!mkdtemp(dir))
        bail_out("no directory %s", dir);
    setenv("HALCYON_CACHE_DIR", dir, 1);
    st_ok(hcy_device_get_i64(&rows, dev, "subnormals"), "whether floats may be subnormal");
    ok(rows == 0 || rows == 1, "yes or no");
    st_ok(hcy_device_get_i64(&rows, dev, "tuning_rows"), "how many rows of parameters there are");
    ok(rows > 1, "more than one");
    is_int(row_of(""), 0, "the first, for this device");
    is_int(row_of("@row=1"), 1, "or the one that is named");
    is_int(row_of(""), 0, "that once");
    is_int(row_of("@row=1@keep=1"), 1, "a row that is to be kept");
    is_int(row_of(""), 1, "is there when the device is opened again");
    is_int(row_of("@row=0"), 0, "unless another is named");
    is_int(row_of("@row=99"), -1, "no such row");
    is_int(row_of("@keep=1"), -1, "to keep, but none named");
    snprintf(path, sizeof path, "%s/kernels", dir);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    is_int(row_of(""), 0, "what was kept is gone");
    ok(!rmdir(path) && !rmdir(dir), "with its directory");
    setenv("HALCYON_CACHE_DIR", before, 1);
}

/* --- A program's own commands --- */

static void *find_call(const char *name)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *call = library ? dlsym(library, name) : NULL;
    if (!call)
        bail_out("libOpenCL.so.1 has no %s", name);
    return call;
}

/* A program's own command in a queue, which runs when the program says so, keeps a buffer that the program and the
 * pool have nothing to do with any more. */
static void test_keep(void)
{
    enum { SIZE = 1 << 16 };
    void *(*make_gate)(void *context, int *error) = NULL;
    int (*open_gate)(void *event, int status) = NULL, (*forget)(void *event) = NULL;
    int (*fill)(void *q, void *mem, const void *pattern, size_t n, size_t at, size_t size, unsigned waits,
                void *const *events, void **event) = NULL;
    *(void **)&make_gate = find_call("clCreateUserEvent");
    *(void **)&open_gate = find_call("clSetUserEventStatus");
    *(void **)&fill = find_call("clEnqueueFillBuffer");
    *(void **)&forget = find_call("clReleaseEvent");
    const int theirs = 0x7777, ours = 0x2222;
    void *q = NULL, *context = NULL, *mem = NULL;
    size_t at = 0;
    int error = 0, got = 0;
    hcy_queue *mine = cts_queue(dev);
    hcy_buffer *buf = cts_buffer(dev, SIZE), *next = NULL;
    int status = hcy_opencl_queue(&q, mine);
    status = cts_first(status, hcy_opencl_context(&context, dev));
    st_ok(cts_first(status, hcy_opencl_mem(&mem, &at, buf)), "handles of OpenCL's");
    void *gate = make_gate(context, &error);
    is_int(fill(q, mem, &theirs, sizeof theirs, at, SIZE, 1, &gate, NULL), 0, "a command of the program's own");
    st_ok(hcy_queue_keep(mine, &buf, 1), "its buffer is kept");
    hcy_buffer_release(buf);
    st_is(hcy_queue_finish_within(mine, 0), HCY_ETIMEOUT, "as long as the command has not run");
    next = cts_buffer(dev, SIZE);
    status = hcy_buffer_fill(queue, next, 0, SIZE, &ours, sizeof ours);
    st_ok(cts_first(status, hcy_queue_finish(queue)), "another buffer is filled meanwhile");
    is_int(open_gate(gate, 0), 0, "the command may run");
    st_ok(hcy_queue_finish(mine), "and has");
    st_ok(hcy_buffer_read_now(&got, next, 0, sizeof got), "the other buffer is read");
    is_int(got, ours, "which it has not written to");
    forget(gate);
    hcy_buffer_release(next);
    hcy_queue_release(mine);
}

/* --- The device's own times --- */

enum { QUEUE_PROPERTIES = 0x1093, QUEUE_PROFILING = 2 };

static uint64_t properties_of(hcy_queue *of)
{
    int (*info)(void *queue, unsigned what, size_t size, void *value, size_t *needed) = NULL;
    void *handle = NULL;
    uint64_t value = 0;
    *(void **)&info = find_call("clGetCommandQueueInfo");
    if (hcy_opencl_queue(&handle, of) || info(handle, QUEUE_PROPERTIES, sizeof value, &value, NULL))
        bail_out("a queue does not say what it is");
    return value;
}

static void test_profile(void)
{
    enum { SIZE = 8 << 20 };
    char spec[256];
    hcy_device *d = cts_open_spec(cts_with(spec, sizeof spec, cts_spec, "@profile=1")), *none = NULL;
    hcy_queue *q = cts_queue(d);
    hcy_buffer *buf = cts_buffer(d, SIZE);
    hcy_event *events[2] = { NULL, NULL };
    uint64_t times[2] = { 0, 0 }, zero = 0, before = hcy_now_ns();
    ok(!(properties_of(queue) & QUEUE_PROFILING), "queues do not measure without being asked");
    ok(properties_of(q) & QUEUE_PROFILING, "@profile=1: they do");
    int status = hcy_event_record(&events[0], q);
    status = cts_first(status, hcy_buffer_fill(q, buf, 0, SIZE, &zero, 8));
    status = cts_first(status, hcy_event_record(&events[1], q));
    status = cts_first(status, hcy_queue_finish(q));
    for (int i = 0; i < 2; i++)
        status = cts_first(status, hcy_event_time(&times[i], events[i]));
    st_ok(status, "a fill between two events");
    ok(before <= times[0] && times[0] < times[1] && times[1] <= hcy_now_ns(), "takes some of the host's time (%.1f us)",
       1e-3 * (double)(times[1] - times[0]));
    st_says(hcy_device_open(&none, cts_with(spec, sizeof spec, cts_spec, "@profile=2")), HCY_EINVAL, "0 or 1",
            "another value is refused");
    for (int i = 0; i < 2; i++)
        hcy_event_release(events[i]);
    hcy_buffer_release(buf);
    hcy_queue_release(q);
    hcy_device_release(d);
}

/* Our own transforms where they are asked for, and VkFFT's only where it is in the build. */
static void test_own_fft(void)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_device *own = NULL;
    hcy_fft *fft = NULL;
    int64_t is_own = -1;
    desc.n[0] = 16;
    st_ok(hcy_device_open(&own, "opencl:0@fft=own"), "a device with our Fourier transforms");
    ok(hcy_device_get_info(own)->caps & HCY_CAP_FFT, "says that it has some");
    st_ok(hcy_device_get_i64(&is_own, own, "own_fft"), "has a number for whose they are");
    is_int(is_own, 1, "which says ours");
    st_ok(hcy_fft_create(&fft, own, &desc), "and makes plans");
    ok(hcy_fft_workspace(fft) > 0, "that want memory of the caller's");
    hcy_fft_release(fft);
    hcy_device_release(own);
    own = NULL;
    st_says(hcy_device_open(&own, "opencl:0@fft=fftw"), HCY_EINVAL, "fft", "another library's");
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    test_programs();
    test_includes();
    test_handles();
    test_rows();
    test_keep();
    test_profile();
    test_own_fft();
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
