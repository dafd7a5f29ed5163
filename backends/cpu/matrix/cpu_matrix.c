/* cpu_matrix.c - products of matrices: blocks of a and b as doubles in a core's cache, tiles of sums in registers.
 *
 * A complex matrix is a real one of twice its rows and twice its depth: rows (Re a, -Im a) and (Im a, Re a) on columns
 * (Re b, Im b) below one another, which are the products in the format's order.  So there is one loop, and what is
 * complex is known to the copies alone.  A thread has blocks and sums of its own: none waits for another.
 */
#include "cpu_matrix.h"

#include "matrix_job.h"

enum {
    ROWS = CPU_MATRIX_ROWS,
    COLUMNS = CPU_MATRIX_COLUMNS,
    DEPTH = CPU_MATRIX_DEPTH,
    PITCH = CPU_MATRIX_PITCH,
    LEAST_ROWS = 24, /* of a block, a multiple of each variant's tile */
    TASKS = 4        /* of each thread, so that all end at a time */
};

/* What a thread has. */
struct matrix_room {
    double a[ROWS * PITCH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS];
};

struct matrix_run {
    hcy_matrix_job job;
    char *a, *b, *c;
    struct matrix_room *rooms;
    const struct cpu_matrix_loops *loops;
    cpu_matrix_copy *in, *out;
    size_t rows, depth;                 /* of the real matrix */
    size_t row_blocks, column_blocks, block_rows, block_columns;
};

/* Of a slice: which rows of the real matrix, and which columns. */
struct matrix_block {
    size_t slice, row, rows, column, columns;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}
static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

/* Part `part` of numbers at [outer][inner] from `at` on. */
static struct cpu_matrix_view numbers_at(const struct matrix_run *run, char *base, int64_t at, int part, int64_t outer,
                                         int64_t inner)
{
    const int64_t parts = run->job.parts;
    return (struct cpu_matrix_view){ base + (at * parts + part) * run->job.bytes, (ptrdiff_t)(outer * parts),
                                     (ptrdiff_t)(inner * parts) };
}

static struct cpu_matrix_view turned(struct cpu_matrix_view v)
{
    return (struct cpu_matrix_view){ v.at, v.inner, v.outer };
}

/* --- Blocks --- */

/* Rows and k of a; rows that fill the last tile are zeros. */
static void take_a(struct matrix_room *room, const struct matrix_run *run, const struct matrix_block *block, size_t k,
                   size_t depth)
{
    const hcy_matrix_job *job = &run->job;
    const size_t parts = job->parts, rows = block->rows / parts, n = depth / parts;
    const int64_t at = (int64_t)block->slice * job->a_steps[0] + (int64_t)(block->row / parts) * job->a_steps[1] +
                       (int64_t)(k / parts) * job->a_steps[2];
    const bool by_rows = job->a_steps[1] == 1; /* a transposed matrix: read as it stands */
    for (size_t p = 0; p < parts; p++)
        for (size_t q = 0; q < parts; q++) {
            const double sign = p == q ? 1 : (p < q) != ((job->flags & HCY_MATRIX_CONJUGATE) != 0) ? -1 : 1;
            struct cpu_matrix_view to = { room->a + p * PITCH + q, (ptrdiff_t)(parts * PITCH), (ptrdiff_t)parts },
                                   from = numbers_at(run, run->a, at, (int)(p ^ q), job->a_steps[1], job->a_steps[2]);
            if (by_rows)
                run->in(turned(to), turned(from), n, rows, sign);
            else
                run->in(to, from, rows, n, sign);
        }
    for (size_t i = block->rows; i < round_up(block->rows, run->loops->rows); i++)
        memset(room->a + i * PITCH, 0, depth * sizeof *room->a);
}

/* k and columns of b, as tiles read them: [strip][k][columns of a tile]; so are columns that fill the last one. */
static void take_b(struct matrix_room *room, const struct matrix_run *run, const struct matrix_block *block, size_t k,
                   size_t depth)
{
    const hcy_matrix_job *job = &run->job;
    const size_t parts = job->parts, width = run->loops->columns;
    for (size_t j = 0; j < block->columns; j += width) {
        const size_t n = least(width, block->columns - j);
        const int64_t at = (int64_t)block->slice * job->b_steps[0] + (int64_t)(k / parts) * job->b_steps[1] +
                           (int64_t)(block->column + j) * job->b_steps[2];
        double *strip = room->b + j * depth;
        if (n < width)
            memset(strip, 0, depth * width * sizeof *strip);
        for (size_t p = 0; p < parts; p++)
            run->in((struct cpu_matrix_view){ strip + p * width, (ptrdiff_t)(parts * width), 1 },
                    numbers_at(run, run->b, at, (int)p, job->b_steps[1], job->b_steps[2]), depth / parts, n, 1);
    }
}

/* The block of c: what its sums begin with, or where they go. */
static void move_c(struct matrix_room *room, const struct matrix_run *run, const struct matrix_block *block, bool out)
{
    const hcy_matrix_job *job = &run->job;
    const size_t parts = job->parts;
    const int64_t at = (int64_t)block->slice * job->c_steps[0] + (int64_t)(block->row / parts) * job->c_steps[1] +
                       (int64_t)block->column * job->c_steps[2];
    for (size_t p = 0; p < parts; p++) {
        const struct cpu_matrix_view sums = { room->c + p * COLUMNS, (ptrdiff_t)(parts * COLUMNS), 1 },
                                     numbers = numbers_at(run, run->c, at, (int)p, job->c_steps[1], job->c_steps[2]);
        if (out)
            run->out(numbers, sums, block->rows / parts, block->columns, 1);
        else
            run->in(sums, numbers, block->rows / parts, block->columns, 1);
    }
}

