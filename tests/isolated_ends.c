/* isolated_ends.c - how readers of isolated HDF5 files end, and what is told of it; what they may not do.
 *
 * Readers that crash, hang or were installed badly are shell scripts in HALCYON_H5_READER; one that counts stands in
 * front of the true one.  The filter of system calls is the true reader's, in a child of this program.
 */
#include "stack_read.h"
#ifdef HAVE_HDF5
#include "../src/reader/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#endif

enum { FRAMES = 5, HEIGHT = 24, WIDTH = 31, FILES = 12, KEPT = 8, WIDE = 6400 };
static const hcy_stack_info shape = {
    .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U16, .elem_size = 2, .frame_bytes = HEIGHT * WIDTH * 2
};
static char true_reader[4096];

static void isolate(unsigned seconds, uint64_t memory)
{
    hcy_isolation isolation = HCY_ISOLATION_INIT;
    isolation.files = HCY_ISOLATE_ALL;
    isolation.seconds = seconds;
    isolation.memory = memory;
    if (hcy_isolation_set(&isolation))
        bail_out("no isolation: %s", hcy_last_error()->text);
}

/* Frames that HDF5 alone can read; of larger ones only the first tile is there. */
static void make_deflated(const char *name, uint64_t frames, hsize_t height, hsize_t width)
{
    hsize_t dims[3] = { frames, height, width }, part[3] = { frames, HEIGHT, WIDTH }, start[3] = { 0 };
    static uint16_t pixels[FRAMES * HEIGHT * WIDTH];
    for (uint64_t i = 0; i < FRAMES; i++)
        make_frame(pixels + i * HEIGHT * WIDTH, &shape, i);
    hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, dims, NULL);
    H5Pset_chunk(plist, 3, (const hsize_t[3]){ 1, HEIGHT, WIDTH });
    H5Pset_deflate(plist, 1);
    hid_t data = H5Dcreate2(file, "data", H5T_STD_U16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    hid_t memory = H5Screate_simple(3, part, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL);
    if (H5Dwrite(data, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, pixels) < 0)
        bail_out("frames cannot be written");
    H5Dclose(data);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(plist);
    H5Fclose(file);
}

/* From now on this script is the reader; "$reader" is the true one. */
static void use_script(const char *body)
{
    const char *path = in_folder("reader.sh");
    char script[8192];
    int n = snprintf(script, sizeof script, "#!/bin/sh\nreader='%s'\nfolder='%s'\n%s\n", true_reader, folder, body);
    put_file(path, script, (size_t)n);
    if (chmod(path, 0755) || setenv("HALCYON_H5_READER", path, 1))
        bail_out("%s cannot be used", path);
}

static void use_true_reader(void)
{
    setenv("HALCYON_H5_READER", true_reader, 1);
}

/* How many readers of use_counter() have been started. */
static int count_starts(void)
{
    struct stat is;
    return stat(in_folder("count"), &is) ? 0 : (int)is.st_size / 2;
}

static void use_counter(void)
{
    remove(in_folder("count"));
    use_script("echo x >>\"$folder/count\"\nexec \"$reader\" \"$@\"");
}

/* --- Which are ended --- */

/* Frame `frame` of a list of copies of the file. */
static int reads_frame(hcy_stack *stack, uint64_t frame)
{
    uint16_t want[HEIGHT * WIDTH], got[HEIGHT * WIDTH];
    size_t size = 0;
    make_frame(want, &shape, frame % FRAMES);
    return !hcy_stack_read(&size, got, sizeof got, stack, frame) && size == sizeof want && !memcmp(got, want, size);
}

static hcy_stack *open_copies(void)
{
    const char *path = in_folder("a.h5"), *paths[FILES];
    hcy_stack *stack = NULL;
    for (int i = 0; i < FILES; i++)
        paths[i] = path;
    if (hcy_stack_open_files(&stack, paths, FILES, NULL))
        bail_out("%s", hcy_last_error()->text);
    return stack;
}

