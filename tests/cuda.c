/* cuda.c - what an NVIDIA GPU has beyond the conformance suite: handles, the user's programs, numbers of a kernel; the
 * caller's own context, kept across every call, and that of CUDA's runtime library and cuFFT; a kernel that faults.
 *
 * Runs on a GPU, and on the driver without one (fake_cuda.c), which counts what is left besides.
 */
#include "cts_gate.h"

#include "../backends/cuda/halcyon/cuda.h"
#include "../src/array/halcyon/array.h"

#include "tensors.h"

#include <halcyon/backend.h>

#include <dlfcn.h>
#include <stdatomic.h>

static hcy_device *dev;
static hcy_queue *queue;

static const char ptx[] =
    ".version 7.0\n.target sm_60\n.address_size 64\n"
    ".visible .const .align 8 .f64 factor = 0d4000000000000000;\n"
    ".visible .entry add(.param .u64 x, .param .f64 more)\n"
    "{\n"
    "    .reg .b32 %r<5>;\n    .reg .b64 %d<5>;\n    .reg .f64 %f<4>;\n"
    "    ld.param.u64 %d1, [x];\n    ld.param.f64 %f1, [more];\n    cvta.to.global.u64 %d2, %d1;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.s32 %r4, %r1, %r2, %r3;\n    mul.wide.u32 %d3, %r4, 8;\n    add.s64 %d4, %d2, %d3;\n"
    "    ld.global.f64 %f2, [%d4];\n    add.f64 %f3, %f2, %f1;\n    st.global.f64 [%d4], %f3;\n    ret;\n"
    "}\n"
    ".visible .entry fault(.param .u64 x)\n"
    "{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %d<2>;\n"
    "    mov.u64 %d1, 64;\n    mov.u32 %r1, 1;\n    st.global.u32 [%d1], %r1;\n    ret;\n"
    "}\n";

/* --- The driver beside Halcyon --- */

static struct {
    int (*get)(void **context);
    int (*create)(void **context, unsigned flags, int device);
    int (*destroy)(void *context);
    int (*pop)(void **context);
    long (*live)(void); /* the fake's alone, as is the next */
    int (*depth)(void);
    void (*refuse)(int n);
    int (*refused)(void), (*synchronized)(void), (*profiled)(void);
    void *profiler, *parameters;
} driver;

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    const struct {
        const char *name;
        void *at;
    } symbols[] = { { "cuCtxGetCurrent", &driver.get },     { "cuCtxCreate_v2", &driver.create },
                    { "cuCtxDestroy_v2", &driver.destroy }, { "cuCtxPopCurrent_v2", &driver.pop },
                    { "fakeLive", &driver.live },           { "fakeDepth", &driver.depth },
                    { "fakeRefuse", &driver.refuse },       { "fakeRefused", &driver.refused },
                    { "fakeSynchronized", &driver.synchronized }, { "fakeProfiled", &driver.profiled },
                    { "cuProfilerStart", &driver.profiler },
                    { "cuFuncGetParamInfo", &driver.parameters } };
    for (size_t i = 0; library && i < sizeof symbols / sizeof symbols[0]; i++)
        *(void **)symbols[i].at = dlsym(library, symbols[i].name);
    if (!driver.get || !driver.create)
        bail_out("no driver beside the backend that has one");
}

/* --- Programs and numbers --- */

static hcy_kernel *kernel_of(hcy_device *d, const char *name)
{
    hcy_program *program = NULL;
    hcy_kernel *kernel = NULL;
    if (hcy_program_create(&program, d, HCY_CUDA_PTX, ptx, sizeof ptx - 1, NULL) ||
        hcy_program_kernel(&kernel, program, name, NULL))
        bail_out("no kernel: %s %s", hcy_last_error()->text, hcy_last_error()->vendor);
    hcy_program_release(program);
    return kernel;
}

