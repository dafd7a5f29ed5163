/* shards.c - parts of a stack: how frames are dealt, what files say of parts, curves merged, what a merge refuses. */
#include "stack_make.h"
#include <time.h>
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

enum { BINS = 4 };

/* `given`: what is wanted beside the bins, or NULL. */
static hcy_azint_plan *make_plan(double dist, const hcy_azint_options *given)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    poni.dist = dist;
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 1e-4;
    if (given)
        options = *given;
    options.npt = BINS;
    if (hcy_azint_plan_create(&plan, &poni, 8, 8, &options))
        bail_out("no plan: %s", hcy_last_error()->text);
    return plan;
}

/* --- Dealing --- */

/* Do the parts follow one another, whole units each, none longer by more than one? */
static int deals_well(uint64_t first, uint64_t last, uint64_t count, uint64_t unit)
{
    uint64_t next = first, least = UINT64_MAX, most = 0;
    for (uint64_t i = 0; i < count; i++) {
        const hcy_shard part = { i, count, first, last, unit };
        uint64_t a = 0, b = 0, u = unit ? unit : 1;
        if (hcy_shard_frames(&a, &b, &part) || a > b)
            return 0;
        if (a == b)
            continue;
        if (a != next || (a - first) % u || (b != last && (b - first) % u))
            return 0;
        next = b;
        uint64_t units = (b - a + u - 1) / u;
        least = units < least ? units : least;
        most = units > most ? units : most;
    }
    return next == last && (first == last || most - least <= 1);
}

static void test_dealing(void)
{
    int good = 1;
    for (uint64_t frames = 0; frames < 40; frames++)
        for (uint64_t count = 1; count < 12; count++)
            for (uint64_t unit = 0; unit < 6; unit++)
                good &= deals_well(100, 100 + frames, count, unit);
    ok(good, "every frame is dealt once, in units, as evenly as can be");
    const hcy_shard last = { 2, 3, 5, UINT64_MAX, 1 };
    uint64_t a = 0, b = 0;
    ok(!hcy_shard_frames(&a, &b, &last) && b == UINT64_MAX && a > UINT64_MAX / 3 * 2, "as many frames as there can be");
    const hcy_shard none = { 3, 3, 0, 9, 1 }, whole = { 0, 0, 0, 9, 1 };
    is_int(hcy_shard_frames(&a, &b, &none), HCY_EINVAL, "part 3/3 is refused");
    is_int(hcy_shard_frames(&a, &b, &whole), HCY_EINVAL, "what is no part is refused");
}

static void test_checking(void)
{
    hcy_shard parts[] = { { 2, 3, 0, 9, 1 }, { 0, 3, 0, 9, 1 }, { 1, 3, 0, 9, 1 }, { 1, 3, 0, 9, 1 } };
    const char *const names[] = { "a", "b", "c", "d" };
    is_int(hcy_shards_check(parts, names, 3), 0, "all parts, in any order");
    is_int(hcy_shards_check(parts, names, 2), HCY_ENOENT, "a part is missing");
    ok(strstr(hcy_last_error()->text, "1/3 (frames 3 to 5)") != NULL, "... and named: %s", hcy_last_error()->text);
    is_int(hcy_shards_check(parts, names, 4), HCY_EINVAL, "a part is there twice");
    ok(strstr(hcy_last_error()->text, "c and d are both part 1/3") != NULL, "... and named");
    parts[2].last = 10;
    is_int(hcy_shards_check(parts, names, 3), HCY_EINVAL, "parts of two dealings");
    const hcy_shard few[] = { { 0, 5, 0, 2, 1 }, { 1, 5, 0, 2, 1 } };
    is_int(hcy_shards_check(few, names, 2), 0, "parts without frames may be absent");
    const hcy_shard wild = { 0, UINT64_MAX, 0, 2, 1 };
    is_int(hcy_shards_check(&wild, names, 1), HCY_EINVAL, "more parts than there can be");
    const hcy_shard turned = { 0, 1, 2, 0, 1 };
    is_int(hcy_shards_check(&turned, names, 1), HCY_EINVAL, "frames that end before they begin");
    /* Neither memory nor time for as many as a damaged file says. */
    const hcy_shard many = { 2, UINT32_MAX, 0, UINT64_MAX, 1 };
    is_int(hcy_shards_check(&many, names, 1), HCY_ENOENT, "one of 2^32 parts");
    const char *text = hcy_last_error()->text;
    ok(strstr(text, "4294967294 of 4294967295 parts are missing: 0/") && strstr(text, " 1/") && !strstr(text, " 2/") &&
           strstr(text, " 8/") && strstr(text, ") ...; run"),
       "... and eight are named: %s", text);
}

