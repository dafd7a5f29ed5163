/* processes.c - one process a device, each pinned to cores of its own, with its plan made in it.
 *
 * usage: processes DEVICE...        as many processes; cuda:0 cuda:1, or cpu cpu
 *
 * The parent forks before any device is open, because an open one does not survive a fork (HCY_EFORK).  Its share of
 * the vectors each process transforms into memory that all share: coefficients with one mode each, so that what must
 * come out is known.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <complex.h>
#include <halcyon/nufft.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PI 3.14159265358979323846
enum { POINTS = 2000, VECTORS = 24, MODES = 40 };

struct shared {
    double x[2][POINTS];
    double complex f[VECTORS][MODES][MODES], c[VECTORS][POINTS];
};

/* Part `i` of `n` of the cores that this process may use; all of them if there are fewer than n. */
static int pin(int i, int n)
{
    cpu_set_t all, mine;
    if (sched_getaffinity(0, sizeof all, &all))
        return 0;
    int count = CPU_COUNT(&all), seen = 0;
    CPU_ZERO(&mine);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all) && (count < n || seen++ * n / count == i))
            CPU_SET(core, &mine);
    return sched_setaffinity(0, sizeof mine, &mine) ? 0 : CPU_COUNT(&mine);
}

static int transform(struct shared *s, const char *device, int i, int n)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    const void *const points[2] = { s->x[0], s->x[1] };
    int first = VECTORS * i / n, end = VECTORS * (i + 1) / n, cores = pin(i, n);
    hcy_device *dev = NULL;
    hcy_nufft *plan = NULL;
    int status = hcy_device_open(&dev, device);
    desc.type = 2;
    desc.dim = 2;
    desc.modes[0] = desc.modes[1] = MODES;
    desc.n_transforms = end - first;
    desc.eps = 1e-9;
    if (!status)
        status = hcy_nufft_create(&plan, dev, &desc, NULL);
    if (!status)
        status = hcy_nufft_set_points(plan, POINTS, points, 0, NULL);
    if (!status)
        status = hcy_nufft_execute(plan, s->c[first], s->f[first]);
    if (status)
        fprintf(stderr, "processes: %s: %s\n", device, hcy_last_error()->text);
    else
        printf("process %d: %s on %d core%s: vectors %d to %d\n", i, hcy_device_get_info(dev)->name, cores,
               cores == 1 ? "" : "s", first, end - 1);
    hcy_nufft_destroy(plan);
    hcy_device_release(dev);
    return status ? 1 : 0;
}

static double worst(const struct shared *s)
{
    double most = 0;
    for (int v = 0; v < VECTORS; v++)
        for (int j = 0; j < POINTS; j++) {
            double phase = (v - MODES / 2) * s->x[0][j] + (MODES / 2 - 1 - v) * s->x[1][j];
            most = fmax(most, cabs(s->c[v][j] - cexp(I * phase)));
        }
    return most;
}

int main(int argc, char **argv)
{
    int n = argc - 1, failed = 0;
    if (n < 1 || n > VECTORS) {
        fprintf(stderr, "usage: processes DEVICE...\n");
        return 2;
    }
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) {
        perror("processes");
        return 1;
    }
    for (int j = 0; j < POINTS; j++) {
        s->x[0][j] = PI * sin(3.0 * j);
        s->x[1][j] = PI * cos(7.0 * j);
    }
    for (int v = 0; v < VECTORS; v++)
        s->f[v][v][MODES - 1 - v] = 1; /* modes v - MODES / 2 and MODES / 2 - 1 - v */
    for (int i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(transform(s, argv[1 + i], i, n));
        failed += child < 0;
    }
    for (int status; wait(&status) > 0;)
        failed += !WIFEXITED(status) || WEXITSTATUS(status);
    if (!failed)
        printf("%d vectors, worst error %.1e\n", VECTORS, worst(s));
    munmap(s, sizeof *s);
    return failed ? 1 : 0;
}
