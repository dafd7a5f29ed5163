/* hal_status.c - the status table, the record of a failure, checked sizes, files of the cache, files that are
 * whole or not there, the hash of a family. */
#include "tap.h"

#include <halcyon/backend.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- The table --- */

static void test_table(void)
{
    static const struct {
        int status;
        const char *name;
    } rows[] = {
#define ROW(name, number, text) { number, #name },
        HCY_STATUS_TABLE(ROW)
#undef ROW
    };
    size_t n = sizeof rows / sizeof rows[0], right = 0;
    for (size_t i = 0; i < n; i++) {
        const char *text = hcy_status_text(rows[i].status);
        right += rows[i].status == -(int)i && !strcmp(hcy_status_name(rows[i].status), rows[i].name) && *text;
        for (size_t k = 0; k < i; k++)
            right -= !strcmp(text, hcy_status_text(rows[k].status));
    }
    is_int((intmax_t)right, (intmax_t)n,
           "%zu statuses, one after the other, each with its name and a sentence of its own", n);
    is_int(HCY_STATUS_LAST, -(int)n + 1, "HCY_STATUS_LAST is the last");
    is_str(hcy_status_name(1), "HCY_E?", "a positive number is no status");
    is_str(hcy_status_name(HCY_STATUS_LAST - 1), "HCY_E?", "nor is what follows the last");
    ok(*hcy_status_text(12345) != 0, "and has a sentence even so");
    ok(*hcy_version() >= '0' && *hcy_version() <= '9' && strchr(hcy_version(), '.'),
       "the library says its version (%s)", hcy_version());
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", HCY_VERSION_MAJOR, HCY_VERSION_MINOR, HCY_VERSION_PATCH);
    is_str(hcy_version(), version, "its headers say the same, as numbers");
}

/* --- The record --- */

static void *other_thread(void *arg)
{
    const hcy_error *e = hcy_last_error();
    bool clean = !e->status && !*e->text;
    int status = hcy_fail(HCY_EIO, "the other thread's");
    return clean && status == HCY_EIO && !strcmp(hcy_last_error()->text, "the other thread's") ? arg : NULL;
}

static void test_record(void)
{
    hcy_clear_error();
    is_int(hcy_last_error()->status, 0, "nothing has failed");
    is_str(hcy_last_error()->text, "", "so there is nothing to say");
    int line = __LINE__ + 1;
    is_int(hcy_fail(HCY_ERANGE, "%d past %s", 7, "nine"), HCY_ERANGE, "hcy_fail gives the status back");
    const hcy_error *e = hcy_last_error();
    is_int(e->status, HCY_ERANGE, "and records it");
    is_str(e->text, "7 past nine", "with its sentence");
    ok(strstr(e->file, "hal_status.c") && e->line == line, "and its place");
    ok(!e->vendor_code && !*e->vendor, "no vendor was involved");
    is_int(hcy_fail_vendor(HCY_EBACKEND, -42, "vendor's words", "in %s", "here"), HCY_EBACKEND,
           "a vendor's failure");
    e = hcy_last_error();
    ok(e->vendor_code == -42 && !strcmp(e->vendor, "vendor's words") && !strcmp(e->text, "in here"),
       "keeps the vendor's code and words");
    hcy_fail_vendor(HCY_EBACKEND, 1, NULL, "no words");
    is_str(hcy_last_error()->vendor, "", "a vendor may have none");
    hcy_fail(HCY_EINVAL, "%s again", hcy_last_error()->text);
    is_str(hcy_last_error()->text, "no words again", "a record may quote the one it replaces");
    ok(!hcy_last_error()->vendor_code, "and replaces all of it");
    hcy_error kept = *hcy_last_error();
    hcy_fail(HCY_EIO, "something else");
    is_int(hcy_fail_again(&kept), HCY_EINVAL, "a record taken elsewhere fails again");
    is_str(hcy_last_error()->text, "no words again", "with its words");
    is_int(hcy_fail_again(hcy_last_error()), HCY_EINVAL, "even this thread's own");
    size_t size;
    is_int(hcy_size_add(&size, 1, 2), 0, "success");
    is_str(hcy_last_error()->text, "no words again", "leaves the record alone");

    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, other_thread, &size))
        bail_out("no thread");
    pthread_join(thread, &result);
    ok(result != NULL, "each thread has its own");
    is_str(hcy_last_error()->text, "no words again", "and no other's");

    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    hcy_fail_vendor(HCY_EIO, 0, text, "%s", text);
    e = hcy_last_error();
    ok(strlen(e->text) == sizeof e->text - 1 && strlen(e->vendor) == sizeof e->vendor - 1,
       "what is too long is cut");
    hcy_clear_error();
    ok(!hcy_last_error()->status && !*hcy_last_error()->text && !*hcy_last_error()->vendor, "cleared");
}