/* --- Merging --- */

static double value(uint64_t frame, size_t bin)
{
    return (double)frame + (double)bin / 8;
}

enum { WHOLE, STOPPED, TWICE }; /* TWICE: the first frame is there twice */

/* Frames first to last - 1, each `step`-th. */
static void write_part(const char *path, const hcy_azint_plan *plan, const hcy_shard *shard, uint64_t first,
                       uint64_t last, uint64_t step, int how)
{
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_azint_result *result = NULL;
    hcy_curves *curves = NULL;
    opts.shard = shard;
    opts.growing = how == STOPPED;
    int st = hcy_azint_result_create(&result, plan);
    if (!st)
        st = hcy_curves_open(&curves, path, plan, &opts);
    if (!st && how == TWICE)
        st = hcy_curves_append(curves, first, NULL, NULL);
    for (uint64_t f = first; !st && f < last; f += step) {
        for (size_t i = 0; i < BINS; i++)
            result->intensity[i] = value(f, i);
        st = hcy_curves_append(curves, f, f % 5 == 4 ? NULL : result, NULL);
    }
    if (!st)
        st = how == STOPPED ? hcy_curves_stop(NULL, 0, curves) : hcy_curves_close(curves);
    if (st)
        bail_out("%s: %s", path, hcy_last_error()->text);
    hcy_azint_result_destroy(result);
}

/* Has the file the curves of frames 0, step ... last - 1? */
static int holds(const char *path, uint64_t last, uint64_t step, uint64_t every)
{
    hcy_results *results = NULL;
    double intensity[BINS];
    if (hcy_results_open(&results, path)) {
        diag("%s", hcy_last_error()->text);
        return 0;
    }
    uint64_t rows = hcy_results_get_info(results)->rows;
    int good = rows == (last + step - 1) / step;
    for (uint64_t row = 0; good && row < rows; row += row + every < rows ? every : 1) {
        uint64_t frame = 0;
        good = !hcy_results_read(&frame, intensity, NULL, results, row) && frame == row * step;
        for (size_t i = 0; good && i < BINS; i++)
            good = frame % 5 == 4 ? isnan(intensity[i]) : intensity[i] == value(frame, i);
        if (!good)
            diag("row %u: frame %u, %g", (unsigned)row, (unsigned)frame, intensity[0]);
    }
    hcy_results_close(results);
    return good;
}

/* Parts of `frames` frames by units of `unit`, merged in an order that is not theirs. */
static void test_merge(const hcy_azint_plan *plan, uint64_t frames, uint64_t unit, uint32_t flags)
{
    static const char *const names[] = { "m2.h5", "m0.h5", "m1 b.h5" };
    static const uint64_t numbers[] = { 2, 0, 1 };
    uint64_t rows = 0;
    for (size_t i = 0; i < 3; i++) {
        const hcy_shard shard = { numbers[i], 3, 0, frames, unit };
        uint64_t first = 0, last = 0;
        if (hcy_shard_frames(&first, &last, &shard))
            bail_out("%s", hcy_last_error()->text);
        write_part(names[i], plan, &shard, first, last, unit, WHOLE);
    }
    is_int(hcy_curves_merge(&rows, "merged.h5", names, 3, flags), 0, "%u frames, %u a curve, %s", (unsigned)frames,
           (unsigned)unit, flags ? "copied" : "virtual");
    is_int((intmax_t)rows, (intmax_t)((frames + unit - 1) / unit), "as many curves as there are");
    ok(holds("merged.h5", frames, unit, 1), "every curve at its place");
    const char *const again[] = { "merged.h5" };
    is_int(hcy_curves_merge(&rows, "again.h5", again, 1, HCY_MERGE_COPY), 0, "a merged file is one that can be merged");
    for (size_t i = 0; i < 3; i++)
        remove(names[i]);
    ok(holds("again.h5", frames, unit, 1), "a copy needs no part");
    if (flags)
        ok(holds("merged.h5", frames, unit, 1), "nor does one of parts");
    else
        is_int(hcy_results_open(&(hcy_results *){ NULL }, "merged.h5"), HCY_ENOENT, "one that is virtual says what it lacks");
}

