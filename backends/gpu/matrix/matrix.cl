/* matrix.cl - products of matrices (matrix_format.h): a group makes a tile of c, of which each item has
 * SIDE_Y x SIDE_X sums in registers.
 *
 * DEPTH numbers of k at a time stand in near memory as doubles, so that each is converted once; those of the next
 * step are under way meanwhile, and come to a place of their own: one barrier a step.  An item's rows and columns are
 * pairs, half a tile apart: lanes beside each other then read pairs beside each other, and no two of the same bank.  A
 * complex matrix is a real one of twice its rows and depth: rows (Re a, -Im a) and (Im a, Re a) on columns (Re b,
 * Im b) below one another.
 *
 * REAL is float or double, PARTS 2 of complex numbers; a tile is TILE_ROWS x TILE_COLUMNS.  A_BY_ROWS: numbers of a
 * that stand side by side are of one k, as those of a transposed matrix.
 */
#pragma once
#include "dialect.h"
#include "matrix_format.h"

#if GROUP_SIZE == 1
#define DEPTH    2 /* an item that is alone has near memory anyway: a short text */
#else
#define DEPTH    16
#endif
#define ACROSS   (TILE_COLUMNS / SIDE_X) /* items along a row of the tile */
#define DOWN     (TILE_ROWS / SIDE_Y)
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
};

/* Numbers of the tiles that an item brings, and where they stand in these. */
#if A_BY_ROWS
#define ROW_OF(e) ((e) % TILE_ROWS)
#define K_OF_A(e) ((e) / TILE_ROWS)
#else
#define ROW_OF(e) ((e) / DEPTH)
#define K_OF_A(e) ((e) % DEPTH)
#endif
#define COLUMN_OF(e) ((e) % TILE_COLUMNS)
#define K_OF_B(e)    ((e) / TILE_COLUMNS)
#define NUMBER(i)    (ITEM + (i) * GROUP_SIZE)

/* Where its numbers of the next step are; bits: whether the tile has that row or column, whether a number counts
 * negative. */
struct supply {
    const REAL *a[OF_A], *b[OF_B];
    u64 has_a, has_b, negative;
};

DEVICE void find_supply(struct supply *s, const hcy_matrix_job *job, const struct product *p, const REAL *a,
                        const REAL *b)
{
    s->has_a = s->has_b = s->negative = 0;
    UNROLL
    for (u32 i = 0; i < OF_A; i++) {
        const u32 k = K_OF_A(NUMBER(i)), q = k % PARTS;
        const u64 row = p->row + ROW_OF(NUMBER(i));
        const u32 part = row % PARTS;
        s->has_a |= (u64)(row < p->rows) << i;
        s->negative |= (u64)(part != q && (part < q) != ((job->flags & HCY_MATRIX_CONJUGATE) != 0)) << i;
        s->a[i] = a + ((i64)(row / PARTS) * job->a_steps[1] + (i64)(k / PARTS) * job->a_steps[2]) * PARTS +
                  (part ^ q);
    }
    UNROLL
    for (u32 i = 0; i < OF_B; i++) {
        const u32 k = K_OF_B(NUMBER(i));
        const u64 column = p->column + COLUMN_OF(NUMBER(i));
        s->has_b |= (u64)(column < job->columns) << i;
        s->b[i] = b + ((i64)(k / PARTS) * job->b_steps[1] + (i64)column * job->b_steps[2]) * PARTS + k % PARTS;
    }
}

/* Of `left` numbers of k.  They are asked for here, and not touched before put_down(): a step passes meanwhile.
 * Products behind the last k are -0, which leaves a sum what it is; 0 would make one of -0 another. */
DEVICE void bring(REAL *of_a, REAL *of_b, struct supply *s, const hcy_matrix_job *job, u64 left)
{
    UNROLL
    for (u32 i = 0; i < OF_A; i++) {
        const REAL none = PARTS == 2 && (s->negative >> i & 1) ? (REAL)0 : (REAL)-0.0;
        of_a[i] = (s->has_a >> i & 1) && K_OF_A(NUMBER(i)) < left ? *s->a[i] : none;
        s->a[i] += DEPTH * job->a_steps[2]; /* PARTS reals each, for 1 / PARTS of the steps */
    }
    UNROLL
    for (u32 i = 0; i < OF_B; i++) {
        of_b[i] = (s->has_b >> i & 1) && K_OF_B(NUMBER(i)) < left ? *s->b[i] : (REAL)0;
        s->b[i] += DEPTH * job->b_steps[1];
    }
}

