/* plan.c - a plan's canonical runs (azint_format.h) to records (design.h).
 *
 * Pixels are taken in pieces that fall into HLS_BINS bins at most: a curve is one piece, an image in radius and
 * azimuth many.  A piece is found (its bins noted), its bins sorted and numbered, its records written.  The bins
 * that are left make pieces without pixels.  No state; any thread.
 */
#include "plan.h"

#include "azint/azint_runs.h"
#include "design.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define UNIT        HLS_LANES /* pixels that a piece cannot be cut in */
#define MAX_ENTRIES HLS_BINS  /* of a pixel */

struct text {
    uint8_t *bytes;
    size_t size, room;
};

/* One weight, or two that make a whole. */
struct entry {
    uint32_t bin, c;
    bool two;
};

struct make {
    const hcy_azint_head *head;
    const uint8_t *runs;
    const uint64_t *starts;
    const uint8_t *at, *end; /* of the runs */
    uint32_t *seen, *local;  /* of a bin: the last piece that has it, its number there */
    uint8_t *begun;          /* of a bin: a piece has it already */
    uint32_t bins[HLS_BINS]; /* of the piece */
    uint32_t n_bins;
    size_t n_full; /* pieces that have pixels: the first ones */
    struct entry entries[MAX_ENTRIES];     /* of a pixel */
    uint8_t rows[MAX_ENTRIES][HLS_RECORD]; /* records of a group */
    struct text pieces, body;
};

/* n more bytes, and up to the next multiple of 64; all zero. */
static int add_room(struct text *t, size_t n, uint8_t **at)
{
    size_t size = (t->size + n + 63) / 64 * 64;
    /* Twice what is needed, so that a span of any size is moved only a few times. */
    if (size > t->room) {
        size_t room = 2 * size;
        uint8_t *bytes = realloc(t->bytes, room);
        if (!bytes)
            return hcy_fail(HCY_ENOMEM, "FPGA tables: no memory for %zu bytes", room);
        t->bytes = bytes;
        t->room = room;
    }
    *at = t->bytes + t->size;
    memset(*at, 0, size - t->size);
    t->size = size;
    return 0;
}

static int bad_spans(const char *what)
{
    return hcy_fail(HCY_EINVAL, "FPGA tables: no plan's spans (azint_format.h): %s", what);
}

/* The next pixel's entries; their number (beyond MAX_ENTRIES they are only counted), or -1 if the runs are none. */
static int take_pixel(struct make *m)
{
    int n = 0;
    struct azint_run run;
    do {
        size_t at = 0;
        /* The runs come from the caller and are read before they are checked as a whole, so each is checked here. */
        if (!azint_run_next(&run, &at, m->at, (size_t)(m->end - m->at), m->head->n_bins))
            return -1;
        for (uint32_t k = 0; k < run.n; k++) {
            uint32_t c = azint_weight(&run, k);
            /* Splitting a pixel into two bins gives weights that add up to one: the second follows from the first
             * and needs no entry. */
            bool two = k + 1 < run.n && c + azint_weight(&run, k + 1) == HCY_AZINT_ONE;
            if (n < MAX_ENTRIES)
                m->entries[n] = (struct entry){ run.bin + k, c, two };
            /* One beyond the most says that there were too many; further ones need not be counted. */
            n += n <= MAX_ENTRIES;
            k += two;
        }
        m->at += at;
    } while (run.more);
    return n;
}

/* Are the starts where the runs are?  `pixel` comes next. */
static bool starts_here(const struct make *m, uint64_t pixel)
{
    return pixel % HCY_AZINT_START_EVERY || m->starts[pixel / HCY_AZINT_START_EVERY] == (uint64_t)(m->at - m->runs);
}

static bool note_bin(struct make *m, uint32_t bin, uint32_t piece)
{
    /* Pieces are numbered from 1, so that memory which was cleared belongs to none of them. */
    if (m->seen[bin] == piece)
        return true;
    /* A compute unit has banks for so many bins: the piece is full. */
    if (m->n_bins == HLS_BINS)
        return false;
    m->seen[bin] = piece;
    m->bins[m->n_bins++] = bin;
    return true;
}

/* The bins of the next n pixels, from number `pixel` on, become the piece's.  1: there is no room for all of them, and
 * none was noted. */
static int note_unit(struct make *m, uint64_t pixel, uint64_t n, uint32_t piece)
{
    const struct entry *e = m->entries;
    const uint8_t *start = m->at;
    uint32_t before = m->n_bins;
    for (; n; n--, pixel++) {
        /* Before the pixel is taken, because that moves to the next one. */
        bool begins = starts_here(m, pixel);
        int count = take_pixel(m);
        bool room = count <= MAX_ENTRIES;
        if (!begins)
            return bad_spans("starts that are not where runs begin");
        if (count < 0)
            return bad_spans("runs that are none");
        for (int k = 0; k < count && room; k++)
            room = note_bin(m, e[k].bin, piece) && (!e[k].two || note_bin(m, e[k].bin + 1, piece));
        if (room)
            continue;
        /* The unit goes to the next piece as a whole, so what was noted of it is forgotten. */
        while (m->n_bins > before)
            m->seen[m->bins[--m->n_bins]] = 0;
        m->at = start;
        return 1;
    }
    return 0;
}

