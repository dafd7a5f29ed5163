/* spread_interp.cl - between sorted points and the fine grid, both ways.
 *
 * A group walks along consecutive sorted points and holds the piece of the grid that their windows reach in REGISTERS:
 * WX x WY columns, which the pencil's points share, of RING planes, which those of a slab share.  When the points
 * come to another slab, only the planes that are left behind are added to the grid (spreading) or replaced
 * (interpolation).  A plane stands at its number modulo RING, so that nothing in a register ever moves.  An item has
 * SLOTS columns, or parts of them, for the whole kernel.
 *
 * Why so: a point in w^3 cells costs w^3 reads and writes of memory near or far, by atomics, where points are taken
 * one by one; with the cells in registers it costs as many multiplications and additions and nothing else: a term of
 * a plane is one FMA.  The price are the cells of the piece that a window does not reach, whose weights are 0, and the
 * planes that come and go; how large pencils and slabs are balances the two (gpu_nufft_shape.c).  No item waits for
 * another while points are added, and no two add to the same cell.  Ranges are cut by number of points alone: dense
 * clusters make as many groups as anything else, and sums of floats stay short.
 *
 * Points are taken in batches, whose weights the items find together, ready for use: shifted to the pencil's columns,
 * turned to the ring's planes, zeros elsewhere.
 */
#pragma once
#include "nufft/window.cl"

#define WX (DIM > 1 ? XB + WIDTH - 1 : 1)
#define WY (DIM > 2 ? YB + WIDTH - 1 : 1)
#define RING (ZS + WIDTH - 1)
#define PART ((RING + PARTS - 1) / PARTS) /* planes of a slot */
#define SLOTS ((WX * WY * PARTS + GROUP_SIZE - 1) / GROUP_SIZE)
/* Rows in near memory: odd, so that items do not meet in a bank, or whole. */
#define PITCH_X (WX | 1)
#define PITCH_Y (WY | 1)
#define PITCH_Z WHOLE(PARTS *PART)
#if BATCH < GROUP_SIZE
#define HELPERS 16 /* items that sum for one point */
#else
#define HELPERS 1
#endif

/* Near memory of a group. */
struct ALIGNED near {
    REAL table[COEFS * PITCH], z[BATCH * PITCH_Z], x[BATCH * PITCH_X], y[BATCH * PITCH_Y];
    u32 key[BATCH], pencil[BATCH][2], slab[BATCH]; /* of points */
    u32 shift[BATCH][3];                           /* where windows begin in their rows */
#if BATCH < GROUP_SIZE
    REAL t[BATCH][DIM];
#endif
#if SPREADS
    REAL c[BATCH][VECTORS][2];
#else
    REAL sums[VECTORS * BATCH * (GROUP_SIZE + 1) * 2];
    u32 number[BATCH];
#endif
};

/* With FIXED what is spread is summed in integers, below. */
#if FIXED && SPREADS
#define SUM u64
#else
#define SUM REAL
#endif

/* Where the group is, and its piece of the grid. */
struct piece {
    u32 key, pencil[2];
    u32 base, turn;    /* its first plane, and where that stands in the ring */
    u64 column[SLOTS]; /* in the grid; of a slot */
    SUM re[VECTORS][SLOTS][PART], im[VECTORS][SLOTS][PART];
};

#define EACH_SLOT(s) \
    UNROLLED         \
    for (int s = 0; s < SLOTS; s++)
#define EACH_PLACE(r) \
    UNROLLED          \
    for (int r = 0; r < PART; r++)

/* Slot s of this item: its column and the first plane of its part. */
#define SLOT_OF(s) ((s) * GROUP_SIZE + ITEM)
#define COLUMN_X(s) (SLOT_OF(s) / PARTS % WX)
#define COLUMN_Y(s) (SLOT_OF(s) / PARTS / WX % WY)
#define IS_SLOT(s) (((s) + 1 < SLOTS) | (SLOTS * GROUP_SIZE == WX * WY * PARTS) | (SLOT_OF(s) < WX * WY * PARTS))
#define FIRST (ITEM % PARTS * PART) /* the same for all: groups are multiples of PARTS */
#define IS_PLACE(q) ((PARTS * PART == RING) | ((q) < RING)) /* of the ring */

