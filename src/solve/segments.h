/* segments.h - exp(-z t) of a field and of times as a short sum of products, one factor for the times and one for the
 * places: segments, of time or of frequencies. */
#ifndef HCY_SEGMENTS_H
#define HCY_SEGMENTS_H

#include "operator_priv.h"

enum { HCY__MOST_SEGMENTS = 64 };
enum hcy__segments_kind { HCY__OF_TIME, HCY__OF_FREQUENCIES };

/* exp(-z[x] t[j]) is about the sum over l of b[l][j] c[l][x]; z is i times the field, or the field where that is
 * complex. */
struct hcy__segments {
    hcy_array *field;   /* radians a second, or complex rates */
    hcy_array *factors; /* b [n][points] */
    hcy_array *weights; /* c [n][image], or NULL: exp(-z moments[l]), segments of time */
    size_t n;
    double moments[HCY__MOST_SEGMENTS]; /* seconds, of time */
};

/* n segments for the vectors of `a`, of arrays that were checked; *error, unless that is NULL: the largest of any time
 * and bin.  What is made on failure too is for hcy__segments_end(). */
int hcy__segments_make(struct hcy__segments *s, double *error, const hcy_operator *a, hcy_array *field,
                       hcy_array *times, size_t n, enum hcy__segments_kind kind);
void hcy__segments_end(struct hcy__segments *s);
bool hcy__segments_decay(const struct hcy__segments *s);
/* u = c[l] x, and x = conj(c[l]) u, added to what x is where `adds`; both may be one array. */
int hcy__segments_place(hcy_queue *queue, hcy_array *u, const struct hcy__segments *s, size_t l, hcy_array *x);
int hcy__segments_return(hcy_queue *queue, hcy_array *x, const struct hcy__segments *s, size_t l, hcy_array *u,
                         bool adds);

/* off_resonance.c: those of an operator in a field; NULL: it is another one. */
const struct hcy__segments *hcy__off_resonance_segments(const hcy_operator *op);

#endif
