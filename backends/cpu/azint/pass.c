/* pass.c - the kernels azint_image, bslz4_azint and its kin: a batch in passes, each shared by all threads strip by
 * strip.
 *
 * A pass is as many frames as are worth one reading of the weights (struct azint_ops says).  Workers pull
 * strips, each sums into memory of its own in the scratch buffer; then bins are shared out to the threads,
 * which add the workers' digits up to 128 bits.  Blocks too large for a strip are first decoded to images in
 * the scratch buffer.
 */
#include "azint/azint_job.h"
#include "azint_launch.h"

#include <stdlib.h>
#include <string.h>

/* Pixels of a batch, so that its coded frames stay a moderate amount of memory. */
#define BATCH_BUDGET ((size_t)640 << 20)

/* --- Setting a pass up --- */

/* What the frames of a launch have in common, for adding one to a pass. */
struct batch {
    struct azint_launch l;
    struct azint_layout layout;
    struct azint_pass pass;
    uint8_t *scratch;
    uint64_t *out; /* of the launch, where the pass's sums are not it */
    const uint8_t *images, *chunks;
    size_t chunks_size;
    const hcy_bslz4_frame *frames;
    const hcy_bslz4_block *blocks;
    size_t n_blocks;
    size_t used_images;
    uint8_t *decode_to[AZINT_MAX_PASS]; /* frames whose blocks are decoded first */
    atomic_bool out_of_memory;
};

static void set_spaces(struct batch *b)
{
    const struct azint_layout *y = &b->layout;
    b->pass.spaces = (void *)b->scratch;
    for (unsigned w = 0; w < y->workers; w++) {
        uint8_t *at = b->scratch + y->spaces + w * y->space_size;
        uint64_t *bits = (void *)(at + y->bits);
        /* Kernels read and write whole vectors, up to 64 bytes beyond a bitmap. */
        size_t words = AZINT_STRIP / 64 + 8;
        b->pass.spaces[w] = (struct azint_space){
            .planes = at + y->planes,
            .pixels = at + y->pixels,
            .masked = at + y->masked,
            .rows = at + y->rows,
            .vrows = at + y->vrows,
            .x = at + y->x,
            .v = at + y->v,
            .weights = at + y->weights,
            .sums = (void *)(at + y->sums),
            .outliers = (void *)(at + y->outliers),
            .touched = (void *)(at + y->touched),
            .tallies = (void *)(at + y->tallies),
            .lost = bits,
            .out = bits + words,
            .drop = bits + 2 * words,
        };
    }
}

/* Can strips take the frame's blocks one by one? */
static bool fits_strips(const struct batch *b, const hcy_bslz4_frame *f)
{
    size_t elem_size = b->l.type->elem_size;
    return f->block_bytes <= AZINT_STRIP * elem_size && f->block_bytes % (8 * elem_size) == 0 &&
           f->last_bytes % elem_size == 0;
}

/* The first block of a frame of plain pixels that does not lie where its pixels are used, the tail being one more; or
 * UINT32_MAX. */
static uint32_t find_misplaced(const hcy_bslz4_job *job, const hcy_bslz4_frame *f, const hcy_bslz4_block *blocks)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < f->n_blocks; i++) {
        const uint32_t bytes = HCY_BLOCK_BYTES(f, i);
        if (!cpu_block_fits(job, f, &blocks[i], bytes) || blocks[i].offset != at)
            return i;
        at += bytes;
    }
    return f->tail_bytes && f->tail_offset != at ? f->n_blocks : UINT32_MAX;
}

