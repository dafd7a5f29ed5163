/* program_parts.c - what a program of one's own may have beside its arguments: a constant that is written by its name,
 * local memory whose size a launch says, how many groups run at once, and groups that wait for one another.
 *
 * usage: program_parts [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 *
 * y = x + w * sum(x).  Each group adds some of x up in its local memory.  Where all groups run at once (CUDA's
 * cooperative launch), they wait for one another's sums in one kernel; elsewhere a second kernel begins when the first
 * has ended.
 */
#include <halcyon/cpu.h>
#include <halcyon/cuda.h>
#include <halcyon/opencl.h>
#include <stdio.h>
#include <string.h>

enum { N = 100000, GROUP = 128, MOST_GROUPS = 4096, WEIGHT = 3, LOCAL = GROUP * sizeof(int) };

/* What both languages have; they name places and memory by other words. */
static const char shared_text[] =
    "FUNCTION void add_up(GLOBAL const int *x, GLOBAL int *sums, int n, LOCAL int *sum)\n"
    "{\n"
    "    int i = LANE;\n"
    "    sum[i] = 0;\n"
    "    for (int k = GROUP_ID * 128 + i; k < n; k += GROUPS * 128)\n"
    "        sum[i] += x[k];\n"
    "    for (int far = 64; far; far /= 2) {\n"
    "        BARRIER;\n"
    "        if (i < far)\n"
    "            sum[i] += sum[i + far];\n"
    "    }\n"
    "    if (i == 0)\n"
    "        sums[GROUP_ID] = sum[0];\n"
    "}\n"
    "FUNCTION void finish(GLOBAL int *y, GLOBAL const int *x, GLOBAL const volatile int *sums, int n, int w)\n"
    "{\n"
    "    int total = 0;\n"
    "    for (int g = 0; g < GROUPS; g++)\n"
    "        total += sums[g];\n"
    "    for (int k = GROUP_ID * 128 + LANE; k < n; k += GROUPS * 128)\n"
    "        y[k] = x[k] + w * total;\n"
    "}\n";
static const char cuda_text[] =
    "extern \"C\" { __constant__ int weight; }\n"
    "extern \"C\" __global__ void first(const int *x, int *sums, int n)\n"
    "{\n"
    "    extern __shared__ int local[];\n"
    "    add_up(x, sums, n, local);\n"
    "}\n"
    "extern \"C\" __global__ void second(int *y, const int *x, const int *sums, int n)\n"
    "{\n"
    "    finish(y, x, sums, n, weight);\n"
    "}\n"
    "extern \"C\" __global__ void together(int *y, const int *x, int *sums, int n, int *arrived)\n"
    "{\n"
    "    extern __shared__ int local[];\n"
    "    add_up(x, sums, n, local);\n"
    "    if (threadIdx.x == 0) {\n"
    "        __threadfence();\n"
    "        atomicAdd(arrived, 1);\n"
    "        while (atomicAdd(arrived, 0) < gridDim.x)\n"
    "            ;\n"
    "        __threadfence();\n"
    "    }\n"
    "    __syncthreads();\n"
    "    finish(y, x, sums, n, weight);\n"
    "}\n";
static const char cuda_words[] = "-DFUNCTION=__device__ -DGLOBAL= -DLOCAL= -DLANE=(int)threadIdx.x "
                                 "-DGROUP_ID=(int)blockIdx.x -DGROUPS=(int)gridDim.x -DBARRIER=__syncthreads()";
/* OpenCL has no call for a variable's name, so that the constant is part of the text; local memory is an argument. */
static const char opencl_text[] =
    "kernel void first(global const int *x, global int *sums, int n, local int *memory)\n"
    "{\n"
    "    add_up(x, sums, n, memory);\n"
    "}\n"
    "kernel void second(global int *y, global const int *x, global const int *sums, int n)\n"
    "{\n"
    "    finish(y, x, sums, n, WEIGHT);\n"
    "}\n";