static void test_oldest_ends(void)
{
    int right = 1;
    use_counter();
    hcy_stack *stack = open_copies();
    is_int(count_starts(), FILES, "a reader for each of %d files", FILES);
    /* The first was ended when the ninth came; of the last eight the oldest is ended for it. */
    for (uint64_t i = 0; i < FRAMES; i++)
        right = right && reads_frame(stack, i);
    is_int(count_starts(), FILES + 1, "all frames of the first file start one reader");
    for (uint64_t turn = 0; turn < 3; turn++)
        for (uint64_t file = FILES - KEPT + 1; file < FILES; file++)
            right = right && reads_frame(stack, file * FRAMES + turn);
    is_int(count_starts(), FILES + 1, "those that were asked last are there still");
    ok(right, "their frames");
    hcy_stack_close(stack);
}

/* Many threads ask more files than processes may be alive: each end is behind an answer. */
struct asker {
    pthread_t thread;
    hcy_stack *stack;
    uint64_t first;
    int right;
};

static void *ask_frames(void *of)
{
    struct asker *a = of;
    a->right = 1;
    for (uint64_t i = 0; i < 2 * FILES; i++)
        a->right &= reads_frame(a->stack, (a->first + 5 * i) % (FILES * FRAMES));
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 12 };
    struct asker askers[THREADS];
    int right = 1;
    use_true_reader();
    hcy_stack *stack = open_copies();
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){ .stack = stack, .first = (uint64_t)i * 7 };
        if (pthread_create(&askers[i].thread, NULL, ask_frames, &askers[i]))
            bail_out("no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        right &= askers[i].right;
    }
    ok(right, "%d threads ask %d files", THREADS, FILES);
    hcy_stack_close(stack);
}

/* --- What is told of an end --- */

static void opening_fails(int want, const char *words)
{
    hcy_stack *stack = NULL;
    hcy_clear_error();
    fails(hcy_stack_open(&stack, in_folder("a.h5"), NULL), want, words, "it is told");
    ok(strstr(hcy_last_error()->text, "a.h5") != NULL, "... of which file");
}

static void test_told(void)
{
    static const struct {
        const char *script;
        int status;
        const char *words;
    } ends[] = {
        { "ulimit -c 0; kill -SEGV $$", HCY_ECORRUPT, "crashed" },
        { "ulimit -c 0; kill -ABRT $$", HCY_ECORRUPT, "crashed" },
        { "kill -KILL $$", HCY_ENOMEM, "killed" },
        { "exit 112", HCY_EABI, "not of one version" },
        { "echo 'This is no answer, and as long as one begins.' >&3; sleep 9", HCY_EABI, "not of one version" },
        { "exit 127", HCY_EIO, "ended with status 127 before it answered: is it installed whole?" },
        { "exit 1", HCY_EIO, "ended with status 1 before" },
        { "exit 0", HCY_EIO, "ended with status 0 before" },
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        diag("%s", ends[i].script);
        use_script(ends[i].script);
        opening_fails(ends[i].status, ends[i].words);
    }
    /* Of nothing that can be run. */
    setenv("HALCYON_H5_READER", in_folder("nothing"), 1);
    opening_fails(HCY_ENOENT, "nothing");
    setenv("HALCYON_H5_READER", folder, 1);
    opening_fails(HCY_ENOENT, "cannot be run");
    use_true_reader();
}

