/* simulate_mri - halcyon simulate --mri: what coils receive against integrals over the ellipses by quadrature, with
 * coils and field by their formulas; trajectories; what the command writes.  HALCYON is the command. */
#include "../src/cli/mri_phantom.h"
#include "../src/cli/simulate.h"
#include "stack_make.h"
#include <halcyon/host_array.h>
#include <sys/wait.h>

#define PI 3.14159265358979323846
enum { NODES = 48 };

/* --- The oracle --- */

/* As published: value, half axes, centre, degrees about z. */
static const double ellipses[10][8] = {
    { 1, .69, .92, .81, 0, 0, 0, 0 },        { -.8, .6624, .874, .78, 0, -.0184, 0, 0 },
    { -.2, .11, .31, .22, .22, 0, 0, -18 },  { -.2, .16, .41, .28, -.22, 0, 0, 18 },
    { .1, .21, .25, .41, 0, .35, -.15, 0 },  { .1, .046, .046, .05, 0, .1, .25, 0 },
    { .1, .046, .046, .05, 0, -.1, .25, 0 }, { .1, .046, .023, .05, -.08, -.605, 0, 0 },
    { .1, .023, .023, .02, 0, -.606, 0, 0 }, { .1, .023, .046, .02, .06, -.605, 0, 0 },
};
static double nodes[NODES], weights[NODES]; /* Gauss and Legendre's, of 0 to 1 */