static void test_program(void)
{
    double x[4] = { 1, 2, 3, 4 };
    const hcy_grid grid = { { 2, 1, 1 }, { 2, 1, 1 }, 0 };
    hcy_kernel *kernel = kernel_of(dev, "add"), *none = NULL;
    hcy_program *program = NULL;
    hcy_buffer *buf = cts_buffer(dev, sizeof x);
    hcy_arg args[] = { hcy_arg_buf(buf), hcy_arg_f64(0.5) };
    int64_t n = 0, groups = 0;
    st_ok(hcy_buffer_write(queue, buf, 0, x, sizeof x), "numbers");
    st_ok(hcy_launch_grid(queue, kernel, &grid, args, 2), "a launch of a kernel from PTX");
    if (driver.parameters)
        st_is(hcy_launch_grid(queue, kernel, &grid, args, 1), HCY_EINVAL, "one with an argument less is none");
    else
        skip(1, "an old driver does not know how many there are");
    st_ok(hcy_buffer_read(queue, x, buf, 0, sizeof x), "are read");
    st_ok(hcy_queue_finish(queue), "after it");
    ok(x[0] == 1.5 && x[3] == 4.5, "and have been added to");
    st_ok(hcy_kernel_get_i64(&n, kernel, "group_items"), "a kernel's largest group");
    ok(n >= 256 && n <= 1024, "is one of a GPU (%lld)", (long long)n);
    st_ok(hcy_kernel_get_i64(&n, kernel, "registers"), "its registers");
    ok(n > 0 && n <= 255, "are a few (%lld)", (long long)n);
    st_ok(hcy_kernel_get_i64(&n, kernel, "local_bytes"), "its local memory");
    is_int(n, 0, "is none");
    st_ok(hcy_kernel_get_i64(&n, kernel, "best_group_items"), "its best group");
    ok(n >= 32 && n <= 1024, "is between a warp and the largest (%lld)", (long long)n);
    st_ok(hcy_cuda_occupancy(&groups, kernel, 256, 0), "how many groups run at once");
    ok(groups >= 1 && groups <= 64, "are some (%lld)", (long long)groups);
    st_ok(hcy_cuda_occupancy(&n, kernel, 1024, 0), "of the largest");
    ok(n <= groups, "are no more");
    st_says(hcy_kernel_get_i64(&n, kernel, "groups_per_unit:1"), HCY_ENOENT, "registers",
            "a key without its end");
    st_says(hcy_kernel_get_i64(&n, kernel, "nosuch"), HCY_ENOENT, "nosuch",
            "another key is refused by its name");
    st_is(hcy_kernel_get_i64(&n, kernel, NULL), HCY_EINVAL, "no key");
    st_is(hcy_kernel_get_i64(&n, NULL, "registers"), HCY_EINVAL, "no kernel");
    st_ok(hcy_program_create(&program, dev, HCY_CUDA_PTX, ptx, sizeof ptx - 1, NULL), "a program");
    st_says(hcy_program_kernel(&none, program, "nosuch", NULL), HCY_ENOENT, "nosuch",
            "a kernel that it lacks");
    hcy_program_release(program);
    program = NULL;
    st_is(hcy_program_create(&program, dev, HCY_CUDA_PTX, "", 1, NULL), HCY_ECOMPILE, "no PTX");
    const char *said = hcy_last_error()->text;
    ok(said[strlen(said) - 1] != ' ', "is refused with a reason, whether the driver has a log or not: %s", said);
    hcy_program_release(program);
    hcy_kernel_release(kernel);
    hcy_buffer_release(buf);
}

/* Two kernels of one name are one function of CUDA's, whose local memory is allowed for all launches of it. */
static void test_local(void)
{
    int64_t most = 0;
    hcy_program *program = NULL;
    hcy_kernel *one = NULL, *other = NULL;
    int status = hcy_device_get_i64(&most, dev, "local_bytes");
    status = cts_first(status, hcy_program_create(&program, dev, HCY_CUDA_PTX, ptx, sizeof ptx - 1, NULL));
    status = cts_first(status, hcy_program_kernel(&one, program, "add", NULL));
    st_ok(cts_first(status, hcy_program_kernel(&other, program, "add", NULL)), "a program's kernel, twice");
    const hcy_grid much = { { 1, 1, 1 }, { 1, 1, 1 }, (uint32_t)most },
                   less = { { 1, 1, 1 }, { 1, 1, 1 }, (uint32_t)most - 1024 };
    hcy_buffer *buf = cts_buffer(dev, sizeof(double));
    double x = 1;
    hcy_arg args[] = { hcy_arg_buf(buf), hcy_arg_f64(0.5) };
    st_ok(hcy_buffer_write(queue, buf, 0, &x, sizeof x), "a number");
    st_ok(hcy_launch_grid(queue, one, &much, args, 2), "a launch with all the local memory that there is");
    st_ok(hcy_launch_grid(queue, other, &less, args, 2), "with less");
    st_ok(hcy_launch_grid(queue, one, &much, args, 2), "and again with as much");
    st_ok(hcy_buffer_read(queue, &x, buf, 0, sizeof x), "it is read");
    st_ok(hcy_queue_finish(queue), "after all of them");
    ok(x == 2.5, "%g: each has run", x);
    hcy_buffer_release(buf);
    hcy_kernel_release(one);
    hcy_kernel_release(other);
    hcy_program_release(program);
}

