/* cts_kernel.c - conformance: named kernels, their signatures and needs, launches; the user's functions. */
#include "cts_gate.h"

#include "families.h"

#include <sys/resource.h>
#include <unistd.h>

static hcy_device *dev;
static hcy_queue *queue;

/* --- Named kernels, as their families declare them --- */

struct decl {
    const char *kernel, *arg;
    int type;
    size_t size;
};

static const struct decl decls[] = {
#define FAMILY(stem, version)
#define KERNEL(kernel)        { #kernel, NULL, 0, 0 },
#define ARG(type, name, size) { NULL, #name, HCY_ARG_##type, size },
#define END(kernel)
#define END_FAMILY(stem)
#include "families.def"
};
enum { N_DECLS = sizeof decls / sizeof decls[0] };

/* The signature the HAL has for the kernel that begins at decls[i], word for word. */
static bool same_signature(const hcy_signature *s, size_t i)
{
    if (!s || strcmp(s->name, decls[i].kernel))
        return false;
    size_t n = 0;
    for (size_t k = i + 1; k < N_DECLS && !decls[k].kernel; k++, n++)
        if (n >= s->n_args || strcmp(s->args[n].name, decls[k].arg) || s->args[n].type != decls[k].type ||
            s->args[n].size != decls[k].size)
            return false;
    return n == s->n_args;
}

static void test_names(void)
{
    hcy_kernel *kernel = NULL;
    size_t found = 0;
    for (size_t i = 0; i < N_DECLS; i++) {
        if (!decls[i].kernel)
            continue;
        found++;
        int status = hcy_kernel_get(&kernel, dev, decls[i].kernel);
        if (status == HCY_EUNSUPPORTED) {
            st_says(status, HCY_EUNSUPPORTED, decls[i].kernel, "%s: it is not here, and that is said",
                    decls[i].kernel);
            continue;
        }
        st_ok(status, "%s: it is here", decls[i].kernel);
        ok(same_signature(hcy_kernel_signature(kernel), i), "%s: with the signature of its family",
           decls[i].kernel);
        ok(*hcy_kernel_variant(kernel), "%s: it says which variant runs (%s)", decls[i].kernel,
           hcy_kernel_variant(kernel));
        hcy_kernel_release(kernel);
        kernel = NULL;
    }
    ok(found >= 3, "families declare kernels");
    st_says(hcy_kernel_get(&kernel, dev, "no_such_kernel"), HCY_ENOENT, "no_such_kernel",
            "an unknown kernel is said to be so");
    st_is(hcy_kernel_get(&kernel, dev, ""), HCY_ENOENT, "a kernel without a name too");
    st_is(hcy_kernel_get(&kernel, dev, NULL), HCY_EINVAL, "no name is refused");
    st_is(hcy_kernel_get(&kernel, NULL, "bslz4_decode"), HCY_EINVAL, "no device too");
    st_is(hcy_kernel_get(NULL, dev, "bslz4_decode"), HCY_EINVAL, "no place too");
    ok(!kernel, "no kernel comes of any of these");
    hcy_kernel_release(NULL);
    ok(!hcy_kernel_signature(NULL), "no kernel, no signature");
}

/* --- Arguments --- */

enum { CHUNKS, FRAMES, BLOCKS, JOB, IMAGES, REPORTS, SCRATCH };

/* One argument replaced, by something that must be refused by name. */
static void check_bad(struct cts_work *w, size_t i, hcy_arg bad, const char *word, const char *what)
{
    hcy_arg saved = w->args[i];
    w->args[i] = bad;
    st_says(hcy_launch(queue, w->kernel, 1, w->args, CTS_WORK_ARGS), HCY_EINVAL, word,
            "%s is refused by name", what);
    w->args[i] = saved;
}

