/* grid_image.c - an image from samples of its spectrum along any trajectory, as magnetic resonance takes them.
 *
 * usage: grid_image OUT.png [POINTS.npy IMAGE.npy [DEVICE]]
 *
 * POINTS is [samples][2] in radians, IMAGE [rows][columns]; without them: spokes, and an image of ellipses.
 * The image is sampled at the points (type 2) and found again from the samples: gridded (the adjoint), and, because
 * they do not lie equally dense, by conjugate gradients on A* A image = A* samples.  gnuplot draws it.
 */
#define _POSIX_C_SOURCE 200809L
#include <complex.h>
#include <halcyon/host_array.h>
#include <halcyon/nufft.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define PI 3.14159265358979323846
enum { SIZE = 128, SPOKES = 200, TURNS = 15 };

struct scene {
    size_t n_points;
    int64_t modes[2]; /* rows, columns */
    double *x[2];
    double complex *image, *samples, *back; /* back: the image found */
    double complex *rest, *step, *gram;     /* of the equations; the direction; A* A step */
};

static int no_memory(void)
{
    return hcy_fail(HCY_ENOMEM, "no memory for the samples and the image");
}

static int make_room(struct scene *s)
{
    double complex **const images[] = { &s->image, &s->back, &s->rest, &s->step, &s->gram };
    int missing = 0;
    for (int d = 0; d < 2; d++)
        missing += !(s->x[d] = malloc(s->n_points * sizeof(double)));
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
        missing += !(*images[i] = calloc((size_t)(s->modes[0] * s->modes[1]), sizeof(double complex)));
    missing += !(s->samples = malloc(s->n_points * sizeof *s->samples));
    return missing ? no_memory() : 0;
}

static int simulate(struct scene *s)
{
    static const double ellipses[][5] = { /* centre, half axes, value; the last that covers a pixel counts */
        { 0, 0, 0.8, 0.6, 0.4 }, { 0, 0, 0.72, 0.52, 0.2 }, { 0.2, 0.1, 0.2, 0.1, 1 }, { -0.3, -0.2, 0.1, 0.15, 0.7 }
    };
    s->n_points = (size_t)SPOKES * 2 * SIZE;
    s->modes[0] = s->modes[1] = SIZE;
    int status = make_room(s);
    for (size_t i = 0; !status && i < s->n_points; i++) {
        double angle = PI * (double)(i / (2 * SIZE)) / SPOKES, r = ((double)(i % (2 * SIZE)) + 0.5) / SIZE - 1;
        s->x[0][i] = PI * r * sin(angle);
        s->x[1][i] = PI * r * cos(angle);
    }
    for (int i = 0; !status && i < SIZE * SIZE; i++) {
        double y = 2.0 * (i / SIZE) / SIZE - 1, x = 2.0 * (i % SIZE) / SIZE - 1;
        s->image[i] = 0;
        for (size_t e = 0; e < sizeof ellipses / sizeof ellipses[0]; e++)
            if (pow((y - ellipses[e][0]) / ellipses[e][2], 2) + pow((x - ellipses[e][1]) / ellipses[e][3], 2) < 1)
                s->image[i] = ellipses[e][4];
    }
    return status;
}

static double number(const hcy_host_array *a, size_t i)
{
    i *= a->is_complex ? 2 : 1;
    return a->bytes == 8 ? ((const double *)a->data)[i] : (double)((const float *)a->data)[i];
}

static int load(struct scene *s, const char *points_path, const char *image_path)
{
    hcy_host_array points = HCY_HOST_ARRAY_INIT, image = HCY_HOST_ARRAY_INIT;
    int status = hcy_host_array_read(&points, points_path);
    if (!status)
        status = hcy_host_array_read(&image, image_path);
    if (!status && (points.rank != 2 || points.shape[1] != 2 || image.rank != 2)) {
        status = hcy_fail(HCY_EINVAL, "points must be [samples][2], the image [rows][columns]");
    }
    if (!status) {
        s->n_points = (size_t)points.shape[0];
        s->modes[0] = (int64_t)image.shape[0];
        s->modes[1] = (int64_t)image.shape[1];
        status = make_room(s);
    }
    for (size_t i = 0; !status && i < 2 * s->n_points; i++)
        s->x[i % 2][i / 2] = number(&points, i);
    for (size_t i = 0; !status && i < (size_t)(s->modes[0] * s->modes[1]); i++)
        s->image[i] = number(&image, i);
    hcy_host_array_free(&points);
    hcy_host_array_free(&image);
    return status;
}

static double norm2(const double complex *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += creal(v[i] * conj(v[i]));
    return sum;
}

