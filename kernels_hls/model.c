/* model.c - clocks of the FPGA design, from the sequences of real blocks.  MODELLED: nothing here was measured.
 *
 * Blocks are walked as the stages of bslz4_parse.h and bslz4_engine.h would, without moving a byte.  A good block is
 * expected; of a damaged one the walk ends early.
 */
#include "model.h"

/* --- Assumptions --- */

#define II_PARSE      2   /* clocks of a step of the parser: barrel shift and length in one loop */
#define BURST_LATENCY 80  /* clocks until a block's first word arrives: HBM through its switch, 300 MHz */
#define BLOCK_LATENCY 40  /* clocks that an engine's stages need to get going with a block */
#define FRAME_LATENCY 2000 /* of all stages, from frame to frame */
#define BEAT          32   /* bytes of memory that a single number of 8 bytes costs */

/* Of the card, per compute unit: of its engines, its sums, its ports and what holds them together. */
static const struct {
    double lut, bram, uram, dsp;
} engine_costs = { 9, 17, 0, 0 }, sums_costs = { 34, 2, 59, 96 }, port_costs = { 13, 32, 0, 0 };

const hls_card hls_cards[] = {
    { "u55c", 10, 1304, 2016, 960, 9024, 14.4e9, 460e9, 12e9 },
    { "u50", 6, 872, 1344, 640, 5952, 14.4e9, 316e9, 12e9 },
    { "u280", 10, 1304, 2016, 960, 9024, 14.4e9, 460e9, 12e9 },
    { "u250", 6, 1728, 2688, 1280, 12288, 19.2e9, 77e9, 12e9 },
    { "u200", 6, 1182, 2160, 960, 6840, 19.2e9, 77e9, 12e9 },
    { 0 },
};

const char *const hls_stage_names[HLS_LIMITS] = { "fetch", "engines", "weights", "integrate", "note", "settle",
                                                  "link", "link_back", "memory" };

/* --- A block --- */

/* Where the walk through a block stands. */
struct walk {
    hls_work *work;
    uint32_t plane, shift; /* as of struct hls_copier */
    uint32_t at, bytes;
    uint64_t steps, chunks, pauses;
    int waits;
};

static void count_chunk(struct walk *w)
{
    /* Behind planes that were left out copy waits once, before the next bytes. */
    w->pauses += w->waits != 0;
    w->waits = 0;
    w->chunks++;
}

/* n bytes in chunks of up to 8, which planes cut. */
static void walk_copy(struct walk *w, uint32_t n)
{
    while (n) {
        /* A chunk never reaches into the next plane: transpose starts a bank with each. */
        uint32_t room = w->plane ? w->plane - w->at % w->plane : 8, k = n < room ? n : room;
        k = k < 8 ? k : 8;
        count_chunk(w);
        w->at += k;
        n -= k;
    }
}

static void walk_literals(struct walk *w, uint32_t n)
{
    w->work->literals += n;
    while (n) {
        uint32_t k = n < 8 ? n : 8;
        walk_copy(w, k);
        n -= k;
    }
}

static void walk_match(struct walk *w, uint32_t n, uint32_t offset)
{
    /* The same test as hls_copier_same: a power of two divides the plane, so the match repeats it whole. */
    uint32_t from = w->at, power = !(offset & (offset - 1)) && offset <= w->plane;
    w->work->matches += n;
    while (n) {
        uint32_t room = w->plane ? w->plane - w->at % w->plane : n, k = n < room ? n : room;
        /* One clock for a plane, however long it is. */
        if (w->shift && w->at % w->plane == 0 && power && n >= w->plane && w->at - from >= w->plane - offset) {
            w->work->same_planes++;
            w->chunks++;
            w->waits = 1;
            w->at += w->plane;
            n -= w->plane;
        } else {
            walk_copy(w, k);
            n -= k;
        }
    }
}

/* The rest of a length that its first four bits did not hold. */
static uint32_t walk_length(const uint8_t **p, const uint8_t *end, struct walk *w)
{
    uint32_t n = 0, byte = 255;
    /* The parser takes a byte of a length in each of its steps. */
    while (byte == 255 && *p < end) {
        byte = *(*p)++;
        n += byte;
        w->steps++;
    }
    return n;
}

