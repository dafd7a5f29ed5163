/* eval_columns.c - reductions along an axis whose elements lie far apart, where those of the spans beside it lie close
 * together: the sum of a matrix over its rows.
 *
 * Span after span would load every element from a line of its own.  So many spans are gone over at once: a span is a
 * COLUMN, an element of it a row, and rows are loaded as they lie.  The tree is that of eval_format.h, and so are the
 * bits; its lanes are taken in such an order that a lane is joined as soon as its other half is there, so that no more
 * than one row of numbers for each of the tree's levels waits, in a core's cache.
 *
 * Pieces of some columns are shared out to the pool's threads.  A thread's rows are on its stack.
 */
#include "cpu_eval.h"

#include <string.h>

/* LEAST: with fewer columns the steps' own cost is more than what is won.  NARROW: rows are as long as a register, as
 * memory gives long stretches faster, and get no shorter than this so that each thread has SHARES of the work. */
enum { LEAST_COLUMNS = 32, NARROW_COLUMNS = 128, LEVELS = 8, COMPONENTS = 2, SHARES = 4 };
_Static_assert(HCY_EVAL_LANES == 1u << (LEVELS - 1), "a level for each halving of the lanes");

/* What joins two numbers of a reduction, as the operation that does so element by element. */
static const uint16_t joins[HCY_EVAL_END] = {
#define JOIN_ROW(name, t, join) [HCY_EVAL_##name] = HCY_EVAL_##join,
    HCY_EVAL_REDUCTIONS(JOIN_ROW)
};

struct columns {
    const struct cpu_eval_call *call;
    const struct cpu_eval_loops *loops;
    uint32_t axis;         /* along which columns are beside one another: those behind it are reduced */
    size_t n;              /* columns along it */
    size_t width, blocks;  /* columns at once, and how many such there are along the axis */
    size_t span, pieces;   /* elements of a column, and pieces of them */
    size_t slices;         /* of all axes before that one */
    const hcy_eval_step *last; /* the steps that reduce, at the program's end */
};

/* Columns of a piece, and where they are. */
struct block {
    const struct columns *c;
    uint64_t index[HCY_EVAL_AXES]; /* of the first column, up to c->axis */
    size_t first, rows, width;     /* the piece's first row, how many rows, and columns, of this block */
    size_t lanes, together;        /* lanes that have rows, and rows that a register takes */
    const void *at[HCY_EVAL_REGISTERS];
    uint64_t own[HCY_EVAL_REGISTERS][HCY_EVAL_PIECE];
    /* A row of numbers for each level, and one to join to; they change places. */
    uint64_t *row[COMPONENTS][LEVELS + 1];
    uint64_t waiting[COMPONENTS][LEVELS + 1][HCY_EVAL_PIECE];
};

/* --- Whether --- */

/* Loads and operations, then what reduces; columns are not gone over by steps that number elements or store them, nor
 * by joins of one's own.  Programs are anybody's: what is not on this list has no place in the loops below. */
static bool takes_steps(const hcy_eval_program *p)
{
    if (!p->reduces || p->reduces > COMPONENTS)
        return false;
    for (uint32_t i = p->n_fixed; i < p->n_steps; i++) {
        const uint16_t op = p->steps[i].op;
        const bool reduces = op >= HCY_EVAL_FIRST_REDUCTION,
                   computes = op == HCY_EVAL_LOAD || (op >= HCY_EVAL_FIRST_OP && op < HCY_EVAL_FIRST_SCAN);
        if (HCY_EVAL_IS_OWN(op) || (i + p->reduces < p->n_steps ? !computes : !reduces))
            return false;
    }
    return true;
}

/* The axis before the reduced ones; the job's rank where it has none, or where it is one with them. */
static uint32_t find_axis(const hcy_eval_job *job)
{
    uint64_t behind = 1;
    uint32_t d = job->rank;
    while (d > 0 && behind < job->span)
        behind *= job->shape[--d];
    return behind == job->span && d > 0 ? d - 1 : job->rank;
}

static uint64_t distance(int64_t stride)
{
    return stride < 0 ? (uint64_t)0 - (uint64_t)stride : (uint64_t)stride;
}

/* Whether loads find what they need close together along the columns' axis rather than along the last one: two
 * components of an element are one after the other in both. */
static bool lies_in_rows(const struct cpu_eval_call *call, uint32_t axis)
{
    const hcy_eval_program *p = call->program;
    const uint32_t inner = call->job->rank - 1;
    int rows = 0;
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].op == HCY_EVAL_LOAD) {
            const int64_t *strides = call->operands[p->steps[i].a].strides;
            uint64_t across = distance(strides[axis]), along = distance(strides[inner]);
            /* What is the same all along one of them costs next to nothing either way. */
            if (across && along)
                rows += across < along ? 1 : -1;
        }
    return rows > 0;
}

/* --- A tile: some rows of a lane --- */

