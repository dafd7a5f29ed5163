/* reduce.c - a stage that reduces: all elements to one, or those along some axes to an array, by the tree of
 * eval_format.h.  Nothing is kept but what the evaluation releases. */
#include "run.h"

#include "types.h"

int hcy__type_in_memory(const struct hcy__temporary *t)
{
    if (t->components == 2)
        return t->memory == HCY_EVAL_M_F64 ? HCY_COMPLEX128 : HCY_COMPLEX64;
    /* Types of memory and of arrays count in the same order. */
    return t->memory + HCY_BOOL;
}

static size_t bytes_of_temporary(const struct hcy__temporary *t)
{
    return hcy_dtype_size(hcy__type_in_memory(t));
}

/* The axes that a text names, as bits; HCY_EINVAL: one that is not there, or twice. */
static int find_axes(unsigned *reduced, const struct hcy__evaluation *v, const struct hcy__stage *s, int rank)
{
    char where[HCY__WHERE];
    *reduced = s->axes.n ? 0 : ~0u;
    for (int i = 0; i < s->axes.n; i++) {
        int axis = s->axes.of[i] < 0 ? s->axes.of[i] + rank : s->axes.of[i];
        if (axis < 0 || axis >= rank || *reduced >> axis & 1u)
            return hcy_fail(HCY_EINVAL, "%s: axis %d %s an array of %d axes",
                            hcy__where(where, v->text, s->column), s->axes.of[i],
                            axis < 0 || axis >= rank ? "is not in" : "stands twice, in", rank);
        *reduced |= 1u << axis;
    }
    return 0;
}

int hcy__find_fold(struct hcy__fold *f, const struct hcy__evaluation *v, const struct hcy__stage *s, int rank,
                   const int64_t *shape)
{
    char where[HCY__WHERE];
    int64_t count = 0;
    unsigned reduced = 0;
    bool moves = false;
    int n = 0, status = find_axes(&reduced, v, s, rank);
    /* Arrays that are repeated need no memory for it, so that their common shape may be any. */
    if (!status)
        status = hcy__shape_count(&count, rank, shape);
    if (status)
        return status;
    *f = (struct hcy__fold){ .span = 1, .outer = 1 };
    /* Axes that stay come first, so that what is reduced to one follows one another, in C order of its own axes. */
    for (int last = 0; last < 2; last++)
        for (int d = 0; d < rank; d++)
            if ((int)(reduced >> d & 1u) == last)
                f->order[n++] = d;
    for (int d = 0; d < rank; d++) {
        bool goes = reduced >> d & 1u;
        moves = moves || f->order[d] != d;
        *(goes ? &f->span : &f->outer) *= (uint64_t)shape[d];
        if (!goes || s->axes.keep)
            f->shape[f->rank++] = goes ? 1 : shape[d];
    }
    /* Elements are numbered in this order, which is C order only if the last axes go. */
    if (moves && hcy__numbers_elements(&s->program))
        return hcy_fail(HCY_EUNSUPPORTED,
                        "%s: `index` is not to be had along axes that are not the last ones",
                        hcy__where(where, v->text, s->column));
    return 0;
}

/* What the text says that no elements make, in each place. */
static int reduce_own_nothing(const struct hcy__evaluation *v, const struct hcy__stage *s, const struct hcy__fold *f,
                              hcy_buffer *to)
{
    int64_t n = (int64_t)f->outer;
    hcy_array *results = NULL;
    hcy_operand nothing = s->nothing_of >= 0 ? v->operands[s->nothing_of] : s->nothing;
    int status = hcy_array_of_buffer(&results, to, hcy__type_in_memory(&v->compiled->temporaries[s->temporary]), 1,
                                     &n, NULL, 0);
    nothing.name = "n";
    if (!status)
        status = HCY_EVAL(v->queue, "r = n", hcy_op_array("r", results), nothing);
    hcy_array_release(results);
    return status;
}

static int reduce_nothing(const struct hcy__evaluation *v, const struct hcy__stage *s, const struct hcy__fold *f,
                          hcy_buffer *to)
{
    size_t bytes = bytes_of_temporary(&v->compiled->temporaries[s->temporary]);
    char where[HCY__WHERE];
    if (!s->has_empty)
        return hcy_fail(HCY_EINVAL, "%s: there is no %s no elements", hcy__where(where, v->text, s->column),
                        s->is_own ? "number, as the 0 of reduce(f, x, 0), for" : "smallest or largest of");
    if (s->is_own)
        return reduce_own_nothing(v, s, f, to);
    /* Only sums and products come here, whose components have 8 bytes all. */
    return hcy_buffer_fill(v->queue, to, 0, bytes * (size_t)f->outer, &s->empty, 8);
}

