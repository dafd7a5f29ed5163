/* callbacks.c - every callback of the library: one that returns a status without a word, or with words, that takes its
 * time, that calls back into the library.  Nothing hangs, nothing is lost: every chunk goes back once, every frame
 * comes once at most, statuses arrive as they were given.  And what a child of fork makes of pipelines and plans. */
#include "pipeline_scene.h"

#include <halcyon/cpu.h>
#include <halcyon/finufft.h>
#include <halcyon/nufft.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 60, QUEUE = 2 };

static hcy_device *device;
static hcy_azint_plan *the_plan;
static const hcy_bslz4_job coding = { .codec = HCY_CODEC_BSLZ4, .elem_size = 4, .image_bytes = PIXELS * 4 };
static hcy_stack *the_stack;

/* --- A host --- */

/* What a callback does: `status` at frame `at`, with words or not; sleeps; calls back. */
struct host {
    hcy_pipeline *pipeline;
    int status, words, blocks, reenters;
    uint64_t at;
    size_t n, out_of_order, failed; /* frames that came */
    uint64_t next;
    char why[512];
    atomic_int wrong; /* answers to calls from a callback that should be others */
    atomic_int calls; /* of callbacks that call back */
    atomic_int back[FRAMES];
};
static uint8_t memory[FRAMES][PIXELS * 5];
static size_t sizes[FRAMES];

static void make_chunks(void)
{
    uint32_t pixels[PIXELS];
    for (uint64_t i = 0; i < FRAMES; i++) {
        make_frame(pixels, i);
        if (hcy_bslz4_encode(&sizes[i], memory[i], sizeof memory[i], &coding, pixels))
            bail_out("no chunk: %s", hcy_last_error()->text);
    }
}

static int see(void *payload, const hcy_pipeline_frame *frame);

static void expect(struct host *h, int got, int want, const char *what)
{
    if (got == want)
        return;
    diag("%s in a callback: %s, not %s", what, hcy_status_name(got), hcy_status_name(want));
    atomic_fetch_add(&h->wrong, 1);
}

/* All calls that a callback could try; `push`: one is in progress. */
static void call_back(struct host *h, int push)
{
    const hcy_pipeline_frame *frame;
    hcy_pipeline *p = h->pipeline;
    if (!h->reenters || atomic_fetch_add(&h->calls, 1) > 20)
        return;
    expect(h, hcy_pipeline_run(p, the_stack, 0, 1, see, NULL, h), push ? HCY_EINVAL : HCY_EBUSY, "run");
    expect(h, hcy_pipeline_start(p, NULL), push ? HCY_EINVAL : HCY_EBUSY, "start");
    expect(h, hcy_pipeline_flush(p), HCY_ESTATE, "flush");
    expect(h, hcy_pipeline_finish(p), HCY_ESTATE, "finish");
    expect(h, hcy_pipeline_poll(&frame, p, 0), HCY_ESTATE, "poll");
    hcy_pipeline_destroy(p);
    expect(h, hcy_last_error()->status, HCY_ESTATE, "destroy");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(p);
    expect(h, stats && stats->done <= stats->frames ? 0 : HCY_EINVAL, 0, "get_stats");
}

static int answer(const struct host *h)
{
    if (h->blocks)
        usleep(2000);
    if (!h->status)
        return 0;
    return h->words ? hcy_fail(h->status, "the host's disk is full") : h->status;
}

static void note_frame(struct host *h, const hcy_pipeline_frame *frame)
{
    h->out_of_order += frame->number != h->next;
    h->next = frame->number + 1;
    h->n++;
    if (!frame->result) {
        h->failed++;
        snprintf(h->why, sizeof h->why, "%s", frame->why);
    }
}

static int see(void *payload, const hcy_pipeline_frame *frame)
{
    struct host *h = payload;
    note_frame(h, frame);
    call_back(h, 1);
    if (frame->number == h->at)
        return answer(h);
    if (h->blocks)
        usleep(500);
    (void)!hcy_fail(HCY_ENOENT, "something that does not matter");
    return 0;
}