/* Rows of a point: those of x, y and the ring; an axis that is not there has none. */
#define ZEROS_X (DIM > 1 ? XB - 1 : 0)
#define ZEROS_Y (DIM > 2 ? YB - 1 : 0)
#define ZEROS_Z (PARTS * PART - WIDTH)

DEVICE u32 in_ring(u32 q)
{
    return q >= RING ? q - RING : q;
}

/* The cells of a row that the window of point p does not reach: zero number i of its row. */
DEVICE void put_zero_x(NEAR struct near *near, u32 p, u32 i)
{
    near->x[p * PITCH_X + (i < near->shift[p][0] ? i : i + WIDTH)] = 0;
}
DEVICE void put_zero_y(NEAR struct near *near, u32 p, u32 i)
{
    near->y[p * PITCH_Y + (i < near->shift[p][1] ? i : i + WIDTH)] = 0;
}
DEVICE void put_zero_z(NEAR struct near *near, u32 p, u32 i)
{
    u32 q = i + WIDTH;
    near->z[p * PITCH_Z + (q < RING ? in_ring(near->shift[p][2] + q) : q)] = 0;
}

/* Weight j of an axis, to its place. */
DEVICE void put_x(NEAR struct near *near, u32 p, u32 j, REAL k)
{
    near->x[p * PITCH_X + near->shift[p][0] + j] = k;
}
DEVICE void put_y(NEAR struct near *near, u32 p, u32 j, REAL k)
{
    near->y[p * PITCH_Y + near->shift[p][1] + j] = k;
}
DEVICE void put_z(NEAR struct near *near, u32 p, u32 j, REAL k)
{
    near->z[p * PITCH_Z + in_ring(near->shift[p][2] + j)] = k;
}

#if BATCH >= GROUP_SIZE
/* An item finds the weights of a point. */
DEVICE void weigh_point(NEAR struct near *near, u32 p, const REAL *t)
{
    REAL k[1][MOST_WEIGHTS];
#if DIM > 1
    weights_of(near->table, t, 1, k);
    UNROLLED
    for (int j = 0; j < WIDTH; j++)
        put_x(near, p, j, k[0][j]);
    for (int i = 0; i < ZEROS_X; i++)
        put_zero_x(near, p, i);
#endif
#if DIM > 2
    weights_of(near->table, t + 1, 1, k);
    UNROLLED
    for (int j = 0; j < WIDTH; j++)
        put_y(near, p, j, k[0][j]);
    for (int i = 0; i < ZEROS_Y; i++)
        put_zero_y(near, p, i);
#endif
    weights_of(near->table, t + Z, 1, k);
    UNROLLED
    for (int j = 0; j < WIDTH; j++)
        put_z(near, p, j, k[0][j]);
    for (int i = 0; i < ZEROS_Z; i++)
        put_zero_z(near, p, i);
}
#else
/* More items than points: an item finds two weights of any point. */
DEVICE void weigh_pair(NEAR struct near *near, u32 p, u32 axis, u32 j)
{
    const NEAR REAL *table = near->table + j;
    REAL t = near->t[p][axis], u = t * t, a = table[0], b = table[PITCH];
    /* Even and odd powers are two polynomials in t squared, whose sum and difference are two weights. */
    for (u32 c = 2; c < COEFS; c++) {
        REAL more = table[c * PITCH];
        if (c % 2)
            b = b * u + more;
        else
            a = a * u + more;
    }
    REAL even = EVEN_FIRST ? a : b, odd = (EVEN_FIRST ? b : a) * t;
    if (DIM > 1 && axis == 0) {
        put_x(near, p, j, even + odd);
        put_x(near, p, WIDTH - 1 - j, even - odd);
    } else if (DIM > 2 && axis == 1) {
        put_y(near, p, j, even + odd);
        put_y(near, p, WIDTH - 1 - j, even - odd);
    } else {
        put_z(near, p, j, even + odd);
        put_z(near, p, WIDTH - 1 - j, even - odd);
    }
}