static void test_arguments(struct cts_work *w)
{
    hcy_device *other = cts_open_spec(cts_spec2);
    hcy_buffer *foreign = cts_buffer(other, 4096);
    hcy_queue *theirs = cts_queue(other);
    struct {
        hcy_bslz4_job job;
        char more;
    } large;
    memset(&large, 0, sizeof large);
    st_says(hcy_launch(queue, w->kernel, 1, w->args, CTS_WORK_ARGS - 1), HCY_EINVAL, "bslz4_decode",
            "too few arguments");
    st_says(hcy_launch(queue, w->kernel, 1, w->args, 0), HCY_EINVAL, "bslz4_decode", "none at all");
    st_is(hcy_launch(queue, w->kernel, 1, NULL, CTS_WORK_ARGS), HCY_EINVAL, "no array of them");
    check_bad(w, IMAGES, hcy_arg_u32(1), "images", "a number for a buffer");
    check_bad(w, SCRATCH, hcy_arg_f64(1), "scratch", "a number for scratch");
    check_bad(w, CHUNKS, hcy_arg_struct(&w->job, sizeof w->job), "chunks", "a structure for a buffer");
    check_bad(w, JOB, hcy_arg_buf(w->images), "job", "a buffer for a structure");
    check_bad(w, JOB, hcy_arg_u64(0), "job", "a number for a structure");
    check_bad(w, JOB, hcy_arg_struct(&w->job, sizeof w->job - 1), "job", "a structure that is too short");
    check_bad(w, JOB, hcy_arg_struct(&large, sizeof w->job + 1), "job", "a structure that is too long");
    check_bad(w, JOB, hcy_arg_struct(NULL, sizeof w->job), "job", "a structure without an address");
    check_bad(w, REPORTS, hcy_arg_buf(NULL), "reports", "an absent buffer");
    check_bad(w, FRAMES, hcy_arg_buf(foreign), "frames", "a buffer of another device");
    check_bad(w, SCRATCH, hcy_arg_buf(foreign), "scratch", "scratch of another device");
    st_says(hcy_launch(theirs, w->kernel, 1, w->args, CTS_WORK_ARGS), HCY_EINVAL, "bslz4_decode",
            "a queue of another device");
    st_is(hcy_launch(NULL, w->kernel, 1, w->args, CTS_WORK_ARGS), HCY_EINVAL, "no queue");
    st_is(hcy_launch(queue, NULL, 1, w->args, CTS_WORK_ARGS), HCY_EINVAL, "no kernel");
    const hcy_grid grid = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };
    st_is(hcy_launch_grid(queue, w->kernel, &grid, w->args, CTS_WORK_ARGS), HCY_EINVAL,
          "a grid for a named kernel");
    st_ok(hcy_launch(queue, w->kernel, 0, w->args, CTS_WORK_ARGS), "no items are nothing");
    check_bad(w, IMAGES, hcy_arg_u32(1), "images", "(the check itself)");
    st_ok(hcy_queue_finish(queue), "none of this made the queue fail");
    hcy_queue_release(theirs);
    hcy_buffer_release(foreign);
    hcy_device_release(other);
}

static void test_needs(struct cts_work *w)
{
    size_t scratch = 7, batch = 0;
    hcy_arg args[CTS_WORK_ARGS];
    for (size_t i = 0; i < CTS_WORK_ARGS; i++)
        args[i] = i == JOB ? w->args[i] : hcy_arg_buf(NULL);
    st_ok(hcy_kernel_scratch_size(&scratch, w->kernel, 100, args, CTS_WORK_ARGS),
          "scratch is asked for without buffers");
    ok(scratch < (size_t)1 << 40, "and is a size (%zu)", scratch);
    st_ok(hcy_kernel_preferred_batch(&batch, w->kernel, args, CTS_WORK_ARGS), "a batch too");
    ok(batch > 0, "and is one item at least (%zu)", batch);
    args[JOB] = hcy_arg_u32(0);
    st_says(hcy_kernel_scratch_size(&scratch, w->kernel, 1, args, CTS_WORK_ARGS), HCY_EINVAL, "job",
            "types are checked there");
    st_says(hcy_kernel_preferred_batch(&batch, w->kernel, args, CTS_WORK_ARGS), HCY_EINVAL, "job",
            "and there");
    st_is(hcy_kernel_scratch_size(&scratch, w->kernel, 1, w->args, 2), HCY_EINVAL,
          "the number of arguments too");
    st_is(hcy_kernel_scratch_size(NULL, w->kernel, 1, w->args, CTS_WORK_ARGS), HCY_EINVAL,
          "no place for the size");
    st_is(hcy_kernel_preferred_batch(NULL, w->kernel, w->args, CTS_WORK_ARGS), HCY_EINVAL,
          "no place for the batch");
    st_is(hcy_kernel_scratch_size(&scratch, NULL, 1, w->args, CTS_WORK_ARGS), HCY_EINVAL, "no kernel");
    hcy_buffer *tables = NULL;
    const hcy_span span = { "x", 1 };
    st_is(hcy_kernel_prepare(&tables, w->kernel, &span, 1), HCY_EUNSUPPORTED,
          "a kernel without tables prepares none");
    ok(!tables, "and makes no buffer");
}

