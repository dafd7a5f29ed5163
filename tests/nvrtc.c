/* nvrtc - CUDA's run-time compiler takes the GPU kernels' texts, for an old and a new kind of GPU; no GPU is needed.
 * To PTX, but where near memory is tight: what remains is the assembler's business.  What "fast:" makes of a text, and
 * how many groups are launched, needs no compiler. */
#include "array_priv.h"
#include "cuda_priv.h"
#include "gpu.h"
#include "gpu_priv.h"
#include "room.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIXELS(bytes, is_signed, is_float)                                                                   \
    "-DPIXEL_BYTES=" bytes " -DPIXEL_SIGNED=" is_signed " -DPIXEL_FLOAT=" is_float " -DVARIANCE=1"
#define PENCIL(real, precision, spreads)                                                                     \
    "-DGROUP_SIZE=64 -DREAL=" real " -DPRECISION=" precision " -DDIM=3 -DXB=2 -DYB=4 -DZS=2 -DWIDTH=7u -DBATCH=64"   \
    " -DVECTORS=2 -DPLACES=53 -DWORDS=3 -DSPREADS=" spreads " -DRESIDENT=4 -DNEAR_BYTES=40000 -DAMPLE=0"
#define POINT(real, precision, places, spreads)                                                              \
    "-DGROUP_SIZE=64 -DREAL=" real " -DPRECISION=" precision " -DDIM=3 -DXB=2 -DYB=4 -DZS=2 -DWIDTH=7u -DBATCH=64"   \
    " -DVECTORS=1 -DPARTS=1 -DFIXED=2 -DPLACES=" places " -DSPREADS=" spreads " -DRESIDENT=0"
#define TILES(real, precision, places, batch)                                                                \
    "-DGROUP_SIZE=256 -DREAL=" real " -DPRECISION=" precision " -DDIM=3 -DXB=16 -DYB=16 -DZS=16 -DWIDTH=8u -DBATCH=" batch \
    " -DVECTORS=1 -DPARTS=1 -DFIXED=0 -DPLACES=" places " -DSPREADS=1 -DRESIDENT=0"
#define ROW "-DDECODE_BLOCKS=8"

