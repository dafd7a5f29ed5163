/* azint.cpp - the kernels azint_image and bslz4_azint: images, or chunks, to bin sums, a frame after the other. */
#include "args.h"

#include "azint_engine.h"

/* --- bslz4_azint --- */

static void hls_sum_chunk(const uint64_t *chunks, const uint64_t *blocks, const hls_word *plan, uint64_t *sums,
                          uint64_t at, uint64_t again, hls_lost (&list)[HLS_LOST], hls_task coded_task,
                          hls_sums_task task, uint32_t *damaged, hls_losses *losses)
{
#pragma HLS DATAFLOW
    /* Depths (design.h) even out a few clocks, or hold a burst of the memory, or a whole piece of the plan. */
    hls::stream<hls_unit, HLS_SMALL_DEPTH> listed("listed");
    hls::stream<hls_unit, 2> units[HLS_ENGINES], copies[HLS_ENGINES], turns[HLS_ENGINES];
    hls::stream<uint64_t, HLS_CODED_DEPTH> coded[HLS_ENGINES];
    hls::stream<hls_sequence, HLS_SMALL_DEPTH> sequences[HLS_ENGINES];
    hls::stream<hls_chunk, HLS_SMALL_DEPTH> decoded[HLS_ENGINES];
    hls::stream<hls_pixels, HLS_PIXEL_DEPTH> pieces[HLS_ENGINES];
    hls::stream<hls_group, HLS_SMALL_DEPTH> groups("groups");
    hls::stream<hls_piece, 2> to_weights("to_weights"), to_integrate("to_integrate"), to_note("to_note"),
        to_settle("to_settle");
    hls::stream<hls_word, HLS_PIXEL_DEPTH> words("words");
    hls::stream<hls_record, HLS_PIXEL_DEPTH> records("records");
    /* This FIFO and `totals` hold a whole piece, so that settle works while the next one is added up. */
    hls::stream<uint64_t, HLS_PAIR_DEPTH> bins("bins");
#pragma HLS BIND_STORAGE variable=bins type=fifo impl=uram
    hls::stream<uint8_t, HLS_PIXEL_DEPTH> lost("lost");
    hls::stream<hls_pair, HLS_PAIR_DEPTH> totals("totals");
#pragma HLS BIND_STORAGE variable=totals type=fifo impl=uram
    /* Names are for the C simulation, whose model counts what went through. */
    HLS_NAMED(units, "units")
    HLS_NAMED(copies, "copies")
    HLS_NAMED(turns, "turns")
    HLS_NAMED(coded, "coded")
    HLS_NAMED(sequences, "sequences")
    HLS_NAMED(decoded, "decoded")
    HLS_NAMED(pieces, "pieces")
    HLS_STAGES
    /* Every stage runs at the same time; only FIFOs join them, so the order of these lines is that of the
     * data. */
    HLS_STAGE(hls_list(blocks, coded_task, listed));
    HLS_STAGE(hls_fetch(chunks, coded_task, listed, units, coded));
    for (uint32_t e = 0; e < HLS_ENGINES; e++) {
#pragma HLS UNROLL
        HLS_STAGE_OF(e, hls_parse(coded_task, e, units[e], coded[e], copies[e], sequences[e]));
        HLS_STAGE_OF(e, hls_copy(coded_task, e, copies[e], sequences[e], turns[e], decoded[e]));
        HLS_STAGE_OF(e, hls_transpose(coded_task, e, turns[e], decoded[e], pieces[e]));
    }
    /* From here on there is one stream again, eight pixels a clock. */
    HLS_STAGE(hls_collect(coded_task, pieces, groups, damaged));
    HLS_STAGE(hls_read_plan(plan, task, to_weights, to_integrate, to_note, to_settle, words));
    HLS_STAGE(hls_weights(task, to_weights, words, records, bins));
    HLS_STAGE(hls_integrate(task, to_integrate, records, groups, lost, totals));
    HLS_STAGE(hls_note(task, list, again, to_note, lost, losses));
    HLS_STAGE(hls_settle(task, sums, at, again, to_settle, totals, bins));
    HLS_STAGES_END
}