struct tile {
    size_t row, n; /* the first one, and how many: each HCY_EVAL_LANES behind the one before */
};

/* Where a row of the block begins in the operand. */
static const char *row_at(const struct block *b, const struct cpu_eval_operand *o, size_t row, size_t component,
                          size_t bytes)
{
    const hcy_eval_job *job = b->c->call->job;
    ptrdiff_t at = (ptrdiff_t)component;
    row += b->first;
    for (uint32_t d = 0; d <= b->c->axis; d++)
        at += (ptrdiff_t)o->strides[d] * (ptrdiff_t)b->index[d];
    for (uint32_t d = job->rank; --d > b->c->axis; row /= (size_t)job->shape[d]) {
        /* Most often there is one axis, and a division costs as much as many loads. */
        size_t index = d > b->c->axis + 1 ? row % (size_t)job->shape[d] : row;
        at += (ptrdiff_t)o->strides[d] * (ptrdiff_t)index;
    }
    return o->at + at * (ptrdiff_t)bytes;
}

static void load_tile(struct block *b, const hcy_eval_step *s, struct tile t)
{
    const struct cpu_eval_operand *o = &b->c->call->operands[s->a];
    const size_t bytes = cpu_eval_bytes[s->memory], wide = cpu_eval_wide(s->memory);
    const ptrdiff_t stride = (ptrdiff_t)o->strides[b->c->axis];
    char *to = (char *)b->own[s->to];
    /* Nothing is stored, so that what is read where it lies is not written. */
    if (t.n == 1 && stride == 1 && cpu_eval_is_as_it_lies(s->memory)) {
        b->at[s->to] = row_at(b, o, t.row, s->b, bytes);
        return;
    }
    b->at[s->to] = to;
    for (size_t i = 0; i < t.n; i++, to += b->width * wide)
        b->c->loops->load[s->memory](to, row_at(b, o, t.row + i * HCY_EVAL_LANES, s->b, bytes), stride, b->width);
}

/* Both parts of complex numbers, by this step and the next one. */
static bool load_pairs(struct block *b, const hcy_eval_step *s, struct tile t)
{
    const struct cpu_eval_operand *o = &b->c->call->operands[s->a];
    if (!cpu_eval_is_pair(b->c->loops, s) || o->strides[b->c->axis] != 2)
        return false;
    const size_t bytes = cpu_eval_bytes[s->memory], step = b->width * bytes;
    char *re = (char *)b->own[s[0].to], *im = (char *)b->own[s[1].to];
    b->at[s[0].to] = re;
    b->at[s[1].to] = im;
    for (size_t i = 0; i < t.n; i++, re += step, im += step)
        b->c->loops->load_pair[s->memory](re, im, row_at(b, o, t.row + i * HCY_EVAL_LANES, 0, bytes), b->width);
    return true;
}

/* The program's steps on all elements of a tile. */
static void run_tile(struct block *b, struct tile t)
{
    const hcy_eval_program *p = b->c->call->program;
    for (const hcy_eval_step *s = p->steps + p->n_fixed; s < b->c->last; s++) {
        if (s->op != HCY_EVAL_LOAD) {
            /* A load may have left this register in the middle of an array, which must not be written. */
            b->at[s->to] = b->own[s->to];
            b->c->loops->op[s->op](b->own[s->to], b->at[s->a], b->at[s->b], b->at[s->c], t.n * b->width);
        } else if (s + 1 < b->c->last && load_pairs(b, s, t)) {
            s++;
        } else {
            load_tile(b, s, t);
        }
    }
}

/* --- The tree --- */

/* The row of a level becomes itself joined with another one. */
static void join_row(struct block *b, uint32_t component, unsigned level, const void *other)
{
    uint64_t **row = b->row[component], *to = row[LEVELS];
    /* A loop may not write what it reads. */
    b->c->loops->op[joins[b->c->last[component].op]](to, row[level], other, NULL, b->width);
    row[LEVELS] = row[level];
    row[level] = to;
}

/* A tile's rows to one, or to those before it in the lane. */
static void reduce_tile(struct block *b, struct tile t, unsigned level, bool begins)
{
    run_tile(b, t);
    for (uint32_t k = 0; k < b->c->call->program->reduces; k++) {
        const hcy_eval_step *s = &b->c->last[k];
        const size_t step = b->width * cpu_eval_wide(s->memory);
        const char *from = b->at[s->a];
        if (begins)
            memcpy(b->row[k][level], from, step);
        for (size_t i = begins; i < t.n; i++)
            join_row(b, k, level, from + i * step);
    }
}

/* A lane's rows to one. */
static void reduce_lane(struct block *b, size_t lane, unsigned level)
{
    const size_t n = (b->rows - 1 - lane) / HCY_EVAL_LANES + 1;
    for (size_t done = 0; done < n; done += b->together) {
        const size_t left = n - done;
        const struct tile t = { lane + done * HCY_EVAL_LANES, left < b->together ? left : b->together };
        reduce_tile(b, t, level, !done);
    }
}

