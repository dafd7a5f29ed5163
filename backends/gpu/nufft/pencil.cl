/* pencil.cl - between sorted points and the fine grid on tensor cores; spread_interp.cl without them.
 *
 * A group holds the piece of the grid that its points' windows reach in the ACCUMULATORS (spreading) or the operand A
 * (interpolation) of matrix products: 8 MT columns along x and 8 NT planes of the ring, for each row along y of the
 * pencil, which the group's warps share out.  Up to 8 points of one slab are a product:
 *
 *     spreading       piece[y] (16 x 8)  +=  x weights * strength, re and im (16 x 8 points) * z weights * y weight
 *     interpolation   sums (16 x 8 points)  +=  piece[y] (16 x 8 planes) * z weights * y weight (8 x 8 points)
 *
 * and sums are multiplied by the x weights and added along x.  A plane stands at its number modulo RING, so that
 * nothing in a register moves when points come to another slab: only planes that are left are added to the grid, or
 * replaced.
 *
 * Each item finds the weights of a point, in rows that are shifted to the pencil's columns and the slab's planes, with
 * zeros elsewhere.  What a lane holds of a product is the same for floats and doubles: of A rows G, G + 8 and columns
 * T, T + 4; of B rows T, T + 4 and column G; of the sums rows G, G + 8 and columns 2 T, 2 T + 1 (G = lane / 4,
 * T = lane % 4).  Tensor cores take floats of 11 bits: a float is two of them, and a product three;
 * but for narrow windows.
 */
#pragma once
#include "nufft/window.cl"

#define WARPS (GROUP_SIZE / GPU_LANES)
#define LANE (ITEM % GPU_LANES)
#define G (LANE / 4)
#define T (LANE % 4)
#define ROWS (DIM > 2 ? YB + WIDTH - 1 : 1)
#define MINE ((ROWS + WARPS - 1) / WARPS) /* rows of a warp */
#define ROW_OF(y) ((WARPS > 1 ? ITEM / GPU_LANES * MINE : 0) + (y))
#define IS_ROW(y) ((MINE * WARPS == ROWS) || ROW_OF(y) < ROWS)
#define RING (8 * NT)
/* The plane of column j of a tile of sums: the few that a slab leaves behind are not in both sums of a lane. */
#define COLUMN(j) ((j) / 2 + (j) % 2 * 4)

/* On one axis a slab is folded into 8 columns of RING cells: there is no ring, and a window reaches two columns, the
 * second one with the rest of its row of weights. */
#if DIM == 1
#define WX 8
#define MT 1
#define NT (WIDTH > 9 ? 2 : 1)
#define REACHED RING
#define HALVES 2
#define AT_Z 0
#else
#define WX (XB + WIDTH - 1)
#define MT ((WX + 7) / 8)
#define NT ((REACHED + 7) / 8)
#define REACHED (ZS + WIDTH - 1) /* planes that windows of a slab reach, of RING that there is room for */
#define HALVES 1
#define AT_Z (8 * MT)
#endif
#define TOGETHER (8 / HALVES) /* points that are added by a product */

/* Weights of a point in near memory: columns, planes, rows.  How far apart points are is what keeps lanes from
 * meeting in a bank. */
#define AT_Y (AT_Z + HALVES * RING)
#define ROOM_Y (DIM > 2 ? WHOLE(MINE * WARPS) : 0)
#define UNITS ((AT_Y + ROOM_Y) * PRECISION / 4)
#if PRECISION == 1 && !SPREADS
#define APART ((UNITS | 1) * 4)
#else
#define APART ((UNITS + (6 - UNITS % 4) % 4) * 4 / PRECISION)
#endif

#if PRECISION == 2
#define PAIR double2
#define MOVED(x) (x)
#else
#define PAIR float2
#define MOVED(x) MOVED_F32(x)
#endif

/* What of a complex number a lane has, spreading: of floats the real part of cell G in row G and the imaginary part in
 * row G + 8, added to the grid as a pair.  Doubles are added one by one, at a cost of the 32-byte pieces that the lanes
 * of one addition touch: rows of A are the doubles of 8 cells as they stand in the grid, so that 8 lanes add to 64
 * bytes. */