static const struct {
    const char *name, *text, *options;
} cases[] = {
    { "decoding to images, an old GPU", gpu_text_decode_fast,
      "-arch=compute_75 -DGROUP_SIZE=128 -DELEM=2 -DOUT=4 " ROW },
    { "fused, a new one", gpu_text_azint_fast,
      "-arch=compute_90 -DGROUP_SIZE=128 -DELEM=4 -DUNIT=0 -DFIRST_INVALID=4294967295u " ROW
      " " PIXELS("4", "0", "0") },
    { "fused, pixels with a sign, an old one", gpu_text_azint_fast,
      "-arch=compute_75 -DGROUP_SIZE=128 -DELEM=2 -DUNIT=1 -DFIRST_INVALID=32765 -DFIRST_VALID=-32767 " ROW
      " " PIXELS("2", "1", "0") },
    { "the same of four bytes", gpu_text_azint_fast,
      "-arch=compute_90 -DGROUP_SIZE=128 -DELEM=4 -DUNIT=0 -DFIRST_INVALID=2147483645 -DFIRST_VALID=0 " ROW
      " " PIXELS("4", "1", "0") },
    { "sums of images", gpu_text_azint, "-arch=compute_75 -DGROUP_SIZE=256 " PIXELS("4", "1", "1") },
    { "filters, without 64-bit atomics", gpu_text_filter,
      "-arch=compute_90 -DATOMICS=32 -DGROUP_SIZE=128 " PIXELS("2", "1", "0") },
    { "sorting points", gpu_text_nufft_sort,
      "-arch=compute_90 -DGROUP_SIZE=256 -DREAL=float -DPRECISION=1 -DDIM=3 -DXB=2 -DYB=4 -DZS=2 -DFIXED=0 -DPLACES=32 "
      "-DWORDS=2 -DPOINT=double" },
    { "sorting many points", gpu_text_nufft_settle,
      "-arch=compute_90 -DGROUP_SIZE=1024 -DREAL=float -DPRECISION=1 -DDIM=3 -DXB=16 -DYB=16 -DZS=16 -DFIXED=0 -DPLACES=32 "
      "-DWORDS=2 -DPOINT=float -DBUCKET=8192 -DTILE=7168" },
    { "sorting many doubles", gpu_text_nufft_settle,
      "-arch=compute_90 -DGROUP_SIZE=1024 -DREAL=double -DPRECISION=2 -DDIM=3 -DXB=4 -DYB=4 -DZS=8 -DFIXED=0 -DPLACES=53 "
      "-DWORDS=3 -DPOINT=double -DBUCKET=8192 -DTILE=5120" },
    { "what is in regions", gpu_text_regions, "-arch=compute_75 -DGROUP_SIZE=128 " PIXELS("4", "1", "0") },
    { "picking pixels", gpu_text_pick, "-arch=compute_90 -DGROUP_SIZE=32 " PIXELS("4", "1", "1") },
    { "products of complex matrices", gpu_text_matrix,
      "-arch=compute_75 -DGROUP_SIZE=128 -DREAL=float -DPARTS=2 -DTILE_ROWS=64 -DTILE_COLUMNS=32 -DSIDE_Y=4 -DSIDE_X=4 "
      "-DA_BY_ROWS=0" },
    { "cutting modes", gpu_text_nufft_cut, "-arch=compute_75 -DGROUP_SIZE=256 -DREAL=double" },
    { "elements by their numbers", gpu_text_eval_pick, "-arch=compute_75 -DGROUP_SIZE=256 -DWORD=uint64_t -DPARTS=2" },
    { "the same of bytes", gpu_text_eval_pick, "-arch=compute_90 -DGROUP_SIZE=256 -DWORD=uint8_t -DPARTS=1" },
    { "sorting rows", gpu_text_eval_order, "-arch=compute_75 -DGROUP_SIZE=256 -DWORD=uint64_t -DPARTS=1" },
    { "sorting long ones", gpu_text_eval_digits,
      "-arch=compute_75 -DGROUP_SIZE=256 -DTILE=4096 -DWORD=uint64_t -DFLOATS=0 -DPLACES=1" },
    { "sorting short rows of floats", gpu_text_eval_digits,
      "-arch=compute_90 -DGROUP_SIZE=32 -DTILE=512 -DWORD=uint16_t -DFLOATS=1 -DPLACES=0" },
    { "points to the grid on tensor cores, floats", gpu_text_nufft_pencil,
      "-arch=compute_80 " PENCIL("float", "1", "1") },
    { "points to integers, the same everywhere", gpu_text_nufft,
      "-arch=compute_90 -fmad=false " POINT("float", "1", "32 -DWORDS=2", "1") },
    { "points from the grid, the same everywhere", gpu_text_nufft_same,
      "-arch=compute_75 -fmad=false " POINT("double", "2", "64 -DWORDS=4", "0") },
    { "values and slopes from the grid, floats", gpu_text_nufft_slopes,
      "-arch=compute_90 " POINT("float", "1", "32 -DWORDS=2", "0") },
    { "values and slopes from the grid, doubles", gpu_text_nufft_slopes,
      "-arch=compute_75 " POINT("double", "2", "53 -DWORDS=3", "0") },
    { "few points to the grid, floats", gpu_text_nufft_tiles, "-arch=compute_90 " TILES("float", "1", "32 -DWORDS=2", "64") },
    { "few points to the grid, doubles", gpu_text_nufft_tiles, "-arch=compute_75 " TILES("double", "2", "53 -DWORDS=3", "32") },
    { "differences along three axes, floats", gpu_text_stencil,
      "-arch=compute_90 -fmad=false -DGROUP_SIZE=256 -DREAL=float -DREAL_BITS=32 -DRANK=3 -DINNER=10570ul -DTERMS=7"
      " -DFROM_APART=0 -DTO_APART=0 -DWHOLE=1 -DBESIDE=1 -DACROSS=0" },
    { "gradients of four axes, doubles", gpu_text_stencil,
      "-arch=compute_75 -fmad=false -DGROUP_SIZE=256 -DREAL=double -DREAL_BITS=64 -DRANK=4 -DINNER=399756ul -DTERMS=15"
      " -DFROM_APART=0 -DTO_APART=1 -DWHOLE=0 -DBESIDE=2 -DACROSS=1" },
    { "differences whose coefficients vanish", gpu_text_stencil,
      "-arch=compute_75 -fmad=false -DGROUP_SIZE=256 -DREAL=float -DREAL_BITS=32 -DRANK=3 -DACROSS=1" },
    { "faces of a part of three axes, floats", gpu_text_faces,
      "-arch=compute_90 -fmad=false -DGROUP_SIZE=256 -DREAL=float -DREAL_BITS=32 -DRANK=3" },
    { "lines of a grid, floats", gpu_text_nufft_lines, "-arch=compute_75 -fmad=false -DGROUP_SIZE=256 -DREAL=float" },
    { "Fourier transforms, floats", gpu_text_fft, "-arch=compute_75 -fmad=false -DGROUP_SIZE=32 -DREAL=float" },
    { "Fourier transforms, doubles", gpu_text_fft, "-arch=compute_90 -fmad=false -DGROUP_SIZE=256 -DREAL=double" },
    { "lines of modes, floats", gpu_text_nufft_axes,
      "-arch=compute_75 -DGROUP_SIZE=320 -DREAL=float -DM=256u -DTO_GRID=1 -DLENGTH=320u -DLINES=16u -DSTRIDED=1 -DPASSES=2 -DRESIDENT=3 "
      "-DR0=20 -DR1=16" },
    { "lines of modes of the fastest axis, doubles", gpu_text_nufft_axes,
      "-arch=compute_90 -DGROUP_SIZE=320 -DREAL=double -DM=307u -DTO_GRID=0 -DLENGTH=630u -DLINES=1u -DSTRIDED=0 -DPASSES=5 -DRESIDENT=1 "
      "-DR0=7 -DR1=5 -DR2=3 -DR3=3 -DR4=2" },
    { "convolved lines, floats", gpu_text_nufft_gram,
      "-arch=compute_75 -DGROUP_SIZE=256 -DREAL=float -DN=256u -DLENGTH=256u -DLINES=16u -DSTRIDED=1 -DPASSES=2 -DRESIDENT=2 "
      "-DR0=16 -DR1=16" },
    { "convolved lines of the fastest axis, doubles", gpu_text_nufft_gram,
      "-arch=compute_90 -DGROUP_SIZE=320 -DREAL=double -DN=600u -DLENGTH=630u -DLINES=1u -DSTRIDED=0 -DPASSES=5 -DRESIDENT=1 "
      "-DR0=7 -DR1=5 -DR2=3 -DR3=3 -DR4=2" },
    { "lines of a grid, doubles", gpu_text_nufft_lines, "-arch=compute_90 -fmad=false -DGROUP_SIZE=256 -DREAL=double" },
    { "points from the grid, doubles", gpu_text_nufft_pencil, "-arch=compute_90 " PENCIL("double", "2", "0") },
};