static void find_nodes(void)
{
    for (int i = 0; i < NODES; i++) {
        double x = cos(PI * (i + 0.75) / (NODES + 0.5)), slope = 1;
        for (int step = 0; step < 50; step++) {
            double p = 1, before = 0;
            for (int n = 1; n <= NODES; n++) {
                double next = ((2 * n - 1) * x * p - (n - 1) * before) / n;
                before = p;
                p = next;
            }
            slope = NODES * (x * p - before) / (x * x - 1);
            x -= p / slope;
        }
        nodes[i] = (1 + x) / 2;
        weights[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

/* Of coil c of n, at a place in the order of the axes. */
static double complex sensitivity(int dim, size_t c, size_t n, const double *r)
{
    double angle = 2 * PI * (double)c / (double)n, place[3] = { c % 2 ? -0.5 : 0.5, 0, 0 };
    place[dim - 2] = 1.2 * sin(angle);
    place[dim - 1] = 1.2 * cos(angle);
    double complex product = n > 1 ? cos(angle) + I * sin(angle) : 1;
    for (int d = 0; d < dim && n > 1; d++) {
        double u = PI / 3 * (r[d] - place[d]);
        product *= 0.5 + 0.5 * cos(u) + 0.1 * I * sin(u);
    }
    return product;
}

/* The sum over the nodes in one ellipse. */
static double complex integrate_ellipse(const double *e, const struct mri_scene *s, size_t coil,
                                        const double *k, double seconds)
{
    double complex sum = 0;
    double ca = cos(e[7] * PI / 180), sa = sin(e[7] * PI / 180);
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < 2 * NODES; j++)
            for (int l = 0; l < (s->dim == 3 ? NODES : 1); l++) {
                double length = nodes[i], turn = PI * j / NODES, z = s->dim == 3 ? 2 * nodes[l] - 1 : 0,
                       ring = sqrt(1 - z * z);
                double u = e[1] * length * ring * cos(turn), v = e[2] * length * ring * sin(turn), r[3];
                double weight = weights[i] * PI / NODES * e[1] * e[2] * length;
                if (s->dim == 3)
                    weight *= 2 * weights[l] * e[3] * length;
                r[0] = e[6] + e[3] * length * z;
                r[s->dim - 1] = e[4] + ca * u - sa * v;
                r[s->dim - 2] = -(e[5] + sa * u + ca * v);
                double phase = s->field * cos(PI / 3 * r[s->dim - 1]) * seconds;
                for (int d = 0; d < s->dim; d++)
                    phase += k[d] * r[d];
                sum += weight * sensitivity(s->dim, coil, s->n_coils, r) * cexp(-2 * PI * I * phase);
            }
    return e[0] * sum;
}

static void check_signal(int dim, size_t coils, double field, double seconds, double reach)
{
    struct mri_scene s;
    double complex got[8];
    double worst = 0;
    uint64_t state = 5;
    mri_scene_make(&s, dim, coils, field);
    for (int i = 0; i < (dim == 3 ? 2 : 6); i++) {
        double k[3];
        for (int d = 0; d < dim; d++)
            k[d] = i ? reach * (2 * sim_uniform(&state) - 1) : 0;
        mri_receive(got, &s, k, seconds);
        for (size_t c = 0; c<coils; c += coils> 1 ? coils - 1 : 1) {
            double complex want = 0;
            for (int e = 0; e < 10; e++)
                want += integrate_ellipse(ellipses[e], &s, c, k, seconds);
            worst = fmax(worst, cabs(got[c] - want));
        }
    }
    ok(worst < 1e-12, "%d-D, %zu coils, %g Hz after %g s: %.1e",
       dim, coils, field, seconds, worst);
}

static void test_places(void)
{
    struct mri_scene s;
    double worst = 0, r[3];
    double complex values[4];
    uint64_t state = 9;
    mri_scene_make(&s, 3, 4, 30);
    for (int i = 0; i < 100; i++) {
        for (int d = 0; d < 3; d++)
            r[d] = 2 * sim_uniform(&state) - 1;
        mri_coil_values(values, &s, r);
        for (size_t c = 0; c < 4; c++)
            worst = fmax(worst, cabs(values[c] - sensitivity(3, c, 4, r)));
        worst = fmax(worst, fabs(mri_field_value(&s, r) - 30 * cos(PI / 3 * r[2])));
    }
    ok(worst < 1e-13, "coils and field at places: %.1e", worst);
    ok(fabs(mri_phantom_value(2, (double[]){ 0, 0 }) - 0.2) < 1e-12 &&
           mri_phantom_value(2, (double[]){ 0.95, 0 }) == 0 &&
           mri_phantom_value(2, (double[]){ -0.9, 0 }) == 1,
       "the phantom at places");
    ok(fabs(mri_phantom_value(2, (double[]){ -0.35, 0 }) - 0.3) < 1e-12 &&
           fabs(mri_phantom_value(2, (double[]){ 0.35, 0 }) - 0.2) < 1e-12,
       "... with the large ellipse in the upper rows");
}

/* --- The command --- */

static int command(const char *words)
{
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && \"$HALCYON\" simulate %s > out 2> err", folder, words);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static hcy_host_array take_array(const char *name)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    if (hcy_host_array_read(&a, in_folder(name)))
        bail_out("%s", hcy_last_error()->text);
    return a;
}

static bool has_shape(const hcy_host_array *a, int rank, uint64_t n0, uint64_t n1, uint64_t n2, uint64_t n3)
{
    const uint64_t want[4] = { n0, n1, n2, n3 };
    return a->rank == rank && !memcmp(a->shape, want, (size_t)rank * sizeof *want);
}

/* Image and samples are of one object, the right way round and in one unit: near the middle of k-space, where pixels
 * are fine enough, the sum over the image that `halcyon nufft -t 2` makes is the sample of coil 0. */
static void check_image(const hcy_host_array *image, const hcy_host_array *maps, const double *points,
                        const double complex *samples, size_t n, int dim)
{
    double bad = 0, all = 0;
    size_t pixels, used = 0;
    if (hcy_host_array_count(&pixels, image))
        bail_out("no image");
    for (size_t i = 0; i < n; i++) {
        const double *k = points + i * (size_t)dim;
        double complex sum = 0;
        double length = 0;
        for (int d = 0; d < dim; d++)
            length += k[d] * k[d];
        if (length > 0.7 * 0.7)
            continue;
        for (size_t p = 0; p < pixels; p++) {
            double phase = 0;
            size_t left = p;
            for (int d = dim - 1; d >= 0; d--) {
                size_t size = (size_t)image->shape[d];
                phase += k[d] * ((double)(left % size) - (double)(size / 2));
                left /= size;
            }
            sum += ((double *)image->data)[p] * ((double complex *)maps->data)[p] * cexp(-I * phase);
        }
        bad += pow(cabs(sum - samples[i]), 2);
        all += pow(cabs(samples[i]), 2);
        used++;
    }
    ok(used > 5 && sqrt(bad / all) < 0.02, "... the sum over the image's pixels is them, at %zu places: %.3f",
       used, sqrt(bad / all));
}

/* Each sample of the command's files is what the phantom has at that point of the trajectory. */
static void check_written(const char *words, const char *stem, int dim, const uint64_t shape[3],
                          const uint64_t size[3])
{
    char name[100];
    bool is_stack = shape[0] > 1, field = strstr(words, "--field-map");
    is_int(command(words), 0, "simulate %s", words);
    snprintf(name, sizeof name, "%s_trajectory.npy", stem);
    hcy_host_array t = take_array(name);
    snprintf(name, sizeof name, "%s_samples.npy", stem);
    hcy_host_array s = take_array(name);
    snprintf(name, sizeof name, "%s_image.npy", stem);
    hcy_host_array image = take_array(name);
    snprintf(name, sizeof name, "%s_maps.npy", stem);
    hcy_host_array maps = take_array(name);
    ok(is_stack ? has_shape(&t, 4, shape[0], shape[1], shape[2], 3) &&
                      has_shape(&s, 4, 2, shape[0], shape[1], shape[2])
                : has_shape(&t, 3, shape[1], shape[2], (uint64_t)dim, 0) &&
                      has_shape(&s, 3, 2, shape[1], shape[2], 0),
       "... trajectory and samples");
    ok(dim == 3 ? has_shape(&image, 3, size[0], size[1], size[2], 0) &&
                      has_shape(&maps, 4, 2, size[0], size[1], size[2])
                : has_shape(&image, 2, size[0], size[1], 0, 0) && has_shape(&maps, 3, 2, size[0], size[1], 0),
       "... image and maps");
    struct mri_scene scene;
    mri_scene_make(&scene, dim, 2, field ? 20 : 0);
    size_t n = (size_t)(shape[0] * shape[1] * shape[2]);
    const double *points = t.data;
    const double complex *samples = s.data;
    double worst = 0, most = 0, scale = 1;
    for (int d = 0; d < dim; d++)
        scale *= (double)size[d] / 2;
    for (size_t i = 0; i < n; i += 7) {
        double k[3], seconds = 0.01 * (double)(i % shape[2]) / (double)shape[2];
        double complex want[2];
        for (int d = 0; d < dim; d++) {
            k[d] = points[i * (size_t)dim + (size_t)d] * (double)size[d] / (4 * PI);
            most = fmax(most, fabs(points[i * (size_t)dim + (size_t)d]));
        }
        mri_receive(want, &scene, k, seconds);
        for (size_t c = 0; c < 2; c++)
            worst = fmax(worst, cabs(samples[c * n + i] - scale * want[c]));
    }
    ok(worst < 1e-9 * scale && most <= PI * (1 + 1e-15) && most > 2,
       "... samples are the phantom's there: %.1e", worst / scale);
    if (!field)
        check_image(&image, &maps, points, samples, n, dim);
    hcy_host_array_free(&t);
    hcy_host_array_free(&s);
    hcy_host_array_free(&image);
    hcy_host_array_free(&maps);
}

/* Gradients that come two samples late: what is sampled is what was there two samples before, and nothing says so. */
static void test_delay(void)
{
    double worst = 0, most = 0;
    is_int(command("--mri radial --size 16 -q on.npy") || command("--mri radial --size 16 --delay 2 -q late.npy"), 0,
           "gradients that come late");
    hcy_host_array on = take_array("on_samples.npy"), late = take_array("late_samples.npy"), a = take_array("on_trajectory.npy"),
                   b = take_array("late_trajectory.npy");
    const size_t n = (size_t)(on.shape[1] * on.shape[2]), length = (size_t)on.shape[2];
    const double complex *x = on.data, *y = late.data;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, cabs(x[i]));
        if (i % length >= 2)
            worst = fmax(worst, cabs(y[i] - x[i - 2]));
    }
    ok(worst < 1e-10 * most, "... are sampled where they were two samples before: %.1e", worst / most);
    ok(!memcmp(a.data, b.data, 2 * n * sizeof(double)), "... and the trajectory is what was asked for");
    is_int(command("--mri radial --size 16 --delay 1,2,3 -q x.npy"), 2, "... a number too many");
    is_int(command("--mri radial --size 16 --delay 3us -q x.npy"), 2, "... a time");
    hcy_host_array_free(&on);
    hcy_host_array_free(&late);
    hcy_host_array_free(&a);
    hcy_host_array_free(&b);
}

