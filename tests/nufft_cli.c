/* nufft_cli - halcyon nufft and the arrays it reads: every option against direct sums; arrays in NumPy and
 * HDF5 files there and back; files that are none. HALCYON is the command. */
#include "nufft_oracle.h"
#include "tap.h"
#include <halcyon/host_array.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/halcyon-nufft-XXXXXX";
static const int64_t modes[3] = { 9, 12, 5 };
#ifdef HAVE_HDF5
static const bool hdf5 = true;
#else
static const bool hdf5 = false;
#endif

static const char *at(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

/* Exit status of the command with these words, -1 if it did not run; its words go to a file. */
static int command(const char *words)
{
    char line[1024];
    snprintf(line, sizeof line, "cd %s && \"$HALCYON\" nufft %s > out 2> err", dir, words);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool said(const char *text)
{
    char line[1024] = "";
    bool found = false;
    FILE *f = fopen(at("err"), "r");
    while (f && fgets(line, sizeof line, f))
        found = found || strstr(line, text);
    if (f)
        fclose(f);
    return found;
}

static hcy_host_array array_of(void *data, unsigned bytes, int is_complex, int rank, uint64_t n0, uint64_t n1,
                          uint64_t n2)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    a.data = data;
    a.bytes = bytes;
    a.is_complex = is_complex;
    a.rank = rank;
    a.shape[0] = n0, a.shape[1] = n1, a.shape[2] = n2;
    return a;
}

/* --- Arrays --- */

static void check_array(const char *name, unsigned bytes, int is_complex, int rank)
{
    double data[2 * 24];
    hcy_host_array a = array_of(data, bytes, is_complex, rank, rank ? 2 : 0, 3, 4), b = HCY_HOST_ARRAY_INIT;
    size_t n;
    for (int i = 0; i < 48; i++) {
        float single = (float)(i * 1.25);
        if (bytes == 8)
            data[i] = i * 1.25;
        else
            memcpy((char *)data + 4 * i, &single, 4);
    }
    is_int(hcy_host_array_write(&a, at(name)), 0, "%s: rank %d, %u bytes%s, written", name, rank, bytes,
           is_complex ? ", complex" : "");
    is_int(hcy_host_array_read(&b, at(name)), 0, "... read");
    bool same = b.rank == rank && b.bytes == bytes && b.is_complex == is_complex &&
                !hcy_host_array_count(&n, &b) &&
                n == (rank == 0   ? 1
                      : rank == 1 ? 2
                      : rank == 2 ? 6
                                  : 24) &&
                !memcmp(a.shape, b.shape, 8 * (size_t)rank) && b.data &&
                !memcmp(b.data, data, n * bytes * (is_complex ? 2 : 1));
    ok(same, "... and the same");
    hcy_host_array_free(&b);
    hcy_host_array_free(&b);
}

static const char head[] = "\x93NUMPY\x01\0\x76\0{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }";

/* A header and some bytes behind it. */
static void put_npy(const char *descr, const char *order, const char *shape, const void *data, size_t size)
{
    char bytes[128];
    memcpy(bytes, head, 10);
    int n = snprintf(bytes + 10, 118, head + 10, descr, order, shape);
    memset(bytes + 10 + n, ' ', (size_t)(118 - n));
    FILE *f = fopen(at("head.npy"), "wb");
    if (!f || fwrite(bytes, sizeof bytes, 1, f) != 1 || fwrite(data, size, 1, f) != 1 || fclose(f))
        bail_out("%s cannot be written", at("head.npy"));
}

/* What NumPy writes of a transposed array, of integers, of both. */
static void check_orders(void)
{
    static const float floats[6] = { 0, 10, 1, 11, 2, 12 };
    static const int64_t wholes[6] = { 0, 10, 1, 11, 2, 12 };
    static const uint8_t bytes[6] = { 0, 1, 2, 10, 11, 12 };
    static const int16_t cube[12] = { 0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121 };
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    put_npy("<f4", "True", "2, 3", floats, sizeof floats);
    bool good = !hcy_host_array_read(&a, at("head.npy")) && a.bytes == 4;
    for (int i = 0; i < 6; i++)
        good = good && ((float *)a.data)[i] == (float)(i / 3 * 10 + i % 3);
    ok(good, "an array in Fortran order");
    hcy_host_array_free(&a);
    for (int k = 0; k < 2; k++) {
        if (k)
            put_npy("|u1", "False", "2, 3", bytes, sizeof bytes);
        else
            put_npy("<i8", "True", "2, 3", wholes, sizeof wholes);
        good = !hcy_host_array_read(&a, at("head.npy")) && a.bytes == 8 && !a.is_complex;
        for (int i = 0; i < 6; i++)
            good = good && ((double *)a.data)[i] == i / 3 * 10 + i % 3;
        ok(good, "integers, %s", k ? "bytes" : "in Fortran order");
        hcy_host_array_free(&a);
    }
    put_npy("<i2", "True", "2, 3, 2", cube, sizeof cube);
    good = !hcy_host_array_read(&a, at("head.npy")) && a.rank == 3;
    for (int i = 0; i < 12; i++)
        good = good && ((double *)a.data)[i] == i / 6 * 100 + i / 2 % 3 * 10 + i % 2;
    ok(good, "three axes of them");
    hcy_host_array_free(&a);
}

static void check_wrong_files(void)
{
    static const struct {
        const char *descr, *order, *shape;
        int status;
    } cases[] = { { "<f8", "False", "1,", 0 },
                  { "<f8", "False", "9,", HCY_ECORRUPT },
                  { "<i4", "False", "1,", 0 },
                  { "<i3", "False", "1,", HCY_EFORMAT },
                  { "|O", "False", "1,", HCY_EFORMAT },
                  { ">f8", "False", "1,", HCY_EFORMAT },
                  { "<f2", "False", "1,", HCY_EFORMAT },
                  { "<c8", "False", "1,", 0 },
                  { "<c32", "False", "1,", HCY_EFORMAT },
                  { "<f8", "True", "1, 1", 0 },
                  { "<f8", "True", "1, 2", HCY_ECORRUPT },
                  { "<f8", "False", "9999999999999999, 9999999999999999", HCY_ERANGE } };
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_npy(cases[i].descr, cases[i].order, cases[i].shape, "12345678", 8);
        is_int(hcy_host_array_read(&a, at("head.npy")), cases[i].status, "a header with %s, %s, %s",
               cases[i].descr, cases[i].order, cases[i].shape);
        hcy_host_array_free(&a);
    }
    is_int(hcy_host_array_read(&a, at("nothing.npy")), HCY_ENOENT, "a file that is not there");
    is_int(hcy_host_array_read(NULL, at("head.npy")), HCY_EINVAL, "no array");
    a = (hcy_host_array)HCY_HOST_ARRAY_INIT;
    is_int(hcy_host_array_write(&a, at("no/folder.npy")), HCY_EIO, "a folder that is not there");
    a.size = 0;
    is_int(hcy_host_array_read(&a, at("head.npy")), HCY_EINVAL, "an array of no size");
    a = (hcy_host_array)HCY_HOST_ARRAY_INIT;
    if (hdf5) {
        is_int(hcy_host_array_read(&a, at("head.npy.h5")), HCY_ENOENT, "an HDF5 file that is not there");
        is_int(hcy_host_array_read(&a, at("array.h5:/nothing")), HCY_ENOENT, "no such dataset");
        check_array("array.h5:/another", 4, 0, 2);
        check_array("array.h5:/another", 8, 1, 1);
        is_int(hcy_host_array_read(&a, at("array.h5")), 0, "a file keeps what else is in it");
        hcy_host_array_free(&a);
    } else {
        is_int(hcy_host_array_read(&a, at("array.h5")), HCY_EUNSUPPORTED, "HDF5");
    }
}

