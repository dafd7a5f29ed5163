/* array_formats - arrays in BART's, NIfTI's and ISMRMRD's files: there and back, byte by byte, and what is none. */
#include "stack_make.h"
#include <errno.h>
#include <halcyon/host_array.h>
#ifdef HAVE_HDF5
#include "mrd_make.h"
#endif

static const uint64_t sizes[3] = { 2, 3, 4 };

/* Real numbers i + 0.25, or complex ones with an imaginary part of -i. */
static hcy_host_array make_numbers(double *room, unsigned bytes, int is_complex, int rank)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    a.bytes = bytes;
    a.is_complex = is_complex;
    a.rank = rank;
    a.data = room;
    for (int i = 0; i < rank; i++)
        a.shape[i] = sizes[i];
    for (int i = 0; i < (is_complex ? 48 : 24); i++) {
        double value = !is_complex ? i + 0.25 : i % 2 ? -(i / 2) : i / 2 + 0.25;
        if (bytes == 8)
            room[i] = value;
        else
            ((float *)(void *)room)[i] = (float)value;
    }
    return a;
}

static size_t read_bytes(unsigned char *bytes, size_t room, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, room, f) : 0;
    if (f)
        fclose(f);
    return n;
}

static void put_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
        bail_out("%s cannot be written", path);
}

/* --- BART --- */

static void test_cfl(void)
{
    double room[48];
    unsigned char bytes[4096];
    hcy_host_array b = HCY_HOST_ARRAY_INIT;
    for (int kind = 0; kind < 4; kind++) {
        hcy_host_array a = make_numbers(room, kind & 1 ? 8 : 4, kind >> 1, 3);
        is_int(hcy_host_array_write(&a, in_folder("a.cfl")), 0, ".cfl of %s%s", kind >> 1 ? "complex " : "",
               kind & 1 ? "doubles" : "floats");
        is_int(hcy_host_array_read(&b, in_folder("a.cfl")), 0, "... read");
        bool same = b.is_complex && b.bytes == 4 && b.rank == 3 && !memcmp(b.shape, sizes, sizeof sizes);
        for (int i = 0; same && i < 24; i++)
            same = ((float *)b.data)[2 * i] == (float)(i + 0.25) &&
                   ((float *)b.data)[2 * i + 1] == (float)(kind >> 1 ? -i : 0);
        ok(same, "... are its numbers as complex floats");
        hcy_host_array_free(&b);
    }
    size_t n = read_bytes(bytes, sizeof bytes - 1, in_folder("a.hdr"));
    bytes[n] = 0;
    static const char head[] = "# Dimensions\n4 3 2 1 1 1 1 1 1 1 1 1 1 1 1 1 \n";
    ok(!memcmp(bytes, head, sizeof head - 1), "the header has BART's dimensions, the first the fastest");
    hcy_host_array none = make_numbers(room, 4, 1, 1);
    none.shape[0] = 0;
    is_int(hcy_host_array_write(&none, in_folder("none.cfl")), HCY_EINVAL, "no array without numbers");
    ok(access(in_folder("none.cfl"), F_OK) && access(in_folder("none.hdr"), F_OK), "... and no file of it");
    none.shape[0] = 1;
    none.rank = 12;
    is_int(hcy_host_array_write(&none, in_folder("none.cfl")), HCY_EINVAL, "nor one of 12 axes");
    ok(strstr(hcy_last_error()->text, "rank is 12"), "... which is said");
    none.rank = 1;
    is_int(hcy_host_array_write(&none, in_folder("no/a.cfl")), HCY_EIO, "a folder that is not there");
}

