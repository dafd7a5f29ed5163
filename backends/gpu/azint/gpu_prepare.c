/* gpu_prepare.c - a plan's canonical runs (azint_format.h) to slices of segments (gpu_format.h).
 *
 * Tiles are independent; a few threads share them.  Within a slice neighbouring lanes have neighbouring bins and
 * like lengths: lanes wait less for one another, and their additions to sums fall into the same sectors of memory.
 */
#include "gpu_runs.h"
#include "thread.h"

#include "azint/azint_wide.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 16
#define LENGTH_STEP 8u /* segments whose lengths differ by less are sorted by bin */

/* A weight on its way. */
struct item {
    uint32_t bin, c;
    uint16_t place; /* with GPU_ENTRY_FIRST */
};

/* A run of items of one bin. */
struct segment {
    uint32_t bin, first, n;
};

/* Bytes of a slice's bins, of a row of quads, of a row of places. */
#define BINS   (GPU_LANES * sizeof(uint32_t))
#define QUADS  (GPU_QUAD_ROW * sizeof(struct gpu_quad))
#define PLACES (GPU_PLACE_ROW * sizeof(uint16_t))

/* One tile's tables. */
struct tile {
    struct gpu_slice *slices; /* `first` counted from the tile's first quad */
    uint32_t *bins;
    struct gpu_quad *quads;
    uint16_t *places;
    uint32_t n_slices, n_rows; /* rows of GPU_LANES quads */
};

struct builder {
    const hcy_azint_head *head;
    const hcy_span *runs;
    const uint64_t *starts;
    uint32_t n_tiles;
    uint32_t *masked;
    struct tile *tiles;
    atomic_uint next;
    atomic_int status; /* 0, HCY_ENOMEM, HCY_EINVAL */
    atomic_bool not_unit;
};

struct space {
    struct item *items, *other;
    struct segment *segments, *sorted;
    size_t n, room;
};

static bool space_grow(struct space *s)
{
    size_t room = s->room ? 2 * s->room : 16384;
    /* Each pointer is taken over as soon as it is there, so that a failure of a later one leaks nothing. */
    void *items = realloc(s->items, room * sizeof *s->items);
    if (items)
        s->items = items;
    void *other = realloc(s->other, room * sizeof *s->other);
    if (other)
        s->other = other;
    void *segments = realloc(s->segments, room * sizeof *s->segments);
    if (segments)
        s->segments = segments;
    void *sorted = realloc(s->sorted, room * sizeof *s->sorted);
    if (sorted)
        s->sorted = sorted;
    if (!items || !other || !segments || !sorted)
        return false;
    s->room = room;
    return true;
}

static void space_free(struct space *s)
{
    free(s->items);
    free(s->other);
    free(s->segments);
    free(s->sorted);
}

/* One weight.  Weights of zero change nothing, but the first of a pixel says that the pixel has some. */
static int put_tile_weight(struct space *s, uint32_t bin, uint32_t c, uint32_t pixel, bool first)
{
    if (!c && !first)
        return 0;
    if (s->n == s->room && !space_grow(s))
        return HCY_ENOMEM;
    s->items[s->n++] = (struct item){ bin, c, (uint16_t)(GPU_PLACE(pixel) | (first ? GPU_ENTRY_FIRST : 0)) };
    return 0;
}

/* Puts the runs of the pixel at *at. */
static int put_pixel_runs(struct builder *b, struct space *s, uint32_t pixel, size_t *at, bool *live)
{
    struct azint_run run;
    *live = false;
    do {
        if (!azint_run_next(&run, at, b->runs->data, b->runs->size, b->head->n_bins))
            return HCY_EINVAL;
        for (uint32_t k = 0; k < run.n; k++) {
            uint32_t c = azint_weight(&run, k);
            /* One share of a pixel is enough to make the plan's weights differ: no order between threads
             * is needed to note that. */
            if (c != HCY_AZINT_ONE)
                atomic_store_explicit(&b->not_unit, true, memory_order_relaxed);
            int status = put_tile_weight(s, run.bin + k, c, pixel, !*live);
            if (status)
                return status;
            *live = true;
        }
    } while (run.more);
    return 0;
}