/* A program's constant, and groups that all run at once. */
static void test_global(void)
{
    double x[4] = { 1, 2, 3, 4 }, factor = 0;
    hcy_grid grid = { { 2, 1, 1 }, { 2, 1, 1 }, 0 };
    hcy_program *program = NULL;
    hcy_kernel *kernel = NULL;
    hcy_buffer *constant = NULL, *none = NULL, *buf = cts_buffer(dev, sizeof x);
    hcy_arg args[] = { hcy_arg_buf(buf), hcy_arg_f64(0.5) };
    if (hcy_program_create(&program, dev, HCY_CUDA_PTX, ptx, sizeof ptx - 1, NULL) ||
        hcy_program_kernel(&kernel, program, "add", NULL))
        bail_out("no program: %s", hcy_last_error()->text);
    st_says(hcy_program_global(&none, program, "nosuch"), HCY_ENOENT, "nosuch", "a variable that a program lacks");
    st_ok(hcy_program_global(&constant, program, "factor"), "a constant by its name");
    hcy_program_release(program);
    is_int((intmax_t)hcy_buffer_size(constant), sizeof factor, "has its size");
    st_ok(hcy_buffer_read_now(&factor, constant, 0, sizeof factor), "is read, without the program's own reference");
    ok(factor == 2, "has its number (%g)", factor);
    factor = 3;
    st_ok(hcy_buffer_write_now(constant, 0, &factor, sizeof factor), "is written");
    factor = 0;
    st_ok(hcy_buffer_read_now(&factor, constant, 0, sizeof factor), "is read again");
    ok(factor == 3, "and has the new one (%g)", factor);
    hcy_buffer_release(constant);
    if (!cts_has(dev, HCY_CAP_TOGETHER)) {
        st_is(hcy_launch_together(queue, kernel, &grid, args, 2), HCY_EUNSUPPORTED, "groups do not run together here");
    } else {
        st_ok(hcy_buffer_write(queue, buf, 0, x, sizeof x), "numbers");
        st_ok(hcy_launch_together(queue, kernel, &grid, args, 2), "groups run together");
        st_ok(hcy_buffer_read(queue, x, buf, 0, sizeof x), "what they wrote is read");
        st_ok(hcy_queue_finish(queue), "after it");
        ok(x[0] == 1.5 && x[3] == 4.5, "and is right");
        grid.groups[0] = 1000000;
        st_says(hcy_launch_together(queue, kernel, &grid, args, 2), HCY_ERANGE, "at once",
                "more of them than the GPU has room for are refused");
        st_ok(hcy_queue_finish(queue), "and the queue goes on");
    }
    hcy_kernel_release(kernel);
    hcy_buffer_release(buf);
}

/* __cuda_array_interface__: out with the queue's stream, in from that one or none. */
static void test_interface(void)
{
    const int64_t shape[2] = { 20, 30 };
    float x[600], got[300] = { 0 };
    hcy_array *a = NULL, *view = NULL, *b = NULL;
    hcy_array_interface f = HCY_ARRAY_INTERFACE_INIT;
    void *stream = NULL;
    for (int i = 0; i < 600; i++)
        x[i] = (float)i;
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT32, 2, shape, x), "an array on a GPU");
    st_ok(hcy_array_slice(&view, a, "5:15"), "a view of it");
    st_ok(hcy_array_to_interface(&f, queue, view), "is told as CUDA's array interface");
    st_ok(hcy_cuda_stream(&stream, queue), "with a stream");
    ok(f.is_device && f.stream == (uintptr_t)stream && f.rank == 2 && f.shape[0] == 10 && f.shape[1] == 30 &&
           f.strides[0] == 120 && f.strides[1] == 4 && !strcmp(f.typestr, "<f4"),
       "with all that it has");
    f.stream++;
    st_says(hcy_array_from_interface(&b, queue, &f, NULL, NULL), HCY_EUNSUPPORTED, "stream",
            "memory that another stream writes is refused");
    f.stream--;
    st_ok(hcy_array_from_interface(&b, queue, &f, NULL, NULL), "of its own stream it is an array");
    st_ok(hcy_array_to_host(got, queue, b), "which is read");
    int wrong = 0;
    for (int i = 0; i < 300; i++)
        wrong += got[i] != x[150 + i];
    is_int(wrong, 0, "all numbers are there");
    hcy_array_release(b);
    hcy_array_release(view);
    hcy_array_release(a);
}

/* Without NVRTC: kernels whose PTX is in the module, if any is; a user's source is none of them. */
static void test_without_compiler(void)
{
    static const char source[] = "extern \"C\" __global__ void f(void) {}";
    char spec[256];
    hcy_device *d = cts_open_spec(cts_with(spec, sizeof spec, cts_spec, "@nvrtc=0")), *none = NULL;
    hcy_kernel *kernel = NULL;
    hcy_program *program = NULL;
    int status = hcy_kernel_get(&kernel, d, "bslz4_decode");
    ok(!status || (status == HCY_EUNSUPPORTED && strstr(hcy_last_error()->text, "@nvrtc=0")),
       "without a compiler there are the module's own kernels, or a reason (%s)", hcy_status_name(status));
    hcy_kernel_release(kernel);
    kernel = NULL;
    st_says(hcy_kernel_get(&kernel, d, "nufft_spread"), HCY_EUNSUPPORTED, "nufft_spread", "and not all kernels");
    st_says(hcy_program_create(&program, d, HCY_CUDA_C, source, sizeof source - 1, NULL), HCY_EUNSUPPORTED, "@nvrtc=0",
            "nor programs from source");
    hcy_device_release(d);
    st_says(hcy_device_open(&none, cts_with(spec, sizeof spec, cts_spec, "@nvrtc=2")), HCY_EINVAL, "0 or 1",
            "an option that is neither");
}