static void test_cfl_heads(void)
{
    static const struct {
        const char *head;
        int status, rank;
        uint64_t last;
    } cases[] = {
        { "# Dimensions\n4 3 2\n", 0, 3, 4 },
        { "# Dimensions \r\n 4 6\t1 \r\n", 0, 2, 4 },
        { "# Command\necho '# Dimensions'\n# Dimensions\n24 1 1 1\n# Files\n >x\n", 0, 1, 24 },
        { "# Dimensions\n1 1 1 1\n", HCY_ECORRUPT, 0, 0 },
        { "# Dimensions\n1 4 1 6", 0, 4, 1 },
        { "# Dimensions\n2 1 1 1 1 1 1 1 1 1 12 1 1 1 1 1\n", 0, 2, 2 },
        { "# Dimensions\n2 2 2 3 1 1 1 1 1 1 1 1 1 1 1 1 1\n", HCY_EFORMAT, 0, 0 },
        { "# Dimensions\n2 2 2 2 2 2 2 2 2\n", HCY_EFORMAT, 0, 0 },
        { "# Dimensions\n4 3 0\n", HCY_EFORMAT, 0, 0 },
        { "# Dimensions\n4 3 -2\n", HCY_EFORMAT, 0, 0 },
        { "# Dimensions\n4 3 x\n", HCY_EFORMAT, 0, 0 },
        { "# Dimensions\n\n", HCY_EFORMAT, 0, 0 },
        { "# Dimensions", HCY_EFORMAT, 0, 0 },
        { "# Files\n4 3 2\n", HCY_EFORMAT, 0, 0 },
        { "", HCY_EFORMAT, 0, 0 },
        { "# Dimensions\n4 3 3\n", HCY_ECORRUPT, 0, 0 },
        { "# Dimensions\n4 3 1\n", HCY_ECORRUPT, 0, 0 },
        { "# Dimensions\n99999999999 99999999999\n", HCY_ERANGE, 0, 0 },
        { "# Dimensions\n99999999999999999999999\n", HCY_EFORMAT, 0, 0 },
        { "# Dimensions\n4294967296 4294967296 4\n", HCY_ERANGE, 0, 0 },
    };
    static const char numbers[24 * 8];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    put_bytes(in_folder("h.cfl"), numbers, sizeof numbers);
    is_int(hcy_host_array_read(&a, in_folder("h.cfl")), HCY_ENOENT, "no .hdr beside a .cfl");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_bytes(in_folder("h.hdr"), cases[i].head, strlen(cases[i].head));
        int status = hcy_host_array_read(&a, in_folder("h.cfl"));
        is_int(status, cases[i].status, "header %zu: %s", i, status ? hcy_last_error()->text : "taken");
        ok(status || (a.rank == cases[i].rank && a.shape[a.rank - 1] == cases[i].last), "... its axes");
        hcy_host_array_free(&a);
    }
    put_bytes(in_folder("h.hdr"), cases[0].head, strlen(cases[0].head));
    remove(in_folder("h.cfl"));
    is_int(hcy_host_array_read(&a, in_folder("h.cfl")), HCY_ENOENT, "no .cfl beside a .hdr");
}

/* --- NIfTI --- */

static int short_at(const unsigned char *bytes, size_t at)
{
    return bytes[at] | bytes[at + 1] << 8;
}