static int compiles(const struct nvrtc_api *rtc, const char *text, const char *options)
{
    const char *list[24];
    char *copy = strdup(options), *save = NULL, *log = NULL;
    int n = 0, failed;
    size_t size = 0;
    nvrtcProgram program;
    for (char *word = strtok_r(copy, " ", &save); word && n < 24; word = strtok_r(NULL, " ", &save))
        list[n++] = word;
    if (rtc->nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL))
        bail_out("no program");
    failed = rtc->nvrtcCompileProgram(program, n, list);
    if (failed && !rtc->nvrtcGetProgramLogSize(program, &size) && (log = malloc(size)) &&
        !rtc->nvrtcGetProgramLog(program, log))
        diag("%.2000s", log);
    rtc->nvrtcDestroyProgram(&program);
    free(log);
    free(copy);
    return !failed;
}

/* --- Kernels that are generated: every operation is in one of these texts --- */

/* An array that has a type and nothing else: it is compiled for, not computed with. */
static struct hcy_array kinds[] = {
    { .dtype = HCY_FLOAT32 }, { .dtype = HCY_FLOAT64 }, { .dtype = HCY_INT16 }, { .dtype = HCY_UINT64 },
    { .dtype = HCY_COMPLEX64 }, { .dtype = HCY_FLOAT16 }, { .dtype = HCY_BOOL },
};
static const char *const expressions[] = {
    "x = where(x < 1, -x, sqrt(abs(x))) / fma(x, x, 2.5) + floor(x) - ceil(x) * round(x)",
    "y = clip(y, -1, x) + sign(y) * norm(z) / mean(i) + max(x) - min(i) + argmax(y)",
    "i = ~i // 3 + i % 7 - (i & 5 | i ^ i) * -i; u = u // 3 + u % 7 + abs(u) * uint64(index)",
    "z = z * conj(z) / complex(x, y) + 2j * abs(z); b = !(x == y) && b || i >= u; h = h * 2 + float32(int64(y))",
    "y = real(vdot(z, z)) + prod(y) + count(b) + sum(u); y = max(u) + min(y) + norminf(z) + float64(uint64(x))",
    "y = cumsum(x * index, axis=1); z = cumsum(z, exclusive=True); u = cummax(u, axis=0, exclusive=True) + cumprod(u)",
    "y = std(z, axis=0) + argmin(x, axis=1) * prod(u, axis=-1) + any(b, axis=(0, 1), keepdims=True)",
#define ONES(x) "exp(" x ") + exp2(" x ") + expm1(" x ") + log(" x ") + log2(" x ") + log10(" x ") + log1p(" x ")" \
        "+ sin(" x ") + cos(" x ") + tan(" x ") + asin(" x ") + acos(" x ") + atan(" x ") + sinh(" x ") + cosh(" x ")" \
        "+ tanh(" x ") + erf(" x ") + rsqrt(" x ")"
#define TWOS(x) "hypot(" x ", 2) + fmod(" x ", 2) + atan2(" x ", 2) + " x " ** " x
    "x = " ONES("x"), "fast: x = " ONES("x"), "y = " ONES("y"), "fast: y = " ONES("y"), "x = " TWOS("x"),
    "fast: x = " TWOS("x"), "y = " TWOS("y"), "fast: y = " TWOS("y"),
    "z = z ** z + sqrt(z) + angle(z); y = ldexp(fraction(y), exponent(y)) + copysign(y, x); i = i ** i; u = u ** u",
    "y = uniform(1, index) + normal(u, index, 2) + uniform32(3, u); u = random(4, index)",
    "y = poisson(y, random(1, index)); i = int16(below(6, random(1, index)))",
    "f(a, b) = a * exp(b) + 1; t = reduce(f, x, axis=0); y = scan(f, y, 1, exclusive=True) + t + t",
    "f(a, b) = complex(imag(b), real(a) + 2); z = reduce(f, z, 0, axis=-1, keepdims=True) + scan(f, z, axis=0)",
    "x = ldexp(fraction(x), exponent(x)) + copysign(x, 1); z = complex(y, y) ** y",
};