static void take_back(void *payload, uint64_t number, int status)
{
    struct host *h = payload;
    (void)status;
    atomic_fetch_add(&h->back[number], 1);
    if (h->blocks)
        usleep(500);
    call_back(h, 1);
}

static hcy_pipeline *must_pipeline(const hcy_pipeline_options *opts, uint32_t codec)
{
    hcy_pipeline_source source = { .coding = coding, .pixel_type = HCY_PIXEL_U32 };
    hcy_pipeline *p;
    source.coding.codec = codec;
    if (hcy_pipeline_create(&p, &device, 1, the_plan, &source, opts))
        bail_out("no pipeline: %s", hcy_last_error()->text);
    return p;
}

/* Submits until that fails; how many were taken. */
static size_t submit_all(struct host *h, int *status)
{
    size_t n = 0;
    for (*status = 0; n < FRAMES; n++)
        if ((*status = hcy_pipeline_submit(h->pipeline, memory[n], sizes[n], n, take_back, h)))
            break;
    return n;
}

static int back_once(struct host *h, size_t n)
{
    for (size_t i = 0; i < FRAMES; i++)
        if (atomic_load(&h->back[i]) != (i < n))
            return 0;
    return 1;
}

/* --- The push form's sink and release --- */

static void test_push(int status, int words, int in_place, int blocks)
{
    struct host h = { .status = status, .words = words, .at = 2, .blocks = blocks };
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    int refused;
    opts.batch = 4;
    h.pipeline = must_pipeline(&opts, HCY_CODEC_BSLZ4);
    push.sink = see;
    push.payload = &h;
    push.queue = QUEUE;
    if (in_place) {
        push.memory = memory;
        push.memory_size = sizeof memory;
    }
    is_int(hcy_pipeline_start(h.pipeline, &push), 0, "a sink with status %d, %s words, chunks %s", status,
           words ? "with" : "without", in_place ? "in place" : "copied");
    size_t n = submit_all(&h, &refused);
    ok(!status ? n == FRAMES && !refused : n < FRAMES && refused == status, "submit: %zu taken, then %d", n, refused);
    is_int(hcy_pipeline_finish(h.pipeline), status, "finish has the sink's status");
    if (status) {
        is_int(hcy_last_error()->status, status, "so has the record");
        ok(strstr(hcy_last_error()->text, words ? "disk is full" : "the sink") != NULL, "%s", hcy_last_error()->text);
    }
    ok(back_once(&h, n), "every chunk that was taken came back once, no other did");
    ok(!h.out_of_order && h.n == (status ? 3 : FRAMES), "%zu frames, in order", h.n);
    hcy_pipeline_destroy(h.pipeline);
}

static void test_push_reenters(void)
{
    struct host h = { .reenters = 1 };
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    int refused;
    h.pipeline = must_pipeline(NULL, HCY_CODEC_BSLZ4);
    push.sink = see;
    push.payload = &h;
    push.queue = QUEUE;
    is_int(hcy_pipeline_start(h.pipeline, &push), 0, "sink and release that call back");
    size_t n = submit_all(&h, &refused);
    ok(!hcy_pipeline_finish(h.pipeline) && n == FRAMES && h.n == FRAMES && back_once(&h, n), "all frames, all chunks");
    ok(!atomic_load(&h.wrong) && atomic_load(&h.calls) > 20, "every call was answered as it should be");
    hcy_pipeline_destroy(h.pipeline);
}

/* Threads that look at the statistics all the time, as a host's display does: what one has got no other one changes. */
struct watcher {
    const hcy_pipeline *pipeline;
    atomic_int ends, looks, wrong;
};
static void *watch(void *payload)
{
    struct watcher *w = payload;
    while (!atomic_load(&w->ends) || !atomic_load(&w->looks)) {
        const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(w->pipeline);
        const uint64_t done = stats ? stats->done : 0, of_it = stats && stats->n_devices ? stats->devices[0].frames : 0;
        sched_yield();
        if (!stats || done > stats->frames || done != stats->done ||
            (stats->n_devices && of_it != stats->devices[0].frames))
            atomic_fetch_add(&w->wrong, 1);
        atomic_fetch_add(&w->looks, 1);
    }
    return NULL;
}

