/* eval_held.c - what each register of a program holds when a step reads it.  A register's room is eight bytes an
 * element, of which a float or a truth fills four, and it lies on a thread's stack: what a step reads without its
 * having been written, or wider than it was written, would be what the thread did before.  Pure functions, any
 * thread. */
#include "cpu_eval.h"

/* The tables of eval_ops.h name types so. */
enum { b32 = HCY_EVAL_B32, i64 = HCY_EVAL_I64, u64 = HCY_EVAL_U64, f32 = HCY_EVAL_F32, f64 = HCY_EVAL_F64 };

/* What an operation makes of its arguments; of what reduces or scans all is of one type. */
static const struct signature {
    unsigned char arity, makes, takes[3];
} signatures[HCY_EVAL_END] = {
#define OPERATION(name, t, arity, ta, tb, tc, ...) [HCY_EVAL_##name] = { arity, t, { ta, tb, tc } },
#define OWN(name, t)                               [HCY_EVAL_##name] = { 1, t, { t, t, t } },
#define JOINING(name, t, join)                     OWN(name, t)
    HCY_EVAL_OPS(OPERATION) HCY_EVAL_SCANS(JOINING) HCY_EVAL_OWN_SCANS(OWN)
    HCY_EVAL_REDUCTIONS(JOINING) HCY_EVAL_OWN_REDUCTIONS(OWN)
};
static const unsigned char loaded_types[HCY_EVAL_MEMORIES] = {
#define MEMORY(name, m, t, loaded, stored) [HCY_EVAL_M_##name] = t,
    HCY_EVAL_MEMORY(MEMORY)
};

/* A type and 1 more; a carry is one element and not a piece of them, so that scans alone take it. */
enum { NEVER_WRITTEN, ONE_CARRIED = HCY_EVAL_TYPES };
static const char *const words[] = { "nothing", "b32", "i64", "u64", "f32", "f64",
                                     "a carry of b32", "a carry of i64", "a carry of u64", "a carry of f32",
                                     "a carry of f64" };

struct held {
    const char *whose;
    uint32_t step, fixed; /* bits of registers that steps before all others have made once */
    unsigned char what[HCY_EVAL_REGISTERS];
};

static bool is_integer(unsigned what)
{
    return what == i64 || what == u64;
}

static int read_held(const struct held *h, unsigned number, unsigned what)
{
    unsigned is = h->what[number];
    /* Integers are the same 64 bits, and a literal may be read as either. */
    if (is == what + 1 || (is && is_integer(is - 1) && is_integer(what)))
        return 0;
    return hcy_fail(HCY_EINVAL, "eval_run: step %u of the %s reads register %u as %s, which holds %s there", h->step,
                    h->whose, number, words[what + 1], words[is]);
}

static int write_held(struct held *h, unsigned number, unsigned what)
{
    /* The next piece would find it changed. */
    if (h->fixed >> number & 1)
        return hcy_fail(HCY_EINVAL,
                        "eval_run: step %u of the %s writes register %u, which holds a number for all pieces", h->step,
                        h->whose, number);
    h->what[number] = (unsigned char)(what + 1);
    return 0;
}

static int check_reduced(const struct held *h, const hcy_eval_step *s)
{
    unsigned t = signatures[s->op].makes;
    /* The number that was made of a piece has no register: it goes from one place to the other as it is. */
    if (loaded_types[s->memory] != t)
        return hcy_fail(HCY_EINVAL, "eval_run: step %u of the %s reduces to %s, which is stored as %s", h->step,
                        h->whose, words[t + 1], words[loaded_types[s->memory] + 1]);
    return read_held(h, s->a, t);
}

static int check_scanned(struct held *h, const hcy_eval_step *s)
{
    unsigned t = signatures[s->op].makes;
    int status = read_held(h, s->a, t);
    if (!status)
        status = read_held(h, s->b, ONE_CARRIED + t);
    if (!status && s->memory)
        status = read_held(h, s->c, t);
    return status ? status : write_held(h, s->to, t);
}

static int check_computed(struct held *h, const hcy_eval_step *s)
{
    const struct signature *op = &signatures[s->op];
    const uint16_t arguments[3] = { s->a, s->b, s->c };
    int status = 0;
    for (unsigned k = 0; !status && k < op->arity; k++)
        status = read_held(h, arguments[k], op->takes[k]);
    return status ? status : write_held(h, s->to, op->makes);
}

/* `own`: what LEFT, RIGHT and JOINED are of; no other steps than a join's have them. */
static int check_held(struct held *h, const hcy_eval_step *s, unsigned own)
{
    switch (s->op) {
    case HCY_EVAL_VALUE:
        return write_held(h, s->to, s->memory);
    case HCY_EVAL_INDEX:
    case HCY_EVAL_PLACE:
        return write_held(h, s->to, i64);
    case HCY_EVAL_LOAD:
        return write_held(h, s->to, loaded_types[s->memory]);
    case HCY_EVAL_CARRY:
        return write_held(h, s->to, ONE_CARRIED + loaded_types[s->memory]);
    case HCY_EVAL_LEFT:
    case HCY_EVAL_RIGHT:
        return write_held(h, s->to, own);
    case HCY_EVAL_STORE:
        return read_held(h, s->a, loaded_types[s->memory]);
    case HCY_EVAL_JOINED:
        return read_held(h, s->a, own);
    }
    if (s->op >= HCY_EVAL_FIRST_REDUCTION)
        return check_reduced(h, s);
    return s->op >= HCY_EVAL_FIRST_SCAN ? check_scanned(h, s) : check_computed(h, s);
}

/* Every piece runs the same steps in the same order, and keeps nothing of the piece before but what is fixed: what
 * holds in this one pass holds in all. */
static int check_pass(const char *whose, const hcy_eval_step *steps, uint32_t n, uint32_t n_fixed, unsigned own)
{
    struct held h = { .whose = whose };
    uint32_t fixed = 0;
    int status = 0;
    for (; !status && h.step < n; h.step++) {
        if (h.step < n_fixed)
            fixed |= (uint32_t)1 << steps[h.step].to;
        else
            h.fixed = fixed;
        status = check_held(&h, &steps[h.step], own);
    }
    return status;
}

int cpu_eval_check_held(const hcy_eval_program *p)
{
    const hcy_eval_join *join = &p->join;
    uint32_t n_values = 0;
    unsigned own = HCY_EVAL_TYPES;
    int status = check_pass("program", p->steps, p->n_steps, p->n_fixed, own);
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (HCY_EVAL_IS_OWN(p->steps[i].op))
            own = signatures[p->steps[i].op].makes;
    if (status || own == HCY_EVAL_TYPES)
        return status;
    /* All values of a join are spread before its first step, wherever they stand. */
    while (n_values < join->n_steps && join->steps[n_values].op == HCY_EVAL_VALUE)
        n_values++;
    return check_pass("join", join->steps, join->n_steps, n_values, own);
}
