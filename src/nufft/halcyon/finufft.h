/* halcyon/finufft.h - FINUFFT's C interface on top of Halcyon's non-uniform FFTs.
 *
 * A program that includes <finufft.h> moves by including this file and linking libhalcyon: names, arguments,
 * options and statuses are those of FINUFFT 2.5.  The functions finufft_* (double) and finufftf_* (float)
 * are inline here, so that a program may have both libraries; what they call is hcy_finufft_*.
 *
 * What differs: points are copied by setpts, so they may go afterwards.  A coordinate that is no number is
 * status 21.  Of the options modeord, nthreads, upsampfac and maxbatchsize count; spreadinterponly is status
 * 21; the rest is for debugging and tuning FINUFFT, and is ignored.  The device is the CPU, or what
 * HALCYON_DEVICE names.
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
    int modeord; /* 0: k ascending, 1: from 0 up, then the negative ones */
    int spreadinterponly;
    int debug, spread_debug, showwarn;
    int nthreads; /* 0: all */
    int fftw, spread_sort, spread_kerevalmeth, spread_kerpad;
    double upsampfac; /* 0: chosen */
    int spread_thread;
    int maxbatchsize; /* 0: chosen */
    int spread_nthr_atomic, spread_max_sp_size, spread_kerformula;
    void (*fftw_lock_fun)(void *);
    void (*fftw_unlock_fun)(void *);
    void *fftw_lock_data;
} hcy_finufft_opts;

typedef struct hcy_finufft_plan hcy_finufft_plan;

/* FINUFFT's statuses that occur. */
enum hcy_finufft_status {
    HCY_FINUFFT_WARN_EPS_TOO_SMALL = 1, /* done, with the least eps there is */
    HCY_FINUFFT_ERR_MAXNALLOC = 2,
    HCY_FINUFFT_ERR_UPSAMPFAC_TOO_SMALL = 7,
    HCY_FINUFFT_ERR_NTRANS_NOTVALID = 9,
    HCY_FINUFFT_ERR_TYPE_NOTVALID = 10,
    HCY_FINUFFT_ERR_ALLOC = 11,
    HCY_FINUFFT_ERR_DIM_NOTVALID = 12,
    HCY_FINUFFT_ERR_PLAN_NOTVALID = 16,
    HCY_FINUFFT_ERR_NUM_NU_PTS_INVALID = 20,
    HCY_FINUFFT_ERR_INVALID_ARGUMENT = 21,
    HCY_FINUFFT_ERR_UNKNOWN = 25
};

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
typedef hcy_finufft_plan *finufft_plan;
typedef hcy_finufft_plan *finufftf_plan;

/* name(1d1), name(1d1many)... for one precision. */
#define HCY_FINUFFT_INTERFACE(p, R, C)                                                                       \
    static inline void p##_default_opts(finufft_opts *o)                                                     \
    {                                                                                                        \
        hcy_finufft_default_opts(o);                                                                         \
    }                                                                                                        \
    static inline int p##_makeplan(int type, int dim, const int64_t *n, int iflag, int ntr, R tol,           \
                                   hcy_finufft_plan **plan, finufft_opts *o)                                 \
    {                                                                                                        \
        return hcy_finufft_makeplan(sizeof(R), type, dim, n, iflag, ntr, (double)tol, plan, o);              \
    }                                                                                                        \
    static inline int p##_setpts(hcy_finufft_plan *plan, int64_t m, R *x, R *y, R *z, int64_t n, R *s, R *t, \
                                 R *u)                                                                       \
    {                                                                                                        \
        return hcy_finufft_setpts(plan, m, x, y, z, n, s, t, u);                                             \
    }                                                                                                        \
    static inline int p##_execute(hcy_finufft_plan *plan, C *c, C *f)                                        \
    {                                                                                                        \
        return hcy_finufft_execute(plan, c, f, 0);                                                           \
    }                                                                                                        \
    static inline int p##_execute_adjoint(hcy_finufft_plan *plan, C *c, C *f)                                \
    {                                                                                                        \
        return hcy_finufft_execute(plan, c, f, 1);                                                           \
    }                                                                                                        \
    static inline int p##_destroy(hcy_finufft_plan *plan)                                                    \
    {                                                                                                        \
        return hcy_finufft_destroy(plan);                                                                    \
    }                                                                                                        \
    HCY_FINUFFT_UNIFORM(p, R, C, 1)                                                                          \
    HCY_FINUFFT_UNIFORM(p, R, C, 2)                                                                          \
    HCY_FINUFFT_TARGETS(p, R, C)

