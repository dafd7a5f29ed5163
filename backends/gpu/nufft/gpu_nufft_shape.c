/* gpu_nufft_shape.c - how large pencils and slabs of non-uniform FFTs are, and how a group shares a piece of the grid:
 * what costs least.
 *
 * There are three forms: spread_interp.cl holds a piece by columns and adds products to it, pencil.cl holds it in
 * tensor cores, and where points are few tiles.cl writes the grid by tiles.  Points are sorted for spreading and
 * interpolation alike, so both have the same pencils and slabs.  Costs are milliseconds of 10^7 points on an H200,
 * about.
 */
#include "gpu_priv.h"

#include <math.h>

/* Whether sums do not depend on their order. */
static bool is_fixed(const hcy_nufft_job *job)
{
    return job->flags & (HCY_NUFFT_FIXED_ORDER | HCY_NUFFT_SAME_BITS);
}

/* Of a number of a piece: integers of 64 bits are summed where the order of points shall not count. */
static uint32_t real_words(const hcy_nufft_job *job)
{
    return job->precision == HCY_F64 || is_fixed(job) ? 2 : 1;
}

/* Points of a slab. */
static double slab_points(const struct gpu_shape *s, const hcy_nufft_job *job)
{
    double cells = 1;
    for (uint32_t d = 0; d < job->dim; d++)
        cells *= (double)job->grid[d];
    return (double)job->n_points / cells * s->zs * (job->dim > 1 ? s->xb : 1) * (job->dim > 2 ? s->yb : 1);
}

/* Points of uniform density: those of a slab that has some, and planes that come and go with it, all of them if there
 * are none in the slabs beside it. */
static double planes_moved(const struct gpu_shape *s, const hcy_nufft_job *job, double *many)
{
    /* A slab without points is never gone to, so the planes are shared by those that have some. */
    double points = slab_points(s, job), some = 1 - exp(-points), all = s->zs + job->width - 1.0;
    *many = points / some;
    return s->zs / some < all ? s->zs / some : all;
}

/* Pieces of these sizes are no longer than their axis and a cell. */
static bool fits_axes(const hcy_nufft_job *job, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t sizes[3] = { z, x, y };
    for (uint32_t d = 0; d < job->dim; d++) /* the ring's axis is the job's first; x is its last */
        if (sizes[d == 0 ? 0 : job->dim - d] > job->grid[d] + 1)
            return false;
    return true;
}

/* --- Columns --- */

static uint32_t slots_of(const struct gpu_shape *s, uint32_t dim, uint32_t width, uint32_t *part)
{
    uint32_t columns = (dim > 1 ? s->xb + width - 1 : 1) * (dim > 2 ? s->yb + width - 1 : 1);
    *part = (s->zs + width - 1 + s->parts - 1) / s->parts;
    return (columns * s->parts + s->group - 1) / s->group;
}

/* Registers for the pieces of an item. */
#define MOST_WORDS(shape) ((shape)->group < 256 ? 96u : 140u)
/* Near memory for the sums of a batch; of a group in all, static: what any device has. */
#define MOST_SUMS 40000u
#define MOST_NEAR 49152u

/* Near memory of a group that takes v vectors at once (struct near of spread_interp.cl), at most. */
static size_t column_bytes(const struct gpu_shape *s, const hcy_nufft_job *job, uint32_t v, bool spreads)
{
    const size_t x = job->dim > 1 ? s->xb + job->width : 1, y = job->dim > 2 ? s->yb + job->width : 1;
    uint32_t part;
    slots_of(s, job->dim, job->width, &part);
    size_t of_point = s->parts * part + 3 + x + y + job->dim + (spreads ? 2 * v : 2 * v * (s->group + 1));
    size_t numbers = HCY_NUFFT_COEFS(job->width) * (job->width + 3) + s->batch * of_point;
    return numbers * 4 * real_words(job) + (size_t)s->batch * 8 * sizeof(uint32_t);
}

/* How many vectors a group takes at once. */
static uint32_t vectors_of(const struct gpu_shape *s, const hcy_nufft_job *job, size_t items, bool spreads)
{
    uint32_t part, slots = slots_of(s, job->dim, job->width, &part);
    uint32_t words = real_words(job), v = 1;
    /* Weights are found once for all vectors, as long as their pieces stay in registers. */
    while (s->group > 1 && v < 4 && v < items && 2 * v * slots * part * 2 * words <= MOST_WORDS(s) &&
           (spreads || 2 * v * s->batch * (s->group + 1) * 2 * words * 4 <= MOST_SUMS) &&
           column_bytes(s, job, 2 * v, spreads) <= MOST_NEAR)
        v *= 2;
    return v;
}