/* Registers and buffers: args.h.  `scratch` is not used. */
extern "C" void bslz4_azint(uint64_t items, const uint64_t *chunks, uint64_t chunks_bytes, const uint64_t *frames,
                            uint64_t frames_bytes, const uint64_t *blocks, uint64_t blocks_bytes,
                            const uint64_t *coding, const hls_word *plan, uint64_t plan_bytes, const uint64_t *job,
                            uint64_t *sums, uint64_t sums_bytes, uint64_t *reports, uint64_t reports_bytes,
                            uint64_t *scratch, uint64_t scratch_bytes)
{
#pragma HLS INTERFACE m_axi port=chunks bundle=gmem0 max_widen_bitwidth=64 \
    max_read_burst_length=64 num_read_outstanding=32
#pragma HLS INTERFACE m_axi port=frames bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=blocks bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=coding bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=job bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=plan bundle=gmem2 max_widen_bitwidth=512 \
    max_read_burst_length=64 num_read_outstanding=32
#pragma HLS INTERFACE m_axi port=sums bundle=gmem3 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=reports bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=scratch bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE s_axilite port=items
#pragma HLS INTERFACE s_axilite port=chunks_bytes
#pragma HLS INTERFACE s_axilite port=frames_bytes
#pragma HLS INTERFACE s_axilite port=blocks_bytes
#pragma HLS INTERFACE s_axilite port=plan_bytes
#pragma HLS INTERFACE s_axilite port=sums_bytes
#pragma HLS INTERFACE s_axilite port=reports_bytes
#pragma HLS INTERFACE s_axilite port=scratch_bytes
#pragma HLS INTERFACE s_axilite port=return
    HLS_MEMORY hls_lost list[HLS_LOST];
#pragma HLS BIND_STORAGE variable=list type=ram_s2p impl=uram
    (void)scratch;
    (void)scratch_bytes;
    hcy_bslz4_job code;
    hls_sums_task task;
    hls_coding_get(&code, coding);
    /* What is wrong with the plan or the job is wrong for each frame, and is reported with each. */
    int32_t unable = hls_sums_open(task, job, plan, plan_bytes);
    if (!unable && (code.elem_size != task.elem || code.image_bytes != task.job.n_pixels * task.elem))
        unable = HCY_EINVAL;
    uint64_t frame_sums = (uint64_t)HCY_AZINT_SUMS * task.job.n_bins;
    for (uint64_t i = 0; i < items; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=32 max=1024
        hls_task r;
        uint32_t damaged = UINT32_MAX;
        hls_losses losses = { 0, 0 };
        /* Without a place for the report nothing can be said, so nothing is done either. */
        if ((i + 1) * sizeof(hcy_bslz4_frame) > frames_bytes || (i + 1) * sizeof(hcy_frame_report) > reports_bytes)
            break;
        hls_frame_get(&r.frame, frames, i);
        /* Frames come from the caller, who need not have parsed them with the library: every device checks
         * them. */
        int32_t status = hls_frame_check(r.frame, code, chunks_bytes, blocks_bytes / sizeof(hcy_bslz4_block));
        if (!status && unable)
            status = unable;
        if (!status && (i + 1) * frame_sums * 8 > sums_bytes)
            status = HCY_ERANGE;
        /* By value to all stages: none of them may change what another one reads. */
        r.chunks_bytes = chunks_bytes;
        r.n_units = r.frame.n_blocks + (r.frame.tail_bytes > 0);
        r.codec = code.codec;
        r.elem = code.elem_size;
        /* More lost pixels than the list holds make another pass, whose sums are thrown away, for the next part
         * of the list. */
        for (uint64_t done = 0; !status && (!done || done < losses.groups); done += HLS_LOST) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=256
            hls_sum_chunk(chunks, blocks, plan, sums, i * frame_sums, done, list, r, task, &damaged, &losses);
            if (damaged != UINT32_MAX)
                status = HCY_ECORRUPT;
            else if (losses.groups)
                hls_lose(plan, task, list, losses.groups - done, done > 0, sums + i * frame_sums);
        }
        if (damaged != UINT32_MAX)
            hls_report_put(reports, i, status, damaged, hls_low(blocks[r.frame.first_block + damaged]), 0);
        else
            hls_report_put(reports, i, status, 0, 0, losses.pixels);
    }
}

/* --- azint_image --- */

