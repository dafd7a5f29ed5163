/* azint_rest_kernel.cl - the kernel around rest.cl that sums. */

KERNEL GROUP_OF(32)
void gpu_azint_rest(struct gpu_batch batch, hcy_azint_job job, struct gpu_plan_at at, const GLOBAL u8 *chunks,
                    const GLOBAL hcy_bslz4_frame *frames, const GLOBAL hcy_bslz4_block *blocks,
                    const GLOBAL u8 *base, GLOBAL u64 *sums, GLOBAL hcy_frame_report *reports,
                    GLOBAL struct gpu_state *state, GLOBAL u8 *slots)
{
    LOCAL u8 local[LOCAL_BLOCK];
    struct rest_target target;
    target.plan.base = base;
    target.plan.at = at;
    target.job = job;
    target.sums = sums;
    target.reports = reports;
    rest_run(&batch, chunks, frames, blocks, state, local, slots, &target);
}
