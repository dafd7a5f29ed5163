/* pencil_get.cl - interpolation on tensor cores (pencil.cl): values, or with SLOPES values and what a point's
 * coordinates change them by.
 *
 * Slopes take a product more for each axis but x, of the same piece: sums with the z weights' slopes, sums with the y
 * weights'; along x sums are multiplied by weights or by slopes.
 */
#pragma once

#if SLOPES
/* --- Weights and slopes of points --- */

/* The coefficients of the weights' derivatives, by the same powers; that of the first power is none. */
DEVICE void take_derivative(NEAR REAL *near, const REAL *table)
{
    for (u32 i = ITEM; i < COEFS * WIDTH; i += GROUP_SIZE) {
        u32 c = i / WIDTH, j = i % WIDTH;
        near[c * PITCH + j] = c ? (REAL)(COEFS - c) * table[(c - 1) * HCY_NUFFT_MAX_WIDTH + j] : 0;
    }
}

/* Where the window of a point lies, by item: pencil, slab, number. */
DEVICE void find_point(const struct gpu_nufft *job, NEAR struct near *near, const struct record *r, u32 p)
{
    u32 x = cell_of(job, 0, place_on_axis(r, 0)) / XB, slab = cell_of(job, Z, place_on_axis(r, Z)) / ZS,
        row = DIM > 2 ? cell_of(job, 1 % DIM, place_on_axis(r, 1 % DIM)) : 0, y = row / YB;
#if BY_ROWS
    near->row[p] = row - y * YB;
#endif
    near->key[p] = (y * job->bins[0] + x) * job->slabs + slab;
    near->bin[p][0] = x;
    near->bin[p][1] = y;
    near->bin[p][2] = slab;
    near->bin[p][3] = number_of(r);
}

/* A point's weights along axis d, or their slopes, in their row of `length` at `at`; pieces have `most` cells. */
DEVICE void weigh_axis(const struct gpu_nufft *job, NEAR struct near *near, const struct record *r, u32 p, int d,
                       int slopes, u32 most, u32 length, u32 at)
{
    u64 place = place_on_axis(r, d);
    REAL t = t_of(job, d, place), row[1][MOST_WEIGHTS];
    weights_of(slopes ? near->derivative : near->table, &t, 1, row);
    /* Even polynomials have odd derivatives, so that signs of the upper half are the others. */
    UNROLL
    for (int j = WIDTH / 2; j < (int)WIDTH; j++)
        row[0][j] = slopes ? -row[0][j] : row[0][j];
    put_weight_row(row[0], cell_of(job, d, place) % most, most, length,
                   (slopes ? near->slopes : near->weights) + p * APART + at);
}

/* A batch of points: an item finds a row of one. */
DEVICE void take_sloping_points(const struct gpu_nufft *job, NEAR struct near *near, const struct record *records,
                                u32 n)
{
    meet();
    for (u32 i = ITEM; i < 2 * DIM * BATCH; i += GROUP_SIZE) {
        u32 p = i % BATCH, d = i / BATCH / 2, slopes = i / BATCH % 2;
        if (p >= n)
            continue;
        struct record r = records[p];
        if (i < BATCH)
            find_point(job, near, &r, p);
        if (d == 0)
            weigh_axis(job, near, &r, p, 0, slopes, XB, 8 * MT, 0);
        else if (d == Z)
            weigh_axis(job, near, &r, p, Z, slopes, ZS, RING, AT_Z);
        else
            weigh_axis(job, near, &r, p, 1 % DIM, slopes, YB, ROOM_Y, AT_Y);
    }
    meet();
}
#endif

/* --- The grid's piece --- */

#if AMPLE
/* Of a warp's planes in near memory, by vectors. */
#define AHEAD_OF(near, v) ((near)->ahead + (ITEM / GPU_LANES * VECTORS + (v)) * ZS * PLANE_ROOM)
#if PRECISION == 2
#define COPY_PAIR COPY_16
#else
#define COPY_PAIR COPY_8
#endif
#define AHEAD_AT(near, v, k) AHEAD_OF(near, v)[k]
#else
#define AHEAD_AT(near, v, k) (near)->c[0] /* is never asked for */
#endif