/* --- The command --- */

/* Points [m][dim], targets, strengths and modes of a problem to files. */
static void save(const struct problem *p)
{
    struct {
        void *const *axes;
        size_t n;
        const char *name;
    } ends[2] = { { p->x, p->m, "x.npy" }, { p->s, p->type == 3 ? p->n : 0, "s.npy" } };
    int status = 0;
    for (int e = 0; e < 2; e++) {
        char *rows = malloc(ends[e].n * (size_t)p->dim * p->real + 1);
        for (size_t i = 0; i < ends[e].n; i++)
            for (int d = 0; d < p->dim; d++)
                memcpy(rows + (i * (size_t)p->dim + (size_t)d) * p->real,
                       (char *)ends[e].axes[d] + i * p->real, p->real);
        hcy_host_array a =
            array_of(rows, (unsigned)p->real, 0, p->dim == 1 ? 1 : 2, ends[e].n, (uint64_t)p->dim, 0);
        status = status ? status : hcy_host_array_write(&a, at(ends[e].name));
        free(rows);
    }
    hcy_host_array c = array_of(p->c, (unsigned)p->real, 1, p->n_vectors > 1 ? 2 : 1,
                           p->n_vectors > 1 ? (uint64_t)p->n_vectors : p->m, p->m, 0);
    hcy_host_array f = array_of(p->f, (unsigned)p->real, 1, p->dim, (uint64_t)p->modes[0], (uint64_t)p->modes[1],
                           (uint64_t)p->modes[2]);
    if (p->n_vectors > 1) {
        f.rank = p->dim + 1;
        f.shape[0] = (uint64_t)p->n_vectors;
        for (int d = 0; d < p->dim; d++)
            f.shape[1 + d] = (uint64_t)p->modes[d];
    }
    status = status ? status : hcy_host_array_write(&c, at("c.npy"));
    status = status ? status : p->type == 3 ? 0 : hcy_host_array_write(&f, at("f.npy"));
    if (status)
        bail_out("%s", hcy_last_error()->text);
}