static int stage_compiles(const struct nvrtc_api *rtc, const struct hcy__stage *stage, int rank, bool fast)
{
    const struct hcy__form form = { rank, rank == 3, stage->axes.n > 0, 0, 0, 0 },
                           pieces = { 1, 0, stage->axes.n > 0, 0, 0, 0 },
                           beside = { rank + 2, rank == 3, 1, rank % 2 ? 128 : 16, rank % 2 ? 4 : 16, rank % 2 == 0 };
    uint32_t n = stage->carries < 0 ? 2 : (uint32_t)stage->n_slots;
    char *text = hcy__generate(&stage->program, &hcy__eval_dialects[1], form, (uint32_t)stage->n_slots, fast);
    const bool has_columns = stage->axes.n && stage->program.reduces && !stage->program.join.n_steps;
    char *columns = has_columns ? hcy__generate(&stage->program, &hcy__eval_dialects[1], beside,
                                                (uint32_t)stage->n_slots, fast) : NULL;
    char *again = stage->again ? hcy__generate(stage->again, &hcy__eval_dialects[1], pieces, n, fast) : NULL;
    char options[200];
    snprintf(options, sizeof options, "-arch=compute_%d %s", rank == 3 ? 75 : 90, hcy__eval_dialects[1].options);
    int good = text && compiles(rtc, text, options) && (!stage->again || (again && compiles(rtc, again, options))) &&
               (!has_columns || (columns && compiles(rtc, columns, options)));
    free(text);
    free(columns);
    free(again);
    return good;
}

