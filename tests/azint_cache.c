/* Plans on disk: the same plan comes back, another does not; damaged files are ignored and replaced; several
 * processes at once; folders that cannot be written. */
#include "azint_scene.h"

#include "azint/azint_priv.h"

#include <dirent.h>
#include <stdio.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64] = "/tmp/halcyon-cache-XXXXXX", deep[80], file[600];
static float arrays[4][N];

static void fill(scene *s)
{
    make_scene(s, 19.4e-3);
    for (int i = 0; i < N; i++) {
        arrays[0][i] = 2 + (float)(i % 3);
        arrays[1][i] = 1;
        arrays[2][i] = (float)(i % 5);
        arrays[3][i] = 1 + (float)(i % 7);
    }
    s->o.mask = s->mask;
    s->mask[77] = 1;
    s->o.split = HCY_SPLIT_FULL;
    s->o.error_model = HCY_ERRORS_VARIANCE;
    s->o.flat = arrays[0];
    s->o.absorption = arrays[1];
    s->o.dark = arrays[2];
    s->o.variance = arrays[3];
    s->o.npt_azim = 5;
    s->o.cache = deep;
}

static int same(const hcy_azint_plan *a, const hcy_azint_plan *b)
{
    hcy_azint_plan_info i = must_info(a), j = must_info(b);
    hcy_span s[HCY_AZINT_SPANS], t[HCY_AZINT_SPANS];
    int equal = !strcmp(i.hash, j.hash) && i.n_masked == j.n_masked && i.n_weights == j.n_weights &&
                i.radial_min == j.radial_min && i.radial_max == j.radial_max && i.azimuth_min == j.azimuth_min &&
                i.azimuth_max == j.azimuth_max && !memcmp(i.radial, j.radial, i.n_radial * sizeof(double)) &&
                !memcmp(i.azimuthal, j.azimuthal, i.n_azim * sizeof(double)) &&
                !memcmp(hcy_azint_plan_norms(a), hcy_azint_plan_norms(b), i.n_bins * sizeof(hcy_azint_bin_norm));

    hcy_azint_plan_tables(s, a);
    hcy_azint_plan_tables(t, b);
    for (int k = 0; k < HCY_AZINT_SPANS; k++)
        equal &= s[k].size == t[k].size && !memcmp(s[k].data, t[k].data, s[k].size);
    return equal;
}

/* Whether the plan came from the cache; it must be like `want` either way. */
static int cached(const scene *s, const hcy_azint_plan *want)
{
    hcy_azint_plan *p = must_plan(s);
    int from = must_info(p).from_cache;

    if (want && !same(p, want)) {
        diag("another plan");
        from = -1;
    }
    hcy_azint_plan_release(p);
    return from;
}

static int count_files(void)
{
    DIR *d = opendir(deep);
    int n = 0;

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", deep, e->d_name);
            n++;
        }
    if (d)
        closedir(d);
    return n;
}

static void empty(void)
{
    while (count_files())
        unlink(file);
}

/* Curves of a mapped plan are those of a made one, dark current and all. */
static void test_curve(const hcy_azint_plan *made, const hcy_azint_plan *mapped)
{
    const hcy_azint_plan *p[2] = { made, mapped };
    hcy_azint_result *r[2];
    uint64_t *sums = calloc(37 * 5 * HCY_AZINT_SUMS, sizeof *sums);
    uint16_t image[N] = { 0 };

    for (int i = 0; i < N; i++)
        image[i] = (uint16_t)(i % 300);
    for (int k = 0; k < 2; k++) {
        hcy_span spans[HCY_AZINT_SPANS];
        hcy_azint_job j;

        if (hcy_azint_plan_job(&j, p[k], HCY_PIXEL_U16) || hcy_azint_result_create(&r[k], p[k]))
            bail_out("%s", hcy_last_error()->text);
        hcy_azint_plan_tables(spans, p[k]);
        oracle_sums(sums, spans, &j, image);
        if (hcy_azint_finish(r[k], p[k], &j, sums, NULL, 1))
            bail_out("%s", hcy_last_error()->text);
    }
    ok(!memcmp(r[0]->intensity, r[1]->intensity, 37 * 5 * sizeof(double)) &&
           !memcmp(r[0]->sigma, r[1]->sigma, 37 * 5 * sizeof(double)) && r[1]->n_azim == 5,
       "the same image from it");
    hcy_azint_result_destroy(r[0]);
    hcy_azint_result_destroy(r[1]);
    free(sums);
}

