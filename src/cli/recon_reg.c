/* recon_reg.c - regularisers of halcyon recon: "wavelet:0.01,tv:0.005" to <halcyon/proximal.h>'s. */
#include "recon.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TGV_SECOND 2 /* the usual weight of second differences, of the first ones' */
enum { TAPS = 4, MOST_LEVELS = 4, LLR_BLOCK = 8, MOST_BLOCK = 1 << 20 };
enum { L1, WAVELET, TV, TGV, LLR };
static const char *const reg_names[] = { [L1] = "l1", [WAVELET] = "wavelet", [TV] = "tv", [TGV] = "tgv",
                                         [LLR] = "llr" };
enum { REG_NAMES = sizeof reg_names / sizeof reg_names[0] };

/* One of the list, up to its comma: what follows it, or NULL if it is none. */
static const char *parse_reg(struct recon_reg *reg, const char *at)
{
    size_t name = strcspn(at, ":,");
    char *end = NULL;
    reg->kind = -1;
    for (int i = 0; i < REG_NAMES; i++)
        if (strlen(reg_names[i]) == name && !strncmp(at, reg_names[i], name))
            reg->kind = i;
    if (reg->kind < 0 || at[name] != ':')
        return NULL;
    reg->factor = strtod(at + name + 1, &end);
    if (!(reg->factor >= 0) || !isfinite(reg->factor) || end == at + name + 1)
        return NULL;
    reg->block = LLR_BLOCK;
    if (reg->kind == LLR && *end == ':') {
        const char *number = end + 1;
        const long block = strtol(number, &end, 10);
        if (end == number || block < 1 || block > MOST_BLOCK)
            return NULL;
        reg->block = (int)block;
    }
    if (*end && (*end != ',' || !end[1]))
        return NULL;
    return *end ? end + 1 : end;
}

int recon_parse_reg(struct recon *r)
{
    const char *at = r->v->reg;
    while (at && *at && r->n_regs < RECON_MOST_REGS)
        at = parse_reg(&r->regs[r->n_regs++], at);
    for (size_t i = 0; i < r->n_regs; i++)
        r->is_generalised = r->is_generalised || r->regs[i].kind == TGV;
    if (!r->v->reg || (at && !*at && r->n_regs == 1) || (at && !*at && r->n_regs && !r->is_generalised))
        return CLI_OK;
    return cli_usage("--reg takes l1:F, wavelet:F, tv:F, llr:F[:BLOCK], F of 0 or more, up to %d of them with commas "
                     "between, or tgv:F alone; it is %s", RECON_MOST_REGS, r->v->reg);
}

/* As often as all axes can be halved: a wavelet's levels. */
static int count_levels(const struct recon *r)
{
    int levels = 0;
    bool even = true;
    while (even && levels < MOST_LEVELS) {
        for (int d = 0; d < r->dim; d++)
            even = even && r->sizes[d] >> levels > 1 && !(r->sizes[d] >> levels & 1);
        levels += even;
    }
    return levels;
}

static int make_reg(hcy_proximal **prox, const struct recon *r, const struct recon_reg *reg,
                    const hcy_space *image)
{
    int levels = count_levels(r);
    if (reg->kind == L1)
        return hcy_proximal_l1(prox, r->dev, image, reg->factor);
    if (reg->kind == TV)
        return hcy_proximal_tv(prox, r->dev, image, r->dim, HCY_TV_ISOTROPIC, reg->factor);
    if (reg->kind == TGV)
        return hcy_proximal_tgv(prox, r->dev, image, r->dim, reg->factor, TGV_SECOND * reg->factor);
    if (reg->kind == LLR && image->rank <= r->dim)
        return hcy_fail(HCY_EINVAL, "--reg llr: of several images, as of --frames, --basis or coils without --maps; "
                                    "there is one");
    if (reg->kind == LLR)
        return hcy_proximal_low_rank(prox, r->dev, image, r->dim, reg->block, 1, reg->factor);
    if (!levels)
        return hcy_fail(HCY_EINVAL, "--reg wavelet: the image's sizes must be even; they are %s",
                        r->size_words);
    return hcy_proximal_wavelet(prox, r->dev, image, r->dim, TAPS, levels, reg->factor);
}

int recon_make_regs(struct recon *r, const hcy_space *image)
{
    int status = 0;
    for (size_t i = 0; i < r->n_regs && !status; i++)
        status = make_reg(&r->proximals[i], r, &r->regs[i], image);
    return status;
}

bool recon_regs_count(const struct recon *r)
{
    bool counts = false;
    for (size_t i = 0; i < r->n_regs; i++)
        counts = counts || r->regs[i].kind == LLR; /* whose blocks are elsewhere each time */
    return counts;
}

/* The field that TGV seeks along with the image stands behind it in the solver's vectors. */
int recon_add_field_of_tgv(hcy_operator **op, struct recon *r, const hcy_space *image)
{
    hcy_operator *part = NULL, *back = NULL;
    int status = hcy_operator_part(&part, r->dev, image, 1 + r->dim, 0);
    if (!status && !r->gram)
        status = hcy_operator_compose(op, (hcy_operator *[]){ recon_operator(r), part }, 2);
    else if (!status && !(status = hcy_operator_adjoint(&back, part)))
        status = hcy_operator_compose(op, (hcy_operator *[]){ back, r->gram, part }, 3);
    hcy_operator_release(back);
    hcy_operator_release(part);
    return status;
}

int recon_widen_for_tgv(hcy_array **data, struct recon *r)
{
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    hcy_operator_info whole = HCY_OPERATOR_INFO_INIT;
    hcy_operator *part = NULL;
    hcy_array *wide = NULL;
    int status = hcy_array_get_info(&info, *data);
    hcy_space image = { info.dtype, info.rank, { 0 }, NULL };
    memcpy(image.shape, info.shape, sizeof image.shape);
    if (!status)
        status = hcy_operator_part(&part, r->dev, &image, 1 + r->dim, 0);
    if (!status)
        status = hcy_operator_get_info(&whole, part);
    if (!status)
        status = hcy_array_empty(&wide, r->dev, image.dtype, whole.domain.rank, whole.domain.shape);
    if (!status)
        status = hcy_operator_apply_adjoint(r->queue, wide, part, *data);
    if (!status)
        status = hcy_queue_finish(r->queue);
    hcy_operator_release(part);
    hcy_array_release(*data);
    *data = wide;
    return status;
}