static void multiply_block(struct matrix_room *room, const struct matrix_run *run, const struct matrix_block *block)
{
    const struct cpu_matrix_loops *loops = run->loops;
    memset(room->c, 0, sizeof room->c);
    if (run->job.flags & HCY_MATRIX_ADDS)
        move_c(room, run, block, false);
    for (size_t k = 0; k < run->depth; k += DEPTH) {
        const size_t depth = least(DEPTH, run->depth - k);
        take_a(room, run, block, k, depth);
        take_b(room, run, block, k, depth);
        /* A strip of b stays in the first cache, a's tiles pass. */
        for (size_t j = 0; j < block->columns; j += loops->columns)
            for (size_t i = 0; i < block->rows; i += loops->rows)
                loops->tile(room->c + i * COLUMNS + j, COLUMNS, room->a + i * PITCH, room->b + j * depth, depth,
                            run->job.bytes == 4);
    }
    move_c(room, run, block, true);
}

static void multiply_blocks(void *context, size_t first, size_t end, unsigned thread)
{
    const struct matrix_run *run = context;
    for (size_t task = first; task < end; task++) {
        const size_t row = task / run->column_blocks % run->row_blocks * run->block_rows,
                     column = task % run->column_blocks * run->block_columns;
        const struct matrix_block block = { task / run->column_blocks / run->row_blocks, row,
                                            least(run->block_rows, run->rows - row), column,
                                            least(run->block_columns, (size_t)run->job.columns - column) };
        multiply_block(&run->rooms[thread], run, &block);
    }
}

/* --- The kernel --- */

/* Blocks as large as there is room for, of about one size each; smaller ones where threads would have none. */
static void share_out(struct matrix_run *run, unsigned threads)
{
    const size_t columns = (size_t)run->job.columns;
    run->column_blocks = (columns - 1) / COLUMNS + 1;
    run->block_columns = round_up((columns - 1) / run->column_blocks + 1, run->loops->columns);
    run->column_blocks = (columns - 1) / run->block_columns + 1;
    for (run->block_rows = ROWS; run->block_rows > LEAST_ROWS; run->block_rows -= LEAST_ROWS) {
        const size_t blocks = (run->rows - 1) / run->block_rows + 1;
        if (blocks * run->column_blocks * (size_t)run->job.slices >= (size_t)threads * TASKS)
            break;
    }
    run->row_blocks = (run->rows - 1) / run->block_rows + 1;
}

const struct cpu_matrix_loops *cpu_matrix_loops_of(enum cpu_simd simd)
{
    /* All fuse products and sums, or need not, so that the choice shows in the time alone. */
#ifdef HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        return &cpu_matrix_avx512;
    if (simd >= CPU_SIMD_AVX2)
        return &cpu_matrix_avx2;
#endif
    (void)simd;
    return &cpu_matrix_portable;
}

static int matrix_scratch(size_t *size, const struct cpu_call *call)
{
    *size = cpu_pool_threads(call->pool) * sizeof(struct matrix_room);
    return 0;
}

static int run_matrix(const struct cpu_call *call)
{
    struct matrix_run run = { .rooms = cpu_arg(call, HCY_ARG_AT(matrix, scratch)) };
    const unsigned threads = cpu_pool_threads(call->pool);
    int status = hcy__matrix_open(&run.job, call->values);
    if (status)
        return status;
    if (!run.rooms || cpu_arg_size(call, HCY_ARG_AT(matrix, scratch)) < threads * sizeof *run.rooms)
        return hcy_fail(HCY_EINVAL, "matrix: too little scratch memory");
    const size_t width = (size_t)run.job.bytes * run.job.parts;
    run.a = (char *)cpu_arg(call, HCY_ARG_AT(matrix, a)) + (size_t)run.job.a * width;
    run.b = (char *)cpu_arg(call, HCY_ARG_AT(matrix, b)) + (size_t)run.job.b * width;
    run.c = (char *)cpu_arg(call, HCY_ARG_AT(matrix, c)) + (size_t)run.job.c * width;
    run.loops = cpu_matrix_loops_of(call->simd);
    run.in = run.job.bytes == 4 ? run.loops->f32.in : run.loops->f64.in;
    run.out = run.job.bytes == 4 ? run.loops->f32.out : run.loops->f64.out;
    run.rows = (size_t)run.job.rows * run.job.parts;
    run.depth = (size_t)run.job.depth * run.job.parts;
    share_out(&run, threads);
    cpu_pool_for(call->pool, run.row_blocks * run.column_blocks * (size_t)run.job.slices, 1, multiply_blocks, &run);
    return 0;
}

static enum cpu_simd matrix_variant(enum cpu_simd simd)
{
    enum cpu_simd built = cpu_simd_built(simd);
    return built == CPU_SIMD_AVX512 || built == CPU_SIMD_AVX2 ? built : CPU_SIMD_PORTABLE;
}

const struct cpu_kernel cpu_matrix_kernels[] = {
    { .name = "matrix", .run = run_matrix, .scratch_size = matrix_scratch, .variant = matrix_variant },
    { .name = "matrix_twice", .run = cpu_run_twice, .scratch_size = cpu_twice_scratch, .variant = matrix_variant },
    { .name = NULL },
};
