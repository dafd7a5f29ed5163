/* nufft_widths - whether windows are wide enough: the worst of many transforms of random sizes, points and strengths,
 * on grids that are chosen and on coarse ones; type 3 with targets where its errors are largest. */
#include "nufft_oracle.h"
#include "tap.h"

enum { SEEDS = 16 };

/* In units of eps; the grid has at least this many cells a mode, or what the library chooses. */
static double worst(hcy_device *dev, int precision, int dim, double eps, double upsampling)
{
    static const double most_modes[3] = { 150, 30, 10 };
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    double most = 0;
    o.upsampling = upsampling;
    for (int seed = 0; seed < SEEDS / (dim * dim); seed++) {
        struct problem p;
        int64_t modes[3];
        for (int d = 0; d < 3; d++)
            modes[d] = 5 + (int64_t)(oracle_uniform() * most_modes[dim - 1]);
        oracle_open(&p, precision, 1 + seed % 2, dim, modes, 60, 0, 1);
        most = fmax(most, oracle_run(&p, dev, eps, &o) / eps);
        oracle_close(&p);
    }
    return most;
}

static void check_widths(hcy_device *dev)
{
    static const double upsampling[] = { 0, 1.25, 1.45, 2 };
    for (int dim = 1; dim <= 3; dim++)
        for (int i = 0; i < 4; i++) {
            double wide = 0, single = 0;
            for (int power = 1; power <= (upsampling[i] == 1.25 ? 8 : 11); power++)
                wide = fmax(wide, worst(dev, HCY_F64, dim, pow(10, -power), upsampling[i]));
            for (int power = 1; power <= 5; power++)
                single = fmax(single, worst(dev, HCY_F32, dim, pow(10, -power), upsampling[i]));
            ok(wide <= 2 && single <= 2, "%d-D, upsampling %g: %.2f eps in double, %.2f in float", dim, upsampling[i],
               wide, single);
        }
}

/* Few modes: the last one of each axis is one of few. */
static void check_few(hcy_device *dev)
{
    for (int dim = 2; dim <= 3; dim++) {
        double most = 0;
        for (int seed = 0; seed < 60; seed++) {
            struct problem p;
            int64_t modes[3];
            for (int d = 0; d < 3; d++)
                modes[d] = 5 + (int64_t)(oracle_uniform() * 4);
            oracle_open(&p, HCY_F64, 2, dim, modes, 30, 0, 1);
            most = fmax(most, oracle_run(&p, dev, 1e-3, NULL) / 1e-3);
            oracle_close(&p);
        }
        ok(most <= 2, "%d-D, few modes: %.2f eps", dim, most);
    }
}

/* On [-1/2, 1/2]: at both ends, or more of them the nearer to the ends. */
static double place(int kind)
{
    double u = oracle_uniform() - 0.5;
    return kind == 0 ? (u < 0 ? -0.48 : 0.48) + 0.04 * u : copysign(0.5 * pow(fabs(2 * u), 0.1), u);
}

/* Targets at the ends are those of the least transform of the window.  There are enough periods among them for sums
 * not to be all small by chance. */
static void check_type3(hcy_device *dev)
{
    for (int kind = 0; kind < 2; kind++) {
        double most = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            struct problem p;
            double eps = pow(10, -1 - 10 * oracle_uniform()), scale = 20 * pow(50, oracle_uniform());
            oracle_open(&p, HCY_F64, 3, 1, (const int64_t[]){ 1 }, 80, 80, 1);
            for (size_t i = 0; i < 80; i++) {
                oracle_put(&p, p.s[0], i, scale * place(kind));
                oracle_put(&p, p.x[0], i, 2 * PI * (seed % 2 ? place(kind) : oracle_uniform() - 0.5));
            }
            most = fmax(most, oracle_run(&p, dev, eps, NULL) / eps);
            oracle_close(&p);
        }
        ok(most <= 2, "type 3, targets %s: %.2f eps", kind ? "mostly near the ends" : "at both ends", most);
    }
}

/* Targets at the ends of three axes at once: what rounding is off is divided by the window's transform of each. */
static void check_corners(hcy_device *dev)
{
    static const double eps[] = { 1e-10, 4.87e-9, 2e-8 };
    double most = 0;
    for (int i = 0; i < 3; i++)
        for (int seed = 0; seed < 2; seed++) {
            struct problem p;
            oracle_open(&p, HCY_F64, 3, 3, (const int64_t[]){ 1, 1, 1 }, 1500, 4, 1);
            for (int d = 0; d < 3; d++) {
                for (size_t j = 0; j < p.m; j++)
                    oracle_put(&p, p.x[d], j, oracle_uniform() < 0.5 ? -10 : 10);
                for (size_t k = 0; k < p.n; k++)
                    oracle_put(&p, p.s[d], k, 20 * place(0));
            }
            most = fmax(most, oracle_run(&p, dev, eps[i], NULL) / eps[i]);
            oracle_close(&p);
        }
    ok(most <= 2, "type 3, targets in the corners of 3-D: %.2f eps", most);
}

int main(void)
{
    hcy_device *dev;
    if (hcy_device_open(&dev, "cpu@threads=1"))
        bail_out("no CPU");
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("the CPU has no FFT here");
    check_widths(dev);
    check_few(dev);
    check_type3(dev);
    check_corners(dev);
    hcy_device_release(dev);
    return done_testing();
}