DEVICE void weigh_points(NEAR struct near *near, u32 n)
{
    for (u32 i = ITEM; i < n * DIM * HALF; i += GROUP_SIZE)
        weigh_pair(near, i / (DIM * HALF), i / HALF % DIM, i % HALF);
    for (u32 i = ITEM; i < n * (ZEROS_X + ZEROS_Y + ZEROS_Z); i += GROUP_SIZE) {
        u32 p = i / (ZEROS_X + ZEROS_Y + ZEROS_Z), e = i % (ZEROS_X + ZEROS_Y + ZEROS_Z);
        if (e < ZEROS_Z)
            put_zero_z(near, p, e);
        else if (e < ZEROS_Z + ZEROS_X)
            put_zero_x(near, p, e - ZEROS_Z);
        else
            put_zero_y(near, p, e - ZEROS_Z - ZEROS_X);
    }
}
#endif

/* A batch of points: what is near of them, and their weights.  c: the vectors' strengths (spreading). */
DEVICE void take_batch(const struct gpu_nufft *job, NEAR struct near *near, const struct record *records, u32 n,
                       const REAL *c)
{
    BARRIER();
    for (u32 p = ITEM; p < n; p += GROUP_SIZE) {
        /* Items find points first, as each needs its point's cell before any weight has a place. */
        struct record r = records[p];
        u32 cell[DIM];
        REAL t[DIM];
        for (int d = 0; d < DIM; d++) {
            u64 place = place_on_axis(&r, d);
            cell[d] = cell_of(job, d, place);
            t[d] = t_of(job, d, place);
        }
        near->pencil[p][0] = DIM > 1 ? cell[0] / XB : 0;
        near->pencil[p][1] = DIM > 2 ? cell[1 % DIM] / YB : 0;
        near->slab[p] = cell[Z] / ZS;
        near->key[p] = (near->pencil[p][1] * job->bins[0] + near->pencil[p][0]) * job->slabs + near->slab[p];
        near->shift[p][0] = DIM > 1 ? cell[0] % XB : 0;
        near->shift[p][1] = DIM > 2 ? cell[1 % DIM] % YB : 0;
        near->shift[p][2] = cell[Z] % RING;
#if SPREADS
        EACH_VECTOR(v)
        {
            const REAL *mine = c + 2 * (v * job->n_points + number_of(&r));
            near->c[p][v][0] = IS_VECTOR(job, v) ? mine[0] : 0;
            near->c[p][v][1] = IS_VECTOR(job, v) ? mine[1] : 0;
        }
#else
        near->number[p] = number_of(&r);
#endif
#if BATCH >= GROUP_SIZE
        weigh_point(near, p, t);
#else
        for (int d = 0; d < DIM; d++)
            near->t[p][d] = t[d];
#endif
    }
    BARRIER();
#if BATCH < GROUP_SIZE
    weigh_points(near, n);
    BARRIER();
#endif
}

/* To the pencil and slab of a point. */
DEVICE void go_to_slab(const struct gpu_nufft *job, const NEAR struct near *near, u32 p, int same_pencil,
                        struct piece *here)
{
    here->key = near->key[p];
    here->base = near->slab[p] * ZS;
    here->turn = here->base % RING;
    if (same_pencil)
        return;
    here->pencil[0] = near->pencil[p][0];
    here->pencil[1] = near->pencil[p][1];
    UNROLLED
    for (int s = 0; s < SLOTS; s++) {
        u32 x = DIM > 1 ? wrapped(here->pencil[0] * XB + COLUMN_X(s), job->n[0]) : 0;
        u32 y = DIM > 2 ? wrapped(here->pencil[1] * YB + COLUMN_Y(s), job->n[1]) : 0;
        here->column[s] = DIM > 2 ? (u64)y * job->n[0] + x : x;
    }
}