#define SINGLY (SPREADS && PRECISION == 2 && DIM > 1)
#if SINGLY
#define CELL_OF(h) (4 * (h) + G / 2)
#define PART_OF(c, h) (G % 2 ? (c).y : (c).x)
#else
#define CELL_OF(h) G
#define PART_OF(c, h) ((h) ? (c).y : (c).x)
#endif
#define IS_CELL(m, h) (8 * MT == WX || 8 * (m) + CELL_OF(h) < WX)

/* With SLOPES interpolation has a value and its slope along each axis: the weights' own slopes lie as they do. */
#ifndef SLOPES
#define SLOPES 0
#endif
#if SLOPES
#define WAVES (1 + DIM)
#else
#define WAVES VECTORS
#endif

/* Points of a slab whose slopes are wanted come in the order of their rows, and rows that none of eight reaches are
 * left out: three products in ten of windows of 7 and 20 points a slab.  Slopes have three products a row; values have
 * one, and are an eighth slower so on an H200. */
#define BY_ROWS (SLOPES && PRECISION == 2 && DIM > 2)

/* Interpolation reads what lies behind a run's last points, too: a product is of 8. */
#define ROOM_FOR (BATCH + (SPREADS ? 0 : 7))
/* AMPLE: near memory has room for what makes interpolation wait less.  The planes that the next slab adds are copied
 * to it while points are summed up.  And what a point's columns sum up to is left in PARTIALS sums, that one item adds
 * up: lanes that exchange and add them wait for other warps' products each time. */
#define PARTIALS (AMPLE ? 4 : 1)
#define PLANE_CELLS (MINE * 8 * MT)              /* of a warp's piece */
#define PLANE_ROOM (PLANE_CELLS + 4 / PRECISION) /* lanes with different planes do not meet in a bank */
#define LANE_CELLS ((PLANE_CELLS + GPU_LANES - 1) / GPU_LANES)

struct ALIGNED near {
    REAL weights[ROOM_FOR * APART], table[COEFS * PITCH];
#if SLOPES
    REAL slopes[ROOM_FOR * APART], derivative[COEFS * PITCH];
#endif
    PAIR c[WAVES * PARTIALS * BATCH * (SPREADS ? 1 : WARPS)]; /* strengths; sums of warps */
#if AMPLE
    PAIR ahead[WARPS * VECTORS * ZS * PLANE_ROOM];
    u32 cell[LANE_CELLS * GROUP_SIZE]; /* of a plane, that an item copies */
#endif
    u32 key[BATCH], bin[ROOM_FOR][4]; /* pencil, slab, number; one axis: slab, column, 0, number */
#if BY_ROWS
    u32 row[BATCH]; /* the window's first */
#endif
};
/* What the host has reserved. */
typedef char near_is_enough[sizeof(struct near) <= NEAR_BYTES ? 1 : -1];

/* Where the group is: its first plane, and where that stands in the ring. */
struct place {
    u32 key, pencil[2], base, turn;
};
#define PLANE(here, q) ((here)->base + (q) - (here)->turn + ((q) < (here)->turn ? RING : 0))

/* --- Products --- */

/* Floats for a narrow window are rounded to 11 bits: it is worth no more. */
#define ROUNDED (PRECISION == 1 && WIDTH <= GPU_NUFFT_NARROW)
#if PRECISION == 2 || ROUNDED
#if ROUNDED
#define WORD u32
#define WORD_OF(x) (AS_BITS32(x) + 0x1000)
#define PRODUCT_OF PRODUCT_F11
#else
#define WORD double
#define WORD_OF(x) (x)
#define PRODUCT_OF PRODUCT_F64
#endif
#define PASSES 1
struct a_part {
    WORD v[4];
};
struct b_part {
    WORD v[2];
};
DEVICE void set_a(struct a_part *a, int i, REAL x)
{
    a->v[i] = WORD_OF(x);
}
DEVICE void set_b(struct b_part *b, int i, REAL x)
{
    b->v[i] = WORD_OF(x);
}
DEVICE void multiply(int pass, REAL *c, const struct a_part *a, const struct b_part *b)
{
    (void)pass;
    PRODUCT_OF(c, a->v, b->v);
}
#else
#define PASSES 3
struct a_part {
    u32 high[4], low[4];
};
struct b_part {
    u32 high[2], low[2];
};
#define SPLIT(part, i, x)                                          \
    ((part)->high[i] = AS_BITS32(x) & 0xffffe000u,                 \
     (part)->low[i] = AS_BITS32((x) - AS_FLOAT((part)->high[i])))
