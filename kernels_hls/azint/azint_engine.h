/* azint_engine.h - pixels and a plan's records to bin sums: the stages that azint_image and bslz4_azint share.
 *
 *     pieces --> collect --groups--> integrate --totals--> settle --> sums
 *     plan --> weights --records-------^ |                  ^
 *                 \--bins----------------+------------------/
 *                                        \--lost--> note --> a list of lost pixels
 *
 * integrate takes eight pixels a clock.  Each of the eight lanes has two banks of sums of its own, for even and for
 * odd bins: a record's pixel adds to one bin or to two that follow one another, so a bank is asked for one sum a clock
 * at most.  The last sums that a bank wrote stand in registers beside it: neighbouring pixels that fall into one bin
 * find it there before memory has it, and nothing ever waits.  Sums of 96 bits hold any frame (doc/numbers.md: below
 * 2^88).  Behind a piece of the plan the banks are emptied, a pair of bins a clock, into FIFOs that hold a whole piece:
 * settle takes them to memory while the next piece is added up.  Lost pixels (invalid in this frame alone) are rare:
 * they are listed, and taken one by one afterwards from the plan's canonical tables.  A frame with more of them than
 * the list holds goes through the stages again.  collect and weights stand in azint_feed.h.
 */
#ifndef HCY_HLS_AZINT_ENGINE_H
#define HCY_HLS_AZINT_ENGINE_H

#include "azint_feed.h"
#include "hls_numbers.h"

/* Eight neighbouring pixels, some of them lost. */
struct hls_lost {
    uint32_t group;
    uint8_t which;
};

/* What note found out. */
struct hls_losses {
    uint64_t pixels, groups; /* lost pixels, and groups with such, of the whole frame */
};

/* --- integrate --- */

struct hls_bin {
    hls_sum signal, variance;
};
struct hls_pair { /* neighbours in a piece */
    hls_bin bin[2];
};

static inline hls_bin hls_bin_zero()
{
    hls_bin s = { hls_sum_of(0), hls_sum_of(0) };
    return s;
}

static inline hls_bin hls_bin_add(const hls_bin &a, const hls_bin &b)
{
    hls_bin s = { hls_sum_add(a.signal, b.signal), hls_sum_add(a.variance, b.variance) };
    return s;
}

#define HLS_WRITES 4 /* clocks from a bank's address to its data, and one */

/* The sums that a bank wrote last, newest first. */
struct hls_written {
    uint32_t row[HLS_WRITES];
    hls_bin bin[HLS_WRITES];
};

static inline void hls_bank_add(hls_bin (&bank)[HLS_BINS / 2], hls_written &w, uint32_t row, const hls_bin &add)
{
#pragma HLS INLINE
    hls_bin x = bank[row];
    /* The newest one wins: it is looked at last. What was read from memory may be older than all of them. */
    for (uint32_t k = HLS_WRITES; k-- > 0;) {
#pragma HLS UNROLL
        if (w.row[k] == row)
            x = w.bin[k];
    }
    x = hls_bin_add(x, add);
    bank[row] = x;
    /* After HLS_WRITES clocks memory has the sum, and its register can be given to another. */
    for (uint32_t k = HLS_WRITES - 1; k > 0; k--) {
#pragma HLS UNROLL
        w.row[k] = w.row[k - 1];
        w.bin[k] = w.bin[k - 1];
    }
    w.row[0] = row;
    w.bin[0] = x;
}

/* Five bytes of a record: a pixel's. */
static inline uint64_t hls_record_entry(const hls_record &r, uint32_t lane)
{
    uint32_t word = lane * 5 / 8, shift = lane * 5 % 8 * 8;
    uint64_t entry = r.w[word] >> shift;
    /* The entry reaches into the next word. */
    if (shift > 24)
        entry |= r.w[word + 1] << (64 - shift);
    return entry & 0xffffffffffu;
}

static inline int64_t hls_value(uint32_t pixel, const hls_sums_task &task)
{
    if (!task.is_signed)
        return pixel;
    return task.elem == 1 ? (int8_t)pixel : task.elem == 2 ? (int16_t)pixel : (int32_t)pixel;
}