/* --- Sizes --- */

static void test_sizes(void)
{
    static const struct {
        size_t a, b;
        bool product, sum;
    } cases[] = {
        { 0, 0, true, true },
        { 0, SIZE_MAX, true, true },
        { SIZE_MAX, 0, true, true },
        { 1, SIZE_MAX, true, false },
        { SIZE_MAX, 1, true, false },
        { 2, SIZE_MAX / 2, true, true },
        { 2, SIZE_MAX / 2 + 1, false, true },
        { SIZE_MAX / 2 + 1, 2, false, true },
        { SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1, false, false },
        { (size_t)1 << 32, (size_t)1 << 31, true, true },
        { (size_t)1 << 32, (size_t)1 << 32, false, true },
        { SIZE_MAX, SIZE_MAX, false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t a = cases[i].a, b = cases[i].b, product = 99, sum = 99;
        int status = hcy_size_mul(&product, a, b);
        ok(cases[i].product ? !status && product == a * b : status == HCY_ERANGE, "%zu times %zu", a, b);
        status = hcy_size_add(&sum, a, b);
        ok(cases[i].sum ? !status && sum == a + b : status == HCY_ERANGE, "%zu plus %zu", a, b);
    }
}

/* --- Families --- */

static void test_hash(void)
{
    static const hcy_arg_decl args[] = { { "in", HCY_ARG_IN, 0 }, { "job", HCY_ARG_STRUCT, 24 } };
    static const hcy_arg_decl renamed[] = { { "im", HCY_ARG_IN, 0 }, { "job", HCY_ARG_STRUCT, 24 } };
    static const hcy_arg_decl retyped[] = { { "in", HCY_ARG_OUT, 0 }, { "job", HCY_ARG_STRUCT, 24 } };
    static const hcy_arg_decl resized[] = { { "in", HCY_ARG_IN, 0 }, { "job", HCY_ARG_STRUCT, 32 } };
    static const hcy_arg_decl swapped[] = { { "job", HCY_ARG_STRUCT, 24 }, { "in", HCY_ARG_IN, 0 } };
    const hcy_signature base[] = { { "one", args, 2 }, { "two", args, 1 } };
    const hcy_signature others[][2] = {
        { { "one", renamed, 2 }, { "two", args, 1 } }, { { "one", retyped, 2 }, { "two", args, 1 } },
        { { "one", resized, 2 }, { "two", args, 1 } }, { { "one", swapped, 2 }, { "two", args, 1 } },
        { { "One", args, 2 }, { "two", args, 1 } },    { { "one", args, 1 }, { "two", args, 1 } },
        { { "two", args, 1 }, { "one", args, 2 } },    { { "onet", args, 2 }, { "wo", args, 1 } },
    };
    const hcy_family family = { "stem", 1, base, 2 }, stem = { "stem2", 1, base, 2 },
                     version = { "stem", 2, base, 2 }, shorter = { "stem", 1, base, 1 },
                     empty = { "stem", 1, NULL, 0 };
    uint64_t seen[16];
    size_t n = 0;
    bool apart = true;
    seen[n++] = hcy_family_hash(&family);
    seen[n++] = hcy_family_hash(&stem);
    seen[n++] = hcy_family_hash(&version);
    seen[n++] = hcy_family_hash(&shorter);
    seen[n++] = hcy_family_hash(&empty);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const hcy_family f = { "stem", 1, others[i], 2 };
        seen[n++] = hcy_family_hash(&f);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            apart = apart && seen[i] != seen[k];
    ok(apart, "%zu families that differ in one thing have different hashes", n);
    ok(hcy_family_hash(&family) == seen[0], "and one has the same again");
}

/* --- Files of the cache --- */

static int files_in(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static bool holds(const char *path, const char *text)
{
    char found[64] = "";
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(found, 1, sizeof found - 1, f) : 0;
    if (f)
        fclose(f);
    return n == strlen(text) && !strcmp(found, text);
}

static void test_cache(void)
{
    char root[] = "/tmp/halcyon-cache-XXXXXX", own[64], path[256], file[300];
    if (!mkdtemp(root))
        bail_out("no temporary folder");
    snprintf(own, sizeof own, "%s/own", root);
    setenv("HALCYON_CACHE_DIR", "", 1);
    is_int(hcy_cache_folder(path, sizeof path, "things"), HCY_ENOENT, "an empty HALCYON_CACHE_DIR: no cache");
    setenv("HALCYON_CACHE_DIR", own, 1);
    is_int(hcy_cache_folder(path, 8, "things"), HCY_ENOENT, "a path that is too long");
    is_int(hcy_cache_folder(path, sizeof path, "things"), 0, "a folder in HALCYON_CACHE_DIR");
    is_int(access(path, W_OK), 0, "... is there");
    snprintf(file, sizeof file, "%s/deeper/file", path);
    is_int(hcy_cache_write(file, "head ", 5, "data", 4), 0, "a file in a folder of its own");
    ok(holds(file, "head data"), "... with its head and its data");
    is_int(hcy_cache_write(file, "new", 3, NULL, 0), 0, "... replaced");
    ok(holds(file, "new"), "... wholly");
    hcy_output *output;
    if (hcy_cache_begin(&output, file) || hcy_output_write(output, "not", 3, 0))
        bail_out("%s", hcy_last_error()->text);
    is_int(hcy_cache_end(output, HCY_EIO), HCY_ENOENT, "one in pieces that failed");
    ok(holds(file, "new"), "... leaves what was there");
    if (hcy_cache_begin(&output, file) || hcy_output_write(output, "newer", 5, 4) ||
        hcy_output_write(output, "more", 4, 0))
        bail_out("%s", hcy_last_error()->text);
    ok(holds(file, "new"), "... as does one that is not ended");
    is_int(hcy_cache_end(output, 0), 0, "... ended");
    ok(holds(file, "morenewer"), "... it is there");
    snprintf(file, sizeof file, "%s/deeper", path);
    is_int(files_in(file), 1, "... with nothing beside it");
    is_int(hcy_cache_write(file, "x", 1, NULL, 0), HCY_ENOENT, "a folder's name is no file's");
    is_int(files_in(path), 1, "... and nothing is left of the try");
    snprintf(path, sizeof path, "rm -rf %s", root);
    if (system(path))
        diag("%s stays", root);
}

/* --- Files that get their name when they are whole --- */

static bool put(hcy_output *o, const char *text)
{
    return o && write(hcy_output_fd(o), text, strlen(text)) == (ssize_t)strlen(text);
}

static hcy_output *begin(const char *path, unsigned flags, const char *text)
{
    hcy_output *o = NULL;
    is_int(hcy_output_open(&o, path, flags), 0, "an output is opened");
    ok(put(o, text), "... and written to");
    return o;
}

/* What is open already, by its number, is written from where it is, and goes on behind that. */
static void test_open_already(void)
{
    char path[] = "/tmp/halcyon-open-XXXXXX", name[32];
    hcy_output *o = NULL;
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, "before ", 7) != 7)
        bail_out("no temporary file");
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    is_int(hcy_output_open(&o, name, 0), 0, "a file that is open already");
    is_int(hcy_output_write(o, "then", 4, 4), 0, "... written, the end first");
    is_int(hcy_output_write(o, "now ", 4, 0), 0, "... and what comes before it");
    is_int(hcy_output_commit(o, 0), 0, "... all of it");
    ok(write(fd, " behind", 7) == 7 && holds(path, "before now then behind"), "... between what others write there");
    close(fd);
    unlink(path);
}