static void test_tables(void)
{
    hcy_kernel *kernel = NULL;
    hcy_buffer *tables = NULL, *some = cts_buffer(dev, 4096);
    const hcy_span bad[HCY_AZINT_SPANS] = { { "x", 1 }, { "x", 1 }, { "x", 1 }, { "x", 1 } };
    int status = hcy_kernel_get(&kernel, dev, "azint_image");
    if (status == HCY_EUNSUPPORTED) {
        skip(1, "%s", hcy_last_error()->text);
        goto out;
    }
    st_ok(status, "a kernel with tables");
    st_is(hcy_kernel_prepare(NULL, kernel, bad, HCY_AZINT_SPANS), HCY_EINVAL, "no place for them");
    st_is(hcy_kernel_prepare(&tables, kernel, NULL, HCY_AZINT_SPANS), HCY_EINVAL, "no spans");
    if (!cts_is("null")) {
        ok(hcy_kernel_prepare(&tables, kernel, bad, HCY_AZINT_SPANS) < 0,
           "spans that are no tables are refused");
        ok(!tables, "and make no buffer");
    }
    hcy_azint_job job = { .n_pixels = 1, .n_bins = 1, .pixel_type = HCY_PIXEL_U32 };
    hcy_arg args[] = { hcy_arg_buf(some), hcy_arg_buf(some), hcy_arg_struct(&job, sizeof job),
                       hcy_arg_buf(some), hcy_arg_buf(some), hcy_arg_buf(NULL) };
    st_says(hcy_launch(queue, kernel, 1, args, 6), HCY_EINVAL, "plan",
            "a buffer that hcy_kernel_prepare() did not make is no tables");
out:
    hcy_buffer_release(some);
    hcy_kernel_release(kernel);
}

/* Two frames, the first refused by its parse, the second a stored block: one report, one image. */
static void test_launch(struct cts_work *w)
{
    hcy_frame_report reports[2];
    unsigned char *data = cts_bytes(4096, 5), got[128];
    hcy_bslz4_frame frames[2] = {
        { .size = 64, .block_bytes = 64, .last_bytes = 64, .n_blocks = 1, .status = HCY_ECORRUPT },
        { .offset = 64,
          .size = 80,
          .first_block = 1,
          .block_bytes = 64,
          .last_bytes = 64,
          .n_blocks = 1,
          .tail_offset = 80 }
    };
    hcy_bslz4_block blocks[2] = { { 12, 20 }, { 16, 64 | HCY_BLOCK_STORED } };
    hcy_bslz4_job job = { .codec = HCY_CODEC_LZ4, .elem_size = 4, .image_bytes = 64, .block_bytes = 64 };
    hcy_buffer *images = cts_buffer(dev, 128), *table = cts_buffer(dev, sizeof frames),
               *list = cts_buffer(dev, sizeof blocks), *out = cts_buffer(dev, sizeof reports);
    hcy_arg args[CTS_WORK_ARGS] = { hcy_arg_buf(w->chunks), hcy_arg_buf(table),
                                    hcy_arg_buf(list),      hcy_arg_struct(&job, sizeof job),
                                    hcy_arg_buf(images),    hcy_arg_buf(out),
                                    hcy_arg_buf(NULL) };
    hcy_buffer *scratch = NULL;
    size_t size = 0;
    st_ok(hcy_kernel_scratch_size(&size, w->kernel, 2, args, CTS_WORK_ARGS), "two frames' scratch");
    if (size)
        scratch = cts_buffer(dev, size);
    args[SCRATCH] = hcy_arg_buf(scratch);
    memset(reports, 0x55, sizeof reports);
    int status = hcy_buffer_write(queue, w->chunks, 0, data, 4096);
    status = cts_first(status, hcy_buffer_write(queue, table, 0, frames, sizeof frames));
    status = cts_first(status, hcy_buffer_write(queue, list, 0, blocks, sizeof blocks));
    status = cts_first(status, hcy_launch(queue, w->kernel, 2, args, CTS_WORK_ARGS));
    memset(&job, 0xff, sizeof job);
    hcy_buffer_release(table);
    hcy_buffer_release(list);
    hcy_buffer_release(scratch);
    status = cts_first(status, hcy_buffer_read(queue, got, images, 0, 128));
    status = cts_first(status, hcy_buffer_read(queue, reports, out, 0, sizeof reports));
    status = cts_first(status, hcy_queue_finish(queue));
    st_ok(status, "a launch runs, though its structures and buffers are gone at once");
    if (cts_is("null"))
        skip(2, "the null device computes nothing");
    else {
        ok(reports[0].status == HCY_ECORRUPT && reports[1].status == 0, "each frame has its report");
        ok(!memcmp(got + 64, data + 80, 64), "and the good one its image");
    }
    hcy_buffer_release(images);
    hcy_buffer_release(out);
    free(data);
}