DEVICE void set_a(struct a_part *a, int i, float x)
{
    SPLIT(a, i, x);
}
DEVICE void set_b(struct b_part *b, int i, float x)
{
    SPLIT(b, i, x);
}
DEVICE void multiply(int pass, float *c, const struct a_part *a, const struct b_part *b)
{
    if (pass == 0)
        PRODUCT_F11(c, a->low, b->high);
    else if (pass == 1)
        PRODUCT_F11(c, a->high, b->low);
    else
        PRODUCT_F11(c, a->high, b->high);
}
#endif

/* Of lane LANE ^ mask. */
DEVICE REAL across(REAL x, u32 mask)
{
#if PRECISION == 2
    u64 bits = AS_BITS64(x);
    return AS_DOUBLE((u64)SHUFFLE_XOR((u32)(bits >> 32), mask) << 32 | SHUFFLE_XOR((u32)bits, mask));
#else
    return AS_FLOAT(SHUFFLE_XOR(AS_BITS32(x), mask));
#endif
}

/* A product waits for the one before it if both add to the same sums: of many, interpolation keeps those of floats'
 * parts, or of every other row, apart where registers allow. */
#define CHAINS (VECTORS * MT * HALVES > 2 || NT * MINE < 4 ? 1 : PASSES + ROUNDED)
#define CHAIN_OF(k, y) ((ROUNDED ? (y) : (k) / MT) % CHAINS)

/* --- Points --- */

/* The group's warps have come here. */
DEVICE void meet(void)
{
#if WARPS > 1
    BARRIER();
#else
    LANES_BARRIER();
#endif
}

/* Weights to a row of `length`, `by` < `most` from its start. */
DEVICE void put_weight_row(REAL *row, u32 by, u32 most, u32 length, NEAR REAL *to)
{
    UNROLL
    for (int j = WIDTH; j < (int)length; j++)
        row[j] = 0;
    /* Registers cannot be addressed, so a row is shifted by powers of two, each taken or not. */
    UNROLL
    for (int step = 1; step < (int)most; step *= 2) {
        UNROLL
        for (int j = (int)length - 1; j >= 0; j--)
            row[j] = by & step ? (j >= step ? row[j - step] : 0) : row[j];
    }
    UNROLL
    for (int j = 0; j < (int)length; j++)
        to[j] = row[j];
}

/* This item's point of the batch that begins at `at`, if there is one. */
DEVICE struct record record_at(const struct record *records, u64 at, u64 last)
{
    return records[at + ITEM < last ? at + ITEM : last - 1];
}

