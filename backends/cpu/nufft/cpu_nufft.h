/* cpu_nufft.h - non-uniform FFTs on the CPU: layouts, and what a SIMD variant does.
 *
 * The fine grid is cut into BINS of cells, a bin into SUB-BINS. nufft_sort puts a record of every point -
 * where it stands between cells, its place in its bin, its number - into the order of bins and sub-bins;
 * points of equal place keep their order, so the order does not depend on the number of threads.  A bin's
 * points in pieces of limited length are SUBPROBLEMS: the unit of work.  A thread spreads one into a small
 * grid of its own and adds that to the fine grid, or copies that part of the fine grid and interpolates in
 * it.
 *
 *   sort.c            layouts, sorting
 *   spread_interp.c   the kernels' list; spreading and interpolation: sharing subproblems out, adding up
 *   units.c           of sums of integers
 *   cut.c             crop, pad, scale
 *   mix.c             products of images with spectra
 *   cut_fft.c         Fourier transforms between grid and modes that leave out rows of zeros or of no interest
 *   cut_lead.c        the same of one long axis, with the same bits as on all devices
 *   rows.h            points of a subproblem, for one precision and vector length, with row_sort.h and row_slopes.h;
 *                     points_<simd>.c compile it
 *   same.h            the same with the operations of GPUs; same_<simd>.c compile it
 *
 * Sums of floating point depend on their order.  With HCY_NUFFT_FIXED_ORDER subproblems are added in their
 * order, and points of equal place are ordered by where they stand between cells, those that are equal in this too by
 * their strengths: whatever order they came in.
 */
#ifndef HCY_CPU_NUFFT_H
#define HCY_CPU_NUFFT_H

#include "cpu_priv.h"
#include "nufft/nufft_arguments.h"
#include "nufft/nufft_format.h"

/* Of one axis. */
struct nufft_axis {
    uint32_t n; /* cells */
    uint32_t log_bin, log_sub;
    uint32_t bins, subs; /* bins of the axis, sub-bins of a bin */
    double offset;       /* half a window, in periods */
    uint32_t bits, place_bits; /* with HCY_NUFFT_SAME_BITS (nufft_bits.h), */
    double scale;              /* 2^(place_bits - bits) */
};

/* Axes are counted from the fastest here: x, y, z. */
struct nufft_layout {
    unsigned dim, width;
    bool is_double, same; /* same: HCY_NUFFT_SAME_BITS */
    size_t n_points, real, record; /* record: bytes */
    struct nufft_axis axis[3];
    size_t n_bins, n_keys, cells; /* cells: of the fine grid */
    size_t pitch, rows,
        local;    /* small grid: complex a row, rows a plane, complex in all with some to spare */
    size_t limit; /* points of a subproblem */
    size_t number; /* bytes of a number of the small grid, at most */
};

/* Records are { real t[dim]; uint32_t place, number; }: t as in nufft_format.h, from the fastest axis on;
 * place of the first cell in the bin: x | y << 10 | z << 20 (1-D: x). */
#define NUFFT_AHEAD 24 /* records beyond the last that may be read */

/* What the points of a subproblem need. */
struct nufft_rows {
    const void *table;   /* [coef][16], aligned to 64 */
    size_t pitch, plane; /* of the small grid, complex */
    unsigned width, dim;
    double unit; /* to spread integers: what strengths are multiplied by */
    double rate[3]; /* of t in a coordinate, from the fastest axis on */
};

/* To sort a range of points. */
struct nufft_fold {
    const struct nufft_layout *layout;
    const void *points[3]; /* from the fastest axis on */
    bool doubles;          /* they are doubles */
    size_t begin, end;
    uint32_t *keys;   /* of all points */
    uint32_t *counts; /* of this range: key by key; for scatter, where the next record of the key goes */
    void *records;
};

/* To mix a range of places. */
struct nufft_mix {
    char *images;
    const char *spectra;
    const int32_t *order;
    size_t n, pitch; /* images; places of each */
    bool is_real;
};

/* For one precision. */
struct nufft_ops {
    size_t lanes; /* reals in a vector; the table has windows up to half as wide twice */
    size_t align; /* rows of small grids are multiples of this many complex numbers */
    void (*spread)(const struct nufft_rows *rows, const void *records, size_t n, const void *c, void *local);
    void (*interp)(const struct nufft_rows *rows, const void *records, size_t n, void *c, const void *local);
    /* The value and behind it the slopes, along the job's axes; NULL with HCY_NUFFT_SAME_BITS. */
    void (*slopes)(const struct nufft_rows *rows, const void *records, size_t n, void *c, const void *local);
    void (*add)(void *grid, const void *local, size_t n); /* n complex numbers */
    /* out = in * s * factors, and complex times complex */
    void (*weigh)(void *out, const void *in, const void *factors, double s, size_t n);
    void (*multiply)(void *out, const void *in, const void *factors, bool conjugate, size_t n);
    void (*mix)(const struct nufft_mix *mix, size_t begin, size_t n); /* places; NULL with HCY_NUFFT_SAME_BITS */
    /* Keys and their counts; returns the first bad point, or SIZE_MAX. */
    size_t (*keys)(const struct nufft_fold *fold);
    void (*scatter)(const struct nufft_fold *fold);
    /* Records of one key in an order by what they are, but for their numbers; the longest run of equal ones. */
    size_t (*order)(unsigned dim, void *records, size_t n);
    /* Strengths of equal records in an order by what they are; room: for those of the longest run. */
    void (*settle)(unsigned dim, const void *records, size_t n, void *c, void *room);
    /* Of n complex numbers, sums of integers times the unit; NULL without HCY_NUFFT_SAME_BITS. */
    void (*floats)(void *grid, const void *sums, double unit, size_t n);
};
extern const struct nufft_ops nufft_ops_portable[2]; /* float, double */
#ifdef HCY_CPU_X86
extern const struct nufft_ops nufft_ops_avx2[2], nufft_ops_avx512[2];
#endif
const struct nufft_ops *nufft_ops(enum cpu_simd simd, bool is_double);