/* --- Functions of the user's --- */

struct mix {
    double f64;
    char text[8];
};
enum { GX = 3, GY = 4, GZ = 5 };

/* Each group writes what it was given to its own place. */
static int fill_in(const hcy_cpu_group *g, void *const *args)
{
    uint64_t *out = args[0];
    const struct mix *mix = args[7];
    size_t i = g->id[0] + (size_t)g->groups[0] * (g->id[1] + (size_t)g->groups[1] * g->id[2]);
    unsigned char *local = g->local;
    memset(local, (int)i, 100);
    bool good = *(int32_t *)args[1] == -1 && *(uint32_t *)args[2] == 2 && *(int64_t *)args[3] == -3 &&
                *(uint64_t *)args[4] == 4 && *(float *)args[5] == 5.5f && *(double *)args[6] == 6.25 &&
                mix->f64 == 7.125 && !strcmp(mix->text, "eight") && g->groups[0] == GX &&
                g->groups[1] == GY && g->groups[2] == GZ && g->size[0] == 2 && g->size[1] == 1 &&
                g->size[2] == 7 && local[99] == (unsigned char)i;
    out[i] += good ? 1000 + i : 1;
    return 0;
}

static int fail_at(const hcy_cpu_group *g, void *const *args)
{
    (void)args;
    return g->id[0] == 3 ? -1234 : 0;
}

static int add(const hcy_cpu_group *g, void *const *args)
{
    double *x = args[0];
    x[g->id[0]] += *(const double *)args[1];
    return 0;
}

static void test_grid(hcy_program *program)
{
    enum { N = GX * GY * GZ };
    const hcy_grid grid = { { GX, GY, GZ }, { 2, 1, 7 }, 100 };
    struct mix mix = { 7.125, "eight" };
    uint64_t got[N], zero = 0;
    hcy_kernel *kernel = NULL;
    hcy_buffer *root = cts_buffer(dev, N * 8 + 64), *out = NULL;
    st_ok(hcy_program_kernel(&kernel, program, "fill_in", NULL), "a function is found by its name");
    st_ok(hcy_buffer_sub(&out, root, 64, N * 8), "a view for its results");
    hcy_arg args[] = { hcy_arg_buf(out),  hcy_arg_i32(-1),
                       hcy_arg_u32(2),    hcy_arg_i64(-3),
                       hcy_arg_u64(4),    hcy_arg_f32(5.5f),
                       hcy_arg_f64(6.25), hcy_arg_struct(&mix, sizeof mix) };
    st_ok(hcy_buffer_fill(queue, root, 0, N * 8 + 64, &zero, 8), "zeros");
    st_ok(hcy_launch_grid(queue, kernel, &grid, args, 8), "a launch over a grid");
    memset(&mix, 0, sizeof mix);
    st_ok(hcy_buffer_read(queue, got, out, 0, sizeof got), "its results are read");
    st_ok(hcy_queue_finish(queue), "it runs");
    size_t right = 0;
    for (size_t i = 0; i < N; i++)
        right += got[i] == 1000 + i;
    is_int((intmax_t)right, N, "every group ran once, with every argument");

    hcy_grid bad = grid;
    bad.groups[1] = 0;
    st_is(hcy_launch_grid(queue, kernel, &bad, args, 8), HCY_EINVAL, "a grid without groups");
    bad = grid;
    bad.group[2] = 0;
    st_is(hcy_launch_grid(queue, kernel, &bad, args, 8), HCY_EINVAL, "groups without items");
    st_is(hcy_launch_grid(queue, kernel, NULL, args, 8), HCY_EINVAL, "no grid");
    st_is(hcy_launch(queue, kernel, 1, args, 8), HCY_EINVAL, "items instead of a grid");
    hcy_arg none = hcy_arg_buf(NULL);
    st_is(hcy_launch_grid(queue, kernel, &grid, &none, 1), HCY_EINVAL, "an absent buffer");
    hcy_buffer_release(root);
    hcy_buffer_release(out);
    hcy_kernel_release(kernel);
}