/* Instructions of a point, per GPU_LANES, counted in what NVIDIA's compiler makes of spread_interp.cl: the slots', its
 * weights', and its part of a slab's coming and going and of the sort's keys.  Doubles take two where they are
 * calculated with.  0 if registers do not hold the slots. */
static double column_cost(const struct gpu_shape *s, const hcy_nufft_job *job)
{
    uint32_t part, slots = slots_of(s, job->dim, job->width, &part), real = real_words(job);
    double warps = s->group / (double)GPU_LANES, w = job->width, points = slab_points(s, job);
    if (slots * part * 2 * real > MOST_WORDS(s))
        return 0;
    /* The terms follow the kernel's inner loops: adding, weights, and what a change of slab costs. */
    double add = warps * (slots * (2.0 * part * real + 2 * real + 4) + part * real / 4.0 + 12);
    double weights = s->batch >= s->group ? job->dim * (w * (w + 2) * real * 0.7 + 9 * w) / GPU_LANES
                                          : job->dim * w * ((w + 2) * (1 + real) + 40) / (2 * GPU_LANES);
    double slab = warps * (s->zs * (12 + slots * (5.0 + 2 * real)) + 4 * part + 25);
    return (real == 2 ? 0.03 : 0.02) * (add + weights + slab / (points > 1 ? points : 1) + 3 / points);
}

static void keep_cheaper(struct gpu_shape *best, double *least, const struct gpu_shape *s, double now)
{
    if (!(now > 0) || (*least > 0 && now >= *least))
        return;
    *least = now;
    *best = *s;
}

/* Where points are few, adding to the grid is most of it: what that takes more than the instructions counted above. */
static double cost_of_adding(const struct gpu_shape *s, const hcy_nufft_job *job)
{
    double many, planes = planes_moved(s, job, &many), halo = job->width - 1.0;
    return 0.05 * planes * (job->dim > 1 ? s->xb + halo : 1) * (job->dim > 2 ? s->yb + halo : 1) / many;
}

/* The cheapest shape, and its cost. */
static struct gpu_shape choose_columns(const hcy_nufft_job *job, double *least)
{
    static const uint32_t pencils[3][6][2] = {
        { { 1, 1 } },
        { { 2, 1 }, { 4, 1 }, { 8, 1 }, { 16, 1 }, { 26, 1 } },
        { { 2, 2 }, { 2, 4 }, { 4, 2 }, { 4, 4 }, { 8, 4 }, { 8, 8 } }
    };
    static const uint32_t slabs[] = { 2, 4, 8, 16, 26 };
    /* The smallest shape always fits, and is kept where no other does. */
    struct gpu_shape best = { .xb = 2, .yb = 2, .zs = 2, .group = 256, .batch = 8, .parts = 1, .vectors = 1 },
                     s = { .vectors = 1 };
    uint32_t halo = job->width - 1;
    /* All shapes are tried: there are some hundreds, and the result is kept with the kernel. */
    for (int i = 0; i < 6 && pencils[job->dim - 1][i][0]; i++)
        for (int k = 0; k < 5; k++)
            for (s.group = GPU_LANES; s.group <= 256; s.group *= 2)
                for (s.parts = 1; s.parts <= 32; s.parts *= 2) {
                    s.xb = pencils[job->dim - 1][i][0];
                    s.yb = pencils[job->dim - 1][i][1];
                    s.zs = slabs[k];
                    s.batch = s.group > 64 ? 8 : 64 / s.group * 16;
                    if (s.parts <= s.zs + halo && fits_axes(job, s.xb + halo, s.yb + halo, s.zs + halo))
                        keep_cheaper(&best, least, &s, column_cost(&s, job));
                }
    return best;
}