/* Adds an item to the pass; false if the pass must be run first. */
static bool add_to_pass(struct batch *b, size_t item)
{
    hcy_frame_report *report = &b->pass.reports[item];
    struct azint_frame *frame = &b->pass.frames[b->pass.n_frames];
    const hcy_bslz4_frame *f = b->l.coding ? &b->frames[item] : NULL;
    /* A frame that was refused before, or whose tables lead out of the buffers, is reported and takes no part. */
    if (f) {
        *report = (hcy_frame_report){ .status = f->status };
        if (!f->status && !cpu_frame_fits(b->l.coding, f, b->chunks_size, b->n_blocks))
            report->status = HCY_EINVAL;
    }
    if (f && !report->status && b->l.coding->codec == HCY_CODEC_NONE) {
        const hcy_bslz4_block *blocks = b->blocks + f->first_block;
        const uint32_t bad = find_misplaced(b->l.coding, f, blocks);
        if (bad != UINT32_MAX)
            *report = (hcy_frame_report){ .status = HCY_ECORRUPT, .block = bad,
                                          .byte = bad < f->n_blocks ? blocks[bad].offset : f->tail_offset };
    }
    if (report->status)
        return true;
    bool decode = f && b->l.coding->codec != HCY_CODEC_NONE && !fits_strips(b, f);
    /* The pass is full: it must run before this item finds room. */
    if (b->pass.n_frames == b->layout.frames || (decode && b->used_images == b->layout.n_images))
        return false;
    frame->item = (uint32_t)item;
    atomic_store(&frame->damaged, UINT32_MAX);
    frame->pixels = f ? NULL : b->images + item * b->l.image_bytes;
    b->decode_to[b->pass.n_frames++] = NULL;
    if (!f)
        return true;
    frame->frame = f;
    frame->chunk = b->chunks + f->offset;
    frame->blocks = b->blocks + f->first_block;
    /* A frame without blocks is all tail; 1 keeps divisions by a block's size defined. */
    frame->block_pixels = f->n_blocks ? f->block_bytes / b->l.type->elem_size : 1;
    if (b->l.coding->codec == HCY_CODEC_NONE)
        frame->pixels = frame->chunk;
    if (decode)
        b->decode_to[b->pass.n_frames - 1] =
            b->scratch + b->layout.images + b->used_images++ * (b->l.image_bytes + 64);
    return true;
}

static void decode_large_block(struct batch *b, struct azint_frame *frame, uint32_t block, uint8_t *image)
{
    struct azint_space space = { 0 };
    size_t bytes = frame->frame->block_bytes;
    uint8_t *work = aligned_alloc(64, azint_up(CPU_BLOCK_WORK(bytes), 64)); /* larger than the workers' own */
    if (!work) {
        atomic_store(&b->out_of_memory, true);
        return;
    }
    space.planes = work + CPU_BLOCK_LEAD;
    if (azint_block_pixels(&b->pass, &space, frame, block, image + block * bytes))
        azint_damaged(frame, block);
    free(work);
}

/* Blocks [begin, end) of the pass's large-block frames, counted through, to their images. */
static void decode_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct batch *b = context;
    size_t first = 0;
    (void)thread;
    for (unsigned f = 0; f < b->pass.n_frames; f++) {
        struct azint_frame *frame = &b->pass.frames[f];
        size_t n = b->decode_to[f] ? frame->frame->n_blocks : 0;
        /* `first` counts the blocks of the frames before, as a range may begin and end within a frame. */
        for (size_t i = first > begin ? first : begin; i < first + n && i < end; i++)
            decode_large_block(b, frame, (uint32_t)(i - first), b->decode_to[f]);
        first += n;
    }
}

/* Frames whose blocks do not fit strips become plain images. */
static int decode_large_blocks(struct batch *b)
{
    size_t n = 0;
    for (unsigned f = 0; f < b->pass.n_frames; f++)
        n += b->decode_to[f] ? b->pass.frames[f].frame->n_blocks : 0;
    if (!b->used_images)
        return 0;
    cpu_pool_for(b->l.call->pool, n, 1, decode_range, b);
    for (unsigned f = 0; f < b->pass.n_frames; f++) {
        struct azint_frame *frame = &b->pass.frames[f];
        if (!b->decode_to[f])
            continue;
        memcpy(b->decode_to[f] + b->l.image_bytes - frame->frame->tail_bytes,
               frame->chunk + frame->frame->tail_offset, frame->frame->tail_bytes);
        frame->pixels = b->decode_to[f];
    }
    return atomic_load(&b->out_of_memory) ? hcy_fail(HCY_ENOMEM, "azint: no memory to decode a block") : 0;
}

/* Frames in step block by block where their blocks allow it, else a strip at a time. */
static size_t choose_step(const struct azint_pass *pass)
{
    size_t step = 2048;
    for (unsigned f = 0; f < pass->n_frames; f++) {
        const struct azint_frame *frame = &pass->frames[f];
        if (frame->pixels)
            continue;
        /* A block that crosses the end of a strip or of a 64-pixel word cannot be a step of its own. */
        if (AZINT_STRIP % frame->block_pixels || frame->block_pixels % 64)
            return AZINT_STRIP;
        step = frame->block_pixels > step ? frame->block_pixels : step;
    }
    return AZINT_STRIP % step ? AZINT_STRIP : step;
}

/* --- Running it --- */