static void refuses(int status, const char *word, const char *const *parts, size_t n, const char *what)
{
    remove("refused.h5");
    is_int(hcy_curves_merge(NULL, "refused.h5", parts, n, 0), status, "%s", what);
    if (!ok(strstr(hcy_last_error()->text, word) != NULL, "... the message has '%s'", word))
        diag("%s", hcy_last_error()->text);
    FILE *f = fopen("refused.h5", "r");
    ok(!f, "... and nothing is written");
    if (f)
        fclose(f);
}

static void test_refusals(const hcy_azint_plan *plan)
{
    const hcy_shard second = { 1, 2, 0, 8, 1 };
    hcy_azint_plan *other = make_plan(0.2, NULL);
    write_part("a.h5", plan, NULL, 0, 4, 1, WHOLE);
    write_part("b.h5", plan, NULL, 4, 8, 1, WHOLE);
    write_part("far.h5", plan, NULL, 6, 8, 1, WHOLE);
    write_part("near.h5", plan, NULL, 3, 8, 1, WHOLE);
    write_part("other.h5", other, NULL, 4, 8, 1, WHOLE);
    write_part("stopped.h5", plan, &second, 4, 6, 1, STOPPED);
    write_part("short.h5", plan, &second, 4, 7, 1, WHOLE);
    is_int(hcy_curves_merge(NULL, "ab.h5", (const char *const[]){ "b.h5", "a.h5" }, 2, 0), 0, "files of --frames");
    ok(holds("ab.h5", 8, 1, 1), "... every curve at its place");
    refuses(HCY_ENOENT, "frames 4 to 5 are missing", (const char *const[]){ "a.h5", "far.h5" }, 2, "a gap");
    refuses(HCY_EINVAL, "both have frame 3", (const char *const[]){ "a.h5", "near.h5" }, 2, "a frame twice");
    refuses(HCY_EINVAL, "different plans", (const char *const[]){ "a.h5", "other.h5" }, 2, "another plan");
    refuses(HCY_ESTATE, "--shard 1/2", (const char *const[]){ "a.h5", "stopped.h5" }, 2, "a part that was stopped");
    refuses(HCY_ENOENT, "0/2", (const char *const[]){ "short.h5" }, 1, "a part is missing");
    refuses(HCY_EINVAL, "not a part", (const char *const[]){ "a.h5", "short.h5" }, 2, "a part and a file of --frames");
    write_part("twice.h5", plan, NULL, 4, 8, 1, TWICE);
    refuses(HCY_EFORMAT, "does not follow", (const char *const[]){ "a.h5", "twice.h5" }, 2, "a frame twice in one file");
    refuses(HCY_ENOENT, "not.h5", (const char *const[]){ "not.h5" }, 1, "a file that is not there");
    write_part("50%.h5", plan, NULL, 4, 8, 1, WHOLE);
    refuses(HCY_EINVAL, "pattern", (const char *const[]){ "a.h5", "50%.h5" }, 2, "a name that HDF5 takes for a pattern");
    write_part("first.h5", plan, &(const hcy_shard){ 0, 2, 0, 8, 1 }, 0, 4, 1, WHOLE);
    refuses(HCY_EINVAL, "short.h5 has 3 curves", (const char *const[]){ "first.h5", "short.h5" }, 2,
            "a part that lacks a frame");
    is_int(hcy_curves_merge(NULL, "./a.h5", (const char *const[]){ "b.h5", "a.h5" }, 2, 0), HCY_EINVAL, "over a part");
    ok(strstr(hcy_last_error()->text, "a.h5 is one of the parts") && holds("a.h5", 4, 1, 1), "... which stays as it was");
    is_int(hcy_curves_merge(NULL, "a.h5", (const char *const[]){ "b.h5", "a.h5" }, 2, HCY_MERGE_COPY), 0, "... but by a copy");
    ok(holds("a.h5", 8, 1, 1), "... with the rows of both");
    is_int(hcy_curves_merge(NULL, "x.h5", NULL, 0, 0), HCY_EINVAL, "no parts");
    hcy_azint_plan_release(other);
}

