/* units.c - in which units strengths are summed as integers (HCY_NUFFT_SAME_BITS): powers of two, the same everywhere.
 * Threads share the search for the largest strength.
 */
#include "cpu_nufft.h"
#include "nufft/nufft_bits.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const char *strengths; /* of a vector */
    size_t n;              /* reals */
    bool is_double;
    uint32_t *largest; /* a thread */
};
enum { PIECE = 1 << 14 };

/* The exponent, as in a double, of the largest magnitude: magnitudes are in the order of their bits, and of doubles the
 * upper halves say it. */
static uint32_t largest_of(const char *numbers, size_t n, bool is_double)
{
    int32_t most = 0;
    float single;
    uint64_t bits;
    for (size_t i = 0; i < n && is_double; i++) {
        memcpy(&bits, numbers + i * sizeof bits, sizeof bits);
        const int32_t upper = (int32_t)(bits >> 32 & INT32_MAX);
        most = upper > most ? upper : most;
    }
    if (is_double)
        return (uint32_t)most >> 20;
    for (size_t i = 0; i < n; i++) {
        int32_t word;
        memcpy(&word, numbers + i * sizeof word, sizeof word);
        word &= INT32_MAX;
        most = word > most ? word : most;
    }
    memcpy(&single, &most, sizeof single);
    const double number = (double)single;
    memcpy(&bits, &number, sizeof bits);
    return (uint32_t)(bits >> 52);
}

static void search_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct search *s = context;
    for (size_t i = begin; i < end; i++) {
        const size_t first = i * PIECE, n = s->n - first < PIECE ? s->n - first : PIECE;
        const uint32_t exponent = largest_of(s->strengths + first * (s->is_double ? 8 : 4), n, s->is_double);
        s->largest[thread] = exponent > s->largest[thread] ? exponent : s->largest[thread];
    }
}

int nufft_find_units(double *units, const struct nufft_layout *l, const char *strengths, const struct cpu_call *call)
{
    const unsigned threads = cpu_pool_threads(call->pool);
    uint32_t *largest = malloc(threads * sizeof *largest);
    if (!largest)
        return hcy_fail(HCY_ENOMEM, "nufft_spread: out of memory for %u threads", threads);
    for (size_t v = 0; v < call->items; v++) {
        struct search s = { strengths + v * 2 * l->n_points * l->real, 2 * l->n_points, l->is_double, largest };
        uint32_t most = 0;
        memset(largest, 0, threads * sizeof *largest);
        cpu_pool_for(call->pool, (s.n + PIECE - 1) / PIECE, 1, search_range, &s);
        for (unsigned i = 0; i < threads; i++)
            most = largest[i] > most ? largest[i] : most;
        const uint64_t scale = hcy_nufft_scale(l->n_points, most);
        const uint64_t bits[2] = { scale << 52, hcy_nufft_unit(scale) };
        memcpy(&units[v], &bits[0], sizeof *units);
        memcpy(&units[call->items + v], &bits[1], sizeof *units);
    }
    free(largest);
    return 0;
}