/* The plane at place q of the ring. */
#define PLANE(here, q) ((here)->base + (q) - (here)->turn + ((q) < (here)->turn ? RING : 0))
/* Planes are kept on the way up only: slabs that share a key come in any order, and no key is above NO_KEY. */
#define IS_SAME_PENCIL(near, p, here)                                                                     \
    ((near)->key[p] > (here)->key && (near)->pencil[p][0] == (here)->pencil[0] &&                        \
     (near)->pencil[p][1] == (here)->pencil[1])

/* The weight of a slot's column. */
#define XY(near, p, s) \
    ((DIM > 1 ? (near)->x[(p)*PITCH_X + COLUMN_X(s)] : 1) * (DIM > 2 ? (near)->y[(p)*PITCH_Y + COLUMN_Y(s)] : 1))

/* Nowhere yet. */
DEVICE void start_piece(struct piece *here)
{
    here->key = NO_KEY;
    here->base = here->turn = 0;
    EACH_VECTOR(v)
        EACH_SLOT(s)
            EACH_PLACE(r)
                here->re[v][s][r] = here->im[v][s][r] = 0;
}

#if SPREADS
/* FIXED: a point's share of a cell is an integer, so sums do not depend on their order, nor on that of the points; the
 * scale is the power of 2 with which no share takes more than 51 bits, and no sum can overflow: the largest strength at
 * all points that reach a cell.  The grid is of integers, and made floating point in the end. */
#if FIXED
#define CELL u64
struct fixed {
    u32 exponent; /* of the largest strength of a vector, as in a double */
};

/* The exponent of the scale.  How full slabs are depends on the device's shape of them, the number of points does
 * not. */
