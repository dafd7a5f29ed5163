/* fuzz_texts.c - fuzz targets: geometry files, JSON, device strings, plans in the cache,
 * expressions. */
#include "azint_scene.h"
#include "flatjson.h"
#include "fuzz.h"
#include "hal_priv.h"
#include <dirent.h>
#include <halcyon/device.h>
#include <halcyon/eval.h>
#include <unistd.h>

/* 0-terminated. */
static char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

static void give_text(const char *text)
{
    fuzz_give(text, strlen(text));
}

/* --- PONI: what was read is written and read again to the same, and makes a plan of a small image, or words --- */

static int run_poni(const uint8_t *data, size_t size)
{
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_poni poni = HCY_PONI_INIT, again = HCY_PONI_INIT;
    hcy_azint_plan *made = NULL;
    char text[4096];

    if (hcy_poni_parse(&poni, (const char *)data, size, "fuzz"))
        return 0;
    if (hcy_poni_format(text, sizeof text, NULL, &poni) ||
        hcy_poni_parse(&again, text, strlen(text), "again") || again.dist != poni.dist ||
        again.rot3 != poni.rot3 || again.detector != poni.detector)
        abort();
    o.npt = 50;
    o.threads = 1;
    o.split = (int)(size % 3);
    if (!hcy_azint_plan_create(&made, &poni, poni.height && poni.height < 64 ? poni.height : 20,
                               poni.width && poni.width < 64 ? poni.width : 21, &o))
        hcy_azint_plan_release(made);
    return 1;
}

static void seed_poni(void)
{
    give_text("poni_version: 2.1\nDetector: Detector\nDetector_config: {\"pixel1\": 0.0001, \"pixel2\": 0.0001, "
              "\"max_shape\": [20, 21], \"orientation\": 3}\nDistance: 0.1\nPoni1: 0.001\nPoni2: 0.001\nRot1: 0.1\n"
              "Rot2: 0\nRot3: -1e-3\nWavelength: 1e-10\n");
    give_text("# nota\nPixelSize1: 7.5e-05\nPixelSize2: 7.5e-05\nDistance: 0.2\nPoni1: 0.1\nPoni2: 0.1\nRot1: 0\n"
              "Rot2: 0\nRot3: 0\n");
    give_text("poni_version: 2\nDetector: Pilatus300k\nDetector_config: {}\nDistance: 1\nPoni1: 0\nPoni2: 0\n"
              "Rot1: 0\nRot2: 0\nRot3: 0\n");
}

/* --- JSON: values found lie in the text --- */

static int run_json(const uint8_t *data, size_t size)
{
    static const char *const keys[] = { "pixel1", "max_shape", "orientation", "" };
    char *text = text_of(data, size);
    int taken = 0;
    for (size_t i = 0; i < 4; i++) {
        flatjson_value v;
        double x[3];
        if (hcy__flatjson_find(&v, text, keys[i]))
            continue;
        taken = 1;
        if (v.text && (v.text < text || v.text + v.size > text + strlen(text)))
            abort();
        (void)hcy__flatjson_is_null(v);
        (void)hcy__flatjson_number(x, v);
        (void)hcy__flatjson_numbers(x, 2, v);
    }
    free(text);
    return taken;
}

static void seed_json(void)
{
    give_text("{\"pixel1\": 0.0001, \"MAX_SHAPE\": [20, -2.5e3], \"orientation\": null}");
    give_text(" { \"a\\\"b\" : {\"c\": [[], {}, true, \"d\"]}, \"pixel1\": \"7.5e-05\" } ");
}

/* --- Device strings --- */

static int run_device(const uint8_t *data, size_t size)
{
    struct hcy__spec spec;
    char *text = text_of(data, size);
    int taken = !hcy__spec_parse(&spec, text);
    if (taken) {
        size_t n = strlen(spec.spec.backend);
        for (size_t i = 0; i < spec.spec.n_options; i++)
            n += strlen(spec.spec.options[i].key) + strlen(spec.spec.options[i].value);
        if (n > size)
            abort();
        hcy__spec_free(&spec);
    }
    free(text);
    return taken;
}