/* Runs the command on a problem; the error of what it wrote to `out`. */
static double run(struct problem *p, const char *words, const char *out)
{
    hcy_host_array result = HCY_HOST_ARRAY_INIT;
    bool to_modes = p->type != 2;
    int status = command(words);
    if (status || hcy_host_array_read(&result, at(out))) {
        diag("nufft %s: %d", words, status);
        return INFINITY;
    }
    size_t n, want = (to_modes ? p->n : p->m) * (size_t)p->n_vectors;
    bool fits = !hcy_host_array_count(&n, &result) && n == want && result.bytes == p->real && result.is_complex &&
                result.rank == (p->type == 1 ? p->dim : 1) + (p->n_vectors > 1);
    if (fits)
        memcpy(to_modes ? p->f : p->c, result.data, n * 2 * p->real);
    hcy_host_array_free(&result);
    return fits ? oracle_error(p, to_modes ? p->c : p->f, to_modes) : INFINITY;
}

static void check_types(void)
{
    static const char *const sizes[] = { "9", "9,12", "9,12,5" };
    char words[256];
    for (int type = 1; type <= 3; type++)
        for (int dim = 1; dim <= 3; dim++) {
            struct problem p;
            oracle_open(&p, dim == 2 ? HCY_F32 : HCY_F64, type, dim, modes, 40, type == 3 ? 30 : 0,
                        dim == 3 ? 2 : 1);
            save(&p);
            p.sign = type == 2 ? -1 : 1;
            snprintf(words, sizeof words, "--type %d --points x.npy --in %s --out y.npy --eps 1e-4 %s%s",
                     type, type == 2 ? "f.npy" : "c.npy",
                     type == 1   ? "--modes "
                     : type == 3 ? "--targets s.npy"
                                 : "",
                     type == 1 ? sizes[dim - 1] : "");
            double error = run(&p, words, "y.npy");
            ok(error <= 4e-4, "type %d, %d-D, its sign by default: error %.1e", type, dim, error);
            p.sign = -p.sign;
            snprintf(words + strlen(words), 64, " --sign %d", p.sign);
            error = run(&p, words, "y.npy");
            ok(error <= 4e-4, "... the other sign: %.1e", error);
            oracle_close(&p);
        }
}

