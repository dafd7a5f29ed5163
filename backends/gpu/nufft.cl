/* nufft.cl - between sorted points and the fine grid, both ways.
 *
 * A group walks along a run of sorted points and holds the piece of the grid that their windows reach in REGISTERS:
 * WX x WY columns, which the pencil's points share, of RING planes, which those of a slab share.  When the points
 * come to another slab, only the planes that are left behind are added to the grid (spreading) or replaced
 * (interpolation).  A plane stands at its number modulo RING, so that nothing in a register ever moves.  An item has
 * SLOTS columns, or parts of them, for the whole kernel.
 *
 * Why so: a point in w^3 cells costs w^3 reads and writes of memory near or far, by atomics, where points are taken
 * one by one; with the cells in registers it costs as many multiplications and additions and nothing else: a term of
 * a plane is one FMA.  The price are the cells of the piece that a window does not reach, whose weights are 0, and the
 * planes that come and go; how large pencils and slabs are balances the two (gpu_nufft.c).  No item waits for
 * another while points are added, and no two add to the same cell.  Ranges are cut by number of points alone: dense
 * clusters make as many groups as anything else, and sums of floats stay short.
 *
 * Points are taken in batches: each item finds the weights of one, ready for use: those of x times the strength,
 * shifted to the pencil's columns, those of the ring turned to their planes, zeros elsewhere.
 */
struct record {
    REAL t[DIM];
    u32 cell[DIM], number; /* the first cell of the window on each axis */
};

#define WX (DIM > 1 ? XB + WIDTH - 1 : 1)
#define WY (DIM > 2 ? YB + WIDTH - 1 : 1)
#define RING (ZS + WIDTH - 1)
#define PART ((RING + PARTS - 1) / PARTS) /* planes of a slot */
#define SLOTS ((WX * WY * PARTS + GROUP_SIZE - 1) / GROUP_SIZE)
#define COEFS HCY_NUFFT_COEFS(WIDTH)
/* Rows of points in near memory: odd, so that items do not meet in a bank. */
#define PITCH_X (2 * (WX | 1))
#define PITCH_Y (WY | 1)
#define PITCH_Z ((PARTS * PART) | 1)
#if GROUP_SIZE == 1
#define UNROLLED
#else
#define UNROLLED UNROLL
#endif
#define Z (DIM - 1) /* the ring's axis */
#if PRECISION == 2
#define ATOMIC_ADD_PAIR ATOMIC_ADD_PAIR_F64
#else
#define ATOMIC_ADD_PAIR ATOMIC_ADD_PAIR_F32
#endif

/* Near memory of a group. */
struct near {
    REAL table[COEFS * WIDTH];
    REAL x[BATCH * PITCH_X], y[BATCH * PITCH_Y], z[BATCH * PITCH_Z];
    u32 pencil[BATCH][2], slab[BATCH]; /* of points */
#if !SPREADS
    REAL sums[BATCH * (GROUP_SIZE + 1) * 2];
    u32 number[BATCH];
#endif
};

/* Where the group is, and its piece of the grid. */
struct piece {
    u32 pencil[2], slab;
    u32 base, turn;    /* its first plane, and where that stands in the ring */
    u64 column[SLOTS]; /* in the grid; of a slot */
    REAL re[SLOTS][PART], im[SLOTS][PART];
};

/* Slot s of this item: its column and the first plane of its part. */
#define SLOT_OF(s) ((s) * GROUP_SIZE + ITEM)
#define COLUMN_X(s) (SLOT_OF(s) / PARTS % WX)
#define COLUMN_Y(s) (SLOT_OF(s) / PARTS / WX % WY)
#define FIRST_OF(s) (SLOT_OF(s) % PARTS * PART)
#define IS_SLOT(s) ((SLOTS * GROUP_SIZE == WX * WY * PARTS) | (SLOT_OF(s) < WX * WY * PARTS))
#define IS_PLACE(q) ((PARTS * PART == RING) | ((q) < RING)) /* of the ring */

DEVICE void weights_of(const NEAR REAL *table, REAL t, REAL *k)
{
    UNROLLED
    for (int j = 0; j < WIDTH; j++)
        k[j] = table[j];
    UNROLLED
    for (int c = 1; c < (int)COEFS; c++) {
        UNROLLED
        for (int j = 0; j < WIDTH; j++)
            k[j] = k[j] * t + table[c * WIDTH + j];
    }
}

