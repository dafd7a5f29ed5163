/* rest.cl - every block that the fast kernels leave: shared by the families, whose texts come before it and say what
 * becomes of decoded pixels (it includes nothing itself, because these differ):
 *     struct rest_target;
 *     void rest_pixels(const struct rest_target *, item, number of the first pixel, const struct decoded *);
 */

/* Coded bytes are read one after the other, so those of a small block come to local memory first, where a group
 * shares the work. */
#if GROUP_SIZE == 1
#define REST_CODED 0
#else
#define REST_CODED 8448
#endif
#define REST_LOCAL (LOCAL_BLOCK + REST_CODED)
DEVICE const u8 *rest_coded(const u8 *coded, u32 size, u8 *to)
{
    if (size > REST_CODED)
        return coded;
    for (u32 i = ITEM; i < size; i += GROUP_SIZE)
        to[i] = coded[i];
    BARRIER();
    return to;
}

/* One block, by the whole group.  `room` is of REST_LOCAL bytes. */
DEVICE void rest_block(const struct gpu_batch *batch, const u8 *chunks, const hcy_bslz4_frame *frames,
                       const hcy_bslz4_block *blocks, struct gpu_state *state, u32 item, u32 b, u8 *room,
                       u8 *slot, const struct rest_target *target)
{
    const hcy_bslz4_frame *f = &frames[item];
    hcy_bslz4_block block = blocks[f->first_block + b];
    u32 bytes = decoded_bytes(f, b);
    struct decoded d;
    /* The table was checked on the host, but memory may have changed: nothing is read outside the chunk. */
    int good = block_fits(f, block, bytes);
    if (good) {
        const u8 *coded = chunks + f->offset + block.offset;
        coded = rest_coded(coded, block.size & ~HCY_BLOCK_STORED, room + LOCAL_BLOCK);
        good = decode_any(coded, block.size, bytes, batch, bytes <= LOCAL_BLOCK ? room : slot, &d);
    }
    if (good)
        rest_pixels(target, item, (u64)b * f->block_bytes / batch->elem_size, &d);
    else if (ITEM == 0)
        ATOMIC_MIN32(&frame_states(state)[item].damaged, b);
    /* The next block uses the same memory. */
    BARRIER();
}

/* The raw elements behind the last block. */
DEVICE void rest_tail(const struct gpu_batch *batch, const u8 *chunks, const hcy_bslz4_frame *f, u32 item,
                      const struct rest_target *target)
{
    struct decoded d;
    d.bytes = chunks + f->offset + f->tail_offset;
    d.plane = 0;
    d.elem_size = batch->elem_size;
    d.n = f->tail_bytes / batch->elem_size;
    rest_pixels(target, item, (batch->image_bytes - f->tail_bytes) / batch->elem_size, &d);
}

/* Groups share the listed blocks, and all blocks of the frames that did not go the fast way. */
DEVICE void rest_run(const struct gpu_batch *batch, const u8 *chunks, const hcy_bslz4_frame *frames,
                     const hcy_bslz4_block *blocks, struct gpu_state *state, u8 *room, u8 *slots,
                     const struct rest_target *target)
{
    const struct gpu_frame_state *states = frame_states(state);
    u32 listed = state->listed < batch->list_room ? state->listed : batch->list_room;
    /* Listed blocks are the usual ones, which fit local memory. */
    for (u32 i = GROUP; i < listed; i += GROUPS) {
        struct gpu_listed at = list_of(state, batch->items)[i];
        rest_block(batch, chunks, frames, blocks, state, at.item, at.block, room, room, target);
    }
    for (u32 item = 0; state->loose && item < batch->items; item++) {
        const hcy_bslz4_frame *f = &frames[item];
        if (states[item].way == GPU_WAY_NONE)
            continue;
        if (item % GROUPS == GROUP && !states[item].tail)
            rest_tail(batch, chunks, f, item, target);
        if (states[item].way != GPU_WAY_REST)
            continue;
        /* A slot must hold the frame's largest block, so large blocks leave work for fewer groups. */
        u64 largest = f->n_blocks > 1 ? f->block_bytes : f->last_bytes, slot = (largest + 15) / 16 * 16;
        u64 most = largest <= LOCAL_BLOCK ? GROUPS : batch->slot_bytes / slot;
        u32 share = most < GROUPS ? (u32)most : GROUPS;
        for (u32 b = GROUP; GROUP < share && b < f->n_blocks; b += share)
            rest_block(batch, chunks, frames, blocks, state, item, b, room, slots + GROUP * slot, target);
    }
}