/* Whatever is asked about a file that HDF5 hangs on, it takes the time that is allowed once. */
static void test_late(void)
{
    hcy_detector_info *detector = NULL;
    hcy_stack *stack = NULL;
    isolate(1, 0);
    remove(in_folder("count"));
    use_script("echo x >>\"$folder/count\"\nexec sleep 60");
    opening_fails(HCY_ETIMEOUT, "more than 1 s over it and was stopped");
    opening_fails(HCY_ETIMEOUT, "is not asked again");
    hcy_clear_error();
    fails(hcy_detector_read(&detector, in_folder("a.h5")), HCY_ETIMEOUT, "is not asked again", "another question");
    is_int(count_starts(), 1, "one reader was waited for");
    make_deflated("other.h5", FRAMES, HEIGHT, WIDTH);
    fails(hcy_stack_open(&stack, in_folder("other.h5"), NULL), HCY_ETIMEOUT, "and was stopped", "another file is asked");
    make_deflated("new.h5", FRAMES, HEIGHT, WIDTH);
    make_deflated("old.h5", FRAMES, HEIGHT, WIDTH);
    use_script("mv \"$folder/new.h5\" \"$folder/old.h5\"\nexec sleep 60");
    fails(hcy_stack_open(&stack, in_folder("old.h5"), NULL), HCY_ETIMEOUT, "and was stopped", "one that is replaced");
    remove(in_folder("count"));
    use_script("echo x >>\"$folder/count\"\nexit 1");
    ok(hcy_stack_open(&stack, in_folder("old.h5"), NULL) != HCY_ETIMEOUT && count_starts() > 0,
       "is another file then, which is asked");
    use_true_reader();
    isolate(0, 0);
    is_int(hcy_stack_open(&stack, in_folder("a.h5"), NULL), 0, "with more time the first is, too");
    hcy_stack_close(stack);
}

/* A file on which it crashes three times is left alone. */
static void test_not_again(void)
{
    hcy_stack *stack = NULL;
    uint16_t room[HEIGHT * WIDTH];
    size_t size;
    use_script("echo x >>\"$folder/count\"\necho $$ >\"$folder/number\"\nulimit -c 0\n"
               "[ `wc -l <\"$folder/count\"` = 1 ] || kill -ABRT $$\nexec \"$reader\" \"$@\"");
    remove(in_folder("count"));
    if (hcy_stack_open(&stack, in_folder("a.h5"), NULL))
        bail_out("%s", hcy_last_error()->text);
    ok(reads_frame(stack, 0), "a reader that is well");
    FILE *f = fopen(in_folder("number"), "r");
    long number = 0;
    if (!f || fscanf(f, "%ld", &number) != 1 || number < 2 || kill((pid_t)number, SIGABRT))
        bail_out("it cannot be killed");
    fclose(f);
    for (int i = 0; i < 3; i++)
        fails(hcy_stack_read(&size, room, sizeof room, stack, 1), HCY_ECORRUPT, "crashed", "it crashes");
    for (int i = 0; i < 2; i++)
        fails(hcy_stack_read(&size, room, sizeof room, stack, 1), HCY_ECORRUPT, "is not asked again", "three times");
    is_int(count_starts(), 3, "and is not started again");
    hcy_stack_close(stack);
    use_true_reader();
}

/* --- Whose setting --- */

/* A configuration's files are looked into as the stack's own, which alone is isolated. */
static void test_config(void)
{
    hcy_isolation all = HCY_ISOLATION_INIT, none = HCY_ISOLATION_INIT;
    hcy_stack_options options = HCY_STACK_OPTIONS_INIT;
    hcy_curves_options curves = HCY_CURVES_OPTIONS_INIT;
    hcy_azint_options azint = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_stack *stack = NULL;
    none.files = HCY_ISOLATE_NONE;
    all.files = HCY_ISOLATE_ALL;
    options.isolation = &all;
    poni.dist = 0.1;
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 1e-4;
    azint.npt = 5;
    use_counter();
    if (hcy_isolation_set(&none) || hcy_stack_open_with(&stack, in_folder("a.h5"), &options) ||
        hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &azint))
        bail_out("%s", hcy_last_error()->text);
    int before = count_starts();
    curves.source = stack;
    curves.flat = in_folder("a.h5");
    is_int(hcy_config_write(in_folder("c.json"), plan, &curves), 0, "a configuration that names a file");
    is_int(count_starts() - before, 2, "whose groups, and then whose image, are looked for by readers");
    hcy_azint_plan_release(plan);
    hcy_stack_close(stack);
    use_true_reader();
    isolate(0, 0);
}

