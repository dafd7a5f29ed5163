/* nufft_wisdom - what FFTW measured is kept in the cache's folder, and never decides on the bits of deterministic
 * plans: these are the same in a process that measured before, in one that has a cache, and in one with neither. */
#include "nufft_oracle.h"
#include "tap.h"
#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 420, POINTS = 3000, UNSUPPORTED = 77 }; /* a grid that is worth measuring */
static double x[2][POINTS];
static double complex c[POINTS];

static int transform(hcy_device *dev, int deterministic, double complex *f)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    const void *const points[2] = { x[0], x[1] };
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan;
    o.deterministic = deterministic;
    desc.dim = 2;
    desc.modes[0] = desc.modes[1] = N;
    desc.eps = 1e-4;
    int status = hcy_nufft_create(&plan, dev, &desc, &o);
    if (status)
        return status;
    status = hcy_nufft_set_points(plan, POINTS, points, 0, NULL);
    if (!status)
        status = hcy_nufft_execute(plan, c, f);
    hcy_nufft_destroy(plan);
    return status;
}

/* In a process of its own: measured first, if that is wanted, then deterministic. */
static int child(const char *cache, bool measures, double complex *f)
{
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        hcy_device *dev;
        setenv("HALCYON_CACHE_DIR", cache, 1);
        status = hcy_device_open(&dev, "cpu@threads=2");
        if (!status && !(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
            _exit(UNSUPPORTED);
        if (!status && measures)
            status = transform(dev, 0, f);
        if (!status)
            status = transform(dev, 1, f);
        hcy_device_release(dev);
        _exit(status ? 1 : 0);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Files of wisdom in the cache, which are removed. */
static int sweep(const char *cache)
{
    char folder[128], path[512];
    int n = 0;
    snprintf(folder, sizeof folder, "%s/fftw", cache);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        n += !unlink(path) && !strncmp(e->d_name, "double-fftw", 11);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
    rmdir(cache);
    return n;
}

/* The file of wisdom for doubles: read, or written. */
static long wisdom_file(const char *cache, char *text, long size, const char *mode)
{
    char folder[128], path[512] = "";
    snprintf(folder, sizeof folder, "%s/fftw", cache);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (!strncmp(e->d_name, "double-fftw", 11))
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (dir)
        closedir(dir);
    /* What is kept may not be written to. */
    FILE *f = *mode == 'w' && unlink(path) ? NULL : fopen(path, mode);
    if (!f)
        return -1;
    long n = (long)(*mode == 'r' ? fread(text, 1, (size_t)size, f) : fwrite(text, 1, (size_t)size, f));
    return fclose(f) ? -1 : n;
}

/* Bytes that FFTW reads without a word, but that nobody measured, are thrown away. */
static void test_damaged_wisdom(const char *cache, double complex *f, const double complex *want)
{
    static char text[1 << 20], after[1 << 20];
    long n = wisdom_file(cache, text, sizeof text - 1, "r");
    char *hash = n > 0 ? strstr(text, " #x") : NULL;
    if (!hash) {
        skip(2, "FFTW's wisdom has another form");
        return;
    }
    /* A digit of what a plan is called by: its line fits no plan any more. */
    memcpy(hash + 3, "abc", 3);
    char damaged[24] = "";
    memcpy(damaged, hash, sizeof damaged - 1);
    if (wisdom_file(cache, text, n, "w") != n)
        bail_out("the wisdom cannot be written");
    is_int(child(cache, true, f), 0, "with damaged wisdom");
    long m = wisdom_file(cache, after, sizeof after - 1, "r");
    ok(m > 0 && !strstr(after, damaged) && !memcmp(f, want, (size_t)N * N * sizeof *f),
       "which is not learnt, but measured and written anew; the same bits");
}

int main(void)
{
    char cache[] = "/tmp/halcyon-wisdom-XXXXXX";
    size_t bytes = (size_t)N * N * sizeof(double complex);
    double complex *f[3];
    for (int i = 0; i < 3; i++)
        if ((f[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED)
            bail_out("no memory");
    for (int j = 0; j < POINTS; j++) {
        x[0][j] = 3 * sin(5.0 * j);
        x[1][j] = 3 * cos(3.0 * j);
        c[j] = 1 + I * (j % 7);
    }
#if !HAVE_FFTW3
    skip_all("this build has no FFTW, whose wisdom this is about");
#endif
    if (!mkdtemp(cache))
        bail_out("no temporary folder");
    int alone = child("", false, f[0]);
    if (alone == UNSUPPORTED) {
        rmdir(cache);
        skip_all("the CPU has no FFT here");
    }
    is_int(alone, 0, "deterministic, without a cache");
    is_int(child(cache, true, f[1]), 0, "measured, then deterministic, with a cache");
    is_int(child(cache, true, f[2]), 0, "the same with what the cache has now");
    ok(!memcmp(f[0], f[1], bytes) && !memcmp(f[0], f[2], bytes), "the same bits");
    test_damaged_wisdom(cache, f[2], f[0]);
    is_int(sweep(cache), 1, "what was measured is in the cache");
    return done_testing();
}