static void test_noise(void)
{
    double power = 0, noise = 0;
    is_int(command("--mri radial --size 16 -q plain.npy") ||
               command("--mri radial --size 16 --noise 0.1 -t 1 -q --seed 3 a.npy") ||
               command("--mri radial --size 16 --noise 0.1 -t 5 -q --seed 3 b.npy") ||
               command("--mri radial --size 16 --noise 0.1 -q --seed 4 c.npy"),
           0, "noise");
    hcy_host_array p = take_array("plain_samples.npy"), a = take_array("a_samples.npy"),
                   b = take_array("b_samples.npy"), c = take_array("c_samples.npy");
    size_t n;
    if (hcy_host_array_count(&n, &a))
        bail_out("no samples");
    ok(!memcmp(a.data, b.data, n * sizeof(double complex)),
       "... is the same for a seed, with any number of threads");
    ok(memcmp(a.data, c.data, n * sizeof(double complex)) != 0, "... and another for another seed");
    for (size_t i = 0; i < 2 * n; i++) {
        double v = ((double *)p.data)[i], d = ((double *)a.data)[i] - v;
        power += v * v;
        noise += d * d;
    }
    ok(fabs(sqrt(noise / 2 / power) - 0.1) < 0.01, "... of the deviation asked for: %.4f",
       sqrt(noise / 2 / power));
    hcy_host_array *const all[] = { &p, &a, &b, &c };
    for (int i = 0; i < 4; i++)
        hcy_host_array_free(all[i]);
}