static inline bool hls_invalid(int64_t value, const hls_sums_task &task)
{
    bool is = false;
    for (uint32_t k = 0; k < HCY_AZINT_MAX_INVALID; k++) {
#pragma HLS UNROLL
        const hcy_azint_range &r = task.job.invalid[k];
        /* Signed and unsigned limits have the same bits and another order. */
        bool in = task.is_signed ? value >= (int64_t)r.lo && value <= (int64_t)r.hi
                                : (uint64_t)value >= r.lo && (uint64_t)value <= r.hi;
        is |= k < task.job.n_invalid && in;
    }
    return is;
}

/* What a pixel adds to a bin with weight c: products of 24 and 33 bits. */
static inline hls_bin hls_weigh(uint32_t c, int64_t value, uint32_t flags)
{
    bool want_variance = flags & HCY_AZINT_WANT_VARIANCE;
    uint64_t square = azint_square(c), variance = value > 0 ? (uint64_t)value : HCY_AZINT_LEAST_VARIANCE(flags);
    hls_bin b = { hls_sum_of(hls_product(c, value)),
                  hls_sum_of(want_variance ? hls_product((uint32_t)square, (int64_t)variance) : 0) };
    return b;
}

typedef hls_bin hls_banks[HLS_LANES][2][HLS_BINS / 2];

/* One pixel of a record. */
static inline void hls_lane(hls_bin (&banks)[2][HLS_BINS / 2], hls_written (&written)[2], uint64_t entry,
                            int64_t value, uint32_t job_flags)
{
#pragma HLS INLINE
    uint32_t c = (uint32_t)entry & 0xffffff, flags = (uint32_t)(entry >> 24), bin = flags & HLS_BIN_MASK;
    bool two = flags & HLS_TWO, odd = bin & 1;
    /* The weights of two bins add up to one, so the second follows from the first. */
    hls_bin first = hls_weigh(c, value, job_flags), second = hls_weigh(HCY_AZINT_ONE - c, value, job_flags);
    uint32_t next = (bin + 1) & HLS_BIN_MASK;
    /* Neighbouring bins are in different banks, so both are added to in the same clock. */
    if (!odd || two)
        hls_bank_add(banks[0], written[0], odd ? next >> 1 : bin >> 1, odd ? second : first);
    if (odd || two)
        hls_bank_add(banks[1], written[1], odd ? bin >> 1 : next >> 1, odd ? first : second);
}

/* Whatever the records say, as many groups are taken as the piece has, and a byte of lost pixels given for each; and
 * nothing is added to bins that the piece does not have: it would stay in the banks, for whoever comes next. */