static void check_options(void)
{
    struct problem p;
    oracle_open(&p, HCY_F64, 1, 2, modes, 50, 0, 1);
    p.sign = 1;
    save(&p);
#define COMMON "-t 1 -p x.npy -i c.npy -n 9,12 -o y.npy "
#define GRID "--method grid "
    double coarse = run(&p, COMMON GRID "-e 1e-2", "y.npy"), fine = run(&p, COMMON GRID "-e 1e-11", "y.npy");
    double middle = run(&p, COMMON GRID, "y.npy");
    ok(said("grid"), "--method grid");
    ok(coarse > 1e-4 && fine < 1e-10 && middle < 3e-6 && middle > 1e-9,
       "--eps: errors %.1e, %.1e, by default %.1e", coarse, fine, middle);
    ok(said("type 1 in 2-D") && said("50 points"), "there is a summary");
    double direct = run(&p, COMMON "--method direct", "y.npy");
    ok(direct < 1e-14 && said("the sum itself"), "--method direct: %.1e", direct);
    ok(run(&p, COMMON "--method auto", "y.npy") == direct, "--method auto");
    is_int(command(COMMON "--method other"), 2, "--method other");
    is_int(command(COMMON "-q"), 0, "--quiet");
    ok(!said("type 1"), "... has none");
    is_int(command(COMMON "--check"), 0, "--check");
    ok(said("error against the direct sum"), "... says what it found");
    is_int(remove(at("y.npy")), 0, "... and writes the result");
    for (size_t i = 0; i < p.m; i++)
        ((double *)p.x[0])[i] += 1e9;
    save(&p);
    is_int(command(COMMON GRID "-e 1e-12 --check"), 1, "--check where points are too far away for eps");
    ok(said("above 10 eps: y.npy is not written") && access(at("y.npy"), F_OK), "... says so");
    is_int(command(COMMON GRID "-e 1e-12"), 0, "... which is done without");
    for (size_t i = 0; i < p.m; i++)
        ((double *)p.x[0])[i] -= 1e9;
    save(&p);
    is_int(command(COMMON "-d cpu@threads=1"), 0, "--device");
    ok(said("cpu@threads=1"), "... is used");
    is_int(command(COMMON "-d nothing"), 1, "... and refused if it is not there");
    is_int(command("-t 1 -p x.npy -i c.npy -n 9,12 -o c.npy"), 1, "the input is no output");
    ok(run(&p, COMMON, "y.npy") < 3e-6, "... and is left as it was");
    is_int(command("-t 1 -p x.npy -i c.npy -n 9,12 -o no/folder.npy"), 1, "no output where there is no folder");
    is_int(command(COMMON "--sign 0"), 2, "a sign that is none");
    is_int(command("-t 1 -p x.npy -i c.npy -n 9,99999999999999999999 -o y.npy"), 2, "modes beyond 64 bits");
    if (hdf5) {
        ok(run(&p, "-t 1 -p x.npy -i c.npy -n 9,12 -o y.h5:/a/b", "y.h5:/a/b") < 3e-6, "HDF5");
        is_int(command("-t 2 -p x.npy -i y.h5:/a/b -o ./y.h5:a/./b"), 1, "the input's dataset is no output");
        is_int(command("-t 2 -p x.npy -i y.h5:/a/b -o y.h5://a"), 1, "... nor its group");
        ok(said("write over it"), "... which is said");
        is_int(command("-t 2 -p x.npy -i y.h5:/a/b -o y.h5:/a/bc"), 0, "another dataset beside it is");
    } else {
        skip(5, "no HDF5");
    }
    oracle_close(&p);
}

/* Points and strengths of two axes, as spokes and samples; BART's files, which are complex; coordinates in FINUFFT's
 * order. */