static void test_nifti(void)
{
    static const char *const names[] = { "a.nii",       "a.nii:complex", "a.nii:magnitude",
                                         "a.nii:phase", "a.nii:real",    "a.nii:imaginary" };
    static const int types[2][2] = { { 16, 64 }, { 32, 1792 } };
    double room[48];
    unsigned char bytes[2048];
    for (int kind = 0; kind < 12; kind++) {
        int part = kind / 2 > 1 ? kind / 2 - 1 : 0, wide = kind & 1, is_complex = !part;
        hcy_host_array a = make_numbers(room, wide ? 8 : 4, 1, 3);
        is_int(hcy_host_array_write(&a, in_folder(names[kind / 2])), 0, "%s of %s", names[kind / 2],
               wide ? "doubles" : "floats");
        size_t n = read_bytes(bytes, sizeof bytes, in_folder("a.nii")), size = wide ? 8 : 4;
        ok(n == 352 + 24 * size * (is_complex ? 2 : 1) && short_at(bytes, 0) == 348 &&
               !memcmp(bytes + 344, "n+1", 4),
           "... its size and magic");
        ok(short_at(bytes, 40) == 3 && short_at(bytes, 42) == 4 && short_at(bytes, 44) == 3 &&
               short_at(bytes, 46) == 2 && short_at(bytes, 48) == 1,
           "... dim, the last axis first");
        ok(short_at(bytes, 70) == types[is_complex][wide] &&
               short_at(bytes, 72) == (int)size * (is_complex ? 16 : 8),
           "... datatype and bitpix");
        bool same = true;
        for (int i = 0; i < 24; i++) {
            double z[2] = { i + 0.25, -i },
                   want[6] = { z[0], hypot(z[0], z[1]), atan2(z[1], z[0]), z[0], z[1], z[1] }, value;
            for (int k = 0; k <= is_complex; k++) {
                const unsigned char *from =
                    bytes + 352 + ((size_t)i * (is_complex ? 2 : 1) + (size_t)k) * size;
                float narrow;
                memcpy(wide ? (void *)&value : &narrow, from, size);
                value = wide ? value : (double)narrow;
                double wanted = want[k ? 5 : part];
                same = same && (wide ? value == wanted : (float)value == (float)wanted);
            }
        }
        ok(same, "... its numbers");
    }
    hcy_host_array a = make_numbers(room, 4, 0, 2), b = HCY_HOST_ARRAY_INIT;
    is_int(hcy_host_array_write(&a, in_folder("real.nii")), 0, "real numbers");
    ok(read_bytes(bytes, sizeof bytes, in_folder("real.nii")) == 352 + 6 * 4 && short_at(bytes, 70) == 16 &&
           short_at(bytes, 40) == 2,
       "... are floats");
    float cells[3];
    a.cells[0] = 1.5, a.cells[1] = 2, a.cells[2] = 3;
    is_int(hcy_host_array_write(&a, in_folder("real.nii")), 0, "... with the size of their cells");
    read_bytes(bytes, sizeof bytes, in_folder("real.nii"));
    memcpy(cells, bytes + 80, sizeof cells);
    ok(cells[0] == 1.5f && cells[1] == 2 && cells[2] == 3 && bytes[123] == 2, "... in mm, x first");
    static const double no_cells[] = { NAN, -1, 1e-40, 1e34 };
    for (size_t i = 0; i < sizeof no_cells / sizeof no_cells[0]; i++) {
        a.cells[1] = no_cells[i];
        is_int(hcy_host_array_write(&a, in_folder("cell.nii")), HCY_EINVAL, "... which is no %g", no_cells[i]);
    }
    a.cells[0] = a.cells[1] = 0;
    is_int(hcy_host_array_write(&a, in_folder("real.nii")), 0, "... of one axis alone");
    read_bytes(bytes, sizeof bytes, in_folder("real.nii"));
    memcpy(cells, bytes + 80, sizeof cells);
    ok(cells[0] == 1 && cells[2] == 3 && bytes[123] == 2, "... in mm, too");
    is_int(hcy_host_array_write(&a, in_folder("real.nii:half")), HCY_EINVAL, "a part that is none");
    is_int(hcy_host_array_write(&a, in_folder("real.nii:real imaginary")), HCY_EINVAL, "two parts");
    is_int(hcy_host_array_read(&b, in_folder("real.nii")), HCY_EUNSUPPORTED, "NIfTI is not read");
    a.shape[0] = 40000;
    is_int(hcy_host_array_write(&a, in_folder("long.nii")), HCY_ERANGE, "an axis beyond 32767");
    ok(access(in_folder("long.nii"), F_OK) != 0, "... and no file of it");
    a.rank = 8;
    is_int(hcy_host_array_write(&a, in_folder("long.nii")), HCY_EINVAL, "eight axes");
}

/* --- ISMRMRD --- */

#ifdef HAVE_HDF5
enum { ROWS = 150, KEPT = 113, LENGTH = MRD_SAMPLES - 2 };

static void check_raw(const char *path)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char name[600];
    bool same;
    static const char *const samples[] = { "", ":/dataset/data", ":/dataset/data/data" };
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, samples[i]);
        is_int(hcy_host_array_read(&a, name), 0, "acquisitions%s", samples[i]);
        same = a.is_complex && a.bytes == 4 && a.rank == 3 && a.shape[0] == MRD_CHANNELS &&
               a.shape[1] == KEPT && a.shape[2] == LENGTH;
        for (unsigned k = 0; same && k < MRD_CHANNELS * KEPT * LENGTH * 2; k++) {
            unsigned s = k / 2 % LENGTH, row = k / 2 / LENGTH % KEPT, c = k / 2 / LENGTH / KEPT;
            same = ((float *)a.data)[k] == mrd_sample(row / 3 * 4 + row % 3, c, s + 1, k % 2);
        }
        ok(same, "... [channels][acquisitions][samples], without noise and what is to be discarded");
        hcy_host_array_free(&a);
    }
    snprintf(name, sizeof name, "%s:/dataset/data/traj", path);
    is_int(hcy_host_array_read(&a, name), 0, "their trajectory");
    same = !a.is_complex && a.bytes == 4 && a.rank == 3 && a.shape[0] == KEPT && a.shape[1] == LENGTH &&
           a.shape[2] == MRD_AXES;
    for (unsigned k = 0; same && k < KEPT * LENGTH * MRD_AXES; k++) {
        unsigned row = k / MRD_AXES / LENGTH;
        same = ((float *)a.data)[k] ==
               mrd_coordinate(row / 3 * 4 + row % 3, k / MRD_AXES % LENGTH + 1, k % MRD_AXES);
    }
    ok(same, "... [acquisitions][samples][dimensions]");
    hcy_host_array_free(&a);
}