/* A batch of points, one of an item: where they are, their weights and strengths (c, spreading). */
DEVICE void take_points(const struct gpu_nufft *job, NEAR struct near *near, const struct record *r, u32 n,
                        const PAIR *c)
{
    /* The barriers keep the batch before until all warps have added it, and this one until all its weights
     * are there. */
    u32 p = ITEM;
    meet();
    if (p < n) {
        NEAR REAL *weights = near->weights + p * APART;
        u32 cell[DIM];
        REAL t[DIM], rows[DIM][MOST_WEIGHTS];
        UNROLL
        for (int d = 0; d < DIM; d++) {
            u64 place = place_on_axis(r, d);
            cell[d] = cell_of(job, d, place);
            t[d] = t_of(job, d, place);
        }
        /* Where the window lies in its pencil and slab decides how far its rows are shifted. */
        u32 slab = cell[Z] / ZS;
#if DIM == 1
        u32 at = cell[0] - slab * ZS;
        near->key[p] = near->bin[p][0] = slab;
        near->bin[p][1] = at / RING;
        near->bin[p][2] = 0;
        weights_of(near->table, t, 1, rows);
        put_weight_row(rows[0], at % RING, RING, 2 * RING, weights);
#else
        u32 x = cell[0] / XB, y = DIM > 2 ? cell[1] / YB : 0;
        near->key[p] = (y * job->bins[0] + x) * job->slabs + slab;
        near->bin[p][0] = x;
        near->bin[p][1] = y;
        near->bin[p][2] = slab;
#if BY_ROWS
        near->row[p] = cell[1] - y * YB;
#endif
#if PRECISION == 1
        weights_of(near->table, t, DIM, rows); /* each coefficient is read once */
#define WEIGH(d)
#else
#define WEIGH(d) weights_of(near->table, t + (d), 1, rows + (d))
#endif
        WEIGH(0);
        put_weight_row(rows[0], cell[0] - x * XB, XB, 8 * MT, weights);
        WEIGH(Z);
        put_weight_row(rows[Z], cell[Z] - slab * ZS, ZS, RING, weights + AT_Z);
#if DIM > 2
        WEIGH(1);
        put_weight_row(rows[1], cell[1] - y * YB, YB, ROOM_Y, weights + AT_Y);
#endif
#endif
        near->bin[p][3] = number_of(r);
#if SPREADS
        EACH_VECTOR(v)
            near->c[v * BATCH + p] = c[v];
#endif
    }
    meet();
}

/* To the pencil and slab of a point. */
DEVICE void go_to(const NEAR struct near *near, u32 p, struct place *here)
{
    here->key = near->key[p];
    here->pencil[0] = near->bin[p][0];
    here->pencil[1] = near->bin[p][1];
    here->base = near->bin[p][2] * ZS;
    here->turn = here->base % RING;
}

/* Planes are kept on the way up only: slabs that share a key come in any order, and no key is above NO_KEY. */
#define IS_SAME_PENCIL(near, p, here)       \
    ((near)->key[p] > (here)->key &&        \
     (near)->key[p] - (near)->bin[p][2] == (here)->key - (here)->base / ZS)

/* How many lanes from the first on have their bit set, one after the other. */
#define RUN(bits) POPCOUNT((bits) & ~((bits) + 1))

/* Place q of the ring in a row of planes. */
DEVICE u32 in_row(const struct place *here, u32 q)
{
    return q - here->turn + (q < here->turn ? RING : 0);
}

/* The cell of a column of this lane, `own` of 8 (at a plane, on one axis), and a row, in a plane of the grid. */
DEVICE u32 cell_of_column(const struct gpu_nufft *job, const struct place *here, int m, u32 own, int y, u32 plane)
{
    u32 column = DIM > 1 ? here->pencil[0] * XB + 8 * m + own : here->pencil[0] * ZS + own * RING + plane;
    u32 row = DIM > 2 ? here->pencil[1] * YB + ROW_OF(0) : 0, end = job->n[0] * job->n[1];
    /* Rows beyond the axis's end are the first ones again, found without a division. */
    int left = (int)(job->n[1] - row); /* rows before the axis's end */
    return wrapped(column, job->n[0]) + row * job->n[0] + y * job->n[0] - (DIM > 2 && y >= left ? end : 0);
}

/* Bytes before a plane, as a number of its own: its cells are then reached by an instruction each. */
DEVICE u64 plane_offset(const struct gpu_nufft *job, u32 plane)
{
    return SETTLED64(DIM > 1 ? plane_at(job, plane) * sizeof(PAIR) : 0);
}

