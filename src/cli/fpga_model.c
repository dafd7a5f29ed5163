/* fpga_model.c - halcyon fpga-model: what the FPGA kernels (kernels_hls) would do with a stack, clock by clock.
 *
 * Frames are read and parsed, their blocks walked by kernels_hls/model.c; the plan's records are made as for a card.
 * Every figure is modelled and said to be; none is measured.  Single-threaded. */
#include "guard.h"
#include "mask.h"
#include "model.h"
#include "azint/plan.h"
#include "design.h"
#include <halcyon/pipeline.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *poni, *platform, *dataset;
    struct cli_int npt, npt_azim, frames, units, engines;
    struct cli_real clock;
    int split, json;
};

static const char *const splits[] = { "no", "bbox", "full", NULL };

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "poni", 'p', CLI_TEXT, AT(poni), "FILE", "geometry (needed)", 0, 0, NULL },
    { "npt", 'n', CLI_INT, AT(npt), "N", "bins of the curve (1000)", 1, HCY_AZINT_MAX_BINS, NULL },
    { "npt-azim", 0, CLI_INT, AT(npt_azim), "N", "and in azimuth (none: a curve)", 1, HCY_AZINT_MAX_BINS, NULL },
    { "split", 0, CLI_CHOICE, AT(split), "HOW", "no, bbox, full (default)", 0, 0, splits },
    { "frames", 0, CLI_INT, AT(frames), "N", "of the stack, from its first (8)", 1, 100000, NULL },
    { "platform", 0, CLI_TEXT, AT(platform), "CARD", "u55c (default), u50, u280, u250 or u200", 0, 0, NULL },
    { "units", 0, CLI_INT, AT(units), "N", "compute units (what the card is meant to hold)", 1, 64, NULL },
    { "engines", 0, CLI_INT, AT(engines), "N", "LZ4 decoders a compute unit (4)", 1, 16, NULL },
    { "clock", 0, CLI_REAL, AT(clock), "MHZ", "of the kernels (300)", 1, 1000, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in STACK (default: found)", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "as one JSON object", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_fpga_model_command = {
    "fpga-model", "what the FPGA kernels would do with a stack: modelled", "STACK -p GEOMETRY.poni", 1, 1, options,
    "Frames per second, the stage that limits, traffic and resources are MODELLED from the\n"
    "stack's own LZ4 sequences; nothing is measured.  Pixels that the first frame marks invalid\n"
    "are masked."
};

struct model {
    const struct values *values;
    hcy_stack *stack;
    const hcy_stack_info *info;
    hcy_pipeline_source source;
    hcy_azint_plan *plan;
    uint8_t *mask, *chunk;
    hcy_bslz4_block *blocks;
    hls_work work;
    hls_design design;
    hls_rates rates;
    void *records; /* of the plan */
};

static int make_model_plan(struct model *m)
{
    const struct values *v = m->values;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options azint = HCY_AZINT_OPTIONS_INIT;
    hcy_device *device = NULL;
    int status = hcy_poni_read(&poni, v->poni);
    if (!status)
        status = hcy_device_open(&device, "cpu");
    if (status)
        return cli_fail(status);
    /* With errors the kernels have more sums to write, so the figures are those of the usual run. */
    azint.npt = (size_t)v->npt.value;
    azint.npt_azim = (size_t)v->npt_azim.value;
    azint.split = v->split;
    azint.error_model = HCY_ERRORS_POISSON;
    azint.sentinels = HCY_SENTINELS_ALWAYS;
    m->mask = calloc(m->info->height, m->info->width);
    /* The CPU decodes one frame for the mask; no card is needed to model one. */
    status = m->mask ? cli_mask_frame(m->mask, m->stack, device, &poni, &azint, 0) : cli_error("out of memory");
    /* The plan is the same on any device, so the CPU is not needed any more. */
    hcy_device_release(device);
    if (status)
        return status;
    azint.mask = m->mask;
    azint.mask_height = m->info->height;
    azint.mask_width = m->info->width;
    status = hcy_azint_plan_create(&m->plan, &poni, m->info->height, m->info->width, &azint);
    return status ? cli_fail(status) : CLI_OK;
}

