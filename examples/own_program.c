/* own_program.c - a program of one's own on a slice of an array: CUDA C or OpenCL C that is compiled as it runs, or a C
 * function; how long it took on the device, and what a profiler is to look at.
 *
 * usage: own_program [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 *
 * The program is made of two texts, where others would link two objects.  A kernel gets a buffer; where in it a view's
 * elements are, its offset and strides say.  Where a kernel shall run on all devices, with the same bits, an expression
 * is shorter: own_kernels.c.
 */
#include <halcyon/array.h>
#include <halcyon/cpu.h>
#include <halcyon/cuda.h>
#include <halcyon/opencl.h>
#include <stdio.h>
#include <string.h>

enum { N = 100000, GROUP = 128, TIMES = 3 };

/* What several programs may share: a text of its own, which both compilers take.  The type comes by -D, as a template's
 * would, and so does what a function needs in front of it. */
static const char shared_text[] = "FUNCTION TYPE scaled(TYPE number, TYPE factor)\n"
                                  "{\n"
                                  "    return number * factor;\n"
                                  "}\n";

/* One body for both. */
#define BODY \
    "    if (i < n)\n" \
    "        x[first + (long)i * step] = scaled(x[first + (long)i * step], factor);\n" \
    "}\n"
static const char cuda_text[] = "extern \"C\" __global__ void scale(TYPE *x, int first, int step, int n, TYPE factor)\n"
                                "{\n"
                                "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" BODY;
static const char opencl_text[] = "kernel void scale(global TYPE *x, int first, int step, int n, TYPE factor)\n"
                                  "{\n"
                                  "    const int i = get_global_id(0);\n" BODY;

static int scale(const hcy_cpu_group *group, void *const *args)
{
    float *x = args[0];
    const int first = *(const int *)args[1], step = *(const int *)args[2], n = *(const int *)args[3];
    for (int i = (int)(group->id[0] * group->size[0]), end = i + (int)group->size[0]; i < end && i < n; i++)
        x[first + (long)i * step] *= *(const float *)args[4];
    return 0;
}

static int compile(hcy_program **program, hcy_device *dev, const char *format, const char *text, const char *options)
{
    char both[2000];
    const int size = snprintf(both, sizeof both, "%s%s", shared_text, text);
    return hcy_program_create(program, dev, format, both, (size_t)size, options);
}

/* In whichever of the three languages the device understands. */
static int make_program(hcy_program **program, hcy_device *dev)
{
    static const hcy_cpu_function functions[] = { { "scale", scale } };
    const char *backend = hcy_device_get_info(dev)->backend;
    int status;
    if (!strcmp(backend, "cuda"))
        status = compile(program, dev, HCY_CUDA_C, cuda_text, "-DTYPE=float -DFUNCTION=__device__");
    else if (!strcmp(backend, "opencl"))
        status = compile(program, dev, HCY_OPENCL_C, opencl_text, "-DTYPE=float -DFUNCTION=");
    else
        status = hcy_program_create(program, dev, HCY_CPU_FUNCTIONS, functions, sizeof functions, NULL);
    return status;
}

/* Between two events, whose times are on the host's clock. */
static int launch(uint64_t *ns, hcy_queue *queue, hcy_kernel *kernel, const hcy_array *view)
{
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    hcy_event *begin = NULL, *end = NULL;
    uint64_t begin_ns = 0, end_ns = 0;
    int status = hcy_array_get_info(&info, view);
    const hcy_grid grid = { { (uint32_t)((info.count - 1) / GROUP + 1), 1, 1 }, { GROUP, 1, 1 }, 0 };
    const hcy_arg args[] = { hcy_arg_buf(info.buffer), hcy_arg_i32((int)info.offset),
                             hcy_arg_i32((int)info.strides[0]), hcy_arg_i32((int)info.count), hcy_arg_f32(2) };
    if (!status)
        status = hcy_event_record(&begin, queue);
    if (!status)
        status = hcy_launch_grid(queue, kernel, &grid, args, 5);
    if (!status)
        status = hcy_event_record(&end, queue);
    if (!status)
        status = hcy_event_wait(end, HCY_FOREVER);
    if (!status)
        status = hcy_event_time(&begin_ns, begin);
    if (!status)
        status = hcy_event_time(&end_ns, end);
    *ns = end_ns - begin_ns;
    hcy_event_release(begin);
    hcy_event_release(end);
    return status;
}

static int run(hcy_device *dev, hcy_queue *queue, hcy_array *view)
{
    hcy_program *program = NULL;
    hcy_kernel *kernel = NULL;
    int64_t registers = 0;
    uint64_t ns = 0;
    int status = make_program(&program, dev);
    if (status == HCY_ECOMPILE)
        fprintf(stderr, "%s\n", hcy_last_error()->vendor);
    if (!status)
        status = hcy_program_kernel(&kernel, program, "scale", NULL);
    if (!status && !hcy_kernel_get_i64(&registers, kernel, "registers"))
        printf("%lld registers an item\n", (long long)registers);
    /* Nsight's tools look at what is between the two (--capture-range=cudaProfilerApi); other devices have none. */
    const int has_profiler = !status && !hcy_profiler_start(dev);
    for (int i = 0; !status && i < TIMES; i++) {
        status = launch(&ns, queue, kernel, view);
        if (!status)
            printf("launch %d: %.1f us\n", i, 1e-3 * (double)ns);
    }
    if (has_profiler && hcy_profiler_stop(dev))
        printf("the profiler did not stop\n");
    hcy_kernel_release(kernel);
    hcy_program_release(program);
    return status;
}

int main(int argc, char **argv)
{
    static float x[N], got[N];
    const int64_t n = N;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *array = NULL, *view = NULL;
    int wrong = 0;
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 1000);

    int status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_from_host(&array, dev, HCY_FLOAT32, 1, &n, x);
    if (!status)
        status = hcy_array_slice(&view, array, "99990:100:-3");
    if (!status)
        status = run(dev, queue, view);
    if (!status)
        status = hcy_array_to_host(got, queue, array);

    /* Every third number from the 99990th down to the 101st is doubled as often as the kernel ran. */
    for (int i = 0; !status && i < N; i++)
        wrong += got[i] != (i > 100 && i <= 99990 && i % 3 == 0 ? 8 * x[i] : x[i]);
    if (status)
        fprintf(stderr, "own_program: %s\n", hcy_last_error()->text);
    else
        printf("%d of %d numbers are wrong\n", wrong, N);
    hcy_array_release(view);
    hcy_array_release(array);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || wrong;
}