/* A processor runs a piece in sequence, planes side by side in its vectors. */
static struct gpu_shape shape_alone(const hcy_nufft_job *job)
{
    uint32_t halo = job->width - 1, ring = (job->width + (job->dim == 1 ? 31 : 1) + 7) / 8 * 8;
    /* Rings of whole vectors of 8 planes; a grid too short for them takes the smallest shape. */
    struct gpu_shape s = { .xb = 4, .yb = 4, .zs = ring - halo, .group = 1, .batch = 16, .parts = 1, .vectors = 1 };
    if (!fits_axes(job, 4 + halo, 4 + halo, ring))
        s.xb = s.yb = s.zs = 2;
    return s;
}

/* --- Products --- */

/* Registers of an item for its pieces; of a lane of each of a multiprocessor's quarters. */
#define MOST_PIECE(job) ((job)->precision == HCY_F64 ? 160u : 96u)
#define REGISTERS       512u
/* Waves of groups, at least: the last one is not full. */
#define WAVES 8u

/* Tiles of 8 columns, tiles of 8 planes, rows, rows of a warp. */
struct tiles {
    uint32_t m, n, rows, mine;
};

static struct tiles tiles_of(const struct gpu_shape *s, const hcy_nufft_job *job)
{
    uint32_t warps = s->group / GPU_LANES, halo = job->width - 1;
    struct tiles t = { (s->xb + halo + 7) / 8, (s->zs + halo + 7) / 8, job->dim > 2 ? s->yb + halo : 1, 0 };
    /* One axis has no columns to share; folding the slab makes some. */
    if (job->dim == 1) /* a slab is folded: 8 columns of n tiles each */
        t = (struct tiles){ 1, job->width > 9 ? 2 : 1, 1, 0 };
    t.mine = (t.rows + warps - 1) / warps;
    return t;
}

/* Registers for the pieces: floats to interpolate from are two parts, but for narrow windows. */
static uint32_t piece_words(const struct gpu_shape *s, const hcy_nufft_job *job, bool spreads)
{
    struct tiles t = tiles_of(s, job);
    bool two = job->precision == HCY_F64 || (!spreads && job->width > GPU_NUFFT_NARROW);
    return s->vectors * t.m * t.mine * t.n * 4 * (two ? 2 : 1);
}

/* As struct near of pencil.cl, whose compilation fails if that is larger. */
static size_t near_bytes(const struct gpu_shape *s, const hcy_nufft_job *job, enum hcy_nufft_move move)
{
    const struct tiles t = tiles_of(s, job);
    const bool spreads = move == HCY_NUFFT_PUTS, slopes = move == HCY_NUFFT_SLOPES;
    const size_t real = 4 * job->precision, whole = 16 / real, warps = s->group / GPU_LANES, pair = 2 * real;
    /* Rows of weights are so far apart that lanes meet in no bank. */
    size_t along_y = job->dim > 2 ? (t.mine * warps + whole - 1) / whole * whole : 0;
    size_t rows = 8 * (job->dim > 1 ? t.m + t.n : 2 * t.n) + along_y;
    size_t units = rows / whole, apart = 16 * (real == 4 && !spreads ? units | 1 : units + (6 - units % 4) % 4);
    size_t points = s->batch + (spreads ? 0 : 7), plane = t.mine * 8 * t.m;
    size_t table = HCY_NUFFT_COEFS(job->width) * ((job->width + whole - 1) / whole * whole) * real;
    size_t sums = (slopes ? 1 + job->dim : s->vectors) * (s->ample ? 4 : 1) * (spreads ? 1 : warps);
    size_t ahead = s->ample ? warps * s->vectors * s->zs * (plane + whole) * pair +
                                  (plane + GPU_LANES - 1) / GPU_LANES * s->group * sizeof(uint32_t)
                            : 0;
    return (slopes ? 2 : 1) * (points * apart + table) + sums * s->batch * pair + ahead +
           (2 * s->batch + 4 * points) * sizeof(uint32_t) + 16;
}

/* As many warps as hold the piece, of `most` words a lane. */
static void set_warps(struct gpu_shape *s, const hcy_nufft_job *job, bool spreads, uint32_t most)
{
    for (s->group = GPU_LANES; s->group < 256 && job->dim > 2 && piece_words(s, job, spreads) > most;)
        s->group += GPU_LANES;
}