static void hls_integrate_piece(const hls_sums_task &task, const hls_piece &piece, hls_banks &banks,
                                hls::stream<hls_record, HLS_PIXEL_DEPTH> &records,
                                hls::stream<hls_group, HLS_SMALL_DEPTH> &groups,
                                hls::stream<uint8_t, HLS_PIXEL_DEPTH> &lost)
{
    bool first = true;
    uint32_t taken = 0, given = 0;
    /* Registers of the piece before must not be taken for this one's: no row has the number UINT32_MAX. */
    hls_written written[HLS_LANES][2];
#pragma HLS ARRAY_PARTITION variable=written complete dim=0
    hls_group g;
#pragma HLS ARRAY_PARTITION variable=g.pixel complete
    uint8_t gone = 0; /* pixels of the group that are lost */
    for (uint32_t k = 0; k < HLS_LANES; k++) {
#pragma HLS UNROLL
        for (uint32_t w = 0; w < HLS_WRITES; w++) {
#pragma HLS UNROLL
            written[k][0].row[w] = written[k][1].row[w] = UINT32_MAX;
            written[k][0].bin[w] = written[k][1].bin[w] = hls_bin_zero();
        }
        g.pixel[k] = 0;
    }
    for (uint32_t r = 0; r < piece.n_records; r++) {
#pragma HLS PIPELINE II=1
#pragma HLS DEPENDENCE variable=banks inter RAW distance=4 true
#pragma HLS LOOP_TRIPCOUNT min=1 avg=560712 max=4194304
        hls_record record = records.read();
        /* Further records of the same pixels keep them and what is known of them. */
        if (first && taken < piece.n_groups) {
            g = groups.read();
            gone = 0;
            taken++;
        }
        for (uint32_t k = 0; k < HLS_LANES; k++) {
#pragma HLS UNROLL
            uint64_t entry = hls_record_entry(record, k);
            int64_t value = hls_value(g.pixel[k], task);
            uint32_t bin = entry >> 24 & HLS_BIN_MASK, two = entry >> 24 & HLS_TWO ? 1 : 0;
            bool used = entry >> 24 & HLS_USED && bin + two < piece.n_bins;
            /* All weights of a pixel are lost with it, so it is looked at with its first record only. */
            if (first && used && hls_invalid(value, task))
                gone |= (uint8_t)(1u << k);
            if (used && !(gone >> k & 1))
                hls_lane(banks[k], written[k], entry, value, task.job.flags);
        }
        /* MORE stands with the first pixel, for all eight. */
        first = !(hls_record_entry(record, 0) >> 24 & HLS_MORE);
        if (first && given < taken) {
            lost.write(gone);
            given++;
        }
    }
    /* Records that contradict the piece must not leave other stages waiting for ever, so the groups that are
     * missing are taken and answered here. */
    for (uint32_t i = given; i < piece.n_groups; i++) { /* records that were none */
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=0 avg=0 max=4194304
        if (i >= taken)
            groups.read();
        lost.write(0);
    }
}

/* A piece's sums of all lanes, which leave the banks empty. */
static void hls_integrate_flush(uint32_t n_bins, hls_banks &banks, hls::stream<hls_pair, HLS_PAIR_DEPTH> &totals)
{
    for (uint32_t i = 0; 2 * i < n_bins; i++) {
#pragma HLS PIPELINE II=1
#pragma HLS DEPENDENCE variable=banks inter false
#pragma HLS LOOP_TRIPCOUNT min=1 avg=500 max=4096
        hls_pair total = { { hls_bin_zero(), hls_bin_zero() } };
        for (uint32_t k = 0; k < HLS_LANES; k++) {
#pragma HLS UNROLL
            /* Emptied with the reading, so that the next piece, or frame, finds zeros. */
            for (uint32_t odd = 0; odd < 2; odd++) {
#pragma HLS UNROLL
                total.bin[odd] = hls_bin_add(total.bin[odd], banks[k][odd][i]);
                banks[k][odd][i] = hls_bin_zero();
            }
        }
        totals.write(total);
    }
}

static void hls_integrate(hls_sums_task task, hls::stream<hls_piece, 2> &pieces,
                          hls::stream<hls_record, HLS_PIXEL_DEPTH> &records,
                          hls::stream<hls_group, HLS_SMALL_DEPTH> &groups,
                          hls::stream<uint8_t, HLS_PIXEL_DEPTH> &lost,
                          hls::stream<hls_pair, HLS_PAIR_DEPTH> &totals)
{
    HLS_MEMORY hls_banks banks;
#pragma HLS ARRAY_PARTITION variable=banks complete dim=1
#pragma HLS ARRAY_PARTITION variable=banks complete dim=2
#pragma HLS BIND_STORAGE variable=banks type=ram_s2p impl=uram
    /* The banks hold one piece; they are empty before and after each. */
    for (uint64_t i = 0; i < task.n_pieces; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=4096
        hls_piece p = pieces.read();
        hls_integrate_piece(task, p, banks, records, groups, lost);
        hls_integrate_flush(p.n_bins, banks, totals);
    }
}

/* --- note: which pixels are lost --- */

static inline uint32_t hls_bits(uint8_t x)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < 8; k++) {
#pragma HLS UNROLL
        n += x >> k & 1;
    }
    return n;
}