static int compile_kinds(struct hcy__compiled *compiled, const char *text)
{
    static const char *const names[] = { "x", "y", "i", "u", "z", "h", "b" };
    hcy_operand operands[7];
    struct hcy__tree *tree = malloc(sizeof *tree);
    for (int k = 0; k < 7; k++)
        operands[k] = hcy_op_array(names[k], &kinds[k]);
    int status = hcy__parse(tree, text, operands, 7);
    if (!status)
        status = hcy__compile(compiled, tree, operands, 7);
    free(tree);
    return status;
}

static void test_generated(const struct nvrtc_api *rtc, const char *text)
{
    struct hcy__compiled compiled;
    int status = compile_kinds(&compiled, text), good = 1;
    for (int i = 0; !status && i < compiled.n_stages; i++)
        good = good && stage_compiles(rtc, compiled.stages[i], i % 4, compiled.fast);
    ok(!status && good, "%s", text);
    if (status)
        diag("%s", hcy_last_error()->text);
    else
        hcy__compiled_free(&compiled);
}

/* --- "fast:" --- */

static void test_fast_text(const char *expression, bool fast)
{
    const struct hcy__form form = { 1, 0, 0, 0, 0, 0 };
    struct hcy__compiled compiled;
    if (compile_kinds(&compiled, expression))
        bail_out("%s", hcy_last_error()->text);
    ok(compiled.fast == fast, "\"%s\" is %s", expression, fast ? "fast" : "not fast");
    for (const struct hcy__eval_dialect *d = hcy__eval_dialects; d->format; d++) {
        char *text = hcy__generate(&compiled.stages[0]->program, d, form, 1, compiled.fast);
        ok(text && !strstr(text, "return exp(a)") == !fast && !strstr(text, "return exp_f32(a)") == fast,
           "and so calls %s exp() in %s", fast ? "the device's" : "our", d->format);
        free(text);
    }
    hcy__compiled_free(&compiled);
}

/* What goes over an array's elements has the mean as a number: the division is elsewhere. */
static void test_variance(void)
{
    struct hcy__compiled compiled;
    bool divides = false;
    if (compile_kinds(&compiled, "y = var(x, axis=0)"))
        bail_out("%s", hcy_last_error()->text);
    for (int i = 0; i < compiled.n_stages; i++) {
        const struct hcy__stage *s = compiled.stages[i];
        bool reads = false, has_quotient = false;
        for (int k = 0; k < s->n_slots; k++)
            reads = reads || (!s->slots[k].is_temporary && s->slots[k].which == 0);
        for (uint32_t k = 0; k < s->program.n_steps; k++)
            has_quotient = has_quotient || s->program.steps[k].op == HCY_EVAL_DIV_F32 ||
                           s->program.steps[k].op == HCY_EVAL_DIV_F64;
        divides = divides || (reads && has_quotient);
    }
    ok(!divides, "a variance does not divide at each element");
    hcy__compiled_free(&compiled);
}

/* Of a scan both programs: the carries are made of what the elements are. */
static void test_fast_scan(void)
{
    static const char *const texts[] = { "a = cumsum(exp(a))", "fast: a = cumsum(exp(a))" };
    const int64_t n = 1;
    hcy_device *dev = NULL;
    hcy_array *a = NULL;
    if (hcy_device_open(&dev, "cpu") || hcy_array_empty(&a, dev, HCY_FLOAT32, 1, &n))
        bail_out("no array: %s", hcy_last_error()->text);
    const hcy_operand operand = hcy_op_array("a", a);
    for (int fast = 0; fast < 2; fast++) {
        struct hcy__expression *x = NULL;
        if (hcy__expression_get(&x, a->room, texts[fast], &operand, 1))
            bail_out("%s", hcy_last_error()->text);
        ok(x->programs[0].fast == fast && x->again[0].fast == fast, "both programs of \"%s\"", texts[fast]);
        hcy__expression_put(a->room, texts[fast], x);
    }
    hcy_array_release(a);
    hcy_device_release(dev);
}

/* The shape that is chosen on a grid of `size` cells an axis fits near memory, of which a group may have `local` bytes
 * or, of 0, what any may, once it is assembled. */