/* One turn: from images with `rest` of A* samples left to explain to a better one. */
static int turn(struct scene *s, hcy_nufft *plan, size_t n)
{
    int status = hcy_nufft_execute(plan, s->samples, s->step);
    double before = norm2(s->rest, n), curved = norm2(s->samples, s->n_points);
    if (!status)
        status = hcy_nufft_execute_adjoint(plan, s->samples, s->gram);
    if (status || curved == 0)
        return status;
    for (size_t i = 0; i < n; i++) {
        s->back[i] += before / curved * s->step[i];
        s->rest[i] -= before / curved * s->gram[i];
    }
    double after = norm2(s->rest, n);
    for (size_t i = 0; i < n; i++)
        s->step[i] = s->rest[i] + after / before * s->step[i];
    return 0;
}

static int reconstruct(struct scene *s, hcy_device *dev)
{
    const void *const points[2] = { s->x[0], s->x[1] };
    size_t n = (size_t)(s->modes[0] * s->modes[1]);
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *plan;
    desc.type = 2;
    desc.dim = 2;
    desc.modes[0] = s->modes[0];
    desc.modes[1] = s->modes[1];
    desc.sign = -1;
    int status = hcy_nufft_create(&plan, dev, &desc, NULL);
    if (status)
        return status;
    status = hcy_nufft_set_points(plan, (int64_t)s->n_points, points, 0, NULL);
    if (!status)
        status = hcy_nufft_execute(plan, s->samples, s->image); /* what a scanner would have measured */
    if (!status)
        status = hcy_nufft_execute_adjoint(plan, s->samples, s->rest);
    for (size_t i = 0; i < n; i++)
        s->step[i] = s->rest[i];
    for (int i = 0; i < TURNS && !status; i++)
        status = turn(s, plan, n);
    hcy_nufft_destroy(plan);
    return status;
}

/* Relative difference of the image and what was found. */
static double difference(const struct scene *s)
{
    size_t n = (size_t)(s->modes[0] * s->modes[1]);
    for (size_t i = 0; i < n; i++)
        s->gram[i] = s->back[i] - s->image[i];
    return sqrt(norm2(s->gram, n) / norm2(s->image, n));
}

static int draw(const struct scene *s, const char *path)
{
    size_t rows = (size_t)s->modes[0], columns = (size_t)s->modes[1];
    signal(SIGPIPE, SIG_IGN);      /* gnuplot may end before it has read all, which pclose() tells */
    setenv("GRID_IMAGE", path, 1); /* the shell sees no name of a file as a command */
    FILE *g = popen("gnuplot > \"$GRID_IMAGE\"", "w");
    if (!g)
        return hcy_fail(HCY_EIO, "%s: gnuplot cannot be started", path);
    fprintf(g,
            "set terminal png size %zu,%zu\n"
            "unset key; unset tics; unset border; unset colorbox; set margins 0,0,0,0\n"
            "set palette gray; set yrange [] reverse\n"
            "plot '-' binary array=(%zu,%zu) format='%%float64' with image\n",
            2 * columns, 2 * rows, columns, rows);
    for (size_t i = 0; i < rows * columns; i++) {
        double v = cabs(s->back[i]);
        fwrite(&v, sizeof v, 1, g);
    }
    if (pclose(g) == 0)
        return 0;
    return hcy_fail(HCY_EIO, "%s: gnuplot did not draw it", path);
}

int main(int argc, char **argv)
{
    struct scene s = { 0 };
    hcy_device *dev = NULL;
    if (argc != 2 && argc != 4 && argc != 5) {
        fprintf(stderr, "usage: grid_image OUT.png [POINTS.npy IMAGE.npy [DEVICE]]\n");
        return 2;
    }
    int status = argc > 3 ? load(&s, argv[2], argv[3]) : simulate(&s);
    if (!status)
        status = hcy_device_open(&dev, argc > 4 ? argv[4] : NULL);
    if (!status)
        status = reconstruct(&s, dev);
    if (!status)
        printf("%zu samples to %lld x %lld pixels on %s, relative difference %.3f\n", s.n_points,
               (long long)s.modes[0], (long long)s.modes[1], hcy_device_get_info(dev)->name, difference(&s));
    if (!status)
        status = draw(&s, argv[1]);
    if (status)
        fprintf(stderr, "grid_image: %s: %s\n", hcy_status_text(status), hcy_last_error()->text);
    hcy_device_release(dev);
    for (int d = 0; d < 2; d++)
        free(s.x[d]);
    double complex *const arrays[] = { s.image, s.back, s.rest, s.step, s.gram, s.samples };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    return status ? 1 : 0;
}