/* Groups with lost pixels to the list, from the `skip`-th of the frame on. */
static void hls_note(hls_sums_task task, hls_lost (&list)[HLS_LOST], uint64_t skip, hls::stream<hls_piece, 2> &pieces,
                     hls::stream<uint8_t, HLS_PIXEL_DEPTH> &lost, hls_losses *losses)
{
    hls_losses found = { 0, 0 };
    uint32_t group = 0;
    for (uint64_t i = 0; i < task.n_pieces; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=4096
        hls_piece p = pieces.read();
        for (uint32_t g = 0; g < p.n_groups; g++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=0 avg=560712 max=4194304
            uint8_t which = lost.read();
            /* Groups before `skip` were listed in an earlier pass; the difference then wraps to a large
             * number. */
            uint64_t place = found.groups - skip;
            if (which && found.groups >= skip && place < HLS_LOST) {
                list[place].group = group + g;
                list[place].which = which;
            }
            /* Counted to the end even if the list is full: the count says whether another pass is needed. */
            found.groups += which > 0;
            found.pixels += hls_bits(which);
        }
        group += p.n_groups;
    }
    *losses = found;
}

/* --- settle: to memory --- */

/* The rows of sums that a launch writes: SIGNAL_LO, SIGNAL_HI, VARIANCE_LO, VARIANCE_HI, or those below 2^63 alone. */
struct hls_rows {
    uint32_t n, step;
};

static inline hls_rows hls_rows_of(const hcy_azint_job &job)
{
    hls_rows wide = { 4, 1 }, narrow = { job.flags & HCY_AZINT_WANT_VARIANCE ? 2u : 1u, 2 };
    return job.flags & HCY_AZINT_NARROW ? narrow : wide;
}

/* 64 bits of what is added to a row. */
static inline uint64_t hls_limb(const hls_bin &x, uint32_t row)
{
    return hls_sum_limb(row < HCY_SUM_VARIANCE_LO ? x.signal : x.variance, row & 1);
}

/* A piece's sums, 64 bits a clock: a bin's rows one after the other, the low one's carry goes into the high one. */
static void hls_settle_piece(uint64_t *sums, uint64_t at, uint64_t n_bins, hls_rows rows, uint32_t n, bool dry,
                             hls::stream<hls_pair, HLS_PAIR_DEPTH> &totals,
                             hls::stream<uint64_t, HLS_PAIR_DEPTH> &bins)
{
    uint32_t row = 0, half = 0;
    uint64_t places = 0;
    bool carry = false;
    hls_pair pair;
    for (uint64_t i = 0; i < (uint64_t)n * rows.n; i++) {
#pragma HLS PIPELINE II=1
#pragma HLS DEPENDENCE variable=sums inter false
#pragma HLS LOOP_TRIPCOUNT min=1 avg=4000 max=32768
        if (!row && !half) {
            places = bins.read();
            pair = totals.read();
        }
        uint32_t place = half ? hls_high(places) : hls_low(places), bin = place & ~HLS_FIRST;
        uint64_t to = at + row * rows.step * n_bins + bin, add = hls_limb(pair.bin[half], row * rows.step);
        /* A bin that does not exist is passed over; `dry` takes the sums out of the FIFO alone. */
        bool there = bin < n_bins && !dry;
        /* A FIRST bin's memory holds an older frame's sum, which is not read. */
        uint64_t sum = add + (there && !(place & HLS_FIRST) ? sums[to] : 0); /* HLS_SINGLE */
        if (there)
            sums[to] = sum + carry; /* HLS_SINGLE */
        /* The high row comes next, so the carry waits for one clock. */
        carry = rows.step == 1 && !(row & 1) && sum < add;
        /* Both bins of a pair one after the other, all rows of each. */
        half ^= row + 1 == rows.n;
        row = row + 1 == rows.n ? 0 : row + 1;
    }
}

/* `again`: the sums stand in memory already, only the list goes on. */
static void hls_settle(hls_sums_task task, uint64_t *sums, uint64_t at, uint64_t again,
                       hls::stream<hls_piece, 2> &pieces, hls::stream<hls_pair, HLS_PAIR_DEPTH> &totals,
                       hls::stream<uint64_t, HLS_PAIR_DEPTH> &bins)
{
    hls_rows rows = hls_rows_of(task.job);
    for (uint64_t i = 0; i < task.n_pieces; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=4096
        hls_piece p = pieces.read();
        hls_settle_piece(sums, at, task.job.n_bins, rows, p.n_bins, again > 0, totals, bins);
    }
}