static void walk_lz4(struct walk *w, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        uint32_t token = *p++, n = token >> 4, m = (token & 15) + 4, offset;
        /* The parser takes a token, up to 5 literals and the offset in one step: 8 bytes are all that it
         * sees. */
        int quick = n <= 5;
        w->steps++;
        w->work->sequences++;
        if (n == 15)
            n += walk_length(&p, end, w);
        /* A damaged block ends the walk; what it did until then counts. */
        if (n > (size_t)(end - p) || n > w->bytes - w->at)
            return;
        p += n;
        if (end - p < 2)
            quick = 0;
        /* Literals that do not fit into the token's step take eight bytes a step. */
        w->steps += quick ? 0 : (n + 7) / 8;
        walk_literals(w, n);
        if (end - p < 2)
            return;
        offset = p[0] | (uint32_t)p[1] << 8;
        p += 2;
        /* So does an offset: a step of its own. */
        w->steps += !quick;
        if (m == 19)
            m += walk_length(&p, end, w);
        /* The same rules as the parser's, as far as they keep this walk inside of the block. */
        if (!offset || offset > w->at || m > w->bytes - w->at)
            return;
        walk_match(w, m, offset);
    }
}

/* One block; the clocks of its engine: parse and copy run side by side, transpose empties its planes before it takes
 * the next. */
static void walk_block(hls_work *work, const hcy_bslz4_job *job, const hcy_bslz4_block *b, uint32_t bytes, int tail,
                  const uint8_t *coded)
{
    struct walk w = { .work = work, .bytes = bytes };
    uint32_t size = b->size & ~HCY_BLOCK_STORED;
    int planes = job->codec == HCY_CODEC_BSLZ4 || job->codec == HCY_CODEC_BITSHUFFLE;
    uint64_t busy, copied, groups = 0;
    /* Equal planes are looked for only where a plane's bytes are a power of two, so that a shift finds it. */
    if (planes && !tail) {
        w.plane = bytes / (8 * job->elem_size);
        groups = w.plane;
        if (w.plane >= HLS_ALIAS && !(w.plane & (w.plane - 1)))
            w.shift = 1;
    }
    /* Stored bytes go through parser and copier as one long run of literals. */
    if (tail || b->size & HCY_BLOCK_STORED || job->codec == HCY_CODEC_NONE) {
        w.steps = (size + 7) / 8;
        walk_literals(&w, size);
    } else {
        walk_lz4(&w, coded, coded + size);
    }
    /* Parse and copy work at the same time, so the slower one counts. */
    copied = w.chunks + HLS_PAUSE * w.pauses;
    busy = II_PARSE * w.steps > copied ? II_PARSE * w.steps : copied;
    work->engine += busy + groups + BLOCK_LATENCY;
    work->steps += w.steps;
    work->chunks += w.chunks;
    work->pauses += w.pauses;
    work->coded_bytes += size;
    work->blocks++;
}

