/* halcyon/finufft.h - FINUFFT's C interface on top of Halcyon's non-uniform FFTs.
 *
 * A program that includes <finufft.h> moves by including this file and linking libhalcyon: names, arguments,
 * options and statuses are those of FINUFFT 2.5.  The functions finufft_* (double) and finufftf_* (float)
 * are inline here, so that a program may have both libraries; what they call is hcy_finufft_*.
 *
 * What differs: points are copied by setpts, so they may go afterwards.  A coordinate that is no number, infinite, or
 * 2^40 periods away is status 21.  Of the options modeord, nthreads (of a device that HALCYON_DEVICE does not name),
 * upsampfac, maxbatchsize and spreadinterponly count; the lock functions are called around all that a call does,
 * executions too, and must call nothing here with a plan; the rest is for debugging and tuning FINUFFT: it is checked
 * as FINUFFT does, and ignored.  The device is the CPU, or what HALCYON_DEVICE names.
 */
#ifndef HALCYON_FINUFFT_H
#define HALCYON_FINUFFT_H

#include <halcyon/status.h>
#include <stdint.h>

#ifdef __cplusplus
#include <complex>
typedef std::complex<double> hcy_finufft_complex;
typedef std::complex<float> hcy_finufft_complexf;
extern "C" {
#else
#include <complex.h>
typedef double _Complex hcy_finufft_complex;
typedef float _Complex hcy_finufft_complexf;
#endif

/* FINUFFT 2.5's options, member by member. */
typedef struct hcy_finufft_opts {
    int modeord; /* 1: k from 0 up, then the negative ones; else: ascending */
    int spreadinterponly;
    int debug, spread_debug, showwarn;
    int nthreads; /* 0: all */
    int fftw, spread_sort, spread_kerevalmeth, spread_kerpad;
    double upsampfac; /* 0: chosen */
    int spread_thread;
    int maxbatchsize; /* 0: chosen */
    int spread_nthr_atomic, spread_max_sp_size, spread_kerformula;
    void (*fftw_lock_fun)(void *); /* for programs that make plans of FFTW meanwhile; NULL: none */
    void (*fftw_unlock_fun)(void *);
    void *fftw_lock_data;
} hcy_finufft_opts;

typedef struct hcy_finufft_plan hcy_finufft_plan;

/* FINUFFT's statuses, under its names, but for 15; those without words are never given here. */
#ifndef FINUFFT_ERRORS_H
#define FINUFFT_ERRORS_H
enum {
    FINUFFT_WARN_EPS_TOO_SMALL = 1, /* done, with the least eps that precision or upsampfac allow */
    FINUFFT_ERR_MAXNALLOC = 2,      /* too large */
    FINUFFT_ERR_SPREAD_BOX_SMALL = 3, /* spreadinterponly: the grid is smaller than two windows */
    FINUFFT_ERR_SPREAD_PTS_OUT_RANGE = 4,
    FINUFFT_ERR_SPREAD_ALLOC = 5,
    FINUFFT_ERR_SPREAD_DIR = 6,
    FINUFFT_ERR_UPSAMPFAC_TOO_SMALL = 7, /* not above 1 */
    FINUFFT_ERR_HORNER_WRONG_BETA = 8,
    FINUFFT_ERR_NTRANS_NOTVALID = 9,         /* not above 0 */
    FINUFFT_ERR_TYPE_NOTVALID = 10,          /* not 1, 2 or 3 */
    FINUFFT_ERR_ALLOC = 11,                  /* out of memory */
    FINUFFT_ERR_DIM_NOTVALID = 12,           /* not 1, 2 or 3 */
    FINUFFT_ERR_SPREAD_THREAD_NOTVALID = 13, /* not 0, 1 or 2 */
    FINUFFT_ERR_NDATA_NOTVALID = 14,
    FINUFFT_ERR_PLAN_NOTVALID = 16, /* no plan, or one without points */
    FINUFFT_ERR_METHOD_NOTVALID = 17,
    FINUFFT_ERR_BINSIZE_NOTVALID = 18,
    FINUFFT_ERR_INSUFFICIENT_SHMEM = 19,
    FINUFFT_ERR_NUM_NU_PTS_INVALID = 20,  /* below 0, or above 1e14 */
    FINUFFT_ERR_INVALID_ARGUMENT = 21,    /* a point that is no number or too far away, a missing pointer */
    FINUFFT_ERR_LOCK_FUNS_INVALID = 22,   /* one of two */
    FINUFFT_ERR_NTHREADS_NOTVALID = 23,
    FINUFFT_ERR_KERFORMULA_NOTVALID = 24, /* FINUFFT has no such window */
    FINUFFT_ERR_UNKNOWN_EXCEPTION = 25    /* any other failure: the device's */
};
#endif

/* What the inline functions below call; precision is 4 for float, 8 for double; hcy_last_error() has words
 * for a status above 1.  Arrays are FINUFFT's: x is the fastest axis, n_modes[0] its number of modes. */
HCY_API void hcy_finufft_default_opts(hcy_finufft_opts *opts);
HCY_API int hcy_finufft_makeplan(unsigned precision, int type, int dim, const int64_t *n_modes, int iflag,
                                 int ntr, double tol, hcy_finufft_plan **plan, const hcy_finufft_opts *opts);
HCY_API int hcy_finufft_setpts(hcy_finufft_plan *plan, int64_t m, const void *x, const void *y, const void *z,
                               int64_t n, const void *s, const void *t, const void *u);
HCY_API int hcy_finufft_execute(hcy_finufft_plan *plan, void *c, void *f, int adjoint);
HCY_API int hcy_finufft_destroy(hcy_finufft_plan *plan);
/* Plan, points, execution; for type 3 n[0] is the number of targets. */
HCY_API int hcy_finufft_simple(unsigned precision, int type, int dim, int ntr, int64_t m, const void *x,
                               const void *y, const void *z, void *c, int iflag, double tol, const int64_t *n,
                               const void *s, const void *t, const void *u, void *f,
                               const hcy_finufft_opts *opts);

typedef hcy_finufft_opts finufft_opts;
typedef struct finufft_plan_s *finufft_plan; /* two types, so that compilers tell one from the other */
typedef struct finufftf_plan_s *finufftf_plan;

/* name(1d1), name(1d1many)... for one precision; I, IC: inputs, real and complex. */
#define HCY_FINUFFT_INTERFACE(p, R, I, IC, C)                                                                \
    static inline void p##_default_opts(finufft_opts *o)                                                     \
    {                                                                                                        \
        hcy_finufft_default_opts(o);                                                                         \
    }                                                                                                        \
    static inline int p##_makeplan(int type, int dim, const int64_t *n, int iflag, int ntr, R tol,           \
                                   p##_plan *plan, const finufft_opts *o)                                    \
    {                                                                                                        \
        hcy_finufft_plan *made = 0;                                                                          \
        int status = hcy_finufft_makeplan(sizeof(R), type, dim, n, iflag, ntr, (double)tol,                  \
                                          plan ? &made : 0, o);                                              \
        if (plan)                                                                                            \
            *plan = (p##_plan)made;                                                                          \
        return status;                                                                                       \
    }                                                                                                        \
    static inline int p##_setpts(p##_plan plan, int64_t m, I *x, I *y, I *z, int64_t n, I *s, I *t, I *u)    \
    {                                                                                                        \
        return hcy_finufft_setpts((hcy_finufft_plan *)plan, m, x, y, z, n, s, t, u);                         \
    }                                                                                                        \
    static inline int p##_execute(p##_plan plan, C *c, C *f)                                                 \
    {                                                                                                        \
        return hcy_finufft_execute((hcy_finufft_plan *)plan, c, f, 0);                                       \
    }                                                                                                        \
    static inline int p##_execute_adjoint(p##_plan plan, C *c, C *f)                                         \
    {                                                                                                        \
        return hcy_finufft_execute((hcy_finufft_plan *)plan, c, f, 1);                                       \
    }                                                                                                        \
    static inline int p##_destroy(p##_plan plan)                                                             \
    {                                                                                                        \
        return hcy_finufft_destroy((hcy_finufft_plan *)plan);                                                \
    }                                                                                                        \
    HCY_FINUFFT_UNIFORM(p, R, I, IC, C, 1)                                                                   \
    HCY_FINUFFT_UNIFORM(p, R, I, C, IC, 2)                                                                   \
    HCY_FINUFFT_TARGETS(p, R, I, IC, C)

#define HCY_FINUFFT_UNIFORM(p, R, I, CC, CF, type)                                                           \
    static inline int p##1d##type##many(int ntr, int64_t m, I *x, CC *c, int iflag, R eps, int64_t n1,       \
                                        CF *f, const finufft_opts *o)                                        \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), type, 1, ntr, m, x, 0, 0, (void *)c, iflag, (double)eps,        \
                                  &n1, 0, 0, 0, (void *)f, o);                                               \
    }                                                                                                        \
    static inline int p##1d##type(int64_t m, I *x, CC *c, int iflag, R eps, int64_t n1, CF *f,               \
                                  const finufft_opts *o)                                                     \
    {                                                                                                        \
        return p##1d##type##many(1, m, x, c, iflag, eps, n1, f, o);                                          \
    }                                                                                                        \
    static inline int p##2d##type##many(int ntr, int64_t m, I *x, I *y, CC *c, int iflag, R eps,             \
                                        int64_t n1, int64_t n2, CF *f, const finufft_opts *o)                \
    {                                                                                                        \
        const int64_t n[2] = { n1, n2 };                                                                     \
        return hcy_finufft_simple(sizeof(R), type, 2, ntr, m, x, y, 0, (void *)c, iflag, (double)eps, n,     \
                                  0, 0, 0, (void *)f, o);                                                    \
    }                                                                                                        \
    static inline int p##2d##type(int64_t m, I *x, I *y, CC *c, int iflag, R eps, int64_t n1,                \
                                  int64_t n2, CF *f, const finufft_opts *o)                                  \
    {                                                                                                        \
        return p##2d##type##many(1, m, x, y, c, iflag, eps, n1, n2, f, o);                                   \
    }                                                                                                        \
    static inline int p##3d##type##many(int ntr, int64_t m, I *x, I *y, I *z, CC *c, int iflag, R eps,       \
                                        int64_t n1, int64_t n2, int64_t n3, CF *f,                           \
                                        const finufft_opts *o)                                               \
    {                                                                                                        \
        const int64_t n[3] = { n1, n2, n3 };                                                                 \
        return hcy_finufft_simple(sizeof(R), type, 3, ntr, m, x, y, z, (void *)c, iflag, (double)eps, n,     \
                                  0, 0, 0, (void *)f, o);                                                    \
    }                                                                                                        \
    static inline int p##3d##type(int64_t m, I *x, I *y, I *z, CC *c, int iflag, R eps, int64_t n1,          \
                                  int64_t n2, int64_t n3, CF *f, const finufft_opts *o)                      \
    {                                                                                                        \
        return p##3d##type##many(1, m, x, y, z, c, iflag, eps, n1, n2, n3, f, o);                            \
    }

