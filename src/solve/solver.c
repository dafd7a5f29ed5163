/* solver.c - solvers: making them with all their memory, starting, stepping, running, and what is known of them.
 *
 * A solver belongs to its caller, who uses it from one thread at a time.  What a step submits keeps the arrays it uses.
 */
#include "solve_priv.h"
#include "sized.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hcy__method *const methods[] = {
    [HCY_SOLVER_CG] = &hcy__method_cg,     [HCY_SOLVER_CG_NORMAL] = &hcy__method_cg_normal,
    [HCY_SOLVER_CGLS] = &hcy__method_cgls, [HCY_SOLVER_LSQR] = &hcy__method_lsqr,
    [HCY_SOLVER_LSMR] = &hcy__method_lsmr, [HCY_SOLVER_BICGSTAB] = &hcy__method_bicgstab,
    [HCY_SOLVER_ISTA] = &hcy__method_ista, [HCY_SOLVER_FISTA] = &hcy__method_fista,
    [HCY_SOLVER_PRIMAL_DUAL] = &hcy__method_primal_dual,
    [HCY_SOLVER_ADMM] = &hcy__method_admm,
    [HCY_SOLVER_SPLIT_BREGMAN] = &hcy__method_split_bregman,
};

/* --- What methods compute with --- */

enum { TEXT = 512 };

/* Texts are the library's own and short; one that were too long would be cut off, and refused. */
static void name_types(char full[TEXT], const hcy_solver *s, const char *text)
{
    const char *real = hcy__real_name(s->op->desc.domain.dtype),
               *own = hcy_dtype_name(s->op->desc.domain.dtype);
    size_t at = 0;
    for (; *text && at + 16 < TEXT; text++) {
        const char *name = *text == '@' ? real : *text == '#' ? own : NULL;
        at += name ? (size_t)snprintf(full + at, TEXT - at, "%s", name) : 1;
        if (!name)
            full[at - 1] = *text;
    }
    full[at] = 0;
}

int hcy__solver_eval(hcy_solver *s, const char *text, const hcy_operand *operands, size_t n)
{
    char full[TEXT];
    name_types(full, s, text);
    return hcy_eval(s->queue, full, operands, n);
}

static int take_real(hcy_solver *s, hcy_array *number, hcy_array *sum)
{
    return HCY_EVAL(s->queue, "number = real(sum)", OPERAND(number), OPERAND(sum));
}

int hcy__solver_dot(hcy_solver *s, hcy_array *number, bool of_range, hcy_array *x, hcy_array *y)
{
    const hcy_space *space = of_range ? &s->op->desc.range : &s->op->desc.domain;
    hcy_array *sum = s->sums[of_range];
    if (number->dtype == hcy__dot_type(space))
        return hcy__vector_dot(s->queue, number, space, x, y);
    int status = hcy__vector_dot(s->queue, sum, space, x, y);
    return status ? status : take_real(s, number, sum);
}

/* sum = <v, v>: of this process's array, then of all, with the text; or by the space's table. */
static int eval_and_sum(hcy_solver *s, hcy_array *sum, const hcy_space *space, const char *text,
                        const hcy_operand *operands, size_t n)
{
    hcy_operand all[HCY__SQUARE_OPERANDS + 1];
    char full[TEXT];
    if (!hcy__adds_parts(space)) {
        name_types(full, s, text);
        return space->vectors->eval_square(s->queue, sum, space->vectors->user, full, operands, n);
    }
    memcpy(all, operands, n * sizeof *all);
    all[n++] = hcy_op_array("sum_", sum);
    snprintf(full, sizeof full, hcy__space_is_complex(space) ? "%s; sum_ = vdot(complex128(%s), complex128(%s))"
                                                             : "%s; sum_ = dot(float64(%s), float64(%s))",
             text, operands[0].name, operands[0].name);
    int status = hcy__solver_eval(s, full, all, n);
    if (!status && space->vectors && space->vectors->total)
        status = space->vectors->total(s->queue, sum, space->vectors->user);
    return status;
}

int hcy__solver_eval_square(hcy_solver *s, hcy_array *number, bool of_range, const char *text,
                            const hcy_operand *operands, size_t n)
{
    const hcy_space *space = of_range ? &s->op->desc.range : &s->op->desc.domain;
    const bool is_whole = number->dtype == hcy__dot_type(space);
    hcy_array *v = operands[0].array, *sum = is_whole ? number : s->sums[of_range];
    if ((!hcy__adds_parts(space) && !hcy__evaluates_square(space)) || n > HCY__SQUARE_OPERANDS) {
        int status = hcy__solver_eval(s, text, operands, n);
        return status ? status : hcy__solver_dot(s, number, of_range, v, v);
    }
    int status = eval_and_sum(s, sum, space, text, operands, n);
    return status || is_whole ? status : take_real(s, number, sum);
}

