/* cpu_twice.c - a matrix and its transpose, read once: rows of a lane of the sums over rows (eval_format.h) come into a
 * core's cache for q, and are there for g and s, which need q.
 *
 * A SHARE of a piece are the lanes first, first + SHARES, ..., which the tree joins among themselves before it joins
 * shares; so shares are what threads take, and their sums meet at the end, columns in blocks.  As in eval_columns.c
 * lanes are taken in the order in which they are joined: one row of sums for each level waits.
 */
#include "cpu_matrix.h"

#include "eval_format.h"
#include "matrix_job.h"

enum {
    PIECE = HCY_EVAL_PIECE,
    LANES = HCY_EVAL_LANES,
    SHARES = 16,
    WAITING = 3,  /* rows of sums behind a share's own: LANES / SHARES is 2^3 */
    BLOCK = 256   /* columns whose sums meet in one go */
};
_Static_assert(LANES == SHARES << WAITING && PIECE == LANES * CPU_TWICE_ROWS, "the tree's sizes");

struct twice_run {
    hcy_matrix_twice_job job;
    const char *a, *p, *m;
    double by;
    char *q, *g, *s;
    const struct cpu_matrix_loops *loops;
    const struct cpu_twice_loops *numbers;
    size_t rows, columns, pieces, width; /* width: a row of sums, of g and then of s */
    double *shares, *waiting;            /* [pieces][SHARES][width], [threads][WAITING][width] */
};

/* Lanes of a piece that are joined, and where. */
struct twice_share {
    const struct twice_run *run;
    size_t first, rows, lanes;     /* the piece's first row, its rows, and lanes that have some */
    double *sums[1 + WAITING];     /* of each level */
};

/* --- A share --- */

/* q of a lane's rows, then what these are of g and s. */
static void take_lane(const struct twice_share *share, size_t lane, double *sums)
{
    const struct twice_run *run = share->run;
    const size_t bytes = run->job.bytes, row = share->first + lane, n = (share->rows - 1 - lane) / LANES + 1;
    const void *rows[CPU_TWICE_ROWS];
    for (size_t i = 0; i < n; i++) {
        rows[i] = run->a + (row + i * LANES) * (size_t)run->job.step * bytes;
        run->numbers->dot(run->q + (row + i * LANES) * bytes, rows[i], run->p, run->columns);
    }
    run->numbers->spread(sums, sums + run->columns, rows, n, run->m + row * bytes, run->q + row * bytes, LANES, run->by,
                         run->columns);
}

/* The lanes lane, lane + apart, lane + 2 apart and so on. */
static void join_lanes(const struct twice_share *share, size_t lane, size_t apart, unsigned level)
{
    if (apart == LANES) {
        take_lane(share, lane, share->sums[level]);
        return;
    }
    join_lanes(share, lane, 2 * apart, level);
    if (lane + apart >= share->lanes)
        return;
    join_lanes(share, lane + apart, 2 * apart, level + 1);
    share->run->loops->add(share->sums[level], share->sums[level + 1], share->run->width);
}

static size_t rows_of_piece(const struct twice_run *run, size_t piece)
{
    const size_t left = run->rows - piece * PIECE;
    return left < PIECE ? left : PIECE;
}

static void run_shares(void *context, size_t first, size_t end, unsigned thread)
{
    const struct twice_run *run = context;
    struct twice_share share = { .run = run };
    for (int level = 0; level < WAITING; level++)
        share.sums[1 + level] = run->waiting + (thread * WAITING + (size_t)level) * run->width;
    for (size_t i = first; i < end; i++) {
        share.first = i / SHARES * PIECE;
        share.rows = rows_of_piece(run, i / SHARES);
        share.lanes = share.rows < LANES ? share.rows : LANES;
        share.sums[0] = run->shares + i * run->width;
        if (i % SHARES < share.lanes)
            join_lanes(&share, i % SHARES, SHARES, 0);
    }
}

/* --- Where shares meet --- */

/* Sums `apart` from one another: the first becomes that of n, at most LANES, by halves of `half` and less. */
static void join_halves(const struct twice_run *run, double *sums, size_t apart, size_t n, size_t half, size_t columns)
{
    for (; half; half /= 2)
        for (size_t l = 0; l < half && l + half < n; l++)
            run->loops->add(sums + l * apart, sums + (l + half) * apart, columns);
}