void hls_work_frame(hls_work *work, const hcy_bslz4_frame *frame, const hcy_bslz4_block *blocks,
                    const hcy_bslz4_job *job, const uint8_t *chunks)
{
    uint32_t pixels = HLS_LANES * job->elem_size;
    /* A chunk begins where the next one's alignment lets it; with its blocks' headers, which kernels pass over. */
    work->link_bytes += (frame->size + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN + sizeof *frame +
                        sizeof *blocks * (uint64_t)frame->n_blocks;
    /* One more than there are blocks: the tail is a unit like them. */
    for (uint32_t i = 0; i <= frame->n_blocks; i++) {
        hcy_bslz4_block b = { frame->tail_offset, frame->tail_bytes };
        int tail = i == frame->n_blocks;
        if (!tail)
            b = blocks[frame->first_block + i];
        if (tail && !frame->tail_bytes)
            break;
        uint64_t at = frame->offset + b.offset;
        /* Memory is read in whole words, so a block that begins inside of one takes that one too. */
        work->words += (at % 8 + (b.size & ~HCY_BLOCK_STORED) + 7) / 8;
        walk_block(work, job, &b, tail ? frame->tail_bytes : HCY_BLOCK_BYTES(frame, i), tail, chunks + at);
    }
    work->groups += (job->image_bytes + pixels - 1) / pixels;
    work->frames++;
}

/* --- Rates --- */

static void add_costs(hls_rates *r, double n, double lut, double bram, double uram, double dsp)
{
    r->lut += n * lut;
    r->bram += n * bram;
    r->uram += n * uram;
    r->dsp += n * dsp;
}

static void sum_costs(hls_rates *r, const hls_design *d)
{
    double n = d->units, engines = n * d->engines;
    r->lut = r->bram = r->uram = r->dsp = 0;
    /* Engines are counted one by one; sums and ports belong to a compute unit. */
    add_costs(r, engines, engine_costs.lut, engine_costs.bram, engine_costs.uram, engine_costs.dsp);
    add_costs(r, n, sums_costs.lut, sums_costs.bram, sums_costs.uram, sums_costs.dsp);
    add_costs(r, n, port_costs.lut, port_costs.bram, port_costs.uram, port_costs.dsp);
}

/* Clocks of a frame whose pixels come at `pace` clocks a record: a piece's records, then its pairs of bins, which wait
 * until settle has the piece before. */
static double walk_pieces(const hls_design *d, double pace)
{
    double summed = 0, settled = 0;
    for (uint64_t k = 0; k < d->n_pieces; k++) {
        const hls_piece *p = &d->pieces[k];
        /* All records of the piece are added before its banks can be emptied. */
        double full = summed + pace * p->n_records;
        summed = full + 0.5 * p->n_bins;
        /* The FIFO holds the sums of one piece: those of the one before must have left it. */
        summed = summed > settled ? summed : settled;
        /* Settle begins as soon as the banks are emptied, and not before it is done with the last piece. */
        settled = (full > settled ? full : settled) + (double)d->rows * p->n_bins;
    }
    return summed > settled ? summed : settled;
}

static void fill_stages(hls_rates *r, const hls_work *work, const hls_design *d, double frames)
{
    r->records = r->bins = 0;
    for (uint64_t k = 0; k < d->n_pieces; k++) {
        r->records += d->pieces[k].n_records;
        r->bins += d->pieces[k].n_bins;
    }
    /* Bytes that a port moves in a clock of the design. */
    double port = d->card->port / d->clock, records = r->records ? (double)r->records : 1, pace = records;
    double written = (double)d->rows * (double)r->bins, beats = written * BEAT / port;
    /* A burst waits for its first word, and fetch does not ask for the next block before. */
    r->clocks[HLS_AT_FETCH] = ((double)work->words + (double)work->blocks * BURST_LATENCY) / frames;
    r->clocks[HLS_AT_ENGINES] = (double)work->engine / frames / d->engines;
    r->clocks[HLS_AT_WEIGHTS] = ((double)r->records * HLS_RECORD + 4 * (double)r->bins) / port;
    r->clocks[HLS_AT_INTEGRATE] = (double)r->records + 0.5 * (double)r->bins;
    r->clocks[HLS_AT_NOTE] = (double)work->groups / frames;
    /* Sums are written one by one, each costing a whole beat of memory. */
    r->clocks[HLS_AT_SETTLE] = written > beats ? written : beats;
    r->limit = 0;
    for (int k = 1; k < HLS_STAGES; k++)
        if (r->clocks[k] > r->clocks[r->limit])
            r->limit = k;
    /* The stages before integrate set the pace at which pixels and records come. */
    for (int k = 0; k < HLS_AT_INTEGRATE; k++)
        pace = pace > r->clocks[k] ? pace : r->clocks[k];
    /* The pieces one after the other take longer than any stage alone where they are small and many. */
    double walked = walk_pieces(d, pace / records);
    r->frame = (walked > r->clocks[r->limit] ? walked : r->clocks[r->limit]) + FRAME_LATENCY;
}

static double per_second(double rate, double bytes)
{
    return rate / (bytes > 1 ? bytes : 1);
}

static void bound_by(hls_rates *r, double rate, int what)
{
    if (rate >= r->all)
        return;
    r->all = rate;
    r->bound = what;
}

void hls_rates_get(hls_rates *r, const hls_work *work, const hls_design *d)
{
    double frames = work->frames ? (double)work->frames : 1, link = (double)work->link_bytes / frames;
    fill_stages(r, work, d, frames);
    double weights = (double)r->records * HLS_RECORD + 4 * (double)r->bins;
    double sums = (double)d->rows * (double)r->bins * BEAT + (double)d->sums_bytes;
    r->unit = d->clock / r->frame;
    /* What all compute units share can only lower this. */
    r->all = r->kernels = r->unit * d->units;
    r->bound = r->limit;
    r->link = per_second(d->card->link, link);
    r->back = per_second(d->card->link, (double)d->sums_bytes);
    r->memory = per_second(d->card->memory, weights + 2 * link + sums); /* the host writes, kernels read */
    bound_by(r, r->link, HLS_AT_LINK);
    bound_by(r, r->back, HLS_AT_LINK_BACK);
    bound_by(r, r->memory, HLS_AT_MEMORY);
    /* At the rate that is left after all bounds. */
    r->weights = r->all * weights;
    r->coded = 2 * r->all * link;
    r->sums = r->all * sums;
    sum_costs(r, d);
}