static void test_handles(void)
{
    void *context = NULL, *stream = NULL;
    uint64_t address = 0, part = 0;
    int64_t celsius = 0;
    int number = -1;
    unsigned char data[64] = { 5 }, got[64] = { 0 };
    hcy_buffer *buf = cts_buffer(dev, 4096), *view = NULL, *same = NULL;
    st_ok(hcy_cuda_device(&number, dev), "a device's number");
    st_ok(hcy_cuda_context(&context, dev), "its context");
    st_ok(hcy_device_get_i64(&celsius, dev, "temperature_c"), "what a sensor of its says");
    ok(celsius > 0 && celsius < 120, "is a temperature (%lld)", (long long)celsius);
    st_ok(hcy_cuda_stream(&stream, queue), "a queue's stream");
    ok(number >= 0 && context && stream, "are there");
    st_ok(hcy_buffer_sub(&view, buf, 100, 100), "a view");
    st_ok(hcy_cuda_address(&address, buf), "a buffer's address");
    st_ok(hcy_cuda_address(&part, view), "a view's");
    ok(address && part == address + 100, "begins where it begins");
    st_ok(hcy_buffer_import_device(&same, dev, address, 4096, NULL, NULL), "an address is imported");
    st_ok(hcy_buffer_write_now(same, 0, data, 64), "written");
    st_ok(hcy_buffer_read_now(got, buf, 0, 64), "and read under its other name");
    is_int(got[0], 5, "the same memory");
    hcy_buffer_release(same);
    if (strcmp(cts_spec, cts_spec2)) {
        hcy_device *second = cts_open_spec(cts_spec2);
        hcy_buffer *there = cts_buffer(second, 64);
        uint64_t elsewhere = 0;
        st_ok(hcy_cuda_address(&elsewhere, there), "an address of another GPU's");
        st_says(hcy_buffer_import_device(&same, dev, elsewhere, 64, NULL, NULL), HCY_EUNSUPPORTED, "does not reach",
                "is refused");
        hcy_buffer_release(there);
        hcy_device_release(second);
    }
    hcy_device *cpu = cts_open_spec("cpu@threads=1");
    hcy_queue *other = cts_queue(cpu);
    hcy_buffer *theirs = cts_buffer(cpu, 64);
    st_is(hcy_cuda_context(&context, cpu), HCY_ENOENT, "a device of another backend has no context");
    st_is(hcy_cuda_stream(&stream, other), HCY_ENOENT, "nor its queue a stream");
    st_is(hcy_cuda_address(&address, theirs), HCY_ENOENT, "nor its memory such an address");
    ok(!context && !stream, "and none is handed out");
    hcy_buffer_release(theirs);
    hcy_queue_release(other);
    hcy_device_release(cpu);
    hcy_buffer_release(view);
    hcy_buffer_release(buf);
}

/* --- A context of the caller's own --- */

static void *own;
static int calls, kept;

static int keeps(int status)
{
    void *now = NULL;
    calls++;
    if (driver.get(&now) == 0 && now == own && (!driver.depth || driver.depth() == 1) && !status)
        kept++;
    else
        diag("call %d: %s, \"%s\", context %s", calls, hcy_status_name(status), hcy_last_error()->text,
             now == own ? "kept" : "lost");
    return status;
}