/* Planes from `from` on, of those that the slab's windows reach: from near memory, if they are `ready`, or the grid. */
DEVICE void get_planes(const struct gpu_nufft *job, const NEAR struct near *near, const struct place *here, u32 from,
                       const int ready, struct a_part piece[VECTORS][MT][MINE][NT], const PAIR *grid)
{
    UNROLL
    for (int i = 0; i < 2 * NT; i++) {
        int n = i / 2, h = i % 2;
        u32 plane = PLANE(here, 8 * n + 4 * h + T);
        /* Planes that the slab before has loaded are where they must be. */
        if (plane < from)
            continue;
        const PAIR *cells = ready ? grid : (const PAIR *)((const u8 *)grid + plane_offset(job, plane));
        UNROLL
        for (int y = 0; y < MINE; y++) {
            UNROLL
            for (int m = 0; m < MT; m++) {
                const PAIR *cell = ready ? cells : cells + cell_of_column(job, here, m, G, y, plane);
                EACH_VECTOR(v)
                {
                    PAIR g;
                    g.x = g.y = 0;
                    if (IS_ROW(y) && IS_VECTOR(job, v))
                        g = ready ? AHEAD_AT(near, v, (plane - from) * PLANE_ROOM + 8 * (MT * y + m) + G)
                                  : cell[v * job->cells];
                    set_a(&piece[v][m][y][n], 2 * h, g.x);
                    set_a(&piece[v][m][y][n], 2 * h + 1, g.y);
                }
            }
        }
    }
}

#if AMPLE
/* The cells of a plane that this item copies: found once for a pencil. */
DEVICE void find_cells(const struct gpu_nufft *job, NEAR struct near *near, const struct place *here)
{
    UNROLL
    for (u32 i = 0; i < LANE_CELLS; i++) {
        u32 k = i * GPU_LANES + LANE, y = k / (8 * MT);
        int is_there = k < PLANE_CELLS && IS_ROW(y);
        near->cell[i * GROUP_SIZE + ITEM] = is_there ? cell_of_column(job, here, 0, k % (8 * MT), y, 0) : 0;
    }
}

/* Begins to copy the planes that the next slab will reach beyond those that are here. */
DEVICE void fetch_planes(const struct gpu_nufft *job, NEAR struct near *near, const struct place *here,
                         const PAIR *grid)
{
    /* What was copied before has been taken by all lanes. */
    COPIES_OVER();
    LANES_BARRIER();
    if (here->base + ZS >= job->n[Z])
        return;
    u32 cell[LANE_CELLS];
    UNROLL
    for (u32 i = 0; i < LANE_CELLS; i++)
        cell[i] = near->cell[i * GROUP_SIZE + ITEM];
    UNROLL
    for (u32 z = 0; z < ZS; z++) {
        const PAIR *cells = (const PAIR *)((const u8 *)grid + plane_offset(job, here->base + RING + z));
        UNROLL
        for (u32 i = 0; i < LANE_CELLS; i++) {
            u32 k = i * GPU_LANES + LANE;
            if (k >= PLANE_CELLS)
                break;
            EACH_VECTOR(v)
                if (IS_VECTOR(job, v))
                    COPY_PAIR(AHEAD_OF(near, v) + z * PLANE_ROOM + k, cells + cell[i] + v * job->cells);
        }
    }
}
#endif

/* To the pencil and slab of point p, with what its window reaches. */
DEVICE void move_to(const struct gpu_nufft *job, NEAR struct near *near, u32 p, struct place *here,
                    struct a_part piece[VECTORS][MT][MINE][NT], const PAIR *grid)
{
    const int stays = IS_SAME_PENCIL(near, p, here);
    const u32 before = here->base, from = stays ? before + RING : 0;
    go_to(near, p, here);
#if AMPLE
    if (stays && here->base == before + ZS) {
        COPIES_OVER();
        LANES_BARRIER();
        get_planes(job, near, here, from, 1, piece, grid);
    } else
#endif
        get_planes(job, near, here, from, 0, piece, grid);
#if AMPLE
    if (!stays)
        find_cells(job, near, here);
    fetch_planes(job, near, here, grid);
#endif
}

/* --- Sums --- */

/* The lanes' sums of two points, of up to 8 of n, added along x as far as PARTIALS says; `own` is the second one in
 * lanes of odd G. */
DEVICE void add_along_x(NEAR struct near *near, int wave, u32 own, u32 n, REAL re0, REAL re1, REAL im0, REAL im1)
{
    /* Halves of what is left change lanes, so that sums of one point are in the end a lane's. */
    u32 odd = G & 1, part = PARTIALS > 1 ? G / 2 : 0;
    NEAR PAIR *to = near->c + ((ITEM / GPU_LANES * WAVES + wave) * PARTIALS + part) * BATCH + own;
    int is_there = 2 * T + odd < n;
    PAIR sum;
    sum.x = (odd ? re1 : re0) + across(odd ? re0 : re1, 4);
    sum.y = (odd ? im1 : im0) + across(odd ? im0 : im1, 4);
#if PARTIALS == 1
    REAL one = (G & 2 ? sum.y : sum.x) + across(G & 2 ? sum.x : sum.y, 8);
    one += across(one, 16);
    if (G < 4 && is_there)
        ((NEAR REAL *)to)[G / 2] = one;
#else
    if (is_there)
        *to = sum;
#endif
}