DEVICE u64 scale_of(const struct gpu_nufft *job, const struct gpu_nufft_head *head, u32 exponent)
{
    u64 terms = FIXED == GPU_NUFFT_SAME ? job->n_points : (u64)head->most * job->reach;
    return hcy_nufft_scale(terms < job->n_points ? terms : job->n_points, exponent);
}
#define PUT(cell, a, b) (ATOMIC_ADD64((cell), (a)), ATOMIC_ADD64((cell) + 1, (b)))
#define SCALED double
/* Rounded where 1.5 2^52, to which it is added, has its last bit. */
#define SHARE(a, z) (AS_BITS64((a) * (double)(z) + 6755399441055744.0) - 0x4338000000000000ull)

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_largest(u64 n, BUFFER(const REAL, strengths), BUFFER(struct fixed, fixed))
{
    OPEN(const REAL, strengths) OPEN(struct fixed, fixed)
    u32 most = 0;
    for (u64 i = ITEM_OF_ALL; i < 2 * n; i += (u64)GROUPS * GROUP_SIZE)
        most = MAX32(most, (u32)(AS_BITS64((double)strengths[2 * n * GROUP_Y + i]) >> 52 & 0x7ff));
    ATOMIC_MAX32(&fixed[GROUP_Y].exponent, most);
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_floating(struct gpu_nufft job, BUFFER(const struct gpu_nufft_head, head),
                        BUFFER(const struct fixed, fixed), BUFFER(const u64, from), BUFFER(REAL, to))
{
    OPEN(const struct gpu_nufft_head, head) OPEN(const struct fixed, fixed) OPEN(const u64, from) OPEN(REAL, to)
    u64 scale = scale_of(&job, head, fixed[GROUP_Y].exponent), first = 2 * job.cells * GROUP_Y;
    double unit = AS_DOUBLE(hcy_nufft_unit(scale));
    for (u64 i = ITEM_OF_ALL; i < 2 * job.cells; i += (u64)GROUPS * GROUP_SIZE)
        to[first + i] = (REAL)((double)(i64)from[first + i] * unit);
}
#else
#define CELL REAL
#define PUT(cell, a, b) ATOMIC_ADD_PAIR(cell, a, b)
#define SCALED REAL
#define SHARE(a, z) ((a) * (z))
#endif

/* Planes before `limit` to the grids. */
DEVICE void add_planes(const struct gpu_nufft *job, struct piece *here, u32 limit, CELL *grid)
{
    EACH_PLACE(r)
    {
        u32 q = FIRST + r, plane = PLANE(here, q);
        /* Planes that the next slab still reaches stay in registers. */
        if (plane >= limit || !IS_PLACE(q))
            continue;
        CELL *cells = grid + 2 * plane_at(job, plane);
        EACH_VECTOR(v)
        {
            EACH_SLOT(s)
            {
                if (IS_SLOT(s) && IS_VECTOR(job, v))
                    PUT(cells + 2 * here->column[s], here->re[v][s][r], here->im[v][s][r]);
                here->re[v][s][r] = here->im[v][s][r] = 0;
            }
            cells += 2 * job->cells;
        }
    }
}

/* A range of points, GROUP the range, GROUP_Y the vectors. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_spread(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const REAL, strengths), BUFFER(CELL, grids)
#if FIXED
                      , BUFFER(const struct gpu_nufft_head, head), BUFFER(const struct fixed, fixed)
#endif
)
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const REAL, strengths) OPEN(CELL, grids)
    LOCAL struct near near[1];
    SCALED scales[VECTORS];
    const REAL *c = strengths + 2 * job.n_points * FIRST_VECTOR;
    CELL *grid = grids + 2 * job.cells * FIRST_VECTOR;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    struct piece here;
    start_piece(&here);
    EACH_VECTOR(v)
        scales[v] = 1;
#if FIXED
    OPEN(const struct gpu_nufft_head, head) OPEN(const struct fixed, fixed)
    EACH_VECTOR(v)
        if (IS_VECTOR(&job, v))
            scales[v] = AS_DOUBLE(scale_of(&job, head, fixed[FIRST_VECTOR + v].exponent) << 52);
#endif
    take_table(near->table, table);
    for (u64 at = first; at < last; at += BATCH) {
        u32 n = last - at < BATCH ? (u32)(last - at) : BATCH;
        /* From here on all that a point needs is near, and items work without a barrier until the batch
         * ends. */
        take_batch(&job, near, records + at, n, c);
        for (u32 p = 0; p < n; p++) {
            /* Points come in the order of slabs, so the piece changes seldom. */
            const NEAR REAL *z = near->z + p * PITCH_Z + FIRST;
            if (near->key[p] != here.key) {
                int same = IS_SAME_PENCIL(near, p, &here);
                if (here.key != NO_KEY)
                    add_planes(&job, &here, same ? near->slab[p] * ZS : 0xffffffffu, grid);
                go_to_slab(&job, near, p, same, &here);
            }
            EACH_SLOT(s)
            {
                REAL xy = XY(near, p, s);
                EACH_VECTOR(v)
                {
                    SCALED a = near->c[p][v][0] * xy * scales[v], b = near->c[p][v][1] * xy * scales[v];
                    EACH_PLACE(r)
                    {
                        here.re[v][s][r] += SHARE(a, z[r]);
                        here.im[v][s][r] += SHARE(b, z[r]);
                    }
                }
            }
        }
    }
    add_planes(&job, &here, 0xffffffffu, grid);
}
#else
/* Planes from `from` on, of those that the slab's windows reach. */
DEVICE void load_planes(const struct gpu_nufft *job, struct piece *here, u32 from, const REAL *grid)
{
    EACH_PLACE(r)
    {
        u32 q = FIRST + r, plane = PLANE(here, q);
        if (plane < from || !IS_PLACE(q))
            continue;
        const REAL *cells = grid + 2 * plane_at(job, plane);
        EACH_VECTOR(v)
        {
            EACH_SLOT(s)
            {
                /* Slots and vectors that are none read nothing, and weigh as zeros. */
                int there = IS_SLOT(s) && IS_VECTOR(job, v);
                here->re[v][s][r] = there ? cells[2 * here->column[s]] : 0;
                here->im[v][s][r] = there ? cells[2 * here->column[s] + 1] : 0;
            }
            cells += 2 * job->cells;
        }
    }
}