static void check_near_memory(const struct nvrtc_api *rtc, size_t local, uint32_t precision, uint32_t dim,
                              uint32_t width, uint64_t size, uint64_t points, size_t vectors, enum hcy_nufft_move move)
{
    const struct gpu_ops ops = { .units = 132, .products = 2, .local_bytes = local };
    const hcy_nufft_job job = { .dim = dim, .precision = precision, .width = width, .n_points = points,
                                .grid = { size, dim > 1 ? size : 1, dim > 2 ? size : 1 } };
    static const char *const moves[] = { [HCY_NUFFT_GETS] = "from the grid", [HCY_NUFFT_PUTS] = "to the grid",
                                         [HCY_NUFFT_SLOPES] = "with slopes" };
    char options[512];
    struct gpu_shape s = gpu_shape_of(&ops, &job);
    gpu_shape_for(&s, &ops, &job, vectors, move);
    snprintf(options, sizeof options,
             "-arch=sm_90 -DGROUP_SIZE=%u -DREAL=%s -DPRECISION=%u -DDIM=%u -DXB=%u -DYB=%u -DZS=%u -DFIXED=0"
             " -DPLACES=64 -DWORDS=%u -DWIDTH=%uu -DPARTS=%u -DBATCH=%u -DVECTORS=%u -DSPREADS=%d -DRESIDENT=%u -DSLOPES=%d"
             " -DNEAR_BYTES=%u -DAMPLE=%d",
             s.group, precision == HCY_F64 ? "double" : "float", precision, dim, s.xb, s.yb, s.zs, dim + 1, width, s.parts,
             s.batch, s.vectors, move == HCY_NUFFT_PUTS, s.resident, move == HCY_NUFFT_SLOPES, s.near_bytes, s.ample);
    ok(compiles(rtc, s.resident ? gpu_text_nufft_pencil : gpu_text_nufft, options) &&
           s.near_bytes <= (local ? local : 49152),
       "%u-D, %zu vectors, a window of %u, %u bytes a number, %s: near memory holds what is chosen%s (%u bytes)", dim, vectors,
       width, 4 * precision, moves[move], s.ample ? ", amply" : "", s.near_bytes);
}

static void test_near_memory(const struct nvrtc_api *rtc)
{
    /* Long slabs on a line, and two vectors: their sums beside their weights are much. */
    for (uint32_t width = 7; width <= 9; width++)
        check_near_memory(rtc, 0, HCY_F64, 1, width, 32, 30, 2, HCY_NUFFT_GETS);
    /* Slopes have as many weights again, and sums for each axis. */
    for (uint32_t width = 10; width <= 16; width += 2)
        check_near_memory(rtc, 0, HCY_F64, 3, width, 128, 192000, 1, HCY_NUFFT_SLOPES);
    check_near_memory(rtc, 0, HCY_F64, 2, 16, 512, 204800, 1, HCY_NUFFT_SLOPES);
    /* Where a group may have an H200's, weights of many points and planes ahead take it. */
    check_near_memory(rtc, 232448, HCY_F64, 3, 13, 256, 10000000, 1, HCY_NUFFT_GETS);
    check_near_memory(rtc, 232448, HCY_F64, 3, 13, 256, 10000000, 1, HCY_NUFFT_PUTS);
    check_near_memory(rtc, 232448, HCY_F64, 3, 8, 400, 16777216, 4, HCY_NUFFT_GETS);
    check_near_memory(rtc, 232448, HCY_F32, 3, 7, 240, 10000000, 4, HCY_NUFFT_GETS);
    check_near_memory(rtc, 232448, HCY_F32, 2, 4, 1730, 10000000, 4, HCY_NUFFT_GETS);
    check_near_memory(rtc, 232448, HCY_F32, 1, 8, 1560000, 10000000, 1, HCY_NUFFT_GETS);
}