static void test_command(void)
{
    check_written("--mri radial --size 24 --coils 2 -q r.npy", "r", 2, (uint64_t[]){ 1, 38, 48 },
                  (uint64_t[]){ 24, 24, 0 });
    check_written("--mri radial --golden --size 15 --spokes 9 --samples 31 --coils 2 -q g.npy", "g", 2,
                  (uint64_t[]){ 1, 9, 31 }, (uint64_t[]){ 15, 15, 0 });
    check_written("--mri spiral --size 24 --coils 2 --field-map 20 -q s.npy", "s", 2,
                  (uint64_t[]){ 1, 3, 302 }, (uint64_t[]){ 24, 24, 0 });
    check_written("--mri stack-of-stars --size 12 --slices 5 --spokes 7 --coils 2 -q k.npy", "k", 3,
                  (uint64_t[]){ 5, 7, 24 }, (uint64_t[]){ 5, 12, 12 });
    check_written("--mri kooshball --size 12 --coils 2 -q b.npy", "b", 3, (uint64_t[]){ 1, 37, 24 },
                  (uint64_t[]){ 12, 12, 12 });
    hcy_host_array times = take_array("s_times.npy"), field = take_array("s_field_map.npy");
    ok(has_shape(&times, 1, 302, 0, 0, 0) && has_shape(&field, 2, 24, 24, 0, 0) &&
           ((double *)field.data)[12] == 20,
       "field map and times");
    hcy_host_array_free(&times);
    hcy_host_array_free(&field);
#ifdef HAVE_HDF5
    is_int(command("--mri radial --size 8 scan.h5"), 0, "one HDF5 file");
    hcy_host_array image = take_array("scan.h5:/image"), samples = take_array("scan.h5:/samples");
    ok(has_shape(&image, 2, 8, 8, 0, 0) && has_shape(&samples, 3, 1, 13, 16, 0), "... of all arrays");
    hcy_host_array_free(&image);
    hcy_host_array_free(&samples);
#endif
    is_int(command("--mri radial --size 8 -q scan.cfl"), 0, "BART's files");
    is_int(access(in_folder("scan_trajectory.hdr"), R_OK), 0, "... of all arrays");
    is_int(command("--mri circle x.npy"), 2, "a trajectory that is none");
    is_int(command("--mri radial --slices 3 x.npy"), 2, "--slices without a stack");
    is_int(command("--mri radial --frames 3 x.npy"), 2, "frames without a stack");
    is_int(command("--coils 3 x.h5"), 2, "coils of a detector");
    is_int(command("--mri radial --size 8 x.tif"), 2, "a format that has no arrays");
    is_int(command("--mri radial x.nii"), 2, "one of images");
    is_int(command("--mri radial"), 2, "no file");
}

int main(void)
{
    make_folder();
    find_nodes();
    check_signal(2, 1, 0, 0, 12);
    check_signal(2, 8, 0, 0, 12);
    check_signal(2, 3, 100, 0.02, 8);
    check_signal(2, 1, -40, 0.01, 8);
    check_signal(3, 2, 0, 0, 5);
    check_signal(3, 1, 50, 0.01, 5);
    test_places();
    test_command();
    test_delay();
    test_noise();
    return done_testing();
}