static int by_bin(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void put_lane_entry(uint8_t *record, unsigned lane, uint32_t bin, const struct entry *e)
{
    uint32_t flags = bin | HLS_USED | (e->two ? HLS_TWO : 0);
    uint8_t *p = record + 5 * lane;
    /* Written byte by byte: the card reads little-endian whatever the host is. */
    for (int k = 0; k < 3; k++)
        p[k] = (uint8_t)(e->c >> 8 * k);
    p[3] = (uint8_t)flags;
    p[4] = (uint8_t)(flags >> 8);
}

/* The records of n pixels, up to HLS_LANES, to m->rows as they come. */
static unsigned put_group(struct make *m, unsigned n)
{
    int records = 0;
    for (unsigned lane = 0; lane < n; lane++) {
        int count = take_pixel(m);
        /* A group of pixels without weights has one record as well, which tells the lanes to take the
         * pixels. */
        for (; records < count || !records; records++)
            memset(m->rows[records], 0, HLS_RECORD);
        for (int k = 0; k < count; k++)
            put_lane_entry(m->rows[k], lane, m->local[m->entries[k].bin], &m->entries[k]);
    }
    /* The card takes the next eight pixels behind the record that has no MORE. */
    for (int k = 0; k + 1 < records; k++)
        m->rows[k][4] |= HLS_MORE >> 8;
    return (unsigned)records;
}

/* Records stand without gaps: what fills up to 64 is taken back before the next ones. */
static int put_records(struct make *m, hls_piece *piece, uint64_t n_pixels)
{
    uint8_t *at;
    size_t size = m->body.size;
    int status = 0;
    for (; n_pixels && !status; piece->n_groups++) {
        unsigned n = n_pixels < HLS_LANES ? (unsigned)n_pixels : HLS_LANES, records = put_group(m, n);
        /* add_room rounds up to 64, and records are to follow one another without a gap. */
        m->body.size = size;
        status = add_room(&m->body, records * (size_t)HLS_RECORD, &at);
        if (!status)
            memcpy(at, m->rows, records * (size_t)HLS_RECORD);
        size += records * (size_t)HLS_RECORD;
        piece->n_records += records;
        n_pixels -= n;
    }
    return status;
}

/* A piece of n pixels, whose bins are noted; its runs begin at `start`. */
static int put_one_piece(struct make *m, const uint8_t *start, uint64_t n)
{
    hls_piece piece = { .bins = m->body.size, .n_bins = m->n_bins };
    uint8_t *at;
    /* In ascending order, so that a pixel's next bin has the next number and sits in the other bank. */
    qsort(m->bins, m->n_bins, sizeof *m->bins, by_bin);
    for (uint32_t k = 0; k < m->n_bins; k++) {
        uint32_t bin = m->bins[k];
        m->local[bin] = k;
        /* The first piece with a bin writes its sum; later ones read it and add. */
        m->bins[k] |= m->begun[bin] ? 0 : HLS_FIRST;
        m->begun[bin] = 1;
    }
    int status = add_room(&m->body, m->n_bins * sizeof *m->bins, &at);
    if (status)
        return status;
    memcpy(at, m->bins, m->n_bins * sizeof *m->bins);
    piece.records = m->body.size;
    /* The pixels are read a second time, now that their bins have numbers. */
    m->at = start;
    status = put_records(m, &piece, n);
    if (!status)
        status = add_room(&m->pieces, sizeof piece, &at);
    if (!status)
        memcpy(at, &piece, sizeof piece);
    return status;
}

static int cut_pieces(struct make *m)
{
    uint64_t left = m->head->n_pixels;
    for (uint32_t number = 1; left; number++) {
        const uint8_t *start = m->at;
        uint64_t n = 0;
        int full = 0;
        m->n_bins = 0;
        while (n < left && !full) {
            /* A group of eight pixels shares its records, so no piece ends inside of one. */
            uint64_t unit = left - n < UNIT ? left - n : UNIT;
            full = note_unit(m, m->head->n_pixels - left + n, unit, number);
            if (full < 0)
                return full;
            n += full ? 0 : unit;
        }
        /* Not even one group fits, and a smaller one is not possible. */
        if (!n)
            return hcy_fail(HCY_EUNSUPPORTED, "FPGA tables: %u pixels fall into more than %u bins", UNIT, HLS_BINS);
        int status = put_one_piece(m, start, n);
        if (status)
            return status;
        m->n_full++;
        left -= n;
    }
    return 0;
}

/* Bins that no pixel falls into: pieces without pixels. */
static int put_empty_bins(struct make *m)
{
    int status = 0;
    m->n_bins = 0;
    for (uint32_t bin = 0; bin <= m->head->n_bins && !status; bin++) {
        /* One turn more than there are bins writes what is left. */
        bool all = bin == m->head->n_bins;
        if (m->n_bins == HLS_BINS || (all && m->n_bins)) {
            status = put_one_piece(m, m->at, 0);
            m->n_bins = 0;
        }
        /* Their sums have to be written too: memory holds those of another frame. */
        if (!all && !m->begun[bin])
            m->bins[m->n_bins++] = bin;
    }
    return status;
}

/* Which comes next: those without pixels are dealt among the others, so that memory gets sums at an even pace. */
static size_t next_piece(const struct make *m, size_t n, size_t *full, size_t *empty)
{
    size_t n_empty = n - m->n_full;
    if (*full < m->n_full && (*empty == n_empty || *full * n_empty <= *empty * m->n_full))
        return (*full)++;
    return m->n_full + (*empty)++;
}

/* Head, pieces, body in one; their places are counted from its start. */
static int join_span(void **span, size_t *size, struct make *m)
{
    hls_plan_head head = { .magic = HLS_PLAN_MAGIC, .hash = m->head->hash };
    size_t front = sizeof head + m->pieces.size;
    uint8_t *all = malloc(front + m->body.size);
    if (!all)
        return hcy_fail(HCY_ENOMEM, "FPGA tables: no memory for %zu bytes", front + m->body.size);
    head.n_pieces = m->pieces.size / sizeof(hls_piece);
    for (size_t k = 0, full = 0, empty = 0; k < head.n_pieces; k++) {
        hls_piece piece;
        memcpy(&piece, m->pieces.bytes + next_piece(m, head.n_pieces, &full, &empty) * sizeof piece, sizeof piece);
        /* Only now is it known how far the bodies begin from the span's start. */
        piece.records += front;
        piece.bins += front;
        head.n_records += piece.n_records;
        memcpy(all + sizeof head + k * sizeof piece, &piece, sizeof piece);
    }
    memcpy(all, &head, sizeof head);
    if (m->body.size)
        memcpy(all + front, m->body.bytes, m->body.size);
    *span = all;
    *size = front + m->body.size;
    return 0;
}

/* Everything but the runs and starts, which are checked as they are read. */
static int check_plan_spans(const hcy_span *spans, size_t n)
{
    const hcy_azint_head *head = n == HCY_AZINT_SPANS || n == HCY_AZINT_SPANS_KEPT ? spans[0].data : NULL;
    /* Plans come through a public interface, so nothing of them is trusted. */
    if (!head || spans[0].size < sizeof *head || !spans[1].data || !spans[2].data)
        return bad_spans("too few of them");
    if (head->version != HCY_AZINT_VERSION && head->version != HCY_AZINT_VERSION_FULL)
        return bad_spans("another version");
    uint64_t pixels = head->n_pixels, starts = (pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1;
    /* The kernels count pixels in 32 bits. */
    if (!head->n_bins || head->n_bins > HCY_AZINT_MAX_BINS || pixels > UINT32_MAX || spans[2].size / 8 < starts ||
        spans[3].size / 4 < pixels)
        return bad_spans("sizes that contradict one another");
    for (int k = 4; k < HCY_AZINT_SPANS; k++)
        if (spans[k].size && spans[k].size / 4 < pixels)
            return bad_spans("a dark current or variances cut short");
    /* The kernels shift by these numbers. */
    if (head->dark_shift < 0 || head->dark_shift > 62 || head->variance_shift < 0)
        return bad_spans("a scale that is none");
    return 0;
}

int hcy__hls_records(void **span, size_t *size, const hcy_span *spans, size_t n)
{
    int status = check_plan_spans(spans, n);
    if (status)
        return status;
    /* Too large for a stack: it holds the bins of a piece and the records of a group. */
    struct make *m = calloc(1, sizeof *m);
    if (!m)
        return hcy_fail(HCY_ENOMEM, "FPGA tables: no memory");
    m->head = spans[0].data;
    m->runs = m->at = spans[1].data;
    m->starts = spans[2].data;
    m->end = m->at + spans[1].size;
    /* Cleared: 0 is the number of no piece. */
    m->seen = calloc((size_t)m->head->n_bins + 1, sizeof *m->seen);
    m->local = calloc((size_t)m->head->n_bins + 1, sizeof *m->local);
    m->begun = calloc(m->head->n_bins, 1);
    status = m->seen && m->local && m->begun
                 ? cut_pieces(m)
                 : hcy_fail(HCY_ENOMEM, "FPGA tables: no memory for %u bins", m->head->n_bins);
    if (!status)
        status = put_empty_bins(m);
    if (!status)
        status = join_span(span, size, m);
    /* On failure `span` was never set, and all that was made goes the same way. */
    free(m->seen);
    free(m->local);
    free(m->begun);
    free(m->pieces.bytes);
    free(m->body.bytes);
    free(m);
    return status;
}