static int note_norm(hcy_solver *s, const char *text, hcy_array *square, hcy_array *scale)
{
    /* A number of each step's, which there is room for: a view that keeps nothing, and is no memory of the step's. */
    hcy_array one = { .buffer = s->norms->buffer,
                      .room = s->norms->room,
                      .dtype = s->norms->dtype,
                      .offset = s->norms->offset + s->iterations,
                      .count = 1 };
    atomic_init(&one.refs, 1);
    const hcy_operand operands[] = { hcy_op_array("norm", &one), OPERAND(square), OPERAND(scale) };
    return hcy_eval(s->queue, text, operands, scale ? 3 : 2);
}

int hcy__solver_note(hcy_solver *s, hcy_array *square)
{
    return note_norm(s, "norm = sqrt(real(square))", square, NULL);
}

int hcy__solver_note_over(hcy_solver *s, hcy_array *square, hcy_array *scale)
{
    return note_norm(s, "norm = sqrt(square) / scale", square, scale);
}

double hcy__rounding(const hcy_solver *s)
{
    return hcy__is_single(&s->op->desc.domain) ? 0x1p-24 : 0x1p-53;
}

double hcy__rounding_square(const hcy_solver *s)
{
    return hcy__is_single(&s->op->desc.domain) ? 0x1p-44 : 0x1p-102;
}

double hcy__nothing_gained(const hcy_solver *s)
{
    return s->opts.tolerance > 0 ? 0 : hcy__rounding_square(s);
}

int hcy__solver_misfit(hcy_solver *s, hcy_array *r, hcy_array *b)
{
    int status = hcy__solver_apply(s, r, s->x);
    return status ? status : HCY_EVAL(s->queue, "r = b - r", OPERAND(r), OPERAND(b));
}

int hcy__solver_gradient(hcy_solver *s, hcy_array *g, hcy_array *r, hcy_array *y)
{
    /* With a Gram operator both spaces are one, and the product is the gradient's already. */
    hcy_array *b = s->b, *product = s->opts.is_gram ? g : r;
    int status = hcy__solver_apply(s, product, y);
    if (!status)
        status = SOLVER_EVAL(s, "r -= b", hcy_op_array("r", product), OPERAND(b));
    return status || s->opts.is_gram ? status : hcy__solver_adjoint(s, g, r);
}

/* --- Making --- */

/* What options say of regularisers. */
static int check_terms(const hcy_solver_options *o)
{
    const struct hcy__method *m = methods[o->method];
    if (o->n_proximals && !o->proximals)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %zu regularisers, and none is given", o->n_proximals);
    if ((o->n_proximals || o->l1 > 0) && !m->n_terms)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %s has no l1 and no regularisers; ISTA and others have",
                        m->name);
    if (o->n_proximals > (size_t)m->n_terms || o->n_proximals + (o->l1 > 0) > (size_t)m->n_terms)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %s takes %d regularisers at most, l1 among them", m->name,
                        m->n_terms);
    if (!(o->sigma >= 0 && o->rho >= 0) || isinf(o->sigma + o->rho))
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: sigma and rho are finite and not below 0");
    if (o->inner < 0 || o->add_back < 1)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %d inner steps, which are 0 or more, and data added "
                                    "back every %d, which is 1 or more", o->inner, o->add_back);
    if (o->is_gram && !m->n_terms)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %s knows no Gram operator as such; CG is for it", m->name);
    return 0;
}

static int check_options(const hcy_solver_options *o)
{
    if (o->method < HCY_SOLVER_CG || o->method > HCY_SOLVER_SPLIT_BREGMAN)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %d is no method", o->method);
    const struct hcy__method *m = methods[o->method];
    if (o->max_iterations < 1 || o->check_every < 1)
        return hcy_fail(HCY_EINVAL,
                        "hcy_solver_create: %lld iterations, and a look every %d; 1 of each at least",
                        (long long)o->max_iterations, o->check_every);
    /* One norm more than iterations is kept. */
    if (o->max_iterations == INT64_MAX)
        return hcy_fail(HCY_ERANGE, "hcy_solver_create: %lld iterations are more than can be counted",
                        (long long)o->max_iterations);
    /* Written so that what is no number is refused too. */
    if (!(o->l2 >= 0 && o->l1 >= 0 && o->tolerance >= 0 && o->step >= 0) ||
        isinf(o->l2 + o->l1 + o->tolerance + o->step))
        return hcy_fail(HCY_EINVAL,
                        "hcy_solver_create: l2, l1, tolerance and step are finite and not below 0");
    if (o->l2 > 0 && !m->is_damped && m->is_square)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %s has no l2; hcy_operator_sum() adds it to A",
                        m->name);
    return check_terms(o);
}