DEVICE void put_down(struct pair *near_a, struct pair *near_b, const REAL *of_a, const REAL *of_b, u64 negative)
{
    UNROLL
    for (u32 i = 0; i < OF_A; i++) {
        const u32 e = NUMBER(i);
        const double x = of_a[i];
        near_a[K_OF_A(e) * PITCH_A + ROW_OF(e) / 2].x[ROW_OF(e) % 2] = PARTS == 2 && (negative >> i & 1) ? -x : x;
    }
    UNROLL
    for (u32 i = 0; i < OF_B; i++) {
        const u32 e = NUMBER(i);
        near_b[K_OF_B(e) * PITCH_B + COLUMN_OF(e) / 2].x[COLUMN_OF(e) % 2] = of_b[i];
    }
}

/* Row i of an item's sums in the tile, or a column. */
DEVICE u32 place_of(u32 i, u32 item, u32 items)
{
    return i / 2 * (2 * items) + 2 * item + i % 2;
}

DEVICE void add_step(double sums[SIDE_Y][SIDE_X], const struct pair *near_a, const struct pair *near_b, u32 x, u32 y)
{
    UNROLL
    for (u32 k = 0; k < DEPTH; k++) {
        struct pair a[SIDE_Y / 2], b[SIDE_X / 2];
        UNROLL
        for (u32 i = 0; i < SIDE_Y / 2; i++)
            a[i] = near_a[k * PITCH_A + i * DOWN + y];
        UNROLL
        for (u32 j = 0; j < SIDE_X / 2; j++)
            b[j] = near_b[k * PITCH_B + j * ACROSS + x];
        UNROLL
        for (u32 i = 0; i < SIDE_Y; i++) {
            UNROLL
            for (u32 j = 0; j < SIDE_X; j++)
                sums[i][j] = fma(a[i / 2].x[i % 2], b[j / 2].x[j % 2], sums[i][j]);
        }
    }
}

DEVICE void move_sums(double sums[SIDE_Y][SIDE_X], REAL *c, const hcy_matrix_job *job, const struct product *p,
                      u32 x, u32 y, int out)
{
    UNROLL
    for (u32 i = 0; i < SIDE_Y; i++) {
        const u64 row = p->row + place_of(i, y, DOWN);
        UNROLL
        for (u32 j = 0; j < SIDE_X; j++) {
            const u64 column = p->column + place_of(j, x, ACROSS);
            if (row >= p->rows || column >= job->columns)
                continue;
            const i64 place = (i64)(row / PARTS) * job->c_steps[1] + (i64)column * job->c_steps[2];
            REAL *at = c + place * PARTS + row % PARTS;
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
    LOCAL_ROOM(struct pair, near_a, 2 * DEPTH * PITCH_A);
    LOCAL_ROOM(struct pair, near_b, 2 * DEPTH * PITCH_B);
    /* Lanes in step are a rectangle of the tile. */
    const u32 lane = ITEM % (LANES_X * LANES_Y), rest = ITEM / (LANES_X * LANES_Y);
    const u32 x = rest % (ACROSS / LANES_X) * LANES_X + lane % LANES_X,
              y = rest / (ACROSS / LANES_X) * LANES_Y + lane / LANES_X;
    for (u32 tile = GROUP; tile < tiles; tile += GROUPS) {
        const i64 slice = tile / tiles_x / tiles_y;
        struct product p;
        struct supply s;
        double sums[SIDE_Y][SIDE_X];
        REAL of_a[OF_A], of_b[OF_B];
        u32 phase = 0;
        p.rows = job.rows * PARTS;
        p.depth = job.depth * PARTS;
        p.row = (u64)(tile / tiles_x % tiles_y) * TILE_ROWS;
        p.column = (u64)(tile % tiles_x) * TILE_COLUMNS;
        find_supply(&s, &job, &p, a + (job.a + slice * job.a_steps[0]) * PARTS,
                    b + (job.b + slice * job.b_steps[0]) * PARTS);
        REAL *to = c + (job.c + slice * job.c_steps[0]) * PARTS;
        UNROLL
        for (u32 i = 0; i < SIDE_Y; i++) {
            UNROLL
            for (u32 j = 0; j < SIDE_X; j++)
                sums[i][j] = 0;
        }
        if (job.flags & HCY_MATRIX_ADDS)
            move_sums(sums, to, &job, &p, x, y, 0);
        bring(of_a, of_b, &s, &job, p.depth);
        BARRIER(); /* the tile before may still be read */
        put_down(near_a, near_b, of_a, of_b, s.negative);
        for (u64 k = 0; k < p.depth; k += DEPTH, phase ^= 1) {
            BARRIER();
            const u64 next = k + DEPTH;
            if (next < p.depth)
                bring(of_a, of_b, &s, &job, p.depth - next);
            add_step(sums, near_a + phase * DEPTH * PITCH_A, near_b + phase * DEPTH * PITCH_B, x, y);
            if (next < p.depth)
                put_down(near_a + (phase ^ 1) * DEPTH * PITCH_A, near_b + (phase ^ 1) * DEPTH * PITCH_B, of_a, of_b,
                         s.negative);
        }
        move_sums(sums, to, &job, &p, x, y, 1);
    }
}