static void test_typed(hcy_program *program)
{
    char names[][10] = { "add", "x", "increment" };
    hcy_arg_decl decl[] = { { names[1], HCY_ARG_INOUT, 0 }, { names[2], HCY_ARG_F64, 0 } };
    hcy_signature signature = { names[0], decl, 2 };
    const hcy_grid grid = { { 4, 1, 1 }, { 1, 1, 1 }, 0 };
    double x[4] = { 1, 2, 3, 4 };
    hcy_kernel *kernel = NULL;
    hcy_buffer *buf = cts_buffer(dev, sizeof x);
    hcy_arg good[] = { hcy_arg_buf(buf), hcy_arg_f64(0.5) }, bad[] = { hcy_arg_buf(buf), hcy_arg_f32(0.5f) };
    st_ok(hcy_program_kernel(&kernel, program, "add", &signature), "a function with a signature");
    memset(names, 0, sizeof names);
    memset(decl, 0, sizeof decl);
    signature.n_args = 0;
    ok(hcy_kernel_signature(kernel) && hcy_kernel_signature(kernel)->n_args == 2, "keeps it, also where the caller's goes");
    st_says(hcy_launch_grid(queue, kernel, &grid, bad, 2), HCY_EINVAL, "increment",
            "and is checked against it");
    st_says(hcy_launch_grid(queue, kernel, &grid, good, 1), HCY_EINVAL, "add", "number and all");
    st_ok(hcy_buffer_write(queue, buf, 0, x, sizeof x), "numbers");
    st_ok(hcy_launch_grid(queue, kernel, &grid, good, 2), "a good launch");
    st_ok(hcy_launch_grid(queue, kernel, &grid, good, 2), "and another");
    hcy_kernel_release(kernel);
    double got[4] = { 0 };
    st_ok(hcy_buffer_read(queue, got, buf, 0, sizeof got), "are read");
    st_ok(hcy_queue_finish(queue), "after both");
    ok(got[0] == 2 && got[3] == 5, "and have been added to");
    hcy_buffer_release(buf);
}

/* Groups want more local memory than this process may have: none of them runs. */
static void test_little_memory(hcy_kernel *kernel)
{
    const hcy_grid grid = { { 8, 1, 1 }, { 1, 1, 1 }, UINT32_MAX };
    struct rlimit before, little;
    size_t pages = 0;
    FILE *f = TAP_ADDRESS_SANITIZER || TAP_THREAD_SANITIZER ? NULL : fopen("/proc/self/statm", "r");
    bool known = f && fscanf(f, "%zu", &pages) == 1 && !getrlimit(RLIMIT_AS, &before);
    if (f)
        fclose(f);
    if (known) {
        little = before;
        little.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + ((size_t)512 << 20);
    }
    if (!known || setrlimit(RLIMIT_AS, &little)) {
        skip(2, "this process's memory has no limit");
        return;
    }
    hcy_queue *mine = cts_queue(dev);
    st_ok(hcy_launch_grid(mine, kernel, &grid, NULL, 0), "local memory that the process may not have");
    st_says(hcy_queue_finish(mine), HCY_ENOMEM, "local memory", "is what the launch fails for");
    hcy_queue_release(mine);
    (void)!setrlimit(RLIMIT_AS, &before);
}