static void use_objects(hcy_device *d)
{
    static unsigned char bytes[4096], value = 3;
    const hcy_grid grid = { { 1, 1, 1 }, { 32, 1, 1 }, 0 };
    hcy_queue *q = NULL;
    hcy_buffer *a = NULL, *b = NULL, *pinned = NULL, *view = NULL, *work = NULL;
    hcy_event *event = NULL;
    hcy_fft *fft = NULL;
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_kernel *kernel = NULL;
    hcy_program *program = NULL;
    uint64_t n = 0, total = 0;
    int64_t number;
    int done;
    desc.n[0] = 64;
    keeps(hcy_queue_create(&q, d));
    keeps(hcy_buffer_create(&a, d, HCY_MEM_DEVICE, 4096));
    keeps(hcy_buffer_create(&b, d, HCY_MEM_DEVICE, 4096));
    keeps(hcy_buffer_create(&pinned, d, HCY_MEM_PINNED, 4096));
    keeps(hcy_buffer_sub(&view, a, 1024, 1024));
    keeps(hcy_device_mem_info(&n, &total, d));
    keeps(hcy_device_get_i64(&number, d, "cu_context"));
    keeps(hcy_buffer_write(q, a, 0, bytes, 4096));
    keeps(hcy_buffer_fill(q, view, 0, 1024, &value, 1));
    keeps(hcy_buffer_copy(q, b, 0, a, 0, 4096));
    keeps(hcy_buffer_read(q, bytes, b, 0, 4096));
    keeps(hcy_event_record(&event, q));
    keeps(hcy_queue_wait(q, event));
    keeps(hcy_event_wait(event, CTS_PATIENCE));
    keeps(hcy_event_query(&done, event));
    keeps(hcy_event_time(&n, event));
    keeps(hcy_program_create(&program, d, HCY_CUDA_PTX, ptx, sizeof ptx - 1, NULL));
    keeps(hcy_program_kernel(&kernel, program, "add", NULL));
    keeps(hcy_kernel_get_i64(&number, kernel, "registers"));
    hcy_arg args[] = { hcy_arg_buf(a), hcy_arg_f64(1) };
    keeps(hcy_launch_grid(q, kernel, &grid, args, 2));
    if (cts_has(d, HCY_CAP_FFT)) {
        keeps(hcy_fft_create(&fft, d, &desc));
        work = hcy_fft_workspace(fft) ? cts_buffer(d, hcy_fft_workspace(fft)) : NULL;
        keeps(hcy_fft_execute(q, b, fft, HCY_FFT_FORWARD, a, work));
    }
    keeps(hcy_queue_finish(q));
    keeps(hcy_queue_status(q));
    keeps((hcy_fft_release(fft), 0));
    keeps((hcy_kernel_release(kernel), hcy_program_release(program), 0));
    keeps((hcy_event_release(event), 0));
    keeps((hcy_buffer_release(a), hcy_buffer_release(b), hcy_buffer_release(view), 0));
    keeps((hcy_buffer_release(pinned), hcy_buffer_release(work), 0));
    keeps((hcy_queue_release(q), 0));
    keeps(hcy_device_pool_trim(d));
}

/* A GPU's memory as a tensor, and back; nothing is computed with it. */
static void test_tensors(void)
{
    const int64_t n = 1000;
    float x[1000], got[1000] = { 0 };
    hcy_array *a = NULL, *view = NULL, *b = NULL;
    struct DLManagedTensorVersioned *t = NULL;
    int ordinal = -1;
    for (int i = 0; i < n; i++)
        x[i] = (float)i;
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT32, 1, &n, x), "an array on a GPU");
    st_ok(hcy_array_slice(&view, a, "100:900"), "a part of it");
    st_ok(hcy_array_to_dlpack(&t, queue, view), "is a tensor");
    st_ok(hcy_cuda_device(&ordinal, dev), "of a device");
    ok(t->dl_tensor.device_type == 2 && t->dl_tensor.device_id == ordinal && t->dl_tensor.shape[0] == 800 &&
           t->dl_tensor.byte_offset == 400,
       "that says where it is");
    hcy_array_release(view);
    hcy_array_release(a);
    t->dl_tensor.device_id = ordinal + 1;
    st_says(hcy_array_from_dlpack(&b, dev, t), HCY_EUNSUPPORTED, "is device", "another GPU's is refused");
    t->dl_tensor.device_id = ordinal;
    void *data = t->dl_tensor.data;
    t->dl_tensor.data = x;
    st_says(hcy_array_from_dlpack(&b, dev, t), HCY_EINVAL, "not an address", "the host's memory is not a GPU's");
    t->dl_tensor.data = data;
    st_ok(hcy_array_from_dlpack(&b, dev, t), "it is an array again");
    st_ok(hcy_array_to_host(got, queue, b), "which is read");
    int wrong = 0;
    for (int i = 0; i < 800; i++)
        wrong += got[i] != x[100 + i];
    is_int(wrong, 0, "all numbers are there");
    hcy_array_release(b);
}

static void test_context(void)
{
    void *popped;
    hcy_device *d = NULL;
    hcy_device_info *list = NULL;
    size_t n = 0;
    if (driver.create(&own, 0, 0))
        bail_out("no context of one's own");
    keeps(hcy_device_open(&d, cts_spec));
    keeps(hcy_device_list(&list, &n));
    hcy_list_free(list);
    use_objects(d);
    keeps((hcy_device_release(d), 0));
    is_int(kept, calls, "a program's own context stays current across %d calls", calls);
    driver.pop(&popped);
    driver.destroy(own);
}

/* --- A program of the runtime's and of cuFFT's --- */

static const char *const runtime_names[] = { "libcudart.so", "libcudart.so.13", "libcudart.so.12",
                                             "/usr/local/cuda/lib64/libcudart.so", NULL };
static const char *const fft_names[] = { "libcufft.so", "libcufft.so.12", "libcufft.so.11",
                                         "/usr/local/cuda/lib64/libcufft.so", NULL };
enum { FFT_POINTS = 64, CUFFT_C2C = 0x29, CUFFT_FORWARD = -1, COPY_TO_DEVICE = 1, COPY_TO_HOST = 2 };