static void test_output(void)
{
    char root[] = "/tmp/halcyon-output-XXXXXX", file[64], other[64], through[64], partial[128];
    struct stat is;
    hcy_output *o;
    if (!mkdtemp(root))
        bail_out("no temporary folder");
    snprintf(file, sizeof file, "%s/file", root);
    snprintf(other, sizeof other, "%s/other", root);
    snprintf(through, sizeof through, "%s/through", root);

    o = begin(file, 0, "one");
    ok(access(file, F_OK), "until it is whole there is no such file");
    snprintf(partial, sizeof partial, "%s", hcy_output_place(o));
    ok(strstr(partial, "/file.partial-") && holds(partial, "one"), "... but one whose name says that it is unfinished");
    is_int(hcy_output_commit(o, 0), 0, "committed");
    ok(holds(file, "one") && files_in(root) == 1, "... it is there, and nothing beside it");

    chmod(file, 0640);
    o = begin(file, 0, "two");
    ok(holds(file, "one"), "an earlier file stays until then");
    hcy_output_discard(o);
    ok(holds(file, "one") && files_in(root) == 1, "... and for good if the new one is discarded");
    is_int(hcy_output_commit(begin(file, 0, "two"), 0), 0, "replaced");
    ok(holds(file, "two") && !stat(file, &is) && (is.st_mode & 0777) == 0640, "... with its permissions");

    is_int(symlink("through2", through), 0, "a link to nothing yet");
    is_int(hcy_output_commit(begin(through, 0, "far"), 0), 0, "written through it");
    ok(!lstat(through, &is) && S_ISLNK(is.st_mode) && holds(through, "far"), "... the link stays, what it names is made");
    unlink(through);
    is_int(symlink(through, through), 0, "a link to itself");
    ok(hcy_output_open(&o, through, 0) == HCY_EIO && !o, "... is refused");

    o = begin(other, 0, "grows");
    is_int(hcy_output_show(o), 0, "shown before it is whole");
    ok(holds(other, "grows") && files_in(root) == 4, "... it has its name");
    ok(!strcmp(hcy_output_place(o), other), "... and says it as it was given");
    hcy_output_discard(o);
    ok(holds(other, "grows"), "... and keeps it");
    o = begin(file, 0, "half");
    snprintf(partial, sizeof partial, "%s", hcy_output_place(o));
    is_int(hcy_output_keep(o), 0, "kept under the name that it has");
    ok(holds(partial, "half") && holds(file, "two"), "... beside the earlier file");
    unlink(partial);
    o = begin(file, 0, "half");
    hcy_output_abandon();
    ok(files_in(root) == 4, "abandoned: nothing is left of it");
    hcy_output_discard(o);

    is_int(hcy_output_open(&o, root, 0), HCY_EIO, "a folder is no file");
    snprintf(partial, sizeof partial, "%s/nowhere/file", root);
    is_int(hcy_output_open(&o, partial, 0), HCY_EIO, "a folder that is not there");
    if (!access("/dev/full", W_OK)) {
        is_int(hcy_output_open(&o, "/dev/full", 0), 0, "a device is written to as it is");
        if (hcy_output_stream(o))
            fputs("text", hcy_output_stream(o));
        is_int(hcy_output_commit(o, 0), HCY_EIO, "... what did not arrive is an error");
    } else {
        skip(2, "/dev/full is not there");
    }
    if (geteuid()) {
        chmod(file, 0440);
        is_int(hcy_output_open(&o, file, 0), HCY_EIO, "a file that may not be written is not replaced");
        is_int(hcy_output_commit(begin(file, HCY_OUTPUT_REPLACES, "new"), 0), 0, "but by who only replaces");
        chmod(file, 0640);
        chmod(root, 0550);
        is_int(hcy_output_open(&o, file, HCY_OUTPUT_REPLACES), HCY_EIO, "who does not write into it in a closed folder");
        ok(holds(file, "new"), "... where it stays");
        is_int(hcy_output_commit(begin(file, 0, "in"), 0), 0, "in a folder that is closed, the file itself is written");
        ok(holds(file, "in"), "... as it must be"); /* over "new" */
        chmod(root, 0750);
    } else {
        skip(8, "root may write everywhere");
    }
    snprintf(partial, sizeof partial, "rm -rf %s", root);
    if (system(partial))
        diag("%s stays", root);
}

int main(void)
{
    test_table();
    test_record();
    test_sizes();
    test_cache();
    test_output();
    test_open_already();
    test_hash();
    return done_testing();
}