static void hls_sum_image(const uint64_t *images, uint64_t images_bytes, uint64_t image, const hls_word *plan,
                          uint64_t *sums, uint64_t at, uint64_t again, hls_lost (&list)[HLS_LOST], hls_sums_task task,
                          hls_losses *losses)
{
#pragma HLS DATAFLOW
    hls::stream<uint64_t, HLS_PIXEL_DEPTH> pixels("pixels");
    hls::stream<hls_pixels, HLS_PIXEL_DEPTH> pieces("pieces");
    hls::stream<hls_group, HLS_SMALL_DEPTH> groups("groups");
    hls::stream<hls_piece, 2> to_weights("to_weights"), to_integrate("to_integrate"), to_note("to_note"),
        to_settle("to_settle");
    hls::stream<hls_word, HLS_PIXEL_DEPTH> words("words");
    hls::stream<hls_record, HLS_PIXEL_DEPTH> records("records");
    hls::stream<uint64_t, HLS_PAIR_DEPTH> bins("bins");
#pragma HLS BIND_STORAGE variable=bins type=fifo impl=uram
    hls::stream<uint8_t, HLS_PIXEL_DEPTH> lost("lost");
    hls::stream<hls_pair, HLS_PAIR_DEPTH> totals("totals");
#pragma HLS BIND_STORAGE variable=totals type=fifo impl=uram
    HLS_STAGES
    /* The stages behind collect are those of bslz4_azint: pixels are pixels, wherever they came from. */
    HLS_STAGE(hls_read_words(images, images_bytes, image, task.job.n_pixels * task.elem, pixels));
    HLS_STAGE(hls_read_image(image, task.job.n_pixels * task.elem, pixels, pieces));
    HLS_STAGE(hls_collect_image(task.elem, task.job.n_pixels * task.elem, pieces, groups));
    HLS_STAGE(hls_read_plan(plan, task, to_weights, to_integrate, to_note, to_settle, words));
    HLS_STAGE(hls_weights(task, to_weights, words, records, bins));
    HLS_STAGE(hls_integrate(task, to_integrate, records, groups, lost, totals));
    HLS_STAGE(hls_note(task, list, again, to_note, lost, losses));
    HLS_STAGE(hls_settle(task, sums, at, again, to_settle, totals, bins));
    HLS_STAGES_END
}

extern "C" void azint_image(uint64_t items, const uint64_t *images, uint64_t images_bytes, const hls_word *plan,
                            uint64_t plan_bytes, const uint64_t *job, uint64_t *sums, uint64_t sums_bytes,
                            uint64_t *reports, uint64_t reports_bytes, uint64_t *scratch, uint64_t scratch_bytes)
{
#pragma HLS INTERFACE m_axi port=images bundle=gmem0 max_widen_bitwidth=64 \
    max_read_burst_length=64 num_read_outstanding=32
#pragma HLS INTERFACE m_axi port=job bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=plan bundle=gmem2 max_widen_bitwidth=512 \
    max_read_burst_length=64 num_read_outstanding=32
#pragma HLS INTERFACE m_axi port=sums bundle=gmem3 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=reports bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=scratch bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE s_axilite port=items
#pragma HLS INTERFACE s_axilite port=images_bytes
#pragma HLS INTERFACE s_axilite port=plan_bytes
#pragma HLS INTERFACE s_axilite port=sums_bytes
#pragma HLS INTERFACE s_axilite port=reports_bytes
#pragma HLS INTERFACE s_axilite port=scratch_bytes
#pragma HLS INTERFACE s_axilite port=return
    HLS_MEMORY hls_lost list[HLS_LOST];
#pragma HLS BIND_STORAGE variable=list type=ram_s2p impl=uram
    (void)scratch;
    (void)scratch_bytes;
    hls_sums_task task;
    int32_t unable = hls_sums_open(task, job, plan, plan_bytes);
    uint64_t frame_sums = (uint64_t)HCY_AZINT_SUMS * task.job.n_bins, image_bytes = task.job.n_pixels * task.elem;
    for (uint64_t i = 0; i < items; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=32 max=1024
        hls_losses losses = { 0, 0 };
        if ((i + 1) * sizeof(hcy_frame_report) > reports_bytes)
            break;
        uint64_t *report = reports + i * (sizeof(hcy_frame_report) / 8);
        /* A frame that was not decoded has its status in the report already, which must stay. */
        int32_t before = (int32_t)hls_low(report[0]), status = unable;
        if (!status && ((i + 1) * frame_sums * 8 > sums_bytes || (i + 1) * image_bytes > images_bytes))
            status = HCY_ERANGE;
        if (before)
            continue;
        if (status) {
            hls_report_put(reports, i, status, 0, 0, 0);
            continue;
        }
        /* As above: once, and again for what the list could not hold. */
        for (uint64_t done = 0; !done || done < losses.groups; done += HLS_LOST) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=256
            hls_sum_image(images, images_bytes, i * image_bytes, plan, sums, i * frame_sums, done, list, task, &losses);
            if (losses.groups)
                hls_lose(plan, task, list, losses.groups - done, done > 0, sums + i * frame_sums);
        }
        report[2] = losses.pixels;
    }
}

#ifndef __SYNTHESIS__
#include "call.h"
HCY_HLS_KERNEL(bslz4_azint)
HCY_HLS_KERNEL(azint_image)
#endif
