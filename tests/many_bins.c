/* many_bins - many more bins than pixels: strips of a plan that are built slice by slice, a plan whose strips do not
 * fit into memory, and runs that do not, give the same bits or say what they would need. */
#include "pipeline_scene.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 200000, GIVEN = 5, LITTLE = 200 /* MiB */ };

static hcy_device *device;
static const hcy_pipeline_source source = {
    .coding = { .codec = HCY_CODEC_NONE, .elem_size = 4, .image_bytes = PIXELS * 4 }, .pixel_type = HCY_PIXEL_U32
};

static hcy_azint_plan *plan_of(size_t npt, int split)
{
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_plan *p = NULL;
    poni.dist = 0.1;
    poni.poni1 = poni.poni2 = 1e-3;
    poni.pixel1 = poni.pixel2 = 75e-6;
    o.unit = "r_mm";
    o.npt = npt;
    o.split = split;
    o.threads = 1;
    o.error_model = HCY_ERRORS_POISSON;
    if (hcy_azint_plan_create(&p, &poni, HEIGHT, WIDTH, &o))
        bail_out("no plan: %s", hcy_last_error()->text);
    return p;
}

struct curves {
    size_t n, n_bins;
    double *all;
};

static int keep_curve(void *payload, const hcy_pipeline_frame *frame)
{
    struct curves *c = payload;
    if (!frame->result)
        return hcy_fail(HCY_EINVAL, "%s", frame->why);
    memcpy(c->all + 2 * c->n_bins * frame->number, frame->result->intensity, c->n_bins * sizeof(double));
    memcpy(c->all + 2 * c->n_bins * frame->number + c->n_bins, frame->result->sigma, c->n_bins * sizeof(double));
    c->n++;
    return 0;
}

/* 0, or the status of what failed. */
static int run_frames(struct curves *c, hcy_azint_plan *plan, uint32_t flags)
{
    static uint32_t frames[GIVEN][PIXELS];
    hcy_pipeline_options o = HCY_PIPELINE_OPTIONS_INIT;
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_pipeline *p = NULL;
    if (hcy_azint_plan_get_info(&info, plan))
        bail_out("%s", hcy_last_error()->text);
    *c = (struct curves){ 0, info.n_bins, NULL };
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    o.flags = flags | HCY_PIPELINE_MEANS;
    o.batch = 1;
    push.sink = keep_curve;
    push.payload = c;
    int status = hcy_pipeline_create(&p, &device, 1, plan, &source, &o);
    if (!status && !(c->all = calloc(2 * GIVEN * info.n_bins, sizeof(double))))
        bail_out("no memory");
    if (!status)
        status = hcy_pipeline_start(p, &push);
    for (uint64_t i = 0; i < GIVEN && !status; i++) {
        make_frame(frames[i], i);
        status = hcy_pipeline_submit(p, frames[i], sizeof frames[i], i, NULL, NULL);
    }
    if (!status)
        status = hcy_pipeline_finish(p);
    hcy_pipeline_destroy(p);
    return status;
}

static int same_curves(const struct curves *a, const struct curves *b)
{
    return a->n == GIVEN && b->n == GIVEN && !memcmp(a->all, b->all, 2 * GIVEN * a->n_bins * sizeof(double));
}

/* Pages that this process has had at most, in bytes. */
static size_t most_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss << 10;
}

/* In slices, and without strips. */
static void test_slices(void)
{
    hcy_azint_plan *plan = plan_of(MANY, HCY_SPLIT_FULL);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    struct curves strips, runs;
    if (hcy_azint_plan_get_info(&info, plan))
        bail_out("%s", hcy_last_error()->text);
    size_t before = most_memory();
    ok(!run_frames(&strips, plan, 0), "%llu weights in strips", (unsigned long long)info.n_weights);
    const double took = (double)(most_memory() - before) / (double)info.n_weights;
#ifdef IS_SANITIZED
    skip(1, "a sanitizer takes memory of its own, in all %.1f bytes a weight", took);
#else
    /* 14 bytes an entry, of which several weights have one; a list of all of them takes 32 for each. */
    ok(took < 16, "strips take %.1f bytes a weight while they are made", took);
#endif
    ok(!run_frames(&runs, plan, HCY_PIPELINE_FEW) && same_curves(&strips, &runs), "the bits are those without strips");
    free(strips.all);
    free(runs.all);
    hcy_azint_plan_release(plan);
}

/* This process may take `mib` more than it has. */
static void limit_memory(size_t mib)
{
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%zu", &pages) != 1)
        bail_out("no /proc/self/statm");
    fclose(f);
    struct rlimit limit = { pages * (size_t)sysconf(_SC_PAGESIZE) + (mib << 20), RLIM_INFINITY };
    if (setrlimit(RLIMIT_AS, &limit))
        bail_out("setrlimit");
}

/* In a child with so little memory: are there curves, those of a run without strips, or (refused) is said what it would
 * take? */
static int in_little(size_t mib, hcy_azint_plan *plan, int refused)
{
    fflush(NULL);
    pid_t child = fork();
    int state = 1;
    if (!child) {
        struct curves c, runs;
#ifdef __GLIBC__
        mallopt(M_ARENA_MAX, 1); /* others would take address space for threads that need none */
#endif
        if (hcy_device_open(&device, "cpu@threads=1"))
            _exit(3);
        limit_memory(mib);
        int status = run_frames(&c, plan, 0);
        const char *text = hcy_last_error()->text;
        int good = refused ? status == HCY_ENOMEM && strstr(text, "MiB; ") && strstr(text, "MiB are left")
                           : !status && !run_frames(&runs, plan, HCY_PIPELINE_FEW) && same_curves(&c, &runs);
        if (!good)
            diag("%d: %s", status, text);
        fflush(NULL);
        _exit(!good);
    }
    waitpid(child, &state, 0);
    return WIFEXITED(state) && !WEXITSTATUS(state);
}

/* Before this process has opened a device, since children cannot use it. */
static void test_little_memory(void)
{
#ifdef IS_SANITIZED
    skip(2, "a sanitizer's address space cannot be limited");
    return;
#endif
    hcy_azint_plan *large = plan_of(4000000, HCY_SPLIT_NO), *plan = plan_of(MANY, HCY_SPLIT_FULL);
    ok(in_little(LITTLE, large, 1), "a run that has no room for its sums says what they take");
    ok(in_little(LITTLE, plan, 0), "strips that there is no memory for are done without");
    hcy_azint_plan_release(large);
    hcy_azint_plan_release(plan);
}

int main(void)
{
    test_little_memory();
    if (hcy_device_open(&device, "cpu@threads=2"))
        bail_out("%s", hcy_last_error()->text);
    test_slices();
    hcy_device_release(device);
    return done_testing();
}