static int check_operator_for(const struct hcy__method *m, const hcy_operator *op, bool is_gram)
{
    if (m->needs_adjoint && !op->desc.adjoint && !is_gram)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_solver_create: %s needs an adjoint, which operator %s has not",
                        m->name, op->desc.name);
    if ((m->is_square || is_gram) && !hcy__space_same(&op->desc.domain, &op->desc.range))
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: %s is for operators whose domain is their range",
                        m->name);
    return 0;
}

/* The operator with sqrt(l2) times the identity under it: least squares with l2 are those of more rows.  Rows have the
 * range's numbers, which may be complex ones of a real x. */
static int add_rows(hcy_operator **out, hcy_operator *op, double l2)
{
    const hcy_space *domain = &op->desc.domain;
    hcy_operator *same = NULL, *rows = NULL;
    int status = hcy__space_is_complex(domain) == hcy__space_is_complex(&op->desc.range)
                     ? hcy_operator_identity(&same, op->dev, domain)
                     : hcy_operator_complex(&same, op->dev, domain);
    if (!status)
        status = hcy_operator_scale(&rows, same, sqrt(l2), 0);
    if (!status)
        status = hcy_operator_vstack(out, (hcy_operator *[]){ op, rows }, 2);
    hcy_operator_release(same);
    hcy_operator_release(rows);
    return status;
}

static int make_vectors(hcy_solver *s)
{
    const struct hcy__method *m = s->method;
    const hcy_space *domain = &s->op->desc.domain, *range = &s->op->desc.range;
    int status = hcy__space_vector(&s->x, s->op->dev, domain);
    for (int i = 0; !status && i < m->n_domain + (s->op->twice ? m->n_twice : 0); i++)
        status = hcy__space_vector(&s->d[i], s->op->dev, domain);
    for (int i = 0; !status && i < m->n_range; i++)
        status = hcy__space_vector(&s->r[i], s->op->dev, range);
    if (!status && s->op != s->given)
        status = hcy__space_vector(&s->padded, s->op->dev, range);
    for (int i = 0; !status && i < m->n_numbers; i++)
        status =
            hcy__new_number(&s->n[i], s->op->dev, m->complex_numbers ? hcy__dot_type(domain) : HCY_FLOAT64);
    if (!status && m->stuck)
        status = hcy_array_full(&s->stuck, s->queue, HCY_FLOAT64, 0, NULL, 0);
    if (!status)
        status = hcy__new_number(&s->sums[0], s->op->dev, hcy__dot_type(domain));
    if (!status)
        status = hcy__new_number(&s->sums[1], s->op->dev, hcy__dot_type(range));
    if (!status)
        status =
            hcy_array_empty(&s->norms, s->op->dev, HCY_FLOAT64, 1, (int64_t[]){ s->opts.max_iterations + 1 });
    return status;
}

int hcy_solver_create(hcy_solver **out, hcy_queue *queue, hcy_operator *op, const hcy_solver_options *user)
{
    hcy_solver_options opts = HCY_SOLVER_OPTIONS_INIT;
    if (!out || !queue || !op)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: no %s",
                        !out    ? "place for it"
                        : queue ? "operator"
                                : "queue");
    int status = user ? hcy__sized_read(&opts, sizeof opts, user, "hcy_solver_options") : 0;
    if (!status)
        status = check_options(&opts);
    if (!status)
        status = check_operator_for(methods[opts.method], op, opts.is_gram);
    if (!status && hcy_queue_device(queue) != op->dev)
        status = hcy_fail(HCY_EINVAL, "hcy_solver_create: queue and operator are of two devices");
    if (status)
        return status;
    /* From here on hcy_solver_destroy() takes it apart, however far it came. */
    hcy_solver *s = calloc(1, sizeof *s);
    if (!s)
        return hcy_fail(HCY_ENOMEM, "out of memory for a solver");
    s->method = methods[opts.method];
    s->opts = opts;
    s->queue = hcy_queue_retain(queue);
    s->given = hcy_operator_retain(op);
    if (opts.l2 > 0 && !s->method->is_damped)
        status = add_rows(&s->op, op, opts.l2);
    else
        s->op = hcy_operator_retain(op);
    if (!status)
        status = make_vectors(s);
    if (!status)
        status = hcy__terms_make(s);
    if (!status)
        status = hcy__terms_find_steps(s);
    /* The caller's array of regularisers need not outlive the call. */
    s->opts.proximals = NULL;
    if (status)
        hcy_solver_destroy(s);
    else
        *out = s;
    return status;
}

