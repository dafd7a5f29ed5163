/* hal_modules.c - the loader: modules that are missing, broken, foreign or stale are refused, quietly.
 *
 * Small modules are compiled here, into a directory of their own, each wrong in one way.  Every question is
 * asked in a child: a backend is loaded once a process. */
#include "cts.h"

#include <halcyon/backend.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[] = "/tmp/halcyon-modules-XXXXXX";

/* What all of them begin with. */
static const char common[] =
    "#include <halcyon/backend.h>\n"
    "#include <stdlib.h>\n"
    "static int list(hcy_device_info **infos, size_t *n)\n"
    "{\n"
    "    *infos = calloc(1, sizeof **infos);\n"
    "    *n = 1;\n"
    "    (*infos)->kind = HCY_KIND_OTHER;\n"
    "    (*infos)->name[0] = 'x';\n"
    "    return 0;\n"
    "}\n"
    "static int open_device(void **impl, hcy_device_info *i, hcy_device *d, const hcy_spec *s) { *impl = d; "
    "return 0; }\n"
    "static void close_device(void *impl) { }\n"
    "static int queue_create(void **qimpl, void *impl, hcy_queue *queue) { return 0; }\n"
    "static const hcy_arg_decl args[] = { { \"chunks\", HCY_ARG_IN, 0 } };\n"
    "static const hcy_signature kernels[] = { { \"bslz4_decode\", args, 1 } };\n"
    "#define CORE .list = list, .open = open_device, .close = close_device\n"
    "#define OPS(...) static const hcy_backend_ops ops = { __VA_ARGS__ };\n"
    "#define FAMILY(stem) static const hcy_family family = { stem, 1, kernels, 1 };\n"
    "static const hcy_family *families[2];\n"
    "#define ENTRY(...) HCY_API int hcy_backend_entry(const hcy_backend **b, uint32_t host) { __VA_ARGS__ }\n"
    "#define GIVE(abi, size, name, ops) \\\n"
    "    ENTRY(static const hcy_backend mine = { abi, size, name, ops, families }; *b = &mine; return 0;)\n"
    "#define GOOD(name) GIVE(HCY_BACKEND_ABI, sizeof(hcy_backend), name, &ops)\n";

/* Then each is wrong in its own way. */
static const struct module {
    const char *name, *code;
    int status;       /* of opening it */
    const char *word; /* in its reason */
} modules[] = {
    { "good", "OPS(sizeof ops, CORE) GOOD(\"good\")", 0, NULL },
    { "shorter", "OPS(offsetof(hcy_backend_ops, get_i64), CORE) GOOD(\"shorter\")", 0, NULL },
    { "noentry", "int hcy_something_else(void) { return 0; }", HCY_EABI, "hcy_backend_entry" },
    { "newer", "OPS(sizeof ops, CORE) GIVE(HCY_BACKEND_ABI + 1, sizeof(hcy_backend), \"newer\", &ops)",
      HCY_EABI, "rebuild" },
    { "small", "OPS(sizeof ops, CORE) GIVE(HCY_BACKEND_ABI, 8, \"small\", &ops)", HCY_EABI, "small" },
    { "othername", "OPS(sizeof ops, CORE) GOOD(\"someone\")", HCY_EABI, "othername" },
    { "nothing", "ENTRY(return 0;)", HCY_EABI, "nothing" },
    { "noops", "GIVE(HCY_BACKEND_ABI, sizeof(hcy_backend), \"noops\", NULL)", HCY_EABI, "noops" },
    { "noclose", "OPS(sizeof ops, .list = list, .open = open_device) GOOD(\"noclose\")", HCY_EABI, "open" },
    { "halfqueue", "OPS(sizeof ops, CORE, .queue_create = queue_create) GOOD(\"halfqueue\")", HCY_EABI,
      "queue_create" },
    { "stale",
      "FAMILY(\"bslz4\") OPS(sizeof ops, CORE)\n"
      "ENTRY(static const hcy_backend mine = { HCY_BACKEND_ABI, sizeof mine, \"stale\", &ops, families };\n"
      "      families[0] = &family; *b = &mine; return 0;)",
      HCY_EABI, "bslz4" },
    { "taken",
      "FAMILY(\"nosuchfamily\") OPS(sizeof ops, CORE)\n"
      "ENTRY(static const hcy_backend mine = { HCY_BACKEND_ABI, sizeof mine, \"taken\", &ops, families };\n"
      "      families[0] = &family; *b = &mine; return 0;)",
      HCY_EABI, "nosuchfamily" },
    { "absent", "ENTRY(return hcy_fail(HCY_ENODEV, \"libvendor.so.1 is not installed\");)", HCY_ENODEV,
      "libvendor" },
    { "unresolved", "void no_such_function(void);\nENTRY(no_such_function(); return 0;)", HCY_EBACKEND,
      "no_such_function" },
    { "text", NULL, HCY_EBACKEND, "hcy_text.so" }, /* not a library at all */
};
enum { N_MODULES = sizeof modules / sizeof modules[0] };