static const char opencl_words[] = "-DFUNCTION= -DGLOBAL=global -DLOCAL=local -DLANE=(int)get_local_id(0) "
                                   "-DGROUP_ID=(int)get_group_id(0) -DGROUPS=(int)get_num_groups(0) "
                                   "-DBARRIER=barrier(CLK_LOCAL_MEM_FENCE) -DWEIGHT=3";

/* A C function's variables are the program's own. */
static int weight_here;

static int first(const hcy_cpu_group *group, void *const *args)
{
    const int *x = args[0], n = *(const int *)args[2];
    int *sums = args[1], *sum = group->local;
    memset(sum, 0, LOCAL);
    for (int k = (int)group->id[0] * GROUP; k < n; k += (int)group->groups[0] * GROUP)
        for (int i = 0; i < GROUP && k + i < n; i++)
            sum[i] += x[k + i];
    for (int i = 1; i < GROUP; i++)
        sum[0] += sum[i];
    sums[group->id[0]] = sum[0];
    return 0;
}

static int second(const hcy_cpu_group *group, void *const *args)
{
    int *y = args[0], total = 0;
    const int *x = args[1], *sums = args[2], n = *(const int *)args[3];
    for (uint32_t g = 0; g < group->groups[0]; g++)
        total += sums[g];
    for (int k = (int)group->id[0] * GROUP; k < n; k += (int)group->groups[0] * GROUP)
        for (int i = k; i < k + GROUP && i < n; i++)
            y[i] = x[i] + weight_here * total;
    return 0;
}

struct parts {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_program *program;
    hcy_kernel *first, *second, *together; /* together: NULL where there is none */
    hcy_buffer *x, *y, *sums, *arrived;
};

static int make_program(struct parts *p)
{
    static const hcy_cpu_function functions[] = { { "first", first }, { "second", second } };
    const hcy_device_info *info = hcy_device_get_info(p->dev);
    const int cuda = !strcmp(info->backend, "cuda"), opencl = !strcmp(info->backend, "opencl");
    char text[4000];
    int size = snprintf(text, sizeof text, "%s%s", shared_text, cuda ? cuda_text : opencl_text);
    int status = cuda || opencl
                     ? hcy_program_create(&p->program, p->dev, cuda ? HCY_CUDA_C : HCY_OPENCL_C, text, (size_t)size,
                                          cuda ? cuda_words : opencl_words)
                     : hcy_program_create(&p->program, p->dev, HCY_CPU_FUNCTIONS, functions, sizeof functions, NULL);
    if (status == HCY_ECOMPILE)
        fprintf(stderr, "%s\n", hcy_last_error()->vendor);
    if (!status)
        status = hcy_program_kernel(&p->first, p->program, "first", NULL);
    if (!status)
        status = hcy_program_kernel(&p->second, p->program, "second", NULL);
    if (!status && cuda && (info->caps & HCY_CAP_TOGETHER))
        status = hcy_program_kernel(&p->together, p->program, "together", NULL);
    return status;
}

/* By its name where it has one for the host. */
static int set_weight(const struct parts *p)
{
    const int weight = WEIGHT;
    hcy_buffer *constant = NULL;
    weight_here = weight;
    int status = hcy_program_global(&constant, p->program, "weight");
    if (status == HCY_EUNSUPPORTED) {
        printf("this device names no variables: the constant is the text's, or the program's\n");
        return 0;
    }
    if (!status)
        status = hcy_buffer_write_now(constant, 0, &weight, sizeof weight);
    hcy_buffer_release(constant);
    return status;
}