/* --- Memory --- */

/* What one file's reader lacks is that file's frame. */
static void test_list(void)
{
    const char *paths[] = { in_folder("a.h5"), in_folder("a.h5"), in_folder("a.h5") };
    hcy_stack *stack = NULL;
    uint16_t room[HEIGHT * WIDTH];
    size_t size;
    use_script("echo x >>\"$folder/count\"\n[ `wc -l <\"$folder/count\"` = 2 ] && kill -KILL $$\n"
               "exec \"$reader\" \"$@\"");
    remove(in_folder("count"));
    is_int(hcy_stack_open_files(&stack, paths, 3, NULL), 0, "a list of which one file takes too much memory");
    is_int(stack ? (long)hcy_stack_get_info(stack)->frames : 0, 2 * FRAMES + 1, "... is the others and one absent frame");
    fails(hcy_stack_read(&size, room, sizeof room, stack, FRAMES), HCY_ENOENT, "killed", "which says so");
    ok(reads_frame(stack, 0), "the first file's");
    hcy_stack_close(stack);
    use_true_reader();
}

#ifndef HCY_SANITIZED
static size_t address_space(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* With less memory than a frame needs, in the reader and then here. */
static void test_short(void)
{
    hcy_stack *stack = NULL;
    size_t size, room_size = (size_t)WIDE * WIDE * 2;
    void *room = malloc(room_size);
    struct rlimit before = { 0, 0 }, limit;
    isolate(0, (uint64_t)128 << 20);
    if (hcy_stack_open(&stack, in_folder("wide.h5"), NULL) || getrlimit(RLIMIT_AS, &before) || !room)
        bail_out("wide.h5 does not open");
    int st = hcy_stack_read(&size, room, room_size, stack, 0);
    const hcy_error *error = hcy_last_error();
    /* HDF5 has no status for it, but words. */
    ok((st == HCY_ENOMEM || st == HCY_EIO) && (strstr(error->text, "memory") || strstr(error->vendor, "memory")),
       "no memory there for a frame: %s, %s", error->text, error->vendor);
    hcy_stack_close(stack);
    isolate(0, 0);
    if (hcy_stack_open(&stack, in_folder("wide.h5"), NULL))
        bail_out("wide.h5 does not open");
    limit = before;
    limit.rlim_cur = (rlim_t)address_space() + (4 << 20);
    if (setrlimit(RLIMIT_AS, &limit))
        bail_out("no limit");
    st = hcy_stack_read(&size, room, room_size, stack, 0);
    setrlimit(RLIMIT_AS, &before);
    fails(st, HCY_ENOMEM, "wide.h5", "no memory here for an answer");
    is_int(hcy_stack_read(&size, room, room_size, stack, 0), 0, "... is no end of it");
    hcy_stack_close(stack);
    free(room);
}
#endif

/* --- The filter of system calls --- */

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(HCY_SANITIZED)
static void *do_nothing(void *of)
{
    return of;
}

/* In the sandbox: 0, or the number of the first that is not as it should be. */
static int try_calls(const char *file, const char *new, int other, pid_t parent)
{
    char byte;
    struct rlimit limit;
    pthread_t thread;
    int fd = open(file, O_RDONLY);
    if (fd < 0 || read(fd, &byte, 1) != 1 || write(fd, &byte, 1) != -1)
        return 1;
    if (open(file, O_WRONLY) >= 0 || open(file, O_RDWR) >= 0 || open(new, O_RDONLY | O_CREAT, 0600) >= 0 ||
        open(file, O_RDONLY | O_TRUNC) >= 0)
        return 2;
    if (!unlink(file) || !rename(file, new) || !link(file, new) || !mkdir(new, 0700) || !chmod(file, 0777) ||
        !truncate(file, 0))
        return 3;
    if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || socket(AF_INET, SOCK_STREAM, 0) >= 0)
        return 4;
    pid_t child = fork();
    if (!child)
        _exit(99);
    if (child > 0 || execl("/bin/true", "true", (char *)NULL) != -1)
        return 5;
    if (!kill(parent, 0) || !kill(getpid(), 0))
        return 6;
    if (fcntl(fd, F_SETOWN, parent) != -1)
        return 7;
    if (fcntl(other, F_GETFD) >= 0)
        return 8;
    if (getrlimit(RLIMIT_CORE, &limit) || limit.rlim_max || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_max)
        return 9;
    if (pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL))
        return 10;
    return 0;
}