static void test_watched(int push)
{
    enum { WATCHERS = 2, ROUNDS = 10 };
    struct host h = { .at = FRAMES };
    hcy_pipeline_push_options options = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    pthread_t threads[WATCHERS];
    int status = 0, refused = 0;
    h.pipeline = must_pipeline(NULL, push ? HCY_CODEC_BSLZ4 : HCY_CODEC_NONE);
    struct watcher w = { .pipeline = h.pipeline };
    for (int i = 0; i < WATCHERS; i++)
        if (pthread_create(&threads[i], NULL, watch, &w))
            bail_out("no thread");
    options.sink = see;
    options.payload = &h;
    for (int round = 0; round < ROUNDS && !status; round++) {
        if (!push) {
            status = hcy_pipeline_run(h.pipeline, the_stack, 0, FRAMES, see, NULL, &h);
            continue;
        }
        status = hcy_pipeline_start(h.pipeline, &options);
        status = status ? status : submit_all(&h, &refused) != FRAMES;
        status = status ? status : hcy_pipeline_finish(h.pipeline);
    }
    atomic_store(&w.ends, 1);
    for (int i = 0; i < WATCHERS; i++)
        pthread_join(threads[i], NULL);
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(h.pipeline);
    ok(!status && stats && stats->done == FRAMES && !atomic_load(&w.wrong), "%s that two threads watch, %d times",
       push ? "a push" : "a run", atomic_load(&w.looks));
    hcy_pipeline_destroy(h.pipeline);
}

/* A sink that submits: taken as long as the queue has room, HCY_EBUSY then, which ends the push if it is returned. */
static size_t taken;
static int submit_more(void *payload, const hcy_pipeline_frame *frame)
{
    struct host *h = payload;
    int status = 0;
    (void)frame;
    while (!status && taken < FRAMES)
        if (!(status = hcy_pipeline_submit(h->pipeline, memory[taken], sizes[taken], taken, take_back, h)))
            taken++;
    return status;
}

static void test_push_submits(void)
{
    struct host h = { 0 };
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    opts.batch = 1;
    h.pipeline = must_pipeline(&opts, HCY_CODEC_BSLZ4);
    push.sink = submit_more;
    push.payload = &h;
    push.queue = QUEUE;
    taken = 1;
    is_int(hcy_pipeline_start(h.pipeline, &push), 0, "a sink that submits without end");
    is_int(hcy_pipeline_submit(h.pipeline, memory[0], sizes[0], 0, take_back, &h), 0, "the first frame");
    is_int(hcy_pipeline_finish(h.pipeline), HCY_EBUSY, "is refused when it would wait for itself");
    ok(taken > 1 && taken < FRAMES && back_once(&h, taken), "%zu chunks came back once", taken);
    hcy_pipeline_destroy(h.pipeline);
}

static int cancel(void *payload, const hcy_pipeline_frame *frame)
{
    (void)frame;
    hcy_pipeline_cancel(((struct host *)payload)->pipeline);
    return 0;
}

static void test_push_cancels(void)
{
    struct host h = { 0 };
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    int refused;
    h.pipeline = must_pipeline(NULL, HCY_CODEC_BSLZ4);
    push.sink = cancel;
    push.payload = &h;
    push.queue = QUEUE;
    is_int(hcy_pipeline_start(h.pipeline, &push), 0, "a sink that cancels");
    size_t n = submit_all(&h, &refused);
    is_int(hcy_pipeline_finish(h.pipeline), HCY_ECANCELLED, "ends the push");
    ok(back_once(&h, n) && (refused == HCY_ECANCELLED || n == FRAMES), "%zu chunks came back once", n);
    hcy_pipeline_destroy(h.pipeline);
}

