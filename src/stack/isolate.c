/* isolate.c - which files are isolated, and the processes that read them: see isolate.h. */
#include "isolate.h"
#include "hal_priv.h"
#include "sized.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SECONDS = 60, MOST_KEPT = 8, LAST_BREATH = 2000, MOST_ENDS = 3, MOST_LATE = 16, LATE_FOR = 600000 };
#define MEMORY ((uint64_t)4 << 30)

/* --- Which files --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hcy_isolation program; /* size 0: nobody has set it; under the lock */
/* Of the readers that keep a file; behind a reader's own. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* A fork gets no lock that another thread holds, and would never give back.  Nobody waits for anything with one of
 * these. */
static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&kept_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&kept_lock);
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    (void)pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

/* Before the first of them is taken. */
static void prepare_locks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
}

#ifdef HAVE_HDF5
/* What the environment says, for programs that do not say it themselves. */
static unsigned files_of_environment(void)
{
    static const char *const words[] = { "none", "foreign", "all" };
    const char *word = getenv("HALCYON_ISOLATE");
    for (unsigned i = 0; word && i < 3; i++)
        if (!strcmp(word, words[i]))
            return HCY_ISOLATE_NONE + i;
    /* What is none of these was meant to turn it on. */
    return word && *word ? HCY_ISOLATE_ALL : HCY_ISOLATE_NONE;
}
#endif

static int check_isolation(const hcy_isolation *isolation)
{
    if (isolation->files > HCY_ISOLATE_ALL)
        return hcy_fail(HCY_EINVAL, "hcy_isolation: files is %u; it is an HCY_ISOLATE_*", isolation->files);
#ifndef HAVE_HDF5
    if (isolation->files > HCY_ISOLATE_NONE)
        return hcy_fail(HCY_EUNSUPPORTED, "HDF5 files cannot be isolated: Halcyon was built without HDF5");
#endif
    return 0;
}

int hcy_isolation_set(const hcy_isolation *isolation)
{
    hcy_isolation read = HCY_ISOLATION_INIT;
    int st = hcy__sized_read(&read, sizeof read, isolation, "hcy_isolation");
    if (!st)
        st = check_isolation(&read);
    if (st)
        return st;
    prepare_locks();
    pthread_mutex_lock(&lock);
    program = read;
    pthread_mutex_unlock(&lock);
    return 0;
}

int hcy__isolation_read(hcy_isolation *isolation, const hcy_isolation *given)
{
    *isolation = (hcy_isolation){ sizeof *isolation, 0, 0, 0 };
    if (!given)
        return 0;
    int st = hcy__sized_read(isolation, sizeof *isolation, given, "hcy_isolation");
    return st ? st : check_isolation(isolation);
}

int hcy__isolates(hcy_isolation *use, const hcy_isolation *own, const char *path)
{
#ifdef HAVE_HDF5
    struct stat is;
    prepare_locks();
    pthread_mutex_lock(&lock);
    *use = program;
    if (!program.size)
        use->files = files_of_environment();
    pthread_mutex_unlock(&lock);
    if (own && own->files)
        *use = *own;
    use->seconds = use->seconds ? use->seconds : SECONDS;
    use->memory = use->memory ? use->memory : MEMORY;
    if (use->files == HCY_ISOLATE_FOREIGN)
        return !stat(path, &is) && is.st_uid != geteuid();
    return use->files == HCY_ISOLATE_ALL;
#else
    (void)use, (void)own, (void)path;
    return 0;
#endif
}