static void strips_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct azint_pass *pass = context;
    size_t words = azint_block_words(pass->plan->n_bins);
    (void)thread;
    for (size_t w = begin; w < end; w++) {
        struct azint_space *space = &pass->spaces[w];
        space->used = pass->deviation ? 0 : 1; /* the deviation's sums are read without asking: all are zeroed */
        memset(space->touched, pass->deviation ? 0xff : 0, words * sizeof *space->touched);
        azint_sums(pass, space, 0);
        if (pass->regions.job)
            azint_tallies_reset(space->tallies, (size_t)pass->n_frames * pass->regions.job->n_regions);
        for (unsigned v = 0; v < pass->n_workers; v++) { /* its own strips, then what others have left */
            struct azint_space *whose = &pass->spaces[(w + v) % pass->n_workers];
            for (size_t s; (s = atomic_fetch_add(&whose->next, 1)) < whose->end;)
                azint_strip_run(pass, space, s);
        }
    }
}

/* A digit of bins [begin, end) of one block, from `place` on: the sum over the workers. */
static void merge_digit(const struct azint_pass *pass, unsigned digit, size_t place, size_t begin, size_t end,
                        int64_t sum[AZINT_BLOCK_BINS])
{
    const size_t step = 2 * pass->stride, block = begin / AZINT_BLOCK_BINS;
    memset(sum, 0, (end - begin) * sizeof *sum);
    for (unsigned w = 0; w < pass->n_workers; w++) {
        const struct azint_space *space = &pass->spaces[w];
        const int64_t *from = space->sums + digit * pass->plan->n_bins * step + place;
        /* Sums that a worker never asked for are not zeroed and must not be read. */
        if (digit ? space->used >> digit & 1 : space->touched[block / 64] >> block % 64 & 1)
            for (size_t i = 0; i < end - begin; i++)
                sum[i] += from[i * step];
    }
}

/* Bins [begin, end) of one frame's row of sums: `row` 0 is the signal, 1 the variance; weights count `unit`. */
static void merge_row(const struct azint_pass *pass, unsigned frame, unsigned row, unsigned digits, int64_t unit,
                      size_t begin, size_t end)
{
    static const size_t rows[] = { HCY_SUM_SIGNAL_LO, HCY_SUM_VARIANCE_LO };
    size_t n_bins = pass->plan->n_bins, place = (2 * begin + row) * pass->stride + azint_frame_at(pass, frame);
    uint64_t *lo = pass->sums + ((size_t)pass->frames[frame].item * HCY_AZINT_SUMS + rows[row]) * n_bins;
    uint64_t *hi = lo + n_bins;
    int64_t digit[AZINT_BLOCK_BINS];
    azint_i128 sum[AZINT_BLOCK_BINS] = { 0 };
    /* In the usual case one digit is all there is, and its sum over the workers fits 64 bits. */
    if (digits == 1) {
        merge_digit(pass, 0, place, begin, end, digit);
        for (size_t b = begin; b < end; b++)
            lo[b] = (uint64_t)(digit[b - begin] * unit);
        for (size_t b = begin; b < end && !(pass->job->flags & HCY_AZINT_NARROW); b++)
            hi[b] = (uint64_t)((azint_i128)digit[b - begin] * unit >> 64);
        return;
    }
    /* Horner's rule from the top digit down, in integers: no order of workers changes a bit. */
    for (unsigned d = digits; d-- > 0;) {
        merge_digit(pass, d, place, begin, end, digit);
        for (size_t i = 0; i < end - begin; i++)
            sum[i] = sum[i] * (1 << AZINT_DIGIT_BITS) + digit[i];
    }
    for (size_t b = begin; b < end; b++) {
        lo[b] = (uint64_t)(sum[b - begin] * unit);
        hi[b] = (uint64_t)(sum[b - begin] * unit >> 64);
    }
}