/* Acquisition i of three is counted by i, 10 + i ...; the noise between them is not. */
static void test_parts(void)
{
    struct mrd_record records[4];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    mrd_plain(records, 4);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 9; k++)
            records[i].head.idx[k] = (uint16_t)(10 * k + i);
    records[2].head.stamp = UINT32_MAX;
    for (unsigned k = 0; k < 3; k++)
        records[2].head.physiology[k] = k + 7;
    mrd_write(in_folder("parts.h5"), records, 4);
    static const double stamps[3][4] = { { 0 }, { 0 }, { UINT32_MAX, 7, 8, 9 } };
    is_int(hcy_host_array_read(&a, in_folder("parts.h5:/dataset/data/stamps")), 0, "time stamps");
    ok(!a.is_complex && a.bytes == 8 && a.rank == 2 && a.shape[0] == 3 && a.shape[1] == 4 &&
           !memcmp(a.data, stamps, sizeof stamps), "... [acquisitions][4]");
    hcy_host_array_free(&a);
    is_int(hcy_host_array_read(&a, in_folder("parts.h5:/dataset/data/counters")), 0, "counters");
    bool same = !a.is_complex && a.bytes == 4 && a.rank == 2 && a.shape[0] == 3 && a.shape[1] == 9;
    for (int i = 0; same && i < 27; i++)
        same = ((float *)a.data)[i] == (float)(i % 9 * 10 + i / 9);
    ok(same, "... [acquisitions][9], of those of the image");
    hcy_host_array_free(&a);
    is_int(hcy_host_array_read(&a, in_folder("parts.h5:/dataset/data/noise")), 0, "noise");
    same = a.is_complex && a.rank == 3 && a.shape[0] == MRD_CHANNELS && a.shape[1] == 1 && a.shape[2] == LENGTH;
    for (unsigned k = 0; same && k < MRD_CHANNELS * LENGTH * 2; k++)
        same = ((float *)a.data)[k] == mrd_sample(3, k / 2 / LENGTH, k / 2 % LENGTH + 1, k % 2);
    ok(same, "... [channels][acquisitions][samples], of what is no image");
    hcy_host_array_free(&a);
    is_int(hcy_host_array_read(&a, in_folder("parts.h5:/dataset/data/space")), HCY_ENOENT, "no header: %s",
           hcy_last_error()->text);
    mrd_put_xml(in_folder("parts.h5"), "<i:encoding><encodedSpace><matrixSize><x>64</x><y>32</y><z>1</z></matrixSize>"
                                       "<fieldOfView_mm><x>600.5</x><y>-1</y><z>nan</z></fieldOfView_mm></encodedSpace>"
                                       "<reconSpace><matrixSize><x>32</x><y>32</y></matrixSize></reconSpace></i:encoding>"
                                       "<encoding><reconSpace><fieldOfView_mm><x>9</x></fieldOfView_mm></reconSpace></encoding>");
    is_int(hcy_host_array_read(&a, in_folder("parts.h5:/dataset/data/space")), 0, "spaces of a header");
    static const double said[12] = { 64, 32, 1, 600.5, 0, 0, 32, 32, 0, 0, 0, 0 };
    ok(a.bytes == 8 && a.rank == 3 && a.shape[0] == 2 && a.shape[1] == 2 && a.shape[2] == 3 &&
           !memcmp(a.data, said, sizeof said), "... are matrices and fields of view, as far as they are said");
    hcy_host_array_free(&a);
}