#if BY_ROWS
/* Of up to GPU_LANES points from `chunk` on, which come in runs of a key (this lane's: own), those of a run by their
 * rows: the point that this lane's place has. */
DEVICE u32 sort_by_rows(const NEAR struct near *near, u32 chunk, u32 left, u32 own)
{
    u32 before = SHUFFLE(own, LANE ? LANE - 1 : 0), starts = BALLOT(LANE && own != before),
        run = POPCOUNT(starts & ((2u << LANE) - 1)), row = LANE < left ? near->row[chunk + LANE] : 0,
        at = run << 16 | row << 8 | LANE;
    /* K. Batcher's bitonic sort. */
    UNROLL
    for (u32 length = 2; length <= GPU_LANES; length *= 2) {
        UNROLL
        for (u32 apart = length / 2; apart; apart /= 2) {
            u32 other = SHUFFLE_XOR(at, apart), rises = !(LANE & length), lower = !(LANE & apart);
            at = (rises == lower) == (at < other) ? at : other;
        }
    }
    return chunk + (at & 255) < BATCH ? chunk + (at & 255) : BATCH - 1;
}
/* Of those from place p of the chunk on. */
#define POINT_OF(p, k) SHUFFLE(order, (p) + (k))
#define IS_REACHED(y) (ROW_OF(y) >= first_row && ROW_OF(y) < last_row + WIDTH)
/* Rows' weights come first, so that no product waits for them behind its branch. */
#define EARLY(row, from) \
    REAL row[MINE];      \
    UNROLL               \
    for (int y = 0; y < MINE; y++) \
        row[y] = (from)[AT_Y + ROW_OF(y)];
#define WEIGHT_Y(row, from, y) row[y]
#else
#define EARLY(row, from)
#define WEIGHT_Y(row, from, y) (DIM > 2 ? (from)[AT_Y + ROW_OF(y)] : 1)
#define POINT_OF(p, k) ((p) + (k))
#define IS_REACHED(y) 1
#endif

#if SLOPES
/* Values (0), and what y (1, in three dimensions) and z (the last) change them by, before the weights along x. */
#define SUMS DIM
#define SUM_OF(wave) ((wave) == 0 || (wave) == DIM ? 0 : (wave) == 1 ? SUMS - 1 : 1)

