/* dist_operator.c - an operator over ranks, of each rank's own: which side is added up follows from the layouts.
 *
 * It keeps both layouts, so that the tables of its spaces last, and has no memory of its own.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <stdlib.h>
#include <string.h>

struct over_ranks {
    hcy_dist_layout *range, *domain;
    hcy_operator *own;
};

static void free_over_ranks(void *user)
{
    struct over_ranks *o = user;
    hcy_operator_release(o->own);
    hcy_dist_layout_release(o->range);
    hcy_dist_layout_release(o->domain);
    free(o);
}

/* What is replicated and made of parts is the sum of what the ranks have of it. */
static int run_own(hcy_queue *queue, hcy_array *to, const struct over_ranks *o, hcy_array *from, bool adjoint)
{
    const hcy_dist_layout *to_layout = adjoint ? o->domain : o->range,
                          *from_layout = adjoint ? o->range : o->domain;
    int status = hcy__layout_compare(queue, from, from_layout);
    if (!status)
        status = hcy__operator_run(queue, to, o->own, from, adjoint);
    if (!status && !hcy__is_dealt(to_layout) && hcy__is_dealt(from_layout))
        status = hcy_dist_allreduce(queue, to, to_layout->comm, HCY_REDUCE_SUM);
    return status;
}

static int apply_over_ranks(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_own(queue, y, user, x, false);
}

static int apply_over_ranks_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_own(queue, x, user, y, true);
}

/* q is this rank's own, or the same on all: then what is made of it needs no other rank's. */
static int run_own_twice(hcy_queue *queue, hcy_array *q, hcy_array *g, hcy_array *s, void *user, hcy_array *p,
                         hcy_array *m, hcy_array *by)
{
    const struct over_ranks *o = user;
    int status = hcy__layout_compare(queue, p, o->domain);
    if (!status)
        status = hcy__layout_compare(queue, m, o->range);
    if (!status)
        status = o->own->twice(queue, q, g, s, o->own->desc.user, p, m, by);
    if (!status && !hcy__is_dealt(o->domain) && hcy__is_dealt(o->range))
        status = hcy_dist_allreduce(queue, g, o->domain->comm, HCY_REDUCE_SUM);
    if (!status && !hcy__is_dealt(o->domain) && hcy__is_dealt(o->range))
        status = hcy_dist_allreduce(queue, s, o->domain->comm, HCY_REDUCE_SUM);
    return status;
}

/* The layout's space, if the own operator's is this rank's part of it. */
static int check_side(hcy_space *space, const hcy_dist_layout *layout, const hcy_space *own, const char *side)
{
    char has[240], wants[240];
    int status = hcy_dist_space(space, layout, own->dtype);
    if (!status && (own->rank != space->rank ||
                    memcmp(own->shape, space->shape, sizeof *own->shape * (size_t)own->rank)))
        status =
            hcy_fail(HCY_EINVAL, "hcy_dist_operator: the own operator's %s is %s, this rank's part is %s",
                     side, hcy__space_text(has, own), hcy__space_text(wants, space));
    return status;
}

static int make_over_ranks(hcy_operator_desc *desc, hcy_dist_layout *range, hcy_dist_layout *domain,
                           hcy_operator *own)
{
    int status = check_side(&desc->range, range, &own->desc.range, "range");
    if (!status)
        status = check_side(&desc->domain, domain, &own->desc.domain, "domain");
    if (status)
        return status;
    struct over_ranks *o = malloc(sizeof *o);
    if (!o)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    *o = (struct over_ranks){ hcy_dist_layout_retain(range), hcy_dist_layout_retain(domain),
                              hcy_operator_retain(own) };
    desc->destroy = free_over_ranks;
    desc->user = o;
    return 0;
}

int hcy__dist_agree_on(hcy_operator **op, hcy_dist *comm, int status)
{
    const int agreed = hcy_dist_agree(comm, status);
    if (agreed && !status) {
        hcy_operator_release(*op);
        *op = NULL;
    }
    return agreed;
}

int hcy__dist_same(hcy_dist *comm, const void *what, size_t bytes, const char *function, const char *words)
{
    const uint64_t sum = hcy_cache_sum(what, bytes);
    uint64_t ends[2] = { sum, ~sum };
    const int status = hcy_dist_allreduce_host(ends, comm, HCY_UINT64, 2, HCY_REDUCE_MIN);
    return status || ends[0] == ~ends[1] ? status : hcy_fail(HCY_EINVAL, "%s: ranks have other %s", function, words);
}

/* A rank whose operator lacks an adjoint would leave the others waiting in theirs, as would one that adds up where they
 * do not; numbers of two types do not go together. */
static int compare_own(bool *has_adjoint, bool *goes_twice, const hcy_dist_layout *to, const hcy_dist_layout *from,
                       const hcy_operator *own)
{
    const int32_t mine[4] = { own->desc.range.dtype, own->desc.domain.dtype, hcy__is_dealt(to), hcy__is_dealt(from) };
    int32_t least[10] = { own->desc.adjoint != NULL };
    /* Columns of a matrix are added up before anything can be made of them. */
    least[9] = own->twice && (hcy__is_dealt(to) || !hcy__is_dealt(from));
    for (int i = 0; i < 4; i++) {
        least[1 + 2 * i] = mine[i];
        least[2 + 2 * i] = -mine[i];
    }
    int status = hcy_dist_allreduce_host(least, to->comm, HCY_INT32, 10, HCY_REDUCE_MIN);
    *has_adjoint = least[0] != 0;
    *goes_twice = least[9] != 0;
    if (!status && (least[1] != -least[2] || least[3] != -least[4]))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_operator: the ranks' operators are between numbers of several types");
    if (!status && (least[5] != -least[6] || least[7] != -least[8]))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_operator: what some ranks have in blocks is replicated on others (plans "
                                      "are to be of one type)");
    return status;
}

int hcy_dist_operator(hcy_operator **op, hcy_dist_layout *range, hcy_dist_layout *domain, hcy_operator *own)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (op)
        *op = NULL;
    if (!op || !range || !domain || range->comm != domain->comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_operator: %s",
                        op && range && domain ? "layouts of two communicators" : "no place, or no layouts");
    int status = own ? make_over_ranks(&desc, range, domain, own)
                     : hcy_fail(HCY_EINVAL, "hcy_dist_operator: no operator");
    bool has_adjoint = false, goes_twice = false;
    int agreed = hcy_dist_agree(range->comm, status);
    if (!agreed)
        agreed = compare_own(&has_adjoint, &goes_twice, range, domain, own);
    if (agreed) {
        if (!status)
            free_over_ranks(desc.user);
        return agreed;
    }
    desc.name = "over ranks";
    desc.apply = apply_over_ranks;
    desc.adjoint = has_adjoint ? apply_over_ranks_adjoint : NULL;
    status = hcy__operator_make(op, own->dev, &desc);
    if (!status && goes_twice)
        (*op)->twice = run_own_twice;
    return hcy__dist_agree_on(op, range->comm, status);
}