/* Of points of uniform density: those that are alone in a slab cost it all. */
static double pencil_cost(const struct gpu_shape *s, const hcy_nufft_job *job)
{
    struct tiles t = tiles_of(s, job);
    double rows = t.mine * (s->group / GPU_LANES);
    double points = slab_points(s, job), many, planes = planes_moved(s, job, &many);
    /* A product of 8 points costs the same with fewer, so half a product is lost at each slab. */
    double together = job->dim > 1 ? 8 : 4, products = many / together + 0.5, halo = job->width - 1;
    double cells = planes * (job->dim > 1 ? s->xb + halo : 1) * t.rows;
    bool is_double = job->precision == HCY_F64, narrow = job->width <= GPU_NUFFT_NARROW;
    double product = narrow ? 0.17 : 0.3, cell = is_double ? 0.065 : 0.012;
    if (is_double)
        product = 0.45;
    return ((products > 1 ? products : 1) * t.m * t.n * rows * product + cells * cell + 1.2) / many +
           0.05 * log2(1 + 64 / points) + (is_double ? 0 : 0.1);
}

/* The cheapest shape, and its cost: columns and planes fill their tiles. */
static struct gpu_shape choose_pencil(const hcy_nufft_job *job, double *least)
{
    static const uint32_t rows[] = { 1, 2, 3, 4, 5, 6, 8, 10 };
    struct gpu_shape best = { .vectors = 1 }, s = { .group = GPU_LANES, .vectors = 1, .resident = 1 };
    uint32_t halo = job->width - 1;
    for (uint32_t m = 1; m <= (job->dim > 1 ? 3 : 1); m++)
        for (uint32_t n = 1; n <= 3; n++)
            for (int i = 0; i < (job->dim > 2 ? 8 : 1); i++) {
                uint32_t planes = job->dim == 1 ? (job->width > 9 ? 128 : 64) : 8 * n;
                /* A pencil that is all halo would hold no points of its own. */
                if ((job->dim > 1 && 8 * m <= halo) || planes <= halo || !fits_axes(job, 8 * m, rows[i] + halo, planes))
                    continue;
                s.xb = job->dim > 1 ? 8 * m - halo : 1;
                s.yb = rows[i];
                s.zs = planes - halo;
                set_warps(&s, job, true, MOST_PIECE(job));
                keep_cheaper(&best, least, &s, pencil_cost(&s, job));
            }
    return best;
}

/* Near memory of a group, of `resident` ones that share what a multiprocessor has, which is little more than one group
 * may have, and 1 KB of each is not the kernel's.  Where that is not known it is what any group has. */
static size_t near_of_each(const struct gpu_ops *ops, uint32_t resident)
{
    size_t each = ops->static_local ? 0 : ops->local_bytes / resident;
    return each > 1024 ? each - 1024 : MOST_NEAR;
}

/* What a direction makes of a pencil. */
static void share_pencil(struct gpu_shape *s, const struct gpu_ops *ops, const hcy_nufft_job *job, size_t items,
                         enum hcy_nufft_move move)
{
    bool is_double = job->precision == HCY_F64, spreads = move == HCY_NUFFT_PUTS, slopes = move == HCY_NUFFT_SLOPES;
    /* Registers beside the pieces': compilers like more, but more warps gain more.  Slopes have sums for each axis. */
    uint32_t others = slopes ? 104 : 72, warps;
    s->vectors = 1;
    set_warps(s, job, spreads, slopes ? MOST_PIECE(job) - 32 : MOST_PIECE(job));
    while (!slopes && s->vectors < 4 && s->vectors < items && 2 * piece_words(s, job, spreads) <= MOST_PIECE(job))
        s->vectors *= 2;
    warps = 4 * (REGISTERS / (piece_words(s, job, spreads) + others));
    s->resident = (warps < 32 ? warps : 32) / (s->group / GPU_LANES);
    s->resident = s->resident ? s->resident : 1;
    /* A batch of one point an item is best, as long as near memory has room for its weights. */
    size_t each = near_of_each(ops, s->resident), most = each > MOST_NEAR ? each : MOST_NEAR;
    s->batch = s->group;
    /* Of slabs with many points planes come so rarely that copying them ahead takes more than it spares: measured on an
     * H200 with 74 of them. */
    s->ample = move == HCY_NUFFT_GETS && job->dim == 3 && slab_points(s, job) < 64;
    s->ample = s->ample && near_bytes(s, job, move) <= each;
    while (s->batch > GPU_LANES && near_bytes(s, job, move) > most)
        s->batch -= GPU_LANES;
    if (slopes && near_bytes(s, job, move) > most)
        s->batch /= 2;
    s->near_bytes = (uint32_t)near_bytes(s, job, move);
    s->carries = move == HCY_NUFFT_GETS && 4 * slab_points(s, job) < s->batch;
    /* Short ranges end together but repeat a piece's start; long ones leave multiprocessors idle at the
     * end. */
    uint64_t range = job->n_points / ((uint64_t)ops->units * s->resident * WAVES);
    /* What groups that run together take and add to shall stay in the device's cache, until their neighbours have. */
    uint64_t top = job->dim > 2 ? 256 : 2048;
    if (is_double)
        top = 512;
    if (range > top)
        range = top;
    if (range < 128)
        range = 128;
    s->range = (uint32_t)((range + s->batch - 1) / s->batch * s->batch);
}