/* --- Lost pixels, when the stages are done --- */

/* floor(|x| 2^shift) of the bits of a float. */
static inline uint64_t hls_fixed(uint32_t bits, int32_t shift)
{
    int32_t exponent = (int32_t)(bits >> 23 & 0xff);
    uint64_t digits = (bits & 0x7fffff) | (exponent ? 0x800000u : 0);
    /* A float's digits are an integer times 2^(exponent - 150); subnormal numbers have the exponent of the
     * smallest normal ones. */
    int32_t by = (exponent ? exponent : 1) - 150 + shift;
    return by >= 40 || by <= -24 ? 0 : by >= 0 ? digits << by : digits >> -by;
}

/* sums[row] and the next one += x. */
static inline void hls_lose_row(uint64_t *sums, uint64_t at, uint64_t n_bins, uint64_t x)
{
#pragma HLS INLINE
    uint64_t sum[2] = { sums[at], sums[at + n_bins] };
    azint_add(sum, x, 0);
    sums[at] = sum[0];
    sums[at + n_bins] = sum[1];
}

/* c * x / 2^shift to nearest, shift from 0 to 62; with the sign. */
static inline void hls_lose_dark(uint64_t sum[2], uint32_t c, uint64_t x, int32_t shift, bool negative)
{
    uint64_t p[2];
    azint_mul(p, c, x);
    /* Half of the last place is added to the magnitude, so the sign comes afterwards. */
    if (shift) {
        azint_add(p, (uint64_t)1 << (shift - 1), 0);
        p[0] = p[0] >> shift | p[1] << (64 - shift);
        p[1] >>= shift;
    }
    if (negative)
        azint_negate(p);
    azint_add(sum, p[0], p[1]);
}

/* A weight of a lost pixel. */
static void hls_lose_weight(uint64_t *sums, uint64_t n_bins, const hls_sums_task &task, uint32_t c, uint64_t norm,
                            uint32_t dark, uint32_t variance)
{
    /* The same roundings as on every device: these sums are taken off the plan's, which the host has added
     * up. */
    uint64_t cn = azint_mul_shift(c, norm, 24), square = azint_mul_shift(cn, cn, HCY_AZINT_NORM_SHIFT);
    sums[HCY_SUM_LOST_COUNT * n_bins] += c;
    hls_lose_row(sums, HCY_SUM_LOST_NORM_LO * n_bins, n_bins, cn);
    hls_lose_row(sums, HCY_SUM_LOST_NORM2_LO * n_bins, n_bins, square);
    /* The host will take the dark current of all pixels off, so that of a lost one is added before. */
    if (task.dark_shift >= 0) {
        uint64_t sum[2] = { sums[HCY_SUM_SIGNAL_LO * n_bins], sums[HCY_SUM_SIGNAL_HI * n_bins] };
        hls_lose_dark(sum, c, hls_fixed(dark, task.dark_shift), task.dark_shift, dark >> 31);
        sums[HCY_SUM_SIGNAL_LO * n_bins] = sum[0];
        sums[HCY_SUM_SIGNAL_HI * n_bins] = sum[1];
    }
    /* The same holds for variances that were given. */
    if (task.variance_shift >= 0) {
        uint64_t sum[2] = { sums[HCY_SUM_VARIANCE_LO * n_bins], sums[HCY_SUM_VARIANCE_HI * n_bins] };
        azint_add_product(sum, azint_square(c),
                          hls_fixed(variance, task.variance_shift));
        sums[HCY_SUM_VARIANCE_LO * n_bins] = sum[0];
        sums[HCY_SUM_VARIANCE_HI * n_bins] = sum[1];
    }
}

/* The word of a run; where it is not all there, one without weights. */
static inline uint32_t hls_run_word(const hls_word *plan, uint64_t at, const hls_sums_task &task)
{
    /* Differences, as the place comes from the tables and a sum may wrap. */
    uint64_t left = at >= task.span[1] && at <= task.runs_end ? task.runs_end - at : 0;
    uint32_t word = left >= 4 ? hls_table_u32(plan, at) : HCY_AZINT_NO_RUN;
    return left >= 4 + 3 * (uint64_t)HCY_AZINT_RUN_N(word) ? word : HCY_AZINT_NO_RUN;
}