enum { MOST_BYTES = 1 << 18, MUTANTS = 400, NEAR = 160 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Where the first of `word` is in a file's bytes. */
static size_t find(const unsigned char *bytes, size_t n, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length + NEAR < n; i++)
        if (!memcmp(bytes + i, word, length))
            return i;
    bail_out("a part has no %s", word);
    return 0;
}

/* Flipped bytes where the texts of variable length are, and where the part is told.  HDF5's own reading of them goes
 * beyond its blocks, so a reader tries the parts first. */
static void test_damaged(const hcy_azint_plan *plan)
{
    static unsigned char bytes[MOST_BYTES], mutant[MOST_BYTES];
    uint64_t state = 88172645463325252u, refused = 0;
    hcy_isolation isolation = HCY_ISOLATION_INIT;
    hcy_shard shard;
    char kind[16];
    write_part("part.h5", plan, &(const hcy_shard){ 1, 2, 0, 8, 1 }, 4, 8, 1, WHOLE);
    is_int(hcy_isolation_set(&isolation), 0, "from here on parts are tried in a reader");
    is_int(hcy_shard_read(&shard, kind, "part.h5"), 0, "a part");
    ok(!strcmp(kind, "curves") && shard.number == 1 && shard.count == 2, "... says which, and of what");
    FILE *f = fopen("part.h5", "rb");
    const size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    const size_t at[] = { find(bytes, n, "GCOL"), find(bytes, n, "halcyon_kind") };
    int told = 1;
    /* Some keep HDF5 busy without end. */
    isolation.seconds = 1;
    if (hcy_isolation_set(&isolation))
        bail_out("%s", hcy_last_error()->text);
    for (int i = 0; i < MUTANTS; i++) {
        memcpy(mutant, bytes, n);
        for (int flip = 0; flip < 3; flip++) {
            const uint64_t r = next_random(&state);
            mutant[at[r >> 63] + (r >> 8) % NEAR] ^= (unsigned char)(r >> 32);
        }
        f = fopen("mutant.h5", "wb");
        if (!f || fwrite(mutant, 1, n, f) != n || fclose(f))
            bail_out("mutant.h5 cannot be written");
        const int st = hcy_shard_read(&shard, kind, "mutant.h5");
        refused += st != 0;
        told &= memchr(kind, 0, sizeof kind) != NULL && (!st || strstr(hcy_last_error()->text, "mutant.h5"));
    }
    ok(told, "of %d damaged parts each is read or refused by name", MUTANTS);
    ok(refused && refused < MUTANTS, "... %u refused", (unsigned)refused);
    isolation.files = HCY_ISOLATE_NONE;
    is_int(hcy_isolation_set(&isolation), 0, "from here on nothing is isolated");
}

#ifdef HAVE_HDF5
/* A part of one frame, that has no pixels. */
static void write_sparse_part(const char *path, const hcy_azint_plan *plan, uint64_t number)
{
    static float radius[64];
    const hcy_shard shard = { number, 2, 0, 2, 1 };
    hcy_sparse_options opts = HCY_SPARSE_OPTIONS_INIT;
    hcy_sparse_file *file = NULL;
    opts.pixel_type = HCY_PIXEL_U16;
    opts.radius = radius;
    opts.shard = &shard;
    if (hcy_sparse_create(&file, path, plan, &opts) || hcy_sparse_append(file, NULL, NULL) || hcy_sparse_close(file, 1))
        bail_out("%s: %s", path, hcy_last_error()->text);
}