int hcy__looks_like_h5(const char *path)
{
    static const unsigned char magic[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
    unsigned char head[8];
    int fd, number = 0, found = 0;
    if (hcy__open_file(&fd, path))
        return 0;
    /* It stands at the beginning, or behind a block of the user's, which has 512 bytes or twice as many, and so on. */
    for (uint64_t at = 0; !found && hcy__read_at(fd, head, sizeof head, at, &number) == sizeof head;
         at = at ? 2 * at : 512)
        found = !memcmp(head, magic, sizeof magic);
    close(fd);
    /* What cannot be read now may be HDF5 a moment later, and is not for this process then. */
    return found || number;
}

/* --- The program --- */

#ifdef HAVE_HDF5

#ifndef HCY_READERDIR
#define HCY_READERDIR "/usr/local/libexec/halcyon"
#endif
#define NAME "halcyon-h5-reader"

/* Never in the current directory, nor where PATH says: it is this library's own. */
static int find_reader_program(char path[PATH_MAX])
{
    /* The last one: of a tree where it is built, whose libraries are in .libs. */
    static const char *const beside[] = { "", "/halcyon", "/../libexec/halcyon", "/../../libexec/halcyon", "/../.libs/.." };
    const char *given = getenv("HALCYON_H5_READER");
    char folder[PATH_MAX];
    if (given && *given && (size_t)snprintf(path, PATH_MAX, "%s", given) < PATH_MAX)
        return 0;
    int here = !hcy__own_folder(folder);
    for (size_t i = 0; here && i < sizeof beside / sizeof beside[0]; i++)
        if ((size_t)snprintf(path, PATH_MAX, "%s%s/" NAME, folder, beside[i]) < PATH_MAX && !access(path, X_OK))
            return 0;
    snprintf(path, PATH_MAX, "%s/" NAME, HCY_READERDIR);
    return access(path, X_OK);
}

/* --- A process --- */

/* What a file is, as far as one can tell without reading it, when it is asked about. */
struct late_file {
    uint64_t device, inode, bytes, changed; /* nanoseconds */
    int64_t seen;                           /* milliseconds of hcy__packet_clock() */
    unsigned seconds;                       /* that are allowed; 0: it is not there */
};

struct hcy__reader {
    atomic_uint refs;
    char *path;
    hcy_isolation limits;
    pid_t asker;          /* whose child it is, or would be */
    pthread_mutex_t lock; /* of all below */
    pid_t pid;            /* 0: none runs */
    int socket, keeps;
    unsigned ends;       /* processes that gave no answer */
    hcy__packet opening; /* what a new process is asked first; nothing yet: size 0 */
    struct late_file asked; /* the file as it was before the question, while nothing is opened */
};

/* Readers that keep a file open, the one that was asked last at the end.  Of those that a fork has inherited, which may
 * be gone by now, nothing is looked at. */
static struct {
    hcy__reader *reader;
    pid_t asker;
} kept[MOST_KEPT];
static int n_kept;

int hcy__reader_new(hcy__reader **reader, const hcy_isolation *limits, const char *path)
{
    hcy__reader *r = calloc(1, sizeof *r);
    *reader = NULL;
    prepare_locks();
    if (!r || !(r->path = strdup(path))) {
        free(r);
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    }
    pthread_mutex_init(&r->lock, NULL);
    atomic_init(&r->refs, 1);
    r->limits = *limits;
    r->asker = getpid();
    r->socket = -1;
    *reader = r;
    return 0;
}

hcy__reader *hcy__reader_share(hcy__reader *r)
{
    atomic_fetch_add(&r->refs, 1);
    return r;
}

/* Both ends above the numbers that the child has its own under, and closed in whatever the host starts meanwhile. */
static int make_sockets(int *ours, int *theirs)
{
    enum { ABOVE = 10 };
    int pair[2];
    *ours = *theirs = -1;
#ifdef SOCK_CLOEXEC
    int kind = SOCK_STREAM | SOCK_CLOEXEC;
#else
    int kind = SOCK_STREAM;
#endif
    if (socketpair(AF_UNIX, kind, 0, pair))
        return errno;
    *ours = fcntl(pair[0], F_DUPFD_CLOEXEC, ABOVE);
    *theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, ABOVE);
    /* EINVAL: the limit of descriptors is not above that. */
    int number = *ours >= 0 && *theirs >= 0 ? 0 : errno == EINVAL ? EMFILE : errno;
    close(pair[0]);
    close(pair[1]);
    return number;
}

/* The child's descriptors: its socket, and nothing to write to. */
static int set_descriptors(posix_spawn_file_actions_t *actions, int socket)
{
    int number = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    for (int fd = 1; !number && fd <= 2; fd++)
        number = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_WRONLY, 0);
    return number ? number : posix_spawn_file_actions_adddup2(actions, socket, HCY__READER_SOCKET);
}