static void test_functions(void)
{
    static const hcy_cpu_function table[] = { { "fill_in", fill_in },
                                              { "fail_at", fail_at },
                                              { "add", add } };
    hcy_cpu_function copy[3];
    hcy_program *program = NULL;
    hcy_kernel *kernel = NULL;
    memcpy(copy, table, sizeof table);
    st_ok(hcy_program_create(&program, dev, HCY_CPU_FUNCTIONS, copy, sizeof copy, NULL),
          "a table of C functions");
    memset(copy, 0, sizeof copy);
    is_str(hcy_program_log(program), "", "nothing is said of it");
    st_says(hcy_program_kernel(&kernel, program, "nosuch", NULL), HCY_ENOENT, "nosuch",
            "a function that it lacks");
    st_is(hcy_program_kernel(&kernel, program, NULL, NULL), HCY_EINVAL, "no name");
    st_is(hcy_program_kernel(NULL, program, "add", NULL), HCY_EINVAL, "no place");
    st_is(hcy_program_create(&program, dev, HCY_CPU_FUNCTIONS, table, sizeof table - 1, NULL), HCY_EINVAL,
          "a part of a table");
    test_grid(program);
    test_typed(program);
    hcy_buffer *variable = NULL;
    st_is(hcy_program_global(&variable, program, "add"), HCY_EUNSUPPORTED, "C's variables are the caller's own");
    st_ok(hcy_program_kernel(&kernel, program, "fail_at", NULL), "a function that fails");
    hcy_program_release(program);
    const hcy_grid grid = { { 8, 1, 1 }, { 1, 1, 1 }, 0 };
    hcy_queue *mine = cts_queue(dev);
    if (!cts_has(dev, HCY_CAP_TOGETHER))
        st_is(hcy_launch_together(mine, kernel, &grid, NULL, 0), HCY_EUNSUPPORTED, "its groups do not all run at once");
    st_ok(hcy_launch_grid(mine, kernel, &grid, NULL, 0), "is launched, without its program");
    st_says(hcy_queue_finish(mine), HCY_ELAUNCH, "fail_at", "and fails its queue, by name");
    is_int(hcy_last_error()->vendor_code, -1234, "with what it returned");
    hcy_queue_release(mine);
    const hcy_grid most = { { UINT32_MAX, UINT32_MAX, 1 }, { 1, 1, 1 }, 0 };
    mine = cts_queue(dev);
    st_ok(hcy_launch_grid(mine, kernel, &most, NULL, 0), "of as many groups as there are numbers");
    st_says(hcy_queue_finish_within(mine, CTS_PATIENCE), HCY_ERANGE, "groups", "it fails for these");
    hcy_queue_release(mine);
    test_little_memory(kernel);
    hcy_kernel_release(kernel);
}

static void test_programs(void)
{
    hcy_program *program = NULL;
    if (!cts_has(dev, HCY_CAP_PROGRAMS)) {
        st_is(hcy_program_create(&program, dev, "c-function", "x", 1, NULL), HCY_EUNSUPPORTED,
              "no programs, as its capabilities say");
        return;
    }
    st_says(hcy_program_create(&program, dev, "no-such-format", "x", 1, NULL), HCY_EUNSUPPORTED,
            "no-such-format", "an unknown format is said to be so");
    if (cts_is("cpu"))
        ok(strstr(hcy_last_error()->text, HCY_CPU_FUNCTIONS), "and the known one named");
    st_is(hcy_program_create(&program, dev, NULL, "x", 1, NULL), HCY_EINVAL, "no format");
    st_is(hcy_program_create(&program, dev, "c-function", NULL, 1, NULL), HCY_EINVAL, "no code");
    st_is(hcy_program_create(&program, dev, "c-function", "x", 0, NULL), HCY_EINVAL, "empty code");
    st_is(hcy_program_create(NULL, dev, "c-function", "x", 1, NULL), HCY_EINVAL, "no place");
    ok(!program, "no program comes of any of these");
    hcy_program_release(NULL);
    is_str(hcy_program_log(NULL), "", "no program says nothing");
    if (cts_is("cpu"))
        test_functions();
}

int main(int argc, char **argv)
{
    struct cts_work work;
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    test_names();
    int status = cts_work_make(&work, dev);
    if (status == HCY_EUNSUPPORTED)
        skip(1, "%s", hcy_last_error()->text);
    else {
        st_ok(status, "a kernel to launch");
        test_arguments(&work);
        test_needs(&work);
        test_launch(&work);
    }
    cts_work_free(&work);
    test_tables();
    test_programs();
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