static struct {
    int (*cudaSetDevice)(int device);
    int (*cudaMalloc)(void **memory, size_t size);
    int (*cudaFree)(void *memory);
    int (*cudaMemcpy)(void *to, const void *from, size_t size, int kind);
    int (*cudaGetLastError)(void);
    int (*cufftPlan1d)(int *plan, int n, int type, int batch);
    int (*cufftExecC2C)(int plan, void *in, void *out, int direction);
    int (*cufftDestroy)(int plan);
} runtime;

static void *open_first(const char *const *names)
{
    void *library = NULL;
    while (!library && *names)
        library = dlopen(*names++, RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find_runtime(void)
{
    const struct {
        const char *name;
        void *at;
    } symbols[] = { { "cudaSetDevice", &runtime.cudaSetDevice },
                    { "cudaMalloc", &runtime.cudaMalloc },
                    { "cudaFree", &runtime.cudaFree },
                    { "cudaMemcpy", &runtime.cudaMemcpy },
                    { "cudaGetLastError", &runtime.cudaGetLastError },
                    { "cufftPlan1d", &runtime.cufftPlan1d },
                    { "cufftExecC2C", &runtime.cufftExecC2C },
                    { "cufftDestroy", &runtime.cufftDestroy } };
    void *libraries[] = { open_first(runtime_names), open_first(fft_names) };
    bool found = libraries[0] && libraries[1];
    for (size_t i = 0; found && i < sizeof symbols / sizeof symbols[0]; i++) {
        void *p = dlsym(libraries[!strncmp(symbols[i].name, "cufft", 5)], symbols[i].name);
        *(void **)symbols[i].at = p;
        found = p != NULL;
    }
    return found;
}

/* The transform of an impulse, made by the program's plan in its memory: ones. */
static bool transforms(int plan, void *memory)
{
    float x[FFT_POINTS][2] = { { 1, 0 } };
    bool good = !runtime.cudaMemcpy(memory, x, sizeof x, COPY_TO_DEVICE) &&
                !runtime.cufftExecC2C(plan, memory, memory, CUFFT_FORWARD) &&
                !runtime.cudaMemcpy(x, memory, sizeof x, COPY_TO_HOST);
    for (int i = 0; i < FFT_POINTS; i++)
        good = good && x[i][0] == 1 && x[i][1] == 0;
    return good;
}

/* Its context is the GPU's primary one, which Halcyon's devices retain too. */
static void test_runtime(void)
{
    hcy_device *d = NULL;
    void *memory = NULL, *after = NULL;
    int plan = 0;
    if (driver.live || !find_runtime()) {
        skip(6, "%s", driver.live ? "the fake driver has no runtime" : "CUDA's runtime or its FFT is not here");
        return;
    }
    calls = kept = 0;
    ok(!runtime.cudaSetDevice(0) && !runtime.cudaMalloc(&memory, FFT_POINTS * 8) &&
           !runtime.cufftPlan1d(&plan, FFT_POINTS, CUFFT_C2C, 1) && !driver.get(&own) && own,
       "a program has memory of the runtime's and a plan of cuFFT's");
    ok(transforms(plan, memory), "which work");
    keeps(hcy_device_open(&d, cts_spec));
    use_objects(d);
    ok(transforms(plan, memory), "also beside a device of Halcyon's");
    keeps((hcy_device_release(d), 0));
    ok(transforms(plan, memory), "and after it");
    is_int(kept, calls, "its context stays current across %d calls", calls);
    ok(!runtime.cufftDestroy(plan) && !runtime.cudaFree(memory) && !runtime.cudaGetLastError() &&
           !driver.get(&after) && after == own,
       "and it ends as it would alone");
}

/* Where the driver has no memory for a plan, the pool gives back what it keeps. */
static void test_plan_memory(void)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_fft *fft = NULL;
    hcy_pool_stats stats = { 0 };
    if (!driver.live || !cts_has(dev, HCY_CAP_FFT)) {
        skip(6, "it is the fake's FFT that runs out of memory");
        return;
    }
    hcy_buffer_release(cts_buffer(dev, 1 << 20));
    setenv("FAKE_CUFFT_FAILS", "3", 1);
    st_ok(hcy_device_pool_stats(&stats, dev), "the pool");
    ok(stats.cached >= 1 << 20, "keeps what was released");
    st_is(hcy_fft_create(&fft, dev, &desc), HCY_ENOMEM, "a plan that twice finds no memory");
    st_ok(hcy_fft_create(&fft, dev, &desc), "one that finds some the second time");
    st_ok(hcy_device_pool_stats(&stats, dev), "the pool");
    is_int((intmax_t)stats.cached, 0, "keeps none");
    hcy_fft_release(fft);
}

/* --- What commands used is released once the stream has passed them --- */

struct release {
    hcy_queue *queue;
    atomic_int status; /* what waiting for the queue said there; 1: not yet called */
};

static void wait_in_release(void *payload)
{
    struct release *r = payload;
    atomic_store(&r->status, hcy_queue_finish(r->queue));
}

/* A command's buffer, whose last reference is the command's; where it says when it is gone. */
static void write_and_release(struct release *r)
{
    static const unsigned char data[64] = { 1 };
    uint64_t address = 0;
    hcy_buffer *memory = cts_buffer(dev, 64), *same = NULL;
    struct cts_gate *gate = cts_gate_new();
    atomic_store(&r->status, 1);
    st_ok(hcy_cuda_address(&address, memory), "memory");
    st_ok(hcy_buffer_import_device(&same, dev, address, 64, wait_in_release, r), "is imported");
    /* Without a gate the command might be over before this thread gives its reference back. */
    ok(cts_gate_hold(gate, r->queue), "the queue is held");
    st_ok(hcy_buffer_write(r->queue, same, 0, data, 64), "a command is taken");
    hcy_buffer_release(same);
    cts_gate_open(gate);
    for (int i = 0; i < 4000 && atomic_load(&r->status) == 1; i++)
        usleep(5000);
    is_int(atomic_load(&r->status), HCY_ESTATE, "it is released by itself, where nobody can wait for the queue");
    st_ok(hcy_queue_finish(r->queue), "elsewhere one can");
    cts_gate_free(gate);
    hcy_buffer_release(memory);
}

static void test_release(void)
{
    struct release r = { .queue = cts_queue(dev) };
    write_and_release(&r);
    if (!driver.refuse) {
        skip(8, "a GPU does not refuse events");
    } else {
        int before = driver.synchronized();
        driver.refuse(1);
        write_and_release(&r);
        is_int(driver.refused(), 0, "no event could be put behind it");
        ok(driver.synchronized() >= before + 2, "so that its stream was waited for");
    }
    hcy_queue_release(r.queue);
}

/* --- Large copies of memory that is not pinned, by several threads --- */

#define LARGE (((size_t)37 << 20) + 12345) /* pieces of 2 MiB, and a part of one */

struct large {
    unsigned char first;
    int status;
    size_t wrong;
    pthread_t thread;
};

static void *copy_there_and_back(void *arg)
{
    struct large *l = arg;
    hcy_queue *q = cts_queue(dev);
    hcy_buffer *buf = cts_buffer(dev, LARGE + 100);
    unsigned char *out = malloc(LARGE), *in = calloc(1, LARGE);
    for (size_t i = 0; i < LARGE; i++)
        out[i] = (unsigned char)(l->first + i * 7 + (i >> 13));
    l->status = hcy_buffer_write(q, buf, 100, out, LARGE);
    /* What was given is taken by now, or held for the command: after the queue's end it is the caller's again. */
    if (!l->status)
        l->status = hcy_queue_finish(q);
    memset(out, 0, LARGE);
    if (!l->status)
        l->status = hcy_buffer_read(q, in, buf, 100, LARGE);
    if (!l->status)
        l->status = hcy_queue_finish(q);
    for (size_t i = 0; i < LARGE; i++)
        l->wrong += in[i] != (unsigned char)(l->first + i * 7 + (i >> 13));
    free(in);
    free(out);
    hcy_buffer_release(buf);
    hcy_queue_release(q);
    return NULL;
}

static void test_large_copies(void)
{
    struct large two[2] = { { .first = 1 }, { .first = 130 } };
    copy_there_and_back(&two[0]);
    st_ok(two[0].status, "a large copy of ordinary memory, there and back");
    is_int((long)two[0].wrong, 0, "all bytes are right");
    two[0].wrong = 0;
    for (int i = 0; i < 2; i++)
        ok(!pthread_create(&two[i].thread, NULL, copy_there_and_back, &two[i]), "a thread");
    for (int i = 0; i < 2; i++)
        pthread_join(two[i].thread, NULL);
    for (int i = 0; i < 2; i++) {
        st_ok(two[i].status, "from two threads at once");
        is_int((long)two[i].wrong, 0, "all bytes are right");
    }
}

/* --- Profilers --- */

static void test_profiler(void)
{
    hcy_device *cpu = cts_open_spec("cpu@threads=1");
    st_says(hcy_profiler_start(cpu), HCY_EUNSUPPORTED, "no profiler", "a CPU has no profiler");
    hcy_device_release(cpu);
    if (!driver.profiler) {
        st_says(hcy_profiler_start(dev), HCY_EUNSUPPORTED, "cuProfilerStart", "an old driver has no profiler");
        st_says(hcy_profiler_stop(dev), HCY_EUNSUPPORTED, "cuProfilerStop", "nor an end of it");
        return;
    }
    st_ok(hcy_profiler_start(dev), "the profiler begins");
    ok(!driver.profiled || driver.profiled(), "as the driver says");
    st_ok(hcy_profiler_stop(dev), "and ends");
    ok(!driver.profiled || !driver.profiled(), "likewise");
}

static void push_nowhere(const char *what)
{
    (void)what;
}
static void pop_nowhere(void) {}

/* The library that a profiler brings (fake_nvtx.c): the commands' names as they come and go. */
static void test_ranges(void)
{
    static const hcy_trace_sink none = { sizeof none, NULL, NULL };
    st_says(hcy_trace_attach(&none), HCY_EINVAL, "without push and pop", "a profiler without its functions");
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    const char *(*ranges)(void) = NULL;
    if (library)
        *(void **)&ranges = dlsym(library, "fakeRanges");
    if (!ranges) {
        skip(5, "no profiler of ours is attached");
        return;
    }
    static const hcy_trace_sink second = { sizeof second, push_nowhere, pop_nowhere };
    const hcy_grid grid = { { 1, 1, 1 }, { 2, 1, 1 }, 0 };
    hcy_device *cpu = cts_open_spec("cpu@threads=1");
    hcy_queue *theirs = cts_queue(cpu);
    hcy_kernel *kernel = kernel_of(dev, "add");
    hcy_buffer *buf = cts_buffer(dev, 64), *other = cts_buffer(cpu, 64);
    hcy_arg args[] = { hcy_arg_buf(buf), hcy_arg_f64(1) };
    unsigned char bytes[64] = { 0 };
    st_ok(cts_first(hcy_queue_finish(queue), hcy_queue_finish(theirs)), "nothing runs");
    ranges();
    int status = hcy_buffer_write(queue, buf, 0, bytes, 64);
    status = cts_first(status, hcy_launch_grid(queue, kernel, &grid, args, 2));
    status = cts_first(status, hcy_buffer_read(queue, bytes, buf, 0, 64));
    status = cts_first(status, hcy_queue_finish(queue));
    st_ok(status, "three commands under a profiler");
    is_str(ranges(), "(write)(user's kernel)(read)", "it gets their names, each before the next");
    status = hcy_buffer_write(theirs, other, 0, bytes, 64);
    status = cts_first(status, hcy_queue_finish(theirs));
    is_str(status ? "" : ranges(), "(write)", "and those of another device");
    st_says(hcy_trace_attach(&second), HCY_ESTATE, "attached already", "it is the only one");
    hcy_buffer_release(other);
    hcy_buffer_release(buf);
    hcy_kernel_release(kernel);
    hcy_queue_release(theirs);
    hcy_device_release(cpu);
}

/* --- A fault, last: the device is gone for the process --- */

static void test_fault(void)
{
    const hcy_grid grid = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };
    hcy_device *other =
                   strcmp(cts_spec, cts_spec2) ? cts_open_spec(cts_spec2) : cts_open_spec("cpu@threads=1"),
               *again = NULL;
    hcy_queue *q = cts_queue(dev), *theirs = cts_queue(other);
    hcy_buffer *buf = cts_buffer(dev, 64), *fine = cts_buffer(other, 64), *none = NULL;
    hcy_kernel *kernel = kernel_of(dev, "fault");
    hcy_arg arg = hcy_arg_buf(buf);
    unsigned char bytes[64] = { 0 };
    int launched = hcy_launch_grid(q, kernel, &grid, &arg, 1);
    ok(!launched || launched == HCY_ELOST, "a kernel that faults is launched (%s)",
       hcy_status_name(launched));
    st_is(hcy_queue_finish(q), HCY_ELOST, "and loses its device");
    st_says(hcy_device_status(dev), HCY_ELOST, "until this process ends", "for good");
    st_is(hcy_buffer_create(&none, dev, HCY_MEM_DEVICE, 64), HCY_ELOST, "which every call says");
    st_is(hcy_device_open(&again, cts_spec), HCY_ELOST, "also one that opens it anew");
    st_ok(hcy_buffer_write(theirs, fine, 0, bytes, 64), "another device");
    st_ok(hcy_queue_finish(theirs), "works on");
    hcy_kernel_release(kernel);
    hcy_buffer_release(buf);
    hcy_buffer_release(fine);
    hcy_queue_release(q);
    hcy_queue_release(theirs);
    hcy_device_release(other);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    find_driver();
    test_program();
    test_local();
    test_global();
    test_tensors();
    test_interface();
    test_without_compiler();
    test_handles();
    test_plan_memory();
    test_release();
    test_large_copies();
    test_profiler();
    test_ranges();
    hcy_queue_release(queue);
    hcy_device_release(dev);
    test_context();
    for (int i = 0; driver.live && driver.live() && i < 400; i++)
        usleep(5000); /* queues go when their threads do */
    if (driver.live)
        is_int(driver.live(), 0, "nothing of the driver's is left");
    else
        skip(1, "a GPU does not count what is left");
    test_runtime();
    dev = cts_open();
    test_fault();
    hcy_device_release(dev);
    return done_testing();
}
