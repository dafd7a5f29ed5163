/* vkfft.c - Fourier transforms through VkFFT, whose kernels are written and compiled when a plan is made.
 *
 * VkFFT is a header; its calls of OpenCL, by these names here as well, go to the loaded functions (vkfft/CL/cl.h).
 * A direction is planned when it is first wanted: forward (for real results backward) when the plan is made, the
 * other when it runs.  VkFFT keeps a launch's buffers in its plan, so a launch is handed over under the plan's lock.
 *
 * Dimensions of one point are left out; where that leaves none, or a row of real numbers has one, copies do the
 * rest.  The same device and plan give the same bits every time.
 */
#include "cl_priv.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* VkFFT prints what fails, and sets the locale of the process to write numbers: not here, where a thread's own is set
 * around it. */
static inline int print_nothing(const char *words, ...)
{
    (void)words;
    return 0;
}
static inline const char *keep_locale(int category, const char *name)
{
    (void)category, (void)name;
    return "C";
}
#define printf        print_nothing
#define setlocale     keep_locale
#define VKFFT_BACKEND 3
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* of VkFFT 1.3's functions, inlined */
#endif
#include <vkFFT.h>
#undef printf
#undef setlocale

struct fft {
    struct cl_device *dev;
    hcy_fft_desc desc;
    size_t real, row;       /* bytes of a real number; points of a row */
    size_t rows;            /* of all transforms */
    bool single;            /* rows of one number in a transform from or to real ones */
    uint64_t rank, size[3]; /* VkFFT's: the fastest first, none of one point */
    uint64_t bytes[2];      /* of input and output */
    pthread_mutex_t lock;   /* of what follows */
    size_t workspace;
    VkFFTApplication *apps[2]; /* forward, backward */
    cl_mem input, buffer;      /* a launch's, where VkFFT looks for them */
};

/* --- Planning --- */

static _Thread_local struct cl_device *planning;

static cl_program build_program(const char *text, cl_int *error)
{
    /* VkFFT's texts go through the cache like our own; only the device is not passed on, so it is a
     * thread's variable. */
    cl_program program = NULL;
    *error = cl_build(&program, NULL, planning, text, "") ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
    return program;
}

static VkFFTResult initialize_quietly(struct fft *f, VkFFTApplication *app, const VkFFTConfiguration *c)
{
    /* VkFFT writes numbers into source text with printf: a comma for the decimal point would not compile. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return VKFFT_ERROR_MALLOC_FAILED;
    locale_t before = uselocale(plain);
    planning = f->dev;
    VkFFTResult result = initializeVkFFT(app, *c);
    planning = NULL;
    uselocale(before);
    freelocale(plain);
    return result;
}

static int vkfft_status(const struct fft *f, VkFFTResult result, const char *what)
{
    const char *name = hcy_device_get_info(f->dev->dev)->name;
    const size_t *n = f->desc.n;
    if (result == VKFFT_SUCCESS)
        return 0;
    if (result == VKFFT_ERROR_FAILED_TO_CREATE_PROGRAM) /* cl_build() has said why */
        return hcy_last_error()->status;
    /* Sizes that VkFFT cannot do are the caller's matter, and not a failure of the device. */
    if (result >= VKFFT_ERROR_UNSUPPORTED_RADIX && result < VKFFT_ERROR_FAILED_TO_ALLOCATE)
        return hcy_fail_vendor(HCY_EUNSUPPORTED, result, "VkFFT",
                               "%s: VkFFT has no transform of %zu x %zu x %zu", name, n[0], n[1], n[2]);
    bool memory = result == VKFFT_ERROR_MALLOC_FAILED || result == VKFFT_ERROR_FAILED_TO_ALLOCATE;
    return hcy_fail_vendor(memory ? HCY_ENOMEM : HCY_EBACKEND, result, "VkFFT", "%s: %s an FFT failed", name,
                           what);
}

/* Rows without padding on either side; backward to real numbers goes from the buffer to the input. */
static void configure_vkfft(struct fft *f, bool backward, VkFFTConfiguration *c)
{
    bool complex_only = f->desc.type == HCY_FFT_C2C || f->single;
    uint64_t real_stride = 1, complex_stride = 1;
    c->device = &f->dev->at.device;
    c->context = &f->dev->context;
    /* The transforms of a batch lie one behind another; what lies side by side is a dimension that is left
     * out. */
    c->FFTdim = f->rank;
    c->numberBatches = f->desc.batch;
    c->doublePrecision = f->desc.precision == HCY_F64;
    c->useLUT = 1; /* the device's own sines are inexact */
    c->performR2C = !complex_only;
    c->makeForwardPlanOnly = !backward;
    c->makeInversePlanOnly = backward;
    c->omitDimension[0] = f->desc.inner > 1;
    c->isInputFormatted = 1;
    c->inverseReturnToInputBuffer = backward && !complex_only;
    c->specifyOffsetsAtLaunch = 1;
    /* Indices of 32 bits are faster, so longer ones are taken only where they are needed. */
    c->useUint64 = f->bytes[0] / f->real >> 31 || f->bytes[1] / f->real >> 31;
    /* Strides are given because VkFFT would else pad real rows for transforms in place. */
    for (uint64_t i = 0; i < f->rank; i++) {
        c->size[i] = f->size[i];
        real_stride *= f->size[i];
        complex_stride *= i || complex_only ? f->size[i] : f->size[i] / 2 + 1;
        c->bufferStride[i] = complex_stride;
        c->inputBufferStride[i] = complex_only ? complex_stride : real_stride;
    }
    c->bufferSize = &f->bytes[f->desc.type == HCY_FFT_R2C]; /* that of complex numbers */
    c->inputBufferSize = complex_only ? c->bufferSize : &f->bytes[backward];
}