/* The weights of one point, c its strength (interpolation: 1). */
DEVICE void take_point(NEAR struct near *near, u32 p, const struct record *r, REAL re, REAL im)
{
    REAL k[WIDTH];
    NEAR REAL *x = near->x + p * PITCH_X, *z = near->z + p * PITCH_Z;
#if DIM > 1
    u32 dx = r->cell[0] % XB;
    weights_of(near->table, r->t[0], k);
    for (int j = 0; j < XB - 1; j++) {
        u32 to = j < (int)dx ? j : j + WIDTH;
        x[2 * to] = x[2 * to + 1] = 0;
    }
    UNROLLED
    for (int j = 0; j < WIDTH; j++) {
        x[2 * (dx + j)] = k[j] * re;
        x[2 * (dx + j) + 1] = k[j] * im;
    }
#else
    x[0] = re;
    x[1] = im;
#endif
#if DIM > 2
    NEAR REAL *y = near->y + p * PITCH_Y;
    u32 dy = r->cell[1] % YB;
    weights_of(near->table, r->t[1], k);
    for (int j = 0; j < YB - 1; j++)
        y[j < (int)dy ? j : j + WIDTH] = 0;
    UNROLLED
    for (int j = 0; j < WIDTH; j++)
        y[dy + j] = k[j];
#endif
    weights_of(near->table, r->t[Z], k);
    u32 at = r->cell[Z] % RING;
    UNROLLED
    for (int j = 0; j < RING; j++) {
        z[at] = j < WIDTH ? k[j < WIDTH ? j : 0] : 0;
        at = at + 1 == RING ? 0 : at + 1;
    }
    for (int j = RING; j < PARTS * PART; j++)
        z[j] = 0;
    near->pencil[p][0] = DIM > 1 ? r->cell[0] / XB : 0;
    near->pencil[p][1] = DIM > 2 ? r->cell[1 % DIM] / YB : 0;
    near->slab[p] = r->cell[Z] / ZS;
}

DEVICE void take_table(NEAR struct near *near, const REAL *table)
{
    for (u32 i = ITEM; i < COEFS * WIDTH; i += GROUP_SIZE)
        near->table[i] = table[i / WIDTH * HCY_NUFFT_MAX_WIDTH + i % WIDTH];
}

/* Cells of an axis from its end on are those from its start. */
DEVICE u32 wrapped(u32 i, u32 n)
{
    while (i >= n)
        i -= n;
    return i;
}

/* To the pencil and slab of a point. */
DEVICE void go_to(const struct gpu_nufft *job, const NEAR struct near *near, u32 p, struct piece *here)
{
    here->pencil[0] = near->pencil[p][0];
    here->pencil[1] = near->pencil[p][1];
    here->slab = near->slab[p];
    here->base = here->slab * ZS;
    here->turn = here->base % RING;
    UNROLLED
    for (int s = 0; s < SLOTS; s++) {
        u32 x = DIM > 1 ? wrapped(here->pencil[0] * XB + COLUMN_X(s), job->n[0]) : 0;
        u32 y = DIM > 2 ? wrapped(here->pencil[1] * YB + COLUMN_Y(s), job->n[1]) : 0;
        here->column[s] = DIM > 2 ? (u64)y * job->n[0] + x : x;
    }
}

/* The plane at place q of the ring. */
#define PLANE(here, q) ((here)->base + (q) - (here)->turn + ((q) < (here)->turn ? RING : 0))
DEVICE u64 stride_of(const struct gpu_nufft *job)
{
    return DIM == 1 ? 1 : DIM == 2 ? job->n[0] : (u64)job->n[0] * job->n[1];
}

#define IS_SAME_PENCIL(near, p, here) \
    ((near)->pencil[p][0] == (here)->pencil[0] && (near)->pencil[p][1] == (here)->pencil[1])

#if SPREADS
/* FIXED: pieces are added in 64-bit fixed point, whose sums do not depend on their order (and within a piece points
 * have one); the scale is the power of 2 with which no sum can overflow: the largest strength at all points that reach
 * a cell.  The grid is of integers then, and made floating point in the end. */
#if FIXED
#define CELL u64
struct fixed {
    u32 exponent; /* of the largest strength of a vector, as in a double */
};