#define HCY_FINUFFT_TARGETS(p, R, I, IC, C)                                                                  \
    static inline int p##1d3many(int ntr, int64_t m, I *x, IC *c, int iflag, R eps, int64_t n, I *s,         \
                                 C *f, const finufft_opts *o)                                                \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), 3, 1, ntr, m, x, 0, 0, (void *)c, iflag, (double)eps, &n,       \
                                  s, 0, 0, f, o);                                                            \
    }                                                                                                        \
    static inline int p##1d3(int64_t m, I *x, IC *c, int iflag, R eps, int64_t n, I *s, C *f,                \
                             const finufft_opts *o)                                                          \
    {                                                                                                        \
        return p##1d3many(1, m, x, c, iflag, eps, n, s, f, o);                                               \
    }                                                                                                        \
    static inline int p##2d3many(int ntr, int64_t m, I *x, I *y, IC *c, int iflag, R eps, int64_t n,         \
                                 I *s, I *t, C *f, const finufft_opts *o)                                    \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), 3, 2, ntr, m, x, y, 0, (void *)c, iflag, (double)eps, &n,       \
                                  s, t, 0, f, o);                                                            \
    }                                                                                                        \
    static inline int p##2d3(int64_t m, I *x, I *y, IC *c, int iflag, R eps, int64_t n, I *s, I *t,          \
                             C *f, const finufft_opts *o)                                                    \
    {                                                                                                        \
        return p##2d3many(1, m, x, y, c, iflag, eps, n, s, t, f, o);                                         \
    }                                                                                                        \
    static inline int p##3d3many(int ntr, int64_t m, I *x, I *y, I *z, IC *c, int iflag, R eps,              \
                                 int64_t n, I *s, I *t, I *u, C *f, const finufft_opts *o)                   \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), 3, 3, ntr, m, x, y, z, (void *)c, iflag, (double)eps, &n,       \
                                  s, t, u, f, o);                                                            \
    }                                                                                                        \
    static inline int p##3d3(int64_t m, I *x, I *y, I *z, IC *c, int iflag, R eps, int64_t n, I *s,          \
                             I *t, I *u, C *f, const finufft_opts *o)                                        \
    {                                                                                                        \
        return p##3d3many(1, m, x, y, z, c, iflag, eps, n, s, t, u, f, o);                                   \
    }

HCY_FINUFFT_INTERFACE(finufft, double, const double, const hcy_finufft_complex, hcy_finufft_complex)
HCY_FINUFFT_INTERFACE(finufftf, float, const float, const hcy_finufft_complexf, hcy_finufft_complexf)

#ifdef __cplusplus
}
#endif
#endif