/* A pixel's runs in the canonical tables: where they begin. */
static uint64_t hls_runs_of(const hls_word *plan, const hls_sums_task &task, uint64_t pixel)
{
    uint64_t at = task.span[1] + hls_table_u64(plan, task.span[2] + pixel / HCY_AZINT_START_EVERY * 8);
    uint32_t skip = (uint32_t)(pixel % HCY_AZINT_START_EVERY);
    /* Only every 16th pixel's place is stored; a pixel may have several runs, the last of them has no MORE. */
    while (skip) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min=0 avg=8 max=15
        uint32_t word = hls_run_word(plan, at, task);
        at += 4 + 3 * (uint64_t)HCY_AZINT_RUN_N(word);
        skip -= !HCY_AZINT_RUN_MORE(word);
    }
    return at;
}

static void hls_lose_pixel(const hls_word *plan, const hls_sums_task &task, uint64_t pixel, uint64_t *sums)
{
    uint64_t runs = hls_runs_of(plan, task, pixel), n_bins = task.job.n_bins;
    uint64_t norm = hls_fixed(hls_table_u32(plan, task.span[3] + 4 * pixel), HCY_AZINT_NORM_SHIFT);
    uint32_t dark = task.dark_shift >= 0 ? hls_table_u32(plan, task.span[4] + 4 * pixel) : 0;
    uint32_t variance = task.variance_shift >= 0 ? hls_table_u32(plan, task.span[5] + 4 * pixel) : 0;
    /* Set so that the loop is entered; the first run takes its place. */
    uint32_t word = 0x80000000u;
    while (HCY_AZINT_RUN_MORE(word)) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=3
        word = hls_run_word(plan, runs, task);
        for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min=1 avg=2 max=127
            uint32_t c = hls_table_u32(plan, runs + 4 + 3 * (uint64_t)k) & 0xffffff;
            uint64_t bin = (uint64_t)HCY_AZINT_RUN_BIN(word) + k;
            /* Tables from the host may be damaged: no sum outside of the frame's is written. */
            if (bin < n_bins)
                hls_lose_weight(sums + bin, n_bins, task, c, norm, dark, variance);
        }
        runs += 4 + 3 * (uint64_t)HCY_AZINT_RUN_N(word);
    }
}

/* The LOST rows of a frame whose sums begin at `sums`: n groups of the list.  `again`: there are some already. */
static void hls_lose(const hls_word *plan, const hls_sums_task &task, const hls_lost (&list)[HLS_LOST], uint64_t n,
                     bool again, uint64_t *sums)
{
    uint64_t n_bins = task.job.n_bins, end = again ? 0 : HCY_AZINT_SUMS * n_bins;
    /* Cleared by the first of a frame's runs alone; frames without lost pixels do not touch them. */
    for (uint64_t i = HCY_SUM_LOST_COUNT * n_bins; i < end; i++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=5 avg=5000 max=83886080
        sums[i] = 0;
    }
    for (uint64_t i = 0; i < n && i < HLS_LOST; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=10 max=16384
        for (uint32_t k = 0; k < HLS_LANES; k++) { /* HLS_OUTER */
            uint64_t pixel = (uint64_t)list[i].group * HLS_LANES + k;
            /* Damaged records may call a pixel lost that only fills up the last group. */
            if (list[i].which >> k & 1 && pixel < task.job.n_pixels)
                hls_lose_pixel(plan, task, pixel, sums);
        }
    }
}

/* --- A launch --- */

static inline uint32_t hls_pixel_bytes(uint32_t type)
{
    return type == HCY_PIXEL_U8 || type == HCY_PIXEL_I8     ? 1
           : type == HCY_PIXEL_U16 || type == HCY_PIXEL_I16 ? 2
           : type == HCY_PIXEL_U32 || type == HCY_PIXEL_I32 ? 4
                                                            : 0;
}