/* A group of its own, so that the terminal's interrupt is the host's alone; no signal blocked or ignored. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int number = posix_spawnattr_setflags(attributes,
                                          POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!number)
        number = posix_spawnattr_setsigmask(attributes, &none);
    return number ? number : posix_spawnattr_setsigdefault(attributes, &all);
}

static int spawn_reader(pid_t *pid, const char *program, const hcy_isolation *limits, int socket)
{
    char seconds[16], memory[24], name[] = NAME, version[] = HCY_VERSION_STRING;
    char *argv[] = { name, version, seconds, memory, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(seconds, sizeof seconds, "%u", limits->seconds);
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)limits->memory);
    int number = posix_spawn_file_actions_init(&actions);
    if (number)
        return number;
    number = posix_spawnattr_init(&attributes);
    if (!number) {
        number = set_descriptors(&actions, socket);
        if (!number)
            number = set_signals(&attributes);
        if (!number)
            number = posix_spawn(pid, program, &actions, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

static int fail_start(const hcy__reader *r, const char *program_path, int number)
{
    char words[128];
    hcy__errno_text(number, words, sizeof words);
    if (number == ENOENT || number == EACCES)
        return hcy_fail(HCY_ENOENT,
                        "%s is to be read by a process of its own, and %.200s is not there or cannot be run (%s): "
                        "install it, name it in HALCYON_H5_READER, or read the file without (--no-isolate, hcy_isolation_set())", r->path,
                        program_path, words);
    return hcy_fail(number == ENOMEM ? HCY_ENOMEM : HCY_EIO, "%s: %.200s cannot be started: %s", r->path, program_path,
                    words);
}

static int start_reader(hcy__reader *r)
{
    char program_path[PATH_MAX];
    int theirs;
    if (find_reader_program(program_path))
        return fail_start(r, program_path, ENOENT);
    int number = make_sockets(&r->socket, &theirs);
    if (!number)
        number = spawn_reader(&r->pid, program_path, &r->limits, theirs);
    if (theirs >= 0)
        close(theirs);
    if (!number)
        return 0;
    if (r->socket >= 0)
        close(r->socket);
    r->socket = -1;
    r->pid = 0;
    return fail_start(r, program_path, number);
}

/* Ends the process, after `patience` milliseconds in which it may end by itself; how it ended, -1: not known.  Nobody
 * else's child is waited for.  A host that ignores SIGCHLD, or waits for any child, may have taken this one: it is then
 * gone, and its number may be another's by now. */
