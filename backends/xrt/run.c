/* run.c - what a run is given, and what it has written: numbers, structures, pieces of buffers, which are brought to
 * where its compute unit reads them, and home again.
 *
 * A run is its launch's thread's until it has ended.  Units of several memories share no buffer: each run has its part
 * in memory of its own, of the chunks and blocks what its frames use.  So what a launch reads goes over the link once,
 * and no memory of the card holds more than the parts of its own units' runs.
 */
#include "azint/azint_format.h"
#include "xrt_run.h"

#include <stdlib.h>
#include <string.h>

/* Memory of the run's own for a structure, or in place of no buffer. */
static int own_page(struct xrt_run *r, size_t value, uint32_t group)
{
    /* It is kept from launch to launch, because a run is used again for the same arguments. */
    return xrt_memory_room(&r->own[value], r->kernel->device, XRT_PAGE, group);
}

static int set_failed(const struct xrt_kernel *k, size_t argument)
{
    return hcy_fail(HCY_EBACKEND, "%s: XRT refuses argument %zu (%s) of kernel %s",
                    hcy_device_get_info(k->device->dev)->name, argument, k->layout->args[argument].name,
                    k->name);
}

/* The message says which argument has no room, because units see few of the card's memories. */
static int name_argument(int status, const struct xrt_kernel *k, size_t argument)
{
    if (status != HCY_ENOMEM)
        return status;
    hcy_error why = *hcy_last_error();
    return hcy_fail(status, "kernel %s, argument %s: %s", k->name, k->layout->args[argument].name, why.text);
}

/* Bytes of the host's to the start of what the run has of its own. */
static int put_own(struct xrt_run *r, size_t value, const void *data, size_t size)
{
    int status = xrt_put(r->own[value], 0, data, size);
    return status ? status : xrt_transfer(r->own[value], 0, size, true);
}

static int set_structure(struct xrt_run *r, size_t argument, size_t value, const hcy_value *v)
{
    int status = own_page(r, value, r->unit->groups[argument]);
    /* Structures are written anew for each run, as launches of different jobs share the runs. */
    if (!status)
        status = put_own(r, value, v->bytes, v->size);
    if (status)
        return status;
    return card_run_set_buffer(r->handle, (int)argument, r->own[value]->buffer)
               ? 0
               : set_failed(r->kernel, argument);
}

/* --- Which bytes of chunks and blocks the frames use --- */

/* At least so many bytes of the host's. */
static int give_room(struct xrt_run *r, size_t size)
{
    if (size <= r->room)
        return 0;
    free(r->bytes);
    r->bytes = malloc(size);
    r->room = r->bytes ? size : 0;
    return r->bytes ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for the frames of a run");
}

static bool is_absent(const hcy_value *v)
{
    return !v->block || !v->bytes_left;
}

static struct xrt_use use_of(const struct xrt_run *r, size_t argument)
{
    return (struct xrt_use){ .group = r->unit->groups[argument], .spread = r->kernel->spread[argument] };
}

/* Where the card's side of both counts, units read them where they are.  Else no more is brought than the run's frames
 * use, and they are told where that is. */
static int look_at_frames(struct xrt_run *r, const struct xrt_launch *l, const size_t range[2])
{
    const struct xrt_kernel *k = r->kernel;
    const struct xrt_coded *coded = k->shape ? k->shape->coded : NULL;
    bool narrow[XRT_PARTS] = { false };
    int status = 0;
    r->narrow = false;
    for (int i = 0; coded && !status && i < XRT_PARTS; i++) {
        const hcy_value *v = &l->desc->values[coded->in[i]];
        const struct xrt_use use = use_of(r, k->argument_of[coded->in[i]]);
        r->reach[i] = (struct xrt_reach){ 0, is_absent(v) ? 0 : v->bytes_left };
        if (!is_absent(v))
            status = xrt_memory_settle(&narrow[i], v->block->handle, &use);
        r->narrow |= narrow[i];
    }
    if (status || !r->narrow)
        return status;
    /* As the host has them: whoever launched may have parsed them by other means than the library's, so they are
     * checked as kernels check them. */
    const hcy_value *v = &l->desc->values[coded->frames];
    const size_t bytes = l->item_bytes[coded->frames];
    status = give_room(r, bytes * range[1]);
    if (!status)
        status = xrt_memory_peek(r->bytes, v->block->handle, v->offset + bytes * range[0], bytes * range[1]);
    if (!status)
        xrt_narrow(r->reach, r->bytes, range[1], narrow);
    return status;
}