/* --- Signals --- */

static atomic_int handled;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static int see_mask(void *blocked, const hcy_pipeline_frame *frame)
{
    sigset_t set;
    (void)frame;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    *(int *)blocked = sigismember(&set, SIGTERM) && !sigismember(&set, SIGSEGV) && !sigismember(&set, SIGPROF);
    return 0;
}

/* A host that blocks a signal in its own threads, to take it with sigwait(), must get it whenever it does so: were it
 * not blocked in a thread of the library's, its handler would run there, or it would end the process. */
static void test_signals(void)
{
    hcy_pipeline *p = must_pipeline(NULL, HCY_CODEC_BSLZ4);
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    struct sigaction action = { .sa_handler = count_signal }, before;
    sigset_t set, was;
    int number = 0, blocked = 0;
    push.sink = see_mask;
    push.payload = &blocked;
    is_int(hcy_pipeline_start(p, &push), 0, "a push with threads of all kinds");
    sigaction(SIGTERM, &action, &before);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &was);
    kill(getpid(), SIGTERM);
    usleep(50000);
    is_int(atomic_load(&handled), 0, "a signal that the host blocks runs in none of them");
    if (!atomic_load(&handled))
        sigwait(&set, &number);
    is_int(number, SIGTERM, "the host gets it");
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    sigaction(SIGTERM, &before, NULL);
    ok(!hcy_pipeline_submit(p, memory[0], sizes[0], 0, NULL, NULL) && !hcy_pipeline_finish(p) && blocked,
       "a sink may still fault, and be measured");
    hcy_pipeline_destroy(p);
}

/* --- Runs: sink, progress, normalization --- */

static int see_in_run(void *payload, const hcy_pipeline_frame *frame)
{
    struct host *h = payload;
    note_frame(h, frame);
    call_back(h, 0);
    if (h->blocks)
        usleep(2000);
    return frame->number == h->at ? answer(h) : 0;
}

static void follow(void *payload, const hcy_pipeline_stats *stats)
{
    struct host *h = payload;
    (void)stats;
    call_back(h, 0);
    if (h->blocks)
        usleep(20000);
}

static void test_run(int status, int words)
{
    struct host h = { .status = status, .words = words, .at = 5, .pipeline = must_pipeline(NULL, HCY_CODEC_NONE) };
    (void)!hcy_fail(status, "an older failure with the same status");
    is_int(hcy_pipeline_run(h.pipeline, the_stack, 0, FRAMES, see_in_run, follow, &h), status,
           "a run whose sink returns %d, %s words", status, words ? "with" : "without");
    ok(strstr(hcy_last_error()->text, words ? "disk is full" : "the sink") != NULL && h.n == 6, "%s",
       hcy_last_error()->text);
    h.status = 0;
    h.next = h.n = 0;
    h.blocks = h.reenters = 1;
    ok(!hcy_pipeline_run(h.pipeline, the_stack, 0, FRAMES, see_in_run, follow, &h) && h.n == FRAMES && !h.out_of_order,
       "the next one goes through, with callbacks that block and call back");
    ok(!atomic_load(&h.wrong) && atomic_load(&h.calls) > 20, "every call was answered as it should be");
    hcy_pipeline_destroy(h.pipeline);
}

static void stop(void *payload, const hcy_pipeline_stats *stats)
{
    (void)stats;
    hcy_pipeline_cancel(((struct host *)payload)->pipeline);
}

static void test_progress(void)
{
    struct host h = { .at = FRAMES, .blocks = 1, .pipeline = must_pipeline(NULL, HCY_CODEC_NONE) };
    is_int(hcy_pipeline_run(h.pipeline, the_stack, 0, FRAMES, see_in_run, stop, &h), HCY_ECANCELLED,
           "a progress that cancels");
    hcy_pipeline_destroy(h.pipeline);
}