static void check_shapes(void)
{
#define SPOKES "-n 9,12 -o y.npy --method direct "
    struct problem p;
    hcy_host_array result = HCY_HOST_ARRAY_INIT;
    oracle_open(&p, HCY_F32, 1, 2, modes, 50, 0, 2);
    p.sign = 1;
    save(&p);
    double plain = run(&p, "-t 1 -p x.npy -i c.npy " SPOKES, "y.npy");
    float *rows = malloc(2 * p.m * sizeof *rows);
    for (size_t i = 0; i < 2 * p.m; i++)
        rows[i] = (float)oracle_get(&p, p.x[i % 2], i / 2);
    hcy_host_array x = array_of(rows, 4, 0, 3, 5, 10, 2), c = array_of(p.c, 4, 1, 3, 2, 5, 10);
    is_int(hcy_host_array_write(&x, at("spokes.cfl")) || hcy_host_array_write(&c, at("c.cfl")), 0, "points of spokes as .cfl, complex without imaginary parts");
    ok(plain < 1e-5 && run(&p, "-t 1 --unit radians -p spokes.cfl -i c.cfl " SPOKES, "y.npy") == plain, "... are points: %.1e", plain);
    is_int(command("-t 2 --unit radians -p spokes.cfl -i y.npy -o c2.npy"), 0, "... to strengths");
    ok(!hcy_host_array_read(&result, at("c2.npy")) && result.rank == 3 && !memcmp(result.shape, c.shape, sizeof c.shape),
       "... of the points' axes");
    hcy_host_array_free(&result);
    is_int(link(at("c.hdr"), at("z.hdr")), 0, "a .hdr that is the input's, beside a .cfl that is not there");
    is_int(command("-t 1 --unit radians -p spokes.cfl -i c.cfl -n 9,12 -o z.cfl"), 1, "... is not written over");
    ok(said("z.hdr is read") && access(at("z.cfl"), F_OK), "... which is said");
    is_int(mkdir(at("folder.hdr"), 0700), 0, "a folder where the .hdr belongs");
    is_int(command("-t 1 --unit radians -p spokes.cfl -i c.cfl -n 9,12 -o folder.cfl"), 1, "... is refused");
    ok(said("folder.hdr is a directory") && access(at("folder.cfl"), F_OK), "... before anything is written");
    c.shape[1] = 7;
    c.shape[2] = 7;
    is_int(hcy_host_array_write(&c, at("few.npy")), 0, "strengths for other spokes");
    is_int(command("-t 1 --unit radians -p spokes.cfl -i few.npy " SPOKES), 1, "... are refused");
    ok(said("must be [50] or [vectors][50]; it is [2][7][7]"), "... which is said");
    c.shape[0] = 0;
    is_int(hcy_host_array_write(&c, at("few.npy")), 0, "strengths of no vector");
    is_int(command("-t 1 --unit radians -p spokes.cfl -i few.npy " SPOKES), 1, "... are refused");
    ok(said("no numbers in it; it is [0][7][7]"), "... which is said");
    is_int(command("-t 1 --unit radians --planar -p spokes.cfl -i c.cfl " SPOKES), 1, "spokes in another order are refused");
    ok(said("it is [5][10][2]; leave --planar"), "... for that alone");
    for (size_t i = 0; i < 2 * p.m; i++)
        rows[i] = (float)oracle_get(&p, p.x[1 - i % 2], i / 2);
    is_int(hcy_host_array_write(&x, at("xyz.npy")), 0, "coordinates of the last axis first");
    ok(run(&p, "-t 1 -p xyz.npy -i c.npy --xyz " SPOKES, "y.npy") == plain, "--xyz");
    x.is_complex = 1;
    x.rank = 2;
    x.shape[0] = 25;
    x.shape[1] = 2;
    is_int(hcy_host_array_write(&x, at("complex.npy")), 0, "complex points");
    is_int(command("-t 1 -p complex.npy -i c.npy " SPOKES), 1, "... are refused");
    ok(said("must be real"), "... which is said");
    free(rows);
    oracle_close(&p);
}