/* What is kept may not be written to, but by who says so. */
static void cut(off_t size)
{
    if (chmod(file, 0644) || truncate(file, size))
        bail_out("%s cannot be cut short", file);
}

static void damage(long at, int bit)
{
    FILE *f = chmod(file, 0644) ? NULL : fopen(file, "r+b");
    int c;

    if (!f || fseek(f, at, at < 0 ? SEEK_END : SEEK_SET) || (c = fgetc(f)) < 0 || fseek(f, -1, SEEK_CUR) ||
        fputc(c ^ 1 << bit, f) < 0 || fclose(f))
        bail_out("%s cannot be damaged", file);
}

static void test_damage(const scene *s, const hcy_azint_plan *want)
{
    static const long places[] = { 0, 8, 12, 16, 24, 32, 40, 48, 56, 64, 80, 100, 120, 2000, 9000, 30000 };
    int wrong = 0;

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        is_int(count_files(), 1, "one file");
        damage(places[i], (int)i % 8);
        int first = cached(s, want), second = cached(s, want);
        wrong += first != 0 || second != 1;
        if (first != 0 || second != 1)
            diag("byte %ld: %d, then %d", places[i], first, second);
    }
    is_int(wrong, 0, "a bit anywhere in a file: it is ignored and replaced");
    is_int(count_files(), 1, "one file");
    cut(5000);
    ok(cached(s, want) == 0 && cached(s, want) == 1, "a file cut short");
    cut(0);
    ok(cached(s, want) == 0 && cached(s, want) == 1, "an empty one");
}

/* Somebody who knows the format: a run names bins there are not, and the sums are right. */
static void forge(const scene *s)
{
    enum { KEY = 32 };
    scene t = *s;
    struct azint_hash key;
    FILE *f = count_files() == 1 ? fopen(file, "rb") : NULL;

    if (!f || fseek(f, KEY, SEEK_SET) || fread(&key, sizeof key, 1, f) != 1)
        bail_out("no key in %s", file);
    fclose(f);
    t.o.mask = t.mask;
    t.o.cache = NULL;
    hcy_azint_plan *p = must_plan(&t);
    memset(p->runs + p->starts[9], 0xff, 3);
    hcy__azint_cache_save(p, deep, &key, 2);
    hcy_azint_plan_release(p);
}

static void test_forged(const scene *s, const hcy_azint_plan *want)
{
    empty();
    (void)cached(s, NULL);
    forge(s);
    int first = cached(s, want), second = cached(s, want);
    ok(first == 0 && second == 1, "runs that name no bins, with sums that are right: made anew and replaced (%d, %d)",
       first, second);
    count_files();
    char moved[640];
    snprintf(moved, sizeof moved, "%s.kept", file);
    if (rename(file, moved) || mkfifo(file, 0600))
        bail_out("no pipe");
    alarm(20);
    ok(cached(s, want) == 0, "a pipe in its place is not waited for");
    alarm(0);
    unlink(moved);
    empty();
}

/* Does this process have it mapped, and not an older one of that name? */
static int is_mapped(const char *path)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1200];
    int found = 0;

    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, path) && !strstr(line, "(deleted)");
    if (maps)
        fclose(maps);
    return found;
}