/* Ends with 0 where the kernel takes a filter that allows all. */
static int filters_here(void)
{
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { 1, &all };
    int status = 1;
    pid_t child = fork();
    if (!child)
        _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    return waitpid(child, &status, 0) == child && !status;
}

static void test_filter(void)
{
    const char *file = in_folder("a.h5"), *new = in_folder("new");
    int other = fcntl(0, F_DUPFD, 20), status = -1;
    pid_t parent = getpid();
    struct stat before, after;
    if (!filters_here()) {
        skip(2, "this kernel has no filters of system calls");
        return;
    }
    if (stat(file, &before))
        bail_out("%s is not there", file);
    pid_t child = fork();
    if (!child)
        _exit(enter_sandbox((uint64_t)4 << 30) ? 98 : try_calls(file, new, other, parent));
    ok(waitpid(child, &status, 0) == child && WIFEXITED(status), "a sandbox ends nothing by itself");
    is_int(WEXITSTATUS(status), 0, "in it files are read, threads start, and all else fails");
    ok(!stat(file, &after) && after.st_size == before.st_size && after.st_mode == before.st_mode && access(new, F_OK),
       "no file is other than it was");
    close(other);
}
#else
static void test_filter(void)
{
    skip(1, "there is no filter of system calls here");
}
#endif

/* --- A fork beside threads that hold locks --- */

static atomic_bool forks_are_done;

static void *set_isolation(void *arg)
{
    (void)arg;
    while (!atomic_load(&forks_are_done))
        isolate(0, 0);
    return NULL;
}

/* A child that waits for a lock which a thread held that it has not got is ended by its alarm. */
static void test_fork_beside_threads(void)
{
    enum { THREADS = 3, FORKS = 150 };
    pthread_t threads[THREADS];
    int hung = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, set_isolation, NULL))
            bail_out("no thread");
    for (int i = 0; i < FORKS && !hung; i++) {
        int status = -1;
        pid_t child = fork();
        if (!child) {
            alarm(20);
            isolate(0, 0);
            _exit(0);
        }
        hung = waitpid(child, &status, 0) != child || status;
    }
    atomic_store(&forks_are_done, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ok(!hung, "a child of fork finds no lock held by a thread that it has not got");
}

int main(void)
{
    if (!getenv("HALCYON_H5_READER"))
        bail_out("HALCYON_H5_READER must name the reader");
    snprintf(true_reader, sizeof true_reader, "%s", getenv("HALCYON_H5_READER"));
    make_folder();
    make_deflated("a.h5", FRAMES, HEIGHT, WIDTH);
    isolate(0, 0);
    test_fork_beside_threads();
    test_oldest_ends();
    test_threads();
    test_told();
    test_late();
    test_not_again();
    test_config();
    test_list();
#ifndef HCY_SANITIZED
    make_deflated("wide.h5", 1, WIDE, WIDE);
    test_short();
#endif
    test_filter();
    return done_testing();
}
#else
int main(void)
{
    skip_all("built without HDF5");
    return 0;
}
#endif
