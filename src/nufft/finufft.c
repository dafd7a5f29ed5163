/* finufft.c - FINUFFT's interface: its order of axes, its statuses, what it does with nothing to do. */
#include <halcyon/finufft.h>
#include "nufft_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hcy_finufft_plan {
    hcy_device *dev;
    hcy_nufft *nufft; /* NULL: no modes */
    int type, dim;
    bool refused;   /* the last points: there are none */
    bool is_coarse; /* for its tolerance, which is a warning */
    bool one_stage; /* spreading or interpolation alone, on a grid whose first cell stands at -pi */
    size_t m, n, ntr, real; /* points; modes or targets */
    void (*lock)(void *), (*unlock)(void *); /* the caller's, of FFTW's planner; NULL: none */
    void *lock_data;
};

/* The most points and the most cells FINUFFT takes, and the last number of its windows (here there is one). */
static const int64_t most_points = 100000000000000;
static const double most_cells = 1e12;
static const int last_formula = 9;
static const double PI = 3.14159265358979323846;

static int code_of(int status)
{
    switch (status) {
    case 0:
        return 0;
    case HCY_ENOMEM:
        return FINUFFT_ERR_ALLOC;
    case HCY_ERANGE:
        return FINUFFT_ERR_MAXNALLOC;
    case HCY_EINVAL:
        return FINUFFT_ERR_INVALID_ARGUMENT;
    case HCY_ESTATE:
        return FINUFFT_ERR_PLAN_NOTVALID;
    default:
        return FINUFFT_ERR_UNKNOWN_EXCEPTION;
    }
}

/* A status of FINUFFT's with the words of one of ours. */
static int refuse_as(int code, const char *what)
{
    (void)hcy_fail(HCY_EINVAL, "FINUFFT's interface: %s", what);
    return code;
}

/* Plans of FFTW are made and ended in any of our calls, on the device's threads: the caller's lock is held for all of
 * it. */
static void lock(const hcy_finufft_plan *p)
{
    if (p->lock)
        p->lock(p->lock_data);
}

static void unlock(const hcy_finufft_plan *p)
{
    if (p->unlock)
        p->unlock(p->lock_data);
}

void hcy_finufft_default_opts(hcy_finufft_opts *o)
{
    if (!o)
        return;
    *o = (hcy_finufft_opts){ .showwarn = 1,
                             .fftw = 64,
                             .spread_sort = 2,
                             .spread_kerevalmeth = 1,
                             .spread_kerpad = 1,
                             .spread_nthr_atomic = -1 };
}

static int open_finufft_device(hcy_device **dev, int threads)
{
    char name[48] = "cpu";
    if (threads > 0)
        snprintf(name, sizeof name, "cpu@threads=%d", threads);
    /* An empty variable names no device, as everywhere. */
    const char *named = getenv("HALCYON_DEVICE");
    return hcy_device_open(dev, named && *named ? NULL : name);
}

static int check_call(int type, int dim, int ntr, const hcy_finufft_opts *o)
{
    if (type < 1 || type > 3)
        return refuse_as(FINUFFT_ERR_TYPE_NOTVALID, "the type must be 1, 2 or 3");
    if (dim < 1 || dim > 3)
        return refuse_as(FINUFFT_ERR_DIM_NOTVALID, "1, 2 or 3 dimensions are possible");
    if (ntr < 1)
        return refuse_as(FINUFFT_ERR_NTRANS_NOTVALID, "there must be 1 transform at least");
    /* Options that only steer FINUFFT's own code are checked as there, so that programs are refused alike, and not
     * used. */
    if (o->upsampfac != 0 && !(o->upsampfac > 1))
        return refuse_as(FINUFFT_ERR_UPSAMPFAC_TOO_SMALL, "upsampfac must be above 1, or 0");
    if (o->spread_thread < 0 || o->spread_thread > 2)
        return refuse_as(FINUFFT_ERR_SPREAD_THREAD_NOTVALID, "spread_thread must be 0, 1 or 2");
    if (o->spread_kerformula < 0 || o->spread_kerformula > last_formula)
        return refuse_as(FINUFFT_ERR_KERFORMULA_NOTVALID, "there is no such spread_kerformula");
    if (!o->fftw_lock_fun != !o->fftw_unlock_fun)
        return refuse_as(FINUFFT_ERR_LOCK_FUNS_INVALID, "of the lock functions one is missing");
    return 0;
}

/* Whether a grid that is given has no window for the tolerance. */
static bool is_too_coarse(const hcy_nufft_desc *desc, double upsampfac)
{
    return upsampfac > 1 && (hcy__nufft_width(desc->eps, desc->dim, desc->type == 3, upsampfac) > HCY_NUFFT_MAX_WIDTH ||
                             !hcy__nufft_reaches(desc, upsampfac));
}