/* What somebody may write to is read: it is the process's own then, and the file may go to pieces. */
static void test_cut(const scene *s, const hcy_azint_plan *want)
{
    empty();
    (void)cached(s, NULL);
    if (count_files() != 1 || chmod(file, 0600))
        bail_out("no plan to cut");
    hcy_azint_plan *p = must_plan(s);
    int mapped = is_mapped(file);
    if (!must_info(p).from_cache)
        bail_out("no plan to cut");
    cut(0);
    ok(!mapped && same(p, want), "a file that is cut short while its plan is in use");
    hcy_azint_plan_release(p);
    empty();
}

/* What nobody may write to is shared with all who use it; bytes that it does not have are an error, not a signal. */
static void test_mapped(const scene *s, const hcy_azint_plan *want)
{
    uint64_t sum;
    struct stat is;

    empty();
    (void)cached(s, NULL);
    if (count_files() != 1 || stat(file, &is))
        bail_out("no plan to map");
    is_int(is.st_mode & 0777, 0444, "what is kept may not be written to");
    hcy_azint_plan *p = must_plan(s);
    if (!is_mapped(file)) {
        skip(2, "files in %s are read: their file system, or kernel, is not one of those", folder);
    } else {
        hcy_azint_plan none = { 0 };
        int fd = open(file, O_RDONLY);
        ok(must_info(p).from_cache && same(p, want), "so it is mapped");
        ok(fd >= 0 && !hcy__azint_cache_tables(&sum, &none, fd, 64, (size_t)is.st_size + (1 << 20), 2) && !none.map,
           "a file that has fewer bytes than its head says by the time when it is mapped");
        close(fd);
    }
    hcy_azint_plan_release(p);
    empty();
}

/* Of an unweighted mean the bins' counts are made anew in what was mapped. */
static void test_unweighted(const scene *s)
{
    static scene t;
    memcpy(&t, s, sizeof t);
    t.o.mask = t.mask;
    t.o.unweighted = 1;
    empty();
    hcy_azint_plan *made = must_plan(&t);
    ok(cached(&t, made) == 1, "an unweighted mean's plan is made, and then mapped");
    hcy_azint_plan_release(made);
    empty();
}

