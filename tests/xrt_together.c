/* xrt_together.c - the CPU, an OpenCL device and two FPGA cards open in one process, each with a stack of its own at
 * the same time: the bits of each are those that the CPU has alone.  A device that is not here is left out. */
#include "pipeline_scene.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACKS = 4, PER_STACK = 24 };

struct job {
    const char *spec;
    hcy_device *dev;
    hcy_stack *stack;
    uint64_t first; /* its frames */
    double want[PER_STACK][BINS], got[PER_STACK][BINS];
    size_t n;
    int status;
    char why[512];
    pthread_t thread;
};

static hcy_azint_plan *the_plan;

static int keep(void *payload, const hcy_pipeline_frame *frame)
{
    struct job *job = payload;
    if (!frame->result)
        return hcy_fail(HCY_ECORRUPT, "frame %llu: %s", (unsigned long long)frame->number, frame->why);
    memcpy(job->got[frame->number - job->first], frame->result->intensity, sizeof job->got[0]);
    job->n++;
    return 0;
}

static int integrate(struct job *job, hcy_device *dev)
{
    hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(job->stack));
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline *p = NULL;
    opts.batch = 5;
    job->n = 0;
    int status = hcy_pipeline_create(&p, &dev, 1, the_plan, &source, &opts);
    if (!status)
        status = hcy_pipeline_run(p, job->stack, job->first, job->first + PER_STACK, keep, NULL, job);
    if (status)
        snprintf(job->why, sizeof job->why, "%s", hcy_last_error()->text);
    hcy_pipeline_destroy(p);
    return status;
}

static void *work(void *payload)
{
    struct job *job = payload;
    job->status = integrate(job, job->dev);
    return NULL;
}

int main(void)
{
    static struct job jobs[STACKS] = {
        { .spec = "cpu@threads=1" }, { .spec = "opencl:0" }, { .spec = "xrt:0" }, { .spec = "xrt:1" }
    };
    char path[64];
    hcy_device *cpu = NULL;
    snprintf(path, sizeof path, "together-%ld.npy", (long)getpid());
    make_npy(path);
    the_plan = make_plan(HEIGHT, WIDTH);
    if (hcy_device_open(&cpu, "cpu@threads=1"))
        bail_out("no CPU: %s", hcy_last_error()->text);
    for (struct job *j = jobs; j < jobs + STACKS; j++) {
        j->first = (uint64_t)(j - jobs) * (PER_STACK + 7);
        if (hcy_stack_open(&j->stack, path, NULL) || integrate(j, cpu))
            bail_out("no curves: %s", hcy_last_error()->text);
        memcpy(j->want, j->got, sizeof j->got);
        memset(j->got, 0, sizeof j->got);
    }
    for (struct job *j = jobs; j < jobs + STACKS; j++) /* all are open before any begins */
        if (hcy_device_open(&j->dev, j->spec))
            snprintf(j->why, sizeof j->why, "%s", hcy_last_error()->text);
    for (struct job *j = jobs; j < jobs + STACKS; j++)
        if (j->dev && pthread_create(&j->thread, NULL, work, j))
            bail_out("no thread");
    for (struct job *j = jobs; j < jobs + STACKS; j++) {
        if (!j->dev) {
            skip(1, "no %s here: %s", j->spec, j->why);
        } else {
            pthread_join(j->thread, NULL);
            ok(!j->status && j->n == PER_STACK && !memcmp(j->got, j->want, sizeof j->want),
               "%s, beside the others: the bits of its own stack %s", j->spec, j->why);
        }
        hcy_device_release(j->dev);
        hcy_stack_close(j->stack);
    }
    hcy_device_release(cpu);
    hcy_azint_plan_release(the_plan);
    unlink(path);
    return done_testing();
}