/* This warp's values and slopes for up to 8 of n points from p on.  Slopes count axes from the slowest. */
DEVICE void sum_points(NEAR struct near *near, const struct place *here, u32 order, u32 p, u32 n,
                       struct a_part piece[1][MT][MINE][NT])
{
    const u32 mine = POINT_OF(p, G) * APART;
    const NEAR REAL *w = near->weights + mine, *s = near->slopes + mine;
    /* Where points are missing their neighbours take part, whose sums are not written. */
    u32 p0 = POINT_OF(p, 2 * T), p1 = POINT_OF(p, 2 * T + 1);
#if BY_ROWS
    u32 first_row = near->row[POINT_OF(p, 0)], last_row = near->row[POINT_OF(p, (n < 8 ? n : 8) - 1)];
#endif
    (void)order;
    REAL sums[SUMS][MT][4];
    EARLY(row, w)
    EARLY(of_row, s)
    UNROLL
    for (int i = 0; i < SUMS * MT * 4; i++)
        sums[i / (MT * 4)][i / 4 % MT][i % 4] = 0;
    UNROLL
    for (int i = 0; i < NT; i++) {
        u32 at0 = AT_Z + in_row(here, 8 * i + T), at1 = AT_Z + in_row(here, 8 * i + T + 4);
        REAL z0 = w[at0], z1 = w[at1], of_z0 = s[at0], of_z1 = s[at1];
        UNROLL
        for (int y = 0; y < MINE; y++) {
            if (!IS_REACHED(y))
                continue;
            REAL wy = WEIGHT_Y(row, w, y), of_y = WEIGHT_Y(of_row, s, y);
            UNROLL
            for (int k = 0; k < SUMS; k++) {
                struct b_part b;
                REAL along_y = DIM > 2 && k == 1 ? of_y : wy;
                set_b(&b, 0, (k == SUMS - 1 ? of_z0 : z0) * along_y);
                set_b(&b, 1, (k == SUMS - 1 ? of_z1 : z1) * along_y);
                UNROLL
                for (int m = 0; m < MT; m++)
                    multiply(0, sums[k][m], &piece[0][m][y][i], &b);
            }
        }
    }
    UNROLL
    for (int wave = 0; wave < WAVES; wave++) {
        const NEAR REAL *x = wave == DIM ? near->slopes : near->weights;
        REAL re0 = 0, re1 = 0, im0 = 0, im1 = 0;
        UNROLL
        for (int m = 0; m < MT; m++) {
            const REAL *sum = sums[SUM_OF(wave)][m];
            REAL x0 = x[p0 * APART + 8 * m + G], x1 = x[p1 * APART + 8 * m + G];
            re0 += sum[0] * x0;
            re1 += sum[1] * x1;
            im0 += sum[2] * x0;
            im1 += sum[3] * x1;
        }
        add_along_x(near, wave, G % 2 ? p1 : p0, n, re0, re1, im0, im1);
    }
}
#else
/* This warp's sums for up to 8 of n points from p on. */
DEVICE void sum_points(NEAR struct near *near, const struct place *here, u32 order, u32 p, u32 n,
                       struct a_part piece[VECTORS][MT][MINE][NT])
{
    const NEAR REAL *w = near->weights + POINT_OF(p, G) * APART;
    /* Where points are missing their neighbours take part, whose sums are not written. */
    u32 p0 = POINT_OF(p, 2 * T), p1 = POINT_OF(p, 2 * T + 1);
#if BY_ROWS
    u32 first_row = near->row[POINT_OF(p, 0)], last_row = near->row[POINT_OF(p, (n < 8 ? n : 8) - 1)];
#endif
    (void)order;
    REAL sums[HALVES][CHAINS][VECTORS][MT][4];
    EARLY(row, w)
    UNROLL
    for (int i = 0; i < HALVES * CHAINS * VECTORS * MT * 4; i++)
        sums[i / (CHAINS * VECTORS * MT * 4)][i / (VECTORS * MT * 4) % CHAINS][i / (MT * 4) % VECTORS][i / 4 % MT]
            [i % 4] = 0;
    UNROLL
    for (int i = 0; i < HALVES * NT; i++) {
        u32 h = i / NT, at = AT_Z + h * RING, plane = i % NT * 8;
        /* Operand B is z weights times y weight; A, the piece, stays in registers. */
        REAL z0 = w[at + in_row(here, plane + T)], z1 = w[at + in_row(here, plane + T + 4)];
        UNROLL
        for (int y = 0; y < MINE; y++) {
            if (!IS_REACHED(y))
                continue;
            REAL wy = WEIGHT_Y(row, w, y);
            struct b_part b;
            set_b(&b, 0, z0 * wy);
            set_b(&b, 1, z1 * wy);
            EACH_VECTOR(v)
            {
                UNROLL
                for (int k = 0; k < PASSES * MT; k++)
                    multiply(k / MT, sums[h][CHAIN_OF(k, y)][v][k % MT], &piece[v][k % MT][y][i % NT], &b);
            }
        }
    }
    UNROLL
    for (int k = 1; k < CHAINS; k++) {
        UNROLL
        for (int i = 0; i < HALVES * VECTORS * MT * 4; i++) {
            int h = i / (VECTORS * MT * 4), v = i / (MT * 4) % VECTORS, m = i / 4 % MT;
            sums[h][0][v][m][i % 4] += sums[h][k][v][m][i % 4];
        }
    }
    EACH_VECTOR(v)
    {
        REAL re0 = 0, re1 = 0, im0 = 0, im1 = 0;
        UNROLL
        for (int i = 0; i < HALVES * MT; i++) {
            /* What is left are sums for each column, to be weighed along x and added. */
            const REAL *sum = sums[i / MT][0][v][i % MT];
            REAL x0 = DIM > 1 ? near->weights[p0 * APART + 8 * i + G] : G == near->bin[p0][1] + i,
                 x1 = DIM > 1 ? near->weights[p1 * APART + 8 * i + G] : G == near->bin[p1][1] + i;
            re0 += sum[0] * x0;
            re1 += sum[1] * x1;
            im0 += sum[2] * x0;
            im1 += sum[3] * x1;
        }
        add_along_x(near, v, G % 2 ? p1 : p0, n, re0, re1, im0, im1);
    }
}
#endif

