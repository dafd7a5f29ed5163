/* matrix.cl - products of matrices (matrix_format.h): a group makes a tile of c, of which each item has SIDE x SIDE
 * sums in registers.
 *
 * DEPTH numbers of k at a time stand in near memory as doubles, so that each is converted once; those of the next step
 * are under way meanwhile.  An item's rows and columns are pairs, half a tile apart: lanes beside each other then read
 * pairs beside each other, and no two of the same bank.  A complex matrix is a real one of twice its rows and depth:
 * rows (Re a, -Im a) and (Im a, Re a) on columns (Re b, Im b) below one another.
 *
 * REAL is float or double, PARTS 2 of complex numbers; a tile is TILE_ROWS x TILE_COLUMNS.  A_BY_ROWS: numbers of a
 * that stand side by side are of one k, as those of a transposed matrix.
 */
#pragma once
#include "dialect.h"
#include "matrix_format.h"

#define SIDE     4
#define PAIRS    (SIDE / 2)
#if GROUP_SIZE == 1
#define DEPTH    2 /* an item that is alone has near memory anyway: a short text */
#else
#define DEPTH    16
#endif
#define ACROSS   (TILE_COLUMNS / SIDE) /* items along a row of the tile */
#define DOWN     (TILE_ROWS / SIDE)
#define LANES_X  (ACROSS < 8 ? ACROSS : 8) /* lanes in step are 8 x 4 items */
#define LANES_Y  (DOWN < 4 ? DOWN : 4)
#define PITCH_A  (TILE_ROWS / 2 + 1) /* in pairs; one more, as consecutive items may write consecutive k */
#define PITCH_B  (TILE_COLUMNS / 2)
#define OF_A     (TILE_ROWS * DEPTH / GROUP_SIZE) /* numbers that an item brings */
#define OF_B     (TILE_COLUMNS * DEPTH / GROUP_SIZE)

struct ALIGNED pair {
    double x[2];
};

/* The real matrices: sizes, and where a tile of c begins. */
struct product {
    u64 rows, depth, row, column;
    const REAL *a, *b;
};

DEVICE double number_of_a(const hcy_matrix_job *job, const struct product *p, u64 row, u64 k)
{
    if (row >= p->rows || k >= p->depth)
        return 0;
    const u32 i = row % PARTS, q = k % PARTS;
    const double x = p->a[((i64)(row / PARTS) * job->a_steps[1] + (i64)(k / PARTS) * job->a_steps[2]) * PARTS + (i ^ q)];
    return i != q && (i < q) != ((job->flags & HCY_MATRIX_CONJUGATE) != 0) ? -x : x;
}

DEVICE double number_of_b(const hcy_matrix_job *job, const struct product *p, u64 k, u64 column)
{
    if (column >= job->columns || k >= p->depth)
        return 0;
    return p->b[((i64)(k / PARTS) * job->b_steps[1] + (i64)column * job->b_steps[2]) * PARTS + k % PARTS];
}

/* Numbers of the tiles that an item brings, and where they stand in these. */
#if A_BY_ROWS
#define ROW_OF(e) ((e) % TILE_ROWS)
#define K_OF(e)   ((e) / TILE_ROWS)
#else
#define ROW_OF(e) ((e) / DEPTH)
#define K_OF(e)   ((e) % DEPTH)
#endif
DEVICE void bring(double *of_a, double *of_b, const hcy_matrix_job *job, const struct product *p, u64 k)
{
    UNROLL
    for (u32 i = 0; i < OF_A; i++) {
        const u32 e = ITEM + i * GROUP_SIZE;
        of_a[i] = number_of_a(job, p, p->row + ROW_OF(e), k + K_OF(e));
    }
    UNROLL
    for (u32 i = 0; i < OF_B; i++) {
        const u32 e = ITEM + i * GROUP_SIZE;
        of_b[i] = number_of_b(job, p, k + e / TILE_COLUMNS, p->column + e % TILE_COLUMNS);
    }
}

DEVICE void put_down(struct pair *near_a, struct pair *near_b, const double *of_a, const double *of_b)
{
    UNROLL
    for (u32 i = 0; i < OF_A; i++) {
        const u32 e = ITEM + i * GROUP_SIZE;
        near_a[K_OF(e) * PITCH_A + ROW_OF(e) / 2].x[ROW_OF(e) % 2] = of_a[i];
    }
    UNROLL
    for (u32 i = 0; i < OF_B; i++) {
        const u32 e = ITEM + i * GROUP_SIZE;
        near_b[e / TILE_COLUMNS * PITCH_B + e % TILE_COLUMNS / 2].x[e % 2] = of_b[i];
    }
}