/* The pieces' sums, which are numbers of pieces again, until one is left. */
static void join_pieces(const struct twice_run *run, double *sums, size_t columns)
{
    const size_t apart = SHARES * run->width;
    for (size_t n = run->pieces, to = 0; n > 1; n = to)
        for (size_t first = to = 0; first < n; first += PIECE, to++) {
            double *piece = sums + first * apart;
            const size_t here = n - first < PIECE ? n - first : PIECE;
            for (size_t i = LANES; i < here; i++)
                run->loops->add(piece + i % LANES * apart, piece + i * apart, columns);
            join_halves(run, piece, apart, here < LANES ? here : LANES, LANES / 2, columns);
            if (to)
                memcpy(sums + to * apart, piece, columns * sizeof *piece);
        }
}

static void run_blocks(void *context, size_t first, size_t end, unsigned thread)
{
    const struct twice_run *run = context;
    const size_t blocks = (run->columns - 1) / BLOCK + 1;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        const bool is_s = i >= blocks;
        const size_t column = i % blocks * BLOCK, left = run->columns - column, n = left < BLOCK ? left : BLOCK;
        double *sums = run->shares + (is_s ? run->columns : 0) + column;
        for (size_t piece = 0; piece < run->pieces; piece++) {
            const size_t rows = rows_of_piece(run, piece);
            join_halves(run, sums + piece * SHARES * run->width, run->width, rows < SHARES ? rows : SHARES, SHARES / 2,
                        n);
        }
        join_pieces(run, sums, n);
        run->numbers->store((is_s ? run->s : run->g) + column * run->job.bytes, sums, n);
    }
}

/* --- The kernel --- */

static size_t count_doubles(const hcy_matrix_twice_job *job, unsigned threads)
{
    const size_t pieces = ((size_t)job->rows - 1) / PIECE + 1;
    return (pieces * SHARES + (size_t)threads * WAITING) * 2 * (size_t)job->columns;
}

int cpu_twice_scratch(size_t *size, const struct cpu_call *call)
{
    hcy_matrix_twice_job job;
    int status = hcy__twice_read(&job, call->values);
    *size = status ? 0 : count_doubles(&job, cpu_pool_threads(call->pool)) * sizeof(double);
    return status;
}

static char *operand(const struct cpu_call *call, size_t argument, int64_t at, size_t bytes)
{
    return (char *)cpu_arg(call, argument) + (size_t)at * bytes;
}

int cpu_run_twice(const struct cpu_call *call)
{
    struct twice_run run = { .shares = cpu_arg(call, HCY_ARG_AT(matrix_twice, scratch)) };
    const unsigned threads = cpu_pool_threads(call->pool);
    int status = hcy__twice_open(&run.job, call->values);
    if (status)
        return status;
    if (!run.shares ||
        cpu_arg_size(call, HCY_ARG_AT(matrix_twice, scratch)) / sizeof(double) < count_doubles(&run.job, threads))
        return hcy_fail(HCY_EINVAL, "matrix_twice: too little scratch memory");
    const hcy_matrix_twice_job *job = &run.job;
    run.a = operand(call, HCY_ARG_AT(matrix_twice, a), job->a, job->bytes);
    run.p = operand(call, HCY_ARG_AT(matrix_twice, p), job->p, job->bytes);
    run.m = operand(call, HCY_ARG_AT(matrix_twice, m), job->m, job->bytes);
    memcpy(&run.by, operand(call, HCY_ARG_AT(matrix_twice, by), job->by, sizeof run.by), sizeof run.by);
    run.q = operand(call, HCY_ARG_AT(matrix_twice, q), job->q, job->bytes);
    run.g = operand(call, HCY_ARG_AT(matrix_twice, g), job->g, job->bytes);
    run.s = operand(call, HCY_ARG_AT(matrix_twice, s), job->s, job->bytes);
    run.loops = cpu_matrix_loops_of(call->simd);
    run.numbers = job->bytes == 4 ? &run.loops->twice_f32 : &run.loops->twice_f64;
    run.rows = (size_t)job->rows;
    run.columns = (size_t)job->columns;
    run.pieces = (run.rows - 1) / PIECE + 1;
    run.width = 2 * run.columns;
    run.waiting = run.shares + run.pieces * SHARES * run.width;
    cpu_pool_for(call->pool, run.pieces * SHARES, 1, run_shares, &run);
    cpu_pool_for(call->pool, 2 * ((run.columns - 1) / BLOCK + 1), 1, run_blocks, &run);
    return 0;
}
