/* sums_rest_kernel.cl - the kernel around rest.cl that sums. */
#pragma once
#include "azint/sums_rest.cl"
#include "bslz4/rest.cl"

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_azint_rest(struct gpu_batch batch, hcy_azint_job job, struct gpu_plan_at at,
                    BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                    BUFFER(const hcy_bslz4_block, blocks), BUFFER(const u8, base), BUFFER(u64, sums),
                    BUFFER(hcy_frame_report, reports), BUFFER(u64, fast), BUFFER(struct gpu_state, state),
                    BUFFER(u8, slots))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(const u8, base) OPEN(u64, sums) OPEN(hcy_frame_report, reports) OPEN(u64, fast)
    OPEN(struct gpu_state, state) OPEN(u8, slots)
    LOCAL_ROOM(u8, room, REST_LOCAL);
    struct azint_target azint = { { base, at }, &job, sums, fast, reports };
    struct rest_target target = { &azint };
    rest_run(&batch, chunks, frames, blocks, state, room, slots, &target);
}