void hcy_solver_destroy(hcy_solver *s)
{
    if (!s)
        return;
    hcy_array *const arrays[] = { s->x, s->b, s->norms, s->padded, s->stuck, s->sums[0], s->sums[1] };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    for (int i = 0; i < HCY__SOLVER_VECTORS; i++) {
        hcy_array_release(s->d[i]);
        hcy_array_release(s->r[i]);
    }
    for (int i = 0; i < HCY__SOLVER_NUMBERS; i++)
        hcy_array_release(s->n[i]);
    hcy__terms_free(s);
    hcy_operator_release(s->op);
    hcy_operator_release(s->given);
    hcy_queue_release(s->queue);
    free(s);
}

/* --- Starting and going on --- */

/* b, and zeros behind it. */
static int pad_data(hcy_solver *s, hcy_array *b)
{
    hcy_array *front = NULL;
    int status = hcy__vector_zero(s->queue, s->padded);
    if (!status)
        status = hcy__vector_part(&front, s->padded, 0, &s->given->desc.range);
    if (!status)
        status = hcy_array_copy(s->queue, front, b);
    hcy_array_release(front);
    return status;
}

/* What moves a solver would move it under the run that calls back. */
static int refuse_in_callback(const hcy_solver *s, const char *function)
{
    if (!s)
        return hcy_fail(HCY_EINVAL, "%s: no solver", function);
    return s->in_callback ? hcy_fail(HCY_ESTATE, "%s in a callback of the solver's own: end the run by the callback's "
                                                 "value, and call it behind that", function)
                          : 0;
}

int hcy_solver_start(hcy_solver *s, hcy_array *b, hcy_array *x0)
{
    int status = refuse_in_callback(s, "hcy_solver_start");
    if (!status)
        status = hcy__operator_check_vector(b, s->given, &s->given->desc.range, "data");
    if (!status && x0)
        status = hcy__operator_check_vector(x0, s->given, &s->given->desc.domain, "start");
    /* An inverse iteration would give the last x as data, and lose it before it is read. */
    if (!status && hcy__operator_shares_memory(b, s->x))
        status =
            hcy_fail(HCY_EINVAL, "hcy_solver_start: the data is the solver's own x, which is written over; "
                                 "hcy_array_copy() makes another");
    if (status)
        return status;
    s->started = false;
    /* The solver's own x may be given back to it, to begin anew from there. */
    if (x0 != s->x)
        status = x0 ? hcy_array_copy(s->queue, s->x, x0) : hcy__vector_zero(s->queue, s->x);
    if (!status && s->padded)
        status = pad_data(s, b);
    if (status)
        return status;
    hcy_array_retain(b);
    hcy_array_release(s->b);
    s->b = b;
    s->iterations = s->reason = 0;
    s->first = s->last = 0;
    s->message = NULL;
    status = hcy__terms_reset(s);
    if (!status)
        status = s->method->start(s, s->padded ? s->padded : s->b);
    s->started = !status;
    return status;
}

int hcy_solver_step(hcy_solver *s)
{
    int status = refuse_in_callback(s, "hcy_solver_step");
    if (status)
        return status;
    if (!s->started)
        return hcy_fail(HCY_ESTATE, "hcy_solver_step: the solver was not started, or a step of it failed");
    if (s->iterations == s->opts.max_iterations)
        return hcy_fail(HCY_ERANGE, "hcy_solver_step: the solver was made for %lld iterations",
                        (long long)s->opts.max_iterations);
    s->iterations++;
    status = s->method->step(s);
    s->started = !status;
    return status;
}

static int read_norm(double *norm, const hcy_solver *s, int64_t iteration)
{
    hcy_array *one = NULL;
    int status = hcy_array_slice(&one, s->norms, "%lld", (long long)iteration);
    if (!status)
        status = hcy_array_to_host(norm, s->queue, one);
    hcy_array_release(one);
    return status;
}

