/* gpu_bslz4.c - launches that begin with coded frames: the scratch memory they share, and the kernel bslz4_decode. */
#include "gpu_priv.h"

#include <stdio.h>
#include <string.h>

/* Memory of the slots: an image, so that any block fits, and some megabytes, so that many groups have one. */
#define SLOT_BYTES ((uint64_t)8 << 20)
/* Items of a group that does what is left over: in the general way many groups of few, each with a block; beside the
 * fast kernels few blocks are left, so more items share one. */
#define REST_GROUP      GPU_LANES
#define FAST_REST_GROUP 128u
/* Of groups, in the second direction of a grid. */
#define MOST_ROWS 65535u

static size_t whole_lines(size_t n)
{
    return (n + 255) / 256 * 256;
}

/* Can blocks of this job go the fast way at all? */
static bool may_be_fast(const struct gpu_coded *c, const struct gpu_call *call)
{
    return call->kernel->ops->lanes && c->job->codec == HCY_CODEC_BSLZ4 &&
           (c->job->elem_size == 2 || c->job->elem_size == 4) && c->full_blocks &&
           c->batch.n_blocks <= MOST_ROWS && call->items <= MOST_ROWS;
}

/* A block's window and queue of commands, and what a group keeps beside. */
#define BLOCK_LOCAL (GPU_BLOCK + 1024u)

/* Warps' eight windows, at most. */
size_t gpu_fast_local_bytes(const struct gpu_row *row)
{
    return (row->decode_blocks > GPU_FRAMES ? row->decode_blocks : GPU_FRAMES) * BLOCK_LOCAL;
}

bool gpu_decodes_fast(const struct gpu_call *call, const hcy_bslz4_job *job)
{
    const size_t has = call->kernel->ops->local_bytes, wants = call->kernel->ops->row->decode_blocks * BLOCK_LOCAL;
    return job->image_bytes % 4 == 0 && (!has || has >= wants);
}

int gpu_row_options(const struct gpu_call *call, char *options, int used)
{
    const struct gpu_row *row = call->kernel->ops->row;
    /* A row's numbers are compiled in, because they size arrays in local memory. */
    return used + snprintf(options + used, GPU_OPTIONS_BYTES - (size_t)used, " -DDECODE_BLOCKS=%u",
                           row->decode_blocks);
}

static int place_items(size_t *offset, size_t *at, size_t items, size_t size)
{
    size_t bytes;
    int status = hcy_size_mul(&bytes, items, size);
    *offset = *at;
    return status ? status : hcy_size_add(at, *at, whole_lines(bytes));
}

/* State and frames, then the list, the slots, what the parser makes. */
static int lay_out_scratch(struct gpu_coded *c, const struct gpu_call *call)
{
    size_t state, n = call->items * c->batch.n_blocks; /* each below 2^31, and 2^19: no overflow */
    int status = place_items(&state, &c->end, 1,
                             sizeof(struct gpu_state) + call->items * sizeof(struct gpu_frame_state) +
                           c->batch.list_room * sizeof(struct gpu_listed));
    if (!status)
        status = place_items(&c->slots, &c->end, 1, c->batch.slot_bytes);
    /* Only parsed blocks have infos and commands; they are most of the scratch memory. */
    if (!status && c->batch.fast)
        status = place_items(&c->infos, &c->end, n, sizeof(struct gpu_block_info));
    if (!status && c->batch.fast)
        status = place_items(&c->commands, &c->end, n, 2 * GPU_COMMANDS * sizeof(struct gpu_command));
    return status;
}

int gpu_coded_open(struct gpu_coded *c, const struct gpu_call *call, const hcy_bslz4_job *job, bool fast)
{
    memset(c, 0, sizeof *c);
    c->job = job;
    int status = hcy_bslz4_check_launch("bslz4", job, UINT32_MAX);
    if (status)
        return status;
    /* Elements that do not fill a byte of each plane are stored raw behind the last block. */
    uint32_t coded = (uint32_t)(job->image_bytes - job->image_bytes % (8 * job->elem_size));
    c->full_blocks = coded / GPU_BLOCK;
    c->batch = (struct gpu_batch){ .image_bytes = job->image_bytes,
                                   .items = (uint32_t)call->items,
                                   .codec = job->codec,
                                   .elem_size = job->elem_size };
    c->batch.slot_bytes = job->image_bytes > SLOT_BYTES ? whole_lines(job->image_bytes) : SLOT_BYTES;
    c->batch.n_blocks = c->full_blocks + (coded % GPU_BLOCK != 0);
    c->batch.fast = c->fast_text = fast && may_be_fast(c, call);
    /* At worst every block is listed for `rest`, so the list has room for all. */
    if (c->batch.fast)
        c->batch.list_room = (uint32_t)call->items * c->batch.n_blocks;
    return lay_out_scratch(c, call);
}