/* Frames that say where things are in what the run has of them. */
static int set_frames(struct xrt_run *r, size_t argument, size_t value, size_t size)
{
    int status = xrt_memory_room(&r->own[value], r->kernel->device, size, r->unit->groups[argument]);
    if (!status)
        status = put_own(r, value, r->bytes, size);
    r->pieces[value].size = size;
    if (status)
        return name_argument(status, r->kernel, argument);
    return card_run_set_buffer(r->handle, (int)argument, r->own[value]->buffer) ? 0
                                                                                : set_failed(r->kernel, argument);
}

/* --- Buffers --- */

/* The part of a buffer that belongs to items [first, first + n), or that the run's frames use. */
static void take_piece(struct xrt_run *r, size_t value, const hcy_value *v, size_t item_bytes, const size_t range[2])
{
    const struct xrt_kernel *k = r->kernel;
    struct xrt_piece *p = &r->pieces[value];
    p->home = v->block->handle;
    p->offset = v->offset + item_bytes * range[0];
    /* What does not belong to items is wanted whole by every run. */
    p->size = item_bytes ? item_bytes * range[1] : v->bytes_left;
    p->back = (k->own && !k->own->typed) || v->type == HCY_ARG_OUT || v->type == HCY_ARG_INOUT;
    for (int i = 0; r->narrow && i < XRT_PARTS; i++)
        if (value == k->shape->coded->in[i]) {
            p->offset = v->offset + r->reach[i].first;
            p->size = r->reach[i].end - r->reach[i].first;
        }
}

static int set_part(struct xrt_run *r, size_t argument, size_t value, const hcy_value *v)
{
    struct xrt_piece *p = &r->pieces[value];
    struct xrt_use use = use_of(r, argument);
    use.offset = p->offset;
    use.size = p->size;
    /* The catalogue's kernels write all of an OUT buffer that anybody reads; a user's need not. */
    use.bring = v->type != HCY_ARG_OUT || r->kernel->own;
    /* A user's kernel may be given the same bytes twice, and shall see them once. */
    int status = xrt_memory_in(&p->there, r->kernel->own ? NULL : &r->own[value], p->home, &use);
    if (status)
        return name_argument(status, r->kernel, argument);
    /* XRT passes on the address of a buffer alone, so a part needs a buffer of its own. */
    p->view = card_view(p->there.memory->buffer, p->size, p->there.at);
    return p->view && card_run_set_buffer(r->handle, (int)argument, p->view)
               ? 0
               : set_failed(r->kernel, argument);
}

/* Every register must have a value, so an empty page stands in for the address, with size 0. */
static int set_nothing(struct xrt_run *r, size_t argument, size_t value)
{
    int status = own_page(r, value, r->unit->groups[argument]);
    r->pieces[value].size = 0;
    if (!status && !card_run_set_buffer(r->handle, (int)argument, r->own[value]->buffer))
        status = set_failed(r->kernel, argument);
    return status;
}

static int set_buffer(struct xrt_run *r, size_t argument, size_t value, const struct xrt_launch *l,
                      const size_t range[2])
{
    const hcy_value *v = &l->desc->values[value];
    if (is_absent(v))
        return set_nothing(r, argument, value);
    if (v->offset % 8)
        return hcy_fail(
            HCY_EINVAL,
            "kernel %s: argument %s is a view at byte %zu of its buffer; FPGA kernels want multiples of 8",
            r->kernel->name, r->kernel->layout->args[argument].name, v->offset);
    if (r->narrow && value == r->kernel->shape->coded->frames)
        return set_frames(r, argument, value, l->item_bytes[value] * range[1]);
    take_piece(r, value, v, l->item_bytes[value], range);
    return r->pieces[value].size ? set_part(r, argument, value, v) : set_nothing(r, argument, value);
}

/* --- Numbers --- */

static int set_number(struct xrt_run *r, size_t argument, uint64_t number)
{
    return card_run_set_number(r->handle, (int)argument, number) ? 0 : set_failed(r->kernel, argument);
}

static int set_scalar(struct xrt_run *r, size_t argument, const hcy_value *v)
{
    uint64_t bits = 0;
    memcpy(&bits, v->bytes, v->size);
    /* The catalogue's registers have bits alone; XRT takes as a number what a user's metadata call one. */
    if (!r->kernel->own || !r->kernel->own->arguments[argument].is_real)
        return set_number(r, argument, bits);
    float single;
    memcpy(&single, v->bytes, sizeof single);
    double real = single;
    if (v->size == sizeof real)
        memcpy(&real, v->bytes, sizeof real);
    return card_run_set_real(r->handle, (int)argument, real) ? 0 : set_failed(r->kernel, argument);
}