/* The time of a sample of the image, and of noise, in one file or in two. */
static void test_dwell(void)
{
    static const double said[][3] = { { 2.5, 7, 0.75 }, { 0, 7, 0 } };
    struct mrd_record records[2];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    for (int i = 0; i < 2; i++) {
        mrd_plain(records, 2);
        records[0].head.sample_us = i ? 7 : 2.5f;
        records[1].head.sample_us = 7;
        records[0].head.flags = i ? 1u << 18 : 0;
        records[1].head.flags = 1u << 18;
        mrd_write(in_folder("dwell.h5"), records, 2);
        if (!i)
            mrd_put_xml(in_folder("dwell.h5"), "<acquisitionSystemInformation><relativeReceiverNoiseBandwidth>0.75"
                                               "</relativeReceiverNoiseBandwidth></acquisitionSystemInformation>");
        is_int(hcy_host_array_read(&a, in_folder("dwell.h5:/dataset/data/dwell")), 0, "times of %s", i ? "noise" : "both");
        ok(a.bytes == 8 && a.rank == 1 && a.shape[0] == 3 && !memcmp(a.data, said[i], sizeof said[i]),
           "... and the receiver's bandwidth");
        hcy_host_array_free(&a);
    }
}

/* A header of EPI whose lobe is said by these parameters. */
static void put_epi(struct mrd_record *records, size_t n, const char *const names[], const char *const values[],
                    int count)
{
    char xml[2000];
    int at = snprintf(xml, sizeof xml, "<encoding><encodedSpace><matrixSize><x>8</x><y>2</y><z>1</z></matrixSize></encodedSpace>"
                                       "<trajectory>epi</trajectory><trajectoryDescription><identifier>ConventionalEPI</identifier>");
    for (int i = 0; i < count; i++)
        at += snprintf(xml + at, sizeof xml - (size_t)at, "<userParameterLong><name>%s</name><value>%s</value></userParameterLong>",
                       names[i], values[i]);
    snprintf(xml + at, sizeof xml - (size_t)at, "</trajectoryDescription></encoding>");
    for (size_t i = 0; i < n; i++) {
        struct mrd_head *h = &records[i].head;
        *h = (struct mrd_head){ .version = 1, .samples = 8, .channels = 1, .available = 1, .centre = 3 };
        h->flags = i ? 1u << 21 : 0;
        mrd_fill(&records[i], 0);
    }
    mrd_write(in_folder("epi.h5"), records, n);
    mrd_put_xml(in_folder("epi.h5"), xml);
}

static const char *const lobe_names[] = { "rampUpTime", "rampDownTime", "flatTopTime", "dwellTime", "echoSpacing" };

/* Samples on the ramps of a gradient are nearer to each other, and frequency 0 is where half of its area has passed,
 * not half of its time; a reversed line has it with the other sign. */
static void test_epi(void)
{
    enum { N = 8, CENTRE = 3 };
    static const char *const lobe[] = { "30", "20", "50", "11.25" };
    struct mrd_record records[2];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    double area[1001] = { 0 }, off = 0;
    put_epi(records, 2, lobe_names, lobe, 4);
    /* Steps of 0.1 us. */
    for (int i = 0; i < 1000; i++) {
        const double t = 0.1 * (i + 0.5);
        area[i + 1] = area[i] + 0.1 * fmin(1, fmin(t / 30, (100 - t) / 20));
    }
    is_int(hcy_host_array_read(&a, in_folder("epi.h5:/dataset/data/traj")), 0, "lines of EPI");
    for (int i = 0; i < 2 * N && a.data; i++) {
        const double t = 500 + 112.5 * (i % N - CENTRE);
        const int at = (int)fmin(t, 999); /* the last one may lie where the gradient is 0 */
        const double here = area[at] + (t - at) * (area[at + 1] - area[at]),
                     k = (here - area[1000] / 2) / (area[950] - area[50]);
        off = fmax(off, fabs(((float *)a.data)[2 * i] - (i < N ? k : -k)));
    }
    ok(a.rank == 3 && a.shape[1] == N && off < 1e-5, "... lie where its ramps leave them, off by %.1e", off);
    hcy_host_array_free(&a);
    is_int(hcy_host_array_read(&a, in_folder("epi.h5:/dataset/data/axes")), 0, "coordinates of a grid");
    ok(a.bytes == 8 && a.rank == 1 && a.shape[0] == 1 && *(double *)a.data == 0, "... are not in the file");
    hcy_host_array_free(&a);
}