/* BART's trajectories are in 1/FOV, x first, with a third coordinate also in 2-D; weights; units that look wrong. */
static void check_units(void)
{
    struct problem p;
    oracle_open(&p, HCY_F32, 1, 2, modes, 50, 0, 1);
    p.sign = 1;
    save(&p);
    float xyz[3 * 50], few[50];
    double weights[50];
    for (size_t i = 0; i < 50; i++) {
        for (int d = 0; d < 2; d++) {
            double turns = oracle_get(&p, p.x[d], i) / 6.283185307179586476925;
            xyz[3 * i + 1 - (size_t)d] = (float)(turns * (double)modes[d]);
        }
        xyz[3 * i + 2] = 0;
        weights[i] = i % 2 ? 0.25 : 4;
        few[i] = (float)(0.01 * (double)i);
    }
    hcy_host_array x = array_of(xyz, 4, 0, 3, 5, 10, 3), c = array_of(p.c, 4, 1, 1, 50, 0, 0),
                   w = array_of(weights, 8, 0, 2, 5, 10, 0), one = array_of(few, 4, 0, 1, 50, 0, 0);
    is_int(hcy_host_array_write(&x, at("bart.cfl")) || hcy_host_array_write(&x, at("bart.npy")), 0, "BART's coordinates");
    double off = run(&p, "-t 1 -p bart.cfl -i c.npy -n 9,12 -o y.npy --method direct", "y.npy");
    ok(off < 1e-5, "... are right for two sizes: %.1e", off);
    ok(said("BART's, x first, in units of 1/FOV"), "... which is said");
    off = run(&p, "-t 1 -p bart.cfl --unit fov -i c.npy -n 9,12 -o y.npy --method direct", "y.npy");
    ok(off < 1e-5, "... and x first where their unit is said, too: %.1e", off);
    off = run(&p, "-t 1 -p bart.npy --unit fov --xyz -i c.npy -n 9,12 -o y.npy --method direct", "y.npy");
    ok(off < 1e-5 && !said("BART"), "--unit fov says so of other files: %.1e", off);
    is_int(command("-t 2 -p bart.cfl -i y.npy -o c2.npy -q"), 0, "... and modes of two axes, in the file");
    ok(!said("BART"), "... without a word");
    xyz[3 * 49 + 2] = 1;
    is_int(hcy_host_array_write(&x, at("bart.cfl")), 0, "a third coordinate that is not 0 everywhere");
    is_int(command("-t 1 -p bart.cfl -i c.npy -n 9,12 -o y.npy"), 2, "... wants three sizes");
    is_int(command("-t 3 -p x.npy -i c.npy --targets x.npy --unit fov -o y.npy"), 2, "1/FOV without sizes");
    /* Four and a quarter leave floats exact. */
    for (size_t i = 0; i < 100; i++)
        ((float *)p.c)[i] /= (float)weights[i / 2];
    is_int(hcy_host_array_write(&w, at("w.npy")) || hcy_host_array_write(&c, at("weighed.npy")), 0, "weights");
    for (size_t i = 0; i < 100; i++)
        ((float *)p.c)[i] *= (float)weights[i / 2];
    off = run(&p, "-t 1 -p x.npy -i weighed.npy --weights w.npy -n 9,12 -e 1e-5 -o y.npy", "y.npy");
    ok(off < 5e-5, "... are factors of strengths: %.1e", off);
    is_int(command("-t 1 -p x.npy -i c.npy --weights x.npy -n 9,12 -o y.npy"), 1, "... are one a point");
    ok(said("weights must be 50 real numbers, one for each point; it is [50][2]"), "... which is said");
    weights[7] = NAN;
    is_int(hcy_host_array_write(&w, at("nan.npy")), 0, "a weight that is no number");
    is_int(command("-t 1 -p x.npy -i c.npy --weights nan.npy -n 9,12 -o y.npy"), 1, "... is refused");
    ok(said("nan.npy: weight 7 is nan"), "... by its place");
    is_int(command("-t 2 -p x.npy -i y.npy --weights w.npy -o c2.npy"), 2, "... are for strengths that are read");
    is_int(hcy_host_array_write(&one, at("few.npy")), 0, "coordinates up to 0.5");
    is_int(command("-t 1 -p few.npy -i c.npy -n 9 -o y.npy"), 0, "... are radians");
    ok(said("if they are cycles, --unit cycles says so"), "... with a hint");
    is_int(command("-t 1 -p few.npy -i c.npy -n 9 -o y.npy --cycles"), 0, "... or cycles");
    is_int(command("-t 1 -p few.npy -i c.npy -n 9 -o y.npy --cycles --unit fov"), 2, "... of which there is one");
    ok(!said("if they are"), "... without one");
    for (size_t i = 0; i < 50; i++)
        few[i] = (float)(i * 7.2);
    is_int(hcy_host_array_write(&one, at("few.npy")), 0, "degrees");
    is_int(command("-t 1 -p few.npy -i c.npy -n 9 -o y.npy"), 0, "... are radians");
    ok(said("degrees have to be converted"), "... with a hint");
    is_int(command("-t 3 -p few.npy -i c.npy --targets few.npy -o y.npy"), 0, "... of any range without sizes");
    ok(!said("--unit fov"), "... and without a unit that is refused there");
    oracle_close(&p);
}