/* Waits for the residuals, and says by them why the run is to end; a reason that is there stays where they are well. */
static int read_state(hcy_solver_info *state, const hcy_solver *s)
{
    /* At a solution, as far as numbers go, whether a direction leads on is a matter of rounding. */
    const double rounding = hcy__is_single(&s->op->desc.domain) ? 1e-5 : 1e-12;
    double stuck = 0;
    int status = s->first > 0 ? 0 : read_norm(&state->first, s, 0);
    if (!status)
        status = read_norm(&state->last, s, s->iterations);
    if (!status && s->stuck && s->iterations)
        status = hcy_array_to_host(&stuck, s->queue, s->stuck);
    if (status)
        return status;
    if (!isfinite(state->last)) {
        state->reason = HCY_SOLVER_BREAKDOWN;
        state->message = "the residual is no number: what is computed leaves the range of the vectors' type, or the "
                         "data hold such numbers";
    } else if (s->opts.tolerance > 0 && state->last <= s->opts.tolerance * state->first)
        state->reason = HCY_SOLVER_TOLERANCE;
    else if (stuck != 0 && state->last > rounding * state->first) {
        state->reason = HCY_SOLVER_BREAKDOWN;
        state->message = s->method->stuck;
    }
    return 0;
}

/* Looks at the residual: why the run is to end, or 0. */
static int look_at(int *reason, hcy_solver *s)
{
    hcy_solver_info state = { .first = s->first };
    int status = read_state(&state, s);
    if (status)
        return status;
    s->first = state.first;
    s->last = state.last;
    s->message = state.message;
    *reason = state.reason;
    s->looked = true;
    if (!s->opts.callback)
        return 0;
    s->in_callback = true;
    if (s->opts.callback(s->opts.user, s, s->iterations, s->last) && !*reason)
        *reason = HCY_SOLVER_CALLBACK;
    s->in_callback = false;
    return 0;
}

int hcy_solver_run(hcy_solver *s, int64_t iterations)
{
    int status = refuse_in_callback(s, "hcy_solver_run");
    if (!status && iterations < 0)
        status = hcy_fail(HCY_EINVAL, "hcy_solver_run: a number of iterations below 0");
    if (status)
        return status;
    /* Of no iterations, too: a step that failed may have been the last one of max_iterations. */
    if (!s->started)
        return hcy_fail(HCY_ESTATE, "hcy_solver_run: the solver was not started, or a step of it failed");
    const bool looks = s->opts.tolerance > 0 || s->opts.callback;
    const int64_t left = s->opts.max_iterations - s->iterations, n = iterations < left ? iterations : left;
    int reason = 0;
    s->message = NULL;
    s->looked = false;
    for (int64_t i = 0; !status && !reason && i < n; i++) {
        status = hcy_solver_step(s);
        if (!status && looks && (i + 1 == n || s->iterations % s->opts.check_every == 0))
            status = look_at(&reason, s);
    }
    if (!status && !reason)
        reason = n < iterations ? HCY_SOLVER_MAX_ITERATIONS : HCY_SOLVER_ITERATIONS;
    if (!status)
        s->reason = reason;
    return status;
}

/* --- What is known --- */

int hcy_solver_get_x(hcy_array **x, const hcy_solver *s)
{
    if (!x || !s)
        return hcy_fail(HCY_EINVAL, "hcy_solver_get_x: no %s", s ? "place for it" : "solver");
    *x = hcy_array_retain(s->x);
    return 0;
}

int hcy_solver_residuals(double *norms, size_t *n, size_t capacity, hcy_solver *s)
{
    hcy_array *some = NULL;
    if (!s || !n || (capacity && !norms))
        return hcy_fail(HCY_EINVAL, "hcy_solver_residuals: no %s", s ? "place for them" : "solver");
    if (!s->started)
        return hcy_fail(HCY_ESTATE,
                        "hcy_solver_residuals: the solver was not started, or a step of it failed");
    *n = (size_t)s->iterations + 1;
    size_t count = capacity < *n ? capacity : *n;
    int status = hcy_array_slice(&some, s->norms, ":%lld", (long long)count);
    if (!status)
        status = count ? hcy_array_to_host(norms, s->queue, some) : hcy_queue_finish(s->queue);
    hcy_array_release(some);
    return status;
}

int hcy_solver_get_info(hcy_solver_info *info, const hcy_solver *s)
{
    if (!s)
        return hcy_fail(HCY_EINVAL, "hcy_solver_get_info: no solver");
    hcy_solver_info known = HCY_SOLVER_INFO_INIT;
    known.method = s->method->name;
    known.iterations = s->iterations;
    known.reason = s->reason;
    known.first = s->first;
    known.last = s->last;
    known.step = s->opts.step;
    known.message = s->message;
    known.rho = s->opts.rho;
    /* A run that did not look has not waited for its residual, which alone shows that nothing came of it. */
    int status = s->started && s->reason && !s->looked ? read_state(&known, s) : 0;
    return status ? status : hcy__sized_write(info, &known, sizeof known, "hcy_solver_info");
}