/* A file then says that it has pixels which it does not store. */
static void claim_pixels(const char *path, uint64_t n)
{
    static const char *const columns[] = { "index", "intensity" };
    const uint64_t pointers[] = { 0, n };
    const hsize_t size = n;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t group = H5Gopen2(file, "/entry_0000/sparse_frames", H5P_DEFAULT);
    hid_t data = H5Dopen2(group, "frame_ptr", H5P_DEFAULT);
    herr_t done = H5Dwrite(data, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers);
    H5Dclose(data);
    for (size_t i = 0; i < 2 && done >= 0; i++) {
        data = H5Dopen2(group, columns[i], H5P_DEFAULT);
        done = H5Dset_extent(data, &size);
        H5Dclose(data);
    }
    H5Gclose(group);
    if (H5Fclose(file) < 0 || done < 0)
        bail_out("%s cannot be changed", path);
}

/* Pixels of each kind, darks of 2.5, -1.5 and 100 taken off them, and the bytes of the file's floating-point type. */
static const struct bare {
    const char *name;
    uint32_t type;
    size_t bytes;
    int64_t counted[3];
    double bare[3];
} bares[] = { { "uint8", HCY_PIXEL_U8, 4, { 10, 255, 5 }, { 7.5, 256.5, -95 } },
              { "uint16", HCY_PIXEL_U16, 4, { 10, 65535, 5 }, { 7.5, 65536.5, -95 } },
              { "int16", HCY_PIXEL_I16, 4, { 10, 32767, -32700 }, { 7.5, 32768.5, -32800 } },
              { "uint32", HCY_PIXEL_U32, 8, { 10, 8, 4294967295 }, { 7.5, 9.5, 4294967195 } },
              { "int64", HCY_PIXEL_I64, 8, { 10, INT64_MAX, INT64_MIN }, { 7.5, 0x1p63, -0x1p63 } },
              { "uint64", HCY_PIXEL_U64, 8, { 10, -1, -1 }, { 7.5, 0x1p64, 0x1p64 } } };

/* Three values of a floating-point type of so many bytes; 0: they are not that. */
static int read_intensity(double values[3], size_t bytes)
{
    hid_t file = H5Fopen("bare.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t data = H5Dopen2(file, "/entry_0000/sparse_frames/intensity", H5P_DEFAULT);
    hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    const int as_told = H5Tget_class(type) == H5T_FLOAT && H5Tget_size(type) == bytes &&
                        H5Sget_simple_extent_npoints(space) == 3;
    herr_t done = as_told ? H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) : -1;
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(data);
    H5Fclose(file);
    return done >= 0;
}

/* A file of one frame; `before`, if any, is refused and leaves no trace in it. */
static int write_bare(const hcy_azint_plan *plan, uint32_t type, const hcy_sparse *before, const hcy_sparse *sparse)
{
    static const float radius[64];
    hcy_sparse_options opts = HCY_SPARSE_OPTIONS_INIT;
    hcy_sparse_file *file = NULL;
    opts.pixel_type = type;
    opts.radius = radius;
    int st = hcy_sparse_create(&file, "bare.h5", plan, &opts);
    if (!st && before)
        is_int(hcy_sparse_append(file, NULL, before), HCY_EINVAL, "a pixel that the detector has not is none");
    if (!st)
        st = hcy_sparse_append(file, NULL, sparse);
    int closed = hcy_sparse_close(file, !st);
    return st ? st : closed;
}