static bool compile(const struct module *m)
{
    char source[PATH_MAX], command[4 * PATH_MAX];
    const char *cc = getenv("CC"), *top = getenv("top_srcdir");
    snprintf(source, sizeof source, "%s/hcy_%s.%s", dir, m->name, m->code ? "c" : "so");
    FILE *f = fopen(source, "w");
    if (!f)
        return false;
    fprintf(f, "%s%s\n", m->code ? common : "", m->code ? m->code : "this is no module");
    fclose(f);
    if (!m->code)
        return true;
    snprintf(command, sizeof command, "%s -w -shared -fPIC -I'%s/hal' -o '%s/hcy_%s.so' '%s' >'%s/log' 2>&1",
             cc && *cc ? cc : "cc", top && *top ? top : ".", dir, m->name, source, dir);
    return system(command) == 0;
}

/* --- In children: the answer is a status, and nothing may be printed --- */

struct question {
    const char *path, *backend, *word;
    char directory[PATH_MAX]; /* to be in, "" for any */
};

static int ask_open(void *context)
{
    const struct question *q = context;
    hcy_device *dev = NULL;
    char out[PATH_MAX];
    snprintf(out, sizeof out, "%s/out", dir);
    int fd = open(out, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || (*q->directory && chdir(q->directory)))
        return 110;
    if (q->path)
        setenv("HALCYON_BACKEND_PATH", q->path, 1);
    else
        unsetenv("HALCYON_BACKEND_PATH");
    int status = hcy_device_open(&dev, q->backend), again = hcy_device_open(&dev, q->backend);
    if (status != again)
        return 111;
    if (status && q->word && !strstr(hcy_last_error()->text, q->word) &&
        !strstr(hcy_last_error()->vendor, q->word))
        return 112;
    struct stat st;
    fflush(NULL);
    return fstat(1, &st) || st.st_size ? 113 : -status;
}

static int ask(const char *path, const char *backend, const char *word, const char *directory)
{
    struct question q = { path, backend, word, "" };
    snprintf(q.directory, sizeof q.directory, "%s", directory ? directory : "");
    return cts_child(ask_open, &q);
}

/* What a module that brings little cannot do is unsupported. */
static int little(void *context)
{
    hcy_device *dev = NULL;
    hcy_buffer *buf = NULL;
    hcy_queue *queue = NULL;
    hcy_kernel *kernel = NULL;
    hcy_program *program = NULL;
    hcy_fft *fft = NULL;
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    uint64_t a, b;
    int64_t n;
    setenv("HALCYON_BACKEND_PATH", dir, 1);
    if (hcy_device_open(&dev, context))
        return 100;
    int wrong = (hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, 64) != HCY_EUNSUPPORTED) +
                (hcy_queue_create(&queue, dev) != HCY_EUNSUPPORTED) +
                (hcy_buffer_import_host(&buf, dev, &a, 8, NULL, NULL) != HCY_EUNSUPPORTED) +
                (hcy_kernel_get(&kernel, dev, "bslz4_decode") != HCY_EUNSUPPORTED) +
                (hcy_program_create(&program, dev, "x", "x", 1, NULL) != HCY_EUNSUPPORTED) +
                (hcy_fft_create(&fft, dev, &desc) != HCY_EUNSUPPORTED) +
                (hcy_device_mem_info(&a, &b, dev) != HCY_EUNSUPPORTED) +
                (hcy_device_get_i64(&n, dev, "x") != HCY_ENOENT) + (hcy_device_status(dev) != 0);
    hcy_device_release(dev);
    return wrong;
}

