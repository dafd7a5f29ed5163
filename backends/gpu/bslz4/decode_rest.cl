/* decode_rest.cl - the kernel around rest.cl that writes images. */
#pragma once
#include "bslz4/decode.cl"
#include "bslz4/rest.cl"

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_decode_rest(struct gpu_batch batch, BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                     BUFFER(const hcy_bslz4_block, blocks), BUFFER(u8, images),
                     BUFFER(struct gpu_state, state), BUFFER(u8, slots))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(u8, images) OPEN(struct gpu_state, state) OPEN(u8, slots)
    LOCAL_ROOM(u8, room, REST_LOCAL);
    struct rest_target target;
    target.images = images;
    target.image_bytes = batch.image_bytes;
    rest_run(&batch, chunks, frames, blocks, state, room, slots, &target);
}