static double count(void *payload, uint64_t number)
{
    struct host *h = payload;
    if (h->blocks)
        usleep(200);
    call_back(h, 0);
    return number == 7 ? NAN : 2;
}

static void test_normalization(void)
{
    struct host h = { .at = FRAMES, .blocks = 1, .reenters = 1 };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    opts.normalization = count;
    opts.normalization_payload = &h;
    h.pipeline = must_pipeline(&opts, HCY_CODEC_NONE);
    is_int(hcy_pipeline_run(h.pipeline, the_stack, 0, FRAMES, see_in_run, NULL, &h), 0,
           "a normalization that blocks, calls back, and has no number once");
    ok(h.failed == 1 && strstr(h.why, "normalization") && !h.out_of_order && h.n == FRAMES, "%s", h.why);
    ok(!atomic_load(&h.wrong), "every call was answered as it should be");
    hcy_pipeline_destroy(h.pipeline);
}

/* --- Buffers, the user's kernels, FINUFFT's lock --- */

static atomic_int n_done, done_status;
static hcy_queue *the_queue;

static void done(void *payload)
{
    (void)payload;
    usleep(1000);
    atomic_store(&done_status, hcy_queue_finish(the_queue));
    atomic_fetch_add(&n_done, 1);
}

static int plain(const hcy_cpu_group *g, void *const *args)
{
    (void)g, (void)args;
    return 5;
}

static int worded(const hcy_cpu_group *g, void *const *args)
{
    (void)g, (void)args;
    return hcy_fail(HCY_EIO, "in a kernel");
}

static int slow(const hcy_cpu_group *g, void *const *args)
{
    (void)g, (void)args;
    usleep(2000);
    hcy_event *event = NULL;
    int status = hcy_event_record(&event, the_queue); /* what does not wait may be called */
    hcy_event_release(event);
    return status;
}

static atomic_int prepared;

static int preparing(const hcy_cpu_group *g, void *const *args)
{
    hcy_kernel *kernel = NULL;
    hcy_buffer *tables = NULL;
    hcy_span spans[HCY_AZINT_SPANS];
    (void)g, (void)args;
    hcy_azint_plan_tables(spans, the_plan);
    int status = hcy_kernel_get(&kernel, device, "azint_image");
    if (!status)
        status = hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS);
    atomic_store(&prepared, status);
    hcy_buffer_release(tables);
    hcy_kernel_release(kernel);
    return 0;
}

static void test_done(void)
{
    static char bytes[4096];
    hcy_buffer *buffer = NULL;
    if (hcy_queue_create(&the_queue, device) ||
        hcy_buffer_import_host(&buffer, device, bytes, sizeof bytes, done, NULL))
        bail_out("%s", hcy_last_error()->text);
    char zero = 0;
    is_int(hcy_buffer_fill(the_queue, buffer, 0, sizeof bytes, &zero, 1), 0, "a buffer whose release waits for its queue");
    hcy_buffer_release(buffer);
    for (int i = 0; i < 1000 && !atomic_load(&n_done); i++)
        usleep(1000);
    int status = atomic_load(&done_status);
    ok(atomic_load(&n_done) == 1 && (status == HCY_ESTATE || !status), "called once, and did not hang: %s",
       hcy_status_name(status));
    is_int(hcy_queue_finish(the_queue), 0, "the queue goes on");
    hcy_queue_release(the_queue);
}