/* Tables that are whole, and functions that do not do what they say, or whose vendor has words of its own for why. */
static const struct module liars[] = {
    { "nolist", "static int lie(hcy_device_info **i, size_t *n) { *i = NULL; *n = 3; return 0; }\n"
      "OPS(sizeof ops, .list = lie, .open = open_device, .close = close_device) GOOD(\"nolist\")",
      HCY_EBACKEND, "gives none" },
    { "toomany", "static int lie(hcy_device_info **i, size_t *n) { list(i, n); *n = (size_t)-1 / 4; return 0; }\n"
      "OPS(sizeof ops, .list = lie, .open = open_device, .close = close_device) GOOD(\"toomany\")",
      HCY_EBACKEND, "devices" },
    { "positive", "static int lie(hcy_device_info **i, size_t *n) { return 7; }\n"
      "static int no(void **impl, hcy_device_info *i, hcy_device *d, const hcy_spec *s) { return 7; }\n"
      "OPS(sizeof ops, .list = lie, .open = no, .close = close_device) GOOD(\"positive\")",
      HCY_EBACKEND, "no status" },
    { "endless", "#include <string.h>\n"
      "static int lie(hcy_device_info **i, size_t *n) { list(i, n); memset(*i, 'x', sizeof **i); return 0; }\n"
      "static int yes(void **impl, hcy_device_info *i, hcy_device *d, const hcy_spec *s)\n"
      "{ memset(i, 'x', sizeof *i); return 0; }\n"
      "OPS(sizeof ops, .list = lie, .open = yes, .close = close_device) GOOD(\"endless\")", 0, "" },
    { "failing", "static int no(hcy_device_info **i, size_t *n)\n"
      "{ return hcy_fail_vendor(HCY_EBACKEND, 7, \"of its driver\", \"no list\"); }\n"
      "OPS(sizeof ops, .list = no, .open = open_device, .close = close_device) GOOD(\"failing\")",
      HCY_EBACKEND, "no list: of its driver" },
};
enum { N_LIARS = sizeof liars / sizeof liars[0] };

/* What is wrong of what is said of a liar: 0 is nothing. */
static int lie(void *context)
{
    const struct module *m = context;
    hcy_backend_info *list;
    hcy_device_info *devices;
    hcy_device *dev = NULL;
    size_t n, n_devices, found = 0;
    setenv("HALCYON_BACKEND_PATH", dir, 1);
    setenv("HALCYON_BACKENDS", m->name, 1);
    if (hcy_backend_list(&list, &n) || hcy_device_list(&devices, &n_devices))
        return 100;
    for (size_t i = 0; i < n; i++)
        found += !strcmp(list[i].name, m->name) && list[i].status == m->status && strstr(list[i].reason, m->word);
    for (size_t i = 0; i < n_devices; i++)
        found += strlen(devices[i].name) >= sizeof devices[i].name;
    hcy_list_free(list);
    hcy_list_free(devices);
    int status = hcy_device_open(&dev, m->name);
    if (dev && strlen(hcy_device_get_info(dev)->description) >= sizeof hcy_device_get_info(dev)->description)
        return 102;
    hcy_device_release(dev);
    return found != 1 ? 101 : status > 0;
}

/* One that is asked for and is not there is listed, with the reason, which a device that is not found has, too. */
static int asks_for_none(void *context)
{
    hcy_backend_info *list;
    hcy_device *dev = NULL;
    size_t n, found = 0;
    (void)context;
    setenv("HALCYON_BACKEND_PATH", dir, 1);
    setenv("HALCYON_BACKENDS", "-cpu,good,nosuch,../good,nosuch", 1);
    if (hcy_backend_list(&list, &n))
        return 100;
    for (size_t i = 0; i < n; i++)
        found += !strcmp(list[i].name, "nosuch") && list[i].status == HCY_ENODEV && strstr(list[i].reason, "hcy_nosuch");
    hcy_list_free(list);
    if (hcy_device_open(&dev, "fpga") != HCY_ENODEV || !strstr(hcy_last_error()->text, "; nosuch: "))
        return 101;
    return found != 1 || n != 3;
}

/* A device that takes a while to close, which a queue's thread does where the host ends at once. */
static const struct module leisurely = {
    "leisurely",
    "#include <unistd.h>\n"
    "static void late(void *impl) { usleep(200000); if (write(9, \"closed\", 6) < 6) _exit(1); }\n"
    "OPS(sizeof ops, .list = list, .open = open_device, .close = late) GOOD(\"leisurely\")",
    0, NULL
};

static void use_and_end(int to)
{
    hcy_device *dev = NULL;
    hcy_hostqueue *hq = NULL;
    setenv("HALCYON_BACKEND_PATH", dir, 1);
    if (dup2(to, 9) < 0 || hcy_device_open(&dev, leisurely.name) || hcy_hostqueue_create(&hq, dev, NULL) ||
        hcy_hostqueue_finish(hq))
        _exit(1);
    hcy_hostqueue_destroy(hq);
    hcy_device_release(dev);
    exit(0);
}

static void test_end(void)
{
    int fds[2], status;
    char words[8] = "";
    if (!compile(&leisurely) || pipe(fds))
        bail_out("no module, no pipe");
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        use_and_end(fds[1]);
    close(fds[1]);
    ok(child > 0 && waitpid(child, &status, 0) == child && !status, "a process ends behind its queue and its device");
    is_int((intmax_t)read(fds[0], words, 7), 6, "which are away before it: %s", words);
    close(fds[0]);
}