#if SPREADS
/* The strengths of a point. */
DEVICE void fetch_strengths(const struct gpu_nufft *job, const PAIR *strengths, const struct record *r, PAIR *c)
{
    EACH_VECTOR(v)
    {
        c[v].x = c[v].y = 0;
        if (IS_VECTOR(job, v))
            c[v] = strengths[v * job->n_points + number_of(r)];
    }
}

/* Tensor cores cut off what does not fit a float's sum, which the grid's additions round: what this many points were
 * added to goes to the grid (1e-6 of it is lost by then, 4e-6 after 512 points). */
#define IS_MUCH(added) (PRECISION == 1 && !ROUNDED && (added) >= 96)

/* Sums of tile m and row y to cells of a plane. */
DEVICE void add_tile_sums(const struct gpu_nufft *job, const struct place *here, int m, int y, u32 plane, PAIR *cells,
                          REAL a, REAL b)
{
#if SINGLY
    /* Columns that only fill up a tile have no cell. */
    if (IS_CELL(m, 0))
        ATOMIC_ADD_F64((double *)(cells + cell_of_column(job, here, m, CELL_OF(0), y, plane)) + G % 2, a);
    if (IS_CELL(m, 1))
        ATOMIC_ADD_F64((double *)(cells + cell_of_column(job, here, m, CELL_OF(1), y, plane)) + G % 2, b);
#else
    if (IS_CELL(m, 0))
        ATOMIC_ADD_PAIR((REAL *)(cells + cell_of_column(job, here, m, CELL_OF(0), y, plane)), MOVED(a), MOVED(b));
#endif
}

/* Planes before `limit` to the grids. */
DEVICE void put_planes(const struct gpu_nufft *job, const struct place *here, u32 limit,
                       REAL piece[VECTORS][MT][MINE][NT][4], PAIR *grid)
{
    UNROLL
    for (int i = 0; i < 2 * NT; i++) {
        int n = i / 2, e = i % 2;
        u32 plane = PLANE(here, 8 * n + COLUMN(2 * T + e));
        if (plane >= limit || (RING > REACHED && plane - here->base >= REACHED)) /* beyond is nothing */
            continue;
        /* The plane's cells are one base and a number of 32 bits each. */
        PAIR *cells = (PAIR *)((u8 *)grid + plane_offset(job, plane));
        UNROLL
        for (int y = 0; y < MINE; y++) {
            UNROLL
            for (int m = 0; m < MT; m++) {
                EACH_VECTOR(v)
                {
                    if (IS_ROW(y) && IS_VECTOR(job, v))
                        add_tile_sums(job, here, m, y, plane, cells + v * job->cells, piece[v][m][y][n][e],
                                      piece[v][m][y][n][2 + e]);
                    piece[v][m][y][n][e] = piece[v][m][y][n][2 + e] = 0;
                }
            }
        }
    }
}

/* Up to TOGETHER of n points from p on. */
DEVICE void add_points(const NEAR struct near *near, const struct place *here, u32 p, u32 n,
                       REAL piece[VECTORS][MT][MINE][NT][4])
{
    /* A lane has two of the points; one that is not there is replaced by the first, with a strength of 0. */
    u32 other = DIM > 1 ? T + 4 : T, p0 = p + (T < n ? T : 0), p1 = p + (other < n ? other : 0);
    const NEAR REAL *w0 = near->weights + p0 * APART, *w1 = near->weights + p1 * APART + (DIM > 1 ? 0 : RING);
    REAL z0[NT], z1[NT];
    struct a_part a[VECTORS][MT];
    UNROLL
    for (int i = 0; i < NT; i++) {
        u32 at = AT_Z + in_row(here, 8 * i + COLUMN(G));
        z0[i] = w0[at];
        z1[i] = w1[at];
    }
    EACH_VECTOR(v)
    {
        /* Operand A is x weights times strength, the same for all rows of the pencil. */
        PAIR c0 = near->c[v * BATCH + p0], c1 = near->c[v * BATCH + p1];
        if (T >= n)
            c0.x = c0.y = 0;
        if (other >= n)
            c1.x = c1.y = 0;
        UNROLL
        for (int m = 0; m < MT; m++) {
            UNROLL
            for (int h = 0; h < 2; h++) {
                REAL x0 = DIM > 1 ? w0[8 * m + CELL_OF(h)] : G == near->bin[p0][1],
                     x1 = DIM > 1 ? w1[8 * m + CELL_OF(h)] : G == near->bin[p1][1] + 1;
                set_a(&a[v][m], h, x0 * PART_OF(c0, h));
                set_a(&a[v][m], 2 + h, x1 * PART_OF(c1, h));
            }
        }
    }
    UNROLL
    for (int y = 0; y < MINE; y++) {
        /* The y weight goes to operand B, so that a row costs two products of numbers and no new A. */
        REAL y0 = DIM > 2 ? w0[AT_Y + ROW_OF(y)] : 1, y1 = DIM > 2 ? w1[AT_Y + ROW_OF(y)] : 1;
        UNROLL
        for (int i = 0; i < NT; i++) {
            struct b_part b;
            set_b(&b, 0, z0[i] * y0);
            set_b(&b, 1, z1[i] * y1);
            EACH_VECTOR(v)
            {
                UNROLL
                for (int k = 0; k < PASSES * MT; k++)
                    multiply(k / MT, piece[v][k % MT][y][i], &a[v][k % MT], &b);
            }
        }
    }
}