/* A lobe is said by all of its parameters, or by none. */
static void test_lobes(void)
{
    static const char *const bad[][4] = { { "-30", "20", "50", "11" }, { "30", "nan", "50", "11" }, { "0", "0", "0", "11" },
                                          { "30", "20", "50", "0" },   { "30", "20", "", "11" },    { "30", "20", "1e99", "11" },
                                          { "30", "20", "50", "1e-99" } };
    struct mrd_record records[1];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_epi(records, 1, lobe_names, bad[i], 4);
        is_int(hcy_host_array_read(&a, in_folder("epi.h5:/dataset/data/traj")), HCY_EFORMAT, "no lobe: %s",
               hcy_last_error()->text);
    }
    for (int left = 0; left < 4; left++) {
        put_epi(records, 1, lobe_names + left, bad[0] + left, 1);
        is_int(hcy_host_array_read(&a, in_folder("epi.h5:/dataset/data/traj")), HCY_EFORMAT, "a %s alone", lobe_names[left]);
    }
    put_epi(records, 1, lobe_names + 4, bad[0], 1);
    is_int(hcy_host_array_read(&a, in_folder("epi.h5:/dataset/data/traj")), 0, "none of it");
    ok(a.data && ((float *)a.data)[2] == -0.25f, "... is a constant gradient");
    hcy_host_array_free(&a);
}

/* What an element lacks is not that of the next one. */
static void check_spaces(const char *what, const char *spaces, const double said[12])
{
    struct mrd_record records[2];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char xml[1000];
    mrd_plain(records, 2);
    mrd_write(in_folder("spaces.h5"), records, 2);
    snprintf(xml, sizeof xml, "<h><encoding>%s</encoding></h>", spaces);
    mrd_put_xml(in_folder("spaces.h5"), xml);
    is_int(hcy_host_array_read(&a, in_folder("spaces.h5:/dataset/data/space")), 0, "%s", what);
    ok(a.data && !memcmp(a.data, said, 12 * sizeof *said), "... is not said");
    hcy_host_array_free(&a);
}

static void test_spaces(void)
{
    static const char recon[] = "<reconSpace><matrixSize><x>7</x><y>6</y><z>5</z></matrixSize>"
                                "<fieldOfView_mm><x>70</x><y>60</y><z>50</z></fieldOfView_mm></reconSpace>";
    static const char *const encoded[][2] = {
        { "a field of view", "<matrixSize><x>8</x><y>9</y><z>1</z></matrixSize>" },
        { "one that is empty", "<matrixSize><x>8</x><y>9</y><z>1</z></matrixSize><fieldOfView_mm/>" },
        { "a matrix's z",
          "<matrixSize><x>8</x><y>9</y></matrixSize><fieldOfView_mm><x>1</x><y>2</y><z>3</z></fieldOfView_mm>" },
        { "a field of view's y",
          "<matrixSize><x>8</x><y>9</y><z>1</z></matrixSize><fieldOfView_mm><x>1</x></fieldOfView_mm>" },
        { "a size below 0", "<matrixSize><x>8</x><y> -18446744073709551607</y><z>1</z></matrixSize>" },
        { "a matrix", "" }
    };
    static const double said[][6] = { { 8, 9, 1 },    { 8, 9, 1 }, { 8, 9, 0, 1, 2, 3 },
                                      { 8, 9, 1, 1 }, { 8, 0, 1 }, { 0 } };
    for (size_t i = 0; i < sizeof encoded / sizeof encoded[0]; i++) {
        double all[12] = { [6] = 7, 6, 5, 70, 60, 50 };
        char spaces[600];
        memcpy(all, said[i], sizeof said[i]);
        snprintf(spaces, sizeof spaces, "<encodedSpace>%s</encodedSpace>%s", encoded[i][1], recon);
        check_spaces(encoded[i][0], spaces, all);
    }
}

/* A file whose acquisition 1 is changed. */
static void check_bad_raw(int status, const char *words, void (*change)(struct mrd_record *record))
{
    struct mrd_record records[3];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    mrd_plain(records, 3);
    change(&records[1]);
    mrd_write(in_folder("bad.mrd"), records, 3);
    is_int(hcy_host_array_read(&a, in_folder("bad.mrd")), status, "%s: %s", words, hcy_last_error()->text);
    ok(!a.data, "... gives nothing");
    hcy_host_array_free(&a);
}

static void say_more_samples(struct mrd_record *r)
{
    r->head.samples++;
}
static void say_other_axes(struct mrd_record *r)
{
    r->head.axes = 3;
}
static void say_no_channels(struct mrd_record *r)
{
    r->head.channels = 0;
}
static void discard_all(struct mrd_record *r)
{
    r->head.post = 65535;
}
static void shorten_data(struct mrd_record *r)
{
    r->data.len--;
}
static void lose_data(struct mrd_record *r)
{
    r->data.len = 0;
}

