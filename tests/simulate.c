/* simulate.c - the inner parts of halcyon simulate: the noise is Poisson's, rings lie where the lattice says.
 */
#include "../src/cli/simulate.h"
#include "tap.h"

enum { N = 200000 };

/* Chi-squared of N pixels of one mean against the exact distribution, over the values expected at least 20
 * times. */
static double chi_squared(const uint32_t *drawn, double mean, int *freedom)
{
    size_t most = (size_t)(mean + 20 * sqrt(mean) + 40), *seen = calloc(most + 1, sizeof *seen);
    double sum = 0, rest_seen = N, rest_want = N;
    for (size_t i = 0; i < N; i++)
        seen[drawn[i] < most ? drawn[i] : most]++;
    *freedom = 0;
    for (size_t k = 0; k < most; k++) {
        double want = N * exp((double)k * log(mean) - mean - lgamma((double)k + 1));
        if (want < 20)
            continue;
        sum += ((double)seen[k] - want) * ((double)seen[k] - want) / want;
        rest_seen -= (double)seen[k];
        rest_want -= want;
        ++*freedom;
    }
    if (rest_want > 20)
        sum += (rest_seen - rest_want) * (rest_seen - rest_want) / rest_want;
    free(seen);
    return sum;
}

static void test_noise(void)
{
    static const double means[] = {
        0.003, 0.05, 0.5, 1, 3.99, 4.03, 17.2, 39.99, 40, 57.3, 250, 3000, 50000
    };
    float *mean = malloc(N * sizeof *mean);
    uint8_t *kinds = calloc(N, 1);
    uint32_t *drawn = malloc(N * sizeof *drawn);
    for (size_t m = 0; m < sizeof means / sizeof means[0]; m++) {
        for (size_t i = 0; i < N; i++)
            mean[i] = (float)means[m];
        struct sim_counter *counter = sim_counter_create(mean, kinds, N, 11);
        sim_draw(drawn, 4, counter, m);
        int freedom;
        double sum = chi_squared(drawn, (double)(float)means[m], &freedom);
        double limit = freedom + 5 * sqrt(2.0 * freedom) + 10;
        if (!ok(sum < limit, "mean %g: the distribution is Poisson's", means[m]))
            diag("chi-squared %g with %d degrees of freedom", sum, freedom);
        sim_counter_destroy(counter);
    }
    free(drawn);
    free(kinds);
    free(mean);
}

static void test_frames(void)
{
    enum { PIXELS = 1001 };
    float mean[PIXELS];
    uint8_t kinds[PIXELS] = { SIM_GOOD, SIM_GAP, SIM_HOT, SIM_DEAD };
    uint32_t first[PIXELS], again[PIXELS], next[PIXELS];
    uint16_t narrow[PIXELS];
    for (size_t i = 0; i < PIXELS; i++)
        mean[i] = i % 7 ? 5 : 1e6f;
    struct sim_counter *counter = sim_counter_create(mean, kinds, PIXELS, 1);
    sim_draw(first, 4, counter, 5);
    sim_draw(next, 4, counter, 6);
    sim_draw(again, 4, counter, 5);
    ok(!memcmp(first, again, sizeof first), "a frame is the same whenever it is drawn");
    ok(memcmp(first, next, sizeof first) != 0, "the next one is another");
    ok(first[1] == UINT32_MAX && first[2] == UINT32_MAX - 1 && first[3] == 0, "gap, hot and dead pixels");
    sim_draw(narrow, 2, counter, 5);
    ok(narrow[1] == 65535 && narrow[2] == 65534 && narrow[3] == 0 && narrow[4] == first[4], "in 16 bits too");
    ok(narrow[7] == 65533, "bright pixels stay below the marks");
    sim_counter_destroy(counter);
}

static void test_rings(void)
{
    struct sim_rings rings;
    char why[128];
    is_int(sim_rings_find(&rings, "CeO2", why, sizeof why), 0, "CeO2");
    is_near(rings.d[0], 5.411651e-10 / sqrt(3), 1e-12, 0, "its first ring is 111");
    is_near(rings.d[2], 5.411651e-10 / sqrt(8), 1e-12, 0, "its third is 220");
    is_near(rings.strength[2] / rings.strength[0], 12 * 74. * 74 / (8 * 58. * 58), 1e-12, 0,
            "12 planes against 8");
    is_int(sim_rings_find(&rings, "LaB6", why, sizeof why), 0, "LaB6");
    is_near(rings.d[6], 4.156826e-10 / sqrt(8), 1e-12, 0, "there is no 7");
    is_int(sim_rings_find(&rings, "2.5,3.5", why, sizeof why), 0, "two d-spacings");
    ok(rings.n == 2 && rings.d[0] > rings.d[1], "the larger first");
    static const char *const bad[] = { "", "ceo", ",3", "3.1,-2", "nan", "3;4", "0" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(sim_rings_find(&rings, bad[i], why, sizeof why) == -1, "'%s' is refused", bad[i]);
}

static void test_image(void)
{
    hcy_poni poni = HCY_PONI_INIT;
    struct sim_rings rings;
    char why[128];
    poni.height = 300;
    poni.width = 200;
    poni.pixel1 = poni.pixel2 = 75e-6;
    float *mean = malloc(300 * 200 * sizeof *mean);
    if (sim_rings_find(&rings, "CeO2", why, sizeof why))
        bail_out("%s", why);
    sim_place(&poni, &rings);
    is_int(sim_mean(mean, &poni, &rings, 10), 0, "the average image");
    double sum = 0, least = 1e9;
    for (size_t i = 0; i < 300 * 200; i++) {
        sum += mean[i];
        least = fmin(least, mean[i]);
    }
    is_near(sum / (300 * 200), 10, 1e-4, 0, "has the wanted mean");
    ok(least > 0, "and light everywhere");
    double ring = poni.dist * tan(2 * asin(poni.wavelength / (2 * rings.d[0]))) / poni.pixel1;
    size_t row = (size_t)(poni.poni1 / poni.pixel1), centre = (size_t)(poni.poni2 / poni.pixel2);
    const float *line = mean + row * 200 + centre;
    ok(line[(size_t)ring] > 2 * line[(size_t)(ring * 0.6)], "the first ring is where it should be");
    free(mean);
}

int main(void)
{
    test_noise();
    test_frames();
    test_rings();
    test_image();
    return done_testing();
}