/* The plan's records, and the sums of a frame: rows that kernels write, and that the host reads. */
static int lay_out_records(struct model *m)
{
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_job job;
    size_t size;
    hcy_azint_plan_tables(spans, m->plan);
    int status = hcy__hls_records(&m->records, &size, spans, HCY_AZINT_SPANS);
    if (!status)
        status = hcy_azint_plan_job(&job, m->plan, m->source.pixel_type);
    if (!status)
        status = hcy_azint_plan_narrow(&job, m->plan);
    if (status)
        return cli_fail(status);
    const hls_plan_head *head = m->records;
    m->design.pieces = (const hls_piece *)(head + 1);
    m->design.n_pieces = head->n_pieces;
    /* Narrow sums are rows of one word: the signal, and the variance where it is wanted. Else all four rows are. */
    m->design.rows = 4;
    if (job.flags & HCY_AZINT_NARROW)
        m->design.rows = job.flags & HCY_AZINT_WANT_VARIANCE ? 2 : 1;
    /* The host copies these alone where there are many bins, and all that sums have room for where there are few. */
    const uint64_t rows = job.n_bins >= HCY_AZINT_BY_ROWS ? m->design.rows : HCY_AZINT_SUMS;
    m->design.sums_bytes = rows * sizeof(uint64_t) * job.n_bins + sizeof(hcy_frame_report);
    return CLI_OK;
}

/* What the engines hold of bit-planes (bslz4_parse.h): a card would report other frames as unsupported. */
static int check_blocks(const struct model *m, const hcy_bslz4_frame *frame)
{
    const uint32_t codec = m->source.coding.codec;
    const int has_planes = codec == HCY_CODEC_BSLZ4 || codec == HCY_CODEC_BITSHUFFLE;
    if (!has_planes || !frame->n_blocks || frame->block_bytes <= HLS_BLOCK)
        return CLI_OK;
    return cli_error("blocks of bit-planes have %u bytes; the FPGA kernels take %d at most", frame->block_bytes,
                     HLS_BLOCK);
}

static int look_at_frame(struct model *m, uint64_t number)
{
    hcy_bslz4_frame frame;
    size_t size = 0, n = 0;
    int status = hcy_stack_frame_size(&size, m->stack, number);
    /* Each frame has its own size, so the last one's memory goes first. */
    free(m->chunk);
    free(m->blocks);
    m->blocks = NULL;
    /* The padding is what kernels may read past the end; it is zero here. */
    m->chunk = status ? NULL : calloc(1, size + HCY_BSLZ4_PADDING);
    if (!status && !m->chunk)
        status = hcy_fail(HCY_ENOMEM, "%zu bytes for a frame", size);
    if (!status)
        status = hcy_stack_read(&size, m->chunk, size, m->stack, number);
    if (!status)
        status = hcy_bslz4_block_count(&n, &m->source.coding, m->chunk, size);
    m->blocks = status ? NULL : calloc(n + 1, sizeof *m->blocks);
    if (!status && !m->blocks)
        status = hcy_fail(HCY_ENOMEM, "%zu blocks", n);
    if (!status)
        status = hcy_bslz4_parse(&frame, m->blocks, n, NULL, &m->source.coding, m->chunk, size);
    status = status ? cli_fail(status) : check_blocks(m, &frame);
    if (status)
        return status;
    /* The walk counts what the decoders would do; it needs no pixels. */
    hls_work_frame(&m->work, &frame, m->blocks, &m->source.coding, m->chunk);
    return CLI_OK;
}