/* Of an image those of another encoding are left out; noise of two is none that is alike. */
static void test_encodings(void)
{
    struct mrd_record records[3];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    mrd_plain(records, 3);
    records[1].head.flags = records[2].head.flags = 1u << 18;
    records[2].head.space = 7;
    mrd_write(in_folder("noises.h5"), records, 3);
    is_int(hcy_host_array_read(&a, in_folder("noises.h5:/dataset/data/noise")), HCY_EFORMAT, "noise of two encodings");
    ok(strstr(hcy_last_error()->text, "in encoding 7, ") && strstr(hcy_last_error()->text, "in 0;"), "... which are said: %s",
       hcy_last_error()->text);
}

static void test_raw(void)
{
    static struct mrd_record records[ROWS];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    mrd_plain(records, ROWS);
    mrd_write(in_folder("raw.h5"), records, ROWS);
    check_raw(in_folder("raw.h5"));
    test_parts();
    test_spaces();
    test_dwell();
    test_epi();
    test_lobes();
    test_encodings();
    check_bad_raw(HCY_EFORMAT, "a header of other samples", say_more_samples);
    check_bad_raw(HCY_EFORMAT, "a header of other coordinates", say_other_axes);
    check_bad_raw(HCY_EFORMAT, "a header without channels", say_no_channels);
    check_bad_raw(HCY_EFORMAT, "all is to be discarded", discard_all);
    check_bad_raw(HCY_ECORRUPT, "too few numbers", shorten_data);
    check_bad_raw(HCY_ECORRUPT, "no numbers", lose_data);
    struct mrd_record few[2];
    mrd_plain(few, 2);
    few[0].head.flags = few[1].head.flags = 1u << 18;
    mrd_write(in_folder("noise.h5"), few, 2);
    is_int(hcy_host_array_read(&a, in_folder("noise.h5")), HCY_EFORMAT, "noise alone: %s",
           hcy_last_error()->text);
    mrd_plain(few, 2);
    for (int i = 0; i < 2; i++) {
        few[i].head.axes = 0;
        few[i].traj.len = 0;
    }
    mrd_write(in_folder("grid.h5"), few, 2);
    is_int(hcy_host_array_read(&a, in_folder("grid.h5:/dataset/data/traj")), HCY_ENOENT, "no trajectory: %s",
           hcy_last_error()->text);
    is_int(hcy_host_array_read(&a, in_folder("grid.h5:/dataset/data")), 0, "... but samples");
    hcy_host_array_free(&a);
    is_int(hcy_host_array_read(&a, in_folder("grid.h5:/dataset/traj")), HCY_ENOENT, "no such dataset");
    is_int(hcy_host_array_read(&a, in_folder("grid.h5:/dataset")), HCY_ENOENT, "a group is no array");
}