static int collect_tile(struct builder *b, struct space *s, uint32_t tile)
{
    uint64_t first = (uint64_t)tile * GPU_TILE,
             n = b->head->n_pixels - first < GPU_TILE ? b->head->n_pixels - first : GPU_TILE;
    /* The starts come from the plan and are held against the runs: a tile that began elsewhere would
     * integrate other pixels. */
    size_t at = b->starts[first / HCY_AZINT_START_EVERY];
    int status = at <= b->runs->size ? 0 : HCY_EINVAL;
    s->n = 0;
    for (uint32_t i = 0; !status && i < n; i++) {
        bool live;
        if (i % HCY_AZINT_START_EVERY == 0 && b->starts[(first + i) / HCY_AZINT_START_EVERY] != at)
            return HCY_EINVAL;
        status = put_pixel_runs(b, s, i, &at, &live);
        /* A tile's words of the mask belong to the thread that has the tile. */
        if (live)
            b->masked[(first + i) / 32] &= ~(1u << i % 32);
    }
    return status;
}

/* Sorts items by bin, keeping the order of equal ones. */
static void sort_items(struct space *s, uint32_t n_bins)
{
    enum { DIGIT = 8, SIZE = 1 << DIGIT };
    /* Digit by digit from the lowest: as each pass is stable, entries of a bin stay in the order of
     * pixels. */
    for (unsigned shift = 0; shift < 32 && (n_bins - 1) >> shift; shift += DIGIT) {
        uint32_t count[SIZE + 1] = { 0 };
        for (size_t i = 0; i < s->n; i++)
            count[1 + (s->items[i].bin >> shift & (SIZE - 1))]++;
        for (size_t i = 0; i < SIZE; i++)
            count[i + 1] += count[i];
        for (size_t i = 0; i < s->n; i++)
            s->other[count[s->items[i].bin >> shift & (SIZE - 1)]++] = s->items[i];
        /* The result of a pass is the next one's source, so nothing is copied back. */
        struct item *swap = s->items;
        s->items = s->other;
        s->other = swap;
    }
}

/* Items of one bin, cut into segments; the longer ones come first. */
static uint32_t make_segments(struct space *s)
{
    uint32_t n = 0, sorted = 0;
    for (uint32_t i = 0; i < s->n; n++) {
        uint32_t k = 1;
        while (k < GPU_SEGMENT && i + k < s->n && s->items[i + k].bin == s->items[i].bin)
            k++;
        s->segments[n] = (struct segment){ s->items[i].bin, i, k };
        i += k;
    }
    /* Lanes of a slice take as long as its longest segment: like lengths stand together, and bins stay
     * sorted among them. */
    for (uint32_t key = GPU_SEGMENT / LENGTH_STEP; key-- > 0;)
        for (uint32_t i = 0; i < n; i++)
            if ((s->segments[i].n - 1) / LENGTH_STEP == key)
                s->sorted[sorted++] = s->segments[i];
    return n;
}

static uint32_t longest(const struct segment *segments, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = segments[i].n > most ? segments[i].n : most;
    return most;
}

/* Entry k of lane `lane`, into quad rows that begin as zeros. */
static void put_quad_entry(struct tile *t, size_t row, uint32_t k, uint32_t lane, const struct item *item)
{
    struct gpu_quad *weights = t->quads + row * GPU_QUAD_ROW + lane, *squares = weights + GPU_LANES;
    uint32_t square = azint_square(item->c);
    for (unsigned b = 0; b < 3; b++) {
        weights->bytes[b] |= (item->c >> 8 * b & 255) << 8 * k;
        squares->bytes[b] |= (square >> 8 * b & 255) << 8 * k;
    }
    uint32_t place = (uint32_t)item->place << 16 * (k & 1);
    if (k < 2)
        weights->places |= place;
    else
        squares->places |= place;
    t->places[(4 * row + k) * GPU_LANES + lane] = item->place & GPU_ENTRY_PLACE;
}

static void fill_slice(struct tile *t, uint32_t slice, const struct space *s, const struct segment *segments,
                       uint32_t n)
{
    static const struct item nothing = { 0, 0, GPU_NO_PLACE };
    uint32_t first = t->slices[slice].first, length = t->slices[slice].n;
    /* Entries are put together byte by byte with OR, so they begin as zeros. */
    memset(t->quads + GPU_QUAD_ROW * (size_t)first, 0, GPU_QUAD_ROW * (size_t)length * sizeof *t->quads);
    for (uint32_t lane = 0; lane < GPU_LANES; lane++) {
        t->bins[GPU_LANES * slice + lane] = lane < n ? segments[lane].bin : GPU_NO_BIN;
        for (uint32_t k = 0; k < 4 * length; k++)
            put_quad_entry(t, first + k / 4, k % 4, lane,
                           lane < n && k < segments[lane].n ? &s->items[segments[lane].first + k] : &nothing);
    }
}