static void test_dark(void)
{
    static const uint32_t index[] = { 3, 17, 63 }, beyond[] = { 3, 17, 64 };
    const double counted[] = { 10, 0.5, -1e30 };
    float dark[64] = { [3] = 2.5f, [17] = -1.5f, [63] = 100 };
    double found[3] = { 0 };
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    options.dark = dark;
    hcy_azint_plan *plan = make_plan(0.1, &options);
    for (size_t i = 0; i < sizeof bares / sizeof bares[0]; i++) {
        const struct bare *b = &bares[i];
        const hcy_sparse sparse = { 3, index, b->counted, NULL };
        is_int(write_bare(plan, b->type, NULL, &sparse), 0, "%s without darks", b->name);
        ok(read_intensity(found, b->bytes) && !memcmp(found, b->bare, sizeof found), "... as float%zu", 8 * b->bytes);
    }
    const hcy_sparse none = { 3, beyond, NULL, counted }, sparse = { 3, index, NULL, counted };
    is_int(write_bare(plan, HCY_PIXEL_F64, &none, &sparse), 0, "float64 without darks");
    ok(read_intensity(found, 8) && found[0] == 7.5 && found[1] == 2 && found[2] == -1e30, "... exactly");
    hcy_azint_plan_release(plan);
}

static void test_sparse(const hcy_azint_plan *plan)
{
    const char *const parts[] = { "s0.h5", "s1.h5" };
    uint64_t frames = 0, failed = 0;
    for (uint64_t i = 0; i < 2; i++)
        write_sparse_part(parts[i], plan, i);
    is_int(hcy_sparse_merge(&frames, &failed, "sparse.h5", parts, 2), 0, "sparse frames are merged");
    is_int((intmax_t)frames, 2, "... both");
    is_int((intmax_t)failed, 2, "... neither of which has a background");
    claim_pixels(parts[1], 1 << 24); /* not more: who believes it writes them all */
    is_int(hcy_sparse_merge(NULL, NULL, "sparse.h5", parts, 2), HCY_ECORRUPT, "pixels that are not stored are not merged");
    ok(strstr(hcy_last_error()->text, "s1.h5") != NULL, "... the file is named: %s", hcy_last_error()->text);
    test_dark();
}
#else
static void test_sparse(const hcy_azint_plan *plan)
{
    (void)plan;
}
#endif

/* Time of this process: other programs on the machine do not count. */
static double merge_seconds(const char *const *names, size_t n)
{
    clock_t start = clock();
    int st = hcy_curves_merge(NULL, "large.h5", names, n, 0);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    is_int(st, 0, "%zu large parts are merged", n);
    return seconds;
}

static void test_large(const hcy_azint_plan *plan)
{
    static const char *const names[] = { "l0.h5", "l1.h5", "l2.h5", "l3.h5" };
    const uint64_t frames = 1000000;
    for (uint64_t i = 0; i < 4; i++)
        write_part(names[i], plan, &(const hcy_shard){ i, 4, 0, frames, 1 }, i * frames / 4, (i + 1) * frames / 4, 1,
                   WHOLE);
    double seconds = merge_seconds(names, 4);
    ok(seconds < 2, "10^6 curves are merged within 2 s of processor time");
    diag("%.3f s", seconds);
    ok(holds("large.h5", frames, 1, 99991), "... every curve at its place");
    for (size_t i = 0; i < 4; i++)
        remove(names[i]);
}

int main(void)
{
    test_dealing();
    test_checking();
    hcy_shard shard;
    char kind[16];
    if (hcy_shard_read(&shard, kind, "none.h5") == HCY_EUNSUPPORTED) {
        ok(1, "the rest # SKIP built without HDF5");
        return done_testing();
    }
    make_folder();
    if (chdir(folder))
        bail_out("%s cannot be entered", folder);
    hcy_azint_plan *plan = make_plan(0.1, NULL);
    test_merge(plan, 100, 1, 0);
    test_merge(plan, 103, 4, HCY_MERGE_COPY);
    test_merge(plan, 5000, 1, HCY_MERGE_COPY);
    test_refusals(plan);
    test_damaged(plan);
    test_sparse(plan);
    test_large(plan);
    hcy_azint_plan_release(plan);
    return done_testing();
}