/* Where the items' sums for a point and a vector begin. */
#define SUMS(near, p, v) ((near)->sums + ((p)*VECTORS + (v)) * (GROUP_SIZE + 1) * 2)

/* The items' sums of each point and vector to its strength. */
DEVICE void put_strengths(const struct gpu_nufft *job, NEAR struct near *near, u32 n, REAL *c)
{
    BARRIER();
#if HELPERS > 1
    for (u32 i = ITEM; i < n * VECTORS * HELPERS; i += GROUP_SIZE) {
        /* A few items fold the group's sums first, so that the last step adds up only as many. */
        NEAR REAL *sums = SUMS(near, 0, i / HELPERS);
        u32 h = i % HELPERS;
        for (u32 k = h + HELPERS; k < GROUP_SIZE; k += HELPERS) {
            sums[2 * h] += sums[2 * k];
            sums[2 * h + 1] += sums[2 * k + 1];
        }
    }
    BARRIER();
#endif
    for (u32 i = ITEM; i < n * VECTORS; i += GROUP_SIZE) {
        u32 p = i / VECTORS, v = i % VECTORS;
        const NEAR REAL *sums = SUMS(near, p, v);
        REAL re = 0, im = 0, *mine = c + 2 * (v * job->n_points + near->number[p]);
        for (u32 k = 0; k < (HELPERS > 1 ? HELPERS : GROUP_SIZE); k++) {
            re += sums[2 * k];
            im += sums[2 * k + 1];
        }
        if (!IS_VECTOR(job, v))
            continue;
        mine[0] = re;
        mine[1] = im;
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_interp(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const REAL, grids), BUFFER(REAL, strengths))
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const REAL, grids) OPEN(REAL, strengths)
    LOCAL struct near near[1];
    REAL *c = strengths + 2 * job.n_points * FIRST_VECTOR;
    const REAL *grid = grids + 2 * job.cells * FIRST_VECTOR;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    struct piece here;
    start_piece(&here);
    take_table(near->table, table);
    for (u64 at = first; at < last; at += BATCH) {
        u32 n = last - at < BATCH ? (u32)(last - at) : BATCH;
        take_batch(&job, near, records + at, n, NULL_PTR);
        for (u32 p = 0; p < n; p++) {
            const NEAR REAL *z = near->z + p * PITCH_Z + FIRST;
            if (near->key[p] != here.key) {
                /* In the same pencil the planes that both slabs reach are in registers already. */
                int same = IS_SAME_PENCIL(near, p, &here);
                u32 from = same ? here.base + RING : 0;
                go_to_slab(&job, near, p, same, &here);
                load_planes(&job, &here, from, grid);
            }
            EACH_VECTOR(v)
            {
                /* Items leave their sums for all points of the batch, which are added up together at its
                 * end. */
                NEAR REAL *sums = SUMS(near, p, v);
                REAL re = 0, im = 0;
                EACH_SLOT(s)
                {
                    REAL a = 0, b = 0, xy = IS_SLOT(s) ? XY(near, p, s) : 0;
                    EACH_PLACE(r)
                    {
                        a += here.re[v][s][r] * z[r];
                        b += here.im[v][s][r] * z[r];
                    }
                    re += a * xy;
                    im += b * xy;
                }
                sums[2 * ITEM] = re;
                sums[2 * ITEM + 1] = im;
            }
        }
        /* The batch's sums are near, and complete once all items have come here. */
        put_strengths(&job, near, n, c);
    }
}
#endif