/* HDF5 has up to 32 axes: that there are too many is said, and not that the numbers are none. */
static void test_many_axes(void)
{
    const hsize_t ones[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    hid_t file = H5Fcreate(in_folder("axes.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
          space = H5Screate_simple(9, ones, NULL),
          data = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(data);
    H5Sclose(space);
    H5Fclose(file);
    is_int(hcy_host_array_read(&a, in_folder("axes.h5")), HCY_EFORMAT, "nine axes");
    ok(strstr(hcy_last_error()->text, "more than 8 axes"), "... %s", hcy_last_error()->text);
}

/* The header of an image [2][3][4] of a type, where ISMRMRD's 198 bytes have it. */
static void check_image_head(const char *path, const char *name, int data_type, int image_type)
{
    unsigned char head[256] = { 0 };
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, name, H5P_DEFAULT),
          type = H5Dget_type(dataset);
    size_t size = H5Tget_size(type);
    if (size > sizeof head || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, head) < 0)
        bail_out("%s: %s cannot be read", path, name);
    ok(size == 198 && short_at(head, 0) == 1 && short_at(head, 2) == data_type && short_at(head, 16) == 4 &&
           short_at(head, 18) == 3 && short_at(head, 20) == 2 && short_at(head, 34) == 1 &&
           short_at(head, 124) == image_type && short_at(head, 126) == 1,
       "... its header");
    H5Tclose(type);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* Images, with several series in a file, and beside acquisitions. */
static void test_images(void)
{
    double room[48];
    hcy_host_array b = HCY_HOST_ARRAY_INIT;
    for (int kind = 0; kind < 4; kind++) {
        hcy_host_array a = make_numbers(room, kind & 1 ? 8 : 4, kind >> 1, 3);
        size_t size = (size_t)24 * a.bytes * (size_t)(1 + a.is_complex);
        const char *path = in_folder(kind < 2 ? "image.mrd" : "image.mrd:other");
        is_int(hcy_host_array_write(&a, path), 0, "an image of %s%s", kind >> 1 ? "complex " : "",
               kind & 1 ? "doubles" : "floats");
        is_int(hcy_host_array_read(&b, in_folder(kind < 2 ? "image.mrd:/dataset/image_0/data"
                                                          : "image.mrd:/dataset/other/data")),
               0, "... read");
        ok(b.rank == 5 && b.shape[0] == 1 && b.shape[1] == 1 && !memcmp(b.shape + 2, sizes, sizeof sizes) &&
               b.bytes == a.bytes && b.is_complex == a.is_complex && !memcmp(b.data, a.data, size),
           "... the same");
        hcy_host_array_free(&b);
        check_image_head(in_folder("image.mrd"), kind < 2 ? "/dataset/image_0/header" : "/dataset/other/header",
                         5 + kind, kind < 2 ? 1 : 5);
    }
    hcy_host_array a = make_numbers(room, 4, 1, 3);
    is_int(hcy_host_array_write(&a, in_folder("long.mrd")) ||
               hcy_host_array_read(&b, in_folder("image.mrd:/dataset/image_0/data")),
           0, "the first series is still there");
    hcy_host_array_free(&b);
    a.rank = 6;
    is_int(hcy_host_array_write(&a, in_folder("long.mrd")), HCY_EINVAL, "six axes");
    /* Nothing is lost that is not of the kind that is written. */
    a.rank = 3;
    is_int(hcy_host_array_write(&a, in_folder("raw.h5:/dataset")), HCY_EINVAL, "a group is not replaced: %s",
           hcy_last_error()->text);
    ok(hcy_host_array_write(&a, in_folder("raw.h5:dataset/data/more/less")) == HCY_EINVAL &&
           strstr(hcy_last_error()->text, "dataset/data is there and is no group"),
       "nor is anything put into a dataset: %s", hcy_last_error()->text);
    is_int(hcy_host_array_write(&a, in_folder("raw.h5:/dataset/more/less")), 0, "... but into a group");
    if (rename(in_folder("raw.h5"), in_folder("raw.mrd")))
        bail_out("raw.h5 cannot be renamed");
    is_int(hcy_host_array_write(&a, in_folder("raw.mrd:data")), HCY_EINVAL, "nor acquisitions by images: %s",
           hcy_last_error()->text);
    is_int(hcy_host_array_write(&a, in_folder("raw.h5:/./")), HCY_EINVAL, "nor the whole file: %s", hcy_last_error()->text);
    is_int(hcy_host_array_write(&a, in_folder("new.mrd:/")), HCY_EINVAL, "... which is no series: %s", hcy_last_error()->text);
    is_int(hcy_host_array_write(&a, in_folder("raw.mrd")) || hcy_host_array_write(&a, in_folder("raw.mrd")), 0,
           "images beside acquisitions, and again");
    check_raw(in_folder("raw.mrd"));
    a.rank = 2;
    a.shape[0] = 70000;
    is_int(hcy_host_array_write(&a, in_folder("long.mrd")), HCY_ERANGE, "an axis beyond 65535");
    a.rank = 3;
    a.shape[0] = a.shape[1] = a.shape[2] = 60000;
    is_int(hcy_host_array_write(&a, in_folder("long.mrd")), HCY_ERANGE, "an image beyond 4 GiB");
}

/* A dataset whose dataspace is NULL has no number that could be read. */
static void test_null_space(void)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    hid_t file = H5Fcreate(in_folder("null.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
          space = H5Screate(H5S_NULL),
          dataset = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset < 0 || H5Dclose(dataset) < 0 || H5Sclose(space) < 0 || H5Fclose(file) < 0)
        bail_out("null.h5 cannot be written");
    is_int(hcy_host_array_read(&a, in_folder("null.h5")), HCY_EFORMAT, "a dataset without a dataspace");
    hcy_host_array_free(&a);
}
#endif

int main(void)
{
    make_folder();
    test_cfl();
    test_cfl_heads();
    test_nifti();
#ifdef HAVE_HDF5
    test_raw();
    test_many_axes();
    test_images();
    test_null_space();
#else
    skip(1, "this build has no HDF5: ISMRMRD");
#endif
    return done_testing();
}
