/* own_fft.h - Fourier transforms of many lines side by side, without a library: one vector has one number of as many
 * lines as it has lanes, or neighbouring numbers of one line.
 *
 * Every line is computed alone, with the same operations in the same order in every SIMD variant and none
 * contracted, so its bits depend on neither the variant, nor its neighbours, nor the number of threads.
 *
 * Plans are immutable; any thread may use one.
 */
#ifndef HCY_OWN_FFT_H
#define HCY_OWN_FFT_H

#include "cpu_priv.h"
#include "fft_plan.h"

/* A number of a table, in the plan's precision. */
struct own_double { double re, im; };
struct own_float { float re, im; };

struct own_fft_pass {
    unsigned radix;
    size_t left;          /* numbers of a part of this pass's transform: what is left to later passes */
    size_t lead_left;     /* those of them that a column has (own_lead.h) */
    size_t done;          /* product of the earlier passes' radices */
    const void *twiddles; /* [left][radix - 1] */
};

struct own_fft {
    size_t n;
    bool is_double;
    unsigned n_passes;
    struct own_fft_pass passes[HCY_FFT_MOST_PASSES];
    void *tables;
    /* A line taken alone: so many passes over all of it, after which it is `lead` columns side by side: */
    unsigned lead_passes;
    size_t lead, columns; /* and the numbers of a column */
    const void *lead_roots; /* of those passes, [radix - 1][2, the parts][left], if columns fill vectors; or NULL */
    struct own_fft *rest;   /* a long line's: of one column; or NULL */
    bool is_row;            /* a short one's, by vectors (own_row.h) */
    /* Of lines that are real on a side, and even: as complex ones of half as many numbers (own_real.h); or NULL. */
    struct own_fft *half;
    const void *turns;     /* [n / 4 + 1]: exp(-2 pi i k / n) */
    const void *row_turns; /* the same, part by part, where the halves are rows; or NULL */
    /* A length with large prime factors, as a convolution (Bluestein): */
    struct own_fft *inner; /* of a length without; or NULL */
    const void *chirp;     /* [n]: exp(-pi i k k / n) */
    const void *filter;    /* [inner->n]: the transform of its conjugate, divided by that length */
};

enum { OWN_FFT_LEAD_COLUMNS = 16 }; /* that go through a long line's first passes at once: one or more vectors */

enum {
    OWN_FFT_ROW_LANES = 8, /* at most, of rows that are taken one by one */
    OWN_FFT_LONGEST_TOGETHER = 4096, /* numbers of lines that vectors take as a whole: their scratch is a megabyte */
    OWN_FFT_ROW_PART = 8 * OWN_FFT_LONGEST_TOGETHER + 64 /* bytes of all their real parts, or imaginary ones */
};

enum own_fft_kind { OWN_FFT_COMPLEX, OWN_FFT_FROM_REAL, OWN_FFT_TO_REAL };

/* What to transform: `lines` lines of plan->n numbers; `step` numbers from one number of a line to the next, `pitch`
 * from line to line, in units of what is there (complex or real numbers).  FROM_REAL writes, and TO_REAL reads, the
 * first n/2 + 1 numbers, of which the others are the conjugates.  in == out with the same steps is allowed. */
struct own_fft_lines {
    const void *in;
    void *out;
    size_t lines, in_step, in_pitch, out_step, out_pitch;
    bool backward;
    enum own_fft_kind kind;
};

/* HCY_ENOMEM; HCY_ERANGE: more numbers than memory. */
int own_fft_create(struct own_fft **plan, size_t n, bool is_double);
/* The same for lines that are real on a side, which then take half of the time if n is even. */
int own_fft_create_real(struct own_fft **plan, size_t n, bool is_double);
void own_fft_free(struct own_fft *plan);
/* Bytes, at a multiple of 64, that one thread needs to run it. */
size_t own_fft_scratch(const struct own_fft *plan);
/* The same for runs of up to so many lines without gaps that follow one another, real ones from real numbers or back to
 * them: a long line that is taken alone needs a fraction. */
size_t own_fft_scratch_rows(const struct own_fft *plan, size_t lines);
bool own_fft_takes_alone(const struct own_fft *plan, size_t lines); /* such lines, one by one */
size_t own_fft_scratch_of(size_t n); /* of any plan for n numbers */
void own_fft_run(const struct own_fft *plan, enum cpu_simd simd, const struct own_fft_lines *lines, void *scratch);

/* One pass of a line that is whole, whose first `begin` up to `end` short transforms are taken: for who shares one long
 * line out to threads.  After the passes that own_fft_lead() counts, out of a line's numbers q + lead j are a column
 * each: a line of n / lead numbers, whose plan does what is left. */
void own_fft_pass_run(const struct own_fft *plan, unsigned pass, bool backward, const void *in, void *out, size_t begin,
                      size_t end);
/* n numbers times a table's, for the convolution of a line that is whole; parts are exchanged before, or after. */
void own_fft_multiply(const struct own_fft *plan, void *to, const void *from, const void *table, size_t n, bool before,
                      bool after);
/* A line that is real on a side, from real numbers or to them, to complex numbers, and their transform back. */
void own_fft_widen(const struct own_fft *plan, void *to, const void *from, bool from_real);
void own_fft_narrow(const struct own_fft *plan, void *to, const void *from, bool from_real);
/* Between half of a real line's transform and that of its numbers by twos (own_real.h). */
void own_fft_split_real(void *z, const struct own_fft *plan);
void own_fft_join_real(void *z, const struct own_fft *plan);
/* How many passes leave columns of no more than `most` numbers (0: not smooth, or one is left to do); *lead: the
 * product of their radices. */
unsigned own_fft_lead(size_t *lead, size_t n, size_t most);

/* The variants. */
struct own_fft_ops {
    /* float, double */
    unsigned lanes[2]; /* of vectors of lines side by side */
    void (*run[2])(const struct own_fft *plan, const struct own_fft_lines *lines, void *scratch);
    void (*run_halves[2])(const struct own_fft *plan, const struct own_fft_lines *lines, void *scratch);
    /* Complex rows one by one, or real ones by halves, of plans that are rows. */
    void (*run_rows[2])(const struct own_fft *plan, const struct own_fft_lines *lines, void *scratch);
    /* The passes before its columns, of one line without gaps, to rows of these that are `pitch` apart. */
    void (*run_lead[2])(const struct own_fft *plan, bool backward, const void *from, void *to, size_t pitch,
                        void *scratch);
};
extern const struct own_fft_ops own_fft_portable, own_fft_avx2, own_fft_avx512;

#endif