static void test_kernels(void)
{
    static const hcy_cpu_function functions[] = { { "plain", plain }, { "worded", worded }, { "slow", slow },
                                                    { "preparing", preparing } };
    const hcy_grid grid = { { 4, 1, 1 }, { 1, 1, 1 }, 0 };
    hcy_program *program;
    if (hcy_program_create(&program, device, HCY_CPU_FUNCTIONS, functions, sizeof functions, NULL))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < 4; i++) {
        hcy_kernel *kernel = NULL;
        if (hcy_queue_create(&the_queue, device) || hcy_program_kernel(&kernel, program, functions[i].name, NULL))
            bail_out("%s", hcy_last_error()->text);
        is_int(hcy_launch_grid(the_queue, kernel, &grid, NULL, 0), 0, "the kernel %s", functions[i].name);
        is_int(hcy_queue_finish(the_queue), i < 2 ? HCY_ELAUNCH : 0, "its end");
        ok(i >= 2 || strstr(hcy_last_error()->text, functions[i].name), "%s", i < 2 ? hcy_last_error()->text : "no words");
        hcy_kernel_release(kernel);
        hcy_queue_release(the_queue);
    }
    is_int(atomic_load(&prepared), HCY_ESTATE, "tables that a function has prepared on its own device");
    hcy_program_release(program);
}

static int locked, deepest, n_locked;
static void lock(void *data)
{
    (void)data;
    n_locked++;
    locked++;
    deepest = locked > deepest ? locked : deepest;
    usleep(1000);
    hcy_finufft_opts opts;
    hcy_finufft_default_opts(&opts); /* what makes no plan may be called */
}

static void unlock(void *data)
{
    (void)data;
    locked--;
    (void)!hcy_fail(HCY_EIO, "in a lock");
}

static int has_fft(void)
{
    return (hcy_device_get_info(device)->caps & HCY_CAP_FFT) != 0;
}

static void test_finufft(void)
{
    hcy_finufft_opts opts;
    hcy_finufft_plan *plan;
    double x[4] = { 0.1, 0.2, 0.3, 0.4 };
    double complex c[4] = { 1, 1, 1, 1 }, f[8];
    const int64_t n = 8;
    if (!has_fft()) {
        skip(1, "the CPU has no FFT in this build");
        return;
    }
    hcy_finufft_default_opts(&opts);
    opts.fftw_lock_fun = lock;
    opts.fftw_unlock_fun = unlock;
    int status = hcy_finufft_makeplan(8, 1, 1, &n, 1, 1, 1e-6, &plan, &opts);
    status |= hcy_finufft_setpts(plan, 4, x, NULL, NULL, 0, NULL, NULL, NULL);
    status |= hcy_finufft_execute(plan, c, f, 0);
    (void)hcy_finufft_destroy(plan);
    ok(!status && n_locked >= 4 && deepest == 1 && !locked, "FINUFFT's lock: %d times, never twice, given back", n_locked);
}

/* --- Children of fork --- */

static hcy_nufft *nufft;
static hcy_nufft_split *split;

static int in_child(hcy_pipeline *idle, hcy_pipeline *pushing, hcy_pipeline *polled)
{
    struct host h = { 0 };
    const hcy_pipeline_frame *frame;
    hcy_pipeline *p = NULL;
    hcy_nufft *plan = NULL;
    hcy_pipeline_source source = { .coding = coding, .pixel_type = HCY_PIXEL_U32 };
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    double x[2] = { 0, 1 }, c[4] = { 0 }, f[64];
    const void *points[1] = { x };
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    enum { WITHOUT_FFT = 9 }; /* calls that need none */
    const int statuses[] = { hcy_pipeline_run(idle, the_stack, 0, 4, see, NULL, &h),
                             hcy_pipeline_start(idle, NULL),
                             hcy_pipeline_submit(pushing, memory[0], sizes[0], 0, NULL, NULL),
                             hcy_pipeline_flush(pushing),
                             hcy_pipeline_poll(&frame, polled, UINT64_MAX),
                             hcy_pipeline_finish(pushing),
                             hcy_pipeline_finish(polled),
                             hcy_pipeline_get_stats(pushing) ? 0 : hcy_last_error()->status,
                             hcy_pipeline_create(&p, &device, 1, the_plan, &source, NULL),
                             hcy_nufft_create(&plan, device, &desc, NULL),
                             hcy_nufft_set_points(nufft, 2, points, 0, NULL),
                             hcy_nufft_execute(nufft, c, f),
                             hcy_nufft_get_info(&info, nufft),
                             hcy_nufft_split_set_points(split, 2, points, 0, NULL),
                             hcy_nufft_split_execute(split, c, f, 0) };
    int wrong = 0;
    for (size_t i = 0; i < (nufft ? sizeof statuses / sizeof statuses[0] : WITHOUT_FFT); i++)
        if (statuses[i] != HCY_EFORK) {
            printf("# call %zu in a child: %s\n", i, hcy_status_name(statuses[i]));
            wrong++;
        }
    hcy_pipeline_cancel(pushing);
    hcy_pipeline_destroy(pushing);
    hcy_pipeline_destroy(polled);
    hcy_pipeline_destroy(idle);
    hcy_nufft_destroy(nufft);
    hcy_nufft_split_destroy(split);
    fflush(stdout);
    return wrong;
}