#define OTHER(change)                                                                       \
    do {                                                                                    \
        static scene t;                                                                     \
        static float one[N];                                                                \
        memcpy(&t, &s, sizeof t);                                                           \
        memcpy(one, arrays[1], sizeof one);                                                 \
        one[5] = 1.5f;                                                                      \
        t.o.mask = t.mask;                                                                  \
        change;                                                                             \
        ok(cached(&t, NULL) == 0, "another plan: %s", #change);                             \
    } while (0)

static void test_processes(const scene *s, const hcy_azint_plan *want)
{
    int wrong = 0, status;

    empty();
    for (int k = 0; k < 6; k++)
        if (!fork())
            _exit(cached(s, want) < 0);
    while (wait(&status) > 0)
        wrong += status != 0;
    ok(!wrong && count_files() == 1 && cached(s, want) == 1, "six processes at once");
}

/* Writers that were killed leave files behind, which go when they are a day old and a plan is saved. */
static void test_unfinished(const scene *s)
{
    const struct timespec old[2] = { { 0, 0 }, { 0, 0 } };
    char left[700], young[700];

    empty();
    (void)cached(s, NULL);
    if (count_files() != 1)
        bail_out("no plan is kept");
    snprintf(left, sizeof left, "%s.partial-4194304", file);
    snprintf(young, sizeof young, "%s.partial-7.1", file);
    int a = creat(left, 0600), b = creat(young, 0600);
    if (a < 0 || b < 0 || futimens(a, old) || close(a) || close(b) || unlink(file))
        bail_out("no files");
    (void)cached(s, NULL);
    ok(access(left, F_OK) && !access(young, F_OK), "what a writer left a day ago goes, what is being written stays");
    unlink(young);
    empty();
}

/* Room for a few plans: the one used longest ago goes. */
static void test_limit(const scene *s)
{
    enum { MIB = 4, MOST = 40 };
    static scene t;
    struct stat is;
    int n = 1;

    empty();
    memcpy(&t, s, sizeof t);
    t.o.mask = t.mask;
    t.o.npt = 4000;
    t.o.npt_azim = 0;
    setenv("HALCYON_CACHE_SIZE", "4", 1);
    t.poni.dist = 0.2; /* used every time */
    (void)cached(&t, NULL);
    for (; n < MOST && count_files() == n; n++) {
        usleep(10000);
        t.poni.dist = 0.2;
        (void)cached(&t, NULL);
        usleep(10000);
        t.poni.dist = n;
        (void)cached(&t, NULL);
    }
    int kept = count_files();
    if (stat(file, &is))
        bail_out("no plan is kept");
    ok(n > 2 && n < MOST && kept * (long)is.st_size <= MIB << 20,
       "%d plans of %ld bytes are made, %d are kept: %d MiB", n, (long)is.st_size, kept, MIB);
    t.poni.dist = 0.2;
    ok(cached(&t, NULL) == 1, "what is used is there");
    t.poni.dist = 1;
    ok(cached(&t, NULL) == 0, "what was used longest ago is not");
    setenv("HALCYON_CACHE_SIZE", "1", 1);
    t.poni.dist = 5000;
    t.o.npt = 200000;
    int before = count_files();
    ok(cached(&t, NULL) == 0 && count_files() == before, "a plan larger than all that may be kept is not");
    unsetenv("HALCYON_CACHE_SIZE");
}

/* A file that somebody has left there long ago. */
static void leave_old(const char *name, off_t size)
{
    const struct timespec old[2] = { { 1700000000, 0 }, { 1700000000, 0 } };
    char path[700];
    snprintf(path, sizeof path, "%s/%s", deep, name);
    int fd = creat(path, 0600);
    if (fd < 0 || ftruncate(fd, size) || futimens(fd, old) || close(fd))
        bail_out("no file %s", path);
}

static int is_left(const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", deep, name);
    return !access(path, F_OK);
}

/* What devices have kept of plans counts, and goes, like these; they keep it without a look at the limit, so who lets
 * go of the plan looks, if anything came to the folder since. */
static void test_tables(const scene *s)
{
    static const char tables[] = "0123456789abcdef0123456789abcdef.tables-cpu";
    static const char *const others[] = { "0123456789abcdef0123456789abcdef.tables",
                                          "0123456789abcdef0123456789abcdef.tables-", "notes.tables-cpu" };
    hcy_span spans[HCY_AZINT_SPANS_KEPT];
    int left = 0;

    empty();
    setenv("HALCYON_CACHE_SIZE", "4", 1);
    hcy_azint_plan *p = must_plan(s);
    hcy_azint_plan_tables_kept(spans, p);
    ok(spans[HCY_AZINT_SPANS].size > strlen(deep) + 32 && !memcmp(spans[HCY_AZINT_SPANS].data, deep, strlen(deep)),
       "tables are kept beside the plan");
    usleep(20000); /* more than the clock of files takes for a step */
    leave_old(tables, 5 << 20);
    for (int i = 0; i < 3; i++)
        leave_old(others[i], 5 << 20);
    hcy_azint_plan_release(p);
    ok(!is_left(tables), "they go when the plan does, if they are too large");
    for (int i = 0; i < 3; i++)
        left += is_left(others[i]);
    ok(left == 3 && count_files() == 4, "nothing else goes");
    leave_old(tables, 5 << 20);
    ok(cached(s, NULL) == 1 && is_left(tables), "nobody looks where nothing came while the plan was in use");
    static scene t;
    memcpy(&t, s, sizeof t);
    t.o.mask = t.mask;
    t.o.cache = NULL;
    p = must_plan(&t);
    hcy_azint_plan_tables_kept(spans, p);
    is_int(spans[HCY_AZINT_SPANS].size, 0, "of a plan that is not kept nothing is");
    hcy_azint_plan_release(p);
    unsetenv("HALCYON_CACHE_SIZE");
    empty();
}

/* A folder is that of where the process was when the plan was made. */
static void test_relative(const scene *s)
{
    char *whole = realpath(folder, NULL), usual[sizeof deep];
    hcy_span spans[HCY_AZINT_SPANS_KEPT];
    int here = open(".", O_RDONLY | O_DIRECTORY);
    static scene t;

    memcpy(&t, s, sizeof t);
    memcpy(usual, deep, sizeof deep);
    snprintf(deep, sizeof deep, "%s/here", folder);
    t.o.mask = t.mask;
    t.o.cache = "here";
    if (!whole || here < 0 || chdir(folder) || mkdir("here", 0755))
        bail_out("no folder");
    hcy_azint_plan *p = must_plan(&t);
    if (fchdir(here))
        bail_out("no way back");
    hcy_azint_plan_tables_kept(spans, p);
    ok(spans[HCY_AZINT_SPANS].size > strlen(whole) && !memcmp(spans[HCY_AZINT_SPANS].data, whole, strlen(whole)),
       "tables are kept beside a plan in a folder without its way from the root");
    hcy_azint_plan_release(p);
    empty();
    rmdir(deep);
    memcpy(deep, usual, sizeof deep);
    close(here);
    free(whole);
}

/* What everybody could have written is made anew, and replaced. */
static void test_shared(const scene *s, const hcy_azint_plan *want)
{
    empty();
    (void)cached(s, NULL);
    is_int(count_files(), 1, "a plan is kept");
    ok(!chmod(file, 0666) && cached(s, want) == 0, "one that everybody may write to is not taken");
    ok(cached(s, want) == 1, "but replaced by one that is");
    ok(!chmod(deep, 0777) && cached(s, want) == 0 && !chmod(deep, 0775) && cached(s, want) == 1,
       "nor is one in a folder that everybody may write to; a group may");
}

int main(void)
{
    static scene s;

    if (!mkdtemp(folder))
        bail_out("no folder for the cache");
    snprintf(deep, sizeof deep, "%s/a/b", folder);
    fill(&s);
    hcy_azint_plan *made = must_plan(&s), *mapped = must_plan(&s);
    ok(!must_info(made).from_cache && must_info(mapped).from_cache && same(made, mapped),
       "made and kept, then mapped; the folder is made");
    is_int(count_files(), 1, "one file");
    test_curve(made, mapped);
    test_damage(&s, made);
    test_forged(&s, made);
    test_cut(&s, made);
    test_mapped(&s, made);
    test_unweighted(&s);
    test_shared(&s, made);
    OTHER(t.poni.dist = 0.11);
    OTHER(t.poni.orientation = 2);
    OTHER(t.o.npt = 38);
    OTHER(t.o.npt_azim = 6);
    OTHER(t.o.split = HCY_SPLIT_NO);
    OTHER(t.o.unit = "2th_deg");
    OTHER(t.o.solid_angle = 0);
    OTHER(t.mask[78] = 1);
    OTHER(t.o.flat = one);
    OTHER(t.o.absorption = one);
    OTHER(t.o.dark = one);
    OTHER(t.o.variance = one);
    test_processes(&s, made);
    test_unfinished(&s);
    test_limit(&s);
    test_tables(&s);
    test_relative(&s);
    static scene t;
    memcpy(&t, &s, sizeof t);
    t.o.mask = t.mask;
    t.o.cache = "/dev/null/none";
    ok(cached(&t, made) == 0, "a folder that cannot be: done without");
    empty();
    ok(same(made, mapped), "a mapped plan outlives its file");
    hcy_azint_plan_release(made);
    hcy_azint_plan_release(mapped);
    rmdir(deep);
    snprintf(deep, sizeof deep, "%s/a", folder);
    rmdir(deep);
    rmdir(folder);
    return done_testing();
}