static int make_nufft(hcy_finufft_plan *p, const int64_t *n_modes, int iflag, double tol, const hcy_finufft_opts *o)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    int64_t *modes = desc.modes;
    desc.type = p->type;
    desc.precision = p->real == 8 ? HCY_F64 : HCY_F32;
    desc.dim = p->dim;
    desc.sign = iflag;
    desc.n_transforms = (int64_t)p->ntr;
    desc.eps = tol;
    options.upsampling = o->upsampfac < 8 ? o->upsampfac : 8;
    /* A window that is given is taken for any eps. */
    p->is_coarse = is_too_coarse(&desc, o->upsampfac);
    if (p->is_coarse)
        options.width = hcy__nufft_widest(desc.precision, o->upsampfac);
    options.order = o->modeord == 1 ? HCY_NUFFT_ZERO_FIRST : HCY_NUFFT_CENTRED;
    options.max_batch = o->maxbatchsize > 0 ? (size_t)o->maxbatchsize : 0;
    int status = open_finufft_device(&p->dev, o->nthreads);
    p->n = 1;
    for (int d = 0; d < p->dim && p->type != 3; d++) {
        modes[d] = n_modes[p->dim - 1 - d];
        if (modes[d] < 1)
            return status; /* nothing to transform */
        p->n *= (size_t)modes[d]; /* what is too large is refused below */
    }
    p->one_stage = o->spreadinterponly && p->type != 3;
    for (int d = 0; d < p->dim && p->one_stage; d++) { /* modes for which this grid is so fine */
        options.upsampling = options.upsampling > 0 ? options.upsampling : 2;
        options.grid[d] = (size_t)modes[d];
        modes[d] = (int64_t)fmax(1, (double)modes[d] / options.upsampling);
    }
    if (!status)
        status = hcy_nufft_create(&p->nufft, p->dev, &desc, &options);
    if (!status && p->one_stage)
        p->nufft->job.flags |= HCY_NUFFT_DOUBLE_POINTS;
    return status;
}

int hcy_finufft_makeplan(unsigned precision, int type, int dim, const int64_t *n_modes, int iflag, int ntr,
                         double tol, hcy_finufft_plan **plan, const hcy_finufft_opts *opts)
{
    hcy_finufft_opts o;
    hcy_finufft_default_opts(&o);
    if (opts)
        o = *opts;
    if (!plan || (!n_modes && type != 3))
        return refuse_as(FINUFFT_ERR_INVALID_ARGUMENT, "no place for the plan, or no modes");
    *plan = NULL;
    if (precision != sizeof(float) && precision != sizeof(double))
        return refuse_as(FINUFFT_ERR_INVALID_ARGUMENT, "the precision is 4 bytes or 8");
    /* What FINUFFT has a status for is refused here; our plan would refuse some of it too, by another status. */
    int code = check_call(type, dim, ntr, &o);
    if (code)
        return code;
    /* A tolerance that cannot be met is a warning there and an error here, so the least one is asked for. */
    double least = precision == 8 ? 0x1p-52 : 0x1p-23;
    hcy_finufft_plan *p = calloc(1, sizeof *p);
    if (!p)
        return refuse_as(FINUFFT_ERR_ALLOC, "out of memory for a plan");
    p->type = type;
    p->dim = dim;
    p->ntr = (size_t)ntr;
    p->real = precision == 8 ? 8 : 4;
    p->lock = o.fftw_lock_fun;
    p->unlock = o.fftw_unlock_fun;
    p->lock_data = o.fftw_lock_data;
    /* Our plans may make plans of FFTW, which the caller's own threads may be doing as well. */
    lock(p);
    int status = make_nufft(p, n_modes, iflag, tol >= least ? tol : least, &o);
    unlock(p);
    /* With spreadinterponly all but the grid was checked above, so what is left to refuse is its size. */
    code = status == HCY_EINVAL && p->one_stage ? FINUFFT_ERR_SPREAD_BOX_SMALL : code_of(status);
    if (code) {
        hcy_finufft_destroy(p);
        return code;
    }
    *plan = p;
    return p->is_coarse || !(tol >= least) ? FINUFFT_WARN_EPS_TOO_SMALL : 0;
}

/* Points for a grid whose first cell stands at -pi, not at 0. */
static int set_turned(hcy_finufft_plan *p, const void *const points[3])
{
    const void *turned[3] = { NULL, NULL, NULL };
    double *room = p->m < SIZE_MAX / 32 ? malloc((p->m + 1) * (size_t)p->dim * sizeof *room) : NULL;
    if (!room)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu points", p->m);
    for (int d = 0; d < p->dim; d++) {
        /* In double whatever the data are: a turn added in float would cost the last digits of what is near 0. */
        double *to = room + (size_t)d * p->m;
        for (size_t i = 0; points[d] && i < p->m; i++)
            to[i] = PI + (p->real == 8 ? ((const double *)points[d])[i] : (double)((const float *)points[d])[i]);
        turned[d] = points[d] ? to : NULL;
    }
    int status = hcy_nufft_set_points(p->nufft, (int64_t)p->m, turned, 0, NULL);
    free(room);
    return status;
}

