/* scan.c - a stage that scans, by the rule of eval_format.h: numbers of pieces first, their scan, and then each element
 * after what was before its piece.  Nothing is kept but what the evaluation releases. */
#include "run.h"

#include "types.h"

#include <stdlib.h>
#include <string.h>

int hcy__scan_array(hcy_array **array, const struct hcy__evaluation *v, const struct hcy__stage *s, int rank,
                    const int64_t *shape)
{
    return hcy_array_empty(array, hcy__room_device(v->room),
                           hcy__type_in_memory(&v->compiled->temporaries[s->temporary]), rank, shape);
}

/* The same by a function of the text's, which may know numbers of the caller's. */
static int scan_own_totals(struct hcy__evaluation *v, const struct hcy__stage *s, hcy_array *carries,
                           hcy_array *totals)
{
    size_t n = 0, bytes = 0;
    hcy_operand *operands =
        hcy_size_mul(&bytes, v->n_operands + 2, sizeof *operands) ? NULL : malloc(bytes);
    if (!operands)
        return hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    /* Where pieces are so many that their numbers fill pieces again, both names stand for those of the scan around. */
    for (size_t i = 0; i < v->n_operands; i++)
        if (strcmp(v->operands[i].name, "hcy_c") && strcmp(v->operands[i].name, "hcy_t"))
            operands[n++] = v->operands[i];
    operands[n++] = hcy_op_array("hcy_c", carries);
    operands[n++] = hcy_op_array("hcy_t", totals);
    int status = hcy_eval(v->queue, s->totals, operands, n);
    free(operands);
    return status;
}

/* The exclusive scan of the pieces' numbers, which is an expression of its own, of far fewer elements. */
static int scan_totals(struct hcy__evaluation *v, const struct hcy__stage *s, hcy_array *carries, hcy_array *totals)
{
    static const char *const texts[] = { "c = cumsum(t, axis=1, exclusive=True)",
                                         "c = cumprod(t, axis=1, exclusive=True)",
                                         "c = cummin(t, axis=1, exclusive=True)",
                                         "c = cummax(t, axis=1, exclusive=True)" };
    if (s->is_own)
        return scan_own_totals(v, s, carries, totals);
    return HCY_EVAL(v->queue, texts[s->scan - HCY__FN_CUMSUM], hcy_op_array("c", carries), hcy_op_array("t", totals));
}

/* What was before each piece, in the launch's operand for it. */
static int make_carries(struct hcy__evaluation *v, struct hcy__expression *x, int i, struct hcy__launch *l,
                        const struct hcy__fold *f)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    const int64_t shape[2] = { (int64_t)f->outer, (int64_t)hcy__pieces_of(f->span) };
    int type = hcy__type_in_memory(&v->compiled->temporaries[s->carries]);
    hcy_array *totals = NULL, *carries = NULL;
    int status = hcy_array_empty(&totals, hcy__room_device(v->room), type, 2, shape);
    if (!status)
        status = hcy_array_empty(&carries, hcy__room_device(v->room), type, 2, shape);
    if (!status) {
        l->buffers[s->carry_slot] = totals->buffer;
        status = hcy__program_launch(v->queue, v->room, &x->again[i], l);
    }
    if (!status)
        status = scan_totals(v, s, carries, totals);
    if (!status)
        l->buffers[s->carry_slot] = v->temporaries[s->carries] = hcy_buffer_retain(carries->buffer);
    /* Launches that have not run yet keep the buffers that they use. */
    hcy_array_release(totals);
    hcy_array_release(carries);
    return status;
}

int hcy__run_scan(struct hcy__evaluation *v, struct hcy__expression *x, int i, const struct hcy__operands *o, int rank,
                  const int64_t *shape)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    struct hcy__launch l = { 0 };
    struct hcy__fold f;
    int status = hcy__find_fold(&f, v, s, rank, shape);
    if (status || !f.span || !f.outer)
        return status;
    /* The order of elements decides a sum's bits, so that it must not depend on how arrays lie in memory. */
    hcy__lay_out(&l, o, rank, shape, f.order);
    l.job.span = f.span;
    hcy__fill_launch(&l, v, s, o);
    /* Without a piece before another no carry is read, and any buffer will do for them. */
    l.buffers[s->carry_slot] = o->arrays[s->target]->buffer;
    if (hcy__pieces_of(f.span) > 1)
        status = make_carries(v, x, i, &l, &f);
    return status ? status : hcy__program_launch(v->queue, v->room, &x->programs[i], &l);
}
