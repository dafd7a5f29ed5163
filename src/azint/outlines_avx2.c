/* outlines_avx2.c - the shares of a row of outlines in two or three bins, as most are, four pixels at a time.  No
 * state; any thread.
 *
 * What hcy__azint_shares_polygon() does, in the same single operations and order: a lane is a pixel.  Where that goes
 * from border to border and stops, a lane's areas stay as they are.
 */
#include "row_loops.h"

#include <immintrin.h>

/* Four corners, one of each pixel. */
struct corners {
    __m256d x, y;
};
/* Four pixels: where their first bins begin, which of them have a third one, what is under their edges. */
struct four {
    __m256d first, area[3];
    __m256d has_third;
    int any_third;
};

static inline __m256d pick(__m256d no, __m256d yes, __m256d mask)
{
    return _mm256_blendv_pd(no, yes, mask);
}

/* Adds what is under an edge from `a` to `b`. */
static inline void add_edges(struct four *p, struct corners a, struct corners b)
{
    const __m256d backward = _mm256_andnot_pd(_mm256_cmp_pd(a.x, b.x, _CMP_LT_OQ), _mm256_set1_pd(-0.0));
    const __m256d lo = _mm256_min_pd(a.x, b.x), hi = _mm256_max_pd(a.x, b.x);
    const __m256d slope = _mm256_div_pd(_mm256_sub_pd(b.y, a.y), _mm256_sub_pd(b.x, a.x));
    const __m256d y = _mm256_xor_pd(_mm256_sub_pd(a.y, _mm256_mul_pd(slope, a.x)), backward);
    const __m256d half = _mm256_xor_pd(_mm256_mul_pd(_mm256_set1_pd(0.5), slope), backward);
    const __m256d there = _mm256_cmp_pd(lo, hi, _CMP_LT_OQ);
    __m256d begin = p->first;

    for (int k = 0; k < 2 + p->any_third; k++) {
        const __m256d end = _mm256_add_pd(begin, _mm256_set1_pd(1));
        const __m256d left = _mm256_max_pd(lo, begin), right = _mm256_min_pd(hi, end);
        const __m256d height = _mm256_add_pd(_mm256_mul_pd(half, _mm256_add_pd(right, left)), y);
        const __m256d area = _mm256_add_pd(p->area[k], _mm256_mul_pd(_mm256_sub_pd(right, left), height));
        /* An edge that ends on a border has its last, empty part behind it. */
        __m256d in = _mm256_and_pd(_mm256_cmp_pd(lo, end, _CMP_LT_OQ), _mm256_cmp_pd(hi, begin, _CMP_GE_OQ));

        in = _mm256_and_pd(in, k < 2 ? there : _mm256_and_pd(there, p->has_third));
        p->area[k] = pick(p->area[k], _mm256_cvtps_pd(_mm256_cvtpd_ps(area)), in);
        begin = end;
    }
}

/* round_shares() */
static inline __m128i round_four(__m256d share)
{
    const __m256d one = _mm256_set1_pd(HCY_AZINT_ONE);
    const __m256d w = _mm256_add_pd(_mm256_mul_pd(share, one), _mm256_set1_pd(0.5));

    return _mm256_cvttpd_epi32(_mm256_min_pd(_mm256_max_pd(w, _mm256_setzero_pd()), one));
}

/* hcy__azint_recentre() */
static inline void recentre_four(struct corners c[4], const __m256d radial[4], double contour)
{
    const __m256d ahead = _mm256_mul_pd(_mm256_sub_pd(radial[2], radial[0]), _mm256_sub_pd(c[3].y, c[1].y));
    const __m256d across = _mm256_mul_pd(_mm256_sub_pd(c[2].y, c[0].y), _mm256_sub_pd(radial[3], radial[1]));
    const __m256d area = _mm256_sub_pd(ahead, across), zero = _mm256_setzero_pd(), turn = _mm256_set1_pd(2 * AZINT_PI);
    const __m256d goes = _mm256_cmp_pd(_mm256_mul_pd(_mm256_set1_pd(contour), area), zero, _CMP_GT_OQ);
    __m256d moved[4], sum = zero;

    for (int k = 0; k < 4; k++) {
        moved[k] = _mm256_add_pd(c[k].y, _mm256_and_pd(_mm256_cmp_pd(c[k].y, zero, _CMP_LT_OQ), turn));
        sum = _mm256_add_pd(sum, moved[k]);
    }
    const __m256d down = _mm256_and_pd(_mm256_cmp_pd(sum, _mm256_set1_pd(4 * AZINT_PI), _CMP_GT_OQ), turn);

    for (int k = 0; k < 4; k++)
        c[k].y = pick(c[k].y, _mm256_sub_pd(moved[k], down), goes);
}