#define HCY_FINUFFT_UNIFORM(p, R, C, type)                                                                   \
    static inline int p##1d##type##many(int ntr, int64_t m, R *x, C *c, int iflag, R eps, int64_t n1, C *f,  \
                                        finufft_opts *o)                                                     \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), type, 1, ntr, m, x, 0, 0, c, iflag, (double)eps, &n1, 0, 0, 0,  \
                                  f, o);                                                                     \
    }                                                                                                        \
    static inline int p##1d##type(int64_t m, R *x, C *c, int iflag, R eps, int64_t n1, C *f,                 \
                                  finufft_opts *o)                                                           \
    {                                                                                                        \
        return p##1d##type##many(1, m, x, c, iflag, eps, n1, f, o);                                          \
    }                                                                                                        \
    static inline int p##2d##type##many(int ntr, int64_t m, R *x, R *y, C *c, int iflag, R eps, int64_t n1,  \
                                        int64_t n2, C *f, finufft_opts *o)                                   \
    {                                                                                                        \
        const int64_t n[2] = { n1, n2 };                                                                     \
        return hcy_finufft_simple(sizeof(R), type, 2, ntr, m, x, y, 0, c, iflag, (double)eps, n, 0, 0, 0, f, \
                                  o);                                                                        \
    }                                                                                                        \
    static inline int p##2d##type(int64_t m, R *x, R *y, C *c, int iflag, R eps, int64_t n1, int64_t n2,     \
                                  C *f, finufft_opts *o)                                                     \
    {                                                                                                        \
        return p##2d##type##many(1, m, x, y, c, iflag, eps, n1, n2, f, o);                                   \
    }                                                                                                        \
    static inline int p##3d##type##many(int ntr, int64_t m, R *x, R *y, R *z, C *c, int iflag, R eps,        \
                                        int64_t n1, int64_t n2, int64_t n3, C *f, finufft_opts *o)           \
    {                                                                                                        \
        const int64_t n[3] = { n1, n2, n3 };                                                                 \
        return hcy_finufft_simple(sizeof(R), type, 3, ntr, m, x, y, z, c, iflag, (double)eps, n, 0, 0, 0, f, \
                                  o);                                                                        \
    }                                                                                                        \
    static inline int p##3d##type(int64_t m, R *x, R *y, R *z, C *c, int iflag, R eps, int64_t n1,           \
                                  int64_t n2, int64_t n3, C *f, finufft_opts *o)                             \
    {                                                                                                        \
        return p##3d##type##many(1, m, x, y, z, c, iflag, eps, n1, n2, n3, f, o);                            \
    }

#define HCY_FINUFFT_TARGETS(p, R, C)                                                                         \
    static inline int p##1d3many(int ntr, int64_t m, R *x, C *c, int iflag, R eps, int64_t n, R *s, C *f,    \
                                 finufft_opts *o)                                                            \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), 3, 1, ntr, m, x, 0, 0, c, iflag, (double)eps, &n, s, 0, 0, f,   \
                                  o);                                                                        \
    }                                                                                                        \
    static inline int p##1d3(int64_t m, R * x, C * c, int iflag, R eps, int64_t n, R *s, C *f,               \
                             finufft_opts *o)                                                                \
    {                                                                                                        \
        return p##1d3many(1, m, x, c, iflag, eps, n, s, f, o);                                               \
    }                                                                                                        \
    static inline int p##2d3many(int ntr, int64_t m, R *x, R *y, C *c, int iflag, R eps, int64_t n, R *s,    \
                                 R *t, C *f, finufft_opts *o)                                                \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), 3, 2, ntr, m, x, y, 0, c, iflag, (double)eps, &n, s, t, 0, f,   \
                                  o);                                                                        \
    }                                                                                                        \
    static inline int p##2d3(int64_t m, R * x, R * y, C * c, int iflag, R eps, int64_t n, R *s, R *t, C *f,  \
                             finufft_opts *o)                                                                \
    {                                                                                                        \
        return p##2d3many(1, m, x, y, c, iflag, eps, n, s, t, f, o);                                         \
    }                                                                                                        \
    static inline int p##3d3many(int ntr, int64_t m, R *x, R *y, R *z, C *c, int iflag, R eps, int64_t n,    \
                                 R *s, R *t, R *u, C *f, finufft_opts *o)                                    \
    {                                                                                                        \
        return hcy_finufft_simple(sizeof(R), 3, 3, ntr, m, x, y, z, c, iflag, (double)eps, &n, s, t, u, f,   \
                                  o);                                                                        \
    }                                                                                                        \
    static inline int p##3d3(int64_t m, R * x, R * y, R * z, C * c, int iflag, R eps, int64_t n, R *s, R *t, \
                             R *u, C *f, finufft_opts *o)                                                    \
    {                                                                                                        \
        return p##3d3many(1, m, x, y, z, c, iflag, eps, n, s, t, u, f, o);                                   \
    }

HCY_FINUFFT_INTERFACE(finufft, double, hcy_finufft_complex)
HCY_FINUFFT_INTERFACE(finufftf, float, hcy_finufft_complexf)

#ifdef __cplusplus
}
#endif
#endif