/* The same points in other files: an axis after the other, in an archive, in cycles; floats computed in double. */
static void check_files(void)
{
#define PLANAR "-t 1 -p x.npz -i c.npy -n 9,12 -o y.npy --method direct "
    struct problem p;
    hcy_host_array result = HCY_HOST_ARRAY_INIT;
    oracle_open(&p, HCY_F64, 1, 2, modes, 50, 0, 1);
    p.sign = 1;
    save(&p);
    double plain = run(&p, COMMON "--method direct", "y.npy"), *axes = malloc(2 * p.m * sizeof *axes);
    for (size_t i = 0; i < 2 * p.m; i++)
        axes[i] = oracle_get(&p, p.x[i / p.m], i % p.m);
    hcy_host_array a = array_of(axes, 8, 0, 2, 2, p.m, 0);
    is_int(hcy_host_array_write(&a, at("x.npz")), 0, "points as .npz, [axes][n]");
    ok(run(&p, PLANAR "--planar", "y.npy") == plain, "--planar");
    is_int(command(PLANAR), 1, "... is needed for such points");
    ok(said("give --planar"), "... which is said");
    is_int(command(COMMON "--planar"), 1, "... and for no others");
    ok(said("leave --planar"), "... which is said");
    is_int(command("-t 1 -p x.npz:arr_0 -i c.npy -n 9,12 -o y.npy --planar"), 0, ".npz: its array by name");
    is_int(command("-t 1 -p x.npz:other -i c.npy -n 9,12 -o y.npy --planar"), 1, ".npz: one that it has not");
    ok(said("no array 'other'; it has arr_0"), "... which is said");
    is_int(command("-t 1 -p x.npz -i c.npy -n 9,12 -o x.npz --planar"), 1, ".npz: the input is no output");
    for (size_t i = 0; i < 2 * p.m; i++)
        axes[i] /= 6.283185307179586476925;
    is_int(hcy_host_array_write(&a, at("x.npz")), 0, "points in cycles");
    double cycles = run(&p, PLANAR "--planar --cycles", "y.npy");
    ok(cycles < 1e-12, "--cycles: %.1e", cycles);
    free(axes);
    oracle_close(&p);
    oracle_open(&p, HCY_F32, 1, 2, modes, 50, 0, 1);
    save(&p);
    is_int(command(COMMON "--double"), 0, "--double of floats");
    ok(!hcy_host_array_read(&result, at("y.npy")) && result.bytes == 8, "... gives doubles");
    hcy_host_array_free(&result);
    is_int(command(COMMON), 0, "without it");
    ok(!hcy_host_array_read(&result, at("y.npy")) && result.bytes == 4, "... floats");
    hcy_host_array_free(&result);
    oracle_close(&p);
}

/* Enough points in one place that threads add to it in another order each time, unless they may not. */
static void check_deterministic(void)
{
    static const int64_t many[1] = { 30000 };
    struct problem p;
    oracle_open(&p, HCY_F32, 1, 1, many, 400000, 0, 1);
    for (size_t i = 0; i < p.m; i++)
        oracle_put(&p, p.x[0], i, 0.01 * oracle_get(&p, p.x[0], i));
    save(&p);
#define FIXED "-t 1 -p x.npy -i c.npy -n 30000 -o y.npy --deterministic "
    is_int(command(FIXED "-d cpu@threads=1"), 0, "--deterministic");
    is_int(rename(at("y.npy"), at("z.npy")), 0, "... kept");
    char line[512];
    snprintf(line, sizeof line, "cmp -s %s %s", at("y.npy"), at("z.npy"));
    for (int i = 0; i < 3; i++) {
        is_int(command(FIXED "-d cpu@threads=7"), 0, "... with more threads");
        is_int(system(line), 0, "... gives the same bits");
    }
#define EVERYWHERE "-t 1 -p x.npy -i c.npy -n 30000 -o y.npy --same-everywhere "
    is_int(command(EVERYWHERE "-d cpu@threads=1@simd=portable"), 0, "--same-everywhere");
    is_int(rename(at("y.npy"), at("z.npy")), 0, "... kept");
    is_int(command(EVERYWHERE "-d cpu@threads=5"), 0, "... with other instructions and threads");
    is_int(system(line), 0, "... gives the same bits");
    oracle_close(&p);
}