/* How many of n segments are in slice i, which has one for each lane. */
static uint32_t of_slice(uint32_t n, uint32_t i)
{
    uint32_t left = n - GPU_LANES * i;
    return left < GPU_LANES ? left : GPU_LANES;
}

static int make_tile(struct builder *b, struct space *s, uint32_t number)
{
    struct tile *t = &b->tiles[number];
    int status = collect_tile(b, s, number);
    if (status)
        return status;
    sort_items(s, b->head->n_bins);
    uint32_t n = make_segments(s);
    t->n_slices = (n + GPU_LANES - 1) / GPU_LANES;
    t->slices = malloc((t->n_slices + 1) * sizeof *t->slices);
    t->bins = malloc((t->n_slices + 1) * BINS);
    if (!t->slices || !t->bins)
        return HCY_ENOMEM;
    /* The rows are counted before they are allocated: the quads are most of a plan's memory. */
    for (uint32_t i = 0; i < t->n_slices; i++) {
        uint32_t most = longest(s->sorted + GPU_LANES * i, of_slice(n, i));
        t->slices[i] = (struct gpu_slice){ t->n_rows, (most + 3) / 4 };
        t->n_rows += t->slices[i].n;
    }
    t->quads = malloc((t->n_rows + 1) * QUADS);
    t->places = malloc((t->n_rows + 1) * PLACES);
    if (!t->quads || !t->places)
        return HCY_ENOMEM;
    for (uint32_t i = 0; i < t->n_slices; i++)
        fill_slice(t, i, s, s->sorted + GPU_LANES * i, of_slice(n, i));
    return 0;
}

static void *make_tiles(void *context)
{
    struct builder *b = context;
    struct space s = { 0 };
    int status = space_grow(&s) ? 0 : HCY_ENOMEM;
    /* Tiles are taken one by one, because some have far more weights than others; a failure of any thread
     * ends them all. */
    for (uint32_t i; !status && !atomic_load(&b->status) && (i = atomic_fetch_add(&b->next, 1)) < b->n_tiles;)
        status = make_tile(b, &s, i);
    if (status)
        atomic_store(&b->status, status);
    space_free(&s);
    return NULL;
}

static void share_tiles(struct builder *b)
{
    pthread_t threads[MAX_THREADS];
    const unsigned cores = hcy_processors();
    int n = 0, want = cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    /* A thread that cannot be made is no failure: this one and the others do its tiles. */
    while (n < want - 1 && !hcy__thread_create(&threads[n], make_tiles, b))
        n++;
    make_tiles(b);
    while (n--)
        pthread_join(threads[n], NULL);
}

/* --- To one piece of memory --- */

struct totals {
    size_t slices, rows;
};