static void seed_device(void)
{
    give_text("cpu@threads=4@cores=0-1+4");
    give_text("null:1@kernels=noop@delay-us=20000");
}

/* --- Plans in the cache: whatever the file holds, the plan is the right one --- */

static scene the_scene;
static char plan_path[600];
static char plan_hash[33];

static int run_plan(const uint8_t *data, size_t size)
{
    FILE *f = unlink(plan_path) ? NULL : fopen(plan_path, "wb"); /* what is kept may not be written to */
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        bail_out("%s cannot be written", plan_path);
    hcy_azint_plan *made = must_plan(&the_scene);
    if (strcmp(must_info(made).hash, plan_hash))
        abort();
    int taken = must_info(made).from_cache;
    hcy_azint_plan_release(made);
    return taken;
}

static void seed_plan(void)
{
    static char cache[300];
    make_scene(&the_scene, 17e-3);
    snprintf(cache, sizeof cache, "%s/plans", fuzz_folder());
    the_scene.o.cache = cache;
    hcy_azint_plan *made = must_plan(&the_scene);
    snprintf(plan_hash, sizeof plan_hash, "%s", must_info(made).hash);
    hcy_azint_plan_release(made);
    DIR *files = opendir(cache);
    for (struct dirent *entry; files && (entry = readdir(files));)
        if (strstr(entry->d_name, ".plan"))
            snprintf(plan_path, sizeof plan_path, "%s/%s", cache, entry->d_name);
    if (files)
        closedir(files);
    FILE *f = fopen(plan_path, "rb");
    static char bytes[1 << 17];
    size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (!size || size == sizeof bytes || fclose(f))
        bail_out("the plan was not kept");
    fuzz_give(bytes, size);
}

/* --- Expressions: what is taken runs, whatever it says --- */

static struct {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_operand operands[6];
} desk;

static int run_expression(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    int status = hcy_eval(desk.queue, text, desk.operands, 6);
    if (hcy_queue_finish(desk.queue))
        abort();
    free(text);
    return !status;
}

static void seed_expression(void)
{
    static const int types[] = { HCY_FLOAT32, HCY_FLOAT64, HCY_INT8, HCY_COMPLEX64, HCY_UINT64 };
    static const char *const names[] = { "x", "y", "i", "z", "u" };
    const int64_t shape[2] = { 3, 7 };
    int status = hcy_device_open(&desk.dev, "cpu@threads=1");
    if (!status)
        status = hcy_queue_create(&desk.queue, desk.dev);
    for (int k = 0; !status && k < 5; k++) {
        hcy_array *a = NULL;
        status = hcy_array_full(&a, desk.queue, types[k], 2, shape, k);
        desk.operands[k] = hcy_op_array(names[k], a);
    }
    desk.operands[5] = hcy_op_integer("n", 3);
    if (status)
        bail_out("no arrays: %s", hcy_last_error()->text);
    give_text("y = 2.5e-1*x + y; x = float32(where(x < 1 || !(i == 3), -x, sqrt(abs(z)))) ** 3");
    give_text("y = x / norm(x) - mean(y) + argmax(i) % n; z *= conj(z) / complex(x, 1) + 2j");
    give_text("i = i // 2 + (i ^ 7 & ~i); u = u * n + uint64(index); y = fma(x, y, pi) + dot(x, y) + real(vdot(z, z))");
    give_text("f(a, b) = a * n + b; # joins\nt = f(x, 2) - 1;\nx = t * reduce(f, t, 0); y = scan(f, y, 1, exclusive=True)");
    give_text("g(v) = where(v > 1, -v, v); i = int8(below(6, random(1, index))) + reduce(maximum, i, axis=1, keepdims=True); "
              "y = scan(hypot, y, axis=0); u = poisson(g(y), u)");
}

const struct fuzz_target fuzz_texts[] = {
    { "poni", run_poni, seed_poni },       { "json", run_json, seed_json },
    { "device", run_device, seed_device }, { "plan", run_plan, seed_plan },
    { "expression", run_expression, seed_expression },
    { NULL, NULL, NULL },
};
