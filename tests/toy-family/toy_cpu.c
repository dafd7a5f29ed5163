/* toy_cpu.c - the kernel in C: called for each row, from several threads at once. */
#include "toy.h"

int toy_sum(const hcy_cpu_group *row, void *const *args)
{
    const toy_job *job = args[1];
    const uint32_t *numbers = (const uint32_t *)args[0] + (size_t)row->id[0] * job->n;
    uint64_t *sums = args[2], *scratch = args[3], sum = 0;
    for (uint32_t i = 0; i < job->n; i++)
        sum += numbers[i];
    scratch[row->id[0]] = sum;
    sums[row->id[0]] = scratch[row->id[0]] * job->factor;
    return 0;
}