int gpu_coded_set(struct gpu_coded *c, const struct gpu_call *call, struct gpu_coded_at at)
{
    const hcy_value *v = call->values;
    c->chunks = &v[at.chunks];
    c->frames = &v[at.frames];
    c->blocks = &v[at.blocks];
    c->reports = &v[at.reports];
    c->scratch = &v[at.scratch];
    c->batch.chunks_size = c->chunks->bytes_left;
    c->batch.table_blocks = c->blocks->bytes_left / sizeof(hcy_bslz4_block);
    /* The fast kernels load 16 bytes at once from the beginning of a chunk. */
    if (hcy__begin(c->chunks) % 16)
        c->batch.fast = 0; /* its frames go the general way; what was laid out for them stays unused */
    /* A kernel writes reports and scratch by the number of frames alone, so their sizes are proved here. */
    if (!gpu_holds(c->frames, call->items, sizeof(hcy_bslz4_frame)) ||
        (c->blocks->block && !gpu_holds(c->blocks, 0, sizeof(hcy_bslz4_block))) ||
        !gpu_holds(c->reports, call->items, sizeof(hcy_frame_report)) || !gpu_holds(c->scratch, c->end / 8, 8))
        return hcy_fail(HCY_EINVAL, "%s: frames, reports or scratch too small for %zu frames, or not at 8 bytes",
                        gpu_kernel_name(call->kernel), call->items);
    return 0;
}

static struct gpu_grid over_frames(const struct gpu_call *call)
{
    return gpu_over(call, (uint32_t)call->items, 1);
}

uint32_t gpu_rest_group(const struct gpu_coded *c, const struct gpu_call *call)
{
    return gpu_group(call, c->fast_text ? FAST_REST_GROUP : REST_GROUP);
}

struct gpu_grid gpu_rest_grid(const struct gpu_coded *c, const struct gpu_call *call)
{
    uint32_t groups = call->kernel->ops->units * (c->fast_text ? 4 : 16);
    return (struct gpu_grid){ { groups, 1 }, gpu_rest_group(c, call), 0 };
}

/* Blocks that GPU_LANES parse: few where the device would be idle otherwise, as each lane waits for the others. */
#define PARSE_WARPS 16u /* of a multiprocessor */
static uint32_t parse_lanes(const struct gpu_coded *c, const struct gpu_call *call)
{
    /* Lanes of a warp that parse wait for one another at every branch: they share a warp only when all
     * warps have work. */
    uint64_t all = (uint64_t)c->batch.n_blocks * c->batch.items;
    uint64_t lanes = 1 + all / (PARSE_WARPS * (uint64_t)call->kernel->ops->units);
    uint32_t most = call->kernel->ops->row->parse_blocks;
    return lanes < most ? (uint32_t)lanes : most;
}

/* All lanes of a group to a block, while that fits the device at once. */
#define GROUPS_AT_ONCE 32u /* of a multiprocessor */
static int parse_few(const struct gpu_coded *c, const struct gpu_call *call)
{
    struct gpu_grid grid = { { c->batch.n_blocks, c->batch.items }, GPU_LANES, 0 };
    return GPU_STEP(call, c->variant, "gpu_parse_lanes", &grid, GPU_BYTES(c->batch), gpu_at(c->chunks, 0),
                    gpu_at(c->frames, 0), gpu_at(c->blocks, 0), gpu_at(c->scratch, 0),
                    gpu_at(c->scratch, c->infos), gpu_at(c->scratch, c->commands));
}

static int parse_batch(const struct gpu_coded *c, const struct gpu_call *call)
{
    if ((uint64_t)c->batch.n_blocks * c->batch.items <= GROUPS_AT_ONCE * (uint64_t)call->kernel->ops->units)
        return parse_few(c, call);
    /* With more blocks than that a lane for each makes more of the device, though a block takes longer. */
    uint32_t lanes = parse_lanes(c, call), blocks = GPU_PARSE_GROUP / GPU_LANES * lanes;
    struct gpu_grid grid = { { (c->batch.n_blocks + blocks - 1) / blocks, c->batch.items },
                             GPU_PARSE_GROUP,
                             0 };
    return GPU_STEP(call, c->variant, "gpu_parse", &grid, GPU_BYTES(c->batch), GPU_BYTES(lanes), gpu_at(c->chunks, 0),
                    gpu_at(c->frames, 0), gpu_at(c->blocks, 0), gpu_at(c->scratch, 0),
                    gpu_at(c->scratch, c->infos), gpu_at(c->scratch, c->commands));
}

int gpu_coded_begin(const struct gpu_coded *c, const struct gpu_call *call)
{
    struct gpu_grid grid = over_frames(call);
    /* The state counts what is listed, and must begin at zero for each launch. */
    int status = call->kernel->ops->zero(call->queue, c->scratch, 0, sizeof(struct gpu_state));
    if (!status)
        status = GPU_STEP(call, c->variant, "gpu_begin", &grid, GPU_BYTES(c->batch), gpu_at(c->frames, 0),
                          gpu_at(c->reports, 0), gpu_at(c->scratch, 0));
    return !status && c->batch.fast ? parse_batch(c, call) : status;
}