/* Refuses grids that FINUFFT refuses, also where a direct sum could do without one. */
static int check_cells(const hcy_finufft_plan *p)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    int status = hcy_nufft_get_info(&info, p->nufft);
    double cells = 1;
    for (int d = 0; d < p->dim; d++)
        cells *= (double)info.grid[d];
    if (!status && cells > most_cells)
        return refuse_as(FINUFFT_ERR_MAXNALLOC, "the fine grid has more than 1e12 cells");
    return code_of(status);
}

int hcy_finufft_setpts(hcy_finufft_plan *p, int64_t m, const void *x, const void *y, const void *z, int64_t n,
                       const void *s, const void *t, const void *u)
{
    const void *const ends[2][3] = { { x, y, z }, { s, t, u } };
    const void *points[3] = { NULL, NULL, NULL }, *targets[3] = { NULL, NULL, NULL };
    if (!p)
        return refuse_as(FINUFFT_ERR_PLAN_NOTVALID, "no plan");
    /* Who goes on after a refusal has arrays for these points, which the ones before would run out of. */
    p->refused = true;
    if (m < 0 || m > most_points || (p->type == 3 && (n < 0 || n > most_points)))
        return refuse_as(FINUFFT_ERR_NUM_NU_PTS_INVALID, "the number of points is below 0 or above 1e14");
    p->m = (size_t)m;
    for (int d = 0; d < p->dim; d++) {
        /* FINUFFT's first axis varies fastest, here the last one does. */
        points[d] = ends[0][p->dim - 1 - d];
        targets[d] = ends[1][p->dim - 1 - d];
    }
    if (!p->nufft)
        return p->refused = false, 0;
    lock(p);
    int status = p->one_stage ? set_turned(p, points)
                              : hcy_nufft_set_points(p->nufft, m, points, p->type == 3 ? n : 0, targets);
    unlock(p);
    int code = status ? code_of(status) : check_cells(p);
    p->refused = code != 0;
    return code;
}

static int run_plan_or_stage(hcy_finufft_plan *p, void *c, void *f, bool adjoint)
{
    bool spreads = (p->type == 1) == !adjoint;
    if (p->nufft && p->one_stage)
        return hcy_nufft_execute_stage(spreads ? f : c, p->nufft,
                                       spreads ? HCY_NUFFT_SPREAD : HCY_NUFFT_INTERPOLATE, spreads ? c : f);
    if (p->nufft)
        return adjoint ? hcy_nufft_execute_adjoint(p->nufft, c, f) : hcy_nufft_execute(p->nufft, c, f);
    if ((p->type == 2) != !adjoint || !p->m)
        return 0;
    if (!c)
        return hcy_fail(HCY_EINVAL, "FINUFFT's interface: no place for the strengths");
    memset(c, 0, p->m * p->ntr * 2 * p->real); /* sums over no modes */
    return 0;
}

int hcy_finufft_execute(hcy_finufft_plan *p, void *c, void *f, int adjoint)
{
    if (!p)
        return refuse_as(FINUFFT_ERR_PLAN_NOTVALID, "no plan");
    if (p->refused)
        return refuse_as(FINUFFT_ERR_PLAN_NOTVALID, "the plan's last points were refused, so it has none");
    lock(p);
    int status = run_plan_or_stage(p, c, f, adjoint != 0);
    unlock(p);
    return code_of(status);
}

int hcy_finufft_destroy(hcy_finufft_plan *p)
{
    if (!p)
        return 1; /* as FINUFFT has it */
    lock(p);
    hcy_nufft_destroy(p->nufft);
    hcy_device_release(p->dev);
    unlock(p);
    free(p);
    return 0;
}

int hcy_finufft_simple(unsigned precision, int type, int dim, int ntr, int64_t m, const void *x,
                       const void *y, const void *z, void *c, int iflag, double tol, const int64_t *n,
                       const void *s, const void *t, const void *u, void *f, const hcy_finufft_opts *opts)
{
    hcy_finufft_plan *p;
    if (!n)
        return refuse_as(FINUFFT_ERR_INVALID_ARGUMENT, "no numbers of modes or targets");
    int warning = hcy_finufft_makeplan(precision, type, dim, n, iflag, ntr, tol, &p, opts);
    if (warning > FINUFFT_WARN_EPS_TOO_SMALL)
        return warning;
    int code = hcy_finufft_setpts(p, m, x, y, z, type == 3 ? n[0] : 0, s, t, u);
    if (!code)
        code = hcy_finufft_execute(p, c, f, 0);
    hcy_finufft_destroy(p);
    return code ? code : warning;
}