static int end_reader(hcy__reader *r, int patience)
{
    int how = -1;
    pid_t got = 0;
    close(r->socket);
    r->socket = -1;
    if (r->asker != getpid()) {
        r->pid = 0;
        return -1;
    }
    for (int i = 0; i <= patience && !got; i++) {
        got = waitpid(r->pid, &how, WNOHANG);
        if (!got && i < patience)
            nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    if (!got) {
        kill(r->pid, SIGKILL);
        do
            got = waitpid(r->pid, &how, 0);
        while (got < 0 && errno == EINTR);
    }
    r->pid = 0;
    return got > 0 ? how : -1;
}

/* Takes a reader off the list, whose lock is held. */
static void forget_kept(const hcy__reader *r)
{
    pid_t self = getpid();
    int n = 0;
    for (int i = 0; i < n_kept; i++)
        if (kept[i].reader != r && kept[i].asker == self)
            kept[n++] = kept[i];
    n_kept = n;
}

/* A list of very many files must not be as many processes: of those that keep theirs open, the one that has not been
 * asked for longest is ended, and started again when it is asked.  The reader's lock is held, and stays so. */
static void limit_kept(hcy__reader *r)
{
    hcy__reader *end = NULL;
    pthread_mutex_lock(&kept_lock);
    forget_kept(r);
    /* One that answers another thread stays.  Whoever releases one takes it off first, and waits for its lock. */
    for (int i = 0; i < n_kept && n_kept == MOST_KEPT && !end; i++)
        if (!pthread_mutex_trylock(&kept[i].reader->lock))
            end = kept[i].reader;
    if (end)
        forget_kept(end);
    if (n_kept < MOST_KEPT) {
        kept[n_kept].reader = r;
        kept[n_kept++].asker = r->asker;
    } else {
        end = r;
    }
    pthread_mutex_unlock(&kept_lock);
    if (end)
        (void)end_reader(end, 0);
    if (end && end != r)
        pthread_mutex_unlock(&end->lock);
}

void hcy__reader_release(hcy__reader *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    /* A fork may have got locks that a thread held which it has not got. */
    if (r->asker == getpid()) {
        pthread_mutex_lock(&kept_lock);
        forget_kept(r);
        pthread_mutex_unlock(&kept_lock);
        pthread_mutex_lock(&r->lock);
        pthread_mutex_unlock(&r->lock);
    }
    if (r->pid)
        (void)end_reader(r, 0);
    pthread_mutex_destroy(&r->lock);
    hcy__packet_free(&r->opening);
    free(r->path);
    free(r);
}

/* --- Files that take too long --- */

/* A file on which HDF5 hangs would take all the time that is allowed with every question about it: what it holds as
 * curves, as a stack, as a detector.  It takes it once: these are not asked about for a while.  Under `lock`. */
static struct late_file late[MOST_LATE];
static size_t n_late; /* that were ever noted; the oldest gives way */

static void identify_file(struct late_file *file, const hcy__reader *r)
{
    struct stat is;
    *file = (struct late_file){ .seconds = 0 };
    if (!stat(r->path, &is))
        *file = (struct late_file){ (uint64_t)is.st_dev, (uint64_t)is.st_ino, (uint64_t)is.st_size,
                                    (uint64_t)is.st_mtim.tv_sec * 1000000000 + (uint64_t)is.st_mtim.tv_nsec,
                                    hcy__packet_clock(), r->limits.seconds };
}

/* Its place among those that were late, as long as it is what it was then; or NULL. */
static struct late_file *find_late(const struct late_file *file)
{
    for (size_t i = 0; i < n_late && i < MOST_LATE; i++)
        if (late[i].device == file->device && late[i].inode == file->inode && late[i].bytes == file->bytes &&
            late[i].changed == file->changed)
            return &late[i];
    return NULL;
}

/* Another file may have taken its name since, which nobody was asked about. */
static void note_late(const hcy__reader *r)
{
    struct late_file file = r->asked;
    if (!file.seconds)
        return;
    file.seen = hcy__packet_clock();
    pthread_mutex_lock(&lock);
    struct late_file *at = find_late(&file);
    if (!at)
        at = &late[n_late++ % MOST_LATE];
    *at = file;
    pthread_mutex_unlock(&lock);
}

static int refuse_late(hcy__reader *r)
{
    identify_file(&r->asked, r);
    pthread_mutex_lock(&lock);
    const struct late_file *at = r->asked.seconds ? find_late(&r->asked) : NULL;
    /* It may have been the disk, and who allows more time wants to wait. */
    int is_late = at && r->asked.seen - at->seen < LATE_FOR && r->asked.seconds <= at->seconds;
    pthread_mutex_unlock(&lock);
    if (!is_late)
        return 0;
    return hcy_fail(HCY_ETIMEOUT,
                    "%s: HDF5 took more than %u s over it a while ago, and is not asked again within %d "
                    "minutes unless the file changes or more time is allowed",
                    r->path, r->limits.seconds, LATE_FOR / 60000);
}

/* --- Asking --- */

/* What became of a process that gave no answer. */
static int explain_end(hcy__reader *r, int number)
{
    char words[128];
    int how = end_reader(r, number == ECONNRESET ? LAST_BREATH : 0);
    pthread_mutex_lock(&kept_lock);
    forget_kept(r);
    pthread_mutex_unlock(&kept_lock);
    /* Of what this process lacks, the file can do nothing. */
    if (number == ENOMEM)
        return hcy_fail(HCY_ENOMEM, "%s: no memory for what " NAME " says of it", r->path);
    r->ends++;
    int code = how >= 0 && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    int killer = how >= 0 && WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    if (number == ETIMEDOUT || killer == SIGXCPU) {
        if (!r->opening.size)
            note_late(r);
        return hcy_fail(HCY_ETIMEOUT,
                        "%s: HDF5 took more than %u s over it and was stopped: the file is damaged, or very large",
                        r->path, r->limits.seconds);
    }
    if (number == EPROTO || code == HCY__READER_OTHER_VERSION)
        return hcy_fail(HCY_EABI, "%s: " NAME " and this library are not of one version (%s)", r->path,
                        hcy_version());
    if (number != ECONNRESET)
        return hcy_fail(HCY_EIO, "%s: asking " NAME " failed: %s", r->path,
                        hcy__errno_text(number, words, sizeof words));
    if (code >= 0)
        return hcy_fail(HCY_EIO, "%s: " NAME " ended with status %d before it answered: is it installed whole?",
                        r->path, code);
    if (killer == SIGKILL)
        return hcy_fail(HCY_ENOMEM, "%s: " NAME " was killed while it read it, for its memory perhaps", r->path);
    snprintf(words, sizeof words, "signal %d", killer);
    return hcy_fail(HCY_ECORRUPT, "%s: HDF5 crashed while it read it (%s): the file is damaged", r->path,
                    killer ? words : "no signal");
}

/* Takes the status off an answer, and makes the reader's words this thread's. */
static int take_status(hcy__packet *answer, const hcy__reader *r)
{
    uint64_t number = hcy__packet_get_within(answer, 0, (uint64_t)-HCY_STATUS_LAST);
    const char *text = hcy__packet_get_text(answer), *vendor = hcy__packet_get_text(answer);
    int st = hcy__answer_end(answer, r->path);
    if (!st && number)
        st = hcy_fail_vendor(-(int)number, 0, vendor ? vendor : "", "%s", text ? text : "");
    return st;
}

static int ask_process(hcy__packet *answer, hcy__reader *r, const hcy__packet *question)
{
    int64_t deadline = hcy__packet_clock() + (int64_t)r->limits.seconds * 1000;
    int number = hcy__packet_send(r->socket, question, NULL, deadline);
    /* It cannot have made more than it has room for. */
    if (!number)
        number = hcy__packet_receive(answer, r->socket, r->limits.memory, deadline);
    return number ? explain_end(r, number) : take_status(answer, r);
}

/* A process that has opened what is asked about. */
static int make_ready(hcy__reader *r)
{
    /* Each frame of a file that makes HDF5 hang would take all the time that is allowed. */
    if (r->ends >= MOST_ENDS)
        return hcy_fail(HCY_ECORRUPT, "%s: HDF5 crashed or hung %u times on it, and is not asked again", r->path,
                        r->ends);
    int st = r->pid ? 0 : start_reader(r);
    if (!st && r->opening.size && !r->keeps) {
        hcy__packet answer = { 0 };
        st = ask_process(&answer, r, &r->opening);
        hcy__packet_free(&answer);
        r->keeps = !st;
    }
    return st;
}

int hcy__reader_ask(hcy__packet *answer, hcy__reader *r, const hcy__packet *question)
{
    *answer = (hcy__packet){ 0 };
    if (question->bad)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", r->path);
    /* Before the lock, which may have been held by a thread that this process has not got. */
    if (r->asker != getpid())
        return hcy_fail(HCY_EFORK, "%s was opened before this process forked", r->path);
    pthread_mutex_lock(&r->lock);
    if (!r->pid)
        r->keeps = 0;
    /* A file that was opened within the time is not such a one; of its frames some may be. */
    int st = r->opening.size ? 0 : refuse_late(r);
    if (!st)
        st = make_ready(r);
    if (!st)
        st = ask_process(answer, r, question);
    if (r->pid && r->opening.size)
        limit_kept(r);
    pthread_mutex_unlock(&r->lock);
    return st;
}

void hcy__reader_keep(hcy__reader *r, hcy__packet *opening)
{
    pthread_mutex_lock(&r->lock);
    hcy__packet_free(&r->opening);
    r->opening = *opening;
    *opening = (hcy__packet){ 0 };
    r->keeps = 1;
    if (r->pid)
        limit_kept(r);
    pthread_mutex_unlock(&r->lock);
}

int hcy__reader_ask_once(hcy__packet *answer, const hcy_isolation *limits, const char *path,
                         const hcy__packet *question)
{
    hcy__reader *reader;
    int st = hcy__reader_new(&reader, limits, path);
    *answer = (hcy__packet){ 0 };
    if (!st)
        st = hcy__reader_ask(answer, reader, question);
    /* Ending it may set another error. */
    hcy_error why = *hcy_last_error();
    hcy__reader_release(reader);
    return st ? hcy_fail_again(&why) : 0;
}

int hcy__answer_end(const hcy__packet *answer, const char *path)
{
    if (!answer->bad)
        return 0;
    return hcy_fail(HCY_ECORRUPT, "%s: what " NAME " says of it makes no sense: the file is damaged", path);
}
#endif