/* VkFFT's own working space served its planning; ours comes with each execution. */
static size_t take_workspace(VkFFTApplication *app)
{
    if (!app->configuration.allocateTempBuffer)
        return 0;
    clReleaseMemObject(app->configuration.tempBuffer[0]);
    app->configuration.tempBuffer[0] = NULL;
    return app->configuration.tempBufferSize[0];
}

static int plan_direction(struct fft *f, bool backward)
{
    VkFFTConfiguration c;
    VkFFTApplication *app = calloc(1, sizeof *app);
    if (!app)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    /* VkFFT takes zeros for its own choices. */
    memset(&c, 0, sizeof c);
    configure_vkfft(f, backward, &c);
    int status = vkfft_status(f, initialize_quietly(f, app, &c), "planning");
    if (status) {
        free(app); /* VkFFT has released what was in it */
        return status;
    }
    /* The other direction may be planned later, and must not need more than was announced. */
    size_t workspace = take_workspace(app);
    f->workspace = workspace > f->workspace ? workspace : f->workspace;
    f->apps[backward] = app;
    return 0;
}

static void set_sizes(struct fft *f)
{
    const hcy_fft_desc *d = &f->desc;
    f->real = d->precision == HCY_F32 ? 4 : 8;
    f->row = d->n[d->rank - 1];
    f->rows = d->batch * d->inner;
    f->single = d->type != HCY_FFT_C2C && f->row == 1;
    if (d->inner > 1) /* as a dimension that is not transformed */
        f->size[f->rank++] = d->inner;
    /* VkFFT counts dimensions from the fastest; those of one point change nothing and are left out. */
    for (int i = d->rank - 1; i >= 0; i--) {
        f->rows *= i < d->rank - 1 ? d->n[i] : 1;
        if (d->n[i] > 1)
            f->size[f->rank++] = d->n[i];
    }
    /* A row of complex results has half its points and one; real numbers take half of what complex ones
     * do. */
    uint64_t full = f->rows * f->row * 2 * f->real, half = f->rows * (f->row / 2 + 1) * 2 * f->real;
    f->bytes[0] = f->bytes[1] = full;
    if (d->type != HCY_FFT_C2C) {
        f->bytes[d->type != HCY_FFT_R2C] = full / 2; /* the real side */
        f->bytes[d->type == HCY_FFT_R2C] = half;
    }
}

void cl_vkfft_release(void *fimpl)
{
    struct fft *f = fimpl;
    for (int i = 0; i < 2; i++)
        if (f->apps[i]) {
            deleteVkFFT(f->apps[i]);
            free(f->apps[i]);
        }
    pthread_mutex_destroy(&f->lock);
    free(f);
}

int cl_vkfft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc)
{
    struct cl_device *d = impl;
    const char *name = hcy_device_get_info(d->dev)->name;
    struct fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->dev = d;
    f->desc = *desc;
    pthread_mutex_init(&f->lock, NULL);
    set_sizes(f);
    int status = 0;
    /* A plan that no buffer could serve is refused now, with a reason, and not when it runs. */
    if (d->largest && (f->bytes[0] > d->largest || f->bytes[1] > d->largest))
        status = hcy_fail(HCY_EUNSUPPORTED, "%s has buffers of at most %llu bytes; this FFT needs %llu", name,
                          (unsigned long long)d->largest,
                          (unsigned long long)(f->bytes[0] > f->bytes[1] ? f->bytes[0] : f->bytes[1]));
    /* The direction that is sure to be used is planned now, because compiling in the first execution would
     * surprise. */
    else if (f->rank)
        status = plan_direction(f, desc->type == HCY_FFT_C2R);
    if (status) {
        cl_vkfft_release(f);
        return status;
    }
    *workspace = f->workspace;
    *fimpl = f;
    return 0;
}

/* --- Running --- */

/* The HAL's values live as long as the command's keep. */
struct execution {
    struct cl_lane *lane;
    struct fft *fft;
    const hcy_value *in, *out, *work;
    bool backward;
};