/* All of them are listed, with their reasons; the good ones' devices too. */
static int listing(void *context)
{
    hcy_backend_info *list;
    hcy_device_info *devices;
    size_t n, n_devices, right = 0;
    (void)context;
    setenv("HALCYON_BACKEND_PATH", dir, 1);
    unsetenv("HALCYON_BACKENDS");
    if (hcy_backend_list(&list, &n) || hcy_device_list(&devices, &n_devices))
        return 100;
    for (size_t m = 0; m < N_MODULES; m++)
        for (size_t i = 0; i < n; i++)
            if (!strcmp(list[i].name, modules[m].name))
                right += list[i].status == modules[m].status && !list[i].status == !*list[i].reason &&
                         strstr(list[i].origin, dir) &&
                         (!modules[m].word || strstr(list[i].reason, modules[m].word));
    hcy_list_free(list);
    hcy_list_free(devices);
    return right != N_MODULES ? (int)right + 1 : n_devices < 2 ? 101 : 0;
}

/* A host that has no descriptor left for a moment. */
static int tries_again(void *context)
{
    struct rlimit all, none;
    hcy_device *dev = NULL;
    (void)context;
    setenv("HALCYON_BACKEND_PATH", dir, 1);
    int next = dup(1);
    if (next < 0 || close(next) || getrlimit(RLIMIT_NOFILE, &all))
        return 100;
    none = all;
    none.rlim_cur = (rlim_t)next;
    if (setrlimit(RLIMIT_NOFILE, &none))
        return 101;
    int first = hcy_device_open(&dev, "good");
    if (setrlimit(RLIMIT_NOFILE, &all))
        return 102;
    int second = hcy_device_open(&dev, "good");
    hcy_device_release(dev);
    return first != HCY_EBACKEND ? 103 : -second;
}

static void remove_directory(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command))
        diag("%s is left", dir);
}

int main(void)
{
    void *self = dlopen(NULL, RTLD_NOW);
    if (!self || !dlsym(self, "hcy_fail_at"))
        skip_all("the library is static here: modules would have nothing to link to");
    if (!mkdtemp(dir))
        bail_out("no temporary directory");
    for (size_t i = 0; i < N_MODULES; i++)
        if (!compile(&modules[i])) {
            remove_directory();
            skip_all("no compiler that makes modules here (CC)");
        }
    for (size_t i = 0; i < N_MODULES; i++)
        is_int(ask(dir, modules[i].name, modules[i].word, NULL), -modules[i].status,
               "module %s: %s, and nothing is printed", modules[i].name,
               modules[i].status ? hcy_status_name(modules[i].status) : "it opens");
    is_int(cts_child(little, (void *)(uintptr_t) "good"), 0, "what a small table lacks is unsupported");
    is_int(cts_child(little, (void *)(uintptr_t) "shorter"), 0, "what a short table lacks too");
    is_int(cts_child(asks_for_none, NULL), 0, "so is one that is asked for and is not there");
    is_int(cts_child(listing, NULL), 0, "all are listed, with their reasons and where they are");
    is_int(cts_child(tries_again, NULL), 0, "one that could not be loaded is, when there are descriptors again");

    char path[2 * PATH_MAX];
    is_int(ask(dir, "nosuch", "nosuch", NULL), -HCY_ENODEV,
           "a module that is missing is no device, and nothing is printed");
    is_int(ask(NULL, "good", "good", dir), -HCY_ENODEV, "the current directory is not looked in");
    snprintf(path, sizeof path, "/nonexistent::%s", dir);
    is_int(ask(path, "good", NULL, NULL), 0, "each directory of the path is");
    is_int(ask("/nonexistent", "good", "good", NULL), -HCY_ENODEV, "and no others");
    is_int(ask(dir, "../hcy_good", NULL, NULL), -HCY_EINVAL, "a name is no path");
    snprintf(path, sizeof path, "%s/hcy_good.so", dir);
    is_int(truncate(path, 4000), 0, "a module is cut short");
    is_int(ask(dir, "good", "hcy_good.so", NULL), -HCY_EBACKEND, "it is refused, and does not end the process");
    remove_directory();
    if (mkdir(dir, 0700))
        bail_out("no temporary directory");
    for (size_t i = 0; i < N_LIARS; i++)
        is_int(compile(&liars[i]) ? cts_child(lie, (void *)(uintptr_t)&liars[i]) : -1, 0, "module %s is seen through",
               liars[i].name);
    test_end();
    remove_directory();
    return done_testing();
}
