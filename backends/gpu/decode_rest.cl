/* decode_rest.cl - the kernel around rest.cl that writes images. */

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_decode_rest(struct gpu_batch batch, const GLOBAL u8 *chunks, const GLOBAL hcy_bslz4_frame *frames,
                     const GLOBAL hcy_bslz4_block *blocks, GLOBAL u8 *images, GLOBAL struct gpu_state *state,
                     GLOBAL u8 *slots)
{
    LOCAL u8 local[LOCAL_BLOCK];
    struct rest_target target;
    target.images = images;
    target.image_bytes = batch.image_bytes;
    rest_run(&batch, chunks, frames, blocks, state, local, slots, &target);
}