/* The same with HCY_NUFFT_SAME_BITS: small and fine grids to spread to are pairs of int64_t (same.h); order and
 * settle are NULL, because sums of integers know no order.  multiply is the portable variant's. */
extern const struct nufft_ops nufft_same_portable[2];
#ifdef HCY_CPU_X86
extern const struct nufft_ops nufft_same_avx2[2], nufft_same_avx512[2];
#endif
const struct nufft_ops *nufft_ops_for(enum cpu_simd simd, const hcy_nufft_job *job);

/* The job, checked, as a layout; HCY_EINVAL. */
int nufft_layout_of(struct nufft_layout *layout, const hcy_nufft_job *job);

void nufft_zero(struct cpu_pool *pool, void *bytes, size_t size);
enum { NUFFT_MIXED = 64 }; /* places of a range that is mixed, at most */
int nufft_run_mix(const struct cpu_call *call);

/* What strengths of `items` vectors are multiplied by to be summed as integers, units[vector], and these sums in the
 * end, units[items + vector]: the largest strength decides, at as many points as there are.  HCY_ENOMEM. */
int nufft_find_units(double *units, const struct nufft_layout *l, const char *strengths, const struct cpu_call *call);

/* --- Sorted points --- */

#define NUFFT_MAGIC 0x6873617466756eull
enum { NUFFT_SEGMENTS = 4, NUFFT_ALIGN = 64 };

/* A subproblem: points [begin, end) in a bin. turn: how many come before it in the slabs it adds to, from
 * its own slab on. */
struct nufft_sub {
    uint32_t bin, begin, end, turn[NUFFT_SEGMENTS];
};

/* `sorted`; offsets from its start.  It is for jobs of as many points, and of these axes, records and windows. */
struct nufft_sorted {
    uint64_t magic, n_points, n_subs;
    uint32_t cells[3], record, width;
    uint64_t subs, records, keys, counts, size;
    uint32_t ranges;  /* in which keys are counted */
    uint32_t longest; /* with HCY_NUFFT_FIXED_ORDER: run of points at the same place */
};

/* n, made a multiple of `to`. */
static inline size_t nufft_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Whether scratch memory begins where vectors may, which lie in it: a host's may be a view of other memory. */
static inline bool nufft_may_begin(const void *scratch)
{
    return (uintptr_t)scratch % NUFFT_ALIGN == 0;
}

/* Cells of the slowest axis that a bin reaches, cut where slabs end and where the axis ends: segment `i` has
 * *n cells from *cell on (0: there is none) and belongs to the slab returned. */
uint32_t nufft_segment(const struct nufft_layout *layout, uint32_t slab, unsigned i, uint32_t *cell, uint32_t *n);
/* The slab of a bin. */
uint32_t nufft_slab_of(const struct nufft_layout *layout, uint32_t bin);

int nufft_run_sort(const struct cpu_call *call);
int nufft_sorted_size(size_t *size, const struct cpu_call *call);

/* --- Between grid and modes --- */

/* Where modes of an axis lie: two spans, k >= 0 and k < 0, in the grid, among the modes and among the
 * factors. */
struct nufft_span {
    size_t grid, mode, factor, n;
};
void nufft_spans(struct nufft_span spans[2], size_t modes, size_t grid, bool fft_order);

/* A launch of nufft_crop, nufft_pad, nufft_modes or nufft_grid; axes as the job counts them. */
struct nufft_cut {
    hcy_nufft_job job;
    const struct nufft_ops *ops;
    char *grid, *modes;
    const char *factors[3];
    struct nufft_span spans[3][2];
    size_t real, cells, all; /* all: modes */
    bool crops;
};
int nufft_take_cut(struct nufft_cut *cut, const struct cpu_call *call, bool crops, const struct hcy_nufft_cut_at *at);
/* Factor i of an axis; 1 for an axis below 0. */
double nufft_factor(const struct nufft_cut *cut, int axis, size_t i);

/* cut.c */
int nufft_run_crop(const struct cpu_call *call);
int nufft_run_pad(const struct cpu_call *call);
int nufft_run_scale(const struct cpu_call *call);

/* cut_fft.c */
int nufft_run_modes(const struct cpu_call *call);
int nufft_run_grid(const struct cpu_call *call);
int nufft_modes_scratch(size_t *size, const struct cpu_call *call);
int nufft_grid_scratch(size_t *size, const struct cpu_call *call);

#endif