/* A range of points, GROUP the range, GROUP_Y the vectors. */
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_nufft_spread(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const PAIR, strengths), BUFFER(PAIR, grids))
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const PAIR, strengths) OPEN(PAIR, grids)
    DYNAMIC_LOCAL(room, NEAR_BYTES);
    NEAR struct near *near = (NEAR struct near *)room;
    const PAIR *given = strengths + job.n_points * FIRST_VECTOR;
    PAIR *grid = grids + job.cells * FIRST_VECTOR;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    struct place here = { NO_KEY, { 0, 0 }, 0, 0 };
    u32 added = 0; /* points of the sums, about */
    REAL piece[VECTORS][MT][MINE][NT][4];
    UNROLL
    for (int i = 0; i < VECTORS * MT * MINE * NT * 4; i++)
        piece[i / (MT * MINE * NT * 4)][i / (MINE * NT * 4) % MT][i / (NT * 4) % MINE][i / 4 % NT][i % 4] = 0;
    struct record mine = record_at(records, first, last), next = record_at(records, first + BATCH, last);
    PAIR c[VECTORS];
    fetch_strengths(&job, given, &mine, c);
    take_table(near->table, table);
    for (u64 at = first; at < last; at += BATCH) {
        u32 n = last - at < BATCH ? (u32)(last - at) : BATCH;
        take_points(&job, near, &mine, n, c);
        mine = next; /* and strengths, which lie anywhere, are on their way while these points are added */
        fetch_strengths(&job, given, &mine, c);
        next = record_at(records, at + 2 * BATCH, last);
        for (u32 chunk = 0; chunk < n; chunk += GPU_LANES) {
            u32 left = n - chunk < GPU_LANES ? n - chunk : GPU_LANES,
                own = LANE < left ? near->key[chunk + LANE] : NO_KEY;
            for (u32 i = 0; i < left;) {
                u32 p = chunk + i, key = SHUFFLE(own, i), same = BALLOT(own == key) >> i, many = RUN(same);
                if (key != here.key || IS_MUCH(added)) {
                    int stay = key != here.key && IS_SAME_PENCIL(near, p, &here); /* planes that both reach */
                    if (here.key != NO_KEY)
                        put_planes(&job, &here, stay ? near->bin[p][2] * ZS : 0xffffffffu, piece, grid);
                    added = stay ? added - added * ZS / REACHED : 0;
                    go_to(near, p, &here);
                }
                NOT_UNROLLED
                for (u32 j = 0; j < many; j += TOGETHER)
                    add_points(near, &here, p + j, many - j, piece);
                added += many;
                i += many;
            }
        }
    }
    put_planes(&job, &here, 0xffffffffu, piece, grid);
}
#else
#include "nufft/pencil_get.cl"
#endif