/* The lanes lane, lane + apart, lane + 2 apart and so on to one row; each takes the one in the middle of those behind
 * it, so that a lane without elements has none behind it either. */
static void reduce_lanes(struct block *b, size_t lane, size_t apart, unsigned level)
{
    if (apart == HCY_EVAL_LANES) {
        reduce_lane(b, lane, level);
        return;
    }
    reduce_lanes(b, lane, 2 * apart, level);
    if (lane + apart >= b->lanes)
        return;
    reduce_lanes(b, lane + apart, 2 * apart, level + 1);
    for (uint32_t k = 0; k < b->c->call->program->reduces; k++)
        join_row(b, k, level, b->row[k][level + 1]);
}

/* --- All blocks --- */

/* The numbers of a block's columns go where the steps say: those of a column's pieces follow one another. */
static void store_numbers(const struct block *b, size_t column, size_t piece)
{
    for (uint32_t k = 0; k < b->c->call->program->reduces; k++) {
        const hcy_eval_step *s = &b->c->last[k];
        const size_t number = column * b->c->pieces + piece;
        char *to = b->c->call->operands[s->to].at + (number * s->c + s->b) * cpu_eval_bytes[s->memory];
        b->c->loops->store[s->memory](to, (ptrdiff_t)(b->c->pieces * s->c), b->row[k][0], b->width);
    }
}

static void run_block(struct block *b, size_t number)
{
    const struct columns *c = b->c;
    const hcy_eval_job *job = c->call->job;
    /* Pieces of the same columns are far apart, and blocks of the same rows beside one another. */
    size_t block = number % c->blocks, piece = number / c->blocks % c->pieces,
           slice = number / c->blocks / c->pieces, column = block * c->width;
    b->first = piece * HCY_EVAL_PIECE;
    b->rows = c->span - b->first < HCY_EVAL_PIECE ? c->span - b->first : HCY_EVAL_PIECE;
    b->width = c->n - column < c->width ? c->n - column : c->width;
    b->lanes = b->rows < HCY_EVAL_LANES ? b->rows : HCY_EVAL_LANES;
    b->together = HCY_EVAL_PIECE / b->width;
    b->index[c->axis] = column;
    column += slice * c->n;
    for (uint32_t d = c->axis; d-- > 0; slice /= (size_t)job->shape[d])
        b->index[d] = slice % (size_t)job->shape[d];
    reduce_lanes(b, 0, 1, 0);
    store_numbers(b, column, piece);
}

static void run_blocks(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct columns *c = context;
    const hcy_eval_program *p = c->call->program;
    struct block b;
    (void)thread;
    b.c = c;
    for (uint32_t i = 0; i < p->n_registers; i++)
        b.at[i] = b.own[i];
    for (uint32_t i = 0; i < p->n_fixed; i++)
        cpu_eval_spread(c->loops, b.own[p->steps[i].to], c->call->job->values[p->steps[i].a], p->steps[i].memory,
                        HCY_EVAL_PIECE);
    for (uint32_t k = 0; k < COMPONENTS; k++)
        for (unsigned level = 0; level <= LEVELS; level++)
            b.row[k][level] = b.waiting[k][level];
    for (size_t i = begin; i < end; i++)
        run_block(&b, i);
}

/* As long as registers are, unless some threads would have nothing to do. */
static size_t choose_width(const struct columns *c, unsigned threads)
{
    size_t blocks = (c->n - 1) / HCY_EVAL_PIECE + 1, others = c->slices * c->pieces, most = c->n / NARROW_COLUMNS;
    if (blocks < SHARES * threads / others)
        blocks = SHARES * threads / others;
    if (blocks > most)
        blocks = most ? most : 1;
    return (c->n - 1) / blocks + 1;
}

bool cpu_eval_columns(const struct cpu_eval_call *call, const struct cpu_eval_loops *loops, struct cpu_pool *pool)
{
    const hcy_eval_job *job = call->job;
    /* What is small may be run by a thread of the host's, without the pool, on a stack with no room for many rows. */
    if (job->n <= HCY_EVAL_PIECE)
        return false;
    const uint32_t axis = find_axis(job);
    if (!takes_steps(call->program) || axis == job->rank || job->shape[axis] < LEAST_COLUMNS ||
        !lies_in_rows(call, axis))
        return false;
    struct columns c = { .call = call, .loops = loops, .axis = axis, .n = (size_t)job->shape[axis] };
    c.span = (size_t)job->span;
    c.pieces = (c.span - 1) / HCY_EVAL_PIECE + 1;
    c.slices = (size_t)job->n / c.span / c.n;
    c.width = choose_width(&c, cpu_pool_threads(pool));
    c.blocks = (c.n - 1) / c.width + 1;
    c.last = call->program->steps + call->program->n_steps - call->program->reduces;
    cpu_pool_for(pool, c.slices * c.pieces * c.blocks, 1, run_blocks, &c);
    return true;
}