/* What is brought home of two copies of the same bytes, in different memories of the card, would be the last one's. */
static int check_copies(const struct xrt_run *r)
{
    for (size_t i = 0; i < XRT_MOST_VALUES; i++)
        for (size_t j = 0; j < i; j++) {
            const struct xrt_piece *a = &r->pieces[j], *b = &r->pieces[i];
            if (a->view && b->view && a->home == b->home && a->there.memory != b->there.memory && a->back && b->back &&
                a->offset < b->offset + b->size && b->offset < a->offset + a->size)
                return hcy_fail(HCY_EINVAL,
                                "kernel %s: arguments %zu and %zu share memory, but are connected to different memories of "
                                "the card: give the kernel a signature, which says which one is written",
                                r->kernel->name, j + 1, i + 1);
        }
    return 0;
}

int xrt_run_set(struct xrt_run *r, const struct xrt_launch *l, const size_t range[2])
{
    const hcy_hls_layout *layout = l->kernel->layout;
    const hcy_value *v = l->desc->values;
    int status = look_at_frames(r, l, range);
    /* The catalogue's buffers have their size in an argument behind their address, 0 of one that is not there. */
    for (size_t i = 0, value = 0; !status && i < layout->n_args; i++)
        switch (layout->args[i].kind) {
        case HCY_HLS_ITEMS:
            status = set_number(r, i, range[1]);
            break;
        case HCY_HLS_ADDRESS:
            status = set_buffer(r, i, value++, l, range);
            break;
        case HCY_HLS_BYTES:
            status = set_number(r, i, r->pieces[value - 1].size);
            break;
        case HCY_HLS_STRUCT:
            status = set_structure(r, i, value, &v[value]);
            value++;
            break;
        default:
            status = set_scalar(r, i, &v[value]);
            value++;
        }
    return status ? status : check_copies(r);
}

/* --- Home --- */

/* A part of what a piece has written. */
static int bring_home(const struct xrt_piece *p, size_t at, size_t size)
{
    const struct xrt_there there = { p->there.memory, p->there.at + at };
    return xrt_memory_back(p->home, &there, p->offset + at, size);
}

/* Of frames with many bins those rows alone that their kernel has written. */
static int bring_sums_home(struct xrt_run *r, const struct xrt_launch *l)
{
    const struct xrt_sums *sums = r->kernel->shape->sums;
    const struct xrt_piece *p = &r->pieces[sums->sums], *reports = &r->pieces[sums->reports];
    const hcy_azint_job *job = l->desc->values[sums->job].bytes;
    const size_t bytes = l->item_bytes[sums->sums], n = p->size / bytes;
    struct xrt_reach rows[XRT_MOST_ROWS];
    int status = give_room(r, n * sizeof(hcy_frame_report));
    /* Reports say which frames have sums, and which of them lost pixels. */
    if (!status)
        status = xrt_memory_peek(r->bytes, reports->home, reports->offset, n * sizeof(hcy_frame_report));
    for (size_t i = 0; !status && i < n; i++) {
        size_t n_rows = xrt_rows_written(rows, job, (const hcy_frame_report *)r->bytes + i);
        for (size_t k = 0; !status && k < n_rows; k++)
            status = bring_home(p, i * bytes + rows[k].first, rows[k].end - rows[k].first);
    }
    return status;
}

int xrt_run_home(struct xrt_run *r, const struct xrt_launch *l)
{
    const struct xrt_sums *sums = r->kernel->shape ? r->kernel->shape->sums : NULL;
    /* Where the card's side counts nothing is brought, and no report asked for. */
    bool by_rows = sums && r->pieces[sums->sums].view && xrt_by_rows(l->desc->values[sums->job].bytes) &&
                   xrt_memory_at_host(r->pieces[sums->sums].home);
    int status = 0;
    for (size_t i = 0; !status && i < l->desc->n_values; i++)
        if (r->pieces[i].back && !(by_rows && i == sums->sums))
            status = bring_home(&r->pieces[i], 0, r->pieces[i].size);
    return !status && by_rows ? bring_sums_home(r, l) : status;
}

void xrt_run_forget(struct xrt_run *r)
{
    for (size_t i = 0; i < XRT_MOST_VALUES; i++)
        /* Views are the launch's own; the buffers behind them stay with their owners. */
        if (r->pieces[i].view)
            card_buffer_free(r->pieces[i].view);
    memset(r->pieces, 0, sizeof r->pieces);
}

void xrt_run_free(struct xrt_run *r)
{
    for (size_t i = 0; i < XRT_MOST_VALUES; i++)
        xrt_memory_free(r->own[i]);
    free(r->bytes);
}