static void test_fork(void)
{
    struct host h = { .at = FRAMES };
    hcy_pipeline *idle = must_pipeline(NULL, HCY_CODEC_NONE), *polled = must_pipeline(NULL, HCY_CODEC_BSLZ4);
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    double x[2] = { 0, 1 }, c[4] = { 1, 0, 1, 0 }, f[16];
    const void *points[1] = { x };
    int refused, status = 0;
    h.pipeline = must_pipeline(NULL, HCY_CODEC_BSLZ4);
    push.sink = see;
    push.payload = &h;
    desc.modes[0] = 8;
    if (hcy_pipeline_start(h.pipeline, &push) || hcy_pipeline_start(polled, NULL) ||
        (has_fft() && (hcy_nufft_create(&nufft, device, &desc, NULL) ||
                       hcy_nufft_split_create(&split, &device, 1, &desc, NULL) ||
                       hcy_nufft_set_points(nufft, 2, points, 0, NULL) ||
                       hcy_nufft_split_set_points(split, 2, points, 0, NULL))))
        bail_out("%s", hcy_last_error()->text);
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        alarm(LIMIT_S / 3);
        _exit(in_child(idle, h.pipeline, polled));
    }
    ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
       "a child hears HCY_EFORK of all it inherited, and hangs nowhere");
    size_t n = submit_all(&h, &refused);
    ok(!hcy_pipeline_finish(h.pipeline) && n == FRAMES && h.n == FRAMES && back_once(&h, n), "the parent's push goes on");
    if (nufft)
        ok(!hcy_nufft_execute(nufft, c, f) && !hcy_nufft_split_execute(split, c, f, 0), "so do its plans");
    else
        skip(1, "the CPU has no FFT in this build");
    hcy_pipeline_destroy(h.pipeline);
    hcy_pipeline_destroy(idle);
    hcy_pipeline_destroy(polled);
    hcy_nufft_destroy(nufft);
    hcy_nufft_split_destroy(split);
}

int main(void)
{
    char path[64];
    alarm(LIMIT_S);
    snprintf(path, sizeof path, "callbacks-%ld.npy", (long)getpid());
    make_npy(path);
    make_chunks();
    the_plan = make_plan(HEIGHT, WIDTH);
    if (hcy_device_open(&device, "cpu@threads=2") || hcy_stack_open(&the_stack, path, NULL))
        bail_out("%s", hcy_last_error()->text);
    unlink(path);
    for (int in_place = 0; in_place < 2; in_place++) {
        test_push(77, 0, in_place, 0);
        test_push(HCY_EIO, 0, in_place, 1);
        test_push(HCY_EIO, 1, in_place, 0);
        test_push(0, 0, in_place, 1);
    }
    test_push_reenters();
    test_watched(1);
    test_watched(0);
    test_push_submits();
    test_push_cancels();
    test_signals();
    test_run(77, 0);
    test_run(HCY_EIO, 0);
    test_run(HCY_EIO, 1);
    test_progress();
    test_normalization();
    test_done();
    test_kernels();
    test_finufft();
    test_fork();
    hcy_stack_close(the_stack);
    hcy_azint_plan_release(the_plan);
    hcy_device_release(device);
    return done_testing();
}