/* Compiled for a GPU that is none. */
static void test_own_program(void)
{
    static const char text[] = "#include \"hcy_value.h\"\nextern \"C\" __global__ void f(int *x) { *x = VALUE; }";
    struct cuda_device d = { .arch = 75 };
    char dir[] = "/tmp/halcyon-nvrtc-XXXXXX", path[80], folder[80], many[400] = "";
    const char *const options[] = { folder };
    void *images[2] = { NULL, NULL }, *program = NULL;
    size_t sizes[2] = { 0, 0 };
    int status = 0;
    if (!mkdtemp(dir))
        bail_out("no temporary folder");
    snprintf(path, sizeof path, "%s/hcy_value.h", dir);
    snprintf(folder, sizeof folder, "-I%s", dir);
    for (int i = 0; !status && i < 2; i++) {
        FILE *f = fopen(path, "w");
        if (!f || fprintf(f, "#define VALUE %d\n", 1000 + i) < 0 || fclose(f))
            bail_out("%s is not written", path);
        status = cuda_compile(&images[i], &sizes[i], NULL, &d, text, options, 1);
    }
    ok(!status && (sizes[0] != sizes[1] || memcmp(images[0], images[1], sizes[0])),
       "what a program includes is compiled as it is now (%s)", hcy_status_name(status));
    for (int i = 0; i < 65; i++)
        strcat(many, "-DX ");
    ok(cuda_program_create(&program, NULL, &d, "cuda-c", text, sizeof text - 1, many) == HCY_ERANGE,
       "an option too many is refused and not left out: %s", hcy_last_error()->text);
    free(images[0]);
    free(images[1]);
    remove(path);
    rmdir(dir);
}

/* Kernels number a grid's items with 32 bits, and go on by as many as there are. */
static void test_groups(void)
{
    const struct gpu_ops ops = { .units = 132 };
    const struct gpu_grid grid = gpu_grid_of(&ops, (uint64_t)1 << 26, 70000, 256);
    ok((uint64_t)grid.groups[0] * grid.group <= (uint64_t)1 << 32 && grid.groups[1] == 65535,
       "more lines than 32 bits number: %u x %u groups", grid.groups[0], grid.groups[1]);
}

/* Of a GPU that neither compiles nor runs anything: which text of coded frames is the first, and its options; whether
 * images were decoded fast. */
static const char *first_text;
static char first_options[GPU_OPTIONS_BYTES];
static bool decoded_fast;
/* That it has of local memory; 0: not known.  How many blocks its groups decode. */
static size_t near_bytes;
static uint32_t rows_blocks = 8;

static int note_text(void *device, const char *text, const char *const *options, int n, void **module)
{
    *module = device;
    if (first_text)
        return 0;
    size_t used = 0;
    first_text = text;
    for (int i = 0; i < n && used < sizeof first_options; i++)
        used += (size_t)snprintf(first_options + used, sizeof first_options - used, "%s ", options[i]);
    return 0;
}

static void no_release(void *device, void *module)
{
    (void)device, (void)module;
}

static const void *plan_in(const hcy_block *block)
{
    return block->handle;
}

static int find_name(void *device, void *module, const char *name, uint32_t local_bytes, void **function)
{
    (void)device, (void)module, (void)local_bytes;
    *function = (void *)(uintptr_t)name;
    return 0;
}

static int note_launch(void *queue, void *function, const struct gpu_grid *grid, const struct gpu_arg *args, size_t n)
{
    (void)queue, (void)grid, (void)args, (void)n;
    decoded_fast = decoded_fast || !strcmp(function, "gpu_decode_fast");
    return 0;
}

static int no_zeros(void *queue, const hcy_value *buffer, size_t offset, size_t size)
{
    (void)queue, (void)buffer, (void)offset, (void)size;
    return 0;
}

/* A launch of a frame follows, with scratch memory from `offset` of its block on. */
static const char *text_at(uint32_t type, uint64_t pixels, hcy_azint_range invalid, size_t offset)
{
    const struct gpu_row row = { rows_blocks, 8, 256, 4 };
    const struct gpu_ops ops = { .compile = note_text, .module_release = no_release, .plan = plan_in, .units = 132,
                                 .lanes = true, .row = &row, .function = find_name, .launch = note_launch,
                                 .zero = no_zeros, .local_bytes = near_bytes };
    const uint32_t bytes = hcy_pixel_type(type)->bytes;
    const hcy_bslz4_job coding = { HCY_CODEC_BSLZ4, bytes, pixels * bytes, 0, 0 };
    const hcy_azint_job job = { .n_pixels = pixels, .n_bins = 10, .pixel_type = type, .n_invalid = 1,
                                .invalid = { invalid } };
    struct gpu_plan plan = { .at = { .n_pixels = pixels, .n_bins = 10 } };
    const hcy_block block = { .handle = &plan }, memory = { .address = 4096 };
    hcy_value values[9];
    const hcy_launch_desc launch = { .items = 1, .values = values, .n_values = 9 };
    struct gpu_kernel *kernel;
    size_t size;
    for (int i = 0; i < 9; i++)
        values[i] = (hcy_value){ .block = &memory, .bytes_left = (size_t)1 << 40 };
    values[HCY_ARG_AT(bslz4_azint, scratch)].offset = offset;
    values[HCY_ARG_AT(bslz4_azint, coding)].bytes = &coding;
    values[HCY_ARG_AT(bslz4_azint, plan)].block = &block;
    values[HCY_ARG_AT(bslz4_azint, job)].bytes = &job;
    first_text = NULL;
    decoded_fast = false;
    if (gpu_kernel_get(&kernel, &ops, &plan, "bslz4_azint") || gpu_kernel_scratch_size(&size, kernel, 1, values, 9) ||
        gpu_kernel_launch(kernel, NULL, &launch))
        bail_out("no kernel: %s", hcy_last_error()->text);
    gpu_kernel_release(kernel);
    return first_text;
}