static const hls_card *find_card_named(const char *name)
{
    for (const hls_card *c = hls_cards; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

/* --- What it says --- */

static double per_frame(const struct model *m, uint64_t n)
{
    return (double)n / (double)m->work.frames;
}

static void print_clocks(const struct model *m)
{
    const hls_rates *r = &m->rates;
    for (int k = 0; k < HLS_STAGES; k++)
        printf("  %-10s %9.0f clocks a frame%s\n", hls_stage_names[k], r->clocks[k],
               k == r->limit ? "   <- limits the kernels" : "");
    printf("  %-10s %9.0f clocks from frame to frame\n", "all", r->frame);
}

static void print_model_text(const struct model *m)
{
    const hls_work *w = &m->work;
    const hls_design *d = &m->design;
    const hls_rates *r = &m->rates;
    const hls_card *c = d->card;
    printf("MODELLED, not measured: %s, %u compute units of %u LZ4 engines at %.0f MHz\n", c->name, d->units,
           d->engines, 1e-6 * d->clock);
    /* Counts are sums over the frames walked, so they are shown for one frame. */
    printf("a frame: %.0f blocks, %.0f coded bytes, %.0f sequences, %.0f literals, %.0f bytes of matches,\n"
           "  %.0f bit-planes not copied; %.0f bytes to the card, %llu from it; %llu records of weights, %llu bins in %llu pieces,\n"
           "  %u rows of sums\n",
           per_frame(m, w->blocks), per_frame(m, w->coded_bytes), per_frame(m, w->sequences),
           per_frame(m, w->literals), per_frame(m, w->matches), per_frame(m, w->same_planes),
           per_frame(m, w->link_bytes), (unsigned long long)d->sums_bytes,
           (unsigned long long)r->records, (unsigned long long)r->bins, (unsigned long long)d->n_pieces, d->rows);
    print_clocks(m);
    printf("%.0f frames/s modelled, bounded by %s: kernels %.0f (%.0f a compute unit), link %.0f and back %.0f at "
           "%.0f GB/s, memory %.0f\n",
           r->all, hls_stage_names[r->bound], r->kernels, r->unit, r->link, r->back, 1e-9 * c->link, r->memory);
    printf("memory: weights %.1f GB/s, chunks %.1f GB/s, sums %.1f GB/s, of %.0f GB/s\n", 1e-9 * r->weights,
           1e-9 * r->coded, 1e-9 * r->sums, 1e-9 * c->memory);
    /* A design that is too large is still modelled, as the user may want to know by how much. */
    printf("estimated: LUT %.0fk of %uk, BRAM %.0f of %u, URAM %.0f of %u, DSP %.0f of %u%s\n", r->lut, c->lut, r->bram,
           c->bram, r->uram, c->uram, r->dsp, c->dsp,
           r->lut > c->lut || r->bram > c->bram || r->uram > c->uram || r->dsp > c->dsp ? ": TOO MUCH" : "");
}

static void print_model_json(const struct model *m)
{
    const hls_rates *r = &m->rates;
    const hls_work *w = &m->work;
    struct cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    /* The first key says that nothing here was measured, wherever the object is copied to. */
    cli_json_bool(&json, "modelled", 1);
    cli_json_text(&json, "platform", m->design.card->name);
    cli_json_int(&json, "units", m->design.units);
    cli_json_int(&json, "engines", m->design.engines);
    cli_json_real(&json, "clock_hz", m->design.clock);
    /* Tables of keys and values keep the names side by side, as programs read them. */
    const struct {
        const char *name;
        uint64_t n;
    } counts[] = {
        { "frames", w->frames },
        { "blocks", w->blocks },
        { "coded_bytes", w->coded_bytes },
        { "link_bytes", w->link_bytes },
        { "link_back_bytes", w->frames * m->design.sums_bytes },
        { "sequences", w->sequences },
        { "literals", w->literals },
        { "matches", w->matches },
        { "same_planes", w->same_planes },
        { "records", r->records },
        { "bins", r->bins },
        { "pieces", m->design.n_pieces },
        { "sum_rows", m->design.rows },
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        cli_json_int(&json, counts[i].name, (int64_t)counts[i].n);
    /* The slowest stage is the one that limits, and its name follows the clocks. */
    cli_json_open(&json, "clocks_a_frame", '{');
    for (int k = 0; k < HLS_STAGES; k++)
        cli_json_real(&json, hls_stage_names[k], r->clocks[k]);
    cli_json_real(&json, "all", r->frame);
    cli_json_close(&json, '}');
    cli_json_text(&json, "limit", hls_stage_names[r->bound]);
    const struct {
        const char *name;
        double value;
    } rates[] = {
        { "frames_per_s", r->all },
        { "kernels_frames_per_s", r->kernels },
        { "link_frames_per_s", r->link },
        { "link_back_frames_per_s", r->back },
        { "memory_frames_per_s", r->memory },
        { "weights_bytes_per_s", r->weights },
        { "chunks_bytes_per_s", r->coded },
        { "sums_bytes_per_s", r->sums },
        { "lut_thousands", r->lut },
        { "bram", r->bram },
        { "uram", r->uram },
        { "dsp", r->dsp },
    };
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        cli_json_real(&json, rates[i].name, rates[i].value);
    cli_json_close(&json, '}');
}

static int run_model(struct model *m, const char *path)
{
    const struct values *v = m->values;
    int status = hcy_stack_open(&m->stack, path, v->dataset);
    if (status)
        return cli_fail(status);
    status = guard_trace_alone(m->stack, m->values->poni);
    if (status)
        return status;
    m->info = hcy_stack_get_info(m->stack);
    m->source = hcy_pipeline_source_of(m->info);
    /* The kernels' data paths have integers of 32 bits a pixel: neither 64-bit pixels nor floats can be modelled. */
    const bool are_floats = m->info->pixel_type == HCY_PIXEL_F32 || m->info->pixel_type == HCY_PIXEL_F64;
    if (are_floats || m->source.coding.elem_size > 4)
        return cli_error("%s: pixels are %s of %u bytes; the FPGA kernels take integers of 4 at most", path,
                         are_floats ? "floats" : "integers", m->source.coding.elem_size);
    status = make_model_plan(m);
    if (!status)
        status = lay_out_records(m);
    /* Some frames are enough for means, as frames of one measurement resemble one another. */
    uint64_t n = (uint64_t)v->frames.value < m->info->frames ? (uint64_t)v->frames.value : m->info->frames;
    for (uint64_t i = 0; !status && i < n; i++)
        status = look_at_frame(m, i);
    if (status)
        return status;
    /* The rates follow from the work of a frame and the design, without the stack. */
    hls_rates_get(&m->rates, &m->work, &m->design);
    (v->json ? print_model_json : print_model_text)(m);
    return CLI_OK;
}

int cli_fpga_model(int argc, char **argv)
{
    struct values v = { .platform = "u55c",
                        .npt = { 0, 1000 },
                        .frames = { 0, 8 },
                        .engines = { 0, HLS_ENGINES },
                        .clock = { 0, 300 },
                        .split = HCY_SPLIT_FULL };
    struct model m = { .values = &v };
    const char *path = NULL;
    int status;
    if (cli_parse(&cli_fpga_model_command, argc, argv, &v, &path, &status))
        return status;
    /* A card must be known: its memory and link bound the rates. */
    m.design.card = find_card_named(v.platform);
    if (!v.poni || !m.design.card)
        return v.poni ? cli_usage("--platform %s: u55c, u50, u280, u250 and u200 are known", v.platform)
                      : cli_usage("a geometry is needed: -p FILE.poni");
    /* The card's own number of units is what fits it; another one shows what else would. */
    m.design.units = v.units.given ? (uint32_t)v.units.value : m.design.card->units;
    m.design.engines = (uint32_t)v.engines.value;
    m.design.clock = 1e6 * v.clock.value;
    status = run_model(&m, path);
    hcy_azint_plan_release(m.plan);
    hcy_stack_close(m.stack);
    free(m.mask);
    free(m.chunk);
    free(m.blocks);
    free(m.records);
    return cli_close_stdout(status);
}