/* Sets the offsets of all arrays, and returns the size of the whole. */
static size_t lay_out_plan(const struct builder *b, const hcy_span *spans, struct gpu_plan *plan,
                           const struct totals *t)
{
    struct gpu_plan_at *y = &plan->at;
    size_t at = 0, n_starts = (b->head->n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1;
    y->n_tiles = b->n_tiles;
    y->slice_of = gpu_place(&at, ((size_t)b->n_tiles + 1) * sizeof(uint32_t));
    y->slices = gpu_place(&at, t->slices * sizeof(struct gpu_slice));
    y->bins = gpu_place(&at, t->slices * BINS);
    y->quads = gpu_place(&at, t->rows * QUADS);
    y->places = gpu_place(&at, plan->unit ? t->rows * PLACES : 0);
    y->masked = gpu_place(&at, (size_t)b->n_tiles * GPU_TILE / 8);
    y->runs = gpu_place(&at, b->runs->size + 16);
    y->starts = gpu_place(&at, n_starts * sizeof(uint64_t));
    gpu_place_arrays(y, &at, spans);
    return at;
}

void gpu_place_arrays(struct gpu_plan_at *y, size_t *at, const hcy_span *spans)
{
    const hcy_azint_head *head = spans[0].data;
    y->n_pixels = head->n_pixels;
    y->n_bins = head->n_bins;
    y->norms = gpu_place(at, head->n_pixels * sizeof(float));
    y->has_darks = spans[4].size != 0;
    y->has_variances = spans[5].size != 0;
    y->darks = gpu_place(at, spans[4].size);
    y->variances = gpu_place(at, spans[5].size);
    y->dark_shift = head->dark_shift;
    y->variance_shift = head->variance_shift;
}

size_t gpu_array_pieces(struct gpu_piece *pieces, const struct gpu_plan_at *at, const hcy_span *spans)
{
    pieces[0] = (struct gpu_piece){ spans[3].data, at->norms, at->n_pixels * sizeof(float) };
    pieces[1] = (struct gpu_piece){ spans[4].data, at->darks, spans[4].size };
    pieces[2] = (struct gpu_piece){ spans[5].data, at->variances, spans[5].size };
    return 3;
}

/* Copies the tiles' tables behind one another and hands all pieces over. */
static int assemble_plan(struct builder *b, const hcy_span *spans, struct gpu_plan *plan, gpu_put *put, void *context)
{
    struct totals t = { 0, 0 };
    uint32_t *slice_of = malloc(((size_t)b->n_tiles + 1) * sizeof *slice_of);
    size_t n = 0, slices = 0, rows = 0;
    /* The sizes of all must be known before any offset is. */
    for (uint32_t i = 0; i < b->n_tiles; i++)
        t.slices += b->tiles[i].n_slices, t.rows += b->tiles[i].n_rows;
    size_t size = lay_out_plan(b, spans, plan, &t);
    /* Tiles are not copied together on the host: each goes to the device from where it was made. */
    struct gpu_piece *pieces = malloc((4 * (size_t)b->n_tiles + 7) * sizeof *pieces);
    int status = slice_of && pieces ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a plan's tables");
    /* Slices count rows with 32 bits, and kernels the lanes of all slices. */
    if (!status && (t.rows > UINT32_MAX || t.slices > UINT32_MAX / GPU_LANES))
        status = hcy_fail(HCY_EUNSUPPORTED, "a plan of %zu weights is too large for a GPU", t.rows * GPU_PLACE_ROW);
    for (uint32_t i = 0; !status && i < b->n_tiles; i++) {
        struct tile *tile = &b->tiles[i];
        /* What a tile counted from its own beginning is counted from the plan's from here on. */
        slice_of[i] = (uint32_t)slices;
        for (uint32_t k = 0; k < tile->n_slices; k++)
            tile->slices[k].first += (uint32_t)rows;
        pieces[n++] = (struct gpu_piece){ tile->slices, plan->at.slices + slices * sizeof(struct gpu_slice),
                                          tile->n_slices * sizeof(struct gpu_slice) };
        pieces[n++] =
            (struct gpu_piece){ tile->bins, plan->at.bins + slices * BINS, (size_t)tile->n_slices * BINS };
        pieces[n++] =
            (struct gpu_piece){ tile->quads, plan->at.quads + rows * QUADS, (size_t)tile->n_rows * QUADS };
        if (plan->unit)
            pieces[n++] =
                (struct gpu_piece){ tile->places, plan->at.places + rows * PLACES, (size_t)tile->n_rows * PLACES };
        slices += tile->n_slices;
        rows += tile->n_rows;
    }
    if (!status) {
        /* One entry more than tiles: a tile ends where the next one begins. */
        slice_of[b->n_tiles] = (uint32_t)slices;
        pieces[n++] =
            (struct gpu_piece){ slice_of, plan->at.slice_of, ((size_t)b->n_tiles + 1) * sizeof *slice_of };
        pieces[n++] = (struct gpu_piece){ b->masked, plan->at.masked, (size_t)b->n_tiles * GPU_TILE / 8 };
        pieces[n++] = (struct gpu_piece){ b->runs->data, plan->at.runs, b->runs->size };
        pieces[n++] = (struct gpu_piece){ b->starts, plan->at.starts, spans[2].size };
        n += gpu_array_pieces(pieces + n, &plan->at, spans);
        status = put(context, pieces, n, size, plan);
    }
    free(pieces);
    free(slice_of);
    return status;
}

int gpu_check_spans(const hcy_span *spans, size_t n)
{
    if ((n != HCY_AZINT_SPANS && n != HCY_AZINT_SPANS_KEPT) || spans[0].size != sizeof(hcy_azint_head))
        return hcy_fail(HCY_EINVAL, "a plan has %d tables, the first a head of %zu bytes", HCY_AZINT_SPANS,
                        sizeof(hcy_azint_head));
    /* The head's numbers decide all sizes that follow, so it is the first to be looked at. */
    const hcy_azint_head *head = spans[0].data;
    size_t n_starts = (head->n_pixels + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1;
    bool full = head->version == HCY_AZINT_VERSION_FULL;
    if ((head->version != HCY_AZINT_VERSION && !full) || !head->n_bins || head->n_bins > HCY_AZINT_MAX_BINS ||
        !head->n_pixels || head->n_pixels > UINT32_MAX)
        return hcy_fail(HCY_EINVAL,
                        "a plan of version %u with %u bins of %llu pixels is none of this library's",
                        head->version, head->n_bins, (unsigned long long)head->n_pixels);
    if (!full && (spans[4].size || spans[5].size || head->dark_shift || head->variance_shift))
        return hcy_fail(HCY_EINVAL, "a plan of version %u has neither darks nor variances", head->version);
    /* Kernels shift by these numbers and make powers of two of them: others have no meaning there. */
    if (head->dark_shift < 0 || head->dark_shift > 62 || head->variance_shift < -1000 ||
        head->variance_shift > 1000)
        return hcy_fail(HCY_EINVAL, "a plan's darks and variances have no shifts of %d and %d",
                        head->dark_shift, head->variance_shift);
    /* An absent array is empty, never short. */
    for (size_t i = 4; i < HCY_AZINT_SPANS; i++)
        if (spans[i].size && spans[i].size != head->n_pixels * sizeof(float))
            return hcy_fail(HCY_EINVAL, "a plan's %s do not fit its %llu pixels",
                            i == 4 ? "darks" : "variances", (unsigned long long)head->n_pixels);
    if (spans[2].size != n_starts * sizeof(uint64_t) || spans[3].size / sizeof(float) < head->n_pixels)
        return hcy_fail(HCY_EINVAL, "a plan's starts or norms do not fit its %llu pixels",
                        (unsigned long long)head->n_pixels);
    return 0;
}

static void free_tiles(struct builder *b)
{
    for (uint32_t i = 0; b->tiles && i < b->n_tiles; i++) {
        free(b->tiles[i].slices);
        free(b->tiles[i].bins);
        free(b->tiles[i].quads);
        free(b->tiles[i].places);
    }
    free(b->tiles);
    free(b->masked);
}

int gpu_tables_make(const hcy_span *spans, size_t n, gpu_put *put, void *context)
{
    int status = gpu_check_spans(spans, n);
    if (status)
        return status;
    struct builder b = {
        .head = spans[0].data, .runs = &spans[1], .starts = spans[2].data
    };
    b.n_tiles = (uint32_t)((b.head->n_pixels + GPU_TILE - 1) / GPU_TILE);
    b.tiles = calloc(b.n_tiles, sizeof *b.tiles);
    b.masked = malloc((size_t)b.n_tiles * GPU_TILE / 8);
    struct gpu_plan *plan = calloc(1, sizeof *plan);
    if (!b.tiles || !b.masked || !plan) {
        status = hcy_fail(HCY_ENOMEM, "out of memory for a plan's tables");
        goto out;
    }
    /* All is masked until a weight is seen; what is behind the last pixel stays so, and kernels need no
     * end of their own. */
    memset(b.masked, 0xff, (size_t)b.n_tiles * GPU_TILE / 8);
    share_tiles(&b);
    /* Threads leave a status alone: the message belongs to this thread's last error. */
    status = atomic_load(&b.status);
    if (status)
        status = hcy_fail(status, status == HCY_ENOMEM ? "out of memory for a plan's tables"
                                                       : "a plan's runs are damaged");
    plan->unit = !atomic_load(&b.not_unit);
    if (!status)
        status = assemble_plan(&b, spans, plan, put, context);
out:
    free_tiles(&b);
    if (status)
        free(plan);
    return status;
}