static const char *text_of(uint32_t type, uint64_t pixels, hcy_azint_range invalid)
{
    return text_at(type, pixels, invalid, 0);
}

/* Which frames go from coded blocks to sums; of the others, whose images are decoded by the fast kernels. */
static void test_ways(void)
{
    const uint64_t most = (uint64_t)1 << 27, low = (uint64_t)INT32_MIN;
    const hcy_azint_range none = { 1, 0 }, zero = { 0, 0 }, lowest = { low, low };
    const hcy_azint_range minus = { (uint64_t)-3, (uint64_t)-1 };
    ok(text_of(HCY_PIXEL_U16, 100000, none) == gpu_text_azint_fast, "frames of uint16 need no images");
    ok(text_of(HCY_PIXEL_I32, 100000, lowest) == gpu_text_azint_fast &&
       strstr(first_options, "-DFIRST_INVALID=2147483645 -DFIRST_VALID=-2147483647 "),
       "nor do those of int32: %s", first_options);
    ok(text_of(HCY_PIXEL_I16, 100000, minus) == gpu_text_azint_fast &&
       strstr(first_options, "-DFIRST_INVALID=32765 -DFIRST_VALID=0 "), "whatever is invalid below 0: %s", first_options);
    ok(text_of(HCY_PIXEL_I16, 100000, zero) == gpu_text_decode_fast &&
       text_of(HCY_PIXEL_U32, 100000, zero) == gpu_text_decode_fast, "invalid zeros are looked for in images");
    ok(text_of(HCY_PIXEL_F32, 100000, none) == gpu_text_decode_fast && decoded_fast, "floats come from images");
    ok(text_at(HCY_PIXEL_F32, 100000, none, 8) == gpu_text_decode_fast && !decoded_fast,
       "which are not written 16 bytes at once to scratch memory that begins at 8");
    ok(text_of(HCY_PIXEL_U8, 100000, none) == gpu_text_decode, "the fast kernels do not know bytes");
    ok(text_of(HCY_PIXEL_U16, most - 8, none) == gpu_text_azint_fast &&
       text_of(HCY_PIXEL_U16, most, none) == gpu_text_decode_fast, "pixels that sums of 64 bits have no room for");
    near_bytes = 48 << 10;
    ok(text_of(HCY_PIXEL_U16, 100000, none) == gpu_text_decode, "local memory too small for eight blocks");
    rows_blocks = 4;
    ok(text_of(HCY_PIXEL_U16, 100000, none) == gpu_text_decode_fast, "four of which it holds");
}

static void test_compiler(void)
{
    const struct nvrtc_api *rtc = nvrtc_load();
    if (!rtc) {
        skip(1, "%s", hcy_last_error()->text);
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ok(compiles(rtc, cases[i].text, cases[i].options), "%s", cases[i].name);
    test_own_program();
    test_near_memory(rtc);
    ok(!strcmp(hcy__eval_dialects[1].format, "cuda-c"), "the dialect is CUDA's");
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++)
        test_generated(rtc, expressions[i]);
}

int main(void)
{
    const char *sanitizer = getenv("HCY_SANITIZER");
    test_groups();
    test_ways();
    test_fast_text("x = exp(x)", false);
    test_fast_text("fast: x = exp(x)", true);
    test_fast_scan();
    test_variance();
    if (sanitizer && *sanitizer)
        skip(1, "NVRTC does not run under sanitizers");
    else
        test_compiler();
    return done_testing();
}