static void check_usage(void)
{
    static const struct {
        const char *words, *says;
        int status;
    } cases[] = {
        { "-p x.npy -i c.npy -o y.npy", "--type is missing", 2 },
        { "-t 1 -i c.npy -o y.npy", "--points is missing", 2 },
        { "-t 1 -p x.npy -o y.npy", "--in is missing", 2 },
        { "-t 1 -p x.npy -i c.npy", "--out is missing", 2 },
        { "-t 1 -p x.npy -i c.npy -o y.npy", "--modes is missing", 2 },
        { "-t 3 -p x.npy -i c.npy -o y.npy", "--targets is missing", 2 },
        { "-t 1 -p x.npy -i c.npy -o y.npy -n 9,12 --targets x.npy", "--targets is for type 3", 2 },
        { "-t 3 -p x.npy -i c.npy -o y.npy -n 9,12 --targets x.npy", "--modes is for types 1 and 2", 2 },
        { "-t 2 -p x.npy -i f.npy -o y.npy -n 9,13", "modes are [9][12], not as --modes says", 1 },
        { "-t 2 -p x.npy -i f.npy -o y.npy -n 9", "--modes needs 2", 2 },
        { "-t 2 -p x.npy -i f.npy -o y.npy -n 9,12", "", 0 },
        { "-t 4 -p x.npy -i c.npy -o y.npy", "'4' is not valid", 2 },
        { "-t 1 -p x.npy -i c.npy -o y.npy -n 9", "--modes needs 2", 2 },
        { "-t 1 -p x.npy -i c.npy -o y.npy -n 9,0", "--modes needs 1 to 3", 2 },
        { "-t 1 -p x.npy -i x.npy -o y.npy -n 9,9", "strengths must be", 1 },
        { "-t 2 -p x.npy -i c.npy -o y.npy", "modes must have 2 axes", 1 },
        { "-t 1 -p c.npy -i c.npy -o y.npy -n 9", "must be real", 1 },
        { "-t 1 -p c.npy -i c.npy -o y.npy -n 9", "complex [50]", 1 },
        { "-t 1 -p four.npy -i c.npy -o y.npy -n 9", "it is [2][4]", 1 },
        { "-t 3 -p x.npy -i c.npy -o y.npy --targets c.npy", "must be real", 1 },
        { "-t 3 -p x.npy -i c.npy -o y.npy --targets one.npy", "points have 2 axes, targets 1", 1 },
        { "-t 1 -p none.npy -i c.npy -o y.npy -n 9", "none.npy", 1 },
        { "-t 1 -p x.npy -i c.npy -o no/y.npy -n 9,9", "no/y.npy", 1 },
    };
    double eight[8] = { 0 };
    hcy_host_array four = array_of(eight, 8, 0, 2, 2, 4, 0), one = array_of(eight, 8, 0, 1, 8, 0, 0);
    if (hcy_host_array_write(&four, at("four.npy")) || hcy_host_array_write(&one, at("one.npy")))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        is_int(command(cases[i].words), cases[i].status, "nufft %s", cases[i].words);
        ok(said(cases[i].says), "... says: %s", cases[i].says);
    }
}

int main(void)
{
    char line[64];
    if (!getenv("HALCYON") || !mkdtemp(dir))
        bail_out("HALCYON is not the command, or there is no folder for files");
    for (int i = 0; i < 8; i++) {
        check_array("array.npy", i & 1 ? 4 : 8, i >> 1 & 1, i & 4 ? 3 : i & 1);
        if (hdf5)
            check_array(i & 1 ? "array.h5" : "array.h5:/group/x", i & 1 ? 4 : 8, i >> 1 & 1, i & 4 ? 2 : 1);
    }
    check_orders();
    check_wrong_files();
    hcy_device *dev;
    if (hcy_device_open(&dev, "cpu"))
        bail_out("%s", hcy_last_error()->text);
    if (hcy_device_get_info(dev)->caps & HCY_CAP_FFT) {
        check_types();
        check_options();
    check_shapes();
    check_units();
    check_files();
        check_usage();
        check_deterministic();
    } else {
        skip(1, "the CPU has no FFT here");
    }
    hcy_device_release(dev);
    snprintf(line, sizeof line, "rm -r %s", dir);
    return system(line) ? 1 : done_testing();
}