/* The exponent of the scale, as in a double.  0x7ff: a strength is no number, or infinite. */
DEVICE u64 scale_of(const struct gpu_nufft *job, const struct gpu_nufft_head *head, u32 exponent)
{
    u64 terms = (u64)head->most * job->reach, bits = 1, scale;
    terms = terms < job->n_points ? terms : job->n_points;
    while (terms >> bits)
        bits++;
    /* strengths < 2^(exponent - 1022), weights < 2, sums < 2^62 */
    scale = 2106 - exponent - bits;
    return exponent == 0x7ff ? 0x7ff : scale < 2045 ? scale : 2045;
}
#define IN_FIXED(x) ((u64)(i64)rint((double)(x) * scale))
#define PUT(cell, a, b) (ATOMIC_ADD64((cell), IN_FIXED(a)), ATOMIC_ADD64((cell) + 1, IN_FIXED(b)))

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
    double unit = AS_DOUBLE((scale == 0x7ff ? (0x7ffull << 1 | 1) << 51 : (2046 - scale) << 52));
    for (u64 i = ITEM_OF_ALL; i < 2 * job.cells; i += (u64)GROUPS * GROUP_SIZE)
        to[first + i] = (REAL)((double)(i64)from[first + i] * unit);
}
#else
#define CELL REAL
#define PUT ATOMIC_ADD_PAIR
#endif

/* Planes before `limit` to the grid. */
DEVICE void put_planes(const struct gpu_nufft *job, struct piece *here, u32 limit, double scale, CELL *grid)
{
    u64 stride = stride_of(job);
    UNROLLED
    for (int s = 0; s < SLOTS; s++) {
        UNROLLED
        for (int r = 0; r < PART; r++) {
            u32 q = FIRST_OF(s) + r, plane = PLANE(here, q);
            if (plane >= limit || !IS_SLOT(s) || !IS_PLACE(q))
                continue;
            CELL *cell = grid + 2 * (here->column[s] + wrapped(plane, job->n[Z]) * stride);
            PUT(cell, here->re[s][r], here->im[s][r]);
            here->re[s][r] = here->im[s][r] = 0;
        }
    }
}

/* A range of points, GROUP the range, GROUP_Y the vector. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_spread(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const REAL, strengths), BUFFER(CELL, grids)
#if FIXED
                      , BUFFER(const struct gpu_nufft_head, head), BUFFER(const struct fixed, fixed)
#endif
)
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const REAL, strengths) OPEN(CELL, grids)
    double scale = 1;
#if FIXED
    OPEN(const struct gpu_nufft_head, head) OPEN(const struct fixed, fixed)
    scale = AS_DOUBLE(scale_of(&job, head, fixed[GROUP_Y].exponent) << 52);
#endif
    LOCAL struct near near[1];
    const REAL *c = strengths + 2 * job.n_points * GROUP_Y;
    CELL *grid = grids + 2 * job.cells * GROUP_Y;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    struct piece here;
    here.slab = 0xffffffffu;
    here.base = here.turn = 0;
    UNROLLED
    for (int s = 0; s < SLOTS; s++) {
        UNROLLED
        for (int r = 0; r < PART; r++)
            here.re[s][r] = here.im[s][r] = 0;
    }
    take_table(near, table);
    for (u64 at = first; at < last; at += BATCH) {
        u32 n = last - at < BATCH ? (u32)(last - at) : BATCH;
        BARRIER();
        for (u32 p = ITEM; p < n; p += GROUP_SIZE) {
            struct record r = records[at + p];
            take_point(near, p, &r, c[2 * (u64)r.number], c[2 * (u64)r.number + 1]);
        }
        BARRIER();
        for (u32 p = 0; p < n; p++) {
            if (near->slab[p] != here.slab || !IS_SAME_PENCIL(near, p, &here)) {
                if (here.slab != 0xffffffffu)
                    put_planes(&job, &here,
                               IS_SAME_PENCIL(near, p, &here) ? near->slab[p] * ZS : 0xffffffffu, scale, grid);
                go_to(&job, near, p, &here);
            }
            UNROLLED
            for (int s = 0; s < SLOTS; s++) {
                REAL y = DIM > 2 ? near->y[p * PITCH_Y + COLUMN_Y(s)] : 1;
                const NEAR REAL *x = near->x + p * PITCH_X + 2 * COLUMN_X(s);
                REAL a = x[0] * y, b = x[1] * y;
                const NEAR REAL *z = near->z + p * PITCH_Z + FIRST_OF(s);
                UNROLLED
                for (int r = 0; r < PART; r++) {
                    here.re[s][r] += a * z[r];
                    here.im[s][r] += b * z[r];
                }
            }
        }
    }
    put_planes(&job, &here, 0xffffffffu, scale, grid);
}
#else
/* Planes from `from` on, of those that the slab's windows reach. */
DEVICE void get_planes(const struct gpu_nufft *job, struct piece *here, u32 from, const REAL *grid)
{
    u64 stride = stride_of(job);
    UNROLLED
    for (int s = 0; s < SLOTS; s++) {
        UNROLLED
        for (int r = 0; r < PART; r++) {
            u32 q = FIRST_OF(s) + r, plane = PLANE(here, q);
            if (plane < from || !IS_PLACE(q))
                continue;
            const REAL *cell = grid + 2 * (here->column[s] + wrapped(plane, job->n[Z]) * stride);
            here->re[s][r] = IS_SLOT(s) ? cell[0] : 0;
            here->im[s][r] = IS_SLOT(s) ? cell[1] : 0;
        }
    }
}