/* Row i of an item's sums in the tile, or a column. */
DEVICE u32 place_of(u32 i, u32 item, u32 items)
{
    return i / 2 * (2 * items) + 2 * item + i % 2;
}

DEVICE void add_step(double sums[SIDE][SIDE], const struct pair *near_a, const struct pair *near_b, u32 x, u32 y)
{
    UNROLL
    for (u32 k = 0; k < DEPTH; k++) {
        struct pair a[PAIRS], b[PAIRS];
        UNROLL
        for (u32 i = 0; i < PAIRS; i++) {
            a[i] = near_a[k * PITCH_A + i * DOWN + y];
            b[i] = near_b[k * PITCH_B + i * ACROSS + x];
        }
        UNROLL
        for (u32 i = 0; i < SIDE; i++) {
            UNROLL
            for (u32 j = 0; j < SIDE; j++)
                sums[i][j] = fma(a[i / 2].x[i % 2], b[j / 2].x[j % 2], sums[i][j]);
        }
    }
}

DEVICE void move_sums(double sums[SIDE][SIDE], REAL *c, const hcy_matrix_job *job, const struct product *p, u32 x, u32 y,
                      int out)
{
    UNROLL
    for (u32 i = 0; i < SIDE; i++) {
        const u64 row = p->row + place_of(i, y, DOWN);
        UNROLL
        for (u32 j = 0; j < SIDE; j++) {
            const u64 column = p->column + place_of(j, x, ACROSS);
            if (row >= p->rows || column >= job->columns)
                continue;
            REAL *at = c + ((i64)(row / PARTS) * job->c_steps[1] + (i64)column * job->c_steps[2]) * PARTS + row % PARTS;
            if (out)
                *at = (REAL)sums[i][j];
            else
                sums[i][j] = *at;
        }
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_matrix(hcy_matrix_job job, u32 tiles_x, u32 tiles_y, u32 tiles, BUFFER(const REAL, a), BUFFER(const REAL, b),
                BUFFER(REAL, c))
{
    OPEN(const REAL, a) OPEN(const REAL, b) OPEN(REAL, c)
    LOCAL_ROOM(struct pair, near_a, DEPTH * PITCH_A);
    LOCAL_ROOM(struct pair, near_b, DEPTH * PITCH_B);
    /* Lanes in step are a rectangle of the tile. */
    const u32 lane = ITEM % (LANES_X * LANES_Y), rest = ITEM / (LANES_X * LANES_Y);
    const u32 x = rest % (ACROSS / LANES_X) * LANES_X + lane % LANES_X,
              y = rest / (ACROSS / LANES_X) * LANES_Y + lane / LANES_X;
    for (u32 tile = GROUP; tile < tiles; tile += GROUPS) {
        const u64 slice = tile / tiles_x / tiles_y;
        struct product p;
        double sums[SIDE][SIDE], of_a[OF_A], of_b[OF_B];
        p.rows = job.rows * PARTS;
        p.depth = job.depth * PARTS;
        p.row = (u64)(tile / tiles_x % tiles_y) * TILE_ROWS;
        p.column = (u64)(tile % tiles_x) * TILE_COLUMNS;
        p.a = a + (job.a + (i64)slice * job.a_steps[0]) * PARTS;
        p.b = b + (job.b + (i64)slice * job.b_steps[0]) * PARTS;
        REAL *to = c + (job.c + (i64)slice * job.c_steps[0]) * PARTS;
        UNROLL
        for (u32 i = 0; i < SIDE; i++) {
            UNROLL
            for (u32 j = 0; j < SIDE; j++)
                sums[i][j] = 0;
        }
        if (job.flags & HCY_MATRIX_ADDS)
            move_sums(sums, to, &job, &p, x, y, 0);
        bring(of_a, of_b, &job, &p, 0);
        for (u64 k = 0; k < p.depth; k += DEPTH) {
            BARRIER();
            put_down(near_a, near_b, of_a, of_b);
            BARRIER();
            bring(of_a, of_b, &job, &p, k + DEPTH);
            add_step(sums, near_a, near_b, x, y);
        }
        move_sums(sums, to, &job, &p, x, y, 1);
    }
}