int gpu_coded_end(const struct gpu_coded *c, const struct gpu_call *call)
{
    struct gpu_grid grid = over_frames(call);
    return GPU_STEP(call, c->variant, "gpu_end", &grid, GPU_BYTES(c->batch), gpu_at(c->frames, 0),
                    gpu_at(c->blocks, 0), gpu_at(c->reports, 0), gpu_at(c->scratch, 0));
}

static int decode_fast(const struct gpu_coded *c, const struct gpu_call *call, const hcy_value *images,
                       size_t at)
{
    /* Warps share nothing: how many of them make a group is for the device's row to say. */
    uint32_t blocks = call->kernel->ops->row->decode_blocks;
    struct gpu_grid grid = { { (c->batch.n_blocks + blocks - 1) / blocks, c->batch.items },
                             GPU_LANES * blocks,
                             blocks * GPU_BLOCK };
    return GPU_STEP(call, c->variant, "gpu_decode_fast", &grid, GPU_BYTES(c->batch), gpu_at(c->chunks, 0),
                    gpu_at(c->frames, 0), gpu_at(c->blocks, 0), gpu_at(c->scratch, c->infos),
                    gpu_at(c->scratch, c->commands), gpu_at(images, at));
}

/* Words that stand together in every image. */
static uint32_t words_at_once(const struct gpu_coded *c)
{
    if (c->batch.image_bytes % 16 == 0)
        return 4;
    return c->batch.image_bytes % 8 == 0 ? 2 : 1;
}

int gpu_coded_decode(struct gpu_coded *c, const struct gpu_call *call, const hcy_value *images, size_t at)
{
    struct gpu_grid grid = gpu_rest_grid(c, call);
    /* The fast kernel writes several words at once, which must be aligned in every image. */
    if ((hcy__begin(images) + at) % (4 * words_at_once(c)))
        c->batch.fast = 0;
    int status = gpu_coded_begin(c, call);
    /* What this step leaves out is in the list that the next one reads. */
    if (!status && c->batch.fast)
        status = decode_fast(c, call, images, at);
    if (!status)
        status = GPU_STEP(call, c->variant, "gpu_decode_rest", &grid, GPU_BYTES(c->batch),
                          gpu_at(c->chunks, 0), gpu_at(c->frames, 0), gpu_at(c->blocks, 0),
                          gpu_at(images, at), gpu_at(c->scratch, 0), gpu_at(c->scratch, c->slots));
    return status ? status : gpu_coded_end(c, call);
}

/* --- bslz4_decode --- */

int gpu_decode_variant(struct gpu_coded *c, const struct gpu_call *call)
{
    char options[GPU_OPTIONS_BYTES];
    int n = snprintf(options, sizeof options, "-DGROUP_SIZE=%u", gpu_rest_group(c, call));
    /* The general text is compiled without the element's size, so that one variant serves all of them. */
    if (!c->fast_text)
        return gpu_variant_get(&c->variant, call->kernel, gpu_text_decode, options);
    n += snprintf(options + n, sizeof options - (size_t)n, " -DELEM=%u -DOUT=%u", c->batch.elem_size,
                  words_at_once(c));
    gpu_row_options(call, options, n);
    return gpu_variant_get(&c->variant, call->kernel, gpu_text_decode_fast, options);
}

static int open_decode(struct gpu_coded *c, const struct gpu_call *call)
{
    const hcy_bslz4_job *job = call->values[HCY_ARG_AT(bslz4_decode, job)].bytes;
    int status = gpu_coded_open(c, call, job, gpu_decodes_fast(call, job));
    return status ? status : gpu_decode_variant(c, call);
}

int gpu_decode_scratch(size_t *size, const struct gpu_call *call)
{
    struct gpu_coded c;
    int status = open_decode(&c, call);
    *size = c.end;
    return status;
}

int gpu_decode_launch(const struct gpu_call *call)
{
    struct gpu_coded c;
    const hcy_bslz4_job *job = call->values[HCY_ARG_AT(bslz4_decode, job)].bytes;
    const hcy_value *images = &call->values[HCY_ARG_AT(bslz4_decode, images)];
    int status = open_decode(&c, call);
    if (!status)
        status = gpu_coded_set(&c, call, GPU_CODED_AT(bslz4_decode));
    if (status)
        return status;
    if (images->bytes_left / c.batch.image_bytes < call->items || !gpu_holds(images, 0, job->elem_size))
        return hcy_fail(HCY_EINVAL, "bslz4_decode: images too small for %zu frames, or they begin between pixels",
                        call->items);
    return gpu_coded_decode(&c, call, images, 0);
}

const struct gpu_kernel_kind gpu_bslz4_kernels[] = {
    { "bslz4_decode", gpu_decode_launch, gpu_decode_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