/* Of all parts and warps, for this item's point. */
DEVICE PAIR sum_over_warps(const NEAR struct near *near, u32 wave)
{
    PAIR sum = near->c[wave * PARTIALS * BATCH + ITEM];
    UNROLL
    for (int i = 1; i < WARPS * PARTIALS; i++) {
        PAIR more = near->c[((i / PARTIALS * WAVES + wave) * PARTIALS + i % PARTIALS) * BATCH + ITEM];
        sum.x += more.x;
        sum.y += more.y;
    }
    return sum;
}

/* What is complete of this item's point, to the points'. */
DEVICE void put_sums(const struct gpu_nufft *job, const NEAR struct near *near, PAIR *c)
{
    const u64 number = near->bin[ITEM][3];
#if SLOPES
    UNROLL
    for (int wave = 0; wave < WAVES; wave++) {
        /* t falls by 2 from a cell to the next, and an axis's cells are 2 pi. */
        REAL rate = wave ? (REAL)job->n[DIM - wave] * (REAL)-0.31830988618379067 : 1;
        PAIR sum = sum_over_warps(near, wave);
        sum.x *= rate;
        sum.y *= rate;
        c[WAVES * number + wave] = sum;
    }
#else
    EACH_VECTOR(v)
        if (IS_VECTOR(job, v))
            c[v * job->n_points + number] = sum_over_warps(near, v);
#endif
}

#ifndef CARRIES
#define CARRIES 0
#endif
/* How many of `left` points, of which lanes have the keys, go before others: what of the last run does not fill a
 * product waits for the rest of it.  With CARRIES it waits for the next batch, too, which has its weights again. */
DEVICE u32 whole_products(u32 own, u32 left)
{
    u32 last = SHUFFLE(own, left - 1), many = POPCOUNT(BALLOT(own == last));
    return many < left ? left - many % 8 : left;
}

#if SLOPES
#define NAME gpu_nufft_slopes
#define NUMBERS WAVES /* of a point */
#else
#define NAME gpu_nufft_interp
#define NUMBERS 1
#endif
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void NAME(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
          BUFFER(const PAIR, grids), BUFFER(PAIR, strengths))
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const PAIR, grids) OPEN(PAIR, strengths)
    DYNAMIC_LOCAL(room, NEAR_BYTES);
    NEAR struct near *near = (NEAR struct near *)room;
    PAIR *c = strengths + NUMBERS * job.n_points * FIRST_VECTOR;
    const PAIR *grid = grids + job.cells * FIRST_VECTOR;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    struct place here = { NO_KEY, { 0, 0 }, 0, 0 };
    struct a_part piece[VECTORS][MT][MINE][NT];
    take_table(near->table, table);
#if SLOPES
    take_derivative(near->derivative, table);
#else
    struct record mine = record_at(records, first, last);
#endif
    u32 n;
    for (u64 at = first; at < last; at += n) {
        n = last - at < BATCH ? (u32)(last - at) : BATCH;
#if SLOPES
        take_sloping_points(&job, near, records + at, n);
#else
        take_points(&job, near, &mine, n, NULL_PTR);
#endif
        if (CARRIES && at + n < last)
            n -= GPU_LANES - whole_products(near->key[n - GPU_LANES + LANE], GPU_LANES);
#if PRECISION == 1 && !SLOPES
        mine = record_at(records, at + n, last);
#endif
#if PRECISION == 2 && !SLOPES /* a piece of doubles leaves the next points no registers yet, but a cache has room */
        if (at + n + ITEM < last)
            FETCH(records + at + n + ITEM);
#endif
        for (u32 chunk = 0, left; chunk < n; chunk += left) {
            left = n - chunk < GPU_LANES ? n - chunk : GPU_LANES;
            u32 own = LANE < left ? near->key[chunk + LANE] : NO_KEY, order = 0;
            if (chunk + left < n)
                left = whole_products(own, left);
            own = LANE < left ? own : NO_KEY;
#if BY_ROWS
            order = sort_by_rows(near, chunk, left, own);
#endif
            for (u32 i = 0, many; i < left; i += many) {
                u32 key = SHUFFLE(own, i), same = BALLOT(own == key) >> i;
                many = RUN(same);
                if (key != here.key)
                    move_to(&job, near, chunk + i, &here, piece, grid);
                NOT_UNROLLED
                for (u32 j = 0; j < many; j += 8)
                    sum_points(near, &here, order, (BY_ROWS ? i : chunk + i) + j, many - j, piece);
            }
        }
        meet();
        if (ITEM < n)
            put_sums(&job, near, c);
#if PRECISION == 2 && !SLOPES
        mine = record_at(records, at + n, last);
#endif
    }
#if AMPLE
    COPIES_OVER();
#endif
}