static void merge_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct azint_pass *pass = context;
    const bool want_variance = pass->job->flags & HCY_AZINT_WANT_VARIANCE;
    const bool clear = !want_variance && !(pass->job->flags & HCY_AZINT_NARROW);
    const int64_t c = pass->plan->unit ? HCY_AZINT_ONE : 1, c2 = pass->plan->unit ? azint_square(HCY_AZINT_ONE) : 1;
    size_t n_bins = pass->plan->n_bins;
    uint32_t used = 0;
    unsigned digits = 0;
    (void)thread;
    /* A digit counts as soon as one worker has used it. */
    for (unsigned w = 0; w < pass->n_workers; w++)
        used |= pass->spaces[w].used;
    used &= (2u << (pass->type->digits - 1)) - 1; /* further slots hold other sums */
    for (; used; used >>= 1)
        digits++;
    for (unsigned f = 0; f < pass->n_frames; f++) {
        uint64_t *sums = pass->sums + (size_t)pass->frames[f].item * HCY_AZINT_SUMS * n_bins;
        merge_row(pass, f, 0, digits, c, begin, end);
        if (want_variance)
            merge_row(pass, f, 1, digits, c2, begin, end);
        /* Without a variance the kernels leave anything in its sums, so its rows are zeroed, not merged. */
        for (size_t k = HCY_SUM_VARIANCE_LO; clear && k <= HCY_SUM_VARIANCE_HI; k++)
            memset(sums + k * n_bins + begin, 0, (end - begin) * sizeof *sums);
    }
}

static void floats_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct azint_pass *pass = context;
    (void)thread;
    for (size_t w = begin; w < end; w++)
        for (size_t f; (f = atomic_fetch_add(&pass->next_strip, 1)) < pass->n_frames;)
            azint_float_run(pass, &pass->spaces[w], (unsigned)f);
}

static void report_damage(struct azint_pass *pass)
{
    for (unsigned f = 0; f < pass->n_frames; f++) {
        struct azint_frame *frame = &pass->frames[f];
        uint32_t block = atomic_load(&frame->damaged);
        if (block == UINT32_MAX)
            continue;
        /* The damage was found while the frame was summed; whatever its sums are, the report tells that they do not
         * count. */
        pass->reports[frame->item] =
            (hcy_frame_report){ .status = HCY_ECORRUPT, .block = block, .byte = frame->blocks[block].offset };
    }
}

static int run_one_pass(struct batch *b)
{
    struct azint_pass *pass = &b->pass;
    struct cpu_pool *pool = b->l.call->pool;
    int status = b->pass.n_frames ? decode_large_blocks(b) : 0;
    if (status || !pass->n_frames)
        return status;
    /* All of this depends on the number of frames, and the last pass of a batch may have fewer than the others. */
    pass->few_frames = pass->n_frames <= pass->ops->few_frames;
    pass->tiles = azint_tiles_for(&b->l, pass->n_frames);
    pass->stride = azint_stride_of(&b->l, pass->n_frames);
    pass->step = choose_step(pass);
    pass->n_workers = b->layout.workers;
    pass->lost = b->scratch + b->layout.lost;
    pass->lost_any = b->scratch + b->layout.lost_any;
    azint_learnt_use(pass);
    atomic_store(&pass->next_strip, 0);
    /* A float frame belongs to one thread, so that the order of its additions is that of its pixels. */
    if (pass->type->is_float) {
        cpu_pool_for(pool, pass->n_workers, 1, floats_range, pass);
    } else {
        memset(pass->lost_any, 0, (size_t)pass->n_frames * pass->plan->n_strips);
        /* A worker owns neighbouring strips, which have bins in common; whoever is done early helps others. */
        for (size_t w = 0, n = pass->n_workers, strips = pass->plan->n_strips; w < n; w++) {
            atomic_store(&pass->spaces[w].next, strips * w / n);
            pass->spaces[w].end = strips * (w + 1) / n;
        }
        cpu_pool_for(pool, pass->n_workers, 1, strips_range, pass);
        cpu_pool_for(pool, pass->plan->n_bins, AZINT_BLOCK_BINS, merge_range, pass);
        /* azint_lost_run() takes the memory of the slots, so squares and products are read before it; the other
         * rows need the plain sums that it completes. */
        if (pass->deviation)
            azint_deviation_sums(pass, pool, b->out);
        azint_lost_run(pass, pool);
        if (pass->regions.job)
            azint_regions_merge(pass);
        if (pass->deviation)
            azint_deviation_finish(pass, pool, b->out, (azint_u128 *)(b->scratch + b->layout.lost24));
    }
    report_damage(pass);
    pass->n_frames = 0;
    b->used_images = 0;
    return 0;
}

/* An invalid range that holds values which one digit holds too: those do not stand out. */
static bool small_invalid(const hcy_azint_job *job, const struct azint_type *type)
{
    for (unsigned r = 0; r < job->n_invalid; r++) {
        uint64_t lo = job->invalid[r].lo, hi = job->invalid[r].hi;
        if (type->is_signed ? (int64_t)lo <= 127 && (int64_t)hi >= -128 : lo <= 127)
            return true;
    }
    return false;
}