/* Hands the transform over; `work` has no block where the plan needs none. */
static int append_transform(const struct execution *e, const hcy_value *in, const hcy_value *out)
{
    struct fft *f = e->fft;
    /* VkFFT's buffer holds the complex side; the other one is its input, also where the transform goes
     * back to it. */
    bool to_real = f->desc.type == HCY_FFT_C2R && !f->single;
    const hcy_value *input = to_real ? out : in, *buffer = to_real ? in : out;
    pthread_mutex_lock(&f->lock);
    /* The second direction is planned here, under the lock, as two executions may want it at once. */
    size_t given = f->workspace;
    int status = f->apps[e->backward] ? 0 : plan_direction(f, e->backward);
    if (!status && f->workspace > given)
        status = hcy_fail(HCY_EBACKEND, "VkFFT wants more working space one way than the other");
    VkFFTApplication *app = f->apps[e->backward];
    if (!status) {
        VkFFTLaunchParams launch;
        memset(&launch, 0, sizeof launch);
        /* VkFFT keeps pointers to these handles, so they live in the plan and not on this stack. */
        f->input = cl_mem_of(input->block);
        f->buffer = cl_mem_of(buffer->block);
        launch.commandQueue = &e->lane->queue;
        launch.inputBuffer = &f->input;
        launch.inputBufferOffset = input->offset;
        launch.buffer = launch.outputBuffer = &f->buffer;
        launch.bufferOffset = launch.outputBufferOffset = buffer->offset;
        if (app->configuration.allocateTempBuffer) {
            app->configuration.tempBuffer[0] = cl_mem_of(e->work->block);
            launch.tempBufferOffset = e->work->offset;
        }
        status = vkfft_status(f, VkFFTAppend(app, e->backward ? 1 : -1, &launch), "running");
        if (app->configuration.allocateTempBuffer)
            app->configuration.tempBuffer[0] = NULL; /* not VkFFT's to release */
    }
    pthread_mutex_unlock(&f->lock);
    return status;
}

static int copy_one_point(const struct execution *e)
{
    return cl_check(e->lane->dev,
                    cl.clEnqueueCopyBuffer(e->lane->queue, cl_mem_of(e->in->block), cl_mem_of(e->out->block),
                                           e->in->offset, e->out->offset, e->fft->bytes[0], 0, NULL, NULL),
                    "copying an FFT of one point");
}

/* Real numbers to the real parts of complex ones, or back. */
static int copy_reals(const struct execution *e, bool widen)
{
    const struct fft *f = e->fft;
    const size_t from[3] = { e->in->offset, 0, 0 }, to[3] = { e->out->offset, 0, 0 },
                 region[3] = { f->real, f->rows, 1 }, narrow = f->real, wide = 2 * f->real;
    static const uint64_t zero;
    cl_int code = CL_SUCCESS;
    /* The imaginary parts must be zeros, so all is zeroed before the real parts are written over it. */
    if (widen)
        code = cl.clEnqueueFillBuffer(e->lane->queue, cl_mem_of(e->out->block), &zero, f->real,
                                      e->out->offset, f->bytes[1], 0, NULL, NULL);
    if (!code)
        code = cl.clEnqueueCopyBufferRect(e->lane->queue, cl_mem_of(e->in->block), cl_mem_of(e->out->block),
                                          from, to, region, widen ? narrow : wide, 0, widen ? wide : narrow,
                                          0, 0, NULL, NULL);
    return cl_check(e->lane->dev, code, "copying an FFT's rows of one point");
}

static int submit_execution(const struct execution *e)
{
    const struct fft *f = e->fft;
    int status = 0;
    /* Rows of one number are their own transforms, so they are widened or narrowed by copies around the
     * others. */
    if (!f->single)
        return f->rank ? append_transform(e, e->in, e->out) : copy_one_point(e);
    if (f->desc.type == HCY_FFT_R2C) {
        status = copy_reals(e, true);
        return status || !f->rank ? status : append_transform(e, e->out, e->out);
    }
    if (f->rank)
        status = append_transform(e, e->in, e->in);
    return status ? status : copy_reals(e, false);
}

static int run_execution(void *command)
{
    const struct execution *e = command;
    /* What was enqueued before a failure runs still, so it is waited for in any case. */
    const struct cl_span span = cl_lane_begin(e->lane);
    int status = submit_execution(e), ran = cl_check_ran(e->lane->dev, cl_lane_finish(e->lane, &span), "an FFT");
    return status ? status : ran;
}

int cl_vkfft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                     const hcy_value *work, hcy_keep *keep)
{
    struct cl_queue *q = qimpl;
    struct fft *f = fimpl;
    struct execution e = { q->lane, f, in, out, work, direction == HCY_FFT_BACKWARD };
    return hcy_hostqueue_submit(q->host, "fft", f->bytes[0] + f->bytes[1], run_execution, &e, sizeof e, keep);
}
