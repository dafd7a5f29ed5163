/* caches - what is kept from run to run: entries that are damaged, cut or longer than they say are not there; nor are
 * those, and folders, that another user than root owns or that everybody may write to. */
#include "tap.h"

#include <halcyon/backend.h>
#include <halcyon/status.h>

#include "gpu_cache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY = 5, CHECK = 6, OTHER_USER = 65534 };

static const char words[] = "what a compiler made";
static char root[] = "/tmp/halcyon-caches-XXXXXX", folder[64], path[400];

static int is_kept(void)
{
    size_t size = 0;
    char *data = gpu_cache_read("test", KEY, CHECK, &size);
    int same = data && size == sizeof words && !memcmp(data, words, size);
    free(data);
    return same;
}

/* The one file in the folder. */
static void find_entry(void)
{
    DIR *dir = opendir(folder);
    path[0] = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (!dir || !path[0])
        bail_out("nothing was kept in %s", folder);
    closedir(dir);
}

static void put_bytes(const char *bytes, size_t n)
{
    FILE *f = unlink(path) ? NULL : fopen(path, "wb"); /* what is kept may not be written to */
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
        bail_out("%s cannot be written", path);
}

static void test_damage(void)
{
    char whole[512] = "", bytes[512];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(whole, 1, sizeof whole - 1, f) : 0;
    int wrong = 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i < 8 * n; i++) {
        memcpy(bytes, whole, n);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        put_bytes(bytes, n);
        wrong += is_kept();
    }
    ok(n > sizeof words && !wrong, "an entry of which any bit is another is not there");
    for (size_t i = 0; i < n; i++) {
        put_bytes(whole, i);
        wrong += is_kept();
    }
    memcpy(bytes, whole, n + 1);
    put_bytes(bytes, n + 1);
    ok(!wrong && !is_kept(), "nor one that was cut at any byte, or has one more");
    put_bytes(whole, n);
    ok(is_kept(), "what is whole is there again");
}

/* Is it there when `what` has this mode and this owner? */
static int is_kept_as(const char *what, mode_t mode, uid_t owner)
{
    struct stat was;
    if (stat(what, &was) || chown(what, owner, (gid_t)-1) || chmod(what, mode))
        bail_out("%s cannot be changed", what);
    int kept = is_kept();
    if (chown(what, was.st_uid, (gid_t)-1) || chmod(what, was.st_mode & 07777))
        bail_out("%s cannot be changed back", what);
    return kept;
}

static void test_trust(void)
{
    const uid_t me = geteuid();
    ok(is_kept_as(path, 0664, me) && is_kept_as(folder, 0775, me), "what a group may write to is used");
    ok(!is_kept_as(path, 0646, me), "a file that everybody may write to is not");
    ok(!is_kept_as(folder, 0777, me), "nor one in a folder that everybody may");
    ok(is_kept_as(folder, 01777, me), "but where others can only add files of theirs");
    if (me) {
        skip(3, "only root can give files away");
        return;
    }
    ok(!is_kept_as(path, 0644, OTHER_USER), "another user's file is not used");
    ok(!is_kept_as(folder, 0755, OTHER_USER), "nor one in another user's folder");
    if (chown(folder, OTHER_USER, (gid_t)-1) || unlink(path))
        bail_out("%s cannot be changed", folder);
    gpu_cache_write("test", KEY, CHECK, words, sizeof words);
    ok(access(path, F_OK) && !chown(folder, me, (gid_t)-1), "and nothing is put there");
}

static void test_size(void)
{
    void *data = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/file", folder);
    is_int(hcy_cache_write(path, words, 4, words + 4, 4), 0, "a file in two parts");
    ok(!hcy_cache_read(&data, &size, path, 8) && size == 8 && !strcmp(data, "what a c"), "read as a text");
    free(data);
    is_int(hcy_cache_read(&data, &size, path, 7), HCY_ENOENT, "one larger than expected is not read");
    unlink(path);
}

/* What a text includes may be another by the next run. */
static void test_includes(void)
{
    static const char *const some[] = { "#include <a.h>", "int x;\n  #\tinclude \"a.h\"", "%: include NAME",
                                        "#\\\ninclude NAME", "-include a.h", "--pre-include=a.h",
                                        "#/**/include \"a.h\"", "#inc\\\nlude \"a.h\"", "#\finclude <a.h>",
                                        "#import \"a.h\"", "?\?=include <a.h>", "#if __has_include(<a.h>)" };
    static const char *const none[] = { "", "/* all included */ int include;", "-Iinclude", "#define included 1",
                                        "include", "#if __has_builtin(f)", "#/*", "a - important" };
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        ok(gpu_cache_includes(some[i]), "%zu: a file is included", i);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ok(!gpu_cache_includes(none[i]), "none is in \"%s\"", none[i]);
}

int main(void)
{
    if (!mkdtemp(root))
        bail_out("no temporary folder");
    umask(022);
    setenv("HALCYON_CACHE_DIR", root, 1);
    snprintf(folder, sizeof folder, "%s/kernels", root);
    gpu_cache_write("test", KEY, CHECK, words, sizeof words);
    ok(is_kept(), "what was kept is there");
    find_entry();
    char entry[sizeof path];
    memcpy(entry, path, sizeof entry);
    test_damage();
    test_trust();
    test_size();
    test_includes();
    unlink(entry);
    rmdir(folder);
    rmdir(root);
    return done_testing();
}