static int run_passes(struct batch *b, size_t sums_size, size_t reports_size, size_t scratch_size)
{
    const struct azint_launch *l = &b->l;
    size_t items = l->call->items, need;
    const size_t rows = l->deviation ? HCY_AZINT_FILTERED : HCY_AZINT_SUMS;
    int status = hcy_size_mul(&need, items, rows * sizeof(uint64_t) * (size_t)l->plan->n_bins);
    /* The size that the host was told comes from the same function, so the places are the same. */
    azint_lay_out(l, items, &b->layout);
    if (status || sums_size < need || reports_size / sizeof(hcy_frame_report) < items ||
        scratch_size < b->layout.total)
        return hcy_fail(HCY_ERANGE, "azint: sums, reports or scratch are too small for %zu frames", items);
    /* Places count from the start of a cache line, for which the total has 64 bytes to spare. */
    b->scratch += (64 - (uintptr_t)b->scratch % 64) % 64;
    b->pass.plan = l->plan;
    b->pass.deviation = l->deviation;
    b->pass.filter_ops = cpu_filter_ops(l->call->simd);
    /* The caller's buffer has other rows than the plain sums, which therefore lie in the scratch buffer. */
    if (l->deviation) {
        b->out = b->pass.sums;
        b->pass.sums = (uint64_t *)(b->scratch + b->layout.plain);
    }
    b->pass.regions = l->regions;
    b->pass.ops = l->ops;
    b->pass.block_ops = cpu_block_ops(l->call->simd);
    b->pass.type = l->type;
    b->pass.job = l->job;
    b->pass.small_invalid = small_invalid(l->job, l->type);
    set_spaces(b);
    /* A full pass refuses an item, which comes again after the pass has run. */
    for (size_t i = 0; i < items; i++)
        while (!status && !add_to_pass(b, i))
            status = run_one_pass(b);
    return status ? status : run_one_pass(b);
}

/* --- The kernels --- */

#define SUMS_OF(kernel)                                                                                      \
    .plan = HCY_ARG_AT(kernel, plan), .job = HCY_ARG_AT(kernel, job), .sums = HCY_ARG_AT(kernel, sums),      \
    .reports = HCY_ARG_AT(kernel, reports), .scratch = HCY_ARG_AT(kernel, scratch)
#define CHUNKS_OF(kernel)                                                                                    \
    .coded = true, .chunks = HCY_ARG_AT(kernel, chunks), .frames = HCY_ARG_AT(kernel, frames),               \
    .blocks = HCY_ARG_AT(kernel, blocks), .coding = HCY_ARG_AT(kernel, coding)

static const struct azint_kernel image_kernel = { .images = HCY_ARG_AT(azint_image, images), SUMS_OF(azint_image) };
static const struct azint_kernel coded_kernel = { CHUNKS_OF(bslz4_azint), SUMS_OF(bslz4_azint) };
static const struct azint_kernel deviation_kernel = { .deviation = true, CHUNKS_OF(bslz4_azint_deviation),
                                                   SUMS_OF(bslz4_azint_deviation) };

static const struct azint_kernel regions_kernel = { .regions = true,
                                                    .table = HCY_ARG_AT(bslz4_azint_regions, regions),
                                                    .region_job = HCY_ARG_AT(bslz4_azint_regions, region_job),
                                                    .found = HCY_ARG_AT(bslz4_azint_regions, found),
                                                    CHUNKS_OF(bslz4_azint_regions),
                                                    SUMS_OF(bslz4_azint_regions) };

static int run_call(struct batch *b, const struct cpu_call *call, const struct azint_kernel *k)
{
    b->scratch = cpu_arg(call, k->scratch);
    b->pass.reports = cpu_arg(call, k->reports);
    b->pass.sums = cpu_arg(call, k->sums);
    return run_passes(b, cpu_arg_size(call, k->sums), cpu_arg_size(call, k->reports), cpu_arg_size(call, k->scratch));
}

static int run_plain(const struct cpu_call *call)
{
    const struct azint_kernel *k = &image_kernel;
    struct batch b = { .images = cpu_arg(call, k->images) };
    int status = azint_launch_open(&b.l, call, k);
    if (status)
        return status;
    if (cpu_arg_size(call, k->images) / b.l.image_bytes < call->items)
        return hcy_fail(HCY_ERANGE, "azint_image: fewer than %zu images", call->items);
    return run_call(&b, call, k);
}