/* All groups that the device runs at once, where it says so. */
static int count_groups(uint32_t *groups, const struct parts *p)
{
    int64_t of_unit = 0, items = 0, bytes = 0;
    const uint32_t units = hcy_device_get_info(p->dev)->units;
    *groups = 64;
    if (!hcy_kernel_get_i64(&items, p->first, "group_items") && !hcy_kernel_get_i64(&bytes, p->first, "local_bytes"))
        printf("a group has %lld items at most, and %lld bytes of local memory before a launch asks for more\n",
               (long long)items, (long long)bytes);
    if (!p->together)
        return 0;
    int status = hcy_cuda_occupancy(&of_unit, p->together, GROUP, LOCAL);
    if (!status)
        *groups = (uint32_t)of_unit * units < MOST_GROUPS ? (uint32_t)of_unit * units : MOST_GROUPS;
    if (!status)
        printf("a multiprocessor runs %lld groups at once\n", (long long)of_unit);
    return status;
}

static int launch(const struct parts *p, uint32_t groups)
{
    const hcy_grid grid = { { groups, 1, 1 }, { GROUP, 1, 1 }, LOCAL };
    hcy_grid without = grid;
    without.local_bytes = 0;
    const hcy_arg x = hcy_arg_buf(p->x), y = hcy_arg_buf(p->y), sums = hcy_arg_buf(p->sums), n = hcy_arg_i32(N);
    const hcy_arg all[] = { y, x, sums, n, hcy_arg_buf(p->arrived) }, of_first[] = { x, sums, n };
    if (p->together)
        return hcy_launch_together(p->queue, p->together, &grid, all, 5);
    int status = hcy_launch_grid(p->queue, p->first, &grid, of_first, 3);
    return status ? status : hcy_launch_grid(p->queue, p->second, &without, all, 4);
}

static int run(struct parts *p, int *x, int *y)
{
    static const int none = 0;
    uint32_t groups = 0;
    int status = hcy_buffer_create(&p->x, p->dev, HCY_MEM_DEVICE, N * sizeof *x);
    if (!status)
        status = hcy_buffer_create(&p->y, p->dev, HCY_MEM_DEVICE, N * sizeof *y);
    if (!status)
        status = hcy_buffer_create(&p->sums, p->dev, HCY_MEM_DEVICE, MOST_GROUPS * sizeof(int));
    if (!status)
        status = hcy_buffer_create(&p->arrived, p->dev, HCY_MEM_DEVICE, sizeof none);
    if (!status)
        status = hcy_buffer_write(p->queue, p->x, 0, x, N * sizeof *x);
    if (!status)
        status = hcy_buffer_fill(p->queue, p->arrived, 0, sizeof none, &none, sizeof none);
    if (!status)
        status = make_program(p);
    if (!status)
        status = set_weight(p);
    if (!status)
        status = count_groups(&groups, p);
    if (!status)
        status = launch(p, groups);
    if (!status)
        status = hcy_buffer_read(p->queue, y, p->y, 0, N * sizeof *y);
    return status ? status : hcy_queue_finish(p->queue);
}

int main(int argc, char **argv)
{
    static int x[N], y[N];
    struct parts p = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    int total = 0, wrong = 0;
    for (int i = 0; i < N; i++)
        total += x[i] = i % 1000 - 400;
    int status = hcy_device_open(&p.dev, argc > 1 ? argv[1] : "cpu");
    if (!status)
        status = hcy_queue_create(&p.queue, p.dev);
    if (!status)
        status = run(&p, x, y);
    for (int i = 0; !status && i < N; i++)
        wrong += y[i] != x[i] + WEIGHT * total;
    if (status)
        fprintf(stderr, "program_parts: %s\n", hcy_last_error()->text);
    else
        printf("%d of %d numbers are wrong; %s\n", wrong, N, p.together ? "one kernel" : "two kernels");
    hcy_buffer_release(p.x);
    hcy_buffer_release(p.y);
    hcy_buffer_release(p.sums);
    hcy_buffer_release(p.arrived);
    hcy_kernel_release(p.first);
    hcy_kernel_release(p.second);
    hcy_kernel_release(p.together);
    hcy_program_release(p.program);
    hcy_queue_release(p.queue);
    hcy_device_release(p.dev);
    return status || wrong;
}