static int make_room(hcy_buffer **to, const struct hcy__evaluation *v, const struct hcy__temporary *t, uint64_t n)
{
    size_t bytes = 0;
    if (n > SIZE_MAX || hcy_size_mul(&bytes, (size_t)n, bytes_of_temporary(t)))
        return hcy_fail(HCY_ERANGE, "\"%.200s\": more results than can be addressed", v->text);
    return hcy_buffer_create(to, hcy__room_device(v->room), HCY_MEM_DEVICE, bytes);
}

uint64_t hcy__pieces_of(uint64_t span)
{
    return span ? (span - 1) / HCY_EVAL_PIECE + 1 : 0;
}

/* One number of each piece, again and again, until each span has one: `from` has spans of so many, `to` takes the
 * last ones. */
static int reduce_again(const struct hcy__evaluation *v, struct hcy__device_program *again,
                        const struct hcy__stage *s, hcy_buffer *from, uint64_t outer, uint64_t span, hcy_buffer *to)
{
    const struct hcy__temporary *t = &v->compiled->temporaries[s->temporary];
    int status = 0;
    /* The caller's buffer is retained, so that each round may release what it has read, the first one too. */
    hcy_buffer_retain(from);
    while (!status && span > 1) {
        struct hcy__launch l = { 0 };
        uint64_t pieces = hcy__pieces_of(span);
        hcy_buffer *next = pieces == 1 ? hcy_buffer_retain(to) : NULL;
        if (!next)
            status = make_room(&next, v, t, outer * pieces);
        /* A result's place follows from the number of its piece: only what is read has a stride. */
        l.job.n = outer * span;
        l.job.span = span;
        l.job.rank = 1;
        l.job.shape[0] = l.job.n;
        l.job.n_operands = 2;
        l.strides[0].of[0][0] = t->components;
        hcy__fill_values(&l.job, v, s);
        l.buffers[0] = from;
        l.buffers[1] = next;
        if (!status)
            status = hcy__program_launch(v->queue, v->room, again, &l);
        /* The launch keeps what it uses. */
        hcy_buffer_release(from);
        from = next;
        span = pieces;
    }
    hcy_buffer_release(from);
    return status;
}

/* The result's memory, which hcy_eval() releases with all others. */
static int make_result(struct hcy__evaluation *v, const struct hcy__stage *s, const struct hcy__fold *f,
                       const struct hcy__operands *o)
{
    const struct hcy__temporary *t = &v->compiled->temporaries[s->temporary];
    hcy_array **array = &v->arrays[s->temporary];
    v->elements[s->temporary] = f->span;
    hcy__direct_result(&v->temporaries[s->temporary], v, s, f, o);
    v->is_stored = v->temporaries[s->temporary] != NULL;
    if (v->is_stored)
        return 0;
    /* The largest result is a complex number of doubles; one element goes with any shape, and needs no array. */
    if (!s->axes.n)
        return hcy_buffer_create(&v->temporaries[s->temporary], hcy__room_device(v->room), HCY_MEM_DEVICE, 16);
    int status = hcy_array_empty(array, hcy__room_device(v->room), hcy__type_in_memory(t), f->rank, f->shape);
    if (!status && (*array)->buffer)
        v->temporaries[s->temporary] = hcy_buffer_retain((*array)->buffer);
    return status;
}

int hcy__run_reduction(struct hcy__evaluation *v, struct hcy__expression *x, int i, const struct hcy__operands *o,
                       int rank, const int64_t *shape)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    const struct hcy__temporary *t = &v->compiled->temporaries[s->temporary];
    struct hcy__launch l = { 0 };
    struct hcy__fold f;
    hcy_buffer *partial = NULL;
    int status = hcy__find_fold(&f, v, s, rank, shape);
    if (status)
        return status;
    status = make_result(v, s, &f, o);
    if (status || !f.outer)
        return status;
    hcy_buffer *to = v->temporaries[s->temporary];
    if (!f.span)
        return reduce_nothing(v, s, &f, to);
    /* The order of elements decides a sum's bits, so that it must not depend on how arrays lie in memory. */
    hcy__lay_out(&l, o, rank, shape, f.order);
    l.job.span = f.span;
    uint64_t pieces = hcy__pieces_of(f.span);
    if (pieces > 1)
        status = make_room(&partial, v, t, f.outer * pieces);
    hcy__fill_launch(&l, v, s, o);
    /* The result's buffer has room for one number of each span only. */
    l.buffers[s->target] = partial ? partial : to;
    if (!status)
        status = hcy__program_launch(v->queue, v->room, &x->programs[i], &l);
    if (!status && partial)
        status = reduce_again(v, &x->again[i], s, partial, f.outer, pieces, to);
    hcy_buffer_release(partial);
    return status;
}