static int run_chunks(const struct cpu_call *call, const struct azint_kernel *k)
{
    struct batch b = {
        .chunks = cpu_arg(call, k->chunks),
        .chunks_size = cpu_arg_size(call, k->chunks),
        .frames = cpu_arg(call, k->frames),
        .blocks = cpu_arg(call, k->blocks),
        .n_blocks = cpu_arg_size(call, k->blocks) / sizeof(hcy_bslz4_block),
    };
    int status = azint_launch_open(&b.l, call, k);
    if (status)
        return status;
    if (cpu_arg_size(call, k->frames) / sizeof(hcy_bslz4_frame) < call->items)
        return hcy_fail(HCY_ERANGE, "bslz4_azint: fewer than %zu frames", call->items);
    b.pass.coding = *b.l.coding;
    b.pass.limit = b.chunks + b.chunks_size;
    if (k->regions)
        b.pass.found = cpu_arg(call, k->found);
    return run_call(&b, call, k);
}

static int run_coded(const struct cpu_call *call)
{
    return run_chunks(call, &coded_kernel);
}

static int run_deviation(const struct cpu_call *call)
{
    return run_chunks(call, &deviation_kernel);
}

static int run_with_regions(const struct cpu_call *call)
{
    const struct azint_kernel *k = &regions_kernel;
    int status = hcy_azint_check_regions("bslz4_azint_regions", call->values[k->region_job].bytes,
                                         call->values[k->job].bytes, call->items, cpu_arg_size(call, k->table),
                                         cpu_arg_size(call, k->found));
    return status ? status : run_chunks(call, k);
}

static int scratch_of(size_t *size, const struct cpu_call *call, const struct azint_kernel *k)
{
    struct azint_launch l;
    struct azint_layout layout;
    int status = azint_launch_open(&l, call, k);
    if (status)
        return status;
    azint_lay_out(&l, call->items ? call->items : 1, &layout);
    *size = layout.total;
    return 0;
}

static int batch_of(size_t *items, const struct cpu_call *call, const struct azint_kernel *k)
{
    struct azint_launch l;
    struct azint_layout layout;
    int status = azint_launch_open(&l, call, k);
    if (status)
        return status;
    azint_choose_pass(&l, l.ops->pass, &layout);
    size_t most = BATCH_BUDGET / l.image_bytes;
    *items = most < layout.frames ? (most ? most : 1) : layout.frames;
    /* Float frames are shared out whole, so a batch must have one for each thread. */
    if (l.type->is_float && *items < cpu_pool_threads(call->pool))
        *items = cpu_pool_threads(call->pool); /* a thread a frame */
    return 0;
}

static int scratch_image(size_t *size, const struct cpu_call *call)
{
    return scratch_of(size, call, &image_kernel);
}

static int scratch_coded(size_t *size, const struct cpu_call *call)
{
    return scratch_of(size, call, &coded_kernel);
}

static int scratch_deviation(size_t *size, const struct cpu_call *call)
{
    return scratch_of(size, call, &deviation_kernel);
}

static int scratch_with_regions(size_t *size, const struct cpu_call *call)
{
    return scratch_of(size, call, &regions_kernel);
}

static int batch_image(size_t *items, const struct cpu_call *call)
{
    return batch_of(items, call, &image_kernel);
}

static int batch_coded(size_t *items, const struct cpu_call *call)
{
    return batch_of(items, call, &coded_kernel);
}

static int batch_deviation(size_t *items, const struct cpu_call *call)
{
    return batch_of(items, call, &deviation_kernel);
}

static int batch_with_regions(size_t *items, const struct cpu_call *call)
{
    return batch_of(items, call, &regions_kernel);
}

const struct cpu_kernel cpu_azint_kernels[] = {
    { "azint_image", run_plain, scratch_image, batch_image, azint_prepare, cpu_simd_built, azint_prepare_few,
      NULL },
    { "bslz4_azint", run_coded, scratch_coded, batch_coded, azint_prepare, cpu_simd_built, azint_prepare_few,
      NULL },
    { "bslz4_azint_deviation", run_deviation, scratch_deviation, batch_deviation, azint_deviation_prepare,
      cpu_simd_built, NULL, NULL },
    { "bslz4_azint_regions", run_with_regions, scratch_with_regions, batch_with_regions, azint_prepare,
      cpu_simd_built, azint_prepare_few, NULL },
    { .name = NULL },
};