static inline bool hls_span_fits(uint64_t at, uint64_t size, uint64_t bytes)
{
    return at % 64 == 0 && at <= bytes && size <= bytes - at;
}

/* Bytes of the words that have these. */
static inline uint64_t hls_words_up(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The plan's spans, held against the job: 0 or the status of the whole launch. */
static int32_t hls_sums_open(hls_sums_task &task, const uint64_t *job, const hls_word *plan, uint64_t plan_bytes)
{
    hls_job_get(&task.job, job);
    uint64_t n = task.job.n_pixels, groups = 0;
    uint64_t size[HLS_SPAN + 1];
#pragma HLS ARRAY_PARTITION variable=size complete
    /* The lanes add integers of up to 32 bits, so other pixels are left to other devices. */
    task.elem = hls_pixel_bytes(task.job.pixel_type);
    task.is_signed = task.job.pixel_type >= HCY_PIXEL_I8;
    if (!task.elem)
        return HCY_EUNSUPPORTED;
    /* The tables come from the host's memory: whatever they say is held against their size before it is
     * used. */
    if (plan_bytes < sizeof(hcy_hls_tables) || hls_table_u64(plan, 0) <= HLS_SPAN ||
        task.job.n_invalid > HCY_AZINT_MAX_INVALID || task.job.n_bins > HCY_AZINT_MAX_BINS)
        return HCY_EINVAL;
    for (uint32_t k = 0; k <= HLS_SPAN; k++) {
#pragma HLS PIPELINE off
        task.span[k] = hls_table_u64(plan, 16 + 16 * k);
        size[k] = hls_table_u64(plan, 24 + 16 * k);
        if (!hls_span_fits(task.span[k], size[k], plan_bytes))
            return HCY_EINVAL;
    }
    /* Records are of the very plan that the other spans describe: the hash stands in both. */
    if (size[0] < sizeof(hcy_azint_head) || size[HLS_SPAN] < 64 ||
        hls_table_u64(plan, task.span[HLS_SPAN]) != HLS_PLAN_MAGIC ||
        hls_table_u64(plan, task.span[0] + 8) != n || hls_high(hls_table_u64(plan, task.span[0])) != task.job.n_bins ||
        hls_table_u64(plan, task.span[HLS_SPAN] + 24) != hls_table_u64(plan, task.span[0] + 32))
        return HCY_EINVAL;
    task.n_pieces = hls_table_u64(plan, task.span[HLS_SPAN] + 8);
    uint64_t shifts = hls_table_u64(plan, task.span[0] + 40);
    /* An empty span means that the plan has no dark current, or no variances. */
    task.dark_shift = size[4] ? (int32_t)hls_low(shifts) : -1;
    task.variance_shift = size[5] ? (int32_t)hls_high(shifts) : -1;
    task.runs_end = task.span[1] + size[1];
    /* Each pixel has a norm, and a place among the starts for every 16th; so no table is read past its end
     * later. */
    if (task.n_pieces >= size[HLS_SPAN] / 64 || n > UINT32_MAX || size[3] < 4 * n ||
        size[2] < 8 * (n / HCY_AZINT_START_EVERY + 1) || (size[4] && (size[4] < 4 * n || hls_low(shifts) > 62)) ||
        (size[5] && size[5] < 4 * n))
        return HCY_EINVAL;
    for (uint64_t i = 0; i < task.n_pieces; i++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=4096
        hls_piece p = hls_piece_get(plan, task.span[HLS_SPAN], i);
        if (!hls_span_fits(p.records, hls_words_up(HLS_RECORD * (uint64_t)p.n_records), size[HLS_SPAN]) ||
            !hls_span_fits(p.bins, hls_words_up(4 * (uint64_t)p.n_bins), size[HLS_SPAN]) || p.n_bins > HLS_BINS)
            return HCY_EINVAL;
        /* All pieces together must take the frame's pixels exactly, or the stages would wait for one
         * another. */
        groups += p.n_groups;
    }
    return groups != (n + HLS_LANES - 1) / HLS_LANES || groups > UINT32_MAX ? HCY_EINVAL : 0;
}

#endif