/* Masks of four lanes of 32 bits, one of 64 each. */
static inline __m256d widen(__m128i mask)
{
    return _mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask));
}

static void share_four(uint32_t *one, uint32_t *two, const struct azint_outlines *o, size_t j, __m128i spans,
                       __m128i third)
{
    const __m256d min = _mm256_set1_pd(o->min), delta = _mm256_set1_pd(o->delta);
    /* From above to the left round, as a pixel's corners are. */
    const __m256d radial[4] = { _mm256_loadu_pd(o->upper + j), _mm256_loadu_pd(o->lower + j),
                                _mm256_loadu_pd(o->lower + j + 1), _mm256_loadu_pd(o->upper + j + 1) };
    struct corners c[4] = { { .y = _mm256_loadu_pd(o->upper_chi + j) },
                            { .y = _mm256_loadu_pd(o->lower_chi + j) },
                            { .y = _mm256_loadu_pd(o->lower_chi + j + 1) },
                            { .y = _mm256_loadu_pd(o->upper_chi + j + 1) } };
    struct four p = { .first = _mm256_cvtepi32_pd(_mm_and_si128(spans, _mm_set1_epi32(0xffffff))),
                      .has_third = widen(third), .any_third = !_mm_testz_si128(third, third) };

    recentre_four(c, radial, o->contour);
    for (int k = 0; k < 4; k++)
        c[k].x = _mm256_div_pd(_mm256_sub_pd(radial[k], min), delta);
    for (int k = 0; k < 3; k++)
        p.area[k] = _mm256_setzero_pd();
    for (int k = 0; k < 4; k++)
        add_edges(&p, c[k], c[(k + 1) % 4]);
    const __m256d both = _mm256_add_pd(p.area[0], p.area[1]), sum = _mm256_add_pd(both, p.area[2]);
    const __m256d sound = _mm256_cmp_pd(sum, _mm256_setzero_pd(), _CMP_NEQ_OQ);
    /* The lower halves of four masks of 64 bits, turned round: AZINT_ALONE has all bits. */
    const __m256i halves = _mm256_permutevar8x32_epi32(_mm256_castpd_si256(sound),
                                                       _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    const __m128i alone = _mm_xor_si128(_mm256_castsi256_si128(halves), _mm_set1_epi32(-1));

    _mm_storeu_si128((__m128i *)(void *)(one + j), _mm_or_si128(alone, round_four(_mm256_div_pd(p.area[0], sum))));
    _mm_storeu_si128((__m128i *)(void *)(two + j), round_four(_mm256_div_pd(both, sum)));
}

void hcy__azint_outlines_avx2(uint32_t *one, uint32_t *two, const struct azint_outlines *o, size_t n)
{
    size_t j = 0;

    for (; j + 4 <= n; j += 4) {
        const __m128i spans = _mm_loadu_si128((const __m128i *)(const void *)(o->spans + j));
        const __m128i bins = _mm_srli_epi32(spans, 24), third = _mm_cmpeq_epi32(bins, _mm_set1_epi32(3));

        /* Of others' shares nobody asks. */
        if (_mm_movemask_epi8(_mm_or_si128(third, _mm_cmpeq_epi32(bins, _mm_set1_epi32(2)))))
            share_four(one, two, o, j, spans, third);
    }
    for (; j < n; j++)
        one[j] = AZINT_ALONE;
}