/* The items' sums of each point to its strength. */
DEVICE void put_strengths(NEAR struct near *near, u32 n, REAL *c)
{
    BARRIER();
    for (u32 p = ITEM; p < n; p += GROUP_SIZE) {
        const NEAR REAL *sums = near->sums + p * (GROUP_SIZE + 1) * 2;
        REAL re = 0, im = 0;
        for (u32 i = 0; i < GROUP_SIZE; i++) {
            re += sums[2 * i];
            im += sums[2 * i + 1];
        }
        c[2 * (u64)near->number[p]] = re;
        c[2 * (u64)near->number[p] + 1] = im;
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_interp(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const REAL, grids), BUFFER(REAL, strengths))
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const REAL, grids) OPEN(REAL, strengths)
    LOCAL struct near near[1];
    REAL *c = strengths + 2 * job.n_points * GROUP_Y;
    const REAL *grid = grids + 2 * job.cells * GROUP_Y;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    struct piece here;
    here.slab = 0xffffffffu;
    UNROLLED
    for (int s = 0; s < SLOTS; s++) {
        UNROLLED
        for (int r = 0; r < PART; r++)
            here.re[s][r] = here.im[s][r] = 0;
    }
    take_table(near, table);
    for (u64 at = first; at < last; at += BATCH) {
        u32 n = last - at < BATCH ? (u32)(last - at) : BATCH;
        BARRIER();
        for (u32 p = ITEM; p < n; p += GROUP_SIZE) {
            struct record r = records[at + p];
            take_point(near, p, &r, 1, 0);
            near->number[p] = r.number;
        }
        BARRIER();
        for (u32 p = 0; p < n; p++) {
            if (near->slab[p] != here.slab || !IS_SAME_PENCIL(near, p, &here)) {
                u32 from = here.slab != 0xffffffffu && IS_SAME_PENCIL(near, p, &here) ? here.base + RING : 0;
                go_to(&job, near, p, &here);
                get_planes(&job, &here, from, grid);
            }
            REAL re = 0, im = 0;
            UNROLLED
            for (int s = 0; s < SLOTS; s++) {
                const NEAR REAL *z = near->z + p * PITCH_Z + FIRST_OF(s);
                REAL a = 0, b = 0, xy = near->x[p * PITCH_X + 2 * COLUMN_X(s)];
                if (DIM > 2)
                    xy *= near->y[p * PITCH_Y + COLUMN_Y(s)];
                UNROLLED
                for (int r = 0; r < PART; r++) {
                    a += here.re[s][r] * z[r];
                    b += here.im[s][r] * z[r];
                }
                re += IS_SLOT(s) ? a * xy : 0;
                im += IS_SLOT(s) ? b * xy : 0;
            }
            near->sums[p * (GROUP_SIZE + 1) * 2 + 2 * ITEM] = re;
            near->sums[p * (GROUP_SIZE + 1) * 2 + 2 * ITEM + 1] = im;
        }
        put_strengths(near, n, c);
    }
}
#endif