/* --- Tiles --- */

/* Where a cell is reached by fewer windows than this, adding to the grid atomically is most of the work: measured on an
 * H200 with 2 10^5 to 10^7 points on 7 10^7 cells. */
#define FEW_REACHES(job) ((job)->precision == HCY_F64 ? 4.0 : 6.0)
/* Tiles of an axis, at least: one, that before it, and that before the first. */
#define LEAST_TILES 3u
/* Each has a key (gpu_coarseness()). */
#define MOST_TILES 190000.0

static bool is_for_tiles(const struct gpu_ops *ops, const hcy_nufft_job *job)
{
    double cells = 1, tiles = 1;
    if (ops->alone || is_fixed(job) || job->dim != 3)
        return false;
    for (uint32_t d = 0; d < 3; d++) {
        if (job->grid[d] < LEAST_TILES * GPU_NUFFT_TILE)
            return false;
        cells *= (double)job->grid[d];
        tiles *= ceil((double)job->grid[d] / GPU_NUFFT_TILE);
    }
    return (double)job->n_points * pow(job->width, 3) < FEW_REACHES(job) * cells && tiles < MOST_TILES;
}

static struct gpu_shape shape_of_tiles(const hcy_nufft_job *job)
{
    uint32_t edge = GPU_NUFFT_TILE;
    /* Batches of doubles fit the near memory that any device has. */
    return (struct gpu_shape){ .xb = edge, .yb = edge, .zs = edge, .group = edge * edge,
                               .batch = job->precision == HCY_F64 ? 32 : 64, .parts = 1, .vectors = 1, .tiles = true };
}

/* --- What is asked --- */

struct gpu_shape gpu_shape_of(const struct gpu_ops *ops, const hcy_nufft_job *job)
{
    double least = 0, least_pencil = 0;
    if (is_for_tiles(ops, job))
        return shape_of_tiles(job);
    struct gpu_shape s = ops->alone ? shape_alone(job) : choose_columns(job, &least);
    s.range = job->n_points > 1000000 ? 512 : 128; /* few enough to fill a device, many enough to be worth a ring */
    /* Tensor cores sum in an order of their own, so fixed order goes without them. */
    if (ops->products < job->precision || is_fixed(job))
        return s;
    struct gpu_shape pencil = choose_pencil(job, &least_pencil);
    return least_pencil > 0 && least_pencil < least + cost_of_adding(&s, job) ? pencil : s;
}

void gpu_shape_for(struct gpu_shape *s, const struct gpu_ops *ops, const hcy_nufft_job *job, size_t items,
                   enum hcy_nufft_move move)
{
    if (s->resident)
        share_pencil(s, ops, job, items, move);
    else if (!s->tiles)
        s->vectors = vectors_of(s, job, items, move == HCY_NUFFT_PUTS);
}

/* --- Keys --- */

/* Bytes of memory that a point may take, with its keys, and what keys may take however few points there are. */
#define MOST_OF_A_POINT 39u
#define MOST_OF_NONE    (3u << 18)

uint32_t gpu_coarseness(uint64_t slabs, const hcy_nufft_job *job, size_t record, bool two_steps)
{
    /* A key has a counter, and in two steps a code; in one, a point has a rank. */
    uint64_t key = two_steps ? 8 : 4, rank = two_steps ? 0 : 4,
             most = (job->n_points * (MOST_OF_A_POINT - record - rank) + MOST_OF_NONE) / key;
    uint32_t coarse = 0;
    while ((slabs - 1) >> coarse >= most)
        coarse++;
    return coarse;
}
