/* toy.cl - the kernel for GPUs: a group of TOY_LANES lanes takes a row.  OpenCL C and CUDA C in one text. */
#ifdef __CUDACC__
#define KERNEL      extern "C" __global__
#define AT          /* pointers are generic */
#define SHARED      __shared__
#define GROUP       blockIdx.x
#define LANE        threadIdx.x
#define WAIT()      __syncthreads()
typedef unsigned int uint;
typedef unsigned long long ulong_;
#else
#define KERNEL      __kernel
#define AT          __global
#define SHARED      __local
#define GROUP       get_group_id(0)
#define LANE        get_local_id(0)
#define WAIT()      barrier(CLK_LOCAL_MEM_FENCE)
typedef ulong ulong_;
#endif

typedef struct {
    uint n, factor;
} toy_job;

KERNEL void toy_sum(AT const uint *rows, toy_job job, AT ulong_ *sums, AT ulong_ *scratch)
{
    SHARED ulong_ parts[LANES];
    ulong_ sum = 0;
    for (uint i = LANE; i < job.n; i += LANES)
        sum += rows[(ulong_)GROUP * job.n + i];
    parts[LANE] = sum;
    WAIT();
    if (LANE)
        return;
    for (uint i = 1; i < LANES; i++)
        sum += parts[i];
    scratch[GROUP] = sum;
    sums[GROUP] = scratch[GROUP] * job.factor;
}
